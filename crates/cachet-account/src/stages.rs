//! How often are the arrays of a group filled, and how often does it wait?
//!
//! An array that is made inside a grid is its iterations' own, and an iteration is a group. What stands there one after another and touches
//! such arrays are *stages*, each worked on by all of a group at once: a stage that writes what another one before it
//! touched, or touches what another one wrote, has a barrier before it. A loop around several stages is gone through stage
//! by stage, with one more barrier between two iterations where the first stages meet the last ones. A nest without
//! barriers inside is one stage, and so is a grid inside the group, whose iterations are the group's members.

use crate::account;
use crate::count::{Count, Range};
use crate::tally::{Mode, Walk};
use cachet_core::ir::{Access, Block, Buffer, Domain, Fun, Program, Stmt, StmtKind, Var};
use cachet_core::rewrite::{Visit, visit_stmt};
use std::collections::{BTreeMap, BTreeSet};

/// What the iterations of a function's grids do with what they have for themselves.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stages {
    /// How often each array is filled or changed by a stage, by its name and level.
    pub filled: BTreeMap<(String, String), Count>,
    /// How often a group waits, in all.
    pub barriers: Count,
}

/// Counts them: at most so many.
pub fn stages(program: &Program, fun: &Fun) -> Stages {
    let mut out = Stages::default();
    account::walking(program, fun, Mode::Full, &mut |walk| {
        let mut all = All { own: BTreeSet::new(), filled: Vec::new(), grids: 0 };
        let seen = all.block(walk, &fun.body);
        out.barriers = seen.barriers;
        for (b, n) in all.filled {
            let place = walk.place(b);
            let sum = out.filled.entry((place.name, place.level)).or_default();
            *sum = sum.plus(&n);
        }
    });
    out
}

/// Arrays that something reads and writes.
#[derive(Clone, Default)]
struct Touched {
    read: BTreeSet<Buffer>,
    written: BTreeSet<Buffer>,
}

impl Touched {
    fn meets(&self, later: &Touched) -> bool {
        let all = |t: &Touched| t.read.union(&t.written).copied().collect::<BTreeSet<_>>();
        !self.written.is_disjoint(&all(later)) || !later.written.is_disjoint(&all(self))
    }

    fn join(&mut self, other: &Touched) {
        self.read.extend(&other.read);
        self.written.extend(&other.written);
    }

    fn is_empty(&self) -> bool {
        self.read.is_empty() && self.written.is_empty()
    }
}

/// What happens in a block.
#[derive(Default)]
struct Seen {
    /// Before its first barrier, and after its last; the same where it has none.
    first: Touched,
    last: Touched,
    /// Whether it has a barrier.
    waits: bool,
    barriers: Count,
}

struct All {
    /// Arrays that iterations have for themselves.
    own: BTreeSet<Buffer>,
    filled: Vec<(Buffer, Count)>,
    /// How many grids are around. What is made in a second one is one member's alone.
    grids: usize,
}

impl All {
    fn block(&mut self, walk: &mut Walk<'_, '_>, block: &Block) -> Seen {
        let mut out = Seen::default();
        for s in block {
            let seen = self.stmt(walk, s);
            let meets = out.last.meets(&seen.first);
            if meets {
                out.barriers = out.barriers.plus(&Count::lit(1));
            }
            out.barriers = out.barriers.plus(&seen.barriers);
            if !out.waits && !meets {
                out.first.join(&seen.first);
            }
            if meets || seen.waits {
                out.last = seen.last;
            } else {
                out.last.join(&seen.last);
            }
            out.waits |= meets || seen.waits;
        }
        out
    }

