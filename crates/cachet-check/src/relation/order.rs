//! Other loops around one body: `order`, and `reorder .. by .. back`.
//!
//! Theorem (see [`super::reorder`]). Let `psi` map the iterations of `T`'s loops one to one onto those of `S`'s, let the
//! body of `T` at `q` be the body of `S` at `psi q`, and let every two iterations that the two nests run in different
//! orders touch different cells. Then both leave the same memory. The conditions:
//!
//! | | for all | |
//! | --- | --- | --- |
//! | into | `q` of `T` | `psi q` is an iteration of `S` |
//! | onto | `p` of `S` | `phi p` is an iteration of `T`, and `psi (phi p) = p` |
//! | once | `q` of `T` | `phi (psi q) = q` |
//! | order | `q`, `q'` of `T` with `psi q` before `psi q'` and `q'` before `q` | no access at one conflicts with one at the other |
//!
//! `order` is the case where both maps are the identity, so that only the last one is left. The body counts as one: its
//! statements stay together, and what it reads and writes is taken together.
//!
//! An iteration of a loop over blocks is its block's number `q`: what a map gives such a loop is a number, `0 <= q` and
//! `lo + n*q < hi` say that there is such a block, and numbers come in the order in which the loop runs. Where the loop is
//! `S`'s, its parts are written out in the body: `g.lo` is `lo + n*q`, `g[e]` is `lo + n*q + e`, and so on.
//!
//! Near misses: a loop moved outside the block that its range depends on; an anti-diagonal without its lower end; the
//! blocks of a sum visited inside out; a map that gives a block's first index for its number; blocks of another size.

use super::Relation;
use super::find::shown;
use crate::condition::{Kind, same_tuple};
use crate::context::{Context, Shown};
use crate::formula::{Formula, Term};
use cachet_core::ir::{Block, Domain, Ix, Stmt, StmtKind, Var};
use cachet_core::pattern::{LoopRef, MapVar, PatIx, Side};
use cachet_core::rewrite::{Arm, Counted, Live, Subst, Turn, refresh};
use cachet_source::Diagnostic;

/// A loop of a nest.
type Loop = (Var, Domain);

/// A loop's index in terms of others, for each loop of a nest.
type Map = Vec<(Var, Ix)>;

/// A nest of loops directly inside one another: where its outermost stands, its loops and the body.
struct Nest {
    path: Vec<Turn>,
    at: usize,
    loops: Vec<Loop>,
    body: Block,
    like: Stmt,
}

