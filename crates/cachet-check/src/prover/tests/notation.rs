//! Conditions as short texts: `0 <= i < M && (M % 64 = 0 || x div 4 != min(a, b))`; names are
//! letters, digits and primes; `if(c, a, b)` chooses. Only tests read this.

use crate::formula::{Formula, Hint, Problem, Term, Var};

/// A problem; the variables are those that occur, in the order of `names`.
pub(super) fn problem(names: &str, hypotheses: &[&str], goal: &str) -> Problem {
    let names: Vec<String> = names.split_whitespace().map(String::from).collect();
    let hypotheses = hypotheses.iter().map(|text| formula(&names, text)).collect();
    let goal = formula(&names, goal);
    Problem { names, hypotheses, goal, hints: Vec::new() }
}

/// With a trichotomy on each pair, as `"gi gi' ui ui'"`.
pub(super) fn with_hints(mut problem: Problem, pairs: &str) -> Problem {
    let sides: Vec<Term> = pairs.split_whitespace().map(|name| term(&problem.names, name)).collect();
    problem.hints = sides.chunks(2).map(|pair| Hint::Trichotomy(pair[0].clone(), pair[1].clone())).collect();
    problem
}

pub(super) fn formula(names: &[String], text: &str) -> Formula {
    let mut parser = Parser { names, tokens: tokens(text), place: 0 };
    let value = parser.disjunction();
    assert_eq!(parser.place, parser.tokens.len(), "trailing text in {text}");
    value.formula()
}

fn term(names: &[String], text: &str) -> Term {
    Parser { names, tokens: tokens(text), place: 0 }.sum().term()
}

pub(super) fn var(problem: &Problem, name: &str) -> Var {
    Var(problem.names.iter().position(|known| known == name).unwrap() as u32)
}

fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_whitespace() {
            continue;
        }
        let mut token = String::from(c);
        let is_word = |c: &char| c.is_alphanumeric() || *c == '\'';
        if is_word(&c) {
            while let Some(next) = chars.next_if(is_word) {
                token.push(next);
            }
        } else if "<>!=&|".contains(c) {
            while let Some(next) = chars.next_if(|c| "=&|>".contains(*c)) {
                token.push(next);
            }
        }
        tokens.push(token);
    }
    tokens
}

enum Value {
    Term(Term),
    Formula(Formula),
}

impl Value {
    fn term(self) -> Term {
        match self {
            Value::Term(term) => term,
            Value::Formula(formula) => panic!("not a term: {formula:?}"),
        }
    }

    fn formula(self) -> Formula {
        match self {
            Value::Formula(formula) => formula,
            Value::Term(term) => panic!("not a formula: {term:?}"),
        }
    }
}

struct Parser<'a> {
    names: &'a [String],
    tokens: Vec<String>,
    place: usize,
}

impl Parser<'_> {
    fn eat(&mut self, token: &str) -> bool {
        let found = self.tokens.get(self.place).is_some_and(|next| next == token);
        self.place += usize::from(found);
        found
    }

    fn expect(&mut self, token: &str) {
        assert!(self.eat(token), "expected {token} at {} of {:?}", self.place, self.tokens);
    }

    fn disjunction(&mut self) -> Value {
        let first = self.conjunction();
        if !self.tokens.get(self.place).is_some_and(|next| next == "||" || next == "=>" || next == "==") {
            return first;
        }
        let mut parts = vec![first.formula()];
        while self.eat("||") {
            parts.push(self.conjunction().formula());
        }
        let left = if parts.len() == 1 { parts.remove(0) } else { Formula::Or(parts) };
        if self.eat("=>") {
            return Value::Formula(left.implies(self.disjunction().formula()));
        }
        if self.eat("==") {
            return Value::Formula(left.iff(self.conjunction().formula()));
        }
        Value::Formula(left)
    }

    fn conjunction(&mut self) -> Value {
        let first = self.comparison();
        if self.tokens.get(self.place).is_none_or(|next| next != "&&") {
            return first;
        }
        let mut parts = vec![first.formula()];
        while self.eat("&&") {
            parts.push(self.comparison().formula());
        }
        Value::Formula(Formula::And(parts))
    }

    /// Also chains such as `0 <= i < M`.
    fn comparison(&mut self) -> Value {
        if self.eat("!") {
            return Value::Formula(Formula::Not(Box::new(self.comparison().formula())));
        }
        let first = self.sum();
        let mut parts = Vec::new();
        let mut left = match first {
            Value::Term(term) => term,
            formula => return formula,
        };
        while let Some(operator) = self.tokens.get(self.place).cloned() {
            if !["<", "<=", ">", ">=", "=", "!="].contains(&operator.as_str()) {
                break;
            }
            self.place += 1;
            let right = self.sum().term();
            let here = left.clone();
            parts.push(match operator.as_str() {
                "<" => here.lt(right.clone()),
                "<=" => here.le(right.clone()),
                ">" => here.gt(right.clone()),
                ">=" => here.ge(right.clone()),
                "=" => here.equals(right.clone()),
                _ => here.differs(right.clone()),
            });
            left = right;
        }
        if parts.is_empty() { Value::Term(left) } else { Value::Formula(Formula::and(parts)) }
    }

    fn sum(&mut self) -> Value {
        let first = if self.eat("-") { Value::Term(self.product().term().times(-1)) } else { self.product() };
        let mut left = match first {
            Value::Term(term) => term,
            formula => return formula,
        };
        loop {
            if self.eat("+") {
                left = left.add(self.product().term());
            } else if self.eat("-") {
                left = left.sub(self.product().term());
            } else {
                return Value::Term(left);
            }
        }
    }

    fn product(&mut self) -> Value {
        let mut left = self.atom();
        loop {
            let operator = ["*", "/", "%"].into_iter().find(|operator| self.eat(operator));
            let Some(operator) = operator else { return left };
            let (a, b) = (left.term(), self.atom().term());
            left = Value::Term(match (operator, &a, &b) {
                ("*", Term::Lit(factor), _) => b.clone().times(*factor),
                ("*", _, Term::Lit(factor)) => a.clone().times(*factor),
                ("/", _, Term::Lit(n)) => a.clone().div(*n),
                ("%", _, Term::Lit(n)) => a.clone().rem(*n),
                _ => panic!("not linear: {:?}", self.tokens),
            });
        }
    }

    fn atom(&mut self) -> Value {
        if self.eat("(") {
            let value = self.disjunction();
            self.expect(")");
            return value;
        }
        let word = self.tokens[self.place].clone();
        self.place += 1;
        match word.as_str() {
            "true" => Value::Formula(Formula::True),
            "false" => Value::Formula(Formula::False),
            "min" | "max" => {
                self.expect("(");
                let a = self.sum().term();
                self.expect(",");
                let b = self.sum().term();
                self.expect(")");
                Value::Term(if word == "min" { a.min(b) } else { a.max(b) })
            }
            "if" => {
                self.expect("(");
                let condition = self.disjunction().formula();
                self.expect(",");
                let a = self.sum().term();
                self.expect(",");
                let b = self.sum().term();
                self.expect(")");
                Value::Term(Term::ite(condition, a, b))
            }
            _ => Value::Term(match word.parse() {
                Ok(value) => Term::Lit(value),
                Err(_) => {
                    let index = self.names.iter().position(|name| *name == word);
                    Term::Var(Var(index.unwrap_or_else(|| panic!("unknown name {word}")) as u32))
                }
            }),
        }
    }
}
