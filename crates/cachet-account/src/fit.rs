//! Do the arrays that are kept in a level at once fit into it?
//!
//! Each takes whole lines, with what its layout fills up, and one line more, for nobody says where it starts. They fit if
//! their lines together are at most the level's, and, where the level has sets, if no set is asked for more lines than it
//! has ways wherever the arrays start: consecutive lines go to consecutive sets. An array of which each iteration of a grid
//! has its own counts once for each core that shares the level. What a called function keeps comes on top of what its caller
//! keeps. Lengths are bounded by numbers or by what a function requires of its sizes; where neither bounds them, it is
//! asked of whoever calls it.

use crate::resources::{leases, root, span_at};
use cachet_core::instance::instantiate;
use cachet_core::ir::{Block, Buffer, Call, Device, Fun, Guard, Ix, Level, Program, Rel, Stmt, StmtKind, Var};
use cachet_machine::platform::Platform;
use cachet_source::{Diagnostic, Kind, codes};
use std::collections::{BTreeMap, BTreeSet};

/// The least and the most that something is, as far as that is known.
pub(crate) type Bounds = (Option<i64>, Option<i64>);

/// Bounds of sizes.
pub(crate) type Sizes = BTreeMap<Var, Bounds>;

/// An array that is kept in a level.
#[derive(Clone)]
struct Kept {
    name: String,
    /// Its lines, and one more.
    lines: i64,
    /// How many there are of it at once.
    copies: i64,
}

/// What a level offers.
struct Room {
    line: i64,
    capacity: i64,
    /// How many sets, and the lines of each.
    sets: Option<(i64, i64)>,
}

/// Levels that are too small for what a function keeps there.
pub(crate) fn fits(program: &Program, fun: &Fun, platform: &Platform) -> Vec<Diagnostic> {
    let mut walk = Walk { program, platform, fullest: BTreeMap::new(), crowded: BTreeMap::new() };
    // What is unknown is asked of the callers.
    walk.function(fun, &required(fun), &Now::default(), 0);
    let mut out = Vec::new();
    for (level, kept) in &walk.fullest {
        let Some(room) = room(platform, level) else { continue };
        if bytes(kept, &room) > i128::from(room.capacity) {
            out.push(too_large(fun, level, kept, &room));
        } else if let Some(kept) = walk.crowded.get(level)
            && let Some((sets, ways)) = room.sets
            && in_one_set(kept, sets) > i128::from(ways)
        {
            out.push(too_crowded(fun, level, kept, (sets, ways)));
        }
    }
    out
}

fn too_large(fun: &Fun, level: &str, kept: &[Kept], room: &Room) -> Diagnostic {
    let sum = kept.iter().map(|k| k.times(&(k.lines * room.line).to_string())).collect::<Vec<_>>().join(" + ");
    let message = format!("could not prove that what is kept at {level} fits: {sum} <= {}", room.capacity);
    let mut d = Diagnostic::new(Kind::NotProved, codes::RESOURCES, message).at(fun.span.0, "");
    for k in kept {
        let bytes = k.lines * room.line;
        d = d.note(format!("`{}` takes {bytes} bytes: whole lines, and one more, for it may start anywhere", k.name));
        d = k.explained(d, level);
    }
    d.help("keep smaller blocks, or keep some in a larger level")
}

fn too_crowded(fun: &Fun, level: &str, kept: &[Kept], (sets, ways): (i64, i64)) -> Diagnostic {
    let sum = kept.iter().map(|k| k.times(&k.in_one_set(sets).to_string())).collect::<Vec<_>>().join(" + ");
    let message = format!(
        "could not prove that what is kept at {level} stays there: {sum} <= {ways} lines of one of its {sets} sets"
    );
    let mut d = Diagnostic::new(Kind::NotProved, codes::RESOURCES, message).at(fun.span.0, "");
    for k in kept {
        let n = k.in_one_set(sets);
        d = d.note(format!("`{}` takes {} lines, up to {n} of them in one set, wherever it starts", k.name, k.lines));
        d = k.explained(d, level);
    }
    d.help(format!("keep shorter blocks ({} lines are one in each set), or fewer, or some in a larger level", sets - 1))
}

impl Kept {
    fn in_one_set(&self, sets: i64) -> i64 {
        self.lines.div_euclid(sets) + i64::from(self.lines.rem_euclid(sets) > 0)
    }

    fn times(&self, what: &str) -> String {
        if self.copies == 1 { what.into() } else { format!("{} * {what}", self.copies) }
    }

    fn explained(&self, d: Diagnostic, level: &str) -> Diagnostic {
        if self.copies == 1 {
            return d;
        }
        let (name, n) = (&self.name, self.copies);
        d.note(format!("each iteration of a grid has a `{name}` of its own, and {n} cores share {level}"))
    }
}

