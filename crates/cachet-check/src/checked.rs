//! The only way to a [`Checked`] program: every function and every step goes through [`Checker`].

mod bound;
mod examined;

pub use examined::{Examined, Outcome};

use crate::assertions;
use crate::condition::{Failure, Kind, Proved, discharge, misfit};
use crate::context::Context;
use crate::laws::{self, KnownLaw};
use crate::proofs::Proofs;
use crate::relation::{self, Asked, UsedLaw, needs};
use crate::wf;
use cachet_core::instance::{add_scratch, derive, instance_name};
use cachet_core::ir::{
    Binding, BufferInfo, Device, Domain, Fun, FunId, Guard, ImplId, Ix, Program, Role, Shape, StmtKind, Word,
};
use cachet_core::number::Proof;
use cachet_core::print::Names;
use cachet_core::rewrite::{Visit, callees, visit_block, visit_stmt, visit_word};
use cachet_core::script::Rewrite;
use cachet_core::validate;
use cachet_source::{Diagnostic, codes};
use std::sync::{Arc, OnceLock};

/// A program with the functions that were accepted. Only a [`Checker`] makes one.
#[derive(Clone, Debug)]
pub struct Checked {
    program: Program,
    accepted: Vec<bool>,
    laws: Vec<OnceLock<Vec<KnownLaw>>>,
    assumed: Vec<Vec<bound::Assumed>>,
}

impl Checked {
    /// The program. Functions that were refused are in it too.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The laws that an implementation is found to have, or has on trust. They are decided when they are asked for.
    pub fn laws(&self, imp: ImplId) -> &[KnownLaw] {
        known(&self.program, &self.laws, imp)
    }

    /// Whether a function and everything it calls was accepted.
    pub fn accepts(&self, fun: FunId) -> bool {
        self.accepted.get(fun.index()).copied().unwrap_or(false)
    }
}

/// What was established of a scheduled function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claim {
    /// The scheduled function's name.
    pub name: String,
    /// The chain of relations, from the function itself to the one it was made from.
    pub links: Vec<Link>,
    /// The arithmetic in which both are read.
    pub arithmetic: String,
    /// What the schedule's steps added to the requirements, as it is written.
    pub requires: Vec<String>,
    /// The laws that its steps rest on, each once.
    pub laws: Vec<ClaimedLaw>,
    /// How many steps were checked.
    pub steps: usize,
    /// How many conditions were proved.
    pub conditions: usize,
}

/// A law that a claim rests on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimedLaw {
    /// The law, as it is written: `add associative exactly`.
    pub law: String,
    /// The implementation, or the type parameter.
    pub of: String,
    /// Why it may be used.
    pub basis: LawBasis,
    source: UsedLaw,
}

/// Why a law may be used in a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LawBasis {
    /// It was proved.
    Proved,
    /// This interface wants it of whatever the type parameter is bound to; that is proved where it is bound.
    Wanted(String),
}

/// One relation of a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// In what sense.
    pub relation: RelationKind,
    /// What it is related to.
    pub to: String,
}

/// In what sense two functions agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelationKind {
    /// The same bits (NaN payloads aside) for every input that meets the requirements.
    Bits,
}

/// What one step was found to need.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// What the program after the step requires: perhaps less than was proposed.
    pub requires: Vec<Guard>,
    /// The conditions that were proved, in order: those of the new program, then those of the relation.
    pub conditions: Vec<Proved>,
    /// How many of them belong to the program itself; the others relate it to the one before.
    pub of_program: usize,
    /// The laws that the relation rests on.
    pub laws: Vec<UsedLaw>,
}

/// Checks functions and steps, and keeps the program that results.
#[derive(Clone)]
pub struct Checker {
    program: Program,
    accepted: Vec<bool>,
    claims: Vec<Option<Claim>>,
    /// How many of a function's requirements are the user's own: the first ones.
    own: Vec<usize>,
    /// What each function calls.
    calls: Vec<Vec<FunId>>,
    proofs: Proofs,
    /// What this checker and those that were forked from it have in common.
    family: Arc<()>,
    laws: Vec<OnceLock<Vec<KnownLaw>>>,
    /// The laws that each function rests on, whatever its type parameters are bound to.
    assumed: Vec<Vec<bound::Assumed>>,
}

