//! Proofs that are known: those found in this run, and certificates kept from earlier ones.
//!
//! A condition is looked up by its exact structure (the names of its variables aside). In one run an equal condition has
//! an equal verdict. A kept certificate is never taken on trust: the certificate checker replays it against the condition
//! at hand, and one that does not fit, for whatever reason, is as good as none. So a file of certificates can make a run
//! faster and nothing else.
//!
//! Counterexamples are kept as well, and evaluated before they are used. What could not be decided is tried again.

use crate::certificate::{self, Certificate, Line};
use crate::condition::Condition;
use crate::context::{Context, Facts};
use crate::formula::{Formula, Hint, Problem};
use crate::prover::{self, Model, Verdict};
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The first bytes of kept certificates: another layout is another run's business.
const MAGIC: &[u8] = concat!("cachet proofs ", env!("CARGO_PKG_VERSION"), " 1\n").as_bytes();
/// Kept certificates larger than this in all are not read, nor written.
const MOST_BYTES: usize = 64 << 20;

/// A condition without names.
#[derive(Clone, PartialEq, Eq)]
struct Text {
    facts: Facts,
    goal: Formula,
    hints: Arc<Vec<Hint>>,
}

impl Text {
    fn hash(&self) -> u64 {
        let mut h = DefaultHasher::new();
        self.facts.iter().for_each(|f| f.hash.hash(&mut h));
        self.goal.hash(&mut h);
        self.hints.hash(&mut h);
        h.finish()
    }
}

/// What was found of a condition.
#[derive(Clone)]
enum Found {
    Proof(Certificate),
    Model(Model),
}

/// What is known.
#[derive(Clone, Default)]
pub struct Proofs {
    /// Verdicts of this run, by hash.
    known: HashMap<u64, Vec<(Text, Option<Model>)>>,
    /// What earlier runs found, as bytes, by hash.
    kept: Arc<HashMap<u64, (usize, usize)>>,
    bytes: Arc<Vec<u8>>,
    /// What to keep: all that was used in this run.
    used: BTreeMap<u64, Vec<u8>>,
    /// Whether anything in `used` is not in `kept`.
    fresh: bool,
}

impl Proofs {
    /// What earlier runs found. Bytes that are none of ours are nothing.
    pub fn from_bytes(bytes: Vec<u8>) -> Proofs {
        if bytes.len() > MOST_BYTES || !bytes.starts_with(MAGIC) {
            return Proofs::default();
        }
        let mut kept = HashMap::new();
        let mut reader = Reader { bytes: &bytes, at: MAGIC.len() };
        while let (Some(hash), Some(len)) = (reader.fixed(), reader.number()) {
            let Ok(len) = usize::try_from(len) else { break };
            if len > bytes.len() - reader.at {
                break;
            }
            kept.insert(hash, (reader.at, len));
            reader.at += len;
        }
        Proofs { kept: Arc::new(kept), bytes: Arc::new(bytes), ..Proofs::default() }
    }

    /// Another that knows what earlier runs found, for a part of this run.
    pub fn fork(&self) -> Proofs {
        Proofs { kept: Arc::clone(&self.kept), bytes: Arc::clone(&self.bytes), ..Proofs::default() }
    }

    /// Ends a part of a run: what it alone knows is given up, on its own thread.
    pub fn settle(&mut self) {
        self.known.clear();
    }

    /// Takes over what a part of this run has found.
    pub fn join(&mut self, part: Proofs) {
        self.used.extend(part.used);
        self.fresh |= part.fresh;
    }

