//! Sums with 0 and arithmetic of literals, folded: the only arithmetic that matching and instantiation do.

use cachet_core::ir::{Access, Block, Domain, Fold, Ix, Stmt, StmtKind, Word};
use cachet_core::rewrite::Live;

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

/// `a / n`, for a literal n > 0.
pub fn div(a: Ix, n: i64) -> Ix {
    match a {
        Ix::Lit(m) if n > 0 => Ix::Lit(m.div_euclid(n)),
        a => Ix::Div(Box::new(a), n),
    }
}

/// `a % n`, for a literal n > 0.
pub fn rem(a: Ix, n: i64) -> Ix {
    match a {
        Ix::Lit(m) if n > 0 => Ix::Lit(m.rem_euclid(n)),
        a => Ix::Mod(Box::new(a), n),
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
        Ix::Div(x, n) => div(ix(x), *n),
        Ix::Mod(x, n) => rem(ix(x), *n),
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

/// A block in which a sum that starts from a total which was loaded just for it starts from the load:
/// `let t = load c[i]; store c[i] = fold .. from t as ..` is `store c[i] = fold .. from load c[i] as ..`.
pub fn starts(block: &Block) -> Block {
    let mut out: Block = Vec::new();
    let mut rest = block.iter();
    while let Some(stmt) = rest.next() {
        if let Some(joined) = rest.as_slice().first().and_then(|next| joined(stmt, next, &rest.as_slice()[1..])) {
            out.push(joined);
            rest.next();
            continue;
        }
        let kind = match &stmt.kind {
            StmtKind::For { var, domain, body } => {
                StmtKind::For { var: *var, domain: domain.clone(), body: starts(body) }
            }
            StmtKind::If { guard, then, els } => {
                StmtKind::If { guard: guard.clone(), then: starts(then), els: starts(els) }
            }
            StmtKind::Grid(_)
            | StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => stmt.kind.clone(),
        };
        out.push(Stmt { kind, span: stmt.span });
    }
    out
}

fn joined(total: &Stmt, store: &Stmt, after: &[Stmt]) -> Option<Stmt> {
    let (StmtKind::Let { local, word: Word::Load(from) }, StmtKind::Store { to, word: Word::Fold(f) }) =
        (&total.kind, &store.kind)
    else {
        return None;
    };
    let once = f.init == Word::Local(*local, vec![])
        && from == to
        && !Live::of_word(&f.body).locals.contains(local)
        && !Live::of_block(after).locals.contains(local);
    once.then(|| {
        let word = Word::Fold(Box::new(Fold { init: Word::Load(to.clone()), ..(**f).clone() }));
        Stmt { kind: StmtKind::Store { to: to.clone(), word }, span: store.span }
    })
}