impl Checker {
    /// Nothing is accepted yet.
    pub fn new(program: Program) -> Checker {
        Checker::with_proofs(program, Proofs::default())
    }

    /// Nothing is accepted yet, and some proofs are known.
    pub fn with_proofs(program: Program, proofs: Proofs) -> Checker {
        let count = program.funs.len();
        let own = program.funs.iter().map(|f| f.requires.len()).collect();
        let laws = vec![OnceLock::new(); program.impls.len()];
        let calls = program.funs.iter().map(callees).collect();
        let (accepted, claims, assumed) = (vec![false; count], vec![None; count], vec![vec![]; count]);
        Checker { program, accepted, claims, own, calls, proofs, family: Arc::new(()), laws, assumed }
    }

    /// A checker that goes on from here with some of the functions, on a thread of its own.
    pub fn fork(&self) -> Checker {
        Checker {
            program: self.program.clone(),
            accepted: self.accepted.clone(),
            claims: self.claims.clone(),
            own: self.own.clone(),
            calls: self.calls.clone(),
            proofs: self.proofs.fork(),
            family: Arc::clone(&self.family),
            laws: self.laws.clone(),
            assumed: self.assumed.clone(),
        }
    }

    /// Takes over what a fork of this checker has established of some functions. Of any other checker nothing is taken.
    pub fn join(&mut self, fork: Checker, funs: &[FunId]) {
        if !Arc::ptr_eq(&self.family, &fork.family) {
            return;
        }
        let count = self.accepted.len();
        for id in funs.iter().map(|id| id.index()).filter(|id| *id < count) {
            self.program.funs[id] = fork.program.funs[id].clone();
            self.accepted[id] = fork.accepted[id];
            self.claims[id] = fork.claims[id].clone();
            self.own[id] = fork.own[id];
            self.calls[id] = fork.calls[id].clone();
            self.assumed[id] = fork.assumed[id].clone();
        }
        self.proofs.join(fork.proofs);
    }

    /// The program as it stands.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What was established of a scheduled function, if it was accepted.
    pub fn claim(&self, fun: FunId) -> Option<&Claim> {
        self.claims.get(fun.index())?.as_ref().filter(|_| self.accepted[fun.index()])
    }

    /// Whether a function was accepted.
    pub fn accepts(&self, fun: FunId) -> bool {
        self.accepted.get(fun.index()).copied().unwrap_or(false)
    }

    /// The laws that an implementation is found to have, or has on trust. They are decided when they are asked for.
    pub fn laws(&self, imp: ImplId) -> &[KnownLaw] {
        known(&self.program, &self.laws, imp)
    }

    /// Decides the laws that an implementation states and keeps those that it has.
    ///
    /// # Errors
    /// A report for each that was not proved and may not be trusted.
    pub fn accept_laws(&mut self, imp: ImplId) -> Result<(), Vec<Diagnostic>> {
        let (mut known, mut refused) = (Vec::new(), Vec::new());
        for law in laws::decide(&self.program, imp) {
            match law {
                Ok(law) => known.push(law),
                Err(d) => refused.push(*d),
            }
        }
        if let Some(slot) = self.laws.get_mut(imp.index()) {
            *slot = OnceLock::from(known);
        }
        if refused.is_empty() { Ok(()) } else { Err(refused) }
    }

    /// Checks what a file asserts; gives how many assertions were shown.
    ///
    /// # Errors
    /// A report for each assertion that was not.
    pub fn accept_proof(&mut self, proof: &Proof) -> Result<usize, Vec<Diagnostic>> {
        assertions::check(proof, &mut self.proofs)
    }

    /// Checks a function that is not a schedule's. What it calls has to be accepted first.
    ///
    /// # Errors
    /// Every condition that was not proved, in the order of the program; at most [`MOST_FAILURES`].
    pub fn accept_function(&mut self, id: FunId) -> Result<Vec<Proved>, Vec<Failure>> {
        let assumed = self.may_be_checked(id)?;
        let fun = &self.program.funs[id.index()];
        let mut conditions = wf::conditions(&self.program, fun, &mut self.proofs).map_err(|f| vec![*f])?;
        conditions.extend(wf::overflow::conditions(&self.program, fun));
        let mut failures: Vec<Failure> = Vec::new();
        for c in &conditions {
            if let Err(f) = discharge(&mut self.proofs, std::slice::from_ref(c)) {
                // One report a place: the second side of a bound that fails at the same access says nothing new.
                if !failures.iter().any(|g| g.kind == f.kind && g.diagnostic.span() == f.diagnostic.span()) {
                    failures.push(*f);
                }
            }
            if failures.len() == MOST_FAILURES {
                break;
            }
        }
        if !failures.is_empty() {
            return Err(failures);
        }
        self.accepted[id.index()] = true;
        self.assumed[id.index()] = assumed;
        Ok(conditions.into_iter().map(Proved::from).collect())
    }

