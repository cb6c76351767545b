//! How is a text broken? Byte by byte, token by token, and tree by tree, with pieces of other texts.
//!
//! Bytes mostly do not get past the parser; tokens often do; trees mostly do, and some get past the types.

use crate::corpus::Corpus;
use crate::random::Random;
use cachet_source::FileId;
use cachet_syntax::{SyntaxKind, SyntaxNode, parse};
use std::collections::BTreeMap;
use std::ops::Range;

/// Pieces that mean something to the lexer, the layout or the parser, or that should not.
pub const SCRAPS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "=",
    "==",
    ".",
    "..",
    "...",
    "..+",
    ":=",
    "do",
    "do\n",
    "else",
    "\n",
    "\n  ",
    "\n    ",
    "if",
    "fold",
    "sum",
    "$x",
    "\"",
    "//",
    "\t",
    "-",
    "1.",
    ",",
    "then",
    "from",
    "relate",
    "\u{feff}",
    "\u{2212}",
    "\0",
    "for i in 0 .. N do",
    "@",
    "#",
    ";",
    "\r\n",
    "\u{202e}",
    "é",
    "9223372036854775808",
    "1e999",
    "0x",
    "_",
    "'",
    "inf",
    "nan",
    "import",
    "for",
    "let x = ",
    " in ",
    "blocks",
    "grid",
    "split",
    "main",
    "/",
    "%",
];

/// Numbers at the ends of what fits.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "16",
    "255",
    "256",
    "65536",
    "2147483647",
    "2147483648",
    "4294967296",
    "4611686018427387904",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
];

/// What a text was broken with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Any bytes, also such that the text is none.
    Bytes,
    /// Whole tokens.
    Tokens,
    /// Whole subtrees.
    Trees,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 3] = [Way::Bytes, Way::Tokens, Way::Trees];

    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Way::Bytes => "bytes",
            Way::Tokens => "tokens",
            Way::Trees => "trees",
        }
    }
}

/// The pieces of a corpus, by kind.
pub struct Pieces<'a> {
    corpus: &'a Corpus,
    /// For each kind of node, where there are some: a file and a range.
    nodes: BTreeMap<SyntaxKind, Vec<(usize, Range<usize>)>>,
    /// The same of tokens that are not blanks.
    tokens: BTreeMap<SyntaxKind, Vec<(usize, Range<usize>)>>,
    all: Vec<(usize, Range<usize>)>,
}

impl<'a> Pieces<'a> {
    /// Of a corpus.
    pub fn of(corpus: &'a Corpus) -> Pieces<'a> {
        let (mut nodes, mut tokens) = (BTreeMap::<_, Vec<_>>::new(), BTreeMap::<_, Vec<_>>::new());
        let mut all = Vec::new();
        for (n, (_, text)) in corpus.files.iter().enumerate() {
            for (kind, range, is_token) in elements(text) {
                all.push((n, range.clone()));
                let of = if is_token { &mut tokens } else { &mut nodes };
                of.entry(kind).or_default().push((n, range));
            }
        }
        Pieces { corpus, nodes, tokens, all }
    }

    fn text(&self, piece: &(usize, Range<usize>)) -> &'a str {
        &self.corpus.files[piece.0].1[piece.1.clone()]
    }

    fn drawn(&self, random: &mut Random, of: Option<&Vec<(usize, Range<usize>)>>) -> &'a str {
        self.text(&random.pick(of.filter(|all| !all.is_empty()).unwrap_or(&self.all)))
    }
}

/// The nodes and tokens of a text that are not blanks, with their kind and whether they are tokens. The root is none.
fn elements(text: &str) -> Vec<(SyntaxKind, Range<usize>, bool)> {
    let tree: SyntaxNode = parse(text, FileId(0)).tree;
    let mut out = Vec::new();
    for e in tree.descendants_with_tokens().skip(1) {
        let kind = e.kind();
        let range = usize::from(e.text_range().start())..usize::from(e.text_range().end());
        if range.is_empty() || matches!(kind, SyntaxKind::Whitespace | SyntaxKind::Comment | SyntaxKind::Bom) {
            continue;
        }
        out.push((kind, range, e.as_token().is_some()));
    }
    out
}

