//! Contractions drawn at random, as text: one to three operands of several ranks, transposed, shifted, doubled and turned
//! round; one or several sums and reductions, with guards and ranges; epilogues; several equations; of floats, integers that
//! wrap around, truth values and records, and over any semiring.
//!
//! What is drawn is kept in parts, so that a minimiser can leave some of them out.

mod algebra;

pub use algebra::{Algebra, prelude};

use crate::random::Random;
use std::collections::BTreeSet;

/// A contraction in parts.
#[derive(Clone, Debug)]
pub struct Contraction {
    /// Its name.
    pub name: String,
    /// What its elements are.
    pub algebra: &'static Algebra,
    /// Its inputs, those that nothing reads among them; they are not written.
    pub inputs: Vec<Array>,
    /// Its equations.
    pub equations: Vec<Equation>,
    /// What it requires.
    pub requires: Vec<String>,
    /// Which constructs are in it.
    pub constructs: BTreeSet<&'static str>,
}

/// An array.
#[derive(Clone, Debug)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub elem: String,
    /// Its extents.
    pub extents: Vec<String>,
}

/// `target[indices] = value`.
#[derive(Clone, Debug)]
pub struct Equation {
    /// What it defines.
    pub target: String,
    /// Its indices.
    pub indices: Vec<Index>,
    /// The type of an output's elements; `None` for an intermediate.
    pub output: Option<String>,
    /// Sums and plain terms, joined.
    pub sums: Vec<Sum>,
    /// What joins them.
    pub join: Join,
    /// What stands around all of it, from the inside out.
    pub around: Vec<[String; 2]>,
}

/// A sum, a reduction, or a plain term.
#[derive(Clone, Debug)]
pub struct Sum {
    /// `sum`, `reduce Max f32`; nothing for a plain term.
    pub head: String,
    /// Its indices, each with what is written of its range.
    pub binders: Vec<(Index, String)>,
    /// Which terms count.
    pub guard: Option<String>,
    /// What is joined in a term.
    pub factors: Vec<String>,
    /// Sums inside a term, joined with its factors.
    pub inner: Vec<Sum>,
    /// What joins them.
    pub join: Join,
    /// What stands around a term.
    pub around: [String; 2],
}

/// An index and the size that it runs over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Its size.
    pub size: String,
}

