//! Accounts, budgets and caches of drawn functions: is what is counted in sizes what happens, and is nothing accepted that
//! keeps or moves more than it says?
//!
//! Each module keeps arrays in two small caches. Counts in sizes are compared with runs at small sizes, one access after
//! another; declared rows are what leases make, or changed; caches have numbers on both sides of where a function begins to
//! fit. What is accepted is run with its arrays at several places, in caches that forget what was not used for longest.

use crate::generate::leases::{Drawn, FUNCTIONS, draw};
use crate::kept::{Places, Seen, run as seen_at};
use crate::memory::{Memory, ROOT, checked, loaded};
use crate::mutate::budgets;
use crate::population::{Population, Report, Share};
use crate::random::Random;
use cachet_account::account::{Mode, What, account};
use cachet_account::cache::{Cache, Geometry};
use cachet_account::count::Values;
use cachet_account::resources::{made, within};
use cachet_account::reuse::lines;
use cachet_account::trace::{Event, follow};
use cachet_core::ir::{Fun, Program};
use cachet_core::print::Names;
use cachet_core::resources::{Cost, Keep, Resources, Traffic};
use cachet_core::sized::value;
use cachet_machine::platform::Platform;
use std::collections::{BTreeMap, BTreeSet};

/// Counts and caches.
pub const DRAWN: Population = Population {
    promise: "P11",
    name: "accounts and caches of drawn functions",
    never: "a count is not what happens, or a cache loses what a function was accepted to keep there",
    counts: [500, 5000],
    drawn: true,
    run: drawn,
};

/// Changed budgets.
pub const CHANGED: Population = Population {
    promise: "P11",
    name: "changed budgets, caches and sizes",
    never: "a function is accepted that moves more than it declares, or keeps more than fits",
    counts: [600, 6000],
    drawn: true,
    run: changed,
};

/// What sizes are compared at.
const SIZES: [i64; 9] = [0, 1, 2, 3, 4, 5, 7, 8, 11];
/// Choices of sizes of a function.
const CHOICES: usize = 5;
/// Accesses and iterations that a cache is given at most.
const MOST_EVENTS: u64 = 200_000;
/// Draws for a module that declares something.
const DRAWS: usize = 6;
/// Sets of caches that are tried, from none.
const MOST_SETS: i64 = 40;

fn drawn(share: Share) -> Report {
    let mut report = Report::default();
    for n in 0..share.count {
        let mut random = Random::case(share.seed, n);
        let mut drawn = draw(&mut random);
        report.cases += 1;
        declare(&mut drawn);
        let text = drawn.text();
        let outcome =
            try_counts(&text, &mut random, &mut report).and_then(|()| at_the_boundary(&text, &mut random, &mut report));
        if let Err(what) = outcome {
            report.fail(what, text);
        }
    }
    let cases = report.cases;
    report.at_least("counts compared", report.counted("counts compared"), 20 * cases);
    report.at_least_percent("functions accepted", report.counted("accepted"), 50, 3 * cases);
    report.at_least("rows compared with leases", report.counted("rows"), cases);
    report.at_least_percent("rows that are equal", report.counted("rows that are equal"), 40, report.counted("rows"));
    let fetches = report.counted("fetches compared");
    report.at_least("fetches compared", fetches, 3 * cases);
    report.at_least_percent("fetches that are equal", report.counted("fetches that are equal"), 20, fetches);
    report.at_least_percent(
        "fetches of a cache that is too small",
        report.counted("fetches of a cache that is too small"),
        15,
        fetches,
    );
    report.at_least("lines brought to caches", report.counted("lines brought"), 20 * cases);
    report.at_least("caches that just suffice", report.counted("just enough"), cases / 4);
    report.at_least("caches that do not", report.counted("one set less"), cases / 4);
    report.at_least(
        "caches that lose lines where it is refused",
        report.counted("refused, and lines are lost"),
        cases / 20,
    );
    report
}