/// A text of the corpus, broken in one to four places. Gives the file's number and the bytes.
pub fn broken(random: &mut Random, pieces: &Pieces<'_>, way: Way, file: usize) -> Vec<u8> {
    let text = &pieces.corpus.files[file].1;
    let most = 1 + random.below(4);
    let changes = 1 + random.below(most);
    match way {
        Way::Bytes => {
            let mut bytes = text.clone().into_bytes();
            (0..changes).for_each(|_| bytes = one_byte_change(random, pieces, std::mem::take(&mut bytes)));
            bytes
        }
        Way::Tokens | Way::Trees => {
            let mut text = text.clone();
            for _ in 0..changes {
                text = match way {
                    Way::Tokens => one_token_change(random, pieces, text),
                    Way::Bytes | Way::Trees => one_tree_change(random, pieces, text),
                };
            }
            text.into_bytes()
        }
    }
}

/// Only scraps, one after another.
pub fn scraps(random: &mut Random) -> String {
    (0..random.below(30)).map(|_| random.pick(SCRAPS)).collect()
}

fn one_byte_change(random: &mut Random, pieces: &Pieces<'_>, mut bytes: Vec<u8>) -> Vec<u8> {
    let at = random.below(bytes.len() + 1);
    let to = (at + 1 + random.below(40)).min(bytes.len());
    match random.below(9) {
        0 => drop(bytes.drain(at..(at + 1 + random.below(8)).min(bytes.len()))),
        1 | 2 => drop(bytes.splice(at..at, random.pick(SCRAPS).bytes())),
        3 if at + 1 < bytes.len() => bytes.swap(at, at + 1),
        4 => {
            let piece = bytes[at..to].to_vec();
            let place = random.below(bytes.len() + 1);
            drop(bytes.splice(place..place, piece));
        }
        5 => bytes.truncate(at),
        6 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        7 if at < bytes.len() => bytes[at] = random.next() as u8,
        _ => {
            let other = pieces.drawn(random, None).bytes().take(200).collect::<Vec<u8>>();
            drop(bytes.splice(at..to, other));
        }
    }
    bytes
}

fn one_token_change(random: &mut Random, pieces: &Pieces<'_>, text: String) -> String {
    let tokens: Vec<_> = elements(&text).into_iter().filter(|(_, _, token)| *token).collect();
    if tokens.is_empty() {
        return scraps(random);
    }
    let (kind, at, _) = random.pick(&tokens);
    let word = text[at.clone()].to_string();
    match random.below(10) {
        0 => replaced(&text, &[(at, String::new())]),
        1 => replaced(&text, &[(at, format!("{word} {word}"))]),
        2 => {
            let (_, other, _) = random.pick(&tokens);
            swapped(&text, at, other)
        }
        // Another of its kind from anywhere keeps what the parser sees.
        3 | 4 => {
            let other = pieces.drawn(random, pieces.tokens.get(&kind)).to_string();
            replaced(&text, &[(at, other)])
        }
        // Another of its kind from the same text often keeps what the types see.
        5 | 6 => {
            let same: Vec<_> = tokens.iter().filter(|(k, _, _)| *k == kind).collect();
            let (_, other, _) = random.pick(&same);
            let other = text[other.clone()].to_string();
            replaced(&text, &[(at, other)])
        }
        7 if word.bytes().all(|b| b.is_ascii_digit()) => replaced(&text, &[(at, random.pick(NUMBERS).to_string())]),
        7 => {
            let numbers: Vec<_> =
                tokens.iter().filter(|(_, r, _)| text[r.clone()].bytes().all(|b| b.is_ascii_digit())).collect();
            match numbers.is_empty() {
                true => replaced(&text, &[(at, random.pick(NUMBERS).to_string())]),
                false => {
                    let (_, number, _) = random.pick(&numbers);
                    replaced(&text, &[(number.clone(), random.pick(NUMBERS).to_string())])
                }
            }
        }
        8 => replaced(&text, &[(at, random.pick(SCRAPS).to_string())]),
        _ => replaced(&text, &[(at.end..at.end, format!(" {} ", pieces.drawn(random, pieces.tokens.get(&kind))))]),
    }
}

