//! Doubt is refusal: numbers near the limits, nesting without end, conditions too large, certificates made to break
//! the checker. Nothing panics, and nothing false is proved.

use super::super::{Verdict, prove};
use super::model_of;
use super::notation::problem;
use crate::certificate::{Certificate, Line, check};
use crate::formula::{Formula, MAX_DEPTH, Problem, Term, Var};

fn undecided(problem: &Problem) -> String {
    match prove(problem) {
        Verdict::Undecided { reason } => reason,
        other => panic!("decided: {other:?}"),
    }
}

fn about(goal: Formula) -> Problem {
    Problem { names: vec!["x".into(), "y".into()], hypotheses: Vec::new(), goal, hints: Vec::new() }
}

const DEEP: usize = 100_000;

#[test]
fn deep_terms_are_refused() {
    let x = || Term::Var(Var(0));
    let mut kinds: Vec<Term> = Vec::new();
    for kind in 0..7 {
        let mut term = x();
        for _ in 0..DEEP {
            term = match kind {
                0 => Term::Add(vec![term, Term::Lit(1)]),
                1 => Term::Add(vec![Term::Lit(1), term]),
                2 => term.times(1),
                3 => term.div(2),
                4 => term.rem(2),
                5 => term.min(x()),
                _ => Term::ite(term.le(3), x(), Term::Lit(0)),
            };
        }
        kinds.push(term);
    }
    for term in kinds {
        assert_eq!(term.eval(&[1, 2]), None);
        let problem = about(term.le(3));
        assert!(undecided(&problem).contains("nested deeper"));
        assert!(check(&problem, &Certificate { lines: vec![Line::Absurd(0)] }).is_err());
        assert!(problem.canonical().len() > DEEP && problem.smt_lib().len() > DEEP);
        assert_eq!(problem.refuted_by(&[1, 2]), None);
    }
    let mut formula = x().le(3);
    for round in 0..DEEP {
        formula = match round % 3 {
            0 => Formula::Not(Box::new(formula)),
            1 => Formula::And(vec![Formula::True, formula]),
            _ => Formula::Or(vec![formula, Formula::False]),
        };
    }
    assert!(undecided(&about(formula)).contains("nested deeper"));
}

#[test]
fn conditions_at_the_limit_of_depth_are_decided() {
    let x = || Term::Var(Var(0));
    let nest = |wrap: &dyn Fn(Term) -> Term| (0..MAX_DEPTH - 3).fold(x(), |term, _| wrap(term));
    let choice = |term: Term| Term::ite(term.le(3), x(), Term::Lit(0));
    let halved = (0..MAX_DEPTH / 2 - 3).fold(x(), |term, _| choice(term));
    let terms = [
        nest(&|term| Term::Add(vec![term, Term::Lit(1)])),
        nest(&|term| term.times(-1)),
        nest(&|term| term.rem(1_000)),
        nest(&|term| term.min(Term::Lit(7))),
        nest(&|term| Term::Max(Box::new(Term::Lit(-7)), Box::new(term))),
        halved,
    ];
    for term in terms {
        let p = Problem { hypotheses: vec![x().equals(5)], ..about(term.clone().ge(-10)) };
        super::proof_of(&p);
        model_of(&Problem { hypotheses: vec![x().equals(5)], ..about(term.ge(1_000)) });
    }
    let not = (0..MAX_DEPTH - 3).fold(x().le(3), |formula, _| Formula::And(vec![formula, Formula::True]));
    model_of(&about(not));
    // Powers of two beyond 128 bits.
    undecided(&about(nest(&|term| term.times(2)).le(3)));
}

