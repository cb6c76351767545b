//! Can these linear facts hold together, and with which small integers? Equalities are solved and substituted;
//! what is left are inequalities, from which variables are eliminated one by one (Fourier and Motzkin), each new row
//! tightened to integers. Either a contradiction appears, or values are chosen backwards.
//!
//! Eliminating `x` from `b x >= L` and `a x <= U` leaves `a L <= b U`. If `a = 1` or `b = 1` that is exact; otherwise
//! there may be no integer between `L/b` and `U/a` ([`Outcome::Gap`]), and the search splits cases as in Pugh's Omega
//! test: there certainly is one if `b U - a L >= (a - 1)(b - 1)`.

use super::record::{Id, Record, Shape, Stop};
use crate::certificate::Linear;

/// The linear facts of a branch, in solved form.
#[derive(Clone, Default)]
pub(super) struct System {
    /// Inequalities, no two with the same coefficients, free of solved names.
    rows: Vec<Row>,
    /// Names with the equalities that determine them; the coefficient there is 1 or -1. Free of solved names otherwise.
    solved: Vec<(u32, Id)>,
    /// Facts not yet taken in.
    fresh: Vec<Id>,
}

/// An inequality, with the hash of its coefficients: most comparisons of rows end there.
#[derive(Clone, Copy)]
struct Row {
    id: Id,
    hash: u64,
}

/// What is known of a system.
pub(super) enum Outcome {
    /// This fact is absurd.
    Absurd(Id),
    /// Values of all names that satisfy all linear facts.
    Values(Vec<i128>),
    /// The lower bound row and the upper bound row of the name leave no integer between them.
    Gap { name: u32, lower: Id, upper: Id },
}

/// Rows of one elimination, at most.
const MOST_ROWS: usize = 4_000;

/// Looking at so many rows is as much work as writing a term.
const ROWS_LIKE_A_TERM: usize = 16;

/// Fourier-Motzkin prefers an exact elimination unless it costs this many rows more.
const PRICE_OF_INEXACT: i64 = 12;

impl System {
    pub(super) fn add(&mut self, id: Id) {
        self.fresh.push(id);
    }

    /// Brings the system into solved form and decides it.
    pub(super) fn close(&mut self, record: &mut Record, scratch: &mut Scratch) -> Result<Outcome, Stop> {
        loop {
            if let Some(absurd) = self.take_in(record)? {
                return Ok(Outcome::Absurd(absurd));
            }
            let mark = record.mark();
            match scratch.eliminate(&self.rows, record)? {
                Eliminated::Absurd(id) => return Ok(Outcome::Absurd(id)),
                Eliminated::Equality(above, below) => {
                    let equality = record.squeeze(above, below)?;
                    self.fresh.push(equality);
                }
                Eliminated::Gap { name, lower, upper } => {
                    // The rows are derived, and the caller needs them: they stay recorded.
                    return Ok(Outcome::Gap { name, lower, upper });
                }
                Eliminated::Values => {
                    record.release(mark);
                    let values = self.complete(record, scratch)?;
                    return Ok(Outcome::Values(values));
                }
            }
        }
    }

    /// Values of the solved names from the others.
    fn complete(&self, record: &Record, scratch: &Scratch) -> Result<Vec<i128>, Stop> {
        let mut values = vec![0; record.names as usize];
        let known = scratch.values.len().min(values.len());
        values[..known].copy_from_slice(&scratch.values[..known]);
        for (name, _) in &self.solved {
            values[*name as usize] = 0;
        }
        let mut found = Vec::with_capacity(self.solved.len());
        for (name, id) in &self.solved {
            let e = record.e(*id);
            let rest = e.eval(&values).ok_or(Stop::Overflow)?;
            found.push((*name, if e.coefficient(*name) > 0 { rest.checked_neg() } else { Some(rest) }));
        }
        for (name, value) in found {
            values[name as usize] = value.ok_or(Stop::Overflow)?;
        }
        Ok(values)
    }

