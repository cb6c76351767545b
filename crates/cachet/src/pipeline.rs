//! How a program flows, on one screen: [`check`].
//!
//! | phase | from, to | room | says no by |
//! | --- | --- | --- | --- |
//! | load | files to typed items and plain nests | frontend | diagnostics |
//! | laws | an implementation to the laws it has | check | a law that is false or was not proved |
//! | proof | what a file asserts to a verdict | check | a failed condition |
//! | function | a function to its conditions to a verdict | check | a failed condition |
//! | step | a program and a step to another program, a site and a recipe | schedule | no match |
//! | relate | two programs and a recipe to conditions to a verdict | check | a failed condition |
//! | replay | a failed condition's sizes to what happens there | oracle | – |

use crate::replay;
use crate::world::World;
use cachet_account::resources::{self, Platform};
use cachet_check::checked::{Checked, Checker, Claim};
use cachet_check::condition::Proved;
use cachet_check::proofs::Proofs;
use cachet_check::relation::{self, Asked, TracedMove};
use cachet_core::ir::{Fun, FunId, ImplId, Program};
use cachet_core::number::Proof;
use cachet_core::resources::Traffic;
use cachet_core::rewrite::callees;
use cachet_core::script::{Module, Rewrite, Script};
use cachet_schedule::Splits;
use cachet_source::{Diagnostic, Sources, Span};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Everything that is known of a root file after checking it.
pub struct Outcome {
    /// The files.
    pub sources: Sources,
    /// Problems, in the order of the phases and, within one, of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The typed items.
    pub module: Module,
    /// The program, with what was accepted.
    pub checked: Checked,
    /// Each accepted schedule's claim.
    pub claims: BTreeMap<FunId, Claim>,
    /// Each schedule's steps, as far as they were accepted.
    pub traces: BTreeMap<FunId, Trace>,
    /// How many conditions were proved.
    pub conditions: usize,
    /// What was found of each condition.
    pub proofs: Proofs,
    /// The root file's platform, where levels or schedules are spoken of.
    pub platform: Option<Platform>,
}

impl Outcome {
    /// Whether anything was refused.
    pub fn refused(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::refuses)
    }

    /// What the root file computes: its functions, or, where it has no contraction and no schedule of its own, the
    /// contractions and schedules that it imports. A file that only names a platform is about those.
    pub fn items(&self) -> Vec<FunId> {
        let kernels =
            || self.module.contractions.iter().map(|(_, id)| *id).chain(self.module.scripts.iter().map(|s| s.fun));
        let mut items = self.module.items.clone();
        if !kernels().any(|id| items.contains(&id)) {
            items.splice(0..0, kernels());
        }
        items
    }

    /// One of [`Outcome::items`], by name.
    pub fn find(&self, name: &str) -> Option<FunId> {
        self.items().into_iter().find(|id| self.checked.program().funs[id.index()].name == name)
    }
}

/// A schedule's programs, one after each step.
pub struct Trace {
    /// What it starts from.
    pub start: Fun,
    /// The steps.
    pub steps: Vec<TracedStep>,
}

impl Trace {
    /// The program before a step.
    pub fn before(&self, step: usize) -> &Fun {
        step.checked_sub(1).and_then(|n| self.steps.get(n)).map_or(&self.start, TracedStep::after)
    }

    /// What a step's recipe does, line by line.
    pub fn moves(&self, program: &Program, step: usize) -> Vec<TracedMove> {
        let before = self.before(step);
        let Some(s) = self.steps.get(step) else { return Vec::new() };
        // A step may make an earlier requirement superfluous; the two programs are compared under both.
        let mut rewrite = s.rewrite.clone();
        let added = rewrite.after.requires.iter().filter(|g| !before.requires.contains(g)).cloned().collect::<Vec<_>>();
        rewrite.after.requires = before.requires.iter().cloned().chain(added).collect();
        relation::trace(program, before, &rewrite, &s.asked)
    }
}

