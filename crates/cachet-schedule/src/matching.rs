//! Matching: first order, left to right. A name that is a step's parameter must be the argument's name in the program.
//!
//! One matcher tries one place. When it fails it keeps the reason, so that a refusal can say how near the program came.

use crate::capture::{Arg, Args, Bound, Capture, Held, PLACEHOLDER};
use crate::find::Reason;
use crate::refusal::FROM_ITS_CELL;
use crate::{loops, show, tidy};
use cachet_core::ir::{
    Access, Domain, Fold, Fun, Guard, Ix, Lit, Local, Op, Program, Rel, Stmt, StmtKind, Ty, Var, Word,
};
use cachet_core::pattern::{Pat, PatCell, PatDomain, PatGuard, PatIx, PatTy, PatWord};
use cachet_core::print::Names;
use cachet_source::Span;
use std::cell::Cell;
use std::collections::BTreeMap;

/// One attempt.
#[derive(Clone)]
pub struct Matcher<'a> {
    program: &'a Program,
    fun: &'a Fun,
    args: &'a Args,
    /// The function's loops in program order.
    order: &'a [Var],
    /// What was found so far.
    pub capture: Capture,
    /// Why it failed.
    pub reason: Option<Reason>,
    /// How many parts of the pattern matched.
    pub progress: usize,
    /// What the pattern's names stand for here.
    vars: BTreeMap<String, Var>,
    locals: BTreeMap<String, Local>,
    /// The running total of the innermost sum around.
    inside: Option<Local>,
    /// The block that is being matched, in words.
    place: String,
    span: Span,
    /// How many more ways of sharing statements among holes are tried, here and wherever else the step is looked for.
    ways: &'a Cell<usize>,
}

/// The most ways in which holes that stand beside one another may share statements.
pub const MOST_WAYS: usize = 10_000;

