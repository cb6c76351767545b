//! How does a finished search become a certificate? Each closed case yields a list of entries, in which facts are
//! still called by their numbers in the search; cases are joined under the split that opened them, and at the end
//! [`Proof::certificate`] renumbers everything the way the checker counts.

use super::record::{Id, Origin, Record, Shape};
use crate::certificate::{Certificate, Line, Linear};

/// A refutation of the facts of one node of the search.
#[derive(Clone)]
pub(super) struct Proof {
    entries: Vec<Entry>,
    /// The assumptions it needs, ascending.
    used: Vec<Id>,
}

#[derive(Clone)]
enum Entry {
    Combine {
        id: Id,
        parts: Vec<(Id, i128)>,
        divisor: i128,
    },
    Equate {
        id: Id,
        parts: Vec<(Id, i128)>,
        divisor: i128,
    },
    Squeeze {
        id: Id,
        above: Id,
        below: Id,
    },
    Define {
        id: Id,
        name: u32,
        value: Linear,
    },
    Split {
        fact: Id,
        cases: usize,
    },
    Cut {
        e: Linear,
    },
    /// The assumptions of the next case have these numbers.
    Case {
        first: Id,
        end: Id,
    },
    Absurd(Id),
}

/// What opened a list of cases.
#[derive(Clone)]
pub(super) enum Opener {
    /// A disjunction.
    Fact(Id),
    /// `e >= 0`, or `-e - 1 >= 0`; over names of the problem.
    Cut(Linear),
}

/// The assumptions of a case.
#[derive(Clone, Copy)]
pub(super) struct Assumptions {
    pub(super) first: Id,
    pub(super) end: Id,
}

impl Proof {
    /// The steps that lead to an absurd fact.
    pub(super) fn leaf(absurd: Id, record: &Record) -> Proof {
        let mut proof = Proof { entries: Vec::new(), used: Vec::new() };
        let mut needed = vec![false; absurd as usize + 1];
        needed[absurd as usize] = true;
        // Facts come after those they were made of.
        for id in (0..=absurd).rev() {
            if !needed[id as usize] {
                continue;
            }
            let fact = record.get(id);
            let entry = match fact.origin {
                Origin::Assumed => {
                    proof.used.push(id);
                    continue;
                }
                Origin::Combined { first, end, divisor } => {
                    let parts = record.parts(first, end).to_vec();
                    parts.iter().for_each(|part| needed[part.0 as usize] = true);
                    match fact.shape {
                        Shape::Zero => Entry::Equate { id, parts, divisor },
                        Shape::AtLeastZero | Shape::Other => Entry::Combine { id, parts, divisor },
                    }
                }
                Origin::Squeezed(above, below) => {
                    needed[above as usize] = true;
                    needed[below as usize] = true;
                    Entry::Squeeze { id, above, below }
                }
                Origin::Defined(name) => {
                    let value = Linear {
                        terms: fact.e.terms.iter().filter(|term| term.0 != name).map(|t| (t.0, -t.1)).collect(),
                        constant: -fact.e.constant,
                    };
                    for earlier in value.terms.iter().filter_map(|term| record.definition(term.0)) {
                        needed[earlier as usize] = true;
                    }
                    Entry::Define { id, name, value }
                }
            };
            proof.entries.push(entry);
        }
        proof.entries.reverse();
        proof.used.reverse();
        proof.entries.push(Entry::Absurd(absurd));
        proof
    }

    /// Whether it needs one of these assumptions.
    pub(super) fn uses(&self, assumptions: Assumptions) -> bool {
        let from = self.used.partition_point(|id| *id < assumptions.first);
        self.used.get(from).is_some_and(|id| *id < assumptions.end)
    }

    /// The refutation of a node from those of all its cases.
    pub(super) fn join(opener: &Opener, cases: Vec<(Assumptions, Proof)>) -> Proof {
        let mut entries = Vec::with_capacity(cases.iter().map(|case| case.1.entries.len() + 1).sum::<usize>() + 1);
        let mut used = Vec::new();
        match opener {
            Opener::Fact(fact) => {
                entries.push(Entry::Split { fact: *fact, cases: cases.len() });
                used.push(*fact);
            }
            Opener::Cut(e) => entries.push(Entry::Cut { e: e.clone() }),
        }
        for (Assumptions { first, end }, proof) in cases {
            used.extend(proof.used.iter().filter(|id| **id < first || **id >= end));
            entries.push(Entry::Case { first, end });
            entries.extend(proof.entries);
        }
        used.sort_unstable();
        used.dedup();
        Proof { entries, used }
    }