/// How several are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Join {
    /// `a * b`
    Between(&'static str),
    /// `wrapping_mul a b`
    Before(&'static str),
}

impl Contraction {
    /// As text.
    pub fn text(&self) -> String {
        let lines: Vec<String> = self.equations.iter().map(|e| format!("  {}\n", e.text())).collect();
        let lines = lines.concat();
        let reads: Vec<String> = self.inputs.iter().filter(|a| mentions(&lines, &a.name)).map(Array::text).collect();
        let reads: Vec<String> = reads.iter().map(|a| format!("\n    (reads {a})")).collect();
        let outputs: Vec<String> = self.equations.iter().filter_map(Equation::written).collect();
        let generic = if self.algebra.instances.is_empty() { "" } else { " {S : Semiring}" };
        let requires = match self.requires.is_empty() {
            true => " =\n".to_string(),
            false => format!("\nrequires {}\n=\n", self.requires.join(", ")),
        };
        format!(
            "contraction {}{generic}{}\n    -> {}{requires}{lines}\n",
            self.name,
            reads.concat(),
            outputs.join(", ")
        )
    }

    /// The names of its outputs.
    pub fn outputs(&self) -> Vec<&str> {
        self.equations.iter().filter(|e| e.output.is_some()).map(|e| e.target.as_str()).collect()
    }

    /// The indices of its sums.
    pub fn summed(&self) -> BTreeSet<&str> {
        self.sums().into_iter().flat_map(|s| s.binders.iter().map(|(i, _)| i.name.as_str())).collect()
    }

    /// All sums and plain terms, those inside others too.
    pub fn sums(&self) -> Vec<&Sum> {
        let sums = self.equations.iter().flat_map(|e| &e.sums);
        sums.flat_map(|s| std::iter::once(s).chain(&s.inner)).collect()
    }

    /// The same with one part less, each way.
    pub fn smaller(&self) -> Vec<Contraction> {
        let mut out = Vec::new();
        for n in 0..self.equations.len() {
            let mut less = self.clone();
            let gone = less.equations.remove(n);
            if less.equations.iter().any(|e| e.output.is_some()) && !mentions(&less.text(), &gone.target) {
                out.push(less);
            }
            let equation = &self.equations[n];
            let mut with = |changed: Equation| {
                let mut less = self.clone();
                less.equations[n] = changed;
                out.push(less);
            };
            equation.smaller().into_iter().for_each(&mut with);
        }
        if !self.requires.is_empty() {
            out.push(Contraction { requires: vec![], ..self.clone() });
        }
        out
    }
}

/// Whether an array is read in a text.
fn mentions(text: &str, array: &str) -> bool {
    let start = format!("{array}[");
    let apart = |at: usize| !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    text.match_indices(&start).any(|(at, _)| apart(at))
}

impl Array {
    fn text(&self) -> String {
        format!("{}: [{}; {}]", self.name, self.elem, self.extents.join(", "))
    }
}

impl Equation {
    fn text(&self) -> String {
        let names: Vec<&str> = self.indices.iter().map(|i| i.name.as_str()).collect();
        let sums: Vec<String> = self.sums.iter().map(|s| s.text(self.sums.len() + self.around.len() > 1)).collect();
        let mut value = self.join.of(&sums);
        if sums.len() > 1 && !self.around.is_empty() {
            value = format!("({value})");
        }
        for [before, after] in &self.around {
            value = format!("{before}{value}{after}");
        }
        format!("{}[{}] = {value}", self.target, names.join(", "))
    }

    fn written(&self) -> Option<String> {
        let extents = self.indices.iter().map(|i| i.size.clone()).collect();
        let array = Array { name: self.target.clone(), elem: self.output.clone()?, extents };
        Some(format!("out {}", array.text()))
    }

    fn smaller(&self) -> Vec<Equation> {
        let mut out = Vec::new();
        for n in 0..self.around.len() {
            let mut less = self.clone();
            less.around.remove(n);
            out.push(less);
        }
        for n in 0..self.sums.len() {
            if self.sums.len() > 1 {
                let mut less = self.clone();
                less.sums.remove(n);
                out.push(less);
            }
            for sum in self.sums[n].smaller() {
                let mut less = self.clone();
                less.sums[n] = sum;
                out.push(less);
            }
        }
        out
    }
}

impl Sum {
    fn text(&self, inside: bool) -> String {
        let [before, after] = &self.around;
        let parts: Vec<String> = self.factors.iter().cloned().chain(self.inner.iter().map(|s| s.text(true))).collect();
        let term = format!("{before}{}{after}", self.join.of(&parts));
        if self.head.is_empty() {
            return if inside { format!("({term})") } else { term };
        }
        let binders: Vec<String> = self.binders.iter().map(|(i, range)| format!("{}{range}", i.name)).collect();
        let guard = self.guard.as_ref().map_or(String::new(), |g| format!(" where {g}"));
        format!("({} {}{guard}. {term})", self.head, binders.join(", "))
    }

    fn smaller(&self) -> Vec<Sum> {
        let mut out = Vec::new();
        if self.guard.is_some() {
            out.push(Sum { guard: None, ..self.clone() });
        }
        if !self.inner.is_empty() {
            out.push(Sum { inner: vec![], ..self.clone() });
        }
        for n in 0..self.factors.len() {
            if self.factors.len() > 1 {
                let mut less = self.clone();
                less.factors.remove(n);
                out.push(less);
            }
        }
        for n in 0..self.binders.len() {
            if self.binders.len() > 1 {
                let mut less = self.clone();
                less.binders.remove(n);
                out.push(less);
            }
        }
        out
    }
}

impl Join {
    fn of(self, parts: &[String]) -> String {
        match self {
            Join::Between(op) => parts.join(op),
            Join::Before(op) => {
                let mut all = parts.iter();
                let first = all.next().cloned().unwrap_or_default();
                all.fold(first, |so_far, next| format!("({op} {so_far} {next})"))
            }
        }
    }
}

/// A contraction of a name, of any algebra.
pub fn draw(random: &mut Random, name: &str) -> Contraction {
    let algebra = algebra::draw(random);
    draw_of(random, name, algebra)
}

/// A contraction of a name over an algebra.
pub fn draw_of(random: &mut Random, name: &str, algebra: &'static Algebra) -> Contraction {
    let made = Contraction {
        name: name.into(),
        algebra,
        inputs: vec![],
        equations: vec![],
        requires: vec![],
        constructs: BTreeSet::new(),
    };
    let mut draw = Draw { random, made, free: vec![], known: vec![], straight: false };
    draw.contraction();
    draw.made
}

struct Draw<'r> {
    random: &'r mut Random,
    made: Contraction,
    free: Vec<Index>,
    /// Intermediates that may be read.
    known: Vec<(String, Vec<Index>)>,
    /// Whether places are indices alone: an intermediate's indices have their ranges from there.
    straight: bool,
}

