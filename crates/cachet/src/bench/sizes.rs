//! Which values do the sizes of a contraction have in a measurement, and may its schedules be called with them?

use crate::native::Problem;
use cachet_core::ir::{Fun, Program, Var};
use cachet_core::print::Names;
use cachet_core::sized::holds;

/// Values of the sizes of a measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// By name.
    pub named: Vec<(String, i64)>,
    /// Of every other.
    pub others: i64,
}

impl Sizes {
    /// Every size the same.
    pub fn all(n: i64) -> Sizes {
        Sizes { named: vec![], others: n }
    }

    /// The values of a function's sizes, in their order.
    pub(super) fn of(&self, fun: &Fun) -> Vec<i64> {
        let name = |s: &Var| fun.vars[s.index()].name.as_str();
        let given = |s: &Var| self.named.iter().find(|(n, _)| n == name(s)).map_or(self.others, |(_, v)| *v);
        fun.sizes.iter().map(given).collect()
    }
}

/// Every name that was given is a size of one of these functions.
pub(super) fn known(all: &[Sizes], funs: &[&Fun]) -> Result<(), Problem> {
    let names = |f: &Fun| f.sizes.iter().map(|s| f.vars[s.index()].name.clone()).collect::<Vec<_>>();
    for (name, _) in all.iter().flat_map(|s| &s.named) {
        if !funs.iter().any(|f| names(f).contains(name)) {
            let have: Vec<String> = funs.iter().map(|f| format!("`{}` has {}", f.name, names(f).join(", "))).collect();
            let text = format!("nothing that is measured has a size `{name}`: {}", have.join("; "));
            return Err(Problem::User(text));
        }
    }
    Ok(())
}

/// The first requirement of a function that does not hold at these sizes.
pub(super) fn unmet(program: &Program, fun: &Fun, sizes: &[i64]) -> Option<String> {
    let of = |v: Var| fun.sizes.iter().position(|s| *s == v).and_then(|at| sizes.get(at)).copied();
    let unmet = fun.requires.iter().find(|g| holds(g, &of) != Some(true))?;
    Some(Names::of(program, fun).requirement(unmet))
}
