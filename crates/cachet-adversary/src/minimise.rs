//! What is the smallest case that still fails?

/// Replaces a case by the first smaller one that fails, until none of them does.
pub fn minimise<T: Clone>(case: T, smaller: impl Fn(&T) -> Vec<T>, mut fails: impl FnMut(&T) -> bool) -> T {
    let mut case = case;
    while let Some(next) = smaller(&case).into_iter().find(|c| fails(c)) {
        case = next;
    }
    case
}
