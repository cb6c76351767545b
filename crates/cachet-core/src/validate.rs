//! Is this a program at all? Scope, kinds, types and shapes; nothing about sizes.
//!
//! The rules, each named in its [`Fault`]:
//!
//! 1. *ids*: every id lies in its table.
//! 2. *scope*: what is used is bound around the use; a `let`, `var`, `alloc` or lease reaches to the end of its block.
//! 3. *binders*: every variable, local and buffer is bound once in the whole function.
//! 4. *kinds*: the variable of a loop over blocks is used only by its parts, and only it has parts.
//! 5. *literals*: divisors and block sizes are above 0.
//! 6. *ranks*: an access has one index per axis, a local array's cell one per dimension.
//! 7. *types*: operands have the types that an operation takes; what is stored has the cell's type.
//! 8. *writes*: only `mut` parameters, allocations and mutable leases are stored to; only `var`s are assigned.
//! 9. *calls*: arguments agree in number, element type and rank; a written parameter gets something that may be written;
//!    type parameters are bound to implementations of their interface; sizes agree in number.
//! 10. *head*: parameters are parameters, `produces` and `scratch` name `mut` ones, sizes are sizes.
//! 11. *leases*: while a lease is in force its buffer's own name is not used, except to lease it again where both are
//!     read only; a read-only lease is not written. A lease has the extents and the layout of its buffer.
//! 12. *grids*: a grid has an axis; a grid of level n + 1 stands in one of level n of the same device, and in no other; its body assigns no
//!     local from outside, prints nothing and counts no differences, and calls nothing that does or that has a grid; a
//!     window names a buffer from outside that may be written.
//! 13. *impls*: an implementation has its interface's operations, at its value's type.
//! 14. *graphs*: no function calls itself and no pure function is defined by itself, through others or directly.
//! 15. *layouts*: a layout's operations name axes that there are, with positive factors and permutations; strides are one
//!     size per axis.
//! 16. *vectors*: a loop over lanes starts at 0 and runs over one store or assignment of a machine's element, without sums;
//!     a vector `let` is filled by the statement after it.
//! 17. *instructions*: a body is made of cells of parameters, operations, pure functions and choices alone; a vector
//!     statement is meant for an instruction that there is. That it is a use of it is nobody's business here.
//! 18. *depth*: nesting stays within [`MAX_DEPTH`] statements and a bound on terms that walkers rely on.

mod depth;
mod graph;
mod layout;
mod pure;
mod word;

pub(crate) use word::primitive;

use crate::instance::bind_ty;
use crate::ir::{
    Access, At, Binding, Block, Buffer, Call, Device, Domain, Fun, Grid, Guard, Ix, Local, MAX_DEPTH, Program, Role,
    Stmt, StmtKind, Ty, Var, VarKind, Word,
};
use crate::vectors;
use std::collections::BTreeSet;

/// A broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The rule's name in the list above.
    pub rule: &'static str,
    /// What is wrong, in the user's names.
    pub text: String,
    /// Where.
    pub span: At,
}

