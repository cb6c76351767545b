//! What a function keeps near and moves between levels, and whether that is within what it declares.
//!
//! A lease of an array at another level moves its lines there each time that the lease is made. A call moves what its
//! function declares, or, where it declares nothing, what that does itself. Amounts keep the shape in which they are
//! written, so that a refusal shows both sides as they stand; they are compared as [`Count`]s.

use crate::count::{Count, Range, Ranges, Values};
use cachet_core::ir::{
    Block, BlockPart, Buffer, Call, Device, Domain, Fun, Ix, Layout, Level, Program, Role, Stmt, StmtKind, Strides, Ty,
    Var,
};
use cachet_core::layout;
use cachet_core::linear::Linear;
use cachet_core::print::Names;
use cachet_core::resources::{Cost, Keep, Resources, Traffic};
use cachet_core::rewrite::{Live, Subst};
pub use cachet_machine::platform::Platform;
use cachet_source::{Counterexample, Diagnostic, Kind as Severity, codes};

/// Where everything is that says no level.
const OUTERMOST: &str = "DRAM";

/// How many values are tried for a counterexample.
const MOST_TRIES: usize = 200_000;

/// What the leases of a function declare: what is kept where, the innermost level first, and what moves. A function that
/// says itself what moves keeps its words.
pub fn made(program: &Program, fun: &Fun, platform: &Platform) -> Resources {
    let rank = |l: &Level| platform.levels.iter().position(|p| p.name == l.name).unwrap_or(usize::MAX);
    let mut keeps: Vec<Keep> = Vec::new();
    leases(&fun.body, &mut |lease, of| {
        let (level, buffer) = (fun.buffers[lease.index()].level.clone(), root(fun, of));
        let is_param = fun.params.contains(&buffer);
        if is_param
            && level != fun.buffers[buffer.index()].level
            && !keeps.iter().any(|k| k.buffer == buffer && k.level == level)
        {
            keeps.push(Keep { level, name: fun.buffers[buffer.index()].name.clone(), buffer });
        }
    });
    keeps.sort_by_key(|k| (rank(&k.level), k.level.name.clone()));
    let mut movement = moved(program, fun).filter(|rows| rows.iter().all(|r| of_params(fun, &r.amount)));
    if keeps.is_empty() && movement.as_ref().is_some_and(Vec::is_empty) {
        movement = None;
    }
    movement.iter_mut().for_each(|rows| told_apart(rows));
    Resources { keeps, movement }
}

/// Gives rows of one name numbers.
fn told_apart(rows: &mut [Traffic]) {
    for n in 1..rows.len() {
        let (before, row) = rows.split_at_mut(n);
        let Some(name) = row[0].name.clone() else { continue };
        let taken = |name: &str| before.iter().any(|r| r.name.as_deref() == Some(name));
        let other = (2..).map(|k| format!("{name}_{k}")).find(|other| !taken(other));
        if taken(&name) {
            row[0].name = other;
        }
    }
}

/// What moves in a function. `None` where an amount depends on loops in a way that is not bounded here.
fn moved(program: &Program, fun: &Fun) -> Option<Vec<Traffic>> {
    let mut walk = Moves { program, fun, around: Vec::new(), loops: Vec::new(), rows: Vec::new() };
    walk.block(&fun.body)?;
    Some(walk.rows)
}

struct Moves<'a> {
    program: &'a Program,
    fun: &'a Fun,
    /// How often the loops around run.
    around: Vec<Cost>,
    loops: Vec<(Var, Domain)>,
    rows: Vec<Traffic>,
}

