//! Random steps on random programs: whatever the checker accepts computes the same bits.
//!
//! Each program takes steps until some are accepted; refused ones leave it as it is. After every accepted step the
//! program is interpreted beside the one that was drawn, at sizes around the ends of blocks, on ordinary and hostile
//! inputs, with the iterations of its grids in a random order. Refused steps are run as well, so that the counts say how
//! many refusals were needed. `--nocapture` prints them.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

#[path = "drawn/program.rs"]
mod program;
#[path = "drawn/random.rs"]
mod random;
#[path = "drawn/steps.rs"]
mod steps;

use cachet::world::{Disk, World};
use cachet_check::checked::Checker;
use cachet_check::relation::Asked;
use cachet_core::interpret::{Array, Options, TrapKind, Value, prepare};
use cachet_core::ir::{Elem, Fun, FunId, Ix, Program, Ty};
use cachet_core::script::Module;
use cachet_oracle::hostile::{KINDS, Kind, fill};
use cachet_source::Sources;
use random::Random;
use std::collections::BTreeMap;

const PROGRAMS: usize = 300;
/// Grids written by hand.
const GRIDS: usize = 150;
/// Steps that each program is offered.
const OFFERED: usize = 24;
/// Accepted ones, after which it is left alone.
const TAKEN: usize = 5;

/// Sizes at which two programs are compared: nothing, one, and both sides of one, two and three blocks of 2, 3 and 4.
const SIZES: [i64; 11] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12];
/// How many pairs of sizes each comparison takes.
const PAIRS: usize = 12;

#[derive(Default)]
struct Counts {
    accepted: usize,
    refused_wrong: usize,
    refused_equal: usize,
    inapplicable: usize,
    runs: usize,
    per_step: BTreeMap<String, (usize, usize)>,
}

fn load(text: &str) -> Module {
    let path = format!("{}/drawn{}.cachet", env!("CARGO_TARGET_TMPDIR"), text.len());
    std::fs::write(&path, text).expect("a file can be written");
    let mut sources = Sources::new();
    let (module, diagnostics) = cachet_frontend::load(&path, Disk::default().files(), &mut sources);
    if let Some(d) = diagnostics.iter().find(|d| d.refuses()) {
        panic!("{}: {:?}", d.message, d.span().map(|s| &text[s.lo as usize..s.hi as usize]));
    }
    module.expect("a module")
}

/// Whether two programs leave the same bits at some sizes; `None` where the second does not apply.
enum Seen {
    Same,
    Other(String),
    Nothing,
}

fn inputs(fun: &Fun, sizes: &[i64], kind: Kind, seed: u64) -> Vec<Array> {
    let leaf = |ty: &Ty| match ty {
        Ty::Elem(e) => *e,
        Ty::Tuple(_) | Ty::Abstract(_) => Elem::F32,
    };
    let size = |ix: &Ix| match ix {
        Ix::Var(v) => sizes[fun.sizes.iter().position(|s| s == v).expect("a size")],
        other => panic!("an extent {other:?}"),
    };
    let array = |(n, p): (usize, &cachet_core::ir::Buffer)| {
        let extents: Vec<i64> = fun.buffers[p.index()].extents.iter().map(size).collect();
        let count = extents.iter().product::<i64>() as usize;
        let ty = &fun.buffers[p.index()].elem;
        let bits = fill(leaf(ty), seed.wrapping_add(n as u64), kind, count);
        let Ty::Tuple(fields) = ty else {
            return Array::from_bits(leaf(ty), &extents, bits).expect("as many as there are");
        };
        let mut array = Array::new(ty, &extents).expect("a record's fields are elements");
        for (cell, word) in bits.iter().enumerate() {
            let at = [cell as i64 / extents[1], cell as i64 % extents[1]];
            let word = (0..fields.len() as u32).map(|field| Value::Bits(u64::from((*word as u32).rotate_left(field))));
            assert!(array.set(&at, &Value::Tuple(word.collect())));
        }
        array
    };
    fun.params.iter().enumerate().map(array).collect()
}

fn compare(program: &Program, id: FunId, before: &Fun, after: &Fun, at: &[i64], random: &mut Random) -> Seen {
    let kind = if random.once_in(3) { random.pick(&KINDS) } else { Kind::Ordinary };
    let start = inputs(before, at, kind, random.next());
    let mut results = Vec::new();
    for (fun, shuffle) in [(before, None), (after, Some(random.next()))] {
        let mut program = program.clone();
        program.funs[id.index()] = fun.clone();
        let mut arrays = start.clone();
        let options = Options { shuffle, max_steps: 1_000_000, ..Options::default() };
        match prepare(&program, id, &[]).and_then(|p| p.run(at, &mut arrays, &options)) {
            Ok(()) => results.push(arrays),
            Err(t) if t.kind == TrapKind::RequirementViolated => return Seen::Nothing,
            Err(t) if shuffle.is_some() => return Seen::Other(t.text),
            Err(t) => panic!("{} at {at:?}: {}", before.name, t.text),
        }
    }
    for (n, (x, y)) in results[0].iter().zip(&results[1]).enumerate() {
        let floats = x.elem() != Some(&Ty::Elem(Elem::I32));
        let nan = |x: u64| floats && f32::from_bits(x as u32).is_nan();
        if let Some(cell) = x.bits().iter().zip(y.bits()).position(|(a, b)| a != b && !(nan(*a) && nan(*b))) {
            return Seen::Other(format!("parameter {n}, element {cell}"));
        }
    }
    Seen::Same
}

