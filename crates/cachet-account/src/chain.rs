//! Which operations wait for one another?
//!
//! A statement that gives a cell a new word made from its old one is a link of a chain. A loop in which the cell stays the
//! same repeats the link: each waits for the one before. A loop that goes to another cell each time does not; links of many
//! chains are then under way at once. Whole chains stand one after another, as the loops say: a processor does not look
//! ahead over a whole loop.

use crate::count::Count;
use crate::tally::{Tally, Walk, What};
use cachet_core::ir::{Buffer, Domain, Ix, Local, Op, Shape, Stmt, StmtKind, Var, Word};
use cachet_core::rewrite::Live;
use cachet_core::vectors;
use std::collections::{BTreeMap, BTreeSet};

/// What `let`s around stand for.
type Lets<'b> = BTreeMap<Local, &'b Word>;

/// Where a chain's values are kept.
#[derive(Clone, PartialEq, Eq)]
enum Cell {
    Buffer(Buffer, Vec<Ix>),
    Local(Local, Vec<Ix>),
    /// A total inside a word.
    Total(Local),
}

/// Links that wait for one another.
#[derive(Clone)]
struct Chain {
    cell: Cell,
    /// What the cell depends on.
    vars: BTreeSet<Var>,
    links: Tally,
    /// Whether a loop has repeated it.
    repeated: bool,
}

/// The longest chains of statements, one after another.
pub(crate) fn of(walk: &mut Walk<'_, '_>, stmts: &[Stmt]) -> Tally {
    let mut out = Tally::default();
    for c in block(walk, stmts, &Lets::new()).into_iter().filter(|c| c.repeated) {
        out.join(&c.links);
    }
    out
}

fn block<'b>(walk: &mut Walk<'_, '_>, stmts: &'b [Stmt], lets: &Lets<'b>) -> Vec<Chain> {
    let mut out: Vec<Chain> = Vec::new();
    let mut lets = lets.clone();
    for s in stmts {
        if let StmtKind::Let { local, word } = &s.kind {
            lets.insert(*local, word);
        }
        for c in stmt(walk, s, &lets) {
            // Links on one cell in one body wait for one another too.
            match out.iter_mut().find(|o| !o.repeated && !c.repeated && o.cell == c.cell) {
                Some(o) => o.links.join(&c.links),
                None => out.push(c),
            }
        }
    }
    // Behind its scope, a local is another one each time.
    let declared: Vec<Local> = stmts.iter().filter_map(declared).collect();
    for c in &mut out {
        if let Cell::Local(l, _) = &c.cell
            && declared.contains(l)
        {
            c.vars.extend(all_loops(walk));
        }
    }
    out
}

/// The loops around: what is made anew in each iteration depends on all of them.
fn all_loops(walk: &Walk<'_, '_>) -> Vec<Var> {
    (0..walk.scope.fun.vars.len() as u32).map(Var).collect()
}

fn declared(s: &Stmt) -> Option<Local> {
    match &s.kind {
        StmtKind::Var { local, .. } => Some(*local),
        _ => None,
    }
}

fn stmt<'b>(walk: &mut Walk<'_, '_>, s: &'b Stmt, lets: &Lets<'b>) -> Vec<Chain> {
    if let Some(lanes) = vectors::of(&walk.scope.fun.vars, s) {
        return link(walk, lanes.stmt, lets).into_iter().collect();
    }
    match &s.kind {
        StmtKind::For { var, domain, body } => nest(walk, &[(*var, domain.clone())], body, lets),
        StmtKind::Grid(g) => nest(walk, &g.axes, &g.body, lets),
        StmtKind::If { guard: _, then, els } => {
            let mut out = block(walk, then, lets);
            out.extend(block(walk, els, lets));
            out
        }
        StmtKind::Let { .. } | StmtKind::Var { .. } | StmtKind::Assign { .. } | StmtKind::Store { .. } => {
            let mut out: Vec<Chain> = link(walk, s, lets).into_iter().collect();
            out.extend(totals(walk, s));
            out
        }
        StmtKind::Alloc(_) | StmtKind::Lease { .. } | StmtKind::Call(_) | StmtKind::Print(_) => Vec::new(),
    }
}

