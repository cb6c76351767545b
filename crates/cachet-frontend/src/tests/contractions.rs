use super::{again, good, only, print, reports};
use cachet_core::equations::{Combine, Expr, Target};
use cachet_core::instance::instantiate;
use cachet_core::ir::{Binding, Ix, Op, Prim};
use cachet_core::print::listing;

const MATMUL: &str = r#"
import "cachet:monoid"
contraction matmul {S : Semiring}
    (reads a: [S.Value; M, K])
    (reads b: [S.Value; K, N])
    -> out c: [S.Value; M, N] =
  c[i, j] = sum k. a[i, k] * b[k, j]
"#;

/// A contraction over f32 vectors and matrices with the equation given.
fn f32_of(equation: &str) -> String {
    format!(
        "import \"cachet:monoid\"\ncontraction f\n    (reads a: [f32; M, K])\n    (reads b: [f32; K, N])\n    \
         (reads u: [f32; M])\n    (reads v: [f32; K])\n    -> out c: [f32; M, N] =\n  {equation}\n"
    )
}

#[test]
fn a_generic_product_is_a_chain_of_mul_add() {
    assert_eq!(
        again(MATMUL, "matmul"),
        "fn matmul {S : Semiring}
    (reads a: [S.Value; M, K])
    (reads b: [S.Value; K, N])
    (mut c: [S.Value; M, N])
produces Init c
=
  for i in 0 .. M do
    for j in 0 .. N do
      store c[i, j] =
        fold k in 0 .. K from S.zero () as acc'0: S.Value do
          S.mul_add (load a[i, k]) (load b[k, j]) acc'0
"
    );
}

#[test]
fn floats_have_fma_from_minus_zero() {
    let text = again(&f32_of("c[i, j] = sum k. a[i, k] * b[k, j]"), "f");
    assert!(text.contains("fold k in 0 .. K from -0.0 as acc'0: f32 do"), "{text}");
    assert!(text.contains("fma (load a[i, k]) (load b[k, j]) acc'0"), "{text}");
}

#[test]
fn an_implementation_gives_the_operations_of_the_instance() {
    let module = good(MATMUL);
    let id = |name: &str| module.program.impls.iter().position(|i| i.name == name).unwrap() as u32;
    let at = |name: &str| {
        let fun =
            instantiate(&module.program, &module.program.funs[0], &[Binding::Impl(cachet_core::ir::ImplId(id(name)))]);
        listing(&module.program, &fun)
    };
    assert!(
        at("PlusTimes f32").contains("from -0.0 as acc'0: f32 do\n          fma (load a[i, k]) (load b[k, j]) acc'0")
    );
    let min = at("MinPlus f64");
    assert!(min.contains("from Num.infinity () as acc'0: f64 do"), "{min}");
    assert!(min.contains("min acc'0 (load a[i, k] + load b[k, j])"), "{min}");
    assert!(at("MaxPlus f32").contains("max acc'0 (load a[i, k] + load b[k, j])"));
}

#[test]
fn the_last_product_of_a_longer_one_joins_the_chain() {
    let text = again(&f32_of("c[i, j] = sum k. a[i, k] * v[k] * b[k, j]"), "f");
    assert!(text.contains("fma (load a[i, k] * load v[k]) (load b[k, j]) acc'0"), "{text}");
}

#[test]
fn what_is_not_a_product_is_added_to_the_chain() {
    let text = again(&f32_of("c[i, j] = sum k. a[i, k] * b[k, j] + v[k]"), "f");
    assert!(text.contains("acc'0 + (load a[i, k] * load b[k, j] + load v[k])"), "{text}");
}

#[test]
fn several_indices_are_one_chain() {
    let text = again(&f32_of("c[i, j] = sum k in 0 .. K, l in 0 .. 3. a[i, k] * b[k, j]"), "f");
    let one = "fold k in 0 .. K from -0.0 as acc'0: f32 do";
    let two = "fold l in 0 .. 3 from acc'0 as acc'0: f32 do";
    assert!(text.contains(one) && text.contains(two), "{text}");
}

#[test]
fn nested_sums_are_chains_of_their_own_numbered_from_outside() {
    let text = again(&f32_of("c[i, j] = (sum k. a[i, k] * (sum l. a[i, l])) + (sum m. b[m, j])"), "f");
    assert!(text.contains("as acc'0: f32 do"), "{text}");
    assert!(text.contains("fold l in 0 .. K from -0.0 as acc'1"), "{text}");
    assert!(text.contains("fold m in 0 .. K from -0.0 as acc'2"), "{text}");
}

