//! A listing is a program: put in the place of what it lists, it parses, types, is accepted, and lists as itself.

use crate::files::check;
use cachet::pipeline::Outcome;
use cachet_core::interpret;
use cachet_core::print::listing;
use cachet_source::FileId;
use cachet_syntax::ast::Item;
use cachet_syntax::parse;

/// Every function of the file as text, with its name, in source order.
pub fn all(outcome: &Outcome) -> Vec<(String, String)> {
    let program = outcome.checked.program();
    let one = |id: &cachet_core::ir::FunId| {
        let fun = &program.funs[id.index()];
        (fun.name.clone(), listing(program, fun))
    };
    outcome.module.items.iter().map(one).collect()
}

/// Replaces contractions, schedules and functions by their listings and checks the file again. The rest stays: imports,
/// constants, interfaces, implementations, pure functions.
/// The result is how many there are.
pub fn again(file: &str, text: &str, outcome: &Outcome) -> Result<u64, String> {
    let listed = all(outcome);
    let (replaced, after) = replaced(file, text, &listed);
    if let Some(d) = after.diagnostics.iter().find(|d| d.refuses()) {
        return Err(format!("its listings are refused: {}\n{replaced}", d.message));
    }
    let relisted = all(&after);
    for (name, before) in &listed {
        let Some((_, after)) = relisted.iter().find(|(n, _)| n == name) else {
            return Err(format!("`{name}` is gone from its listings"));
        };
        if before != after {
            return Err(format!("the listing of `{name}` lists as something else:\n{before}\n{after}"));
        }
    }
    if printed(outcome) != printed(&after) {
        return Err("its listings print something else when run".into());
    }
    Ok(listed.len() as u64)
}

/// The file with listings in the place of what they list.
fn replaced(file: &str, text: &str, listed: &[(String, String)]) -> (String, Outcome) {
    let mut out = kept(text, listed);
    for (_, text) in listed {
        out.push('\n');
        out.push_str(text);
    }
    let after = check(file, &out);
    (out, after)
}

/// What `main` prints, or why it stops.
fn printed(outcome: &Outcome) -> Option<Result<String, String>> {
    let mut said = String::new();
    let done = interpret::run_main(outcome.checked.program(), outcome.module.main?, &mut said);
    Some(done.map(|()| said).map_err(|t| t.text))
}

/// The text without what is listed.
fn kept(text: &str, listed: &[(String, String)]) -> String {
    let file = parse(text, FileId(0)).ast;
    let goes = |item: &&Item| match item {
        Item::Contraction(_) | Item::Schedule(_) | Item::Fn(_) => {
            item.names().iter().any(|n| listed.iter().any(|(name, _)| *name == n.name))
        }
        Item::ScheduleFn(_)
        | Item::StepFn(_)
        | Item::Const(_)
        | Item::Synth(_)
        | Item::Proof(_)
        | Item::Record(_)
        | Item::Interface(_)
        | Item::Impl(_)
        | Item::Layout(_)
        | Item::Instr(_)
        | Item::BuiltinStep(_)
        | Item::Platform(_) => false,
    };
    let mut out = String::new();
    let mut at = 0;
    for item in file.items.iter().filter(goes) {
        let span = item.span();
        out.push_str(&text[at..span.lo as usize]);
        at = span.hi as usize;
    }
    out.push_str(&text[at..]);
    out
}
