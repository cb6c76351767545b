//! What a function says of the memory that it needs: which arrays it keeps in which level, and at most what moves between
//! levels. It changes no result; the checker never reads it.

use crate::ir::{Buffer, Ix, Level};
use crate::print::Names;
use serde::{Deserialize, Serialize};

/// The clauses `working_set` and `movement`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Resources {
    /// What stays in which level, the innermost level first.
    pub keeps: Vec<Keep>,
    /// At most what moves; `None` says nothing, and no rows say that nothing moves.
    pub movement: Option<Vec<Traffic>>,
}

/// `@L1 { keep packB = descriptor packB }`
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Keep {
    /// The level.
    pub level: Level,
    /// What the row is called.
    pub name: String,
    /// What stays there.
    pub buffer: Buffer,
}

/// `traffic packB_pull = … from DRAM to L1 and back`
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Traffic {
    /// What the row is called.
    pub name: Option<String>,
    /// How many lines, at most.
    pub amount: Cost,
    /// From where.
    pub from: Level,
    /// Where to.
    pub to: Level,
    /// Whether as much goes back.
    pub back: bool,
}

/// A number that grows with sizes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Cost {
    /// An index of literals and sizes.
    Ix(Ix),
    /// `ceil (e / n)`, and 0 where it would be below.
    Ceil(Ix, i64),
    /// Sum.
    Add(Box<Cost>, Box<Cost>),
    /// Product.
    Mul(Box<Cost>, Box<Cost>),
    /// `lines c`: how many lines so many bytes take.
    Lines(Box<Cost>),
    /// `span_bytes P.span`: the bytes that an array takes, with what its layout fills up.
    SpanBytes(Buffer),
}

impl Resources {
    /// The indices and the buffers in it.
    pub fn parts(&self) -> (Vec<&Ix>, Vec<Buffer>) {
        let mut out = (Vec::new(), self.keeps.iter().map(|k| k.buffer).collect());
        self.movement.iter().flatten().for_each(|t| t.amount.parts(&mut out));
        out
    }
}

impl Cost {
    fn parts<'a>(&'a self, out: &mut (Vec<&'a Ix>, Vec<Buffer>)) {
        match self {
            Cost::Ix(ix) | Cost::Ceil(ix, _) => out.0.push(ix),
            Cost::Add(a, b) | Cost::Mul(a, b) => {
                a.parts(out);
                b.parts(out);
            }
            Cost::Lines(a) => a.parts(out),
            Cost::SpanBytes(b) => out.1.push(*b),
        }
    }

    /// The product of factors.
    pub fn product(factors: impl IntoIterator<Item = Cost>) -> Cost {
        let all = factors.into_iter().reduce(|a, b| Cost::Mul(Box::new(a), Box::new(b)));
        all.unwrap_or(Cost::Ix(Ix::Lit(1)))
    }

    /// As it is written.
    pub fn text(&self, names: &Names<'_>) -> String {
        match self {
            Cost::Ix(ix) => names.ix(ix),
            Cost::Ceil(e, n) => format!("ceil ({} / {n})", names.dividend(e)),
            Cost::Add(a, b) => format!("{} + {}", a.text(names), b.text(names)),
            Cost::Mul(a, b) => format!("{} * {}", a.factor(names), b.factor(names)),
            Cost::Lines(c) => format!("lines ({})", c.text(names)),
            Cost::SpanBytes(b) => format!("span_bytes {}.span", names.buffer(*b)),
        }
    }

    fn factor(&self, names: &Names<'_>) -> String {
        let text = self.text(names);
        match self {
            Cost::Ix(Ix::Lit(_) | Ix::Var(_))
            | Cost::Ceil(..)
            | Cost::Mul(..)
            | Cost::Lines(_)
            | Cost::SpanBytes(_) => text,
            Cost::Ix(_) | Cost::Add(..) => format!("({text})"),
        }
    }
}
