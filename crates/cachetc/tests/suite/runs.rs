//! Schedules against what they start from, and contractions against their equations, in the interpreter.
//!
//! Outputs and scratch are poisoned before each run. Every schedule runs at some sizes at least, grids in order and
//! shuffled.

use crate::cells;
use cachet::pipeline::Outcome;
use cachet_core::interpret::{Array, Options, Prepared, TrapKind, prepare};
use cachet_core::ir::{Binding, Fun, FunId, ImplId, Ix, Program, Role, Ty, TypeParamInfo};
use cachet_oracle::equations::element;
use cachet_oracle::hostile::{KINDS, Kind};
use std::fmt;

/// Sizes around small blocks, and the multiples that exact splits want.
const SIZES: [i64; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17];
/// How many choices of sizes a schedule is run at.
const CHOICES: usize = 24;
/// How many implementations a type parameter is bound to.
const IMPLEMENTATIONS: usize = 3;

/// How much was tried.
#[derive(Default)]
pub struct Counts {
    /// Listings read again.
    pub listings: u64,
    /// Programs with a `main`.
    pub programs: u64,
    /// Schedules, each at an implementation.
    pub schedules: u64,
    /// Contractions, each at an implementation.
    pub contractions: u64,
    /// Runs of schedules and nests.
    pub runs: u64,
    /// Runs of machine code, beside those of programs.
    pub native: u64,
    /// Runs of machine code on several threads, with those of programs.
    pub threads: u64,
    /// Elements compared.
    pub elements: u64,
}

impl Counts {
    /// Adds others.
    pub fn add(&mut self, other: &Counts) {
        self.listings += other.listings;
        self.programs += other.programs;
        self.schedules += other.schedules;
        self.contractions += other.contractions;
        self.runs += other.runs;
        self.native += other.native;
        self.threads += other.threads;
        self.elements += other.elements;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} listings read again, {} programs, {} schedules and {} contractions in {} runs, {} native ones, {} on several threads, {} elements compared",
            self.listings,
            self.programs,
            self.schedules,
            self.contractions,
            self.runs,
            self.native,
            self.threads,
            self.elements
        )
    }
}

/// Every schedule of the file.
pub fn schedules(outcome: &Outcome, counts: &mut Counts) -> Result<(), String> {
    let program = outcome.checked.program();
    for script in &outcome.module.scripts {
        if !outcome.module.items.contains(&script.fun) {
            continue;
        }
        for types in bindings(program, &program.funs[script.fun.index()].type_params) {
            let base = if script.types.is_empty() { types.clone() } else { script.types.clone() };
            counts.schedules += 1;
            compare(program, (script.of, &base), (script.fun, &types), counts)?;
        }
    }
    Ok(())
}

