//! Diagnostics for a person at a terminal, in the manner of rustc.
//!
//! # How a report reads
//!
//! The head word says which of the five things it is, and each has its own colour, so that they cannot be taken for one
//! another:
//!
//! | head | colour | says |
//! | --- | --- | --- |
//! | `error` | red | the text breaks a rule of the language |
//! | `wrong` | magenta | a run at the sizes given showed a fault or a difference |
//! | `not proved` | yellow | the condition fails for the values given; no run has shown a fault |
//! | `not decided` | blue | the prover's budget ran out: neither yes nor no |
//! | `not built yet` | cyan | legal, and refused because the compiler lacks it |
//!
//! Behind it the code in brackets, for `cachetc explain CODE`. The first line stands alone. Then the place, the
//! counterexample, what the run showed, notes that explain, and helps. Only `wrong` may say that a program is wrong.

use annotate_snippets::renderer::{AnsiColor, DecorStyle, Effects, Style};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use cachet_source::{Code, Diagnostic, FileId, Kind, Label, Replay, Sources};

/// How wide a report may be; fixed in a pipe, so that the text does not depend on a terminal.
const WIDTH: usize = 140;

/// One report as text, with colours or without.
pub fn diagnostic(sources: &Sources, d: &Diagnostic, colours: bool) -> String {
    let (head, colour) = head(d.kind);
    let level = if d.refuses() { Level::ERROR } else { Level::WARNING };
    // The head says it already.
    let message = d.message.strip_prefix("not built yet: ").filter(|_| d.kind == Kind::NotBuilt).unwrap_or(&d.message);
    let labels = ordered(d);
    let mut group = Group::with_title(level.with_name(head).primary_title(message).id(d.code.0));
    for (file, labels) in by_file(&labels) {
        let file = sources.file(file);
        let ranges: Vec<(usize, usize)> = labels.iter().map(|l| range(&file.text, l)).collect();
        let (first, lines) = lines(&file.text, &ranges);
        let line = file.line_col(first as u32).line as usize;
        let mut snippet = Snippet::source(lines).line_start(line).path(file.name.as_str()).fold(true);
        for (l, (lo, hi)) in labels.iter().zip(ranges) {
            let kind = if l.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let label = (!l.text.is_empty()).then(|| l.text.clone());
            snippet = snippet.annotation(kind.span(lo - first..hi - first).label(label));
        }
        group = group.element(snippet);
    }
    for line in facts(d) {
        group = group.element(Level::NOTE.no_name().message(line));
    }
    for n in &d.notes {
        group = group.element(Level::NOTE.message(n.clone()));
    }
    for h in &d.helps {
        group = group.element(Level::HELP.message(h.clone()));
    }
    let style = Style::new().fg_color(Some(colour.into())).effects(Effects::BOLD);
    let renderer = if colours {
        Renderer::styled().decor_style(DecorStyle::Unicode).error(style).warning(style)
    } else {
        Renderer::plain()
    };
    renderer.term_width(WIDTH).render(&[group])
}

/// The line that ends a run with reports: where more is said about their codes, each named once.
pub fn footer(codes: &[Code]) -> Option<String> {
    let mut distinct: Vec<&str> = Vec::new();
    for code in codes {
        if !distinct.contains(&code.0) {
            distinct.push(code.0);
        }
    }
    (!distinct.is_empty()).then(|| format!("for more: cachetc explain {}", distinct.join(" ")))
}

/// What a report's first line starts with, and in which colour.
fn head(kind: Kind) -> (&'static str, AnsiColor) {
    match kind {
        Kind::Error => ("error", AnsiColor::BrightRed),
        Kind::Wrong => ("wrong", AnsiColor::BrightMagenta),
        Kind::NotProved => ("not proved", AnsiColor::BrightYellow),
        Kind::NotDecided => ("not decided", AnsiColor::BrightBlue),
        Kind::NotBuilt => ("not built yet", AnsiColor::BrightCyan),
        Kind::Warning => ("warning", AnsiColor::Yellow),
    }
}

