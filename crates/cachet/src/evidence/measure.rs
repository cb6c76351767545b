//! Does a template give the bits of its reference body, on this processor?
//!
//! A function that applies the instruction to the rows of arrays is checked like any other and compiled twice, with the
//! template and with the body; the interpreter runs the body on some of the rows. All three have to agree in every bit, a
//! NaN for a NaN.

use super::Record;
use super::operands::{Kind, Random, negated, word};
use crate::native::{self, Native, Problem};
use crate::pipeline::{self, Outcome};
use crate::world::{Disk, World};
use cachet_core::instr::{Instr, InstrParam, Template};
use cachet_core::interpret::{self, Array, Prepared, scalar};
use cachet_core::ir::{Elem, FunId};
use cachet_frontend::Files;
use cachet_runtime::{AlignedBuffer, BufferArg, Kernel, Llvm};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How many rows one call computes.
const ROWS: usize = 1024;
/// How many of them the interpreter computes too.
const INTERPRETED: usize = 8;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What is imported: `cachet:instructions/x86`, or a file's path.
    pub from: String,
    /// The instruction's name.
    pub instruction: String,
    /// At least so many lanes of results.
    pub cases: u64,
    /// What the inputs are drawn from.
    pub seed: u64,
}

/// What came out.
#[derive(Clone, Debug)]
pub enum Found {
    /// The template and the body agree.
    Agrees(Record),
    /// They do not.
    Differs(Difference),
    /// This processor has none of the targets.
    NotHere(Vec<String>),
}

/// An input on which a template and a body differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The instruction.
    pub instruction: String,
    /// The target of the template.
    pub target: String,
    /// The kind of input.
    pub kind: Kind,
    /// How many cases agreed before.
    pub after: u64,
    /// The lane of the result.
    pub lane: usize,
    /// Every operand: its name and its lanes.
    pub operands: Vec<(String, Vec<u64>)>,
    /// The result's type.
    pub elem: Elem,
    /// What the template gave.
    pub template: u64,
    /// What the body is.
    pub body: u64,
    /// Whether it was the body as machine code that the interpreter does not agree with.
    pub compiled_body: bool,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = (self.elem.bytes() * 2) as usize;
        let what = if self.compiled_body { "the body as machine code" } else { "the template" };
        write!(f, "lane {} of {}: {what} for {} gives ", self.lane, self.instruction, self.target)?;
        write!(f, "0x{:0width$x}, the body 0x{:0width$x}", self.template, self.body)?;
        for (name, lanes) in &self.operands {
            let lanes: Vec<String> = lanes.iter().map(|l| format!("{l:#x}")).collect();
            write!(f, "\n  {name} = {}", lanes.join(" "))?;
        }
        write!(f, "\n  {} inputs, after {} cases that agree", self.kind.name(), self.after)
    }
}

/// The instructions of a file or of a module of the library, by name.
pub fn instructions(from: &str) -> Result<Vec<String>, Problem> {
    let (outcome, _) = checked(from, &import(from))?;
    Ok(outcome.checked.program().instrs.iter().map(|i| i.name.clone()).collect())
}

/// Measures one instruction on this processor.
pub fn measure(asked: &Asked, llvm: &Llvm) -> Result<Found, Problem> {
    let from = &asked.from;
    let (before, _) = checked(from, &import(from))?;
    let named = |i: &&Instr| i.name == asked.instruction;
    let Some(instr) = before.checked.program().instrs.iter().find(named) else {
        return Err(Problem::User(format!("there is no instruction `{}` in {from}", asked.instruction)));
    };
    let host = llvm.host().map_err(Problem::Tool)?;
    let Some(template) = native::template(instr, &host) else {
        return Ok(Found::NotHere(instr.templates.iter().map(|t| t.target.clone()).collect()));
    };
    let (outcome, fun) = checked(from, &around(from, instr))?;
    let fun = fun.ok_or_else(|| Problem::User("the function around the instruction is missing".into()))?;
    let both = [native::compile(&outcome, &[(fun, vec![])], llvm)?, native::compile_bodies(&outcome, fun, llvm)?];
    let mut run = Run::new(&outcome, fun, instr, template, &both, asked)?;
    let kinds = Kind::ALL;
    let mut n = 0;
    while run.record.cases < asked.cases || n < kinds.len() {
        if let Some(found) = run.rows(kinds[n % kinds.len()])? {
            return Ok(Found::Differs(found));
        }
        n += 1;
    }
    run.record.digest = instr.digest(before.checked.program(), template);
    run.record.processor = host.cpu;
    run.record.llvm = llvm.version();
    Ok(Found::Agrees(run.record))
}

