//! What the text says and does not say; needs no LLVM unless it is compiled.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_codegen::{Options, emit, emit_main};
use cachet_core::ir::{
    At, Buffer, Call, Device, DeviceInfo, Domain, Elem, Fun, FunId, Grid, Local, LocalInfo, Prim, Program, Pure,
    PureId, Reduce, Role, Shape, Stmt, StmtKind, Strides, View, Word,
};
use cachet_source::{Diagnostic, Kind, codes};
use common::{Build, bx, each, elem, get, lit, load, number, op, program, stmt, store, to, v};

fn options() -> Options {
    Options { cpu: "znver4".into(), features: "+fma,+avx512f".into(), vector_bits: 512 }
}

/// `out[i] = x[i] * x[i] + out[i]` under a name of the user's.
fn square(name: &str) -> Fun {
    let mut b = Build::new(name);
    let n = b.size("N");
    let x = b.buffer("x", elem(Elem::F32), vec![v(n)], Role::Reads);
    let o = b.buffer("out", elem(Elem::F32), vec![v(n)], Role::Mut);
    let i = b.index("i");
    let product = op(Prim::Mul, vec![load(x, &[v(i)]), load(x, &[v(i)])]);
    let sum = op(Prim::Add, vec![product, load(o, &[v(i)])]);
    b.done(vec![each(i, to(v(n)), vec![store(o, &[v(i)], sum)])])
}

#[test]
fn the_text_allows_nothing_that_was_not_proved() {
    let p = program(vec![square("f")]);
    let text = emit(&p, &[(FunId(0), vec![])], &options()).unwrap();
    let ir = &text.ir;
    assert_eq!((text.entries[0].name.as_str(), text.entries[0].sizes, text.entries[0].buffers), ("cachet_f_0", 1, 2));
    let head = "define void @cachet_f_0(i64 noundef %n0, ptr readonly noundef %p0, ptr noalias noundef %p1) #0";
    assert!(ir.contains(head), "{ir}");
    assert!(ir.contains("define void @cachet_f_0__packed(ptr readonly %sizes, ptr readonly %buffers) #0"), "{ir}");
    for wanted in ["\"no-builtins\"", "nounwind", "\"target-cpu\"=\"znver4\"", "\"prefer-vector-width\"=\"512\""] {
        assert!(ir.contains(wanted), "{wanted}: {ir}");
    }
    let words: Vec<&str> = ir.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    for never in ["fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"] {
        assert!(!words.contains(&never), "{never}: {ir}");
    }
    assert!(ir.contains("fmul float") && ir.contains("fadd float") && !ir.contains("fma."), "{ir}");
    assert_eq!(text, emit(&p, &[(FunId(0), vec![])], &options()).unwrap());
}

/// `fmuladd` may round once or twice, as the target likes.
#[test]
fn a_fused_operation_is_always_fused() {
    let mut b = Build::new("f");
    let n = b.size("N");
    let o = b.buffer("out", elem(Elem::F64), vec![v(n)], Role::Mut);
    let i = b.index("i");
    let x = || load(o, &[v(i)]);
    let p = program(vec![b.done(vec![each(i, to(v(n)), vec![store(o, &[v(i)], op(Prim::Fma, vec![x(), x(), x()]))])])]);
    let ir = emit(&p, &[(FunId(0), vec![])], &options()).unwrap().ir;
    assert!(ir.contains("@llvm.fma.f64(") && !ir.contains("fmuladd"), "{ir}");
}

#[test]
fn without_options_no_attribute_is_said() {
    let p = program(vec![square("f")]);
    let none = Options { cpu: String::new(), features: String::new(), vector_bits: 0 };
    let ir = emit(&p, &[(FunId(0), vec![])], &none).unwrap().ir;
    assert!(!ir.contains("target-cpu") && !ir.contains("prefer-vector-width"), "{ir}");
    let odd = Options { cpu: "a\"b\\".into(), ..none };
    let ir = emit(&p, &[(FunId(0), vec![])], &odd).unwrap().ir;
    assert!(ir.contains("\"target-cpu\"=\"a\\22b\\5C\""), "{ir}");
}

#[test]
fn names_cannot_collide() {
    let names = ["f", "f'0", "f_0", "f\u{e9}", "main", "printf", "free", "allocate", "print_float", "f"];
    let p = program(names.iter().map(|n| square(n)).collect());
    let all: Vec<_> = (0..names.len()).map(|i| (FunId(i as u32), vec![])).collect();
    let text = emit(&p, &all, &options()).unwrap();
    let mut symbols: Vec<&str> = text.entries.iter().map(|e| e.name.as_str()).collect();
    symbols.sort_unstable();
    symbols.dedup();
    assert_eq!(symbols.len(), names.len());
    assert!(symbols.iter().all(|s| s.starts_with("cachet_") && s.ends_with(|c: char| c.is_ascii_digit())));
    let Some(llvm) = common::llvm() else { return };
    let text = emit(&p, &all, &common::options(&llvm)).unwrap();
    let jit = llvm.compile_and_load(&text.ir).unwrap();
    assert!(text.entries.iter().all(|e| jit.symbol(&e.name).is_ok()));
    // Asked for twice, a function is there once.
    let twice = emit(&p, &[(FunId(1), vec![]), (FunId(0), vec![]), (FunId(1), vec![])], &options()).unwrap();
    assert_eq!(twice.entries[0], twice.entries[2]);
    assert_eq!(twice.ir.matches("__packed(").count(), 2);
}

