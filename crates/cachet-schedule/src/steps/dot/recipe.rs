//! How are the tile and its groups of terms related?

use super::{Grouped, plus};
use crate::steps::Named;
use crate::steps::tile::Nest;
use cachet_core::ir::{At, Domain, Ix, Local, VarKind};
use cachet_core::pattern::{LoopRef, Move, MoveKind, PatIx, Side};
use cachet_core::script::StepCall;

impl Grouped<'_> {
    /// `T`'s vectors are undone and its cells named as `S`'s; `S`'s terms are taken in groups, those of each cell together, and
    /// its rows in vectors.
    pub(super) fn recipe(&mut self, sum: &Named, call: &StepCall) -> Vec<Move> {
        let (lo, hi) = match self.tile.sum.1 {
            Domain::Range { lo, hi } | Domain::Blocks { lo, hi, .. } => (lo.clone(), hi.clone()),
        };
        let left = self.leaves_terms(&lo, &hi);
        let mut lines = self.undone(left);
        if left {
            let at = PatIx::Known(self.rest(&lo, &hi));
            lines.push(MoveKind::Cut { of: of_s(&sum.name, 1), at });
        }
        if self.reading.group != 1 {
            lines.extend(self.taken_together(sum));
        }
        if self.parts() != 1 {
            let (blocks, acc) = (self.name(self.blocks), self.name(self.tile.acc));
            let relayout = self.renamed(blocks, acc);
            lines.push(relayout);
            lines.extend(self.in_parts(left));
        }
        lines.into_iter().map(|kind| Move { kind, span: At(call.span) }).collect()
    }

    fn name(&self, local: Local) -> String {
        self.after.locals[local.index()].name.clone()
    }

    fn lanes_of(&self, nest: &Nest<'_>) -> String {
        self.after.vars[nest.lane.0.index()].name.clone()
    }

    /// The vectors of `T`, and what the tile has named on both sides where both add terms one by one.
    fn undone(&self, left: bool) -> Vec<MoveKind> {
        let named: Vec<String> = self.tile.named.iter().rev().map(|l| self.name(*l)).collect();
        let copies = self.copies.iter().rev().map(|n| MoveKind::Copy(Side::T, n.clone()));
        let both = named.iter().filter(|_| left).map(|n| MoveKind::Copy(Side::T, n.clone()));
        copies.chain(both).chain(named.iter().map(|n| MoveKind::Copy(Side::S, n.clone()))).collect()
    }

    /// The terms of a group, one after another for each cell.
    fn taken_together(&self, sum: &Named) -> Vec<MoveKind> {
        let groups = self.after.vars[self.groups.index()].name.clone();
        let row = self.after.vars[self.tile.update.0.row.0.index()].name.clone();
        let nth = u32::from(self.tile.start.is_some()) + 1;
        let lanes = self.lanes_of(&self.tile.update.0);
        let by = PatIx::Lit(self.reading.group);
        let order = vec![of_s(&groups, 1), of_s(&row, nth), of_s(&lanes, nth), of_s(&sum.name, 1)];
        vec![
            MoveKind::Split { of: of_s(&sum.name, 1), by, outer: groups, ragged: false },
            MoveKind::Order(order),
            MoveKind::Unroll(of_s(&sum.name, 1)),
        ]
    }

    /// The cells of `T`'s vectors as those of whole rows.
    fn renamed(&mut self, blocks: String, acc: String) -> MoveKind {
        let (count, parts) = (self.reading.instr.lanes, self.parts());
        let (b, l) = (self.after.add_var("b", VarKind::Index), self.after.add_var("l", VarKind::Index));
        let across = Ix::Mul(count, Box::new(Ix::Mod(Box::new(Ix::Var(b)), parts)));
        let cell = vec![Ix::Div(Box::new(Ix::Var(b)), parts), plus(across, Ix::Var(l))];
        let dims = vec![self.tile.size.0, self.tile.size.1];
        MoveKind::Relayout { side: Side::T, local: blocks, name: acc, dims, axes: vec![b, l], cell }
    }

    /// `S`'s rows in vectors: the start's lanes, those of the groups and of the terms that are left, and those that are stored.
    fn in_parts(&self, left: bool) -> Vec<MoveKind> {
        let (count, parts) = (self.reading.instr.lanes, self.parts());
        let lanes = self.lanes_of(&self.tile.update.0);
        let start = self.tile.start.as_ref().map(|nest| self.lanes_of(nest));
        let mut nests: Vec<&String> = start.iter().chain([&lanes]).collect();
        nests.extend(left.then_some(&lanes));
        let split = |lane: &str, nth: u32| MoveKind::Split {
            of: of_s(lane, nth),
            by: PatIx::Lit(count),
            outer: format!("part_{nth}"),
            ragged: false,
        };
        let mut lines: Vec<MoveKind> = nests.iter().zip(1..).map(|(lane, nth)| split(lane, nth)).collect();
        let (back, nth) = (self.lanes_of(&self.tile.back), nests.len() as u32 + 1);
        lines.push(match *self.tile.back.lane.1 == Ix::Lit(self.tile.size.1) {
            true => split(&back, nth),
            false => {
                let (of, outer) = (of_s(&back, nth), format!("part_{nth}"));
                MoveKind::Cover { of, by: count, outer, count: PatIx::Lit(parts) }
            }
        });
        lines
    }
}

/// A loop of the program before.
fn of_s(name: &str, nth: u32) -> LoopRef {
    LoopRef { side: Side::S, name: name.to_string(), nth, rank: false }
}
