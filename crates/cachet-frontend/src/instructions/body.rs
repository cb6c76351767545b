//! The reference body of an instruction, as the word of one lane.

use crate::elaborate::{Body, Done, Meaning, World};
use cachet_core::instr::Instr;
use cachet_core::ir::{Domain, Elem, Ix, Local, Op, Prim, Ty, Var, VarKind, Word};
use cachet_core::rewrite::{Subst, Visit, map_word, visit_word};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{self, Block, DomainKind, Expr, ExprKind, Index, Stmt, StmtKind};

/// The most parts that a body may have once its sums are written out.
const MAX_PARTS: usize = 4096;

/// The lane and its word.
pub(super) fn word(
    world: &mut World<'_>,
    body: &mut Body,
    i: &ast::Instr,
    (elem, lanes): (Elem, i64),
) -> Done<(Var, Word)> {
    let ty = Ty::Elem(elem);
    if let Some(by_lanes) = by_lanes(&i.body) {
        return in_lanes(world, body, &by_lanes, (elem, lanes));
    }
    let Some(value) = i.body.to_expr() else {
        let message = format!("the reference body of `{}` has to end in a vector", i.name.name);
        let d = Diagnostic::error(codes::SYNTAX, i.body.span, message);
        return Err(world.report(d.help("`var`, a loop over all lanes that assigns each, and the vector's name")));
    };
    let lane = body.add_var("l", VarKind::Lane(lanes));
    let word = match block_product(world, body, &value, (elem, lanes), lane)? {
        Some(word) => word,
        None => world.lanes_of(body, (lane, lanes), &value, &ty)?,
    };
    Ok((lane, closed(world, word, value.span)?))
}

/// `var x: Vec T n = ..; for l in 0 .. n do ..; x`
struct ByLanes<'a> {
    declared: (&'a ast::Ident, Option<&'a ast::Type>, Span),
    var: &'a ast::LoopVar,
    domain: &'a ast::Domain,
    inner: &'a Block,
}

fn by_lanes(block: &Block) -> Option<ByLanes<'_>> {
    let [declared, filled, result] = block.stmts.as_slice() else { return None };
    let StmtKind::Var { name, ty, value: _ } = &declared.kind else { return None };
    let StmtKind::For { var, domain, body: inner } = &filled.kind else { return None };
    let StmtKind::Expr(result) = &result.kind else { return None };
    let named = result.as_ident().is_some_and(|r| r.name == name.name);
    named.then_some(ByLanes { declared: (name, ty.as_ref(), declared.span), var, domain, inner })
}

fn in_lanes(world: &mut World<'_>, body: &mut Body, by: &ByLanes<'_>, (elem, lanes): (Elem, i64)) -> Done<(Var, Word)> {
    let (name, ty, span) = by.declared;
    let declared = match ty {
        Some(t) => world.vector_type(body, t)?,
        None => Some((elem, lanes)),
    };
    if declared != Some((elem, lanes)) {
        let message = format!("`{}` is the result, which is `Vec {elem} {lanes}`", name.name);
        return Err(world.report(Diagnostic::error(codes::TYPE_MISMATCH, span, message)));
    }
    world.fresh(body, name)?;
    let all = match &by.domain.kind {
        DomainKind::Range { lo, hi } => world.ix(body, lo)? == Ix::Lit(0) && world.ix(body, hi)? == Ix::Lit(lanes),
        DomainKind::Blocks { .. } | DomainKind::Hole(_) | DomainKind::RankHole(_) => false,
    };
    if !all {
        let message = format!("a reference body says of all lanes what they are: `0 .. {lanes}`");
        return Err(world.report(Diagnostic::error(codes::SIZE, by.domain.span, message)));
    }
    let depth = body.names.len();
    world.fresh(body, &by.var.name)?;
    let lane = body.add_var(&by.var.name.name, VarKind::Lane(lanes));
    body.bind(&by.var.name, Meaning::Var(lane));
    let (value, span) = assigned(world, by, &by.var.name.name)?;
    // Inside, a lane is a cell.
    let vectors: Vec<Local> =
        (0..body.locals.len() as u32).map(Local).filter(|l| body.locals[l.index()].vector).collect();
    vectors.iter().for_each(|l| body.locals[l.index()].vector = false);
    let word = world.word_of(body, &value, &Ty::Elem(elem));
    vectors.iter().for_each(|l| body.locals[l.index()].vector = true);
    body.names.truncate(depth);
    Ok((lane, closed(world, word?.into_word(), span)?))
}

/// The value that the loop over lanes assigns, with the `let`s before it.
fn assigned(world: &mut World<'_>, by: &ByLanes<'_>, lane: &str) -> Done<(Expr, Span)> {
    let name = by.declared.0;
    let refused = |span: Span| {
        let message =
            format!("the loop over the lanes assigns `{}[{lane}]`, after `let`s, and nothing else", name.name);
        Diagnostic::error(codes::SYNTAX, span, message)
    };
    let Some((Stmt { kind: StmtKind::Assign { place, value }, .. }, before)) = by.inner.stmts.split_last() else {
        return Err(world.report(refused(by.inner.span)));
    };
    let own = match place.indices() {
        Some([Index::At(e)]) => e.as_ident().is_some_and(|n| n.name == lane),
        _ => false,
    };
    if !own || place.path.as_ident().is_none_or(|n| n.name != name.name) {
        return Err(world.report(refused(place.span)));
    }
    if before.is_empty() {
        return Ok((value.clone(), value.span));
    }
    let kind = ExprKind::Block { stmts: before.to_vec(), value: Box::new(value.clone()) };
    Ok((Expr::new(kind, by.inner.span), by.inner.span))
}

