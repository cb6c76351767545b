//! The text of the probes: loops of one kind of instruction, each a function that codegen could have made.
//!
//! Every probe is called with the number of its turns, a buffer that it reads and one that it writes. What it loads is
//! volatile, so nothing of it is left out; what it computes is stored in the end.

use crate::llvm::HostTarget;
use std::fmt::Write as _;

/// A vector type of the text: so many elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Vector {
    /// Bytes of the register.
    pub bytes: usize,
}

/// Bytes of one element of a probe's vectors, which are of f32.
const ELEMENT: usize = 4;

impl Vector {
    fn lanes(self) -> usize {
        self.bytes / ELEMENT
    }

    fn ty(self) -> String {
        format!("<{} x float>", self.lanes())
    }
}

/// What a probe does in one turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// A chain of so many integer operations of one cycle each.
    Ticks(usize),
    /// So many chains, each a step further, or one chain so many steps.
    Arithmetic(Operation, Vector, Shape),
    /// So many loads of a vector, from the start of the first buffer.
    Loads(Vector, usize),
    /// So many loads of an element to all lanes.
    Broadcasts(Vector, usize),
    /// So many stores of a vector, to the start of the second buffer.
    Stores(Vector, usize),
    /// So many loads, each of the address of the next.
    Chase(usize),
    /// So many bytes of the first buffer, read in order from its start; the turns are counted by the second size.
    Read(Vector, usize),
    /// The same, written to the second buffer.
    Write(Vector, usize),
}

/// Arithmetic of a chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    /// `x = fma x a b`
    Fma,
    /// `x = x + b`
    Add,
    /// `x = max x b`
    Max,
    /// `x = a / x`
    Divide,
    /// Sums of products of pairs of bf16, added to f32.
    DotBf16,
    /// Sums of products of four bytes, added to i32.
    DotI8,
}

/// How many chains, how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// Independent chains, a step of each.
    Chains(usize),
    /// One chain, so many steps.
    Steps(usize),
}

/// The text of one probe, a module of its own.
pub(super) fn module(host: &HostTarget, turn: Turn) -> String {
    let (function, declarations, bytes) = match turn {
        Turn::Ticks(n) => (ticks(n), String::new(), 16),
        Turn::Arithmetic(op, v, shape) => (arithmetic(op, v, shape), declaration(op, v), v.bytes),
        Turn::Loads(v, n) => (one_loop("", "", &loads(v, n, "%in"), ""), String::new(), v.bytes),
        Turn::Broadcasts(v, n) => (one_loop("", "", &broadcasts(host, v, n), ""), String::new(), v.bytes),
        Turn::Stores(v, n) => (one_loop(&splats(v), "", &stores(v, n, "%out"), ""), String::new(), v.bytes),
        Turn::Chase(n) => (chase(n), String::new(), 16),
        Turn::Read(v, n) => (two_loops("", "%in", n, &loads(v, n / v.bytes, "%at")), String::new(), v.bytes),
        Turn::Write(v, n) => (two_loops(&splats(v), "%out", n, &stores(v, n / v.bytes, "%at")), String::new(), v.bytes),
    };
    let bits = bytes * 8;
    format!(
        "{function}{declarations}attributes #0 = {{ nounwind \"no-builtins\" \"prefer-vector-width\"=\"{bits}\" \
         \"min-legal-vector-width\"=\"{bits}\" \"target-cpu\"=\"{cpu}\" \"target-features\"=\"{features}\" }}
!0 = distinct !{{!0, !1, !2}}
!1 = !{{!\"llvm.loop.unroll.disable\"}}
!2 = !{{!\"llvm.loop.vectorize.enable\", i1 false}}
",
        cpu = host.cpu,
        features = host.features,
    )
}

/// The probe's name.
pub(super) const NAME: &str = "cachet_probe";

/// What every probe begins with.
fn entry(setup: &str) -> String {
    format!(
        "define void @{NAME}__packed(ptr %sizes, ptr %buffers) #0 {{
entry:
  %n = load i64, ptr %sizes
  %in = load ptr, ptr %buffers
  %slot = getelementptr inbounds ptr, ptr %buffers, i64 1
  %out = load ptr, ptr %slot
{setup}"
    )
}

/// A loop of `%n` turns.
fn one_loop(setup: &str, phis: &str, steps: &str, finish: &str) -> String {
    let entry = entry(setup);
    format!(
        "{entry}  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{phis}{steps}  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done, !llvm.loop !0
done:
{finish}  ret void
}}
"
    )
}

/// `%n` times over a buffer, `%blocks` steps of `bytes` bytes each.
fn two_loops(setup: &str, buffer: &str, bytes: usize, steps: &str) -> String {
    let entry = entry(setup);
    format!(
        "{entry}  %second = getelementptr inbounds i64, ptr %sizes, i64 1
  %blocks = load i64, ptr %second
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %next, %after ]
  br label %loop
loop:
  %block = phi i64 [ 0, %outer ], [ %block1, %loop ]
  %at = phi ptr [ {buffer}, %outer ], [ %at1, %loop ]
{steps}  %at1 = getelementptr inbounds i8, ptr %at, i64 {bytes}
  %block1 = add i64 %block, 1
  %again = icmp slt i64 %block1, %blocks
  br i1 %again, label %loop, label %after, !llvm.loop !0
after:
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %outer, label %done
done:
  ret void
}}
"
    )
}