impl Moves<'_> {
    fn block(&mut self, block: &Block) -> Option<()> {
        block.iter().try_for_each(|s| self.stmt(s))
    }

    fn stmt(&mut self, s: &Stmt) -> Option<()> {
        match &s.kind {
            StmtKind::For { var, domain, body } => self.loops(&[(*var, domain)], body),
            StmtKind::Grid(g) => self.loops(&g.axes.iter().map(|a| (a.0, &a.1)).collect::<Vec<_>>(), &g.body),
            StmtKind::If { guard: _, then, els } => {
                self.block(then)?;
                self.block(els)
            }
            StmtKind::Lease { lease, of, mutable } => {
                let buffer = root(self.fun, *of);
                let info = |b: Buffer| &self.fun.buffers[b.index()];
                let (from, to) = (info(*of).level.clone(), info(*lease).level.clone());
                if from != to {
                    let lines = Cost::Lines(Box::new(Cost::SpanBytes(buffer)));
                    let amount = Cost::product(self.around.iter().cloned().chain([lines]));
                    let name = Some(format!("{}_pull", info(buffer).name));
                    self.rows.push(Traffic { name, amount, from, to, back: *mutable });
                }
                Some(())
            }
            StmtKind::Call(c) => self.call(c),
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Print(_) => Some(()),
        }
    }

    fn loops(&mut self, axes: &[(Var, &Domain)], body: &Block) -> Option<()> {
        let (before, rows) = (self.around.len(), self.rows.len());
        let mut inside = Some(Vec::new());
        for (v, d) in axes {
            let trips = self.trips(d);
            inside = inside.zip(trips).map(|(mut all, t)| {
                all.push(t);
                all
            });
            self.loops.push((*v, (*d).clone()));
        }
        // What does not move anything needs no count of its loops.
        self.around.extend(inside.clone().unwrap_or_default());
        let done = self.block(body);
        self.around.truncate(before);
        self.loops.truncate(self.loops.len() - axes.len());
        done?;
        (inside.is_some() || self.rows.len() == rows).then_some(())
    }

    /// How often a loop runs at most, in sizes.
    fn trips(&self, domain: &Domain) -> Option<Cost> {
        let (lo, hi, size) = match domain {
            Domain::Range { lo, hi } => (lo, hi, None),
            Domain::Blocks { lo, hi, size } => (lo, hi, Some(*size)),
        };
        // Both ends may move together, as those of a block do.
        let length = match (self.in_sizes(lo), lo) {
            (_, Ix::Lit(0)) => self.end(hi, true)?,
            (true, lo) => Ix::Sub(Box::new(self.end(hi, true)?), Box::new(lo.clone())),
            (false, lo) => self.end(&tidied(&Ix::Sub(Box::new(hi.clone()), Box::new(lo.clone()))), true)?,
        };
        Some(match (size, &length) {
            (Some(n), _) => Cost::Ceil(length, n),
            (None, Ix::Lit(_) | Ix::Var(_) | Ix::Div(..)) => Cost::Ix(length),
            (None, _) => Cost::Ix(Ix::Max(Box::new(Ix::Lit(0)), Box::new(length))),
        })
    }

    /// The most, or the least, that an index is inside the loops around, in sizes.
    fn end(&self, ix: &Ix, most: bool) -> Option<Ix> {
        let two = |a: &Ix, b: &Ix| Some((Box::new(self.end(a, most)?), Box::new(self.end(b, most)?)));
        let domain = |v: &Var| self.loops.iter().rev().find(|(l, _)| l == v).map(|(_, d)| d);
        Some(match ix {
            Ix::Lit(_) => ix.clone(),
            Ix::Var(v) if self.fun.sizes.contains(v) => ix.clone(),
            Ix::Var(v) => match domain(v)? {
                Domain::Range { lo, .. } if !most => self.end(lo, false)?,
                Domain::Range { hi, .. } => {
                    let last = self.end(hi, true)?;
                    match last {
                        Ix::Lit(n) => Ix::Lit(n.checked_sub(1)?),
                        last => Ix::Sub(Box::new(last), Box::new(Ix::Lit(1))),
                    }
                }
                Domain::Blocks { .. } => return None,
            },
            Ix::Add(a, b) => two(a, b).map(|(a, b)| Ix::Add(a, b))?,
            Ix::Min(a, b) => two(a, b).map(|(a, b)| Ix::Min(a, b))?,
            Ix::Max(a, b) => two(a, b).map(|(a, b)| Ix::Max(a, b))?,
            Ix::Sub(a, b) => Ix::Sub(Box::new(self.end(a, most)?), Box::new(self.end(b, !most)?)),
            Ix::Mul(n, a) => Ix::Mul(*n, Box::new(self.end(a, most == (*n >= 0))?)),
            Ix::Div(a, n) => Ix::Div(Box::new(self.end(a, most)?), *n),
            Ix::Mod(a, _) if self.in_sizes(a) => ix.clone(),
            Ix::Mod(_, n) => Ix::Lit(if most { n - 1 } else { 0 }),
            Ix::Block(g, part) => {
                let Domain::Blocks { lo, hi, size } = domain(g)? else { return None };
                let one = |ix, f: fn(Box<Ix>, Box<Ix>) -> Ix| f(Box::new(ix), Box::new(Ix::Lit(1)));
                match (part, most) {
                    (BlockPart::Len, true) => Ix::Lit(*size),
                    (BlockPart::Len, false) => Ix::Lit(1),
                    (BlockPart::Hi, true) => self.end(hi, true)?,
                    (BlockPart::Lo, false) => self.end(lo, false)?,
                    // A block is not empty.
                    (BlockPart::Lo, true) => one(self.end(hi, true)?, Ix::Sub),
                    (BlockPart::Hi, false) => one(self.end(lo, false)?, Ix::Add),
                    (BlockPart::Idx, false) => Ix::Lit(0),
                    (BlockPart::Idx, true) => {
                        let length = Ix::Sub(Box::new(self.end(hi, true)?), Box::new(self.end(lo, false)?));
                        Ix::Div(Box::new(one(length, Ix::Sub)), *size)
                    }
                }
            }
            Ix::If(_, a, b) => {
                let (a, b) = two(a, b)?;
                if most { Ix::Max(a, b) } else { Ix::Min(a, b) }
            }
            Ix::InBlock(g, e) => {
                let start = self.end(&Ix::Block(*g, BlockPart::Lo), most)?;
                // What runs through the block itself ends with it.
                let through = |v: &Var| matches!(domain(v), Some(Domain::Range { hi, .. }) if *hi == Ix::Block(*g, BlockPart::Len));
                match &**e {
                    Ix::Var(v) if most && through(v) => start,
                    e => Ix::Add(Box::new(start), Box::new(self.end(e, most)?)),
                }
            }
        })
    }

    fn in_sizes(&self, ix: &Ix) -> bool {
        Live::of_ix(ix).vars.iter().all(|v| self.fun.sizes.contains(v))
    }

    fn call(&mut self, c: &Call) -> Option<()> {
        let callee = &self.program.funs[c.fun.index()];
        let rows = match &callee.resources.movement {
            Some(rows) => rows.clone(),
            None => moved(self.program, callee)?,
        };
        if rows.is_empty() {
            return Some(());
        }
        for row in rows {
            let amount = self.lent(callee, c, &row.amount)?;
            let amount = Cost::product(self.around.iter().cloned().chain([amount]));
            self.rows.push(Traffic { amount, ..row });
        }
        Some(())
    }

    /// The most, or the least, that an index over a callee's sizes is at a call, in the caller's sizes.
    fn at_call(&self, callee: &Fun, c: &Call, ix: &Ix, most: bool) -> Option<Ix> {
        let at = |ix: &Ix, most| self.at_call(callee, c, ix, most).map(Box::new);
        let two = |a: &Ix, b: &Ix| Some((at(a, most)?, at(b, most)?));
        let given = |v: &Var| c.sizes.get(callee.sizes.iter().position(|s| s == v)?);
        if Live::of_ix(ix).vars.iter().all(|v| given(v).is_some_and(|value| self.in_sizes(value))) {
            let sizes = callee.sizes.iter().zip(&c.sizes).map(|(v, value)| (*v, value.clone()));
            return Some(Subst { vars: sizes.collect(), ..Subst::default() }.ix(ix));
        }
        Some(match ix {
            Ix::Lit(_) => ix.clone(),
            Ix::Var(v) => self.end(&tidied(given(v)?), most)?,
            Ix::Add(a, b) => two(a, b).map(|(a, b)| Ix::Add(a, b))?,
            Ix::Min(a, b) => two(a, b).map(|(a, b)| Ix::Min(a, b))?,
            Ix::Max(a, b) => two(a, b).map(|(a, b)| Ix::Max(a, b))?,
            Ix::Sub(a, b) => Ix::Sub(at(a, most)?, at(b, !most)?),
            Ix::Mul(n, a) => Ix::Mul(*n, at(a, most == (*n >= 0))?),
            Ix::Div(a, n) => Ix::Div(at(a, most)?, *n),
            Ix::Mod(_, n) => Ix::Lit(if most { n - 1 } else { 0 }),
            Ix::If(_, a, b) => {
                let (a, b) = two(a, b)?;
                if most { Ix::Max(a, b) } else { Ix::Min(a, b) }
            }
            // A function's amounts are made of its sizes.
            Ix::Block(..) | Ix::InBlock(..) => return None,
        })
    }

    /// A callee's amount in the caller's terms.
    fn lent(&self, callee: &Fun, c: &Call, cost: &Cost) -> Option<Cost> {
        let two = |a: &Cost, b: &Cost| Some((Box::new(self.lent(callee, c, a)?), Box::new(self.lent(callee, c, b)?)));
        Some(match cost {
            Cost::Ix(ix) => Cost::Ix(self.at_call(callee, c, ix, true)?),
            Cost::Ceil(e, n) => Cost::Ceil(self.at_call(callee, c, e, true)?, *n),
            Cost::Add(a, b) => two(a, b).map(|(a, b)| Cost::Add(a, b))?,
            Cost::Mul(a, b) => two(a, b).map(|(a, b)| Cost::Mul(a, b))?,
            Cost::Lines(a) => Cost::Lines(Box::new(self.lent(callee, c, a)?)),
            Cost::SpanBytes(b) => match callee.params.iter().position(|p| p == b) {
                Some(at) => Cost::SpanBytes(root(self.fun, c.args.get(at)?.buffer)),
                None => Cost::Ix(Ix::Lit(bytes(callee, *b)?)),
            },
        })
    }
}

