//! Small functions drawn at random, as text: nests over two sizes that read and write several buffers, in place, shifted by
//! one, turned round, triangular, with sums, branches and statements between their loops.

use crate::random::Random;

/// A loop in scope.
#[derive(Clone)]
struct Loop {
    name: String,
    /// Whether it runs over rows (`M`); else over columns (`N`).
    rows: bool,
    /// Whether one less and one more are indices as well.
    inner: bool,
}

pub struct Draw<'r> {
    random: &'r mut Random,
    loops: Vec<Loop>,
    lets: Vec<String>,
    names: usize,
    out: String,
}

const HEAD: &str =
    "(reads a: [f32; M, N]) (reads t: [f32; N, M]) (mut c: [f32; M, N]) (mut y: [f32; N]) (mut z: [f32; M]) =";

/// The buffers, each axis by whether it is one of rows.
const BUFFERS: &[(&str, &[bool])] =
    &[("a", &[true, false]), ("t", &[false, true]), ("c", &[true, false]), ("y", &[false]), ("z", &[true])];

/// A function of a name.
pub fn draw(random: &mut Random, name: &str) -> String {
    let mut draw = Draw { random, loops: vec![], lets: vec![], names: 0, out: format!("fn {name} {HEAD}\n") };
    match draw.random.below(7) {
        0 | 1 => draw.product(),
        2 | 3 => draw.plain(),
        _ => {
            let depth = 2 + draw.random.below(2);
            draw.nest(depth, 1);
        }
    }
    if draw.random.once_in(4) {
        draw.nest(1, 1);
    }
    draw.out
}

