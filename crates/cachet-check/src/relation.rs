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
mod cell;
mod find;
mod lockstep;
mod reorder;
pub(crate) mod sym;
mod trace;

pub use trace::{Point, TracedMove};

use crate::condition::{Condition, Failure, Kind, RELATION, misfit};
use crate::context::Context;
use crate::events::{Frame, FrameKind, enter};
use cachet_core::ir::{Block, Fun, Guard, Program, StmtKind};
use cachet_core::pattern::{MoveKind, Side};
use cachet_core::print::Names;
use cachet_core::rewrite::{Arm, Site};
use cachet_core::script::Rewrite;
use cachet_source::{Diagnostic, Kind as Severity, Span, codes};

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
    /// Both programs after each line of the recipe; only where somebody wants to see them.
    trace: Option<Vec<TracedMove>>,
}

/// The conditions under which the program after a step means what the one before means.
///
/// # Errors
/// A structural misfit: the two programs differ elsewhere, or a line of the recipe does not fit.
pub fn conditions(
    program: &Program,
    before: &Fun,
    rewrite: &Rewrite,
    asked: &Asked,
) -> Result<Vec<Condition>, Box<Failure>> {
    relate(program, before, rewrite, asked, None).map(|r| r.conditions)
}

/// Both programs after each line of an accepted step's recipe, for people to read; nothing rests on it. Empty for a
/// step that does not fit.
pub fn trace(program: &Program, before: &Fun, rewrite: &Rewrite, asked: &Asked) -> Vec<TracedMove> {
    relate(program, before, rewrite, asked, Some(Vec::new())).ok().and_then(|r| r.trace).unwrap_or_default()
}

fn relate<'a>(
    program: &'a Program,
    before: &Fun,
    rewrite: &Rewrite,
    asked: &'a Asked,
    trace: Option<Vec<TracedMove>>,
) -> Result<Relation<'a>, Box<Failure>> {
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
    let Some(context) = context_at(before, &rewrite.from) else {
        return refuse("the step names a place that the program does not have");
    };
    let mut relation = Relation { program, asked, fun: rewrite.after.clone(), context, conditions: Vec::new(), trace };
    let (mut s, mut t): (Block, Block) = (s.to_vec(), t.to_vec());
    relation.note(|| Point::Start, &s, &t);
    for (line, step) in rewrite.recipe.iter().enumerate() {
        relation.apply(&mut s, &mut t, &step.kind).map_err(|d| {
            let message = format!("relate line {} of {}: {}", line + 1, asked.step, d.message);
            let mut d = Diagnostic { message, ..d };
            d.labels.retain(|l| l.span.lo != l.span.hi);
            d = d.at(step.span.0, "");
            if asked.span.lo != asked.span.hi {
                d = d.also(asked.span, format!("`{}` is asked for here", asked.step));
            }
            misfit(Kind::Words, d.note(format!("relation {} was not established", asked.name)))
        })?;
        relation.note(|| Point::after(&step.kind), &s, &t);
    }
    relation.lockstep(&s, &t).map_err(|d| misfit(Kind::Words, d))?;
    relation.note(|| Point::Compared, &s, &t);
    Ok(relation)
}

impl Relation<'_> {
    fn apply(&mut self, s: &mut Block, t: &mut Block, kind: &MoveKind) -> Result<(), Diagnostic> {
        let side = match kind {
            MoveKind::PerCell { fold, .. } => fold.side,
            MoveKind::Interchange(l) => l.side,
            MoveKind::Distribute { of, .. } => of.side,
            MoveKind::Fuse(a, _) => a.side,
        };
        let block = match side {
            Side::S => s,
            Side::T => t,
        };
        match kind {
            MoveKind::PerCell { buffer, fold } => self.per_cell(block, buffer, fold),
            MoveKind::Interchange(l) => self.interchange(block, l),
            MoveKind::Distribute { of, at } => self.distribute(block, of, *at as usize),
            MoveKind::Fuse(a, b) => self.fuse(block, a, b),
        }
    }

    fn names(&self) -> Names<'_> {
        Names::of(self.program, &self.fun)
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

/// The two programs agree in everything but the site: the ids that the first knows mean the same in both, and putting
/// `T` in `S`'s place in the first gives the second.
fn same_elsewhere(before: &Fun, rewrite: &Rewrite) -> bool {
    let after = &rewrite.after;
    let tables = after.vars.starts_with(&before.vars)
        && after.locals.starts_with(&before.locals)
        && after.buffers.starts_with(&before.buffers)
        && after.sizes == before.sizes
        && after.params == before.params
        && after.requires == before.requires
        && after.produces == before.produces
        && after.scratch == before.scratch
        && after.type_params == before.type_params
        && after.name == before.name;
    if !tables {
        return false;
    }
    let Some(t) = rewrite.to.stmts(after) else { return false };
    let mut replayed = before.clone();
    match rewrite.from.replace(&mut replayed, t.to_vec()) {
        Some(site) => site == rewrite.to && replayed.body == after.body,
        None => false,
    }
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
