//! What programs in other languages see of built kernels: the same bits on every processor, an error code for every bad call,
//! no access outside of what they lent, and the examples in C (with CMake), Rust and Python.

mod common;

use common::{cachetc, root, scratch, skipped, text};
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "examples/dense.cachet";
const X86_64: &str = "x86_64-unknown-linux-gnu";
const AARCH64: &str = "aarch64-unknown-linux-gnu";
const CACHETC: &str = env!("CARGO_BIN_EXE_cachetc");

/// LLVM and a C compiler, or a printed skip.
fn tools() -> bool {
    let llvm = cachet_runtime::Llvm::load().map_err(|e| e.message);
    match llvm {
        Err(why) => !skipped("llvm", &why),
        Ok(_) => has("cc", "cc"),
    }
}

/// Whether a program is there, or a printed skip of what needs it.
fn has(tool: &str, program: &str) -> bool {
    match Command::new(program).arg("--version").output() {
        Ok(out) if out.status.success() => true,
        Ok(out) => !skipped(tool, &format!("`{program} --version` ends with {}", out.status)),
        Err(e) => !skipped(tool, &format!("`{program}` does not start: {e}")),
    }
}

/// Whether Python is there with NumPy and what makes environments, or a printed skip.
fn has_numpy() -> bool {
    if !has("python", "python3") {
        return false;
    }
    let out = Command::new("python3").args(["-c", "import numpy, venv, ensurepip"]).output().expect("python3 starts");
    out.status.success() || !skipped("python", text(&out.stderr).lines().last().unwrap_or("no NumPy"))
}

/// Runs a program that has to succeed; its output.
fn run(command: &mut Command) -> String {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?} starts: {e}"));
    assert!(out.status.success(), "{command:?}: {}\n{}{}", out.status, text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

/// `dense.cachet` as a static library with a header, in a folder.
fn built(folder: &Path, options: &[&str]) {
    let folder = folder.to_str().expect("a path in UTF-8");
    let out = cachetc(&[&["build", SOURCE, "-o", folder, "--emit", "static,header"], options].concat());
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
}

/// One of the programs in C beside this file, linked with the library in a folder.
fn linked(folder: &Path, compiler: &[&str], name: &str) -> PathBuf {
    let source = root().join("crates/cachetc/tests/callers").join(name).with_extension("c");
    let program = folder.join(name);
    let warnings = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-g"];
    run(Command::new(compiler[0])
        .args(&compiler[1..])
        .args(warnings)
        .arg("-I")
        .arg(folder)
        .args([&source, &folder.join("libdense.a")])
        .args(["-lm", "-o"])
        .arg(&program));
    program
}

#[test]
fn every_bad_call_gets_a_code_and_writes_nothing() {
    if !tools() {
        return;
    }
    for options in [&[][..], &["--strided"]] {
        let folder = scratch(&format!("bad_calls{}", options.len()));
        built(&folder, options);
        let said = run(Command::new(linked(&folder, &["cc"], "bad_calls")).args(["100000", "1"]));
        assert_eq!(said.lines().filter(|l| l.contains("100000 bad calls, 100000 codes")).count(), 4, "{said}");
        assert!(said.contains("shared: 100000 bad calls, 100000 codes, 13 kinds"), "{said}");
    }
}

/// One text, three processors: AVX2, AVX-512, and AArch64 under emulation.
#[test]
fn bits_are_the_same_on_every_processor() {
    if !tools() || !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return;
    }
    let mut seen: Vec<(&str, String)> = Vec::new();
    for cpu in ["x86-64-v3", "x86-64-v4"] {
        if !runs_here(cpu) {
            skipped(cpu, "this processor is older");
            continue;
        }
        let folder = scratch(&format!("same_{cpu}"));
        built(&folder, &["--strided", "--target", X86_64, "--cpu", cpu]);
        seen.push((cpu, run(&mut Command::new(linked(&folder, &["cc"], "same_bits")))));
    }
    let cross = "aarch64-linux-gnu-gcc";
    if has("aarch64", cross) && has("aarch64", "qemu-aarch64") {
        let folder = scratch("same_aarch64");
        built(&folder, &["--strided", "--target", AARCH64]);
        let emulated = |name: &str| {
            let mut command = Command::new("qemu-aarch64");
            command.arg(linked(&folder, &[cross, "-static"], name));
            command
        };
        seen.push(("aarch64", run(&mut emulated("same_bits"))));
        let said = run(emulated("bad_calls").args(["10000", "2"]));
        assert_eq!(said.lines().filter(|l| l.contains("10000 bad calls, 10000 codes")).count(), 4, "{said}");
        programs_and_shared_libraries_cross(&folder);
    }
    for (cpu, said) in &seen {
        assert_eq!(said.lines().count(), 60, "{cpu}: {said}");
        assert_eq!(*said, seen[0].1, "{cpu} and {}", seen[0].0);
    }
}

