//! The protocol on contenders whose speed is known.

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cachet_runtime::{Contender, MeasureOptions, PeakProbe, ProbeElement, ProbeLoop, measure};
use common::llvm;

/// Contenders share the cores with nobody from this file: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn busy(micros: u64) -> impl FnMut() {
    move || {
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(micros) {
            std::hint::spin_loop();
        }
    }
}

#[test]
fn busy_loops_have_the_ratio_of_their_lengths() {
    let _alone = alone();
    let options = MeasureOptions { rounds: 12, slice: Duration::from_millis(5), ..MeasureOptions::default() };
    // Other processes may take the core for most of a run; the ratio inside rounds is asserted for the first run that
    // the protocol itself does not call noisy, the bests in any case.
    let run = || {
        let mut contenders =
            [Contender::new("200 us", Some(2e6), busy(200)), Contender::new("100 us", Some(2e6), busy(100))];
        measure(&mut contenders, &mut || 100.0.into(), &options).expect("measures")
    };
    let mut report = run();
    for _ in 0..9 {
        if !report.noisy {
            break;
        }
        report = run();
    }
    assert_eq!(report.baseline, "200 us");
    let ratio = report.rows[1].ratio.expect("rounds with both");
    assert!(report.noisy || (1.8..2.2).contains(&ratio.median), "{report:?}");
    assert!(ratio.low <= ratio.median && ratio.median <= ratio.high);
    assert!((report.rows[0].best / report.rows[1].best - 2.0).abs() < 0.3, "{report:?}");
    assert_eq!(report.rows[0].ratio.map(|ratio| ratio.median), Some(1.0));
    assert!(report.rounds_kept <= report.rounds_run && (12..=24).contains(&report.rounds_run));
    assert!(report.rounds_run == 24 || report.rounds_kept >= 12, "rounds go on until enough count: {report:?}");
    assert_eq!(report.rounds.iter().filter(|round| round.kept).count(), report.rounds_kept);
    assert_eq!(report.ratio(1, 0), report.rows[1].ratio);
    assert_eq!(report.dropped_slow_probe, 0);
}

#[test]
fn slow_contenders_take_part_in_three_rounds_within_the_budget() {
    let _alone = alone();
    let options = MeasureOptions { budget: Duration::from_secs(3), ..MeasureOptions::default() };
    let mut slow_calls = 0;
    let mut contenders = [
        Contender::new("fast", None, busy(1000)),
        Contender::new("slow", None, || {
            slow_calls += 1;
            std::thread::sleep(Duration::from_millis(150));
        }),
    ];
    let report = measure(&mut contenders, &mut || 100.0.into(), &options).expect("measures");
    drop(contenders);
    assert!(report.rows[1].slow && !report.rows[0].slow);
    assert!(slow_calls <= 5, "two to warm up and three rounds, not {slow_calls}");
    assert!(report.elapsed < Duration::from_secs(4), "{report:?}");
    let ratio = report.rows[1].ratio.expect("rounds with both");
    assert!((0.002..0.02).contains(&ratio.median), "{report:?}");
}

#[test]
fn slow_contenders_leave_the_others_half_of_the_time() {
    let _alone = alone();
    let options = MeasureOptions { budget: Duration::from_secs(1), alone: true, ..MeasureOptions::default() };
    let slow = || std::thread::sleep(Duration::from_millis(400));
    let mut contenders = [Contender::new("fast", None, busy(1000)), Contender::new("slow", None, slow)];
    let report = measure(&mut contenders, &mut || 100.0.into(), &options).expect("measures");
    assert_eq!((report.rows[1].slow, report.rows[1].rounds), (true, 1), "{report:?}");
    assert!(report.shortened && report.rounds_run >= 20, "{} rounds", report.rounds_run);
    assert!(report.elapsed < Duration::from_secs(4), "{report:?}");
}

#[test]
fn a_budget_that_is_too_small_shortens_and_says_so() {
    let _alone = alone();
    let options = MeasureOptions { budget: Duration::from_millis(300), ..MeasureOptions::default() };
    let mut contenders = [Contender::new("one", None, busy(500)), Contender::new("two", None, busy(500))];
    let report = measure(&mut contenders, &mut || 100.0.into(), &options).expect("measures");
    assert!(report.shortened && report.rounds_run < 31, "{report:?}");
    assert!(report.elapsed < Duration::from_millis(900), "{report:?}");
}

#[test]
fn a_probe_that_sags_drops_rounds() {
    let _alone = alone();
    let mut count = 0;
    let mut probe = || {
        count += 1;
        // Pairs of probes: every third round is slow.
        if (count / 2) % 3 == 1 { 80.0.into() } else { 100.0.into() }
    };
    let options = MeasureOptions { rounds: 15, slice: Duration::from_millis(1), ..MeasureOptions::default() };
    let mut contenders = [Contender::new("only", None, busy(100))];
    let report = measure(&mut contenders, &mut probe, &options).expect("measures");
    assert!(report.dropped_slow_probe >= 4, "{report:?}");
    assert_eq!(report.probe.best, 100.0);
}

#[test]
fn the_probe_finds_a_plausible_peak() {
    let _alone = alone();
    let Some(llvm) = llvm() else { return };
    let mut single = PeakProbe::of_multiply_adds(&llvm, ProbeElement::F32).expect("compiles");
    let mut double = PeakProbe::of_multiply_adds(&llvm, ProbeElement::F64).expect("compiles");
    let peaks: Vec<_> = (0..20).map(|_| single.peaks()).collect();
    let of_thread = peaks.iter().filter_map(|p| p.of_thread).fold(0.0, f64::max);
    let wall = peaks.iter().map(|p| p.wall).fold(0.0, f64::max);
    // The same work by both clocks; others may have taken a part of all the time that passed.
    assert!(of_thread == 0.0 || (0.8..5.0).contains(&(of_thread / wall)), "{peaks:?}");
    let (f32_peak, f64_peak) = (single.peak(), double.peak());
    println!("peak: {f32_peak:.1} GFLOP/s in f32, {f64_peak:.1} in f64");
    assert!(f32_peak > 1.0 && f64_peak > 1.0);
    assert!(f32_peak < 2000.0, "the loop was optimised away");
    let ratio = f32_peak / f64_peak;
    assert!((1.4..2.8).contains(&ratio), "twice the lanes, twice the speed: {ratio}");
}

/// One chain of additions.
const ADDITIONS: &str = "define void @additions__packed(ptr %sizes, ptr %buffers) {
entry:
  %n = load i64, ptr %sizes
  %in = load ptr, ptr %buffers
  %slot = getelementptr inbounds ptr, ptr %buffers, i64 1
  %out = load ptr, ptr %slot
  %start = load double, ptr %in
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %x = phi double [ %start, %entry ], [ %y, %loop ]
  %y = fadd double %x, %start
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  store double %y, ptr %out
  ret void
}
";

#[test]
fn a_loop_that_is_given_is_timed_by_what_an_iteration_does() {
    let _alone = alone();
    let Some(llvm) = llvm() else { return };
    let peak_of = |operations: f64| {
        let input = 1.0_f64.to_le_bytes().to_vec();
        let of = ProbeLoop { ir: ADDITIONS.into(), name: "additions".into(), operations, input, output: 8 };
        PeakProbe::of_loop(&llvm, of).expect("compiles").peak()
    };
    let (one, three) = (peak_of(1.0), peak_of(3.0));
    // A chain of additions takes at least a cycle for each.
    assert!((0.05..10.0).contains(&one), "{one}");
    assert!((1.5..6.0).contains(&(three / one)), "{one} and {three}");
}
