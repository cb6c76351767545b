//! Runs of programs made by hand, and the facts about arithmetic that the manual states.

use super::{Array, Options, Trap, TrapKind, run, run_main, scalar};
use crate::ir::{
    Binding, BlockPart, Domain, Elem, Fun, FunId, Guard, ImplId, Ix, Prim, Program, Reduce, Rel, Role, Shape, StmtKind,
    Ty, Word,
};
use crate::samples::{
    Build, F32, MINUS_ZERO, all_of, banded, call, empty_fun, fold, generic, grid, lit, load, local, loops, matmul,
    matmul_with, matvec, n, one_word, op, part_of, plus, program, stmt, store, swapped, to, v,
};

fn f32s(a: &Array) -> Vec<f32> {
    a.bits().iter().map(|b| f32::from_bits(*b as u32)).collect()
}

fn numbers(count: i64, step: f32) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 % 19) as f32 - 9.0) * step).collect()
}

fn ran(p: &Program, types: &[Binding], sizes: &[i64], args: &mut [Array]) -> Result<(), Trap> {
    run(p, FunId(0), types, sizes, args, &Options::default())
}

/// The value of a word, with `x` to read from.
fn value(x: &[f32], make: impl Fn(&mut Fun, crate::ir::Buffer) -> Word) -> Result<u64, TrapKind> {
    let p = program(vec![one_word(make)]);
    crate::validate::validate(&p).unwrap();
    let size = x.len() as i64;
    let mut args = [Array::from_f32(&[size], x).unwrap(), Array::new(&F32, &[1]).unwrap()];
    ran(&p, &[], &[size], &mut args).map_err(|t| t.kind)?;
    Ok(args[1].bits()[0])
}

#[test]
fn matmul_is_a_chain_of_fma() {
    for f in [matmul(), swapped()] {
        let p = program(vec![f]);
        crate::validate::validate(&p).unwrap();
        let (m, k, nn) = (5, 7, 3);
        let (a, b) = (numbers(m * k, 0.1), numbers(k * nn, 0.3));
        let mut args = [
            Array::from_f32(&[m, k], &a).unwrap(),
            Array::from_f32(&[k, nn], &b).unwrap(),
            Array::new(&F32, &[m, nn]).unwrap(),
        ];
        ran(&p, &[], &[m, k, nn], &mut args).unwrap();
        for i in 0..m as usize {
            for j in 0..nn as usize {
                let chain =
                    (0..k as usize).fold(-0.0f32, |s, q| a[i * k as usize + q].mul_add(b[q * nn as usize + j], s));
                assert_eq!(f32s(&args[2])[i * nn as usize + j].to_bits(), chain.to_bits());
            }
        }
    }
}

#[test]
fn an_empty_sum_is_minus_zero_and_still_written() {
    let p = program(vec![matmul()]);
    let mut args = [
        Array::from_f32(&[2, 0], &[]).unwrap(),
        Array::from_f32(&[0, 2], &[]).unwrap(),
        Array::new(&F32, &[2, 2]).unwrap(),
    ];
    ran(&p, &[], &[2, 0, 2], &mut args).unwrap();
    assert_eq!(args[2].bits(), [MINUS_ZERO; 4]);
}

#[test]
fn a_matmul_of_17_takes_well_under_a_millisecond() {
    let p = program(vec![matmul()]);
    let prepared = super::prepare(&p, FunId(0), &[]).unwrap();
    let x = numbers(17 * 17, 0.5);
    let best = (0..20)
        .map(|_| {
            let mut args = [
                Array::from_f32(&[17, 17], &x).unwrap(),
                Array::from_f32(&[17, 17], &x).unwrap(),
                Array::new(&F32, &[17, 17]).unwrap(),
            ];
            let start = std::time::Instant::now();
            prepared.run(&[17, 17, 17], &mut args, &Options::default()).unwrap();
            start.elapsed()
        })
        .min()
        .unwrap();
    println!("17 x 17 x 17: {best:?}");
    assert!(best.as_micros() < 20_000, "{best:?}");
}

