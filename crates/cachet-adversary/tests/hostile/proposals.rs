//! Proposals that are not even well formed, or that change what they do not name. None may be accepted, and none may
//! bring the checker down.

use cachet_adversary::lie::{Lie, given, s};
use cachet_core::ir::{At, Buffer, Device, Grid, Guard, Ix, Rel, Role, Stmt, StmtKind, Var, VarKind};
use cachet_core::pattern::{MoveKind, PatIx};
use cachet_core::rewrite::{Arm, Site, Turn};
use cachet_core::script::Rewrite;

const SAME: &str = "fn s (reads a: [f32; M]) -> out c: [f32; M]
requires M <= 1000
=
  for i in 0 .. M do
    store c[i] = load a[i]
  for j in 0 .. M do
    store c[j] = load c[j] * 2.0

fn t (reads a: [f32; M]) -> out c: [f32; M]
requires M <= 1000
=
  for i in 0 .. M do
    store c[i] = load a[i]
  for j in 0 .. M do
    store c[j] = load c[j] * 2.0
";

fn refused(what: &str, change: impl FnOnce(&mut Rewrite)) {
    let mut lie = Lie::new("same", SAME);
    change(&mut lie.rewrite);
    assert!(lie.check().is_err(), "accepted: {what}");
}

#[test]
fn an_honest_proposal_is_accepted() {
    Lie::new("same", SAME).is_accepted();
}

#[test]
fn the_head_and_the_tables_stay() {
    refused("a requirement gone", |r| r.after.requires.clear());
    refused("another requirement", |r| r.after.requires[0] = Guard::Cmp(Rel::Le, Ix::Lit(1), Ix::Lit(2)));
    refused("an output that need not be written", |r| r.after.produces.clear());
    refused("an output that nobody reads", |r| {
        let c = r.after.produces.remove(0);
        r.after.scratch.push(c);
    });
    refused("a parameter fewer", |r| {
        r.after.params.remove(0);
    });
    refused("an extent of its own", |r| r.after.buffers[1].extents[0] = Ix::Lit(4));
    refused("a written input", |r| r.after.buffers[0].role = Role::Mut);
    refused("another name", |r| r.after.name = "u".into());
    refused("a size more", |r| {
        let size = r.after.add_var("L", VarKind::Size);
        r.after.sizes.push(size);
    });
    refused("a size from nowhere", |r| {
        r.after.sizes[0] = Var(7_000_000);
        r.after.requires.push(Guard::Cmp(Rel::Le, Ix::Lit(0), Ix::Var(Var(7_000_000))));
    });
    refused("a size that is a loop's", |r| r.after.vars[0].kind = VarKind::Index);
    refused("no tables", |r| {
        r.after.vars.clear();
        r.after.buffers.clear();
    });
}

#[test]
fn a_site_is_a_place_in_both_programs() {
    let whole = |n: usize| Site { path: vec![], start: 0, len: n };
    let places = [
        whole(3),
        Site { path: vec![], start: 2, len: 1 },
        Site { path: vec![], start: usize::MAX, len: 1 },
        Site { path: vec![], start: 1, len: usize::MAX },
        Site { path: vec![Turn { at: 7, arm: Arm::First }], start: 0, len: 1 },
        Site { path: vec![Turn { at: 0, arm: Arm::Else }], start: 0, len: 1 },
        Site { path: vec![Turn { at: 0, arm: Arm::First }; 3], start: 0, len: 1 },
    ];
    for place in places {
        refused(&format!("{place:?}"), |r| r.from = place.clone());
        refused(&format!("{place:?}"), |r| r.to = place.clone());
        refused(&format!("{place:?}"), |r| (r.from, r.to) = (place.clone(), place.clone()));
    }
}

/// The first loop is the site; the second one changes as well.
#[test]
fn nothing_changes_outside_the_site() {
    let site = Site { path: vec![], start: 0, len: 1 };
    refused("a change elsewhere", |r| {
        (r.from, r.to) = (site.clone(), site.clone());
        let first = r.after.body[0].clone();
        r.after.body[1] = first;
    });
    refused("a statement more", |r| {
        (r.from, r.to) = (site.clone(), site);
        let last = r.after.body[1].clone();
        r.after.body.push(last);
    });
}

#[test]
fn ids_lie_in_their_tables() {
    let far = Var(7_000_000);
    refused("a requirement about nothing", |r| r.after.requires.push(Guard::Cmp(Rel::Lt, Ix::Lit(0), Ix::Var(far))));
    refused("a buffer from nowhere", |r| r.after.params[1] = Buffer(9));
    for kind in [given(Guard::Cmp(Rel::Lt, Ix::Lit(0), Ix::Var(far))), MoveKind::Unroll(s("nothing"))] {
        let lie = Lie::new("same", SAME).by(vec![kind]);
        assert!(lie.check().is_err());
    }
}

/// A grid of no axis has one iteration, whatever it contains.
#[test]
fn a_grid_has_an_axis() {
    let mut lie = Lie::new(
        "no_axis",
        "fn s (mut c: [f32; M]) =
  for i in 0 .. M do
    store c[i] = load c[i] * 3.0

fn t (mut c: [f32; M]) =
  for i in 0 .. M do
    store c[i] = load c[i] * 3.0
  for j in 0 .. M do
    store c[j] = load c[j] * 5.0
",
    );
    let after = &mut lie.rewrite.after;
    let body = std::mem::take(&mut after.body);
    let writes = cachet_core::windows::infer(&after.buffers, &[], &body);
    let grid = Grid { device: Device::HOST, level: 0, axes: vec![], writes, body };
    after.body = vec![Stmt { kind: StmtKind::Grid(Box::new(grid)), span: At::default() }];
    lie.rewrite.to.len = 1;
    lie.is_refused();
}

/// Numbers that a recipe gives are as large as they can be.
#[test]
fn numbers_of_a_recipe_may_be_anything() {
    let huge = |ix: Ix| Ix::Mul(i64::MAX, Box::new(Ix::Mul(i64::MAX, Box::new(Ix::Mul(i64::MIN, Box::new(ix))))));
    let lie = Lie::new("same", SAME);
    let m = Ix::Var(lie.before().sizes[0]);
    let line = given(Guard::Cmp(Rel::Le, huge(m), Ix::Lit(i64::MIN)));
    assert!(Lie::new("same", SAME).by(vec![line]).check().is_err());
    for size in [i64::MAX, i64::MIN, 0] {
        for ragged in [true, false] {
            let line = MoveKind::Split { of: s("i"), by: PatIx::Lit(size), outer: "g".into(), ragged };
            assert!(Lie::new("same", SAME).by(vec![line]).check().is_err());
        }
    }
}

/// A long sum written out is refused or related, and nothing worse.
#[test]
fn a_long_sum_can_be_unrolled() {
    let text = "fn s (reads a: [f32; M]) (mut c: [f32; 1])
requires M >= 4096
=
  store c[0] = fold k in 0 .. 4096 from 0.0 as r: f32 do r + load a[k]

fn t (reads a: [f32; M]) (mut c: [f32; 1])
requires M >= 4096
=
  store c[0] = fold k in 0 .. 4095 from 0.0 as r: f32 do r + load a[k]
";
    let lie = Lie::new("long", text).by(vec![MoveKind::Unroll(s("k"))]);
    assert!(lie.check().is_err());
}