/// An index with like terms joined, the end of a block as its start and its length.
fn tidied(ix: &Ix) -> Ix {
    fn open(ix: &Ix) -> Ix {
        let two = |a: &Ix, b: &Ix| (Box::new(open(a)), Box::new(open(b)));
        let sum = |a: Ix, b: Ix| Ix::Add(Box::new(a), Box::new(b));
        match ix {
            Ix::Add(a, b) => {
                let (a, b) = two(a, b);
                Ix::Add(a, b)
            }
            Ix::Sub(a, b) => {
                let (a, b) = two(a, b);
                Ix::Sub(a, b)
            }
            Ix::Mul(n, a) => Ix::Mul(*n, Box::new(open(a))),
            Ix::Block(g, BlockPart::Hi) => sum(Ix::Block(*g, BlockPart::Lo), Ix::Block(*g, BlockPart::Len)),
            Ix::InBlock(g, e) => sum(Ix::Block(*g, BlockPart::Lo), open(e)),
            Ix::Lit(_)
            | Ix::Var(_)
            | Ix::Div(..)
            | Ix::Mod(..)
            | Ix::Min(..)
            | Ix::Max(..)
            | Ix::If(..)
            | Ix::Block(..) => ix.clone(),
        }
    }
    let opened = open(ix);
    let joined = Linear::of(&opened).map(|l| l.to_ix());
    // What does not become simpler keeps its shape, for messages.
    match joined {
        Some(joined) if Live::of_ix(&joined).vars.len() < Live::of_ix(ix).vars.len() => joined,
        Some(joined @ (Ix::Lit(_) | Ix::Block(..))) => joined,
        Some(_) | None => ix.clone(),
    }
}

