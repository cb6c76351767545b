//! Random conditions: the prover against every point of a box, and against points where there are too many.
//!
//! A condition that was proved must have no counterexample among the points, one that was refuted must have one, and the
//! model must evaluate as one. Each certificate is read once more by the certificate checker; and what that reader makes
//! of a condition, the facts that it numbers, is evaluated beside the condition itself.

use crate::generate::formulas::{self, Boxed, KINDS};
use crate::population::{Population, Report, Scale, Share};
use crate::random::Random;
use crate::threads;
use cachet_check::certificate::{Definition, Reading, all_hold, check};
use cachet_check::formula::{Formula, Problem, Term, Var};
use cachet_check::prover::{Verdict, irrelevant, minimise, prove};

/// Every shape, and shapes of programs.
pub const CONDITIONS: Population = Population {
    promise: "P20",
    name: "random conditions",
    never: "the prover and brute force disagree, or a certificate is not accepted",
    counts: [100_000, 1_000_000],
    drawn: true,
    run: conditions,
};

/// What the certificate checker takes a condition to say.
pub const READINGS: Population = Population {
    promise: "P20",
    name: "readings of conditions",
    never: "the facts that certificates start from say something else than the condition",
    counts: [4_000, 400_000],
    drawn: true,
    run: readings,
};

/// Orders of loops without limits on their sizes, and any shape with numbers around the limits of the arithmetic.
pub const LARGE: Population = Population {
    promise: "P8",
    name: "conditions beyond any box",
    never: "something is proved that fails at a point, or the prover panics",
    counts: [8_000, 200_000],
    drawn: true,
    run: large,
};

fn conditions(share: Share) -> Report {
    let mut report = threads::run(share.count, |cases| {
        let mut report = Report::default();
        cases.for_each(|n| condition(&mut Random::case(share.seed, n), n, &mut report));
        report
    });
    let (cases, undecided) = (report.cases, report.counted("undecided"));
    report.at_most("undecided", undecided, 1, cases);
    for verdict in ["proved", "refuted"] {
        for drawn in ["of any shape", "like a program's"] {
            let got = report.counted(&format!("{verdict} {drawn}"));
            let of = report.counted(drawn);
            report.at_least_percent(&format!("{verdict} {drawn}"), got, 15, of);
        }
    }
    for kind in KINDS {
        let got = report.counted(&format!("with {kind}"));
        report.at_least(&format!("conditions with {kind}"), got, (share.count / 50) as u64);
    }
    report
}

fn condition(random: &mut Random, n: usize, report: &mut Report) {
    report.cases += 1;
    let (drawn, boxed) = match n % 3 {
        0 => ("like a program's", Boxed::draw_real(random)),
        _ => ("of any shape", Boxed::draw(random)),
    };
    report.count(drawn);
    let mut seen = [false; KINDS.len()];
    formulas::visit_kinds(&boxed.unbounded(), &mut |kind| seen[kind] = true);
    seen.iter().zip(KINDS).filter(|(s, _)| **s).for_each(|(_, kind)| report.count(&format!("with {kind}")));
    let verdict = prove(&boxed.problem);
    if let Some(what) = disagreement(&boxed, &verdict) {
        report.fail(what, smallest(&boxed).canonical());
    }
    match verdict {
        Verdict::Proved(_) => report.count(&format!("proved {drawn}")),
        Verdict::Refuted(_) => report.count(&format!("refuted {drawn}")),
        Verdict::Undecided { .. } => report.count("undecided"),
    }
    // The verdict is a function of the condition: nothing is left over from before.
    if n.is_multiple_of(50) && prove(&boxed.problem) != prove(&boxed.problem.clone()) {
        report.fail("another verdict the second time", boxed.problem.canonical());
    }
    if n.is_multiple_of(16) {
        turned(&boxed, report);
    }
}

/// What a verdict has wrong.
fn disagreement(boxed: &Boxed, verdict: &Verdict) -> Option<String> {
    let problem = &boxed.problem;
    match verdict {
        Verdict::Proved(certificate) => {
            if let Err(why) = check(problem, certificate) {
                return Some(format!("the certificate is not accepted: {why}"));
            }
            boxed.refutation().map(|point| format!("proved, and it fails at {point:?}"))
        }
        Verdict::Refuted(model) => {
            if problem.refuted_by(model) != Some(true) {
                return Some(format!("{model:?} is no counterexample"));
            }
            // The box is part of the condition, so the model is one of its points.
            let inside = model.iter().zip(&boxed.ranges).all(|(x, (low, high))| low <= x && x <= high);
            (!inside).then(|| format!("{model:?} is not in the box"))
        }
        Verdict::Undecided { .. } => None,
    }
}

