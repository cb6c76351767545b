//! The judge. Conditions are quantifier-free statements about integers; [`prover`] decides them and shows a
//! [`certificate`], which an independent reader accepts or rejects. Nothing here prints or reads files.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests"))]

pub mod assertions;
pub mod certificate;
pub mod checked;
pub mod condition;
pub mod context;
pub mod events;
pub mod formula;
mod hash;
pub mod laws;
pub mod proofs;
pub mod prover;
pub mod relation;
pub mod wf;
