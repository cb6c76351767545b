//! What is known at a place in a function: which integers exist there and what holds of them.
//!
//! A context grows as the walk goes inward: sizes with their limits, `requires`, the domain of each enclosing loop, each
//! guard. It also turns indices into [`Term`]s. The variable of a loop over `blocks (lo .. hi) n` is one hidden integer,
//! the block's number; its parts are terms over it, so that every condition stays linear (checker design, section 2.5).
//!
//! Invariant: every fact holds at every event of the place, for all sizes that satisfy the function's requirements.

use crate::formula::{Formula, Hint, Problem, Term, Var as Unknown};
use crate::hash::Folded;
use cachet_core::ir::{BlockPart, Domain, Fun, Guard, Ix, MAX_DIM, Rel, Var, VarInfo};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// How an unknown prints in a counterexample.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// Under its name.
    Plain(String),
    /// A block: by its first index, `gk = 16..`, and by its length where it is shorter than the others, `gk.len = 3`.
    Block {
        /// The block variable's name.
        name: String,
        /// Its first index.
        lo: Term,
        /// Where the range ends.
        hi: Term,
        /// The length of whole blocks.
        size: i128,
    },
    /// Not at all: an unknown of ours.
    Hidden(String),
}

impl Shown {
    /// The name, primed `times` times for a second copy.
    fn primed(&self) -> Shown {
        match self {
            Shown::Plain(n) => Shown::Plain(format!("{n}'")),
            Shown::Block { name, lo, hi, size } => {
                Shown::Block { name: format!("{name}'"), lo: lo.clone(), hi: hi.clone(), size: *size }
            }
            Shown::Hidden(n) => Shown::Hidden(format!("{n}'")),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Shown::Plain(n) | Shown::Hidden(n) | Shown::Block { name: n, .. } => n,
        }
    }
}

/// What a core variable is in conditions.
#[derive(Clone, Debug)]
enum Meaning {
    /// An integer.
    Index(Term),
    /// A block: its range, size and number.
    Block { lo: Term, hi: Term, size: i128, idx: Term },
}

/// Something that holds, with its hash: conditions are looked up by what they say.
#[derive(Debug)]
pub struct Fact {
    /// What holds.
    pub formula: Formula,
    /// A hash of it that does not depend on the run.
    pub hash: u64,
    /// Which unknowns it is about.
    pub about: About,
}

/// A set of unknowns, a bit each; the last bit is all those beyond the others.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct About(u64);

impl About {
    /// The unknowns that a formula is about.
    pub fn of(formula: &Formula) -> About {
        let mut bits = 0;
        formula.visit_variables(&mut |v| bits |= 1 << v.0.min(63));
        About(bits)
    }

    /// Whether it is about nothing.
    pub fn is_nothing(self) -> bool {
        self.0 == 0
    }

    /// One more than the last of them; `None` if that is beyond what is told apart.
    pub fn bound(self) -> Option<usize> {
        (self.0 >> 63 == 0).then(|| 64 - self.0.leading_zeros() as usize)
    }

    /// Whether both are about one unknown.
    pub fn meets(self, other: About) -> bool {
        self.0 & other.0 != 0
    }

    /// Takes in another; whether that was anything new.
    pub fn grow(&mut self, other: About) -> bool {
        let before = self.0;
        self.0 |= other.0;
        self.0 != before
    }
}

impl PartialEq for Fact {
    fn eq(&self, other: &Fact) -> bool {
        self.hash == other.hash && self.formula == other.formula
    }
}

impl Eq for Fact {}

/// Facts in order. Copies share them.
pub type Facts = Arc<Vec<Arc<Fact>>>;

/// What is known at a place. A copy is cheap: it shares everything until it learns something.
#[derive(Clone, Debug, Default)]
pub struct Context {
    meanings: BTreeMap<Var, Arc<Meaning>>,
    shown: Arc<Vec<Arc<Shown>>>,
    facts: Facts,
    hints: Arc<Vec<Hint>>,
    sizes: usize,
}

impl Context {
    /// At a function's entry: sizes within their limits, and what it requires.
    pub fn entry(fun: &Fun) -> Context {
        Context::of_sizes(&fun.sizes, &fun.vars, &fun.requires)
    }

    /// Sizes within their limits and conditions on them.
    pub fn of_sizes(sizes: &[Var], vars: &[VarInfo], requires: &[Guard]) -> Context {
        let mut cx = Context::default();
        for size in sizes {
            let t = cx.unknown(Shown::Plain(vars[size.index()].name.clone()));
            cx.fact(t.clone().ge(0));
            cx.fact(t.clone().le(i128::from(MAX_DIM)));
            cx.mean(*size, Meaning::Index(t));
        }
        cx.sizes = sizes.len();
        for guard in requires {
            cx.assume(guard);
        }
        cx
    }

