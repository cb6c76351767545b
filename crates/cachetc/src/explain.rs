//! `cachetc explain`: what a code means, an example that fails, and how to mend it.
//!
//! The texts are the pages `docs/errors/CODE.md`, carried in the executable. A page has sections under `##`, and its
//! programs stand in fences marked `cachet`.

use crate::{ErrorFormat, OK, REFUSED, terminal};
use cachet_source::{CodeInfo, all_codes, nearest};
use serde_json::{Value, json};

/// One page, taken apart.
struct Page<'a> {
    /// Headings with what stands under them.
    sections: Vec<(&'a str, Vec<Part<'a>>)>,
}

/// A paragraph or a program.
enum Part<'a> {
    /// Prose, its lines.
    Prose(Vec<&'a str>),
    /// A program, its lines.
    Program(Vec<&'a str>),
}

/// Explains codes, or lists all of them.
pub fn run(codes: &[String], as_json: bool, format: ErrorFormat) -> u8 {
    let mut wanted = Vec::new();
    for code in codes {
        match all_codes().iter().find(|i| i.code.0 == code) {
            Some(info) => wanted.push(info),
            None => return unknown(code, format),
        }
    }
    if as_json {
        let all = if codes.is_empty() { all_codes().iter().collect() } else { wanted };
        terminal::say(&Value::Array(all.into_iter().map(to_json).collect()).to_string());
    } else if codes.is_empty() {
        terminal::say(&list());
    } else {
        terminal::say(&wanted.into_iter().map(text).collect::<Vec<_>>().join("\n\n"));
    }
    OK
}

fn unknown(code: &str, format: ErrorFormat) -> u8 {
    let help = match nearest(code, all_codes().iter().map(|i| i.code.0)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`cachetc explain` lists every code".to_string(),
    };
    terminal::unable(format, &format!("there is no code `{code}`"), Some(&help));
    REFUSED
}

fn list() -> String {
    let wide = all_codes().iter().map(|i| i.code.0.len()).max().unwrap_or(0);
    all_codes().iter().map(|i| format!("{:wide$}  {}", i.code.0, i.title)).collect::<Vec<_>>().join("\n")
}

/// A page for a person: headings as lines, programs indented.
fn text(info: &CodeInfo) -> String {
    let mut out = format!("{}: {}\n", info.code.0, info.title);
    for (n, (heading, parts)) in page(info.page).sections.iter().enumerate() {
        if n > 0 {
            out.push_str(&format!("\n{heading}\n"));
        }
        for part in parts {
            let (lines, indent) = match part {
                Part::Prose(lines) => (lines, "  "),
                Part::Program(lines) => (lines, "      "),
            };
            out.push('\n');
            for line in lines {
                out.push_str(format!("{indent}{line}").trim_end());
                out.push('\n');
            }
        }
    }
    out.trim_end().to_string()
}

fn to_json(info: &CodeInfo) -> Value {
    let sections: Vec<Value> = page(info.page)
        .sections
        .iter()
        .map(|(heading, parts)| {
            let prose: Vec<String> = parts.iter().filter_map(|p| prose(p)).collect();
            let program = parts.iter().find_map(program);
            json!({ "heading": heading, "text": prose.join("\n\n"), "program": program })
        })
        .collect();
    json!({ "code": info.code, "title": info.title, "sections": sections })
}

fn prose(part: &Part<'_>) -> Option<String> {
    match part {
        Part::Prose(lines) => Some(lines.join(" ")),
        Part::Program(_) => None,
    }
}

fn program(part: &Part<'_>) -> Option<String> {
    match part {
        Part::Prose(_) => None,
        Part::Program(lines) => Some(lines.iter().map(|l| format!("{l}\n")).collect()),
    }
}

/// Takes a page apart.
fn page(text: &str) -> Page<'_> {
    let mut sections: Vec<(&str, Vec<Part<'_>>)> = Vec::new();
    let mut lines = text.lines();
    let mut open = false;
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_prefix("## ") {
            sections.push((heading, Vec::new()));
            open = false;
            continue;
        }
        let Some((_, parts)) = sections.last_mut() else { continue };
        if line == "```cachet" {
            parts.push(Part::Program(lines.by_ref().take_while(|l| *l != "```").collect()));
            open = false;
        } else if line.is_empty() {
            open = false;
        } else if let (true, Some(Part::Prose(prose))) = (open, parts.last_mut()) {
            prose.push(line);
        } else {
            parts.push(Part::Prose(vec![line]));
            open = true;
        }
    }
    Page { sections }
}
