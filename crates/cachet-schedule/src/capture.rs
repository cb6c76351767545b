//! What a match found: what each name and each hole of a pattern stands for.

use crate::tidy;
use cachet_core::ir::{Access, Buffer, Domain, Ix, Local, Stmt, Ty, Var, Word};
use std::collections::BTreeMap;

/// What a hole holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    /// `$lo`
    Ix(Ix),
    /// `$A`
    Domain(Domain),
    /// `$A..`
    Domains(Vec<Domain>),
    /// `$cell`
    Cell(Access),
    /// A local that stands outside what is matched.
    Name(Local),
    /// `$E`
    Ty(Ty),
    /// `$step`, with the local that stands for what `$step[..]` puts inside.
    Word(Word, Option<Local>),
    /// `$body`
    Stmts(Vec<Stmt>),
}

impl Held {
    /// The same, where sums with 0 do not count.
    fn tidy(&self) -> Held {
        match self {
            Held::Ix(i) => Held::Ix(tidy::ix(i)),
            Held::Domain(d) => Held::Domain(tidy::domain(d)),
            Held::Domains(all) => Held::Domains(all.iter().map(tidy::domain).collect()),
            Held::Cell(a) => Held::Cell(tidy::access(a)),
            Held::Name(_) | Held::Ty(_) | Held::Word(..) | Held::Stmts(_) => self.clone(),
        }
    }
}

/// An argument of a step, looked up.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A loop or sum of this name, perhaps a particular one.
    Loop(String, Option<u32>),
    /// Several, outermost first.
    Loops(Vec<(String, Option<u32>)>),
    /// A buffer.
    Buffer(Buffer),
    /// A name to introduce.
    New(String),
    /// A size.
    Size(i64),
}

/// The arguments by the step's parameter names.
pub type Args = BTreeMap<String, Arg>;

/// A loop or sum that `from` binds.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The pattern's name. Several that stand side by side may share it.
    pub name: String,
    /// The program's loop; of a rank hole all, outermost first.
    pub vars: Vec<Var>,
    /// Whether it is a sum that may be regrouped.
    pub regroup: bool,
}

/// A match.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// Holes.
    pub held: BTreeMap<String, Held>,
    /// Loops and sums, in the pattern's order.
    pub loops: Vec<Bound>,
    /// Locals that `from` declares, in the pattern's order.
    pub locals: Vec<(String, Local)>,
    /// Locals made to stand for the inside of context holes; the next to be made.
    pub placeholders: u32,
}

impl Capture {
    /// Records what a hole holds. A hole that stands twice must hold equal things.
    pub fn hold(&mut self, name: &str, held: Held) -> bool {
        match self.held.get(name) {
            Some(known) => known.tidy() == held.tidy(),
            None => {
                self.held.insert(name.to_string(), held);
                true
            }
        }
    }

    /// The first loop, sum or nest under a name of the pattern.
    pub fn bound(&self, name: &str) -> Option<&Bound> {
        self.loops.iter().find(|b| b.name == name)
    }

    /// The first local under a name of the pattern, else one that stands outside.
    pub fn local(&self, name: &str) -> Option<Local> {
        let declared = self.locals.iter().find(|(n, _)| n == name).map(|(_, l)| *l);
        declared.or(match self.held.get(name) {
            Some(Held::Name(l)) => Some(*l),
            _ => None,
        })
    }
}

/// Locals that stand for the inside of a context hole have numbers that no function reaches.
pub const PLACEHOLDER: u32 = u32::MAX / 2;
