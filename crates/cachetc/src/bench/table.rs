//! A measurement as lines of text.

use super::{facts, sizes_text};
use cachet::bench::{Group, Limit, Sweep, Timed};
use cachet_runtime::{Interval, MeasureRow};

/// How long a full bar is, in characters.
const BAR: usize = 30;

/// One contraction at one size.
pub fn group(g: &Group, seed: u64) -> String {
    let threads = if g.threads == 1 { "one thread".into() } else { format!("{} threads", g.threads) };
    let mut out = vec![format!("{}  {}  {}  {threads}", g.name, sizes_text(g), g.element)];
    out.extend(roofline(g).into_iter().map(|line| format!("  {line}")));
    let timed = g.peers.iter().filter(|p| p.timed.is_some());
    let rows = g.rows.iter().map(|r| (&r.name, &r.timed)).chain(timed.map(|p| (&p.name, &p.timed)));
    let width = rows.clone().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let best = rows.filter_map(|(_, t)| facts(g, t)).map(|m| g.speed(m.median)).fold(0.0, f64::max);
    for row in &g.rows {
        out.push(match (&row.timed, facts(g, &row.timed)) {
            (Some(t), Some(m)) => line(g, &row.name, (t, m), best, width, &bits_of_kernel(g, row.nest)),
            _ => format!("  {:width$}  {}", row.name, not_timed(row)),
        });
    }
    for peer in &g.peers {
        if let (Some(t), Some(m)) = (&peer.timed, facts(g, &peer.timed)) {
            out.push(line(g, &peer.name, (t, m), best, width, &bits_of_peer(g, peer)));
        }
    }
    out.extend(untimed(g));
    for peer in g.peers.iter().filter(|p| p.timed.is_some()) {
        out.push(format!("  {:width$}  runs {}{}", peer.name, peer.code_path, on_threads(g, peer.threads)));
    }
    out.push(format!("  {}", rounds(g, seed)));
    out.join("\n") + "\n"
}

/// The libraries that were not timed, those with one reason in one line.
fn untimed(g: &Group) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for peer in g.peers.iter().filter(|p| facts(g, &p.timed).is_none()) {
        let reason = peer.skipped.as_deref().unwrap_or("it was left out");
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(&peer.name),
            None => reasons.push((reason, vec![&peer.name])),
        }
    }
    let line = |(reason, names): (&str, Vec<&str>)| {
        let each = if names.len() == 1 { "" } else { ", each for this" };
        format!("  {}  not timed{each}: {reason}", names.join(", "))
    };
    reasons.into_iter().map(line).collect()
}

/// What bounds a call, in two lines.
pub fn roofline(g: &Group) -> Vec<String> {
    let roof = &g.roof;
    let mut first = match roof.height() {
        Some(height) => format!("roof {height:.1} {}", g.unit()),
        None => "no roof was measured".into(),
    };
    match (roof.limit, roof.floor) {
        (_, None) => {}
        (Limit::Arithmetic, Some(_)) => {
            first.push_str(&format!(", by {} in registers", roof.instruction.as_deref().unwrap_or("multiply-adds")));
        }
        (Limit::Reading, Some(_)) => first.push_str(", by reading the inputs once"),
        (Limit::Writing, Some(_)) => first.push_str(", by writing the outputs once"),
    }
    let mut second = Vec::new();
    if roof.flops > 0.0 {
        second.push(format!("{} operations", short(roof.flops)));
    } else {
        second.push("no operations".into());
    }
    second.push(format!("{} bytes in and {} out", short(roof.read), short(roof.written)));
    if roof.flops > 0.0 {
        second.push(format!("{:.2} operations a byte", roof.intensity()));
    }
    let probe = g.report.probe;
    let unit = if roof.instruction.is_some() { g.unit() } else { "GFLOP/s" };
    second.push(format!("peak {:.1} {unit} ({:.1} in the middle of the rounds)", probe.best, probe.median));
    second.extend(roof.reading.map(|s| format!("reading {s:.1} GB/s")));
    second.extend(roof.writing.map(|s| format!("writing {s:.1} GB/s")));
    vec![first, second.join(", ")]
}

/// Why a kernel has no times.
pub fn not_timed(row: &cachet::bench::Row) -> String {
    match (&row.unmet, row.too_slow) {
        (Some(unmet), _) => format!("requires {unmet}, which does not hold here: not run"),
        (None, _) if row.later => {
            format!("{} of its elements differ from the contraction's after later calls: times left out", row.differing)
        }
        (None, Some(seconds)) if row.differing == 0 => {
            format!("bits equal; one call took {}: more --seconds allow to time it", duration(seconds))
        }
        (None, _) => format!("{} of its elements differ from the contraction's: not timed", row.differing),
    }
}

/// Whether a kernel's bits are the contraction's.
pub fn bits_of_kernel(g: &Group, nest: bool) -> String {
    if nest { format!("its own loops; {} samples equal the equations", g.sampled) } else { "bits equal".into() }
}

/// In how many elements a library has other bits.
pub fn bits_of_peer(g: &Group, peer: &cachet::bench::PeerRow) -> String {
    if peer.differing == 0 {
        "bits equal".into()
    } else {
        format!("other bits in {:.1} % of the elements", 100.0 * peer.differing as f64 / g.cells.max(1) as f64)
    }
}

/// What is particular about a row's samples.
pub fn remarks(m: &MeasureRow) -> Vec<String> {
    let mut out = Vec::new();
    if m.slow {
        out.push(format!("slow: {} round{}", m.rounds, if m.rounds == 1 { "" } else { "s" }));
    }
    if m.from_dropped_rounds {
        out.push("from disturbed rounds".into());
    }
    if let Some(modes) = &m.modes {
        let (low, high) = (duration(modes.low), duration(modes.high));
        out.push(format!("two modes: {low} in {:.0} % of the rounds, else {high}", 100.0 * modes.share_low));
    }
    out
}

