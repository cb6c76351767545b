//! What was found, what was expected, what would help.

use super::{Broken, Parser};
use crate::ast::{Expr, ExprKind};
use crate::encoding::is_forbidden;
use crate::kind::SyntaxKind::{self, End};
use cachet_source::{Diagnostic, Span, codes};

/// What a step takes.
pub(crate) const STEP_ARGUMENT: &str = "an argument of the step or the end of the line";
/// What follows the start of a range.
pub(crate) const RANGE_END: &str = "`..` and the end of the range";
/// What ends a parameter.
pub(crate) const PARAMETER_END: &str = "`)` after the parameter's type";

/// Words that may start an entry somewhere, for suggestions.
const STARTERS: &[&str] = &[
    "const",
    "contraction",
    "schedule",
    "interface",
    "import",
    "module",
    "record",
    "layout",
    "platform",
    "builtin",
    "instr",
    "proof",
    "synth",
    "impl",
    "step",
    "fn",
    "for",
    "grid",
    "let",
    "var",
    "store",
    "lease",
    "alloc",
    "assert",
    "law",
    "split",
    "order",
    "pack",
    "keep",
    "registers",
    "compute",
    "reduce",
    "parts",
    "element",
    "relate",
    "from",
];

impl Parser<'_> {
    /// Reports that the current token is not what the grammar wants: `what` with its own backquotes.
    pub(crate) fn unexpected(&mut self, what: &str) -> Broken {
        if let Some(known) = self.bad_token() {
            return known;
        }
        let report = self.slip(what).unwrap_or_else(|| {
            let report = self.error(codes::SYNTAX, format!("expected {what}, found {}", self.found()));
            match self.help(what) {
                Some(help) => report.help(help),
                None => report,
            }
        });
        self.report(report)
    }

    /// Reports a bracket without its partner.
    pub(crate) fn unclosed(&mut self, opener: Span, close: &str) -> Broken {
        if let Some(known) = self.bad_token() {
            return known;
        }
        let what = format!("{close} or `,`");
        let report = self.slip(&what).unwrap_or_else(|| {
            let message = format!("expected {close}, found {}", self.found());
            let report = self.error(codes::SYNTAX, message);
            match self.help(&what) {
                Some(help) => report.help(help),
                None => report,
            }
        });
        let report = report.also(opener, "opened here");
        self.report(report)
    }

    /// What stands at the current token, in words.
    pub(crate) fn found(&self) -> String {
        let kind = self.peek();
        if kind == End {
            return if self.token().is_some() { "the end of the line" } else { "the end of the file" }.to_owned();
        }
        let text = self.nth_text(0);
        match kind {
            SyntaxKind::Name => format!("the name `{text}`"),
            SyntaxKind::Keyword => format!("the word `{text}`"),
            SyntaxKind::Hole => format!("the hole `{text}`"),
            SyntaxKind::Int | SyntaxKind::Float => format!("the number `{text}`"),
            SyntaxKind::String => "a string".to_owned(),
            _ => format!("`{text}`"),
        }
    }

    /// The current token's place; at the end of an entry, the place just after it.
    pub(crate) fn found_span(&self) -> Span {
        match self.token() {
            Some(t) if self.peek() != End => Span::new(self.file, t.lo, t.hi),
            _ => {
                let end = self.last_end();
                Span::new(self.file, end, end)
            }
        }
    }

    /// Reports a token that no rule takes, if the current one is.
    fn bad_token(&mut self) -> Option<Broken> {
        let kind = self.peek();
        if !kind.is_bad_token() {
            return None;
        }
        if let Some(report) = self.float_without_point() {
            return Some(self.report(report));
        }
        let text = self.nth_text(0);
        let first = text.chars().next().unwrap_or(' ');
        if kind == SyntaxKind::Unknown && is_forbidden(first) {
            return Some(Broken);
        }
        let (message, help) = match kind {
            SyntaxKind::Ellipsis => (
                format!("`{text}` marks omitted code in documentation; it is not part of the language"),
                "write the code it stands for, or remove it".to_owned(),
            ),
            SyntaxKind::BadString => (
                "a string that does not end on its line".to_owned(),
                "close it with `\"`; several lines are several strings".to_owned(),
            ),
            SyntaxKind::BadNumber => (format!("`{text}` is not a number"), number_help(text)),
            _ => (format!("`{text}` is not part of the language"), character_help(first)),
        };
        let report = self.error(codes::TOKEN, message).help(help);
        Some(self.report(report))
    }

    /// `1e-5`, of which the lexer makes three tokens.
    fn float_without_point(&self) -> Option<Diagnostic> {
        let text = self.nth_text(0);
        let digits = text.strip_suffix(['e', 'E'])?;
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'_');
        let signed = matches!(self.nth(1), SyntaxKind::Minus | SyntaxKind::Plus) && self.nth_touches(1);
        if !plain || !signed || self.nth(2) != SyntaxKind::Int || !self.nth_touches(2) {
            return None;
        }
        let tail = format!("{}{}{}", &text[digits.len()..], self.nth_text(1), self.nth_text(2));
        let span = Span::new(self.file, self.here(), self.here() + (digits.len() + tail.len()) as u32);
        let message = format!("`{digits}{tail}` is not a number");
        Some(Diagnostic::error(codes::TOKEN, span, message).help(format!("a float has a point: `{digits}.0{tail}`")))
    }

    /// A slip that has a message of its own.
    fn slip(&self, what: &str) -> Option<Diagnostic> {
        let text = self.nth_text(0);
        let before = self.pos.checked_sub(1).and_then(|i| self.tokens.get(i));
        match self.peek() {
            SyntaxKind::LBracket
                if !self.touches() && !what.starts_with("`:`") && before.is_some_and(|t| indexable(t.kind)) =>
            {
                Some(
                    self.error(codes::SYNTAX, "a blank before the `[` of an index")
                        .help("remove it: `x[i]` is an index"),
                )
            }
            SyntaxKind::Dot if before.is_some_and(|t| t.kind == SyntaxKind::Int) && self.touches() => {
                let number = before.map_or("", |t| self.text_of(t));
                let span = Span::new(self.file, before.map_or(0, |t| t.lo), self.found_span().hi);
                let message = format!("`{number}.` is not a number");
                let help = format!("a float has digits on both sides of its point: `{number}.0`");
                Some(Diagnostic::error(codes::TOKEN, span, message).help(help))
            }
            SyntaxKind::Dot if self.nth(1) == SyntaxKind::Int && self.nth_touches(1) => {
                let digits = self.nth_text(1);
                let span = Span::new(self.file, self.here(), self.here() + 1 + digits.len() as u32);
                let message = format!("`.{digits}` is not a number");
                let help = format!("a float has digits on both sides of its point: `0.{digits}`");
                Some(Diagnostic::error(codes::TOKEN, span, message).help(help))
            }
            SyntaxKind::Semicolon => Some(
                self.error(codes::SYNTAX, format!("expected {what}, found `;`"))
                    .help("entries end with their line: write one a line"),
            ),
            SyntaxKind::Hole if !self.mode.holes => Some(
                self.error(codes::SYNTAX, format!("the hole `{text}` outside a step function"))
                    .help("holes stand only in the `from`, `to` and `relate` of a `step fn`"),
            ),
            SyntaxKind::Keyword if matches!(text, "sum" | "reduce" | "fold" | "if") && what == "an operand" => Some(
                self.error(codes::SYNTAX, format!("`{text}` extends as far right as it can and is no operand"))
                    .help(format!("put it in parentheses: `({text} …)`")),
            ),
            SyntaxKind::Keyword if text == "load" && self.after_operand() => {
                Some(self.error(codes::SYNTAX, "a `load` as an argument needs parentheses").help("write `(load …)`"))
            }
            _ => None,
        }
    }

    fn after_operand(&self) -> bool {
        let before = self.pos.checked_sub(1).and_then(|i| self.tokens.get(i));
        before.is_some_and(|t| indexable(t.kind) || matches!(t.kind, SyntaxKind::Int | SyntaxKind::Float))
    }

    /// A hint for what was expected and found.
    fn help(&self, what: &str) -> Option<String> {
        let text = self.nth_text(0);
        let kind = self.peek();
        let wants_name = what.contains("name") || what.starts_with("a buffer") || what.starts_with("an index");
        if let Some(help) = self.habit(what) {
            return Some(help);
        }
        if kind == SyntaxKind::Keyword && wants_name {
            return Some(format!("`{text}` is a reserved word: choose another name, such as `{text}_`"));
        }
        if kind == SyntaxKind::Eq {
            if self.nth(1) == SyntaxKind::Eq && self.nth_touches(1) {
                return Some("values are compared with `==`".to_owned());
            }
            let before = self.pos.checked_sub(1).and_then(|i| self.tokens.get(i));
            let joined = before.filter(|t| {
                use SyntaxKind::{Minus, Percent, Plus, Slash, Star};
                self.touches() && matches!(t.kind, Plus | Minus | Star | Slash | Percent)
            });
            if let Some(op) = joined.map(|t| self.text_of(t)) {
                return Some(format!("there is no `{op}=`: write `x = x {op} …`"));
            }
            return Some("`=` gives a value; values are compared with `==`".to_owned());
        }
        if kind == SyntaxKind::EqEq && what == "`=`" {
            return Some("`==` compares; a value is given with `=`".to_owned());
        }
        if kind == SyntaxKind::Colon && what == "`}` or `,`" {
            return Some("a field is given with `=`".to_owned());
        }
        if kind == SyntaxKind::LBrace {
            return Some("blocks are made by indentation, not by braces".to_owned());
        }
        if let Some(help) = self.misspelt().or_else(|| self.foreign(what)) {
            return Some(help);
        }
        if let Some(form) = self.form {
            return Some(format!("the step is written `{form}`"));
        }
        match what {
            "`do`" => Some("the header of a loop or `fold` ends in `do`".to_owned()),
            "`then`" => Some("a condition is followed by `then`".to_owned()),
            "`else`" => Some("as a value, `if` needs an `else`".to_owned()),
            "an index's name" if kind == SyntaxKind::LParen => {
                Some("the indices of a `sum` or `reduce` stand without parentheses: `sum k, l. e`".to_owned())
            }
            "a clause or `=`" | "`=` and the body" if kind != End => Some("a header ends in `=`".to_owned()),
            "`.`" => Some("the indices of a `sum` or `reduce` end with a dot: `sum k. e`".to_owned()),
            "`as`" => Some("`fold k in lo .. hi from start as acc do next` names its accumulator".to_owned()),
            "`)` or `,`" if kind == End => Some("the lines below start a new entry".to_owned()),
            "the end of the entry" if matches!(kind, SyntaxKind::Int | SyntaxKind::Float) => {
                Some("an operator is missing before it".to_owned())
            }
            "the end of the entry" if matches!(kind, SyntaxKind::Minus | SyntaxKind::Bang) => {
                Some("put a negative argument in parentheses".to_owned())
            }
            _ => None,
        }
    }

    /// Something that other notations write otherwise, at the place where it is written.
    fn habit(&self, what: &str) -> Option<String> {
        use SyntaxKind::{Comma, Dot, Eq, Keyword, LBracket, LParen, Minus, Name, Plus, Slash, Star};
        let text = self.nth_text(0);
        let help = match (what, self.peek()) {
            ("`.`", Name) if matches!(self.nth(1), Dot | Name | Comma) => {
                "several indices are separated by commas: `sum k, l. e`".to_owned()
            }
            ("`=`", Plus | Minus | Star | Slash) if self.nth(1) == Eq && self.nth_touches(1) => {
                format!("there is no `{text}=`: an equation gives the whole element, as in `c[i, j] = sum k. e`")
            }
            (RANGE_END, Keyword) if text == "do" => self.whole_range(),
            ("`do`", Keyword | Name) if matches!(text, "step" | "by") => {
                "loops go up by one: count the steps, as in `for p in 0 .. N / 2 do`, or run over `blocks (0 .. N) 2`"
                    .to_owned()
            }
            ("`=`", LBracket) => "subscripts are separated by commas: `c[i, j]`".to_owned(),
            ("`[` and the indices", LParen) => "an element is named with brackets: `c[i, j]`".to_owned(),
            ("a parameter, or `->` and the outputs", Eq) => {
                "the outputs of a contraction follow an arrow: `-> out c: [f32; M, N]`".to_owned()
            }
            (STEP_ARGUMENT, Comma) => "loops that belong together stand in parentheses: `hoist (j, k) c`".to_owned(),
            (STEP_ARGUMENT, Keyword) if self.misspelt().is_none() => {
                "after a step's name stand names, numbers and lists in parentheses: `strip k 4 (p, r)`".to_owned()
            }
            ("`const`, `fn` or `law`", Name) if self.nth(1) == Eq => format!("write `const {text} = ..`"),
            ("an operand", Keyword) if text == "alloc" => {
                "an array is made by a statement of its own: `alloc a: [f32; 8]`".to_owned()
            }
            ("an operand", Keyword) => format!("`{text}` is a reserved word and names nothing"),
            (PARAMETER_END, Comma) => {
                "each parameter stands in its own parentheses: `(reads a: [f32; N]) (reads b: [f32; N])`".to_owned()
            }
            (PARAMETER_END, LBracket) => "the type of an array is written `[f32; M, N]`".to_owned(),
            _ => return None,
        };
        Some(help)
    }

    /// A loop over something that is no range.
    fn whole_range(&self) -> String {
        let before = self.pos.checked_sub(1).and_then(|i| self.tokens.get(i));
        match before.filter(|t| t.kind == SyntaxKind::Name).map(|t| self.text_of(t)) {
            Some(name) if self.mode.holes => format!("what is found has a `$`: `for i in ${name} do`"),
            Some(name) => format!("a range is written `0 .. {name}`"),
            None => "a range is written `0 .. N`".to_owned(),
        }
    }

    /// The entry's first word, if it is nearly one that starts entries.
    fn misspelt(&self) -> Option<String> {
        let first = self.frames.entry().and_then(|at| self.tokens.get(at))?;
        let text = self.text_of(first);
        if !matches!(first.kind, SyntaxKind::Name) || STARTERS.contains(&text) {
            return None;
        }
        let near = STARTERS.iter().find(|word| one_slip(text, word))?;
        Some(format!("`{text}` may be meant to be `{near}`"))
    }

    /// A habit from another language.
    fn foreign(&self, what: &str) -> Option<String> {
        let first = self.frames.entry().and_then(|at| self.tokens.get(at)).map_or("", |t| self.text_of(t));
        let text = self.nth_text(0);
        let help = match (first, self.peek()) {
            (_, SyntaxKind::ColonEq) => "`:=` stands only in a substitution; a value is given with `=`",
            (_, SyntaxKind::Star) if self.touches() && what == "an operand" => "there is no `**`: multiply",
            (_, SyntaxKind::String) => "strings stand only after `import`, `source`, `by_target` and a law's `=`",
            (_, SyntaxKind::Colon) if what == "`=` and the body" => "an output is written `-> out c: TYPE`",
            ("law", _) if text == "law" => "laws stand in an `interface` or `impl`",
            ("assert", _) if text == "assert" => "assertions stand in a `proof`",
            ("while", _) => "loops have known bounds: `for i in lo .. hi do`",
            ("def" | "func" | "function", _) => "functions start with `fn`",
            _ => return None,
        };
        Some(help.to_owned())
    }

    /// Refuses `f x -1.0`: a subtraction from a call, written like an argument.
    pub(crate) fn refuse_negative_argument(&mut self, lhs: &Expr) -> super::P<()> {
        let call = matches!(&lhs.kind, ExprKind::Apply { args, .. } if !args.is_empty()) && !lhs.parenthesised;
        let literal = matches!(self.nth(1), SyntaxKind::Int | SyntaxKind::Float) && self.nth_touches(1);
        if !call || !literal || self.touches() {
            return Ok(());
        }
        let number = self.nth_text(1);
        let span = Span::new(self.file, self.here(), self.here() + 1 + number.len() as u32);
        let report = self
            .error_at(span, format!("`-{number}` after a call reads like an argument and is a subtraction"))
            .help(format!("write `(-{number})` for an argument, `- {number}` for a subtraction"));
        Err(self.report(report))
    }
}

