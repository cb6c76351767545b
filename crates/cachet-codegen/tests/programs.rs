//! Calls, allocations, locals, tuples, generic functions, and reductions with a declared shape.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_codegen::emit;
use cachet_core::ir::{
    At, Binding, BlockPart, Call, Device, Domain, Elem, Fun, FunId, Impl, ImplId, Interface, Ix, Local, LocalInfo, Op,
    Prim, Program, Pure, PureId, Reduce, Role, Shape, StmtKind, Ty, TypeParam, TypeParamInfo, View, Word,
};
use cachet_source::{Kind, codes};
use common::{
    Build, Random, SIZES, bx, cell, each, elem, f32s, f64s, fold, get, i32s, i64s, lit, load, native, number, op,
    program, reads, same32, same64, stmt, store, to, v, writes,
};

// ---------------------------------------------------------------- generic functions

/// `c[i, j] = sum k. a[i, k] * b[k, j]` over any semiring: methods 0 `zero`, 1 `mul_add`.
fn generic() -> Fun {
    let mut b = Build::new("matmul");
    b.fun.type_params.push(TypeParamInfo { name: "S".into(), interface: 0 });
    let value = || Ty::Abstract(TypeParam(0));
    let (m, n, k) = (b.size("M"), b.size("N"), b.size("K"));
    let x = b.buffer("a", value(), vec![v(m), v(k)], Role::Reads);
    let y = b.buffer("b", value(), vec![v(k), v(n)], Role::Reads);
    let c = b.buffer("c", value(), vec![v(m), v(n)], Role::Mut);
    let (i, j, kk) = (b.index("i"), b.index("j"), b.index("k"));
    let acc = b.local("acc", value(), &[], false);
    let method = |n, args| Word::Op { op: Op::Method(TypeParam(0), n), arith: Device::HOST, args };
    let next = method(1, vec![load(x, &[v(i), v(kk)]), load(y, &[v(kk), v(j)]), get(acc)]);
    let sum = fold(kk, to(v(k)), acc, method(0, vec![]), next);
    b.done(vec![each(i, to(v(m)), vec![each(j, to(v(n)), vec![store(c, &[v(i), v(j)], sum)])])])
}

fn pure(name: &str, params: usize, e: Elem, body: Word) -> Pure {
    let info = |i: usize| LocalInfo { name: format!("x{i}"), ty: elem(e), dims: vec![], vector: false, mutable: false };
    let locals: Vec<LocalInfo> = (0..params).map(info).collect();
    let params = (0..params as u32).map(Local).collect();
    Pure { name: name.into(), params, result: elem(e), body, locals }
}

/// The generic product with `MinPlus f64`, whose `mul_add` goes through another pure function, and `PlusTimes f32`.
fn semirings() -> Program {
    let x = |n| get(Local(n));
    let (f, g) = (Elem::F64, Elem::F32);
    let p = Program {
        interfaces: vec![Interface {
            name: "Semiring".into(),
            laws: vec![],
            methods: vec![("zero".into(), 0), ("mul_add".into(), 3)],
        }],
        pures: vec![
            pure("plus", 2, f, op(Prim::Add, vec![x(0), x(1)])),
            pure("infinity", 0, f, number(f, f64::INFINITY)),
            pure("mul_add", 3, f, op(Prim::Min, vec![x(2), Word::Apply(PureId(0), vec![x(0), x(1)])])),
            pure("zero", 0, g, number(g, -0.0)),
            pure("fused", 3, g, op(Prim::Fma, vec![x(0), x(1), x(2)])),
        ],
        impls: vec![
            Impl {
                name: "MinPlus f64".into(),
                interface: 0,
                value: elem(f),
                methods: vec![PureId(1), PureId(2)],
                laws: vec![],
            },
            Impl {
                name: "PlusTimes f32".into(),
                interface: 0,
                value: elem(g),
                methods: vec![PureId(3), PureId(4)],
                laws: vec![],
            },
        ],
        funs: vec![generic()],
        ..Program::default()
    };
    common::valid(&p);
    p
}

