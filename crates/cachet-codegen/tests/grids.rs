//! Grids: what their text says, and the same bits on every pool.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_codegen::{Options, emit, emit_main};
use cachet_core::ir::{
    At, BlockPart, Buffer, Call, Device, Domain, Elem, Fun, FunId, Grid, Ix, Prim, Program, Role, Stmt, StmtKind, Ty,
    Var, View, Window, Word,
};
use cachet_runtime::{Order, Pool};
use common::{
    Build, Data, bx, each, elem, f64s, get, i64s, lit, load, native, number, op, program, reads, stmt, store, to, v,
    writes,
};

fn options() -> Options {
    Options { cpu: String::new(), features: String::new(), vector_bits: 0 }
}

fn grid(axes: Vec<(Var, Domain)>, writes: Vec<Window>, body: Vec<Stmt>) -> Stmt {
    stmt(StmtKind::Grid(bx(Grid { device: Device::HOST, level: 0, axes, writes, body })))
}

/// One cell.
fn window(buffer: Buffer, at: &[Ix]) -> Window {
    Window { buffer, axes: at.iter().map(|i| (i.clone(), lit(1))).collect() }
}

fn plus(a: Ix, b: Ix) -> Ix {
    Ix::Add(bx(a), bx(b))
}

fn times(n: i64, a: Ix) -> Ix {
    Ix::Mul(n, bx(a))
}

fn ir(p: &Program, fun: u32) -> String {
    emit(p, &[(FunId(fun), vec![])], &options()).unwrap().ir
}

/// `grid i in 0 .. N do out[i] = x[i] * scale`, with a `let` from outside.
fn scaled() -> Fun {
    let mut b = Build::new("scaled");
    let n = b.size("N");
    let x = b.buffer("x", elem(Elem::F64), vec![v(n)], Role::Reads);
    let o = b.buffer("out", elem(Elem::F64), vec![v(n)], Role::Mut);
    let i = b.index("i");
    let scale = b.local("scale", elem(Elem::F64), &[], false);
    let word = op(Prim::Mul, vec![load(x, &[v(i)]), get(scale)]);
    let over = grid(vec![(i, to(v(n)))], vec![window(o, &[v(i)])], vec![store(o, &[v(i)], word)]);
    let word = op(Prim::Add, vec![Word::Index(v(n), Elem::F64), number(Elem::F64, 0.5)]);
    b.done(vec![stmt(StmtKind::Let { local: scale, word }), over])
}

/// Calls `scaled`.
fn outer() -> Fun {
    let mut b = Build::new("outer");
    let n = b.size("N");
    let x = b.buffer("x", elem(Elem::F64), vec![v(n)], Role::Reads);
    let o = b.buffer("out", elem(Elem::F64), vec![v(n)], Role::Mut);
    let whole = |buffer| View { buffer, axes: None, span: At::default() };
    let call = Call { fun: FunId(0), types: vec![], sizes: vec![v(n)], args: vec![whole(x), whole(o)] };
    b.done(vec![stmt(StmtKind::Call(bx(call)))])
}

#[test]
fn a_grid_is_two_functions_and_a_call_of_the_pool() {
    let p = program(vec![scaled(), outer()]);
    let ir = ir(&p, 0);
    for wanted in [
        // What is written is apart from everything; what is only read may overlap.
        "define internal void @cachet_scaled_0.grid0.part(i64 noundef %first, i64 noundef %last, double %",
        ", ptr readonly %",
        ", ptr noalias %",
        "define internal void @cachet_scaled_0.grid0(ptr %env, i64 %first, i64 %last) #0",
        "define void @cachet_scaled_0(i64 noundef %n0, ptr readonly noundef %p0, ptr noalias noundef %p1, ptr %pool) #0",
        "= alloca { double, ptr, ptr }",
        "icmp eq ptr %pool, null",
        "call void @cachet_scaled_0.grid0(ptr %",
        "getelementptr inbounds { ptr, ptr }, ptr %pool, i64 0, i32 1",
        // The pool stands behind the buffers.
        "%last = getelementptr inbounds ptr, ptr %buffers, i64 2",
        "call void @cachet_scaled_0(i64 %n0, ptr %p0, ptr %p1, ptr %pool)",
    ] {
        assert!(ir.contains(wanted), "{wanted}\n{ir}");
    }
    let run: Vec<&str> = ir.lines().filter(|l| l.contains("@cachet_scaled_0.grid0, ptr %")).collect();
    assert!(matches!(run[..], [line] if line.ends_with(" nounwind") && line.trim().starts_with("call void %")), "{ir}");
    // The pool is no global name, and nothing here is.
    assert!(!ir.contains("external") && !ir.contains("global"), "{ir}");
}

