//! Is the last program of a schedule the first one, shown once more and in one go?
//!
//! A schedule's claim is a chain: each step relates two neighbouring programs, and the ends are equal because equality is
//! transitive. [`second_proof`] says how the two ends are related directly: a single [`Rewrite`] whose site is the whole
//! body. Its recipe opens sums, takes nests apart where they have to be, and then puts the last program's loops around the
//! first one's statements, by maps that are read off the cells which the statements name. Nothing of the steps is used.
//! [`judge`] gives it to a checker that has seen nothing of the chain.
//!
//! The recipe is a proposal like any other: the checker makes the conditions and proves them. What does not fit is told
//! apart from what is refused: a proposal that fits and is refused means that one of the two proofs is wrong, or that the
//! checker cannot show what it has shown in pieces.

mod graft;
mod maps;
mod nests;
mod walk;

use cachet_check::checked::{Checker, StepReport};
use cachet_check::condition::Failure;
use cachet_check::proofs::Proofs;
use cachet_check::prover::Verdict;
use cachet_check::relation::{Asked, Moved, moved};
use cachet_core::ir::{At, Block, Fun, FunId, Ix, Program, Stmt, StmtKind, Var};
use cachet_core::pattern::{LoopRef, MapVar, Move, MoveKind, PatGuard, PatIx, Side};
use cachet_core::rewrite::{Site, callees};
use cachet_core::script::Rewrite;
use cachet_source::Span;
pub use graft::grafted;
use std::fmt;

/// A proposal to relate two programs as a whole.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The first program.
    pub before: Fun,
    /// The last one over the first one's tables, and the recipe.
    pub rewrite: Rewrite,
    /// How many maps between nests the recipe has.
    pub maps: usize,
}

/// Why two programs cannot be related by one proposal of this kind.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unfit {
    /// The two functions do not have the same head.
    Heads,
    /// Statements that no map goes around: calls, allocations.
    Construct(&'static str),
    /// Taken apart, the two programs have different numbers of statements.
    Counts,
    /// The statements of two nests do not have the same form.
    Statements,
    /// No cell shows what an index of the first program is in the last one.
    Unseen,
    /// A line does not fit, for some other reason.
    Line(String),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Heads => f.write_str("other heads"),
            Unfit::Construct(what) => write!(f, "has {what}"),
            Unfit::Counts => f.write_str("other numbers of statements once taken apart"),
            Unfit::Statements => f.write_str("statements of another form"),
            Unfit::Unseen => f.write_str("an index that no cell shows"),
            Unfit::Line(_) => f.write_str("a line that does not fit"),
        }
    }
}

/// How far the two programs are taken apart before they are related.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Plan {
    /// Whether sums become updates of their cells.
    opened: bool,
    /// Whether nests are taken apart into nests of single statements.
    apart: bool,
}

/// Plans in the order in which they are tried.
const PLANS: [Plan; 3] =
    [Plan { opened: true, apart: true }, Plan { opened: true, apart: false }, Plan { opened: false, apart: false }];

/// Every proposal that fits, the one that takes the programs apart the most first.
///
/// # Errors
/// Why the first of them does not fit, where none does.
pub fn second_proofs(program: &Program, first: &Fun, last: &Fun) -> Result<Vec<Fit>, Unfit> {
    let after = grafted(first, last).ok_or(Unfit::Heads)?;
    if let Some(what) = nests::uncovered(&first.body).or_else(|| nests::uncovered(&after.body)) {
        return Err(Unfit::Construct(what));
    }
    let (mut fits, mut why): (Vec<Fit>, Option<Unfit>) = (Vec::new(), None);
    for plan in PLANS {
        match Making::new(program, first, &after).make(plan) {
            Ok(fit) if fits.iter().all(|f| f.rewrite.recipe != fit.rewrite.recipe) => fits.push(fit),
            Ok(_) => {}
            Err(unfit) => why = why.or(Some(unfit)),
        }
    }
    match why {
        Some(why) if fits.is_empty() => Err(why),
        _ => Ok(fits),
    }
}

