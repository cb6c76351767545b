//! Two bodies side by side: which indices of one stand where which of the other do.

use super::Unfit;
use super::maps::{Maps, counter, solve};
use super::nests::{Nest, perfect};
use cachet_core::ir::{Access, BlockPart, Domain, Fun, Guard, Ix, Stmt, StmtKind, Var, Word};
use cachet_core::linear::{difference, multiple, sum};
use std::collections::BTreeMap;

/// The first body's index and the last body's in its place.
pub struct Equation {
    /// In the first.
    pub s: Ix,
    /// In the last.
    pub t: Ix,
}

/// A sum of multiples of loop variables, blocks counted by their numbers, and a literal.
#[derive(Default)]
pub struct Form {
    /// Factors, not 0.
    pub terms: BTreeMap<Var, i64>,
    /// The literal.
    pub constant: i64,
}

/// What is known of both nests' variables.
#[derive(Default)]
pub struct Forms {
    blocks: BTreeMap<Var, (Ix, i64)>,
    /// The first body's own loops in terms of the last body's.
    pub inner: BTreeMap<Var, Ix>,
    /// The maps between nests inside, inmost first.
    pub maps: Vec<Maps>,
}

impl Forms {
    /// Goes into loops.
    pub fn enter(&mut self, loops: &[(Var, Domain)]) {
        for (v, d) in loops {
            if let Domain::Blocks { lo, size, .. } = d {
                self.blocks.insert(*v, (lo.clone(), *size));
            }
        }
    }

    /// An index as a sum, where it is one.
    pub fn linear(&self, ix: &Ix) -> Option<Form> {
        let mut out = Form::default();
        self.add(1, ix, &mut out)?;
        out.terms.retain(|_, n| *n != 0);
        Some(out)
    }

    fn add(&self, factor: i64, ix: &Ix, out: &mut Form) -> Option<()> {
        match ix {
            Ix::Lit(n) => out.constant = out.constant.checked_add(factor.checked_mul(*n)?)?,
            Ix::Var(v) => self.add_var(factor, *v, out)?,
            Ix::Add(a, b) => {
                self.add(factor, a, out)?;
                self.add(factor, b, out)?;
            }
            Ix::Sub(a, b) => {
                self.add(factor, a, out)?;
                self.add(factor.checked_neg()?, b, out)?;
            }
            Ix::Mul(n, a) => self.add(factor.checked_mul(*n)?, a, out)?,
            Ix::Block(v, BlockPart::Idx) => self.add_var(factor, *v, out)?,
            Ix::Block(v, BlockPart::Lo) => {
                let (lo, size) = self.blocks.get(v)?;
                self.add(factor, lo, out)?;
                self.add_var(factor.checked_mul(*size)?, *v, out)?;
            }
            Ix::InBlock(v, e) => {
                self.add(factor, &Ix::Block(*v, BlockPart::Lo), out)?;
                self.add(factor, e, out)?;
            }
            Ix::Block(_, BlockPart::Hi | BlockPart::Len)
            | Ix::Div(..)
            | Ix::Mod(..)
            | Ix::Min(..)
            | Ix::Max(..)
            | Ix::If(..) => return None,
        }
        Some(())
    }

    fn add_var(&self, factor: i64, v: Var, out: &mut Form) -> Option<()> {
        let n = out.terms.entry(v).or_default();
        *n = n.checked_add(factor)?;
        Some(())
    }

    /// An index with like terms joined, also those that stand in blocks.
    pub fn tidy(&self, ix: &Ix) -> Ix {
        let Some(form) = self.linear(ix) else { return ix.clone() };
        let term = |v: &Var| match self.blocks.contains_key(v) {
            true => Ix::Block(*v, BlockPart::Idx),
            false => Ix::Var(*v),
        };
        form.terms.iter().fold(Ix::Lit(form.constant), |all, (v, n)| sum(&all, &multiple(*n, &term(v))))
    }
}

