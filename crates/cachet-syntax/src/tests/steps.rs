//! Schedules, step functions and recipes.

use super::{domain_text, good, group, item, sexp};
use crate::ast::{Item, LoopPart, MoveKind, Schedule, ShapeKind, Side, StepArg, StepFn, StepKind, StepParam, StmtKind};

fn schedule(text: &str) -> Schedule {
    let Item::Schedule(s) = item(text) else { panic!() };
    s
}

fn step_fn(text: &str) -> StepFn {
    let Item::StepFn(s) = item(text) else { panic!() };
    s
}

#[test]
fn heads() {
    let s = schedule("schedule a of mm @(S = Plus f32) @4 on Gpu (mut p: [f32; M, 8] in Panels 4 at L2)\nrequires K > 0\n=\n  grid over i\n".replace(" @4", "").as_str());
    assert_eq!(
        (s.of.name.as_str(), s.device.unwrap().name.as_str(), s.params.len(), s.clauses.len()),
        ("mm", "Gpu", 1, 1)
    );
    let s = schedule("schedule a of mm\n    (mut p: [f32; 8])\n    on Gpu =\n  parallel i\n");
    assert_eq!((s.device.unwrap().name.as_str(), s.params.len()), ("Gpu", 1));
    assert!(schedule("schedule same of mm =\n").steps.is_empty());
    let file = good("schedule same of mm =\nschedule again of same =\n  // nothing yet\n\nconst N = 1\n");
    assert_eq!(file.items.len(), 3);
    let Item::ScheduleFn(f) = item("schedule fn cut (i, j,) c (A, B) =\n  split i by A\n  order (i, j)\n") else {
        panic!()
    };
    assert!(
        matches!(&f.params[..], [StepParam::Tuple { items, .. }, StepParam::Name(_), StepParam::Tuple { .. }] if items.len() == 2)
    );
    assert_eq!(f.steps.len(), 2);
}

#[test]
fn every_step() {
    let s = schedule(
        "schedule a of mm =\n  split i by MC * 2 as gi, 4 as ui ragged, j.inner by 8, k#2 by 16 ragged\n  order (gi, j.outer, k#2)\n  grid over (i, j)\n  grid over i.outer\n  pack a into P along gi over (x, y) pad 4 with -0.0\n  pack_lanes b into Q along gj over (x, y, t) lanes 16\n  keep P along gi within L2 into P'\n  registers (i, j) into c rows MR lanes NR through S.mul_add\n  compute s at j.outer into T\n  reduce j.inner by (max: halving, sum: order, x: lanes 4, y: chunks n)\n  parts [8, 16]\n  element [f32; 8, 8]\n  outer_products i c 8 8 outer_prim\n  zero (i, j,) c\n  cut (i#2, j.outer, MC * 2, k) [f32; 4] 3\n",
    );
    assert_eq!(s.steps.len(), 15);
    let StepKind::Split(split) = &s.steps[0].kind else { panic!() };
    let seen: Vec<_> =
        split.iter().map(|x| (x.index.name.name.as_str(), x.levels.len(), x.ragged, x.index.nth)).collect();
    assert_eq!(seen, [("i", 2, true, None), ("j", 1, false, None), ("k", 1, true, Some(2))]);
    assert_eq!(split[1].index.part, Some(LoopPart::Inner));
    assert!(matches!(&s.steps[4].kind, StepKind::Pack { pad: Some(_), over, .. } if over.len() == 2));
    assert!(matches!(&s.steps[5].kind, StepKind::PackLanes { over, .. } if over.len() == 3));
    assert!(matches!(&s.steps[6].kind, StepKind::Keep { into, .. } if into.name == "P'"));
    assert!(matches!(&s.steps[7].kind, StepKind::Registers { through, .. } if through.text() == "S.mul_add"));
    assert!(matches!(&s.steps[8].kind, StepKind::Compute { into: Some(_), .. }));
    let StepKind::Reduce { parts, .. } = &s.steps[9].kind else { panic!() };
    assert!(matches!(&parts[1].shape.kind, ShapeKind::Order) && parts[1].name.name == "sum");
    assert!(matches!(&parts[2].shape.kind, ShapeKind::Lanes(_)));
    let StepKind::Call { name, args } = &s.steps[14].kind else { panic!() };
    assert_eq!(name.name, "cut");
    let StepArg::Tuple { items, .. } = &args[0] else { panic!() };
    assert!(matches!(&items[..], [StepArg::Loop(_), StepArg::Loop(_), StepArg::Expr(_), StepArg::Loop(_)]));
    assert!(matches!(&args[1..], [StepArg::Type(_), StepArg::Expr(_)]));
}

#[test]
fn hoisting_with_holes() {
    let s = step_fn(
        "step fn lift (j, k) c =\n  from\n    for j in $a .. $b do\n      store $cell = fold k in $lo .. $hi from (load $cell) as $acc: $E do $step\n  to\n    for k in $lo .. $hi do\n      for j in $a .. $b do\n        let $acc = load $cell\n        store $cell = $step[$acc][k := $hi - 1 - (k - $lo)]\n  relate\n    per cell c fold S.k\n    interchange S.j\n",
    );
    let StmtKind::For { domain, body, .. } = &s.from.stmts[0].kind else { panic!() };
    assert_eq!(domain_text(domain), "$a..$b");
    let StmtKind::Store { value, .. } = &body.stmts[0].kind else { panic!() };
    assert_eq!(sexp(value), "(fold k $lo..$hi (load $cell) $acc $step)");
    let StmtKind::For { body, .. } = &s.to.stmts[0].kind else { panic!() };
    let StmtKind::For { body, .. } = &body.stmts[0].kind else { panic!() };
    let StmtKind::Store { value, .. } = &body.stmts[1].kind else { panic!() };
    assert_eq!(sexp(value), "$step[$acc][k:=(- (- $hi 1) (- k $lo))]");
    assert_eq!(s.relate.len(), 2);
}

