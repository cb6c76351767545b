//! What is checked of a file, piece by piece: each function and each step with its conditions, as the checker generates
//! them, whether or not they are proved.
//!
//! This goes the pipeline's way through a file's items with the parts of the checker that are public, so that
//! populations can ask each condition and each place for more than a verdict.

use cachet::world::{Disk, World};
use cachet_check::checked::Checker;
use cachet_check::condition::{Condition, Failure};
use cachet_check::proofs::Proofs;
use cachet_check::relation::{self, Asked};
use cachet_check::wf;
use cachet_core::ir::{Fun, FunId, Program};
use cachet_core::rewrite::callees;
use cachet_core::script::{Module, Rewrite, Script};
use cachet_source::{Diagnostic, Sources};
use std::path::{Path, PathBuf};

/// What was checked of a file.
#[derive(Default)]
pub struct Walk {
    /// Functions, and functions after a step, in the order of checking.
    pub pieces: Vec<Piece>,
    /// What was refused, of those.
    pub refusals: Vec<Refused>,
}

/// A function, or what a step makes of one.
pub struct Piece {
    /// The function's name; for a step, the step after it.
    pub what: String,
    /// The function.
    pub fun: Fun,
    /// Whether a step made it.
    pub by_step: bool,
    /// What is to be proved of it, and of its relation to the one before.
    pub conditions: Vec<Condition>,
    /// What is reported of it as never reached, where the pipeline asks: of accepted functions, not of steps.
    pub dead: Option<Vec<Diagnostic>>,
}

/// A refusal, with what is needed to run what was refused.
pub struct Refused {
    /// The function's name; for a step, the step after it.
    pub what: String,
    /// All functions.
    pub program: Program,
    /// Which one.
    pub id: FunId,
    /// Before the step, if it is one.
    pub before: Option<Fun>,
    /// The function that was refused.
    pub after: Fun,
    /// Why.
    pub failure: Failure,
}

/// The project's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The `.cachet` files below a folder of the project, in order.
pub fn files(folder: &str) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "cachet") {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

/// What a file is called in reports.
pub fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// A file's typed items, if it has any.
pub fn module(path: &Path) -> Option<Module> {
    let mut sources = Sources::new();
    cachet_frontend::load(&path.display().to_string(), Disk::default().files(), &mut sources).0
}

/// Checks all items of a module.
pub fn walk(module: &Module) -> Walk {
    let count = module.program.funs.len();
    let mut walker = Walker {
        module,
        checker: Checker::new(module.program.clone()),
        splits: vec![Default::default(); count],
        seen: vec![false; count],
        walk: Walk::default(),
    };
    (0..count as u32).for_each(|id| walker.visit(FunId(id)));
    walker.walk
}

struct Walker<'a> {
    module: &'a Module,
    checker: Checker,
    splits: Vec<cachet_schedule::Splits>,
    seen: Vec<bool>,
    walk: Walk,
}

impl Walker<'_> {
    fn visit(&mut self, id: FunId) {
        if std::mem::replace(&mut self.seen[id.index()], true) {
            return;
        }
        match self.module.scripts.iter().find(|s| s.fun == id) {
            Some(script) => {
                self.visit(script.of);
                self.script(script);
            }
            None => {
                callees(&self.module.program.funs[id.index()]).into_iter().for_each(|c| self.visit(c));
                self.function(id);
            }
        }
    }

    fn function(&mut self, id: FunId) {
        let program = self.checker.program().clone();
        let fun = program.funs[id.index()].clone();
        if callees(&fun).into_iter().any(|c| !self.checker.accepts(c)) {
            return;
        }
        let accepted = self.checker.accept_function(id);
        let mut conditions = wf::conditions(&program, &fun, &mut Proofs::default()).unwrap_or_default();
        conditions.extend(wf::overflow::conditions(&program, &fun));
        let dead = accepted.is_ok().then(|| self.checker.dead_code(id));
        let piece = Piece { what: fun.name.clone(), fun: fun.clone(), by_step: false, conditions, dead };
        self.walk.pieces.push(piece);
        for failure in accepted.err().unwrap_or_default() {
            let (what, program, after) = (fun.name.clone(), program.clone(), fun.clone());
            self.walk.refusals.push(Refused { what, program, id, before: None, after, failure });
        }
    }

    fn script(&mut self, script: &Script) {
        if !self.checker.start(script.fun, script.of, &script.types) {
            return;
        }
        let mut splits = self.splits[script.of.index()].clone();
        for call in &script.steps {
            let before = self.checker.program().funs[script.fun.index()].clone();
            let made = cachet_schedule::apply(self.checker.program(), &before, call, &self.module.steps, &mut splits);
            let Ok(rewrite) = made else {
                return self.checker.refuse(script.fun);
            };
            let asked = Asked {
                name: format!("{}_{}", script.name, call.name),
                step: call.word().to_string(),
                span: call.span,
                callers: call.callers.clone(),
            };
            if !self.step(script.fun, &before, &rewrite, &asked) {
                return self.checker.refuse(script.fun);
            }
        }
        self.splits[script.fun.index()] = splits;
    }

    /// Whether it was accepted.
    fn step(&mut self, id: FunId, before: &Fun, rewrite: &Rewrite, asked: &Asked) -> bool {
        let program = self.checker.program().clone();
        let what = format!("{} after {}", before.name, asked.step);
        let mut piece =
            Piece { what: what.clone(), fun: rewrite.after.clone(), by_step: true, conditions: Vec::new(), dead: None };
        // What the checker generates where it comes that far: what it refuses before is nothing to ask about.
        if cachet_core::validate::validate_fun(&program, &rewrite.after).is_ok() {
            piece.conditions = wf::conditions(&program, &rewrite.after, &mut Proofs::default()).unwrap_or_default();
            let needed = relation::conditions(&program, before, rewrite, asked);
            piece.conditions.extend(needed.map(|n| n.conditions).unwrap_or_default());
        }
        self.walk.pieces.push(piece);
        match self.checker.accept_step(id, rewrite, asked) {
            Ok(_) => true,
            Err(failure) => {
                let (before, after) = (Some(before.clone()), rewrite.after.clone());
                self.walk.refusals.push(Refused { what, program, id, before, after, failure: *failure });
                false
            }
        }
    }
}