fn nest<'b>(walk: &mut Walk<'_, '_>, axes: &[(Var, Domain)], body: &'b [Stmt], lets: &Lets<'b>) -> Vec<Chain> {
    let Some(((v, domain), rest)) = axes.split_first() else { return block(walk, body, lets) };
    let range = walk.scope.range(domain);
    walk.scope.enter(*v, &range);
    let inside = nest(walk, rest, body, lets);
    walk.scope.ranges.leave();
    let mut out: Vec<Chain> = Vec::new();
    for mut c in inside {
        let same = !c.vars.contains(v);
        if !same && !c.repeated {
            out.push(c);
            continue;
        }
        let before = c.repeated;
        c.links = walk.sum(&c.links, *v, &range);
        c.repeated = true;
        // Chains that this loop repeats are under way together; one of them stands for all.
        let other = out.iter_mut().find(|o| same && !before && !o.vars.contains(v) && o.repeated);
        match other {
            Some(o) if longer(&c.links, &o.links) => *o = c,
            Some(_) => {}
            None => out.push(c),
        }
    }
    out
}

/// Whether some chain is surely longer than another, as far as numbers say so.
fn longer(a: &Tally, b: &Tally) -> bool {
    let of = |t: &Tally| t.0.values().try_fold(Count::zero(), |n, c| Some(n.plus(c)));
    match (of(a).and_then(|n| n.literal()), of(b).and_then(|n| n.literal())) {
        (Some(a), Some(b)) => a > b,
        _ => false,
    }
}

/// A statement that makes a cell's new word from its old one.
fn link(walk: &Walk<'_, '_>, s: &Stmt, lets: &Lets<'_>) -> Option<Chain> {
    let (cell, at, word) = match &s.kind {
        StmtKind::Store { to, word } => (Cell::Buffer(to.buffer, to.at.clone()), &to.at, word),
        StmtKind::Assign { local, at, word } => (Cell::Local(*local, at.clone()), at, word),
        _ => return None,
    };
    let mut links = Tally::default();
    way(walk, word, &cell, lets, &mut links).then_some(())?;
    let vars = at.iter().flat_map(|ix| Live::of_ix(ix).vars).collect();
    Some(Chain { cell, vars, links, repeated: false })
}

/// The operations between a cell's old word and a word that is made from it. Whether there is a way.
fn way(walk: &Walk<'_, '_>, word: &Word, cell: &Cell, lets: &Lets<'_>, links: &mut Tally) -> bool {
    match (word, cell) {
        (Word::Load(a), Cell::Buffer(b, at)) => a.buffer == *b && a.at == *at,
        (Word::Local(l, at), Cell::Local(m, to)) => l == m && at == to,
        (Word::Local(l, at), Cell::Total(m)) => l == m && at.is_empty(),
        (Word::Local(l, at), Cell::Buffer(..)) if at.is_empty() => {
            lets.get(l).is_some_and(|w| way(walk, w, cell, lets, links))
        }
        (Word::Op { op, args, .. }, _) => {
            let found = args.iter().any(|a| way(walk, a, cell, lets, links));
            if found {
                chained(walk, *op, word, links);
            }
            found
        }
        (Word::Apply(p, args), _) => {
            let pure = &walk.scope.program.pures[p.index()];
            let param =
                pure.params.iter().zip(args).find(|(_, a)| way(walk, a, cell, lets, links)).map(|(param, _)| *param);
            param.is_some_and(|param| way(walk, &pure.body, &Cell::Total(param), &Lets::new(), links))
        }
        (Word::Tuple(args), _) => args.iter().any(|a| way(walk, a, cell, lets, links)),
        (Word::If(_, a, b), _) => way(walk, a, cell, lets, links) || way(walk, b, cell, lets, links),
        (Word::Let(_, a, b), _) => way(walk, b, cell, lets, links) || way(walk, a, cell, lets, links),
        (Word::Part(a, _), _) => way(walk, a, cell, lets, links),
        (Word::Fold(f), _) => way(walk, &f.init, cell, lets, links),
        (
            Word::Lit(_) | Word::Index(..) | Word::Load(_) | Word::Local(..) | Word::Reduce(_) | Word::Differing(..),
            _,
        ) => false,
    }
}

