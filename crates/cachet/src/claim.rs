//! A claim as `scheduled` prints it.

use cachet_check::checked::{Claim, RelationKind};
use cachet_core::ir::Fun;
use cachet_core::ir::Program;
use cachet_core::print::Names;

/// The name of the prover in claims.
pub const PROVER: &str = concat!("cachet's own prover ", env!("CARGO_PKG_VERSION"));

/// The claim's lines.
pub fn text(program: &Program, fun: &Fun, claim: &Claim) -> String {
    let mut out = String::new();
    for link in &claim.links {
        let relation = match link.relation {
            RelationKind::Bits => "bits",
        };
        out.push_str(&format!("{}: {relation} of {}\n", claim.name, link.to));
    }
    out.push_str(&format!("  arithmetic {}\n", claim.arithmetic));
    let names = Names::of(program, fun);
    if !fun.requires.is_empty() {
        let all: Vec<String> = fun.requires.iter().map(|g| names.guard(g)).collect();
        out.push_str(&format!("  requires {}\n", all.join(", ")));
    }
    out.push_str("  trusted nothing\n");
    let s = |n: usize| if n == 1 { "" } else { "s" };
    let (steps, conditions) = (claim.steps, claim.conditions);
    out.push_str(&format!("  checked {steps} step{}, {conditions} condition{}, {PROVER}\n", s(steps), s(conditions)));
    out
}
