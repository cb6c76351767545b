//! Accounts are right: the counts of every operation are those of running it, one iteration after another.

mod common;
#[path = "account/running.rs"]
mod running;

use cachet::pipeline;
use cachet::world::Disk;
use cachet_account::account::{Mode, What, account};
use cachet_account::count::Values;
use cachet_core::ir::{Fun, Program, Var};
use common::{files, root};
use running::Running;
use std::collections::BTreeMap;

/// A small generator of numbers; the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// The account's rows at sizes, and those of a run. In full blocks they are at least as many, exactly as many otherwise.
fn compare(program: &Program, fun: &Fun, sizes: &[i64], faults: &mut Vec<String>) -> usize {
    let Some(seen) = Running::of(program, fun, sizes) else { return 0 };
    for mode in [Mode::Exact, Mode::Full] {
        let a = account(program, fun, mode);
        let mut values: Values = fun.sizes.iter().copied().zip(sizes.iter().map(|n| i128::from(*n))).collect();
        // The values of open type parameters have a size that is none of the function's.
        for v in 0..fun.type_params.len() {
            values.insert(Var((fun.vars.len() + v) as u32), 1);
        }
        let mut total: BTreeMap<What, i128> = BTreeMap::new();
        for o in &a.operations {
            let times = o.times.value(&values);
            for (what, n) in &o.total {
                let Some(n) = n.value(&values) else {
                    faults.push(format!("{} {sizes:?}: no value for {what:?} of {}", fun.name, o.kind));
                    continue;
                };
                if let (Some(each), Some(times)) = (o.each.as_ref().and_then(|e| e.get(what)), times) {
                    let each = each.value(&values).unwrap_or(-1);
                    if times > 0 && each * times != n {
                        faults.push(format!("{} {sizes:?}: {times} x {each} is not {n}", fun.name));
                    }
                }
                *total.entry(what.clone()).or_default() += n;
            }
        }
        let exact = mode == Mode::Exact || a.exact;
        // What waits for what, and what a compiler does at once, are no sums over what happens; they have tests of their own.
        total.retain(|what, _| !matches!(what, What::Chained { .. } | What::Along(_) | What::Same(_)));
        for what in seen.keys().chain(total.keys()) {
            let (n, counted) = (seen.get(what).copied().unwrap_or(0), total.get(what).copied().unwrap_or(0));
            if if exact { n != counted } else { n > counted } {
                faults.push(format!("{} {sizes:?} {mode:?}: {what:?} happens {n} times, {counted} counted", fun.name));
            }
        }
    }
    seen.len()
}

fn sizes_of(fun: &Fun, random: &mut Random) -> Vec<i64> {
    // Whatever is required of sizes here is that they are positive, or divisible.
    let of = |r: &mut Random| [0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 33][r.below(12) as usize];
    fun.sizes.iter().map(|_| of(random)).collect()
}

#[test]
fn accounts_of_the_suite_are_those_of_running_it() {
    let mut random = Random(7);
    let mut faults = Vec::new();
    let (mut functions, mut rows) = (0, 0);
    let folders = ["tests/suite", "tests/suite/schedules", "tests/suite/steps", "tests/suite/reductions"];
    for file in folders.iter().filter(|f| root().join(f).exists()).flat_map(|f| files(f, ".cachet")) {
        let path = root().join(&file).to_string_lossy().into_owned();
        let outcome = pipeline::check(&path, &Disk::default());
        let program = outcome.checked.program();
        for id in outcome.module.items.iter().filter(|id| outcome.checked.accepts(**id)) {
            let fun = &program.funs[id.index()];
            functions += 1;
            for _ in 0..6 {
                let sizes = sizes_of(fun, &mut random);
                rows += compare(program, fun, &sizes, &mut faults);
            }
        }
    }
    faults.truncate(30);
    assert!(functions > 100 && rows > 1000 && faults.is_empty(), "{functions} {rows}\n{}", faults.join("\n"));
}

