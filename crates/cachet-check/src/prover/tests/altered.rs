//! Certificates that were changed, or belong to another condition. None is accepted for a false condition, and most
//! are not accepted at all.

use super::super::{Verdict, prove};
use super::random::{Boxed, Random};
use crate::certificate::{Certificate, Line, check};
use crate::formula::{Formula, Problem, Term};

fn random_proof(random: &mut Random) -> (Boxed, Certificate) {
    loop {
        let boxed = Boxed::random(random);
        if let Verdict::Proved(certificate) = prove(&boxed.problem)
            && certificate.lines.len() > 1
        {
            return (boxed, certificate);
        }
    }
}

/// One alteration: a number, the number of a fact, or a line.
fn alter(certificate: &Certificate, random: &mut Random) -> Certificate {
    let mut altered = certificate.clone();
    let lines = &mut altered.lines;
    let place = random.below(lines.len());
    match random.below(4) {
        0 => drop(lines.remove(place)),
        1 => {
            let other = random.below(lines.len());
            lines.swap(place, other);
        }
        _ => alter_line(&mut lines[place], random),
    }
    altered
}

fn alter_line(line: &mut Line, random: &mut Random) {
    let by = if random.below(2) == 0 { 1 } else { -1 };
    let neighbour = |id: u32, random: &mut Random| id.wrapping_add_signed(if random.below(2) == 0 { 1 } else { -1 });
    match line {
        Line::Combine { parts, divisor } | Line::Equate { parts, divisor } => match random.below(3) {
            0 => *divisor += by,
            1 => {
                let part = random.below(parts.len());
                parts[part].0 = neighbour(parts[part].0, random);
            }
            _ => {
                let part = random.below(parts.len());
                parts[part].1 += by;
            }
        },
        Line::Squeeze(a, b) => {
            let place = if random.below(2) == 0 { a } else { b };
            *place = neighbour(*place, random);
        }
        Line::Define { terms, constant } | Line::Cut { terms, constant } => {
            if terms.is_empty() || random.below(2) == 0 {
                *constant += by;
            } else {
                let place = random.below(terms.len());
                terms[place].1 += by;
            }
        }
        Line::Split(fact) | Line::Absurd(fact) => *fact = neighbour(*fact, random),
    }
}

#[test]
fn most_single_alterations_are_rejected() {
    let mut random = Random(11);
    let (mut rejected, mut tried) = (0, 0);
    for _ in 0..400 {
        let (boxed, certificate) = random_proof(&mut random);
        for _ in 0..20 {
            let altered = alter(&certificate, &mut random);
            if altered != certificate {
                tried += 1;
                rejected += usize::from(check(&boxed.problem, &altered).is_err());
            }
        }
    }
    println!("{rejected} of {tried} alterations rejected");
    assert!(rejected * 10 >= tried * 9, "{rejected} of {tried} rejected");
}

/// The formula with its literal number `which` shifted; a variable counts as one with 0 added.
fn shift_literal(formula: &Formula, which: &mut usize, by: i128) -> Formula {
    let mut term = |term: &Term| shift_in_term(term, which, by);
    match formula {
        Formula::True => Formula::True,
        Formula::False => Formula::False,
        Formula::Le(a, b) => Formula::Le(term(a), term(b)),
        Formula::Lt(a, b) => Formula::Lt(term(a), term(b)),
        Formula::Eq(a, b) => Formula::Eq(term(a), term(b)),
        Formula::Not(inner) => Formula::Not(Box::new(shift_literal(inner, which, by))),
        Formula::And(parts) => Formula::And(parts.iter().map(|part| shift_literal(part, which, by)).collect()),
        Formula::Or(parts) => Formula::Or(parts.iter().map(|part| shift_literal(part, which, by)).collect()),
    }
}

fn shift_in_term(term: &Term, which: &mut usize, by: i128) -> Term {
    let mut shifted = |value: i128| {
        let hit = *which == 0;
        *which = which.wrapping_sub(1);
        if hit { value + by } else { value }
    };
    match term {
        Term::Lit(value) => Term::Lit(shifted(*value)),
        Term::Var(var) => Term::Var(*var).add(shifted(0)),
        Term::Add(parts) => Term::Add(parts.iter().map(|part| shift_in_term(part, which, by)).collect()),
        Term::Mul(factor, inner) => {
            let factor = shifted(*factor);
            shift_in_term(inner, which, by).times(factor)
        }
        Term::Div(inner, n) => {
            let n = shifted(*n).max(1);
            shift_in_term(inner, which, by).div(n)
        }
        Term::Mod(inner, n) => {
            let n = shifted(*n).max(1);
            shift_in_term(inner, which, by).rem(n)
        }
        Term::Min(a, b) => shift_in_term(a, which, by).min(shift_in_term(b, which, by)),
        Term::Max(a, b) => shift_in_term(a, which, by).max(shift_in_term(b, which, by)),
        Term::If(condition, a, b) => {
            Term::ite(shift_literal(condition, which, by), shift_in_term(a, which, by), shift_in_term(b, which, by))
        }
    }
}

/// Conditions that differ in one place: a hypothesis dropped, a number or the whole goal changed.
fn neighbours(problem: &Problem) -> Vec<Problem> {
    let with_goal = |goal: Formula| Problem { goal, ..problem.clone() };
    let mut neighbours = vec![with_goal(Formula::False), with_goal(Formula::not(problem.goal.clone()))];
    for place in 0..problem.hypotheses.len() {
        let mut fewer = problem.clone();
        fewer.hypotheses.remove(place);
        neighbours.push(fewer);
        for (which, by) in [(0, 1), (1, -1), (2, 1)] {
            let mut shifted = problem.clone();
            shifted.hypotheses[place] = shift_literal(&problem.hypotheses[place], &mut { which }, by);
            neighbours.push(shifted);
        }
    }
    for (which, by) in [(0, 1), (1, -1), (2, 1), (3, -1), (4, 1)] {
        neighbours.push(with_goal(shift_literal(&problem.goal, &mut { which }, by)));
    }
    neighbours
}

/// The most dangerous pairs: a proof of a true condition, for a false one that differs from it in one place. That it
/// is false is evaluated.
#[test]
fn no_certificate_is_accepted_for_a_false_neighbour() {
    let mut random = Random(12);
    let mut pairs = 0;
    while pairs < 30_000 {
        let (boxed, certificate) = random_proof(&mut random);
        for neighbour in neighbours(&boxed.problem) {
            let Verdict::Refuted(model) = prove(&neighbour) else { continue };
            assert_eq!(neighbour.refuted_by(&model), Some(true));
            assert!(check(&neighbour, &certificate).is_err(), "{}", neighbour.canonical());
            for _ in 0..9 {
                let altered = alter(&certificate, &mut random);
                assert!(check(&neighbour, &altered).is_err(), "{}\n{altered:?}", neighbour.canonical());
            }
            pairs += 10;
        }
    }
}

#[test]
fn no_certificate_is_accepted_for_another_false_condition() {
    let mut random = Random(13);
    let certificates: Vec<Certificate> = (0..300).map(|_| random_proof(&mut random).1).collect();
    let mut refuted = 0;
    while refuted < 300 {
        let boxed = Boxed::random(&mut random);
        if boxed.refutation().is_some() {
            refuted += 1;
            for certificate in &certificates {
                assert!(check(&boxed.problem, certificate).is_err(), "{}", boxed.problem.canonical());
            }
        }
    }
}
