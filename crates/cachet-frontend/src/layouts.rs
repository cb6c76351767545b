//! Layouts: what they declare, and what `in PanelMajor 4` means at a parameter.
//!
//! A layout is written with `split` and `order` alone, so that different elements have different places whatever its
//! numbers are; a formula would have to be proved so.

use crate::elaborate::{Body, Done, Meaning, Reported, World};
use crate::scope::{self, ItemRef};
use cachet_core::ir::{Ix, Layout, LayoutOp};
use cachet_source::{Diagnostic, codes};
use cachet_syntax::ast::{self, Ident, Item, Type, TypeArg, TypeKind};

/// One row after another, for any number of axes: what an array has of which nothing is said.
const ROW_MAJOR: &str = "RowMajor";
/// The layouts of the library.
const LIBRARY: [&str; 2] = ["PanelMajor", "ColumnPanels"];
/// The largest group: a layout fills up no more than that.
const MOST_IN_A_GROUP: i64 = 1 << 20;
/// The most operations of a layout.
const MOST_OPERATIONS: usize = 16;

/// Whether a declaration makes sense, whatever its numbers.
pub(crate) fn item(world: &mut World<'_>, r: ItemRef) -> Done<()> {
    let loaded = world.loaded;
    let Item::Layout(l) = &loaded.units[r.unit].ast.items[r.item] else { return Ok(()) };
    let mut names: Vec<&str> = Vec::new();
    for name in l.params.iter().chain(&l.axes) {
        if names.contains(&name.name.as_str()) {
            return Err(world.report(twice(name)));
        }
        names.push(&name.name);
    }
    if l.ops.len() > MOST_OPERATIONS {
        let message = format!("a layout has at most {MOST_OPERATIONS} lines");
        return Err(world.report(Diagnostic::error(codes::LIMIT, l.span, message)));
    }
    // Numbers are checked where they are given.
    let mut axes: Vec<&str> = l.axes.iter().map(|a| a.name.as_str()).collect();
    for op in &l.ops {
        match op {
            ast::LayoutOp::Split { axis, name, .. } => {
                let at = position(world, &axes, axis)?;
                if names.contains(&name.name.as_str()) {
                    return Err(world.report(twice(name)));
                }
                names.push(&name.name);
                axes.insert(at, &name.name);
            }
            ast::LayoutOp::Order { axes: order, span } => {
                let mut put: Vec<usize> = Vec::new();
                for a in order {
                    let at = position(world, &axes, a)?;
                    if put.contains(&at) {
                        return Err(world.report(twice(a)));
                    }
                    put.push(at);
                }
                if let Some(left) = (0..axes.len()).find(|n| !put.contains(n)) {
                    let message = format!("the order leaves out the axis `{}`", axes[left]);
                    let d = Diagnostic::error(codes::SIZE, *span, message);
                    return Err(world.report(d.help("name every axis, the slowest first")));
                }
                axes = put.iter().map(|at| axes[*at]).collect();
            }
        }
    }
    Ok(())
}

fn twice(name: &Ident) -> Diagnostic {
    Diagnostic::error(codes::DUPLICATE_NAME, name.span, format!("`{}` is named twice", name.name))
}

fn position(world: &mut World<'_>, axes: &[&str], name: &Ident) -> Done<usize> {
    match axes.iter().position(|a| *a == name.name) {
        Some(at) => Ok(at),
        None => Err(world.report(scope::unknown(name, "axis", axes.iter().copied()))),
    }
}

