//! One function on two sides: in the interpreter, and as generated code on the same words.

use crate::generate::functions::{Drawn, Lending};
use crate::judge::{array, extents, leaves};
use crate::minimise::functions::Case;
use crate::native::{Call, Did, Lent, Level, PLACES, Place, Runner};
use crate::random::Random;
use cachet_codegen::{Options as Target, emit};
use cachet_core::interpret::{Array, Options, Prepared, Trap, Value, prepare, scalar};
use cachet_core::ir::{Buffer, Elem, Fun, FunId, Program, Ty};
use cachet_oracle::hostile::{KINDS, Kind, poison};

/// A run that takes more steps is none of ours.
const MOST_STEPS: u64 = 60_000;
/// Sizes that are drawn besides nothing and one: around short blocks, a vector, and a few vectors with one more.
const SIZES: [i64; 8] = [0, 1, 2, 3, 4, 5, 8, 17];

/// The words and the memory that a function is run on.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its sizes.
    pub sizes: Vec<i64>,
    /// What arrays are filled with.
    pub kind: Kind,
    /// Drawn from.
    pub seed: u64,
    /// Where they lie.
    pub place: Place,
}

/// What the interpreter says.
pub struct Expected {
    /// The arrays, with which cells were written.
    pub arrays: Vec<Array>,
    /// What was printed.
    pub printed: String,
}

/// Inputs for a function: each kind of words, sizes from nothing on, every place.
pub fn inputs(fun: &Fun, random: &mut Random, count: usize) -> Vec<Input> {
    let one = |n: usize| {
        let sizes = fun.sizes.iter().map(|_| if n < 2 { n as i64 } else { random.pick(&SIZES) }).collect();
        // A size of nothing leaves little to see: the kinds are shifted from one function to the next.
        let kind = KINDS[(n + random.below(KINDS.len())) % KINDS.len()];
        Input { sizes, kind, seed: random.next(), place: PLACES[n % PLACES.len()] }
    };
    (0..count).map(one).collect()
}

/// A function made ready in the interpreter.
pub fn ready(program: &Program, fun: FunId) -> Result<Prepared, Trap> {
    prepare(program, fun, &[])
}

/// Runs it there. A trap says that the function is no case at this input.
pub fn interpreted(ready: &Prepared, fun: &Fun, lending: &[Lending], input: &Input) -> Result<Expected, Trap> {
    let mut arrays = start(fun, lending, input);
    let options = Options { max_steps: MOST_STEPS, ..Options::default() };
    let mut printed = String::new();
    ready.run_with(&input.sizes, &mut arrays, &options, &mut printed)?;
    Ok(Expected { arrays, printed })
}

fn start(fun: &Fun, lending: &[Lending], input: &Input) -> Vec<Array> {
    let params = fun.params.iter().zip(extents(fun, &input.sizes)).zip(lending).enumerate();
    params
        .map(|(n, ((p, extents), lending))| {
            let ty = &fun.buffers[p.index()].elem;
            match lending {
                Lending::Filled => array(ty, &extents, input.kind, input.seed.wrapping_add(n as u64)),
                Lending::WrittenOnly if starts_unwritten(fun, *p, *lending) => Array::new(ty, &extents).unwrap(),
                Lending::WrittenOnly => marked(ty, &extents),
            }
        })
        .collect()
}

/// Whether no cell of an array has been written when the function starts.
fn starts_unwritten(fun: &Fun, p: Buffer, lending: Lending) -> bool {
    lending == Lending::WrittenOnly && (fun.produces.contains(&p) || fun.scratch.contains(&p))
}

/// An array that holds what stands in cells that have not been written: to the interpreter it has been, and is not read.
fn marked(ty: &Ty, extents: &[i64]) -> Array {
    let mut array = array(ty, extents, Kind::Equal, 0);
    let word = marks(ty);
    each_index(extents, &mut |at| assert!(array.set(at, &word)));
    array
}

fn marks(ty: &Ty) -> Value {
    match ty {
        Ty::Elem(e) => Value::Bits(mark(*e)),
        Ty::Tuple(parts) => Value::Tuple(parts.iter().map(marks).collect()),
        Ty::Abstract(_) => panic!("generic functions are bound before they run"),
    }
}

fn each_index(extents: &[i64], f: &mut dyn FnMut(&[i64])) {
    let mut at = vec![0; extents.len()];
    let count = extents.iter().product::<i64>();
    for _ in 0..count {
        f(&at);
        for (i, n) in at.iter_mut().zip(extents).rev() {
            *i += 1;
            if *i < *n {
                break;
            }
            *i = 0;
        }
    }
}