    /// Takes in the fresh facts; Some if one turns out absurd.
    fn take_in(&mut self, record: &mut Record) -> Result<Option<Id>, Stop> {
        while let Some(id) = self.fresh.pop() {
            let id = self.reduce(id, record)?;
            let entry = record.get(id);
            match entry.shape {
                Shape::Zero if entry.e.terms.is_empty() => {
                    if entry.e.constant != 0 {
                        return Ok(Some(id));
                    }
                }
                Shape::Zero => {
                    if let Some(absurd) = self.solve(id, record)? {
                        return Ok(Some(absurd));
                    }
                }
                Shape::AtLeastZero => match insert(&mut self.rows, id, record)? {
                    Inserted::Done => {}
                    Inserted::Absurd(absurd) => return Ok(Some(absurd)),
                    Inserted::Equality(above, below) => {
                        let equality = record.squeeze(above, below)?;
                        self.fresh.push(equality);
                    }
                },
                Shape::Other => return Err(Stop::Confused),
            }
        }
        Ok(None)
    }

    /// The fact with solved names replaced, and divided by its common divisor.
    fn reduce(&self, id: Id, record: &mut Record) -> Result<Id, Stop> {
        let entry = record.get(id);
        let mut parts = vec![(id, 1)];
        if !self.solved.is_empty() {
            for (name, coefficient) in &entry.e.terms {
                if let Some((_, equality)) = self.solved.iter().find(|solved| solved.0 == *name) {
                    let unit = record.e(*equality).coefficient(*name);
                    parts.push((*equality, coefficient.checked_neg().ok_or(Stop::Overflow)? * unit));
                }
            }
        }
        if parts.len() == 1 && entry.e.common_divisor() <= 1 {
            return Ok(id);
        }
        record.combine(entry.shape, &parts)
    }

    /// Solves a reduced equality for a name, or names a combination that makes its coefficients smaller.
    fn solve(&mut self, id: Id, record: &mut Record) -> Result<Option<Id>, Stop> {
        let e = record.e(id);
        let common = e.common_divisor();
        if common > 1 && !e.constant.unsigned_abs().is_multiple_of(common) {
            return Ok(Some(id));
        }
        // The last unit coefficient: definitions and copies come after the variables they were made of.
        if let Some((name, unit)) = e.terms.iter().rev().find(|term| term.1.unsigned_abs() == 1).copied() {
            self.substitute(name, unit, id, record)?;
            return Ok(None);
        }
        let Some((smallest, pivot)) = e.terms.iter().min_by_key(|term| term.1.unsigned_abs()).copied() else {
            return Err(Stop::Confused);
        };
        let mut value = Linear::constant(nearest_quotient(e.constant, pivot).ok_or(Stop::Overflow)?);
        for (name, coefficient) in &e.terms {
            let quotient = nearest_quotient(*coefficient, pivot).ok_or(Stop::Overflow)?;
            debug_assert!(*name != smallest || quotient == 1);
            value.terms.extend((quotient != 0).then_some((*name, quotient)));
        }
        let definition = record.define(&value)?;
        // Solving the definition for the pivot's name turns the equality into one with smaller coefficients.
        self.fresh.push(id);
        self.substitute(smallest, -1, definition, record)?;
        Ok(None)
    }

    /// Replaces `name` everywhere by an equality in which it has the coefficient `unit`.
    fn substitute(&mut self, name: u32, unit: i128, equality: Id, record: &mut Record) -> Result<(), Stop> {
        for place in 0..self.solved.len() {
            let (other, id) = self.solved[place];
            let coefficient = record.e(id).coefficient(name);
            if coefficient != 0 {
                let multiple = coefficient.checked_mul(-unit).ok_or(Stop::Overflow)?;
                self.solved[place] = (other, record.combine(Shape::Zero, &[(id, 1), (equality, multiple)])?);
            }
        }
        self.solved.push((name, equality));
        let mut kept = 0;
        for place in 0..self.rows.len() {
            let row = self.rows[place];
            if record.e(row.id).coefficient(name) == 0 {
                self.rows[kept] = row;
                kept += 1;
            } else {
                self.fresh.push(row.id);
            }
        }
        self.rows.truncate(kept);
        Ok(())
    }
}