/// Whether what a function keeps fits its levels, and what it moves is within what it declares.
pub fn within(program: &Program, fun: &Fun, platform: &Platform) -> Vec<Diagnostic> {
    let mut out = crate::fit::undeclared(fun);
    out.extend(crate::fit::fits(program, fun, platform));
    out.extend(moves_within(program, fun, platform));
    out
}

fn moves_within(program: &Program, fun: &Fun, platform: &Platform) -> Vec<Diagnostic> {
    let Some(declared) = &fun.resources.movement else { return Vec::new() };
    let Some(rows) = moved(program, fun) else {
        let message =
            format!("could not decide what moves in `{}`: a lease or a call depends on the loops around it", fun.name);
        return vec![Diagnostic::new(Severity::NotDecided, codes::RESOURCES, message).at(fun.span.0, "")];
    };
    let mut levels: Vec<&Level> = Vec::new();
    for r in &rows {
        if !levels.contains(&&r.from) {
            levels.push(&r.from);
        }
    }
    let mut out = Vec::new();
    for level in levels {
        for back in [false, true] {
            let of = |rows: &[Traffic]| -> Vec<Traffic> {
                rows.iter().filter(|r| r.from == *level && (r.back || !back)).cloned().collect()
            };
            let goal = Goal { program, fun, platform, level, back, happens: of(&rows), allowed: of(declared) };
            if let Some(d) = goal.refusal() {
                out.push(d);
                break;
            }
        }
    }
    out
}

