//! What is a population, and what is told of one after it ran?

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Cases of one kind, and what is promised of them.
pub struct Population {
    /// The promise's number: `P3`.
    pub promise: &'static str,
    /// What the cases are, in a few words; the name by which it is asked for.
    pub name: &'static str,
    /// What must not happen in any of them.
    pub never: &'static str,
    /// How many cases: in the ordinary tests, and in the longer run. Populations that are what they are have the same twice.
    pub counts: [usize; 2],
    /// Whether the cases are drawn from a seed.
    pub drawn: bool,
    /// Runs a share of it.
    pub run: fn(Share) -> Report,
}

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// What the ordinary tests have time for.
    Ordinary,
    /// What a night has time for.
    Nightly,
}

/// A part of a population.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// How many cases.
    pub count: usize,
    /// What they are drawn from.
    pub seed: u64,
    /// For whoever has more to try of a case in a longer run.
    pub scale: Scale,
}

/// What was seen.
#[derive(Clone, Default, Debug)]
pub struct Report {
    /// Cases that ran.
    pub cases: u64,
    /// What must not happen, and did.
    pub failures: Vec<Failure>,
    /// What shows that the cases were to the point.
    pub at_least: Vec<AtLeast>,
    /// What shows that sound ones were not refused too often.
    pub at_most: Vec<AtMost>,
    /// Other counts, by name.
    pub counts: BTreeMap<String, u64>,
    /// Why nothing ran, or not all: a tool that is not there.
    pub skipped: Option<String>,
}

/// What must not happen, and did.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What happened.
    pub what: String,
    /// The case, as small as it was found to show the same: a program, a schedule, a text, a condition.
    pub case: String,
}

/// So many of them have to be so.
#[derive(Clone, Debug)]
pub struct AtLeast {
    /// What is counted.
    pub what: String,
    /// How many there were.
    pub got: u64,
    /// How many are wanted.
    pub wanted: Wanted,
}

/// How many are enough.
#[derive(Clone, Copy, Debug)]
pub enum Wanted {
    /// So many.
    Count(u64),
    /// So many in a hundred of this many.
    Percent(u64, u64),
}

/// Not more than so many in a thousand may be so.
#[derive(Clone, Debug)]
pub struct AtMost {
    /// What is counted.
    pub what: String,
    /// How many there were.
    pub got: u64,
    /// Of how many.
    pub of: u64,
    /// How many in a thousand are borne.
    pub per_mille: u64,
}

impl AtLeast {
    /// Whether there were enough.
    pub fn met(&self) -> bool {
        match self.wanted {
            Wanted::Count(n) => self.got >= n,
            Wanted::Percent(percent, of) => 100 * self.got >= percent * of,
        }
    }
}

impl AtMost {
    /// Whether there were not too many.
    pub fn met(&self) -> bool {
        1000 * self.got <= self.per_mille * self.of
    }
}

impl Report {
    /// Counts one more.
    pub fn count(&mut self, what: &str) {
        self.add(what, 1);
    }

    /// Counts some more.
    pub fn add(&mut self, what: &str, n: u64) {
        match self.counts.get_mut(what) {
            Some(count) => *count += n,
            None => drop(self.counts.insert(what.to_string(), n)),
        }
    }