    /// What to keep for later runs, if there is anything new in it: all that this run used.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        if !self.fresh {
            return None;
        }
        let mut out = MAGIC.to_vec();
        for (hash, found) in &self.used {
            if out.len() + found.len() + 24 > MOST_BYTES {
                break;
            }
            out.extend_from_slice(&hash.to_le_bytes());
            number(found.len() as u128, &mut out);
            out.extend_from_slice(found);
        }
        Some(out)
    }

    /// The verdict on a condition.
    pub fn prove(&mut self, c: &Condition) -> Verdict {
        self.decide(Text { facts: c.facts.clone(), goal: c.goal.clone(), hints: c.hints.clone() }, || c.problem())
    }

    /// Whether a formula follows from what is known at a place.
    pub fn follows(&mut self, cx: &Context, goal: Formula) -> bool {
        let text = Text { facts: cx.facts().clone(), goal: goal.clone(), hints: cx.hints().clone() };
        matches!(self.decide(text, || cx.problem(goal)), Verdict::Proved(_))
    }

    /// Whether what is known at a place can be true; the model is a witness.
    pub fn witness(&mut self, cx: &Context) -> Verdict {
        let text = Text { facts: cx.facts().clone(), goal: Formula::False, hints: cx.hints().clone() };
        self.decide(text, || cx.problem(Formula::False))
    }

    fn decide(&mut self, text: Text, problem: impl FnOnce() -> Problem) -> Verdict {
        let hash = text.hash();
        if let Some((_, model)) = self.known.get(&hash).and_then(|all| all.iter().find(|(t, _)| *t == text)) {
            return match model {
                None => Verdict::Proved(Certificate { lines: Vec::new() }),
                Some(model) => Verdict::Refuted(model.clone()),
            };
        }
        let problem = problem();
        if let Some((at, len)) = self.kept.get(&hash).copied() {
            let bytes = self.bytes[at..at + len].to_vec();
            let holds = decode(&bytes).filter(|found| match found {
                Found::Proof(c) => certificate::check(&problem, c).is_ok(),
                Found::Model(model) => problem.refuted_by(model) == Some(true),
            });
            if let Some(found) = holds {
                self.used.insert(hash, bytes);
                return self.remember(hash, text, found);
            }
        }
        let found = match prover::prove(&problem) {
            Verdict::Proved(c) => Found::Proof(c),
            Verdict::Refuted(model) => Found::Model(model),
            undecided @ Verdict::Undecided { .. } => return undecided,
        };
        let mut bytes = Vec::new();
        encode(&found, &mut bytes);
        self.used.insert(hash, bytes);
        self.fresh = true;
        self.remember(hash, text, found)
    }

    fn remember(&mut self, hash: u64, text: Text, found: Found) -> Verdict {
        let (verdict, model) = match found {
            Found::Proof(c) => (Verdict::Proved(c), None),
            Found::Model(model) => (Verdict::Refuted(model.clone()), Some(model)),
        };
        self.known.entry(hash).or_default().push((text, model));
        verdict
    }
}

// ---------------------------------------------------------------- bytes

/// The first byte of a counterexample; a certificate starts with the tag of a line.
const MODEL: u8 = 0x40;

