//! No wrong mutant of a library step is ever accepted.
//!
//! `zero`, `hoist` and `interchange` are changed in one place each, in what they make or in their recipe, and every
//! mutant runs in the original's place in schedules of several programs. A mutant is *wrong* there if the program that
//! it makes is not well formed, does something that no program may, or leaves other words than the program before at
//! some sizes, by the oracle, which shares nothing with the checker. Wrong ones have to be refused; right ones may be
//! refused too, since a recipe fits one way of writing the step. `--nocapture` prints the counts.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

#[path = "mutants/open.rs"]
mod open;
#[path = "mutants/operators.rs"]
mod operators;
#[path = "../../cachet-adversary/src/mutate/recipes.rs"]
mod recipes;
#[path = "mutants/reverse.rs"]
mod reverse;
#[path = "mutants/trial.rs"]
mod trial;

use cachet_core::pattern::StepDef;
use trial::{Place, Programs, Verdict};

/// What was changed, and the step with it.
type Mutant = (String, StepDef);

/// A library step, opened for a rank, and the places where its mutants run.
struct Family {
    label: &'static str,
    step: StepDef,
    places: Vec<Place>,
}

/// What became of a family's mutants.
#[derive(Default)]
struct Counts {
    mutants: usize,
    trials: usize,
    applied: usize,
    accepted_equal: usize,
    accepted_wrong: usize,
    refused_wrong: usize,
    refused_equal: usize,
    /// Mutants that are wrong in at least one program.
    wrong_mutants: usize,
}

fn families(programs: &Programs) -> Vec<Family> {
    let steps = &programs.matmul.steps;
    let named = |name: &str, nth: usize| steps.iter().filter(|s| s.name == name).nth(nth).expect("a library step");
    let (zero, post) = (named("zero", 0), named("zero", 1));
    let (hoist, interchange) = (named("hoist", 0), named("interchange", 0));
    let family = |label, step: &StepDef, rank, places: &[(&str, usize)]| Family {
        label,
        step: open::open(step, rank),
        places: places.iter().map(|(schedule, n)| programs.place(schedule, *n)).collect(),
    };
    let every = [("swapped", 1), ("columns", 1), ("scaled_swapped", 1), ("double_swapped", 1), ("layer_swapped", 1)];
    vec![
        family("zero, one loop", zero, 1, &[("columns", 0)]),
        family("zero, two loops", zero, 2, &[("swapped", 0), ("scaled_swapped", 0), ("double_swapped", 0)]),
        family("zero, epilogue", post, 2, &[("layer_swapped", 0)]),
        family("hoist", hoist, 1, &every),
        family("interchange", interchange, 1, &[("outer", 2), ("by_rows", 0), ("shifted", 0)]),
    ]
}

/// The originals first: a mutant says nothing where the step itself does not run.
fn originals_are_accepted(family: &Family) {
    for place in &family.places {
        let verdict = place.run_original(&family.step);
        assert_eq!(verdict, Verdict::Accepted { wrong: false }, "{} in {}", family.label, place.name);
    }
}

/// Mutants of what the step makes, and of its recipe.
fn mutants(step: &StepDef) -> [Vec<Mutant>; 2] {
    let programs = operators::of(step).into_iter().map(|(what, to)| (what, StepDef { to, ..step.clone() }));
    let recipes = recipes::of(&step.recipe)
        .into_iter()
        .map(|(what, recipe)| (format!("recipe: {what}"), StepDef { recipe, ..step.clone() }));
    [programs.collect(), recipes.collect()]
}

fn count(family: &Family, mutants: &[Mutant], wrongly: &mut Vec<String>) -> Counts {
    let mut counts = Counts { mutants: mutants.len(), ..Counts::default() };
    for (what, step) in mutants {
        let mut seen_wrong = false;
        for place in &family.places {
            counts.trials += 1;
            let verdict = place.run(step, &family.step);
            counts.applied += usize::from(!matches!(verdict, Verdict::NotApplicable | Verdict::Unchanged));
            seen_wrong |= verdict.wrong();
            match verdict {
                Verdict::NotApplicable | Verdict::Unchanged => {}
                Verdict::Accepted { wrong: false } => counts.accepted_equal += 1,
                Verdict::Accepted { wrong: true } => {
                    counts.accepted_wrong += 1;
                    wrongly.push(format!("{} in {}: {what}", family.label, place.name));
                }
                Verdict::Refused { wrong: true } => counts.refused_wrong += 1,
                Verdict::Refused { wrong: false } => counts.refused_equal += 1,
            }
        }
        counts.wrong_mutants += usize::from(seen_wrong);
    }
    counts
}

fn show(label: &str, c: &Counts) {
    println!(
        "{label:<28} {:>7} {:>7} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9}",
        c.mutants,
        c.trials,
        c.applied,
        c.accepted_equal,
        c.accepted_wrong,
        c.refused_wrong,
        c.refused_equal,
        c.wrong_mutants
    );
}

fn sum(all: &[Counts], of: fn(&Counts) -> usize) -> usize {
    all.iter().map(of).sum()
}

#[test]
fn no_wrong_mutant_is_accepted() {
    let programs = Programs::load();
    let (mut changed, mut recipes, mut wrongly) = (Vec::new(), Vec::new(), Vec::new());
    println!("                             mutants  trials applied  acc.equal acc.WRONG ref.wrong ref.equal mut.wrong");
    for family in families(&programs) {
        originals_are_accepted(&family);
        let [of_program, of_recipe] = mutants(&family.step);
        changed.push(count(&family, &of_program, &mut wrongly));
        recipes.push(count(&family, &of_recipe, &mut wrongly));
        show(family.label, &changed[changed.len() - 1]);
        show(&format!("{}: recipe", family.label), &recipes[recipes.len() - 1]);
    }
    assert!(wrongly.is_empty(), "accepted, and wrong:\n{}", wrongly.join("\n"));
    let both = sum(&changed, |c| c.mutants) + sum(&recipes, |c| c.mutants);
    assert!(both >= 200, "{both} mutants are too few");
    println!("{both} mutants");
    let wrong = sum(&changed, |c| c.wrong_mutants);
    assert!(wrong >= 100, "{wrong} wrong mutants are too few");
    let (applied, refused) = (sum(&changed, |c| c.applied), sum(&changed, |c| c.refused_wrong));
    assert!(10 * refused >= 6 * applied, "{refused} wrong of {applied} applied: the operators change too little");
}
