//! What is known of indices without computing them: ranges of loops, and loops whose index is a number here.
//!
//! Nothing that is proved rests on it. It tells where in a panel an index lies, so that an address needs no division, and
//! which loops are written out.

use cachet_core::ir::{Block, BlockPart, Domain, Fun, Ix, Stmt, StmtKind, Var, Word};
use cachet_core::linear::Linear;
use cachet_core::rewrite::{Visit, visit_block, visit_stmt, visit_word};
use std::collections::BTreeMap;

/// Facts about a function's indices.
#[derive(Default)]
pub(crate) struct Known {
    /// What each loop runs over.
    domains: BTreeMap<Var, Domain>,
    /// Loops whose index is a number where code is being written.
    numbers: BTreeMap<Var, i64>,
    /// Indices that have a value where code is being written.
    values: Vec<(Ix, i64)>,
}

impl Known {
    /// Of a function's loops.
    pub(crate) fn of(fun: &Fun) -> Known {
        let mut loops = Loops(BTreeMap::new());
        visit_block(&mut loops, &fun.body);
        Known { domains: loops.0, ..Known::default() }
    }

    /// Runs something where a loop's index is a number.
    pub(crate) fn set(&mut self, var: Var, number: Option<i64>) {
        match number {
            Some(n) => self.numbers.insert(var, n),
            None => self.numbers.remove(&var),
        };
    }

    /// A loop that the function does not have.
    pub(crate) fn enter(&mut self, var: Var, domain: Domain) {
        self.domains.insert(var, domain);
    }

    /// An index has a value from here on.
    pub(crate) fn push(&mut self, ix: &Ix, value: i64) {
        self.values.push((ix.clone(), value));
    }

    /// It no longer has.
    pub(crate) fn pop(&mut self) {
        self.values.pop();
    }

    /// An index's value, where it has one.
    pub(crate) fn value(&self, ix: &Ix) -> Option<i64> {
        if let Some((_, n)) = self.values.iter().rev().find(|(i, _)| i == ix) {
            return Some(*n);
        }
        match ix {
            Ix::Lit(n) => Some(*n),
            Ix::Var(v) => self.numbers.get(v).copied(),
            Ix::Add(a, b) => self.value(a)?.checked_add(self.value(b)?),
            Ix::Sub(a, b) => self.value(a)?.checked_sub(self.value(b)?),
            Ix::Mul(n, a) => n.checked_mul(self.value(a)?),
            Ix::Min(a, b) => Some(self.value(a)?.min(self.value(b)?)),
            Ix::Max(a, b) => Some(self.value(a)?.max(self.value(b)?)),
            Ix::Div(..) | Ix::Mod(..) | Ix::If(..) | Ix::Block(..) | Ix::InBlock(..) => None,
        }
    }

    /// The lengths that blocks of a range of numbers have, where an index is such a length: that of a whole block, and of
    /// what is left over.
    pub(crate) fn lengths(&self, ix: &Ix) -> Option<Vec<i64>> {
        let Ix::Block(v, BlockPart::Len) = ix else { return None };
        let Domain::Blocks { lo, hi, size } = self.domains.get(v)? else { return None };
        let length = self.value(hi)?.checked_sub(self.value(lo)?)?.max(0);
        let (whole, left) = (length / size, length % size);
        Some([(whole > 0).then_some(*size), (left > 0).then_some(left)].into_iter().flatten().collect())
    }

    /// `ix / by` and `ix % by`, where they can be read off for `ix` and the `more` indices after it, all in one group.
    pub(crate) fn divided(&self, ix: &Ix, by: i64, more: i64) -> Option<(Ix, Ix)> {
        let sum = Linear::of(&self.expanded(ix)?)?;
        let (mut quotient, mut rest) = (Linear::default(), Linear::default());
        let (mut least, mut most) = (0i64, 0i64);
        for (n, term) in &sum.terms {
            match n.checked_rem(by)? {
                0 => quotient.add(n / by, term)?,
                _ => {
                    let (lo, hi) = self.range(term)?;
                    let (a, b) = (n.checked_mul(lo)?, n.checked_mul(hi)?);
                    (least, most) = (least.checked_add(a.min(b))?, most.checked_add(a.max(b))?);
                    rest.add(*n, term)?;
                }
            }
        }
        let whole = sum.constant.div_euclid(by);
        let within = sum.constant.rem_euclid(by);
        quotient.constant = whole;
        rest.constant = within;
        let fits = least.checked_add(within)? >= 0 && most.checked_add(within)?.checked_add(more)? < by;
        fits.then(|| (quotient.to_ix(), rest.to_ix()))
    }

