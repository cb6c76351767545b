//! Constants: sizes and words, in any order, each evaluated once.

use crate::elaborate::{Body, Done, Reported, World};
use crate::numbers::Numbers;
use crate::scope::ItemRef;
use crate::synth;
use crate::tree::Tree;
use cachet_core::interpret::scalar;
use cachet_core::ir::{Elem, Ix, Lit, Op, Prim, Ty};
use cachet_core::number::Fault;
use cachet_source::{Diagnostic, codes};
use cachet_syntax::ast::{self, Expr, ExprKind, Ident, Index, Item, StmtKind};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The value of a constant and, before it, of those it uses.
pub(crate) fn item(world: &mut World<'_>, r: ItemRef) -> Done<()> {
    // Each entry waits for those above it. A chain of constants may be as long as the file.
    let mut waiting = vec![r];
    while let Some(&r) = waiting.last() {
        let Some(defined) = defined(world, r) else { return Ok(()) };
        if known(world, r) {
            waiting.pop();
            continue;
        }
        let missing = uses(world, r, &defined.values()).into_iter().find(|u| !known(world, *u));
        match missing {
            Some(u) if world.refused.contains(&u) => {
                world.refused.extend(waiting);
                return Err(Reported);
            }
            Some(u) if waiting.contains(&u) => {
                let name = defined.name();
                let message = format!("`{}` is defined by itself", name.name);
                world.report(Diagnostic::error(codes::RECURSION, name.span, message));
                world.refused.extend(waiting);
                return Err(Reported);
            }
            Some(u) => waiting.push(u),
            None => {
                let done = match defined {
                    Defined::Const(c) => evaluate(world, r, c),
                    Defined::Synth(s) => synth::evaluate(world, r, s),
                };
                if done.is_err() {
                    world.refused.extend(waiting);
                    return Err(Reported);
                }
            }
        }
    }
    Ok(())
}

/// An item that defines constants.
#[derive(Clone, Copy)]
enum Defined<'a> {
    Const(&'a ast::Const),
    Synth(&'a ast::Synth),
}

impl<'a> Defined<'a> {
    fn name(self) -> &'a Ident {
        match self {
            Defined::Const(c) => &c.name,
            Defined::Synth(s) => &s.vars[0].name,
        }
    }

    /// What its values are made of.
    fn values(self) -> Vec<&'a Expr> {
        match self {
            Defined::Const(c) => vec![&c.value],
            Defined::Synth(s) => [&s.cost, &s.result].into_iter().chain(&s.conditions).collect(),
        }
    }
}

fn defined<'a>(world: &World<'a>, r: ItemRef) -> Option<Defined<'a>> {
    let loaded = world.loaded;
    match &loaded.units[r.unit].ast.items[r.item] {
        Item::Const(c) => Some(Defined::Const(c)),
        Item::Synth(s) => Some(Defined::Synth(s)),
        _ => None,
    }
}

fn known(world: &World<'_>, r: ItemRef) -> bool {
    let chosen = || defined(world, r).is_some_and(|d| world.chosen.contains_key(&(r, d.name().name.clone())));
    world.consts.contains_key(&r) || world.words.contains_key(&r) || chosen()
}

