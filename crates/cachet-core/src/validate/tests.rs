//! A sound program for each rule, and a twin of it that breaks this rule and is refused for it.

use super::validate;
use crate::ir::{
    Access, At, Binding, Buffer, Domain, Elem, Fun, Guard, ImplId, Ix, Layout, LayoutOp, Lit, Local, MAX_DEPTH, Op,
    Prim, Program, PureId, Reduce, Rel, Role, Shape, StmtKind, Strides, Ty, TypeParam, Var, VarKind, Window, Word,
};
use crate::samples::{
    Build, F32, all_of, banded, call, empty_fun, generic, grid, lit, load, local, loops, matmul, matvec, n, one_word,
    op, part_of, plus, program, stmt, store, swapped, to, v,
};

/// The rules that a program breaks.
fn broken(p: &Program) -> Vec<&'static str> {
    validate(p).err().unwrap_or_default().into_iter().map(|f| f.rule).collect()
}

/// A change to the plain product breaks exactly one rule, perhaps in several places.
fn refused(rule: &str, change: impl Fn(&mut Fun)) {
    let mut f = matmul();
    change(&mut f);
    let rules = broken(&program(vec![f]));
    assert!(!rules.is_empty() && rules.iter().all(|r| *r == rule), "{rule}: {rules:?}");
}

#[test]
fn sound_programs_pass() {
    let mut samples = generic();
    samples.funs.extend([matmul(), swapped(), matvec(), banded(0, 0)]);
    assert_eq!(validate(&samples), Ok(()));
}

#[test]
fn ids_scope_and_binders() {
    refused("ids", |f| f.body.push(store(f.params[2], &[n(0), v(Var(99))], lit(0.0))));
    refused("ids", |f| f.body.push(store(Buffer(99), &[n(0)], lit(0.0))));
    refused("ids", |f| f.body.push(store(f.params[2], &[n(0), n(0)], local(Local(99)))));
    refused("ids", |f| f.body.push(call(9, vec![], vec![], vec![])));
    refused("ids", |f| f.body.push(store(f.params[2], &[n(0), n(0)], Word::Apply(PureId(9), vec![]))));
    let mut f = matmul();
    f.locals[0].ty = Ty::Abstract(TypeParam(0));
    assert!(broken(&program(vec![f])).contains(&"ids"));
    refused("scope", |f| f.body.push(store(f.params[2], &[n(0), v(Var(4))], lit(0.0))));
    refused("scope", |f| f.body.push(store(f.params[2], &[n(0), n(0)], local(Local(0)))));
    refused("scope", |f| {
        let b = f.buf("late", F32, &[n(1)], Role::Alloc);
        f.body.insert(0, store(b, &[n(0)], lit(0.0)));
    });
    refused("binders", |f| f.body.push(f.body[0].clone()));
    refused("binders", |f| f.sizes.push(f.sizes[0]));
    refused("binders", |f| f.params.push(f.params[0]));
}

#[test]
fn kinds_and_literals() {
    let first = |f: &Fun| Access { buffer: f.params[2], at: vec![n(0), n(0)], span: At::default() };
    refused("kinds", |f| f.vars[3].kind = VarKind::Block);
    refused("kinds", |f| {
        let g = f.block_var("g");
        let word = Word::Index(v(g), Elem::F32);
        let to = first(f);
        f.body.push(loops(
            &[(g, Domain::Blocks { lo: n(0), hi: n(4), size: 2 })],
            vec![stmt(StmtKind::Store { to, word })],
        ));
    });
    refused("kinds", |f| {
        let m = f.sizes[0];
        f.requires.push(Guard::Cmp(Rel::Lt, n(0), Ix::Block(m, crate::ir::BlockPart::Len)));
    });
    refused("literals", |f| f.requires.push(Guard::Cmp(Rel::Lt, n(0), Ix::Div(Box::new(n(1)), 0))));
    refused("literals", |f| f.requires.push(Guard::Cmp(Rel::Lt, n(0), Ix::Mod(Box::new(n(1)), -2))));
    refused("literals", |f| {
        let g = f.block_var("g");
        f.body.push(loops(&[(g, Domain::Blocks { lo: n(0), hi: n(4), size: 0 })], vec![]));
    });
    refused("literals", |f| {
        let l = f.var_("l", F32, &[-1]);
        f.body.push(stmt(StmtKind::Var { local: l, init: lit(0.0) }));
    });
    refused("literals", |f| {
        let to = first(f);
        f.body.push(stmt(StmtKind::Store { to, word: Word::Lit(Lit { elem: Elem::F32, bits: 1 << 40 }) }));
    });
    refused("literals", |f| {
        let word = total(f, Shape::Lanes(3));
        f.body.push(store(f.params[2], &[n(0), n(0)], word));
    });
    refused("head", |f| f.vars[0].kind = VarKind::Index);
}

