//! Items other than schedules and steps.

use super::{Block, Expr, Ident, Index, Str, Targ, Type};
use cachet_source::Span;

/// `const MR: Nat = 4`.
#[derive(Clone, PartialEq, Debug)]
pub struct Const {
    /// The name.
    pub name: Ident,
    /// Its type, if written.
    pub ty: Option<Type>,
    /// Its value.
    pub value: Expr,
    /// Where.
    pub span: Span,
}

/// `synth const NR: Nat = minimize COST in (VARS): RESULT where CONDITIONS`.
#[derive(Clone, PartialEq, Debug)]
pub struct Synth {
    /// The constants that are chosen.
    pub vars: Vec<SynthVar>,
    /// What is made small.
    pub cost: Expr,
    /// What is searched over.
    pub search: Vec<Ident>,
    /// The constants' values: a tuple where there are several.
    pub result: Expr,
    /// What must hold.
    pub conditions: Vec<Expr>,
    /// Where.
    pub span: Span,
}

/// A constant of a `synth const`.
#[derive(Clone, PartialEq, Debug)]
pub struct SynthVar {
    /// The name.
    pub name: Ident,
    /// Its type.
    pub ty: Type,
    /// Where.
    pub span: Span,
}

/// `proof NAME = assert …`.
#[derive(Clone, PartialEq, Debug)]
pub struct Proof {
    /// The name.
    pub name: Ident,
    /// What must hold.
    pub asserts: Vec<Assert>,
    /// Where.
    pub span: Span,
}

/// `assert e`.
#[derive(Clone, PartialEq, Debug)]
pub struct Assert {
    /// What must hold.
    pub condition: Expr,
    /// Where.
    pub span: Span,
}

/// `record NAME where …`.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// The name.
    pub name: Ident,
    /// The fields.
    pub fields: Vec<RecordField>,
    /// Where.
    pub span: Span,
}

/// `m: f32` in a record.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordField {
    /// The field.
    pub name: Ident,
    /// Its type.
    pub ty: Type,
    /// Where.
    pub span: Span,
}

/// `interface NAME {T : Type} where …`.
#[derive(Clone, PartialEq, Debug)]
pub struct Interface {
    /// The name.
    pub name: Ident,
    /// Its parameters.
    pub tparams: Vec<TypeParam>,
    /// What an implementation provides.
    pub members: Vec<Member>,
    /// Where.
    pub span: Span,
}

/// `impl Semiring for PlusTimes f32 where …`.
#[derive(Clone, PartialEq, Debug)]
pub struct Impl {
    /// What is implemented.
    pub interface: Ident,
    /// The implementation's name with its arguments.
    pub target: Type,
    /// What it provides.
    pub members: Vec<Member>,
    /// Where.
    pub span: Span,
}

/// A member of an interface or an implementation.
#[derive(Clone, PartialEq, Debug)]
pub enum Member {
    /// `const Value = f32`.
    Const(MemberConst),
    /// `fn add a b = a + b`.
    Fn(MemberFn),
    /// `law add associative over reals`.
    Law(Law),
}

/// A constant or a type of an interface or an implementation.
#[derive(Clone, PartialEq, Debug)]
pub struct MemberConst {
    /// The name.
    pub name: Ident,
    /// Its type, if written.
    pub ty: Option<Type>,
    /// Its value, if written.
    pub value: Option<ConstValue>,
    /// Where.
    pub span: Span,
}

/// The value of a member.
#[derive(Clone, PartialEq, Debug)]
pub enum ConstValue {
    /// Written as an array type, `[f32; 8, 8]`.
    Type(Type),
    /// Anything else; [`Expr::to_type`] reads `f32` or `Vec f32 8` as a type.
    Expr(Expr),
}

impl ConstValue {
    /// The value read as a type, if it can be one.
    pub fn to_type(&self) -> Option<Type> {
        match self {
            ConstValue::Type(t) => Some(t.clone()),
            ConstValue::Expr(e) => e.to_type(),
        }
    }
}

/// A function of an interface or an implementation.
#[derive(Clone, PartialEq, Debug)]
pub struct MemberFn {
    /// The name.
    pub name: Ident,
    /// Its parameters, typed or not; `()` leaves none.
    pub params: Vec<TraitParam>,
    /// Its result type, if written.
    pub result: Option<Type>,
    /// Its body, if written.
    pub body: Option<Block>,
    /// Where.
    pub span: Span,
}

/// A parameter of a member function.
#[derive(Clone, PartialEq, Debug)]
pub struct TraitParam {
    /// The name.
    pub name: Ident,
    /// Its type, if written.
    pub ty: Option<Type>,
    /// Where.
    pub span: Span,
}

