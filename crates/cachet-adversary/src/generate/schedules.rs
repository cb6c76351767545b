//! Schedules drawn at random for contractions, valid by the way they are drawn, as text.
//!
//! The schedule engine runs each step as it is drawn, so that most of them apply; nothing asks the checker. What keeps a
//! schedule valid is known of the loops: those over an index of the result may stand in any order, be cut, turned round or
//! run at once; those of a sum keep their order among themselves, unless a law of the bits permits otherwise. Not drawn is
//! what is valid and known to be refused: blocks as large as what they cut, loops turned round inside a block, and grids
//! whose iterations write every so many cells.

pub mod loops;
mod tiles;

use crate::generate::contractions::{self, Algebra, Contraction};
use crate::generate::steps;
use crate::random::Random;
use cachet_core::ir::{Fun, Program};
use cachet_core::pattern::StepDef;
use cachet_core::script::{SplitIndex, SplitLevel, StepArg, StepCall, StepForm};
use cachet_source::Span;
use loops::{Loop, Nest, nests};
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;
use tiles::Next;

/// A schedule of a contraction.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Its name.
    pub name: String,
    /// The contraction that it starts from.
    pub of: String,
    /// What the contraction is bound to.
    pub bound: Option<&'static str>,
    /// Its steps.
    pub steps: Vec<StepCall>,
    /// How it is written.
    pub shape: Shape,
    /// Its own parameters, as text, for copies.
    pub scratch: Vec<String>,
}

/// How a schedule is written; it does the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// One step after the other.
    Plain,
    /// A schedule of a schedule, from this step on; whether the implementation is bound only there.
    Continued(usize, bool),
    /// These steps in a schedule function, with their sizes as its parameters.
    Function(usize, usize),
}

/// Steps of a user's own, beside [`steps::STEPS`]: the library's, written once more.
pub const OWN: &str = "step fn cleared (i..) c =
  from
    for i.. in $A.. do
      store $cell = fold k in $lo .. $hi from $z as $acc: $E do $step
  to
    for zi.. in $A.. do
      store $cell[i.. := zi..] = $z
    for i.. in $A.. do
      store $cell = fold k in $lo .. $hi from (load $cell) as $acc: $E do $step
  relate
    per cell c fold S.k
    per cell c fold T.k
    distribute S.i at 1

step fn moved (j, k) c =
  from
    for j in $A do
      store $cell = fold k in $lo .. $hi from (load $cell) as $acc: $E do $step
  to
    for k in $lo .. $hi do
      for j in $A do
        let $acc = load $cell
        store $cell = $step[$acc]
  relate
    per cell c fold S.k
    per cell c fold T.k
    interchange S.j

step fn turned (i, j) =
  from
    for i in $A do
      for j in $B do
        $body
  to
    for j in $B do
      for i in $A do
        $body
  relate
    interchange S.i

step fn at_once t =
  from
    for t in $A do
      $body
  to
    grid t in $A do
      $body

step fn stripped t n (p, r) =
  from
    for t in $lo .. $hi do
      $body
  to
    for p in 0 .. ($hi - $lo) / n do
      for r in 0 .. n do
        $body[t := $lo + (p * n + r)]
  relate
    split S.t by n as p

";

/// The users' own steps, one text each.
pub fn own_steps() -> Vec<String> {
    let all = format!("{}\n{OWN}", steps::STEPS);
    let parts = all.split("step fn ").skip(1);
    // A comment before a step belongs to it, and is left out.
    let clean = |text: &str| text.split("\n//").next().unwrap_or_default().trim_end().to_string();
    parts.map(|p| format!("step fn {}\n\n", clean(p))).filter(|p| !p.starts_with("step fn shorter")).collect()
}

