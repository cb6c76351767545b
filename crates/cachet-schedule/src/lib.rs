//! Runs a schedule: finds where a step's `from` stands in the program, matches it, and puts its `to` there.
//!
//! Nothing made here is believed. A step returns another program, the site where the two differ, and the recipe in the
//! programs' names; whether the two mean the same is the checker's business. So a mistake here can cause a refusal or a
//! poor message, never a wrong program.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests"))]
#![allow(clippy::result_large_err, reason = "a refusal ends the step: its size does not matter")]

mod arguments;
mod build;
mod capture;
mod find;
mod loops;
mod matching;
mod needs;
mod refusal;
mod show;
mod steps;
mod tidy;

pub use steps::Splits;

use cachet_core::ir::{Fun, Program};
use cachet_core::pattern::StepDef;
use cachet_core::rewrite::number_grids;
use cachet_core::script::{DotCall, OuterCall, PackCall, RegistersCall, Rewrite, StepArg, StepCall, StepForm};
use cachet_source::Diagnostic;

/// Applies one step to the program so far; `splits` remembers what `x.outer` and `x.inner` mean.
///
/// Several steps may share a name: of those whose parameters fit the arguments, the first whose `from` stands in the
/// program is used.
///
/// # Errors
/// No step of that name, arguments that fit none, a pattern that is nowhere or in two places at once.
pub fn apply(
    program: &Program,
    fun: &Fun,
    call: &StepCall,
    steps: &[StepDef],
    splits: &mut Splits,
) -> Result<Rewrite, Diagnostic> {
    let mut rewrite = changed(program, fun, call, steps, splits)?;
    number_grids(&mut rewrite.after.body);
    Ok(rewrite)
}

fn changed(
    program: &Program,
    fun: &Fun,
    call: &StepCall,
    steps: &[StepDef],
    splits: &mut Splits,
) -> Result<Rewrite, Diagnostic> {
    match &call.form {
        StepForm::Split(indices) => steps::split::apply(fun, call, indices, splits),
        StepForm::Order(args) => steps::order::apply(fun, call, &splits.resolve(args, call)?),
        StepForm::GridOver(args) => steps::grid::apply(fun, call, &splits.resolve(args, call)?),
        StepForm::Pack(pack) => {
            let along = splits.resolve(std::slice::from_ref(&pack.along), call)?;
            let pack = PackCall { along: along.into_iter().next().unwrap_or(pack.along.clone()), ..pack.clone() };
            steps::pack::apply(fun, call, &pack)
        }
        StepForm::Keep { buffer, along, level, into } => {
            let along = splits.resolve(std::slice::from_ref(along), call)?;
            steps::keep::apply(fun, call, [buffer, &along[0], into], level)
        }
        StepForm::Registers(registers) => {
            let named = registers.row.iter().map(|(row, _)| row).chain([&registers.lane]).cloned();
            let mut loops = splits.resolve(&named.collect::<Vec<_>>(), call)?;
            let lane = loops.pop().unwrap_or_else(|| registers.lane.clone());
            let row = registers.row.as_ref().zip(loops.pop()).map(|((_, rows), row)| (row, *rows));
            steps::registers::apply(program, fun, call, &RegistersCall { row, lane, ..registers.clone() })
        }
        StepForm::OuterProducts(outer) => {
            let row = splits.resolve(std::slice::from_ref(&outer.row), call)?;
            let outer = OuterCall { row: row.into_iter().next().unwrap_or(outer.row.clone()), ..outer.clone() };
            steps::outer::apply(program, fun, call, &outer)
        }
        StepForm::DotProducts(dot) => {
            let sum = splits.resolve(std::slice::from_ref(&dot.sum), call)?;
            let dot = DotCall { sum: sum.into_iter().next().unwrap_or(dot.sum.clone()), ..dot.clone() };
            steps::dot::apply(program, fun, call, &dot)
        }
        StepForm::Reduce { of, op, at } => {
            let of = splits.resolve(std::slice::from_ref(of), call)?;
            steps::reduce::apply(program, fun, call, &of, (op, *at))
        }
        StepForm::Call(args) => written(program, fun, call, &splits.resolve(args, call)?, steps),
    }
}

/// A step that is written in the language.
fn written(
    program: &Program,
    fun: &Fun,
    call: &StepCall,
    given: &[StepArg],
    steps: &[StepDef],
) -> Result<Rewrite, Diagnostic> {
    let named: Vec<&StepDef> = steps.iter().filter(|s| s.name == call.name).collect();
    if named.is_empty() {
        return Err(refusal::unknown_step(call, steps));
    }
    let mut fitting = Vec::new();
    let mut misfit = None;
    for step in &named {
        match arguments::bind(fun, step, call, given) {
            Ok(args) => fitting.push((*step, args)),
            Err(d) => misfit = misfit.or(Some(d)),
        }
    }
    let mut nearest = None;
    for (step, args) in &fitting {
        match find::site(program, fun, step, args, call)? {
            Ok(found) => return build::instantiate(program, fun, step, args, found, call),
            Err(reason) => nearest = find::Reason::nearer(nearest, reason),
        }
    }
    match (fitting.first(), misfit) {
        (Some((step, args)), _) => Err(refusal::no_match(fun, step, args, call, nearest)),
        (None, Some(d)) => Err(d),
        (None, None) => Err(refusal::unknown_step(call, steps)),
    }
}
