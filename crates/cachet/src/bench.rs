//! Bits first, then speed: what `bench` measures, as data.
//!
//! A contraction and its schedules at one size are one group. Every kernel runs once on fresh random inputs over
//! poisoned outputs; its outputs are compared bit for bit with those of the contraction's own nest compiled natively,
//! and at a sample of elements with the evaluator of the equations, which shares nothing with the nest. A kernel whose
//! bits differ is reported and not timed. The others are timed in rounds beside the machine's limits ([`Roof`]) and,
//! where the contraction is one that libraries have, beside every library that was found. When the rounds are over, the
//! outputs are compared once more.

mod arithmetic;
mod inputs;
mod instances;
mod peak;
mod peer;
mod roof;
mod sample;
mod sizes;
mod sweep;
mod timing;
mod work;

use crate::native::{self, Problem};
use crate::pipeline::Outcome;
use arithmetic::Arithmetic;
use cachet_core::instance::instance_name;
use cachet_core::ir::{Binding, Elem, Fun, FunId};
use cachet_runtime::{AbsentPeer, Interval, Kernel, Llvm, MeasureReport, Numbers, PeerSearch, Peers, Pool, find_peers};
use inputs::{Inputs, Memory};
use instances::Instance;
pub use roof::{Limit, Roof};
pub use sizes::Sizes;
use std::time::{Duration, Instant};
pub use sweep::{Column, Sweep, sweeps};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Contractions or schedules by name; empty for all.
    pub names: Vec<String>,
    /// Every size parameter, for one measurement after the other.
    pub sizes: Vec<Sizes>,
    /// The implementation for type parameters that a schedule leaves unbound, as `PlusTimes f32`.
    pub implementation: String,
    /// Time for each group.
    pub budget: Duration,
    /// Seed of the inputs.
    pub seed: u64,
    /// Where libraries to compare with are looked for; `None` to compare with none.
    pub peers: Option<PeerSearch>,
    /// How many threads grids run on, and the libraries.
    pub threads: usize,
}

/// What was measured, and what there was no library of.
pub struct Measured {
    /// In the order of the file, each at its sizes in the order asked for.
    pub groups: Vec<Group>,
    /// Libraries that were not found; empty where no group has a counterpart.
    pub absent: Vec<AbsentPeer>,
}

/// A contraction and its schedules at one size.
pub struct Group {
    /// The contraction's instance name.
    pub name: String,
    /// Sizes by name.
    pub sizes: Vec<(String, i64)>,
    /// Element type of the output.
    pub element: Elem,
    /// One row per kernel, the nest first.
    pub rows: Vec<Row>,
    /// The libraries; empty where none computes this.
    pub peers: Vec<PeerRow>,
    /// The numbers of the product that libraries compute too, where it is one.
    pub counterpart: Option<Numbers>,
    /// The fastest library: its position in the report, and in `peers`.
    pub fastest: Option<(usize, usize)>,
    /// The limits.
    pub roof: Roof,
    /// What was measured; besides the kernels and the libraries it has the passes over memory.
    pub report: MeasureReport,
    /// How many elements were compared with the equations.
    pub sampled: usize,
    /// How many output elements there are.
    pub cells: usize,
    /// How many threads there were.
    pub threads: usize,
}

/// One kernel.
pub struct Row {
    /// Its name.
    pub name: String,
    /// Whether it is the contraction's own nest.
    pub nest: bool,
    /// A requirement that does not hold at these sizes: then it was not run.
    pub unmet: Option<String>,
    /// How many output elements differ from the nest's.
    pub differing: usize,
    /// Whether they differed only in a later call.
    pub later: bool,
    /// How long its one call took, in seconds, where that was too long to time it in rounds.
    pub too_slow: Option<f64>,
    /// Where it was timed.
    pub timed: Option<Timed>,
}

/// One library.
pub struct PeerRow {
    /// Its name and version.
    pub name: String,
    /// The code it runs on this processor.
    pub code_path: String,
    /// The library file.
    pub path: String,
    /// How many threads it had.
    pub threads: usize,
    /// How many output elements have other bits than the nest's.
    pub differing: usize,
    /// Why it was not timed, where it was not.
    pub skipped: Option<String>,
    /// Where it was timed.
    pub timed: Option<Timed>,
}

