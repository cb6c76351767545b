//! What would an instruction have to be applied to, to have a given word in a lane?
//!
//! Body and word are read side by side, and what stands where a parameter's lane does is a sample of that operand. A sample
//! at a lane that varies says the operand's word for all lanes: with a hole wherever that lane stands. Of samples at lanes
//! that are numbers, what differs between two is the hole. Nothing here is believed: whoever asks puts the operands into
//! the body and compares.

use super::{HOLE, Instr, InstrParam, LaneWord, Operand};
use crate::ir::{Access, Guard, Ix, Var, Word};
use crate::rewrite::Subst;

/// The operands, if each parameter has one.
pub(super) fn found(instr: &Instr, word: &Word, lane: Var) -> Option<Vec<Operand>> {
    let none = || Found { indices: None, samples: Vec::new() };
    let mut reader = Reader {
        instr,
        lane: Subst::var(instr.lane, Ix::Var(lane)),
        found: instr.params.iter().map(|_| none()).collect(),
    };
    reader.word(&instr.body, word);
    let operand = |(param, found): (&InstrParam, Found)| match param {
        InstrParam::Vector(_) => vector(&found.samples, lane).map(|w| Operand::Vector(LaneWord(w))),
        InstrParam::Index(_) => found.indices.map(Operand::Index),
    };
    instr.params.iter().zip(reader.found).map(operand).collect()
}

/// What was read of one parameter.
struct Found {
    indices: Option<Ix>,
    /// Which lane of it, and its word.
    samples: Vec<(Ix, Word)>,
}

struct Reader<'a> {
    instr: &'a Instr,
    lane: Subst,
    found: Vec<Found>,
}

impl Reader<'_> {
    fn word(&mut self, pattern: &Word, word: &Word) {
        match (pattern, word) {
            (Word::Local(l, at), _) => {
                let param = self.instr.params.iter().position(|p| *p == InstrParam::Vector(*l));
                if let (Some(n), [lane]) = (param, at.as_slice()) {
                    let sample = (self.lane.ix(lane), word.clone());
                    self.found[n].samples.push(sample);
                }
            }
            (Word::Op { args: p, .. }, Word::Op { args: w, .. }) | (Word::Apply(_, p), Word::Apply(_, w)) => {
                p.iter().zip(w).for_each(|(p, w)| self.word(p, w));
            }
            (Word::If(g, a, b), Word::If(h, x, y)) => {
                self.guard(g, h);
                self.word(a, x);
                self.word(b, y);
            }
            (Word::Index(p, _), Word::Index(w, _)) => self.ix(p, w),
            _ => {}
        }
    }

    fn guard(&mut self, pattern: &Guard, guard: &Guard) {
        match (pattern, guard) {
            (Guard::Cmp(_, a, b), Guard::Cmp(_, x, y)) => {
                self.ix(a, x);
                self.ix(b, y);
            }
            (Guard::And(a, b), Guard::And(x, y)) | (Guard::Or(a, b), Guard::Or(x, y)) => {
                self.guard(a, x);
                self.guard(b, y);
            }
            (Guard::Not(a), Guard::Not(x)) => self.guard(a, x),
            _ => {}
        }
    }

    fn ix(&mut self, pattern: &Ix, ix: &Ix) {
        match (pattern, ix) {
            (Ix::Var(v), _) => {
                if let Some(n) = self.instr.params.iter().position(|p| *p == InstrParam::Index(*v)) {
                    self.found[n].indices.get_or_insert_with(|| ix.clone());
                }
            }
            (Ix::Add(a, b), Ix::Add(x, y))
            | (Ix::Sub(a, b), Ix::Sub(x, y))
            | (Ix::Min(a, b), Ix::Min(x, y))
            | (Ix::Max(a, b), Ix::Max(x, y)) => {
                self.ix(a, x);
                self.ix(b, y);
            }
            (Ix::Mul(_, a), Ix::Mul(_, x)) | (Ix::Div(a, _), Ix::Div(x, _)) | (Ix::Mod(a, _), Ix::Mod(x, _)) => {
                self.ix(a, x);
            }
            _ => {}
        }
    }
}

/// The word of a vector operand's lanes, from samples.
fn vector(samples: &[(Ix, Word)], lane: Var) -> Option<Word> {
    if let Some((at, word)) = samples.iter().find(|(at, _)| crate::vectors::varies(at, lane)) {
        return Some(abstracted(word, at));
    }
    let (at, word) = samples.first()?;
    match samples.iter().find(|(other, _)| other != at) {
        Some((other, second)) => generalised((at, word), (other, second)),
        // One lane alone: nothing else of the operand has a meaning.
        None => Some(word.clone()),
    }
}

