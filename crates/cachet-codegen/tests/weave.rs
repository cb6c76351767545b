//! Copies into groups of words: of several rows in turn, and of one row with each group turned round. At sizes around every
//! vector's width, for vectors of several widths, between guard pages.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_codegen::Options;
use cachet_core::ir::{Elem, Fun, Guard, Ix, Layout, LayoutOp, Rel, Role, Word};
use cachet_runtime::Llvm;
use common::{Build, Random, bx, each, elem, load, native_for, options, program, reads, store, text, to, v, writes};

const SIZES: [usize; 11] = [0, 1, 2, 3, 7, 8, 9, 31, 33, 64, 65];

/// This processor, and it as one with narrower vectors.
fn processors(llvm: &Llvm) -> Vec<Options> {
    let own = options(llvm);
    let widest = own.vector_bits.max(128);
    let narrower = |bits| Options { vector_bits: bits, ..own.clone() };
    [128, 256, 512].into_iter().filter(|bits| *bits <= widest).map(narrower).collect()
}

/// Bytes that tell all cells apart as far as their size allows.
fn cells(count: usize, bytes: usize) -> Vec<u8> {
    let mut random = Random(0x5EED + count as u64);
    (0..count).flat_map(|_| random.next().to_le_bytes()[..bytes].to_vec()).collect()
}

#[derive(Clone, Copy, Debug)]
struct Form {
    e: Elem,
    words: i64,
    back: bool,
    /// Which axis is in groups: the rows' or the columns'.
    axis: u32,
    rows_outside: bool,
    /// Whether the source ends before the destination.
    filled: bool,
}

impl Form {
    /// `t[i, j] = a[i, j]` in groups, or `if j < L then a[i, j] else 1`.
    fn fun(self) -> Fun {
        let mut b = Build::new("copy");
        let (m, n, l) = (b.size("M"), b.size("N"), b.size("L"));
        let width = if self.filled { l } else { n };
        let a = b.buffer("a", elem(self.e), vec![v(m), v(width)], Role::Reads);
        let t = b.buffer("t", elem(self.e), vec![v(m), v(n)], Role::Mut);
        let mut ops = vec![LayoutOp::Split { axis: self.axis, by: self.words, pad: true, back: self.back }];
        if self.axis == 0 {
            ops.push(LayoutOp::Order(vec![0, 2, 1]));
        }
        b.fun.buffers[t.index()].layout = Layout::Named { name: "Groups".into(), ops };
        let (i, j) = (b.index("i"), b.index("j"));
        let mut word = load(a, &[v(i), v(j)]);
        if self.filled {
            let one = Word::Lit(cachet_core::ir::Lit { elem: self.e, bits: 1 });
            word = Word::If(bx(Guard::Cmp(Rel::Lt, Ix::Var(j), v(l))), bx(word), bx(one));
        }
        let copy = store(t, &[v(i), v(j)], word);
        let ((outer, first), (inner, second)) = if self.rows_outside { ((i, m), (j, n)) } else { ((j, n), (i, m)) };
        b.done(vec![each(outer, to(v(first)), vec![each(inner, to(v(second)), vec![copy])])])
    }

    /// Where an element lies.
    fn place(self, (i, j): (usize, usize), n: usize) -> usize {
        let words = self.words as usize;
        let in_group = |at: usize| if self.back { words - 1 - at % words } else { at % words };
        match self.axis {
            0 => ((i / words) * n + j) * words + in_group(i),
            _ => (i * n.div_ceil(words) + j / words) * words + in_group(j),
        }
    }

    fn cells(self, (m, n): (usize, usize)) -> usize {
        let words = self.words as usize;
        if self.axis == 0 { m.div_ceil(words) * words * n } else { m * n.div_ceil(words) * words }
    }

    fn compare(self, llvm: &Llvm, options: &Options) {
        let bits = options.vector_bits;
        let p = program(vec![self.fun()]);
        let kernel = native_for(llvm, &p, 0, &[], options);
        assert!(kernel.ir.contains("shufflevector"), "{self:?} is not woven: {bits} bits");
        let size = self.e.bytes() as usize;
        let mut one = vec![0; size];
        one[0] = 1;
        for m in SIZES {
            for n in SIZES {
                let ends: &[usize] = if self.filled { &[0, n / 3, n.saturating_sub(1), n] } else { &[n] };
                for l in ends {
                    let a = cells(m * l, size);
                    let got = kernel.call(&[m, n, *l], &[reads(&a), writes(self.cells((m, n)) * size)]);
                    for i in 0..m {
                        for j in 0..n {
                            let want = if j < *l { &a[(i * l + j) * size..][..size] } else { &one };
                            let at = self.place((i, j), n) * size;
                            let here = format!("{self:?}, ({i}, {j}) of {m} x {n}, {l} read, {bits} bits");
                            assert_eq!(&got[0][at..][..size], want, "{here}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn rows_take_turns() {
    let Some(llvm) = common::llvm() else { return };
    for options in processors(&llvm) {
        for (e, words) in [(Elem::BF16, 2), (Elem::I8, 4), (Elem::U8, 8), (Elem::F32, 2), (Elem::F32, 4)] {
            for back in [false, true] {
                for (rows_outside, filled) in [(true, false), (true, true), (false, false), (false, true)] {
                    Form { e, words, back, axis: 0, rows_outside, filled }.compare(&llvm, &options);
                }
            }
        }
    }
}

#[test]
fn groups_of_a_row_are_turned_round() {
    let Some(llvm) = common::llvm() else { return };
    for options in processors(&llvm) {
        for (e, words) in [(Elem::BF16, 2), (Elem::I8, 4), (Elem::U16, 8), (Elem::F64, 2)] {
            for filled in [false, true] {
                Form { e, words, back: true, axis: 1, rows_outside: true, filled }.compare(&llvm, &options);
            }
        }
    }
}

/// Where a group has a number of words that no vector is a multiple of, where a loop goes two by two, and in one array, a copy
/// is made as it is written.
#[test]
fn other_copies_stay_loops() {
    let Some(llvm) = common::llvm() else { return };
    let threes = Form { e: Elem::I8, words: 3, back: false, axis: 0, rows_outside: true, filled: false };
    let p = program(vec![threes.fun()]);
    assert!(!text(&p, 0, &[], &options(&llvm)).ir.contains("shufflevector"));

    let ops = vec![LayoutOp::Split { axis: 0, by: 2, pad: true, back: false }, LayoutOp::Order(vec![0, 2, 1])];
    for in_place in [false, true] {
        let mut b = Build::new("copy");
        let n = b.size("N");
        let a = b.buffer("a", elem(Elem::I16), vec![v(n), v(n)], Role::Reads);
        let t = b.buffer("t", elem(Elem::I16), vec![Ix::Mul(2, bx(v(n))), v(n)], Role::Mut);
        b.fun.buffers[t.index()].layout = Layout::Named { name: "Groups".into(), ops: ops.clone() };
        let (i, j) = (b.index("i"), b.index("j"));
        let (row, from) = if in_place { (v(i), t) } else { (Ix::Mul(2, bx(v(i))), a) };
        let copy = store(t, &[row, v(j)], load(from, &[v(i), v(j)]));
        let p = program(vec![b.done(vec![each(i, to(v(n)), vec![each(j, to(v(n)), vec![copy])])])]);
        assert!(!text(&p, 0, &[], &options(&llvm)).ir.contains("shufflevector"), "in place: {in_place}");
    }
}