impl Draw<'_> {
    fn line(&mut self, indent: usize, text: &str) {
        self.out.push_str(&"  ".repeat(indent));
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Like a matrix product: a sum for each element, or for each row or column.
    fn product(&mut self) {
        let start = self.random.pick(&["-0.0", "1.0", "(load c[i, j])"]);
        let term = self.random.pick(&["load a[i, j] * load t[j, k]", "load a[i, j] + load a[k, j]", "load t[j, i]"]);
        let after = self.random.pick(&["", " * 2.0", " + load z[i]"]);
        self.line(1, "for i in 0 .. M do");
        self.line(2, "for j in 0 .. N do");
        self.line(3, &format!("store c[i, j] = (fold k in 0 .. M from {start} as r: f32 do r + {term}){after}"));
        self.names = 3;
    }

    /// One statement in two loops over everything, so that many orders are as good as its own.
    fn plain(&mut self) {
        let range = |random: &mut Random, size: &str| match random.below(3) {
            0 => format!("1 .. {size} - 1"),
            _ => format!("0 .. {size}"),
        };
        let ranges = [range(self.random, "M"), range(self.random, "N")];
        self.line(1, &format!("for i in {} do", ranges[0]));
        self.line(2, &format!("for j in {} do", ranges[1]));
        let inner = |n: usize| ranges[n].starts_with('1');
        self.loops.push(Loop { name: "i".into(), rows: true, inner: inner(0) });
        self.loops.push(Loop { name: "j".into(), rows: false, inner: inner(1) });
        let word = self.word(1);
        let cell = self.random.pick(&["c[i, j]", "c[i, j]", "y[j]", "z[i]", "c[M - 1 - i, j]"]);
        let own = if self.random.once_in(2) { format!("load {cell} * ") } else { String::new() };
        self.line(3, &format!("store {cell} = {own}({word})"));
        self.loops.clear();
        self.names = 3;
    }

    /// A loop, sometimes with statements before or after the loops in it.
    fn nest(&mut self, depth: usize, indent: usize) {
        if depth == 0 {
            return self.body(indent);
        }
        let name = ["i", "j", "k", "l", "m"][self.names % 5].to_string();
        self.names += 1;
        // The first two loops run over rows and columns, so that every buffer can be reached.
        let rows = match self.loops.len() {
            0 => true,
            1 => false,
            _ => self.random.once_in(2),
        };
        let size = if rows { "M" } else { "N" };
        let same: Vec<String> = self.loops.iter().filter(|l| l.rows == rows).map(|l| l.name.clone()).collect();
        let (range, inner) = match self.random.below(8) {
            0 | 1 => (format!("1 .. {size} - 1"), true),
            2 if !same.is_empty() => (format!("0 .. {} + 1", self.random.pick(&same)), false),
            3 if !same.is_empty() => (format!("{} .. {size}", self.random.pick(&same)), false),
            _ => (format!("0 .. {size}"), false),
        };
        self.line(indent, &format!("for {name} in {range} do"));
        self.loops.push(Loop { name, rows, inner });
        let lets = self.lets.len();
        let between = depth > 1 && self.loops.len() > 1 && self.random.once_in(4);
        if between {
            self.store(indent + 1);
        }
        self.nest(depth - 1, indent + 1);
        if depth > 1 && self.loops.len() > 1 && self.random.once_in(6) {
            self.store(indent + 1);
        }
        self.lets.truncate(lets);
        self.loops.pop();
    }

    fn body(&mut self, indent: usize) {
        let lets = self.lets.len();
        for _ in 0..1 + self.random.below(2) {
            match self.random.below(7) {
                0 => {
                    let name = format!("v{}", self.names);
                    self.names += 1;
                    let word = self.word(1);
                    self.line(indent, &format!("let {name}: f32 = {word}"));
                    self.lets.push(name);
                    self.store(indent);
                }
                1 => {
                    let guard = self.guard();
                    self.line(indent, &format!("if {guard} then"));
                    self.store(indent + 1);
                    if self.random.once_in(2) {
                        self.line(indent, "else");
                        self.store(indent + 1);
                    }
                }
                2 => self.sum(indent),
                _ => self.store(indent),
            }
        }
        self.lets.truncate(lets);
    }

    fn store(&mut self, indent: usize) {
        let Some(cell) = self.cell(true) else { return self.line(indent, "let nothing: f32 = 0.0") };
        // Mostly in place: what a cell holds matters then, and in which order.
        let word = if self.random.once_in(2) {
            format!("load {cell} * {} + {}", self.word(0), self.word(1))
        } else {
            self.word(2)
        };
        self.line(indent, &format!("store {cell} = {word}"));
    }

    fn sum(&mut self, indent: usize) {
        let Some(cell) = self.cell(true) else { return self.store(indent) };
        let (name, rows) = (format!("s{}", self.names), self.random.once_in(2));
        self.names += 1;
        let size = if rows { "M" } else { "N" };
        let start = self.random.pick(&[format!("(load {cell})"), "-0.0".to_string(), "2.0".to_string()]);
        self.loops.push(Loop { name: name.clone(), rows, inner: false });
        let term = self.word(1);
        self.loops.pop();
        self.line(indent, &format!("store {cell} = fold {name} in 0 .. {size} from {start} as r{name}: f32 do"));
        self.line(indent + 1, &format!("r{name} + {term}"));
    }

    fn word(&mut self, depth: usize) -> String {
        if depth == 0 {
            if !self.lets.is_empty() && self.random.once_in(3) {
                return self.random.pick(&self.lets.clone());
            }
            return match self.cell(false) {
                Some(cell) if !self.random.once_in(6) => format!("load {cell}"),
                _ => self.random.pick(&["0.5", "-3.0", "1.25"]).to_string(),
            };
        }
        let (x, y) = (self.word(depth - 1), self.word(depth - 1));
        match self.random.below(5) {
            0 => format!("({x} * {y})"),
            1 => format!("({x} - {y})"),
            2 => format!("(if {} then {x} else {y})", self.guard()),
            _ => format!("({x} + {y})"),
        }
    }

    fn guard(&mut self) -> String {
        let l = self.random.pick(&self.loops.clone());
        let n = self.random.below(4);
        match self.random.below(4) {
            0 => format!("{} % 2 == {}", l.name, n % 2),
            1 => format!("{} < {n}", l.name),
            2 => format!("{} == {n}", l.name),
            _ => format!("{} < {}", l.name, self.random.pick(&self.loops.clone()).name),
        }
    }

    /// A cell that can be reached from here.
    fn cell(&mut self, written: bool) -> Option<String> {
        for _ in 0..8 {
            let (buffer, axes) = if written { self.random.pick(&BUFFERS[2..]) } else { self.random.pick(BUFFERS) };
            let at: Option<Vec<String>> = axes.iter().map(|rows| self.index(*rows)).collect();
            if let Some(at) = at {
                return Some(format!("{buffer}[{}]", at.join(", ")));
            }
        }
        None
    }

    fn index(&mut self, rows: bool) -> Option<String> {
        let loops: Vec<Loop> = self.loops.iter().filter(|l| l.rows == rows).cloned().collect();
        if loops.is_empty() {
            return None;
        }
        let l = self.random.pick(&loops);
        let size = if rows { "M" } else { "N" };
        Some(match self.random.below(8) {
            0 | 1 if l.inner => format!("{} - 1", l.name),
            2 | 3 if l.inner => format!("{} + 1", l.name),
            4 => format!("{size} - 1 - {}", l.name),
            5 => "0".into(),
            _ => l.name,
        })
    }
}
