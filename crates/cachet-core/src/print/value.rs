//! Words as the lines of a block: what a `let` names stands on a line of its own before the value that uses it.
//!
//! In the core a `let` may stand inside any word; the language has it before a value only. A word's `let`s are therefore
//! printed at the nearest place where a block may stand: nothing is computed there that would not be anyway, for only
//! the branches of a choice and the body of a sum decide whether and how often a word is computed, and they are such
//! places themselves.

use super::expr::{Level, Names, untyped};
use super::stmt::WIDTH;
use crate::ir::{Fun, Local, Ty, Word};
use crate::rewrite::{Live, Visit, visit_block, visit_word};
use std::collections::BTreeSet;

impl Names<'_> {
    /// A word as the lines of a block, without indentation; `want` is the type of its place.
    pub(super) fn lines(&self, word: &Word, want: Option<&Ty>) -> Vec<String> {
        let mut lets = Vec::new();
        let value = floated(word, &mut lets);
        let mut out = Vec::new();
        for (local, word) in &lets {
            let head = self.let_head(*local, word);
            match self.lines(word, self.local_ty(*local)).as_slice() {
                [one] if !matches!(word, Word::Fold(_)) => out.push(format!("{head} {one}")),
                many => {
                    out.push(head);
                    out.extend(many.iter().map(|l| format!("  {l}")));
                }
            }
        }
        match &value {
            Word::Fold(f) => {
                out.push(self.fold_head(f));
                out.extend(self.lines(&f.body, self.local_ty(f.acc)).iter().map(|l| format!("  {l}")));
            }
            Word::If(g, a, b) if has_let(a) || has_let(b) => {
                out.push(format!("if {} then", self.guard(g)));
                out.extend(self.lines(a, want).iter().map(|l| format!("  {l}")));
                out.push("else".into());
                out.extend(self.lines(b, want).iter().map(|l| format!("  {l}")));
            }
            value => out.extend(self.value_lines(value, want)),
        }
        out
    }

    /// A word on its line; a record that is too long for one has a line per field.
    fn value_lines(&self, word: &Word, want: Option<&Ty>) -> Vec<String> {
        let text = self.word_in(word, Level::Open, want);
        if let (Word::Tuple(words), Some(Ty::Tuple(types)), true) = (word, want, text.len() > WIDTH)
            && let Some(record) = types.info(self.program)
        {
            let fields = self.fields(record, words, types);
            let last = fields.len().saturating_sub(1);
            let line = |(n, text): (usize, &String)| {
                let (open, close) = (if n == 0 { "{" } else { " " }, if n == last { " }" } else { "," });
                format!("  {open} {text}{close}")
            };
            return std::iter::once(record.name.clone()).chain(fields.iter().enumerate().map(line)).collect();
        }
        if matches!(word, Word::Op { .. }) && !text.contains('\n') {
            return broken(&text, 0);
        }
        text.split('\n').map(String::from).collect()
    }

    /// `let x: f32 =`. A name takes its type from its word; where the word has none of its own, it is written.
    pub(super) fn let_head(&self, local: Local, word: &Word) -> String {
        match self.local_ty(local) {
            Some(ty) if untyped(word) => format!("let {}: {} =", self.local(local), self.ty(ty)),
            _ => format!("let {} =", self.local(local)),
        }
    }
}

/// The function with a name of its own for each `let` inside a word whose name is taken: what is unfolded twice brings
/// its names twice, and they may meet on neighbouring lines.
pub(super) fn unambiguous(fun: &Fun) -> Fun {
    struct Lets(Vec<Local>);
    impl Visit for Lets {
        fn word(&mut self, word: &Word) {
            if let Word::Let(l, ..) = word {
                self.0.push(*l);
            }
            visit_word(self, word);
        }
    }
    let mut lets = Lets(vec![]);
    visit_block(&mut lets, &fun.body);
    let mut out = fun.clone();
    if lets.0.is_empty() {
        return out;
    }
    let live = Live::of(fun);
    let others = live.locals.iter().filter(|l| !lets.0.contains(l)).map(|l| fun.locals[l.index()].name.clone());
    let mut taken: BTreeSet<String> = others.collect();
    taken.extend(live.vars.iter().map(|v| fun.vars[v.index()].name.clone()));
    taken.extend(live.buffers.iter().map(|b| fun.buffers[b.index()].name.clone()));
    for l in lets.0 {
        let wanted = fun.locals[l.index()].name.clone();
        let others = (2u64..).map(|n| format!("{wanted}_{n}"));
        let name = std::iter::once(wanted.clone()).chain(others).find(|n| !taken.contains(n)).unwrap_or(wanted);
        taken.insert(name.clone());
        out.locals[l.index()].name = name;
    }
    out
}

/// A value that is too long for a line, broken before its outermost operators; lines after the first stand further in.
fn broken(text: &str, deep: usize) -> Vec<String> {
    let whole = || vec![format!("{:deep$}{text}", "")];
    if text.len() + deep <= WIDTH {
        return whole();
    }
    let operators: [&[&str]; 2] = [&[" + ", " - "], &[" * ", " / ", " % "]];
    let Some(cuts) = operators.iter().map(|ops| outermost(text, ops)).find(|cuts| !cuts.is_empty()) else {
        return whole();
    };
    let mut out = broken(&text[..cuts[0]], deep);
    for (n, cut) in cuts.iter().enumerate() {
        let end = cuts.get(n + 1).copied().unwrap_or(text.len());
        out.extend(broken(&text[cut + 1..end], deep + 2));
    }
    out
}

/// Where one of the operators stands outside all brackets.
fn outermost(text: &str, operators: &[&str]) -> Vec<usize> {
    let mut open = 0_usize;
    let mut out = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => open = open.saturating_sub(1),
            ' ' if open == 0 && operators.iter().any(|o| text[at..].starts_with(o)) => out.push(at),
            _ => {}
        }
    }
    out
}

/// The word without the `let`s that may stand before it, which are added to `lets` in order.
fn floated(word: &Word, lets: &mut Vec<(Local, Word)>) -> Word {
    match word {
        Word::Let(l, a, b) => {
            let a = floated(a, lets);
            lets.push((*l, a));
            floated(b, lets)
        }
        Word::Op { op, arith, args } => {
            Word::Op { op: *op, arith: *arith, args: args.iter().map(|a| floated(a, lets)).collect() }
        }
        Word::Apply(f, args) => Word::Apply(*f, args.iter().map(|a| floated(a, lets)).collect()),
        Word::Tuple(args) => Word::Tuple(args.iter().map(|a| floated(a, lets)).collect()),
        Word::Part(w, n) => floated(w, lets).part(*n),
        Word::Fold(f) => {
            let mut f = f.clone();
            f.init = floated(&f.init, lets);
            Word::Fold(f)
        }
        Word::Lit(_)
        | Word::Index(..)
        | Word::Load(_)
        | Word::Local(..)
        | Word::If(..)
        | Word::Reduce(_)
        | Word::Differing(..) => word.clone(),
    }
}

/// Whether a `let` of it would stand before it.
fn has_let(word: &Word) -> bool {
    let mut lets = Vec::new();
    let value = floated(word, &mut lets);
    !lets.is_empty() || matches!(&value, Word::If(_, a, b) if has_let(a) || has_let(b))
}
