//! A contraction and a schedule for it: drawn, written as a file, checked, run beside each other, made smaller.

use crate::generate::contractions::{self, Contraction};
use crate::generate::schedules::{self, Draw, Schedule, Shape, blocks};
use crate::memory;
use crate::mutate::programs;
use crate::pools::Pools;
use crate::population::Report;
use crate::random::Random;
use crate::runs::{self, Ready, Stopped};
use cachet::native::{Native, Problem, compile};
use cachet::pipeline::Outcome;
use cachet_check::checked::Checker;
use cachet_check::relation::Asked;
use cachet_core::instance::{add_scratch, derive};
use cachet_core::ir::{Binding, Fun, FunId, ImplId, Program};
use cachet_core::script::{Module, Rewrite, Script, StepCall, StepForm};
use cachet_core::validate::validate_fun;
use cachet_oracle::hostile::KINDS;
use cachet_runtime::{Kernel, Llvm};
use cachet_schedule::Splits;

/// A contraction, a schedule, and what they are run at.
#[derive(Clone, Debug)]
pub struct Case {
    /// The users' own steps, of which the schedule takes some.
    pub own: Vec<String>,
    /// What is scheduled.
    pub contraction: Contraction,
    /// The schedule.
    pub schedule: Schedule,
    /// What a type parameter is bound to when it is run.
    pub at: Option<&'static str>,
    /// Sizes and contents are drawn from this.
    pub seed: u64,
    /// A change of what a step makes: which step, and which of the changes that there are.
    pub broken: Option<(usize, usize)>,
}

/// How much of a case is run.
#[derive(Clone, Copy)]
pub struct Effort<'a> {
    /// Choices of sizes.
    pub choices: usize,
    /// Orders in which a grid's iterations are interpreted.
    pub shuffles: usize,
    /// For machine code.
    pub llvm: Option<&'a Llvm>,
    /// For its grids.
    pub pools: Option<&'a Pools>,
}

/// No choice of sizes makes more cells than this of all of its dimensions.
const MOST_CELLS: i64 = 4_000;

/// What is called so in every case.
const CONTRACTION: &str = "k";
const SCHEDULE: &str = "s";

impl Case {
    /// A valid one, of so many steps if so many apply; `None` where none does.
    pub fn drawn(random: &mut Random, steps: usize) -> Option<Case> {
        let own = schedules::own_steps();
        let contraction = contractions::draw(random, CONTRACTION);
        let at = match contraction.algebra.instances {
            [] => None,
            all => Some(random.pick(all)),
        };
        let bound = at.filter(|_| random.once_in(2));
        let schedule = Schedule {
            name: SCHEDULE.into(),
            of: CONTRACTION.into(),
            bound,
            steps: vec![],
            shape: Shape::Plain,
            scratch: vec![],
        };
        let mut case = Case { own, contraction, schedule, at, seed: random.next(), broken: None };
        let module = understood(&schedules::file(&case.own, &case.contraction, &[], at.unwrap_or_default()))?;
        let (_, id) = module.contractions.first()?;
        let start = match bound {
            Some(b) => derive(&module.program, *id, SCHEDULE, &[implementation(&module.program, b)?]),
            None => module.program.funs[id.index()].clone(),
        };
        let mut draw = Draw {
            random,
            program: &module.program,
            steps: &module.steps,
            contraction: &case.contraction,
            bound,
            scratch: vec![],
            packed: vec![],
            copied: Default::default(),
        };
        let (taken, _) = draw.steps(&start, steps);
        case.schedule.scratch = draw.scratch;
        let last = taken.len();
        case.schedule.shape = match random.below(6) {
            0 if last > 1 => {
                // A parameter of a machine's elements waits for what they are.
                let late = random.once_in(2) && case.schedule.scratch.is_empty();
                Shape::Continued(1 + random.below(last - 1), late)
            }
            1 if last > 1 => {
                let from = random.below(last - 1);
                Shape::Function(from, from + 1 + random.below(last - from))
            }
            _ => Shape::Plain,
        };
        case.schedule.steps = taken;
        (last > 0).then_some(case)
    }

