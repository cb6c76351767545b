//! How many operations does a call make?
//!
//! Counted from the equations, whatever the schedule: every operation on words once for each time that the equations
//! ask for it, and one addition for each term of a sum, whatever it is made of, so that a term of a sum of products counts
//! two. Ranges and conditions may depend on other indices, as those of a triangle do: such an index is walked through, and
//! where it has more values than [`MOST_POINTS`] allow, evenly spread ones stand for the rest.

use super::arithmetic::Arithmetic;
use cachet_core::equations::{Contraction, Equation, Expr};
use cachet_core::ir::{Domain, Guard, Ix, TypeParamInfo, Var};
use cachet_core::sized::{holds, value};
use std::collections::{BTreeMap, BTreeSet};

/// How many combinations of values of indices an equation is looked at with.
const MOST_POINTS: f64 = 262_144.0;

/// Operations of one call at these sizes.
pub(super) fn operations(arithmetic: &Arithmetic<'_>, contraction: &Contraction, sizes: &[i64]) -> f64 {
    let values: BTreeMap<Var, i64> = contraction.sizes.iter().copied().zip(sizes.iter().copied()).collect();
    let types = &contraction.type_params;
    contraction.equations.iter().map(|e| of_equation(e, (arithmetic, types), &values)).sum()
}

fn of_equation(
    e: &Equation,
    (arithmetic, types): (&Arithmetic<'_>, &[TypeParamInfo]),
    sizes: &BTreeMap<Var, i64>,
) -> f64 {
    let mut wanted = BTreeSet::new();
    wanted_by(&e.value, &mut wanted);
    let domains: Vec<(Var, &Domain)> = e.indices.iter().copied().zip(&e.ranges).collect();
    domains.iter().for_each(|(_, d)| of_domain(d, &mut wanted));
    let walked = wanted.iter().filter(|v| !sizes.contains_key(v)).count();
    let points = MOST_POINTS.powf(1.0 / walked.max(1) as f64).floor().max(1.0) as i64;
    let mut count = Count { arithmetic, types, wanted, points, values: sizes.clone() };
    count.over(&domains, &[], &mut |count| count.of(&e.value))
}

struct Count<'a> {
    arithmetic: &'a Arithmetic<'a>,
    /// What the contraction is of.
    types: &'a [TypeParamInfo],
    /// Variables that a range or a condition depends on.
    wanted: BTreeSet<Var>,
    /// How many values of each of them are looked at.
    points: i64,
    values: BTreeMap<Var, i64>,
}

