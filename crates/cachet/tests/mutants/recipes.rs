//! Mutants of recipes. The program stays as it was, so that an accepted one is right whatever its recipe says.

use cachet_core::pattern::{LoopRef, Move, MoveKind, Side};

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
            all
        }
        MoveKind::Order(all) => {
            let mut turned = all.clone();
            turned.reverse();
            vec![("turned round".into(), MoveKind::Order(turned))]
        }
        MoveKind::First(l) => refs(l).into_iter().map(|(w, l)| (w, MoveKind::First(l))).collect(),
        MoveKind::Unroll(l) => refs(l).into_iter().map(|(w, l)| (w, MoveKind::Unroll(l))).collect(),
        MoveKind::Reorder { by, back } => {
            vec![("maps exchanged".into(), MoveKind::Reorder { by: back.clone(), back: by.clone() })]
        }
        MoveKind::SelfStore(..) | MoveKind::Unfold(..) | MoveKind::Case { .. } | MoveKind::Given(_) => vec![],
    }
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
