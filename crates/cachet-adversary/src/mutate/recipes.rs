//! Mutants of recipes. The program stays as it was, so that an accepted one is right whatever its recipe says.

use cachet_core::ir::{Guard, Ix};
use cachet_core::pattern::{LoopRef, MapVar, Move, MoveKind, PatGuard, PatIx, Regrouping, Side};

/// Every recipe that differs by one change.
pub fn of(recipe: &[Move]) -> Vec<(String, Vec<Move>)> {
    let mut out = vec![("no recipe".to_string(), Vec::new())];
    for n in 0..recipe.len() {
        let mut dropped = recipe.to_vec();
        dropped.remove(n);
        out.push((format!("line {n} dropped"), dropped));
        let mut twice = recipe.to_vec();
        twice.insert(n, recipe[n].clone());
        out.push((format!("line {n} twice"), twice));
        if n + 1 < recipe.len() {
            let mut swapped = recipe.to_vec();
            swapped.swap(n, n + 1);
            out.push((format!("lines {n} and {} swapped", n + 1), swapped));
        }
        for (what, kind) in line(&recipe[n].kind) {
            let mut changed = recipe.to_vec();
            changed[n].kind = kind;
            out.push((format!("line {n}: {what}"), changed));
        }
    }
    out.push(("reversed".into(), recipe.iter().rev().cloned().collect()));
    out.retain(|(_, r)| r != recipe);
    out
}

