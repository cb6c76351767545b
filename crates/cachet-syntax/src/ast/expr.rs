//! Expressions, places and types.

use super::{Block, Domain, Ident, Path, Stmt};
use cachet_source::Span;

/// An expression. Parentheses leave no node, only a wider meaning: `(a)` is `a` with the parentheses in its span.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
    /// Whether the text wraps it in parentheses.
    pub parenthesised: bool,
}

/// What an expression is.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// An integer literal, below 2^63 in size; negative where a `-` touches it.
    Int(i128),
    /// A float literal: its exact decimal text without `_`, with the `-` that touches it. Rounded when its type is
    /// known.
    Float(String),
    /// `true`, `false`.
    Bool(bool),
    /// `()`.
    Unit,
    /// A name.
    Name(Ident),
    /// A hole, `$step`. Filling and substitution (`$step[$acc][k := e]`) are [`ExprKind::Index`] around it.
    Hole(Ident),
    /// `base.field`.
    Field {
        /// Before the dot.
        base: Box<Expr>,
        /// After it.
        field: Ident,
    },
    /// `base[i, j]`, also substitution in and filling of a hole.
    Index {
        /// Before the bracket.
        base: Box<Expr>,
        /// Inside it.
        indices: Vec<Index>,
    },
    /// `head @T … x y`: at least one `@` argument or one argument.
    Apply {
        /// The function.
        head: Box<Expr>,
        /// `@` arguments.
        targs: Vec<Targ>,
        /// Arguments.
        args: Vec<Expr>,
    },
    /// `load c[i, j] mask n else w`.
    Load {
        /// What is read.
        place: Place,
        /// Active leading lanes.
        mask: Option<Box<Mask>>,
    },
    /// `Weights { m, l = e }`.
    Record {
        /// The record's name.
        name: Ident,
        /// Its fields, in the order of the text.
        fields: Vec<FieldInit>,
    },
    /// `(a, b)`: two or more.
    Tuple(Vec<Expr>),
    /// `-e`, `!e`.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        operand: Box<Expr>,
    },
    /// `a + b`.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Where the operator stands.
        op_span: Span,
        /// Left operand.
        lhs: Box<Expr>,
        /// Right operand.
        rhs: Box<Expr>,
    },
    /// `e as T`.
    Cast {
        /// The value.
        value: Box<Expr>,
        /// Its new type.
        ty: Type,
    },
    /// `if c then a else b`.
    If {
        /// The condition.
        cond: Box<Expr>,
        /// The value where it holds.
        then: Box<Expr>,
        /// The value where it does not.
        els: Box<Expr>,
    },
    /// A block of statements that ends in a value.
    Block {
        /// The statements, at least one.
        stmts: Vec<Stmt>,
        /// The value.
        value: Box<Expr>,
    },
    /// `fold k in lo .. hi from z as acc: T do e`.
    Fold {
        /// The loop variable.
        var: Ident,
        /// Its values.
        domain: Box<Domain>,
        /// The start.
        from: Box<Expr>,
        /// The accumulator.
        acc: Ident,
        /// Its type, if written.
        acc_ty: Option<Type>,
        /// The next value of the accumulator.
        body: Box<Expr>,
    },
    /// `sum k, l. e`.
    Sum {
        /// `[reassoc]`, where written.
        reassoc: Option<Span>,
        /// The summed indices, outermost first.
        binders: Vec<Binder>,
        /// The term.
        body: Box<Expr>,
    },
    /// `reduce[reassoc] Online j. e`.
    Reduce {
        /// `[reassoc]`, where written.
        reassoc: Option<Span>,
        /// The monoid, a named type.
        monoid: Type,
        /// The reduced indices, outermost first.
        binders: Vec<Binder>,
        /// The term.
        body: Box<Expr>,
    },
    /// `reduce Max f32 over cols by halving do s`: a reduction of a tile.
    TileReduce {
        /// The monoid, a named type.
        monoid: Type,
        /// `rows` or `cols`.
        axis: Ident,
        /// In which order.
        shape: Shape,
        /// The tile.
        body: Box<Expr>,
    },
}