fn total(f: &mut Fun, shape: Shape) -> Word {
    let var = f.index_var("r");
    let operands = (f.let_("p", F32), f.let_("q", F32));
    let combine = op(Prim::Add, vec![local(operands.0), local(operands.1)]);
    let element = Word::Index(v(var), Elem::F32);
    Word::Reduce(Box::new(Reduce {
        var,
        domain: to(n(0), n(4)),
        element,
        operands,
        combine,
        empty: lit(0.0),
        shape,
        span: At::default(),
    }))
}

#[test]
fn ranks_and_types() {
    let put = |f: &mut Fun, word: Word| f.body.push(store(f.params[2], &[n(0), n(0)], word));
    refused("ranks", |f| f.body.push(store(f.params[2], &[n(0)], lit(0.0))));
    refused("ranks", |f| {
        let l = f.var_("l", F32, &[2]);
        f.body.push(stmt(StmtKind::Var { local: l, init: lit(0.0) }));
        put(f, local(l));
    });
    refused("ranks", |f| {
        let b = f.buf("point", F32, &[], Role::Alloc);
        f.body.push(stmt(StmtKind::Alloc(b)));
    });
    let index = |e| Word::Index(n(1), e);
    refused("types", |f| put(f, index(Elem::F64)));
    refused("types", |f| put(f, op(Prim::Add, vec![lit(1.0), index(Elem::F64)])));
    refused("types", |f| put(f, op(Prim::Add, vec![lit(1.0)])));
    refused("types", |f| put(f, op(Prim::Select, vec![lit(1.0), lit(1.0), lit(1.0)])));
    refused("types", |f| put(f, Word::Part(Box::new(lit(1.0)), 0)));
    refused("types", |f| {
        put(f, Word::If(Box::new(Guard::Const(true)), Box::new(lit(1.0)), Box::new(index(Elem::F64))))
    });
    refused("types", |f| {
        put(f, Word::Op { op: Op::Method(TypeParam(0), 0), arith: crate::ir::Device::HOST, args: vec![] })
    });
    refused("types", |f| f.locals[0].ty = Ty::Elem(Elem::F64));
    refused("types", |f| f.body.push(stmt(StmtKind::Print(Word::Tuple(vec![lit(1.0)])))));
    let half = |w| op(Prim::Cast(Elem::F16), vec![w]);
    refused("types", |f| put(f, op(Prim::Cast(Elem::F32), vec![op(Prim::Add, vec![half(lit(1.0)), half(lit(1.0))])])));
    refused("types", |f| {
        let b = op(Prim::Cast(Elem::Bool), vec![lit(1.0)]);
        put(f, op(Prim::Select, vec![b, lit(1.0), lit(2.0)]));
    });
    refused("types", |f| put(f, op(Prim::FromBits(Elem::F32), vec![index(Elem::U64)])));
}

#[test]
fn writes_and_head() {
    refused("writes", |f| f.body.push(store(f.params[0], &[n(0), n(0)], lit(0.0))));
    refused("writes", |f| {
        let l = f.let_("l", F32);
        f.body.push(stmt(StmtKind::Let { local: l, word: lit(0.0) }));
        f.body.push(stmt(StmtKind::Assign { local: l, at: vec![], word: lit(1.0) }));
    });
    refused("head", |f| f.produces.push(f.params[0]));
    refused("head", |f| f.scratch.push(Buffer(99)));
    refused("head", |f| {
        let b = f.param("b2", F32, &[n(1)], Role::Alloc);
        f.body.push(store(b, &[n(0)], lit(0.0)));
    });
}

