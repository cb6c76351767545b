//! What is an instruction, and which vector statements is one meant for?
//!
//! ```text
//! instr fn pairs (a: Vec f32 8) (acc: Vec f32 4) -> Vec f32 4 = ..      lane l:  fma a[2 * l] a[2 * l + 1] acc[l]
//! ```
//!
//! An instruction is the word of one lane of its result, over the lanes of its operands: its *reference body*. A use of it
//! is a vector statement whose lanes have the kind [`VarKind::Instr`] and whose word is that body, with the operands' lanes
//! in place of the parameters'. So there is nothing to unfold: the interpreter, the checker and every count read the body,
//! and what a step makes of a use is proved like any other statement. Only where the statement still is the body of its
//! instruction, which [`applied`] finds out from the two words alone, is it printed as one, and may code generation put the
//! template of a target in its place. That the template computes the body is what a claim lists as trusted.

mod digest;
mod operands;
mod outer;
mod reads;
mod template;

use crate::ir::{
    At, Domain, Elem, Fun, FunId, InstrId, Ix, Lit, Local, LocalInfo, Program, Stmt, StmtKind, Ty, Var, VarInfo,
    VarKind, Word,
};
use crate::rewrite::{Subst, Visit, callees, visit_block, visit_stmt, visit_word};
use crate::vectors::Lanes;
pub use outer::{MAX_SIDE, OUTER_ELEMENTS, OUTER_FMA, outer_fma};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
pub use template::{Piece, pieces};

/// The variable of an operand's lanes, in no table.
const HOLE: Var = Var(u32::MAX);

/// An instruction.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Instr {
    /// Its name.
    pub name: String,
    /// Its parameters, in order.
    pub params: Vec<InstrParam>,
    /// The element of its result.
    pub elem: Elem,
    /// How many lanes its result has.
    pub lanes: i64,
    /// The lane of the result, in the body.
    pub lane: Var,
    /// The word of that lane: literals, cells of parameters, operations, pure functions and choices by guards.
    pub body: Word,
    /// The lane, and parameters that are indices.
    pub vars: Vec<VarInfo>,
    /// Parameters that are vectors or words.
    pub locals: Vec<LocalInfo>,
    /// What it is called on targets that have it.
    pub templates: Vec<Template>,
}

/// A parameter of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum InstrParam {
    /// A vector: a local with one dimension.
    Vector(Local),
    /// An index.
    Index(Var),
}

/// How one target is told to compute it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Template {
    /// The target, or a feature of a target.
    pub target: String,
    /// Lines of the target's text, with placeholders.
    pub lines: Vec<String>,
}

/// What an instruction is applied to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operand {
    /// The word of one lane, for each lane.
    Vector(LaneWord),
    /// An index.
    Index(Ix),
}

/// A word for each lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneWord(Word);

impl LaneWord {
    /// From the word of the lane that a variable counts.
    pub fn of(word: &Word, lane: Var) -> LaneWord {
        LaneWord(Subst::var(lane, Ix::Var(HOLE)).word(word))
    }

    /// The word of a lane.
    pub fn at(&self, lane: &Ix) -> Word {
        Subst::var(HOLE, lane.clone()).word(&self.0)
    }
}

/// A use of an instruction.
#[derive(Clone, Debug)]
pub struct Applied<'a> {
    /// Which.
    pub instr: &'a Instr,
    /// Its number.
    pub id: InstrId,
    /// What it is applied to, in order.
    pub operands: Vec<Operand>,
}

/// The instruction that a vector statement is a use of.
pub fn applied<'a>(program: &'a Program, vars: &[VarInfo], lanes: &Lanes<'_>) -> Option<Applied<'a>> {
    let VarKind::Instr(_, id) = vars.get(lanes.var.index())?.kind else { return None };
    let instr = program.instrs.get(id.index())?;
    let word = match &lanes.stmt.kind {
        StmtKind::Store { word, .. } | StmtKind::Assign { word, .. } => word,
        _ => return None,
    };
    let operands = instr.operands(word, lanes.var)?;
    (lanes.count == instr.lanes).then_some(Applied { instr, id, operands })
}