#[test]
fn matvec_and_its_generic_twin_agree() {
    let (a, x) = (numbers(12, 0.7), numbers(4, 1.1));
    let make =
        || [Array::from_f32(&[3, 4], &a).unwrap(), Array::from_f32(&[4], &x).unwrap(), Array::new(&F32, &[3]).unwrap()];
    let (mut plain, mut bound, mut instance) = (make(), make(), make());
    ran(&program(vec![matvec()]), &[], &[3, 4], &mut plain).unwrap();
    let mut g = generic();
    crate::validate::validate(&g).unwrap();
    let plus_times = [Binding::Impl(ImplId(0))];
    ran(&g, &plus_times, &[3, 4], &mut bound).unwrap();
    g.funs[0] = crate::instance::instantiate(&g, &g.funs[0], &plus_times);
    g.funs.truncate(1);
    crate::validate::validate(&g).unwrap();
    ran(&g, &[], &[3, 4], &mut instance).unwrap();
    assert_eq!(plain[2], bound[2]);
    assert_eq!(plain[2], instance[2]);
}

#[test]
fn min_plus_finds_the_shortest_step() {
    let p = generic();
    let a = Array::from_f32(&[3, 3], &[5.0, 1.0, 9.0, 2.0, 2.0, -7.0, 4.0, 4.0, 4.0]).unwrap();
    let mut args = [a, Array::new(&F32, &[3]).unwrap()];
    run(&p, FunId(1), &[], &[3], &mut args, &Options::default()).unwrap();
    assert_eq!(f32s(&args[1]), [2.0, -5.0, 4.0]);
    let mut none =
        [Array::from_f32(&[2, 0], &[]).unwrap(), Array::from_f32(&[0], &[]).unwrap(), Array::new(&F32, &[2]).unwrap()];
    ran(&p, &[Binding::Impl(ImplId(1))], &[2, 0], &mut none).unwrap();
    assert_eq!(f32s(&none[2]), [f32::INFINITY; 2]);
}

#[test]
fn accesses_are_checked() {
    let make = || {
        [
            Array::from_f32(&[2, 2], &[1.0; 4]).unwrap(),
            Array::from_f32(&[2, 2], &[1.0; 4]).unwrap(),
            Array::new(&F32, &[2, 2]).unwrap(),
        ]
    };
    let p = program(vec![matmul_with(|k| plus(k, n(1)), |k, _| k)]);
    let trap = ran(&p, &[], &[2, 2, 2], &mut make()).unwrap_err();
    assert_eq!(trap.kind, TrapKind::OutOfBounds { name: "a".into(), at: vec![0, 2] });
    assert!(trap.text.contains("`a[i, k]` is a[0, 2]"), "{}", trap.text);

    let mut f = matmul();
    let c = f.params[2];
    f.body = vec![store(c, &[n(0), n(0)], load(c, &[n(1), n(1)]))];
    let trap = ran(&program(vec![f]), &[], &[2, 2, 2], &mut make()).unwrap_err();
    assert_eq!(trap.kind, TrapKind::Uninitialised { name: "c".into(), at: vec![1, 1] });

    let mut f = matmul();
    f.body.clear();
    assert_eq!(ran(&program(vec![f]), &[], &[2, 2, 2], &mut make()).unwrap_err().kind, TrapKind::NotProduced);

    let mut f = matmul();
    f.requires = vec![Guard::Cmp(Rel::Lt, n(2), v(f.sizes[1]))];
    assert_eq!(ran(&program(vec![f]), &[], &[2, 2, 2], &mut make()).unwrap_err().kind, TrapKind::RequirementViolated);
}

/// Calls `matvec` on a square part of `a`, a part of `x`, and a part of `y`.
fn caller(y_at: i64, x_of_y: bool) -> Program {
    let mut f = empty_fun("caller");
    let size = f.size("N");
    let a = f.param("a", F32, &[v(size), v(size)], Role::Reads);
    let y = f.param("y", F32, &[v(size)], Role::Mut);
    let x = f.param("x", F32, &[v(size)], Role::Reads);
    let lent = if x_of_y { y } else { x };
    f.body = vec![call(
        1,
        vec![],
        vec![n(2), n(2)],
        vec![
            part_of(a, vec![(n(1), n(2)), (n(2), n(2))]),
            part_of(lent, vec![(n(1), n(2))]),
            part_of(y, vec![(n(y_at), n(2))]),
        ],
    )];
    program(vec![f, matvec()])
}

