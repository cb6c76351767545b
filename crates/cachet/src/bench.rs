//! Bits first, then speed: what `bench` measures, as data.
//!
//! A contraction and its schedules are one group. At the asked size every kernel runs once on fresh random inputs over
//! poisoned outputs; its outputs are compared bit for bit with those of the contraction's own nest compiled natively,
//! and at a sample of elements with the evaluator of the equations, which shares nothing with the nest. A kernel whose
//! bits differ is reported and not timed. The others are timed in rounds beside the machine's limit and, where the
//! contraction is one that a library has, beside that library.

mod inputs;
mod peer;
mod sample;

use crate::native::{self, Problem};
use crate::pipeline::Outcome;
use cachet_core::equations::{Contraction, Expr};
use cachet_core::instance::instance_name;
use cachet_core::ir::{Binding, Domain, Elem, FunId, ImplId, Var};
use cachet_core::sized::value;
use cachet_runtime::{
    BufferArg, Contender, FmaProbe, FpGuard, Kernel, Llvm, MeasureOptions, MeasureReport, OpenBlas, Pool, ProbeElement,
    measure,
};
use inputs::{Inputs, Memory};
use std::collections::BTreeMap;
use std::time::Duration;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Contractions or schedules by name; empty for all.
    pub names: Vec<String>,
    /// Every size parameter.
    pub size: i64,
    /// The implementation for type parameters that a schedule leaves unbound, as `PlusTimes f32`.
    pub implementation: String,
    /// Time for each group.
    pub budget: Duration,
    /// Seed of the inputs.
    pub seed: u64,
    /// How many threads grids run on, and the library.
    pub threads: usize,
}

/// A contraction and its schedules.
pub struct Group {
    /// The contraction's instance name.
    pub name: String,
    /// Sizes by name.
    pub sizes: Vec<(String, i64)>,
    /// Element type of the output.
    pub element: Elem,
    /// Operations of one call; a multiply-add counts two.
    pub flops: f64,
    /// Bytes of all arrays of one call.
    pub bytes: f64,
    /// One row per kernel, the nest first.
    pub rows: Vec<Row>,
    /// The library, where there is one for this contraction, or why not.
    pub library: Library,
    /// What was measured; the library's row comes last where there is one.
    pub report: MeasureReport,
    /// How many elements were compared with the equations.
    pub sampled: usize,
}

/// One kernel.
pub struct Row {
    /// Its name.
    pub name: String,
    /// Whether it is the contraction's own nest.
    pub nest: bool,
    /// How many output elements differ from the nest's.
    pub differing: usize,
    /// Its position in the report; `None` where its bits differ.
    pub measured: Option<usize>,
}

/// The library to stand beside.
pub enum Library {
    /// Found and measured.
    Found {
        /// Its name, version and the code path it takes.
        name: String,
        /// Its position in the report.
        measured: usize,
    },
    /// Not on this machine.
    Missing {
        /// The line that installs it.
        fix: String,
    },
    /// No library that we know computes this.
    NoCounterpart,
}

/// Measures every group of the file.
pub fn run(outcome: &Outcome, llvm: &Llvm, options: &Options) -> Result<Vec<Group>, Problem> {
    let mut out = Vec::new();
    for (contraction, nest) in &outcome.module.contractions {
        if !outcome.module.items.contains(nest) || !outcome.checked.accepts(*nest) {
            continue;
        }
        let program = outcome.checked.program();
        let named = |id: &FunId| {
            options.names.is_empty()
                || options.names.contains(&program.funs[id.index()].name)
                || options.names.contains(&contraction.name)
        };
        let schedules: Vec<FunId> = outcome
            .module
            .scripts
            .iter()
            .filter(|s| origin(outcome, s.of) == *nest && outcome.checked.accepts(s.fun))
            .map(|s| s.fun)
            .filter(named)
            .collect();
        if schedules.is_empty() && !named(nest) {
            continue;
        }
        for (types, schedules) in by_instance(outcome, *nest, &schedules, options)? {
            out.push(group(outcome, llvm, contraction, *nest, &types, &schedules, options)?);
        }
    }
    Ok(out)
}

/// The contraction that a chain of schedules starts from.
fn origin(outcome: &Outcome, mut of: FunId) -> FunId {
    while let Some(s) = outcome.module.scripts.iter().find(|s| s.fun == of) {
        of = s.of;
    }
    of
}

/// What type parameters are bound to, and the schedules that share it.
type Instance = (Vec<Binding>, Vec<FunId>);