    /// What is asked of a function before it has conditions: that it is one, that what it calls was accepted, and that the
    /// rules here cover it. Gives the laws that its calls leave to be asked.
    fn may_be_checked(&self, id: FunId) -> Result<Vec<bound::Assumed>, Vec<Failure>> {
        let fun = &self.program.funs[id.index()];
        validate::validate_fun(&self.program, fun).map_err(|faults| self.invalid(fun, &faults))?;
        let refused = self.calls[id.index()].iter().find(|c| !self.accepts(**c));
        if let Some(name) = refused.map(|c| &self.program.funs[c.index()].name) {
            let message = format!("`{}` calls `{name}`, which was refused", fun.name);
            return Err(vec![*misfit(Kind::Requirement, Diagnostic::error(codes::REQUIREMENT, fun.span.0, message))]);
        }
        supported(fun).map_err(|f| vec![*f])?;
        self.laws_of_calls(fun).map_err(|f| vec![*f])
    }

    /// Whether a function's type parameters may be bound so: what they are bound to computes on all operands.
    ///
    /// # Errors
    /// The first operation that may lose something.
    pub fn bindable(&mut self, fun: FunId, types: &[Binding]) -> Result<(), Box<Failure>> {
        let conditions = wf::overflow::bindings(&self.program, &self.program.funs[fun.index()], types);
        discharge(&mut self.proofs, &conditions)
    }

    /// A warning for each piece of a function that no sizes reach.
    pub fn dead_code(&mut self, id: FunId) -> Vec<Diagnostic> {
        wf::dead(&self.program, &self.program.funs[id.index()], &mut self.proofs)
    }

    /// Starts a schedule: its function becomes a copy of the one it is made from, which has to be accepted, with type
    /// parameters bound. An instance only substitutes, so what was proved of `of` holds for it.
    pub fn start(&mut self, fun: FunId, of: FunId, types: &[Binding]) -> bool {
        let span = self.program.funs[fun.index()].span;
        if !self.accepts(of) || self.bindable(fun, types).is_err() || self.has_laws(of, types, span.0).is_err() {
            return false;
        }
        self.assumed[fun.index()] = self.assumed_by(of, types);
        self.callers_fall(fun);
        let name = self.program.funs[fun.index()].name.clone();
        let mut made = derive(&self.program, of, &name, types);
        made.span = span;
        self.put(fun, made);
        self.own[fun.index()] = self.own[of.index()];
        self.accepted[fun.index()] = true;
        let to = instance_name(&self.program, &self.program.funs[of.index()].name, types);
        let mut links = vec![Link { relation: RelationKind::Bits, to }];
        let (mut steps, mut conditions, mut requires, mut laws) = (0, 0, Vec::new(), Vec::new());
        if let Some(claim) = self.claim(of) {
            // A schedule of a schedule: both links say bits, so the function agrees with the first one's origin.
            links = claim
                .links
                .iter()
                .map(|l| Link { relation: l.relation, to: instance_name(&self.program, &l.to, types) })
                .collect();
            (steps, conditions, requires) = (claim.steps, claim.conditions, claim.requires.clone());
            let bind = |of: Binding| match of {
                Binding::Param(p) => types.get(p.index()).copied().unwrap_or(of),
                Binding::Impl(_) => of,
            };
            let used = claim.laws.iter().map(|l| UsedLaw { of: bind(l.source.of), ..l.source });
            let made = &self.program.funs[fun.index()];
            laws = used.map(|l| claimed(&self.program, made, l)).collect();
        }
        let arithmetic = "host".into();
        self.claims[fun.index()] = Some(Claim { name, links, arithmetic, requires, laws, steps, conditions });
        true
    }

