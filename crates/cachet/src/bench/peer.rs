//! Which contractions a library computes too: recognised by their equation, whatever their names.

use super::inputs::Inputs;
use cachet_core::equations::{Contraction, Expr, Target};
use cachet_core::ir::{Access, Elem, Ix, Op, Prim, Var};
use cachet_runtime::{AlignedBuffer, OpenBlas, view};

/// A routine of BLAS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Routine {
    /// `c[i, j] = sum k. a[i, k] * b[k, j]`, with the positions of `a` and `b` among the parameters.
    Gemm(usize, usize),
    /// `y[i] = sum k. a[i, k] * x[k]`.
    Gemv(usize, usize),
}

/// The routine that computes a contraction whose sums are those of floats.
pub(super) fn counterpart(c: &Contraction) -> Option<Routine> {
    let [equation] = c.equations.as_slice() else { return None };
    let (Target::Output(_), Expr::Sum(sum)) = (&equation.target, &equation.value) else { return None };
    let ([binder], true) = (sum.binders.as_slice(), sum.binders.iter().all(|b| b.guard.is_none())) else { return None };
    let Expr::Op(Op::Prim(Prim::Mul) | Op::Method(..), _, factors) = &sum.body else { return None };
    let [Expr::Read(a), Expr::Read(b)] = factors.as_slice() else { return None };
    let position = |access: &Access| c.params.iter().position(|p| *p == access.buffer);
    let k = binder.var;
    match (equation.indices.as_slice(), plain(a)?.as_slice(), plain(b)?.as_slice()) {
        ([i, j], [p, q], [r, s]) if (p, q, r, s) == (i, &k, &k, j) => Some(Routine::Gemm(position(a)?, position(b)?)),
        ([i], [p, q], [r]) if (p, q, r) == (i, &k, &k) => Some(Routine::Gemv(position(a)?, position(b)?)),
        _ => None,
    }
}

/// The variables of an access whose subscripts are plain variables.
fn plain(access: &Access) -> Option<Vec<Var>> {
    access.at.iter().map(|i| if let Ix::Var(v) = i { Some(*v) } else { None }).collect()
}

/// Calls the library on the same inputs.
pub(super) fn call(routine: Routine, blas: &OpenBlas, inputs: &Inputs, out: &mut [AlignedBuffer]) {
    let Some(out) = out.first_mut() else { return };
    let size = |param: usize, axis: usize| inputs.extents(param).get(axis).map_or(0, |n| *n as usize);
    let (a, b) = match routine {
        Routine::Gemm(a, b) | Routine::Gemv(a, b) => (a, b),
    };
    let (Some((x, elem)), Some((y, _))) = (inputs.input(a), inputs.input(b)) else { return };
    let (m, k) = (size(a, 0), size(a, 1));
    match (routine, elem) {
        (Routine::Gemm(..), Elem::F64) => blas.dgemm(m, size(b, 1), k, 1.0, view(x), view(y), 0.0, out.elements_mut()),
        (Routine::Gemm(..), _) => blas.sgemm(m, size(b, 1), k, 1.0, view(x), view(y), 0.0, out.elements_mut()),
        (Routine::Gemv(..), Elem::F64) => blas.dgemv(m, k, 1.0, view(x), view(y), 0.0, out.elements_mut()),
        (Routine::Gemv(..), _) => blas.sgemv(m, k, 1.0, view(x), view(y), 0.0, out.elements_mut()),
    }
}
