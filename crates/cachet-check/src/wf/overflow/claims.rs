//! What is claimed of an operation, and how it is said that a claim was not proved.

use super::Walk;
use super::reach::{Num, Range, Value};
use crate::condition::{Condition, Kind};
use cachet_core::interpret::scalar;
use cachet_core::ir::{Domain, Elem, Fold, Ix, Local, Var, VarKind, Word};
use cachet_core::print::Names;
use cachet_source::codes;

/// A sum at hand, for its report.
pub(super) struct Sum {
    /// The indices that are summed over: `k, l` where one sum goes on with the total of another.
    over: String,
    total: Local,
    /// Per integer of the total.
    terms: Vec<Moves>,
    /// Per part of the total, how many integers come before it.
    before: Vec<usize>,
}

/// How one term moves an integer of a total.
#[derive(Clone, Default)]
struct Moves {
    by: Option<Range>,
    /// The size that says how many terms there are, and the largest value of it with which the total fits.
    size: Option<(Var, i128)>,
}

impl Sum {
    pub fn of(f: &Fold, names: Names<'_>, around: Option<&Sum>, init: &Value, next: &Value, first: u32) -> Sum {
        let over = match (around, &f.init) {
            (Some(s), Word::Local(l, at)) if s.total == *l && at.is_empty() => {
                format!("{}, {}", s.over, names.var(f.var))
            }
            _ => names.var(f.var).to_string(),
        };
        let terms = init.nums().into_iter().zip(next.nums()).enumerate();
        let terms = terms.map(|(n, (start, step))| match &step.ahead {
            Some((total, by)) if *total == first + n as u32 => {
                let size = if step.own.is_none() { enough(f, names, start, by) } else { None };
                Moves { by: Some(by.numeric()), size }
            }
            _ => Moves::default(),
        });
        let before = match init {
            Value::Many(parts) => {
                let mut count = 0;
                let counts = parts.iter().map(|p| {
                    count += p.nums().len();
                    count - p.nums().len()
                });
                counts.collect()
            }
            Value::Num(_) | Value::Other(_) => vec![],
        };
        Sum { over, total: f.acc, terms: terms.collect(), before }
    }