/// A program for AArch64 prints what it prints here, and a shared library is one for AArch64.
fn programs_and_shared_libraries_cross(folder: &Path) {
    let file = "examples/matmul.cachet";
    let path = |name: &str| folder.join(name).to_str().expect("a path in UTF-8").to_owned();
    let out = cachetc(&["build", file, "--target", AARCH64, "--emit", "exe", "-o", &path("programs")]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let emulated =
        run(Command::new("qemu-aarch64").args(["-L", "/usr/aarch64-linux-gnu"]).arg(path("programs/matmul")));
    assert_eq!(emulated, text(&cachetc(&["run", file]).stdout));
    let out = cachetc(&["build", SOURCE, "layer", "--target", AARCH64, "-o", &path("layer.so")]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    /// ELF's number of AArch64, and where it stands.
    const MACHINE: (usize, u8) = (18, 183);
    let bytes = std::fs::read(path("layer.so")).expect("the library is there");
    assert_eq!(bytes.get(MACHINE.0), Some(&MACHINE.1));
}

#[cfg(target_arch = "x86_64")]
fn runs_here(cpu: &str) -> bool {
    match cpu {
        "x86-64-v3" => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
        _ => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl"),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn runs_here(_: &str) -> bool {
    false
}

/// Nothing that was not set is used, nothing outside of an array is touched. (Its own arithmetic rounds fused operations in
/// another way now and then: it is asked about memory alone.)
#[test]
fn valgrind_finds_nothing() {
    if !tools() || !cfg!(target_arch = "x86_64") || !has("valgrind", "valgrind") {
        return;
    }
    let folder = scratch("valgrind");
    for options in [&[][..], &["--strided"]] {
        built(&folder, &[&["--target", X86_64, "--cpu", "x86-64-v3"], options].concat());
        let program = if options.is_empty() { example_in_c(&folder) } else { linked(&folder, &["cc"], "same_bits") };
        let out = Command::new("valgrind")
            .args(["--error-exitcode=9", "--leak-check=full", "--quiet"])
            .arg(&program)
            .output()
            .expect("valgrind starts");
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        assert_eq!(text(&out.stderr), "");
    }
}

/// The example in C, linked with the library in a folder.
fn example_in_c(folder: &Path) -> PathBuf {
    let (c, program) = (root().join("examples/c"), folder.join("example"));
    run(Command::new("cc")
        .args(["-std=c11", "-O1", "-g", "-I"])
        .arg(folder)
        .args([c.join("main.c"), c.join("pool.c"), folder.join("libdense.a")])
        .args(["-lpthread", "-o"])
        .arg(&program));
    program
}

#[test]
fn the_example_in_c_builds_with_cmake() {
    if !tools() || !has("cmake", "cmake") {
        return;
    }
    let folder = scratch("cmake");
    run(Command::new("cmake").arg("-S").arg(root().join("examples/c")).arg("-B").arg(&folder).env("CACHETC", CACHETC));
    run(Command::new("cmake").arg("--build").arg(&folder));
    assert_eq!(run(&mut Command::new(folder.join("example"))), expected("c"));
    // What has not changed is not built again; what has is.
    let again = run(Command::new("cmake").arg("--build").arg(&folder));
    assert!(!again.contains("Building kernels"), "{again}");
    let library = folder.join("dense.cachet/libdense.a");
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1);
    let file = std::fs::File::options().append(true).open(&library).expect("the library is there");
    file.set_modified(long_ago).expect("a file can be made older");
    let after = run(Command::new("cmake").arg("--build").arg(&folder));
    assert!(after.contains("Building kernels"), "{after}");
}

#[test]
fn the_example_in_rust_runs() {
    if !tools() {
        return;
    }
    let manifest = root().join("examples/rust/Cargo.toml");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("example_rust");
    let said = run(Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "--manifest-path"])
        .arg(&manifest)
        .env("CARGO_TARGET_DIR", &target)
        .env("CACHETC", CACHETC));
    assert_eq!(said, expected("rust"));
    if cfg!(target_arch = "x86_64") && has("valgrind", "valgrind") {
        let mut command = Command::new("valgrind");
        command.args(["--error-exitcode=9", "--quiet"]).arg(target.join("debug/cachet-example"));
        run(&mut command);
    }
}

