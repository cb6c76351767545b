//! Functions drawn at random that keep arrays near, as text: leases and arrays of their own at two small caches, between
//! loops, blocks, triangles and conditions, in functions that are called, and a caller that says all sizes.

use crate::random::Random;

/// A module in the parts that a change may be made to.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Bytes of a line, lines of a set, and sets, of both caches.
    pub caches: [[i64; 3]; 2],
    /// From the parameters to where clauses stand, and the body, of `helper`, `kernel` and `outer`.
    pub functions: [[String; 2]; 3],
    /// Clauses between the two.
    pub clauses: [String; 3],
}

/// The names of a module's functions.
pub const FUNCTIONS: [&str; 3] = ["helper", "kernel", "outer"];

impl Drawn {
    /// As it is written.
    pub fn text(&self) -> String {
        let level = |n: usize| {
            let [line, ways, sets] = self.caches[n];
            let capacity = line * ways * sets;
            format!("  level L{} capacity = {capacity} line = {line} ways = {ways}\n", n + 1)
        };
        let mut out = format!(
            "module (platform = Drawn)\n\nimport \"cachet:layouts\"\n\nplatform Drawn where\n  target x86_64\n{}{}  level DRAM line = {}\n",
            level(0),
            level(1),
            self.caches[1][0]
        );
        for (n, [header, body]) in self.functions.iter().enumerate() {
            out.push_str(&format!("\n{header}\n{}=\n{body}", self.clauses[n]));
        }
        out
    }
}

/// A module.
pub fn draw(random: &mut Random) -> Drawn {
    let line = 16 << random.below(2);
    let caches = [
        [line, 1 + random.below(4) as i64, 2 + random.below(14) as i64],
        [line << random.below(2), 1 + random.below(8) as i64, 2 + random.below(14) as i64],
    ];
    let bounded = random.once_in(3);
    let most = [2 + random.below(8), 2 + random.below(8)];
    let requires = match bounded {
        true => format!("\nrequires M <= {}, N <= {}", most[0], most[1]),
        false => String::new(),
    };
    let layouts = ["", "", " in PanelMajor 4", " in ColumnPanels 3"];
    let layouts = [random.pick(&layouts), random.pick(&layouts)];
    let params = |m: &str, n: &str| {
        format!(
            "\n    (reads a: [f32; {m}, {n}]{}) (reads b: [f64; {n}]) (mut y: [f32; {m}, {n}]{}) (mut z: [f64; {m}])",
            layouts[0], layouts[1]
        )
    };
    let helper = Draw::body(random, &["p", "q"], false);
    let kernel = Draw::body(random, &["a", "b", "y", "z"], true);
    let sizes = most.map(|n| if random.once_in(3) { 1 } else { n }.to_string());
    let outer = match random.below(3) {
        0 => "  for r in 0 .. 2 do\n    kernel a b y z\n".to_string(),
        1 => "  alloc own: [f64; 9] at L2\n  for j in 0 .. 9 do\n    store own[j] = 0.0\n  kernel a b y z\n".into(),
        _ => "  kernel a b y z\n".into(),
    };
    Drawn {
        caches,
        functions: [
            ["fn helper (reads p: [f64; R]) (mut q: [f64; S])".into(), helper],
            [format!("fn kernel{}{requires}", params("M", "N")), kernel],
            [format!("fn outer{}", params(&sizes[0], &sizes[1])), outer],
        ],
        clauses: Default::default(),
    }
}

/// An array that can be named.
#[derive(Clone)]
struct Array {
    name: String,
    /// Its extents as they are written.
    extents: Vec<&'static str>,
    wide: bool,
    mutable: bool,
    /// 0 in DRAM.
    level: usize,
}

/// A loop in scope: the index that it gives, and the extent that it is below.
type Index = (String, &'static str);

struct Draw<'r> {
    random: &'r mut Random,
    arrays: Vec<Array>,
    indices: Vec<Index>,
    names: usize,
    out: String,
    /// Whether the helper may be called.
    calls: bool,
}

/// Extents of arrays that a function makes.
const OWN: [&str; 4] = ["2", "3", "5", "8"];
/// At most so many statements of a function.
const MOST_LINES: usize = 40;

impl<'r> Draw<'r> {
    fn body(random: &'r mut Random, names: &[&str], calls: bool) -> String {
        let known = |name: &&str| {
            let (extents, wide, mutable): (Vec<&'static str>, _, _) = match *name {
                "a" => (vec!["M", "N"], false, false),
                "b" => (vec!["N"], true, false),
                "y" => (vec!["M", "N"], false, true),
                "z" => (vec!["M"], true, true),
                "p" => (vec!["R"], true, false),
                _ => (vec!["S"], true, true),
            };
            Array { name: (*name).into(), extents, wide, mutable, level: 0 }
        };
        let arrays = names.iter().map(known).collect();
        let mut draw = Draw { random, arrays, indices: Vec::new(), names: 0, out: String::new(), calls };
        if draw.calls && draw.random.once_in(10) {
            draw.grid();
        }
        for _ in 0..1 + draw.random.below(2) {
            draw.nest(1, 0);
        }
        draw.out
    }

