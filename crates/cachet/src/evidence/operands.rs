//! Inputs on which a template and a body that are not the same are likely to differ.
//!
//! Every kind draws each lane of each operand from what it is named after or from words of an ordinary size, so that every
//! mixture comes up. What has to fit together, as what nearly cancels, is drawn together for all operands of a lane.

use cachet_core::interpret::scalar;
use cachet_core::ir::Elem;

/// What inputs are like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Any bits.
    Random,
    /// Numbers of an ordinary size, of few and of many bits.
    Ordinary,
    /// What is added is about the negative of the rest.
    Cancelling,
    /// Among ordinary ones, numbers too small to be normal.
    Subnormal,
    /// Among ordinary ones, zeros of both signs.
    SignedZero,
    /// Among ordinary ones, infinities of both signs.
    Infinite,
    /// Among ordinary ones, NaNs.
    Nan,
    /// Products about as large as the largest number.
    Overflowing,
    /// Products about as small as the smallest normal number.
    Underflowing,
    /// Sums that lie next to the middle of two numbers.
    Halfway,
    /// The ends of a type, and what lies beside them.
    Extreme,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 11] = [
        Kind::Random,
        Kind::Ordinary,
        Kind::Cancelling,
        Kind::Subnormal,
        Kind::SignedZero,
        Kind::Infinite,
        Kind::Nan,
        Kind::Overflowing,
        Kind::Underflowing,
        Kind::Halfway,
        Kind::Extreme,
    ];

    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Random => "random",
            Kind::Ordinary => "ordinary",
            Kind::Cancelling => "cancelling",
            Kind::Subnormal => "subnormal",
            Kind::SignedZero => "signed zero",
            Kind::Infinite => "infinite",
            Kind::Nan => "NaN",
            Kind::Overflowing => "overflowing",
            Kind::Underflowing => "underflowing",
            Kind::Halfway => "halfway",
            Kind::Extreme => "extreme",
        }
    }
}

/// A generator of numbers.
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below another.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// The parts of a float: how many bits the exponent and the fraction have.
fn format(elem: Elem) -> Option<(u32, u32)> {
    match elem {
        Elem::F64 => Some((11, 52)),
        Elem::F32 => Some((8, 23)),
        Elem::F16 => Some((5, 10)),
        Elem::BF16 => Some((8, 7)),
        Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 | Elem::Bool => {
            None
        }
    }
}

/// One lane's word, of an operand that is added or not, for a result of a type.
pub fn word(random: &mut Random, kind: Kind, (elem, result): (Elem, Elem), added: bool) -> u64 {
    match format(elem) {
        Some(own) => {
            let half = i64::from(format(result).unwrap_or(own).1 + 1) / 2;
            float(random, kind, own, (added, half))
        }
        None => integer(random, kind, elem),
    }
}

fn integer(random: &mut Random, kind: Kind, elem: Elem) -> u64 {
    let (lo, hi) = scalar::range(elem).unwrap_or((0, 1));
    let n = match (kind, random.below(4)) {
        (Kind::Ordinary | Kind::SignedZero, _) => i128::from(random.below(7)) - 3,
        (Kind::Extreme | Kind::Overflowing | Kind::Cancelling, 0) => lo + i128::from(random.below(3)),
        (Kind::Extreme | Kind::Overflowing | Kind::Cancelling, 1) => hi - i128::from(random.below(3)),
        (Kind::Extreme, 2) => i128::from(random.below(3)) - 1,
        _ => i128::from(random.next() as i64),
    };
    scalar::low_bits(elem, n)
}

fn float(random: &mut Random, kind: Kind, (exponent, fraction): (u32, u32), (added, half): (bool, i64)) -> u64 {
    let bias = (1i64 << (exponent - 1)) - 1;
    let most = bias * 2 + 1;
    let mask = (1u64 << fraction) - 1;
    let r = random.next();
    let sign = (r & 1) << (exponent + fraction);
    // Fractions of all bits, of few at either end, and of none.
    let bits = random.next();
    let few = match (r >> 1) & 7 {
        0 => 0,
        1 => mask,
        2 => 1,
        3 => mask & !1,
        4 => bits & mask & !(mask >> 3),
        _ => bits & mask,
    };
    let made = |e: i64, f: u64| sign | (e.clamp(0, most) as u64) << fraction | f;
    let near = |e: i64, by: u64, random: &mut Random| e + random.below(2 * by + 1) as i64 - by as i64;
    let special = (r >> 4) & 1 == 0;
    let spread = if fraction < 11 { 6 } else { 12 };
    match kind {
        Kind::Random => bits & (mask | ((1u64 << (exponent + 1)) - 1) << fraction),
        Kind::Subnormal if special => made(0, few | 1),
        Kind::SignedZero if special => sign,
        Kind::Infinite if special => made(most, 0),
        Kind::Nan if special => made(most, few | 1),
        Kind::Overflowing if added => made(near(most - 2, 1, random), few),
        Kind::Overflowing => made(near(bias + bias / 2 + 1, 2, random), few),
        Kind::Underflowing if added => made(near(2, 4, random), few),
        Kind::Underflowing => made(near(bias - bias / 2 - 1, spread.min(bias as u64 / 3), random), few),
        Kind::Halfway if added => made(bias, random.below(4)),
        // 1 + 2^-n times 1 - 2^-n is just below 1: as half of what is added's last bit it is next to the middle.
        Kind::Halfway => {
            let e = bias - [0, 0, half, 2 * half][random.below(4) as usize];
            if r >> 6 & 1 == 0 { made(e, 1) } else { made(e - 1, mask & !1) }
        }
        Kind::Extreme => match random.below(8) {
            0 => made(most - 1, mask),
            1 => made(1, 0),
            2 => made(0, mask),
            3 => made(0, 1),
            4 => made(bias, few),
            5 => made(most, 0),
            6 => sign,
            _ => made(near(most / 2, most as u64 / 2, random), few),
        },
        Kind::Ordinary | Kind::Cancelling | Kind::Subnormal | Kind::SignedZero | Kind::Infinite | Kind::Nan => {
            made(near(bias, spread, random), few)
        }
    }
}

/// About the negative of a word: its sign flipped, and now and then a neighbour.
pub fn negated(random: &mut Random, elem: Elem, word: u64) -> u64 {
    match format(elem) {
        Some((exponent, fraction)) => {
            let flipped = word ^ 1 << (exponent + fraction);
            match random.below(6) {
                0 => flipped.wrapping_add(1),
                1 => flipped.wrapping_sub(1),
                _ => flipped,
            }
        }
        None => scalar::low_bits(elem, -scalar::to_int(elem, word)),
    }
}
