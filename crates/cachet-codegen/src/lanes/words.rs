//! How is a word computed for the lanes of a piece?
//!
//! Each operation is the scalar one, lane by lane, with the same canonical NaN.

use super::{Piece, Vector, all_lanes, of, splat_constant};
use crate::function::{Lower, Outcome};
use crate::types::{canonical_nan, is_signed, register};
use crate::word::suffix;
use cachet_core::ir::{Elem, Guard, Ix, Local, Op, Prim, PureId, Rel, Ty, Word};
use cachet_core::vectors;
use std::collections::BTreeMap;

impl Lower<'_, '_> {
    /// A word of a piece's lanes. Inside a pure function `names` are its locals.
    pub(super) fn vector(
        &mut self,
        piece: &Piece<'_>,
        word: &Word,
        names: Option<&BTreeMap<Local, Vector>>,
    ) -> Outcome<Vector> {
        if names.is_none() && !vectors::varies_word(word, piece.lane) {
            let value = self.word(word)?;
            let Ty::Elem(elem) = value.ty else { return Err(self.ill_formed("lanes of a tuple")) };
            let name = self.splat(register(elem), value.only(), piece.width);
            return Ok(Vector { elem, name });
        }
        match word {
            Word::Lit(l) => Ok(Vector { elem: l.elem, name: splat_constant(l.elem, l.bits, piece.width) }),
            Word::Load(a) => self.gather(piece, a, None),
            Word::Local(l, at) => match names {
                Some(names) => match names.get(l) {
                    Some(v) => Ok(v.clone()),
                    None => Err(self.ill_formed("a local is used where it is not known")),
                },
                None => {
                    let Some(Ty::Elem(elem)) = self.fun.locals.get(l.index()).map(|i| i.ty.clone()) else {
                        return Err(self.ill_formed("lanes of a tuple"));
                    };
                    let at = self.lane_cell(*l, at)?;
                    let ty = of(elem, piece.width);
                    let name = self.em.def(format_args!("load {ty}, ptr {at}, align {}", elem.bytes()));
                    Ok(Vector { elem, name })
                }
            },
            Word::Op { op: Op::Prim(p), args, .. } => {
                let args = args.iter().map(|a| self.vector(piece, a, names)).collect::<Outcome<Vec<_>>>()?;
                self.vector_prim(piece.width, *p, &args)
            }
            Word::Apply(f, args) => {
                let args = args.iter().map(|a| self.vector(piece, a, names)).collect::<Outcome<Vec<_>>>()?;
                self.vector_apply(piece, *f, args)
            }
            Word::If(g, a, b) => self.vector_choice(piece, g, a, b),
            Word::Index(..)
            | Word::Op { .. }
            | Word::Tuple(_)
            | Word::Part(..)
            | Word::Let(..)
            | Word::Fold(_)
            | Word::Reduce(_)
            | Word::Differing(..) => Err(self.ill_formed("a word without a vector form")),
        }
    }

    fn vector_apply(&mut self, piece: &Piece<'_>, f: PureId, args: Vec<Vector>) -> Outcome<Vector> {
        let program = self.program;
        let Some(pure) = program.pures.get(f.index()) else { return Err(self.ill_formed("an application of nothing")) };
        let names: BTreeMap<Local, Vector> = pure.params.iter().copied().zip(args).collect();
        self.vector(piece, &pure.body, Some(&names))
    }

    /// A choice that each lane makes: what a lane does not choose, it does not read.
    fn vector_choice(&mut self, piece: &Piece<'_>, guard: &Guard, a: &Word, b: &Word) -> Outcome<Vector> {
        if let Some(holds) = self.holds(piece, guard) {
            return self.vector(piece, if holds { a } else { b }, None);
        }
        let (yes, no) = self.chosen(piece, guard)?;
        let width = piece.width;
        let narrowed = |this: &mut Self, with: &str| match piece.mask {
            Some(mask) => this.em.def(format_args!("and <{width} x i1> {mask}, {with}")),
            None => with.to_string(),
        };
        let (then, els) = (narrowed(self, &yes), narrowed(self, &no));
        // What is not loaded is the other side, in the load itself.
        if let (Word::Load(access), false) = (a, vectors::varies_word(b, piece.lane)) {
            let b = self.vector(&Piece { mask: Some(&els), ..*piece }, b, None)?;
            return self.gather(&Piece { mask: Some(&then), ..*piece }, access, Some(&b));
        }
        let a = self.vector(&Piece { mask: Some(&then), ..*piece }, a, None)?;
        let b = self.vector(&Piece { mask: Some(&els), ..*piece }, b, None)?;
        let ty = of(a.elem, width);
        let name = self.em.def(format_args!("select <{width} x i1> {yes}, {ty} {}, {ty} {}", a.name, b.name));
        Ok(Vector { elem: a.elem, name })
    }

