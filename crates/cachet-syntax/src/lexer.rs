//! Text to tokens. Every byte of the text is in exactly one token.

use crate::kind::SyntaxKind;
use cachet_source::words::RESERVED;
use logos::Logos;

/// A token: its kind and its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RawToken {
    pub(crate) kind: SyntaxKind,
    pub(crate) lo: u32,
    pub(crate) hi: u32,
}

const BOM: &str = "\u{feff}";

/// Cuts `text` into tokens. The text is at most [`crate::MAX_BYTES`] long, so offsets fit.
pub(crate) fn lex(text: &str) -> Vec<RawToken> {
    let mut tokens = Vec::with_capacity(text.len() / 3);
    let start = if text.starts_with(BOM) { BOM.len() } else { 0 };
    if start > 0 {
        tokens.push(RawToken { kind: SyntaxKind::Bom, lo: 0, hi: start as u32 });
    }
    let mut lexer = SyntaxKind::lexer(&text[start..]);
    while let Some(kind) = lexer.next() {
        let kind = match kind {
            Ok(SyntaxKind::Name) if RESERVED.contains(&lexer.slice()) => SyntaxKind::Keyword,
            Ok(SyntaxKind::Int) => {
                lexer.bump(float_tail(lexer.remainder()));
                number_kind(lexer.slice())
            }
            Ok(kind) => kind,
            Err(()) => SyntaxKind::Unknown,
        };
        let span = lexer.span();
        tokens.push(RawToken { kind, lo: (span.start + start) as u32, hi: (span.end + start) as u32 });
    }
    tokens
}

/// How many bytes after its first digits belong to a number: a point and digits, an exponent with its sign, and any
/// letters stuck to them.
fn float_tail(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let run = |from: usize| {
        let stuck = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'\'');
        from + bytes.get(from..).unwrap_or_default().iter().take_while(stuck).count()
    };
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    if bytes.first() != Some(&b'.') || !digit(1) {
        return 0;
    }
    let end = run(1);
    let signed = matches!(bytes[end - 1], b'e' | b'E') && matches!(bytes.get(end), Some(b'+' | b'-'));
    if signed && digit(end + 1) { run(end + 1) } else { end }
}

fn number_kind(text: &str) -> SyntaxKind {
    let all = |digits: &str, ok: fn(u8) -> bool| {
        digits.bytes().next().is_some_and(ok) && digits.bytes().all(|b| ok(b) || b == b'_')
    };
    let decimal = |digits: &str| all(digits, |b| b.is_ascii_digit());
    if let Some((whole, rest)) = text.split_once('.') {
        let (fraction, exponent) = rest.split_once(['e', 'E']).map_or((rest, None), |(f, e)| (f, Some(e)));
        let unsigned = exponent.map(|e| e.strip_prefix(['+', '-']).unwrap_or(e));
        let exponent_ok = unsigned.is_none_or(|e| !e.is_empty() && e.bytes().all(|b| b.is_ascii_digit()));
        let ok = decimal(whole) && decimal(fraction) && exponent_ok;
        return if ok { SyntaxKind::Float } else { SyntaxKind::BadNumber };
    }
    let ok = match text.get(..2) {
        Some("0x") => all(&text[2..], |b| b.is_ascii_hexdigit()),
        Some("0b") => all(&text[2..], |b| matches!(b, b'0' | b'1')),
        _ => decimal(text),
    };
    if ok { SyntaxKind::Int } else { SyntaxKind::BadNumber }
}

#[cfg(test)]
mod tests {
    use super::lex;
    use crate::kind::SyntaxKind::{
        self, BadNumber, BadString, Bom, Comment, Dot, DotDot, DotDotPlus, Ellipsis, Float, Hole, Int, Keyword, Minus,
        Name, Plus, String as Text, Unknown, Whitespace,
    };

    fn kinds(text: &str) -> Vec<SyntaxKind> {
        let tokens = lex(text);
        let joined: String = tokens.iter().map(|t| &text[t.lo as usize..t.hi as usize]).collect();
        assert_eq!(joined, text);
        tokens.iter().map(|t| t.kind).filter(|k| *k != Whitespace).collect()
    }

    #[test]
    fn numbers_and_dots() {
        assert_eq!(kinds("0..M"), [Int, DotDot, Name]);
        assert_eq!(kinds("0 .. 16"), [Int, DotDot, Int]);
        assert_eq!(kinds("1.5 -0.0 2.5e-3 1_000.25"), [Float, Minus, Float, Float, Float]);
        assert_eq!(kinds("k. 3. 1."), [Name, Dot, Int, Dot, Int, Dot]);
        assert_eq!(kinds(".5 1.x 3..+4"), [Dot, Int, Int, Dot, Name, Int, DotDotPlus, Int]);
        assert_eq!(kinds("0xFF 0b10_01 1_0"), [Int, Int, Int]);
        assert_eq!(kinds("16u32 1e5 1.0f32 0xG 0b2 1.0e 2.5e3x"), [BadNumber; 7]);
        assert_eq!(kinds("1.5e+ x"), [BadNumber, Plus, Name]);
        assert_eq!(kinds("0...M"), [Int, Ellipsis, Name]);
    }

    #[test]
    fn words_holes_strings() {
        assert_eq!(kinds("acc'0 packA_L2 _x for Init init"), [Name, Name, Name, Keyword, Keyword, Name]);
        assert_eq!(kinds("$lo $ $E"), [Hole, Unknown, Hole]);
        assert_eq!(kinds(r#""a \"b\" {c}" "open"#), [Text, BadString]);
        assert_eq!(kinds("\"open\n\"x\""), [BadString, Text]);
        assert_eq!(kinds("\"a\\"), [BadString]);
        assert_eq!(kinds("a // b \" c\nd"), [Name, Comment, Name]);
    }

    #[test]
    fn punctuation_and_what_is_none() {
        assert_eq!(kinds(":= == = != <= < -> - ..+ .. . && ||").len(), 13);
        assert_eq!(kinds("\u{feff}x \u{feff}"), [Bom, Name, Unknown]);
        assert_eq!(kinds("\u{2212} \u{1F600} \0 & |"), [Unknown; 5]);
        assert_eq!(kinds("\u{2026}"), [Ellipsis]);
    }
}
