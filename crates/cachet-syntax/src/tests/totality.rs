//! What holds of every text: the tree is the text, nothing panics, nothing overflows, time is linear.
//!
//! The population of broken texts is the adversary's (promise P12).

use super::corpus::CORPUS;
use super::{good, lossless, shown};
use crate::{MAX_DEPTH, parse};
use cachet_source::{FileId, codes};
use std::time::Instant;

/// Xorshift with a fixed seed: the same mutants every time.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

fn check(text: &str) {
    let parsed = lossless(text);
    for d in &parsed.diagnostics {
        let span = d.span().unwrap();
        assert!(span.lo <= span.hi && span.hi as usize <= text.len());
        assert!(text.get(span.lo as usize..span.hi as usize).is_some(), "{d:?}");
    }
    if !parsed.ast.broken.is_empty() {
        assert!(!parsed.diagnostics.is_empty());
    }
}

#[test]
fn every_prefix_keeps_its_text() {
    for source in CORPUS {
        for at in (0..source.len()).step_by(7).filter(|at| source.is_char_boundary(*at)) {
            check(&source[..at]);
        }
    }
}

/// A stack much smaller than a main thread's; callers have frames of their own.
fn on_a_small_stack(f: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(f).unwrap().join().unwrap();
}

fn too_deep(text: &str) {
    let parsed = lossless(text);
    let codes: Vec<_> = parsed.diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(codes, [codes::TOO_DEEP], "{:?}", shown(text, &parsed));
}

#[test]
fn nesting_is_bounded() {
    on_a_small_stack(|| {
        let n = 100_000;
        too_deep(&format!("const A = {}x{}\n", "(".repeat(n), ")".repeat(n)));
        too_deep(&format!("const A = {}x\n", "- ".repeat(n)));
        too_deep(&format!("const A = {}x{}\n", "a[".repeat(n), "]".repeat(n)));
        too_deep(&format!("const A = x{}\n", " + x".repeat(n)));
        too_deep(&format!("const A = x{}\n", " as f32".repeat(n)));
        too_deep(&format!("const A = x{}\n", ".y".repeat(n)));
        too_deep(&format!("const A = x{}\n", "[0]".repeat(n)));
        too_deep(&format!("const A = {}x\n", "if a then b else ".repeat(n)));
        too_deep(&format!("const A = {}x\n", "sum k. ".repeat(n)));
        too_deep(&format!("const A : {}f32{} = 1\n", "[".repeat(n), "; 1]".repeat(n)));
        too_deep(&format!("const A : {}f32{} = 1\n", "(".repeat(n), ")".repeat(n)));
        too_deep(&format!("fn f () =\n  {}g a\n", "for i in 0 .. M do ".repeat(10_000)));
        too_deep(&format!("fn f () =\n  {}g a\n", "if a then ".repeat(10_000)));
        too_deep(&format!("builtin step x\n  relate\n    {}", "case x { ".repeat(10_000)));
        let mut nest = String::from("fn f () =\n");
        for i in 0..1_500 {
            nest += &format!("{}for i in 0 .. M do\n", " ".repeat(i + 2));
        }
        too_deep(&nest);
    });
}

#[test]
fn nesting_below_the_bound_is_accepted() {
    on_a_small_stack(|| {
        let n = MAX_DEPTH - 8;
        good(&format!("const A = {}x{}\n", "(".repeat(n), ")".repeat(n)));
        good(&format!("const A = x{}\n", " + x".repeat(500)));
        good(&format!("fn f () =\n  {}g a\n", "for i in 0 .. M do ".repeat(n)));
        let mut nest = String::from("fn f () =\n");
        for i in 0..n {
            nest += &format!("{}for i in 0 .. M do\n", " ".repeat(i + 2));
        }
        nest += &format!("{}g a\n", " ".repeat(n + 2));
        good(&nest);
    });
}

#[test]
fn a_report_never_multiplies() {
    let text = format!("fn f () =\n{}  good a\n", "  let = 3 )) ] fold (\n    more (\n".repeat(50));
    assert_eq!(lossless(&text).diagnostics.len(), 50);
}

fn generated(functions: usize) -> String {
    let mut text = String::new();
    for f in 0..functions {
        text += &format!(
            "fn f{f}\n    (reads a: [f32; M, K])\n    (mut c: [f32; M, N] in Panels 4 at DRAM)\nproduces Init c\n=\n  for gi in blocks (0 .. M) 16 do\n    for j in 0 .. N do\n      let acc'0 = load c[gi[0], j]\n      store c[gi[0], j] = fma (load a[gi[0], j]) (load b[j, {f}]) acc'0\n\n"
        );
    }
    text
}

#[test]
fn time_grows_with_the_text() {
    for functions in [100, 800] {
        let text = generated(functions);
        good(&text);
        let start = Instant::now();
        let parsed = parse(&text, FileId(0));
        println!("{} lines: {:?}", text.lines().count(), start.elapsed());
        assert_eq!(parsed.ast.items.len(), functions);
    }
    // Quadratic time would be minutes here.
    let stray = format!("const A = {}{}", "(".repeat(300_000), "]".repeat(300_000));
    assert!(!lossless(&stray).diagnostics.is_empty());
    let open = format!("fn f () =\n{}", "  x = f (a [i] {\n".repeat(60_000));
    assert!(!lossless(&open).diagnostics.is_empty());
}
