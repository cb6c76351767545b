//! The arrays of a measurement: inputs with random words, outputs poisoned before every comparison.

use crate::native::Problem;
use cachet_core::instance::bind_ty;
use cachet_core::interpret::{Array, Value, scalar};
use cachet_core::ir::{Binding, Buffer, Elem, Fun, Layout, Program, Role, Ty, Var};
use cachet_core::layout;
use cachet_core::sized::value;
use cachet_runtime::{AlignedBuffer, BufferArg, fill_poison};

/// One parameter.
struct Parameter {
    ty: Ty,
    /// The elements of one cell, in order, each with where it lies in the cell.
    leaves: Vec<(Elem, usize)>,
    /// Bytes of a cell.
    width: usize,
    extents: Vec<i64>,
    layout: Layout,
    /// Cells.
    count: usize,
    /// Cells that it has room for, with what its layout fills up.
    room: usize,
    /// Filled with random words; `None` for an output.
    contents: Option<AlignedBuffer>,
}

/// What one kernel writes.
pub(super) struct Memory {
    /// Its outputs.
    pub outputs: Vec<AlignedBuffer>,
    /// What its schedule needs besides.
    pub scratch: Vec<AlignedBuffer>,
}

/// The parameters of a group's kernels. Inputs are shared, every kernel has outputs of its own.
pub(super) struct Inputs {
    params: Vec<Parameter>,
}

impl Inputs {
    /// Random inputs for a function at these sizes.
    pub fn new(program: &Program, fun: &Fun, types: &[Binding], sizes: &[i64], seed: u64) -> Result<Inputs, Problem> {
        let mut params = Vec::new();
        let mut random = Random(seed | 1);
        for p in &fun.params {
            let mut param = Parameter::of(program, fun, *p, types, sizes)?;
            if fun.buffers[p.index()].role == Role::Reads {
                let mut b = param.memory()?;
                random.fill(&param.leaves, param.width, b.bytes_mut());
                param.contents = Some(b);
            }
            params.push(param);
        }
        Ok(Inputs { params })
    }

    /// Memory for what a schedule of that function needs besides, poisoned.
    pub fn scratch(
        program: &Program,
        fun: &Fun,
        types: &[Binding],
        sizes: &[i64],
    ) -> Result<Vec<AlignedBuffer>, Problem> {
        let own = fun.params.iter().filter(|p| fun.scratch.contains(p));
        own.map(|p| Parameter::of(program, fun, *p, types, sizes)?.poisoned()).collect()
    }

    /// Bytes of the arrays that are read, and of those that are written.
    pub fn bytes(&self) -> (f64, f64) {
        let (read, written): (Vec<_>, Vec<_>) = self.params.iter().partition(|p| p.contents.is_some());
        let sum = |params: Vec<&Parameter>| params.iter().map(|p| p.count as f64 * p.width as f64).sum();
        (sum(read), sum(written))
    }

    /// The bytes of every array that is read.
    pub fn contents(&self) -> Vec<&[u8]> {
        self.params.iter().filter_map(|p| p.contents.as_ref()).map(AlignedBuffer::bytes).collect()
    }

    /// Outputs filled with a marked NaN.
    pub fn poisoned(&self) -> Result<Vec<AlignedBuffer>, Problem> {
        let outputs = self.params.iter().filter(|p| p.contents.is_none());
        outputs.map(Parameter::poisoned).collect()
    }

    /// Marks every output element as not written.
    pub fn poison(&self, outputs: &mut [AlignedBuffer]) {
        let params = self.params.iter().filter(|p| p.contents.is_none());
        params.zip(outputs).for_each(|(p, out)| fill_poison(out.bytes_mut(), p.width));
    }

    /// The arguments of one call: the parameters in order, then a schedule's own.
    pub fn args<'a>(&'a self, memory: &'a mut Memory) -> Vec<BufferArg<'a>> {
        let mut outputs = memory.outputs.iter_mut();
        let args = self.params.iter().map(|p| match &p.contents {
            Some(b) => BufferArg::Read(b.bytes()),
            None => BufferArg::Write(outputs.next().map_or(&mut [][..], |b| b.bytes_mut())),
        });
        args.chain(memory.scratch.iter_mut().map(|b| BufferArg::Write(b.bytes_mut()))).collect()
    }

    /// Whether all arrays lie row after row, as libraries want them.
    pub fn row_major(&self) -> bool {
        self.params.iter().all(|p| layout::ops(&p.layout).is_empty())
    }

    /// The inputs' bytes and elements, by parameter; `None` for an output and for records.
    pub fn input(&self, param: usize) -> Option<(&[u8], Elem)> {
        let p = self.params.get(param)?;
        let Ty::Elem(elem) = p.ty else { return None };
        Some((p.contents.as_ref()?.bytes(), elem))
    }

