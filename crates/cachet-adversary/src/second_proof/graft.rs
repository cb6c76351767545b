//! The last program over the first one's tables.

use cachet_core::ir::{Buffer, Fun, Ix, Local, Var, VarKind, Word};
use cachet_core::rewrite::Subst;

/// The second function's body, with ids of its own beside the first one's. Sizes and parameters go by position; `None`
/// where they do not correspond.
pub fn grafted(first: &Fun, last: &Fun) -> Option<Fun> {
    if first.sizes.len() != last.sizes.len() || first.params.len() != last.params.len() {
        return None;
    }
    let mut after = first.clone();
    let mut subst = Subst::default();
    for (n, info) in last.vars.iter().enumerate() {
        let at = Var(n as u32);
        let to = match info.kind {
            VarKind::Size => *first.sizes.get(last.sizes.iter().position(|s| *s == at)?)?,
            VarKind::Index | VarKind::Block | VarKind::Lane(_) | VarKind::Instr(..) => {
                after.add_var(info.name.clone(), info.kind)
            }
        };
        subst.vars.insert(at, Ix::Var(to));
    }
    for (n, info) in last.locals.iter().enumerate() {
        let to = after.add_local(info.clone());
        subst.locals.insert(Local(n as u32), Word::Local(to, vec![]));
    }
    for (n, info) in last.buffers.iter().enumerate() {
        let at = Buffer(n as u32);
        let to = match last.params.iter().position(|p| *p == at) {
            Some(place) => *first.params.get(place)?,
            None => after.add_buffer(info.clone()),
        };
        subst.buffers.insert(at, to);
    }
    after.body = subst.block(&last.body);
    let requires: Vec<_> = last.requires.iter().map(|g| subst.guard(g)).collect();
    after.requires.extend(requires.into_iter().filter(|g| !first.requires.contains(g)).collect::<Vec<_>>());
    Some(after)
}
