//! The larger and the smaller of two numbers, where LLVM knows that one of them is no NaN.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_core::ir::{Elem, Prim, Role, Word};
use common::{Build, each, elem, load, native, op, program, store, to, v, writes};

#[test]
fn a_nan_wins_over_a_number_that_is_known_to_be_one() {
    let Some(llvm) = common::llvm() else { return };
    for (e, nans) in [
        (Elem::F32, vec![0x7fc0_0000u64, 0x7fc0_0002, 0x7f80_0001, 0x7fa0_0000, 0xffc0_0000, 0xff80_0001]),
        (Elem::F64, vec![0x7ff8_0000_0000_0000, 0x7ff0_0000_0000_0001, 0xfff8_0000_0000_0000, 0xfff0_0000_0000_0001]),
    ] {
        for prim in [Prim::Max, Prim::Min] {
            for turned in [false, true] {
                let mut b = Build::new("f");
                let n = b.size("N");
                let x = b.buffer("x", elem(e), vec![v(n)], Role::Reads);
                let y = b.buffer("y", elem(e), vec![v(n)], Role::Mut);
                let i = b.index("i");
                let mut args = vec![Word::Index(v(i), e), load(x, &[v(i)])];
                if turned {
                    args.reverse();
                }
                let p = program(vec![b.done(vec![each(i, to(v(n)), vec![store(y, &[v(i)], op(prim, args))])])]);
                let code = native(&llvm, &p, 0, &[]);
                let width = e.bytes() as usize;
                for nan in &nans {
                    for count in [1, 3, 16] {
                        let bytes: Vec<u8> = (0..count).flat_map(|_| nan.to_le_bytes()[..width].to_vec()).collect();
                        let data = common::Data { bytes, written: false };
                        let got = code.call(&[count], &[data, writes(count * width)]);
                        for (at, cell) in got[0].chunks_exact(width).enumerate() {
                            let word = cell.iter().rev().fold(0u64, |w, b| w << 8 | u64::from(*b));
                            let is_nan = cachet_core::interpret::scalar::is_nan(e, word);
                            assert!(is_nan, "{prim:?} {e:?} turned {turned}, {nan:x}, cell {at} of {count}: {word:x}");
                        }
                    }
                }
            }
        }
    }
}
