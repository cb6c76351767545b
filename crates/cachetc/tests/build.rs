//! What `cachetc build` writes: which files, which symbols, the same bytes every time, and a reason for what it leaves out.

mod common;

use common::{cachetc, cachetc_in, root, scratch, skipped, text};
use std::path::Path;
use std::process::{Command, Output};

/// LLVM and a C compiler, or a printed skip.
fn tools() -> bool {
    let llvm = cachet_runtime::Llvm::load().map_err(|e| e.message);
    let cc = cachet_runtime::find_linker().map_err(|e| e.message);
    match (llvm, cc) {
        (Err(why), _) => !skipped("llvm", &why),
        (_, Err(why)) => !skipped("cc", &why),
        (Ok(_), Ok(_)) => true,
    }
}

fn good(out: &Output) -> String {
    assert_eq!(out.status.code(), Some(0), "{}{}", text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

/// Runs a program of the system in a folder; its output.
fn run(folder: &Path, program: &str, args: &[&str]) -> String {
    let out = Command::new(program).args(args).current_dir(folder).output();
    let out = out.unwrap_or_else(|e| panic!("{program} starts: {e}"));
    assert!(out.status.success(), "{program} {args:?}: {}{}", text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut out: Vec<String> = entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
    out.sort();
    out
}

fn path(p: &Path) -> &str {
    p.to_str().expect("a path in UTF-8")
}

/// A file of the language in a folder of its own.
fn source(folder: &Path, name: &str, lines: &str) -> String {
    std::fs::write(folder.join(name), lines).expect("the file is written");
    name.into()
}

#[test]
fn the_example_in_c_runs() {
    if !tools() {
        return;
    }
    let folder = scratch("build_c");
    good(&cachetc(&["build", "examples/dense.cachet", "-o", path(&folder)]));
    for library in ["libdense.a", "libdense.so"] {
        let c = root().join("examples/c");
        let (main, pool) = (c.join("main.c"), c.join("pool.c"));
        let here = format!("-I{}", folder.display());
        let warnings = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"];
        let mut args = warnings.to_vec();
        let rpath = format!("-Wl,-rpath,{}", folder.display());
        args.extend([&here, path(&main), path(&pool), library, &rpath, "-lpthread", "-o", "main"]);
        run(&folder, "cc", &args);
        let wanted = std::fs::read_to_string(c.join("expected.txt")).expect("the expected text");
        assert_eq!(run(&folder, "./main", &[]), wanted, "with {library}");
    }
}

#[test]
fn everything_is_one_folder() {
    if !tools() {
        return;
    }
    let folder = scratch("build_all");
    let said = good(&cachetc(&["build", "examples/ladder.cachet", "-o", path(&folder.join("deep/er"))]));
    let files = ["ladder", "ladder.h", "ladder.json", "ladder.o", "libladder.a", "libladder.so"];
    assert_eq!(names(&folder.join("deep/er")), files);
    assert!(said.contains("8 functions for "), "{said}");
    assert!(said.contains("left out: `matmul` has the type parameter `S`, which is not bound"), "{said}");
}

#[test]
fn single_files_are_what_their_ending_says() {
    if !tools() {
        return;
    }
    let folder = scratch("build_single");
    for ending in ["o", "a", "so", "h", "json", "ll", "s"] {
        let file = folder.join(format!("one.{ending}"));
        good(&cachetc(&["build", "examples/dense.cachet", "layer", "-o", path(&file)]));
    }
    assert_eq!(names(&folder).len(), 7);
    // The files that were read, for `make` and whoever reads its rules.
    let rule = folder.join("one.d");
    good(&cachetc(&["build", "examples/dense.cachet", "-o", path(&rule)]));
    let wanted = format!("{}: examples/dense.cachet examples/lib/gemm.cachet\n", rule.display());
    assert!(std::fs::read_to_string(&rule).expect("the rule").starts_with(&wanted));
    let read = |name: &str| std::fs::read(folder.join(name)).expect("the file is there");
    assert!(read("one.o").starts_with(b"\x7fELF") && read("one.so").starts_with(b"\x7fELF"));
    assert!(read("one.a").starts_with(b"!<arch>\n"));
    assert!(text(&read("one.ll")).contains("define void @dense_layer("));
    assert!(text(&read("one.s")).contains("dense_layer_checked:"));
    assert!(text(&read("one.h")).contains("void dense_layer("));
    // Of a file that has nothing but a program, the object is the program's.
    let folder = scratch("build_main");
    good(&cachetc(&["build", "tests/suite/numbers/printed.cachet", "-o", path(&folder.join("main.ll"))]));
    assert!(std::fs::read_to_string(folder.join("main.ll")).expect("the file").contains("define i32 @main("));
}

/// With strides, every array of several axes has one for each but the last, unless it lies in a layout.
#[test]
fn rows_may_lie_apart() {
    if !tools() {
        return;
    }
    let folder = scratch("build_strided");
    let lines = "import \"cachet:layouts\"

fn f (reads a: [f32; L, M, N]) (reads b: [f32; N, M] in PanelMajor 4) (reads a_stride: [f32; N]) (out c: [f32; M, N]) =
  for i in 0 .. M do
    for j in 0 .. N do
      store c[i, j] = load b[j, i] + load a_stride[j]
";
    let file = source(&folder, "rows.cachet", lines);
    good(&cachetc_in(&folder, &["build", &file, "--strided", "-o", "out"]));
    let header = std::fs::read_to_string(folder.join("out/rows.h")).expect("a header");
    let wanted = "void rows_f(int64_t L, int64_t M, int64_t N, const float *a, int64_t a_stride0, int64_t a_stride1, \
                  const float *b, const float *a_stride, float *c, int64_t c_stride);";
    assert!(header.contains(wanted), "{header}");
    assert!(header.contains("neighbours along the axes [a_stride0, a_stride1, 1] elements apart"), "{header}");
    let manifest = std::fs::read_to_string(folder.join("out/rows.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    let arrays = &manifest["functions"][0]["arrays"];
    assert_eq!(arrays[0]["given_strides"], serde_json::json!(["a_stride0", "a_stride1"]));
    assert_eq!(arrays[1]["given_strides"], serde_json::Value::Null);
    assert_eq!(arrays[1]["memory_terms"], serde_json::json!([["/", ["+", "N", 3], 4], "M", 4]));
    let again = scratch("build_strided_again");
    good(&cachetc_in(&folder, &["build", &file, "--strided", "-o", path(&again)]));
    for name in names(&again) {
        let read = |f: &Path| std::fs::read(f.join(&name)).expect("the file is there");
        assert!(read(&again) == read(&folder.join("out")), "{name} differs");
    }
}

/// Nothing but the entries can be seen, and nothing is asked of any other library.
#[test]
fn symbols_are_the_entries_and_nothing_else() {
    if !tools() || Command::new("nm").arg("--version").output().is_err() {
        return;
    }
    let folder = scratch("build_symbols");
    good(&cachetc(&["build", "examples/dense.cachet", "--prefix", "my", "-o", path(&folder)]));
    let manifest = std::fs::read_to_string(folder.join("my.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    let mut wanted: Vec<String> = Vec::new();
    for f in manifest["functions"].as_array().expect("functions") {
        let symbols = f["symbols"].as_object().expect("symbols");
        wanted.extend(symbols.values().filter_map(|s| s.as_str().map(str::to_owned)));
    }
    wanted.sort();
    assert!(wanted.iter().all(|s| s.starts_with("my_")) && wanted.len() > 15, "{wanted:?}");
    for (file, extra) in [("my.o", "-g"), ("libmy.a", "-g"), ("libmy.so", "-D")] {
        let out = run(&folder, "nm", &[extra, file]);
        let lines = out.lines().filter(|l| !l.ends_with(':') && !l.is_empty());
        let mut seen: Vec<String> = Vec::new();
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(words.get(1), Some(&"T"), "{file}: {line}");
            seen.push(words[2].into());
        }
        seen.sort();
        assert_eq!(seen, wanted, "{file}");
    }
    // No data that is written: there is no global state.
    let sections = run(&folder, "nm", &["my.o"]);
    assert!(
        !sections.lines().any(|l| matches!(l.split_whitespace().nth(1), Some("b" | "B" | "d" | "D" | "C"))),
        "{sections}"
    );
}

#[test]
fn two_builds_are_the_same_bytes() {
    if !tools() {
        return;
    }
    let (one, two) = (scratch("build_one"), scratch("a folder, built"));
    let emit = ["--emit", "obj,static,shared,header,manifest,llvm-ir,asm,exe"];
    let copy = scratch("build_copy");
    for lib in ["examples", "examples/lib"] {
        std::fs::create_dir_all(copy.join(lib)).expect("a folder");
        for entry in std::fs::read_dir(root().join(lib)).expect("the folder").flatten() {
            if entry.path().is_file() {
                std::fs::copy(entry.path(), copy.join(lib).join(entry.file_name())).expect("a copy");
            }
        }
    }
    let file = "examples/ladder.cachet";
    good(&cachetc(&["build", file, emit[0], emit[1], "-o", path(&one)]));
    let whole = copy.join(file);
    good(&cachetc_in(&two, &["build", path(&whole), emit[0], emit[1], "-o", "."]));
    assert_eq!(names(&one), names(&two));
    assert_eq!(names(&one).len(), 8);
    for name in names(&one) {
        let read = |f: &Path| std::fs::read(f.join(&name)).expect("the file is there");
        assert!(read(&one) == read(&two), "{name} differs");
    }
}

#[test]
fn nothing_is_written_elsewhere() {
    if !tools() {
        return;
    }
    let folder = scratch("build_elsewhere");
    for name in ["work", "tmp", "home"] {
        std::fs::create_dir_all(folder.join(name)).expect("a folder");
    }
    let file = root().join("examples/ladder.cachet");
    let out = Command::new(env!("CARGO_BIN_EXE_cachetc"))
        .args(["build", path(&file), "-o", "../out"])
        .current_dir(folder.join("work"))
        .env("TMPDIR", folder.join("tmp"))
        .env("HOME", folder.join("home"))
        .env("CACHET_CACHE", folder.join("cache"))
        .output()
        .expect("the compiler starts");
    good(&out);
    for name in ["work", "tmp", "home"] {
        assert_eq!(names(&folder.join(name)), Vec::<String>::new(), "{name}");
    }
    assert_eq!(names(&folder), ["cache", "home", "out", "tmp", "work"]);
    assert_eq!(names(&folder.join("out")).len(), 6);
}

#[test]
fn what_is_left_out_has_a_reason() {
    if !tools() {
        return;
    }
    let folder = scratch("build_reasons");
    let lines = "fn allocates (out x: [f32; N]) =
  alloc y: [f32; N]
  for i in 0 .. N do
    store y[i] = 1.0
  for i in 0 .. N do
    store x[i] = load y[i]

fn prints (reads x: [f32; N]) =
  for i in 0 .. N do
    print (load x[i])

fn fills (out x: [f32; N]) =
  for i in 0 .. N do
    store x[i] = 0.0

fn calls (out x: [f32; N]) =
  allocates x
";
    let file = source(&folder, "reasons.cachet", lines);
    let said = good(&cachetc_in(&folder, &["build", &file, "-o", "out"]));
    for (name, why) in [("allocates", "allocates memory"), ("prints", "prints"), ("calls", "allocates memory")] {
        assert!(said.contains(&format!("left out: `{name}` {why}, and a function for other programs")), "{said}");
    }
    assert!(said.contains("1 function for "), "{said}");
    // By name it is an error.
    let out = cachetc_in(&folder, &["build", &file, "fills", "calls", "-o", "out2"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).contains("`calls` is not built: it allocates memory"), "{}", text(&out.stderr));
    assert!(!folder.join("out2").exists());
    let out = cachetc_in(&folder, &["build", &file, "fill", "-o", "out2"]);
    assert!(
        text(&out.stderr)
            .contains("there is no function `fill` to build; the file has allocates, prints, fills, calls")
    );
    // A file with mistakes is not built at all.
    let file = source(&folder, "wrong.cachet", "fn f (out x: [f32; N]) =\n  store x[0] = 1.0\n");
    let out = cachetc_in(&folder, &["build", &file, "-o", "out3"]);
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
    assert!(!folder.join("out3").exists());
}

#[test]
fn generic_functions_are_built_at_implementations() {
    if !tools() {
        return;
    }
    let folder = scratch("build_with");
    let with = ["--with", "PlusTimes f32", "--with", "MinPlus f64"];
    let args = ["build", "examples/matmul.cachet", "swapped", "-o", path(&folder), "--emit", "header"];
    good(&cachetc(&[&args[..], &with[..]].concat()));
    let header = std::fs::read_to_string(folder.join("matmul.h")).expect("a header");
    assert!(header.contains("bits of matmul_PlusTimes_f32, trusted nothing"), "{header}");
    assert!(
        header.contains("void matmul_swapped_MinPlus_f64(int64_t M, int64_t K, int64_t N, const double *a,"),
        "{header}"
    );
    // One that may overflow is refused, as it is where a program binds it.
    let lines = "import \"cachet:monoid\"

impl Semiring for Narrow i32 where
  const Value = i32
  fn zero () = 0
  fn one () = 1
  fn add a b = a + b
  fn mul a b = a * b
  fn mul_add a b c = a * b + c

contraction total {S : Semiring} (reads a: [S.Value; M, K]) -> out c: [S.Value; M] =
  c[i] = sum k. a[i, k]
";
    let file = source(&folder, "narrow.cachet", lines);
    let out = cachetc_in(&folder, &["build", &file, "--with", "Narrow i32", "-o", "out", "total"]);
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stdout));
    assert!(
        text(&out.stderr).contains("`total_Narrow_i32` is not built: it cannot be bound so"),
        "{}",
        text(&out.stderr)
    );
    let out = cachetc(&[&args[..], &["--with", "PlusTimes f31"]].concat());
    assert!(text(&out.stderr).contains("there is no implementation `PlusTimes f31`"), "{}", text(&out.stderr));
}

#[test]
fn names_that_would_clash_are_refused() {
    if !tools() {
        return;
    }
    let folder = scratch("build_clash");
    let body = "(out x: [f32; N]) =\n  for i in 0 .. N do\n    store x[i] = 0.0\n";
    let file = source(&folder, "clash.cachet", &format!("fn f {body}\nfn f_checked {body}"));
    let out = cachetc_in(&folder, &["build", &file, "-o", "out"]);
    assert!(text(&out.stderr).contains("would both have the symbol `clash_f_checked`"), "{}", text(&out.stderr));
    for (prefix, said) in [("1x", "cannot begin a name of C"), ("", "cannot begin"), ("cachet", "are the compiler's")] {
        let out = cachetc_in(&folder, &["build", &file, "f", "--prefix", prefix, "-o", "out"]);
        assert_ne!(out.status.code(), Some(0));
        assert!(text(&out.stderr).contains(said), "{prefix}: {}", text(&out.stderr));
    }
    // Whatever a file is called, its symbols are names.
    let file = source(&folder, "2-d conv.cachet", &format!("fn f {body}"));
    good(&cachetc_in(&folder, &["build", &file, "-o", "out"]));
    assert_eq!(names(&folder.join("out"))[0], "k_2_d_conv.h");
}