    fn stmt(&mut self, walk: &mut Walk<'_, '_>, s: &Stmt) -> Seen {
        match &s.kind {
            StmtKind::For { var, domain, body } => self.over(walk, s, &[(*var, domain.clone())], body),
            StmtKind::Grid(g) => {
                self.grids += 1;
                let seen = self.over(walk, s, &g.axes, &g.body);
                self.grids -= 1;
                seen
            }
            StmtKind::Alloc(b) => {
                if self.grids == 1 {
                    self.own.insert(*b);
                }
                Seen::default()
            }
            StmtKind::If { guard: _, then, els } => {
                let (a, b) = (self.block(walk, then), self.block(walk, els));
                let mut out = Seen { waits: a.waits || b.waits, barriers: a.barriers.plus(&b.barriers), ..a };
                out.first.join(&b.first);
                out.last.join(&b.last);
                out
            }
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Lease { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => self.stage(walk, s),
        }
    }

    /// A statement, or a nest without barriers, that all of a group work on at once.
    fn stage(&mut self, walk: &Walk<'_, '_>, s: &Stmt) -> Seen {
        let mut touched = Touches { walk, own: &self.own, seen: Touched::default() };
        touched.stmt(s);
        let seen = touched.seen;
        self.filled.extend(seen.written.iter().map(|b| (*b, Count::lit(1))));
        Seen { first: seen.clone(), last: seen, waits: false, barriers: Count::zero() }
    }

    fn over(&mut self, walk: &mut Walk<'_, '_>, s: &Stmt, axes: &[(Var, Domain)], body: &Block) -> Seen {
        let (own, filled) = (self.own.clone(), self.filled.len());
        let mut ranges: Vec<(Var, Range)> = Vec::new();
        for (v, domain) in axes {
            let range = walk.scope.range(domain);
            walk.scope.enter(*v, &range);
            ranges.push((*v, range));
        }
        let mut seen = self.block(walk, body);
        let new: BTreeSet<Buffer> = self.own.difference(&own).copied().collect();
        let has_stages = seen.waits || !new.is_empty();
        // Iterations of a grid do not wait for one another.
        let again = seen.waits && !matches!(s.kind, StmtKind::Grid(_)) && seen.last.meets(&seen.first);
        if again {
            seen.barriers = seen.barriers.plus(&Count::lit(1));
        }
        let mut inner = self.filled.split_off(filled);
        for (v, range) in ranges.iter().rev() {
            walk.scope.ranges.leave();
            let tally = |c: &Count| walk.mode.sum(c, walk.scope.var(*v), range, &walk.scope.ranges);
            inner.iter_mut().for_each(|(_, n)| *n = tally(n));
            seen.barriers = tally(&seen.barriers);
        }
        if again {
            // None behind the last iteration.
            let less = seen.barriers.minus(&Count::lit(1));
            seen.barriers = less.larger(&Count::zero(), &walk.scope.ranges);
        }
        self.own = own;
        if !has_stages {
            return self.stage(walk, s);
        }
        self.filled.extend(inner);
        for t in [&mut seen.first, &mut seen.last] {
            t.read.retain(|b| !new.contains(b));
            t.written.retain(|b| !new.contains(b));
        }
        seen.waits &= !seen.first.is_empty() || !seen.last.is_empty() || !seen.barriers.is_zero();
        seen
    }
}

struct Touches<'a, 'w, 's> {
    walk: &'a Walk<'w, 's>,
    own: &'a BTreeSet<Buffer>,
    seen: Touched,
}

impl Touches<'_, '_, '_> {
    fn known(&self, b: Buffer) -> Option<Buffer> {
        let root = crate::resources::root(self.walk.scope.fun, b);
        self.own.contains(&root).then_some(root)
    }
}

impl Visit for Touches<'_, '_, '_> {
    fn stmt(&mut self, s: &Stmt) {
        if let StmtKind::Call(c) = &s.kind {
            for view in &c.args {
                let known = self.known(view.buffer);
                self.seen.read.extend(known);
                self.seen.written.extend(known);
            }
        }
        visit_stmt(self, s);
    }

    fn load(&mut self, access: &Access) {
        let known = self.known(access.buffer);
        self.seen.read.extend(known);
    }

    fn store(&mut self, access: &Access) {
        let known = self.known(access.buffer);
        self.seen.written.extend(known);
    }
}