fn bytes(kept: &[Kept], room: &Room) -> i128 {
    kept.iter().map(|k| i128::from(k.lines) * i128::from(room.line) * i128::from(k.copies)).sum()
}

fn in_one_set(kept: &[Kept], sets: i64) -> i128 {
    kept.iter().map(|k| i128::from(k.in_one_set(sets)) * i128::from(k.copies)).sum()
}

fn room(platform: &Platform, level: &str) -> Option<Room> {
    let number = |name: &str| platform.number(name, &[level], None).ok().filter(|n| *n > 0);
    let (capacity, line) = (number("capacity")?, number("line").unwrap_or(1));
    let sets = number("ways").map(|ways| (capacity / line / ways, ways)).filter(|(sets, _)| *sets > 0);
    Some(Room { line, capacity, sets })
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

/// What stands where in a function's walk.
#[derive(Clone, Default)]
struct Now {
    /// What is kept, by level.
    kept: BTreeMap<String, Vec<Kept>>,
    /// Whether a grid is around.
    in_grid: bool,
    /// The arrays that each iteration of a grid has for itself.
    own: BTreeSet<Buffer>,
}

struct Walk<'a> {
    program: &'a Program,
    platform: &'a Platform,
    /// The most that each level holds at once, in bytes.
    fullest: BTreeMap<String, Vec<Kept>>,
    /// The most in one set.
    crowded: BTreeMap<String, Vec<Kept>>,
}

impl Walk<'_> {
    fn function(&mut self, fun: &Fun, sizes: &Sizes, now: &Now, depth: usize) {
        if depth > cachet_core::ir::MAX_DEPTH {
            return;
        }
        let mut now = now.clone();
        for k in fun.resources.keeps.iter().filter(|k| !is_leased(fun, k.buffer, &k.level)) {
            self.keep(fun, sizes, (&k.level, k.buffer), &mut now);
        }
        self.block(fun, sizes, &fun.body, now, depth);
    }

    fn block(&mut self, fun: &Fun, sizes: &Sizes, block: &Block, mut now: Now, depth: usize) {
        for s in block {
            self.stmt(fun, sizes, s, &mut now, depth);
        }
    }

    fn stmt(&mut self, fun: &Fun, sizes: &Sizes, s: &Stmt, now: &mut Now, depth: usize) {
        match &s.kind {
            StmtKind::For { body, .. } => self.block(fun, sizes, body, now.clone(), depth),
            StmtKind::Grid(g) => {
                let inside = Now { in_grid: now.in_grid || g.device == Device::HOST, ..now.clone() };
                self.block(fun, sizes, &g.body, inside, depth);
            }
            StmtKind::If { guard: _, then, els } => {
                self.block(fun, sizes, then, now.clone(), depth);
                self.block(fun, sizes, els, now.clone(), depth);
            }
            StmtKind::Lease { lease, of, mutable: _ } => {
                let (level, of) = (&fun.buffers[lease.index()].level, root(fun, *of));
                if *level != fun.buffers[of.index()].level {
                    self.keep(fun, sizes, (level, of), now);
                }
            }
            StmtKind::Alloc(b) => {
                if now.in_grid {
                    now.own.insert(*b);
                }
                self.keep(fun, sizes, (&fun.buffers[b.index()].level, *b), now);
            }
            StmtKind::Call(c) => self.call(fun, sizes, c, now, depth),
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Print(_) => {}
        }
    }

    /// An array, perhaps lent from elsewhere, that stays in a level from here on.
    fn keep(&mut self, fun: &Fun, sizes: &Sizes, (level, of): (&Level, Buffer), now: &mut Now) {
        let Some(room) = room(self.platform, &level.name) else { return };
        let Some(span) = span_at(fun, of, sizes) else { return };
        let lines = span.div_euclid(room.line) + i64::from(span.rem_euclid(room.line) > 0);
        let lines = lines.saturating_add(i64::from(room.line > 1));
        let shared = self.platform.number("shared", &[level.name.as_str()], None).unwrap_or(1).max(1);
        let copies = if now.own.contains(&of) { shared } else { 1 };
        let kept = now.kept.entry(level.name.clone()).or_default();
        kept.push(Kept { name: fun.buffers[of.index()].name.clone(), lines, copies });
        let more = |most: &mut Vec<Kept>, of: &dyn Fn(&[Kept]) -> i128| {
            if of(kept) > of(most) {
                most.clone_from(kept);
            }
        };
        more(self.fullest.entry(level.name.clone()).or_default(), &|k| bytes(k, &room));
        if let Some((sets, _)) = room.sets {
            more(self.crowded.entry(level.name.clone()).or_default(), &|k| in_one_set(k, sets));
        }
    }

    fn call(&mut self, fun: &Fun, sizes: &Sizes, c: &Call, now: &Now, depth: usize) {
        let callee = instantiate(self.program, &self.program.funs[c.fun.index()], &c.types);
        let mut inside = required(&callee);
        for (v, ix) in callee.sizes.iter().zip(&c.sizes) {
            let (least, most) = bounds(ix, sizes);
            let own = inside.get(v).copied().unwrap_or((Some(0), None));
            inside.insert(*v, (own.0.max(least), smaller(own.1, most)));
        }
        let lent = callee.params.iter().zip(&c.args).filter(|(_, view)| now.own.contains(&root(fun, view.buffer)));
        let own = lent.map(|(p, _)| *p).collect();
        let now = Now { kept: now.kept.clone(), in_grid: now.in_grid, own };
        self.function(&callee, &inside, &now, depth + 1);
    }
}

