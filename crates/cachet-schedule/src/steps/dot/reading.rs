//! How does an instruction add terms of a tile's sum?
//!
//! Its body is laid beside so many steps of the sum. Where the two agree, each lane of an operand that the body reads stands
//! beside a word of some term, and an operand is what holds those words.

use super::refused;
use crate::steps::tile::Tile;
use cachet_core::instr::{Instr, InstrParam};
use cachet_core::ir::{Elem, Fun, InstrId, Ix, Program, Ty, Var, VarKind, Word};
use cachet_core::linear::Linear;
use cachet_core::rewrite::{Live, Subst, map_word};
use cachet_core::script::{DotCall, StepCall};
use cachet_source::Diagnostic;

/// The most terms that one use of an instruction adds.
const MOST_TERMS: usize = 16;

/// What an operand of the instruction holds.
pub(super) struct Given {
    /// One term's word, in the tile's row and lane and the sum's index.
    pub(super) word: Word,
    /// Whether each lane of the tile has its own words.
    pub(super) by_lane: bool,
    /// Whether the last term of a group stands first.
    pub(super) reversed: bool,
}

/// How an instruction adds terms.
pub(super) struct Reading<'p> {
    pub(super) instr: &'p Instr,
    pub(super) id: InstrId,
    /// How many terms.
    pub(super) group: i64,
    /// Its operands in order; nothing for the totals.
    pub(super) operands: Vec<Option<Given>>,
}

/// How the instruction adds terms of the tile's sum.
pub(super) fn reading<'p>(
    program: &'p Program,
    fun: &Fun,
    tile: &Tile<'_>,
    dot: &DotCall,
    call: &StepCall,
) -> Result<Reading<'p>, Diagnostic> {
    let (id, name, span) = &dot.through;
    let Some(instr) = program.instrs.get(id.index()) else {
        return Err(refused(*span, format!("there is no instruction `{name}`"), call));
    };
    let info = &fun.locals[tile.acc.index()];
    if info.ty != Ty::Elem(instr.elem) {
        let text = match info.ty {
            Ty::Elem(elem) => format!("`{name}` gives {}, and the tile's totals are {elem}", instr.elem),
            Ty::Abstract(_) | Ty::Tuple(_) => "the element type of the tile is not known yet".into(),
        };
        return Err(refused(*span, text, call));
    }
    let (lanes, count) = (tile.size.1, instr.lanes);
    if lanes % count != 0 {
        let message = format!("the tile has {lanes} lanes, which is no multiple of the {count} of `{name}`");
        return Err(refused(*span, message, call));
    }
    let (nest, step) = &tile.update;
    let own = Word::Local(tile.acc, vec![Ix::Var(nest.row.0), Ix::Var(nest.lane.0)]);
    let mut scratch = fun.clone();
    let marks: Vec<Var> = (0..MOST_TERMS).map(|_| scratch.add_var("k", VarKind::Index)).collect();
    let mut chain = own.clone();
    for group in 1..=MOST_TERMS {
        let term = Subst::var(tile.sum.0, Ix::Var(marks[group - 1])).word(step);
        let total = std::mem::replace(&mut chain, own.clone());
        chain = map_word(&term, &mut |w| if w == own { total.clone() } else { w });
        let mut samples = Samples { instr, found: vec![Vec::new(); instr.params.len()], fits: true };
        samples.word(&instr.body, &chain);
        if samples.fits {
            let about = Terms { fun, tile, own: &own, marks: &marks[..group], name };
            let operands = about.operands(instr, samples.found).map_err(|why| refused(*span, why, call))?;
            return Ok(Reading { instr, id: *id, group: group as i64, operands });
        }
    }
    let text = cachet_core::print::Names::of(program, fun).word(step);
    let message = format!("the body of `{name}` does not add one term after another as the tile's sum does");
    Err(refused(*span, message, call).note(format!("the tile's update is `{text}`")))
}

/// A body and a word side by side: which word stands for which lane of a parameter.
struct Samples<'a> {
    instr: &'a Instr,
    found: Vec<Vec<(Ix, Word)>>,
    fits: bool,
}

impl Samples<'_> {
    fn word(&mut self, body: &Word, word: &Word) {
        match (body, word) {
            (Word::Local(l, at), _) => {
                let param = self.instr.params.iter().position(|p| *p == InstrParam::Vector(*l));
                match (param, at.as_slice()) {
                    (Some(n), [lane]) => self.found[n].push((lane.clone(), word.clone())),
                    _ => self.fits = false,
                }
            }
            (Word::Op { op, arith, args }, Word::Op { op: o, arith: d, args: words }) => {
                self.fits &= (op, arith, args.len()) == (o, d, words.len());
                args.iter().zip(words).for_each(|(b, w)| self.word(b, w));
            }
            (Word::Apply(f, args), Word::Apply(g, words)) => {
                self.fits &= (f, args.len()) == (g, words.len());
                args.iter().zip(words).for_each(|(b, w)| self.word(b, w));
            }
            (Word::Lit(a), Word::Lit(b)) => self.fits &= a == b,
            _ => self.fits = false,
        }
    }
}

