//! Templates: the text that a target is given in place of a reference body. What one may say: [`cachet_core::instr`].

use crate::elaborate::{Done, World};
use cachet_core::instr::{Instr, Piece, Template, pieces};
use cachet_source::{Diagnostic, codes};
use cachet_syntax::ast;

/// A template as it is written.
pub(super) fn read(t: &ast::Template) -> Template {
    Template { target: t.target.name.clone(), lines: t.lines.iter().map(|s| s.value.clone()).collect() }
}

/// Refuses a template that says what it may not.
pub(super) fn check(world: &mut World<'_>, instr: &Instr, template: &Template, written: &ast::Template) -> Done<()> {
    for line in &written.lines {
        for piece in pieces(&line.value) {
            let Piece::Placeholder(name) = piece else { continue };
            if name != "result" && !instr.params.iter().any(|p| instr.param_name(*p) == name) {
                let message = format!("`{{{name}}}` is no parameter of `{}`", instr.name);
                let d = Diagnostic::error(codes::UNKNOWN_NAME, line.span, message);
                return Err(world.report(d.help("placeholders are `{result}` and the parameters in braces")));
            }
        }
    }
    let Some((line, message)) = template.fault(instr) else { return Ok(()) };
    let whole = message.starts_with("the template");
    let span = if whole { written.span } else { written.lines.get(line).map_or(written.span, |l| l.span) };
    let d = Diagnostic::error(codes::SYNTAX, span, message);
    let unit = template.target.starts_with("sme");
    let d = match (unit, whole) {
        (true, _) => d
            .note("it is `{result} = fmopa {column}, {row}, {acc}`, of `Vec T n` twice and a `Vec T (n * n)`")
            .help("`sme` has it for f32, and `sme_f64f64` for f64"),
        (false, true) => d,
        (false, false) => d
            .note("a processor's template is text of LLVM: lines `name = operation ..` that touch no memory")
            .help("for example `{result} = call <4 x float> @llvm.fma.v4f32(<4 x float> {a}, ..)`"),
    };
    Err(world.report(d))
}
