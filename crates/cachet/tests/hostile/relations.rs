//! Recipes whose moves would claim more than they keep.

use crate::lie::{Lie, given, gives, s};
use cachet_core::ir::{Guard, Ix, Rel, StmtKind, Word};
use cachet_core::pattern::{MoveKind, PatGuard, PatIx};