#[test]
fn calls_work_on_views() {
    let make = || {
        [
            Array::from_f32(&[4, 4], &numbers(16, 1.0)).unwrap(),
            Array::from_f32(&[4], &[9.0; 4]).unwrap(),
            Array::from_f32(&[4], &[1.0, 2.0, 3.0, 4.0]).unwrap(),
        ]
    };
    let p = caller(1, false);
    crate::validate::validate(&p).unwrap();
    let mut args = make();
    ran(&p, &[], &[4], &mut args).unwrap();
    let a = numbers(16, 1.0);
    assert_eq!(f32s(&args[1]), [9.0, a[6] * 2.0 + a[7] * 3.0, a[10] * 2.0 + a[11] * 3.0, 9.0]);
    assert_eq!(ran(&caller(2, true), &[], &[4], &mut make()).unwrap_err().kind, TrapKind::Overlap);
    assert!(
        ran(&caller(3, false), &[], &[4], &mut make()).is_err_and(|t| matches!(t.kind, TrapKind::OutOfBounds { .. }))
    );
    ran(
        &caller(3, true),
        &[],
        &[5],
        &mut [
            Array::from_f32(&[5, 5], &[1.0; 25]).unwrap(),
            Array::from_f32(&[5], &[1.0; 5]).unwrap(),
            Array::from_f32(&[5], &[1.0; 5]).unwrap(),
        ],
    )
    .unwrap();
}

#[test]
fn scratch_is_forgotten_on_both_sides() {
    let mut inner = empty_fun("inner");
    let p = inner.param("p", F32, &[n(1)], Role::Mut);
    inner.scratch = vec![p];
    let mut reads = inner.clone();
    inner.body = vec![store(p, &[n(0)], lit(1.0))];
    let l = reads.let_("l", F32);
    reads.body = vec![stmt(StmtKind::Let { local: l, word: load(p, &[n(0)]) })];
    let mut outer = empty_fun("outer");
    let q = outer.param("q", F32, &[n(1)], Role::Mut);
    let l = outer.let_("l", F32);
    outer.body =
        vec![call(1, vec![], vec![], vec![all_of(q)]), stmt(StmtKind::Let { local: l, word: load(q, &[n(0)]) })];
    for (callee, name) in [(inner, "q"), (reads, "p")] {
        let trap = ran(&program(vec![outer.clone(), callee]), &[], &[], &mut [Array::from_f32(&[1], &[0.0]).unwrap()])
            .unwrap_err();
        assert_eq!(trap.kind, TrapKind::Uninitialised { name: name.into(), at: vec![0] });
    }
}

#[test]
fn grids_stay_in_their_windows_in_any_order() {
    let at = |f: Fun, shuffle: Option<u64>| {
        let p = program(vec![f]);
        crate::validate::validate(&p).unwrap();
        let mut args = [Array::from_f32(&[7], &[1.0; 7]).unwrap()];
        let options = Options { shuffle, ..Options::default() };
        run(&p, FunId(0), &[], &[5], &mut args, &options).map(|()| f32s(&args[0])).map_err(|t| t.kind)
    };
    for shuffle in [None, Some(1), Some(99)] {
        assert_eq!(at(banded(0, 0), shuffle), Ok(vec![2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0]));
    }
    assert_eq!(at(banded(1, 0), None), Err(TrapKind::WindowViolated));
    assert_eq!(at(banded(0, 1), None), Err(TrapKind::WindowOverlap));
}

#[test]
fn a_grid_iteration_reads_no_neighbours_window() {
    let mut f = empty_fun("reads");
    let size = f.size("N");
    let c = f.param("c", F32, &[v(size)], Role::Mut);
    let i = f.index_var("i");
    let w = crate::ir::Window { buffer: c, axes: vec![(v(i), n(1))] };
    f.body = vec![grid(vec![(i, to(n(0), v(size)))], vec![w], vec![store(c, &[v(i)], load(c, &[n(0)]))])];
    let trap = ran(&program(vec![f]), &[], &[2], &mut [Array::from_f32(&[2], &[1.0, 2.0]).unwrap()]).unwrap_err();
    assert_eq!(trap.kind, TrapKind::WindowViolated);
}

