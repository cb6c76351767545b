//! What `bench` says of a contraction: its work, its roof, which libraries compute the same, and what is not timed.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

use cachet::bench::{Group, Limit, Measured, Options, Sizes, run, sweeps};
use cachet::native::Problem;
use cachet::pipeline;
use cachet::world::Disk;
use cachet_runtime::{Llvm, Numbers, PeakProbe, PeerSearch, ProbeElement};
use std::time::Duration;

const HEAD: &str = "import \"cachet:monoid\"\nimport \"cachet:steps\"\nimport \"cachet:instructions/x86\"\n\n";

fn llvm() -> Option<Llvm> {
    match Llvm::load() {
        Ok(llvm) => Some(llvm),
        Err(e) => {
            let required = std::env::var("CACHET_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|t| t.trim() == "llvm"), "llvm is required and missing: {e}");
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!("{}\n", format_args!("skipped: measurements: libLLVM is missing: {e}")),
            );
            None
        }
    }
}

fn options(sizes: Vec<Sizes>) -> Options {
    Options {
        names: vec![],
        sizes,
        implementation: "PlusTimes f32".into(),
        budget: Duration::from_millis(200),
        seed: 7,
        peers: None,
        threads: 1,
    }
}

/// Measures a file of its own.
fn measure(name: &str, text: &str, options: &Options) -> Option<Result<Measured, Problem>> {
    let llvm = llvm()?;
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.cachet"));
    std::fs::write(&path, format!("{HEAD}{text}")).unwrap();
    let outcome = pipeline::check(path.to_str().unwrap(), &Disk::default());
    assert!(!outcome.refused(), "{name}: {:?}", outcome.diagnostics);
    Some(run(&outcome, &llvm, options))
}

fn groups(name: &str, text: &str, options: &Options) -> Option<Vec<Group>> {
    match measure(name, text, options)? {
        Ok(measured) => Some(measured.groups),
        Err(p) => panic!("{name}: {p:?}"),
    }
}

fn sized(all: &[(&str, i64)]) -> Sizes {
    Sizes { named: all.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect(), others: 8 }
}

#[test]
fn work_is_counted_from_the_equations() {
    let cases = [
        // Two for each term; all arrays once.
        (
            "product",
            "(reads a: [f32; M, K])\n    (reads b: [f32; K, N])\n    -> out c: [f32; M, N] =\n  c[i, j] = sum k. a[i, k] * b[k, j]",
            2.0 * 3.0 * 4.0 * 5.0,
            4.0 * (12.0 + 20.0),
            4.0 * 15.0,
        ),
        // A triangle of terms: 1 + 2 + ... of rows.
        (
            "triangle",
            "(reads a: [f32; M, M])\n    (reads x: [f32; M])\n    -> out y: [f32; M] =\n  y[i] = sum k where k <= i. a[i, k] * x[k]",
            2.0 * (1.0 + 2.0 + 3.0),
            4.0 * (9.0 + 3.0),
            4.0 * 3.0,
        ),
        (
            "window",
            "(reads x: [f32; N])\n    (reads w: [f32; 3])\n    -> out y: [f32; H]\nrequires N == H + 2\n=\n  y[i] = sum k in 0 .. 3. x[i + k] * w[k]",
            2.0 * 3.0 * 3.0,
            4.0 * (5.0 + 3.0),
            4.0 * 3.0,
        ),
        (
            "moved",
            "(reads a: [f64; M, N])\n    -> out b: [f64; N, M] =\n  b[j, i] = a[i, j]",
            0.0,
            8.0 * 15.0,
            8.0 * 15.0,
        ),
    ];
    let sizes = sized(&[("M", 3), ("K", 4), ("N", 5), ("H", 3)]);
    for (name, text, flops, read, written) in cases {
        let named = Sizes {
            named: sizes
                .named
                .iter()
                .filter(|(n, _)| text.contains(&format!("{n}]")) || text.contains(&format!("{n},")))
                .cloned()
                .collect(),
            others: 8,
        };
        let Some(groups) = groups(name, &format!("contraction {name}\n    {text}\n"), &options(vec![named])) else {
            return;
        };
        let roof = &groups[0].roof;
        assert_eq!((roof.flops, roof.read, roof.written), (flops, read, written), "{name}");
        assert_eq!(roof.intensity(), flops / (read + written));
        let floor = roof.floor.expect("something bounds it");
        let amount = if flops > 0.0 { flops } else { read + written };
        assert!((roof.height().unwrap() - amount / floor * 1e-9).abs() < 1e-9 * roof.height().unwrap());
        assert_eq!(roof.peak.is_some(), flops > 0.0);
        assert!(flops > 0.0 || roof.limit != Limit::Arithmetic);
        let share = groups[0].rows[0].timed.expect("was timed").of_roof.expect("has a share");
        assert!(share.low <= share.median && share.median <= share.high && share.low > 0.0);
    }
}