#[test]
fn wide_conditions_are_refused_or_decided() {
    let x = || Term::Var(Var(0));
    let mut wide = about(x().le(1_000_000));
    wide.hypotheses = vec![Formula::Or((0..100_000).map(|value| x().equals(value)).collect())];
    assert!(undecided(&wide).contains("more than"));
    wide.hypotheses = vec![x().equals(Term::Add((0..10_000).map(Term::Lit).collect()))];
    assert!(matches!(prove(&wide), Verdict::Refuted(_)));
    // One equation in many variables, and many equations in a few.
    let count = 20_000;
    let sum = Term::Add((0..count).map(|index| Term::Var(Var(index)).times(i128::from(index) + 2)).collect());
    let names: Vec<String> = (0..count).map(|index| format!("s{index}")).collect();
    let p = Problem { names, hypotheses: vec![sum.equals(1)], goal: Formula::False, hints: Vec::new() };
    assert!(matches!(prove(&p), Verdict::Refuted(_) | Verdict::Undecided { .. }));
    // Unsatisfiable, but only after far more cases than allowed.
    let names = (0..40).map(|index| format!("p{index}")).collect();
    let pigeon = |p: u32, h: i128| Term::Var(Var(p)).equals(h);
    let mut hypotheses: Vec<Formula> = (0..12).map(|p| Formula::Or((0..11).map(|h| pigeon(p, h)).collect())).collect();
    for p in 0..12 {
        hypotheses.extend((0..p).map(|q| Formula::ne(Term::Var(Var(p)), Term::Var(Var(q)))));
    }
    undecided(&Problem { names, hypotheses, goal: Formula::False, hints: Vec::new() });
}

#[test]
fn malformed_conditions_are_refused() {
    let x = || Term::Var(Var(0));
    assert!(undecided(&about(x().div(0).le(3))).contains("division by 0"));
    assert!(undecided(&about(x().rem(-4).le(3))).contains("division by -4"));
    assert!(undecided(&about(x().div(i128::MIN).le(3))).contains("division by"));
    assert!(undecided(&about(Term::Var(Var(2)).le(3))).contains("no name"));
}

#[test]
fn sizes_within_the_limits_are_decided() {
    let sizes = "0 <= M <= 1099511627776 && 0 <= i < M && 0 <= N <= 1099511627776 && 0 <= j < N";
    let p = problem("M N i j", &[sizes], "0 <= 1073741824*i + 8*j + 8 <= 1180591620726607249408 + 8796093022208");
    super::proof_of(&p);
}

#[test]
fn broken_certificates_are_rejected() {
    let p = problem("x y", &["0 <= x", "x < y"], "0 < y");
    let good = super::proof_of(&p);
    check(&p, &good).unwrap();
    let reject = |lines: Vec<Line>| assert!(check(&p, &Certificate { lines }).is_err());
    reject(Vec::new());
    reject(good.lines.iter().chain(&good.lines).cloned().collect());
    reject(vec![Line::Absurd(0)]);
    reject(vec![Line::Absurd(u32::MAX)]);
    reject(vec![Line::Split(0), Line::Absurd(0)]);
    for divisor in [0, -1, i128::MIN] {
        reject(vec![Line::Combine { parts: vec![(0, 1)], divisor }]);
    }
    // 0 <= x taken with a negative multiple would prove anything.
    reject(vec![Line::Combine { parts: vec![(0, -1), (1, 1), (2, 1)], divisor: 1 }, Line::Absurd(3)]);
    reject(vec![Line::Equate { parts: vec![(0, 1)], divisor: 1 }]);
    reject(vec![Line::Squeeze(0, 1), Line::Absurd(3)]);
    reject(vec![Line::Squeeze(0, 0)]);
    // Not divisible; overflowing; names that do not exist.
    reject(vec![Line::Combine { parts: vec![(0, 3), (1, 1)], divisor: 3 }]);
    reject(vec![Line::Combine { parts: vec![(1, i128::MAX), (1, i128::MAX)], divisor: 1 }]);
    reject(vec![Line::Define { terms: vec![(7, 1)], constant: 0 }]);
    reject(vec![Line::Cut { terms: vec![(2, 1)], constant: 0 }, Line::Absurd(3), Line::Absurd(3)]);
    reject(vec![Line::Cut { terms: vec![], constant: i128::MIN }, Line::Absurd(3), Line::Absurd(3)]);
    // A defined name is forgotten when its case ends.
    let define = Line::Define { terms: vec![(0, 1)], constant: 0 };
    let use_it = Line::Cut { terms: vec![(2, 1)], constant: 0 };
    reject(vec![Line::Cut { terms: vec![(0, 1)], constant: 0 }, define.clone(), use_it.clone()]);
    // An open case.
    let mut open = vec![Line::Cut { terms: vec![(0, 1)], constant: 0 }];
    open.extend(good.lines.iter().cloned());
    reject(open);
}