/// That what happens is at most what is allowed.
struct Goal<'a> {
    program: &'a Program,
    fun: &'a Fun,
    platform: &'a Platform,
    level: &'a Level,
    back: bool,
    happens: Vec<Traffic>,
    allowed: Vec<Traffic>,
}

impl Goal<'_> {
    fn refusal(&self) -> Option<Diagnostic> {
        let at = self.fun.span.0;
        let mut symbols = Vec::new();
        for r in self.happens.iter().chain(&self.allowed) {
            spans(&r.amount, &mut symbols);
        }
        let symbol = |n: usize| Var((self.fun.vars.len() + n) as u32);
        // Lines of several lengths are compared by their bytes.
        let mut lengths: Vec<Option<i64>> = self.happens.iter().chain(&self.allowed).map(|r| self.line(r)).collect();
        lengths.dedup();
        let weight = |line: i64| if lengths.len() > 1 { line } else { 1 };
        let sum = |rows: &[Traffic]| {
            let one = |r: &Traffic| {
                let line = self.line(r)?;
                Some(self.count(&r.amount, line, &symbols).scaled(weight(line)))
            };
            rows.iter().try_fold(Count::zero(), |n, r| Some(n.plus(&one(r)?)))
        };
        let (Some(lhs), Some(rhs)) = (sum(&self.happens), sum(&self.allowed)) else {
            let message = format!("the platform {} does not say how long the lines of a level are", self.platform.name);
            return Some(Diagnostic::error(codes::RESOURCES, at, message));
        };
        let mut ranges = Ranges::default();
        let free: Vec<Var> = self.fun.sizes.iter().copied().chain((0..symbols.len()).map(symbol)).collect();
        free.iter().for_each(|v| ranges.enter(*v, Range::Size));
        let difference = rhs.minus(&lhs);
        if ranges.not_negative(&difference) || ranges.covered(&difference) {
            return None;
        }
        // What is not so for all lengths may be so for the lengths that the arrays have.
        let known = symbols.iter().enumerate().filter_map(|(n, b)| Some((symbol(n), bytes(self.fun, *b)?)));
        let known = known.fold(difference.clone(), |d, (v, n)| d.put(v, &Count::lit(n), None));
        if ranges.not_negative(&known) || ranges.covered(&known) {
            return None;
        }
        let direction = if self.back { "back to" } else { "at" };
        let what = format!("could not prove declared traffic row {direction} {}", self.level.name);
        let text =
            format!("{}\n<= {}", self.side(&self.happens, &symbols, "\n+ "), self.side(&self.allowed, &symbols, " + "));
        let name = |v: &Var| match self.fun.vars.get(v.index()) {
            Some(info) => info.name.clone(),
            None => format!("bytes_{}", v.index() - self.fun.vars.len()),
        };
        let is_symbol = |v: &Var| v.index() >= self.fun.vars.len();
        let seen: Vec<Var> = free.into_iter().filter(|v| is_symbol(v) || difference.depends(*v)).collect();
        let mut d = match smallest(&seen, &difference) {
            Some(values) => {
                let values = seen.iter().map(|v| (name(v), values[v].to_string())).collect();
                let mut d = Diagnostic::new(Severity::NotProved, codes::RESOURCES, what);
                d.counterexample = Some(Counterexample { values, replay: None });
                d
            }
            None => Diagnostic::new(Severity::NotDecided, codes::RESOURCES, what.replace("prove", "decide")),
        };
        d = d.at(at, "").note(text);
        for (n, b) in symbols.iter().enumerate() {
            d = d.note(format!("bytes_{n} is what `{}` takes", self.fun.buffers[b.index()].name));
        }
        Some(match crate::hint::hint(self.program, self.fun, None) {
            Some(hint) => d.help(hint),
            None => d.help(
                "allow more, or move less often: an outer loop that the array does not depend on moves it again each time",
            ),
        })
    }

    /// Bytes of a line: of the level that is moved to, or else of the one that is moved from.
    fn line(&self, r: &Traffic) -> Option<i64> {
        let of = |level: &Level| self.platform.number("line", &[level.name.as_str()], None).ok().filter(|n| *n > 0);
        of(&r.to).or_else(|| of(&r.from))
    }

    fn count(&self, c: &Cost, line: i64, symbols: &[Buffer]) -> Count {
        let two = |a: &Cost, b: &Cost| (self.count(a, line, symbols), self.count(b, line, symbols));
        let least = |c: Count| c.larger(&Count::zero(), &self.ranges());
        match c {
            Cost::Ix(ix) => least(self.ix(ix)),
            Cost::Ceil(e, n) => least(self.ix(e).ceil(*n)),
            Cost::Add(a, b) => {
                let (a, b) = two(a, b);
                a.plus(&b)
            }
            Cost::Mul(a, b) => {
                let (a, b) = two(a, b);
                a.times(&b)
            }
            Cost::Lines(a) => self.count(a, line, symbols).ceil(line),
            Cost::SpanBytes(b) => match symbols.iter().position(|s| s == b) {
                Some(n) => Count::var(Var((self.fun.vars.len() + n) as u32)),
                None => Count::lost(),
            },
        }
    }

    /// The bytes of an array whose layout fills nothing up, in sizes.
    fn plain_bytes(&self, b: Buffer) -> Option<Count> {
        let info = &self.fun.buffers[b.index()];
        let of_element = match (&info.layout, &info.strides, &info.elem) {
            (Layout::RowMajor, Strides::Contiguous, Ty::Elem(e)) => Count::lit(e.bytes()),
            _ => return None,
        };
        Some(info.extents.iter().fold(of_element, |n, e| n.times(&self.ix(e))))
    }

    fn ranges(&self) -> Ranges {
        let mut out = Ranges::default();
        self.fun.sizes.iter().for_each(|v| out.enter(*v, Range::Size));
        out
    }

    fn ix(&self, ix: &Ix) -> Count {
        crate::scope::Scope::of(self.program, self.fun, self.ranges()).ix(ix)
    }

    fn side(&self, rows: &[Traffic], symbols: &[Buffer], between: &str) -> String {
        let names = Names::of(self.program, self.fun);
        let texts: Vec<String> = rows
            .iter()
            .map(|r| {
                let line = self.line(r).unwrap_or_default();
                let mut text = r.amount.text(&names);
                for (n, b) in symbols.iter().enumerate() {
                    let span = format!("lines (span_bytes {}.span)", names.buffer(*b));
                    text = text.replace(&span, &format!("line_ceil bytes_{n} {line}"));
                    text = text.replace(&format!("span_bytes {}.span", names.buffer(*b)), &format!("bytes_{n}"));
                }
                text
            })
            .collect();
        if texts.is_empty() { "0".into() } else { texts.join(between) }
    }
}