/// What a report says of a row.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// Its position in the report.
    pub at: usize,
    /// What share of the roof it reaches, inside rounds.
    pub of_roof: Option<Interval>,
    /// How many times as fast as the fastest library it is, inside rounds.
    pub of_fastest: Option<Interval>,
}

/// A kernel whose one call takes a larger share of the time for its group is not called again.
const MOST_OF_BUDGET: f64 = 0.25;

/// Measures everything that was asked for.
pub fn run(outcome: &Outcome, llvm: &Llvm, options: &Options) -> Result<Measured, Problem> {
    let instances = instances::find(outcome, options)?;
    let program = outcome.checked.program();
    let funs: Vec<&Fun> = instances.iter().map(|i| &program.funs[i.nest.index()]).collect();
    sizes::known(&options.sizes, &funs)?;
    let peers = match &options.peers {
        Some(search) => find_peers(search, options.threads),
        None => Peers { found: vec![], absent: vec![] },
    };
    let mut groups = Vec::new();
    for instance in &instances {
        let compiled = Compiled::new(outcome, llvm, instance)?;
        for (number, sizes) in options.sizes.iter().enumerate() {
            let seed = options.seed.wrapping_add(number as u64);
            groups.push(compiled.measure(llvm, &sizes.of(compiled.fun()), seed, &peers, options)?);
        }
    }
    // Nobody needs a library that computes nothing of this.
    let computes = |a: &AbsentPeer, numbers: Numbers| a.family.is_none_or(|f| f.computes(numbers));
    let mut absent = peers.absent;
    absent.retain(|a| groups.iter().filter_map(|g: &Group| g.counterpart).any(|numbers| computes(a, numbers)));
    Ok(Measured { groups, absent })
}

/// The kernels of an instance, which serve every size.
struct Compiled<'a> {
    outcome: &'a Outcome,
    instance: &'a Instance<'a>,
    /// The nest, then the schedules.
    ids: Vec<FunId>,
    kernels: Vec<Kernel>,
}

