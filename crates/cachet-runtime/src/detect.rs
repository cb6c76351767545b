//! What machine is this? Its numbers, as a platform file has them, each with the probe that produced it.
//!
//! The system says which caches there are; loops of generated code measure how fast they and the vector units are, in
//! cycles of the core. What cannot be asked or measured is said to be so.

mod levels;
mod stopwatch;
mod system;
mod text;
mod units;

use std::time::{Duration, Instant};

use crate::clock::PinnedThread;
use crate::error::ToolError;
use crate::llvm::{HostTarget, Llvm};
use stopwatch::Stopwatch;

/// What was found.
#[derive(Clone, Debug)]
pub struct Detected {
    /// The processor, by LLVM's name.
    pub cpu: String,
    /// The processor, by the system's name.
    pub model: Option<String>,
    /// Whether this is a virtual machine, as far as the system says.
    pub is_virtual: bool,
    /// The architecture: `x86_64`, `aarch64`.
    pub target: String,
    /// The features that vector code may use.
    pub features: Vec<&'static str>,
    /// Memory levels, the innermost first.
    pub levels: Vec<DetectedPart>,
    /// Vector units, the widest first.
    pub units: Vec<DetectedPart>,
    /// How long it took.
    pub taken: Duration,
}

/// A level or a unit.
#[derive(Clone, Debug)]
pub struct DetectedPart {
    /// `L1`, `Vec`, ..
    pub name: String,
    /// Its numbers.
    pub numbers: Vec<Reading>,
}

/// A number, or why it is missing.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The field of the platform file.
    pub field: &'static str,
    /// The element type that it is about.
    pub elem: Option<&'static str>,
    /// The number; none where it was not measured.
    pub value: Option<i64>,
    /// Where it comes from, or why it was not measured.
    pub source: String,
}

impl Reading {
    fn new(field: &'static str, value: i64, source: impl Into<String>) -> Reading {
        Reading { field, elem: None, value: Some(value), source: source.into() }
    }

    fn missing(field: &'static str, why: impl Into<String>) -> Reading {
        Reading { field, elem: None, value: None, source: why.into() }
    }

    fn at(mut self, elem: &'static str) -> Reading {
        self.elem = Some(elem);
        self
    }

    /// Measured, or why not.
    fn of(field: &'static str, measured: Result<(i64, String), ToolError>) -> Reading {
        match measured {
            Ok((value, source)) => Reading::new(field, value, source),
            Err(e) => Reading::missing(field, why(&e)),
        }
    }
}

/// The machine that probes run on.
struct Bench<'a> {
    llvm: &'a Llvm,
    host: HostTarget,
    clock: Stopwatch,
}

/// Features that a platform file names, by LLVM's names.
const FEATURES: &[&str] = &[
    "avx2",
    "fma",
    "avx512f",
    "avx512vl",
    "avx512dq",
    "avx512bw",
    "avx512bf16",
    "avx512fp16",
    "avx512vnni",
    "neon",
    "bf16",
    "fullfp16",
    "i8mm",
    "sve",
    "sve2",
    "sme",
];

/// Asks and measures, for some seconds, on one core.
///
/// # Errors
/// LLVM does not know this machine, or cannot compile the clock that everything is compared with.
pub fn detect(llvm: &Llvm) -> Result<Detected, ToolError> {
    let start = Instant::now();
    let _pinned = PinnedThread::here();
    let host = llvm.host()?;
    let mut bench = Bench { llvm, clock: Stopwatch::new(llvm, &host)?, host };
    let units = units::measure(&mut bench);
    let levels = levels::measure(&mut bench, &system::caches());
    let host = &bench.host;
    let architecture = host.triple.split('-').next().unwrap_or_default();
    Ok(Detected {
        cpu: host.cpu.clone(),
        model: system::model(),
        is_virtual: system::is_virtual(),
        target: if architecture == "arm64" { "aarch64".to_owned() } else { architecture.to_owned() },
        features: FEATURES.iter().copied().filter(|f| host.has(f)).collect(),
        levels,
        units,
        taken: start.elapsed(),
    })
}

/// A failure in one line.
fn why(e: &ToolError) -> String {
    let first = e.detail.as_deref().and_then(|d| d.lines().find(|l| !l.trim().is_empty()));
    first.map_or(e.message.clone(), |d| format!("{}: {}", e.message, d.trim()))
}

#[cfg(test)]
mod tests {
    use super::text::{Operation, Shape, Turn, Vector, module};
    use super::*;
    use crate::llvm::OptLevel;

