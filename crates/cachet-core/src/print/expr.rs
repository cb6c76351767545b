//! Indices, guards, domains and words as text.

use super::float;
use crate::ir::{
    Access, Binding, BlockPart, Buffer, BufferInfo, Device, Domain, Elem, Fun, Guard, Ix, Local, LocalInfo, Op, Prim,
    Program, Pure, RecordInfo, Rel, Stmt, StmtKind, Ty, TypeParam, TypeParamInfo, Var, VarInfo, Word,
};
use crate::rewrite::{Visit, visit_ix, visit_word};
use crate::vectors::{self, Lanes};
use std::collections::BTreeSet;

/// The tables that ids are names in.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// Devices, implementations, pure functions, interfaces.
    pub program: &'a Program,
    /// Sizes and loop variables.
    pub vars: &'a [VarInfo],
    /// Locals.
    pub locals: &'a [LocalInfo],
    /// Buffers.
    pub buffers: &'a [BufferInfo],
    /// Type parameters.
    pub type_params: &'a [TypeParamInfo],
    /// The vector statement whose words are written; outside one, none.
    pub(super) lanes: Option<Lanes<'a>>,
}

/// How tightly a text binds: the levels of the language's precedence table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Open,
    Or,
    And,
    Compare,
    Add,
    Mul,
    Cast,
    Unary,
    Apply,
    Atom,
}

