//! The schedules of the examples as machine code, at sizes around the ends of their own blocks: the bits of the contraction's
//! loops, on any number of threads, and nothing touched that is not theirs.
//!
//! Blocks are as large as they are in use, so that the interpreter would be too slow: what is compared with is the
//! contraction's own nest, compiled, which other populations hold against the interpreter. Sizes are drawn from 0, 1, and the
//! last before, the one at and the first after one and two of each block that occurs in the schedule's program.

use crate::corpus::root;
use crate::judge::{extents, leaves};
use crate::native::{PLACES, Place};
use crate::population::{Population, Report, Scale, Share};
use crate::random::Random;
use cachet::native;
use cachet::pipeline::{Outcome, check};
use cachet::world::Disk;
use cachet_core::instance::instantiate;
use cachet_core::interpret::scalar;
use cachet_core::ir::{Binding, Domain, Elem, Fun, FunId, ImplId};
use cachet_core::layout;
use cachet_core::rewrite::{Visit, visit_block, visit_domain};
use cachet_core::sized::holds;
use cachet_oracle::hostile::{KINDS, Kind, fill, poison};
use cachet_runtime::{BufferArg, Flush, GuardBuffer, Kernel, Llvm, Order, Pool};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// The population.
pub const SHIPPED: Population = Population {
    promise: "P7",
    name: "shipped schedules at the ends of their blocks",
    never: "a schedule of the examples leaves other bits than its contraction, or touches what is not its own",
    counts: [200, 40_000],
    drawn: true,
    run,
};

/// The ends of one block.
const FEW: usize = 7;
/// Calls run on pools of these sizes.
const THREADS: [usize; 4] = [1, 2, 3, 7];
/// What stands before an array that does not start at the start of a page.
const BEFORE: u8 = 0xC5;

/// The most iterations of a contraction's innermost loop: the plain nest is slow.
fn most_work(scale: Scale) -> i64 {
    match scale {
        Scale::Ordinary => 2_000_000,
        Scale::Nightly => 40_000_000,
    }
}

/// A contraction and its schedules at an implementation, compiled.
struct Subject {
    file: String,
    nest: Fun,
    plain: Kernel,
    schedules: Vec<(Fun, Kernel)>,
}

fn run(share: Share) -> Report {
    let mut report = Report::default();
    // Compiling them all takes longer than running them: once is enough for every seed.
    static SUBJECTS: OnceLock<Vec<Subject>> = OnceLock::new();
    let subjects = match Llvm::load().map_err(|e| format!("llvm: {e}")) {
        Ok(llvm) => SUBJECTS.get_or_init(|| subjects(&llvm)),
        Err(why) => return Report { skipped: Some(why), ..report },
    };
    let pools = THREADS.map(|n| Pool::in_order(n, Order::Dealt { seed: share.seed.wrapping_add(n as u64) }));
    let pools: Vec<Pool> = pools.into_iter().collect::<Result<_, _>>().unwrap();
    let all: Vec<(&Subject, usize)> =
        subjects.iter().flat_map(|s| (0..s.schedules.len()).map(move |n| (s, n))).collect();
    // Most cases go to schedules with blocks, which have most ends.
    let blocked: Vec<(&Subject, usize)> =
        all.iter().copied().filter(|(s, n)| ends(&s.schedules[*n].0).len() > FEW).collect();
    for n in 0..share.count {
        let mut random = Random::case(share.seed, n);
        let (subject, schedule) = match n % 4 {
            0 => all[n / 4 % all.len()],
            _ => blocked[n % blocked.len()],
        };
        let (fun, kernel) = &subject.schedules[schedule];
        let Some(sizes) = sizes(fun, most_work(share.scale), &mut random) else { continue };
        report.cases += 1;
        let (pool, place) = (random.below(pools.len()), random.pick(&PLACES));
        let way = Way { kind: random.pick(&KINDS), seed: random.next(), place, pool: &pools[pool] };
        report.count(&format!("on {} threads", THREADS[pool]));
        report.count(&format!("arrays at {place:?}"));
        report.add("with a size of 0", u64::from(sizes.contains(&0)));
        report.add("with a size beyond 100", u64::from(sizes.iter().any(|n| *n > 100)));
        let wanted = way.call(&subject.nest, &subject.plain, &sizes);
        let got = way.call(fun, kernel, &sizes);
        let failed = wanted.and_then(|w| got.and_then(|g| difference(fun, &w, &g)));
        if let Err(what) = failed {
            let case = format!(
                "sizes {sizes:?}, {:?} from {}, arrays at {place:?}, {} threads",
                way.kind, way.seed, THREADS[pool]
            );
            report.fail(format!("{}: {}: {what}", subject.file, fun.name), case);
        }
    }
    report.add("schedules", all.len() as u64);
    report.add("schedules with blocks", blocked.len() as u64);
    report.at_least("schedules with blocks", blocked.len() as u64, 20);
    report.at_least("schedules", all.len() as u64, 30);
    for what in THREADS.map(|n| format!("on {n} threads")) {
        report.at_least(&what, report.counted(&what), report.cases / 10);
    }
    for what in PLACES.map(|p| format!("arrays at {p:?}")) {
        report.at_least(&what, report.counted(&what), report.cases / 6);
    }
    report.at_least("with a size beyond 100", report.counted("with a size beyond 100"), report.cases / 5);
    report.at_least("with a size of 0", report.counted("with a size of 0"), report.cases / 30);
    report
}

