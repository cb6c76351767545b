//! Laws that a function rests on whatever its type parameters are bound to: does an implementation have them?
//!
//! A step of a generic schedule may use what its interface wants `exactly` of every implementation. An implementation may
//! state no law at all, so whoever binds the parameter is asked for these laws: a schedule, a call, a caller of machine code.

use super::{Checked, Checker};
use crate::condition::{Failure, Kind, misfit};
use crate::laws;
use cachet_core::ir::{Binding, Call, Fun, FunId, Program, Stmt, StmtKind, TypeParam};
use cachet_core::law::Law;
use cachet_core::rewrite::{Visit, visit_block, visit_stmt};
use cachet_source::{Diagnostic, Kind as Severity, Span, codes};

/// A law of a function's type parameter.
pub(super) type Assumed = (TypeParam, Law);

/// What is left to ask of the caller's own parameters, or the report of a law that is not there.
fn bound(
    program: &Program,
    (of, assumed): (&Fun, &[Assumed]),
    types: &[Binding],
    caller: &Fun,
) -> Result<Vec<Assumed>, Diagnostic> {
    let mut left = Vec::new();
    for (p, law) in assumed {
        let interface_at = of.type_params.get(p.index()).map(|t| t.interface);
        let interface = interface_at.and_then(|at| program.interfaces.get(at as usize));
        let holds = match types.get(p.index()) {
            Some(Binding::Impl(id)) => laws::proved(program, *id, *law),
            Some(Binding::Param(q)) => {
                let own = caller.type_params.get(q.index());
                let wanted = own.is_some_and(|t| Some(t.interface) == interface_at)
                    && interface.is_some_and(|i| i.laws.contains(law));
                left.push((*q, *law));
                wanted
            }
            None => false,
        };
        if !holds {
            let text = interface.map_or_else(String::new, |i| law.text(i));
            let name = match types.get(p.index()) {
                Some(Binding::Impl(id)) => program.impls.get(id.index()).map(|i| i.name.clone()),
                Some(Binding::Param(q)) => caller.type_params.get(q.index()).map(|t| t.name.clone()),
                None => None,
            };
            let name = name.unwrap_or_else(|| "nothing".into());
            let message = format!("`{}` rests on `law {text}`, and `{name}` does not have it", of.name);
            return Err(Diagnostic::new(Severity::Error, codes::LAW, message)
                .note("a step of its schedule regroups a sum, whatever the type parameter is bound to")
                .help(format!("state `law {text}` in the implementation: it is proved or refused")));
        }
    }
    Ok(left)
}

impl Checker {
    /// Whether what a schedule's type parameters are bound to has the laws that the schedule rests on.
    ///
    /// # Errors
    /// The first law that is not there.
    pub fn has_laws(&self, of: FunId, types: &[Binding], span: Span) -> Result<(), Box<Failure>> {
        let fun = &self.program.funs[of.index()];
        if types.is_empty() {
            return Ok(());
        }
        match bound(&self.program, (fun, &self.assumed[of.index()]), types, fun) {
            Ok(_) => Ok(()),
            Err(d) => Err(misfit(Kind::Law, d.at(span, ""))),
        }
    }

    /// What a schedule that starts from a function rests on: what the function does, or what is left of it once its type
    /// parameters are bound.
    pub(super) fn assumed_by(&self, of: FunId, types: &[Binding]) -> Vec<Assumed> {
        let (fun, assumed) = (&self.program.funs[of.index()], &self.assumed[of.index()]);
        if types.is_empty() {
            return assumed.clone();
        }
        bound(&self.program, (fun, assumed), types, fun).unwrap_or_default()
    }

    /// The laws that a function's calls ask of its own type parameters.
    pub(super) fn laws_of_calls(&self, fun: &Fun) -> Result<Vec<Assumed>, Box<Failure>> {
        struct Calls(Vec<(Call, Span)>);
        impl Visit for Calls {
            fn stmt(&mut self, stmt: &Stmt) {
                if let StmtKind::Call(c) = &stmt.kind {
                    self.0.push(((**c).clone(), stmt.span.0));
                }
                visit_stmt(self, stmt);
            }
        }
        let mut calls = Calls(Vec::new());
        visit_block(&mut calls, &fun.body);
        let mut out = Vec::new();
        for (call, span) in calls.0 {
            let callee = &self.program.funs[call.fun.index()];
            let assumed = (callee, self.assumed[call.fun.index()].as_slice());
            match bound(&self.program, assumed, &call.types, fun) {
                Ok(left) => left.into_iter().for_each(|l| {
                    if !out.contains(&l) {
                        out.push(l)
                    }
                }),
                Err(d) => return Err(misfit(Kind::Law, d.at(span, ""))),
            }
        }
        Ok(out)
    }
}

impl Checked {
    /// Whether a function may be bound so: what it is bound to has the laws that the function rests on.
    pub fn may_bind(&self, of: FunId, types: &[Binding]) -> bool {
        let (Some(fun), Some(assumed)) = (self.program.funs.get(of.index()), self.assumed.get(of.index())) else {
            return false;
        };
        bound(&self.program, (fun, assumed), types, fun).is_ok()
    }
}