/// What moves, each row with its array, where it is one array's, and its bytes.
pub(crate) fn rows_in_bytes(
    program: &Program,
    fun: &Fun,
    platform: &Platform,
) -> Vec<(Option<Buffer>, Traffic, Count)> {
    let rows = moved(program, fun).unwrap_or_default();
    let one = |r: Traffic| {
        let mut symbols = Vec::new();
        spans(&r.amount, &mut symbols);
        let goal = Goal { program, fun, platform, level: &r.from, back: r.back, happens: vec![], allowed: vec![] };
        let line = goal.line(&r)?;
        let mut lines = goal.count(&r.amount, line, &symbols);
        for (n, b) in symbols.iter().enumerate() {
            let span = bytes(fun, *b).map(Count::lit).or_else(|| goal.plain_bytes(*b))?;
            lines = lines.put(Var((fun.vars.len() + n) as u32), &span, None);
        }
        Some((symbols.first().copied(), r, lines.scaled(line)))
    };
    rows.into_iter().filter_map(one).collect()
}

/// The values with the smallest sum for which a count is below 0, of some tried.
fn smallest(vars: &[Var], c: &Count) -> Option<Values> {
    let mut tries = 0;
    // Small values first; blocks may be long.
    for (scale, sum) in [1, 17, 129, 1025, 8193].into_iter().flat_map(|scale| (0..24i128).map(move |sum| (scale, sum)))
    {
        let mut values: Vec<i128> = vec![0; vars.len()];
        if let Some(last) = values.last_mut() {
            *last = sum;
        } else if sum > 0 || scale > 1 {
            return None;
        }
        loop {
            tries += 1;
            if tries > MOST_TRIES {
                return None;
            }
            let at: Values = vars.iter().copied().zip(values.iter().map(|n| n * scale)).collect();
            if c.value(&at).is_some_and(|n| n < 0) {
                return Some(at);
            }
            // The next split of the sum, in the order of the first values.
            let Some(from) = (1..values.len()).rev().find(|i| values[*i] > 0) else { break };
            let rest = values[from] - 1;
            values[from] = 0;
            values[from - 1] += 1;
            let last = values.len() - 1;
            values[last] = rest;
        }
    }
    None
}

