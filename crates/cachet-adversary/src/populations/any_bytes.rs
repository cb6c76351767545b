//! The fuzz targets without a fuzzer: their seeds, mutated as texts and as bytes.

use crate::fuzzing::{TARGETS, Target};
use crate::minimise::minimise;
use crate::population::{Population, Report, Share};
use crate::random::Random;
use crate::whole::{Reached, alone};

/// Each target on mutants of its seeds.
pub const ON_TARGETS: Population = Population {
    promise: "P12",
    name: "any bytes, for each fuzz target",
    never: "what a target says of any bytes does not hold",
    counts: [3_000, 400_000],
    drawn: true,
    run: on_targets,
};

fn on_targets(share: Share) -> Report {
    let mut report = Report::default();
    for (t, target) in TARGETS.iter().enumerate() {
        let seeds = (target.seeds)();
        let mut failed = false;
        for n in 0..share.count {
            report.cases += 1;
            let mut random = Random::case(share.seed ^ t as u64, n);
            let bytes = mutant(&mut random, &seeds);
            match tried(target, &bytes) {
                Ok(to_the_point) => report.add(&format!("{} to the point", target.name), u64::from(to_the_point)),
                Err(what) if !failed => {
                    failed = true;
                    let small = minimise(bytes, |b| shorter(b), |b| tried(target, b).is_err());
                    report.fail(format!("{}: {what}", target.name), format!("{:?}", small.escape_ascii().to_string()));
                }
                Err(_) => report.count("more failures"),
            }
        }
        let what = format!("{} to the point", target.name);
        let got = report.counted(&what);
        report.at_least_percent(&what, got, 5, share.count as u64);
    }
    report
}

fn tried(target: &Target, bytes: &[u8]) -> Result<bool, String> {
    let mut point = false;
    let seen = alone(target.name, || {
        point = (target.run)(bytes);
        Ok(Reached::Nothing)
    });
    seen.reached.map(|_| point)
}

/// A seed with up to three changes: bits, bytes, runs of bytes, numbers, pieces of another seed.
fn mutant(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = random.pick(seeds);
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len() + 1);
        let to = (at + 1 + random.below(30)).min(bytes.len());
        match random.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = random.next() as u8,
            2 => drop(bytes.drain(at.min(to)..to)),
            3 => {
                let other = random.pick(seeds);
                let from = random.below(other.len() + 1);
                let piece: Vec<u8> = other.into_iter().skip(from).take(40).collect();
                drop(bytes.splice(at..at, piece));
            }
            _ => another_number(random, &mut bytes),
        }
    }
    bytes
}

/// Another number where there is one written in digits, from the same text or any.
fn another_number(random: &mut Random, bytes: &mut Vec<u8>) {
    let digit = |n: usize| bytes.get(n).is_some_and(u8::is_ascii_digit);
    let starts: Vec<usize> = (0..bytes.len()).filter(|n| digit(*n) && (*n == 0 || !digit(n - 1))).collect();
    if starts.is_empty() {
        return;
    }
    let run = |at: usize| bytes[at..].iter().take_while(|b| b.is_ascii_digit()).copied().collect::<Vec<u8>>();
    let at = random.pick(&starts);
    let old = run(at).len();
    let new = match random.below(3) {
        0 => run(random.pick(&starts)),
        1 => random.below(6).to_string().into_bytes(),
        _ => random.next().to_string().into_bytes(),
    };
    drop(bytes.splice(at..at + old, new));
}

fn shorter(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut run = bytes.len() / 2;
    while run > 0 {
        out.extend(
            (0..bytes.len()).step_by(run).map(|at| [&bytes[..at], &bytes[(at + run).min(bytes.len())..]].concat()),
        );
        run /= 2;
    }
    out
}
