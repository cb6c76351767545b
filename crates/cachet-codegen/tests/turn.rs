//! Squares that are turned in registers: copies that transpose, and vectors whose lanes lie in different rows. At sizes
//! around every square's side, for vectors of several widths, between guard pages.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_codegen::Options;
use cachet_core::ir::{
    BlockPart, Domain, Elem, Fun, Guard, Ix, Layout, LayoutOp, LocalInfo, Prim, Rel, Role, StmtKind, VarKind, Word,
};
use cachet_runtime::Llvm;
use common::{
    Build, Random, bx, cell, each, elem, f32s, f64s, lit, load, native_for, number, op, options, program, reads,
    same32, same64, stmt, store, text, to, v, writes,
};

/// Sides of squares of every element, one less, one more, two and one more.
const SIZES: [usize; 12] = [0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33];

/// This processor, and it as one with narrower vectors.
fn processors(llvm: &Llvm) -> Vec<Options> {
    let own = options(llvm);
    let widest = own.vector_bits.max(128);
    let narrower = |bits| Options { vector_bits: bits, ..own.clone() };
    [128, 256, 512].into_iter().filter(|bits| *bits <= widest).map(narrower).collect()
}

/// `t[j, i] = a[i, j]`, whichever loop is the outer one; with a layout of the result.
fn transposed(e: Elem, rows_outside: bool, layout: Layout) -> Fun {
    let mut b = Build::new("transposed");
    let (m, n) = (b.size("M"), b.size("N"));
    let a = b.buffer("a", elem(e), vec![v(m), v(n)], Role::Reads);
    let t = b.buffer("t", elem(e), vec![v(n), v(m)], Role::Mut);
    b.fun.buffers[t.index()].layout = layout;
    let (i, j) = (b.index("i"), b.index("j"));
    let copy = store(t, &[v(j), v(i)], load(a, &[v(i), v(j)]));
    let ((outer, first), (inner, second)) = if rows_outside { ((i, m), (j, n)) } else { ((j, n), (i, m)) };
    b.done(vec![each(outer, to(v(first)), vec![each(inner, to(v(second)), vec![copy])])])
}

/// Bytes that tell all cells apart as far as their size allows.
fn cells(count: usize, bytes: usize) -> Vec<u8> {
    let mut random = Random(0x5EED + count as u64);
    (0..count).flat_map(|_| random.next().to_le_bytes()[..bytes].to_vec()).collect()
}

#[test]
fn copies_turn_every_word() {
    let Some(llvm) = common::llvm() else { return };
    for options in processors(&llvm) {
        for e in [Elem::F32, Elem::F64, Elem::BF16, Elem::I8, Elem::U32] {
            for rows_outside in [false, true] {
                let p = program(vec![transposed(e, rows_outside, Layout::RowMajor)]);
                let kernel = native_for(&llvm, &p, 0, &[], &options);
                assert!(kernel.ir.contains("shufflevector"), "{e:?} is not turned: {} bits", options.vector_bits);
                let size = e.bytes() as usize;
                for m in SIZES {
                    for n in SIZES {
                        let a = cells(m * n, size);
                        let got = kernel.call(&[m, n], &[reads(&a), writes(m * n * size)]);
                        let at = |i: usize, j: usize| &a[(i * n + j) * size..][..size];
                        let want: Vec<u8> = (0..n).flat_map(|j| (0..m).flat_map(move |i| at(i, j).to_vec())).collect();
                        assert_eq!(got[0], want, "{e:?}, {m} x {n}, {} bits", options.vector_bits);
                    }
                }
            }
        }
    }
}

/// A layout that keeps four columns together: squares are no larger than its groups.
#[test]
fn groups_of_a_layout_bound_the_squares() {
    let Some(llvm) = common::llvm() else { return };
    let ops = vec![LayoutOp::Split { axis: 1, by: 4, pad: true, back: false }, LayoutOp::Order(vec![1, 0, 2])];
    let groups = Layout::Named { name: "Quads".into(), ops };
    for options in processors(&llvm) {
        let p = program(vec![transposed(Elem::F32, false, groups.clone())]);
        let kernel = native_for(&llvm, &p, 0, &[], &options);
        assert!(kernel.ir.contains("shufflevector <4 x float>"), "{}", kernel.ir);
        for m in SIZES {
            for n in SIZES {
                let a = cells(m * n, 4);
                let padded = m.div_ceil(4) * 4;
                let got = kernel.call(&[m, n], &[reads(&a), writes(padded * n * 4)]);
                for i in 0..m {
                    for j in 0..n {
                        let at = ((i / 4) * n + j) * 4 + i % 4;
                        assert_eq!(got[0][at * 4..][..4], a[(i * n + j) * 4..][..4], "({i}, {j}) of {m} x {n}");
                    }
                }
            }
        }
    }
}

/// What is read and written in one array is copied as it is written.
#[test]
fn copies_in_place_stay_loops() {
    let Some(llvm) = common::llvm() else { return };
    let mut b = Build::new("in_place");
    let m = b.size("M");
    let x = b.buffer("x", elem(Elem::F32), vec![v(m), v(m)], Role::Mut);
    let (i, j) = (b.index("i"), b.index("j"));
    let copy = store(x, &[v(j), v(i)], load(x, &[v(i), v(j)]));
    let p = program(vec![b.done(vec![each(i, to(v(m)), vec![each(j, to(v(m)), vec![copy])])])]);
    assert!(!text(&p, 0, &[], &options(&llvm)).ir.contains("shufflevector"));
}