fn changed(share: Share) -> Report {
    let mut report = Report::default();
    for n in 0..share.count {
        let mut random = Random::case(share.seed, n);
        let mut case = draw(&mut random);
        declare(&mut case);
        for _ in 0..DRAWS {
            if case.clauses.iter().any(|c| c.contains("traffic")) {
                break;
            }
            case = draw(&mut random);
            declare(&mut case);
        }
        let what = budgets::change(&mut case, &mut random);
        let text = case.text();
        report.cases += 1;
        report.count(what);
        if let Err(why) = try_changed(&text, &mut random, &mut report) {
            report.fail(format!("{what}: {why}"), text);
        }
    }
    let cases = report.cases;
    report.at_least_percent("false and refused", report.counted("false, refused"), 25, cases);
    report.at_least_percent("functions accepted and true", report.counted("true, accepted"), 20, 3 * cases);
    let declared = ["a cache", "a factor of a row", "a name of a row", "a number of a row", "a row", "a way back"];
    let of_these = declared.iter().map(|what| report.counted(what)).sum();
    report.at_least("budgets, working sets, costs and caches changed", of_these, cases / 2);
    for what in
        ["a cache", "a factor of a row", "a name of a row", "a number of a row", "a row", "a size", "a way back"]
    {
        report.at_least(what, report.counted(what), cases / 100);
    }
    report
}

/// Writes what each function's leases keep and move under its header.
fn declare(drawn: &mut Drawn) {
    let text = drawn.text();
    let module = loaded(&text);
    let Some(platform) = platform(&text) else { panic!("no platform in\n{text}") };
    for (n, name) in FUNCTIONS.iter().enumerate() {
        let Some(fun) = module.program.funs.iter().find(|f| f.name == *name) else { panic!("no {name} in\n{text}") };
        let resources = made(&module.program, fun, &platform);
        drawn.clauses[n] = written(&resources, &Names::of(&module.program, fun));
    }
}

fn written(of: &Resources, names: &Names<'_>) -> String {
    let mut out = String::new();
    if !of.keeps.is_empty() {
        out.push_str("\nworking_set\n");
    }
    for rows in of.keeps.chunk_by(|a, b| a.level == b.level) {
        let one = |k: &Keep| format!("keep {} = descriptor {}", k.name, names.buffer(k.buffer));
        let keeps: Vec<String> = rows.iter().map(one).collect();
        out.push_str(&format!("  @{} {{ {} }}\n", rows[0].level.name, keeps.join(", ")));
    }
    if let Some(rows) = of.movement.as_ref().filter(|rows| !rows.is_empty()) {
        out.push_str(if of.keeps.is_empty() { "\nmovement\n" } else { "movement\n" });
        for r in rows {
            let back = if r.back { " and back" } else { "" };
            out.push_str(&format!("  traffic {} from {} to {}{back}\n", r.amount.text(names), r.from.name, r.to.name));
        }
    }
    if out.is_empty() { "\n".into() } else { out }
}

fn platform(text: &str) -> Option<Platform> {
    cachet_frontend::platform(ROOT, &Memory::text(text))
}

/// Its caches as they are described.
fn caches(platform: &Platform) -> BTreeMap<String, Geometry> {
    platform.levels.iter().filter_map(|l| Some((l.name.clone(), Geometry::of_part(l)?))).collect()
}

/// Sizes that a function's requirements admit.
fn sizes(program: &Program, fun: &Fun, random: &mut Random) -> Option<Vec<i64>> {
    let tried = (0..8).map(|_| fun.sizes.iter().map(|_| random.pick(&SIZES)).collect::<Vec<_>>());
    tried.into_iter().find(|sizes| admitted(program, fun, sizes))
}

fn admitted(_: &Program, fun: &Fun, sizes: &[i64]) -> bool {
    let of = |v| fun.sizes.iter().position(|s| *s == v).map(|n| sizes[n]);
    fun.requires.iter().all(|g| cachet_core::sized::holds(g, &of) == Some(true))
}

/// Counts in sizes beside runs.
fn try_counts(text: &str, random: &mut Random, report: &mut Report) -> Result<(), String> {
    let outcome = checked(text);
    let program = outcome.checked.program();
    let platform = platform(text).ok_or("no platform")?;
    let caches = caches(&platform);
    for d in outcome.diagnostics.iter().filter(|d| d.refuses()) {
        report.count(&format!("refused: {}", d.code.0));
        if d.code != cachet_source::codes::RESOURCES {
            return Err(format!("what is drawn is not well-formed: {}", d.message));
        }
    }
    for id in &outcome.module.items {
        let fun = &program.funs[id.index()];
        let accepted = outcome.checked.accepts(*id);
        report.add("accepted", accepted.into());
        for _ in 0..CHOICES {
            let Some(sizes) = sizes(program, fun, random) else { continue };
            let at = |what: String| format!("{} at {sizes:?}: {what}", fun.name);
            let Ok(seen) = seen_at(program, fun, &sizes, &caches, Places::Lines) else { continue };
            counts_are(program, fun, &sizes, &seen, report).map_err(at)?;
            rows_are(program, fun, &sizes, &seen, &platform, report).map_err(at)?;
            fetches_are(program, fun, &sizes, random, report).map_err(at)?;
            report.add("lines brought", seen.lines);
            if let (true, Some(what)) = (accepted && bounded(fun), &seen.lost) {
                return Err(at(what.clone()));
            }
        }
    }
    Ok(())
}

