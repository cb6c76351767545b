//! Memory: arrays of no elements with huge extents, and what happens where there is no memory.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_codegen::emit_main;
use cachet_core::ir::{At, Call, Elem, FunId, Ix, Program, Role, StmtKind, View, Word};
use cachet_runtime::{OptLevel, link_executable, write_file};
use common::{
    Build, bits, bx, each, elem, i64s, lit, load, native, number, program, reads, stmt, store, to, v, writes,
};
use std::process::Command;

const HUGE: usize = 1 << 40;

fn call(fun: u32, sizes: Vec<Ix>, args: Vec<View>) -> cachet_core::ir::Stmt {
    stmt(StmtKind::Call(bx(Call { fun: FunId(fun), types: vec![], sizes, args })))
}

/// The product of two extents leaves 64 bits, and the third is 0.
#[test]
fn arrays_without_elements_may_have_huge_extents() {
    let Some(llvm) = common::llvm() else { return };
    let mut b = Build::new("rows");
    let (n, k) = (b.size("N"), b.size("K"));
    let x = b.buffer("x", elem(Elem::F32), vec![v(n), v(k)], Role::Reads);
    let o = b.buffer("o", elem(Elem::I64), vec![lit(1)], Role::Mut);
    let count_rows = b.done(vec![store(o, &[lit(0)], Word::Differing(x, x))]);

    let mut b = Build::new("empty");
    let (m, n, k) = (b.size("M"), b.size("N"), b.size("K"));
    let extents = || vec![v(m), v(n), v(k)];
    let x = b.buffer("x", elem(Elem::F32), extents(), Role::Reads);
    let o = b.buffer("out", elem(Elem::I64), vec![lit(2)], Role::Mut);
    let one = b.buffer("one", elem(Elem::I64), vec![lit(1)], Role::Alloc);
    let t = b.buffer("t", elem(Elem::F32), extents(), Role::Alloc);
    let last = Ix::Sub(bx(v(m)), bx(lit(1)));
    let part =
        View { buffer: x, axes: Some(vec![(last, lit(1)), (lit(0), v(n)), (lit(0), v(k))]), span: At::default() };
    let whole = |buffer| View { buffer, axes: None, span: At::default() };
    let row = b.buffer("row", elem(Elem::F32), vec![lit(1), v(n), v(k)], Role::Alloc);
    let mut inner = Build::new("plane");
    let (p, q) = (inner.size("P"), inner.size("Q"));
    let px = inner.buffer("x", elem(Elem::F32), vec![lit(1), v(p), v(q)], Role::Reads);
    let po = inner.buffer("o", elem(Elem::I64), vec![lit(1)], Role::Mut);
    let plane = inner.done(vec![store(po, &[lit(0)], Word::Differing(px, px))]);
    let body = vec![
        stmt(StmtKind::Alloc(one)),
        stmt(StmtKind::Alloc(t)),
        stmt(StmtKind::Alloc(row)),
        store(o, &[lit(0)], Word::Differing(x, t)),
        call(1, vec![v(n), v(k)], vec![part, whole(one)]),
        store(o, &[lit(1)], load(one, &[lit(0)])),
    ];
    let p = program(vec![count_rows, plane, b.done(body)]);
    let code = native(&llvm, &p, 2, &[]);
    for (m, n) in [(HUGE, HUGE), (HUGE, 1), (1, HUGE), (3, 5)] {
        let got = code.call(&[m, n, 0], &[reads::<f32>(&[]), writes(16)]);
        assert_eq!(i64s(&got[0]), [0, 0], "{m} {n}");
    }
}

/// Prints 7 and then allocates `extents`.
fn greedy(extents: &[i64]) -> Program {
    let mut b = Build::new("main");
    let t = b.buffer("t", elem(Elem::F32), extents.iter().map(|n| lit(*n)).collect(), Role::Alloc);
    let i = b.index("i");
    let zeros: Vec<Ix> = extents[1..].iter().map(|_| lit(0)).collect();
    let at: Vec<Ix> = std::iter::once(v(i)).chain(zeros).collect();
    let body = vec![
        stmt(StmtKind::Print(bits(Elem::I32, 7))),
        stmt(StmtKind::Alloc(t)),
        each(i, to(lit(extents[0].min(3))), vec![store(t, &at, number(Elem::F32, 1.0))]),
        stmt(StmtKind::Print(load(t, &vec![lit(0); extents.len()]))),
    ];
    program(vec![b.done(body)])
}

/// Makes an array of no elements with these extents, between two lines of output.
fn empty(extents: Vec<Ix>) -> Program {
    let mut b = Build::new("main");
    let t = b.buffer("t", elem(Elem::F32), extents, Role::Alloc);
    let line = |bits_of| stmt(StmtKind::Print(bits(Elem::I32, bits_of)));
    program(vec![b.done(vec![line(7), stmt(StmtKind::Alloc(t)), line(8)])])
}

#[test]
fn a_program_without_memory_says_so_and_ends_with_2() {
    let (Some(llvm), Some(())) = (common::llvm(), common::linker()) else { return };
    let folder = std::env::temp_dir().join(format!("cachet-codegen-memory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // What is proved of functions rests on dimensions of at most 2^40, also where there are no elements.
    let beyond = |factor| empty(vec![Ix::Mul(factor, bx(lit(1 << 40))), lit(0)]);
    // 2^80 elements, whose number is 0 in 64 bits; 2^50; and few, which are there.
    let cases = [
        (greedy(&[1 << 40, 1 << 40]), None),
        (greedy(&[1 << 25, 1 << 25]), None),
        (greedy(&[3, 5]), Some("7\n1.0\n")),
        (beyond(2), None),
        (beyond(1), Some("7\n8\n")),
    ];
    for (case, (made, printed)) in cases.into_iter().enumerate() {
        let text = emit_main(&made, FunId(0), &common::options(&llvm)).unwrap();
        let target = llvm.host().unwrap().target();
        let object = llvm.compile(&text.ir, &target, OptLevel::O3).unwrap().emit_object().unwrap();
        let (file, path) = (folder.join(format!("{case}.o")), folder.join(case.to_string()));
        write_file(&file, &object).unwrap();
        link_executable(&[&file], &path).unwrap();
        let output = Command::new(&path).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        match printed {
            Some(lines) => assert_eq!((output.status.code(), &*out, &*err), (Some(0), lines, "")),
            None => {
                assert_eq!((output.status.code(), &*out), (Some(2), "7\n"), "{case}: {err}");
                assert!(err.starts_with("cachet: an allocation: "), "{case}: {err}");
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}