#[test]
fn one_generic_function_serves_two_semirings() {
    let Some(llvm) = common::llvm() else { return };
    let p = semirings();
    let shortest = native(&llvm, &p, 0, &[Binding::Impl(ImplId(0))]);
    let product = native(&llvm, &p, 0, &[Binding::Impl(ImplId(1))]);
    let mut random = Random(3);
    for m in SIZES {
        for k in SIZES {
            let n = 5;
            let mut floats = |n: usize| -> Vec<f64> { (0..n).map(|_| random.float(true)).collect() };
            let (a, b) = (floats(m * k), floats(k * n));
            let at = |i: usize, j: usize| {
                (0..k).fold(f64::INFINITY, |acc: f64, p| {
                    let path = a[i * k + p] + b[p * n + j];
                    if acc.is_nan() || path.is_nan() {
                        f64::NAN
                    } else if acc == path {
                        if acc.is_sign_negative() { acc } else { path }
                    } else {
                        acc.min(path)
                    }
                })
            };
            let wanted: Vec<f64> = (0..m * n).map(|x| at(x / n, x % n)).collect();
            let got = shortest.call(&[m, n, k], &[reads(&a), reads(&b), writes(m * n * 8)]);
            assert!(same64(&f64s(&got[0]), &wanted));
            let narrow = |xs: &[f64]| xs.iter().map(|x| *x as f32).collect::<Vec<f32>>();
            let (a, b) = (narrow(&a), narrow(&b));
            let at = |i: usize, j: usize| (0..k).fold(-0.0f32, |acc, p| a[i * k + p].mul_add(b[p * n + j], acc));
            let wanted: Vec<f32> = (0..m * n).map(|x| at(x / n, x % n)).collect();
            let got = product.call(&[m, n, k], &[reads(&a), reads(&b), writes(m * n * 4)]);
            assert!(same32(&f32s(&got[0]), &wanted));
        }
    }
}

#[test]
fn an_unbound_function_has_no_code() {
    let p = semirings();
    let options = cachet_codegen::Options { cpu: String::new(), features: String::new(), vector_bits: 0 };
    for types in [vec![], vec![Binding::Param(TypeParam(0))], vec![Binding::Impl(ImplId(9))]] {
        let e = emit(&p, &[(FunId(0), types)], &options).unwrap_err();
        assert_eq!(e.code, codes::BINDING);
    }
    assert_eq!(emit(&p, &[(FunId(7), vec![])], &options).unwrap_err().kind, Kind::Error);
}

// ---------------------------------------------------------------- tuples and locals

