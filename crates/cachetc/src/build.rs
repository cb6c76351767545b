//! `cachetc build`: files that programs in other languages link with.

use crate::run::problem;
use crate::{ErrorFormat, OK, REFUSED, UNABLE, terminal};
use cachet::artefacts::target::{self, Resolved, Wanted};
use cachet::artefacts::{self, LeftOut, Package, Request, header, manifest};
use cachet::native::{self, Problem};
use cachet::pipeline::Outcome;
use cachet_runtime::{ArchiveMember, Llvm, Module, OptLevel, ToolError, find_linker_for, write_archive, write_file};
use cachet_runtime::{link_executable_by, link_library};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// What to build.
#[derive(Args)]
pub struct Arguments {
    /// The root file.
    file: String,
    /// Only these contractions, schedules and functions.
    names: Vec<String>,
    /// A folder for everything that is built; or one file, if the name ends in `.o`, `.a`, `.so`, `.h`, `.json`, `.ll`, `.s` or `.d`.
    #[arg(short, long)]
    output: PathBuf,
    /// Only these files.
    #[arg(long, value_enum, value_delimiter = ',')]
    emit: Vec<Emit>,
    /// What the names of all functions and files begin with; by default the file's name.
    #[arg(long)]
    prefix: Option<String>,
    /// Rows of arrays may lie apart, as in a part of a larger matrix: each function takes how far.
    #[arg(long)]
    strided: bool,
    /// An implementation for type parameters that are not bound, as `PlusTimes f32`; again for several.
    #[arg(long)]
    with: Vec<String>,
    /// The machine to build for, as `aarch64-unknown-linux-gnu`; by default this one.
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// The processor to build for, by LLVM's name, as `x86-64-v3`, `znver4` or `neoverse-n1`; by default this machine's, or
    /// the oldest of the target that can do it.
    #[arg(long)]
    cpu: Option<String>,
    /// Features of the processor, each with `+` or `-`: `+avx512bf16`.
    #[arg(long, allow_hyphen_values = true)]
    features: Option<String>,
}

/// What can be built.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub enum Emit {
    /// A relocatable object, position independent.
    Obj,
    /// A static library.
    Static,
    /// A shared library, which needs no other.
    Shared,
    /// A header for C and C++.
    Header,
    /// A description of all functions for tools, as JSON.
    Manifest,
    /// LLVM IR as it leaves the compiler, before LLVM's passes.
    LlvmIr,
    /// Assembly.
    Asm,
    /// The program from `main`.
    Exe,
    /// The files that were read, as a rule for `make`.
    Deps,
}

impl Emit {
    /// What is built where nothing is said.
    const USUAL: [Emit; 6] = [Emit::Obj, Emit::Static, Emit::Shared, Emit::Header, Emit::Manifest, Emit::Exe];

    /// The file of this kind in a folder.
    fn file(self, prefix: &str, apple: bool) -> String {
        match self {
            Emit::Obj => format!("{prefix}.o"),
            Emit::Static => format!("lib{prefix}.a"),
            Emit::Shared if apple => format!("lib{prefix}.dylib"),
            Emit::Shared => format!("lib{prefix}.so"),
            Emit::Header => format!("{prefix}.h"),
            Emit::Manifest => format!("{prefix}.json"),
            Emit::LlvmIr => format!("{prefix}.ll"),
            Emit::Asm => format!("{prefix}.s"),
            Emit::Exe => prefix.into(),
            Emit::Deps => format!("{prefix}.d"),
        }
    }

    /// The kind that the ending of a single file asks for.
    fn of_ending(path: &Path) -> Option<Emit> {
        match path.extension()?.to_str()? {
            "o" => Some(Emit::Obj),
            "a" => Some(Emit::Static),
            "so" | "dylib" => Some(Emit::Shared),
            "h" => Some(Emit::Header),
            "json" => Some(Emit::Manifest),
            "ll" => Some(Emit::LlvmIr),
            "s" => Some(Emit::Asm),
            "d" => Some(Emit::Deps),
            _ => None,
        }
    }
}

/// Builds.
pub fn run(arguments: &Arguments, format: ErrorFormat) -> u8 {
    let (outcome, compiler) = terminal::checked_meanwhile(&arguments.file, || compiler(arguments));
    terminal::report(outcome, format);
    if outcome.refused() {
        return REFUSED;
    }
    match compiler.and_then(|compiler| built(arguments, outcome, compiler, format)) {
        Ok(code) => code,
        Err(p) => problem(outcome, &p, format),
    }
}

