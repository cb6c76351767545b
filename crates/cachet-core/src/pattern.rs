//! Steps as data: what to match, what to put there, and how to relate the two.
//!
//! ```text
//! step fn hoist (j, k) c =
//!   from   for j in $a .. $b do store $cell = fold k in $lo .. $hi from (load $cell) as $acc: $E do $step
//!   to     for k in $lo .. $hi do for j in $a .. $b do let $acc = load $cell; store $cell = $step[$acc]
//!   relate per cell c fold S.k; per cell c fold T.k; interchange S.j
//! ```
//!
//! Names in a pattern are text: a parameter of the step (`j`, `c`), a binder of its own, or a hole (`$lo`). What a hole
//! holds depends on where it stands in `from`: an index, a domain, a cell, a local's name, a type, a word or statements.
//! A *rank hole* `i..` stands for any number of loops directly inside one another, with `$A..` for their domains.
//! A word hole knows at most one *inside*: the running total of the fold in whose body it stands, or, for a *context
//! hole* `$post[word]`, the word in the brackets; `$step[e]` and `$post[e]` put `e` there.
//!
//! Nothing here is trusted: the checker sees only the two programs.

use crate::ir::{At, Elem, Guard, Ix, Prim, Rel, Var};
use serde::{Deserialize, Serialize};

/// A step written in the language.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StepDef {
    /// Its name. Several steps may share one; the first whose `from` matches is used.
    pub name: String,
    /// Its parameters, in order.
    pub params: Vec<Params>,
    /// What to match: statements that stand one after another.
    pub from: Vec<Pat>,
    /// What to put there.
    pub to: Vec<Pat>,
    /// How to relate them; empty for line by line.
    pub recipe: Vec<Move>,
    /// Where it is written.
    pub span: At,
}

/// One argument's place in a step's head.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Params {
    /// A single name.
    One(Param),
    /// A tuple of names.
    Tuple(Vec<Param>),
}

/// A parameter's name and what its place in `from` and `to` makes it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// What an argument must be.
    pub kind: ParamKind,
}

/// What an argument of a step is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ParamKind {
    /// A loop (or fold) of the program, found by name.
    Loop,
    /// As many loops as the tuple has names left.
    Loops,
    /// A buffer.
    Buffer,
    /// A name that `to` introduces.
    New,
    /// A literal size.
    Size,
}

/// A statement of a pattern.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Pat {
    /// `$body`, `$body[t := e]`: any number of statements, with indices replaced.
    Hole(String, Vec<PatSubst>),
    /// One loop.
    For {
        /// Its variable.
        var: String,
        /// Its domain.
        domain: PatDomain,
        /// Its body.
        body: Vec<Pat>,
        /// Where it is written.
        span: At,
    },
    /// `for i.. in $A.. do`: any number of loops.
    ForAll {
        /// The variables' name, without the dots.
        vars: String,
        /// The domains' hole.
        domains: String,
        /// The innermost body.
        body: Vec<Pat>,
        /// Where it is written.
        span: At,
    },
    /// A host grid; its windows are found.
    Grid {
        /// Its variable.
        var: String,
        /// Its domain.
        domain: PatDomain,
        /// Its body.
        body: Vec<Pat>,
        /// Where it is written.
        span: At,
    },
    /// A choice.
    If {
        /// Its guard.
        guard: PatGuard,
        /// Where it holds.
        then: Vec<Pat>,
        /// Where it does not.
        els: Vec<Pat>,
        /// Where it is written.
        span: At,
    },
    /// `let x = word`; the name may be a hole.
    Let {
        /// The name.
        local: String,
        /// The word.
        word: PatWord,
        /// Where it is written.
        span: At,
    },
    /// `var x: T = word`.
    Var {
        /// The name.
        local: String,
        /// Its type.
        ty: Option<PatTy>,
        /// The first word.
        init: PatWord,
        /// Where it is written.
        span: At,
    },
    /// `x = word`.
    Assign {
        /// The name.
        local: String,
        /// The word.
        word: PatWord,
        /// Where it is written.
        span: At,
    },
    /// `store cell = word`.
    Store {
        /// The cell.
        to: PatCell,
        /// The word.
        word: PatWord,
        /// Where it is written.
        span: At,
    },
}

