//! What do two functions do differently, and which decision makes the difference?
//!
//! Rows of two accounts stand side by side. Where a row differs, the loops around what it counts are compared dimension by
//! dimension: a loop that stands there in one of them only, or goes in other blocks, is the cause, and the step of the
//! schedule from which on it is so has decided it.

use crate::account::{Mode, What, account};
use crate::around::{Around, How, Touch, touches};
use crate::count::{Atom, Count, Values};
use crate::resources::{Platform, root, rows_in_bytes, span_at};
use crate::stages::stages;
use cachet_core::ir::{Fun, Program, Var};
use std::collections::{BTreeMap, BTreeSet};

/// One of two functions.
#[derive(Clone)]
pub struct Side<'a> {
    /// Where it is.
    pub program: &'a Program,
    /// The function.
    pub fun: &'a Fun,
    /// If a schedule made it: each step as written, and the function after it.
    pub steps: Vec<(String, &'a Fun)>,
}

/// What a row counts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Row {
    /// Bytes that leases move.
    Moved {
        /// The array.
        name: String,
        /// From this level.
        from: String,
        /// To this one.
        to: String,
        /// Whether they come back.
        back: bool,
    },
    /// Bytes read there.
    Read {
        /// The level.
        level: String,
        /// The array.
        name: String,
    },
    /// Bytes written there.
    Written {
        /// The level.
        level: String,
        /// The array.
        name: String,
    },
    /// Bytes that stay in a level for a while.
    Kept {
        /// The level.
        level: String,
        /// The array.
        name: String,
    },
    /// How often a group's own array is filled or changed by a stage.
    Filled {
        /// The level.
        level: String,
        /// The array.
        name: String,
    },
    /// How often groups wait.
    Barriers,
    /// Operations.
    Work(String),
}

/// A row of which the two have different numbers.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The row.
    pub row: Row,
    /// Its counts; nothing where one does not have it.
    pub counts: [Count; 2],
    /// What makes the difference, in words: what, and what is to be said of it.
    pub causes: Vec<Vec<String>>,
}

/// Two functions side by side.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What differs.
    pub differences: Vec<Difference>,
    /// How many rows are the same.
    pub same: usize,
    /// How many differ by no more than what rounding up to whole blocks adds.
    pub rounded: usize,
    /// What variables of the counts are called: sizes of one name are one.
    pub names: Vec<String>,
}

