//! LLVM: textual IR in, object files, assembly and running code out.
//!
//! The library is found and loaded at run time ([`Places`]), with local visibility, once per process. Nothing here adds
//! or removes a floating-point permission: no fast-math flag is set, the target machine fuses nothing that the text
//! did not ask to fuse, and the superword vectoriser is off.

mod api;
mod find;
mod jit;
mod module;

use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};

pub(crate) use find::expand;
pub use find::{Places, Tried};
pub use jit::{BufferArg, Jit, Kernel, KernelArity, PreparedCall};
pub use module::{Module, OptLevel};

use crate::error::{ToolError, ToolErrorKind};
use api::Api;

/// A loaded libLLVM.
#[derive(Clone, Copy)]
pub struct Llvm {
    api: &'static Api,
    found: &'static Origin,
}

/// What a loaded library is and where it came from.
#[derive(Debug)]
struct Origin {
    path: PathBuf,
    origin: String,
}

/// What to generate code for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// For example `x86_64-unknown-linux-gnu`.
    pub triple: String,
    /// LLVM's name of the processor, for example `znver4`; empty for the triple's baseline.
    pub cpu: String,
    /// Comma-separated, each with `+` or `-`; may be empty.
    pub features: String,
}

/// The machine this process runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostTarget {
    /// For example `x86_64-unknown-linux-gnu`.
    pub triple: String,
    /// LLVM's name of the processor.
    pub cpu: String,
    /// Comma-separated, each with `+` or `-`.
    pub features: String,
}

impl HostTarget {
    /// Whether the processor has a feature, by LLVM's name: `avx512f`, `avx512bf16`, `neon`.
    pub fn has(&self, feature: &str) -> bool {
        self.features.split(',').any(|item| item.strip_prefix('+') == Some(feature))
    }

    /// Bytes of the widest vector register that arithmetic uses: 64, 32 or 16.
    pub fn vector_bytes(&self) -> usize {
        if self.has("avx512f") {
            64
        } else if self.has("avx") {
            32
        } else {
            16
        }
    }

    /// Number of vector registers of that width.
    pub fn vector_registers(&self) -> usize {
        if self.triple.starts_with("x86_64") && !self.has("avx512f") { 16 } else { 32 }
    }

    /// The host as a target.
    pub fn target(&self) -> Target {
        Target { triple: self.triple.clone(), cpu: self.cpu.clone(), features: self.features.clone() }
    }
}

/// What a search for libLLVM found, for `doctor`.
#[derive(Clone, Debug)]
pub struct LlvmReport {
    /// The library that is used.
    pub path: Option<PathBuf>,
    /// Why it was looked for there.
    pub origin: Option<String>,
    /// `major.minor.patch`.
    pub version: Option<String>,
    /// The back ends it was built with, by LLVM's names.
    pub targets: Vec<String>,
    /// This machine, as the library sees it.
    pub host: Option<HostTarget>,
    /// What was tried first and did not serve.
    pub tried: Vec<Tried>,
    /// Why native code does not work, with the command that fixes it.
    pub problem: Option<ToolError>,
}

/// Looks for libLLVM and says what was found, from where, and what fixes what is wrong.
pub fn report_llvm(places: &Places) -> LlvmReport {
    let (found, tried) = find::find(places);
    let Some(found) = found else {
        let problem = Some(find::not_found(places, &tried));
        return LlvmReport { path: None, origin: None, version: None, targets: Vec::new(), host: None, tried, problem };
    };
    let llvm = Llvm::from_found(found);
    let host = llvm.host();
    LlvmReport {
        path: Some(llvm.path().to_path_buf()),
        origin: Some(llvm.origin().to_owned()),
        version: Some(llvm.version()),
        targets: llvm.targets(),
        problem: host.as_ref().err().cloned(),
        host: host.ok(),
        tried,
    }
}

impl Llvm {
    /// Finds and loads libLLVM in the places of this process.
    pub fn load() -> Result<Llvm, ToolError> {
        Llvm::load_from(&Places::of_process())
    }

    /// Finds and loads libLLVM in the given places.
    pub fn load_from(places: &Places) -> Result<Llvm, ToolError> {
        let (found, tried) = find::find(places);
        found.map(Llvm::from_found).ok_or_else(|| find::not_found(places, &tried))
    }

    fn from_found(found: find::Found) -> Llvm {
        let origin = Origin { path: found.path, origin: found.origin };
        // The library itself lives as long as the process; so may the few bytes that say where it came from.
        Llvm { api: found.api, found: Box::leak(Box::new(origin)) }
    }

    /// The library file.
    pub fn path(&self) -> &Path {
        &self.found.path
    }

    /// Why it was looked for there.
    pub fn origin(&self) -> &str {
        &self.found.origin
    }

    /// `major.minor.patch`.
    pub fn version(&self) -> String {
        let (major, minor, patch) = self.api.version();
        format!("{major}.{minor}.{patch}")
    }

