//! `grid over (i, j)`: the outermost loops of a nest as one grid of the host.

use super::nest::Nest;
use super::{Named, names};
use crate::refusal;
use cachet_core::ir::{At, Device, Domain, Fun, Grid, Stmt, StmtKind, Var};
use cachet_core::pattern::{LoopRef, Move, MoveKind, Side};
use cachet_core::rewrite::{Live, refresh};
use cachet_core::script::{Rewrite, StepArg, StepCall};
use cachet_source::{Diagnostic, codes};

/// Makes a grid of the loops named.
pub fn apply(fun: &Fun, call: &StepCall, args: &[StepArg]) -> Result<Rewrite, Diagnostic> {
    let wanted = names(args, call)?;
    let Some(first) = wanted.first() else {
        let d = Diagnostic::error(codes::STEP_ARGUMENT, call.span, "`grid over` names no loop");
        return Err(refusal::with_callers(d, call));
    };
    let nest = Nest::around(fun, first, call)?;
    let named = positions(fun, &nest, &wanted, call)?;
    let axes: Vec<(Var, Domain)> = named.iter().map(|n| nest.loops[*n].clone()).collect();
    let rest: Vec<(Var, Domain)> =
        nest.loops.iter().enumerate().filter(|(n, _)| !named.contains(n)).map(|(_, l)| l.clone()).collect();
    independent(fun, &axes, call)?;
    let span = nest.like.span;
    let mut body = nest.body.clone();
    for (var, domain) in rest.iter().rev() {
        body = vec![Stmt { kind: StmtKind::For { var: *var, domain: domain.clone(), body }, span }];
    }
    let own: Vec<Var> = axes.iter().map(|(v, _)| *v).collect();
    let writes = cachet_core::windows::infer(&fun.buffers, &own, &body);
    let grid = Grid { device: Device::HOST, level: 0, axes: axes.clone(), writes, body };
    let mut after = fun.clone();
    let made = refresh(&mut after, &[Stmt { kind: StmtKind::Grid(Box::new(grid)), span }]);
    let order: Vec<Var> = axes.iter().chain(&rest).map(|(v, _)| *v).collect();
    let mut recipe = Vec::new();
    if order.iter().ne(nest.loops.iter().map(|(v, _)| v)) {
        let loop_ref = |v: &Var| LoopRef { side: Side::S, name: fun.vars[v.index()].name.clone(), nth: 1, rank: false };
        recipe.push(Move { kind: MoveKind::Order(order.iter().map(loop_ref).collect()), span: At(call.span) });
    }
    match nest.site.replace(&mut after, made) {
        Some(to) => Ok(Rewrite { after, from: nest.site.clone(), to, recipe }),
        None => {
            let d = Diagnostic::error(codes::STEP_ARGUMENT, call.span, "the nest is gone");
            Err(refusal::with_callers(d, call))
        }
    }
}

fn positions(fun: &Fun, nest: &Nest, wanted: &[Named], call: &StepCall) -> Result<Vec<usize>, Diagnostic> {
    let mut out = Vec::new();
    for w in wanted {
        super::locate(fun, w, call)?;
        let at = nest.loops.iter().position(|(v, _)| fun.vars[v.index()].name == w.name);
        let refuse = |message: String| {
            Err(refusal::with_callers(Diagnostic::error(codes::STEP_ARGUMENT, w.span, message), call))
        };
        match at {
            Some(n) if out.contains(&n) => return refuse(format!("`{}` is named twice", w.name)),
            Some(n) => out.push(n),
            None => {
                return refuse(format!("`{}` is not a loop of the nest whose iterations would run at once", w.name));
            }
        }
    }
    Ok(out)
}

/// The ranges of a grid's axes are known before any of them runs.
fn independent(fun: &Fun, axes: &[(Var, Domain)], call: &StepCall) -> Result<(), Diagnostic> {
    for (var, domain) in axes {
        let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, .. }) = domain;
        let mut live = Live::of_ix(lo);
        live.vars.extend(Live::of_ix(hi).vars);
        if let Some((other, _)) = axes.iter().find(|(v, _)| live.vars.contains(v)) {
            let (inner, outer) = (&fun.vars[var.index()].name, &fun.vars[other.index()].name);
            let message = format!("the range of `{inner}` depends on `{outer}`, so the two cannot be axes of one grid");
            return Err(refusal::with_callers(Diagnostic::error(codes::STEP_ARGUMENT, call.span, message), call));
        }
    }
    Ok(())
}
