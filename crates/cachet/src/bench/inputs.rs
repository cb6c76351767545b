//! The arrays of a measurement: inputs with random words, outputs poisoned before every comparison.

use super::value;
use crate::native::Problem;
use cachet_core::instance::bind_ty;
use cachet_core::interpret::Array;
use cachet_core::ir::{Binding, Elem, Fun, Program, Role, Ty, Var};
use cachet_runtime::{AlignedBuffer, BufferArg, fill_poison};
use std::collections::BTreeMap;

/// One parameter.
struct Parameter {
    elem: Elem,
    count: usize,
    /// Filled with random words; `None` for an output.
    contents: Option<AlignedBuffer>,
}

/// The parameters of a group's kernels. Inputs are shared, every kernel has outputs of its own.
pub(super) struct Inputs {
    params: Vec<Parameter>,
    extents: Vec<Vec<i64>>,
}

impl Inputs {
    /// Random inputs for a function at these sizes.
    pub fn new(program: &Program, fun: &Fun, types: &[Binding], sizes: &[i64], seed: u64) -> Result<Inputs, Problem> {
        let values: BTreeMap<Var, i64> = fun.sizes.iter().copied().zip(sizes.iter().copied()).collect();
        let (mut params, mut all) = (Vec::new(), Vec::new());
        let mut random = Random(seed | 1);
        for p in &fun.params {
            let info = &fun.buffers[p.index()];
            let elem = match bind_ty(program, types, &info.elem) {
                Ty::Elem(e @ (Elem::F32 | Elem::F64)) => e,
                _ => {
                    return Err(Problem::User(format!(
                        "`{}` has elements that cannot be measured yet; f32 and f64 can",
                        info.name
                    )));
                }
            };
            let extents: Option<Vec<i64>> = info.extents.iter().map(|e| value(e, &values)).collect();
            let extents =
                extents.ok_or_else(|| Problem::User(format!("the extents of `{}` are not known", info.name)))?;
            let count = extents.iter().try_fold(1usize, |n, e| n.checked_mul(usize::try_from(*e).ok()?));
            let bytes = count.and_then(|n| n.checked_mul(elem.bytes() as usize)).filter(|b| *b < 1 << 40);
            let (Some(count), Some(bytes)) = (count, bytes) else {
                return Err(Problem::User(format!("`{}` would be too large at this size", info.name)));
            };
            let contents = match info.role {
                Role::Reads => {
                    let mut b = AlignedBuffer::new(bytes).map_err(Problem::Tool)?;
                    random.fill(elem, b.bytes_mut());
                    Some(b)
                }
                Role::Mut | Role::Alloc | Role::Lease(_) => None,
            };
            params.push(Parameter { elem, count, contents });
            all.push(extents);
        }
        Ok(Inputs { params, extents: all })
    }

    /// Outputs filled with a marked NaN.
    pub fn poisoned(&self) -> Result<Vec<AlignedBuffer>, Problem> {
        let outputs = self.params.iter().filter(|p| p.contents.is_none());
        outputs
            .map(|p| {
                let width = p.elem.bytes() as usize;
                let mut b = AlignedBuffer::new(p.count * width).map_err(Problem::Tool)?;
                fill_poison(b.bytes_mut(), width);
                Ok(b)
            })
            .collect()
    }

    /// The arguments of one call.
    pub fn args<'a>(&'a self, outputs: &'a mut [AlignedBuffer]) -> Vec<BufferArg<'a>> {
        let mut outputs = outputs.iter_mut();
        let args = self.params.iter().map(|p| match &p.contents {
            Some(b) => BufferArg::Read(b.bytes()),
            None => BufferArg::Write(outputs.next().map_or(&mut [][..], |b| b.bytes_mut())),
        });
        args.collect()
    }

    /// The inputs' bytes and elements, by parameter; `None` for an output.
    pub fn input(&self, param: usize) -> Option<(&[u8], Elem)> {
        let p = self.params.get(param)?;
        Some((p.contents.as_ref()?.bytes(), p.elem))
    }

    /// The parameters as the evaluator of the equations wants them; of outputs, which it does not read, an empty one.
    pub fn arrays(&self) -> Option<Vec<Array>> {
        let all = self.params.iter().zip(&self.extents).map(|(p, extents)| match &p.contents {
            None => Array::from_bits(p.elem, &[0], vec![]),
            Some(buffer) => {
                let words = (0..p.count).map(|i| bits(p.elem, buffer.bytes(), i)).collect();
                Array::from_bits(p.elem, extents, words)
            }
        });
        all.collect()
    }

    /// A parameter's extents.
    pub fn extents(&self, param: usize) -> &[i64] {
        &self.extents[param]
    }

    /// The element type of the first output.
    pub fn output_elem(&self) -> Elem {
        self.params.iter().find(|p| p.contents.is_none()).map_or(Elem::F32, |p| p.elem)
    }

    /// How many output elements have different bits; two NaN count as equal.
    pub fn differing(&self, a: &[AlignedBuffer], b: &[AlignedBuffer]) -> usize {
        let elems = self.params.iter().filter(|p| p.contents.is_none()).map(|p| p.elem);
        elems.zip(a.iter().zip(b)).map(|(e, (x, y))| differing(e, x.bytes(), y.bytes())).sum()
    }
}

/// One element's bits.
pub(super) fn bits(elem: Elem, bytes: &[u8], at: usize) -> u64 {
    let width = elem.bytes() as usize;
    let mut word = [0; 8];
    word[..width].copy_from_slice(&bytes[at * width..(at + 1) * width]);
    u64::from_le_bytes(word)
}

/// Whether two words are the same: equal bits, or both NaN.
pub(super) fn same(elem: Elem, a: u64, b: u64) -> bool {
    let nan = |x: u64| match elem {
        Elem::F64 => f64::from_bits(x).is_nan(),
        _ => f32::from_bits(x as u32).is_nan(),
    };
    a == b || (nan(a) && nan(b))
}

fn differing(elem: Elem, a: &[u8], b: &[u8]) -> usize {
    let count = a.len() / elem.bytes() as usize;
    (0..count).filter(|i| !same(elem, bits(elem, a, *i), bits(elem, b, *i))).count()
}

/// xorshift64*: enough for inputs.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Uniform in -1 .. 1.
    fn fill(&mut self, elem: Elem, bytes: &mut [u8]) {
        for cell in bytes.chunks_exact_mut(elem.bytes() as usize) {
            let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
            let x = unit.mul_add(2.0, -1.0);
            match elem {
                Elem::F64 => cell.copy_from_slice(&x.to_le_bytes()),
                _ => cell.copy_from_slice(&(x as f32).to_le_bytes()),
            }
        }
    }
}