#[test]
fn only_what_is_asked_for_can_be_called_from_outside() {
    let mut b = Build::new("outer");
    let n = b.size("N");
    let x = b.buffer("x", elem(Elem::F32), vec![v(n)], Role::Reads);
    let o = b.buffer("out", elem(Elem::F32), vec![v(n)], Role::Mut);
    let whole = |buffer| View { buffer, axes: None, span: At::default() };
    let call = Call { fun: FunId(0), types: vec![], sizes: vec![v(n)], args: vec![whole(x), whole(o)] };
    let p = program(vec![square("inner"), b.done(vec![stmt(StmtKind::Call(bx(call)))])]);
    let ir = emit(&p, &[(FunId(1), vec![])], &options()).unwrap().ir;
    assert!(
        ir.contains("define void @cachet_outer_0(") && ir.contains("define internal void @cachet_inner_1("),
        "{ir}"
    );
    assert!(!ir.contains("cachet_inner_1__packed"), "{ir}");
}

/// What is said of a valid program that `change` makes.
fn refused(change: impl Fn(&mut Build, Buffer, &mut Vec<Stmt>)) -> Diagnostic {
    let p = changed(change);
    common::valid(&p);
    emit(&p, &[(FunId(0), vec![])], &options()).unwrap_err()
}

fn changed(change: impl Fn(&mut Build, Buffer, &mut Vec<Stmt>)) -> Program {
    let mut b = Build::new("f");
    let n = b.size("N");
    let o = b.buffer("out", elem(Elem::F32), vec![v(n)], Role::Mut);
    let i = b.index("i");
    let mut body = vec![each(i, to(v(n)), vec![store(o, &[v(i)], number(Elem::F32, 1.0))])];
    change(&mut b, o, &mut body);
    let mut p = Program { funs: vec![b.done(body)], ..Program::default() };
    p.devices.push(DeviceInfo { name: "M4Gpu".into(), flush_subnormals: true });
    p
}

#[test]
fn what_is_not_built_is_refused() {
    let reports = [
        refused(|b, _, body| {
            let axes = vec![(b.index("g"), to(lit(4)))];
            let grid = Grid { device: Device(1), level: 0, axes, writes: vec![], body: vec![] };
            body.push(stmt(StmtKind::Grid(bx(grid))));
        }),
        refused(|b, o, _| b.fun.buffers[o.index()].strides = Strides::Given(vec![b.fun.sizes[0]])),
        refused(|b, o, _| b.fun.buffers[o.index()].level.device = Device(1)),
        refused(|b, _, body| {
            let local = b.local("x", elem(Elem::F32), &[], false);
            let one = || number(Elem::F32, 1.0);
            let word =
                Word::Op { op: cachet_core::ir::Op::Prim(Prim::Add), arith: Device(1), args: vec![one(), one()] };
            body.push(stmt(StmtKind::Let { local, word }));
        }),
        refused(|b, _, body| {
            for name in ["x", "y"] {
                let local = b.local(name, elem(Elem::F64), &[1 << 14], true);
                body.push(stmt(StmtKind::Var { local, init: number(Elem::F64, 0.0) }));
            }
            let local = b.local("z", elem(Elem::F64), &[1], true);
            body.push(stmt(StmtKind::Var { local, init: number(Elem::F64, 0.0) }));
        }),
        refused(|b, _, body| {
            let local = b.local("w", elem(Elem::F64), &[1 << 40, 1 << 40], true);
            body.push(stmt(StmtKind::Var { local, init: number(Elem::F64, 0.0) }));
        }),
    ];
    for e in reports {
        assert_eq!((e.kind, e.code), (Kind::NotBuilt, codes::NOT_BUILT), "{}", e.message);
    }
}