/// What two words are at two lanes, with a hole for the lane.
fn generalised((i, a): (&Ix, &Word), (j, b): (&Ix, &Word)) -> Option<Word> {
    let all = |a: &[Word], b: &[Word]| -> Option<Vec<Word>> {
        let pairs = a.iter().zip(b);
        (a.len() == b.len()).then(|| pairs.map(|(a, b)| generalised((i, a), (j, b))).collect())?
    };
    let ixs = |a: &[Ix], b: &[Ix]| -> Option<Vec<Ix>> {
        let pairs = a.iter().zip(b);
        (a.len() == b.len()).then(|| pairs.map(|(a, b)| between((i, a), (j, b))).collect())?
    };
    match (a, b) {
        _ if a == b => Some(a.clone()),
        (Word::Local(l, p), Word::Local(m, q)) if l == m => Some(Word::Local(*l, ixs(p, q)?)),
        (Word::Load(p), Word::Load(q)) if p.buffer == q.buffer => {
            Some(Word::Load(Access { buffer: p.buffer, at: ixs(&p.at, &q.at)?, span: p.span }))
        }
        (Word::Op { op, arith, args }, Word::Op { op: o, arith: d, args: more }) if (op, arith) == (o, d) => {
            Some(Word::Op { op: *op, arith: *arith, args: all(args, more)? })
        }
        (Word::Apply(f, args), Word::Apply(g, more)) if f == g => Some(Word::Apply(*f, all(args, more)?)),
        _ => None,
    }
}

fn between((i, a): (&Ix, &Ix), (j, b): (&Ix, &Ix)) -> Option<Ix> {
    if a == b {
        return Some(a.clone());
    }
    if (a, b) == (i, j) {
        return Some(Ix::Var(HOLE));
    }
    let go = |x: &Ix, y: &Ix| between((i, x), (j, y)).map(Box::new);
    match (a, b) {
        (Ix::Add(a, b), Ix::Add(x, y)) => Some(Ix::Add(go(a, x)?, go(b, y)?)),
        (Ix::Sub(a, b), Ix::Sub(x, y)) => Some(Ix::Sub(go(a, x)?, go(b, y)?)),
        (Ix::Mul(n, a), Ix::Mul(m, x)) if n == m => Some(Ix::Mul(*n, go(a, x)?)),
        (Ix::InBlock(g, a), Ix::InBlock(h, x)) if g == h => Some(Ix::InBlock(*g, go(a, x)?)),
        _ => None,
    }
}

/// A word with [`HOLE`] wherever an index stands. That it is the lane and nothing else there, is seen when it is put back.
fn abstracted(word: &Word, lane: &Ix) -> Word {
    let ixs = |at: &[Ix]| at.iter().map(|ix| without(ix, lane)).collect();
    let all = |words: &[Word]| words.iter().map(|w| abstracted(w, lane)).collect();
    match word {
        Word::Local(l, at) => Word::Local(*l, ixs(at)),
        Word::Load(a) => Word::Load(Access { buffer: a.buffer, at: ixs(&a.at), span: a.span }),
        Word::Op { op, arith, args } => Word::Op { op: *op, arith: *arith, args: all(args) },
        Word::Apply(f, args) => Word::Apply(*f, all(args)),
        Word::If(g, a, b) => match &**g {
            Guard::Cmp(rel, x, y) => Word::If(
                Box::new(Guard::Cmp(*rel, without(x, lane), without(y, lane))),
                Box::new(abstracted(a, lane)),
                Box::new(abstracted(b, lane)),
            ),
            _ => word.clone(),
        },
        other => other.clone(),
    }
}

fn without(ix: &Ix, lane: &Ix) -> Ix {
    if ix == lane {
        return Ix::Var(HOLE);
    }
    let b = |x: &Ix| Box::new(without(x, lane));
    match ix {
        Ix::Add(x, y) => Ix::Add(b(x), b(y)),
        Ix::Sub(x, y) => Ix::Sub(b(x), b(y)),
        Ix::Mul(n, x) => Ix::Mul(*n, b(x)),
        Ix::Div(x, n) => Ix::Div(b(x), *n),
        Ix::Mod(x, n) => Ix::Mod(b(x), *n),
        Ix::Min(x, y) => Ix::Min(b(x), b(y)),
        Ix::Max(x, y) => Ix::Max(b(x), b(y)),
        Ix::InBlock(g, x) => Ix::InBlock(*g, b(x)),
        Ix::Lit(_) | Ix::Var(_) | Ix::If(..) | Ix::Block(..) => ix.clone(),
    }
}
