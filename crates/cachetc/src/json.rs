//! The same facts for tools: one JSON document on standard output.

use crate::render;
use cachet::pipeline::Outcome;
use cachet_check::checked::{Claim, RelationKind};
use cachet_source::{Diagnostic, Sources};
use serde_json::{Value, json};

/// A report.
pub fn diagnostic(sources: &Sources, d: &Diagnostic) -> Value {
    let labels: Vec<Value> = d
        .labels
        .iter()
        .map(|l| {
            let file = sources.file(l.span.file);
            let (from, to) = (file.line_col(l.span.lo), file.line_col(l.span.hi));
            json!({
                "file": file.name,
                "from": { "line": from.line, "column": from.col, "byte": l.span.lo },
                "to": { "line": to.line, "column": to.col, "byte": l.span.hi },
                "text": l.text,
                "primary": l.primary,
            })
        })
        .collect();
    json!({
        "kind": d.kind,
        "code": d.code,
        "message": d.message,
        "labels": labels,
        "notes": d.notes,
        "helps": d.helps,
        "counterexample": d.counterexample,
        "facts": render::facts(d),
    })
}

/// All reports.
pub fn diagnostics(outcome: &Outcome) -> Value {
    Value::Array(outcome.diagnostics.iter().map(|d| diagnostic(&outcome.sources, d)).collect())
}

/// A claim.
pub fn claim(claim: &Claim) -> Value {
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
    json!({
        "name": claim.name,
        "links": links,
        "arithmetic": claim.arithmetic,
        "trusted": [],
        "steps": claim.steps,
        "conditions": claim.conditions,
        "prover": cachet::claim::PROVER,
    })
}
