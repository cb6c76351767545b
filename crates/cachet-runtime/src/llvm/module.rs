//! One compiled module: text → verified → optimised → object, assembly, IR text.
//!
//! A module owns its context, so modules are independent and may move between threads. Emission works on a copy:
//! LLVM's code generator rewrites the IR it is given, and what is emitted must not depend on what was emitted before.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Mutex;

use super::api::{Api, Context, DiagnosticInfo, IrModule, Problems, TargetMachine};
use super::{Jit, Target, c_string, no_fma};
use crate::error::{ToolError, ToolErrorKind};

/// How hard LLVM works. The bits of results are the same at every level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptLevel {
    /// No optimisation.
    O0,
    /// Little.
    O1,
    /// Default.
    O2,
    /// All that pays.
    O3,
    /// As little as [`OptLevel::O1`], and every access to memory by a function with the attribute `sanitize_thread` is told to
    /// the thread sanitizer's library, which has to be linked.
    ThreadSanitizer,
}

impl OptLevel {
    fn pipeline(self) -> &'static CStr {
        match self {
            OptLevel::O0 => c"default<O0>",
            OptLevel::O1 => c"default<O1>",
            OptLevel::O2 => c"default<O2>",
            OptLevel::O3 => c"default<O3>",
            OptLevel::ThreadSanitizer => c"default<O1>,tsan-module,function(tsan)",
        }
    }

    /// `LLVMCodeGenOptLevel`.
    fn code_generation(self) -> c_int {
        match self {
            OptLevel::O0 => 0,
            OptLevel::O1 | OptLevel::ThreadSanitizer => 1,
            OptLevel::O2 => 2,
            OptLevel::O3 => 3,
        }
    }
}

/// `LLVMRelocPIC`: one object serves executables, shared libraries and the JIT.
const RELOCATION_PIC: c_int = 2;
/// `LLVMCodeModelDefault`.
const CODE_MODEL_DEFAULT: c_int = 0;
/// `LLVMReturnStatusAction`: report, do not print or abort.
const RETURN_STATUS: c_int = 2;
/// `LLVMAssemblyFile` and `LLVMObjectFile`.
const ASSEMBLY: c_int = 0;
const OBJECT: c_int = 1;
/// `LLVMDSError`.
const SEVERITY_ERROR: c_int = 0;

/// An optimised module for one target.
pub struct Module {
    unit: Unit,
    machine: Machine,
    target: Target,
}

impl Module {
    /// The target it was compiled for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// A relocatable object file, position independent.
    pub fn emit_object(&self) -> Result<Vec<u8>, ToolError> {
        self.emit(OBJECT)
    }

    /// The assembly of the same code.
    pub fn emit_assembly(&self) -> Result<String, ToolError> {
        Ok(String::from_utf8_lossy(&self.emit(ASSEMBLY)?).into_owned())
    }

    /// The optimised IR.
    pub fn emit_ir(&self) -> String {
        let api = self.unit.api;
        // SAFETY: the module is live; the text is for `LLVMDisposeMessage`.
        unsafe { api.take_message((api.module_print)(self.unit.module)) }
    }

    /// Links the code into this process, which must be of the module's target.
    pub fn load(&self) -> Result<Jit, ToolError> {
        Jit::link(self.unit.api, &[&self.emit_object()?])
    }

    fn emit(&self, kind: c_int) -> Result<Vec<u8>, ToolError> {
        let api = self.unit.api;
        // SAFETY: clones the live module into its own context.
        let copy = unsafe { (api.module_clone)(self.unit.module) };
        let (mut message, mut buffer) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: machine and copy are live; on success `buffer` is ours, on failure `message`. The copy is disposed
        // of exactly once, and before its context.
        let status = unsafe {
            let status = (api.machine_emit)(self.machine.raw, copy, kind, &raw mut message, &raw mut buffer);
            (api.module_dispose)(copy);
            status
        };
        if status != 0 {
            // SAFETY: on failure the message is ours.
            let text = unsafe { api.take_message(message) };
            return Err(
                ToolError::new(ToolErrorKind::BadInput, "LLVM cannot emit code for this target").with_detail(text)
            );
        }
        // SAFETY: on success the buffer is ours.
        let bytes = unsafe { api.take_buffer(buffer) };
        self.unit.report_problems("LLVM cannot emit this code")?;
        Ok(bytes)
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module").field("target", &self.target).finish_non_exhaustive()
    }
}