impl World<'_> {
    /// The layout that is written at an array with so many axes.
    pub(crate) fn layout(&mut self, body: &Body, written: &Type, rank: usize) -> Done<Layout> {
        let TypeKind::Named { path, args } = &written.kind else {
            let message = "a layout is wanted here: `PanelMajor 4`";
            return Err(self.report(Diagnostic::error(codes::TYPE_MISMATCH, written.span, message)));
        };
        let name = path.text();
        let loaded = self.loaded;
        let found = self.scope.find(body.unit, &name);
        if found.is_none() && args.is_empty() && name == ROW_MAJOR {
            return Ok(Layout::RowMajor);
        }
        let declared = found.and_then(|r| match &loaded.units[r.unit].ast.items[r.item] {
            Item::Layout(l) => Some((r, l)),
            _ => None,
        });
        let Some((r, l)) = declared else { return Err(self.no_layout(body, written, &name, found)) };
        if self.refused.contains(&r) {
            return Err(Reported);
        }
        if l.params.len() != args.len() {
            let message = format!("`{name}` takes {}, and {}", numbers(l.params.len()), scope::given(args.len()));
            return Err(self.report(Diagnostic::error(codes::ARITY, written.span, message).also(l.name.span, "")));
        }
        if l.axes.len() != rank {
            let message = format!("`{name}` lays out {}, and this array has {rank}", axes(l.axes.len()));
            return Err(self.report(Diagnostic::error(codes::SIZE, written.span, message).also(l.name.span, "")));
        }
        let mut inside = Body::new(r.unit);
        let mut values = Vec::new();
        for (param, arg) in l.params.iter().zip(args) {
            let n = self.layout_number(body, arg)?;
            inside.bind(param, Meaning::Ix(Ix::Lit(n)));
            values.push(n.to_string());
        }
        let name = std::iter::once(name).chain(values).collect::<Vec<_>>().join(" ");
        let ops = self.layout_ops(&mut inside, l, written)?;
        Ok(Layout::Named { name, ops })
    }

    fn no_layout(&mut self, body: &Body, written: &Type, name: &str, found: Option<ItemRef>) -> Reported {
        if let Some(r) = found {
            if self.refused.contains(&r) {
                return Reported;
            }
            let message = format!("`{name}` is {}, and a layout is wanted here", self.item(r));
            return self.report(Diagnostic::error(codes::TYPE_MISMATCH, written.span, message));
        }
        let known: Vec<String> = self.scope.names(body.unit).map(String::from).collect();
        let ident = Ident { name: name.to_string(), span: written.span };
        let mut d = scope::unknown(&ident, "layout", known.iter().map(String::as_str));
        if LIBRARY.contains(&name) {
            d = d.help("it comes with `import \"cachet:layouts\"`");
        }
        self.report(d)
    }

    fn layout_ops(&mut self, inside: &mut Body, l: &ast::Layout, written: &Type) -> Done<Vec<LayoutOp>> {
        let mut axes: Vec<&str> = l.axes.iter().map(|a| a.name.as_str()).collect();
        let mut ops = Vec::new();
        for op in &l.ops {
            match op {
                ast::LayoutOp::Split { axis, by, pad, back, name, span: _ } => {
                    let at = position(self, &axes, axis)?;
                    let by = match self.ix(inside, by)? {
                        Ix::Lit(n) if (1..=MOST_IN_A_GROUP).contains(&n) => n,
                        Ix::Lit(n) => {
                            let message = format!(
                                "a layout makes groups of 1 to {MOST_IN_A_GROUP}, and `{}` would be split by {n}",
                                axis.name
                            );
                            let d = Diagnostic::error(codes::SIZE, written.span, message).also(by.span, "");
                            return Err(self.report(d));
                        }
                        _ => {
                            let message = "the length of a group is a number";
                            return Err(self.report(Diagnostic::error(codes::SIZE, by.span, message)));
                        }
                    };
                    ops.push(LayoutOp::Split { axis: at as u32, by, pad: *pad, back: *back });
                    axes.insert(at, &name.name);
                }
                ast::LayoutOp::Order { axes: order, span: _ } => {
                    let put = order.iter().map(|a| position(self, &axes, a)).collect::<Done<Vec<_>>>()?;
                    axes = put.iter().map(|at| axes[*at]).collect();
                    ops.push(LayoutOp::Order(put.into_iter().map(|at| at as u32).collect()));
                }
            }
        }
        Ok(ops)
    }

    /// A layout's number: a literal, or an expression of constants.
    fn layout_number(&mut self, body: &Body, arg: &TypeArg) -> Done<i64> {
        let expr = match arg {
            TypeArg::Size(e) => Some(e.clone()),
            TypeArg::Type(t) => t.as_path().and_then(|p| p.as_ident()).map(|name| ast::Expr {
                kind: ast::ExprKind::Name(name.clone()),
                span: name.span,
                parenthesised: false,
            }),
        };
        let value = match &expr {
            Some(e) => self.ix(&Body::new(body.unit), e)?,
            None => Ix::Lit(-1),
        };
        match value {
            Ix::Lit(n) if n >= 0 => Ok(n),
            _ => {
                let d = Diagnostic::error(codes::SIZE, arg.span(), "a layout's numbers are literals or constants");
                Err(self.report(d))
            }
        }
    }
}

fn numbers(n: usize) -> String {
    format!("{n} {}", if n == 1 { "number" } else { "numbers" })
}

fn axes(n: usize) -> String {
    format!("{n} {}", if n == 1 { "axis" } else { "axes" })
}
