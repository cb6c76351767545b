//! Programs and steps to try things on, built by hand so that these tests need no parser.

#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses its own part; tests")]
#![allow(clippy::result_large_err, reason = "tests")]

use cachet_core::ir::{
    Access, At, Block, Buffer, BufferInfo, Device, Domain, Elem, Fold, Fun, Ix, Layout, Level, Lit, Local, LocalInfo,
    Op, Prim, Program, Role, Stmt, StmtKind, Strides, Ty, Var, VarKind, Word,
};
use cachet_core::pattern::{
    LoopRef, Move, MoveKind, Param, ParamKind, Params, Pat, PatCell, PatDomain, PatIx, PatSubst, PatTy, PatWord, Side,
    StepDef,
};
use cachet_core::print::listing;
use cachet_core::rewrite::Site;
use cachet_core::script::{Rewrite, StepArg, StepCall, StepForm};
use cachet_core::validate::validate_fun;
use cachet_source::{Diagnostic, FileId, Span};

/// A span at a position, so that places differ.
pub fn span(at: u32) -> Span {
    Span::new(FileId(0), at, at + 1)
}

// ---------------------------------------------------------------- programs

/// A function with sizes and `f32` buffers; the last buffer is the output.
pub fn fun(sizes: &[&str], buffers: &[(&str, &[&str])]) -> Fun {
    let mut fun = Fun {
        name: "f".into(),
        type_params: vec![],
        sizes: vec![],
        params: vec![],
        requires: vec![],
        produces: vec![],
        algebras: vec![],
        scratch: vec![],
        resources: Default::default(),
        body: vec![],
        vars: vec![],
        locals: vec![],
        buffers: vec![],
        span: At::default(),
    };
    for s in sizes {
        let v = fun.add_var(*s, VarKind::Size);
        fun.sizes.push(v);
    }
    for (n, (name, extents)) in buffers.iter().enumerate() {
        let extents = extents.iter().map(|e| Ix::Var(var(&fun, e))).collect();
        let role = if n + 1 == buffers.len() { Role::Mut } else { Role::Reads };
        let b = fun.add_buffer(BufferInfo {
            name: (*name).into(),
            elem: Ty::Elem(Elem::F32),
            extents,
            layout: Layout::RowMajor,
            strides: Strides::Contiguous,
            level: Level { name: "DRAM".into(), device: Device::HOST },
            role,
            span: At::default(),
        });
        fun.params.push(b);
    }
    fun.produces = fun.params.last().copied().into_iter().collect();
    fun
}

/// The latest variable of a name.
pub fn var(fun: &Fun, name: &str) -> Var {
    Var(fun.vars.iter().rposition(|v| v.name == name).unwrap() as u32)
}

/// A new loop variable.
pub fn index(fun: &mut Fun, name: &str) -> Var {
    fun.add_var(name, VarKind::Index)
}

/// The buffer of a name.
pub fn buffer(fun: &Fun, name: &str) -> Buffer {
    Buffer(fun.buffers.iter().position(|b| b.name == name).unwrap() as u32)
}

/// `0 .. n`
pub fn upto(n: Var) -> Domain {
    Domain::Range { lo: Ix::Lit(0), hi: Ix::Var(n) }
}

/// A cell.
pub fn cell(buffer: Buffer, at: &[Var]) -> Access {
    Access { buffer, at: at.iter().map(|v| Ix::Var(*v)).collect(), span: At::default() }
}

/// A loop.
pub fn for_(at: u32, var: Var, domain: Domain, body: Block) -> Stmt {
    Stmt { kind: StmtKind::For { var, domain, body }, span: At(span(at)) }
}

/// A store.
pub fn store(at: u32, to: Access, word: Word) -> Stmt {
    Stmt { kind: StmtKind::Store { to, word }, span: At(span(at)) }
}

/// An `f32`.
pub fn float(x: f32) -> Word {
    Word::Lit(Lit { elem: Elem::F32, bits: u64::from(x.to_bits()) })
}

/// An operation.
pub fn op(p: Prim, args: Vec<Word>) -> Word {
    Word::Op { op: Op::Prim(p), arith: Device::HOST, args }
}