#[test]
fn what_is_no_program_is_refused_too() {
    let word = |word: Word| {
        let p = changed(|b, _, body| {
            let local = b.local("t", elem(Elem::Bool), &[], false);
            body.push(stmt(StmtKind::Let { local, word: word.clone() }));
        });
        emit(&p, &[(FunId(0), vec![])], &options()).unwrap_err()
    };
    let one = || number(Elem::I32, 1.0);
    assert_eq!(word(op(Prim::Cast(Elem::Bool), vec![one()])).code, codes::TYPE_MISMATCH);
    assert_eq!(word(Word::Index(lit(1), Elem::Bool)).code, codes::TYPE_MISMATCH);
    for wrong in [get(Local(7)), Word::Part(bx(one()), 0), op(Prim::Neg, vec![]), load(Buffer(0), &[])] {
        assert_eq!(word(wrong).kind, Kind::Error);
    }
    let p = changed(|_, _, body| body.push(stmt(StmtKind::Print(Word::Tuple(vec![one()])))));
    assert_eq!(emit(&p, &[(FunId(0), vec![])], &options()).unwrap_err().kind, Kind::Error);
}

#[test]
fn a_program_is_a_function_without_parameters() {
    let p = program(vec![square("f")]);
    assert_eq!(emit_main(&p, FunId(0), &options()).unwrap_err().code, codes::ARITY);
    let p = program(vec![Build::new("main").done(vec![])]);
    let text = emit_main(&p, FunId(0), &options()).unwrap();
    assert!(text.entries.is_empty());
    assert!(text.ir.contains("define i32 @main()") && text.ir.contains("define internal void @cachet_main_0()"));
}

/// The deepest that the validator lets through, on a test's small stack.
#[test]
fn deep_programs_are_written() {
    let mut b = Build::new("deep");
    let n = b.size("N");
    let o = b.buffer("out", elem(Elem::F32), vec![v(n)], Role::Mut);
    let vars: Vec<_> = (0..126).map(|_| b.index("i")).collect();
    let t = b.local("t", elem(Elem::F32), &[], true);
    let mut word = get(t);
    for _ in 0..400 {
        word = op(Prim::Neg, vec![word]);
    }
    let mut body = vec![stmt(StmtKind::Assign { local: t, at: vec![], word })];
    for i in vars {
        body = vec![each(i, Domain::Range { lo: lit(0), hi: lit(1) }, body)];
    }
    body.insert(0, stmt(StmtKind::Var { local: t, init: number(Elem::F32, 1.0) }));
    let z = b.index("z");
    body.push(each(z, to(v(n)), vec![store(o, &[v(z)], get(t))]));
    let p = program(vec![b.done(body)]);
    let text = emit(&p, &[(FunId(0), vec![])], &options()).unwrap();
    assert!(text.ir.contains("fneg"));
    let Some(llvm) = common::llvm() else { return };
    let code = common::native(&llvm, &p, 0, &[]);
    assert_eq!(common::f32s(&code.call(&[3], &[common::writes(12)])[0]), [1.0; 3]);
}

/// Each of 60 functions applies the one before twice: written out, 2^60 additions.
#[test]
fn functions_that_double_are_refused_and_not_written_out() {
    let mut p = changed(|b, o, body| {
        let word = Word::Apply(PureId(59), vec![number(Elem::F32, 1.0)]);
        let n = b.index("z");
        body.push(each(n, Domain::Range { lo: lit(0), hi: lit(0) }, vec![store(o, &[v(n)], word)]));
    });
    for n in 0..60u32 {
        let x = || get(Local(0));
        let below = || if n == 0 { x() } else { Word::Apply(PureId(n - 1), vec![x()]) };
        p.pures.push(Pure {
            name: format!("p{n}"),
            params: vec![Local(0)],
            result: elem(Elem::F32),
            body: op(Prim::Add, vec![below(), below()]),
            locals: vec![LocalInfo {
                name: "x".into(),
                ty: elem(Elem::F32),
                dims: vec![],
                vector: false,
                mutable: false,
            }],
        });
    }
    let e = emit(&p, &[(FunId(0), vec![])], &options()).unwrap_err();
    assert_eq!((e.kind, e.code), (Kind::NotBuilt, codes::NOT_BUILT), "{}", e.message);
}

/// Reductions by halving of 1024 terms: the first ones lie on the stack, the others on the heap.
#[test]
fn reductions_do_not_fill_the_stack() {
    let p = changed(|b, _, body| {
        for _ in 0..40 {
            let (i, total) = (b.index("i"), b.local("t", elem(Elem::F64), &[], false));
            let operands = (b.local("p", elem(Elem::F64), &[], false), b.local("q", elem(Elem::F64), &[], false));
            let reduce = Reduce {
                var: i,
                domain: to(lit(1024)),
                element: Word::Index(v(i), Elem::F64),
                operands,
                combine: op(Prim::Add, vec![get(operands.0), get(operands.1)]),
                empty: number(Elem::F64, 0.0),
                shape: Shape::Halving,
                span: At::default(),
            };
            body.push(stmt(StmtKind::Let { local: total, word: Word::Reduce(bx(reduce)) }));
        }
    });
    common::valid(&p);
    let ir = emit(&p, &[(FunId(0), vec![])], &options()).unwrap().ir;
    assert_eq!(ir.matches("alloca [1024 x double]").count(), 32);
    assert_eq!(ir.matches("call void @free").count(), 8);
}