/// Where files go, and which.
struct Plan {
    /// In the order of [`Emit`].
    kinds: Vec<Emit>,
    /// Those that were asked for by name have to be built.
    asked: bool,
    /// A folder, or the one file.
    output: PathBuf,
    single: bool,
    prefix: String,
    apple: bool,
}

impl Plan {
    fn new(arguments: &Arguments, target: &Resolved) -> Result<Plan, Problem> {
        let prefix = arguments.prefix.clone().unwrap_or_else(|| artefacts::prefix_of(&arguments.file));
        artefacts::valid_prefix(&prefix)?;
        let ending = Emit::of_ending(&arguments.output).filter(|_| !arguments.output.is_dir());
        let mut kinds = match (ending, arguments.emit.as_slice()) {
            (Some(kind), []) => vec![kind],
            (_, []) => Emit::USUAL.to_vec(),
            (_, all) => all.to_vec(),
        };
        kinds.sort();
        kinds.dedup();
        // `--emit llvm-ir -o out.ll` means that file.
        let single = ending.is_some() && kinds.len() == 1;
        let asked = !arguments.emit.is_empty() || ending.is_some();
        let output = std::path::absolute(&arguments.output).unwrap_or_else(|_| arguments.output.clone());
        let apple = target.target.triple.contains("apple");
        Ok(Plan { kinds, asked, output, single, prefix, apple })
    }

    fn wants(&self, kind: Emit) -> bool {
        self.kinds.contains(&kind)
    }

    /// Whether a file is made of the functions, not of `main`.
    fn library(&self) -> bool {
        self.kinds.iter().any(|k| !matches!(k, Emit::Exe | Emit::Deps))
    }

    fn path(&self, kind: Emit) -> PathBuf {
        if self.single { self.output.clone() } else { self.output.join(kind.file(&self.prefix, self.apple)) }
    }

    /// A file beside the result that is not left there.
    fn beside(&self, kind: Emit) -> PathBuf {
        let mut path = self.path(kind).into_os_string();
        path.push(".cachet-object.o");
        path.into()
    }
}

/// What a build reports.
#[derive(Default)]
struct Report {
    files: Vec<String>,
    notes: Vec<(String, Option<String>)>,
}

/// What compiles, and what for.
fn compiler(arguments: &Arguments) -> Result<(Llvm, Resolved), Problem> {
    let llvm = Llvm::load().map_err(Problem::Tool)?;
    let wanted =
        Wanted { triple: arguments.target.clone(), cpu: arguments.cpu.clone(), features: arguments.features.clone() };
    let target = target::resolve(&llvm, &wanted)?;
    Ok((llvm, target))
}

fn built(
    arguments: &Arguments,
    outcome: &Outcome,
    (llvm, target): (Llvm, Resolved),
    format: ErrorFormat,
) -> Result<u8, Problem> {
    let plan = Plan::new(arguments, &target)?;
    let request = Request {
        names: arguments.names.clone(),
        with: arguments.with.clone(),
        prefix: plan.prefix.clone(),
        strided: arguments.strided,
    };
    let selection = artefacts::select(outcome, &request, &target)?;
    if !arguments.names.is_empty()
        && let Some(left) = selection.left_out.first()
    {
        return Ok(refused(outcome, left, format));
    }
    let program = outcome.module.main.is_some_and(|m| outcome.checked.accepts(m)) && arguments.names.is_empty();
    if selection.chosen.is_empty() && !program {
        let why = selection.left_out.iter().map(|l| format!("`{}` {}", l.name, l.why)).collect::<Vec<_>>().join("\n");
        let help = selection.left_out.iter().find_map(|l| l.help.clone());
        let message = format!("`{}` has nothing to build\n{why}", arguments.file);
        return Ok(terminal::unable(format, message.trim_end(), help.as_deref()));
    }
    if !plan.single {
        make_folder(&plan.output)?;
    }
    let mut report = Report::default();
    if plan.wants(Emit::Deps) {
        put(&plan, Emit::Deps, dependencies(&plan, outcome, program).as_bytes(), &mut report)?;
        if plan.kinds == [Emit::Deps] {
            return Ok(OK);
        }
    }
    let mut functions = 0;
    if plan.library() && !selection.chosen.is_empty() {
        let package = artefacts::package(outcome, &selection, (&request, &arguments.file), target.clone())?;
        functions = package.functions.len();
        library(&plan, &package, &llvm, &mut report)?;
    } else if plan.single && program {
        // A file without functions for others is its `main`.
        single_program(&plan, outcome, &llvm, &target)?;
        return Ok(OK);
    }
    if plan.wants(Emit::Exe) {
        executable(&plan, outcome, (&llvm, &target), program, &mut report)?;
    }
    if !plan.single {
        print(&plan, (functions, &target), &selection.left_out, &report);
    }
    Ok(OK)
}

