//! Bytes that hide, texts that are cut off, and what is written but not there.

use super::{Hostile, MAIN};

pub(super) fn all() -> Vec<Hostile> {
    let mut out = vec![
        Hostile::text("nothing at all", ""),
        Hostile::text("one zero", "\0").refused(),
        Hostile::text("a mebibyte of zeros", vec![0; 1 << 20]).refused(),
        Hostile::text("four mebibytes of what is no text", vec![0xff; 4 << 20]).refused(),
        Hostile::text("a byte order mark", format!("\u{feff}{MAIN}")).fine(),
        Hostile::text("two byte order marks", format!("\u{feff}\u{feff}{MAIN}")).refused(),
        Hostile::text("a byte order mark within", MAIN.replacen("alloc", "\u{feff}alloc", 1)).refused(),
        Hostile::text("lines that end the other way", MAIN.replace('\n', "\r\n")).fine(),
        Hostile::text("lines that end the oldest way", MAIN.replace('\n', "\r")).refused(),
        Hostile::text("a hundred thousand carriage returns", format!("{}{MAIN}", "\r".repeat(100_000))),
        Hostile::text("tabs for blanks", MAIN.replace("  ", "\t")),
        Hostile::text("other blanks for blanks", MAIN.replace("  ", "\u{a0}\u{a0}")).refused(),
        Hostile::text("UTF-16", MAIN.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()).refused(),
        Hostile::text(
            "UTF-16 with its mark",
            [vec![0xff, 0xfe], MAIN.encode_utf16().flat_map(u16::to_le_bytes).collect()].concat(),
        )
        .refused(),
        Hostile::text("half a character at the end", [MAIN.as_bytes(), &[0xe2, 0x82]].concat()).refused(),
        Hostile::text("a character in too many bytes", [MAIN.as_bytes(), b"// ", &[0xc0, 0xaf], b"\n"].concat())
            .refused(),
        Hostile::text("half of a pair", [MAIN.as_bytes(), b"// ", &[0xed, 0xa0, 0x80], b"\n"].concat()).refused(),
        Hostile::text("what is no text in a comment", [MAIN.as_bytes(), b"// \xff\xfe\n"].concat()).refused(),
        Hostile::text("a string that does not end", "import \"cachet:steps\n").refused(),
        Hostile::text("a string that does not end, a mebibyte long", format!("import \"{}", "a".repeat(1 << 20)))
            .refused(),
        Hostile::text("a string of quotes only", "\"".repeat(1 << 20)).refused(),
        Hostile::text("a backslash at the end", "import \"a\\").refused(),
        Hostile::text(
            "an empty range to search",
            "synth const NR : Nat =\n  minimize n in (n): n where\n    n > 0, n <= 0\n",
        )
        .refused(),
        Hostile::text(
            "a range to search without end",
            "synth const NR : Nat =\n  minimize n in (n): n where\n    n > 0\n",
        )
        .refused(),
        Hostile::text("every kind of line end in one file", format!("// a\r// b\r\n// c\n\u{2028}// d\u{85}\n{MAIN}")),
        Hostile::text("only blanks", " ".repeat(1 << 20)),
        Hostile::text("only commas", ",".repeat(1 << 20)).refused(),
        Hostile::text("only dots", ".".repeat(1 << 20)).refused(),
        Hostile::text("every ASCII character", (0u8..128).collect::<Vec<u8>>()).refused(),
        Hostile::text("a character of every plane", "\u{1F600}\u{10FFFF}\u{E0001}\u{20000}e\u{301}".repeat(10_000))
            .refused(),
        Hostile::text("ten thousand marks above one letter", format!("const e{} = 1\n", "\u{301}".repeat(10_000)))
            .refused(),
        Hostile::text(
            "a report in the middle of a very long line",
            format!("const A = {}unknown{}\n", "1 + ".repeat(200), " + 1".repeat(200)),
        )
        .refused(),
        Hostile::text("a very long line of wide characters", format!("const A = \"{}\"\n", "\u{5b57}".repeat(100_000)))
            .refused(),
        Hostile::text("colours of a terminal", format!("// \u{1b}[31m\u{1b}]0;title\u{7}\n{MAIN}")),
        Hostile::text("colours in a name", "const \u{1b}[31mA = 1\n").refused(),
    ];
    for (what, c) in [
        ("right-to-left", '\u{202e}'),
        ("an embedding", '\u{202a}'),
        ("an isolate", '\u{2066}'),
        ("a mark", '\u{200f}'),
    ] {
        out.push(Hostile::text(
            format!("bidirectional controls in a comment: {what}"),
            format!("// {c} }} begin\n{MAIN}"),
        ));
        out.push(
            Hostile::text(format!("bidirectional controls in a name: {what}"), format!("const a{c}b = 1\n{MAIN}"))
                .refused(),
        );
        out.push(
            Hostile::text(format!("bidirectional controls in a string: {what}"), format!("import \"a{c}b\"\n{MAIN}"))
                .refused(),
        );
    }
    for c in ['\u{430}', '\u{3bf}', '\u{200b}', '\u{200d}', '\u{ad}', '\u{2212}', '\u{ff11}', '\u{2024}'] {
        out.push(
            Hostile::text(
                format!("a character that looks like another: {}", c.escape_unicode()),
                format!("const a{c} = 1\n{MAIN}"),
            )
            .refused(),
        );
    }
    out
}
