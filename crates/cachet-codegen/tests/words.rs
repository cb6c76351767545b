//! Every operation and conversion of every element type, against the same in Rust.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_core::ir::{Elem, Prim, Program, Role, Word};
use common::{Build, Random, bits, each, elem, load, native, op, program, store, to, v};

const INTS: [Elem; 8] = [Elem::I64, Elem::I32, Elem::I16, Elem::I8, Elem::U64, Elem::U32, Elem::U16, Elem::U8];

/// `out[i] = word of x[i], y[i], z[i]`.
fn map(from: Elem, out: Elem, word: impl Fn(Word, Word, Word) -> Word) -> Program {
    let mut b = Build::new("map");
    let n = b.size("N");
    let mut input = |name: &str| b.buffer(name, elem(from), vec![v(n)], Role::Reads);
    let (x, y, z) = (input("x"), input("y"), input("z"));
    let o = b.buffer("out", elem(out), vec![v(n)], Role::Mut);
    let i = b.index("i");
    let at = [v(i)];
    let value = word(load(x, &at), load(y, &at), load(z, &at));
    program(vec![b.done(vec![each(i, to(v(n)), vec![store(o, &at, value)])])])
}

fn encode(e: Elem, xs: &[u64]) -> common::Data {
    let bytes = xs.iter().flat_map(|x| x.to_le_bytes()[..e.bytes() as usize].to_vec()).collect();
    common::Data { bytes, written: false }
}

fn decode(e: Elem, bytes: &[u8]) -> Vec<u64> {
    let one = |c: &[u8]| c.iter().rev().fold(0, |x, b| x << 8 | u64::from(*b));
    bytes.chunks_exact(e.bytes() as usize).map(one).collect()
}

/// Runs a map on words given and gives back words.
fn run(llvm: &cachet_runtime::Llvm, p: &Program, from: Elem, out: Elem, xs: [&[u64]; 3]) -> Vec<u64> {
    let code = native(llvm, p, 0, &[]);
    let n = xs[0].len();
    let data =
        [encode(from, xs[0]), encode(from, xs[1]), encode(from, xs[2]), common::writes(n * out.bytes() as usize)];
    decode(out, &code.call(&[n], &data)[0])
}

fn words(e: Elem, count: usize, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let mask = u64::MAX >> (64 - 8 * e.bytes());
    let special: Vec<u64> = match e {
        Elem::F64 => {
            [0.0, -0.0, 1.0, -1.5, f64::INFINITY, -f64::INFINITY, f64::NAN, 5e-324, 1e308, 0.5, 2.5, 1e10, -1e19]
                .map(f64::to_bits)
                .to_vec()
        }
        Elem::F32 => {
            [0.0, -0.0, 1.0, -1.5, f32::INFINITY, -f32::INFINITY, f32::NAN, 1e-45, 3e38, 0.5, 2.5, 1e10, -1e19]
                .map(|x| x.to_bits().into())
                .to_vec()
        }
        _ => vec![0, 1, 2, mask, mask >> 1, (mask >> 1) + 1, mask - 1, 7],
    };
    let mut all: Vec<u64> = (0..count)
        .map(|_| {
            let r = random.next();
            let near = r >> 8 & 3 == 0;
            match e {
                Elem::F64 if near => random.float(true).to_bits(),
                Elem::F32 if near => (random.float(true) as f32).to_bits().into(),
                _ if r & 3 == 0 => special[(r >> 16) as usize % special.len()],
                _ => random.next() & mask,
            }
        })
        .collect();
    all.extend(special);
    all
}

fn same(e: Elem, a: u64, b: u64) -> bool {
    match e {
        Elem::F64 => a == b || f64::from_bits(a).is_nan() && f64::from_bits(b).is_nan(),
        Elem::F32 => a == b || f32::from_bits(a as u32).is_nan() && f32::from_bits(b as u32).is_nan(),
        _ => a == b,
    }
}

fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a == b {
        if a.is_sign_negative() { b } else { a }
    } else if a > b {
        a
    } else {
        b
    }
}

fn float64(p: Prim, a: f64, b: f64, c: f64) -> u64 {
    match p {
        Prim::Add => (a + b).to_bits(),
        Prim::Sub => (a - b).to_bits(),
        Prim::Mul => (a * b).to_bits(),
        Prim::Div => (a / b).to_bits(),
        Prim::Fma => a.mul_add(b, c).to_bits(),
        Prim::Max => maximum(a, b).to_bits(),
        Prim::Min => (-maximum(-a, -b)).to_bits(),
        Prim::Neg => (-a).to_bits(),
        Prim::Abs => a.abs().to_bits(),
        Prim::Sqrt => a.sqrt().to_bits(),
        Prim::Eq => (a == b).into(),
        Prim::Lt => (a < b).into(),
        Prim::Le => (a <= b).into(),
        other => panic!("{other:?}"),
    }
}