#[test]
fn f6_fma_rounds_once() {
    let x = [1.0 + 1.0 / 4096.0];
    let at = |x| load(x, &[n(0)]);
    let fused = value(&x, |_, x| op(Prim::Fma, vec![at(x), at(x), lit(-1.0)])).unwrap();
    let twice = value(&x, |_, x| op(Prim::Add, vec![op(Prim::Mul, vec![at(x), at(x)]), lit(-1.0)])).unwrap();
    assert_eq!(f32::from_bits(fused as u32), 2f32.powi(-11) + 2f32.powi(-24));
    assert_eq!(f32::from_bits(twice as u32), 2f32.powi(-11));
}

#[test]
fn f50_to_f52_order_and_signed_zeros() {
    let x = [16_777_216.0, 16_777_216.0, -33_554_432.0, 1.0, 2.0, -2.0];
    let chain = value(&x, |f, x| {
        let k = f.index_var("k");
        fold(f, k, n(5), F32, load(x, &[n(0)]), |acc| op(Prim::Add, vec![acc, load(x, &[plus(v(k), n(1))])]))
    });
    assert_eq!(chain, Ok(u64::from(1f32.to_bits())));
    let pair = |x, a, b| op(Prim::Add, vec![load(x, &[n(a)]), load(x, &[n(b)])]);
    let pairs = value(&x, |_, x| op(Prim::Add, vec![op(Prim::Add, vec![pair(x, 0, 1), pair(x, 2, 3)]), pair(x, 4, 5)]));
    assert_eq!(pairs, Ok(0));
    assert_eq!(value(&x, |_, x| pair(x, 2, 3)), Ok(u64::from((-33_554_432f32).to_bits())));
    let sum = |a: f32, b: f32| value(&x, |_, _| op(Prim::Add, vec![lit(a), lit(b)])).unwrap();
    assert_eq!((sum(-0.0, -0.0), sum(0.0, -0.0)), (MINUS_ZERO, 0));
    let inverse = |a: f32| f32::from_bits(value(&x, |_, _| op(Prim::Div, vec![lit(1.0), lit(a)])).unwrap() as u32);
    assert_eq!((inverse(-0.0), inverse(0.0)), (f32::NEG_INFINITY, f32::INFINITY));
}

#[test]
fn maximum_minimum_and_nans() {
    let p = |prim, a: f32, b: f32| {
        scalar::primitive(prim, Elem::F32, &[u64::from(a.to_bits()), u64::from(b.to_bits())], false).unwrap()
    };
    let bits = |x: f32| u64::from(x.to_bits());
    assert_eq!(p(Prim::Max, -0.0, 0.0), 0);
    assert_eq!(p(Prim::Max, 0.0, -0.0), 0);
    assert_eq!(p(Prim::Min, -0.0, 0.0), MINUS_ZERO);
    assert_eq!(p(Prim::Min, 0.0, -0.0), MINUS_ZERO);
    assert_eq!(p(Prim::Max, 1.0, f32::NAN), 0x7fc0_0000);
    assert_eq!(p(Prim::Min, -f32::NAN, 1.0), 0x7fc0_0000);
    assert_eq!((p(Prim::Max, 3.0, -4.0), p(Prim::Min, 3.0, -4.0)), (bits(3.0), bits(-4.0)));
    let one = |prim, elem, a| scalar::primitive(prim, elem, &[a], false);
    for nan in [0x7fc0_0001, 0xffc0_0000, 0x7f80_0001] {
        for prim in [Prim::Neg, Prim::Abs, Prim::ToBits, Prim::Sqrt] {
            assert_eq!(one(prim, Elem::F32, nan), Ok(0x7fc0_0000), "{prim}");
        }
        assert_eq!(one(Prim::Cast(Elem::BF16), Elem::F32, nan), Ok(0x7fc0));
        assert_eq!(one(Prim::FromBits(Elem::F32), Elem::U32, nan), Ok(nan));
    }
    assert_eq!(one(Prim::Cast(Elem::F32), Elem::F64, 0xfff8_0000_0000_0001), Ok(0x7fc0_0000));
    assert_eq!(one(Prim::Neg, Elem::F32, 0), Ok(MINUS_ZERO));
}

