//! A step with its holes for loops and domains written out, so that operators find bounds to change.
//!
//! `for i.. in $A..` becomes one loop a rank, `i1`, `i2`, and each domain `$A` becomes `$A_lo .. $A_hi`. The opened step
//! matches what the library's matches over plain ranges, and makes the same program there.

use cachet_core::pattern::{
    LoopRef, Move, MoveKind, Param, ParamKind, Params, Pat, PatCell, PatDomain, PatIx, PatSubst, PatWord, StepDef,
};

/// The step for so many loops in place of its rank holes.
pub fn open(step: &StepDef, rank: usize) -> StepDef {
    let open = Open { rank };
    StepDef {
        params: step.params.iter().map(|p| open.params(p)).collect(),
        from: open.block(&step.from),
        to: open.block(&step.to),
        recipe: step.recipe.iter().map(move_of).collect(),
        ..step.clone()
    }
}

struct Open {
    rank: usize,
}

impl Open {
    fn names(&self, name: &str) -> Vec<String> {
        (1..=self.rank).map(|n| format!("{name}{n}")).collect()
    }

    fn params(&self, params: &Params) -> Params {
        match params {
            Params::One(p) => Params::One(p.clone()),
            Params::Tuple(ps) => Params::Tuple(
                ps.iter()
                    .flat_map(|p| match p.kind {
                        ParamKind::Loops => self
                            .names(&p.name)
                            .into_iter()
                            .map(|name| Param { name, kind: ParamKind::Loop })
                            .collect::<Vec<_>>(),
                        ParamKind::Loop | ParamKind::Buffer | ParamKind::New | ParamKind::Size => vec![p.clone()],
                    })
                    .collect(),
            ),
        }
    }

    fn block(&self, block: &[Pat]) -> Vec<Pat> {
        block.iter().map(|p| self.pat(p)).collect()
    }

    fn pat(&self, pat: &Pat) -> Pat {
        match pat {
            Pat::For { var, domain, body, span } => {
                Pat::For { var: var.clone(), domain: range(domain), body: self.block(body), span: *span }
            }
            Pat::ForAll { vars, domains, body, span } => {
                let names = self.names(vars).into_iter().zip(self.names(domains)).rev();
                let nest = names.fold(self.block(body), |body, (var, hole)| {
                    vec![Pat::For { var, domain: range(&PatDomain::Hole(hole)), body, span: *span }]
                });
                nest.into_iter().next().expect("a rank of at least 1")
            }
            Pat::Let { local, word, span } => Pat::Let { local: local.clone(), word: self.word(word), span: *span },
            Pat::Store { to, word, span } => Pat::Store { to: self.cell(to), word: self.word(word), span: *span },
            Pat::Hole(..) | Pat::Grid { .. } | Pat::If { .. } | Pat::Var { .. } | Pat::Assign { .. } => pat.clone(),
        }
    }

    fn word(&self, word: &PatWord) -> PatWord {
        match word {
            PatWord::Hole { name, inside, substs } => PatWord::Hole {
                name: name.clone(),
                inside: inside.as_ref().map(|w| Box::new(self.inside(w, substs))),
                substs: self.substs(substs),
            },
            PatWord::Load(cell) => PatWord::Load(self.cell(cell)),
            PatWord::Fold { var, domain, acc, ty, init, body } => PatWord::Fold {
                var: var.clone(),
                domain: domain.clone(),
                acc: acc.clone(),
                ty: ty.clone(),
                init: Box::new(self.word(init)),
                body: Box::new(self.word(body)),
            },
            PatWord::Local(_) | PatWord::Float(_) | PatWord::Prim(..) | PatWord::If(..) => word.clone(),
        }
    }

    /// A replacement of a rank holds for what stands in the brackets too; those of single loops have to be repeated there.
    fn inside(&self, word: &PatWord, substs: &[PatSubst]) -> PatWord {
        match self.word(word) {
            PatWord::Load(PatCell::Hole(name, own)) if own.is_empty() => {
                PatWord::Load(PatCell::Hole(name, self.substs(substs)))
            }
            other => other,
        }
    }

    fn cell(&self, cell: &PatCell) -> PatCell {
        match cell {
            PatCell::Hole(name, substs) => PatCell::Hole(name.clone(), self.substs(substs)),
            PatCell::Named(..) => cell.clone(),
        }
    }

    fn substs(&self, substs: &[PatSubst]) -> Vec<PatSubst> {
        let mut out = Vec::new();
        for s in substs {
            match s {
                PatSubst::One(..) => out.push(s.clone()),
                PatSubst::All(from, to) => {
                    let pairs = self.names(from).into_iter().zip(self.names(to));
                    out.extend(pairs.map(|(from, to)| PatSubst::One(from, PatIx::Name(to))));
                }
            }
        }
        out
    }
}

fn range(domain: &PatDomain) -> PatDomain {
    match domain {
        PatDomain::Hole(h) => PatDomain::Range(PatIx::Hole(format!("{h}_lo")), PatIx::Hole(format!("{h}_hi"))),
        PatDomain::Range(..) | PatDomain::Blocks(..) => domain.clone(),
    }
}

fn move_of(line: &Move) -> Move {
    let of = |l: &LoopRef| LoopRef {
        name: if l.rank { format!("{}1", l.name) } else { l.name.clone() },
        rank: false,
        ..l.clone()
    };
    let kind = match &line.kind {
        MoveKind::PerCell { buffer, fold } => MoveKind::PerCell { buffer: buffer.clone(), fold: of(fold) },
        MoveKind::Interchange(l) => MoveKind::Interchange(of(l)),
        MoveKind::Distribute { of: l, at } => MoveKind::Distribute { of: of(l), at: *at },
        MoveKind::Fuse(a, b) => MoveKind::Fuse(of(a), of(b)),
        MoveKind::Order(all) => MoveKind::Order(all.iter().map(of).collect()),
        MoveKind::Split { of: l, by, outer, ragged } => {
            MoveKind::Split { of: of(l), by: by.clone(), outer: outer.clone(), ragged: *ragged }
        }
        MoveKind::First(l) => MoveKind::First(of(l)),
        MoveKind::Cut { of: l, at } => MoveKind::Cut { of: of(l), at: at.clone() },
        MoveKind::Cover { of: l, by, outer, count } => {
            MoveKind::Cover { of: of(l), by: *by, outer: outer.clone(), count: count.clone() }
        }
        MoveKind::Widen { of: l, to } => MoveKind::Widen { of: of(l), to: to.clone() },
        MoveKind::Join(a, b) => MoveKind::Join(of(a), of(b)),
        MoveKind::Unroll(l) => MoveKind::Unroll(of(l)),
        MoveKind::Regroup { of: l, op, by } => MoveKind::Regroup { of: of(l), op: op.clone(), by: *by },
        MoveKind::Reorder { .. }
        | MoveKind::SelfStore(..)
        | MoveKind::Copy(..)
        | MoveKind::Carry { .. }
        | MoveKind::Narrow { .. }
        | MoveKind::Relayout { .. }
        | MoveKind::Lanes(..)
        | MoveKind::Unfold(..)
        | MoveKind::Case { .. }
        | MoveKind::Given(_) => line.kind.clone(),
    };
    Move { kind, span: line.span }
}