/// The constants that values name, also through the functions of indices that they apply.
fn uses(world: &World<'_>, r: ItemRef, values: &[&Expr]) -> Vec<ItemRef> {
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    let mut values: Vec<(usize, Cow<'_, Expr>)> = values.iter().map(|v| (r.unit, Cow::Borrowed(*v))).collect();
    while let Some((unit, value)) = values.pop() {
        for name in names(&value) {
            let Some(found) = world.scope.find(unit, &name) else { continue };
            if defined(world, found).is_some() {
                out.push(found);
            } else if let Some(f) = world.index_function_named(unit, &name)
                && seen.insert(f)
                && let Item::Fn(item) = &world.loaded.units[f.unit].ast.items[f.item]
                && let Some(body) = item.body.to_expr()
            {
                values.push((f.unit, Cow::Owned(body)));
            }
        }
    }
    out
}

/// The names in a value.
fn names(value: &Expr) -> Vec<String> {
    let (mut out, mut open) = (Vec::new(), vec![value]);
    while let Some(e) = open.pop() {
        match &e.kind {
            ExprKind::Name(n) => out.push(n.name.clone()),
            ExprKind::Field { base, .. } => open.push(base),
            ExprKind::Tuple(parts) => open.extend(parts),
            ExprKind::Unary { operand, .. } => open.push(operand),
            ExprKind::Cast { value, .. } => open.push(value),
            ExprKind::Binary { lhs, rhs, .. } => open.extend([&**lhs, &**rhs]),
            ExprKind::If { cond, then, els } => open.extend([&**cond, &**then, &**els]),
            ExprKind::Apply { head, targs: _, args } => {
                open.push(head);
                open.extend(args);
            }
            ExprKind::Index { base, indices } => {
                open.push(base);
                open.extend(indices.iter().filter_map(|i| match i {
                    Index::At(e) => Some(e),
                    Index::Window { .. } | Index::Subst { .. } | Index::RankSubst { .. } => None,
                }));
            }
            ExprKind::Block { stmts, value } => {
                open.push(value);
                open.extend(stmts.iter().filter_map(|s| match &s.kind {
                    StmtKind::Let { value, .. } => Some(value),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    out
}

fn evaluate(world: &mut World<'_>, r: ItemRef, c: &ast::Const) -> Done<()> {
    let mut body = Body::new(r.unit);
    let nat = match &c.ty {
        Some(t) => t.as_path().is_some_and(|p| p.text() == "Nat"),
        None => world.is_index(&body, &c.value),
    };
    if nat {
        let n = number(world, r, c)?;
        world.consts.insert(r, n);
        return Ok(());
    }
    let tree = match &c.ty {
        Some(t) => {
            let ty = world.word_type(&body, t)?;
            world.word_of(&mut body, &c.value, &ty)?
        }
        None => world.word(&mut body, &c.value, None)?.0,
    };
    match folded(&tree) {
        Ok(lit) => {
            world.words.insert(r, lit);
            Ok(())
        }
        Err(Unfolded::Beyond(elem)) => {
            let message = format!("the value of `{}` does not fit {elem}", c.name.name);
            Err(world.report(Diagnostic::error(codes::OVERFLOW, c.value.span, message)))
        }
        Err(Unfolded::More) => {
            let d = Diagnostic::not_built(
                c.value.span,
                "a constant that is not computed by the operations of element types on literals, or has no value",
            );
            Err(world.report(d))
        }
    }
}

/// The value of a constant that is a whole number.
fn number(world: &mut World<'_>, r: ItemRef, c: &ast::Const) -> Done<i64> {
    let mut numbers = Numbers::of_constants(r.unit);
    let value = world.num(&mut numbers, &c.value)?.value(&[]);
    let d = match value {
        Ok(n) if n < 0 => {
            let message = format!("`{}` is {n}, and a constant of type Nat is at least 0", c.name.name);
            let d = Diagnostic::error(codes::SIZE, c.value.span, message);
            d.help(format!("a negative word has an element type: `const {}: i64 = ..`", c.name.name))
        }
        Ok(n) => match i64::try_from(n) {
            Ok(n) => return Ok(n),
            Err(_) => {
                let message = format!("`{}` is {n}, and a constant is below 2^63", c.name.name);
                Diagnostic::error(codes::LIMIT, c.value.span, message)
            }
        },
        Err(Fault::Overflow) => {
            let message = format!("`{}` has no value: {}", c.name.name, Fault::Overflow);
            Diagnostic::error(codes::OVERFLOW, c.value.span, message)
        }
        Err(fault @ Fault::Divisor(_)) => {
            Diagnostic::error(codes::SIZE, c.value.span, format!("`{}` has no value: {fault}", c.name.name))
        }
    };
    Err(world.report(d))
}

/// Why a constant has no value.
enum Unfolded {
    /// It is computed by more than is computed here.
    More,
    /// It does not fit its type.
    Beyond(Elem),
}

/// The value of a word of literals: each operation rounds once, as everywhere.
fn folded(tree: &Tree) -> Result<Lit, Unfolded> {
    let (prim, args) = match tree {
        Tree::Lit(lit) => return Ok(*lit),
        Tree::Index(Ix::Lit(n), elem) => return fitting(*elem, i128::from(*n)),
        Tree::Op(Op::Prim(prim), args) => (*prim, args.iter().map(folded).collect::<Result<Vec<_>, _>>()?),
        _ => return Err(Unfolded::More),
    };
    // Of a choice, the two sides have the type.
    let elem = args.get(usize::from(prim == Prim::Select)).ok_or(Unfolded::More)?.elem;
    if elem.is_integer()
        && let Some(value) = integer(prim, elem, &args)
    {
        return value;
    }
    let result = match prim {
        Prim::Cast(to) | Prim::WrappingCast(to) | Prim::SaturatingCast(to) | Prim::FromBits(to) => to,
        Prim::Eq | Prim::Lt | Prim::Le => Elem::Bool,
        Prim::ToBits => return Err(Unfolded::More),
        _ => elem,
    };
    let bits: Vec<u64> = args.iter().map(|l| l.bits).collect();
    let value = scalar::primitive(prim, elem, &bits, false).map_err(|_| Unfolded::More)?;
    // A NaN has no literal of its own.
    if scalar::is_nan(result, value) { Err(Unfolded::More) } else { Ok(Lit { elem: result, bits: value }) }
}

/// A whole number as a literal of a type.
fn fitting(elem: Elem, value: i128) -> Result<Lit, Unfolded> {
    match scalar::from_int(elem, value) {
        Ok(bits) if value <= i128::from(i64::MAX) => Ok(Lit { elem, bits }),
        Ok(_) | Err(_) => Err(Unfolded::Beyond(elem)),
    }
}

/// The operations of integers that have to fit their type; `None` for the others.
fn integer(prim: Prim, elem: Elem, args: &[Lit]) -> Option<Result<Lit, Unfolded>> {
    let all: Vec<i128> = args.iter().map(|l| scalar::to_int(elem, l.bits)).collect();
    let value = match (prim, all.as_slice()) {
        (Prim::Add, [a, b]) => a + b,
        (Prim::Sub, [a, b]) => a - b,
        (Prim::Mul, [a, b]) => match a.checked_mul(*b) {
            Some(n) => n,
            None => return Some(Err(Unfolded::Beyond(elem))),
        },
        (Prim::Neg, [a]) => -a,
        (Prim::Div, [a, b]) if *b > 0 => a.div_euclid(*b),
        (Prim::Rem, [a, b]) if *b > 0 => a.rem_euclid(*b),
        (Prim::Div | Prim::Rem, _) => return Some(Err(Unfolded::More)),
        (Prim::Cast(to), [a]) if to.is_integer() => return Some(fitting(to, *a)),
        _ => return None,
    };
    Some(fitting(elem, value))
}

impl World<'_> {
    /// A name that the body does not bind, as a word: a constant's.
    pub(crate) fn constant_word(&mut self, body: &Body, name: &Ident) -> Done<(Tree, Ty)> {
        let Some(r) = self.scope.find(body.unit, &name.name) else {
            return Err(self.unknown_value(body, name, "value"));
        };
        if let Some(lit) = self.words.get(&r) {
            return Ok((Tree::Lit(*lit), Ty::Elem(lit.elem)));
        }
        if self.refused.contains(&r) {
            return Err(Reported);
        }
        let d = match self.constant(r, &name.name).is_some() {
            true => Diagnostic::error(
                codes::TYPE_MISMATCH,
                name.span,
                format!("`{}` is a size, and a value is wanted here", name.name),
            )
            .help(format!("turn it into one: `{} as f32`", name.name)),
            false => Diagnostic::error(
                codes::TYPE_MISMATCH,
                name.span,
                format!("`{}` is {}, and a value is wanted here", name.name, self.item(r)),
            ),
        };
        Err(self.report(d))
    }
}