#[test]
fn a_large_triangle_is_counted_by_a_part_of_its_rows() {
    let text =
        "contraction triangle\n    (reads x: [f32; N])\n    -> out y: [f32; N] =\n  y[i] = sum k where k <= i. x[k]\n";
    let Some(groups) = groups("large", text, &options(vec![Sizes::all(3000)])) else { return };
    let exact = 3000.0 * 3001.0 / 2.0;
    assert!((groups[0].roof.flops / exact - 1.0).abs() < 0.01, "{} and not {exact}", groups[0].roof.flops);
}

#[test]
fn integers_have_no_peak_that_was_measured() {
    let text = "contraction integers\n    (reads a: [i32; N])\n    (reads b: [i32; N])\n    -> out c: [i32; N] =\n  c[i] = max a[i] b[i]\n";
    let Some(groups) = groups("integers", text, &options(vec![Sizes::all(64)])) else { return };
    let roof = &groups[0].roof;
    assert!(roof.flops == 64.0 && roof.peak.is_none() && roof.limit != Limit::Arithmetic && roof.floor.is_some());
}

#[test]
fn a_schedule_whose_requirement_fails_is_not_run() {
    let text = "contraction plain\n    (reads a: [f32; N])\n    -> out b: [f32; N] =\n  b[i] = a[i] + 1.0\n\nschedule fours of plain =\n  split i by 4 as gi\n";
    let sizes = vec![Sizes::all(8), Sizes::all(6)];
    let Some(groups) = groups("fours", text, &options(sizes)) else { return };
    let row = |g: usize| groups[g].rows.iter().find(|r| !r.nest).expect("the schedule");
    assert!(row(0).unmet.is_none() && row(0).timed.is_some() && row(0).differing == 0);
    assert!(row(1).unmet.as_deref().is_some_and(|u| u.contains("N % 4 == 0")), "{:?}", row(1).unmet);
    assert!(row(1).timed.is_none());
    let sweeps = sweeps(&groups);
    assert_eq!((sweeps.len(), sweeps[0].columns.len()), (1, 1));
    let column = &sweeps[0].columns[0];
    assert!(!sweeps[0].to_fastest && column.ratios[0].is_some() && column.ratios[1].is_none());
    assert_eq!(column.least.map(|(_, at)| at), Some(0));
    assert!((column.mean.unwrap() - column.ratios[0].unwrap().median).abs() < 1e-12);
}

#[test]
fn sizes_that_nothing_has_are_refused() {
    let text = "contraction plain\n    (reads a: [f32; N])\n    -> out b: [f32; N] =\n  b[i] = a[i] + 1.0\n";
    let Some(result) = measure("unknown", text, &options(vec![sized(&[("Q", 3)])])) else { return };
    let Err(Problem::User(said)) = result else { panic!("was measured") };
    assert!(said.contains("`Q`") && said.contains("`plain` has N"), "{said}");
}