/// A contraction and its schedules as a whole file, with some steps of a user's own, and implementations that are asked for.
pub fn file(own: &[String], contraction: &Contraction, schedules: &[Schedule], impls: &str) -> String {
    let schedules: Vec<String> = schedules.iter().map(Schedule::text).collect();
    let rest = format!("{}\n{}", contraction.text(), schedules.concat());
    let layouts = if rest.contains("Panel") { "import \"cachet:layouts\"\n" } else { "" };
    format!(
        "import \"cachet:steps\"\n{layouts}{}{}{rest}",
        contractions::prelude(&format!("{rest}{impls}")),
        own.concat()
    )
}

impl Schedule {
    /// As text.
    pub fn text(&self) -> String {
        let bound = self.bound.map_or(String::new(), |b| format!(" @(S = {b})"));
        let (name, of) = (&self.name, &self.of);
        let own: String = self.scratch.iter().map(|p| format!("\n    {p}")).collect();
        let lines = |steps: &[StepCall]| -> String { steps.iter().map(|s| format!("  {s}\n")).collect() };
        match self.shape {
            Shape::Continued(at, late) if at > 0 && at < self.steps.len() => {
                let (first, second) = if late { (String::new(), bound) } else { (bound, String::new()) };
                let (before, after) = self.steps.split_at(at);
                format!(
                    "schedule {name}_first of {of}{first}{own} =\n{}\nschedule {name} of {name}_first{second} =\n{}\n",
                    lines(before),
                    lines(after)
                )
            }
            Shape::Function(from, to) if from < to && to <= self.steps.len() => {
                let (function, call) = function(&format!("{name}_part"), &self.steps[from..to]);
                let (before, after) = (lines(&self.steps[..from]), lines(&self.steps[to..]));
                format!("{function}\nschedule {name} of {of}{bound}{own} =\n{before}  {call}\n{after}\n")
            }
            Shape::Plain | Shape::Continued(..) | Shape::Function(..) => {
                format!("schedule {name} of {of}{bound}{own} =\n{}\n", lines(&self.steps))
            }
        }
    }

    /// The same with one part less, each way.
    pub fn smaller(&self) -> Vec<Schedule> {
        let mut out = Vec::new();
        if self.shape != Shape::Plain {
            out.push(Schedule { shape: Shape::Plain, ..self.clone() });
        }
        for n in 0..self.scratch.len() {
            let mut less = self.clone();
            less.scratch.remove(n);
            out.push(less);
        }
        for n in (0..self.steps.len()).rev() {
            let mut less = self.clone();
            less.steps.remove(n);
            out.push(less);
        }
        for n in 0..self.steps.len() {
            for step in simpler(&self.steps[n]) {
                let mut less = self.clone();
                less.steps[n] = step;
                out.push(less);
            }
        }
        out
    }
}

/// A step with fewer indices, levels, or smaller blocks.
fn simpler(step: &StepCall) -> Vec<StepCall> {
    let mut out = Vec::new();
    if let StepForm::Split(indices) = &step.form {
        let mut with = |indices: Vec<SplitIndex>| out.push(StepCall { form: StepForm::Split(indices), ..step.clone() });
        for n in 0..indices.len() {
            if indices.len() > 1 {
                let mut less = indices.clone();
                less.remove(n);
                with(less);
            }
            for l in 0..indices[n].levels.len() {
                let mut less = indices.clone();
                if less[n].levels.len() > 1 {
                    less[n].levels.remove(l);
                    with(less);
                }
                let mut less = indices.clone();
                let size = &mut less[n].levels[l].size;
                if *size > 2 {
                    *size -= 1;
                    with(less);
                }
            }
        }
    }
    out
}

/// Steps as a schedule function of the names and sizes in them, and its call.
fn function(name: &str, steps: &[StepCall]) -> (String, String) {
    let mut given = Given { made: BTreeSet::new(), names: Vec::new(), sizes: Vec::new(), clash: BTreeSet::new() };
    // A name that a step makes may also be what an earlier one is given: such names are not passed.
    steps.iter().for_each(|s| given.taken_up(s));
    let mut body = String::new();
    for step in steps {
        let inside = given.inside(step);
        let _ = writeln!(body, "  {inside}");
    }
    let list = |all: &[String]| match all {
        [one] => format!(" {one}"),
        [] => String::new(),
        all => format!(" ({})", all.join(", ")),
    };
    let formals: Vec<String> = (0..given.names.len()).map(|n| format!("x{n}")).collect();
    let sizes: Vec<String> = (0..given.sizes.len()).map(|n| format!("T{n}")).collect();
    let values: Vec<String> = given.sizes.iter().map(i64::to_string).collect();
    let head = format!("schedule fn {name}{}{} =\n{body}", list(&formals), list(&sizes));
    (head, format!("{name}{}{}", list(&given.names), list(&values)))
}