/// Schedules grouped by what their contraction's type parameters are bound to.
fn by_instance(
    outcome: &Outcome,
    nest: FunId,
    schedules: &[FunId],
    options: &Options,
) -> Result<Vec<Instance>, Problem> {
    let program = outcome.checked.program();
    let params = program.funs[nest.index()].type_params.len();
    let mut groups: BTreeMap<Vec<String>, (Vec<Binding>, Vec<FunId>)> = BTreeMap::new();
    let default = || -> Result<Vec<Binding>, Problem> {
        let found = program.impls.iter().position(|i| i.name == options.implementation);
        match (params, found) {
            (0, _) => Ok(vec![]),
            (n, Some(i)) => Ok(vec![Binding::Impl(ImplId(i as u32)); n]),
            (_, None) => {
                let wanted = program.funs[nest.index()].type_params.iter().map(|p| p.interface).collect::<Vec<_>>();
                let fitting = program.impls.iter().filter(|i| wanted.contains(&i.interface));
                let known: Vec<&str> = fitting.map(|i| i.name.as_str()).collect();
                Err(Problem::User(format!(
                    "there is no implementation `{}`; the file knows {}",
                    options.implementation,
                    known.join(", ")
                )))
            }
        }
    };
    let key = |types: &[Binding]| types.iter().map(|t| format!("{t:?}")).collect::<Vec<_>>();
    if schedules.is_empty() {
        let types = default()?;
        groups.insert(key(&types), (types, vec![]));
    }
    for id in schedules {
        let bound = outcome.module.scripts.iter().find(|s| s.fun == *id).map(|s| s.types.clone()).unwrap_or_default();
        let types = if bound.is_empty() { default()? } else { bound };
        groups.entry(key(&types)).or_insert_with(|| (types, vec![])).1.push(*id);
    }
    Ok(groups.into_values().collect())
}

fn group(
    outcome: &Outcome,
    llvm: &Llvm,
    contraction: &Contraction,
    nest: FunId,
    types: &[Binding],
    schedules: &[FunId],
    options: &Options,
) -> Result<Group, Problem> {
    let program = outcome.checked.program();
    let fun = &program.funs[nest.index()];
    let sizes: Vec<i64> = vec![options.size; fun.sizes.len()];
    let mut ids = vec![nest];
    ids.extend(schedules);
    let bound = |id: &FunId| if program.funs[id.index()].type_params.is_empty() { vec![] } else { types.to_vec() };
    let wanted: Vec<(FunId, Vec<Binding>)> = ids.iter().map(|id| (*id, bound(id))).collect();
    let kernels = native::compile(outcome, &wanted, llvm)?.kernels()?;
    let inputs = Inputs::new(program, fun, types, &sizes, options.seed)?;
    let pool = Pool::new(options.threads).map_err(Problem::Tool)?;

    let mut outputs = Vec::new();
    for (kernel, id) in kernels.iter().zip(&ids) {
        let scratch = Inputs::scratch(program, &program.funs[id.index()], types, &sizes)?;
        let mut memory = Memory { outputs: inputs.poisoned()?, scratch };
        kernel.call_on(pool.interface(), &sizes, &mut inputs.args(&mut memory)).map_err(Problem::Tool)?;
        outputs.push(memory);
    }
    let sampled = sample::check(program, contraction, types, &sizes, &inputs, &outputs[0].outputs)?;
    let differing: Vec<usize> = outputs.iter().map(|o| inputs.differing(&outputs[0].outputs, &o.outputs)).collect();
    let flops = flops(contraction, &sizes);
    // A library adds and multiplies floats; at another semiring the same equation is another computation.
    let plus_times =
        |t: &Binding| matches!(t, Binding::Impl(i) if program.impls[i.index()].name.starts_with("PlusTimes "));
    let float_sums = inputs.floats_out() && inputs.row_major() && types.iter().all(plus_times);
    let (library, report, measured) = time(
        contraction,
        (&kernels, &differing),
        &inputs,
        &mut outputs,
        &sizes,
        flops,
        float_sums,
        llvm,
        options,
        &pool,
    )?;
    let rows = ids.iter().zip(differing).zip(measured).map(|((id, differing), measured)| Row {
        name: program.funs[id.index()].name.clone(),
        nest: *id == nest,
        differing,
        measured,
    });
    let names = fun.sizes.iter().map(|s| fun.vars[s.index()].name.clone());
    Ok(Group {
        name: instance_name(program, &fun.name, types),
        rows: rows.collect(),
        sizes: names.zip(sizes.clone()).collect(),
        element: inputs.output_elem(),
        flops,
        bytes: inputs.bytes(),
        library,
        report,
        sampled,
    })
}