fn subjects(llvm: &Llvm) -> Vec<Subject> {
    let folder = root().join("examples");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "cachet"));
    files.sort();
    let of_file = |file: &std::path::PathBuf| {
        let outcome = check(&file.to_string_lossy(), &Disk::default());
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        assert!(!outcome.refused(), "{name} is refused");
        of_outcome(&name, &outcome, llvm)
    };
    files.iter().flat_map(of_file).collect()
}

fn of_outcome(name: &str, outcome: &Outcome, llvm: &Llvm) -> Vec<Subject> {
    let program = outcome.checked.program();
    let mut instances: Vec<(FunId, Vec<Binding>, Vec<FunId>)> = Vec::new();
    for script in &outcome.module.scripts {
        let mut origin = script.of;
        while let Some(s) = outcome.module.scripts.iter().find(|s| s.fun == origin) {
            origin = s.of;
        }
        let types = if script.types.is_empty() { bound(outcome, origin) } else { script.types.clone() };
        match instances.iter_mut().find(|(nest, t, _)| *nest == origin && *t == types) {
            Some((.., schedules)) => schedules.push(script.fun),
            None => instances.push((origin, types, vec![script.fun])),
        }
    }
    let compiled = |(nest, types, schedules): (FunId, Vec<Binding>, Vec<FunId>)| {
        let own = |id: FunId| if program.funs[id.index()].type_params.is_empty() { vec![] } else { types.clone() };
        let ids: Vec<FunId> = std::iter::once(nest).chain(schedules).collect();
        let wanted: Vec<(FunId, Vec<Binding>)> = ids.iter().map(|id| (*id, own(*id))).collect();
        let compiled = native::compile(outcome, &wanted, llvm).and_then(|n| n.kernels());
        let kernels = compiled.unwrap_or_else(|p| panic!("{name}: {p:?}"));
        let fun = |(id, types): &(FunId, Vec<Binding>)| instantiate(program, &program.funs[id.index()], types);
        let mut both = wanted.iter().map(fun).zip(kernels);
        let (nest, plain) = both.next().unwrap();
        Subject { file: name.into(), nest, plain, schedules: both.collect() }
    };
    instances.into_iter().map(compiled).collect()
}