    /// Gives a schedule that has started, and to which nothing else has happened, scratch parameters of its own. The
    /// results stay what they were: nothing reads or writes these arrays, and a caller lends them apart from all others.
    ///
    /// # Errors
    /// An extent that may be negative, a layout that does not fit, or a parameter that is none.
    pub fn with_scratch(&mut self, id: FunId, own: &[BufferInfo]) -> Result<(), Box<Failure>> {
        if own.is_empty() {
            return Ok(());
        }
        let mut fun = self.program.funs[id.index()].clone();
        add_scratch(&mut fun, own);
        let faults = validate::validate_fun(&self.program, &fun).err().unwrap_or_default();
        if let Some(failure) = self.invalid(&fun, &faults).into_iter().next() {
            return Err(Box::new(failure));
        }
        if !self.accepts(id) || own.iter().any(|b| b.role != Role::Mut) {
            let message = format!("`{}` cannot be given these parameters", fun.name);
            return Err(misfit(Kind::Initialised, Diagnostic::error(codes::MODE, fun.span.0, message)));
        }
        self.callers_fall(id);
        self.put(id, fun);
        self.accepted[id.index()] = false;
        let fun = &self.program.funs[id.index()];
        let conditions = wf::conditions(&self.program, fun, &mut self.proofs)?;
        discharge(&mut self.proofs, &conditions)?;
        self.accepted[id.index()] = true;
        Ok(())
    }

    /// Counts a schedule as refused: a step of it could not even be applied.
    pub fn refuse(&mut self, fun: FunId) {
        self.callers_fall(fun);
        self.accepted[fun.index()] = false;
    }

    /// Puts a function in the place of another.
    fn put(&mut self, id: FunId, fun: Fun) {
        self.calls[id.index()] = callees(&fun);
        self.program.funs[id.index()] = fun;
    }

    /// Whatever calls a function was checked against what it was, and counts no longer once that changes.
    fn callers_fall(&mut self, fun: FunId) {
        let mut changed = vec![fun];
        while let Some(of) = changed.pop() {
            for (n, calls) in self.calls.iter().enumerate() {
                if self.accepted[n] && calls.contains(&of) {
                    self.accepted[n] = false;
                    changed.push(FunId(n as u32));
                }
            }
        }
    }

    /// Checks one step and, if every condition is proved, puts the program after it in the place of the one before.
    ///
    /// # Errors
    /// The first condition that was not proved, or a structural misfit. The function then counts as refused.
    pub fn accept_step(&mut self, id: FunId, rewrite: &Rewrite, asked: &Asked) -> Result<StepReport, Box<Failure>> {
        let mut proofs = std::mem::take(&mut self.proofs);
        let result = self.step(id, rewrite, asked, &mut proofs);
        self.proofs = proofs;
        self.callers_fall(id);
        if result.is_err() {
            self.accepted[id.index()] = false;
        }
        let mut report = result?;
        let own = self.own[id.index()];
        let mut after = rewrite.after.clone();
        after.requires = report.requires;
        if after.requires.len() > own {
            after.requires = needs::without_implied(&mut self.proofs, &after, own);
        }
        report.requires = after.requires.clone();
        for UsedLaw { of, law } in &report.laws {
            let assumed = &mut self.assumed[id.index()];
            if let Binding::Param(p) = of
                && !assumed.contains(&(*p, *law))
            {
                assumed.push((*p, *law));
            }
        }
        let laws: Vec<ClaimedLaw> = report.laws.iter().map(|l| claimed(&self.program, &after, *l)).collect();
        let names = Names::of(&self.program, &after);
        let requires = after.requires[own..].iter().map(|g| names.requirement(g)).collect();
        if let Some(claim) = &mut self.claims[id.index()] {
            claim.steps += 1;
            claim.conditions += report.conditions.len();
            claim.requires = requires;
            for law in laws {
                if !claim.laws.contains(&law) {
                    claim.laws.push(law);
                }
            }
        }
        self.put(id, after);
        Ok(report)
    }