fn spans(c: &Cost, out: &mut Vec<Buffer>) {
    match c {
        Cost::Ix(_) | Cost::Ceil(..) => {}
        Cost::Add(a, b) | Cost::Mul(a, b) => {
            spans(a, out);
            spans(b, out);
        }
        Cost::Lines(a) => spans(a, out),
        Cost::SpanBytes(b) => {
            if !out.contains(b) {
                out.push(*b);
            }
        }
    }
}

fn of_params(fun: &Fun, c: &Cost) -> bool {
    let mut all = Vec::new();
    spans(c, &mut all);
    all.iter().all(|b| fun.params.contains(b))
}

pub(crate) fn root(fun: &Fun, mut b: Buffer) -> Buffer {
    while let Role::Lease(of) = fun.buffers[b.index()].role {
        b = of;
    }
    b
}

/// The bytes that an array takes with what its layout fills up, where all of it is numbers.
fn bytes(fun: &Fun, b: Buffer) -> Option<i64> {
    span_at(fun, b, &crate::fit::Sizes::new())
}

/// At most so many bytes from the first to the last of an array, with what its layout fills up, within bounds of sizes.
pub(crate) fn span_at(fun: &Fun, b: Buffer, sizes: &crate::fit::Sizes) -> Option<i64> {
    let info = &fun.buffers[b.index()];
    let most = |e| crate::fit::bounds(e, sizes).1.map(|n| n.max(0));
    let lengths: Vec<i64> = info.extents.iter().map(most).collect::<Option<_>>()?;
    let elements = match &info.strides {
        Strides::Contiguous => layout::room(&info.layout, &lengths)?,
        Strides::Given(_) if lengths.contains(&0) => 0,
        Strides::Given(strides) => strides.iter().zip(&lengths).try_fold(1i64, |sum, (s, n)| {
            sum.checked_add(crate::fit::bounds(&Ix::Var(*s), sizes).1?.checked_mul(n - 1)?)
        })?,
    };
    elements.checked_mul(bytes_of(&info.elem)?)
}

/// The bytes of an element, where its type is known.
pub(crate) fn bytes_of(ty: &Ty) -> Option<i64> {
    match ty {
        Ty::Elem(e) => Some(e.bytes() as i64),
        Ty::Abstract(_) => None,
        Ty::Tuple(parts) => parts.iter().map(bytes_of).sum(),
    }
}

pub(crate) fn leases(block: &Block, f: &mut dyn FnMut(Buffer, Buffer)) {
    for s in block {
        match &s.kind {
            StmtKind::For { body, .. } => leases(body, f),
            StmtKind::Grid(g) => leases(&g.body, f),
            StmtKind::If { guard: _, then, els } => {
                leases(then, f);
                leases(els, f);
            }
            StmtKind::Lease { lease, of, mutable: _ } => f(*lease, *of),
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Call(_)
            | StmtKind::Print(_) => {}
        }
    }
}

/// Whether something in a function speaks of levels, so that a platform is needed.
pub fn speaks_of_levels(fun: &Fun) -> bool {
    let outermost = |l: &Level| l.name == OUTERMOST && l.device == Device::HOST;
    fun.resources != Resources::default() || fun.buffers.iter().any(|b| !outermost(&b.level))
}

#[cfg(test)]
mod tests {
    use super::{Cost, Device, Ix, Level, OUTERMOST, Traffic, told_apart};

    #[test]
    fn rows_of_one_name_get_numbers() {
        let level = |name: &str| Level { name: name.into(), device: Device::HOST };
        let row = |name: &str| Traffic {
            name: Some(name.into()),
            amount: Cost::Ix(Ix::Lit(1)),
            from: level(OUTERMOST),
            to: level("L1"),
            back: false,
        };
        let mut rows = ["a", "a_2", "a", "b", "a"].map(row);
        told_apart(&mut rows);
        let names: Vec<&str> = rows.iter().filter_map(|r| r.name.as_deref()).collect();
        assert_eq!(names, ["a", "a_2", "a_3", "b", "a_4"]);
    }
}