/// Headers are C++ as well, with whatever names the language allows.
#[test]
fn headers_are_read_by_a_cpp_compiler() {
    if !tools() || !has("c++", "c++") {
        return;
    }
    let folder = scratch("cpp");
    std::fs::write(folder.join("names.cachet"), NAMES).expect("a file is written");
    let names = folder.join("names.cachet");
    let names = names.to_str().expect("a path in UTF-8");
    let mut text_of_all = String::new();
    for file in [SOURCE, "tests/suite/records.cachet", "tests/suite/layouts.cachet", names] {
        let out = cachetc(&["build", file, "--strided", "--emit", "header", "-o", folder.to_str().expect("UTF-8")]);
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        let stem = Path::new(file).file_stem().and_then(|s| s.to_str()).expect("a name");
        text_of_all.push_str(&format!("#include \"{stem}.h\"\n"));
    }
    std::fs::write(folder.join("all.cpp"), &text_of_all).expect("a file is written");
    std::fs::write(folder.join("all.c"), &text_of_all).expect("a file is written");
    let warnings = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];
    run(Command::new("c++").arg("-std=c++11").args(warnings).arg(folder.join("all.cpp")));
    run(Command::new("cc").arg("-std=c99").args(warnings).arg(folder.join("all.c")));
}

/// What a build script makes of records, layouts, implementations and unusual names.
#[test]
fn safe_functions_take_every_kind_of_element() {
    if !tools() {
        return;
    }
    let folder = scratch("elements");
    std::fs::write(folder.join("names.cachet"), NAMES).expect("a file is written");
    let suite = root().join("tests/suite");
    let write = |build: cachet_build::Build| build.compiler(CACHETC).out_dir(&folder).write().expect("it is built");
    write(cachet_build::Build::new(suite.join("layouts.cachet")).only(["weighed", "reversed"]));
    write(cachet_build::Build::new(suite.join("records.cachet")).only(["moments"]));
    write(
        cachet_build::Build::new(root().join("examples/matmul.cachet")).implementation("MinPlus f32").prefix("paths"),
    );
    write(cachet_build::Build::new(folder.join("names.cachet")));
    let source = root().join("crates/cachetc/tests/callers/elements.rs");
    let program = folder.join("elements");
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2021", "-D", "warnings", "-L"]).arg(&folder).arg("-o").arg(&program).arg(&source);
    for library in ["layouts", "records", "paths", "names"] {
        rustc.arg("-l").arg(format!("static={library}"));
    }
    run(rustc.env("OUT_DIR", &folder));
    assert_eq!(run(&mut Command::new(program)), "all as it should be\n");
}

