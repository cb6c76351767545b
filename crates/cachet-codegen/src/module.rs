//! What goes into a module: instances, found through calls; their symbols; attributes; and what they need of the C library.

use crate::door::{self, Door, Processor};
use crate::function::{Outcome, define};
use crate::grid::that_take_a_pool;
use crate::support::{self, Support};
use crate::{Entry, Export, Library, Options, Text};
use cachet_core::instance::instantiate;
use cachet_core::instr::Template;
use cachet_core::ir::{At, Binding, Elem, FunId, InstrId, Program};
use cachet_source::{Diagnostic, codes};
use std::collections::{BTreeMap, BTreeSet};

/// A function at implementations.
struct Instance {
    fun: FunId,
    types: Vec<Binding>,
    /// The parameters, by their number, whose rows may lie apart.
    strided: Vec<usize>,
    symbol: String,
}

/// A module on its way to text.
pub(crate) struct Module<'a> {
    pub(crate) program: &'a Program,
    instances: Vec<Instance>,
    support: BTreeSet<Support>,
    /// The functions that take a pool.
    pooled: BTreeSet<FunId>,
    /// How wide a vector register is, in bits.
    vector_bits: u32,
    /// How many loops are to be left as they are written.
    as_written: usize,
    /// The template of each instruction that has one for the processor.
    templates: Vec<Option<&'a Template>>,
}

impl<'a> Module<'a> {
    fn new(program: &'a Program, options: &Options) -> Module<'a> {
        let pooled = that_take_a_pool(program);
        // Where nothing is said, registers that every 64-bit processor has.
        let vector_bits = if options.vector_bits == 0 { 128 } else { options.vector_bits };
        let templates = program.instrs.iter().map(|i| crate::instr::template(i, options)).collect();
        let (instances, support) = (Vec::new(), BTreeSet::new());
        Module { program, instances, support, pooled, vector_bits, as_written: 0, templates }
    }

    /// How many lanes of an element a register has.
    pub(crate) fn lanes_of(&self, elem: Elem) -> i64 {
        let bits = i64::from(self.vector_bits);
        let lanes = (bits / (8 * elem.bytes() as i64)).max(1);
        // The largest power of two among them.
        1 << lanes.ilog2()
    }

    /// Whether lanes of an element are loaded under a mask by one instruction: elsewhere one by one.
    pub(crate) fn masks(&self, elem: Elem) -> bool {
        self.vector_bits >= 512 || (self.vector_bits >= 256 && elem.bytes() >= 4)
    }

    /// What the processor is told in place of an instruction's body.
    pub(crate) fn template(&self, instr: InstrId) -> Option<&'a Template> {
        self.templates.get(instr.index()).copied().flatten()
    }

    /// Whether a function's last parameter is a pool.
    pub(crate) fn takes_a_pool(&self, fun: FunId) -> bool {
        self.pooled.contains(&fun)
    }

    /// The symbol of a function at implementations, which becomes part of the module.
    pub(crate) fn require(&mut self, fun: FunId, types: &[Binding], strided: &[usize], span: At) -> Outcome<String> {
        let same = |i: &&Instance| i.fun == fun && i.types == types && i.strided == strided;
        if let Some(found) = self.instances.iter().find(same) {
            return Ok(found.symbol.clone());
        }
        let Some(source) = self.program.funs.get(fun.index()) else {
            return Err(Diagnostic::error(codes::UNKNOWN_NAME, span.0, "there is no such function"));
        };
        let bound = types.iter().all(|b| matches!(b, Binding::Impl(i) if i.index() < self.program.impls.len()));
        if !bound || types.len() != source.type_params.len() {
            let text =
                format!("`{}` has type parameters that are not bound: there is no native code for it", source.name);
            return Err(Diagnostic::error(codes::BINDING, span.0, text));
        }
        let symbol = format!("cachet_{}_{}", sanitised(&source.name), self.instances.len());
        let strided = strided.to_vec();
        self.instances.push(Instance { fun, types: types.to_vec(), strided, symbol: symbol.clone() });
        Ok(symbol)
    }

    /// What a loop's last jump says where LLVM is not to write several iterations into one. A tile of registers leaves
    /// none over for a second iteration, and has enough work in one.
    pub(crate) fn as_written(&mut self) -> String {
        self.as_written += 1;
        format!(", !llvm.loop !{}", self.as_written)
    }

    /// Notes that a routine is used.
    pub(crate) fn needs(&mut self, support: Support) {
        self.support.insert(support);
    }
}

/// A module of the functions that are asked for and what they call.
pub(crate) fn emit(program: &Program, funs: &[(FunId, Vec<Binding>)], options: &Options) -> Outcome<Text> {
    let mut module = Module::new(program, options);
    let mut entries = Vec::new();
    for (fun, types) in funs {
        let name = module.require(*fun, types, &[], At::default())?;
        let source = &program.funs[fun.index()];
        let pool = module.takes_a_pool(*fun);
        entries.push(Entry { name, sizes: source.sizes.len(), buffers: source.params.len(), pool });
    }
    let external = module.instances.len();
    let ir = module.text(external, options, "")?;
    Ok(Text { ir, entries })
}

