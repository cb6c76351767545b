//! The 16-bit floats: exact widening, and narrowing that rounds once, to nearest even.

/// A binary format narrower than `f64`.
#[derive(Clone, Copy)]
pub(super) struct Format {
    /// Bits of the fraction.
    fraction: u32,
    /// Bits of the exponent.
    exponent: u32,
}

/// IEEE `binary16`.
pub(super) const F16: Format = Format { fraction: 10, exponent: 5 };
/// The upper half of a `f32`.
pub(super) const BF16: Format = Format { fraction: 7, exponent: 8 };

impl Format {
    /// The canonical NaN: positive, quiet, no payload.
    pub(super) fn nan(self) -> u16 {
        (((1 << (self.exponent + 1)) - 1) << (self.fraction - 1)) as u16
    }

    /// Whether the bits are a NaN's.
    pub(super) fn is_nan(self, bits: u16) -> bool {
        let magnitude = u32::from(bits) & 0x7fff;
        magnitude > ((1 << self.exponent) - 1) << self.fraction
    }

    /// The value as `f64`, exactly; a NaN becomes the canonical one.
    pub(super) fn widen(self, bits: u16) -> f64 {
        if self.is_nan(bits) {
            return f64::from_bits(0x7ff8_0000_0000_0000);
        }
        let bits = u32::from(bits);
        let bias = (1i32 << (self.exponent - 1)) - 1;
        let fraction = bits & ((1 << self.fraction) - 1);
        let exponent = ((bits & 0x7fff) >> self.fraction) as i32;
        let magnitude = if exponent == (1 << self.exponent) - 1 {
            f64::INFINITY
        } else if exponent == 0 {
            f64::from(fraction) * power_of_two(1 - bias - self.fraction as i32)
        } else {
            f64::from(fraction | (1 << self.fraction)) * power_of_two(exponent - bias - self.fraction as i32)
        };
        if bits & 0x8000 != 0 { -magnitude } else { magnitude }
    }

    /// The nearest value, ties to even; beyond the largest by half a step or more, infinity.
    pub(super) fn narrow(self, x: f64) -> u16 {
        if x.is_nan() {
            return self.nan();
        }
        let bits = x.to_bits();
        let sign = ((bits >> 48) & 0x8000) as u16;
        let bias = (1i64 << (self.exponent - 1)) - 1;
        let exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
        if exponent > bias {
            return sign | (((1u32 << self.exponent) - 1) << self.fraction) as u16;
        }
        // A subnormal double is far below half of the smallest subnormal of either format.
        if exponent < 1 - bias - i64::from(self.fraction) - 2 {
            return sign;
        }
        let significand = (bits & ((1 << 52) - 1)) | (1 << 52);
        let below = (1 - bias - exponent).max(0);
        let shift = 52 - i64::from(self.fraction) + below;
        let kept = significand >> shift;
        let rest = significand & ((1 << shift) - 1);
        let half = 1u64 << (shift - 1);
        let up = rest > half || (rest == half && kept & 1 == 1);
        // A carry out of the fraction raises the exponent, up to infinity, which is what rounding asks for.
        let field = if below > 0 { 0 } else { (exponent + bias - 1) as u64 };
        sign | ((field << self.fraction) + kept + u64::from(up)) as u16
    }
}

fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// An integer as a `f64` that rounds on to any format of at most 50 bits as the integer itself would: to odd.
pub(super) fn to_odd(n: i128) -> f64 {
    let magnitude = n.unsigned_abs();
    let bits = 128 - magnitude.leading_zeros();
    if bits <= 53 {
        return n as f64;
    }
    let shift = bits - 53;
    let kept = (magnitude >> shift) as u64;
    let sticky = u64::from(magnitude & ((1 << shift) - 1) != 0);
    let value = (kept | sticky) as f64 * power_of_two(shift as i32);
    if n < 0 { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_way_there_and_back() {
        for format in [F16, BF16] {
            for bits in 0..=u16::MAX {
                let back = format.narrow(format.widen(bits));
                if format.is_nan(bits) {
                    assert_eq!(back, format.nan());
                } else {
                    assert_eq!(back, bits, "{bits:#06x}");
                }
            }
        }
        assert_eq!((F16.nan(), BF16.nan()), (0x7e00, 0x7fc0));
    }

    #[test]
    fn bf16_is_the_upper_half_of_f32() {
        for bits in (0..=u32::MAX).step_by(9973) {
            let x = f32::from_bits(bits);
            if x.is_nan() {
                continue;
            }
            let rounded = ((u64::from(bits) + 0x7fff + u64::from(bits >> 16 & 1)) >> 16) as u16;
            assert_eq!(BF16.narrow(f64::from(x)), rounded, "{bits:#x}");
        }
    }

    #[test]
    fn neighbours_of_halves_round_to_nearest_even() {
        for low in (0..0x7bffu16).step_by(7) {
            let (a, b) = (F16.widen(low), F16.widen(low + 1));
            let middle = (a + b) / 2.0;
            let even = if low & 1 == 0 { low } else { low + 1 };
            assert_eq!(F16.narrow(middle), even);
            assert_eq!(F16.narrow(middle.next_up()), low + 1);
            assert_eq!(F16.narrow(middle.next_down()), low);
            assert_eq!(F16.narrow(-middle), even | 0x8000);
        }
        assert_eq!(F16.narrow(65519.99), 0x7bff);
        assert_eq!(F16.narrow(65520.0), 0x7c00);
        assert_eq!(F16.narrow(1e300), 0x7c00);
        assert_eq!(F16.narrow(2f64.powi(-25)), 0);
        assert_eq!(F16.narrow(2f64.powi(-25).next_up()), 1);
        assert_eq!(F16.narrow(f64::from_bits(1)), 0);
        assert_eq!(F16.narrow(-0.0), 0x8000);
    }

    #[test]
    fn integers_round_once() {
        // Just above a tie of bf16: through a nearest f64 the last bit would be lost and the tie would go down.
        let n = (1i128 << 62) + (1 << 54) + 1;
        assert_eq!(BF16.narrow(to_odd(n)), BF16.narrow(2f64.powi(62)) + 1);
        assert_eq!(BF16.narrow(n as f64), BF16.narrow(2f64.powi(62)));
    }
}
