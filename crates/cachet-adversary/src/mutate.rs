//! What breaks things: one change at a time to a program, to a function, to a recipe, to a step's definition, or to what a
//! step proposes.

pub mod budgets;
pub mod certificates;
pub mod faults;
pub mod formulas;
pub mod functions;
pub mod programs;
pub mod proposals;
pub mod recipes;
pub mod restated;
pub mod schedules;
pub mod steps;
pub mod texts;

/// The kind of change that a description tells of: its last part, without names and numbers.
pub fn operator(what: &str) -> String {
    let last = what.rsplit(": ").next().unwrap_or(what);
    let words: Vec<&str> = last.split(' ').collect();
    if let [_, "for", of] = words.as_slice() {
        return (if of.parse::<i64>().is_ok() { "another number" } else { "another index" }).into();
    }
    if last.contains(" := ") {
        return "another replacement".into();
    }
    let general = |word: &&str| {
        let plain = word.trim_start_matches(['+', '-']);
        let number = !plain.is_empty() && plain.chars().all(|c| c.is_ascii_digit() || c == '.');
        match *word {
            w if w.ends_with("'s") => "a name's".to_string(),
            w if number && !w.starts_with(['+', '-']) => "n".to_string(),
            w => w.to_string(),
        }
    };
    let words: Vec<String> = words.iter().map(general).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["in", ..] => "another block".into(),
        [_, "captures", _] => "captured name".into(),
        ["loop", _] => "another loop".into(),
        [_, "runs", "backwards"] | [_, "summed", "backwards"] => "backwards".into(),
        [_, "inside", "its", "inner", "loop"] => "inside its inner loop".into(),
        [_, "of", _, by] if by.starts_with(['+', '-']) => "extent".into(),
        _ => words.join(" "),
    }
}
