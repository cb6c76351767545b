//! Bars and the roofline as SVG that stands inside a page.

use super::table::short;
use std::fmt::Write as _;

/// Text for an element or an attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Not allowed in a document, whatever stands for them.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

/// A bar: how far, and between which marks the middle of the samples lies.
pub struct Bar {
    /// What it is of.
    pub name: String,
    /// Whether it is a library's.
    pub peer: bool,
    /// Its length.
    pub value: f64,
    /// The 10 and 90 % marks.
    pub between: Option<(f64, f64)>,
}

const WIDTH: f64 = 760.0;
const NAMES: f64 = 230.0;
const NUMBERS: f64 = 90.0;
const ROW: f64 = 26.0;

/// Bars from zero, with a line where the roof is.
pub fn bars(all: &[Bar], unit: &str, roof: Option<f64>) -> String {
    let largest = all.iter().map(|b| b.between.map_or(b.value, |(_, high)| b.value.max(high))).fold(0.0, f64::max);
    let largest = largest.max(roof.unwrap_or(0.0)).max(f64::MIN_POSITIVE);
    let x = |value: f64| NAMES + (WIDTH - NAMES - NUMBERS) * (value / largest).clamp(0.0, 1.0);
    let height = ROW * all.len() as f64 + 24.0;
    let mut out = open(WIDTH, height, "speeds");
    for (n, bar) in all.iter().enumerate() {
        let (top, end) = (ROW * n as f64 + 4.0, x(bar.value));
        let (middle, class) = (top + 9.0, if bar.peer { "peer" } else { "ours" });
        text(&mut out, (NAMES - 8.0, middle + 4.0), "name", &bar.name);
        let _ = writeln!(
            out,
            "<rect class=\"{class}\" x=\"{NAMES}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"18\"/>",
            (end - NAMES).max(0.5)
        );
        if let Some((low, high)) = bar.between {
            line(&mut out, "whisker", (x(low), middle), (x(high), middle));
        }
        text(&mut out, (end.max(x(bar.between.map_or(0.0, |b| b.1))) + 6.0, middle + 4.0), "value", &number(bar.value));
    }
    let foot = ROW * all.len() as f64 + 18.0;
    text(&mut out, (NAMES, foot), "value", unit);
    if let Some(roof) = roof {
        line(&mut out, "roof", (x(roof), 0.0), (x(roof), foot - 14.0));
        text(&mut out, (x(roof), foot), "mark", &format!("roof {}", number(roof)));
    }
    out.push_str("</svg>\n");
    out
}

/// A kernel or library under its roof.
pub struct Point {
    /// What it is of.
    pub name: String,
    /// Whether it is a library's.
    pub peer: bool,
    /// Operations a byte.
    pub intensity: f64,
    /// GFLOP/s.
    pub speed: f64,
}

/// A roof: the peak, and the bandwidth that slopes up to it.
pub struct Slope {
    /// What it is of.
    pub name: String,
    /// GFLOP/s.
    pub peak: f64,
    /// GB/s.
    pub bandwidth: Option<f64>,
}

const PLOT: (f64, f64) = (760.0, 360.0);
const LEFT: f64 = 64.0;
const BELOW: f64 = 44.0;

/// Speeds over operations a byte, both in decades, with the roofs over them.
pub fn roofline(points: &[Point], slopes: &[Slope]) -> String {
    let range = |values: Vec<f64>, least_decades: f64| {
        let usable: Vec<f64> = values.into_iter().filter(|v| v.is_finite() && *v > 0.0).map(f64::log10).collect();
        let low = usable.iter().copied().fold(f64::INFINITY, f64::min).floor();
        let high = usable.iter().copied().fold(f64::NEG_INFINITY, f64::max).ceil();
        if low.is_finite() { (low, high.max(low + least_decades)) } else { (0.0, least_decades) }
    };
    let ridges = slopes.iter().filter_map(|s| s.bandwidth.map(|b| s.peak / b));
    let across = range(points.iter().map(|p| p.intensity).chain(ridges).collect(), 1.0);
    let up = range(points.iter().map(|p| p.speed).chain(slopes.iter().map(|s| s.peak)).collect(), 1.0);
    let x = |v: f64| LEFT + (PLOT.0 - LEFT - 16.0) * ((v.log10() - across.0) / (across.1 - across.0)).clamp(0.0, 1.0);
    let y = |v: f64| 12.0 + (PLOT.1 - 12.0 - BELOW) * (1.0 - ((v.log10() - up.0) / (up.1 - up.0)).clamp(0.0, 1.0));
    let mut out = open(PLOT.0, PLOT.1, "roofline");
    for decade in across.0 as i32..=across.1 as i32 {
        let at = x(10f64.powi(decade));
        line(&mut out, "grid", (at, 12.0), (at, PLOT.1 - BELOW));
        text(&mut out, (at, PLOT.1 - BELOW + 16.0), "mark", &format!("{}", 10f64.powi(decade)));
    }
    for decade in up.0 as i32..=up.1 as i32 {
        let at = y(10f64.powi(decade));
        line(&mut out, "grid", (LEFT, at), (PLOT.0 - 16.0, at));
        text(&mut out, (LEFT - 8.0, at + 4.0), "name", &format!("{}", 10f64.powi(decade)));
    }
    text(&mut out, (PLOT.0 / 2.0, PLOT.1 - 8.0), "mark", "operations a byte; upward GFLOP/s");
    for slope in slopes {
        let (start, end) = (10f64.powf(across.0), 10f64.powf(across.1));
        let ridge = slope.bandwidth.map_or(start, |b| slope.peak / b).clamp(start, end);
        line(&mut out, "roof", (x(ridge), y(slope.peak)), (x(end), y(slope.peak)));
        if let Some(bandwidth) = slope.bandwidth {
            // Where the slope leaves the picture below.
            let foot = start.max(10f64.powf(up.0) / bandwidth);
            let _ = write!(out, "<g>");
            line(&mut out, "roof", (x(foot), y(foot * bandwidth)), (x(ridge), y((ridge * bandwidth).min(slope.peak))));
            let _ = writeln!(out, "<title>{}: {}</title></g>", escape(&slope.name), escape(&rate(bandwidth)));
        }
    }
    for point in points.iter().filter(|p| p.intensity > 0.0 && p.speed > 0.0) {
        let class = if point.peer { "peer" } else { "ours" };
        let _ = writeln!(
            out,
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\"><title>{}: {} GFLOP/s</title></circle>",
            x(point.intensity),
            y(point.speed),
            escape(&point.name),
            number(point.speed)
        );
    }
    out.push_str("</svg>\n");
    out
}

fn rate(bandwidth: f64) -> String {
    format!("{} GB/s", number(bandwidth))
}

/// Three digits.
pub fn number(value: f64) -> String {
    match value {
        v if v >= 1e4 => short(v),
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

fn open(width: f64, height: f64, label: &str) -> String {
    format!("<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" aria-label=\"{}\">\n", escape(label))
}

fn line(out: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(out, "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>");
}

fn text(out: &mut String, (x, y): (f64, f64), class: &str, what: &str) {
    let _ = writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(what));
}