#[test]
fn a_caller_hands_its_pool_on() {
    let p = program(vec![scaled(), outer()]);
    let text = emit(&p, &[(FunId(1), vec![])], &options()).unwrap();
    assert!(text.entries[0].pool);
    let call = "call void @cachet_scaled_1(i64 %n0, ptr %p0, ptr noalias %p1, ptr %pool)";
    assert!(text.ir.contains(call), "{}", text.ir);
    assert_eq!(text.ir.matches(".grid0(ptr %env").count(), 1);
}

#[test]
fn without_a_grid_there_is_no_pool() {
    let mut b = Build::new("plain");
    let n = b.size("N");
    let o = b.buffer("out", elem(Elem::F64), vec![v(n)], Role::Mut);
    let i = b.index("i");
    let plain = b.done(vec![each(i, to(v(n)), vec![store(o, &[v(i)], number(Elem::F64, 1.0))])]);
    let p = program(vec![scaled(), plain]);
    let text = emit(&p, &[(FunId(1), vec![])], &options()).unwrap();
    assert!(!text.entries[0].pool && !text.ir.contains("pool"), "{}", text.ir);
}

#[test]
fn the_number_of_literal_iterations_is_a_literal() {
    let mut b = Build::new("literal");
    let o = b.buffer("out", elem(Elem::F64), vec![lit(6), lit(7)], Role::Mut);
    let (i, j) = (b.index("i"), b.blocks("j"));
    let at = [v(i), Ix::Block(j, BlockPart::Lo)];
    let axes = vec![(i, to(lit(6))), (j, Domain::Blocks { lo: lit(0), hi: lit(7), size: 3 })];
    let body = vec![store(o, &at, number(Elem::F64, 1.0))];
    let p = program(vec![b.done(vec![grid(axes, vec![window(o, &at)], body)])]);
    let ir = ir(&p, 0);
    assert!(ir.contains("udiv i64 %first, 3") && ir.contains("= alloca { ptr }"), "{ir}");
}

#[test]
fn a_program_has_a_main_for_pools_too() {
    let mut b = Build::new("main");
    let t = b.buffer("t", elem(Elem::I64), vec![lit(5)], Role::Alloc);
    let i = b.index("i");
    let body = vec![
        stmt(StmtKind::Alloc(t)),
        grid(
            vec![(i, to(lit(5)))],
            vec![window(t, &[v(i)])],
            vec![store(t, &[v(i)], Word::Index(times(3, v(i)), Elem::I64))],
        ),
        stmt(StmtKind::Print(load(t, &[lit(4)]))),
    ];
    let p = program(vec![b.done(body)]);
    let text = emit_main(&p, FunId(0), &options()).unwrap();
    for wanted in ["define i32 @main()", "define i32 @cachet_main(ptr %pool)", "call void @cachet_main_0(ptr %pool)"] {
        assert!(text.ir.contains(wanted), "{wanted}\n{}", text.ir);
    }
    let Some(llvm) = common::llvm() else { return };
    let jit = llvm.compile_and_load(&text.ir).unwrap();
    assert_eq!(jit.run_main("main").unwrap(), 0);
    assert_eq!(jit.run_main_on("cachet_main", Pool::new(3).unwrap().interface()).unwrap(), 0);
}