/// What a checker that knows nothing of the schedule says of a proposal.
///
/// # Errors
/// The condition that was not proved.
pub fn judge(program: &Program, id: FunId, fit: &Fit) -> Result<StepReport, Box<Failure>> {
    let mut program = program.clone();
    program.funs[id.index()] = fit.before.clone();
    let mut checker = Checker::new(program);
    accept(&mut checker, id);
    checker.accept_step(id, &fit.rewrite, &asked(&fit.before))
}

/// A function and what it calls.
fn accept(checker: &mut Checker, id: FunId) {
    for callee in callees(&checker.program().funs[id.index()]) {
        accept(checker, callee);
    }
    if let Err(failures) = checker.accept_function(id) {
        panic!("the first program is refused: {}", failures[0].diagnostic.message);
    }
}

/// The names of the loops of a function's first nest, outermost first.
pub fn outer_loops(fun: &Fun) -> Vec<String> {
    let nest = fun.body.first().map(nests::perfect);
    nest.map(|n| n.loops.iter().map(|(v, _)| fun.vars[v.index()].name.clone()).collect()).unwrap_or_default()
}

fn asked(fun: &Fun) -> Asked {
    Asked { name: format!("{}_whole", fun.name), step: "whole".into(), span: Span::default(), callers: vec![] }
}

/// A proposal in the making.
struct Making<'a> {
    program: &'a Program,
    before: &'a Fun,
    rewrite: Rewrite,
    maps: usize,
    proofs: Proofs,
}