impl<'a> Names<'a> {
    /// The names of a function.
    pub fn of(program: &'a Program, fun: &'a Fun) -> Names<'a> {
        let (vars, locals, buffers) = (&fun.vars, &fun.locals, &fun.buffers);
        Names { program, vars, locals, buffers, type_params: &fun.type_params, lanes: None }
    }

    /// The names of a function that is still being made.
    pub fn of_tables(
        program: &'a Program,
        vars: &'a [VarInfo],
        locals: &'a [LocalInfo],
        (buffers, type_params): (&'a [BufferInfo], &'a [TypeParamInfo]),
    ) -> Names<'a> {
        Names { program, vars, locals, buffers, type_params, lanes: None }
    }

    /// The names of a pure function.
    pub fn of_pure(program: &'a Program, pure: &'a Pure) -> Names<'a> {
        Names { program, vars: &[], locals: &pure.locals, buffers: &[], type_params: &[], lanes: None }
    }

    /// A variable's name.
    pub fn var(&self, var: Var) -> &'a str {
        self.vars.get(var.index()).map_or("?", |v| &v.name)
    }

    /// A local's name.
    pub fn local(&self, local: Local) -> &'a str {
        self.locals.get(local.index()).map_or("?", |l| &l.name)
    }

    /// A buffer's name.
    pub fn buffer(&self, buffer: Buffer) -> &'a str {
        self.buffers.get(buffer.index()).map_or("?", |b| &b.name)
    }

    /// A device's name.
    pub fn device(&self, device: Device) -> &'a str {
        self.program.devices.get(device.index()).map_or("?", |d| &d.name)
    }

    /// A type parameter's name.
    pub fn type_param(&self, param: TypeParam) -> &'a str {
        self.type_params.get(param.index()).map_or("?", |p| &p.name)
    }

    /// What a type parameter is bound to.
    pub fn binding(&self, binding: Binding) -> &'a str {
        match binding {
            Binding::Impl(i) => self.program.impls.get(i.index()).map_or("?", |i| &i.name),
            Binding::Param(p) => self.type_param(p),
        }
    }

    /// A type.
    pub fn ty(&self, ty: &Ty) -> String {
        match ty {
            Ty::Elem(e) => elem(*e).to_string(),
            Ty::Abstract(p) => format!("{}.Value", self.type_param(*p)),
            Ty::Tuple(parts) if parts.info(self.program).is_some() => {
                parts.info(self.program).map_or_else(String::new, |r| r.name.clone())
            }
            Ty::Tuple(parts) => format!("({})", parts.iter().map(|t| self.ty(t)).collect::<Vec<_>>().join(", ")),
        }
    }

    /// An index.
    pub fn ix(&self, ix: &Ix) -> String {
        self.ix_at(ix, Level::Open)
    }

    /// An index before `/`.
    pub(crate) fn dividend(&self, ix: &Ix) -> String {
        self.ix_at(ix, Level::Mul)
    }

    /// An index as an `@` argument: more than a name or a number in parentheses.
    pub(super) fn size_argument(&self, ix: &Ix) -> String {
        self.ix_at(ix, Level::Atom)
    }

    /// A guard.
    pub fn guard(&self, guard: &Guard) -> String {
        self.guard_at(guard, Level::Open)
    }

    /// A requirement: a guard with what it is about first, `K > 0`.
    pub fn requirement(&self, guard: &Guard) -> String {
        match guard {
            Guard::Cmp(Rel::Lt, n @ Ix::Lit(_), x) => format!("{} > {}", self.ix_at(x, Level::Add), self.ix(n)),
            Guard::Cmp(Rel::Le, n @ Ix::Lit(_), x) => format!("{} >= {}", self.ix_at(x, Level::Add), self.ix(n)),
            guard => self.guard(guard),
        }
    }

    /// A domain.
    pub fn domain(&self, domain: &Domain) -> String {
        match domain {
            Domain::Range { lo, hi } => self.range(lo, hi),
            Domain::Blocks { lo, hi, size } => format!("blocks ({}) {size}", self.range(lo, hi)),
        }
    }

    fn range(&self, lo: &Ix, hi: &Ix) -> String {
        format!("{} .. {}", self.ix_at(lo, Level::Add), self.ix_at(hi, Level::Add))
    }

    /// A cell.
    pub fn access(&self, access: &Access) -> String {
        self.cell(self.buffer(access.buffer), &access.at)
    }

    /// A cell of something with a name.
    pub fn cell(&self, name: &str, at: &[Ix]) -> String {
        if at.is_empty() {
            return name.to_string();
        }
        format!("{name}[{}]", at.iter().map(|i| self.ix(i)).collect::<Vec<_>>().join(", "))
    }

    /// A box of a buffer: per axis one index, or `start ..+ length`.
    pub fn window(&self, buffer: Buffer, axes: &[(Ix, Ix)]) -> String {
        let axis = |(start, len): &(Ix, Ix)| match len {
            Ix::Lit(1) => self.ix(start),
            _ => format!("{} ..+ {}", self.ix_at(start, Level::Add), self.ix_at(len, Level::Add)),
        };
        format!("{}[{}]", self.buffer(buffer), axes.iter().map(axis).collect::<Vec<_>>().join(", "))
    }

    /// A word.
    pub fn word(&self, word: &Word) -> String {
        self.word_at(word, Level::Open)
    }

    fn ix_at(&self, ix: &Ix, least: Level) -> String {
        let two = |a: &Ix, op: &str, b: &Ix, level: Level, right: Level| {
            (level, format!("{} {op} {}", self.ix_at(a, level), self.ix_at(b, right)))
        };
        let (level, text) = match ix {
            Ix::Lit(n) => (if *n < 0 { Level::Unary } else { Level::Atom }, n.to_string()),
            Ix::Var(v) => (Level::Atom, self.var(*v).to_string()),
            Ix::Add(a, b) => two(a, "+", b, Level::Add, Level::Mul),
            Ix::Sub(a, b) => two(a, "-", b, Level::Add, Level::Mul),
            Ix::Mul(n, a) => match **a {
                Ix::Var(_) | Ix::InBlock(..) | Ix::Block(..) => {
                    (Level::Mul, format!("{} * {n}", self.ix_at(a, Level::Mul)))
                }
                _ => (Level::Mul, format!("{n} * {}", self.ix_at(a, Level::Cast))),
            },
            Ix::Div(a, n) => (Level::Mul, format!("{} / {n}", self.ix_at(a, Level::Mul))),
            Ix::Mod(a, n) => (Level::Mul, format!("{} % {n}", self.ix_at(a, Level::Mul))),
            Ix::Min(a, b) => {
                (Level::Apply, format!("min {} {}", self.ix_at(a, Level::Atom), self.ix_at(b, Level::Atom)))
            }
            Ix::Max(a, b) => {
                (Level::Apply, format!("max {} {}", self.ix_at(a, Level::Atom), self.ix_at(b, Level::Atom)))
            }
            Ix::If(g, a, b) => (Level::Open, format!("if {} then {} else {}", self.guard(g), self.ix(a), self.ix(b))),
            Ix::Block(v, part) => (Level::Atom, format!("{}.{}", self.var(*v), block_part(*part))),
            Ix::InBlock(v, e) => (Level::Atom, format!("{}[{}]", self.var(*v), self.ix(e))),
        };
        parenthesised(text, level, least)
    }

    fn guard_at(&self, guard: &Guard, least: Level) -> String {
        let (level, text) = match guard {
            Guard::Const(c) => (Level::Atom, c.to_string()),
            Guard::Cmp(rel, a, b) => (
                Level::Compare,
                format!("{} {} {}", self.ix_at(a, Level::Add), rel_text(*rel), self.ix_at(b, Level::Add)),
            ),
            Guard::And(a, b) => {
                (Level::And, format!("{} && {}", self.guard_at(a, Level::And), self.guard_at(b, Level::Compare)))
            }
            Guard::Or(a, b) => {
                (Level::Or, format!("{} || {}", self.guard_at(a, Level::Or), self.guard_at(b, Level::And)))
            }
            Guard::Not(a) => (Level::Unary, format!("!{}", self.guard_at(a, Level::Atom))),
        };
        parenthesised(text, level, least)
    }

    fn word_at(&self, word: &Word, least: Level) -> String {
        self.word_in(word, least, None)
    }

    /// A word in a place of a known type, which tells what record several words are.
    pub(super) fn word_in(&self, word: &Word, least: Level, want: Option<&Ty>) -> String {
        if let Some(lanes) = &self.lanes
            && let Some((level, text)) = self.lane_word(lanes, word, want)
        {
            return parenthesised(text, level, least);
        }
        let (level, text) = match word {
            Word::Lit(lit) if float::is_call(*lit) => (Level::Apply, float::decimal(*lit)),
            Word::Lit(lit) => {
                let text = float::decimal(*lit);
                // A negative literal is one token, but as an argument it would read as a subtraction.
                (if text.starts_with('-') { Level::Unary } else { Level::Atom }, text)
            }
            Word::Index(ix, e) => (Level::Cast, format!("{} as {}", self.ix_at(ix, Level::Cast), elem(*e))),
            Word::Load(a) => (Level::Apply, format!("load {}", self.access(a))),
            Word::Local(l, at) => (Level::Atom, self.cell(self.local(*l), at)),
            Word::Op { op, arith: _, args } => self.op(*op, args, want),
            Word::Apply(f, args) => match self.program.pures.get(f.index()) {
                Some(pure) => {
                    let ty = |n: usize| pure.params.get(n).and_then(|p| pure.locals.get(p.index())).map(|l| &l.ty);
                    self.applied(&pure.name, args, &ty)
                }
                None => self.application("?", args),
            },
            Word::Tuple(parts) if self.record(want).is_some() => self.literal(parts, want),
            Word::Tuple(parts) => {
                (Level::Atom, format!("({})", parts.iter().map(|w| self.word(w)).collect::<Vec<_>>().join(", ")))
            }
            Word::Part(w, n) => match &**w {
                Word::Tuple(parts) if (*n as usize) < parts.len() => {
                    return self.word_in(&parts[*n as usize], least, want);
                }
                w => {
                    let ty = self.type_of(w);
                    let field = self.record(ty.as_ref()).and_then(|r| r.fields.get(*n as usize));
                    let field = field.map_or_else(|| n.to_string(), String::clone);
                    (Level::Atom, format!("{}.{field}", self.word_at(w, Level::Atom)))
                }
            },
            Word::Let(l, a, b) => {
                let text = self.named(*l, b, |names| {
                    format!("{} in {}", names.binding_of(*l, a), names.word_in(b, Level::Open, want))
                });
                (Level::Open, text)
            }
            Word::If(g, a, b) => {
                let (a, b) = (self.word_in(a, Level::Open, want), self.word_in(b, Level::Open, want));
                (Level::Open, format!("if {} then {a} else {b}", self.guard(g)))
            }
            Word::Fold(f) => {
                let body = self.word_in(&f.body, Level::Open, self.local_ty(f.acc));
                (Level::Open, format!("{} {body}", self.fold_head(f)))
            }
            Word::Reduce(r) => (
                Level::Open,
                format!(
                    "reduce {} in {} by {} do {}",
                    self.var(r.var),
                    self.domain(&r.domain),
                    shape(r.shape),
                    self.word(&r.element)
                ),
            ),
            Word::Differing(a, b) => (Level::Apply, format!("differing {} {}", self.buffer(*a), self.buffer(*b))),
        };
        parenthesised(text, level, least)
    }

    /// What a vector statement writes in its own way: what is the same in all lanes, and what each lane has its own of.
    fn lane_word(&self, lanes: &Lanes<'_>, word: &Word, want: Option<&Ty>) -> Option<(Level, String)> {
        if let Some(text) = self.instruction(lanes, word) {
            return Some((Level::Apply, text));
        }
        if !vectors::varies_word(word, lanes.var) {
            let scalar = Names { lanes: None, ..*self };
            return Some((Level::Apply, format!("splat {}", scalar.word_in(word, Level::Atom, want))));
        }
        if let Some((a, active, other)) = vectors::masked_load(word, lanes.var) {
            let scalar = Names { lanes: None, ..*self };
            let (active, other) = (self.ix_at(active, Level::Add), scalar.word_in(other, Level::Atom, want));
            return Some((Level::Open, format!("{} mask {active} else {other}", self.lane_load(a, lanes)?)));
        }
        match word {
            Word::Load(a) if lanes.masked() => {
                let active = self.ix_at(lanes.active, Level::Add);
                Some((Level::Open, format!("{} mask {active}", self.lane_load(a, lanes)?)))
            }
            Word::Load(a) => Some((Level::Apply, self.lane_load(a, lanes)?)),
            Word::Local(l, at) => {
                let from = vectors::slice(self.locals, *l, at, lanes);
                let at = at.split_last().map_or(&[][..], |(_, at)| at);
                let vector = self.cell(self.local(*l), at);
                Some(match from {
                    Some(from) => (Level::Apply, format!("slice_lanes {vector} {}", self.ix_at(&from, Level::Atom))),
                    None => (Level::Atom, vector),
                })
            }
            _ => None,
        }
    }

    /// The use of an instruction that a whole vector statement is.
    fn instruction(&self, lanes: &Lanes<'_>, word: &Word) -> Option<String> {
        let (StmtKind::Store { word: whole, .. } | StmtKind::Assign { word: whole, .. }) = &lanes.stmt.kind else {
            return None;
        };
        if whole != word {
            return None;
        }
        let applied = crate::instr::applied(self.program, self.vars, lanes)?;
        let mut out = applied.instr.name.clone();
        for operand in applied.operands_in(lanes.var) {
            out.push(' ');
            out.push_str(&match operand {
                Ok((word, elem, count)) => {
                    let active = Ix::Lit(count);
                    // An operand is no whole statement.
                    let none = Stmt { kind: StmtKind::Print(word.clone()), span: lanes.stmt.span };
                    let own = Lanes { var: lanes.var, count, active: &active, stmt: &none };
                    Names { lanes: Some(own), ..*self }.word_in(&word, Level::Atom, Some(&Ty::Elem(elem)))
                }
                Err(ix) => self.ix_at(ix, Level::Atom),
            });
        }
        Some(out)
    }

    /// A word that all lanes have.
    pub(super) fn splat(&self, word: &Word, ty: &Ty) -> String {
        format!("splat {}", self.word_in(word, Level::Atom, Some(ty)))
    }

    fn lane_load(&self, a: &Access, lanes: &Lanes<'_>) -> Option<String> {
        Some(format!("load {}", self.lane_cells(a, lanes)?))
    }

    /// The cells of an access, one for each lane: `c[i, j ..+ 8]`.
    pub(super) fn lane_cells(&self, a: &Access, lanes: &Lanes<'_>) -> Option<String> {
        let count = Ix::Lit(lanes.count);
        let axes: Vec<(Ix, Ix)> = vectors::window(&a.at, lanes.var)?
            .into_iter()
            .map(|(ix, grows)| (ix, if grows { count.clone() } else { Ix::Lit(1) }))
            .collect();
        // A vector of one lane is told by its window.
        match lanes.count {
            1 => {
                let at = vectors::window(&a.at, lanes.var)?.into_iter().map(|(ix, grows)| match grows {
                    true => format!("{} ..+ 1", self.ix_at(&ix, Level::Add)),
                    false => self.ix(&ix),
                });
                Some(format!("{}[{}]", self.buffer(a.buffer), at.collect::<Vec<_>>().join(", ")))
            }
            _ => Some(self.window(a.buffer, &axes)),
        }
    }

    /// The type of a local: of one word, an array, a vector, an array of vectors.
    pub(super) fn local_type(&self, info: &LocalInfo) -> String {
        let ty = self.ty(&info.ty);
        let (ty, dims) = match info.dims.split_last() {
            Some((lanes, dims)) if info.vector => (format!("Vec {ty} {lanes}"), dims),
            _ => (ty, info.dims.as_slice()),
        };
        match dims {
            [] => ty,
            dims => format!("[{ty}; {}]", dims.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")),
        }
    }

    /// The record that a type is.
    fn record(&self, ty: Option<&Ty>) -> Option<&'a RecordInfo> {
        match ty? {
            Ty::Tuple(parts) => parts.info(self.program),
            Ty::Elem(_) | Ty::Abstract(_) => None,
        }
    }

    /// `Pair { value = x, index = 3 }`.
    fn literal(&self, words: &[Word], want: Option<&Ty>) -> (Level, String) {
        let (Some(record), Some(Ty::Tuple(types))) = (self.record(want), want) else {
            return (Level::Atom, String::new());
        };
        (Level::Atom, format!("{} {{ {} }}", record.name, self.fields(record, words, types).join(", ")))
    }

    /// The fields of a record, `index = 3`; one that has the name of what it holds is only named.
    pub(super) fn fields(&self, record: &RecordInfo, words: &[Word], types: &[Ty]) -> Vec<String> {
        let field = |(n, w): (usize, &Word)| {
            let name = record.fields.get(n).map_or("?", String::as_str);
            match self.word_in(w, Level::Open, types.get(n)) {
                text if text == name => text,
                text => format!("{name} = {text}"),
            }
        };
        words.iter().enumerate().map(field).collect()
    }

    /// A local's type.
    pub(super) fn local_ty(&self, local: Local) -> Option<&'a Ty> {
        self.locals.get(local.index()).map(|l| &l.ty)
    }

    /// The type of a word that may have fields, where it can be read off.
    fn type_of(&self, word: &Word) -> Option<Ty> {
        match word {
            Word::Load(a) => self.buffers.get(a.buffer.index()).map(|b| b.elem.clone()),
            Word::Local(l, _) => self.local_ty(*l).cloned(),
            Word::Apply(f, _) => self.program.pures.get(f.index()).map(|p| p.result.clone()),
            Word::Part(w, n) => match self.type_of(w)? {
                Ty::Tuple(parts) => parts.get(*n as usize).cloned(),
                Ty::Elem(_) | Ty::Abstract(_) => None,
            },
            Word::Let(_, _, w) => self.type_of(w),
            Word::If(_, a, b) => self.type_of(a).or_else(|| self.type_of(b)),
            Word::Op { op: Op::Prim(Prim::Select), args, .. } => args.iter().skip(1).find_map(|a| self.type_of(a)),
            Word::Op { op: Op::Method(p, _), .. } => Some(Ty::Abstract(*p)),
            Word::Fold(f) => self.local_ty(f.acc).cloned(),
            Word::Reduce(r) => self.local_ty(r.operands.0).cloned(),
            Word::Lit(_) | Word::Index(..) | Word::Op { .. } | Word::Tuple(_) | Word::Differing(..) => None,
        }
    }

    /// Runs `f` with names under which a local is told apart from whatever else of its name occurs in the word that it
    /// is bound in.
    pub(super) fn named<T>(&self, local: Local, word: &Word, f: impl FnOnce(&Names<'_>) -> T) -> T {
        let taken = self.mentioned(word, local);
        let name = self.local(local);
        if !taken.contains(name) {
            return f(self);
        }
        let other = (2u64..).map(|n| format!("{name}_{n}")).find(|n| !taken.contains(n.as_str()));
        let mut locals = self.locals.to_vec();
        if let Some(info) = locals.get_mut(local.index()) {
            info.name = other.unwrap_or_default();
        }
        f(&Names { locals: &locals, ..*self })
    }

    /// The names that mean something in a word, but for one local and those that the word binds itself.
    fn mentioned(&self, word: &Word, except: Local) -> BTreeSet<&'a str> {
        struct Found<'n, 'a> {
            names: &'n Names<'a>,
            out: BTreeSet<&'a str>,
            locals: BTreeSet<Local>,
            bound: BTreeSet<Local>,
        }
        impl Visit for Found<'_, '_> {
            fn ix(&mut self, ix: &Ix) {
                if let Ix::Var(v) | Ix::Block(v, _) | Ix::InBlock(v, _) = ix {
                    self.out.insert(self.names.var(*v));
                }
                visit_ix(self, ix);
            }
            fn word(&mut self, word: &Word) {
                match word {
                    Word::Load(a) => {
                        self.out.insert(self.names.buffer(a.buffer));
                    }
                    Word::Differing(a, b) => self.out.extend([self.names.buffer(*a), self.names.buffer(*b)]),
                    Word::Local(l, _) => {
                        self.locals.insert(*l);
                    }
                    Word::Let(l, ..) => {
                        self.bound.insert(*l);
                    }
                    Word::Fold(f) => {
                        self.out.insert(self.names.var(f.var));
                        self.bound.insert(f.acc);
                    }
                    _ => {}
                }
                visit_word(self, word);
            }
        }
        let bound = BTreeSet::from([except]);
        let mut found = Found { names: self, out: BTreeSet::new(), locals: BTreeSet::new(), bound };
        found.word(word);
        found.out.extend(found.locals.difference(&found.bound).map(|l| self.local(*l)));
        found.out
    }

    /// `let x = a`, with the type where the word has none of its own.
    pub(super) fn binding_of(&self, local: Local, word: &Word) -> String {
        let ty = match untyped(word) {
            true => self.locals.get(local.index()).map_or_else(String::new, |l| format!(": {}", self.ty(&l.ty))),
            false => String::new(),
        };
        let word = self.word_in(word, Level::Open, self.local_ty(local));
        format!("let {}{ty} = {word}", self.local(local))
    }

    /// A fold's head, up to `do`.
    pub(super) fn fold_head(&self, f: &crate::ir::Fold) -> String {
        let ty = self.locals.get(f.acc.index()).map_or_else(|| "?".into(), |l| self.ty(&l.ty));
        format!(
            "fold {} in {} from {} as {}: {ty} do",
            self.var(f.var),
            self.domain(&f.domain),
            self.word_in(&f.init, Level::Unary, self.local_ty(f.acc)),
            self.local(f.acc)
        )
    }

    fn op(&self, op: Op, args: &[Word], want: Option<&Ty>) -> (Level, String) {
        let infix = |sign: &str, level: Level, right: Level| match args {
            [a, b] => (level, format!("{} {sign} {}", self.word_at(a, level), self.word_at(b, right))),
            _ => self.application(sign, args),
        };
        // Comparisons do not chain: one that is compared stands in brackets on either side.
        let compare = |sign: &str| match args {
            [a, b] => {
                (Level::Compare, format!("{} {sign} {}", self.word_at(a, Level::Add), self.word_at(b, Level::Add)))
            }
            _ => self.application(sign, args),
        };
        match op {
            Op::Method(p, m) => {
                let interface =
                    self.type_params.get(p.index()).and_then(|t| self.program.interfaces.get(t.interface as usize));
                let method = interface.and_then(|i| i.methods.get(m as usize)).map_or("?", |m| &m.0);
                self.application(&format!("{}.{method}", self.type_param(p)), args)
            }
            Op::Prim(Prim::Add) => infix("+", Level::Add, Level::Mul),
            Op::Prim(Prim::Sub) => infix("-", Level::Add, Level::Mul),
            Op::Prim(Prim::Mul) => infix("*", Level::Mul, Level::Cast),
            Op::Prim(Prim::Div) => infix("/", Level::Mul, Level::Cast),
            Op::Prim(Prim::Rem) => infix("%", Level::Mul, Level::Cast),
            Op::Prim(Prim::Eq) => compare("=="),
            Op::Prim(Prim::Lt) => compare("<"),
            Op::Prim(Prim::Le) => compare("<="),
            Op::Prim(Prim::And) => infix("&&", Level::And, Level::Compare),
            Op::Prim(Prim::Or) => infix("||", Level::Or, Level::And),
            Op::Prim(Prim::Cast(to)) => match args {
                [a] => (Level::Cast, format!("{} as {}", self.word_at(a, Level::Cast), elem(to))),
                _ => self.application("as", args),
            },
            Op::Prim(p @ (Prim::WrappingCast(to) | Prim::SaturatingCast(to))) => {
                self.application(&format!("{} @{}", prim(p), elem(to)), args)
            }
            Op::Prim(Prim::Neg) => match args {
                [a] => (Level::Unary, format!("-{}", self.word_at(a, Level::Apply))),
                _ => self.application("-", args),
            },
            Op::Prim(Prim::Not) => match args {
                [a] => (Level::Unary, format!("!{}", self.word_at(a, Level::Apply))),
                _ => self.application("!", args),
            },
            Op::Prim(Prim::Select) => {
                let found = args.iter().skip(1).find_map(|a| self.type_of(a));
                let sides = want.or(found.as_ref());
                self.applied(prim(Prim::Select), args, &|n| if n == 0 { None } else { sides })
            }
            Op::Prim(p) => self.application(prim(p), args),
        }
    }

    fn application(&self, head: &str, args: &[Word]) -> (Level, String) {
        self.applied(head, args, &|_| None)
    }

    /// An application whose operands have known types.
    fn applied<'t>(&self, head: &str, args: &[Word], ty: &dyn Fn(usize) -> Option<&'t Ty>) -> (Level, String) {
        if args.is_empty() {
            return (Level::Apply, format!("{head} ()"));
        }
        let args: Vec<String> = args.iter().enumerate().map(|(n, a)| self.word_in(a, Level::Atom, ty(n))).collect();
        (Level::Apply, format!("{head} {}", args.join(" ")))
    }
}

