//! Every file of the repository, and thousands of mutants of them, through the formatter.
//!
//! A mutant says what its file says, in another style. Those that change only indentation, blanks within lines and line
//! ends are formatted to exactly what the file is formatted to.

use super::corpus::CORPUS;
use super::format::{comments, said, sound};
use super::totality::Random;
use crate::parse;
use cachet_source::FileId;
use std::path::{Path, PathBuf};

/// Every text of the repository that parses, and the corpus.
fn texts() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders: Vec<PathBuf> = ["examples", "library", "tests"].iter().map(|f| root.join(f)).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "cachet") {
                files.push(path);
            }
        }
    }
    files.sort();
    let read = files.iter().map(|f| std::fs::read_to_string(f).unwrap());
    let texts: Vec<String> = read.chain(CORPUS.iter().map(|t| (*t).to_owned())).filter(|t| parses(t)).collect();
    assert!(CORPUS.iter().all(|t| parses(t)));
    assert!(texts.len() > 70, "the files are gone: {}", texts.len());
    texts
}

fn parses(text: &str) -> bool {
    parse(text, FileId(0)).diagnostics.is_empty()
}

/// Whether a text parses and says this.
fn says(text: &str, what: &str) -> bool {
    let parsed = parse(text, FileId(0));
    parsed.diagnostics.is_empty() && said(&parsed.ast) == what
}

#[test]
fn every_file_is_sound() {
    for text in texts() {
        sound(&text);
    }
}

#[test]
fn another_style_is_formatted_to_the_same_text() {
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    for text in texts() {
        let (want, what) = (sound(&text), said(&parse(&text, FileId(0)).ast));
        for _ in 0..20 {
            let mutant = indented(&mut random, &want);
            let mutant = blanks(&mut random, &mutant);
            let mutant = ends(&mut random, &mutant);
            assert!(says(&mutant, &what), "the mutant says something else\n{mutant}");
            let got = sound(&mutant);
            assert!(got == want, "--- mutant\n{mutant}\n--- wanted\n{want}\n--- got\n{got}");
        }
    }
}

#[test]
fn comments_blank_lines_and_breaks_anywhere() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut tried, mut kept) = (0, 0);
    for text in texts() {
        let (text, what) = (sound(&text), said(&parse(&text, FileId(0)).ast));
        for round in 0..25 {
            let mut mutant = indented(&mut random, &text);
            for _ in 0..=random.below(4) {
                let next = change(&mut random, &mutant, round);
                tried += 1;
                // A break or a comma may stand where none is legal: such a change is not made.
                if says(&next, &what) {
                    kept += 1;
                    mutant = next;
                }
            }
            mutant = commented(&mut random, &mutant);
            mutant = ends(&mut random, &mutant);
            assert!(comments(&mutant).len() >= comments(&text).len());
            assert!(says(&mutant, &what), "the mutant says something else\n{mutant}");
            sound(&mutant);
        }
    }
    assert!(tried > 4_000 && kept * 3 > tried, "only {kept} of {tried} changes were legal");
}

/// Each block at another depth. Lines keep their order relative to the blocks around them.
fn indented(random: &mut Random, text: &str) -> String {
    let column = |line: &str| line.len() - line.trim_start().len();
    let is_code = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let lines: Vec<&str> = text.lines().collect();
    let mut stack: Vec<(usize, usize)> = vec![(0, 0)];
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        let col = column(line);
        if !is_code(line) {
            // A comment stands with a block that is open, or with the line below it.
            let below = lines[at..].iter().find(|l| is_code(l)).map_or(0, |l| column(l));
            let known = stack.iter().find(|(old, _)| *old == col && col != below).map(|(_, new)| *new);
            out += &format!("{}{}\n", known.map_or(String::new(), |n| " ".repeat(n)), line.trim_start());
            continue;
        }
        let mut above = None;
        while let Some((old, new)) = stack.pop_if(|(old, _)| *old > col) {
            above = Some((old, new));
        }
        let (old, new) = stack[stack.len() - 1];
        let new = match (old == col, above) {
            (true, _) => new,
            (false, None) => new + 2 + random.below(6),
            (false, Some((_, above))) => new + 1 + random.below(above - new - 1),
        };
        if old != col {
            stack.push((col, new));
        }
        out += &format!("{}{}\n", " ".repeat(new), line.trim_start());
    }
    out
}

/// Blanks within lines that say nothing: more of them, or none around operators.
fn blanks(random: &mut Random, text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let code = line.trim_start();
        out += &line[..line.len() - code.len()];
        let quiet = code.starts_with("//") || code.contains('"') || code.starts_with("builtin") || code.contains("//");
        for (i, word) in code.split(' ').enumerate() {
            let tight = |w: &str| matches!(w, "*" | "+" | "==" | ":=" | "=" | "..+" | "&&");
            let before = code.split(' ').nth(i.wrapping_sub(1)).unwrap_or("");
            let none = !quiet && i > 0 && random.below(3) == 0 && (tight(word) || tight(before));
            if i > 0 && !none {
                out += &" ".repeat(if quiet { 1 } else { 1 + random.below(3) });
            }
            out += word;
        }
        out += &" ".repeat(random.below(3));
        out.push('\n');
    }
    out
}

/// Other line ends, a byte order mark, no line end at the end.
fn ends(random: &mut Random, text: &str) -> String {
    let mut text = text.to_owned();
    if random.below(4) == 0 {
        text.truncate(text.trim_end().len());
    }
    if random.below(3) == 0 {
        text = text.replace('\n', "\r\n");
    }
    if random.below(4) == 0 { format!("\u{feff}{text}") } else { text }
}

/// One change at a random place: a line break, a trailing comma, blanks.
fn change(random: &mut Random, text: &str, round: usize) -> String {
    let places = |of: &[char]| -> Vec<usize> {
        text.char_indices().filter(|(i, c)| *i > 0 && of.contains(c)).map(|(i, _)| i).collect()
    };
    let (found, insert) = match round % 4 {
        0 => (places(&[' ']), format!("\n{}", " ".repeat(random.below(30)))),
        1 => (
            places(&['(', ',', ')']).into_iter().map(|i| i + 1).collect(),
            format!("\n{}", " ".repeat(random.below(20))),
        ),
        2 => (places(&[')', ']', '\n']), ",".to_owned()),
        _ => (places(&[' ', '(', ')', '=', ',', '*']), "  ".to_owned()),
    };
    if found.is_empty() {
        return text.to_owned();
    }
    let at = found[random.below(found.len())];
    format!("{}{insert}{}", &text[..at], &text[at..])
}

/// Comments at the ends of lines and on lines of their own, and blank lines, anywhere.
fn commented(random: &mut Random, text: &str) -> String {
    let mut out = String::new();
    for (at, line) in text.lines().enumerate() {
        match random.below(8) {
            0 => out += &format!("{}// own {at}\n", " ".repeat(random.below(12))),
            1 => out += &format!("\n \n{}//  own {at}  \n\n", " ".repeat(random.below(12))),
            2 => out += "\n\n\n",
            _ => {}
        }
        out += line;
        if random.below(6) == 0 && !line.contains("//") && !line.trim().is_empty() {
            // A division at the end of a line may not touch the comment: `///` is one.
            let least = usize::from(line.ends_with('/'));
            out += &format!("{}// end {at} \"", " ".repeat(random.below(3).max(least)));
        }
        out.push('\n');
    }
    if random.below(3) == 0 { out + "   // last\n\n" } else { out }
}
