//! What is left of a record once it is several words: how it is written.
//!
//! A record means the tuple of its fields, in the order in which they are declared. Two records with the same fields are
//! different types to the one who writes programs, and the front end keeps them apart; here the name only tells how a
//! word prints, and takes no part in comparisons.

use crate::ir::{Program, Record, Ty, Word};
use serde::{Deserialize, Serialize};

/// A record as it is written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecordInfo {
    /// Its name.
    pub name: String,
    /// Its fields, in order.
    pub fields: Vec<String>,
}

/// The types of several words, and the record that they are written as.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Parts {
    /// One type per part.
    pub types: Vec<Ty>,
    /// The record, if it is one.
    pub record: Option<Record>,
}

impl Parts {
    /// The fields of a record.
    pub fn of(record: Record, types: Vec<Ty>) -> Parts {
        Parts { types, record: Some(record) }
    }

    /// The record's entry.
    pub fn info<'a>(&self, program: &'a Program) -> Option<&'a RecordInfo> {
        program.records.get(self.record?.index()).filter(|r| r.fields.len() == self.types.len())
    }
}

impl Ty {
    /// Whether two types are one to the one who writes programs: records by their names.
    pub fn is(&self, other: &Ty) -> bool {
        match (self, other) {
            (Ty::Tuple(a), Ty::Tuple(b)) => {
                a.record == b.record && a.len() == b.len() && a.iter().zip(b.iter()).all(|(x, y)| x.is(y))
            }
            (Ty::Elem(_) | Ty::Abstract(_) | Ty::Tuple(_), _) => self == other,
        }
    }
}

impl Word {
    /// One of several words: of a tuple that is written out, the word itself.
    pub fn part(self, n: u32) -> Word {
        match self {
            Word::Tuple(mut parts) if (n as usize) < parts.len() => parts.swap_remove(n as usize),
            other => Word::Part(Box::new(other), n),
        }
    }
}

impl PartialEq for Parts {
    fn eq(&self, other: &Parts) -> bool {
        self.types == other.types
    }
}
impl Eq for Parts {}
impl std::hash::Hash for Parts {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.types.hash(state);
    }
}
impl std::ops::Deref for Parts {
    type Target = [Ty];
    fn deref(&self) -> &[Ty] {
        &self.types
    }
}
impl From<Vec<Ty>> for Parts {
    fn from(types: Vec<Ty>) -> Parts {
        Parts { types, record: None }
    }
}
impl FromIterator<Ty> for Parts {
    fn from_iter<I: IntoIterator<Item = Ty>>(types: I) -> Parts {
        types.into_iter().collect::<Vec<_>>().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Elem;

    #[test]
    fn a_records_name_counts_for_people_only() {
        let of = |r| Ty::Tuple(Parts::of(Record(r), vec![Ty::Elem(Elem::F32)]));
        assert_eq!(of(0), of(1));
        assert!(of(0).is(&of(0)) && !of(0).is(&of(1)));
        let around = |r| Ty::Tuple(Parts::of(Record(2), vec![of(r)]));
        assert!(!around(0).is(&around(1)) && around(1).is(&around(1)));
    }
}