/// What a schedule function is given.
struct Given {
    made: BTreeSet<String>,
    names: Vec<String>,
    sizes: Vec<i64>,
    clash: BTreeSet<String>,
}

impl Given {
    /// Notes the names that a step makes.
    fn taken_up(&mut self, step: &StepCall) {
        match &step.form {
            StepForm::Split(all) => {
                let levels = all.iter().flat_map(|i| &i.levels);
                self.made.extend(levels.filter_map(|l| l.name.clone()));
            }
            StepForm::Call(args) => {
                // What the library's steps and ours make is their last tuple, or their last name.
                let made: Vec<&str> = match step.name.as_str() {
                    "strip" | "stripped" | "paired" | "cut" => args.last().map_or(vec![], names),
                    _ => vec![],
                };
                self.made.extend(made.into_iter().map(String::from));
                if matches!(step.name.as_str(), "zero" | "cleared") {
                    let loops = args.first().map_or(vec![], names);
                    let first = loops.iter().flat_map(|n| [format!("z{n}"), format!("f{n}")]);
                    self.clash.extend(first);
                }
            }
            StepForm::Pack(p) => self.made.extend(p.over.iter().flat_map(names).map(String::from)),
            StepForm::Keep { into, .. } => self.made.extend(names(into).into_iter().map(String::from)),
            StepForm::Order(_)
            | StepForm::GridOver(_)
            | StepForm::Registers(_)
            | StepForm::OuterProducts(_)
            | StepForm::DotProducts(_)
            | StepForm::Reduce { .. } => {}
        }
    }

    fn name(&mut self, arg: &StepArg) -> String {
        let StepArg::Name { name, .. } = arg else { return arg.to_string() };
        let own = matches!(name.as_str(), "d" | "w");
        if own || self.made.contains(name) || self.clash.contains(name) {
            return arg.to_string();
        }
        let text = arg.to_string();
        let at = self.names.iter().position(|n| *n == text).unwrap_or_else(|| {
            self.names.push(text);
            self.names.len() - 1
        });
        format!("x{at}")
    }

    fn size(&mut self, size: i64) -> String {
        self.sizes.push(size);
        format!("T{}", self.sizes.len() - 1)
    }

    fn arg(&mut self, arg: &StepArg) -> String {
        match arg {
            StepArg::Name { .. } => self.name(arg),
            StepArg::Number(n, _) => self.size(*n),
            StepArg::Tuple(parts, _) => {
                let parts: Vec<String> = parts.iter().map(|p| self.arg(p)).collect();
                format!("({})", parts.join(", "))
            }
        }
    }

    fn args(&mut self, args: &[StepArg]) -> String {
        args.iter().map(|a| self.arg(a)).collect::<Vec<_>>().join(", ")
    }

