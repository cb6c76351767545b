//! Routines that a module brings along, as text, each only where it is used.
//!
//! Printing a float follows the definition in `cachet_core::print::print_float` with C's own functions: the fewest
//! digits that `strtod` reads back are the fewest that any correct reader does.

use std::collections::BTreeSet;
use std::fmt::Write;

/// The text of a routine that updates square blocks by outer products, FMOPA of SME's first version: each block is brought into
/// the tile ZA0 row by row, updated, and brought back. So many blocks that lie side by side take the parts of a row in turn, and
/// one part of the column. It answers 1 if it has done so, and 0 where the unit's vectors are shorter than a row of a block or
/// the unit is in use, and nothing has happened. Both modes are on inside only, once for all blocks; entering and leaving them
/// clears every vector register.
macro_rules! outer_product {
    ($elem:literal, $size:literal, $suffix:literal, $shift:literal) => {
        concat!(
            "define internal i64 @cachet_outer_",
            $elem,
            "(ptr %acc, ptr %column, ptr %row, i64 %n, i64 %blocks, i64 %across) noinline #0 {\n",
            "entry:\n  %done = call i64 asm sideeffect \"",
            "mov $0, xzr\\0A",
            "mrs x9, SVCR\\0A",
            "cbnz x9, 3f\\0A",
            "rdsvl x9, #1\\0A",
            "lsl x11, $4, #",
            $shift,
            "\\0A",
            "cmp x9, x11\\0A",
            "b.lo 3f\\0A",
            "cmp $5, #0\\0A",
            "b.le 6f\\0A",
            "smstart\\0A",
            "whilelt p0.",
            $size,
            ", xzr, $4\\0A",
            "mov x10, $1\\0A",
            "mov x13, $5\\0A",
            "mov x14, xzr\\0A",
            "mov x15, $2\\0A",
            "mov x16, $3\\0A",
            "4:\\0A",
            "mov x17, x10\\0A",
            "mov x12, xzr\\0A",
            "1:\\0A",
            "ld1",
            $suffix,
            " {za0h.",
            $size,
            "[w12, 0]}, p0/z, [x10]\\0A",
            "add x10, x10, x11\\0A",
            "add x12, x12, #1\\0A",
            "cmp x12, $4\\0A",
            "b.lo 1b\\0A",
            "ld1",
            $suffix,
            " {z0.",
            $size,
            "}, p0/z, [x15]\\0A",
            "ld1",
            $suffix,
            " {z1.",
            $size,
            "}, p0/z, [x16]\\0A",
            "fmopa za0.",
            $size,
            ", p0/m, p0/m, z0.",
            $size,
            ", z1.",
            $size,
            "\\0A",
            "mov x10, x17\\0A",
            "mov x12, xzr\\0A",
            "2:\\0A",
            "st1",
            $suffix,
            " {za0h.",
            $size,
            "[w12, 0]}, p0, [x10]\\0A",
            "add x10, x10, x11\\0A",
            "add x12, x12, #1\\0A",
            "cmp x12, $4\\0A",
            "b.lo 2b\\0A",
            "add x16, x16, x11\\0A",
            "add x14, x14, #1\\0A",
            "cmp x14, $6\\0A",
            "b.lo 5f\\0A",
            "mov x14, xzr\\0A",
            "mov x16, $3\\0A",
            "add x15, x15, x11\\0A",
            "5:\\0A",
            "subs x13, x13, #1\\0A",
            "b.ne 4b\\0A",
            "smstop\\0A",
            "6:\\0A",
            "mov $0, #1\\0A",
            "3:\", \"=&r,r,r,r,r,r,r,~{x9},~{x10},~{x11},~{x12},~{x13},~{x14},~{x15},~{x16},~{x17},",
            "~{v0},~{v1},~{v2},~{v3},~{v4},~{v5},~{v6},~{v7},",
            "~{v8},~{v9},~{v10},~{v11},~{v12},~{v13},~{v14},~{v15},~{v16},~{v17},~{v18},~{v19},~{v20},~{v21},~{v22},",
            "~{v23},~{v24},~{v25},~{v26},~{v27},~{v28},~{v29},~{v30},~{v31},~{cc},~{memory}\"",
            "(ptr %acc, ptr %column, ptr %row, i64 %n, i64 %blocks, i64 %across)\n",
            "  ret i64 %done\n}\n\n"
        )
    };
}

/// A routine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Support {
    /// Memory, or the end of the program.
    Allocate,
    /// A product that stops at the largest array.
    Product,
    /// Prints an `f64`.
    PrintFloat,
    /// Prints an `i64`.
    PrintSigned,
    /// Prints a `u64`.
    PrintUnsigned,
    /// Prints a `bool`.
    PrintBool,
    /// A block of `f32` plus a column times a row, by the matrix unit of AArch64.
    OuterF32,
    /// The same of `f64`.
    OuterF64,
    /// C's `main`.
    Main,
}