    fn line(&mut self, indent: usize, text: &str) {
        self.out.push_str(&"  ".repeat(indent));
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn name(&mut self, of: &str) -> String {
        self.names += 1;
        format!("{of}{}", self.names)
    }

    fn sizes(&self) -> [&'static str; 2] {
        if self.calls { ["M", "N"] } else { ["R", "S"] }
    }

    /// Iterations that each have room of their own.
    fn grid(&mut self) {
        let level = 1 + self.random.below(2);
        let n = self.random.pick(&OWN);
        self.line(1, "grid i in 0 .. M do");
        self.line(2, &format!("alloc own: [f64; {n}] at L{level}"));
        self.line(2, &format!("for j in 0 .. {n} do"));
        self.line(3, "store own[j] = 1.5");
        self.line(2, &format!("store z[i] = load own[{n} - 1]"));
    }

    /// A loop, or what stands in one.
    fn nest(&mut self, indent: usize, depth: usize) {
        if self.out.lines().count() > MOST_LINES {
            return self.store(indent);
        }
        let (arrays, indices) = (self.arrays.clone(), self.indices.len());
        let drawn = self.random.below(if depth > 2 { 4 } else { 10 });
        match drawn {
            0..=2 => {
                self.store(indent);
                return;
            }
            3 => {
                self.lease(indent);
                self.swept_or(indent, Draw::store);
            }
            4 => {
                self.own(indent);
                self.swept_or(indent, |draw, indent| draw.nest(indent, depth + 1));
            }
            5 if !self.indices.is_empty() => {
                let (index, _) = self.random.pick(&self.indices);
                let n = self.random.below(4);
                let guard = self.random.pick(&[format!("{index} < {n}"), format!("{index} % 2 == 0")]);
                self.line(indent, &format!("if {guard} then"));
                self.nest(indent + 1, depth + 1);
            }
            6 if self.calls => self.call(indent),
            7 => {
                let (g, i) = (self.name("g"), self.name("i"));
                let (size, n) = (self.random.pick(&self.sizes()), self.random.pick(&[1, 2, 3, 4, 7]));
                self.line(indent, &format!("for {g} in blocks (0 .. {size}) {n} do"));
                if self.random.once_in(2) {
                    self.lease(indent + 1);
                }
                self.line(indent + 1, &format!("for {i} in 0 .. {g}.len do"));
                self.indices.push((format!("{g}[{i}]"), size));
                self.nest(indent + 2, depth + 2);
            }
            _ => {
                let i = self.name("i");
                let size = self.random.pick(&self.sizes());
                let same: Vec<Index> = self.indices.iter().filter(|(_, of)| *of == size).cloned().collect();
                let range = match self.random.below(6) {
                    0 if !same.is_empty() => format!("0 .. {} + 1", self.random.pick(&same).0),
                    1 if !same.is_empty() => format!("{} .. {size}", self.random.pick(&same).0),
                    2 => format!("1 .. {size} - 1"),
                    _ => format!("0 .. {size}"),
                };
                self.line(indent, &format!("for {i} in {range} do"));
                self.indices.push((i, size));
                self.nest(indent + 1, depth + 1);
                if self.random.once_in(4) {
                    self.nest(indent + 1, depth + 2);
                }
            }
        }
        // What a block names ends with it; a lease behind a loop ends with the block that the loop stands in.
        self.indices.truncate(indices);
        if !matches!(drawn, 3 | 4) {
            self.arrays = arrays;
        }
    }

    fn lease(&mut self, indent: usize) {
        let further: Vec<usize> = (0..self.arrays.len()).filter(|n| self.arrays[*n].level != 1).collect();
        if further.is_empty() {
            return;
        }
        let n = self.random.pick(&further);
        let of = self.arrays[n].clone();
        let level = if of.level == 2 || self.random.once_in(2) { 1 } else { 2 };
        let (name, mutable) = (self.name("near"), of.mutable && self.random.once_in(2));
        let word = if mutable { "lease mut" } else { "lease" };
        self.line(indent, &format!("{word} {name} = {} at L{level}", of.name));
        self.arrays[n] = Array { name, mutable, level, ..of };
    }

    /// Everything that is kept near is read twice, or something else happens.
    fn swept_or(&mut self, indent: usize, other: impl FnOnce(&mut Self, usize)) {
        let kept: Vec<Array> = self.arrays.iter().filter(|a| a.level > 0).cloned().collect();
        if kept.is_empty() || self.random.once_in(2) {
            return other(self, indent);
        }
        let round = self.name("r");
        self.line(indent, &format!("for {round} in 0 .. 2 do"));
        for a in kept {
            let indices: Vec<String> = a.extents.iter().map(|_| self.name("i")).collect();
            for (n, (i, e)) in indices.iter().zip(&a.extents).enumerate() {
                self.line(indent + 1 + n, &format!("for {i} in 0 .. {e} do"));
            }
            let (name, elem) = (self.name("seen"), if a.wide { "f64" } else { "f32" });
            let word = format!("load {}[{}]", a.name, indices.join(", "));
            self.line(indent + 1 + indices.len(), &format!("let {name}: {elem} = {word}"));
        }
    }

    /// An array of the function's own, filled.
    fn own(&mut self, indent: usize) {
        let (name, wide, level) = (self.name("own"), self.random.once_in(2), self.random.below(3));
        let extents = vec![self.random.pick(&OWN), self.random.pick(&OWN)];
        let layout = self.random.pick(&["", "", " in PanelMajor 4"]);
        let elem = if wide { "f64" } else { "f32" };
        let at = ["DRAM", "L1", "L2"][level];
        self.line(indent, &format!("alloc {name}: [{elem}; {}, {}]{layout} at {at}", extents[0], extents[1]));
        let (i, j) = (self.name("i"), self.name("j"));
        self.line(indent, &format!("for {i} in 0 .. {} do", extents[0]));
        self.line(indent + 1, &format!("for {j} in 0 .. {} do", extents[1]));
        self.line(indent + 2, &format!("store {name}[{i}, {j}] = 0.5"));
        self.arrays.push(Array { name, extents, wide, mutable: true, level });
    }

    /// The helper, on two arrays of doubles that are kept where its parameters are.
    fn call(&mut self, indent: usize) {
        let far = |a: &&Array| a.wide && a.extents.len() == 1 && a.level == 0;
        let from: Vec<String> = self.arrays.iter().filter(far).map(|a| a.name.clone()).collect();
        let to: Vec<String> = self.arrays.iter().filter(far).filter(|a| a.mutable).map(|a| a.name.clone()).collect();
        match (from.is_empty(), to.is_empty()) {
            (false, false) => {
                let (p, q) = (self.random.pick(&from), self.random.pick(&to));
                if p == q { self.store(indent) } else { self.line(indent, &format!("helper {p} {q}")) }
            }
            _ => self.store(indent),
        }
    }

    fn store(&mut self, indent: usize) {
        let reached = |a: &&Array| a.mutable && self.at(a).is_some();
        let to: Vec<Array> = self.arrays.iter().filter(reached).cloned().collect();
        if to.is_empty() {
            let name = self.name("nothing");
            return self.line(indent, &format!("let {name}: f32 = 0.0"));
        }
        let to = self.random.pick(&to);
        let read: Vec<Array> =
            self.arrays.iter().filter(|a| a.wide == to.wide && self.at(a).is_some()).cloned().collect();
        let mut words = vec![format!("load {}[{}]", to.name, self.index(&to))];
        for _ in 0..1 + self.random.below(2) {
            let from = self.random.pick(&read);
            words.push(format!("load {}[{}]", from.name, self.index(&from)));
        }
        let op = self.random.pick(&[" + ", " * ", " - "]);
        let cell = self.index(&to);
        self.line(indent, &format!("store {}[{cell}] = {}", to.name, words.join(op)));
    }

    /// Whether each axis has an index.
    fn at(&self, a: &Array) -> Option<()> {
        let has = |e: &&str| OWN.contains(e) || self.indices.iter().any(|(_, of)| of == e);
        a.extents.iter().all(has).then_some(())
    }

    fn index(&mut self, a: &Array) -> String {
        let mut out = Vec::new();
        for e in &a.extents {
            let own: Vec<String> = self.indices.iter().filter(|(_, of)| of == e).map(|(i, _)| i.clone()).collect();
            out.push(match (OWN.contains(e), own.is_empty()) {
                (true, _) if !self.indices.is_empty() && self.random.once_in(2) => {
                    format!("{} % {e}", self.random.pick(&self.indices).0)
                }
                (true, _) => self.random.below(e.parse().unwrap_or(1)).to_string(),
                (false, _) if self.random.once_in(6) => format!("{e} - 1 - {}", self.random.pick(&own)),
                (false, _) => self.random.pick(&own),
            });
        }
        out.join(", ")
    }
}
