//! Records and integers through every room: of each contraction of the examples, at the implementations that the files
//! have for it, the nest and its schedules give the same bits interpreted and native, and the nest those of the
//! equations; on hostile contents, at sizes from nothing on.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

use cachet::native::compile;
use cachet::pipeline::{Outcome, check};
use cachet::world::Disk;
use cachet_core::equations::Contraction;
use cachet_core::instance::bind_ty;
use cachet_core::interpret::{Array, Options, Value, prepare, scalar};
use cachet_core::ir::{Binding, Elem, FunId, ImplId, Ix, Role, Ty};
use cachet_oracle::equations::element;
use cachet_oracle::hostile::{KINDS, Kind, fill, poison};
use cachet_runtime::{AlignedBuffer, BufferArg, Llvm};
use std::path::Path;

/// Files, and the implementations that their generic contractions are run at.
const FILES: [(&str, &[&str]); 3] = [
    ("examples/routes.cachet", &["Longest f32"]),
    ("examples/integers.cachet", &["Wrapping u32", "Wrapping i64", "MaxMin i32", "BoolOrAnd bool"]),
    ("tests/suite/records.cachet", &[]),
];

const SIZES: [i64; 8] = [0, 1, 2, 3, 5, 8, 9, 17];

/// A contraction at an implementation: its nest first, then its schedules, each with what it is bound to.
struct Instance<'a> {
    label: String,
    contraction: &'a Contraction,
    types: Vec<Binding>,
    funs: Vec<(FunId, Vec<Binding>)>,
}

fn instances<'a>(outcome: &'a Outcome, impls: &[&str]) -> Vec<Instance<'a>> {
    let program = outcome.checked.program();
    let mut out = Vec::new();
    for (contraction, nest) in &outcome.module.contractions {
        let choices: Vec<(String, Vec<Binding>)> = match contraction.type_params.len() {
            0 => vec![(contraction.name.clone(), vec![])],
            _ => {
                let find = |name: &str| program.impls.iter().position(|i| i.name == name).expect("it is there") as u32;
                let bound = |n: &&str| (format!("{} at {n}", contraction.name), vec![Binding::Impl(ImplId(find(n)))]);
                impls.iter().map(bound).collect()
            }
        };
        for (label, types) in choices {
            let mut funs = vec![(*nest, types.clone())];
            for s in outcome.module.scripts.iter().filter(|s| s.of == *nest) {
                let own = &program.funs[s.fun.index()];
                match own.type_params.is_empty() {
                    // Bound in the schedule itself, perhaps to another implementation.
                    true if s.types == types => funs.push((s.fun, vec![])),
                    true => {}
                    false => funs.push((s.fun, types.clone())),
                }
            }
            out.push(Instance { label, contraction, types, funs });
        }
    }
    out
}

/// Where the elements of a type lie, as C lays them out: (element, byte) in order, size and alignment.
fn lay_out(ty: &Ty) -> (Vec<(Elem, usize)>, usize, usize) {
    match ty {
        Ty::Elem(e) => (vec![(*e, 0)], e.bytes() as usize, e.bytes() as usize),
        Ty::Tuple(parts) => {
            let (mut leaves, mut size, mut align) = (Vec::new(), 0usize, 1usize);
            for (inner, bytes, needed) in parts.iter().map(lay_out) {
                size = size.next_multiple_of(needed);
                leaves.extend(inner.into_iter().map(|(e, at)| (e, size + at)));
                size += bytes;
                align = align.max(needed);
            }
            (leaves, size.next_multiple_of(align), align)
        }
        Ty::Abstract(_) => panic!("a type without a binding"),
    }
}

/// One parameter: its type, extents, and the elements of its cells one after another; `None` for an output.
struct Param {
    ty: Ty,
    extents: Vec<i64>,
    words: Option<Vec<u64>>,
}

impl Param {
    fn cells(&self) -> usize {
        self.extents.iter().product::<i64>() as usize
    }

    fn array(&self) -> Array {
        let (leaves, ..) = lay_out(&self.ty);
        let mut out = Array::new(&self.ty, &self.extents).expect("it fits");
        if let Some(words) = &self.words {
            for cell in 0..self.cells() {
                let mut own = words[cell * leaves.len()..(cell + 1) * leaves.len()].iter();
                assert!(out.set(&place(cell, &self.extents), &value(&self.ty, &mut own)));
            }
        }
        out
    }