/// Whether a word takes its type from its place: it is made of literals and bits only.
pub(super) fn untyped(word: &Word) -> bool {
    match word {
        Word::Lit(_) => true,
        Word::If(_, a, b) => untyped(a) && untyped(b),
        Word::Let(_, _, b) => untyped(b),
        Word::Op { op: Op::Prim(p), arith: _, args } => match p {
            // Of 16 bits there are two floats.
            Prim::FromBits(to) => to.bytes() == 2,
            Prim::Select => args.iter().skip(1).all(untyped),
            Prim::Add
            | Prim::Sub
            | Prim::Mul
            | Prim::Div
            | Prim::Rem
            | Prim::WrappingAdd
            | Prim::WrappingSub
            | Prim::WrappingMul
            | Prim::Fma
            | Prim::Max
            | Prim::Min
            | Prim::Neg
            | Prim::Abs
            | Prim::Sqrt => args.iter().all(untyped),
            Prim::Eq
            | Prim::Lt
            | Prim::Le
            | Prim::And
            | Prim::Or
            | Prim::Not
            | Prim::Cast(_)
            | Prim::WrappingCast(_)
            | Prim::SaturatingCast(_)
            | Prim::ToBits => false,
        },
        _ => false,
    }
}

/// The element type of an untyped word.
pub(super) fn untyped_elem(word: &Word) -> Option<Elem> {
    match word {
        _ if !untyped(word) => None,
        Word::Lit(lit) => Some(lit.elem),
        Word::If(_, a, _) | Word::Let(_, _, a) => untyped_elem(a),
        Word::Op { op: Op::Prim(Prim::FromBits(to)), .. } => Some(*to),
        Word::Op { op: Op::Prim(Prim::Select), args, .. } => untyped_elem(args.get(1)?),
        Word::Op { op: _, arith: _, args } => untyped_elem(args.first()?),
        _ => None,
    }
}

