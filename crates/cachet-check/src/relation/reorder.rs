//! REORDER: the same events in another order.
//!
//! Theorem. Let `T` run the same statement instances as `S`, and let every two instances of which one writes a cell that
//! the other reads or writes run in the same order in both. Then both leave the same memory: two orders of one finite set
//! of events that agree on all conflicting pairs are connected by swaps of neighbours that do not conflict, and such a
//! swap changes nothing (Bernstein). So the condition for every pair that the move reverses is: they touch different cells.
//!
//! Near misses that must be refused: an output that is also read under another subscript; a `let` carried across a
//! store; a loop whose range depends on the loop it would leave; a sum's own loop run backwards.
//!
//! Each form below makes the new order and the pairs that it reverses:
//! - `interchange`: `for i { for j { B } }` to `for j { for i { B } }` reverses `(i, j)` and `(i', j')` with `i < i'`, `j' < j`.
//! - `distribute`: `nest { A; B }` to `nest { A }; nest { B }` reverses `B` at `q` and `A` at a later `p`.
//! - `fuse`: the other way round.

use super::Relation;
use super::accesses::{Access, Place};
use super::find::shown;
use super::order::mentions;
use crate::condition::Kind;
use crate::context::Context;
use crate::formula::Formula;
use cachet_core::ir::{Block, Domain, Ix, Stmt, StmtKind, Var};
use cachet_core::pattern::LoopRef;
use cachet_core::rewrite::{Arm, Live, Subst, Turn, refresh};
use cachet_source::Diagnostic;

/// A loop of a nest.
type Loop = (Var, Domain);

