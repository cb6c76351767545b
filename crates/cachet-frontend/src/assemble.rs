//! What is left of a module when refused functions, and whatever needs them, are taken away.

use crate::functions::callees;
use cachet_core::ir::{Block, FunId, StmtKind};
use cachet_core::script::Module;
use std::collections::BTreeSet;

/// The module without the refused functions, without those that call or continue them, and with ids made dense again.
pub(crate) fn without(mut module: Module, refused: BTreeSet<FunId>) -> Module {
    let gone = closure(&module, refused);
    if gone.is_empty() {
        return module;
    }
    let mut next = 0;
    let ids: Vec<Option<FunId>> = (0..module.program.funs.len() as u32)
        .map(|i| {
            if gone.contains(&FunId(i)) {
                return None;
            }
            next += 1;
            Some(FunId(next - 1))
        })
        .collect();
    let id = |f: FunId| ids.get(f.index()).copied().flatten();
    let funs = std::mem::take(&mut module.program.funs);
    for (i, mut fun) in funs.into_iter().enumerate() {
        if ids[i].is_some() {
            renumber(&mut fun.body, &id);
            module.program.funs.push(fun);
        }
    }
    module.contractions = module.contractions.into_iter().filter_map(|(c, f)| Some((c, id(f)?))).collect();
    module.scripts.retain_mut(|s| match (id(s.fun), id(s.of)) {
        (Some(fun), Some(of)) => {
            (s.fun, s.of) = (fun, of);
            true
        }
        _ => false,
    });
    module.main = module.main.and_then(id);
    module.items = module.items.into_iter().filter_map(id).collect();
    module
}

/// The refused functions with everything that needs one of them.
fn closure(module: &Module, mut gone: BTreeSet<FunId>) -> BTreeSet<FunId> {
    let mut needs: Vec<(FunId, Vec<FunId>)> = module.scripts.iter().map(|s| (s.fun, vec![s.of])).collect();
    needs.extend(module.program.funs.iter().enumerate().map(|(i, f)| (FunId(i as u32), callees(f))));
    let mut users: Vec<Vec<FunId>> = vec![Vec::new(); module.program.funs.len()];
    for (user, used) in &needs {
        for f in used {
            users[f.index()].push(*user);
        }
    }
    let mut open: Vec<FunId> = gone.iter().copied().collect();
    while let Some(f) = open.pop() {
        for user in &users[f.index()] {
            if gone.insert(*user) {
                open.push(*user);
            }
        }
    }
    gone
}

/// New ids in calls. What is kept calls nothing that is gone.
fn renumber(block: &mut Block, id: &impl Fn(FunId) -> Option<FunId>) {
    for s in block {
        match &mut s.kind {
            StmtKind::Call(c) => c.fun = id(c.fun).unwrap_or(c.fun),
            StmtKind::For { body, .. } => renumber(body, id),
            StmtKind::Grid(g) => renumber(&mut g.body, id),
            StmtKind::If { then, els, .. } => {
                renumber(then, id);
                renumber(els, id);
            }
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Print(_) => {}
        }
    }
}