/// Every function of a program.
pub fn validate(program: &Program) -> Result<(), Vec<Fault>> {
    let mut faults: Vec<Fault> = Vec::new();
    let deep = program.funs.iter().find(|f| !depth::within(f)).map(|f| (f.name.clone(), f.span));
    let deep =
        deep.or(program.pures.iter().find(|p| !depth::word_within(&p.body)).map(|p| (p.name.clone(), At::default())));
    if let Some((name, span)) = deep {
        return Err(vec![Fault { rule: "depth", text: format!("`{name}` nests deeper than {MAX_DEPTH}"), span }]);
    }
    faults.extend(graph::cycles(program));
    faults.extend(pure::impls(program));
    faults.extend(program.pures.iter().flat_map(|p| pure::pure(program, p)));
    faults.extend(program.instrs.iter().flat_map(|i| instr(program, i)));
    faults.extend(program.funs.iter().filter_map(|f| validate_fun(program, f).err()).flatten());
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// An instruction, which is as well-formed as a function that does nothing else.
fn instr(program: &Program, instr: &crate::ir::Instr) -> Vec<Fault> {
    // Depth first, here too.
    if let Err(faults) = validate_fun(program, &instr.as_function()) {
        return faults;
    }
    let fault = instr.fault().map(|text| Fault { rule: "instructions", text, span: At::default() });
    fault.into_iter().collect()
}

/// One function.
pub fn validate_fun(program: &Program, fun: &Fun) -> Result<(), Vec<Fault>> {
    // Depth first: everything after this recurses with the program.
    if !depth::within(fun) {
        let text = format!("`{}` nests deeper than {MAX_DEPTH}", fun.name);
        return Err(vec![Fault { rule: "depth", text, span: fun.span }]);
    }
    let mut check = Check::new(program, fun);
    check.head();
    check.block(&fun.body);
    if check.faults.is_empty() { Ok(()) } else { Err(check.faults) }
}

/// Whether statements nest no deeper than a function's may: walkers recurse with them.
pub fn shallow(block: &[Stmt]) -> bool {
    depth::block_within(block)
}

struct Check<'a> {
    program: &'a Program,
    fun: &'a Fun,
    span: At,
    vars: BTreeSet<Var>,
    locals: BTreeSet<Local>,
    buffers: BTreeSet<Buffer>,
    /// Leases in force: the lease, its buffer, and whether it may be written.
    leases: Vec<(Buffer, Buffer, bool)>,
    /// Grids around, outermost first: device, level, and the locals known outside.
    grids: Vec<(Device, u32, BTreeSet<Local>)>,
    /// The vector that the statement at hand fills.
    filling: Option<Local>,
    /// Everything bound so far, in scope or not.
    bound: (BTreeSet<Var>, BTreeSet<Local>, BTreeSet<Buffer>),
    faults: Vec<Fault>,
}

