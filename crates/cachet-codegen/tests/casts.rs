//! Conversions between all element types, against Rust's and against exact arithmetic for the 16-bit floats.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_core::ir::{Elem, Prim, Role};
use common::{Build, Data, Random, each, elem, load, native, op, program, store, to, v, writes};

const ALL: [Elem; 13] = [
    Elem::F64,
    Elem::F32,
    Elem::F16,
    Elem::BF16,
    Elem::I64,
    Elem::I32,
    Elem::I16,
    Elem::I8,
    Elem::U64,
    Elem::U32,
    Elem::U16,
    Elem::U8,
    Elem::Bool,
];

/// A number without rounding: an integer or an `f64`, into which every other element type fits.
#[derive(Clone, Copy, Debug)]
enum Exact {
    Int(i128),
    Float(f64),
}

/// Precision with the hidden bit, and the smallest exponent of the last bit.
fn format_of(e: Elem) -> (u32, i32, u32) {
    match e {
        Elem::F16 => (11, -24, 16),
        Elem::BF16 => (8, -133, 16),
        Elem::F32 => (24, -149, 32),
        _ => (53, -1074, 64),
    }
}

fn value(e: Elem, bits: u64) -> Exact {
    match e {
        Elem::F64 => Exact::Float(f64::from_bits(bits)),
        Elem::F32 | Elem::BF16 | Elem::F16 => {
            let (precision, last, width) = format_of(e);
            let fraction = bits & ((1 << (precision - 1)) - 1);
            let exponent = bits >> (precision - 1) & ((1 << (width - precision)) - 1);
            let sign = if bits >> (width - 1) & 1 == 1 { -1.0 } else { 1.0 };
            if exponent == (1 << (width - precision)) - 1 {
                return Exact::Float(if fraction == 0 { sign * f64::INFINITY } else { f64::NAN });
            }
            let (mantissa, scale) = if exponent == 0 {
                (fraction, last)
            } else {
                (fraction | 1 << (precision - 1), last + exponent as i32 - 1)
            };
            Exact::Float(sign * mantissa as f64 * 2f64.powi(scale))
        }
        Elem::Bool => Exact::Int(i128::from(bits & 1)),
        Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => Exact::Int(bits.into()),
        Elem::I64 => Exact::Int((bits as i64).into()),
        Elem::I32 => Exact::Int((bits as i32).into()),
        Elem::I16 => Exact::Int((bits as i16).into()),
        Elem::I8 => Exact::Int((bits as i8).into()),
    }
}

/// The nearest float of a format, ties to even, by search over the two neighbours in exact arithmetic.
fn round(e: Elem, x: Exact) -> u64 {
    let (precision, last, width) = format_of(e);
    let (negative, nan, infinite) = match x {
        Exact::Int(n) => (n < 0, false, false),
        Exact::Float(f) => (f.is_sign_negative(), f.is_nan(), f.is_infinite()),
    };
    let top = ((1u64 << (width - precision)) - 1) << (precision - 1);
    if nan {
        return top | 1 << (precision - 2);
    }
    let sign = u64::from(negative) << (width - 1);
    if infinite {
        return sign | top;
    }
    // The number as mantissa * 2^exponent with a mantissa of at most 64 bits.
    let (mut mantissa, mut exponent): (u128, i32) = match x {
        Exact::Int(n) => (n.unsigned_abs(), 0),
        Exact::Float(f) => {
            let b = f.to_bits();
            let raw = (b >> 52 & 0x7FF) as i32;
            let fraction = u128::from(b & ((1 << 52) - 1));
            if raw == 0 { (fraction, -1074) } else { (fraction | 1 << 52, raw - 1075) }
        }
    };
    if mantissa == 0 {
        return sign;
    }
    let length = 128 - mantissa.leading_zeros() as i32;
    let drop = (length - precision as i32).max(last - exponent);
    if drop > 0 {
        let drop = drop as u32;
        let (kept, rest) = if drop > 127 { (0, 1) } else { (mantissa >> drop, mantissa & ((1 << drop) - 1)) };
        let half = if drop > 127 { 2 } else { 1u128 << (drop - 1) };
        let up = rest > half || rest == half && kept & 1 == 1;
        mantissa = kept + u128::from(up);
        exponent += drop as i32;
    }
    // Into the position of the format: no bit is lost from here on.
    while mantissa < 1 << (precision - 1) && exponent > last {
        mantissa <<= 1;
        exponent -= 1;
    }
    if mantissa >> precision == 1 {
        mantissa >>= 1;
        exponent += 1;
    }
    let raw = if mantissa < 1 << (precision - 1) { 0 } else { (exponent - last + 1) as u64 };
    if raw >= (1 << (width - precision)) - 1 {
        return sign | top;
    }
    sign | raw << (precision - 1) | (mantissa as u64 & ((1 << (precision - 1)) - 1))
}