#[test]
fn calls_fit() {
    let good = |change: &dyn Fn(&mut crate::ir::Call)| {
        let mut f = empty_fun("caller");
        let size = f.size("N");
        let a = f.param("a", F32, &[v(size), v(size)], Role::Reads);
        let y = f.out("y", F32, &[v(size)]);
        let d = f.param("d", Ty::Elem(Elem::F64), &[v(size)], Role::Reads);
        let mut s = call(
            0,
            vec![Binding::Impl(ImplId(0))],
            vec![n(2), n(2)],
            vec![all_of(a), all_of(y), part_of(y, vec![(n(0), n(2))])],
        );
        let StmtKind::Call(c) = &mut s.kind else { unreachable!() };
        assert_eq!((a, y, d), (Buffer(0), Buffer(1), Buffer(2)));
        change(c);
        f.body = vec![s];
        let mut p = generic();
        p.funs.push(f);
        broken(&p)
    };
    assert!(good(&|_| {}).is_empty());
    assert_eq!(good(&|c| c.sizes.truncate(1)), ["calls"]);
    assert_eq!(good(&|c| c.args.truncate(1)), ["calls"]);
    assert_eq!(good(&|c| c.types.clear()), ["calls"]);
    assert!(good(&|c| c.types = vec![Binding::Impl(ImplId(9))]).contains(&"calls"));
    assert!(good(&|c| c.types = vec![Binding::Param(TypeParam(0))]).contains(&"calls"));
    assert_eq!(good(&|c| c.args[1].buffer = Buffer(2)), ["calls"]);
    assert_eq!(good(&|c| c.args[1].buffer = Buffer(0)), ["calls"]);
    assert_eq!(good(&|c| c.args[2] = all_of(Buffer(2))), ["calls", "calls"]);
    assert_eq!(good(&|c| c.args[2] = part_of(Buffer(1), vec![])), ["ranks"]);
}

/// A function with an allocation `a`, leased as `l` and then used by the given statements.
fn leased(mutable: bool, then: impl Fn(Buffer, Buffer, Buffer) -> Vec<crate::ir::Stmt>) -> Vec<&'static str> {
    let mut f = empty_fun("leased");
    let a = f.buf("a", F32, &[n(2)], Role::Alloc);
    let l = f.buf("l", F32, &[n(2)], Role::Lease(a));
    let other = f.buf("m", F32, &[n(2)], Role::Lease(a));
    let mut inner = vec![stmt(StmtKind::Lease { lease: l, of: a, mutable })];
    inner.extend(then(a, l, other));
    let always = Guard::Const(true);
    f.body = vec![
        stmt(StmtKind::Alloc(a)),
        stmt(StmtKind::If { guard: always, then: inner, els: vec![] }),
        store(a, &[n(1)], lit(2.0)),
    ];
    broken(&program(vec![f]))
}

#[test]
fn leases_are_kept_apart() {
    let write = |b: Buffer| store(b, &[n(0)], lit(1.0));
    let again = |m, a, mutable| stmt(StmtKind::Lease { lease: m, of: a, mutable });
    assert!(leased(true, |_, l, _| vec![write(l)]).is_empty());
    assert_eq!(leased(true, |a, _, _| vec![write(a)]), ["leases"]);
    assert_eq!(leased(false, |_, l, _| vec![write(l)]), ["writes"]);
    assert!(leased(false, |a, _, m| vec![again(m, a, false)]).is_empty());
    assert_eq!(leased(false, |a, _, m| vec![again(m, a, true)]), ["leases"]);
    assert_eq!(leased(true, |a, _, m| vec![again(m, a, false)]), ["leases"]);
    refused("leases", |f| {
        let a = f.params[0];
        let l = f.buf("l", F32, &[n(1), n(1)], Role::Lease(a));
        f.body.push(stmt(StmtKind::Lease { lease: l, of: a, mutable: true }));
    });
    // Longer than what it is a name of.
    let mut f = empty_fun("longer");
    let a = f.buf("a", F32, &[n(2)], Role::Alloc);
    let l = f.buf("l", F32, &[n(3)], Role::Lease(a));
    f.body = vec![stmt(StmtKind::Alloc(a)), stmt(StmtKind::Lease { lease: l, of: a, mutable: true })];
    assert_eq!(broken(&program(vec![f])), ["leases"]);
}