/// Compares two functions.
pub fn compare(sides: &[Side<'_>; 2], platform: Option<&Platform>) -> Comparison {
    let mut names: Vec<String> = Vec::new();
    let all: Vec<BTreeMap<Row, Count>> = sides
        .iter()
        .map(|s| rows(s, platform).into_iter().map(|(r, c)| (r, renamed(&c, s.fun, &mut names))).collect())
        .collect();
    let zero = Count::zero();
    let of = |n: usize, r: &Row| all[n].get(r).unwrap_or(&zero);
    let keys: BTreeSet<&Row> = all.iter().flat_map(BTreeMap::keys).collect();
    let (same, differ): (Vec<&Row>, Vec<&Row>) = keys.into_iter().partition(|r| of(0, r) == of(1, r));
    let large = |r: &Row| at_large(&Some(of(0, r).clone())).zip(at_large(&Some(of(1, r).clone())));
    let (rounded, differ): (Vec<&Row>, Vec<&Row>) =
        differ.into_iter().partition(|r| large(r).is_some_and(|(a, b)| a == b));
    let mut why = Why::new(sides, &mut names);
    let difference =
        |r: &Row| Difference { row: r.clone(), counts: [of(0, r).clone(), of(1, r).clone()], causes: why.causes(r) };
    let differences = differ.into_iter().map(difference).collect();
    Comparison { differences, same: same.len(), rounded: rounded.len(), names }
}

/// The rows that one program has otherwise than the one that it was made from, with no causes.
pub fn changes(program: &Program, before: &Fun, after: &Fun, platform: Option<&Platform>) -> Comparison {
    let side = |fun| Side { program, fun, steps: Vec::new() };
    let mut names = Vec::new();
    let [a, b] = [before, after].map(|f| {
        rows(&side(f), platform)
            .into_iter()
            .map(|(r, c)| (r, renamed(&c, f, &mut names)))
            .collect::<BTreeMap<Row, Count>>()
    });
    let zero = Count::zero();
    let of = |r: &Row| [a.get(r).unwrap_or(&zero).clone(), b.get(r).unwrap_or(&zero).clone()];
    let keys: BTreeSet<&Row> = a.keys().chain(b.keys()).collect();
    let all = keys.into_iter().map(|r| Difference { row: r.clone(), counts: of(r), causes: Vec::new() });
    let (same, differences): (Vec<Difference>, Vec<Difference>) = all.partition(|d| d.counts[0] == d.counts[1]);
    Comparison { differences, same: same.len(), rounded: 0, names }
}

/// A count in sizes known by their names alone.
fn renamed(c: &Count, fun: &Fun, names: &mut Vec<String>) -> Count {
    // Out of the way of the numbers that they get.
    const FAR: u32 = 1 << 20;
    let mut all: Vec<(Var, String)> = fun.sizes.iter().map(|v| (*v, fun.vars[v.index()].name.clone())).collect();
    // Behind its variables come the bytes of the values of its open type parameters.
    let open = fun.type_params.iter().enumerate();
    all.extend(open.map(|(n, t)| (Var((fun.vars.len() + n) as u32), format!("sizeof {}.Value", t.name))));
    let mut out = c.with_bound(&mut |v| Var(v.0 + FAR));
    for (v, _) in &all {
        out = out.put(*v, &Count::var(Var(v.0 + FAR)), None);
    }
    // Variables of sums have names that nothing else in the count has.
    for v in bound(c) {
        let mut name = fun.vars.get(v.index()).map_or_else(|| "n".to_string(), |info| info.name.clone());
        while all.iter().any(|(_, other)| *other == name) {
            name.push('\'');
        }
        all.push((v, name));
    }
    for (v, name) in all {
        let at = names.iter().position(|n| *n == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        let (far, near) = (Var(v.0 + FAR), Var(at as u32));
        out = out.with_bound(&mut |v| if v == far { near } else { v }).put(far, &Count::var(near), None);
    }
    out
}

/// The variables of a count's sums.
fn bound(c: &Count) -> BTreeSet<Var> {
    let mut all = BTreeSet::new();
    c.any(&mut |a| {
        if let Atom::Sum(s) = a {
            all.insert(s.var);
        }
        false
    });
    all
}

fn rows(side: &Side<'_>, platform: Option<&Platform>) -> BTreeMap<Row, Count> {
    let (program, fun) = (side.program, side.fun);
    let mut out: BTreeMap<Row, Count> = BTreeMap::new();
    let mut add = |row: Row, n: &Count| {
        let sum = out.entry(row).or_default();
        *sum = sum.plus(n);
    };
    let name = |order: u32, name: &str| match fun.params.get(order as usize) {
        Some(p) => fun.buffers[p.index()].name.clone(),
        None => name.to_string(),
    };
    for (what, n) in account(program, fun, Mode::Full).total() {
        match what {
            What::Read(p) => add(Row::Read { name: name(p.order, &p.name), level: p.level }, &n),
            What::Written(p) => add(Row::Written { name: name(p.order, &p.name), level: p.level }, &n),
            What::Work(op) => add(Row::Work(op), &n),
            What::Issued { .. }
            | What::Load(_)
            | What::Store(_)
            | What::Chained { .. }
            | What::Along(_)
            | What::Same(_) => {}
        }
    }
    if let Some(platform) = platform {
        for (b, r, bytes) in rows_in_bytes(program, fun, platform) {
            let name = b.map_or_else(|| "calls".to_string(), |b| fun.buffers[b.index()].name.clone());
            add(Row::Moved { name, from: r.from.name, to: r.to.name, back: r.back }, &bytes);
        }
    }
    crate::resources::leases(&fun.body, &mut |lease, of| {
        let (of, level) = (root(fun, of), &fun.buffers[lease.index()].level.name);
        if let Some(bytes) = span_at(fun, of, &crate::fit::required(fun)) {
            add(Row::Kept { name: fun.buffers[of.index()].name.clone(), level: level.clone() }, &Count::lit(bytes));
        }
    });
    let s = stages(program, fun);
    for ((name, level), n) in s.filled {
        add(Row::Filled { level, name }, &n);
    }
    add(Row::Barriers, &s.barriers);
    out
}

/// The loops of one dimension around something.
#[derive(Clone, PartialEq)]
struct Dimension {
    loops: Vec<Around>,
    trips: Option<Count>,
    needed: bool,
}

/// Looks for what makes differences.
struct Why<'a, 'n> {
    sides: &'a [Side<'a>; 2],
    names: &'n mut Vec<String>,
    /// What each touches in the end, and after each step.
    last: [Vec<Touch>; 2],
    steps: [Vec<Vec<Touch>>; 2],
}

impl<'a, 'n> Why<'a, 'n> {
    fn new(sides: &'a [Side<'a>; 2], names: &'n mut Vec<String>) -> Why<'a, 'n> {
        let of = |s: &Side<'_>| touches(s.program, s.fun);
        let steps = |s: &Side<'_>| s.steps.iter().map(|(_, f)| touches(s.program, f)).collect();
        Why { sides, names, last: [of(&sides[0]), of(&sides[1])], steps: [steps(&sides[0]), steps(&sides[1])] }
    }

    fn causes(&mut self, row: &Row) -> Vec<Vec<String>> {
        let found = [0, 1].map(|n| around(&self.last[n], row));
        let [Some(a), Some(b)] = found else {
            return (0..2)
                .filter(|n| found[*n].is_none() && found[1 - *n].is_some())
                .map(|n| {
                    let none = format!("{} has no such access", self.name(n));
                    std::iter::once(none).chain(self.made(1 - n, row)).collect()
                })
                .collect();
        };
        let mut causes = Vec::new();
        let dimensions: BTreeSet<String> = a.iter().chain(&b).map(|l| l.of.clone()).collect();
        for of in dimensions {
            let (d, e) = (dimension(&a, &of), dimension(&b, &of));
            let (mine, theirs) = (self.trips(0, &d), self.trips(1, &e));
            if mine == theirs || rounding_only(&mine, &theirs) {
                continue;
            }
            // What goes round more often is what needs a reason.
            let more = usize::from(at_large(&mine) < at_large(&theirs));
            let (d, e) = if more == 0 { (d, e) } else { (e, d) };
            causes.push(self.told(more, &of, &d, &e, row));
        }
        causes
    }

    fn name(&self, n: usize) -> String {
        self.sides[n].fun.name.clone()
    }

    /// The trips of a dimension in common sizes.
    fn trips(&mut self, n: usize, d: &Dimension) -> Option<Count> {
        Some(renamed(d.trips.as_ref()?, self.sides[n].fun, self.names))
    }

    /// One dimension, of which the function `more` goes round more often than the other.
    fn told(&mut self, more: usize, of: &str, d: &Dimension, e: &Dimension, row: &Row) -> Vec<String> {
        let loops = |d: &Dimension| {
            let one = |l: &Around| match l.size {
                Some(n) => format!("`{}` (blocks of {n})", l.name),
                None => format!("`{}`", l.name),
            };
            d.loops.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        let times = |why: &mut Self, n: usize, d: &Dimension| match why.trips(n, d) {
            Some(c) => c.text(&|v| why.names.get(v.index()).cloned().unwrap_or_default()),
            None => "some number of".into(),
        };
        let (mine, theirs) = (times(self, more, d), times(self, 1 - more, e));
        let there = if e.loops.is_empty() {
            format!("once in {}", self.name(1 - more))
        } else {
            format!("{theirs} times in {}, by {}", self.name(1 - more), loops(e))
        };
        let what = format!("over {of}: {mine} times in {}, by {}; {there}", self.name(more), loops(d));
        let mut out = vec![what];
        if !d.needed {
            out.push(format!("it does not depend on where in {of} that is, and is repeated"));
        }
        out.extend(self.decided(more, of, d, row));
        out
    }

    /// The step that made a row's access.
    fn made(&self, n: usize, row: &Row) -> Option<String> {
        let there = |t: &Vec<Touch>| around(t, row).is_some();
        self.since(n, &there).map(|s| format!("in {} it is there since `{s}`", self.name(n)))
    }

    /// The first step from which on something is so.
    fn since(&self, n: usize, is: &dyn Fn(&Vec<Touch>) -> bool) -> Option<&str> {
        let after = self.steps[n].iter().rposition(|t| !is(t)).map_or(0, |at| at + 1);
        self.sides[n].steps.get(after).filter(|_| after < self.steps[n].len()).map(|(text, _)| text.as_str())
    }

    fn decided(&self, n: usize, of: &str, d: &Dimension, row: &Row) -> Option<String> {
        let outer = d.loops.first()?;
        let chain = around(&self.last[n], row).unwrap_or_default();
        let inner = chain.iter().skip_while(|l| l.name != outer.name).find(|l| l.needed);
        let step = match inner {
            Some(inner) if !d.needed => self.since(n, &|t| {
                t.iter().any(|t| {
                    let at = |name: &str| t.loops.iter().position(|l| l.name == name);
                    at(&outer.name).zip(at(&inner.name)).is_some_and(|(a, b)| a < b)
                })
            }),
            _ => self.since(n, &|t| around(t, row).is_some_and(|l| dimension(&l, of).trips == d.trips)),
        };
        Some(match (step?, inner.filter(|_| !d.needed)) {
            (s, Some(i)) => format!("`{s}` puts `{}` around `{}`", outer.name, i.name),
            (s, None) => format!("so it is since `{s}`"),
        })
    }
}

/// The loops around what a row counts: the most, where it counts several.
fn around(all: &[Touch], row: &Row) -> Option<Vec<Around>> {
    let is = |t: &Touch| match row {
        Row::Moved { name, to, .. } => t.how == How::Leased && t.place.name == *name && t.place.level == *to,
        Row::Kept { name, level } => t.how == How::Leased && t.place.name == *name && t.place.level == *level,
        Row::Read { name, level } => t.how == How::Read && t.place.name == *name && t.place.level == *level,
        Row::Written { name, level } | Row::Filled { name, level } => {
            t.how == How::Written && t.place.name == *name && t.place.level == *level
        }
        Row::Barriers => t.how == How::Written && t.place.order == u32::MAX,
        Row::Work(_) => t.how == How::Read,
    };
    all.iter().filter(|t| is(t)).max_by_key(|t| t.loops.len()).map(|t| t.loops.clone())
}

fn dimension(loops: &[Around], of: &str) -> Dimension {
    let loops: Vec<Around> = loops.iter().filter(|l| l.of == of).cloned().collect();
    let trips = loops.iter().try_fold(Count::lit(1), |n, l| Some(n.times(l.trips.as_ref()?)));
    Dimension { needed: loops.iter().any(|l| l.needed), trips, loops }
}

/// Sizes that blocks divide: what is left over counts for nothing there.
const LARGE: i128 = 4096 * 3 * 5 * 7;

fn at_large(c: &Option<Count>) -> Option<i128> {
    let mut values = Values::new();
    values.extend((0..64).map(|v| (Var(v), LARGE)));
    c.as_ref()?.value(&values)
}

fn rounding_only(a: &Option<Count>, b: &Option<Count>) -> bool {
    at_large(a).is_some() && at_large(a) == at_large(b)
}
