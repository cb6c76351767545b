//! Would another order of two loops move less?
//!
//! A loop that an array does not depend on, with one inside that it does depend on, brings the array again each time. With
//! the two the other way round it is brought once for both, and whatever depends on the outer one is brought again in its
//! place. The change that saves the most is told, with what it comes to: of what leases move, or, where there are none, of
//! what is copied into working space.

use crate::around::{How, Touch, touches};
use crate::count::{Count, Values};
use cachet_core::ir::{Fun, Program, Var};
use std::collections::BTreeMap;

/// What every size is taken for where nobody says.
const TYPICAL: i128 = 1024;
/// A change has to save so many parts of as many.
const WORTH: (i128, i128) = (1, 4);

/// A copy or a lease that is made in loops.
struct Site {
    name: String,
    bytes: i128,
    /// The loops around: name, trips and whether it depends on them.
    loops: Vec<(String, i128, bool)>,
}

/// What would help, in words. `values` are those of the function's sizes.
pub fn hint(program: &Program, fun: &Fun, values: Option<&Values>) -> Option<String> {
    let typical: Values = fun.sizes.iter().map(|v| (*v, TYPICAL)).collect();
    let at = values.unwrap_or(&typical);
    let all = touches(program, fun);
    let leased = all.iter().any(|t| t.how == How::Leased);
    let sites = all.iter().filter(|t| if leased { t.how == How::Leased } else { is_copy(t, fun) });
    let sites: Vec<Site> = sites.filter_map(|t| site(t, at)).collect();
    let mut best: Option<(i128, String, String, &Site)> = None;
    let before = total(sites.iter().map(|s| Some((s.bytes, trips(&s.loops)?))))?;
    for s in &sites {
        for (n, (outer, _, needed)) in s.loops.iter().enumerate() {
            let inner = s.loops[n + 1..].iter().find(|l| l.2).map(|l| l.0.clone());
            let (false, Some(inner)) = (*needed, inner) else { continue };
            let Some(after) = total(sites.iter().map(|s| Some((s.bytes, trips(&swapped(s, &sites, outer, &inner))?))))
            else {
                continue;
            };
            if before - after >= before / WORTH.1 * WORTH.0 && best.as_ref().is_none_or(|b| after < b.0) {
                best = Some((after, outer.clone(), inner, s));
            }
        }
    }
    let (after, outer, inner, site) = best.filter(|b| b.0 < before)?;
    let sizes = match (values.is_some() || fun.sizes.is_empty(), TYPICAL) {
        (true, _) => String::new(),
        (false, n) => format!(" where every size is {n}"),
    };
    let name = &site.name;
    let (old, new) = (trips(&site.loops)?, trips(&swapped(site, &sites, &outer, &inner))?);
    Some(format!(
        "`{name}` does not depend on `{outer}`, and comes anew for each: with `{inner}` around `{outer}`, as `order` puts it, \
         it comes {} times less often, and all together {after} bytes {} in place of {before}{sizes}",
        old / new.max(1),
        if leased { "move" } else { "are copied" },
    ))
}

/// Whether something is written into working space.
fn is_copy(t: &Touch, fun: &Fun) -> bool {
    let param = fun.params.get(t.place.order as usize);
    t.how == How::Written && param.is_none_or(|p| fun.scratch.contains(p))
}

fn site(t: &Touch, at: &Values) -> Option<Site> {
    let loops = t.loops.iter().map(|l| Some((l.name.clone(), count(l.trips.as_ref()?, at)?, l.needed)));
    Some(Site { name: t.place.name.clone(), bytes: t.bytes?.into(), loops: loops.collect::<Option<_>>()? })
}

fn count(c: &Count, at: &Values) -> Option<i128> {
    let at: BTreeMap<Var, i128> = at.clone();
    c.value(&at)
}

fn trips(loops: &[(String, i128, bool)]) -> Option<i128> {
    loops.iter().try_fold(1i128, |n, l| n.checked_mul(l.1))
}

fn total(all: impl Iterator<Item = Option<(i128, i128)>>) -> Option<i128> {
    let mut out = 0i128;
    for one in all {
        let (bytes, trips) = one?;
        out = out.checked_add(bytes.checked_mul(trips)?)?;
    }
    Some(out)
}

/// The loops around something after `inner` has been put around `outer`.
fn swapped(s: &Site, all: &[Site], outer: &str, inner: &str) -> Vec<(String, i128, bool)> {
    let find = |name: &str| s.loops.iter().position(|l| l.0 == name);
    let mut loops = s.loops.clone();
    let Some(at) = find(outer) else { return loops };
    if !loops[at].2 && find(inner).is_some() {
        loops.remove(at);
    } else if find(inner).is_none() {
        // What stands in the outer one alone is then in both.
        let other = all.iter().flat_map(|s| &s.loops).find(|l| l.0 == inner);
        loops.extend(other.cloned());
    }
    loops
}
