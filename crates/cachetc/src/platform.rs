//! `cachetc platform`: the machines that are described, one description with its sources, and a draft of this machine's.

mod draft;

use crate::{ErrorFormat, OK, REFUSED, terminal};
use cachet::{library, world::Disk};
use cachet_frontend::Files;
use cachet_machine::platform::{DEVICE_FIELDS, Field, LEVEL_FIELDS, Platform, Target, UNIT_FIELDS};
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

/// The parts of a platform in the order of the file, each with its title, its targets and its numbers, and what those
/// count.
fn sections(p: &Platform) -> Vec<(String, &[Field], &'static [(&'static str, &'static str)])> {
    let mut out = Vec::new();
    for l in &p.levels {
        out.push((format!("level {}", l.name), l.fields.as_slice(), LEVEL_FIELDS));
    }
    for u in &p.units {
        out.push((format!("unit {}", u.name), u.fields.as_slice(), UNIT_FIELDS));
    }
    for d in &p.devices {
        let arithmetic = if d.flush_subnormals { ", flushes subnormals" } else { "" };
        let title = format!("device {}, {}{arithmetic}", d.name, targets(&d.targets));
        out.push((title, d.fields.as_slice(), DEVICE_FIELDS));
        for u in &d.units {
            out.push((format!("unit {} of {}", u.name, d.name), u.fields.as_slice(), UNIT_FIELDS));
        }
        for l in &d.levels {
            out.push((format!("level {} of {}", l.name, d.name), l.fields.as_slice(), LEVEL_FIELDS));
        }
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
    let width = |cell: &dyn Fn(&Field) -> String, least: usize| {
        sections.iter().flat_map(|s| s.1).map(|f| cell(f).len()).max().unwrap_or(0).max(least)
    };
    let names = width(&Field::written, 8);
    let values = width(&|f| f.value.to_string(), 4);
    let mut out = format!("{}, {from}\n{}\n", p.name, targets(&p.targets));
    for (title, fields, known) in &sections {
        out.push_str(&format!("{title}\n"));
        for f in *fields {
            let source = f.source.as_deref().unwrap_or("no source");
            let what = counts(f, known);
            out.push_str(&format!("  {:names$}  {:values$}  {what}: {source}\n", f.written(), f.value));
        }
    }
    out
}

fn to_json(from: &str, p: &Platform) -> Value {
    let target = |t: &Target| json!({ "name": t.name, "features": t.features });
    let mut numbers = Vec::new();
    let known = |of: &str| match (p.levels.iter().any(|l| l.name == of), p.device(of).is_some()) {
        (true, _) => LEVEL_FIELDS,
        (_, true) => DEVICE_FIELDS,
        (false, false) => UNIT_FIELDS,
    };
    for (of, fields) in p.everything() {
        let counted = match of.split_once(" @") {
            Some((device, part)) if p.device(device).is_some_and(|d| d.levels.iter().any(|l| l.name == part)) => {
                LEVEL_FIELDS
            }
            Some(_) => UNIT_FIELDS,
            None => known(&of),
        };
        for f in fields {
            numbers.push(json!({
                "of": of, "field": f.name, "at": f.elem.map(|e| e.to_string()), "value": f.value,
                "counts": counts(f, counted), "source": f.source,
            }));
        }
    }
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