fn number(mut n: u128, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn signed(n: i128, out: &mut Vec<u8>) {
    number(((n << 1) ^ (n >> 127)) as u128, out);
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn fixed(&mut self) -> Option<u64> {
        let bytes = self.bytes.get(self.at..self.at + 8)?;
        self.at += 8;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    fn number(&mut self) -> Option<u128> {
        let mut n = 0u128;
        for shift in (0..128).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            n |= u128::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(n);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i128> {
        let n = self.number()?;
        Some((n >> 1) as i128 ^ -((n & 1) as i128))
    }

    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    /// Pairs of a fact or name and a factor.
    fn pairs(&mut self) -> Option<Vec<(u32, i128)>> {
        let count = self.small()? as usize;
        // Each pair takes two bytes at least: a length that the bytes cannot hold is no length.
        if count > self.bytes.len() - self.at {
            return None;
        }
        (0..count).map(|_| Some((self.small()?, self.signed()?))).collect()
    }
}

fn encode(found: &Found, out: &mut Vec<u8>) {
    let c = match found {
        Found::Proof(c) => c,
        Found::Model(model) => {
            out.push(MODEL);
            number(model.len() as u128, out);
            model.iter().for_each(|n| signed(*n, out));
            return;
        }
    };
    fn pairs(all: &[(u32, i128)], out: &mut Vec<u8>) {
        number(all.len() as u128, out);
        for (n, factor) in all {
            number(u128::from(*n), out);
            signed(*factor, out);
        }
    }
    for line in &c.lines {
        match line {
            Line::Combine { parts, divisor } => {
                out.push(0);
                pairs(parts, out);
                signed(*divisor, out);
            }
            Line::Equate { parts, divisor } => {
                out.push(1);
                pairs(parts, out);
                signed(*divisor, out);
            }
            Line::Squeeze(a, b) => {
                out.push(2);
                number(u128::from(*a), out);
                number(u128::from(*b), out);
            }
            Line::Define { terms, constant } => {
                out.push(3);
                pairs(terms, out);
                signed(*constant, out);
            }
            Line::Split(n) => {
                out.push(4);
                number(u128::from(*n), out);
            }
            Line::Cut { terms, constant } => {
                out.push(5);
                pairs(terms, out);
                signed(*constant, out);
            }
            Line::Absurd(n) => {
                out.push(6);
                number(u128::from(*n), out);
            }
        }
    }
}

fn decode(bytes: &[u8]) -> Option<Found> {
    let mut r = Reader { bytes, at: 0 };
    if bytes.first() == Some(&MODEL) {
        r.at = 1;
        let count = r.small()? as usize;
        if count > bytes.len() {
            return None;
        }
        return (0..count).map(|_| r.signed()).collect::<Option<Model>>().map(Found::Model);
    }
    let mut lines = Vec::new();
    while r.at < bytes.len() {
        let tag = bytes[r.at];
        r.at += 1;
        lines.push(match tag {
            0 => Line::Combine { parts: r.pairs()?, divisor: r.signed()? },
            1 => Line::Equate { parts: r.pairs()?, divisor: r.signed()? },
            2 => Line::Squeeze(r.small()?, r.small()?),
            3 => Line::Define { terms: r.pairs()?, constant: r.signed()? },
            4 => Line::Split(r.small()?),
            5 => Line::Cut { terms: r.pairs()?, constant: r.signed()? },
            6 => Line::Absurd(r.small()?),
            _ => return None,
        });
    }
    Some(Found::Proof(Certificate { lines }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::Kind;
    use crate::context::Shown;
    use cachet_source::codes;

    /// x >= 0 and x / 4 <= bound, so x <= goal.
    fn condition(bound: i128, goal: i128) -> Condition {
        let mut cx = Context::default();
        let x = cx.unknown(Shown::Plain("x".into()));
        cx.fact(x.clone().ge(0));
        cx.fact(x.clone().div(4).le(bound));
        Condition::new(Kind::Bounds, codes::BOUNDS, &cx, x.le(goal), "x is small")
    }

    fn proved(proofs: &mut Proofs, (bound, goal): (i128, i128)) -> bool {
        match proofs.prove(&condition(bound, goal)) {
            Verdict::Proved(_) => true,
            Verdict::Refuted(model) => {
                assert_eq!(condition(bound, goal).problem().refuted_by(&model), Some(true));
                false
            }
            Verdict::Undecided { reason } => panic!("{reason}"),
        }
    }

    const TRUE: [(i128, i128); 2] = [(3, 15), (9, 39)];
    const FALSE: [(i128, i128); 2] = [(3, 14), (9, 38)];

    fn verdicts(proofs: &mut Proofs) -> [bool; 4] {
        [TRUE[0], TRUE[1], FALSE[0], FALSE[1]].map(|c| proved(proofs, c))
    }

    #[test]
    fn what_was_found_is_checked_and_used() {
        let mut first = Proofs::default();
        assert_eq!(verdicts(&mut first), [true, true, false, false]);
        let bytes = first.to_bytes().unwrap();
        let mut again = Proofs::from_bytes(bytes.clone());
        assert_eq!(verdicts(&mut again), [true, true, false, false]);
        assert_eq!(again.to_bytes(), None, "nothing new was found");
        // Whatever stands under whichever condition's hash, the verdicts stay.
        let places: Vec<_> = again.kept.values().copied().collect();
        for place in places {
            let mut forged = Proofs::from_bytes(bytes.clone());
            Arc::make_mut(&mut forged.kept).values_mut().for_each(|v| *v = place);
            assert_eq!(verdicts(&mut forged), [true, true, false, false]);
        }
    }

    #[test]
    fn damaged_bytes_change_nothing() {
        let mut first = Proofs::default();
        verdicts(&mut first);
        let bytes = first.to_bytes().unwrap();
        for at in 0..bytes.len() {
            for flip in [1u8, 0x40, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                assert_eq!(verdicts(&mut Proofs::from_bytes(damaged)), [true, true, false, false]);
            }
            assert_eq!(verdicts(&mut Proofs::from_bytes(bytes[..at].to_vec())), [true, true, false, false]);
        }
    }

    #[test]
    fn numbers_survive() {
        for n in [0, 1, -1, 63, -64, 64, i128::from(i64::MAX), i128::MAX, i128::MIN] {
            let mut bytes = Vec::new();
            signed(n, &mut bytes);
            assert_eq!(Reader { bytes: &bytes, at: 0 }.signed(), Some(n));
        }
    }
}
