//! COPY: an array that holds copies of words, read from where the words come from.
//!
//! Theorem. Let `P` be scratch that occurs nowhere in the program but here, and let a block be `..; N; R` where
//!
//! ```text
//! N  is  for x in D do for y in E(x) do store P[x, y] = e(x, y)
//! ```
//!
//! and `e` does not read `P`. If nothing in `R` writes what `e` reads, and every load `P[h]` in `R` has `h` in `D`, `E`,
//! then
//!
//! ```text
//! ..; N; R   is   ..; R with e(h) for each load P[h]
//! ```
//!
//! At such a load the last write to `P[h]` is the one that `N` made in the same iteration of whatever encloses the block
//! (`h` is in the box, nobody else writes `P`), and its word is still `e(h)`, because what `e` reads is unchanged. Nobody
//! sees `P` at the end, so `N` may go. Recomputing is the same read backwards.
//!
//! `e` is any word: `if g(x, y) then a[f(x, y)] else w` is a copy that is filled up with `w`, and a load of what was
//! filled up becomes that choice, which the comparison decides.
//!
//! The same holds of a local array that one nest fills right after it is declared: it lives no longer than its block.
//!
//! Near misses: a load outside the box; an array that the program writes, or reads again later, elsewhere; `e` reading
//! what `R` writes; two copies into one array; an array that is a result.

use super::Relation;
use super::accesses::Place;
use super::find::{Spot, nest_of, walk};
use crate::condition::Kind;
use crate::context::Context;
use crate::events::{What, enter, events_of};
use crate::formula::Formula;
use cachet_core::ir::{Access, Block, Buffer, Domain, Ix, Local, Role, Stmt, StmtKind, Var, Word};
use cachet_core::pattern::Side;
use cachet_core::rewrite::{Live, Subst, Visit, map_block_words, visit_block, visit_stmt};
use cachet_source::{Diagnostic, Span};
use std::collections::BTreeSet;

/// A nest that fills an array.
struct Filling {
    spot: Spot,
    /// Its loops, outermost first.
    loops: Vec<(Var, Domain)>,
    /// Which loop each axis follows.
    axes: Vec<Var>,
    /// What it stores.
    word: Word,
}

