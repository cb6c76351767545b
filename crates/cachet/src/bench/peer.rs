//! Which contractions do libraries compute too? Recognised by their equation, whatever their names.

use super::arithmetic::Arithmetic;
use super::inputs::Inputs;
use cachet_core::equations::{Contraction, Expr, Target};
use cachet_core::ir::{Domain, Elem, Ix, Op, Prim, Var};
use cachet_core::sized::value;
use cachet_runtime::{AlignedBuffer, Numbers, Peer, Product, view};

/// A product of matrices, or of a matrix and a vector: where its factors are among the parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Counterpart {
    a: usize,
    b: usize,
    pub numbers: Numbers,
    pub product: Product,
}

/// The product that a contraction is, of arrays that lie row after row.
pub(super) fn counterpart(
    arithmetic: &Arithmetic<'_>,
    c: &Contraction,
    sizes: &[i64],
    inputs: &Inputs,
) -> Option<Counterpart> {
    let [equation] = c.equations.as_slice() else { return None };
    let (Target::Output(_), Expr::Sum(sum)) = (&equation.target, &equation.value) else { return None };
    let [binder] = sum.binders.as_slice() else { return None };
    if binder.guard.is_some() {
        return None;
    }
    let [x, y] = arithmetic.factors(c, sum)?;
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
        let numbers = numbers([a, b].map(|f| (inputs.input(f.param).map(|i| i.1), f.becomes)), inputs.output_elem())?;
        let depth = size(a.param, usize::from(!a_transposed))?;
        let m = size(a.param, usize::from(a_transposed))?;
        let n = if vector { 1 } else { size(b.param, usize::from(!b_transposed))? };
        let all = |n: i64| usize::try_from(n).ok();
        let product = Product { m: all(m)?, n: all(n)?, k: all(depth)?, a_transposed, b_transposed, vector };
        whole(depth).then_some(Counterpart { a: a.param, b: b.param, numbers, product })
    })
}

/// What libraries compute products of: each factor's elements and what they become, and the elements of the sums. What
/// short numbers become has all their values.
fn numbers([a, b]: [(Option<Elem>, Option<Elem>); 2], sums: Elem) -> Option<Numbers> {
    let converted = |elem: Elem, to: Elem| (Some(elem), Some(to));
    if sums == Elem::F32 && [a, b] == [converted(Elem::BF16, Elem::F32); 2] {
        return Some(Numbers::Bf16);
    }
    if sums == Elem::I32 && b == converted(Elem::I8, Elem::I32) {
        let unsigned = (a == converted(Elem::U8, Elem::I32)).then_some(Numbers::U8I8);
        return unsigned.or((a == b).then_some(Numbers::I8I8));
    }
    let plain = [a, b] == [(Some(sums), None); 2];
    match sums {
        Elem::F32 if plain => Some(Numbers::F32),
        Elem::F64 if plain => Some(Numbers::F64),
        _ => None,
    }
}

/// A factor whose subscripts are plain variables.
struct Factor {
    param: usize,
    at: Vec<Var>,
    /// What it is converted to, where it is.
    becomes: Option<Elem>,
}

impl Factor {
    fn of(c: &Contraction, e: &Expr) -> Option<Factor> {
        let (access, becomes) = match e {
            Expr::Read(access) => (access, None),
            Expr::Op(Op::Prim(Prim::Cast(to) | Prim::WrappingCast(to)), _, of) => match of.as_slice() {
                [Expr::Read(access)] => (access, Some(*to)),
                _ => return None,
            },
            _ => return None,
        };
        let plain = |i: &Ix| if let Ix::Var(v) = i { Some(*v) } else { None };
        let param = c.params.iter().position(|p| *p == access.buffer)?;
        Some(Factor { param, at: access.at.iter().map(plain).collect::<Option<_>>()?, becomes })
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
        let (Some((x, _)), Some((y, _))) = (inputs.input(self.a), inputs.input(self.b)) else { return };
        let p = &self.product;
        match self.numbers {
            Numbers::F32 => peer.product_f32(p, view(x), view(y), out.elements_mut()),
            Numbers::F64 => peer.product_f64(p, view(x), view(y), out.elements_mut()),
            Numbers::Bf16 => peer.product_bf16(p, view(x), view(y), out.elements_mut()),
            Numbers::U8I8 => peer.product_u8i8(p, view(x), view(y), out.elements_mut()),
            Numbers::I8I8 => peer.product_i8i8(p, view(x), view(y), out.elements_mut()),
        }
    }

    /// How far results may be from each other whose sums have other orders: twice the bound of a sum of `k` products of
    /// numbers between -1 and 1, or of bf16 between -2 and 2. Sums of integers have no order.
    pub fn tolerance(&self) -> f64 {
        let unit = match self.numbers {
            Numbers::F32 => f64::from(f32::EPSILON),
            Numbers::F64 => f64::EPSILON,
            Numbers::Bf16 => 4.0 * f64::from(f32::EPSILON),
            Numbers::U8I8 | Numbers::I8I8 => 0.0,
        };
        let k = self.product.k as f64 + 1.0;
        k * unit * k
    }
}
