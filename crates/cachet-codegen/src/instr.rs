//! How does a use of an instruction become the text of its template?
//!
//! A vector statement that is a use of an instruction is given a template where the processor that the text is for has
//! one of the instruction's targets: the operands as whole vectors, the template's lines with their names in place of the
//! placeholders, the result stored. Every other statement is what it says, lane by lane. Which template is chosen rests
//! on [`Options`] alone.

use crate::Options;
use crate::emitter::BlockName;
use crate::function::{Index, Lower, Outcome};
use crate::lanes::{Piece, Vector};
use crate::memory::Bounds;
use crate::support::Support;
use crate::types::register;
use cachet_core::instr::{Applied, Instr, Operand, Piece as Part, Template, applied, pieces};
use cachet_core::ir::{Block, Domain, Elem, Ix, Local, StmtKind, Ty, Var, Word};
use cachet_core::vectors::{self, Lanes};
use std::collections::BTreeMap;

/// The template of an instruction that a processor understands, the first that is written.
pub fn template<'i>(instr: &'i Instr, options: &Options) -> Option<&'i Template> {
    instr.templates.iter().find(|t| has(options, &t.target))
}

/// What became of a vector statement.
pub(crate) enum Used {
    /// It has no template here.
    No,
    /// The template has done it.
    Whole,
    /// Where the matrix unit is free and large enough, the template has done it, and it goes on there; else it is still to
    /// be done.
    Unless(BlockName),
}

/// Whether a processor has a target: a feature by its name, with `_` for `-`, or an architecture by a feature that all of its kind have.
fn has(options: &Options, target: &str) -> bool {
    let feature = match target {
        "x86_64" => "sse2",
        "aarch64" => "neon",
        other => other,
    };
    let named = |f: &&str| f.get(1..).is_some_and(|f| f == feature || f.replace('-', "_") == feature);
    options.features.split(',').rfind(named).is_some_and(|f| f.starts_with('+'))
}

impl Lower<'_, '_> {
    /// A use of an instruction as its template, where there is one for it.
    pub(crate) fn instruction(&mut self, lanes: &Lanes<'_>) -> Outcome<Used> {
        let program = self.program;
        if lanes.masked() {
            return Ok(Used::No);
        }
        let Some(applied) = applied(program, &self.fun.vars, lanes) else { return Ok(Used::No) };
        let Some(template) = self.module.template(applied.id) else { return Ok(Used::No) };
        self.bind_var(lanes.var, Index::Plain("0".into()));
        self.known.set(lanes.var, Some(0));
        let done = match template.outer_product(applied.instr) {
            Some(product) => self.matrix_unit(&applied, product, lanes),
            None => self.through(&applied, template, lanes).map(|done| if done { Used::Whole } else { Used::No }),
        };
        self.known.set(lanes.var, None);
        done
    }

    /// An outer product by the matrix unit: all operands are vectors of the function's own, and the block that is added to
    /// is the one that is assigned.
    fn matrix_unit(
        &mut self,
        applied: &Applied<'_>,
        (side, parts): (i64, [usize; 3]),
        lanes: &Lanes<'_>,
    ) -> Outcome<Used> {
        self.blocks(applied, (side, parts), lanes, ("1", 1))
    }

    /// Blocks that lie one after another, each row of them with the same part of the column.
    fn blocks(
        &mut self,
        applied: &Applied<'_>,
        (side, parts): (i64, [usize; 3]),
        lanes: &Lanes<'_>,
        (count, across): (&str, i64),
    ) -> Outcome<Used> {
        let StmtKind::Assign { local: to, at: cell, .. } = &lanes.stmt.kind else { return Ok(Used::No) };
        if self.without_unit > 0 {
            return Ok(Used::No);
        }
        let mut addresses = Vec::new();
        for n in parts {
            let (Some(Operand::Vector(of)), Some(param)) = (applied.operands.get(n), applied.instr.params.get(n))
            else {
                return Ok(Used::No);
            };
            let Some((elem, _)) = applied.instr.param_vector(*param) else { return Ok(Used::No) };
            let Word::Local(local, at) = of.at(&Ix::Var(lanes.var)) else { return Ok(Used::No) };
            let added_to = n != parts[2] || (local, &at) == (*to, cell);
            if !added_to || !self.is_slice(local, &at, lanes.var, elem) {
                return Ok(Used::No);
            }
            addresses.push(self.lane_cell(local, &at)?);
        }
        let [column, row, acc] = addresses.as_slice() else { return Ok(Used::No) };
        let routine = if applied.instr.elem == Elem::F64 { Support::OuterF64 } else { Support::OuterF32 };
        self.module.needs(routine);
        let symbol = routine.symbol();
        let done = self.em.def(format_args!(
            "call i64 @{symbol}(ptr {acc}, ptr {column}, ptr {row}, i64 {side}, i64 {count}, i64 {across})"
        ));
        let done = self.em.def(format_args!("icmp ne i64 {done}, 0"));
        let (body, after) = (self.em.block(), self.em.block());
        self.em.branch(&done, &after, &body);
        self.em.open(&body);
        Ok(Used::Unless(after))
    }

