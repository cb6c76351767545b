//! For which processor is code made, and how wide are its vectors?

use crate::native::Problem;
use cachet_codegen::{Options, Processor};
use cachet_runtime::{Llvm, Target};

/// What is asked for; what is not said is this machine's.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// `aarch64-unknown-linux-gnu`
    pub triple: Option<String>,
    /// LLVM's name of a processor.
    pub cpu: Option<String>,
    /// Comma-separated, each with `+` or `-`.
    pub features: Option<String>,
}

/// A target, with what code generation wants to know of it.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// As LLVM takes it.
    pub target: Target,
    /// Its family.
    pub processor: Processor,
    /// Width of its vectors.
    pub vector_bits: u32,
    /// Whether it is this machine, as it was found.
    pub host: bool,
    /// Whether code for it can run here, if the processor is new enough.
    pub native: bool,
}

/// The processor that is meant where a target is named without one: the oldest that has what is needed.
const OLDEST_X86_64: &str = "x86-64-v3";
const OLDEST_AARCH64: &str = "generic";

impl Resolved {
    /// What code generation is told.
    pub fn options(&self) -> Options {
        let Target { triple: _, cpu, features } = &self.target;
        // What is named last counts.
        let known = if self.host { "" } else { self.surely() };
        let features = [known, features].into_iter().filter(|f| !f.is_empty()).collect::<Vec<_>>().join(",");
        Options { cpu: cpu.clone(), features, vector_bits: self.vector_bits }
    }

    /// Features that templates ask for and that the processor has by its name. Others are named with `--features`.
    fn surely(&self) -> &'static str {
        match (self.processor, self.target.cpu.as_str()) {
            (Processor::Aarch64, _) => "+neon",
            (Processor::X86_64, "x86-64-v3") => "+sse2,+avx,+avx2,+fma",
            (Processor::X86_64, "x86-64-v4") => {
                "+sse2,+avx,+avx2,+fma,+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
            }
            (Processor::X86_64, _) => "+sse2",
        }
    }

    /// `x86_64-unknown-linux-gnu, znver4`
    pub fn words(&self) -> String {
        let features = match self.target.features.as_str() {
            "" => String::new(),
            _ if self.host => String::new(),
            all => format!(", {all}"),
        };
        format!("{}, {}{features}", self.target.triple, self.target.cpu)
    }
}

/// Finds out what a target is.
///
/// # Errors
/// It is none that there is code for.
pub fn resolve(llvm: &Llvm, wanted: &Wanted) -> Result<Resolved, Problem> {
    let unsaid = wanted.triple.is_none() && wanted.cpu.is_none() && wanted.features.is_none();
    let own = llvm.default_triple();
    let triple = wanted.triple.clone().unwrap_or_else(|| own.clone());
    let (processor, system) = known(&triple)?;
    if unsaid {
        let host = llvm.host().map_err(Problem::Tool)?;
        let vector_bits = host.vector_bytes() as u32 * 8;
        return Ok(Resolved { target: host.target(), processor, vector_bits, host: true, native: true });
    }
    let oldest = match processor {
        Processor::X86_64 => OLDEST_X86_64,
        Processor::Aarch64 => OLDEST_AARCH64,
    };
    let cpu = wanted.cpu.clone().unwrap_or_else(|| oldest.into());
    let target = Target { triple, cpu, features: wanted.features.clone().unwrap_or_default() };
    let vector_bits = llvm.vector_bytes(&target).map_err(Problem::Tool)? as u32 * 8;
    let native = known(&own).is_ok_and(|host| host == (processor, system));
    Ok(Resolved { target, processor, vector_bits, host: false, native })
}

/// A system, by the format of its files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum System {
    Linux,
    Apple,
}

fn known(triple: &str) -> Result<(Processor, System), Problem> {
    let mut parts = triple.split('-');
    let processor = match parts.next() {
        Some("x86_64") => Some(Processor::X86_64),
        Some("aarch64" | "arm64") => Some(Processor::Aarch64),
        _ => None,
    };
    let rest: Vec<&str> = parts.collect();
    let linux = rest.contains(&"linux") && !rest.iter().any(|p| p.contains("x32") || p.contains("ilp32"));
    let system = match rest.first() {
        _ if linux => Some(System::Linux),
        Some(&"apple") => Some(System::Apple),
        _ => None,
    };
    processor.zip(system).ok_or_else(|| {
        Problem::User(format!(
            "there is no code for `{triple}`: targets are Linux and macOS on x86-64 and AArch64, \
             for example `x86_64-unknown-linux-gnu` and `aarch64-unknown-linux-gnu`"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_and_processors() {
        assert_eq!(known("x86_64-unknown-linux-musl").unwrap(), (Processor::X86_64, System::Linux));
        assert_eq!(known("arm64-apple-darwin23").unwrap(), (Processor::Aarch64, System::Apple));
        for other in ["", "riscv64gc-unknown-linux-gnu", "x86_64-pc-windows-msvc", "x86_64-unknown-linux-gnux32"] {
            assert!(known(other).is_err(), "{other}");
        }
    }
}