    /// Outside functions: sizes within their limits, by name.
    pub fn of_names(names: &[String]) -> Context {
        let mut cx = Context::default();
        for name in names {
            let t = cx.unknown(Shown::Plain(name.clone()));
            cx.fact(t.clone().ge(0));
            cx.fact(t.le(i128::from(MAX_DIM)));
        }
        cx.sizes = names.len();
        cx
    }

    /// A size, by its position.
    pub fn size(&self, position: usize) -> Option<Term> {
        (position < self.sizes).then(|| Term::Var(Unknown(position as u32)))
    }

    /// A new integer.
    pub fn unknown(&mut self, shown: Shown) -> Term {
        Arc::make_mut(&mut self.shown).push(Arc::new(shown));
        Term::Var(Unknown(self.shown.len() as u32 - 1))
    }

    /// Adds a fact.
    pub fn fact(&mut self, fact: Formula) {
        let facts = Arc::make_mut(&mut self.facts);
        for formula in fact.conjuncts() {
            let mut h = Folded::default();
            formula.hash(&mut h);
            let about = About::of(&formula);
            facts.push(Arc::new(Fact { formula, hash: h.finish(), about }));
        }
    }

    fn mean(&mut self, var: Var, meaning: Meaning) {
        self.meanings.insert(var, Arc::new(meaning));
    }

    fn meaning(&self, var: Var) -> Option<&Meaning> {
        self.meanings.get(&var).map(|m| &**m)
    }

    /// Adds a guard as a fact.
    pub fn assume(&mut self, guard: &Guard) {
        let f = self.guard(guard);
        self.fact(f);
    }

    /// Goes into a loop: its variable ranges over its domain.
    pub fn enter(&mut self, name: &str, var: Var, domain: &Domain) {
        self.bind(Shown::Plain(name.to_string()), var, domain);
    }

    /// Goes into a loop a second time, as another iteration of it: `k'` beside `k`, in `self`, where `first` has `k`.
    pub fn enter_again(&mut self, name: &str, var: Var, domain: &Domain) {
        self.bind(Shown::Plain(name.to_string()).primed(), var, domain);
    }

    fn bind(&mut self, shown: Shown, var: Var, domain: &Domain) {
        match domain {
            Domain::Range { lo, hi } => {
                let (lo, hi) = (self.ix(lo), self.ix(hi));
                let x = self.unknown(shown);
                self.fact(Formula::within(lo, x.clone(), hi));
                self.mean(var, Meaning::Index(x));
            }
            Domain::Blocks { lo, hi, size } => {
                let (lo, hi, size) = (self.ix(lo), self.ix(hi), i128::from(*size));
                let idx = self.unknown(Shown::Hidden(String::new()));
                let first = lo.clone().add(idx.clone().times(size));
                if let Some(slot) = Arc::make_mut(&mut self.shown).last_mut() {
                    let (name, lo) = (shown.name().to_string(), first.clone());
                    *slot = Arc::new(Shown::Block { name, lo, hi: hi.clone(), size });
                }
                self.fact(idx.clone().ge(0));
                self.fact(first.lt(hi.clone()));
                self.mean(var, Meaning::Block { lo, hi, size, idx });
            }
        }
    }

    /// Gives a loop's variable a value instead of letting it range: for a plain loop the index, for blocks the number.
    /// The value's membership in the domain is *not* assumed; [`Context::membership`] says it.
    pub fn place(&mut self, var: Var, domain: &Domain, value: Term) {
        let meaning = match domain {
            Domain::Range { .. } => Meaning::Index(value),
            Domain::Blocks { lo, hi, size } => {
                Meaning::Block { lo: self.ix(lo), hi: self.ix(hi), size: i128::from(*size), idx: value }
            }
        };
        self.mean(var, meaning);
    }

    /// That the loop's variable, as it is bound here, lies in the domain.
    pub fn membership(&self, var: Var, domain: &Domain) -> Formula {
        match (domain, self.meaning(var)) {
            (Domain::Range { lo, hi }, Some(Meaning::Index(x))) => Formula::within(self.ix(lo), x.clone(), self.ix(hi)),
            (Domain::Blocks { .. }, Some(Meaning::Block { lo, hi, size, idx })) => {
                Formula::and([idx.clone().ge(0), lo.clone().add(idx.clone().times(*size)).lt(hi.clone())])
            }
            _ => Formula::False,
        }
    }

    /// The integer that a loop's variable stands for: the index, or the number of the block.
    pub fn counter(&self, var: Var) -> Option<Term> {
        match self.meaning(var)? {
            Meaning::Index(t) => Some(t.clone()),
            Meaning::Block { idx, .. } => Some(idx.clone()),
        }
    }