impl Support {
    /// Its name, without `@`. A function of the user has a number at the end.
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Support::Allocate => "cachet_allocate",
            Support::Product => "cachet_product",
            Support::PrintFloat => "cachet_print_float",
            Support::PrintSigned => "cachet_print_signed",
            Support::PrintUnsigned => "cachet_print_unsigned",
            Support::PrintBool => "cachet_print_bool",
            Support::OuterF32 => "cachet_outer_f32",
            Support::OuterF64 => "cachet_outer_f64",
            Support::Main => "main",
        }
    }

    /// Its text; C's `main` is written where its function is known.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Support::Allocate => ALLOCATE,
            Support::Product => PRODUCT,
            Support::PrintFloat => PRINT_FLOAT,
            Support::PrintSigned => PRINT_SIGNED,
            Support::PrintUnsigned => PRINT_UNSIGNED,
            Support::PrintBool => PRINT_BOOL,
            Support::OuterF32 => outer_product!("f32", "s", "w", "2"),
            Support::OuterF64 => outer_product!("f64", "d", "d", "3"),
            Support::Main => "",
        }
    }

    /// What a function that needs it does, where that takes the C library.
    pub(crate) fn leans_on(self) -> Option<&'static str> {
        match self {
            Support::Allocate => Some("allocates memory"),
            Support::PrintFloat | Support::PrintSigned | Support::PrintUnsigned | Support::PrintBool => Some("prints"),
            Support::Product | Support::OuterF32 | Support::OuterF64 | Support::Main => None,
        }
    }

    /// The functions of C and of LLVM that it calls.
    fn calls(self) -> &'static [&'static str] {
        match self {
            Support::Allocate => &[
                "declare noalias ptr @aligned_alloc(i64, i64) nounwind",
                "declare void @free(ptr) nounwind",
                "declare i32 @fflush(ptr) nounwind",
                "declare void @perror(ptr) nounwind",
                "declare void @exit(i32) noreturn nounwind",
            ],
            Support::Product | Support::OuterF32 | Support::OuterF64 => &[],
            Support::PrintFloat => &[
                "declare i32 @printf(ptr, ...) nounwind",
                "declare i32 @snprintf(ptr, i64, ptr, ...) nounwind",
                "declare double @strtod(ptr, ptr) nounwind",
                "declare i32 @atoi(ptr) nounwind",
                "declare ptr @strchr(ptr, i32) nounwind",
            ],
            Support::PrintSigned | Support::PrintUnsigned | Support::PrintBool => {
                &["declare i32 @printf(ptr, ...) nounwind"]
            }
            Support::Main => &["declare i32 @fflush(ptr) nounwind"],
        }
    }
}

/// `declare` of what the routines call. LLVM knows its own intrinsics without.
pub(crate) fn declarations(support: &BTreeSet<Support>) -> String {
    let lines: BTreeSet<&str> = support.iter().flat_map(|s| s.calls()).copied().collect();
    let mut out = String::new();
    for line in lines {
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "{line}");
    }
    out
}

/// C's `main`, which runs a function and writes out what it printed, and the same with a pool for grids, which C's has none of.
pub(crate) fn c_main(symbol: &str, pool: bool) -> String {
    let pool = if pool { "ptr %pool" } else { "" };
    format!(
        "define i32 @cachet_main(ptr %pool) #0 {{
entry:
  call void @{symbol}({pool})
  %failed = call i32 @fflush(ptr null)
  %some = icmp ne i32 %failed, 0
  %status = zext i1 %some to i32
  ret i32 %status
}}

define i32 @main() #0 {{
entry:
  %status = call i32 @cachet_main(ptr null)
  ret i32 %status
}}

"
    )
}

/// `aligned_alloc` wants a size that is a multiple of the alignment, and may return null for 0. What is
/// larger than the largest array is asked for as what no C library has. Where there is no memory, what was printed is
/// written out and the program ends with C's own message and status 2.
const ALLOCATE: &str = "@cachet_text_memory = private unnamed_addr constant [22 x i8] c\"cachet: an allocation\\00\"
define internal noalias ptr @cachet_allocate(i64 %bytes) noinline #0 {
entry:
  %more = add nuw nsw i64 %bytes, 64
  %rounded = and i64 %more, -64
  %possible = icmp ult i64 %bytes, 140737488355328
  %size = select i1 %possible, i64 %rounded, i64 -64
  %at = call noalias align 64 ptr @aligned_alloc(i64 64, i64 %size)
  %none = icmp eq ptr %at, null
  br i1 %none, label %fail, label %done
fail:
  %r = call i32 @fflush(ptr null)
  call void @perror(ptr @cachet_text_memory)
  call void @exit(i32 2)
  unreachable