/// `a / b` rounded to the nearest integer; exact quotients stay.
fn nearest_quotient(a: i128, b: i128) -> Option<i128> {
    let (quotient, remainder) = (a.checked_div_euclid(b)?, a.checked_rem_euclid(b)?);
    let half = b.unsigned_abs() / 2;
    if remainder.unsigned_abs() > half { quotient.checked_add(b.signum()) } else { Some(quotient) }
}

enum Inserted {
    Done,
    Absurd(Id),
    Equality(Id, Id),
}

/// Adds an inequality to rows, of which no two have the same coefficients; the tighter one is kept.
fn insert(rows: &mut Vec<Row>, id: Id, record: &mut Record) -> Result<Inserted, Stop> {
    record.charge(rows.len() / ROWS_LIKE_A_TERM)?;
    let new = record.get(id);
    if new.e.terms.is_empty() {
        return Ok(if new.e.constant < 0 { Inserted::Absurd(id) } else { Inserted::Done });
    }
    let (hash, opposite) = (new.hash, new.hash.wrapping_neg());
    let mut same = None;
    let mut against = None;
    for (place, row) in rows.iter().enumerate() {
        if row.hash == hash && record.e(row.id).terms == new.e.terms {
            if record.e(row.id).constant <= new.e.constant {
                return Ok(Inserted::Done);
            }
            same = Some(place);
        } else if row.hash == opposite && are_opposite(record.e(row.id), &new.e) {
            against = Some(row.id);
        }
    }
    match same {
        Some(place) => rows[place].id = id,
        None if rows.len() >= MOST_ROWS => return Err(Stop::Budget),
        None => rows.push(Row { id, hash }),
    }
    let Some(row) = against else { return Ok(Inserted::Done) };
    let slack = new.e.constant.checked_add(record.e(row).constant).ok_or(Stop::Overflow)?;
    Ok(match slack {
        ..0 => Inserted::Absurd(record.combine(Shape::AtLeastZero, &[(id, 1), (row, 1)])?),
        0 => Inserted::Equality(id, row),
        1.. => Inserted::Done,
    })
}

fn are_opposite(a: &Linear, b: &Linear) -> bool {
    a.terms.len() == b.terms.len()
        && a.terms.iter().zip(&b.terms).all(|(s, t)| s.0 == t.0 && s.1.checked_neg() == Some(t.1))
}

enum Eliminated {
    Absurd(Id),
    Equality(Id, Id),
    Gap {
        name: u32,
        lower: Id,
        upper: Id,
    },
    /// In [`Scratch::values`].
    Values,
}

/// Working memory of eliminations, kept between them.
#[derive(Default)]
pub(super) struct Scratch {
    counts: Vec<Count>,
    present: Vec<u32>,
    rows: Vec<Row>,
    /// Rows set aside when a name was eliminated, with its coefficient there, one stretch for each level.
    aside: Vec<(Id, i128)>,
    levels: Vec<Level>,
    values: Vec<i128>,
}

#[derive(Clone, Copy, Default)]
struct Count {
    lower: i64,
    upper: i64,
    lower_inexact: bool,
    upper_inexact: bool,
}

impl Count {
    /// Rows gained by eliminating the name, plus the price of losing exactness.
    fn cost(self) -> i64 {
        let price = if self.lower_inexact && self.upper_inexact { PRICE_OF_INEXACT } else { 0 };
        self.lower * self.upper - self.lower - self.upper + price
    }
}

/// A value and the row that enforces it.
type Bound = (i128, Id);

struct Level {
    name: u32,
    first: usize,
    end: usize,
}

