//! The meaning of a program: what its loops, indices and words are, how they print, and what they compute.
//!
//! Terms used everywhere below:
//! - an *index* ([`Ix`]) is a mathematical integer: sizes, loop variables and their arithmetic. Control is static:
//!   bounds, guards and subscripts are indices, never data.
//! - a *word* ([`Word`]) is data: what is loaded, computed and stored. Operations on words are opaque to proofs.
//! - a *buffer* is addressed by logical tuples of indices; its layout matters to addresses only.
//! - an *event* is one execution of a statement; for fixed sizes the sequence of events is fixed.
//!
//! Read [`ir`] first.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests"))]

pub mod chain;
pub mod equations;
pub mod instance;
pub mod instr;
pub mod interpret;
pub mod ir;
pub mod law;
pub mod layout;
pub mod linear;
pub mod names;
pub mod number;
pub mod pattern;
pub mod print;
pub mod record;
pub mod resources;
pub mod rewrite;
#[cfg(test)]
mod samples;
pub mod script;
pub mod sized;
pub mod text;
pub mod validate;
pub mod vectors;
pub mod windows;
