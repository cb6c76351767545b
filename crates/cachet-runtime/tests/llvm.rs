//! Text → code: parsing, verification, emission, the JIT, executables and libraries.

mod common;

use std::process::Command;

use cachet_runtime::{
    AlignedBuffer, ArchiveMember, BufferArg, FpGuard, FpMode, KernelArity, OptLevel, Places, Target, ToolErrorKind,
    link_executable, link_shared, report_llvm, write_archive, write_file,
};
use common::{FMA_KERNEL, Folder, llvm};

const ARITY: KernelArity = KernelArity { sizes: 1, buffers: 3 };

#[test]
fn a_kernel_runs_and_has_the_bits_of_fma() {
    let Some(llvm) = llvm() else { return };
    let jit = llvm.compile_and_load(FMA_KERNEL).expect("compiles");
    let kernel = jit.kernel("axpy", ARITY).expect("has its packed entry");
    drop(jit);
    for count in [0_usize, 1, 7, 64, 1000] {
        let value = |i: usize, scale: f32| (i as f32 * 0.37 + 1.0) * scale + 1e-7;
        let a: Vec<f32> = (0..count).map(|i| value(i, 1.3)).collect();
        let b: Vec<f32> = (0..count).map(|i| value(i, -0.7)).collect();
        let start: Vec<f32> = (0..count).map(|i| value(i, 0.9)).collect();
        let mut y = AlignedBuffer::for_elements::<f32>(count).expect("memory");
        y.elements_mut::<f32>().copy_from_slice(&start);
        let (a8, b8) = (bytes(&a), bytes(&b));
        let mut buffers = [BufferArg::Read(&a8), BufferArg::Read(&b8), BufferArg::Write(y.bytes_mut())];
        kernel.call(&[count as i64], &mut buffers).expect("arity fits");
        for i in 0..count {
            let expected = a[i].mul_add(b[i], start[i]);
            assert_eq!(y.elements::<f32>()[i].to_bits(), expected.to_bits(), "element {i} of {count}");
        }
    }
}

#[test]
fn kernels_run_in_the_strict_mode_whatever_the_thread_was_in() {
    let Some(llvm) = llvm() else { return };
    let kernel = llvm.compile_and_load(FMA_KERNEL).and_then(|jit| jit.kernel("axpy", ARITY)).expect("compiles");
    let _flushing = FpGuard::enter_mode(FpMode::STRICT.with_flushing());
    let (a, b) = (f32::MIN_POSITIVE.to_le_bytes(), 0.5_f32.to_le_bytes());
    let mut y = AlignedBuffer::for_elements::<f32>(1).expect("memory");
    kernel
        .call(&[1], &mut [BufferArg::Read(&a), BufferArg::Read(&b), BufferArg::Write(y.bytes_mut())])
        .expect("arity fits");
    assert_eq!(y.elements::<u32>()[0], 0x0040_0000);
    assert!(FpMode::current().flushes_subnormals());
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn a_wrong_number_of_arguments_is_misuse() {
    let Some(llvm) = llvm() else { return };
    let kernel = llvm.compile_and_load(FMA_KERNEL).and_then(|jit| jit.kernel("axpy", ARITY)).expect("compiles");
    let error = kernel.call(&[1, 2], &mut []).expect_err("two sizes, no buffers");
    assert_eq!(error.kind, ToolErrorKind::Misuse);
    assert!(error.message.contains("takes 1 sizes and 3 buffers"), "{error}");
}

#[test]
fn a_missing_symbol_is_named() {
    let Some(llvm) = llvm() else { return };
    let jit = llvm.compile_and_load(FMA_KERNEL).expect("compiles");
    let error = jit.kernel("gemm", ARITY).expect_err("not there");
    assert!(error.to_string().contains("gemm__packed"), "{error}");
    let unresolved = "declare void @cachet_no_such_function()
        define void @f__packed(ptr %s, ptr %b) { call void @cachet_no_such_function() ret void }";
    let jit = llvm.compile_and_load(unresolved).expect("compiles");
    let error = jit.kernel("f", KernelArity { sizes: 0, buffers: 0 }).expect_err("cannot be linked");
    assert!(error.to_string().contains("f__packed"), "{error}");
    assert!(error.to_string().contains("cachet_no_such_function"), "{error}");
}

#[test]
fn text_that_does_not_parse_keeps_llvms_words() {
    let Some(llvm) = llvm() else { return };
    let target = llvm.host().expect("a host").target();
    let error = llvm.compile("define void @f() {\n  %x = bogus i32 1\n", &target, OptLevel::O3).expect_err("no IR");
    assert_eq!(error.kind, ToolErrorKind::BadInput);
    let detail = error.detail.expect("LLVM's words");
    assert!(detail.contains("bogus") && detail.contains(":2:"), "{detail}");
}

#[test]
fn text_that_does_not_verify_keeps_llvms_words() {
    let Some(llvm) = llvm() else { return };
    let text = "define i32 @f(i1 %c) {
      entry:
        br i1 %c, label %one, label %two
      one:
        %x = add i32 1, 2
        br label %two
      two:
        ret i32 %x
      }";
    let error = llvm.verify(text).expect_err("does not dominate");
    assert!(error.to_string().contains("does not dominate"), "{error}");
}