    /// As a file.
    pub fn text(&self) -> String {
        let schedule = self.schedule.text();
        let named = |name: &str| schedule.lines().any(|l| l.split_whitespace().next() == Some(name));
        let needed = |own: &&String| own.split_whitespace().nth(2).is_some_and(named);
        let own: Vec<String> = self.own.iter().filter(needed).cloned().collect();
        schedules::file(&own, &self.contraction, std::slice::from_ref(&self.schedule), self.at.unwrap_or_default())
    }

    /// Whether it takes a step whose text is not the one that is drawn.
    pub fn changed_steps(&self) -> bool {
        self.own != schedules::own_steps()
    }

    /// What is told of it where it fails.
    pub fn told(&self) -> String {
        let at = self.at.map_or(String::new(), |at| format!("// at S = {at}\n"));
        let broken = self.broken.and_then(|_| self.stepwise()).and_then(|s| s.broken);
        let broken = broken.map_or(String::new(), |what| format!("// {what}\n"));
        format!("{at}{broken}{}", self.text())
    }

    /// The same with one part less, each way.
    pub fn smaller(&self) -> Vec<Case> {
        let mut out = Vec::new();
        if let Some((at, which)) = self.broken {
            out.push(Case { broken: None, ..self.clone() });
            // With a step less before it, the change is after another one.
            for n in 0..at {
                let mut less = self.clone();
                less.schedule.shape = Shape::Plain;
                less.schedule.steps.remove(n);
                less.broken = Some((at - 1, which));
                out.push(less);
            }
        }
        out.extend(self.schedule.smaller().into_iter().map(|schedule| Case { schedule, ..self.clone() }));
        let contractions = self.contraction.smaller().into_iter();
        out.extend(contractions.map(|contraction| Case { contraction, ..self.clone() }));
        out
    }

    /// What its type parameter is bound to in a run of a function.
    fn types(&self, program: &Program, fun: &Fun) -> Vec<Binding> {
        let at = self.at.filter(|_| !fun.type_params.is_empty());
        at.and_then(|at| implementation(program, at)).into_iter().collect()
    }

    /// Whether the text is understood, and the schedule engine makes all of its steps.
    pub fn applies(&self) -> bool {
        self.made().is_some()
    }

    /// The last schedule's function as the schedule engine makes it, and the items around it.
    pub fn made(&self) -> Option<(Module, Fun)> {
        let mut module = understood(&self.text())?;
        let mut splits = Default::default();
        let mut last = None;
        let mut steps = 0..;
        for script in module.scripts.clone() {
            let mut fun = derive(&module.program, script.of, &script.name, &script.types);
            add_scratch(&mut fun, &script.scratch);
            for (call, n) in script.steps.iter().zip(&mut steps) {
                fun = self.proposed(n, &module, &fun, call, &mut splits)?.0.after;
            }
            module.program.funs[script.fun.index()] = fun.clone();
            last = Some(fun);
        }
        Some((module, last?))
    }

    /// What a step proposes, and what is changed in it; `None` where it does not apply.
    fn proposed(
        &self,
        n: usize,
        module: &Module,
        fun: &Fun,
        call: &StepCall,
        splits: &mut Splits,
    ) -> Option<(Rewrite, Option<String>)> {
        let made = cachet_schedule::apply(&module.program, fun, call, &module.steps, splits).ok()?;
        let Some((_, which)) = self.broken.filter(|(at, _)| *at == n) else { return Some((made, None)) };
        let mut grown = made.after.clone();
        let site = made.to.stmts(&made.after)?.to_vec();
        let mut changes = programs::of(&mut grown, &site);
        let count = changes.len();
        let (what, block) = (count > 0).then(|| changes.swap_remove(which % count))?;
        let mut after = Fun { vars: grown.vars, locals: grown.locals, ..made.after.clone() };
        let to = made.to.replace(&mut after, block)?;
        Some((Rewrite { after, to, ..made }, Some(what)))
    }

