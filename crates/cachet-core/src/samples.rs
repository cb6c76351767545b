//! Small programs for tests, made by hand.

use super::ir::{
    Access, At, Binding, Block, Buffer, BufferInfo, Call, Device, Domain, Elem, Fold, Fun, FunId, Grid, Guard, Impl,
    ImplId, Interface, Ix, Layout, Level, Lit, Local, LocalInfo, Op, Prim, Program, Pure, PureId, Rel, Role, Stmt,
    StmtKind, Strides, Ty, TypeParam, TypeParamInfo, Var, VarInfo, VarKind, View, Window, Word,
};

pub const F32: Ty = Ty::Elem(Elem::F32);
pub const MINUS_ZERO: u64 = 0x8000_0000;

pub fn n(n: i64) -> Ix {
    Ix::Lit(n)
}

pub fn v(v: Var) -> Ix {
    Ix::Var(v)
}

pub fn plus(a: Ix, b: Ix) -> Ix {
    Ix::Add(Box::new(a), Box::new(b))
}

pub fn to(lo: Ix, hi: Ix) -> Domain {
    Domain::Range { lo, hi }
}

pub fn lit(x: f32) -> Word {
    Word::Lit(Lit { elem: Elem::F32, bits: u64::from(x.to_bits()) })
}

pub fn load(b: Buffer, at: &[Ix]) -> Word {
    Word::Load(cell(b, at))
}

pub fn cell(b: Buffer, at: &[Ix]) -> Access {
    Access { buffer: b, at: at.to_vec(), span: At::default() }
}

pub fn local(l: Local) -> Word {
    Word::Local(l, vec![])
}

pub fn op(p: Prim, args: Vec<Word>) -> Word {
    Word::Op { op: Op::Prim(p), arith: Device::HOST, args }
}

pub fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: At::default() }
}

pub fn store(b: Buffer, at: &[Ix], word: Word) -> Stmt {
    stmt(StmtKind::Store { to: cell(b, at), word })
}

pub fn loops(nest: &[(Var, Domain)], body: Block) -> Stmt {
    let mut out = body;
    for (var, domain) in nest.iter().rev() {
        out = vec![stmt(StmtKind::For { var: *var, domain: domain.clone(), body: out })];
    }
    out.remove(0)
}

pub fn grid(axes: Vec<(Var, Domain)>, writes: Vec<Window>, body: Block) -> Stmt {
    stmt(StmtKind::Grid(Box::new(Grid { device: Device::HOST, level: 0, axes, writes, body })))
}

pub fn call(fun: u32, types: Vec<Binding>, sizes: Vec<Ix>, args: Vec<View>) -> Stmt {
    stmt(StmtKind::Call(Box::new(Call { fun: FunId(fun), types, sizes, args })))
}

pub fn all_of(b: Buffer) -> View {
    View { buffer: b, axes: None, span: At::default() }
}

pub fn part_of(b: Buffer, axes: Vec<(Ix, Ix)>) -> View {
    View { buffer: b, axes: Some(axes), span: At::default() }
}

pub fn fold(fun: &mut Fun, var: Var, hi: Ix, ty: Ty, init: Word, body: impl Fn(Word) -> Word) -> Word {
    let acc = fun.let_(format!("acc{}", fun.locals.len()).as_str(), ty);
    let body = body(local(acc));
    let domain = to(n(0), hi);
    Word::Fold(Box::new(Fold { var, domain, acc, init, body, regroup: false, span: At::default() }))
}

