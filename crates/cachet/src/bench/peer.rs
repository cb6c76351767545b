//! Which contractions do libraries compute too? Recognised by their equation, whatever their names.

use super::inputs::Inputs;
use cachet_core::equations::{Combine, Contraction, Expr, Target};
use cachet_core::ir::{Access, Domain, Elem, Ix, Op, Prim, Var};
use cachet_core::sized::value;
use cachet_runtime::{AlignedBuffer, Peer, Product, view};

/// A product of matrices, or of a matrix and a vector: where its factors are among the parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Counterpart {
    a: usize,
    b: usize,
    pub product: Product,
}

/// The product that a contraction whose sums are those of floats is.
pub(super) fn counterpart(c: &Contraction, sizes: &[i64], inputs: &Inputs) -> Option<Counterpart> {
    let [equation] = c.equations.as_slice() else { return None };
    let (Target::Output(_), Expr::Sum(sum)) = (&equation.target, &equation.value) else { return None };
    let [binder] = sum.binders.as_slice() else { return None };
    let Expr::Op(Op::Prim(Prim::Mul) | Op::Method(..), _, factors) = &sum.body else { return None };
    if binder.guard.is_some() || !matches!(sum.mul_add, Some((Combine::Op(_), _))) {
        return None;
    }
    let [Expr::Read(x), Expr::Read(y)] = factors.as_slice() else { return None };
    let (k, x, y) = (binder.var, Factor::of(c, x)?, Factor::of(c, y)?);
    let of_size = |v: Var| c.sizes.iter().position(|s| *s == v).and_then(|at| sizes.get(at)).copied();
    let whole = |extent: i64| match &binder.domain {
        Domain::Range { lo, hi } => value(lo, &of_size) == Some(0) && value(hi, &of_size) == Some(extent),
        Domain::Blocks { .. } => false,
    };
    let size = |param: usize, axis: usize| inputs.extents(param).get(axis).copied();
    [(&x, &y), (&y, &x)].into_iter().find_map(|(a, b)| {
        let (a_transposed, b_transposed, vector) = match (equation.indices.as_slice(), b.at.as_slice()) {
            ([i, j], [_, _]) => (a.transposed(*i, k)?, b.transposed(k, *j)?, false),
            ([i], [only]) if *only == k => (a.transposed(*i, k)?, false, true),
            _ => return None,
        };
        let depth = size(a.param, usize::from(!a_transposed))?;
        let m = size(a.param, usize::from(a_transposed))?;
        let n = if vector { 1 } else { size(b.param, usize::from(!b_transposed))? };
        let all = |n: i64| usize::try_from(n).ok();
        let product = Product { m: all(m)?, n: all(n)?, k: all(depth)?, a_transposed, b_transposed, vector };
        whole(depth).then_some(Counterpart { a: a.param, b: b.param, product })
    })
}

/// A factor whose subscripts are plain variables.
struct Factor {
    param: usize,
    at: Vec<Var>,
}

impl Factor {
    fn of(c: &Contraction, access: &Access) -> Option<Factor> {
        let plain = |i: &Ix| if let Ix::Var(v) = i { Some(*v) } else { None };
        let param = c.params.iter().position(|p| *p == access.buffer)?;
        Some(Factor { param, at: access.at.iter().map(plain).collect::<Option<_>>()? })
    }

    /// Whether it has these subscripts in the other order; `None` where it has others.
    fn transposed(&self, row: Var, column: Var) -> Option<bool> {
        match self.at.as_slice() {
            [p, q] if (*p, *q) == (row, column) => Some(false),
            [p, q] if (*p, *q) == (column, row) => Some(true),
            _ => None,
        }
    }
}

impl Counterpart {
    /// Calls a library on the same inputs.
    pub fn call(&self, peer: &Peer, inputs: &Inputs, out: &mut [AlignedBuffer]) {
        let Some(out) = out.first_mut() else { return };
        let (Some((x, elem)), Some((y, _))) = (inputs.input(self.a), inputs.input(self.b)) else { return };
        if elem == Elem::F64 {
            peer.product_f64(&self.product, view(x), view(y), out.elements_mut());
        } else {
            peer.product_f32(&self.product, view(x), view(y), out.elements_mut());
        }
    }

    /// How far results may be from each other whose sums have other orders: twice the bound of a sum of `k` products of
    /// numbers between -1 and 1.
    pub fn tolerance(&self, elem: Elem) -> f64 {
        let unit = if elem == Elem::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let k = self.product.k as f64 + 1.0;
        k * unit * k
    }
}