/// `law add associative over reals = "reason"`.
#[derive(Clone, PartialEq, Debug)]
pub struct Law {
    /// The operation, for a law with two words.
    pub operation: Option<Ident>,
    /// The law: `associative`, `distributive`, `mul_add`, `block`.
    pub name: Ident,
    /// Where it holds.
    pub scope: LawScope,
    /// Why, if said.
    pub reason: Option<Str>,
    /// Where.
    pub span: Span,
}

/// Where a law holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LawScope {
    /// `over reals`.
    Reals,
    /// `exactly`.
    Exactly,
}

/// `layout PanelMajor (r) [i, k] = …`.
#[derive(Clone, PartialEq, Debug)]
pub struct Layout {
    /// The name.
    pub name: Ident,
    /// Its numbers.
    pub params: Vec<Ident>,
    /// The axes it lays out.
    pub axes: Vec<Ident>,
    /// How, in order.
    pub ops: Vec<LayoutOp>,
    /// Where.
    pub span: Span,
}

/// A line of a layout.
#[derive(Clone, PartialEq, Debug)]
pub enum LayoutOp {
    /// `split i by r pad as p`: `p` counts groups, `i` keeps the place in a group; `backwards`, from its end.
    Split {
        /// The axis.
        axis: Ident,
        /// The group's length.
        by: Expr,
        /// Whether the last group is filled up.
        pad: bool,
        /// Whether the places of a group are counted from its end.
        back: bool,
        /// The new, outer axis.
        name: Ident,
        /// Where.
        span: Span,
    },
    /// `order p, k, i`: slowest first.
    Order {
        /// The axes.
        axes: Vec<Ident>,
        /// Where.
        span: Span,
    },
}

/// `{S : Semiring}`: one of its entries.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeParam {
    /// The name.
    pub name: Ident,
    /// An interface, `Nat` or `Type`.
    pub bound: Ident,
    /// Where.
    pub span: Span,
}

/// What a function may do with a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// `reads`.
    Reads,
    /// `mut`.
    Mut,
    /// `out`.
    Out,
}

/// `(reads a: [f32; M, K] in PanelMajor 4 at DRAM)`, or `out c: …` after `->`.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// `reads`, `mut`, `out`; none for a word.
    pub mode: Option<Mode>,
    /// The name.
    pub name: Ident,
    /// Its type.
    pub ty: ParamType,
    /// Where, parentheses included.
    pub span: Span,
}

/// A type with a layout and a level.
#[derive(Clone, PartialEq, Debug)]
pub struct ParamType {
    /// The type.
    pub ty: Type,
    /// `in LAYOUT`.
    pub layout: Option<Type>,
    /// `at LEVEL`.
    pub level: Option<Ident>,
    /// Where.
    pub span: Span,
}

/// What follows `->`.
#[derive(Clone, PartialEq, Debug)]
pub enum FnResult {
    /// `out c: …, out d: …`: further parameters.
    Outs(Vec<Param>),
    /// A type.
    Type(Type),
}

/// A clause of a header.
#[derive(Clone, PartialEq, Debug)]
pub struct Clause {
    /// Which.
    pub kind: ClauseKind,
    /// Where.
    pub span: Span,
}

/// The clauses.
#[derive(Clone, PartialEq, Debug)]
pub enum ClauseKind {
    /// `produces Init c, Init d`.
    Produces(Vec<Ident>),
    /// `requires M % 4 == 0, Init c`.
    Requires(Vec<Requirement>),
    /// `scratch p, q`.
    Scratch(Vec<Ident>),
    /// `working_set` rows.
    WorkingSet(Vec<LevelRows>),
    /// `movement` rows.
    Movement(Vec<Traffic>),
}

/// What a caller must show.
#[derive(Clone, PartialEq, Debug)]
pub enum Requirement {
    /// A condition on sizes.
    Condition(Expr),
    /// `Init c`: the buffer is initialised.
    Init(Ident),
}

/// `@L1 { keep P = descriptor P }`.
#[derive(Clone, PartialEq, Debug)]
pub struct LevelRows {
    /// The level.
    pub level: Ident,
    /// What stays in it.
    pub keeps: Vec<KeepRow>,
    /// Where.
    pub span: Span,
}

/// `keep P = descriptor Q`.
#[derive(Clone, PartialEq, Debug)]
pub struct KeepRow {
    /// The row's name.
    pub name: Ident,
    /// The buffer whose descriptor it is.
    pub buffer: Ident,
    /// Where.
    pub span: Span,
}

/// `traffic P_pull = … from DRAM to L1 and back`.
#[derive(Clone, PartialEq, Debug)]
pub struct Traffic {
    /// The row's name.
    pub name: Option<Ident>,
    /// How much.
    pub amount: Expr,
    /// From which level.
    pub from: Ident,
    /// To which level.
    pub to: Ident,
    /// Whether it also goes back.
    pub and_back: bool,
    /// Where.
    pub span: Span,
}

