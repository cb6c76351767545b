//! A claim as `scheduled` prints it.

use cachet_check::checked::{Claim, RelationKind};

/// The name of the prover in claims.
pub const PROVER: &str = concat!("cachet's own prover ", env!("CARGO_PKG_VERSION"));

/// The claim's lines.
pub fn text(claim: &Claim) -> String {
    let mut out = String::new();
    for link in &claim.links {
        let relation = match link.relation {
            RelationKind::Bits => "bits",
        };
        out.push_str(&format!("{}: {relation} of {}\n", claim.name, link.to));
    }
    out.push_str(&format!("  arithmetic {}\n", claim.arithmetic));
    if !claim.requires.is_empty() {
        out.push_str(&format!("  requires {}\n", claim.requires.join(", ")));
    }
    out.push_str("  trusted nothing\n");
    let s = |n: usize| if n == 1 { "" } else { "s" };
    let (steps, conditions) = (claim.steps, claim.conditions);
    out.push_str(&format!("  checked {steps} step{}, {conditions} condition{}, {PROVER}\n", s(steps), s(conditions)));
    out
}
