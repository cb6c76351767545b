//! What must hold of any bytes: the bodies of the fuzz targets, which ordinary tests drive as well.
//!
//! Each takes bytes and panics where something does not hold. `fuzz/` has one target for each, with coverage for a guide;
//! [`TARGETS`] is the list, and the population of promise P12 mutates its seeds.

use crate::corpus::{Altered, Corpus};
use crate::judge;
use crate::memory;
use crate::whole;
use cachet_check::certificate::{self, Certificate, Line};
use cachet_check::context::Context;
use cachet_check::formula::{Formula, Problem, Term, Var};
use cachet_check::proofs::Proofs;
use cachet_core::interpret::{Options, TrapKind, prepare};
use cachet_core::ir::{FunId, Program};
use cachet_core::{print, text, validate};
use cachet_oracle::hostile::Kind;

/// A target: what it is called, what must hold, and bytes to begin with. It says whether the bytes were to the point.
pub struct Target {
    /// As in `cargo fuzz run NAME`.
    pub name: &'static str,
    /// What it does.
    pub run: fn(&[u8]) -> bool,
    /// Bytes to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const TARGETS: [Target; 5] = [
    Target { name: "parser", run: parser, seeds: texts },
    Target { name: "core_text", run: core_text, seeds: programs },
    Target { name: "validator", run: validator, seeds: programs },
    Target { name: "certificate", run: certificate, seeds: numbers },
    Target { name: "kept_proofs", run: kept_proofs, seeds: numbers },
];

/// The parser and the formatter: the tree is the text, places are in it, and formatting keeps what it says.
pub fn parser(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match whole::formatted(text) {
        Ok(parses) => parses,
        Err(why) => panic!("{why}"),
    }
}

/// The reader of the core's exact text: what is read is written, and read again is the same.
pub fn core_text(bytes: &[u8]) -> bool {
    let Some(program) = read(bytes) else { return false };
    let again = text::read(&text::write(&program));
    assert!(again.as_ref() == Ok(&program), "written and read again it is another program");
    true
}

/// The validator: what it accepts is printed and interpreted, and the interpreter knows what to do.
pub fn validator(bytes: &[u8]) -> bool {
    let Some(program) = read(bytes) else { return false };
    if validate::validate(&program).is_err() {
        return false;
    }
    for (n, fun) in program.funs.iter().enumerate() {
        assert!(!print::listing(&program, fun).is_empty());
        for size in [0, 1, 3] {
            interpreted(&program, FunId(n as u32), size);
        }
    }
    true
}

fn read(bytes: &[u8]) -> Option<Program> {
    text::read(std::str::from_utf8(bytes).ok()?).ok()
}

/// So much of a run is enough to see whether the interpreter knows what to do.
const RUN: Options = Options { shuffle: Some(1), max_steps: 2_000, max_elements: 1 << 16 };

fn interpreted(program: &Program, id: FunId, size: i64) {
    let fun = &program.funs[id.index()];
    let unbound = !fun.type_params.is_empty();
    let sizes = vec![size; fun.sizes.len()];
    let words = || {
        let extents = judge::extents_if_any(fun, &sizes)?;
        let cells: Vec<i64> =
            extents.iter().map(|e| e.iter().try_fold(1i64, |n, e| n.checked_mul(*e))).collect::<Option<_>>()?;
        let fine = extents.iter().flatten().all(|e| *e >= 0) && cells.iter().all(|n| *n <= 1 << 12);
        fine.then(|| judge::filled(fun, &sizes, Kind::Ordinary, 1))
    };
    if unbound {
        return;
    }
    let Some(mut arrays) = words() else { return };
    match prepare(program, id, &[]).and_then(|p| p.run(&sizes, &mut arrays, &RUN)) {
        Err(trap) if trap.kind == TrapKind::Malformed => {
            panic!("`{}` is valid, and the interpreter says: {}", fun.name, trap.text)
        }
        Ok(()) | Err(_) => {}
    }
}