/// The terms that a chain adds.
struct Terms<'a> {
    fun: &'a Fun,
    tile: &'a Tile<'a>,
    own: &'a Word,
    /// The sum's index in each term.
    marks: &'a [Var],
    name: &'a str,
}

/// A lane of an operand that the body reads, `step * l + offset`, and the word that stands beside it.
struct Read {
    step: i64,
    offset: i64,
    /// Of which term, where it changes with the terms.
    term: Option<i64>,
    /// The word, in the sum's index.
    word: Word,
}

impl Terms<'_> {
    fn operands(&self, instr: &Instr, found: Vec<Vec<(Ix, Word)>>) -> Result<Vec<Option<Given>>, String> {
        let mut totals = 0;
        let mut out = Vec::new();
        for (param, samples) in instr.params.iter().zip(found) {
            let name = instr.param_name(*param).to_string();
            let (InstrParam::Vector(_), Some((elem, count))) = (param, instr.param_vector(*param)) else {
                return Err(format!("`{}` takes an index, `{name}`", self.name));
            };
            if samples.iter().any(|(_, w)| w == self.own) {
                if samples.iter().any(|(at, w)| w != self.own || *at != Ix::Var(instr.lane)) {
                    return Err(format!("`{name}` of `{}` is no total, lane by lane", self.name));
                }
                totals += 1;
                out.push(None);
                continue;
            }
            let given = self.given(instr, (&name, count), &samples)?;
            let is = self.elem(&given.word);
            if is != Some(elem) {
                let what = is.map_or("something else".to_string(), |e| e.to_string());
                return Err(format!(
                    "`{name}` of `{}` has lanes of {elem}, and the terms are made of {what}",
                    self.name
                ));
            }
            out.push(Some(given));
        }
        if totals != 1 {
            return Err(format!("`{}` adds to no vector of totals", self.name));
        }
        Ok(out)
    }

    /// What an operand holds, by the words of the lanes that the body reads.
    fn given(&self, instr: &Instr, (name, count): (&str, i64), samples: &[(Ix, Word)]) -> Result<Given, String> {
        let group = self.marks.len() as i64;
        let read: Option<Vec<Read>> = samples.iter().map(|(at, word)| self.read(instr, at, word)).collect();
        let Some(read) = read else { return Err(format!("lanes of `{name}` are read in no simple order")) };
        let Some((step, word)) = read.first().map(|r| (r.step, r.word.clone())) else {
            return Err(format!("`{name}` is not read"));
        };
        let by_lane = step != 0;
        if read.iter().any(|r| r.step != step || r.word != word) || (by_lane && step != group) {
            return Err(format!("`{name}` of `{}` does not hold one word of each term for each lane", self.name));
        }
        let wanted = if by_lane { group * instr.lanes } else { group };
        if count != wanted || read.iter().any(|r| !(0..group).contains(&r.offset)) {
            return Err(format!("`{name}` of `{}` has {count} lanes, and {wanted} are needed", self.name));
        }
        let lane = self.tile.update.0.lane.0;
        if !by_lane && Live::of_word(&word).vars.contains(&lane) {
            return Err(format!("`{name}` of `{}` is the same for all lanes, and the terms are not", self.name));
        }
        let ascending = read.iter().all(|r| r.term.is_none_or(|t| t == r.offset));
        let reversed = !ascending && read.iter().all(|r| r.term.is_none_or(|t| t == group - 1 - r.offset));
        if !ascending && !reversed {
            let order = "neither one after another nor the last first";
            return Err(format!("`{}` takes the terms of `{name}` {order}", self.name));
        }
        Ok(Given { word, by_lane, reversed })
    }

    /// Nothing where the lane that is read is no multiple of the instruction's and a number.
    fn read(&self, instr: &Instr, at: &Ix, word: &Word) -> Option<Read> {
        let lane = Linear::of(at).filter(|l| l.terms.iter().all(|(_, ix)| *ix == Ix::Var(instr.lane)))?;
        let vars = Live::of_word(word).vars;
        let term = self.marks.iter().position(|m| vars.contains(m)).map(|t| t as i64);
        let mut back = Subst::default();
        self.marks.iter().for_each(|m| {
            back.vars.insert(*m, Ix::Var(self.tile.sum.0));
        });
        Some(Read { step: lane.terms.first().map_or(0, |t| t.0), offset: lane.constant, term, word: back.word(word) })
    }

    /// The element that a term's word is of.
    fn elem(&self, word: &Word) -> Option<Elem> {
        let ty = match word {
            Word::Load(a) => self.fun.buffers.get(a.buffer.index()).map(|b| b.elem.clone()),
            Word::Local(l, _) => self.fun.locals.get(l.index()).map(|l| l.ty.clone()),
            Word::Lit(l) => Some(Ty::Elem(l.elem)),
            Word::If(_, a, _) => return self.elem(a),
            // What is computed of a term is as wide as its total, or it would have stopped above.
            _ => self.fun.locals.get(self.tile.acc.index()).map(|l| l.ty.clone()),
        };
        match ty {
            Some(Ty::Elem(e)) => Some(e),
            _ => None,
        }
    }
}
