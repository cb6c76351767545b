//! Words: each gets its type, so that operations know their elements.

use super::{Compiler, Made};
use crate::interpret::code::{
    ApplyCode, Cell, FoldCode, LocalCell, PartCode, PrimCode, ReduceCode, SelectCode, Word as Code,
};
use crate::ir::{Access, Binding, Device, Elem, Fold, Local, Op, Prim, PureId, Reduce, Ty, Word};
use crate::validate::primitive;

impl Compiler<'_, '_> {
    /// A word and its type.
    pub(in super::super) fn word(&mut self, word: &Word) -> Made<(Code, Ty)> {
        self.down()?;
        let out = self.word_inside(word)?;
        self.up();
        Ok(out)
    }

    fn word_inside(&mut self, word: &Word) -> Made<(Code, Ty)> {
        Ok(match word {
            Word::Lit(l) => (Code::Lit(l.bits), Ty::Elem(l.elem)),
            Word::Index(ix, e) => (Code::Index(self.index(ix)?, *e), Ty::Elem(*e)),
            Word::Load(a) => {
                let cell = self.cell(a)?;
                let ty = self.buffers[a.buffer.index()].elem.clone();
                (Code::Load(Box::new(cell)), ty)
            }
            Word::Local(l, at) => self.read_local(*l, at)?,
            Word::Op { op: Op::Prim(p), arith, args } => self.primitive(*p, *arith, args)?,
            Word::Op { op: Op::Method(param, m), arith: _, args } => {
                let bound = self.types.get(param.index());
                let Some(Binding::Impl(i)) = bound else {
                    return Err(self.malformed("an operation of an unbound type"));
                };
                let method = self.all.program.impls.get(i.index()).and_then(|i| i.methods.get(*m as usize));
                let Some(pure) = method else { return Err(self.malformed("an implementation without this operation")) };
                self.apply(*pure, args)?
            }
            Word::Apply(f, args) => self.apply(*f, args)?,
            Word::Tuple(parts) => {
                let (mut codes, mut types) = (Vec::new(), Vec::new());
                for p in parts {
                    let (code, ty) = self.word(p)?;
                    codes.push((code, self.width(&ty)?));
                    types.push(ty);
                }
                (Code::Tuple(codes), Ty::Tuple(types.into()))
            }
            Word::Part(w, n) => self.part(w, *n)?,
            Word::Let(l, a, b) => {
                let (a, ty) = self.word(a)?;
                let (slot, width) = self.single(*l, &ty)?;
                let (b, out) = self.word(b)?;
                (Code::Let(slot, width, Box::new((a, b))), out)
            }
            Word::If(g, a, b) => {
                let g = self.cond(g)?;
                let ((a, ty), (b, other)) = (self.word(a)?, self.word(b)?);
                if ty != other {
                    return Err(self.malformed("the two sides of a choice have different types"));
                }
                (Code::If(Box::new((g, a, b))), ty)
            }
            Word::Fold(f) => self.fold(f)?,
            Word::Reduce(r) => self.reduce(r)?,
            Word::Differing(a, b) => {
                let (Some(x), Some(y)) = (self.buffers.get(a.index()), self.buffers.get(b.index())) else {
                    return Err(self.malformed("a buffer without an entry"));
                };
                if x.elem != y.elem || x.extents.len() != y.extents.len() {
                    return Err(self.malformed("`differing` compares arrays of two types"));
                }
                let elems = crate::interpret::array::flatten(&x.elem).unwrap_or_default();
                (Code::Differing(a.0, b.0, elems), Ty::Elem(Elem::I64))
            }
        })
    }

    /// A cell of a buffer.
    pub(super) fn cell(&mut self, access: &Access) -> Made<Cell> {
        let rank = self.buffers.get(access.buffer.index()).map(|b| b.extents.len());
        if rank != Some(access.at.len()) {
            return Err(self.malformed("an access with the wrong number of subscripts"));
        }
        let at = access.at.iter().map(|i| self.index(i)).collect::<Made<Vec<_>>>()?;
        Ok(Cell { buffer: access.buffer.0, at, text: self.names.access(access), span: access.span })
    }

    fn read_local(&mut self, local: Local, at: &[crate::ir::Ix]) -> Made<(Code, Ty)> {
        let cell = self.local_cell(local, at)?;
        let ty = self.slots[local.index()].2.clone();
        if at.is_empty() {
            Ok((Code::Local(cell.slot, cell.width), ty))
        } else {
            Ok((Code::LocalCell(Box::new(cell)), ty))
        }
    }

    /// A local or a cell of it.
    pub(super) fn local_cell(&mut self, local: Local, at: &[crate::ir::Ix]) -> Made<LocalCell> {
        let Some((slot, width, _)) = self.slots.get(local.index()) else {
            return Err(self.malformed("a local without an entry"));
        };
        let (slot, width) = (*slot, *width);
        let info = &self.locals[local.index()];
        if info.dims.len() != at.len() {
            return Err(self.malformed(format!("`{}` with the wrong number of subscripts", info.name)));
        }
        let at = at.iter().map(|i| self.index(i)).collect::<Made<Vec<_>>>()?;
        Ok(LocalCell { slot, width, dims: info.dims.clone(), at, name: info.name.clone() })
    }

