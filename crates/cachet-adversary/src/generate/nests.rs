//! Small functions drawn at random, as text: nests over two sizes that read and write several buffers, in place, shifted by
//! one, turned round, triangular, with sums, branches and statements between their loops; of floats, integers that wrap
//! around, and records.

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

struct Draw<'r> {
    random: &'r mut Random,
    loops: Vec<Loop>,
    lets: Vec<String>,
    names: usize,
    out: String,
    /// The row of a grid's own iteration, and how often another one is taken: once in so many times.
    own: Option<(String, usize)>,
}

/// Stands before the programs.
pub const RECORDS: &str = "record Pair where
  p: f32
  q: f32

";

const HEAD: &str =
    "(reads a: [f32; M, N]) (reads t: [f32; N, M]) (mut c: [f32; M, N]) (mut y: [f32; N]) (mut z: [f32; M])
    (mut r: [Pair; M, N]) (mut w: [i32; M, N]) =";

/// What a buffer's elements are.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Floats,
    Pairs,
    Whole,
}

/// The buffers, each axis by whether it is one of rows.
const BUFFERS: &[(&str, &[bool], Of)] = &[
    ("a", &[true, false], Of::Floats),
    ("t", &[false, true], Of::Floats),
    ("c", &[true, false], Of::Floats),
    ("y", &[false], Of::Floats),
    ("z", &[true], Of::Floats),
    ("r", &[true, false], Of::Pairs),
    ("w", &[true, false], Of::Whole),
];

/// A cell and what it holds.
type Cell = (String, Of);