/// A function with a grid of level 0 around the given statements, and another function after it.
fn in_grid(then: impl Fn(&mut Fun, Buffer, Local) -> Vec<crate::ir::Stmt>) -> Vec<&'static str> {
    let mut f = empty_fun("gridded");
    let c = f.param("c", F32, &[n(4)], Role::Mut);
    let outer = f.var_("outer", F32, &[]);
    let i = f.index_var("i");
    let body = then(&mut f, c, outer);
    let w = Window { buffer: c, axes: vec![(v(i), n(1))] };
    f.body = vec![stmt(StmtKind::Var { local: outer, init: lit(0.0) }), grid(vec![(i, to(n(0), n(4)))], vec![w], body)];
    let mut prints = empty_fun("prints");
    prints.body = vec![stmt(StmtKind::Print(lit(1.0)))];
    let mut reaches = empty_fun("reaches");
    reaches.body = vec![call(1, vec![], vec![], vec![])];
    let mut grids = empty_fun("grids");
    let j = grids.index_var("j");
    grids.body = vec![grid(vec![(j, to(n(0), n(4)))], vec![], vec![])];
    broken(&program(vec![f, prints, reaches, grids]))
}

#[test]
fn grids_keep_to_themselves() {
    let nested = |f: &mut Fun, level: u32| {
        let j = f.index_var("j");
        let mut g = grid(vec![(j, to(n(0), n(2)))], vec![], vec![]);
        if let StmtKind::Grid(g) = &mut g.kind {
            g.level = level;
        }
        vec![g]
    };
    assert!(in_grid(|_, _, _| vec![]).is_empty());
    assert!(in_grid(|f, _, _| nested(f, 1)).is_empty());
    assert_eq!(in_grid(|f, _, _| nested(f, 0)), ["grids"]);
    assert_eq!(in_grid(|f, _, _| nested(f, 2)), ["grids"]);
    assert_eq!(in_grid(|_, _, l| vec![stmt(StmtKind::Assign { local: l, at: vec![], word: lit(1.0) })]), ["grids"]);
    assert!(
        in_grid(|f, _, _| {
            let own = f.var_("own", F32, &[]);
            let scratch = f.buf("p", F32, &[n(1)], Role::Alloc);
            vec![
                stmt(StmtKind::Var { local: own, init: lit(0.0) }),
                stmt(StmtKind::Assign { local: own, at: vec![], word: lit(1.0) }),
                stmt(StmtKind::Alloc(scratch)),
            ]
        })
        .is_empty()
    );
    assert_eq!(in_grid(|_, _, _| vec![stmt(StmtKind::Print(lit(1.0)))]), ["grids"]);
    assert_eq!(
        in_grid(|_, c, _| vec![store(c, &[n(0)], op(Prim::Cast(Elem::F32), vec![Word::Differing(c, c)]))]),
        ["grids"]
    );
    for callee in 1..4 {
        assert_eq!(in_grid(|_, _, _| vec![call(callee, vec![], vec![], vec![])]), ["grids"]);
    }
    refused("grids", |f| f.body.push(grid(vec![], vec![], vec![])));
    refused("grids", |f| {
        let w = Window { buffer: f.params[0], axes: vec![(n(0), n(1)), (n(0), n(1))] };
        let j = f.index_var("j");
        f.body.push(grid(vec![(j, to(n(0), n(2)))], vec![w], vec![]));
    });
    refused("ranks", |f| {
        let w = Window { buffer: f.params[2], axes: vec![(n(0), n(1))] };
        let j = f.index_var("j");
        f.body.push(grid(vec![(j, to(n(0), n(2)))], vec![w], vec![]));
    });
}

