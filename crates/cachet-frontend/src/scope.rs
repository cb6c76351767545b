//! Which name means what: a file sees its own items and those of the files it imports, not further.

use crate::imports::Loaded;
pub(crate) use cachet_source::nearest;
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{Ident, Item};
use std::collections::{BTreeMap, BTreeSet};

/// An item: the file's position and the item's in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ItemRef {
    pub unit: usize,
    pub item: usize,
}

/// What each file sees.
pub(crate) struct Scope {
    visible: Vec<BTreeMap<String, ItemRef>>,
    /// Second definitions of a name in one file.
    pub repeated: BTreeSet<ItemRef>,
}

impl Scope {
    /// Reports clashes: within a file, and between a file and what it imports. Steps of one name in one library module
    /// are overloads and no clash.
    pub fn new(loaded: &Loaded, out: &mut Vec<Diagnostic>) -> Scope {
        let own: Vec<Vec<(String, Span, ItemRef, bool)>> =
            (0..loaded.units.len()).map(|u| names_of(loaded, u)).collect();
        let mut visible = Vec::new();
        let mut repeated = BTreeSet::new();
        for (u, unit) in loaded.units.iter().enumerate() {
            let mut seen: BTreeMap<String, (Span, ItemRef, bool)> = BTreeMap::new();
            let all = own[u].iter().chain(unit.imports.iter().flat_map(|i| &own[*i]));
            for (name, span, item, step) in all {
                match seen.get(name) {
                    None => {
                        seen.insert(name.clone(), (*span, *item, *step));
                    }
                    Some((_, other, true)) if *step && other.unit == item.unit => {}
                    Some((_, other, _)) if other == item => {}
                    Some((other, first, _)) => {
                        if item.unit == u && first.unit == u {
                            repeated.insert(*item);
                        }
                        let (here, there) = if item.unit == u { (*span, *other) } else { (*other, *span) };
                        out.push(
                            Diagnostic::error(codes::DUPLICATE_NAME, here, format!("`{name}` is defined twice"))
                                .also(there, "and here"),
                        );
                    }
                }
            }
            visible.push(seen.into_iter().map(|(n, (_, i, _))| (n, i)).collect());
        }
        steps_apart(&own, out);
        Scope { visible, repeated }
    }

    /// What a name means in a file.
    pub fn find(&self, unit: usize, name: &str) -> Option<ItemRef> {
        self.visible[unit].get(name).copied()
    }

    /// The names that a file sees, for suggestions.
    pub fn names(&self, unit: usize) -> impl Iterator<Item = &str> {
        self.visible[unit].keys().map(String::as_str)
    }
}

/// A schedule finds its steps by name, whichever file they come from: two files may not define one each.
fn steps_apart(own: &[Vec<(String, Span, ItemRef, bool)>], out: &mut Vec<Diagnostic>) {
    let told: BTreeSet<Span> = out.iter().flat_map(|d| d.labels.iter().map(|l| l.span)).collect();
    let mut seen: BTreeMap<&str, (usize, Span)> = BTreeMap::new();
    for (name, span, item, _) in own.iter().flatten().filter(|(.., step)| *step) {
        let (unit, first) = *seen.entry(name).or_insert((item.unit, *span));
        if unit != item.unit && !told.contains(span) {
            let message = format!("two files define a step `{name}`");
            let d = Diagnostic::error(codes::DUPLICATE_NAME, *span, message).also(first, "and here");
            out.push(d.help("rename one: a schedule finds its steps by name, whichever file they come from"));
        }
    }
}

fn names_of(loaded: &Loaded, unit: usize) -> Vec<(String, Span, ItemRef, bool)> {
    let items = loaded.units[unit].ast.items.iter().enumerate();
    let named = items.flat_map(|(i, item)| {
        let step = matches!(item, Item::StepFn(_));
        item.names().into_iter().map(move |n| (n.name.clone(), n.span, ItemRef { unit, item: i }, step))
    });
    named.collect()
}

/// `1 is given`, `2 are given`.
pub(crate) fn given(n: usize) -> String {
    format!("{n} {} given", if n == 1 { "is" } else { "are" })
}

/// An unknown name, with the nearest known one.
pub(crate) fn unknown<'a>(name: &Ident, what: &str, known: impl Iterator<Item = &'a str>) -> Diagnostic {
    let d = Diagnostic::error(codes::UNKNOWN_NAME, name.span, format!("there is no {what} `{}` here", name.name));
    match nearest(&name.name, known) {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d,
    }
}
