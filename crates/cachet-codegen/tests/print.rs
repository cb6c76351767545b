//! What programs print, natively: the same text as the definition, character for character.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_codegen::emit_main;
use cachet_core::ir::{Elem, FunId, Prim, Program, Role, StmtKind, Word};
use cachet_core::print::print_float;
use cachet_runtime::{OptLevel, link_executable, write_file};
use common::{Build, Random, bits, each, elem, lit, load, op, program, stmt, store, to, v};
use std::process::Command;

/// Set for the process that runs the program and prints.
const CHILD: &str = "CACHET_PRINT_CHILD";
const BEGIN: &str = "-123454321\n";
const END: &str = "987656789";

/// Doubles of every kind: special ones, all powers of ten and of two, short decimals, random bits.
fn doubles() -> Vec<f64> {
    let mut all = vec![
        0.0,
        -0.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        -5e-324,
        0.1 + 0.2,
        1e15,
        1e16,
        9999999999999998.0,
        0.0001,
        0.00009999999999999999,
        123456789012345680.0,
        1.751874327659607,
    ];
    all.extend((-320..309).map(|e| format!("1e{e}").parse::<f64>().unwrap()));
    all.extend((-1074..1024).map(|e| 2f64.powi(e)));
    let mut random = Random(11);
    while all.len() < 6000 {
        let r = random.next();
        all.push(match r & 7 {
            0 => f64::from_bits(random.next()),
            1 => f64::from(random.float(false) as f32),
            2 => (random.next() % 100_000) as f64 / 10f64.powi((r >> 8 & 15) as i32),
            3 => -((random.next() >> (r >> 8 & 63)) as f64),
            // Subnormals, of every size.
            4 => f64::from_bits(random.next() >> (12 + (r >> 8) % 52)),
            // Whole numbers where the exponent begins, and beyond 2^53 those that are far from a short decimal.
            5 => (10u64.pow(15 + (r >> 8) as u32 % 3) as i64 + (r >> 16 & 0x3FF) as i64 - 512) as f64,
            6 => (1_000_000_000_000_000 + random.next() % 99_000_000_000_000_000) as f64,
            // Neighbours of powers of two.
            _ => {
                f64::from_bits((((r >> 8) % 0x7FF) << 52).wrapping_add((r >> 32) % 5).wrapping_sub(2) & (u64::MAX >> 1))
            }
        });
    }
    all
}

/// Single words to print, and the lines they are.
fn lines() -> Vec<(Word, String)> {
    let mut out: Vec<(Word, String)> = Vec::new();
    for word in [0x3FE0_3D6Bu32, 0x3F80_0001, 1, 0x7F7F_FFFF, 0x8000_0000, 0x7FC0_0000] {
        out.push((bits(Elem::F32, word.into()), print_float(f32::from_bits(word).into())));
    }
    out.push((bits(Elem::F16, 0x3C01), print_float(1.0 + 1.0 / 1024.0)));
    out.push((bits(Elem::BF16, 0xBF81), print_float(-(1.0 + 1.0 / 128.0))));
    let ints = [
        (Elem::I64, 1u64 << 63, i64::MIN.to_string()),
        (Elem::U64, u64::MAX, u64::MAX.to_string()),
        (Elem::I32, 0xFFFF_FFFF, "-1".into()),
        (Elem::U32, 0xFFFF_FFFF, u32::MAX.to_string()),
        (Elem::I16, 0x8000, "-32768".into()),
        (Elem::U16, 0x8000, "32768".into()),
        (Elem::I8, 0x80, "-128".into()),
        (Elem::U8, 0xFF, "255".into()),
        (Elem::Bool, 1, "true".into()),
        (Elem::Bool, 0, "false".into()),
    ];
    out.extend(ints.into_iter().map(|(e, w, text)| (bits(e, w), text)));
    out
}

/// Prints the single words, a sum, and all the doubles; these are in an array that a loop prints.
fn printing() -> Program {
    let print = |w: Word| stmt(StmtKind::Print(w));
    let begin = print(bits(Elem::I64, -123_454_321i64 as u64));
    // Through an operation, so that not all of it is known to the compiler's front.
    let sum = op(Prim::Add, vec![bits(Elem::I32, 20), bits(Elem::I32, 22)]);
    let mut b = Build::new("main");
    let all = doubles();
    let x = b.buffer("x", elem(Elem::F64), vec![lit(all.len() as i64)], Role::Alloc);
    let i = b.index("i");
    let mut body: Vec<_> = std::iter::once(begin).chain(lines().into_iter().map(|(w, _)| print(w))).collect();
    body.push(print(sum));
    body.push(stmt(StmtKind::Alloc(x)));
    let cells = all.iter().enumerate();
    body.extend(cells.map(|(n, d)| store(x, &[lit(n as i64)], bits(Elem::F64, d.to_bits()))));
    body.push(each(i, to(lit(all.len() as i64)), vec![print(load(x, &[v(i)]))]));
    body.push(print(bits(Elem::I32, 987_656_789)));
    program(vec![b.done(body)])
}

fn check(printed: &[u8]) {
    let printed = String::from_utf8_lossy(printed);
    let (_, after) = printed.split_once(BEGIN).expect("the first line");
    let mut got = after.lines();
    for (_, line) in lines() {
        assert_eq!(got.next(), Some(line.as_str()));
    }
    assert_eq!(got.next(), Some("42"));
    for d in doubles() {
        // What is printed is the number, whoever defines the digits; and it is what the definition says, where that is
        // the number too.
        let line = got.next().unwrap();
        assert!(reads_back(line, d), "{d:e} is printed as {line}");
        let defined = print_float(d);
        assert!(line == defined || !reads_back(&defined, d), "{d:e} is printed as {line} and not as {defined}");
    }
    assert_eq!(got.next(), Some(END));
}

fn reads_back(line: &str, d: f64) -> bool {
    line.parse().is_ok_and(|x: f64| x.to_bits() == d.to_bits() || x.is_nan() && d.is_nan())
}

/// The JIT prints to this process's standard output, so a process of its own runs it.
#[test]
fn the_jit_prints_what_the_definition_says() {
    let Some(llvm) = common::llvm() else { return };
    if std::env::var_os(CHILD).is_some() {
        let text = emit_main(&printing(), FunId(0), &common::options(&llvm)).unwrap();
        assert_eq!(llvm.compile_and_load(&text.ir).unwrap().run_main("main").unwrap(), 0);
        return;
    }
    let this = std::env::current_exe().unwrap();
    let name = "the_jit_prints_what_the_definition_says";
    let output = Command::new(this).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    check(&output.stdout);
}

#[test]
fn an_executable_prints_what_the_definition_says() {
    let (Some(llvm), Some(())) = (common::llvm(), common::linker()) else { return };
    let text = emit_main(&printing(), FunId(0), &common::options(&llvm)).unwrap();
    let folder = std::env::temp_dir().join(format!("cachet-codegen-print-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (opt, name) in [(OptLevel::O0, "plain"), (OptLevel::O3, "fast")] {
        let object = llvm.compile(&text.ir, &llvm.host().unwrap().target(), opt).unwrap().emit_object().unwrap();
        let (file, program) = (folder.join(format!("{name}.o")), folder.join(name));
        write_file(&file, &object).unwrap();
        link_executable(&[&file], &program).unwrap();
        let output = Command::new(&program).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        check(&output.stdout);
    }
    std::fs::remove_dir_all(folder).unwrap();
}