impl<'a> Compiled<'a> {
    fn new(outcome: &'a Outcome, llvm: &Llvm, instance: &'a Instance<'a>) -> Result<Compiled<'a>, Problem> {
        let program = outcome.checked.program();
        let mut ids = vec![instance.nest];
        ids.extend(&instance.schedules);
        let bound = |id: &FunId| {
            if program.funs[id.index()].type_params.is_empty() { vec![] } else { instance.types.clone() }
        };
        let wanted: Vec<(FunId, Vec<Binding>)> = ids.iter().map(|id| (*id, bound(id))).collect();
        let kernels = native::compile(outcome, &wanted, llvm)?.kernels()?;
        Ok(Compiled { outcome, instance, ids, kernels })
    }

    /// The nest.
    fn fun(&self) -> &Fun {
        &self.outcome.checked.program().funs[self.instance.nest.index()]
    }

    fn measure(
        &self,
        llvm: &Llvm,
        sizes: &[i64],
        seed: u64,
        peers: &Peers,
        options: &Options,
    ) -> Result<Group, Problem> {
        let program = self.outcome.checked.program();
        let (fun, instance) = (self.fun(), self.instance);
        let names = fun.sizes.iter().map(|s| fun.vars[s.index()].name.clone());
        let named: Vec<(String, i64)> = names.zip(sizes.iter().copied()).collect();
        let mut rows: Vec<Row> = self.ids.iter().map(|id| self.row(*id, sizes)).collect();
        if let Some(unmet) = &rows[0].unmet {
            let at = named.iter().map(|(n, v)| format!("{n} = {v}")).collect::<Vec<_>>().join(", ");
            return Err(Problem::User(format!("`{}` requires {unmet}, which does not hold at {at}", fun.name)));
        }
        let inputs = Inputs::new(program, fun, &instance.types, sizes, seed)?;
        let mut memories = Vec::new();
        let pool = Pool::new(options.threads).map_err(Problem::Tool)?;
        let most = options.budget.as_secs_f64() * MOST_OF_BUDGET;
        for ((id, kernel), row) in self.ids.iter().zip(&self.kernels).zip(&mut rows) {
            let scratch = Inputs::scratch(program, &program.funs[id.index()], &instance.types, sizes)?;
            let mut memory = Memory { outputs: inputs.poisoned()?, scratch };
            if row.unmet.is_none() {
                let start = Instant::now();
                let mut args = inputs.args(&mut memory);
                kernel.prepare(sizes, &mut args).map_err(Problem::Tool)?.on(pool.interface()).run();
                let seconds = start.elapsed().as_secs_f64();
                row.too_slow = Some(seconds).filter(|s| *s > most);
            }
            memories.push(memory);
        }
        let contraction = instance.contraction;
        let sampled = sample::check(program, contraction, &instance.types, sizes, &inputs, &memories[0].outputs)?;
        for (row, memory) in rows.iter_mut().zip(&memories).filter(|(row, _)| row.unmet.is_none()) {
            row.differing = inputs.differing(&memories[0].outputs, &memory.outputs);
        }
        let arithmetic = Arithmetic::of(program);
        let run: Vec<FunId> =
            self.ids.iter().zip(&rows).filter(|(_, r)| r.unmet.is_none()).map(|(id, _)| *id).collect();
        let mut contest = timing::Contest {
            kernels: &self.kernels,
            pool: &pool,
            inputs: &inputs,
            sizes,
            flops: work::operations(&arithmetic, contraction, sizes),
            instructions: peak::candidates(program, &arithmetic, &run),
            counterpart: self.counterpart(&arithmetic, sizes, &inputs),
            peers: &peers.found,
            rows,
            peer_rows: vec![],
        };
        let (report, roof) = contest.run(&mut memories, llvm, options)?;
        let timing::Contest { rows, peer_rows, counterpart, .. } = contest;
        let mut group = Group {
            name: instance_name(program, &fun.name, &instance.types),
            rows,
            peers: peer_rows,
            counterpart: counterpart.map(|c| c.numbers),
            fastest: None,
            sizes: named,
            element: inputs.output_elem(),
            roof,
            report,
            sampled,
            cells: inputs.cells(),
            threads: options.threads,
        };
        group.compare();
        Ok(group)
    }

    fn row(&self, id: FunId, sizes: &[i64]) -> Row {
        let program = self.outcome.checked.program();
        let fun = &program.funs[id.index()];
        let unmet = sizes::unmet(program, fun, sizes);
        let nest = id == self.instance.nest;
        Row { name: fun.name.clone(), nest, unmet, differing: 0, later: false, too_slow: None, timed: None }
    }

    /// The product that this is. Operations of a type parameter are sums and products at some semirings; at others the same
    /// equation is another computation.
    fn counterpart(&self, arithmetic: &Arithmetic<'_>, sizes: &[i64], inputs: &Inputs) -> Option<peer::Counterpart> {
        let program = self.outcome.checked.program();
        let plus_times =
            |t: &Binding| matches!(t, Binding::Impl(i) if program.impls[i.index()].name.starts_with("PlusTimes "));
        let sums = inputs.row_major() && self.instance.types.iter().all(plus_times);
        if sums { peer::counterpart(arithmetic, self.instance.contraction, sizes, inputs) } else { None }
    }
}

impl Group {
    /// Finds the fastest library, and puts every row beside it and under the roof.
    fn compare(&mut self) {
        let time = |t: &Timed| self.report.rows.get(t.at).map_or(f64::INFINITY, |m| m.median);
        let peers = self.peers.iter().enumerate().filter_map(|(n, p)| Some((p.timed?, n)));
        let fastest = peers.min_by(|(a, _), (b, _)| time(a).total_cmp(&time(b))).map(|(t, n)| (t.at, n));
        self.fastest = fastest;
        let (report, roof) = (&self.report, &self.roof);
        let judge = |timed: &mut Timed| {
            timed.of_roof = roof.share(report, timed.at);
            timed.of_fastest = fastest.and_then(|(at, _)| report.ratio(timed.at, at));
        };
        self.rows.iter_mut().filter_map(|r| r.timed.as_mut()).for_each(judge);
        self.peers.iter_mut().filter_map(|p| p.timed.as_mut()).for_each(judge);
    }

    /// How fast a row is, and in what: operations, or where there are none the bytes of all arrays.
    pub fn speed(&self, seconds: f64) -> f64 {
        let amount = if self.roof.flops > 0.0 { self.roof.flops } else { self.roof.bytes() };
        amount / seconds * 1e-9
    }

    /// The unit of [`Group::speed`].
    pub fn unit(&self) -> &'static str {
        match self.roof.flops > 0.0 {
            true if self.element.is_float() => "GFLOP/s",
            true => "Gop/s",
            false => "GB/s",
        }
    }
}
