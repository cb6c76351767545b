//! Programs drawn at random, natively and in the reference interpreter: the same bits in every cell.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_core::interpret::{Array, Options, prepare};
use cachet_core::ir::{
    At, Block, BlockPart, Buffer, Domain, Elem, FunId, Guard, Ix, Local, Prim, Program, Reduce, Rel, Role, Shape, Stmt,
    StmtKind, Ty, Var, Word,
};
use common::{Build, Data, Random, bits, bx, cell, each, elem, fold, get, lit, load, native, op, program, stmt, v};

const ELEMS: [Elem; 5] = [Elem::F64, Elem::F32, Elem::I64, Elem::I32, Elem::Bool];
/// Every buffer has these extents, so that `ix % extent` is inside.
const EXTENTS: [i64; 2] = [3, 7];

/// A program being drawn, with what is in scope.
struct Draw {
    b: Build,
    random: Random,
    indices: Vec<Var>,
    blocks: Vec<Var>,
    lets: Vec<(Local, Ty)>,
    muts: Vec<(Local, Ty, Vec<i64>)>,
    buffers: Vec<(Buffer, Elem)>,
    /// How many loops are around.
    loops: usize,
}

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        (self.random.next() >> 7) as usize % n
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        let n = self.below(all.len());
        all[n].clone()
    }

    fn ty(&mut self) -> Ty {
        match self.below(5) {
            0 => Ty::Tuple(vec![elem(Elem::F64), Ty::Tuple(vec![elem(Elem::F32), elem(Elem::I64)].into())].into()),
            _ => Ty::Elem(self.pick(&ELEMS)),
        }
    }

    fn ix(&mut self, depth: usize) -> Ix {
        let kinds = if depth == 0 { 4 } else { 13 };
        let n = 1 + self.below(9) as i64;
        match self.below(kinds) {
            0 => lit(n - 5),
            1 | 2 => v(self.pick(&self.indices.clone())),
            3 if !self.blocks.is_empty() => {
                let part = self.pick(&[BlockPart::Lo, BlockPart::Hi, BlockPart::Len, BlockPart::Idx]);
                Ix::Block(self.pick(&self.blocks.clone()), part)
            }
            3 => lit(n),
            4 if !self.blocks.is_empty() => Ix::InBlock(self.pick(&self.blocks.clone()), bx(self.ix(depth - 1))),
            4 | 5 => Ix::Add(bx(self.ix(depth - 1)), bx(self.ix(depth - 1))),
            6 => Ix::Sub(bx(self.ix(depth - 1)), bx(self.ix(depth - 1))),
            7 => Ix::Mul(n - 5, bx(self.ix(depth - 1))),
            8 => Ix::Div(bx(self.ix(depth - 1)), n),
            9 => Ix::Mod(bx(self.ix(depth - 1)), n),
            10 => Ix::Min(bx(self.ix(depth - 1)), bx(self.ix(depth - 1))),
            11 => Ix::Max(bx(self.ix(depth - 1)), bx(self.ix(depth - 1))),
            _ => Ix::If(bx(self.guard(depth - 1)), bx(self.ix(depth - 1)), bx(self.ix(depth - 1))),
        }
    }

    fn guard(&mut self, depth: usize) -> Guard {
        match self.below(if depth == 0 { 3 } else { 6 }) {
            0..3 => {
                let rel = self.pick(&[Rel::Eq, Rel::Ne, Rel::Lt, Rel::Le]);
                Guard::Cmp(rel, self.ix(depth.min(2)), self.ix(depth.min(2)))
            }
            3 => Guard::And(bx(self.guard(depth - 1)), bx(self.guard(depth - 1))),
            4 => Guard::Or(bx(self.guard(depth - 1)), bx(self.guard(depth - 1))),
            _ => Guard::Not(bx(self.guard(depth - 1))),
        }
    }

    fn inside(&mut self, extents: &[i64]) -> Vec<Ix> {
        extents.iter().map(|n| Ix::Mod(bx(self.ix(1)), *n)).collect()
    }

    /// A short range or a few blocks; the variable is in scope until [`Draw::leave`].
    fn enter(&mut self) -> (Var, Domain) {
        let lo = self.below(3) as i64 - 1;
        let hi = Ix::Mod(bx(self.ix(1)), 7);
        self.loops += 1;
        if self.below(3) == 0 {
            let size = 1 + self.below(4) as i64;
            let var = self.b.blocks("g");
            self.blocks.push(var);
            (var, Domain::Blocks { lo: lit(lo), hi, size })
        } else {
            let var = self.b.index("i");
            self.indices.push(var);
            (var, Domain::Range { lo: lit(lo), hi })
        }
    }

    fn leave(&mut self, var: Var) {
        self.loops -= 1;
        self.indices.retain(|i| *i != var);
        self.blocks.retain(|g| *g != var);
    }

    fn named(&mut self, ty: &Ty, depth: usize, body: impl FnOnce(&mut Draw, usize) -> Word) -> (Local, Word) {
        let local = self.b.local("l", ty.clone(), &[], false);
        self.lets.push((local, ty.clone()));
        let word = body(self, depth);
        self.lets.retain(|(l, _)| *l != local);
        (local, word)
    }

    fn word(&mut self, ty: &Ty, depth: usize) -> Word {
        if depth == 0 {
            return self.leaf(ty);
        }
        let down = depth - 1;
        match self.below(10) {
            0 => {
                let of = self.ty();
                let value = self.word(&of, down);
                let (local, body) = self.named(&of, down, |d, n| d.word(ty, n));
                Word::Let(local, bx(value), bx(body))
            }
            1 => Word::If(bx(self.guard(2)), bx(self.word(ty, down)), bx(self.word(ty, down))),
            2 if self.loops < 4 => {
                let init = self.word(ty, down);
                let (var, domain) = self.enter();
                let (acc, body) = self.named(ty, down, |d, n| d.word(ty, n));
                self.leave(var);
                fold(var, domain, acc, init, body)
            }
            3 if self.loops < 4 => self.reduction(ty, down),
            4 => {
                let first = Ty::Elem(self.pick(&ELEMS));
                let both = Word::Tuple(vec![self.word(&first, down), self.word(ty, down)]);
                Word::Part(bx(both), 1)
            }
            _ => match ty {
                Ty::Elem(e) => self.operation(*e, down),
                Ty::Tuple(parts) => Word::Tuple(parts.iter().map(|t| self.word(t, down)).collect()),
                Ty::Abstract(_) => panic!(),
            },
        }
    }

    fn reduction(&mut self, ty: &Ty, depth: usize) -> Word {
        let shape = self.pick(&[Shape::Order, Shape::Halving, Shape::Lanes(4), Shape::Lanes(1)]);
        let empty = self.word(ty, depth.min(1));
        let (var, mut domain) = self.enter();
        if shape == Shape::Halving {
            let hi = self.pick(&[0, 1, 2, 8]);
            domain = match domain {
                Domain::Range { .. } => Domain::Range { lo: lit(0), hi: lit(hi) },
                Domain::Blocks { size, .. } => Domain::Blocks { lo: lit(0), hi: lit(hi * size), size },
            };
        }
        let element = self.word(ty, depth.min(2));
        self.leave(var);
        let p = self.b.local("p", ty.clone(), &[], false);
        self.lets.push((p, ty.clone()));
        let (q, combine) = self.named(ty, depth.min(2), |d, n| d.word(ty, n));
        self.lets.retain(|(l, _)| *l != p);
        Word::Reduce(bx(Reduce { var, domain, element, operands: (p, q), combine, empty, shape, span: At::default() }))
    }

    fn leaf(&mut self, ty: &Ty) -> Word {
        let lets: Vec<Local> = self.lets.iter().filter(|(_, t)| t == ty).map(|(l, _)| *l).collect();
        if !lets.is_empty() && self.below(2) == 0 {
            return get(self.pick(&lets));
        }
        let muts: Vec<_> = self.muts.iter().filter(|(_, t, _)| t == ty).cloned().collect();
        if !muts.is_empty() && self.below(2) == 0 {
            let (local, _, dims) = self.pick(&muts);
            let at = self.inside(&dims);
            return Word::Local(local, at);
        }
        match ty {
            Ty::Tuple(parts) => Word::Tuple(parts.iter().map(|t| self.leaf(t)).collect()),
            Ty::Elem(e) => match self.below(3) {
                0 if *e != Elem::Bool => Word::Index(self.ix(2), *e),
                1 => bits(*e, value(*e, &mut self.random)),
                _ => {
                    let buffers: Vec<Buffer> = self.buffers.iter().filter(|(_, x)| x == e).map(|(b, _)| *b).collect();
                    let at = self.inside(&EXTENTS);
                    load(self.pick(&buffers), &at)
                }
            },
            Ty::Abstract(_) => panic!(),
        }
    }

    fn operation(&mut self, e: Elem, depth: usize) -> Word {
        if self.below(6) == 0 {
            let (c, a, b) =
                (self.word(&elem(Elem::Bool), depth), self.word(&elem(e), depth), self.word(&elem(e), depth));
            return op(Prim::Select, vec![c, a, b]);
        }
        if e == Elem::Bool {
            let of = self.pick(&ELEMS[..4]);
            let (prim, of) = match self.below(6) {
                0 => (Prim::And, e),
                1 => (Prim::Or, e),
                2 => return op(Prim::Not, vec![self.word(&elem(e), depth)]),
                3 => (Prim::Eq, of),
                4 => (Prim::Lt, of),
                _ => (Prim::Le, of),
            };
            return op(prim, vec![self.word(&elem(of), depth), self.word(&elem(of), depth)]);
        }
        if self.below(4) == 0 {
            let from = self.pick(&ELEMS);
            return op(Prim::Cast(e), vec![self.word(&elem(from), depth)]);
        }
        let prims: &[Prim] = if e.is_float() {
            use Prim::{Abs, Add, Div, Fma, Max, Min, Mul, Neg, Sqrt, Sub};
            &[Add, Sub, Mul, Div, Fma, Max, Min, Neg, Abs, Sqrt, Mul, Add]
        } else {
            &[Prim::Add, Prim::Sub, Prim::Max, Prim::Min, Prim::Neg]
        };
        let prim = self.pick(prims);
        let count = match prim {
            Prim::Fma => 3,
            Prim::Neg | Prim::Abs | Prim::Sqrt => 1,
            _ => 2,
        };
        op(prim, (0..count).map(|_| self.word(&elem(e), depth)).collect())
    }

    fn block(&mut self, depth: usize) -> Block {
        let scope = (self.lets.len(), self.muts.len());
        let out = (0..1 + self.below(4)).map(|_| self.stmt(depth)).collect();
        self.lets.truncate(scope.0);
        self.muts.truncate(scope.1);
        out
    }

    fn stmt(&mut self, depth: usize) -> Stmt {
        match self.below(if depth == 0 { 5 } else { 8 }) {
            0 => {
                let ty = self.ty();
                let word = self.word(&ty, 2);
                let local = self.b.local("l", ty.clone(), &[], false);
                self.lets.push((local, ty));
                stmt(StmtKind::Let { local, word })
            }
            1 => {
                let ty = self.ty();
                let dims = self.pick(&[vec![], vec![5], vec![2, 3]]);
                let init = self.word(&ty, 2);
                let local = self.b.local("m", ty.clone(), &dims, true);
                self.muts.push((local, ty, dims));
                stmt(StmtKind::Var { local, init })
            }
            2 if !self.muts.is_empty() => {
                let (local, ty, dims) = self.pick(&self.muts.clone());
                let (at, word) = (self.inside(&dims), self.word(&ty, 3));
                stmt(StmtKind::Assign { local, at, word })
            }
            2..5 => {
                let (buffer, e) = self.pick(&self.buffers.clone());
                let (at, word) = (self.inside(&EXTENTS), self.word(&elem(e), 4));
                stmt(StmtKind::Store { to: cell(buffer, &at), word })
            }
            5 => stmt(StmtKind::If { guard: self.guard(2), then: self.block(depth - 1), els: self.block(depth - 1) }),
            _ => {
                let (var, domain) = self.enter();
                let body = self.block(depth - 1);
                self.leave(var);
                each(var, domain, body)
            }
        }
    }
}