    /// The certificate, for a problem with `facts` facts and `names` names. None if the proof is not well formed.
    pub(super) fn certificate(self, facts: usize, names: u32) -> Option<Certificate> {
        let mut renumber = Renumber {
            facts: (0..u32::try_from(facts).ok()?).map(Some).collect(),
            names: (0..names).map(Some).collect(),
            next_fact: u32::try_from(facts).ok()?,
            next_name: names,
            open: Vec::new(),
        };
        let mut lines = Vec::with_capacity(self.entries.len());
        for entry in self.entries {
            lines.extend(renumber.entry(entry)?);
        }
        Some(Certificate { lines })
    }
}

struct Open {
    next_fact: u32,
    next_name: u32,
    cases: usize,
}

struct Renumber {
    facts: Vec<Option<u32>>,
    names: Vec<Option<u32>>,
    next_fact: u32,
    next_name: u32,
    open: Vec<Open>,
}

impl Renumber {
    /// The line of an entry, if it has one. The outer None is an ill-formed proof.
    #[allow(clippy::option_option, reason = "an entry without a line is not a failure")]
    fn entry(&mut self, entry: Entry) -> Option<Option<Line>> {
        Some(Some(match entry {
            Entry::Combine { id, parts, divisor } => {
                let line = Line::Combine { parts: self.parts(parts)?, divisor };
                self.number(id);
                line
            }
            Entry::Equate { id, parts, divisor } => {
                let line = Line::Equate { parts: self.parts(parts)?, divisor };
                self.number(id);
                line
            }
            Entry::Squeeze { id, above, below } => {
                let line = Line::Squeeze(self.fact(above)?, self.fact(below)?);
                self.number(id);
                line
            }
            Entry::Define { id, name, value } => {
                let line = Line::Define { terms: self.terms(&value)?, constant: value.constant };
                self.number(id);
                set(&mut self.names, name, self.next_name);
                self.next_name += 1;
                line
            }
            Entry::Split { fact, cases } => {
                self.open.push(Open { next_fact: self.next_fact, next_name: self.next_name, cases });
                Line::Split(self.fact(fact)?)
            }
            Entry::Cut { e } => {
                self.open.push(Open { next_fact: self.next_fact, next_name: self.next_name, cases: 2 });
                Line::Cut { terms: self.terms(&e)?, constant: e.constant }
            }
            Entry::Case { first, end } => {
                let last = self.open.last_mut()?;
                last.cases = last.cases.checked_sub(1)?;
                (self.next_fact, self.next_name) = (last.next_fact, last.next_name);
                (first..end).for_each(|id| self.number(id));
                return Some(None);
            }
            Entry::Absurd(id) => {
                let line = Line::Absurd(self.fact(id)?);
                while self.open.last().is_some_and(|last| last.cases == 0) {
                    self.open.pop();
                }
                line
            }
        }))
    }

    fn number(&mut self, id: Id) {
        set(&mut self.facts, id, self.next_fact);
        self.next_fact += 1;
    }

    fn fact(&self, id: Id) -> Option<u32> {
        self.facts.get(id as usize).copied().flatten()
    }

    fn parts(&self, parts: Vec<(Id, i128)>) -> Option<Vec<(u32, i128)>> {
        parts.into_iter().map(|(id, multiple)| Some((self.fact(id)?, multiple))).collect()
    }

    fn terms(&self, e: &Linear) -> Option<Vec<(u32, i128)>> {
        e.terms.iter().map(|(name, c)| Some((self.names.get(*name as usize).copied().flatten()?, *c))).collect()
    }
}

fn set(places: &mut Vec<Option<u32>>, place: u32, value: u32) {
    if places.len() <= place as usize {
        places.resize(place as usize + 1, None);
    }
    places[place as usize] = Some(value);
}
