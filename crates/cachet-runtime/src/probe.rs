//! The machine's limit: how many operations per second does one core do, now?
//!
//! A loop of independent chains in vector registers, as many as hide the latency, without any memory access: of fused
//! multiply-adds, generated here and as wide as the host's registers, or a loop that is given.

use std::fmt::Write as _;
use std::time::Instant;

use crate::clock::thread_seconds;
use crate::error::ToolError;
use crate::llvm::{BufferArg, HostTarget, Jit, Kernel, KernelArity, Llvm};

/// Element type of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeElement {
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
}

impl ProbeElement {
    fn bytes(self) -> usize {
        match self {
            ProbeElement::F32 => 4,
            ProbeElement::F64 => 8,
        }
    }

    fn llvm_name(self) -> &'static str {
        match self {
            ProbeElement::F32 => "float",
            ProbeElement::F64 => "double",
        }
    }

    fn intrinsic_suffix(self) -> &'static str {
        match self {
            ProbeElement::F32 => "f32",
            ProbeElement::F64 => "f64",
        }
    }
}

/// A compiled probe of a peak.
#[derive(Debug)]
pub struct PeakProbe {
    kernel: Kernel,
    flops_per_iteration: f64,
    iterations: i64,
    input: Vec<u8>,
    output: Vec<u8>,
}

/// A loop to be timed: its uniform entry has one size, how many iterations, and two buffers, what it reads before them and
/// what it writes behind them.
#[derive(Clone, Debug)]
pub struct ProbeLoop {
    /// LLVM IR.
    pub ir: String,
    /// The entry's name.
    pub name: String,
    /// Operations of an iteration.
    pub operations: f64,
    /// What it reads.
    pub input: Vec<u8>,
    /// Bytes that it writes.
    pub output: usize,
}

/// What a run of the probe reached, in GFLOP/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// By the time that passed.
    pub wall: f64,
    /// By the time that processors spent on the thread, where the system says that.
    pub of_thread: Option<f64>,
}

impl From<f64> for Peak {
    /// By the time that passed only.
    fn from(wall: f64) -> Peak {
        Peak { wall, of_thread: None }
    }
}

/// How long one run takes, in seconds.
const RUN_TIME: f64 = 1e-3;
/// Registers left for the two operands and what the compiler needs.
const SPARE_REGISTERS: usize = 4;
/// Enough chains for two or four units of latency four or five.
const MOST_CHAINS: usize = 24;

impl PeakProbe {
    /// Compiles the probe of multiply-adds for this machine and sets its length to about a millisecond.
    pub fn of_multiply_adds(llvm: &Llvm, element: ProbeElement) -> Result<PeakProbe, ToolError> {
        let host = llvm.host()?;
        let lanes = host.vector_bytes() / element.bytes();
        let chains = PeakProbe::chains(&host, host.vector_bytes());
        let of_loop = ProbeLoop {
            ir: probe_text(&host, element, lanes, chains),
            name: "cachet_fma_probe".to_owned(),
            operations: (2 * lanes * chains) as f64,
            input: operands(element).to_vec(),
            output: 64,
        };
        PeakProbe::of_loop(llvm, of_loop)
    }

    /// Compiles another loop and sets its length likewise.
    pub fn of_loop(llvm: &Llvm, of: ProbeLoop) -> Result<PeakProbe, ToolError> {
        let jit: Jit = llvm.compile_and_load(&of.ir)?;
        let kernel = jit.kernel(&of.name, KernelArity { sizes: 1, buffers: 2 })?;
        let (input, output) = (of.input, vec![0; of.output]);
        let mut probe = PeakProbe { kernel, flops_per_iteration: of.operations, iterations: 1000, input, output };
        probe.calibrate()?;
        Ok(probe)
    }

    /// How many chains of totals of so many bytes stay in the host's registers.
    pub fn chains(host: &HostTarget, bytes: usize) -> usize {
        let for_one = bytes.div_ceil(host.vector_bytes()).max(1);
        ((host.vector_registers() - SPARE_REGISTERS) / for_one).clamp(1, MOST_CHAINS)
    }

    /// Runs once and returns GFLOP/s.
    pub fn run(&mut self) -> f64 {
        let seconds = self.time().unwrap_or(f64::INFINITY);
        self.flops_per_iteration * self.iterations as f64 / seconds * 1e-9
    }

    /// Runs once and returns what it reached by both clocks.
    pub fn peaks(&mut self) -> Peak {
        let before = thread_seconds();
        let wall = self.run();
        let own = thread_seconds().zip(before).map(|(after, before)| after - before).filter(|own| *own > 0.0);
        let flops = self.flops_per_iteration * self.iterations as f64;
        Peak { wall, of_thread: own.map(|own| flops / own * 1e-9) }
    }