    /// How many iterations a loop over the domain has.
    pub fn count(&self, domain: &Domain) -> Term {
        match domain {
            Domain::Range { lo, hi } => self.ix(hi).sub(self.ix(lo)).max(0),
            Domain::Blocks { lo, hi, size } => {
                let n = i128::from(*size);
                self.ix(hi).sub(self.ix(lo)).add(n - 1).div(n).max(0)
            }
        }
    }

    /// An index as a term. An unbound variable is an unknown of no name: it can only make a proof fail.
    pub fn ix(&self, ix: &Ix) -> Term {
        match ix {
            Ix::Lit(n) => Term::Lit(i128::from(*n)),
            Ix::Var(v) => match self.meaning(*v) {
                Some(Meaning::Index(t)) => t.clone(),
                Some(Meaning::Block { idx, .. }) => idx.clone(),
                None => Term::Var(Unknown(u32::MAX)),
            },
            Ix::Add(a, b) => self.ix(a).add(self.ix(b)),
            Ix::Sub(a, b) => self.ix(a).sub(self.ix(b)),
            Ix::Mul(n, a) => self.ix(a).times(i128::from(*n)),
            Ix::Div(a, n) => self.ix(a).div(i128::from(*n)),
            Ix::Mod(a, n) => self.ix(a).rem(i128::from(*n)),
            Ix::Min(a, b) => self.ix(a).min(self.ix(b)),
            Ix::Max(a, b) => self.ix(a).max(self.ix(b)),
            Ix::If(g, a, b) => Term::ite(self.guard(g), self.ix(a), self.ix(b)),
            Ix::Block(v, part) => match self.meaning(*v) {
                Some(Meaning::Block { lo, hi, size, idx }) => {
                    let first = lo.clone().add(idx.clone().times(*size));
                    match part {
                        BlockPart::Lo => first,
                        BlockPart::Idx => idx.clone(),
                        BlockPart::Len => Term::Lit(*size).min(hi.clone().sub(first)),
                        BlockPart::Hi => first.add(*size).min(hi.clone()),
                    }
                }
                _ => Term::Var(Unknown(u32::MAX)),
            },
            Ix::InBlock(v, e) => match self.meaning(*v) {
                Some(Meaning::Block { lo, hi: _, size, idx }) => {
                    lo.clone().add(idx.clone().times(*size)).add(self.ix(e))
                }
                _ => Term::Var(Unknown(u32::MAX)),
            },
        }
    }

    /// A guard as a formula.
    pub fn guard(&self, guard: &Guard) -> Formula {
        match guard {
            Guard::Const(true) => Formula::True,
            Guard::Const(false) => Formula::False,
            Guard::Cmp(Rel::Eq, a, b) => self.ix(a).equals(self.ix(b)),
            Guard::Cmp(Rel::Ne, a, b) => self.ix(a).differs(self.ix(b)),
            Guard::Cmp(Rel::Lt, a, b) => self.ix(a).lt(self.ix(b)),
            Guard::Cmp(Rel::Le, a, b) => self.ix(a).le(self.ix(b)),
            Guard::And(a, b) => Formula::and([self.guard(a), self.guard(b)]),
            Guard::Or(a, b) => Formula::or([self.guard(a), self.guard(b)]),
            Guard::Not(a) => Formula::not(self.guard(a)),
        }
    }

    /// A tuple of indices.
    pub fn tuple(&self, at: &[Ix]) -> Vec<Term> {
        at.iter().map(|i| self.ix(i)).collect()
    }

    /// Suggests to consider `a < b`, `a = b`, `a > b` apart.
    pub fn hint(&mut self, a: Term, b: Term) {
        Arc::make_mut(&mut self.hints).push(Hint::Trichotomy(a, b));
    }

    /// The condition that `goal` holds here.
    pub fn problem(&self, goal: Formula) -> Problem {
        problem(&self.shown, &self.facts, &goal, &self.hints)
    }

    /// How each unknown prints, by number.
    pub fn shown(&self) -> &Arc<Vec<Arc<Shown>>> {
        &self.shown
    }

    /// The suggestions.
    pub fn hints(&self) -> &Arc<Vec<Hint>> {
        &self.hints
    }

    /// How many of the first unknowns are the function's sizes.
    pub fn sizes(&self) -> usize {
        self.sizes
    }

    /// What is assumed here.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Shares another context's unknowns and facts and keeps its own meanings: for the second of two programs that run
    /// side by side.
    pub fn continue_from(&mut self, other: &Context) {
        self.shown = other.shown.clone();
        self.facts = other.facts.clone();
        self.hints = other.hints.clone();
    }
}

/// A condition as the prover takes it.
pub fn problem(shown: &[Arc<Shown>], facts: &Facts, goal: &Formula, hints: &[Hint]) -> Problem {
    Problem {
        names: shown.iter().map(|s| s.name().to_string()).collect(),
        hypotheses: facts.iter().map(|f| f.formula.clone()).collect(),
        goal: goal.clone(),
        hints: hints.to_vec(),
    }
}
