//! Deep nesting, and long rows of one thing.

use super::{Hostile, MAIN};

pub(super) fn all() -> Vec<Hostile> {
    let refused = |name: &str, text: String| Hostile::text(name, text).refused();
    let many = 1_000_000;
    let mut out = vec![
        refused("a million open parentheses", format!("const A = {}", "(".repeat(many))),
        refused("a million open brackets", format!("const A = a{}", "[".repeat(many))),
        refused("a million open braces", format!("const A = a{}", "{".repeat(many))),
        refused("a million closing parentheses", format!("const A = {}", ")".repeat(many))),
        refused(
            "a million parentheses in all",
            format!("const A = {}1{}\n", "(".repeat(many / 2), ")".repeat(many / 2)),
        ),
        refused("a million signs", format!("const A = {}1\n", "-".repeat(many))),
        refused("a million nots", format!("proof p =\n  assert {}(1 == 1)\n", "!".repeat(many))),
        refused("a long sum", format!("const A = 1{}\n", " + 1".repeat(many / 2))),
        refused("a long chain of choices", format!("const A = {}1\n", "if 1 == 1 then 1 else ".repeat(100_000))),
        refused("a long chain of comparisons", format!("const A = 1{}\n", " == 1".repeat(100_000))),
        refused("a long row of fields", format!("const A = a{}\n", ".b".repeat(many))),
        refused("a long row of subscripts", format!("const A = a{}\n", "[0]".repeat(many))),
        refused(
            "a long row of dimensions",
            format!("fn f (reads x: [f32; {}N]) =\n  print 1\n", "N, ".repeat(100_000)),
        ),
        refused(
            "types in types",
            format!("fn f (x: {}f32{}) -> f32 = 1.0\n", "[".repeat(100_000), "; 1]".repeat(100_000)),
        ),
        refused(
            "a hundred thousand nested loops",
            format!("fn f () =\n  {}print 1\n", "for i in 0 .. 1 do ".repeat(100_000)),
        ),
        refused("two thousand nested lines", nested_lines(2_000)),
        refused(
            "indented by a million",
            format!("fn f () =\n{}print 1\n{}print 1\n", " ".repeat(many), " ".repeat(many / 2)),
        ),
        refused(
            "nested patterns",
            format!("step fn s () =\n  from\n    {}\n  to\n    print 1\n", "for i in $A do ".repeat(50_000)),
        ),
        refused(
            "nested cases of recipes",
            format!("step fn s () =\n  from\n    $b\n  to\n    $b\n  relate\n    {}", "case x { ".repeat(50_000)),
        ),
        refused("a file beyond the limit", format!("// {}\n", "x".repeat(4 << 20))),
        Hostile::text("a comment up to the limit", format!("// {}\n{MAIN}", "x".repeat((4 << 20) - 200))).fine(),
        Hostile::text("a million empty lines", format!("{}{MAIN}", "\n".repeat(many))).fine(),
        Hostile::text("blanks at the ends of lines", format!("{}{MAIN}", "   \n".repeat(300_000))).fine(),
        Hostile::text("a hundred nested loops", loops(100)),
        Hostile::text("as many nested loops as may be", loops(126)),
        Hostile::text("as many nested folds as may be", folds(60)),
        Hostile::text(
            "ten thousand statements",
            format!(
                "fn main () =\n  alloc x: [f32; 4]\n{}  print (load x[1])\n",
                "  store x[1] = 1.5\n".repeat(10_000)
            ),
        ),
        Hostile::text("five thousand functions", functions(5_000)),
        Hostile::text("two hundred parameters", parameters(200)),
        Hostile::text("as many parameters as may be", parameters(511)).fine(),
        refused("ten thousand parameters", parameters(10_000)),
        Hostile::text(
            "an allocation of a hundred thousand dimensions",
            format!("fn main () =\n  alloc x: [f32; {}1]\n  print 1\n", "1, ".repeat(100_000)),
        ),
        Hostile::text("ten thousand constants, each of the one before", chain_of_constants(10_000)),
        Hostile::text("five thousand functions, each of the one before", chain_of_calls(5_000)),
        Hostile::text(
            "a thousand requirements",
            format!(
                "fn f (reads x: [f32; N]) -> out y: [f32; 1]\nrequires {}N >= 1\n=\n  store y[0] = load x[0]\n\n{MAIN}",
                "N >= 1, ".repeat(1_000)
            ),
        ),
        Hostile::text("thirty requirements about as many sizes", tangled(30)),
        Hostile::text("four hundred branches", branches(400)),
        Hostile::text("choices in an index", choices_in_an_index(60)),
        Hostile::text("quotients of quotients", quotients(40)),
        Hostile::text("a thousand equations", equations(1_000)),
        Hostile::text("ten thousand imports", format!("{}{MAIN}", "import \"cachet:steps\"\n".repeat(10_000))),
        Hostile::text("ten thousand asserts", format!("proof p =\n{}\n{MAIN}", "  assert N + 1 >= N\n".repeat(10_000))),
        Hostile::text("two thousand reports", format!("fn f () =\n{}", "  print unknown\n".repeat(2_000))).refused(),
        Hostile::text("a hundred thousand reports", format!("fn f () =\n{}", "  print unknown\n".repeat(100_000)))
            .refused(),
        Hostile::text("a hundred thousand broken entries", "fn 1\n".repeat(100_000)).refused(),
    ];
    let stray = "  let = 3 )) ] fold (\n    more (\n".repeat(20_000);
    out.push(refused("lines that do not parse", format!("fn f () =\n{stray}")));
    out
}

