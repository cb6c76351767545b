//! Pure functions, interfaces and implementations.

use super::{Check, Fault, depth};
use crate::ir::{At, Elem, Fun, Lit, MAX_DEPTH, Program, Pure, Ty};

/// A pure function: a function of its parameters that uses no index and no buffer.
pub(super) fn pure(program: &Program, pure: &Pure) -> Vec<Fault> {
    let carrier = Fun {
        name: pure.name.clone(),
        type_params: vec![],
        sizes: vec![],
        params: vec![],
        requires: vec![],
        produces: vec![],
        algebras: vec![],
        scratch: vec![],
        resources: Default::default(),
        body: vec![],
        vars: vec![],
        locals: pure.locals.clone(),
        buffers: vec![],
        span: At::default(),
    };
    if !depth::word_within(&pure.body) {
        let text = format!("`{}` nests deeper than {MAX_DEPTH}", pure.name);
        return vec![Fault { rule: "depth", text, span: At::default() }];
    }
    let mut check = Check::new(program, &carrier);
    for p in &pure.params {
        check.bind_local(*p);
        if carrier.locals.get(p.index()).is_some_and(|l| l.mutable || !l.dims.is_empty()) {
            check.fault("head", format!("a parameter of `{}` is not a single word", pure.name));
        }
    }
    let ty = check.word(&pure.body);
    if ty.is_some_and(|t| t != pure.result) {
        check.fault("types", format!("`{}` gives another type than it says", pure.name));
    }
    check.faults
}

/// Implementations: the operations of their interface, at their value's type.
pub(super) fn impls(program: &Program) -> Vec<Fault> {
    let mut out = Vec::new();
    let mut fault = |rule, text: String| out.push(Fault { rule, text, span: At::default() });
    for i in &program.impls {
        let Some(interface) = program.interfaces.get(i.interface as usize) else {
            fault("ids", format!("`{}` implements nothing", i.name));
            continue;
        };
        if i.methods.len() != interface.methods.len() {
            fault("impls", format!("`{}` has not as many operations as `{}`", i.name, interface.name));
        }
        if !closed(&i.value) {
            fault("types", format!("the value of `{}` names a type parameter", i.name));
        }
        for (m, (name, arity)) in i.methods.iter().zip(&interface.methods) {
            let Some(p) = program.pures.get(m.index()) else {
                fault("ids", format!("`{name}` of `{}` has no definition", i.name));
                continue;
            };
            let takes = |l: &crate::ir::Local| p.locals.get(l.index()).is_some_and(|l| l.ty == i.value);
            if p.params.len() != *arity as usize || !p.params.iter().all(takes) || p.result != i.value {
                fault("impls", format!("`{name}` of `{}` has another signature than its interface says", i.name));
            }
        }
    }
    out
}

fn closed(ty: &Ty) -> bool {
    match ty {
        Ty::Elem(_) => true,
        Ty::Abstract(_) => false,
        Ty::Tuple(parts) => parts.iter().all(closed),
    }
}

/// Whether a literal's bits are bits of its type.
pub(super) fn literal(l: &Lit) -> bool {
    match l.elem {
        Elem::Bool => l.bits <= 1,
        e => l.bits <= u64::MAX >> (64 - 8 * e.bytes()),
    }
}
