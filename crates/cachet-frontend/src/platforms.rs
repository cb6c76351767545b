//! Platforms: what a platform file says, the one that the root file names, and `platform.lanes @Vec @f32`.

use crate::elaborate::{Done, ELEMS, Reported, World};
use crate::numbers::Numbers;
use crate::scope::{self, ItemRef};
use cachet_core::ir::{Elem, Level};
use cachet_machine::platform::{
    DEVICE_FIELDS, Device, Field, LEVEL_FIELDS, Missing, Part, Platform, Target, UNIT_FIELDS,
};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{self, DeviceEntry, Expr, ExprKind, Ident, Item, PlatformEntry, TargItem};

/// The memory level that everything is in of which nothing is said.
pub(crate) const OUTERMOST: &str = "DRAM";

/// The numbers of a platform's entries.
type Known = &'static [(&'static str, &'static str)];

/// A platform.
pub(crate) fn item(world: &mut World<'_>, r: ItemRef) -> Done<()> {
    let loaded = world.loaded;
    let Item::Platform(p) = &loaded.units[r.unit].ast.items[r.item] else { return Ok(()) };
    let mut made = Platform { name: p.name.name.clone(), ..Platform::default() };
    let mut names: Vec<&Ident> = Vec::new();
    for entry in &p.entries {
        match entry {
            PlatformEntry::Target(t) => made.targets.push(target(t)),
            PlatformEntry::Level(l) => {
                new(world, &mut names, &l.name)?;
                made.levels.push(level(world, r.unit, l)?);
            }
            PlatformEntry::Unit(u) => {
                new(world, &mut names, &u.name)?;
                made.units.push(unit_of(world, r.unit, u)?);
            }
            PlatformEntry::Device(d) => {
                new(world, &mut names, &d.name)?;
                made.devices.push(device(world, r.unit, d)?);
            }
        }
    }
    world.platforms.insert(r, made);
    Ok(())
}

/// The platform that the root file names, and that imported files name no other.
pub(crate) fn of_root(world: &mut World<'_>) {
    let loaded = world.loaded;
    let root = loaded.root();
    let Some(module) = &loaded.units[root].ast.module else { return };
    let name = &module.platform;
    let found = world.scope.find(root, &name.name);
    match found {
        Some(r) if world.platforms.contains_key(&r) => world.platform = Some(r),
        Some(r) if world.refused.contains(&r) => world.platform_refused = true,
        Some(r) => {
            let message = format!("`{}` is {}, and a platform is wanted here", name.name, world.item(r));
            world.out.push(Diagnostic::error(codes::TYPE_MISMATCH, name.span, message));
            world.platform_refused = true;
        }
        None => {
            let known: Vec<String> = world.platforms.values().map(|p| p.name.clone()).collect();
            let d = scope::unknown(name, "platform", known.iter().map(String::as_str));
            world.out.push(d.help("import the file that describes it: `import \"../platforms/zen4.cachet\"`"));
            world.platform_refused = true;
        }
    }
}

fn new<'a>(world: &mut World<'_>, names: &mut Vec<&'a Ident>, name: &'a Ident) -> Done<()> {
    if let Some(first) = names.iter().find(|n| n.name == name.name) {
        let d = Diagnostic::error(codes::DUPLICATE_NAME, name.span, format!("`{}` is described twice", name.name));
        return Err(world.report(d.also(first.span, "and here")));
    }
    names.push(name);
    Ok(())
}

fn target(t: &ast::Target) -> Target {
    Target { name: t.name.name.clone(), features: t.features.iter().map(|f| f.name.clone()).collect() }
}

fn level(world: &mut World<'_>, unit: usize, l: &ast::Level) -> Done<Part> {
    Ok(Part { name: l.name.name.clone(), fields: fields(world, unit, &l.fields, LEVEL_FIELDS)? })
}

fn unit_of(world: &mut World<'_>, unit: usize, u: &ast::Unit) -> Done<Part> {
    Ok(Part { name: u.name.name.clone(), fields: fields(world, unit, &u.fields, UNIT_FIELDS)? })
}

fn device(world: &mut World<'_>, unit: usize, d: &ast::Device) -> Done<Device> {
    let name = d.name.name.clone();
    let mut made =
        Device { name, targets: vec![], flush_subnormals: false, levels: vec![], units: vec![], fields: vec![] };
    let mut names: Vec<&Ident> = Vec::new();
    for entry in &d.entries {
        match entry {
            DeviceEntry::Target(t) => made.targets.push(target(t)),
            DeviceEntry::Level(l) => {
                new(world, &mut names, &l.name)?;
                made.levels.push(level(world, unit, l)?);
            }
            DeviceEntry::Unit(u) => {
                new(world, &mut names, &u.name)?;
                made.units.push(unit_of(world, unit, u)?);
            }
            DeviceEntry::Field(f) => add(world, unit, &mut made.fields, f, DEVICE_FIELDS)?,
            DeviceEntry::Arithmetic { words, span } => match words.as_slice() {
                [word] if word.name == "flush_subnormals" => made.flush_subnormals = true,
                _ => {
                    let message = "the arithmetic of a device is `flush_subnormals`, or that of the host";
                    return Err(world.report(Diagnostic::error(codes::SYNTAX, *span, message)));
                }
            },
        }
    }
    Ok(made)
}

