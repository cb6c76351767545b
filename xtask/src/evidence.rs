//! `cargo xtask evidence NAME`: the template of an instruction against its reference body, on this processor.
//!
//! Where they agree, the record is written; where they do not, an input is printed. A processor that has none of the
//! targets measures nothing, and says so.

use cachet::evidence::measure::{Asked, Found, instructions, measure};
use cachet::native::Problem;
use cachet_runtime::Llvm;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// What is measured, and on how much.
#[derive(Args)]
pub struct Arguments {
    /// Names of instructions; all of the module if none is given.
    names: Vec<String>,
    /// The module of the library, or the file, that declares them.
    #[arg(long, default_value = "cachet:instructions/x86")]
    from: String,
    /// At least so many lanes of results for each.
    #[arg(long, default_value_t = 100_000_000)]
    cases: u64,
    /// What the inputs are drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder for the records.
    #[arg(long, default_value = "platforms/evidence")]
    into: PathBuf,
}

/// Measures, one after the other; fails where a template and a body differ.
pub fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    let llvm = Llvm::load().map_err(|e| e.message)?;
    let from = &arguments.from;
    let names = match arguments.names.as_slice() {
        [] => instructions(from).map_err(said)?,
        names => names.to_vec(),
    };
    let (mut agree, mut differ, mut skipped) = (0, 0, 0);
    for name in names {
        let asked =
            Asked { from: from.clone(), instruction: name.clone(), cases: arguments.cases, seed: arguments.seed };
        match measure(&asked, &llvm).map_err(said)? {
            Found::Agrees(record) => {
                agree += 1;
                let file = arguments.into.join(format!("{name}.{}.json", record.target));
                let text = serde_json::to_string_pretty(&record).map_err(|e| e.to_string())?;
                std::fs::create_dir_all(&arguments.into).map_err(|e| e.to_string())?;
                std::fs::write(&file, text + "\n").map_err(|e| format!("{}: {e}", file.display()))?;
                let (cases, on) = (record.cases, &record.processor);
                println!("{name} for {}: {cases} cases agree on {on}; {}", record.target, file.display());
            }
            Found::Differs(difference) => {
                differ += 1;
                println!("{difference}");
            }
            Found::NotHere(targets) => {
                skipped += 1;
                println!("{name}: skipped, this processor has none of its targets: {}", targets.join(", "));
            }
        }
    }
    println!("{agree} agree, {differ} differ, {skipped} skipped");
    Ok(ExitCode::from(u8::from(differ > 0)))
}

fn said(problem: Problem) -> String {
    match problem {
        Problem::Refused(d) => d.message,
        Problem::Tool(e) => e.message,
        Problem::User(text) => text,
    }
}
