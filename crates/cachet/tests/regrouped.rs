//! No wrong mutant of what a regrouping step makes is ever accepted.
//!
//! As in `rewrites.rs`, what each step makes is changed in one place, with the true recipe and with changed ones, and is
//! proposed in the step's place. Regrouped words are other words, so the judge is the interpreter: a mutant is *wrong* if
//! it is not well formed, traps, or gives other bits for some contents, two NaN being one value. A mutant that is accepted
//! gives the same bits for all that are tried. `--nocapture` prints the counts.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

#[path = "../../cachet-adversary/src/mutate/programs.rs"]
mod change;
#[path = "../../cachet-adversary/src/mutate/recipes.rs"]
mod recipes;

use cachet::world::{Disk, World};
use cachet_check::checked::Checker;
use cachet_check::relation::Asked;
use cachet_core::interpret::{Array, Options, Prepared, prepare, scalar};
use cachet_core::ir::{Elem, Fun, FunId, Guard, Ix, Program, Rel, Ty};
use cachet_core::script::{Module, Rewrite, Script, StepCall};
use cachet_core::validate::validate_fun;
use cachet_oracle::hostile::{KINDS, fill, poison};
use cachet_source::Sources;

/// A maximum, a sum that wraps around, one that keeps the last that is not 0 (its order matters), shortest paths, and
/// steps of a user's own. Blocks are of 2 and 3.
const TEXT: &str = r#"import "cachet:monoid"
import "cachet:steps"

interface Joining where
  const Value: Type
  fn empty () -> Value
  fn combine a b -> Value

impl Joining for Last i64 where
  const Value = i64
  fn empty () = 0
  fn combine a b = if b == 0 then a else b
  law associative exactly
  law identity exactly

contraction last
    (reads x: [i64; M, N])
    -> out y: [i64; M] =
  y[i] = reduce Last i64 j. x[i, j]

schedule last_in_blocks of last =
  zero i y
  split j by 2 as gj ragged
  reduce j.inner by (combine: order)

schedule last_across of last =
  zero i y
  split j by 2 as gj ragged
  order (gj, i)
  reduce j by (combine: order)

contraction largest
    (reads x: [f32; M, N])
    (reads s: [f32; M])
    -> out y: [f32; M] =
  y[i] = s[i] * (reduce Max f32 j where j != 1. x[i, j])

schedule largest_in_levels of largest =
  split j by 3 as gj, 2 as uj ragged
  reduce j.inner by (combine: order)
  reduce uj by (combine: order)

contraction added
    (reads x: [u32; M, N])
    -> out y: [u32; M] =
  y[i] = reduce WrappingSum u32 j. wrapping_mul x[i, j] 3

schedule added_in_cells of added =
  zero i y
  hoist (i, j) y
  split j by 3 as gj ragged
  order (gj, i, j)
  reduce j by (combine: order)

contraction nearest {S : Semiring}
    (reads a: [S.Value; M, K])
    (reads x: [S.Value; K])
    -> out y: [S.Value; M] =
  y[i] = sum k. a[i, k] * x[k]

schedule shortest of nearest @(S = MinPlus f32) =
  split k by 2 as gk
  reduce k.inner by (add: order)

step fn blocked k n g =
  from
    store $cell = fold k in $lo .. $hi from $z as $acc: $E do $step
  to
    store $cell =
      fold g in blocks ($lo .. $hi) n from $z as total: $E do
        min total (fold k in 0 .. g.len from $z as $acc: $E do $step[$acc][k := g[k]])
  relate
    split S.k by n as g ragged
    regroup S.k (add: order) by idempotent

schedule by_own_step of nearest @(S = MinPlus f32) =
  blocked k 3 gk
"#;

/// The step of each schedule that is changed.
const PLACES: &[(&str, usize)] = &[
    ("last_in_blocks", 2),
    ("last_across", 3),
    ("largest_in_levels", 1),
    ("largest_in_levels", 2),
    ("added_in_cells", 4),
    ("shortest", 1),
    ("by_own_step", 0),
];

struct Place {
    name: String,
    program: Program,
    fun: FunId,
    call: StepCall,
    made: Rewrite,
}

