//! Calls: what is lent, and whether it may be.

use super::code::{CallCode, Mode, ViewCode};
use super::machine::{Axis, Machine, Ran, View};
use super::{TrapKind, trap};

impl<'u> Machine<'u, '_> {
    pub(super) fn call(&mut self, c: &'u CallCode) -> Ran<()> {
        let Some(callee) = self.unit.codes.get(c.code) else {
            return Err(trap(TrapKind::Malformed, "a call of nothing", self.span));
        };
        let sizes = c.sizes.iter().map(|i| self.index(i)).collect::<Ran<Vec<i64>>>()?;
        let views = c.args.iter().map(|a| self.lent(a)).collect::<Ran<Vec<View>>>()?;
        for (i, (view, p)) in views.iter().zip(&callee.params).enumerate() {
            if p.mode == Mode::Reads {
                continue;
            }
            if let Some(other) = (0..views.len()).find(|j| *j != i && meet(view, &views[*j])) {
                let text =
                    format!("`{}` writes `{}`, which overlaps `{}`", callee.name, c.args[i].text, c.args[other].text);
                return Err(trap(TrapKind::Overlap, text, c.args[i].span));
            }
            if !self.may_lend(view) {
                let text = format!(
                    "a grid iteration lends `{}`, which is outside its windows, to `{}`",
                    c.args[i].text, callee.name
                );
                return Err(trap(TrapKind::WindowViolated, text, c.args[i].span));
            }
        }
        let span = self.span;
        self.enter(callee, &sizes, &views)?;
        self.span = span;
        Ok(())
    }

    /// A box of a buffer of the current frame.
    fn lent(&self, v: &ViewCode) -> Ran<View> {
        let of = self.view(v.buffer);
        let Some(axes) = &v.axes else { return Ok(of.clone()) };
        let mut out = View { array: of.array, offset: of.offset, axes: Vec::with_capacity(axes.len()) };
        for ((start, len), axis) in axes.iter().zip(&of.axes) {
            let (start, len) = (self.index(start)?, self.index(len)?);
            if start < 0 || len < 0 || start.checked_add(len).is_none_or(|end| end > axis.extent) {
                let name = self.code.buffers[v.buffer as usize].name.clone();
                let text =
                    format!("`{}` reaches from {start} to {} of {}", v.text, start.saturating_add(len), axis.extent);
                return Err(trap(TrapKind::OutOfBounds { name, at: vec![start] }, text, v.span));
            }
            out.offset += (start * axis.stride) as usize;
            out.axes.push(Axis { extent: len, stride: axis.stride, start: axis.start + start });
        }
        Ok(out)
    }
}

/// Whether two views share a cell.
fn meet(a: &View, b: &View) -> bool {
    let along = |(a, b): (&Axis, &Axis)| a.start.max(b.start) < (a.start + a.extent).min(b.start + b.extent);
    a.array == b.array && a.axes.iter().zip(&b.axes).all(along)
}