    /// What is known of the integer of the total that a word is.
    fn part(&self, word: &Word) -> Option<&Moves> {
        match word {
            Word::Local(l, at) if *l == self.total && at.is_empty() => self.terms.first(),
            Word::Part(w, n) => match &**w {
                Word::Local(l, at) if *l == self.total && at.is_empty() => {
                    self.terms.get(*self.before.get(*n as usize)?)
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// The size that the sum runs to, and the largest value of it with which nothing is lost.
fn enough(f: &Fold, names: Names<'_>, start: &Num, by: &Range) -> Option<(Var, i128)> {
    let (Domain::Range { lo: Ix::Lit(first), hi: Ix::Var(size) }, Some(start_range), None) =
        (&f.domain, &start.own, &start.ahead)
    else {
        return None;
    };
    if names.vars.get(size.index())?.kind != VarKind::Size {
        return None;
    }
    let (least, most) = scalar::range(start.elem)?;
    let (lo, hi) = (by.lo.number()?, by.hi.number()?);
    let up = if hi > 0 { (most - start_range.hi.number()?).div_euclid(hi) } else { i128::MAX };
    let down = if lo < 0 { (start_range.lo.number()? - least).div_euclid(-lo) } else { i128::MAX };
    let terms = up.min(down);
    // One term is no sum.
    (2..i128::MAX).contains(&terms).then(|| (*size, i128::from(*first) + terms))
}

impl Walk<'_> {
    /// An operation's result fits its type.
    pub(super) fn fits(&mut self, elem: Elem, word: &Word, args: &[Word], range: &Range, operands: &[Range]) {
        if self.quiet > 0 || holds(elem, range) {
            return;
        }
        let sum = match args {
            [total, _] => self.sums.last().and_then(|s| Some((s.over.clone(), s.part(total)?.clone()))),
            _ => None,
        };
        let shape = match sum {
            Some((over, moves)) => self.sum_claim(elem, &over, moves),
            None => self.operation_claim(elem, word, args, operands),
        };
        self.emit(elem, range, shape);
    }

    /// A conversion between integers keeps the value.
    pub(super) fn keeps(&mut self, to: Elem, word: &Word, args: &[Word], range: &Range) {
        if self.quiet > 0 || holds(to, range) {
            return;
        }
        let of = args.first().map_or_else(String::new, |a| self.names.word(a));
        let shape = Shape {
            claim: format!("`{}` keeps its value", short(&self.names.word(word))),
            notes: self.between(args, std::slice::from_ref(range)),
            helps: vec![format!(
                "say what becomes of what does not fit: `wrapping_as @{to} (..)` or `saturating_as @{to} (..)`"
            )],
            fallback: format!("`{}` fits {to}", short(&of)),
        };
        self.emit(to, range, shape);
    }

    /// A divisor is positive.
    pub(super) fn divides(&mut self, word: &Word, args: &[Word], divisor: &Range) {
        if self.quiet > 0 || divisor.lo.least >= 1 {
            return;
        }
        let claim = self.said(format!("the divisor of `{}` is above 0", short(&self.names.word(word))));
        let goal = divisor.lo.term.clone().ge(1);
        let mut c = Condition::new(Kind::Overflow, codes::OVERFLOW, &self.cx, goal, claim).at(self.span, "");
        let by = args.get(1).filter(|a| !matches!(a, Word::Lit(_)));
        if let (Some(by), Some(range)) = (by, known(divisor)) {
            c = c.note(format!("`{}` is {range}", short(&self.names.word(by))));
        }
        self.out.push(c.help("divide by a number, or by something that is at least 1: `max x 1`"));
    }

    fn sum_claim(&self, elem: Elem, over: &str, Moves { by, size }: Moves) -> Shape {
        let wider = !matches!(elem, Elem::I64 | Elem::U64);
        let mut helps = Vec::new();
        let claim = match size {
            Some((v, n)) => {
                let name = self.names.var(v);
                helps.push(format!(
                    "add `requires {name} <= {n}`{}",
                    if wider { ", or sum in a wider type" } else { "" }
                ));
                format!("the sum over {over} does not overflow {elem}: needs {name} <= {n}")
            }
            None => {
                let other = if wider { "sum in a wider type, or " } else { "" };
                helps.push(format!("{other}say in `requires` how large the sizes may be"));
                format!("the sum over {over} does not overflow {elem}")
            }
        };
        helps.push(format!("where wrap-around is meant: `wrapping_add`, or the implementation `Wrapping {elem}`"));
        let notes = by.iter().filter_map(known).map(|r| format!("each term is {r}")).collect();
        Shape { fallback: claim.clone(), claim, notes, helps }
    }

    fn operation_claim(&self, elem: Elem, word: &Word, args: &[Word], operands: &[Range]) -> Shape {
        let claim = format!("`{}` does not overflow {elem}", short(&self.names.word(word)));
        let mut helps = Vec::new();
        let wrapping = match word {
            Word::Op { op: cachet_core::ir::Op::Prim(p), .. } => match p {
                cachet_core::ir::Prim::Add => Some("wrapping_add"),
                cachet_core::ir::Prim::Sub => Some("wrapping_sub"),
                cachet_core::ir::Prim::Mul => Some("wrapping_mul"),
                _ => None,
            },
            _ => None,
        };
        let is_var =
            |a: &Word| matches!(a, Word::Local(l, _) if self.names.locals.get(l.index()).is_some_and(|l| l.mutable));
        if let Some(var) = args.iter().find(|a| is_var(a)) {
            let name = self.names.word(var);
            helps.push(format!("of the `var` {name} only its type is known: write a running total as a `fold`"));
        }
        if !matches!(elem, Elem::I64 | Elem::U64) {
            helps.push("compute in a wider type: convert the operands first, as in `x as i64`".into());
        }
        if let Some(name) = wrapping {
            helps.push(format!("where wrap-around is meant: `{name} a b`"));
        }
        Shape { fallback: claim.clone(), claim, notes: self.between(args, operands), helps }
    }

    /// What is known of the operands that are not numbers themselves.
    fn between(&self, args: &[Word], ranges: &[Range]) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        for (a, r) in args.iter().zip(ranges) {
            if let (false, Some(range)) = (matches!(a, Word::Lit(_)), known(r)) {
                let note = format!("`{}` is {range}", short(&self.names.word(a)));
                if !out.contains(&note) {
                    out.push(note);
                }
            }
        }
        out
    }

    fn said(&self, claim: String) -> String {
        match self.inside.last() {
            Some(of) => format!("that in {of} {claim}"),
            None => claim,
        }
    }

    fn emit(&mut self, elem: Elem, range: &Range, shape: Shape) {
        let Some((least, most)) = scalar::range(elem) else { return };
        let below = least.saturating_sub(range.lo.least);
        let above = range.hi.most.saturating_sub(most);
        let mut goals = Vec::new();
        if below > 0 {
            goals.push((below, range.lo.term.clone().ge(least)));
        }
        if above > 0 {
            goals.push((above, range.hi.term.clone().le(most)));
        }
        // What goes further is reported: its counterexample is the smaller one.
        goals.sort_by_key(|(beyond, _)| std::cmp::Reverse(*beyond));
        let claim = if shape.claim.len() > MOST { shape.fallback } else { shape.claim };
        let claim = self.said(claim);
        for (_, goal) in goals {
            let mut c = Condition::new(Kind::Overflow, codes::OVERFLOW, &self.cx, goal, claim.clone());
            c = c.at(self.span, "");
            c.notes.clone_from(&shape.notes);
            c.helps.clone_from(&shape.helps);
            if !self.inside.is_empty() {
                c.notes.push("a generic function computes on any operands, so an implementation has to as well".into());
            }
            self.out.push(c);
        }
    }
}

/// What is said of one claim.
struct Shape {
    claim: String,
    /// Where the claim would be too long a line.
    fallback: String,
    notes: Vec<String>,
    helps: Vec<String>,
}

/// A claim longer than this is said in another way.
const MOST: usize = 160;

/// Whether a range lies in a type without a proof.
fn holds(elem: Elem, range: &Range) -> bool {
    scalar::range(elem).is_none_or(|(lo, hi)| range.lo.least >= lo && range.hi.most <= hi)
}

/// A range as words, where it is not beyond what people read.
fn known(r: &Range) -> Option<String> {
    let (lo, hi) = (r.lo.least, r.hi.most);
    let readable = |n: i128| n.unsigned_abs() <= u128::from(u64::MAX);
    match (lo == hi, readable(lo) && readable(hi)) {
        (true, true) => Some(format!("{lo}")),
        (false, true) => Some(format!("between {lo} and {hi}")),
        (_, false) => None,
    }
}

/// A text that fits a message: its beginning, where it is long.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(60) {
        Some((at, _)) => format!("{} ..", &line[..at]),
        None => line,
    }
}
