//! Which laws the library's implementations have, and on which basis.

#![allow(clippy::unwrap_used, reason = "tests")]

mod text;

use cachet::pipeline::Outcome;
use cachet_check::laws::Basis;
use text::load;

/// The laws of an implementation, as they are written, with the reason of each that is trusted.
fn laws(outcome: &Outcome, name: &str) -> Vec<(String, Option<String>)> {
    let program = outcome.checked.program();
    let at = program.impls.iter().position(|i| i.name == name).unwrap();
    let interface = &program.interfaces[program.impls[at].interface as usize];
    let known = outcome.checked.laws(cachet_core::ir::ImplId(at as u32));
    let basis = |b: &Basis| match b {
        Basis::Proved => None,
        Basis::Trusted(reason) => Some(reason.clone()),
    };
    known.iter().map(|k| (k.law.text(interface), basis(&k.basis))).collect()
}

#[test]
fn the_librarys_laws_are_proved() {
    let outcome = load("import \"cachet:monoid\"\n");
    assert!(!outcome.refused(), "{:?}", outcome.diagnostics);
    let program = outcome.checked.program();
    assert!(program.impls.len() >= 12);
    for imp in &program.impls {
        let known = laws(&outcome, &imp.name);
        assert_eq!(known.len(), imp.laws.len(), "{}", imp.name);
        assert!(known.iter().all(|(_, reason)| reason.is_none()), "{}: {known:?}", imp.name);
    }
    let wanted = [
        "add associative",
        "add commutative",
        "add identity",
        "mul associative",
        "mul commutative",
        "mul identity",
        "distributive",
        "mul_add",
    ];
    let have = laws(&outcome, "PlusTimes f32");
    for law in wanted {
        assert!(have.contains(&(format!("{law} over reals"), None)), "{law}: {have:?}");
    }
}

/// An implementation of one operation over a type, with one law.
fn one(ty: &str, unit: &str, body: &str, law: &str) -> Outcome {
    load(&format!(
        "interface Joined where
  const Value: Type
  fn none () -> Value
  fn join a b -> Value

impl Joined for Own {ty} where
  const Value = {ty}
  fn none () = {unit}
  fn join a b = {body}
  law {law}
"
    ))
}

#[test]
fn laws_that_hold() {
    for (ty, unit, body, law) in [
        ("f32", "1.0", "a * b", "join associative over reals"),
        ("f32", "1.0", "a * b", "join identity exactly"),
        ("f32", "0.0", "a + b + a * b", "join associative over reals"),
        ("f32", "0.0", "a + b + a * b", "join identity over reals"),
        ("f64", "-0.0", "a + b", "join identity exactly"),
        ("f64", "-0.0", "a + b", "join commutative exactly"),
        ("f32", "-0.0", "fma a 1.0 b", "join commutative exactly"),
        ("f32", "0.0", "max (a + 0.25) (b + 0.25) - 0.25", "join associative over reals"),
        ("f32", "0.0", "max a b", "join idempotent exactly"),
        ("f32", "Num.infinity ()", "-(max (-a) (-b))", "join identity exactly"),
        ("f64", "0.0", "abs (min (abs a) (abs b))", "join associative exactly"),
        ("i32", "0", "max a b", "join associative exactly"),
        ("u8", "255", "min b a", "join identity exactly"),
        ("u8", "255", "min b a", "join identity over reals"),
        ("bool", "true", "a == b", "join associative exactly"),
        ("bool", "true", "a == b", "join identity exactly"),
        ("bool", "false", "(a || b) && !(a && b)", "join associative over reals"),
    ] {
        let outcome = one(ty, unit, body, law);
        assert!(!outcome.refused(), "{body}, {law}: {:?}", outcome.diagnostics);
        assert_eq!(laws(&outcome, &format!("Own {ty}")), [(law.to_string(), None)]);
    }
}

#[test]
fn laws_that_do_not_hold() {
    for (ty, unit, body, law, found) in [
        ("f32", "0.0", "a + b", "join associative exactly", "a = 16777216.0"),
        ("f32", "0.0", "a + b", "join identity exactly", "a = -0.0"),
        ("f32", "0.0", "max a b", "join identity exactly", "a = -0.0"),
        ("f32", "0.0", "max a b", "join identity over reals", "a = -1"),
        ("f32", "0.0", "if a < b then b else a", "join commutative exactly", "nan"),
        ("f32", "0.0", "a - b", "join commutative over reals", "a = 1, b = 0"),
        ("f32", "1.0", "a * b * 1.5", "join identity over reals", "a = 1"),
        ("f32", "0.0", "max 0.0 (a + b)", "join associative over reals", "a = "),
        ("u8", "254", "min a b", "join identity exactly", "a = 255"),
        ("u8", "254", "min a b", "join identity over reals", "a = 255"),
        ("bool", "true", "a || b", "join identity exactly", "a = false"),
    ] {
        // A reason is no help to what is false.
        for law in [law.to_string(), format!("{law} = \"I say so\"")] {
            let outcome = one(ty, unit, body, &law);
            let [d] = outcome.diagnostics.as_slice() else { panic!("{body}, {law}: {:?}", outcome.diagnostics) };
            let values = d.counterexample.as_ref().map_or_else(Vec::new, |c| c.values.clone());
            let values = values.iter().map(|(n, v)| format!("{n} = {v}")).collect::<Vec<_>>().join(", ");
            assert!(d.message.contains("is false") && values.contains(found), "{body}, {law}: {} {values}", d.message);
            assert_eq!(laws(&outcome, &format!("Own {ty}")), []);
        }
    }
}

#[test]
fn what_is_not_decided_is_trusted_over_the_reals_only() {
    for law in ["join commutative over reals", "join associative over reals"] {
        let bare = one("f32", "0.0", "sqrt (a * a + b * b)", law);
        assert!(bare.diagnostics[0].message.starts_with("could not prove the law"));
        assert_eq!(laws(&bare, "Own f32"), []);
        let trusted = one("f32", "0.0", "sqrt (a * a + b * b)", &format!("{law} = \"Pythagoras\""));
        assert!(!trusted.refused());
        assert_eq!(laws(&trusted, "Own f32"), [(law.to_string(), Some("Pythagoras".to_string()))]);
    }
    let body = "abs (a - b)";
    let outcome = one("f32", "0.0", body, "join commutative exactly = \"a distance\"");
    let d = &outcome.diagnostics[0];
    assert!(d.message.starts_with("could not prove the law"), "{}", d.message);
    assert!(d.notes.iter().any(|n| n.contains("never taken on trust")), "{:?}", d.notes);
    assert_eq!(laws(&outcome, "Own f32"), []);
}