    /// The parameters as the evaluator of the equations wants them; of outputs, which it does not read, an empty one.
    pub fn arrays(&self) -> Option<Vec<Array>> {
        let all = self.params.iter().map(|p| match (&p.contents, &p.ty) {
            (None, _) => Array::new(&p.ty, &[0]),
            (Some(buffer), Ty::Elem(elem)) => {
                let words = (0..p.count).map(|i| bits(*elem, buffer.bytes(), p.start(i))).collect();
                Array::from_bits(*elem, &p.extents, words)
            }
            (Some(buffer), ty) => {
                let mut array = Array::new(ty, &p.extents)?;
                for cell in 0..p.count {
                    let mut words = p.words(buffer.bytes(), cell).into_iter();
                    array.set(&place(cell, &p.extents), &word(ty, &mut words)).then_some(())?;
                }
                Some(array)
            }
        });
        all.collect()
    }

    /// A parameter's extents.
    pub fn extents(&self, param: usize) -> &[i64] {
        &self.params[param].extents
    }

    /// The element type of the first output; of a record, its first field's.
    pub fn output_elem(&self) -> Elem {
        let first = self.params.iter().find(|p| p.contents.is_none()).and_then(|p| p.leaves.first());
        first.map_or(Elem::F32, |l| l.0)
    }

    /// How many output elements have different bits; two NaN count as equal.
    pub fn differing(&self, a: &[AlignedBuffer], b: &[AlignedBuffer]) -> usize {
        let outputs = self.params.iter().filter(|p| p.contents.is_none());
        let pairs = outputs.zip(a.iter().zip(b));
        pairs.map(|(p, (x, y))| (0..p.count).filter(|i| !p.same(x.bytes(), y.bytes(), *i)).count()).sum()
    }

    /// Output elements.
    pub fn cells(&self) -> usize {
        self.params.iter().filter(|p| p.contents.is_none()).map(|p| p.count).sum()
    }

    /// The largest difference between two outputs of numbers that libraries compute; a NaN on one side only is infinitely far.
    pub fn deviation(&self, a: &[AlignedBuffer], b: &[AlignedBuffer]) -> f64 {
        let number = |elem: Elem, bits: u64| match elem {
            Elem::F32 => f64::from(f32::from_bits(bits as u32)),
            Elem::I32 => f64::from(bits as i32),
            _ => f64::from_bits(bits),
        };
        let outputs = self.params.iter().filter(|p| p.contents.is_none());
        let mut largest = 0.0_f64;
        for (p, (x, y)) in outputs.zip(a.iter().zip(b)) {
            let Ty::Elem(elem @ (Elem::F32 | Elem::F64 | Elem::I32)) = p.ty else { continue };
            for cell in 0..p.count {
                let (x, y) = (number(elem, p.words(x.bytes(), cell)[0]), number(elem, p.words(y.bytes(), cell)[0]));
                let apart = if x == y || x.is_nan() && y.is_nan() { 0.0 } else { (x - y).abs() };
                largest = if apart.is_nan() { f64::INFINITY } else { largest.max(apart) };
            }
        }
        largest
    }

    /// Whether a cell of a parameter holds a word.
    pub fn holds(&self, param: usize, bytes: &[u8], cell: usize, want: &Value) -> bool {
        let Some(p) = self.params.get(param) else { return false };
        let mut wanted = Vec::new();
        flat(want, &mut wanted);
        let got = p.words(bytes, cell);
        let same = |((e, _), (x, y)): (&(Elem, usize), (&u64, &u64))| scalar::same(*e, *x, *y);
        wanted.len() == got.len() && p.leaves.iter().zip(wanted.iter().zip(&got)).all(same)
    }
}

impl Parameter {
    /// A parameter without contents.
    fn of(program: &Program, fun: &Fun, b: Buffer, types: &[Binding], sizes: &[i64]) -> Result<Parameter, Problem> {
        let info = &fun.buffers[b.index()];
        let size = |v: Var| fun.sizes.iter().position(|s| *s == v).and_then(|n| sizes.get(n)).copied();
        let ty = bind_ty(program, types, &info.elem);
        let mut leaves = Vec::new();
        let Some((width, _)) = lay_out(&ty, 0, &mut leaves) else {
            return Err(Problem::User(format!("the elements of `{}` are not known", info.name)));
        };
        let extents: Option<Vec<i64>> = info.extents.iter().map(|e| value(e, &size)).collect();
        let extents = extents.ok_or_else(|| Problem::User(format!("the extents of `{}` are not known", info.name)))?;
        let all = |n: Option<i64>| n.and_then(|n| usize::try_from(n).ok());
        let count = all(layout::room(&Layout::RowMajor, &extents));
        let room = all(layout::room(&info.layout, &extents));
        let bytes = room.and_then(|n| n.checked_mul(width)).filter(|b| *b < 1 << 40);
        let (Some(count), Some(room), Some(_)) = (count, room, bytes) else {
            return Err(Problem::User(format!("`{}` would be too large at this size", info.name)));
        };
        Ok(Parameter { ty, leaves, width, extents, layout: info.layout.clone(), count, room, contents: None })
    }

    fn memory(&self) -> Result<AlignedBuffer, Problem> {
        AlignedBuffer::new(self.room * self.width).map_err(Problem::Tool)
    }