/// The equations between two bodies of one form.
pub fn walk(fun: &Fun, s: &[Stmt], t: &[Stmt], forms: &mut Forms) -> Result<Vec<Equation>, Unfit> {
    let mut walk = Walk { fun, forms, out: Vec::new() };
    walk.block(s, t)?;
    Ok(walk.out)
}

struct Walk<'a> {
    fun: &'a Fun,
    forms: &'a mut Forms,
    out: Vec<Equation>,
}

impl Walk<'_> {
    fn block(&mut self, s: &[Stmt], t: &[Stmt]) -> Result<(), Unfit> {
        if s.len() != t.len() {
            return Err(Unfit::Counts);
        }
        s.iter().zip(t).try_for_each(|(a, b)| match (&a.kind, &b.kind) {
            (StmtKind::For { .. }, StmtKind::For { .. }) => self.nest(a, b),
            (StmtKind::If { guard: g, then: p, els: u }, StmtKind::If { guard: h, then: q, els: v }) => {
                self.guard(g, h).ok_or(Unfit::Statements)?;
                self.block(p, q)?;
                self.block(u, v)
            }
            _ => self.stmt(a, b).ok_or(Unfit::Statements),
        })
    }

    /// Nests inside the two bodies: their own maps.
    fn nest(&mut self, s: &Stmt, t: &Stmt) -> Result<(), Unfit> {
        let (s, t) = (perfect(s), perfect(t));
        self.forms.enter(&s.loops);
        self.forms.enter(&t.loops);
        let start = self.out.len();
        self.block(s.body, t.body)?;
        let in_place = self.in_place(&s, &t);
        let found = match in_place {
            Some(found) => found,
            None => solve(self.fun, &s, &t, self.forms, &self.out[start..])?,
        };
        let bounds = s.loops.iter().zip(&t.loops).flat_map(|((_, d), (_, e))| {
            let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, .. }) = d;
            let (Domain::Range { lo: lo_t, hi: hi_t } | Domain::Blocks { lo: lo_t, hi: hi_t, .. }) = e;
            [(lo, lo_t), (hi, hi_t)]
        });
        let same = found.keeps(&s, &t);
        if same {
            self.out.extend(bounds.map(|(s, t)| Equation { s: s.clone(), t: t.clone() }));
        }
        self.forms.inner.extend(found.by.iter().cloned());
        if !same {
            self.forms.maps.push(found);
        }
        Ok(())
    }

    /// Loops of the same names in the same order: they are taken to be the same.
    fn in_place(&self, s: &Nest<'_>, t: &Nest<'_>) -> Option<Maps> {
        let name = |v: &Var| &self.fun.vars[v.index()].name;
        let same = |(x, y): (&(Var, Domain), &(Var, Domain))| name(&x.0) == name(&y.0);
        let pairs = || s.loops.iter().zip(&t.loops);
        let by = pairs().map(|((v, _), (w, e))| (*v, counter(*w, e))).collect();
        let found = Maps { by, back: Vec::new() };
        (found.keeps(s, t) && pairs().all(same)).then_some(found)
    }

    fn stmt(&mut self, s: &Stmt, t: &Stmt) -> Option<()> {
        match (&s.kind, &t.kind) {
            (StmtKind::Let { word: a, .. }, StmtKind::Let { word: b, .. })
            | (StmtKind::Var { init: a, .. }, StmtKind::Var { init: b, .. }) => self.word(a, b),
            (StmtKind::Assign { at: x, word: a, .. }, StmtKind::Assign { at: y, word: b, .. }) => {
                self.ixs(x, y)?;
                self.word(a, b)
            }
            (StmtKind::Store { to: x, word: a }, StmtKind::Store { to: y, word: b }) => {
                self.access(x, y)?;
                self.word(a, b)
            }
            _ => None,
        }
    }

    /// A sum of the first body is the one of the last body in its place.
    fn bind(&mut self, v: Var, d: &Domain, w: Var, e: &Domain) -> Option<()> {
        let value = match (d, e) {
            (Domain::Range { lo, hi }, Domain::Range { lo: lo_t, hi: hi_t }) => {
                self.out.push(Equation { s: lo.clone(), t: lo_t.clone() });
                self.out.push(Equation { s: hi.clone(), t: hi_t.clone() });
                if lo == lo_t { Ix::Var(w) } else { sum(&difference(&Ix::Var(w), lo_t), lo) }
            }
            (Domain::Blocks { lo, hi, size: _ }, Domain::Blocks { lo: lo_t, hi: hi_t, size: _ }) => {
                self.out.push(Equation { s: lo.clone(), t: lo_t.clone() });
                self.out.push(Equation { s: hi.clone(), t: hi_t.clone() });
                Ix::Block(w, BlockPart::Idx)
            }
            _ => return None,
        };
        self.forms.enter(&[(v, d.clone()), (w, e.clone())]);
        self.forms.inner.insert(v, value);
        Some(())
    }

    fn ixs(&mut self, s: &[Ix], t: &[Ix]) -> Option<()> {
        (s.len() == t.len()).then_some(())?;
        for (a, b) in s.iter().zip(t) {
            self.ix(a, b);
        }
        Some(())
    }

    fn ix(&mut self, s: &Ix, t: &Ix) {
        self.out.push(Equation { s: s.clone(), t: t.clone() });
    }

    fn access(&mut self, s: &Access, t: &Access) -> Option<()> {
        (s.buffer == t.buffer).then_some(())?;
        self.ixs(&s.at, &t.at)
    }

    fn guard(&mut self, s: &Guard, t: &Guard) -> Option<()> {
        match (s, t) {
            (Guard::Const(a), Guard::Const(b)) => (a == b).then_some(()),
            (Guard::Cmp(r, a, b), Guard::Cmp(q, c, d)) if r == q => {
                self.ix(a, c);
                self.ix(b, d);
                Some(())
            }
            (Guard::And(a, b), Guard::And(c, d)) | (Guard::Or(a, b), Guard::Or(c, d)) => {
                self.guard(a, c)?;
                self.guard(b, d)
            }
            (Guard::Not(a), Guard::Not(b)) => self.guard(a, b),
            _ => None,
        }
    }

    fn words(&mut self, s: &[Word], t: &[Word]) -> Option<()> {
        (s.len() == t.len()).then_some(())?;
        s.iter().zip(t).try_for_each(|(a, b)| self.word(a, b))
    }

    fn word(&mut self, s: &Word, t: &Word) -> Option<()> {
        match (s, t) {
            (Word::Lit(_), Word::Lit(_)) => Some(()),
            (Word::Index(a, _), Word::Index(b, _)) => {
                self.ix(a, b);
                Some(())
            }
            (Word::Load(a), Word::Load(b)) => self.access(a, b),
            (Word::Local(_, a), Word::Local(_, b)) => self.ixs(a, b),
            (Word::Op { args: a, .. }, Word::Op { args: b, .. })
            | (Word::Apply(_, a), Word::Apply(_, b))
            | (Word::Tuple(a), Word::Tuple(b)) => self.words(a, b),
            (Word::Part(a, _), Word::Part(b, _)) => self.word(a, b),
            (Word::Let(_, a, b), Word::Let(_, c, d)) => {
                self.word(a, c)?;
                self.word(b, d)
            }
            (Word::If(g, a, b), Word::If(h, c, d)) => {
                self.guard(g, h)?;
                self.word(a, c)?;
                self.word(b, d)
            }
            (Word::Fold(f), Word::Fold(g)) => {
                self.word(&f.init, &g.init)?;
                self.bind(f.var, &f.domain, g.var, &g.domain)?;
                self.word(&f.body, &g.body)
            }
            (Word::Reduce(f), Word::Reduce(g)) => {
                self.word(&f.empty, &g.empty)?;
                self.bind(f.var, &f.domain, g.var, &g.domain)?;
                self.word(&f.element, &g.element)?;
                self.word(&f.combine, &g.combine)
            }
            _ => None,
        }
    }
}
