//! The order in which items are elaborated, and the state that elaboration shares.

mod applied;
mod conversion;
mod expr;
mod index;
mod literal;
mod operators;
mod sums;
pub(crate) mod vectors;

pub(crate) use expr::{ELEMS, of_platform};

use crate::imports::Loaded;
use crate::limits::Extent;
use crate::scope::{ItemRef, Scope};
use crate::{algebra, assemble, constants, contractions, functions, platforms, records, schedules, steps};
use cachet_core::ir::{
    Buffer, BufferInfo, Domain, FunId, ImplId, InstrId, Ix, Lit, Local, LocalInfo, Pure, PureId, Ty, TypeParam,
    TypeParamInfo, Var, VarInfo, VarKind,
};
use cachet_core::script::Module;
use cachet_machine::platform::Platform;
use cachet_source::{Diagnostic, Sources, Span};
use cachet_syntax::ast::{Ident, Item};
use std::collections::BTreeMap;

/// Already reported.
pub(crate) struct Reported;

/// The result of a phase that reports as it goes.
pub(crate) type Done<T> = Result<T, Reported>;

/// What all phases share.
pub(crate) struct World<'a> {
    pub loaded: &'a Loaded,
    pub scope: &'a Scope,
    pub sources: &'a Sources,
    pub out: &'a mut Vec<Diagnostic>,
    pub module: Module,
    /// Functions by item.
    pub funs: BTreeMap<ItemRef, FunId>,
    /// Pure functions by item.
    pub pures: BTreeMap<ItemRef, PureId>,
    /// Instructions by item.
    pub instrs: BTreeMap<ItemRef, InstrId>,
    /// How large each pure function is, by its id.
    pub extents: Vec<Extent>,
    /// Pure functions, records and functions of indices being elaborated, each used by the one before.
    pub pending: Vec<ItemRef>,
    /// Records by item.
    pub records: BTreeMap<ItemRef, Ty>,
    /// Functions of indices that were found to be such.
    pub index_functions: std::collections::BTreeSet<ItemRef>,
    /// How often functions of indices have been written out.
    pub applications: u32,
    /// How many parts the indices have that names stand for, wherever they are used.
    pub written_out: usize,
    /// Interfaces by item: positions in the program.
    pub interfaces: BTreeMap<ItemRef, u32>,
    /// Default bodies by interface and operation: for any implementation, the first type parameter.
    pub defaults: BTreeMap<(u32, String), Pure>,
    /// Implementations by the name they are written with, per file that defines them.
    pub impls: Vec<(usize, String, ImplId)>,
    /// Platforms by item.
    pub platforms: BTreeMap<ItemRef, Platform>,
    /// The one that the root file names.
    pub platform: Option<ItemRef>,
    /// Whether the root file names one that was refused.
    pub platform_refused: bool,
    /// Sizes by item.
    pub consts: BTreeMap<ItemRef, i64>,
    /// What a `synth const` chose, by item and name.
    pub chosen: BTreeMap<(ItemRef, String), i64>,
    /// Words by item.
    pub words: BTreeMap<ItemRef, Lit>,
    /// Items that were refused: what uses them is left out silently.
    pub refused: std::collections::BTreeSet<ItemRef>,
}

impl World<'_> {
    /// Adds a report.
    pub fn report(&mut self, d: Diagnostic) -> Reported {
        self.out.push(d);
        Reported
    }

    /// A size that an item defines under a name.
    pub fn constant(&self, r: ItemRef, name: &str) -> Option<i64> {
        self.consts.get(&r).or_else(|| self.chosen.get(&(r, name.to_string()))).copied()
    }

    /// The item of a reference.
    pub fn item(&self, r: ItemRef) -> &'static str {
        match &self.loaded.units[r.unit].ast.items[r.item] {
            Item::Const(_) => "a constant",
            Item::Synth(_) => "a constant",
            Item::Proof(_) => "a proof",
            Item::Record(_) => "a record",
            Item::Interface(_) => "an interface",
            Item::Impl(_) => "an implementation",
            Item::Layout(_) => "a layout",
            Item::Fn(_) => "a function",
            Item::Instr(_) => "an instruction",
            Item::Contraction(_) => "a contraction",
            Item::Schedule(_) => "a schedule",
            Item::ScheduleFn(_) => "a schedule function",
            Item::StepFn(_) | Item::BuiltinStep(_) => "a step",
            Item::Platform(_) => "a platform",
        }
    }

    /// Whether a file sees another: itself or an import.
    pub fn sees(&self, unit: usize, other: usize) -> bool {
        unit == other || self.loaded.units[unit].imports.contains(&other)
    }

    /// An implementation by the name it is written with.
    pub fn implementation(&self, unit: usize, name: &str) -> Option<ImplId> {
        self.impls.iter().find(|(u, n, _)| n == name && self.sees(unit, *u)).map(|(_, _, id)| *id)
    }

    /// The names of the implementations that a file sees.
    pub fn implementations(&self, unit: usize) -> Vec<String> {
        self.impls.iter().filter(|(u, ..)| self.sees(unit, *u)).map(|(_, n, _)| n.clone()).collect()
    }
}

