//! What the loops of one nest are in terms of another's, by the cells that their statements name.
//!
//! The statements of both nests are walked side by side. Where the first one names `c[i, j]` and the last one
//! `c[gi[i], 16 * p + r]`, `i` is `gi[i]` and `j` is `16 * p + r`: equations that are solved for the first nest's indices
//! (`by`). They say as well what the last nest's indices are in terms of the first one's (`back`): a sum whose factors
//! descend counts in a mixed radix, so its parts are quotients and remainders.

use super::Unfit;
use super::nests::Nest;
use super::walk::{Equation, Forms, walk};
use cachet_core::ir::{BlockPart, Domain, Fun, Ix, Var};
use cachet_core::linear::{difference, multiple, sum};
use cachet_core::rewrite::{Live, Subst};
use std::collections::BTreeMap;

/// The two maps of a `reorder`.
pub struct Maps {
    /// The first nest's loops, outermost first, each in terms of the last one's.
    pub by: Vec<(Var, Ix)>,
    /// The other way round.
    pub back: Vec<(Var, Ix)>,
}

impl Maps {
    /// Whether the two nests have loops of one kind in one order; whether over the same ranges is for the comparison.
    pub fn keeps(&self, s: &Nest<'_>, t: &Nest<'_>) -> bool {
        let one_kind = |d: &Domain, e: &Domain| matches!(d, Domain::Range { .. }) == matches!(e, Domain::Range { .. });
        s.loops.len() == t.loops.len()
            && s.loops.iter().zip(&t.loops).all(|((_, d), (_, e))| one_kind(d, e))
            && t.loops.iter().zip(&self.by).all(|((w, e), (_, value))| *value == counter(*w, e))
    }

    /// Whether the two nests have the same loops already.
    pub fn changes_nothing(&self, s: &Nest<'_>, t: &Nest<'_>) -> bool {
        let renamed = Subst { vars: self.by.iter().cloned().collect(), ..Subst::default() };
        s.loops.len() == t.loops.len()
            && s.loops
                .iter()
                .zip(&t.loops)
                .zip(&self.by)
                .all(|(((_, d), (w, e)), (_, value))| *value == counter(*w, e) && renamed.domain(d) == *e)
    }
}

/// What a map calls an iteration of a loop: its index, or its block's number.
pub fn counter(v: Var, domain: &Domain) -> Ix {
    match domain {
        Domain::Range { .. } => Ix::Var(v),
        Domain::Blocks { .. } => Ix::Block(v, BlockPart::Idx),
    }
}

/// Reads the maps between two nests off their statements, and those between nests inside, which come first. Nests that
/// agree already have none.
pub fn read(fun: &Fun, s: &Nest<'_>, t: &Nest<'_>) -> Result<Vec<Maps>, Unfit> {
    let mut forms = Forms::default();
    forms.enter(&s.loops);
    forms.enter(&t.loops);
    let equations = walk(fun, s.body, t.body, &mut forms)?;
    let found = solve(fun, s, t, &forms, &equations)?;
    let mut all = std::mem::take(&mut forms.maps);
    if !found.changes_nothing(s, t) {
        all.push(found);
    }
    Ok(all)
}

/// The maps between two nests, from the equations of what they run.
pub fn solve(fun: &Fun, s: &Nest<'_>, t: &Nest<'_>, forms: &Forms, equations: &[Equation]) -> Result<Maps, Unfit> {
    let by = solve_by(fun, s, t, forms, equations).ok_or(Unfit::Unseen)?;
    let back = solve_back(t, forms, &by).ok_or(Unfit::Unseen)?;
    match by.is_empty() || back.is_empty() {
        true => Err(Unfit::Statements),
        false => Ok(Maps { by, back }),
    }
}

/// The first nest's indices in terms of the last one's.
fn solve_by(fun: &Fun, s: &Nest<'_>, t: &Nest<'_>, forms: &Forms, equations: &[Equation]) -> Option<Vec<(Var, Ix)>> {
    let mut known: BTreeMap<Var, Ix> = forms.inner.clone();
    // Blocks on both sides are counted by their own numbers.
    for (v, d) in &s.loops {
        if let Domain::Blocks { size, .. } = d {
            let same = |(w, e): &&(Var, Domain)| {
                matches!(e, Domain::Blocks { size: other, .. } if size == other) && name(fun, *v) == name(fun, *w)
            };
            if let Some((w, _)) = t.loops.iter().find(same) {
                known.insert(*v, Ix::Block(*w, BlockPart::Idx));
            }
        }
    }
    let missing = |known: &BTreeMap<Var, Ix>| s.loops.iter().find(|(v, _)| !known.contains_key(v)).cloned();
    while let Some((v, domain)) = missing(&known) {
        let solved = equations.iter().find_map(|e| solve_one(e, s, forms, &known));
        let (var, value) = match solved {
            Some(found) => found,
            // No cell shows it: a loop that is still there, under its name and over its range.
            None => {
                let renamed = Subst { vars: known.clone(), ..Subst::default() };
                let same = |(w, e): &&(Var, Domain)| name(fun, v) == name(fun, *w) && renamed.domain(&domain) == *e;
                let (w, e) = t.loops.iter().find(same)?;
                (v, counter(*w, e))
            }
        };
        known.insert(var, value);
    }
    Some(s.loops.iter().filter_map(|(v, _)| Some((*v, known.get(v)?.clone()))).collect())
}