done:
  ret ptr %at
}

";

/// Extents of an array may be as large as 2^40 each where another is 0: only the whole product says how large it is.
/// From 2^47 on, which no array reaches, it stays there.
const PRODUCT: &str = "define internal i64 @cachet_product(i64 %a, i64 %b) #0 {
entry:
  %both = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %a, i64 %b)
  %low = extractvalue { i64, i1 } %both, 0
  %over = extractvalue { i64, i1 } %both, 1
  %least = call i64 @llvm.umin.i64(i64 %low, i64 140737488355328)
  %product = select i1 %over, i64 140737488355328, i64 %least
  ret i64 %product
}

";

const PRINT_SIGNED: &str = "@cachet_text_signed = private unnamed_addr constant [6 x i8] c\"%lld\\0A\\00\"
define internal void @cachet_print_signed(i64 %x) noinline #0 {
entry:
  %r = call i32 (ptr, ...) @printf(ptr @cachet_text_signed, i64 %x)
  ret void
}

";

const PRINT_UNSIGNED: &str = "@cachet_text_unsigned = private unnamed_addr constant [6 x i8] c\"%llu\\0A\\00\"
define internal void @cachet_print_unsigned(i64 %x) noinline #0 {
entry:
  %r = call i32 (ptr, ...) @printf(ptr @cachet_text_unsigned, i64 %x)
  ret void
}

";

const PRINT_BOOL: &str = "@cachet_text_true = private unnamed_addr constant [6 x i8] c\"true\\0A\\00\"
@cachet_text_false = private unnamed_addr constant [7 x i8] c\"false\\0A\\00\"
define internal void @cachet_print_bool(i1 %x) noinline #0 {
entry:
  %text = select i1 %x, ptr @cachet_text_true, ptr @cachet_text_false
  %r = call i32 (ptr, ...) @printf(ptr %text)
  ret void
}

";

/// Sixteen digits after the first always read back, so the search ends. The longest text is `-d.(16 digits)e-308`.
const PRINT_FLOAT: &str = "@cachet_text_nan = private unnamed_addr constant [5 x i8] c\"nan\\0A\\00\"
@cachet_text_inf = private unnamed_addr constant [5 x i8] c\"inf\\0A\\00\"
@cachet_text_minus_inf = private unnamed_addr constant [6 x i8] c\"-inf\\0A\\00\"
@cachet_text_e = private unnamed_addr constant [5 x i8] c\"%.*e\\00\"
@cachet_text_e_line = private unnamed_addr constant [6 x i8] c\"%.*e\\0A\\00\"
@cachet_text_f_line = private unnamed_addr constant [6 x i8] c\"%.*f\\0A\\00\"
define internal void @cachet_print_float(double %x) noinline #0 {
entry:
  %text = alloca [64 x i8]
  %nan = fcmp uno double %x, %x
  br i1 %nan, label %not_a_number, label %number
not_a_number:
  %r0 = call i32 (ptr, ...) @printf(ptr @cachet_text_nan)
  ret void
number:
  %size = call double @llvm.fabs.f64(double %x)
  %infinite = fcmp oeq double %size, 0x7FF0000000000000
  br i1 %infinite, label %infinity, label %finite
infinity:
  %positive = fcmp ogt double %x, 0x0000000000000000
  %sign = select i1 %positive, ptr @cachet_text_inf, ptr @cachet_text_minus_inf
  %r1 = call i32 (ptr, ...) @printf(ptr %sign)
  ret void
finite:
  br label %search
search:
  %digits = phi i32 [ 0, %finite ], [ %more_digits, %again ]
  %r2 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %text, i64 64, ptr @cachet_text_e, i32 %digits, double %x)
  %back = call double @strtod(ptr %text, ptr null)
  %same = fcmp oeq double %back, %x
  %last = icmp eq i32 %digits, 16
  %enough = or i1 %same, %last
  br i1 %enough, label %found, label %again
again:
  %more_digits = add i32 %digits, 1
  br label %search
found:
  %e = call ptr @strchr(ptr %text, i32 101)
  %after_e = getelementptr i8, ptr %e, i64 1
  %exponent = call i32 @atoi(ptr %after_e)
  %shifted = add i32 %exponent, 4
  %plain = icmp ult i32 %shifted, 20
  br i1 %plain, label %fixed, label %scientific
fixed:
  %left = sub i32 %digits, %exponent
  %after_point = call i32 @llvm.smax.i32(i32 %left, i32 1)
  %r3 = call i32 (ptr, ...) @printf(ptr @cachet_text_f_line, i32 %after_point, double %x)
  ret void
scientific:
  %after_first = call i32 @llvm.smax.i32(i32 %digits, i32 1)
  %r4 = call i32 (ptr, ...) @printf(ptr @cachet_text_e_line, i32 %after_first, double %x)
  ret void
}

";
