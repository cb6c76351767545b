//! Does what a file asserts of its constants, and of all sizes, hold?
//!
//! An assertion without sizes is evaluated. One with sizes becomes a condition where it is linear; where it is not,
//! nothing here decides it, and it is refused.

use crate::condition::{Condition, Kind, discharge};
use crate::context::Context;
use crate::formula::{Formula, Term};
use crate::proofs::Proofs;
use cachet_core::number::{Assertion, Claim, Fault, Num, Order, Proof};
use cachet_source::{Diagnostic, Kind as Severity, codes};

/// Checks a proof; gives how many assertions were shown.
///
/// # Errors
/// A report for each assertion that was not.
pub fn check(proof: &Proof, proofs: &mut Proofs) -> Result<usize, Vec<Diagnostic>> {
    let refused = proof.asserts.iter().filter_map(|a| assertion(proof, a, proofs).err());
    let reports: Vec<Diagnostic> = refused.map(|d| *d).collect();
    if reports.is_empty() { Ok(proof.asserts.len()) } else { Err(reports) }
}

/// Why a statement has no condition.
enum Hard {
    Fault(Fault),
    NotLinear(&'static str),
}

impl From<Fault> for Hard {
    fn from(f: Fault) -> Hard {
        Hard::Fault(f)
    }
}

fn assertion(proof: &Proof, a: &Assertion, proofs: &mut Proofs) -> Result<(), Box<Diagnostic>> {
    let what = format!("proof {}: {}", proof.name, a.text);
    let fault = |f: Fault| {
        let code = if f == Fault::Overflow { codes::OVERFLOW } else { codes::SIZE };
        Box::new(Diagnostic::error(code, a.span, format!("{what} means nothing: {f}")))
    };
    if a.claim.is_ground() {
        if a.claim.holds(&[]).map_err(fault)? {
            return Ok(());
        }
        let d = Diagnostic::new(Severity::NotProved, codes::PROOF, format!("could not prove {what}")).at(a.span, "");
        return Err(Box::new(with_values(d, a, &[])));
    }
    let cx = Context::of_names(&a.sizes);
    let goal = match formula(&cx, &a.claim) {
        Ok(goal) => goal,
        Err(Hard::Fault(f)) => return Err(fault(f)),
        Err(Hard::NotLinear(why)) => {
            let d = Diagnostic::new(Severity::NotDecided, codes::PROOF, format!("could not decide {what}"));
            let d = d.at(a.span, "").note(format!("{why} is not linear, and only linear statements are decided"));
            return Err(Box::new(d.note(sizes_note(&a.sizes))));
        }
    };
    let condition = Condition::new(Kind::Assertion, codes::PROOF, &cx, goal, what).at(a.span, "");
    let Err(failure) = discharge(proofs, std::slice::from_ref(&condition)) else { return Ok(()) };
    let mut d = failure.diagnostic;
    if let Some(sizes) = failure.sizes {
        let sizes: Vec<i128> = sizes.into_iter().map(i128::from).collect();
        d = with_values(d, a, &sizes);
    }
    Err(Box::new(d.note(sizes_note(&a.sizes))))
}

/// The values of both sides of each comparison that made the statement false.
fn with_values(mut d: Diagnostic, a: &Assertion, sizes: &[i128]) -> Diagnostic {
    for c in a.claim.culprits(sizes) {
        for (text, side) in [(&c.texts.0, &c.lhs), (&c.texts.1, &c.rhs)] {
            if let Ok(value) = side.value(sizes)
                && value.to_string() != *text
                && !a.sizes.contains(text)
            {
                let note = format!("{text} is {value}");
                if !d.notes.contains(&note) {
                    d.notes.push(note);
                }
            }
        }
    }
    d
}

fn sizes_note(sizes: &[String]) -> String {
    match sizes {
        [only] => format!("`{only}` is no constant here: it stands for every size"),
        all => {
            let names: Vec<String> = all.iter().map(|n| format!("`{n}`")).collect();
            format!("{} are no constants here: they stand for all sizes", names.join(", "))
        }
    }
}

fn formula(cx: &Context, claim: &Claim) -> Result<Formula, Hard> {
    Ok(match claim {
        Claim::Const(true) => Formula::True,
        Claim::Const(false) => Formula::False,
        Claim::And(a, b) => Formula::and([formula(cx, a)?, formula(cx, b)?]),
        Claim::Or(a, b) => Formula::or([formula(cx, a)?, formula(cx, b)?]),
        Claim::Not(a) => Formula::not(formula(cx, a)?),
        Claim::Compare(c) => {
            let (a, b) = (term(cx, &c.lhs)?, term(cx, &c.rhs)?);
            match c.order {
                Order::Eq => a.equals(b),
                Order::Ne => a.differs(b),
                Order::Lt => a.lt(b),
                Order::Le => a.le(b),
                Order::Gt => a.gt(b),
                Order::Ge => a.ge(b),
            }
        }
    })
}

fn term(cx: &Context, n: &Num) -> Result<Term, Hard> {
    if n.is_ground() {
        return Ok(Term::Lit(n.value(&[])?));
    }
    let divided = |a: &Num, b: &Num| -> Result<(Term, i128), Hard> {
        if !b.is_ground() {
            return Err(Hard::NotLinear("a division by a size"));
        }
        match b.value(&[])? {
            d if d > 0 => Ok((term(cx, a)?, d)),
            d => Err(Fault::Divisor(d).into()),
        }
    };
    Ok(match n {
        Num::Lit(n) => Term::Lit(*n),
        Num::Size(s) => cx.size(*s as usize).ok_or(Fault::Overflow)?,
        Num::Add(a, b) => term(cx, a)?.add(term(cx, b)?),
        Num::Sub(a, b) => term(cx, a)?.sub(term(cx, b)?),
        Num::Mul(a, b) => match (a.is_ground(), b.is_ground()) {
            (true, _) => term(cx, b)?.times(a.value(&[])?),
            (_, true) => term(cx, a)?.times(b.value(&[])?),
            _ => return Err(Hard::NotLinear("a product of two sizes")),
        },
        Num::Div(a, b) => divided(a, b).map(|(a, d)| a.div(d))?,
        Num::Ceil(a, b) => divided(a, b).map(|(a, d)| a.add(d - 1).div(d))?,
        Num::Mod(a, b) => divided(a, b).map(|(a, d)| a.rem(d))?,
        Num::Min(a, b) => term(cx, a)?.min(term(cx, b)?),
        Num::Max(a, b) => term(cx, a)?.max(term(cx, b)?),
        Num::If(c, a, b) => Term::ite(formula(cx, c)?, term(cx, a)?, term(cx, b)?),
    })
}