/// Mostly small and ordinary.
fn value(e: Elem, random: &mut Random) -> u64 {
    match e {
        Elem::F64 => random.float(true).to_bits(),
        Elem::F32 => (random.float(true) as f32).to_bits().into(),
        Elem::Bool => random.next() >> 9 & 1,
        _ => (random.next() as i64 >> 55) as u64 & (u64::MAX >> (64 - 8 * e.bytes())),
    }
}

fn draw(seed: u64) -> Program {
    let mut b = Build::new("drawn");
    let sizes = vec![b.size("N"), b.size("M")];
    let extents = || EXTENTS.iter().map(|n| lit(*n)).collect();
    let buffers = ELEMS.map(|e| (b.buffer("b", elem(e), extents(), Role::Mut), e)).to_vec();
    let random = Random(seed);
    let mut d = Draw { b, random, indices: sizes, blocks: vec![], lets: vec![], muts: vec![], buffers, loops: 0 };
    let body = d.block(3);
    program(vec![d.b.done(body)])
}

fn same(e: Elem, a: u64, b: u64) -> bool {
    match e {
        Elem::F64 => a == b || f64::from_bits(a).is_nan() && f64::from_bits(b).is_nan(),
        Elem::F32 => a == b || f32::from_bits(a as u32).is_nan() && f32::from_bits(b as u32).is_nan(),
        _ => a == b,
    }
}

