//! A measurement as a page: one file with its charts inside, which loads nothing.

use super::chart::{Bar, Point, Slope, bars, escape, number, roofline};
use super::table::{bits_of_kernel, bits_of_peer, duration, not_timed, remarks, roofline as roofline_text, rounds};
use super::{Surroundings, facts, sizes_text};
use cachet::bench::{Group, Measured, Sweep, Timed, sweeps};
use cachet_runtime::Interval;
use std::fmt::Write as _;

const STYLE: &str = "body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 62em; padding: 0 1em; }
table { border-collapse: collapse; margin: 0.6em 0; }
th, td { border-bottom: 1px solid #8885; padding: 0.2em 0.7em; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
svg { display: block; max-width: 100%; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
svg text.name { text-anchor: end; } svg text.mark { text-anchor: middle; }
.ours { fill: #2a6fb0; } .peer { fill: #b0802a; }
.whisker { stroke: currentColor; stroke-width: 2; } .grid { stroke: #8884; }
.roof { stroke: #b02a4c; stroke-width: 1.5; stroke-dasharray: 5 3; }
@media (prefers-color-scheme: dark) { body { background: #16181b; color: #dde; } }";

/// The page of a file's measurement.
pub fn page(file: &str, measured: &Measured, surroundings: &Surroundings) -> String {
    let title = format!("cachetc bench {file}");
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{title}</title>\n\
         <style>\n{STYLE}\n</style>\n</head>\n<body>\n<h1>{title}</h1>\n",
        title = escape(&title)
    );
    paragraph(
        &mut out,
        "Bits first, then speed: every kernel that was timed has the bits of its contraction. Bars are at the median \
         time, with the middle 80 % of the rounds; blue are kernels, brown are libraries.",
    );
    for s in &sweeps(&measured.groups) {
        sweep(&mut out, s);
    }
    plot(&mut out, &measured.groups);
    for g in &measured.groups {
        group(&mut out, g, surroundings.seed);
    }
    environment(&mut out, measured, surroundings);
    out.push_str("</body>\n</html>\n");
    out
}

/// Every row of every contraction that computes, under the roofs.
fn plot(out: &mut String, groups: &[Group]) {
    let computing: Vec<&Group> = groups.iter().filter(|g| g.roof.flops > 0.0).collect();
    let mut points = Vec::new();
    for g in &computing {
        let place = format!("{} at {}", g.name, sizes_text(g));
        let rows = g.rows.iter().map(|r| (&r.name, &r.timed, false));
        for (name, timed, peer) in rows.chain(g.peers.iter().map(|p| (&p.name, &p.timed, true))) {
            let Some(m) = facts(g, timed) else { continue };
            let (intensity, speed) = (g.roof.intensity(), g.speed(m.median));
            points.push(Point { name: format!("{name}, {place}"), peer, intensity, speed });
        }
    }
    let slope = |g: &&Group| {
        let name = format!("{} at {}", g.name, sizes_text(g));
        Some(Slope { name, peak: g.roof.peak?, bandwidth: g.roof.bandwidth() })
    };
    let slopes: Vec<Slope> = computing.iter().filter_map(slope).collect();
    if !points.is_empty() {
        out.push_str("<h2>Roofline</h2>\n");
        paragraph(
            out,
            "Operations a byte count every array once. A slope is how fast arrays of that size can be read or written \
             by the passes measured in the same rounds; a pointer over a mark shows what it is.",
        );
        out.push_str(&roofline(&points, &slopes));
    }
}

fn group(out: &mut String, g: &Group, seed: u64) {
    let _ = writeln!(out, "<h2>{}, {}, {}</h2>", escape(&g.name), escape(&sizes_text(g)), g.element);
    roofline_text(g).iter().for_each(|line| paragraph(out, line));
    let rows = g.rows.iter().map(|r| (&r.name, &r.timed, false));
    let bar = |(name, timed, peer): (&String, &Option<Timed>, bool)| {
        let m = facts(g, timed)?;
        let times = timed.and_then(|t| g.report.over_rounds(t.at, |r| r.times.get(t.at).copied().flatten()));
        let between = times.map(|t| (g.speed(t.high), g.speed(t.low)));
        Some(Bar { name: name.clone(), peer, value: g.speed(m.median), between })
    };
    let all: Vec<Bar> = rows.chain(g.peers.iter().map(|p| (&p.name, &p.timed, true))).filter_map(bar).collect();
    out.push_str(&bars(&all, g.unit(), g.roof.height()));
    let heads = ["", g.unit(), "median", "best", "% of the roof", "% of the fastest library", "bits", ""];
    let numbers = [false, true, true, true, true, true, false, false];
    out.push_str("<table>\n");
    table_row(out, "th", &heads.map(String::from), &numbers);
    for r in &g.rows {
        let cells = match facts(g, &r.timed) {
            Some(_) => cells(g, &r.name, &r.timed, bits_of_kernel(g, r.nest), ""),
            None => untimed(&r.name, &not_timed(r)),
        };
        table_row(out, "td", &cells, &numbers);
    }
    for p in &g.peers {
        let cells = match facts(g, &p.timed) {
            Some(_) => cells(g, &p.name, &p.timed, bits_of_peer(g, p), &format!("runs {}", p.code_path)),
            None => untimed(&p.name, p.skipped.as_deref().unwrap_or("left out")),
        };
        table_row(out, "td", &cells, &numbers);
    }
    out.push_str("</table>\n");
    paragraph(out, &rounds(g, seed));
}

fn cells(g: &Group, name: &str, timed: &Option<Timed>, bits: String, more: &str) -> [String; 8] {
    let (m, t) = (facts(g, timed), timed.as_ref());
    let time = |s: Option<f64>| s.map_or(String::new(), duration);
    let percent = |i: Option<&Interval>| {
        i.map_or(String::new(), |i| format!("{:.1} [{:.1}, {:.1}]", 100.0 * i.median, 100.0 * i.low, 100.0 * i.high))
    };
    let mut remarks = m.map(remarks).unwrap_or_default();
    remarks.extend((!more.is_empty()).then(|| more.to_owned()));
    [
        name.to_owned(),
        m.map_or(String::new(), |m| number(g.speed(m.median))),
        time(m.map(|m| m.median)),
        time(m.map(|m| m.best)),
        percent(t.and_then(|t| t.of_roof.as_ref())),
        percent(t.and_then(|t| t.of_fastest.as_ref())),
        bits,
        remarks.join("; "),
    ]
}

fn untimed(name: &str, why: &str) -> [String; 8] {
    let mut cells: [String; 8] = Default::default();
    cells[0] = name.to_owned();
    cells[7] = why.to_owned();
    cells
}

fn sweep(out: &mut String, s: &Sweep<'_>) {
    let what = if s.to_fastest { "times as fast as the fastest library at each size" } else { "share of the roof" };
    let _ = writeln!(out, "<h2>{} at several sizes: {}</h2>\n<table>", escape(s.name), what);
    let mut numbers = vec![false];
    numbers.extend(s.columns.iter().map(|_| true));
    numbers.push(false);
    let row = |first: &str, cells: Vec<String>, last: &str| {
        let mut all = vec![first.to_owned()];
        all.extend(cells);
        all.push(last.to_owned());
        all
    };
    let names = s.columns.iter().map(|c| c.name.clone()).collect();
    table_row(out, "th", &row("", names, if s.to_fastest { "fastest library" } else { "" }), &numbers);
    for (n, g) in s.groups.iter().enumerate() {
        let ratio = |i: &Interval| format!("{:.2} [{:.2}, {:.2}]", i.median, i.low, i.high);
        let ratios = s.columns.iter().map(|c| c.ratios[n].as_ref().map_or(String::new(), ratio)).collect();
        let fastest = g.fastest.and_then(|(_, peer)| g.peers.get(peer)).map_or("", |p| p.name.as_str());
        table_row(out, "td", &row(&sizes_text(g), ratios, fastest), &numbers);
    }
    let two = |x: Option<f64>| x.map_or(String::new(), |x| format!("{x:.2}"));
    let means = s.columns.iter().map(|c| two(c.mean)).collect();
    table_row(out, "td", &row("geometric mean", means, ""), &numbers);
    let least = s.columns.iter().map(|c| two(c.least.map(|(m, _)| m))).collect();
    table_row(out, "td", &row("least", least, ""), &numbers);
    out.push_str("</table>\n");
}

fn environment(out: &mut String, measured: &Measured, surroundings: &Surroundings) {
    out.push_str("<h2>Surroundings</h2>\n<table>\n");
    let mut rows: Vec<[String; 2]> = vec![
        ["cachetc".into(), env!("CARGO_PKG_VERSION").into()],
        ["processor".into(), surroundings.processor.clone()],
        ["LLVM".into(), surroundings.llvm.clone()],
        ["seed of the inputs".into(), surroundings.seed.to_string()],
    ];
    rows.extend(surroundings.cleared.iter().map(|c| ["left out of the environment".into(), c.clone()]));
    for p in measured.groups.iter().flat_map(|g| &g.peers) {
        if !rows.iter().any(|r| r[0] == p.name) {
            let threads = if p.threads == 1 { "one thread".into() } else { format!("{} threads", p.threads) };
            rows.push([p.name.clone(), format!("{}, {threads}, {}", p.code_path, p.path)]);
        }
    }
    rows.extend(measured.absent.iter().map(|a| [a.name.clone(), format!("{}; to have it, {}", a.reason, a.fix)]));
    rows.iter().for_each(|cells| table_row(out, "td", cells, &[false, false]));
    out.push_str("</table>\n");
}

fn table_row(out: &mut String, tag: &str, cells: &[String], numbers: &[bool]) {
    out.push_str("<tr>");
    for (cell, number) in cells.iter().zip(numbers) {
        let class = if *number { " class=\"n\"" } else { "" };
        let _ = write!(out, "<{tag}{class}>{}</{tag}>", escape(cell));
    }
    out.push_str("</tr>\n");
}

fn paragraph(out: &mut String, text: &str) {
    let _ = writeln!(out, "<p>{}</p>", escape(text));
}