#[test]
fn conversions_and_integers() {
    let cast = scalar::cast;
    let f = |x: f32| u64::from(x.to_bits());
    assert_eq!(cast(Elem::F32, Elem::I8, f(300.0)), Ok(127));
    assert_eq!(cast(Elem::F32, Elem::I8, f(-300.0)), Ok(0x80));
    assert_eq!(cast(Elem::F32, Elem::U8, f(-1.0)), Ok(0));
    assert_eq!(cast(Elem::F32, Elem::I32, f(-1.9)), Ok(0xffff_ffff));
    assert_eq!(cast(Elem::F32, Elem::I64, f(f32::NAN)), Ok(0));
    assert_eq!(cast(Elem::I64, Elem::F32, 16_777_217), Ok(f(16_777_216.0)));
    assert_eq!(cast(Elem::I32, Elem::F64, 0xffff_ffff), Ok((-1f64).to_bits()));
    assert_eq!(cast(Elem::I32, Elem::I8, 128), Ok(0x80));
    assert_eq!(cast(Elem::I32, Elem::U64, 0xffff_ffff), Ok(u64::MAX));
    assert_eq!(cast(Elem::Bool, Elem::I32, 1), Ok(1));
    let two = |prim, elem, a, b| scalar::primitive(prim, elem, &[a, b], false);
    assert_eq!(two(Prim::Add, Elem::I8, 0x7f, 1), Ok(0x80));
    assert_eq!(two(Prim::Add, Elem::I8, 0xff, 1), Ok(0));
    assert_eq!(two(Prim::Mul, Elem::U64, u64::MAX, u64::MAX), Ok(1));
    assert_eq!(two(Prim::Lt, Elem::I16, 0xffff, 0), Ok(1));
    assert_eq!(two(Prim::Lt, Elem::U16, 0xffff, 0), Ok(0));
    assert_eq!(scalar::primitive(Prim::Abs, Elem::I8, &[0x80], false), Ok(0x80));
    for (a, b, q, r) in
        [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (-128, -1, -128, 0), (5, 0, 0, 5)]
    {
        let byte = |n: i64| n as u64 & 0xff;
        assert_eq!(two(Prim::Div, Elem::I8, byte(a), byte(b)), Ok(byte(q)), "{a} / {b}");
        assert_eq!(two(Prim::Rem, Elem::I8, byte(a), byte(b)), Ok(byte(r)), "{a} % {b}");
    }
    assert_eq!(scalar::primitive(Prim::SaturatingCast(Elem::U8), Elem::I16, &[0xffff], false), Ok(0));
    assert_eq!(scalar::primitive(Prim::SaturatingCast(Elem::I8), Elem::U64, &[u64::MAX], false), Ok(0x7f));
    assert_eq!(two(Prim::Add, Elem::BF16, 0, 0), Err(scalar::NoValue::Refused));
    let overflow = value(&[], |_, _| {
        op(Prim::Cast(Elem::F32), vec![op(Prim::Add, vec![Word::Index(n(128), Elem::I8), Word::Index(n(1), Elem::I8)])])
    });
    assert_eq!(overflow, Err(TrapKind::Overflow));
}

#[test]
fn a_device_may_flush_subnormals() {
    let tiny = u64::from(f32::MIN_POSITIVE.to_bits());
    let half = u64::from(0.5f32.to_bits());
    let one = u64::from(1f32.to_bits());
    assert_eq!(scalar::primitive(Prim::Mul, Elem::F32, &[tiny, half], false), Ok(tiny >> 1));
    assert_eq!(scalar::primitive(Prim::Mul, Elem::F32, &[tiny, half], true), Ok(0));
    assert_eq!(scalar::primitive(Prim::Mul, Elem::F32, &[MINUS_ZERO | 5, one], true), Ok(MINUS_ZERO));
    assert_eq!(scalar::primitive(Prim::Add, Elem::F32, &[5, one], true), Ok(one));
}

/// Subtraction tells every order apart.
fn reduce(f: &mut Fun, x: crate::ir::Buffer, shape: Shape, hi: i64) -> Word {
    let var = f.index_var("r");
    let operands = (f.let_("p", F32), f.let_("q", F32));
    let combine = op(Prim::Sub, vec![local(operands.0), local(operands.1)]);
    let (element, empty) = (load(x, &[v(var)]), lit(100.0));
    Word::Reduce(Box::new(Reduce {
        var,
        domain: to(n(0), n(hi)),
        element,
        operands,
        combine,
        empty,
        shape,
        span: Default::default(),
    }))
}