/// Exclusive or and addition in turn: neither a renamer nor a compiler makes one operation of two.
fn ticks(n: usize) -> String {
    let setup = "  %second = getelementptr inbounds i64, ptr %in, i64 1
  %a = load i64, ptr %in
  %b = load i64, ptr %second
";
    let mut steps = String::new();
    for k in 0..n {
        let (operation, operand) = if k % 2 == 0 { ("xor", "%a") } else { ("add", "%b") };
        let _ = writeln!(steps, "  %x{} = {operation} i64 %x{k}, {operand}", k + 1);
    }
    let phis = format!("  %x0 = phi i64 [ %a, %entry ], [ %x{n}, %loop ]\n");
    one_loop(setup, &phis, &steps, &format!("  store i64 %x{n}, ptr %out\n"))
}

fn chase(n: usize) -> String {
    let mut steps = String::new();
    for k in 0..n {
        let _ = writeln!(steps, "  %p{} = load ptr, ptr %p{k}", k + 1);
    }
    // It goes on where the last call ended: a chase that always begins anew would find its first lines nearby.
    let phis = format!("  %p0 = phi ptr [ %start, %entry ], [ %p{n}, %loop ]\n");
    one_loop("  %start = load ptr, ptr %out\n", &phis, &steps, &format!("  store ptr %p{n}, ptr %out\n"))
}

/// `%a` and `%b` to all lanes, from the first two elements of the first buffer.
fn splats(v: Vector) -> String {
    let (ty, lanes) = (v.ty(), v.lanes());
    let mut out = format!("  %b.at = getelementptr inbounds i8, ptr %in, i64 {ELEMENT}\n");
    for (name, at) in [("a", "%in"), ("b", "%b.at")] {
        let _ = writeln!(out, "  %{name}.one = load float, ptr {at}");
        let _ = writeln!(out, "  %{name}.first = insertelement {ty} poison, float %{name}.one, i64 0");
        let _ =
            writeln!(out, "  %{name} = shufflevector {ty} %{name}.first, {ty} poison, <{lanes} x i32> zeroinitializer");
    }
    out
}

fn arithmetic(op: Operation, v: Vector, shape: Shape) -> String {
    let ty = v.ty();
    let (chains, length) = match shape {
        Shape::Chains(n) => (n, 1),
        Shape::Steps(n) => (1, n),
    };
    let (mut setup, mut phis, mut steps, mut finish) = (splats(v), String::new(), String::new(), String::new());
    setup.push_str(&bits(op, v));
    for chain in 0..chains {
        // The chains start from different values: equal ones would be merged into one.
        let before = if chain == 0 { "%b".to_string() } else { format!("%start{}", chain - 1) };
        let _ = writeln!(setup, "  %start{chain} = fadd {ty} {before}, %a");
        let _ = writeln!(phis, "  %x{chain}.0 = phi {ty} [ %start{chain}, %entry ], [ %x{chain}.{length}, %loop ]");
        for k in 0..length {
            step(&mut steps, op, v, &format!("%x{chain}.{}", k + 1), &format!("%x{chain}.{k}"));
        }
        let before = if chain == 0 { "%b".to_string() } else { format!("%s{}", chain - 1) };
        let _ = writeln!(finish, "  %s{chain} = fadd {ty} {before}, %x{chain}.{length}");
    }
    let _ = writeln!(finish, "  store {ty} %s{}, ptr %out, align 1", chains - 1);
    one_loop(&setup, &phis, &steps, &finish)
}