fn fields(world: &mut World<'_>, unit: usize, all: &[ast::PlatformField], known: Known) -> Done<Vec<Field>> {
    let mut out: Vec<Field> = Vec::new();
    for f in all {
        add(world, unit, &mut out, f, known)?;
    }
    Ok(out)
}

/// One more number; each is said once.
fn add(world: &mut World<'_>, unit: usize, out: &mut Vec<Field>, f: &ast::PlatformField, known: Known) -> Done<()> {
    let made = field(world, unit, f, known)?;
    if out.iter().any(|o| o.name == made.name && o.elem == made.elem) {
        let message = format!("`{}` is said twice", made.written());
        return Err(world.report(Diagnostic::error(codes::DUPLICATE_NAME, f.span, message)));
    }
    out.push(made);
    Ok(())
}

fn field(world: &mut World<'_>, unit: usize, f: &ast::PlatformField, known: Known) -> Done<Field> {
    let name = &f.name;
    if !known.iter().any(|(k, _)| *k == name.name) {
        let all: Vec<String> = known.iter().map(|(k, what)| format!("{k} ({what})")).collect();
        let d = scope::unknown(name, "number", known.iter().map(|(k, _)| *k));
        return Err(world.report(d.note(format!("the numbers here are {}", all.join(", ")))));
    }
    let words = names_of(&f.targs).ok_or(f.span);
    let elem = match words {
        Ok(words) => match words.as_slice() {
            [] => None,
            [one] => Some(elem_named(world, one)?),
            [_, second, ..] => {
                let d = Diagnostic::error(codes::ARITY, second.span, "a number is about one element type at most");
                return Err(world.report(d));
            }
        },
        Err(span) => {
            let d = Diagnostic::error(codes::SYNTAX, span, "the name of an element type is wanted here: `lanes @f32`");
            return Err(world.report(d));
        }
    };
    let value = world.num(&mut Numbers::of_constants(unit), &f.value)?.value(&[]);
    match value.ok().and_then(|n| i64::try_from(n).ok()).filter(|n| *n >= 0) {
        Some(value) => {
            let source = f.source.as_ref().map(|s| s.value.clone());
            Ok(Field { name: name.name.clone(), elem, value, source })
        }
        None => {
            let message = format!("`{}` is a whole number from 0 to 2^63 - 1", name.name);
            Err(world.report(Diagnostic::error(codes::SIZE, f.value.span, message)))
        }
    }
}

/// The names after `@`; `None` where something else stands.
fn names_of(targs: &[ast::Targ]) -> Option<Vec<Ident>> {
    let one = |item: &TargItem| match item {
        TargItem::Path(p) => p.as_ident().cloned(),
        TargItem::Value(_) | TargItem::Bind { .. } => None,
    };
    targs.iter().flat_map(|t| &t.items).map(one).collect()
}

fn elem_named(world: &mut World<'_>, name: &Ident) -> Done<Elem> {
    match ELEMS.iter().find(|(e, _)| *e == name.name) {
        Some((_, e)) => Ok(*e),
        None => Err(world.report(scope::unknown(name, "element type", ELEMS.iter().map(|e| e.0)))),
    }
}

/// What stands after `@`, taken apart: a part or a device and its part, and an element type. The error is a word too many.
fn parted<'a>(platform: &Platform, words: &'a [Ident]) -> Result<(&'a [Ident], Option<&'a Ident>), &'a Ident> {
    let is_elem = |name: &Ident| ELEMS.iter().any(|(e, _)| *e == name.name) && !platform.has_part(&name.name);
    let in_device = |name: &Ident| platform.device(&name.name).is_some();
    match words {
        [] => Ok((words, None)),
        [one] if is_elem(one) => Ok((&[], Some(one))),
        [_] => Ok((words, None)),
        [first, second] if in_device(first) && !is_elem(second) => Ok((words, None)),
        [_, second] => Ok((&words[..1], Some(second))),
        [first, _, third] if in_device(first) => Ok((&words[..2], Some(third))),
        [_, _, third] | [_, _, _, third, ..] => Err(third),
    }
}

