//! The text of a platform file from what was measured.

use cachet_runtime::{Detected, DetectedPart, Reading};
use std::fmt::Write as _;

/// `Znver4` of `znver4`, `AppleM4` of `apple-m4`.
pub fn name(cpu: &str) -> String {
    let word = |w: &str| {
        let mut letters = w.chars();
        letters.next().map_or(String::new(), |c| c.to_ascii_uppercase().to_string() + letters.as_str())
    };
    let made: String = cpu.split(|c: char| !c.is_ascii_alphanumeric()).map(word).collect();
    if made.starts_with(|c: char| c.is_ascii_alphabetic()) { made } else { format!("Machine{made}") }
}

/// The file.
pub fn text(d: &Detected, name: &str) -> String {
    let model = d.model.as_deref().map_or(String::new(), |m| format!(", {}", line(m)));
    let kind = if d.is_virtual { " of a virtual machine" } else { "" };
    let mut out = format!(
        "// Drafted by `cachetc platform detect`: one core{kind}, {}{model}.\n\
         // Rates and latencies are in cycles of the core, the best of many short runs.\n\n\
         platform {name} where\n  target {}",
        d.cpu, d.target
    );
    for f in &d.features {
        let _ = write!(out, " feature {f}");
    }
    out.push('\n');
    for l in &d.levels {
        level(&mut out, l);
    }
    for u in &d.units {
        let _ = writeln!(out, "  unit {} where", u.name);
        for n in &u.numbers {
            match number(n) {
                Some(text) => {
                    let _ = writeln!(out, "    {text}");
                }
                None => missing(&mut out, n),
            }
        }
    }
    out
}

/// A level's first number stands beside its name, the others below.
fn level(out: &mut String, l: &DetectedPart) {
    let _ = write!(out, "  level {}", l.name);
    let mut separator = " ";
    for text in l.numbers.iter().filter_map(number) {
        let _ = write!(out, "{separator}{text}");
        separator = "\n    ";
    }
    out.push('\n');
    for n in &l.numbers {
        if n.value.is_none() {
            missing(out, n);
        }
    }
}

fn written(n: &Reading) -> String {
    n.elem.map_or(n.field.to_string(), |e| format!("{} @{e}", n.field))
}

fn number(n: &Reading) -> Option<String> {
    let value = match n.field {
        "capacity" => bytes(n.value?),
        _ => n.value?.to_string(),
    };
    Some(format!("{} = {value} source \"{}\"", written(n), line(&n.source).replace(['"', '\\'], "'")))
}

/// `48 * 1024`
fn bytes(n: i64) -> String {
    match (n % (1 << 20), n % (1 << 10)) {
        (0, _) if n > 1 << 20 => format!("{} * 1024 * 1024", n >> 20),
        (_, 0) if n > 0 => format!("{} * 1024", n >> 10),
        _ => n.to_string(),
    }
}

fn missing(out: &mut String, n: &Reading) {
    let _ = writeln!(out, "    // not measured: {}: {}", written(n), line(&n.source));
}

/// Text that stays on its line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(field: &'static str, value: Option<i64>, source: &str) -> Reading {
        Reading { field, elem: None, value, source: source.into() }
    }

    #[test]
    fn a_draft_says_what_is_missing() {
        let part = |name: &str, numbers| DetectedPart { name: name.into(), numbers };
        let detected = Detected {
            cpu: "apple-m4".into(),
            model: Some("Apple \"M4\"".into()),
            is_virtual: false,
            target: "aarch64".into(),
            features: vec!["neon"],
            levels: vec![
                part("L1", vec![reading("capacity", None, "nobody says"), reading("line", Some(64), "a \"b\"\nc")]),
                part("DRAM", vec![]),
            ],
            units: vec![part("Vec", vec![reading("fma_pipes", Some(4), "p"), reading("add_pipes", None, "no")])],
            taken: std::time::Duration::ZERO,
        };
        let text = text(&detected, &name(&detected.cpu));
        let body = text.split_once("\n\n").map_or("", |t| t.1);
        assert_eq!(
            body,
            "platform AppleM4 where\n  target aarch64 feature neon\n  level L1 line = 64 source \"a 'b' c\"\n    \
             // not measured: capacity: nobody says\n  level DRAM\n  unit Vec where\n    fma_pipes = 4 source \"p\"\n    \
             // not measured: add_pipes: no\n"
        );
        let (platforms, problems) = super::super::described(&text);
        assert_eq!((platforms.len(), problems.len()), (1, 0));
        assert_eq!(
            (bytes(48 << 10), bytes(2 << 20), bytes(1000)),
            ("48 * 1024".into(), "2 * 1024 * 1024".into(), "1000".into())
        );
        assert_eq!((name("znver5"), name("486-x")), ("Znver5".to_string(), "Machine486X".to_string()));
    }
}
