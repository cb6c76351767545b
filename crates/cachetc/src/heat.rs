//! Which index changes how often? Colours for a listing on a terminal: the outermost index of a nest is cold, the
//! innermost hot.
//!
//! A listing says where an index is bound (`for i in`, `fold k in`, an axis of a `grid`), and its indentation where that
//! binding ends, so the text is all that is needed.

/// From the index that changes least to the one that changes most: blue, cyan, green, yellow, red.
const PALETTE: [&str; 5] = ["34", "36", "32", "33", "31"];

/// The words of the legend, one for each colour.
const WORDS: [&str; 5] = ["rarest", "rarely", "often", "more often", "most often"];

/// An index and its place in its nest.
struct Index<'a> {
    name: &'a str,
    /// How many indices are bound around it.
    depth: usize,
    /// The depth of the innermost index inside it.
    deepest: usize,
}

/// What the colours mean.
pub fn legend() -> String {
    let parts: Vec<String> = PALETTE.iter().zip(WORDS).map(|(c, w)| colour(c, w)).collect();
    format!("indices by how often they change: {}", parts.join(", "))
}

/// A listing, or statements, with their indices in colour.
pub fn paint(text: &str) -> String {
    let (indices, uses) = find(text);
    let mut out = String::new();
    let mut done = 0;
    for (start, end, index) in uses {
        let i = &indices[index];
        let heat = match i.deepest {
            0 => PALETTE.len() - 1,
            deepest => i.depth * (PALETTE.len() - 1) / deepest,
        };
        out.push_str(&text[done..start]);
        out.push_str(&colour(PALETTE[heat], &text[start..end]));
        done = end;
    }
    out.push_str(&text[done..]);
    out
}

fn colour(code: &str, text: &str) -> String {
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// The indices of a text, and where each is bound or used: from byte, to byte, which index.
fn find(text: &str) -> (Vec<Index<'_>>, Vec<(usize, usize, usize)>) {
    let mut indices: Vec<Index<'_>> = Vec::new();
    let mut uses = Vec::new();
    // Indices in scope, outermost first, each with the indentation of the line that binds it.
    let mut scope: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if !line.trim().is_empty() {
            while scope.last().is_some_and(|(from, _)| *from >= indent) {
                scope.pop();
            }
        }
        let code = line.split("//").next().unwrap_or("");
        for (start, name) in names(code) {
            let after = code[start + name.len()..].trim_start();
            if after.starts_with("in ") {
                let depth = scope.len();
                for (_, outer) in &scope {
                    indices[*outer].deepest = indices[*outer].deepest.max(depth);
                }
                scope.push((indent, indices.len()));
                indices.push(Index { name, depth, deepest: depth });
            }
            if let Some((_, index)) = scope.iter().rev().find(|(_, i)| indices[*i].name == name) {
                uses.push((at + start, at + start + name.len(), *index));
            }
        }
        at += line.len();
    }
    (indices, uses)
}

/// The names in a line with their places. Numbers are none.
fn names(code: &str) -> Vec<(usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\'';
    let mut out = Vec::new();
    let mut start = None;
    for (i, c) in code.char_indices().chain([(code.len(), ' ')]) {
        match (start, is_part(c)) {
            (None, true) => start = Some(i),
            (Some(from), false) => {
                let name = &code[from..i];
                if !name.starts_with(|c: char| c.is_ascii_digit()) {
                    out.push((from, name));
                }
                start = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{colour, find, paint};

    const NEST: &str = "for i in 0 .. M do\n  for k in 0 .. K do\n    for j in 0 .. N do\n      store c[i, j] = k\nfor i in 0 .. M do\n  store d[i] = j\n";

    #[test]
    fn depth_decides_and_scope_ends_with_indentation() {
        let painted = paint(NEST);
        let (blue, green, red) = (colour("34", "i"), colour("32", "k"), colour("31", "j"));
        assert!(painted.contains(&format!("store c[{blue}, {red}] = {green}\n")), "{painted}");
        // A loop by itself changes most often; `j` is no index there.
        assert!(painted.ends_with(&format!("store d[{}] = j\n", colour("31", "i"))), "{painted}");
    }

    #[test]
    fn sums_and_loops_on_one_line_nest() {
        let (indices, _) = find("for i in 0 .. M do for j in 0 .. N do\n  store c[i, j] =\n    fold k in 0 .. K do\n");
        let found: Vec<(&str, usize, usize)> = indices.iter().map(|i| (i.name, i.depth, i.deepest)).collect();
        assert_eq!(found, [("i", 0, 2), ("j", 1, 2), ("k", 2, 2)]);
    }

    #[test]
    fn without_colours_nothing_is_lost() {
        let mut plain = paint(NEST);
        for code in super::PALETTE {
            plain = plain.replace(&format!("\u{1b}[{code}m"), "");
        }
        assert_eq!(plain.replace("\u{1b}[0m", ""), NEST);
    }
}