/// The same call of generated code.
pub fn call(entry: &str, fun: &Fun, lending: &[Lending], input: &Input) -> Call {
    let arrays = start(fun, lending, input);
    let all = fun.params.iter().zip(&arrays).zip(lending);
    let buffers = all.map(|((p, array), lending)| {
        let info = &fun.buffers[p.index()];
        let memory = Memory::of(&info.elem);
        let bytes = match lending {
            Lending::Filled => memory.bytes(array.bits()),
            Lending::WrittenOnly => memory.poisoned(array.written().len()),
        };
        Lent { bytes, written: info.role == cachet_core::ir::Role::Mut, align: memory.align }
    });
    Call { entry: entry.into(), sizes: input.sizes.clone(), buffers: buffers.collect(), place: input.place }
}

/// What generated code did otherwise: another word, poison that is left, a cell that is none of its business, another line.
pub fn difference(fun: &Fun, lending: &[Lending], expected: &Expected, did: &Did) -> Option<String> {
    let (left, printed) = match did {
        Did::Broke(why) => return Some(why.clone()),
        Did::Left(left, printed) => (left, printed),
    };
    let written =
        fun.params.iter().enumerate().filter(|(_, p)| fun.buffers[p.index()].role == cachet_core::ir::Role::Mut);
    for ((n, p), bytes) in written.zip(left) {
        let info = &fun.buffers[p.index()];
        // Nobody has any claim on what is left in scratch.
        if fun.scratch.contains(p) {
            continue;
        }
        let from_nothing = starts_unwritten(fun, *p, lending[n]);
        if let Some(what) = in_array(&info.elem, &expected.arrays[n], lending[n], from_nothing, bytes) {
            return Some(format!("`{}` {what}", info.name));
        }
    }
    (*printed != expected.printed).then(|| format!("it prints {printed:?} and not {:?}", expected.printed))
}

fn in_array(ty: &Ty, wanted: &Array, lending: Lending, from_nothing: bool, bytes: &[u8]) -> Option<String> {
    let memory = Memory::of(ty);
    let width = memory.leaves.len();
    for (cell, written) in wanted.written().iter().enumerate() {
        // It was lent as scratch: nobody has any claim on what is left there.
        if !*written && !from_nothing {
            continue;
        }
        for (leaf, (_, e)) in memory.leaves.iter().enumerate() {
            let got = memory.word(bytes, cell, leaf);
            let want = wanted.bits()[cell * width + leaf];
            let at = format!("in word {leaf} of cell {cell}");
            if lending == Lending::WrittenOnly && got == mark(*e) && want != got {
                return Some(format!("is still poisoned {at}: {want:#x} was to be written"));
            }
            let left_alone = !*written || lending == Lending::WrittenOnly && want == mark(*e);
            if left_alone && got != mark(*e) {
                return Some(format!("has {got:#x} {at}, which is not to be written"));
            }
            if !left_alone && !scalar::same(*e, got, want) {
                return Some(format!("has {got:#x} and not {want:#x} {at}"));
            }
        }
    }
    None
}

/// How many of an array's cells have been written, and how many left alone, where it started poisoned.
pub fn written_and_left(array: &Array) -> (u64, u64) {
    let elems = array.elem().map(leaves).unwrap_or_default();
    let Some(first) = elems.first() else { return (0, 0) };
    let cells = array.written().iter().zip(array.bits().chunks_exact(elems.len()));
    let left = cells.filter(|(written, bits)| !**written || bits[0] == mark(*first)).count();
    ((array.written().len() - left) as u64, left as u64)
}

/// What stands in cells that have not been written.
fn mark(e: Elem) -> u64 {
    if e == Elem::Bool { 0x5A } else { poison(e) }
}

/// How a type lies in memory, as C would have it.
struct Memory {
    size: usize,
    align: usize,
    leaves: Vec<(usize, Elem)>,
}

impl Memory {
    fn of(ty: &Ty) -> Memory {
        match ty {
            Ty::Elem(e) => {
                let n = e.bytes() as usize;
                Memory { size: n, align: n, leaves: vec![(0, *e)] }
            }
            Ty::Tuple(parts) => {
                let mut all = Memory { size: 0, align: 1, leaves: vec![] };
                for part in parts.iter().map(Memory::of) {
                    let start = all.size.next_multiple_of(part.align);
                    all.leaves.extend(part.leaves.iter().map(|(at, e)| (start + at, *e)));
                    all.size = start + part.size;
                    all.align = all.align.max(part.align);
                }
                all.size = all.size.next_multiple_of(all.align);
                assert_eq!(all.leaves.len(), leaves(ty).len(), "every element has its place");
                all
            }
            Ty::Abstract(_) => panic!("generic functions are bound before they run"),
        }
    }

