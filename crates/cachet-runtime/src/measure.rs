//! How fast are these contenders beside each other, on a machine that is shared and changes speed?
//!
//! Single figures are worthless there, so everything is compared within *rounds*. Per round, in random order: a probe
//! of the FMA peak, each contender for 5–20 ms, the probe again. A round is dropped when a probe is below 97 % of the
//! run's best (the clock was lower, or a neighbour took the core) or when the thread was switched out. What is
//! reported is the median over rounds of the ratio *inside* a round, with its 10–90 % interval; never a ratio of two
//! separate bests. A contender slower than 100 ms a call takes part in 3 rounds and is marked.
//!
//! Rounds go on, up to twice as many as were asked for, until as many count as were asked for; then the budget ends them.
//!
//! On a machine so busy that nearly all rounds would be dropped, the report says so ([`MeasureReport::noisy`]). Where the
//! contenders work on the calling thread alone, times and probes are then those that processors spent on that thread:
//! what other processes took is not counted, so rounds in which the thread was switched out serve too. Otherwise, and
//! where even so too few rounds are left, the better half is kept.
//!
//! Where contenders have threads of their own, these are kept off the core of the calling thread, and each contender starts
//! when the threads of the others sleep: libraries' threads look for more work for milliseconds after a call, on the cores
//! that the next one needs.
//!
//! The caller compares bits before, fills inputs, poisons outputs; only the closure is inside the timed region.

mod statistics;

use std::time::{Duration, Instant};

pub use statistics::{Interval, Modes, interval, median, modes, quantile};

use crate::clock::{OthersApart, PinnedThread, involuntary_switches, thread_seconds, until_others_rest};
use crate::error::{ToolError, ToolErrorKind};
use crate::fpmode::FpGuard;
use crate::probe::Peak;

/// Something to be timed.
pub struct Contender<'a> {
    /// Its name in the report.
    pub name: String,
    /// Floating-point operations of one call, for GFLOP/s.
    pub flops: Option<f64>,
    /// One call.
    pub run: Box<dyn FnMut() + 'a>,
}

impl<'a> Contender<'a> {
    /// A contender from a closure that makes one call.
    pub fn new(name: impl Into<String>, flops: Option<f64>, run: impl FnMut() + 'a) -> Contender<'a> {
        Contender { name: name.into(), flops, run: Box::new(run) }
    }
}

/// The protocol's constants; the defaults are the protocol of this module's header.
#[derive(Clone, Debug)]
pub struct MeasureOptions {
    /// Index of the contender that ratios refer to.
    pub baseline: usize,
    /// Rounds to run.
    pub rounds: usize,
    /// Time for each contender in a round.
    pub slice: Duration,
    /// Time that the contenders run before the first round.
    pub warm_up: Duration,
    /// A contender whose call takes longer takes part in `slow_rounds` rounds only.
    pub slow_call: Duration,
    /// Rounds of a slow contender.
    pub slow_rounds: usize,
    /// A round with a probe below this share of the run's best is dropped.
    pub probe_floor: f64,
    /// Time for everything. Slices shrink to 5 ms first, then rounds are left out; the report says so. Where slow contenders
    /// need more than half of it, it becomes longer by what they need.
    pub budget: Duration,
    /// Seed of the order inside rounds.
    pub seed: u64,
    /// Whether to hold the thread on its core.
    pub pin: bool,
    /// Whether the contenders work on the calling thread alone, so that what processors spend on it is their time.
    pub alone: bool,
}

impl Default for MeasureOptions {
    fn default() -> MeasureOptions {
        MeasureOptions {
            baseline: 0,
            rounds: 31,
            slice: Duration::from_millis(10),
            warm_up: Duration::from_millis(50),
            slow_call: Duration::from_millis(100),
            slow_rounds: 3,
            probe_floor: 0.97,
            budget: Duration::from_secs(10),
            seed: 0x0CAC_4E70_5EED,
            pin: true,
            alone: false,
        }
    }
}

/// The shortest slice that the protocol allows.
const SHORTEST_SLICE: Duration = Duration::from_millis(5);
/// A first call that takes this many times the time of a slow one is taken at its word.
const FAR_FROM_FAST: f64 = 5.0;
/// At most this many times the rounds asked for are run.
const MOST_ROUNDS: usize = 2;
/// Below this share of kept rounds the drop rule has failed and the best half is kept instead.
const LEAST_KEPT_SHARE: f64 = 0.25;
/// Fewer kept rounds than this say nothing about an interval.
const LEAST_KEPT: usize = 3;

/// What was measured.
#[derive(Clone, Debug)]
pub struct MeasureReport {
    /// In the order of the contenders.
    pub rows: Vec<MeasureRow>,
    /// Name of the contender that ratios refer to.
    pub baseline: String,
    /// Rounds that were run.
    pub rounds_run: usize,
    /// Rounds that count.
    pub rounds_kept: usize,
    /// Rounds dropped because of the probe.
    pub dropped_slow_probe: usize,
    /// Rounds dropped because the thread was switched out (and the probe was good).
    pub dropped_switched_out: usize,
    /// Nearly all rounds would have been dropped: the better half was kept, undisturbed rounds first, then by probe.
    pub noisy: bool,
    /// On a busy machine: times are those that processors spent on the thread.
    pub of_thread: bool,
    /// The budget cut the number of rounds.
    pub shortened: bool,
    /// The core that the thread was held on.
    pub core: Option<usize>,
    /// The FMA peak.
    pub probe: ProbeSummary,
    /// Every round that was run.
    pub rounds: Vec<RoundRecord>,
    /// Time for everything.
    pub elapsed: Duration,
}

/// One round.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundRecord {
    /// The better of its two probes, in GFLOP/s.
    pub peak: f64,
    /// Mean seconds per call of each contender that took part.
    pub times: Vec<Option<f64>>,
    /// Whether it counts.
    pub kept: bool,
}

