//! What the processor is given: the innermost loops with multiply-adds, in the assembly of every schedule that is shipped.
//!
//! In such a loop nothing is called, nothing is gathered or scattered, and no vector is put on the stack. Where a schedule
//! keeps a tile in registers, every multiply-add of it is one of whole vectors. An address, a bound or a mask may be on the
//! stack: in the loops of whole tiles, those with the most totals and without masks, at most once. Where all sizes are small
//! numbers there may be no loop at all.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

#[path = "assembly/loops.rs"]
mod loops;

use cachet::pipeline::{self, Outcome};
use cachet::world::Disk;
use cachet_codegen::Options;
use cachet_core::ir::{Binding, FunId, ImplId};
use cachet_runtime::{Llvm, OptLevel, Target};
use loops::innermost;
use std::path::{Path, PathBuf};

/// A processor, and how it names its whole vectors.
struct Processor {
    name: &'static str,
    bits: u32,
    register: &'static str,
    /// Files whose tiles are another machine's: these are not for its registers, or are for an instruction that is no
    /// multiply-add.
    others: &'static [&'static str],
}

const PROCESSORS: [Processor; 2] = [
    Processor {
        name: "znver4",
        bits: 512,
        register: "%zmm",
        others: &["ladder_avx2", "gemm_avx2", "gemv_avx2", "short_schedule"],
    },
    Processor {
        name: "haswell",
        bits: 256,
        register: "%ymm",
        others: &["ladder", "gemm", "gemv", "batched", "small", "short_schedule"],
    },
];

/// Where the assembler takes a name for a register, this is the prefix of every one.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

#[test]
fn hot_loops_of_shipped_schedules() {
    let Some(llvm) = llvm() else { return };
    let (mut all, mut tiled, mut hottest) = (0, 0, 0);
    for file in examples() {
        let stem = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let outcome = pipeline::check(file.to_str().unwrap(), &Disk::default());
        assert!(!outcome.refused(), "{stem}: {:?}", outcome.diagnostics);
        for p in PROCESSORS.iter().filter(|p| !p.others.contains(&stem.as_str())) {
            for schedule in &outcome.module.scripts {
                let text = assembly(&llvm, &outcome, schedule.fun, p);
                let whole = in_registers(&outcome, schedule.fun);
                let name =
                    format!("{stem}: {} for {}", outcome.checked.program().funs[schedule.fun.index()].name, p.name);
                let hot = innermost(&text).into_iter().filter(|l| l.iter().any(|i| is_fma(i))).collect::<Vec<_>>();
                let written_out = whole && hot.is_empty();
                assert!(!written_out || straight(&text), "{name}: no loop has a multiply-add");
                let most = hot.iter().map(|l| totals(l)).max().unwrap_or(0);
                for body in &hot {
                    let edge = !whole || masked(body) || totals(body) < most;
                    hottest += usize::from(!edge);
                    let wrong = body.iter().find_map(|i| wrong(i, true, whole.then_some(p.register)));
                    assert_eq!(wrong, None, "{name}:\n{}", body.join("\n"));
                    let reloads = body.iter().filter(|i| on_stack(i)).count();
                    assert!(edge || reloads == 0, "{name}: {reloads} reloads\n{}", body.join("\n"));
                }
                all += hot.len();
                tiled += usize::from(whole && !written_out);
            }
        }
    }
    println!("{all} loops, {tiled} tiles of registers, {hottest} loops of whole tiles");
    assert!(all > 100 && tiled > 10 && hottest >= tiled, "{all} loops, {tiled} tiles, {hottest} loops of whole ones");
}

/// What is looked for is found where it stands.
#[test]
fn faults_are_seen() {
    let looped =
        |body: &str| format!("f:\n\tpushq\t%rbp\n\tmovq\t%rsp, %rbp\n.LBB0_1:\n{body}\tjne\t.LBB0_1\n\tretq\n");
    let all = |text: &str, register| {
        innermost(text).iter().flat_map(|l| l.iter().filter_map(|i| wrong(i, false, register))).collect::<Vec<_>>()
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
    let reload = "\tmovq\t64(%rsp), %rsi\n";
    assert_eq!(all(&looped(&format!("{reload}{fma}")), Some("%zmm")).len(), 1);
    assert_eq!(wrong(reload.trim_end(), true, Some("%zmm")), None);
    assert_eq!(wrong("\tcmpq\t$2, 120(%rsp)", true, None), None);
    assert!(wrong("\tvmovups\t%zmm1, 64(%rsp)", true, None).is_some());
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
        let found =
            named.iter().find_map(|n| program.impls.iter().position(|i| i.name == *n && i.interface == interface));
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

/// Whether all multiply-adds are in code without loops, as where every size is a small number: of vectors, and none of the
/// stack.
fn straight(text: &str) -> bool {
    let all: Vec<&str> = text.lines().filter(|l| is_fma(l)).collect();
    let vectors = |l: &&str| !l.contains("ss\t") && !l.contains("sd\t") && !on_stack(l);
    !all.is_empty() && all.iter().all(vectors)
}

fn is_fma(instruction: &str) -> bool {
    let word = instruction.trim_start();
    ["vfmadd", "vfmsub", "vfnmadd", "vfnmsub"].iter().any(|f| word.starts_with(f))
}

fn on_stack(text: &str) -> bool {
    text.contains("(%rsp") || text.contains("(%frame")
}

/// Whether some lanes are left out.
fn masked(body: &[String]) -> bool {
    body.iter().any(|i| i.contains("{%k") || i.contains("maskmov"))
}

/// How many registers multiply-adds are added up in.
fn totals(body: &[String]) -> usize {
    let last = |i: &String| i.rsplit(',').next().map(|r| r.trim().to_owned());
    body.iter().filter(|i| is_fma(i)).filter_map(last).collect::<std::collections::BTreeSet<_>>().len()
}

/// What an instruction has that no hot loop may have, be it one of whole tiles or one at an edge.
fn wrong(instruction: &str, edge: bool, register: Option<&str>) -> Option<String> {
    let word = instruction.trim_start();
    let name = word.split_whitespace().next().unwrap_or("");
    let vector = ["%xmm", "%ymm", "%zmm"].iter().any(|r| word.contains(r));
    // What is written is the operand behind the last comma that is not inside of an address.
    let put = vector && on_stack(word.rsplit(", ").next().unwrap_or(""));
    let because = if put || (!edge && on_stack(word)) {
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