    fn inside(&mut self, step_call: &StepCall) -> String {
        let step = step_call;
        match &step.form {
            StepForm::Call(args) => {
                let args: Vec<String> = args.iter().map(|a| format!(" {}", self.arg(a))).collect();
                format!("{}{}", step.name, args.concat())
            }
            StepForm::Pack(p) => {
                let along = self.name(&p.along);
                let (step, lanes) = match p.lanes {
                    Some(n) => ("pack_lanes", format!(" lanes {}", self.size(n))),
                    None => ("pack", String::new()),
                };
                let over = self.args(&p.over);
                let whole = StepCall { form: StepForm::Pack(p.clone()), ..step_call.clone() }.to_string();
                let pad = whole.find(" pad ").map_or("", |at| &whole[at..]);
                format!("{step} {} into {} along {along} over ({over}){lanes}{pad}", p.array, p.into)
            }
            StepForm::Registers(r) => {
                let row = r.row.as_ref().map(|(row, rows)| (self.name(row), self.size(rows.0)));
                let (lane, lanes) = (self.name(&r.lane), self.size(r.lanes.0));
                let tile = match row {
                    Some((row, rows)) => format!("({row}, {lane}) into {} rows {rows}", r.into),
                    None => format!("{lane} into {}", r.into),
                };
                format!("registers {tile} lanes {lanes} through {}", r.through.0)
            }
            StepForm::OuterProducts(o) => {
                let (row, u, v) = (self.name(&o.row), self.size(o.rows.0), self.size(o.columns.0));
                format!("outer_products {row} {} {u} {v} {}", o.into, o.through.1)
            }
            StepForm::DotProducts(d) => {
                let sum = self.name(&d.sum);
                format!("dot_products {sum} {} {}", d.into, d.through.1)
            }
            StepForm::Keep { buffer, along, level, into } => {
                let along = self.name(along);
                format!("keep {buffer} along {along} within {} into {into}", level.name)
            }
            StepForm::Order(args) => format!("order ({})", self.args(args)),
            StepForm::GridOver(args) => format!("grid over ({})", self.args(args)),
            StepForm::Reduce { of, op, .. } => format!("reduce {} by ({op}: order)", self.name(of)),
            StepForm::Split(all) => {
                let mut parts = Vec::new();
                for i in all {
                    let of = self.name(&i.of);
                    let mut levels = Vec::new();
                    for l in &i.levels {
                        let named = l.name.as_ref().map_or(String::new(), |n| format!(" as {n}"));
                        levels.push(format!("{}{named}", self.size(l.size)));
                    }
                    let ragged = if i.ragged { " ragged" } else { "" };
                    parts.push(format!("{of} by {}{ragged}", levels.join(", ")));
                }
                format!("split {}", parts.join(", "))
            }
        }
    }
}

/// The names in an argument.
fn names(arg: &StepArg) -> Vec<&str> {
    match arg {
        StepArg::Name { name, .. } => vec![name],
        StepArg::Number(..) => vec![],
        StepArg::Tuple(parts, _) => parts.iter().flat_map(names).collect(),
    }
}

/// Draws a schedule's steps for a program.
pub struct Draw<'a> {
    /// Where numbers come from.
    pub random: &'a mut Random,
    /// What the function is part of.
    pub program: &'a Program,
    /// All steps that there are.
    pub steps: &'a [StepDef],
    /// What is scheduled.
    pub contraction: &'a Contraction,
    /// What its type parameter is bound to.
    pub bound: Option<&'static str>,
    /// Parameters of its own that were declared.
    pub scratch: Vec<String>,
    /// Copies that were made, each with the loop that it is made in.
    pub packed: Vec<(String, StepArg)>,
    /// The arrays that they are of.
    pub copied: BTreeSet<String>,
}

/// Tries until as many steps as wanted apply.
const TRIES: usize = 8;