/// Whether what it keeps is bounded by itself: otherwise it is asked of its callers.
fn bounded(fun: &Fun) -> bool {
    fun.sizes.is_empty() || !fun.requires.is_empty()
}

fn counts_are(program: &Program, fun: &Fun, sizes: &[i64], seen: &Seen, report: &mut Report) -> Result<(), String> {
    let values: Values = fun.sizes.iter().copied().zip(sizes.iter().map(|n| i128::from(*n))).collect();
    for mode in [Mode::Exact, Mode::Full] {
        let a = account(program, fun, mode);
        let exact = mode == Mode::Exact || a.exact;
        let mut counted: BTreeMap<(&str, String, String), i128> = BTreeMap::new();
        for (what, n) in a.total() {
            let key = match what {
                What::Read(p) => ("read", p.name, p.level),
                What::Written(p) => ("written", p.name, p.level),
                What::Work(op) if op != "splat" => ("work", op, String::new()),
                What::Work(_)
                | What::Issued { .. }
                | What::Load(_)
                | What::Store(_)
                | What::Chained { .. }
                | What::Along(_)
                | What::Same(_) => continue,
            };
            let n = n.value(&values).ok_or_else(|| format!("{key:?} has no value"))?;
            *counted.entry(key).or_default() += n;
        }
        let moved = |word, all: &BTreeMap<(String, String), u64>| {
            let row = move |((name, level), n): (&(String, String), &u64)| ((word, name.clone(), level.clone()), *n);
            all.iter().map(row).collect::<Vec<_>>()
        };
        let work = seen.work.iter().map(|(op, n)| (("work", op.clone(), String::new()), *n));
        let all: BTreeMap<_, u64> =
            moved("read", &seen.read).into_iter().chain(moved("written", &seen.written)).chain(work).collect();
        let keys: BTreeSet<_> = all.keys().chain(counted.keys()).collect();
        for key in keys {
            report.count("counts compared");
            let happens = i128::from(all.get(key).copied().unwrap_or(0));
            let n = counted.get(key).copied().unwrap_or(0);
            if if exact { n != happens } else { n < happens } {
                return Err(format!("{mode:?} {key:?}: {n} counted, and {happens} happen"));
            }
        }
    }
    Ok(())
}

/// What a cache that keeps what was used last may have to fetch, beside what one fetches.
fn fetches_are(
    program: &Program,
    fun: &Fun,
    sizes: &[i64],
    random: &mut Random,
    report: &mut Report,
) -> Result<(), String> {
    let values: Values = fun.sizes.iter().copied().zip(sizes.iter().map(|n| i128::from(*n))).collect();
    let (line, capacity) = (random.pick(&[8u64, 16, 64]), random.pick(&[1u64, 2, 4, 6, 9, 16, 24, 40, 80]));
    let Some(most) = lines(program, fun, &values, (capacity, line)) else {
        report.count("fetches without a number");
        return Ok(());
    };
    let Some(shape) = Geometry::new(capacity * line, line, None) else { return Ok(()) };
    let mut cache = Cache::new(shape);
    let (mut starts, mut next) = (Vec::new(), 0u64);
    let done = follow(program, fun, &[], sizes, MOST_EVENTS, &mut |event| match event {
        Event::Made { array, bytes, .. } => {
            starts.resize(array + 1, next);
            next = (next + bytes).next_multiple_of(line);
        }
        Event::Touched(t) => {
            let first = starts[t.array] + t.offset;
            (first / line..=(first + t.bytes.max(1) - 1) / line).for_each(|l| {
                cache.touch(l * line);
            });
        }
        Event::Gone { .. } | Event::Leased { .. } | Event::Ended { .. } | Event::Done(_) => {}
    });
    if done.is_err() {
        return Ok(());
    }
    let counted = cache.counted();
    report.count("fetches compared");
    report.add("fetches that are equal", (counted.missed as f64 == most).into());
    report.add("fetches of a cache that is too small", (counted.missed as f64 > 0.0 && most > capacity as f64).into());
    match counted.missed as f64 > most {
        true => Err(format!(
            "{} lines are fetched by a cache of {capacity} lines of {line}, and {most} were the most",
            counted.missed
        )),
        false => Ok(()),
    }
}