fn import(from: &str) -> String {
    let name = Path::new(from).file_name().map_or(from, |n| n.to_str().unwrap_or(from));
    format!("import \"{}\"\n", if from.starts_with("cachet:") { from } else { name })
}

/// A program whose function `measured` applies the instruction to row after row.
fn around(from: &str, instr: &Instr) -> String {
    let (mut params, mut loads, mut args) = (String::new(), String::new(), String::new());
    for (n, p) in instr.params.iter().enumerate() {
        match instr.param_vector(*p) {
            Some((elem, lanes)) => {
                params.push_str(&format!(" (reads p{n}: [{elem}; Rows, {lanes}])"));
                loads.push_str(&format!("    let v{n}: Vec {elem} {lanes} = load p{n}[row, 0 ..+ {lanes}]\n"));
                args.push_str(&format!(" v{n}"));
            }
            None => {
                params.push_str(&format!(" (reads p{n}: [u8; I{n}])"));
                args.push_str(&format!(" I{n}"));
            }
        }
    }
    let (elem, lanes, name) = (instr.elem, instr.lanes, &instr.name);
    let head = format!("fn measured{params} (out r: [{elem}; Rows, {lanes}]) =");
    let store = format!("    store r[row, 0 ..+ {lanes}] = {name}{args}");
    format!("{}\n{head}\n  for row in 0 .. Rows do\n{loads}{store}\n", import(from))
}

/// Checks a text beside a file.
fn checked(from: &str, text: &str) -> Result<(Outcome, Option<FunId>), Problem> {
    let folder = match from.starts_with("cachet:") {
        true => PathBuf::from("."),
        false => Path::new(from).parent().map(Path::to_path_buf).unwrap_or_default(),
    };
    let path = folder.join("measured instruction.cachet");
    let world = Beside { path: path.clone(), text: text.to_string(), disk: Disk::default() };
    let outcome = pipeline::check(&path.display().to_string(), &world);
    if let Some(d) = outcome.diagnostics.iter().find(|d| d.refuses()) {
        return Err(Problem::Refused(Box::new(d.clone())));
    }
    let fun = outcome.find("measured");
    Ok((outcome, fun))
}

/// The disk, and one file that is not on it.
struct Beside {
    path: PathBuf,
    text: String,
    disk: Disk,
}

impl World for Beside {
    fn files(&self) -> &dyn Files {
        self
    }
}

impl Files for Beside {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        if path == self.path { Ok(self.text.clone().into_bytes()) } else { self.disk.read(path) }
    }

    fn identity(&self, path: &Path) -> PathBuf {
        self.disk.identity(path)
    }

    fn library(&self, name: &str) -> Option<Vec<(&'static str, &'static str)>> {
        self.disk.library(name)
    }
}

/// Rows that are computed three ways.
struct Run<'a> {
    instr: &'a Instr,
    by_template: Kernel,
    by_body: Kernel,
    interpreted: Prepared,
    sizes: Vec<Option<usize>>,
    random: Random,
    record: Record,
}

