//! One mutant in one place: does the step apply, does the checker accept it, and what does the oracle say?

use cachet::world::{Disk, World};
use cachet_check::checked::Checker;
use cachet_check::relation::Asked;
use cachet_core::ir::{Fun, FunId, Program};
use cachet_core::pattern::StepDef;
use cachet_core::script::{Module, Rewrite, StepCall};
use cachet_core::validate::validate_fun;
use cachet_oracle::symbolic::{Comparison, Side, compare};
use cachet_source::Sources;

/// At most so many tuples of sizes are compared: all of 0 to 3 in each of up to three dimensions, of four a sample.
const MOST_TUPLES: usize = 100;

const LAYER: &str = "import \"cachet:steps\"

contraction layer
    (reads a: [f32; M, K])
    (reads b: [f32; K, N])
    (reads bias: [f32; N])
    -> out c: [f32; M, N] =
  c[i, j] = max (bias[j] + (sum k. a[i, k] * b[k, j])) 0.0

schedule layer_swapped of layer =
  zero (i, j) c
  hoist (j, k) c
";

const IN_PLACE: &str = "import \"cachet:steps\"

// Each element of `y` takes a term a row.
fn columns (reads a: [f32; M, N]) (mut y: [f32; N]) =
  for i in 0 .. M do
    for j in 0 .. N do
      store y[j] = load y[j] * load a[i, j] + load a[i, j]

schedule by_rows of columns =
  interchange (i, j)

// Each row is made from the row before it.
fn below (mut c: [f32; M, N]) =
  for i in 0 .. M - 1 do
    for j in 0 .. N do
      store c[i + 1, j] = load c[i, j] * load c[i + 1, j]

schedule shifted of below =
  interchange (i, j)
";

/// What became of a mutant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The step does not even make a program.
    NotApplicable,
    /// It makes the program that the step makes, by the same recipe.
    Unchanged,
    /// The checker accepted it.
    Accepted { wrong: bool },
    /// The checker refused it.
    Refused { wrong: bool },
}

impl Verdict {
    /// Whether the oracle found a difference.
    pub fn wrong(self) -> bool {
        match self {
            Verdict::NotApplicable | Verdict::Unchanged => false,
            Verdict::Accepted { wrong } | Verdict::Refused { wrong } => wrong,
        }
    }
}

/// The files that the schedules stand in.
pub struct Programs {
    pub matmul: Module,
    others: Vec<Module>,
}

/// A step of a schedule, with the program before it.
pub struct Place {
    /// The schedule's name.
    pub name: String,
    program: Program,
    fun: FunId,
    call: StepCall,
}

impl Programs {
    pub fn load() -> Programs {
        let example = |name: &str| load(&format!("{}/../../examples/{name}.cachet", env!("CARGO_MANIFEST_DIR")));
        let written = |name: &str, text: &str| {
            let path = format!("{}/mutants_{name}.cachet", env!("CARGO_TARGET_TMPDIR"));
            std::fs::write(&path, text).expect("a file can be written");
            load(&path)
        };
        let others =
            vec![example("matvec"), example("products"), written("layer", LAYER), written("in_place", IN_PLACE)];
        Programs { matmul: example("matmul"), others }
    }

    /// The place of a schedule's step, counted from 0, after the library's steps before it.
    pub fn place(&self, schedule: &str, step: usize) -> Place {
        let modules = std::iter::once(&self.matmul).chain(&self.others);
        let found = modules.flat_map(|m| m.scripts.iter().map(move |s| (m, s))).find(|(_, s)| s.name == schedule);
        let (module, script) = found.expect("a schedule");
        let mut checker = Checker::new(module.program.clone());
        checker.accept_function(script.of).expect("the function is right");
        assert!(checker.start(script.fun, script.of, &script.types), "{schedule} starts");
        for call in &script.steps[..step] {
            let before = checker.program().funs[script.fun.index()].clone();
            let made = cachet_schedule::apply(
                checker.program(),
                &before,
                call,
                &module.steps,
                &mut cachet_schedule::Splits::default(),
            )
            .expect("the step applies");
            checker.accept_step(script.fun, &made, &asked(call)).expect("the step is right");
        }
        let program = checker.program().clone();
        Place { name: schedule.to_string(), program, fun: script.fun, call: script.steps[step].clone() }
    }
}

impl Place {
    /// Runs a mutant in the place of the step that the schedule asks for.
    pub fn run(&self, mutant: &StepDef, original: &StepDef) -> Verdict {
        match (self.apply(mutant), self.apply(original)) {
            (None, _) => Verdict::NotApplicable,
            (Some(m), Some(o)) if m.after == o.after && m.recipe == o.recipe => Verdict::Unchanged,
            (Some(m), _) => self.check(&m),
        }
    }

    /// What the checker and the oracle say of the step itself.
    pub fn run_original(&self, step: &StepDef) -> Verdict {
        self.apply(step).map_or(Verdict::NotApplicable, |made| self.check(&made))
    }

    fn apply(&self, step: &StepDef) -> Option<Rewrite> {
        let before = &self.program.funs[self.fun.index()];
        cachet_schedule::apply(&self.program, before, &self.call, std::slice::from_ref(step), &mut Default::default())
            .ok()
    }

    fn check(&self, made: &Rewrite) -> Verdict {
        let before = &self.program.funs[self.fun.index()];
        let wrong = differs(&self.program, before, &made.after);
        let mut checker = Checker::new(self.program.clone());
        checker.accept_function(self.fun).expect("the program before is right");
        match checker.accept_step(self.fun, made, &asked(&self.call)) {
            Ok(_) => Verdict::Accepted { wrong },
            Err(_) => Verdict::Refused { wrong },
        }
    }
}

fn load(root: &str) -> Module {
    let mut sources = Sources::new();
    let (module, diagnostics) = cachet_frontend::load(root, Disk::default().files(), &mut sources);
    assert!(diagnostics.iter().all(|d| !d.refuses()), "{root}: {diagnostics:?}");
    module.expect("a module")
}

fn asked(call: &StepCall) -> Asked {
    Asked { name: call.name.clone(), step: call.name.clone(), span: call.span, callers: call.callers.clone() }
}

fn differs(program: &Program, before: &Fun, after: &Fun) -> bool {
    validate_fun(program, after).is_err()
        || sizes(before.sizes.len()).iter().any(|at| match compare(program, before, after, at) {
            Comparison::Same | Comparison::NotApplicable => false,
            Comparison::Differs(_) | Comparison::Fault { side: Side::T, .. } => true,
            Comparison::Fault { side: Side::S, fault } => panic!("{} at {at:?}: {}", before.name, fault.text),
            Comparison::TooBig => panic!("{} at {at:?} is beyond the oracle", before.name),
        })
}

/// Sizes from 0 to 3 in each dimension; every so many of them where there are more than the most.
fn sizes(dims: usize) -> Vec<Vec<i64>> {
    let count = 4usize.pow(dims as u32);
    // An odd stride, so that the last dimension takes all of its values.
    let stride = if count <= MOST_TUPLES { 1 } else { (count / MOST_TUPLES) | 1 };
    let tuple = |n: usize| (0..dims).map(|d| (n / 4usize.pow(d as u32) % 4) as i64).collect();
    (0..count).step_by(stride).map(tuple).collect()
}
