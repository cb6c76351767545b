//! Step definitions to patterns, and schedules to scripts.

use super::{good, lines, load_text, only};
use cachet_core::pattern::{MoveKind, ParamKind, Params, Pat, PatWord, StepDef};
use cachet_core::script::Module;

const MATMUL: &str = "import \"cachet:monoid\"
import \"cachet:steps\"

contraction matmul {S : Semiring}
    (reads a: [S.Value; M, K])
    (reads b: [S.Value; K, N])
    -> out c: [S.Value; M, N] =
  c[i, j] = sum k. a[i, k] * b[k, j]

";

fn matmul(rest: &str) -> String {
    format!("{MATMUL}{rest}")
}

fn step<'m>(module: &'m Module, name: &str) -> &'m StepDef {
    module.steps.iter().find(|s| s.name == name).unwrap()
}

fn kinds(step: &StepDef) -> Vec<(String, ParamKind)> {
    let all = step.params.iter().flat_map(|p| match p {
        Params::One(p) => std::slice::from_ref(p),
        Params::Tuple(ps) => ps,
    });
    all.map(|p| (p.name.clone(), p.kind)).collect()
}

fn steps(module: &Module, name: &str) -> Vec<String> {
    let script = module.scripts.iter().find(|s| s.name == name).unwrap();
    script.steps.iter().map(|s| s.to_string()).collect()
}

/// A step that moves a sum outwards, under a name of its own.
const OUTWARD: &str = "step fn outward (j, k) c =
  from
    for j in $a .. $b do
      store $cell = fold k in $lo .. $hi from (load $cell) as $acc: $E do $step
  to
    for k in $lo .. $hi do
      for j in $a .. $b do
        let $acc = load $cell
        store $cell = $step[$acc][k := $hi - 1 - (k - $lo)]
  relate
    per cell c fold S.k
    per cell c fold T.k
    interchange S.j#2
";

#[test]
fn a_parameter_is_what_its_place_makes_it() {
    let module = good(OUTWARD);
    let s = step(&module, "outward");
    let wanted = [("j", ParamKind::Loop), ("k", ParamKind::Loop), ("c", ParamKind::Buffer)];
    assert_eq!(kinds(s), wanted.map(|(n, k)| (n.to_string(), k)));
    let text = "step fn cut i n (g) c =
  from
    for i in $lo .. $hi do
      store c[i] = $w
  to
    for g in blocks ($lo .. $hi) n do
      for i in 0 .. g.len do
        store c[g[i]] = $w[i := g[i]]
";
    let module = good(text);
    let wanted = [("i", ParamKind::Loop), ("n", ParamKind::Size), ("g", ParamKind::New), ("c", ParamKind::Buffer)];
    assert_eq!(kinds(step(&module, "cut")), wanted.map(|(n, k)| (n.to_string(), k)));
    let library = good("import \"cachet:steps\"\n");
    assert_eq!(kinds(step(&library, "zero"))[0], ("i".to_string(), ParamKind::Loops));
    assert_eq!(library.steps.iter().filter(|s| s.name == "zero").count(), 2, "one is for epilogues");
}

#[test]
fn holes_are_filled_and_indices_replaced() {
    let module = good(OUTWARD);
    let s = step(&module, "outward");
    let [Pat::For { body, .. }] = s.to.as_slice() else { panic!("{:?}", s.to) };
    let [Pat::For { body, .. }] = body.as_slice() else { panic!("{body:?}") };
    let [Pat::Let { local, .. }, Pat::Store { word: PatWord::Hole { name, inside, substs }, .. }] = body.as_slice()
    else {
        panic!("{body:?}")
    };
    assert_eq!((local.as_str(), name.as_str(), substs.len()), ("$acc", "$step", 1));
    assert_eq!(**inside.as_ref().unwrap(), PatWord::Local("$acc".into()));
    let MoveKind::Interchange(l) = &s.recipe[2].kind else { panic!() };
    assert_eq!((l.name.as_str(), l.nth, l.rank), ("j", 2, false));
    let library = good("import \"cachet:steps\"\n");
    let MoveKind::Distribute { of, at: 1 } = &step(&library, "zero").recipe[2].kind else { panic!() };
    assert!(of.rank, "the loops of a rank hole");
}