impl<'a> Run<'a> {
    fn new(
        outcome: &Outcome,
        fun: FunId,
        instr: &'a Instr,
        template: &Template,
        [template_code, body_code]: &[Native; 2],
        asked: &Asked,
    ) -> Result<Run<'a>, Problem> {
        let program = outcome.checked.program();
        let kernel = |n: &Native| {
            let only = n.kernels()?.into_iter().next();
            only.ok_or_else(|| Problem::User("there is no code to measure".into()))
        };
        let interpreted = interpret::prepare(program, fun, &[]).map_err(|t| Problem::User(t.text))?;
        let f = &program.funs[fun.index()];
        // Each size of the function: the number of rows, or the index of a parameter.
        let size = |v: &cachet_core::ir::Var| f.vars[v.index()].name.strip_prefix('I').and_then(|n| n.parse().ok());
        let record = Record {
            instruction: instr.name.clone(),
            target: template.target.clone(),
            digest: String::new(),
            processor: String::new(),
            llvm: String::new(),
            seed: asked.seed,
            cases: 0,
            interpreted: 0,
            kinds: BTreeMap::new(),
        };
        Ok(Run {
            instr,
            by_template: kernel(template_code)?,
            by_body: kernel(body_code)?,
            interpreted,
            sizes: f.sizes.iter().map(size).collect(),
            random: Random(asked.seed),
            record,
        })
    }

    /// One call's rows, of inputs of a kind.
    fn rows(&mut self, kind: Kind) -> Result<Option<Difference>, Problem> {
        let indices: Vec<i64> = self.instr.params.iter().map(|_| self.random.below(66) as i64).collect();
        let mut inputs: Vec<Vec<u64>> = Vec::new();
        for p in &self.instr.params {
            inputs.push(match self.instr.param_vector(*p) {
                Some((elem, lanes)) => {
                    let (result, added) = (self.instr.elem, self.is_added(*p));
                    (0..ROWS * lanes as usize).map(|_| word(&mut self.random, kind, (elem, result), added)).collect()
                }
                None => vec![0; indices[inputs.len()] as usize],
            });
        }
        if kind == Kind::Cancelling {
            self.cancel(&mut inputs, &indices)?;
        }
        let wanted = self.call(&self.by_body, &inputs, &indices, ROWS)?;
        let given = self.call(&self.by_template, &inputs, &indices, ROWS)?;
        let spoken = self.interpret(&inputs, &indices)?;
        let elem = self.instr.elem;
        let differ = |a: &[u64], b: &[u64]| a.iter().zip(b).position(|(a, b)| !scalar::same(elem, *a, *b));
        let found = match differ(&given, &wanted) {
            Some(n) => Some((n, given[n], wanted[n], false)),
            None => differ(&wanted, &spoken).map(|n| (n, wanted[n], spoken[n], true)),
        };
        if let Some((n, template, body, compiled_body)) = found {
            return Ok(Some(self.difference(kind, &inputs, n, (template, body, compiled_body))));
        }
        self.record.cases += wanted.len() as u64;
        self.record.interpreted += spoken.len() as u64;
        *self.record.kinds.entry(kind.name().into()).or_default() += wanted.len() as u64;
        Ok(None)
    }

    /// Whether a parameter is of the result's type and size: what the rest is added to, where there is such a thing.
    fn is_added(&self, p: InstrParam) -> bool {
        let of_result = |p: &&InstrParam| self.instr.param_vector(**p) == Some((self.instr.elem, self.instr.lanes));
        // Of several the last.
        self.instr.params.iter().rev().find(of_result) == Some(&p)
    }

    /// Makes what is added about the negative of the result without it.
    fn cancel(&mut self, inputs: &mut [Vec<u64>], indices: &[i64]) -> Result<(), Problem> {
        let Some(added) = self.instr.params.iter().position(|p| self.is_added(*p)) else { return Ok(()) };
        inputs[added].fill(0);
        let rest = self.call(&self.by_body, inputs, indices, ROWS)?;
        let elem = self.instr.elem;
        for (to, word) in inputs[added].iter_mut().zip(rest) {
            *to = negated(&mut self.random, elem, word) & mask(elem);
        }
        Ok(())
    }

    fn sizes(&self, indices: &[i64], rows: usize) -> Vec<i64> {
        self.sizes.iter().map(|s| s.map_or(rows as i64, |n| indices[n])).collect()
    }

    fn call(&self, kernel: &Kernel, inputs: &[Vec<u64>], indices: &[i64], rows: usize) -> Result<Vec<u64>, Problem> {
        let elems: Vec<Elem> =
            self.instr.params.iter().map(|p| self.instr.param_vector(*p).map_or(Elem::U8, |v| v.0)).collect();
        let mut memory = Vec::new();
        for (elem, words) in elems.iter().zip(inputs) {
            memory.push(packed(*elem, words)?);
        }
        let bytes = rows * self.instr.lanes as usize * self.instr.elem.bytes() as usize;
        let mut out = AlignedBuffer::new(bytes).map_err(Problem::Tool)?;
        let mut args: Vec<BufferArg<'_>> = memory.iter().map(|m| BufferArg::Read(m.bytes())).collect();
        args.push(BufferArg::Write(out.bytes_mut()));
        kernel.call(&self.sizes(indices, rows), &mut args).map_err(Problem::Tool)?;
        drop(args);
        Ok(unpacked(self.instr.elem, out.bytes()))
    }

    /// The results of the first rows, by the interpreter.
    fn interpret(&self, inputs: &[Vec<u64>], indices: &[i64]) -> Result<Vec<u64>, Problem> {
        let rows = INTERPRETED;
        let wrong = || Problem::User("an array of the measurement cannot be made".into());
        let mut args = Vec::new();
        for (p, words) in self.instr.params.iter().zip(inputs) {
            let array = match self.instr.param_vector(*p) {
                Some((elem, lanes)) => {
                    let some = words[..rows * lanes as usize].to_vec();
                    Array::from_bits(elem, &[rows as i64, lanes], some)
                }
                None => Array::from_bits(Elem::U8, &[words.len() as i64], words.clone()),
            };
            args.push(array.ok_or_else(wrong)?);
        }
        let result = cachet_core::ir::Ty::Elem(self.instr.elem);
        args.push(Array::new(&result, &[rows as i64, self.instr.lanes]).ok_or_else(wrong)?);
        let sizes = self.sizes(indices, rows);
        self.interpreted.run(&sizes, &mut args, &Default::default()).map_err(|t| Problem::User(t.text))?;
        Ok(args.last().map(|a| a.bits().to_vec()).unwrap_or_default())
    }

    fn difference(
        &self,
        kind: Kind,
        inputs: &[Vec<u64>],
        at: usize,
        (template, body, compiled_body): (u64, u64, bool),
    ) -> Difference {
        let (row, lane) = (at / self.instr.lanes as usize, at % self.instr.lanes as usize);
        let operand = |(p, words): (&InstrParam, &Vec<u64>)| {
            let lanes = match self.instr.param_vector(*p) {
                Some((_, lanes)) => words[row * lanes as usize..][..lanes as usize].to_vec(),
                None => vec![words.len() as u64],
            };
            (self.instr.param_name(*p).to_string(), lanes)
        };
        Difference {
            instruction: self.instr.name.clone(),
            target: self.record.target.clone(),
            kind,
            after: self.record.cases,
            lane,
            operands: self.instr.params.iter().zip(inputs).map(operand).collect(),
            elem: self.instr.elem,
            template,
            body,
            compiled_body,
        }
    }
}

fn mask(elem: Elem) -> u64 {
    u64::MAX >> (64 - 8 * elem.bytes())
}

fn packed(elem: Elem, words: &[u64]) -> Result<AlignedBuffer, Problem> {
    let width = elem.bytes() as usize;
    let mut out = AlignedBuffer::new(words.len() * width).map_err(Problem::Tool)?;
    for (to, word) in out.bytes_mut().chunks_exact_mut(width).zip(words) {
        to.copy_from_slice(&word.to_le_bytes()[..width]);
    }
    Ok(out)
}

fn unpacked(elem: Elem, bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks_exact(elem.bytes() as usize).map(word).collect()
}