    /// A loop over blocks `b`, around an outer product of each: the unit is entered once for all of them. Block `b` takes part
    /// `b / n` of the column and part `b % n` of the row, where `n` blocks lie side by side.
    pub(crate) fn blocks_of(&mut self, var: Var, domain: &Domain, body: &Block) -> Outcome<Used> {
        let program = self.program;
        let (Domain::Range { lo: Ix::Lit(0), hi }, [stmt]) = (domain, body.as_slice()) else { return Ok(Used::No) };
        let Some(lanes) = vectors::of(&self.fun.vars, stmt).filter(|l| !l.masked()) else { return Ok(Used::No) };
        let Some(applied) = applied(program, &self.fun.vars, &lanes) else { return Ok(Used::No) };
        let Some(product) = self.module.template(applied.id).and_then(|t| t.outer_product(applied.instr)) else {
            return Ok(Used::No);
        };
        let Some(across) = side_by_side(&applied, product, var, &lanes) else { return Ok(Used::No) };
        let count = self.ix(hi)?;
        self.bind_var(lanes.var, Index::Plain("0".into()));
        self.known.set(lanes.var, Some(0));
        self.bind_var(var, Index::Plain("0".into()));
        self.known.set(var, Some(0));
        let done = self.blocks(&applied, product, &lanes, (&count, across));
        self.known.set(var, None);
        self.known.set(lanes.var, None);
        done
    }

    /// Whether a cell is a lane of so many that lie side by side in a local vector.
    fn is_slice(&self, local: Local, at: &[Ix], lane: Var, elem: Elem) -> bool {
        let own = self.fun.locals.get(local.index()).is_some_and(|i| i.vector && i.ty == Ty::Elem(elem));
        own && at.split_last().is_some_and(|(last, rows)| {
            vectors::first(last, lane).is_some() && rows.iter().all(|ix| !vectors::varies(ix, lane))
        })
    }

    fn through(&mut self, applied: &Applied<'_>, template: &Template, lanes: &Lanes<'_>) -> Outcome<bool> {
        let mut names: BTreeMap<&str, String> = BTreeMap::new();
        for (param, operand) in applied.instr.params.iter().zip(&applied.operands) {
            let name = match (operand, applied.instr.param_vector(*param)) {
                (Operand::Vector(of), Some(vector)) => {
                    let of = of.at(&Ix::Var(lanes.var));
                    if !applied.instr.reads_all(*param) && !self.is_there(&of, lanes.var, vector.1) {
                        return Ok(false);
                    }
                    match self.operand(&of, lanes.var, vector)? {
                        Some(name) => name,
                        None => return Ok(false),
                    }
                }
                (Operand::Index(ix), None) => self.ix(ix)?,
                (Operand::Vector(_), None) | (Operand::Index(_), Some(_)) => return Ok(false),
            };
            names.insert(applied.instr.param_name(*param), name);
        }
        let result = lines(template, &names, |line| self.em.def(line));
        let (elem, count) = (applied.instr.elem, applied.instr.lanes);
        let result = match float_type(elem) {
            Some(ty) => self.em.def(format_args!("bitcast <{count} x {ty}> {result} to {}", of(elem, count))),
            None => result,
        };
        match &lanes.stmt.kind {
            StmtKind::Assign { local, at, .. } => {
                let at = self.lane_cell(*local, at)?;
                let ty = of(elem, count);
                self.em.line(format_args!("store {ty} {result}, ptr {at}, align {}", elem.bytes()));
            }
            StmtKind::Store { to, .. } => {
                let piece = Piece { lane: lanes.var, offset: 0, width: count, mask: None };
                self.scatter(&piece, to, &Vector { elem, name: result })?;
            }
            _ => return Err(self.ill_formed("a vector statement that is neither a store nor an assignment")),
        }
        Ok(true)
    }