/// One index inside brackets.
#[derive(Clone, PartialEq, Debug)]
pub enum Index {
    /// `e`; after a hole, the filling of it.
    At(Expr),
    /// `lo ..+ n`.
    Window {
        /// First.
        lo: Expr,
        /// How many.
        len: Expr,
        /// Where.
        span: Span,
    },
    /// `k := e`: substitution, only after a hole.
    Subst {
        /// What is replaced.
        name: Ident,
        /// By what.
        value: Expr,
        /// Where.
        span: Span,
    },
    /// `i.. := zi..`: substitution of a rank hole's loops by another's, one by one, only after a hole.
    RankSubst {
        /// The loops that are replaced.
        name: Ident,
        /// The loops that stand in for them.
        value: Ident,
        /// Where.
        span: Span,
    },
}

impl Index {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Index::At(e) => e.span,
            Index::Window { span, .. } | Index::Subst { span, .. } | Index::RankSubst { span, .. } => *span,
        }
    }
}

/// What is loaded, stored, assigned or a window: `c[i, j]`, `acc'0`, `$cell[i := zi]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// The buffer, local, alias or hole.
    pub path: Path,
    /// Bracket groups, in order; none for a whole buffer or local. `$cell[i := zi][j]` has two.
    pub groups: Vec<Vec<Index>>,
    /// Where.
    pub span: Span,
}

impl Place {
    /// The only bracket group: empty for a bare name, `None` where there are several.
    pub fn indices(&self) -> Option<&[Index]> {
        match self.groups.as_slice() {
            [] => Some(&[]),
            [only] => Some(only),
            _ => None,
        }
    }
}

/// `mask n else w`.
#[derive(Clone, PartialEq, Debug)]
pub struct Mask {
    /// How many leading lanes are active.
    pub count: Expr,
    /// What inactive lanes hold.
    pub other: Option<Expr>,
    /// Where.
    pub span: Span,
}

/// `m` or `m = e` in a record literal.
#[derive(Clone, PartialEq, Debug)]
pub struct FieldInit {
    /// The field.
    pub name: Ident,
    /// Its value; without one, the variable of the same name.
    pub value: Option<Expr>,
    /// Where.
    pub span: Span,
}

/// An index bound by `sum` or `reduce`.
#[derive(Clone, PartialEq, Debug)]
pub struct Binder {
    /// The index.
    pub name: Ident,
    /// `in lo .. hi`.
    pub range: Option<(Expr, Expr)>,
    /// `where c`: terms for which it fails are skipped.
    pub guard: Option<Expr>,
    /// Where.
    pub span: Span,
}

/// An order in which a reduction is computed.
#[derive(Clone, PartialEq, Debug)]
pub struct Shape {
    /// Which.
    pub kind: ShapeKind,
    /// Where.
    pub span: Span,
}

/// The orders.
#[derive(Clone, PartialEq, Debug)]
pub enum ShapeKind {
    /// Left to right from the start word.
    Order,
    /// i with i + n/2.
    Halving,
    /// n interleaved chains, then halving.
    Lanes(Box<Expr>),
    /// Chains of n.
    Chunks(Box<Expr>),
    /// p chains.
    Partials(Box<Expr>),
}

/// `@T`, `@(S = PlusTimes f32)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Targ {
    /// What follows the `@`: one item for a path, one or more inside parentheses.
    pub items: Vec<TargItem>,
    /// Where, `@` included.
    pub span: Span,
}

/// One `@` argument.
#[derive(Clone, PartialEq, Debug)]
pub enum TargItem {
    /// `@Vec`, `@f32`, `@S.Value`.
    Path(Path),
    /// `S = PlusTimes f32`, `N = (4 * 2)`.
    Bind {
        /// The parameter.
        name: Ident,
        /// What it is bound to.
        value: TypeArg,
        /// Where.
        span: Span,
    },
    /// A value by position.
    Value(Expr),
}

/// Prefix operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `!`
    Not,
}

/// Infix operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
}

impl BinaryOp {
    /// As written.
    pub fn text(self) -> &'static str {
        match self {
            BinaryOp::Or => "||",
            BinaryOp::And => "&&",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
        }
    }
}

/// A type, a layout, an implementation or a monoid: whatever is written as a name with arguments.
#[derive(Clone, PartialEq, Debug)]
pub struct Type {
    /// What it is.
    pub kind: TypeKind,
    /// Where.
    pub span: Span,
}