fn name(fun: &Fun, v: Var) -> &str {
    &fun.vars[v.index()].name
}

/// An index that an equation leaves alone with a factor of 1 or -1.
fn solve_one(e: &Equation, s: &Nest<'_>, forms: &Forms, known: &BTreeMap<Var, Ix>) -> Option<(Var, Ix)> {
    if let Ix::Var(v) = &e.s
        && !known.contains_key(v)
        && s.loops.iter().any(|(x, _)| x == v)
    {
        return Some((*v, e.t.clone()));
    }
    let form = forms.linear(&e.s)?;
    let mut open = form.terms.iter().filter(|(v, _)| s.loops.iter().any(|(x, _)| x == *v) && !known.contains_key(v));
    let (v, factor) = open.next()?;
    if open.next().is_some() || factor.abs() != 1 {
        return None;
    }
    let mut rest = difference(&e.t, &Ix::Lit(form.constant));
    for (x, n) in form.terms.iter().filter(|(x, _)| *x != v) {
        let value = known.get(x).cloned().unwrap_or(Ix::Var(*x));
        rest = difference(&rest, &multiple(*n, &value));
    }
    // What a block's number was taken from cancels against its parts.
    let rest = forms.tidy(&rest);
    Some((*v, if *factor == 1 { rest } else { multiple(-1, &rest) }))
}

/// The last nest's indices in terms of the first one's.
fn solve_back(t: &Nest<'_>, forms: &Forms, by: &[(Var, Ix)]) -> Option<Vec<(Var, Ix)>> {
    let mut known: BTreeMap<Var, Ix> = BTreeMap::new();
    let loops: BTreeMap<Var, &Domain> = t.loops.iter().map(|(v, d)| (*v, d)).collect();
    for (v, e) in by {
        known.extend(turned(*v, e, &loops, forms));
    }
    known.extend(single(t));
    let mut equations = Vec::new();
    for (v, e) in by {
        let (value, e) = in_blocks(Ix::Var(*v), e, &loops, &mut known);
        equations.extend(forms.linear(e).map(|form| (value, form)));
    }
    // One unknown first, then the shortest sums: what is known makes the others shorter.
    for most in 1..=t.loops.len() {
        let mut again = true;
        while again {
            again = false;
            for (value, form) in &equations {
                let mut open: Vec<(Var, i64)> = Vec::new();
                let mut rest = difference(value, &Ix::Lit(form.constant));
                for (x, n) in &form.terms {
                    match (loops.contains_key(x), known.get(x)) {
                        (true, None) => open.push((*x, *n)),
                        (true, Some(value)) => rest = difference(&rest, &multiple(*n, value)),
                        (false, _) => rest = difference(&rest, &multiple(*n, &Ix::Var(*x))),
                    }
                }
                if open.is_empty() || open.len() > most {
                    continue;
                }
                if let Some(found) = digits(rest, open, &loops, &known) {
                    known.extend(found);
                    again = true;
                }
            }
        }
    }
    t.loops
        .iter()
        .map(|(v, d)| match (known.get(v), d) {
            (Some(e), _) => Some((*v, e.clone())),
            (None, _) if by.iter().any(|(_, e)| Live::of_ix(e).vars.contains(v)) => None,
            // It changes nothing that is seen, so it has to run once.
            (None, Domain::Range { lo, .. }) => Some((*v, in_terms(lo, &loops, &known)?)),
            (None, Domain::Blocks { .. }) => Some((*v, Ix::Lit(0))),
        })
        .collect()
}

/// Loops that have one iteration at most, with it.
fn single(t: &Nest<'_>) -> Vec<(Var, Ix)> {
    let (mut longest, mut out): (BTreeMap<Var, i64>, Vec<(Var, Ix)>) = (BTreeMap::new(), Vec::new());
    for (v, d) in &t.loops {
        let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, .. }) = d;
        let Ix::Lit(first) = lo else { continue };
        let length = most(hi, &longest).map(|last| last - first);
        match d {
            Domain::Range { .. } if length.is_some_and(|n| n <= 1) => out.push((*v, lo.clone())),
            Domain::Range { .. } => {}
            Domain::Blocks { size, .. } => {
                longest.insert(*v, length.map_or(*size, |n| n.min(*size)));
                if length.is_some_and(|n| n <= *size) {
                    out.push((*v, Ix::Lit(0)));
                }
            }
        }
    }
    out
}

