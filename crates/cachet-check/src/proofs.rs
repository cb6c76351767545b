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
use crate::context::{About, Context, Fact, Facts};
use crate::formula::{Formula, Hint, Problem, Question};
use crate::hash::Folded;
use crate::prover::{self, Model, Verdict};
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The first bytes of kept certificates: another layout is another run's business.
const MAGIC: &[u8] = concat!("cachet proofs ", env!("CARGO_PKG_VERSION"), " 3\n").as_bytes();
/// Kept certificates larger than this in all are not read, nor written.
const MOST_BYTES: usize = 64 << 20;

/// A condition without names.
struct Text {
    variables: usize,
    facts: Vec<Arc<Fact>>,
    goal: Formula,
    hints: Arc<Vec<Hint>>,
}

impl Text {
    fn problem(&self) -> Problem {
        Problem {
            names: (0..self.variables).map(|n| format!("v{n}")).collect(),
            hypotheses: self.facts.iter().map(|f| f.formula.clone()).collect(),
            goal: self.goal.clone(),
            hints: self.hints.to_vec(),
        }
    }
}

/// Somebody's condition, with some of its facts: fewer that imply the goal will do.
#[derive(Clone, Copy)]
struct Said<'a> {
    /// How many variables there are.
    variables: usize,
    facts: &'a Facts,
    /// Which of the first facts count, a bit each. Facts beyond them count always.
    chosen: u128,
    goal: &'a Formula,
    hints: &'a Arc<Vec<Hint>>,
}

impl<'a> Said<'a> {
    fn all(variables: usize, facts: &'a Facts, goal: &'a Formula, hints: &'a Arc<Vec<Hint>>) -> Said<'a> {
        Said { variables, facts, chosen: u128::MAX, goal, hints }
    }

    /// With only those facts that are about what the goal is about, or about what those are about, and so on; `None` if
    /// that is all.
    fn near(self) -> Option<Said<'a>> {
        let mut about = About::of(self.goal);
        let first = || self.facts.iter().take(u128::BITS as usize).enumerate();
        let mut chosen = 0u128;
        let mut grown = !about.is_nothing();
        while grown {
            grown = false;
            for (n, fact) in first() {
                if chosen & 1 << n == 0 && fact.about.meets(about) {
                    chosen |= 1 << n;
                    grown |= about.grow(fact.about);
                }
            }
        }
        // The suggestions may be about others.
        let variables = about.bound().filter(|_| self.hints.is_empty()).unwrap_or(self.variables);
        (chosen != 0 && (chosen.count_ones() as usize) < first().count()).then_some(Said { variables, chosen, ..self })
    }

    fn facts(self) -> impl Iterator<Item = &'a Arc<Fact>> {
        let counts = move |n: usize| n >= u128::BITS as usize || self.chosen & 1 << n != 0;
        self.facts.iter().enumerate().filter(move |(n, _)| counts(*n)).map(|(_, f)| f)
    }

    fn is(self, text: &Text) -> bool {
        self.variables == text.variables
            && *self.goal == text.goal
            && self.facts().eq(&text.facts)
            && self.hints == &text.hints
    }

    fn question(&self) -> Question<'_> {
        let hypotheses = self.facts().map(|f| &f.formula).collect();
        Question { variables: self.variables, hypotheses, goal: self.goal, hints: self.hints }
    }

    fn keep(self) -> Text {
        let facts = self.facts().cloned().collect();
        Text { variables: self.variables, facts, goal: self.goal.clone(), hints: self.hints.clone() }
    }

    fn hash(self) -> u64 {
        let mut h = Folded::default();
        self.variables.hash(&mut h);
        self.facts().for_each(|f| f.hash.hash(&mut h));
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

/// A condition that was decided, as data: for whoever wants to ask somebody else as well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decided {
    /// The condition, its unknowns without names.
    pub problem: Problem,
    /// Values for which it fails; `None` where it was proved.
    pub model: Option<Model>,
}

/// Verdicts by hash.
type Verdicts = HashMap<u64, Vec<(Text, Option<Model>)>>;

/// The verdicts of a run. All its parts have them in common, also those that run at the same time: a verdict depends on
/// its condition alone, so it does not matter who found it.
#[derive(Default)]
struct Known {
    /// In shelves, so that two parts seldom wait for each other.
    shelves: [Mutex<Verdicts>; 16],
}

impl Known {
    /// A part that panicked has left whole entries behind, or none.
    fn shelf(&self, hash: u64) -> MutexGuard<'_, Verdicts> {
        self.shelves[hash as usize % self.shelves.len()].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, hash: u64, said: Said<'_>) -> Option<Verdict> {
        let shelf = self.shelf(hash);
        let (_, model) = shelf.get(&hash)?.iter().find(|(text, _)| said.is(text))?;
        Some(match model {
            None => Verdict::Proved(Certificate { lines: Vec::new() }),
            Some(model) => Verdict::Refuted(model.clone()),
        })
    }

    fn all(&self) -> Vec<Decided> {
        let shelves = 0..self.shelves.len() as u64;
        let of_shelf = |shelf: u64| {
            let of = |(text, model): &(Text, Option<Model>)| Decided { problem: text.problem(), model: model.clone() };
            self.shelf(shelf).values().flatten().map(of).collect::<Vec<_>>()
        };
        shelves.flat_map(of_shelf).collect()
    }

    fn remember(&self, hash: u64, said: Said<'_>, model: Option<Model>) {
        self.shelf(hash).entry(hash).or_default().push((said.keep(), model));
    }
}