/// The FMA peak over the run, in GFLOP/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeSummary {
    /// The best probe.
    pub best: f64,
    /// The median probe.
    pub median: f64,
}

/// One contender's results.
#[derive(Clone, Debug)]
pub struct MeasureRow {
    /// Its name.
    pub name: String,
    /// Calls per round.
    pub calls_per_round: u64,
    /// Rounds that count for it.
    pub rounds: usize,
    /// Its call is slower than the limit: few rounds.
    pub slow: bool,
    /// None of its rounds met the rule; the ones with the best probes were taken.
    pub from_dropped_rounds: bool,
    /// Shortest mean time of a call in a round, in seconds.
    pub best: f64,
    /// Median of the rounds' mean times of a call, in seconds.
    pub median: f64,
    /// GFLOP/s at the median time.
    pub gflops: Option<f64>,
    /// Median over rounds of the share of that round's FMA peak.
    pub of_peak: Option<Interval>,
    /// Per-round speed relative to the baseline: above 1 is faster. `None` when no counted round has both.
    pub ratio: Option<Interval>,
    /// The two modes that the times fall into, where they do.
    pub modes: Option<Modes>,
    /// The numbers of the rounds that count for it.
    pub counted: Vec<usize>,
}

impl MeasureReport {
    /// A quantity of every round that counts for a contender: median and interval. `None` where no round has it.
    pub fn over_rounds(&self, contender: usize, of: impl Fn(&RoundRecord) -> Option<f64>) -> Option<Interval> {
        let counted = &self.rows.get(contender)?.counted;
        let values: Vec<f64> = counted.iter().filter_map(|round| of(self.rounds.get(*round)?)).collect();
        interval(&values)
    }

    /// How many times as fast as another contender it is, inside rounds.
    pub fn ratio(&self, contender: usize, other: usize) -> Option<Interval> {
        let time = |round: &RoundRecord, which: usize| round.times.get(which).copied().flatten();
        self.over_rounds(contender, |round| Some(time(round, other)? / time(round, contender)?))
    }
}