    /// Whether a guard holds for all lanes of a piece, or for none, where that is known.
    fn holds(&self, piece: &Piece<'_>, guard: &Guard) -> Option<bool> {
        if let Some((_, holds)) = self.decided.iter().rev().find(|(g, _)| g == guard) {
            return Some(*holds);
        }
        let Guard::Cmp(Rel::Lt, Ix::Var(v), active) = guard else { return None };
        let full = self.trim.as_ref().filter(|t| t.active == *active).map(|t| t.full);
        let active = self.known.value(active).or(full)?;
        (*v == piece.lane && piece.offset + piece.width <= active).then_some(true)
    }

    /// Which lanes a guard holds for, and which not.
    fn chosen(&mut self, piece: &Piece<'_>, guard: &Guard) -> Outcome<(String, String)> {
        let width = piece.width;
        let yes = match guard {
            Guard::Cmp(Rel::Lt, Ix::Var(v), active) if *v == piece.lane => {
                let active = self.ix(active)?;
                self.first_lanes(&active, piece.offset, width)
            }
            guard => {
                let holds = self.guard(guard)?;
                self.splat("i1", &holds, width)
            }
        };
        let no = self.em.def(format_args!("xor <{width} x i1> {yes}, {}", all_lanes(width, true)));
        Ok((yes, no))
    }

    fn vector_prim(&mut self, width: i64, prim: Prim, args: &[Vector]) -> Outcome<Vector> {
        let Some(first) = args.first() else { return Err(self.ill_formed("an operation on nothing")) };
        let elem = first.elem;
        let arg = |n: usize| args.get(n).map_or("poison", |v| v.name.as_str());
        let (a, b, c) = (arg(0), arg(1), arg(2));
        let ty = of(elem, width);
        let kind = format!("v{width}{}", suffix(elem));
        let (float, signed) = (elem.is_float(), is_signed(elem));
        let binary = |op: &str| format!("{op} {ty} {a}, {b}");
        let text = match prim {
            Prim::Add => binary(if float { "fadd" } else { "add" }),
            Prim::Sub => binary(if float { "fsub" } else { "sub" }),
            Prim::Mul => binary(if float { "fmul" } else { "mul" }),
            Prim::WrappingAdd => binary("add"),
            Prim::WrappingSub => binary("sub"),
            Prim::WrappingMul => binary("mul"),
            Prim::Div => binary("fdiv"),
            Prim::Fma => format!("call {ty} @llvm.fma.{kind}({ty} {a}, {ty} {b}, {ty} {c})"),
            Prim::Sqrt => format!("call {ty} @llvm.sqrt.{kind}({ty} {a})"),
            Prim::Max | Prim::Min if float => {
                let name = if prim == Prim::Max { "maximum" } else { "minimum" };
                let number = self.em.def(format_args!("call {ty} @llvm.{name}.{kind}({ty} {a}, {ty} {b})"));
                return Ok(self.unless_nan(width, elem, (a, b), &number));
            }
            Prim::Max | Prim::Min => {
                let name = match (prim == Prim::Max, signed) {
                    (true, true) => "smax",
                    (false, true) => "smin",
                    (true, false) => "umax",
                    (false, false) => "umin",
                };
                format!("call {ty} @llvm.{name}.{kind}({ty} {a}, {ty} {b})")
            }
            Prim::Neg if float => {
                let changed = self.em.def(format_args!("fneg {ty} {a}"));
                return Ok(self.unless_nan(width, elem, (a, a), &changed));
            }
            Prim::Neg => format!("sub {ty} zeroinitializer, {a}"),
            Prim::Abs if float => {
                let changed = self.em.def(format_args!("call {ty} @llvm.fabs.{kind}({ty} {a})"));
                return Ok(self.unless_nan(width, elem, (a, a), &changed));
            }
            Prim::Abs | Prim::Rem | Prim::Eq | Prim::Lt | Prim::Le | Prim::And | Prim::Or | Prim::Not => {
                return Err(self.ill_formed("an operation without a vector form"));
            }
            Prim::Select | Prim::Cast(_) | Prim::WrappingCast(_) | Prim::SaturatingCast(_) => {
                return Err(self.ill_formed("an operation without a vector form"));
            }
            Prim::FromBits(_) | Prim::ToBits => return Err(self.ill_formed("an operation without a vector form")),
        };
        Ok(Vector { elem, name: self.em.def(text) })
    }

    /// The canonical NaN in lanes where an operand is a NaN.
    fn unless_nan(&mut self, width: i64, elem: Elem, (a, b): (&str, &str), number: &str) -> Vector {
        let ty = of(elem, width);
        let nan = self.em.def(format_args!("fcmp uno {ty} {a}, {b}"));
        let canonical = splat_constant(elem, canonical_nan(elem), width);
        let name = self.em.def(format_args!("select <{width} x i1> {nan}, {ty} {canonical}, {ty} {number}"));
        Vector { elem, name }
    }
}
