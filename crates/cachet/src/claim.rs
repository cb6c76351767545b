//! What was proved, in words: a claim as `scheduled` prints it, and the rules behind a step's conditions.

use crate::evidence::Trusted;
use cachet_check::checked::{Claim, ClaimedLaw, LawBasis, Link, RelationKind};
use cachet_check::condition::{Kind, Proved};
use cachet_core::script::Chosen;

/// The name of the prover in claims.
pub const PROVER: &str = concat!("cachet's own prover ", env!("CARGO_PKG_VERSION"));

/// The claim's lines, with the constants that were chosen in the files it stands on, and what code for it may trust.
pub fn text(claim: &Claim, chosen: &[Chosen], trusted: &[Trusted]) -> String {
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
    for law in &claim.laws {
        out.push_str(&format!("  by {} of {}, {}\n", law.law, law.of, basis(law)));
    }
    chosen.iter().for_each(|c| out.push_str(&format!("  chosen {}\n", choice(c))));
    out.push_str(&trusts(trusted));
    let s = |n: usize| if n == 1 { "" } else { "s" };
    let (steps, conditions) = (claim.steps, claim.conditions);
    out.push_str(&format!("  checked {steps} step{}, {conditions} condition{}, {PROVER}\n", s(steps), s(conditions)));
    out
}

/// What a function that is as it was written rests on; nothing where code for it trusts nothing.
pub fn as_written(name: &str, trusted: &[Trusted]) -> String {
    if trusted.is_empty() { String::new() } else { format!("{name}: as it is written\n{}", trusts(trusted)) }
}

fn trusts(trusted: &[Trusted]) -> String {
    match trusted {
        [] => "  trusted nothing\n".into(),
        some => some.iter().map(|t| format!("  trusted {t}\n")).collect(),
    }
}

/// The same as part of a line.
pub fn trusts_briefly(trusted: &[Trusted]) -> String {
    match trusted {
        [] => "trusted nothing".into(),
        some => {
            let all: Vec<String> = some.iter().map(|t| format!("{} for {}", t.instruction, t.target)).collect();
            format!("trusted {}", all.join(" and "))
        }
    }
}

/// The claim in one line: `bits of matmul_PlusTimes_f32, by add associative exactly of MinPlus f32, trusted nothing`.
/// `bind` gives the name of what it is related to at the implementations in question.
pub fn line(claim: &Claim, trusted: &[Trusted], bind: impl Fn(&str) -> String) -> String {
    let relation = |l: &Link| match l.relation {
        RelationKind::Bits => format!("bits of {}", bind(&l.to)),
    };
    let links = claim.links.iter().map(relation);
    let laws = claim.laws.iter().map(|l| format!("by {} of {}", l.law, l.of));
    links.chain(laws).chain([trusts_briefly(trusted)]).collect::<Vec<_>>().join(", ")
}

/// `NR = 16, the least n, bound by n % 4 == 0`
pub fn choice(c: &Chosen) -> String {
    let bound = match c.bound_by.as_slice() {
        [] => String::new(),
        all => format!(", bound by {}", all.join(" and ")),
    };
    let (cost, least) = &c.cost;
    let at = if i128::from(c.value) == *least { String::new() } else { format!(", {least}") };
    format!("{} = {}, the least {cost}{at}{bound}", c.name, c.value)
}

/// Why a law may be used.
fn basis(law: &ClaimedLaw) -> String {
    match &law.basis {
        LawBasis::Proved => "proved".into(),
        LawBasis::Wanted(interface) => format!("wanted by {interface}"),
    }
}

/// The rule that asks for conditions of a kind: `WF` for the program by itself, the others for its relation to the
/// program before the step.
pub fn rule(kind: Kind) -> &'static str {
    match kind {
        Kind::Bounds
        | Kind::Initialised
        | Kind::Written
        | Kind::Apart
        | Kind::View
        | Kind::Converts
        | Kind::Overflow
        | Kind::Extent
        | Kind::Fits
        | Kind::Requirement
        | Kind::Windows
        | Kind::Window
        | Kind::Mask
        | Kind::Lanes => "WF",
        Kind::Count | Kind::Start | Kind::Branch | Kind::Words => "LOCKSTEP",
        Kind::Cell => "CELL",
        Kind::Order | Kind::Map => "REORDER",
        Kind::Law => "REGROUP",
        Kind::Split | Kind::Multiple => "SPLIT",
        Kind::Copied => "COPY",
        Kind::Carried => "CARRY",
        Kind::Narrowed => "NARROW",
        Kind::Given => "CASE",
        Kind::Assertion => "PROOF",
    }
}

/// What conditions of a kind say when they hold.
pub fn says(kind: Kind) -> &'static str {
    match kind {
        Kind::Bounds => "an access stays inside its array",
        Kind::Initialised => "what is read has been written",
        Kind::Written => "an output is written everywhere",
        Kind::Apart => "what a call lends is apart",
        Kind::View => "a part that is lent lies inside its array",
        Kind::Converts => "an index fits the type that it becomes a word of",
        Kind::Overflow => "integer arithmetic fits its type",
        Kind::Extent => "an extent is not negative",
        Kind::Fits => "an argument has the extents that are declared",
        Kind::Requirement => "a called function's requirement holds",
        Kind::Count => "paired loops run the same number of times",
        Kind::Start => "paired locals start from the same words",
        Kind::Branch => "paired choices take the same branch",
        Kind::Words => "both programs hold the same words",
        Kind::Cell => "a sum does not read its own cell",
        Kind::Order => "iterations that change places touch different cells",
        Kind::Map => "two nests have the same iterations",
        Kind::Law => "a law holds of the words themselves",
        Kind::Split => "blocks run through a range once and ascending",
        Kind::Multiple => "a length is a multiple of a block's",
        Kind::Copied => "a copy is read where it was made",
        Kind::Carried => "what a local holds are different cells of an array",
        Kind::Narrowed => "what is left out of a local is not used",
        Kind::Given => "what the recipe gives holds",
        Kind::Windows => "windows of a grid's iterations are apart",
        Kind::Window => "an iteration of a grid stays inside its window",
        Kind::Mask => "a mask counts lanes that there are",
        Kind::Lanes => "the lanes of a vector statement touch nothing of one another's",
        Kind::Assertion => "what the file asserts holds",
    }
}

/// How many conditions of each kind there are: rules in the order in which they are applied, kinds within a rule in the
/// order of the checker.
pub fn tally(conditions: &[Proved]) -> Vec<(Kind, usize)> {
    let mut out: Vec<(Kind, usize)> = Vec::new();
    for c in conditions {
        match out.iter_mut().find(|(k, _)| *k == c.kind) {
            Some((_, n)) => *n += 1,
            None => out.push((c.kind, 1)),
        }
    }
    // The program by itself first, the comparison at the end last; the moves of a recipe between them.
    let place = |k: Kind| match rule(k) {
        "WF" => 0,
        "LOCKSTEP" => 2,
        _ => 1,
    };
    out.sort_by_key(|(k, _)| (place(*k), rule(*k), *k));
    out
}