fn load() -> Module {
    let path = format!("{}/regrouped.cachet", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, TEXT).expect("a file can be written");
    let mut sources = Sources::new();
    let (module, diagnostics) = cachet_frontend::load(&path, Disk::default().files(), &mut sources);
    assert!(diagnostics.iter().all(|d| !d.refuses()), "{diagnostics:?}");
    module.expect("a module")
}

fn asked(call: &StepCall) -> Asked {
    Asked { name: call.name.clone(), step: call.name.clone(), span: call.span, callers: vec![] }
}

/// A step of a schedule, after those before it.
fn place(module: &Module, script: &Script, step: usize) -> Place {
    let mut checker = Checker::new(module.program.clone());
    checker.accept_function(script.of).expect("the function is right");
    assert!(checker.start(script.fun, script.of, &script.types));
    let mut splits = Default::default();
    for (n, call) in script.steps.iter().enumerate() {
        let program = checker.program().clone();
        let before = &program.funs[script.fun.index()];
        let name = format!("{} {n}, {}", script.name, call.name);
        let made = cachet_schedule::apply(&program, before, call, &module.steps, &mut splits);
        let made = made.unwrap_or_else(|d| panic!("{name}: {}", d.message));
        if let Err(f) = checker.accept_step(script.fun, &made, &asked(call)) {
            panic!("{name} is refused: {} {:?}", f.diagnostic.message, f.diagnostic.notes);
        }
        if n == step {
            return Place { name, program, fun: script.fun, call: call.clone(), made };
        }
    }
    panic!("{} has no step {step}", script.name)
}

impl Place {
    fn before(&self) -> &Fun {
        &self.program.funs[self.fun.index()]
    }

    /// What the step makes with one change, each also with some changed recipes, and the step with a changed recipe.
    fn mutants(&self) -> Vec<(String, Rewrite)> {
        let mut grown = self.made.after.clone();
        let site = self.made.to.stmts(&self.made.after).expect("a site").to_vec();
        let mut out = Vec::new();
        for (what, block) in change::of(&mut grown, &site) {
            let mut after = self.made.after.clone();
            let to = self.made.to.replace(&mut after, block).expect("a site");
            out.push((what, Rewrite { after, to, ..self.made.clone() }));
        }
        for (_, r) in &mut out {
            (r.after.vars, r.after.locals) = (grown.vars.clone(), grown.locals.clone());
        }
        let changed = out.len();
        let recipes = recipes::of(&self.made.recipe);
        for n in 0..changed {
            for (how, recipe) in recipes.iter().skip(n % 3).step_by(3) {
                let (what, rewrite) = &out[n];
                let both = (format!("{what}; {how}"), Rewrite { recipe: recipe.clone(), ..rewrite.clone() });
                out.push(both);
            }
        }
        out.extend(recipes.into_iter().map(|(how, recipe)| (how, Rewrite { recipe, ..self.made.clone() })));
        out
    }
}

fn elem(fun: &Fun, n: usize) -> Elem {
    match fun.buffers[fun.params[n].index()].elem {
        Ty::Elem(e) => e,
        Ty::Abstract(_) | Ty::Tuple(_) => panic!("elements are plain"),
    }
}

fn ready(program: &Program, fun: &Fun) -> Prepared {
    let mut program = program.clone();
    program.funs.push(fun.clone());
    prepare(&program, FunId(program.funs.len() as u32 - 1), &[]).expect("it can be run")
}

/// Whether a size meets a requirement of these schedules: a size that is not 0, or a multiple.
fn meets(fun: &Fun, guard: &Guard, sizes: &[i64]) -> bool {
    let value = |i: &Ix| match i {
        Ix::Lit(n) => *n,
        Ix::Var(v) => sizes[fun.sizes.iter().position(|s| s == v).expect("a size")],
        Ix::Mod(e, n) => match &**e {
            Ix::Var(v) => sizes[fun.sizes.iter().position(|s| s == v).expect("a size")].rem_euclid(*n),
            _ => panic!("another requirement: {guard:?}"),
        },
        _ => panic!("another requirement: {guard:?}"),
    };
    match guard {
        Guard::Cmp(Rel::Eq, a, b) => value(a) == value(b),
        Guard::Cmp(Rel::Lt, a, b) => value(a) < value(b),
        _ => panic!("another requirement: {guard:?}"),
    }
}

