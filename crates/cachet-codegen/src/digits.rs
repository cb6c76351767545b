//! Which lanes lie side by side in memory where lanes count groups of words: `a[2 * k + l % 2, l / 2]`?
//!
//! Lane `l` is the digit `l / n` and the digit `l % n`, each in a subscript of its own. Where a layout cuts the axis of the
//! second into groups of `n` and puts them last, and the axis of the first before, one vector is loaded; where the second goes
//! down, `1 - l % 2`, the words of each group are turned round afterwards.

use crate::function::{Lower, Outcome};
use crate::lanes::Piece;
use crate::memory::{Bounds, Memory};
use cachet_core::ir::{Ix, Var};
use cachet_core::layout;
use cachet_core::linear::Linear;
use cachet_core::vectors;

/// What an axis follows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Digit {
    /// Nothing of the lane.
    None,
    /// The number of the group.
    Group,
    /// The place in the group; whether there is nothing but one group's places on the axis.
    Place(bool),
    /// The lane itself.
    Lane,
}

/// How many lanes a group has, where subscripts name a lane only as `l / n` and `l % n`.
pub(crate) fn group_of(at: &[Ix], lane: Var) -> Option<i64> {
    let mut found = None;
    let one = |n: i64, found: &mut Option<i64>| {
        let same = found.is_none_or(|known| known == n);
        *found = Some(n);
        same
    };
    let mut open: Vec<&Ix> = at.iter().filter(|ix| vectors::varies(ix, lane)).collect();
    while let Some(ix) = open.pop() {
        match ix {
            Ix::Div(x, n) | Ix::Mod(x, n) if **x == Ix::Var(lane) => {
                if !one(*n, &mut found) {
                    return None;
                }
            }
            Ix::Add(a, b) | Ix::Sub(a, b) => {
                open.extend([&**a, &**b].into_iter().filter(|ix| vectors::varies(ix, lane)))
            }
            Ix::InBlock(_, x) => open.push(x),
            _ => return None,
        }
    }
    found.filter(|n| *n > 1)
}

impl Lower<'_, '_> {
    /// The address from which on a piece's lanes lie, in groups of `n`, and which word of memory each of them is.
    pub(crate) fn grouped_address(
        &mut self,
        n: i64,
        piece: &Piece<'_>,
        buffer: &Memory,
        at: &[Ix],
    ) -> Outcome<Option<(String, Vec<i64>)>> {
        let Some((at, order)) = self.grouped_place(n, piece, buffer, at) else { return Ok(None) };
        let address = self.physical_address(buffer, &at, Bounds::Inside)?;
        Ok(Some((address, order)))
    }

    /// The place in memory from which on a piece's lanes lie, in groups of `n`, and which word each of them is.
    pub(crate) fn grouped_place(
        &self,
        n: i64,
        piece: &Piece<'_>,
        buffer: &Memory,
        at: &[Ix],
    ) -> Option<(Vec<Ix>, Vec<i64>)> {
        if piece.width % n != 0 || piece.offset % n != 0 {
            return None;
        }
        let (mut axes, mut down) = (Vec::new(), false);
        for ix in at {
            let (ix, digit, falls) = self.digit(ix, piece, n)?;
            down |= falls;
            axes.push((ix, digit));
        }
        let known = &self.known;
        let mut possible = true;
        let physical = layout::over(&buffer.ops, axes, |(ix, digit), by, back| {
            let more = match digit {
                Digit::None => 0,
                Digit::Group => piece.width / n - 1,
                Digit::Lane if by != n => piece.width - 1,
                Digit::Place(_) | Digit::Lane => n - 1,
            };
            let (outer, inner) = match digit {
                Digit::Place(false) => (Digit::None, Digit::Place(by == n)),
                Digit::Lane if by == n => (Digit::Group, Digit::Place(true)),
                other => (Digit::None, other),
            };
            let (q, r) = known.divided(&ix, by, more).unwrap_or_else(|| {
                possible &= digit == Digit::None;
                let b = |ix: &Ix| Box::new(ix.clone());
                (Ix::Div(b(&ix), by), Ix::Mod(b(&ix), by))
            });
            if !back {
                return ((q, outer), (r, inner));
            }
            // The last place comes first.
            possible &= !matches!(inner, Digit::Group | Digit::Lane);
            let mut most = by - 1;
            if matches!(inner, Digit::Place(_)) {
                down = !down;
                most = by - n;
            }
            ((q, outer), (cachet_core::linear::difference(&Ix::Lit(most), &r), inner))
        });
        let last = physical.len().saturating_sub(1);
        let alone = piece.width == n;
        possible &= physical.iter().enumerate().all(|(at, (_, digit))| match digit {
            Digit::None => at != last && (alone || at + 1 != last),
            Digit::Group => alone || at + 1 == last,
            Digit::Place(whole) => at == last && (alone || *whole),
            Digit::Lane => false,
        });
        if !possible {
            return None;
        }
        let word = |l: i64| if down { l - l % n + (n - 1 - l % n) } else { l };
        Some((physical.into_iter().map(|(ix, _)| ix).collect(), (0..piece.width).map(word).collect()))
    }

    /// A subscript at the first word in memory, what it follows, and whether it falls where lanes grow.
    fn digit(&self, ix: &Ix, piece: &Piece<'_>, n: i64) -> Option<(Ix, Digit, bool)> {
        if !vectors::varies(ix, piece.lane) {
            return Some((ix.clone(), Digit::None, false));
        }
        let mut sum = Linear::of(&self.known.expanded(ix)?)?;
        let group = Ix::Div(Box::new(Ix::Var(piece.lane)), n);
        let place = Ix::Mod(Box::new(Ix::Var(piece.lane)), n);
        let lane = Ix::Var(piece.lane);
        let taken = sum.terms.iter().position(|(_, term)| [&group, &place, &lane].contains(&term))?;
        let (factor, term) = sum.terms.remove(taken);
        let (digit, falls) = match (term == group, factor) {
            (false, 1) if term == lane => {
                sum.constant = sum.constant.checked_add(piece.offset)?;
                (Digit::Lane, false)
            }
            (false, _) if term == lane => return None,
            (true, 1) => {
                sum.constant = sum.constant.checked_add(piece.offset / n)?;
                (Digit::Group, false)
            }
            (false, 1) => (Digit::Place(false), false),
            (false, -1) => {
                sum.constant = sum.constant.checked_sub(n - 1)?;
                (Digit::Place(false), true)
            }
            _ => return None,
        };
        let ix = sum.to_ix();
        (!vectors::varies(&ix, piece.lane)).then_some((ix, digit, falls))
    }

    /// A vector's words in another order.
    pub(crate) fn reordered(&mut self, ty: &str, name: &str, order: &[i64]) -> String {
        if order.iter().enumerate().all(|(n, from)| n as i64 == *from) {
            return name.to_string();
        }
        let places: Vec<String> = order.iter().map(|n| format!("i32 {n}")).collect();
        let width = order.len();
        self.em.def(format_args!(
            "shufflevector <{width} x {ty}> {name}, <{width} x {ty}> poison, <{width} x i32> <{}>",
            places.join(", ")
        ))
    }
}
