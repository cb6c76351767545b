//! What makes cases: each the same for the same numbers.

pub mod lies;
pub mod nests;
pub mod places;
pub mod regroupings;
pub mod steps;