#[test]
fn reductions_have_the_shape_they_say() {
    let x = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
    let at = |shape, hi| value(&x, |f, x| reduce(f, x, shape, hi)).map(|b| f32::from_bits(b as u32));
    assert_eq!(at(Shape::Order, 8), Ok(100.0 - 255.0));
    assert_eq!(at(Shape::Order, 0), Ok(100.0));
    assert_eq!(at(Shape::Halving, 8), Ok(((1.0 - 16.0) - (4.0 - 64.0)) - ((2.0 - 32.0) - (8.0 - 128.0))));
    assert_eq!(at(Shape::Halving, 1), Ok(1.0));
    assert_eq!(at(Shape::Halving, 0), Ok(100.0));
    assert_eq!(at(Shape::Halving, 6), Err(TrapKind::Shape));
    assert_eq!(at(Shape::Lanes(2), 5), Ok((100.0 - 1.0 - 4.0 - 16.0) - (100.0 - 2.0 - 8.0)));
}

#[test]
fn tuples_are_words() {
    // (s, t) -> (t, s + x[k]) starting from (1, 2): a swap that an in-place update would spoil.
    let x = [10.0, 20.0, 30.0];
    let pair = Ty::Tuple(vec![F32, F32].into());
    let got = |part| {
        value(&x, |f, x| {
            let k = f.index_var("k");
            let total = fold(f, k, n(3), pair.clone(), Word::Tuple(vec![lit(1.0), lit(2.0)]), |acc| {
                let side = |i| Word::Part(Box::new(acc.clone()), i);
                Word::Tuple(vec![side(1), op(Prim::Add, vec![side(0), load(x, &[v(k)])])])
            });
            Word::Part(Box::new(total), part)
        })
        .map(|b| f32::from_bits(b as u32))
    };
    assert_eq!((got(0), got(1)), (Ok(22.0), Ok(41.0)));
}

#[test]
fn arrays_of_locals_and_blocks() {
    // A ragged loop over blocks that sums each block into a cell of a local array.
    let mut f = empty_fun("blocks");
    let size = f.size("N");
    let out = f.out("out", F32, &[n(3)]);
    let t = f.var_("t", F32, &[3]);
    let (g, i, o) = (f.block_var("g"), f.index_var("i"), f.index_var("o"));
    let idx = Ix::Block(g, BlockPart::Idx);
    let sum =
        op(Prim::Add, vec![Word::Local(t, vec![idx.clone()]), Word::Index(Ix::InBlock(g, Box::new(v(i))), Elem::F32)]);
    f.body = vec![
        stmt(StmtKind::Var { local: t, init: lit(0.0) }),
        loops(
            &[(g, Domain::Blocks { lo: n(0), hi: v(size), size: 4 }), (i, to(n(0), Ix::Block(g, BlockPart::Len)))],
            vec![stmt(StmtKind::Assign { local: t, at: vec![idx], word: sum })],
        ),
        loops(&[(o, to(n(0), n(3)))], vec![store(out, &[v(o)], Word::Local(t, vec![v(o)]))]),
    ];
    let p = program(vec![f]);
    crate::validate::validate(&p).unwrap();
    let mut args = [Array::new(&F32, &[3]).unwrap()];
    ran(&p, &[], &[10], &mut args).unwrap();
    assert_eq!(f32s(&args[0]), [6.0, 22.0, 17.0]);
    assert!(ran(&p, &[], &[13], &mut args).is_err_and(|t| matches!(t.kind, TrapKind::OutOfBounds { .. })));
}