impl<'a> Matcher<'a> {
    /// Nothing matched yet.
    pub fn new(
        program: &'a Program,
        fun: &'a Fun,
        args: &'a Args,
        order: &'a [Var],
        ways: &'a Cell<usize>,
    ) -> Matcher<'a> {
        Matcher {
            program,
            fun,
            args,
            order,
            ways,
            capture: Capture::default(),
            reason: None,
            progress: 0,
            vars: BTreeMap::new(),
            locals: BTreeMap::new(),
            inside: None,
            place: "the block".into(),
            span: Span::default(),
        }
    }

    fn names(&self) -> Names<'a> {
        Names::of(self.program, self.fun)
    }

    fn fail(&mut self, text: impl Into<String>) -> bool {
        if self.reason.is_none() {
            self.reason = Some(Reason { progress: self.progress, text: text.into(), span: self.span });
        }
        false
    }

    fn hold(&mut self, name: &str, held: Held) -> bool {
        self.progress += 1;
        self.capture.hold(name, held) || self.fail(format!("`{name}` stands for two different things"))
    }

    /// Statements against all of a block's; a hole takes any number, the first of several as few as will do.
    pub fn stmts(&mut self, pats: &[Pat], stmts: &[Stmt]) -> bool {
        let holes = pats.iter().filter(|p| matches!(p, Pat::Hole(..))).count();
        let fixed = pats.len() - holes;
        if stmts.len() < fixed || (holes == 0 && stmts.len() > fixed) {
            let text = self.miscount(pats, stmts.len(), fixed, holes > 0);
            return self.fail(text);
        }
        match pats.split_first() {
            None => true,
            Some((Pat::Hole(name, _), rest)) if holes == 1 => {
                let (taken, left) = stmts.split_at(stmts.len() - fixed);
                self.hold(name, Held::Stmts(taken.to_vec())) && self.stmts(rest, left)
            }
            Some((Pat::Hole(name, _), rest)) => {
                for n in 0..=stmts.len() - fixed {
                    let Some(left) = self.ways.get().checked_sub(1) else {
                        let text = format!("its holes can share statements in more than {MOST_WAYS} ways");
                        self.reason = Some(Reason { progress: usize::MAX, text, span: self.span });
                        return false;
                    };
                    self.ways.set(left);
                    let mut attempt = self.clone();
                    if attempt.hold(name, Held::Stmts(stmts[..n].to_vec())) && attempt.stmts(rest, &stmts[n..]) {
                        *self = attempt;
                        return true;
                    }
                    self.reason = Reason::nearer(self.reason.take(), attempt.reason);
                }
                false
            }
            Some((first, rest)) => match stmts.split_first() {
                Some((stmt, left)) => self.stmt(first, stmt) && self.stmts(rest, left),
                None => self.fail("a statement is missing"),
            },
        }
    }

    fn miscount(&self, pats: &[Pat], found: usize, fixed: usize, open: bool) -> String {
        let found = match found {
            0 => "nothing".to_string(),
            1 => "1 statement".to_string(),
            n => format!("{n} statements"),
        };
        let wanted = match pats {
            [one] => format!("{} is", show::pat_kind(one)),
            _ if open => format!("{fixed} or more are"),
            _ => format!("{fixed} statements are"),
        };
        format!("{} contains {found} where {wanted} wanted", self.place)
    }

    /// A block inside a statement: what it binds is known in it only.
    fn inner(&mut self, place: String, pats: &[Pat], stmts: &[Stmt]) -> bool {
        let outer = (self.vars.clone(), self.locals.clone(), std::mem::replace(&mut self.place, place));
        let matched = self.stmts(pats, stmts);
        (self.vars, self.locals, self.place) = outer;
        matched
    }

    fn stmt(&mut self, pat: &Pat, stmt: &Stmt) -> bool {
        self.span = stmt.span.0;
        match (pat, &stmt.kind) {
            (Pat::For { var, domain, body, .. }, StmtKind::For { var: v, domain: d, body: b })
                if !loops::is_lane(self.fun, *v) =>
            {
                let place = format!("the loop over {}", self.names().var(*v));
                let outer = self.vars.get(var).copied();
                let matched = self.is_wanted(var, *v)
                    && self.domain(domain, d)
                    && self.bind_var(var, *v, false)
                    && self.inner(place, body, b);
                restore(&mut self.vars, var, outer);
                matched
            }
            (Pat::ForAll { vars, domains, body, .. }, StmtKind::For { var: v, .. })
                if !loops::is_lane(self.fun, *v) =>
            {
                self.nest(vars, domains, body, stmt)
            }
            (Pat::If { guard, then, els, .. }, StmtKind::If { guard: g, then: t, els: e }) => {
                self.guard(guard, g)
                    && self.inner("the `then`".into(), then, t)
                    && self.inner("the `else`".into(), els, e)
            }
            (Pat::Let { local, word, .. }, StmtKind::Let { local: l, word: w }) => {
                self.word(word, w) && self.declare(local, *l)
            }
            (Pat::Var { local, ty, init, .. }, StmtKind::Var { local: l, init: w }) => {
                self.word(init, w) && self.ty(ty.as_ref(), *l) && self.declare(local, *l)
            }
            (Pat::Assign { local, word, .. }, StmtKind::Assign { local: l, at, word: w }) if at.is_empty() => {
                self.local(local, *l) && self.word(word, w)
            }
            (Pat::Store { to, word, .. }, StmtKind::Store { to: t, word: w }) => self.cell(to, t) && self.word(word, w),
            (Pat::Grid { .. }, StmtKind::Grid(_)) => self.fail("a grid cannot be matched"),
            _ => {
                let text =
                    format!("there is {} where {} is wanted", show::kind(&self.names(), stmt), show::pat_kind(pat));
                self.fail(text)
            }
        }
    }

    /// Any number of loops directly inside one another: as many as the argument names.
    fn nest(&mut self, vars: &str, domains: &str, body: &[Pat], stmt: &Stmt) -> bool {
        let args = self.args;
        let Some(Arg::Loops(wanted)) = args.get(vars) else {
            return self.fail(format!("`{vars}..` is not a parameter"));
        };
        let (mut found, mut ranges) = (Vec::new(), Vec::new());
        let mut here = std::slice::from_ref(stmt);
        for (name, nth) in wanted {
            let [Stmt { kind: StmtKind::For { var, domain, body }, span }] = here else {
                return self.fail(match found.last().map(|v| self.names().var(*v)) {
                    Some(around) => format!("no loop over {name} is directly inside the one over {around}"),
                    None => format!("there is no loop over {name} here"),
                });
            };
            self.span = span.0;
            if !self.has_name(*var, name, *nth) {
                return false;
            }
            self.progress += 1;
            found.push(*var);
            ranges.push(domain.clone());
            here = body;
        }
        let place = format!("the loop over {}", found.last().map_or("", |v| self.names().var(*v)));
        self.capture.loops.push(Bound { name: vars.to_string(), vars: found, regroup: false });
        self.hold(domains, Held::Domains(ranges)) && self.inner(place, body, here)
    }

    /// Whether a loop has a name, and is the one of that name that was asked for.
    fn has_name(&mut self, var: Var, name: &str, nth: Option<u32>) -> bool {
        let found = self.names().var(var);
        if loops::is_lane(self.fun, var) {
            return self.fail(format!("a vector statement stands where a loop over {name} is wanted"));
        }
        if found != name {
            return self.fail(format!("the loop over {found} stands where one over {name} is wanted"));
        }
        match (nth, loops::number(self.fun, self.order, var)) {
            (Some(wanted), Some(number)) if wanted != number => self
                .fail(format!("this loop over {name} is number {number} of that name, and number {wanted} is wanted")),
            _ => true,
        }
    }

    /// A parameter takes the loop that its argument names; a name of the step's own takes any.
    fn is_wanted(&mut self, name: &str, var: Var) -> bool {
        let args = self.args;
        match args.get(name) {
            // A number asks for the first of several that stand side by side under one name of the pattern.
            Some(Arg::Loop(wanted, nth)) => {
                let nth = if self.capture.bound(name).is_some() { None } else { *nth };
                self.has_name(var, wanted, nth)
            }
            _ => true,
        }
    }

    fn bind_var(&mut self, name: &str, var: Var, regroup: bool) -> bool {
        self.progress += 1;
        self.vars.insert(name.to_string(), var);
        self.capture.loops.push(Bound { name: name.to_string(), vars: vec![var], regroup });
        true
    }

    fn declare(&mut self, name: &str, local: Local) -> bool {
        self.locals.insert(name.to_string(), local);
        self.capture.locals.push((name.to_string(), local));
        true
    }

    /// A use of a local: one that the pattern declares, else any that stands outside, the same each time.
    fn local(&mut self, name: &str, local: Local) -> bool {
        match self.locals.get(name) {
            Some(known) if *known == local => true,
            Some(known) => {
                let (found, wanted) = (self.names().local(local), self.names().local(*known));
                self.fail(format!("`{found}` stands where `{wanted}` is wanted"))
            }
            None => self.hold(name, Held::Name(local)),
        }
    }

    fn ty(&mut self, pat: Option<&PatTy>, local: Local) -> bool {
        let ty = self.fun.locals[local.index()].ty.clone();
        match pat {
            None => true,
            Some(PatTy::Hole(name)) => self.hold(name, Held::Ty(ty)),
            Some(PatTy::Elem(e)) => ty == Ty::Elem(*e) || self.fail(format!("{e} is wanted here")),
        }
    }

    fn domain(&mut self, pat: &PatDomain, domain: &Domain) -> bool {
        match (pat, domain) {
            (PatDomain::Hole(name), _) => self.hold(name, Held::Domain(domain.clone())),
            (PatDomain::Range(a, b), Domain::Range { lo, hi }) => self.ix(a, lo) && self.ix(b, hi),
            (PatDomain::Blocks(a, b, n), Domain::Blocks { lo, hi, size }) => {
                self.ix(a, lo) && self.ix(b, hi) && self.ix(n, &Ix::Lit(*size))
            }
            (PatDomain::Range(..), Domain::Blocks { .. }) => {
                self.fail("the loop runs over blocks where a plain range is wanted")
            }
            (PatDomain::Blocks(..), Domain::Range { .. }) => {
                self.fail("the loop runs over a plain range where blocks are wanted")
            }
        }
    }

    fn ix(&mut self, pat: &PatIx, ix: &Ix) -> bool {
        if let PatIx::Hole(name) = pat {
            return self.hold(name, Held::Ix(ix.clone()));
        }
        let ix = &tidy::ix(ix);
        let matched = match (pat, ix) {
            (PatIx::Name(name), _) => match (self.args.get(name), self.vars.get(name), ix) {
                (Some(Arg::Size(n)), _, Ix::Lit(m)) => n == m,
                (_, Some(v), Ix::Var(w)) => v == w,
                _ => false,
            },
            (PatIx::Lit(n), Ix::Lit(m)) => n == m,
            (PatIx::Known(i), _) => tidy::ix(i) == *ix,
            (PatIx::Add(a, b), Ix::Add(x, y))
            | (PatIx::Sub(a, b), Ix::Sub(x, y))
            | (PatIx::Min(a, b), Ix::Min(x, y))
            | (PatIx::Max(a, b), Ix::Max(x, y)) => return self.ix(a, x) && self.ix(b, y),
            (PatIx::Mul(a, b), Ix::Mul(n, x)) => {
                return (self.is_literal(a, *n) && self.ix(b, x)) || (self.is_literal(b, *n) && self.ix(a, x));
            }
            (PatIx::Div(a, b), Ix::Div(x, n)) | (PatIx::Mod(a, b), Ix::Mod(x, n)) => {
                return self.ix(a, x) && self.ix(b, &Ix::Lit(*n));
            }
            (PatIx::Part(name, part), Ix::Block(v, p)) => part == p && self.vars.get(name) == Some(v),
            (PatIx::InBlock(name, e), Ix::InBlock(v, x)) => {
                return self.vars.get(name) == Some(v) && self.ix(e, x);
            }
            _ => false,
        };
        matched || {
            let text = format!("{} stands where {} is wanted", self.names().ix(ix), show::ix(pat));
            self.fail(text)
        }
    }

    fn is_literal(&self, pat: &PatIx, n: i64) -> bool {
        match pat {
            PatIx::Lit(m) => *m == n,
            PatIx::Name(name) => matches!(self.args.get(name), Some(Arg::Size(m)) if *m == n),
            _ => false,
        }
    }

    fn guard(&mut self, pat: &PatGuard, guard: &Guard) -> bool {
        match (pat, guard) {
            (PatGuard::Cmp(r, a, b), Guard::Cmp(s, x, y)) if r == s => self.ix(a, x) && self.ix(b, y),
            (PatGuard::And(a, b), Guard::And(x, y)) | (PatGuard::Or(a, b), Guard::Or(x, y)) => {
                self.guard(a, x) && self.guard(b, y)
            }
            (PatGuard::Not(a), Guard::Not(x)) => self.guard(a, x),
            (PatGuard::Not(a), Guard::Cmp(Rel::Ne, x, y)) => self.guard(a, &Guard::Cmp(Rel::Eq, x.clone(), y.clone())),
            _ => {
                let text = format!("the condition {} does not fit", self.names().guard(guard));
                self.fail(text)
            }
        }
    }

    fn cell(&mut self, pat: &PatCell, access: &Access) -> bool {
        match pat {
            PatCell::Hole(name, substs) if substs.is_empty() => match self.capture.held.get(name) {
                Some(Held::Cell(known)) if tidy::access(known) != tidy::access(access) => {
                    let text = format!(
                        "`{}` stands where `{}` is wanted",
                        self.names().access(access),
                        self.names().access(known)
                    );
                    self.fail(text)
                }
                _ => self.hold(name, Held::Cell(access.clone())),
            },
            PatCell::Hole(..) => self.fail("indices are replaced in `to` only"),
            PatCell::Named(name, at) => {
                let is = matches!(self.args.get(name), Some(Arg::Buffer(b)) if *b == access.buffer);
                if !is || at.len() != access.at.len() {
                    let text = format!("`{}` stands where a cell of `{name}` is wanted", self.names().access(access));
                    return self.fail(text);
                }
                at.iter().zip(&access.at).all(|(p, i)| self.ix(p, i))
            }
        }
    }

    fn word(&mut self, pat: &PatWord, word: &Word) -> bool {
        match (pat, word) {
            (PatWord::Hole { name, inside: None, substs }, _) if substs.is_empty() => {
                let inside = self.inside;
                self.hold(name, Held::Word(word.clone(), inside))
            }
            (PatWord::Hole { name, inside: Some(inner), .. }, _) => self.context(name, inner, word),
            (PatWord::Load(cell), Word::Load(a)) => self.cell(cell, a),
            (PatWord::Local(name), Word::Local(l, at)) if at.is_empty() => self.local(name, *l),
            (PatWord::Float(text), Word::Lit(lit)) => {
                same_float(text, *lit) || self.fail(format!("{text} is wanted here"))
            }
            (PatWord::Prim(p, args), Word::Op { op: Op::Prim(q), args: words, .. })
                if p == q && args.len() == words.len() =>
            {
                args.iter().zip(words).all(|(p, w)| self.word(p, w))
            }
            (PatWord::If(g, a, b), Word::If(h, x, y)) => self.guard(g, h) && self.word(a, x) && self.word(b, y),
            (PatWord::Fold { .. }, Word::Fold(f)) => self.fold(pat, f),
            _ => {
                let text = format!(
                    "{} stands where {} is wanted",
                    show::word_kind(&self.names(), word),
                    show::pat_word_kind(pat)
                );
                self.fail(text)
            }
        }
    }

    fn fold(&mut self, pat: &PatWord, f: &Fold) -> bool {
        let PatWord::Fold { var, domain, acc, ty, init, body } = pat else { return false };
        if !(self.is_wanted(var, f.var) && self.domain(domain, &f.domain)) {
            return false;
        }
        let outer_var = self.vars.get(var).copied();
        let outer_acc = self.locals.get(acc).copied();
        // In program order: the sum, then what stands inside it.
        let at = self.capture.loops.len();
        let start = self.word(init, &f.init) || self.start_differs(init, &f.init);
        let matched = start && self.ty(ty.as_ref(), f.acc) && {
            self.bind_var(var, f.var, f.regroup);
            self.capture.loops[at..].rotate_right(1);
            self.declare(acc, f.acc);
            let outer = self.inside.replace(f.acc);
            let matched = self.word(body, &f.body);
            self.inside = outer;
            matched
        };
        restore(&mut self.vars, var, outer_var);
        restore(&mut self.locals, acc, outer_acc);
        matched
    }

    /// The commonest reason of all gets a sentence of its own.
    fn start_differs(&mut self, wanted: &PatWord, start: &Word) -> bool {
        if let PatWord::Load(_) = wanted {
            let text = format!("the sum starts from {}, and it {}", self.names().word(start), FROM_ITS_CELL);
            self.reason = None;
            self.fail(text);
        }
        false
    }

    /// `$post[p]`: the word around exactly one place where `p` matches, not under a binder or a choice, and not empty.
    fn context(&mut self, name: &str, inner: &PatWord, word: &Word) -> bool {
        let mut places = Vec::new();
        positions(word, &mut Vec::new(), &mut places);
        let (mut matches, mut nearest) = (Vec::new(), None);
        for place in places.into_iter().filter(|p| !p.is_empty()) {
            let Some(part) = at(word, &place) else { continue };
            let mut attempt = Matcher { reason: None, ..self.clone() };
            if attempt.word(inner, part) {
                matches.push((place, attempt.capture));
            } else {
                nearest = Reason::nearer(nearest, attempt.reason);
            }
        }
        match matches.as_slice() {
            [(place, capture)] => {
                self.capture = capture.clone();
                let hole = Local(PLACEHOLDER + self.capture.placeholders);
                self.capture.placeholders += 1;
                let around = put(word, place, &Word::Local(hole, vec![]));
                self.hold(name, Held::Word(around, Some(hole)))
            }
            [] => match nearest {
                // A part that fits to some degree says more than that none does.
                Some(near) if near.progress > self.progress => {
                    self.reason = self.reason.take().or(Some(near));
                    false
                }
                _ => {
                    let text = format!("nothing inside the word is {}", show::pat_word_kind(inner));
                    self.fail(text)
                }
            },
            _ => self.fail(format!("two parts of the word fit where one, {}, is wanted", show::pat_word_kind(inner))),
        }
    }
}

