//! Floats as text: what `print` writes, and literals that read back to the same bits.

use crate::ir::{Elem, Lit};

/// What `print` writes for a float: the fewest significant digits that, correctly rounded, read back as the same
/// `f64`; plain from 0.0001 to below 10^16, else with an exponent of at least two digits. Always with a point.
///
/// The text is defined by these words rather than by a library so that an executable, which formats through C, prints
/// the same.
pub fn print_float(x: f64) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let digits = (0..17).find(|p| format!("{x:.p$e}").parse() == Ok(x)).unwrap_or(16);
    let scientific = format!("{x:.digits$e}");
    let exponent: i32 = scientific.rsplit('e').next().and_then(|e| e.parse().ok()).unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let after = (digits as i32 - exponent).max(1) as usize;
        return format!("{x:.after$}");
    }
    // Two digits at least, which may move the exponent that one digit has: 1e-323 is 9.9e-324.
    let written = format!("{x:.after$e}", after = digits.max(1));
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let (sign, size) = exponent.strip_prefix('-').map_or(('+', exponent), |size| ('-', size));
    format!("{mantissa}e{sign}{size:0>2}")
}

/// A literal in source syntax. Floats that have no digits print as the call that gives them.
pub fn decimal(lit: Lit) -> String {
    match lit.elem {
        Elem::F64 => special(f64::from_bits(lit.bits), lit, format!("{:?}", f64::from_bits(lit.bits))),
        Elem::F32 => {
            let x = f32::from_bits(lit.bits as u32);
            special(f64::from(x), lit, format!("{x:?}"))
        }
        Elem::F16 | Elem::BF16 => format!("from_bits ({} as u16)", lit.bits),
        // Whole numbers are written below 2^63 only.
        Elem::I64 if lit.bits == 1 << 63 => "Num.lowest ()".into(),
        Elem::U64 if lit.bits == u64::MAX => "Num.highest ()".into(),
        Elem::I64 => (lit.bits as i64).to_string(),
        Elem::I32 => (lit.bits as u32 as i32).to_string(),
        Elem::I16 => (lit.bits as u16 as i16).to_string(),
        Elem::I8 => (lit.bits as u8 as i8).to_string(),
        Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => lit.bits.to_string(),
        Elem::Bool => (lit.bits != 0).to_string(),
    }
}

/// Whether a literal's text is a call, which needs parentheses as an operand.
pub(super) fn is_call(lit: Lit) -> bool {
    match lit.elem {
        Elem::F64 => !f64::from_bits(lit.bits).is_finite(),
        Elem::F32 => !f32::from_bits(lit.bits as u32).is_finite(),
        Elem::F16 | Elem::BF16 => true,
        Elem::I64 => lit.bits == 1 << 63,
        Elem::U64 => lit.bits == u64::MAX,
        Elem::I32 | Elem::I16 | Elem::I8 | Elem::U32 | Elem::U16 | Elem::U8 | Elem::Bool => false,
    }
}

fn special(x: f64, lit: Lit, digits: String) -> String {
    if x == f64::INFINITY {
        return "Num.infinity ()".into();
    }
    if x == f64::NEG_INFINITY {
        return "-Num.infinity ()".into();
    }
    if x.is_nan() {
        return format!("from_bits ({} as u{})", lit.bits, lit.elem.bytes() * 8);
    }
    // Rust writes `1e-45`; the language wants digits on both sides of a point.
    match digits.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
        _ => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_floats_are_shortest_with_a_point() {
        let cases: [(f64, &str); 15] = [
            (3.0, "3.0"),
            (-0.0, "-0.0"),
            (f64::from(f32::from_bits(0x3FE0_3D6B)), "1.751874327659607"),
            (100000.0, "100000.0"),
            (0.001, "0.001"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e15, "1000000000000000.0"),
            (1e16, "1.0e+16"),
            (1.5e300, "1.5e+300"),
            (5e-324, "4.9e-324"),
            (1e-323, "9.9e-324"),
            (0.00001, "1.0e-05"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
            (0.0, "0.0"),
        ];
        for (x, text) in cases {
            assert_eq!(print_float(x), text);
            if x.is_finite() {
                assert_eq!(text.parse::<f64>().unwrap().to_bits(), x.to_bits());
            }
        }
    }

    #[test]
    fn literals_read_back() {
        for bits in [0u32, 0x8000_0000, 1, 0x3F80_0001, 0x7F7F_FFFF, 0x0080_0000] {
            let text = decimal(Lit { elem: Elem::F32, bits: bits.into() });
            assert_eq!(text.parse::<f32>().unwrap().to_bits(), bits, "{text}");
            assert!(text.contains('.'), "{text}");
        }
        assert_eq!(decimal(Lit { elem: Elem::F32, bits: 0x7F80_0000 }), "Num.infinity ()");
    }
}