/// Runs the protocol. `probe` returns the FMA peak, taking about a millisecond.
pub fn measure(
    contenders: &mut [Contender<'_>],
    probe: &mut dyn FnMut() -> Peak,
    options: &MeasureOptions,
) -> Result<MeasureReport, ToolError> {
    if options.baseline >= contenders.len() {
        let text = format!("the baseline is contender {} of {}", options.baseline, contenders.len());
        return Err(ToolError::new(ToolErrorKind::Misuse, text));
    }
    let start = Instant::now();
    let pinned = options.pin.then(PinnedThread::here);
    let mut apart = pinned.as_ref().filter(|_| !options.alone).map(OthersApart::from);
    let _mode = FpGuard::enter();
    let plan = plan(contenders, probe, options, start);
    if let (Some(apart), Some(pinned)) = (&mut apart, &pinned) {
        apart.again(pinned);
    }
    let rounds = run_rounds(contenders, probe, &plan, options);
    let mut report = evaluate(contenders, &plan, &rounds, options);
    report.core = pinned.as_ref().and_then(PinnedThread::core);
    report.elapsed = start.elapsed();
    Ok(report)
}

struct Plan {
    rounds: usize,
    /// When no further round starts.
    until: Instant,
    shortened: bool,
    contenders: Vec<Share>,
}

struct Share {
    calls: u64,
    slow: bool,
    /// How many rounds it takes part in, spread evenly.
    rounds: usize,
}

impl Share {
    fn takes_part(&self, round: usize, rounds: usize) -> bool {
        // Evenly spread: the number of multiples of 1/share passed so far grows in exactly `self.rounds` rounds.
        (round + 1) * self.rounds / rounds > round * self.rounds / rounds
    }
}

struct Round {
    /// The lower of the two probes, GFLOP/s.
    probe: f64,
    /// Both probes.
    probes: [f64; 2],
    switched_out: bool,
    /// Mean seconds per call, per contender.
    times: Vec<Option<f64>>,
    /// Both probes and the times again, by what processors spent on the thread.
    own: Option<([f64; 2], Vec<Option<f64>>)>,
}

/// Warms up, learns how long calls take, and fits the rounds into the budget.
fn plan(
    contenders: &mut [Contender<'_>],
    probe: &mut dyn FnMut() -> Peak,
    options: &MeasureOptions,
    start: Instant,
) -> Plan {
    let probe_time = time_of(&mut || {
        probe();
    });
    let (call_times, pauses) = warm_up(contenders, options);
    let slow: Vec<bool> = call_times.iter().map(|time| *time > options.slow_call.as_secs_f64()).collect();
    let left = options.budget.saturating_sub(start.elapsed()).as_secs_f64();
    let slow_round: f64 = call_times.iter().zip(&slow).filter(|(_, slow)| **slow).map(|(time, _)| time).sum();
    let mut slow_rounds = options.slow_rounds.max(1);
    if slow_round > 0.0 {
        slow_rounds = slow_rounds.min((left / slow_round) as usize).max(1);
    }
    // However slow some are, the others have half of the time.
    let half = options.budget.as_secs_f64() / 2.0;
    let for_slow = slow_round * slow_rounds as f64;
    let for_fast = if slow_round > 0.0 { (left - for_slow).max(half) } else { left };
    let fast_round = |slice: f64| {
        let fast = call_times.iter().zip(&slow).filter(|(_, slow)| !**slow);
        2.0 * probe_time + pauses + fast.map(|(time, _)| slice.max(*time)).sum::<f64>()
    };
    let mut slice = options.slice.as_secs_f64();
    if fast_round(slice) * options.rounds as f64 > for_fast {
        slice = slice.min(SHORTEST_SLICE.as_secs_f64());
    }
    let affordable = (for_fast / fast_round(slice)) as usize;
    let rounds = options.rounds.min(affordable).max(LEAST_KEPT).max(slow_rounds);
    let shares = call_times.iter().zip(&slow).map(|(time, slow)| Share {
        calls: if *slow { 1 } else { ((slice / time).round() as u64).max(1) },
        slow: *slow,
        rounds: if *slow { slow_rounds } else { rounds },
    });
    let shortened = rounds < options.rounds || slow_rounds < options.slow_rounds;
    let until = Instant::now() + Duration::from_secs_f64(left.max(for_fast + for_slow));
    Plan { rounds, until, shortened, contenders: shares.collect() }
}

/// Runs every contender, and returns seconds per call, and of all pauses between them. A slow contender runs once.
fn warm_up(contenders: &mut [Contender<'_>], options: &MeasureOptions) -> (Vec<f64>, f64) {
    let share = options.warm_up.as_secs_f64() / contenders.len() as f64;
    let warm = |contender: &mut Contender<'_>| {
        let mut first = time_of(&mut contender.run);
        if first > options.slow_call.as_secs_f64() {
            // A first call may compile code or touch new pages: one that is not slow by far gets another chance.
            if first < FAR_FROM_FAST * options.slow_call.as_secs_f64() {
                first = time_of(&mut contender.run);
            }
            if first > options.slow_call.as_secs_f64() {
                return first;
            }
        }
        // The first call pays for page faults and cold caches: it does not count.
        let mut calls = 0_u64;
        let start = Instant::now();
        while calls == 0 || start.elapsed().as_secs_f64() < share {
            (contender.run)();
            calls += 1;
        }
        start.elapsed().as_secs_f64() / calls as f64
    };
    let (mut times, mut pauses) = (Vec::new(), 0.0);
    for contender in contenders {
        times.push(warm(contender).max(1e-9));
        pauses += time_of(&mut || pause(options));
    }
    (times, pauses)
}

/// Until nobody works who was called before.
fn pause(options: &MeasureOptions) {
    if !options.alone {
        until_others_rest();
    }
}

fn time_of(run: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

fn run_rounds(
    contenders: &mut [Contender<'_>],
    probe: &mut dyn FnMut() -> Peak,
    plan: &Plan,
    options: &MeasureOptions,
) -> Vec<Round> {
    let mut random = SplitMix(options.seed);
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    let mut rounds = Vec::with_capacity(plan.rounds);
    for round in 0..plan.rounds * MOST_ROUNDS {
        if round >= plan.rounds && (plan.shortened || enough(&rounds, plan.rounds, options.probe_floor)) {
            break;
        }
        // The estimate of the plan may have been wrong by a lot; a slow call cannot be interrupted, but no further
        // round needs to start.
        if Instant::now() > plan.until && rounds.len() >= LEAST_KEPT {
            break;
        }
        random.shuffle(&mut order);
        let switches = involuntary_switches();
        let clock: fn() -> Option<f64> = if options.alone { thread_seconds } else { || None };
        let before = probe();
        let mut times = vec![None; contenders.len()];
        let mut own_times = vec![None; contenders.len()];
        for &index in &order {
            let share = &plan.contenders[index];
            if share.takes_part(round, plan.rounds) && (round < plan.rounds || !share.slow) {
                let contender = &mut contenders[index];
                pause(options);
                let (wall, own) = timed(clock, || (0..share.calls).for_each(|_| (contender.run)()));
                times[index] = Some(wall / share.calls as f64);
                own_times[index] = own.map(|own| own / share.calls as f64);
            }
        }
        pause(options);
        let after = probe();
        let switched_out = involuntary_switches() != switches;
        let own_probes = before.of_thread.zip(after.of_thread).filter(|_| options.alone);
        let own = own_probes.map(|(before, after)| ([before, after], own_times));
        let probes = [before.wall, after.wall];
        rounds.push(Round { probe: probes[0].min(probes[1]), probes, switched_out, times, own });
    }
    rounds
}

/// Whether as many rounds as were asked for would count.
fn enough(rounds: &[Round], wanted: usize, floor: f64) -> bool {
    let least = largest(&rounds.iter().flat_map(|round| round.probes).collect::<Vec<_>>()) * floor;
    rounds.iter().filter(|round| round.probe >= least && !round.switched_out).count() >= wanted
}

/// The time that passed, and the time that a clock says was spent.
fn timed(clock: fn() -> Option<f64>, run: impl FnOnce()) -> (f64, Option<f64>) {
    let own = clock();
    let start = Instant::now();
    run();
    let wall = start.elapsed().as_secs_f64();
    (wall, clock().zip(own).map(|(after, before)| after - before))
}

/// The generator of Steele, Lea and Flood (2014); any would do, a fixed one makes runs comparable.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn shuffle(&mut self, items: &mut [usize]) {
        for end in (1..items.len()).rev() {
            let other = (self.next() % (end as u64 + 1)) as usize;
            items.swap(end, other);
        }
    }
}

fn evaluate(contenders: &[Contender<'_>], plan: &Plan, rounds: &[Round], options: &MeasureOptions) -> MeasureReport {
    let (selection, of_thread) = choose(rounds, options.probe_floor);
    let rounds = of_thread.as_deref().unwrap_or(rounds);
    let row = |(index, contender): (usize, &Contender<'_>)| {
        let share = &plan.contenders[index];
        evaluate_one(index, contender, share, rounds, &selection.kept, options.baseline)
    };
    let rows = contenders.iter().enumerate().map(row).collect();
    let probes: Vec<f64> = rounds.iter().flat_map(|round| round.probes).collect();
    let record = |(index, round): (usize, &Round)| RoundRecord {
        peak: largest(&round.probes),
        times: round.times.clone(),
        kept: selection.kept.contains(&index),
    };
    let records = rounds.iter().enumerate().map(record).collect();
    MeasureReport {
        rows,
        baseline: contenders[options.baseline].name.clone(),
        rounds_run: rounds.len(),
        rounds_kept: selection.kept.len(),
        dropped_slow_probe: selection.slow_probe,
        dropped_switched_out: selection.switched_out,
        noisy: selection.noisy,
        of_thread: of_thread.is_some(),
        shortened: plan.shortened || rounds.len() < plan.rounds,
        core: None,
        probe: ProbeSummary { best: selection.best, median: median(&probes) },
        rounds: records,
        elapsed: Duration::ZERO,
    }
}

struct Selection {
    /// Indices of the rounds that count, ascending.
    kept: Vec<usize>,
    slow_probe: usize,
    switched_out: usize,
    noisy: bool,
    /// The best probe.
    best: f64,
}

/// The rounds that count; on a busy machine also the rounds by the thread's own time, where all have it.
fn choose(rounds: &[Round], floor: f64) -> (Selection, Option<Vec<Round>>) {
    let by_wall = select(rounds, floor);
    if !by_wall.noisy {
        return (by_wall, None);
    }
    let of_thread = |round: &Round| {
        let (probes, times) = round.own.clone()?;
        // What others took is not in these times.
        Some(Round { probe: probes[0].min(probes[1]), probes, switched_out: false, times, own: None })
    };
    match rounds.iter().map(of_thread).collect::<Option<Vec<Round>>>() {
        Some(own) => {
            // Reading two clocks is not one act: a single probe may seem far too fast.
            let best = quantile(&own.iter().flat_map(|round| round.probes).collect::<Vec<_>>(), 0.9);
            (Selection { noisy: true, ..select_under(&own, best, floor) }, Some(own))
        }
        None => (by_wall, None),
    }
}

fn select(rounds: &[Round], floor: f64) -> Selection {
    let probes: Vec<f64> = rounds.iter().flat_map(|round| round.probes).collect();
    select_under(rounds, largest(&probes), floor)
}

fn select_under(rounds: &[Round], best: f64, floor: f64) -> Selection {
    let least = best * floor;
    let slow_probe = rounds.iter().filter(|round| round.probe < least).count();
    let switched_out = rounds.iter().filter(|round| round.probe >= least && round.switched_out).count();
    let kept: Vec<usize> =
        (0..rounds.len()).filter(|&index| rounds[index].probe >= least && !rounds[index].switched_out).collect();
    let needed = LEAST_KEPT.max((rounds.len() as f64 * LEAST_KEPT_SHARE) as usize);
    if kept.len() >= needed {
        return Selection { kept, slow_probe, switched_out, noisy: false, best };
    }
    let kept = best_half((0..rounds.len()).collect(), rounds);
    let dropped: Vec<&Round> =
        (0..rounds.len()).filter(|index| !kept.contains(index)).map(|index| &rounds[index]).collect();
    let slow_probe = dropped.iter().filter(|round| round.probe < least).count();
    Selection { kept, slow_probe, switched_out: dropped.len() - slow_probe, noisy: true, best }
}

/// The half of the given rounds, rounded up, that is best: not switched out before switched out, then by probe;
/// ascending by index. A lower clock leaves ratios inside a round right, a foreign time slice does not.
fn best_half(mut indices: Vec<usize>, rounds: &[Round]) -> Vec<usize> {
    indices.sort_by(|&a, &b| {
        let (one, other) = (&rounds[a], &rounds[b]);
        one.switched_out.cmp(&other.switched_out).then(other.probe.total_cmp(&one.probe)).then(a.cmp(&b))
    });
    indices.truncate(indices.len().div_ceil(2));
    indices.sort_unstable();
    indices
}

fn evaluate_one(
    index: usize,
    contender: &Contender<'_>,
    share: &Share,
    rounds: &[Round],
    kept: &[usize],
    baseline: usize,
) -> MeasureRow {
    let took_part = |round: &&usize| rounds[**round].times[index].is_some();
    let mut own: Vec<usize> = kept.iter().filter(took_part).copied().collect();
    let from_dropped_rounds = own.is_empty();
    if from_dropped_rounds {
        let all: Vec<usize> = (0..rounds.len()).collect();
        own = best_half(all.iter().filter(took_part).copied().collect(), rounds);
    }
    let times: Vec<f64> = own.iter().filter_map(|&round| rounds[round].times[index]).collect();
    let ratios: Vec<f64> =
        own.iter().filter_map(|&round| Some(rounds[round].times[baseline]? / rounds[round].times[index]?)).collect();
    let peaks = |flops: f64| -> Vec<f64> {
        own.iter().zip(&times).map(|(&round, time)| flops / time * 1e-9 / largest(&rounds[round].probes)).collect()
    };
    let middle = median(&times);
    MeasureRow {
        name: contender.name.clone(),
        calls_per_round: share.calls,
        rounds: own.len(),
        slow: share.slow,
        from_dropped_rounds,
        best: times.iter().copied().fold(f64::INFINITY, f64::min),
        median: middle,
        gflops: contender.flops.map(|flops| flops / middle * 1e-9),
        of_peak: contender.flops.and_then(|flops| interval(&peaks(flops))),
        ratio: interval(&ratios),
        modes: modes(&times),
        counted: own,
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(probes: [f64; 2], switched_out: bool, times: &[Option<f64>]) -> Round {
        Round { probe: probes[0].min(probes[1]), probes, switched_out, times: times.to_vec(), own: None }
    }

    fn plan_of(slow: &[bool]) -> Plan {
        let share = |&slow: &bool| Share { calls: 1, slow, rounds: 3 };
        Plan { rounds: 8, until: Instant::now(), shortened: false, contenders: slow.iter().map(share).collect() }
    }

    fn two_contenders() -> [Contender<'static>; 2] {
        [Contender::new("base", Some(1e9), || {}), Contender::new("ours", None, || {})]
    }

    #[test]
    fn rounds_are_dropped_for_a_slow_probe_or_a_switch() {
        let good = || round([100.0, 99.0], false, &[]);
        let rounds = [
            good(),
            round([100.0, 96.0], false, &[]),
            round([99.0, 99.0], true, &[]),
            good(),
            round([50.0, 100.0], true, &[]),
            good(),
        ];
        let selection = select(&rounds, 0.97);
        assert_eq!(selection.kept, [0, 3, 5]);
        assert_eq!((selection.slow_probe, selection.switched_out, selection.noisy), (2, 1, false));
    }

    #[test]
    fn a_noisy_machine_keeps_the_better_half() {
        let probes = [100.0, 60.0, 90.0, 70.0, 80.0];
        let rounds_with = |switched: usize| -> Vec<Round> {
            let of = |(i, &probe): (usize, &f64)| round([probe, probe], i == switched, &[]);
            probes.iter().enumerate().map(of).collect()
        };
        let selection = select(&rounds_with(9), 0.97);
        assert!(selection.noisy);
        assert_eq!(selection.kept, [0, 2, 4]);
        assert_eq!(selection.slow_probe, 2);
        assert_eq!(select(&rounds_with(2), 0.97).kept, [0, 3, 4]);
    }

    #[test]
    fn a_busy_machine_is_measured_by_the_threads_own_time() {
        // Half of the wall's time went to others, more in one contender than in the other. One probe is a glitch.
        let after = |n: usize| match n {
            1 => 900.0,
            2 => 50.0,
            _ => 99.0,
        };
        let busy = |n: usize| Round {
            own: Some(([100.0, after(n)], vec![Some(1.0), Some(0.5)])),
            ..round([40.0, 50.0 + n as f64], true, &[Some(3.0), Some(0.75)])
        };
        let rounds: Vec<Round> = (0..8).map(busy).collect();
        let options = MeasureOptions::default();
        let report = evaluate(&two_contenders(), &plan_of(&[false, false]), &rounds, &options);
        assert!(report.noisy && report.of_thread);
        assert_eq!((report.rounds_kept, report.dropped_slow_probe), (7, 1));
        assert_eq!((report.rows[0].median, report.rows[1].ratio.unwrap().median), (1.0, 2.0));
        assert_eq!((report.probe.best, report.rounds[0].peak), (100.0, 100.0));
        // A quiet machine has no need of it, and a round without it leaves only the wall's time.
        let quiet: Vec<Round> =
            rounds.iter().map(|r| Round { own: r.own.clone(), ..round([99.0, 99.0], false, &r.times) }).collect();
        let report = evaluate(&two_contenders(), &plan_of(&[false, false]), &quiet, &options);
        assert!(!report.noisy && !report.of_thread && report.rows[0].median == 3.0);
        let mut rounds = rounds;
        rounds[3].own = None;
        let report = evaluate(&two_contenders(), &plan_of(&[false, false]), &rounds, &options);
        assert!(report.noisy && !report.of_thread && report.rows[0].median == 3.0);
    }

    #[test]
    fn ratios_are_taken_inside_rounds() {
        // The machine halves its speed in between: both separate bests are the same, every round says 2.
        let rounds: Vec<Round> = (0..8)
            .map(|i| {
                let speed = if i % 2 == 0 { 1.0 } else { 2.0 };
                round([100.0, 100.0], false, &[Some(0.5 * speed), Some(0.25 * speed)])
            })
            .collect();
        let options = MeasureOptions::default();
        let report = evaluate(&two_contenders(), &plan_of(&[false, false]), &rounds, &options);
        let ratio = report.rows[1].ratio.unwrap();
        assert_eq!((ratio.median, ratio.low, ratio.high), (2.0, 2.0, 2.0));
        assert_eq!(report.rows[0].ratio.unwrap().median, 1.0);
        let modes = report.rows[1].modes.unwrap();
        assert_eq!((modes.low, modes.high, modes.share_low), (0.25, 0.5, 0.5));
        assert_eq!(report.ratio(1, 0), report.rows[1].ratio);
        assert_eq!(report.over_rounds(1, |r| Some(r.peak)).unwrap().median, 100.0);
        assert_eq!(report.over_rounds(2, |r| Some(r.peak)), None);
        assert_eq!(report.rows[0].best, 0.5);
        assert_eq!(report.rows[0].median, 0.75);
        assert!((report.rows[0].gflops.unwrap() - 1.0 / 0.75).abs() < 1e-12);
        assert!((report.rows[0].of_peak.unwrap().high - 0.02).abs() < 1e-12);
        assert_eq!(report.rows[1].gflops, None);
    }

    #[test]
    fn a_slow_contender_without_a_kept_round_is_marked() {
        let fast = || round([100.0, 100.0], false, &[Some(1.0), None]);
        let mut rounds: Vec<Round> = (0..6).map(|_| fast()).collect();
        rounds.push(round([90.0, 90.0], true, &[Some(1.0), Some(4.0)]));
        rounds.push(round([80.0, 80.0], true, &[Some(1.0), Some(8.0)]));
        let options = MeasureOptions::default();
        let report = evaluate(&two_contenders(), &plan_of(&[false, true]), &rounds, &options);
        let slow = &report.rows[1];
        assert!(slow.slow && slow.from_dropped_rounds && !report.noisy);
        assert_eq!((slow.rounds, slow.median, slow.ratio.unwrap().median), (1, 4.0, 0.25));
        assert!(!report.rows[0].from_dropped_rounds);
        assert_eq!(report.rounds_kept, 6);
    }

    #[test]
    fn few_rounds_are_spread_evenly() {
        let share = Share { calls: 1, slow: true, rounds: 3 };
        let rounds: Vec<usize> = (0..31).filter(|&round| share.takes_part(round, 31)).collect();
        assert_eq!(rounds.len(), 3);
        assert!(rounds.windows(2).all(|pair| pair[1] - pair[0] >= 10));
        let all = Share { calls: 1, slow: false, rounds: 31 };
        assert!((0..31).all(|round| all.takes_part(round, 31)));
    }

    #[test]
    fn the_order_is_a_permutation_and_repeatable() {
        let orders = |seed| {
            let mut random = SplitMix(seed);
            let mut order: Vec<usize> = (0..5).collect();
            let orders: Vec<Vec<usize>> = (0..20)
                .map(|_| {
                    random.shuffle(&mut order);
                    order.clone()
                })
                .collect();
            orders
        };
        assert_eq!(orders(1), orders(1));
        assert_ne!(orders(1), orders(2));
        for mut order in orders(3) {
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn a_baseline_that_does_not_exist_is_misuse() {
        let error = measure(&mut [], &mut || 1.0.into(), &MeasureOptions::default()).unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Misuse);
    }
}
