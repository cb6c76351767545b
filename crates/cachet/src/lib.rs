//! The driver: the order of phases, the files a program is made of, running it and measuring it.
//!
//! Start at [`pipeline`].

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests"))]

pub mod artefacts;
pub mod bench;
pub mod claim;
pub mod cross;
pub mod evidence;
pub mod library;
pub mod native;
pub mod pipeline;
mod replay;
pub mod world;
