//! Which loops are vector statements, and how is one written?
//!
//! A vector statement stores or assigns one word for each of its active lanes. Here it is a loop whose variable has the
//! kind [`VarKind::Lane`], around that one statement:
//!
//! ```text
//! store c[i, j ..+ 8] mask m = fma x y z      is      for l in 0 .. m do store c[i, j + l] = fma x[l] y[l] z[l]
//! ```
//!
//! It is proved of every such loop that no two lanes write one cell and that none reads what another writes. So running
//! the lanes one after another, all at once, or in any other order is the same, and everything that knows loops knows
//! vectors. A vector `let` is two statements, the declaration and the loop that fills it.

use crate::ir::{
    Access, BlockPart, Domain, Fun, Guard, Ix, Local, LocalInfo, Program, Rel, Stmt, StmtKind, Ty, Var, VarInfo,
    VarKind, Word,
};
use crate::rewrite::{Live, Visit, visit_word};

/// The most lanes that a vector has.
pub const MAX_LANES: i64 = 4096;

/// A vector statement.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<'a> {
    /// The lane.
    pub var: Var,
    /// How many lanes there are.
    pub count: i64,
    /// How many of them are active, from the first on.
    pub active: &'a Ix,
    /// What each does: a store or an assignment.
    pub stmt: &'a Stmt,
}

/// A vector `let`.
#[derive(Clone, Copy, Debug)]
pub struct VectorLet<'a> {
    /// Its name.
    pub local: Local,
    /// The lane.
    pub var: Var,
    /// A lane's word.
    pub word: &'a Word,
}

impl Lanes<'_> {
    /// Whether some lane may be inactive.
    pub fn masked(&self) -> bool {
        *self.active != Ix::Lit(self.count)
    }
}

/// How many lanes a loop's variable counts, if it does.
pub fn count_of(vars: &[VarInfo], var: Var) -> Option<i64> {
    match vars.get(var.index())?.kind {
        VarKind::Lane(n) | VarKind::Instr(n, _) => Some(n),
        VarKind::Size | VarKind::Index | VarKind::Block => None,
    }
}

/// The vector statement that a statement is.
pub fn of<'a>(vars: &[VarInfo], stmt: &'a Stmt) -> Option<Lanes<'a>> {
    let StmtKind::For { var, domain: Domain::Range { lo: _, hi }, body } = &stmt.kind else { return None };
    let count = count_of(vars, *var)?;
    match body.as_slice() {
        [stmt] => Some(Lanes { var: *var, count, active: hi, stmt }),
        _ => None,
    }
}

/// The vector `let` that two statements are, one right after the other.
pub fn let_of<'a>(fun: &Fun, declared: &Stmt, next: &'a Stmt) -> Option<VectorLet<'a>> {
    let_named(&fun.vars, &fun.locals, declared, next)
}

/// As [`let_of`], with the tables apart.
pub fn let_named<'a>(vars: &[VarInfo], locals: &[LocalInfo], declared: &Stmt, next: &'a Stmt) -> Option<VectorLet<'a>> {
    let StmtKind::Var { local, init: _ } = &declared.kind else { return None };
    let info = locals.get(local.index())?;
    if !info.vector || info.mutable {
        return None;
    }
    let lanes = of(vars, next)?;
    let StmtKind::Assign { local: to, at, word } = &lanes.stmt.kind else { return None };
    let whole = at.as_slice() == [Ix::Var(lanes.var)] && info.dims == [lanes.count] && !lanes.masked();
    (to == local && whole).then_some(VectorLet { local: *local, var: lanes.var, word })
}

/// What is wrong with the body of a vector statement.
pub fn fault(fun: &Fun, var: Var, body: &[Stmt]) -> Option<String> {
    count_of(&fun.vars, var)?;
    let name = &fun.vars[var.index()].name;
    let [stmt] = body else {
        return Some(format!("the lanes `{name}` do not run over one statement"));
    };
    let (ty, word) = match &stmt.kind {
        StmtKind::Store { to, word } => (fun.buffers.get(to.buffer.index()).map(|b| &b.elem), word),
        StmtKind::Assign { local, at: _, word } => (fun.locals.get(local.index()).map(|l| &l.ty), word),
        _ => return Some(format!("the lanes `{name}` run over what is neither a store nor an assignment")),
    };
    if ty.is_some_and(|t| !matches!(t, Ty::Elem(_))) {
        return Some(format!("the lanes `{name}` hold what is no machine's element"));
    }
    let mut sums = Sums(false);
    sums.word(word);
    sums.0.then(|| format!("the lanes `{name}` each have a sum of their own"))
}

struct Sums(bool);

impl Visit for Sums {
    fn word(&mut self, word: &Word) {
        self.0 |= matches!(word, Word::Fold(_) | Word::Reduce(_) | Word::Differing(..));
        visit_word(self, word);
    }
}

/// Whether an index depends on a lane.
pub fn varies(ix: &Ix, lane: Var) -> bool {
    Live::of_ix(ix).vars.contains(&lane)
}

/// Whether a word depends on a lane. A name that it binds itself depends on what it is bound to.
pub fn varies_word(word: &Word, lane: Var) -> bool {
    Live::of_word(word).vars.contains(&lane)
}

