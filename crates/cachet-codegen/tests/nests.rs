//! Whole nests against the same arithmetic in Rust, at sizes around every boundary, between guard pages.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_core::ir::{Elem, Fun, Prim, Role, StmtKind};
use common::{
    Build, Random, SIZES, cell, each, elem, f32s, f64s, fold, get, load, native, number, op, program, reads, same32,
    same64, stmt, store, to, v, writes,
};

fn matmul(e: Elem) -> Fun {
    let mut b = Build::new("matmul");
    let (m, n, k) = (b.size("M"), b.size("N"), b.size("K"));
    let x = b.buffer("a", elem(e), vec![v(m), v(k)], Role::Reads);
    let y = b.buffer("b", elem(e), vec![v(k), v(n)], Role::Reads);
    let c = b.buffer("c", elem(e), vec![v(m), v(n)], Role::Mut);
    let (i, j, kk) = (b.index("i"), b.index("j"), b.index("k"));
    let acc = b.local("acc", elem(e), &[], false);
    let next = op(Prim::Fma, vec![load(x, &[v(i), v(kk)]), load(y, &[v(kk), v(j)]), get(acc)]);
    let sum = fold(kk, to(v(k)), acc, number(e, -0.0), next);
    b.done(vec![each(i, to(v(m)), vec![each(j, to(v(n)), vec![store(c, &[v(i), v(j)], sum)])])])
}

/// The same sum with `k` outside `j`: one row of the result at a time.
fn swapped(e: Elem) -> Fun {
    let mut b = Build::new("swapped");
    let (m, n, k) = (b.size("M"), b.size("N"), b.size("K"));
    let x = b.buffer("a", elem(e), vec![v(m), v(k)], Role::Reads);
    let y = b.buffer("b", elem(e), vec![v(k), v(n)], Role::Reads);
    let c = b.buffer("c", elem(e), vec![v(m), v(n)], Role::Mut);
    let (zi, zj, i, j, kk) = (b.index("zi"), b.index("zj"), b.index("i"), b.index("j"), b.index("k"));
    let acc = b.local("acc", elem(e), &[], false);
    let zero = store(c, &[v(zi), v(zj)], number(e, -0.0));
    let next = op(Prim::Fma, vec![load(x, &[v(i), v(kk)]), load(y, &[v(kk), v(j)]), get(acc)]);
    let body = vec![
        stmt(StmtKind::Let { local: acc, word: load(c, &[v(i), v(j)]) }),
        stmt(StmtKind::Store { to: cell(c, &[v(i), v(j)]), word: next }),
    ];
    b.done(vec![
        each(zi, to(v(m)), vec![each(zj, to(v(n)), vec![zero])]),
        each(i, to(v(m)), vec![each(kk, to(v(k)), vec![each(j, to(v(n)), body)])]),
    ])
}

fn expected(a: &[f64], b: &[f64], m: usize, n: usize, k: usize) -> Vec<f64> {
    let mut c = vec![-0.0f64; m * n];
    for i in 0..m {
        for j in 0..n {
            c[i * n + j] = (0..k).fold(-0.0, |acc, p| a[i * k + p].mul_add(b[p * n + j], acc));
        }
    }
    c
}

fn expected32(a: &[f32], b: &[f32], m: usize, n: usize, k: usize) -> Vec<f32> {
    let mut c = vec![-0.0f32; m * n];
    for i in 0..m {
        for j in 0..n {
            c[i * n + j] = (0..k).fold(-0.0, |acc, p| a[i * k + p].mul_add(b[p * n + j], acc));
        }
    }
    c
}

#[test]
fn products_have_the_bits_of_their_definition() {
    let Some(llvm) = common::llvm() else { return };
    for (e, make) in
        [(Elem::F32, matmul as fn(Elem) -> Fun), (Elem::F32, swapped), (Elem::F64, matmul), (Elem::F64, swapped)]
    {
        let code = native(&llvm, &program(vec![make(e)]), 0, &[]);
        let mut random = Random(1);
        for special in [false, true] {
            for (at, m) in SIZES.into_iter().enumerate() {
                for n in SIZES {
                    let k = SIZES[(at + n) % SIZES.len()];
                    let mut floats = |n: usize| -> Vec<f64> { (0..n).map(|_| random.float(special)).collect() };
                    let (a, b) = (floats(m * k), floats(k * n));
                    if e == Elem::F64 {
                        let out = code.call(&[m, n, k], &[reads(&a), reads(&b), writes(m * n * 8)]);
                        assert!(same64(&f64s(&out[0]), &expected(&a, &b, m, n, k)), "{m} {n} {k} {}", code.ir);
                    } else {
                        let narrow = |xs: &[f64]| xs.iter().map(|x| *x as f32).collect::<Vec<f32>>();
                        let (a, b) = (narrow(&a), narrow(&b));
                        let out = code.call(&[m, n, k], &[reads(&a), reads(&b), writes(m * n * 4)]);
                        assert!(same32(&f32s(&out[0]), &expected32(&a, &b, m, n, k)), "{m} {n} {k} {}", code.ir);
                    }
                }
            }
        }
    }
}