/// What is left unbound is bound to the first implementation of its interface that is one of machine words.
fn bound(outcome: &Outcome, nest: FunId) -> Vec<Binding> {
    let program = outcome.checked.program();
    let fits = |interface| {
        let found = program.impls.iter().position(|i| i.interface == interface && i.name.ends_with(" f32"));
        Binding::Impl(ImplId(found.unwrap() as u32))
    };
    program.funs[nest.index()].type_params.iter().map(|t| fits(t.interface)).collect()
}

/// Sizes around the ends of a schedule's blocks that meet its requirements and are not too much work.
fn sizes(fun: &Fun, most: i64, random: &mut Random) -> Option<Vec<i64>> {
    let ends: Vec<i64> = ends(fun).into_iter().collect();
    (0..200).find_map(|_| {
        let sizes: Vec<i64> = fun.sizes.iter().map(|_| random.pick(&ends)).collect();
        let work = sizes.iter().map(|n| (*n).max(1)).product::<i64>();
        let of = |v| fun.sizes.iter().position(|s| *s == v).map(|n| sizes[n]);
        (work <= most && fun.requires.iter().all(|g| holds(g, &of) == Some(true))).then_some(sizes)
    })
}

/// 0, 1, and both sides of one and two of every block, and of every vector.
fn ends(fun: &Fun) -> BTreeSet<i64> {
    struct Blocks(BTreeSet<i64>);
    impl Visit for Blocks {
        fn domain(&mut self, domain: &Domain) {
            match domain {
                Domain::Blocks { size, .. } => drop(self.0.insert(*size)),
                Domain::Range { .. } => {}
            }
            visit_domain(self, domain);
        }
    }
    let mut blocks = Blocks(BTreeSet::from([8]));
    visit_block(&mut blocks, &fun.body);
    blocks.0.iter().flat_map(|b| [0, 1, b - 1, *b, b + 1, 2 * b, 2 * b + 1]).collect()
}

/// One way of making a call.
struct Way<'a> {
    kind: Kind,
    seed: u64,
    place: Place,
    pool: &'a Pool,
}

impl Way<'_> {
    /// The bytes of each output after a call: what is not read starts poisoned, and pages beside each array may not be
    /// touched.
    fn call(&self, fun: &Fun, kernel: &Kernel, sizes: &[i64]) -> Result<Vec<Vec<u8>>, String> {
        let told = |e: cachet_runtime::ToolError| e.to_string();
        let flush = match self.place {
            Place::End => Flush::End,
            Place::Start | Place::Offset => Flush::Start,
        };
        let mut memory = Vec::new();
        for (n, (p, extents)) in fun.params.iter().zip(extents(fun, sizes)).enumerate() {
            let info = &fun.buffers[p.index()];
            let elem = element(fun, n);
            let width = elem.bytes() as usize;
            let skip = if self.place == Place::Offset { width } else { 0 };
            let count = layout::room(&info.layout, &extents).unwrap() as usize;
            let mut m = GuardBuffer::new(skip + count * leaves(&info.elem).len() * width, flush).map_err(told)?;
            let (before, data) = m.bytes_mut().split_at_mut(skip);
            before.fill(BEFORE);
            match reads(fun, n) {
                true => {
                    let words = fill(elem, self.seed.wrapping_add(n as u64), self.kind, data.len() / width);
                    data.chunks_exact_mut(width)
                        .zip(words)
                        .for_each(|(d, w)| d.copy_from_slice(&w.to_le_bytes()[..width]));
                }
                false => {
                    let mark = poison(elem).to_le_bytes();
                    data.chunks_exact_mut(width).for_each(|d| d.copy_from_slice(&mark[..width]));
                }
            }
            memory.push((m, skip));
        }
        let kept: Vec<Vec<u8>> =
            memory.iter().enumerate().filter(|(n, _)| reads(fun, *n)).map(|(_, (m, _))| m.bytes().to_vec()).collect();
        let args = memory.iter_mut().enumerate().map(|(n, (m, skip))| match reads(fun, n) {
            true => BufferArg::Read(&m.bytes()[*skip..]),
            false => BufferArg::Write(&mut m.bytes_mut()[*skip..]),
        });
        kernel.call_on(self.pool.interface(), sizes, &mut args.collect::<Vec<_>>()).map_err(told)?;
        if memory.iter().any(|(m, skip)| !m.slack_is_intact() || m.bytes()[..*skip].iter().any(|b| *b != BEFORE)) {
            return Err("a write beside an array".into());
        }
        let inputs = memory.iter().enumerate().filter(|(n, _)| reads(fun, *n)).map(|(_, (m, _))| m.bytes());
        if !inputs.eq(kept.iter().map(Vec::as_slice)) {
            return Err("a write to what is only read".into());
        }
        let outputs = memory.iter().enumerate().filter(|(n, _)| fun.produces.contains(&fun.params[*n]));
        Ok(outputs.map(|(_, (m, skip))| m.bytes()[*skip..].to_vec()).collect())
    }
}