// SAFETY: a module, its context and its target machine are reachable through this value only, and LLVM ties none of
// them to a thread.
unsafe impl Send for Module {}

/// Parses, verifies and optimises.
pub(super) fn compile(api: &'static Api, text: &str, target: &Target, opt: OptLevel) -> Result<Module, ToolError> {
    require_fma(api, target)?;
    compile_unchecked(api, text, target, opt)
}

/// Parses and verifies.
pub(super) fn verify(api: &'static Api, text: &str) -> Result<(), ToolError> {
    Unit::parse(api, text).map(drop)
}

fn compile_unchecked(api: &'static Api, text: &str, target: &Target, opt: OptLevel) -> Result<Module, ToolError> {
    let machine = Machine::create(api, target, opt)?;
    let unit = Unit::parse(api, text)?;
    unit.retarget(&machine);
    unit.run_passes(&machine, opt)?;
    Ok(Module { unit, machine, target: target.clone() })
}

/// A context with the one module in it.
struct Unit {
    api: &'static Api,
    context: *mut Context,
    module: *mut IrModule,
    /// What LLVM reports through the context while it compiles.
    problems: Box<Problems>,
}

impl Unit {
    fn parse(api: &'static Api, text: &str) -> Result<Unit, ToolError> {
        // SAFETY: no preconditions.
        let context = unsafe { (api.context_create)() };
        let problems = Problems::new(api);
        let data = problems.as_handler_data();
        let mut unit = Unit { api, context, module: ptr::null_mut(), problems };
        // SAFETY: the context is live, the handler has the type LLVM calls, and `data` is freed after the context
        // (`Drop` of the unit runs before its fields are dropped).
        unsafe { (api.context_set_handler)(context, note_problem, data) };
        let mut message = ptr::null_mut();
        // SAFETY: parsing consumes the buffer in every case; on failure `message` is ours.
        unsafe {
            let buffer = api.copy_buffer(text.as_bytes());
            if (api.parse_ir)(context, buffer, &raw mut unit.module, &raw mut message) != 0 {
                unit.module = ptr::null_mut();
                let detail = api.take_message(message);
                return Err(refused("LLVM cannot parse the IR text", detail));
            }
        }
        unit.verify()?;
        Ok(unit)
    }

    fn verify(&self) -> Result<(), ToolError> {
        let mut message = ptr::null_mut();
        // SAFETY: the module is live; the message is ours in both cases.
        let (status, detail) = unsafe {
            let status = (self.api.verify_module)(self.module, RETURN_STATUS, &raw mut message);
            (status, self.api.take_message(message))
        };
        if status == 0 { Ok(()) } else { Err(refused("LLVM's verifier refuses the IR", detail)) }
    }

    fn retarget(&self, machine: &Machine) {
        // SAFETY: module and machine are live; the layout is copied into the module and then freed.
        unsafe {
            (self.api.module_set_triple)(self.module, machine.triple.as_ptr());
            let layout = (self.api.machine_layout)(machine.raw);
            (self.api.module_set_layout)(self.module, layout);
            (self.api.layout_dispose)(layout);
        }
    }

    fn run_passes(&self, machine: &Machine, opt: OptLevel) -> Result<(), ToolError> {
        // SAFETY: module, machine and options are live during the run; the returned error is consumed once.
        let outcome = unsafe {
            let options = (self.api.pass_options)();
            (self.api.pass_options_vectorize)(options, 1);
            (self.api.pass_options_slp)(options, 0);
            let error = (self.api.run_passes)(self.module, opt.pipeline().as_ptr(), machine.raw, options);
            (self.api.pass_options_dispose)(options);
            self.api.take_error(error)
        };
        outcome.map_err(|detail| refused("LLVM cannot optimise the module", detail))?;
        self.report_problems("LLVM cannot optimise the module")
    }

    fn report_problems(&self, message: &str) -> Result<(), ToolError> {
        let texts = self.problems.take();
        if texts.is_empty() { Ok(()) } else { Err(refused(message, texts)) }
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        // SAFETY: both are ours; the module is disposed of before its context.
        unsafe {
            if !self.module.is_null() {
                (self.api.module_dispose)(self.module);
            }
            (self.api.context_dispose)(self.context);
        }
    }
}