/// `fold var in domain from init as acc do body`
pub fn fold(var: Var, domain: Domain, acc: Local, init: Word, body: Word) -> Word {
    Word::Fold(Box::new(Fold { var, domain, acc, init, body, regroup: false, span: At::default() }))
}

/// An accumulator.
pub fn total(fun: &mut Fun, name: &str) -> Local {
    fun.add_local(LocalInfo { name: name.into(), ty: Ty::Elem(Elem::F32), dims: vec![], vector: false, mutable: false })
}

/// What the sum of [`product`] starts from.
#[derive(Clone, Copy, PartialEq)]
pub enum Start {
    Zero,
    Cell,
}

/// `c[i, j] = sum k. a[i, k] * b[k, j]`, with the loops named as given, perhaps under `max .. 0.0`.
pub fn product(names: [&str; 3], start: Start, relu: bool) -> Fun {
    let mut f = fun(&["M", "N", "K"], &[("a", &["M", "K"]), ("b", &["K", "N"]), ("c", &["M", "N"])]);
    let nest = product_nest(&mut f, names, start, relu, 10);
    f.body = vec![nest];
    f
}

/// The nest of [`product`], with places from `at` on.
pub fn product_nest(f: &mut Fun, [i, j, k]: [&str; 3], start: Start, relu: bool, at: u32) -> Stmt {
    let (m, n, kk) = (Var(0), Var(1), Var(2));
    let (a, b, c) = (Buffer(0), Buffer(1), Buffer(2));
    let (i, j, k) = (index(f, i), index(f, j), index(f, k));
    let acc = total(f, "acc'0");
    let init = if start == Start::Zero { float(-0.0) } else { Word::Load(cell(c, &[i, j])) };
    let step =
        op(Prim::Fma, vec![Word::Load(cell(a, &[i, k])), Word::Load(cell(b, &[k, j])), Word::Local(acc, vec![])]);
    let mut word = fold(k, upto(kk), acc, init, step);
    if relu {
        word = op(Prim::Max, vec![word, float(0.0)]);
    }
    let store = store(at + 2, cell(c, &[i, j]), word);
    for_(at, i, upto(m), vec![for_(at + 1, j, upto(n), vec![store])])
}

// ---------------------------------------------------------------- steps

/// A parameter.
pub fn param(name: &str, kind: ParamKind) -> Param {
    Param { name: name.into(), kind }
}

/// A tuple of loops.
pub fn loops(names: &[&str]) -> Params {
    Params::Tuple(names.iter().map(|n| param(n, ParamKind::Loop)).collect())
}

/// A buffer.
pub fn array(name: &str) -> Params {
    Params::One(param(name, ParamKind::Buffer))
}

/// `$name`, an index.
pub fn hole(name: &str) -> PatIx {
    PatIx::Hole(name.into())
}

/// `$cell`
pub fn pat_cell() -> PatCell {
    PatCell::Hole("$cell".into(), vec![])
}

/// `$name`
pub fn word(name: &str) -> PatWord {
    PatWord::Hole { name: name.into(), inside: None, substs: vec![] }
}

/// `$name[inside]` with replacements.
pub fn word_at(name: &str, inside: PatWord, substs: Vec<PatSubst>) -> PatWord {
    PatWord::Hole { name: name.into(), inside: Some(Box::new(inside)), substs }
}

/// `for var in domain do body`
pub fn pat_for(var: &str, domain: PatDomain, body: Vec<Pat>) -> Pat {
    Pat::For { var: var.into(), domain, body, span: At(span(900)) }
}

/// `for vars.. in $A.. do body`
pub fn pat_all(vars: &str, body: Vec<Pat>) -> Pat {
    Pat::ForAll { vars: vars.into(), domains: "$A".into(), body, span: At(span(901)) }
}

/// `store cell = word`
pub fn pat_store(to: PatCell, word: PatWord) -> Pat {
    Pat::Store { to, word, span: At(span(902)) }
}

/// `let $acc = load $cell`
pub fn pat_let_total() -> Pat {
    Pat::Let { local: "$acc".into(), word: PatWord::Load(pat_cell()), span: At(span(903)) }
}

/// `fold k in $lo .. $hi from init as $acc: $E do $step`
pub fn pat_fold(init: PatWord) -> PatWord {
    PatWord::Fold {
        var: "k".into(),
        domain: PatDomain::Range(hole("$lo"), hole("$hi")),
        acc: "$acc".into(),
        ty: Some(PatTy::Hole("$E".into())),
        init: Box::new(init),
        body: Box::new(word("$step")),
    }
}