impl Scratch {
    fn eliminate(&mut self, rows: &[Row], record: &mut Record) -> Result<Eliminated, Stop> {
        self.rows.clear();
        self.rows.extend_from_slice(rows);
        self.aside.clear();
        self.levels.clear();
        while let Some(name) = self.cheapest(record) {
            let first = self.aside.len();
            let mut kept = 0;
            for place in 0..self.rows.len() {
                let row = self.rows[place];
                let coefficient = record.e(row.id).coefficient(name);
                if coefficient == 0 {
                    self.rows[kept] = row;
                    kept += 1;
                } else {
                    self.aside.push((row.id, coefficient));
                }
            }
            self.rows.truncate(kept);
            let end = self.aside.len();
            self.levels.push(Level { name, first, end });
            for lower in first..end {
                let (lower, b) = self.aside[lower];
                if b < 0 {
                    continue;
                }
                for upper in first..end {
                    let (upper, a) = self.aside[upper];
                    if a > 0 {
                        continue;
                    }
                    let row = shadow(lower, b, upper, a, record)?;
                    match insert(&mut self.rows, row, record)? {
                        Inserted::Done => {}
                        Inserted::Absurd(id) => return Ok(Eliminated::Absurd(id)),
                        Inserted::Equality(above, below) => return Ok(Eliminated::Equality(above, below)),
                    }
                }
            }
        }
        self.choose(record)
    }

    /// The name whose elimination costs least, of those left.
    fn cheapest(&mut self, record: &Record) -> Option<u32> {
        self.counts.resize(record.names as usize, Count::default());
        self.present.clear();
        for row in &self.rows {
            for (name, coefficient) in &record.e(row.id).terms {
                let count = &mut self.counts[*name as usize];
                if count.lower + count.upper == 0 {
                    self.present.push(*name);
                }
                if *coefficient > 0 {
                    count.lower += 1;
                    count.lower_inexact |= *coefficient != 1;
                } else {
                    count.upper += 1;
                    count.upper_inexact |= *coefficient != -1;
                }
            }
        }
        let best = self.present.iter().copied().min_by_key(|name| (self.counts[*name as usize].cost(), *name));
        for name in &self.present {
            self.counts[*name as usize] = Count::default();
        }
        best
    }

    /// Values for the eliminated names, the last one first, near 0.
    fn choose(&mut self, record: &Record) -> Result<Eliminated, Stop> {
        self.values.clear();
        self.values.resize(record.names as usize, 0);
        for level in self.levels.iter().rev() {
            let (mut low, mut high): (Option<Bound>, Option<Bound>) = (None, None);
            for (row, coefficient) in &self.aside[level.first..level.end] {
                let coefficient = *coefficient;
                // The name itself still has the value 0.
                let rest = record.e(*row).eval(&self.values).ok_or(Stop::Overflow)?;
                if coefficient > 0 {
                    let bound = rest.checked_neg().ok_or(Stop::Overflow)?;
                    let bound = -(-bound).div_euclid(coefficient);
                    if low.is_none_or(|low| bound > low.0) {
                        low = Some((bound, *row));
                    }
                } else {
                    let bound = rest.div_euclid(coefficient.checked_neg().ok_or(Stop::Overflow)?);
                    if high.is_none_or(|high| bound < high.0) {
                        high = Some((bound, *row));
                    }
                }
            }
            if let (Some((least, lower)), Some((most, upper))) = (low, high)
                && least > most
            {
                return Ok(Eliminated::Gap { name: level.name, lower, upper });
            }
            let value = 0.max(low.map_or(0, |low| low.0)).min(high.map_or(i128::MAX, |high| high.0));
            self.values[level.name as usize] = value;
        }
        Ok(Eliminated::Values)
    }
}

/// The consequence of `b x + p >= 0` and `a x + q >= 0` (`a < 0 < b`) without `x`.
fn shadow(lower: Id, b: i128, upper: Id, a: i128, record: &mut Record) -> Result<Id, Stop> {
    let a = a.checked_neg().ok_or(Stop::Overflow)?;
    let common = common_divisor(a, b);
    record.combine(Shape::AtLeastZero, &[(lower, a / common), (upper, b / common)])
}

/// Of two numbers > 0.
fn common_divisor(mut a: i128, mut b: i128) -> i128 {
    while a != 0 {
        (a, b) = (b % a, a);
    }
    b
}
