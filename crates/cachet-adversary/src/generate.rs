//! What makes cases: each the same for the same numbers.

pub mod branches;
pub mod contractions;
pub mod formulas;
pub mod functions;
pub mod hostile_texts;
pub mod leases;
pub mod lies;
pub mod nests;
pub mod places;
pub mod products;
pub mod regroupings;
pub mod schedules;
pub mod steps;