    /// Slot and width of a local that is a single word of this type.
    pub(super) fn single(&self, local: Local, ty: &Ty) -> Made<(u32, u32)> {
        match self.slots.get(local.index()) {
            Some((slot, width, own)) if own == ty && self.locals[local.index()].dims.is_empty() => Ok((*slot, *width)),
            Some(_) => Err(self.malformed(format!("`{}` gets a word of another type", self.names.local(local)))),
            None => Err(self.malformed("a local without an entry")),
        }
    }

    fn primitive(&mut self, prim: Prim, arith: Device, args: &[Word]) -> Made<(Code, Ty)> {
        let Some(device) = self.all.program.devices.get(arith.index()) else {
            return Err(self.malformed("an operation of an unknown device"));
        };
        let flush = device.flush_subnormals;
        let (mut codes, mut types) = (Vec::new(), Vec::new());
        for a in args {
            let (code, ty) = self.word(a)?;
            codes.push(code);
            types.push(ty);
        }
        let Some(result) = primitive(prim, &types) else {
            return Err(self.malformed(format!("`{prim}` does not take these operands")));
        };
        // The operands of a choice are those it chooses from.
        let of = if prim == Prim::Select { types.get(1) } else { types.first() };
        let elem = match of {
            Some(Ty::Elem(e)) => *e,
            _ => return self.select(codes, result),
        };
        let code = match (prim, elem, flush, <[Code; 3]>::try_from(codes)) {
            (Prim::Fma, Elem::F32, false, Ok(args)) => Code::Fma32(Box::new(args)),
            (.., Ok(args)) => Code::Prim(Box::new(PrimCode { prim, elem, flush, args: args.into() })),
            (.., Err(args)) => Code::Prim(Box::new(PrimCode { prim, elem, flush, args })),
        };
        Ok((code, result))
    }

    fn select(&mut self, codes: Vec<Code>, result: Ty) -> Made<(Code, Ty)> {
        let width = self.width(&result)?;
        let Ok([cond, a, b]) = <[Code; 3]>::try_from(codes) else {
            return Err(self.malformed("a choice without three operands"));
        };
        let temp = self.temp(width as usize)?;
        Ok((Code::Select(Box::new(SelectCode { cond, sides: (a, b), temp, width })), result))
    }

    fn apply(&mut self, pure: PureId, args: &[Word]) -> Made<(Code, Ty)> {
        let chain = self.chain + 1;
        let at = self.all.pure(pure, chain)?;
        self.deepest = self.deepest.max(self.depth + self.all.pure_code(at).depth);
        let program = self.all.program;
        let source = &program.pures[pure.index()];
        if source.params.len() != args.len() {
            return Err(self.malformed(format!("`{}` has another number of parameters", source.name)));
        }
        let mut gathered = Vec::new();
        for (p, a) in source.params.iter().zip(args) {
            let (code, ty) = self.word(a)?;
            if source.locals.get(p.index()).map(|l| &l.ty) != Some(&ty) {
                return Err(self.malformed(format!("an argument of `{}` has another type", source.name)));
            }
            let width = self.width(&ty)?;
            gathered.push((code, self.temp(width as usize)?));
        }
        Ok((Code::Apply(Box::new(ApplyCode { pure: at, args: gathered })), source.result.clone()))
    }

    fn part(&mut self, of: &Word, n: u32) -> Made<(Code, Ty)> {
        let (code, ty) = self.word(of)?;
        let Ty::Tuple(parts) = &ty else { return Err(self.malformed("a part of something without parts")) };
        let Some(part) = parts.get(n as usize).cloned() else {
            return Err(self.malformed("a part that does not exist"));
        };
        let mut first = 0;
        for p in &parts[..n as usize] {
            first += self.width(p)?;
        }
        let width = self.width(&part)?;
        let code = match code {
            Code::Local(slot, _) => Code::Local(slot + first, width),
            of => {
                let temp = self.width(&ty)?;
                Code::Part(Box::new(PartCode { of, temp: self.temp(temp as usize)?, first, width }))
            }
        };
        Ok((code, part))
    }

    fn fold(&mut self, f: &Fold) -> Made<(Code, Ty)> {
        let range = self.range(f.var, &f.domain)?;
        let (init, ty) = self.word(&f.init)?;
        let (acc, width) = self.single(f.acc, &ty)?;
        let (body, next) = self.word(&f.body)?;
        if ty != next {
            return Err(self.malformed("a total changes its type"));
        }
        let temp = self.temp(width as usize)?;
        Ok((Code::Fold(Box::new(FoldCode { range, acc, temp, width, init, body })), ty))
    }

    fn reduce(&mut self, r: &Reduce) -> Made<(Code, Ty)> {
        let range = self.range(r.var, &r.domain)?;
        let (empty, ty) = self.word(&r.empty)?;
        let (element, each) = self.word(&r.element)?;
        let (a, width) = self.single(r.operands.0, &ty)?;
        let (b, _) = self.single(r.operands.1, &ty)?;
        let (combine, joined) = self.word(&r.combine)?;
        if each != ty || joined != ty {
            return Err(self.malformed("the terms of a reduction have different types"));
        }
        let temp = self.temp(width as usize)?;
        let code =
            ReduceCode { range, shape: r.shape, operands: (a, b), temp, width, element, combine, empty, span: r.span };
        Ok((Code::Reduce(Box::new(code)), ty))
    }
}
