//! A step proposed by hand, and what the checker and the oracle say of it.

use crate::memory;
use cachet_check::checked::Checker;
use cachet_check::condition::Failure;
use cachet_check::relation::Asked;
use cachet_core::ir::{Fun, FunId, Guard, Ix, Program, Var, Word};
use cachet_core::pattern::{LoopRef, MapVar, Move, MoveKind, PatGuard, PatIx, Side};
use cachet_core::rewrite::{Site, Subst};
use cachet_core::script::Rewrite;
use cachet_oracle::symbolic::{Comparison, Side as Ran, compare};
use cachet_source::Span;
use std::collections::BTreeMap;

/// The functions of a text, typed.
pub fn program(text: &str) -> Program {
    memory::loaded(text).program
}

/// The id of a function.
pub fn fun_id(program: &Program, name: &str) -> FunId {
    let at = program.funs.iter().position(|f| f.name == name);
    FunId(at.unwrap_or_else(|| panic!("there is no function {name}")) as u32)
}

/// A proposal to put `t`'s body in the place of `s`'s.
pub struct Lie {
    /// What it is called.
    pub name: String,
    /// Both functions.
    pub program: Program,
    /// The one before.
    pub s: FunId,
    /// What is proposed.
    pub rewrite: Rewrite,
}

impl Lie {
    /// From the functions `s` and `t` of a text.
    pub fn new(name: &str, text: &str) -> Lie {
        let program = program(text);
        let (s, t) = (fun_id(&program, "s"), fun_id(&program, "t"));
        let before = &program.funs[s.index()];
        let after = graft(before, &program.funs[t.index()]);
        let site = |f: &Fun| Site { path: vec![], start: 0, len: f.body.len() };
        let (from, to) = (site(before), site(&after));
        let name = name.to_string();
        Lie { name, rewrite: Rewrite { after, from, to, recipe: vec![] }, program, s }
    }

    /// With a recipe.
    pub fn by(mut self, recipe: Vec<MoveKind>) -> Lie {
        let line = |kind| Move { kind, span: cachet_core::ir::At::default() };
        self.rewrite.recipe = recipe.into_iter().map(line).collect();
        self
    }

    /// The loop variable of a name, in the program after the step; the last of that name.
    pub fn var(&self, name: &str) -> Var {
        let at = self.rewrite.after.vars.iter().rposition(|v| v.name == name);
        Var(at.unwrap_or_else(|| panic!("there is no {name}")) as u32)
    }

    /// The function before.
    pub fn before(&self) -> &Fun {
        &self.program.funs[self.s.index()]
    }

    /// How it is asked for.
    pub fn asked(&self) -> Asked {
        Asked { name: format!("s_{}", self.name), step: "lie".into(), span: Span::default(), callers: vec![] }
    }

    /// What the checker says.
    pub fn check(&self) -> Result<(), Box<Failure>> {
        let mut checker = Checker::new(self.program.clone());
        if let Err(failures) = checker.accept_function(self.s) {
            panic!("s is refused: {:?}", failures[0].diagnostic.message);
        }
        checker.accept_step(self.s, &self.rewrite, &self.asked()).map(|_| ())
    }

    /// Sizes at which the two programs differ, by the oracle.
    pub fn differs_at(&self) -> Option<Vec<i64>> {
        let dims = self.before().sizes.len() as u32;
        (0..8usize.pow(dims)).map(|n| (0..dims).map(|d| (n / 8usize.pow(d) % 8) as i64).collect()).find(
            |at: &Vec<i64>| match compare(&self.program, self.before(), &self.rewrite.after, at) {
                Comparison::Same | Comparison::NotApplicable => false,
                Comparison::Differs(_) | Comparison::Fault { side: Ran::T, .. } => true,
                Comparison::Fault { side: Ran::S, fault } => panic!("{at:?}: {}", fault.text),
                Comparison::TooBig => panic!("{at:?} is beyond the oracle"),
            },
        )
    }

    /// The oracle sees the difference, and the checker refuses.
    #[track_caller]
    pub fn is_refused(&self) -> String {
        assert!(self.differs_at().is_some(), "this is no lie");
        match self.check() {
            Ok(()) => panic!("accepted, and wrong at {:?}", self.differs_at()),
            Err(failure) => failure.diagnostic.message,
        }
    }

    /// The oracle sees no difference, and the checker accepts.
    #[track_caller]
    pub fn is_accepted(&self) {
        assert_eq!(self.differs_at(), None, "this is a lie");
        if let Err(failure) = self.check() {
            panic!("refused: {} {:?}", failure.diagnostic.message, failure.diagnostic.notes);
        }
    }
}

/// `t`'s body over `s`'s tables. A name that both know is one id, the first time that `t` uses it.
fn graft(s: &Fun, t: &Fun) -> Fun {
    let mut after = s.clone();
    let mut subst = Subst::default();
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    for (n, info) in t.vars.iter().enumerate() {
        let times = taken.entry(&info.name).or_default();
        *times += 1;
        let shared = s.vars.iter().position(|v| v == info).filter(|_| *times == 1);
        let to = shared.map_or_else(|| after.add_var(info.name.clone(), info.kind), |at| Var(at as u32));
        subst.vars.insert(Var(n as u32), Ix::Var(to));
    }
    for (n, info) in t.locals.iter().enumerate() {
        let to = after.add_local(info.clone());
        subst.locals.insert(cachet_core::ir::Local(n as u32), Word::Local(to, vec![]));
    }
    for (n, info) in t.buffers.iter().enumerate() {
        let at = s.buffers.iter().position(|b| b.name == info.name).expect("t has s's buffers");
        subst.buffers.insert(cachet_core::ir::Buffer(n as u32), cachet_core::ir::Buffer(at as u32));
    }
    after.body = subst.block(&t.body);
    let requires = t.requires.iter().map(|g| subst.guard(g));
    after.requires.extend(requires.filter(|g| !s.requires.contains(g)).collect::<Vec<_>>());
    after
}

/// `S.k`, `T.k#2`
pub fn at(side: Side, name: &str, nth: u32) -> LoopRef {
    LoopRef { side, name: name.into(), nth, rank: false }
}

/// `S.k`
pub fn s(name: &str) -> LoopRef {
    at(Side::S, name, 1)
}

/// A line of a map.
pub fn gives(var: Var, ix: Ix) -> (MapVar, PatIx) {
    (MapVar::Known(var), PatIx::Known(ix))
}

/// `given g`
pub fn given(guard: Guard) -> MoveKind {
    MoveKind::Given(PatGuard::Known(guard))
}
