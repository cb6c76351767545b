//! The suite's contractions with their schedules, at the implementations they are run at.

use cachet::pipeline::{Outcome, check};
use cachet::world::Disk;
use cachet_core::equations::Contraction;
use cachet_core::ir::{Binding, Elem, Fun, FunId, ImplId, Program};
use std::path::Path;
use std::sync::LazyLock;

/// Where generic contractions are run.
const IMPLEMENTATIONS: [&str; 4] = ["PlusTimes f32", "PlusTimes f64", "MinPlus f32", "MinPlus f64"];

/// The checked files.
pub struct Suite {
    /// One per file.
    pub files: Vec<Outcome>,
    /// All that is run.
    pub instances: Vec<Instance>,
}

/// A contraction and its schedules at one implementation.
pub struct Instance {
    /// For reports.
    pub label: String,
    /// The element type.
    pub elem: Elem,
    /// Whether the sum stands under an epilogue, so that a sum over nothing is not what is stored.
    pub epilogue: bool,
    /// What an empty sum is.
    pub zero: u64,
    /// Type arguments.
    pub types: Vec<Binding>,
    /// The contraction's own nest.
    pub nest: FunId,
    /// Its schedules.
    pub schedules: Vec<FunId>,
    file: usize,
    contraction: usize,
}

impl Suite {
    /// The suite, checked once for all tests.
    pub fn get() -> &'static Suite {
        static SUITE: LazyLock<Suite> = LazyLock::new(Suite::load);
        &SUITE
    }

    /// Checks every file; a refusal is a failure.
    fn load() -> Suite {
        let mut suite = Suite { files: Vec::new(), instances: Vec::new() };
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/suite");
        let names = std::fs::read_dir(&folder).expect("the suite is there").map(|e| e.unwrap().path());
        let kernels = |p: &Path| {
            let name = p.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            name.starts_with("kernels_") && name.ends_with(".cachet")
        };
        let mut paths: Vec<_> = names.filter(|p| kernels(p)).collect();
        paths.sort();
        for path in paths {
            let outcome = check(path.to_str().unwrap(), &Disk::default());
            let said: Vec<String> = outcome.diagnostics.iter().map(|d| format!("{d:?}")).collect();
            assert!(!outcome.refused(), "{} is refused: {}", path.display(), said.join("\n"));
            suite.add(outcome);
        }
        suite
    }

    fn add(&mut self, outcome: Outcome) {
        let file = self.files.len();
        for (contraction, (c, nest)) in outcome.module.contractions.iter().enumerate() {
            let of_nest = |s: &&cachet_core::script::Script| s.of == *nest;
            let schedules: Vec<FunId> = outcome.module.scripts.iter().filter(of_nest).map(|s| s.fun).collect();
            for (at, types) in bindings(outcome.checked.program(), c) {
                let elem = if at.ends_with("f64") { Elem::F64 } else { Elem::F32 };
                self.instances.push(Instance {
                    label: format!("{} at {at}", c.name),
                    elem,
                    epilogue: c.name.starts_with("finished"),
                    zero: zero(elem, &at),
                    types,
                    nest: *nest,
                    schedules: schedules.clone(),
                    file,
                    contraction,
                });
            }
        }
        self.files.push(outcome);
    }

    /// The file that an instance is of.
    pub fn outcome(&self, i: &Instance) -> &Outcome {
        &self.files[i.file]
    }

    /// Its program.
    pub fn program(&self, i: &Instance) -> &Program {
        self.outcome(i).checked.program()
    }

    /// Its equations.
    pub fn contraction(&self, i: &Instance) -> &Contraction {
        &self.outcome(i).module.contractions[i.contraction].0
    }

    /// A function of it.
    pub fn fun(&self, i: &Instance, id: FunId) -> &Fun {
        &self.program(i).funs[id.index()]
    }

    /// A function's name.
    pub fn name(&self, i: &Instance, id: FunId) -> &str {
        &self.fun(i, id).name
    }
}

/// What a contraction's type parameter is bound to, with a name: every implementation, or nothing for plain floats.
fn bindings(program: &Program, c: &Contraction) -> Vec<(String, Vec<Binding>)> {
    if c.type_params.is_empty() {
        let plain = if c.name.ends_with("_f64") { "f64" } else { "f32" };
        return vec![(plain.into(), vec![])];
    }
    let find = |name: &&str| program.impls.iter().position(|i| i.name == *name).expect("the library has it");
    IMPLEMENTATIONS.iter().map(|n| (n.to_string(), vec![Binding::Impl(ImplId(find(n) as u32))])).collect()
}

/// The identity of the addition: `-0.0`, or infinity where the smaller wins.
fn zero(elem: Elem, at: &str) -> u64 {
    match (at.starts_with("MinPlus"), elem) {
        (true, Elem::F64) => f64::INFINITY.to_bits(),
        (true, _) => u64::from(f32::INFINITY.to_bits()),
        (false, Elem::F64) => 0x8000_0000_0000_0000,
        (false, _) => 0x8000_0000,
    }
}
