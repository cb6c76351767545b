//! What do operations count, and which of them are sums and products?
//!
//! A multiply-add counts two, however it is spelt: the operation of words, and what a semiring has for the step of a sum of
//! products, with the function that this calls by its own operands. A conversion counts none: it computes no other number.

use cachet_core::equations::{Combine, Contraction, Expr, Sum};
use cachet_core::instr::Instr;
use cachet_core::ir::{Impl, Local, Op, Prim, Program, Pure, PureId, TypeParamInfo, Word};
use std::collections::BTreeSet;

/// A semiring's step of a sum of products, by its name.
const STEP: &str = "mul_add";

/// What the operations of a program count.
pub(super) struct Arithmetic<'a> {
    program: &'a Program,
    /// Functions that are a semiring's step of a sum of products.
    steps: BTreeSet<PureId>,
}

impl<'a> Arithmetic<'a> {
    /// Of a program.
    pub fn of(program: &'a Program) -> Arithmetic<'a> {
        let mut steps = BTreeSet::new();
        for step in program.impls.iter().filter_map(|i| method(program, i, STEP)) {
            steps.insert(step);
            steps.extend(program.pures.get(step.index()).and_then(called));
        }
        Arithmetic { program, steps }
    }

    /// Operations of one use of an operation with so many operands.
    pub fn of_op(&self, op: Op, types: &[TypeParamInfo], operands: usize) -> f64 {
        match op {
            Op::Prim(prim) => of_prim(prim),
            Op::Method(param, method) => {
                let interface =
                    types.get(param.index()).and_then(|t| self.program.interfaces.get(t.interface as usize));
                let name = interface.and_then(|i| i.methods.get(method as usize)).map(|m| m.0.as_str());
                if name == Some(STEP) { 2.0 } else { f64::from(u8::from(operands > 0)) }
            }
        }
    }

    /// Operations of one use of a function with so many operands.
    pub fn of_function(&self, f: PureId, operands: usize) -> f64 {
        if self.steps.contains(&f) { 2.0 } else { f64::from(u8::from(operands > 0)) }
    }

    /// Operations of one use of an instruction.
    pub fn of_instruction(&self, instr: &Instr) -> f64 {
        instr.lanes as f64 * self.of_word(&instr.body)
    }

    /// Operations of a word that is an instruction's body.
    fn of_word(&self, word: &Word) -> f64 {
        let all = |words: &[Word]| words.iter().map(|w| self.of_word(w)).sum::<f64>();
        match word {
            Word::Lit(_) | Word::Index(..) | Word::Load(_) | Word::Local(..) | Word::Differing(..) => 0.0,
            Word::Op { op, args, arith: _ } => self.of_op(*op, &[], args.len()) + all(args),
            Word::Apply(f, args) => self.of_function(*f, args.len()) + all(args),
            Word::Tuple(args) => all(args),
            Word::Part(word, _) => self.of_word(word),
            Word::Let(_, a, b) => self.of_word(a) + self.of_word(b),
            Word::If(_, a, b) => self.of_word(a).max(self.of_word(b)),
            // No body has one.
            Word::Fold(_) | Word::Reduce(_) => 0.0,
        }
    }

    /// The factors of a sum of products: its terms are products, joined by additions from zero on. What a multiply-add
    /// rounds, and how, is not looked at; a type parameter's operations are taken for what their names say.
    pub fn factors<'e>(&self, c: &Contraction, sum: &'e Sum) -> Option<[&'e Expr; 2]> {
        let Expr::Op(top, _, factors) = &sum.body else { return None };
        let [x, y] = factors.as_slice() else { return None };
        let product = match (&sum.mul_add, top) {
            (Some((Combine::Op(Op::Prim(Prim::Fma)), Op::Prim(Prim::Mul))), Op::Prim(Prim::Mul)) => true,
            (Some((Combine::Op(Op::Method(..)), mul)), Op::Method(..)) => mul == top && !c.type_params.is_empty(),
            (Some((Combine::Apply(f), _)), Op::Prim(Prim::Mul)) => self.multiplies(*f),
            (None, Op::Prim(Prim::Mul | Prim::WrappingMul)) => true,
            _ => false,
        };
        let adds = match &sum.add {
            Combine::Op(Op::Prim(Prim::Add | Prim::WrappingAdd) | Op::Method(..)) => true,
            Combine::Op(Op::Prim(_)) => false,
            Combine::Apply(f) => self.joins(*f, &[Prim::Add, Prim::WrappingAdd]),
        };
        (product && adds && self.is_zero(&sum.zero)).then_some([x, y])
    }