impl Relation<'_> {
    /// Reads an array's copies from where they come from, and takes away the nest that makes them. `other` is the side
    /// that the line is not about.
    pub(super) fn copy(&mut self, block: &mut Block, side: Side, name: &str, other: &Block) -> Result<(), Diagnostic> {
        if Live::of_block(block).locals.iter().any(|l| self.fun.locals[l.index()].name == name) {
            return self.copy_local(block, side, name);
        }
        let buffer = self.scratch_named(side, name, block, other)?;
        let filling = self.filling(block, side, buffer)?;
        let rest: Block = match filling.spot.block(block) {
            Some(stmts) => stmts.iter().skip(filling.spot.at + 1).cloned().collect(),
            None => return Err(self.misfit(format!("{side} does not fill {name}"))),
        };
        self.only_read(block, side, buffer, &rest)?;
        self.unchanged(&filling.word, &rest, side, name)?;
        let around = self.context_of(block, &filling.spot.path);
        self.inside_the_box(&around, &filling, Place::Buffer(buffer), &rest);
        self.not_too_many(&filling, loads_of(&rest, buffer), name)?;
        let replaced = map_block_words(&rest, &mut |w| match &w {
            Word::Load(a) if a.buffer == buffer => self.copied(&filling, &a.at),
            _ => w,
        });
        if let Some(stmts) = filling.spot.block(block) {
            stmts.truncate(filling.spot.at);
            stmts.extend(replaced);
        }
        Ok(())
    }

    /// The scratch array of a name, which nothing but this side mentions.
    fn scratch_named(&self, side: Side, name: &str, block: &Block, other: &Block) -> Result<Buffer, Diagnostic> {
        let mentioned = Live::of_block(block).buffers;
        let named = mentioned.into_iter().find(|b| self.names().buffer(*b) == name);
        let Some(buffer) = named else { return Err(self.misfit(format!("{side} has no array {name}"))) };
        if self.fun.buffers[buffer.index()].role != Role::Mut || !self.fun.scratch.contains(&buffer) {
            return Err(self.misfit(format!("{name} is not scratch: what is stored to it may be read by others")));
        }
        let elsewhere = self.outside.contains(&buffer) || Live::of_block(other).buffers.contains(&buffer);
        if elsewhere {
            return Err(
                self.misfit(format!("{name} is in use elsewhere in the program, and a copy needs an array of its own"))
            );
        }
        Ok(buffer)
    }

    /// The one nest that fills an array.
    fn filling(&self, block: &Block, side: Side, buffer: Buffer) -> Result<Filling, Diagnostic> {
        let name = self.names().buffer(buffer).to_string();
        let mut stores = Uses::of(buffer);
        visit_block(&mut stores, block);
        if stores.stores != 1 {
            let many = if stores.stores == 0 { "nothing".to_string() } else { format!("{} statements", stores.stores) };
            return Err(self.misfit(format!("in {side} {many} stores to {name}, and one nest has to fill it")));
        }
        let mut found = None;
        walk(block, &mut Vec::new(), &mut |stmt, spot| {
            // Of loops directly inside one another, those that fill; what is around them runs the filling again.
            if let Some((loops, access, word)) = nest(stmt)
                && access.buffer == buffer
                && loops.len() <= access.at.len()
                && found.is_none()
            {
                found = Some((spot, loops, access, word));
            }
        });
        let shape =
            || self.misfit(format!("what fills {name} in {side} is not a nest of loops around one store to it"));
        let (spot, loops, access, word) = found.ok_or_else(shape)?;
        let axes = axes_of(&loops, &access.at).ok_or_else(|| {
            let cell = self.names().cell(&name, &access.at);
            self.misfit(format!("what fills {name} stores to {cell}, and each axis has to follow a loop of its own"))
        })?;
        if loops.iter().any(|(_, d)| matches!(d, Domain::Blocks { .. })) {
            return Err(self.misfit(format!("what fills {name} runs over blocks, and plain ranges are wanted")));
        }
        Ok(Filling { spot, loops, axes, word })
    }

    /// That an array is read in what follows its filling, and nothing else happens to it.
    fn only_read(&self, block: &Block, side: Side, buffer: Buffer, rest: &Block) -> Result<(), Diagnostic> {
        let name = self.names().buffer(buffer);
        let of = |stmts: &Block| {
            let mut uses = Uses::of(buffer);
            visit_block(&mut uses, stmts);
            uses
        };
        let (all, after) = (of(block), of(rest));
        if all.others > 0 {
            return Err(self.misfit(format!("{name} is lent, leased or compared in {side}, and a copy is only read")));
        }
        if all.loads != after.loads || after.stores > 0 {
            return Err(self.misfit(format!("{name} is read in {side} where it has not been filled")));
        }
        Ok(())
    }

    /// That nothing which follows writes what a word reads.
    fn unchanged(&self, word: &Word, rest: &Block, side: Side, name: &str) -> Result<(), Diagnostic> {
        let reads = Live::of_word(word);
        let root = |b: &Buffer| crate::wf::root(&self.fun, *b);
        let sources: BTreeSet<Buffer> = reads.buffers.iter().map(root).collect();
        let mut writes = Writes::default();
        visit_block(&mut writes, rest);
        if let Some(b) = writes.buffers.iter().map(root).find(|b| sources.contains(b)) {
            let from = self.names().buffer(b);
            return Err(self.misfit(format!("{from} is written in {side} while its copy {name} is in use")));
        }
        match writes.locals.iter().find(|l| reads.locals.contains(l)) {
            Some(l) => {
                let from = &self.fun.locals[l.index()].name;
                Err(self.misfit(format!("{from} is written in {side} while its copy {name} is in use")))
            }
            None => Ok(()),
        }
    }

    /// The same of a local array, which is filled right after it is declared and lives no longer than its block.
    fn copy_local(&mut self, block: &mut Block, side: Side, name: &str) -> Result<(), Diagnostic> {
        let (local, spot) = self.declaration(block, side, name)?;
        let Some(scope) = spot.block(block).cloned() else { return Ok(()) };
        let shape = || {
            self.misfit(format!(
                "{name} is not filled in {side} by a nest of loops around one assignment, right after it is declared"
            ))
        };
        let (loops, at, word) = scope.get(spot.at + 1).and_then(|s| assigned(s, local)).ok_or_else(shape)?;
        let own = |axes: &Vec<Var>| axes.len() == loops.len() && !Live::of_word(&word).locals.contains(&local);
        let axes = axes_of(&loops, &at).filter(own).ok_or_else(shape)?;
        if loops.iter().any(|(_, d)| matches!(d, Domain::Blocks { .. })) {
            return Err(shape());
        }
        let rest: Block = scope[spot.at + 2..].to_vec();
        let mut writes = Writes::default();
        visit_block(&mut writes, &rest);
        if writes.locals.contains(&local) {
            return Err(self.misfit(format!("{name} is assigned again in {side} after it is filled")));
        }
        self.unchanged(&word, &rest, side, name)?;
        let around = self.context_of(block, &spot.path);
        let filling = Filling { spot: spot.clone(), loops, axes, word };
        self.inside_the_box(&around, &filling, Place::Local(local), &rest);
        let mut reads = 0;
        map_block_words(&rest, &mut |w| {
            reads += usize::from(matches!(&w, Word::Local(l, _) if *l == local));
            w
        });
        self.not_too_many(&filling, reads, name)?;
        let replaced = map_block_words(&rest, &mut |w| match &w {
            Word::Local(l, at) if *l == local => self.copied(&filling, at),
            _ => w,
        });
        if let Some(stmts) = spot.block(block) {
            stmts.truncate(spot.at);
            stmts.extend(replaced);
        }
        Ok(())
    }

    fn not_too_many(&self, filling: &Filling, copies: usize, name: &str) -> Result<(), Diagnostic> {
        let word = Stmt { kind: StmtKind::Print(filling.word.clone()), span: Default::default() };
        if super::parts(&[word]).saturating_mul(copies) <= super::MAX_PARTS {
            return Ok(());
        }
        Err(self.misfit(format!("the copies of {name} written out have more than {} parts", super::MAX_PARTS)))
    }

    /// The conditions: every read is of what was filled.
    fn inside_the_box(&mut self, around: &Context, filling: &Filling, of: Place, rest: &Block) {
        let name = match of {
            Place::Buffer(b) => self.names().buffer(b).to_string(),
            Place::Local(l) => self.names().local(l).to_string(),
        };
        for event in events_of(rest) {
            let (at, span) = match &event.what {
                What::Read(a) if Place::Buffer(a.buffer) == of => (&a.at, a.span.0),
                What::Cell(l, at) if Place::Local(*l) == of => (at, Span::default()),
                _ => continue,
            };
            let mut cx = around.clone();
            event.frames.iter().for_each(|f| enter(&self.fun, &mut cx, f));
            let (goal, text) = self.in_box(&cx, filling, at);
            let what = format!("a read of {name} is inside the block that was copied: {text}");
            let place = if span.lo == span.hi { event.span } else { span };
            let read = format!("the read is `{}`", self.names().cell(&name, at));
            self.emit(Kind::Copied, &cx, goal, &what, &[read], &[(place, "read here".into())]);
        }
    }

    fn in_box(&self, cx: &Context, filling: &Filling, at: &[Ix]) -> (Formula, String) {
        let at = placed(filling, at);
        let (mut goals, mut texts) = (Vec::new(), Vec::new());
        for (var, domain) in &filling.loops {
            let Domain::Range { lo, hi } = domain else { return (Formula::False, String::new()) };
            let (lo, hi) = (at.ix(lo), at.ix(hi));
            let x = at.ix(&Ix::Var(*var));
            goals.push(cx.ix(&lo).le(cx.ix(&x)));
            goals.push(cx.ix(&x).lt(cx.ix(&hi)));
            let names = self.names();
            texts.push(format!("{} <= {} < {}", names.ix(&lo), names.ix(&x), names.ix(&hi)));
        }
        (Formula::and(goals), texts.join(", "))
    }

    /// The word that a load of the array finds.
    fn copied(&mut self, filling: &Filling, at: &[Ix]) -> Word {
        let word = placed(filling, at).word(&filling.word);
        self.refreshed(&word)
    }
}