/// What its leases make, declared or not, beside what they move.
fn rows_are(
    program: &Program,
    fun: &Fun,
    sizes: &[i64],
    seen: &Seen,
    platform: &Platform,
    report: &mut Report,
) -> Result<(), String> {
    let mut without = fun.clone();
    without.resources = Resources::default();
    let Some(rows) = made(program, &without, platform).movement else { return Ok(()) };
    let happens = by_source(seen.leased.iter(), platform);
    moves_within(fun, sizes, &rows, &happens, platform)?;
    for ((from, to), [in_, _]) in &seen.moved {
        let most = seen.leased.get(&(from.clone(), to.clone())).map_or(0, |l| l[0]);
        // A cache that is too small brings lines more than once; that is its callers' business.
        if *in_ > most && seen.lost.is_none() {
            return Err(format!("{in_} lines come from {from} to {to}, and leases have {most}"));
        }
    }
    for (from, [n, _]) in &happens {
        report.count("rows");
        let declared = declared(fun, sizes, &rows, platform, |r| r.from.name == *from);
        report.add("rows that are equal", (declared == Some(i128::from(*n))).into());
    }
    Ok(())
}

/// Bytes that move from each level, and back to it.
fn by_source<'a>(
    all: impl Iterator<Item = (&'a (String, String), &'a [u64; 2])>,
    platform: &Platform,
) -> BTreeMap<String, [u64; 2]> {
    let mut out: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for ((from, to), lines) in all {
        let line = line(platform, from, to) as u64;
        let row = out.entry(from.clone()).or_default();
        row[0] += lines[0] * line;
        row[1] += lines[1] * line;
    }
    out
}

fn line(platform: &Platform, from: &str, to: &str) -> i64 {
    let of = |level| platform.number("line", &[level], None).ok();
    of(to).or_else(|| of(from)).unwrap_or(1)
}

/// That rows declare at least what happens.
fn moves_within(
    fun: &Fun,
    sizes: &[i64],
    rows: &[Traffic],
    happens: &BTreeMap<String, [u64; 2]>,
    platform: &Platform,
) -> Result<(), String> {
    for (from, [there, back]) in happens {
        for (n, back) in [(*there, false), (*back, true)] {
            let all = declared(fun, sizes, rows, platform, |r| r.from.name == *from && (r.back || !back));
            let Some(all) = all else { continue };
            if all < i128::from(n) {
                let direction = if back { "back to" } else { "from" };
                return Err(format!("{n} bytes move {direction} {from}, and {all} are declared"));
            }
        }
    }
    Ok(())
}

/// Bytes that rows declare at sizes. `None` where a number is too large.
fn declared(
    fun: &Fun,
    sizes: &[i64],
    rows: &[Traffic],
    platform: &Platform,
    which: impl Fn(&Traffic) -> bool,
) -> Option<i128> {
    let mut out = 0i128;
    for r in rows.iter().filter(|r| which(r)) {
        let line = line(platform, &r.from.name, &r.to.name);
        out = out.checked_add(amount(fun, sizes, &r.amount, line)?.checked_mul(line.into())?)?;
    }
    Some(out)
}

fn amount(fun: &Fun, sizes: &[i64], c: &Cost, line: i64) -> Option<i128> {
    let of = |v| fun.sizes.iter().position(|s| *s == v).map(|n| sizes[n]);
    let two = |a, b| Some((amount(fun, sizes, a, line)?, amount(fun, sizes, b, line)?));
    let up = |n: i128, by: i64| n.div_euclid(by.into()) + i128::from(n.rem_euclid(by.into()) > 0);
    Some(match c {
        Cost::Ix(ix) => value(ix, &of)?.max(0).into(),
        Cost::Ceil(ix, n) => up(value(ix, &of)?.into(), *n).max(0),
        Cost::Add(a, b) => two(a, b).and_then(|(a, b)| a.checked_add(b))?,
        Cost::Mul(a, b) => two(a, b).and_then(|(a, b)| a.checked_mul(b))?,
        Cost::Lines(a) => up(amount(fun, sizes, a, line)?, line),
        Cost::SpanBytes(b) => {
            let info = &fun.buffers[b.index()];
            let extents: Vec<i64> = info.extents.iter().map(|e| value(e, &of)).collect::<Option<_>>()?;
            let bytes: u64 = crate::judge::leaves(&info.elem).iter().map(|e| e.bytes()).sum();
            i128::from(cachet_core::layout::room(&info.layout, &extents)?) * i128::from(bytes)
        }
    })
}

