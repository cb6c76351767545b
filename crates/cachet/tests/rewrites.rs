//! No wrong mutant of what a step makes is ever accepted.
//!
//! Steps of all kinds run in schedules of several programs; what each makes is changed in one place, with the step's true
//! recipe and with changed ones, or only its recipe is changed, and the result is proposed to the checker in the step's place. A mutant is *wrong* if
//! it is not well formed, does something that no program may, or leaves other words than the program before at some sizes,
//! by the oracle, which shares nothing with the checker and tries sizes around twice the length of every block. Wrong ones
//! have to be refused; right ones may be refused too, since a recipe fits one way of writing the step. `--nocapture`
//! prints the counts.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

#[path = "../../cachet-adversary/src/mutate/programs.rs"]
mod change;
#[path = "rewrites/programs.rs"]
mod programs;
#[path = "../../cachet-adversary/src/mutate/recipes.rs"]
mod recipes;

use cachet::world::{Disk, World};
use cachet_check::checked::Checker;
use cachet_check::relation::Asked;
use cachet_core::ir::{Fun, FunId, Guard, Ix, Program};
use cachet_core::script::{Module, Rewrite, Script, StepCall};
use cachet_core::validate::validate_fun;
use cachet_oracle::symbolic::{Comparison, Side, compare};
use cachet_source::Sources;

/// Each changed program is proposed with every so many of its step's changed recipes.
const OTHER_RECIPES: usize = 6;

#[derive(Default)]
struct Counts {
    accepted_equal: usize,
    accepted_wrong: usize,
    refused_wrong: usize,
    refused_equal: usize,
}

impl Counts {
    fn all(&self) -> usize {
        self.accepted_equal + self.accepted_wrong + self.refused_wrong + self.refused_equal
    }

    fn add(&mut self, other: &Counts) {
        self.accepted_equal += other.accepted_equal;
        self.accepted_wrong += other.accepted_wrong;
        self.refused_wrong += other.refused_wrong;
        self.refused_equal += other.refused_equal;
    }
}

/// A step of a schedule: the programs around it and what it makes.
struct Place {
    name: String,
    program: Program,
    fun: FunId,
    call: StepCall,
    made: Rewrite,
}

fn load() -> Module {
    let path = format!("{}/rewrites.cachet", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, programs::TEXT).expect("a file can be written");
    let mut sources = Sources::new();
    let (module, diagnostics) = cachet_frontend::load(&path, Disk::default().files(), &mut sources);
    assert!(diagnostics.iter().all(|d| !d.refuses()), "{diagnostics:?}");
    module.expect("a module")
}

fn asked(call: &StepCall) -> Asked {
    Asked { name: call.name.clone(), step: call.name.clone(), span: call.span, callers: vec![] }
}

/// The places of a schedule, one a step. The steps themselves are accepted and right.
fn places(module: &Module, script: &Script) -> Vec<Place> {
    let mut checker = Checker::new(module.program.clone());
    checker.accept_function(script.of).expect("the function is right");
    assert!(checker.start(script.fun, script.of, &script.types));
    let mut splits = Default::default();
    let mut out = Vec::new();
    for (n, call) in script.steps.iter().enumerate() {
        let program = checker.program().clone();
        let before = &program.funs[script.fun.index()];
        let name = format!("{} {n}, {}", script.name, call.name);
        let made = cachet_schedule::apply(&program, before, call, &module.steps, &mut splits);
        let made = made.unwrap_or_else(|d| panic!("{name}: {}", d.message));
        assert!(!differs(&program, before, &made.after), "{name} is wrong");
        if let Err(f) = checker.accept_step(script.fun, &made, &asked(call)) {
            panic!("{name} is refused: {} {:?}", f.diagnostic.message, f.diagnostic.notes);
        }
        let (fun, call) = (script.fun, call.clone());
        out.push(Place { name, program, fun, call, made });
    }
    out
}

impl Place {
    fn before(&self) -> &Fun {
        &self.program.funs[self.fun.index()]
    }

    /// What the step makes with one change, and the step with its recipe changed.
    fn mutants(&self) -> [Vec<(String, Rewrite)>; 2] {
        let mut grown = self.made.after.clone();
        let site = self.made.to.stmts(&self.made.after).expect("a site").to_vec();
        let mut changed = Vec::new();
        for (what, block) in change::of(&mut grown, &site) {
            let mut after = self.made.after.clone();
            let to = self.made.to.replace(&mut after, block).expect("a site");
            changed.push((what, Rewrite { after, to, ..self.made.clone() }));
        }
        for (_, r) in &mut changed {
            (r.after.vars, r.after.locals) = (grown.vars.clone(), grown.locals.clone());
        }
        changed.extend(self.requirements());
        let recipes = recipes::of(&self.made.recipe).into_iter().map(|(what, recipe)| {
            let rewrite = Rewrite { recipe, ..self.made.clone() };
            (format!("recipe: {what}"), rewrite)
        });
        [changed, recipes.collect()]
    }

