//! The kinds of tokens and nodes of the lossless tree.

use logos::Logos;

macro_rules! kinds {
    ($($(#[$attr:meta])* $name:ident,)*) => {
        /// A kind of token or node.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Logos)]
        #[repr(u16)]
        #[expect(missing_docs, reason = "the names are the grammar's")]
        pub enum SyntaxKind {
            $($(#[$attr])* $name,)*
        }

        impl SyntaxKind {
            /// Every kind, by its number.
            const ALL: &'static [SyntaxKind] = &[$(SyntaxKind::$name,)*];
        }
    };
}

kinds! {
    // Trivia.
    #[regex(r"[ \t\r\n]+")]
    Whitespace,
    #[regex(r"//[^\n]*")]
    Comment,
    Bom,
    // Words and literals.
    #[regex(r"[A-Za-z_][A-Za-z0-9_']*")]
    Name,
    Keyword,
    #[regex(r"\$[A-Za-z_][A-Za-z0-9_']*")]
    Hole,
    // The lexer looks at what follows and decides between `Int`, `Float` and `BadNumber`.
    #[regex(r"[0-9][0-9A-Za-z_']*")]
    Int,
    Float,
    #[regex(r#""([^"\\\r\n]|\\[^\r\n])*""#)]
    String,
    // Punctuation.
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token(";")]
    Semicolon,
    #[token(".")]
    Dot,
    #[token("..")]
    DotDot,
    #[token("..+")]
    DotDotPlus,
    #[token(":=")]
    ColonEq,
    #[token("=")]
    Eq,
    #[token("==")]
    EqEq,
    #[token("!=")]
    Ne,
    #[token("<")]
    Lt,
    #[token("<=")]
    Le,
    #[token(">")]
    Gt,
    #[token(">=")]
    Ge,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("->")]
    Arrow,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    #[token("!")]
    Bang,
    #[token("@")]
    At,
    #[token("#")]
    Hash,
    // Only in the shapes of built-in steps.
    #[token("?")]
    Question,
    // Not in the language.
    #[token("...")]
    #[token("\u{2026}")]
    Ellipsis,
    BadNumber,
    #[regex(r#""([^"\\\r\n]|\\[^\r\n])*\\?"#, priority = 1)]
    BadString,
    #[regex(r".", priority = 0)]
    Unknown,
    // What the parser sees where an entry or the text ends; never in a tree.
    End,
    // Nodes.
    Root,
    Error,
    Block,
    Module,
    Import,
    ConstItem,
    SynthItem,
    Minimize,
    ProofItem,
    AssertEntry,
    RecordItem,
    RecordField,
    InterfaceItem,
    ImplItem,
    MemberConst,
    MemberFn,
    Law,
    LayoutItem,
    LayoutOp,
    FnItem,
    InstrItem,
    Template,
    ContractionItem,
    Equation,
    ScheduleItem,
    ScheduleFnItem,
    StepFnItem,
    BuiltinStepItem,
    PlatformItem,
    PlatformEntry,
    PlatformField,
    TypeParams,
    Param,
    StepParam,
    Result,
    Clause,
    LevelRow,
    TrafficRow,
    Type,
    TypeArg,
    TypeArgument,
    Path,
    Section,
    Step,
    StepArg,
    LoopRef,
    Shape,
    Move,
    ForStmt,
    GridStmt,
    IfStmt,
    LetStmt,
    VarStmt,
    AssignStmt,
    StoreStmt,
    LeaseStmt,
    AllocStmt,
    ExprStmt,
    Domain,
    Window,
    Place,
    Literal,
    NameExpr,
    HoleExpr,
    FieldExpr,
    IndexExpr,
    IndexList,
    ApplyExpr,
    LoadExpr,
    RecordExpr,
    ParenExpr,
    UnaryExpr,
    BinaryExpr,
    CastExpr,
    IfExpr,
    LetExpr,
    FoldExpr,
    SumExpr,
    ReduceExpr,
    Binder,
}

impl SyntaxKind {
    /// Blanks and comments.
    pub fn is_trivia(self) -> bool {
        matches!(self, SyntaxKind::Whitespace | SyntaxKind::Comment | SyntaxKind::Bom)
    }

    /// Text that no grammar rule takes.
    pub fn is_bad_token(self) -> bool {
        matches!(self, SyntaxKind::Ellipsis | SyntaxKind::BadNumber | SyntaxKind::BadString | SyntaxKind::Unknown)
    }
}

/// The language, for `rowan`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Cachet {}

impl rowan::Language for Cachet {
    type Kind = SyntaxKind;

    fn kind_from_raw(raw: rowan::SyntaxKind) -> SyntaxKind {
        SyntaxKind::ALL.get(raw.0 as usize).copied().unwrap_or(SyntaxKind::Error)
    }

    fn kind_to_raw(kind: SyntaxKind) -> rowan::SyntaxKind {
        rowan::SyntaxKind(kind as u16)
    }
}

/// A node of the lossless tree.
pub type SyntaxNode = rowan::SyntaxNode<Cachet>;
/// A token of the lossless tree.
pub type SyntaxToken = rowan::SyntaxToken<Cachet>;