fn parenthesised(text: String, level: Level, least: Level) -> String {
    if level < least { format!("({text})") } else { text }
}

/// A part's name.
pub(super) fn block_part(part: BlockPart) -> &'static str {
    match part {
        BlockPart::Lo => "lo",
        BlockPart::Hi => "hi",
        BlockPart::Len => "len",
        BlockPart::Idx => "idx",
    }
}

fn rel_text(rel: Rel) -> &'static str {
    match rel {
        Rel::Eq => "==",
        Rel::Ne => "!=",
        Rel::Lt => "<",
        Rel::Le => "<=",
    }
}

fn shape(shape: crate::ir::Shape) -> String {
    match shape {
        crate::ir::Shape::Order => "order".into(),
        crate::ir::Shape::Halving => "halving".into(),
        crate::ir::Shape::Lanes(n) => format!("lanes {n}"),
    }
}

/// An element type's name.
pub(super) fn elem(e: Elem) -> &'static str {
    match e {
        Elem::F64 => "f64",
        Elem::F32 => "f32",
        Elem::F16 => "f16",
        Elem::BF16 => "bf16",
        Elem::I64 => "i64",
        Elem::I32 => "i32",
        Elem::I16 => "i16",
        Elem::I8 => "i8",
        Elem::U64 => "u64",
        Elem::U32 => "u32",
        Elem::U16 => "u16",
        Elem::U8 => "u8",
        Elem::Bool => "bool",
    }
}