/// Every contraction of the file.
pub fn contractions(outcome: &Outcome, counts: &mut Counts) -> Result<(), String> {
    let program = outcome.checked.program();
    for (contraction, id) in &outcome.module.contractions {
        if !outcome.module.items.contains(id) {
            continue;
        }
        let fun = &program.funs[id.index()];
        for types in bindings(program, &fun.type_params) {
            counts.contractions += 1;
            let nest = ready(program, *id, &types)?;
            for sizes in choices(fun.sizes.len(), &[0, 1, 2, 3, 4], 6) {
                let mut args = arguments(program, fun, &types, &sizes, kind(&sizes));
                let before = args.clone();
                match nest.run(&sizes, &mut args, &Options::default()) {
                    Err(t) if t.kind == TrapKind::RequirementViolated => continue,
                    Err(t) => return Err(format!("`{}` at {sizes:?}: {}", fun.name, t.text)),
                    Ok(()) => counts.runs += 1,
                }
                for (n, output) in contraction.outputs.iter().enumerate() {
                    let at = contraction.params.iter().position(|p| p == output).expect("an output is a parameter");
                    for (flat, got) in args[at].bits().chunks_exact(cells::width(&args[at])).enumerate() {
                        let cell = cells::indices(flat, args[at].extents());
                        let want = element(program, contraction, &types, &sizes, &before, n, &cell)
                            .map_err(|e| format!("`{}` at {sizes:?}, {cell:?}: {e:?}", fun.name))?;
                        counts.elements += 1;
                        if let Some(said) = cells::difference(args[at].elem(), &cells::words(&want), got) {
                            return Err(format!("`{}` at {sizes:?}, {cell:?}, against the equation: {said}", fun.name));
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// One function against another, which has the same parameters and perhaps scratch besides.
fn compare(
    program: &Program,
    (base, base_types): (FunId, &[Binding]),
    (made, types): (FunId, &[Binding]),
    counts: &mut Counts,
) -> Result<(), String> {
    let fun = &program.funs[made.index()];
    let (want, got) = (ready(program, base, base_types)?, ready(program, made, types)?);
    let mut ran = 0;
    for (n, sizes) in some_sizes(fun.sizes.len(), &SIZES, CHOICES) {
        if n >= CHOICES && ran > 0 {
            break;
        }
        let kind = kind(&sizes);
        let mut right = arguments(program, fun, types, &sizes, kind);
        let mut left = right[..program.funs[base.index()].params.len()].to_vec();
        if let Err(t) = want.run(&sizes, &mut left, &Options::default()) {
            if t.kind == TrapKind::RequirementViolated {
                continue;
            }
            return Err(format!("`{}` at {sizes:?}: {}", program.funs[base.index()].name, t.text));
        }
        let shuffle = (n % 2 == 1).then_some(n as u64);
        if let Err(t) = got.run(&sizes, &mut right, &Options { shuffle, ..Options::default() }) {
            if t.kind == TrapKind::RequirementViolated {
                continue;
            }
            return Err(format!("`{}` at {sizes:?}: {}", fun.name, t.text));
        }
        ran += 1;
        counts.runs += 1;
        for (p, (l, r)) in left.iter().zip(&right).enumerate() {
            if fun.scratch.contains(&fun.params[p]) {
                continue;
            }
            counts.elements += l.written().len() as u64;
            let said = match l.written() == r.written() {
                true => cells::difference(l.elem(), l.bits(), r.bits()),
                false => Some("other elements are written".into()),
            };
            if let Some(said) = said {
                let name = &fun.buffers[fun.params[p].index()].name;
                return Err(format!("`{}` at {sizes:?}, {kind:?}, {name}: {said}", fun.name));
            }
        }
    }
    if ran == 0 {
        return Err(format!("`{}` was run at no sizes: its requirements exclude all that were tried", fun.name));
    }
    Ok(())
}

/// A function at implementations, ready to run.
pub fn ready(program: &Program, id: FunId, types: &[Binding]) -> Result<Prepared, String> {
    prepare(program, id, types).map_err(|t| format!("`{}`: {}", program.funs[id.index()].name, t.text))
}

/// Implementations for the type parameters, all parameters at once: the first of each, the second of each, ... Those whose
/// values are records are the last of them.
pub fn bindings(program: &Program, params: &[TypeParamInfo]) -> Vec<Vec<Binding>> {
    if params.is_empty() {
        return vec![vec![]];
    }
    let fitting = |p: &TypeParamInfo, record: bool| -> Vec<Binding> {
        let all = program.impls.iter().enumerate();
        let fits = all.filter(|(_, i)| i.interface == p.interface && matches!(i.value, Ty::Tuple(_)) == record);
        fits.map(|(n, _)| Binding::Impl(ImplId(n as u32))).collect()
    };
    let lists = |record: bool| params.iter().map(|p| fitting(p, record)).collect();
    let all: Vec<Vec<Binding>> = [false, true].into_iter().flat_map(|record| chosen(lists(record))).collect();
    assert!(!all.is_empty(), "every interface has an implementation");
    all
}

/// Some of the lists' entries, from all lists at once.
fn chosen(lists: Vec<Vec<Binding>>) -> Vec<Vec<Binding>> {
    if lists.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let count = lists.iter().map(Vec::len).max().unwrap_or(1).min(IMPLEMENTATIONS);
    // The library has each at f32 and at f64, one after the other; every second one is taken at f64.
    let place = |n: usize, of: usize| if of > count { n * of / count + n % 2 } else { n % of };
    let pick = |n: usize| lists.iter().map(|l| l[place(n, l.len())]).collect();
    (0..count).map(pick).collect()
}

/// Numbered choices of sizes to run at. A function's requirements may exclude most: from `most` on the choices are equal
/// powers of two, which meet the usual ones, for those that have not run by then.
pub fn some_sizes(count: usize, list: &[i64], most: usize) -> impl Iterator<Item = (usize, Vec<i64>)> {
    let powers = (1..9).map(move |p| vec![1 << p; count]);
    choices(count, list, most).into_iter().enumerate().chain((most..).zip(powers))
}

/// Choices of `count` sizes from a list: all of them, or so many of them that every size comes up in every place.
fn choices(count: usize, list: &[i64], most: usize) -> Vec<Vec<i64>> {
    let total = list.len().pow(count as u32);
    let digit = |n: usize, axis: usize| list[n / list.len().pow(axis as u32) % list.len()];
    let tuple = |n: usize| (0..count).map(|axis| digit(n, axis)).collect();
    if total <= most {
        return (0..total).map(tuple).collect();
    }
    // Steps of about the golden section fall everywhere, and an odd number of them nowhere twice.
    let stride = (total * 382 / 1000) | 1;
    (0..most).map(|n| tuple(n * stride % total)).collect()
}

/// Ordinary numbers and hostile ones in turn.
pub fn kind(sizes: &[i64]) -> Kind {
    let sum = sizes.iter().sum::<i64>() as usize;
    if sum.is_multiple_of(2) { Kind::Ordinary } else { KINDS[sum / 2 % KINDS.len()] }
}

/// The parameters: what is read on entry filled, the rest poisoned.
pub fn arguments(program: &Program, fun: &Fun, types: &[Binding], sizes: &[i64], kind: Kind) -> Vec<Array> {
    let seed = sizes.iter().fold(11, |seed: u64, s| seed.wrapping_mul(131).wrapping_add(*s as u64));
    let one = |(n, p): (usize, &cachet_core::ir::Buffer)| {
        let info = &fun.buffers[p.index()];
        let extents: Vec<i64> = info.extents.iter().map(|e| value(fun, sizes, e)).collect();
        let ty = cells::bound(program, types, &info.elem);
        let unknown = info.role != Role::Reads && (fun.produces.contains(p) || fun.scratch.contains(p));
        match unknown {
            true => cells::unwritten(&ty, &extents),
            false => cells::filled(&ty, &extents, seed.wrapping_add(n as u64 * 7919), kind),
        }
    };
    fun.params.iter().enumerate().map(one).collect()
}

/// An extent; a negative one has no array.
fn value(fun: &Fun, sizes: &[i64], ix: &Ix) -> i64 {
    let of = |x: &Ix| value(fun, sizes, x);
    match ix {
        Ix::Lit(n) => *n,
        Ix::Var(v) => sizes[fun.sizes.iter().position(|s| s == v).expect("extents use sizes")],
        Ix::Add(a, b) => of(a) + of(b),
        Ix::Sub(a, b) => (of(a) - of(b)).max(0),
        Ix::Mul(n, a) => n * of(a),
        Ix::Div(a, n) => of(a).div_euclid(*n),
        Ix::Mod(a, n) => of(a).rem_euclid(*n),
        Ix::Min(a, b) => of(a).min(of(b)),
        Ix::Max(a, b) => of(a).max(of(b)),
        Ix::If(..) | Ix::Block(..) | Ix::InBlock(..) => panic!("the suite's extents have no cases and no blocks"),
    }
}
