//! How large does a value become once everything that it names is written out in its place?
//!
//! An intermediate stands for its equation and a pure function for its body, so a short text may mean a value that no
//! machine holds. Sizes are added up before anything is written out, and what is too large is refused.

use cachet_core::equations::{Combine, Contraction, Expr};
use cachet_core::ir::{MAX_DEPTH, PureId, Word};
use std::cmp::max;

/// The most operations, literals and reads that one value may have.
pub(crate) const MAX_PARTS: u64 = 1 << 16;

/// The highest that a value may be.
pub(crate) const MAX_HEIGHT: u64 = 4 * MAX_DEPTH as u64;

/// The most parameters of one function.
pub(crate) const MAX_PARAMS: usize = 512;

/// The most extents that all parameters of one function may have together.
pub(crate) const MAX_EXTENTS: usize = 1024;

/// The extent of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Extent {
    /// Operations, literals and reads.
    parts: u64,
    /// Longest chain of them, one inside the other.
    height: u64,
}

impl Extent {
    const LEAF: Extent = Extent { parts: 1, height: 1 };

    /// What is wrong with it.
    pub fn excess(self) -> Option<String> {
        if self.parts > MAX_PARTS {
            return Some(format!("has more than {MAX_PARTS} parts"));
        }
        (self.height > MAX_HEIGHT).then(|| format!("nests deeper than {MAX_HEIGHT}"))
    }

    fn beside(self, other: Extent) -> Extent {
        Extent { parts: self.parts.saturating_add(other.parts), height: max(self.height, other.height) }
    }

    /// Something of extent `top` that holds this.
    fn inside(self, top: Extent) -> Extent {
        Extent { parts: self.parts.saturating_add(top.parts), height: self.height.saturating_add(top.height) }
    }
}

/// Each equation's value with the intermediates that it uses written out.
pub(crate) fn equations(c: &Contraction, pures: &[Extent]) -> Vec<Extent> {
    let mut out = Vec::new();
    for e in &c.equations {
        let extent = value(&e.value, &out, pures);
        out.push(extent);
    }
    out
}

fn value(e: &Expr, before: &[Extent], pures: &[Extent]) -> Extent {
    let all = |args: &[Expr]| args.iter().map(|a| value(a, before, pures)).fold(Extent::default(), Extent::beside);
    match e {
        Expr::Lit(_) | Expr::Index(..) | Expr::Read(_) | Expr::Local(_) => Extent::LEAF,
        Expr::Value(n, _) => before.get(*n as usize).copied().unwrap_or_default(),
        Expr::Op(_, _, args) | Expr::Tuple(args) => all(args).inside(Extent::LEAF),
        Expr::Apply(f, args) => all(args).inside(applied(*f, pures)),
        Expr::Part(w, _) => value(w, before, pures).inside(Extent::LEAF),
        Expr::Let(_, a, b) | Expr::If(_, a, b) => {
            value(a, before, pures).beside(value(b, before, pures)).inside(Extent::LEAF)
        }
        Expr::Sum(s) => {
            let join = match &s.add {
                Combine::Op(_) => Extent::LEAF,
                Combine::Apply(f) => applied(*f, pures),
            };
            let chain = Extent { parts: 1, height: s.binders.len() as u64 };
            let term = value(&s.body, before, pures).beside(value(&s.zero, before, pures));
            term.inside(join).inside(chain)
        }
    }
}

/// A word with the pure functions that it applies written out.
pub(crate) fn word(w: &Word, pures: &[Extent]) -> Extent {
    let all = |args: &[Word]| args.iter().map(|a| word(a, pures)).fold(Extent::default(), Extent::beside);
    let two = |a: &Word, b: &Word| word(a, pures).beside(word(b, pures)).inside(Extent::LEAF);
    match w {
        Word::Lit(_) | Word::Index(..) | Word::Load(_) | Word::Local(..) | Word::Differing(..) => Extent::LEAF,
        Word::Op { args, .. } | Word::Tuple(args) => all(args).inside(Extent::LEAF),
        Word::Apply(f, args) => all(args).inside(applied(*f, pures)),
        Word::Part(w, _) => word(w, pures).inside(Extent::LEAF),
        Word::Let(_, a, b) | Word::If(_, a, b) => two(a, b),
        Word::Fold(f) => two(&f.init, &f.body),
        Word::Reduce(r) => two(&r.element, &r.combine).beside(word(&r.empty, pures)),
    }
}

fn applied(f: PureId, pures: &[Extent]) -> Extent {
    pures.get(f.index()).copied().unwrap_or(Extent::LEAF)
}