/// The files that are made of functions.
fn library(plan: &Plan, package: &Package, llvm: &Llvm, report: &mut Report) -> Result<(), Problem> {
    let mut write = |kind: Emit, bytes: &[u8]| put(plan, kind, bytes, report);
    if plan.wants(Emit::Header) {
        write(Emit::Header, header::text(package).as_bytes())?;
    }
    if plan.wants(Emit::Manifest) {
        write(Emit::Manifest, manifest::text(package).as_bytes())?;
    }
    if plan.wants(Emit::LlvmIr) {
        write(Emit::LlvmIr, package.ir.as_bytes())?;
    }
    let code = [Emit::Obj, Emit::Static, Emit::Shared, Emit::Asm];
    if !code.iter().any(|k| plan.wants(*k)) {
        return Ok(());
    }
    let module = llvm.compile(&package.ir, &package.target.target, OptLevel::O3).map_err(Problem::Tool)?;
    if plan.wants(Emit::Asm) {
        put(plan, Emit::Asm, module.emit_assembly().map_err(Problem::Tool)?.as_bytes(), report)?;
    }
    if !code[..3].iter().any(|k| plan.wants(*k)) {
        return Ok(());
    }
    let object = module.emit_object().map_err(Problem::Tool)?;
    if plan.wants(Emit::Obj) {
        put(plan, Emit::Obj, &object, report)?;
    }
    if plan.wants(Emit::Static) {
        archive(plan, package, &object)?;
        report.files.push(Emit::Static.file(&plan.prefix, plan.apple));
    }
    if plan.wants(Emit::Shared) {
        shared(plan, package, &object, report)?;
    }
    Ok(())
}

fn archive(plan: &Plan, package: &Package, object: &[u8]) -> Result<(), Problem> {
    if plan.apple {
        let text = "static libraries of macOS are not built: link with the object, or the shared library";
        return Err(Problem::User(text.into()));
    }
    let symbols: Vec<String> = package.functions.iter().flat_map(|f| f.door.symbols()).collect();
    let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
    let member = ArchiveMember { name: "kernels.o", object, symbols: &symbols };
    write_archive(&[member], &plan.path(Emit::Static)).map_err(Problem::Tool)
}

fn shared(plan: &Plan, package: &Package, object: &[u8], report: &mut Report) -> Result<(), Problem> {
    let beside = plan.beside(Emit::Shared);
    let name = Emit::Shared.file(&plan.prefix, plan.apple);
    let linked = find_linker_for(&package.target.target.triple, false).and_then(|linker| {
        write_file(&beside, object)?;
        let linked = link_library(linker, &beside, &name, &plan.path(Emit::Shared));
        // The object was a means; whether it can be removed does not matter to the library.
        let _ = std::fs::remove_file(&beside);
        linked
    });
    linked_or_noted(plan, (Emit::Shared, "the shared library"), linked.map(drop), report)
}

fn executable(
    plan: &Plan,
    outcome: &Outcome,
    (llvm, target): (&Llvm, &Resolved),
    program: bool,
    report: &mut Report,
) -> Result<(), Problem> {
    if !program {
        if plan.asked {
            return Err(Problem::User("there is no program to build: the file has no `main`".into()));
        }
        return Ok(());
    }
    let (_, module) = native::compile_main_for(outcome, llvm, target)?;
    let object = module.emit_object().map_err(Problem::Tool)?;
    let beside = plan.beside(Emit::Exe);
    let linked = find_linker_for(&target.target.triple, true).and_then(|linker| {
        write_file(&beside, &object)?;
        let linked = link_executable_by(linker, &[&beside], &plan.path(Emit::Exe));
        // As above.
        let _ = std::fs::remove_file(&beside);
        linked
    });
    linked_or_noted(plan, (Emit::Exe, "the program"), linked.map(drop), report)
}

