//! What a function trusts besides what was proved, and the records that speak for it.
//!
//! Where code generation puts the template of an instruction in place of its reference body, nothing proves that both give
//! the same bits. A record says on how many inputs, of which kinds, on which processor they did, and carries a digest of
//! body and template, so that it speaks for no other. Records of the library's instructions are carried in the executable;
//! `cargo xtask evidence` makes them, by [`measure`].

pub mod measure;
mod operands;

use cachet_core::instr;
use cachet_core::ir::{FunId, Program};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A record of the library's.
macro_rules! record {
    ($name:literal) => {
        (concat!("platforms/evidence/", $name), include_str!(concat!("../../../platforms/evidence/", $name)))
    };
}

/// The records of the library's instructions: the file and its text.
const RECORDS: &[(&str, &str)] = &[
    record!("dot_bf16x2.avx512bf16.json"),
    record!("dot_u8i8x4.avx512vnni.json"),
    record!("fma_f32x16.avx512f.json"),
    record!("fma_f32x8.fma.json"),
    record!("fma_f64x4.fma.json"),
    record!("fma_f64x8.avx512f.json"),
];

/// What was seen of one template.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The instruction.
    pub instruction: String,
    /// The target whose template was measured.
    pub target: String,
    /// Of its body and that template.
    pub digest: String,
    /// LLVM's name of the processor on which it was measured.
    pub processor: String,
    /// The version of LLVM that made the code.
    pub llvm: String,
    /// What the inputs were drawn from.
    pub seed: u64,
    /// How many lanes of results were compared with the body as machine code.
    pub cases: u64,
    /// How many of them the interpreter computed too.
    pub interpreted: u64,
    /// How many of each kind.
    pub kinds: BTreeMap<String, u64>,
}

/// A template that code for a function may rest on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trusted {
    /// The instruction.
    pub instruction: String,
    /// The target.
    pub target: String,
    /// The record that speaks for it, with its file.
    pub evidence: Option<(String, Record)>,
}

impl std::fmt::Display for Trusted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} by its template for {}, ", self.instruction, self.target)?;
        match &self.evidence {
            Some((file, r)) => write!(f, "evidence {file}: {} cases on {}", r.cases, r.processor),
            None => f.write_str("no evidence"),
        }
    }
}

/// The templates that code for a function may rest on, whatever it is made for.
pub fn trusted(program: &Program, fun: FunId) -> Vec<Trusted> {
    let instrs = instr::uses(program, fun).into_iter().filter_map(|id| program.instrs.get(id.index()));
    let of = |i: &instr::Instr| -> Vec<Trusted> {
        let one = |t: &instr::Template| Trusted {
            instruction: i.name.clone(),
            target: t.target.clone(),
            evidence: record_of(&i.digest(program, t)),
        };
        i.templates.iter().map(one).collect()
    };
    instrs.flat_map(of).collect()
}

/// The record with a digest.
fn record_of(digest: &str) -> Option<(String, Record)> {
    records().find(|(_, r)| r.digest == digest)
}

/// All records that the executable carries.
pub fn records() -> impl Iterator<Item = (String, Record)> {
    RECORDS.iter().filter_map(|(file, text)| Some((file.to_string(), serde_json::from_str(text).ok()?)))
}
