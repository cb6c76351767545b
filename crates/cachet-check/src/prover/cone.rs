//! Which facts can matter to a goal? Those connected with it by shared names. The others are satisfied, or
//! contradictory, on their own.

use crate::certificate::{Fact, Reading};

/// The connected groups of names.
pub(super) struct Cones {
    /// For each name the representative of its group.
    groups: Vec<u32>,
    /// For each fact a name in it, if any.
    anchors: Vec<Option<u32>>,
}

/// A set of groups.
pub(super) struct Cone {
    members: Vec<bool>,
}

impl Cones {
    pub(super) fn of(reading: &Reading) -> Cones {
        let mut groups: Vec<u32> = (0..reading.name_count()).collect();
        let mut anchors = Vec::with_capacity(reading.facts.len());
        for (index, fact) in reading.facts.iter().enumerate() {
            let mut anchor: Option<u32> = None;
            // Alternatives of the goal are decided apart, so the goal connects nothing.
            if !reading.goal.contains(&index) {
                visit_names(fact, &mut |name| match anchor {
                    None => anchor = Some(name),
                    Some(first) => {
                        let (a, b) = (root(&mut groups, first), root(&mut groups, name));
                        groups[a.max(b) as usize] = a.min(b);
                    }
                });
            }
            anchors.push(anchor);
        }
        for name in 0..reading.name_count() {
            groups[name as usize] = root(&mut groups, name);
        }
        Cones { groups, anchors }
    }

    /// The groups that occur in `facts`.
    pub(super) fn around(&self, facts: &[Fact]) -> Cone {
        let mut members = vec![false; self.groups.len()];
        for fact in facts {
            visit_names(fact, &mut |name| members[self.groups[name as usize] as usize] = true);
        }
        Cone { members }
    }

    pub(super) fn has_name(&self, name: u32, cone: &Cone) -> bool {
        cone.members[self.groups[name as usize] as usize]
    }

    /// Whether a fact belongs to the cone; constant facts belong to every cone.
    pub(super) fn is_in(&self, fact: usize, cone: &Cone) -> bool {
        self.anchors[fact].is_none_or(|name| self.has_name(name, cone))
    }
}

fn root(groups: &mut [u32], mut name: u32) -> u32 {
    while groups[name as usize] != name {
        let above = groups[groups[name as usize] as usize];
        groups[name as usize] = above;
        name = above;
    }
    name
}

/// Calls `visit` for every occurrence of a name. Facts are nested no deeper than the formulas they were read from.
pub(super) fn visit_names(fact: &Fact, visit: &mut impl FnMut(u32)) {
    match fact {
        Fact::AtLeastZero(e) | Fact::Zero(e) => e.terms.iter().for_each(|term| visit(term.0)),
        Fact::False => {}
        Fact::OneOf(alternatives) => alternatives.iter().flatten().for_each(|fact| visit_names(fact, visit)),
    }
}
