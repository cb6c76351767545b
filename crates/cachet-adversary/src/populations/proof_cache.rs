//! A proof that is known is a proof of exactly what was proved.
//!
//! Conditions are proved, and then asked again with one input of the cache's key changed: a fact, the goal, a suggestion,
//! the number of unknowns, the order of the facts; or what an earlier run left is changed: its version, a byte of a
//! certificate, the places of two entries. The verdict must be that of a prover that knows nothing, and never "proved" for
//! what a point of the box refutes.

use crate::generate::formulas::Boxed;
use crate::mutate::formulas::{literals, shift_literal};
use crate::population::{Population, Report, Share};
use crate::random::Random;
use crate::threads;
use cachet_check::condition::{Condition, Kind};
use cachet_check::context::{Context, Shown};
use cachet_check::formula::{Formula, Hint, Problem, Term, Var};
use cachet_check::proofs::Proofs;
use cachet_check::prover::{Verdict, prove};
use cachet_source::codes;

/// A case is a change of one condition's key, or of what was kept of it.
pub const CACHE: Population = Population {
    promise: "P16",
    name: "proofs that are known already",
    never: "a change of the key or of kept bytes changes a verdict to a wrong one",
    counts: [5_000, 500_000],
    drawn: true,
    run: cache,
};

/// Changes of a condition.
const FLIPS: [&str; 9] = [
    "fact lost",
    "fact changed",
    "fact added",
    "facts in another order",
    "goal changed",
    "goal negated",
    "hint added",
    "unknown added",
    "unknowns exchanged",
];
/// Changes of what was kept.
const DAMAGES: [&str; 6] = ["version", "a bit", "a byte more", "a byte less", "entries exchanged", "one entry for all"];
/// Conditions that are known together.
const TOGETHER: usize = 6;

fn cache(share: Share) -> Report {
    let rounds = share.count.div_ceil(TOGETHER * FLIPS.len() + DAMAGES.len());
    let mut report = threads::run(rounds, |cases| {
        let mut report = Report::default();
        cases.for_each(|n| round(&mut Random::case(share.seed, n), &mut report));
        report
    });
    for what in FLIPS.iter().chain(&DAMAGES) {
        let got = report.counted(what);
        report.at_least(what, got, rounds as u64);
    }
    let (turned, wrong) = (report.counted("flips that turn the verdict"), report.counted("proved, then refuted"));
    report.at_least("flips that turn the verdict", turned, 40.max(rounds as u64 / 2));
    report.at_least("proved before the flip, refuted after it", wrong, 40.max(rounds as u64 / 4));
    let used = report.counted("kept entries used");
    report.at_least("kept entries used", used, rounds as u64);
    report
}

fn round(random: &mut Random, report: &mut Report) {
    let all: Vec<Boxed> =
        (0..TOGETHER).map(|_| if random.once_in(2) { Boxed::draw_real(random) } else { Boxed::draw(random) }).collect();
    let mut proofs = Proofs::default();
    let mut before: Vec<Verdict> = all.iter().map(|b| proofs.prove(&condition(&b.problem))).collect();
    // And again, of what is known now: the same.
    for (b, first) in all.iter().zip(&before) {
        let again = proofs.prove(&condition(&b.problem));
        if !same(first, &again) {
            report.fail(format!("{first:?}, and then {again:?}"), b.problem.canonical());
        }
    }
    for (b, verdict) in all.iter().zip(&mut before) {
        for flip in FLIPS {
            let Some(problem) = flipped(b, flip, random) else { continue };
            report.cases += 1;
            report.count(flip);
            let after = proofs.prove(&condition(&problem));
            judge(&problem, &after, flip, report);
            report.add("flips that turn the verdict", u64::from(!same(verdict, &after)));
            let lost = matches!((&*verdict, &after), (Verdict::Proved(_), Verdict::Refuted(_)));
            report.add("proved, then refuted", u64::from(lost));
        }
    }
    let Some(bytes) = proofs.to_bytes() else { return };
    let mut again = Proofs::from_bytes(bytes.clone());
    all.iter().for_each(|b| drop(again.prove(&condition(&b.problem))));
    report.add("kept entries used", u64::from(again.to_bytes().is_none()));
    for damage in DAMAGES {
        let Some(damaged) = damaged(&bytes, damage, random) else { continue };
        report.cases += 1;
        report.count(damage);
        let known = std::panic::catch_unwind(|| Proofs::from_bytes(damaged));
        let Ok(mut known) = known else {
            report.fail(format!("kept bytes with {damage} changed: a panic"), all[0].problem.canonical());
            continue;
        };
        for b in &all {
            let verdict = known.prove(&condition(&b.problem));
            judge(&b.problem, &verdict, damage, report);
        }
    }
}