/// What the other languages find out when they are called, Rust says before: elements of another type, another number of axes,
/// and a result that is an operand.
#[test]
fn rust_itself_refuses_other_types_and_overlap() {
    if !tools() {
        return;
    }
    let folder = scratch("refused_by_rust");
    let build = cachet_build::Build::new(root().join(SOURCE)).compiler(CACHETC).out_dir(&folder);
    build.only(["product64"]).write().expect("it is built");
    let call = |a: &str, c: &str| {
        let main = format!(
            "mod dense {{ include!(\"dense.rs\"); }}\n\
             fn main() {{ let (mut x, y, z) = (vec![0.0_f64; 16], vec![0.0_f64; 16], vec![0.0_f32; 16]);\n\
             let mut w = x.clone(); let _ = (&mut w, &z);\n\
             dense::product64({a}, (&y, [4, 4]), {c}).unwrap(); }}\n"
        );
        std::fs::write(folder.join("main.rs"), main).expect("a file is written");
        let out = Command::new("rustc")
            .args(["--edition", "2021", "--emit", "metadata", "-A", "warnings", "main.rs"])
            .current_dir(&folder)
            .output();
        text(&out.expect("rustc starts").stderr)
    };
    assert_eq!(call("(&x, [4, 4])", "(&mut w, [4, 4])"), "");
    let wrong = call("(&x, [4, 4])", "(&mut x, [4, 4])");
    assert!(wrong.contains("cannot borrow `x` as mutable because it is also borrowed as immutable"), "{wrong}");
    let wrong = call("(&z, [4, 4])", "(&mut w, [4, 4])");
    assert!(wrong.contains("error[E0277]") && wrong.contains("Vec<f32>"), "{wrong}");
    let wrong = call("(&x, [4, 2, 2])", "(&mut w, [4, 4])");
    assert!(wrong.contains("error[E0277]") && wrong.contains("; 3]"), "{wrong}");
}

/// The command of `benches/calls` does what it says; its figures are not looked at.
#[test]
fn calls_are_measured() {
    if !tools() || !has_numpy() {
        return;
    }
    let said = run(Command::new(root().join("benches/calls/run")).env("CACHETC", CACHETC).env_remove("PYTHONPATH"));
    assert!(said.lines().filter(|l| l.contains(" ns  (10 % ")).count() >= 9, "{said}");
}

/// Names that mean something in Rust, or in what is made.
const NAMES: &str = "fn error (reads pool: [f32; code]) (reads array_0: [bf16; code, N]) (out code_: [i8; N]) =
  for j in 0 .. N do
    store code_[j] = if code > 2 then 1 else 0

fn move (mut crate: [bool; N]) =
  for i in 0 .. N do
    store crate[i] = if load crate[i] then false else true
";

/// The wheel goes into an environment of its own, where the example and the package's tests run.
#[test]
fn the_example_in_python_runs_with_the_wheel() {
    if !tools() || !has_numpy() {
        return;
    }
    let folder = scratch("python");
    let quiet = |command: &mut Command| {
        run(command
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
            .env_remove("PYTHONPATH"))
    };
    // NumPy is the system's; everything else is the environment's own.
    quiet(Command::new("python3").args(["-m", "venv", "--system-site-packages"]).arg(folder.join("env")));
    let python = folder.join("env/bin/python");
    for wheel in ["wheel", "wheel again"] {
        quiet(
            Command::new(&python)
                .args(["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--wheel-dir"])
                .arg(folder.join(wheel))
                .arg(root().join("python"))
                .env("CACHETC", CACHETC),
        );
    }
    let wheel = only_file(&folder.join("wheel"));
    let bytes = |p: &Path| std::fs::read(p).expect("the wheel is there");
    assert!(bytes(&wheel) == bytes(&only_file(&folder.join("wheel again"))), "two wheels differ");
    quiet(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]).arg(&wheel));
    // The compiler is the package's, and it is not run from within the project.
    let mut example = Command::new(&python);
    example
        .arg(root().join("examples/python/main.py"))
        .current_dir(&folder)
        .env_remove("CACHETC")
        .env("PATH", "/usr/bin:/bin");
    assert_eq!(quiet(&mut example), expected("python"));
    let mut tests = Command::new(&python);
    tests.args(["-m", "unittest", "-q", "test_calls"]).current_dir(root().join("python/tests"));
    quiet(tests.env_remove("CACHETC").env("CACHET_ROOT", root()));
}

fn only_file(folder: &Path) -> PathBuf {
    let mut entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let (first, second) = (entries.next().expect("a file").path(), entries.next());
    assert!(second.is_none(), "{}: more than one file", folder.display());
    first
}

/// What an example prints.
fn expected(example: &str) -> String {
    std::fs::read_to_string(root().join("examples").join(example).join("expected.txt")).expect("the expected text")
}