/// A domain of a pattern.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PatDomain {
    /// `$A`
    Hole(String),
    /// `lo .. hi`
    Range(PatIx, PatIx),
    /// `blocks (lo .. hi) n`
    Blocks(PatIx, PatIx, PatIx),
}

/// An index of a pattern.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PatIx {
    /// `$lo`
    Hole(String),
    /// A loop's variable or a size parameter of the step.
    Name(String),
    /// A literal.
    Lit(i64),
    /// Sum.
    Add(Box<PatIx>, Box<PatIx>),
    /// Difference.
    Sub(Box<PatIx>, Box<PatIx>),
    /// Product; one side must become a literal.
    Mul(Box<PatIx>, Box<PatIx>),
    /// Floor division; the divisor must become a literal > 0.
    Div(Box<PatIx>, Box<PatIx>),
    /// Remainder; likewise.
    Mod(Box<PatIx>, Box<PatIx>),
    /// The smaller.
    Min(Box<PatIx>, Box<PatIx>),
    /// The larger.
    Max(Box<PatIx>, Box<PatIx>),
    /// `g.lo`, `g.hi`, `g.len`, `g.idx`
    Part(String, crate::ir::BlockPart),
    /// `g[e]`
    InBlock(String, Box<PatIx>),
    /// An index of the program: in recipes that are given to the checker.
    Known(Ix),
}

/// A guard of a pattern.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PatGuard {
    /// A comparison.
    Cmp(Rel, PatIx, PatIx),
    /// Both.
    And(Box<PatGuard>, Box<PatGuard>),
    /// Either.
    Or(Box<PatGuard>, Box<PatGuard>),
    /// Not.
    Not(Box<PatGuard>),
    /// A guard of the program: in recipes that are given to the checker.
    Known(Guard),
}

/// A cell of a pattern.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PatCell {
    /// `$cell`, with indices replaced.
    Hole(String, Vec<PatSubst>),
    /// `c[i, j]` of a buffer parameter.
    Named(String, Vec<PatIx>),
}

/// `[k := e]` or `[i.. := zi..]`: in what the hole holds, `k` is replaced.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PatSubst {
    /// One variable.
    One(String, PatIx),
    /// Every variable of a rank hole by its namesake of another.
    All(String, String),
}

/// A type of a pattern.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PatTy {
    /// `$E`
    Hole(String),
    /// A machine's element.
    Elem(Elem),
}

/// A word of a pattern.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PatWord {
    /// `$step`, `$step[e]`, `$step[e][k := i]`; in `from`, `$post[word]` is a context around `word`, never empty.
    Hole {
        /// The hole.
        name: String,
        /// What goes inside.
        inside: Option<Box<PatWord>>,
        /// Indices replaced.
        substs: Vec<PatSubst>,
    },
    /// A local: a hole that holds a name (`$acc`), or a name that the pattern binds.
    Local(String),
    /// `load cell`
    Load(PatCell),
    /// A decimal literal, as written; it takes the type of what it is stored to.
    Float(String),
    /// An operation of the element type.
    Prim(Prim, Vec<PatWord>),
    /// Choice by a guard.
    If(Box<PatGuard>, Box<PatWord>, Box<PatWord>),
    /// A fold.
    Fold {
        /// The summed index.
        var: String,
        /// Its range.
        domain: PatDomain,
        /// The running total's name.
        acc: String,
        /// Its type.
        ty: Option<PatTy>,
        /// The start.
        init: Box<PatWord>,
        /// The next total.
        body: Box<PatWord>,
    },
}

/// Which program a line of a recipe works on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Side {
    /// The program before the step.
    S,
    /// The program after it.
    T,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Side::S => "S",
            Side::T => "T",
        })
    }
}

/// `S.k`, `T.k#2`: a loop or fold of one side, by the name it has there, the outermost and first in program order
/// being number 1.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct LoopRef {
    /// Which side.
    pub side: Side,
    /// Its name. In a [`StepDef`] the pattern's name, in a recipe given to the checker the program's.
    pub name: String,
    /// Which of that name, from 1.
    pub nth: u32,
    /// Whether the name is a rank hole's: then its outermost loop is meant.
    pub rank: bool,
}

/// A line of a recipe, with the place it is written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Move {
    /// What to do.
    pub kind: MoveKind,
    /// Where it is written.
    pub span: At,
}