/// What a function leaves without a pool, which it also leaves on every pool.
fn everywhere(p: &Program, fun: usize, calls: &[(Vec<usize>, Vec<Data>)]) -> Option<Vec<Vec<Vec<u8>>>> {
    let llvm = common::llvm()?;
    let mut code = native(&llvm, p, fun, &[]);
    let all = calls.iter().map(|(sizes, data)| code.call(sizes, data)).collect::<Vec<_>>();
    let orders = [Order::Free, Order::Dealt { seed: 1 }, Order::Dealt { seed: 2 }, Order::Dealt { seed: 3 }];
    for (threads, order) in [1, 2, 3, 7, 16].into_iter().flat_map(|t| orders.map(|o| (t, o))) {
        code.pool = Some(Pool::in_order(threads, order).unwrap());
        for ((sizes, data), want) in calls.iter().zip(&all) {
            assert_eq!(code.call(sizes, data), *want, "{threads} threads, {order:?}, {sizes:?}");
        }
    }
    Some(all)
}

#[test]
fn a_grid_of_one_axis() {
    let p = program(vec![scaled(), outer()]);
    let input = |n: usize| (0..n).map(|i| i as f64 - 1.25).collect::<Vec<_>>();
    let calls: Vec<_> = common::SIZES.iter().map(|n| (vec![*n], vec![reads(&input(*n)), writes(8 * n)])).collect();
    for fun in [0, 1] {
        let Some(left) = everywhere(&p, fun, &calls) else { return };
        for (n, left) in common::SIZES.iter().zip(left) {
            let want: Vec<f64> = input(*n).iter().map(|x| x * (*n as f64 + 0.5)).collect();
            assert!(common::same64(&f64s(&left[0]), &want), "{n}");
        }
    }
}

/// Axes of ranges and blocks that start anywhere, inside a loop over blocks, each iteration with room of its own, a `var` from
/// outside, and records.
fn many_axes() -> Fun {
    let mut b = Build::new("many_axes");
    let (m, n) = (b.size("M"), b.size("N"));
    let pair = Ty::Tuple(vec![elem(Elem::I64), elem(Elem::F64)].into());
    let o = b.buffer("out", pair, vec![v(m), v(n), lit(3)], Role::Mut);
    let offsets = b.local("offsets", elem(Elem::I64), &[3], true);
    let (band, i, block, k, j) = (b.blocks("band"), b.index("i"), b.blocks("block"), b.index("k"), b.index("j"));
    let room = b.buffer("room", elem(Elem::I64), vec![lit(4)], Role::Alloc);
    let part = |v, p| Ix::Block(v, p);
    let place = plus(times(100_000, v(i)), plus(times(1000, part(block, BlockPart::Idx)), times(10, v(k))));
    let in_block = Ix::InBlock(block, bx(v(j)));
    let word = op(Prim::Add, vec![load(room, &[v(j)]), Word::Local(offsets, vec![v(k)])]);
    let record = Word::Tuple(vec![word, Word::Index(part(band, BlockPart::Idx), Elem::F64)]);
    let body = vec![
        stmt(StmtKind::Alloc(room)),
        each(
            j,
            to(part(block, BlockPart::Len)),
            vec![
                store(room, &[v(j)], Word::Index(plus(place, v(j)), Elem::I64)),
                store(o, &[v(i), in_block, v(k)], record),
            ],
        ),
    ];
    let axes = vec![
        (i, Domain::Range { lo: part(band, BlockPart::Lo), hi: part(band, BlockPart::Hi) }),
        (block, Domain::Blocks { lo: lit(0), hi: v(n), size: 4 }),
        (k, to(lit(3))),
    ];
    let written = Window {
        buffer: o,
        axes: vec![(v(i), lit(1)), (part(block, BlockPart::Lo), part(block, BlockPart::Len)), (v(k), lit(1))],
    };
    let over = grid(axes, vec![written], body);
    b.done(vec![
        stmt(StmtKind::Var { local: offsets, init: number(Elem::I64, 7.0) }),
        stmt(StmtKind::Assign { local: offsets, at: vec![lit(1)], word: number(Elem::I64, -7.0) }),
        each(band, Domain::Blocks { lo: lit(0), hi: v(m), size: 3 }, vec![over]),
    ])
}