fn wanted(from: Elem, to: Elem, bits: u64) -> u64 {
    if from == to {
        return bits;
    }
    let mask = u64::MAX >> (64 - 8 * to.bytes());
    match (value(from, bits), to) {
        (x, Elem::F64 | Elem::F32 | Elem::F16 | Elem::BF16) => round(to, x),
        (_, Elem::Bool) => panic!("nothing converts to bool"),
        (Exact::Int(n), _) => n as u64 & mask,
        (Exact::Float(x), Elem::I64) => x as i64 as u64,
        (Exact::Float(x), Elem::I32) => x as i32 as u64 & mask,
        (Exact::Float(x), Elem::I16) => x as i16 as u64 & mask,
        (Exact::Float(x), Elem::I8) => x as i8 as u64 & mask,
        (Exact::Float(x), Elem::U64) => x as u64,
        (Exact::Float(x), Elem::U32) => (x as u32).into(),
        (Exact::Float(x), Elem::U16) => (x as u16).into(),
        (Exact::Float(x), Elem::U8) => (x as u8).into(),
    }
}

fn nan(e: Elem, bits: u64) -> bool {
    e.is_float() && matches!(value(e, bits), Exact::Float(x) if x.is_nan())
}

/// Every word of 16 bits; else random bits, numbers of every size, and neighbours of 16-bit floats and their midpoints.
fn inputs(e: Elem) -> Vec<u64> {
    if e == Elem::Bool {
        return vec![0, 1];
    }
    if e.bytes() <= 2 {
        return (0..1 << (8 * e.bytes())).collect();
    }
    let mut random = Random(7);
    let mask = u64::MAX >> (64 - 8 * e.bytes());
    let mut out = vec![0, 1, mask, mask >> 1, (mask >> 1) + 1];
    for _ in 0..20_000 {
        let r = random.next();
        let word = match r & 3 {
            0 => random.next() & mask,
            1 => random.next() & mask & !(u64::MAX >> (r >> 8 & 63)),
            _ if e.is_float() => {
                let narrow = if r & 4 == 0 { Elem::F16 } else { Elem::BF16 };
                let Exact::Float(x) = value(narrow, r >> 16 & 0xFFFF) else { panic!() };
                let Exact::Float(y) = value(narrow, ((r >> 16) + 1) & 0xFFFF) else { panic!() };
                let middle = (x + y) / 2.0;
                let wide = if e == Elem::F64 { middle.to_bits() } else { (middle as f32).to_bits().into() };
                (wide as i64).wrapping_add((r >> 40 & 7) as i64 - 3) as u64 & mask
            }
            _ => random.next() >> (r >> 8 & 63) & mask,
        };
        out.push(word);
    }
    if !e.is_float() {
        // Near the midpoints of 24, 11 and 8 bits.
        for shift in 0..(8 * e.bytes() - 1) {
            for near in -2i64..=2 {
                for base in [0x101u64, 0x103, 0x801, 0x803, 0x100_0001, 0x100_0003, 0x20_0000_0000_0001] {
                    out.push((base << shift).wrapping_add(near as u64) & mask);
                }
            }
        }
    }
    out
}

#[test]
fn conversions_round_once_and_saturate() {
    let Some(llvm) = common::llvm() else { return };
    for from in ALL {
        let xs = inputs(from);
        let bytes = xs.iter().flat_map(|x| x.to_le_bytes()[..from.bytes() as usize].to_vec()).collect();
        let input = Data { bytes, written: false };
        for into in ALL {
            if into == Elem::Bool && from != Elem::Bool {
                continue;
            }
            let mut b = Build::new("cast");
            let n = b.size("N");
            let x = b.buffer("x", elem(from), vec![v(n)], Role::Reads);
            let o = b.buffer("out", elem(into), vec![v(n)], Role::Mut);
            let i = b.index("i");
            let body = store(o, &[v(i)], op(Prim::Cast(into), vec![load(x, &[v(i)])]));
            let code = native(&llvm, &program(vec![b.done(vec![each(i, to(v(n)), vec![body])])]), 0, &[]);
            let width = into.bytes() as usize;
            let got = code.call(&[xs.len()], &[input.clone(), writes(xs.len() * width)]);
            for (x, g) in xs.iter().zip(got[0].chunks_exact(width)) {
                let g = g.iter().rev().fold(0, |x, b| x << 8 | u64::from(*b));
                let wanted = wanted(from, into, *x);
                // Widening leaves a NaN's payload open; narrowing does not.
                let open = from.is_float() && from.bytes() < into.bytes() && nan(into, g) && nan(into, wanted);
                assert!(g == wanted || open, "{from:?} {x:x} to {into:?}: {g:x} and not {wanted:x}");
            }
        }
    }
}
