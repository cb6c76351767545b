//! Element values that tell right from almost right.

use cachet_core::ir::Elem;

/// What a buffer is filled with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Zeros of both signs, ones, subnormals, extremes, infinities, NaNs of both kinds, neighbours of one.
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
    /// Any bits.
    Bits,
}

/// All kinds.
pub const KINDS: [Kind; 7] =
    [Kind::Special, Kind::Orders, Kind::Fusing, Kind::NegativeZeros, Kind::Equal, Kind::Ordinary, Kind::Bits];

/// `count` elements, the same ones for the same seed. Integer types get small numbers whatever the kind, except for
/// [`Kind::Bits`], and `bool` gets 0 or 1.
pub fn fill(elem: Elem, seed: u64, kind: Kind, count: usize) -> Vec<u64> {
    let mut random = Random(seed ^ 0x9e37_79b9_7f4a_7c15);
    let equal = random.next();
    (0..count)
        .map(|_| {
            let draw = if kind == Kind::Equal { equal } else { random.next() };
            match elem {
                Elem::F64 => double(kind, draw).to_bits(),
                Elem::F32 => u64::from(single(kind, draw).to_bits()),
                Elem::F16 => draw & 0xffff,
                Elem::BF16 => draw & 0xffff,
                Elem::Bool => draw & 1,
                Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => {
                    let mask = u64::MAX >> (64 - 8 * elem.bytes());
                    if kind == Kind::Bits { draw & mask } else { draw % 8 }
                }
            }
        })
        .collect()
}

/// The marked NaN that outputs and scratch are filled with before a run.
pub fn poison(elem: Elem) -> u64 {
    match elem {
        Elem::F64 => 0x7ff8_dead_beef_0001,
        Elem::F32 => 0x7fc0_dead & 0xffff_ffff,
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

macro_rules! floats {
    ($name:ident, $float:ident, $bits:ty, $fraction:expr, $tiny:expr) => {
        fn $name(kind: Kind, draw: u64) -> $float {
            let sign: $float = if draw & 1 == 0 { 1.0 } else { -1.0 };
            let pick = |list: &[$float]| list[(draw >> 8) as usize % list.len()];
            let unit = 1.0 + (draw >> (64 - $fraction)) as $float / (1u64 << $fraction) as $float;
            match kind {
                Kind::Special => {
                    sign * pick(&[
                        0.0,
                        1.0,
                        $float::from_bits(1),
                        $float::from_bits((1 << $fraction) - 1),
                        $float::MIN_POSITIVE,
                        $float::MAX,
                        $float::INFINITY,
                        $float::NAN,
                        $float::from_bits($float::INFINITY.to_bits() + 1),
                        1.0 + $float::EPSILON,
                        1.0 - $float::EPSILON / 2.0,
                        unit,
                        2.0,
                        0.5,
                    ])
                }
                Kind::Orders => {
                    let large = (1u64 << ($fraction + 2)) as $float;
                    sign * pick(&[large, large, 1.0, 2.0, 3.0, unit])
                }
                Kind::Fusing => sign * pick(&[1.0 + $tiny, 1.0 - $tiny, 1.0 + 2.0 * $tiny, 1.0, unit]),
                Kind::NegativeZeros => -0.0,
                Kind::Equal | Kind::Ordinary => sign * unit,
                Kind::Bits => $float::from_bits(draw as $bits),
            }
        }
    };
}

floats!(single, f32, u32, 23, 1.0 / 4096.0);
floats!(double, f64, u64, 52, 1.0 / 134_217_728.0);

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
        assert!(nan(true));
        assert!(fill(Elem::F32, 1, Kind::NegativeZeros, 9).iter().all(|b| *b == 0x8000_0000));
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
        let ordered = |seed: &u64| {
            let x = values(Kind::Orders, *seed);
            x.iter().fold(-0.0f32, |a, b| a + b) != x.iter().rev().fold(-0.0f32, |a, b| a + b)
        };
        let shown = (0..40).filter(ordered).count();
        assert!(shown >= 20, "{shown}");
        assert!(f32::from_bits(poison(Elem::F32) as u32).is_nan());
    }
}