/// The checker of certificates: what it accepts has no counterexample.
pub fn certificate(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let problem = bytes.problem();
    let certificate = match bytes.below(4) {
        // A real one, with some of its numbers changed, and perhaps of another problem.
        0..=2 => {
            let of = if bytes.below(4) == 0 { bytes.problem() } else { problem.clone() };
            let proved = match cachet_check::prover::prove(&of) {
                cachet_check::prover::Verdict::Proved(c) => c,
                cachet_check::prover::Verdict::Refuted(_) | cachet_check::prover::Verdict::Undecided { .. } => {
                    return false;
                }
            };
            bytes.altered(proved)
        }
        _ => Certificate { lines: (0..bytes.below(12)).map(|_| bytes.line()).collect() },
    };
    if certificate::check(&problem, &certificate).is_err() {
        return false;
    }
    if let Some(model) = counterexample(&problem) {
        panic!("accepted, and refuted by {model:?}:\n{}\n{certificate:?}", problem.canonical());
    }
    true
}

/// Kept proofs: any bytes for them lead to the same verdicts as none.
pub fn kept_proofs(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let names: Vec<String> = (0..VARIABLES).map(|n| format!("n{n}")).collect();
    let problem = bytes.problem();
    let context = || {
        let mut cx = Context::of_names(&names);
        problem.hypotheses.iter().for_each(|h| cx.fact(h.clone()));
        cx
    };
    let mut first = Proofs::default();
    let proved = first.follows(&context(), problem.goal.clone());
    let Some(mut kept) = first.to_bytes() else { return false };
    for _ in 0..bytes.below(6) {
        let at = bytes.number() as usize % (kept.len() + 1);
        match bytes.below(4) {
            0 => kept.truncate(at),
            1 => kept.insert(at, bytes.byte()),
            2 if at < kept.len() => drop(kept.remove(at)),
            _ if at < kept.len() => kept[at] ^= bytes.byte(),
            _ => {}
        }
    }
    if bytes.below(4) == 0 {
        kept.extend_from_slice(bytes.0);
    }
    let again = Proofs::from_bytes(kept).follows(&context(), problem.goal.clone());
    assert_eq!(proved, again, "kept proofs change the verdict on\n{}", problem.canonical());
    proved
}

/// How many variables a problem has.
const VARIABLES: usize = 3;
/// From where to where brute force looks.
const BOX: std::ops::RangeInclusive<i128> = -6..=6;

fn counterexample(problem: &Problem) -> Option<Vec<i128>> {
    let mut all = BOX.flat_map(|a| BOX.flat_map(move |b| BOX.map(move |c| vec![a, b, c])));
    all.find(|values| problem.refuted_by(values) == Some(true))
}

