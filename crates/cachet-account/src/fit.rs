//! Do the arrays that are kept in a level at once fit into it?
//!
//! Each takes whole lines, with what its layout fills up, and one line more, for nobody says where it starts. What a called
//! function keeps comes on top of what its caller keeps. Lengths have to be numbers: where they depend on a function's
//! sizes, it is asked of whoever calls it with numbers.

use crate::resources::{bytes_at, leases, root};
use cachet_core::instance::instantiate;
use cachet_core::ir::{Block, Buffer, Call, Fun, Level, Program, Stmt, StmtKind, Var};
use cachet_core::sized;
use cachet_machine::platform::Platform;
use cachet_source::{Diagnostic, Kind, codes};
use std::collections::BTreeMap;

/// What is kept at a level at once: arrays and the bytes of their lines.
type Kept = Vec<(String, i64)>;

/// Levels that are too small for what a function keeps there.
pub(crate) fn fits(program: &Program, fun: &Fun, platform: &Platform) -> Vec<Diagnostic> {
    let mut walk = Walk { program, platform, fullest: BTreeMap::new() };
    let none = BTreeMap::new();
    // What is unknown is asked of the callers.
    let _ = walk.function(fun, &none, &BTreeMap::new(), 0);
    let mut out = Vec::new();
    for (level, kept) in &walk.fullest {
        let Ok(capacity) = platform.number("capacity", &[level.as_str()], None) else { continue };
        let all: i64 = kept.iter().map(|k| k.1).sum();
        if all <= capacity {
            continue;
        }
        let sum: Vec<String> = kept.iter().map(|k| k.1.to_string()).collect();
        let message = format!("could not prove that what is kept at {level} fits: {} <= {capacity}", sum.join(" + "));
        let mut d = Diagnostic::new(Kind::NotProved, codes::RESOURCES, message).at(fun.span.0, "");
        for (name, bytes) in kept {
            d = d.note(format!("`{name}` takes {bytes} bytes: whole lines, and one more, for it may start anywhere"));
        }
        out.push(d.help("keep smaller blocks, or keep some in a larger level"));
    }
    out
}

fn is_leased(fun: &Fun, buffer: Buffer, level: &Level) -> bool {
    let mut found = false;
    leases(&fun.body, &mut |lease, of| {
        found |= root(fun, of) == buffer && fun.buffers[lease.index()].level == *level;
    });
    found
}

/// Leases that a function's own `working_set` does not have.
pub(crate) fn undeclared(fun: &Fun) -> Vec<Diagnostic> {
    let mut out: Vec<Diagnostic> = Vec::new();
    let keeps = &fun.resources.keeps;
    leases(&fun.body, &mut |lease, of| {
        let (of, lease) = (root(fun, of), &fun.buffers[lease.index()]);
        let kept = keeps.iter().any(|k| k.buffer == of && k.level == lease.level);
        if !keeps.is_empty() && fun.params.contains(&of) && !kept {
            let (name, level) = (&fun.buffers[of.index()].name, &lease.level.name);
            let message = format!("`{name}` is kept at {level}, and the working set of `{}` does not say so", fun.name);
            let d = Diagnostic::error(codes::RESOURCES, lease.span.0, message).also(fun.span.0, "");
            out.push(d.help(format!("write `@{level} {{ keep {name} = descriptor {name} }}` under `working_set`")));
        }
    });
    out
}

struct Walk<'a> {
    program: &'a Program,
    platform: &'a Platform,
    /// The most that each level holds at once.
    fullest: BTreeMap<String, Kept>,
}

/// What is kept where, by level.
type Now = BTreeMap<String, Kept>;

impl Walk<'_> {
    /// `None` where something has no number.
    fn function(&mut self, fun: &Fun, sizes: &BTreeMap<Var, i64>, now: &Now, depth: usize) -> Option<()> {
        if depth > cachet_core::ir::MAX_DEPTH {
            return None;
        }
        let mut now = now.clone();
        let mut whole = Some(());
        for k in fun.resources.keeps.iter().filter(|k| !is_leased(fun, k.buffer, &k.level)) {
            whole = self.keep(fun, sizes, (&k.level, k.buffer), &mut now).and(whole);
        }
        self.block(fun, sizes, &fun.body, now, depth).and(whole)
    }

    fn block(
        &mut self,
        fun: &Fun,
        sizes: &BTreeMap<Var, i64>,
        block: &Block,
        mut now: Now,
        depth: usize,
    ) -> Option<()> {
        let mut whole = Some(());
        for s in block {
            whole = self.stmt(fun, sizes, s, &mut now, depth).and(whole);
        }
        whole
    }

    fn stmt(&mut self, fun: &Fun, sizes: &BTreeMap<Var, i64>, s: &Stmt, now: &mut Now, depth: usize) -> Option<()> {
        match &s.kind {
            StmtKind::For { body, .. } => self.block(fun, sizes, body, now.clone(), depth),
            StmtKind::Grid(g) => self.block(fun, sizes, &g.body, now.clone(), depth),
            StmtKind::If { guard: _, then, els } => {
                let then = self.block(fun, sizes, then, now.clone(), depth);
                self.block(fun, sizes, els, now.clone(), depth).and(then)
            }
            StmtKind::Lease { lease, of, mutable: _ } => {
                self.keep(fun, sizes, (&fun.buffers[lease.index()].level, root(fun, *of)), now)
            }
            StmtKind::Call(c) => self.call(sizes, c, now, depth),
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Print(_) => Some(()),
        }
    }

    /// An array, perhaps lent from elsewhere, that stays in a level from here on.
    fn keep(
        &mut self,
        fun: &Fun,
        sizes: &BTreeMap<Var, i64>,
        (level, of): (&Level, Buffer),
        now: &mut Now,
    ) -> Option<()> {
        if *level == fun.buffers[of.index()].level {
            return Some(());
        }
        let bytes = bytes_at(fun, of, sizes)?;
        let line = self.line(level).unwrap_or(1);
        let lines = bytes.checked_add(line - 1)?.div_euclid(line).checked_add(i64::from(line > 1))?;
        let kept = now.entry(level.name.clone()).or_default();
        kept.push((fun.buffers[of.index()].name.clone(), lines.checked_mul(line)?));
        let all = |k: &Kept| k.iter().map(|k| i128::from(k.1)).sum::<i128>();
        let most = self.fullest.entry(level.name.clone()).or_default();
        if all(kept) > all(most) {
            most.clone_from(kept);
        }
        Some(())
    }

    fn line(&self, level: &Level) -> Option<i64> {
        self.platform.number("line", &[level.name.as_str()], None).ok().filter(|n| *n > 0)
    }

    fn call(&mut self, sizes: &BTreeMap<Var, i64>, c: &Call, now: &Now, depth: usize) -> Option<()> {
        let callee = instantiate(self.program, &self.program.funs[c.fun.index()], &c.types);
        let value = |ix| sized::value(ix, &|v| sizes.get(&v).copied());
        let inside = callee.sizes.iter().zip(&c.sizes).filter_map(|(v, ix)| Some((*v, value(ix)?))).collect();
        self.function(&callee, &inside, now, depth + 1)
    }
}
