//! How far an integer word may reach: between two bounds that may depend on sizes, or so far from a running total.

use crate::formula::{Term, Var as Unknown};
use cachet_core::interpret::scalar;
use cachet_core::ir::Elem;

/// A number that may depend on integers of the context, and two numbers that it always lies between.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bound {
    /// What it is.
    pub term: Term,
    /// It is never smaller.
    pub least: i128,
    /// It is never larger.
    pub most: i128,
}

impl Bound {
    pub fn lit(n: i128) -> Bound {
        Bound { term: Term::Lit(n), least: n, most: n }
    }

    /// Its value, where that is one number.
    pub fn number(&self) -> Option<i128> {
        (self.least == self.most).then_some(self.least)
    }

    fn of(term: Term, least: i128, most: i128) -> Bound {
        if least == most { Bound::lit(least) } else { Bound { term, least, most } }
    }

    pub fn add(self, other: Bound) -> Bound {
        let (least, most) = (self.least.saturating_add(other.least), self.most.saturating_add(other.most));
        match (self.number(), other.number()) {
            (_, Some(0)) => self,
            (Some(0), _) => other,
            _ => Bound::of(self.term.add(other.term), least, most),
        }
    }

    /// `n` times it.
    pub fn times(self, n: i128) -> Bound {
        let (a, b) = (self.least.saturating_mul(n), self.most.saturating_mul(n));
        if n == 1 { self } else { Bound::of(self.term.times(n), a.min(b), a.max(b)) }
    }

    pub fn min(self, other: Bound) -> Bound {
        if self.most <= other.least {
            return self;
        }
        if other.most <= self.least {
            return other;
        }
        let (least, most) = (self.least.min(other.least), self.most.min(other.most));
        Bound::of(self.term.min(other.term), least, most)
    }

    pub fn max(self, other: Bound) -> Bound {
        self.times(-1).min(other.times(-1)).times(-1)
    }

    /// The quotient by a number above 0, rounded down.
    fn div(self, n: i128) -> Bound {
        Bound::of(self.term.div(n), self.least.div_euclid(n), self.most.div_euclid(n))
    }

    /// Whether it depends on an unknown from `first` on.
    fn depends(&self, first: usize) -> bool {
        let mut found = false;
        self.term.visit_variables(&mut |v: Unknown| found |= v.0 as usize >= first);
        found
    }
}

/// From a smallest to a largest value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Range {
    pub lo: Bound,
    pub hi: Bound,
}

impl Range {
    pub fn numbers(lo: i128, hi: i128) -> Range {
        Range { lo: Bound::lit(lo), hi: Bound::lit(hi) }
    }

    pub fn exactly(b: Bound) -> Range {
        Range { lo: b.clone(), hi: b }
    }

    /// All values of a type.
    pub fn all(elem: Elem) -> Range {
        let (lo, hi) = scalar::range(elem).unwrap_or((0, 1));
        Range::numbers(lo, hi)
    }

    /// With bounds that are numbers.
    pub fn numeric(&self) -> Range {
        Range::numbers(self.lo.least, self.hi.most)
    }

    pub fn add(self, other: Range) -> Range {
        Range { lo: self.lo.add(other.lo), hi: self.hi.add(other.hi) }
    }

    pub fn negated(self) -> Range {
        Range { lo: self.hi.times(-1), hi: self.lo.times(-1) }
    }

