//! Everything that may stand in a step's place and differs from it by one change: in the program that it makes, in its
//! recipe, in both, or in the definition that makes them.

use super::{operator, programs, recipes, steps};
use crate::generate::places::{self, Place};
use crate::random::Random;
use cachet_core::ir::{Guard, Ix, Rel, VarKind};
use cachet_core::pattern::{Move, MoveKind, PatGuard, StepDef};
use cachet_core::rewrite::Live;
use cachet_core::script::Rewrite;
use std::collections::BTreeSet;

/// Each changed program is proposed with every so many of its step's changed recipes.
const OTHER_RECIPES: usize = 6;

/// What may stand in the place of one step.
pub struct Mutants {
    programs: Vec<(String, Rewrite)>,
    recipes: Vec<(String, Vec<Move>)>,
    definitions: Vec<(String, Rewrite)>,
}

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// A changed program with the step's recipe.
    Program(usize),
    /// The step's program with a changed recipe.
    Recipe(usize),
    /// A changed program with a changed recipe.
    Both(usize, usize),
    /// What a changed definition makes.
    Definition(usize),
}

/// A proposal: what was changed, and the result.
pub struct Proposal {
    /// What was changed.
    pub what: String,
    /// The kind of change.
    pub operator: String,
    /// The result.
    pub rewrite: Rewrite,
}

impl Mutants {
    /// Whether there is something of lanes in it.
    pub fn has_lanes(place: &Place) -> bool {
        matches!(place.step(), "registers" | "pack_lanes")
    }

    /// Those of a place.
    pub fn of(place: &Place) -> Mutants {
        let mut programs = changed_programs(&place.made);
        programs.extend(requirements(place));
        programs.extend(in_lanes(&place.made));
        let recipes = recipes::of(&place.made.recipe);
        let written = place.written.as_ref().map_or_else(Vec::new, definitions);
        let made = written.into_iter().filter_map(|(what, def)| Some((what, place.by(&def)?)));
        let other = |r: &Rewrite| r.after != place.made.after || r.recipe != place.made.recipe;
        let definitions = made.filter(|(_, r)| other(r)).collect();
        Mutants { programs, recipes, definitions }
    }

    /// Their names.
    pub fn all(&self) -> Vec<Which> {
        let mut out: Vec<Which> = (0..self.programs.len()).map(Which::Program).collect();
        out.extend((0..self.recipes.len()).map(Which::Recipe));
        out.extend((0..self.definitions.len()).map(Which::Definition));
        for n in 0..self.programs.len() {
            out.extend((n % OTHER_RECIPES..self.recipes.len()).step_by(OTHER_RECIPES).map(|m| Which::Both(n, m)));
        }
        out
    }

    /// What was changed.
    pub fn what(&self, which: Which) -> String {
        match which {
            Which::Program(n) => self.programs[n].0.clone(),
            Which::Recipe(n) => format!("recipe: {}", self.recipes[n].0),
            Which::Both(n, m) => format!("recipe: {}; {}", self.recipes[m].0, self.programs[n].0),
            Which::Definition(n) => format!("definition: {}", self.definitions[n].0),
        }
    }

    /// The kind of change, with the kind of what is changed.
    pub fn operator(&self, which: Which) -> String {
        match which {
            Which::Program(n) | Which::Both(n, _) => operator(&self.programs[n].0),
            Which::Recipe(n) => format!("recipe: {}", operator(&self.recipes[n].0)),
            Which::Definition(n) => format!("definition: {}", operator(&self.definitions[n].0)),
        }
    }

    /// One of them.
    pub fn proposal(&self, place: &Place, which: Which) -> Proposal {
        let rewrite = match which {
            Which::Program(n) => self.programs[n].1.clone(),
            Which::Recipe(m) => Rewrite { recipe: self.recipes[m].1.clone(), ..place.made.clone() },
            Which::Both(n, m) => Rewrite { recipe: self.recipes[m].1.clone(), ..self.programs[n].1.clone() },
            Which::Definition(n) => self.definitions[n].1.clone(),
        };
        Proposal { what: self.what(which), operator: self.operator(which), rewrite }
    }
}

/// All places with their mutants.
pub fn everywhere() -> Vec<(Place, Mutants)> {
    places::all().into_iter().map(|p| (Mutants::of(&p), p)).map(|(m, p)| (p, m)).collect()
}

