//! Conditions that differ from one in one place.

use cachet_check::formula::{Formula, Problem, Term};

/// The formula with its literal number `which` shifted; a variable counts as one with 0 added.
pub fn shift_literal(formula: &Formula, which: usize, by: i128) -> Formula {
    shift(formula, &mut { which }, by)
}

/// How many literals [`shift_literal`] can shift.
pub fn literals(formula: &Formula) -> usize {
    let mut left = usize::MAX;
    shift(formula, &mut left, 0);
    usize::MAX - left
}

fn shift(formula: &Formula, which: &mut usize, by: i128) -> Formula {
    let mut term = |term: &Term| shift_in_term(term, which, by);
    match formula {
        Formula::True => Formula::True,
        Formula::False => Formula::False,
        Formula::Le(a, b) => Formula::Le(term(a), term(b)),
        Formula::Lt(a, b) => Formula::Lt(term(a), term(b)),
        Formula::Eq(a, b) => Formula::Eq(term(a), term(b)),
        Formula::Not(inner) => Formula::Not(Box::new(shift(inner, which, by))),
        Formula::And(parts) => Formula::And(parts.iter().map(|part| shift(part, which, by)).collect()),
        Formula::Or(parts) => Formula::Or(parts.iter().map(|part| shift(part, which, by)).collect()),
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
        Term::Var(var) => match shifted(0) {
            0 => Term::Var(*var),
            by => Term::Var(*var).add(by),
        },
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
            Term::ite(shift(condition, which, by), shift_in_term(a, which, by), shift_in_term(b, which, by))
        }
    }
}

/// Conditions that differ in one place: a hypothesis dropped, a number or the whole goal changed. The first `fixed`
/// hypotheses stay as they are.
pub fn neighbours(problem: &Problem, fixed: usize) -> Vec<Problem> {
    let with_goal = |goal: Formula| Problem { goal, ..problem.clone() };
    let mut neighbours = vec![with_goal(Formula::False), with_goal(Formula::not(problem.goal.clone()))];
    for place in fixed..problem.hypotheses.len() {
        let mut fewer = problem.clone();
        fewer.hypotheses.remove(place);
        neighbours.push(fewer);
        for (which, by) in [(0, 1), (1, -1), (2, 1)] {
            let mut shifted = problem.clone();
            shifted.hypotheses[place] = shift_literal(&problem.hypotheses[place], which, by);
            neighbours.push(shifted);
        }
    }
    for (which, by) in [(0, 1), (1, -1), (2, 1), (3, -1), (4, 1)] {
        neighbours.push(with_goal(shift_literal(&problem.goal, which, by)));
    }
    neighbours
}
