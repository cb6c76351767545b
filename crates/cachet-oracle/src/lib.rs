//! What do two programs do at concrete sizes? A second evaluator that shares only the IR's types with what it judges.
//!
//! It writes messages (the cell where a refused step would change a result, with the words of both sides) and it judges
//! tests. It never accepts anything: a comparison without a difference says so about these sizes and no others.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests"))]

pub mod equations;
pub mod hostile;
pub mod replay;
pub mod symbolic;

#[cfg(test)]
use cachet_core::ir;
#[cfg(test)]
#[path = "../../cachet-core/src/samples.rs"]
#[expect(dead_code, reason = "shared with the tests of the core, which use the rest")]
mod samples;
#[cfg(test)]
mod tests;
