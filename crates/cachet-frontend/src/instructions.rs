//! Instructions: `instr fn`, its reference body as the word of one lane, and uses of it.
//!
//! A body is a vector expression over the parameters, or says lane by lane what the result is:
//!
//! ```text
//! var sums: Vec f32 4 = acc
//! for l in 0 .. 4 do
//!   sums[l] = fma a[2 * l] b[2 * l] acc[l]
//! sums
//! ```
//!
//! `let`s and sums of a literal length in it are written out.

mod body;
mod template;

use crate::elaborate::{Body, Done, Meaning, Reported, World};
use crate::scope::{self, ItemRef};
use cachet_core::instr::{Instr, InstrParam, LaneWord, MAX_SIDE, OUTER_ELEMENTS, OUTER_FMA, Operand, outer_fma};
use cachet_core::ir::{Elem, InstrId, Ix, Ty, Var, VarKind, Word};
use cachet_source::{Diagnostic, codes};
use cachet_syntax::ast::{self, Expr, ExprKind, Ident, Item, Type};

/// An instruction.
pub(crate) fn item(world: &mut World<'_>, r: ItemRef, i: &ast::Instr) -> Done<()> {
    if let Some(p) = i.tparams.first() {
        return Err(world.report(Diagnostic::not_built(p.span, "type parameters of instructions")));
    }
    let mut body = Body::new(r.unit);
    let mut params = Vec::new();
    for p in &i.params {
        params.push(world.instr_param(&mut body, p)?);
    }
    let (elem, lanes) = world.instr_vector(&body, &i.result)?;
    let (lane, word) = body::word(world, &mut body, i, (elem, lanes))?;
    for t in &i.templates {
        if i.templates.iter().filter(|o| o.target.name == t.target.name).count() > 1 {
            let message = format!("`{}` has two templates for `{}`", i.name.name, t.target.name);
            return Err(world.report(Diagnostic::error(codes::DUPLICATE_NAME, t.span, message)));
        }
    }
    let templates = i.templates.iter().map(template::read).collect();
    let name = i.name.name.clone();
    let (vars, locals) = (body.vars, body.locals);
    let made = Instr { name, params, elem, lanes, lane, body: word, vars, locals, templates };
    body::inside(world, i, &made)?;
    for (template, written) in made.templates.iter().zip(&i.templates) {
        template::check(world, &made, template, written)?;
    }
    world.instrs.insert(r, InstrId(world.module.program.instrs.len() as u32));
    world.module.program.instrs.push(made);
    Ok(())
}