/// `$lo .. $hi`
pub fn range() -> PatDomain {
    PatDomain::Range(hole("$lo"), hole("$hi"))
}

/// `$name`, a domain.
pub fn domain(name: &str) -> PatDomain {
    PatDomain::Hole(name.into())
}

/// `S.k`
pub fn loop_ref(side: Side, name: &str) -> LoopRef {
    LoopRef { side, name: name.into(), nth: 1, rank: false }
}

/// A line of a recipe.
pub fn line(kind: MoveKind) -> Move {
    Move { kind, span: At::default() }
}

fn per_cell(side: Side) -> Move {
    line(MoveKind::PerCell { buffer: "c".into(), fold: loop_ref(side, "k") })
}

/// A step.
pub fn step(name: &str, params: Vec<Params>, from: Vec<Pat>, to: Vec<Pat>, recipe: Vec<Move>) -> StepDef {
    StepDef { name: name.into(), params, from, to, recipe, span: At(span(899)) }
}

/// `hoist (j, k) c`, its loop over `k` over the given range and its step as given.
pub fn hoist_with(name: &str, outer: PatDomain, update: PatWord) -> StepDef {
    let j = || PatDomain::Range(hole("$a"), hole("$b"));
    step(
        name,
        vec![loops(&["j", "k"]), array("c")],
        vec![pat_for("j", j(), vec![pat_store(pat_cell(), pat_fold(PatWord::Load(pat_cell())))])],
        vec![pat_for("k", outer, vec![pat_for("j", j(), vec![pat_let_total(), pat_store(pat_cell(), update)])])],
        vec![per_cell(Side::S), per_cell(Side::T), line(MoveKind::Interchange(loop_ref(Side::S, "j")))],
    )
}

/// The running total, in `to`.
pub fn acc() -> PatWord {
    PatWord::Local("$acc".into())
}

/// The library's `hoist`.
pub fn hoist() -> StepDef {
    hoist_with("hoist", range(), word_at("$step", acc(), vec![]))
}

/// The library's `interchange`.
pub fn interchange() -> StepDef {
    step(
        "interchange",
        vec![loops(&["i", "j"])],
        vec![pat_for("i", domain("$A"), vec![pat_for("j", domain("$B"), vec![Pat::Hole("$body".into(), vec![])])])],
        vec![pat_for("j", domain("$B"), vec![pat_for("i", domain("$A"), vec![Pat::Hole("$body".into(), vec![])])])],
        vec![line(MoveKind::Interchange(loop_ref(Side::S, "i")))],
    )
}

/// `[i.. := zi..]`
pub fn to_rank(name: &str) -> PatSubst {
    PatSubst::All("i".into(), name.into())
}

fn zero_cell() -> PatCell {
    PatCell::Hole("$cell".into(), vec![to_rank("zi")])
}

fn zero_of(from: PatWord, to: Vec<Pat>) -> StepDef {
    let outermost = LoopRef { rank: true, ..loop_ref(Side::S, "i") };
    step(
        "zero",
        vec![Params::Tuple(vec![param("i", ParamKind::Loops)]), array("c")],
        vec![pat_all("i", vec![pat_store(pat_cell(), from)])],
        to,
        vec![per_cell(Side::S), per_cell(Side::T), line(MoveKind::Distribute { of: outermost, at: 1 })],
    )
}

/// The library's `zero`.
pub fn zero() -> StepDef {
    zero_of(
        pat_fold(word("$z")),
        vec![
            pat_all("zi", vec![pat_store(zero_cell(), word("$z"))]),
            pat_all("i", vec![pat_store(pat_cell(), pat_fold(PatWord::Load(pat_cell())))]),
        ],
    )
}

/// `zero` under an epilogue, which becomes a last nest.
pub fn zero_epilogue() -> StepDef {
    let last = || PatCell::Hole("$cell".into(), vec![to_rank("fi")]);
    zero_of(
        word_at("$post", pat_fold(word("$z")), vec![]),
        vec![
            pat_all("zi", vec![pat_store(zero_cell(), word("$z"))]),
            pat_all("i", vec![pat_store(pat_cell(), pat_fold(PatWord::Load(pat_cell())))]),
            pat_all("fi", vec![pat_store(last(), word_at("$post", PatWord::Load(last()), vec![to_rank("fi")]))]),
        ],
    )
}