fn nested_lines(n: usize) -> String {
    let lines = (0..n).map(|i| format!("{}for i in 0 .. 1 do\n", " ".repeat(i + 2)));
    format!("fn f () =\n{}{}print 1\n", lines.collect::<String>(), " ".repeat(n + 2))
}

fn loops(n: usize) -> String {
    let lines = (0..n).map(|i| format!("{}for i{i} in 0 .. N do\n", " ".repeat(i + 2)));
    let sum: Vec<String> = (0..n).map(|i| format!("i{i}")).collect();
    format!(
        "fn f (reads x: [f32; N]) -> out y: [f32; N] =\n  for i in 0 .. N do store y[i] = 0.0\n{}{}store y[(({}) % N)] = 1.0\n\n{MAIN}",
        lines.collect::<String>(),
        " ".repeat(n + 2),
        sum.join(" + ")
    )
}

fn folds(n: usize) -> String {
    let opened: String = (0..n).map(|i| format!("fold k{i} in 0 .. N from 0.0 as a{i}: f32 do a{i} + (")).collect();
    format!("fn f (reads x: [f32; N]) -> out y: [f32; 1] =\n  store y[0] = {opened}1.0{}\n\n{MAIN}", ")".repeat(n))
}

fn functions(n: usize) -> String {
    let f = |i| {
        format!("fn f{i} (reads x: [f32; N]) -> out y: [f32; N] =\n  for i in 0 .. N do store y[i] = load x[i]\n\n")
    };
    (0..n).map(f).collect::<String>() + MAIN
}

fn parameters(n: usize) -> String {
    let p = |i| format!("    (reads x{i}: [f32; N{i}])\n");
    format!("fn f\n{}    -> out y: [f32; 1] =\n  store y[0] = 1.0\n\n{MAIN}", (0..n).map(p).collect::<String>())
}

fn chain_of_constants(n: usize) -> String {
    let c = |i: usize| format!("const A{i} = A{} + 1\n", i + 1);
    format!("{}const A{n} = 1\n\n{MAIN}", (0..n).map(c).collect::<String>())
}

fn chain_of_calls(n: usize) -> String {
    let c = |i: usize| format!("fn f{i} (x: f32) -> f32 = f{} x\n\n", i + 1);
    format!("{}fn f{n} (x: f32) -> f32 = x\n\n{MAIN}", (0..n).map(c).collect::<String>())
}

fn tangled(n: usize) -> String {
    let p = |i| format!("    (reads x{i}: [f32; N{i}])\n");
    let r = |i: usize| {
        format!("3 * N{i} + 2 * N{} <= 5 * N{} + 7 * N{} + {i}", (i + 1) % n, (i * 7 + 3) % n, (i * 5 + 2) % n)
    };
    let rs: Vec<String> = (0..n).map(r).collect();
    format!(
        "fn f\n{}    -> out y: [f32; N0] \nrequires {}\n=\n  for i in 0 .. N0 do store y[i] = load x1[i]\n\n{MAIN}",
        (0..n).map(p).collect::<String>(),
        rs.join(", ")
    )
}

fn branches(n: usize) -> String {
    let b = |i| format!("    if (i + {i}) % 7 == 3 then store y[i] = {i} as f32\n");
    format!(
        "fn f (reads x: [f32; N]) (mut y: [f32; N]) =\n  for i in 0 .. N do\n{}\n{MAIN}",
        (0..n).map(b).collect::<String>()
    )
}

fn choices_in_an_index(n: usize) -> String {
    let mut at = "i".to_string();
    for k in 0..n {
        at = format!(
            "min ({at}) (if i % {} == 0 then i else ({at_short}) % N)",
            k + 2,
            at_short = if k % 2 == 0 { "i + 1" } else { "i + 2" }
        );
    }
    format!("fn f (reads x: [f32; N]) -> out y: [f32; N] =\n  for i in 0 .. N do store y[i] = load x[{at}]\n\n{MAIN}")
}

fn quotients(n: usize) -> String {
    let mut at = "i".to_string();
    for k in 0..n {
        at = format!("({at} * 3 + {k}) / {}", k % 5 + 3);
    }
    format!("fn f (reads x: [f32; N]) -> out y: [f32; N] =\n  for i in 0 .. N do store y[i] = load x[{at}]\n\n{MAIN}")
}

fn equations(n: usize) -> String {
    let e = |i: usize| format!("  t{}[i] = t{i}[i] + 1.0\n", i + 1);
    format!(
        "contraction f\n    (reads x: [f32; N])\n    -> out y: [f32; N] =\n  t0[i] = x[i]\n{}  y[i] = t{n}[i]\n\n{MAIN}",
        (0..n).map(e).collect::<String>()
    )
}