impl Relation<'_> {
    /// Puts the loops named outermost, in their order; the others of the nest go inside, in theirs.
    pub(super) fn order(&mut self, block: &mut Block, wanted: &[LoopRef]) -> Result<(), Diagnostic> {
        let Some(first) = wanted.first() else { return Err(self.misfit("`order` without loops")) };
        let side = first.side;
        let nest = self.nest_around(block, first)?;
        let named = wanted.iter().map(|w| self.of_nest(&nest, w)).collect::<Result<Vec<_>, _>>()?;
        if let Some(n) = (1..named.len()).find(|n| named[..*n].contains(&named[*n])) {
            return Err(self.misfit(format!("{side}.{} is named more than once", shown(&wanted[n]))));
        }
        let mut ordered: Vec<Loop> = named.iter().map(|n| nest.loops[*n].clone()).collect();
        ordered.extend(nest.loops.iter().enumerate().filter(|(n, _)| !named.contains(n)).map(|(_, l)| l.clone()));
        for (n, (_, domain)) in ordered.iter().enumerate() {
            if let Some((inner, _)) = ordered[n..].iter().find(|(v, _)| mentions(domain, *v)) {
                let (outer, v) = (self.names().var(*inner), self.names().var(ordered[n].0));
                return Err(self
                    .misfit(format!("the range of {side}.{v} depends on {outer}, so {outer} must stay outside {v}")));
            }
        }
        let cx = self.context_of(block, &nest.path);
        let accesses = self.accesses(&nest.body)?;
        let (early, mut late) = self.two_iterations(&cx, &nest.loops);
        late.fact(super::reorder::before(&early, &late, &nest.loops));
        late.fact(super::reorder::before(&late, &early, &ordered));
        let names: Vec<String> = ordered.iter().map(|(v, _)| format!("{side}.{}", self.names().var(*v))).collect();
        let what = format!("no iteration of the loops at {} reads what another writes", and(&names));
        self.all_apart(early, &late, &accesses, &accesses, &what);
        let made = super::reorder::rebuild(&ordered, nest.body.clone(), &nest.like);
        self.put(block, &nest, made);
        Ok(())
    }

    fn put(&self, block: &mut Block, nest: &Nest, made: Stmt) {
        let spot = super::find::Spot { path: nest.path.clone(), at: nest.at };
        if let Some(slot) = spot.block(block).and_then(|b| b.get_mut(nest.at)) {
            *slot = made;
        }
    }

    /// The whole nest that a loop belongs to: up as long as a loop is alone in the one around it, down as well.
    fn nest_around(&self, block: &Block, wanted: &LoopRef) -> Result<Nest, Diagnostic> {
        let spot = self.find_loop(block, wanted)?;
        let missing = || self.misfit(format!("{} has no loop over {}", wanted.side, shown(wanted)));
        let mut path = spot.path.clone();
        let mut at = spot.at;
        while let Some(turn) = path.last().copied() {
            let outer = stmt_at(block, &path[..path.len() - 1], turn.at).ok_or_else(missing)?;
            match (&outer.kind, turn.arm) {
                (StmtKind::For { body, .. }, Arm::First) if body.len() == 1 => {
                    path.pop();
                    at = turn.at;
                }
                _ => break,
            }
        }
        let root = stmt_at(block, &path, at).ok_or_else(missing)?;
        let (loops, body) = super::reorder::perfect(root);
        Ok(Nest { path, at, loops, body: body.to_vec(), like: root.clone() })
    }

    /// The position of a loop in a nest.
    fn of_nest(&self, nest: &Nest, wanted: &LoopRef) -> Result<usize, Diagnostic> {
        let named = nest.loops.iter().enumerate().filter(|(_, (v, _))| self.names().var(*v) == wanted.name);
        match named.map(|(n, _)| n).next() {
            Some(n) => Ok(n),
            None => Err(self.misfit(format!(
                "{}.{} is not a loop of the nest that {} belongs to",
                wanted.side,
                shown(wanted),
                nest.loops.iter().map(|(v, _)| self.names().var(*v)).collect::<Vec<_>>().join(", ")
            ))),
        }
    }

    /// Puts `T`'s loops around `S`'s body.
    pub(super) fn reorder(
        &mut self,
        s: &mut Block,
        t: &Block,
        by: &[(MapVar, PatIx)],
        back: &[(MapVar, PatIx)],
    ) -> Result<(), Diagnostic> {
        let from = self.map(by, "by")?;
        let to = self.map(back, "back")?;
        let old = self.nest_of(s, &from, Side::S)?;
        let new = self.nest_of(t, &to, Side::T)?;
        let cx = self.context_of(s, &old.path);
        let (new, from, to) = self.apart_from_s(&cx, &old, &new, &from, &to)?;
        self.bijection(&cx, (&old.loops, &from), (&new, &to));
        let accesses = self.accesses(&old.body)?;
        // Two iterations of `T`, and those of `S` that they stand for.
        let (first, mut second) = self.two_iterations(&cx, &new);
        let (mut of_first, mut of_second) = (first.clone(), second.clone());
        for (image, of) in [(&mut of_first, &first), (&mut of_second, &second)] {
            for (v, d) in &old.loops {
                if let Some((_, e)) = from.iter().find(|(x, _)| x == v) {
                    image.place(*v, d, of.ix(e));
                }
            }
        }
        second.fact(super::reorder::before(&of_first, &of_second, &old.loops));
        second.fact(super::reorder::before(&second, &first, &new));
        of_first.continue_from(&second);
        of_second.continue_from(&second);
        let names: Vec<String> = new.iter().map(|(v, _)| format!("T.{}", self.names().var(*v))).collect();
        let what = format!("no iteration of the loops at {} reads what another writes", and(&names));
        self.all_apart(of_first, &of_second, &accesses, &accesses, &what);
        let body = written_out(&old.loops, &from).block(&old.body);
        let body = refresh(&mut self.fun, &body);
        let made = super::reorder::rebuild(&new, body, &old.like);
        self.put(s, &old, made);
        Ok(())
    }

    /// `T`'s loops and the two maps under ids of their own: in `S` the same ids may stand for something else, around the
    /// nest or inside it. Whatever a map or a range names has to be known where `S`'s nest stands.
    fn apart_from_s(
        &mut self,
        cx: &Context,
        old: &Nest,
        new: &Nest,
        from: &[(Var, Ix)],
        to: &[(Var, Ix)],
    ) -> Result<(Vec<Loop>, Map, Map), Diagnostic> {
        let (loops, _) = self.fresh_loops(&new.loops, &Vec::new());
        let mut renamed = Subst::default();
        renamed.vars.extend(new.loops.iter().zip(&loops).map(|((v, _), (to, _))| (*v, Ix::Var(*to))));
        let from: Map = from.iter().map(|(v, e)| (*v, renamed.ix(e))).collect();
        let to: Map = to.iter().map(|(v, e)| (new_name(&renamed, *v), e.clone())).collect();
        let (mut at_s, mut at_t) = (cx.clone(), cx.clone());
        old.loops.iter().for_each(|(v, d)| at_s.enter(self.names().var(*v), *v, d));
        for (v, d) in &loops {
            let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, size: _ }) = d;
            self.known(&at_t, [lo, hi])?;
            at_t.enter(self.names().var(*v), *v, d);
        }
        self.known(&at_t, from.iter().map(|(_, e)| e))?;
        self.known(&at_s, to.iter().map(|(_, e)| e))?;
        Ok((loops, from, to))
    }

    /// A map of a recipe in the program's variables.
    fn map(&self, map: &[(MapVar, PatIx)], word: &str) -> Result<Vec<(Var, Ix)>, Diagnostic> {
        let known = map.iter().map(|(v, e)| match (v, e) {
            (MapVar::Known(v), PatIx::Known(e)) if (v.0 as usize) < self.fun.vars.len() => Some((*v, e.clone())),
            _ => None,
        });
        match known.collect::<Option<Vec<_>>>() {
            Some(map) if !map.is_empty() => Ok(map),
            _ => Err(self.misfit(format!("`{word}` has to give every loop of its side an index"))),
        }
    }

    /// The nest whose loops a map names: each once, directly inside one another.
    fn nest_of(&self, block: &Block, map: &[(Var, Ix)], side: Side) -> Result<Nest, Diagnostic> {
        let mut found = None;
        let mut path = Vec::new();
        locate(block, map, &mut path, &mut found);
        let named: Vec<&str> = map.iter().map(|(v, _)| self.names().var(*v)).collect();
        let refuse = |why: &str| Err(self.misfit(format!("the loops {} of {side} {why}", named.join(", "))));
        let Some((path, at)) = found else { return refuse("are not there") };
        let Some(root) = stmt_at(block, &path, at) else { return refuse("are not there") };
        let mut loops = Vec::new();
        let mut body = std::slice::from_ref(root);
        while loops.len() < map.len() {
            let [Stmt { kind: StmtKind::For { var, domain, body: inner }, .. }] = body else {
                return refuse("do not stand directly inside one another");
            };
            if !map.iter().any(|(v, _)| v == var) {
                return refuse("do not stand directly inside one another");
            }
            loops.push((*var, domain.clone()));
            body = inner;
        }
        Ok(Nest { path, at, loops, body: body.to_vec(), like: root.clone() })
    }

    /// That the two maps are inverse to one another between the two nests' iterations.
    fn bijection(&mut self, cx: &Context, s: (&[Loop], &[(Var, Ix)]), t: (&[Loop], &[(Var, Ix)])) {
        let mut at_t = cx.clone();
        t.0.iter().for_each(|(v, d)| at_t.enter(self.names().var(*v), *v, d));
        let (goal, _) = image(&at_t, s);
        let by = self.taken(("by", Side::T), t.0, Side::S, s);
        let notes = [by, self.taken(("back", Side::S), s.0, Side::T, t)];
        let helps = self.rounding(t.0.iter().map(|(_, d)| d));
        self.emit(Kind::Map, &at_t, goal, "an iteration of T has a counterpart in S", &notes[..1], &[]);
        let again = self.image_of(&at_t, s, t);
        let own: Vec<Term> = t.0.iter().filter_map(|(v, _)| at_t.counter(*v)).collect();
        self.emit(Kind::Map, &at_t, same_tuple(&again, &own), "T runs an iteration only once", &notes, &[]);

        let mut at_s = cx.clone();
        s.0.iter().for_each(|(v, d)| at_s.enter(self.names().var(*v), *v, d));
        let (goal, _) = image(&at_s, t);
        let back = self.image_of(&at_s, t, s);
        let own: Vec<Term> = s.0.iter().filter_map(|(v, _)| at_s.counter(*v)).collect();
        let goal = Formula::and([goal, same_tuple(&back, &own)]);
        self.emit(Kind::Map, &at_s, goal, "an iteration of S is made by T", &notes[1..], &[]);
        self.helped(helps);
    }

    /// Where an iteration comes out when it is mapped to the other side and back: by `first`'s map, then by `second`'s.
    fn image_of(&self, cx: &Context, first: (&[Loop], &[(Var, Ix)]), second: (&[Loop], &[(Var, Ix)])) -> Vec<Term> {
        let (_, mapped) = image(cx, first);
        let mut at = cx.clone();
        for ((v, d), value) in first.0.iter().zip(mapped) {
            at.place(*v, d, value);
        }
        second.0.iter().filter_map(|(v, _)| second.1.iter().find(|(x, _)| x == v)).map(|(_, e)| at.ix(e)).collect()
    }
}

