//! What the tests share: a builder for hand-made functions, tools or a printed skip, and calls with guarded buffers.
#![allow(dead_code, reason = "each test binary uses its own part")]

use cachet_codegen::{Options, Text, emit};
use cachet_core::ir::{
    Access, At, Binding, Block, Buffer, BufferInfo, Device, Domain, Elem, Fold, Fun, FunId, Guard, Ix, Layout, Level,
    Lit, Local, LocalInfo, Op, Prim, Program, Rel, Role, Stmt, StmtKind, Strides, Ty, Var, VarInfo, VarKind, Word,
};
use cachet_runtime::{BufferArg, Flush, GuardBuffer, Jit, KernelArity, Llvm, Pool, ToolError};

/// Sizes around every boundary: empty, one, odd, a vector, one less and one more, several.
pub const SIZES: [usize; 9] = [0, 1, 2, 3, 5, 15, 16, 17, 40];

/// Whether `CACHET_REQUIRE` names a tool, so that its absence is a failure and not a skip.
fn required(word: &str) -> bool {
    std::env::var("CACHET_REQUIRE").is_ok_and(|words| words.split(',').any(|item| item.trim() == word))
}

fn or_skip<T>(word: &str, found: Result<T, ToolError>) -> Option<T> {
    match found {
        Ok(tool) => Some(tool),
        Err(error) => {
            assert!(!required(word), "{word} is required: {error}");
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!("{}\n", format_args!("skipped: {error}")),
            );
            None
        }
    }
}

/// LLVM, or a printed skip.
pub fn llvm() -> Option<Llvm> {
    or_skip("llvm", Llvm::load())
}

/// A linker, or a printed skip.
pub fn linker() -> Option<()> {
    or_skip("linker", cachet_runtime::find_linker()).map(drop)
}

/// Options for this machine.
pub fn options(llvm: &Llvm) -> Options {
    let host = llvm.host().unwrap();
    Options { vector_bits: host.vector_bytes() as u32 * 8, cpu: host.cpu, features: host.features }
}

/// A function while it is made.
pub struct Build {
    pub fun: Fun,
}

pub fn elem(e: Elem) -> Ty {
    Ty::Elem(e)
}

impl Build {
    pub fn new(name: &str) -> Build {
        let fun = Fun {
            name: name.into(),
            type_params: vec![],
            sizes: vec![],
            params: vec![],
            requires: vec![],
            produces: vec![],
            algebras: vec![],
            scratch: vec![],
            resources: Default::default(),
            body: vec![],
            vars: vec![],
            locals: vec![],
            buffers: vec![],
            span: At::default(),
        };
        Build { fun }
    }

    pub fn var(&mut self, name: &str, kind: VarKind) -> Var {
        self.fun.vars.push(VarInfo { name: name.into(), kind });
        Var(self.fun.vars.len() as u32 - 1)
    }

    pub fn size(&mut self, name: &str) -> Var {
        let v = self.var(name, VarKind::Size);
        self.fun.sizes.push(v);
        v
    }

    pub fn index(&mut self, name: &str) -> Var {
        self.var(name, VarKind::Index)
    }

    pub fn blocks(&mut self, name: &str) -> Var {
        self.var(name, VarKind::Block)
    }

    pub fn local(&mut self, name: &str, ty: Ty, dims: &[i64], mutable: bool) -> Local {
        self.fun.locals.push(LocalInfo { name: name.into(), ty, dims: dims.to_vec(), vector: false, mutable });
        Local(self.fun.locals.len() as u32 - 1)
    }

    pub fn buffer(&mut self, name: &str, ty: Ty, extents: Vec<Ix>, role: Role) -> Buffer {
        self.fun.buffers.push(BufferInfo {
            name: name.into(),
            elem: ty,
            extents,
            layout: Layout::RowMajor,
            strides: Strides::Contiguous,
            level: Level { name: "DRAM".into(), device: Device::HOST },
            role,
            span: At::default(),
        });
        let b = Buffer(self.fun.buffers.len() as u32 - 1);
        if matches!(role, Role::Reads | Role::Mut) {
            self.fun.params.push(b);
        }
        b
    }

    pub fn done(mut self, body: Block) -> Fun {
        self.fun.body = body;
        self.fun
    }
}

pub fn v(v: Var) -> Ix {
    Ix::Var(v)
}

pub fn lit(n: i64) -> Ix {
    Ix::Lit(n)
}

pub fn to(hi: Ix) -> Domain {
    Domain::Range { lo: lit(0), hi }
}

pub fn bx<T>(x: T) -> Box<T> {
    Box::new(x)
}

pub fn less(a: Ix, b: Ix) -> Guard {
    Guard::Cmp(Rel::Lt, a, b)
}

pub fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: At::default() }
}

pub fn each(var: Var, domain: Domain, body: Block) -> Stmt {
    stmt(StmtKind::For { var, domain, body })
}

pub fn cell(buffer: Buffer, at: &[Ix]) -> Access {
    Access { buffer, at: at.to_vec(), span: At::default() }
}

pub fn load(buffer: Buffer, at: &[Ix]) -> Word {
    Word::Load(cell(buffer, at))
}

pub fn store(buffer: Buffer, at: &[Ix], word: Word) -> Stmt {
    stmt(StmtKind::Store { to: cell(buffer, at), word })
}

pub fn op(prim: Prim, args: Vec<Word>) -> Word {
    Word::Op { op: Op::Prim(prim), arith: Device::HOST, args }
}

pub fn get(l: Local) -> Word {
    Word::Local(l, vec![])
}

pub fn bits(elem: Elem, bits: u64) -> Word {
    Word::Lit(Lit { elem, bits })
}

