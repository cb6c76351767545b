//! Does the thread sanitizer see a grid's iterations meet?
//!
//! Programs of the suite are compiled so that every access to memory is told to it, and linked with a pool in C that runs each
//! grid on threads of its own: they print what they always print, and there is no report. A grid whose iterations meet, which
//! the checker refuses, is reported.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

use cachet::native::main_text;
use cachet::pipeline::check;
use cachet::world::{Disk, World};
use cachet_core::ir::FunId;
use cachet_runtime::{Llvm, OptLevel, write_file};
use cachet_source::Sources;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What the sanitizer's library ends a program with where it has something to report.
const REPORTED: i32 = 66;

/// Compilers and a folder for what they make.
struct Tools {
    llvm: Llvm,
    folder: PathBuf,
}

impl Drop for Tools {
    fn drop(&mut self) {
        // What is left in the system's folder for such things does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Tools {
    /// None where there is no LLVM, or no C compiler that links the sanitizer's library.
    fn find(name: &str) -> Option<Tools> {
        let llvm = Llvm::load().inspect_err(|e| skip("llvm", &e.message)).ok()?;
        let folder = std::env::temp_dir().join(format!("cachet-races-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let tools = Tools { llvm, folder };
        write_file(&tools.folder.join("empty.c"), b"int main(void) { return 0; }\n").unwrap();
        let linked = tools.cc(&["empty.c", "-o", "empty"]);
        let runs = linked.and_then(|o| match o.status.success() {
            true => tools.run("empty"),
            false => Ok(o),
        });
        match runs {
            Ok(o) if o.status.success() => Some(tools),
            Ok(o) => {
                skip("tsan", &String::from_utf8_lossy(&o.stderr));
                None
            }
            Err(e) => {
                skip("tsan", &e.to_string());
                None
            }
        }
    }

    fn cc(&self, arguments: &[&str]) -> std::io::Result<Output> {
        let mut cc = Command::new("cc");
        cc.args(["-fsanitize=thread", "-O1", "-pthread"]).args(arguments).current_dir(&self.folder).output()
    }

    fn run(&self, name: &str) -> std::io::Result<Output> {
        let mut program = Command::new(self.folder.join(name));
        program.env("TSAN_OPTIONS", format!("exitcode={REPORTED}")).output()
    }

    /// Runs a program's text on the pool in C.
    fn watched(&self, name: &str, ir: &str) -> Output {
        let ir =
            ir.replace("attributes #0 = { ", "attributes #0 = { sanitize_thread ").replace("@main()", "@own_main()");
        assert!(ir.contains("sanitize_thread"));
        let target = self.llvm.host().unwrap().target();
        let module =
            self.llvm.compile(&ir, &target, OptLevel::ThreadSanitizer).unwrap_or_else(|e| panic!("{name}: {e}"));
        let object = format!("{name}.o");
        write_file(&self.folder.join(&object), &module.emit_object().unwrap()).unwrap();
        let pool = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/races/pool.c");
        let linked = self.cc(&[pool, &object, "-lm", "-o", name]).unwrap();
        assert!(linked.status.success(), "{name}: {}", String::from_utf8_lossy(&linked.stderr));
        self.run(name).unwrap()
    }
}

/// Says what is skipped, unless it is required.
fn skip(word: &str, why: &str) {
    let required = std::env::var("CACHET_REQUIRE").is_ok_and(|words| words.split(',').any(|w| w.trim() == word));
    assert!(!required, "{word} is required: {why}");
    eprintln!("skipped: no {word}: {}", why.trim());
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Programs that speak of grids.
fn programs() -> Vec<PathBuf> {
    let mut open = vec![root().join("tests/suite")];
    let mut out = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|f| f.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "cachet") {
            let text = std::fs::read_to_string(&path).unwrap();
            let speaks = text.contains("grid ") || text.contains("parallel ");
            if speaks && text.contains("\nfn main ()") {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

#[test]
fn the_thread_sanitizer_has_nothing_to_report_of_accepted_grids() {
    let Some(tools) = Tools::find("accepted") else { return };
    let host = tools.llvm.host().unwrap();
    let mut ran = 0;
    for (n, file) in programs().iter().enumerate() {
        let outcome = check(file.to_str().unwrap(), &Disk::default());
        let text = main_text(&outcome, &host).unwrap_or_else(|e| panic!("{}: {e:?}", file.display()));
        if !text.ir.contains(".grid0(") {
            continue;
        }
        let output = tools.watched(&format!("program{n}"), &text.ir);
        let said = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let expected = std::fs::read_to_string(file.with_extension("out")).unwrap();
        assert_eq!((output.status.code(), &*said.0, &*said.1), (Some(0), &*expected, ""), "{}", file.display());
        ran += 1;
    }
    assert!(ran >= 30, "only {ran} programs have grids");
}

#[test]
fn the_thread_sanitizer_reports_a_grid_whose_iterations_meet() {
    let Some(tools) = Tools::find("refused") else { return };
    let text = "fn main () =
  alloc x: [i64; 100]
  for i in 0 .. 100 do store x[i] = 0
  grid i in 1 .. 100 do
    store x[i] = wrapping_add (load x[i - 1]) 1
  print (load x[0])
";
    let file = tools.folder.join("meet.cachet");
    write_file(&file, text.as_bytes()).unwrap();
    let name = file.to_str().unwrap();
    assert!(check(name, &Disk::default()).refused(), "the checker refuses it");
    let (module, _) = cachet_frontend::load(name, Disk::default().files(), &mut Sources::new());
    let module = module.unwrap();
    let options = cachet_codegen::Options { cpu: String::new(), features: String::new(), vector_bits: 0 };
    let main = FunId(module.program.funs.iter().position(|f| f.name == "main").unwrap() as u32);
    let text = cachet_codegen::emit_main(&module.program, main, &options).unwrap();
    let output = tools.watched("meet", &text.ir);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(REPORTED), "{said}");
    assert!(said.contains("data race") && said.contains("grid0"), "{said}");
}
