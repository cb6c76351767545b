//! `order (x, ..)`: the loops of a nest in another order. A sum that is named is opened: its steps become updates of the
//! cell that it continues from.

use super::nest::Nest;
use super::{Named, names};
use crate::refusal;
use cachet_core::ir::{At, Domain, Fold, Fun, Stmt, StmtKind, Var, Word};
use cachet_core::pattern::{LoopRef, Move, MoveKind, Side};
use cachet_core::rewrite::{Live, refresh};
use cachet_core::script::{Rewrite, StepArg, StepCall};
use cachet_source::{Diagnostic, codes};

/// Puts the loops named outermost, in their order.
pub fn apply(fun: &Fun, call: &StepCall, args: &[StepArg]) -> Result<Rewrite, Diagnostic> {
    let wanted = names(args, call)?;
    for (n, w) in wanted.iter().enumerate() {
        if wanted[..n].iter().any(|o| o.name == w.name && o.nth == w.nth) {
            let message = format!("`{}` is named twice", w.name);
            let d = Diagnostic::error(codes::STEP_ARGUMENT, w.span, message);
            return Err(refusal::with_callers(d, call));
        }
    }
    let [first, _, ..] = wanted.as_slice() else {
        let d = Diagnostic::error(codes::STEP_ARGUMENT, call.span, "an order needs at least two loops");
        return Err(refusal::with_callers(d.help("`order (k, i)` puts `k` outside `i`"), call));
    };
    // Every name has to be there; the nest is the one that the first belongs to.
    for w in &wanted {
        super::locate(fun, w, call)?;
    }
    let nest = Nest::around(fun, first, call)?;
    let (to, sums) = match &nest.sums {
        Some((to, sums)) => (Some(to), sums.as_slice()),
        None => (None, [].as_slice()),
    };
    let name = |v: Var| fun.vars[v.index()].name.as_str();
    let mut all: Vec<(Var, Domain)> = nest.loops.clone();
    let opened = sums.iter().rposition(|f| wanted.iter().any(|w| w.name == name(f.var))).map_or(0, |n| n + 1);
    all.extend(sums[..opened].iter().map(|f| (f.var, f.domain.clone())));
    let mut ordered = Vec::new();
    for w in &wanted {
        match all.iter().position(|(v, _)| name(*v) == w.name) {
            Some(n) => ordered.push(n),
            None => return Err(outside(fun, &nest, w, call)),
        }
    }
    ordered.extend((0..all.len()).filter(|n| !ordered.contains(n)).collect::<Vec<_>>());
    scoped(fun, &ordered.iter().map(|n| &all[*n]).collect::<Vec<_>>(), call)?;

    let mut after = fun.clone();
    let mut body = match to {
        Some(to) if opened > 0 => updates(to, &sums[..opened], nest.like.span),
        _ => nest.body.clone(),
    };
    for n in ordered.iter().rev() {
        let (var, domain) = all[*n].clone();
        body = vec![Stmt { kind: StmtKind::For { var, domain, body }, span: nest.like.span }];
    }
    let body = refresh(&mut after, &body);
    let at = At(call.span);
    let line = |kind: MoveKind| Move { kind, span: at };
    let loop_ref = |v: Var| LoopRef { side: Side::S, name: name(v).to_string(), nth: 1, rank: false };
    let mut recipe = Vec::new();
    if let Some(to) = to {
        let buffer = fun.buffers[to.buffer.index()].name.clone();
        for f in &sums[..opened] {
            recipe.push(line(MoveKind::PerCell { buffer: buffer.clone(), fold: loop_ref(f.var) }));
        }
    }
    recipe.push(line(MoveKind::Order(ordered.iter().map(|n| loop_ref(all[*n].0)).collect())));
    let Some(to) = nest.site.replace(&mut after, body) else {
        let d = Diagnostic::error(codes::STEP_ARGUMENT, call.span, "the nest to reorder is gone");
        return Err(refusal::with_callers(d, call));
    };
    Ok(Rewrite { after, from: nest.site.clone(), to, recipe })
}

/// The steps of a sum as updates of its cell, with what is left of the sums inside.
fn updates(to: &cachet_core::ir::Access, opened: &[Fold], span: At) -> Vec<Stmt> {
    let Some(last) = opened.last() else { return vec![] };
    let own = Word::Load(to.clone());
    let store = |word: Word| Stmt { kind: StmtKind::Store { to: to.clone(), word }, span };
    match &last.body {
        Word::Fold(inner)
            if inner.init == Word::Local(last.acc, vec![]) && !super::nest::uses(&inner.body, last.acc) =>
        {
            vec![store(Word::Fold(Box::new(Fold { init: own, ..(**inner).clone() })))]
        }
        body => vec![Stmt { kind: StmtKind::Let { local: last.acc, word: own }, span }, store(body.clone())],
    }
}

/// A loop's range may only depend on loops around it.
fn scoped(fun: &Fun, loops: &[&(Var, Domain)], call: &StepCall) -> Result<(), Diagnostic> {
    for (n, (var, domain)) in loops.iter().enumerate() {
        let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, .. }) = domain;
        let mut live = Live::of_ix(lo);
        live.vars.extend(Live::of_ix(hi).vars);
        if let Some((outer, _)) = loops[n..].iter().find(|(v, _)| live.vars.contains(v)) {
            let (outer, inner) = (&fun.vars[outer.index()].name, &fun.vars[var.index()].name);
            let message = format!("`{outer}` must stay outside `{inner}`, whose range depends on it");
            let d = Diagnostic::error(codes::STEP_ARGUMENT, call.span, message);
            return Err(refusal::with_callers(d.help(format!("name `{outer}` before `{inner}`")), call));
        }
    }
    Ok(())
}

/// A loop that is there, but not in the nest.
fn outside(fun: &Fun, nest: &Nest, w: &Named, call: &StepCall) -> Diagnostic {
    let name = |v: &Var| fun.vars[v.index()].name.clone();
    let members: Vec<String> = nest.loops.iter().map(|(v, _)| name(v)).collect();
    let all = members.join(", ");
    let mut d = Diagnostic::error(
        codes::STEP_ARGUMENT,
        w.span,
        format!("`{}` is not in one nest with {all}: only loops directly inside one another can change places", w.name),
    );
    let is_sum = matches!(nest.body.as_slice(), [Stmt { kind: StmtKind::Store { word: Word::Fold(f), .. }, .. }]
        if fun.vars[f.var.index()].name == w.name);
    if is_sum {
        d = d
            .note(format!("the sum over `{}` does not continue from what its cell holds", w.name))
            .help("run `zero` first: it writes the start to the cells and lets the sum continue from there");
    } else if nest.body.len() > 1 {
        d = d.note(format!("the innermost of them contains {} statements", nest.body.len()));
    }
    refusal::with_callers(d, call)
}
