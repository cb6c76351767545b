//! Grids: each iteration is held to its windows, and no two windows of different iterations meet.

use super::{Iteration, Machine, Ran, View};
use cachet_core::ir::{Grid, Ix};

impl<'p> Machine<'p, '_> {
    pub(super) fn grid(&mut self, g: &'p Grid) -> Ran<()> {
        let mut taken: Vec<View> = Vec::new();
        self.axis(g, 0, &mut taken)
    }

    fn axis(&mut self, g: &'p Grid, n: usize, taken: &mut Vec<View>) -> Ran<()> {
        let Some((var, domain)) = g.axes.get(n) else { return self.iteration(g, taken) };
        for turn in self.turns(domain)? {
            self.top().vars[var.index()] = turn;
            self.axis(g, n + 1, taken)?;
        }
        Ok(())
    }

    fn iteration(&mut self, g: &'p Grid, taken: &mut Vec<View>) -> Ran<()> {
        let mut windows = Vec::new();
        for w in &g.writes {
            let (window, inside) = self.cut(w.buffer, &w.axes)?;
            // A window of nothing may lie anywhere.
            if !inside && !is_empty(&window) {
                let text = format!("a window lies outside its buffer: {}", self.names().window(w.buffer, &w.axes));
                return self.fault(text, self.span);
            }
            for other in taken.iter() {
                if meet(&window, other) {
                    let text = format!(
                        "two iterations of a grid share a cell of their windows {}",
                        self.names().window(w.buffer, &w.axes)
                    );
                    return self.fault(text, self.span);
                }
            }
            self.events = self.events.saturating_sub(taken.len() as u64);
            windows.push(window);
        }
        self.event()?;
        taken.extend(windows.iter().cloned());
        self.iterations.push(Iteration { first_own: self.stores.len(), windows });
        self.block(&g.body)?;
        self.iterations.pop();
        Ok(())
    }

    /// A box of a buffer of this function, and whether it lies inside.
    pub(super) fn cut(&mut self, buffer: cachet_core::ir::Buffer, axes: &[(Ix, Ix)]) -> Ran<(View, bool)> {
        let name = &self.fun().buffers[buffer.index()].name;
        let Some(view) = self.here().views[buffer.index()].clone() else {
            return self.fault(format!("`{name}` does not exist yet"), self.span);
        };
        let mut out = View { store: view.store, axes: Vec::new() };
        let mut inside = axes.len() == view.axes.len();
        for ((start, len), (base, extent)) in axes.iter().zip(&view.axes) {
            let (start, len) = (self.ix(start)?, self.ix(len)?);
            inside &= start >= 0 && len >= 0 && start.saturating_add(len) <= *extent;
            out.axes.push((base.saturating_add(start), len));
        }
        Ok((out, inside))
    }

    /// Whether the iterations under way may touch a box.
    pub(super) fn may_touch(&self, part: &View, write: bool) -> bool {
        is_empty(part)
            || self.iterations.iter().all(|i| {
                let mut own = i.windows.iter().filter(|w| w.store == part.store).peekable();
                part.store >= i.first_own || (!write && own.peek().is_none()) || own.any(|w| contains(w, part))
            })
    }
}

fn is_empty(part: &View) -> bool {
    part.axes.iter().any(|a| a.1 <= 0)
}

/// Whether a box lies in another.
fn contains(outer: &View, inner: &View) -> bool {
    outer.axes.iter().zip(&inner.axes).all(|(o, i)| o.0 <= i.0 && i.0 + i.1 <= o.0 + o.1)
}

/// Whether two boxes share a cell.
pub(super) fn meet(a: &View, b: &View) -> bool {
    a.store == b.store && a.axes.iter().zip(&b.axes).all(|(x, y)| x.0.max(y.0) < (x.0 + x.1).min(y.0 + y.1))
}
