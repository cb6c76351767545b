//! Comparisons of programs made by hand, and the equations of a matrix product against its nest.

use crate::hostile::{KINDS, fill};
use crate::replay::{find_difference, find_fault};
use crate::samples::{
    Build, F32, all_of, banded, call, cell, empty_fun, generic, grid, lit, load, local, loops, matmul, matmul_with,
    matvec, n, op, part_of, plus, program, stmt, store, swapped, to, v,
};
use crate::symbolic::{Comparison, Difference, Side, compare, run_one};
use cachet_core::equations::{Binder, Combine, Contraction, Equation, Expr, Sum, Target};
use cachet_core::interpret::{Array, Options, run};
use cachet_core::ir::{
    At, Binding, BlockPart, Device, Domain, Elem, Fun, FunId, Guard, ImplId, Ix, Lit, Op, Prim, Program, Rel, Role,
    StmtKind, Word,
};

fn difference(s: &Fun, t: &Fun, sizes: &[i64]) -> Option<Difference> {
    match compare(&Program::default(), s, t, sizes) {
        Comparison::Differs(d) => Some(d),
        Comparison::Same => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn exchanged_loops_are_the_same_at_all_small_sizes() {
    for m in 0..4 {
        for k in 0..4 {
            for nn in 0..4 {
                assert_eq!(difference(&matmul(), &swapped(), &[m, k, nn]), None);
            }
        }
    }
}

#[test]
fn a_missing_term_shows_at_one() {
    let sloppy = matmul_with(|k| Ix::Sub(Box::new(k), Box::new(n(1))), |k, _| k);
    let (sizes, d) = find_difference(&Program::default(), &matmul(), &sloppy, &[0, 0, 0]).unwrap();
    assert_eq!(sizes, [1, 1, 1]);
    assert_eq!(
        d,
        Difference { buffer: "c".into(), cell: vec![0, 0], s: "fma a[0, 0] b[0, 0] -0.0".into(), t: "-0.0".into() }
    );
}

#[test]
fn sizes_that_are_tried_are_the_multiples_that_are_required() {
    let (mut whole, mut sloppy) = (matmul(), matmul_with(|k| Ix::Sub(Box::new(k), Box::new(n(1))), |k, _| k));
    for f in [&mut whole, &mut sloppy] {
        let of = |size: usize, n: i64| Ix::Mod(Box::new(v(f.sizes[size])), n);
        f.requires = [of(0, 20), of(2, 6), of(2, 4)].map(|rest| Guard::Cmp(Rel::Eq, rest, n(0))).to_vec();
    }
    let seen = |start: &[i64]| find_difference(&Program::default(), &whole, &sloppy, start).map(|(at, _)| at);
    assert_eq!(seen(&[]), Some(vec![20, 1, 12]));
    // What a start leaves empty is filled up.
    assert_eq!(seen(&[40, 0, 0]), Some(vec![40, 1, 12]));
}

#[test]
fn a_reversed_sum_shows_at_two() {
    let backwards =
        matmul_with(|k| k, |k, size| Ix::Sub(Box::new(Ix::Sub(Box::new(size), Box::new(n(1)))), Box::new(k)));
    assert_eq!(difference(&matmul(), &backwards, &[3, 1, 3]), None);
    let (sizes, d) = find_difference(&Program::default(), &matmul(), &backwards, &[0, 2, 1]).unwrap();
    assert_eq!(sizes, [1, 2, 1]);
    assert_eq!(d.s, "fma a[0, 1] b[1, 0] (fma a[0, 0] b[0, 0] -0.0)");
    assert_eq!(d.t, "fma a[0, 0] b[0, 0] (fma a[0, 1] b[1, 0] -0.0)");
    let d = difference(&matmul(), &backwards, &[1, 5, 1]).unwrap();
    assert_eq!(d.s, "fma a[0, 4] b[4, 0] (fma a[0, 3] b[3, 0] (fma a[0, 2] b[2, 0] ...))");
}

#[test]
fn differences_at_block_borders_are_found() {
    // A loop over blocks of 16 that forgets the ragged rest.
    let mut blocked = matmul();
    let whole = blocked.clone();
    let (m, g, i) = (blocked.sizes[0], blocked.block_var("g"), blocked.index_var("i"));
    let StmtKind::For { var, body, .. } = blocked.body.remove(0).kind else { unreachable!() };
    let subst = cachet_core::rewrite::Subst::var(var, Ix::InBlock(g, Box::new(v(i))));
    let full = Guard::Cmp(Rel::Eq, Ix::Block(g, BlockPart::Len), n(16));
    let zero = empty_body(&whole);
    let inner = loops(&[(i, to(n(0), Ix::Block(g, BlockPart::Len)))], subst.block(&body));
    let guarded = stmt(StmtKind::If { guard: full, then: vec![inner], els: vec![] });
    blocked.body = vec![zero, loops(&[(g, Domain::Blocks { lo: n(0), hi: v(m), size: 16 })], vec![guarded])];
    let (sizes, _) = find_difference(&Program::default(), &whole, &blocked, &[]).unwrap();
    assert_eq!(sizes, [1, 0, 1]);
    // One that goes wrong only from the second block on.
    let late = Guard::Cmp(Rel::Lt, Ix::Block(g, BlockPart::Idx), n(1));
    let body = &mut blocked.body[1];
    if let StmtKind::For { body, .. } = &mut body.kind
        && let StmtKind::If { guard, .. } = &mut body[0].kind
    {
        *guard = late;
    }
    let (sizes, d) = find_difference(&Program::default(), &whole, &blocked, &[]).unwrap();
    assert_eq!(sizes[0], 17);
    assert_eq!(d.cell[0], 16);
}

/// Fills `c` with `7.0`.
fn empty_body(f: &Fun) -> cachet_core::ir::Stmt {
    let mut f = f.clone();
    let StmtKind::For { var: i, domain: di, body } = f.body.remove(0).kind else { unreachable!() };
    let Some(StmtKind::For { var: j, domain: dj, .. }) = body.into_iter().next().map(|s| s.kind) else {
        unreachable!()
    };
    loops(&[(i, di), (j, dj)], vec![store(f.params[2], &[v(i), v(j)], lit(7.0))])
}

#[test]
fn faults_name_the_access() {
    let f = matmul_with(|k| plus(k, n(1)), |k, _| k);
    match compare(&Program::default(), &matmul(), &f, &[1, 1, 1]) {
        Comparison::Fault { side: Side::T, fault } => {
            assert_eq!(fault.text, "`a[i, k]` is a[0, 1], outside its extents [1, 1]")
        }
        other => panic!("{other:?}"),
    }
    let (sizes, fault) = find_fault(&Program::default(), &f, &[], |_| true).unwrap();
    assert_eq!((sizes, fault.text.contains("a[0, 0]")), (vec![1, 0, 1], true));
    assert!(run_one(&Program::default(), &matmul(), &[2, 2, 2]).is_none());

    let mut f = matmul();
    let c = f.params[2];
    f.body.insert(0, store(c, &[n(0), n(0)], load(c, &[n(1), n(0)])));
    assert!(run_one(&Program::default(), &f, &[2, 2, 2]).unwrap().text.contains("nothing was written"));
    f.body.clear();
    assert_eq!(run_one(&Program::default(), &f, &[2, 2, 2]).unwrap().text, "`matmul` leaves c[0, 0] unwritten");
    let a = f.params[0];
    f.body = vec![store(a, &[n(0), n(0)], lit(1.0))];
    assert!(run_one(&Program::default(), &f, &[2, 2, 2]).unwrap().text.contains("read only"));
}

#[test]
fn grids_are_held_to_their_windows() {
    let empty = Program::default();
    assert_eq!(run_one(&empty, &banded(0, 0), &[5]), None);
    assert!(run_one(&empty, &banded(1, 0), &[5]).unwrap().text.contains("outside its windows"));
    assert!(run_one(&empty, &banded(0, 1), &[5]).unwrap().text.contains("two iterations"));
    assert_eq!(compare(&empty, &banded(0, 0), &banded(0, 0), &[0]), Comparison::NotApplicable);
    let mut f = empty_fun("reads");
    let size = f.size("N");
    let c = f.param("c", F32, &[v(size)], Role::Mut);
    let i = f.index_var("i");
    let w = cachet_core::ir::Window { buffer: c, axes: vec![(v(i), n(1))] };
    f.body = vec![grid(vec![(i, to(n(0), v(size)))], vec![w], vec![store(c, &[v(i)], load(c, &[n(0)]))])];
    assert!(run_one(&empty, &f, &[2]).unwrap().text.contains("reads"));
}

#[test]
fn methods_stay_opaque_and_bound_ones_unfold() {
    let p = generic();
    let s = &p.funs[0];
    let mut t = s.clone();
    let (x, y) = (t.params[1], t.params[2]);
    t.body.push(store(y, &[n(0)], load(x, &[n(0)])));
    let Comparison::Differs(d) = compare(&p, s, &t, &[1, 1]) else { panic!() };
    assert_eq!((d.s.as_str(), d.t.as_str()), ("S.mul_add a[0, 0] x[0] (S.zero ())", "x[0]"));
    // The instance of `PlusTimes f32` is the plain one, and that of `MinPlus f32` is not.
    let plain = matvec();
    let at = |i| {
        let mut f = cachet_core::instance::instantiate(&p, s, &[Binding::Impl(ImplId(i))]);
        f.type_params.clear();
        compare(&p, &plain, &f, &[2, 2])
    };
    assert_eq!(at(0), Comparison::Same);
    let Comparison::Differs(d) = at(1) else { panic!() };
    assert!(d.t.starts_with("min (a[0, 1] + x[1]) (min"), "{}", d.t);
    // A call binds the same operations.
    assert_eq!(run_one(&p, &p.funs[1], &[3]), None);
    assert_eq!(compare(&p, &p.funs[1], &p.funs[1], &[3]), Comparison::Same);
}

#[test]
fn work_is_bounded() {
    assert_eq!(compare(&Program::default(), &matmul(), &matmul(), &[500, 500, 500]), Comparison::TooBig);
    assert_eq!(compare(&Program::default(), &matmul(), &matmul(), &[-1, 0, 0]), Comparison::NotApplicable);
}

/// The equation `c[i, j] = sum k. a[i, k] * b[k, j]`, with an optional guard on `k` and without its fused operation.
fn equation(fused: bool, guard: Option<i64>) -> Contraction {
    let f = matmul();
    let (i, j, k) = (cachet_core::ir::Var(3), cachet_core::ir::Var(4), cachet_core::ir::Var(5));
    let (m, size, nn) = (f.sizes[0], f.sizes[1], f.sizes[2]);
    let read = |b: usize, at: &[Ix]| Expr::Read(cell(f.params[b], at));
    let body = Expr::Op(Op::Prim(Prim::Mul), Device::HOST, vec![read(0, &[v(i), v(k)]), read(1, &[v(k), v(j)])]);
    let sum = Sum {
        binders: vec![Binder {
            var: k,
            domain: to(n(0), v(size)),
            guard: guard.map(|n| Guard::Cmp(Rel::Ne, v(k), Ix::Lit(n))),
        }],
        zero: Expr::Lit(Lit { elem: Elem::F32, bits: 0x8000_0000 }),
        add: Combine::Op(Op::Prim(Prim::Add)),
        mul_add: fused.then_some((Combine::Op(Op::Prim(Prim::Fma)), Op::Prim(Prim::Mul))),
        arith: Device::HOST,
        body,
        ty: F32,
        regroup: false,
        span: At::default(),
    };
    Contraction {
        name: "matmul".into(),
        type_params: vec![],
        sizes: f.sizes.clone(),
        params: f.params.clone(),
        outputs: f.produces.clone(),
        requires: vec![],
        equations: vec![Equation {
            target: Target::Output(f.params[2]),
            indices: vec![i, j],
            ranges: vec![to(n(0), v(m)), to(n(0), v(nn))],
            value: Expr::Sum(Box::new(sum)),
            ty: F32,
            span: At::default(),
        }],
        vars: f.vars.clone(),
        locals: vec![],
        buffers: f.buffers.clone(),
        span: At::default(),
    }
}

#[test]
fn the_equations_and_the_nest_agree_on_hostile_inputs() {
    let p = program(vec![matmul()]);
    let contraction = equation(true, None);
    let mut elements = 0;
    for (seed, kind) in KINDS.into_iter().enumerate() {
        for sizes in [[2, 3, 2], [1, 0, 2], [3, 5, 1], [2, 1, 2]] {
            let [m, k, nn] = sizes;
            let input = |rows, cols, seed| {
                Array::from_bits(Elem::F32, &[rows, cols], fill(Elem::F32, seed, kind, (rows * cols) as usize)).unwrap()
            };
            let mut args =
                [input(m, k, seed as u64), input(k, nn, 77 + seed as u64), Array::new(&F32, &[m, nn]).unwrap()];
            run(&p, FunId(0), &[], &sizes, &mut args, &Options::default()).unwrap();
            for i in 0..m {
                for j in 0..nn {
                    let x = crate::equations::element(&p, &contraction, &[], &sizes, &args, 0, &[i, j]).unwrap();
                    let (x, y) = (x.bits().unwrap(), args[2].get(&[i, j]).unwrap().bits().unwrap());
                    assert!(cachet_core::interpret::scalar::same(Elem::F32, x, y), "{kind:?} {sizes:?}: {x:#x} {y:#x}");
                    elements += 1;
                }
            }
        }
    }
    assert_eq!(elements, KINDS.len() * (4 + 2 + 3 + 4));
}

#[test]
fn sums_fuse_only_where_they_say_and_guards_skip_terms() {
    let p = program(vec![matmul()]);
    let x = 1.0 + 1.0 / 4096.0;
    let args = [
        Array::from_f32(&[1, 2], &[-1.0, x]).unwrap(),
        Array::from_f32(&[2, 1], &[1.0, x]).unwrap(),
        Array::new(&F32, &[1, 1]).unwrap(),
    ];
    let at = |c: Contraction| {
        let v = crate::equations::element(&p, &c, &[], &[1, 2, 1], &args, 0, &[0, 0]).unwrap();
        f32::from_bits(v.bits().unwrap() as u32)
    };
    assert_eq!(at(equation(true, None)), 2f32.powi(-11) + 2f32.powi(-24));
    assert_eq!(at(equation(false, None)), 2f32.powi(-11));
    assert_eq!(at(equation(true, Some(1))), -1.0);
    let outside = crate::equations::element(&p, &equation(true, None), &[], &[1, 2, 1], &args, 0, &[1, 0]);
    assert!(outside.is_err());
}

#[test]
fn where_the_oracle_sees_no_difference_runs_agree() {
    // What symbols call different is different for some numbers, too.
    let twice = {
        let mut f = matmul();
        fn unfuse(w: &Word) -> Word {
            match w {
                Word::Op { op: Op::Prim(Prim::Fma), args, .. } => {
                    op(Prim::Add, vec![op(Prim::Mul, vec![args[0].clone(), args[1].clone()]), args[2].clone()])
                }
                Word::Fold(f) => Word::Fold(Box::new(cachet_core::ir::Fold { body: unfuse(&f.body), ..(**f).clone() })),
                w => w.clone(),
            }
        }
        if let StmtKind::For { body, .. } = &mut f.body[0].kind
            && let StmtKind::For { body, .. } = &mut body[0].kind
            && let StmtKind::Store { word, .. } = &mut body[0].kind
        {
            *word = unfuse(word);
        }
        f
    };
    let sizes = [2, 4, 2];
    let d = difference(&matmul(), &twice, &sizes).unwrap();
    assert_eq!(d.t, "(a[0, 3] * b[3, 0]) + ((a[0, 2] * b[2, 0]) + (... + ...))");
    let outputs = |f: Fun, seed| {
        let p = program(vec![f]);
        let bits = |half: u64| fill(Elem::F32, seed + half, crate::hostile::Kind::Fusing, 8);
        let mut args = [
            Array::from_bits(Elem::F32, &[2, 4], bits(0)).unwrap(),
            Array::from_bits(Elem::F32, &[4, 2], bits(99)).unwrap(),
            Array::new(&F32, &[2, 2]).unwrap(),
        ];
        run(&p, FunId(0), &[], &sizes, &mut args, &Options::default()).unwrap();
        args[2].bits().to_vec()
    };
    assert!((0..20).all(|seed| outputs(matmul(), seed) == outputs(swapped(), seed)));
    assert!((0..20).any(|seed| outputs(matmul(), seed) != outputs(twice.clone(), seed)));
}

#[test]
fn arrays_end_with_their_block() {
    // More cells in all than a run may hold at once.
    let mut f = empty_fun("f");
    let y = f.out("y", F32, &[n(1)]);
    let t = f.buf("t", F32, &[n(1000)], Role::Alloc);
    let i = f.index_var("i");
    let inside = vec![stmt(StmtKind::Alloc(t)), store(t, &[n(7)], lit(1.0)), store(y, &[n(0)], load(t, &[n(7)]))];
    f.body = vec![loops(&[(i, to(n(0), n(5000)))], inside)];
    assert_eq!(compare(&Program::default(), &f, &f, &[]), Comparison::Same);
    f.body.push(store(y, &[n(0)], load(t, &[n(7)])));
    assert_eq!(run_one(&Program::default(), &f, &[]).unwrap().text, "`t` does not exist yet");
    // What one turn wrote is not there in the next.
    let first = Guard::Cmp(Rel::Eq, v(i), n(0));
    let sometimes = stmt(StmtKind::If { guard: first, then: vec![store(t, &[n(7)], lit(1.0))], els: vec![] });
    let inside = vec![stmt(StmtKind::Alloc(t)), sometimes, store(y, &[n(0)], load(t, &[n(7)]))];
    f.body = vec![loops(&[(i, to(n(0), n(2)))], inside)];
    assert!(run_one(&Program::default(), &f, &[]).unwrap().text.contains("nothing was written"));
}

/// Lends a square of `a`, a part of `x` and a part of `y` to `matvec`.
fn lender(a_from: i64, y_from: i64, y_as_x: bool) -> Program {
    let mut f = empty_fun("lender");
    let size = f.size("N");
    let a = f.param("a", F32, &[v(size), v(size)], Role::Reads);
    let x = f.param("x", F32, &[v(size)], Role::Reads);
    let y = f.param("y", F32, &[v(size)], Role::Mut);
    let lent = if y_as_x { y } else { x };
    let square = part_of(a, vec![(n(a_from), n(2)), (n(0), n(2))]);
    let args = vec![square, part_of(lent, vec![(n(0), n(2))]), part_of(y, vec![(n(y_from), n(2))])];
    f.body = vec![call(1, vec![], vec![n(2), n(2)], args)];
    program(vec![f, matvec()])
}

#[test]
fn calls_run_on_the_callers_cells() {
    let p = lender(0, 2, true);
    assert_eq!(run_one(&p, &p.funs[0], &[4]), None);
    let q = lender(1, 2, true);
    let Comparison::Differs(d) = compare(&p, &p.funs[0], &q.funs[0], &[4]) else { panic!() };
    assert_eq!((d.buffer.as_str(), d.cell), ("y", vec![2]));
    assert_eq!(d.s, "fma a[0, 1] y[1] (fma a[0, 0] y[0] -0.0)");
    assert_eq!(d.t, "fma a[1, 1] y[1] (fma a[1, 0] y[0] -0.0)");
    let fault = |p: Program| run_one(&p, &p.funs[0], &[4]).unwrap().text;
    assert!(fault(lender(0, 1, true)).contains("overlaps `y` in the same call"));
    assert!(fault(lender(3, 2, false)).contains("does not lie inside"));
    // A part of nothing has to lie inside as well.
    let mut p = lender(0, 2, false);
    let StmtKind::Call(c) = &mut p.funs[0].body[0].kind else { unreachable!() };
    (c.sizes, c.args[1].axes, c.args[0].axes) =
        (vec![n(2), n(0)], Some(vec![(n(0), n(0))]), Some(vec![(n(0), n(2)), (n(5), n(0))]));
    assert!(fault(p).contains("does not lie inside"));
    // An array that nobody wrote may not be read by the callee.
    let mut outer = empty_fun("outer");
    let (t, y) = (outer.buf("t", F32, &[n(1)], Role::Alloc), outer.out("y", F32, &[n(1)]));
    let mut copy = empty_fun("copy");
    let (from, into) = (copy.param("from", F32, &[n(1)], Role::Reads), copy.out("into", F32, &[n(1)]));
    copy.body = vec![store(into, &[n(0)], load(from, &[n(0)]))];
    outer.body = vec![stmt(StmtKind::Alloc(t)), call(1, vec![], vec![], vec![all_of(t), all_of(y)])];
    let p = program(vec![outer, copy]);
    assert_eq!(run_one(&p, &p.funs[0], &[]).unwrap().text, "`from` is lent to `copy` with [0] unwritten");
}

#[test]
fn what_is_printed_counts() {
    let main = |x: f32| {
        let mut f = empty_fun("main");
        f.body = vec![stmt(StmtKind::Print(lit(1.0))), stmt(StmtKind::Print(op(Prim::Neg, vec![lit(x)])))];
        f
    };
    assert_eq!(difference(&main(2.0), &main(2.0), &[]), None);
    let d = difference(&main(2.0), &main(3.0), &[]).unwrap();
    assert_eq!(d, Difference { buffer: "print".into(), cell: vec![1], s: "-2.0".into(), t: "-3.0".into() });
    let mut silent = main(2.0);
    silent.body.pop();
    assert_eq!(difference(&main(2.0), &silent, &[]).unwrap().t, "nothing");
}

#[test]
fn an_index_as_a_word_is_its_literal() {
    let with = |word: Word| {
        let mut f = empty_fun("f");
        let y = f.out("y", F32, &[n(1)]);
        f.body = vec![store(y, &[n(0)], word)];
        f
    };
    let three = || plus(n(1), n(2));
    assert_eq!(difference(&with(Word::Index(three(), Elem::F32)), &with(lit(3.0)), &[]), None);
    let wide = with(op(Prim::Cast(Elem::F32), vec![Word::Index(n(128), Elem::I8)]));
    assert!(run_one(&Program::default(), &wide, &[]).unwrap().text.ends_with("is 128, which does not fit"));
}

#[test]
fn elements_of_intermediates_are_found_once() {
    // Each of 60 equations adds two elements of the one before: 2^60 operations without a memory.
    let f = matmul();
    let i = cachet_core::ir::Var(3);
    let (size, a) = (f.sizes[0], f.params[0]);
    let ranges = vec![to(n(0), v(size))];
    let add = |x, y| Expr::Op(Op::Prim(Prim::Add), Device::HOST, vec![x, y]);
    let mut c = equation(true, None);
    c.equations.clear();
    for e in 0..60u32 {
        let part = || if e == 0 { Expr::Read(cell(a, &[v(i), n(0)])) } else { Expr::Value(e - 1, vec![v(i)]) };
        let target = if e == 59 { Target::Output(f.params[2]) } else { Target::Intermediate(format!("t{e}")) };
        let value = add(part(), part());
        c.equations.push(Equation {
            target,
            indices: vec![i],
            ranges: ranges.clone(),
            value,
            ty: F32,
            span: At::default(),
        });
    }
    let args = [Array::from_f32(&[2, 1], &[1.0, 3.0]).unwrap(), Array::default(), Array::default()];
    let x = crate::equations::element(&program(vec![f]), &c, &[], &[2, 1, 1], &args, 0, &[1]).unwrap();
    assert_eq!(x.bits(), Some(u64::from((3.0 * 2f32.powi(60)).to_bits())));
}

#[test]
fn deep_words_fit_a_small_stack() {
    let mut f = empty_fun("f");
    let (y, l) = (f.out("y", F32, &[n(1)]), f.let_("l", F32));
    let mut w = local(l);
    for _ in 0..20_000 {
        w = op(Prim::Add, vec![lit(0.0), w]);
    }
    f.body = vec![stmt(StmtKind::Let { local: l, word: lit(1.0) }), store(y, &[n(0)], w)];
    // Tests run on 2 MiB; dropping such a word recurses too, so it is never dropped.
    let f = std::mem::ManuallyDrop::new(f);
    assert_eq!(compare(&Program::default(), &f, &f, &[]), Comparison::TooBig);
}
