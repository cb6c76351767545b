//! Which constants does `synth const` choose?
//!
//! Every variable has literal bounds among the conditions, and all candidates inside them are tried: the one of least cost
//! that meets the conditions, of several the first in the order of the variables. A condition *binds* the choice if
//! without it another candidate would have been chosen.

use cachet_core::number::{Claim, Comparison, Fault, Num, Order};

/// The most candidates that are tried.
pub const MOST_CANDIDATES: i128 = 1 << 22;

/// What is to be chosen. The variables are the numbers' sizes.
#[derive(Clone, PartialEq, Debug)]
pub struct Search {
    /// How many variables there are.
    pub variables: usize,
    /// What is made small.
    pub cost: Num,
    /// What has to hold, each for itself.
    pub conditions: Vec<Claim>,
}

/// What was chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The variables' values.
    pub values: Vec<i128>,
    /// What it costs.
    pub cost: i128,
    /// The conditions that bind the choice, by their place in the list.
    pub bound_by: Vec<usize>,
}

/// Why nothing was chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// A variable without a literal bound below, or above.
    Unbounded {
        /// Which.
        variable: usize,
        /// Whether it is the one below that is missing.
        below: bool,
    },
    /// There are too many candidates.
    TooMany,
    /// No candidate meets all conditions: those that failed for the candidates which met the most.
    None(Vec<usize>),
    /// A number has no value for some candidate.
    NoValue(Fault),
}

/// Tries every candidate.
pub fn choose(search: &Search) -> Result<Choice, Refusal> {
    let ranges = ranges(search)?;
    let best = least(search, &ranges, None)?;
    let Some((values, cost)) = best else { return Err(Refusal::None(furthest(search, &ranges)?)) };
    let mut bound_by = Vec::new();
    for n in 0..search.conditions.len() {
        let without = least(search, &ranges, Some(n))?;
        if without.is_some_and(|(other, _)| other != values) {
            bound_by.push(n);
        }
    }
    Ok(Choice { values, cost, bound_by })
}

