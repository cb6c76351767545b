//! Words, cells and types of `to`.

use super::Build;
use crate::capture::{Arg, Held, PLACEHOLDER};
use crate::tidy;
use cachet_core::ir::{Access, At, Elem, Fold, Ix, Lit, Local, Op, Prim, Stmt, StmtKind, Ty, Var, Word};
use cachet_core::pattern::{PatCell, PatIx, PatSubst, PatTy, PatWord};
use cachet_core::rewrite::{Live, Visit, refresh};
use cachet_source::Diagnostic;

impl Build<'_> {
    /// A cell.
    pub(super) fn cell(&mut self, cell: &PatCell) -> Result<Access, Diagnostic> {
        match cell {
            PatCell::Hole(name, substs) => {
                let Some(Held::Cell(access)) = self.capture.held.get(name) else { return Err(self.unbound(name)) };
                let overrides = self.overrides(substs)?;
                let mut live = Live::default();
                live.load(access);
                Ok(tidy::access(&self.current(name, &live, &overrides)?.access(access)))
            }
            PatCell::Named(name, at) => {
                let Some(Arg::Buffer(buffer)) = self.args.get(name) else { return Err(self.unbound(name)) };
                let buffer = *buffer;
                let at = at.iter().map(|i| self.ix(i)).collect::<Result<Vec<_>, _>>()?;
                Ok(Access { buffer, at, span: At::default() })
            }
        }
    }

    /// `[k := e]` as replacements of the variables that `from` bound.
    pub(super) fn overrides(&mut self, substs: &[PatSubst]) -> Result<Vec<(Var, Ix)>, Diagnostic> {
        let mut out = Vec::new();
        for s in substs {
            match s {
                PatSubst::One(name, e) => {
                    let Some(bound) = self.capture.bound(name) else { return Err(self.unbound(name)) };
                    let Some(var) = bound.vars.first().copied() else { return Err(self.unbound(name)) };
                    let by = match e {
                        // A block takes a block's place, as in `[gi := q]`.
                        PatIx::Name(n) if self.vars.get(n).is_some_and(|v| self.is_block(*v)) => Ix::Var(self.vars[n]),
                        e => self.ix(e)?,
                    };
                    out.push((var, by));
                }
                PatSubst::All(name, to) => {
                    let Some(old) = self.capture.bound(name) else { return Err(self.unbound(name)) };
                    let Some(new) = self.ranks.get(to) else { return Err(self.unbound(to)) };
                    if old.vars.len() != new.len() {
                        let what = format!("`{name}..` has {} loops and `{to}..` {}", old.vars.len(), new.len());
                        return Err(self.unbuildable(&what));
                    }
                    out.extend(old.vars.iter().copied().zip(new.iter().map(|v| Ix::Var(*v))));
                }
            }
        }
        Ok(out)
    }

    /// A word; `ty` is what its place wants, for literals.
    pub(super) fn word(&mut self, pat: &PatWord, ty: Option<&Ty>) -> Result<Word, Diagnostic> {
        match pat {
            PatWord::Hole { name, inside, substs } => self.hole(name, inside.as_deref(), substs, ty),
            PatWord::Local(name) => Ok(Word::Local(self.local(name)?, vec![])),
            PatWord::Load(cell) => Ok(Word::Load(self.cell(cell)?)),
            PatWord::Float(text) => self.literal_word(text, ty),
            PatWord::Prim(p, args) => {
                // A comparison's operands are not of its own type, so literals among them take it from their neighbours.
                let wanted = if matches!(p, Prim::Eq | Prim::Lt | Prim::Le) { None } else { ty };
                let args = args.iter().map(|w| self.word(w, wanted)).collect::<Result<Vec<_>, _>>()?;
                Ok(Word::Op { op: Op::Prim(*p), arith: self.arith, args })
            }
            PatWord::If(g, a, b) => {
                let guard = self.guard(g)?;
                Ok(Word::If(Box::new(guard), Box::new(self.word(a, ty)?), Box::new(self.word(b, ty)?)))
            }
            PatWord::Fold { var, domain, acc, ty: acc_ty, init, body } => {
                let domain = self.domain(domain)?;
                let total = self.pattern_ty(acc_ty.as_ref())?;
                let total = total.or_else(|| ty.cloned());
                let init = self.word(init, total.as_ref())?;
                let fresh = self.make_loop(var, super::kind_of(&domain));
                let outer_var = self.vars.insert(var.clone(), fresh);
                let outer_acc = self.locals.get(acc).copied();
                let acc_local = self.declare(acc, &init, total.clone(), false)?;
                let body = self.word(body, total.as_ref())?;
                let regroup = self.capture.bound(var).is_some_and(|b| b.regroup);
                super::restore(&mut self.vars, var, outer_var);
                super::restore(&mut self.locals, acc, outer_acc);
                Ok(Word::Fold(Box::new(Fold {
                    var: fresh,
                    domain,
                    acc: acc_local,
                    init,
                    body,
                    regroup,
                    span: At::default(),
                })))
            }
        }
    }

    fn hole(
        &mut self,
        name: &str,
        inside: Option<&PatWord>,
        substs: &[PatSubst],
        ty: Option<&Ty>,
    ) -> Result<Word, Diagnostic> {
        let Some(Held::Word(word, hole)) = self.capture.held.get(name) else { return Err(self.unbound(name)) };
        let (word, hole) = (word.clone(), *hole);
        let overrides = self.overrides(substs)?;
        // What goes inside is a text of its own, under the same replacements: `$post[load $cell][i.. := zi..]` reads and
        // surrounds the cell at `zi`.
        let filling = match inside {
            Some(w) => {
                let saved = self.vars.clone();
                let saved_ranks = self.ranks.clone();
                self.rebind(substs);
                let outer = self.forced.len();
                self.forced.extend(overrides.iter().cloned());
                let word = self.word(w, ty);
                self.forced.truncate(outer);
                (self.vars, self.ranks) = (saved, saved_ranks);
                let word = word?;
                Some(word)
            }
            None => None,
        };
        let mut subst = self.current(name, &Live::of_word(&word), &overrides)?;
        if let (Some(hole), Some(filling)) = (hole, &filling) {
            subst.locals.insert(hole, filling.clone());
        }
        let put = self.refreshed(&subst.word(&word));
        // Without brackets, `$step` continues with the running total where `to` has one of that name.
        let open = Live::of_word(&put).locals.into_iter().find(|l| l.0 >= PLACEHOLDER || self.is_gone(*l));
        if open.is_some() { Err(self.unbound(&format!("{name}[..]"))) } else { Ok(put) }
    }

    /// Whether a local was declared by what is replaced.
    fn is_gone(&self, local: Local) -> bool {
        self.capture.locals.iter().any(|(_, l)| *l == local)
    }

    /// Lets a rank's name mean another nest, for the text inside brackets.
    fn rebind(&mut self, substs: &[PatSubst]) {
        for s in substs {
            if let PatSubst::All(name, to) = s
                && let Some(vars) = self.ranks.get(to).cloned()
            {
                self.ranks.insert(name.clone(), vars);
            }
        }
    }

    /// The word with fresh ids for what it binds.
    fn refreshed(&mut self, word: &Word) -> Word {
        let carrier = vec![Stmt { kind: StmtKind::Print(word.clone()), span: At::default() }];
        match refresh(self.fun, &carrier).pop().map(|s| s.kind) {
            Some(StmtKind::Print(w)) => w,
            _ => word.clone(),
        }
    }

    pub(super) fn pattern_ty(&self, ty: Option<&PatTy>) -> Result<Option<Ty>, Diagnostic> {
        match ty {
            None => Ok(None),
            Some(PatTy::Elem(e)) => Ok(Some(Ty::Elem(*e))),
            Some(PatTy::Hole(name)) => match self.capture.held.get(name) {
                Some(Held::Ty(t)) => Ok(Some(t.clone())),
                _ => Err(self.unbound(name)),
            },
        }
    }

    /// The type of a word that `to` built, where it can be read off.
    pub(super) fn type_of(&self, word: &Word) -> Option<Ty> {
        match word {
            Word::Lit(l) => Some(Ty::Elem(l.elem)),
            Word::Index(_, e) => Some(Ty::Elem(*e)),
            Word::Load(a) => Some(self.fun.buffers[a.buffer.index()].elem.clone()),
            Word::Local(l, _) => Some(self.fun.locals[l.index()].ty.clone()),
            Word::Op { op: Op::Method(p, _), .. } => Some(Ty::Abstract(*p)),
            Word::Op { op: Op::Prim(p), args, .. } => match p {
                Prim::Eq | Prim::Lt | Prim::Le | Prim::And | Prim::Or | Prim::Not => Some(Ty::Elem(Elem::Bool)),
                Prim::Cast(e) | Prim::WrappingCast(e) | Prim::SaturatingCast(e) | Prim::FromBits(e) => {
                    Some(Ty::Elem(*e))
                }
                Prim::Select => self.type_of(args.get(1)?),
                Prim::ToBits => Some(Ty::Elem(match self.type_of(args.first()?)? {
                    Ty::Elem(e) => bits_of(e),
                    Ty::Abstract(_) | Ty::Tuple(_) => return None,
                })),
                Prim::Add
                | Prim::Sub
                | Prim::Mul
                | Prim::Div
                | Prim::Rem
                | Prim::WrappingAdd
                | Prim::WrappingSub
                | Prim::WrappingMul
                | Prim::Fma
                | Prim::Max
                | Prim::Min
                | Prim::Neg
                | Prim::Abs
                | Prim::Sqrt => self.type_of(args.first()?),
            },
            Word::If(_, a, _) => self.type_of(a),
            Word::Let(_, _, b) => self.type_of(b),
            Word::Fold(f) => self.type_of(&f.init),
            Word::Reduce(r) => self.type_of(&r.empty),
            Word::Tuple(parts) => parts.iter().map(|w| self.type_of(w)).collect::<Option<_>>().map(Ty::Tuple),
            Word::Part(w, n) => match self.type_of(w)? {
                Ty::Tuple(parts) => parts.get(*n as usize).cloned(),
                Ty::Elem(_) | Ty::Abstract(_) => None,
            },
            Word::Apply(f, _) => self.program.pures.get(f.index()).map(|p| p.result.clone()),
            Word::Differing(..) => Some(Ty::Elem(Elem::I64)),
        }
    }

    fn literal_word(&self, text: &str, ty: Option<&Ty>) -> Result<Word, Diagnostic> {
        let bits = match ty {
            Some(Ty::Elem(Elem::F64)) => {
                text.parse::<f64>().ok().filter(|x| x.is_finite()).map(|x| (Elem::F64, x.to_bits()))
            }
            Some(Ty::Elem(Elem::F32)) => {
                text.parse::<f32>().ok().filter(|x| x.is_finite()).map(|x| (Elem::F32, u64::from(x.to_bits())))
            }
            _ => None,
        };
        match bits {
            Some((elem, bits)) => Ok(Word::Lit(Lit { elem, bits })),
            None => Err(self.unbuildable(&format!("{text} stands where no `f32` or `f64` is stored"))),
        }
    }
}

/// The unsigned type of a float's width.
fn bits_of(e: Elem) -> Elem {
    match e.bytes() {
        8 => Elem::U64,
        4 => Elem::U32,
        2 => Elem::U16,
        _ => Elem::U8,
    }
}
