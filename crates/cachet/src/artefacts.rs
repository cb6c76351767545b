//! What is made of a file for programs in other languages: which functions, under which symbols, for which processor.
//!
//! [`select`] says which functions of a file can be called from C and why the others cannot, [`package`] makes one module
//! of LLVM IR of them with a description of each, and [`header`] and [`manifest`] write that down for people and for
//! tools. Only functions that the checker has accepted come this far.

pub mod header;
pub mod manifest;
pub mod target;

use crate::native::{self, Problem};
use crate::pipeline::Outcome;
use crate::{claim, evidence};
use cachet_check::checked::Checker;
use cachet_codegen::{Door, Export};
use cachet_core::instance::{instance_name, instantiate};
use cachet_core::ir::{Binding, Fun, FunId, ImplId};
use cachet_source::Diagnostic;
use target::Resolved;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Functions by name; empty for all that can be built.
    pub names: Vec<String>,
    /// Implementations for type parameters that are not bound, as `PlusTimes f32`.
    pub with: Vec<String>,
    /// What every symbol begins with.
    pub prefix: String,
    /// Whether rows of arrays may lie apart: then callers say how far.
    pub strided: bool,
}

/// Which functions are built.
pub struct Selection {
    /// Those that are, in the order of the file.
    pub chosen: Vec<Chosen>,
    /// Those that are not.
    pub left_out: Vec<LeftOut>,
}

/// A function that is built.
pub struct Chosen {
    /// Which.
    pub fun: FunId,
    /// At which implementations.
    pub types: Vec<Binding>,
    /// Its name; of an instance `matmul_PlusTimes_f32`.
    pub name: String,
}

/// A function that is not built.
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// Why, in a sentence that continues the name.
    pub why: String,
    /// What would help.
    pub help: Option<String>,
    /// The report, where the compiler has one.
    pub report: Option<Box<Diagnostic>>,
}

/// A module with everything that is said of it.
pub struct Package {
    /// LLVM IR.
    pub ir: String,
    /// What every symbol begins with, and the files' name.
    pub prefix: String,
    /// The root file's name, without folders.
    pub source: String,
    /// For what it is.
    pub target: Resolved,
    /// The functions, in the order of the file.
    pub functions: Vec<Function>,
}

/// A function of a package.
pub struct Function {
    /// Its name in the language.
    pub name: String,
    /// How it is called.
    pub door: Door,
    /// What is proved of it, in one line.
    pub claim: String,
    /// The types of records among its elements, by the name that they have in C.
    pub records: Vec<(String, cachet_core::ir::Ty, Vec<String>)>,
}

/// Symbols that begin so are the compiler's own.
const OWN: &str = "cachet_";

/// The default prefix: a file's name as far as C allows it.
pub fn prefix_of(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = name.strip_suffix(".cachet").unwrap_or(name);
    let plain: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let starts = plain.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    if starts { plain } else { format!("k_{plain}") }
}

/// Whether symbols can begin so.
///
/// # Errors
/// It is no beginning of a name of C, or one of ours.
pub fn valid_prefix(prefix: &str) -> Result<(), Problem> {
    let mut chars = prefix.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
    if !first || !chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        let text = format!("`{prefix}` cannot begin a name of C: a letter, then letters, digits and `_`");
        return Err(Problem::User(text));
    }
    if format!("{prefix}_").starts_with(OWN) {
        return Err(Problem::User(format!(
            "names that begin with `{OWN}` are the compiler's: choose another `--prefix`"
        )));
    }
    Ok(())
}

/// Which functions of a file can be called from C, of those that are asked for.
///
/// # Errors
/// A name that the file does not have, or an implementation that it does not know.
pub fn select(outcome: &Outcome, request: &Request, target: &Resolved) -> Result<Selection, Problem> {
    let program = outcome.checked.program();
    let name_of = |id: &FunId| program.funs[id.index()].name.as_str();
    let items: Vec<FunId> = outcome.items().into_iter().filter(|id| Some(*id) != outcome.module.main).collect();
    for name in &request.names {
        if !items.iter().any(|id| name_of(id) == name) {
            let known: Vec<&str> = items.iter().map(name_of).collect();
            return Err(Problem::User(format!(
                "there is no function `{name}` to build; the file has {}",
                known.join(", ")
            )));
        }
    }
    let with = request.with.iter().map(|w| implementation(outcome, w)).collect::<Result<Vec<_>, _>>()?;
    let mut selection = Selection { chosen: Vec::new(), left_out: Vec::new() };
    for id in items {
        if !request.names.is_empty() && !request.names.iter().any(|n| n == name_of(&id)) {
            continue;
        }
        let fun = &program.funs[id.index()];
        if fun.type_params.is_empty() {
            selection.consider(outcome, (id, vec![]), target);
            continue;
        }
        let fits = |i: &&ImplId| fun.type_params.iter().all(|p| p.interface == program.impls[i.index()].interface);
        let fitting: Vec<&ImplId> = with.iter().filter(fits).collect();
        if fitting.is_empty() {
            selection.left_out.push(generic(outcome, fun));
        }
        for imp in fitting {
            selection.consider(outcome, (id, vec![Binding::Impl(*imp); fun.type_params.len()]), target);
        }
    }
    Ok(selection)
}