    /// Whether lanes of an operand that the body does not read can be read all the same.
    fn is_there(&self, word: &Word, lane: Var, count: i64) -> bool {
        match word {
            _ if !vectors::varies_word(word, lane) => !self.reads(word, lane),
            Word::Local(local, at) => self.has_cells_for(*local, at, lane, count),
            _ => false,
        }
    }

    /// All lanes of an operand as one vector, in the type that templates have for it.
    fn operand(&mut self, word: &Word, lane: Var, (elem, count): (Elem, i64)) -> Outcome<Option<String>> {
        let ty = of(elem, count);
        let name = match word {
            _ if !vectors::varies_word(word, lane) => {
                let value = self.word(word)?;
                self.splat(register(elem), value.only(), count)
            }
            Word::Local(local, at) => {
                if !self.is_slice(*local, at, lane, elem) {
                    return Ok(None);
                }
                let at = self.lane_cell(*local, at)?;
                self.em.def(format_args!("load {ty}, ptr {at}, align {}", elem.bytes()))
            }
            Word::Load(access) => {
                let buffer = self.buffer(access.buffer)?.clone();
                let piece = Piece { lane, offset: 0, width: count, mask: None };
                match self.lane_address(&piece, &buffer, &access.at, Bounds::Inside)? {
                    Some(at) => self.em.def(format_args!("load {ty}, ptr {at}, align {}", elem.bytes())),
                    None => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(match float_type(elem) {
            Some(float) => self.em.def(format_args!("bitcast {ty} {name} to <{count} x {float}>")),
            None => name,
        }))
    }
}

/// A template's lines, with names for its placeholders; `define` takes an operation and names its value. The name of the last.
pub(crate) fn lines(
    template: &Template,
    names: &BTreeMap<&str, String>,
    mut define: impl FnMut(String) -> String,
) -> String {
    let mut own: BTreeMap<&str, String> = BTreeMap::new();
    let mut last = String::from("poison");
    for line in &template.lines {
        let Some((name, made)) = line.split_once(" = ") else { continue };
        let text: String = pieces(made)
            .into_iter()
            .map(|piece| match piece {
                Part::Text(text) => text,
                // A template names nothing else: see `Template::fault`.
                Part::Value(v) => own.get(v).map_or("poison", String::as_str),
                Part::Placeholder(p) => names.get(p).map_or("poison", String::as_str),
                Part::Brace => "",
            })
            .collect();
        last = define(text);
        own.insert(name, last.clone());
    }
    last
}

/// How many blocks lie side by side where a loop over blocks takes them one after another, each with its parts.
fn side_by_side(applied: &Applied<'_>, (side, parts): (i64, [usize; 3]), block: Var, lanes: &Lanes<'_>) -> Option<i64> {
    let StmtKind::Assign { at: cell, .. } = &lanes.stmt.kind else { return None };
    if *cell != [Ix::Var(block), Ix::Var(lanes.var)] {
        return None;
    }
    let first = |n: usize| match applied.operands.get(n) {
        Some(Operand::Vector(of)) => match of.at(&Ix::Var(lanes.var)) {
            Word::Local(_, at) => match at.as_slice() {
                [ix] => vectors::first(ix, lanes.var),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    let (column, row) = (first(parts[0])?, first(parts[1])?);
    let part = |ix: Ix| if side == 1 { ix } else { Ix::Mul(side, Box::new(ix)) };
    let by = |make: fn(Box<Ix>, i64) -> Ix, n: i64| part(make(Box::new(Ix::Var(block)), n));
    match &row {
        Ix::Lit(0) => (column == part(Ix::Var(block))).then_some(1),
        Ix::Mul(_, place) => match &**place {
            Ix::Mod(_, n) if row == by(Ix::Mod, *n) && column == by(Ix::Div, *n) => Some(*n),
            _ => None,
        },
        _ => None,
    }
}

/// The type that templates have for floats which are kept as their bits.
pub(crate) fn float_type(elem: Elem) -> Option<&'static str> {
    match elem {
        Elem::F16 => Some("half"),
        Elem::BF16 => Some("bfloat"),
        Elem::F64
        | Elem::F32
        | Elem::I64
        | Elem::I32
        | Elem::I16
        | Elem::I8
        | Elem::U64
        | Elem::U32
        | Elem::U16
        | Elem::U8
        | Elem::Bool => None,
    }
}

fn of(elem: Elem, width: i64) -> String {
    format!("<{width} x {}>", register(elem))
}
