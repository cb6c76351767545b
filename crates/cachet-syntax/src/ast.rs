//! The typed syntax: what a file says, with the place of every word of it.
//!
//! Plain owned data, made from the lossless tree by [`crate::parse`]. Nothing is resolved: a name is a string, a call
//! may turn out to be a value, a path may turn out to be a type. Rules that hold of every file made by `parse`:
//!
//! - every node has the [`Span`] of its text, comments and blanks around it excluded;
//! - a *hole* (`$cell`) is an [`Ident`] whose name keeps its `$`; holes stand only in step functions;
//! - an entry that breaks the grammar is missing, its siblings are there, and [`File::broken`] holds its place;
//! - no expression is higher than [`crate::MAX_HEIGHT`] and no nest deeper than [`crate::MAX_DEPTH`], so recursion
//!   over this data is safe;
//! - every list that the grammar calls non-empty is non-empty, except a block all of whose entries were broken.
#![allow(clippy::large_enum_variant, reason = "nodes are visited in place; most are as large as the largest")]

mod expr;
mod item;
mod step;
mod stmt;

pub use expr::{
    BinaryOp, Binder, Expr, ExprKind, FieldInit, Index, Mask, Place, Shape, ShapeKind, Targ, TargItem, Type, TypeArg,
    TypeKind, UnaryOp,
};
pub use item::{
    Assert, Clause, ClauseKind, Const, ConstValue, Contraction, Device, DeviceEntry, Equation, FnItem, FnResult, Impl,
    Instr, Interface, KeepRow, Law, LawScope, Layout, LayoutOp, Level, LevelRows, Member, MemberConst, MemberFn, Mode,
    Param, ParamType, Platform, PlatformEntry, PlatformField, Proof, Record, RecordField, Requirement, Synth, SynthVar,
    Target, Template, Traffic, TraitParam, TypeParam, Unit,
};
pub use step::{
    BuiltinStep, LoopPart, LoopRef, Move, MoveKind, NewName, ReducePart, ReorderLine, Schedule, ScheduleFn, Side,
    SideRef, SplitIndex, SplitLevel, Step, StepArg, StepFn, StepKind, StepParam, TupleParam,
};
pub use stmt::{Block, Domain, DomainKind, GridIndex, LoopVar, Stmt, StmtKind, Tile, Window};

use cachet_source::Span;

/// A file.
#[derive(Clone, PartialEq, Debug)]
pub struct File {
    /// `module (platform = NAME)`, if the file says it.
    pub module: Option<Module>,
    /// The imports, in order.
    pub imports: Vec<Import>,
    /// The items, in order.
    pub items: Vec<Item>,
    /// The places of the entries that were dropped because they break the grammar, in order.
    pub broken: Vec<Span>,
    /// The whole text.
    pub span: Span,
}

impl File {
    /// Whether something inside `span` was dropped: an item of which this holds is incomplete.
    pub fn is_broken(&self, span: Span) -> bool {
        self.broken.iter().any(|b| span.lo <= b.lo && b.lo < span.hi.max(span.lo + 1))
    }
}

/// A name, or a hole with its `$`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ident {
    /// The text: `gk`, `acc'0`, `$cell`.
    pub name: String,
    /// Where.
    pub span: Span,
}

impl Ident {
    /// Whether this is a hole, `$name`.
    pub fn is_hole(&self) -> bool {
        self.name.starts_with('$')
    }
}

/// A string literal, its escapes resolved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Str {
    /// The text it stands for.
    pub value: String,
    /// Where, quotes included.
    pub span: Span,
}

/// Names joined by dots: `S.Value`. At least one part; a hole stands only as the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// The names.
    pub parts: Vec<Ident>,
    /// Where.
    pub span: Span,
}

impl Path {
    /// The name, if the path is a single one.
    pub fn as_ident(&self) -> Option<&Ident> {
        match self.parts.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The names joined by dots.
    pub fn text(&self) -> String {
        self.parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(".")
    }
}

/// `module NAME? (platform = NAME)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Module {
    /// The module's own name, if given.
    pub name: Option<Ident>,
    /// The platform.
    pub platform: Ident,
    /// Where.
    pub span: Span,
}

/// `import "cachet:steps"`.
#[derive(Clone, PartialEq, Debug)]
pub struct Import {
    /// What is imported: a relative path or `cachet:NAME`.
    pub path: Str,
    /// Where.
    pub span: Span,
}

/// A top-level entry.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    /// `const NAME: Nat = 4`.
    Const(Const),
    /// `synth const NR: Nat = minimize …`.
    Synth(Synth),
    /// `proof NAME = assert …`.
    Proof(Proof),
    /// `record NAME where …`.
    Record(Record),
    /// `interface NAME where …`.
    Interface(Interface),
    /// `impl NAME for TYPE where …`.
    Impl(Impl),
    /// `layout NAME (r) [i, k] = …`.
    Layout(Layout),
    /// `fn NAME … = …`.
    Fn(FnItem),
    /// `instr fn NAME … = …`.
    Instr(Instr),
    /// `contraction NAME … = …`.
    Contraction(Contraction),
    /// `schedule NAME of NAME … = …`.
    Schedule(Schedule),
    /// `schedule fn NAME … = …`.
    ScheduleFn(ScheduleFn),
    /// `step fn NAME … = from … to …`.
    StepFn(StepFn),
    /// `builtin step WORD …`.
    BuiltinStep(BuiltinStep),
    /// `platform NAME where …`.
    Platform(Platform),
}

impl Item {
    /// The names the item introduces: one, except for a `synth const` of several and an `impl` (none).
    pub fn names(&self) -> Vec<&Ident> {
        match self {
            Item::Const(i) => vec![&i.name],
            Item::Synth(i) => i.vars.iter().map(|v| &v.name).collect(),
            Item::Proof(i) => vec![&i.name],
            Item::Record(i) => vec![&i.name],
            Item::Interface(i) => vec![&i.name],
            Item::Impl(_) => Vec::new(),
            Item::Layout(i) => vec![&i.name],
            Item::Fn(i) => vec![&i.name],
            Item::Instr(i) => vec![&i.name],
            Item::Contraction(i) => vec![&i.name],
            Item::Schedule(i) => vec![&i.name],
            Item::ScheduleFn(i) => vec![&i.name],
            Item::StepFn(i) => vec![&i.name],
            Item::BuiltinStep(i) => vec![&i.name],
            Item::Platform(i) => vec![&i.name],
        }
    }

    /// Where the item stands.
    pub fn span(&self) -> Span {
        match self {
            Item::Const(i) => i.span,
            Item::Synth(i) => i.span,
            Item::Proof(i) => i.span,
            Item::Record(i) => i.span,
            Item::Interface(i) => i.span,
            Item::Impl(i) => i.span,
            Item::Layout(i) => i.span,
            Item::Fn(i) => i.span,
            Item::Instr(i) => i.span,
            Item::Contraction(i) => i.span,
            Item::Schedule(i) => i.span,
            Item::ScheduleFn(i) => i.span,
            Item::StepFn(i) => i.span,
            Item::BuiltinStep(i) => i.span,
            Item::Platform(i) => i.span,
        }
    }
}