#[test]
fn products_are_recognised_however_their_factors_lie() {
    let product = |a: &str, b: &str, value: &str| {
        format!(
            "contraction product\n    (reads a: [f32; {a}])\n    (reads b: [f32; {b}])\n    -> out c: [f32; M, N] =\n  c[i, j] = {value}\n"
        )
    };
    let vector = |a: &str, value: &str| {
        format!(
            "contraction vector\n    (reads a: [f64; {a}])\n    (reads x: [f64; K])\n    -> out y: [f64; M] =\n  y[i] = {value}\n"
        )
    };
    let cases = [
        (product("M, K", "K, N", "sum k. a[i, k] * b[k, j]"), true),
        (product("K, M", "K, N", "sum k. a[k, i] * b[k, j]"), true),
        (product("M, K", "N, K", "sum k. a[i, k] * b[j, k]"), true),
        (product("K, M", "N, K", "sum k. b[j, k] * a[k, i]"), true),
        (vector("M, K", "sum k. a[i, k] * x[k]"), true),
        (vector("K, M", "sum k. x[k] * a[k, i]"), true),
        (product("M, K", "K, N", "sum k where k <= i. a[i, k] * b[k, j]"), false),
        (product("M, K", "K, N", "(sum k. a[i, k] * b[k, j]) + 1.0"), false),
        (product("M, K", "K, N", "sum k. a[i, k] + b[k, j]"), false),
        (
            vector("M, K", "sum k in 0 .. 2. a[i, k] * x[k]").replace("[f64; M] =", "[f64; M]\nrequires K >= 2\n="),
            false,
        ),
    ];
    let sizes = vec![sized(&[("M", 6), ("K", 5)])];
    for (n, (text, recognised)) in cases.iter().enumerate() {
        let with_peers = Options { peers: Some(PeerSearch::of_process()), ..options(sizes.clone()) };
        let Some(groups) = groups(&format!("product{n}"), text, &with_peers) else { return };
        assert_eq!(groups[0].counterpart.is_some(), *recognised, "{text}");
        assert!(*recognised || groups[0].peers.is_empty());
        for peer in &groups[0].peers {
            // What a library computes of the same inputs is that product: it was compared before it was timed.
            let lacks = peer.skipped.as_deref().is_some_and(|why| why.contains("64-bit floats"));
            assert!(peer.skipped.is_none() || lacks, "{}: {:?} in {text}", peer.name, peer.skipped);
            assert_eq!(peer.timed.is_some(), peer.skipped.is_none());
        }
        assert_eq!(groups[0].fastest.is_some(), groups[0].peers.iter().any(|p| p.timed.is_some()));
    }
}

/// The arithmetic of two instructions, and two that are no sums of products.
const SEMIRINGS: &str = "impl Semiring for Paired f32 where
  const Value = f32
  fn zero () = -0.0
  fn one () = 1.0
  fn add a b = a + b
  fn mul a b = a * b
  fn mul_add a b c = flushing_fma a b c

impl Semiring for Rolling i32 where
  const Value = i32
  fn zero () = 0
  fn one () = 1
  fn add a b = wrapping_add b a
  fn mul a b = wrapping_mul a b
  fn mul_add a b c = wrapping_add c (wrapping_mul a b)

impl Semiring for Widest i32 where
  const Value = i32
  fn zero () = 0
  fn one () = 1
  fn add a b = max a b
  fn mul a b = wrapping_mul a b
  fn mul_add a b c = max c (wrapping_mul a b)

impl Semiring for Offset f32 where
  const Value = f32
  fn zero () = 1.0
  fn one () = 1.0
  fn add a b = a + b
  fn mul a b = a * b
  fn mul_add a b c = fma a b c

";

