//! What drawn functions share: a record, pure functions over every element type, instructions, an interface with
//! implementations, and functions that are generic over it.

use super::{ELEMS, empty, row_major};
use cachet_core::ir::{
    At, Binding, Buffer, Call, Device, Domain, Elem, Fold, Fun, FunId, Impl, Interface, Ix, Lit, Local, LocalInfo, Op,
    Parts, Prim, Program, Pure, PureId, Record, RecordInfo, Role, Stmt, StmtKind, Ty, TypeParam, TypeParamInfo, Var,
    VarInfo, VarKind, View, Word,
};

/// The fields of the record.
pub(super) const PAIR: [Elem; 2] = [Elem::F32, Elem::I32];

/// The element types that the interface has implementations for.
const RINGS: [Elem; 5] = [Elem::F64, Elem::F32, Elem::I64, Elem::I16, Elem::U8];

/// How many of the first functions are generic.
const GENERIC: u32 = 2;

fn prim(p: Prim, args: Vec<Word>) -> Word {
    Word::Op { op: Op::Prim(p), arith: Device::HOST, args }
}

fn get(n: u32) -> Word {
    Word::Local(Local(n), vec![])
}

/// A pure function of parameters of these types.
fn pure(name: &str, params: &[Ty], result: Ty, lets: &[Ty], body: Word) -> Pure {
    let all = params.iter().chain(lets).enumerate();
    let locals = all.map(|(n, ty)| LocalInfo {
        name: format!("p{n}"),
        ty: ty.clone(),
        dims: vec![],
        vector: false,
        mutable: false,
    });
    let of = |n: usize| (0..n as u32).map(Local).collect();
    Pure { name: name.into(), params: of(params.len()), result, body, locals: locals.collect() }
}

/// Everything but functions that are drawn.
pub fn library() -> Program {
    let mut program = Program::default();
    program.records.push(RecordInfo { name: "Pair".into(), fields: vec!["first".into(), "second".into()] });
    for e in ELEMS {
        let t = Ty::Elem(e);
        let chosen = prim(Prim::Select, vec![get(0), get(1), get(2)]);
        program.pures.push(pure(
            &format!("chosen_{e:?}"),
            &[Ty::Elem(Elem::Bool), t.clone(), t.clone()],
            t,
            &[],
            chosen,
        ));
    }
    let pair = Ty::Tuple(Parts::of(Record(0), PAIR.map(Ty::Elem).to_vec()));
    let [f, i] = PAIR.map(Ty::Elem);
    let twice = prim(Prim::Add, vec![get(1), get(1)]);
    let made = Word::Let(
        Local(2),
        Box::new(prim(Prim::Cast(PAIR[0]), vec![get(0)])),
        Box::new(Word::Tuple(vec![get(2), twice])),
    );
    program.pures.push(pure("made", &[i.clone(), i.clone()], pair.clone(), &[f], made));
    let part = |n: u32| Word::Part(Box::new(get(0)), n);
    let nested = Word::Apply(PureId(ELEMS.len() as u32), vec![part(1), part(1)]);
    program.pures.push(pure("remade", std::slice::from_ref(&pair), pair.clone(), &[], nested));
    program.interfaces.push(Interface {
        name: "Joining".into(),
        methods: vec![("nothing".into(), 0), ("join".into(), 2), ("mix".into(), 3)],
        laws: vec![],
    });
    for e in RINGS {
        let t = Ty::Elem(e);
        let nothing = Word::Lit(Lit { elem: e, bits: if e == Elem::F32 { 1 << 31 } else { 0 } });
        let (join, mix) = match e.is_float() {
            true => (prim(Prim::Add, vec![get(0), get(1)]), prim(Prim::Fma, vec![get(0), get(1), get(2)])),
            false => (
                prim(Prim::WrappingAdd, vec![get(0), get(1)]),
                prim(Prim::Max, vec![prim(Prim::WrappingMul, vec![get(0), get(1)]), get(2)]),
            ),
        };
        let first = program.pures.len() as u32;
        program.pures.push(pure(&format!("nothing_{e:?}"), &[], t.clone(), &[], nothing));
        program.pures.push(pure(&format!("join_{e:?}"), &[t.clone(), t.clone()], t.clone(), &[], join));
        program.pures.push(pure(&format!("mix_{e:?}"), &[t.clone(), t.clone(), t.clone()], t.clone(), &[], mix));
        let methods = (first..first + 3).map(PureId).collect();
        program.impls.push(Impl { name: format!("Joined_{e:?}"), interface: 0, value: t, methods, laws: vec![] });
    }
    program.instrs = super::instructions::all();
    program.funs.extend([total(), passes_on()]);
    program
}