fn one_tree_change(random: &mut Random, pieces: &Pieces<'_>, text: String) -> String {
    let nodes: Vec<_> = elements(&text).into_iter().filter(|(_, _, token)| !*token).collect();
    if nodes.is_empty() {
        return scraps(random);
    }
    let (kind, at, _) = random.pick(&nodes);
    let piece = text[at.clone()].to_string();
    let of_kind: Vec<_> = nodes.iter().filter(|(k, _, _)| *k == kind).collect();
    match random.below(10) {
        0 => replaced(&text, &[(at, String::new())]),
        1 => replaced(&text, &[(at.end..at.end, if piece.contains('\n') { piece } else { format!(" {piece}") })]),
        2 | 3 => {
            let (_, other, _) = random.pick(&of_kind);
            swapped(&text, at, other.clone())
        }
        4..=6 => {
            let (_, other, _) = random.pick(&of_kind);
            let other = text[other.clone()].to_string();
            replaced(&text, &[(at, other)])
        }
        7 | 8 => {
            let graft = pieces.drawn(random, pieces.nodes.get(&kind)).to_string();
            replaced(&text, &[(at, graft)])
        }
        // A node of any kind.
        _ => {
            let (_, other, _) = random.pick(&nodes);
            let other = text[other.clone()].to_string();
            replaced(&text, &[(at, other)])
        }
    }
}

/// A text with ranges replaced; they are in order and do not meet.
pub fn replaced(text: &str, changes: &[(Range<usize>, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, by) in changes {
        out.push_str(&text[at..range.start]);
        out.push_str(by);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

/// Two ranges exchanged; one within the other takes its place.
fn swapped(text: &str, a: Range<usize>, b: Range<usize>) -> String {
    let (first, second) = if a.start <= b.start { (a, b) } else { (b, a) };
    let (x, y) = (text[first.clone()].to_string(), text[second.clone()].to_string());
    match first.end <= second.start {
        true => replaced(text, &[(first, y), (second, x)]),
        false => replaced(text, &[(first, y)]),
    }
}

/// A text with less in it: without runs of lines, of tokens, of characters, the longest runs first.
pub fn smaller(text: &[u8]) -> Vec<Vec<u8>> {
    let Ok(words) = std::str::from_utf8(text) else {
        return without(text, &(0..text.len()).map(|n| n..n + 1).collect::<Vec<_>>());
    };
    let mut at = 0;
    let lines: Vec<_> = words.split_inclusive('\n').map(|l| (at, at += l.len()).0..at).collect();
    let mut at = 0;
    let tree: SyntaxNode = parse(words, FileId(0)).tree;
    let sizes = tree.descendants_with_tokens().filter_map(|e| e.into_token()).map(|t| t.text().len());
    let tokens: Vec<_> = sizes.map(|n| (at, at += n).0..at).collect();
    let mut out = without(text, &lines);
    out.extend(without(text, &tokens));
    if words.len() < 400 {
        out.extend(without(text, &words.char_indices().map(|(n, c)| n..n + c.len_utf8()).collect::<Vec<_>>()));
    }
    out
}

fn without(text: &[u8], parts: &[Range<usize>]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut run = parts.len() / 2;
    while run > 0 {
        out.extend(parts.chunks(run).map(|gone| {
            let (from, to) = (gone[0].start, gone[gone.len() - 1].end);
            [&text[..from], &text[to..]].concat()
        }));
        run /= 2;
    }
    out
}
