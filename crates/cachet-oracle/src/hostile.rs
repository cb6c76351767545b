//! Element values that tell right from almost right.

use cachet_core::ir::Elem;

/// What a buffer is filled with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Zeros of both signs, ones, subnormals, extremes, infinities, NaNs of both kinds, neighbours of one, and what lies just
    /// above the middle of two neighbours in a narrower format.
    Special,
    /// Large numbers and small ones among them: another order of a sum gives another result.
    Orders,
    /// `1 + 2^-12` and its like: one rounding and two give different results.
    Fusing,
    /// Every element is `-0.0`.
    NegativeZeros,
    /// All elements are equal.
    Equal,
    /// Ordinary numbers with full fractions.
    Ordinary,
    /// Powers of two of both signs that cancel one another; of integers also their neighbours, and the ends of the range.
    Powers,
    /// Any bits.
    Bits,
}

/// All kinds.
pub const KINDS: [Kind; 8] = [
    Kind::Special,
    Kind::Orders,
    Kind::Fusing,
    Kind::NegativeZeros,
    Kind::Equal,
    Kind::Ordinary,
    Kind::Powers,
    Kind::Bits,
];

/// `count` elements, the same ones for the same seed. Integer types get small numbers whatever the kind, except for
/// [`Kind::Powers`] and [`Kind::Bits`], and `bool` gets 0 or 1.
pub fn fill(elem: Elem, seed: u64, kind: Kind, count: usize) -> Vec<u64> {
    let mut random = Random(seed ^ 0x9e37_79b9_7f4a_7c15);
    let equal = random.next();
    (0..count)
        .map(|_| {
            let draw = if kind == Kind::Equal { equal } else { random.next() };
            match elem {
                Elem::F64 => double(kind, draw),
                Elem::F32 => single(kind, draw),
                Elem::F16 => half(kind, draw),
                Elem::BF16 => brain(kind, draw),
                Elem::Bool => draw & 1,
                Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => {
                    let mask = u64::MAX >> (64 - 8 * elem.bytes());
                    match kind {
                        Kind::Bits => draw & mask,
                        Kind::Powers => whole(8 * elem.bytes(), draw) & mask,
                        Kind::Special
                        | Kind::Orders
                        | Kind::Fusing
                        | Kind::NegativeZeros
                        | Kind::Equal
                        | Kind::Ordinary => draw % 8,
                    }
                }
            }
        })
        .collect()
}

/// The marked NaN that outputs and scratch are filled with before a run.
pub fn poison(elem: Elem) -> u64 {
    match elem {
        Elem::F64 => 0x7ff8_dead_beef_0001,
        Elem::F32 => 0x7fc0_dead,
        Elem::F16 => 0x7e5a,
        Elem::BF16 => 0x7fda,
        Elem::I64 | Elem::U64 => 0x5a5a_5a5a_5a5a_5a5a,
        Elem::I32 | Elem::U32 => 0x5a5a_5a5a,
        Elem::I16 | Elem::U16 => 0x5a5a,
        Elem::I8 | Elem::U8 => 0x5a,
        Elem::Bool => 1,
    }
}

struct Random(u64);