/// A body's indices by those of other loops. A range may depend on loops outside it, so it is written out as well.
fn written_out(loops: &[Loop], map: &[(Var, Ix)]) -> Subst {
    let mut subst = Subst::default();
    for (v, domain) in loops {
        let Some((_, e)) = map.iter().find(|(x, _)| x == v) else { continue };
        match domain {
            Domain::Range { .. } => drop(subst.vars.insert(*v, e.clone())),
            Domain::Blocks { lo, hi, size } => {
                let counted = Counted { lo: subst.ix(lo), hi: subst.ix(hi), size: *size, number: e.clone() };
                subst.blocks.insert(*v, counted);
                // An earlier map may have left the number itself.
                subst.vars.insert(*v, e.clone());
            }
        }
    }
    subst
}

fn new_name(renamed: &Subst, var: Var) -> Var {
    match renamed.vars.get(&var) {
        Some(Ix::Var(to)) => *to,
        _ => var,
    }
}

/// That the values which a map gives a nest's loops are an iteration of it, and those values.
fn image(cx: &Context, (loops, map): (&[Loop], &[(Var, Ix)])) -> (Formula, Vec<Term>) {
    let mut at = cx.clone();
    let mut values = Vec::new();
    let mut members = Vec::new();
    for (v, d) in loops {
        // A loop without an entry was refused before; an unknown that nothing binds can only make a proof fail.
        let value = match map.iter().find(|(x, _)| x == v) {
            Some((_, e)) => cx.ix(e),
            None => at.unknown(Shown::Hidden(String::new())),
        };
        at.place(*v, d, value.clone());
        members.push(at.membership(*v, d));
        values.push(value);
    }
    (Formula::and(members), values)
}

