//! The same facts for tools: one JSON document on standard output.

use crate::render;
use cachet::evidence::Trusted;
use cachet::pipeline::Outcome;
use cachet_check::checked::{Claim, LawBasis, RelationKind};
use cachet_core::script::Chosen;
use cachet_source::{Diagnostic, Sources, Span, codes};
use serde_json::{Value, json};

/// A report, as `docs/json.md` says.
pub fn diagnostic(sources: &Sources, d: &Diagnostic) -> Value {
    let labels: Vec<Value> = d
        .labels
        .iter()
        .map(|l| {
            let mut label = place(sources, l.span);
            label["text"] = json!(l.text);
            label["primary"] = json!(l.primary);
            label
        })
        .collect();
    let callers: Vec<Value> = d.callers.iter().map(|c| place(sources, *c)).collect();
    json!({
        "kind": d.kind,
        "code": d.code,
        "message": d.message,
        "labels": labels,
        "notes": d.notes,
        "helps": d.helps,
        "counterexample": d.counterexample,
        "facts": render::facts(d),
        "callers": callers,
    })
}

/// What kept a command from its work, with the keys of a report.
pub fn unable(message: &str, help: Option<&str>) -> Value {
    let helps: Vec<&str> = help.into_iter().collect();
    json!({
        "kind": "tool",
        "code": codes::TOOL,
        "message": message,
        "labels": [],
        "notes": [],
        "helps": helps,
        "counterexample": null,
        "facts": [],
        "callers": [],
    })
}

fn place(sources: &Sources, span: Span) -> Value {
    let file = sources.file(span.file);
    let end = |at: u32| {
        let p = file.line_col(at);
        json!({ "line": p.line, "column": p.col, "byte": at })
    };
    json!({ "file": file.name, "from": end(span.lo), "to": end(span.hi) })
}

/// All reports.
pub fn diagnostics(outcome: &Outcome) -> Value {
    Value::Array(outcome.diagnostics.iter().map(|d| diagnostic(&outcome.sources, d)).collect())
}

/// A claim.
pub fn claim(claim: &Claim, chosen: &[Chosen], trusted: &[Trusted]) -> Value {
    let trusted: Vec<Value> = trusted
        .iter()
        .map(|t| {
            let evidence = t.evidence.as_ref().map(
                |(file, r)| json!({ "file": file, "cases": r.cases, "processor": r.processor, "digest": r.digest }),
            );
            json!({ "instruction": t.instruction, "target": t.target, "evidence": evidence })
        })
        .collect();
    let links: Vec<Value> = claim
        .links
        .iter()
        .map(|l| {
            let relation = match l.relation {
                RelationKind::Bits => "bits",
            };
            json!({ "relation": relation, "of": l.to })
        })
        .collect();
    let laws: Vec<Value> = claim
        .laws
        .iter()
        .map(|l| {
            let (basis, by) = match &l.basis {
                LawBasis::Proved => ("proved", None),
                LawBasis::Wanted(interface) => ("wanted", Some(interface)),
            };
            json!({ "law": l.law, "of": l.of, "basis": basis, "interface": by })
        })
        .collect();
    let chosen: Vec<Value> = chosen
        .iter()
        .map(|c| json!({ "name": c.name, "value": c.value, "least": c.cost.0, "bound_by": c.bound_by }))
        .collect();
    json!({
        "name": claim.name,
        "links": links,
        "arithmetic": claim.arithmetic,
        "requires": claim.requires,
        "by": laws,
        "chosen": chosen,
        "trusted": trusted,
        "steps": claim.steps,
        "conditions": claim.conditions,
        "prover": cachet::claim::PROVER,
    })
}