/// The instructions that a function and all that it calls use, each once, by their order in the program.
pub fn uses(program: &Program, fun: FunId) -> Vec<InstrId> {
    struct Uses<'a>(&'a Program, &'a Fun, BTreeSet<InstrId>);
    impl Visit for Uses<'_> {
        fn stmt(&mut self, stmt: &Stmt) {
            if let Some(lanes) = crate::vectors::of(&self.1.vars, stmt)
                && let Some(applied) = applied(self.0, &self.1.vars, &lanes)
            {
                self.2.insert(applied.id);
            }
            visit_stmt(self, stmt);
        }
    }
    let mut found = BTreeSet::new();
    let (mut open, mut seen) = (vec![fun], BTreeSet::from([fun]));
    while let Some(fun) = open.pop().and_then(|f| program.funs.get(f.index())) {
        let mut uses = Uses(program, fun, std::mem::take(&mut found));
        visit_block(&mut uses, &fun.body);
        found = uses.2;
        open.extend(callees(fun).into_iter().filter(|f| seen.insert(*f)));
    }
    found.into_iter().collect()
}

impl Applied<'_> {
    /// Each operand with its word for the lanes of a vector statement and how many lanes it has itself; indices as they are.
    pub(crate) fn operands_in(&self, lane: Var) -> impl Iterator<Item = Result<(Word, Elem, i64), &Ix>> {
        self.instr.params.iter().zip(&self.operands).filter_map(move |(param, operand)| match operand {
            Operand::Vector(of) => {
                let (elem, count) = self.instr.param_vector(*param)?;
                Some(Ok((of.at(&Ix::Var(lane)), elem, count)))
            }
            Operand::Index(ix) => Some(Err(ix)),
        })
    }

    /// Whether what is written says which of the updates of that name is meant: by the length of a side that is a whole
    /// vector, or because both are one.
    fn says_its_sides(&self, lanes: &Lanes<'_>) -> bool {
        let mut sides = self.operands_in(lanes.var).flatten().take(2);
        let (Some((column, _, u)), Some((row, _, v))) = (sides.next(), sides.next()) else { return true };
        let whole = |word: &Word| matches!(word, Word::Local(_, at) if at.as_slice() == [Ix::Var(lanes.var)]);
        self.instr.name != OUTER_FMA || u == v || whole(&column) || whole(&row)
    }

    /// Whether every operand can be written.
    pub(crate) fn is_written(&self, locals: &[LocalInfo], lanes: &Lanes<'_>) -> bool {
        !lanes.masked()
            && self.says_its_sides(lanes)
            && self.operands_in(lanes.var).all(|operand| match operand {
                Ok((word, _, count)) => {
                    let active = Ix::Lit(count);
                    let lanes = Lanes { var: lanes.var, count, active: &active, stmt: lanes.stmt };
                    crate::vectors::word_is_written(locals, &word, &lanes)
                }
                Err(_) => true,
            })
    }
}

impl Instr {
    /// The word of a lane of the result.
    pub fn word(&self, operands: &[Operand], lane: &Ix) -> Word {
        let mut indices = Subst::var(self.lane, lane.clone());
        for (param, operand) in self.params.iter().zip(operands) {
            if let (InstrParam::Index(v), Operand::Index(ix)) = (param, operand) {
                indices.vars.insert(*v, ix.clone());
            }
        }
        self.filled(&self.body, &indices, operands)
    }

    fn filled(&self, word: &Word, indices: &Subst, operands: &[Operand]) -> Word {
        let all = |words: &[Word]| words.iter().map(|w| self.filled(w, indices, operands)).collect();
        match word {
            Word::Local(l, at) => match (self.operand(*l, operands), at.as_slice()) {
                (Some(Operand::Vector(of)), [lane]) => of.at(&indices.ix(lane)),
                _ => word.clone(),
            },
            Word::Op { op, arith, args } => Word::Op { op: *op, arith: *arith, args: all(args) },
            Word::Apply(f, args) => Word::Apply(*f, all(args)),
            Word::If(g, a, b) => Word::If(
                Box::new(indices.guard(g)),
                Box::new(self.filled(a, indices, operands)),
                Box::new(self.filled(b, indices, operands)),
            ),
            // A body has nothing else: see `fault`.
            other => indices.word(other),
        }
    }