fn stmt_at<'a>(block: &'a Block, path: &[Turn], at: usize) -> Option<&'a Stmt> {
    let mut block = block;
    for turn in path {
        block = match (&block.get(turn.at)?.kind, turn.arm) {
            (StmtKind::For { body, .. }, Arm::First) => body,
            (StmtKind::Grid(g), Arm::First) => &g.body,
            (StmtKind::If { then, .. }, Arm::First) => then,
            (StmtKind::If { els, .. }, Arm::Else) => els,
            _ => return None,
        };
    }
    block.get(at)
}

/// The first loop that a map names, outermost.
fn locate(block: &Block, map: &[(Var, Ix)], path: &mut Vec<Turn>, found: &mut Option<(Vec<Turn>, usize)>) {
    for (at, stmt) in block.iter().enumerate() {
        if found.is_some() {
            return;
        }
        let arms: Vec<(Arm, &Block)> = match &stmt.kind {
            StmtKind::For { var, body, .. } => {
                if map.iter().any(|(v, _)| v == var) {
                    *found = Some((path.clone(), at));
                    return;
                }
                vec![(Arm::First, body)]
            }
            StmtKind::Grid(g) => vec![(Arm::First, &g.body)],
            StmtKind::If { then, els, .. } => vec![(Arm::First, then), (Arm::Else, els)],
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => vec![],
        };
        for (arm, inner) in arms {
            path.push(Turn { at, arm });
            locate(inner, map, path, found);
            path.pop();
        }
    }
}

/// Whether a range mentions a variable.
pub(super) fn mentions(domain: &Domain, var: Var) -> bool {
    let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, size: _ }) = domain;
    Live::of_ix(lo).vars.contains(&var) || Live::of_ix(hi).vars.contains(&var)
}

/// `a, b and c`
fn and(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