/// A module that is a program.
pub(crate) fn emit_main(program: &Program, main: FunId, options: &Options) -> Outcome<Text> {
    let mut module = Module::new(program, options);
    let symbol = module.require(main, &[], &[], At::default())?;
    let source = &program.funs[main.index()];
    if !source.sizes.is_empty() || !source.params.is_empty() {
        let text = format!("`{}` cannot be run: it has parameters", source.name);
        return Err(Diagnostic::error(codes::ARITY, source.span.0, text));
    }
    module.needs(Support::Main);
    let c_main = support::c_main(&symbol, module.takes_a_pool(main));
    let ir = module.text(0, options, &c_main)?;
    Ok(Text { ir, entries: Vec::new() })
}

/// A module of functions with doors. Nothing else of it can be seen from outside.
pub(crate) fn emit_library(
    program: &Program,
    exports: &[Export],
    processor: Processor,
    options: &Options,
) -> Outcome<Library> {
    let mut module = Module::new(program, options);
    let (mut doors, mut text): (Vec<Door>, String) = (Vec::new(), String::new());
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    for export in exports {
        let strided = if export.strided { door::may_be_strided(&program.funs[export.fun.index()]) } else { Vec::new() };
        let inner = module.require(export.fun, &export.types, &strided, At::default())?;
        let fun = instantiate(program, &program.funs[export.fun.index()], &export.types);
        let pool = module.takes_a_pool(export.fun);
        let symbols = (inner.as_str(), export.symbol.as_str(), strided.as_slice());
        let (lines, door) = door::define(program, &fun, symbols, (pool, processor), &mut module.support)?;
        text.push_str(&lines);
        for symbol in door.symbols() {
            if let Some(other) = taken.get(&symbol) {
                let text = format!("`{}` and `{other}` would both have the symbol `{symbol}`", fun.name);
                let help = "build one of them by its name alone, with a prefix of its own";
                return Err(Diagnostic::error(codes::DUPLICATE_NAME, fun.span.0, text).help(help));
            }
            taken.insert(symbol, fun.name.clone());
        }
        doors.push(door);
    }
    let ir = module.text(0, options, &text)?;
    Ok(Library { ir, doors })
}

/// What the code of a function calls of the C library, in words; `None` where it stands alone.
pub(crate) fn leans_on(
    program: &Program,
    (fun, types): (FunId, &[Binding]),
    options: &Options,
) -> Outcome<Option<&'static str>> {
    let mut module = Module::new(program, options);
    module.require(fun, types, &[], At::default())?;
    let mut done = 0;
    while let Some(next) = module.instances.get(done) {
        let (symbol, pool) = (next.symbol.clone(), module.takes_a_pool(next.fun));
        let fun = instantiate(program, &program.funs[next.fun.index()], &next.types);
        define(&mut module, &fun, (&symbol, &[]), false, pool)?;
        done += 1;
    }
    Ok(module.support.iter().find_map(|s| s.leans_on()))
}

impl Module<'_> {
    /// The whole text. The first `external` instances may be called from outside.
    fn text(mut self, external: usize, options: &Options, main: &str) -> Outcome<String> {
        let mut functions = String::new();
        let mut done = 0;
        while let Some(next) = self.instances.get(done) {
            let fun = instantiate(self.program, &self.program.funs[next.fun.index()], &next.types);
            let (symbol, strided) = (next.symbol.clone(), next.strided.clone());
            let pool = self.takes_a_pool(next.fun);
            functions.push_str(&define(&mut self, &fun, (&symbol, &strided), done < external, pool)?);
            functions.push('\n');
            done += 1;
        }
        let mut out = String::from("; Text for LLVM 19 or later.\n\n");
        out.push_str(&functions);
        out.push_str(main);
        for support in &self.support {
            out.push_str(support.text());
        }
        out.push_str(&support::declarations(&self.support));
        out.push_str(&attributes(options));
        if self.as_written > 0 {
            out.push_str("!0 = !{!\"llvm.loop.unroll.disable\"}\n");
        }
        for n in 1..=self.as_written {
            out.push_str(&format!("!{n} = distinct !{{!{n}, !0}}\n"));
        }
        Ok(out)
    }
}

/// The attributes of every function. Without `no-builtins`, loops over memory become calls of the C library.
pub(crate) fn attributes(options: &Options) -> String {
    let mut out = String::from("attributes #0 = { mustprogress nounwind \"no-builtins\"");
    let width = if options.vector_bits == 0 { String::new() } else { options.vector_bits.to_string() };
    let texts = [("target-cpu", &options.cpu), ("target-features", &options.features), ("prefer-vector-width", &width)];
    for (name, text) in texts {
        if !text.is_empty() {
            out.push_str(&format!(" \"{name}\"=\"{}\"", escaped(text)));
        }
    }
    out.push_str(" }\n");
    out
}

/// A string's text between LLVM's quotes.
fn escaped(text: &str) -> String {
    text.bytes()
        .map(|b| match b {
            b'"' | b'\\' => format!("\\{b:02X}"),
            b' '..=b'~' => char::from(b).to_string(),
            _ => format!("\\{b:02X}"),
        })
        .collect()
}

/// A user's name as part of a symbol. The number after it tells two apart that become the same.
fn sanitised(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}
