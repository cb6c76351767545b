//! Items and statements, each in our own words.

use super::corpus::CORPUS;
use super::{good, item, sexp, stmts, ty_text};
use crate::ast::{
    ClauseKind, DeviceEntry, FnResult, Index, Item, LawScope, LayoutOp, Member, Mode, PlatformEntry, Requirement,
    StmtKind, TargItem,
};

#[test]
fn the_corpus_parses() {
    for text in CORPUS {
        good(text);
    }
}

#[test]
fn module_and_imports() {
    let file =
        good("module demo (platform = Host)\nimport \"cachet:steps\"\nimport \"../lib/x.cachet\"\nconst A = 1\n");
    let module = file.module.unwrap();
    assert_eq!((module.name.unwrap().name.as_str(), module.platform.name.as_str()), ("demo", "Host"));
    assert_eq!(file.imports[1].path.value, "../lib/x.cachet");
    assert!(good("module (platform = Host)").module.unwrap().name.is_none());
}

#[test]
fn constants_and_proofs() {
    let Item::Const(c) = item("const ROWS : Nat = ceil (MC / 4) * 2\n") else { panic!() };
    assert_eq!((ty_text(&c.ty.unwrap()), sexp(&c.value)), ("Nat".into(), "(* (ceil (/ MC 4)) 2)".into()));
    let Item::Proof(p) = item("proof fits =\n  assert A * 2 >=\n    B\n  assert A > 0\n") else { panic!() };
    assert_eq!(p.asserts.len(), 2);
    let text = "synth const W : Nat, H : Nat =\n  minimize w * h in (w, h): (w, h) where\n    w > 0, w <= 64,\n    h > 0,\n    h <=\n      32\n";
    let Item::Synth(s) = item(text) else { panic!() };
    assert_eq!((s.vars.len(), s.search.len(), s.conditions.len()), (2, 2, 4));
    assert_eq!(sexp(&s.result), "(tuple w h)");
    let Item::Synth(s) = item("synth const W : Nat = minimize w in (w): w where w > 0, w < 9\n") else { panic!() };
    assert_eq!(s.conditions.len(), 2);
}

#[test]
fn interfaces_and_implementations() {
    let text = "interface Ring {T : Type} where\n  const Value\n  const Width : Nat\n  fn zero () -> Value\n  fn add a b\n  law add associative over reals\n  law unital exactly\n";
    let Item::Interface(i) = item(text) else { panic!() };
    assert_eq!((i.tparams.len(), i.members.len()), (1, 6));
    assert!(matches!(&i.members[5], Member::Law(l) if l.operation.is_none() && l.scope == LawScope::Exactly));
    let text = "impl Ring for Pairs f32 where\n  const Value = Pair\n  const Block = [f32; 8, 8]\n  fn zero () = Pair { a = -0.0, b = -0.0 }\n  fn add (x: Pair) (y: Pair) =\n    let a = x.a + y.a\n    Pair { a, b = x.b + y.b }\n  fn neg x = -x\n  law add associative over reals = \"a \\\"pair\\\" is two numbers\"\n";
    let Item::Impl(i) = item(text) else { panic!() };
    assert_eq!(ty_text(&i.target), "Pairs f32");
    let [
        Member::Const(value),
        Member::Const(block),
        Member::Fn(zero),
        Member::Fn(add),
        Member::Fn(neg),
        Member::Law(law),
    ] = i.members.as_slice()
    else {
        panic!("{:?}", i.members)
    };
    assert_eq!(ty_text(&value.value.as_ref().unwrap().to_type().unwrap()), "Pair");
    assert_eq!(ty_text(&block.value.as_ref().unwrap().to_type().unwrap()), "[f32; 8, 8]");
    assert_eq!((zero.params.len(), add.params.len(), neg.params.len()), (0, 2, 1));
    assert!(add.params[0].ty.is_some() && neg.params[0].ty.is_none());
    assert_eq!(sexp(&add.body.as_ref().unwrap().to_expr().unwrap()), "(block 1 Pair{a b=(+ x.b y.b)})");
    assert_eq!(law.reason.as_ref().unwrap().value, "a \"pair\" is two numbers");
    assert_eq!(law.operation.as_ref().unwrap().name, "add");
}

#[test]
fn functions() {
    let text = "fn scale {S : Ring, N : Nat}\n    (reads x: [S.Value; N] in PanelMajor (2 * R) at DRAM)\n    (mut y: [S.Value; N + 2])\n    (out z: [f32; 2 * N, 4])\n    (w: S.Value)\nrequires N % 4 == 0, Init y\nproduces Init z =\n  f x y z\n";
    let Item::Fn(f) = item(text) else { panic!() };
    let modes: Vec<_> = f.params.iter().map(|p| p.mode).collect();
    assert_eq!(modes, [Some(Mode::Reads), Some(Mode::Mut), Some(Mode::Out), None]);
    let x = &f.params[0].ty;
    assert_eq!(ty_text(&x.ty), "[S.Value; N]");
    assert_eq!(ty_text(x.layout.as_ref().unwrap()), "PanelMajor (* 2 R)");
    assert_eq!(x.level.as_ref().unwrap().name, "DRAM");
    let ClauseKind::Requires(r) = &f.clauses[0].kind else { panic!() };
    assert!(matches!(&r[..], [Requirement::Condition(_), Requirement::Init(_)]));
    let Item::Fn(f) = item("fn g (x: f32) -> Vec f32 64 requires N > M produces Init x = splat x\n") else { panic!() };
    assert!(matches!(&f.result, Some(FnResult::Type(t)) if ty_text(t) == "Vec f32 64"));
    assert_eq!(f.clauses.len(), 2);
    let Item::Contraction(c) = item(
        "contraction two (reads a: [f32; N]) -> out b: [f32; N], out c: [f32; N] =\n  b[i] = a[i]\n  c[i] = exp (a[i])\n",
    ) else {
        panic!()
    };
    assert!(matches!(&c.result, FnResult::Outs(o) if o.len() == 2));
}