    fn step(
        &self,
        id: FunId,
        rewrite: &Rewrite,
        asked: &Asked,
        proofs: &mut Proofs,
    ) -> Result<StepReport, Box<Failure>> {
        self.may_follow(id, rewrite, asked)?;
        let before = &self.program.funs[id.index()];
        let fewer = unrequired(proofs, before, rewrite);
        let rewrite = fewer.as_ref().unwrap_or(rewrite);
        self.well_formed(rewrite, asked)?;
        let mut conditions = wf::conditions(&self.program, &rewrite.after, proofs).map_err(|mut f| {
            if f.diagnostic.code == codes::CONTRADICTION {
                let added = format!("`{}` adds a requirement here", asked.step);
                f.diagnostic = f.diagnostic.also(asked.span, added);
            }
            f
        })?;
        let of_program = conditions.len();
        discharge(proofs, &conditions).map_err(|mut f| {
            let note = format!("in the program that `{}` makes ({})", asked.step, asked.name);
            // A place in a step of another file is none that its user wrote.
            f.diagnostic.keep_places(|s| s.file == asked.span.file || s.file == before.span.0.file);
            f.diagnostic = f.diagnostic.note(note).also(asked.span, format!("`{}` is asked for here", asked.step));
            f
        })?;
        let needed = relation::conditions(&self.program, before, rewrite, asked)?;
        self.required_by_recipe(before, rewrite, asked, &needed)?;
        let laws = needed.laws;
        conditions.extend(needed.conditions);
        discharge(proofs, &conditions[of_program..])?;
        let conditions = conditions.into_iter().map(Proved::from).collect();
        Ok(StepReport { requires: rewrite.after.requires.clone(), conditions, of_program, laws })
    }

    /// A step follows an accepted program, and keeps all of it but its body.
    fn may_follow(&self, id: FunId, rewrite: &Rewrite, asked: &Asked) -> Result<(), Box<Failure>> {
        if !self.accepts(id) {
            let message = format!("relation {}: the program before the step was refused", asked.name);
            return Err(misfit(Kind::Words, Diagnostic::error(codes::RELATION, asked.span, message)));
        }
        if !relation::same_head(&self.program.funs[id.index()], &rewrite.after) {
            let message = format!("relation {}: the step changes more of the program than it says", asked.name);
            return Err(misfit(Kind::Words, Diagnostic::error(codes::RECIPE, asked.span, message)));
        }
        Ok(())
    }

    /// What a step makes is a program, and one that the rules here cover.
    fn well_formed(&self, rewrite: &Rewrite, asked: &Asked) -> Result<(), Box<Failure>> {
        validate::validate_fun(&self.program, &rewrite.after).map_err(|faults| {
            let first = faults.first().map_or("", |f| &f.text);
            let message = format!("`{}` makes a program that is not well formed: {first}", asked.step);
            let mut d = Diagnostic::error(codes::RECIPE, asked.span, message);
            let mut others: Vec<String> = faults.iter().map(|f| f.text.clone()).filter(|t| t != first).collect();
            others.dedup();
            others.truncate(2);
            d.notes.extend(others);
            let d = d.note(format!("relation {} was not established", asked.name));
            misfit(Kind::Words, d)
        })?;
        supported(&rewrite.after)
    }

    /// A step requires nothing that its recipe does not need.
    fn required_by_recipe(
        &self,
        before: &Fun,
        rewrite: &Rewrite,
        asked: &Asked,
        needed: &relation::Needed,
    ) -> Result<(), Box<Failure>> {
        let mut added = rewrite.after.requires[before.requires.len()..].iter();
        let Some(stray) = added.find(|g| !needed.requirements.contains(g)) else { return Ok(()) };
        let stray = Names::of(&self.program, &rewrite.after).guard(stray);
        let message = format!("relation {}: the step requires {stray}, which nothing in its recipe needs", asked.name);
        Err(misfit(Kind::Requirement, Diagnostic::error(codes::RECIPE, asked.span, message)))
    }

    fn invalid(&self, fun: &Fun, faults: &[validate::Fault]) -> Vec<Failure> {
        faults
            .iter()
            .take(MOST_FAILURES)
            .map(|f| {
                let span = if f.span.0.lo == f.span.0.hi { fun.span.0 } else { f.span.0 };
                *misfit(Kind::Bounds, Diagnostic::error(codes::TYPE_MISMATCH, span, f.text.clone()))
            })
            .collect()
    }

    /// Ends the checking; the proofs may be kept for a later run.
    pub fn finish(self) -> (Checked, Proofs) {
        (
            Checked { program: self.program, accepted: self.accepted, laws: self.laws, assumed: self.assumed },
            self.proofs,
        )
    }
}

