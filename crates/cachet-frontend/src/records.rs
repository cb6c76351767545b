//! Records: several words under one name. A record is a tuple of its fields in the order of their declaration; two
//! records are two types, whatever their fields.

use crate::elaborate::{Body, Done, Reported, World};
use crate::scope::{self, ItemRef};
use crate::tree::Tree;
use cachet_core::ir::{Parts, Record, RecordInfo, Ty};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{self, Expr, ExprKind, FieldInit, Ident, Item};

/// The most fields that a record may have, its records' fields among them.
const MAX_FIELDS: usize = 64;
/// How deep records may hold one another.
const MAX_NESTING: usize = 8;

/// A record's declaration.
pub(crate) fn item(world: &mut World<'_>, r: ItemRef) -> Done<()> {
    let loaded = world.loaded;
    match &loaded.units[r.unit].ast.items[r.item] {
        Item::Record(i) => world.record(r, &i.name).map(|_| ()),
        _ => Ok(()),
    }
}

impl World<'_> {
    /// The type that a record's name means. It is elaborated at its first use, so that the order in a file is free.
    pub(crate) fn record(&mut self, r: ItemRef, used: &Ident) -> Done<Ty> {
        if self.refused.contains(&r) {
            return Err(Reported);
        }
        if let Some(ty) = self.records.get(&r) {
            return Ok(ty.clone());
        }
        let loaded = self.loaded;
        let Item::Record(i) = &loaded.units[r.unit].ast.items[r.item] else { return Err(Reported) };
        if self.pending.contains(&r) {
            let message = format!("`{}` holds itself, so its values would never end", used.name);
            return Err(self.report(Diagnostic::error(codes::RECURSION, used.span, message)));
        }
        self.pending.push(r);
        let made = self.declared(r, i);
        self.pending.pop();
        match made {
            Ok(ty) => {
                self.records.insert(r, ty.clone());
                Ok(ty)
            }
            Err(reported) => {
                self.refused.insert(r);
                Err(reported)
            }
        }
    }

    fn declared(&mut self, r: ItemRef, i: &ast::Record) -> Done<Ty> {
        let body = Body::new(r.unit);
        let (mut fields, mut types): (Vec<String>, Vec<Ty>) = (vec![], vec![]);
        for f in &i.fields {
            if fields.contains(&f.name.name) {
                let message = format!("`{}` has two fields `{}`", i.name.name, f.name.name);
                return Err(self.report(Diagnostic::error(codes::DUPLICATE_NAME, f.name.span, message)));
            }
            types.push(self.word_type(&body, &f.ty)?);
            fields.push(f.name.name.clone());
        }
        let count: usize = types.iter().map(leaves).sum();
        if count > MAX_FIELDS || types.iter().any(|t| nesting(t) >= MAX_NESTING) {
            let message = format!(
                "`{}` is too large: a record has at most {MAX_FIELDS} fields in all and nests at most {MAX_NESTING} deep",
                i.name.name
            );
            return Err(self.report(Diagnostic::error(codes::LIMIT, i.name.span, message)));
        }
        let id = Record(self.module.program.records.len() as u32);
        self.module.program.records.push(RecordInfo { name: i.name.name.clone(), fields });
        Ok(Ty::Tuple(Parts::of(id, types)))
    }

    /// `Pair { value = x, index }`.
    pub(crate) fn record_literal(&mut self, body: &mut Body, name: &Ident, given: &[FieldInit]) -> Done<(Tree, Ty)> {
        let ty = self.record_named(body, name)?;
        let Ty::Tuple(parts) = &ty else { return Err(Reported) };
        let fields = parts.info(&self.module.program).map(|r| r.fields.clone()).unwrap_or_default();
        for (n, g) in given.iter().enumerate() {
            if !fields.contains(&g.name.name) {
                return Err(self.no_field(&g.name, &name.name, &fields));
            }
            if let Some(first) = given[..n].iter().find(|o| o.name.name == g.name.name) {
                let message = format!("the field `{}` is given twice", g.name.name);
                let d = Diagnostic::error(codes::DUPLICATE_NAME, g.name.span, message);
                return Err(self.report(d.also(first.span, "the first")));
            }
        }
        let missing: Vec<&str> =
            fields.iter().filter(|f| !given.iter().any(|g| g.name.name == **f)).map(String::as_str).collect();
        if !missing.is_empty() {
            let message = match missing.as_slice() {
                [one] => format!("the field `{one}` of `{}` is missing", name.name),
                all => format!("the fields {} of `{}` are missing", listed(all), name.name),
            };
            let d = Diagnostic::error(codes::FIELD, name.span, message);
            return Err(self.report(d.note("a record is made whole: every field is given, in any order")));
        }
        let mut words = Vec::new();
        for (field, ty) in fields.iter().zip(parts.iter()) {
            let Some(g) = given.iter().find(|g| g.name.name == *field) else { return Err(Reported) };
            let word = match &g.value {
                Some(value) => self.word_of(body, value, ty)?,
                None => self.word_of(body, &Expr::new(ExprKind::Name(g.name.clone()), g.name.span), ty)?,
            };
            words.push(word);
        }
        Ok((Tree::Tuple(words), ty))
    }

    fn record_named(&mut self, body: &Body, name: &Ident) -> Done<Ty> {
        match self.scope.find(body.unit, &name.name) {
            Some(r) if self.item(r) == "a record" => self.record(r, name),
            Some(r) => {
                let message = format!("`{}` is {}, not a record", name.name, self.item(r));
                Err(self.report(Diagnostic::error(codes::TYPE_MISMATCH, name.span, message)))
            }
            None => {
                let known: Vec<String> = self.module.program.records.iter().map(|r| r.name.clone()).collect();
                Err(self.report(scope::unknown(name, "record", known.iter().map(String::as_str))))
            }
        }
    }

    /// `p.value`.
    pub(crate) fn field(&mut self, body: &mut Body, base: &Expr, field: &Ident, span: Span) -> Done<(Tree, Ty)> {
        let (tree, ty) = self.word(body, base, None)?;
        let record = match &ty {
            Ty::Tuple(parts) => parts.info(&self.module.program).map(|r| (parts.clone(), r.clone())),
            Ty::Elem(_) | Ty::Abstract(_) => None,
        };
        let Some((parts, info)) = record else {
            let text = self.ty_text(body, &ty);
            let message = format!("this is {text}, which has no fields");
            return Err(self.report(Diagnostic::error(codes::FIELD, span, message)));
        };
        match info.fields.iter().position(|f| *f == field.name) {
            Some(n) => Ok((tree.part(n as u32), parts[n].clone())),
            None => Err(self.no_field(field, &info.name, &info.fields)),
        }
    }

    fn no_field(&mut self, field: &Ident, record: &str, fields: &[String]) -> Reported {
        let message = format!("`{record}` has no field `{}`", field.name);
        let mut d = Diagnostic::error(codes::FIELD, field.span, message);
        d = match scope::nearest(&field.name, fields.iter().map(String::as_str)) {
            Some(near) => d.help(format!("did you mean `{near}`?")),
            None => {
                let names: Vec<&str> = fields.iter().map(String::as_str).collect();
                d.note(format!("it has {}", listed(&names)))
            }
        };
        self.report(d)
    }
}

/// `` `a`, `b` and `c` ``.
fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    match quoted.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => quoted.concat(),
    }
}

/// How many elements a word of the type has.
fn leaves(ty: &Ty) -> usize {
    match ty {
        Ty::Elem(_) | Ty::Abstract(_) => 1,
        Ty::Tuple(parts) => parts.iter().map(leaves).sum(),
    }
}

fn nesting(ty: &Ty) -> usize {
    match ty {
        Ty::Elem(_) | Ty::Abstract(_) => 0,
        Ty::Tuple(parts) => 1 + parts.iter().map(nesting).max().unwrap_or(0),
    }
}
