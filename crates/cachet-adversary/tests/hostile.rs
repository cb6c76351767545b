//! Steps that lie: proposals made by hand, each wrong in a way that a rule could miss. The checker has to refuse every
//! one of them, and the oracle or the interpreter shows that each is wrong.
//!
//! A proposal is two functions of one text, `s` and `t`. A name that both bind is one id in the two programs: sharing
//! ids is the liar's choice, and so is where.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

#[path = "hostile/blocks.rs"]
mod blocks;
#[path = "hostile/functions.rs"]
mod functions;
#[path = "hostile/lanes.rs"]
mod lanes;
#[path = "hostile/proposals.rs"]
mod proposals;
#[path = "hostile/regroup.rs"]
mod regroup;
#[path = "hostile/relations.rs"]
mod relations;
#[path = "hostile/requirements.rs"]
mod requirements;