/// What a function requires of its sizes one by one.
pub(crate) fn required(fun: &Fun) -> Sizes {
    fn note(g: &Guard, out: &mut Sizes) {
        let most = |v: &Var, n: i64, out: &mut Sizes| {
            let e = out.entry(*v).or_insert((Some(0), None));
            e.1 = smaller(e.1, Some(n));
        };
        let least = |v: &Var, n: i64, out: &mut Sizes| {
            let e = out.entry(*v).or_insert((Some(0), None));
            e.0 = e.0.max(Some(n));
        };
        match g {
            Guard::And(a, b) => {
                note(a, out);
                note(b, out);
            }
            Guard::Cmp(Rel::Le, Ix::Var(v), Ix::Lit(n)) => most(v, *n, out),
            Guard::Cmp(Rel::Lt, Ix::Var(v), Ix::Lit(n)) => most(v, n.saturating_sub(1), out),
            Guard::Cmp(Rel::Le, Ix::Lit(n), Ix::Var(v)) => least(v, *n, out),
            Guard::Cmp(Rel::Lt, Ix::Lit(n), Ix::Var(v)) => least(v, n.saturating_add(1), out),
            Guard::Cmp(Rel::Eq, Ix::Var(v), Ix::Lit(n)) | Guard::Cmp(Rel::Eq, Ix::Lit(n), Ix::Var(v)) => {
                most(v, *n, out);
                least(v, *n, out);
            }
            Guard::Cmp(..) | Guard::Const(_) | Guard::Or(..) | Guard::Not(_) => {}
        }
    }
    let mut out = Sizes::new();
    fun.requires.iter().for_each(|g| note(g, &mut out));
    out
}

fn smaller(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Bounds of an index of sizes.
pub(crate) fn bounds(ix: &Ix, sizes: &Sizes) -> Bounds {
    let two = |a: &Ix, b: &Ix| (bounds(a, sizes), bounds(b, sizes));
    let both = |a: Option<i64>, b: Option<i64>, f: fn(i64, i64) -> Option<i64>| f(a?, b?);
    match ix {
        Ix::Lit(n) => (Some(*n), Some(*n)),
        Ix::Var(v) => sizes.get(v).copied().unwrap_or((None, None)),
        Ix::Add(a, b) => {
            let (a, b) = two(a, b);
            (both(a.0, b.0, i64::checked_add), both(a.1, b.1, i64::checked_add))
        }
        Ix::Sub(a, b) => {
            let (a, b) = two(a, b);
            (both(a.0, b.1, i64::checked_sub), both(a.1, b.0, i64::checked_sub))
        }
        Ix::Mul(n, a) => {
            let (lo, hi) = bounds(a, sizes);
            let by = |x: Option<i64>| x.and_then(|x| x.checked_mul(*n));
            if *n < 0 { (by(hi), by(lo)) } else { (by(lo), by(hi)) }
        }
        Ix::Div(a, n) => {
            let (lo, hi) = bounds(a, sizes);
            (lo.map(|x| x.div_euclid(*n)), hi.map(|x| x.div_euclid(*n)))
        }
        Ix::Mod(a, n) => match bounds(a, sizes) {
            (Some(x), Some(y)) if x == y => (Some(x.rem_euclid(*n)), Some(x.rem_euclid(*n))),
            _ => (Some(0), Some(n - 1)),
        },
        Ix::Min(a, b) => {
            let (a, b) = two(a, b);
            (both(a.0, b.0, |x, y| Some(x.min(y))), smaller(a.1, b.1))
        }
        Ix::Max(a, b) => {
            let (a, b) = two(a, b);
            (a.0.max(b.0), both(a.1, b.1, |x, y| Some(x.max(y))))
        }
        Ix::If(..) | Ix::Block(..) | Ix::InBlock(..) => (None, None),
    }
}