/// `mma_block a b acc`: the product of two square matrices, row after row in one vector each, added to a third; of each
/// element the chain of fused products, ascending.
fn block_product(
    world: &mut World<'_>,
    body: &Body,
    value: &Expr,
    (elem, lanes): (Elem, i64),
    lane: Var,
) -> Done<Option<Word>> {
    let ExprKind::Apply { head, args, .. } = &value.kind else { return Ok(None) };
    let Some(name) = head.as_ident().filter(|n| n.name == "mma_block") else { return Ok(None) };
    if body.find(&name.name).is_some() || world.scope.find(body.unit, &name.name).is_some() {
        return Ok(None);
    }
    let side = (1..=64).find(|n| n * n == lanes);
    let operand = |e: &Expr| match body.find(&e.as_ident()?.name)? {
        Meaning::Local(l) => {
            let info = &body.locals[l.index()];
            (info.vector && info.dims == [lanes] && info.ty == Ty::Elem(elem)).then_some(*l)
        }
        _ => None,
    };
    let operands: Option<Vec<Local>> = args.iter().map(operand).collect();
    let (Some(n), Some([a, b, acc])) = (side, operands.as_deref()) else {
        let message = format!("`mma_block` takes three vectors of {lanes} lanes of {elem}, each a square matrix");
        return Err(world.report(Diagnostic::error(codes::TYPE_MISMATCH, value.span, message)));
    };
    if !matches!(elem, Elem::F32 | Elem::F64) {
        let message = format!("`mma_block` does not compute on {elem}");
        return Err(world.report(Diagnostic::error(codes::TYPE_MISMATCH, value.span, message)));
    }
    let l = || Box::new(Ix::Var(lane));
    let sum = |x: Ix, y: Ix| Ix::Add(Box::new(x), Box::new(y));
    let (row, column) = (Ix::Mul(n, Box::new(Ix::Div(l(), n))), Ix::Mod(l(), n));
    let mut total = Word::Local(*acc, vec![Ix::Var(lane)]);
    for k in 0..n {
        let x = Word::Local(*a, vec![sum(row.clone(), Ix::Lit(k))]);
        let y = Word::Local(*b, vec![sum(Ix::Lit(k * n), column.clone())]);
        total = Word::Op { op: Op::Prim(Prim::Fma), arith: cachet_core::ir::Device::HOST, args: vec![x, y, total] };
    }
    Ok(Some(total))
}

/// A word without `let`s and sums: they are written out.
fn closed(world: &mut World<'_>, word: Word, span: Span) -> Done<Word> {
    let mut wrong = None;
    let out = map_word(&word, &mut |w| {
        let made = match &w {
            Word::Let(l, a, b) => Subst::local(*l, (**a).clone()).word(b),
            Word::Fold(f) => match &f.domain {
                Domain::Range { lo: Ix::Lit(lo), hi: Ix::Lit(hi) } if hi - lo <= MAX_PARTS as i64 => {
                    let mut total = f.init.clone();
                    for n in *lo..*hi {
                        let step = Subst::var(f.var, Ix::Lit(n)).word(&f.body);
                        total = Subst::local(f.acc, total).word(&step);
                        if parts(&total) > MAX_PARTS {
                            break;
                        }
                    }
                    total
                }
                _ => {
                    wrong.get_or_insert("a sum of an instruction has a literal length".to_string());
                    return Word::Lit(cachet_core::ir::Lit { elem: Elem::F32, bits: 0 });
                }
            },
            _ => return w,
        };
        if parts(&made) > MAX_PARTS {
            wrong.get_or_insert(format!("the reference body has more than {MAX_PARTS} parts, written out"));
            return Word::Lit(cachet_core::ir::Lit { elem: Elem::F32, bits: 0 });
        }
        made
    });
    match wrong {
        None => Ok(out),
        Some(message) => {
            let d = Diagnostic::error(codes::LIMIT, span, message);
            Err(world.report(d.help("what is used more than once may be a pure function")))
        }
    }
}

fn parts(word: &Word) -> usize {
    struct Parts(usize);
    impl Visit for Parts {
        fn word(&mut self, word: &Word) {
            self.0 += 1;
            if self.0 <= MAX_PARTS {
                visit_word(self, word);
            }
        }
    }
    let mut parts = Parts(0);
    parts.word(word);
    parts.0
}

/// Refuses a body that reads lanes which its operands do not have.
pub(super) fn inside(world: &mut World<'_>, i: &ast::Instr, instr: &Instr) -> Done<()> {
    match instr.outside() {
        None => Ok(()),
        Some(message) => Err(world.report(Diagnostic::error(codes::BOUNDS, i.body.span, message))),
    }
}
