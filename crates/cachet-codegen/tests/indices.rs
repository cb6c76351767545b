//! Indices, guards, loops over blocks, and what is bound to them, against the same in Rust.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_core::ir::{BlockPart, Domain, Elem, Guard, Ix, Prim, Rel, Role, StmtKind, Ty, Word};
use common::{
    Build, SIZES, bx, each, elem, f64s, fold, get, i64s, less, lit, load, native, number, op, program, reads, stmt,
    store, to, v, writes,
};

/// `out[i] = ix` for `i` in `0 .. N`, where the index is made from `i - 20` and `i % 7`.
fn indices(ix: impl Fn(Ix, Ix) -> Ix, wanted: impl Fn(i64, i64) -> i64, llvm: &cachet_runtime::Llvm) {
    let mut b = Build::new("indices");
    let n = b.size("N");
    let o = b.buffer("out", elem(Elem::I64), vec![v(n)], Role::Mut);
    let i = b.index("i");
    let x = Ix::Sub(bx(v(i)), bx(lit(20)));
    let y = Ix::Mod(bx(v(i)), 7);
    let body = store(o, &[v(i)], Word::Index(ix(x, y), Elem::I64));
    let code = native(llvm, &program(vec![b.done(vec![each(i, to(v(n)), vec![body])])]), 0, &[]);
    let got = i64s(&code.call(&[50], &[writes(400)])[0]);
    let wanted: Vec<i64> = (0..50).map(|i| wanted(i - 20, i % 7)).collect();
    assert_eq!(got, wanted, "{}", code.ir);
}

#[test]
fn index_arithmetic_rounds_down() {
    let Some(llvm) = common::llvm() else { return };
    indices(|x, y| Ix::Add(bx(x), bx(y)), |x, y| x + y, &llvm);
    indices(|x, y| Ix::Sub(bx(y), bx(x)), |x, y| y - x, &llvm);
    indices(|x, _| Ix::Sub(bx(x), bx(lit(0))), |x, _| x, &llvm);
    indices(|x, y| Ix::Min(bx(x), bx(y)), |x, y| x.min(y), &llvm);
    indices(|x, y| Ix::Max(bx(x), bx(y)), |x, y| x.max(y), &llvm);
    for n in [-3, -1, 0, 1, 7] {
        indices(|x, _| Ix::Mul(n, bx(x)), |x, _| n * x, &llvm);
    }
    for n in [1, 2, 3, 5, 8, 16, 17, 1 << 39] {
        indices(|x, _| Ix::Div(bx(x), n), |x, _| x.div_euclid(n), &llvm);
        indices(|x, _| Ix::Mod(bx(x), n), |x, _| x.rem_euclid(n), &llvm);
    }
}

#[test]
fn guards_choose() {
    let Some(llvm) = common::llvm() else { return };
    type Holds = fn(i64, i64) -> bool;
    let rels: [(Rel, Holds); 4] =
        [(Rel::Eq, |x, y| x == y), (Rel::Ne, |x, y| x != y), (Rel::Lt, |x, y| x < y), (Rel::Le, |x, y| x <= y)];
    for (rel, holds) in rels {
        let pick = |g: Guard| Ix::If(bx(g), bx(lit(1)), bx(lit(0)));
        let low = || Guard::Cmp(Rel::Lt, lit(3), lit(4));
        indices(|x, y| pick(Guard::Cmp(rel, x, y)), |x, y| holds(x, y).into(), &llvm);
        indices(|x, y| pick(Guard::Not(bx(Guard::Cmp(rel, x, y)))), |x, y| (!holds(x, y)).into(), &llvm);
        indices(
            |x, y| pick(Guard::And(bx(Guard::Cmp(rel, x.clone(), y)), bx(less(x, lit(2))))),
            |x, y| (holds(x, y) && x < 2).into(),
            &llvm,
        );
        indices(
            |x, y| pick(Guard::Or(bx(Guard::Cmp(rel, x.clone(), y)), bx(less(lit(9), x)))),
            |x, y| (holds(x, y) || x > 9).into(),
            &llvm,
        );
        indices(|_, _| pick(Guard::And(bx(low()), bx(Guard::Const(true)))), |_, _| 1, &llvm);
        indices(|_, _| pick(Guard::Or(bx(Guard::Const(false)), bx(Guard::Const(false)))), |_, _| 0, &llvm);
    }
}

