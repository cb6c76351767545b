//! Conversions between integers whose names say what becomes of what does not fit.

use super::expr::elem;
use super::{Body, Done, World};
use crate::tree::Tree;
use cachet_core::ir::{Elem, Op, Prim, Ty};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{Expr, Targ, TargItem};

/// A name, and the operation that gives a type.
pub(super) type Conversion = (&'static str, fn(Elem) -> Prim);

const CONVERSIONS: &[Conversion] = &[("wrapping_as", Prim::WrappingCast), ("saturating_as", Prim::SaturatingCast)];

/// A conversion by name.
pub(super) fn named(head: &Expr) -> Option<Conversion> {
    let name = head.as_ident()?;
    CONVERSIONS.iter().find(|c| c.0 == name.name).copied()
}

impl World<'_> {
    /// `wrapping_as @i8 x`: an integer as another integer type, whether it fits or not.
    pub(super) fn conversion(
        &mut self,
        body: &mut Body,
        (name, prim): Conversion,
        targs: &[Targ],
        args: &[Expr],
        span: Span,
    ) -> Done<(Tree, Ty)> {
        let to = match targs {
            [Targ { items, .. }] => match items.as_slice() {
                [TargItem::Path(p)] => p.as_ident().and_then(|n| elem(&n.name)).filter(|e| e.is_integer()),
                _ => None,
            },
            _ => None,
        };
        let Some(to) = to else {
            let message = format!("`{name}` is told the integer type that it gives");
            let d = Diagnostic::error(codes::TYPE_MISMATCH, span, message);
            return Err(self.report(d.help(format!("write `{name} @i8 x`"))));
        };
        self.arity(name, 1, args.len(), span)?;
        if self.is_index(body, &args[0]) {
            let d = Diagnostic::error(codes::TYPE_MISMATCH, args[0].span, "an index becomes a word by `as` only");
            return Err(self.report(d.help(format!("convert it first: `{name} @{to} (.. as i64)`"))));
        }
        match self.word(body, &args[0], None)? {
            (tree, Ty::Elem(from)) if from.is_integer() => Ok((Tree::Op(Op::Prim(prim(to)), vec![tree]), Ty::Elem(to))),
            (_, ty) => {
                let text = self.ty_text(body, &ty);
                let d =
                    Diagnostic::error(codes::TYPE_MISMATCH, span, format!("`{name}` converts integers, not {text}"));
                let float = matches!(&ty, Ty::Elem(e) if e.is_float());
                let help = format!("a float becomes an integer by `as {to}`, which saturates");
                Err(self.report(if float { d.help(help) } else { d }))
            }
        }
    }
}
