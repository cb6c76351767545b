//! What bounds a function on a machine, for fixed sizes?
//!
//! Each bound is a number of cycles that one part of the machine needs, if it were all that counts: its arithmetic, its load
//! and store slots, the transport from and to each memory level, and the chains of operations that wait for one another.
//! The largest is what bounds the function. What a level fetches from the one behind it is bounded by what it would fetch if it
//! kept what was used last ([`crate::reuse`]); where that has no number, what a function reads at a level comes from there each
//! time. What the platform does not say bounds nothing.

use crate::account::Account;
use crate::count::Values;
use crate::reuse::Fetched;
use crate::tally::What;
use cachet_core::ir::Elem;
use cachet_machine::platform::{Part, Platform};
use std::collections::BTreeMap;

/// What one part of a machine needs.
#[derive(Clone, PartialEq, Debug)]
pub struct Limit {
    /// Which part: `fma`, `loads`, `L1 reads`, `chain of fma`, ..
    pub part: String,
    /// How many cycles.
    pub cycles: f64,
}

/// All bounds, the largest first, with what levels fetch where that is known. `None` where a count has no number at these sizes.
pub fn limits(
    account: &Account,
    values: &Values,
    platform: &Platform,
    fetched: Option<&[Fetched]>,
) -> Option<Vec<Limit>> {
    let unit = platform.units.iter().find(|u| u.fields.iter().any(|f| f.name == "lanes"))?;
    let slots = |name: &str| number(unit, name, None).map(|s| 1.0 / s);
    let load_each = slots("load_slots");
    let store_each = number(unit, "store_cycles", None).or_else(|| slots("store_slots"));
    let mut parts: BTreeMap<String, f64> = BTreeMap::new();
    let mut chain = (0.0, String::new());
    let mut chained: BTreeMap<String, f64> = BTreeMap::new();
    for (what, n) in account.total() {
        let n = n.value(values)? as f64;
        let mut add = |part: &str, cycles: Option<f64>| {
            if let Some(c) = cycles {
                *parts.entry(part.to_string()).or_default() += c;
            }
        };
        // The first level is asked each time; the others are asked for what those before them have not kept.
        let nearest = |level: &str| platform.levels.first().is_none_or(|l| l.name == level);
        match &what {
            What::Read(p) | What::Written(p) if fetched.is_some() && !nearest(&p.level) => {}
            What::Read(p) => add(&format!("{} reads", p.level), moved(platform, &p.level, "bandwidth", n)),
            What::Written(p) => add(&format!("{} writes", p.level), moved(platform, &p.level, "store_bandwidth", n)),
            What::Issued { op, elem, lanes } => {
                let Some((part, each)) = work(unit, op, *elem) else { continue };
                add(part, Some(n * at_once(*lanes, number(unit, "lanes", *elem)) * each));
            }
            What::Load(bytes) => {
                add("loads", load_each.map(|e| n * at_once(*bytes, register(unit)) * e));
            }
            What::Store(bytes) => {
                add("stores", store_each.map(|e| n * at_once(*bytes, register(unit)) * e));
            }
            What::Chained { op, elem } => {
                if let Some(latency) = latency(unit, op, *elem) {
                    *chained.entry(op.clone()).or_default() += n * latency;
                }
            }
            // In place of what they would take one by one.
            What::Along(what) => match &**what {
                What::Issued { op, elem, lanes } => {
                    let Some((part, each)) = work(unit, op, *elem) else { continue };
                    let all = number(unit, "lanes", *elem);
                    add(part, Some(n * (share(*lanes, all) - at_once(*lanes, all)) * each));
                }
                What::Load(bytes) => {
                    let less = share(*bytes, register(unit)) - at_once(*bytes, register(unit));
                    add("loads", load_each.map(|e| n * less * e));
                }
                What::Store(bytes) => {
                    let less = share(*bytes, register(unit)) - at_once(*bytes, register(unit));
                    add("stores", store_each.map(|e| n * less * e));
                }
                What::Read(_)
                | What::Written(_)
                | What::Work(_)
                | What::Chained { .. }
                | What::Along(_)
                | What::Same(_) => {}
            },
            What::Same(bytes) => add("loads", load_each.map(|e| -n * at_once(*bytes, register(unit)) * e)),
            What::Work(_) => {}
        }
    }
    for f in fetched.unwrap_or_default() {
        if let Some(cycles) = moved(platform, &f.from, "bandwidth", f.bytes) {
            parts.insert(format!("{} to {}", f.from, f.into), cycles);
        }
    }
    for (op, cycles) in &chained {
        chain.0 += cycles;
        if chain.1.is_empty() || *cycles > chained[&chain.1] {
            chain.1.clone_from(op);
        }
    }
    if !chain.1.is_empty() {
        parts.insert(format!("chain of {}", chain.1), chain.0);
    }
    let mut out: Vec<Limit> = parts.into_iter().map(|(part, cycles)| Limit { part, cycles }).collect();
    out.sort_by(|a, b| b.cycles.total_cmp(&a.cycles).then_with(|| a.part.cmp(&b.part)));
    Some(out)
}

/// How many instructions so many lanes or bytes take.
fn at_once(wanted: i64, one: Option<f64>) -> f64 {
    one.map_or(1.0, |one| (wanted as f64 / one).ceil().max(1.0))
}

/// The part of an instruction that so many lanes or bytes take.
fn share(wanted: i64, one: Option<f64>) -> f64 {
    one.map_or(1.0, |one| wanted as f64 / one)
}

fn number(part: &Part, name: &str, elem: Option<Elem>) -> Option<f64> {
    let of = |e: Option<Elem>| part.fields.iter().find(|f| f.name == name && f.elem == e).map(|f| f.value as f64);
    elem.and_then(|e| of(Some(e))).or_else(|| of(None)).filter(|n| *n > 0.0)
}

/// Bytes of a register.
fn register(unit: &Part) -> Option<f64> {
    number(unit, "register_bits", None).map(|bits| bits / 8.0)
}

/// Cycles until so many bytes have moved from or to a level.
fn moved(platform: &Platform, level: &str, field: &str, bytes: f64) -> Option<f64> {
    let level = platform.levels.iter().find(|l| l.name == level)?;
    number(level, field, None).map(|b| bytes * 100.0 / b)
}

/// Which part of a unit does an operation, and how many cycles one takes it.
fn work(unit: &Part, op: &str, elem: Option<Elem>) -> Option<(&'static str, f64)> {
    let pipes = |name: &str| number(unit, name, elem).map(|p| 1.0 / p);
    match op {
        "fma" | "*" => Some(("fma", pipes("fma_pipes")?)),
        "+" | "-" => Some(("add", pipes("add_pipes").or_else(|| pipes("fma_pipes"))?)),
        "max" | "min" => Some(("max", pipes("max_pipes")?)),
        "/" | "sqrt" => Some(("divide", number(unit, "divide_cycles", elem)?)),
        _ => None,
    }
}

fn latency(unit: &Part, op: &str, elem: Option<Elem>) -> Option<f64> {
    match op {
        "fma" | "*" => number(unit, "fma_latency", elem),
        "+" | "-" => number(unit, "add_latency", elem).or_else(|| number(unit, "fma_latency", elem)),
        _ => None,
    }
}
