//! "Did you mean": the known name that is nearest to one that is not.

/// Names further away than this are another word.
const MOST_EDITS: usize = 2;

/// The known name nearest to `name`, if it is near enough to be a slip of it: at least two thirds of its letters are right.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    known
        .map(|k| (strsim::damerau_levenshtein(name, k), k))
        .filter(|(d, k)| *d <= MOST_EDITS && 3 * *d <= k.len().max(name.len()))
        .min()
        .map(|(_, k)| k.to_string())
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_corrected_and_another_word_is_not() {
        let known = ["hoist", "zero", "interchange", "g"];
        assert_eq!(nearest("hoits", known.into_iter()).as_deref(), Some("hoist"));
        assert_eq!(nearest("h", known.into_iter()), None);
        assert_eq!(nearest("split", known.into_iter()), None);
    }
}
