//! Allocations of generated code, poisoned and with marked bytes on both sides.
//!
//! The text's own allocator is asked for 128 bytes more. The first 64 hold the size and marks, the last 64 marks; between
//! them every byte is 255, which is a NaN in each of the formats. What is freed is looked at first.

/// The symbol that, called after a call, writes out what was printed and says how many allocations had their marks changed.
pub(super) const AFTER: &str = "cachet_test_after";

/// A text whose allocations are guarded, and which has [`AFTER`].
pub(super) fn guarded(ir: &str) -> String {
    let allocates = ir.contains("@cachet_allocate(i64 %bytes)");
    let mut out: String = match allocates {
        false => ir.to_string(),
        true => ir
            .replace("ptr @cachet_allocate(", "ptr @cachet_test_allocate(")
            .replace(
                "noalias ptr @cachet_test_allocate(i64 %bytes) noinline",
                "noalias ptr @cachet_allocate(i64 %bytes) noinline",
            )
            .replace("call void @free(", "call void @cachet_test_free("),
    };
    out.push_str(AFTER_TEXT);
    if allocates {
        out.push_str(HEAP_TEXT);
    }
    if !ir.contains("declare i32 @fflush(") {
        out.push_str("declare i32 @fflush(ptr) nounwind\n");
    }
    out
}

const AFTER_TEXT: &str = "
@cachet_test_broken = internal global i64 0
define void @cachet_test_after__packed(ptr %sizes, ptr %buffers) {
entry:
  %r = call i32 @fflush(ptr null)
  %to = load ptr, ptr %buffers
  %broken = load i64, ptr @cachet_test_broken
  store i64 0, ptr @cachet_test_broken
  store i64 %broken, ptr %to
  ret void
}
";

const HEAP_TEXT: &str = "
define internal noalias ptr @cachet_test_allocate(i64 %bytes) noinline {
entry:
  %possible = icmp ult i64 %bytes, 140737488355328
  %more = add i64 %bytes, 128
  %size = select i1 %possible, i64 %more, i64 %bytes
  %at = call ptr @cachet_allocate(i64 %size)
  call void @llvm.memset.p0.i64(ptr %at, i8 -59, i64 64, i1 false)
  store i64 %bytes, ptr %at
  %data = getelementptr i8, ptr %at, i64 64
  call void @llvm.memset.p0.i64(ptr %data, i8 -1, i64 %bytes, i1 false)
  %end = getelementptr i8, ptr %data, i64 %bytes
  call void @llvm.memset.p0.i64(ptr %end, i8 -59, i64 64, i1 false)
  ret ptr %data
}

define internal void @cachet_test_free(ptr %data) noinline {
entry:
  %at = getelementptr i8, ptr %data, i64 -64
  %bytes = load i64, ptr %at
  %front = getelementptr i8, ptr %at, i64 8
  %end = getelementptr i8, ptr %data, i64 %bytes
  call void @cachet_test_marks(ptr %front, i64 56)
  call void @cachet_test_marks(ptr %end, i64 64)
  call void @free(ptr %at)
  ret void
}

define internal void @cachet_test_marks(ptr %from, i64 %count) noinline {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %again ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %done
look:
  %p = getelementptr i8, ptr %from, i64 %i
  %byte = load volatile i8, ptr %p
  %kept = icmp eq i8 %byte, -59
  br i1 %kept, label %again, label %broken
broken:
  %n = atomicrmw add ptr @cachet_test_broken, i64 1 monotonic
  ret void
again:
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}
";