impl Draw<'_> {
    /// So many steps, or as many as apply; and the program after them.
    pub fn steps(&mut self, start: &Fun, wanted: usize) -> (Vec<StepCall>, Fun) {
        let mut fun = start.clone();
        let mut splits = Default::default();
        let mut taken: Vec<StepCall> = Vec::new();
        let mut summed: BTreeSet<String> = self.contraction.summed().into_iter().map(String::from).collect();
        // Registers want their loops cut before.
        let mut ahead: VecDeque<Next> = VecDeque::new();
        if self.random.once_in(2) {
            ahead.extend(self.tile(&fun, &summed).unwrap_or_default());
        }
        for n in 0..TRIES * wanted {
            if ahead.is_empty() && taken.len() >= wanted {
                break;
            }
            let kept = (fun.clone(), self.scratch.len(), self.packed.clone());
            let call = match ahead.pop_front() {
                Some(next) => self.next(next, &mut fun, n),
                None => self.one(&mut fun, &summed, n),
            };
            let Some(call) = call else { continue };
            let known = Clone::clone(&splits);
            match cachet_schedule::apply(self.program, &fun, &call, self.steps, &mut splits) {
                Ok(made) => {
                    fun = made.after;
                    note_summed(&call, &mut summed);
                    taken.push(call);
                }
                Err(_) => {
                    splits = known;
                    (fun, self.packed) = (kept.0, kept.2);
                    self.scratch.truncate(kept.1);
                }
            }
        }
        (taken, fun)
    }

    fn one(&mut self, fun: &mut Fun, summed: &BTreeSet<String>, n: usize) -> Option<StepCall> {
        if let Some(call) = self.of_tiles(fun, n) {
            return Some(call);
        }
        let fun = &*fun;
        let all = tiles::without_tiles(fun, nests(fun));
        if all.is_empty() {
            return None;
        }
        let nest = self.random.pick(&all);
        let free: Vec<&Loop> = nest.loops.iter().filter(|l| !summed.contains(&l.name)).collect();
        let some = |random: &mut Random| (!free.is_empty()).then(|| free[random.below(free.len())].clone());
        let fresh = |of: &str| arg(&format!("{of}{n}"));
        let tuple = |parts: Vec<StepArg>| StepArg::Tuple(parts, Span::default());
        let call = |name: &str, args: Vec<StepArg>| Some(step(name, StepForm::Call(args)));
        let buffer = nest.writes.map(|b| arg(&fun.buffers[b.index()].name));
        match self.random.below(26) {
            0..4 => {
                let own = if self.random.once_in(3) { "cleared" } else { "zero" };
                let inner = nest.loops.iter().rev().take_while(|l| !summed.contains(&l.name)).count();
                if inner == 0 || nest.sums.is_empty() {
                    return None;
                }
                let few = if self.random.once_in(4) { 1 + self.random.below(inner) } else { inner };
                let loops = nest.loops[nest.loops.len() - few..].iter().map(Loop::arg).collect();
                call(own, vec![tuple(loops), buffer?])
            }
            4..6 => {
                let own = if self.random.once_in(3) { "moved" } else { "hoist" };
                let (j, k) = (nest.loops.last()?, nest.sums.first()?);
                (!summed.contains(&j.name)).then_some(())?;
                call(own, vec![tuple(vec![j.arg(), k.arg()]), buffer?])
            }
            6 => {
                let own = if self.random.once_in(3) { "turned" } else { "interchange" };
                let at = self.random.below(nest.loops.len().checked_sub(1).filter(|n| *n > 0)?);
                let (a, b) = (&nest.loops[at], &nest.loops[at + 1]);
                let sums = [a, b].iter().filter(|l| summed.contains(&l.name)).count();
                (sums < 2 && !b.needs.contains(&a.var)).then_some(())?;
                call(own, vec![tuple(vec![a.arg(), b.arg()])])
            }
            7..11 => self.split(&nest, n),
            11..15 => self.order(&nest, summed),
            15 => {
                let own = if self.random.once_in(3) { "stripped" } else { "strip" };
                let of = nest.loops.iter().filter(|l| l.whole).map(Loop::arg).collect::<Vec<_>>();
                (!of.is_empty()).then_some(())?;
                let size = StepArg::Number(2 + self.random.below(3) as i64, Span::default());
                call(own, vec![self.random.pick(&of), size, tuple(vec![fresh("p"), fresh("r")])])
            }
            16..18 => {
                let own = if self.random.once_in(3) { "at_once" } else { "parallel" };
                (!nest.in_grid && !nest.has_grid).then_some(())?;
                let of = some(self.random)?;
                has_windows(&of).then_some(())?;
                call(own, vec![of.arg()])
            }
            18 | 19 => {
                (!nest.in_grid && !nest.has_grid).then_some(())?;
                let mut axes: Vec<Loop> = Vec::new();
                for l in &free {
                    let apart = axes.iter().all(|a| !l.needs.contains(&a.var) && !a.needs.contains(&l.var));
                    if apart && has_windows(l) && !self.random.once_in(3) {
                        axes.push((*l).clone());
                    }
                }
                // The loops that stay inside must not be what an axis depends on.
                let known = |l: &Loop| nest.loops.iter().all(|o| !l.needs.contains(&o.var));
                axes.retain(known);
                (!axes.is_empty()).then_some(())?;
                Some(step("grid over", StepForm::GridOver(axes.iter().map(Loop::arg).collect())))
            }
            20 | 21 => self.reduce(&nest),
            22 => {
                let of = some(self.random)?;
                (!of.blocks && of.needs.is_empty()).then_some(())?;
                call("reversed", vec![of.arg()])
            }
            23 => {
                let of = some(self.random)?;
                of.whole.then_some(())?;
                call("paired", vec![of.arg(), tuple(vec![fresh("p"), fresh("r")])])
            }
            24 => {
                let of = self.random.pick(&nest.loops.first().map(|_| nest.loops.clone())?);
                let size = StepArg::Number(self.size(&of)?, Span::default());
                call("cut", vec![of.arg(), size, fresh("g")])
            }
            _ => {
                let at = self.random.below(free.len().checked_sub(1).filter(|n| *n > 0)?);
                let (a, b) = (free[at], free[at + 1]);
                (a.whole && b.whole).then_some(())?;
                let own = self.random.pick(&["diagonal", "skewed"]);
                call(own, vec![tuple(vec![a.arg(), b.arg()])])
            }
        }
    }

    fn split(&mut self, nest: &Nest, n: usize) -> Option<StepCall> {
        let mut of: Vec<Loop> = nest.loops.iter().chain(&nest.sums).cloned().collect();
        let count = 1 + usize::from(self.random.once_in(4));
        let mut indices = Vec::new();
        for part in 0..count {
            if of.is_empty() {
                break;
            }
            let l = of.swap_remove(self.random.below(of.len()));
            let exact = l.whole && self.random.once_in(3);
            let Some(small) = self.size(&l) else { continue };
            let mut sizes = vec![small];
            for _ in 0..[0, 0, 0, 1, 1, 2][self.random.below(6)] {
                let outer = if exact { 2 * sizes[0] } else { sizes[0] + 1 + self.random.below(4) as i64 };
                if l.most.is_none_or(|most| outer < most) {
                    sizes.insert(0, outer);
                }
            }
            let name = |at: usize| Some(format!("{}{n}", ["g", "h", "u"][at].repeat(part + 1)));
            let levels = sizes.iter().enumerate();
            let levels = levels.map(|(at, size)| SplitLevel { size: *size, name: name(at), span: Span::default() });
            indices.push(SplitIndex { of: l.arg(), levels: levels.collect(), ragged: !exact, span: Span::default() });
        }
        (!indices.is_empty()).then(|| step("split", StepForm::Split(indices)))
    }

    /// A size of blocks for a loop, smaller than the loop; `None` where none makes sense.
    fn size(&mut self, of: &Loop) -> Option<i64> {
        let most = of.most.map_or(4, |most| 4.min(most - 1));
        (of.plain && !of.blocks && most >= 2).then(|| self.random.between(2, most))
    }

    fn order(&mut self, nest: &Nest, summed: &BTreeSet<String>) -> Option<StepCall> {
        let mut pool: Vec<Loop> = nest.loops.clone();
        if self.random.once_in(2) {
            pool.extend(nest.sums.first().cloned());
        }
        (pool.len() > 1).then_some(())?;
        let full = pool.clone();
        let mut out: Vec<Loop> = Vec::new();
        while !pool.is_empty() {
            // Any of those that nothing left has to stand around.
            let is_sum = |l: &Loop| summed.contains(&l.name);
            let ready: Vec<usize> = (0..pool.len())
                .filter(|n| {
                    let l = &pool[*n];
                    let bound = pool.iter().any(|o| l.needs.contains(&o.var));
                    let before = is_sum(l) && pool[..*n].iter().any(is_sum);
                    !bound && !before
                })
                .collect();
            let at = ready[self.random.below(ready.len())];
            out.push(pool.remove(at));
        }
        let same = out.iter().map(|l| l.var).eq(full.iter().map(|l| l.var));
        (!same).then_some(())?;
        Some(step("order", StepForm::Order(out.iter().map(Loop::arg).collect())))
    }

    /// The terms of a sum joined by themselves, where the bits do not tell.
    fn reduce(&mut self, nest: &Nest) -> Option<StepCall> {
        let algebra: &Algebra = self.contraction.algebra;
        let exact = |head: &str| algebra.exact.iter().find(|(of, _)| *of == head).map(|(_, op)| *op);
        let of = self.random.pick(&nest.sums.first().map(|_| nest.sums.clone())?);
        let op = match self.bound {
            Some(bound) => exact(bound)?,
            None => {
                // All sums of the contraction are joined by something exact: which one this is need not be known.
                let sums = self.contraction.sums();
                let mut heads = sums.iter().map(|s| s.head.as_str()).filter(|h| !h.is_empty());
                heads.clone().all(|h| exact(h).is_some()).then_some(())?;
                exact(heads.next()?)?
            }
        };
        Some(step("reduce", StepForm::Reduce { of: of.arg(), op: op.into(), at: Span::default() }))
    }
}