/// Why data is no index.
pub(crate) const STATIC: &str =
    "control is static: bounds, subscripts and guards are made of sizes and loop variables only";

/// What a name means inside a function or equation.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    /// A size or a loop variable.
    Var(Var),
    /// The variable of a loop over blocks.
    Block(Var),
    /// An index with a name.
    Ix(Ix),
    /// A local.
    Local(Local),
    /// A buffer.
    Buffer(Buffer),
    /// A part of a buffer under a name of its own: per axis its start and length.
    Window(Buffer, Vec<(Ix, Ix)>),
    /// An intermediate of a contraction: the position of its equation.
    Value(u32),
    /// A type parameter.
    TypeParam(TypeParam),
}

/// The tables and the scope of one function, pure function or contraction.
pub(crate) struct Body {
    pub unit: usize,
    pub vars: Vec<VarInfo>,
    pub locals: Vec<LocalInfo>,
    pub buffers: Vec<BufferInfo>,
    pub type_params: Vec<TypeParamInfo>,
    pub sizes: Vec<Var>,
    /// Sizes that are type parameters of kind Nat: a call may say what they are.
    pub named_sizes: std::collections::BTreeSet<Var>,
    pub names: Vec<(String, Meaning)>,
    /// Of a contraction: where an index stands alone in a subscript, and the extent there.
    pub lone: Vec<(Var, Ix, Span)>,
    /// Of a contraction: ranges that are written at a sum.
    pub given: BTreeMap<Var, Domain>,
    /// Of a contraction: the extents and types of the equations so far; `None` in a function.
    pub values: Option<Vec<(Vec<Ix>, Ty)>>,
    /// Buffers that may not be read here, with the reason.
    pub unreadable: BTreeMap<Buffer, String>,
    /// Names whose definition was refused: what uses them is not worth a second message.
    pub broken: std::collections::BTreeSet<String>,
    /// Reductions met so far.
    pub sums: u32,
    /// In a default body of an interface: the implementation that its operations belong to, whichever it is.
    pub own: Option<TypeParam>,
    /// The vector expression that is being read.
    pub lanes: Option<vectors::LaneScope>,
    /// What `let`s inside vector expressions name: words of one lane.
    pub lane_locals: std::collections::BTreeSet<Local>,
}

impl Body {
    pub fn new(unit: usize) -> Body {
        Body {
            unit,
            vars: vec![],
            locals: vec![],
            buffers: vec![],
            type_params: vec![],
            sizes: vec![],
            named_sizes: std::collections::BTreeSet::new(),
            names: vec![],
            lone: vec![],
            given: BTreeMap::new(),
            values: None,
            unreadable: BTreeMap::new(),
            broken: std::collections::BTreeSet::new(),
            sums: 0,
            own: None,
            lanes: None,
            lane_locals: std::collections::BTreeSet::new(),
        }
    }

    pub fn find(&self, name: &str) -> Option<&Meaning> {
        self.names.iter().rev().find(|(n, _)| n == name).map(|(_, m)| m)
    }

    pub fn add_var(&mut self, name: &str, kind: VarKind) -> Var {
        self.vars.push(VarInfo { name: name.to_string(), kind });
        Var(self.vars.len() as u32 - 1)
    }

