//! What is kept near and moves when a function runs at some sizes? By caches of sets and ways that forget what was not used
//! for longest, fed with one access after another; nothing of the counts in sizes is used.

use crate::random::Random;
use cachet_account::cache::{Cache, Geometry};
use cachet_account::trace::{Event, Lost, Touched, follow};
use cachet_core::ir::{Fun, Program};
use std::collections::{BTreeMap, BTreeSet};

/// A run that touches more is none of ours.
const MOST: u64 = 400_000;

/// What was seen.
#[derive(Clone, Default, Debug)]
pub struct Seen {
    /// Bytes read, by the array's name in force and the level.
    pub read: BTreeMap<(String, String), u64>,
    /// Bytes written likewise.
    pub written: BTreeMap<(String, String), u64>,
    /// Operations, by name.
    pub work: BTreeMap<String, u64>,
    /// Lines that all leases together could move, by where from and where to, and those that go back.
    pub leased: BTreeMap<(String, String), [u64; 2]>,
    /// Lines that did move: that a cache did not have yet, and those of them that were written.
    pub moved: BTreeMap<(String, String), [u64; 2]>,
    /// A cache that lost a line of what it keeps.
    pub lost: Option<String>,
    /// How many lines were brought to caches.
    pub lines: u64,
}

/// Where arrays start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Places {
    /// Where lines start, all in the first set.
    Lines,
    /// In the last bytes of a line, all in one set.
    Ends,
    /// Anywhere.
    Drawn(u64),
}

/// Runs it with nothing in the caches.
///
/// # Errors
/// Why it cannot be followed.
pub fn run(
    program: &Program,
    fun: &Fun,
    sizes: &[i64],
    caches: &BTreeMap<String, Geometry>,
    places: Places,
) -> Result<Seen, Lost> {
    let mut run = Run {
        caches: caches.iter().map(|(name, g)| (name.clone(), (Cache::new(*g), *g))).collect(),
        places,
        random: Random(if let Places::Drawn(seed) = places { seed } else { 0 }),
        arrays: BTreeMap::new(),
        leases: BTreeMap::new(),
        next: 0,
        seen: Seen::default(),
    };
    follow(program, fun, &[], sizes, MOST, &mut |event| run.event(&event))?;
    let open: Vec<usize> = run.leases.keys().copied().collect();
    open.into_iter().for_each(|lease| run.ended(lease));
    Ok(run.seen)
}

struct Array {
    start: u64,
    bytes: u64,
    /// The caches that keep it, how often, and its lines that they have had.
    kept: BTreeMap<String, (u32, BTreeSet<u64>)>,
}

struct Lease {
    array: usize,
    from: String,
    to: String,
    written: BTreeSet<u64>,
}

struct Run {
    caches: BTreeMap<String, (Cache, Geometry)>,
    places: Places,
    random: Random,
    arrays: BTreeMap<usize, Array>,
    leases: BTreeMap<usize, Lease>,
    /// The first address that is free.
    next: u64,
    seen: Seen,
}

impl Run {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Made { array, bytes, level } => {
                let start = self.place(*bytes);
                let mut kept = BTreeMap::new();
                if self.caches.contains_key(&level.name) {
                    // What a parameter is kept in is its caller's business, and counts for it as well.
                    kept.insert(level.name.clone(), (1, BTreeSet::new()));
                }
                self.arrays.insert(*array, Array { start, bytes: *bytes, kept });
            }
            Event::Gone { array } => {
                if let Some(a) = self.arrays.remove(array) {
                    for level in a.kept.keys() {
                        if let Some((cache, _)) = self.caches.get_mut(level) {
                            cache.release(a.start, a.bytes);
                        }
                    }
                }
            }
            Event::Leased { lease, array, bytes, from, to, mutable } => {
                let (from, to) = (from.name.clone(), to.name.clone());
                if let (Some(a), true) = (self.arrays.get_mut(array), from != to) {
                    a.kept.entry(to.clone()).or_default().0 += 1;
                    if let Some((_, g)) = self.caches.get(&to) {
                        let lines = bytes.div_ceil(g.line);
                        let all = self.seen.leased.entry((from.clone(), to.clone())).or_default();
                        all[0] += lines;
                        all[1] += if *mutable { lines } else { 0 };
                    }
                }
                self.leases.insert(*lease, Lease { array: *array, from, to, written: BTreeSet::new() });
            }
            Event::Ended { lease } => self.ended(*lease),
            Event::Touched(t) => self.touched(t),
            Event::Done(p) => *self.seen.work.entry(p.to_string()).or_default() += 1,
        }
    }

    fn ended(&mut self, lease: usize) {
        let Some(l) = self.leases.remove(&lease) else { return };
        if l.from == l.to {
            return;
        }
        self.seen.moved.entry((l.from, l.to.clone())).or_default()[1] += l.written.len() as u64;
        let Some(a) = self.arrays.get_mut(&l.array) else { return };
        let Some((n, _)) = a.kept.get_mut(&l.to) else { return };
        *n -= 1;
        if *n == 0 {
            a.kept.remove(&l.to);
            if let Some((cache, _)) = self.caches.get_mut(&l.to) {
                cache.release(a.start, a.bytes);
            }
        }
    }

    /// Arrays share no line, and are far apart.
    fn place(&mut self, bytes: u64) -> u64 {
        let period: u64 = self.caches.values().map(|(_, g)| g.line * g.sets).product::<u64>().max(64);
        let line = self.caches.values().map(|(_, g)| g.line).max().unwrap_or(64);
        let start = self.next
            + match self.places {
                Places::Lines => 0,
                Places::Ends => line - 8,
                Places::Drawn(_) => 8 * (self.random.next() % (period / 8)),
            };
        self.next = (start + bytes + line).next_multiple_of(period) + period;
        start
    }

    fn touched(&mut self, t: &Touched<'_>) {
        let key = (t.name.to_string(), t.level.name.clone());
        let all = if t.written { &mut self.seen.written } else { &mut self.seen.read };
        *all.entry(key).or_default() += t.bytes;
        let Some(a) = self.arrays.get_mut(&t.array) else { return };
        let address = a.start + t.offset;
        for (level, (_, had)) in &mut a.kept {
            // Other names of the array are not used while one is leased.
            let Some((cache, g)) = self.caches.get_mut(level) else { continue };
            for line in address / g.line..=(address + t.bytes - 1) / g.line {
                let found = cache.touch(line * g.line);
                let by = t.leases.iter().rev().find(|l| self.leases.get(l).is_some_and(|l| l.to == *level));
                let lease = by.and_then(|l| self.leases.get_mut(l));
                if let Some(l) = lease {
                    if t.written {
                        l.written.insert(line);
                    }
                    if !found && l.from != l.to {
                        self.seen.moved.entry((l.from.clone(), l.to.clone())).or_default()[0] += 1;
                    }
                }
                self.seen.lines += u64::from(!found);
                if !had.insert(line) && !found {
                    let what = format!("{level} lost a line of `{}` while it keeps it", t.name);
                    self.seen.lost.get_or_insert(what);
                }
            }
        }
    }
}