    fn poisoned(&self) -> Result<AlignedBuffer, Problem> {
        let mut b = self.memory()?;
        fill_poison(b.bytes_mut(), self.width);
        Ok(b)
    }

    /// Where a cell starts, in bytes.
    fn start(&self, cell: usize) -> usize {
        let at = match &self.layout {
            Layout::RowMajor => cell,
            named @ Layout::Named { .. } => layout::place(named, &self.extents, &place(cell, &self.extents)) as usize,
        };
        at * self.width
    }

    /// The bits of one cell.
    fn words(&self, bytes: &[u8], cell: usize) -> Vec<u64> {
        let start = self.start(cell);
        self.leaves.iter().map(|(e, at)| bits(*e, bytes, start + at)).collect()
    }

    fn same(&self, a: &[u8], b: &[u8], cell: usize) -> bool {
        let start = self.start(cell);
        self.leaves.iter().all(|(e, at)| scalar::same(*e, bits(*e, a, start + at), bits(*e, b, start + at)))
    }
}

/// Where the elements of a type lie from `start` on, as C lays them out; gives size and alignment.
fn lay_out(ty: &Ty, start: usize, leaves: &mut Vec<(Elem, usize)>) -> Option<(usize, usize)> {
    match ty {
        Ty::Elem(e) => {
            leaves.push((*e, start));
            Some((e.bytes() as usize, e.bytes() as usize))
        }
        Ty::Tuple(parts) => {
            let (mut size, mut align) = (0usize, 1usize);
            for p in parts.iter() {
                let (_, needed) = lay_out(p, 0, &mut Vec::new())?;
                size = size.next_multiple_of(needed);
                size += lay_out(p, start + size, leaves)?.0;
                align = align.max(needed);
            }
            Some((size.next_multiple_of(align), align))
        }
        Ty::Abstract(_) => None,
    }
}

/// The word that the next bits are.
fn word(ty: &Ty, bits: &mut impl Iterator<Item = u64>) -> Value {
    match ty {
        Ty::Tuple(parts) => Value::Tuple(parts.iter().map(|p| word(p, bits)).collect()),
        Ty::Elem(_) | Ty::Abstract(_) => Value::Bits(bits.next().unwrap_or(0)),
    }
}

fn flat(value: &Value, out: &mut Vec<u64>) {
    match value {
        Value::Bits(b) => out.push(*b),
        Value::Tuple(parts) => parts.iter().for_each(|p| flat(p, out)),
    }
}

/// The indices of a cell by its number.
fn place(mut cell: usize, extents: &[i64]) -> Vec<i64> {
    let mut at: Vec<i64> = extents
        .iter()
        .rev()
        .map(|n| {
            let i = cell % (*n).max(1) as usize;
            cell /= (*n).max(1) as usize;
            i as i64
        })
        .collect();
    at.reverse();
    at
}

/// One element's bits, at a byte.
fn bits(elem: Elem, bytes: &[u8], at: usize) -> u64 {
    let width = elem.bytes() as usize;
    let mut word = [0; 8];
    word[..width].copy_from_slice(&bytes[at..at + width]);
    u64::from_le_bytes(word)
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

    /// Floats uniform in -1 .. 1, integers of any bits.
    fn fill(&mut self, leaves: &[(Elem, usize)], width: usize, bytes: &mut [u8]) {
        for cell in bytes.chunks_exact_mut(width) {
            for (elem, at) in leaves {
                let word = self.word(*elem);
                let size = elem.bytes() as usize;
                cell[*at..at + size].copy_from_slice(&word.to_le_bytes()[..size]);
            }
        }
    }

    fn word(&mut self, elem: Elem) -> u64 {
        let random = self.next();
        let unit = ((random >> 11) as f64 / (1u64 << 53) as f64).mul_add(2.0, -1.0);
        match elem {
            Elem::F64 => unit.to_bits(),
            Elem::F32 => u64::from((unit as f32).to_bits()),
            // A 16-bit float of any size but the largest, which may be infinite. Of bf16 only one in four: sums of numbers
            // of all sizes round next to nothing, and would tell little of a library's order.
            Elem::F16 => random >> 48 & 0xBBFF,
            Elem::BF16 if random & 3 == 0 => random >> 48 & 0xBFFF,
            Elem::BF16 => u64::from((unit as f32).to_bits() >> 16),
            Elem::Bool => random >> 63,
            Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => {
                random >> (64 - 8 * elem.bytes())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_lie_as_in_c() {
        let e = Ty::Elem;
        let inner = Ty::Tuple(vec![e(Elem::I16), e(Elem::F64)].into());
        let ty = Ty::Tuple(vec![e(Elem::Bool), inner, e(Elem::F32)].into());
        let mut leaves = Vec::new();
        assert_eq!(lay_out(&ty, 0, &mut leaves), Some((32, 8)));
        assert_eq!(leaves, [(Elem::Bool, 0), (Elem::I16, 8), (Elem::F64, 16), (Elem::F32, 24)]);
        assert_eq!(place(23, &[2, 3, 4]), [1, 2, 3]);
    }
}
