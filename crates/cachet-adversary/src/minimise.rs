//! How small is a case that still fails?
//!
//! Whoever minimises says which cases are one step smaller, the boldest first, and whether a case fails. The first smaller
//! case that fails takes the place of the one before, until none of them does.

/// Tries after which a case is as small as it will be: a night has more cases to look at.
const MOST_TRIES: usize = 20_000;

/// The smallest case found that fails; `case` itself fails.
pub fn minimise<T: Clone>(mut case: T, smaller: impl Fn(&T) -> Vec<T>, mut fails: impl FnMut(&T) -> bool) -> T {
    let mut left = MOST_TRIES;
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
