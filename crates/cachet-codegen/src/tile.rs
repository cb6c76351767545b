//! How do arrays of vectors stay in registers?
//!
//! An array of vectors is a stack slot, and LLVM turns it into registers where every access to it has a number for a row. So
//! loops over its rows are written out. Where the number of rows is not a number, as at a ragged edge, what follows the
//! array's declaration is written once for each number of rows that there may be, and once for any other. Likewise for
//! lanes: once for all of them and, for whole rows, once for each number of registers that have lanes in use, which leaves out
//! the others. Lanes are left out where no bit of them is ever stored.

use crate::function::{Lower, Outcome, Place};
use crate::known::picks_rows;
use crate::lanes::pieces;
use crate::types::{Value, leaves, register};
use cachet_core::ir::{Block, BlockPart, Domain, Elem, Fun, Guard, Ix, Local, Stmt, StmtKind, Ty, Var, Word};
use cachet_core::rewrite::{Live, Visit, visit_stmt, visit_word};
use cachet_core::vectors;
use std::collections::BTreeSet;

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
            [_] if info.vector && info.mutable && self.any_lanes == 0 => return self.vector_versions(rest),
            _ => return Ok(false),
        };
        let Some(bound) = self.row_bound(rest) else { return Ok(false) };
        // A row may take several vectors.
        let rows = self.known.most(&bound).map_or(rows, |most| most.clamp(1, rows));
        let count = self.ix(&bound)?;
        let (other, after) = (self.em.block(), self.em.block());
        // Of a range of numbers only the lengths that its blocks have.
        let numbers: Vec<i64> = match self.known.lengths(&bound) {
            Some(lengths) => (1..=rows).filter(|n| lengths.contains(n)).collect(),
            None => (1..=rows).collect(),
        };
        let labels: Vec<_> = numbers.iter().map(|n| (*n, self.em.block())).collect();
        let cases: Vec<String> = labels.iter().map(|(n, label)| format!("i64 {n}, label {label}")).collect();
        self.em.line(format_args!("switch i64 {count}, label {other} [{}]", cases.join(" ")));
        let before = self.em.len();
        let mut all = self.is_length_up_to(&bound, rows);
        for (n, label) in labels.iter().rev() {
            self.em.open(label);
            self.known.push(&bound, *n);
            // A version that would be too long is the one for any number.
            let stack = self.stack;
            let done = if self.em.len() - before < MAX_LINES {
                self.columns(rest, Some(n) == numbers.last()).map(|()| true)
            } else {
                Ok(false)
            };
            self.known.pop();
            // LLVM keeps none of them on the stack.
            self.stack = stack;
            if done? {
                self.em.jump(&after);
            } else {
                all = false;
                self.em.jump(&other);
            }
        }
        self.em.open(&other);
        if all {
            self.em.line("unreachable");
            self.em.open(&after);
            return Ok(true);
        }
        self.any_rows += 1;
        let done = self.block_in_place(rest);
        self.any_rows -= 1;
        done?;
        self.em.jump(&after);
        self.em.open(&after);
        Ok(true)
    }

    /// What follows the declaration of a single vector, for all lanes and for some; false where there is but one version.
    fn vector_versions(&mut self, rest: &[Stmt]) -> Outcome<bool> {
        if Trim::of(self.fun, rest).is_none_or(|t| self.known.value(&t.active).is_some()) {
            return Ok(false);
        }
        self.any_lanes += 1;
        let done = self.columns(rest, true);
        self.any_lanes -= 1;
        done.map(|()| true)
    }

    /// Whether an index is the length of a block of at most so many: then it is from 1 to that.
    fn is_length_up_to(&self, ix: &Ix, most: i64) -> bool {
        let Ix::Block(var, BlockPart::Len) = ix else { return false };
        self.loops.iter().any(|(v, size)| v == var && size.is_some_and(|s| s <= most))
    }

    /// A version where all lanes are in use, one for each number of pieces that are, where `each`, and one for any mask.
    fn columns(&mut self, rest: &[Stmt], each: bool) -> Outcome<()> {
        let Some(trim) = Trim::of(self.fun, rest).filter(|t| self.known.value(&t.active).is_none()) else {
            return self.whole_rows(rest);
        };
        let width = self.module.lanes_of(trim.elem);
        let pieces = trim.lanes / width;
        let active = self.ix(&trim.active)?;
        if let Some(lengths) = self.known.lengths(&trim.active) {
            return self.numbered_columns(rest, &trim, (&active, width), &lengths);
        }
        let (whole, part, after) = (self.em.block(), self.em.block(), self.em.block());
        let all = self.em.def(format_args!("icmp eq i64 {active}, {}", trim.lanes));
        self.em.branch(&all, &whole, &part);
        self.em.open(&whole);
        self.known.push(&trim.active, trim.lanes);
        let stack = self.stack;
        let done = self.block_in_place(rest);
        self.known.pop();
        done?;
        self.em.jump(&after);
        self.em.open(&part);
        if each && pieces > 1 && trim.lanes % width == 0 {
            // The last piece that is in use, from 0.
            let last = self.em.def(format_args!("add i64 {active}, -1"));
            let last = self.floor_div(&last, width);
            let other = self.em.block();
            let labels: Vec<_> = (0..pieces).map(|n| (n, self.em.block())).collect();
            let cases: Vec<String> = labels.iter().map(|(n, label)| format!("i64 {n}, label {label}")).collect();
            self.em.line(format_args!("switch i64 {last}, label {other} [{}]", cases.join(" ")));
            for (n, label) in &labels {
                self.em.open(label);
                self.stack = stack;
                let trimmed = Trim { used: (n + 1) * width, full: n * width, ..trim.clone() };
                let outer = self.trim.replace(trimmed);
                let done = self.block_in_place(rest);
                self.trim = outer;
                done?;
                self.em.jump(&after);
            }
            self.em.open(&other);
            if self.is_length_up_to(&trim.active, trim.lanes) {
                self.em.line("unreachable");
                self.em.open(&after);
                self.stack = stack;
                return Ok(());
            }
        }
        self.stack = stack;
        self.block_in_place(rest)?;
        self.stack = stack;
        self.em.jump(&after);
        self.em.open(&after);
        Ok(())
    }

    /// A version for each number of lanes that there is.
    fn numbered_columns(
        &mut self,
        rest: &[Stmt],
        trim: &Trim,
        (active, width): (&str, i64),
        lengths: &[i64],
    ) -> Outcome<()> {
        let (other, after) = (self.em.block(), self.em.block());
        let labels: Vec<_> = lengths.iter().map(|n| (*n, self.em.block())).collect();
        let cases: Vec<String> = labels.iter().map(|(n, label)| format!("i64 {n}, label {label}")).collect();
        self.em.line(format_args!("switch i64 {active}, label {other} [{}]", cases.join(" ")));
        let stack = self.stack;
        for (n, label) in &labels {
            self.em.open(label);
            self.stack = stack;
            self.known.push(&trim.active, *n);
            let full = n / width * width;
            let used = if full < *n { (full + width).min(trim.lanes) } else { full };
            let outer = self.trim.replace(Trim { used, full, ..trim.clone() });
            let done = self.block_in_place(rest);
            self.trim = outer;
            self.known.pop();
            done?;
            self.em.jump(&after);
        }
        self.em.open(&other);
        self.em.line("unreachable");
        self.em.open(&after);
        self.stack = stack;
        Ok(())
    }

    /// Where a row takes several vectors: a version where all of them are in use, and one for any mask.
    fn whole_rows(&mut self, rest: &[Stmt]) -> Outcome<()> {
        let Some((active, lanes)) = lanes_of_parts(self.fun, rest).filter(|(ix, _)| self.known.value(ix).is_none())
        else {
            return self.block_in_place(rest);
        };
        let count = self.ix(&active)?;
        let (whole, part, after) = (self.em.block(), self.em.block(), self.em.block());
        let all = self.em.def(format_args!("icmp eq i64 {count}, {lanes}"));
        self.em.branch(&all, &whole, &part);
        let stack = self.stack;
        self.em.open(&whole);
        self.known.push(&active, lanes);
        let done = self.block_in_place(rest);
        self.known.pop();
        done?;
        self.em.jump(&after);
        self.em.open(&part);
        self.stack = stack;
        self.block_in_place(rest)?;
        self.stack = stack;
        self.em.jump(&after);
        self.em.open(&after);
        Ok(())
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
        if let Some(guard) = self.choice_of_all(var, body) {
            // The rows all choose alike: the choice is made once.
            let holds = self.guard(&guard)?;
            let (yes, no, after) = (self.em.block(), self.em.block(), self.em.block());
            self.em.branch(&holds, &yes, &no);
            for (label, value) in [(yes, true), (no, false)] {
                self.em.open(&label);
                self.decided.push((guard.clone(), value));
                let done = self.written_out(var, domain, body);
                self.decided.pop();
                done?;
                self.em.jump(&after);
            }
            self.em.open(&after);
            return Ok(true);
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

    /// The guard of a choice that the one vector statement of a loop over rows makes, where all rows and lanes choose alike.
    fn choice_of_all(&self, row: Var, body: &Block) -> Option<Guard> {
        let [stmt] = body.as_slice() else { return None };
        let lanes = vectors::of(&self.fun.vars, stmt)?;
        let StmtKind::Assign { word: Word::If(guard, ..), .. } = &lanes.stmt.kind else { return None };
        let mut live = Live::default();
        live.guard(guard);
        let alike = !live.vars.contains(&row) && !live.vars.contains(&lanes.var);
        (alike && !self.decided.iter().any(|(g, _)| *g == **guard)).then(|| (**guard).clone())
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

/// How many lanes of a row are in use and how many there are, where each row takes several vectors: vector `q` of `0 .. n` has
/// `max 0 (min w (active - w * q))` of them.
fn lanes_of_parts(fun: &Fun, rest: &[Stmt]) -> Option<(Ix, i64)> {
    let mut open: Vec<(&Stmt, Option<(Var, i64)>)> = rest.iter().map(|s| (s, None)).collect();
    while let Some((s, around)) = open.pop() {
        let StmtKind::For { var, domain: Domain::Range { lo: Ix::Lit(0), hi }, body } = &s.kind else { continue };
        if let (Some(lanes), Some((q, n))) = (vectors::of(&fun.vars, s), around)
            && let Ix::Max(_, least) = hi
            && let Ix::Min(_, left) = &**least
            && let Ix::Sub(active, before) = &**left
            && matches!(&**before, Ix::Mul(w, by) if *w == lanes.count && **by == Ix::Var(q))
            && !names_a_loop_of(active, rest)
        {
            return Some(((**active).clone(), lanes.count.checked_mul(n)?));
        }
        let inside = if let Ix::Lit(n) = hi { Some((*var, *n)) } else { None };
        open.extend(body.iter().map(|s| (s, inside)));
    }
    None
}

/// Whether an index depends on a loop that stands among some statements.
fn names_a_loop_of(ix: &Ix, stmts: &[Stmt]) -> bool {
    let vars = Live::of_ix(ix).vars;
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

/// Lanes that are left out: of some vectors, from `used` on.
#[derive(Clone)]
pub(crate) struct Trim {
    /// The vectors whose lanes beyond the active ones nobody sees.
    pub(crate) locals: BTreeSet<Local>,
    /// How many lanes are active.
    pub(crate) active: Ix,
    /// How many there are.
    lanes: i64,
    elem: Elem,
    /// Lanes from here on are left out.
    pub(crate) used: i64,
    /// Lanes before this one are all active.
    pub(crate) full: i64,
}

impl Trim {
    /// What may be left out of what follows a declaration. A vector's lanes beyond the active ones are seen by nobody if
    /// every statement that reads it either stores under that very mask, or assigns, lane by lane, a vector of which the same
    /// is true.
    fn of(fun: &Fun, rest: &[Stmt]) -> Option<Trim> {
        let Some(StmtKind::Var { local, .. }) = rest.first().map(|s| &s.kind) else { return None };
        let info = fun.locals.get(local.index())?;
        let (Ty::Elem(elem), Some(lanes)) = (&info.ty, info.dims.last()) else { return None };
        let mut uses = Uses::of(fun);
        rest.iter().for_each(|s| uses.stmt(s));
        let masked = |u: &&(Ix, i64, BTreeSet<Local>)| u.1 == *lanes && u.0 != Ix::Lit(*lanes) && u.2.contains(local);
        let active = uses.stores.iter().find(masked)?.0.clone();
        let mut locals: BTreeSet<Local> = uses.assigns.iter().map(|(to, _, _)| *to).collect();
        locals.retain(|l| {
            let info = &fun.locals[l.index()];
            let own = info.vector && info.dims.last() == Some(lanes) && uses.declared.contains(l);
            own && !uses.others.contains(l)
        });
        for (mask, _, read) in &uses.stores {
            if *mask != active {
                locals.retain(|l| !read.contains(l));
            }
        }
        loop {
            let seen: BTreeSet<Local> = uses
                .assigns
                .iter()
                .filter(|(to, _, _)| !locals.contains(to))
                .flat_map(|(_, _, read)| read.iter().copied())
                .collect();
            let before = locals.len();
            locals.retain(|l| !seen.contains(l));
            if locals.len() == before {
                break;
            }
        }
        if !locals.contains(local) || names_a_loop_of(&active, rest) {
            return None;
        }
        Some(Trim { locals, active, lanes: *lanes, elem: *elem, used: *lanes, full: 0 })
    }
}

/// How vectors are used: what each vector statement reads lane by lane, and what is read in any other way.
struct Uses<'a> {
    fun: &'a Fun,
    /// Per store its mask, its lanes and what it reads.
    stores: Vec<(Ix, i64, BTreeSet<Local>)>,
    /// Per assignment its local, its mask and what it reads.
    assigns: Vec<(Local, Ix, BTreeSet<Local>)>,
    others: BTreeSet<Local>,
    /// Vectors that are declared here: nobody else knows them.
    declared: BTreeSet<Local>,
}

impl Uses<'_> {
    fn of(fun: &Fun) -> Uses<'_> {
        let (others, declared) = (BTreeSet::new(), BTreeSet::new());
        Uses { fun, stores: Vec::new(), assigns: Vec::new(), others, declared }
    }
}

impl Visit for Uses<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        let Some(lanes) = vectors::of(&self.fun.vars, stmt) else {
            match &stmt.kind {
                StmtKind::Assign { local, .. } => drop(self.others.insert(*local)),
                StmtKind::Var { local, .. } => drop(self.declared.insert(*local)),
                _ => {}
            }
            return visit_stmt(self, stmt);
        };
        let word = match &lanes.stmt.kind {
            StmtKind::Store { word, .. } | StmtKind::Assign { word, .. } => word,
            _ => return visit_stmt(self, stmt),
        };
        let mut reads = Reads { lane: lanes.var, own: BTreeSet::new(), others: BTreeSet::new() };
        reads.word(word);
        self.others.extend(reads.others);
        match &lanes.stmt.kind {
            StmtKind::Assign { local, at, .. } => {
                if at.last() != Some(&Ix::Var(lanes.var)) {
                    self.others.insert(*local);
                }
                self.assigns.push((*local, lanes.active.clone(), reads.own));
            }
            _ => self.stores.push((lanes.active.clone(), lanes.count, reads.own)),
        }
    }

    /// Outside vector statements.
    fn word(&mut self, word: &Word) {
        if let Word::Local(l, _) = word {
            self.others.insert(*l);
        }
        visit_word(self, word);
    }
}

/// What a lane's word reads of locals: its own lane of them, or something else.
struct Reads {
    lane: Var,
    own: BTreeSet<Local>,
    others: BTreeSet<Local>,
}

impl Visit for Reads {
    fn word(&mut self, word: &Word) {
        if let Word::Local(l, at) = word {
            match at.last() == Some(&Ix::Var(self.lane)) {
                true => self.own.insert(*l),
                false => self.others.insert(*l),
            };
        }
        visit_word(self, word);
    }
}
