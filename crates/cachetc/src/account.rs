//! `cachetc account`: how often each operation runs, what it reads, writes and computes, and what that comes to.

use crate::{ErrorFormat, OK, REFUSED, UNABLE, json, terminal};
use cachet::pipeline::Outcome;
use cachet::world::World;
use cachet_account::account::{Account, Mode, Operation, Place, What, account};
use cachet_account::count::{Count, Values};
use cachet_account::hint::hint;
use cachet_account::limits::{Limit, limits};
use cachet_account::reuse::fetched;
use cachet_core::ir::{Fun, FunId, Program};
use cachet_machine::platform::Platform;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What to print.
pub struct Options {
    /// Numbers for sizes.
    pub at: Option<String>,
    /// Whether blocks count as they are.
    pub exact: bool,
    /// For tools.
    pub json: bool,
}

/// Prints what was asked for.
pub fn run(file: &str, name: Option<&str>, options: &Options, format: ErrorFormat) -> u8 {
    let outcome = terminal::checked(file);
    terminal::report(outcome, format);
    let sizes = match options.at.as_deref().map(sizes).transpose() {
        Ok(sizes) => sizes,
        Err(problem) => {
            terminal::unable(format, &problem, Some("sizes are given like `--at M=1024,N=1024`"));
            return UNABLE;
        }
    };
    let wanted = match wanted(outcome, name) {
        Ok(wanted) => wanted,
        Err(_) if outcome.refused() => return REFUSED,
        Err((problem, help)) => {
            terminal::unable(format, &problem, Some(&help));
            return UNABLE;
        }
    };
    let mode = if options.exact { Mode::Exact } else { Mode::Full };
    let program = outcome.checked.program();
    let fun = |id: &FunId| &program.funs[id.index()];
    let accounts: Vec<Account> = at_once(&wanted, &|id| account(program, fun(id), mode));
    let platform = outcome.platform.clone().or_else(|| cachet_frontend::platform(file, terminal::disk().files()));
    let asked: Vec<(&Account, &FunId)> = accounts.iter().zip(&wanted).collect();
    let shown = at_once(&asked, &|(a, id)| {
        let shown = Shown::new(a, sizes.as_ref(), name.is_some())?;
        Ok(shown.on(platform.as_ref(), program, fun(id)).hinted(program, fun(id)))
    });
    let mut found = Vec::new();
    for s in shown {
        match s {
            Ok(s) => found.push(s),
            Err((problem, help)) => {
                terminal::unable(format, &problem, Some(&help));
                return UNABLE;
            }
        }
    }
    if options.json {
        let items: Vec<Value> = found.iter().map(Shown::json).collect();
        terminal::say(&json!({ "items": items, "problems": json::diagnostics(outcome) }).to_string());
    } else {
        let parts: Vec<String> = found.iter().map(Shown::text).collect();
        terminal::say(&parts.join("\n"));
    }
    if outcome.refused() { REFUSED } else { OK }
}

/// A thread's share of functions is worth its start from here on.
const SHARE: usize = 2;

/// What a function makes of each, in their order, on several threads.
fn at_once<'a, T: Sync, R: Send>(of: &'a [T], f: &(dyn Fn(&'a T) -> R + Sync)) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(of.len() / SHARE);
    let next = AtomicUsize::new(0);
    let share = || {
        let mut out = Vec::new();
        while let Some((n, x)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, of.get(n)?))) {
            out.push((n, f(x)));
        }
        out
    };
    let mut all: Vec<(usize, R)> = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().stack_size(terminal::STACK).spawn_scoped(scope, share).ok();
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        let mut all = share();
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    all.sort_by_key(|(n, _)| *n);
    all.into_iter().map(|(_, r)| r).collect()
}

/// A message and what would help.
pub type Problem = (String, String);