/// What is known.
#[derive(Clone, Default)]
pub struct Proofs {
    known: Arc<Known>,
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

    /// Another that knows what this one does, for a part of this run.
    pub fn fork(&self) -> Proofs {
        Proofs {
            known: Arc::clone(&self.known),
            kept: Arc::clone(&self.kept),
            bytes: Arc::clone(&self.bytes),
            ..Proofs::default()
        }
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

    /// Every different condition that this run decided, in an order that does not depend on the run. One that was proved
    /// from some of its facts is there with these only: they imply it, so all of them do.
    pub fn decided(&self) -> Vec<Decided> {
        let mut all: Vec<(String, Decided)> =
            self.known.all().into_iter().map(|d| (d.problem.canonical(), d)).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        // Two parts of a run may have decided the same at the same time.
        all.dedup_by(|a, b| a.0 == b.0);
        all.into_iter().map(|(_, decided)| decided).collect()
    }

    /// The verdict on a condition.
    pub fn prove(&mut self, c: &Condition) -> Verdict {
        self.decide(Said::all(c.shown().len(), &c.facts, &c.goal, &c.hints))
    }

    /// Whether a formula follows from what is known at a place.
    pub fn follows(&mut self, cx: &Context, goal: Formula) -> bool {
        matches!(self.at(cx, &goal), Verdict::Proved(_))
    }

    /// Whether what is known at a place can be true; the model is a witness.
    pub fn witness(&mut self, cx: &Context) -> Verdict {
        self.at(cx, &Formula::False)
    }

    fn at(&mut self, cx: &Context, goal: &Formula) -> Verdict {
        self.decide(Said::all(cx.shown().len(), cx.facts(), goal, cx.hints()))
    }

    fn decide(&mut self, said: Said<'_>) -> Verdict {
        // What follows from some of the facts follows from all of them. A counterexample has to satisfy all.
        if let Some(near) = said.near()
            && let proved @ Verdict::Proved(_) = self.look_up(near)
        {
            return proved;
        }
        self.look_up(said)
    }

    fn look_up(&mut self, said: Said<'_>) -> Verdict {
        let hash = said.hash();
        if let Some(verdict) = self.known.of(hash, said) {
            return verdict;
        }
        let kept = self.kept.get(&hash).map(|(at, len)| &self.bytes[*at..*at + *len]);
        let found = kept.and_then(decode).filter(|found| match found {
            Found::Proof(c) => certificate::check_question(&said.question(), c).is_ok(),
            Found::Model(model) => said.question().refuted_by(model) == Some(true),
        });
        let (found, bytes) = match (found, kept) {
            (Some(found), Some(bytes)) => (found, bytes.to_vec()),
            _ => {
                let found = match prover::prove_question(&said.question()) {
                    Verdict::Proved(c) => Found::Proof(c),
                    Verdict::Refuted(model) => Found::Model(model),
                    undecided @ Verdict::Undecided { .. } => return undecided,
                };
                let mut bytes = Vec::new();
                encode(&found, &mut bytes);
                self.fresh = true;
                (found, bytes)
            }
        };
        self.used.insert(hash, bytes);
        let (verdict, model) = match found {
            Found::Proof(c) => (Verdict::Proved(c), None),
            Found::Model(model) => (Verdict::Refuted(model.clone()), Some(model)),
        };
        self.known.remember(hash, said, model);
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

    /// `far` about y, 0 <= x < 8, and so x <= goal.
    fn beside(far: &[i128], goal: i128) -> Condition {
        let mut cx = Context::default();
        let y = cx.unknown(Shown::Plain("y".into()));
        let x = cx.unknown(Shown::Plain("x".into()));
        far.iter().for_each(|n| cx.fact(y.clone().times(2).equals(*n)));
        cx.fact(Formula::within(0, x.clone(), 8));
        Condition::new(Kind::Bounds, codes::BOUNDS, &cx, x.le(goal), "x is small")
    }

    #[test]
    fn what_is_about_something_else_is_left_out_where_it_does_no_harm() {
        let mut proofs = Proofs::default();
        assert!(matches!(proofs.prove(&beside(&[4], 7)), Verdict::Proved(_)));
        // The same without looking at y.
        let used = proofs.used.len();
        assert!(matches!(proofs.prove(&beside(&[6], 7)), Verdict::Proved(_)));
        assert_eq!(proofs.used.len(), used);
        // A counterexample has values for y as well.
        let Verdict::Refuted(model) = proofs.prove(&beside(&[6], 6)) else { panic!("7 is below 8") };
        assert_eq!(beside(&[6], 6).problem().refuted_by(&model), Some(true));
        // Where there is no such y, everything follows.
        for far in [&[4, 6][..], &[3]] {
            assert!(matches!(proofs.prove(&beside(far, 6)), Verdict::Proved(_)));
            assert!(matches!(proofs.prove(&beside(far, 7)), Verdict::Proved(_)));
        }
    }

    #[test]
    fn parts_of_a_run_share_what_they_find() {
        let mut one = Proofs::default();
        let mut two = one.fork();
        assert!(proved(&mut one, TRUE[0]) && proved(&mut two, TRUE[0]));
        assert!(!one.used.is_empty() && two.used.is_empty());
        assert!(!proved(&mut two, FALSE[0]) && !proved(&mut one, FALSE[0]));
        let all = one.decided();
        assert_eq!(all.len(), 2);
        for d in all {
            assert_eq!(
                d.problem.canonical(),
                condition(3, if d.model.is_some() { 14 } else { 15 }).problem().canonical()
            );
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