    /// Words as bytes; what lies between them is marked.
    fn bytes(&self, words: &[u64]) -> Vec<u8> {
        let cells = words.chunks_exact(self.leaves.len());
        let mut out = vec![0xC5; cells.len() * self.size];
        for (n, words) in cells.enumerate() {
            for ((at, e), word) in self.leaves.iter().zip(words) {
                let at = n * self.size + at;
                let bytes = e.bytes() as usize;
                out[at..at + bytes].copy_from_slice(&word.to_le_bytes()[..bytes]);
            }
        }
        out
    }

    fn poisoned(&self, cells: usize) -> Vec<u8> {
        let one: Vec<u64> = self.leaves.iter().map(|(_, e)| mark(*e)).collect();
        self.bytes(&one.repeat(cells))
    }

    fn word(&self, bytes: &[u8], cell: usize, leaf: usize) -> u64 {
        let (at, e) = self.leaves[leaf];
        let at = cell * self.size + at;
        bytes[at..at + e.bytes() as usize].iter().rev().fold(0, |x, b| x << 8 | u64::from(*b))
    }
}

/// A case's failure, if it fails: compiled on its own.
pub fn fails(case: &Case, lending: &[Lending], input: &Input, level: Level, by: &mut Compiling<'_>) -> Option<String> {
    let fun = &case.program.funs[case.fun.index()];
    let input = Input { sizes: case.sizes.clone(), ..input.clone() };
    let ready = ready(&case.program, case.fun).ok()?;
    let expected = interpreted(&ready, fun, lending, &input).ok()?;
    let (ir, entries) = by.text(&case.program, &[case.fun]).ok()?;
    let did = by.runner.run(&ir, level, &[call(&entries[0], fun, lending, &input)]).ok()?;
    difference(fun, lending, &expected, &did[0])
}

/// What makes code, and what may be done to it on the way.
pub struct Compiling<'a> {
    /// The machine.
    pub target: &'a Target,
    /// Who runs it.
    pub runner: &'a mut Runner,
    /// Changes the program that code is made of; the interpreter does not see it.
    pub program: Option<&'a dyn Fn(&mut Program)>,
    /// Changes the text.
    pub changes: Option<&'a dyn Fn(&str) -> String>,
}

impl Compiling<'_> {
    /// LLVM text for functions, and their symbols.
    pub fn text(&self, program: &Program, funs: &[FunId]) -> Result<(String, Vec<String>), String> {
        let asked: Vec<_> = funs.iter().map(|f| (*f, vec![])).collect();
        let changed = self.program.map(|change| {
            let mut program = program.clone();
            change(&mut program);
            program
        });
        let text = emit(changed.as_ref().unwrap_or(program), &asked, self.target).map_err(|d| d.message)?;
        let ir = match self.changes {
            Some(change) => change(&text.ir),
            None => text.ir,
        };
        Ok((ir, text.entries.into_iter().map(|e| e.name).collect()))
    }
}

/// A drawn function as a case of its own: what it does not call is empty.
pub fn alone(program: &Program, drawn: &Drawn, sizes: &[i64]) -> Case {
    let mut case = Case { program: program.clone(), fun: drawn.fun, sizes: sizes.to_vec() };
    let (mut keep, mut todo) = (vec![false; program.funs.len()], vec![drawn.fun]);
    while let Some(id) = todo.pop() {
        if !std::mem::replace(&mut keep[id.index()], true) {
            todo.extend(cachet_core::rewrite::callees(&program.funs[id.index()]));
        }
    }
    for (fun, _) in case.program.funs.iter_mut().zip(keep).filter(|(_, keep)| !keep) {
        *fun = crate::generate::functions::empty("unused");
    }
    case
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::checked;

    #[test]
    fn what_was_lent_as_scratch_is_nobodys() {
        let text = "fn inner (mut m: [f32; N]) (mut p: [f32; N])\nscratch m\n=\n  for i in 0 .. N do\n    store p[i] = 1.0\n\n\
                    fn outer (mut q: [f32; N]) (mut r: [f32; N]) =\n  inner q r\n";
        let outcome = checked(text);
        assert_eq!(outcome.diagnostics, []);
        let program = outcome.checked.program();
        let outer = program.funs.iter().position(|f| f.name == "outer").unwrap();
        let (fun, lending) = (&program.funs[outer], [Lending::Filled; 2]);
        let input = Input { sizes: vec![1], kind: Kind::Equal, seed: 1, place: Place::End };
        let prepared = ready(program, FunId(outer as u32)).unwrap();
        let expected = interpreted(&prepared, fun, &lending, &input).unwrap();
        let left = |q: f32, r: f32| Did::Left([q, r].map(|x| x.to_le_bytes().to_vec()).to_vec(), String::new());
        assert_eq!(difference(fun, &lending, &expected, &left(7.0, 1.0)), None);
        let said = difference(fun, &lending, &expected, &left(7.0, 2.0)).unwrap();
        assert_eq!(said, "`r` has 0x40000000 and not 0x3f800000 in word 0 of cell 0");
    }
}