/// Which rounds counted.
pub fn rounds(g: &Group, seed: u64) -> String {
    let r = &g.report;
    let mut text = format!("{} of {} rounds counted", r.rounds_kept, r.rounds_run);
    if r.dropped_slow_probe + r.dropped_switched_out > 0 {
        let (slow, switched) = (r.dropped_slow_probe, r.dropped_switched_out);
        text.push_str(&format!(" (left out: {slow} with a low peak, {switched} switched out)"));
    }
    if let Some(core) = r.core {
        text.push_str(&format!(", on core {core}"));
    }
    text.push_str(&format!(", seed {seed}"));
    if r.of_thread {
        text.push_str(", on a busy machine: times are what processors spent on the thread");
    } else if r.noisy {
        text.push_str(", on a busy machine: the better half");
    }
    if r.shortened {
        text.push_str(", fewer than the protocol wants: more --seconds allow them");
    }
    text
}

/// A contraction over its sizes.
pub fn sweep(s: &Sweep<'_>) -> String {
    let what = if s.to_fastest { "times as fast as the fastest library at each size" } else { "share of the roof" };
    let mut out = vec![format!("{}  {what}", s.name)];
    let sizes: Vec<String> = s.groups.iter().map(|g| sizes_text(g)).collect();
    let first = sizes.iter().map(String::len).max().unwrap_or(0).max("geometric mean".len());
    let width = s.columns.iter().map(|c| c.name.chars().count()).max().unwrap_or(0).max("1.00 [0.98, 1.02]".len());
    let names: Vec<String> = s.columns.iter().map(|c| format!("{:>width$}", c.name)).collect();
    out.push(format!("  {:first$}  {}", "", names.join("  ")));
    for (n, size) in sizes.iter().enumerate() {
        let cells: Vec<String> = s.columns.iter().map(|c| format!("{:>width$}", ratio(c.ratios[n].as_ref()))).collect();
        let fastest = s.groups[n].fastest.and_then(|(_, peer)| s.groups[n].peers.get(peer));
        let fastest = fastest.map(|p| format!("  {}", p.name)).unwrap_or_default();
        out.push(format!("  {size:first$}  {}{fastest}", cells.join("  ")));
    }
    let means = s.columns.iter().map(|c| c.mean.map_or("-".into(), |m| format!("{m:.2}")));
    let means: Vec<String> = means.map(|m| format!("{m:>width$}")).collect();
    out.push(format!("  {:first$}  {}", "geometric mean", means.join("  ")));
    let least = s.columns.iter().map(|c| c.least.map_or("-".into(), |(m, _)| format!("{m:.2}")));
    let least: Vec<String> = least.map(|m| format!("{m:>width$}")).collect();
    out.push(format!("  {:first$}  {}", "least", least.join("  ")));
    for c in &s.columns {
        if let Some((_, at)) = c.least {
            out.push(format!("  {} has its least at {}", c.name, sizes[at]));
        }
    }
    out.join("\n") + "\n"
}

fn ratio(r: Option<&Interval>) -> String {
    r.map_or("-".into(), |r| format!("{:.2} [{:.2}, {:.2}]", r.median, r.low, r.high))
}

fn on_threads(g: &Group, threads: usize) -> String {
    if threads == g.threads {
        String::new()
    } else {
        format!(", on {threads} thread{}", if threads == 1 { "" } else { "s" })
    }
}

fn line(g: &Group, name: &str, (t, m): (&Timed, &MeasureRow), best: f64, width: usize, bits: &str) -> String {
    let fast = g.speed(m.median);
    let filled = if best > 0.0 { ((fast / best) * BAR as f64).round() as usize } else { 0 };
    let bar = "█".repeat(filled.min(BAR)) + &"·".repeat(BAR - filled.min(BAR));
    let (median, least) = (duration(m.median), duration(m.best));
    let mut text = format!("  {name:width$}  {bar}  {fast:8.2} {}  {median:>8} (best {least})", g.unit());
    let percent =
        |i: &Interval| format!("{:5.1} % {{}} [{:.1}, {:.1}]", 100.0 * i.median, 100.0 * i.low, 100.0 * i.high);
    if let Some(i) = &t.of_roof {
        text.push_str(&format!("  {}", percent(i).replace("{}", "of the roof")));
    }
    if let Some(i) = &t.of_fastest {
        text.push_str(&format!("  {}", percent(i).replace("{}", "of the fastest library")));
    }
    text.push_str(&format!("  {bits}"));
    for remark in remarks(m) {
        text.push_str(&format!(" ({remark})"));
    }
    text
}

/// A time with four digits.
pub fn duration(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")];
    let (unit, name) = units.into_iter().find(|(unit, _)| seconds >= *unit).unwrap_or((1e-9, "ns"));
    let value = seconds / unit;
    let digits = if value >= 100.0 {
        1
    } else if value >= 10.0 {
        2
    } else {
        3
    };
    format!("{value:.digits$} {name}")
}

/// A large number with three digits and a unit.
pub fn short(x: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match units.iter().find(|(unit, _)| x >= 10.0 * unit) {
        Some((unit, name)) => format!("{:.0} {name}", x / unit),
        None => format!("{x:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_four_digits() {
        let times = [1.5, 0.012_345_6, 9.994e-4, 1.234_56e-7, 2e-10].map(duration);
        assert_eq!(times, ["1.500 s", "12.35 ms", "999.4 us", "123.5 ns", "0.200 ns"]);
        assert_eq!([524_288.0, 9_999.0, 12.0].map(short), ["524 k", "9999", "12"]);
    }
}
