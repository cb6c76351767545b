//! The same program in other words: its names renamed, its declarations in another order.
//!
//! All words of a file that stand for the same name get the same other one, so nothing means anything else. Names that the
//! file has from elsewhere stay: those of what it imports, and those that the language knows; the latter are the ones
//! without which it does not load. What a step calls the loops that it makes is known only when the step is taken: [`made`]
//! finds these names.

use super::texts::replaced;
use crate::corpus::{Corpus, normal};
use crate::random::Random;
use cachet_source::words::RESERVED;
use cachet_source::{Diagnostic, FileId, Sources, codes};
use cachet_syntax::{SyntaxKind, SyntaxNode, parse};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How names are renamed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Naming {
    /// Among themselves, at random.
    Exchanged,
    /// To new ones that sort the other way around.
    Backwards,
    /// To long ones.
    Long,
}

impl Naming {
    /// All of them.
    pub const ALL: [Naming; 3] = [Naming::Exchanged, Naming::Backwards, Naming::Long];
}

/// Operations that a recipe or a step's argument may name; only the step that takes them looks.
const OPERATIONS: [&str; 11] =
    ["add", "and", "combine", "fma", "max", "min", "mul", "mul_add", "or", "wrapping_add", "wrapping_mul"];

/// The names in a text, each with how often it stands there. Names behind a dot are not counted: a loop's `.outer`.
pub fn names(text: &str) -> BTreeMap<String, usize> {
    let mut out = BTreeMap::new();
    for (_, word) in words(text) {
        *out.entry(word).or_default() += 1;
    }
    out
}

/// Where the words are that may be names.
fn words(text: &str) -> Vec<(std::ops::Range<usize>, String)> {
    let tree: SyntaxNode = parse(text, FileId(0)).tree;
    let tokens = tree.descendants_with_tokens().filter_map(|e| e.into_token()).filter(|t| !t.kind().is_trivia());
    let mut out = Vec::new();
    for t in tokens {
        let at = usize::from(t.text_range().start());
        match t.kind() {
            SyntaxKind::Name => out.push((at..at + t.text().len(), t.text().to_string())),
            // A hole may be bound to a parameter by its name.
            SyntaxKind::Hole => out.push((at + 1..at + t.text().len(), t.text()[1..].to_string())),
            _ => {}
        }
    }
    out
}

/// The names of a file that may be renamed, and how many others it has.
pub fn free(corpus: &Corpus, name: &str, text: &str) -> (Vec<String>, usize) {
    let mut foreign = imported(corpus, name, text);
    // An item that took over such a name from a local would be a second one.
    foreign.extend(of_library());
    let before = loads(corpus, name, text);
    let (mut free, mut bound) = (Vec::new(), 0);
    let known = |w: &str| w == "main" || OPERATIONS.contains(&w) || RESERVED.contains(&w);
    for word in names(text).into_keys().filter(|w| !known(w) && !foreign.contains(w)) {
        let other = renamed(text, &[(word.clone(), "renamed'0".to_string())].into());
        match loads(corpus, name, &other) == before {
            true => free.push(word),
            false => bound += 1,
        }
    }
    (free, bound)
}

/// What the library defines.
fn of_library() -> BTreeSet<String> {
    let files = cachet::library::names().filter_map(cachet::library::files).flatten();
    let items = files.flat_map(|(_, text)| parse(text, FileId(0)).ast.items);
    items.flat_map(|i| i.names().into_iter().map(|n| n.name.clone()).collect::<Vec<_>>()).collect()
}

/// Those of the names without which a step finds nothing: they are what it, or one before it, calls a loop that it made.
pub fn made(corpus: &Corpus, name: &str, text: &str, free: &[String]) -> Vec<String> {
    let unknown = |text: &str| {
        let world = corpus.with(name, text.as_bytes());
        let reports = cachet::pipeline::check(name, &world).diagnostics;
        reports.iter().filter(|d| d.code == codes::UNKNOWN_NAME).count()
    };
    let before = unknown(text);
    let is_made = |w: &&String| unknown(&renamed(text, &[((*w).clone(), "renamed'0".to_string())].into())) > before;
    free.iter().filter(is_made).cloned().collect()
}

