//! Which contractions and schedules stand side by side?

use super::Options;
use crate::native::Problem;
use crate::pipeline::Outcome;
use cachet_core::equations::Contraction;
use cachet_core::ir::{Binding, FunId, ImplId};
use std::collections::BTreeMap;

/// A contraction at an implementation.
pub(super) struct Instance<'a> {
    pub contraction: &'a Contraction,
    pub nest: FunId,
    pub types: Vec<Binding>,
    /// Those of its schedules that are to be measured.
    pub schedules: Vec<FunId>,
}

/// Everything of the file that was asked for and accepted; an imported contraction where it has a schedule.
pub(super) fn find<'a>(outcome: &'a Outcome, options: &Options) -> Result<Vec<Instance<'a>>, Problem> {
    let mut out = Vec::new();
    let items = outcome.items();
    for (contraction, nest) in &outcome.module.contractions {
        if !outcome.checked.accepts(*nest) {
            continue;
        }
        let program = outcome.checked.program();
        let named = |id: &FunId| {
            options.names.is_empty()
                || options.names.contains(&program.funs[id.index()].name)
                || options.names.contains(&contraction.name)
        };
        let schedules: Vec<FunId> = outcome
            .module
            .scripts
            .iter()
            .filter(|s| origin(outcome, s.of) == *nest && outcome.checked.accepts(s.fun))
            .map(|s| s.fun)
            .filter(named)
            .collect();
        if schedules.is_empty() && !(items.contains(nest) && named(nest)) {
            continue;
        }
        for (types, schedules) in by_binding(outcome, *nest, &schedules, options)? {
            out.push(Instance { contraction, nest: *nest, types, schedules });
        }
    }
    Ok(out)
}

/// The contraction that a chain of schedules starts from.
fn origin(outcome: &Outcome, mut of: FunId) -> FunId {
    while let Some(s) = outcome.module.scripts.iter().find(|s| s.fun == of) {
        of = s.of;
    }
    of
}

/// What type parameters are bound to, and the schedules that share it.
type Bound = (Vec<Binding>, Vec<FunId>);

/// Schedules grouped by what their contraction's type parameters are bound to.
fn by_binding(outcome: &Outcome, nest: FunId, schedules: &[FunId], options: &Options) -> Result<Vec<Bound>, Problem> {
    let program = outcome.checked.program();
    let params = program.funs[nest.index()].type_params.len();
    let mut groups: BTreeMap<Vec<String>, Bound> = BTreeMap::new();
    let default = || -> Result<Vec<Binding>, Problem> {
        let found = program.impls.iter().position(|i| i.name == options.implementation);
        match (params, found) {
            (0, _) => Ok(vec![]),
            (n, Some(i)) => Ok(vec![Binding::Impl(ImplId(i as u32)); n]),
            (_, None) => {
                let wanted = program.funs[nest.index()].type_params.iter().map(|p| p.interface).collect::<Vec<_>>();
                let fitting = program.impls.iter().filter(|i| wanted.contains(&i.interface));
                let known: Vec<&str> = fitting.map(|i| i.name.as_str()).collect();
                Err(Problem::User(format!(
                    "there is no implementation `{}`; the file knows {}",
                    options.implementation,
                    known.join(", ")
                )))
            }
        }
    };
    let key = |types: &[Binding]| types.iter().map(|t| format!("{t:?}")).collect::<Vec<_>>();
    if schedules.is_empty() {
        let types = default()?;
        groups.insert(key(&types), (types, vec![]));
    }
    for id in schedules {
        let bound = outcome.module.scripts.iter().find(|s| s.fun == *id).map(|s| s.types.clone()).unwrap_or_default();
        let types = if bound.is_empty() { default()? } else { bound };
        groups.entry(key(&types)).or_insert_with(|| (types, vec![])).1.push(*id);
    }
    Ok(groups.into_values().collect())
}
