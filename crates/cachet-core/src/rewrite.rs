//! Walking and substituting: the one place that knows where each construct keeps its parts.

mod live;
mod map;
mod site;
mod subst;
mod visit;

pub use live::Live;
pub use map::{map_block_words, map_stmt_words, map_word, number_grids};
pub use site::{Arm, Site, Turn};
pub use subst::{Counted, Subst, refresh};
pub use visit::{Visit, callees, visit_block, visit_domain, visit_guard, visit_ix, visit_stmt, visit_word};
