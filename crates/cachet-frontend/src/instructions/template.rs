//! Templates: the text that a target is given in place of a reference body.
//!
//! The text of a processor is LLVM's: lines `name = operation`, the last of which makes `{result}`, of operations that
//! compute and touch no memory, so that a template can give other bits than it should and nothing else. That of a matrix
//! unit is one line, which code generation brings about. Of other targets the text is not read.

use crate::elaborate::{Done, World};
use cachet_core::instr::{Instr, MATRIX_UNITS, Template};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast;

/// Targets whose text is their own.
const OTHERS: &[&str] = &["metal", "cuda", "ptx"];

/// What a line may do.
const OPERATIONS: &[&str] = &[
    "add",
    "and",
    "ashr",
    "bitcast",
    "call",
    "extractelement",
    "fadd",
    "fdiv",
    "fmul",
    "fneg",
    "fsub",
    "insertelement",
    "lshr",
    "mul",
    "or",
    "select",
    "sext",
    "shl",
    "shufflevector",
    "sub",
    "trunc",
    "xor",
    "zext",
];

/// A template, for an instruction with such parameters: name, and whether it is a vector.
pub(super) fn read(
    world: &mut World<'_>,
    i: &ast::Instr,
    params: &[(String, bool)],
    t: &ast::Template,
) -> Done<Template> {
    let text = |s: &ast::Str| s.value.clone();
    let made = Template { target: t.target.name.clone(), lines: t.lines.iter().map(text).collect() };
    let mut used = Vec::new();
    for line in &t.lines {
        for name in placeholders(&line.value) {
            match name {
                Some(name) if name == "result" || params.iter().any(|p| p.0 == name) => used.push(name.to_string()),
                Some(name) => {
                    let message = format!("`{{{name}}}` is no parameter of `{}`", i.name.name);
                    let d = Diagnostic::error(codes::UNKNOWN_NAME, line.span, message);
                    return Err(world.report(d.help("placeholders are `{result}` and the parameters in braces")));
                }
                None => {
                    let d = Diagnostic::error(codes::SYNTAX, line.span, "a brace that is not closed in this template");
                    return Err(world.report(d));
                }
            }
        }
    }
    let wanted = params.iter().map(|p| p.0.as_str()).chain(["result"]);
    if let Some(unused) = wanted.into_iter().find(|w| !used.iter().any(|u| u == w)) {
        let message = format!("the template for `{}` does not use `{{{unused}}}`", made.target);
        return Err(world.report(Diagnostic::error(codes::SYNTAX, t.span, message)));
    }
    let unread = OTHERS.iter().chain(MATRIX_UNITS).any(|t| *t == made.target);
    if !unread {
        for (n, line) in t.lines.iter().enumerate() {
            if let Some(wrong) = fault(&line.value, n + 1 == t.lines.len()) {
                return Err(refused(world, line.span, wrong));
            }
        }
    }
    Ok(made)
}

/// Refuses a template of a matrix unit that is no outer product.
pub(super) fn matrix_unit(world: &mut World<'_>, instr: &Instr, template: &Template, span: Span) -> Done<()> {
    if !MATRIX_UNITS.contains(&template.target.as_str()) || template.outer_product(instr).is_some() {
        return Ok(());
    }
    let message = format!("the template for `{}` is no outer product that the unit has", template.target);
    let d = Diagnostic::error(codes::SYNTAX, span, message);
    let d = d.note("it is `{result} = fmopa {column}, {row}, {acc}`, of `Vec T n` twice and a `Vec T (n * n)`");
    Err(world.report(d.help("`sme` has it for f32, and `sme_f64f64` for f64")))
}

fn refused(world: &mut World<'_>, span: Span, wrong: String) -> crate::elaborate::Reported {
    let d = Diagnostic::error(codes::SYNTAX, span, wrong);
    let d = d.note("a processor's template is text of LLVM: lines `name = operation ..` that touch no memory");
    world.report(d.help("for example `{result} = call <4 x float> @llvm.fma.v4f32(<4 x float> {a}, ..)`"))
}

/// What stands in braces; `None` for a brace that is not closed or closes nothing.
fn placeholders(line: &str) -> Vec<Option<&str>> {
    let mut out = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find(['{', '}']) {
        let Some(end) = rest[at..].find('}').filter(|_| rest[at..].starts_with('{')) else {
            out.push(None);
            return out;
        };
        out.push(Some(&rest[at + 1..at + end]));
        rest = &rest[at + end + 1..];
    }
    out
}

/// What is wrong with a line of LLVM's text.
fn fault(line: &str, last: bool) -> Option<String> {
    let Some((name, made)) = line.split_once(" = ") else {
        return Some("this line does not say `name = operation`".into());
    };
    let own = name.strip_prefix('%').is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_alphanumeric()));
    match (name, last) {
        ("{result}", true) => {}
        (_, true) => return Some("the last line makes `{result}`".into()),
        (_, false) if own => {}
        (_, false) => return Some(format!("`{name}` is no name for a value of a template: it is `%` with letters")),
    }
    let operation = made.split_whitespace().next().unwrap_or_default();
    if !OPERATIONS.contains(&operation) {
        return Some(format!("`{operation}` is no operation of a template"));
    }
    if let Some(c) = made.chars().find(|c| matches!(c, '!' | '#' | ';' | '"' | '\n' | '\r')) {
        return Some(format!("`{}` has no place in a template", c.escape_default()));
    }
    let calls: Vec<&str> = made.split('@').skip(1).collect();
    match (operation, calls.as_slice()) {
        ("call", [one]) if one.starts_with("llvm.") && !one.starts_with("llvm.masked.") => None,
        ("call", _) => Some("a template calls an operation of LLVM's own, `@llvm.`".into()),
        (_, []) => None,
        _ => Some("a template names nothing of the program, `@`".into()),
    }
}
