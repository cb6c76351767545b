//! How small is a case that still fails?
//!
//! Whoever minimises says which cases are one step smaller, the boldest first, and whether a case fails. The first smaller
//! case that fails takes the place of the one before, until none of them does.

pub mod functions;

/// Tries after which a case is as small as it will be: a night has more cases to look at.
const MOST_TRIES: usize = 20_000;

/// The smallest case found that fails; `case` itself fails.
pub fn minimise<T>(case: T, smaller: impl Fn(&T) -> Vec<T>, fails: impl FnMut(&T) -> bool) -> T {
    within(MOST_TRIES, case, smaller, fails)
}

/// The same with a number of tries of one's own, where a try is dear.
pub fn within<T>(tries: usize, mut case: T, smaller: impl Fn(&T) -> Vec<T>, mut fails: impl FnMut(&T) -> bool) -> T {
    let mut left = tries;
    loop {
        let next = smaller(&case).into_iter().take(left).find(|candidate| {
            left -= 1;
            fails(candidate)
        });
        match next {
            Some(smaller) => case = smaller,
            None => return case,
        }
    }
}

/// Lists with fewer elements: halves and quarters away first, then single ones.
pub fn fewer<T: Clone>(all: &[T]) -> Vec<Vec<T>> {
    let mut out = Vec::new();
    let mut width = all.len();
    while width > 0 {
        for start in (0..all.len()).step_by(width) {
            let end = (start + width).min(all.len());
            out.push([&all[..start], &all[end..]].concat());
        }
        width /= 2;
    }
    out
}

/// Numbers nearer to 0.
pub fn nearer(n: i64) -> Vec<i64> {
    let mut out = Vec::new();
    for m in [0, n.signum(), n / 2, n - n.signum()] {
        if m.unsigned_abs() < n.unsigned_abs() && !out.contains(&m) {
            out.push(m);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_shrinks_to_what_fails() {
        let smaller = |list: &Vec<i64>| {
            let shorter = fewer(list);
            let lower = list.iter().enumerate().flat_map(|(at, n)| {
                nearer(*n).into_iter().map(move |m| {
                    let mut list = list.clone();
                    list[at] = m;
                    list
                })
            });
            shorter.into_iter().chain(lower).collect()
        };
        let start: Vec<i64> = (0..100).map(|n| n * 37 % 101).collect();
        let least = minimise(start, smaller, |list| list.iter().filter(|n| **n >= 10).count() >= 2);
        assert_eq!(least, [10, 10]);
        assert_eq!(within(0, vec![3], |l: &Vec<i64>| fewer(l), |_| true), [3]);
    }

    #[test]
    fn numbers_come_nearer_to_nothing() {
        assert!(nearer(0).is_empty());
        assert_eq!(nearer(1), [0_i64]);
        assert_eq!(nearer(-9), [0, -1, -4, -8]);
        assert_eq!(nearer(i64::MIN), [0, -1, i64::MIN / 2, i64::MIN + 1]);
        assert_eq!(fewer(&[1, 2]), [vec![], vec![2], vec![1]]);
    }
}
