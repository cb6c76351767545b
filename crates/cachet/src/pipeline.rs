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
use cachet_check::checked::{Checked, Checker, Claim};
use cachet_check::condition::Condition;
use cachet_check::relation::Asked;
use cachet_core::ir::{Fun, FunId, ImplId};
use cachet_core::number::Proof;
use cachet_core::rewrite::{Site, callees};
use cachet_core::script::{Module, Script};
use cachet_source::{Diagnostic, Sources};
use std::collections::BTreeMap;

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
}

impl Outcome {
    /// Whether anything was refused.
    pub fn refused(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::refuses)
    }

    /// A function of the root file, by name.
    pub fn find(&self, name: &str) -> Option<FunId> {
        self.module.items.iter().copied().find(|id| self.checked.program().funs[id.index()].name == name)
    }
}

/// A schedule's programs, one after each step.
pub struct Trace {
    /// What it starts from.
    pub start: Fun,
    /// The steps.
    pub steps: Vec<TracedStep>,
}

/// A step that was accepted.
pub struct TracedStep {
    /// `swapped'1`: the program after it.
    pub name: String,
    /// The step as it is written.
    pub text: String,
    /// The program after it.
    pub after: Fun,
    /// What changed.
    pub site: Site,
    /// What was proved: of the program, and of the relation to the one before.
    pub conditions: Vec<Condition>,
    /// How many of them are the program's own.
    pub of_program: usize,
}

/// Checks a root file and everything it imports.
pub fn check(root: &str, world: &dyn World) -> Outcome {
    let mut sources = Sources::new();
    let (module, mut diagnostics) = cachet_frontend::load(root, world.files(), &mut sources);
    let module = module.unwrap_or_default();
    let mut work = Work {
        checker: Checker::new(module.program.clone()),
        module: &module,
        diagnostics: Vec::new(),
        traces: BTreeMap::new(),
        conditions: 0,
        state: vec![State::New; module.program.funs.len()],
    };
    for imp in (0..module.program.impls.len() as u32).map(ImplId) {
        work.laws(imp);
    }
    for proof in &module.proofs {
        work.proof(proof);
    }
    for id in work.order() {
        work.visit(id);
    }
    let Work { checker, diagnostics: found, traces, conditions, .. } = work;
    diagnostics.extend(found);
    let claims = module.scripts.iter().filter_map(|s| checker.claim(s.fun).map(|c| (s.fun, c.clone()))).collect();
    Outcome { sources, diagnostics, checked: checker.finish(), module, claims, traces, conditions }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Visited,
}

struct Work<'a> {
    checker: Checker,
    module: &'a Module,
    diagnostics: Vec<Diagnostic>,
    traces: BTreeMap<FunId, Trace>,
    conditions: usize,
    state: Vec<State>,
}

impl Work<'_> {
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
            self.diagnostics.extend(reports);
        }
    }

    fn proof(&mut self, proof: &Proof) {
        match cachet_check::assertions::check(proof) {
            Ok(shown) => self.conditions += shown,
            Err(reports) => self.diagnostics.extend(reports),
        }
    }

    fn function(&mut self, id: FunId) {
        let fun = &self.module.program.funs[id.index()];
        let blocked = callees(fun).into_iter().any(|c| !self.checker.accepts(c));
        match self.checker.accept_function(id) {
            Ok(conditions) => {
                self.conditions += conditions.len();
                self.diagnostics.extend(cachet_check::wf::dead(self.checker.program(), fun));
            }
            // What it calls has been reported already; that it cannot be checked then is no news.
            Err(_) if blocked => {}
            Err(failures) => {
                for f in failures {
                    self.diagnostics.push(replay::of_function(self.checker.program(), fun, f));
                }
            }
        }
    }

    fn schedule(&mut self, script: &Script) {
        if !self.checker.start(script.fun, script.of, &script.types) {
            return;
        }
        let start = self.checker.program().funs[script.fun.index()].clone();
        let mut steps = Vec::new();
        for (n, call) in script.steps.iter().enumerate() {
            let before = self.checker.program().funs[script.fun.index()].clone();
            let made = cachet_schedule::apply(self.checker.program(), &before, call, &self.module.steps);
            let from = if n == 0 { script.name.clone() } else { format!("{}'{n}", script.name) };
            let asked = Asked {
                name: format!("{from}_{}", call.name),
                step: call.name.clone(),
                span: call.span,
                callers: call.callers.clone(),
            };
            let refusal = match made {
                Err(d) => Some(d),
                Ok(rewrite) => match self.checker.accept_step(script.fun, &rewrite, &asked) {
                    Ok(report) => {
                        self.conditions += report.conditions.len();
                        steps.push(TracedStep {
                            name: format!("{}'{}", script.name, n + 1),
                            text: step_text(call),
                            after: rewrite.after,
                            site: rewrite.to,
                            conditions: report.conditions,
                            of_program: report.of_program,
                        });
                        None
                    }
                    Err(failure) => Some(replay::of_step(self.checker.program(), &before, &rewrite.after, *failure)),
                },
            };
            if let Some(d) = refusal {
                self.refuse(script, d);
                break;
            }
        }
        self.traces.insert(script.fun, Trace { start, steps });
    }

    fn refuse(&mut self, script: &Script, d: Diagnostic) {
        self.checker.refuse(script.fun);
        self.diagnostics.push(d);
    }
}

/// A step as it is written, from its parts.
fn step_text(call: &cachet_core::script::StepCall) -> String {
    use cachet_core::script::StepArg;
    fn arg(a: &StepArg) -> String {
        match a {
            StepArg::Name { name, nth: Some(n), .. } => format!("{name}#{n}"),
            StepArg::Name { name, nth: None, .. } => name.clone(),
            StepArg::Number(n, _) => n.to_string(),
            StepArg::Tuple(parts, _) => format!("({})", parts.iter().map(arg).collect::<Vec<_>>().join(", ")),
        }
    }
    std::iter::once(call.name.clone()).chain(call.args.iter().map(arg)).collect::<Vec<_>>().join(" ")
}