    /// Names of the back ends, sorted.
    pub fn targets(&self) -> Vec<String> {
        let mut names = Vec::new();
        // SAFETY: walks LLVM's registry, whose entries and names live as long as the library.
        unsafe {
            let mut target = (self.api.first_target)();
            while !target.is_null() {
                names.push(CStr::from_ptr((self.api.target_name)(target)).to_string_lossy().into_owned());
                target = (self.api.next_target)(target);
            }
        }
        names.sort();
        names
    }

    /// This machine. Refused when it lacks a fused multiply-add: its bits would then come from the host's C library.
    pub fn host(&self) -> Result<HostTarget, ToolError> {
        // SAFETY: each function returns a string for `LLVMDisposeMessage`.
        let host = unsafe {
            HostTarget {
                triple: self.api.take_message((self.api.default_triple)()),
                cpu: self.api.take_message((self.api.host_cpu)()),
                features: self.api.take_message((self.api.host_features)()),
            }
        };
        require_fma(host)
    }

    /// This machine's triple.
    pub fn default_triple(&self) -> String {
        // SAFETY: returns a string for `LLVMDisposeMessage`.
        unsafe { self.api.take_message((self.api.default_triple)()) }
    }

    /// Bytes of the widest vector register in which a target does arithmetic: 64, 32 or 16. The code generator is asked,
    /// because what processors have is its knowledge.
    pub fn vector_bytes(&self, target: &Target) -> Result<usize, ToolError> {
        let text = self.compile(WIDTH_QUESTION, target, OptLevel::O1)?.emit_assembly()?;
        let wide = [("zmm", 64), ("ymm", 32)];
        Ok(wide.into_iter().find(|(register, _)| text.contains(register)).map_or(16, |(_, bytes)| bytes))
    }

    /// Parses, verifies and optimises a module for a target.
    pub fn compile(&self, ir_text: &str, target: &Target, opt: OptLevel) -> Result<Module, ToolError> {
        module::compile(self.api, ir_text, target, opt)
    }

    /// Parses and verifies a module without optimising it.
    pub fn verify(&self, ir_text: &str) -> Result<(), ToolError> {
        module::verify(self.api, ir_text)
    }

    /// Compiles a module for this machine with `O3` and links it into this process.
    pub fn compile_and_load(&self, ir_text: &str) -> Result<Jit, ToolError> {
        let target = self.host()?.target();
        self.compile(ir_text, &target, OptLevel::O3)?.load()
    }
}

impl std::fmt::Debug for Llvm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Llvm").field("version", &self.version()).field("found", self.found).finish_non_exhaustive()
    }
}

fn require_fma(host: HostTarget) -> Result<HostTarget, ToolError> {
    if host.triple.starts_with("x86_64") && !host.has("fma") {
        return Err(no_fma(&format!("this processor ({})", host.cpu))
            .with_fix("run on a processor with FMA (Intel Haswell, AMD Piledriver or later), or use the interpreter"));
    }
    Ok(host)
}

fn no_fma(whose: &str) -> ToolError {
    ToolError::new(
        ToolErrorKind::Unsupported,
        format!("{whose} has no fused multiply-add: `fma` would become a call of the host's C library"),
    )
}

/// A sum of sixteen floats, with leave to use any register.
const WIDTH_QUESTION: &str = "
define void @cachet_width(ptr %p) \"prefer-vector-width\"=\"512\" {
  %x = load <16 x float>, ptr %p
  %y = fadd <16 x float> %x, %x
  store <16 x float> %y, ptr %p
  ret void
}
";

/// Called by LLVM on an error from which it cannot return; when the handler returns, LLVM ends the process with
/// status 1, which would look like a user's error. Text that LLVM dies on is a bug of ours.
extern "C" fn fatal(reason: *const c_char) {
    // SAFETY: LLVM passes a C string that lives for the call.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy();
    let line = format!("internal error: LLVM stopped: {reason}\n");
    // Nothing more can be done when standard error is closed.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    std::process::exit(101);
}

fn c_string(text: &str, what: &str) -> Result<CString, ToolError> {
    CString::new(text).map_err(|_| {
        ToolError::new(ToolErrorKind::Misuse, format!("{what} contains a zero byte: `{}`", text.escape_debug()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_without_fma_is_refused() {
        let host = HostTarget {
            triple: "x86_64-unknown-linux-gnu".to_owned(),
            cpu: "nehalem".to_owned(),
            features: "+sse4.2,-avx,-fma".to_owned(),
        };
        let error = require_fma(host.clone()).unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Unsupported);
        assert!(error.message.contains("nehalem"), "{error}");
        let host = HostTarget { features: "+avx,+avx2,+fma".to_owned(), ..host };
        assert_eq!(require_fma(host.clone()).unwrap().vector_bytes(), 32);
        assert_eq!(host.vector_registers(), 16);
    }
}
