//! What the integration tests share: skipping with a reason, and the tools.
#![allow(dead_code, reason = "each test binary uses its own part")]

use cachet_runtime::{Family, Llvm, Peer, PeerSearch, ToolError, ToolErrorKind, find_peers};

/// Whether `CACHET_REQUIRE` names a tool, so that its absence is a failure and not a skip.
pub fn required(word: &str) -> bool {
    std::env::var("CACHET_REQUIRE").is_ok_and(|words| words.split(',').any(|item| item.trim() == word))
}

/// The tool, or a printed skip; a failure where it is required.
pub fn or_skip<T>(word: &str, found: Result<T, ToolError>) -> Option<T> {
    match found {
        Ok(tool) => Some(tool),
        Err(error) => {
            assert!(!required(word), "{word} is required: {error}");
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!("{}\n", format_args!("skipped: {error}")),
            );
            None
        }
    }
}

pub fn llvm() -> Option<Llvm> {
    or_skip("llvm", Llvm::load())
}

/// The peers of this machine of a family, with one thread; none is a printed skip, a failure where the word is required.
pub fn peers(word: &str, family: Family) -> Vec<Peer> {
    let peers = find_peers(&PeerSearch::of_process(), 1);
    let missing = peers.absent.iter().map(|a| format!("{}: {}; {}", a.name, a.reason, a.fix)).collect::<Vec<_>>();
    let found: Vec<Peer> = peers.found.into_iter().filter(|p| p.family() == family).collect();
    let absent = || ToolError::new(ToolErrorKind::Missing, missing.join("\n"));
    or_skip(word, if found.is_empty() { Err(absent()) } else { Ok(found) }).unwrap_or_default()
}

/// A folder of this test's own, removed when dropped.
pub struct Folder(pub std::path::PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("cachet-runtime-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for this test");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `y[i] = fma(a[i], b[i], y[i])` over `n` floats, with its uniform entry.
pub const FMA_KERNEL: &str = r#"
define void @axpy(i64 %n, ptr noalias %a, ptr noalias %b, ptr noalias %y) #0 {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %pa = getelementptr inbounds float, ptr %a, i64 %i
  %pb = getelementptr inbounds float, ptr %b, i64 %i
  %py = getelementptr inbounds float, ptr %y, i64 %i
  %va = load float, ptr %pa
  %vb = load float, ptr %pb
  %vy = load float, ptr %py
  %r = call float @llvm.fma.f32(float %va, float %vb, float %vy)
  store float %r, ptr %py
  %next = add nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @axpy__packed(ptr %sizes, ptr %buffers) #0 {
  %n = load i64, ptr %sizes
  %a = load ptr, ptr %buffers
  %sb = getelementptr inbounds ptr, ptr %buffers, i64 1
  %b = load ptr, ptr %sb
  %sy = getelementptr inbounds ptr, ptr %buffers, i64 2
  %y = load ptr, ptr %sy
  call void @axpy(i64 %n, ptr %a, ptr %b, ptr %y)
  ret void
}
declare float @llvm.fma.f32(float, float, float)
attributes #0 = { nounwind "no-builtins" }
"#;
