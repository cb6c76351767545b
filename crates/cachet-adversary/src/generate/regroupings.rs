//! Two sums, of which one may be regrouped, and schedules that regroup the one or the other.
//!
//! Whether a sum may be regrouped is settled by what it is drawn from: operations whose laws hold of the bits, and others,
//! that are associative over the reals only or state nothing. The two stand in two equations, in one word, or one inside
//! the other; the sum in question is regrouped as it is, in blocks, in blocks of blocks, in cells, by the built-in step and
//! by steps of a user's own.

use crate::random::Random;

/// A text with its schedules.
pub struct Drawn {
    /// The contraction, without schedules of it.
    contraction: String,
    /// The schedules by name, each with the definition of a step that it needs.
    schedules: Vec<(String, String)>,
    /// Schedules that regroup what may be.
    pub may: Vec<String>,
    /// Schedules that regroup what may not be.
    pub may_not: Vec<String>,
    /// Whose laws let what may be regrouped.
    pub of: String,
}

impl Drawn {
    /// The contraction with all schedules.
    pub fn text(&self) -> String {
        self.schedules.iter().fold(self.contraction.clone(), |text, (_, schedule)| text + schedule)
    }

    /// The contraction with one schedule.
    pub fn only(&self, name: &str) -> String {
        let own = self.schedules.iter().filter(|(n, _)| n == name);
        own.fold(self.contraction.clone(), |text, (_, schedule)| text + schedule)
    }
}

/// How a sum is written.
#[derive(Clone)]
struct Sum {
    /// `reduce Max f32`, `sum`, `sum[reassoc]`
    word: String,
    /// The element's type.
    elem: String,
    /// The operation that joins its terms.
    op: &'static str,
    /// What joins two terms in a step's text: `min a b`, and from what a block's sum starts.
    joined: Option<(&'static str, &'static str)>,
    /// The index.
    index: String,
    /// Which of its name it is, where both sums have one.
    nth: Option<u32>,
    /// The type parameter's implementation, if the sum is over one.
    of: Option<&'static str>,
}

/// What stands before the contraction: a sum whose laws nobody states, and steps of a user's own.
const HEAD: &str = r#"import "cachet:monoid"
import "cachet:steps"

impl Monoid for Unsaid f32 where
  const Value = f32
  fn empty () = -0.0
  fn combine a b = a + b

impl Monoid for Unsaid f64 where
  const Value = f64
  fn empty () = -0.0
  fn combine a b = a + b
"#;

/// Monoids whose laws hold of the bits.
const LAWFUL: [(&str, &str, &str); 10] = [
    ("Max", "f32", "max"),
    ("Max", "f64", "max"),
    ("Min", "f32", "min"),
    ("Min", "f64", "min"),
    ("Max", "i32", "max"),
    ("Min", "u64", "min"),
    ("Max", "i64", "max"),
    ("WrappingSum", "u32", ""),
    ("WrappingSum", "i64", ""),
    ("WrappingSum", "i32", ""),
];

/// Semirings whose addition has its laws of the bits.
const SEMIRINGS: [&str; 7] =
    ["MinPlus f32", "MaxPlus f64", "MaxMin i32", "MaxMin f32", "Wrapping i32", "Wrapping u64", "BoolOrAnd bool"];

/// Names that an index may have.
const INDICES: [&str; 6] = ["j", "k", "t", "col", "depth", "n2"];

/// Draws a text.
pub fn draw(random: &mut Random) -> Drawn {
    let first = random.below(INDICES.len());
    let shape = random.below(4);
    // In one word and beside one another both may have one name.
    let alike = shape == 1 && random.once_in(2);
    let other = (first + 1 + random.below(INDICES.len() - 1)) % INDICES.len();
    let second = if alike { first } else { other };
    let mut may_not = unlawful(random, INDICES[second]);
    let mut may = lawful(random, INDICES[first]);
    // In one word both have one type.
    while shape != 0 && may.elem != may_not.elem {
        may = lawful(random, INDICES[first]);
    }
    if alike {
        (may.nth, may_not.nth) = (Some(1), Some(2));
    }
    let (x, a) = (INDICES[first], INDICES[second]);
    let (m, f) = (&may, &may_not);
    let generic = if may.of.is_some() { " {S : Semiring}" } else { "" };
    let own = |s: &Sum, operand: &str| format!("{} {}. {operand}", s.word, s.index);
    let (equations, outer): (String, [bool; 2]) = match shape {
        0 => (
            format!(
                "  y[i] = {}\n  z[r] = {}\n",
                own(m, &term("x", "i", x, random)),
                own(f, &term("a", "r", a, random))
            ),
            [true, true],
        ),
        1 => (
            format!("  y[i] = ({}) - ({})\n", own(m, &format!("x[i, {x}]")), own(f, &format!("a[i, {a}]"))),
            [false, false],
        ),
        2 => (
            format!("  y[i] = {}\n", own(m, &format!("x[i, {x}] - ({})", own(f, &format!("a[{x}, {a}]"))))),
            [true, false],
        ),
        _ => (
            format!("  y[i] = {}\n", own(f, &format!("a[i, {a}] - ({})", own(m, &format!("x[{a}, {x}]"))))),
            [false, true],
        ),
    };
    let extents = match shape {
        0 => ["M, N", "L, K"],
        1 => ["M, N", "M, K"],
        2 => ["M, N", "N, K"],
        _ => ["K, N", "M, K"],
    };
    let outs = if shape == 0 {
        format!("out y: [{}; M], out z: [{}; L]", m.elem, f.elem)
    } else {
        format!("out y: [{}; M]", m.elem)
    };
    let contraction = format!(
        "{HEAD}\ncontraction two{generic}\n    (reads x: [{}; {}])\n    (reads a: [{}; {}])\n    -> {outs} =\n{equations}\n",
        m.elem, extents[0], f.elem, extents[1]
    );
    let rows = [("i", "y"), if shape == 0 { ("r", "z") } else { ("i", "y") }];
    let (mut names, mut schedules) = ([Vec::new(), Vec::new()], Vec::new());
    for (which, sum) in [m, f].into_iter().enumerate() {
        let ways = ways(sum, rows[which], outer[which], which == 1, random);
        for (n, steps) in ways.into_iter().enumerate() {
            let name = format!("{}{n}", ["may", "may_not"][which]);
            let bound = may.of.map_or_else(String::new, |of| format!(" @(S = {of})"));
            let schedule = format!("{}\nschedule {name} of two{bound} =\n{}\n", steps.definition, steps.lines);
            schedules.push((name.clone(), schedule));
            names[which].push(name);
        }
    }
    let of = may.of.map_or_else(|| may.word.trim_start_matches("reduce ").to_string(), String::from);
    let [may_names, may_not] = names;
    Drawn { contraction, schedules, may: may_names, may_not, of }
}

