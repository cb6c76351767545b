//! The functions of LLVM's C API that the runtime calls, bound by name from a loaded library.
//!
//! Signatures are those of the headers of LLVM 19 to 22; none of them changed in between. A missing name is an error
//! when the library is loaded, never later.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, PoisonError};

use libloading::os::unix::Library;

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident)*) => { $(
        $(#[$doc])*
        #[repr(C)]
        pub(super) struct $name { _private: [u8; 0] }
    )* };
}

opaque! {
    /// Owns types and constants; one per module here.
    Context
    /// A translation unit.
    IrModule
    /// Bytes that LLVM reads or has written.
    MemoryBuffer
    /// A registered back end.
    TargetKind
    /// A back end with processor and features.
    TargetMachine
    /// A data layout.
    TargetData
    /// Options of the pass pipeline.
    PassOptions
    /// A failure with a message; null is success.
    LlvmError
    /// A problem reported while compiling.
    DiagnosticInfo
    /// The just-in-time linker.
    LlJit
    /// Its options.
    LlJitBuilder
    /// A library of just-in-time code.
    JitDylib
    /// What the JIT's libraries share.
    ExecutionSession
    /// Finds symbols that a library lacks.
    Generator
}

pub(super) type DiagnosticHandler = extern "C" fn(*mut DiagnosticInfo, *mut c_void);
pub(super) type ErrorReporter = extern "C" fn(*mut c_void, *mut LlvmError);
pub(super) type FatalHandler = extern "C" fn(*const c_char);

