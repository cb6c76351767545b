//! `cachetc platform`: the machines that are described, one description with its sources, and a draft of this machine's.

mod draft;

use crate::{ErrorFormat, OK, REFUSED, terminal};
use cachet::{library, world::Disk};
use cachet_frontend::Files;
use cachet_machine::platform::{DEVICE_FIELDS, Device, Field, LEVEL_FIELDS, Part, Platform, Target, UNIT_FIELDS};
use cachet_runtime::{Llvm, write_file};
use cachet_source::{Diagnostic, Sources};
use clap::Subcommand;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What is asked of the descriptions of machines.
#[derive(Subcommand)]
pub enum Action {
    /// The descriptions that come with the compiler, and how they are imported.
    List,
    /// Every number of a description, with its source.
    Show {
        /// A platform's name, or a file that describes some.
        name: String,
        /// The same facts for tools.
        #[arg(long)]
        json: bool,
    },
    /// Measure this machine for some seconds and draft its description.
    Detect {
        /// The file to write; it must not exist. Without it the draft is printed.
        #[arg(short, long)]
        output: Option<PathBuf>,
        /// The platform's name.
        #[arg(long)]
        name: Option<String>,
    },
}

/// Does what is asked.
pub fn run(action: &Action, format: ErrorFormat) -> u8 {
    match action {
        Action::List => list(),
        Action::Show { name, json } => show(name, *json, format),
        Action::Detect { output, name } => detect(output.as_deref(), name.as_deref(), format),
    }
}

/// A text as the root file; what it imports comes from the library.
struct Root(String);

impl Files for Root {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Ok(self.0.clone().into_bytes())
    }

    fn identity(&self, path: &Path) -> PathBuf {
        path.to_path_buf()
    }

    fn library(&self, name: &str) -> Option<Vec<(&'static str, &'static str)>> {
        library::files(name)
    }
}

/// Every description that comes with the compiler, with the module to import.
fn shipped() -> Vec<(&'static str, Platform)> {
    let one = |(module, _): (&'static str, &'static str)| {
        let (platforms, _) = described(&format!("import \"{module}\"\n"));
        platforms.into_iter().map(move |p| (module, p))
    };
    library::platforms().flat_map(one).collect()
}

/// What a text describes.
fn described(text: &str) -> (Vec<Platform>, Vec<Diagnostic>) {
    cachet_frontend::platforms("platform", &Root(text.to_string()), &mut Sources::new())
}

fn list() -> u8 {
    for (module, p) in shipped() {
        let targets: Vec<&str> = p.targets.iter().map(|t| t.name.as_str()).collect();
        let mut line = format!("{:14} import \"{module}\"  for {}", p.name, targets.join(", "));
        if !p.devices.is_empty() {
            let devices: Vec<&str> = p.devices.iter().map(|d| d.name.as_str()).collect();
            line.push_str(&format!(", with {}", devices.join(" and ")));
        }
        terminal::say(&line);
    }
    OK
}

fn show(name: &str, as_json: bool, format: ErrorFormat) -> u8 {
    let found: Vec<(String, Platform)> = if name.ends_with(".cachet") {
        let mut sources = Sources::new();
        let (platforms, problems) = cachet_frontend::platforms(name, &Disk::default(), &mut sources);
        terminal::reports(&sources, &problems, format);
        if problems.iter().any(Diagnostic::refuses) {
            return REFUSED;
        }
        platforms.into_iter().map(|p| (name.to_string(), p)).collect()
    } else {
        let named = |(module, p): &(&str, Platform)| p.name == name || module.rsplit('/').next() == Some(name);
        shipped().into_iter().filter(named).map(|(module, p)| (module.to_string(), p)).collect()
    };
    if found.is_empty() {
        let known: Vec<String> = shipped().into_iter().map(|(_, p)| p.name).collect();
        let help = format!("there are {}; or name a file that ends in `.cachet`", known.join(", "));
        return terminal::unable(format, &format!("no platform `{name}` is described"), Some(&help));
    }
    if as_json {
        let all: Vec<Value> = found.iter().map(|(from, p)| to_json(from, p)).collect();
        terminal::say(&Value::Array(all).to_string());
    } else {
        let all: Vec<String> = found.iter().map(|(from, p)| table(from, p)).collect();
        terminal::print(&all.join("\n"));
    }
    OK
}

/// A level, a unit or a device with its numbers.
struct Section<'a> {
    /// As a program names it after `@`: `Vec`, `H100 @Shared`.
    of: String,
    title: String,
    fields: &'a [Field],
    /// What the numbers count.
    known: &'static [(&'static str, &'static str)],
}