/// A function of a name.
pub fn draw(random: &mut Random, name: &str) -> String {
    let mut draw = Draw::new(random, name);
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

/// A function whose outermost loop is a grid written by hand, and the same function with a loop.
///
/// Mostly an iteration writes rows of its own; its windows are inferred or named, and then `c` may go by an alias.
pub fn draw_grid(random: &mut Random, name: &str) -> [String; 2] {
    let (blocks, named) = (random.once_in(2), random.once_in(2));
    let mut draw = Draw::new(random, name);
    draw.names = 1;
    let (head, own, inside) = match blocks {
        true => ("g in blocks (0 .. M) 3", "g[i]", 2),
        false => ("i in 0 .. M", "i", 1),
    };
    draw.line(1, &format!("@LOOP {head}@WRITES do"));
    if blocks {
        draw.line(2, "for i in 0 .. g.len do");
    }
    draw.own = Some((own.into(), 3 + draw.random.below(24)));
    draw.loops.push(Loop { name: own.into(), rows: true, inner: false });
    for _ in 0..1 + draw.random.below(2) {
        let depth = draw.random.below(3);
        draw.nest(depth, inside + 1);
    }
    let text = draw.out;
    let window = if blocks { "g.lo ..+ g.len" } else { "i" };
    let (writes, alias) = match (named, blocks) {
        (false, _) => (String::new(), format!("c[{own}, ")),
        (true, _) => {
            let rows = ["r", "w"].map(|b| format!("{b}[{window}, 0 ..+ N]")).join(", ");
            let row = if blocks { "ct[i, " } else { "ct[0, " };
            (format!(" writes c[{window}, 0 ..+ N] as ct, z[{window}], {rows}"), row.to_string())
        }
    };
    let grid = text.replace("@LOOP", "grid").replace(&format!("c[{own}, "), &alias).replace("@WRITES", &writes);
    let plain = text.replace("@LOOP", "for").replace("@WRITES", "");
    [grid, plain.replacen(name, &format!("{name}_plain"), 1)]
}

impl<'r> Draw<'r> {
    fn new(random: &'r mut Random, name: &str) -> Draw<'r> {
        Draw { random, loops: vec![], lets: vec![], names: 0, out: format!("fn {name} {HEAD}\n"), own: None }
    }

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
        self.line(3, &format!("store c[i, j] = (fold k in 0 .. M from {start} as all: f32 do all + {term}){after}"));
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
        let taken = |name: &str| self.loops.iter().any(|l| l.name == name || l.name == format!("g[{name}]"));
        let mut name = "ijklm".chars().nth(self.names % 5).map_or("n".into(), String::from);
        while taken(&name) {
            self.names += 1;
            name = "ijklm".chars().nth(self.names % 5).map_or("n".into(), String::from);
        }
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
        let Some((cell, of)) = self.cell(true) else {
            self.names += 1;
            return self.line(indent, &format!("let nothing{}: f32 = 0.0", self.names));
        };
        // Mostly in place: what a cell holds matters then, and in which order.
        let own = self.random.once_in(2);
        let word = match (of, own) {
            (Of::Floats, true) => format!("load {cell} * {} + {}", self.word(0), self.word(1)),
            (Of::Floats, false) => self.word(2),
            (Of::Pairs, true) => {
                format!("Pair {{ p = (load {cell}).q + {}, q = (load {cell}).p * {} }}", self.word(0), self.word(0))
            }
            (Of::Pairs, false) => format!("Pair {{ p = {}, q = {} }}", self.word(1), self.word(0)),
            (Of::Whole, true) => format!("wrapping_add (wrapping_mul (load {cell}) 3) ({})", self.whole(0)),
            (Of::Whole, false) => self.whole(1),
        };
        self.line(indent, &format!("store {cell} = {word}"));
    }

    /// An integer: a float's, towards zero.
    fn whole(&mut self, depth: usize) -> String {
        let word = self.word(depth);
        // Of literals alone the type is not known.
        if word.contains("load") { format!("({word}) as i32") } else { "3".into() }
    }

    /// What a cell holds, as a float.
    fn loaded(&mut self, (cell, of): &Cell) -> String {
        match of {
            Of::Floats => format!("load {cell}"),
            Of::Pairs => format!("(load {cell}).{}", self.random.pick(&["p", "q"])),
            Of::Whole => format!("((load {cell}) as f32)"),
        }
    }

    fn sum(&mut self, indent: usize) {
        let Some((cell, of)) = self.cell(true) else { return self.store(indent) };
        let (name, rows) = (format!("s{}", self.names), self.random.once_in(2));
        self.names += 1;
        let size = if rows { "M" } else { "N" };
        let others: [&str; 2] = match of {
            Of::Floats => ["-0.0", "2.0"],
            Of::Pairs => ["(Pair { p = -0.0, q = 1.0 })"; 2],
            Of::Whole => ["0", "7"],
        };
        let start = self.random.pick(&[format!("(load {cell})"), others[0].to_string(), others[1].to_string()]);
        self.loops.push(Loop { name: name.clone(), rows, inner: false });
        let term = if of == Of::Whole { self.whole(1) } else { self.word(1) };
        self.loops.pop();
        let (ty, next) = match of {
            Of::Floats => ("f32", format!("r{name} + {term}")),
            Of::Pairs => ("Pair", format!("Pair {{ p = r{name}.q + {term}, q = r{name}.p }}")),
            Of::Whole => ("i32", format!("wrapping_add r{name} ({term})")),
        };
        self.line(indent, &format!("store {cell} = fold {name} in 0 .. {size} from {start} as r{name}: {ty} do"));
        self.line(indent + 1, &next);
    }

    fn word(&mut self, depth: usize) -> String {
        if depth == 0 {
            if !self.lets.is_empty() && self.random.once_in(3) {
                return self.random.pick(&self.lets.clone());
            }
            return match self.cell(false) {
                Some(cell) if !self.random.once_in(6) => self.loaded(&cell),
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
    fn cell(&mut self, written: bool) -> Option<Cell> {
        for _ in 0..8 {
            let (buffer, axes, of) = if written { self.random.pick(&BUFFERS[2..]) } else { self.random.pick(BUFFERS) };
            // A row of `y` is everybody's.
            if self.own.as_ref().is_some_and(|(_, often)| written && buffer == "y" && !self.random.once_in(*often)) {
                continue;
            }
            let at: Option<Vec<String>> = axes.iter().map(|rows| self.index(*rows)).collect();
            if let Some(at) = at {
                return Some((format!("{buffer}[{}]", at.join(", ")), of));
            }
        }
        None
    }

    fn index(&mut self, rows: bool) -> Option<String> {
        if let (true, Some((own, often))) = (rows, self.own.clone())
            && !self.random.once_in(often)
        {
            return Some(own);
        }
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