/// Whether iterations of a loop write boxes of cells: those of inner parts of a loop that was cut write every so many.
fn has_windows(of: &Loop) -> bool {
    let name = of.name.trim_start_matches(['z', 'f']);
    !name.starts_with(['r', 'h', 'u', 'w', 'd'])
}

/// Names that a step gives to parts of a sum's loop.
fn note_summed(call: &StepCall, summed: &mut BTreeSet<String>) {
    match &call.form {
        StepForm::Split(all) => {
            for i in all {
                if names(&i.of).iter().any(|n| summed.contains(*n)) {
                    summed.extend(i.levels.iter().filter_map(|l| l.name.clone()));
                }
            }
        }
        StepForm::Call(args) if matches!(call.name.as_str(), "strip" | "stripped" | "paired" | "cut") => {
            if let [of, .., made] = args.as_slice()
                && names(of).iter().any(|n| summed.contains(*n))
            {
                summed.extend(names(made).into_iter().map(String::from));
            }
        }
        StepForm::Call(_)
        | StepForm::Order(_)
        | StepForm::GridOver(_)
        | StepForm::Pack(_)
        | StepForm::Keep { .. }
        | StepForm::Registers(_)
        | StepForm::OuterProducts(_)
        | StepForm::DotProducts(_)
        | StepForm::Reduce { .. } => {}
    }
}