    fn operand<'o>(&self, local: Local, operands: &'o [Operand]) -> Option<&'o Operand> {
        let at = self.params.iter().position(|p| *p == InstrParam::Vector(local))?;
        operands.get(at)
    }

    /// What it would have to be applied to, to have this word in a lane.
    fn operands(&self, word: &Word, lane: Var) -> Option<Vec<Operand>> {
        let operands = operands::found(self, word, lane)?;
        (self.word(&operands, &Ix::Var(lane)) == *word).then_some(operands)
    }

    /// The name of a parameter.
    pub fn param_name(&self, param: InstrParam) -> &str {
        match param {
            InstrParam::Vector(l) => self.locals.get(l.index()).map_or("?", |i| &i.name),
            InstrParam::Index(v) => self.vars.get(v.index()).map_or("?", |i| &i.name),
        }
    }

    /// The element and the number of lanes of a parameter that is a vector.
    pub fn param_vector(&self, param: InstrParam) -> Option<(Elem, i64)> {
        let InstrParam::Vector(l) = param else { return None };
        let info = self.locals.get(l.index())?;
        match (&info.ty, info.dims.as_slice()) {
            (Ty::Elem(e), [n]) => Some((*e, *n)),
            _ => None,
        }
    }

    /// A function that does nothing but fill a vector with its result. It has the types that the instruction has, and no
    /// more of a meaning: all operands are zero.
    pub(crate) fn as_function(&self) -> Fun {
        let mut fun = Fun::named(&self.name);
        fun.vars = self.vars.clone();
        fun.locals = self.locals.clone();
        let at = At::default();
        let mut body: Vec<Stmt> = Vec::new();
        let zero = |elem: Elem| Word::Lit(Lit { elem, bits: 0 });
        for p in &self.params {
            match *p {
                InstrParam::Vector(local) => {
                    let init = zero(self.param_vector(*p).map_or(Elem::F32, |v| v.0));
                    body.push(Stmt { kind: StmtKind::Var { local, init }, span: at });
                    // Nothing fills it.
                    if let Some(info) = fun.locals.get_mut(local.index()) {
                        (info.vector, info.mutable) = (true, true);
                    }
                }
                InstrParam::Index(v) => fun.sizes.push(v),
            }
        }
        let ty = Ty::Elem(self.elem);
        let result = LocalInfo { name: "result".into(), ty, dims: vec![self.lanes], vector: true, mutable: true };
        let local = fun.add_local(result);
        body.push(Stmt { kind: StmtKind::Var { local, init: zero(self.elem) }, span: at });
        let one = StmtKind::Assign { local, at: vec![Ix::Var(self.lane)], word: self.body.clone() };
        let domain = Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(self.lanes) };
        let lanes = StmtKind::For { var: self.lane, domain, body: vec![Stmt { kind: one, span: at }] };
        body.push(Stmt { kind: lanes, span: at });
        fun.body = body;
        fun
    }

    /// What is wrong with it, beside the types of its body.
    pub fn fault(&self) -> Option<String> {
        let name = &self.name;
        if self.elem == Elem::Bool {
            return Some(format!("`{name}` gives no numbers"));
        }
        if !(1..=crate::vectors::MAX_LANES).contains(&self.lanes) {
            return Some(format!("`{name}` has {} lanes", self.lanes));
        }
        for p in &self.params {
            let vector = self.param_vector(*p);
            let numbers = vector.is_some_and(|(elem, _)| elem != Elem::Bool);
            if matches!(p, InstrParam::Vector(_)) && !numbers {
                return Some(format!("`{name}` has a parameter that is no vector of numbers"));
            }
        }
        let mut closed = Closed(true);
        closed.word(&self.body);
        if !closed.0 {
            return Some(format!("the body of `{name}` is not made of cells, operations and choices alone"));
        }
        self.outside().or_else(|| self.templates.iter().find_map(|t| t.fault(self)).map(|(_, text)| text))
    }
}

/// Whether a body has only what [`Instr::body`] says.
struct Closed(bool);

impl Visit for Closed {
    fn word(&mut self, word: &Word) {
        self.0 &= matches!(
            word,
            Word::Lit(_) | Word::Index(..) | Word::Local(..) | Word::Op { .. } | Word::Apply(..) | Word::If(..)
        );
        visit_word(self, word);
    }
}
