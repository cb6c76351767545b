//! Comparisons of programs made by hand, and the equations of a matrix product against its nest.

use crate::hostile::{KINDS, fill};
use crate::replay::{find_difference, find_fault};
use crate::samples::{
    Build, F32, banded, cell, empty_fun, generic, grid, lit, load, matmul, matmul_with, matvec, n, op, plus, program,
    store, swapped, to, v,
};
use crate::symbolic::{Comparison, Difference, Side, compare, run_one};
use cachet_core::equations::{Binder, Combine, Contraction, Equation, Expr, Sum, Target};
use cachet_core::interpret::{Array, Options, run};
use cachet_core::ir::{
    At, Binding, BlockPart, Device, Domain, Elem, Fun, FunId, Guard, ImplId, Ix, Lit, Op, Prim, Program, Rel, StmtKind,
    Word,
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
    let inner = crate::samples::loops(&[(i, to(n(0), Ix::Block(g, BlockPart::Len)))], subst.block(&body));
    let guarded = crate::samples::stmt(StmtKind::If { guard: full, then: vec![inner], els: vec![] });
    blocked.body =
        vec![zero, crate::samples::loops(&[(g, Domain::Blocks { lo: n(0), hi: v(m), size: 16 })], vec![guarded])];
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
    crate::samples::loops(&[(i, di), (j, dj)], vec![store(f.params[2], &[v(i), v(j)], lit(7.0))])
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
    let (sizes, fault) = find_fault(&Program::default(), &f, &[]).unwrap();
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
    let c = f.param("c", F32, &[v(size)], cachet_core::ir::Role::Mut);
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
        mul_add: fused.then_some((Op::Prim(Prim::Fma), Op::Prim(Prim::Mul))),
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
    assert_eq!(elements, 7 * (4 + 2 + 3 + 4));
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
