//! Which functions are one step smaller? Statements go, words become words in them or literals, constants and sizes come
//! nearer to nothing; what is no program any more is left out.

use super::{fewer, nearer};
use crate::parts::{Part, edit, type_of};
use cachet_core::ir::{Block, Domain, Elem, Fun, FunId, Guard, Ix, Lit, Program, Stmt, StmtKind, Ty, Word};
use cachet_core::print::listing;
use cachet_core::rewrite::Subst;
use cachet_core::validate::validate;

/// A function and the sizes at which it fails.
#[derive(Clone)]
pub struct Case {
    /// It, what it calls and what it applies.
    pub program: Program,
    /// Which it is.
    pub fun: FunId,
    /// Its sizes.
    pub sizes: Vec<i64>,
}

/// What stands in a part's place.
enum New {
    Block(Block),
    Word(Word),
    Ix(Ix),
    Guard(Guard),
    Domain(Domain),
}

/// Cases one step smaller, all of them valid programs.
pub fn smaller(case: &Case) -> Vec<Case> {
    let sizes = case.sizes.iter().enumerate().flat_map(|(at, n)| {
        nearer(*n).into_iter().map(move |m| {
            let mut sizes = case.sizes.clone();
            sizes[at] = m;
            Case { sizes, ..case.clone() }
        })
    });
    let used: Vec<bool> = reached(case);
    let funs = used.iter().enumerate().filter(|(_, used)| **used).flat_map(|(at, _)| {
        smaller_functions(&case.program, FunId(at as u32)).into_iter().map(move |fun| {
            let mut next = case.clone();
            next.program.funs[at] = fun;
            next
        })
    });
    sizes.chain(funs).filter(|next| validate(&next.program).is_ok()).collect()
}

/// A function with one change that makes it smaller. Some are no programs: whoever uses them validates them.
pub fn smaller_functions(program: &Program, id: FunId) -> Vec<Fun> {
    let fun = &program.funs[id.index()];
    let mut changes: Vec<(u8, usize, New)> = Vec::new();
    let mut at = 0;
    edit(&mut fun.clone(), &mut |part| {
        let (rank, all) = instead(program, fun, part);
        changes.extend(all.into_iter().map(|new| (rank, at, new)));
        at += 1;
    });
    changes.sort_by_key(|(rank, ..)| *rank);
    let mut out: Vec<Fun> = (0..fun.requires.len())
        .map(|n| {
            let mut fun = fun.clone();
            fun.requires.remove(n);
            fun
        })
        .collect();
    out.extend(changes.into_iter().map(|(_, at, new)| changed(fun, at, new)));
    out
}

/// A case as text: what it calls, itself, and its sizes.
pub fn show(case: &Case) -> String {
    let used = reached(case);
    let mut out = String::new();
    for (fun, _) in case.program.funs.iter().zip(&used).filter(|(_, used)| **used) {
        out.push_str(&listing(&case.program, fun));
        out.push('\n');
    }
    let fun = &case.program.funs[case.fun.index()];
    let sizes = fun.sizes.iter().zip(&case.sizes);
    let sizes: Vec<String> = sizes.map(|(v, n)| format!("{} = {n}", fun.vars[v.index()].name)).collect();
    format!("{out}`{}` at {}\n", fun.name, if sizes.is_empty() { "no sizes".into() } else { sizes.join(", ") })
}

/// Which functions are the case's own: itself and what it calls, through others or directly.
fn reached(case: &Case) -> Vec<bool> {
    let mut used = vec![false; case.program.funs.len()];
    let mut todo = vec![case.fun];
    while let Some(id) = todo.pop() {
        if !std::mem::replace(&mut used[id.index()], true) {
            todo.extend(cachet_core::rewrite::callees(&case.program.funs[id.index()]));
        }
    }
    used
}

