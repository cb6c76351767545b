//! Which statements does the tile become, but for what a group of terms is?

use super::{Grouped, minus, plus, refused, times};
use crate::steps::tile::assigns;
use cachet_core::ir::{Block, Domain, Ix, Stmt, StmtKind, Var, VarKind, Word};
use cachet_core::rewrite::{Subst, map_word, refresh};
use cachet_core::script::StepCall;
use cachet_source::Diagnostic;

impl Grouped<'_> {
    /// The statements that the tile's become.
    pub(super) fn block(&mut self, call: &StepCall) -> Result<Block, Diagnostic> {
        let span = self.tile.span;
        let mut out = vec![Stmt { kind: StmtKind::Var { local: self.blocks, init: self.tile.init.clone() }, span }];
        out.extend(self.start());
        let (k, domain) = self.tile.sum;
        let Domain::Range { lo, hi } = domain.clone() else {
            return Err(refused(call.span, "the tile's sum runs over blocks".into(), call));
        };
        let many = self.many(&lo, &hi);
        let body = self.grouped(&lo);
        let groups = match self.reading.group {
            1 => StmtKind::For { var: k, domain: domain.clone(), body },
            _ => StmtKind::For { var: self.groups, domain: Domain::Range { lo: Ix::Lit(0), hi: many }, body },
        };
        out.push(Stmt { kind: groups, span });
        if self.leaves_terms(&lo, &hi) {
            let rest = Domain::Range { lo: self.rest(&lo, &hi), hi };
            let body = self.one_by_one();
            let stmt = Stmt { kind: StmtKind::For { var: k, domain: rest, body }, span };
            out.extend(refresh(&mut self.after, &[stmt]));
        }
        out.push(self.back(call)?);
        Ok(out)
    }

    /// What the totals start from, where that is more than a word for all of them.
    fn start(&mut self) -> Option<Stmt> {
        let start = self.tile.start.as_ref()?;
        let word = assigns(start, self.tile.acc)?.clone();
        let (row, lane) = ((start.row.0, start.row.1.clone()), start.lane.0);
        Some(self.over_rows(&row, |this, i| vec![this.plain(i, (row.0, lane), &word)]))
    }

    /// Stores the totals.
    fn back(&mut self, call: &StepCall) -> Result<Stmt, Diagnostic> {
        let (row, lane) = ((self.tile.back.row.0, self.tile.back.row.1.clone()), self.tile.back.lane);
        let StmtKind::Store { to, .. } = self.tile.back.stmt else {
            return Err(refused(call.span, "the tile is not stored".into(), call));
        };
        let to = to.clone();
        let active = lane.1.clone();
        Ok(self.over_rows(&row, |this, i| {
            let whole = active == Ix::Lit(this.tile.size.1);
            vec![this.over_parts(|this, q, l| {
                let mut subst = this.lane_of(lane.0, q.clone(), l);
                subst.vars.insert(row.0, Ix::Var(i));
                let word = Word::Local(this.blocks, this.cell(i, q.clone(), l));
                let left = minus(active.clone(), times(this.reading.instr.lanes, &q));
                let all = Ix::Lit(this.reading.instr.lanes);
                let least = Ix::Min(Box::new(all.clone()), Box::new(left));
                let mask = if whole { all } else { Ix::Max(Box::new(Ix::Lit(0)), Box::new(least)) };
                (mask, VarKind::Lane(this.reading.instr.lanes), StmtKind::Store { to: subst.access(&to), word })
            })]
        }))
    }

    /// A loop over the tile's rows.
    pub(super) fn over_rows(&mut self, row: &(Var, Ix), body: impl FnOnce(&mut Self, Var) -> Block) -> Stmt {
        let name = self.after.vars[row.0.index()].name.clone();
        let i = self.after.add_var(name, VarKind::Index);
        let body = body(self, i);
        let domain = Domain::Range { lo: Ix::Lit(0), hi: row.1.clone() };
        Stmt { kind: StmtKind::For { var: i, domain, body }, span: self.tile.span }
    }

    /// A loop over the vectors of a row around a vector statement: its mask, the kind of its lanes, and itself.
    pub(super) fn over_parts(&mut self, stmt: impl FnOnce(&mut Self, Ix, Var) -> (Ix, VarKind, StmtKind)) -> Stmt {
        let span = self.tile.span;
        let q = self.after.add_var("q", VarKind::Index);
        let l = self.after.add_var("l", VarKind::Lane(self.reading.instr.lanes));
        let one = self.parts() == 1;
        let (mask, kind, inner) = stmt(self, if one { Ix::Lit(0) } else { Ix::Var(q) }, l);
        self.after.vars[l.index()].kind = kind;
        let lanes = Domain::Range { lo: Ix::Lit(0), hi: mask };
        let inner =
            Stmt { kind: StmtKind::For { var: l, domain: lanes, body: vec![Stmt { kind: inner, span }] }, span };
        if one {
            return inner;
        }
        let domain = Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(self.parts()) };
        Stmt { kind: StmtKind::For { var: q, domain, body: vec![inner] }, span }
    }

    /// The cell of a vector of a row.
    pub(super) fn cell(&self, i: Var, q: Ix, l: Var) -> Vec<Ix> {
        vec![plus(times(self.parts(), &Ix::Var(i)), q), Ix::Var(l)]
    }

    /// What a lane of the tile is in a vector of a row.
    fn lane_of(&self, lane: Var, q: Ix, l: Var) -> Subst {
        Subst::var(lane, plus(times(self.reading.instr.lanes, &q), Ix::Var(l)))
    }

    /// Assigns a word of a row and a lane of the tile.
    fn plain(&mut self, i: Var, (row, lane): (Var, Var), word: &Word) -> Stmt {
        let count = self.reading.instr.lanes;
        self.over_parts(|this, q, l| {
            let mut subst = this.lane_of(lane, q.clone(), l);
            subst.vars.insert(row, Ix::Var(i));
            let at = this.cell(i, q, l);
            (Ix::Lit(count), VarKind::Lane(count), StmtKind::Assign { local: this.blocks, at, word: subst.word(word) })
        })
    }

    /// What is left of the terms, as they were added before.
    fn one_by_one(&mut self) -> Block {
        let body =
            match self.tile.site.stmts(&self.after).and_then(|s| s.get(usize::from(self.tile.start.is_some()) + 1)) {
                Some(Stmt { kind: StmtKind::For { body, .. }, .. }) => body.clone(),
                _ => return vec![],
            };
        let Some((last, before)) = body.split_last() else { return vec![] };
        let StmtKind::For { var: row, domain: Domain::Range { hi, .. }, body } = &last.kind else { return vec![] };
        let Some((update, inside)) = body.split_last() else { return vec![] };
        let StmtKind::For { var: lane, body, .. } = &update.kind else { return vec![] };
        let [Stmt { kind: StmtKind::Assign { word, .. }, .. }] = body.as_slice() else { return vec![] };
        let mut out = before.to_vec();
        let acc = self.tile.acc;
        out.push(self.over_rows(&(*row, hi.clone()), |this, i| {
            let mut block = Subst::var(*row, Ix::Var(i)).block(inside);
            let count = this.reading.instr.lanes;
            block.push(this.over_parts(|this, q, l| {
                let mut subst = this.lane_of(*lane, q.clone(), l);
                subst.vars.insert(*row, Ix::Var(i));
                let at = this.cell(i, q, l);
                let (blocks, own) = (this.blocks, at.clone());
                let word = map_word(&subst.word(word), &mut |w| match &w {
                    Word::Local(t, _) if *t == acc => Word::Local(blocks, own.clone()),
                    _ => w,
                });
                (Ix::Lit(count), VarKind::Lane(count), StmtKind::Assign { local: blocks, at, word })
            }));
            block
        }));
        out
    }
}
