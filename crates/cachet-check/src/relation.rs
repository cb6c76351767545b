//! The relation between the program before a step and the program after it: same words in every buffer at the end, for
//! all sizes and all contents.
//!
//! `S` and `T` are the statements that the step replaced and put there; everything else in the two programs is the
//! same, and that is checked first. A recipe's moves turn `S` or `T` into programs that mean the same; each emits the
//! conditions under which it does. At the end the two sides must agree in lockstep. Equivalence is symmetric and
//! transitive, so moves on either side mix freely.
//!
//! Moves and the comparison never ask the prover: they emit conditions, and a failed condition refuses the step.

mod accesses;
mod carry;
mod cell;
mod copy;
mod cut;
mod find;
mod hints;
mod join;
mod lockstep;
mod moves;
mod narrow;
pub(crate) mod needs;
mod order;
mod regroup;
mod relayout;
mod reorder;
mod split;
pub(crate) mod sym;
mod trace;

pub use regroup::UsedLaw;
pub use trace::{Point, TracedMove};

use crate::condition::{Condition, Failure, Kind, RELATION, misfit};
use crate::context::Context;
use crate::events::{Frame, FrameKind, enter};
use cachet_core::ir::{Block, Buffer, Fun, Guard, Ix, MAX_DEPTH, Program, Stmt, StmtKind, Word};
use cachet_core::pattern::{Move, MoveKind, PatGuard, PatIx, Side};
use cachet_core::print::Names;
use cachet_core::rewrite::{Arm, Live, Site, Visit, visit_block, visit_ix, visit_stmt, visit_word};
use cachet_core::script::Rewrite;
use cachet_core::validate::shallow;
use cachet_source::{Diagnostic, Kind as Severity, Span, codes};
use std::collections::BTreeSet;

/// What a relation is called and where it was asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `swapped'1_sloppy`: the program the step starts from and the step.
    pub name: String,
    /// The step's own name.
    pub step: String,
    /// Where the schedule asks for the step.
    pub span: Span,
    /// Calls of schedule functions that lead there, outermost first.
    pub callers: Vec<Span>,
}

/// The two programs and everything that moves and the comparison share.
pub(crate) struct Relation<'a> {
    program: &'a Program,
    asked: &'a Asked,
    /// The ids of both sides; moves add to them.
    fun: Fun,
    /// What is known around the site.
    context: Context,
    conditions: Vec<Condition>,
    /// Conditions on sizes that the moves need, in the form in which they may be required.
    needs: Vec<Guard>,
    /// Laws that the moves rest on.
    laws: Vec<UsedLaw>,
    /// Sizes at which a refused move may be seen to go wrong.
    try_at: Option<Vec<i64>>,
    /// Both programs after each line of the recipe; only where somebody wants to see them.
    trace: Option<Vec<TracedMove>>,
    /// How many times a `case` has parted the two programs.
    cases: usize,
    /// The arrays that the program mentions outside the site.
    outside: BTreeSet<Buffer>,
}

/// The most parts (statements, words and indices) that the two programs may have after a line of a recipe.
const MAX_PARTS: usize = 1 << 20;
/// The most `case` lines that apply, each to one half of the one before.
const MAX_CASES: usize = 256;

/// What a relation needs.
pub struct Needed {
    /// What has to be proved.
    pub conditions: Vec<Condition>,
    /// Conditions on sizes that a step may add to the function's requirements for it.
    pub requirements: Vec<Guard>,
    /// Laws that it rests on. They are proved, or wanted by the interface of a type parameter.
    pub laws: Vec<UsedLaw>,
}

/// The conditions under which the program after a step means what the one before means.
///
/// # Errors
/// A structural misfit: the two programs differ elsewhere, or a line of the recipe does not fit.
pub fn conditions(program: &Program, before: &Fun, rewrite: &Rewrite, asked: &Asked) -> Result<Needed, Box<Failure>> {
    let relation = relate(program, before, rewrite, asked, None)?;
    Ok(Needed { conditions: relation.conditions, requirements: relation.needs, laws: relation.laws })
}

/// Both programs after each line of an accepted step's recipe, for people to read; nothing rests on it. Empty for a
/// step that does not fit.
pub fn trace(program: &Program, before: &Fun, rewrite: &Rewrite, asked: &Asked) -> Vec<TracedMove> {
    relate(program, before, rewrite, asked, Some(Vec::new())).ok().and_then(|r| r.trace).unwrap_or_default()
}

