//! Diagnostics for a person at a terminal, in the manner of rustc.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use cachet_source::{Diagnostic, FileId, Kind, Label, Replay, Sources};

/// How wide a report may be; fixed in a pipe, so that the text does not depend on a terminal.
const WIDTH: usize = 140;

/// One report as text, with colours or without.
pub fn diagnostic(sources: &Sources, d: &Diagnostic, colours: bool) -> String {
    let level = match d.kind {
        Kind::Warning => Level::WARNING,
        Kind::Error | Kind::Wrong | Kind::NotProved | Kind::NotDecided | Kind::NotBuilt => Level::ERROR,
    };
    let labels = ordered(d);
    let mut group = Group::with_title(level.primary_title(d.message.clone()).id(d.code.0));
    for (file, labels) in by_file(&labels) {
        let file = sources.file(file);
        let mut snippet = Snippet::source(file.text.as_str()).line_start(1).path(file.name.as_str()).fold(true);
        for l in labels {
            let (lo, hi) = range(&file.text, l);
            let kind = if l.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let label = (!l.text.is_empty()).then(|| l.text.clone());
            snippet = snippet.annotation(kind.span(lo..hi).label(label));
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
    let renderer = if colours { Renderer::styled().decor_style(DecorStyle::Unicode) } else { Renderer::plain() };
    renderer.term_width(WIDTH).render(&[group])
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
        Some(Replay::NotSeen) => {
            out.push("a model the search cannot rule out: no replay at small sizes showed a difference".into())
        }
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