/// What a line of a recipe does. Each turns one side into a program that means the same.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum MoveKind {
    /// `per cell c fold S.k`: reads a sum that is stored to a cell as updates of that cell.
    PerCell {
        /// The buffer.
        buffer: String,
        /// The fold.
        fold: LoopRef,
    },
    /// `interchange S.j`: swaps a loop with the one directly inside it.
    Interchange(LoopRef),
    /// `order S (x, ..)`: puts loops of a nest of loops in another order; those not named go inside, in their order.
    Order(Vec<LoopRef>),
    /// `distribute S.i at 1`: splits the innermost block of the nest under a loop after so many statements.
    Distribute {
        /// The outermost loop of the nest.
        of: LoopRef,
        /// How many statements stay in the first nest.
        at: u32,
    },
    /// `fuse S.i, S.i#2`: joins two loops over one domain that stand one after the other.
    Fuse(LoopRef, LoopRef),
    /// `split S.k by n as g ragged`: a loop or sum in consecutive blocks. Without `ragged` every block is whole, and the
    /// length of the range has to be a multiple of the size.
    Split {
        /// The loop or sum, which goes on counting inside the blocks.
        of: LoopRef,
        /// The size of a block, > 0.
        by: PatIx,
        /// The name of the loop over blocks.
        outer: String,
        /// Whether the last block may be shorter.
        ragged: bool,
    },
    /// `cut S.k at e`: a loop as two, one after the other, the second from an index on.
    Cut {
        /// The loop.
        of: LoopRef,
        /// Where the second begins.
        at: PatIx,
    },
    /// `cover S.l by n as q of N`: a loop in so many blocks, of which the last ones may be short or empty.
    Cover {
        /// The loop, which goes on counting inside the blocks.
        of: LoopRef,
        /// The size of a block, > 0.
        by: i64,
        /// The name of the loop over blocks.
        outer: String,
        /// How many blocks there are.
        count: PatIx,
    },
    /// `widen S.x to e`: a loop that runs further and does nothing there.
    Widen {
        /// The loop.
        of: LoopRef,
        /// How far.
        to: PatIx,
    },
    /// `relayout T.t as u`: a local array's cells as those of another, by a map.
    Relayout {
        /// Which program.
        side: Side,
        /// The local's name.
        local: String,
        /// The other's name.
        name: String,
        /// How long its axes are.
        dims: Vec<i64>,
        /// The local's axes, in the map.
        axes: Vec<Var>,
        /// The other's cell, in terms of them.
        cell: Vec<Ix>,
    },
    /// `join T.g, T.x`: a loop over blocks and the loop inside each block, as the loop that they cut.
    Join(LoopRef, LoopRef),
    /// `carry T.t as c`: a local that holds cells of an array, as those cells.
    Carry {
        /// Which program.
        side: Side,
        /// The local's name.
        local: String,
        /// The array.
        buffer: String,
    },
    /// `narrow T.t axis 1 to e`: leaves out what fills cells of a local that nobody reads.
    Narrow {
        /// Which program.
        side: Side,
        /// The local's name.
        local: String,
        /// The axis, from 0.
        axis: u32,
        /// Where the cells begin that nobody reads.
        to: PatIx,
    },
    /// `lanes T (l)`: names the lanes of vector statements, which are loops.
    Lanes(Side, Vec<String>),
    /// `reorder S to T all: by (i = e, ..) back (d = e, ..)`: other loops around one body.
    Reorder {
        /// `S`'s loops, outermost first, each in terms of `T`'s.
        by: Vec<(MapVar, PatIx)>,
        /// `T`'s loops, outermost first, each in terms of `S`'s.
        back: Vec<(MapVar, PatIx)>,
    },
    /// `first S.g`: moves the statement before a loop into the loop's first iteration.
    First(LoopRef),
    /// `selfstore S.c`: `if g then store c[x] = w` is `store c[x] = if g then w else load c[x]`.
    SelfStore(Side, String),
    /// `copy T.P`: reads an array's copies from where they come from.
    Copy(Side, String),
    /// `unroll S.k`: a loop or sum of literal length as its copies.
    Unroll(LoopRef),
    /// `unfold S.f`: calls of a pure function as their values.
    Unfold(Side, String),
    /// `regroup S.k (add: order) by associative`: a sum's terms are joined by themselves first, then with what it started
    /// from.
    Regroup {
        /// The sum, or a loop that updates one cell.
        of: LoopRef,
        /// The operation that joins, by its name.
        op: String,
        /// By which law.
        by: Regrouping,
    },
    /// `case g { .. } else { .. }`: `S` is a choice between two copies of itself; each goes on with its own lines.
    Case {
        /// The guard.
        guard: PatGuard,
        /// Where it holds.
        then: Vec<Move>,
        /// Where it does not.
        els: Vec<Move>,
    },
    /// `given g`: something that is proved once and then known.
    Given(PatGuard),
}