/// What was not asked for by name and cannot be linked here is left out, and said so.
fn linked_or_noted(
    plan: &Plan,
    (kind, what): (Emit, &str),
    linked: Result<(), ToolError>,
    report: &mut Report,
) -> Result<(), Problem> {
    match linked {
        Ok(()) => report.files.push(kind.file(&plan.prefix, plan.apple)),
        Err(e) if plan.asked || !native::is_missing(&e) => return Err(Problem::Tool(e)),
        Err(e) => report.notes.push((format!("{what} was left out: {}", e.message), e.fix)),
    }
    Ok(())
}

/// `main` as the one file that was asked for.
fn single_program(plan: &Plan, outcome: &Outcome, llvm: &Llvm, target: &Resolved) -> Result<(), Problem> {
    let (ir, module) = native::compile_main_for(outcome, llvm, target)?;
    let bytes = |module: &Module| match plan.kinds.first() {
        Some(Emit::Obj) => module.emit_object().map_err(Problem::Tool),
        Some(Emit::Asm) => module.emit_assembly().map(String::into_bytes).map_err(Problem::Tool),
        Some(Emit::LlvmIr) => Ok(ir.clone().into_bytes()),
        Some(Emit::Static | Emit::Shared | Emit::Header | Emit::Manifest | Emit::Exe | Emit::Deps) | None => {
            Err(Problem::User("the file has no functions that other programs can call".into()))
        }
    };
    write_file(&plan.output, &bytes(&module)?).map_err(Problem::Tool)
}

fn put(plan: &Plan, kind: Emit, bytes: &[u8], report: &mut Report) -> Result<(), Problem> {
    write_file(&plan.path(kind), bytes).map_err(Problem::Tool)?;
    report.files.push(kind.file(&plan.prefix, plan.apple));
    Ok(())
}

/// `made: read read ..`, with the paths as they were found, and each that was read as a rule of its own, so that one that has
/// gone is no reason to stop. What the compiler carries is no file.
fn dependencies(plan: &Plan, outcome: &Outcome, program: bool) -> String {
    let escaped = |path: &str| path.replace(' ', "\\ ").replace('#', "\\#").replace('$', "$$");
    let read: Vec<String> = outcome
        .sources
        .iter()
        .map(|(_, f)| f.name.as_str())
        .filter(|n| !n.starts_with("cachet:"))
        .map(escaped)
        .collect();
    let only = plan.kinds == [Emit::Deps];
    let is_made = |k: &&Emit| match k {
        Emit::Deps => only,
        Emit::Exe => program,
        Emit::Obj | Emit::Static | Emit::Shared | Emit::Header | Emit::Manifest | Emit::LlvmIr | Emit::Asm => true,
    };
    let made = plan.kinds.iter().filter(is_made).map(|k| escaped(&plan.path(*k).to_string_lossy()));
    let made = made.collect::<Vec<_>>().join(" ");
    let mut out = format!("{made}: {}\n", read.join(" "));
    for file in read {
        out.push_str(&format!("\n{file}:\n"));
    }
    out
}

fn make_folder(folder: &Path) -> Result<(), Problem> {
    std::fs::create_dir_all(folder)
        .map_err(|e| Problem::User(format!("the folder `{}` cannot be made: {e}", folder.display())))
}

/// A function that was asked for by name and is not built.
fn refused(outcome: &Outcome, left: &LeftOut, format: ErrorFormat) -> u8 {
    if let Some(d) = &left.report {
        terminal::reports(&outcome.sources, std::slice::from_ref(&**d), format);
    }
    terminal::unable(format, &format!("`{}` is not built: it {}", left.name, left.why), left.help.as_deref());
    UNABLE.min(REFUSED)
}

fn print(plan: &Plan, (functions, target): (usize, &Resolved), left_out: &[LeftOut], report: &Report) {
    let s = if functions == 1 { "" } else { "s" };
    let what = if functions == 0 { "the program".into() } else { format!("{functions} function{s}") };
    let mut text = format!("{}: {what} for {}\n", plan.output.display(), target.words());
    text.push_str(&format!("  {}\n", report.files.join("  ")));
    let left = left_out.iter().map(|l| (format!("left out: `{}` {}", l.name, l.why), l.help.clone()));
    for (note, help) in left.chain(report.notes.iter().cloned()) {
        text.push_str(&format!("  {note}\n"));
        if let Some(help) = help {
            text.push_str(&format!("    help: {help}\n"));
        }
    }
    terminal::print(&text);
}