    /// The best of several runs over at least 50 ms, in GFLOP/s: the peak of this core once it is warm.
    pub fn peak(&mut self) -> f64 {
        let runs = (0.05 / RUN_TIME) as usize;
        (0..runs).map(|_| self.run()).fold(0.0, f64::max)
    }

    fn time(&mut self) -> Result<f64, ToolError> {
        let mut buffers = [BufferArg::Read(&self.input), BufferArg::Write(&mut self.output)];
        let mut call = self.kernel.prepare(&[self.iterations], &mut buffers)?;
        let start = Instant::now();
        call.run();
        Ok(start.elapsed().as_secs_f64().max(1e-9))
    }

    fn calibrate(&mut self) -> Result<(), ToolError> {
        // A cold core may run at half its clock: three corrections settle.
        for _ in 0..3 {
            let seconds = self.time()?;
            let scaled = self.iterations as f64 * RUN_TIME / seconds;
            self.iterations = (scaled as i64).clamp(100, 1 << 40);
        }
        Ok(())
    }
}

/// Factor 0.5 and addend 1.0: every chain settles at 2.0, far from subnormals and infinities.
fn operands(element: ProbeElement) -> [u8; 16] {
    let mut bytes = [0; 16];
    match element {
        ProbeElement::F32 => {
            bytes[..4].copy_from_slice(&0.5_f32.to_le_bytes());
            bytes[4..8].copy_from_slice(&1.0_f32.to_le_bytes());
        }
        ProbeElement::F64 => {
            bytes[..8].copy_from_slice(&0.5_f64.to_le_bytes());
            bytes[8..].copy_from_slice(&1.0_f64.to_le_bytes());
        }
    }
    bytes
}

/// The IR text: `chains` vectors of `lanes` elements, each `x ← fma(x, factor, addend)` per iteration.
fn probe_text(host: &HostTarget, element: ProbeElement, lanes: usize, chains: usize) -> String {
    let scalar = element.llvm_name();
    let bytes = element.bytes();
    let vector = format!("<{lanes} x {scalar}>");
    let intrinsic = format!("@llvm.fma.v{lanes}{}", element.intrinsic_suffix());
    let mut phis = String::new();
    let mut steps = String::new();
    let mut sums = String::new();
    for chain in 0..chains {
        let _ = writeln!(phis, "  %x{chain} = phi {vector} [ %start{chain}, %entry ], [ %y{chain}, %loop ]");
        let _ = writeln!(
            steps,
            "  %y{chain} = call {vector} {intrinsic}({vector} %x{chain}, {vector} %factor, {vector} %addend)"
        );
        let before = if chain == 0 { "%x0".to_owned() } else { format!("%s{}", chain - 1) };
        let _ = writeln!(sums, "  %s{chain} = fadd {vector} {before}, %y{chain}");
    }
    // The chains start from different values: equal ones would be merged into one.
    let mut starts = String::new();
    for chain in 0..chains {
        let before = if chain == 0 { "%addend".to_owned() } else { format!("%start{}", chain - 1) };
        let _ = writeln!(starts, "  %start{chain} = fadd {vector} {before}, %factor");
    }
    let last = chains - 1;
    let bits = host.vector_bytes() * 8;
    format!(
        "define void @cachet_fma_probe__packed(ptr %sizes, ptr %buffers) #0 {{
entry:
  %n = load i64, ptr %sizes
  %in = load ptr, ptr %buffers
  %slot = getelementptr inbounds ptr, ptr %buffers, i64 1
  %out = load ptr, ptr %slot
  %second = getelementptr inbounds i8, ptr %in, i64 {bytes}
  %f = load {scalar}, ptr %in, align 1
  %a = load {scalar}, ptr %second, align 1
  %f0 = insertelement {vector} poison, {scalar} %f, i64 0
  %a0 = insertelement {vector} poison, {scalar} %a, i64 0
  %factor = shufflevector {vector} %f0, {vector} poison, <{lanes} x i32> zeroinitializer
  %addend = shufflevector {vector} %a0, {vector} poison, <{lanes} x i32> zeroinitializer
{starts}  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{phis}{steps}  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done, !llvm.loop !0
done:
{sums}  store {vector} %s{last}, ptr %out, align 1
  ret void
}}
declare {vector} {intrinsic}({vector}, {vector}, {vector})
attributes #0 = {{ nounwind \"no-builtins\" \"prefer-vector-width\"=\"{bits}\" \"min-legal-vector-width\"=\"{bits}\" \"target-cpu\"=\"{cpu}\" \"target-features\"=\"{features}\" }}
!0 = distinct !{{!0, !1, !2}}
!1 = !{{!\"llvm.loop.unroll.disable\"}}
!2 = !{{!\"llvm.loop.vectorize.enable\", i1 false}}
",
        cpu = host.cpu,
        features = host.features,
    )
}
