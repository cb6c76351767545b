//! Random steps on random programs: whatever the checker accepts computes the same bits.
//!
//! Each program takes steps until some are accepted; refused ones leave it as it is. After every accepted step the
//! program is interpreted beside the one that was drawn, at sizes around the ends of blocks, on ordinary and hostile
//! inputs, with the iterations of its grids in a random order. Refused steps are run as well, so that the counts say how
//! many refusals were needed. Grids written by hand are besides run as machine code, on pools of 1 to 16 threads.

use crate::generate::{nests, steps};
use crate::pools::{OnThreads, Pools, THREADS};
use crate::population::{Population, Report, Share};
use crate::populations::native_code;
use crate::random::Random;
use crate::{judge, memory, runs};
use cachet_check::checked::Checker;
use cachet_check::relation::Asked;
use cachet_core::interpret::{Options, prepare, scalar};
use cachet_core::ir::{Fun, FunId, Program};
use cachet_core::script::Module;
use cachet_oracle::hostile::KINDS;
use cachet_runtime::{Kernel, KernelArity};

/// Nests.
pub const ON_NESTS: Population = Population {
    promise: "P2",
    name: "steps drawn for nests",
    never: "a step is accepted and the bits differ",
    counts: [300, 20_000],
    drawn: true,
    run: on_nests,
};

/// Grids written by hand.
pub const ON_GRIDS: Population = Population {
    promise: "P6",
    name: "grids drawn, and steps for them",
    never: "a grid is accepted and leaves what its loop does not",
    counts: [150, 10_000],
    drawn: true,
    run: on_grids,
};

/// Steps that each program is offered.
const OFFERED: usize = 24;
/// Accepted ones, after which it is left alone.
const TAKEN: usize = 5;

/// How often each accepted grid is run beside its loop.
const ORDERS: usize = 3;

/// Loops that a program has, with another start or end: refused on purpose.
const NEVER_ACCEPTED: [&str; 1] = ["shorter"];

fn on_nests(share: Share) -> Report {
    let mut report = Report::default();
    for cases in portions(share.count) {
        let texts = cases.clone().map(|n| nests::draw(&mut Random::case(share.seed, n), &format!("drawn{n}")));
        let module = loaded(texts);
        for n in cases {
            report.cases += 1;
            let at = find(&module, &format!("drawn{n}"));
            try_steps(&module, at, &mut Random::case(!share.seed, n), &mut report);
        }
    }
    let offered: Vec<String> =
        report.counts.keys().filter_map(|k| k.strip_suffix(" offered")).map(String::from).collect();
    for step in offered.iter().filter(|s| !NEVER_ACCEPTED.contains(&s.as_str())) {
        let accepted = report.counted(&format!("{step} accepted"));
        report.at_least(&format!("{step} accepted"), accepted, 1);
    }
    let (accepted, runs) = (report.counted("accepted"), report.counted("runs"));
    let offered: u64 = offered.iter().map(|s| report.counted(&format!("{s} offered"))).sum();
    report.at_least_percent("steps accepted", accepted, 30, offered);
    report.at_least("accepted steps a program", accepted, share.count as u64);
    report.at_least("runs", runs, 15 * share.count as u64);
    let wrong = report.counted("refused and wrong");
    report.at_least("refused and wrong", wrong, share.count as u64 / 3);
    report
}

fn on_grids(share: Share) -> Report {
    let mut report = Report::default();
    let mut enough = 0;
    for cases in portions(share.count) {
        let texts =
            cases.clone().flat_map(|n| nests::draw_grid(&mut Random::case(share.seed, n), &format!("drawn{n}")));
        let module = loaded(texts);
        let mut accepted = Vec::new();
        for n in cases {
            report.cases += 1;
            accepted.extend(on_grid(&module, n, share.seed, &mut report));
        }
        enough += on_threads(&module.program, &accepted, share, &mut report);
    }
    if enough > 0 {
        report.at_least("runs on 1 to 16 threads", report.counted("runs on threads"), enough);
    }
    let (accepted, wrong) = (report.counted("grids accepted"), report.counted("grids refused and wrong"));
    report.at_least_percent("grids accepted", accepted, 25, share.count as u64);
    report.at_least_percent("grids refused and wrong", wrong, 10, share.count as u64);
    report
}

/// A grid and its loop; both, where it is accepted.
fn on_grid(module: &Module, n: usize, seed: u64, report: &mut Report) -> Option<(usize, usize)> {
    let mut random = Random::case(!seed, n);
    let (grid, plain) = (find(module, &format!("drawn{n}")), find(module, &format!("drawn{n}_plain")));
    let (after, before) = (&module.program.funs[grid], &module.program.funs[plain]);
    let program = Program { funs: vec![before.clone()], ..module.program.clone() };
    let (difference, runs) = judge::differs(&program, FunId(0), before, after, &mut random);
    report.add("runs", runs);
    let alone = Program { funs: vec![after.clone()], ..module.program.clone() };
    match (Checker::new(alone.clone()).accept_function(FunId(0)), difference) {
        (Ok(_), None) => {
            report.count("grids accepted");
            // Each run has its iterations in another order.
            for _ in 1..ORDERS {
                let (difference, runs) = judge::differs(&program, FunId(0), before, after, &mut random);
                report.add("runs", runs);
                if let Some(what) = difference {
                    report.fail(format!("a grid is accepted, and wrong: {what}"), listing(&alone, after));
                }
            }
            if n.is_multiple_of(3) {
                try_steps(module, grid, &mut random, report);
            }
            return Some((grid, plain));
        }
        (Ok(_), Some(what)) => {
            report.fail(format!("a grid is accepted, and wrong: {what}"), listing(&alone, after));
        }
        (Err(_), None) => report.count("grids refused and not seen to differ"),
        (Err(_), Some(_)) => report.count("grids refused and wrong"),
    }
    None
}

