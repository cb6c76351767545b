//! Recipes whose moves would claim more than they keep.

use crate::lie::{Lie, given, gives, s};
use cachet_core::ir::{Guard, Ix, Rel, StmtKind, Word};
use cachet_core::pattern::{MoveKind, PatGuard, PatIx};

/// A guard that is too deep to be renamed may not turn into one that never holds.
#[test]
fn a_guard_too_deep_to_handle_is_not_dropped() {
    let mut lie = Lie::new(
        "deep",
        "fn s (reads a: [f32; N]) (mut c: [f32; 1]) =
  store c[0] = fold k in 0 .. N from 1.0 as r: f32 do
    let v = r + load a[k]
    v

fn t (reads a: [f32; N]) (mut c: [f32; 1]) =
  store c[0] = fold k in 0 .. N from 1.0 as r: f32 do
    let v = r + load a[k]
    if k == 0 then 7.0 else v
",
    );
    fn deepen(w: &mut Word) {
        match w {
            Word::Let(_, _, b) => deepen(b),
            Word::Fold(f) => deepen(&mut f.body),
            Word::If(g, ..) => {
                let Guard::Cmp(Rel::Eq, k, _) = &**g else { panic!("a comparison") };
                let mut deep = k.clone();
                // The index itself at every even depth.
                for _ in 0..300 {
                    deep = Ix::Sub(Box::new(k.clone()), Box::new(deep));
                }
                **g = Guard::Cmp(Rel::Eq, deep, Ix::Lit(0));
            }
            _ => {}
        }
    }
    let StmtKind::Store { word, .. } = &mut lie.rewrite.after.body[0].kind else { panic!("a store") };
    deepen(word);
    lie.is_refused();
}