/// The largest block that some steps make.
pub fn blocks(steps: &[StepCall]) -> Vec<i64> {
    let mut out = Vec::new();
    for s in steps {
        match &s.form {
            StepForm::Split(all) => out.extend(all.iter().flat_map(|i| i.levels.iter().map(|l| l.size))),
            StepForm::Call(args) => {
                out.extend(args.iter().filter_map(|a| if let StepArg::Number(n, _) = a { Some(*n) } else { None }));
                if s.name == "paired" {
                    out.push(2);
                }
            }
            StepForm::Registers(r) => out.extend(r.row.iter().map(|(_, rows)| rows.0).chain([r.lanes.0])),
            StepForm::OuterProducts(o) => out.extend([o.rows.0, o.columns.0]),
            StepForm::Pack(p) => out.extend(p.lanes),
            StepForm::Order(_)
            | StepForm::GridOver(_)
            | StepForm::Keep { .. }
            | StepForm::DotProducts(_)
            | StepForm::Reduce { .. } => {}
        }
    }
    out
}

fn arg(name: &str) -> StepArg {
    StepArg::Name { name: name.into(), nth: None, part: None, span: Span::default() }
}

fn step(name: &str, form: StepForm) -> StepCall {
    StepCall { name: name.into(), form, span: Span::default(), callers: vec![] }
}