/// The report of a number that is not there.
fn without_number(
    platform: &Platform,
    e: &Expr,
    field: &Ident,
    (of, elem): (&[Ident], Option<Elem>),
    missing: Missing,
) -> Diagnostic {
    match missing {
        Missing::Part(name) => match of {
            [device, part] => {
                let inside = platform.device(&device.name).into_iter().flat_map(Device::inside);
                let d = scope::unknown(part, "level or unit", inside.map(|p| p.name.as_str()));
                d.note(format!("`{}` is a device of {}", device.name, platform.name))
            }
            [part] => scope::unknown(part, "unit, level or device", platform.parts()),
            _ => Diagnostic::error(codes::UNKNOWN_NAME, e.span, format!("the platform has no {name}")),
        },
        Missing::Several(of) => {
            let message = format!("`{}` is a number of {}", field.name, of.join(", "));
            Diagnostic::error(codes::AMBIGUOUS, e.span, message)
                .help(format!("say of which: `platform.{} @{}`", field.name, of[0]))
        }
        Missing::Field { of, known } => {
            let what = elem.map_or(String::new(), |e| format!(" at {e}"));
            let message = format!("the platform {} does not say `{}` of {of}{what}", platform.name, field.name);
            let d = Diagnostic::error(codes::UNKNOWN_NAME, field.span, message);
            if known.is_empty() { d } else { d.note(format!("it says {}", known.join(", "))) }
        }
    }
}

impl World<'_> {
    /// `platform.field @unit @elem`: the value of a number of the root file's platform.
    pub(crate) fn platform_number(&mut self, unit: usize, e: &Expr) -> Done<i64> {
        let (head, targs): (&Expr, &[ast::Targ]) = match &e.kind {
            ExprKind::Apply { head, targs, args } if args.is_empty() => (head, targs),
            ExprKind::Apply { args, .. } => {
                let d = Diagnostic::error(codes::ARITY, args[0].span, "a number of the platform takes no arguments");
                return Err(self.report(d));
            }
            _ => (e, &[]),
        };
        let path = head.to_path();
        let Some([_, field]) = path.as_ref().map(|p| p.parts.as_slice()) else {
            let message = "a number of the platform is wanted here: `platform.lanes @Vec @f32`";
            return Err(self.report(Diagnostic::error(codes::SYNTAX, e.span, message)));
        };
        let Some(platform) = self.platform.and_then(|r| self.platforms.get(&r)).cloned() else {
            return Err(self.no_platform(unit, e.span));
        };
        let Some(words) = names_of(targs) else {
            let message = "the names of a unit or level and of an element type stand after `@`";
            return Err(self.report(Diagnostic::error(codes::SYNTAX, e.span, message)));
        };
        let (of, elem) = match parted(&platform, &words) {
            Ok(parted) => parted,
            Err(more) => {
                let message = "a unit or level and an element type stand after `@`, before them perhaps a device";
                return Err(self.report(Diagnostic::error(codes::ARITY, more.span, message)));
            }
        };
        let elem = match elem {
            Some(name) => Some(elem_named(self, name)?),
            None => None,
        };
        let path: Vec<&str> = of.iter().map(|p| p.name.as_str()).collect();
        match platform.number(&field.name, &path, elem) {
            Ok(n) => Ok(n),
            Err(missing) => {
                let d = without_number(&platform, e, field, (of, elem), missing);
                Err(self.report(d.also(self.described(), format!("{} is described here", platform.name))))
            }
        }
    }

    /// Where the root's platform is named by the file that describes it.
    fn described(&self) -> Span {
        let item = self.platform.map(|r| &self.loaded.units[r.unit].ast.items[r.item]);
        match item {
            Some(Item::Platform(p)) => p.name.span,
            _ => Span::default(),
        }
    }

    /// A memory level of the host: the outermost, or one of the platform's.
    pub(crate) fn level(&mut self, name: &Ident) -> Done<Level> {
        let platform = self.platform.and_then(|r| self.platforms.get(&r));
        if name.name == OUTERMOST || platform.is_some_and(|p| p.has_level(&name.name)) {
            return Ok(Level { name: name.name.clone(), device: cachet_core::ir::Device::HOST });
        }
        if self.platform_refused {
            return Err(Reported);
        }
        let d = match platform {
            Some(p) => {
                let levels: Vec<&str> = p.levels.iter().map(|l| l.name.as_str()).collect();
                scope::unknown(name, "memory level", levels.iter().copied()).note(format!(
                    "the levels of {} are {}",
                    p.name,
                    levels.join(", ")
                ))
            }
            None => {
                let message = format!("there is no memory level `{}`: this file names no platform", name.name);
                Diagnostic::error(codes::UNKNOWN_NAME, name.span, message)
                    .help("begin the file with `module (platform = NAME)`, and import the file that describes it")
            }
        };
        Err(self.report(d))
    }

    fn no_platform(&mut self, unit: usize, span: Span) -> Reported {
        if self.platform_refused {
            return Reported;
        }
        let root = self.loaded.root();
        let message = if unit == root {
            "this file names no platform"
        } else {
            "the file that is checked names no platform, and this one asks for numbers of it"
        };
        let d = Diagnostic::error(codes::UNKNOWN_NAME, span, message);
        self.report(d.help("begin the file with `module (platform = NAME)`, and import the file that describes it"))
    }
}
