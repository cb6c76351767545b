//! `synth const NR : Nat = minimize n in (n): n where ..`: constants that are chosen, once, before anything is checked.

use crate::elaborate::{Done, World};
use crate::numbers::Numbers;
use crate::scope::ItemRef;
use cachet_core::number::{Claim, Num};
use cachet_core::script::Chosen;
use cachet_machine::choice::{MOST_CANDIDATES, Refusal, Search, choose};
use cachet_source::{Diagnostic, codes};
use cachet_syntax::ast::{self, ExprKind};

/// Chooses the constants of one `synth const`.
pub(crate) fn evaluate(world: &mut World<'_>, r: ItemRef, s: &ast::Synth) -> Done<()> {
    for v in &s.vars {
        if v.ty.as_path().is_none_or(|p| p.text() != "Nat") {
            let message = format!("`{}` is chosen among whole numbers: its type is Nat", v.name.name);
            return Err(world.report(Diagnostic::error(codes::TYPE_MISMATCH, v.ty.span, message)));
        }
    }
    for (n, v) in s.search.iter().enumerate() {
        if s.search[..n].iter().any(|o| o.name == v.name) {
            let d = Diagnostic::error(codes::DUPLICATE_NAME, v.span, format!("`{}` is named twice", v.name));
            return Err(world.report(d));
        }
    }
    let mut numbers = Numbers::of_variables(r.unit, s.search.iter().map(|v| v.name.clone()));
    let cost = world.num(&mut numbers, &s.cost)?;
    let results = results(world, &mut numbers, s)?;
    let mut conditions = Vec::new();
    for c in &s.conditions {
        conditions.push(world.claim(&mut numbers, c)?);
    }
    let texts: Vec<String> = s.conditions.iter().map(|c| world.written(c.span)).collect();
    let search = Search { variables: s.search.len(), cost, conditions };
    let choice = match choose(&search) {
        Ok(choice) => choice,
        Err(refusal) => return Err(refuse(world, s, &search, &texts, refusal)),
    };
    let bound_by: Vec<String> = choice.bound_by.iter().map(|n| texts[*n].clone()).collect();
    for (v, result) in s.vars.iter().zip(&results) {
        let value = result.value(&choice.values).ok().and_then(|n| i64::try_from(n).ok()).filter(|n| *n >= 0);
        let Some(value) = value else {
            let message = format!("the value chosen for `{}` is no whole number from 0 to 2^63 - 1", v.name.name);
            return Err(world.report(Diagnostic::error(codes::SIZE, s.result.span, message)));
        };
        world.chosen.insert((r, v.name.name.clone()), value);
        let cost = (world.written(s.cost.span), choice.cost);
        world.module.chosen.push(Chosen { name: v.name.name.clone(), value, cost, bound_by: bound_by.clone() });
    }
    Ok(())
}

/// The constants' values in terms of the variables: one, or a tuple.
fn results(world: &mut World<'_>, numbers: &mut Numbers, s: &ast::Synth) -> Done<Vec<Num>> {
    let parts = match &s.result.kind {
        ExprKind::Tuple(parts) => parts.clone(),
        _ => vec![s.result.clone()],
    };
    if parts.len() != s.vars.len() {
        let (wanted, given) = (s.vars.len(), parts.len());
        let message = format!("{wanted} {} chosen, and {given} {} given", are(wanted, "constant"), are(given, "value"));
        return Err(world.report(Diagnostic::error(codes::ARITY, s.result.span, message)));
    }
    parts.iter().map(|p| world.num(numbers, p)).collect()
}

fn are(n: usize, what: &str) -> String {
    if n == 1 { format!("{what} is") } else { format!("{what}s are") }
}

fn refuse(
    world: &mut World<'_>,
    s: &ast::Synth,
    search: &Search,
    texts: &[String],
    refusal: Refusal,
) -> crate::elaborate::Reported {
    let names: Vec<&str> = s.vars.iter().map(|v| v.name.name.as_str()).collect();
    let names = names.join(", ");
    let at = s.vars.first().map_or(s.span, |v| v.name.span);
    let d = match refusal {
        Refusal::Unbounded { variable, below } => {
            let v = &s.search[variable];
            let (which, example) = if below { ("smallest", ">= 1") } else { ("largest", "<= 64") };
            let message = format!("no condition gives the {which} `{}` that is tried", v.name);
            Diagnostic::error(codes::SIZE, v.span, message)
                .help(format!("add a bound that is a number: `{} {example}`", v.name))
        }
        Refusal::TooMany => {
            let message = format!("more than {MOST_CANDIDATES} candidates would have to be tried");
            Diagnostic::error(codes::LIMIT, at, message).help("narrow the bounds of the variables")
        }
        Refusal::NoValue(fault) => Diagnostic::error(
            codes::SIZE,
            at,
            format!("the choice of {names} asks for a number without a value: {fault}"),
        ),
        Refusal::None(failed) => {
            let message = format!("no candidate for {names} meets all conditions");
            let mut d = Diagnostic::error(codes::PROOF, at, message);
            for n in failed {
                let text = match &search.conditions[n] {
                    Claim::Compare(c) if c.lhs.is_ground() && c.rhs.is_ground() => {
                        let side = |n: &Num| n.value(&[]).map_or("?".to_string(), |n| n.to_string());
                        format!("{}: {} and {}", texts[n], side(&c.lhs), side(&c.rhs))
                    }
                    _ => texts[n].clone(),
                };
                d = d.also(s.conditions[n].span, format!("this fails last: {text}"));
            }
            d
        }
    };
    world.report(d)
}