/// Two programs on the way to one another.
pub struct Moved {
    /// The ids of both.
    pub fun: Fun,
    /// `S` after the lines so far.
    pub s: Block,
    /// `T` after them.
    pub t: Block,
    /// What the lines need.
    pub conditions: Vec<Condition>,
}

/// Both programs after the lines of a recipe that is still being made, for whoever makes it; nothing rests on it, and they
/// are not compared.
///
/// # Errors
/// The first line that does not fit; a `case` never does.
pub fn moved(program: &Program, before: &Fun, rewrite: &Rewrite, asked: &Asked) -> Result<Moved, Box<Failure>> {
    let (mut relation, mut s, mut t) = start(program, before, rewrite, asked, None)?;
    for (n, line) in rewrite.recipe.iter().enumerate() {
        let applied = relation.apply(&mut s, &mut t, &line.kind).and_then(|()| relation.bounded(&s, &t));
        applied.map_err(|d| relation.misfit_in_line(n, line, d))?;
    }
    Ok(Moved { fun: relation.fun, s, t, conditions: relation.conditions })
}

fn relate<'a>(
    program: &'a Program,
    before: &Fun,
    rewrite: &Rewrite,
    asked: &'a Asked,
    trace: Option<Vec<TracedMove>>,
) -> Result<Relation<'a>, Box<Failure>> {
    let (mut relation, s, t) = start(program, before, rewrite, asked, trace)?;
    relation.note(|| Point::Start, &s, &t);
    let advice = "without `relate` both programs have to agree line by line: its lines bring them there";
    relation.lines(s, t, &rewrite.recipe).map_err(|mut f| {
        if rewrite.recipe.is_empty() {
            f.diagnostic = f.diagnostic.clone().help(advice);
        }
        f
    })?;
    if rewrite.recipe.is_empty() {
        let counts = relation.conditions.iter_mut().filter(|c| c.kind == Kind::Count);
        counts.for_each(|c| c.helps.push(advice.into()));
    }
    Ok(relation)
}

/// The relation before the first line of its recipe, and its two sides.
fn start<'a>(
    program: &'a Program,
    before: &Fun,
    rewrite: &Rewrite,
    asked: &'a Asked,
    trace: Option<Vec<TracedMove>>,
) -> Result<(Relation<'a>, Block, Block), Box<Failure>> {
    let refuse = |why: &str| {
        let message = format!("relation {}: {why}", asked.name);
        Err(misfit(Kind::Words, Diagnostic::error(codes::RECIPE, asked.span, message)))
    };
    if !same_elsewhere(before, rewrite) {
        return refuse("the step changes more of the program than it says");
    }
    let (Some(s), Some(t)) = (rewrite.from.stmts(before), rewrite.to.stmts(&rewrite.after)) else {
        return refuse("the step names a place that the program does not have");
    };
    // What the step may require is known on both sides: the claim is about sizes that satisfy it.
    let mut required = before.clone();
    required.requires = rewrite.after.requires.clone();
    let Some(context) = context_at(&required, &rewrite.from) else {
        return refuse("the step names a place that the program does not have");
    };
    let (fun, conditions) = (rewrite.after.clone(), Vec::new());
    let (needs, laws, cases) = (Vec::new(), Vec::new(), 0);
    let mut elsewhere = rewrite.after.clone();
    if rewrite.to.replace(&mut elsewhere, Vec::new()).is_none() {
        return refuse("the step names a place that the program does not have");
    }
    let outside = Live::of_block(&elsewhere.body).buffers;
    let outside = outside.into_iter().map(|b| crate::wf::root(&rewrite.after, b)).collect();
    let relation =
        Relation { program, asked, fun, context, conditions, needs, laws, try_at: None, trace, cases, outside };
    let plain = |block: &[Stmt]| moves::grids_as_loops(&moves::leases_as_names(&rewrite.after, block));
    let (s, t) = (plain(s), plain(t));
    Ok((relation, s, t))
}