#[test]
fn only_the_chosen_side_reads() {
    let Some(llvm) = common::llvm() else { return };
    // `out[i] = if 1 <= i && i < N - 1 then x[i - 1] + x[i + 1] else x[i]`: the other side would read outside.
    let mut b = Build::new("stencil");
    let n = b.size("N");
    let x = b.buffer("x", elem(Elem::F64), vec![v(n)], Role::Reads);
    let o = b.buffer("out", elem(Elem::F64), vec![v(n)], Role::Mut);
    let i = b.index("i");
    let last = Ix::Sub(bx(v(n)), bx(lit(1)));
    let inside = Guard::And(bx(Guard::Cmp(Rel::Le, lit(1), v(i))), bx(less(v(i), last)));
    let (before, after) = (Ix::Sub(bx(v(i)), bx(lit(1))), Ix::Add(bx(v(i)), bx(lit(1))));
    let sum = op(Prim::Add, vec![load(x, &[before]), load(x, &[after])]);
    let word = Word::If(bx(inside), bx(sum), bx(load(x, &[v(i)])));
    let p = program(vec![b.done(vec![each(i, to(v(n)), vec![store(o, &[v(i)], word)])])]);
    let code = native(&llvm, &p, 0, &[]);
    for n in SIZES {
        let xs: Vec<f64> = (0..n).map(|i| (i * i) as f64).collect();
        let got = f64s(&code.call(&[n], &[reads(&xs), writes(n * 8)])[0]);
        let wanted: Vec<f64> =
            (0..n).map(|i| if i >= 1 && i + 1 < n { xs[i - 1] + xs[i + 1] } else { xs[i] }).collect();
        assert_eq!(got, wanted);
    }
}

#[test]
fn statements_under_a_guard() {
    let Some(llvm) = common::llvm() else { return };
    let mut b = Build::new("split");
    let n = b.size("N");
    let o = b.buffer("out", elem(Elem::I64), vec![v(n)], Role::Mut);
    let i = b.index("i");
    let put = |ix: Ix| store(o, &[v(i)], Word::Index(ix, Elem::I64));
    let guard = Guard::Cmp(Rel::Eq, Ix::Mod(bx(v(i)), 3), lit(0));
    let choice = stmt(StmtKind::If { guard, then: vec![put(v(i))], els: vec![put(Ix::Mul(-1, bx(v(i))))] });
    let code = native(&llvm, &program(vec![b.done(vec![each(i, to(v(n)), vec![choice])])]), 0, &[]);
    for n in SIZES {
        let got = i64s(&code.call(&[n], &[writes(n * 8)])[0]);
        assert_eq!(got, (0..n as i64).map(|i| if i % 3 == 0 { i } else { -i }).collect::<Vec<_>>());
    }
}