fn float32(p: Prim, a: f32, b: f32, c: f32) -> u64 {
    let wide = |x: f64| u64::from((x as f32).to_bits());
    match p {
        Prim::Fma => a.mul_add(b, c).to_bits().into(),
        Prim::Add => (a + b).to_bits().into(),
        Prim::Sub => (a - b).to_bits().into(),
        Prim::Mul => (a * b).to_bits().into(),
        Prim::Div => (a / b).to_bits().into(),
        Prim::Sqrt => a.sqrt().to_bits().into(),
        Prim::Eq | Prim::Lt | Prim::Le => float64(p, a.into(), b.into(), 0.0),
        _ => wide(f64::from_bits(float64(p, a.into(), b.into(), c.into()))),
    }
}

#[test]
fn floats_compute_as_ieee_says() {
    let Some(llvm) = common::llvm() else { return };
    let ops = [
        (Prim::Add, 2),
        (Prim::Sub, 2),
        (Prim::Mul, 2),
        (Prim::Div, 2),
        (Prim::Fma, 3),
        (Prim::Max, 2),
        (Prim::Min, 2),
        (Prim::Neg, 1),
        (Prim::Abs, 1),
        (Prim::Sqrt, 1),
        (Prim::Eq, 2),
        (Prim::Lt, 2),
        (Prim::Le, 2),
    ];
    for e in [Elem::F64, Elem::F32] {
        let xs = [words(e, 3000, 1), words(e, 3000, 2), words(e, 3000, 3)];
        for (prim, arity) in ops {
            let out = if matches!(prim, Prim::Eq | Prim::Lt | Prim::Le) { Elem::Bool } else { e };
            let p = map(e, out, |a, b, c| op(prim, [a, b, c][..arity].to_vec()));
            let got = run(&llvm, &p, e, out, [&xs[0], &xs[1], &xs[2]]);
            for (i, g) in got.iter().enumerate() {
                let (a, b, c) = (xs[0][i], xs[1][i], xs[2][i]);
                let wanted = if e == Elem::F64 {
                    float64(prim, f64::from_bits(a), f64::from_bits(b), f64::from_bits(c))
                } else {
                    let f = |x: u64| f32::from_bits(x as u32);
                    float32(prim, f(a), f(b), f(c))
                };
                assert!(same(out, *g, wanted), "{e:?} {prim:?} {a:x} {b:x} {c:x}: {g:x} and not {wanted:x}");
            }
        }
    }
}

fn signed(e: Elem, x: u64) -> i128 {
    let width = 8 * e.bytes();
    let unsigned = i128::from(x);
    let has_sign = matches!(e, Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8);
    if has_sign && x >> (width - 1) & 1 == 1 { unsigned - (1 << width) } else { unsigned }
}

fn wrap(e: Elem, x: i128) -> u64 {
    (x as u64) & (u64::MAX >> (64 - 8 * e.bytes()))
}

#[test]
fn integers_compute_in_their_width() {
    let Some(llvm) = common::llvm() else { return };
    let ops = [
        (Prim::Add, 2),
        (Prim::Sub, 2),
        (Prim::Mul, 2),
        (Prim::Max, 2),
        (Prim::Min, 2),
        (Prim::Neg, 1),
        (Prim::Abs, 1),
        (Prim::Eq, 2),
        (Prim::Lt, 2),
        (Prim::Le, 2),
    ];
    for e in INTS {
        let xs = [words(e, 300, 1), words(e, 300, 2)];
        for (prim, arity) in ops {
            let out = if matches!(prim, Prim::Eq | Prim::Lt | Prim::Le) { Elem::Bool } else { e };
            let p = map(e, out, |a, b, _| op(prim, [a, b][..arity].to_vec()));
            let got = run(&llvm, &p, e, out, [&xs[0], &xs[1], &xs[0]]);
            for (i, g) in got.iter().enumerate() {
                let (a, b) = (signed(e, xs[0][i]), signed(e, xs[1][i]));
                let wanted = match prim {
                    Prim::Add => wrap(e, a + b),
                    Prim::Sub => wrap(e, a - b),
                    Prim::Mul => wrap(e, a.wrapping_mul(b)),
                    Prim::Max => wrap(e, a.max(b)),
                    Prim::Min => wrap(e, a.min(b)),
                    Prim::Neg => wrap(e, -a),
                    Prim::Abs => wrap(e, a.abs()),
                    Prim::Eq => (a == b).into(),
                    Prim::Lt => (a < b).into(),
                    Prim::Le => (a <= b).into(),
                    other => panic!("{other:?}"),
                };
                assert_eq!(*g, wanted, "{e:?} {prim:?} {a} {b}");
            }
        }
    }
}