fn index(name: &str, size: &str) -> Index {
    Index { name: name.into(), size: size.into() }
}

impl Draw<'_> {
    fn contraction(&mut self) {
        let rank = [1, 1, 2, 2, 2, 3][self.random.below(6)];
        let mut free = [index("i", "M"), index("j", "N"), index("l", "L")][..rank].to_vec();
        self.shuffle(&mut free, "transposed result");
        self.free = free;
        if !self.made.algebra.record && self.random.once_in(5) {
            self.intermediate();
        }
        self.equation("y", true);
        if self.random.once_in(6) {
            // Other indices, or the same names again.
            if self.random.once_in(2) {
                self.free = vec![index("p", "M")];
            } else {
                self.free.truncate(1);
            }
            self.note("several outputs");
            self.equation("z", true);
        }
        let name = ["one index", "two indices", "three indices"][rank - 1];
        self.note(name);
        let algebra = self.made.algebra.name;
        self.note(algebra);
    }

    fn note(&mut self, construct: &'static str) {
        self.made.constructs.insert(construct);
    }

    fn shuffle(&mut self, all: &mut [Index], what: &'static str) {
        if all.len() > 1 && self.random.once_in(3) {
            let by = 1 + self.random.below(all.len() - 1);
            all.rotate_left(by);
            self.note(what);
        }
    }

    /// An earlier equation without storage, element by element or with a sum of its own.
    fn intermediate(&mut self) {
        self.note("intermediates");
        let output = self.made.equations.len();
        let kept = self.free.clone();
        let summed = self.random.once_in(2);
        if !summed {
            self.free = vec![kept[0].clone(), index("k", "K")];
        } else {
            self.free = vec![kept[0].clone()];
        }
        let target = format!("t{output}");
        self.straight = true;
        let sum = match summed {
            true => self.sum(&["q"]),
            false => self.plain(&self.free.clone()),
        };
        self.straight = false;
        let join = self.made.algebra.between;
        let indices = self.free.clone();
        self.made.equations.push(Equation {
            target: target.clone(),
            indices: indices.clone(),
            output: None,
            sums: vec![sum],
            join,
            around: vec![],
        });
        self.known.push((target, indices));
        self.free = kept;
    }

    fn equation(&mut self, target: &str, output: bool) {
        let algebra = self.made.algebra;
        let mut sums = match self.random.below(10) {
            0 if !algebra.record => {
                self.note("no sum");
                vec![self.plain(&self.free.clone())]
            }
            1 if !algebra.record => {
                self.note("several sums");
                vec![self.sum(&["k"]), self.sum(&["q"])]
            }
            2 | 3 if self.free.len() < 3 => {
                self.note("a sum over two");
                vec![self.sum(&["k", "q"])]
            }
            _ => vec![self.sum(&["k"])],
        };
        if !algebra.record && self.random.once_in(8) {
            sums.push(self.plain(&self.free.clone()));
            self.note("a term beside the sum");
        }
        let mut around = Vec::new();
        let most = if algebra.epilogues.is_empty() { 0 } else { self.random.below(5).saturating_sub(2) };
        for _ in 0..most {
            let [before, after] = self.random.pick(algebra.epilogues);
            let vector = match before.contains('@') || after.contains('@') {
                true => self.vector(),
                false => String::new(),
            };
            around.push([before.replace('@', &vector), after.replace('@', &vector)]);
            self.note("an epilogue");
        }
        let indices = self.free.clone();
        let output = output.then(|| algebra.result.to_string());
        self.made.equations.push(Equation {
            target: target.into(),
            indices,
            output,
            sums,
            join: algebra.between,
            around,
        });
    }

    /// A vector's element, at one of the free indices.
    fn vector(&mut self) -> String {
        self.note("scaled by a vector");
        let over = self.random.pick(&self.free);
        self.read(&[over])
    }

    fn plain(&mut self, over: &[Index]) -> Sum {
        let term = self.term(over, &[]);
        Sum { head: String::new(), binders: vec![], guard: None, ..term }
    }

    /// A sum over new indices, called so.
    fn sum(&mut self, names: &[&str]) -> Sum {
        let algebra = self.made.algebra;
        let head = self.random.pick(algebra.sums);
        self.note(if head == "sum" { "sum" } else { "reduce" });
        let mut binders: Vec<(Index, String)> = Vec::new();
        for name in names {
            let size = match *name {
                "k" if self.random.once_in(6) => self.free[0].size.clone(),
                "k" => "K".into(),
                _ => "Q".into(),
            };
            binders.push((Index { name: (*name).into(), size }, String::new()));
        }
        let summed: Vec<Index> = binders.iter().map(|b| b.0.clone()).collect();
        let free = self.free.clone();
        let mut term = self.term(&free, &summed);
        for (i, range) in &mut binders {
            // An intermediate's place gives an index no range.
            let mut reads = term.factors.iter().filter(|f| !mentions(f, "t0"));
            let alone = reads.any(|f| has_alone(f, &i.name));
            let size = &i.size;
            *range = match self.random.below(12) {
                0 => format!(" in 1 .. {size}"),
                1 => format!(" in 0 .. {size} - 1"),
                2 => format!(" in 0 .. {size}"),
                _ if alone => String::new(),
                _ => format!(" in 0 .. {size}"),
            };
            if !range.is_empty() {
                self.made.constructs.insert("a range");
            }
        }
        if let Some(before) = algebra.place {
            term.around = [before.into(), format!(", place = {} as u32 }}", names[0])];
            self.made.requires.push(format!("{} <= 1000000", binders[0].0.size));
            self.made.requires.dedup();
        }
        let guard = self.random.once_in(5).then(|| self.guard(&summed));
        if names == ["k"] && !algebra.record && self.random.once_in(10) {
            self.note("a sum in a sum");
            let inner = self.sum(&["q"]);
            term.inner.push(inner);
        }
        Sum { head: head.into(), binders, guard, ..term }
    }

    fn guard(&mut self, summed: &[Index]) -> String {
        self.note("a guard");
        let (k, i) = (&summed[0].name, &self.free[0].name);
        match self.random.below(5) {
            0 => format!("{k} <= {i}"),
            1 => format!("{k} % 2 == 0"),
            2 => format!("{k} != {i}"),
            3 => format!("{k} < {i} || {k} > {i} + 1"),
            _ => format!("{k} + 1 >= {i} && {k} <= {i} + 2"),
        }
    }

    /// One to three operands, which have all of some indices among them.
    fn term(&mut self, free: &[Index], summed: &[Index]) -> Sum {
        let algebra = self.made.algebra;
        let count = if algebra.record { 1 } else { 1 + self.random.below(3) };
        let name = ["one operand", "two operands", "three operands"][count - 1];
        self.note(name);
        let all: Vec<Index> = free.iter().chain(summed).cloned().collect();
        let mut of: Vec<Vec<Index>> = vec![vec![]; count];
        for i in &all {
            let at = self.random.below(count);
            of[at].push(i.clone());
            if count > 1 && self.random.once_in(3) {
                let other = (at + 1) % count;
                of[other].push(i.clone());
            }
        }
        for over in of.iter_mut().filter(|o| o.is_empty()) {
            over.push(self.random.pick(&all));
        }
        let mut factors = Vec::new();
        for mut over in of {
            self.shuffle(&mut over, "transposed operand");
            let read = self.read(&over);
            factors.push(self.dressed(read, summed));
        }
        let join = self.random.pick(algebra.products);
        Sum {
            head: String::new(),
            binders: vec![],
            guard: None,
            factors,
            inner: vec![],
            join,
            around: algebra.around.map(String::from),
        }
    }

    /// An operand with something done to it.
    fn dressed(&mut self, read: String, summed: &[Index]) -> String {
        let algebra = self.made.algebra;
        if algebra.dressings.is_empty() || !self.random.once_in(4) {
            return read;
        }
        self.note("an operand with an operation");
        let dressing = self.random.pick(algebra.dressings);
        let index = summed.first().or(self.free.first()).map_or("0", |i| &i.name).to_string();
        if dressing.contains("let ") {
            self.note("let");
        }
        if dressing.contains('#') {
            self.note("an index as a word");
        }
        dressing.replace('@', &read).replace('#', &index)
    }

    /// An element of an array over some indices: of an intermediate, of an array that is there, or of a new one.
    fn read(&mut self, over: &[Index]) -> String {
        let fits = |known: &&(String, Vec<Index>)| known.1 == over;
        if let Some((name, _)) = self.known.iter().find(fits) {
            let names: Vec<&str> = over.iter().map(|i| i.name.as_str()).collect();
            return format!("{name}[{}]", names.join(", "));
        }
        let mut at = Vec::new();
        let mut extents = Vec::new();
        for (n, i) in over.iter().enumerate() {
            let (name, size) = (&i.name, &i.size);
            // A size has to be the whole extent of some axis, so that a call can find it.
            let known = self.free.contains(i) || self.made.inputs.iter().any(|a| a.extents.contains(size));
            let drawn = self.random.below(20);
            let (access, extent, what) = match if !self.straight && (known || drawn == 1) { drawn } else { 4 } {
                0 => (format!("{name} + 1"), format!("{size} + 1"), "shifted"),
                1 => (format!("{size} - 1 - {name}"), size.clone(), "turned round"),
                2 => (format!("2 * {name}"), format!("2 * {size}"), "every other"),
                3 if n + 1 < over.len() => {
                    let next = &over[n + 1];
                    (format!("{name} + {}", next.name), format!("{size} + {}", next.size), "a window")
                }
                _ => (name.clone(), size.clone(), "plain access"),
            };
            self.note(what);
            at.push(access);
            extents.push(extent);
        }
        let rank = ["rank one", "rank two", "rank three", "rank four"][over.len().clamp(1, 4) - 1];
        self.note(rank);
        let elem = self.made.algebra.elem;
        let same = |a: &&Array| a.extents == extents && a.elem == elem;
        let name = match self.made.inputs.iter().find(same) {
            Some(array) if self.random.once_in(3) => {
                let name = array.name.clone();
                self.note("an array read twice");
                name
            }
            _ => {
                let name = format!("a{}", self.made.inputs.len());
                self.made.inputs.push(Array { name: name.clone(), elem: elem.into(), extents });
                name
            }
        };
        format!("{name}[{}]", at.join(", "))
    }
}

/// Whether an index stands alone in one of a read's places.
fn has_alone(text: &str, index: &str) -> bool {
    text.split(['[', ']', ',']).any(|part| part.trim() == index)
}