/// The first difference, and how many runs there were.
fn differs(program: &Program, id: FunId, before: &Fun, after: &Fun, random: &mut Random) -> (Option<String>, usize) {
    let mut runs = 0;
    for _ in 0..PAIRS {
        let at = [random.pick(&SIZES), random.pick(&SIZES)];
        match compare(program, id, before, after, &at[..before.sizes.len()], random) {
            Seen::Same => runs += 1,
            Seen::Nothing => {}
            Seen::Other(what) => return (Some(format!("{what} at {at:?}")), runs),
        }
    }
    (None, runs)
}

/// Offers steps to one function.
fn try_steps(module: &Module, at: usize, random: &mut Random, counts: &mut Counts) {
    let drawn = module.program.funs[at].clone();
    let program = Program { funs: vec![drawn.clone()], ..module.program.clone() };
    let id = FunId(0);
    let mut checker = Checker::new(program.clone());
    if let Err(failures) = checker.accept_function(id) {
        panic!("{} is refused: {}", drawn.name, failures[0].diagnostic.message);
    }
    let mut splits = Default::default();
    let mut taken = Vec::new();
    for n in 0..OFFERED {
        let before = checker.program().funs[id.index()].clone();
        let call = steps::draw(random, &before, n);
        let tried = counts.per_step.entry(call.name.clone()).or_default();
        let made = cachet_schedule::apply(checker.program(), &before, &call, &module.steps, &mut splits);
        let Ok(made) = made else {
            counts.inapplicable += 1;
            continue;
        };
        tried.1 += 1;
        let asked = Asked { name: call.name.clone(), step: call.name.clone(), span: call.span, callers: vec![] };
        let mut next = checker.clone();
        let verdict = next.accept_step(id, &made, &asked);
        let after = if verdict.is_ok() { &next.program().funs[id.index()] } else { &made.after };
        let (difference, runs) = differs(&program, id, &drawn, after, random);
        counts.runs += runs;
        match (verdict.is_ok(), difference) {
            (true, None) => {
                tried.0 += 1;
                counts.accepted += 1;
                checker = next;
                taken.push(call.to_string());
                if taken.len() == TAKEN {
                    return;
                }
            }
            (true, Some(what)) => panic!("{} after {taken:?} and {call}: accepted, and wrong: {what}", drawn.name),
            (false, None) => counts.refused_equal += 1,
            (false, Some(_)) => counts.refused_wrong += 1,
        }
    }
}

#[test]
fn accepted_steps_on_random_programs_keep_every_bit() {
    let mut random = Random(0x00CA_C4E7);
    let mut text = format!("{}{}", steps::STEPS, program::RECORDS);
    for n in 0..PROGRAMS {
        text.push_str(&program::draw(&mut random, &format!("drawn{n}")));
        text.push('\n');
    }
    let module = load(&text);
    let mut counts = Counts::default();
    for n in 0..PROGRAMS {
        let at = module.program.funs.iter().position(|f| f.name == format!("drawn{n}")).expect("a function");
        try_steps(&module, at, &mut random, &mut counts);
    }
    let Counts { accepted, refused_wrong, refused_equal, inapplicable, runs, per_step } = counts;
    println!(
        "{accepted} accepted, {refused_wrong} refused and wrong, {refused_equal} refused and not seen to differ, {inapplicable} not applicable, {runs} runs"
    );
    for (step, (accepted, offered)) in &per_step {
        println!("{step:<12} {accepted:>5} of {offered:>5} accepted");
    }
    assert!(accepted >= 400 && refused_wrong >= 100 && runs >= 5_000, "too little was tried");
    let never: Vec<&String> = per_step.iter().filter(|(_, (n, _))| *n == 0).map(|(s, _)| s).collect();
    assert_eq!(never, ["shorter"], "steps that were never accepted");
}

/// Grids written by hand: whatever is accepted leaves what the same function with a loop leaves, with its iterations in any
/// order, and goes on to do so under steps.
#[test]
fn accepted_grids_leave_what_loops_leave() {
    let mut random = Random(0x0006_71D5);
    let mut text = format!("{}{}", steps::STEPS, program::RECORDS);
    for n in 0..GRIDS {
        for f in program::draw_grid(&mut random, &format!("drawn{n}")) {
            text.push_str(&f);
            text.push('\n');
        }
    }
    let module = load(&text);
    let (mut accepted, mut refused_wrong, mut refused_equal) = (0, 0, 0);
    let mut counts = Counts::default();
    let find = |name: String| module.program.funs.iter().position(|f| f.name == name).expect("a function");
    for n in 0..GRIDS {
        let (grid, plain) = (find(format!("drawn{n}")), find(format!("drawn{n}_plain")));
        let (after, before) = (&module.program.funs[grid], &module.program.funs[plain]);
        let program = Program { funs: vec![before.clone()], ..module.program.clone() };
        let (difference, runs) = differs(&program, FunId(0), before, after, &mut random);
        counts.runs += runs;
        let alone = Program { funs: vec![after.clone()], ..module.program.clone() };
        match (Checker::new(alone).accept_function(FunId(0)), difference) {
            (Ok(_), None) => {
                accepted += 1;
                if n % 3 == 0 {
                    try_steps(&module, grid, &mut random, &mut counts);
                }
            }
            (Ok(_), Some(what)) => panic!("drawn{n}: accepted, and wrong: {what}"),
            (Err(_), None) => refused_equal += 1,
            (Err(_), Some(_)) => refused_wrong += 1,
        }
    }
    println!(
        "grids: {accepted} accepted, {refused_wrong} refused and wrong, {refused_equal} refused and not seen to differ"
    );
    println!(
        "steps on them: {} accepted, {} refused and wrong, {} runs",
        counts.accepted, counts.refused_wrong, counts.runs
    );
    assert!(accepted >= 40 && refused_wrong >= 20, "too little was tried");
}