/// One step of a chain.
fn step(out: &mut String, op: Operation, v: Vector, to: &str, from: &str) {
    let (ty, lanes) = (v.ty(), v.lanes());
    let _ = match op {
        Operation::Fma => writeln!(out, "  {to} = call {ty} @llvm.fma.v{lanes}f32({ty} {from}, {ty} %a, {ty} %b)"),
        Operation::Add => writeln!(out, "  {to} = fadd {ty} {from}, %b"),
        Operation::Max => {
            let _ = writeln!(out, "  {to}.more = fcmp ogt {ty} {from}, %b");
            writeln!(out, "  {to} = select <{lanes} x i1> {to}.more, {ty} {from}, {ty} %b")
        }
        Operation::Divide => writeln!(out, "  {to} = fdiv {ty} %a, {from}"),
        Operation::DotBf16 => {
            let pairs = format!("<{} x bfloat>", 2 * lanes);
            let (name, _) = dot(op, v);
            writeln!(out, "  {to} = call {ty} @{name}({ty} {from}, {pairs} %a.bits, {pairs} %b.bits)")
        }
        Operation::DotI8 => {
            let (name, bytes) = dot(op, v);
            let _ = writeln!(out, "  {to}.in = bitcast {ty} {from} to <{lanes} x i32>");
            let _ = writeln!(
                out,
                "  {to}.sum = call <{lanes} x i32> @{name}(<{lanes} x i32> {to}.in, {bytes} %a.bits, {bytes} %b.bits)"
            );
            writeln!(out, "  {to} = bitcast <{lanes} x i32> {to}.sum to {ty}")
        }
    };
}

/// The instruction's name and the type of what it multiplies.
fn dot(op: Operation, v: Vector) -> (String, String) {
    let bits = v.bytes * 8;
    match op {
        Operation::DotI8 => (format!("llvm.x86.avx512.vpdpbusd.{bits}"), format!("<{} x i8>", v.bytes)),
        _ => (format!("llvm.x86.avx512bf16.dpbf16ps.{bits}"), format!("<{} x bfloat>", v.bytes / 2)),
    }
}

/// The operands as narrow values, where an operation multiplies such.
fn bits(op: Operation, v: Vector) -> String {
    match op {
        Operation::Fma | Operation::Add | Operation::Max | Operation::Divide => String::new(),
        Operation::DotBf16 | Operation::DotI8 => {
            let (ty, narrow) = (v.ty(), dot(op, v).1);
            format!("  %a.bits = bitcast {ty} %a to {narrow}\n  %b.bits = bitcast {ty} %b to {narrow}\n")
        }
    }
}

fn declaration(op: Operation, v: Vector) -> String {
    let (ty, lanes) = (v.ty(), v.lanes());
    match op {
        Operation::Fma => format!("declare {ty} @llvm.fma.v{lanes}f32({ty}, {ty}, {ty})\n"),
        Operation::Add | Operation::Max | Operation::Divide => String::new(),
        Operation::DotBf16 => {
            let (name, narrow) = dot(op, v);
            format!("declare {ty} @{name}({ty}, {narrow}, {narrow})\n")
        }
        Operation::DotI8 => {
            let (name, narrow) = dot(op, v);
            format!("declare <{lanes} x i32> @{name}(<{lanes} x i32>, {narrow}, {narrow})\n")
        }
    }
}

fn loads(v: Vector, n: usize, from: &str) -> String {
    let mut out = String::new();
    for k in 0..n {
        let _ = writeln!(out, "  %at.{k} = getelementptr inbounds i8, ptr {from}, i64 {}", k * v.bytes);
        let _ = writeln!(out, "  %v.{k} = load volatile {}, ptr %at.{k}, align {ELEMENT}", v.ty());
    }
    out
}

/// An empty line of assembly takes each vector, so that it has to be there.
fn broadcasts(host: &HostTarget, v: Vector, n: usize) -> String {
    let (ty, lanes) = (v.ty(), v.lanes());
    let class = if host.triple.starts_with("x86_64") { "v" } else { "w" };
    let mut out = String::new();
    for k in 0..n {
        let _ = writeln!(out, "  %at.{k} = getelementptr inbounds i8, ptr %in, i64 {}", k * ELEMENT);
        let _ = writeln!(out, "  %e.{k} = load volatile float, ptr %at.{k}");
        let _ = writeln!(out, "  %f.{k} = insertelement {ty} poison, float %e.{k}, i64 0");
        let _ = writeln!(out, "  %v.{k} = shufflevector {ty} %f.{k}, {ty} poison, <{lanes} x i32> zeroinitializer");
        let _ = writeln!(out, "  call void asm sideeffect \"\", \"{class}\"({ty} %v.{k})");
    }
    out
}

fn stores(v: Vector, n: usize, to: &str) -> String {
    let mut out = String::new();
    for k in 0..n {
        let _ = writeln!(out, "  %at.{k} = getelementptr inbounds i8, ptr {to}, i64 {}", k * v.bytes);
        let _ = writeln!(out, "  store volatile {} %a, ptr %at.{k}, align {ELEMENT}", v.ty());
    }
    out
}