impl Relation<'_> {
    /// Applies the lines of a recipe and compares what is left.
    fn lines(&mut self, mut s: Block, mut t: Block, recipe: &[Move]) -> Result<(), Box<Failure>> {
        for (n, line) in recipe.iter().enumerate() {
            if let MoveKind::Case { guard, then, els } = &line.kind {
                let guard = self.parted_by(guard).map_err(|d| self.misfit_in_line(n, line, d))?;
                self.note(|| Point::after(&line.kind), &s, &t);
                return self.case((s, t), &guard, (then, els), &recipe[n + 1..]);
            }
            let applied = self.apply(&mut s, &mut t, &line.kind);
            // What follows recurses with the statements.
            let applied = applied.and_then(|()| self.bounded(&s, &t));
            applied.map_err(|d| self.misfit_in_line(n, line, d))?;
            self.note(|| Point::after(&line.kind), &s, &t);
        }
        self.lockstep(&s, &t).map_err(|d| misfit(Kind::Words, d))?;
        self.note(|| Point::Compared, &s, &t);
        Ok(())
    }

    /// That both programs are small enough for what follows.
    fn bounded(&self, s: &Block, t: &Block) -> Result<(), Diagnostic> {
        if !(shallow(s) && shallow(t)) {
            return Err(self.misfit(format!("the programs nest deeper than {MAX_DEPTH} after it")));
        }
        if parts(s).saturating_add(parts(t)) > MAX_PARTS {
            return Err(self.misfit(format!("the programs have more than {MAX_PARTS} parts after it")));
        }
        Ok(())
    }

    /// A line that does not fit, named by its number.
    fn misfit_in_line(&self, n: usize, line: &Move, d: Diagnostic) -> Box<Failure> {
        let asked = self.asked;
        // What is said of laws is said of the step, whose line it is.
        let of_laws = d.code == codes::REGROUP || d.kind == Severity::NotBuilt;
        if of_laws {
            let mut d = d;
            for caller in asked.callers.iter().rev() {
                d = d.also(*caller, "called from here");
            }
            if line.span.0.lo != line.span.0.hi && line.span.0 != asked.span {
                d = d.also(line.span.0, format!("line {} of the recipe of `{}`", n + 1, asked.step));
            }
            let sizes = self.try_at.clone().filter(|_| d.kind != Severity::NotBuilt);
            return Box::new(Failure { kind: Kind::Law, diagnostic: d, sizes });
        }
        let message = format!("relate line {} of {}: {}", n + 1, asked.step, d.message);
        let mut d = Diagnostic { message, ..d };
        d.labels.retain(|l| l.span.lo != l.span.hi);
        d = d.at(line.span.0, "");
        if asked.span.lo != asked.span.hi {
            d = d.also(asked.span, format!("`{}` is asked for here", asked.step));
        }
        for caller in asked.callers.iter().rev() {
            d = d.also(*caller, "called from here");
        }
        misfit(Kind::Words, d.note(format!("relation {} was not established", asked.name)))
    }

    /// The condition of one more `case`: about what is known at the site.
    fn parted_by(&mut self, guard: &PatGuard) -> Result<Guard, Diagnostic> {
        let PatGuard::Known(guard) = guard else {
            return Err(self.misfit("the condition of `case` is not one of the program"));
        };
        self.known_guard(&self.context, guard)?;
        self.cases += 1;
        if self.cases > MAX_CASES {
            return Err(self.misfit(format!("the recipe's `case` lines make more than {MAX_CASES} cases together")));
        }
        Ok(guard.clone())
    }

    /// Both programs are choices between two copies of themselves; in each the guard is decided.
    fn case(
        &mut self,
        (s, t): (Block, Block),
        guard: &Guard,
        (then, els): (&[Move], &[Move]),
        rest: &[Move],
    ) -> Result<(), Box<Failure>> {
        let outside = self.context.clone();
        for (holds, lines) in [(true, then), (false, els)] {
            let known = if holds { guard.clone() } else { Guard::Not(Box::new(guard.clone())) };
            self.context.assume(&known);
            let lines: Vec<Move> = lines.iter().chain(rest).cloned().collect();
            // A side that already is that choice is the branch that runs.
            let arm = |side: &Block| match side.as_slice() {
                [Stmt { kind: StmtKind::If { guard: g, then, els }, .. }] if g == guard => {
                    if holds {
                        then.clone()
                    } else {
                        els.clone()
                    }
                }
                _ => side.clone(),
            };
            self.lines(arm(&s), arm(&t), &lines)?;
            self.context = outside.clone();
        }
        Ok(())
    }

    fn apply(&mut self, s: &mut Block, t: &mut Block, kind: &MoveKind) -> Result<(), Diagnostic> {
        let side = match kind {
            MoveKind::PerCell { fold: l, .. }
            | MoveKind::Interchange(l)
            | MoveKind::Distribute { of: l, .. }
            | MoveKind::Fuse(l, _)
            | MoveKind::Split { of: l, .. }
            | MoveKind::First(l)
            | MoveKind::Regroup { of: l, .. }
            | MoveKind::Cut { of: l, .. }
            | MoveKind::Cover { of: l, .. }
            | MoveKind::Widen { of: l, .. }
            | MoveKind::Join(l, _)
            | MoveKind::Unroll(l) => l.side,
            MoveKind::Relayout { side, .. }
            | MoveKind::Carry { side, .. }
            | MoveKind::Narrow { side, .. }
            | MoveKind::Lanes(side, _) => *side,
            MoveKind::SelfStore(side, _) | MoveKind::Copy(side, _) | MoveKind::Unfold(side, _) => *side,
            MoveKind::Order(loops) => loops.first().map_or(Side::S, |l| l.side),
            MoveKind::Reorder { by, back } => return self.reorder(s, t, by, back),
            MoveKind::Given(guard) => return self.given(guard),
            MoveKind::Case { .. } => return Err(self.misfit("`case` stands inside another line")),
        };
        let (block, other) = match side {
            Side::S => (s, t),
            Side::T => (t, s),
        };
        match kind {
            MoveKind::PerCell { buffer, fold } => self.per_cell(block, buffer, fold),
            MoveKind::Interchange(l) => self.interchange(block, l),
            MoveKind::Order(loops) => self.order(block, loops),
            MoveKind::Distribute { of, at } => self.distribute(block, of, *at as usize),
            MoveKind::Fuse(a, b) => self.fuse(block, a, b),
            MoveKind::Split { of, by: PatIx::Lit(n) | PatIx::Known(Ix::Lit(n)), outer, ragged } => {
                self.split(block, of, *n, outer, *ragged)
            }
            MoveKind::Split { .. } => Err(self.misfit("the size of a block is not a number")),
            MoveKind::First(l) => self.first(block, l),
            MoveKind::SelfStore(side, buffer) => self.selfstore(block, *side, buffer),
            MoveKind::Copy(side, buffer) => self.copy(block, *side, buffer, other),
            MoveKind::Cut { of, at } => self.cut_loop(block, of, at),
            MoveKind::Cover { of, by, outer, count } => self.cover(block, of, *by, outer, count),
            MoveKind::Widen { of, to } => self.widen(block, of, to),
            MoveKind::Relayout { side, local, name, dims, axes, cell } => {
                self.relayout(block, (*side, local), (name, dims), axes, cell)
            }
            MoveKind::Join(outer, inner) => self.join(block, outer, inner),
            MoveKind::Carry { side, local, buffer } => self.carry(block, *side, local, buffer),
            MoveKind::Narrow { side, local, axis, to } => self.narrow(block, (*side, local), *axis, to),
            MoveKind::Lanes(side, names) => self.lanes(block, *side, names),
            MoveKind::Unroll(l) => self.unroll(block, l),
            MoveKind::Unfold(side, name) => self.unfold(block, *side, name),
            MoveKind::Regroup { of, op, by } => self.regroup(block, of, op, *by),
            MoveKind::Reorder { .. } | MoveKind::Given(_) | MoveKind::Case { .. } => Ok(()),
        }
    }

    fn names(&self) -> Names<'_> {
        Names::of(self.program, &self.fun)
    }

    /// That indices of a recipe name only what is known at a place: what nothing binds there has no value.
    fn known<'i>(&self, cx: &Context, of: impl IntoIterator<Item = &'i Ix>) -> Result<(), Diagnostic> {
        let mut live = Live::default();
        of.into_iter().for_each(|i| live.ix(i));
        match live.vars.into_iter().find(|v| cx.counter(*v).is_none()) {
            None => Ok(()),
            Some(v) => {
                let name = self.fun.vars.get(v.index()).map_or("?", |info| &info.name);
                Err(self.misfit(format!("`{name}` is not known there")))
            }
        }
    }

    /// As [`Relation::known`], of a guard.
    fn known_guard(&self, cx: &Context, guard: &Guard) -> Result<(), Diagnostic> {
        self.known(cx, [&Ix::If(Box::new(guard.clone()), Box::new(Ix::Lit(0)), Box::new(Ix::Lit(0)))])
    }

    /// A refusal because the shape does not fit. The caller says which line it was.
    fn misfit(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, codes::RECIPE, message)
    }

    fn emit(
        &mut self,
        kind: Kind,
        cx: &Context,
        goal: crate::formula::Formula,
        what: &str,
        notes: &[String],
        places: &[(Span, String)],
    ) {
        let claim = format!("relation {}: {what}", self.asked.name);
        self.emit_claim(kind, cx, goal, claim, notes, places);
    }

    /// What an exact split needs of a length. It is said as such: the length is the user's, not the relation's.
    fn emit_multiple(&mut self, cx: &Context, goal: crate::formula::Formula, what: &str) {
        let note = format!("relation {} needs it", self.asked.name);
        self.emit_claim(Kind::Multiple, cx, goal, what.to_string(), &[note], &[]);
        if let Some(c) = self.conditions.last_mut() {
            let help = match self.asked.step.as_str() {
                "outer_products" => "split the loop into whole blocks before, without `ragged`",
                _ => "with `ragged` the last block may be shorter",
            };
            c.helps.push(help.into());
        }
    }

    fn emit_claim(
        &mut self,
        kind: Kind,
        cx: &Context,
        goal: crate::formula::Formula,
        claim: String,
        notes: &[String],
        places: &[(Span, String)],
    ) {
        let mut c = Condition::new(kind, RELATION, cx, goal, claim).at(self.asked.span, "");
        for caller in self.asked.callers.iter().rev() {
            c = c.at(*caller, "called from here");
        }
        for (span, text) in places {
            // Statements that a step made may have no place of their own.
            if span.lo != span.hi && *span != self.asked.span {
                c = c.at(*span, text.clone());
            }
        }
        c.notes.push(format!("S is the program before `{0}`, T the one after it", self.asked.step));
        c.notes.extend(notes.iter().cloned());
        self.conditions.push(c);
    }
}