fn term(buffer: &str, row: &str, index: &str, random: &mut Random) -> String {
    let one = format!("{buffer}[{row}, {index}]");
    if random.once_in(2) { one } else { format!("(if {index} < 3 then {one} else {buffer}[{row}, 0])") }
}

fn lawful(random: &mut Random, index: &str) -> Sum {
    let index = index.to_string();
    if random.once_in(3) {
        let of = random.pick(&SEMIRINGS);
        return Sum {
            word: "sum".into(),
            elem: "S.Value".into(),
            op: "add",
            joined: None,
            index,
            nth: None,
            of: Some(of),
        };
    }
    let (of, elem, op) = random.pick(&LAWFUL);
    let joined = (!op.is_empty()).then_some((op, "$z"));
    Sum { word: format!("reduce {of} {elem}"), elem: elem.into(), op: "combine", joined, index, nth: None, of: None }
}

fn unlawful(random: &mut Random, index: &str) -> Sum {
    let elem = random.pick(&["f32", "f64"]);
    let permitted = if random.once_in(4) { "[reassoc]" } else { "" };
    let (word, op) = match random.below(3) {
        0 => (format!("sum{permitted}"), "add"),
        1 => (format!("reduce{permitted} Sum {elem}"), "combine"),
        _ => (format!("reduce{permitted} Unsaid {elem}"), "combine"),
    };
    Sum { word, elem: elem.into(), op, joined: None, index: index.into(), nth: None, of: None }
}

/// Steps of a schedule, and a step's definition that they need.
struct Way {
    definition: String,
    lines: String,
}

/// The ways to regroup a sum. `all` tries operations and steps that it is not made of as well.
fn ways(sum: &Sum, (row, out): (&str, &str), outer: bool, all: bool, random: &mut Random) -> Vec<Way> {
    let (n, m) = (random.between(2, 5), random.between(2, 3));
    let k = sum.nth.map_or_else(|| sum.index.clone(), |nth| format!("{}#{nth}", sum.index));
    let inner = if sum.nth.is_some() { k.clone() } else { format!("{k}.inner") };
    let mut found = Vec::new();
    let ops = if all { vec!["add", "combine"] } else { vec![sum.op] };
    for op in ops {
        let ragged = random.pick(&["", " ragged"]);
        let by = format!("by ({op}: order)");
        let mut ways = vec![
            format!("  reduce {k} {by}\n"),
            format!("  split {k} by {n} as g{ragged}\n  reduce {inner} {by}\n"),
            format!("  split {k} by {} as g, {n} as u ragged\n  reduce u {by}\n", n * m),
        ];
        if outer {
            ways.push(format!(
                "  zero {row} {out}\n  split {k} by {n} as g ragged\n  order (g, {row})\n  reduce {k} {by}\n"
            ));
        }
        found.extend(ways.into_iter().map(|lines| Way { definition: String::new(), lines }));
        if outer {
            found.extend(own_steps(sum, op, n, all));
        }
    }
    found
}

/// A user's own step for a sum that is all that is stored.
fn own_steps(sum: &Sum, op: &str, n: i64, all: bool) -> Vec<Way> {
    let joined = match (sum.joined, all) {
        (Some((join, start)), _) => vec![(format!("{join} whole"), start, "idempotent")],
        (None, true) => ["associative", "idempotent"]
            .into_iter()
            .flat_map(|by| [("whole +".to_string(), "-0.0", by), ("whole +".to_string(), "$z", by)])
            .collect(),
        (None, false) => vec![],
    };
    let way = |(at, (join, start, by)): (usize, (String, &str, &str))| {
        let name = format!("grouped_{op}_{}{at}", if all { "not" } else { "may" });
        let definition = format!(
            "step fn {name} k n g =
  from
    store $cell = fold k in $lo .. $hi from $z as $acc: $E do $step
  to
    store $cell =
      fold g in blocks ($lo .. $hi) n from $z as whole: $E do
        {join} (fold k in 0 .. g.len from {start} as $acc: $E do $step[$acc][k := g[k]])
  relate
    split S.k by n as g ragged
    regroup S.k ({op}: order) by {by}
"
        );
        Way { definition, lines: format!("  {name} {} {n} g\n", sum.index) }
    };
    joined.into_iter().enumerate().map(way).collect()
}