/// The name of an operation that prints as an application.
fn prim(p: Prim) -> &'static str {
    match p {
        Prim::Add => "+",
        Prim::Sub | Prim::Neg => "-",
        Prim::Mul => "*",
        Prim::Div => "/",
        Prim::Rem => "%",
        Prim::WrappingAdd => "wrapping_add",
        Prim::WrappingSub => "wrapping_sub",
        Prim::WrappingMul => "wrapping_mul",
        Prim::Fma => "fma",
        Prim::Max => "max",
        Prim::Min => "min",
        Prim::Abs => "abs",
        Prim::Sqrt => "sqrt",
        Prim::Eq => "==",
        Prim::Lt => "<",
        Prim::Le => "<=",
        Prim::And => "&&",
        Prim::Or => "||",
        Prim::Not => "!",
        Prim::Select => "select",
        Prim::Cast(_) => "as",
        Prim::WrappingCast(_) => "wrapping_as",
        Prim::SaturatingCast(_) => "saturating_as",
        Prim::FromBits(_) => "from_bits",
        Prim::ToBits => "to_bits",
    }
}

impl std::fmt::Display for Elem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(elem(*self))
    }
}

impl std::fmt::Display for Prim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(prim(*self))
    }
}

#[cfg(test)]
mod tests {
    use super::Names;
    use crate::ir::{Device, Elem, Lit, Local, LocalInfo, Op, Prim, Program, Ty, Word};