/// What an index is at most, where that is plain.
fn most(ix: &Ix, longest: &BTreeMap<Var, i64>) -> Option<i64> {
    match ix {
        Ix::Lit(n) => Some(*n),
        Ix::Block(g, BlockPart::Len) => longest.get(g).copied(),
        Ix::Div(a, n) => Some(most(a, longest)?.div_euclid(*n)),
        Ix::Min(a, b) => match (most(a, longest), most(b, longest)) {
            (Some(x), Some(y)) => Some(x.min(y)),
            (x, y) => x.or(y),
        },
        Ix::Var(_)
        | Ix::Add(..)
        | Ix::Sub(..)
        | Ix::Mul(..)
        | Ix::Mod(..)
        | Ix::Max(..)
        | Ix::If(..)
        | Ix::Block(..)
        | Ix::InBlock(..) => None,
    }
}

/// `value = g[e]` says which block `g` is, and what `e` is: it is inside, whatever it consists of.
fn in_blocks<'a>(
    mut value: Ix,
    mut e: &'a Ix,
    loops: &BTreeMap<Var, &Domain>,
    known: &mut BTreeMap<Var, Ix>,
) -> (Ix, &'a Ix) {
    while let Ix::InBlock(g, inside) = e
        && let Some(Domain::Blocks { lo, size, .. }) = loops.get(g)
        && let Some(lo) = in_terms(lo, loops, known)
    {
        let place = difference(&value, &lo);
        value = match known.get(g) {
            Some(number) => difference(&place, &multiple(*size, number)),
            None => {
                known.insert(*g, Ix::Div(Box::new(place.clone()), *size));
                Ix::Mod(Box::new(place), *size)
            }
        };
        e = inside;
    }
    (value, e)
}

/// The last unknown of a remainder: from `v = (x + rest) % n` follows `x = (v - rest) % n`, if `x` runs from 0 to `n`.
fn turned(v: Var, e: &Ix, loops: &BTreeMap<Var, &Domain>, forms: &Forms) -> Option<(Var, Ix)> {
    let Ix::Mod(a, n) = e else { return None };
    let mut form = forms.linear(a)?;
    let full = Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(*n) };
    let (x, _) = form.terms.iter().find(|(x, n)| **n == 1 && loops.get(x).is_some_and(|d| **d == full))?;
    let x = *x;
    form.terms.remove(&x);
    // The others are the same on both sides, or the checker refuses it.
    let rest = form.terms.iter().fold(Ix::Lit(form.constant), |all, (y, n)| sum(&all, &multiple(*n, &Ix::Var(*y))));
    Some((x, Ix::Mod(Box::new(difference(&Ix::Var(v), &rest)), *n)))
}

/// The parts of a number in a mixed radix. A part that is taken away counts from its end.
fn digits(
    mut number: Ix,
    mut open: Vec<(Var, i64)>,
    loops: &BTreeMap<Var, &Domain>,
    known: &BTreeMap<Var, Ix>,
) -> Option<Vec<(Var, Ix)>> {
    open.sort_by_key(|(_, n)| -n.abs());
    if open.first()?.1 < 0 {
        number = multiple(-1, &number);
        open.iter_mut().for_each(|(_, n)| *n = -*n);
    }
    if let [(v, 1)] = open[..] {
        return Some(vec![(v, number)]);
    }
    let (mut starts, mut rest) = (Vec::new(), number);
    for (v, n) in &open {
        let start = match loops.get(v)? {
            Domain::Range { lo, .. } if *n > 0 => in_terms(lo, loops, known)?,
            Domain::Range { hi, .. } => difference(&in_terms(hi, loops, known)?, &Ix::Lit(1)),
            Domain::Blocks { .. } if *n > 0 => Ix::Lit(0),
            Domain::Blocks { .. } => return None,
        };
        rest = difference(&rest, &multiple(*n, &start));
        starts.push(start);
    }
    let mut out = Vec::new();
    for ((v, n), start) in open.iter().zip(starts) {
        let (digit, left) = match n.abs() {
            1 => (rest.clone(), Ix::Lit(0)),
            n => (Ix::Div(Box::new(rest.clone()), n), Ix::Mod(Box::new(rest.clone()), n)),
        };
        out.push((*v, if *n > 0 { sum(&start, &digit) } else { difference(&start, &digit) }));
        rest = left;
    }
    Some(out)
}

/// An index of the last nest's loops in terms of the first one's, as far as they are known.
fn in_terms(ix: &Ix, loops: &BTreeMap<Var, &Domain>, known: &BTreeMap<Var, Ix>) -> Option<Ix> {
    let unknown = Live::of_ix(ix).vars.into_iter().any(|v| loops.contains_key(&v) && !known.contains_key(&v));
    let blocks = loops.iter().any(|(v, d)| matches!(d, Domain::Blocks { .. }) && Live::of_ix(ix).vars.contains(v));
    (!unknown && !blocks).then(|| Subst { vars: known.clone(), ..Subst::default() }.ix(ix))
}
