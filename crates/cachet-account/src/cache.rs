//! Which accesses does a cache not have the line of? Sets, ways and the least recently used line, by brute force.
//!
//! Nothing here is a model: it is what caches of these numbers do with a list of addresses, and what counts are tried
//! against. A level whose platform says no ways is one set.

use cachet_machine::platform::{Part, Platform};

/// A cache of one level.
#[derive(Clone, Debug)]
pub struct Cache {
    line: u64,
    ways: usize,
    /// The lines of each set, the one that was used last first.
    sets: Vec<Vec<u64>>,
    /// How many accesses there were, and how many did not find their line.
    counted: Counted,
}

/// What a cache has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// Lines asked for.
    pub asked: u64,
    /// Those that were not there.
    pub missed: u64,
}

/// The shape of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Bytes of a line.
    pub line: u64,
    /// Lines of a set.
    pub ways: u64,
    /// How many sets.
    pub sets: u64,
}

impl Geometry {
    /// Of so many bytes. `None` where a number is 0 or they make no set.
    pub fn new(capacity: u64, line: u64, ways: Option<u64>) -> Option<Geometry> {
        let lines = capacity.checked_div(line)?;
        let ways = ways.unwrap_or(lines);
        let sets = lines.checked_div(ways).filter(|s| *s > 0)?;
        Some(Geometry { line, ways, sets })
    }

    /// What a platform says of a level.
    pub fn of(platform: &Platform, level: &str) -> Option<Geometry> {
        Geometry::of_part(platform.levels.iter().find(|l| l.name == level)?)
    }

    /// What a platform says of one of its levels.
    pub fn of_part(level: &Part) -> Option<Geometry> {
        let number = |name: &str| {
            let field = level.fields.iter().find(|f| f.name == name && f.elem.is_none())?;
            u64::try_from(field.value).ok().filter(|n| *n > 0)
        };
        Geometry::new(number("capacity")?, number("line")?, number("ways"))
    }

    /// Bytes of all lines.
    pub fn capacity(self) -> u64 {
        self.line * self.ways * self.sets
    }
}

impl Cache {
    /// With nothing in it.
    pub fn new(g: Geometry) -> Cache {
        Cache {
            line: g.line,
            ways: g.ways as usize,
            sets: vec![Vec::new(); g.sets as usize],
            counted: Counted::default(),
        }
    }

    /// Uses the line of an address. Whether it was there.
    pub fn touch(&mut self, address: u64) -> bool {
        let line = address / self.line;
        let n = self.sets.len() as u64;
        let set = &mut self.sets[(line % n) as usize];
        self.counted.asked += 1;
        let found = set.iter().position(|l| *l == line);
        match found {
            Some(at) => set[..=at].rotate_right(1),
            None => {
                self.counted.missed += 1;
                set.truncate(self.ways - 1);
                set.insert(0, line);
            }
        }
        found.is_some()
    }

    /// Lets go of the lines of so many bytes from an address on.
    pub fn release(&mut self, address: u64, bytes: u64) {
        let n = self.sets.len() as u64;
        for line in address / self.line..(address + bytes).div_ceil(self.line) {
            self.sets[(line % n) as usize].retain(|l| *l != line);
        }
    }

    /// What it has seen.
    pub fn counted(&self) -> Counted {
        self.counted
    }

    /// Bytes of a line.
    pub fn line(&self) -> u64 {
        self.line
    }
}

/// Caches, the innermost first: each is asked for what the one before did not have.
#[derive(Clone, Debug)]
pub struct Caches(pub Vec<Cache>);

impl Caches {
    /// Uses so many bytes from an address on.
    pub fn touch(&mut self, address: u64, bytes: u64) {
        let Some(line) = self.0.first().map(Cache::line) else { return };
        let (first, last) = (address / line, (address + bytes.max(1) - 1) / line);
        for l in first..=last {
            // Inner levels' lines are inside those of the outer ones.
            let _ = self.0.iter_mut().any(|c| c.touch(l * line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cache, Caches, Geometry};

    #[test]
    fn the_line_that_was_not_used_for_longest_goes() {
        let mut c = Cache::new(Geometry::new(128, 64, None).unwrap());
        let seen: Vec<bool> = [0, 64, 8, 128, 0, 64].into_iter().map(|a| c.touch(a)).collect();
        assert_eq!(seen, [false, false, true, false, true, false]);
        assert_eq!((c.counted().asked, c.counted().missed), (6, 4));
    }

    #[test]
    fn lines_of_one_set_take_its_ways() {
        // Two sets of two: lines 0, 2 and 4 are in one set, and line 1 does not disturb them.
        let mut c = Cache::new(Geometry::new(64, 16, Some(2)).unwrap());
        let seen: Vec<bool> = [0, 32, 16, 64, 16, 0].into_iter().map(|a| c.touch(a)).collect();
        assert_eq!(seen, [false, false, false, false, true, false]);
    }

    #[test]
    fn an_outer_level_is_asked_for_what_an_inner_one_lacks() {
        let small = Cache::new(Geometry::new(64, 64, None).unwrap());
        let large = Cache::new(Geometry::new(256, 64, None).unwrap());
        let mut both = Caches(vec![small, large]);
        for a in [0, 60, 64, 0, 64] {
            both.touch(a, 8);
        }
        let counted: Vec<(u64, u64)> = both.0.iter().map(|c| (c.counted().asked, c.counted().missed)).collect();
        // The second access lies in two lines.
        assert_eq!(counted, [(6, 4), (4, 2)]);
    }
}