#[test]
fn instructions_and_layouts() {
    let text = "instr fn fuse (a: Vec f32 4) (b: Vec f32 4) -> Vec f32 4 =\n  let x = fma a b a\n  fma x b a\n  by_target metal\n    \"{result} = f({a}, {b});\"\n    \"g();\"\n  by_target llvm \"x {result} {a} {b}\"\n";
    let Item::Instr(i) = item(text) else { panic!() };
    assert_eq!((i.body.stmts.len(), i.templates.len(), i.templates[0].lines.len()), (2, 2, 2));
    let text = "layout Panels (r) [i, k] =\n  split i by r pad as p\n  split k by 2 * r as q\n  order p, k, i, q,\n";
    let Item::Layout(l) = item(text) else { panic!() };
    assert!(
        matches!(&l.ops[..], [LayoutOp::Split { pad: true, .. }, LayoutOp::Split { pad: false, .. }, LayoutOp::Order { axes, .. }] if axes.len() == 4)
    );
}

#[test]
fn platforms() {
    let text = "platform Box where\n  target x86_64 feature avx2 feature fma\n  level L1 capacity = 32 * 1024 line = 64 source \"manual\"\n  level DRAM\n  unit Vec where\n    lanes @f32 = 8 source \"a\"\n    lanes @f64 = 4\n    registers = 16\n  device Gpu where\n    target metal\n    arithmetic flush_subnormals other\n    level Threadgroup capacity = 32768\n    group = 32\n    unit Core where\n      lanes @f32 = 32\n";
    let Item::Platform(p) = item(text) else { panic!() };
    let [
        PlatformEntry::Target(t),
        PlatformEntry::Level(l1),
        PlatformEntry::Level(dram),
        PlatformEntry::Unit(u),
        PlatformEntry::Device(d),
    ] = p.entries.as_slice()
    else {
        panic!()
    };
    assert_eq!(
        (t.features.len(), l1.fields.len(), dram.fields.len(), u.fields.len(), d.entries.len()),
        (2, 2, 0, 3, 5)
    );
    assert!(matches!(&u.fields[0].targs[0].items[0], TargItem::Path(p) if p.text() == "f32"));
    assert!(matches!(&d.entries[3], DeviceEntry::Field(f) if f.name.name == "group"));
    assert!(matches!(&d.entries[4], DeviceEntry::Unit(u) if u.name.name == "Core" && u.fields.len() == 1));
}

#[test]
fn statements() {
    let s = stmts(
        "  lease mut P' = P at L1\n  lease Q = P at L2\n  alloc t: [f32; N, 4] in Panels 4 at DRAM\n  acc'0[i, 0] = 1.0\n  x = y\n  print (differing a b)\n  m.f = 2\n",
    );
    assert!(matches!(&s[0].kind, StmtKind::Lease { mutable: true, name, .. } if name.name == "P'"));
    assert!(matches!(&s[1].kind, StmtKind::Lease { mutable: false, .. }));
    assert!(matches!(&s[2].kind, StmtKind::Alloc { ty, .. } if ty.layout.is_some() && ty.level.is_some()));
    assert!(matches!(&s[3].kind, StmtKind::Assign { place, .. } if place.indices().unwrap().len() == 2));
    assert!(matches!(&s[4].kind, StmtKind::Assign { place, .. } if place.indices() == Some(&[])));
    assert!(matches!(&s[5].kind, StmtKind::Expr(e) if sexp(e) == "(print (differing a b))"));
    assert!(matches!(&s[6].kind, StmtKind::Assign { place, .. } if place.path.text() == "m.f"));
    let s = stmts("  var t: [Vec f64 (8 * 8); 4 * 2] = repeat (-0.0)\n  var u = v\n");
    assert!(matches!(&s[0].kind, StmtKind::Var { ty: Some(t), .. } if ty_text(t) == "[Vec f64 (* 8 8); (* 4 2)]"));
    let s = stmts(
        "  grid on M4 i in 0 .. M, g in blocks (0 .. N) 4 by tile (si, sj) parts [8, 16] writes c[i ..+ 16, g] as ct do store ct = t\n",
    );
    let StmtKind::Grid { device, indices, tile, writes, .. } = &s[0].kind else { panic!() };
    assert_eq!((device.as_ref().unwrap().name.as_str(), indices.len()), ("M4", 2));
    assert_eq!(tile.as_ref().unwrap().parts.len(), 2);
    assert!(matches!(&writes[0].place.indices().unwrap()[0], Index::Window { .. }));
    let s = stmts("  if c then 1.0 else 2.0\n");
    assert_eq!(sexp(&s[0].to_expr().unwrap()), "(if c 1.0 2.0)");
}

#[test]
fn words_of_steps_and_platforms_are_names_elsewhere() {
    good("fn f (reads rows: [f32; N]) (mut lanes: [f32; N]) =\n  let order = product zero max\n  for tile in 0 .. N do\n    store lanes[tile] = load rows[tile]\n  let parts = keep [8].x\n".replace("keep [8].x", "keep").as_str());
    good("fn pack (x: f32) = split order\nfn target (x: f32) = level + unit * device\n");
    good("schedule rows of matmul =\n  tiles (rows, lanes) key cols\n");
}
