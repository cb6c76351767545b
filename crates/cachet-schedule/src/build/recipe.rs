//! The recipe in the programs' names.

use crate::capture::{Arg, Args, Bound, Capture, Held};
use crate::{loops, refusal, tidy};
use cachet_core::ir::{Fun, Guard, Ix, Var};
use cachet_core::pattern::{LoopRef, MapVar, Move, MoveKind, PatGuard, PatIx, Side, StepDef};
use cachet_core::rewrite::Site;
use cachet_core::script::StepCall;
use cachet_source::Diagnostic;

/// One side: its program, what the pattern's names are there, and the place.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// The program.
    pub fun: &'a Fun,
    /// The loops by the pattern's names.
    pub bound: &'a [Bound],
    /// The place.
    pub site: &'a Site,
}

/// A step's recipe for one use of it. A loop that the pattern names is found by what it became, so two names of a
/// pattern whose loops have one name in the program stay apart by number.
pub fn translate(
    step: &StepDef,
    args: &Args,
    capture: &Capture,
    s: &Sight<'_>,
    t: (&Fun, &[Bound], &Site),
    call: &StepCall,
) -> Result<Vec<Move>, Diagnostic> {
    let t = Sight { fun: t.0, bound: t.1, site: t.2 };
    let words = Words { step, args, capture, s: *s, t, call };
    words.lines(&step.recipe)
}

struct Words<'a> {
    step: &'a StepDef,
    args: &'a Args,
    capture: &'a Capture,
    s: Sight<'a>,
    t: Sight<'a>,
    call: &'a StepCall,
}

