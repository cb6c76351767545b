//! What do the vector units do in a cycle?

use super::stopwatch::{compile, enough, seconds, settled};
use super::text::{Operation, Shape, Turn, Vector};
use super::{Bench, DetectedPart, Reading, why};
use crate::buffer::AlignedBuffer;
use crate::error::ToolError;
use crate::llvm::{HostTarget, Kernel};

/// Steps of the one chain of a latency.
const STEPS: usize = 8;
/// Loads and stores of a turn.
const ACCESSES: usize = 16;
/// Registers left for operands and what the compiler needs.
const SPARE_REGISTERS: usize = 4;
/// Enough chains for four pipes of latency five.
const MOST_CHAINS: usize = 24;
/// How often each probe has a window; others have theirs in between.
const WINDOWS: usize = 15;
/// Pairs of a window.
const PAIRS: usize = 8;
/// What a rate may fall short of a whole number: loops and neighbours take their share.
const SLACK: f64 = 0.2;

/// What a probe's result says.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    /// A number of instructions in a cycle.
    Rate { field: &'static str, count: usize },
    /// The same, and where it is less than one, the cycles of one in another field.
    RateOrCycles { field: &'static str, cycles: &'static str, count: usize },
    /// Cycles of one instruction.
    Cycles { field: &'static str, count: usize },
}

/// A probe and what was measured.
struct Probe {
    says: Says,
    elem: Option<&'static str>,
    what: &'static str,
    kernel: Result<Kernel, ToolError>,
    turns: i64,
    results: Vec<f64>,
}

/// The units of this machine: the widest vectors, and where those are of 512 bits those of 256 too.
pub(super) fn measure(bench: &mut Bench<'_>) -> Vec<DetectedPart> {
    let widest = bench.host.vector_bytes();
    let mut units = vec![("Vec", widest)];
    if widest == 64 {
        units.push(("Vec256", 32));
    }
    let mut all: Vec<Vec<Probe>> = units.iter().map(|(_, bytes)| probes(bench, Vector { bytes: *bytes })).collect();
    let (input, mut output) = match operands(ACCESSES * widest) {
        Ok(buffers) => buffers,
        Err(e) => {
            return vec![DetectedPart { name: "Vec".to_owned(), numbers: vec![Reading::missing("lanes", why(&e))] }];
        }
    };
    for pass in 0..=WINDOWS {
        for probe in all.iter_mut().flatten() {
            let Ok(kernel) = &probe.kernel else { continue };
            let mut run = |turns: i64| seconds(kernel, &[turns], input.bytes(), output.bytes_mut());
            // The first pass finds out how long a run has to be.
            let outcome = if pass == 0 {
                enough(&mut run).map(|turns| probe.turns = turns)
            } else {
                bench.clock.window(PAIRS, probe.turns, &mut run).map(|cycles| probe.results.push(cycles))
            };
            if let Err(e) = outcome {
                probe.kernel = Err(e);
            }
        }
    }
    let clock = bench.clock.megahertz();
    let mut parts: Vec<DetectedPart> = units
        .iter()
        .zip(all)
        .map(|((name, bytes), probes)| {
            let mut numbers = architecture(&bench.host, *bytes);
            numbers.extend(probes.into_iter().map(|p| reading(p, *bytes)));
            DetectedPart { name: name.to_string(), numbers }
        })
        .collect();
    if let Some(first) = parts.first_mut() {
        let source = "measured: a chain of integer operations against the clock of the system, the fastest run";
        first.numbers.insert(0, Reading::new("clock", clock.round() as i64, source));
    }
    parts
}

/// What the instruction set says.
fn architecture(host: &HostTarget, bytes: usize) -> Vec<Reading> {
    let bits = bytes * 8;
    let set = match (bytes, host.has("avx512vl")) {
        (64, _) => "AVX-512",
        (32, true) => "AVX-512VL",
        (32, false) => "AVX",
        _ if host.triple.starts_with("x86_64") => "SSE",
        _ => "the architecture",
    };
    let mut lanes = vec![("f64", 8), ("f32", 4)];
    if host.has("avx512fp16") || host.has("fullfp16") {
        lanes.push(("f16", 2));
    }
    if host.has("avx512bf16") || host.has("bf16") {
        lanes.push(("bf16", 2));
    }
    lanes.extend([("i32", 4), ("i8", 1)]);
    let source = format!("{bits}-bit registers");
    let mut out: Vec<Reading> = lanes
        .iter()
        .map(|(elem, size)| Reading::new("lanes", (bytes / size) as i64, source.clone()).at(elem))
        .collect();
    let registers = format!("{set}, by the features that the processor names");
    out.push(Reading::new("registers", host.vector_registers() as i64, registers.clone()));
    out.push(Reading::new("register_bits", bits as i64, registers));
    out
}

fn probes(bench: &Bench<'_>, v: Vector) -> Vec<Probe> {
    let chains = (bench.host.vector_registers() - SPARE_REGISTERS).min(MOST_CHAINS);
    let many = |op| Turn::Arithmetic(op, v, Shape::Chains(chains));
    let one = |op| Turn::Arithmetic(op, v, Shape::Steps(STEPS));
    let rate = |field| Says::Rate { field, count: chains };
    let latency = |field| Says::Cycles { field, count: STEPS };
    let slots = |field| Says::Rate { field, count: ACCESSES };
    let stores = Says::RateOrCycles { field: "store_slots", cycles: "store_cycles", count: ACCESSES };
    let divide = Says::Cycles { field: "divide_cycles", count: chains };
    let mut list = vec![
        (rate("fma_pipes"), None, "multiply-adds, independent chains", many(Operation::Fma)),
        (latency("fma_latency"), None, "multiply-adds, one chain", one(Operation::Fma)),
        (rate("add_pipes"), None, "additions, independent chains", many(Operation::Add)),
        (latency("add_latency"), None, "additions, one chain", one(Operation::Add)),
        (rate("max_pipes"), None, "maxima, independent chains", many(Operation::Max)),
        (divide, None, "divisions, independent chains", many(Operation::Divide)),
        (slots("load_slots"), None, "loads from the first cache", Turn::Loads(v, ACCESSES)),
        (slots("broadcast_slots"), None, "loads to all lanes", Turn::Broadcasts(v, ACCESSES)),
        (stores, None, "stores to the first cache", Turn::Stores(v, ACCESSES)),
    ];
    let narrow: [(&str, &str, Operation); 2] =
        [("avx512bf16", "bf16", Operation::DotBf16), ("avx512vnni", "i8", Operation::DotI8)];
    for (feature, elem, op) in narrow {
        if bench.host.has(feature) && (v.bytes == 64 || bench.host.has("avx512vl")) {
            list.push((rate("dot_pipes"), Some(elem), "sums of products, independent chains", many(op)));
            list.push((latency("dot_latency"), Some(elem), "sums of products, one chain", one(op)));
        }
    }
    let probe = |(says, elem, what, turn)| {
        let kernel = compile(bench.llvm, &bench.host, turn);
        Probe { says, elem, what, kernel, turns: 1, results: Vec::new() }
    };
    list.into_iter().map(probe).collect()
}

/// What probes read, and room for what they write, both on the border of a line. 3.0 and 1.5 in turn: no chain comes
/// near subnormals or infinities.
fn operands(bytes: usize) -> Result<(AlignedBuffer, AlignedBuffer), ToolError> {
    let mut input = AlignedBuffer::new(bytes)?;
    for (k, x) in input.elements_mut::<f32>().iter_mut().enumerate() {
        *x = if k % 2 == 0 { 3.0 } else { 1.5 };
    }
    Ok((input, AlignedBuffer::new(bytes)?))
}

fn reading(mut probe: Probe, bytes: usize) -> Reading {
    let bits = bytes * 8;
    let cycles = settled(&mut probe.results);
    let what = format!("measured: {bits}-bit {}", probe.what);
    let read = match (&probe.kernel, probe.says) {
        (Err(e), Says::Rate { field, .. } | Says::RateOrCycles { field, .. } | Says::Cycles { field, .. }) => {
            Reading::missing(field, why(e))
        }
        (Ok(_), Says::Cycles { field, count }) => {
            let each = cycles / count as f64;
            Reading::new(field, each.round().max(1.0) as i64, format!("{what}, {each:.2} cycles each"))
        }
        (Ok(_), Says::Rate { field, count }) => {
            let rate = count as f64 / cycles;
            match whole(rate) {
                0 => Reading::missing(field, format!("{what}, {rate:.2} a cycle, which is less than one")),
                n => Reading::new(field, n, format!("{what}, {rate:.2} a cycle")),
            }
        }
        (Ok(_), Says::RateOrCycles { field, cycles: other, count }) => {
            let rate = count as f64 / cycles;
            match whole(rate) {
                0 => Reading::new(other, (1.0 / rate).round() as i64, format!("{what}, {:.2} cycles each", 1.0 / rate)),
                n => Reading::new(field, n, format!("{what}, {rate:.2} a cycle")),
            }
        }
    };
    Reading { elem: probe.elem, ..read }
}

/// The whole number that a rate comes near from below.
fn whole(rate: f64) -> i64 {
    (rate + SLACK).floor() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded_with_care() {
        assert_eq!((whole(1.97), whole(1.70), whole(0.99), whole(0.48), whole(2.02)), (2, 1, 1, 0, 2));
    }
}