impl Random {
    /// A 64-bit number (splitmix).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// A power of two below `2^width`, one less or one more, or its negative: also the ends of both ranges of that width.
fn whole(width: u64, draw: u64) -> u64 {
    let near = (1u64 << ((draw >> 8) % width)).wrapping_add((draw >> 32) % 3).wrapping_sub(1);
    if draw & 1 == 0 { near } else { near.wrapping_neg() }
}

macro_rules! floats {
    ($name:ident, $fraction:expr, $exponent:expr) => {
        /// Bits of one element, made from the format's fields.
        fn $name(kind: Kind, draw: u64) -> u64 {
            const FRACTION: u32 = $fraction;
            const ALL_ONES: u64 = (1 << $exponent) - 1;
            const BIAS: u64 = ALL_ONES / 2;
            const ONE: u64 = BIAS << FRACTION;
            const MAX: u64 = INFINITY - 1;
            const INFINITY: u64 = ALL_ONES << FRACTION;
            const QUIET: u64 = 1 << (FRACTION - 1);
            // The largest power of two whose square is lost beside a one.
            const TINY: u64 = 1 << (FRACTION - FRACTION / 2 - 1);
            // Just above the middle of two neighbours of a format of so many bits: rounding to another one first shows.
            let middle = |fraction: u32| ONE | 1 << FRACTION.saturating_sub(fraction + 1) | 1;
            // Of a NaN; half of them have none.
            let payload = if draw & 1 << 40 == 0 { 0 } else { draw >> 41 };
            let power = |n: u64| (BIAS + n) << FRACTION;
            let sign = (draw & 1) << (FRACTION + $exponent);
            let pick = |list: &[u64]| sign | list[(draw >> 8) as usize % list.len()];
            let unit = ONE | draw >> (64 - FRACTION);
            match kind {
                Kind::Special => pick(&[
                    0,
                    ONE,
                    1,
                    (1 << FRACTION) - 1,
                    1 << FRACTION,
                    MAX,
                    INFINITY,
                    INFINITY | QUIET | payload & QUIET >> 1,
                    INFINITY | 1 | payload & (QUIET - 1),
                    ONE + 1,
                    ONE - 1,
                    unit,
                    power(1),
                    ONE - (1 << FRACTION),
                    middle(7),
                    middle(10),
                    middle(23),
                ]),
                Kind::Orders => {
                    // The smallest power of two that loses a one beside it, twice.
                    let large = power(u64::from(FRACTION) + 2);
                    pick(&[large, large, ONE, power(1), power(1) | QUIET, unit])
                }
                Kind::Fusing => pick(&[ONE + TINY, ONE - 2 * TINY, ONE + 2 * TINY, ONE, unit]),
                Kind::NegativeZeros => 1 << (FRACTION + $exponent),
                // As far apart as the fraction is long and a little more, and a few of each.
                Kind::Powers => sign | power((draw >> 8) % (u64::from(FRACTION) + 3) / 2 * 2),
                Kind::Equal | Kind::Ordinary => sign | unit,
                Kind::Bits => draw >> (63 - FRACTION - $exponent),
            }
        }
    };
}

floats!(double, 52, 11);
floats!(single, 23, 8);
floats!(half, 10, 5);
floats!(brain, 7, 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_contain_what_they_are_for() {
        let special = fill(Elem::F32, 1, Kind::Special, 400);
        for bits in [0x0000_0000u64, 0x8000_0000, 1, 0x007f_ffff, 0x0080_0000, 0x7f7f_ffff, 0x7f80_0000, 0xff80_0000] {
            assert!(special.contains(&bits), "{bits:#x}");
        }
        let nan =
            |quiet: bool| special.iter().any(|b| f32::from_bits(*b as u32).is_nan() && (b >> 22 & 1 == 1) == quiet);
        assert!(nan(true) && nan(false));
        for (elem, zero) in [(Elem::F64, 1 << 63), (Elem::F32, 1 << 31), (Elem::F16, 0x8000), (Elem::BF16, 0x8000)] {
            assert!(fill(elem, 1, Kind::NegativeZeros, 9).iter().all(|b| *b == zero), "{elem:?}");
            let ordinary = fill(elem, 2, Kind::Ordinary, 99);
            let magnitude = |b: &u64| cachet_core::interpret::scalar::to_f64(elem, *b).map(f64::abs);
            assert!(ordinary.iter().all(|b| magnitude(b).is_some_and(|x| (1.0..2.0).contains(&x))), "{elem:?}");
            let special = fill(elem, 3, Kind::Special, 400);
            for x in [0.0, 0.5, 1.0, 2.0, f64::INFINITY] {
                assert!(special.iter().any(|b| magnitude(b) == Some(x)), "{elem:?} {x}");
            }
            assert!(special.iter().any(|b| cachet_core::interpret::scalar::is_nan(elem, *b)), "{elem:?}");
        }
        let halves = fill(Elem::F16, 4, Kind::Special, 400);
        for bits in [1, 0x03ff, 0x0400, 0x7bff, 0x7c00, 0x7e00, 0x7c01, 0x3c01, 0x3bff] {
            assert!(halves.contains(&bits), "{bits:#x}");
        }
        let powers = fill(Elem::I8, 5, Kind::Powers, 400);
        for bits in [0, 1, 0x7f, 0x80, 0x81, 0xff, 0x40, 0xc0] {
            assert!(powers.contains(&bits), "{bits:#x}");
        }
        let powers = fill(Elem::F32, 5, Kind::Powers, 400);
        for x in [1.0f32, -1.0, 4.0, -4.0, 16_777_216.0] {
            assert!(powers.contains(&u64::from(x.to_bits())), "{x}");
        }
        let equal = fill(Elem::F64, 3, Kind::Equal, 9);
        assert!(equal.iter().all(|b| *b == equal[0]));
        assert_eq!(fill(Elem::F32, 5, Kind::Bits, 99), fill(Elem::F32, 5, Kind::Bits, 99));
        assert_ne!(fill(Elem::F32, 5, Kind::Bits, 99), fill(Elem::F32, 6, Kind::Bits, 99));
    }

    #[test]
    fn fusing_and_order_show() {
        let values = |kind, seed| -> Vec<f32> {
            fill(Elem::F32, seed, kind, 64).into_iter().map(|b| f32::from_bits(b as u32)).collect()
        };
        let fuses = |w: &[f32]| (w[0] * w[1] - 1.0) != w[0].mul_add(w[1], -1.0);
        assert!((0..20).all(|seed| values(Kind::Fusing, seed).windows(2).any(fuses)));
        let wide =
            |seed| -> Vec<f64> { fill(Elem::F64, seed, Kind::Fusing, 64).into_iter().map(f64::from_bits).collect() };
        let fuses = |w: &[f64]| (w[0] * w[1] - 1.0) != w[0].mul_add(w[1], -1.0);
        assert!((0..20).all(|seed| wide(seed).windows(2).any(fuses)));
        let ordered = |seed: &u64| {
            let x = values(Kind::Orders, *seed);
            x.iter().fold(-0.0f32, |a, b| a + b) != x.iter().rev().fold(-0.0f32, |a, b| a + b)
        };
        let shown = (0..40).filter(ordered).count();
        assert!(shown >= 20, "{shown}");
        assert!(f32::from_bits(poison(Elem::F32) as u32).is_nan());
    }
}