impl Relation<'_> {
    /// Swaps a loop with the one directly inside it.
    pub(super) fn interchange(&mut self, block: &mut Block, wanted: &LoopRef) -> Result<(), Diagnostic> {
        let spot = self.find_loop(block, wanted)?;
        let cx = self.context_of(block, &spot.path);
        let side = wanted.side;
        let missing = || self.misfit(format!("{side} has no loop over {}", shown(wanted)));
        let here = spot.block(block).and_then(|b| b.get_mut(spot.at)).ok_or_else(missing)?;
        let StmtKind::For { var: outer, domain: outer_domain, body } = &here.kind else { return Err(missing()) };
        let [Stmt { kind: StmtKind::For { var: inner, domain: inner_domain, body: inmost }, span }] = body.as_slice()
        else {
            return Err(self.misfit(format!("{side}.{} is not directly around one other loop", shown(wanted))));
        };
        if mentions(inner_domain, *outer) {
            let (o, i) = (self.names().var(*outer), self.names().var(*inner));
            return Err(self.misfit(format!("the range of {side}.{i} depends on {o}, so {o} must stay outside {i}")));
        }
        let (outer, inner) = ((*outer, outer_domain.clone()), (*inner, inner_domain.clone()));
        let accesses = self.accesses(inmost)?;
        let (first, mut second) = self.two_iterations(&cx, &[outer.clone(), inner.clone()]);
        let earlier = |a: &Context, b: &Context, v: Var| Some(a.counter(v)?.lt(b.counter(v)?));
        let reversed = [earlier(&first, &second, outer.0), earlier(&second, &first, inner.0)];
        for fact in reversed.into_iter().flatten() {
            second.fact(fact);
        }
        let what = format!(
            "no iteration of the loops at {side}.{} and {side}.{} reads what another writes",
            self.names().var(outer.0),
            self.names().var(inner.0)
        );
        self.all_apart(first, &second, &accesses, &accesses, &what);
        let swapped = StmtKind::For {
            var: inner.0,
            domain: inner.1,
            body: vec![Stmt {
                kind: StmtKind::For { var: outer.0, domain: outer.1, body: inmost.clone() },
                span: *span,
            }],
        };
        let span = here.span;
        *here = Stmt { kind: swapped, span };
        Ok(())
    }

    /// Splits the innermost block of the nest under a loop in two.
    pub(super) fn distribute(&mut self, block: &mut Block, of: &LoopRef, at: usize) -> Result<(), Diagnostic> {
        let spot = self.find_loop(block, of)?;
        let cx = self.context_of(block, &spot.path);
        let side = of.side;
        let missing = || self.misfit(format!("{side} has no loop over {}", shown(of)));
        let here = spot.block(block).and_then(|b| b.get(spot.at)).ok_or_else(missing)?.clone();
        let (loops, inmost) = perfect(&here);
        if at == 0 || at >= inmost.len() {
            let n = inmost.len();
            return Err(self.misfit(format!(
                "the nest under {side}.{} has {n} statement{} inside, so it cannot be split after {at}",
                shown(of),
                if n == 1 { "" } else { "s" }
            )));
        }
        let (a, b) = inmost.split_at(at);
        if let Some(name) = self.carried(a, b) {
            return Err(self.misfit(format!("`{name}` is named before the split and used after it")));
        }
        self.reversed_parts(&cx, &loops, a, b, side)?;
        let b = b.to_vec();
        let first = rebuild(&loops, a.to_vec(), &here);
        let (loops, b) = self.fresh_loops(&loops, &b);
        let second = rebuild(&loops, b, &here);
        if let Some(block) = spot.block(block) {
            block.splice(spot.at..=spot.at, [first, second]);
        }
        Ok(())
    }

    /// Joins two nests that stand one after the other and run over the same ranges.
    pub(super) fn fuse(&mut self, block: &mut Block, a: &LoopRef, b: &LoopRef) -> Result<(), Diagnostic> {
        let (first, second) = (self.find_loop(block, a)?, self.find_loop(block, b)?);
        let side = a.side;
        if first.path != second.path || first.at + 1 != second.at {
            return Err(self.misfit(format!(
                "{side}.{} and {side}.{} do not stand one after the other",
                shown(a),
                shown(b)
            )));
        }
        let cx = self.context_of(block, &first.path);
        let missing = || self.misfit(format!("{side} has no loop over {}", shown(a)));
        let stmts = first.block(block).ok_or_else(missing)?;
        let (Some(x), Some(y)) = (stmts.get(first.at).cloned(), stmts.get(second.at).cloned()) else {
            return Err(missing());
        };
        let (StmtKind::For { var: v, domain: d, body: p }, StmtKind::For { var: w, domain: e, body: q }) =
            (&x.kind, &y.kind)
        else {
            return Err(missing());
        };
        if d != e {
            return Err(self.misfit(format!("{side}.{} and {side}.{} run over different ranges", shown(a), shown(b))));
        }
        let q = Subst::var(*w, Ix::Var(*v)).block(q);
        let loops = [(*v, d.clone())];
        self.reversed_parts(&cx, &loops, p, &q, side)?;
        let mut body = p.clone();
        body.extend(q);
        let joined = rebuild(&loops, body, &x);
        if let Some(block) = first.block(block) {
            block.splice(first.at..=second.at, [joined]);
        }
        Ok(())
    }

    /// The pairs that `distribute` and `fuse` reverse: `B` at an iteration and `A` at a later one.
    fn reversed_parts(
        &mut self,
        cx: &Context,
        loops: &[Loop],
        a: &[Stmt],
        b: &[Stmt],
        side: cachet_core::pattern::Side,
    ) -> Result<(), Diagnostic> {
        let (in_a, in_b) = (self.accesses(&a.to_vec())?, self.accesses(&b.to_vec())?);
        let (early, mut late) = self.two_iterations(cx, loops);
        late.fact(before(&early, &late, loops));
        let names: Vec<String> = loops.iter().map(|(v, _)| format!("{side}.{}", self.names().var(*v))).collect();
        let what = format!("no iteration of the loops at {} reads what another writes", names.join(" and "));
        // `B` runs at the early iteration and `A` at the late one.
        self.all_apart(early, &late, &in_b, &in_a, &what);
        Ok(())
    }

    /// Two iterations of a nest, as two contexts over the same unknowns: `k` and `k'`.
    pub(super) fn two_iterations(&self, cx: &Context, loops: &[Loop]) -> (Context, Context) {
        let mut first = cx.clone();
        for (v, d) in loops {
            first.enter(self.names().var(*v), *v, d);
        }
        let mut second = first.clone();
        for (v, d) in loops {
            second.enter_again(self.names().var(*v), *v, d);
            if let (Some(x), Some(y)) = (first.counter(*v), second.counter(*v)) {
                second.hint(x, y);
            }
        }
        first.continue_from(&second);
        (first, second)
    }

    pub(super) fn all_apart(&mut self, mut first: Context, second: &Context, a: &[Access], b: &[Access], what: &str) {
        first.continue_from(second);
        for x in a {
            for y in b {
                let Some((cx, goal)) = self.apart((&first, x), (second, y)) else { continue };
                let note = match x.place {
                    Place::Buffer(buffer) => {
                        let name = self.names().buffer(buffer);
                        let (one, other) = (self.names().cell(name, &x.at), self.names().cell(name, &y.at));
                        let verb = |w: bool| if w { "writes" } else { "reads" };
                        format!("one iteration {} `{one}`, the other {} `{other}`", verb(x.write), verb(y.write))
                    }
                    Place::Local(l) => {
                        format!("both use `{}`, which is declared outside the loops", self.names().local(l))
                    }
                };
                let places = [(x.span, "one iteration".to_string()), (y.span, "the other".to_string())];
                self.emit(Kind::Order, &cx, goal, what, &[note], &places);
            }
        }
    }

    /// A name that the first part declares and the second uses.
    fn carried(&self, a: &[Stmt], b: &[Stmt]) -> Option<String> {
        let used = Live::of_block(b);
        a.iter().find_map(|s| match &s.kind {
            StmtKind::Let { local, .. } | StmtKind::Var { local, .. } => {
                used.locals.contains(local).then(|| self.names().local(*local).to_string())
            }
            StmtKind::Alloc(b) | StmtKind::Lease { lease: b, .. } => {
                used.buffers.contains(b).then(|| self.names().buffer(*b).to_string())
            }
            StmtKind::For { .. }
            | StmtKind::Grid(_)
            | StmtKind::If { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => None,
        })
    }

    /// The same loops and body under fresh ids: two nests may not share binders.
    pub(super) fn fresh_loops(&mut self, loops: &[Loop], body: &Block) -> (Vec<Loop>, Block) {
        let mut subst = Subst::default();
        let mut out = Vec::new();
        for (v, d) in loops {
            let info = self.fun.vars[v.index()].clone();
            let fresh = self.fun.add_var(info.name, info.kind);
            out.push((fresh, subst.domain(d)));
            subst.vars.insert(*v, Ix::Var(fresh));
        }
        let body = subst.block(body);
        (out, refresh(&mut self.fun, &body))
    }

    /// What is known inside the site at the end of a path into one side.
    pub(super) fn context_of(&self, block: &Block, path: &[Turn]) -> Context {
        let mut cx = self.context.clone();
        let mut block = block;
        for turn in path {
            let Some(stmt) = block.get(turn.at) else { break };
            match (&stmt.kind, turn.arm) {
                (StmtKind::For { var, domain, body }, Arm::First) => {
                    cx.enter(self.names().var(*var), *var, domain);
                    block = body;
                }
                (StmtKind::Grid(g), Arm::First) => {
                    for (v, d) in &g.axes {
                        cx.enter(self.names().var(*v), *v, d);
                    }
                    block = &g.body;
                }
                (StmtKind::If { guard, then, .. }, Arm::First) => {
                    cx.assume(guard);
                    block = then;
                }
                (StmtKind::If { guard, els, .. }, Arm::Else) => {
                    cx.assume(&cachet_core::ir::Guard::Not(Box::new(guard.clone())));
                    block = els;
                }
                _ => break,
            }
        }
        cx
    }
}

