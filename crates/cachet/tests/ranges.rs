//! Is what the proof of ranges accepts free of overflow? Random functions of integers are checked; those that are
//! accepted are computed in exact arithmetic on extreme contents: no operation may leave its type, and the interpreter
//! gives the same. What is printed of them is a program that is accepted again.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

use cachet::pipeline::{Outcome, check};
use cachet::world::World;
use cachet_core::interpret::{Array, Options, prepare, scalar};
use cachet_core::ir::{Elem, Ty};
use cachet_source::codes;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A file that is one text.
struct Text(String);

impl cachet_frontend::Files for Text {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Ok(self.0.clone().into_bytes())
    }
    fn identity(&self, path: &Path) -> PathBuf {
        path.into()
    }
    fn library(&self, _: &str) -> Option<Vec<(&'static str, &'static str)>> {
        None
    }
}

impl World for Text {
    fn files(&self) -> &dyn cachet_frontend::Files {
        self
    }
    fn kept_proofs(&self, _: &str) -> Vec<u8> {
        Vec::new()
    }
    fn keep_proofs(&self, _: &str, _: &[u8]) {}
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n
    }
}

/// A word of the type of the function.
enum Word {
    Lit(i128),
    /// An element of `x`, at a loop's index or at 0.
    Load(Option<usize>),
    /// An index as a word.
    Index(usize),
    /// The total of a fold.
    Total(usize),
    Two(&'static str, Box<Word>, Box<Word>),
    One(&'static str, Box<Word>),
    /// Divided by, or the remainder by, a number.
    By(&'static str, Box<Word>, i128),
    If(Box<Word>, Box<Word>, Box<Word>, Box<Word>),
    /// Through a byte and back.
    Byte(bool, Box<Word>),
    /// The fold's number, its start and its next total.
    Fold(usize, Box<Word>, Box<Word>),
}

const TYPES: [(&str, i128, i128); 4] = [
    ("i16", -(1 << 15), (1 << 15) - 1),
    ("i32", -(1 << 31), (1 << 31) - 1),
    ("u16", 0, (1 << 16) - 1),
    ("u32", 0, (1 << 32) - 1),
];

struct Case {
    ty: (&'static str, i128, i128),
    signed: bool,
    most: i128,
    word: Word,
}

/// A word of some depth; `loops` are the folds around whose body it stands in.
fn word(r: &mut Random, depth: u64, loops: &mut Vec<usize>, folds: &mut usize, signed: bool) -> Word {
    let leaf = depth == 0 || r.below(5) == 0;
    if leaf {
        return match (r.below(6), loops.last().copied()) {
            (0, _) => Word::Lit(r.below(4) as i128 - 2 * i128::from(signed)),
            (1, _) => Word::Lit(r.below(200) as i128),
            (2, Some(l)) => Word::Index(l),
            (3, Some(l)) => Word::Total(l),
            (_, l) => Word::Load(l),
        };
    }
    let mut next = |r: &mut Random, loops: &mut Vec<usize>| Box::new(word(r, depth - 1, loops, folds, signed));
    match r.below(15) {
        12..=14 => Word::Two("*", next(r, loops), next(r, loops)),
        0..=2 => Word::Two("+", next(r, loops), next(r, loops)),
        3 => Word::Two("-", next(r, loops), next(r, loops)),
        4 => Word::Two("*", next(r, loops), next(r, loops)),
        5 => Word::Two(if r.below(2) == 0 { "max" } else { "min" }, next(r, loops), next(r, loops)),
        6 if signed => Word::One(if r.below(2) == 0 { "-" } else { "abs" }, next(r, loops)),
        6 | 7 => Word::By(if r.below(2) == 0 { "/" } else { "%" }, next(r, loops), 1 + r.below(9) as i128),
        8 => Word::If(next(r, loops), next(r, loops), next(r, loops), next(r, loops)),
        9 => Word::Byte(r.below(2) == 0, next(r, loops)),
        _ if loops.len() < 2 => {
            let init = next(r, loops);
            let number = *folds;
            *folds += 1;
            loops.push(number);
            // A total that most often moves by something.
            let term = Box::new(word(r, depth - 1, loops, folds, signed));
            let body = match r.below(6) {
                0 => term,
                1 => Box::new(Word::Two("-", Box::new(Word::Total(number)), term)),
                2 => Box::new(Word::Two("max", Box::new(Word::Total(number)), term)),
                _ => Box::new(Word::Two("+", Box::new(Word::Total(number)), term)),
            };
            loops.pop();
            Word::Fold(number, init, body)
        }
        _ => Word::Two("+", next(r, loops), next(r, loops)),
    }
}

impl Case {
    fn text(&self) -> String {
        let mut value = String::new();
        self.show(&self.word, &mut value);
        let (byte, ty, most) = (self.byte(), self.ty.0, self.most);
        format!(
            "fn f (reads x: [{byte}; N]) -> out z: [{ty}; 1]\nrequires N >= 1, N <= {most}\n=\n  store z[0] = {value}\n"
        )
    }

    fn byte(&self) -> &'static str {
        if self.signed { "i8" } else { "u8" }
    }

    fn show(&self, w: &Word, out: &mut String) {
        let ty = self.ty.0;
        match w {
            // A literal alone has no type.
            Word::Lit(n) if *n < 0 => write!(out, "(({n}) as {ty})"),
            Word::Lit(n) => write!(out, "({n} as {ty})"),
            Word::Load(None) => write!(out, "(load x[0] as {ty})"),
            Word::Load(Some(l)) => write!(out, "(load x[i{l}] as {ty})"),
            Word::Index(l) => write!(out, "(i{l} as {ty})"),
            Word::Total(l) => write!(out, "t{l}"),
            Word::Two(op @ ("max" | "min"), a, b) => {
                write!(out, "({op} ").unwrap();
                self.show(a, out);
                out.push(' ');
                self.show(b, out);
                write!(out, ")")
            }
            Word::Two(op, a, b) => {
                out.push('(');
                self.show(a, out);
                write!(out, " {op} ").unwrap();
                self.show(b, out);
                write!(out, ")")
            }
            Word::One(op, a) => {
                write!(out, "({op} ").unwrap();
                self.show(a, out);
                write!(out, ")")
            }
            Word::By(op, a, n) => {
                out.push('(');
                self.show(a, out);
                write!(out, " {op} {n})")
            }
            Word::If(a, b, x, y) => {
                out.push_str("(if ");
                self.show(a, out);
                out.push_str(" < ");
                self.show(b, out);
                out.push_str(" then ");
                self.show(x, out);
                out.push_str(" else ");
                self.show(y, out);
                write!(out, ")")
            }
            Word::Byte(saturating, a) => {
                let how = if *saturating { "saturating_as" } else { "wrapping_as" };
                write!(out, "(({how} @{} ", self.byte()).unwrap();
                self.show(a, out);
                write!(out, ") as {ty})")
            }
            Word::Fold(n, init, body) => {
                write!(out, "(fold i{n} in 0 .. N from ").unwrap();
                self.show(init, out);
                write!(out, " as t{n}: {ty} do ").unwrap();
                self.show(body, out);
                write!(out, ")")
            }
        }
        .unwrap();
    }

    /// The value in exact arithmetic; `None` where an operation leaves the type.
    fn value(&self, w: &Word, x: &[i128], at: &mut [i128; 16], totals: &mut [i128; 16]) -> Option<i128> {
        let fits = |n: i128| (self.ty.1..=self.ty.2).contains(&n).then_some(n);
        match w {
            Word::Lit(n) => Some(*n),
            Word::Load(l) => Some(x[l.map_or(0, |l| at[l]) as usize]),
            Word::Index(l) => Some(at[*l]),
            Word::Total(l) => Some(totals[*l]),
            Word::Two(op, a, b) => {
                let (a, b) = (self.value(a, x, at, totals)?, self.value(b, x, at, totals)?);
                fits(match *op {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "max" => a.max(b),
                    _ => a.min(b),
                })
            }
            Word::One(op, a) => {
                let a = self.value(a, x, at, totals)?;
                fits(if *op == "-" { -a } else { a.abs() })
            }
            Word::By(op, a, n) => {
                let a = self.value(a, x, at, totals)?;
                fits(if *op == "/" { a.div_euclid(*n) } else { a.rem_euclid(*n) })
            }
            Word::If(a, b, y, z) => {
                let (a, b) = (self.value(a, x, at, totals)?, self.value(b, x, at, totals)?);
                // Both sides are computed.
                let (y, z) = (self.value(y, x, at, totals)?, self.value(z, x, at, totals)?);
                Some(if a < b { y } else { z })
            }
            Word::Byte(saturating, a) => {
                let a = self.value(a, x, at, totals)?;
                let (lo, hi) = if self.signed { (-128, 127) } else { (0, 255) };
                Some(if *saturating { a.clamp(lo, hi) } else { (a - lo).rem_euclid(256) + lo })
            }
            Word::Fold(n, init, body) => {
                let mut total = self.value(init, x, at, totals)?;
                for i in 0..x.len() {
                    at[*n] = i as i128;
                    totals[*n] = total;
                    total = self.value(body, x, at, totals)?;
                }
                Some(total)
            }
        }
    }

    /// What the interpreter gives.
    fn interpreted(&self, outcome: &Outcome, x: &[i128]) -> Option<i128> {
        let (byte, elem) = (if self.signed { Elem::I8 } else { Elem::U8 }, self.elem());
        let words = x.iter().map(|n| scalar::low_bits(byte, *n)).collect();
        let length = x.len() as i64;
        let mut args = [Array::from_bits(byte, &[length], words)?, Array::new(&Ty::Elem(elem), &[1])?];
        let prepared = prepare(outcome.checked.program(), outcome.module.items[0], &[]).expect("it compiles");
        prepared.run(&[length], &mut args, &Options::default()).expect("it runs");
        Some(scalar::to_int(elem, args[1].get(&[0])?.bits()?))
    }

    fn elem(&self) -> Elem {
        match self.ty.0 {
            "i16" => Elem::I16,
            "i32" => Elem::I32,
            "u16" => Elem::U16,
            _ => Elem::U32,
        }
    }

    /// Contents that go far, of the largest length and of one.
    fn contents(&self, r: &mut Random) -> Vec<Vec<i128>> {
        let ends = if self.signed { [-128, 127, 0] } else { [0, 255, 1] };
        let mut out: Vec<Vec<i128>> = ends.iter().map(|e| vec![*e; self.most as usize]).collect();
        out.extend(ends.iter().map(|e| vec![*e]));
        for _ in 0..4 {
            out.push((0..self.most).map(|_| ends[r.below(3) as usize]).collect());
        }
        out
    }
}

/// The function as it is printed.
fn shown(outcome: &Outcome) -> String {
    let program = outcome.checked.program();
    cachet_core::print::listing(program, &program.funs[outcome.module.items[0].index()])
}

#[test]
fn what_is_accepted_does_not_overflow() {
    let mut r = Random(0x5EED_0001);
    let (mut accepted, mut with_sums, mut refused, mut overflowing) = (0, 0, 0, 0);
    for round in 0..15_000 {
        let ty = TYPES[r.below(4) as usize];
        let signed = ty.1 < 0;
        let most = [1, 3, 17, 60, 129][r.below(5) as usize];
        let mut folds = 0;
        let word = word(&mut r, 4, &mut Vec::new(), &mut folds, signed);
        if folds > 16 {
            continue;
        }
        let case = Case { ty, signed, most, word };
        let text = case.text();
        let outcome = check("random.cachet", &Text(text.clone()));
        let other = outcome.diagnostics.iter().find(|d| d.code != codes::OVERFLOW);
        assert!(other.is_none(), "{text}\n{other:?}");
        let contents = case.contents(&mut r);
        let values: Vec<Option<i128>> =
            contents.iter().map(|x| case.value(&case.word, x, &mut [0; 16], &mut [0; 16])).collect();
        let fits = values.iter().all(Option::is_some);
        if !outcome.refused() {
            for (x, value) in contents.iter().zip(&values) {
                assert_eq!(case.interpreted(&outcome, x), *value, "{text}");
            }
        }
        if !outcome.refused() && round % 4 == 0 {
            let printed = shown(&outcome);
            let again = check("again.cachet", &Text(printed.clone()));
            assert!(!again.refused(), "{printed}\n{:?}", again.diagnostics);
            assert_eq!(shown(&again), printed);
        }
        match (outcome.refused(), fits) {
            (false, true) => {
                accepted += 1;
                with_sums += usize::from(folds > 0);
            }
            (false, false) => panic!("accepted, and overflows:\n{text}"),
            (true, true) => refused += 1,
            (true, false) => overflowing += 1,
        }
    }
    println!(
        "{accepted} accepted, {with_sums} of them with sums; {overflowing} refused that overflow, {refused} that were \
         not seen to"
    );
    assert!(with_sums > 200 && overflowing > 200, "the sample shows something");
}