/// The same condition with its variables in another order and its facts backwards, and without its box.
fn turned(boxed: &Boxed, report: &mut Report) {
    let problem = &boxed.problem;
    let count = problem.names.len() as u32;
    let swap: Vec<Option<Term>> = (0..count).map(|index| Some(Term::Var(Var(count - 1 - index)))).collect();
    let renamed = Problem {
        names: problem.names.clone(),
        hypotheses: problem.hypotheses.iter().rev().map(|part| part.substitute(&swap).unwrap()).collect(),
        goal: problem.goal.substitute(&swap).unwrap(),
        hints: Vec::new(),
    };
    match (prove(problem), prove(&renamed)) {
        (Verdict::Proved(_), Verdict::Refuted(_)) | (Verdict::Refuted(_), Verdict::Proved(_)) => {
            report.fail("another verdict under other names", problem.canonical());
        }
        (a, b) if std::mem::discriminant(&a) != std::mem::discriminant(&b) => {
            report.count("decided in one order only");
        }
        _ => report.count("the same in another order"),
    }
    let unbounded = boxed.unbounded();
    match prove(&unbounded) {
        Verdict::Proved(certificate) => {
            report.count("proved without a box");
            // At the points of the box it says what it says with the box.
            if check(&unbounded, &certificate).is_err() || boxed.refutation().is_some() {
                report.fail("proved without its box, and wrong", unbounded.canonical());
            }
        }
        Verdict::Refuted(model) => {
            report.count("refuted without a box");
            if unbounded.refuted_by(&model) != Some(true) {
                report.fail("refuted without its box by what is no counterexample", unbounded.canonical());
            }
        }
        Verdict::Undecided { .. } => report.count("undecided without a box"),
    }
}

/// Fewer facts and fewer parts with the same disagreement.
fn smallest(boxed: &Boxed) -> Problem {
    let mut best = boxed.clone();
    loop {
        let fixed = best.ranges.len();
        let smaller = smaller(&best.problem, fixed).into_iter().find_map(|problem| {
            let next = Boxed { problem, ranges: best.ranges.clone() };
            disagreement(&next, &prove(&next.problem)).map(|_| next)
        });
        match smaller {
            Some(next) => best = next,
            None => return best.problem,
        }
    }
}

/// Conditions with one part less.
fn smaller(problem: &Problem, fixed: usize) -> Vec<Problem> {
    let mut out = Vec::new();
    if !problem.hints.is_empty() {
        out.push(Problem { hints: Vec::new(), ..problem.clone() });
    }
    for n in fixed..problem.hypotheses.len() {
        let mut fewer = problem.clone();
        fewer.hypotheses.remove(n);
        out.push(fewer);
        for part in parts(&problem.hypotheses[n]) {
            let mut less = problem.clone();
            less.hypotheses[n] = part;
            out.push(less);
        }
    }
    out.extend(parts(&problem.goal).into_iter().map(|goal| Problem { goal, ..problem.clone() }));
    out
}

fn parts(formula: &Formula) -> Vec<Formula> {
    match formula {
        Formula::True | Formula::False | Formula::Le(..) | Formula::Lt(..) | Formula::Eq(..) => Vec::new(),
        Formula::Not(inner) => vec![(**inner).clone()],
        Formula::And(all) | Formula::Or(all) => all.clone(),
    }
}

// ---------------------------------------------------------------- readings

fn readings(share: Share) -> Report {
    let mut report = threads::run(share.count, |cases| {
        let mut report = Report::default();
        cases.for_each(|n| reading(&mut Random::case(share.seed, n), &mut report));
        report
    });
    let wanted = share.count as u64 / 8;
    for what in ["quotients", "minima", "choices", "points that refute", "values moved"] {
        let got = report.counted(what);
        report.at_least(what, got, wanted);
    }
    report
}