/// From and to, both included, of each variable.
fn ranges(search: &Search) -> Result<Vec<(i128, i128)>, Refusal> {
    let mut out = vec![(None::<i128>, None::<i128>); search.variables];
    for c in search.conditions.iter().flat_map(comparisons) {
        for (variable, order, side) in [(&c.lhs, c.order, &c.rhs), (&c.rhs, turned(c.order), &c.lhs)] {
            let Num::Size(v) = variable else { continue };
            let (Some(range), true) = (out.get_mut(*v as usize), side.is_ground()) else { continue };
            let n = side.value(&[]).map_err(Refusal::NoValue)?;
            let (low, high) = match order {
                Order::Eq => (Some(n), Some(n)),
                Order::Lt => (None, n.checked_sub(1)),
                Order::Le => (None, Some(n)),
                Order::Gt => (n.checked_add(1), None),
                Order::Ge => (Some(n), None),
                Order::Ne => (None, None),
            };
            range.0 = match (range.0, low) {
                (Some(a), Some(b)) => Some(a.max(b)),
                (a, b) => a.or(b),
            };
            range.1 = match (range.1, high) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
    }
    let mut candidates = 1i128;
    let mut ranges = Vec::new();
    for (variable, range) in out.into_iter().enumerate() {
        let low = range.0.ok_or(Refusal::Unbounded { variable, below: true })?;
        let high = range.1.ok_or(Refusal::Unbounded { variable, below: false })?;
        let count = high.checked_sub(low).and_then(|n| n.checked_add(1)).ok_or(Refusal::TooMany)?.max(0);
        candidates = candidates.checked_mul(count).filter(|n| *n <= MOST_CANDIDATES).ok_or(Refusal::TooMany)?;
        ranges.push((low, high));
    }
    Ok(ranges)
}

/// The comparisons that have to hold where a condition does.
fn comparisons(claim: &Claim) -> Vec<&Comparison> {
    match claim {
        Claim::Compare(c) => vec![c],
        Claim::And(a, b) => [comparisons(a), comparisons(b)].concat(),
        Claim::Const(_) | Claim::Or(..) | Claim::Not(_) => Vec::new(),
    }
}

fn turned(order: Order) -> Order {
    match order {
        Order::Eq => Order::Eq,
        Order::Ne => Order::Ne,
        Order::Lt => Order::Gt,
        Order::Le => Order::Ge,
        Order::Gt => Order::Lt,
        Order::Ge => Order::Le,
    }
}

/// The least candidate, one of the conditions perhaps left out. Bounds stay bounds.
fn least(
    search: &Search,
    ranges: &[(i128, i128)],
    without: Option<usize>,
) -> Result<Option<(Vec<i128>, i128)>, Refusal> {
    let mut best: Option<(Vec<i128>, i128)> = None;
    each(ranges, &mut |at| {
        for (n, c) in search.conditions.iter().enumerate() {
            if Some(n) != without && !c.holds(at).map_err(Refusal::NoValue)? {
                return Ok(());
            }
        }
        let cost = search.cost.value(at).map_err(Refusal::NoValue)?;
        if best.as_ref().is_none_or(|(_, least)| cost < *least) {
            best = Some((at.to_vec(), cost));
        }
        Ok(())
    })?;
    Ok(best)
}

/// The conditions that fail for the candidates which meet the most of them.
fn furthest(search: &Search, ranges: &[(i128, i128)]) -> Result<Vec<usize>, Refusal> {
    let mut fewest: Option<Vec<usize>> = None;
    each(ranges, &mut |at| {
        let mut failed = Vec::new();
        for (n, c) in search.conditions.iter().enumerate() {
            if !c.holds(at).map_err(Refusal::NoValue)? {
                failed.push(n);
            }
        }
        if fewest.as_ref().is_none_or(|f| failed.len() < f.len()) {
            fewest = Some(failed);
        }
        Ok(())
    })?;
    // Bounds that contradict each other leave no candidate at all.
    Ok(fewest.unwrap_or_else(|| (0..search.conditions.len()).collect()))
}

/// Every candidate, the last variable changing fastest.
fn each(ranges: &[(i128, i128)], see: &mut dyn FnMut(&[i128]) -> Result<(), Refusal>) -> Result<(), Refusal> {
    let mut at: Vec<i128> = ranges.iter().map(|r| r.0).collect();
    if ranges.iter().any(|(low, high)| low > high) {
        return Ok(());
    }
    loop {
        see(&at)?;
        let mut place = at.len();
        loop {
            let Some(last) = place.checked_sub(1) else { return Ok(()) };
            place = last;
            if at[place] < ranges[place].1 {
                at[place] += 1;
                break;
            }
            at[place] = ranges[place].0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(order: Order, lhs: Num, rhs: Num) -> Claim {
        Claim::Compare(Box::new(Comparison { order, lhs, rhs, texts: Default::default() }))
    }

    fn n() -> Num {
        Num::Size(0)
    }

    fn lit(n: i128) -> Num {
        Num::Lit(n)
    }

    fn b(n: Num) -> Box<Num> {
        Box::new(n)
    }

    /// Whole vectors of 4, and 16 chains of 4 rows.
    fn width() -> Search {
        let chains = Num::Mul(b(lit(4)), b(Num::Ceil(b(n()), b(lit(4)))));
        let conditions = vec![
            compare(Order::Gt, n(), lit(0)),
            compare(Order::Le, n(), lit(64)),
            compare(Order::Eq, Num::Mod(b(n()), b(lit(4))), lit(0)),
            compare(Order::Ge, chains, lit(16)),
        ];
        Search { variables: 1, cost: n(), conditions }
    }

    #[test]
    fn the_least_that_meets_the_conditions() {
        let choice = choose(&width()).unwrap();
        assert_eq!((choice.values, choice.cost), (vec![16], 16));
        assert_eq!(choice.bound_by, [2, 3]);
    }

    #[test]
    fn of_equal_costs_the_first() {
        let bounds = |v| [compare(Order::Ge, Num::Size(v), lit(1)), compare(Order::Le, lit(1), lit(3))];
        let mut conditions: Vec<Claim> = (0..2).flat_map(bounds).collect();
        conditions.extend((0..2).map(|v| compare(Order::Ge, lit(3), Num::Size(v))));
        let product = Num::Mul(b(Num::Size(0)), b(Num::Size(1)));
        conditions.push(compare(Order::Ge, product, lit(3)));
        let sum = Num::Add(b(Num::Size(0)), b(Num::Size(1)));
        let choice = choose(&Search { variables: 2, cost: sum, conditions }).unwrap();
        assert_eq!(choice.values, [1, 3]);
    }

    #[test]
    fn refusals_say_what_is_missing() {
        let mut open = width();
        open.conditions.remove(1);
        assert_eq!(choose(&open), Err(Refusal::Unbounded { variable: 0, below: false }));
        let mut none = width();
        none.conditions[1] = compare(Order::Lt, n(), lit(16));
        assert_eq!(choose(&none), Err(Refusal::None(vec![3])));
        let mut many = width();
        many.conditions[1] = compare(Order::Le, n(), lit(1 << 40));
        assert_eq!(choose(&many), Err(Refusal::TooMany));
        let mut divided = width();
        divided.cost = Num::Div(b(lit(1)), b(Num::Sub(b(n()), b(lit(20)))));
        assert!(matches!(choose(&divided), Err(Refusal::NoValue(Fault::Divisor(_)))));
    }
}