/// Random nests: blocks of blocks, ranges that depend on the loops around, conditions, sums, masks. They are not proved to
/// stay inside their arrays, and nobody runs them.
struct Nests {
    random: Random,
    text: String,
    names: u32,
}

impl Nests {
    /// An index of the sizes and the loops around.
    fn index(&mut self, scope: &[(String, bool)]) -> String {
        let pick = |r: &mut Random, n: u64| r.below(n);
        let atom = match pick(&mut self.random, 4) {
            0 => ["N", "M", "K"][pick(&mut self.random, 3) as usize].to_string(),
            1 => pick(&mut self.random, 9).to_string(),
            _ => match scope.get(pick(&mut self.random, 5) as usize) {
                Some((name, false)) => name.clone(),
                Some((name, true)) => {
                    format!("{name}.{}", ["lo", "hi", "len", "idx"][pick(&mut self.random, 4) as usize])
                }
                None => "M".into(),
            },
        };
        match pick(&mut self.random, 9) {
            0 => format!("({atom} + {})", pick(&mut self.random, 5)),
            1 => format!("({atom} - {})", pick(&mut self.random, 5)),
            2 => format!("({atom} / {})", 1 + pick(&mut self.random, 4)),
            3 => format!("({atom} % {})", 1 + pick(&mut self.random, 4)),
            4 => format!("(min {atom} {})", pick(&mut self.random, 7)),
            5 => format!("(max {atom} {})", pick(&mut self.random, 7)),
            6 => format!("({} - {atom})", ["N", "K"][pick(&mut self.random, 2) as usize]),
            _ => atom,
        }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn line(&mut self, depth: usize, text: &str) {
        self.text.push_str(&"  ".repeat(depth));
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn block(&mut self, depth: usize, scope: &mut Vec<(String, bool)>) {
        for _ in 0..1 + self.random.below(2) {
            self.statement(depth, scope);
        }
    }

    fn statement(&mut self, depth: usize, scope: &mut Vec<(String, bool)>) {
        let deep = depth > 4;
        match self.random.below(if deep { 2 } else { 9 }) {
            0 => self.line(depth, "store y[0, 0] = load x[0, 0] * 2.0 + load y[0, 0]"),
            1 => {
                let (lo, hi) = (self.index(scope), self.index(scope));
                let v = self.name();
                self.line(
                    depth,
                    &format!("store y[0, 0] = fold {v} in {lo} .. {hi} from load y[1, 1] as t do t + load x[{v}, 1]"),
                );
            }
            2 => {
                let (a, b) = (self.index(scope), self.index(scope));
                let rel = ["<", "<=", "==", "!="][self.random.below(4) as usize];
                self.line(depth, &format!("if {a} {rel} {b} then"));
                self.block(depth + 1, scope);
            }
            3..=5 => {
                let (lo, hi) = (self.index(scope), self.index(scope));
                let v = self.name();
                let lo = if self.random.below(3) > 0 { "0".into() } else { lo };
                self.line(depth, &format!("for {v} in {lo} .. {hi} do"));
                scope.push((v, false));
                self.block(depth + 1, scope);
                scope.pop();
            }
            _ => {
                let (lo, hi) = (self.index(scope), self.index(scope));
                let lo = if self.random.below(3) > 0 { "0".into() } else { lo };
                let v = self.name();
                let n = 1 + self.random.below(5);
                self.line(depth, &format!("for {v} in blocks ({lo} .. {hi}) {n} do"));
                scope.push((v, true));
                self.block(depth + 1, scope);
                scope.pop();
            }
        }
    }
}

/// One text as a file; what it imports comes from nowhere.
struct Text(String);

impl cachet_frontend::Files for Text {
    fn read(&self, _: &std::path::Path) -> std::io::Result<Vec<u8>> {
        Ok(self.0.clone().into_bytes())
    }

    fn identity(&self, path: &std::path::Path) -> std::path::PathBuf {
        path.to_path_buf()
    }

    fn library(&self, _: &str) -> Option<Vec<(&'static str, &'static str)>> {
        None
    }
}

#[test]
fn accounts_of_random_nests_are_those_of_running_them() {
    let mut faults = Vec::new();
    let (mut functions, mut rows, mut bounds) = (0, 0, 0);
    for seed in 0..300 {
        let mut nests = Nests { random: Random(seed), text: String::new(), names: 0 };
        nests.text.push_str("fn nest (reads x: [f32; N, M]) (mut y: [f32; N, M]) (mut z: [f64; K]) =\n");
        nests.block(1, &mut Vec::new());
        let text = nests.text.clone();
        let mut sources = cachet_source::Sources::new();
        let (module, problems) = cachet_frontend::load("nest.cachet", &Text(text.clone()), &mut sources);
        let Some(program) = module.map(|m| m.program) else { panic!("{text}") };
        let Some(fun) = program.funs.iter().find(|f| f.name == "nest") else {
            faults.push(format!("{text}\n{}", problems[0].message));
            continue;
        };
        functions += 1;
        bounds += usize::from(!account(&program, fun, Mode::Full).exact);
        let before = faults.len();
        for _ in 0..4 {
            let sizes: Vec<i64> = fun.sizes.iter().map(|_| nests.random.below(9) as i64).collect();
            rows += compare(&program, fun, &sizes, &mut faults);
        }
        if faults.len() > before {
            faults.push(text);
        }
    }
    faults.truncate(12);
    assert!(
        functions > 280 && rows > 900 && bounds > 50 && faults.is_empty(),
        "{functions} {rows} {bounds}\n{}",
        faults.join("\n")
    );
}

#[test]
fn two_functions_side_by_side() {
    let layouts = ["account", "examples/attention_layouts.cachet", "--compare", "rows_16", "rows_32"];
    let orders = ["account", "examples/ladder.cachet", "--compare", "larger", "rows_first"];
    let same = ["account", "tests/suite/accounts.cachet", "--compare", "tiled", "tiled"];
    let cases: [(&str, Vec<&str>); 4] = [
        ("compare-layouts", layouts.to_vec()),
        ("compare-layouts-numbers", [&layouts[..], &["--at", "L=2048,S=2048"]].concat()),
        ("compare-orders", orders.to_vec()),
        ("compare-same", same.to_vec()),
    ];
    let mut faults = Vec::new();
    for (name, args) in cases {
        let out = common::cachetc(&args);
        assert!(out.status.success(), "{}", common::text(&out.stderr));
        let expected = format!("crates/cachetc/tests/account/{name}.txt");
        faults.extend(common::golden(&expected, &common::text(&out.stdout)).err());
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let out = common::cachetc(&[&layouts[..], &["--at", "L=2048,S=2048", "--json"]].concat());
    let all: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let differences = all["compared"]["differences"].as_array().expect("differences");
    let keys = differences.iter().find(|d| d["row"] == "bytes of `k` read at DRAM").expect("the keys");
    assert_eq!(keys["counts"][0]["number"].as_i64(), keys["counts"][1]["number"].as_i64().map(|n| 2 * n));
    assert!(keys["causes"][0].as_str().is_some_and(|c| c.contains("ceil (L / 16) times in rows_16")), "{keys}");
    let out = common::cachetc(&[&orders[..], &["--at", "M=1,N=1"]].concat());
    assert!(common::text(&out.stderr).contains("no number is given for the size `K`"));
}

#[test]
fn accounts_read_as_expected() {
    let file = "tests/suite/accounts.cachet";
    let cases: [(&str, &[&str]); 4] = [
        ("tiled", &["tiled"]),
        ("tiled-exact", &["tiled", "--exact"]),
        ("tiled-numbers", &["tiled", "--at", "M=24,N=16,K=80"]),
        ("file", &[]),
    ];
    let mut faults = Vec::new();
    for (name, args) in cases {
        let out = common::cachetc(&[&["account", file], args].concat());
        assert!(out.status.success(), "{}", common::text(&out.stderr));
        let expected = format!("crates/cachetc/tests/account/{name}.txt");
        faults.extend(common::golden(&expected, &common::text(&out.stdout)).err());
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What a number of the account at sizes says of a part of the machine.
fn cycles(file: &str, name: &str, at: &str, part: &str) -> f64 {
    let out = common::cachetc(&["account", file, name, "--at", at, "--json"]);
    let all: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let limits = all["items"][0]["limits"].as_array().cloned().unwrap_or_default();
    let found = limits.iter().find(|l| l["part"] == part);
    found.and_then(|l| l["cycles"].as_f64()).unwrap_or_else(|| panic!("no {part}: {limits:?}"))
}

#[test]
fn chains_are_as_long_as_the_loops_that_repeat_them() {
    let file = "tests/suite/accounts.cachet";
    // Every cell's sum is a chain of its own, and the cells come one after another; a multiply-add takes 4 cycles.
    assert_eq!(cycles(file, "plain", "M=10,N=20,K=30", "chain of fma"), 4.0 * 10.0 * 20.0 * 30.0);
    // In a tile of two rows and sixteen lanes all chains go on together: six tiles to a block, eight steps each.
    let blocks = 10.0 * 2.0;
    assert_eq!(cycles(file, "tiled", "M=24,N=16,K=80", "chain of fma"), 4.0 * blocks * 6.0 * 8.0);
    // An addition takes 2 cycles, and row i has i of them.
    assert_eq!(cycles(file, "below", "N=9", "chain of +"), 2.0 * 36.0);
    assert_eq!(cycles(file, "named", "M=5,N=7", "chain of +"), 2.0 * 35.0);
}

/// What an optimised build on an idle machine takes, in milliseconds, and how many times as long a test may.
const AT_ONCE: (u128, u128) = (50, 40);

#[test]
fn accounts_answer_at_once() {
    for file in files("examples", ".cachet") {
        // The least of several: other tests run at the same time. The first leaves its proofs for the others.
        let times = (0..3).map(|_| {
            let start = std::time::Instant::now();
            let out = common::cachetc(&["account", &file]);
            assert!(out.status.success() && out.stdout.len() > 100, "{file}");
            start.elapsed().as_millis()
        });
        let least = times.min().unwrap_or(0);
        assert!(least < AT_ONCE.0 * AT_ONCE.1, "{file}: {least} ms");
    }
}

#[test]
fn the_bytes_of_an_open_type_can_be_said() {
    let args = ["account", "examples/matmul.cachet", "--at", "M=2,N=3,K=4,sizeof S.Value=8"];
    let said = common::text(&common::cachetc(&args).stdout);
    assert!(!said.contains("sizeof"), "{said}");
    let said = common::text(&common::cachetc(&["account", "examples/matmul.cachet", "--at", "M=2,N=3,K=4"]).stdout);
    assert!(said.contains("sizeof S.Value"), "{said}");
}

#[test]
fn what_cannot_be_shown_is_said() {
    let file = "tests/suite/accounts.cachet";
    let cases: [(&[&str], &str); 6] = [
        (&["nothing"], "nothing named `nothing` that was accepted"),
        (&["tiled", "--at", "M=3,N=3"], "no number is given for the size `K` of `tiled`"),
        (&["tiled", "--at", "M=3,N=3,K=3,L=3"], "`tiled` has no size `L`"),
        (&["tiled", "--at", "M=3,M=4"], "the size `M` is given twice"),
        (&["tiled", "--at", "M=-3"], "a size is from 0 to 2^40"),
        (&["tiled", "--at", "M"], "`M` gives no size a number"),
    ];
    for (args, wanted) in cases {
        let out = common::cachetc(&[&["account", file], args].concat());
        let said = common::text(&out.stderr);
        assert!(out.status.code() == Some(2) && said.contains(wanted), "{args:?}: {said}");
    }
}

/// The products of matrices, each in an order of its loops.
const ORDERS: &str = "
module (platform = Zen5)

import \"PLATFORM\"

fn along_rows (reads a: [f32; N, N]) (reads b: [f32; N, N]) (mut c: [f32; N, N]) =
  for i in 0 .. N do for k in 0 .. N do for j in 0 .. N do
    store c[i, j] = load c[i, j] + load a[i, k] * load b[k, j]

fn down_columns (reads a: [f32; N, N]) (reads b: [f32; N, N]) (mut c: [f32; N, N]) =
  for j in 0 .. N do for k in 0 .. N do for i in 0 .. N do
    store c[i, j] = load c[i, j] + load a[i, k] * load b[k, j]

fn in_place (mut x: [f32; N, N]) requires N >= 1 =
  for i in 0 .. N do for j in 0 .. N - 1 do
    store x[i, j] = load x[i, j] + load x[i, j + 1]
";

#[test]
fn a_loop_along_rows_is_issued_for_all_lanes_at_once() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("orders.cachet");
    let platform = root().join("platforms/zen5.cachet");
    std::fs::write(&file, ORDERS.replace("PLATFORM", &platform.to_string_lossy())).expect("a file");
    let file = file.to_string_lossy();
    let at = |name: &str, part: &str| cycles(&file, name, "N=64", part);
    let n = 64.0 * 64.0 * 64.0;
    // Two loads of 16 lanes a cycle, of `c` and of `b`; the word of `a` stays. One store of 16 lanes a cycle.
    assert_eq!(at("along_rows", "loads"), 2.0 * n / 16.0 / 2.0);
    assert_eq!(at("along_rows", "stores"), n / 16.0);
    assert_eq!(at("along_rows", "fma"), n / 16.0 / 2.0);
    assert_eq!(at("down_columns", "loads"), 3.0 * n / 2.0);
    assert_eq!(at("down_columns", "stores"), n);
    // What the next iteration reads is not what this one writes, but a compiler has to see that.
    assert_eq!(at("in_place", "stores"), 64.0 * 63.0);
    // The matrices fit the second level, so each line comes once.
    let transport = 3.0 * 64.0 * 64.0 * 4.0 / 11.04;
    assert!((at("along_rows", "DRAM to L2") - transport).abs() < 1.0);
}

/// `c[i, j] = a[j]` over 4 rows, each gone through `AGAIN` times.
const ROWS: &str = "
fn copies (reads a: [f32; COLUMNS]) (mut c: [f32; 4, COLUMNS]) =
  for i in 0 .. 4 do for t in 0 .. AGAIN do for j in 0 .. COLUMNS do
    store c[i, j] = load a[j]
";

/// Lines of 64 bytes that a cache of so many fetches at most.
fn fetched(columns: i64, again: i64, capacity: u64) -> f64 {
    let file =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rows_{columns}_{again}_{capacity}.cachet"));
    let text = ROWS.replace("COLUMNS", &columns.to_string()).replace("AGAIN", &again.to_string());
    std::fs::write(&file, text).expect("a file");
    let outcome = pipeline::check(&file.to_string_lossy(), &Disk::default());
    let program = outcome.checked.program();
    let fun = outcome.find("copies").map(|id| &program.funs[id.index()]).expect("a function");
    cachet_account::reuse::lines(program, fun, &Values::new(), (capacity, 64)).expect("a number")
}

#[test]
fn what_fits_is_fetched_once() {
    // `a` has 2 lines and each row of `c` 2: two rows in turn need 6.
    assert_eq!(fetched(32, 3, 10), 10.0);
    assert_eq!(fetched(32, 3, 6), 10.0);
    // A row and `a` fit, two rows do not: `a` comes again for each row.
    assert_eq!(fetched(32, 3, 4), 16.0);
    assert_eq!(fetched(32, 3, 5), 16.0);
    // Not even a row fits: line after line, each time.
    assert_eq!(fetched(320, 3, 6), 4.0 * 3.0 * 2.0 * 20.0);
    // Nothing stays from one element to the next.
    assert_eq!(fetched(320, 1, 3), 4.0 * 2.0 * 320.0);
}
