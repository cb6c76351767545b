//! Fresh names: a name that a step invents is used as it is where it is free, else with `_2`, `_3`, ..

use crate::ir::{At, Buffer, BufferInfo, Fun, Ix, Local, LocalInfo, Var, VarInfo, VarKind};
use crate::resources::Resources;
use cachet_source::words::RESERVED;

/// The words that a step may not give to anything: the reserved ones, and `platform`, which means the platform's numbers
/// wherever nothing else has the name.
pub fn taken() -> impl Iterator<Item = &'static str> {
    RESERVED.iter().copied().chain(["platform"])
}

impl Fun {
    /// A function that has nothing but a name.
    pub fn named(name: &str) -> Fun {
        Fun {
            name: name.into(),
            type_params: vec![],
            algebras: vec![],
            sizes: vec![],
            params: vec![],
            requires: vec![],
            produces: vec![],
            scratch: vec![],
            resources: Resources::default(),
            body: vec![],
            vars: vec![],
            locals: vec![],
            buffers: vec![],
            span: At::default(),
        }
    }

    /// A variable with exactly this name.
    pub fn add_var(&mut self, name: impl Into<String>, kind: VarKind) -> Var {
        self.vars.push(VarInfo { name: name.into(), kind });
        Var(self.vars.len() as u32 - 1)
    }

    /// A local.
    pub fn add_local(&mut self, info: LocalInfo) -> Local {
        self.locals.push(info);
        Local(self.locals.len() as u32 - 1)
    }

    /// The sizes, by position in [`Fun::sizes`], that are the whole extent of no parameter's axis: a call names them.
    pub fn named_sizes(&self) -> impl Iterator<Item = usize> + '_ {
        let found = |v: &Var| self.params.iter().any(|p| self.buffers[p.index()].extents.contains(&Ix::Var(*v)));
        self.sizes.iter().enumerate().filter(move |(_, v)| !found(v)).map(|(at, _)| at)
    }

    /// A buffer.
    pub fn add_buffer(&mut self, info: BufferInfo) -> Buffer {
        self.buffers.push(info);
        Buffer(self.buffers.len() as u32 - 1)
    }

    /// Whether a user's name is taken by a size, loop, local or buffer that occurs in the function as it stands.
    pub fn uses_name(&self, name: &str) -> bool {
        let live = crate::rewrite::Live::of(self);
        live.vars.iter().any(|v| self.vars[v.index()].name == name)
            || live.locals.iter().any(|l| self.locals[l.index()].name == name)
            || live.buffers.iter().any(|b| self.buffers[b.index()].name == name)
    }

    /// `wanted`, or the first of `wanted_2`, `wanted_3`, .. that is neither reserved nor used in the function.
    pub fn fresh_name(&self, wanted: &str) -> String {
        let live = crate::rewrite::Live::of(self);
        let mut used: std::collections::BTreeSet<&str> = taken().collect();
        used.extend(live.vars.iter().map(|v| self.vars[v.index()].name.as_str()));
        used.extend(live.locals.iter().map(|l| self.locals[l.index()].name.as_str()));
        used.extend(live.buffers.iter().map(|b| self.buffers[b.index()].name.as_str()));
        if !used.contains(wanted) {
            return wanted.to_string();
        }
        (2..)
            .map(|n| format!("{wanted}_{n}"))
            .find(|n| !used.contains(n.as_str()))
            .unwrap_or_else(|| wanted.to_string())
    }
}
