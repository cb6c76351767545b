//! Functions of the core drawn at random: of every kind of node that has native code, over every element type, tuples and
//! records, with what they call and apply.
//!
//! A drawn function is a program by `cachet_core::validate`, and mostly runs: indices are brought inside by remainders and
//! clamps, a grid's iterations stay in their windows, what is read has been written. Nobody has proved it; a run that the
//! interpreter ends is no case.
//!
//! Not drawn: given strides, layouts of parameters, memory and grids of devices, and grids of a level above 0.

pub mod coverage;
mod instructions;
mod library;
mod statements;
mod vectors;
mod words;

use crate::random::Random;
use cachet_core::ir::{
    Access, At, Buffer, BufferInfo, Device, Elem, Fun, FunId, Ix, Layout, Level, Local, LocalInfo, Parts, Prim,
    Program, Record, Role, Strides, Ty, Var, VarInfo, VarKind,
};

pub use library::{library, library_text};

/// All element types.
pub const ELEMS: [Elem; 13] = [
    Elem::F64,
    Elem::F32,
    Elem::F16,
    Elem::BF16,
    Elem::I64,
    Elem::I32,
    Elem::I16,
    Elem::I8,
    Elem::U64,
    Elem::U32,
    Elem::U16,
    Elem::U8,
    Elem::Bool,
];

/// What may be drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Whatever has native code.
    Native,
    /// What the language has words for, whose listings are read again.
    Text,
}

/// How a parameter is used, besides the role that its entry has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lending {
    /// It holds something before the call.
    Filled,
    /// Nothing in it is read before it is written, or at all: it starts poisoned, and what is not written stays so.
    WrittenOnly,
}

/// A drawn function.
pub struct Drawn {
    /// Which it is.
    pub fun: FunId,
    /// For each parameter.
    pub lending: Vec<Lending>,
}

/// A buffer in scope.
#[derive(Clone)]
struct Cells {
    buffer: Buffer,
    ty: Ty,
    extents: Vec<Ix>,
    reads: bool,
    writes: bool,
    /// Where it may be touched at all: a grid's iteration has cells of its own.
    only: Option<Vec<Ix>>,
}

/// A `var` in scope.
#[derive(Clone)]
struct Mut {
    local: Local,
    ty: Ty,
    dims: Vec<i64>,
    /// Whether it may be assigned here: in a grid, what is declared outside may not.
    assigned: bool,
}

/// A function being drawn, with what is in scope.
struct Draw<'a> {
    program: &'a Program,
    fun: Fun,
    random: &'a mut Random,
    what: Use,
    /// Types that are drawn more often than others.
    palette: Vec<Ty>,
    /// Operations that are, so that each has its turn.
    wanted: Vec<(Prim, Elem)>,
    sizes: Vec<Var>,
    indices: Vec<Var>,
    blocks: Vec<Var>,
    lets: Vec<(Local, Ty)>,
    muts: Vec<Mut>,
    vectors: Vec<vectors::Held>,
    /// Whether there are arrays with room for vectors.
    wide: bool,
    buffers: Vec<Cells>,
    /// Sizes that are above 0 here: a loop over them is around.
    some: Vec<Var>,
    /// Loop variables that run over a size, each with it.
    over: Vec<(Var, Var)>,
    /// How many loops are around.
    loops: usize,
    in_grid: bool,
    names: usize,
    /// Functions that may be called.
    callees: Vec<FunId>,
}

/// Adds a function, and perhaps some that it calls, to a program that starts with the [`library`].
pub fn draw(random: &mut Random, program: &mut Program, name: &str, what: Use) -> Drawn {
    let mut callees = Vec::new();
    if random.once_in(3) {
        let (fun, _) = Draw::new(program, random, &format!("{name}_callee"), what).callee();
        callees.push(FunId(program.funs.len() as u32));
        program.funs.push(fun);
    }
    if random.once_in(4) {
        callees.extend(library::generic_functions());
    }
    let mut draw = Draw::new(program, random, name, what);
    draw.callees = callees;
    let (fun, lending) = draw.entry();
    program.funs.push(fun);
    Drawn { fun: FunId(program.funs.len() as u32 - 1), lending }
}