/// `fn NAME {…} (…) -> … = …`.
#[derive(Clone, PartialEq, Debug)]
pub struct FnItem {
    /// The name.
    pub name: Ident,
    /// Type parameters.
    pub tparams: Vec<TypeParam>,
    /// Parameters.
    pub params: Vec<Param>,
    /// `-> …`.
    pub result: Option<FnResult>,
    /// Clauses, in the order of the text, each kind at most once.
    pub clauses: Vec<Clause>,
    /// The body.
    pub body: Block,
    /// Where.
    pub span: Span,
}

/// `instr fn NAME … by_target metal …`.
#[derive(Clone, PartialEq, Debug)]
pub struct Instr {
    /// The name.
    pub name: Ident,
    /// Type parameters.
    pub tparams: Vec<TypeParam>,
    /// Parameters.
    pub params: Vec<Param>,
    /// The result's type.
    pub result: Type,
    /// The reference body, which ends in a value.
    pub body: Block,
    /// Templates.
    pub templates: Vec<Template>,
    /// Where.
    pub span: Span,
}

/// `by_target metal "…"`.
#[derive(Clone, PartialEq, Debug)]
pub struct Template {
    /// The target.
    pub target: Ident,
    /// The template's lines; `{name}` is a placeholder.
    pub lines: Vec<Str>,
    /// Where.
    pub span: Span,
}

/// `contraction NAME {…} (…) -> … = …`.
#[derive(Clone, PartialEq, Debug)]
pub struct Contraction {
    /// The name.
    pub name: Ident,
    /// Type parameters.
    pub tparams: Vec<TypeParam>,
    /// Parameters.
    pub params: Vec<Param>,
    /// `-> …`.
    pub result: FnResult,
    /// Clauses, in the order of the text, each kind at most once.
    pub clauses: Vec<Clause>,
    /// The equations.
    pub equations: Vec<Equation>,
    /// Where.
    pub span: Span,
}

/// `c[i, j] = e`.
#[derive(Clone, PartialEq, Debug)]
pub struct Equation {
    /// The output or intermediate.
    pub name: Ident,
    /// Its indices. Anything but a plain name is for the typed phase to refuse.
    pub indices: Vec<Index>,
    /// Its elements.
    pub value: Expr,
    /// Where.
    pub span: Span,
}

/// `platform NAME where …`.
#[derive(Clone, PartialEq, Debug)]
pub struct Platform {
    /// The name.
    pub name: Ident,
    /// What it has.
    pub entries: Vec<PlatformEntry>,
    /// Where.
    pub span: Span,
}

/// An entry of a platform.
#[derive(Clone, PartialEq, Debug)]
pub enum PlatformEntry {
    /// `target NAME feature NAME`.
    Target(Target),
    /// `level L1 capacity = …`.
    Level(Level),
    /// `unit Vec where …`.
    Unit(Unit),
    /// `device M4Gpu where …`.
    Device(Device),
}

/// `target NAME feature NAME feature NAME`.
#[derive(Clone, PartialEq, Debug)]
pub struct Target {
    /// The target.
    pub name: Ident,
    /// Its features.
    pub features: Vec<Ident>,
    /// Where.
    pub span: Span,
}

/// `level L1 capacity = 131072 line = 128`.
#[derive(Clone, PartialEq, Debug)]
pub struct Level {
    /// The level.
    pub name: Ident,
    /// Its numbers.
    pub fields: Vec<PlatformField>,
    /// Where.
    pub span: Span,
}

/// `unit Vec where …`.
#[derive(Clone, PartialEq, Debug)]
pub struct Unit {
    /// The unit.
    pub name: Ident,
    /// Its numbers.
    pub fields: Vec<PlatformField>,
    /// Where.
    pub span: Span,
}

/// `device M4Gpu where …`.
#[derive(Clone, PartialEq, Debug)]
pub struct Device {
    /// The device.
    pub name: Ident,
    /// What it has.
    pub entries: Vec<DeviceEntry>,
    /// Where.
    pub span: Span,
}

/// An entry of a device.
#[derive(Clone, PartialEq, Debug)]
pub enum DeviceEntry {
    /// `target metal`.
    Target(Target),
    /// `arithmetic flush_subnormals`.
    Arithmetic {
        /// The words after `arithmetic`.
        words: Vec<Ident>,
        /// Where.
        span: Span,
    },
    /// `level Threadgroup capacity = …`.
    Level(Level),
    /// `unit Tensor where …`.
    Unit(Unit),
    /// `group = 32`.
    Field(PlatformField),
}

/// `lanes @f32 = 4 source "…"`.
#[derive(Clone, PartialEq, Debug)]
pub struct PlatformField {
    /// The name.
    pub name: Ident,
    /// `@` arguments.
    pub targs: Vec<Targ>,
    /// The number.
    pub value: Expr,
    /// Where it comes from.
    pub source: Option<Str>,
    /// Where.
    pub span: Span,
}
