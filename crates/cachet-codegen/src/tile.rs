//! How do arrays of vectors stay in registers?
//!
//! An array of vectors is a stack slot, and LLVM turns it into registers where every access to it has a number for a row. So
//! loops over its rows are written out. Where the number of rows is not a number, as at a ragged edge, what follows the
//! array's declaration is written once for each number of rows that there may be, and once for any other.

use crate::function::{Lower, Outcome, Place};
use crate::known::picks_rows;
use crate::lanes::pieces;
use crate::types::{Value, leaves, register};
use cachet_core::ir::{Block, Domain, Ix, Local, Stmt, StmtKind, Var};

/// The most rows for which there is a version each.
const MAX_VERSIONS: i64 = 32;
/// The most iterations that are written out.
const MAX_WRITTEN_OUT: i64 = 256;
/// The most lines that all versions of what follows a declaration may come to.
const MAX_LINES: usize = 200_000;

impl Lower<'_, '_> {
    /// What follows the declaration of an array of vectors.
    pub(crate) fn tile(&mut self, rest: &[Stmt]) -> Outcome<bool> {
        let outer = self.tiles;
        if let Some(StmtKind::Var { local, .. }) = rest.first().map(|s| &s.kind)
            && self.fun.locals.get(local.index()).is_some_and(|i| i.vector && i.dims.len() > 1)
        {
            self.tiles = self.loops.last().copied();
        }
        let done = self.versions(rest);
        if let Ok(false) = done {
            // The statements follow one by one, in this block.
            return done;
        }
        self.tiles = outer;
        done
    }

    /// One version for each number of rows; false where there is but one.
    fn versions(&mut self, rest: &[Stmt]) -> Outcome<bool> {
        let Some(StmtKind::Var { local, .. }) = rest.first().map(|s| &s.kind) else { return Ok(false) };
        let Some(info) = self.fun.locals.get(local.index()) else { return Ok(false) };
        let rows = match info.dims.as_slice() {
            [rows, _] if info.vector && *rows <= MAX_VERSIONS => *rows,
            _ => return Ok(false),
        };
        let Some(bound) = self.row_bound(rest) else { return Ok(false) };
        let count = self.ix(&bound)?;
        let (other, after) = (self.em.block(), self.em.block());
        let labels: Vec<_> = (1..=rows).map(|n| (n, self.em.block())).collect();
        let cases: Vec<String> = labels.iter().map(|(n, label)| format!("i64 {n}, label {label}")).collect();
        self.em.line(format_args!("switch i64 {count}, label {other} [{}]", cases.join(" ")));
        let before = self.em.len();
        for (n, label) in labels.iter().rev() {
            self.em.open(label);
            self.known.push(&bound, *n);
            // A version that would be too long is the one for any number.
            let stack = self.stack;
            let done =
                if self.em.len() - before < MAX_LINES { self.block_in_place(rest).map(|()| true) } else { Ok(false) };
            self.known.pop();
            // LLVM keeps none of them on the stack.
            self.stack = stack;
            if done? {
                self.em.jump(&after);
            } else {
                self.em.jump(&other);
            }
        }
        self.em.open(&other);
        self.any_rows += 1;
        let done = self.block_in_place(rest);
        self.any_rows -= 1;
        done?;
        self.em.jump(&after);
        self.em.open(&after);
        Ok(true)
    }

    /// The end of the loops over an array's rows, where it is no number yet and the same for all of them.
    fn row_bound(&self, rest: &[Stmt]) -> Option<Ix> {
        if self.any_rows > 0 {
            return None;
        }
        let mut found: Option<Ix> = None;
        let mut open: Vec<&Stmt> = rest.iter().collect();
        while let Some(s) = open.pop() {
            let StmtKind::For { var, domain, body } = &s.kind else { continue };
            if let Domain::Range { lo: Ix::Lit(0), hi } = domain
                && self.known.value(hi).is_none()
                && !matches!(found, Some(ref known) if known == hi)
                && picks_rows(self.fun, *var, body)
            {
                if found.is_some() {
                    return None;
                }
                found = Some(hi.clone());
            }
            open.extend(body.iter());
        }
        // What is decided before the array is declared means one thing in all of what follows.
        found.filter(|ix| !names_a_loop_of(ix, rest))
    }

    /// A loop over rows of an array of vectors, written out; false where it is a loop.
    pub(crate) fn written_out(&mut self, var: Var, domain: &Domain, body: &Block) -> Outcome<bool> {
        let Domain::Range { lo, hi } = domain else { return Ok(false) };
        let (Some(lo), Some(hi)) = (self.known.value(lo), self.known.value(hi)) else { return Ok(false) };
        if hi.saturating_sub(lo) > MAX_WRITTEN_OUT || !picks_rows(self.fun, var, body) {
            return Ok(false);
        }
        for n in lo..hi {
            self.bind_var(var, crate::function::Index::Plain(n.to_string()));
            self.known.set(var, Some(n));
            let done = self.block(body);
            self.known.set(var, None);
            done?;
        }
        Ok(true)
    }

    /// A slot for a vector or an array of vectors, each lane set to `init` unless it is filled right away.
    pub(crate) fn declare_vectors(&mut self, local: Local, init: &Value, filled: bool) -> Outcome<()> {
        let Some(info) = self.fun.locals.get(local.index()) else {
            return Err(self.ill_formed("a local without an entry"));
        };
        let (dims, name) = (info.dims.clone(), info.name.clone());
        let cells = dims.iter().try_fold(1i64, |n, d| n.checked_mul(*d));
        let Some(cells) = cells.filter(|n| self.take_stack(&init.ty, *n)) else {
            return Err(self.not_built(format!("local arrays as large as `{name}` with those beside it")));
        };
        let elems = leaves(&init.ty);
        let [elem] = elems.as_slice() else { return Err(self.ill_formed("a vector of no element")) };
        let ty = register(*elem);
        let slot = self.em.slot(format_args!("[{cells} x {ty}], align 64"));
        if !filled {
            let lanes = dims.last().copied().unwrap_or(1);
            for (offset, width) in pieces(lanes, self.module.lanes_of(*elem)) {
                let value = self.splat(ty, init.only(), width);
                for row in 0..cells / lanes {
                    let at = self
                        .em
                        .def(format_args!("getelementptr inbounds {ty}, ptr {slot}, i64 {}", row * lanes + offset));
                    self.em.line(format_args!("store <{width} x {ty}> {value}, ptr {at}, align {}", elem.bytes()));
                }
            }
        }
        self.bind(local, Place::Slots { ty: init.ty.clone(), dims, slots: vec![slot] });
        Ok(())
    }
}

/// Whether an index depends on a loop that stands among some statements.
fn names_a_loop_of(ix: &Ix, stmts: &[Stmt]) -> bool {
    let vars = cachet_core::rewrite::Live::of_ix(ix).vars;
    let mut open: Vec<&Stmt> = stmts.iter().collect();
    while let Some(s) = open.pop() {
        match &s.kind {
            StmtKind::For { var, body, .. } => {
                if vars.contains(var) {
                    return true;
                }
                open.extend(body.iter());
            }
            StmtKind::Grid(g) => {
                if g.axes.iter().any(|(v, _)| vars.contains(v)) {
                    return true;
                }
                open.extend(g.body.iter());
            }
            StmtKind::If { then, els, .. } => open.extend(then.iter().chain(els)),
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => {}
        }
    }
    false
}
