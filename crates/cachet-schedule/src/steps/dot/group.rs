//! What is a group of terms?
//!
//! Vectors that hold the words of a group's terms as the instruction wants them, outside the loop over rows where they do not
//! change with the row, and in it the instruction, applied to each vector of the row.

use super::{Grouped, plus, times};
use cachet_core::instr::{LaneWord, Operand};
use cachet_core::ir::{Block, Domain, Guard, Ix, Lit, Local, LocalInfo, Rel, Stmt, StmtKind, Ty, Var, VarKind, Word};
use cachet_core::rewrite::{Live, Subst, map_word};

impl Grouped<'_> {
    /// A group of terms.
    pub(super) fn grouped(&mut self, lo: &Ix) -> Block {
        let row = (self.tile.update.0.row.0, self.tile.update.0.row.1.clone());
        let (mut before, mut inside): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        for (n, given) in self.reading.operands.iter().enumerate() {
            let Some(given) = given else { continue };
            let by_row = Live::of_word(&given.word).vars.contains(&row.0);
            if by_row { inside.push(n) } else { before.push(n) }
        }
        let mut vectors: Vec<Option<Local>> = vec![None; self.reading.operands.len()];
        let mut body: Block = Vec::new();
        for n in before {
            body.extend(self.operand(n, lo, None, &mut vectors));
        }
        let stmt = self.over_rows(&row, |this, i| {
            let mut block: Block = Vec::new();
            for n in inside {
                block.extend(this.operand(n, lo, Some((row.0, i)), &mut vectors));
            }
            block.push(this.over_parts(|this, q, l| this.through(&vectors, i, q, l)));
            block
        });
        body.push(stmt);
        body
    }

    /// A vector that holds what an operand takes of a group of terms.
    fn operand(&mut self, n: usize, lo: &Ix, row: Option<(Var, Var)>, vectors: &mut [Option<Local>]) -> Block {
        let group = self.reading.group;
        let Some(Some(given)) = self.reading.operands.get(n) else { return vec![] };
        let (word, by_lane, reversed) = (given.word.clone(), given.by_lane, given.reversed);
        let param = self.reading.instr.params[n];
        let Some((elem, _)) = self.reading.instr.param_vector(param) else { return vec![] };
        let count = if by_lane { group * self.tile.size.1 } else { group };
        let wanted = if by_lane { "lanes" } else { "row" };
        let name = self.named(wanted);
        let local = LocalInfo { name, ty: Ty::Elem(elem), dims: vec![count], vector: true, mutable: false };
        let local = self.after.add_local(local);
        vectors[n] = Some(local);
        let m = self.after.add_var("l", VarKind::Lane(count));
        let word = self.words(&self.masked(&word, m), (by_lane, reversed), m, lo, row);
        let span = self.tile.span;
        let zero = Word::Lit(Lit { elem, bits: 0 });
        let declare = Stmt { kind: StmtKind::Var { local, init: zero }, span };
        let assign = StmtKind::Assign { local, at: vec![Ix::Var(m)], word };
        let lanes = Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(count) };
        let fill = StmtKind::For { var: m, domain: lanes, body: vec![Stmt { kind: assign, span }] };
        vec![declare, Stmt { kind: fill, span }]
    }

    /// A word of which the first lanes take part, with that said of the lanes of an operand.
    fn masked(&self, word: &Word, m: Var) -> Word {
        let (lane, group) = (self.tile.update.0.lane.0, self.reading.group);
        map_word(word, &mut |w| match &w {
            Word::If(g, a, b) => match &**g {
                Guard::Cmp(Rel::Lt, Ix::Var(v), active) if *v == lane => {
                    let g = Guard::Cmp(Rel::Lt, Ix::Var(m), times(group, active));
                    Word::If(Box::new(g), a.clone(), b.clone())
                }
                _ => w,
            },
            _ => w,
        })
    }

    /// The word of an operand's lane: of which term, and of which lane of the tile.
    fn words(&self, word: &Word, (by_lane, reversed): (bool, bool), m: Var, lo: &Ix, row: Option<(Var, Var)>) -> Word {
        let (lane, group) = (self.tile.update.0.lane.0, self.reading.group);
        let (within, first) = match (by_lane, group) {
            (true, 1) => (Ix::Lit(0), Ix::Var(m)),
            (true, n) => (Ix::Mod(Box::new(Ix::Var(m)), n), Ix::Div(Box::new(Ix::Var(m)), n)),
            (false, 1) => (Ix::Lit(0), Ix::Var(lane)),
            (false, n) => (Ix::Mod(Box::new(Ix::Var(m)), n), Ix::Var(lane)),
        };
        let within = if reversed { Ix::Sub(Box::new(Ix::Lit(group - 1)), Box::new(within)) } else { within };
        let mut subst = Subst::var(lane, first);
        if group != 1 {
            let k = plus(lo.clone(), plus(times(group, &Ix::Var(self.groups)), within));
            subst.vars.insert(self.tile.sum.0, k);
        }
        if let Some((from, to)) = row {
            subst.vars.insert(from, Ix::Var(to));
        }
        subst.word(word)
    }

    /// A name for a vector that holds words of a group.
    fn named(&mut self, wanted: &str) -> String {
        let group = if self.reading.group == 1 { "all" } else { "group" };
        let wanted = format!("{wanted}_{group}");
        let taken = |name: &String| self.copies.contains(name);
        let fresh = |n: u64| self.after.fresh_name(&if n == 1 { wanted.clone() } else { format!("{wanted}_{n}") });
        let name = (1u64..).map(fresh).find(|n| !taken(n)).unwrap_or_default();
        self.copies.push(name.clone());
        name
    }

    /// The instruction applied to a vector of a row.
    fn through(&mut self, vectors: &[Option<Local>], i: Var, q: Ix, l: Var) -> (Ix, VarKind, StmtKind) {
        let (instr, id, group) = (self.reading.instr, self.reading.id, self.reading.group);
        let at = self.cell(i, q.clone(), l);
        let by_lane: Vec<bool> = self.reading.operands.iter().map(|o| o.as_ref().is_some_and(|g| g.by_lane)).collect();
        let lane = self.after.add_var("l", VarKind::Lane(1));
        let operands: Vec<Operand> = vectors
            .iter()
            .zip(by_lane)
            .map(|(vector, by_lane)| {
                let from = if by_lane { times(group * instr.lanes, &q) } else { Ix::Lit(0) };
                let word = match vector {
                    Some(local) => Word::Local(*local, vec![plus(from, Ix::Var(lane))]),
                    None => Word::Local(self.blocks, vec![at[0].clone(), Ix::Var(lane)]),
                };
                Operand::Vector(LaneWord::of(&word, lane))
            })
            .collect();
        let word = instr.word(&operands, &Ix::Var(l));
        let stmt = StmtKind::Assign { local: self.blocks, at, word };
        (Ix::Lit(instr.lanes), VarKind::Instr(instr.lanes, id), stmt)
    }
}