    /// Requirements that are lost or weaker.
    fn requirements(&self) -> Vec<(String, Rewrite)> {
        let mut out = Vec::new();
        for n in self.before().requires.len()..self.made.after.requires.len() {
            let mut lost = self.made.clone();
            lost.after.requires.remove(n);
            out.push((format!("requirement {n} lost"), lost));
            if let Guard::Cmp(rel, Ix::Mod(e, by), zero) = &self.made.after.requires[n] {
                for by in [by / 2, by + 1, 2 * by].into_iter().filter(|by| *by > 0) {
                    let mut weaker = self.made.clone();
                    weaker.after.requires[n] = Guard::Cmp(*rel, Ix::Mod(e.clone(), by), zero.clone());
                    out.push((format!("requirement {n} modulo {by}"), weaker));
                }
            }
        }
        out
    }

    /// A wrong program stays wrong whatever its recipe says.
    fn with_other_recipes(
        &self,
        programs: &[(String, Rewrite)],
        recipes: &[(String, Rewrite)],
    ) -> Vec<(String, Rewrite)> {
        let mut out = Vec::new();
        for (n, (what, changed)) in programs.iter().enumerate() {
            for (how, other) in recipes.iter().skip(n % OTHER_RECIPES).step_by(OTHER_RECIPES) {
                let recipe = other.recipe.clone();
                out.push((format!("{what}; {how}"), Rewrite { recipe, ..changed.clone() }));
            }
        }
        out
    }

    fn count(&self, mutants: &[(String, Rewrite)], wrongly: &mut Vec<String>) -> Counts {
        let mut counts = Counts::default();
        let mut start = Checker::new(self.program.clone());
        start.accept_function(self.fun).expect("the program before is right");
        for (what, rewrite) in mutants {
            let wrong = differs(&self.program, self.before(), &rewrite.after);
            let accepted = start.clone().accept_step(self.fun, rewrite, &asked(&self.call)).is_ok();
            match (accepted, wrong) {
                (true, false) => counts.accepted_equal += 1,
                (true, true) => {
                    counts.accepted_wrong += 1;
                    wrongly.push(format!("{}: {what}", self.name));
                }
                (false, true) => counts.refused_wrong += 1,
                (false, false) => counts.refused_equal += 1,
            }
        }
        counts
    }
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

/// Up to two dimensions every pair from 9 down to 0: twice the length of a block of 4, and one more. Of three, one at a
/// time from 9 to 0 beside others that whole blocks divide, and small ones.
fn sizes(dims: usize) -> Vec<Vec<i64>> {
    if dims <= 2 {
        let tuple = |n: usize| (0..dims).map(|d| (n / 10usize.pow(d as u32) % 10) as i64).collect();
        return (0..10usize.pow(dims as u32)).rev().map(tuple).collect();
    }
    let mut out = Vec::new();
    for d in 0..dims {
        for n in (0..10).rev() {
            let mut at = vec![4; dims];
            at[d] = n;
            out.push(at);
        }
    }
    out.extend(
        (0..3usize.pow(dims as u32)).map(|n| (0..dims).map(|d| (n / 3usize.pow(d as u32) % 3) as i64).collect()),
    );
    out
}

#[test]
fn no_wrong_rewrite_is_accepted() {
    let module = load();
    let mut wrongly = Vec::new();
    let (mut programs, mut recipes, mut both) = (Counts::default(), Counts::default(), Counts::default());
    println!("{:<36} {:>9} {:>9} {:>9} {:>9}", "", "acc.equal", "acc.WRONG", "ref.wrong", "ref.equal");
    let show = |name: &str, c: &Counts| {
        let Counts { accepted_equal: a, accepted_wrong: b, refused_wrong: c, refused_equal: d } = c;
        println!("{name:<36} {a:>9} {b:>9} {c:>9} {d:>9}");
    };
    for (schedule, steps) in programs::PLACES {
        let script = module.scripts.iter().find(|s| s.name == *schedule).expect("a schedule");
        let places = places(&module, script);
        assert_eq!(places.len(), *steps, "{schedule}");
        for place in places {
            let [of_program, of_recipe] = place.mutants();
            let counts = place.count(&of_program, &mut wrongly);
            show(&place.name, &counts);
            programs.add(&counts);
            recipes.add(&place.count(&of_recipe, &mut wrongly));
            both.add(&place.count(&place.with_other_recipes(&of_program, &of_recipe), &mut wrongly));
        }
    }
    show("programs", &programs);
    show("recipes", &recipes);
    show("both", &both);
    assert!(wrongly.is_empty(), "accepted, and wrong:\n{}", wrongly.join("\n"));
    assert!(programs.all() >= 2_000, "{} mutants are too few", programs.all());
    assert!(10 * programs.refused_wrong >= 7 * programs.all(), "the changes change too little");
    assert!(programs.accepted_equal > 0 && recipes.accepted_equal > 0);
}
