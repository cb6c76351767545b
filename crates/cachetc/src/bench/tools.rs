//! A measurement for tools: `docs/json.md` says what each key is.

use super::{Surroundings, facts};
use cachet::bench::{Group, Limit, Measured, Sweep, Timed, sweeps};
use cachet_runtime::{Interval, MeasureRow};
use serde_json::{Map, Value, json};

/// Everything.
pub fn document(measured: &Measured, surroundings: &Surroundings) -> Value {
    let groups: Vec<Value> = measured.groups.iter().map(group).collect();
    let absent: Vec<Value> =
        measured.absent.iter().map(|a| json!({ "name": a.name, "reason": a.reason, "fix": a.fix })).collect();
    let sweeps: Vec<Value> = sweeps(&measured.groups).iter().map(sweep).collect();
    json!({
        "groups": groups, "sweeps": sweeps, "absent": absent, "seed": surroundings.seed, "cleared": surroundings.cleared,
        "processor": surroundings.processor, "llvm": surroundings.llvm,
    })
}

fn group(g: &Group) -> Value {
    let rows: Vec<Value> = g
        .rows
        .iter()
        .map(|r| {
            json!({
                "name": r.name, "nest": r.nest, "differing": r.differing, "later": r.later, "unmet": r.unmet, "too_slow_s": r.too_slow,
                "measured": row(g, &r.name, &r.timed),
            })
        })
        .collect();
    let peers: Vec<Value> = g
        .peers
        .iter()
        .map(|p| {
            json!({
                "name": p.name, "code_path": p.code_path, "path": p.path, "threads": p.threads,
                "differing": p.differing, "skipped": p.skipped, "measured": row(g, &p.name, &p.timed),
            })
        })
        .collect();
    let sizes: Map<String, Value> = g.sizes.iter().map(|(n, v)| (n.clone(), json!(v))).collect();
    let r = &g.report;
    let baseline = g.fastest.and_then(|(_, peer)| g.peers.get(peer)).map(|p| &p.name);
    json!({
        "name": g.name, "sizes": sizes, "element": g.element.to_string(), "flops": g.roof.flops, "bytes": g.roof.bytes(),
        "sampled": g.sampled, "cells": g.cells, "threads": g.threads, "roof_gflops": r.probe.best, "roof": roof(g),
        "baseline": baseline, "rounds": r.rounds_kept, "rounds_run": r.rounds_run, "noisy": r.noisy, "of_thread": r.of_thread,
        "shortened": r.shortened, "dropped": { "slow_probe": r.dropped_slow_probe, "switched_out": r.dropped_switched_out },
        "core": r.core, "probe_median_gflops": r.probe.median, "rows": rows, "peers": peers,
    })
}

fn roof(g: &Group) -> Value {
    let roof = &g.roof;
    let limit = match (roof.floor, roof.limit) {
        (None, _) => None,
        (Some(_), Limit::Arithmetic) => Some("arithmetic"),
        (Some(_), Limit::Reading) => Some("reading"),
        (Some(_), Limit::Writing) => Some("writing"),
    };
    json!({
        "height": roof.height(), "unit": g.unit(), "limit": limit, "floor_s": roof.floor, "intensity": roof.intensity(),
        "read": roof.read, "written": roof.written, "peak_gflops": roof.peak, "reading_gb_s": roof.reading,
        "writing_gb_s": roof.writing, "instruction": roof.instruction,
    })
}

fn row(g: &Group, name: &str, timed: &Option<Timed>) -> Option<Value> {
    let (m, t): (&MeasureRow, &Timed) = (facts(g, timed)?, timed.as_ref()?);
    let modes = m.modes.map(|x| json!({ "low_s": x.low, "high_s": x.high, "share_low": x.share_low }));
    Some(json!({
        "name": name, "gflops": m.gflops, "median_s": m.median, "best_s": m.best, "of_roof": triple(t.of_roof.as_ref()),
        "of_baseline": triple(t.of_fastest.as_ref()), "rounds": m.rounds, "slow": m.slow,
        "from_dropped_rounds": m.from_dropped_rounds, "bimodal": modes.is_some(), "modes": modes,
    }))
}

fn sweep(s: &Sweep<'_>) -> Value {
    let column = |c: &cachet::bench::Column| {
        let ratios: Vec<Option<Value>> = c.ratios.iter().map(|r| triple(r.as_ref())).collect();
        let least = c.least.map(|(ratio, at)| json!({ "ratio": ratio, "at": at }));
        json!({ "name": c.name, "ratios": ratios, "mean": c.mean, "least": least })
    };
    let columns: Vec<Value> = s.columns.iter().map(column).collect();
    json!({ "name": s.name, "to": if s.to_fastest { "fastest" } else { "roof" }, "columns": columns })
}

fn triple(i: Option<&Interval>) -> Option<Value> {
    i.map(|i| json!([i.low, i.median, i.high]))
}