#[test]
fn code_that_cannot_be_emitted_is_an_error_and_not_an_exit() {
    let Some(llvm) = llvm() else { return };
    let target = llvm.host().expect("a host").target();
    let text = "define void @f() { call void asm sideeffect \"no_such_instruction\", \"\"() ret void }";
    let module = llvm.compile(text, &target, OptLevel::O1).expect("the IR is fine");
    let error = module.emit_object().expect_err("the assembler refuses it");
    assert_eq!(error.kind, ToolErrorKind::BadInput);
    assert!(error.to_string().contains("no_such_instruction"), "{error}");
}

#[test]
fn emission_is_repeatable_and_of_one_code() {
    let Some(llvm) = llvm() else { return };
    let host = llvm.host().expect("a host");
    let module = llvm.compile(FMA_KERNEL, &host.target(), OptLevel::O3).expect("compiles");
    let object = module.emit_object().expect("emits");
    let assembly = module.emit_assembly().expect("emits");
    let ir = module.emit_ir();
    assert_eq!(object, module.emit_object().expect("emits"));
    assert_eq!(assembly, module.emit_assembly().expect("emits"));
    assert_eq!(ir, module.emit_ir());
    assert!(ir.contains("define void @axpy("), "{ir}");
    assert!(!ir.contains("fast") && !ir.contains("contract"), "{ir}");
    assert!(assembly.contains("axpy__packed"), "{assembly}");
    if host.has("avx512f") {
        assert!(assembly.contains("zmm") || assembly.contains("ymm"), "not vectorised for this host:\n{assembly}");
    }
    if cfg!(target_arch = "x86_64") {
        assert!(assembly.contains("vfmadd"), "{assembly}");
    }
}

#[test]
fn separate_operations_are_not_fused() {
    let Some(llvm) = llvm() else { return };
    let target = llvm.host().expect("a host").target();
    let text = "define float @f(float %a, float %b, float %c) {
        %p = fmul float %a, %b
        %s = fadd float %p, %c
        ret float %s }";
    let assembly = llvm.compile(text, &target, OptLevel::O3).and_then(|m| m.emit_assembly()).expect("emits");
    assert!(!assembly.contains("fmadd") && !assembly.contains("fmla"), "{assembly}");
}

#[test]
fn other_targets_are_compiled_for_and_those_without_fma_refused() {
    let Some(llvm) = llvm() else { return };
    let target =
        |triple: &str, cpu: &str| Target { triple: triple.to_owned(), cpu: cpu.to_owned(), features: String::new() };
    if llvm.targets().iter().any(|name| name == "x86-64") {
        let old = llvm.compile(FMA_KERNEL, &target("x86_64-unknown-linux-gnu", "nehalem"), OptLevel::O3);
        let error = old.expect_err("Nehalem has no FMA");
        assert_eq!(error.kind, ToolErrorKind::Unsupported);
        assert!(error.message.contains("nehalem") && error.message.contains("multiply-add"), "{error}");
        let new = llvm.compile(FMA_KERNEL, &target("x86_64-unknown-linux-gnu", "haswell"), OptLevel::O3);
        let text = new.and_then(|module| module.emit_assembly()).expect("Haswell has FMA");
        assert!(text.contains("ymm") && !text.contains("zmm"), "{text}");
    }
    if llvm.targets().iter().any(|name| name == "aarch64") {
        let arm = llvm.compile(FMA_KERNEL, &target("aarch64-unknown-linux-gnu", "neoverse-v2"), OptLevel::O3);
        let text = arm.and_then(|module| module.emit_assembly()).expect("compiles");
        assert!(text.contains("fmla") || text.contains("fmad"), "{text}");
    }
    let error = llvm.compile(FMA_KERNEL, &target("z80-unknown-none", ""), OptLevel::O3).expect_err("no back end");
    assert_eq!(error.kind, ToolErrorKind::Unsupported);
    assert!(error.message.contains("z80-unknown-none"), "{error}");
}

#[test]
fn the_report_says_what_was_found() {
    if llvm().is_none() {
        return;
    }
    let report = report_llvm(&Places::of_process());
    let version = report.version.expect("a version");
    let major: u32 = version.split('.').next().and_then(|text| text.parse().ok()).expect("a major version");
    assert!(major >= 19, "{version}");
    assert!(report.path.expect("a path").exists());
    assert!(report.problem.is_none() && report.host.is_some() && !report.targets.is_empty());
}