    fn memory(&self) -> AlignedBuffer {
        let (leaves, size, _) = lay_out(&self.ty);
        let mut out = AlignedBuffer::new(self.cells() * size).expect("memory");
        for cell in 0..self.cells() {
            for (n, (e, at)) in leaves.iter().enumerate() {
                let word = self.words.as_ref().map_or(poison(*e), |w| w[cell * leaves.len() + n]);
                let start = cell * size + at;
                let width = e.bytes() as usize;
                out.bytes_mut()[start..start + width].copy_from_slice(&word.to_le_bytes()[..width]);
            }
        }
        out
    }

    /// What lies in memory, as [`Param::words`] has it.
    fn read(&self, bytes: &[u8]) -> Vec<u64> {
        let (leaves, size, _) = lay_out(&self.ty);
        let mut out = Vec::new();
        for cell in 0..self.cells() {
            for (e, at) in &leaves {
                let mut word = [0; 8];
                let (start, width) = (cell * size + at, e.bytes() as usize);
                word[..width].copy_from_slice(&bytes[start..start + width]);
                out.push(u64::from_le_bytes(word));
            }
        }
        out
    }

    fn differs(&self, want: &[u64], got: &[u64]) -> Option<String> {
        let (leaves, ..) = lay_out(&self.ty);
        let elems = leaves.iter().map(|l| l.0).cycle();
        let same = |(e, (a, b)): (Elem, (&u64, &u64))| scalar::same(e, *a, *b);
        if want.len() != got.len() {
            return Some(format!("{} elements instead of {}", got.len(), want.len()));
        }
        let at = elems.zip(want.iter().zip(got)).position(|p| !same(p))?;
        Some(format!("element {at} is {:#x} instead of {:#x}", got[at], want[at]))
    }
}

fn value<'a>(ty: &Ty, words: &mut impl Iterator<Item = &'a u64>) -> Value {
    match ty {
        Ty::Tuple(parts) => Value::Tuple(parts.iter().map(|p| value(p, words)).collect()),
        Ty::Elem(_) | Ty::Abstract(_) => Value::Bits(*words.next().expect("a word")),
    }
}

fn flat(value: &Value, out: &mut Vec<u64>) {
    match value {
        Value::Bits(b) => out.push(*b),
        Value::Tuple(parts) => parts.iter().for_each(|p| flat(p, out)),
    }
}

fn place(mut cell: usize, extents: &[i64]) -> Vec<i64> {
    let mut at = Vec::new();
    for n in extents.iter().rev() {
        at.insert(0, (cell % *n as usize) as i64);
        cell /= *n as usize;
    }
    at
}

fn params(outcome: &Outcome, i: &Instance<'_>, sizes: &[i64], kind: Kind, seed: u64) -> Vec<Param> {
    let program = outcome.checked.program();
    let fun = &program.funs[i.funs[0].0.index()];
    let size = |ix: &Ix| match ix {
        Ix::Lit(n) => *n,
        Ix::Var(v) => sizes[fun.sizes.iter().position(|s| s == v).expect("a size")],
        other => panic!("{other:?}"),
    };
    let one = |(n, p): (usize, &cachet_core::ir::Buffer)| {
        let info = &fun.buffers[p.index()];
        let ty = bind_ty(program, &i.types, &info.elem);
        let extents: Vec<i64> = info.extents.iter().map(size).collect();
        let mut out = Param { ty, extents, words: None };
        if info.role == Role::Reads {
            let (leaves, ..) = lay_out(&out.ty);
            // Each field of its own contents, the fields of a cell together.
            let fields: Vec<Vec<u64>> = (0u64..)
                .zip(&leaves)
                .map(|(f, (e, _))| fill(*e, seed ^ (n as u64) << 8 ^ f << 16, kind, out.cells()))
                .collect();
            out.words = Some((0..out.cells()).flat_map(|c| fields.iter().map(move |f| f[c])).collect());
        }
        out
    };
    fun.params.iter().enumerate().map(one).collect()
}

/// The outputs' words after an interpreted run.
fn interpreted(outcome: &Outcome, fun: &(FunId, Vec<Binding>), sizes: &[i64], params: &[Param]) -> Vec<Vec<u64>> {
    let mut args: Vec<Array> = params.iter().map(Param::array).collect();
    let code = prepare(outcome.checked.program(), fun.0, &fun.1).unwrap();
    code.run(sizes, &mut args, &Options::default()).unwrap();
    let outputs = params.iter().zip(args).filter(|(p, _)| p.words.is_none());
    outputs
        .map(|(_, a)| {
            assert!(a.written().iter().all(|w| *w), "every element is written");
            a.bits().to_vec()
        })
        .collect()
}

