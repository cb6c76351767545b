//! How fast does memory allow it? How long it takes to read arrays of this size once, or to write them.
//!
//! A computation has to read its inputs and to write its outputs at least once. How fast that goes depends on where
//! arrays of that size lie when the computation runs again and again, so it is measured on those very arrays, as one
//! more contender in the same rounds. Like the probe of multiply-adds, the loops are generated and compiled for this
//! processor, with its widest vectors. Writing is tried with ordinary and with non-temporal stores, and the faster one
//! is taken. What is left of an array beyond whole vectors is not touched, which only makes the limit stricter.

use std::fmt::Write as _;
use std::time::Instant;

use crate::error::ToolError;
use crate::fpmode::FpGuard;
use crate::llvm::{BufferArg, HostTarget, Kernel, KernelArity, Llvm};

/// The loops, compiled.
#[derive(Debug)]
pub struct TrafficProbe {
    read: Kernel,
    write: Kernel,
    write_past: Kernel,
    vector: usize,
}

/// Passes over arrays, ready to be timed.
#[derive(Debug)]
pub struct Traffic<'a> {
    kernel: &'a Kernel,
    /// Address and length stay with the borrow that the arguments hold.
    arrays: Vec<Array<'a>>,
    vector: usize,
    repeats: i64,
    spill: [u8; 64],
}

#[derive(Debug)]
enum Array<'a> {
    Read(&'a [u8]),
    Write(&'a mut [u8]),
}

/// Vectors for each turn of the loop.
const UNROLLED: usize = 8;
/// A run makes so many passes over small arrays that it moves this many bytes: otherwise it would measure calls.
const LEAST_BYTES: usize = 1 << 20;
/// How often each kind of store is tried before the faster one is taken.
const TRIES: usize = 4;

impl TrafficProbe {
    /// Compiles the loops for this machine.
    pub fn new(llvm: &Llvm) -> Result<TrafficProbe, ToolError> {
        let host = llvm.host()?;
        let jit = llvm.compile_and_load(&text(&host))?;
        let kernel = |name: &str| jit.kernel(name, KernelArity { sizes: 2, buffers: 2 });
        Ok(TrafficProbe {
            read: kernel("cachet_read")?,
            write: kernel("cachet_write")?,
            write_past: kernel("cachet_write_past")?,
            vector: host.vector_bytes(),
        })
    }

    /// Reads these arrays.
    pub fn reader<'a>(&'a self, arrays: &[&'a [u8]]) -> Traffic<'a> {
        self.traffic(&self.read, arrays.iter().map(|bytes| Array::Read(bytes)).collect())
    }

    /// Writes these arrays, by the faster kind of stores.
    pub fn writer<'a>(&'a self, arrays: Vec<&'a mut [u8]>) -> Traffic<'a> {
        let mut traffic = self.traffic(&self.write, arrays.into_iter().map(Array::Write).collect());
        let mut best = |kernel: &'a Kernel| {
            traffic.kernel = kernel;
            let times = (0..TRIES).map(|_| {
                let start = Instant::now();
                traffic.run();
                start.elapsed()
            });
            times.min()
        };
        let (ordinary, past) = (best(&self.write), best(&self.write_past));
        traffic.kernel = if past < ordinary { &self.write_past } else { &self.write };
        traffic
    }

    fn traffic<'a>(&'a self, kernel: &'a Kernel, arrays: Vec<Array<'a>>) -> Traffic<'a> {
        let bytes: usize = arrays.iter().map(Array::len).sum();
        let repeats = LEAST_BYTES.div_ceil(bytes.max(1)).min(LEAST_BYTES) as i64;
        Traffic { kernel, arrays, vector: self.vector, repeats, spill: [0; 64] }
    }
}