macro_rules! bind {
    ($($field:ident = $symbol:literal ($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The bound functions; the library stays loaded as long as they live.
        pub(super) struct Api {
            library: Library,
            $( pub(super) $field: unsafe extern "C" fn($($argument),*) $(-> $result)?, )*
        }

        impl Api {
            /// Binds every function, or says which one the library lacks.
            pub(super) fn bind(library: Library) -> Result<Api, &'static str> {
                $(
                    // SAFETY: the symbol, where LLVM's C API has it, is a function of this type.
                    let $field = unsafe {
                        *library
                            .get::<unsafe extern "C" fn($($argument),*) $(-> $result)?>($symbol.as_bytes())
                            .map_err(|_| $symbol)?
                    };
                )*
                Ok(Api { library, $($field),* })
            }
        }
    };
}

bind! {
    get_version = "LLVMGetVersion"(*mut c_uint, *mut c_uint, *mut c_uint);
    install_fatal_handler = "LLVMInstallFatalErrorHandler"(FatalHandler);
    dispose_message = "LLVMDisposeMessage"(*mut c_char);

    context_create = "LLVMContextCreate"() -> *mut Context;
    context_dispose = "LLVMContextDispose"(*mut Context);
    context_set_handler = "LLVMContextSetDiagnosticHandler"(*mut Context, DiagnosticHandler, *mut c_void);
    diagnostic_text = "LLVMGetDiagInfoDescription"(*mut DiagnosticInfo) -> *mut c_char;
    diagnostic_severity = "LLVMGetDiagInfoSeverity"(*mut DiagnosticInfo) -> c_int;

    buffer_copy = "LLVMCreateMemoryBufferWithMemoryRangeCopy"(*const c_char, usize, *const c_char)
        -> *mut MemoryBuffer;
    buffer_start = "LLVMGetBufferStart"(*mut MemoryBuffer) -> *const c_char;
    buffer_size = "LLVMGetBufferSize"(*mut MemoryBuffer) -> usize;
    buffer_dispose = "LLVMDisposeMemoryBuffer"(*mut MemoryBuffer);

    parse_ir = "LLVMParseIRInContext"(*mut Context, *mut MemoryBuffer, *mut *mut IrModule, *mut *mut c_char) -> c_int;
    verify_module = "LLVMVerifyModule"(*mut IrModule, c_int, *mut *mut c_char) -> c_int;
    module_dispose = "LLVMDisposeModule"(*mut IrModule);
    module_clone = "LLVMCloneModule"(*mut IrModule) -> *mut IrModule;
    module_print = "LLVMPrintModuleToString"(*mut IrModule) -> *mut c_char;
    module_set_triple = "LLVMSetTarget"(*mut IrModule, *const c_char);
    module_set_layout = "LLVMSetModuleDataLayout"(*mut IrModule, *mut TargetData);

    default_triple = "LLVMGetDefaultTargetTriple"() -> *mut c_char;
    host_cpu = "LLVMGetHostCPUName"() -> *mut c_char;
    host_features = "LLVMGetHostCPUFeatures"() -> *mut c_char;
    first_target = "LLVMGetFirstTarget"() -> *mut TargetKind;
    next_target = "LLVMGetNextTarget"(*mut TargetKind) -> *mut TargetKind;
    target_name = "LLVMGetTargetName"(*mut TargetKind) -> *const c_char;
    target_of_triple = "LLVMGetTargetFromTriple"(*const c_char, *mut *mut TargetKind, *mut *mut c_char) -> c_int;

    machine_create = "LLVMCreateTargetMachine"(
        *mut TargetKind, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int
    ) -> *mut TargetMachine;
    machine_dispose = "LLVMDisposeTargetMachine"(*mut TargetMachine);
    machine_layout = "LLVMCreateTargetDataLayout"(*mut TargetMachine) -> *mut TargetData;
    machine_emit = "LLVMTargetMachineEmitToMemoryBuffer"(
        *mut TargetMachine, *mut IrModule, c_int, *mut *mut c_char, *mut *mut MemoryBuffer
    ) -> c_int;
    layout_dispose = "LLVMDisposeTargetData"(*mut TargetData);

    pass_options = "LLVMCreatePassBuilderOptions"() -> *mut PassOptions;
    pass_options_slp = "LLVMPassBuilderOptionsSetSLPVectorization"(*mut PassOptions, c_int);
    pass_options_vectorize = "LLVMPassBuilderOptionsSetLoopVectorization"(*mut PassOptions, c_int);
    pass_options_dispose = "LLVMDisposePassBuilderOptions"(*mut PassOptions);
    run_passes = "LLVMRunPasses"(*mut IrModule, *const c_char, *mut TargetMachine, *mut PassOptions)
        -> *mut LlvmError;
    error_message = "LLVMGetErrorMessage"(*mut LlvmError) -> *mut c_char;
    error_message_dispose = "LLVMDisposeErrorMessage"(*mut c_char);

    jit_builder = "LLVMOrcCreateLLJITBuilder"() -> *mut LlJitBuilder;
    jit_create = "LLVMOrcCreateLLJIT"(*mut *mut LlJit, *mut LlJitBuilder) -> *mut LlvmError;
    jit_dispose = "LLVMOrcDisposeLLJIT"(*mut LlJit) -> *mut LlvmError;
    jit_session = "LLVMOrcLLJITGetExecutionSession"(*mut LlJit) -> *mut ExecutionSession;
    session_set_reporter = "LLVMOrcExecutionSessionSetErrorReporter"(
        *mut ExecutionSession, ErrorReporter, *mut c_void
    );
    jit_main_dylib = "LLVMOrcLLJITGetMainJITDylib"(*mut LlJit) -> *mut JitDylib;
    jit_prefix = "LLVMOrcLLJITGetGlobalPrefix"(*mut LlJit) -> c_char;
    jit_add_object = "LLVMOrcLLJITAddObjectFile"(*mut LlJit, *mut JitDylib, *mut MemoryBuffer) -> *mut LlvmError;
    jit_lookup = "LLVMOrcLLJITLookup"(*mut LlJit, *mut u64, *const c_char) -> *mut LlvmError;
    process_generator = "LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess"(
        *mut *mut Generator, c_char, *const c_void, *const c_void
    ) -> *mut LlvmError;
    dylib_add_generator = "LLVMOrcJITDylibAddGenerator"(*mut JitDylib, *mut Generator);
}

/// Errors that LLVM reports beside its return values, through a handler that gets this value's address.
pub(super) struct Problems {
    pub(super) api: &'static Api,
    texts: Mutex<Vec<String>>,
}

impl Problems {
    /// Boxed, because LLVM holds the address.
    pub(super) fn new(api: &'static Api) -> Box<Problems> {
        Box::new(Problems { api, texts: Mutex::default() })
    }

    /// The address for LLVM, which hands it back to the handler.
    pub(super) fn as_handler_data(&self) -> *mut c_void {
        (&raw const *self).cast_mut().cast()
    }

    /// Adds one; called from LLVM's threads.
    pub(super) fn note(&self, text: String) {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// Takes all of them, joined; empty when there were none.
    pub(super) fn take(&self) -> String {
        std::mem::take(&mut *self.texts.lock().unwrap_or_else(PoisonError::into_inner)).join("\n")
    }
}

/// The back ends that we ask for, where the library has them.
const BACK_ENDS: [&str; 4] = ["X86", "AArch64", "NVPTX", "AMDGPU"];
/// What each registers; NVPTX has no assembly parser.
const PARTS: [&str; 5] = ["TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser"];

impl Api {
    /// Registers the back ends that this library was built with.
    pub(super) fn initialise_targets(&self) {
        for back_end in BACK_ENDS {
            for part in PARTS {
                let symbol = format!("LLVMInitialize{back_end}{part}");
                // SAFETY: every function of this name pattern takes nothing, returns nothing, and may be called
                // more than once.
                unsafe {
                    if let Ok(register) = self.library.get::<unsafe extern "C" fn()>(symbol.as_bytes()) {
                        register();
                    }
                }
            }
        }
    }

    /// Copies a message that LLVM allocated, and frees it.
    ///
    /// # Safety
    /// `message` is null or a C string that `LLVMDisposeMessage` may free.
    pub(super) unsafe fn take_message(&self, message: *mut c_char) -> String {
        if message.is_null() {
            return String::new();
        }
        // SAFETY: by the contract of this function.
        unsafe {
            let text = std::ffi::CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.dispose_message)(message);
            text
        }
    }

    /// Turns LLVM's error into its text; null is success.
    ///
    /// # Safety
    /// `error` is null or an error that nobody has consumed.
    pub(super) unsafe fn take_error(&self, error: *mut LlvmError) -> Result<(), String> {
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: by the contract of this function; `error_message` consumes the error.
        unsafe {
            let message = (self.error_message)(error);
            let text = std::ffi::CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.error_message_dispose)(message);
            Err(text)
        }
    }

    /// Copies the contents of a buffer that LLVM wrote, and frees it.
    ///
    /// # Safety
    /// `buffer` is a live memory buffer that the caller owns.
    pub(super) unsafe fn take_buffer(&self, buffer: *mut MemoryBuffer) -> Vec<u8> {
        // SAFETY: by the contract of this function; start and size describe initialised bytes.
        unsafe {
            let bytes =
                std::slice::from_raw_parts((self.buffer_start)(buffer).cast::<u8>(), (self.buffer_size)(buffer))
                    .to_vec();
            (self.buffer_dispose)(buffer);
            bytes
        }
    }

    /// A memory buffer with a copy of the bytes, followed by a zero as the parser requires.
    pub(super) fn copy_buffer(&self, bytes: &[u8]) -> *mut MemoryBuffer {
        // SAFETY: the range is readable; LLVM copies it before it returns, and the name is a C string.
        unsafe { (self.buffer_copy)(bytes.as_ptr().cast(), bytes.len(), c"cachet".as_ptr()) }
    }

    /// Major, minor, patch.
    pub(super) fn version(&self) -> (u32, u32, u32) {
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: three writable integers.
        unsafe { (self.get_version)(&raw mut major, &raw mut minor, &raw mut patch) };
        (major, minor, patch)
    }
}