    /// How often something was counted.
    pub fn counted(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    /// Something that must not happen did.
    pub fn fail(&mut self, what: impl Into<String>, case: impl Into<String>) {
        self.failures.push(Failure { what: what.into(), case: case.into() });
    }

    /// At least so many are wanted.
    pub fn at_least(&mut self, what: &str, got: u64, wanted: u64) {
        self.at_least.push(AtLeast { what: what.into(), got, wanted: Wanted::Count(wanted) });
    }

    /// At least so many in a hundred are wanted.
    pub fn at_least_percent(&mut self, what: &str, got: u64, percent: u64, of: u64) {
        self.at_least.push(AtLeast { what: what.into(), got, wanted: Wanted::Percent(percent, of) });
    }

    /// At most so many in a thousand are borne.
    pub fn at_most(&mut self, what: &str, got: u64, per_mille: u64, of: u64) {
        self.at_most.push(AtMost { what: what.into(), got, of, per_mille });
    }

    /// With another part of the same population.
    pub fn and(mut self, other: Report) -> Report {
        self.cases += other.cases;
        self.failures.extend(other.failures);
        for (what, n) in other.counts {
            self.add(&what, n);
        }
        for more in other.at_least {
            match self.at_least.iter_mut().find(|l| l.what == more.what) {
                Some(l) => {
                    l.got += more.got;
                    // A count is wanted of the whole; a proportion of both parts.
                    if let (Wanted::Percent(_, of), Wanted::Percent(_, also)) = (&mut l.wanted, more.wanted) {
                        *of += also;
                    }
                }
                None => self.at_least.push(more),
            }
        }
        for more in other.at_most {
            match self.at_most.iter_mut().find(|m| m.what == more.what) {
                Some(m) => (m.got, m.of) = (m.got + more.got, m.of + more.of),
                None => self.at_most.push(more),
            }
        }
        self.skipped = self.skipped.or(other.skipped);
        self
    }

    /// Whether it is as promised.
    pub fn clean(&self) -> bool {
        self.failures.is_empty() && self.at_least.iter().all(AtLeast::met) && self.at_most.iter().all(AtMost::met)
    }
}

/// A population that ran.
pub struct Ran {
    /// Which.
    pub population: &'static Population,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// What was seen.
    pub report: Report,
    /// How long it took.
    pub time: Duration,
}

impl Ran {
    /// Whether it is as promised. What was skipped for want of a tool is not, where `CACHET_REQUIRE` names the tool; else
    /// only what did run counts.
    pub fn passed(&self) -> bool {
        let Some(why) = &self.report.skipped else { return self.report.clean() };
        let required = std::env::var("CACHET_REQUIRE").unwrap_or_default();
        let wanted = required.split(',').any(|word| !word.trim().is_empty() && why.contains(word.trim()));
        !wanted && self.report.failures.is_empty()
    }
}

/// The seed that is the same in every run.
pub const FIXED: u64 = 0x00CA_C4E7;

impl Population {
    /// Runs it: all of it from the fixed seed, and a tenth again from another. A part of a drawn one has its share of the
    /// cases, from a seed of its own; parts of one that is not drawn would all be the same, and the first has it all.
    pub fn try_out(&'static self, scale: Scale, fresh: u64, part: Part) -> Ran {
        let start = Instant::now();
        let part = if self.drawn { part } else { Part::WHOLE };
        let count = self.counts[usize::from(scale == Scale::Nightly)].div_ceil(part.of);
        let fixed = part.seed();
        let mut seeds = vec![fixed];
        let mut report = (self.run)(Share { count, seed: fixed, scale });
        if self.drawn && report.skipped.is_none() {
            seeds.push(fresh);
            let count = count.div_ceil(10);
            report = report.and((self.run)(Share { count, seed: fresh, scale }));
        }
        Ran { population: self, seeds, report, time: start.elapsed() }
    }
}

/// One of so many parts of a population, for nights that are too short for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    number: usize,
    of: usize,
}

impl Part {
    /// All of it.
    pub const WHOLE: Part = Part { number: 1, of: 1 };

    /// The first part draws from the fixed seed, the others from those that follow it.
    fn seed(self) -> u64 {
        FIXED + self.number as u64 - 1
    }
}

impl FromStr for Part {
    type Err = String;

    /// `2/5` is the second of five.
    fn from_str(text: &str) -> Result<Part, String> {
        let numbers = text.split_once('/').and_then(|(n, of)| Some((n.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Part { number, of }),
            _ => Err(format!("`{text}` is no part: the second of five is `2/5`")),
        }
    }
}

/// A seed that is another in every run; `CACHET_SEED` repeats one.
pub fn fresh_seed() -> u64 {
    let said = std::env::var("CACHET_SEED").ok().and_then(|s| s.parse().ok());
    said.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        now.as_nanos() as u64 >> 10
    })
}
