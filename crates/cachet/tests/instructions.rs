//! Templates against reference bodies on this processor: those of the library agree, wrong ones are each refuted.
//!
//! `cargo xtask evidence` does the same on 10^8 cases of each.

#![allow(clippy::expect_used, reason = "tests")]

use cachet::evidence::measure::{Asked, Found, instructions, measure};
use cachet::evidence::records;
use cachet_runtime::Llvm;

const LIBRARY: &str = "cachet:instructions/x86";

fn asked(from: &str, instruction: &str, cases: u64) -> Asked {
    Asked { from: from.into(), instruction: instruction.into(), cases, seed: 7 }
}

fn llvm() -> Option<Llvm> {
    match Llvm::load() {
        Ok(llvm) => Some(llvm),
        Err(e) => {
            println!("skipped: no LLVM: {}", e.message);
            None
        }
    }
}

#[test]
fn templates_of_the_library_agree_with_their_bodies() {
    let Some(llvm) = llvm() else { return };
    let (mut agree, mut skipped) = (0, 0);
    for name in instructions(LIBRARY).expect("the module is accepted") {
        match measure(&asked(LIBRARY, &name, 1_000_000), &llvm).expect("it can be measured") {
            Found::Agrees(record) => {
                assert!(
                    record.cases >= 1_000_000 && record.interpreted > 1000 && record.kinds.len() == 11,
                    "{record:?}"
                );
                agree += 1;
            }
            Found::Differs(difference) => panic!("{difference}"),
            Found::NotHere(_) => skipped += 1,
        }
    }
    println!("{agree} agree, skipped: {skipped}, whose targets this processor does not have");
    assert!(agree + skipped >= 6);
}

#[test]
fn wrong_bodies_are_refuted() {
    let Some(llvm) = llvm() else { return };
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/instructions/wrong.cachet");
    let (mut refuted, mut skipped) = (0, 0);
    for name in instructions(file).expect("the file is accepted") {
        match measure(&asked(file, &name, 2_000_000), &llvm).expect("it can be measured") {
            Found::Agrees(record) => panic!("{name} agrees in {} cases", record.cases),
            Found::Differs(difference) => {
                assert!(!difference.compiled_body, "the body itself is compiled wrongly: {difference}");
                println!("{difference}");
                refuted += 1;
            }
            Found::NotHere(_) => skipped += 1,
        }
    }
    println!("{refuted} refuted, skipped: {skipped}, whose targets this processor does not have");
    assert_eq!(refuted + skipped, 21);
}

/// Every record speaks for an instruction as it is now.
#[test]
fn records_are_up_to_date() {
    let source = "import \"cachet:instructions/x86\"\n";
    let folder = std::env::temp_dir().join(format!("cachet-records-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("records.cachet");
    std::fs::write(&file, source).expect("a file");
    let outcome = cachet::pipeline::check(&file.display().to_string(), &cachet::world::Disk::default());
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    let program = outcome.checked.program();
    let mut speaks = 0;
    for (path, record) in records() {
        let instr = program.instrs.iter().find(|i| i.name == record.instruction);
        let instr = instr.unwrap_or_else(|| panic!("{path}: there is no {}", record.instruction));
        let template = instr.templates.iter().find(|t| t.target == record.target);
        let template = template.unwrap_or_else(|| panic!("{path}: there is no template for {}", record.target));
        assert_eq!(instr.digest(program, template), record.digest, "{path} speaks for another body");
        assert!(record.cases >= 100_000_000, "{path}: {} cases", record.cases);
        speaks += 1;
    }
    let templates: usize = program.instrs.iter().map(|i| i.templates.len()).sum();
    assert_eq!((speaks, templates), (6, 6), "each template of the library has a record");
}