/// Whether a parameter is an input.
fn reads(fun: &Fun, param: usize) -> bool {
    let p = fun.params[param];
    !fun.produces.contains(&p) && !fun.scratch.contains(&p)
}

/// What a parameter's cells consist of; of records, all fields are alike in size.
fn element(fun: &Fun, param: usize) -> Elem {
    leaves(&fun.buffers[fun.params[param].index()].elem)[0]
}

fn difference(fun: &Fun, want: &[Vec<u8>], got: &[Vec<u8>]) -> Result<(), String> {
    let outputs = (0..fun.params.len()).filter(|n| fun.produces.contains(&fun.params[*n]));
    for (n, (want, got)) in outputs.zip(want.iter().zip(got)) {
        let info = &fun.buffers[fun.params[n].index()];
        let elems = leaves(&info.elem);
        let width = elems[0].bytes() as usize;
        let word = |bytes: &[u8]| {
            let mut all = [0; 8];
            all[..width].copy_from_slice(bytes);
            u64::from_le_bytes(all)
        };
        // Equal bytes are the usual case, and soon compared.
        if want == got {
            continue;
        }
        let mut pairs = want.chunks_exact(width).zip(got.chunks_exact(width)).zip(elems.iter().cycle());
        if let Some(at) = pairs.position(|((x, y), e)| !scalar::same(*e, word(x), word(y))) {
            return Err(format!("word {at} of `{}` differs", info.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory;

    const TEXT: &str = "
fn right (reads x: [f32; N]) -> out y: [f32; N] =
  for g in blocks (0 .. N) 64 do
    for i in 0 .. g.len do
      store y[g[i]] = load x[g[i]]

fn wrong (reads x: [f32; N]) -> out y: [f32; N] =
  for i in 0 .. N do
    store y[i] = if i == 64 then 3.0 else load x[i]
";

    #[test]
    fn one_cell_behind_a_block_is_seen() {
        let Ok(llvm) = Llvm::load() else { return };
        let outcome = memory::checked(TEXT);
        let funs: Vec<(FunId, Vec<Binding>)> = ["right", "wrong"].map(|n| (outcome.find(n).unwrap(), vec![])).into();
        let kernels = native::compile(&outcome, &funs, &llvm).and_then(|n| n.kernels()).unwrap();
        let [right, wrong] = [0, 1].map(|n| &outcome.checked.program().funs[funs[n].0.index()]);
        let pool = Pool::new(2).unwrap();
        for place in PLACES {
            let way = Way { kind: Kind::Ordinary, seed: 1, place, pool: &pool };
            let differs = |n: i64| {
                let want = way.call(right, &kernels[0], &[n]).unwrap();
                difference(right, &want, &way.call(right, &kernels[0], &[n]).unwrap()).unwrap();
                difference(right, &want, &way.call(wrong, &kernels[1], &[n]).unwrap()).is_err()
            };
            assert_eq!([0, 1, 63, 64, 65, 128].map(differs), [false, false, false, false, true, true]);
        }
        assert!(ends(right).is_superset(&BTreeSet::from([0, 1, 63, 64, 65, 128, 129])));
    }
}
