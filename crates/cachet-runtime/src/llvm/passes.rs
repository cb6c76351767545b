//! Which of LLVM's passes run over a module?
//!
//! `default<O3>`, which looks for everything. Where functions say that their work is written in vectors already
//! ([`WRITTEN_IN_VECTORS`]) it finds nothing in them for most of its time, and writes loops over copies out for every
//! condition: such functions get a third of the passes, the others of their module about those of `O3`.

use std::ffi::{CStr, c_char, c_uint};
use std::ptr;

use super::api::{Api, IrFunction, IrModule, LlvmError, PassOptions, RunOnFunction, TargetMachine};
use super::module::OptLevel;

/// The attribute of functions whose hot loops are written in vectors of the target.
pub const WRITTEN_IN_VECTORS: &str = "cachet-in-vectors";

/// `LLVMAttributeFunctionIndex`.
const OF_THE_FUNCTION: c_uint = c_uint::MAX;

/// Before functions are looked at one by one.
const TOGETHER: &CStr = c"function(sroa,early-cse<memssa>,simplifycfg),cgscc(inline)";
/// When they are done: those that were inlined everywhere go.
const AT_LAST: &CStr = c"globaldce,constmerge";
/// Of a function in vectors. What is vectorised and written out here are its copies.
const IN_VECTORS: &CStr = c"sroa,early-cse<memssa>,correlated-propagation,simplifycfg,\
    instcombine<no-verify-fixpoint>,loop-mssa(loop-rotate,licm),simplifycfg,instcombine<no-verify-fixpoint>,\
    loop(loop-idiom,indvars,loop-deletion,loop-unroll-full),early-cse<memssa>,loop-mssa(licm),simplifycfg,\
    loop-vectorize,instcombine<no-verify-fixpoint>,simplifycfg<hoist-common-insts;sink-common-insts>,\
    loop-unroll<O3>,instcombine<no-verify-fixpoint>,loop-mssa(licm),loop-sink,instsimplify,simplifycfg";
/// Of any other. Conditions that are the same in every iteration are asked before the loop, once for each of their outcomes.
const PLAIN: &CStr = c"sroa,early-cse<memssa>,jump-threading,correlated-propagation,simplifycfg,\
    instcombine<no-verify-fixpoint>,reassociate,constraint-elimination,\
    loop-mssa(loop-rotate,licm,simple-loop-unswitch<nontrivial;trivial>),simplifycfg,instcombine<no-verify-fixpoint>,\
    loop(loop-idiom,indvars,loop-deletion,loop-unroll-full),sroa,gvn,sccp,bdce,instcombine<no-verify-fixpoint>,\
    jump-threading,correlated-propagation,adce,dse,loop-mssa(licm),simplifycfg,instcombine<no-verify-fixpoint>,\
    loop(loop-rotate,loop-deletion),loop-vectorize,instcombine<no-verify-fixpoint>,\
    simplifycfg<hoist-common-insts;sink-common-insts>,\
    loop-unroll<O3>,instcombine<no-verify-fixpoint>,loop-mssa(licm),loop-sink,instsimplify,div-rem-pairs,simplifycfg";

/// Runs the passes of a level. What LLVM returns is the caller's.
///
/// # Safety
/// All of them are live, and of the same library.
pub(super) unsafe fn run(
    api: &Api,
    module: *mut IrModule,
    machine: *mut TargetMachine,
    options: *mut PassOptions,
    opt: OptLevel,
) -> *mut LlvmError {
    // SAFETY: as the caller says; texts end with a NUL.
    unsafe {
        let all = |text: &CStr| (api.run_passes)(module, text.as_ptr(), machine, options);
        let one_by_one = api.run_passes_on_function.filter(|_| opt == OptLevel::O3 && any_in_vectors(api, module));
        let Some(on_function) = one_by_one else {
            return all(opt.pipeline());
        };
        let error = all(TOGETHER);
        if !error.is_null() {
            return error;
        }
        let error = each(api, module, on_function, |f, text| (f, text.as_ptr(), machine, options));
        if error.is_null() { all(AT_LAST) } else { error }
    }
}

type Run = (*mut IrFunction, *const c_char, *mut TargetMachine, *mut PassOptions);

/// Each function by its own passes, up to the first failure.
///
/// # Safety
/// The module is live, and what is run is too.
unsafe fn each(
    api: &Api,
    module: *mut IrModule,
    on_function: RunOnFunction,
    with: impl Fn(*mut IrFunction, &CStr) -> Run,
) -> *mut LlvmError {
    // SAFETY: functions of a live module; passes over a function neither remove it nor add others before it.
    unsafe {
        let mut function = (api.first_function)(module);
        while !function.is_null() {
            if (api.is_declaration)(function) == 0 {
                let text = if in_vectors(api, function) { IN_VECTORS } else { PLAIN };
                let (function, text, machine, options) = with(function, text);
                let error = on_function(function, text, machine, options);
                if !error.is_null() {
                    return error;
                }
            }
            function = (api.next_function)(function);
        }
    }
    ptr::null_mut()
}

/// Whether any function is written in vectors.
///
/// # Safety
/// The module is live.
unsafe fn any_in_vectors(api: &Api, module: *mut IrModule) -> bool {
    // SAFETY: functions of a live module.
    unsafe {
        let mut function = (api.first_function)(module);
        while !function.is_null() {
            if in_vectors(api, function) {
                return true;
            }
            function = (api.next_function)(function);
        }
    }
    false
}

/// Whether a function is.
///
/// # Safety
/// The function is live.
unsafe fn in_vectors(api: &Api, function: *mut IrFunction) -> bool {
    let name = WRITTEN_IN_VECTORS;
    // SAFETY: the name is as long as is said, and short.
    let found =
        unsafe { (api.string_attribute)(function, OF_THE_FUNCTION, name.as_ptr().cast(), name.len() as c_uint) };
    !found.is_null()
}