    fn llvm() -> Option<Llvm> {
        let found = Llvm::load();
        if let Err(why) = &found {
            let required = std::env::var("CACHET_REQUIRE").is_ok_and(|w| w.split(',').any(|t| t.trim() == "llvm"));
            assert!(!required, "llvm is required: {why}");
        }
        found.ok()
    }

    /// Every probe, for machines that this one may not be.
    #[test]
    fn probes_compile_for_other_machines() {
        let Some(llvm) = llvm() else { return };
        let host = |triple: &str, cpu: &str, features: &str| HostTarget {
            triple: triple.to_owned(),
            cpu: cpu.to_owned(),
            features: features.to_owned(),
        };
        let mut machines = vec![
            (host("x86_64-unknown-linux-gnu", "haswell", "+avx,+avx2,+fma"), 32),
            (
                host(
                    "x86_64-unknown-linux-gnu",
                    "znver4",
                    "+avx,+avx2,+fma,+avx512f,+avx512vl,+avx512bf16,+avx512vnni",
                ),
                64,
            ),
        ];
        if llvm.targets().iter().any(|t| t == "aarch64") {
            machines.push((host("aarch64-unknown-linux-gnu", "neoverse-v2", "+neon"), 16));
        }
        let mut tried = 0;
        for (machine, bytes) in &machines {
            let v = Vector { bytes: *bytes };
            let mut turns = vec![
                Turn::Ticks(32),
                Turn::Chase(16),
                Turn::Loads(v, 16),
                Turn::Broadcasts(v, 16),
                Turn::Stores(v, 16),
                Turn::Read(v, 1024),
                Turn::Write(v, 1024),
            ];
            let mut operations = vec![Operation::Fma, Operation::Add, Operation::Max, Operation::Divide];
            if machine.has("avx512bf16") {
                operations.extend([Operation::DotBf16, Operation::DotI8]);
            }
            for op in operations {
                turns.extend([Shape::Chains(12), Shape::Steps(8)].map(|shape| Turn::Arithmetic(op, v, shape)));
            }
            for turn in turns {
                let compiled = llvm.compile(&module(machine, turn), &machine.target(), OptLevel::O3);
                assert!(compiled.is_ok(), "{turn:?} for {}: {:?}", machine.cpu, compiled.err());
                tried += 1;
            }
        }
        assert!(tried >= 15 + 19, "{tried}");
    }

    /// What a turn counts is in the loop, and nothing was merged or left out.
    #[test]
    fn probes_have_the_instructions_that_they_count() {
        let Some(llvm) = llvm() else { return };
        let machine = HostTarget {
            triple: "x86_64-unknown-linux-gnu".to_owned(),
            cpu: "haswell".to_owned(),
            features: "+avx,+avx2,+fma".to_owned(),
        };
        let v = Vector { bytes: 32 };
        let chains = |op| Turn::Arithmetic(op, v, Shape::Chains(12));
        for (turn, instruction, count) in [
            (chains(Operation::Fma), "vfmadd", 12),
            (Turn::Arithmetic(Operation::Fma, v, Shape::Steps(8)), "vfmadd", 8),
            (Turn::Arithmetic(Operation::Add, v, Shape::Steps(8)), "vaddps", 8),
            (chains(Operation::Add), "vaddps", 12),
            (chains(Operation::Max), "vmaxps", 12),
            (chains(Operation::Divide), "vdivps", 12),
            (Turn::Loads(v, 16), "vmovups", 16),
            (Turn::Broadcasts(v, 16), "vbroadcastss", 16),
            (Turn::Stores(v, 16), "vmovups", 16),
            (Turn::Ticks(32), "xorq", 16),
            (Turn::Ticks(32), "addq", 16),
        ] {
            let compiled = llvm.compile(&module(&machine, turn), &machine.target(), OptLevel::O3).unwrap();
            let assembly = compiled.emit_assembly().unwrap();
            // The loop: between the last label that is jumped back to and its jump.
            let back = assembly.lines().rev().find(|l| l.trim().starts_with('j') && l.contains(".L")).unwrap();
            let label = format!("{}:", back.split_whitespace().last().unwrap());
            let start = assembly.lines().position(|l| l.starts_with(&label)).unwrap();
            let end = assembly.lines().position(|l| l == back).unwrap();
            let inside: Vec<&str> = assembly.lines().skip(start).take(end - start).collect();
            let found = inside.iter().filter(|l| l.trim().starts_with(instruction)).count();
            assert!(
                (count..=count + 1).contains(&found),
                "{turn:?}: {found} of {instruction} in\n{}",
                inside.join("\n")
            );
        }
    }
}
