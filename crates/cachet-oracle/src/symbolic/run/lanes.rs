//! Vector statements: lanes that are computed together, so that none may see what another one writes.

use super::super::term::Id;
use super::{Machine, Ran};
use cachet_core::ir::{Domain, StmtKind};
use cachet_core::vectors::Lanes;

impl<'p> Machine<'p, '_> {
    /// Every active lane's word from what was there before any lane wrote; it has to be the same after all others did.
    pub(super) fn lanes(&mut self, lanes: &Lanes<'p>, domain: &'p Domain) -> Ran<()> {
        let active = self.ix(lanes.active)?;
        if active < 0 || active > lanes.count {
            return self.fault(format!("a mask of {active} for {} lanes", lanes.count), lanes.stmt.span);
        }
        let (StmtKind::Store { word, .. } | StmtKind::Assign { word, .. }) = &lanes.stmt.kind else {
            return self.fault(String::from("lanes of what has none"), lanes.stmt.span);
        };
        let turns = self.turns(domain)?;
        let (mut words, mut cells) = (Vec::new(), Vec::new());
        for turn in &turns {
            self.top().vars[lanes.var.index()] = *turn;
            words.push(self.word(word)?);
            let cell = match &lanes.stmt.kind {
                StmtKind::Store { to, .. } => self.find(to, true)?,
                StmtKind::Assign { local, at, .. } => (local.index(), self.local_cell(*local, at)?),
                _ => continue,
            };
            if cells.contains(&cell) {
                return self.fault(String::from("two lanes write one cell"), lanes.stmt.span);
            }
            cells.push(cell);
        }
        let before: Vec<_> = cells.iter().zip(&words).map(|(c, w)| self.exchanged(lanes, *c, Some(*w))).collect();
        for (n, turn) in turns.iter().enumerate() {
            self.exchanged(lanes, cells[n], before[n]);
            self.top().vars[lanes.var.index()] = *turn;
            if self.word(word)? != words[n] {
                return self.fault(String::from("a lane reads what another one writes"), lanes.stmt.span);
            }
            self.exchanged(lanes, cells[n], Some(words[n]));
        }
        Ok(())
    }

    /// Puts a word into a lane's cell, and gives the one that was there.
    fn exchanged(&mut self, lanes: &Lanes<'p>, (of, cell): (usize, usize), word: Option<Id>) -> Option<Id> {
        match (&lanes.stmt.kind, word) {
            (StmtKind::Assign { .. }, Some(word)) => Some(std::mem::replace(&mut self.top().locals[of][cell], word)),
            (StmtKind::Assign { .. }, None) => None,
            (_, word) => std::mem::replace(&mut self.stores[of].cells[cell], word),
        }
    }
}
