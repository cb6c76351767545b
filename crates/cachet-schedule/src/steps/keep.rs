//! `keep P along g within L into Q`: after its filling in the body of `g`, a buffer goes by another name, which says where it
//! is to stay.

use super::pack::array_of;
use super::{locate, names};
use crate::refusal;
use cachet_core::ir::{At, Block, Buffer, BufferInfo, Fun, Level, Role, Stmt, StmtKind};
use cachet_core::rewrite::{Subst, Visit, visit_block};
use cachet_core::script::{Rewrite, StepArg, StepCall};
use cachet_source::{Diagnostic, Span, codes};

/// Puts the lease after the statement that fills the buffer, and the new name in the place of the old one behind it.
pub fn apply(fun: &Fun, call: &StepCall, args: [&StepArg; 3], level: &Level) -> Result<Rewrite, Diagnostic> {
    let refuse = |span: Span, message: String| {
        Err(refusal::with_callers(Diagnostic::error(codes::STEP_ARGUMENT, span, message), call))
    };
    let named = names(&args.map(Clone::clone), call)?;
    let [buffer, along, into] = named.as_slice() else {
        return refuse(call.span, "`keep` names a buffer, a loop and a new name".into());
    };
    let p = array_of(fun, buffer, call)?;
    let spot = locate(fun, along, call)?;
    let Some(Stmt { kind, span }) = spot.stmt(fun) else { return refuse(along.span, "the loop is gone".into()) };
    let body = match kind {
        StmtKind::For { body, .. } => body,
        StmtKind::Grid(g) => &g.body,
        _ => {
            return refuse(
                along.span,
                format!("`{}` is a sum, and a buffer is kept in the body of a loop", along.name),
            );
        }
    };
    if fun.uses_name(&into.name) {
        return refuse(into.span, format!("`{}` is in use already", into.name));
    }
    if let Some(lease) = leased(&fun.body, p) {
        let name = &fun.buffers[lease.index()].name;
        return refuse(buffer.span, format!("`{}` is kept already, as `{name}`", buffer.name));
    }
    let Some(filled) = body.iter().rposition(|s| stores(s, p)) else {
        let message = format!("the body of `{}` does not fill `{}`", along.name, buffer.name);
        let d = Diagnostic::error(codes::STEP_ARGUMENT, buffer.span, message);
        return Err(refusal::with_callers(
            d.help("`keep` comes after the `pack` of the same buffer, along the same loop"),
            call,
        ));
    };
    let mut after = fun.clone();
    let info = BufferInfo {
        name: into.name.clone(),
        level: level.clone(),
        role: Role::Lease(p),
        span: At(into.span),
        ..fun.buffers[p.index()].clone()
    };
    let lease = after.add_buffer(info);
    let (before, behind) = body.split_at(filled + 1);
    let mut renamed = Subst::default();
    renamed.buffers.insert(p, lease);
    let lease = Stmt { kind: StmtKind::Lease { lease, of: p, mutable: true }, span: At(call.span) };
    let inside: Block = before.iter().cloned().chain([lease]).chain(renamed.block(behind)).collect();
    let made = match kind {
        StmtKind::For { var, domain, .. } => StmtKind::For { var: *var, domain: domain.clone(), body: inside },
        StmtKind::Grid(g) => StmtKind::Grid(Box::new(cachet_core::ir::Grid { body: inside, ..(**g).clone() })),
        other => other.clone(),
    };
    let site = spot.site();
    let made = cachet_core::rewrite::refresh(&mut after, &[Stmt { kind: made, span: *span }]);
    match site.replace(&mut after, made) {
        Some(to) => Ok(Rewrite { after, from: site, to, recipe: vec![] }),
        None => refuse(along.span, "the loop is gone".into()),
    }
}

/// Whether a statement writes a buffer.
fn stores(stmt: &Stmt, buffer: Buffer) -> bool {
    struct Stores(Buffer, bool);
    impl Visit for Stores {
        fn store(&mut self, access: &cachet_core::ir::Access) {
            self.1 |= access.buffer == self.0;
        }
    }
    let mut stores = Stores(buffer, false);
    visit_block(&mut stores, std::slice::from_ref(stmt));
    stores.1
}

/// A lease of a buffer somewhere in a block.
fn leased(block: &[Stmt], of: Buffer) -> Option<Buffer> {
    block.iter().find_map(|s| match &s.kind {
        StmtKind::Lease { lease, of: b, .. } if *b == of => Some(*lease),
        StmtKind::For { body, .. } => leased(body, of),
        StmtKind::Grid(g) => leased(&g.body, of),
        StmtKind::If { then, els, .. } => leased(then, of).or_else(|| leased(els, of)),
        StmtKind::Lease { .. }
        | StmtKind::Let { .. }
        | StmtKind::Var { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Store { .. }
        | StmtKind::Alloc(_)
        | StmtKind::Call(_)
        | StmtKind::Print(_) => None,
    })
}
