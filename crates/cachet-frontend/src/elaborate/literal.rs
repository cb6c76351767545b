//! Literals: a decimal is rounded once, to the element type that its place wants.

use super::{Done, World};
use cachet_core::ir::{Elem, Lit, Ty};
use cachet_source::{Diagnostic, Span, codes};

impl World<'_> {
    /// A decimal literal.
    pub(crate) fn float(&mut self, text: &str, want: Option<&Ty>, span: Span) -> Done<(Lit, Ty)> {
        let (elem, bits) = match want {
            Some(Ty::Elem(Elem::F64)) => {
                (Elem::F64, text.parse::<f64>().ok().filter(|x| x.is_finite()).map(f64::to_bits))
            }
            Some(Ty::Elem(Elem::F32)) => {
                (Elem::F32, text.parse::<f32>().ok().filter(|x| x.is_finite()).map(|x| u64::from(x.to_bits())))
            }
            Some(Ty::Elem(e @ (Elem::F16 | Elem::BF16))) => {
                return Err(self.report(Diagnostic::not_built(span, format!("decimal literals of {e}"))));
            }
            Some(Ty::Elem(e)) => {
                let d = Diagnostic::error(codes::LITERAL, span, format!("{text} has a point, and {e} is wanted here"));
                return Err(self.report(d));
            }
            Some(Ty::Abstract(_)) => {
                let d = Diagnostic::error(
                    codes::LITERAL,
                    span,
                    format!("{text} has no meaning in a type that is not known"),
                )
                .help("a generic function has `S.zero ()` and `S.one ()`");
                return Err(self.report(d));
            }
            Some(Ty::Tuple(_)) => {
                return Err(self.report(Diagnostic::error(
                    codes::LITERAL,
                    span,
                    format!("{text} stands where several words are wanted"),
                )));
            }
            None => {
                let d = Diagnostic::error(codes::LITERAL, span, format!("the type of {text} is not known here"))
                    .help(format!("give it one, f32 or f64: `let x: f32 = {text}`, `from {text} as acc: f32`"));
                return Err(self.report(d));
            }
        };
        match bits {
            Some(bits) => Ok((Lit { elem, bits }, Ty::Elem(elem))),
            None => Err(self.report(Diagnostic::error(
                codes::LITERAL,
                span,
                format!("{text} is out of the range of {elem}"),
            ))),
        }
    }

    /// A whole-number literal as a word.
    pub(crate) fn integer(&mut self, n: i128, want: Option<&Ty>, span: Span) -> Done<(Lit, Ty)> {
        let range = |e: Elem| -> Option<(i128, i128)> {
            let bits = e.bytes() * 8;
            match e {
                Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 => {
                    Some((-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1))
                }
                Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => Some((0, (1i128 << bits) - 1)),
                Elem::F64 | Elem::F32 | Elem::F16 | Elem::BF16 | Elem::Bool => None,
            }
        };
        match want {
            Some(Ty::Elem(e)) if e.is_float() => {
                let d =
                    Diagnostic::error(codes::LITERAL, span, format!("{n} is a whole number, and {e} is wanted here"))
                        .help(format!("write {n}.0"));
                Err(self.report(d))
            }
            Some(Ty::Elem(e)) => match range(*e) {
                Some((lo, hi)) if (lo..=hi).contains(&n) => {
                    let mask = if e.bytes() == 8 { u64::MAX } else { (1u64 << (e.bytes() * 8)) - 1 };
                    Ok((Lit { elem: *e, bits: (n as u64) & mask }, Ty::Elem(*e)))
                }
                Some(_) => {
                    Err(self.report(Diagnostic::error(codes::LITERAL, span, format!("{n} is out of the range of {e}"))))
                }
                None => Err(self.report(Diagnostic::error(
                    codes::LITERAL,
                    span,
                    format!("{n} is a number, and {e} is wanted here"),
                ))),
            },
            Some(Ty::Abstract(_) | Ty::Tuple(_)) => Err(self.report(Diagnostic::error(
                codes::LITERAL,
                span,
                format!("{n} has no meaning in the type that is wanted here"),
            ))),
            None => {
                let d = Diagnostic::error(codes::LITERAL, span, format!("the type of {n} is not known here"));
                Err(self.report(d.help("give it one, as in `7 as f32`")))
            }
        }
    }
}
