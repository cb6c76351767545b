//! What the processor is given: the innermost loops with multiply-adds, in the assembly of every schedule that is shipped.
//!
//! In such a loop nothing is read from the stack or written to it, nothing is called, and nothing is gathered or scattered.
//! Where a schedule keeps a tile in registers, every multiply-add of it is one of whole vectors.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

use cachet::pipeline::{self, Outcome};
use cachet::world::Disk;
use cachet_codegen::Options;
use cachet_core::ir::{Binding, FunId, ImplId};
use cachet_runtime::{Llvm, OptLevel, Target};
use std::path::{Path, PathBuf};

/// A processor, and how it names its whole vectors.
struct Processor {
    name: &'static str,
    bits: u32,
    register: &'static str,
    /// Files whose tiles are another machine's: these are not for its registers.
    others: &'static [&'static str],
}

const PROCESSORS: [Processor; 2] = [
    Processor { name: "znver4", bits: 512, register: "%zmm", others: &["ladder_avx2", "gemm_avx2"] },
    Processor { name: "haswell", bits: 256, register: "%ymm", others: &["ladder", "gemm"] },
];

/// Where the assembler takes a name for a register, this is the prefix of every one.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

#[test]
fn hot_loops_of_shipped_schedules() {
    let Some(llvm) = llvm() else { return };
    let (mut loops, mut tiled) = (0, 0);
    for file in examples() {
        let stem = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let outcome = pipeline::check(file.to_str().unwrap(), &Disk::default());
        assert!(!outcome.refused(), "{stem}: {:?}", outcome.diagnostics);
        for p in PROCESSORS.iter().filter(|p| !p.others.contains(&stem.as_str())) {
            for schedule in &outcome.module.scripts {
                let text = assembly(&llvm, &outcome, schedule.fun, p);
                let whole = in_registers(&outcome, schedule.fun);
                let name = format!("{stem}: {} for {}", outcome.checked.program().funs[schedule.fun.index()].name, p.name);
                let hot = innermost(&text).into_iter().filter(|l| l.iter().any(|i| is_fma(i))).collect::<Vec<_>>();
                assert!(!whole || !hot.is_empty(), "{name}: no loop has a multiply-add");
                for body in &hot {
                    let wrong = body.iter().find_map(|i| wrong(i, whole.then_some(p.register)));
                    assert_eq!(wrong, None, "{name}:\n{}", body.join("\n"));
                }
                loops += hot.len();
                tiled += usize::from(whole);
            }
        }
    }
    println!("{loops} loops, {tiled} tiles of registers");
    assert!(loops > 100 && tiled > 10, "{loops} loops, {tiled} tiles of registers");
}

/// What is looked for is found where it stands.
#[test]
fn faults_are_seen() {
    let looped = |body: &str| format!("f:\n\tpushq\t%rbp\n\tmovq\t%rsp, %rbp\n.LBB0_1:\n{body}\tjne\t.LBB0_1\n\tretq\n");
    let all = |text: &str, register| {
        innermost(text).iter().flat_map(|l| l.iter().filter_map(|i| wrong(i, register))).collect::<Vec<_>>()
    };
    let fma = "\tvfmadd231ps\t(%rax){1to16}, %zmm1, %zmm2\n";
    assert_eq!(all(&looped(fma), Some("%zmm")), Vec::<String>::new());
    for bad in [
        "\tvmovups\t%zmm1, 64(%rsp)\n",
        "\tvfmadd231ps\t-64(%rbp), %zmm1, %zmm2\n",
        "\tcallq\tfmaf\n",
        "\tvgatherdps\t(%rax,%zmm1), %zmm2 {%k1}\n",
        "\tvscatterdps\t%zmm2, (%rax,%zmm1) {%k1}\n",
        "\tvfmadd231ss\t%xmm1, %xmm2, %xmm3\n",
        "\tvfmadd231ps\t%ymm1, %ymm2, %ymm3\n",
    ] {
        assert_eq!(all(&looped(&format!("{bad}{fma}")), Some("%zmm")).len(), 1, "{bad}");
    }
    // An outer loop is not looked into, only the innermost one.
    let nested = "f:\n.LBB0_1:\n\tvmovups\t%zmm1, 64(%rsp)\n.LBB0_2:\n\tvfmadd231ps\t%zmm1, %zmm2, %zmm3\n\tjne\t.LBB0_2\n\tjne\t.LBB0_1\n";
    assert_eq!(all(nested, Some("%zmm")), Vec::<String>::new());
    assert_eq!(innermost(nested).len(), 1);
}