#[test]
fn every_name_of_a_step_means_something() {
    let with = |from: &str, to: &str, relate: &str| {
        let relate = if relate.is_empty() { String::new() } else { format!("  relate\n    {relate}\n") };
        format!(
            "step fn s i =\n  from\n    for i in $A do\n      {from}\n  to\n    for i in $A do\n      {to}\n{relate}"
        )
    };
    for (text, wanted) in [
        (with("$body", "$bdy", ""), "unknown-name: there is no hole `$bdy` here"),
        (with("$body", "$body", "interchange S.x"), "unknown-name: there is no loop in `from` called `x` here"),
        (with("$body", "$body", "interchange T.x"), "unknown-name: there is no loop in `to` called `x` here"),
        (with("$body", "$body", "per cell c fold S.i"), "unknown-name: there is no parameter `c` here"),
        (with("$body", "$body", "").replace("s i =", "s (i, i) ="), "duplicate-name: `i` is a parameter already"),
    ] {
        assert!(only(&text).0.starts_with(wanted), "{:?}\n{text}", only(&text));
    }
}

#[test]
fn recipe_lines_to_come_are_named() {
    let with = |line: &str| {
        format!(
            "step fn s i c =\n  from\n    for i in $A do\n      store c[i] = $w\n  to\n    for i in $A do\n      store c[i] = $w\n  relate\n    {line}\n"
        )
    };
    for (line, word) in [
        ("per cell c fold S.i at [i]", "per cell .. at"),
        ("fold var S.i", "fold var"),
        ("order S.upd (i, k)", "order"),
        ("rename T.p as c", "rename"),
        ("dead T.p", "dead"),
        ("share T.t over i", "share"),
        ("arithmetic D", "arithmetic"),
        ("evaluate", "evaluate"),
    ] {
        let (report, _) = only(&with(line));
        assert!(report.starts_with(&format!("not-built: not built yet: the recipe line `{word}`")), "{line}: {report}");
    }
}