/// Bytes as a source of choices; when they are used up, zeros.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, n: u8) -> u8 {
        self.byte() % n
    }

    fn number(&mut self) -> u32 {
        u32::from(self.byte()) | u32::from(self.byte()) << 8
    }

    /// Mostly small, sometimes at the ends of what fits.
    fn integer(&mut self) -> i128 {
        match self.byte() {
            255 => i128::MAX - i128::from(self.byte()),
            254 => i128::MIN + i128::from(self.byte()),
            253 => 1 << self.below(127),
            small => i128::from(small % 17) - 8,
        }
    }

    fn positive(&mut self) -> i128 {
        i128::from(self.below(7)) + 1
    }

    fn problem(&mut self) -> Problem {
        let names = (0..VARIABLES).map(|n| format!("n{n}")).collect();
        let hypotheses = (0..self.below(4)).map(|_| self.formula(2)).collect();
        Problem { names, hypotheses, goal: self.formula(2), hints: vec![] }
    }

    fn formula(&mut self, depth: u8) -> Formula {
        match self.below(if depth == 0 { 3 } else { 7 }) {
            0 => Formula::Le(self.term(2), self.term(2)),
            1 => Formula::Lt(self.term(2), self.term(2)),
            2 => Formula::Eq(self.term(2), self.term(2)),
            3 => Formula::not(self.formula(depth - 1)),
            4 => Formula::And((0..self.below(3)).map(|_| self.formula(depth - 1)).collect()),
            5 => Formula::Or((0..self.below(3)).map(|_| self.formula(depth - 1)).collect()),
            _ => Formula::Le(Term::lit(-6), self.variable()),
        }
    }

    fn variable(&mut self) -> Term {
        Term::Var(Var(u32::from(self.below(VARIABLES as u8))))
    }

    fn term(&mut self, depth: u8) -> Term {
        match self.below(if depth == 0 { 3 } else { 9 }) {
            0 | 1 => self.variable(),
            2 => Term::lit(self.integer()),
            3 => Term::Add((0..self.below(4)).map(|_| self.term(depth - 1)).collect()),
            4 => Term::Mul(self.integer(), Box::new(self.term(depth - 1))),
            5 => Term::Div(Box::new(self.term(depth - 1)), self.positive()),
            6 => Term::Mod(Box::new(self.term(depth - 1)), self.positive()),
            7 => Term::Min(Box::new(self.term(depth - 1)), Box::new(self.term(depth - 1))),
            _ => Term::If(Box::new(self.formula(0)), Box::new(self.term(0)), Box::new(self.term(0))),
        }
    }

    fn pairs(&mut self) -> Vec<(u32, i128)> {
        (0..self.below(5)).map(|_| (u32::from(self.below(16)), self.integer())).collect()
    }

    fn line(&mut self) -> Line {
        match self.below(7) {
            0 => Line::Combine { parts: self.pairs(), divisor: self.integer() },
            1 => Line::Equate { parts: self.pairs(), divisor: self.integer() },
            2 => Line::Squeeze(u32::from(self.below(16)), u32::from(self.below(16))),
            3 => Line::Define { terms: self.pairs(), constant: self.integer() },
            4 => Line::Split(u32::from(self.below(16))),
            5 => Line::Cut { terms: self.pairs(), constant: self.integer() },
            _ => Line::Absurd(u32::from(self.below(16))),
        }
    }

    /// A certificate with lines taken out, put in, exchanged, or with other numbers.
    fn altered(&mut self, mut c: Certificate) -> Certificate {
        for _ in 0..self.below(4) {
            let at = self.number() as usize % (c.lines.len() + 1);
            match self.below(4) {
                0 => c.lines.insert(at, self.line()),
                1 if at < c.lines.len() => drop(c.lines.remove(at)),
                2 if at + 1 < c.lines.len() => c.lines.swap(at, at + 1),
                _ if at < c.lines.len() => self.alter(&mut c.lines[at]),
                _ => {}
            }
        }
        c
    }

    fn alter(&mut self, line: &mut Line) {
        match line {
            Line::Combine { parts, divisor } | Line::Equate { parts, divisor } => match self.below(2) {
                0 => *divisor = divisor.saturating_add(self.integer()),
                _ => self.alter_pair(parts),
            },
            Line::Define { terms, constant } | Line::Cut { terms, constant } => match self.below(2) {
                0 => *constant = constant.saturating_add(self.integer()),
                _ => self.alter_pair(terms),
            },
            Line::Squeeze(a, _) | Line::Split(a) | Line::Absurd(a) => *a = a.wrapping_add(u32::from(self.below(3))),
        }
    }

    fn alter_pair(&mut self, pairs: &mut [(u32, i128)]) {
        let count = pairs.len().max(1);
        let Some(pair) = pairs.get_mut(self.number() as usize % count) else { return };
        match self.below(2) {
            0 => pair.0 = pair.0.wrapping_add(u32::from(self.below(3))),
            _ => pair.1 = pair.1.saturating_add(self.integer()),
        }
    }
}

/// The repository's programs.
fn texts() -> Vec<Vec<u8>> {
    Corpus::read().files.into_iter().map(|(_, text)| text.into_bytes()).collect()
}

/// The core of small programs, as text.
fn programs() -> Vec<Vec<u8>> {
    let corpus = Corpus::read();
    let small = corpus.below("tests/suite").filter(|(_, text)| text.len() < 1_500 && !text.contains("import"));
    let core = |(name, text): &(String, String)| {
        let world: Altered<'_> = corpus.with(name, text.as_bytes());
        let (module, _) = cachet_frontend::load(name, &world, &mut cachet_source::Sources::new());
        let core = serde_json::to_string(&module?.program).ok()?;
        (core.len() < 60_000).then(|| core.into_bytes())
    };
    let mut all: Vec<Vec<u8>> = small.filter_map(core).collect();
    let product =
        memory::loaded("fn f (reads x: [f32; N]) -> out y: [f32; N] =\n  for i in 0 .. N do store y[i] = load x[i]\n");
    all.push(serde_json::to_string(&product.program).unwrap().into_bytes());
    all
}

/// Bytes of every value, in rows.
fn numbers() -> Vec<Vec<u8>> {
    let mut random = crate::random::Random(7);
    (0..64).map(|n| (0..16 + 4 * n).map(|_| random.next() as u8).collect()).collect()
}