/// Caches of one set after another, until a function fits: what is accepted loses nothing.
fn at_the_boundary(text: &str, random: &mut Random, report: &mut Report) -> Result<(), String> {
    let module = loaded(text);
    let platform = platform(text).ok_or("no platform")?;
    let find = |name: &str| module.program.funs.iter().find(|f| f.name == name);
    let mut outer = find("outer").ok_or("no outer")?.clone();
    outer.resources = Resources::default();
    for level in 0..2 {
        let fits = |sets: i64| within(&module.program, &outer, &with_sets(&platform, level, sets)).is_empty();
        let verdicts: Vec<bool> = (1..MOST_SETS).map(fits).collect();
        let edge = verdicts.iter().position(|v| *v);
        let Some(edge) = edge.filter(|e| *e > 0) else { continue };
        let sets = edge as i64 + 1;
        for sets in [sets, sets - 1, random.between(1, MOST_SETS - 1)] {
            let accepted = verdicts[sets as usize - 1];
            report.count(if accepted { "just enough" } else { "one set less" });
            let caches = caches(&with_sets(&platform, level, sets));
            let places = [Places::Lines, Places::Ends, Places::Drawn(random.next()), Places::Drawn(random.next())];
            let lost = places.iter().find_map(|p| seen_at(&module.program, &outer, &[], &caches, *p).ok()?.lost);
            match (accepted, lost) {
                (true, Some(what)) => return Err(format!("accepted with {sets} sets: {what}")),
                (false, Some(_)) => report.count("refused, and lines are lost"),
                (true, None) | (false, None) => {}
            }
        }
    }
    Ok(())
}

/// A platform with so many sets in one cache, and many in the other.
fn with_sets(platform: &Platform, level: usize, sets: i64) -> Platform {
    let mut out = platform.clone();
    for (n, l) in out.levels.iter_mut().enumerate().take(2) {
        let number = |name: &str| l.fields.iter().find(|f| f.name == name).map_or(1, |f| f.value);
        let set = number("line") * number("ways");
        if let Some(f) = l.fields.iter_mut().find(|f| f.name == "capacity") {
            f.value = set * if n == level { sets } else { 1 << 12 };
        }
    }
    out
}

/// A changed module: what is accepted is true.
fn try_changed(text: &str, random: &mut Random, report: &mut Report) -> Result<(), String> {
    let outcome = checked(text);
    let program = outcome.checked.program();
    let Some(platform) = platform(text) else {
        report.count("no module");
        return Ok(());
    };
    let caches = caches(&platform);
    for id in &outcome.module.items {
        let fun = &program.funs[id.index()];
        let accepted = outcome.checked.accepts(*id);
        let mut fault = None;
        for _ in 0..2 * CHOICES {
            let Some(sizes) = sizes(program, fun, random) else { continue };
            for places in [Places::Lines, Places::Ends, Places::Drawn(random.next())] {
                let Ok(seen) = seen_at(program, fun, &sizes, &caches, places) else { continue };
                let happens = by_source(seen.leased.iter(), &platform);
                let rows = fun.resources.movement.as_deref();
                let moves = rows.map_or(Ok(()), |rows| moves_within(fun, &sizes, rows, &happens, &platform));
                let kept = seen.lost.filter(|_| bounded(fun)).map_or(Ok(()), Err);
                fault = fault.or_else(|| moves.and(kept).err().map(|why| format!("{} at {sizes:?}: {why}", fun.name)));
            }
        }
        match (accepted, fault) {
            (true, Some(why)) => return Err(why),
            (true, None) => report.count("true, accepted"),
            (false, Some(_)) => report.count("false, refused"),
            (false, None) => report.count("refused all the same"),
        }
    }
    Ok(())
}
