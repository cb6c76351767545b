//! The repository's examples are read without a word; of its refusals, those that concern this room are reported here.

use super::{Memory, lines, load_files, print};

macro_rules! example {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../examples/", $name, ".cachet")))
    };
}

macro_rules! refusal {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../tests/refusals/", $name, ".cachet")))
    };
}

#[test]
fn the_examples_are_read() {
    for (name, text) in [example!("matmul"), example!("matvec"), example!("layer"), example!("products")] {
        let (module, diagnostics, _) = load_files(name, &Memory::default().with(name, text));
        assert_eq!(lines(&diagnostics), Vec::<String>::new(), "{name}");
        let module = module.unwrap();
        assert!(!module.items.is_empty() && !module.scripts.is_empty(), "{name}");
        for s in &module.scripts {
            assert!(!s.steps.is_empty(), "{name}: {}", s.name);
        }
    }
}

#[test]
fn what_needs_a_proof_is_read() {
    for (name, text) in [
        refusal!("backwards"),
        refusal!("carried_let"),
        refusal!("empty_sum"),
        refusal!("in_place_sum"),
        refusal!("lent_twice"),
        refusal!("no_match"),
        refusal!("not_everywhere"),
        refusal!("off_by_one"),
        refusal!("order_matters"),
        refusal!("out_of_bounds"),
        refusal!("read_before_write"),
        refusal!("second_store"),
    ] {
        let (module, diagnostics, _) = load_files(name, &Memory::default().with(name, text));
        assert_eq!(lines(&diagnostics), Vec::<String>::new(), "{name}");
        assert!(!module.unwrap().items.is_empty(), "{name}");
    }
}

#[test]
fn what_breaks_a_rule_is_refused() {
    for ((name, text), wanted) in [
        (refusal!("missing_import"), "import-missing: cannot import `no_such_file.cachet`: there is no such file"),
        (refusal!("summed_on_left"), "summed-on-left: `k` is summed, and is an index already"),
        (refusal!("unknown_name"), "unknown-name: there is no array `vectr` here"),
        (refusal!("wrong_type"), "type-mismatch: this is f64, and f32 is wanted here"),
    ] {
        let (_, diagnostics, _) = load_files(name, &Memory::default().with(name, text));
        assert_eq!(lines(&diagnostics), [wanted], "{name}");
    }
    let (_, second) = refusal!("circular/second");
    let (_, first) = refusal!("circular_import");
    let files = Memory::default().with("r/circular_import.cachet", first).with("r/circular/second.cachet", second);
    let (_, diagnostics, _) = load_files("r/circular_import.cachet", &files);
    assert_eq!(lines(&diagnostics), ["import-cycle: `r/circular_import.cachet` imports itself"]);
    let note = &diagnostics[0].notes[0];
    assert_eq!(note, "r/circular_import.cachet imports r/circular/second.cachet imports r/circular_import.cachet");
}

#[test]
fn a_nearby_name_is_suggested() {
    let (name, text) = refusal!("unknown_name");
    let (_, diagnostics, _) = load_files(name, &Memory::default().with(name, text));
    assert_eq!(diagnostics[0].helps, ["did you mean `vector`?"]);
}

#[test]
fn a_hand_written_sum_prints_as_it_is_written() {
    let (name, text) = refusal!("in_place_sum");
    let (module, _, _) = load_files(name, &Memory::default().with(name, text));
    let text = print(&module.unwrap(), "mix");
    assert!(text.contains("fold k in 0 .. N from load c[i, j] as acc: f32 do"), "{text}");
    assert!(text.contains("fma (load c[i, k]) (load b[k, j]) acc"), "{text}");
}