impl Traffic<'_> {
    /// How many passes over all arrays a run makes.
    pub fn passes(&self) -> f64 {
        self.repeats as f64
    }

    /// Whether its stores go past the caches.
    pub fn past_caches(&self) -> bool {
        self.kernel.name() == "cachet_write_past"
    }

    /// Makes the passes.
    pub fn run(&mut self) {
        let _mode = FpGuard::enter();
        for array in &mut self.arrays {
            let sizes = [(array.len() / self.vector) as i64, self.repeats];
            let first = match array {
                Array::Read(bytes) => BufferArg::Read(bytes),
                Array::Write(bytes) => BufferArg::Write(bytes),
            };
            let mut buffers = [first, BufferArg::Write(&mut self.spill)];
            if let Ok(mut call) = self.kernel.prepare(&sizes, &mut buffers) {
                call.run_in_this_mode();
            }
        }
    }
}

impl Array<'_> {
    fn len(&self) -> usize {
        match self {
            Array::Read(bytes) => bytes.len(),
            Array::Write(bytes) => bytes.len(),
        }
    }
}

/// Three functions `(vectors, passes, array, spill)`.
fn text(host: &HostTarget) -> String {
    let vector = format!("<{} x i32>", host.vector_bytes() / 4);
    let mut out = String::new();
    for (name, what) in
        [("cachet_read", Access::Read), ("cachet_write", Access::Write), ("cachet_write_past", Access::Past)]
    {
        let _ = write!(out, "{}", function(name, what, &vector));
    }
    let bits = host.vector_bytes() * 8;
    let _ = writeln!(
        out,
        "attributes #0 = {{ nounwind \"no-builtins\" \"prefer-vector-width\"=\"{bits}\" \"min-legal-vector-width\"=\"{bits}\" \
         \"target-cpu\"=\"{}\" \"target-features\"=\"{}\" }}
!0 = distinct !{{!0, !1, !2}}
!1 = !{{!\"llvm.loop.unroll.disable\"}}
!2 = !{{!\"llvm.loop.vectorize.enable\", i1 false}}
!3 = !{{i32 1}}",
        host.cpu, host.features
    );
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
    /// Past the caches.
    Past,
}

/// A pass by [`UNROLLED`] vectors, then by single ones; as many passes as asked for.
fn function(name: &str, what: Access, vector: &str) -> String {
    let access = |loop_name: &str, index: usize| match what {
        Access::Read => format!(
            "  %{loop_name}v{index} = load {vector}, ptr %{loop_name}p{index}, align 64
  %{loop_name}s{index} = xor {vector} %{loop_name}x{index}, %{loop_name}v{index}
"
        ),
        Access::Write => format!("  store {vector} %filled, ptr %{loop_name}p{index}, align 64\n"),
        Access::Past => format!("  store {vector} %filled, ptr %{loop_name}p{index}, align 64, !nontemporal !3\n"),
    };
    let reads = what == Access::Read;
    let (mut phis, mut body, mut folded) = (String::new(), String::new(), String::new());
    for i in 0..UNROLLED {
        if reads {
            let _ = writeln!(phis, "  %ax{i} = phi {vector} [ %sum, %pass ], [ %as{i}, %many ]");
        }
        let _ = writeln!(body, "  %ai{i} = add i64 %a, {i}");
        let _ = writeln!(body, "  %ap{i} = getelementptr inbounds {vector}, ptr %array, i64 %ai{i}");
        body.push_str(&access("a", i));
        if reads {
            let _ = writeln!(folded, "  %m{i} = phi {vector} [ %sum, %pass ], [ %as{i}, %many ]");
        }
    }
    let mut joins = String::new();
    for i in (0..UNROLLED).filter(|_| reads) {
        let before = if i == 0 { "%m0".to_owned() } else { format!("%f{}", i - 1) };
        // Additions, and xor in the loop: no sum cancels another.
        let _ = writeln!(joins, "  %f{i} = add {vector} {before}, %m{i}");
    }
    let last = UNROLLED - 1;
    let (sum_phi, rest_phi, end) = if reads {
        (
            format!("  %sum = phi {vector} [ zeroinitializer, %entry ], [ %result, %next ]\n"),
            format!("  %bx0 = phi {vector} [ %f{last}, %rest ], [ %bs0, %single ]\n"),
            format!("  %result = phi {vector} [ %f{last}, %rest ], [ %bs0, %single ]\n"),
        )
    } else {
        (String::new(), String::new(), String::new())
    };
    let stored = if reads { "%result" } else { "%filled" };
    format!(
        "define void @{name}__packed(ptr %sizes, ptr %buffers) #0 {{
entry:
  %n = load i64, ptr %sizes
  %second = getelementptr inbounds i64, ptr %sizes, i64 1
  %passes = load i64, ptr %second
  %array = load ptr, ptr %buffers
  %slot = getelementptr inbounds ptr, ptr %buffers, i64 1
  %spill = load ptr, ptr %slot
  %filled = load {vector}, ptr %spill, align 1
  %whole = and i64 %n, -{UNROLLED}
  br label %pass
pass:
  %t = phi i64 [ 0, %entry ], [ %t2, %next ]
{sum_phi}  %some = icmp sgt i64 %whole, 0
  br i1 %some, label %many, label %rest
many:
  %a = phi i64 [ 0, %pass ], [ %a2, %many ]
{phis}{body}  %a2 = add i64 %a, {UNROLLED}
  %amore = icmp slt i64 %a2, %whole
  br i1 %amore, label %many, label %rest, !llvm.loop !0
rest:
{folded}{joins}  %left = icmp slt i64 %whole, %n
  br i1 %left, label %single, label %next
single:
  %b = phi i64 [ %whole, %rest ], [ %b2, %single ]
{rest_phi}  %bp0 = getelementptr inbounds {vector}, ptr %array, i64 %b
{one}  %b2 = add i64 %b, 1
  %bmore = icmp slt i64 %b2, %n
  br i1 %bmore, label %single, label %next, !llvm.loop !0
next:
{end}  %t2 = add i64 %t, 1
  %again = icmp slt i64 %t2, %passes
  br i1 %again, label %pass, label %done
done:
  store {vector} {stored}, ptr %spill, align 1
  ret void
}}
",
        one = access("b", 0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::AlignedBuffer;

    /// libLLVM; nothing is shown without it, which is a failure where it is required.
    fn llvm() -> Option<Llvm> {
        let required = std::env::var("CACHET_REQUIRE").is_ok_and(|words| words.split(',').any(|w| w.trim() == "llvm"));
        let found = Llvm::load();
        assert!(found.is_ok() || !required, "llvm is required: {found:?}");
        found.ok()
    }

    #[test]
    fn it_writes_whole_vectors_and_reads_without_changing() {
        let Some(llvm) = llvm() else { return };
        let probe = TrafficProbe::new(&llvm).unwrap();
        let len = 37 * probe.vector + 5;
        let mut one = AlignedBuffer::new(len).unwrap();
        one.bytes_mut().fill(0xC5);
        for kernel in [&probe.write, &probe.write_past] {
            let mut traffic = probe.traffic(kernel, vec![Array::Write(one.bytes_mut())]);
            traffic.spill = [7; 64];
            traffic.run();
            let (whole, rest) = one.bytes().split_at(37 * probe.vector);
            assert!(whole.iter().all(|byte| *byte == 7) && rest.iter().all(|byte| *byte == 0xC5));
            one.bytes_mut().fill(0xC5);
        }
        let mut reader = probe.reader(&[one.bytes(), &one.bytes()[..0]]);
        assert!(reader.passes() > 1.0);
        reader.run();
        assert!(one.bytes().iter().all(|byte| *byte == 0xC5));
    }

    #[test]
    fn every_byte_of_a_pass_takes_part_in_the_sum() {
        let Some(llvm) = llvm() else { return };
        let probe = TrafficProbe::new(&llvm).unwrap();
        let mut array = AlignedBuffer::new(LEAST_BYTES).unwrap();
        let sum = |array: &AlignedBuffer| {
            let mut reader = probe.reader(&[array.bytes()]);
            reader.run();
            reader.spill
        };
        let before = sum(&array);
        for at in [0, probe.vector * UNROLLED + 3, LEAST_BYTES - 1] {
            array.bytes_mut()[at] = 1;
            assert_ne!(sum(&array), before, "byte {at}");
            array.bytes_mut()[at] = 0;
        }
    }
}