/// How many statements, words and indices a block has.
fn parts(block: &[Stmt]) -> usize {
    struct Parts(usize);
    impl Visit for Parts {
        fn stmt(&mut self, stmt: &Stmt) {
            self.0 += 1;
            visit_stmt(self, stmt);
        }
        fn word(&mut self, word: &Word) {
            self.0 += 1;
            visit_word(self, word);
        }
        fn ix(&mut self, ix: &Ix) {
            self.0 += 1;
            visit_ix(self, ix);
        }
    }
    let mut parts = Parts(0);
    visit_block(&mut parts, block);
    parts.0
}

/// The two programs agree in everything but the site: the ids that the first knows mean the same in both, and putting
/// `T` in `S`'s place in the first gives the second.
fn same_elsewhere(before: &Fun, rewrite: &Rewrite) -> bool {
    let after = &rewrite.after;
    if !same_head(before, after) {
        return false;
    }
    let Some(t) = rewrite.to.stmts(after) else { return false };
    let mut replayed = before.clone();
    replayed.requires = after.requires.clone();
    match rewrite.from.replace(&mut replayed, t.to_vec()) {
        Some(site) => site == rewrite.to && replayed.body == after.body,
        None => false,
    }
}

/// The second function is the first but for its body, more ids and more requirements.
pub(crate) fn same_head(before: &Fun, after: &Fun) -> bool {
    after.vars.starts_with(&before.vars)
        && after.locals.starts_with(&before.locals)
        && after.buffers.starts_with(&before.buffers)
        && after.sizes == before.sizes
        && after.params == before.params
        && after.requires.starts_with(&before.requires)
        && after.produces == before.produces
        && after.scratch == before.scratch
        && after.type_params == before.type_params
        && after.algebras == before.algebras
        && after.name == before.name
}

/// What is known at a site.
pub(crate) fn context_at(fun: &Fun, site: &Site) -> Option<Context> {
    let mut cx = Context::entry(fun);
    for (stmt, arm) in site.enclosing(fun)? {
        let frames: Vec<FrameKind> = match (&stmt.kind, arm) {
            (StmtKind::For { var, domain, .. }, _) => vec![FrameKind::Loop(*var, domain.clone())],
            (StmtKind::Grid(g), _) => g.axes.iter().map(|(v, d)| FrameKind::Loop(*v, d.clone())).collect(),
            (StmtKind::If { guard, .. }, Arm::First) => vec![FrameKind::Guard(guard.clone(), true)],
            (StmtKind::If { guard, .. }, Arm::Else) => {
                vec![FrameKind::Guard(Guard::Not(Box::new(guard.clone())), true)]
            }
            _ => return None,
        };
        for kind in frames {
            enter(fun, &mut cx, &Frame { depth: 0, kind });
        }
    }
    Some(cx)
}