/// A step that was accepted.
pub struct TracedStep {
    /// `swapped'1`: the program after it.
    pub name: String,
    /// The step as it is written.
    pub text: String,
    /// What the step proposed: the program after it, where it changed, and the recipe.
    pub rewrite: Rewrite,
    /// What the relation is called, and where the step is asked for.
    pub asked: Asked,
    /// What was proved: of the program, and of the relation to the one before.
    pub conditions: Vec<Proved>,
    /// How many of them are the program's own.
    pub of_program: usize,
}

impl TracedStep {
    /// The program after it.
    pub fn after(&self) -> &Fun {
        &self.rewrite.after
    }
}

/// Checks a root file and everything it imports.
pub fn check(root: &str, world: &dyn World) -> Outcome {
    let mut sources = Sources::new();
    let (module, mut diagnostics) = cachet_frontend::load(root, world.files(), &mut sources);
    let module = module.unwrap_or_default();
    let proofs = Proofs::from_bytes(world.kept_proofs(root));
    let mut work = Work::new(Checker::with_proofs(module.program.clone(), proofs), &module);
    // The library's laws are a test's business; whoever needs one of them has it decided then.
    for imp in &module.own_impls {
        work.laws(*imp);
    }
    for proof in &module.proofs {
        work.proof(proof);
    }
    // A platform takes time to read, and most files speak of none of its levels.
    let asked = module.program.funs.iter().any(resources::speaks_of_levels) || !module.scripts.is_empty();
    work.platform = if asked { cachet_frontend::platform(root, world.files()) } else { None };
    work.schedules_at_once();
    for id in work.order() {
        work.visit(id);
    }
    let order = work.order();
    let Work { checker, of_file, mut reports, traces, conditions, platform, .. } = work;
    diagnostics.extend(of_file);
    diagnostics.extend(order.iter().filter_map(|id| reports.remove(id)).flatten());
    let claims = module.scripts.iter().filter_map(|s| checker.claim(s.fun).map(|c| (s.fun, c.clone()))).collect();
    let (checked, proofs) = checker.finish();
    if let Some(bytes) = proofs.to_bytes() {
        world.keep_proofs(root, &bytes);
    }
    Outcome { sources, diagnostics, checked, module, claims, traces, conditions, proofs, platform }
}

/// From how many steps on several threads are worth their start.
const MANY: usize = 6;
/// At most so many threads; more would wait for each other's memory.
const MOST_THREADS: usize = 8;
/// A thread's stack: programs nest up to the published limit, and the walkers recurse with them.
const STACK: usize = 256 << 20;

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Visited,
}

struct Work<'a> {
    checker: Checker,
    module: &'a Module,
    /// Problems of laws and proofs.
    of_file: Vec<Diagnostic>,
    /// Problems of each function.
    reports: BTreeMap<FunId, Vec<Diagnostic>>,
    traces: BTreeMap<FunId, Trace>,
    conditions: usize,
    /// What each schedule has split, for those that continue it.
    splits: BTreeMap<FunId, Splits>,
    state: Vec<State>,
    /// The root file's platform, if anything asks for it.
    platform: Option<Platform>,
}

