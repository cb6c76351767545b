//! Words as terms: equal terms have one number.

use cachet_core::ir::{Device, Fun, Lit, Op, Prim, Program};
use cachet_core::print::{Names, decimal};
use std::collections::HashMap;

/// A term's number.
pub(super) type Id = u32;

/// A word. Operations mean nothing here: two words are equal if they were made in the same way from the same cells.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Term {
    /// What a parameter's cell held on entry: position of the parameter, and cell.
    Cell(u32, Vec<i64>),
    Lit(Lit),
    Op(Op, Device, Vec<Id>),
    Tuple(Vec<Id>),
    Part(Id, u32),
    /// A count over pairs of words.
    Differing(Vec<(Id, Id)>),
}

/// All terms of a comparison, so that both sides share their numbers.
#[derive(Default)]
pub(super) struct Terms {
    list: Vec<Term>,
    known: HashMap<Term, Id>,
}

impl Terms {
    /// The number of a term, after the facts that need no arithmetic: a part of a tuple, a choice by a literal.
    pub(super) fn make(&mut self, term: Term) -> Id {
        match &term {
            Term::Part(of, n) => {
                if let Term::Tuple(parts) = &self.list[*of as usize]
                    && let Some(part) = parts.get(*n as usize)
                {
                    return *part;
                }
            }
            Term::Op(Op::Prim(Prim::Select), _, args) => {
                if let [c, a, b] = args.as_slice()
                    && let Term::Lit(l) = &self.list[*c as usize]
                {
                    return if l.bits != 0 { *a } else { *b };
                }
            }
            Term::Cell(..) | Term::Lit(_) | Term::Op(..) | Term::Tuple(_) | Term::Differing(_) => {}
        }
        if let Some(id) = self.known.get(&term) {
            return *id;
        }
        let id = self.list.len() as Id;
        self.list.push(term.clone());
        self.known.insert(term, id);
        id
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// A term in the user's style, with `...` below the given depth.
    pub(super) fn show(&self, program: &Program, fun: &Fun, id: Id, depth: usize) -> String {
        self.text(&Names::of(program, fun), fun, id, depth, false)
    }

    fn text(&self, names: &Names<'_>, fun: &Fun, id: Id, depth: usize, argument: bool) -> String {
        let wrap = |text: String| if argument { format!("({text})") } else { text };
        match &self.list[id as usize] {
            Term::Cell(param, at) => {
                let name = fun.params.get(*param as usize).map_or("?", |b| names.buffer(*b));
                format!("{name}{at:?}")
            }
            Term::Lit(l) => {
                let text = decimal(*l);
                if text.contains(' ') { wrap(text) } else { text }
            }
            _ if depth == 0 => "...".into(),
            Term::Op(op, _, args) => {
                let part = |id: &Id| self.text(names, fun, *id, depth - 1, true);
                match (infix(*op), args.as_slice()) {
                    (Some(sign), [a, b]) => wrap(format!("{} {sign} {}", part(a), part(b))),
                    (_, []) => wrap(format!("{} ()", head(names, *op))),
                    (_, args) => {
                        let args: Vec<String> = args.iter().map(part).collect();
                        match op {
                            Op::Prim(Prim::Cast(to)) => {
                                wrap(format!("{} as {}", args.join(" "), names.ty(&cachet_core::ir::Ty::Elem(*to))))
                            }
                            Op::Prim(Prim::WrappingCast(to) | Prim::SaturatingCast(to)) => {
                                wrap(format!("{} @{to} {}", head(names, *op), args.join(" ")))
                            }
                            Op::Prim(Prim::Neg | Prim::Not) => wrap(format!("{}{}", head(names, *op), args.concat())),
                            Op::Prim(_) | Op::Method(..) => wrap(format!("{} {}", head(names, *op), args.join(" "))),
                        }
                    }
                }
            }
            Term::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|p| self.text(names, fun, *p, depth - 1, false)).collect();
                format!("({})", parts.join(", "))
            }
            Term::Part(of, n) => format!("{}.{n}", self.text(names, fun, *of, depth - 1, true)),
            Term::Differing(pairs) => wrap(format!("differing over {} elements", pairs.len())),
        }
    }
}

fn infix(op: Op) -> Option<&'static str> {
    match op {
        Op::Prim(p) => match p {
            Prim::Add => Some("+"),
            Prim::Sub => Some("-"),
            Prim::Mul => Some("*"),
            Prim::Div => Some("/"),
            Prim::Rem => Some("%"),
            Prim::Eq => Some("=="),
            Prim::Lt => Some("<"),
            Prim::Le => Some("<="),
            Prim::And => Some("&&"),
            Prim::Or => Some("||"),
            Prim::Fma
            | Prim::Max
            | Prim::Min
            | Prim::Neg
            | Prim::Abs
            | Prim::Sqrt
            | Prim::Not
            | Prim::Select
            | Prim::WrappingAdd
            | Prim::WrappingSub
            | Prim::WrappingMul
            | Prim::Cast(_)
            | Prim::WrappingCast(_)
            | Prim::SaturatingCast(_)
            | Prim::FromBits(_)
            | Prim::ToBits => None,
        },
        Op::Method(..) => None,
    }
}

fn head(names: &Names<'_>, op: Op) -> String {
    match op {
        Op::Prim(p) => p.to_string(),
        Op::Method(param, m) => {
            let interface = names.type_params.get(param.index()).map(|t| t.interface as usize);
            let interface = interface.and_then(|i| names.program.interfaces.get(i));
            let method = interface.and_then(|i| i.methods.get(m as usize)).map_or("?", |m| m.0.as_str());
            format!("{}.{method}", names.type_param(param))
        }
    }
}