#[test]
fn rank_and_context_holes() {
    let s = step_fn(
        "step fn start (i.., k) c =\n  from\n    for i.. in $A.. do\n      store $cell = $post[fold k in $lo .. $hi from $z as $acc: $E do\n        $step]\n  to\n    for zi.. in $A.. do store $cell[i.. := zi..] = $z\n    for i.. in $A.. do\n      store $cell = $post[ fold k in $B from (load $cell) as $acc: $E do $step ]\n",
    );
    assert!(matches!(&s.params[0], StepParam::Tuple { items, .. } if items[0].rank && !items[1].rank));
    let StmtKind::For { var, domain, body } = &s.from.stmts[0].kind else { panic!() };
    assert!(var.rank);
    assert_eq!(domain_text(domain), "$A..");
    let StmtKind::Store { value, .. } = &body.stmts[0].kind else { panic!() };
    assert_eq!(sexp(value), "$post[(fold k $lo..$hi $z $acc $step)]");
    let StmtKind::For { body, .. } = &s.to.stmts[0].kind else { panic!() };
    let StmtKind::Store { place, .. } = &body.stmts[0].kind else { panic!() };
    assert_eq!((place.path.text().as_str(), group(&place.groups[0]).as_str()), ("$cell", "[i..:=zi..]"));
}

#[test]
fn statement_holes_domains_and_inline_sections() {
    let s = step_fn(
        "step fn strip t n (p, r) = from for t in $lo .. $hi do $body\n    to for p in 0 .. ($hi - $lo) / n do\n         for r in 0 .. n do $body[t := $lo + p * n + r]\n    relate\n      split S.t by n as p\n",
    );
    assert_eq!((s.params.len(), s.from.stmts.len(), s.to.stmts.len(), s.relate.len()), (3, 1, 1, 1));
    let s = step_fn(
        "step fn par t =\n  from\n    for t in $A do\n      $body\n      $rest\n  to\n    grid t in $A do\n      $body\n      $rest\n",
    );
    assert!(s.relate.is_empty());
    let StmtKind::Grid { indices, body, .. } = &s.to.stmts[0].kind else { panic!() };
    assert_eq!((domain_text(&indices[0].domain).as_str(), body.stmts.len()), ("$A", 2));
    let s = step_fn(
        "step fn first g c =\n  from\n    f $x\n  to\n    for g in blocks ($lo .. $hi) $n do\n      var $acc: $E = if g.lo == $lo then $z else load $cell\n      $acc = $step[k := g[k]]\n      store $cell = $acc\n  relate\n",
    );
    assert!(s.relate.is_empty());
    let StmtKind::For { domain, body, .. } = &s.to.stmts[0].kind else { panic!() };
    assert_eq!((domain_text(domain).as_str(), body.stmts.len()), ("blocks($lo..$hi)$n", 3));
}

#[test]
fn every_move() {
    let text = "builtin step cut x by n (ragged)? into { , }\n  relate\n    per cell c fold S.k at [i, j + 1]\n    fold var S.k\n    interchange S.j#2\n    order S (k, i, j)\n    order S.upd (kb, i)\n    distribute S.i at 1\n    fuse S.i, S.j\n    split S.k by $n as gk ragged\n    join T.t, T.l\n    reorder S to T init: back (gk = 0)\n      all: by (i = i, j = d - i) back (d = i + j)\n    carry T.$acc as c\n    copy T.P\n    selfstore T.c\n    lanes T (l)\n    lanes S\n    narrow T.acc axis 1 to gj.len\n    relayout T.b [q, u * v'] as acc [(q / 2) * 8 + u, v']\n    rename T.P' as P\n    dead T.P\n    share T.t over d\n    unfold T.mma\n    unroll S.q\n    case ui.len == 4 { copy T.P, join T.a, T.b } else {}\n    case x then\n      copy T.P\n      evaluate\n    else\n      dead T.P\n    given $lo < $hi\n    grid S.i, S.j\n    arithmetic Gpu\n    regroup S.j (max: halving, sum: order) by block\n    regroup S.k chunks 8 by associative\n    evaluate\n";
    let Item::BuiltinStep(b) = item(text) else { panic!() };
    let words: Vec<&str> = b.signature.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(words, ["x", "by", "n", "(", "ragged", ")", "?", "into", "{", ",", "}"]);
    assert_eq!(b.relate.len(), 30);
    assert!(matches!(&b.relate[2].kind, MoveKind::Interchange(r) if r.nth == Some(2) && r.side == Side::S));
    assert!(matches!(&b.relate[9].kind, MoveKind::Reorder { lines, .. } if lines.len() == 2 && lines[1].by.len() == 2));
    assert!(matches!(&b.relate[22].kind, MoveKind::Case { then, els, .. } if then.len() == 2 && els.is_empty()));
    assert!(matches!(&b.relate[23].kind, MoveKind::Case { then, els, .. } if then.len() == 2 && els.len() == 1));
    assert!(matches!(&b.relate[27].kind, MoveKind::Regroup { form, .. } if form.len() == 2 && form[0].0.is_some()));
    let Item::BuiltinStep(b) = item("builtin step grid over (i, j)\n") else { panic!() };
    assert_eq!((b.name.name.as_str(), b.relate.len()), ("grid", 0));
}