impl<'a> Work<'a> {
    fn new(checker: Checker, module: &'a Module) -> Work<'a> {
        Work {
            checker,
            module,
            of_file: Vec::new(),
            reports: BTreeMap::new(),
            traces: BTreeMap::new(),
            conditions: 0,
            splits: BTreeMap::new(),
            state: vec![State::New; module.program.funs.len()],
            platform: None,
        }
    }

    /// Runs schedules that do not continue one another on several threads. What is found does not depend on it.
    fn schedules_at_once(&mut self) {
        let chains = chains(self.module);
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(MOST_THREADS).min(chains.len());
        if threads < 2 || self.module.scripts.iter().map(|s| s.steps.len()).sum::<usize>() < MANY {
            return;
        }
        for (of, _) in &chains {
            self.visit(*of);
        }
        let next = AtomicUsize::new(0);
        let run = |mut part: Work<'a>| {
            let mut seen = Vec::new();
            while let Some((_, funs)) = chains.get(next.fetch_add(1, Ordering::Relaxed)) {
                funs.iter().for_each(|id| part.visit(*id));
                seen.extend(funs);
            }
            (part, seen)
        };
        let parts: Vec<_> = std::thread::scope(|scope| {
            let spawn = |_| {
                let (state, platform) = (self.state.clone(), self.platform.clone());
                let part = Work { state, platform, ..Work::new(self.checker.fork(), self.module) };
                std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || run(part)).ok()
            };
            let started: Vec<_> = (0..threads).filter_map(spawn).collect();
            // A thread that could not be started leaves its share to the others; what none has done is done later.
            started.into_iter().filter_map(|t| t.join().ok()).collect()
        });
        for (part, seen) in parts {
            let Work { checker, reports, traces, conditions, splits, .. } = part;
            self.checker.join(checker, &seen);
            self.reports.extend(reports);
            self.traces.extend(traces);
            self.conditions += conditions;
            self.splits.extend(splits);
            seen.iter().for_each(|id| self.state[id.index()] = State::Visited);
        }
    }

    /// Imported functions, then the root file's in source order.
    fn order(&self) -> Vec<FunId> {
        let all = (0..self.module.program.funs.len() as u32).map(FunId);
        let (root, rest): (Vec<FunId>, Vec<FunId>) = all.partition(|id| self.module.items.contains(id));
        let mut out = rest;
        out.extend(self.module.items.iter().filter(|id| root.contains(id)));
        out
    }

    /// Checks a function after everything it needs. Recursion was refused before.
    fn visit(&mut self, id: FunId) {
        if self.state[id.index()] == State::Visited {
            return;
        }
        self.state[id.index()] = State::Visited;
        match self.module.scripts.iter().find(|s| s.fun == id) {
            Some(script) => {
                self.visit(script.of);
                self.schedule(script);
            }
            None => {
                for callee in callees(&self.module.program.funs[id.index()]) {
                    self.visit(callee);
                }
                self.function(id);
            }
        }
    }

    fn laws(&mut self, imp: ImplId) {
        if let Err(reports) = self.checker.accept_laws(imp) {
            self.of_file.extend(reports);
        }
    }

    fn proof(&mut self, proof: &Proof) {
        match self.checker.accept_proof(proof) {
            Ok(shown) => self.conditions += shown,
            Err(reports) => self.of_file.extend(reports),
        }
    }

    fn function(&mut self, id: FunId) {
        let fun = &self.module.program.funs[id.index()];
        let blocked = callees(fun).into_iter().any(|c| !self.checker.accepts(c));
        match self.checker.accept_function(id) {
            Ok(conditions) => {
                self.conditions += conditions.len();
                let dead = self.checker.dead_code(id);
                self.reports.entry(id).or_default().extend(dead);
                self.within_budget(id);
            }
            // What it calls has been reported already; that it cannot be checked then is no news.
            Err(_) if blocked => {}
            Err(failures) => {
                for f in failures {
                    let d = replay::of_function(self.checker.program(), fun, f);
                    self.reports.entry(id).or_default().push(d);
                }
            }
        }
    }

    /// What the function that schedules start from says itself of what moves.
    fn declared(&self, script: &Script) -> Option<Vec<Traffic>> {
        let mut of = script.of;
        while let Some(before) = self.module.scripts.iter().find(|s| s.fun == of) {
            of = before.of;
        }
        self.module.program.funs[of.index()].resources.movement.clone()
    }

    /// Declares what the leases of a schedule's program keep and move.
    fn declare(&self, fun: &mut Fun, own: Option<&Vec<Traffic>>) {
        let Some(platform) = &self.platform else { return };
        let mut made = resources::made(self.checker.program(), fun, platform);
        if let Some(own) = own {
            made.movement = Some(own.clone());
        }
        fun.resources = made;
    }

    /// Refuses a function that moves more than it declares.
    fn within_budget(&mut self, id: FunId) {
        let Some(platform) = &self.platform else { return };
        let program = self.checker.program();
        let over = resources::within(program, &program.funs[id.index()], platform);
        if !over.is_empty() {
            self.checker.refuse(id);
            self.reports.entry(id).or_default().extend(over);
        }
    }

    fn schedule(&mut self, script: &Script) {
        if !self.checker.start(script.fun, script.of, &script.types) {
            // That what it is made from was refused has been reported already.
            if self.checker.accepts(script.of) {
                let laws = self.checker.has_laws(script.of, &script.types, script.span);
                if let Err(f) = self.checker.bindable(script.fun, &script.types).and(laws) {
                    self.refuse(script, f.diagnostic);
                }
            }
            return;
        }
        if let Err(f) = self.checker.with_scratch(script.fun, &script.scratch) {
            self.refuse(script, f.diagnostic);
            return;
        }
        let start = self.checker.program().funs[script.fun.index()].clone();
        let declared = self.declared(script);
        let mut steps = Vec::new();
        let mut splits = self.splits.get(&script.of).cloned().unwrap_or_default();
        for (n, call) in script.steps.iter().enumerate() {
            let before = steps.last().map_or(&start, TracedStep::after);
            let made = cachet_schedule::apply(self.checker.program(), before, call, &self.module.steps, &mut splits);
            let from = if n == 0 { script.name.clone() } else { format!("{}'{n}", script.name) };
            let asked = Asked {
                name: format!("{from}_{}", call.name),
                step: call.word().to_string(),
                span: call.span,
                callers: call.callers.clone(),
            };
            let made = made.map(|mut rewrite| {
                self.declare(&mut rewrite.after, declared.as_ref());
                rewrite
            });
            let refusal = match made {
                Err(d) => Some(d),
                Ok(mut rewrite) => match self.checker.accept_step(script.fun, &rewrite, &asked) {
                    Ok(report) => {
                        self.conditions += report.conditions.len();
                        rewrite.after.requires = report.requires;
                        steps.push(TracedStep {
                            name: format!("{}'{}", script.name, n + 1),
                            text: call.to_string(),
                            rewrite,
                            asked,
                            conditions: report.conditions,
                            of_program: report.of_program,
                        });
                        None
                    }
                    Err(failure) => Some(replay::of_step(self.checker.program(), before, &rewrite.after, *failure)),
                },
            };
            if let Some(d) = refusal {
                self.refuse(script, from_callers(d, &call.callers));
                break;
            }
        }
        let whole = steps.len() == script.steps.len();
        self.splits.insert(script.fun, splits);
        self.traces.insert(script.fun, Trace { start, steps });
        if whole {
            self.within_budget(script.fun);
        }
    }

    fn refuse(&mut self, script: &Script, d: Diagnostic) {
        self.checker.refuse(script.fun);
        self.reports.entry(script.fun).or_default().push(d);
    }
}

/// Schedules by the function that the first of them starts from, each after the one it continues.
fn chains(module: &Module) -> Vec<(FunId, Vec<FunId>)> {
    let mut out: Vec<(FunId, Vec<FunId>)> = Vec::new();
    let mut place: BTreeMap<FunId, usize> = BTreeMap::new();
    for s in &module.scripts {
        // A schedule that continues another comes after it in the list of scripts.
        let at = place.get(&s.of).copied().unwrap_or_else(|| {
            out.push((s.of, Vec::new()));
            out.len() - 1
        });
        out[at].1.push(s.fun);
        place.insert(s.fun, at);
    }
    out
}

/// A refusal of a step that schedule functions ask for also shows the calls that lead there, from the inside out; some
/// reports have them already.
fn from_callers(mut d: Diagnostic, callers: &[Span]) -> Diagnostic {
    for caller in callers.iter().rev() {
        if !d.labels.iter().any(|l| l.span == *caller) {
            d = d.also(*caller, "called from here");
        }
    }
    d.callers = callers.to_vec();
    d
}