fn restore<T>(map: &mut BTreeMap<String, T>, name: &str, outer: Option<T>) {
    match outer {
        Some(v) => map.insert(name.to_string(), v),
        None => map.remove(name),
    };
}

fn same_float(text: &str, lit: Lit) -> bool {
    match lit.elem {
        cachet_core::ir::Elem::F64 => text.parse::<f64>().is_ok_and(|x| x.to_bits() == lit.bits),
        cachet_core::ir::Elem::F32 => text.parse::<f32>().is_ok_and(|x| u64::from(x.to_bits()) == lit.bits),
        _ => false,
    }
}

/// The places of a word that are under no binder and no choice, by child numbers.
fn positions(word: &Word, here: &mut Vec<usize>, out: &mut Vec<Vec<usize>>) {
    out.push(here.clone());
    let children: &[Word] = match word {
        Word::Op { args, .. } | Word::Apply(_, args) | Word::Tuple(args) => args,
        Word::Part(w, _) => std::slice::from_ref(w),
        _ => &[],
    };
    for (i, c) in children.iter().enumerate() {
        here.push(i);
        positions(c, here, out);
        here.pop();
    }
}

fn at<'w>(word: &'w Word, place: &[usize]) -> Option<&'w Word> {
    place.iter().try_fold(word, |w, i| match w {
        Word::Op { args, .. } | Word::Apply(_, args) | Word::Tuple(args) => args.get(*i),
        Word::Part(w, _) => Some(&**w),
        _ => None,
    })
}

fn put(word: &Word, place: &[usize], with: &Word) -> Word {
    let [first, rest @ ..] = place else { return with.clone() };
    let replaced = |args: &[Word]| {
        let mut args = args.to_vec();
        args[*first] = put(&args[*first], rest, with);
        args
    };
    match word {
        Word::Op { op, arith, args } => Word::Op { op: *op, arith: *arith, args: replaced(args) },
        Word::Apply(f, args) => Word::Apply(*f, replaced(args)),
        Word::Tuple(args) => Word::Tuple(replaced(args)),
        Word::Part(w, n) => Word::Part(Box::new(put(w, rest, with)), *n),
        other => other.clone(),
    }
}