/// A product of matrices of these elements.
fn converted(name: &str, [a, b, c]: [&str; 3], value: &str) -> String {
    format!(
        "{SEMIRINGS}contraction {name}\n    (reads a: [{a}; M, K])\n    (reads b: [{b}; K, N])\n    -> out c: [{c}; M, N]\nrequires K <= 1000\n=\n  c[i, j] = {value}\n"
    )
}

#[test]
fn products_of_short_numbers_are_recognised_and_counted_as_products() {
    let floats = "(a[i, k] as f32) * (b[k, j] as f32)";
    let bytes = "(a[i, k] as i32) * (b[k, j] as i32)";
    let wrapped = "wrapping_mul (a[i, k] as i32) (b[k, j] as i32)";
    let cases = [
        (["bf16", "bf16", "f32"], format!("sum k. {floats}"), Some(Numbers::Bf16)),
        (["bf16", "bf16", "f32"], format!("reduce Paired f32 k. {floats}"), Some(Numbers::Bf16)),
        (["u8", "i8", "i32"], format!("sum k. {bytes}"), Some(Numbers::U8I8)),
        (["u8", "i8", "i32"], format!("reduce Rolling i32 k. {bytes}"), Some(Numbers::U8I8)),
        (["i8", "i8", "i32"], format!("reduce WrappingSum i32 k. {wrapped}"), Some(Numbers::I8I8)),
        (["i8", "i8", "i32"], format!("sum k. {bytes}"), Some(Numbers::I8I8)),
        (["f32", "f32", "f32"], "reduce Paired f32 k. a[i, k] * b[k, j]".into(), Some(Numbers::F32)),
        // Nobody has these: a signed byte first, 16-bit floats, other sums.
        (["i8", "u8", "i32"], format!("sum k. {bytes}"), None),
        (["f16", "f16", "f32"], format!("sum k. {floats}"), None),
        (["bf16", "f32", "f32"], "sum k. (a[i, k] as f32) * b[k, j]".into(), None),
        (["u8", "i8", "i32"], format!("reduce Widest i32 k. {bytes}"), None),
        (["f32", "f32", "f32"], "reduce Offset f32 k. a[i, k] * b[k, j]".into(), None),
    ];
    let sizes = vec![sized(&[("M", 6), ("K", 5), ("N", 7)])];
    for (n, (elements, value, numbers)) in cases.iter().enumerate() {
        let with = Options { peers: Some(PeerSearch::of_process()), ..options(sizes.clone()) };
        let text = converted(&format!("short{n}"), *elements, value);
        let Some(groups) = groups(&format!("short{n}"), &text, &with) else { return };
        let g = &groups[0];
        assert_eq!(g.counterpart, *numbers, "{elements:?} {value}");
        assert_eq!(g.roof.flops, 2.0 * 6.0 * 5.0 * 7.0, "{elements:?} {value}");
        assert!(numbers.is_some() || g.peers.is_empty());
        for peer in g.peers.iter().filter(|p| p.timed.is_some()) {
            let integers = matches!(numbers, Some(Numbers::U8I8 | Numbers::I8I8));
            assert!(peer.skipped.is_none() && (!integers || peer.differing == 0), "{}: {}", peer.name, peer.differing);
        }
        // A library that is there and computes these numbers is not wrong; it may have no kernel on this processor.
        let wrong = g.peers.iter().filter_map(|p| p.skipped.as_deref()).find(|why| why.contains("wrong"));
        assert_eq!(wrong, None, "{elements:?} {value}");
    }
}

#[test]
fn operations_of_a_multiply_add_are_two_and_of_a_conversion_none() {
    let each = |name: &str, c: &str, value: &str| {
        format!("{SEMIRINGS}contraction {name}\n    (reads a: [f32; N])\n    -> out c: [{c}; N] =\n  c[i] = {value}\n")
    };
    let cases = [
        ("stepped", "f32", "flushing_fma a[i] a[i] 1.0", 2.0),
        ("fused", "f32", "fma a[i] a[i] 1.0", 2.0),
        ("flush", "f32", "flushed a[i]", 1.0),
        ("round", "bf16", "a[i] as bf16", 0.0),
        ("both", "f64", "(a[i] as f64) + (a[i] as f64)", 1.0),
    ];
    for (name, c, value, operations) in cases {
        let Some(groups) = groups(name, &each(name, c, value), &options(vec![Sizes::all(64)])) else { return };
        assert_eq!(groups[0].roof.flops, 64.0 * operations, "{value}");
    }
}