impl<'a> Check<'a> {
    fn new(program: &'a Program, fun: &'a Fun) -> Check<'a> {
        Check {
            program,
            fun,
            span: fun.span,
            vars: BTreeSet::new(),
            locals: BTreeSet::new(),
            buffers: BTreeSet::new(),
            leases: Vec::new(),
            grids: Vec::new(),
            filling: None,
            bound: (BTreeSet::new(), BTreeSet::new(), BTreeSet::new()),
            faults: Vec::new(),
        }
    }

    fn fault(&mut self, rule: &'static str, text: impl Into<String>) {
        let span = self.span;
        self.faults.push(Fault { rule, text: text.into(), span });
    }

    fn head(&mut self) {
        for v in &self.fun.sizes {
            self.bind_var(*v);
            if self.fun.vars.get(v.index()).is_some_and(|i| i.kind != VarKind::Size) {
                self.fault("head", "a size parameter is not a size");
            }
        }
        for b in &self.fun.params {
            self.bind_buffer(*b);
            if !matches!(self.role(*b), Some(Role::Reads | Role::Mut)) {
                self.fault("head", "a parameter is neither `reads` nor `mut`");
            }
        }
        for b in self.fun.produces.iter().chain(&self.fun.scratch) {
            if !self.fun.params.contains(b) || self.role(*b) != Some(Role::Mut) {
                self.fault("head", "`produces` or `scratch` names something that is not a `mut` parameter");
            }
        }
        for g in &self.fun.requires {
            self.guard(g);
        }
        let (indices, buffers) = self.fun.resources.parts();
        indices.into_iter().for_each(|ix| self.ix(ix));
        if buffers.iter().any(|b| !self.fun.params.contains(b)) {
            self.fault("head", "`working_set` or `movement` names something that is not a parameter");
        }
    }

    fn role(&self, b: Buffer) -> Option<Role> {
        self.fun.buffers.get(b.index()).map(|i| i.role)
    }

    fn bind_var(&mut self, v: Var) {
        if self.fun.vars.get(v.index()).is_none() {
            self.fault("ids", "a variable without an entry");
        } else if !self.bound.0.insert(v) {
            self.fault("binders", format!("`{}` is bound twice", self.fun.vars[v.index()].name));
        }
        self.vars.insert(v);
    }

    fn bind_local(&mut self, l: Local) {
        match self.fun.locals.get(l.index()) {
            None => self.fault("ids", "a local without an entry"),
            Some(info) if info.dims.iter().any(|d| *d < 0) => {
                self.fault("literals", format!("`{}` has a negative extent", info.name));
            }
            Some(info) => {
                let name = info.name.clone();
                self.ty(&info.ty);
                if !self.bound.1.insert(l) {
                    self.fault("binders", format!("`{name}` is bound twice"));
                }
            }
        }
        self.locals.insert(l);
    }

    fn bind_buffer(&mut self, b: Buffer) {
        match self.fun.buffers.get(b.index()) {
            None => self.fault("ids", "a buffer without an entry"),
            Some(info) => {
                let (name, extents) = (info.name.clone(), info.extents.clone());
                if !self.bound.2.insert(b) {
                    self.fault("binders", format!("`{name}` is bound twice"));
                }
                if extents.is_empty() {
                    self.fault("ranks", format!("`{name}` has no axis"));
                }
                extents.iter().for_each(|e| self.ix(e));
                self.ty(&info.elem);
                if let Some(text) = layout::fault(info, &self.fun.sizes) {
                    self.fault("layouts", format!("`{name}` {text}"));
                }
            }
        }
        self.buffers.insert(b);
    }

    /// Statements of a block; what it binds goes out of scope at its end.
    fn block(&mut self, block: &Block) {
        let scope = (self.vars.clone(), self.locals.clone(), self.buffers.clone());
        let leases = self.leases.len();
        for (n, s) in block.iter().enumerate() {
            self.span = s.span;
            self.filling =
                n.checked_sub(1).and_then(|before| vectors::let_of(self.fun, &block[before], s)).map(|l| l.local);
            if let StmtKind::Var { local, init: _ } = &s.kind
                && self.fun.locals.get(local.index()).is_some_and(|i| i.vector && !i.mutable)
                && block.get(n + 1).is_none_or(|next| vectors::let_of(self.fun, s, next).is_none())
            {
                self.fault(
                    "vectors",
                    format!("`{}` is not filled right after it is declared", self.local_name(*local)),
                );
            }
            self.stmt(s);
        }
        (self.vars, self.locals, self.buffers) = scope;
        self.leases.truncate(leases);
    }

    fn bind_loop(&mut self, v: Var, d: &Domain) {
        self.bind_var(v);
        let fits = |kind: VarKind| match (d, kind) {
            (Domain::Range { .. }, VarKind::Index) | (Domain::Blocks { .. }, VarKind::Block) => true,
            (Domain::Range { lo, .. }, VarKind::Lane(n) | VarKind::Instr(n, _)) => {
                *lo == Ix::Lit(0) && (1..=vectors::MAX_LANES).contains(&n)
            }
            _ => false,
        };
        if self.fun.vars.get(v.index()).is_some_and(|i| !fits(i.kind)) {
            self.fault("kinds", format!("`{}` does not fit the kind of its loop", self.fun.vars[v.index()].name));
        }
    }

    fn stmt(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::For { var, domain, body } => {
                let scope = self.vars.clone();
                self.domain(domain);
                self.bind_loop(*var, domain);
                if let Some(text) = vectors::fault(self.fun, *var, body) {
                    self.fault("vectors", text);
                }
                if let Some(VarKind::Instr(_, i)) = self.fun.vars.get(var.index()).map(|i| i.kind)
                    && self.program.instrs.get(i.index()).is_none()
                {
                    self.fault("ids", "a vector statement is meant for an instruction that there is not");
                }
                // What is filled by a vector statement is assigned one block further in.
                let filling = self.filling.take();
                match (filling, body.as_slice()) {
                    (Some(local), [Stmt { kind: StmtKind::Assign { local: to, at, word }, .. }]) if *to == local => {
                        let ty = self.word(word);
                        self.use_local(local, at);
                        self.local_has(local, ty.as_ref(), false);
                    }
                    _ => self.block(body),
                }
                self.vars = scope;
            }
            StmtKind::Grid(g) => self.grid(g),
            StmtKind::If { guard, then, els } => {
                self.guard(guard);
                self.block(then);
                self.block(els);
            }
            StmtKind::Let { local, word } => {
                let ty = self.word(word);
                self.bind_local(*local);
                self.local_has(*local, ty.as_ref(), false);
            }
            StmtKind::Var { local, init } => {
                let ty = self.word(init);
                self.bind_local(*local);
                let vector = self.fun.locals.get(local.index()).is_some_and(|i| i.vector);
                let mutable = !vector || self.fun.locals[local.index()].mutable;
                self.local_has(*local, ty.as_ref(), mutable);
            }
            StmtKind::Assign { local, at, word } => {
                let ty = self.word(word);
                self.use_local(*local, at);
                self.local_has(*local, ty.as_ref(), true);
                if self.grids.iter().any(|g| g.2.contains(local)) {
                    self.fault("grids", format!(
                            "the iterations of a grid, which may run at once, all assign `{}`, which is declared outside it",
                            self.local_name(*local)
                        ));
                }
            }
            StmtKind::Store { to, word } => self.store(to, word),
            StmtKind::Alloc(b) => {
                self.bind_buffer(*b);
                if self.role(*b) != Some(Role::Alloc) {
                    self.fault("head", "`alloc` of something that is not an allocation");
                }
            }
            StmtKind::Lease { lease, of, mutable } => self.lease(*lease, *of, *mutable),
            StmtKind::Call(c) => self.call(c),
            StmtKind::Print(w) => {
                if self.word(w).is_some_and(|t| !matches!(t, Ty::Elem(_))) {
                    self.fault("types", "`print` writes one element");
                }
                self.host("prints");
            }
        }
    }

    fn grid(&mut self, g: &Grid) {
        if self.program.devices.get(g.device.index()).is_none() {
            self.fault("ids", "a grid on an unknown device");
        }
        let place = match self.grids.last() {
            Some((device, level, _)) => *device == g.device && g.level == level + 1,
            None => g.level == 0,
        };
        if !place {
            self.fault("grids", format!("a grid of level {} does not stand in one of the level above", g.level));
        }
        if g.axes.is_empty() {
            self.fault("grids", "a grid without an axis");
        }
        let scope = self.vars.clone();
        for (v, d) in &g.axes {
            self.domain(d);
            self.bind_loop(*v, d);
        }
        for w in &g.writes {
            self.use_buffer(w.buffer);
            self.axes(w.buffer, &w.axes);
            if !self.writable(w.buffer) {
                self.fault("grids", format!("a window of `{}`, which is read only", self.buffer_name(w.buffer)));
            }
        }
        self.grids.push((g.device, g.level, self.locals.clone()));
        self.block(&g.body);
        self.grids.pop();
        self.vars = scope;
    }

    fn lease(&mut self, lease: Buffer, of: Buffer, mutable: bool) {
        let shared = !mutable && self.leases.iter().all(|l| l.1 != of || !l.2);
        if shared {
            self.known_buffer(of)
        } else {
            self.use_buffer(of)
        }
        if mutable && !self.writable(of) {
            self.fault("leases", format!("a lease to write `{}`, which is read only", self.buffer_name(of)));
        }
        self.bind_buffer(lease);
        let shape = |b: Buffer| self.fun.buffers.get(b.index()).map(|i| (&i.elem, &i.extents, &i.layout, &i.strides));
        if self.role(lease) != Some(Role::Lease(of)) || of >= lease {
            self.fault("head", "a lease names another buffer than its own");
        } else if shape(lease) != shape(of) {
            self.fault(
                "leases",
                format!("`{}` has another shape than `{}`", self.buffer_name(lease), self.buffer_name(of)),
            );
        }
        self.leases.push((lease, of, mutable));
    }

    /// Something that only host code does.
    fn host(&mut self, what: &str) {
        if !self.grids.is_empty() {
            self.fault("grids", format!("a grid {what}"));
        }
    }

    /// Start and length per axis of a buffer.
    fn axes(&mut self, b: Buffer, axes: &[(Ix, Ix)]) {
        for (s, n) in axes {
            self.ix(s);
            self.ix(n);
        }
        if self.fun.buffers.get(b.index()).is_some_and(|i| i.extents.len() != axes.len()) {
            self.fault("ranks", format!("a part of `{}` has another number of axes", self.buffer_name(b)));
        }
    }

    /// The type parameters of a type exist.
    fn ty(&mut self, ty: &Ty) {
        match ty {
            Ty::Elem(_) => {}
            Ty::Abstract(p) if p.index() < self.fun.type_params.len() => {}
            Ty::Abstract(_) => self.fault("ids", "a type parameter without an entry"),
            Ty::Tuple(parts) => {
                if parts.record.is_some() && parts.info(self.program).is_none() {
                    self.fault("ids", "a record without an entry, or with other fields");
                }
                parts.iter().for_each(|t| self.ty(t));
            }
        }
    }

    fn buffer_name(&self, b: Buffer) -> &'a str {
        self.fun.buffers.get(b.index()).map_or("?", |i| &i.name)
    }

    fn local_name(&self, l: Local) -> &'a str {
        self.fun.locals.get(l.index()).map_or("?", |i| &i.name)
    }

    fn store(&mut self, to: &Access, word: &Word) {
        let ty = self.word(word);
        self.access(to);
        let Some(info) = self.fun.buffers.get(to.buffer.index()) else { return };
        if !self.writable(to.buffer) {
            self.fault("writes", format!("`{}` is read only", info.name));
        }
        if ty.is_some_and(|t| t != info.elem) {
            self.fault("types", format!("a word of another type is stored to `{}`", info.name));
        }
    }

    fn writable(&self, b: Buffer) -> bool {
        match self.role(b) {
            Some(Role::Mut | Role::Alloc) => true,
            Some(Role::Lease(of)) => of < b && self.leases.iter().all(|l| l.0 != b || l.2) && self.writable(of),
            Some(Role::Reads) | None => false,
        }
    }

    fn local_has(&mut self, l: Local, ty: Option<&Ty>, mutable: bool) {
        let Some(info) = self.fun.locals.get(l.index()) else { return };
        if ty.is_some_and(|t| *t != info.ty) {
            self.fault("types", format!("a word of another type is given to `{}`", info.name));
        }
        if info.mutable != mutable {
            self.fault("writes", format!("`{}` is used both as a `let` and as a `var`", info.name));
        }
        if info.vector && !matches!((info.dims.last(), &info.ty), (Some(1..), Ty::Elem(_))) {
            self.fault("vectors", format!("`{}` has no lanes of a machine's elements", info.name));
        }
        if !mutable && !info.dims.is_empty() && !info.vector {
            self.fault("ranks", format!("`{}` is an array and cannot be a `let`", info.name));
        }
    }

    fn use_local(&mut self, l: Local, at: &[Ix]) {
        at.iter().for_each(|i| self.ix(i));
        let Some(info) = self.fun.locals.get(l.index()) else { return self.fault("ids", "a local without an entry") };
        if !self.locals.contains(&l) {
            self.fault("scope", format!("`{}` is used where it is not known", info.name));
        }
        if at.len() != info.dims.len() {
            self.fault(
                "ranks",
                format!("`{}` has {} dimensions and is used with {}", info.name, info.dims.len(), at.len()),
            );
        }
    }

    fn use_buffer(&mut self, b: Buffer) {
        if let Some((lease, ..)) = self.leases.iter().find(|l| l.1 == b) {
            let lease = self.buffer_name(*lease);
            self.fault("leases", format!("`{}` is leased as `{lease}`", self.buffer_name(b)));
        }
        self.known_buffer(b);
    }

    fn known_buffer(&mut self, b: Buffer) {
        let Some(info) = self.fun.buffers.get(b.index()) else { return self.fault("ids", "a buffer without an entry") };
        if !self.buffers.contains(&b) {
            self.fault("scope", format!("`{}` is used where it is not known", info.name));
        }
    }

    fn access(&mut self, a: &Access) {
        self.use_buffer(a.buffer);
        a.at.iter().for_each(|i| self.ix(i));
        let Some(info) = self.fun.buffers.get(a.buffer.index()) else { return };
        if a.at.len() != info.extents.len() {
            self.fault(
                "ranks",
                format!("`{}` has {} axes and is used with {} subscripts", info.name, info.extents.len(), a.at.len()),
            );
        }
    }

    fn domain(&mut self, d: &Domain) {
        let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, .. }) = d;
        self.ix(lo);
        self.ix(hi);
        if matches!(d, Domain::Blocks { size, .. } if *size <= 0) {
            self.fault("literals", "a block size has to be above 0");
        }
    }

    fn guard(&mut self, g: &Guard) {
        match g {
            Guard::Const(_) => {}
            Guard::Cmp(_, a, b) => {
                self.ix(a);
                self.ix(b);
            }
            Guard::And(a, b) | Guard::Or(a, b) => {
                self.guard(a);
                self.guard(b);
            }
            Guard::Not(a) => self.guard(a),
        }
    }

    fn use_var(&mut self, v: Var, block: bool) {
        let Some(info) = self.fun.vars.get(v.index()) else { return self.fault("ids", "a variable without an entry") };
        if !self.vars.contains(&v) {
            self.fault("scope", format!("`{}` is used outside its loop", info.name));
        }
        if (info.kind == VarKind::Block) != block {
            let text = if block { "has no parts: it is not a block" } else { "is a block: name a part of it" };
            self.fault("kinds", format!("`{}` {text}", info.name));
        }
    }

    fn ix(&mut self, ix: &Ix) {
        match ix {
            Ix::Lit(_) => {}
            Ix::Var(v) => self.use_var(*v, false),
            Ix::Add(a, b) | Ix::Sub(a, b) | Ix::Min(a, b) | Ix::Max(a, b) => {
                self.ix(a);
                self.ix(b);
            }
            Ix::Mul(_, a) => self.ix(a),
            Ix::Div(a, n) | Ix::Mod(a, n) => {
                self.ix(a);
                if *n <= 0 {
                    self.fault("literals", "a divisor has to be above 0");
                }
            }
            Ix::If(g, a, b) => {
                self.guard(g);
                self.ix(a);
                self.ix(b);
            }
            Ix::Block(v, _) => self.use_var(*v, true),
            Ix::InBlock(v, e) => {
                self.use_var(*v, true);
                self.ix(e);
            }
        }
    }

    fn call(&mut self, c: &Call) {
        let Some(callee) = self.program.funs.get(c.fun.index()) else { return self.fault("ids", "a call of nothing") };
        c.sizes.iter().for_each(|i| self.ix(i));
        if !self.grids.is_empty() {
            let reach = graph::reach(self.program, c.fun);
            if reach.host || reach.grid {
                let what = if reach.grid { "has a grid" } else { "is for the host" };
                self.fault("grids", format!("a grid calls `{}`, which {what}", callee.name));
            }
        }
        let counts = (c.sizes.len(), c.args.len(), c.types.len());
        if counts != (callee.sizes.len(), callee.params.len(), callee.type_params.len()) {
            return self.fault("calls", format!("the call of `{}` has too many or too few arguments", callee.name));
        }
        for (b, p) in c.types.iter().zip(&callee.type_params) {
            let interface = match b {
                Binding::Impl(i) => self.program.impls.get(i.index()).map(|i| i.interface),
                Binding::Param(p) => self.fun.type_params.get(p.index()).map(|p| p.interface),
            };
            if interface != Some(p.interface) {
                self.fault("calls", format!("`{}` of `{}` is bound to something else", p.name, callee.name));
            }
        }
        for (a, p) in c.args.iter().zip(&callee.params) {
            self.use_buffer(a.buffer);
            let (Some(arg), Some(param)) = (self.fun.buffers.get(a.buffer.index()), callee.buffers.get(p.index()))
            else {
                continue;
            };
            if bind_ty(self.program, &c.types, &param.elem) != arg.elem || param.extents.len() != arg.extents.len() {
                self.fault("calls", format!("`{}` does not fit `{}` of `{}`", arg.name, param.name, callee.name));
            }
            if param.role == Role::Mut && !self.writable(a.buffer) {
                self.fault("calls", format!("`{}` is read only, and `{}` writes it", arg.name, callee.name));
            }
            if let Some(axes) = &a.axes {
                self.axes(a.buffer, axes);
            }
        }
    }
}

#[cfg(test)]
mod tests;