/// Whether the bits differ for some contents, at sizes that meet what the program after requires.
fn differs(program: &Program, before: &Fun, after: &Fun) -> bool {
    if validate_fun(program, after).is_err() {
        return true;
    }
    let (s, t) = (ready(program, before), ready(program, after));
    let outputs = |fun: &Fun| -> Vec<usize> {
        (0..fun.params.len()).filter(|n| fun.produces.contains(&fun.params[*n])).collect()
    };
    for sizes in (0..16i64).flat_map(|n| [[1, n % 8], [2, 7 - n % 8], [n % 4, 6]]) {
        if !after.requires.iter().all(|g| meets(after, g, &sizes)) {
            continue;
        }
        for seed in 0..2 * KINDS.len() as u64 {
            let kind = KINDS[seed as usize % KINDS.len()];
            let args: Vec<Array> = (0..before.params.len())
                .map(|n| {
                    let info = &before.buffers[before.params[n].index()];
                    let extent = |e: &Ix| match e {
                        Ix::Var(v) => sizes[before.sizes.iter().position(|s| s == v).expect("a size")],
                        _ => panic!("extents are sizes"),
                    };
                    let extents: Vec<i64> = info.extents.iter().map(extent).collect();
                    let count = extents.iter().product::<i64>() as usize;
                    if outputs(before).contains(&n) {
                        let mut array = Array::new(&info.elem, &extents).expect("an array");
                        array.poison(poison(elem(before, n)));
                        return array;
                    }
                    let bits = fill(elem(before, n), seed * 31 + n as u64, kind, count);
                    Array::from_bits(elem(before, n), &extents, bits).expect("an array")
                })
                .collect();
            let (mut a, mut b) = (args.clone(), args);
            s.run(&sizes, &mut a, &Options::default()).expect("the program before runs");
            if t.run(&sizes, &mut b, &Options::default()).is_err() {
                return true;
            }
            for n in outputs(before) {
                let same = |(x, y): (&u64, &u64)| scalar::same(elem(before, n), *x, *y);
                if !a[n].bits().iter().zip(b[n].bits()).all(same) {
                    return true;
                }
            }
        }
    }
    false
}

#[test]
fn no_wrong_regrouping_is_accepted() {
    let module = load();
    let mut wrongly = Vec::new();
    let (mut all, mut accepted, mut refused_wrong) = (0, 0, 0);
    for (schedule, step) in PLACES {
        let script = module.scripts.iter().find(|s| s.name == *schedule).expect("a schedule");
        let place = place(&module, script, *step);
        assert!(!differs(&place.program, place.before(), &place.made.after), "{} is wrong", place.name);
        let mut start = Checker::new(place.program.clone());
        start.accept_function(place.fun).expect("the program before is right");
        let mut counts = [0; 4];
        for (what, rewrite) in place.mutants() {
            let wrong = differs(&place.program, place.before(), &rewrite.after);
            let taken = start.clone().accept_step(place.fun, &rewrite, &asked(&place.call)).is_ok();
            counts[usize::from(taken) * 2 + usize::from(wrong)] += 1;
            if taken && wrong {
                wrongly.push(format!("{}: {what}", place.name));
            }
        }
        let [refused_equal, wrong, equal, accepted_wrong] = counts;
        println!("{:<32} {equal:>6} {accepted_wrong:>6} {wrong:>6} {refused_equal:>6}", place.name);
        all += counts.iter().sum::<usize>();
        accepted += equal;
        refused_wrong += wrong;
    }
    assert!(wrongly.is_empty(), "accepted, and wrong:\n{}", wrongly.join("\n"));
    assert!(all >= 1_000, "{all} mutants are too few");
    assert!(2 * refused_wrong > all && accepted > 0, "{refused_wrong} of {all} are wrong, {accepted} accepted");
}