    pub fn add_local(&mut self, name: &str, ty: Ty, mutable: bool) -> Local {
        self.locals.push(LocalInfo { name: name.to_string(), ty, dims: vec![], vector: false, mutable });
        let local = Local(self.locals.len() as u32 - 1);
        if self.lanes.is_some() {
            self.lane_locals.insert(local);
        }
        local
    }

    pub fn bind(&mut self, name: &Ident, meaning: Meaning) {
        self.names.push((name.name.clone(), meaning));
    }
}

/// The platforms that the files describe, as far as they were not refused.
pub(crate) fn described(loaded: &Loaded, scope: &Scope, sources: &Sources, out: &mut Vec<Diagnostic>) -> Vec<Platform> {
    let (world, _) = begin(loaded, scope, sources, out);
    world.platforms.into_values().collect()
}

/// The platform that the root file names.
pub(crate) fn named(loaded: &Loaded, scope: &Scope, sources: &Sources, out: &mut Vec<Diagnostic>) -> Option<Platform> {
    let (mut world, _) = begin(loaded, scope, sources, out);
    world.platform.and_then(|r| world.platforms.remove(&r))
}

/// A world that knows its platforms, and the items that are to be elaborated.
fn begin<'a>(
    loaded: &'a Loaded,
    scope: &'a Scope,
    sources: &'a Sources,
    out: &'a mut Vec<Diagnostic>,
) -> (World<'a>, Vec<ItemRef>) {
    let mut world = World {
        loaded,
        scope,
        sources,
        out,
        module: Module::default(),
        funs: BTreeMap::new(),
        pures: BTreeMap::new(),
        instrs: BTreeMap::new(),
        extents: Vec::new(),
        pending: Vec::new(),
        records: BTreeMap::new(),
        index_functions: std::collections::BTreeSet::new(),
        applications: 0,
        written_out: 0,
        interfaces: BTreeMap::new(),
        defaults: BTreeMap::new(),
        impls: Vec::new(),
        platforms: BTreeMap::new(),
        platform: None,
        platform_refused: false,
        consts: BTreeMap::new(),
        chosen: BTreeMap::new(),
        words: BTreeMap::new(),
        refused: std::collections::BTreeSet::new(),
    };
    let mut items: Vec<ItemRef> = Vec::new();
    for (unit, u) in loaded.units.iter().enumerate() {
        for (item, i) in u.ast.items.iter().enumerate() {
            let r = ItemRef { unit, item };
            // An item in which something was dropped is incomplete, and a second definition means nothing; both have been said.
            if u.ast.is_broken(i.span()) || scope.repeated.contains(&r) {
                world.refused.insert(r);
            } else {
                items.push(r);
            }
        }
    }
    for r in &items {
        if platforms::item(&mut world, *r).is_err() {
            world.refused.insert(*r);
        }
    }
    platforms::of_root(&mut world);
    (world, items)
}

/// Elaborates every item of every file.
pub(crate) fn module(loaded: &Loaded, scope: &Scope, sources: &Sources, out: &mut Vec<Diagnostic>) -> Module {
    let (mut world, items) = begin(loaded, scope, sources, out);
    let phases: [fn(&mut World<'_>, ItemRef) -> Done<()>; 8] = [
        constants::item,
        records::item,
        algebra::item,
        contractions::item,
        functions::declare,
        schedules::reserve,
        functions::define,
        steps::item,
    ];
    for phase in phases {
        for r in &items {
            if !world.refused.contains(r) && phase(&mut world, *r).is_err() {
                world.refused.insert(*r);
            }
        }
    }
    schedules::refresh(&mut world);
    functions::refuse_recursion(&mut world);
    functions::refuse_faults(&mut world);
    schedules::expand_all(&mut world, &items);
    let root = loaded.root();
    let own_impls = world.impls.iter().filter(|(unit, _, _)| !loaded.units[*unit].library).map(|i| i.2).collect();
    let mut module = world.module;
    module.own_impls = own_impls;
    module.items = items.iter().filter(|r| r.unit == root).filter_map(|r| world.funs.get(r).copied()).collect();
    let refused = world.refused.iter().filter_map(|r| world.funs.get(r).copied()).collect();
    assemble::without(module, refused)
}