#[test]
fn a_guarded_term_leaves_the_chain_alone() {
    let text = again(&f32_of("c[i, j] = sum k where k <= i. a[i, k] * b[k, j]"), "f");
    assert!(text.contains("if k <= i then fma (load a[i, k]) (load b[k, j]) acc'0 else acc'0"), "{text}");
}

#[test]
fn an_epilogue_stands_around_its_sum() {
    let text = again(&f32_of("c[i, j] = max (u[i] + (sum k. a[i, k] * b[k, j])) 0.0"), "f");
    assert!(text.contains("max"), "{text}");
    assert!(text.contains("(load u[i] +"), "{text}");
}

#[test]
fn a_window_takes_its_range_from_the_binder() {
    let text = "contraction conv (reads x: [f32; N + 2]) (reads w: [f32; 3]) (reads n: [f32; N]) -> out y: [f32; N] =
  y[i] = sum k in 0 .. 3. x[i + k] * w[k]
";
    let printed = again(text, "conv");
    assert!(printed.contains("fold k in 0 .. 3 from -0.0"), "{printed}");
    assert!(printed.contains("fma (load x[i + k]) (load w[k]) acc'0"), "{printed}");
}

#[test]
fn an_intermediate_is_inlined_at_every_use() {
    let text = "contraction f (reads a: [f32; M, K]) (reads v: [f32; K]) -> out y: [f32; M], out z: [f32; M] =
  s[i] = sum k. a[i, k] * v[k]
  y[i] = s[i] + s[i]
  z[m] = s[m]
";
    let module = good(text);
    let printed = print(&module, "f");
    assert_eq!(printed.matches("fold k in 0 .. K").count(), 3, "{printed}");
    assert!(printed.contains("fma (load a[m, k]) (load v[k]) acc'0"), "{printed}");
    let c = &module.contractions[0].0;
    assert_eq!(c.equations.len(), 3);
    assert_eq!(c.equations[0].target, Target::Intermediate("s".into()));
    assert!(matches!(&c.equations[2].value, Expr::Value(0, at) if at == &[Ix::Var(c.equations[2].indices[0])]));
}

#[test]
fn equations_keep_the_sum_as_it_is_written() {
    let module = good(&f32_of("c[i, j] = sum k. a[i, k] * b[k, j]"));
    let c = &module.contractions[0].0;
    let Expr::Sum(s) = &c.equations[0].value else { panic!() };
    assert_eq!(s.mul_add, Some((Combine::Op(Op::Prim(Prim::Fma)), Op::Prim(Prim::Mul))));
    assert_eq!(s.add, Combine::Op(Op::Prim(Prim::Add)));
    assert_eq!(s.binders.len(), 1);
    assert_eq!(c.sizes.iter().map(|v| c.vars[v.index()].name.as_str()).collect::<Vec<_>>(), ["M", "K", "N"]);
    assert_eq!(module.items.len(), 1);
}

#[test]
fn a_monoid_reduces() {
    let text = again(&f32_of("c[i, j] = reduce Max f32 k. a[i, k] + b[k, j]"), "f");
    assert!(text.contains("fold k in 0 .. K from -Num.infinity () as acc'0: f32 do"), "{text}");
    assert!(text.contains("max acc'0 (load a[i, k] + load b[k, j])"), "{text}");
}

#[test]
fn sizes_are_bound_wherever_they_stand_alone() {
    let text =
        "contraction f (reads a: [f32; 2 * N]) (reads b: [f32; N]) -> out c: [f32; N] =\n  c[i] = a[2 * i] * b[i]\n";
    let module = good(text);
    assert_eq!(module.program.funs[0].sizes.len(), 1);
    let bad = "contraction f (reads a: [f32; 2 * N]) -> out c: [f32; M] =\n  c[i] = a[i]\n";
    assert!(only(bad).0.contains("`N`"), "{:?}", only(bad));
}