#[test]
fn a_grid_of_several_axes() {
    let p = program(vec![many_axes()]);
    let sizes = [(0, 5), (5, 0), (1, 1), (2, 3), (3, 4), (4, 9), (7, 17)];
    let calls: Vec<_> = sizes.iter().map(|(m, n)| (vec![*m, *n], vec![writes(m * n * 3 * 16)])).collect();
    let Some(left) = everywhere(&p, 0, &calls) else { return };
    for ((m, n), left) in sizes.into_iter().zip(left) {
        let mut want = Vec::new();
        for (i, j, k) in (0..m).flat_map(|i| (0..n).flat_map(move |j| (0..3).map(move |k| (i, j, k)))) {
            let word = 100_000 * i + 1000 * (j / 4) + 10 * k + j % 4;
            want.extend((word as i64 + if k == 1 { -7 } else { 7 }).to_ne_bytes());
            want.extend(((i / 3) as f64).to_ne_bytes());
        }
        assert_eq!(left[0], want, "{m} {n}");
    }
}

/// `j` runs to `i`: rows are shared out, and a row is run by one thread.
#[test]
fn an_axis_may_depend_on_the_one_before() {
    let mut b = Build::new("triangle");
    let n = b.size("N");
    let o = b.buffer("out", elem(Elem::I64), vec![v(n), v(n)], Role::Mut);
    let (i, j) = (b.index("i"), b.index("j"));
    let at = [v(i), v(j)];
    let body = vec![store(o, &at, Word::Index(plus(times(100, v(i)), v(j)), Elem::I64))];
    let over = grid(vec![(i, to(v(n))), (j, to(v(i)))], vec![window(o, &at)], body);
    let p = program(vec![b.done(vec![over])]);
    let calls: Vec<_> = [0, 1, 2, 9].into_iter().map(|n| (vec![n], vec![writes(8 * n * n)])).collect();
    let Some(left) = everywhere(&p, 0, &calls) else { return };
    let got = i64s(&left[3][0]);
    let poison = i64::from_ne_bytes([0xA5; 8]);
    for (i, j) in (0..9).flat_map(|i| (0..9).map(move |j| (i, j))) {
        assert_eq!(got[i * 9 + j], if j < i { (100 * i + j) as i64 } else { poison });
    }
}

/// Bounds the wrong way round, and more iterations than there are numbers for, all of them empty.
#[test]
fn grids_of_nothing() {
    let mut b = Build::new("nothing");
    let n = b.size("N");
    let o = b.buffer("out", elem(Elem::I64), vec![lit(1)], Role::Mut);
    let mut body = vec![store(o, &[lit(0)], number(Elem::I64, 4.0))];
    let (i, j) = (b.index("i"), b.blocks("j"));
    let wrong = Domain::Blocks { lo: v(n), hi: lit(-3), size: 5 };
    body.push(grid(vec![(i, to(v(n))), (j, wrong)], vec![], vec![store(o, &[lit(0)], number(Elem::I64, 5.0))]));
    let axes: Vec<_> = (0..5).map(|_| (b.index("k"), to(v(n)))).collect();
    body.push(grid(axes, vec![], vec![]));
    let p = program(vec![b.done(body)]);
    let calls = [0, 1, 3, 1 << 40].map(|n| (vec![n], vec![writes(8)]));
    let Some(left) = everywhere(&p, 0, &calls) else { return };
    assert!(left.iter().all(|l| i64s(&l[0]) == [4]));
}
