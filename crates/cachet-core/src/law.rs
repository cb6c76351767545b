//! What may hold of the operations of an interface, and in which sense?

use crate::ir::{At, Interface};
use serde::{Deserialize, Serialize};

/// A law: a property, and where it holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Law {
    /// What holds.
    pub property: Property,
    /// In which sense.
    pub sense: Sense,
}

/// In which sense a law holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Sense {
    /// With words read as real numbers and operations exact; the infinities that the operations name belong to them.
    Reals,
    /// Of the words themselves, as the host computes them: the same bits, where two NaN are one value.
    Exactly,
}

/// A property of operations, given by their positions in [`Interface::methods`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Property {
    /// `op (op a b) c = op a (op b c)`
    Associative(u32),
    /// `op a b = op b a`
    Commutative(u32),
    /// `op a a = a`
    Idempotent(u32),
    /// `op e a = a = op a e`
    Identity {
        /// The operation.
        op: u32,
        /// The operation without operands that gives `e`.
        element: u32,
    },
    /// `mul a (add b c) = add (mul a b) (mul a c)`, and from the other side.
    Distributive {
        /// The product.
        mul: u32,
        /// The sum.
        add: u32,
    },
    /// `mul_add a b c = add c (mul a b)`
    MulAdd {
        /// The three-operand operation.
        fused: u32,
        /// The product.
        mul: u32,
        /// The sum.
        add: u32,
    },
    /// `mul zero a = zero = mul a zero`
    Annihilates {
        /// The product.
        mul: u32,
        /// The operation without operands that gives `zero`.
        zero: u32,
    },
}

/// A law as an implementation states it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StatedLaw {
    /// The law.
    pub law: Law,
    /// Why it holds, if that is said.
    pub reason: Option<String>,
    /// Where.
    pub span: At,
}

/// The names of the properties that an operation is named for: `law add associative ..`.
pub const OF_AN_OPERATION: &[&str] = &["associative", "commutative", "idempotent", "identity", "annihilates"];

/// The names of the properties that stand alone: `law distributive ..`.
pub const OF_ALL: &[&str] = &["distributive", "mul_add"];

impl Law {
    /// `add associative over reals`: as it is written.
    pub fn text(&self, interface: &Interface) -> String {
        let name = |op: u32| interface.methods.get(op as usize).map_or("?", |m| m.0.as_str());
        let of = |op: u32, what: &str| format!("{} {what}", name(op));
        let property = match self.property {
            Property::Associative(op) => of(op, "associative"),
            Property::Commutative(op) => of(op, "commutative"),
            Property::Idempotent(op) => of(op, "idempotent"),
            Property::Identity { op, element: _ } => of(op, "identity"),
            Property::Annihilates { mul, zero: _ } => of(mul, "annihilates"),
            Property::Distributive { .. } => "distributive".into(),
            Property::MulAdd { .. } => "mul_add".into(),
        };
        match self.sense {
            Sense::Reals => format!("{property} over reals"),
            Sense::Exactly => format!("{property} exactly"),
        }
    }
}