/// Called by LLVM for each problem; without a handler LLVM prints it and ends the process.
extern "C" fn note_problem(info: *mut DiagnosticInfo, data: *mut c_void) {
    // SAFETY: `data` is what `Unit::parse` registered, which lives as long as the context. The description is for
    // `LLVMDisposeMessage`.
    unsafe {
        let problems = &*data.cast::<Problems>().cast_const();
        let api = problems.api;
        if (api.diagnostic_severity)(info) == SEVERITY_ERROR {
            let text = api.take_message((api.diagnostic_text)(info));
            problems.note(text);
        }
    }
}

fn refused(message: &str, detail: String) -> ToolError {
    ToolError::new(ToolErrorKind::BadInput, message).with_detail(detail)
}

struct Machine {
    api: &'static Api,
    raw: *mut TargetMachine,
    triple: CString,
}

impl Machine {
    fn create(api: &'static Api, target: &Target, opt: OptLevel) -> Result<Machine, ToolError> {
        let triple = c_string(&target.triple, "the target triple")?;
        let cpu = c_string(&target.cpu, "the processor name")?;
        let features = c_string(&target.features, "the feature list")?;
        let (mut kind, mut message): (_, *mut c_char) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: C strings and two writable pointers; on failure the message is ours, on success there is none.
        unsafe {
            if (api.target_of_triple)(triple.as_ptr(), &raw mut kind, &raw mut message) != 0 {
                let detail = api.take_message(message);
                let text = format!("this LLVM has no back end for `{}`", target.triple);
                return Err(ToolError::new(ToolErrorKind::Unsupported, text).with_detail(detail));
            }
        }
        // SAFETY: `kind` is a registered target; the strings live for the call.
        let raw = unsafe {
            (api.machine_create)(
                kind,
                triple.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                opt.code_generation(),
                RELOCATION_PIC,
                CODE_MODEL_DEFAULT,
            )
        };
        if raw.is_null() {
            let text = format!("LLVM cannot generate code for `{}`", target.triple);
            return Err(ToolError::new(ToolErrorKind::Unsupported, text));
        }
        Ok(Machine { api, raw, triple })
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: ours, and no module refers to it.
        unsafe { (self.api.machine_dispose)(self.raw) };
    }
}

const FMA_QUESTION: &str = "
define float @cachet_fma32(float %a, float %b, float %c) { %r = call float @llvm.fma.f32(float %a, float %b, float %c) ret float %r }
define double @cachet_fma64(double %a, double %b, double %c) { %r = call double @llvm.fma.f64(double %a, double %b, double %c) ret double %r }
declare float @llvm.fma.f32(float, float, float)
declare double @llvm.fma.f64(double, double, double)
";

/// Library version and target.
type FmaQuestion = ((u32, u32, u32), Target);

/// Remembered, because the question costs a code generation.
static FMA_ANSWERS: Mutex<BTreeMap<FmaQuestion, bool>> = Mutex::new(BTreeMap::new());

/// Refuses a target on which a fused multiply-add becomes a call of `fma` or `fmaf`. The code generator itself is
/// asked, because which processors have it is its knowledge.
fn require_fma(api: &'static Api, target: &Target) -> Result<(), ToolError> {
    let key = (api.version(), target.clone());
    let known = FMA_ANSWERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(&key).copied();
    let fused = match known {
        Some(answer) => answer,
        None => {
            let text = compile_unchecked(api, FMA_QUESTION, target, OptLevel::O1)?.emit_assembly()?;
            let answer = !calls_fma(&text);
            FMA_ANSWERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(key, answer);
            answer
        }
    };
    if fused {
        return Ok(());
    }
    let whose =
        format!("the target `{}` with processor `{}` and features `{}`", target.triple, target.cpu, target.features);
    Err(no_fma(&whose).with_fix("name a processor that has it, such as `haswell` or `x86-64-v3`, or add `+fma`"))
}

/// Whether assembly text mentions the symbol `fma` or `fmaf` as an operand of its own: `fmaf@PLT`, `_fma`, `*fmaf@GOT…`.
fn calls_fma(assembly: &str) -> bool {
    assembly
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
        .any(|word| matches!(word, "fma" | "fmaf" | "_fma" | "_fmaf"))
}