/// Against a prover that knows nothing.
fn judge(problem: &Problem, verdict: &Verdict, what: &str, report: &mut Report) {
    if let Verdict::Refuted(model) = verdict
        && problem.refuted_by(model) != Some(true)
    {
        report.fail(format!("{what}: {model:?} is no counterexample"), problem.canonical());
    }
    let fresh = prove(problem);
    if !same(&fresh, verdict) {
        report.fail(format!("{what}: {verdict:?}, and alone {fresh:?}"), problem.canonical());
    }
}

fn same(a: &Verdict, b: &Verdict) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

/// As the checker has it.
fn condition(problem: &Problem) -> Condition {
    let mut cx = Context::default();
    problem.names.iter().for_each(|n| drop(cx.unknown(Shown::Plain(n.clone()))));
    problem.hypotheses.iter().for_each(|f| cx.fact(f.clone()));
    problem.hints.iter().for_each(|Hint::Trichotomy(a, b)| cx.hint(a.clone(), b.clone()));
    Condition::new(Kind::Bounds, codes::BOUNDS, &cx, problem.goal.clone(), "it holds")
}

fn flipped(boxed: &Boxed, flip: &str, random: &mut Random) -> Option<Problem> {
    let mut p = boxed.problem.clone();
    let at = random.below(p.hypotheses.len());
    let by = random.pick(&[-1, 1]);
    let changed = |f: &Formula, random: &mut Random| {
        let count = literals(f);
        (count > 0).then(|| shift_literal(f, random.below(count), by))
    };
    match flip {
        "fact lost" => drop(p.hypotheses.remove(at)),
        "fact changed" => p.hypotheses[at] = changed(&p.hypotheses[at], random)?,
        "fact added" => {
            let v = Term::Var(Var(random.below(p.names.len()) as u32));
            p.hypotheses.push(v.le(i128::from(random.between(-4, 4))));
        }
        "facts in another order" => {
            let other = random.below(p.hypotheses.len());
            p.hypotheses.swap(at, other);
        }
        "goal changed" => p.goal = changed(&p.goal, random)?,
        "goal negated" => p.goal = Formula::not(p.goal),
        "hint added" => p.hints.push(Hint::Trichotomy(Term::Var(Var(0)), Term::lit(by))),
        "unknown added" => p.names.push("more".into()),
        _ => {
            let count = p.names.len() as u32;
            let turn: Vec<Option<Term>> = (0..count).map(|n| Some(Term::Var(Var((n + 1) % count)))).collect();
            p.goal = p.goal.substitute(&turn)?;
        }
    }
    Some(p)
}

/// Where an entry starts, where its finding starts, and where it ends.
type Entry = (usize, usize, usize);

/// The entries of kept proofs: a hash, a length, and what was found. Whoever writes into the folder may know this.
fn entries(bytes: &[u8]) -> Option<(usize, Vec<Entry>)> {
    let start = bytes.iter().position(|b| *b == b'\n')? + 1;
    let (mut at, mut out) = (start, Vec::new());
    while at + 8 < bytes.len() {
        let (mut len, mut shift, mut next) = (0usize, 0, at + 8);
        loop {
            let byte = *bytes.get(next)?;
            next += 1;
            len |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                break;
            }
        }
        out.push((at, next, next + len));
        at = next + len;
    }
    Some((start, out))
}

fn damaged(bytes: &[u8], damage: &str, random: &mut Random) -> Option<Vec<u8>> {
    let (start, all) = entries(bytes)?;
    let mut out = bytes.to_vec();
    let at = start + random.below(bytes.len() - start);
    match damage {
        "version" => out[random.below(start)] ^= 1 << random.below(8),
        "a bit" => out[at] ^= 1 << random.below(8),
        "a byte more" => out.insert(at, random.next() as u8),
        "a byte less" => drop(out.remove(at)),
        _ => {
            // Every entry's hash over another entry's finding.
            let one = random.below(all.len());
            out.truncate(start);
            for n in 0..all.len() {
                let from = if damage == "one entry for all" { one } else { (n + 1) % all.len() };
                out.extend_from_slice(&bytes[all[n].0..all[n].0 + 8]);
                out.extend_from_slice(&bytes[all[from].0 + 8..all[from].2]);
            }
        }
    }
    Some(out)
}