fn indexable(kind: SyntaxKind) -> bool {
    matches!(kind, SyntaxKind::Name | SyntaxKind::Hole | SyntaxKind::RParen | SyntaxKind::RBracket)
}

fn number_help(text: &str) -> String {
    let digits: &str = &text[..text.find(|c: char| !c.is_ascii_digit() && c != '_' && c != '.').unwrap_or(text.len())];
    let rest = &text[digits.len()..];
    if text.starts_with("0x") || text.starts_with("0b") {
        return "`0x` takes hexadecimal digits, `0b` takes `0` and `1`".to_owned();
    }
    let digits = digits.trim_end_matches('.');
    let exponent = rest.len() > 1 && rest.starts_with(['e', 'E']) && rest[1..].bytes().all(|b| b.is_ascii_digit());
    if exponent && !digits.contains('.') {
        return format!("a float has a point: `{digits}.0{rest}`");
    }
    if digits.contains('.') {
        "a literal has no suffix: it takes the type its place wants".to_owned()
    } else {
        "a literal has no suffix: write `… as T` for a conversion; names start with a letter".to_owned()
    }
}

fn character_help(c: char) -> String {
    let instead = match c {
        '\u{2212}' | '\u{2013}' | '\u{2014}' => "-",
        '\u{d7}' | '\u{b7}' | '\u{2217}' => "*",
        '\u{f7}' => "/",
        '\u{2264}' => "<=",
        '\u{2265}' => ">=",
        '\u{2260}' => "!=",
        '\u{201c}' | '\u{201d}' | '\'' => "\"",
        '\u{2019}' => "'",
        '\u{2192}' => "->",
        '\u{a0}' => " ",
        '&' => "&&",
        '|' => "||",
        '^' => return "there is no power: multiply, as in `x * x`".to_owned(),
        '$' => return "a hole is `$` and a name: `$body`".to_owned(),
        c if c.is_alphabetic() => return "names are made of the letters a to z, digits, `_` and `'`".to_owned(),
        _ => return "remove it".to_owned(),
    };
    format!("write `{instead}`")
}

/// Whether one inserted, missing, changed or exchanged letter makes `a` into `b`; words of at least three letters.
fn one_slip(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() < 3 || a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[head..], &b[head..]);
    match (a, b) {
        ([], [_]) | ([_], []) => true,
        ([x, y, rest @ ..], [u, v, tail @ ..]) if x == v && y == u && rest == tail => true,
        ([_, rest @ ..], [_, tail @ ..]) if rest == tail => true,
        ([_, rest @ ..], b) if rest == b => true,
        (a, [_, tail @ ..]) if a == tail => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::one_slip;

    #[test]
    fn slips() {
        for (a, b) in
            [("fro", "for"), ("stroe", "store"), ("spllt", "split"), ("contracton", "contraction"), ("lett", "let")]
        {
            assert!(one_slip(a, b), "{a} {b}");
        }
        for (a, b) in [("for", "for"), ("if", "in"), ("matmul", "module"), ("zero", "store")] {
            assert!(!one_slip(a, b), "{a} {b}");
        }
    }
}