    pub fn join(self, other: Range) -> Range {
        Range { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    pub fn larger(self, other: Range) -> Range {
        Range { lo: self.lo.max(other.lo), hi: self.hi.max(other.hi) }
    }

    pub fn absolute(self) -> Range {
        let zero = Range::numbers(0, 0);
        let size = self.clone().larger(self.negated());
        size.larger(zero)
    }

    pub fn times(self, other: Range) -> Range {
        let (a, b) = match (self.as_numbers(), other.as_numbers()) {
            (None, None) => (self.numeric(), other.numeric()),
            (None, Some(_)) => (self, other),
            (Some(_), _) => (other, self),
        };
        // `b` is made of numbers now.
        let (c, d) = (b.lo.least, b.hi.most);
        let corner = |bound: &Bound, n: i128| bound.clone().times(n);
        let corners = [corner(&a.lo, d), corner(&a.hi, c), corner(&a.hi, d)];
        let first = corner(&a.lo, c);
        let lo = corners.iter().cloned().fold(first.clone(), Bound::min);
        let hi = corners.into_iter().fold(first, Bound::max);
        Range { lo, hi }
    }

    /// Divided by something from 1 on, rounded down.
    pub fn quotient(self, by: &Range) -> Range {
        let (least, most) = (by.lo.least.max(1), by.hi.most.max(1));
        if least == most {
            return Range { lo: self.lo.div(least), hi: self.hi.div(least) };
        }
        let (lo, hi) = (self.lo.least, self.hi.most);
        let all = [lo.div_euclid(least), lo.div_euclid(most), hi.div_euclid(least), hi.div_euclid(most)];
        Range::numbers(all.iter().copied().min().unwrap_or(lo), all.iter().copied().max().unwrap_or(hi))
    }

    fn as_numbers(&self) -> Option<(i128, i128)> {
        Some((self.lo.number()?, self.hi.number()?))
    }

    /// Without what depends on unknowns from `first` on: they mean something further in only.
    pub fn outside(self, first: usize) -> Range {
        let lo = if self.lo.depends(first) { Bound::lit(self.lo.least) } else { self.lo };
        let hi = if self.hi.depends(first) { Bound::lit(self.hi.most) } else { self.hi };
        Range { lo, hi }
    }

    /// What is left of it once it has been shown to fit a type.
    pub fn within(self, elem: Elem) -> Range {
        let Some((lo, hi)) = scalar::range(elem) else { return self };
        let clip = |b: Bound| {
            let (least, most) = (b.least.clamp(lo, hi), b.most.clamp(lo, hi));
            Bound::of(b.term, least, most)
        };
        Range { lo: clip(self.lo), hi: clip(self.hi) }
    }
}

/// What an integer word may be: something in `own`, or a running total and something in `ahead` of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Num {
    pub elem: Elem,
    pub own: Option<Range>,
    /// The number of the running total, and how far from it.
    pub ahead: Option<(u32, Range)>,
}

impl Num {
    pub fn of(elem: Elem, range: Range) -> Num {
        Num { elem, own: Some(range), ahead: None }
    }

    pub fn all(elem: Elem) -> Num {
        Num::of(elem, Range::all(elem))
    }

    /// A running total itself.
    pub fn total(elem: Elem, number: u32) -> Num {
        Num { elem, own: None, ahead: Some((number, Range::numbers(0, 0))) }
    }

    /// Its range, whatever the running total is: a running total fits its type.
    pub fn range(&self) -> Range {
        match (&self.own, &self.ahead) {
            (Some(own), None) => own.clone(),
            _ => Range::all(self.elem),
        }
    }

    /// Moved by something in a range.
    pub fn moved(self, by: &Range) -> Num {
        Num {
            elem: self.elem,
            own: self.own.map(|r| r.add(by.clone())),
            ahead: self.ahead.map(|(n, r)| (n, r.add(by.clone()))),
        }
    }

    pub fn join(self, other: Num) -> Num {
        let own = match (self.own, other.own) {
            (Some(a), Some(b)) => Some(a.join(b)),
            (a, b) => a.or(b),
        };
        let ahead = match (self.ahead, other.ahead) {
            (Some((n, a)), Some((m, b))) if n == m => Some((n, a.join(b))),
            (Some(_), Some(_)) => return Num::all(self.elem),
            (a, b) => a.or(b),
        };
        Num { elem: self.elem, own, ahead }
    }
}

/// What a word may be.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there are as many at a time as names in scope")]
pub(super) enum Value {
    /// An integer.
    Num(Num),
    /// A record's fields.
    Many(Vec<Value>),
    /// Of no interest here; its type, where it is an element's.
    Other(Option<Elem>),
}

impl Value {
    pub fn join(self, other: Value) -> Value {
        match (self, other) {
            (Value::Num(a), Value::Num(b)) => Value::Num(a.join(b)),
            (Value::Many(a), Value::Many(b)) => Value::Many(a.into_iter().zip(b).map(|(a, b)| a.join(b)).collect()),
            (Value::Other(e), _) | (_, Value::Other(e)) => Value::Other(e),
            _ => Value::Other(None),
        }
    }

    /// With each integer changed, in order.
    pub fn map(self, change: &mut impl FnMut(Num) -> Num) -> Value {
        match self {
            Value::Num(n) => Value::Num(change(n)),
            Value::Many(parts) => Value::Many(parts.into_iter().map(|p| p.map(change)).collect()),
            Value::Other(e) => Value::Other(e),
        }
    }

    /// Its integers in order.
    pub fn nums(&self) -> Vec<&Num> {
        match self {
            Value::Num(n) => vec![n],
            Value::Many(parts) => parts.iter().flat_map(Value::nums).collect(),
            Value::Other(_) => vec![],
        }
    }
}