pub fn empty_fun(name: &str) -> Fun {
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

pub trait Build {
    fn size(&mut self, name: &str) -> Var;
    fn index_var(&mut self, name: &str) -> Var;
    fn block_var(&mut self, name: &str) -> Var;
    fn let_(&mut self, name: &str, ty: Ty) -> Local;
    fn var_(&mut self, name: &str, ty: Ty, dims: &[i64]) -> Local;
    fn buf(&mut self, name: &str, elem: Ty, extents: &[Ix], role: Role) -> Buffer;
    fn param(&mut self, name: &str, elem: Ty, extents: &[Ix], role: Role) -> Buffer;
    fn out(&mut self, name: &str, elem: Ty, extents: &[Ix]) -> Buffer;
}

impl Build for Fun {
    fn size(&mut self, name: &str) -> Var {
        self.vars.push(VarInfo { name: name.into(), kind: VarKind::Size });
        let v = Var(self.vars.len() as u32 - 1);
        self.sizes.push(v);
        v
    }

    fn index_var(&mut self, name: &str) -> Var {
        self.vars.push(VarInfo { name: name.into(), kind: VarKind::Index });
        Var(self.vars.len() as u32 - 1)
    }

    fn block_var(&mut self, name: &str) -> Var {
        self.vars.push(VarInfo { name: name.into(), kind: VarKind::Block });
        Var(self.vars.len() as u32 - 1)
    }

    fn let_(&mut self, name: &str, ty: Ty) -> Local {
        self.locals.push(LocalInfo { name: name.into(), ty, dims: vec![], vector: false, mutable: false });
        Local(self.locals.len() as u32 - 1)
    }

    fn var_(&mut self, name: &str, ty: Ty, dims: &[i64]) -> Local {
        self.locals.push(LocalInfo { name: name.into(), ty, dims: dims.to_vec(), vector: false, mutable: true });
        Local(self.locals.len() as u32 - 1)
    }

    fn buf(&mut self, name: &str, elem: Ty, extents: &[Ix], role: Role) -> Buffer {
        self.buffers.push(BufferInfo {
            name: name.into(),
            elem,
            extents: extents.to_vec(),
            layout: Layout::RowMajor,
            strides: Strides::Contiguous,
            level: Level { name: "DRAM".into(), device: Device::HOST },
            role,
            span: At::default(),
        });
        Buffer(self.buffers.len() as u32 - 1)
    }

    fn param(&mut self, name: &str, elem: Ty, extents: &[Ix], role: Role) -> Buffer {
        let b = self.buf(name, elem, extents, role);
        self.params.push(b);
        b
    }

    fn out(&mut self, name: &str, elem: Ty, extents: &[Ix]) -> Buffer {
        let b = self.param(name, elem, extents, Role::Mut);
        self.produces.push(b);
        b
    }
}

/// `matmul` on `f32`: `c[i, j] = fold k from -0.0 as acc do fma a[i, k] b[k, j] acc`.
pub fn matmul() -> Fun {
    let mut f = empty_fun("matmul");
    let (m, k, nn) = (f.size("M"), f.size("K"), f.size("N"));
    let a = f.param("a", F32, &[v(m), v(k)], Role::Reads);
    let b = f.param("b", F32, &[v(k), v(nn)], Role::Reads);
    let c = f.out("c", F32, &[v(m), v(nn)]);
    let (i, j, kk) = (f.index_var("i"), f.index_var("j"), f.index_var("k"));
    let sum = fold(&mut f, kk, v(k), F32, lit(-0.0), |acc| {
        op(Prim::Fma, vec![load(a, &[v(i), v(kk)]), load(b, &[v(kk), v(j)]), acc])
    });
    f.body = vec![loops(&[(i, to(n(0), v(m))), (j, to(n(0), v(nn)))], vec![store(c, &[v(i), v(j)], sum)])];
    f
}

/// The same with the loops of `i` and `j` exchanged.
pub fn swapped() -> Fun {
    let mut f = matmul();
    let StmtKind::For { var: i, domain: di, body } = f.body.remove(0).kind else { unreachable!() };
    let Some(StmtKind::For { var: j, domain: dj, body }) = body.into_iter().next().map(|s| s.kind) else {
        unreachable!()
    };
    f.body = vec![loops(&[(j, dj), (i, di)], body)];
    f
}

/// The same with another bound and another index of `b` along `k`.
pub fn matmul_with(hi: impl Fn(Ix) -> Ix, at: impl Fn(Ix, Ix) -> Ix) -> Fun {
    let mut f = empty_fun("matmul");
    let (m, k, nn) = (f.size("M"), f.size("K"), f.size("N"));
    let a = f.param("a", F32, &[v(m), v(k)], Role::Reads);
    let b = f.param("b", F32, &[v(k), v(nn)], Role::Reads);
    let c = f.out("c", F32, &[v(m), v(nn)]);
    let (i, j, kk) = (f.index_var("i"), f.index_var("j"), f.index_var("k"));
    let at = at(v(kk), v(k));
    let sum = fold(&mut f, kk, hi(v(k)), F32, lit(-0.0), |acc| {
        op(Prim::Fma, vec![load(a, &[v(i), at.clone()]), load(b, &[at.clone(), v(j)]), acc])
    });
    f.body = vec![loops(&[(i, to(n(0), v(m))), (j, to(n(0), v(nn)))], vec![store(c, &[v(i), v(j)], sum)])];
    f
}

/// `matvec` on `f32`.
pub fn matvec() -> Fun {
    let mut f = empty_fun("matvec");
    let (m, k) = (f.size("M"), f.size("K"));
    let a = f.param("a", F32, &[v(m), v(k)], Role::Reads);
    let x = f.param("x", F32, &[v(k)], Role::Reads);
    let y = f.out("y", F32, &[v(m)]);
    let (i, kk) = (f.index_var("i"), f.index_var("k"));
    let sum = fold(&mut f, kk, v(k), F32, lit(-0.0), |acc| {
        op(Prim::Fma, vec![load(a, &[v(i), v(kk)]), load(x, &[v(kk)]), acc])
    });
    f.body = vec![loops(&[(i, to(n(0), v(m)))], vec![store(y, &[v(i)], sum)])];
    f
}

/// `zero`, `mul_add` of a semiring; `PlusTimes f32` and `MinPlus f32`; the generic `matvec` at position 0 and a caller
/// that binds it.
pub fn generic() -> Program {
    let s = TypeParam(0);
    let value = Ty::Abstract(s);
    let method = |m: u32, args: Vec<Word>| Word::Op { op: Op::Method(s, m), arith: Device::HOST, args };
    let mut f = empty_fun("matvec");
    f.type_params = vec![TypeParamInfo { name: "S".into(), interface: 0 }];
    let (m, k) = (f.size("M"), f.size("K"));
    let a = f.param("a", value.clone(), &[v(m), v(k)], Role::Reads);
    let x = f.param("x", value.clone(), &[v(k)], Role::Reads);
    let y = f.out("y", value.clone(), &[v(m)]);
    let (i, kk) = (f.index_var("i"), f.index_var("k"));
    let sum = fold(&mut f, kk, v(k), value, method(0, vec![]), |acc| {
        method(1, vec![load(a, &[v(i), v(kk)]), load(x, &[v(kk)]), acc])
    });
    f.body = vec![loops(&[(i, to(n(0), v(m)))], vec![store(y, &[v(i)], sum)])];

    let mut caller = empty_fun("caller");
    let size = caller.size("M");
    let a = caller.param("a", F32, &[v(size), v(size)], Role::Reads);
    let y = caller.out("y", F32, &[v(size)]);
    let x = caller.buf("x", F32, &[v(size)], Role::Alloc);
    let i = caller.index_var("i");
    caller.body = vec![
        stmt(StmtKind::Alloc(x)),
        loops(&[(i, to(n(0), v(size)))], vec![store(x, &[v(i)], Word::Index(v(i), Elem::F32))]),
        call(0, vec![Binding::Impl(ImplId(1))], vec![v(size), v(size)], vec![all_of(a), all_of(x), all_of(y)]),
    ];
    Program {
        interfaces: vec![Interface {
            name: "Semiring".into(),
            laws: vec![],
            methods: vec![("zero".into(), 0), ("mul_add".into(), 3)],
        }],
        impls: vec![
            Impl {
                name: "PlusTimes f32".into(),
                interface: 0,
                value: F32,
                methods: vec![PureId(0), PureId(1)],
                laws: vec![],
            },
            Impl {
                name: "MinPlus f32".into(),
                interface: 0,
                value: F32,
                methods: vec![PureId(2), PureId(3)],
                laws: vec![],
            },
        ],
        pures: vec![
            pure("zero", 0, |_| lit(-0.0)),
            pure("mul_add", 3, |l| op(Prim::Fma, vec![l(0), l(1), l(2)])),
            pure("infinite", 0, |_| lit(f32::INFINITY)),
            pure("shorter", 3, |l| op(Prim::Min, vec![op(Prim::Add, vec![l(0), l(1)]), l(2)])),
        ],
        funs: vec![f, caller],
        ..Program::default()
    }
}

pub fn pure(name: &str, params: u32, body: impl Fn(&dyn Fn(u32) -> Word) -> Word) -> Pure {
    let info = |i: u32| LocalInfo { name: format!("x{i}"), ty: F32, dims: vec![], vector: false, mutable: false };
    Pure {
        name: name.into(),
        params: (0..params).map(Local).collect(),
        result: F32,
        body: body(&|i| local(Local(i))),
        locals: (0..params).map(info).collect(),
    }
}

/// `out[0] = word`, with a parameter `x: [f32; N]` to read from.
pub fn one_word(make: impl Fn(&mut Fun, Buffer) -> Word) -> Fun {
    let mut f = empty_fun("word");
    let size = f.size("N");
    let x = f.param("x", F32, &[v(size)], Role::Reads);
    let out = f.out("out", F32, &[n(1)]);
    let word = make(&mut f, x);
    f.body = vec![store(out, &[n(0)], word)];
    f
}

/// A grid over rows in blocks, each writing its own rows of `c`, or rows shifted by `shift`.
pub fn banded(shift: i64, window: i64) -> Fun {
    let mut f = empty_fun("banded");
    let m = f.size("M");
    f.requires = vec![Guard::Cmp(Rel::Lt, n(0), v(m))];
    let c = f.param("c", F32, &[plus(v(m), n(2))], Role::Mut);
    let (g, i) = (f.block_var("g"), f.index_var("i"));
    let lo = Ix::Block(g, super::ir::BlockPart::Lo);
    let len = Ix::Block(g, super::ir::BlockPart::Len);
    let w = Window { buffer: c, axes: vec![(lo, plus(len.clone(), n(window)))] };
    let at = plus(Ix::InBlock(g, Box::new(v(i))), n(shift));
    let body = vec![loops(
        &[(i, to(n(0), len))],
        vec![store(c, std::slice::from_ref(&at), op(Prim::Add, vec![load(c, std::slice::from_ref(&at)), lit(1.0)]))],
    )];
    f.body = vec![grid(vec![(g, Domain::Blocks { lo: n(0), hi: v(m), size: 2 })], vec![w], body)];
    f
}

pub fn program(funs: Vec<Fun>) -> Program {
    Program { funs, ..Program::default() }
}