/// The generic functions, in order: one parameter `S`, arrays `x` and `y` of one size.
pub(super) fn generic_functions() -> Vec<FunId> {
    (0..GENERIC).map(FunId).collect()
}

/// The same as a text, but for the functions that listings name.
pub fn library_text() -> String {
    let mut out = String::from("record Pair where\n  first: f32\n  second: i32\n");
    for e in ELEMS {
        out.push_str(&format!("fn chosen_{e:?} (c: bool) (a: {e}) (b: {e}) -> {e} = select c a b\n"));
    }
    out.push_str(
        "fn made (a: i32) (b: i32) -> Pair =\n  let c = a as f32\n  Pair { first = c, second = b + b }\n\
         fn remade (p: Pair) -> Pair = made p.second p.second\n\
         interface Joining where\n  const Value: Type\n  fn nothing ()\n  fn join a b\n  fn mix a b c\n",
    );
    for e in RINGS {
        let (nothing, join, mix) = match e.is_float() {
            true => (if e == Elem::F32 { "-0.0" } else { "0.0" }, "a + b", "fma a b c"),
            false => ("0", "wrapping_add a b", "max (wrapping_mul a b) c"),
        };
        out.push_str(&format!(
            "impl Joining for Joined_{e:?} where\n  const Value = {e}\n  fn nothing () = {nothing}\n  \
             fn join a b = {join}\n  fn mix a b c = {mix}\n",
        ));
    }
    out.push_str(&super::instructions::text());
    for f in library().funs {
        out.push_str(&cachet_core::print::listing(&library(), &f));
    }
    out
}

fn method(m: u32, args: Vec<Word>) -> Word {
    Word::Op { op: Op::Method(TypeParam(0), m), arith: Device::HOST, args }
}

/// `x` and `y`, the one read and the other produced, of a size and a type parameter.
fn generic(name: &str) -> Fun {
    let mut f = empty(name);
    let value = Ty::Abstract(TypeParam(0));
    f.type_params = vec![TypeParamInfo { name: "S".into(), interface: 0 }];
    f.vars.push(VarInfo { name: "N".into(), kind: VarKind::Size });
    f.sizes = vec![Var(0)];
    let extents = vec![Ix::Var(Var(0))];
    f.buffers = vec![
        row_major("x".into(), &value, extents.clone(), Role::Reads),
        row_major("y".into(), &value, extents, Role::Mut),
    ];
    f.params = vec![Buffer(0), Buffer(1)];
    f.produces = vec![Buffer(1)];
    f
}

fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: At::default() }
}

/// `y[i] = mix x[i] x[i] (fold j in 0 .. i from nothing as acc do join acc x[j])`.
fn total() -> Fun {
    let mut f = generic("total");
    let (i, j) = (Var(1), Var(2));
    f.vars.extend(["i", "j"].map(|name| VarInfo { name: name.into(), kind: VarKind::Index }));
    f.locals.push(LocalInfo {
        name: "acc".into(),
        ty: Ty::Abstract(TypeParam(0)),
        dims: vec![],
        vector: false,
        mutable: false,
    });
    let cell = |v: Var| Word::Load(super::cell(Buffer(0), vec![Ix::Var(v)]));
    let to = |hi: Var| Domain::Range { lo: Ix::Lit(0), hi: Ix::Var(hi) };
    let sum = Word::Fold(Box::new(Fold {
        var: j,
        domain: to(i),
        acc: Local(0),
        init: method(0, vec![]),
        body: method(1, vec![get(0), cell(j)]),
        regroup: false,
        span: At::default(),
    }));
    let word = method(2, vec![cell(i), cell(i), sum]);
    let body = vec![stmt(StmtKind::Store { to: super::cell(Buffer(1), vec![Ix::Var(i)]), word })];
    f.body = vec![stmt(StmtKind::For { var: i, domain: to(Var(0)), body })];
    f
}

/// Calls [`total`] with its own type parameter.
fn passes_on() -> Fun {
    let mut f = generic("passes_on");
    let all = |n: u32| View { buffer: Buffer(n), axes: None, span: At::default() };
    let types = vec![Binding::Param(TypeParam(0))];
    let call = Call { fun: FunId(0), types, sizes: vec![Ix::Var(Var(0))], args: vec![all(0), all(1)] };
    f.body = vec![stmt(StmtKind::Call(Box::new(call)))];
    f
}