#[test]
fn elements_may_be_tuples() {
    let Some(llvm) = common::llvm() else { return };
    // `(i8, (f64, bool, i32))` is laid out as C would: 0, 8, 16, 20; 24 bytes.
    let inner = Ty::Tuple(vec![elem(Elem::F64), elem(Elem::Bool), elem(Elem::I32)].into());
    let ty = Ty::Tuple(vec![elem(Elem::I8), inner].into());
    let mut b = Build::new("pairs");
    let n = b.size("N");
    let x = b.buffer("x", ty.clone(), vec![v(n)], Role::Reads);
    let o = b.buffer("out", ty.clone(), vec![v(n)], Role::Mut);
    let i = b.index("i");
    let t = b.local("t", ty.clone(), &[], true);
    let cells = b.local("cells", ty, &[2, 2], true);
    let part = |w: Word, n| Word::Part(bx(w), n);
    let word = || load(x, &[v(i)]);
    let turned = Word::Tuple(vec![
        op(Prim::Neg, vec![part(word(), 0)]),
        Word::Tuple(vec![
            op(Prim::Mul, vec![part(part(word(), 1), 0), number(Elem::F64, 2.0)]),
            op(Prim::Not, vec![part(part(word(), 1), 1)]),
            op(Prim::Add, vec![part(part(word(), 1), 2), number(Elem::I32, 1.0)]),
        ]),
    ]);
    let at = vec![Ix::Mod(bx(v(i)), 2), lit(1)];
    let body = vec![
        stmt(StmtKind::Var { local: t, init: word() }),
        stmt(StmtKind::Var { local: cells, init: word() }),
        stmt(StmtKind::Assign { local: t, at: vec![], word: turned }),
        stmt(StmtKind::Assign { local: cells, at: at.clone(), word: get(t) }),
        store(o, &[v(i)], Word::Local(cells, at)),
    ];
    let code = native(&llvm, &program(vec![b.done(vec![each(i, to(v(n)), body)])]), 0, &[]);
    for n in SIZES {
        let element = |a: i8, x: f64, c: bool, z: i32| {
            let mut out = vec![0xA5u8; 24];
            out[0] = a as u8;
            out[8..16].copy_from_slice(&x.to_ne_bytes());
            out[16] = c.into();
            out[20..].copy_from_slice(&z.to_ne_bytes());
            out
        };
        let make = |f: &dyn Fn(usize) -> Vec<u8>| (0..n).flat_map(f).collect::<Vec<u8>>();
        let input = make(&|i| element(i as i8, i as f64 + 0.5, i % 3 == 0, i as i32));
        let wanted = make(&|i| element(-(i as i8), i as f64 * 2.0 + 1.0, i % 3 != 0, i as i32 + 1));
        let got = code.call(&[n], &[reads(&input), writes(n * 24)]);
        assert_eq!(got[0], wanted);
    }
}

#[test]
fn a_local_array_starts_anew_in_each_iteration() {
    let Some(llvm) = common::llvm() else { return };
    let mut b = Build::new("histogram");
    let n = b.size("N");
    let o = b.buffer("out", elem(Elem::I32), vec![v(n), lit(5)], Role::Mut);
    let (i, j, k) = (b.index("i"), b.index("j"), b.index("k"));
    let counts = b.local("counts", elem(Elem::I32), &[5], true);
    let at = vec![Ix::Mod(bx(v(j)), 5)];
    let more = op(Prim::Add, vec![Word::Local(counts, at.clone()), number(Elem::I32, 1.0)]);
    let body = vec![
        stmt(StmtKind::Var { local: counts, init: number(Elem::I32, 100.0) }),
        each(j, to(v(i)), vec![stmt(StmtKind::Assign { local: counts, at, word: more })]),
        each(k, to(lit(5)), vec![store(o, &[v(i), v(k)], Word::Local(counts, vec![v(k)]))]),
    ];
    let code = native(&llvm, &program(vec![b.done(vec![each(i, to(v(n)), body)])]), 0, &[]);
    for n in SIZES {
        let got = i32s(&code.call(&[n], &[writes(n * 20)])[0]);
        let wanted: Vec<i32> =
            (0..n).flat_map(|i| (0..5).map(move |k| 100 + (0..i).filter(|j| j % 5 == k).count() as i32)).collect();
        assert_eq!(got, wanted);
    }
}

// ---------------------------------------------------------------- calls and allocations

/// `out = 2 * in`, two axes.
fn double() -> Fun {
    let mut b = Build::new("double");
    let (m, n) = (b.size("M"), b.size("N"));
    let x = b.buffer("in", elem(Elem::F32), vec![v(m), v(n)], Role::Reads);
    let o = b.buffer("out", elem(Elem::F32), vec![v(m), v(n)], Role::Mut);
    let (i, j) = (b.index("i"), b.index("j"));
    let at = [v(i), v(j)];
    let word = op(Prim::Mul, vec![load(x, &at), number(Elem::F32, 2.0)]);
    b.done(vec![each(i, to(v(m)), vec![each(j, to(v(n)), vec![store(o, &at, word)])])])
}