    /// Whether a step of a sum belongs to a semiring whose products are those of numbers.
    fn multiplies(&self, step: PureId) -> bool {
        let owner = self.program.impls.iter().find(|i| method(self.program, i, STEP) == Some(step));
        let mul = owner.and_then(|i| method(self.program, i, "mul"));
        mul.is_some_and(|f| self.joins(f, &[Prim::Mul, Prim::WrappingMul]))
    }

    /// Whether a function of two words is one of these operations on them.
    fn joins(&self, f: PureId, prims: &[Prim]) -> bool {
        let Some(pure) = self.program.pures.get(f.index()) else { return false };
        let ([a, b], Word::Op { op: Op::Prim(prim), args, arith: _ }) = (pure.params.as_slice(), &pure.body) else {
            return false;
        };
        prims.contains(prim) && (are(args, &[*a, *b]) || are(args, &[*b, *a]))
    }

    fn is_zero(&self, e: &Expr) -> bool {
        match e {
            Expr::Lit(lit) => lit_is_zero(lit),
            Expr::Op(Op::Method(..), _, args) => args.is_empty(),
            Expr::Apply(f, args) if args.is_empty() => {
                let pure = self.program.pures.get(f.index());
                pure.is_some_and(|p| matches!(&p.body, Word::Lit(lit) if lit_is_zero(lit)))
            }
            _ => false,
        }
    }
}

/// Of either sign.
fn lit_is_zero(lit: &cachet_core::ir::Lit) -> bool {
    let sign = if lit.elem.is_float() { 1 << (8 * lit.elem.bytes() - 1) } else { 0 };
    lit.bits & !sign == 0
}

fn of_prim(prim: Prim) -> f64 {
    match prim {
        Prim::Fma => 2.0,
        Prim::Cast(_) | Prim::WrappingCast(_) | Prim::SaturatingCast(_) | Prim::FromBits(_) | Prim::ToBits => 0.0,
        Prim::Add
        | Prim::Sub
        | Prim::Mul
        | Prim::Div
        | Prim::Rem
        | Prim::WrappingAdd
        | Prim::WrappingSub
        | Prim::WrappingMul
        | Prim::Max
        | Prim::Min
        | Prim::Neg
        | Prim::Abs
        | Prim::Sqrt
        | Prim::Eq
        | Prim::Lt
        | Prim::Le
        | Prim::And
        | Prim::Or
        | Prim::Not
        | Prim::Select => 1.0,
    }
}

fn method(program: &Program, of: &Impl, name: &str) -> Option<PureId> {
    let interface = program.interfaces.get(of.interface as usize)?;
    let at = interface.methods.iter().position(|m| m.0 == name)?;
    of.methods.get(at).copied()
}

/// The function that one does nothing but call, with its own operands in their order.
fn called(pure: &Pure) -> Option<PureId> {
    match &pure.body {
        Word::Apply(f, args) if are(args, &pure.params) => Some(*f),
        _ => None,
    }
}

/// Whether words are these locals.
fn are(words: &[Word], locals: &[Local]) -> bool {
    let is = |(word, local): (&Word, &Local)| matches!(word, Word::Local(l, at) if l == local && at.is_empty());
    words.len() == locals.len() && words.iter().zip(locals).all(is)
}