fn line(kind: &MoveKind) -> Vec<(String, MoveKind)> {
    match kind {
        MoveKind::PerCell { buffer, fold } => {
            refs(fold).into_iter().map(|(w, fold)| (w, MoveKind::PerCell { buffer: buffer.clone(), fold })).collect()
        }
        MoveKind::Interchange(l) => refs(l).into_iter().map(|(w, l)| (w, MoveKind::Interchange(l))).collect(),
        MoveKind::Distribute { of, at } => {
            let counts = [0, at + 1].map(|at| (format!("at {at}"), MoveKind::Distribute { of: of.clone(), at }));
            let others = refs(of).into_iter().map(|(w, of)| (w, MoveKind::Distribute { of, at: *at }));
            counts.into_iter().chain(others).collect()
        }
        MoveKind::Fuse(a, b) => vec![("loops swapped".into(), MoveKind::Fuse(b.clone(), a.clone()))],
        MoveKind::Split { of, by, outer, ragged } => {
            let split =
                |of: LoopRef, ragged: bool| MoveKind::Split { of, by: by.clone(), outer: outer.clone(), ragged };
            let mut all: Vec<_> = refs(of).into_iter().map(|(w, of)| (w, split(of, *ragged))).collect();
            all.push(("ragged turned".into(), split(of.clone(), !ragged)));
            if let PatIx::Lit(n) | PatIx::Known(Ix::Lit(n)) = by {
                for n in [n - 1, n + 1, 2 * n] {
                    let by = PatIx::Lit(n);
                    let (of, outer) = (of.clone(), outer.clone());
                    all.push((format!("by {n}"), MoveKind::Split { of, by, outer, ragged: *ragged }));
                }
            }
            all
        }
        MoveKind::Order(all) => {
            let mut turned = all.clone();
            turned.reverse();
            let mut twice = all.clone();
            twice.extend(all.first().cloned());
            let fewer = all[..all.len() - 1].to_vec();
            vec![
                ("turned round".into(), MoveKind::Order(turned)),
                ("one named twice".into(), MoveKind::Order(twice)),
                ("the last not named".into(), MoveKind::Order(fewer)),
            ]
        }
        MoveKind::First(l) => refs(l).into_iter().map(|(w, l)| (w, MoveKind::First(l))).collect(),
        MoveKind::Unroll(l) => refs(l).into_iter().map(|(w, l)| (w, MoveKind::Unroll(l))).collect(),
        MoveKind::Regroup { of, op, by } => {
            let other = match by {
                Regrouping::Associative => Regrouping::Idempotent,
                Regrouping::Idempotent => Regrouping::Associative,
            };
            let made = |of: LoopRef, by| MoveKind::Regroup { of, op: op.clone(), by };
            let others = refs(of).into_iter().map(|(w, of)| (w, made(of, *by)));
            others.chain([("by the other law".into(), made(of.clone(), other))]).collect()
        }
        MoveKind::Reorder { by, back } => {
            let made = |by: &Map, back: &Map| MoveKind::Reorder { by: by.clone(), back: back.clone() };
            let mut all = vec![("maps exchanged".to_string(), made(back, by))];
            all.extend(maps(by).into_iter().map(|by| ("by changed".to_string(), made(&by, back))));
            all.extend(maps(back).into_iter().map(|back| ("back changed".to_string(), made(by, &back))));
            all
        }
        MoveKind::Case { guard, then, els } => {
            let made = |then: &[Move], els: &[Move]| MoveKind::Case {
                guard: guard.clone(),
                then: then.to_vec(),
                els: els.to_vec(),
            };
            vec![
                ("branches exchanged".into(), made(els, then)),
                ("branches alike".into(), made(then, then)),
                ("nothing in the branches".into(), made(&[], &[])),
            ]
        }
        MoveKind::Given(_) => vec![("nothing".into(), MoveKind::Given(PatGuard::Known(Guard::Const(true))))],
        MoveKind::Cut { of, at } => {
            let moved = |by: i64| match at {
                PatIx::Known(ix) => PatIx::Known(Ix::Add(Box::new(ix.clone()), Box::new(Ix::Lit(by)))),
                other => other.clone(),
            };
            let made = |at: PatIx| MoveKind::Cut { of: of.clone(), at };
            vec![("one earlier".into(), made(moved(-1))), ("one later".into(), made(moved(1)))]
        }
        MoveKind::Cover { of, by, outer, count } => {
            let made = |by: i64, count: &PatIx| MoveKind::Cover {
                of: of.clone(),
                by,
                outer: outer.clone(),
                count: count.clone(),
            };
            let fewer = match count {
                PatIx::Known(ix) => PatIx::Known(Ix::Sub(Box::new(ix.clone()), Box::new(Ix::Lit(1)))),
                other => other.clone(),
            };
            vec![("a block fewer".into(), made(*by, &fewer)), ("longer blocks".into(), made(*by + 1, count))]
        }
        MoveKind::Widen { of, to } => {
            let less = match to {
                PatIx::Known(ix) => PatIx::Known(Ix::Sub(Box::new(ix.clone()), Box::new(Ix::Lit(1)))),
                PatIx::Lit(n) => PatIx::Lit(n - 1),
                other => other.clone(),
            };
            vec![("one less".into(), MoveKind::Widen { of: of.clone(), to: less })]
        }
        MoveKind::Relayout { side, local, name, dims, axes, cell } => {
            let made = |cell: Vec<Ix>| MoveKind::Relayout {
                side: *side,
                local: local.clone(),
                name: name.clone(),
                dims: dims.clone(),
                axes: axes.clone(),
                cell,
            };
            let one = |ix: &Ix| Ix::Add(Box::new(ix.clone()), Box::new(Ix::Lit(1)));
            vec![
                ("all cells one".into(), made(cell.iter().map(|_| Ix::Lit(0)).collect())),
                ("beyond the end".into(), made(cell.iter().map(one).collect())),
            ]
        }
        MoveKind::Join(a, b) => {
            vec![("the other way round".into(), MoveKind::Join(b.clone(), a.clone()))]
        }
        MoveKind::Narrow { side, local, axis, to } => {
            let made =
                |axis: u32, to: &PatIx| MoveKind::Narrow { side: *side, local: local.clone(), axis, to: to.clone() };
            let moved = |to: &PatIx, by: i64| match to {
                PatIx::Known(ix) => PatIx::Known(Ix::Add(Box::new(ix.clone()), Box::new(Ix::Lit(by)))),
                other => other.clone(),
            };
            vec![
                ("one lane fewer".into(), made(*axis, &moved(to, -1))),
                ("one lane more".into(), made(*axis, &moved(to, 1))),
                ("another axis".into(), made(if *axis == 0 { 1 } else { 0 }, to)),
            ]
        }
        MoveKind::SelfStore(..)
        | MoveKind::Copy(..)
        | MoveKind::Carry { .. }
        | MoveKind::Lanes(..)
        | MoveKind::Unfold(..) => vec![],
    }
}

type Map = Vec<(MapVar, PatIx)>;

/// One line less, one index one more, one replaced by another line's.
fn maps(map: &Map) -> Vec<Map> {
    let mut out = Vec::new();
    for n in 0..map.len() {
        let mut fewer = map.clone();
        fewer.remove(n);
        out.push(fewer);
        let with = |ix: PatIx| {
            let mut changed = map.clone();
            changed[n].1 = ix;
            changed
        };
        if let PatIx::Known(ix) = &map[n].1 {
            out.push(with(PatIx::Known(Ix::Add(Box::new(ix.clone()), Box::new(Ix::Lit(1))))));
        }
        out.extend(map.iter().filter(|(_, ix)| *ix != map[n].1).map(|(_, ix)| with(ix.clone())));
    }
    out
}

fn refs(of: &LoopRef) -> Vec<(String, LoopRef)> {
    let other = match of.side {
        Side::S => Side::T,
        Side::T => Side::S,
    };
    let mut out = vec![
        ("the other side".to_string(), LoopRef { side: other, ..of.clone() }),
        ("the next of that name".to_string(), LoopRef { nth: of.nth + 1, ..of.clone() }),
    ];
    for name in ["i", "j", "k", "i1"].into_iter().filter(|n| *n != of.name) {
        out.push((format!("loop {name}"), LoopRef { name: name.into(), ..of.clone() }));
    }
    out
}