/// The loops of a filling at the place of an access.
fn placed(filling: &Filling, at: &[Ix]) -> Subst {
    let mut subst = Subst::default();
    for (var, ix) in filling.axes.iter().zip(at) {
        subst.vars.insert(*var, ix.clone());
    }
    subst
}

/// Which loop each subscript is, each another one.
pub(super) fn axes_of(loops: &[(Var, Domain)], at: &[Ix]) -> Option<Vec<Var>> {
    let mut axes = Vec::new();
    for ix in at {
        match ix {
            Ix::Var(v) if !axes.contains(v) && loops.iter().any(|(l, _)| l == v) => axes.push(*v),
            _ => return None,
        }
    }
    Some(axes)
}

/// The loops of a perfect nest, and the one assignment in it: the cell and the word.
type Assigned = (Vec<(Var, Domain)>, Vec<Ix>, Word);

/// A nest of loops around one assignment of a local.
fn assigned(stmt: &Stmt, local: Local) -> Option<Assigned> {
    let (loops, stmt) = nest_of(stmt);
    match &stmt.kind {
        StmtKind::Assign { local: to, at, word } if *to == local => Some((loops, at.clone(), word.clone())),
        _ => None,
    }
}

/// The loops of a perfect nest, and the one store in it: the cell and the word.
type Nest = (Vec<(Var, Domain)>, Access, Word);

