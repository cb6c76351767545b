//! Instructions on other processors: `main` of a file prints there what the interpreter says. Outer products by the matrix
//! unit of AArch64, emulated; and every file of instructions on AArch64 without one, and with AVX2 alone.

#![allow(clippy::expect_used, reason = "tests")]

use cachet::artefacts::target::{Wanted, resolve};
use cachet::native::compile_main_for;
use cachet::pipeline::check;
use cachet::world::Disk;
use cachet_core::interpret;
use cachet_runtime::Llvm;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whole blocks, and ones whose last rows and lanes are left over.
const FILES: [&str; 2] = ["outer_products", "outer_ragged"];

/// A program that is there and works.
fn works(program: &str, argument: &str) -> bool {
    Command::new(program).arg(argument).output().is_ok_and(|o| o.status.success())
}

#[test]
fn outer_products_have_the_same_bits_in_the_matrix_unit() {
    for (program, argument) in [("qemu-aarch64", "--version"), ("aarch64-linux-gnu-gcc", "--version")] {
        if !works(program, argument) {
            println!("skipped: 2 files at 3 vector lengths, no {program}");
            return;
        }
    }
    let llvm = match Llvm::load() {
        Ok(llvm) => llvm,
        Err(e) => return println!("skipped: 2 files at 3 vector lengths, no LLVM: {}", e.message),
    };
    FILES.iter().for_each(|file| in_the_matrix_unit(&llvm, file));
    println!("2 files at 3 vector lengths");
}

fn in_the_matrix_unit(llvm: &Llvm, file: &str) {
    let path = format!("{}/../../tests/suite/instructions/{file}.cachet", env!("CARGO_MANIFEST_DIR"));
    let outcome = check(&path, &Disk::default());
    assert!(!outcome.refused(), "{file}: {:?}", outcome.diagnostics);
    let mut said = String::new();
    let main = outcome.module.main.expect("a main");
    interpret::run_main(outcome.checked.program(), main, &mut said).expect("the interpreter runs it");
    let wanted = Wanted {
        triple: Some("aarch64-unknown-linux-gnu".into()),
        cpu: None,
        features: Some("+sme,+sme-f64f64".into()),
    };
    let target = resolve(llvm, &wanted).expect("a target");
    let (text, module) = compile_main_for(&outcome, llvm, &target).expect("code");
    for routine in ["call i64 @cachet_outer_f32(", "call i64 @cachet_outer_f64("] {
        assert!(text.contains(routine), "{file}: the matrix unit is not used: {routine}");
    }
    let folder = std::env::temp_dir().join(format!("cachet-sme-{file}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = linked(&folder, &module.emit_object().expect("an object"));
    // With vectors of 128 bits a block of 8 or 16 is too long for the unit, and the body is run.
    for bits in [128, 512, 1024] {
        let out = Command::new("qemu-aarch64")
            .args(["-cpu", &format!("max,sme{bits}=on"), "-L", "/usr/aarch64-linux-gnu"])
            .arg(&program)
            .output()
            .expect("the emulator runs");
        assert!(out.status.success(), "{file}, {bits}: {out:?}");
        assert_eq!(String::from_utf8_lossy(&out.stdout), said, "{file}, {bits} bits");
    }
    std::fs::remove_dir_all(&folder).expect("the folder goes");
}

/// One source, the same bits: by templates where the processor has them, by bodies elsewhere.
#[test]
fn instructions_have_the_same_bits_on_other_processors() {
    let llvm = match Llvm::load() {
        Ok(llvm) => llvm,
        Err(e) => return println!("skipped: all processors, no LLVM: {}", e.message),
    };
    let folder = std::env::temp_dir().join(format!("cachet-processors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let here = llvm.host().expect("a host");
    let (mut ran, mut skipped) = (0, 0);
    for (triple, cpu, compiler, emulator) in [
        ("aarch64-unknown-linux-gnu", "neoverse-n1", "aarch64-linux-gnu-gcc", Some("qemu-aarch64")),
        ("x86_64-unknown-linux-gnu", "x86-64-v3", "cc", None),
    ] {
        let runs_here = emulator.is_some() || (here.triple.starts_with("x86_64") && here.has("avx2"));
        let there = works(compiler, "--version") && emulator.is_none_or(|e| works(e, "--version"));
        if !(runs_here && there) {
            skipped += 1;
            continue;
        }
        let wanted = Wanted { triple: Some(triple.into()), cpu: Some(cpu.into()), features: None };
        let target = resolve(&llvm, &wanted).expect("a target");
        let suite = ["by_hand", "x86", "neon", "dot_products"].map(|file| format!("suite/instructions/{file}"));
        for file in suite.iter().map(String::as_str).chain(["short_types"]) {
            let folder_of = if file == "short_types" { "examples" } else { "tests" };
            let path = format!("{}/../../{folder_of}/{file}.cachet", env!("CARGO_MANIFEST_DIR"));
            let outcome = check(&path, &Disk::default());
            let main = outcome.module.main.expect("a main");
            let mut said = String::new();
            interpret::run_main(outcome.checked.program(), main, &mut said).expect("the interpreter runs it");
            let (_, module) = compile_main_for(&outcome, &llvm, &target).expect("code");
            let program = linked_by(compiler, &folder, &module.emit_object().expect("an object"));
            let out = match emulator {
                Some(e) => Command::new(e).arg(&program).output(),
                None => Command::new(&program).output(),
            };
            let out = out.expect("it starts");
            assert!(out.status.success(), "{file} on {cpu}: {out:?}");
            assert_eq!(String::from_utf8_lossy(&out.stdout), said, "{file} on {cpu}");
            ran += 1;
        }
    }
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    println!("{ran} programs, skipped: {skipped} processors");
}

fn linked(folder: &Path, object: &[u8]) -> PathBuf {
    linked_by("aarch64-linux-gnu-gcc", folder, object)
}

fn linked_by(compiler: &str, folder: &Path, object: &[u8]) -> PathBuf {
    let (object_file, program) = (folder.join("main.o"), folder.join("main"));
    std::fs::write(&object_file, object).expect("a file");
    let linked = Command::new(compiler)
        .args(["-static", "-o"])
        .args([&program, &object_file])
        .output()
        .expect("the linker runs");
    assert!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr));
    program
}