impl World<'_> {
    /// The update of a block by an outer product, for each element.
    pub(crate) fn outer_fmas(&mut self, rows: i64, columns: i64) -> Vec<InstrId> {
        let sides = 1..=MAX_SIDE;
        if !sides.contains(&rows) || !sides.contains(&columns) {
            // No tile is a multiple of it.
            return vec![];
        }
        OUTER_ELEMENTS.map(|elem| self.built_in(outer_fma(elem, rows, columns))).to_vec()
    }

    /// The update by an outer product that a use means: its first two operands, which have names, say element and sides.
    fn outer_applied(&mut self, body: &Body, args: &[Expr]) -> Option<InstrId> {
        let vector = |e: &Expr| match body.find(&e.as_ident()?.name)? {
            Meaning::Local(l) => {
                let info = &body.locals[l.index()];
                match (&info.ty, info.dims.as_slice()) {
                    (Ty::Elem(elem), [n]) if info.vector && (1..=MAX_SIDE).contains(n) => Some((*elem, *n)),
                    _ => None,
                }
            }
            _ => None,
        };
        let (elem, rows, columns) = match [vector(args.first()?), vector(args.get(1)?)] {
            [Some((elem, rows)), Some((other, columns))] => (elem == other).then_some((elem, rows, columns))?,
            // A slice does not say its length; the block has as many lanes as both sides make.
            sides => {
                let block = match &args.get(2)?.kind {
                    ExprKind::Index { base, .. } => base.as_ident()?,
                    _ => args.get(2)?.as_ident()?,
                };
                let Meaning::Local(l) = body.find(&block.name)? else { return None };
                let info = body.locals.get(l.index()).filter(|i| i.vector)?;
                let (Ty::Elem(elem), Some(lanes)) = (&info.ty, info.dims.last()) else { return None };
                let other = |n: i64| (lanes % n == 0).then_some(lanes / n);
                let (rows, columns) = match sides {
                    [Some((_, rows)), _] => (rows, other(rows)?),
                    [None, Some((_, columns))] => (other(columns)?, columns),
                    [None, None] => (1..=MAX_SIDE).find(|n| n * n == *lanes).map(|n| (n, n))?,
                };
                (*elem, rows, columns)
            }
        };
        OUTER_ELEMENTS.contains(&elem).then(|| self.built_in(outer_fma(elem, rows, columns)))
    }

    /// The number of an instruction that is not declared.
    fn built_in(&mut self, instr: Instr) -> InstrId {
        let instrs = &mut self.module.program.instrs;
        let at = instrs.iter().position(|i| *i == instr).unwrap_or_else(|| {
            instrs.push(instr);
            instrs.len() - 1
        });
        InstrId(at as u32)
    }

    fn instr_param(&mut self, body: &mut Body, p: &ast::Param) -> Done<InstrParam> {
        if p.mode.is_some() || p.ty.layout.is_some() || p.ty.level.is_some() {
            let d = Diagnostic::error(codes::MODE, p.span, "an instruction takes vectors and indices, not arrays");
            return Err(self.report(d));
        }
        self.fresh(body, &p.name)?;
        if p.ty.ty.as_path().is_some_and(|t| t.text() == "Nat") {
            let v = body.add_var(&p.name.name, VarKind::Size);
            body.bind(&p.name, Meaning::Var(v));
            return Ok(InstrParam::Index(v));
        }
        let (elem, lanes) = self.instr_vector(body, &p.ty.ty)?;
        let local = body.add_local(&p.name.name, Ty::Elem(elem), false);
        let info = &mut body.locals[local.index()];
        (info.dims, info.vector) = (vec![lanes], true);
        body.bind(&p.name, Meaning::Local(local));
        Ok(InstrParam::Vector(local))
    }

    fn instr_vector(&mut self, body: &Body, ty: &Type) -> Done<(Elem, i64)> {
        match self.vector_type(body, ty)? {
            Some((Elem::Bool, _)) => {
                let d = Diagnostic::error(codes::TYPE_MISMATCH, ty.span, "an instruction works on numbers");
                Err(self.report(d))
            }
            Some(vector) => Ok(vector),
            None => {
                // A type that is none says so first.
                self.word_type(body, ty)?;
                let d = Diagnostic::not_built(ty.span, "instructions on single words");
                Err(self.report(d.help("one that works on one word works on a vector of one lane: `Vec f32 1`")))
            }
        }
    }

    /// The instruction that an expression applies.
    pub(crate) fn applied_instr<'e>(
        &mut self,
        body: &Body,
        e: &'e Expr,
    ) -> Done<Option<(InstrId, &'e Ident, &'e [Expr])>> {
        let ExprKind::Apply { head, targs, args } = &e.kind else { return Ok(None) };
        let (Some(name), true) = (head.as_ident(), targs.is_empty()) else { return Ok(None) };
        if body.find(&name.name).is_some() {
            return Ok(None);
        }
        let Some(r) = self.scope.find(body.unit, &name.name) else {
            if name.name != OUTER_FMA {
                return Ok(None);
            }
            if let Some(id) = self.outer_applied(body, args) {
                return Ok(Some((id, name, args)));
            }
            let message = format!("`{OUTER_FMA}` takes a column, a row and a block of one element, f32 or f64");
            let d = Diagnostic::error(codes::TYPE_MISMATCH, e.span, message);
            let help = "name the column and the row first, as vectors: `let column: Vec f32 4 = ..`";
            return Err(self.report(d.help(help)));
        };
        if !matches!(self.loaded.units[r.unit].ast.items[r.item], Item::Instr(_)) {
            return Ok(None);
        }
        match self.instrs.get(&r) {
            Some(id) => Ok(Some((*id, name, args))),
            // Its own report has been given.
            None => Err(Reported),
        }
    }

    /// The element and the lanes of what an expression gives that applies an instruction.
    pub(crate) fn instr_result(&mut self, body: &Body, e: &Expr) -> Done<Option<(Elem, i64)>> {
        let found = self.applied_instr(body, e)?;
        Ok(found.and_then(|(id, ..)| self.module.program.instrs.get(id.index())).map(|i| (i.elem, i.lanes)))
    }

    /// The word of a lane of an instruction's result, where a vector statement is a use of one; the lanes are marked.
    pub(crate) fn instr_word(
        &mut self,
        body: &mut Body,
        (lane, count, active): (Var, i64, &Ix),
        value: &Expr,
        ty: &Ty,
    ) -> Done<Option<Word>> {
        let Some((id, name, args)) = self.applied_instr(body, value)? else { return Ok(None) };
        let Some(instr) = self.module.program.instrs.get(id.index()).cloned() else { return Err(Reported) };
        self.instr_arity(&instr, name, args, value)?;
        if (count, ty) != (instr.lanes, &Ty::Elem(instr.elem)) {
            let message = format!("`{}` gives `Vec {} {}`", instr.name, instr.elem, instr.lanes);
            let d = Diagnostic::error(codes::TYPE_MISMATCH, value.span, message);
            return Err(self.report(d.note(format!("`Vec {} {count}` is wanted here", self.ty_text(body, ty)))));
        }
        if *active != Ix::Lit(count) {
            let d = Diagnostic::error(codes::TYPE_MISMATCH, value.span, "an instruction gives all of its lanes");
            return Err(self.report(d.help("name its result first, and store that under the mask")));
        }
        let mut operands = Vec::new();
        for (param, arg) in instr.params.iter().zip(args) {
            operands.push(match instr.param_vector(*param) {
                Some((elem, count)) => Operand::Vector(self.instr_operand(body, arg, elem, count)?),
                None => Operand::Index(self.ix(body, arg)?),
            });
        }
        body.vars[lane.index()].kind = VarKind::Instr(count, id);
        Ok(Some(instr.word(&operands, &Ix::Var(lane))))
    }

    fn instr_arity(&mut self, instr: &Instr, name: &Ident, args: &[Expr], value: &Expr) -> Done<()> {
        let wanted = instr.params.len();
        if args.len() == wanted {
            return Ok(());
        }
        let plural = if wanted == 1 { "" } else { "s" };
        let message = format!("`{}` takes {wanted} operand{plural}, and {}", name.name, scope::given(args.len()));
        let names: Vec<String> = instr.params.iter().map(|p| format!("`{}`", instr.param_name(*p))).collect();
        let d = Diagnostic::error(codes::ARITY, value.span, message);
        Err(self.report(d.note(format!("they are {}", names.join(", ")))))
    }

    fn instr_operand(&mut self, body: &mut Body, arg: &Expr, elem: Elem, count: i64) -> Done<LaneWord> {
        if self.applied_instr(body, arg)?.is_some() {
            let d = Diagnostic::error(codes::TYPE_MISMATCH, arg.span, "an instruction's result has a name of its own");
            return Err(self.report(d.help("name it first: `let x = ..`")));
        }
        let lane = body.add_var("l", VarKind::Lane(count));
        let word = self.lanes_of(body, (lane, count), arg, &Ty::Elem(elem))?;
        Ok(LaneWord::of(&word, lane))
    }
}
