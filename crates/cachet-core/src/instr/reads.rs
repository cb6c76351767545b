//! Which lanes of its operands does an instruction's body read?

use super::{Instr, InstrParam};
use crate::ir::{Guard, Ix, Local, Rel, Var, Word};
use std::collections::BTreeSet;

impl Instr {
    /// What is wrong with a body that reads lanes which its operands do not have.
    pub fn outside(&self) -> Option<String> {
        (0..self.lanes).find_map(|lane| {
            let (local, at) = self.outside_in(&self.body, lane)?;
            let info = self.locals.get(local.index())?;
            let lanes = info.dims.last().copied().unwrap_or(0);
            let (own, name) = (&self.name, &info.name);
            Some(format!("lane {lane} of `{own}` reads `{name}[{at}]`, and `{name}` has {lanes} lanes"))
        })
    }

    /// Whether every lane of an operand is read, whatever the indices are that it is applied to.
    pub fn reads_all(&self, param: InstrParam) -> bool {
        let (InstrParam::Vector(local), Some((_, count))) = (param, self.param_vector(param)) else { return false };
        let mut read = BTreeSet::new();
        (0..self.lanes).for_each(|lane| self.surely(&self.body, (local, lane), &mut read));
        read.len() as i64 == count
    }

    fn surely(&self, word: &Word, of: (Local, i64), read: &mut BTreeSet<i64>) {
        match word {
            Word::Local(l, at) if *l == of.0 => {
                if let [ix] = at.as_slice() {
                    read.extend(value(ix, self.lane, of.1));
                }
            }
            Word::Op { args, .. } | Word::Apply(_, args) => args.iter().for_each(|w| self.surely(w, of, read)),
            Word::If(g, a, b) => match holds(g, self.lane, of.1) {
                Some(true) => self.surely(a, of, read),
                Some(false) => self.surely(b, of, read),
                None => {}
            },
            // A body has nothing else that reads a cell.
            _ => {}
        }
    }

    /// A cell that is read and is not there.
    fn outside_in(&self, word: &Word, lane: i64) -> Option<(Local, String)> {
        match word {
            Word::Local(l, at) => {
                let lanes = self.locals.get(l.index())?.dims.last().copied().unwrap_or(0);
                let [ix] = at.as_slice() else { return None };
                match value(ix, self.lane, lane) {
                    Some(n) if (0..lanes).contains(&n) => None,
                    Some(n) => Some((*l, n.to_string())),
                    None => Some((*l, "..".into())),
                }
            }
            Word::Op { args, .. } | Word::Apply(_, args) => args.iter().find_map(|w| self.outside_in(w, lane)),
            Word::If(g, a, b) => match holds(g, self.lane, lane) {
                Some(true) => self.outside_in(a, lane),
                Some(false) => self.outside_in(b, lane),
                None => self.outside_in(a, lane).or_else(|| self.outside_in(b, lane)),
            },
            _ => None,
        }
    }
}

/// An index of the lane alone.
fn value(ix: &Ix, var: Var, lane: i64) -> Option<i64> {
    let two = |a: &Ix, b: &Ix| Some((value(a, var, lane)?, value(b, var, lane)?));
    match ix {
        Ix::Lit(n) => Some(*n),
        Ix::Var(v) => (*v == var).then_some(lane),
        Ix::Add(a, b) => two(a, b).and_then(|(a, b)| a.checked_add(b)),
        Ix::Sub(a, b) => two(a, b).and_then(|(a, b)| a.checked_sub(b)),
        Ix::Mul(n, a) => value(a, var, lane)?.checked_mul(*n),
        Ix::Div(a, n) => value(a, var, lane)?.checked_div_euclid(*n),
        Ix::Mod(a, n) => value(a, var, lane)?.checked_rem_euclid(*n),
        Ix::Min(a, b) => two(a, b).map(|(a, b)| a.min(b)),
        Ix::Max(a, b) => two(a, b).map(|(a, b)| a.max(b)),
        Ix::If(g, a, b) => value(if holds(g, var, lane)? { a } else { b }, var, lane),
        Ix::Block(..) | Ix::InBlock(..) => None,
    }
}

fn holds(guard: &Guard, var: Var, lane: i64) -> Option<bool> {
    match guard {
        Guard::Const(c) => Some(*c),
        Guard::Cmp(rel, a, b) => {
            let (a, b) = (value(a, var, lane)?, value(b, var, lane)?);
            Some(match rel {
                Rel::Eq => a == b,
                Rel::Ne => a != b,
                Rel::Lt => a < b,
                Rel::Le => a <= b,
            })
        }
        Guard::And(a, b) => Some(holds(a, var, lane)? && holds(b, var, lane)?),
        Guard::Or(a, b) => Some(holds(a, var, lane)? || holds(b, var, lane)?),
        Guard::Not(a) => holds(a, var, lane).map(|h| !h),
    }
}