#[test]
fn wrong_equations_are_refused() {
    let first = |e: &str| reports(&f32_of(e)).first().cloned().unwrap_or_default();
    for (equation, wanted) in [
        ("c[i, j] = sum k. a[i, k] * b[k, x]", "unknown-name"),
        ("c[i, i] = u[i]", "output"),
        ("c[i] = u[i]", "arity"),
        ("c[i, j] = c[i, j] + u[i]", "output"),
        ("c[i, j] = sum j. a[i, j] * b[j, j]", "summed-on-left"),
        ("c[i, j] = sum k. a[i, k + l] * b[k, j]", "unknown-name"),
        ("c[i, j] = sum k, l. a[i, k + l] * b[k, j]", "index-range"),
        ("c[i, j] = sum k. a[i, k, j]", "arity"),
        ("c[i, j] = sum k. a[k, k]", "size"),
        ("c[i, j] = sum k. a[i, k] * 2", "literal"),
        ("c[i, j] = sum k. a[i, k] * k", "type-mismatch"),
        ("c[i, j] = a[i, v[i]]", "word-as-index"),
        ("c[i, j] = reduce Mx f32 k. a[i, k]", "unknown-name"),
        ("u[i] = v[i]", "output"),
        ("d[i, j] = u[i]", "index-range"),
        ("d[i] = u[i]", "output"),
    ] {
        assert!(first(equation).starts_with(&format!("{wanted}:")), "{equation}: {:?}", reports(&f32_of(equation)));
    }
    let twice = "contraction f (reads u: [f32; M]) -> out c: [f32; M] =\n  c[i] = u[i]\n  c[j] = u[j]\n";
    assert!(only(twice).0.starts_with("output: `c` has two equations"), "{:?}", only(twice));
}

#[test]
fn a_size_is_somewhere_a_whole_extent() {
    let text = "contraction f (reads a: [f32; N + 2]) -> out c: [f32; 1] =\n  c[i] = a[0]\n";
    assert!(only(text).0.starts_with("size: the size `N` is nowhere the whole extent"), "{:?}", only(text));
}

#[test]
fn an_inlined_sum_keeps_its_number_and_gets_a_free_index() {
    let text =
        "contraction f (reads q: [f32; M, K]) (reads t: [f32; N, K]) (reads v: [f32; N, D]) -> out y: [f32; M, D] =
  s[i, j] = sum k. q[i, k] * t[j, k]
  y[i, d] = sum k. s[i, k] * v[k, d]
";
    let printed = again(text, "f");
    assert!(printed.contains("fold k in 0 .. N from -0.0 as acc'1: f32"), "{printed}");
    assert!(printed.contains("fold k_2 in 0 .. K from -0.0 as acc'0: f32"), "{printed}");
    assert!(printed.contains("fma (load q[i, k_2]) (load t[k, k_2]) acc'0"), "{printed}");
}

#[test]
fn constants_are_sizes_or_words_in_any_order() {
    let text = "contraction f (reads x: [f32; N]) -> out y: [f32; N] =
  y[i] = (sum k in 0 .. B. x[k]) * third + eps
const B = 2 * A
const A: Nat = 3 + 1
const third: f32 = one / 3.0
const one: f32 = 1.0
const eps: f32 = 1.000000059604644775390626
";
    let printed = again(text, "f");
    assert!(printed.contains("fold k in 0 .. 8"), "{printed}");
    assert!(printed.contains("* 0.33333334 + 1.0000001"), "{printed}");
    assert!(only("const a = b + 1\nconst b = a\n").0.starts_with("recursion: "));
    assert!(only("const a = 4611686018427387904\nconst b = a * 2\n").0.starts_with("limit: "));
    assert!(only("const a = 1099511627777\nfn f (mut x: [f32; a]) = ()\n").0.starts_with("limit: "));
    assert!(only("const a: f32 = sqrt (-2.0)\n").0.starts_with("not-built: "));
    assert!(only("const a = -3\n").0.starts_with("size: "));
}

#[test]
fn lets_of_equations_print_as_blocks_and_read_again() {
    let text = "contraction f (reads x: [f32; M, N]) -> out y: [f32; M] =
  s[i] =
    let t = sum k. x[i, k]
    t * t
  y[i] =
    let t = x[i, 0 + N - 1 - (N - 1)]
    t - s[i] * (let u = s[i] in u * t)
";
    let text = text.replace("out y: [f32; M] =", "out y: [f32; M]\nrequires N > 0\n=");
    let printed = again(&text, "f");
    // The names of an inlined intermediate are told apart from those around it.
    assert!(printed.contains("      let t = load x[i, "), "{printed}");
    assert!(printed.contains("      let t_2 =\n        fold k in 0 .. N from -0.0 as acc'0: f32 do"), "{printed}");
    assert!(printed.contains("      let u = t_2_2 * t_2_2\n      t - t_2 * t_2 * (u * t)"), "{printed}");
    // An index is only another way to write itself, and a sum's index may not have the name of a `let`.
    let text = "contraction f (reads x: [f32; N]) -> out y: [f32; N] =\n  y[i] =\n    let h = i / 2\n    x[h]\n";
    assert!(again(text, "f").contains("store y[i] = load x[i / 2]"));
    let text = "contraction f (reads x: [f32; N]) -> out y: [f32; N] =\n  y[i] = let k = x[i] in sum k. x[k]\n";
    assert!(only(text).0.starts_with("duplicate-name: "), "{:?}", only(text));
}