impl Count<'_> {
    fn of(&mut self, e: &Expr) -> f64 {
        match e {
            Expr::Lit(_) | Expr::Index(..) | Expr::Read(_) | Expr::Value(..) | Expr::Local(_) => 0.0,
            Expr::Op(op, _, args) => self.arithmetic.of_op(*op, self.types, args.len()) + self.all(args),
            Expr::Apply(f, args) => self.arithmetic.of_function(*f, args.len()) + self.all(args),
            Expr::Tuple(args) => self.all(args),
            Expr::Part(e, _) => self.of(e),
            Expr::Let(_, a, b) => self.of(a) + self.of(b),
            Expr::If(guard, a, b) => match self.holds(guard) {
                Some(true) => self.of(a),
                Some(false) => self.of(b),
                None => self.of(a).max(self.of(b)),
            },
            Expr::Sum(s) => {
                let domains: Vec<(Var, &Domain)> = s.binders.iter().map(|b| (b.var, &b.domain)).collect();
                let guards: Vec<Option<&Guard>> = s.binders.iter().map(|b| b.guard.as_ref()).collect();
                // A term's own operations, and one addition, which a product shares as a multiply-add.
                self.over(&domains, &guards, &mut |count| count.of(&s.body) + 1.0)
            }
        }
    }

    fn all(&mut self, words: &[Expr]) -> f64 {
        words.iter().map(|w| self.of(w)).sum()
    }

    /// The sum of something over all values of these indices for which their conditions hold.
    fn over(
        &mut self,
        domains: &[(Var, &Domain)],
        guards: &[Option<&Guard>],
        inner: &mut dyn FnMut(&mut Count<'_>) -> f64,
    ) -> f64 {
        let Some(((var, domain), rest)) = domains.split_first() else { return inner(self) };
        let (guard, guards) = guards.split_first().map_or((None, &[][..]), |(g, rest)| (*g, rest));
        let Some((lo, trips, step)) = self.range(domain) else { return 0.0 };
        if !self.wanted.contains(var) {
            return if trips == 0 { 0.0 } else { trips as f64 * self.over(rest, guards, inner) };
        }
        let looked_at = trips.min(self.points);
        let mut sum = 0.0;
        for point in 0..looked_at {
            let at = ((point as f64 + 0.5) * trips as f64 / looked_at as f64) as i64;
            self.values.insert(*var, lo + at * step);
            if guard.is_none_or(|g| self.holds(g) != Some(false)) {
                sum += self.over(rest, guards, inner);
            }
        }
        self.values.remove(var);
        if looked_at == 0 { 0.0 } else { sum * (trips as f64 / looked_at as f64) }
    }

    /// First value, how many, and how far apart.
    fn range(&self, domain: &Domain) -> Option<(i64, i64, i64)> {
        let of = |v: Var| self.values.get(&v).copied();
        match domain {
            Domain::Range { lo, hi } => {
                let (lo, hi) = (value(lo, &of)?, value(hi, &of)?);
                Some((lo, hi.saturating_sub(lo).max(0), 1))
            }
            Domain::Blocks { lo, hi, size } => {
                let (lo, hi) = (value(lo, &of)?, value(hi, &of)?);
                let trips = hi.saturating_sub(lo).max(0);
                Some((lo, trips.div_euclid(*size) + i64::from(trips.rem_euclid(*size) > 0), *size))
            }
        }
    }

    fn holds(&self, guard: &Guard) -> Option<bool> {
        holds(guard, &|v| self.values.get(&v).copied())
    }
}

/// The variables of every range and condition in a value.
fn wanted_by(e: &Expr, out: &mut BTreeSet<Var>) {
    match e {
        Expr::Lit(_) | Expr::Index(..) | Expr::Read(_) | Expr::Value(..) | Expr::Local(_) => {}
        Expr::Op(_, _, args) | Expr::Apply(_, args) | Expr::Tuple(args) => {
            args.iter().for_each(|a| wanted_by(a, out));
        }
        Expr::Part(e, _) => wanted_by(e, out),
        Expr::Let(_, a, b) => {
            wanted_by(a, out);
            wanted_by(b, out);
        }
        Expr::If(guard, a, b) => {
            of_guard(guard, out);
            wanted_by(a, out);
            wanted_by(b, out);
        }
        Expr::Sum(s) => {
            for b in &s.binders {
                of_domain(&b.domain, out);
                b.guard.iter().for_each(|g| of_guard(g, out));
            }
            wanted_by(&s.body, out);
        }
    }
}

fn of_domain(domain: &Domain, out: &mut BTreeSet<Var>) {
    let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, size: _ }) = domain;
    of_index(lo, out);
    of_index(hi, out);
}

fn of_guard(guard: &Guard, out: &mut BTreeSet<Var>) {
    match guard {
        Guard::Const(_) => {}
        Guard::Cmp(_, a, b) => {
            of_index(a, out);
            of_index(b, out);
        }
        Guard::And(a, b) | Guard::Or(a, b) => {
            of_guard(a, out);
            of_guard(b, out);
        }
        Guard::Not(a) => of_guard(a, out),
    }
}

fn of_index(ix: &Ix, out: &mut BTreeSet<Var>) {
    match ix {
        Ix::Lit(_) => {}
        Ix::Var(v) => {
            out.insert(*v);
        }
        Ix::Add(a, b) | Ix::Sub(a, b) | Ix::Min(a, b) | Ix::Max(a, b) => {
            of_index(a, out);
            of_index(b, out);
        }
        Ix::Mul(_, a) | Ix::Div(a, _) | Ix::Mod(a, _) => of_index(a, out),
        Ix::If(guard, a, b) => {
            of_guard(guard, out);
            of_index(a, out);
            of_index(b, out);
        }
        Ix::Block(v, _) => {
            out.insert(*v);
        }
        Ix::InBlock(v, a) => {
            out.insert(*v);
            of_index(a, out);
        }
    }
}
