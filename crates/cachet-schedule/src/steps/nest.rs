//! A nest of loops directly inside one another, with the sums of the one store that it may end in.

use super::{Named, Spot, locate};
use crate::refusal;
use cachet_core::ir::{Access, Block, Domain, Fold, Fun, Stmt, StmtKind, Var, Word};
use cachet_core::rewrite::{Arm, Site, Turn};
use cachet_core::script::StepCall;
use cachet_source::{Diagnostic, codes};

/// A nest.
#[derive(Clone, Debug)]
pub struct Nest {
    /// The outermost loop's place.
    pub site: Site,
    /// Loops, outermost first.
    pub loops: Vec<(Var, Domain)>,
    /// What stands in the innermost.
    pub body: Block,
    /// Where the body is one store of a sum that continues from its cell: the cell, and the sums directly inside one
    /// another, outermost first.
    pub sums: Option<(Access, Vec<Fold>)>,
    /// The outermost statement.
    pub like: Stmt,
}

impl Nest {
    /// The nest that a loop or sum belongs to: up as long as a loop is alone in the one around it, down as well.
    ///
    /// # Errors
    /// No such loop, several, or one that belongs to no nest.
    pub fn around(fun: &Fun, wanted: &Named, call: &StepCall) -> Result<Nest, Diagnostic> {
        let spot = locate(fun, wanted, call)?;
        let mut site = spot.site();
        let stmt = spot.stmt(fun);
        let is_loop = matches!(stmt.map(|s| &s.kind), Some(StmtKind::For { .. }));
        let none = |why: &str| {
            let message = format!("`{}` {why}", wanted.name);
            refusal::with_callers(Diagnostic::error(codes::STEP_ARGUMENT, wanted.span, message), call)
        };
        if !is_loop && !alone_in_loop(fun, &spot) {
            return Err(none("belongs to no nest of loops: its sum is not the only thing in a loop"));
        }
        while let Some(Turn { at, arm: Arm::First }) = site.path.last().copied() {
            let up = Site { path: site.path[..site.path.len() - 1].to_vec(), start: at, len: 1 };
            match up.stmts(fun).and_then(|s| s.first()).map(|s| &s.kind) {
                Some(StmtKind::For { body, .. }) if body.len() == 1 => site = up,
                _ => break,
            }
        }
        let root = site.stmts(fun).and_then(|s| s.first()).cloned();
        let Some(root) = root else { return Err(none("is not there")) };
        let mut loops = Vec::new();
        let mut body = std::slice::from_ref(&root);
        while let [Stmt { kind: StmtKind::For { var, domain, body: inner }, .. }] = body
            && !crate::loops::is_lane(fun, *var)
        {
            loops.push((*var, domain.clone()));
            body = inner;
        }
        if loops.is_empty() {
            return Err(none("runs in parallel already, and belongs to no nest of loops"));
        }
        let sums = sums(body);
        Ok(Nest { site, loops, body: body.to_vec(), sums, like: root.clone() })
    }
}

fn alone_in_loop(fun: &Fun, spot: &Spot) -> bool {
    let Some(last) = spot.path.last() else { return false };
    let up = Site { path: spot.path[..spot.path.len() - 1].to_vec(), start: last.at, len: 1 };
    matches!(
        up.stmts(fun).and_then(|s| s.first()).map(|s| &s.kind),
        Some(StmtKind::For { body, .. }) if body.len() == 1
    )
}

/// The sums of one store, directly inside one another, the outermost continuing from the cell.
fn sums(body: &[Stmt]) -> Option<(Access, Vec<Fold>)> {
    let [Stmt { kind: StmtKind::Store { to, word: Word::Fold(f) }, .. }] = body else { return None };
    if f.init != Word::Load(to.clone()) {
        return None;
    }
    let mut all = vec![(**f).clone()];
    while let Some(last) = all.last() {
        match &last.body {
            Word::Fold(next) if next.init == Word::Local(last.acc, vec![]) && !uses(&next.body, last.acc) => {
                let next = (**next).clone();
                all.push(next);
            }
            _ => break,
        }
    }
    Some((to.clone(), all))
}

/// Whether a word mentions a local.
pub fn uses(word: &Word, local: cachet_core::ir::Local) -> bool {
    cachet_core::rewrite::Live::of_word(word).locals.contains(&local)
}