impl<'a> Making<'a> {
    fn new(program: &'a Program, before: &'a Fun, after: &Fun) -> Making<'a> {
        let whole = |f: &Fun| Site { path: vec![], start: 0, len: f.body.len() };
        let rewrite = Rewrite { from: whole(before), to: whole(after), after: after.clone(), recipe: vec![] };
        Making { program, before, rewrite, maps: 0, proofs: Proofs::default() }
    }

    fn make(mut self, plan: Plan) -> Result<Fit, Unfit> {
        let added = self.rewrite.after.requires.clone();
        for guard in added.into_iter().skip(self.before.requires.len()) {
            self.line(MoveKind::Given(PatGuard::Known(guard)));
        }
        if plan.opened {
            self.open(Side::T)?;
            self.open(Side::S)?;
            self.start_in_first_blocks()?;
        }
        if plan.apart {
            self.take_apart(Side::S)?;
            self.take_apart(Side::T)?;
        }
        self.pair()?;
        // A line may turn out not to fit only now.
        self.sides()?;
        Ok(Fit { before: self.before.clone(), rewrite: self.rewrite, maps: self.maps })
    }

    fn line(&mut self, kind: MoveKind) {
        self.rewrite.recipe.push(Move { kind, span: At::default() });
    }

    fn sides(&self) -> Result<Moved, Unfit> {
        moved(self.program, self.before, &self.rewrite, &asked(self.before))
            .map_err(|f| Unfit::Line(f.diagnostic.message))
    }

    /// Reads every sum that is stored as updates of its cell.
    fn open(&mut self, side: Side) -> Result<(), Unfit> {
        let mut left: Vec<Var> = Vec::new();
        loop {
            let moved = self.sides()?;
            let block = of(&moved, side);
            let Some((var, buffer)) = nests::open_sum(&moved.fun, block, &left) else { return Ok(()) };
            let fold = loop_ref(&moved.fun, block, side, var);
            if !self.prepare(&moved, MoveKind::PerCell { buffer, fold }) {
                // It stays a sum, on this side.
                left.push(var);
            }
        }
    }

    /// Where the last program starts a sum in the first of its blocks, the first program does as well.
    fn start_in_first_blocks(&mut self) -> Result<(), Unfit> {
        let mut done: Vec<Var> = Vec::new();
        loop {
            let moved = self.sides()?;
            let Some(start) = nests::first_block(&moved.t).filter(|f| !done.contains(&f.blocks)) else {
                return Ok(());
            };
            done.push(start.blocks);
            let Some(k) = nests::started_loop(&moved.s, start.buffer) else {
                return Err(Unfit::Statements);
            };
            let of = loop_ref(&moved.fun, &moved.s, Side::S, k);
            let outer = moved.fun.vars[start.blocks.index()].name.clone();
            let buffer = moved.fun.buffers[start.buffer.index()].name.clone();
            let first = LoopRef { side: Side::S, name: outer.clone(), nth: 1, rank: false };
            self.line(MoveKind::Split { of, by: PatIx::Lit(start.size), outer, ragged: start.ragged });
            self.line(MoveKind::First(first));
            self.line(MoveKind::SelfStore(Side::S, buffer));
            for (blocks, size) in start.inner {
                let outer = moved.fun.vars[blocks.index()].name.clone();
                let now = self.sides()?;
                let k = &moved.fun.vars[k.index()].name;
                let inside = nests::binders(&now.s).into_iter().rfind(|v| now.fun.vars[v.index()].name == *k);
                let of = loop_ref(&now.fun, &now.s, Side::S, inside.ok_or(Unfit::Statements)?);
                self.line(MoveKind::Split { of, by: PatIx::Lit(size), outer, ragged: true });
            }
        }
    }

    /// Takes nests apart until each has one statement that does not depend on a name of another.
    fn take_apart(&mut self, side: Side) -> Result<(), Unfit> {
        let mut whole: Vec<(Var, usize)> = Vec::new();
        loop {
            let moved = self.sides()?;
            let block = of(&moved, side);
            let Some((outermost, at)) = nests::seam(block, &whole) else { return Ok(()) };
            let of = loop_ref(&moved.fun, block, side, outermost);
            if !self.prepare(&moved, MoveKind::Distribute { of, at: at as u32 }) {
                // The two parts belong together: one uses what the other leaves from iteration to iteration.
                whole.push((outermost, at));
            }
        }
    }

    /// Adds a line that makes the two sides alike, if what it needs holds: not every nest can be taken apart, and then it
    /// cannot be on the other side.
    fn prepare(&mut self, before: &Moved, kind: MoveKind) -> bool {
        self.line(kind);
        let holds = match self.sides() {
            Ok(after) => after.conditions[before.conditions.len()..]
                .iter()
                .all(|c| matches!(self.proofs.prove(c), Verdict::Proved(_))),
            Err(_) => false,
        };
        if !holds {
            self.rewrite.recipe.pop();
        }
        holds
    }

    /// Puts the loops of the last program's nests around the statements of the first one's, nest by nest.
    fn pair(&mut self) -> Result<(), Unfit> {
        let moved = self.sides()?;
        self.pair_blocks(&moved, &moved.s, &moved.t)
    }

    fn pair_blocks(&mut self, moved: &Moved, s: &[Stmt], t: &[Stmt]) -> Result<(), Unfit> {
        if s.len() != t.len() {
            return Err(Unfit::Counts);
        }
        for (s, t) in s.iter().zip(t) {
            if let (StmtKind::If { then: p, els: q, .. }, StmtKind::If { then: u, els: v, .. }) = (&s.kind, &t.kind) {
                self.pair_blocks(moved, p, u)?;
                self.pair_blocks(moved, q, v)?;
                continue;
            }
            let (s, t) = (nests::perfect(s), nests::perfect(t));
            if s.loops.is_empty() && t.loops.is_empty() {
                continue;
            }
            // Inner nests first: the loops around them are still the first program's own.
            for found in maps::read(&moved.fun, &s, &t)? {
                let map = |m: Vec<(Var, Ix)>| m.into_iter().map(|(v, e)| (MapVar::Known(v), PatIx::Known(e))).collect();
                self.maps += 1;
                self.line(MoveKind::Reorder { by: map(found.by), back: map(found.back) });
            }
        }
        Ok(())
    }
}

fn of(moved: &Moved, side: Side) -> &Block {
    match side {
        Side::S => &moved.s,
        Side::T => &moved.t,
    }
}

/// A loop or sum by its name and its number among those of that name.
fn loop_ref(fun: &Fun, block: &Block, side: Side, var: Var) -> LoopRef {
    let name = fun.vars[var.index()].name.clone();
    let of_name = nests::binders(block).into_iter().filter(|v| fun.vars[v.index()].name == name);
    let nth = of_name.into_iter().position(|v| v == var).map_or(1, |n| n as u32 + 1);
    LoopRef { side, name, nth, rank: false }
}