#[test]
fn schedules_become_scripts() {
    let module = good(&matmul(
        "schedule swapped of matmul =
  zero (i, j) c
  hoist (j, k) c
schedule bound of matmul @(S = MinPlus f64) =
schedule on_top of swapped =
  interchange (i#2, k)
",
    ));
    assert_eq!(steps(&module, "swapped"), ["zero (i, j) c", "hoist (j, k) c"]);
    assert_eq!(steps(&module, "on_top"), ["interchange (i#2, k)"]);
    let script = |n: &str| module.scripts.iter().find(|s| s.name == n).unwrap();
    assert_eq!(script("on_top").of, script("swapped").fun);
    let bound = &module.program.funs[script("bound").fun.index()];
    assert!(bound.type_params.is_empty() && script("bound").types.len() == 1);
    let order: Vec<&str> = module.scripts.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(order, ["swapped", "bound", "on_top"]);
}

#[test]
fn a_schedule_comes_after_the_one_it_continues() {
    let module = good(&matmul("schedule late of early =\n  interchange (i, j)\nschedule early of matmul =\n"));
    let order: Vec<&str> = module.scripts.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(order, ["early", "late"]);
    let names = module.items.iter().map(|i| module.program.funs[i.index()].name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["matmul", "late", "early"], "items stand as in the text");
}

#[test]
fn schedule_functions_are_expanded_where_they_are_called() {
    let module = good(&matmul(
        "const W = 4
step fn sized i n =
  from
    for i in $lo .. $hi do
      $body
  to
    for z in blocks ($lo .. $hi) n do
      $body
schedule fn both (i, j, k) c =
  zero (i, j) c
  hoist (j, k) c
schedule fn all (x, y, z) out_c n =
  both (x, y, z) out_c
  interchange (x#2, z)
  sized x (n * 2 + W)
  sized x n
schedule s of matmul =
  all (i, j, k) c (W + 1)
",
    ));
    let wanted = ["zero (i, j) c", "hoist (j, k) c", "interchange (i#2, k)", "sized i 14", "sized i 5"];
    let found: Vec<String> = steps(&module, "s").iter().map(|s| s.replace("(14)", "14").replace("(5)", "5")).collect();
    assert_eq!(found, wanted);
    let callers: Vec<usize> = module.scripts[0].steps.iter().map(|s| s.callers.len()).collect();
    assert_eq!(callers, [2, 2, 1, 1, 1]);
}

#[test]
fn schedules_that_mean_nothing_are_refused() {
    for (rest, wanted) in [
        ("schedule s of matmull =\n", "unknown-name: there is no contraction, function or schedule `matmull`"),
        ("schedule s of zero =\n", "binding: `zero` is a step, and cannot be scheduled"),
        ("schedule s of matmul @(S = PlusTime f32) =\n", "unknown-name: there is no implementation `PlusTime f32`"),
        ("schedule s of matmul @(S = Max f32) =\n", "binding: `Max f32` "),
        ("schedule s of matmul @(T = PlusTimes f32) =\n", "unknown-name: there is no type parameter `T`"),
        ("schedule s of matmul =\n  zerro (i, j) c\n", "unknown-name: there is no step `zerro`"),
        ("schedule s of matmul =\n  matmul i\n", "step-argument: `matmul` is a contraction, not a step"),
        ("schedule s of s =\n", "recursion: `s` continues itself"),
        ("schedule fn g x =\n  g x\nschedule s of matmul =\n  g i\n", "recursion: `g` calls itself"),
        (
            "schedule fn g (x, y) =\n  interchange (x, y)\nschedule s of matmul =\n  g i\n",
            "step-argument: the arguments of `g`",
        ),
        ("schedule fn g x x =\n  interchange (x, x)\n", "duplicate-name: `x` is a parameter already"),
    ] {
        assert!(only(&matmul(rest)).0.starts_with(wanted), "{:?}\n{rest}", only(&matmul(rest)));
    }
}

#[test]
fn steps_to_come_are_named() {
    for (text, word) in [
        ("compute s at i", "compute"),
        ("reduce k by (max: halving)", "reduce"),
        ("reduce k by (max: lanes 4)", "reduce"),
        ("reduce k by (max: order, sum: order)", "reduce"),
        ("parts [8, 8]", "parts"),
        ("element [f32; 8, 8]", "element"),
        ("tiles (i, j, k) (16, 16) (8, 8)", "tiles"),
        ("first_block (gk, k) c", "first_block"),
    ] {
        let (report, _) = only(&matmul(&format!("schedule s of matmul =\n  {text}\n")));
        assert!(report.starts_with(&format!("not-built: not built yet: the step `{word}`")), "{text}: {report}");
    }
    for (head, what) in [
        ("schedule s of matmul on M4Gpu =\n  zero (i, j) c\n", "schedules `on M4Gpu`"),
        (
            "fn f (mut x: [f32; N]) =\n  g x\nfn g (mut x: [f32; N]) =\n  store x[0] = 1.0\nschedule s of f =\n",
            "scheduling a function",
        ),
    ] {
        let (report, _) = only(&matmul(head));
        assert!(report.starts_with(&format!("not-built: not built yet: {what}")), "{report}");
    }
}

/// A step with one line of a recipe that regroups.
fn regrouping(line: &str) -> String {
    format!(
        "step fn own k =\n  from\n    store $c = fold k in $A from $z as $t: $E do $s\n  to\n    store $c = fold k in $A from $z as $t: $E do $s\n  relate\n    {line}\n"
    )
}

#[test]
fn lines_that_regroup_are_read() {
    let module = good(&regrouping("regroup S.k (add: order) by associative"));
    let line = &module.steps.last().unwrap().recipe[0].kind;
    assert_eq!(line.to_string(), "regroup S.k (add: order) by associative");
    for (line, report) in [
        ("regroup S.k chunks 8 by associative", "not-built: not built yet: `regroup` in another form"),
        ("regroup S.k (add: halving) by associative", "not-built: not built yet: `regroup` in another form"),
        ("regroup S.k (max: order, sum: order) by block", "not-built: not built yet: `regroup` in another form"),
        ("regroup S.k (add: order) by block", "not-built: not built yet: laws of whole blocks"),
        ("regroup S.k (add: order) by distributive", "unknown-name: there is no law that regroups `distributive` here"),
        ("regroup S.j (add: order) by associative", "unknown-name: there is no loop in `from` called `j` here"),
    ] {
        let (found, _) = only(&regrouping(line));
        assert!(found.starts_with(report), "{line}: {found}");
    }
}

#[test]
fn a_refused_step_refuses_its_schedule_once() {
    let text = matmul(
        "schedule s of matmul =\n  parts [8, 8]\nschedule t of s =\n  zero (i, j) c\nschedule u of matmul =\n  zero (i, j) c\n",
    );
    let (module, diagnostics) = load_text(&text);
    assert_eq!(lines(&diagnostics).len(), 1, "{:?}", lines(&diagnostics));
    assert_eq!(module.scripts.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["u"]);
}

#[test]
fn expansion_ends() {
    let doubling: String = (0..40).map(|n| format!("schedule fn g{} i =\n  g{n} i\n  g{n} i\n", n + 1)).collect();
    let text =
        matmul(&format!("schedule fn g0 x =\n  interchange (x, x)\n{doubling}schedule s of matmul =\n  g40 i\n"));
    assert!(only(&text).0.starts_with("limit: the schedule has more than 10000 steps"), "{:?}", only(&text));
    let deep: String = (0..70).map(|n| format!("schedule fn g{} i =\n  g{n} i\n", n + 1)).collect();
    let text = matmul(&format!("schedule fn g0 x =\n  interchange (x, x)\n{deep}schedule s of matmul =\n  g70 i\n"));
    assert!(only(&text).0.starts_with("limit: schedule functions nest deeper than 64"), "{:?}", only(&text));
}

#[test]
fn two_files_may_not_define_one_step_each() {
    use super::{Memory, load_files};
    let step = "step fn same i =\n  from\n    for i in $A do\n      $body\n  to\n    for i in $A do\n      $body\n";
    let files = Memory::default()
        .with("a.cachet", &format!("import \"b.cachet\"\n\n{step}"))
        .with("b.cachet", "import \"c.cachet\"\n\nconst B = 1\n")
        .with("c.cachet", step);
    let (_, diagnostics, _) = load_files("a.cachet", &files);
    assert_eq!(lines(&diagnostics), ["duplicate-name: two files define a step `same`"]);
    let direct = Memory::default().with("a.cachet", &format!("import \"c.cachet\"\n\n{step}")).with("c.cachet", step);
    let (_, diagnostics, _) = load_files("a.cachet", &direct);
    assert_eq!(lines(&diagnostics), ["duplicate-name: `same` is defined twice"]);
}

#[test]
fn a_long_chain_of_schedules_is_refused_once() {
    let chain: String = (0..400).map(|n| format!("schedule s{n} of s{} =\n", n + 1)).collect();
    let (report, _) = only(&matmul(&format!("{chain}schedule s400 of matmul =\n")));
    assert!(report.starts_with("limit: schedules continue one another"), "{report}");
    let forward: String = (1..1000).map(|n| format!("schedule s{n} of s{} =\n", n - 1)).collect();
    good(&matmul(&format!("schedule s0 of matmul =\n{forward}")));
}