/// What the front end says of it, by the kinds of reports.
fn loads(corpus: &Corpus, name: &str, text: &str) -> Vec<(&'static str, bool)> {
    let world = corpus.with(name, text.as_bytes());
    let (_, reports) = cachet_frontend::load(name, &world, &mut Sources::new());
    reports.iter().map(|d: &Diagnostic| (d.code.0, d.refuses())).collect()
}

/// The words of all files that a file imports, and of those that these import.
fn imported(corpus: &Corpus, name: &str, text: &str) -> BTreeSet<String> {
    let (mut out, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut open = vec![(name.to_string(), text.to_string())];
    while let Some((name, text)) = open.pop() {
        for import in parse(&text, FileId(0)).ast.imports {
            let path = import.path.value;
            let files: Vec<(String, String)> = match path.strip_prefix("cachet:") {
                Some(module) => {
                    let files = cachet::library::files(module).unwrap_or_default();
                    files.into_iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
                }
                None => {
                    let at = normal(&Path::new(&name).parent().unwrap_or(Path::new("")).join(&path));
                    corpus.files.iter().filter(|(n, _)| Path::new(n) == at).cloned().collect()
                }
            };
            for (name, text) in files.into_iter().filter(|(name, _)| seen.insert(name.clone())) {
                out.extend(names(&text).into_keys());
                open.push((name, text));
            }
        }
    }
    out
}

/// Another name for each.
pub fn naming(
    random: &mut Random,
    free: &[String],
    all: &BTreeMap<String, usize>,
    how: Naming,
) -> BTreeMap<String, String> {
    let unused = |mut name: String| {
        while all.contains_key(&name) {
            name.push('\'');
        }
        name
    };
    let others: Vec<String> = match how {
        Naming::Exchanged => {
            let mut others = free.to_vec();
            (1..others.len()).rev().for_each(|n| others.swap(n, random.below(n + 1)));
            others
        }
        Naming::Backwards => (0..free.len()).map(|n| unused(format!("n{:04}", free.len() - n))).collect(),
        Naming::Long => (0..free.len()).map(|n| unused(format!("{}_{n}", "a_long_name".repeat(4)))).collect(),
    };
    free.iter().cloned().zip(others).collect()
}

/// A text with names renamed.
pub fn renamed(text: &str, naming: &BTreeMap<String, String>) -> String {
    let changes = words(text).into_iter().filter_map(|(at, word)| Some((at, naming.get(&word)?.clone())));
    replaced(text, &changes.collect::<Vec<_>>())
}

/// The declarations of a text in another order, each with the comments above it; what stands first stays there.
pub fn reordered(random: &mut Random, text: &str) -> String {
    let (mark, text) = text.split_at(text.len() - text.trim_start_matches('\u{feff}').len());
    let tree: SyntaxNode = parse(text, FileId(0)).tree;
    let fixed = |kind| matches!(kind, SyntaxKind::Module | SyntaxKind::Import);
    // An item begins where the one before it ended.
    let (mut head, mut items, mut at) = (0, Vec::new(), 0);
    for node in tree.children() {
        let end = usize::from(node.text_range().end());
        if fixed(node.kind()) {
            (head, at) = (end, end);
        } else {
            items.push(text[at..end].trim_start_matches('\n'));
            at = end;
        }
    }
    (1..items.len()).rev().for_each(|n| items.swap(n, random.below(n + 1)));
    let rest = &text[at..];
    format!(
        "{mark}{}\n\n{}\n{rest}",
        &text[..head],
        items.iter().map(|i| i.trim_end()).collect::<Vec<_>>().join("\n\n")
    )
}
