//! Calls.

use super::grid::meet;
use super::{MAX_CALLS, Machine, Ran, Stop, View, frame, points};
use cachet_core::ir::{Call, Role};

impl<'p> Machine<'p, '_> {
    pub(super) fn call(&mut self, c: &'p Call) -> Ran<()> {
        let program = self.program;
        let Some(callee) = program.funs.get(c.fun.index()) else { return self.fault("a call of nothing", self.span) };
        if self.frames.len() >= MAX_CALLS {
            return Err(Stop::TooBig);
        }
        let sizes = self.ixs(&c.sizes)?;
        let mut views = Vec::new();
        for a in &c.args {
            let view = match &a.axes {
                Some(axes) => Some(self.cut(a.buffer, axes)?).filter(|cut| cut.1).map(|cut| cut.0),
                None => self.here().views[a.buffer.index()].clone(),
            };
            match view {
                Some(v) => views.push(v),
                None => {
                    let text = a
                        .axes
                        .as_ref()
                        .map_or(self.names().buffer(a.buffer).to_string(), |axes| self.names().window(a.buffer, axes));
                    return self
                        .fault(format!("`{text}` is lent to `{}` and does not lie inside", callee.name), a.span);
                }
            }
        }
        self.apart(c, &views)?;
        let types = c.types.iter().map(|t| self.bound(*t)).collect();
        let (span, stores) = (self.span, self.stores.len());
        self.frames.push(frame(callee, types));
        if sizes.iter().any(|n| *n < 0) {
            return self.fault(format!("`{}` is called with negative sizes {sizes:?}", callee.name), span);
        }
        self.set_sizes(callee, &sizes)?;
        for g in &callee.requires {
            if !self.guard(g)? {
                let text =
                    format!("`{}` requires `{}`, and is called with {sizes:?}", callee.name, self.names().guard(g));
                return self.fault(text, span);
            }
        }
        self.lend(c, &views)?;
        self.block(&callee.body)?;
        self.produced()?;
        for p in callee.scratch.iter().filter_map(|p| self.here().views[p.index()].clone()).collect::<Vec<_>>() {
            self.forget(&p);
        }
        self.frames.pop();
        self.stores.truncate(stores);
        self.span = span;
        Ok(())
    }

    /// What a callee writes overlaps nothing else lent, and lies inside the windows of grids.
    fn apart(&mut self, c: &'p Call, views: &[View]) -> Ran<()> {
        let callee = &self.program.funs[c.fun.index()];
        for (i, p) in callee.params.iter().enumerate() {
            if callee.buffers[p.index()].role != Role::Mut || i >= views.len() {
                continue;
            }
            if let Some(other) = (0..views.len()).find(|j| *j != i && meet(&views[i], &views[*j])) {
                let name = |n: usize| self.names().buffer(c.args[n].buffer);
                let text = format!(
                    "`{}` writes `{}`, which overlaps `{}` in the same call",
                    callee.name,
                    name(i),
                    name(other)
                );
                return self.fault(text, c.args[i].span);
            }
            if !self.may_touch(&views[i], true) {
                let text =
                    format!("a grid iteration lends `{}` outside its windows", self.names().buffer(c.args[i].buffer));
                return self.fault(text, c.args[i].span);
            }
        }
        Ok(())
    }

    /// Binds a callee's parameters.
    fn lend(&mut self, c: &'p Call, views: &[View]) -> Ran<()> {
        let callee = self.fun();
        for ((p, view), arg) in callee.params.iter().zip(views).zip(&c.args) {
            let info = &callee.buffers[p.index()];
            let lent: Vec<i64> = view.axes.iter().map(|a| a.1).collect();
            let wanted = self.extents(*p)?;
            if lent != wanted {
                return self.fault(
                    format!("`{}` of `{}` has extents {wanted:?} and gets {lent:?}", info.name, callee.name),
                    arg.span,
                );
            }
            if callee.produces.contains(p) || callee.scratch.contains(p) {
                self.forget(view);
            } else {
                for at in points(view) {
                    if self.stores[view.store].cells[self.position(view.store, &at)].is_none() {
                        return self.fault(
                            format!("`{}` is lent to `{}` with {at:?} unwritten", info.name, callee.name),
                            arg.span,
                        );
                    }
                }
            }
            self.top().views[p.index()] = Some(view.clone());
        }
        Ok(())
    }

    fn forget(&mut self, view: &View) {
        for at in points(view) {
            let cell = self.position(view.store, &at);
            self.stores[view.store].cells[cell] = None;
        }
    }
}
