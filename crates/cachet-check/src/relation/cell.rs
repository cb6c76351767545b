//! CELL: a sum that is stored to a cell, read as updates of that cell.
//!
//! Theorem. With a word context `C`, a tuple `x` that does not mention `v`, and no load of `B` at `x` in `e` or in `C`
//! outside its hole,
//!
//! ```text
//! store B[x] = C[fold v in D from z as a do e]
//!   is   store B[x] = z;  for v in D do { let a = load B[x]; store B[x] = e };  store B[x] = C[load B[x]]
//! ```
//!
//! Both compute the same left fold; on the right the running total lives in `B[x]`, which nobody else reads meanwhile.
//! Where `D` is empty both leave `C[z]`. The first store is dropped where `z` is `load B[x]`, the last where `C` is
//! nothing but its hole: each would write a cell's own word back.
//!
//! Where `z` is a `let` that has just loaded that very cell, it is `load B[x]` as well.
//!
//! Near miss: a sum whose terms read the output under another subscript, `c[i, k]`: for some `k` that is its own cell.

use super::Relation;
use super::accesses::Place;
use super::find::{Found, shown};
use crate::condition::Kind;
use crate::events::FrameKind;
use cachet_core::ir::{Access, At, Block, Fold, Stmt, StmtKind, Word};
use cachet_core::pattern::LoopRef;
use cachet_core::rewrite::Live;
use cachet_source::Diagnostic;

impl Relation<'_> {
    /// Turns the fold named into updates of its cell. Where a loop of that name already updates cells there is nothing
    /// to do.
    pub(super) fn per_cell(&mut self, block: &mut Block, buffer: &str, wanted: &LoopRef) -> Result<(), Diagnostic> {
        let spot = match self.find(block, wanted)? {
            Found::Loop(_) => return Ok(()),
            Found::Fold(spot) => spot,
        };
        let side = wanted.side;
        let cx = self.context_of(block, &spot.path);
        let no_store =
            || self.misfit(format!("the sum at {side}.{} is not stored to a cell of {buffer}", shown(wanted)));
        let stmt = spot.block(block).and_then(|b| b.get(spot.at)).ok_or_else(no_store)?.clone();
        let StmtKind::Store { to, word } = &stmt.kind else { return Err(no_store()) };
        if self.names().buffer(to.buffer) != buffer {
            return Err(no_store());
        }
        let Some((fold, context)) = self.cut(word, &wanted.name) else {
            return Err(self.misfit(format!(
                "the sum at {side}.{} stands inside a choice, a `let` or another sum",
                shown(wanted)
            )));
        };
        self.own_cell_unread(&cx, to, &fold, context.as_ref(), wanted)?;
        let Some(block) = spot.block(block) else { return Ok(()) };
        let mut fold = fold;
        let first = match spot.at.checked_sub(1).and_then(|at| block.get(at)).map(|s| &s.kind) {
            // The total that an outer sum has just loaded from this cell is what the cell holds.
            Some(StmtKind::Let { local, word: Word::Load(a) })
                if fold.init == Word::Local(*local, vec![]) && a == to && context.is_none() =>
            {
                let local = *local;
                fold.init = Word::Load(to.clone());
                let rest = block.iter().enumerate().filter(|(n, _)| *n != spot.at).map(|(_, s)| s.clone());
                let used = Live::of_word(&fold.body).locals.contains(&local)
                    || rest.skip(spot.at).any(|s| Live::of_block(&[s]).locals.contains(&local));
                if used { spot.at } else { spot.at - 1 }
            }
            _ => spot.at,
        };
        let made = updates(to, fold, context, stmt.span);
        block.splice(first..=spot.at, made);
        Ok(())
    }

    /// The conditions: nothing but the running total reads the cell.
    pub(super) fn own_cell_unread(
        &mut self,
        cx: &crate::context::Context,
        to: &Access,
        fold: &Fold,
        context: Option<&Word>,
        wanted: &LoopRef,
    ) -> Result<(), Diagnostic> {
        let place = Place::Buffer(crate::wf::root(&self.fun, to.buffer));
        let own = super::accesses::Access { place, at: to.at.clone(), write: true, inner: Vec::new(), span: to.span.0 };
        let read = |word: &Word| vec![Stmt { kind: StmtKind::Print(word.clone()), span: At::default() }];
        let mut others = Vec::new();
        for mut a in self.reads_of(&read(&fold.body))? {
            a.inner.insert(0, FrameKind::Loop(fold.var, fold.domain.clone()));
            others.push(a);
        }
        if let Some(context) = context {
            // The fold itself is cut out of the context, so every load that is left is another one.
            others.extend(self.reads_of(&read(context))?);
        }
        let what = format!(
            "the sum at {}.{} does not read its own cell of {}",
            wanted.side,
            shown(wanted),
            self.names().buffer(to.buffer)
        );
        for a in &others {
            if let Some((cx, goal)) = self.apart((cx, &own), (cx, a)) {
                let name = self.names().buffer(to.buffer);
                let note = format!(
                    "it is stored to `{}` and reads `{}`",
                    self.names().cell(name, &to.at),
                    self.names().cell(name, &a.at)
                );
                self.emit(Kind::Cell, &cx, goal, &what, &[note], &[(a.span, "read here".to_string())]);
            }
        }
        Ok(())
    }

    fn reads_of(&self, block: &Block) -> Result<Vec<super::accesses::Access>, Diagnostic> {
        let mut out = Vec::new();
        for event in crate::events::events_of(block) {
            if let crate::events::What::Read(a) = event.what {
                out.push(super::accesses::Access {
                    place: Place::Buffer(crate::wf::root(&self.fun, a.buffer)),
                    at: a.at,
                    write: false,
                    inner: event.frames.into_iter().map(|f| f.kind).collect(),
                    span: a.span.0,
                });
            }
        }
        Ok(out)
    }

    /// The fold over `name` in a word, and the context around it with a load of nothing in its place; `None` for the
    /// context where the fold is the whole word. A fold under a binder or a choice cannot be cut out.
    fn cut(&self, word: &Word, name: &str) -> Option<(Fold, Option<Word>)> {
        if let Word::Fold(f) = word
            && self.names().var(f.var) == name
        {
            return Some(((**f).clone(), None));
        }
        let among = |words: &[Word]| -> Option<(Fold, Vec<Word>)> {
            let (i, (fold, inner)) = words.iter().enumerate().find_map(|(i, w)| Some((i, self.cut(w, name)?)))?;
            let mut rest = words.to_vec();
            rest[i] = inner.unwrap_or(HOLE);
            Some((fold, rest))
        };
        match word {
            Word::Op { op, arith, args } => {
                among(args).map(|(f, args)| (f, Some(Word::Op { op: *op, arith: *arith, args })))
            }
            Word::Apply(p, args) => among(args).map(|(f, args)| (f, Some(Word::Apply(*p, args)))),
            Word::Tuple(args) => among(args).map(|(f, args)| (f, Some(Word::Tuple(args)))),
            Word::Part(w, n) => {
                let (fold, inner) = self.cut(w, name)?;
                Some((fold, Some(Word::Part(Box::new(inner.unwrap_or(HOLE)), *n))))
            }
            Word::Lit(_)
            | Word::Index(..)
            | Word::Load(_)
            | Word::Local(..)
            | Word::Let(..)
            | Word::If(..)
            | Word::Fold(_)
            | Word::Reduce(_)
            | Word::Differing(..) => None,
        }
    }
}