fn reading(random: &mut Random, report: &mut Report) {
    report.cases += 1;
    let boxed = if random.once_in(4) { Boxed::draw_real(random) } else { Boxed::draw(random) };
    let problem = boxed.unbounded();
    let reading = Reading::of(&problem.question()).unwrap();
    for definition in &reading.definitions {
        report.count(match definition {
            Definition::Quotient { .. } => "quotients",
            Definition::Least { .. } => "minima",
            Definition::Choice { .. } => "choices",
        });
    }
    let (said, axioms) = reading.facts.split_at(reading.goal.end);
    for _ in 0..15 {
        let point: Vec<i128> = boxed.ranges.iter().map(|_| random.between(-20, 20).into()).collect();
        let mut values = point.clone();
        reading.definitions.iter().for_each(|d| values.push(stands_for(d, &values)));
        let refuted = problem.refuted_by(&point).unwrap();
        report.add("points that refute", u64::from(refuted));
        if all_hold(said, &values) != Some(refuted) || all_hold(axioms, &values) != Some(true) {
            report.fail(format!("the reading says something else at {point:?}"), problem.canonical());
        }
        if !reading.definitions.is_empty() {
            report.count("values moved");
            let place = point.len() + random.below(reading.definitions.len());
            values[place] += random.pick(&[-2, -1, 1, 2]);
            if all_hold(axioms, &values) != Some(false) {
                report.fail(format!("a name may have another value at {point:?}"), problem.canonical());
            }
        }
    }
}

/// The value of a defined name.
fn stands_for(definition: &Definition, values: &[i128]) -> i128 {
    match definition {
        Definition::Quotient { dividend, divisor } => dividend.eval(values).unwrap().div_euclid(*divisor),
        Definition::Least { operand } => operand.eval(values).unwrap().min(0),
        Definition::Choice { yes, no: _, operand } if all_hold(yes, values).unwrap() => operand.eval(values).unwrap(),
        Definition::Choice { .. } => 0,
    }
}

// ---------------------------------------------------------------- beyond any box

fn large(share: Share) -> Report {
    let mut report = threads::run(share.count, |cases| {
        let mut report = Report::default();
        cases.for_each(|n| beyond(&mut Random::case(share.seed, n), n, share.scale, &mut report));
        report
    });
    let cases = share.count as u64;
    for (what, wanted) in
        [("large: proved", 20), ("large: refuted", 10), ("orders: proved", 50), ("orders: refuted", 100)]
    {
        let got = report.counted(what);
        report.at_least(what, got, cases / wanted);
    }
    let undecided = report.counted("large: undecided");
    report.at_least("too large to be decided", undecided, cases / 400);
    let (undecided, of) = (report.counted("orders: undecided"), report.counted("orders"));
    report.at_most("orders of loops undecided", undecided, 1, of);
    report
}

fn beyond(random: &mut Random, n: usize, scale: Scale, report: &mut Report) {
    report.cases += 1;
    let (name, problem) = if n.is_multiple_of(10) {
        report.count("orders");
        ("orders", formulas::order_of_loops(random))
    } else {
        let mut hypotheses: Vec<Formula> = (0..random.below(3)).map(|_| formulas::formula(random, 3, 2)).collect();
        let mut goal = formulas::formula(random, 3, 2);
        hypotheses.iter_mut().for_each(|part| formulas::enlarge(part, random));
        formulas::enlarge(&mut goal, random);
        let names = ["x", "y", "z"].map(String::from).to_vec();
        ("large", Problem { names, hypotheses, goal, hints: Vec::new() })
    };
    let verdict = std::panic::catch_unwind(|| prove(&problem));
    let Ok(verdict) = verdict else { return report.fail("the prover panics", problem.canonical()) };
    match verdict {
        Verdict::Proved(certificate) => {
            report.count(&format!("{name}: proved"));
            if let Err(why) = check(&problem, &certificate) {
                report.fail(format!("the certificate is not accepted: {why}"), problem.canonical());
            }
            for _ in 0..if scale == Scale::Nightly { 200 } else { 50 } {
                let point: Vec<i128> = problem.names.iter().map(|_| number(random, name == "orders")).collect();
                if problem.refuted_by(&point) == Some(true) {
                    return report.fail(format!("proved, and it fails at {point:?}"), problem.canonical());
                }
            }
        }
        Verdict::Refuted(model) => {
            report.count(&format!("{name}: refuted"));
            let order: Vec<Var> = (0..problem.names.len() as u32).map(Var).collect();
            let smaller = minimise(&problem, &model, &order);
            irrelevant(&problem, &smaller);
            if problem.refuted_by(&model) != Some(true) || problem.refuted_by(&smaller) != Some(true) {
                report.fail("what refutes it is no counterexample", problem.canonical());
            }
        }
        Verdict::Undecided { .. } => report.count(&format!("{name}: undecided")),
    }
}

fn number(random: &mut Random, small: bool) -> i128 {
    match (small, random.once_in(2)) {
        (true, _) => random.between(0, 6).into(),
        (false, true) => random.between(-3, 3).into(),
        (false, false) => formulas::hostile_number(random),
    }
}