    #[test]
    fn a_let_that_would_capture_another_name_prints_under_a_free_one() {
        let info = |name: &str| LocalInfo {
            name: name.into(),
            ty: Ty::Elem(Elem::F32),
            dims: vec![],
            vector: false,
            mutable: false,
        };
        let locals = [info("t"), info("t"), info("t_2")];
        let local = |l: u32| Word::Local(Local(l), vec![]);
        let add = |a: Word, b: Word| Word::Op { op: Op::Prim(Prim::Add), arith: Device::HOST, args: vec![a, b] };
        let program = Program::default();
        let names =
            Names { program: &program, vars: &[], locals: &locals, buffers: &[], type_params: &[], lanes: None };
        let bound = |body: Word| Word::Let(Local(1), Box::new(local(0)), Box::new(body));
        assert_eq!(names.word(&bound(add(local(1), local(1)))), "let t = t in t + t");
        assert_eq!(names.word(&bound(add(local(1), local(0)))), "let t_2 = t in t_2 + t");
        assert_eq!(names.word(&bound(add(local(1), add(local(0), local(2))))), "let t_3 = t in t_3 + (t + t_2)");
    }

    #[test]
    fn a_comparison_that_is_compared_stands_in_brackets() {
        let info = |ty: Elem| LocalInfo {
            name: format!("{ty}"),
            ty: Ty::Elem(ty),
            dims: vec![],
            vector: false,
            mutable: false,
        };
        let locals = [info(Elem::F32), info(Elem::Bool)];
        let local = |l: u32| Word::Local(Local(l), vec![]);
        let two = |p: Prim, a: Word, b: Word| Word::Op { op: Op::Prim(p), arith: Device::HOST, args: vec![a, b] };
        let program = Program::default();
        let names =
            Names { program: &program, vars: &[], locals: &locals, buffers: &[], type_params: &[], lanes: None };
        let less = two(Prim::Lt, local(0), local(0));
        assert_eq!(names.word(&two(Prim::Eq, less.clone(), local(1))), "(f32 < f32) == bool");
        assert_eq!(names.word(&two(Prim::Eq, local(1), less)), "bool == (f32 < f32)");
    }