    /// An index over the numbers of blocks, with numbers for loops that have them.
    pub(crate) fn expanded(&self, ix: &Ix) -> Option<Ix> {
        let two = |a: &Ix, b: &Ix| Some((Box::new(self.expanded(a)?), Box::new(self.expanded(b)?)));
        Some(match ix {
            Ix::Lit(n) => Ix::Lit(*n),
            Ix::Var(v) => self.numbers.get(v).map_or(Ix::Var(*v), |n| Ix::Lit(*n)),
            Ix::Add(a, b) => two(a, b).map(|(a, b)| Ix::Add(a, b))?,
            Ix::Sub(a, b) => two(a, b).map(|(a, b)| Ix::Sub(a, b))?,
            Ix::Mul(n, a) => Ix::Mul(*n, Box::new(self.expanded(a)?)),
            Ix::Block(v, BlockPart::Lo) => match self.domains.get(v)? {
                Domain::Blocks { lo, size, hi: _ } => {
                    let before = Ix::Mul(*size, Box::new(Ix::Block(*v, BlockPart::Idx)));
                    Ix::Add(Box::new(self.expanded(lo)?), Box::new(before))
                }
                Domain::Range { .. } => return None,
            },
            Ix::InBlock(v, e) => {
                let lo = self.expanded(&Ix::Block(*v, BlockPart::Lo))?;
                Ix::Add(Box::new(lo), Box::new(self.expanded(e)?))
            }
            Ix::Div(..) | Ix::Mod(..) | Ix::Min(..) | Ix::Max(..) | Ix::If(..) | Ix::Block(..) => ix.clone(),
        })
    }

    /// The least and the largest that a part of a sum may be.
    fn range(&self, term: &Ix) -> Option<(i64, i64)> {
        match term {
            Ix::Var(v) => {
                let Domain::Range { lo, hi } = self.domains.get(v)? else { return None };
                let least = self.value(lo)?;
                Some((least, self.most(hi)?.checked_sub(1)?.max(least)))
            }
            Ix::Block(v, BlockPart::Idx) => {
                let Domain::Blocks { lo, hi, size } = self.domains.get(v)? else { return None };
                let length = self.most(hi)?.checked_sub(self.value(lo)?)?.max(1);
                Some((0, (length - 1) / size))
            }
            _ => None,
        }
    }

    /// What an index is at most.
    pub(crate) fn most(&self, ix: &Ix) -> Option<i64> {
        if let Some(n) = self.value(ix) {
            return Some(n);
        }
        match ix {
            Ix::Block(v, BlockPart::Len) => match self.domains.get(v)? {
                Domain::Blocks { size, .. } => Some(*size),
                Domain::Range { .. } => None,
            },
            Ix::Min(a, b) => match (self.most(a), self.most(b)) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
            Ix::Lit(_)
            | Ix::Var(_)
            | Ix::Add(..)
            | Ix::Sub(..)
            | Ix::Mul(..)
            | Ix::Div(..)
            | Ix::Mod(..)
            | Ix::Max(..)
            | Ix::If(..)
            | Ix::Block(..)
            | Ix::InBlock(..) => None,
        }
    }
}

struct Loops(BTreeMap<Var, Domain>);

impl Visit for Loops {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For { var, domain, .. } => {
                self.0.insert(*var, domain.clone());
            }
            StmtKind::Grid(g) => self.0.extend(g.axes.iter().cloned()),
            StmtKind::If { .. }
            | StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => {}
        }
        visit_stmt(self, stmt);
    }

    fn word(&mut self, word: &Word) {
        match word {
            Word::Fold(f) => {
                self.0.insert(f.var, f.domain.clone());
            }
            Word::Reduce(r) => {
                self.0.insert(r.var, r.domain.clone());
            }
            _ => {}
        }
        visit_word(self, word);
    }
}

/// Whether a loop's variable picks a row of an array of vectors inside a block.
pub(crate) fn picks_rows(fun: &Fun, var: Var, body: &Block) -> bool {
    struct Rows<'a> {
        fun: &'a Fun,
        var: Var,
        found: bool,
    }
    impl Rows<'_> {
        fn cell(&mut self, local: cachet_core::ir::Local, at: &[Ix]) {
            let vectors = self.fun.locals.get(local.index()).is_some_and(|i| i.vector && i.dims.len() > 1);
            let rows = at.split_last().map_or(&[][..], |(_, rows)| rows);
            self.found |= vectors && rows.iter().any(|ix| cachet_core::vectors::varies(ix, self.var));
        }
    }
    impl Visit for Rows<'_> {
        fn stmt(&mut self, stmt: &Stmt) {
            if let StmtKind::Assign { local, at, .. } = &stmt.kind {
                self.cell(*local, at);
            }
            visit_stmt(self, stmt);
        }
        fn word(&mut self, word: &Word) {
            if let Word::Local(l, at) = word {
                self.cell(*l, at);
            }
            visit_word(self, word);
        }
    }
    let mut rows = Rows { fun, var, found: false };
    visit_block(&mut rows, body);
    rows.found
}