/// Times what has the right bits, and the library beside it.
#[expect(clippy::too_many_arguments, reason = "one call, and each is a different thing")]
fn time(
    contraction: &Contraction,
    (kernels, differing): (&[Kernel], &[usize]),
    inputs: &Inputs,
    outputs: &mut [Memory],
    sizes: &[i64],
    flops: f64,
    float_sums: bool,
    llvm: &Llvm,
    options: &Options,
    pool: &Pool,
) -> Result<(Library, MeasureReport, Vec<Option<usize>>), Problem> {
    let counterpart = if float_sums { peer::counterpart(contraction) } else { None };
    let blas = match counterpart {
        Some(_) => OpenBlas::load().map_err(|e| e.fix.unwrap_or(e.message)),
        None => Err(String::new()),
    };
    if let Ok(blas) = &blas {
        blas.set_threads(options.threads);
    }
    let mut of_library = inputs.poisoned()?;
    let mut positions = vec![None; kernels.len()];
    let mut arguments: Vec<Vec<BufferArg<'_>>> = outputs.iter_mut().map(|out| inputs.args(out)).collect();
    let mut contenders: Vec<Contender<'_>> = Vec::new();
    let _mode = FpGuard::enter();
    for (i, (kernel, args)) in kernels.iter().zip(arguments.iter_mut()).enumerate() {
        if differing[i] > 0 {
            continue;
        }
        positions[i] = Some(contenders.len());
        let mut call = kernel.prepare(sizes, args).map_err(Problem::Tool)?.on(pool.interface());
        contenders.push(Contender::new(kernel.name(), Some(flops), move || call.run_in_this_mode()));
    }
    let library = match (counterpart, &blas) {
        (None, _) => Library::NoCounterpart,
        (Some(_), Err(fix)) => Library::Missing { fix: fix.clone() },
        (Some(what), Ok(blas)) => {
            let name = format!("OpenBLAS ({})", blas.core_name());
            let measured = contenders.len();
            contenders.push(Contender::new(&name, Some(flops), {
                let out = &mut of_library;
                move || peer::call(what, blas, inputs, out)
            }));
            Library::Found { name, measured }
        }
    };
    let element = if inputs.output_elem() == Elem::F64 { ProbeElement::F64 } else { ProbeElement::F32 };
    let mut probe = FmaProbe::new(llvm, element).map_err(Problem::Tool)?;
    let baseline = match &library {
        Library::Found { measured, .. } => *measured,
        Library::Missing { .. } | Library::NoCounterpart => 0,
    };
    let measure_options = MeasureOptions { baseline, budget: options.budget, ..MeasureOptions::default() };
    let report = measure(&mut contenders, &mut || probe.run(), &measure_options).map_err(Problem::Tool)?;
    Ok((library, report, positions))
}

/// Operations of one call: per term of a sum a multiply-add (two) or an addition (one), for every output element.
fn flops(contraction: &Contraction, sizes: &[i64]) -> f64 {
    let values: BTreeMap<Var, i64> = contraction.sizes.iter().copied().zip(sizes.iter().copied()).collect();
    let trips = |domains: &[&Domain]| domains.iter().map(|d| trip(d, &values)).product::<f64>();
    contraction
        .equations
        .iter()
        .map(|e| trips(&e.ranges.iter().collect::<Vec<_>>()) * operations(&e.value, &trips))
        .sum()
}

fn operations(e: &Expr, trips: &dyn Fn(&[&Domain]) -> f64) -> f64 {
    let all = |es: &[Expr]| es.iter().map(|e| operations(e, trips)).sum::<f64>();
    match e {
        Expr::Lit(_) | Expr::Index(..) | Expr::Read(_) | Expr::Value(..) | Expr::Local(_) => 0.0,
        Expr::Op(_, _, args) => 1.0 + all(args),
        Expr::Apply(_, args) => 1.0 + all(args),
        Expr::Tuple(args) => all(args),
        Expr::Part(e, _) => operations(e, trips),
        Expr::Let(_, a, b) => operations(a, trips) + operations(b, trips),
        Expr::If(_, a, b) => operations(a, trips).max(operations(b, trips)),
        Expr::Sum(s) => {
            let domains: Vec<&Domain> = s.binders.iter().map(|b| &b.domain).collect();
            // A term's own operations, and one addition, which a product shares as a multiply-add.
            trips(&domains) * (operations(&s.body, trips) + 1.0)
        }
    }
}

/// How many iterations; bounds over anything but sizes count nothing, which only ever makes a figure smaller.
fn trip(domain: &Domain, values: &BTreeMap<Var, i64>) -> f64 {
    let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, size: _ }) = domain;
    let of = |v: Var| values.get(&v).copied();
    match (value(lo, &of), value(hi, &of)) {
        (Some(lo), Some(hi)) => (hi - lo).max(0) as f64,
        _ => 0.0,
    }
}