    /// The program after its steps, and what the checker says of each of them until it refuses one; the rest is made by
    /// the schedule engine alone. `None` where a step does not apply, or the text is not understood.
    pub fn stepwise(&self) -> Option<Stepwise> {
        let mut module = understood(&self.text())?;
        let nest = module.contractions.first().map(|(_, id)| *id)?;
        let mut checker = Checker::new(module.program.clone());
        let mut refused = checker.accept_function(nest).err().map(|f| f[0].diagnostic.code.0.to_string());
        let regroups = |s: &Script| s.steps.iter().any(|c| matches!(c.form, StepForm::Reduce { .. }));
        if module.scripts.iter().any(regroups) {
            let laws = module.own_impls.iter().find_map(|i| checker.accept_laws(*i).err());
            refused = refused.or(laws.map(|d| d[0].code.0.to_string()));
        }
        let mut splits = Default::default();
        let (mut last, mut broken) = (None, None);
        let mut steps = 0..;
        for script in module.scripts.clone() {
            if refused.is_none() && !checker.start(script.fun, script.of, &script.types) {
                refused = Some("start".into());
            }
            let mut fun = derive(&module.program, script.of, &script.name, &script.types);
            add_scratch(&mut fun, &script.scratch);
            if refused.is_none()
                && let Err(f) = checker.with_scratch(script.fun, &script.scratch)
            {
                refused = Some(f.diagnostic.code.0.to_string());
            }
            for (call, n) in script.steps.iter().zip(&mut steps) {
                let (mut made, change) = self.proposed(n, &module, &fun, call, &mut splits)?;
                broken = broken.or(change.map(|what| format!("after `{call}`: {what}")));
                if refused.is_none() {
                    let (name, callers) = (call.name.clone(), call.callers.clone());
                    let asked = Asked { name, step: call.word().into(), span: call.span, callers };
                    match checker.accept_step(script.fun, &made, &asked) {
                        Ok(report) => made.after.requires = report.requires,
                        Err(f) => refused = Some(f.diagnostic.code.0.to_string()),
                    }
                }
                fun = made.after;
            }
            module.program.funs[script.fun.index()] = fun;
            last = Some(script.fun);
        }
        Some(Stepwise { module, nest, fun: last?, refused, broken })
    }
}

/// A case whose steps all apply.
pub struct Stepwise {
    /// The typed items, schedules' functions as their steps leave them.
    pub module: Module,
    /// The contraction's nest.
    pub nest: FunId,
    /// The schedule.
    pub fun: FunId,
    /// The code of the first refusal, if the checker refuses it.
    pub refused: Option<String>,
    /// What was changed in what a step makes.
    pub broken: Option<String>,
}

impl Stepwise {
    /// Whether the schedule's program is none, or leaves other bits than the nest.
    pub fn differs(&self, case: &Case, effort: Effort<'_>) -> Option<String> {
        let program = &self.module.program;
        if let Err(e) = validate_fun(program, &program.funs[self.fun.index()]) {
            return Some(format!("not a program: {e:?}"));
        }
        case.compare(program, self.nest, self.fun, &[], effort).difference
    }
}

/// A text's typed items, where it has no mistake.
fn understood(text: &str) -> Option<Module> {
    let mut sources = cachet_source::Sources::new();
    let (module, diagnostics) = cachet_frontend::load(memory::ROOT, &memory::Memory::text(text), &mut sources);
    if diagnostics.iter().any(|d| d.refuses()) { None } else { module }
}

fn implementation(program: &Program, name: &str) -> Option<Binding> {
    let at = program.impls.iter().position(|i| i.name == name)?;
    Some(Binding::Impl(ImplId(at as u32)))
}

/// What was seen of two functions that ran side by side.
pub struct Seen {
    /// The first difference.
    pub difference: Option<String>,
    /// Choices of sizes at which both ran.
    pub runs: u64,
    /// Runs on several threads.
    pub on_threads: u64,
    /// Choices of sizes that the schedule is not for.
    pub not_for: u64,
    /// Why there was no machine code for it.
    pub no_code: Option<String>,
}

impl Case {
    /// Runs a nest and what stands in its place, in a program.
    pub fn compare(&self, program: &Program, nest: FunId, fun: FunId, kernels: &[Kernel], effort: Effort<'_>) -> Seen {
        let mut seen = Seen { difference: None, runs: 0, on_threads: 0, not_for: 0, no_code: None };
        if let Err(what) = self.compare_into(program, nest, fun, kernels, effort, &mut seen) {
            seen.difference = Some(what);
        }
        seen
    }