/// The counterexample and what its replay showed.
pub fn facts(d: &Diagnostic) -> Vec<String> {
    let Some(c) = &d.counterexample else { return Vec::new() };
    let values: Vec<String> = c.values.iter().map(|(n, v)| format!("{n} = {v}")).collect();
    let mut out = Vec::new();
    if !values.is_empty() {
        out.push(format!("counterexample: {}", values.join(", ")));
    }
    match &c.replay {
        Some(Replay::Seen { lines }) => out.extend(lines.iter().cloned()),
        Some(Replay::NotSeen) => out.push("a model the search cannot rule out: no run at small sizes showed it".into()),
        None => {}
    }
    out
}

/// Labels with the primary one first; a place labelled twice is shown once.
fn ordered(d: &Diagnostic) -> Vec<&Label> {
    let mut out: Vec<&Label> = d.labels.iter().filter(|l| l.primary).collect();
    for l in d.labels.iter().filter(|l| !l.primary) {
        if !out.iter().any(|o| o.span == l.span) {
            out.push(l);
        }
    }
    out
}

fn by_file<'a>(labels: &[&'a Label]) -> Vec<(FileId, Vec<&'a Label>)> {
    let mut out: Vec<(FileId, Vec<&Label>)> = Vec::new();
    for l in labels {
        match out.iter_mut().find(|(f, _)| *f == l.span.file) {
            Some((_, ls)) => ls.push(l),
            None => out.push((l.span.file, vec![l])),
        }
    }
    out
}

/// The whole lines that hold all ranges, and where they start: the renderer reads all that it is given.
fn lines<'a>(text: &'a str, ranges: &[(usize, usize)]) -> (usize, &'a str) {
    let lo = ranges.iter().map(|r| r.0).min().unwrap_or(0);
    let hi = ranges.iter().map(|r| r.1).max().unwrap_or(lo);
    let first = text[..lo].rfind('\n').map_or(0, |n| n + 1);
    let last = text[hi..].find('\n').map_or(text.len(), |n| hi + n);
    (first, &text[first..last])
}

/// A label's bytes within the file, on character boundaries; a place that spans lines is shown by its first.
fn range(text: &str, label: &Label) -> (usize, usize) {
    let floor = |mut i: usize| {
        i = i.min(text.len());
        while !text.is_char_boundary(i) {
            i -= 1;
        }
        i
    };
    let lo = floor(label.span.lo as usize);
    let hi = floor((label.span.hi as usize).max(lo));
    let line_end = text[lo..].find('\n').map_or(text.len(), |n| lo + n);
    (lo, hi.min(line_end).max(lo))
}

#[cfg(test)]
mod tests {
    use super::{diagnostic, footer};
    use cachet_source::{Diagnostic, Kind, Sources, codes};

    const KINDS: [Kind; 6] =
        [Kind::Error, Kind::Wrong, Kind::NotProved, Kind::NotDecided, Kind::NotBuilt, Kind::Warning];

    fn first_line(kind: Kind, colours: bool) -> String {
        let d = Diagnostic::new(kind, codes::BOUNDS, "not built yet: the message");
        diagnostic(&Sources::new(), &d, colours).lines().next().unwrap_or_default().to_string()
    }

    #[test]
    fn the_kinds_have_heads_and_colours_of_their_own() {
        let plain = KINDS.map(|k| first_line(k, false));
        assert_eq!(plain[0], "error[bounds]: not built yet: the message");
        assert_eq!(plain[1], "wrong[bounds]: not built yet: the message");
        assert_eq!(plain[2], "not proved[bounds]: not built yet: the message");
        assert_eq!(plain[3], "not decided[bounds]: not built yet: the message");
        assert_eq!(plain[4], "not built yet[bounds]: the message");
        assert_eq!(plain[5], "warning[bounds]: not built yet: the message");
        // Bold and the colour.
        let escape = |line: String| line.split_inclusive('m').take(2).collect::<String>();
        let mut colours: Vec<String> = KINDS.map(|k| escape(first_line(k, true))).to_vec();
        assert!(colours.iter().all(|c| c.starts_with('\u{1b}')), "{colours:?}");
        colours.sort();
        colours.dedup();
        assert_eq!(colours.len(), KINDS.len());
    }

    #[test]
    fn the_footer_names_each_code_once() {
        assert_eq!(footer(&[]), None);
        let line = footer(&[codes::BOUNDS, codes::RELATION, codes::BOUNDS]);
        assert_eq!(line.as_deref(), Some("for more: cachetc explain bounds relation"));
    }
}