/// The nest's outputs, element by element from the equations.
fn computed(outcome: &Outcome, i: &Instance<'_>, sizes: &[i64], params: &[Param]) -> Vec<Vec<u64>> {
    let args: Vec<Array> = params.iter().map(Param::array).collect();
    let outputs = params.iter().filter(|p| p.words.is_none()).enumerate();
    outputs
        .map(|(n, p)| {
            let mut words = Vec::new();
            for cell in 0..p.cells() {
                let at = place(cell, &p.extents);
                let found = element(outcome.checked.program(), i.contraction, &i.types, sizes, &args, n, &at);
                flat(&found.expect("the equations have a value"), &mut words);
            }
            words
        })
        .collect()
}

fn agree(label: &str, params: &[Param], want: &[Vec<u64>], got: &[Vec<u64>]) {
    for ((p, want), got) in params.iter().filter(|p| p.words.is_none()).zip(want).zip(got) {
        if let Some(difference) = p.differs(want, got) {
            panic!("{label}: {difference}");
        }
    }
}

/// Sizes of a round: every choice of few, a sample of many.
fn choices(count: usize) -> Vec<Vec<i64>> {
    let total = SIZES.len().pow(count as u32);
    let digit = |n: usize, axis: usize| SIZES[n / SIZES.len().pow(axis as u32) % SIZES.len()];
    (0..total).step_by(if count > 2 { 7 } else { 1 }).map(|n| (0..count).map(|a| digit(n, a)).collect()).collect()
}

#[test]
fn records_and_integers_have_one_result() {
    let llvm = match Llvm::load() {
        Ok(llvm) => Some(llvm),
        Err(e) => {
            let required = std::env::var("CACHET_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|t| t.trim() == "llvm"), "llvm is required and missing: {e}");
            println!("skipped: native code: libLLVM is missing: {e}");
            None
        }
    };
    let mut runs = 0;
    for (file, impls) in FILES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        let outcome = check(path.to_str().unwrap(), &Disk::default());
        assert!(!outcome.refused(), "{file}: {:?}", outcome.diagnostics);
        for i in instances(&outcome, impls) {
            let native = llvm.as_ref().map(|l| compile(&outcome, &i.funs, l).unwrap_or_else(|p| panic!("{p:?}")));
            let kernels = native.as_ref().map(|n| n.kernels().unwrap_or_else(|p| panic!("{p:?}")));
            let count = outcome.checked.program().funs[i.funs[0].0.index()].sizes.len();
            for (round, sizes) in choices(count).into_iter().enumerate() {
                let kind = KINDS[round % KINDS.len()];
                let label = format!("{} at {sizes:?}, {kind:?}", i.label);
                let params = params(&outcome, &i, &sizes, kind, round as u64);
                let want = interpreted(&outcome, &i.funs[0], &sizes, &params);
                agree(&format!("{label}, equations"), &params, &want, &computed(&outcome, &i, &sizes, &params));
                for f in &i.funs[1..] {
                    agree(&format!("{label}, a schedule"), &params, &want, &interpreted(&outcome, f, &sizes, &params));
                    runs += 1;
                }
                for kernel in kernels.iter().flatten() {
                    let mut memory: Vec<AlignedBuffer> = params.iter().map(Param::memory).collect();
                    let args = memory.iter_mut().zip(&params);
                    let mut args: Vec<BufferArg<'_>> = args
                        .map(|(m, p)| match p.words {
                            Some(_) => BufferArg::Read(m.bytes()),
                            None => BufferArg::Write(m.bytes_mut()),
                        })
                        .collect();
                    kernel.call(&sizes, &mut args).unwrap();
                    drop(args);
                    let outputs = memory.iter().zip(&params).filter(|(_, p)| p.words.is_none());
                    let got: Vec<Vec<u64>> = outputs.map(|(m, p)| p.read(m.bytes())).collect();
                    agree(&format!("{label}, natively ({})", kernel.name()), &params, &want, &got);
                    runs += 1;
                }
            }
        }
    }
    println!("{runs} runs compared");
    assert!(runs > 200);
}
