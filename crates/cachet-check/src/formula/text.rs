//! How is a condition written down? As canonical text, by which verdicts are cached, and as SMT-LIB 2 for other
//! provers. Both printers use a list of pieces instead of recursion.

use super::{Formula, Hint, Problem, Term, Var};

/// SMT-LIB has no minimum and maximum of its own.
const SMT_PREAMBLE: &str = "(set-logic QF_LIA)
(define-fun smaller ((a Int) (b Int)) Int (ite (<= a b) a b))
(define-fun larger ((a Int) (b Int)) Int (ite (<= a b) b a))
";

enum Piece<'a> {
    Text(&'static str),
    Number(i128),
    Term(&'a Term),
    Formula(&'a Formula),
}

impl Problem {
    /// A text that determines the problem up to the names of its variables: equal texts have equal verdicts, models
    /// and certificates.
    pub fn canonical(&self) -> String {
        let name = |out: &mut String, Var(index): Var| number(out, "v", index.into(), "");
        let mut out = format!("variables {}\n", self.names.len());
        for hypothesis in &self.hypotheses {
            out.push_str("assume ");
            print(&mut out, Piece::Formula(hypothesis), &name);
            out.push('\n');
        }
        out.push_str("prove ");
        print(&mut out, Piece::Formula(&self.goal), &name);
        out.push('\n');
        for Hint::Trichotomy(a, b) in &self.hints {
            out.push_str("split ");
            print(&mut out, Piece::Term(a), &name);
            out.push(' ');
            print(&mut out, Piece::Term(b), &name);
            out.push('\n');
        }
        out
    }

    /// An SMT-LIB 2 script: `unsat` means the problem is valid.
    pub fn smt_lib(&self) -> String {
        let names: Vec<String> = self.names.iter().enumerate().map(|(index, name)| smt_name(name, index)).collect();
        let name = |out: &mut String, Var(index): Var| match names.get(index as usize) {
            Some(name) => out.push_str(name),
            None => number(out, "v", index.into(), ""),
        };
        let mut out = String::from(SMT_PREAMBLE);
        for name in &names {
            out.push_str("(declare-const ");
            out.push_str(name);
            out.push_str(" Int)\n");
        }
        for hypothesis in &self.hypotheses {
            out.push_str("(assert ");
            print(&mut out, Piece::Formula(hypothesis), &name);
            out.push_str(")\n");
        }
        out.push_str("(assert (not ");
        print(&mut out, Piece::Formula(&self.goal), &name);
        out.push_str("))\n(check-sat)\n");
        out
    }
}

/// A simple SMT-LIB symbol, unique by its index.
fn smt_name(name: &str, index: usize) -> String {
    let kept: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(40).collect();
    format!("x{index}_{kept}")
}

fn print(out: &mut String, root: Piece<'_>, name: &impl Fn(&mut String, Var)) {
    let mut stack = vec![root];
    while let Some(piece) = stack.pop() {
        let first = stack.len();
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Number(value) if value < 0 => number(out, "(- ", value.unsigned_abs(), ")"),
            Piece::Number(value) => number(out, "", value.unsigned_abs(), ""),
            Piece::Term(term) => term_pieces(out, term, &mut stack, name),
            Piece::Formula(formula) => formula_pieces(out, formula, &mut stack),
        }
        stack[first..].reverse();
    }
}

fn term_pieces<'a>(out: &mut String, term: &'a Term, stack: &mut Vec<Piece<'a>>, name: &impl Fn(&mut String, Var)) {
    match term {
        Term::Lit(value) => stack.push(Piece::Number(*value)),
        Term::Var(var) => name(out, *var),
        Term::Add(parts) if parts.is_empty() => out.push('0'),
        Term::Add(parts) if parts.len() == 1 => stack.push(Piece::Term(&parts[0])),
        Term::Add(parts) => apply(out, "+", parts.iter().map(Piece::Term), stack),
        Term::Mul(factor, inner) => apply(out, "*", [Piece::Number(*factor), Piece::Term(inner)], stack),
        Term::Div(inner, n) => apply(out, "div", [Piece::Term(inner), Piece::Number(*n)], stack),
        Term::Mod(inner, n) => apply(out, "mod", [Piece::Term(inner), Piece::Number(*n)], stack),
        Term::Min(a, b) => apply(out, "smaller", [Piece::Term(a), Piece::Term(b)], stack),
        Term::Max(a, b) => apply(out, "larger", [Piece::Term(a), Piece::Term(b)], stack),
        Term::If(condition, a, b) => {
            apply(out, "ite", [Piece::Formula(condition), Piece::Term(a), Piece::Term(b)], stack);
        }
    }
}

fn formula_pieces<'a>(out: &mut String, formula: &'a Formula, stack: &mut Vec<Piece<'a>>) {
    match formula {
        Formula::True => out.push_str("true"),
        Formula::False => out.push_str("false"),
        Formula::Le(a, b) => apply(out, "<=", [Piece::Term(a), Piece::Term(b)], stack),
        Formula::Lt(a, b) => apply(out, "<", [Piece::Term(a), Piece::Term(b)], stack),
        Formula::Eq(a, b) => apply(out, "=", [Piece::Term(a), Piece::Term(b)], stack),
        Formula::Not(inner) => apply(out, "not", [Piece::Formula(inner)], stack),
        Formula::And(parts) if parts.is_empty() => out.push_str("true"),
        Formula::Or(parts) if parts.is_empty() => out.push_str("false"),
        Formula::And(parts) => apply(out, "and", parts.iter().map(Piece::Formula), stack),
        Formula::Or(parts) => apply(out, "or", parts.iter().map(Piece::Formula), stack),
    }
}

fn apply<'a>(out: &mut String, head: &str, arguments: impl IntoIterator<Item = Piece<'a>>, stack: &mut Vec<Piece<'a>>) {
    out.push('(');
    out.push_str(head);
    for argument in arguments {
        stack.push(Piece::Text(" "));
        stack.push(argument);
    }
    stack.push(Piece::Text(")"));
}

fn number(out: &mut String, before: &str, value: u128, after: &str) {
    out.push_str(before);
    out.push_str(&value.to_string());
    out.push_str(after);
}