/// The functions that are asked for, of those that were accepted.
pub fn wanted(outcome: &Outcome, name: Option<&str>) -> Result<Vec<FunId>, Problem> {
    let accepted = outcome.items().into_iter().filter(|id| outcome.checked.accepts(*id));
    let Some(name) = name else { return Ok(accepted.filter(|id| outcome.module.main != Some(*id)).collect()) };
    match outcome.find(name) {
        Some(id) if outcome.checked.accepts(id) => Ok(vec![id]),
        _ => {
            let program = outcome.checked.program();
            let known: Vec<&str> = accepted.map(|i| program.funs[i.index()].name.as_str()).collect();
            Err((
                format!("the file has nothing named `{name}` that was accepted"),
                format!("it has {}", known.join(", ")),
            ))
        }
    }
}

/// `M=1024,N=1024`
pub fn sizes(text: &str) -> Result<BTreeMap<String, i128>, String> {
    let mut out = BTreeMap::new();
    for part in text.split(',') {
        let Some((name, value)) = part.split_once('=') else { return Err(format!("`{part}` gives no size a number")) };
        let value: i64 = value.trim().parse().map_err(|_| format!("`{}` is not a size", value.trim()))?;
        if !(0..=cachet_core::ir::MAX_DIM).contains(&value) {
            return Err(format!("a size is from 0 to 2^40, and `{value}` is not"));
        }
        if out.insert(name.trim().to_string(), value.into()).is_some() {
            return Err(format!("the size `{}` is given twice", name.trim()));
        }
    }
    Ok(out)
}

/// An account, and numbers for its sizes if they are wanted.
struct Shown<'a> {
    account: &'a Account,
    /// What would move less.
    hint: Option<String>,
    values: Option<Values>,
    /// The platform's name, and what bounds the function there.
    limits: Option<(String, Vec<Limit>)>,
}

impl<'a> Shown<'a> {
    /// With sizes by name. Of one function all have to be its own; of a whole file each takes those that it has.
    fn new(account: &'a Account, sizes: Option<&BTreeMap<String, i128>>, alone: bool) -> Result<Shown<'a>, Problem> {
        let Some(sizes) = sizes else { return Ok(Shown { account, hint: None, values: None, limits: None }) };
        let known: Vec<&str> = account.sizes.iter().chain(&account.open).map(|(name, _)| name.as_str()).collect();
        let list = format!("its sizes are {}", known.join(", "));
        if let (true, Some(other)) = (alone, sizes.keys().find(|k| !known.contains(&k.as_str()))) {
            return Err((format!("`{}` has no size `{other}`", account.name), list));
        }
        let mut values = Values::new();
        for (name, v) in &account.sizes {
            match sizes.get(name) {
                Some(n) => {
                    values.insert(*v, *n);
                }
                None => return Err((format!("no number is given for the size `{name}` of `{}`", account.name), list)),
            }
        }
        // What an open type's values take need not be said; what depends on it has no number then.
        values.extend(account.open.iter().filter_map(|(name, v)| Some((*v, *sizes.get(name)?))));
        Ok(Shown { account, hint: None, values: Some(values), limits: None })
    }

    /// With a change that would move less.
    fn hinted(mut self, program: &Program, fun: &Fun) -> Shown<'a> {
        self.hint = hint(program, fun, self.values.as_ref());
        self
    }

