//! `reduce x by (op: order)`: the terms of a sum joined by themselves first, then with what the sum started from.
//!
//! In a nest that `split` has made of one sum, each block gets a total of its own. The operation is that of an
//! implementation; whether its laws allow this is the checker's to say, so a sum that is none of it is proposed all the
//! same, and refused with the reason.

use super::{Spot, locate, names};
use crate::{loops, refusal};
use cachet_core::chain::{Operation, operations, sums};
use cachet_core::ir::{At, Fold, Fun, LocalInfo, Program, Stmt, StmtKind, Word};
use cachet_core::law::{Law, Property, Sense};
use cachet_core::pattern::{LoopRef, Move, MoveKind, Regrouping, Side};
use cachet_core::rewrite::{map_stmt_words, refresh};
use cachet_core::script::{Rewrite, StepArg, StepCall};
use cachet_source::{Diagnostic, Span, codes, nearest};
use std::collections::BTreeSet;

/// Joins the terms of one sum first.
pub fn apply(
    program: &Program,
    fun: &Fun,
    call: &StepCall,
    of: &[StepArg],
    (op, at): (&str, Span),
) -> Result<Rewrite, Diagnostic> {
    let wanted = names(of, call)?;
    let gone = || refusal::with_callers(Diagnostic::error(codes::STEP_ARGUMENT, call.span, "names no sum"), call);
    let wanted = wanted.first().ok_or_else(gone)?;
    let spot = locate(fun, wanted, call)?;
    let (own, others) = operations(program, fun, op);
    if own.is_empty() && others.is_empty() {
        return Err(unknown(program, fun, call, (op, at)));
    }
    let stmt = spot.stmt(fun).ok_or_else(gone)?.clone();
    let mut after = fun.clone();
    let Some(sum) = Sum::at(&mut after, &stmt, &spot) else {
        let message = format!("the loop over `{}` is no sum: its iterations do more than update one cell", wanted.name);
        let d = Diagnostic::error(codes::STEP_ARGUMENT, wanted.span, message);
        return Err(refusal::with_callers(d.help("put the loop that is summed over innermost, by `order`"), call));
    };
    let op_of_sum = choose(program, &after, &sum.fold, &own, &others).ok_or_else(gone)?;
    let by = regrouping(program, fun, &op_of_sum);
    // A proposal that cannot be made is for the checker to refuse: it knows what is missing.
    let made = sum.joined(program, &mut after, &op_of_sum, by).map_or(stmt.clone(), |word| match &sum.cell {
        Some(to) => Stmt { kind: StmtKind::Store { to: to.clone(), word }, span: stmt.span },
        None => map_stmt_words(&stmt, &mut |w| match w {
            Word::Fold(f) if f.var == spot.var => word.clone(),
            w => w,
        }),
    });
    let made = refresh(&mut after, &[made]);
    let site = spot.site();
    let order = loops::of(site.stmts(fun).unwrap_or(&[]));
    let nth = loops::number(fun, &order, spot.var).unwrap_or(1);
    let name = fun.vars[spot.var.index()].name.clone();
    let to = site.replace(&mut after, made).ok_or_else(gone)?;
    let line = MoveKind::Regroup { of: LoopRef { side: Side::S, name, nth, rank: false }, op: op.to_string(), by };
    let recipe = vec![Move { kind: line, span: At(call.span) }];
    Ok(Rewrite { after, from: site, to, recipe })
}

/// A sum, in a word or in a cell.
struct Sum {
    fold: Fold,
    /// What the whole sum starts from that this one continues.
    start: Word,
    cell: Option<cachet_core::ir::Access>,
}

impl Sum {
    fn at(after: &mut Fun, stmt: &Stmt, spot: &Spot) -> Option<Sum> {
        let StmtKind::For { var, domain, body } = &stmt.kind else {
            let (fold, around) = sums(stmt).into_iter().find(|(f, _)| f.var == spot.var)?;
            let start = around.first().unwrap_or(&fold).init.clone();
            return Some(Sum { fold, start, cell: None });
        };
        let (total, to, word) = match body.as_slice() {
            [
                Stmt { kind: StmtKind::Let { local, word: Word::Load(own) }, .. },
                Stmt { kind: StmtKind::Store { to, word }, .. },
            ] if own == to => (Some(*local), to, word),
            [Stmt { kind: StmtKind::Store { to, word }, .. }] => (None, to, word),
            _ => return None,
        };
        let ty = after.buffers[to.buffer.index()].elem.clone();
        let name = after.fresh_name("total");
        let acc = total
            .unwrap_or_else(|| after.add_local(LocalInfo { name, ty, dims: vec![], vector: false, mutable: false }));
        let update = Stmt { kind: StmtKind::Print(word.clone()), span: stmt.span };
        let step = map_stmt_words(&update, &mut |w| match w {
            Word::Load(a) if a == *to => Word::Local(acc, vec![]),
            w => w,
        });
        let StmtKind::Print(step) = step.kind else { return None };
        let start = Word::Load(to.clone());
        let (init, span) = (start.clone(), stmt.span);
        let fold = Fold { var: *var, domain: domain.clone(), acc, init, body: step, regroup: false, span };
        Some(Sum { fold, start, cell: Some(to.clone()) })
    }