#[test]
fn a_lease_is_another_name_and_main_prints() {
    let mut f = empty_fun("main");
    let a = f.buf("a", F32, &[n(2)], Role::Alloc);
    let b = f.buf("b", F32, &[n(2)], Role::Alloc);
    let l = f.buf("l", F32, &[n(2)], Role::Lease(a));
    let i = f.index_var("i");
    let inner = vec![stmt(StmtKind::Lease { lease: l, of: a, mutable: true }), store(l, &[n(1)], lit(f32::NAN))];
    let yes = Guard::Const(true);
    f.body = vec![
        stmt(StmtKind::Alloc(a)),
        stmt(StmtKind::Alloc(b)),
        loops(&[(i, to(n(0), n(2)))], vec![store(a, &[v(i)], lit(0.1)), store(b, &[v(i)], lit(0.1))]),
        stmt(StmtKind::If { guard: yes, then: inner, els: vec![] }),
        stmt(StmtKind::Print(load(a, &[n(0)]))),
        stmt(StmtKind::Print(load(a, &[n(1)]))),
        stmt(StmtKind::Print(Word::Differing(a, b))),
        store(b, &[n(1)], op(Prim::Sub, vec![lit(f32::INFINITY), lit(f32::INFINITY)])),
        stmt(StmtKind::Print(Word::Differing(a, b))),
        stmt(StmtKind::Print(lit(-0.0))),
        stmt(StmtKind::Print(Word::Index(n(-7), Elem::I8))),
        stmt(StmtKind::Print(op(Prim::Lt, vec![lit(1.0), lit(2.0)]))),
    ];
    let p = program(vec![f]);
    crate::validate::validate(&p).unwrap();
    let mut out = String::new();
    run_main(&p, FunId(0), &mut out).unwrap();
    assert_eq!(out, "0.10000000149011612\nnan\n1\n0\n-0.0\n-7\ntrue\n");
}

#[test]
fn runs_are_bounded() {
    let p = program(vec![matmul()]);
    let mut args = [
        Array::from_f32(&[9, 9], &[1.0; 81]).unwrap(),
        Array::from_f32(&[9, 9], &[1.0; 81]).unwrap(),
        Array::new(&F32, &[9, 9]).unwrap(),
    ];
    let options = Options { max_steps: 100, ..Options::default() };
    assert_eq!(run(&p, FunId(0), &[], &[9, 9, 9], &mut args, &options).unwrap_err().kind, TrapKind::Limit);
    let mut f = empty_fun("big");
    let b = f.buf("b", F32, &[n(1 << 39)], Role::Alloc);
    f.body = vec![stmt(StmtKind::Alloc(b))];
    assert_eq!(ran(&program(vec![f]), &[], &[], &mut []).unwrap_err().kind, TrapKind::Limit);
    // No elements, and a dimension at its limit or beyond.
    let empty = |longest: i64| {
        let mut f = empty_fun("empty");
        let b = f.buf("b", F32, &[n(longest), n(longest), n(0)], Role::Alloc);
        f.body = vec![stmt(StmtKind::Alloc(b))];
        ran(&program(vec![f]), &[], &[], &mut [])
    };
    assert!(empty(1 << 40).is_ok());
    assert_eq!(empty((1 << 40) + 1).unwrap_err().kind, TrapKind::ExtentMismatch);
    let mut round = empty_fun("round");
    round.body = vec![call(0, vec![], vec![], vec![])];
    assert_eq!(ran(&program(vec![round]), &[], &[], &mut []).unwrap_err().kind, TrapKind::Limit);
}

#[test]
fn the_deepest_programs_fit_a_small_stack() {
    let deep = |stmts: usize, words: usize| {
        one_word(|_, x| {
            let mut w = load(x, &[n(0)]);
            for _ in 0..words {
                w = op(Prim::Add, vec![lit(0.0), w]);
            }
            w
        })
        .also(|f| {
            for _ in 0..stmts {
                f.body = vec![stmt(StmtKind::If {
                    guard: Guard::Const(true),
                    then: std::mem::take(&mut f.body),
                    els: vec![],
                })];
            }
        })
    };
    let p = program(vec![deep(127, 510)]);
    crate::validate::validate(&p).unwrap();
    let mut args = [Array::from_f32(&[1], &[1.0]).unwrap(), Array::new(&F32, &[1]).unwrap()];
    ran(&p, &[], &[1], &mut args).unwrap();
    assert!(crate::validate::validate(&program(vec![deep(128, 1)])).is_err());
    assert!(crate::validate::validate(&program(vec![deep(1, 5_000)])).is_err());
}

trait Also: Sized {
    fn also(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}
impl Also for Fun {}

#[test]
fn programs_survive_their_text() {
    for p in [generic(), program(vec![matmul(), swapped(), banded(0, 0)]), caller(1, false)] {
        assert_eq!(crate::text::read(&crate::text::write(&p)).unwrap(), p);
    }
}