#[test]
fn implementations_graphs_and_pure_functions() {
    let with = |change: &dyn Fn(&mut Program)| {
        let mut p = generic();
        change(&mut p);
        broken(&p)
    };
    assert!(with(&|_| {}).is_empty());
    assert_eq!(with(&|p| p.impls[0].methods.truncate(1)), ["impls"]);
    assert_eq!(with(&|p| p.impls[0].methods.swap(0, 1)), ["impls", "impls"]);
    assert_eq!(with(&|p| p.impls[0].interface = 9), ["ids"]);
    assert!(with(&|p| p.impls[0].value = Ty::Abstract(TypeParam(0))).contains(&"types"));
    assert!(with(&|p| p.pures[0].result = Ty::Elem(Elem::F64)).contains(&"types"));
    assert_eq!(with(&|p| p.pures[0].body = load(Buffer(0), &[n(0)])), ["ids"]);
    assert_eq!(with(&|p| p.pures[0].body = Word::Apply(PureId(2), vec![])), [] as [&str; 0]);
    let round = |p: &mut Program| {
        p.pures[0].body = Word::Apply(PureId(2), vec![]);
        p.pures[2].body = Word::Apply(PureId(0), vec![]);
    };
    assert_eq!(with(&round), ["graphs"]);
    let calls = |from: usize, to: u32| {
        move |p: &mut Program| {
            p.funs.push(empty_fun("f"));
            p.funs.push(empty_fun("g"));
            p.funs[2].body = vec![call(3, vec![], vec![], vec![])];
            p.funs[from].body = vec![call(to, vec![], vec![], vec![])];
        }
    };
    assert_eq!(with(&calls(3, 2)), ["graphs"]);
    assert_eq!(with(&calls(3, 3)), ["graphs"]);
}

#[test]
fn layouts_and_strides() {
    let named = |ops: Vec<LayoutOp>| Layout::Named { name: "L".into(), ops };
    let split = |axis, by| LayoutOp::Split { axis, by, pad: true, back: false };
    let mut f = matmul();
    f.buffers[0].layout = named(vec![split(0, 4), LayoutOp::Order(vec![0, 2, 1])]);
    f.buffers[1].strides = Strides::Given(vec![f.sizes[0], f.sizes[1]]);
    assert!(broken(&program(vec![f])).is_empty());
    refused("layouts", |f| f.buffers[0].layout = named(vec![split(2, 4)]));
    refused("layouts", |f| f.buffers[0].layout = named(vec![split(0, 0)]));
    refused("layouts", |f| f.buffers[0].layout = named(vec![LayoutOp::Order(vec![0, 0])]));
    refused("layouts", |f| f.buffers[0].strides = Strides::Given(vec![f.sizes[0]]));
    refused("layouts", |f| f.buffers[0].strides = Strides::Given(vec![f.sizes[0], Var(4)]));
}

#[test]
fn depth_is_bounded_without_recursion() {
    let nest = |levels: usize| {
        let mut f = one_word(|_, _| lit(1.0));
        for _ in 0..levels {
            f.body =
                vec![stmt(StmtKind::If { guard: Guard::Const(true), then: std::mem::take(&mut f.body), els: vec![] })];
        }
        broken(&program(vec![f]))
    };
    assert!(nest(MAX_DEPTH - 1).is_empty());
    assert_eq!(nest(MAX_DEPTH), ["depth"]);
    let deep = |levels: usize| {
        let mut ix = n(0);
        for _ in 0..levels {
            ix = plus(ix, n(0));
        }
        let mut f = matmul();
        f.requires.push(Guard::Cmp(Rel::Le, n(0), ix));
        broken(&program(vec![f]))
    };
    assert!(deep(400).is_empty());
    assert_eq!(deep(5_000), ["depth"]);
    let mut p = generic();
    for _ in 0..5_000 {
        let inner = std::mem::replace(&mut p.pures[0].body, lit(0.0));
        p.pures[0].body = op(Prim::Neg, vec![inner]);
    }
    assert_eq!(broken(&p), ["depth"]);
}
