//! Grids: iterations one after another, each held to its windows.

use super::code::{Cell, GridCode, Range, WindowCode};
use super::machine::{Machine, Ran, View};
use super::{TrapKind, trap};
use std::collections::BTreeMap;

/// A grid iteration under way.
pub(super) struct GridFrame {
    /// Arrays from here on were made inside the iteration and are its own.
    first_own: usize,
    /// Boxes in coordinates of the array: per axis first and one past the last.
    windows: Vec<(usize, Vec<(i64, i64)>)>,
}

impl GridFrame {
    fn has(&self, array: usize) -> bool {
        self.windows.iter().any(|(a, _)| *a == array)
    }

    fn holds(&self, array: usize, at: impl Iterator<Item = (i64, i64)> + Clone) -> bool {
        let within =
            |w: &[(i64, i64)]| w.iter().zip(at.clone()).all(|((lo, hi), (first, end))| *lo <= first && end <= *hi);
        self.windows.iter().any(|(a, w)| *a == array && within(w))
    }
}

/// Which iteration of a grid claimed each cell of an array.
type Claims = BTreeMap<usize, Vec<u64>>;

impl<'u> Machine<'u, '_> {
    pub(super) fn grid(&mut self, g: &'u GridCode) -> Ran<()> {
        let mut points = Vec::new();
        self.points(&g.axes, &mut Vec::new(), &mut points)?;
        self.shuffle(&mut points, 4 * g.axes.len());
        let mut claims = Claims::new();
        let first = self.serial;
        let width = 4 * g.axes.len();
        let count = if g.axes.is_empty() { 1 } else { points.len() / width };
        for p in 0..count {
            self.step()?;
            for (n, axis) in g.axes.iter().enumerate() {
                let slot = self.int_base + axis.slot as usize;
                self.ints[slot..slot + 4].copy_from_slice(&points[p * width + 4 * n..p * width + 4 * n + 4]);
            }
            let serial = self.serial;
            self.serial += 1;
            let mut frame = GridFrame { first_own: self.arrays.len(), windows: Vec::new() };
            for w in &g.windows {
                let window = self.window(w)?;
                self.claim(&mut claims, w, &window, (first, serial))?;
                frame.windows.push(window);
            }
            self.grids.push(frame);
            self.block(&g.body)?;
            self.grids.pop();
        }
        Ok(())
    }

    /// The tuples of indices, four numbers per axis, in order.
    fn points(&mut self, axes: &'u [Range], prefix: &mut Vec<i64>, out: &mut Vec<i64>) -> Ran<()> {
        let Some((axis, rest)) = axes.split_first() else {
            out.extend(prefix.iter());
            return self.step();
        };
        let slot = self.int_base + axis.slot as usize;
        let mut turn = self.first(axis)?;
        while let Some(t) = turn {
            self.place(axis, t);
            prefix.extend_from_slice(&self.ints[slot..slot + 4]);
            self.points(rest, prefix, out)?;
            prefix.truncate(prefix.len() - 4);
            turn = self.next(axis, t);
        }
        Ok(())
    }

    /// Puts the points in an order drawn from the run's seed.
    fn shuffle(&mut self, points: &mut [i64], width: usize) {
        let Some(seed) = &mut self.random else { return };
        if width == 0 {
            return;
        }
        for last in (1..points.len() / width).rev() {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let other = ((*seed >> 33) % (last as u64 + 1)) as usize;
            for n in 0..width {
                points.swap(last * width + n, other * width + n);
            }
        }
    }

    fn window(&self, w: &WindowCode) -> Ran<(usize, Vec<(i64, i64)>)> {
        let view = self.view(w.buffer);
        let mut axes = Vec::with_capacity(w.axes.len());
        for ((start, len), axis) in w.axes.iter().zip(&view.axes) {
            let (start, len) = (self.index(start)?, self.index(len)?);
            // A window of nothing may lie anywhere.
            if len > 0 && (start < 0 || start.checked_add(len).is_none_or(|end| end > axis.extent)) {
                let name = self.code.buffers[w.buffer as usize].name.clone();
                let text = format!(
                    "the window `{}` reaches from {start} to {} of {}",
                    w.text,
                    start.saturating_add(len),
                    axis.extent
                );
                return Err(trap(TrapKind::OutOfBounds { name, at: vec![start] }, text, self.span));
            }
            let first = axis.start.saturating_add(start);
            axes.push((first, first.saturating_add(len.max(0))));
        }
        Ok((view.array, axes))
    }

    /// Marks a window's cells as this iteration's, unless another one of the same grid has any of them.
    fn claim(
        &mut self,
        claims: &mut Claims,
        w: &WindowCode,
        window: &(usize, Vec<(i64, i64)>),
        (first, own): (u64, u64),
    ) -> Ran<()> {
        let (array, axes) = window;
        if axes.iter().any(|(lo, hi)| lo >= hi) {
            return Ok(());
        }
        let extents = &self.arrays[*array].extents;
        let marks = claims.entry(*array).or_insert_with(|| vec![0; self.arrays[*array].written.len()]);
        let mut at: Vec<i64> = axes.iter().map(|a| a.0).collect();
        loop {
            let cell = at.iter().zip(extents).fold(0usize, |c, (i, n)| c * *n as usize + *i as usize);
            if marks[cell] >= first && marks[cell] != own {
                let text = format!("two iterations of a grid have {at:?} in their windows `{}`", w.text);
                return Err(trap(TrapKind::WindowOverlap, text, self.span));
            }
            marks[cell] = own;
            let Some(axis) = (0..at.len()).rev().find(|n| at[*n] + 1 < axes[*n].1) else { return Ok(()) };
            at[axis] += 1;
            for n in axis + 1..at.len() {
                at[n] = axes[n].0;
            }
        }
    }

    /// Whether the iterations under way may touch a cell of the current frame's buffer.
    pub(super) fn allowed(&self, cell: &Cell, at: &[i64], write: bool) -> Ran<()> {
        let view = self.view(cell.buffer);
        let place = at.iter().zip(&view.axes).map(|(i, a)| (a.start + i, a.start + i + 1));
        self.within(view.array, place, write).map_err(|()| {
            let verb = if write { "writes" } else { "reads" };
            let text = format!("a grid iteration {verb} `{}`, which is {at:?}, outside its windows", cell.text);
            trap(TrapKind::WindowViolated, text, cell.span)
        })
    }

    /// Whether the iterations under way may lend a view to something that writes it.
    pub(super) fn may_lend(&self, view: &View) -> bool {
        if view.axes.iter().any(|a| a.extent <= 0) {
            return true;
        }
        self.within(view.array, view.axes.iter().map(|a| (a.start, a.start + a.extent)), true).is_ok()
    }

    fn within(&self, array: usize, at: impl Iterator<Item = (i64, i64)> + Clone, write: bool) -> Result<(), ()> {
        let fine = |g: &GridFrame| array >= g.first_own || (!write && !g.has(array)) || g.holds(array, at.clone());
        if self.grids.iter().all(fine) { Ok(()) } else { Err(()) }
    }
}
