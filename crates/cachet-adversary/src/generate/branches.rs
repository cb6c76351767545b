//! Functions whose loops, blocks, branches and folds have bounds and conditions drawn at random: many of them never run.
//!
//! What they read and write is always inside its array, so the functions are accepted, and what is told of them is about
//! what is reached.

use crate::random::Random;

struct Draw<'r> {
    random: &'r mut Random,
    /// What indices may be made of.
    names: Vec<String>,
    next: usize,
    out: String,
}

/// A function of a name.
pub fn draw(random: &mut Random, name: &str) -> String {
    let mut draw = Draw { random, names: vec!["M".into(), "N".into()], next: 0, out: String::new() };
    let requires = if draw.random.once_in(2) {
        let bound = draw.random.between(0, 4);
        let other = draw.random.pick(&["", " && M % 2 == 0", " && M <= N"]);
        format!("\nrequires N >= {bound}{other}\n")
    } else {
        " ".into()
    };
    draw.out.push_str(&format!("fn {name} (reads x: [f32; 4]) (reads a: [f32; M, N]) (mut y: [f32; 4]){requires}=\n"));
    for _ in 0..1 + draw.random.below(3) {
        draw.statement(1, 3);
    }
    draw.out
}

impl Draw<'_> {
    fn line(&mut self, indent: usize, text: &str) {
        self.out.push_str(&format!("{}{text}\n", "  ".repeat(indent)));
    }

    fn index(&mut self, depth: usize) -> String {
        let name = self.random.pick(&self.names);
        match self.random.below(if depth == 0 { 3 } else { 9 }) {
            0 => self.random.between(-1, 5).to_string(),
            1 | 2 => name,
            3 | 4 => format!("{name} + {}", self.random.between(0, 4)),
            5 => format!("{name} - {}", self.random.between(0, 4)),
            6 => format!("({}) / {}", self.index(depth - 1), self.random.between(2, 4)),
            7 => format!("({}) % {}", self.index(depth - 1), self.random.between(2, 4)),
            _ => {
                let which = self.random.pick(&["min", "max"]);
                format!("{which} ({}) ({})", self.index(depth - 1), self.index(depth - 1))
            }
        }
    }

    fn guard(&mut self) -> String {
        let rel = self.random.pick(&["<", "<=", "==", "!=", ">", ">="]);
        let one = format!("{} {rel} {}", self.index(2), self.index(1));
        match self.random.below(6) {
            0 => format!("({one}) && {} < {}", self.index(1), self.index(1)),
            1 => format!("({one}) || {} < {}", self.index(1), self.index(1)),
            2 => format!("!({one})"),
            _ => one,
        }
    }

    /// Mostly ranges that may have elements.
    fn range(&mut self) -> String {
        let size = self.random.pick(&["M", "N"]);
        match self.random.below(4) {
            0 => format!("{} .. {}", self.index(2), self.index(2)),
            1 => format!("{} .. {size}", self.index(1)),
            _ => format!("0 .. {size}"),
        }
    }

    fn fresh(&mut self) -> String {
        self.next += 1;
        format!("i{}", self.next)
    }

    fn statement(&mut self, indent: usize, depth: usize) {
        if depth == 0 || self.random.once_in(4) {
            let word = self.word(2);
            let at = self.random.below(4);
            return self.line(indent, &format!("store y[{at}] = {word}"));
        }
        let known = self.names.len();
        match self.random.below(5) {
            0 | 1 => {
                let (var, range) = (self.fresh(), self.range());
                self.line(indent, &format!("for {var} in {range} do"));
                self.names.push(var);
                self.body(indent + 1, depth);
            }
            2 => {
                let (var, range, size) = (self.fresh(), self.range(), self.random.between(2, 4));
                self.line(indent, &format!("for {var} in blocks ({range}) {size} do"));
                self.names.extend(["lo", "len", "hi", "idx"].map(|part| format!("{var}.{part}")));
                self.body(indent + 1, depth);
            }
            _ => {
                let guard = self.guard();
                self.line(indent, &format!("if {guard} then"));
                self.body(indent + 1, depth);
                if self.random.once_in(2) {
                    self.line(indent, "else");
                    self.body(indent + 1, depth);
                }
            }
        }
        self.names.truncate(known);
    }

    fn body(&mut self, indent: usize, depth: usize) {
        for _ in 0..1 + self.random.below(2) {
            self.statement(indent, depth - 1);
        }
    }

    fn word(&mut self, depth: usize) -> String {
        let at = self.random.below(4);
        if depth == 0 {
            return format!("load x[{at}]");
        }
        match self.random.below(5) {
            0 => format!("(if {} then {} else {})", self.guard(), self.word(depth - 1), self.word(depth - 1)),
            1 => {
                let (var, range) = (self.fresh(), self.range());
                self.names.push(var.clone());
                let word = self.word(depth - 1);
                self.names.pop();
                format!("(fold {var} in {range} from 0.0 as s{var}: f32 do s{var} + {word})")
            }
            2 => format!("({} + {})", self.word(depth - 1), self.word(depth - 1)),
            _ => format!("load x[{at}]"),
        }
    }
}