#[test]
fn the_roof_is_the_peak_of_the_instruction_that_a_kernel_uses() {
    let Some(llvm) = llvm() else { return };
    let host = llvm.host().expect("a host");
    let byte_product = format!(
        "{}\nschedule fours of byte_product =\n  split i by 2 as ui ragged\n  split j by 16 as uj ragged\n  order (ui, uj, i, j)\n  registers (i, j) into c rows 2 lanes 16 through wrapping_add\n  dot_products k c dot_u8i8x4\n",
        converted("byte_product", ["u8", "i8", "i32"], "reduce Rolling i32 k. (a[i, k] as i32) * (b[k, j] as i32)")
    );
    let bf16_product = format!(
        "{}\nschedule pairs of bf16_product =\n  split i by 2 as ui ragged\n  split j by 16 as uj ragged\n  order (ui, uj, i, j)\n  registers (i, j) into c rows 2 lanes 16 through flushing_fma\n  dot_products k c dot_bf16x2\n",
        converted("bf16_product", ["bf16", "bf16", "f32"], "reduce Paired f32 k. (a[i, k] as f32) * (b[k, j] as f32)")
    );
    let cases = [
        ("byte_product", byte_product, "fours", "avx512vnni", "dot_u8i8x4"),
        ("bf16_product", bf16_product, "pairs", "avx512bf16", "dot_bf16x2"),
    ];
    for (name, text, schedule, feature, instruction) in cases {
        let Some(groups) = groups(name, &text, &options(vec![Sizes::all(64)])) else { return };
        let roof = &groups[0].roof;
        let of = roof.instruction.as_deref();
        assert!(of.is_none() || host.has(feature) && of == Some(instruction), "{name}: {of:?}");
        assert_eq!(roof.peak.is_some(), host.has(feature) || name == "bf16_product");
        let row = groups[0].rows.iter().find(|r| r.name == schedule).expect("the schedule");
        let share = row.timed.expect("was timed").of_roof.expect("has a share").median;
        assert!(share < 1.1, "{name} {share}");
        if host.has(feature) {
            let mut plain = PeakProbe::of_multiply_adds(&llvm, ProbeElement::F32).expect("compiles");
            let (peak, plain) = (roof.peak.expect("was measured"), plain.peak());
            assert!((0.8 * plain..12.0 * plain).contains(&peak), "{name}: {peak}, and {plain} by multiply-adds");
            // Some processors do pairs no faster than multiply-adds of 32-bit floats.
            assert!(of.is_some() || name == "bf16_product" && peak < 1.2 * plain, "{name}: {peak} and {plain}");
        }
        // Without the schedule nothing uses the instruction.
        let nest = Options { names: vec![name.into()], ..options(vec![Sizes::all(64)]) };
        let plain_text = text.split("\nschedule ").next().expect("has a beginning");
        let Some(groups) = self::groups(&format!("{name}_plain"), plain_text, &nest) else { return };
        assert_eq!(groups[0].roof.instruction, None);
    }
}

#[test]
fn a_kernel_that_is_too_slow_is_compared_and_not_timed() {
    let text = "contraction product\n    (reads a: [f32; M, K])\n    (reads b: [f32; K, N])\n    -> out c: [f32; M, N] =\n  c[i, j] = sum k. a[i, k] * b[k, j]\n";
    let hurried = Options { budget: Duration::from_millis(8), ..options(vec![Sizes::all(400)]) };
    let Some(groups) = groups("slow", text, &hurried) else { return };
    let row = &groups[0].rows[0];
    assert!(row.too_slow.is_some_and(|s| s > 0.002), "{:?}", row.too_slow);
    assert!(row.timed.is_none() && row.differing == 0 && groups[0].sampled > 0);
    assert!(groups[0].roof.floor.is_some(), "the roof is measured nevertheless");
}