fn llvm() -> Option<Llvm> {
    let llvm = Llvm::load().map_err(|e| e.to_string());
    let llvm = llvm.and_then(|l| match l.targets().iter().any(|t| t.eq_ignore_ascii_case("x86")) {
        true => Ok(l),
        false => Err("libLLVM has no back end for x86".into()),
    });
    match llvm {
        Ok(llvm) => Some(llvm),
        Err(why) => {
            let required = std::env::var("CACHET_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|t| t.trim() == "llvm"), "llvm is required and missing: {why}");
            let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("skipped: assembly: {why}\n"));
            None
        }
    }
}

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let all = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut all: Vec<PathBuf> = all.filter(|p| p.extension().is_some_and(|e| e == "cachet")).collect();
    all.sort();
    all
}

/// A schedule's code alone; what it leaves unbound is bound to floats of 32 bits.
fn assembly(llvm: &Llvm, outcome: &Outcome, fun: FunId, p: &Processor) -> String {
    let program = outcome.checked.program();
    let unbound = &program.funs[fun.index()].type_params;
    let fits = |interface| {
        let named = ["PlusTimes f32", "Cheapest f32"];
        let found = named.iter().find_map(|n| program.impls.iter().position(|i| i.name == *n && i.interface == interface));
        Binding::Impl(ImplId(found.expect("an implementation") as u32))
    };
    let types: Vec<Binding> = unbound.iter().map(|t| fits(t.interface)).collect();
    let options = Options { cpu: p.name.into(), features: String::new(), vector_bits: p.bits };
    let text = cachet_codegen::emit(program, &[(fun, types)], &options).expect("code");
    let target = Target { triple: TRIPLE.into(), cpu: p.name.into(), features: String::new() };
    llvm.compile(&text.ir, &target, OptLevel::O3).and_then(|m| m.emit_assembly()).expect("assembly")
}

/// Whether one of the steps keeps a tile in registers.
fn in_registers(outcome: &Outcome, fun: FunId) -> bool {
    outcome.traces.get(&fun).is_some_and(|t| t.steps.iter().any(|s| s.text.trim_start().starts_with("registers ")))
}

/// The instructions of every loop that has no loop inside: from a label to the last jump back to it.
fn innermost(text: &str) -> Vec<Vec<String>> {
    let lines = with_frames(text);
    let label = |l: &str| l.strip_suffix(':').filter(|n| n.starts_with(".L")).map(str::to_owned);
    let mut at = std::collections::BTreeMap::<String, usize>::new();
    let mut loops: Vec<(usize, usize)> = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        if let Some(name) = label(line) {
            at.insert(name, n);
        }
        let mut words = line.split_whitespace();
        let (Some(word), Some(to)) = (words.next(), words.next()) else { continue };
        if let (true, Some(start)) = (word.starts_with('j'), at.get(to)) {
            loops.push((*start, n));
        }
    }
    // Several jumps back to one label are one loop.
    let ends = |start| loops.iter().filter(move |(s, _)| *s == start).map(|(_, e)| *e).max().unwrap_or(start);
    let starts: std::collections::BTreeSet<usize> = loops.iter().map(|(s, _)| *s).collect();
    let inside = |start: usize| starts.iter().any(|s| *s > start && *s < ends(start));
    let innermost = starts.iter().copied().filter(|s| !inside(*s));
    let instructions = |s: usize| lines[s..=ends(s)].iter().filter(|l| l.starts_with('\t') && !l.starts_with("\t."));
    innermost.map(|s| instructions(s).cloned().collect()).collect()
}

/// The lines without remarks. `%rbp` is called `%frame` where it holds the frame: elsewhere it is a register like others.
fn with_frames(text: &str) -> Vec<String> {
    let mut framed = false;
    let mut out = Vec::new();
    for line in text.lines().map(|l| l.split('#').next().unwrap_or("").trim_end()) {
        let function = line.ends_with(':') && !line.starts_with(['.', '\t']);
        framed = (framed && !function) || line.trim_start() == "movq\t%rsp, %rbp";
        out.push(if framed { line.replace("(%rbp", "(%frame") } else { line.to_owned() });
    }
    out
}

fn is_fma(instruction: &str) -> bool {
    let word = instruction.trim_start();
    ["vfmadd", "vfmsub", "vfnmadd", "vfnmsub"].iter().any(|f| word.starts_with(f))
}

/// What an instruction has that no hot loop may have.
fn wrong(instruction: &str, register: Option<&str>) -> Option<String> {
    let word = instruction.trim_start();
    let name = word.split_whitespace().next().unwrap_or("");
    let because = if word.contains("(%rsp") || word.contains("(%frame") {
        "the stack"
    } else if name.starts_with("call") {
        "a call"
    } else if name.starts_with("vgather") || name.starts_with("vpgather") {
        "a gather"
    } else if name.starts_with("vscatter") || name.starts_with("vpscatter") {
        "a scatter"
    } else if let (true, Some(register)) = (is_fma(word), register) {
        let whole = (name.ends_with("ps") || name.ends_with("pd")) && word.contains(register);
        return (!whole).then(|| format!("no whole vector: {word}"));
    } else {
        return None;
    };
    Some(format!("{because}: {word}"))
}
