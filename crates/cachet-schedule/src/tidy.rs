//! Sums with 0 and of two literals, folded: the only arithmetic that matching and instantiation do.

use cachet_core::ir::{Access, Domain, Ix};

/// `a + b`
pub fn add(a: Ix, b: Ix) -> Ix {
    match (a, b) {
        (Ix::Lit(0), x) | (x, Ix::Lit(0)) => x,
        (Ix::Lit(x), Ix::Lit(y)) if x.checked_add(y).is_some() => Ix::Lit(x + y),
        (a, b) => Ix::Add(Box::new(a), Box::new(b)),
    }
}

/// `a - b`
pub fn sub(a: Ix, b: Ix) -> Ix {
    match (a, b) {
        (x, Ix::Lit(0)) => x,
        (Ix::Lit(x), Ix::Lit(y)) if x.checked_sub(y).is_some() => Ix::Lit(x - y),
        (a, b) => Ix::Sub(Box::new(a), Box::new(b)),
    }
}

/// `n * a`
pub fn mul(n: i64, a: Ix) -> Ix {
    match a {
        Ix::Lit(m) if n.checked_mul(m).is_some() => Ix::Lit(n * m),
        a => Ix::Mul(n, Box::new(a)),
    }
}

/// An index with its sums folded.
pub fn ix(i: &Ix) -> Ix {
    let b = |i: &Ix| Box::new(ix(i));
    match i {
        Ix::Lit(_) | Ix::Var(_) | Ix::Block(..) => i.clone(),
        Ix::Add(x, y) => add(ix(x), ix(y)),
        Ix::Sub(x, y) => sub(ix(x), ix(y)),
        Ix::Mul(n, x) => mul(*n, ix(x)),
        Ix::Div(x, n) => Ix::Div(b(x), *n),
        Ix::Mod(x, n) => Ix::Mod(b(x), *n),
        Ix::Min(x, y) => Ix::Min(b(x), b(y)),
        Ix::Max(x, y) => Ix::Max(b(x), b(y)),
        Ix::If(g, x, y) => Ix::If(g.clone(), b(x), b(y)),
        Ix::InBlock(v, x) => Ix::InBlock(*v, b(x)),
    }
}

/// A domain with its sums folded.
pub fn domain(d: &Domain) -> Domain {
    match d {
        Domain::Range { lo, hi } => Domain::Range { lo: ix(lo), hi: ix(hi) },
        Domain::Blocks { lo, hi, size } => Domain::Blocks { lo: ix(lo), hi: ix(hi), size: *size },
    }
}

/// A cell with its sums folded.
pub fn access(a: &Access) -> Access {
    Access { buffer: a.buffer, at: a.at.iter().map(ix).collect(), span: a.span }
}