fn nest(stmt: &Stmt) -> Option<Nest> {
    let (loops, stmt) = nest_of(stmt);
    match &stmt.kind {
        StmtKind::Store { to, word } => Some((loops, to.clone(), word.clone())),
        _ => None,
    }
}

fn loads_of(block: &[Stmt], buffer: Buffer) -> usize {
    let mut uses = Uses::of(buffer);
    visit_block(&mut uses, block);
    uses.loads
}

/// How often an array is used, and how.
struct Uses {
    buffer: Buffer,
    loads: usize,
    stores: usize,
    others: usize,
}

impl Uses {
    fn of(buffer: Buffer) -> Uses {
        Uses { buffer, loads: 0, stores: 0, others: 0 }
    }
}

impl Visit for Uses {
    fn load(&mut self, access: &Access) {
        self.loads += usize::from(access.buffer == self.buffer);
    }

    fn store(&mut self, access: &Access) {
        self.stores += usize::from(access.buffer == self.buffer);
    }

    fn word(&mut self, word: &Word) {
        if let Word::Differing(a, b) = word {
            self.others += usize::from(*a == self.buffer || *b == self.buffer);
        }
        cachet_core::rewrite::visit_word(self, word);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let other = match &stmt.kind {
            StmtKind::Grid(g) => g.writes.iter().any(|w| w.buffer == self.buffer),
            StmtKind::Alloc(b) => *b == self.buffer,
            StmtKind::Lease { lease, of, .. } => *lease == self.buffer || *of == self.buffer,
            StmtKind::Call(c) => c.args.iter().any(|v| v.buffer == self.buffer),
            StmtKind::For { .. }
            | StmtKind::If { .. }
            | StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Print(_) => false,
        };
        self.others += usize::from(other);
        visit_stmt(self, stmt);
    }
}

/// What a block writes. What is lent counts as written.
#[derive(Default)]
struct Writes {
    buffers: BTreeSet<Buffer>,
    locals: BTreeSet<Local>,
}

impl Visit for Writes {
    fn store(&mut self, access: &Access) {
        self.buffers.insert(access.buffer);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign { local, .. } => {
                self.locals.insert(*local);
            }
            StmtKind::Call(c) => self.buffers.extend(c.args.iter().map(|v| v.buffer)),
            StmtKind::Alloc(b) => {
                self.buffers.insert(*b);
            }
            StmtKind::For { .. }
            | StmtKind::Grid(_)
            | StmtKind::If { .. }
            | StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Store { .. }
            | StmtKind::Lease { .. }
            | StmtKind::Print(_) => {}
        }
        visit_stmt(self, stmt);
    }
}
