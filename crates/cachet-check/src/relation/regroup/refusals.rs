//! Why a sum may not be regrouped: no chain of the operation, or a law that does not hold of words.

use super::super::Relation;
use super::{Made, Sum, UsedLaw};
use crate::condition::Kind;
use crate::formula::Formula;
use crate::laws::{self, Fails, Found, Standing};
use cachet_core::chain::{Break, Operation};
use cachet_core::ir::{Binding, Block, BlockPart, Domain, Ix, Stmt, StmtKind, Var, Word};
use cachet_core::law::{Law, Sense};
use cachet_core::pattern::LoopRef;
use cachet_core::rewrite::{Visit, visit_block, visit_stmt, visit_word};
use cachet_source::{Diagnostic, Kind as Severity, codes};

/// Of a block of unknown size, so many terms.
const SOME_TERMS: i64 = 4;
/// Replays of longer blocks say little.
const MOST_TERMS: i64 = 32;

impl Relation<'_> {
    /// Every law that is needed is proved and noted, or the sum is refused.
    pub(super) fn lawful(&mut self, sum: &Sum, made: &Made, wanted: &LoopRef) -> Result<(), Diagnostic> {
        let cx = self.context.clone();
        for property in &made.needed {
            let law = Law { property: *property, sense: Sense::Exactly };
            let standing = laws::standing(self.program, &self.fun, &made.op, *property);
            if standing != Standing::Proved {
                return Err(self.unlawful(sum, &made.op, law, standing, wanted));
            }
            let owner = made.op.owner(self.program, &self.fun);
            let what = format!("{} of {owner} holds", self.law_text(&made.op, law));
            self.emit(Kind::Law, &cx, Formula::True, &what, &[], &[]);
            let used = UsedLaw { of: made.op.of, law };
            if !self.laws.contains(&used) {
                self.laws.push(used);
            }
        }
        Ok(())
    }

    fn law_text(&self, op: &Operation, law: Law) -> String {
        op.interface(self.program, &self.fun).map_or_else(String::new, |i| law.text(i))
    }

    /// A law that does not hold of words.
    fn unlawful(&self, sum: &Sum, op: &Operation, law: Law, standing: Standing, wanted: &LoopRef) -> Diagnostic {
        let (owner, text) = (op.owner(self.program, &self.fun), self.law_text(op, law));
        let interface = op.interface(self.program, &self.fun);
        let over_reals = matches!(standing, Standing::Missing { over_reals: true, .. });
        let abstract_type = matches!(op.of, Binding::Param(_));
        let why = match (&standing, interface) {
            (_, Some(i)) if abstract_type && over_reals => format!("and {} wants it over the reals only", i.name),
            (_, Some(i)) if abstract_type => format!("which {} does not want of every `{owner}`", i.name),
            (Standing::Missing { over_reals: true, .. }, _) => format!("and `{owner}` has it over the reals only"),
            (Standing::Missing { over_reals: false, .. } | Standing::Proved, _) => {
                format!("which `{owner}` does not state")
            }
            (Standing::False(_), _) => format!("which is false of `{owner}`"),
            (Standing::NotProved(_), _) => format!("which was not proved of `{owner}`"),
        };
        let asks = format!("regrouping the sum over `{}` needs `law {text}`, {why}", wanted.name);
        let says = format!("it says {}", laws::says(interface, law.property));
        if over_reals && sum.fold.regroup {
            return Diagnostic::not_built(self.asked.span, "regrouping by laws that hold over the reals only")
                .note(format!("the sum over `{}` permits it with `[reassoc]`", wanted.name))
                .note(asks)
                .note(says);
        }
        let mut d = self.regrouping(sum, asks).note(says);
        d = match standing {
            Standing::Proved => d,
            Standing::False(fails) => d.note(differ(&fails)),
            Standing::NotProved(why) => {
                d.kind = Severity::NotProved;
                d.note(format!("the proof does not get past this: {why}"))
            }
            Standing::Missing { found, .. } => match found {
                Found::Holds => d.help(format!("it holds: state it in `impl .. for {owner}`")),
                Found::Fails(fails) => d.note(differ(&fails)),
                Found::Nothing => d,
            },
        };
        if over_reals && d.helps.is_empty() {
            let sum_text = self.permitted(op, &wanted.name);
            d = d
                .help(format!("`{sum_text}` in the contraction permits results that agree over the reals only"))
                .help("an implementation whose laws hold exactly needs no permission, and keeps the bits");
        }
        d
    }

    /// The text that permits it: `sum[reassoc] k.`.
    fn permitted(&self, op: &Operation, index: &str) -> String {
        match op.name(self.program, &self.fun).as_str() {
            "combine" => format!("reduce[reassoc] {} {index}.", op.owner(self.program, &self.fun)),
            _ => format!("sum[reassoc] {index}."),
        }
    }

    /// A sum that is no chain of the operation.
    pub(super) fn no_chain(
        &self,
        sum: &Sum,
        op: &str,
        nearest: Option<(Operation, Break)>,
        wanted: &LoopRef,
    ) -> Diagnostic {
        let index = &wanted.name;
        let step = self.names().word(&sum.fold.body);
        let total = self.names().local(sum.fold.acc).to_string();
        let step = format!("the step is {step}, and its total is {total}");
        let Some((operation, why)) = nearest else {
            let message = format!("a step of the sum over `{index}` is not its total joined with something by `{op}`");
            return self
                .regrouping(sum, message)
                .note(step)
                .note(format!("no implementation here has a `{op}` that computes this"));
        };
        let owner = operation.owner(self.program, &self.fun);
        let name = format!("`{op}` of `{owner}`");
        let message = match why {
            Break::Other => {
                format!("a step of the sum over `{index}` is not its total joined with something by {name}")
            }
            Break::Twice => format!("a step of the sum over `{index}` uses its total twice, and {name} joins it once"),
            Break::Anew => format!("a step of the sum over `{index}` does not go on from its total"),
            Break::Large => format!("a step of the sum over `{index}` is too large to be looked through"),
        };
        self.regrouping(sum, message).note(step)
    }

    /// A refusal to regroup a sum.
    fn regrouping(&self, sum: &Sum, message: String) -> Diagnostic {
        let mut d = Diagnostic::new(Severity::Error, codes::REGROUP, message).at(self.asked.span, "");
        let span = sum.fold.span.0;
        if span.lo != span.hi && span != self.asked.span {
            d = d.also(span, "the sum");
        }
        d.note("the terms of a block would be joined by themselves first, and then with the total")
    }

    /// Sizes at which two blocks, the second of several terms, tell one order from the other.
    pub(super) fn telling_sizes(&self, program: &Block, terms: &Domain) -> Vec<i64> {
        let block = |g: Var| block_size(program, g).or_else(|| block_size(&self.fun.body, g));
        let terms = match terms {
            Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(n) } => 2 * (*n).clamp(1, MOST_TERMS),
            Domain::Range { hi: Ix::Block(g, BlockPart::Len), .. } => {
                block(*g).map_or(SOME_TERMS, |n| n.clamp(1, MOST_TERMS) + 2)
            }
            Domain::Range { .. } | Domain::Blocks { .. } => SOME_TERMS,
        };
        vec![terms; self.fun.sizes.len()]
    }
}

/// What an equation's sides are where they differ.
fn differ(fails: &Fails) -> String {
    let at: Vec<String> = fails.values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let sides = match &fails.sides {
        Some((left, right)) => format!("the left side is {left} and the right side {right}"),
        None => "the sides differ".into(),
    };
    format!("where {}, {sides}", at.join(", "))
}

/// How long the blocks of a loop are.
fn block_size(program: &Block, var: Var) -> Option<i64> {
    let mut size = Size(var, None);
    visit_block(&mut size, program);
    size.1
}

/// The size of the blocks that a loop runs over.
struct Size(Var, Option<i64>);

impl Visit for Size {
    fn stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::For { var, domain: Domain::Blocks { size, .. }, .. } = &stmt.kind
            && *var == self.0
        {
            self.1 = Some(*size);
        }
        visit_stmt(self, stmt);
    }

    fn word(&mut self, word: &Word) {
        if let Word::Fold(f) = word
            && let Domain::Blocks { size, .. } = f.domain
            && f.var == self.0
        {
            self.1 = Some(size);
        }
        visit_word(self, word);
    }
}