    fn compare_into(
        &self,
        program: &Program,
        nest: FunId,
        fun: FunId,
        kernels: &[Kernel],
        effort: Effort<'_>,
        seen: &mut Seen,
    ) -> Result<(), String> {
        let ready = |id: FunId| runs::ready(program, id, &self.types(program, &program.funs[id.index()]));
        let (before, after) = (ready(nest)?, ready(fun)?);
        let mut random = Random(self.seed);
        for sizes in self.sizes(&before, effort.choices, &mut random) {
            let start = runs::start(&before.fun, &sizes, random.pick(&KINDS), random.next());
            let own = runs::with_scratch(&after.fun, &sizes, &start);
            let want = match before.interpreted(&sizes, &start, None) {
                Ok(words) => words,
                Err(Stopped::NotFor) => continue,
                Err(Stopped::Trapped(what)) => return Err(format!("the contraction at {sizes:?}: {what}")),
            };
            let here = |got: Result<runs::Words, Stopped>, how: &str| match got {
                Ok(got) => match before.difference(&want, &got) {
                    Some(what) => Err(format!("{what} at {sizes:?}, {how}")),
                    None => Ok(true),
                },
                Err(Stopped::NotFor) => Ok(false),
                Err(Stopped::Trapped(what)) => Err(format!("{what} at {sizes:?}, {how}")),
            };
            let mut runs_here = true;
            for n in 0..effort.shuffles {
                let shuffle = (n > 0).then(|| random.next());
                runs_here &= here(after.interpreted(&sizes, &own, shuffle), "interpreted")?;
            }
            if !runs_here {
                seen.not_for += 1;
                continue;
            }
            for ((of, start), kernel) in [(&before, &start), (&after, &own)].into_iter().zip(kernels) {
                here(of.native(kernel, &sizes, start).map_err(Stopped::Trapped), "compiled")?;
            }
            if let (Some(pools), Some(kernel)) = (effort.pools, kernels.get(1)) {
                let outputs = runs::outputs(&after.fun);
                for run in 0..pools.runs().div_ceil(effort.choices) {
                    for way in pools.for_run(seen.runs as usize + run) {
                        let left = way.call(&after.fun, kernel, &sizes, &own).map_err(Stopped::Trapped);
                        let left = left.map(|all| outputs.iter().map(|n| all[*n].clone()).collect());
                        here(left, &way.to_string())?;
                        seen.on_threads += 1;
                    }
                }
            }
            seen.runs += 1;
        }
        Ok(())
    }

    /// Choices of sizes around the ends of its blocks.
    fn sizes(&self, before: &Ready, most: usize, random: &mut Random) -> Vec<Vec<i64>> {
        let mut from = vec![0, 1, 2];
        from.extend(blocks(&self.schedule.steps).into_iter().flat_map(|b| [b - 1, b, b + 1, 2 * b + 1]));
        from.retain(|n| *n >= 0);
        from.sort_unstable();
        from.dedup();
        let dims = before.fun.sizes.len();
        let mut all = runs::choices(&from, dims, 4 * most, random);
        all.retain(|s| s.iter().map(|n| (*n).max(1)).product::<i64>() <= MOST_CELLS);
        while all.len() > most {
            all.swap_remove(random.below(all.len()));
        }
        // The first difference is the one at the smallest sizes.
        all.sort_by_key(|s| s.iter().sum::<i64>());
        all
    }

    /// Checks it and, if it is accepted, runs it beside its contraction.
    pub fn judged(&self, effort: Effort<'_>) -> (Verdict, Option<Seen>) {
        let outcome = memory::checked(&self.text());
        let verdict = self.verdict(&outcome);
        let Verdict::Accepted(nest, fun) = verdict else { return (verdict, None) };
        let program = outcome.checked.program();
        let native = effort.llvm.map(|llvm| {
            let types = |id: FunId| (id, self.types(program, &program.funs[id.index()]));
            compile(&outcome, &[types(nest), types(fun)], llvm)
        });
        // The kernels are there as long as what they belong to.
        let kernels = native.as_ref().map(|n| n.as_ref().map_err(Clone::clone).and_then(Native::kernels));
        let (kernels, no_code) = match kernels {
            None => (vec![], None),
            Some(Ok(kernels)) => (kernels, None),
            Some(Err(problem)) => (vec![], Some(told(problem))),
        };
        let mut seen = self.compare(program, nest, fun, &kernels, effort);
        seen.no_code = no_code;
        (verdict, Some(seen))
    }