/// What a type is.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeKind {
    /// `f32`, `S.Value`, `Vec f64 (8 * 8)`, `PanelMajor 4`.
    Named {
        /// The name.
        path: Path,
        /// Its arguments.
        args: Vec<TypeArg>,
    },
    /// `[f32; M, K]`, `[Vec f32 8; 4]`.
    Array {
        /// The element.
        element: Box<Type>,
        /// The extents.
        extents: Vec<Expr>,
    },
    /// `$E`.
    Hole(Ident),
}

/// An argument of a named type.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeArg {
    /// A type, or a name that may be a constant: `f32`, `S.Value`, `N`, `[f32; 8, 8]`, `$E`.
    Type(Type),
    /// A number, or a size in parentheses: `8`, `(8 * 8)`.
    Size(Expr),
}

impl TypeArg {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            TypeArg::Type(t) => t.span,
            TypeArg::Size(e) => e.span,
        }
    }
}

impl Expr {
    /// An expression without parentheses around it.
    pub fn new(kind: ExprKind, span: Span) -> Expr {
        Expr { kind, span, parenthesised: false }
    }

    /// The name, if the expression is one (holes included).
    pub fn as_ident(&self) -> Option<&Ident> {
        match &self.kind {
            ExprKind::Name(i) | ExprKind::Hole(i) => Some(i),
            _ => None,
        }
    }

    /// Whether this is `x -1`, a minus that touches a literal on its right only: the writer may have meant an argument.
    /// It is a subtraction; where the left side turns out to be a function, say so and offer parentheses.
    pub fn looks_like_negative_argument(&self) -> bool {
        match &self.kind {
            ExprKind::Binary { op: BinaryOp::Sub, op_span, lhs, rhs } => {
                matches!(rhs.kind, ExprKind::Int(_) | ExprKind::Float(_))
                    && rhs.span.lo == op_span.hi
                    && lhs.span.hi < op_span.lo
            }
            _ => false,
        }
    }

    /// The dotted name, if the expression is one.
    pub fn to_path(&self) -> Option<Path> {
        match &self.kind {
            ExprKind::Name(i) | ExprKind::Hole(i) => Some(Path { parts: vec![i.clone()], span: i.span }),
            ExprKind::Field { base, field } => {
                let mut path = base.to_path()?;
                path.span = path.span.to(field.span);
                path.parts.push(field.clone());
                Some(path)
            }
            _ => None,
        }
    }

    /// The expression read as a type: `f32`, `S.Value`, `Vec f32 8`, `PlusTimes f32`.
    pub fn to_type(&self) -> Option<Type> {
        match &self.kind {
            ExprKind::Hole(i) => Some(Type { kind: TypeKind::Hole(i.clone()), span: self.span }),
            ExprKind::Apply { head, targs, args } if targs.is_empty() => {
                let path = head.to_path()?;
                let args = args.iter().map(Expr::to_type_arg).collect();
                Some(Type { kind: TypeKind::Named { path, args }, span: self.span })
            }
            _ => {
                let path = self.to_path()?;
                Some(Type { kind: TypeKind::Named { path, args: Vec::new() }, span: self.span })
            }
        }
    }

    fn to_type_arg(&self) -> TypeArg {
        match self.to_type() {
            Some(ty) => TypeArg::Type(ty),
            None => TypeArg::Size(self.clone()),
        }
    }
}

impl Type {
    /// The path, if the type is a name without arguments.
    pub fn as_path(&self) -> Option<&Path> {
        match &self.kind {
            TypeKind::Named { path, args } if args.is_empty() => Some(path),
            TypeKind::Named { .. } | TypeKind::Array { .. } | TypeKind::Hole(_) => None,
        }
    }
}

impl Block {
    /// The block read as a value: statements and then an expression (an `if` counts where both branches are values).
    pub fn to_expr(&self) -> Option<Expr> {
        let (last, before) = self.stmts.split_last()?;
        let value = last.to_expr()?;
        if before.is_empty() {
            return Some(value);
        }
        Some(Expr::new(ExprKind::Block { stmts: before.to_vec(), value: Box::new(value) }, self.span))
    }
}
