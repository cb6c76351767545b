//! Grids written by hand: loops that may run at once, and the windows that one iteration may write.
//!
//! A window's alias is another way to write the array it is a part of: `ct[r, c]` counts from where the window starts, and
//! a bare `ct` is the one element of a window that has no more. Windows that are left out are the smallest boxes that hold
//! the stores.

use crate::elaborate::{Body, Done, Meaning, World};
use cachet_core::ir::{Buffer, Device, Grid, Ix, Role, StmtKind, Var, Window};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{self, GridIndex, Ident, Index, Tile};

/// The syntax of a grid.
pub(crate) struct GridSyntax<'s> {
    pub device: Option<&'s Ident>,
    pub indices: &'s [GridIndex],
    pub tile: Option<&'s Tile>,
    pub writes: &'s [ast::Window],
    pub body: &'s ast::Block,
}

impl World<'_> {
    /// `grid i in .., j in .. writes c[i, j] as ct do ..`.
    pub(crate) fn grid(&mut self, body: &mut Body, g: &GridSyntax<'_>) -> Done<StmtKind> {
        if let Some(d) = g.device {
            return Err(self.report(Diagnostic::not_built(d.span, format!("grids on a device: `on {}`", d.name))));
        }
        if let Some(t) = g.tile {
            return Err(self.report(Diagnostic::not_built(t.span, "grids `by tile`")));
        }
        let depth = body.names.len();
        let inner = self.grid_inside(body, g);
        body.names.truncate(depth);
        inner
    }

    fn grid_inside(&mut self, body: &mut Body, g: &GridSyntax<'_>) -> Done<StmtKind> {
        let mut axes = Vec::new();
        for i in g.indices {
            if i.var.rank {
                let message = "`..` after a loop's name stands in step functions only";
                return Err(self.report(Diagnostic::error(codes::SYNTAX, i.var.span, message)));
            }
            let domain = self.domain(body, &i.domain)?;
            let v = self.loop_var(body, &i.var.name, &domain)?;
            axes.push((v, domain));
        }
        let mut writes = Vec::new();
        for w in g.writes {
            let window = self.written_window(body, w)?;
            if let Some(alias) = &w.alias {
                self.fresh(body, alias)?;
                body.bind(alias, Meaning::Window(window.buffer, window.axes.clone()));
            }
            writes.push(window);
        }
        let stmts = self.block(body, g.body)?;
        if g.writes.is_empty() {
            let own: Vec<Var> = axes.iter().map(|(v, _)| *v).collect();
            writes = cachet_core::windows::infer(&body.buffers, &own, &stmts);
        }
        Ok(StmtKind::Grid(Box::new(Grid { device: Device::HOST, level: 0, axes, writes, body: stmts })))
    }

    fn written_window(&mut self, body: &Body, w: &ast::Window) -> Done<Window> {
        let (Some(name), Some(indices)) = (w.place.path.as_ident(), w.place.indices()) else {
            let message = "a window is a part of an array, as `c[i, j]`";
            return Err(self.report(Diagnostic::error(codes::SYNTAX, w.span, message)));
        };
        let outer = match body.find(&name.name) {
            Some(Meaning::Window(buffer, axes)) => Some((*buffer, axes.clone())),
            _ => None,
        };
        let buffer = match &outer {
            Some((buffer, _)) => *buffer,
            None => self.buffer(body, name)?,
        };
        let info = body.buffers[buffer.index()].clone();
        if info.role == Role::Reads {
            let message = format!("`{}` is `reads`, and a grid's windows are written", name.name);
            let d = Diagnostic::error(codes::MODE, w.span, message).also(info.span.0, "declared here");
            return Err(self.report(d));
        }
        if let Some((_, axes)) = outer {
            let part = (!indices.is_empty()).then_some(indices);
            return Ok(Window { buffer, axes: self.part_of_window(body, name, axes, part, w.span)? });
        }
        let axes = match indices {
            // The whole array.
            [] => info.extents.iter().map(|e| (Ix::Lit(0), e.clone())).collect(),
            _ => self.window(body, name, indices, info.extents.len(), w.span)?,
        };
        Ok(Window { buffer, axes })
    }

    /// The cell that subscripts name in a window: all of its axes, or none where it is one element.
    pub(crate) fn window_cell(
        &mut self,
        body: &mut Body,
        name: &Ident,
        (buffer, axes): (Buffer, &[(Ix, Ix)]),
        indices: &[Index],
        span: Span,
    ) -> Done<Vec<Ix>> {
        if indices.is_empty() {
            if axes.iter().all(|(_, len)| *len == Ix::Lit(1)) {
                return Ok(axes.iter().map(|(start, _)| start.clone()).collect());
            }
            let message = format!("the window `{}` has more than one element, and one is wanted here", name.name);
            let d = Diagnostic::error(codes::ARITY, span, message);
            return Err(self.report(d.help("subscripts count from where it starts: `[0, 0]` is its first element")));
        }
        if indices.len() != axes.len() {
            let array = &body.buffers[buffer.index()].name;
            let message = format!(
                "`{}` is a part of `{array}` and takes {} subscript{}, and {}",
                name.name,
                axes.len(),
                if axes.len() == 1 { "" } else { "s" },
                crate::scope::given(indices.len())
            );
            return Err(self.report(Diagnostic::error(codes::ARITY, span, message)));
        }
        let mut at = Vec::new();
        for (i, (start, _)) in indices.iter().zip(axes) {
            let offset = self.subscript(body, i)?;
            at.push(sum(start.clone(), offset));
        }
        Ok(at)
    }

    /// A window that is lent, or a part of it.
    pub(crate) fn part_of_window(
        &mut self,
        body: &Body,
        name: &Ident,
        axes: Vec<(Ix, Ix)>,
        indices: Option<&[Index]>,
        span: Span,
    ) -> Done<Vec<(Ix, Ix)>> {
        let Some(indices) = indices else { return Ok(axes) };
        let inner = self.window(body, name, indices, axes.len(), span)?;
        Ok(axes.into_iter().zip(inner).map(|((start, _), (lo, len))| (sum(start, lo), len)).collect())
    }
}

/// A sum, without adding 0.
fn sum(a: Ix, b: Ix) -> Ix {
    match (a, b) {
        (a, Ix::Lit(0)) => a,
        (Ix::Lit(0), b) => b,
        (a, b) => Ix::Add(Box::new(a), Box::new(b)),
    }
}
