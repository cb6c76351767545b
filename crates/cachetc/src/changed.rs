//! Which lines of a listing are new, against the listing of the program before.

/// What stands behind a line that is new. It is a comment, so a marked listing still parses.
const MARK: &str = "// <";

/// Marks stand below one another up to this column; behind a longer line its mark stands by itself.
const MOST_WIDE: usize = 100;

/// Beyond this many pairs of lines the middle of the two texts counts as new as a whole.
const MOST_PAIRS: usize = 1 << 24;

/// For each line of `after`, whether it has no counterpart in `before`. Indentation does not count: a line that a new
/// loop was put around is the same line.
pub fn changed(before: &str, after: &str) -> Vec<bool> {
    let a: Vec<&str> = before.lines().map(str::trim).collect();
    let b: Vec<&str> = after.lines().map(str::trim).collect();
    let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let most = a.len().min(b.len()) - head;
    let tail = a.iter().rev().zip(b.iter().rev()).take(most).take_while(|(x, y)| x == y).count();
    let mut out = vec![false; b.len()];
    let (a, b) = (&a[head..a.len() - tail], &b[head..b.len() - tail]);
    for (i, new) in without_counterpart(a, b).into_iter().enumerate() {
        out[head + i] = new;
    }
    out
}

/// The lines of `b` that are not in a longest common subsequence.
fn without_counterpart(a: &[&str], b: &[&str]) -> Vec<bool> {
    let mut out = vec![true; b.len()];
    let wide = b.len() + 1;
    if a.len().saturating_mul(wide) > MOST_PAIRS {
        return out;
    }
    // `length[i * wide + j]`: of the longest common subsequence of `a[i..]` and `b[j..]`.
    let mut length = vec![0u32; (a.len() + 1) * wide];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            length[i * wide + j] = if a[i] == b[j] {
                length[(i + 1) * wide + j + 1] + 1
            } else {
                length[(i + 1) * wide + j].max(length[i * wide + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            out[j] = false;
            (i, j) = (i + 1, j + 1);
        } else if length[(i + 1) * wide + j] >= length[i * wide + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    out
}

/// The listing with its new lines marked, the marks below one another.
pub fn marked(listing: &str, changed: &[bool]) -> String {
    let is_new = |n: usize| changed.get(n).copied().unwrap_or(false);
    let wide = listing.lines().enumerate().filter(|(n, _)| is_new(*n)).map(|(_, l)| l.chars().count());
    let wide = wide.filter(|n| *n <= MOST_WIDE).max().unwrap_or(0);
    let mut out = String::new();
    for (n, line) in listing.lines().enumerate() {
        if is_new(n) {
            out.push_str(&format!("{line:wide$}  {MARK}\n"));
        } else {
            out.push_str(&format!("{line}\n"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{changed, marked};

    #[test]
    fn a_line_that_only_moved_inwards_is_not_new() {
        let before = "for i do\n  store x\n";
        let after = "for i do\n  for k do\n    store x\n";
        assert_eq!(changed(before, after), [false, true, false]);
        assert_eq!(marked(after, &changed(before, after)), "for i do\n  for k do  // <\n    store x\n");
    }

    #[test]
    fn swapped_lines_are_told_apart() {
        // One of two lines that changed places is the one that moved.
        assert_eq!(changed("a\nb\nc\n", "b\na\nc\n").iter().filter(|c| **c).count(), 1);
        assert_eq!(changed("a\nb\n", "a\nb\n"), [false, false]);
        assert_eq!(changed("", "a\n"), [true]);
        assert_eq!(changed("a\na\n", "a\n"), [false]);
    }
}