impl<'a> Draw<'a> {
    fn new(program: &'a Program, random: &'a mut Random, name: &str, what: Use) -> Draw<'a> {
        let mut draw = Draw {
            program,
            fun: empty(name),
            random,
            what,
            palette: vec![],
            wanted: vec![],
            sizes: vec![],
            indices: vec![],
            blocks: vec![],
            lets: vec![],
            muts: vec![],
            vectors: vec![],
            wide: false,
            buffers: vec![],
            some: vec![],
            over: vec![],
            loops: 0,
            in_grid: false,
            names: 0,
            callees: vec![],
        };
        // One in three is of floats: there is more to get wrong.
        let all = coverage::operations();
        let floats: Vec<_> = all.iter().filter(|(_, e)| e.is_float()).copied().collect();
        draw.wanted = [&all, &all, &floats].map(|from| draw.random.pick(from)).to_vec();
        draw.palette = draw.wanted.iter().map(|(prim, of)| Ty::Elem(coverage::result(*prim, *of))).collect();
        let other = draw.any_ty();
        draw.palette.push(other);
        draw
    }

    fn below(&mut self, n: usize) -> usize {
        self.random.below(n)
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        self.random.pick(all)
    }

    /// An element type, or one of the library's records, or a tuple.
    fn any_ty(&mut self) -> Ty {
        match self.below(8) {
            0 => Ty::Tuple(Parts::of(Record(0), library::PAIR.map(Ty::Elem).to_vec())),
            1 if self.what == Use::Native => {
                let inner = Ty::Tuple(vec![self.elem_ty(), self.elem_ty()].into());
                Ty::Tuple(vec![self.elem_ty(), inner].into())
            }
            _ => self.elem_ty(),
        }
    }

    fn elem_ty(&mut self) -> Ty {
        Ty::Elem(self.pick(&ELEMS))
    }

    /// Mostly one that the function has arrays of.
    fn ty(&mut self) -> Ty {
        match self.random.once_in(3) {
            true => self.any_ty(),
            false => self.pick(&self.palette.clone()),
        }
    }

    fn name(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    fn var(&mut self, letter: &str, kind: VarKind) -> Var {
        let name = self.name(letter);
        self.fun.vars.push(VarInfo { name, kind });
        Var(self.fun.vars.len() as u32 - 1)
    }

    fn local(&mut self, letter: &str, ty: Ty, dims: &[i64], mutable: bool) -> Local {
        let name = self.name(letter);
        self.fun.locals.push(LocalInfo { name, ty, dims: dims.to_vec(), vector: false, mutable });
        Local(self.fun.locals.len() as u32 - 1)
    }

    /// An entry for a buffer, and what may be done with it.
    fn buffer(&mut self, ty: &Ty, extents: Vec<Ix>, role: Role) -> Cells {
        let letter = match role {
            Role::Reads => "r",
            Role::Mut => "m",
            Role::Alloc | Role::Lease(_) => "t",
        };
        let name = self.name(letter);
        self.fun.buffers.push(row_major(name, ty, extents.clone(), role));
        let buffer = Buffer(self.fun.buffers.len() as u32 - 1);
        Cells { buffer, ty: ty.clone(), extents, reads: true, writes: role != Role::Reads, only: None }
    }

    fn param(&mut self, ty: &Ty, extents: Vec<Ix>, role: Role) -> Cells {
        let cells = self.buffer(ty, extents, role);
        self.fun.params.push(cells.buffer);
        cells
    }

    /// One axis or two.
    fn extents(&mut self) -> Vec<Ix> {
        let rank = 1 + self.below(2);
        (0..rank).map(|_| self.extent()).collect()
    }

    fn extent(&mut self) -> Ix {
        match self.below(5) {
            0 | 1 => Ix::Lit(self.random.between(1, 7)),
            2 | 3 => Ix::Var(self.pick(&self.sizes.clone())),
            _ => plus(Ix::Var(self.pick(&self.sizes.clone())), self.random.between(1, 3)),
        }
    }

    /// The whole of what is compiled and called from outside.
    fn entry(mut self) -> (Fun, Vec<Lending>) {
        self.head(2);
        let mut lending = Vec::new();
        let mut body = vec![self.plain(&mut lending)];
        for _ in 0..1 + self.below(2) {
            let (ty, extents) = (self.pick(&self.palette.clone()), self.extents());
            let cells = self.param(&ty, extents, Role::Reads);
            self.buffers.push(cells);
            lending.push(Lending::Filled);
        }
        for _ in 0..1 + self.below(3) {
            let (ty, extents) = (self.pick(&self.palette.clone()), self.extents());
            let cells = self.param(&ty, extents, Role::Mut);
            lending.push(self.written(cells));
        }
        if self.random.once_in(3) {
            self.wide_arrays(&mut lending);
        }
        if self.random.once_in(4) {
            self.requirement();
        }
        body.extend(self.fills());
        if self.wide {
            if self.random.once_in(2) {
                self.wide_allocation(&mut body);
            }
            for _ in 0..1 + self.below(2) {
                self.vector(&mut body);
            }
        }
        body.extend(self.block(3));
        self.fun.body.append(&mut body);
        (self.fun, lending)
    }

    /// What others call: `reads` and `mut` arrays of one axis, which fit many.
    fn callee(mut self) -> (Fun, Vec<Lending>) {
        self.head(1);
        let size = Ix::Var(self.sizes[0]);
        let mut lending = Vec::new();
        for role in [Role::Reads, Role::Mut, Role::Mut].into_iter().take(2 + self.random.below(2)) {
            let ty = self.pick(&self.palette.clone());
            let cells = self.param(&ty, vec![size.clone()], role);
            match role {
                Role::Mut => lending.push(self.written(cells)),
                Role::Reads | Role::Alloc | Role::Lease(_) => self.buffers.push(cells),
            }
        }
        let mut body = self.fills();
        body.extend(self.block(1));
        self.fun.body.append(&mut body);
        (self.fun, lending)
    }

    fn head(&mut self, sizes: usize) {
        for _ in 0..sizes {
            let v = self.var("N", VarKind::Size);
            self.fun.sizes.push(v);
            self.sizes.push(v);
            self.indices.push(v);
        }
    }

    /// What a function does with something that it may write: reads and writes it, only writes it, writes all of it, or
    /// uses it as scratch. What is filled first comes from [`Draw::fills`].
    fn written(&mut self, cells: Cells) -> Lending {
        let b = cells.buffer;
        match self.below(5) {
            0 => {
                self.buffers.push(Cells { reads: false, ..cells });
                Lending::WrittenOnly
            }
            1 | 2 => {
                self.fun.produces.push(b);
                self.buffers.push(cells);
                Lending::WrittenOnly
            }
            3 if self.random.once_in(2) => {
                self.fun.scratch.push(b);
                self.buffers.push(cells);
                Lending::WrittenOnly
            }
            _ => {
                self.buffers.push(cells);
                Lending::Filled
            }
        }
    }
}

fn plus(a: Ix, n: i64) -> Ix {
    Ix::Add(Box::new(a), Box::new(Ix::Lit(n)))
}

fn bx<T>(x: T) -> Box<T> {
    Box::new(x)
}

fn cell(buffer: Buffer, at: Vec<Ix>) -> Access {
    Access { buffer, at, span: At::default() }
}

/// A function that does nothing.
pub fn empty(name: &str) -> Fun {
    Fun {
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
    }
}

fn row_major(name: String, elem: &Ty, extents: Vec<Ix>, role: Role) -> BufferInfo {
    BufferInfo {
        name,
        elem: elem.clone(),
        extents,
        layout: Layout::RowMajor,
        strides: Strides::Contiguous,
        level: Level { name: "DRAM".into(), device: Device::HOST },
        role,
        span: At::default(),
    }
}