/// Everything of a platform that has numbers.
fn sections(p: &Platform) -> Vec<Section<'_>> {
    let part = |what: &str, part: &'_ Part, device: Option<&Device>, known| {
        let (of, title) = match device {
            None => (part.name.clone(), format!("{what} {}", part.name)),
            Some(d) => (format!("{} @{}", d.name, part.name), format!("{what} {} of {}", part.name, d.name)),
        };
        (of, title, known)
    };
    let section = |(of, title, known), fields| Section { of, title, fields, known };
    let mut out = Vec::new();
    out.extend(p.levels.iter().map(|l| section(part("level", l, None, LEVEL_FIELDS), l.fields.as_slice())));
    out.extend(p.units.iter().map(|u| section(part("unit", u, None, UNIT_FIELDS), u.fields.as_slice())));
    for d in &p.devices {
        let arithmetic = if d.flush_subnormals { ", flushes subnormals" } else { "" };
        let title = format!("device {}, {}{arithmetic}", d.name, targets(&d.targets));
        out.push(section((d.name.clone(), title, DEVICE_FIELDS), &d.fields));
        out.extend(d.units.iter().map(|u| section(part("unit", u, Some(d), UNIT_FIELDS), u.fields.as_slice())));
        out.extend(d.levels.iter().map(|l| section(part("level", l, Some(d), LEVEL_FIELDS), l.fields.as_slice())));
    }
    out
}

fn targets(all: &[Target]) -> String {
    let one = |t: &Target| match t.features.as_slice() {
        [] => t.name.clone(),
        some => format!("{} with {}", t.name, some.join(", ")),
    };
    all.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// What a number of this name counts.
fn counts(field: &Field, known: &[(&'static str, &'static str)]) -> &'static str {
    known.iter().find(|(name, _)| *name == field.name).map_or("", |(_, what)| what)
}

fn table(from: &str, p: &Platform) -> String {
    let sections = sections(p);
    let width = |cell: &dyn Fn(&Field) -> String| {
        sections.iter().flat_map(|s| s.fields).map(|f| cell(f).len()).max().unwrap_or(0)
    };
    let names = width(&Field::written);
    let values = width(&|f| f.value.to_string());
    let mut out = format!("{}, {from}\n{}\n", p.name, targets(&p.targets));
    for s in &sections {
        out.push_str(&format!("{}\n", s.title));
        for f in s.fields {
            let source = f.source.as_deref().unwrap_or("no source");
            let what = counts(f, s.known);
            out.push_str(&format!("  {:names$}  {:values$}  {what}: {source}\n", f.written(), f.value));
        }
    }
    out
}

fn to_json(from: &str, p: &Platform) -> Value {
    let target = |t: &Target| json!({ "name": t.name, "features": t.features });
    let number = |s: &Section<'_>, f: &Field| {
        json!({
            "of": s.of, "field": f.name, "at": f.elem.map(|e| e.to_string()), "value": f.value,
            "counts": counts(f, s.known), "source": f.source,
        })
    };
    let sections = sections(p);
    let numbers: Vec<Value> = sections.iter().flat_map(|s| s.fields.iter().map(move |f| number(s, f))).collect();
    let devices: Vec<Value> = p
        .devices
        .iter()
        .map(|d| {
            let targets: Vec<Value> = d.targets.iter().map(target).collect();
            json!({ "name": d.name, "targets": targets, "flush_subnormals": d.flush_subnormals })
        })
        .collect();
    let targets: Vec<Value> = p.targets.iter().map(target).collect();
    json!({ "name": p.name, "from": from, "targets": targets, "devices": devices, "numbers": numbers })
}

fn detect(output: Option<&Path>, name: Option<&str>, format: ErrorFormat) -> u8 {
    if let Some(file) = output.filter(|f| f.exists()) {
        let message = format!("`{}` exists", file.display());
        return terminal::unable(format, &message, Some("name another file: nothing that exists is overwritten"));
    }
    let detected = match Llvm::load().and_then(|llvm| cachet_runtime::detect(&llvm)) {
        Ok(detected) => detected,
        Err(e) => return terminal::unable(format, &e.message, e.fix.as_deref()),
    };
    let name = name.map_or_else(|| draft::name(&detected.cpu), str::to_string);
    let text = draft::text(&detected, &name);
    let (platforms, problems) = described(&text);
    if !problems.is_empty() || platforms.len() != 1 {
        let why = problems.first().map_or("it describes no platform", |d| d.message.as_str());
        let message = format!("a description under the name `{name}` would be refused: {why}");
        return terminal::unable(format, &message, Some("choose a name of letters and digits: `--name MyMachine`"));
    }
    let Some(file) = output else {
        terminal::print(&text);
        return OK;
    };
    if let Err(e) = write_file(file, text.as_bytes()) {
        return terminal::unable(format, &e.message, e.fix.as_deref());
    }
    let (shown, seconds) = (file.display(), detected.taken.as_secs_f64());
    terminal::say(&format!("{shown}: platform {name}, measured in {seconds:.1} s; next: cachetc check {shown}"));
    OK
}