/// Stands for the fold in the context it was cut from: an empty tuple, which no program contains.
const HOLE: Word = Word::Tuple(Vec::new());

fn fill(word: &Word, with: &Word) -> Word {
    let all = |ws: &[Word]| ws.iter().map(|w| fill(w, with)).collect();
    match word {
        Word::Tuple(parts) if parts.is_empty() => with.clone(),
        Word::Op { op, arith, args } => Word::Op { op: *op, arith: *arith, args: all(args) },
        Word::Apply(p, args) => Word::Apply(*p, all(args)),
        Word::Tuple(args) => Word::Tuple(all(args)),
        Word::Part(w, n) => Word::Part(Box::new(fill(w, with)), *n),
        other => other.clone(),
    }
}

fn updates(to: &Access, fold: Fold, context: Option<Word>, span: At) -> Vec<Stmt> {
    let own = Word::Load(to.clone());
    let store = |word: Word| Stmt { kind: StmtKind::Store { to: to.clone(), word }, span };
    let mut out = Vec::new();
    if fold.init != own {
        out.push(store(fold.init));
    }
    let total = Stmt { kind: StmtKind::Let { local: fold.acc, word: own.clone() }, span };
    let body = vec![total, store(fold.body)];
    out.push(Stmt { kind: StmtKind::For { var: fold.var, domain: fold.domain, body }, span });
    if let Some(context) = context {
        out.push(store(fill(&context, &own)));
    }
    out
}