#[test]
fn a_nonsense_variable_is_reported_with_its_fix() {
    const NONSENSE: &str = "/nonsense/libLLVM.so";
    // This test again, in a process whose environment says so.
    if std::env::var("CACHET_LLVM").is_ok_and(|path| path == NONSENSE) {
        println!("{}", cachet_runtime::Llvm::load().expect_err("there is no such file"));
        return;
    }
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "a_nonsense_variable_is_reported_with_its_fix", "--nocapture"])
        .env("CACHET_LLVM", NONSENSE)
        .output()
        .expect("starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("CACHET_LLVM is `/nonsense/libLLVM.so`"), "{text}");
    assert!(text.contains("help: unset CACHET_LLVM"), "{text}");
}

#[test]
fn modules_move_between_threads() {
    let Some(llvm) = llvm() else { return };
    let target = llvm.host().expect("a host").target();
    let module = llvm.compile(FMA_KERNEL, &target, OptLevel::O2).expect("compiles");
    let here = module.emit_object().expect("emits");
    let there = std::thread::spawn(move || module.emit_object()).join().expect("no panic").expect("emits");
    assert_eq!(here, there);
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(move || llvm.compile_and_load(FMA_KERNEL))).collect();
    for thread in threads {
        thread.join().expect("no panic").expect("compiles");
    }
}

const MAIN: &str = r#"
@text = private constant [12 x i8] c"answer %lld\00"
declare i32 @snprintf(ptr, i64, ptr, ...)
declare i64 @write(i32, ptr, i64)
declare ptr @malloc(i64)
declare void @free(ptr)
define i32 @main() {
  %room = call ptr @malloc(i64 64)
  %n = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %room, i64 64, ptr @text, i64 42)
  %n64 = sext i32 %n to i64
  %w = call i64 @write(i32 1, ptr %room, i64 %n64)
  call void @free(ptr %room)
  ret i32 %n
}
"#;

#[test]
fn main_functions_run_in_this_process_with_the_c_library() {
    let Some(llvm) = llvm() else { return };
    let jit = llvm.compile_and_load(MAIN).expect("compiles");
    assert_eq!(jit.run_main("main").expect("runs"), "answer 42".len() as i32);
}

#[test]
fn executables_are_linked_and_run() {
    let Some(llvm) = llvm() else { return };
    let folder = Folder::new("executable");
    let target = llvm.host().expect("a host").target();
    let object = llvm.compile(MAIN, &target, OptLevel::O3).and_then(|module| module.emit_object()).expect("emits");
    let (file, program) = (folder.0.join("main.o"), folder.0.join("main"));
    write_file(&file, &object).expect("writes");
    let Some(_) = common::or_skip("cc", link_executable(&[&file], &program)) else { return };
    let output = Command::new(&program).output().expect("starts");
    assert_eq!(output.status.code(), Some(9));
    assert_eq!(output.stdout, b"answer 42");
}

#[test]
fn static_and_shared_libraries_serve_a_program() {
    let Some(llvm) = llvm() else { return };
    if Command::new("cc").arg("--version").output().is_err() {
        assert!(!common::required("cc"));
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("{}\n", format_args!("skipped: no `cc` to build the calling program")),
        );
        return;
    }
    let folder = Folder::new("libraries");
    let at = |name: &str| folder.0.join(name);
    let target = llvm.host().expect("a host").target();
    let object = llvm.compile(FMA_KERNEL, &target, OptLevel::O3).and_then(|m| m.emit_object()).expect("emits");
    write_file(&at("axpy.o"), &object).expect("writes");
    let member = ArchiveMember { name: "axpy.o", object: &object, symbols: &["axpy", "axpy__packed"] };
    write_archive(&[member], &at("libaxpy.a")).expect("writes");
    link_shared(&[&at("axpy.o")], &at("libaxpy.so")).expect("links");
    let caller = "#include <stdint.h>
        void axpy(int64_t, const float*, const float*, float*);
        int main(void) { float a[3] = {1,2,3}, b[3] = {4,5,6}, y[3] = {1,1,1};
        axpy(3, a, b, y); return (int)(y[0] + y[1] + y[2]); }";
    write_file(&at("caller.c"), caller.as_bytes()).expect("writes");
    for library in ["libaxpy.a", "libaxpy.so"] {
        let program = at(&format!("caller-{library}"));
        let status = Command::new("cc").arg(at("caller.c")).arg(at(library)).arg("-o").arg(&program).status();
        assert!(status.expect("cc starts").success(), "{library}");
        let status = Command::new(&program).env("LD_LIBRARY_PATH", &folder.0).status().expect("starts");
        assert_eq!(status.code(), Some(35), "{library}");
    }
}