/// Cases that share a file.
const PORTION: usize = 300;

fn portions(count: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..count).step_by(PORTION).map(move |first| first..count.min(first + PORTION))
}

fn loaded(texts: impl Iterator<Item = String>) -> Module {
    memory::loaded(&format!("{}{}{}", steps::STEPS, nests::RECORDS, texts.collect::<Vec<_>>().join("\n")))
}

/// Grids that make one module.
const IN_A_MODULE: usize = 50;

/// Runs accepted grids as machine code on pools, beside their loops in the interpreter; how many runs that has to be.
fn on_threads(program: &Program, accepted: &[(usize, usize)], share: Share, report: &mut Report) -> u64 {
    let made =
        native_code::target().and_then(|target| Ok((target, runs::llvm()?, Pools::new(share.seed, share.scale)?)));
    let (target, llvm, pools) = match made {
        Ok(made) => made,
        Err(why) => {
            report.add(&format!("without machine code on threads: {why}"), accepted.len() as u64);
            return 0;
        }
    };
    let mut random = Random(share.seed);
    for some in accepted.chunks(IN_A_MODULE) {
        let wanted: Vec<_> = some.iter().map(|(grid, _)| (FunId(*grid as u32), vec![])).collect();
        let text = cachet_codegen::emit(program, &wanted, &target).unwrap_or_else(|d| panic!("{}", d.message));
        let jit = llvm.compile_and_load(&text.ir).unwrap_or_else(|e| panic!("{e}"));
        for ((grid, plain), entry) in some.iter().zip(&text.entries) {
            let arity = KernelArity { sizes: entry.sizes, buffers: entry.buffers };
            let kernel = jit.kernel(&entry.name, arity).unwrap_or_else(|e| panic!("{e}"));
            let fun = &program.funs[*grid];
            for run in 0..pools.runs() {
                if let Err(what) = beside_its_loop(program, fun, *plain, (&kernel, pools.for_run(run)), &mut random) {
                    report.fail(format!("a grid is accepted, and wrong: {what}"), listing(program, fun));
                    break;
                }
                report.add("runs on threads", THREADS.len() as u64);
            }
        }
    }
    (accepted.len() * pools.runs() * THREADS.len()) as u64
}

fn beside_its_loop<'a>(
    program: &Program,
    fun: &Fun,
    plain: usize,
    (kernel, ways): (&Kernel, impl Iterator<Item = OnThreads<'a>>),
    random: &mut Random,
) -> Result<(), String> {
    let at: Vec<i64> = fun.sizes.iter().map(|_| random.pick(&judge::SIZES)).collect();
    let start = judge::filled(fun, &at, random.pick(&KINDS), random.next());
    let mut want = start.clone();
    let ran = prepare(program, FunId(plain as u32), &[]).and_then(|p| p.run(&at, &mut want, &Options::default()));
    ran.map_err(|t| format!("the loop at {at:?}: {}", t.text))?;
    for way in ways {
        let left = way.call(fun, kernel, &at, &start)?;
        for (n, (want, left)) in want.iter().zip(&left).enumerate() {
            let elems = judge::leaves(want.elem().unwrap());
            let mut words = want.bits().iter().zip(left).zip(elems.iter().cycle());
            if let Some(word) = words.position(|((x, y), e)| !scalar::same(*e, *x, *y)) {
                let name = &fun.buffers[fun.params[n].index()].name;
                return Err(format!("`{name}` differs in word {word} at {at:?}, {way}"));
            }
        }
    }
    Ok(())
}

fn find(module: &Module, name: &str) -> usize {
    module.program.funs.iter().position(|f| f.name == name).unwrap()
}

fn listing(program: &Program, fun: &Fun) -> String {
    cachet_core::print::listing(program, fun)
}

/// Offers steps to one function.
fn try_steps(module: &Module, at: usize, random: &mut Random, report: &mut Report) {
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
        let made = cachet_schedule::apply(checker.program(), &before, &call, &module.steps, &mut splits);
        let Ok(made) = made else {
            report.count("not applicable");
            continue;
        };
        report.count(&format!("{} offered", call.name));
        let asked = Asked { name: call.name.clone(), step: call.name.clone(), span: call.span, callers: vec![] };
        let mut next = checker.clone();
        let verdict = next.accept_step(id, &made, &asked);
        let after = if verdict.is_ok() { &next.program().funs[id.index()] } else { &made.after };
        let (difference, runs) = judge::differs(&program, id, &drawn, after, random);
        report.add("runs", runs);
        match (verdict.is_ok(), difference) {
            (true, None) => {
                report.count(&format!("{} accepted", call.name));
                report.count("accepted");
                checker = next;
                taken.push(call.to_string());
                if taken.len() == TAKEN {
                    return;
                }
            }
            (true, Some(what)) => {
                let steps: Vec<String> = taken.iter().map(|s| format!("  {s}\n")).collect();
                let case = format!("{}\n{}  {call}\n", listing(&program, &drawn), steps.concat());
                report.fail(format!("{call} is accepted, and wrong: {what}"), case);
                return;
            }
            (false, None) => report.count("refused and not seen to differ"),
            (false, Some(_)) => report.count("refused and wrong"),
        }
    }
}