/// What lets the terms of a sum be joined by themselves first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Regrouping {
    /// They start from the operation's identity.
    Associative,
    /// They start from the word that the whole sum started from, once more.
    Idempotent,
}

impl std::fmt::Display for Regrouping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Regrouping::Associative => "associative",
            Regrouping::Idempotent => "idempotent",
        })
    }
}

/// A loop of a map.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum MapVar {
    /// By the pattern's name.
    Named(String),
    /// A loop of the program: in recipes that are given to the checker.
    Known(Var),
}

impl std::fmt::Display for LoopRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.side, self.name)?;
        if self.nth > 1 { write!(f, "#{}", self.nth) } else { Ok(()) }
    }
}

/// A line of a recipe as it is written; an index that is known by the program's ids shows as `..`.
impl std::fmt::Display for MoveKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = |all: &[LoopRef]| all.iter().map(|l| l.name.clone()).collect::<Vec<_>>().join(", ");
        match self {
            MoveKind::PerCell { buffer, fold } => write!(f, "per cell {buffer} fold {fold}"),
            MoveKind::Interchange(l) => write!(f, "interchange {l}"),
            MoveKind::Order(all) => {
                let side = all.first().map_or(Side::S, |l| l.side);
                write!(f, "order {side} ({})", names(all))
            }
            MoveKind::Distribute { of, at } => write!(f, "distribute {of} at {at}"),
            MoveKind::Fuse(a, b) => write!(f, "fuse {a}, {b}"),
            MoveKind::Split { of, by, outer, ragged } => {
                let size = match by {
                    PatIx::Lit(n) => n.to_string(),
                    PatIx::Name(name) | PatIx::Hole(name) => name.clone(),
                    _ => "..".to_string(),
                };
                write!(f, "split {of} by {size} as {outer}{}", if *ragged { " ragged" } else { "" })
            }
            MoveKind::Cut { of, at } => {
                let at = match at {
                    PatIx::Lit(n) => n.to_string(),
                    PatIx::Name(name) | PatIx::Hole(name) => name.clone(),
                    _ => "..".to_string(),
                };
                write!(f, "cut {of} at {at}")
            }
            MoveKind::Cover { of, by, outer, .. } => write!(f, "cover {of} by {by} as {outer} of .."),
            MoveKind::Widen { of, .. } => write!(f, "widen {of} to .."),
            MoveKind::Relayout { side, local, name, .. } => write!(f, "relayout {side}.{local} as {name}"),
            MoveKind::Join(a, b) => write!(f, "join {a}, {b}"),
            MoveKind::Carry { side, local, buffer } => write!(f, "carry {side}.{local} as {buffer}"),
            MoveKind::Narrow { side, local, axis, to } => {
                let to = match to {
                    PatIx::Lit(n) => n.to_string(),
                    PatIx::Name(name) | PatIx::Hole(name) => name.clone(),
                    _ => "..".to_string(),
                };
                write!(f, "narrow {side}.{local} axis {axis} to {to}")
            }
            MoveKind::Lanes(side, names) => write!(f, "lanes {side} ({})", names.join(", ")),
            MoveKind::Reorder { .. } => f.write_str("reorder S to T all: by (..) back (..)"),
            MoveKind::First(l) => write!(f, "first {l}"),
            MoveKind::SelfStore(side, buffer) => write!(f, "selfstore {side}.{buffer}"),
            MoveKind::Copy(side, buffer) => write!(f, "copy {side}.{buffer}"),
            MoveKind::Unroll(l) => write!(f, "unroll {l}"),
            MoveKind::Unfold(side, name) => write!(f, "unfold {side}.{name}"),
            MoveKind::Regroup { of, op, by } => write!(f, "regroup {of} ({op}: order) by {by}"),
            MoveKind::Case { .. } => f.write_str("case .."),
            MoveKind::Given(_) => f.write_str("given .."),
        }
    }
}
