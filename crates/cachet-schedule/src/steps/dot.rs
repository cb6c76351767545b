//! `dot_products k c f`: a tile in registers adds several terms of its sum at once, by an instruction.
//!
//! What `registers` made adds one term to a row of the tile. The body of an instruction that adds so many terms to each lane,
//! one after another, is read off: which lanes of its operands each term takes, and in which order. The loop over the sum's
//! index becomes one over groups of terms, in which the operands are vectors that hold a group's words as the instruction
//! wants them, and a loop over the terms that are left, which are added as before. So the totals are added in the same order,
//! and nothing is asked of the number of terms.

mod group;
mod reading;
mod recipe;
mod statements;

use self::reading::{Reading, reading};
use super::tile::{Tile, tiles};
use super::{Named, names};
use crate::refusal;
use cachet_core::ir::{Fun, Ix, Local, LocalInfo, Program, StmtKind, Var, VarKind};
use cachet_core::linear::difference;
use cachet_core::script::{DotCall, Rewrite, StepCall};
use cachet_source::{Diagnostic, Span, codes};

/// A tile in the making.
struct Grouped<'a> {
    tile: Tile<'a>,
    after: Fun,
    reading: Reading<'a>,
    /// The tile, a part of a row in each vector.
    blocks: Local,
    /// Vectors that the recipe undoes, innermost first.
    copies: Vec<String>,
    /// The loop over groups.
    groups: Var,
}

/// Adds several terms at once.
pub fn apply(program: &Program, fun: &Fun, call: &StepCall, dot: &DotCall) -> Result<Rewrite, Diagnostic> {
    let named = names(&[dot.sum.clone(), dot.into.clone()], call)?;
    let [sum, into] = named.as_slice() else {
        return Err(refused(call.span, "`dot_products` names a loop and an array".into(), call));
    };
    let tile = tile(fun, sum, into, call)?;
    let reading = reading(program, fun, &tile, dot, call)?;
    let mut after = fun.clone();
    let (rows, parts) = (tile.size.0, tile.size.1 / reading.instr.lanes);
    let info = &fun.locals[tile.acc.index()];
    let name = after.fresh_name("blocks");
    let dims = vec![rows * parts, reading.instr.lanes];
    let blocks = after.add_local(LocalInfo { name, ty: info.ty.clone(), dims, vector: true, mutable: true });
    let groups = after.fresh_name(&format!("{}_group", sum.name));
    let groups = after.add_var(groups, VarKind::Index);
    let mut made = Grouped { tile, after, reading, blocks, copies: Vec::new(), groups };
    let block = made.block(call)?;
    let recipe = made.recipe(sum, call);
    let from = made.tile.site.clone();
    let mut after = made.after;
    match from.replace(&mut after, block) {
        Some(to) => Ok(Rewrite { after, from, to, recipe }),
        None => Err(refused(sum.span, "the tile is gone".into(), call)),
    }
}

fn refused(span: Span, message: String, call: &StepCall) -> Diagnostic {
    refusal::with_callers(Diagnostic::error(codes::STEP_ARGUMENT, span, message), call)
}

/// The tile whose sum a loop counts and that is stored to an array.
fn tile<'f>(fun: &'f Fun, sum: &Named, into: &Named, call: &StepCall) -> Result<Tile<'f>, Diagnostic> {
    let mut found = Vec::new();
    tiles(fun, &fun.body, &mut Vec::new(), &mut found);
    let stores = |t: &Tile<'_>| match t.back.stmt {
        StmtKind::Store { to, .. } => fun.buffers[to.buffer.index()].name == into.name,
        _ => false,
    };
    found.retain(|t| fun.vars[t.sum.0.index()].name == sum.name && stores(t));
    match (found.len(), sum.nth) {
        (1, _) => Ok(found.remove(0)),
        (n, Some(nth)) if (1..=n).contains(&(nth as usize)) => Ok(found.remove(nth as usize - 1)),
        (0, _) | (_, Some(_)) => {
            let message = format!("no tile of `{}` whose sum is over `{}` is held in registers", into.name, sum.name);
            let d = refused(sum.span, message, call);
            Err(d.help("`dot_products` comes after `registers`, to whose tile it adds several terms at once"))
        }
        (n, None) => {
            let message = format!("{n} tiles of `{}` with sums over `{}` are held in registers", into.name, sum.name);
            Err(refused(sum.span, message, call).help(format!("say which: `{}#2`", sum.name)))
        }
    }
}

impl Grouped<'_> {
    /// How many vectors a row has.
    fn parts(&self) -> i64 {
        self.tile.size.1 / self.reading.instr.lanes
    }

    /// How many whole groups of terms there are.
    fn many(&self, lo: &Ix, hi: &Ix) -> Ix {
        Ix::Div(Box::new(difference(hi, lo)), self.reading.group)
    }

    /// Whether terms may be left over.
    fn leaves_terms(&self, lo: &Ix, hi: &Ix) -> bool {
        let group = self.reading.group;
        group != 1 && !matches!(difference(hi, lo), Ix::Lit(n) if n % group == 0)
    }

    /// Where the terms begin that are left.
    fn rest(&self, lo: &Ix, hi: &Ix) -> Ix {
        plus(lo.clone(), Ix::Mul(self.reading.group, Box::new(self.many(lo, hi))))
    }
}

fn times(n: i64, ix: &Ix) -> Ix {
    match ix {
        Ix::Lit(m) => Ix::Lit(n * m),
        ix if n == 1 => ix.clone(),
        ix => Ix::Mul(n, Box::new(ix.clone())),
    }
}

fn plus(a: Ix, b: Ix) -> Ix {
    match (a, b) {
        (Ix::Lit(0), ix) | (ix, Ix::Lit(0)) => ix,
        (a, b) => Ix::Add(Box::new(a), Box::new(b)),
    }
}

fn minus(a: Ix, b: Ix) -> Ix {
    if b == Ix::Lit(0) { a } else { Ix::Sub(Box::new(a), Box::new(b)) }
}