/// Two contenders by the interface for libraries that are listed: a product that is right, and one that forgets a term.
const CONTENDERS: &str = r#"
#include <stdint.h>
int64_t cachet_peer_count(void) { return 2; }
const char *cachet_peer_name(int64_t p) { return p == 0 ? "plain" : "forgetful"; }
const char *cachet_peer_version(int64_t p) { return "1.0"; }
const char *cachet_peer_code_path(int64_t p) { return "loops"; }
int64_t cachet_peer_set_threads(int64_t p, int64_t n) { return 1; }
#define PRODUCT(NAME, T) \
  int32_t NAME(int64_t p, const int64_t *n, const T *a, const int64_t *sa, const T *b, const int64_t *sb, T *c) { \
    for (int64_t i = 0; i < n[0]; i++) for (int64_t j = 0; j < n[1]; j++) { \
      T s = 0; \
      for (int64_t k = p; k < n[2]; k++) s += a[i * sa[0] + k * sa[1]] * b[k * sb[0] + j * sb[1]]; \
      c[i * n[1] + j] = s; \
    } \
    return 0; \
  }
PRODUCT(cachet_peer_sgemm, float)
PRODUCT(cachet_peer_dgemm, double)
"#;

fn library_of_contenders() -> Option<std::path::PathBuf> {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source, library) = (folder.join("contenders.c"), folder.join("libcontenders.so"));
    std::fs::write(&source, CONTENDERS).unwrap();
    let made =
        std::process::Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    if made.is_ok_and(|s| s.success()) {
        return Some(library);
    }
    let required = std::env::var("CACHET_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|t| t.trim() == "cc"), "cc is required and missing");
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("skipped: listed libraries: no cc\n"));
    None
}

#[test]
fn a_library_whose_results_are_wrong_is_not_timed() {
    let Some(library) = library_of_contenders() else { return };
    let search = PeerSearch { listed: vec![library], ..PeerSearch::nowhere() };
    let texts = [
        "contraction product\n    (reads a: [f32; K, M])\n    (reads b: [f32; N, K])\n    -> out c: [f32; M, N] =\n  c[i, j] = sum k. a[k, i] * b[j, k]\n",
        "contraction vector\n    (reads a: [f64; M, K])\n    (reads x: [f64; K])\n    -> out y: [f64; M] =\n  y[i] = sum k. a[i, k] * x[k]\n",
    ];
    for (n, text) in texts.iter().enumerate() {
        let sizes = vec![sized(&[("M", 9), ("K", 40)])];
        let with = Options { peers: Some(search.clone()), ..options(sizes) };
        let Some(groups) = groups(&format!("listed{n}"), text, &with) else { return };
        let [right, wrong] = groups[0].peers.as_slice() else { panic!("{} peers", groups[0].peers.len()) };
        assert_eq!((right.name.as_str(), right.code_path.as_str()), ("plain 1.0", "loops"));
        assert!(right.timed.is_some() && right.skipped.is_none());
        assert!(wrong.timed.is_none() && wrong.differing > 0);
        assert!(
            wrong.skipped.as_deref().is_some_and(|w| w.contains("its results are wrong by up to")),
            "{:?}",
            wrong.skipped
        );
        assert_eq!(groups[0].fastest.map(|(_, peer)| peer), Some(0));
        let ratio = groups[0].peers[0].timed.unwrap().of_fastest.unwrap();
        assert_eq!((ratio.low, ratio.median, ratio.high), (1.0, 1.0, 1.0));
    }
}