/// The index at lane 0, of an index that grows with the lane by one at a time.
pub fn first(ix: &Ix, lane: Var) -> Option<Ix> {
    match ix {
        Ix::Var(v) if *v == lane => Some(Ix::Lit(0)),
        Ix::Add(a, b) if !varies(b, lane) => match first(a, lane)? {
            Ix::Lit(0) => Some((**b).clone()),
            a => Some(Ix::Add(Box::new(a), b.clone())),
        },
        Ix::Add(a, b) if !varies(a, lane) => match first(b, lane)? {
            Ix::Lit(0) => Some((**a).clone()),
            b => Some(Ix::Add(a.clone(), Box::new(b))),
        },
        Ix::Sub(a, b) if !varies(b, lane) => Some(Ix::Sub(Box::new(first(a, lane)?), b.clone())),
        Ix::InBlock(g, e) => match first(e, lane)? {
            Ix::Lit(0) => Some(Ix::Block(*g, BlockPart::Lo)),
            e => Some(Ix::InBlock(*g, Box::new(e))),
        },
        _ => None,
    }
}

/// The index at a lane, of one at lane 0: [`first`] read backwards.
pub fn at_lane(first: Ix, lane: Ix) -> Ix {
    match first {
        Ix::Lit(0) => lane,
        Ix::Block(g, BlockPart::Lo) => Ix::InBlock(g, Box::new(lane)),
        Ix::InBlock(g, e) => Ix::InBlock(g, Box::new(at_lane(*e, lane))),
        e => Ix::Add(Box::new(e), Box::new(lane)),
    }
}

/// Where a cell lies, per axis the index at lane 0 and whether it grows with the lane. `None` where it does so along two
/// axes, or otherwise than by one at a time.
pub fn window(at: &[Ix], lane: Var) -> Option<Vec<(Ix, bool)>> {
    let axes: Option<Vec<(Ix, bool)>> = at
        .iter()
        .map(|ix| match varies(ix, lane) {
            true => first(ix, lane).map(|ix| (ix, true)),
            false => Some((ix.clone(), false)),
        })
        .collect();
    axes.filter(|axes| axes.iter().filter(|(_, grows)| *grows).count() == 1)
}

/// A load with a mask of its own: the cell, how many lanes are read, and what the others are.
pub fn masked_load(word: &Word, lane: Var) -> Option<(&Access, &Ix, &Word)> {
    let Word::If(guard, then, other) = word else { return None };
    match (&**guard, &**then) {
        (Guard::Cmp(Rel::Lt, Ix::Var(v), active), Word::Load(a))
            if *v == lane && !varies(active, lane) && !varies_word(other, lane) && window(&a.at, lane).is_some() =>
        {
            Some((a, active, other))
        }
        _ => None,
    }
}

/// Where some lanes of a vector begin, of a cell of a local that is a lane of them and not of the whole vector.
pub fn slice(locals: &[LocalInfo], local: Local, at: &[Ix], lanes: &Lanes<'_>) -> Option<Ix> {
    let info = locals.get(local.index()).filter(|i| i.vector && i.dims.len() == at.len())?;
    let (last, before) = at.split_last()?;
    let from = first(last, lanes.var).filter(|_| before.iter().all(|ix| !varies(ix, lanes.var)))?;
    (info.dims.last() != Some(&lanes.count) || from != Ix::Lit(0)).then_some(from)
}

/// Whether a vector statement can be written as one. What a step made of it may not be; it is written as the loop that
/// it means.
pub fn is_written(program: &Program, vars: &[VarInfo], locals: &[LocalInfo], lanes: &Lanes<'_>) -> bool {
    let word = match &lanes.stmt.kind {
        StmtKind::Store { to, word } if window(&to.at, lanes.var).is_some() => word,
        StmtKind::Assign { local, at, word } if !lanes.masked() && whole(locals, *local, at, lanes) => word,
        _ => return false,
    };
    crate::instr::applied(program, vars, lanes).is_some_and(|a| a.is_written(locals, lanes))
        || word_is_written(locals, word, lanes)
}

/// Whether a cell of a local is the lane's own of a vector.
fn whole(locals: &[LocalInfo], local: Local, at: &[Ix], lanes: &Lanes<'_>) -> bool {
    locals.get(local.index()).is_some_and(|i| i.vector && i.dims.last() == Some(&lanes.count))
        && at.last() == Some(&Ix::Var(lanes.var))
        && at.iter().rev().skip(1).all(|ix| !varies(ix, lanes.var))
}

/// Whether the word of a lane can be written in a vector statement.
pub(crate) fn word_is_written(locals: &[LocalInfo], word: &Word, lanes: &Lanes<'_>) -> bool {
    if !varies_word(word, lanes.var) {
        return true;
    }
    if masked_load(word, lanes.var).is_some() {
        return true;
    }
    match word {
        Word::Load(a) => window(&a.at, lanes.var).is_some(),
        Word::Local(l, at) => whole(locals, *l, at, lanes) || slice(locals, *l, at, lanes).is_some(),
        Word::Op { args, .. } | Word::Apply(_, args) => args.iter().all(|a| word_is_written(locals, a, lanes)),
        Word::If(g, a, b) => {
            let mut live = Live::default();
            live.guard(g);
            !live.vars.contains(&lanes.var) && word_is_written(locals, a, lanes) && word_is_written(locals, b, lanes)
        }
        Word::Lit(_)
        | Word::Index(..)
        | Word::Tuple(_)
        | Word::Part(..)
        | Word::Let(..)
        | Word::Fold(_)
        | Word::Reduce(_)
        | Word::Differing(..) => false,
    }
}
