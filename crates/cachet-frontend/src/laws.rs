//! Laws as they are written: which property of which operations an interface wants and an implementation states.
//!
//! Nothing is proved here; the checker says which laws hold.

use crate::elaborate::{Done, World};
use crate::scope;
use cachet_core::ir::{At, Interface};
use cachet_core::law::{Law, OF_ALL, OF_AN_OPERATION, Property, Sense, StatedLaw};
use cachet_source::{Diagnostic, codes};
use cachet_syntax::ast::{self, LawScope, Member};

/// Which elements without operands belong to which operations, by the names that the library gives them.
const ELEMENTS: &[(&str, &str)] = &[("add", "zero"), ("mul", "one"), ("combine", "empty")];

/// A law of an interface's operations.
pub(crate) fn read(world: &mut World<'_>, l: &ast::Law, interface: &Interface) -> Done<Law> {
    let sense = match l.scope {
        LawScope::Reals => Sense::Reals,
        LawScope::Exactly => Sense::Exactly,
    };
    let property = match l.name.name.as_str() {
        "block" => return Err(world.report(Diagnostic::not_built(l.span, "laws of whole blocks"))),
        "distributive" => {
            alone(world, l)?;
            Property::Distributive {
                mul: method(world, l, interface, "mul", 2)?,
                add: method(world, l, interface, "add", 2)?,
            }
        }
        "mul_add" => {
            alone(world, l)?;
            Property::MulAdd {
                fused: method(world, l, interface, "mul_add", 3)?,
                mul: method(world, l, interface, "mul", 2)?,
                add: method(world, l, interface, "add", 2)?,
            }
        }
        "annihilates" => Property::Annihilates {
            mul: operation(world, l, interface)?,
            zero: method(world, l, interface, "zero", 0)?,
        },
        "associative" => Property::Associative(operation(world, l, interface)?),
        "commutative" => Property::Commutative(operation(world, l, interface)?),
        "idempotent" => Property::Idempotent(operation(world, l, interface)?),
        "identity" => {
            let op = operation(world, l, interface)?;
            Property::Identity { op, element: element(world, l, interface, op)? }
        }
        _ => {
            let d = scope::unknown(&l.name, "law", OF_AN_OPERATION.iter().chain(OF_ALL).copied());
            let d = d.note(format!("laws are {}, {}", OF_AN_OPERATION.join(", "), OF_ALL.join(", ")));
            return Err(world.report(d));
        }
    };
    Ok(Law { property, sense })
}

/// The laws that an implementation states, each once: none, or all that its interface wants.
pub(crate) fn stated(world: &mut World<'_>, i: &ast::Impl, interface: &Interface, name: &str) -> Done<Vec<StatedLaw>> {
    let mut out: Vec<StatedLaw> = Vec::new();
    for m in &i.members {
        let Member::Law(l) = m else { continue };
        let law = read(world, l, interface)?;
        if let Some(first) = out.iter().find(|s| s.law == law) {
            let message = format!("`{name}` states {} twice", law.text(interface));
            let d = Diagnostic::error(codes::LAW, l.span, message).also(first.span.0, "and here");
            return Err(world.report(d));
        }
        out.push(StatedLaw { law, reason: l.reason.as_ref().map(|r| r.value.clone()), span: At(l.span) });
    }
    // What holds of the words themselves is no less than what holds over the reals.
    let has = |wanted: &Law| {
        let enough = |s: &Law| s.property == wanted.property && (s.sense == wanted.sense || s.sense == Sense::Exactly);
        out.iter().any(|s| enough(&s.law))
    };
    let missing: Vec<String> = interface.laws.iter().filter(|l| !has(l)).map(|l| l.text(interface)).collect();
    // An implementation that states no law promises none: a choice of the first of two equals is a useful sum that does not
    // commute. A schedule that needs a law does not find it there. One that states some and not all has forgotten one.
    if missing.is_empty() || out.is_empty() {
        return Ok(out);
    }
    let laws = if missing.len() == 1 { "a law" } else { "laws" };
    let message = format!("`{name}` does not state {laws} of {}: {}", interface.name, missing.join(", "));
    let d = Diagnostic::error(codes::LAW, i.target.span, message);
    Err(world.report(d.help(format!("add `law {}`; it is proved, and needs no reason where it can be", missing[0]))))
}

/// Refuses an operation before a law about all of them.
fn alone(world: &mut World<'_>, l: &ast::Law) -> Done<()> {
    match &l.operation {
        None => Ok(()),
        Some(op) => {
            let message = format!("`{}` is a law of several operations, and names none", l.name.name);
            Err(world.report(Diagnostic::error(codes::LAW, op.span, message)))
        }
    }
}

/// The operation that a law names, or the only one of two operands.
fn operation(world: &mut World<'_>, l: &ast::Law, interface: &Interface) -> Done<u32> {
    let binary = || interface.methods.iter().enumerate().filter(|(_, m)| m.1 == 2);
    let Some(op) = &l.operation else {
        let mut all = binary();
        return match (all.next(), all.next()) {
            (Some((at, _)), None) => Ok(at as u32),
            _ => {
                let message = format!("say which operation of {} is {}", interface.name, l.name.name);
                Err(world.report(Diagnostic::error(codes::LAW, l.span, message)))
            }
        };
    };
    match interface.methods.iter().position(|m| m.0 == op.name) {
        Some(at) if interface.methods[at].1 == 2 => Ok(at as u32),
        Some(_) => {
            let message = format!("`{}` does not take two operands, and a law is about one that does", op.name);
            Err(world.report(Diagnostic::error(codes::LAW, op.span, message)))
        }
        None => {
            let d =
                scope::unknown(op, &format!("operation of {}", interface.name), binary().map(|(_, m)| m.0.as_str()));
            Err(world.report(d))
        }
    }
}

/// An operation that a law needs by its name.
fn method(world: &mut World<'_>, l: &ast::Law, interface: &Interface, name: &str, operands: u32) -> Done<u32> {
    match interface.methods.iter().position(|m| m.0 == name && m.1 == operands) {
        Some(at) => Ok(at as u32),
        None => {
            let s = if operands == 1 { "" } else { "s" };
            let message = format!(
                "{} has no operation `{name}` of {operands} operand{s}, which this law is about",
                interface.name
            );
            Err(world.report(Diagnostic::error(codes::LAW, l.span, message)))
        }
    }
}

/// The identity of an operation: the element that goes by its name with it, or the only one.
fn element(world: &mut World<'_>, l: &ast::Law, interface: &Interface, op: u32) -> Done<u32> {
    let name = interface.methods[op as usize].0.as_str();
    let by_name = ELEMENTS.iter().find(|e| e.0 == name).map(|e| e.1);
    let elements = || interface.methods.iter().enumerate().filter(|(_, m)| m.1 == 0);
    if let Some((at, _)) = elements().find(|(_, m)| Some(m.0.as_str()) == by_name) {
        return Ok(at as u32);
    }
    let mut all = elements();
    match (all.next(), all.next()) {
        (Some((at, _)), None) => Ok(at as u32),
        _ => {
            let message = format!("which element of {} is the identity of `{name}` cannot be told", interface.name);
            let d = Diagnostic::error(codes::LAW, l.span, message);
            let names: Vec<String> = ELEMENTS.iter().map(|(op, e)| format!("`{e}` of `{op}`")).collect();
            Err(world.report(d.note(format!("it is {}, or the only operation without operands", names.join(", ")))))
        }
    }
}