#[test]
fn blocks_have_parts() {
    let Some(llvm) = common::llvm() else { return };
    for size in [1, 4, 7, 64] {
        for first in [0, 2, 3] {
            // Per index: lo, hi, len and number of its block, and the index by way of the block.
            let mut b = Build::new("blocks");
            let n = b.size("N");
            let o = b.buffer("out", elem(Elem::I64), vec![v(n), lit(5)], Role::Mut);
            let (g, i, z) = (b.blocks("g"), b.index("i"), b.index("z"));
            let part = |p| Ix::Block(g, p);
            let parts = [
                part(BlockPart::Lo),
                part(BlockPart::Hi),
                part(BlockPart::Len),
                part(BlockPart::Idx),
                Ix::InBlock(g, bx(v(i))),
            ];
            let at = |k: usize| [Ix::InBlock(g, bx(v(i))), lit(k as i64)];
            let body: Vec<_> =
                parts.iter().enumerate().map(|(k, p)| store(o, &at(k), Word::Index(p.clone(), Elem::I64))).collect();
            let inner = each(i, to(part(BlockPart::Len)), body);
            let domain = Domain::Blocks { lo: lit(first), hi: v(n), size };
            let zero: Vec<_> = (0..5).map(|k| store(o, &[v(z), lit(k)], Word::Index(lit(-1), Elem::I64))).collect();
            let body = vec![each(z, to(v(n)), zero), each(g, domain, vec![inner])];
            let code = native(&llvm, &program(vec![b.done(body)]), 0, &[]);
            for n in SIZES {
                let got = i64s(&code.call(&[n], &[writes(n * 40)])[0]);
                let mut wanted = vec![-1; n * 5];
                let (mut lo, mut idx) = (first, 0);
                while lo < n as i64 {
                    let hi = (lo + size).min(n as i64);
                    for i in lo..hi {
                        wanted[i as usize * 5..][..5].copy_from_slice(&[lo, hi, hi - lo, idx, i]);
                    }
                    (lo, idx) = (hi, idx + 1);
                }
                assert_eq!(got, wanted, "{size} {first} {n}");
            }
        }
    }
}

#[test]
fn folds_over_ranges_and_blocks_may_hold_tuples() {
    let Some(llvm) = common::llvm() else { return };
    // A running (sum, count of blocks) over blocks of 4, each block summed on its own and added.
    let mut b = Build::new("sums");
    let n = b.size("N");
    let x = b.buffer("x", elem(Elem::F64), vec![v(n)], Role::Reads);
    let o = b.buffer("out", elem(Elem::F64), vec![lit(1)], Role::Mut);
    let c = b.buffer("count", elem(Elem::I64), vec![lit(1)], Role::Mut);
    let pair = Ty::Tuple(vec![elem(Elem::F64), Ty::Tuple(vec![elem(Elem::I64)].into())].into());
    let (g, i) = (b.blocks("g"), b.index("i"));
    let (acc, inner) = (b.local("acc", pair.clone(), &[], false), b.local("inner", elem(Elem::F64), &[], false));
    let whole = b.local("whole", pair, &[], false);
    let sum = fold(
        i,
        to(Ix::Block(g, BlockPart::Len)),
        inner,
        number(Elem::F64, -0.0),
        op(Prim::Add, vec![get(inner), load(x, &[Ix::InBlock(g, bx(v(i)))])]),
    );
    let part = |w: Word, n| Word::Part(bx(w), n);
    let next = Word::Tuple(vec![
        op(Prim::Add, vec![part(get(acc), 0), sum]),
        Word::Tuple(vec![op(Prim::Add, vec![part(part(get(acc), 1), 0), number(Elem::I64, 1.0)])]),
    ]);
    let init = Word::Tuple(vec![number(Elem::F64, -0.0), Word::Tuple(vec![number(Elem::I64, 0.0)])]);
    let total = fold(g, Domain::Blocks { lo: lit(0), hi: v(n), size: 4 }, acc, init, next);
    let body = vec![
        stmt(StmtKind::Let { local: whole, word: total }),
        store(o, &[lit(0)], part(get(whole), 0)),
        store(c, &[lit(0)], part(part(get(whole), 1), 0)),
    ];
    let code = native(&llvm, &program(vec![b.done(body)]), 0, &[]);
    for n in SIZES {
        let xs: Vec<f64> = (0..n).map(|i| 1.0 / (i as f64 + 3.0)).collect();
        let got = code.call(&[n], &[reads(&xs), writes(8), writes(8)]);
        let wanted = xs.chunks(4).fold(-0.0, |acc, c| acc + c.iter().fold(-0.0, |a, x| a + x));
        assert_eq!(f64s(&got[0])[0].to_bits(), f64::to_bits(wanted));
        assert_eq!(i64s(&got[1]), [n.div_ceil(4) as i64]);
    }
}
