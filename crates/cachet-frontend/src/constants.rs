//! Constants: sizes and words, in any order, each evaluated once.

use crate::elaborate::{Body, Done, Reported, World};
use crate::scope::ItemRef;
use crate::tree::Tree;
use cachet_core::interpret::scalar;
use cachet_core::ir::{Elem, Ix, Lit, Op, Prim, Ty};
use cachet_source::{Diagnostic, codes};
use cachet_syntax::ast::{self, Expr, ExprKind, Ident, Index, Item};

/// The value of a constant and, before it, of those it uses.
pub(crate) fn item(world: &mut World<'_>, r: ItemRef) -> Done<()> {
    // Each entry waits for those above it. A chain of constants may be as long as the file.
    let mut waiting = vec![r];
    while let Some(&r) = waiting.last() {
        let Some(c) = constant(world, r) else { return Ok(()) };
        if known(world, r) {
            waiting.pop();
            continue;
        }
        let missing = uses(world, r, &c.value).into_iter().find(|u| !known(world, *u));
        match missing {
            Some(u) if world.refused.contains(&u) => {
                world.refused.extend(waiting);
                return Err(Reported);
            }
            Some(u) if waiting.contains(&u) => {
                let message = format!("`{}` is defined by itself", c.name.name);
                world.report(Diagnostic::error(codes::RECURSION, c.name.span, message));
                world.refused.extend(waiting);
                return Err(Reported);
            }
            Some(u) => waiting.push(u),
            None => {
                if evaluate(world, r, c).is_err() {
                    world.refused.extend(waiting);
                    return Err(Reported);
                }
            }
        }
    }
    Ok(())
}

fn constant<'a>(world: &World<'a>, r: ItemRef) -> Option<&'a ast::Const> {
    let loaded = world.loaded;
    match &loaded.units[r.unit].ast.items[r.item] {
        Item::Const(c) => Some(c),
        _ => None,
    }
}

fn known(world: &World<'_>, r: ItemRef) -> bool {
    world.consts.contains_key(&r) || world.words.contains_key(&r)
}

/// The constants that a value names.
fn uses(world: &World<'_>, r: ItemRef, value: &Expr) -> Vec<ItemRef> {
    let (mut out, mut open) = (Vec::new(), vec![value]);
    while let Some(e) = open.pop() {
        match &e.kind {
            ExprKind::Name(n) => {
                out.extend(world.scope.find(r.unit, &n.name).filter(|u| constant(world, *u).is_some()));
            }
            ExprKind::Field { base, .. } => open.push(base),
            ExprKind::Unary { operand, .. } => open.push(operand),
            ExprKind::Cast { value, .. } => open.push(value),
            ExprKind::Binary { lhs, rhs, .. } => open.extend([&**lhs, &**rhs]),
            ExprKind::If { cond, then, els } => open.extend([&**cond, &**then, &**els]),
            ExprKind::Apply { head: _, targs: _, args } => open.extend(args),
            ExprKind::Index { base, indices } => {
                open.push(base);
                open.extend(indices.iter().filter_map(|i| match i {
                    Index::At(e) => Some(e),
                    Index::Window { .. } | Index::Subst { .. } | Index::RankSubst { .. } => None,
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
        return match world.ix(&body, &c.value)? {
            Ix::Lit(n) if n >= 0 => {
                world.consts.insert(r, n);
                Ok(())
            }
            _ => Err(world.report(Diagnostic::error(
                codes::SIZE,
                c.value.span,
                "a constant of type Nat is a number, at least 0",
            ))),
        };
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
            let d =
                Diagnostic::not_built(c.value.span, "a constant that is computed by more than `+ - * /` on literals");
            Err(world.report(d))
        }
    }
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
        Tree::Op(Op::Prim(prim), args) => (prim, args.iter().map(folded).collect::<Result<Vec<_>, _>>()?),
        _ => return Err(Unfolded::More),
    };
    let elem = args.first().ok_or(Unfolded::More)?.elem;
    if elem.is_integer() { integer(*prim, elem, &args) } else { float(*prim, elem, &args).ok_or(Unfolded::More) }
}

fn integer(prim: Prim, elem: Elem, args: &[Lit]) -> Result<Lit, Unfolded> {
    let all: Vec<i128> = args.iter().map(|l| scalar::to_int(elem, l.bits)).collect();
    let value = match (prim, all.as_slice()) {
        (Prim::Add, [a, b]) => a + b,
        (Prim::Sub, [a, b]) => a - b,
        (Prim::Mul, [a, b]) => a.checked_mul(*b).ok_or(Unfolded::Beyond(elem))?,
        (Prim::Neg, [a]) => -a,
        (Prim::Div, [a, b]) if *b > 0 => a.div_euclid(*b),
        (Prim::Rem, [a, b]) if *b > 0 => a.rem_euclid(*b),
        _ => return Err(Unfolded::More),
    };
    match scalar::from_int(elem, value) {
        Ok(bits) if value <= i128::from(i64::MAX) => Ok(Lit { elem, bits }),
        Ok(_) | Err(_) => Err(Unfolded::Beyond(elem)),
    }
}

fn float(prim: Prim, elem: Elem, args: &[Lit]) -> Option<Lit> {
    let all: Vec<f64> = match elem {
        Elem::F64 => args.iter().map(|l| f64::from_bits(l.bits)).collect(),
        // Through f64: it holds products of two f32 exactly, and twice the digits that sums and quotients of two f32
        // need for the second rounding to be harmless.
        Elem::F32 => args.iter().map(|l| f64::from(f32::from_bits(l.bits as u32))).collect(),
        _ => return None,
    };
    let value = match (prim, all.as_slice()) {
        (Prim::Add, [a, b]) => a + b,
        (Prim::Sub, [a, b]) => a - b,
        (Prim::Mul, [a, b]) => a * b,
        (Prim::Div, [a, b]) => a / b,
        _ => return None,
    };
    // A NaN has no literal of its own.
    match elem {
        _ if value.is_nan() => None,
        Elem::F32 => Some(Lit { elem, bits: u64::from((value as f32).to_bits()) }),
        _ => Some(Lit { elem, bits: value.to_bits() }),
    }
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
        let d = match self.consts.contains_key(&r) {
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
