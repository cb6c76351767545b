//! A hash of what conditions say: the same in every run, and quick for trees of small numbers.
//!
//! Whatever is looked up by it is compared, or checked, before it counts, so two that share a hash cost time and nothing else.

use std::hash::Hasher;

/// Words are folded in by a product of 128 bits, whose halves are mixed.
#[derive(Clone)]
pub struct Folded(u64);

const START: u64 = 0x243f_6a88_85a3_08d3;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Default for Folded {
    fn default() -> Folded {
        Folded(START)
    }
}

impl Folded {
    #[inline]
    fn fold(&mut self, word: u64) {
        let product = u128::from(self.0.rotate_left(23) ^ word) * u128::from(FACTOR);
        self.0 = product as u64 ^ (product >> 64) as u64 ^ START;
    }
}

impl Hasher for Folded {
    fn finish(&self) -> u64 {
        let mut last = self.clone();
        last.fold(FACTOR);
        last.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.fold(u64::from_le_bytes(word));
        }
        self.fold(bytes.len() as u64);
    }

    #[inline]
    fn write_u8(&mut self, n: u8) {
        self.fold(n.into());
    }

    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.fold(n.into());
    }

    #[inline]
    fn write_u64(&mut self, n: u64) {
        self.fold(n);
    }

    #[inline]
    fn write_usize(&mut self, n: usize) {
        self.fold(n as u64);
    }

    #[inline]
    fn write_isize(&mut self, n: isize) {
        self.fold(n as u64);
    }

    #[inline]
    fn write_i128(&mut self, n: i128) {
        self.fold(n as u64);
        self.fold((n >> 64) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::Folded;
    use crate::formula::{Term, Var};
    use std::collections::HashSet;
    use std::hash::{Hash, Hasher};

    #[test]
    fn small_trees_have_hashes_of_their_own() {
        let mut seen = HashSet::new();
        let mut add = |t: Term| {
            let mut h = Folded::default();
            t.hash(&mut h);
            assert!(seen.insert(h.finish()), "{t:?}");
        };
        for n in 0..64 {
            for m in -64..64 {
                let x = Term::Var(Var(n));
                add(x.clone().times(m));
                add(x.clone().div(m));
                add(x.clone().rem(m));
                add(x.clone().add(m));
                add(x.clone().times(m).add(1));
                add(Term::Add(vec![x, Term::Add(vec![Term::Lit(m)])]));
            }
        }
    }
}