fn chained(walk: &Walk<'_, '_>, op: Op, word: &Word, links: &mut Tally) {
    let what = What::Chained { op: walk.op_name(op), elem: walk.elem_of(word) };
    links.add(what, &Count::lit(1));
}

/// The chains of the sums in a statement's words.
fn totals(walk: &mut Walk<'_, '_>, s: &Stmt) -> Vec<Chain> {
    match &s.kind {
        StmtKind::Let { word, .. }
        | StmtKind::Var { init: word, .. }
        | StmtKind::Assign { word, .. }
        | StmtKind::Store { word, .. }
        | StmtKind::Print(word) => sums(walk, word),
        StmtKind::For { .. }
        | StmtKind::Grid(_)
        | StmtKind::If { .. }
        | StmtKind::Alloc(_)
        | StmtKind::Lease { .. }
        | StmtKind::Call(_) => Vec::new(),
    }
}

fn sums(walk: &mut Walk<'_, '_>, word: &Word) -> Vec<Chain> {
    match word {
        Word::Lit(_) | Word::Index(..) | Word::Load(_) | Word::Local(..) | Word::Differing(..) => Vec::new(),
        Word::Op { args, .. } | Word::Apply(_, args) | Word::Tuple(args) => {
            args.iter().flat_map(|a| sums(walk, a)).collect()
        }
        Word::Part(a, _) => sums(walk, a),
        Word::Let(_, a, b) | Word::If(_, a, b) => {
            let mut out = sums(walk, a);
            out.extend(sums(walk, b));
            out
        }
        Word::Fold(f) => {
            let mut out = sums(walk, &f.init);
            out.extend(inside(walk, (f.var, &f.domain), &f.body));
            let mut links = Tally::default();
            if way(walk, &f.body, &Cell::Total(f.acc), &Lets::new(), &mut links) {
                out.push(total(walk, f.acc, (f.var, &f.domain), &links, 1));
            }
            out
        }
        Word::Reduce(r) => {
            let mut out = inside(walk, (r.var, &r.domain), &r.element);
            let mut links = Tally::default();
            let lanes = match r.shape {
                Shape::Order => 1,
                Shape::Lanes(n) => i64::from(n),
                // As many joins wait for one another as the number of terms has halves.
                Shape::Halving => return out,
            };
            if way(walk, &r.combine, &Cell::Total(r.operands.0), &Lets::new(), &mut links) {
                out.push(total(walk, r.operands.0, (r.var, &r.domain), &links, lanes));
            }
            out
        }
    }
}

/// The chains of the sums inside a sum's terms, one term after another.
fn inside(walk: &mut Walk<'_, '_>, (v, domain): (Var, &Domain), word: &Word) -> Vec<Chain> {
    let range = walk.scope.range(domain);
    walk.scope.enter(v, &range);
    let mut out = sums(walk, word);
    walk.scope.ranges.leave();
    for c in &mut out {
        c.links = walk.sum(&c.links, v, &range);
    }
    out
}

/// A chain of a sum's links, spread over so many totals.
fn total(walk: &mut Walk<'_, '_>, acc: Local, (v, domain): (Var, &Domain), links: &Tally, lanes: i64) -> Chain {
    let range = walk.scope.range(domain);
    let links = walk.sum(links, v, &range);
    let links = if lanes == 1 { links } else { links.map(|c| c.ceil(lanes)) };
    // Another sum each time.
    let vars = all_loops(walk).into_iter().collect();
    Chain { cell: Cell::Total(acc), vars, links, repeated: true }
}
