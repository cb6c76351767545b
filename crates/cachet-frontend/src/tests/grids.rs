use super::{again, find, good, only, print, reports};
use cachet_core::interpret::{Array, Options, TrapKind, Value, run};
use cachet_core::ir::StmtKind;

const BANDS: &str = "fn f
    (reads a: [f32; M, N])
    (mut c: [f32; M, N])
=
  grid g in blocks (0 .. M) 2, j in 0 .. N
      writes c[g.lo ..+ g.len, j] do
    for i in 0 .. g.len do
      store c[g[i], j] = load a[g[i], j] * 2.0
";

#[test]
fn grids_print_with_their_windows_and_read_again() {
    assert_eq!(again(BANDS, "f"), BANDS);
    // Windows that are left out are found.
    let text = "fn f
    (mut c: [f32; N])
=
  grid i in 0 .. N do
    store c[i] = 1.0
";
    assert_eq!(again(text, "f"), text.replace("N do", "N\n      writes c[i] do"));
    // Two windows, one of a whole array.
    let text = "fn f
    (mut c: [f32; N])
    (mut d: [f32; 4])
=
  grid q in 0 .. 1
      writes d[0 ..+ 4], c[0 ..+ N] do
    store c[q] = load d[q]
";
    assert_eq!(again(text, "f"), text);
    assert_eq!(again(&text.replace("d[0 ..+ 4], c[0 ..+ N]", "d, c as all"), "f"), text);
}

#[test]
fn an_alias_is_another_way_to_write_the_array() {
    let text = "fn one (mut x: [f32; 1, N]) =
  for j in 0 .. N do
    store x[0, j] = (load x[0, j]) + 1.0
fn f (reads a: [f32; M, N]) (mut c: [f32; M, N]) (mut d: [f32; M]) =
  grid i in 0 .. M writes c[i, 0 ..+ N] as ct, d[i] as dt do
    store dt = load a[i, 0]
    for j in 0 .. N do
      store ct[0, j] = (load dt) * (load ct[0, j])
    one ct
    one ct[0 ..+ 1, 1 ..+ N - 1]
";
    let module = good(text);
    let printed = print(&module, "f");
    for line in [
        "writes c[i, 0 ..+ N], d[i] do\n",
        "    store d[i] = load a[i, 0]\n",
        "      store c[i, j] = load d[i] * load c[i, j]\n",
        "    one c[i, 0 ..+ N]\n",
        "    one c[i, 1 ..+ N - 1]\n",
    ] {
        assert!(printed.contains(line), "{line}{printed}");
    }
    let StmtKind::Grid(g) = &find(&module, "f").1.body[0].kind else { panic!("a grid") };
    assert_eq!((g.axes.len(), g.writes.len(), g.level), (1, 2, 0));
}

fn numbers(values: &[f32]) -> Array {
    Array::from_f32(&[5, 3], values).unwrap()
}

#[test]
fn grids_run_in_any_order() {
    let module = good(BANDS);
    let (id, _) = find(&module, "f");
    let given: Vec<f32> = (0..15).map(|n| n as f32).collect();
    let mut results = Vec::new();
    for shuffle in [None, Some(1), Some(7)] {
        let mut args = [numbers(&given), numbers(&[0.0; 15])];
        run(&module.program, id, &[], &[5, 3], &mut args, &Options { shuffle, ..Options::default() }).unwrap();
        assert_eq!(args[1].get(&[4, 2]), Some(Value::Bits(u64::from(28f32.to_bits()))));
        results.push(args[1].clone());
    }
    assert!(results.iter().all(|r| *r == results[0]));
    // What reaches outside its window is stopped while running, too.
    let module = good(&BANDS.replace("store c[g[i], j]", "store c[g[i], N - 1 - j]"));
    let mut args = [numbers(&given), numbers(&[0.0; 15])];
    let trap = run(&module.program, find(&module, "f").0, &[], &[5, 3], &mut args, &Options::default()).unwrap_err();
    assert_eq!(trap.kind, TrapKind::WindowViolated);
}

#[test]
fn what_is_wrong_with_a_grid() {
    let text = |head: &str, body: &str| {
        format!("fn f (reads a: [f32; N]) (mut c: [f32; N]) =\n  grid {head} do\n    {body}\n")
    };
    for (head, body, wanted) in [
        ("i in 0 .. N writes a[i]", "store c[i] = 1.0", "mode: "),
        ("i in 0 .. N writes c[i, 0]", "store c[i] = 1.0", "arity: "),
        ("i in 0 .. N writes b[i]", "store c[i] = 1.0", "unknown-name: "),
        ("i in 0 .. N writes c[i] as a", "store c[i] = 1.0", "duplicate-name: "),
        ("i in 0 .. N, i in 0 .. N", "store c[i] = 1.0", "duplicate-name: "),
        ("i in 0 .. N writes c[i ..+ 2] as ct", "store ct = 1.0", "arity: "),
        ("i in 0 .. N writes c[i] as ct", "store ct[0, 0] = 1.0", "arity: "),
        ("i in 0 .. N writes c[i] as ct", "ct = 1.0", "type-mismatch: "),
        ("i in 0 .. N writes c[i] as ct", "store c[ct] = 1.0", "word-as-index: "),
        ("on M4 i in 0 .. N writes c[i]", "store c[i] = 1.0", "not-built: "),
        ("i in 0 .. N by tile (s) parts [8]", "store c[i] = 1.0", "not-built: "),
    ] {
        let report = only(&text(head, body)).0;
        assert!(report.starts_with(wanted), "{head}, {body}: {:?}", reports(&text(head, body)));
    }
    // The alias ends with its grid.
    let after = format!("{}  store ct = 1.0\n", text("i in 0 .. N writes c[i] as ct", "store ct = 1.0"));
    assert!(only(&after).0.starts_with("unknown-name: "), "{:?}", reports(&after));
}
