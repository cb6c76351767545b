//! What tells a user more where a condition of a relation fails?
//!
//! Nothing here is part of a condition: notes say what a recipe's maps are, helps what may have been meant.

use super::Relation;
use cachet_core::ir::{BlockPart, Domain, Ix, Var};
use cachet_core::pattern::Side;

/// Loops, and an index for each.
type Mapped<'a> = (&'a [(Var, Domain)], &'a [(Var, Ix)]);

impl Relation<'_> {
    /// What would help where the last condition fails.
    pub(super) fn helped(&mut self, helps: Vec<String>) {
        if let Some(c) = self.conditions.last_mut() {
            c.helps.extend(helps);
        }
    }

    /// Where a map takes the iterations of one side, and which there are on the other.
    pub(super) fn taken(
        &self,
        (word, side): (&str, Side),
        from: &[(Var, Domain)],
        other: Side,
        (loops, map): Mapped<'_>,
    ) -> String {
        let names = self.names();
        let from: Vec<&str> = from.iter().map(|(v, _)| names.var(*v)).collect();
        let to: Vec<String> = map.iter().map(|(v, ix)| format!("{} = {}", names.var(*v), names.ix(ix))).collect();
        let over: Vec<String> =
            loops.iter().map(|(v, d)| format!("{} over {}", names.var(*v), names.domain(d))).collect();
        let from = if let [one] = from.as_slice() { one.to_string() } else { format!("({})", from.join(", ")) };
        let (to, over) = (to.join(", "), over.join(", "));
        format!("`{word}` takes {from} of {side} to {to}, and {other} runs {over}")
    }

    /// A last block that is shorter than the others is no multiple of anything: `g.len / n` parts of it leave out a rest.
    pub(super) fn rounding<'d>(&self, domains: impl IntoIterator<Item = &'d Domain>) -> Vec<String> {
        let mut helps = Vec::new();
        for domain in domains {
            let (Domain::Range { hi, .. } | Domain::Blocks { hi, .. }) = domain;
            let Some((g, n)) = rounded(hi) else { continue };
            let (g, more) = (self.names().var(g), n - 1);
            let (part, all) = (format!("{g}.len / {n}"), format!("({g}.len + {more}) / {n}"));
            helps.push(format!("`{part}` leaves out what a shorter last block has left over, `{all}` counts it"));
        }
        helps
    }
}

/// Of so many times `g.len / n`, the block and the divisor.
fn rounded(mut hi: &Ix) -> Option<(Var, i64)> {
    while let Ix::Mul(_, factor) = hi {
        hi = factor;
    }
    match hi {
        Ix::Div(of, n) => match **of {
            Ix::Block(g, BlockPart::Len) => Some((g, *n)),
            _ => None,
        },
        _ => None,
    }
}
