//! Which line belongs to which entry.

use super::{expr, good, item, sexp, stmts};
use crate::ast::{ClauseKind, Item, StmtKind};

fn outline(stmts: &[crate::ast::Stmt]) -> String {
    let one = |s: &crate::ast::Stmt| match &s.kind {
        StmtKind::For { var, body, .. } => format!("for {}({})", var.name.name, outline(&body.stmts)),
        StmtKind::Grid { indices, body, writes, .. } => {
            format!("grid {} {}({})", indices.len(), writes.len(), outline(&body.stmts))
        }
        StmtKind::If { then, els, .. } => {
            let els = els.as_ref().map_or(String::new(), |e| format!(" else({})", outline(&e.stmts)));
            format!("if({}){els}", outline(&then.stmts))
        }
        StmtKind::Let { name, value, .. } => format!("let {}={}", name.name, sexp(value)),
        StmtKind::Var { name, .. } => format!("var {}", name.name),
        StmtKind::Assign { value, .. } => format!("set {}", sexp(value)),
        StmtKind::Store { value, mask, .. } => {
            format!("store {}{}", sexp(value), if mask.is_some() { " masked" } else { "" })
        }
        StmtKind::Lease { name, .. } => format!("lease {}", name.name),
        StmtKind::Alloc { name, .. } => format!("alloc {}", name.name),
        StmtKind::Expr(e) => sexp(e),
        StmtKind::Hole { hole, .. } => hole.name.clone(),
    };
    stmts.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn is(body: &str, want: &str) {
    assert_eq!(outline(&stmts(body)), want, "{body}");
}

#[test]
fn header_further_right_than_its_body() {
    let text = "contraction mv\n    (reads a: [f32; M, K])\n    (reads x: [f32; K])\n    -> out y: [f32; M] =\n  y[i] = sum k. a[i, k] * x[k]\n";
    let Item::Contraction(c) = item(text) else { panic!() };
    assert_eq!((c.params.len(), c.equations.len()), (2, 1));
}

#[test]
fn header_at_the_items_column() {
    let text = "fn twice\n(reads a: [f32; N])\n(mut c: [f32; N])\n-> f32\nproduces Init c,\nrequires N > 0, Init a\nscratch p,\n  q\nworking_set\n  @L1 { keep p = descriptor p }\nmovement\n  traffic 3 * lines (span_bytes p.span)\n    from DRAM to L1 and back\n=\n  other a c\nfn next () = f\n";
    let file = good(text);
    let Item::Fn(f) = &file.items[0] else { panic!() };
    assert_eq!((f.params.len(), f.clauses.len(), file.items.len()), (2, 5, 2));
    assert!(matches!(&f.clauses[2].kind, ClauseKind::Scratch(names) if names.len() == 2));
    assert!(matches!(&f.clauses[4].kind, ClauseKind::Movement(rows) if rows[0].and_back && rows[0].name.is_none()));
}

#[test]
fn a_header_goes_on_nowhere_else() {
    let text =
        "interface Ring where\n  const Value\n  fn zero () -> Value\n  fn add a b\n  law add associative over reals\n";
    let Item::Interface(i) = item(text) else { panic!() };
    assert_eq!(i.members.len(), 4);
}

#[test]
fn two_loops_on_a_line() {
    is(
        "  for i in 0 .. M do for j in 0 .. N do\n    store c[i, j] = 0.0\n    store d[i, j] = 1.0\n  f c\n",
        "for i(for j(store 0.0; store 1.0)); (f c)",
    );
    is("  for i in 0 .. M do for j in 0 .. N do g c\n  h c\n", "for i(for j((g c))); (h c)");
}

#[test]
fn continuation_lines() {
    is(
        "  let x = a *\n    b\n  let y = max\n      a\n        (max\n     b\n   c)\n",
        "let x=(* a b); let y=(max a (max b c))",
    );
    is("  let x =\n    a +\n      b\n", "let x=(+ a b)");
    is("  f a\n    b\n    c\n", "(f a b c)");
    is(
        "  grid on Gpu i in 0 .. M / 16, j in 0 .. N\n      by tile (si, sj) parts [8, 8]\n      writes c[i, j] as ct,\n        d[i] do\n    store ct = t\n  f c\n",
        "grid 2 2(store t); (f c)",
    );
    is("  store c[i] =\n    fma x y\n      acc\n  f c\n", "store (fma x y acc); (f c)");
    is("  store c[i ..+ 8] = x mask n - 1\n", "store x masked");
}

#[test]
fn comments_and_blank_lines_count_nowhere() {
    is("  f a\n\n// left\n        // right\n  g a // end\n\n  h\n    // between\n    a\n", "(f a); (g a); (h a)");
    good("// only a comment");
    good("");
    good("\n\n  \n");
}

#[test]
fn if_and_else() {
    is("  if a then\n    f x\n  else\n    g x\n  h x\n", "if((f x)) else((g x)); (h x)");
    is("  if a then f x\n  else g x\n  h x\n", "if((f x)) else((g x)); (h x)");
    is("  if a then\n    f x\n  else if b then\n    g x\n  else\n    h x\n", "if((f x)) else(if((g x)) else((h x)))");
    is("  if a then f x\n  h x\n", "if((f x)); (h x)");
    is("  let y =\n    if a then\n      b\n    else\n      c\n", "let y=(if a b c)");
    is("  let y = if a then\n      b\n    else\n      c\n  f y\n", "let y=(if a b c); (f y)");
    is("  if a then\n    if b then f x\n    else g x\n  else h x\n", "if(if((f x)) else((g x))) else((h x))");
}

#[test]
fn blocks_inside_brackets() {
    is(
        "  let y = f (fold k in 0 .. K from x as acc do\n      g acc k) (h\n z)\n  f y\n",
        "let y=(f (fold k 0..K x acc (g acc k)) (h z)); (f y)",
    );
    is(
        "  store c[i] = norm (\n    fold k in 0 .. K from z as acc do\n      g acc\n    )\n  f c\n",
        "store (norm (fold k 0..K z acc (g acc))); (f c)",
    );
}

#[test]
fn blocks_of_statements_as_values() {
    is(
        "  let y = fold k in 0 .. K from z as acc do\n      let t = load a[k]\n      acc * t\n  f y\n",
        "let y=(fold k 0..K z acc (block 1 (* acc t))); (f y)",
    );
}

#[test]
fn crlf_bom_and_no_last_newline() {
    let file = good("\u{feff}fn f () =\r\n  g a\r\n\r\n  h a\r\nconst N: Nat = 3");
    assert_eq!(file.items.len(), 2);
}

#[test]
fn spans_exclude_trivia() {
    let e = expr("a  +  b // end");
    assert_eq!(e.span.hi - e.span.lo, 7);
    let text = "// head\nconst N: Nat = 3   // tail\n\nconst M = 4\n";
    let file = good(text);
    let of = |i: &Item| &text[i.span().lo as usize..i.span().hi as usize];
    assert_eq!(file.items.iter().map(of).collect::<Vec<_>>(), ["const N: Nat = 3", "const M = 4"]);
}