/// A float of `f32` or `f64`, or an integer.
pub fn number(e: Elem, x: f64) -> Word {
    match e {
        Elem::F64 => bits(e, x.to_bits()),
        Elem::F32 => bits(e, (x as f32).to_bits().into()),
        _ => bits(e, x as i64 as u64),
    }
}

pub fn fold(var: Var, domain: Domain, acc: Local, init: Word, body: Word) -> Word {
    Word::Fold(bx(Fold { var, domain, acc, init, body, regroup: false, span: At::default() }))
}

/// A program of functions without type parameters; each is valid.
pub fn program(funs: Vec<Fun>) -> Program {
    let program = Program { funs, ..Program::default() };
    valid(&program);
    program
}

pub fn valid(program: &Program) {
    if let Err(faults) = cachet_core::validate::validate(program) {
        panic!("{faults:#?}");
    }
}

/// Text for one function.
pub fn text(program: &Program, fun: usize, types: &[Binding], options: &Options) -> Text {
    emit(program, &[(FunId(fun as u32), types.to_vec())], options).unwrap()
}

/// A function's code in this process.
pub struct Native {
    jit: Jit,
    name: String,
    arity: KernelArity,
    pub ir: String,
    /// What grids run on.
    pub pool: Option<Pool>,
}

pub fn native(llvm: &Llvm, program: &Program, fun: usize, types: &[Binding]) -> Native {
    native_for(llvm, program, fun, types, &options(llvm))
}

/// As [`native`], for a processor that this one can stand in for.
pub fn native_for(llvm: &Llvm, program: &Program, fun: usize, types: &[Binding], options: &Options) -> Native {
    let text = text(program, fun, types, options);
    let jit = llvm.compile_and_load(&text.ir).unwrap_or_else(|e| panic!("{e}\n{}", text.ir));
    let entry = &text.entries[0];
    let arity = KernelArity { sizes: entry.sizes, buffers: entry.buffers };
    Native { jit, name: entry.name.clone(), arity, ir: text.ir, pool: None }
}

/// A buffer of a call: bytes in, and whether it is written.
#[derive(Clone)]
pub struct Data {
    pub bytes: Vec<u8>,
    pub written: bool,
}

pub fn reads<T: Copy + Bytes>(xs: &[T]) -> Data {
    Data { bytes: xs.iter().flat_map(|x| x.bytes()).collect(), written: false }
}

/// So many bytes that are poison until they are written.
pub fn writes(bytes: usize) -> Data {
    Data { bytes: vec![0xA5; bytes], written: true }
}

impl Native {
    /// Runs twice, with guard pages behind and before each buffer; the written buffers, the same both times.
    pub fn call(&self, sizes: &[usize], data: &[Data]) -> Vec<Vec<u8>> {
        let behind = self.call_flush(sizes, data, Flush::End);
        let before = self.call_flush(sizes, data, Flush::Start);
        assert_eq!(behind, before);
        behind
    }

    fn call_flush(&self, sizes: &[usize], data: &[Data], flush: Flush) -> Vec<Vec<u8>> {
        let mut buffers: Vec<GuardBuffer> = data
            .iter()
            .map(|d| {
                let mut b = GuardBuffer::new(d.bytes.len(), flush).unwrap();
                b.bytes_mut().copy_from_slice(&d.bytes);
                b
            })
            .collect();
        let sizes: Vec<i64> = sizes.iter().map(|n| *n as i64).collect();
        let mut args: Vec<BufferArg<'_>> = buffers
            .iter_mut()
            .zip(data)
            .map(|(b, d)| if d.written { BufferArg::Write(b.bytes_mut()) } else { BufferArg::Read(b.bytes()) })
            .collect();
        let kernel = self.jit.kernel(&self.name, self.arity).unwrap();
        match &self.pool {
            None => kernel.call(&sizes, &mut args).unwrap(),
            Some(pool) => kernel.call_on(pool.interface(), &sizes, &mut args).unwrap(),
        }
        drop(args);
        assert!(buffers.iter().all(GuardBuffer::slack_is_intact), "a write beside a buffer");
        buffers.iter().zip(data).filter(|(_, d)| d.written).map(|(b, _)| b.bytes().to_vec()).collect()
    }

    pub fn run(&self) -> &Jit {
        &self.jit
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn arity(&self) -> KernelArity {
        self.arity
    }
}

/// Elements as bytes.
pub trait Bytes {
    fn bytes(self) -> Vec<u8>;
}

macro_rules! bytes {
    ($($t:ty)*) => {$(
        impl Bytes for $t {
            fn bytes(self) -> Vec<u8> {
                self.to_ne_bytes().to_vec()
            }
        }
    )*};
}
bytes!(f64 f32 i64 i32 i16 i8 u64 u32 u16 u8);

pub fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|c| f32::from_ne_bytes(c.try_into().unwrap())).collect()
}

pub fn f64s(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(8).map(|c| f64::from_ne_bytes(c.try_into().unwrap())).collect()
}

pub fn i64s(bytes: &[u8]) -> Vec<i64> {
    bytes.chunks_exact(8).map(|c| i64::from_ne_bytes(c.try_into().unwrap())).collect()
}

pub fn i32s(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|c| i32::from_ne_bytes(c.try_into().unwrap())).collect()
}

/// Numbers that look random and are the same every time.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    }

    /// Mostly numbers about 1; now and then zeros of both signs, infinities, NaNs, subnormals, extremes.
    pub fn float(&mut self, special: bool) -> f64 {
        let r = self.next();
        if special && r.is_multiple_of(13) {
            let all = [-0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310, -1e-40, 3e38, 1e308, 5e-324];
            return all[(r / 13 % all.len() as u64) as usize];
        }
        (r >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Equal bits, or NaN in both.
pub fn same64(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan())
}

pub fn same32(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan())
}