/// `y[g + l] = sum k. a[g + l, k] * x[k]` for vectors of `lanes` rows, masked at the end.
fn across(e: Elem, lanes: i64) -> Fun {
    let mut b = Build::new("across");
    let (m, n) = (b.size("M"), b.size("K"));
    let a = b.buffer("a", elem(e), vec![v(m), v(n)], Role::Reads);
    let x = b.buffer("x", elem(e), vec![v(n)], Role::Reads);
    let y = b.buffer("y", elem(e), vec![v(m)], Role::Mut);
    let (g, k) = (b.blocks("g"), b.index("k"));
    b.fun.locals.push(LocalInfo { name: "acc".into(), ty: elem(e), dims: vec![lanes], vector: true, mutable: true });
    let acc = cachet_core::ir::Local(0);
    let mut lane = || b.var("l", VarKind::Lane(lanes));
    let (l, last) = (lane(), lane());
    let row = |l| Ix::InBlock(g, bx(v(l)));
    let len = Ix::Block(g, BlockPart::Len);
    let there = Guard::Cmp(Rel::Lt, v(l), len.clone());
    let read = Word::If(bx(there), bx(load(a, &[row(l), v(k)])), bx(number(e, 0.0)));
    let own = |l| Word::Local(acc, vec![v(l)]);
    let word = op(Prim::Fma, vec![read, load(x, &[v(k)]), own(l)]);
    let add = stmt(StmtKind::Assign { local: acc, at: vec![v(l)], word });
    let put = stmt(StmtKind::Store { to: cell(y, &[row(last)]), word: own(last) });
    let body = vec![
        stmt(StmtKind::Var { local: acc, init: number(e, -0.0) }),
        each(k, to(v(n)), vec![each(l, to(lit(lanes)), vec![add])]),
        each(last, to(len), vec![put]),
    ];
    let blocks = Domain::Blocks { lo: lit(0), hi: v(m), size: lanes };
    b.done(vec![each(g, blocks, body)])
}

#[test]
fn lanes_in_rows_have_their_own_sums() {
    let Some(llvm) = common::llvm() else { return };
    let mut random = Random(7);
    for options in processors(&llvm) {
        for lanes in [4, 8, 12, 16, 24, 32] {
            let (single, double) = (across(Elem::F32, lanes), across(Elem::F64, lanes));
            let p = program(vec![single, double]);
            let kernels = [0, 1].map(|fun| native_for(&llvm, &p, fun, &[], &options));
            for m in SIZES {
                for n in SIZES {
                    let mut draw = |count: usize| (0..count).map(|_| random.float(false)).collect::<Vec<f64>>();
                    let (a, x) = (draw(m * n), draw(n));
                    let want: Vec<f64> =
                        (0..m).map(|i| (0..n).fold(-0.0, |t, k| a[i * n + k].mul_add(x[k], t))).collect();
                    let got = kernels[1].call(&[m, n], &[reads(&a), reads(&x), writes(m * 8)]);
                    assert!(same64(&f64s(&got[0]), &want), "{m} x {n}, {lanes} lanes, {} bits", options.vector_bits);
                    let narrow = |xs: &[f64]| xs.iter().map(|x| *x as f32).collect::<Vec<f32>>();
                    let (a, x) = (narrow(&a), narrow(&x));
                    let want: Vec<f32> =
                        (0..m).map(|i| (0..n).fold(-0.0, |t, k| a[i * n + k].mul_add(x[k], t))).collect();
                    let got = kernels[0].call(&[m, n], &[reads(&a), reads(&x), writes(m * 4)]);
                    assert!(same32(&f32s(&got[0]), &want), "{m} x {n}, {lanes} lanes, {} bits", options.vector_bits);
                }
            }
            assert!(kernels.iter().all(|k| k.ir.contains("llvm.prefetch")), "rows are not read ahead: {lanes} lanes");
        }
    }
}

/// A loop that writes what its lanes read in rows is not read ahead.
#[test]
fn what_is_written_is_not_read_ahead() {
    let Some(llvm) = common::llvm() else { return };
    let mut b = Build::new("running");
    let n = b.size("N");
    let x = b.buffer("x", elem(Elem::F32), vec![lit(16), Ix::Add(bx(v(n)), bx(lit(1)))], Role::Mut);
    let (k, l) = (b.index("k"), b.var("l", VarKind::Lane(16)));
    let next = Ix::Add(bx(v(k)), bx(lit(1)));
    let word = op(Prim::Add, vec![load(x, &[v(l), v(k)]), number(Elem::F32, 1.0)]);
    let put = store(x, &[v(l), next], word);
    let p = program(vec![b.done(vec![each(k, to(v(n)), vec![each(l, to(lit(16)), vec![put])])])]);
    let kernel = native_for(&llvm, &p, 0, &[], &options(&llvm));
    for n in SIZES {
        let first: Vec<f32> = (0..16 * (n + 1)).map(|at| if at % (n + 1) == 0 { at as f32 } else { 0.0 }).collect();
        let mut data = reads(&first);
        data.written = true;
        let got = f32s(&kernel.call(&[n], &[data])[0]);
        for (at, word) in got.iter().enumerate() {
            let (row, column) = (at / (n + 1), at % (n + 1));
            assert!(*word == (row * (n + 1) + column) as f32, "({row}, {column}) of {n}");
        }
    }
}
