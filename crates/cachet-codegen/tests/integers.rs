//! Every operation and conversion of integers at the edges of its types: native code, the interpreter, and exact
//! arithmetic give the same bits, also where a result does not fit.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_core::interpret::scalar;
use cachet_core::ir::{Elem, Prim, Program, Role, Word};
use common::{Build, Data, each, elem, load, native, op, program, store, to, v, writes};

const INTS: [Elem; 8] = [Elem::I64, Elem::I32, Elem::I16, Elem::I8, Elem::U64, Elem::U32, Elem::U16, Elem::U8];

const UNARY: [Prim; 2] = [Prim::Neg, Prim::Abs];

const BINARY: [Prim; 13] = [
    Prim::Add,
    Prim::Sub,
    Prim::Mul,
    Prim::Div,
    Prim::Rem,
    Prim::WrappingAdd,
    Prim::WrappingSub,
    Prim::WrappingMul,
    Prim::Max,
    Prim::Min,
    Prim::Eq,
    Prim::Lt,
    Prim::Le,
];

/// `out[i] = op x[i] y[i]`, or of `x[i]` alone.
fn map(prim: Prim, arity: usize, from: Elem, out: Elem) -> Program {
    let mut b = Build::new("map");
    let n = b.size("N");
    let x = b.buffer("x", elem(from), vec![v(n)], Role::Reads);
    let y = b.buffer("y", elem(from), vec![v(n)], Role::Reads);
    let o = b.buffer("out", elem(out), vec![v(n)], Role::Mut);
    let i = b.index("i");
    let at = [v(i)];
    let args: Vec<Word> = [load(x, &at), load(y, &at)].into_iter().take(arity).collect();
    program(vec![b.done(vec![each(i, to(v(n)), vec![store(o, &at, op(prim, args))])])])
}

fn mask(e: Elem) -> u64 {
    u64::MAX >> (64 - 8 * e.bytes())
}

/// Words at and beside the ends and the middle of a type, and some between.
fn edges(e: Elem) -> Vec<u64> {
    let mask = mask(e);
    let mut out: Vec<u64> = Vec::new();
    for base in [0, mask >> 1, mask, mask / 3, mask >> (4 * e.bytes())] {
        out.extend((0..5).map(|d: u64| base.wrapping_add(d).wrapping_sub(2) & mask));
    }
    out.push(100 & mask);
    out.sort_unstable();
    out.dedup();
    out
}

/// The number that a word is.
fn number(e: Elem, bits: u64) -> i128 {
    let width = 8 * e.bytes();
    let signed = matches!(e, Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8);
    if signed && bits >> (width - 1) & 1 == 1 { i128::from(bits) - (1i128 << width) } else { i128::from(bits) }
}

fn exact(prim: Prim, e: Elem, a: i128, b: i128) -> u64 {
    // The quotient rounded down: the largest `q` with `q * b <= a`, or `>=` where `b` is negative.
    let quotient = || match b {
        0 => 0,
        _ => (a - ((a % b + b) % b)) / b,
    };
    let value = match prim {
        Prim::Add | Prim::WrappingAdd => a + b,
        Prim::Sub | Prim::WrappingSub => a - b,
        Prim::Mul | Prim::WrappingMul => a.wrapping_mul(b),
        Prim::Div => quotient(),
        Prim::Rem => a - quotient() * b,
        Prim::Max => a.max(b),
        Prim::Min => a.min(b),
        Prim::Eq => return (a == b).into(),
        Prim::Lt => return (a < b).into(),
        Prim::Le => return (a <= b).into(),
        Prim::Neg => -a,
        Prim::Abs => a.abs(),
        other => panic!("{other:?}"),
    };
    value as u64 & mask(e)
}

fn encode(e: Elem, xs: &[u64]) -> Data {
    Data { bytes: xs.iter().flat_map(|x| x.to_le_bytes()[..e.bytes() as usize].to_vec()).collect(), written: false }
}

fn run(llvm: &cachet_runtime::Llvm, p: &Program, from: Elem, out: Elem, xs: &[u64], ys: &[u64]) -> Vec<u64> {
    let width = out.bytes() as usize;
    let code = native(llvm, p, 0, &[]);
    let got = code.call(&[xs.len()], &[encode(from, xs), encode(from, ys), writes(xs.len() * width)]);
    let one = |c: &[u8]| c.iter().rev().fold(0, |x, b| x << 8 | u64::from(*b));
    got[0].chunks_exact(width).map(one).collect()
}

#[test]
fn operations_have_a_value_for_all_operands() {
    let llvm = common::llvm();
    let mut cases = 0;
    for e in INTS {
        let pairs: Vec<(u64, u64)> = edges(e).iter().flat_map(|a| edges(e).into_iter().map(|b| (*a, b))).collect();
        let (xs, ys): (Vec<u64>, Vec<u64>) = pairs.iter().copied().unzip();
        for (prim, arity) in UNARY.iter().map(|p| (*p, 1)).chain(BINARY.iter().map(|p| (*p, 2))) {
            let out = if matches!(prim, Prim::Eq | Prim::Lt | Prim::Le) { Elem::Bool } else { e };
            let got = llvm.as_ref().map(|l| run(l, &map(prim, arity, e, out), e, out, &xs, &ys));
            for (n, (x, y)) in pairs.iter().enumerate() {
                let wanted = exact(prim, e, number(e, *x), number(e, *y));
                let args: Vec<u64> = [*x, *y].into_iter().take(arity).collect();
                assert_eq!(scalar::primitive(prim, e, &args, false), Ok(wanted), "{prim:?} {e:?} {args:x?}");
                if let Some(got) = &got {
                    assert_eq!(got[n], wanted, "{prim:?} {e:?} {args:x?}, natively");
                }
                cases += 1;
            }
        }
    }
    println!("{cases} cases");
}

#[test]
fn conversions_say_what_becomes_of_what_does_not_fit() {
    let llvm = common::llvm();
    for from in INTS {
        let xs = edges(from);
        for into in INTS {
            let (lo, hi) = (number(into, 1 << (8 * into.bytes() - 1)).min(0), number(into, mask(into) >> 1));
            let hi = if lo == 0 { i128::from(mask(into)) } else { hi };
            for prim in [Prim::Cast(into), Prim::WrappingCast(into), Prim::SaturatingCast(into)] {
                let got = llvm.as_ref().map(|l| run(l, &map(prim, 1, from, into), from, into, &xs, &xs));
                for (n, x) in xs.iter().enumerate() {
                    let number = number(from, *x);
                    let kept = if matches!(prim, Prim::SaturatingCast(_)) { number.clamp(lo, hi) } else { number };
                    let wanted = kept as u64 & mask(into);
                    assert_eq!(scalar::primitive(prim, from, &[*x], false), Ok(wanted), "{prim:?} {from:?} {x:x}");
                    if let Some(got) = &got {
                        assert_eq!(got[n], wanted, "{prim:?} {from:?} {x:x}, natively");
                    }
                }
            }
        }
    }
}