#[test]
fn truth_values_and_choices() {
    let Some(llvm) = common::llvm() else { return };
    let xs: [&[u64]; 3] = [&[0, 0, 1, 1, 0, 1], &[0, 1, 0, 1, 1, 0], &[1, 1, 1, 0, 0, 0]];
    let b = Elem::Bool;
    type Value = fn(u64, u64, u64) -> u64;
    let cases: [(Prim, usize, Value); 5] = [
        (Prim::And, 2, |x, y, _| x & y),
        (Prim::Or, 2, |x, y, _| x | y),
        (Prim::Not, 1, |x, _, _| 1 - x),
        (Prim::Eq, 2, |x, y, _| (x == y).into()),
        (Prim::Select, 3, |x, y, z| if x == 1 { y } else { z }),
    ];
    for (prim, arity, wanted) in cases {
        let got = run(&llvm, &map(b, b, |x, y, z| op(prim, [x, y, z][..arity].to_vec())), b, b, xs);
        let wanted: Vec<u64> = (0..6).map(|i| wanted(xs[0][i], xs[1][i], xs[2][i])).collect();
        assert_eq!(got, wanted, "{prim:?}");
    }
}

#[test]
fn a_nan_has_one_set_of_bits() {
    let Some(llvm) = common::llvm() else { return };
    let nans = [0x7FC0_0001u64, 0xFFC0_0000, 0x7F80_0001, 0xFFFF_FFFF, 0x3F80_0000, 0x8000_0000];
    for prim in [None, Some(Prim::Neg), Some(Prim::Abs)] {
        let p = map(Elem::F32, Elem::U32, |x, _, _| {
            let x = prim.map_or(x.clone(), |p| op(p, vec![x]));
            op(Prim::ToBits, vec![x])
        });
        let got = run(&llvm, &p, Elem::F32, Elem::U32, [&nans, &nans, &nans]);
        assert_eq!(got[..4], [0x7FC0_0000; 4]);
        let signs = match prim {
            None => [0x3F80_0000, 0x8000_0000],
            Some(Prim::Neg) => [0xBF80_0000, 0],
            Some(_) => [0x3F80_0000, 0],
        };
        assert_eq!(got[4..], signs);
    }
    // What is only copied or written down keeps its bits, signalling NaNs too.
    let copy = run(&llvm, &map(Elem::F32, Elem::F32, |x, _, _| x), Elem::F32, Elem::F32, [&nans, &nans, &nans]);
    assert_eq!(copy, nans);
    for (e, nan) in [(Elem::F32, 0x7F80_0001), (Elem::F32, 0xFFC1_2345), (Elem::F64, 0xFFF0_0000_0000_0001)] {
        let got = run(&llvm, &map(e, e, |_, _, _| bits(e, nan)), e, e, [&[0], &[0], &[0]]);
        assert_eq!(got, [nan]);
    }
    // Bits become floats of their width and back.
    let widths = [(Elem::U64, Elem::F64), (Elem::I32, Elem::F32), (Elem::U16, Elem::F16), (Elem::I16, Elem::BF16)];
    for (int, float) in widths {
        let all = [0u64, 1, 0x1234, 0x7C00 - 1, 0x8001];
        let there = run(&llvm, &map(int, float, |x, _, _| op(Prim::FromBits(float), vec![x])), int, float, [&all; 3]);
        assert_eq!(there, all);
        let unsigned = [Elem::U16, Elem::U32, Elem::U64].into_iter().find(|u| u.bytes() == int.bytes()).unwrap();
        let p = map(float, unsigned, |x, _, _| op(Prim::ToBits, vec![x]));
        assert_eq!(run(&llvm, &p, float, unsigned, [&all; 3]), all);
    }
    for (float, nan, canonical) in [(Elem::F16, 0xFC01, 0x7E00), (Elem::BF16, 0xFF81, 0x7FC0)] {
        let p = map(float, Elem::U16, |x, _, _| op(Prim::ToBits, vec![x]));
        assert_eq!(run(&llvm, &p, float, Elem::U16, [&[nan]; 3]), [canonical]);
    }
}