fn changed(fun: &Fun, place: usize, new: New) -> Fun {
    let mut fun = fun.clone();
    let (mut at, mut new) = (0, Some(new));
    edit(&mut fun, &mut |part| {
        if at == place {
            match (part, new.take()) {
                (Part::Block(b), Some(New::Block(new))) => *b = new,
                (Part::Word(w), Some(New::Word(new))) => *w = new,
                (Part::Ix(i), Some(New::Ix(new))) => *i = new,
                (Part::Guard(g), Some(New::Guard(new))) => *g = new,
                (Part::Domain(d), Some(New::Domain(new))) => *d = new,
                (Part::Block(_) | Part::Word(_) | Part::Ix(_) | Part::Guard(_) | Part::Domain(_), _) => {}
            }
        }
        at += 1;
    });
    fun
}

/// What may stand in a part's place, and how early that is tried.
fn instead(program: &Program, fun: &Fun, part: Part<'_>) -> (u8, Vec<New>) {
    match part {
        Part::Block(b) => (0, blocks(b).into_iter().map(New::Block).collect()),
        Part::Word(w) => (1, words(program, fun, w).into_iter().map(New::Word).collect()),
        Part::Guard(g) => (2, guards(g).into_iter().map(New::Guard).collect()),
        Part::Domain(Domain::Blocks { lo, hi, size }) => {
            let sizes = nearer(*size).into_iter().filter(|n| *n > 0);
            (2, sizes.map(|size| New::Domain(Domain::Blocks { lo: lo.clone(), hi: hi.clone(), size })).collect())
        }
        Part::Domain(Domain::Range { .. }) => (2, vec![]),
        Part::Ix(i) => (3, indices(i).into_iter().map(New::Ix).collect()),
    }
}

/// With fewer statements, and with what stands inside one in its place.
fn blocks(block: &Block) -> Vec<Block> {
    let mut out = fewer(block);
    for (at, s) in block.iter().enumerate() {
        for inner in inside(s) {
            out.push([&block[..at], &inner, &block[at + 1..]].concat());
        }
    }
    out
}