    /// `op start (the sum of the terms alone)`
    fn joined(&self, program: &Program, after: &mut Fun, op: &Operation, by: Regrouping) -> Option<Word> {
        let init = match by {
            Regrouping::Associative => {
                let element = op.element(program, after)?;
                op.apply(program, element, vec![], &mut after.locals)?
            }
            Regrouping::Idempotent => {
                let start = Stmt { kind: StmtKind::Print(self.start.clone()), span: At::default() };
                match refresh(after, &[start]).pop()?.kind {
                    StmtKind::Print(w) => w,
                    _ => return None,
                }
            }
        };
        let own = Word::Fold(Box::new(Fold { init, ..self.fold.clone() }));
        op.apply(program, op.method, vec![self.fold.init.clone(), own], &mut after.locals)
    }
}

/// The operation that the sum is made of, or the likeliest one: the function's own come first, then those that state
/// what it takes.
fn choose(program: &Program, fun: &Fun, fold: &Fold, own: &[Operation], others: &[Operation]) -> Option<Operation> {
    let rank = |op: &Operation| match op.chain(program, fun, &fold.body, fold.acc) {
        Err(why) => (Some(why), 0),
        Ok(_) => {
            let stated = op.stated(program, fun);
            let exact = |l: &&Law| l.sense == Sense::Exactly;
            let of_op = |l: &&Law| match l.property {
                Property::Associative(m) | Property::Identity { op: m, .. } | Property::Idempotent(m) => m == op.method,
                Property::Commutative(_)
                | Property::Distributive { .. }
                | Property::MulAdd { .. }
                | Property::Annihilates { .. } => false,
            };
            (None, stated.iter().filter(exact).filter(of_op).count())
        }
    };
    let fits = |op: &&Operation| rank(op).0.is_none();
    // Of several the first: `max_by_key` would take the last.
    let best = |ops: &[Operation]| ops.iter().rev().filter(fits).max_by_key(|op| rank(op).1).copied();
    let nearest = || own.iter().chain(others).rev().max_by_key(|op| rank(op).0).copied();
    best(own).or_else(|| best(others)).or_else(nearest)
}

/// By which law: the identity's where it holds of words, else that the operation takes up a word twice as once.
fn regrouping(program: &Program, fun: &Fun, op: &Operation) -> Regrouping {
    let stated = op.stated(program, fun);
    let exactly = |property| stated.contains(&Law { property, sense: Sense::Exactly });
    let identity =
        op.element(program, fun).is_some_and(|element| exactly(Property::Identity { op: op.method, element }));
    let twice = exactly(Property::Idempotent(op.method)) && exactly(Property::Commutative(op.method));
    if !identity && twice { Regrouping::Idempotent } else { Regrouping::Associative }
}

/// No operation of that name.
fn unknown(program: &Program, fun: &Fun, call: &StepCall, (op, at): (&str, Span)) -> Diagnostic {
    let message = format!("there is no operation `{op}` of two operands that a sum could be made of");
    let d = Diagnostic::error(codes::UNKNOWN_NAME, at, message);
    let own = fun.type_params.iter().map(|p| p.interface);
    let interfaces: BTreeSet<u32> = own.chain(program.impls.iter().map(|i| i.interface)).collect();
    let known: BTreeSet<&str> = interfaces
        .iter()
        .filter_map(|i| program.interfaces.get(*i as usize))
        .flat_map(|i| i.methods.iter().filter(|m| m.1 == 2).map(|m| m.0.as_str()))
        .collect();
    let d = match nearest(op, known.iter().copied()) {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => d.help("implementations come with `import \"cachet:monoid\"`"),
        None => d.note(format!("there are {}", known.into_iter().collect::<Vec<_>>().join(", "))),
    };
    refusal::with_callers(d, call)
}
