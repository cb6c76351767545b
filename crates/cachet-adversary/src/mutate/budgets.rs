//! A module that keeps arrays near, with one thing changed: a number or a factor of a declared row, a row, a level, a cache, a
//! size, or a number of a body.

use crate::generate::leases::Drawn;
use crate::random::Random;

/// Draws until a change is found.
const TRIES: usize = 30;

/// Changes one thing, and says what.
pub fn change(case: &mut Drawn, random: &mut Random) -> &'static str {
    for _ in 0..TRIES {
        // Mostly one that declares something.
        let all = 0..case.functions.len();
        let declares: Vec<usize> = all.clone().filter(|n| case.clauses[*n].contains("traffic")).collect();
        let of = if declares.is_empty() || random.once_in(4) { all.collect() } else { declares };
        let function = random.pick(&of);
        let done = match random.below(11) {
            0..=2 => number(&mut case.clauses[function], random).then_some("a number of a row"),
            3 => factor(&mut case.clauses[function], random).then_some("a factor of a row"),
            4 => line(&mut case.clauses[function], random).then_some("a row"),
            5 => replace(&mut case.clauses[function], " and back", "", random).then_some("a way back"),
            6 => swap(&mut case.clauses[function], random).then_some("a name of a row"),
            7 => {
                let cache = random.pick(&[0, 1]);
                let n = 1 + random.below(2);
                let old = case.caches[cache][n];
                case.caches[cache][n] = (old / 2).max(1);
                (case.caches[cache][n] != old).then_some("a cache")
            }
            8 => number(&mut case.functions[2][0], random).then_some("a size"),
            9 => number(&mut case.functions[1][0], random).then_some("a requirement"),
            _ => number(&mut case.functions[function][1], random).then_some("a number of a body"),
        };
        if let Some(what) = done {
            return what;
        }
    }
    "nothing"
}

/// Another number in place of one that stands alone: those of types and names stay.
fn number(text: &mut String, random: &mut Random) -> bool {
    let bytes = text.as_bytes();
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'.' || b == b'_';
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at].is_ascii_digit() && (at == 0 || !word(bytes[at - 1])) {
            let end = (at..bytes.len()).find(|e| !bytes[*e].is_ascii_digit()).unwrap_or(bytes.len());
            if bytes.get(end).is_none_or(|b| !word(*b)) {
                found.push((at, end));
            }
            at = end;
        } else {
            at += 1;
        }
    }
    if found.is_empty() {
        return false;
    }
    let (from, to) = random.pick(&found);
    let Ok(n) = text[from..to].parse::<i64>() else { return false };
    let other = random.pick(&[n + 1, 2 * n, (n - 1).max(0), n / 2, n + 9]);
    text.replace_range(from..to, &other.to_string());
    other != n
}

/// One factor less.
fn factor(text: &mut String, random: &mut Random) -> bool {
    let starts: Vec<usize> = text.match_indices(" * ").map(|(at, _)| at).collect();
    if starts.is_empty() {
        return false;
    }
    let at = random.pick(&starts);
    // Back to where the row begins, or to the factor before.
    let row = text[..at].rfind("traffic ").map_or(0, |n| n + "traffic ".len());
    let from = text[..at].rfind(" * ").filter(|n| *n > row).map_or(row, |n| n + 3);
    text.replace_range(from..at + 3, "");
    true
}

/// One line less.
fn line(text: &mut String, random: &mut Random) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let rows: Vec<usize> = (0..lines.len()).filter(|n| lines[*n].starts_with("  ")).collect();
    if rows.is_empty() {
        return false;
    }
    let gone = random.pick(&rows);
    let mut kept: Vec<String> =
        lines.iter().enumerate().filter(|(n, _)| *n != gone).map(|(_, l)| (*l).to_string()).collect();
    // A clause has rows; one that says that nothing moves is as good as none.
    if kept.last().is_some_and(|l| l == "movement") {
        kept.push("  traffic 0 from DRAM to L1".into());
    }
    *text = kept.join("\n") + "\n";
    true
}

fn replace(text: &mut String, old: &str, new: &str, random: &mut Random) -> bool {
    let found: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
    if found.is_empty() {
        return false;
    }
    let at = random.pick(&found);
    text.replace_range(at..at + old.len(), new);
    true
}

/// One name in place of another.
fn swap(text: &mut String, random: &mut Random) -> bool {
    let pairs = [
        ("to L1", "to L2"),
        ("to L2", "to L1"),
        ("from DRAM", "from L2"),
        ("from L2", "from DRAM"),
        ("span_bytes a.", "span_bytes b."),
        ("span_bytes b.", "span_bytes z."),
        ("span_bytes y.", "span_bytes a."),
        ("span_bytes p.", "span_bytes q."),
        ("ceil (M", "ceil (N"),
        ("ceil (N", "ceil (M"),
        ("M * ", "N * "),
        ("N * ", "M * "),
    ];
    let (old, new) = random.pick(&pairs);
    replace(text, old, new, random)
}