// ---------------------------------------------------------------- calls

/// A name as an argument: `i`, `i#2`.
pub fn name(text: &str) -> StepArg {
    let (name, nth) = match text.split_once('#') {
        Some((name, nth)) => (name, Some(nth.parse().unwrap())),
        None => (text, None),
    };
    StepArg::Name { name: name.into(), nth, part: None, span: span(700) }
}

/// Several.
pub fn tuple(names: &[&str]) -> StepArg {
    StepArg::Tuple(names.iter().map(|n| name(n)).collect(), span(701))
}

/// A step with its arguments.
pub fn call(name: &str, args: Vec<StepArg>) -> StepCall {
    StepCall { name: name.into(), form: StepForm::Call(args), span: span(702), callers: vec![] }
}

/// Applies a step; what comes back must be a well-formed program that differs from the one before at its site only.
pub fn apply(fun: &Fun, call: &StepCall, steps: &[StepDef]) -> Result<Rewrite, Diagnostic> {
    let program = Program::default();
    assert_eq!(validate_fun(&program, fun), Ok(()), "the program before");
    let made = cachet_schedule::apply(&program, fun, call, steps, &mut cachet_schedule::Splits::default())?;
    if let Err(faults) = validate_fun(&program, &made.after) {
        panic!("{faults:#?}\n{}", listing(&program, &made.after));
    }
    let shared = made.after.vars.starts_with(&fun.vars)
        && made.after.locals.starts_with(&fun.locals)
        && made.after.buffers.starts_with(&fun.buffers);
    assert!(shared, "tables only grow");
    assert_eq!(without(fun, &made.from), without(&made.after, &made.to), "only the site changes");
    no_shadowing(&made.after);
    Ok(made)
}

/// The body without a site's statements.
fn without(fun: &Fun, site: &Site) -> Block {
    let mut fun = fun.clone();
    site.replace(&mut fun, vec![]).unwrap();
    fun.body
}

/// No name is bound where it is in scope already.
fn no_shadowing(fun: &Fun) {
    fn block(fun: &Fun, stmts: &[Stmt], scope: &mut Vec<String>) {
        let depth = scope.len();
        for s in stmts {
            match &s.kind {
                StmtKind::For { var, body, .. } => {
                    let name = fun.vars[var.index()].name.clone();
                    assert!(!scope.contains(&name), "`{name}` is shadowed");
                    scope.push(name);
                    block(fun, body, scope);
                    scope.pop();
                }
                StmtKind::Let { local, .. } => {
                    let name = fun.locals[local.index()].name.clone();
                    assert!(!scope.contains(&name), "`{name}` is shadowed");
                    scope.push(name);
                }
                StmtKind::Store { word, .. } => words(fun, word, scope),
                _ => {}
            }
        }
        scope.truncate(depth);
    }
    fn words(fun: &Fun, word: &Word, scope: &mut Vec<String>) {
        match word {
            Word::Fold(f) => {
                let name = fun.vars[f.var.index()].name.clone();
                assert!(!scope.contains(&name), "`{name}` is shadowed");
                scope.push(name);
                words(fun, &f.body, scope);
                scope.pop();
            }
            Word::Op { args, .. } => args.iter().for_each(|w| words(fun, w, scope)),
            _ => {}
        }
    }
    let mut scope: Vec<String> = fun.sizes.iter().map(|v| fun.vars[v.index()].name.clone()).collect();
    scope.extend(fun.params.iter().map(|b| fun.buffers[b.index()].name.clone()));
    block(fun, &fun.body, &mut scope);
}

/// A function's body as text, without its two columns of margin.
pub fn body(fun: &Fun) -> String {
    let text = listing(&Program::default(), fun);
    let body = text.split_once("\n=\n").map_or(text.as_str(), |(_, b)| b);
    body.lines().map(|l| l.strip_prefix("  ").unwrap_or(l).to_string() + "\n").collect()
}

/// A recipe as text.
pub fn recipe(made: &Rewrite) -> Vec<String> {
    made.recipe.iter().map(|m| m.kind.to_string()).collect()
}