/// A law in the words of a claim about a function.
fn claimed(program: &Program, fun: &Fun, used: UsedLaw) -> ClaimedLaw {
    let interface = |at: u32| program.interfaces.get(at as usize);
    let (of, interface, basis) = match used.of {
        Binding::Impl(id) => {
            let imp = program.impls.get(id.index());
            (imp.map(|i| i.name.clone()), imp.and_then(|i| interface(i.interface)), LawBasis::Proved)
        }
        Binding::Param(p) => {
            let info = fun.type_params.get(p.index());
            let wants = info.and_then(|t| interface(t.interface));
            let name = wants.map_or_else(String::new, |i| i.name.clone());
            (info.map(|t| t.name.clone()), wants, LawBasis::Wanted(name))
        }
    };
    let law = interface.map_or_else(String::new, |i| used.law.text(i));
    ClaimedLaw { law, of: of.unwrap_or_default(), basis, source: used }
}

/// An implementation's laws, decided once.
fn known<'a>(program: &Program, laws: &'a [OnceLock<Vec<KnownLaw>>], imp: ImplId) -> &'a [KnownLaw] {
    let decide = || laws::decide(program, imp).into_iter().filter_map(Result::ok).collect();
    laws.get(imp.index()).map_or(&[], |slot| slot.get_or_init(decide))
}

/// A step's proposal without those requirements that follow from what the function requires already; `None` where it
/// adds none.
fn unrequired(proofs: &mut Proofs, before: &Fun, rewrite: &Rewrite) -> Option<Rewrite> {
    let own = before.requires.len();
    if rewrite.after.requires.len() <= own || !rewrite.after.requires.starts_with(&before.requires) {
        return None;
    }
    let mut rewrite = rewrite.clone();
    let proposed = rewrite.after.requires.split_off(own);
    for guard in proposed {
        let fun = &rewrite.after;
        let cx = Context::of_sizes(&fun.sizes, &fun.vars, &fun.requires);
        if !proofs.follows(&cx, cx.guard(&guard)) {
            rewrite.after.requires.push(guard);
        }
    }
    Some(rewrite)
}

/// At most this many failed conditions of one function are reported.
pub const MOST_FAILURES: usize = 8;

/// Whether a range has no element, or as many as halving comes out even for.
fn halves(domain: &Domain) -> bool {
    match domain {
        Domain::Range { lo: Ix::Lit(lo), hi: Ix::Lit(hi) } => {
            let count = i128::from(*hi) - i128::from(*lo);
            count <= 0 || count.count_ones() == 1
        }
        Domain::Range { .. } | Domain::Blocks { .. } => false,
    }
}

/// Refuses what no rule here covers yet: devices need their arithmetic, strides injectivity.
fn supported(fun: &Fun) -> Result<(), Box<Failure>> {
    struct Uncovered(Option<(&'static str, cachet_source::Span)>);
    impl Visit for Uncovered {
        fn stmt(&mut self, stmt: &cachet_core::ir::Stmt) {
            match &stmt.kind {
                StmtKind::Grid(g) if g.device != Device::HOST => {
                    self.0 = self.0.or(Some(("grids of devices", stmt.span.0)))
                }
                // A lease is another name: every rule follows it to the array, and the validator keeps names apart.
                StmtKind::Lease { .. }
                | StmtKind::For { .. }
                | StmtKind::Grid(_)
                | StmtKind::If { .. }
                | StmtKind::Let { .. }
                | StmtKind::Var { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Store { .. }
                | StmtKind::Alloc(_)
                | StmtKind::Call(_)
                | StmtKind::Print(_) => {}
            }
            visit_stmt(self, stmt);
        }
        fn word(&mut self, word: &Word) {
            if let Word::Reduce(r) = word
                && r.shape == Shape::Halving
                && !halves(&r.domain)
            {
                self.0 = self.0.or(Some(("halving of a number of terms that is no literal power of two", r.span.0)));
            }
            visit_word(self, word);
        }
    }
    let mut found = Uncovered(None);
    visit_block(&mut found, &fun.body);
    let strided = fun.buffers.iter().any(|b| matches!(b.strides, cachet_core::ir::Strides::Given(_)));
    let what = found.0.or(strided.then_some(("the proof that strides keep elements apart", fun.span.0)));
    match what {
        None => Ok(()),
        Some((what, span)) => Err(misfit(Kind::Apart, Diagnostic::not_built(span, what))),
    }
}