/// A module of functions.
///
/// # Errors
/// Two would have one symbol, or a function has no native code.
pub fn package(
    outcome: &Outcome,
    selection: &Selection,
    (request, file): (&Request, &str),
    target: Resolved,
) -> Result<Package, Problem> {
    let program = outcome.checked.program();
    let prefix = request.prefix.as_str();
    let export = |c: &Chosen| Export {
        fun: c.fun,
        types: c.types.clone(),
        symbol: format!("{prefix}_{}", c.name),
        strided: request.strided,
    };
    let exports: Vec<Export> = selection.chosen.iter().map(export).collect();
    for chosen in &selection.chosen {
        native::accepted(outcome, chosen.fun)?;
    }
    let library = cachet_codegen::emit_library(program, &exports, target.processor, &target.options())
        .map_err(|d| Problem::Refused(Box::new(d)))?;
    let functions = selection.chosen.iter().zip(library.doors).map(|(c, door)| {
        let fun = instantiate(program, &program.funs[c.fun.index()], &c.types);
        let records = header::records(program, &fun, prefix);
        Function { name: c.name.clone(), door, claim: claim_line(outcome, c), records }
    });
    let source = file.rsplit(['/', '\\']).next().unwrap_or(file).to_string();
    Ok(Package { ir: library.ir, prefix: prefix.into(), source, target, functions: functions.collect() })
}

impl Selection {
    /// Takes a function in, or says why not.
    fn consider(&mut self, outcome: &Outcome, (fun, types): (FunId, Vec<Binding>), target: &Resolved) {
        let program = outcome.checked.program();
        let name = instance_name(program, &program.funs[fun.index()].name, &types);
        match buildable(outcome, fun, &types, target) {
            Ok(()) => self.chosen.push(Chosen { fun, types, name }),
            Err((why, help, report)) => self.left_out.push(LeftOut { name, why, help, report }),
        }
    }
}

/// Why a function is not built: the reason, what would help, and the compiler's own report.
type Why = (String, Option<String>, Option<Box<Diagnostic>>);

fn buildable(outcome: &Outcome, fun: FunId, types: &[Binding], target: &Resolved) -> Result<(), Why> {
    let program = outcome.checked.program();
    if !outcome.checked.accepts(fun) {
        return Err(("was refused".into(), None, None));
    }
    if !types.is_empty() {
        if !outcome.checked.may_bind(fun, types) {
            return Err(("regroups a sum by laws that this implementation does not have".into(), None, None));
        }
        let mut checker = Checker::with_proofs(program.clone(), Default::default());
        if let Err(failure) = checker.bindable(fun, types) {
            return Err(("cannot be bound so".into(), None, Some(Box::new(failure.diagnostic.clone()))));
        }
    }
    match cachet_codegen::leans_on(program, (fun, types), &target.options()) {
        Ok(None) => Ok(()),
        Ok(Some(what)) => {
            let help = "what it works in can be a `scratch` parameter, which callers provide";
            let help = (what == "allocates memory").then(|| help.to_string());
            Err((format!("{what}, and a function for other programs does nothing behind their backs"), help, None))
        }
        Err(d) => Err((format!("has no native code: {}", d.message), None, Some(Box::new(d)))),
    }
}

/// What to say of a function whose type parameters nothing binds.
fn generic(outcome: &Outcome, fun: &Fun) -> LeftOut {
    let program = outcome.checked.program();
    let wanted = |interface: u32| fun.type_params.iter().all(|p| p.interface == interface);
    let known = program.impls.iter().find(|i| wanted(i.interface)).map_or("..", |i| &i.name);
    let params: Vec<String> = fun.type_params.iter().map(|p| format!("`{}`", p.name)).collect();
    LeftOut {
        name: fun.name.clone(),
        why: format!("has the type parameter {}, which is not bound", params.join(", ")),
        help: Some(format!("`--with \"{known}\"` builds it at an implementation")),
        report: None,
    }
}

fn implementation(outcome: &Outcome, name: &str) -> Result<ImplId, Problem> {
    let impls = &outcome.checked.program().impls;
    impls.iter().position(|i| i.name == name).map(|i| ImplId(i as u32)).ok_or_else(|| {
        let known: Vec<&str> = impls.iter().map(|i| i.name.as_str()).collect();
        Problem::User(format!("there is no implementation `{name}`; the file knows {}", known.join(", ")))
    })
}

/// What is proved of a function, in one line.
fn claim_line(outcome: &Outcome, chosen: &Chosen) -> String {
    let trusted = evidence::trusted(outcome.checked.program(), chosen.fun);
    let Some(claim) = outcome.claims.get(&chosen.fun) else {
        let contraction = outcome.module.contractions.iter().any(|(_, id)| *id == chosen.fun);
        let what = if contraction { "the loops of its equations, in their order" } else { "a function by hand" };
        return if trusted.is_empty() { what.into() } else { format!("{what}, {}", claim::trusts_briefly(&trusted)) };
    };
    let bind = |to: &str| {
        if chosen.types.is_empty() { to.into() } else { instance_name(outcome.checked.program(), to, &chosen.types) }
    };
    claim::line(claim, &trusted, bind)
}
