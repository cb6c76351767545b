//! Functions of the suite, each changed in one place: whatever is accepted does nothing that no program may.
//!
//! A bound, a subscript, a guard, a window, what is lent at a call, an extent, a requirement or the statements themselves
//! are changed. The oracle runs every changed function that the checker accepts at small sizes and around the ends of
//! blocks; it knows cells that were not written, cells outside their arrays, windows, and what calls ask for, and shares
//! nothing with the checker. `--nocapture` prints the counts.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

#[path = "../../cachet-adversary/src/mutate/programs.rs"]
mod change;

use cachet::world::{Disk, World};
use cachet_check::checked::Checker;
use cachet_core::ir::{Fun, FunId, Ix, Program};
use cachet_core::rewrite::callees;
use cachet_core::script::Module;
use cachet_core::validate::validate_fun;
use cachet_oracle::symbolic::{Comparison, compare};
use cachet_source::Sources;

/// Grids, slices lent at calls, named sizes, records, arrays made in loops, local cells, blocks.
const FILES: &[&str] = &[
    "grids",
    "slices",
    "named_sizes",
    "records/in_loops",
    "functions/cells",
    "functions/cuts",
    "functions/extents",
    "functions/scopes_of_arrays",
];

fn load(name: &str) -> Module {
    let path = format!("{}/../../tests/suite/{name}.cachet", env!("CARGO_MANIFEST_DIR"));
    let mut sources = Sources::new();
    let (module, diagnostics) = cachet_frontend::load(&path, Disk::default().files(), &mut sources);
    assert!(diagnostics.iter().all(|d| !d.refuses()), "{path}: {diagnostics:?}");
    module.expect("a module")
}

/// Every function that differs from one by one change.
fn changed(fun: &Fun) -> Vec<(String, Fun)> {
    let mut grown = fun.clone();
    let bodies = change::of(&mut grown, &fun.body);
    let mut out: Vec<_> = bodies.into_iter().map(|(what, body)| (what, Fun { body, ..grown.clone() })).collect();
    for n in 0..fun.requires.len() {
        let mut f = fun.clone();
        f.requires.remove(n);
        out.push((format!("requirement {n} lost"), f));
    }
    for (b, info) in fun.buffers.iter().enumerate() {
        for (axis, extent) in info.extents.iter().enumerate() {
            for by in [-1, 1] {
                let mut f = fun.clone();
                f.buffers[b].extents[axis] = Ix::Add(Box::new(extent.clone()), Box::new(Ix::Lit(by)));
                out.push((format!("extent {axis} of {} {by:+}", info.name), f));
            }
        }
    }
    out
}

fn accept_callees(checker: &mut Checker, program: &Program, id: FunId) {
    for callee in callees(&program.funs[id.index()]) {
        accept_callees(checker, program, callee);
        checker.accept_function(callee).expect("a function of the suite");
    }
}

/// Small sizes, and single ones around the ends of blocks of up to 8.
fn sizes(dims: usize) -> Vec<Vec<i64>> {
    let base = [1, 14, 8, 5, 3][dims.min(4)];
    let digit = |n: i64, d: usize| n / i64::pow(base, d as u32) % base;
    let small = (0..i64::pow(base, dims as u32)).map(|n| (0..dims).map(|d| digit(n, d)).collect());
    let around = (0..dims).flat_map(|d| {
        [5, 6, 7, 9, 12, 13, 17].map(|n| {
            let mut at = vec![4; dims];
            at[d] = n;
            at
        })
    });
    small.chain(around).collect()
}

/// What the function does at some sizes that no function may.
fn fault(program: &Program, fun: &Fun) -> Option<String> {
    sizes(fun.sizes.len()).into_iter().find_map(|at| match compare(program, fun, fun, &at) {
        Comparison::Same | Comparison::NotApplicable | Comparison::TooBig => None,
        Comparison::Differs(d) => Some(format!("{at:?}: {} differs from itself", d.buffer)),
        Comparison::Fault { fault, .. } => Some(format!("{at:?}: {}", fault.text)),
    })
}

#[test]
fn accepted_changes_of_functions_do_no_harm() {
    let (mut accepted, mut refused, mut wrongly) = (0, 0, Vec::new());
    for file in FILES {
        let module = load(file);
        for id in module.items.iter().copied() {
            let fun = &module.program.funs[id.index()];
            for (what, f) in changed(fun).into_iter().filter(|_| fun.name != "main") {
                let mut program = module.program.clone();
                program.funs[id.index()] = f.clone();
                let mut checker = Checker::new(program.clone());
                accept_callees(&mut checker, &program, id);
                if validate_fun(&program, &f).is_err() || checker.accept_function(id).is_err() {
                    refused += 1;
                    continue;
                }
                accepted += 1;
                if let Some(text) = fault(&program, &f) {
                    wrongly.push(format!("{file}, {}: {what}: {text}", f.name));
                }
            }
        }
    }
    println!("{accepted} changes accepted, {refused} refused");
    assert!(wrongly.is_empty(), "accepted, and wrong:\n{}", wrongly.join("\n"));
    assert!(accepted >= 300 && refused >= 1_000, "too little was tried");
}