/// So many of those mutants that are wanted; every step and every kind of change is in if there is room.
pub fn drawn(
    places: &[(Place, Mutants)],
    count: usize,
    wanted: fn(Which) -> bool,
    random: &mut Random,
) -> Vec<(usize, Which)> {
    let mut all: Vec<(usize, Which)> = places
        .iter()
        .enumerate()
        .flat_map(|(n, (_, m))| m.all().into_iter().map(move |w| (n, w)))
        .filter(|(_, w)| wanted(*w))
        .collect();
    for n in (1..all.len()).rev() {
        all.swap(n, random.below(n + 1));
    }
    let mut seen = BTreeSet::new();
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for (n, which) in all {
        let (place, mutants) = &places[n];
        let new = seen.insert(format!("step {}", place.step())) | seen.insert(mutants.operator(which));
        if new { first.push((n, which)) } else { rest.push((n, which)) }
    }
    first.extend(rest);
    first.truncate(count);
    first
}

/// The program that a step makes with one change.
fn changed_programs(made: &Rewrite) -> Vec<(String, Rewrite)> {
    let mut grown = made.after.clone();
    let site = made.to.stmts(&made.after).unwrap().to_vec();
    let mut out = Vec::new();
    for (what, block) in programs::of(&mut grown, &site) {
        let mut after = made.after.clone();
        let to = made.to.replace(&mut after, block).unwrap();
        out.push((what, Rewrite { after, to, ..made.clone() }));
    }
    for (_, r) in &mut out {
        (r.after.vars, r.after.locals) = (grown.vars.clone(), grown.locals.clone());
    }
    out
}

/// More or fewer lanes, in a statement or in all of them; arrays of vectors with other rows and lanes.
fn in_lanes(made: &Rewrite) -> Vec<(String, Rewrite)> {
    let Some(site) = made.to.stmts(&made.after) else { return vec![] };
    let live = Live::of_block(site);
    let lanes: Vec<(usize, i64)> = live
        .vars
        .iter()
        .filter_map(|v| match made.after.vars[v.index()].kind {
            VarKind::Lane(n) => Some((v.index(), n)),
            VarKind::Size | VarKind::Index | VarKind::Block | VarKind::Instr(..) => None,
        })
        .collect();
    let mut out = Vec::new();
    for by in [-1, 1] {
        let mut all = made.clone();
        for (v, n) in &lanes {
            let mut one = made.clone();
            one.after.vars[*v].kind = VarKind::Lane(n + by);
            all.after.vars[*v].kind = VarKind::Lane(n + by);
            out.push((format!("lanes {by:+}"), one));
        }
        for l in live.locals.iter().filter(|l| made.after.locals[l.index()].vector) {
            let dims = &made.after.locals[l.index()].dims;
            for axis in 0..dims.len() {
                let mut one = made.clone();
                one.after.locals[l.index()].dims[axis] += by;
                let what = if axis + 1 == dims.len() { "lanes of a vector" } else { "rows of a tile" };
                out.push((format!("{what} {by:+}"), one));
            }
            if let Some(n) = all.after.locals[l.index()].dims.last_mut() {
                *n += by;
            }
        }
        if !lanes.is_empty() {
            out.push((format!("all lanes {by:+}"), all));
        }
    }
    out
}

/// Requirements that are lost, weaker, or made up: of the step alone, or with a line that gives them.
fn requirements(place: &Place) -> Vec<(String, Rewrite)> {
    let made = &place.made;
    let mut out = Vec::new();
    for n in place.before().requires.len()..made.after.requires.len() {
        let mut lost = made.clone();
        lost.after.requires.remove(n);
        out.push((format!("requirement {n} lost"), lost));
        if let Guard::Cmp(rel, Ix::Mod(e, by), zero) = &made.after.requires[n] {
            for by in [by / 2, by + 1, 2 * by].into_iter().filter(|by| *by > 0) {
                let mut weaker = made.clone();
                weaker.after.requires[n] = Guard::Cmp(*rel, Ix::Mod(e.clone(), by), zero.clone());
                out.push((format!("requirement {n} modulo {by}"), weaker));
            }
        }
    }
    for v in &made.after.sizes {
        let none = Guard::Cmp(Rel::Lt, Ix::Var(*v), Ix::Lit(1));
        let mut given = made.clone();
        given.recipe.insert(0, Move { kind: MoveKind::Given(PatGuard::Known(none)), span: Default::default() });
        out.push(("something false given".into(), given));
    }
    out
}

/// A step's definition with one change, in what it makes or in its recipe.
fn definitions(step: &StepDef) -> Vec<(String, StepDef)> {
    let programs = steps::of(step).into_iter().map(|(what, to)| (what, StepDef { to, ..step.clone() }));
    let recipes = recipes::of(&step.recipe)
        .into_iter()
        .map(|(what, recipe)| (format!("recipe: {what}"), StepDef { recipe, ..step.clone() }));
    programs.chain(recipes).collect()
}