    fn verdict(&self, outcome: &Outcome) -> Verdict {
        let accepts = |id: FunId| outcome.checked.accepts(id);
        let nest = outcome.module.contractions.first().map(|(_, id)| *id);
        let Some(nest) = nest.filter(|id| accepts(*id)) else { return Verdict::NoContraction(refusal(outcome)) };
        match outcome.find(SCHEDULE).filter(|id| accepts(*id)) {
            Some(fun) => Verdict::Accepted(nest, fun),
            None => Verdict::Refused(refusal(outcome)),
        }
    }
}

/// What the whole pipeline says of a case.
pub enum Verdict {
    /// The contraction itself is refused.
    NoContraction([String; 2]),
    /// The schedule is refused, with a code and a message.
    Refused([String; 2]),
    /// Both are accepted.
    Accepted(FunId, FunId),
}

fn refusal(outcome: &Outcome) -> [String; 2] {
    let d = outcome.diagnostics.iter().find(|d| d.refuses());
    d.map_or_else(|| ["?".into(), String::new()], |d| [d.code.0.to_string(), d.message.clone()])
}

fn told(problem: Problem) -> String {
    match problem {
        Problem::Refused(d) => d.message,
        Problem::Tool(e) => e.to_string(),
        Problem::User(text) => text,
    }
}

/// Counts what a schedule has in it.
pub fn count(case: &Case, report: &mut Report) {
    for s in &case.schedule.steps {
        report.count(&format!("step {}", s.word()));
        if let StepForm::Split(all) = &s.form {
            let mut note = |is: bool, what: &str| {
                if is {
                    report.count(what)
                }
            };
            note(all.iter().any(|i| i.levels.len() > 1), "split in levels");
            note(all.iter().any(|i| !i.ragged), "split exact");
            note(all.len() > 1, "split of several");
        }
    }
    match case.schedule.shape {
        Shape::Plain => {}
        Shape::Continued(..) => report.count("schedule of a schedule"),
        Shape::Function(..) => report.count("schedule function"),
    }
    if case.schedule.bound.is_some() {
        report.count("bound at an implementation");
    }
    report.count(case.contraction.algebra.name);
}

/// Whether a schedule makes a grid.
pub fn has_grid(steps: &[StepCall]) -> bool {
    steps.iter().any(|s| matches!(s.word(), "parallel" | "at_once" | "grid over"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::minimise::minimise;

    const EFFORT: Effort<'static> = Effort { choices: 8, shuffles: 1, llvm: None, pools: None };

    /// As if a checker accepted everything: what differs is seen, and little is left of it.
    #[test]
    fn a_wrong_schedule_becomes_small() {
        let wrong = |case: &Case| case.stepwise().is_some_and(|s| s.differs(case, EFFORT).is_some());
        let mut found = 0;
        for n in 0..60 {
            let mut random = Random::case(3, n);
            let Some(mut case) = Case::drawn(&mut random, 5) else { continue };
            assert!(!wrong(&case), "{}", case.told());
            case.broken = Some((random.below(case.schedule.steps.len()), random.below(1 << 16)));
            if case.schedule.steps.len() < 4 || !wrong(&case) {
                continue;
            }
            let whole = case.told().len();
            let least = minimise(case, Case::smaller, wrong);
            assert!(wrong(&least) && least.told().len() < whole, "{}", least.told());
            assert!(!least.smaller().iter().any(wrong), "{}", least.told());
            assert!(least.told().contains("// after `"), "{}", least.told());
            found += 1;
            if found == 2 {
                return;
            }
        }
        panic!("only {found} wrong ones in 60");
    }
}
