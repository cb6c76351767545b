//! Smaller counterexamples, what may be left out of them, witnesses, and the two texts of a problem.

use super::super::{Satisfaction, irrelevant, minimise, satisfiable};
use super::notation::{formula, problem, var};
use super::{model_of, proof_of};
use crate::certificate::check;
use crate::formula::{Formula, Problem, Var};

#[test]
fn each_variable_gets_the_smallest_value_in_turn() {
    let problem = problem("a b", &["10 <= a + b", "0 <= b <= 6"], "false");
    let [a, b] = [var(&problem, "a"), var(&problem, "b")];
    let start = vec![50, 6];
    assert_eq!(minimise(&problem, &start, &[a, b]), [4, 6]);
    assert_eq!(minimise(&problem, &start, &[b, a]), [10, 0]);
    assert_eq!(minimise(&problem, &start, &[]), start);
}

#[test]
fn negative_values_shrink_too() {
    let problem = problem("a", &["a < 0 && a % 7 = 3"], "false");
    assert_eq!(minimise(&problem, &vec![-700_004], &[Var(0)]), [-4]);
}

#[test]
fn a_conjunct_that_holds_shows_nothing() {
    let problem = problem("a b c", &["0 <= a && 0 <= b && 0 <= c"], "0 <= a + c && b < 1");
    let model = model_of(&problem);
    assert_eq!(irrelevant(&problem, &model), [Var(0), Var(2)]);
}

#[test]
fn a_variable_that_may_have_any_value_is_left_out() {
    let problem = problem("a b", &["1 <= b"], "a < a - b + 1 || b < 0");
    assert_eq!(irrelevant(&problem, &model_of(&problem)), [Var(0)]);
}

#[test]
fn contexts_have_witnesses_or_are_dead() {
    let names: Vec<String> = ["M", "i"].map(String::from).to_vec();
    let live = [formula(&names, "0 <= M"), formula(&names, "0 <= i < M && M % 4 = 0")];
    let Satisfaction::Witness(model) = satisfiable(&live, &names) else { panic!("no witness") };
    assert!(live.iter().all(|part| part.eval(&model) == Some(true)));
    let dead = [formula(&names, "0 <= i < M"), formula(&names, "M <= 0")];
    let Satisfaction::Empty(certificate) = satisfiable(&dead, &names) else { panic!("not empty") };
    let problem = Problem { names, hypotheses: dead.to_vec(), goal: Formula::False, hints: Vec::new() };
    check(&problem, &certificate).unwrap();
    assert!(matches!(satisfiable(&[], &[]), Satisfaction::Witness(_)));
}

#[test]
fn canonical_text_ignores_names_only() {
    let one = problem("i M", &["0 <= i < M"], "i / 4 <= M");
    let two = problem("k N", &["0 <= k < N"], "k / 4 <= N");
    let other = problem("k N", &["0 <= k < N"], "k / 5 <= N");
    assert_eq!(one.canonical(), two.canonical());
    assert_ne!(one.canonical(), other.canonical());
    assert_eq!(one.canonical(), "variables 2\nassume (and (<= 0 v0) (< v0 v1))\nprove (<= (div v0 4) v1)\n");
    assert_eq!(proof_of(&one), proof_of(&two));
}

#[test]
fn smt_lib_text() {
    let problem = problem("i' M", &["0 <= i'"], "min(i', -3) % 4 < M");
    let text = problem.smt_lib();
    assert!(text.contains("(declare-const x0_i_ Int)\n(declare-const x1_M Int)\n"), "{text}");
    assert!(text.contains("(assert (<= 0 x0_i_))\n"), "{text}");
    assert!(text.ends_with("(assert (not (< (mod (smaller x0_i_ (* (- 1) 3)) 4) x1_M)))\n(check-sat)\n"), "{text}");
}

#[test]
fn certificates_survive_serialisation() {
    let problem = problem("x y", &["3*x + 5*y = 1", "0 <= x <= 100000000000000000000000"], "y <= 0");
    let certificate = proof_of(&problem);
    let text = serde_json::to_string(&certificate).unwrap();
    assert_eq!(serde_json::from_str::<crate::certificate::Certificate>(&text).unwrap(), certificate);
    let text = serde_json::to_string(&problem).unwrap();
    assert_eq!(serde_json::from_str::<Problem>(&text).unwrap(), problem);
}