fn call(fun: u32, sizes: Vec<Ix>, args: Vec<View>) -> cachet_core::ir::Stmt {
    stmt(StmtKind::Call(bx(Call { fun: FunId(fun), types: vec![], sizes, args })))
}

fn whole(buffer: cachet_core::ir::Buffer) -> View {
    View { buffer, axes: None, span: At::default() }
}

fn part(buffer: cachet_core::ir::Buffer, axes: Vec<(Ix, Ix)>) -> View {
    View { buffer, axes: Some(axes), span: At::default() }
}

#[test]
fn calls_lend_whole_buffers_rows_and_blocks_of_rows() {
    let Some(llvm) = common::llvm() else { return };
    // Rows in blocks of 3 into a temporary, then each row on its own: four times the input.
    let mut b = Build::new("fourfold");
    let (m, n) = (b.size("M"), b.size("N"));
    let x = b.buffer("x", elem(Elem::F32), vec![v(m), v(n)], Role::Reads);
    let o = b.buffer("out", elem(Elem::F32), vec![v(m), v(n)], Role::Mut);
    let last = b.buffer("last", elem(Elem::F32), vec![v(m), v(n)], Role::Mut);
    let t = b.buffer("t", elem(Elem::F32), vec![v(m), v(n)], Role::Alloc);
    let (g, i) = (b.blocks("g"), b.index("i"));
    let rows = || vec![(Ix::Block(g, BlockPart::Lo), Ix::Block(g, BlockPart::Len)), (lit(0), v(n))];
    let row = || vec![(v(i), Ix::Sub(bx(Ix::Add(bx(v(i)), bx(lit(1)))), bx(v(i)))), (lit(0), v(n))];
    let body = vec![
        stmt(StmtKind::Alloc(t)),
        each(
            g,
            Domain::Blocks { lo: lit(0), hi: v(m), size: 3 },
            vec![call(0, vec![Ix::Block(g, BlockPart::Len), v(n)], vec![part(x, rows()), part(t, rows())])],
        ),
        each(i, to(v(m)), vec![call(0, vec![lit(1), v(n)], vec![part(t, row()), part(o, row())])]),
        call(0, vec![v(m), v(n)], vec![whole(o), whole(last)]),
    ];
    let p = program(vec![double(), b.done(body)]);
    let code = native(&llvm, &p, 1, &[]);
    for m in SIZES {
        for n in SIZES {
            let xs: Vec<f32> = (0..m * n).map(|i| i as f32 - 7.5).collect();
            let got = code.call(&[m, n], &[reads(&xs), writes(m * n * 4), writes(m * n * 4)]);
            assert_eq!(f32s(&got[0]), xs.iter().map(|x| 4.0 * x).collect::<Vec<_>>());
            assert_eq!(f32s(&got[1]), xs.iter().map(|x| 8.0 * x).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_part_of_one_row_can_be_lent_and_a_box_cannot() {
    let Some(llvm) = common::llvm() else { return };
    let build = |axes: fn(Ix, Ix) -> Vec<(Ix, Ix)>, sizes: fn(Ix, Ix) -> Vec<Ix>| {
        let mut b = Build::new("parts");
        let (m, n) = (b.size("M"), b.size("N"));
        let x = b.buffer("x", elem(Elem::F32), vec![v(m), v(n)], Role::Reads);
        let o = b.buffer("out", elem(Elem::F32), vec![v(m), v(n)], Role::Mut);
        let body = vec![call(0, sizes(v(m), v(n)), vec![part(x, axes(v(m), v(n))), part(o, axes(v(m), v(n)))])];
        program(vec![double(), b.done(body)])
    };
    // The last three of row 1.
    let p = build(|_, n| vec![(lit(1), lit(1)), (Ix::Sub(bx(n), bx(lit(3))), lit(3))], |_, _| vec![lit(1), lit(3)]);
    let code = native(&llvm, &p, 1, &[]);
    let xs: Vec<f32> = (0..20).map(|i| i as f32).collect();
    let got = f32s(&code.call(&[4, 5], &[reads(&xs), writes(80)])[0]);
    let poison = f32::from_ne_bytes([0xA5; 4]);
    let wanted: Vec<f32> = (0..20).map(|i| if (7..10).contains(&i) { 2.0 * i as f32 } else { poison }).collect();
    assert_eq!(got, wanted);

    let options = common::options(&llvm);
    let p = build(|m, _| vec![(lit(0), m), (lit(0), lit(3))], |m, _| vec![m, lit(3)]);
    let e = emit(&p, &[(FunId(1), vec![])], &options).unwrap_err();
    assert_eq!((e.kind, e.code), (Kind::NotBuilt, codes::NOT_BUILT));
    assert!(e.message.contains("`x`"), "{}", e.message);
}

#[test]
fn memory_in_a_loop_is_given_back() {
    let Some(llvm) = common::llvm() else { return };
    // 40 MB an iteration, 200 GB in all.
    let mut b = Build::new("many");
    let n = b.size("N");
    let o = b.buffer("out", elem(Elem::F64), vec![v(n)], Role::Mut);
    let t = b.buffer("t", elem(Elem::F64), vec![lit(1000), lit(1000), lit(5)], Role::Alloc);
    let (i, j) = (b.index("i"), b.index("j"));
    let middle = [lit(500), v(j), lit(3)];
    let body = vec![
        stmt(StmtKind::Alloc(t)),
        each(j, to(lit(1000)), vec![store(t, &middle, Word::Index(v(i), Elem::F64))]),
        store(o, &[v(i)], load(t, &[lit(500), lit(999), lit(3)])),
    ];
    let code = native(&llvm, &program(vec![b.done(vec![each(i, to(v(n)), body)])]), 0, &[]);
    assert_eq!(code.ir.matches("call void @free").count(), 1, "{}", code.ir);
    let n = 5000;
    let got = f64s(&code.call(&[n], &[writes(n * 8)])[0]);
    assert!(got.iter().enumerate().all(|(i, x)| *x == i as f64));
}

#[test]
fn differing_counts_elements_and_lets_nan_equal_nan() {
    let Some(llvm) = common::llvm() else { return };
    let mut b = Build::new("compare");
    let (m, n) = (b.size("M"), b.size("N"));
    let x = b.buffer("x", elem(Elem::F32), vec![v(m), v(n)], Role::Reads);
    let y = b.buffer("y", elem(Elem::F32), vec![v(m), v(n)], Role::Reads);
    let o = b.buffer("out", elem(Elem::I64), vec![lit(1)], Role::Mut);
    let p = program(vec![b.done(vec![store(o, &[lit(0)], Word::Differing(x, y))])]);
    let code = native(&llvm, &p, 0, &[]);
    let a = [1.0, -0.0, f32::NAN, f32::INFINITY, 2.0, 3.0];
    let b = [1.0, 0.0, -f32::NAN, f32::INFINITY, f32::NAN, 3.0];
    assert_eq!(i64s(&code.call(&[2, 3], &[reads(&a), reads(&b), writes(8)])[0]), [2]);
    assert_eq!(i64s(&code.call(&[0, 3], &[reads::<f32>(&[]), reads::<f32>(&[]), writes(8)])[0]), [0]);
}

// ---------------------------------------------------------------- reductions

fn reduction(shape: Shape, count: Option<i64>) -> Program {
    let mut b = Build::new("reduce");
    let n = b.size("N");
    let x = b.buffer("x", elem(Elem::F32), vec![v(n)], Role::Reads);
    let o = b.buffer("out", elem(Elem::F32), vec![lit(1)], Role::Mut);
    let i = b.index("i");
    let mut local = |name: &str| b.local(name, elem(Elem::F32), &[], false);
    let operands = (local("p"), local("q"));
    // Neither associative nor commutative, so that every shape has its own value.
    let half = op(Prim::Mul, vec![get(operands.1), number(Elem::F32, 0.75)]);
    let word = Word::Reduce(bx(Reduce {
        var: i,
        domain: to(count.map_or(v(n), lit)),
        element: op(Prim::Mul, vec![load(x, &[v(i)]), number(Elem::F32, 3.0)]),
        operands,
        combine: op(Prim::Sub, vec![get(operands.0), half]),
        empty: number(Elem::F32, 7.0),
        shape,
        span: At::default(),
    }));
    program(vec![b.done(vec![store(o, &[lit(0)], word)])])
}

fn reduced(shape: Shape, xs: &[f32]) -> f32 {
    let join = |p: f32, q: f32| p - q * 0.75;
    let terms = xs.iter().map(|x| x * 3.0);
    let halve = |mut all: Vec<f32>| {
        while all.len() > 1 {
            let half = all.len() / 2;
            all = (0..half).map(|i| join(all[i], all[i + half])).collect();
        }
        all[0]
    };
    match shape {
        Shape::Order => terms.fold(7.0, join),
        Shape::Halving if xs.is_empty() => 7.0,
        Shape::Halving => halve(terms.collect()),
        Shape::Lanes(n) => {
            let mut chains = vec![7.0; n as usize];
            for (i, x) in terms.enumerate() {
                chains[i % n as usize] = join(chains[i % n as usize], x);
            }
            halve(chains)
        }
    }
}

#[test]
fn reductions_follow_their_shape() {
    let Some(llvm) = common::llvm() else { return };
    let mut random = Random(5);
    let mut check = |shape: Shape, count: Option<i64>, sizes: &[usize]| {
        let code = native(&llvm, &reduction(shape, count), 0, &[]);
        for n in sizes {
            let xs: Vec<f32> = (0..*n).map(|_| random.float(false) as f32).collect();
            let got = f32s(&code.call(&[*n], &[reads(&xs), writes(4)])[0]);
            assert_eq!(got[0].to_bits(), reduced(shape, &xs).to_bits(), "{shape:?} {n} {}", code.ir);
        }
    };
    check(Shape::Order, None, &SIZES);
    check(Shape::Halving, None, &[0, 1, 2, 4, 8, 16, 64, 4096]);
    for n in [0, 1, 2, 16, 64, 2048] {
        check(Shape::Halving, Some(n), &[n as usize]);
    }
    for lanes in [1, 2, 8, 16] {
        check(Shape::Lanes(lanes), None, &SIZES);
        check(Shape::Lanes(lanes), Some(40), &[40]);
    }
}

#[test]
fn a_store_may_hold_a_cell_of_every_axis() {
    let Some(llvm) = common::llvm() else { return };
    let mut b = Build::new("axes");
    let (m, n) = (b.size("M"), b.size("N"));
    let o = b.buffer("out", elem(Elem::I64), vec![v(m), Ix::Add(bx(v(n)), bx(lit(1))), lit(3)], Role::Mut);
    let (i, j, k) = (b.index("i"), b.index("j"), b.index("k"));
    let number = Ix::Add(bx(Ix::Mul(10_000, bx(v(i)))), bx(Ix::Add(bx(Ix::Mul(10, bx(v(j)))), bx(v(k)))));
    let put = stmt(StmtKind::Store { to: cell(o, &[v(i), v(j), v(k)]), word: Word::Index(number, Elem::I64) });
    let rows = each(j, to(Ix::Add(bx(v(n)), bx(lit(1)))), vec![each(k, to(lit(3)), vec![put])]);
    let code = native(&llvm, &program(vec![b.done(vec![each(i, to(v(m)), vec![rows])])]), 0, &[]);
    for m in SIZES {
        let got = i64s(&code.call(&[m, 16], &[writes(m * 17 * 3 * 8)])[0]);
        let wanted: Vec<i64> = (0..m * 51).map(|x| (x / 51 * 10_000 + x % 51 / 3 * 10 + x % 3) as i64).collect();
        assert_eq!(got, wanted);
    }
}