    /// With what bounds it on a machine. That takes numbers for all sizes.
    fn on(mut self, platform: Option<&Platform>, program: &Program, fun: &Fun) -> Shown<'a> {
        let none = Values::new();
        let values = self.values.as_ref().or_else(|| self.account.sizes.is_empty().then_some(&none));
        if let (Some(p), Some(values)) = (platform, values) {
            let fetched = fetched(program, fun, values, p);
            self.limits = limits(self.account, values, p, fetched.as_deref())
                .filter(|l| !l.is_empty())
                .map(|l| (p.name.clone(), l));
        }
        self
    }

    /// A count as text: its number if there are numbers for the sizes, else in the sizes.
    fn count(&self, c: &Count) -> String {
        match self.value(c) {
            Some(n) => n.to_string(),
            None => c.text(&|v| self.account.name_of(v)),
        }
    }

    fn value(&self, c: &Count) -> Option<i128> {
        self.values.as_ref().and_then(|v| c.value(v))
    }

    fn text(&self) -> String {
        let mut out = format!("{}\n  operations\n", self.account.name);
        for o in &self.account.operations {
            out.push_str(&self.operation(o));
        }
        if self.account.operations.is_empty() {
            out.push_str("    none\n");
        }
        let total = self.account.total();
        let levels = levels(&total);
        if !levels.is_empty() {
            out.push_str("  levels\n");
        }
        for (level, (read, written)) in &levels {
            out.push_str(&format!("    {level}  reads {}; writes {}\n", self.count(read), self.count(written)));
        }
        let work = self.row(&total, &|w| matches!(w, What::Work(_)));
        if !work.is_empty() {
            out.push_str(&format!("  in all\n    {work}\n"));
        }
        if let Some((platform, limits)) = &self.limits {
            out.push_str(&format!("  cycles on one core of {platform}, for each part as if it were all\n"));
            let wide = limits.iter().map(|l| l.part.len()).max().unwrap_or(0);
            for l in limits {
                out.push_str(&format!("    {:wide$}  {:.0}\n", l.part, l.cycles.ceil()));
            }
            out.push_str(&format!("  bound by {}\n", limits[0].part));
        }
        if let Some(hint) = &self.hint {
            out.push_str(&format!("  hint: {hint}\n"));
        }
        out.push_str(if self.account.exact {
            "  counted exactly\n"
        } else {
            "  counted in full blocks: an upper bound; --exact counts what is left over\n"
        });
        out
    }

    fn operation(&self, o: &Operation) -> String {
        let mut out = format!("    {}  {}  x {}", o.kind, o.device, self.count(&o.times));
        if !o.over.is_empty() {
            out.push_str(&format!("  over {}", o.over.join(", ")));
        }
        if !o.within.is_empty() {
            out.push_str(&format!("  in {}", o.within.join(", ")));
        }
        let (of, differs) = match &o.each {
            Some(each) => (each, ""),
            None => (&o.total, "in all "),
        };
        let row = self.row(of, &|_| true);
        if row.is_empty() { out + "\n" } else { format!("{out}\n      {differs}{row}\n") }
    }

    /// `reads b 512; writes packB 512; work fma 2048, splat 256`
    fn row(&self, of: &BTreeMap<What, Count>, wanted: &dyn Fn(&What) -> bool) -> String {
        let of = || of.iter().filter(|(w, _)| wanted(w));
        let list = |parts: Vec<String>| parts.join(", ");
        let read = of().filter_map(|(w, n)| match w {
            What::Read(p) => Some(format!("{} {}", p.name, self.count(n))),
            _ => None,
        });
        let written = of().filter_map(|(w, n)| match w {
            What::Written(p) => Some(format!("{} {}", p.name, self.count(n))),
            _ => None,
        });
        let rows = [("reads", read.collect::<Vec<_>>()), ("writes", written.collect()), ("work", self.work(of()))];
        let rows = rows.into_iter().filter(|(_, parts)| !parts.is_empty());
        rows.map(|(word, parts)| format!("{word} {}", list(parts))).collect::<Vec<_>>().join("; ")
    }

    /// Work by kind, the most first as far as numbers say so.
    fn work<'b>(&self, of: impl Iterator<Item = (&'b What, &'b Count)>) -> Vec<String> {
        let mut all: Vec<(&str, &Count)> = of
            .filter_map(|(w, n)| match w {
                What::Work(name) => Some((name.as_str(), n)),
                _ => None,
            })
            .collect();
        let number = |n: &Count| self.value(n).or_else(|| n.literal().map(|r| r.floor())).unwrap_or(0);
        all.sort_by_key(|(name, n)| (std::cmp::Reverse(number(n)), *name == "splat"));
        all.into_iter().map(|(name, n)| format!("{name} {}", self.count(n))).collect()
    }

    fn json(&self) -> Value {
        let a = self.account;
        let operations: Vec<Value> = a.operations.iter().map(|o| self.operation_json(o)).collect();
        let total = a.total();
        let levels: Vec<Value> = levels(&total)
            .iter()
            .map(|(level, (read, written))| json!({ "level": level, "reads": self.count_json(read), "writes": self.count_json(written) }))
            .collect();
        json!({
            "name": a.name,
            "exact": a.exact,
            "sizes": a.sizes.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            "operations": operations,
            "levels": levels,
            "work": self.work_json(&total),
            "hint": self.hint,
            "platform": self.limits.as_ref().map(|(name, _)| name),
            "limits": self.limits.as_ref().map(|(_, limits)| {
                let one = |l: &Limit| json!({ "part": l.part, "cycles": l.cycles });
                limits.iter().map(one).collect::<Vec<_>>()
            }),
        })
    }

    fn count_json(&self, c: &Count) -> Value {
        let text = c.text(&|v| self.account.name_of(v));
        match self.value(c) {
            // Numbers beyond what readers of JSON hold exactly are texts.
            Some(n) if n.unsigned_abs() < 1 << 53 => json!({ "count": text, "number": n as i64 }),
            Some(n) => json!({ "count": text, "number": n.to_string() }),
            None => json!({ "count": text }),
        }
    }

    fn operation_json(&self, o: &Operation) -> Value {
        json!({
            "kind": o.kind,
            "device": o.device,
            "over": o.over,
            "within": o.within,
            "times": self.count_json(&o.times),
            "each": o.each.as_ref().map(|e| self.rows_json(e)),
            "total": self.rows_json(&o.total),
        })
    }

    fn rows_json(&self, of: &BTreeMap<What, Count>) -> Value {
        let moved = |p: &Place, n: &Count| {
            let mut row = self.count_json(n);
            row["buffer"] = json!(p.name);
            row["level"] = json!(p.level);
            row
        };
        let (mut read, mut written) = (Vec::new(), Vec::new());
        for (w, n) in of {
            match w {
                What::Read(p) => read.push(moved(p, n)),
                What::Written(p) => written.push(moved(p, n)),
                What::Work(_)
                | What::Issued { .. }
                | What::Load(_)
                | What::Store(_)
                | What::Chained { .. }
                | What::Along(_)
                | What::Same(_) => {}
            }
        }
        json!({ "reads": read, "writes": written, "work": self.work_json(of) })
    }

    fn work_json(&self, of: &BTreeMap<What, Count>) -> Value {
        let rows = of.iter().filter_map(|(w, n)| match w {
            What::Work(name) => {
                let mut row = self.count_json(n);
                row["operation"] = json!(name);
                Some(row)
            }
            What::Read(_)
            | What::Written(_)
            | What::Issued { .. }
            | What::Load(_)
            | What::Store(_)
            | What::Along(_)
            | What::Same(_)
            | What::Chained { .. } => None,
        });
        rows.collect()
    }
}

/// Bytes read and written at each level, by its name.
fn levels(total: &BTreeMap<What, Count>) -> BTreeMap<String, (Count, Count)> {
    let mut out: BTreeMap<String, (Count, Count)> = BTreeMap::new();
    for (what, n) in total {
        match what {
            What::Read(p) => {
                let at = out.entry(p.level.clone()).or_default();
                at.0 = at.0.plus(n);
            }
            What::Written(p) => {
                let at = out.entry(p.level.clone()).or_default();
                at.1 = at.1.plus(n);
            }
            What::Work(_)
            | What::Issued { .. }
            | What::Load(_)
            | What::Store(_)
            | What::Chained { .. }
            | What::Along(_)
            | What::Same(_) => {}
        }
    }
    out
}
