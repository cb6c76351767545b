//! Steps in schedules, each with the program before it and what it proposes there: where changed steps are tried.

mod texts;

use crate::memory;
use crate::oracle::Judge;
use cachet_check::checked::Checker;
use cachet_check::relation::Asked;
use cachet_core::ir::{Fun, FunId, Program};
use cachet_core::pattern::StepDef;
use cachet_core::script::{Module, Rewrite, Script, StepArg, StepCall, StepForm};
use cachet_schedule::Splits;

/// A step of a schedule.
pub struct Place {
    /// The schedule, the step's number from 0, and its name.
    pub name: String,
    /// The function before the step, in the checker's program.
    pub id: FunId,
    /// The step as it is asked for.
    pub call: StepCall,
    /// What it makes.
    pub made: Rewrite,
    /// Its definition, where it is written in the language; with its holes for loops written out if that makes the same.
    pub written: Option<StepDef>,
    /// Who says whether two programs differ.
    pub judge: Judge,
    checker: Checker,
}

/// The texts that the schedules stand in.
pub const TEXTS: [&str; 4] = [texts::OWN, texts::SUMS, texts::TILES, texts::REGROUPED];

/// All of them. Each step is accepted and right.
pub fn all() -> Vec<Place> {
    let judges = [Judge::Symbols, Judge::Symbols, Judge::Symbols, Judge::Bits];
    let mut out = Vec::new();
    for (text, judge) in TEXTS.into_iter().zip(judges) {
        let module = memory::loaded(text);
        module.scripts.iter().for_each(|s| out.extend(of_schedule(&module, s, judge)));
    }
    out
}

/// The places of a schedule, one a step.
fn of_schedule(module: &Module, script: &Script, judge: Judge) -> Vec<Place> {
    let mut checker = Checker::new(module.program.clone());
    if let Err(f) = checker.accept_function(script.of) {
        panic!("what {} starts from is refused: {}", script.name, f[0].diagnostic.message);
    }
    assert!(checker.start(script.fun, script.of, &script.types), "{} does not start", script.name);
    if let Err(f) = checker.with_scratch(script.fun, &script.scratch) {
        panic!("{} cannot have its parameters: {}", script.name, f.diagnostic.message);
    }
    let mut splits = Splits::default();
    let mut out = Vec::new();
    for (n, call) in script.steps.iter().enumerate() {
        let before = checker.program().funs[script.fun.index()].clone();
        let name = format!("{} {n}, {}", script.name, call.word());
        let made = cachet_schedule::apply(checker.program(), &before, call, &module.steps, &mut splits);
        let made = made.unwrap_or_else(|d| panic!("{name}: {}", d.message));
        let place = Place {
            written: written(&checker, script.fun, call, &made, &module.steps),
            checker: checker.clone(),
            id: script.fun,
            call: call.clone(),
            made,
            judge,
            name,
        };
        if let Err(f) = checker.accept_step(script.fun, &place.made, &place.asked()) {
            panic!("{} is refused: {} {:?}", place.name, f.diagnostic.message, f.diagnostic.notes);
        }
        out.push(place);
    }
    out
}

/// The definition that a call uses, opened for as many loops as the call names if it then makes the same.
fn written(checker: &Checker, id: FunId, call: &StepCall, made: &Rewrite, steps: &[StepDef]) -> Option<StepDef> {
    let StepForm::Call(args) = &call.form else { return None };
    let makes = |def: &StepDef| {
        let again = by(checker, id, call, def);
        again.is_some_and(|r| r.after == made.after && r.recipe == made.recipe)
    };
    let def = steps.iter().filter(|s| s.name == call.name).find(|s| makes(s))?;
    let rank = match args.first() {
        Some(StepArg::Tuple(parts, _)) => parts.len(),
        Some(StepArg::Name { .. } | StepArg::Number(..)) | None => 1,
    };
    let opened = crate::mutate::steps::open::open(def, rank);
    Some(if makes(&opened) { opened } else { def.clone() })
}

fn by(checker: &Checker, id: FunId, call: &StepCall, def: &StepDef) -> Option<Rewrite> {
    let before = &checker.program().funs[id.index()];
    // A step written in the language looks at no split.
    let mut splits = Splits::default();
    cachet_schedule::apply(checker.program(), before, call, std::slice::from_ref(def), &mut splits).ok()
}

impl Place {
    /// The step's word: `zero`, `grid over`.
    pub fn step(&self) -> &str {
        self.call.word()
    }

    /// The function before the step.
    pub fn before(&self) -> &Fun {
        &self.program().funs[self.id.index()]
    }

    /// The program that it stands in.
    pub fn program(&self) -> &Program {
        self.checker.program()
    }

    /// A checker that has accepted it.
    pub fn checker(&self) -> Checker {
        self.checker.clone()
    }

    /// How the step is asked for.
    pub fn asked(&self) -> Asked {
        let call = &self.call;
        Asked { name: call.name.clone(), step: call.name.clone(), span: call.span, callers: vec![] }
    }

    /// What a changed definition makes in the step's place; `None` where it does not match.
    pub fn by(&self, def: &StepDef) -> Option<Rewrite> {
        by(&self.checker, self.id, &self.call, def)
    }

    /// What a program in the step's place does otherwise than the one before.
    pub fn differs(&self, after: &Fun) -> Option<String> {
        self.judge.differs(self.program(), self.before(), after)
    }

    /// The case as text: the function, the step, and what stands in its place.
    pub fn case(&self, what: &str, proposed: &Rewrite) -> String {
        let before = cachet_core::print::listing(self.program(), self.before());
        let after = cachet_core::print::listing(self.program(), &proposed.after);
        let recipe: Vec<String> = proposed.recipe.iter().map(|m| format!("  {}\n", m.kind)).collect();
        format!(
            "// before `{}` ({}):\n{before}\n// proposed ({what}):\n{after}\n// by\n{}",
            self.call,
            self.name,
            recipe.concat()
        )
    }
}