    #[test]
    fn a_name_has_its_type_where_its_word_says_none() {
        let info =
            |ty: Elem| LocalInfo { name: "x".into(), ty: Ty::Elem(ty), dims: vec![], vector: false, mutable: false };
        let program = Program::default();
        let op = |p: Prim, args: Vec<Word>| Word::Op { op: Op::Prim(p), arith: Device::HOST, args };
        let lit = |elem: Elem, bits: u64| Word::Lit(Lit { elem, bits });
        let head = |elem: Elem, word: Word| {
            let locals = [info(elem)];
            let names =
                Names { program: &program, vars: &[], locals: &locals, buffers: &[], type_params: &[], lanes: None };
            names.let_head(Local(0), &word)
        };
        let sides = vec![lit(Elem::Bool, 0), lit(Elem::U8, 1), lit(Elem::U8, 2)];
        assert_eq!(head(Elem::U8, op(Prim::Select, sides)), "let x: u8 =");
        assert_eq!(head(Elem::I16, op(Prim::Mul, vec![lit(Elem::I16, 3), lit(Elem::I16, 4)])), "let x: i16 =");
        let bits = |elem: Elem, from: Elem| op(Prim::FromBits(elem), vec![op(Prim::Cast(from), vec![lit(from, 1)])]);
        assert_eq!(head(Elem::BF16, bits(Elem::BF16, Elem::U16)), "let x: bf16 =");
        assert_eq!(head(Elem::F32, bits(Elem::F32, Elem::U32)), "let x =");
    }
}