fn inside(s: &Stmt) -> Vec<Block> {
    match &s.kind {
        StmtKind::For { var, domain: Domain::Range { lo, .. }, body } => {
            vec![body.clone(), Subst::var(*var, lo.clone()).block(body)]
        }
        StmtKind::For { body, .. } => vec![body.clone()],
        StmtKind::Grid(g) => vec![g.body.clone()],
        StmtKind::If { then, els, .. } => vec![then.clone(), els.clone()],
        StmtKind::Let { .. }
        | StmtKind::Var { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Store { .. }
        | StmtKind::Alloc(_)
        | StmtKind::Lease { .. }
        | StmtKind::Call(_)
        | StmtKind::Print(_) => vec![],
    }
}

/// Literals of its type, and the words in it that have its type.
fn words(program: &Program, fun: &Fun, word: &Word) -> Vec<Word> {
    let Some(ty) = type_of(program, fun, word) else { return vec![] };
    let mut out = Vec::new();
    if !plain(word) {
        out.extend([zero(&ty, false), zero(&ty, true)].into_iter().flatten());
    }
    let mut inner = |w: &Word| {
        if type_of(program, fun, w).as_ref() == Some(&ty) {
            out.push(w.clone());
        }
    };
    match word {
        Word::Lit(_) | Word::Index(..) | Word::Load(_) | Word::Local(..) | Word::Differing(..) => {}
        Word::Op { args, .. } | Word::Apply(_, args) | Word::Tuple(args) => args.iter().for_each(inner),
        Word::Part(w, n) => match &**w {
            Word::Tuple(parts) => parts.get(*n as usize).into_iter().for_each(inner),
            _ => inner(w),
        },
        Word::Let(l, a, b) => {
            inner(b);
            inner(&Subst::local(*l, (**a).clone()).word(b));
            inner(a);
        }
        Word::If(_, a, b) => {
            inner(a);
            inner(b);
        }
        Word::Fold(f) => {
            inner(&f.init);
            inner(&f.body);
            inner(&Subst::local(f.acc, f.init.clone()).word(&f.body));
        }
        Word::Reduce(r) => {
            inner(&r.empty);
            inner(&r.element);
            inner(&r.combine);
        }
    }
    out
}

/// Literals, and tuples of them.
fn plain(word: &Word) -> bool {
    match word {
        Word::Lit(l) => l.bits == 0 || l.bits == one(l.elem),
        Word::Tuple(parts) => parts.iter().all(plain),
        _ => false,
    }
}

/// The type's nothing, or its one.
fn zero(ty: &Ty, ones: bool) -> Option<Word> {
    match ty {
        Ty::Elem(e) => Some(Word::Lit(Lit { elem: *e, bits: if ones { one(*e) } else { 0 } })),
        Ty::Tuple(parts) => parts.iter().map(|t| zero(t, ones)).collect::<Option<_>>().map(Word::Tuple),
        Ty::Abstract(_) => None,
    }
}

fn one(elem: Elem) -> u64 {
    match elem {
        Elem::F64 => 0x3FF0_0000_0000_0000,
        Elem::F32 => 0x3F80_0000,
        Elem::F16 => 0x3C00,
        Elem::BF16 => 0x3F80,
        Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 | Elem::Bool => 1,
    }
}

fn guards(g: &Guard) -> Vec<Guard> {
    let consts = [Guard::Const(true), Guard::Const(false)];
    match g {
        Guard::Const(_) => vec![],
        Guard::Cmp(..) => consts.to_vec(),
        Guard::And(a, b) | Guard::Or(a, b) => consts.into_iter().chain([(**a).clone(), (**b).clone()]).collect(),
        Guard::Not(a) => consts.into_iter().chain([(**a).clone()]).collect(),
    }
}

fn indices(ix: &Ix) -> Vec<Ix> {
    let lits = [Ix::Lit(0), Ix::Lit(1)];
    let with = |inner: Vec<&Ix>| lits.iter().cloned().chain(inner.into_iter().cloned()).collect();
    match ix {
        Ix::Lit(n) => nearer(*n).into_iter().map(Ix::Lit).collect(),
        Ix::Var(_) | Ix::Block(..) => lits.to_vec(),
        Ix::Add(a, b) | Ix::Sub(a, b) | Ix::Min(a, b) | Ix::Max(a, b) | Ix::If(_, a, b) => with(vec![a, b]),
        Ix::Mul(n, a) => {
            let factors = nearer(*n).into_iter().filter(|m| *m != 0);
            let mut out: Vec<Ix> = with(vec![a]);
            out.extend(factors.map(|m| Ix::Mul(m, a.clone())));
            out
        }
        Ix::Div(a, _) | Ix::Mod(a, _) | Ix::InBlock(_, a) => with(vec![a]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::loaded;
    use crate::minimise::minimise;
    use cachet_core::interpret::{Options, TrapKind, prepare};

    #[test]
    fn a_function_shrinks_to_what_fails() {
        let text = "fn f (reads x: [f32; N]) (mut y: [f32; N]) (mut z: [f32; 4]) =\n  for i in 0 .. N do\n    \
                    if i < 3 then\n      store y[i] = load x[i] + 1.0 * 2.0\n    store z[i / 2] = load x[i]\n  \
                    store y[0] = 1.0\n";
        let module = loaded(text);
        let case = Case { program: module.program, fun: FunId(0), sizes: vec![20] };
        let outside = |case: &Case| {
            let mut arrays =
                crate::judge::filled(&case.program.funs[0], &case.sizes, cachet_oracle::hostile::Kind::Ordinary, 1);
            let ran = prepare(&case.program, case.fun, &[])
                .and_then(|p| p.run(&case.sizes, &mut arrays, &Options::default()));
            matches!(ran, Err(t) if matches!(&t.kind, TrapKind::OutOfBounds { name, .. } if name == "z"))
        };
        assert!(outside(&case));
        let least = minimise(case, smaller, outside);
        let shown = show(&least);
        assert!(shown.lines().count() <= 9 && shown.contains("store z[i] = 0.0"), "{shown}");
        assert_eq!(least.sizes, [5], "{shown}");
    }
}