impl Words<'_> {
    fn lines(&self, recipe: &[Move]) -> Result<Vec<Move>, Diagnostic> {
        recipe.iter().map(|m| Ok(Move { kind: self.line(&m.kind)?, span: m.span })).collect()
    }

    fn line(&self, kind: &MoveKind) -> Result<MoveKind, Diagnostic> {
        Ok(match kind {
            MoveKind::PerCell { buffer, fold } => {
                MoveKind::PerCell { buffer: self.buffer(buffer), fold: self.loop_ref(fold) }
            }
            MoveKind::Interchange(l) => MoveKind::Interchange(self.loop_ref(l)),
            MoveKind::Order(all) => MoveKind::Order(all.iter().flat_map(|l| self.loop_refs(l)).collect()),
            MoveKind::Distribute { of, at } => MoveKind::Distribute { of: self.loop_ref(of), at: *at },
            MoveKind::Fuse(a, b) => MoveKind::Fuse(self.loop_ref(a), self.loop_ref(b)),
            MoveKind::Split { of, by, outer, ragged } => {
                let by = match self.ix(by, Side::S)? {
                    Ix::Lit(n) => PatIx::Lit(n),
                    _ => return Err(refusal::unbuildable(self.step, "the size of a block is not a number", self.call)),
                };
                MoveKind::Split { of: self.loop_ref(of), by, outer: self.new_name(outer), ragged: *ragged }
            }
            MoveKind::Reorder { by, back } => {
                MoveKind::Reorder { by: self.map(by, Side::S)?, back: self.map(back, Side::T)? }
            }
            MoveKind::First(l) => MoveKind::First(self.loop_ref(l)),
            MoveKind::SelfStore(side, b) => MoveKind::SelfStore(*side, self.buffer(b)),
            MoveKind::Copy(side, b) => MoveKind::Copy(*side, self.buffer(b)),
            MoveKind::Cut { of, at } => {
                MoveKind::Cut { of: self.loop_ref(of), at: PatIx::Known(self.ix(at, of.side)?) }
            }
            // Only steps that are written in Rust make these, with what they know of the program.
            MoveKind::Cover { .. } | MoveKind::Widen { .. } | MoveKind::Relayout { .. } => kind.clone(),
            MoveKind::Join(a, b) => MoveKind::Join(self.loop_ref(a), self.loop_ref(b)),
            MoveKind::Carry { side, local, buffer } => {
                MoveKind::Carry { side: *side, local: self.local(local, *side), buffer: self.buffer(buffer) }
            }
            MoveKind::Narrow { side, local, axis, to } => MoveKind::Narrow {
                side: *side,
                local: self.local(local, *side),
                axis: *axis,
                to: PatIx::Known(self.ix(to, *side)?),
            },
            MoveKind::Lanes(side, names) => MoveKind::Lanes(*side, names.clone()),
            MoveKind::Unroll(l) => MoveKind::Unroll(self.loop_ref(l)),
            MoveKind::Unfold(side, name) => MoveKind::Unfold(*side, name.clone()),
            MoveKind::Regroup { of, op, by } => MoveKind::Regroup { of: self.loop_ref(of), op: op.clone(), by: *by },
            MoveKind::Case { guard, then, els } => MoveKind::Case {
                guard: PatGuard::Known(self.guard(guard)?),
                then: self.lines(then)?,
                els: self.lines(els)?,
            },
            MoveKind::Given(g) => MoveKind::Given(PatGuard::Known(self.guard(g)?)),
        })
    }

    fn buffer(&self, name: &String) -> String {
        match self.args.get(name) {
            Some(Arg::Buffer(b)) => self.s.fun.buffers[b.index()].name.clone(),
            _ => name.clone(),
        }
    }

    /// A local: one that the pattern matched, or one that the step declares.
    fn local(&self, name: &str, side: Side) -> String {
        let sight = if side == Side::S { self.s } else { self.t };
        match self.capture.held.get(name) {
            Some(Held::Name(l)) => sight.fun.locals[l.index()].name.clone(),
            _ => name.trim_start_matches('$').to_string(),
        }
    }

    fn new_name(&self, name: &str) -> String {
        match self.args.get(name) {
            Some(Arg::New(actual) | Arg::Loop(actual, _)) => actual.clone(),
            _ => name.to_string(),
        }
    }

    fn loop_ref(&self, l: &LoopRef) -> LoopRef {
        let found = match l.side {
            Side::S => of_side(l, self.s),
            // A loop of `from` that `to` only has inside a hole is known by the name it had.
            Side::T => of_side(l, self.t).or_else(|| of_side(l, self.s)),
        };
        // What is in neither program is made by an earlier line.
        found.unwrap_or_else(|| LoopRef { name: self.new_name(&l.name), ..l.clone() })
    }

    /// The loops of a rank hole, or the one loop.
    fn loop_refs(&self, l: &LoopRef) -> Vec<LoopRef> {
        let sight = if l.side == Side::S { self.s } else { self.t };
        let rank = sight.bound.iter().find(|b| b.name == l.name && b.vars.len() > 1);
        match rank {
            Some(b) => b
                .vars
                .iter()
                .map(|v| LoopRef { name: sight.fun.vars[v.index()].name.clone(), nth: 1, ..l.clone() })
                .collect(),
            None => vec![self.loop_ref(l)],
        }
    }

    /// The loops of one side in terms of the other's.
    fn map(&self, map: &[(MapVar, PatIx)], of: Side) -> Result<Vec<(MapVar, PatIx)>, Diagnostic> {
        let other = if of == Side::S { Side::T } else { Side::S };
        map.iter()
            .map(|(v, e)| {
                let var = match v {
                    MapVar::Known(v) => *v,
                    MapVar::Named(name) => self.var(name, of)?,
                };
                Ok((MapVar::Known(var), PatIx::Known(self.ix(e, other)?)))
            })
            .collect()
    }

    fn var(&self, name: &str, side: Side) -> Result<Var, Diagnostic> {
        let sight = if side == Side::S { self.s } else { self.t };
        let bound = sight.bound.iter().find(|b| b.name == name).and_then(|b| b.vars.first().copied());
        bound.ok_or_else(|| {
            let text = format!("its recipe names `{name}`, which is no loop of {side}");
            refusal::unbuildable(self.step, &text, self.call)
        })
    }

    /// An index in the names of one side.
    fn ix(&self, e: &PatIx, side: Side) -> Result<Ix, Diagnostic> {
        let two = |a: &PatIx, b: &PatIx| Ok::<_, Diagnostic>((self.ix(a, side)?, self.ix(b, side)?));
        let boxed = |(a, b): (Ix, Ix)| (Box::new(a), Box::new(b));
        let no = |what: &str| refusal::unbuildable(self.step, what, self.call);
        let divisor = |b: Ix| match b {
            Ix::Lit(n) if n > 0 => Ok(n),
            _ => Err(no("a divisor has to be a number above 0")),
        };
        Ok(match e {
            PatIx::Hole(name) => match self.capture.held.get(name) {
                Some(Held::Ix(i)) => tidy::ix(i),
                _ => return Err(refusal::unbound(self.step, name, self.call)),
            },
            PatIx::Name(name) => match self.args.get(name) {
                Some(Arg::Size(n)) => Ix::Lit(*n),
                _ => Ix::Var(self.var(name, side)?),
            },
            PatIx::Lit(n) => Ix::Lit(*n),
            PatIx::Add(a, b) => two(a, b).map(|(a, b)| tidy::add(a, b))?,
            PatIx::Sub(a, b) => two(a, b).map(|(a, b)| tidy::sub(a, b))?,
            PatIx::Mul(a, b) => match two(a, b)? {
                (Ix::Lit(n), x) | (x, Ix::Lit(n)) => tidy::mul(n, x),
                _ => return Err(no("a product needs a number on one side")),
            },
            PatIx::Div(a, b) => {
                let (a, n) = (self.ix(a, side)?, divisor(self.ix(b, side)?)?);
                Ix::Div(Box::new(a), n)
            }
            PatIx::Mod(a, b) => {
                let (a, n) = (self.ix(a, side)?, divisor(self.ix(b, side)?)?);
                Ix::Mod(Box::new(a), n)
            }
            PatIx::Min(a, b) => {
                let (a, b) = boxed(two(a, b)?);
                Ix::Min(a, b)
            }
            PatIx::Max(a, b) => {
                let (a, b) = boxed(two(a, b)?);
                Ix::Max(a, b)
            }
            PatIx::Part(name, part) => Ix::Block(self.var(name, side)?, *part),
            PatIx::InBlock(name, e) => Ix::InBlock(self.var(name, side)?, Box::new(self.ix(e, side)?)),
            PatIx::Known(i) => i.clone(),
        })
    }

    fn guard(&self, g: &PatGuard) -> Result<Guard, Diagnostic> {
        Ok(match g {
            PatGuard::Cmp(r, a, b) => Guard::Cmp(*r, self.ix(a, Side::S)?, self.ix(b, Side::S)?),
            PatGuard::And(a, b) => Guard::And(Box::new(self.guard(a)?), Box::new(self.guard(b)?)),
            PatGuard::Or(a, b) => Guard::Or(Box::new(self.guard(a)?), Box::new(self.guard(b)?)),
            PatGuard::Not(a) => Guard::Not(Box::new(self.guard(a)?)),
            PatGuard::Known(g) => g.clone(),
        })
    }
}

fn of_side(l: &LoopRef, Sight { fun, bound, site }: Sight<'_>) -> Option<LoopRef> {
    let named: Vec<Var> = bound.iter().filter(|b| b.name == l.name).filter_map(|b| b.vars.first().copied()).collect();
    // Numbers beyond the pattern's own loops are of those that earlier lines of the recipe make.
    let (var, beyond) = match named.get(l.nth.max(1) as usize - 1) {
        Some(v) => (*v, 0),
        None => (*named.last()?, l.nth - named.len() as u32),
    };
    let number = loops::number(fun, &loops::of(site.stmts(fun)?), var)?;
    let name = fun.vars[var.index()].name.clone();
    Some(LoopRef { side: l.side, name, nth: number + beyond, rank: false })
}