/// `first`'s iteration comes before `second`'s: lexicographic, outermost loop first.
pub(super) fn before(first: &Context, second: &Context, loops: &[Loop]) -> Formula {
    let mut ways = Vec::new();
    let mut equal = Vec::new();
    for (v, _) in loops {
        let (Some(x), Some(y)) = (first.counter(*v), second.counter(*v)) else { continue };
        let mut way = equal.clone();
        way.push(x.clone().lt(y.clone()));
        ways.push(Formula::and(way));
        equal.push(x.equals(y));
    }
    Formula::or(ways)
}

/// The loops of a perfect nest, outermost first, and its innermost block.
pub(super) fn perfect(stmt: &Stmt) -> (Vec<Loop>, &[Stmt]) {
    let mut loops = Vec::new();
    let mut block = std::slice::from_ref(stmt);
    while let [Stmt { kind: StmtKind::For { var, domain, body }, .. }] = block {
        loops.push((*var, domain.clone()));
        block = body;
    }
    (loops, block)
}

pub(super) fn rebuild(loops: &[Loop], inmost: Block, like: &Stmt) -> Stmt {
    let mut body = inmost;
    for (var, domain) in loops.iter().rev() {
        body = vec![Stmt { kind: StmtKind::For { var: *var, domain: domain.clone(), body }, span: like.span }];
    }
    body.into_iter().next().unwrap_or_else(|| like.clone())
}