#[test]
fn drawn_programs_compute_what_the_interpreter_says() {
    let Some(llvm) = common::llvm() else { return };
    let cells = EXTENTS.iter().product::<i64>() as usize;
    let (mut ran, mut changed) = (0, 0);
    for seed in 0..120 {
        let p = draw(seed);
        let ready = prepare(&p, FunId(0), &[]).unwrap();
        let code = native(&llvm, &p, 0, &[]);
        let mut random = Random(seed ^ 0xABCD);
        for sizes in [[0usize, 0], [1, 5], [6, 2]] {
            let before: Vec<Vec<u64>> =
                ELEMS.iter().map(|e| (0..cells).map(|_| value(*e, &mut random)).collect()).collect();
            let mut arrays: Vec<Array> = ELEMS
                .iter()
                .zip(&before)
                .map(|(e, bits)| Array::from_bits(*e, &EXTENTS, bits.clone()).unwrap())
                .collect();
            let options = Options { max_steps: 2_000_000, ..Options::default() };
            // A sum of integers that does not fit ends a run; a checked program has none.
            if ready.run(&sizes.map(|n| n as i64), &mut arrays, &options).is_err() {
                continue;
            }
            ran += 1;
            let data: Vec<Data> = ELEMS
                .iter()
                .zip(&before)
                .map(|(e, xs)| Data {
                    bytes: xs.iter().flat_map(|x| x.to_le_bytes()[..e.bytes() as usize].to_vec()).collect(),
                    written: true,
                })
                .collect();
            let got = code.call(&sizes, &data);
            for (((e, array), got), before) in ELEMS.iter().zip(&arrays).zip(&got).zip(&before) {
                let words = got.chunks_exact(e.bytes() as usize);
                let words = words.map(|c| c.iter().rev().fold(0u64, |x, b| x << 8 | u64::from(*b)));
                for (at, (word, wanted)) in words.zip(array.bits()).enumerate() {
                    assert!(same(*e, word, *wanted), "seed {seed}, {sizes:?}, {e:?} {at}: {word:x} and not {wanted:x}");
                }
                changed += usize::from(before != array.bits());
            }
        }
    }
    assert!(ran > 200 && changed > 150, "{ran} {changed}");
}
