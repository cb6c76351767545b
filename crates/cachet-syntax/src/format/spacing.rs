//! Does a blank stand between two tokens of a line?

use super::shape::Token;
use crate::kind::SyntaxKind::{
    self, At, Bang, Binder, BuiltinStepItem, Colon, Comma, ConstItem, Domain, Dot, DotDot, Float, Hash, Hole, Int,
    Keyword, LBrace, LBracket, LParen, Literal, Minus, Name, Question, RBrace, RBracket, RParen, ReduceExpr, Semicolon,
    SumExpr, SynthItem, TypeParams, UnaryExpr,
};

/// Whether a blank stands between `before` and `after`.
pub(super) fn blank(before: &Token<'_>, after: &Token<'_>) -> bool {
    if before.parent == BuiltinStepItem && after.parent == BuiltinStepItem {
        // The shape of a built-in step is free text: its blanks are the author's.
        return !after.touches;
    }
    match (before.kind, after.kind) {
        (LBrace, RBrace) => false,
        (LBrace, _) => before.parent != TypeParams,
        (_, RBrace) => after.parent != TypeParams,
        (LParen | LBracket | At | Hash | Bang, _) => false,
        (_, RParen | RBracket | Comma | Semicolon | Question | Dot | Hash) => false,
        (_, Colon) => matches!(after.parent, TypeParams | ConstItem | SynthItem),
        (Dot, _) => matches!(before.parent, SumExpr | ReduceExpr),
        (Minus, operand) => blank_after_minus(before.parent, operand),
        (_, DotDot) => is_range(after),
        (Name | Hole | Keyword | RParen | RBracket | Int, LBracket) => !after.touches,
        _ => true,
    }
}

/// `- 1` negates a literal and `-1` is one; `- -x` reads better than `--x`.
fn blank_after_minus(parent: SyntaxKind, operand: SyntaxKind) -> bool {
    match parent {
        Literal => false,
        UnaryExpr => matches!(operand, Int | Float | Minus),
        _ => true,
    }
}

/// Whether a `..` stands between two bounds; else it belongs to the name before it: `i..`, `$A..`.
fn is_range(dots: &Token<'_>) -> bool {
    dots.parent == Binder || (dots.parent == Domain && !dots.last)
}
