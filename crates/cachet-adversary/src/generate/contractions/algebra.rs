//! What a drawn contraction's elements are, and what may be done with them.

use super::Join;
use crate::random::Random;

/// Kinds of elements with their operations, as text. In it `@` is an operand, or a vector's element around a sum, and `#` an
/// index.
#[derive(Debug)]
pub struct Algebra {
    /// What it is counted as.
    pub name: &'static str,
    /// The type of the operands' elements.
    pub elem: &'static str,
    /// The type of an output's elements.
    pub result: &'static str,
    /// The heads of its sums.
    pub sums: &'static [&'static str],
    /// What joins operands.
    pub products: &'static [Join],
    /// What joins sums.
    pub between: Join,
    /// What may be done to an operand.
    pub dressings: &'static [&'static str],
    /// What may stand around a sum.
    pub epilogues: &'static [[&'static str; 2]],
    /// What stands around every term.
    pub around: [&'static str; 2],
    /// What stands before a term whose place is told after it.
    pub place: Option<&'static str>,
    /// Whether a sum's value is a record.
    pub record: bool,
    /// What a type parameter may be bound to; empty for elements of one type.
    pub instances: &'static [&'static str],
    /// The operations whose blocks may be joined in another grouping, exactly: by a sum's head, or by an implementation.
    pub exact: &'static [(&'static str, &'static str)],
}

/// Records, monoids and semirings that the library does not have, each after those that it uses.
const ITEMS: &str = r#"record Best where
  value: f32
  place: u32

record Sums where
  plain: f64
  squared: f64

record Entry where
  score: i32
  place: u32

record Dual where
  value: f64
  slope: f64

impl Monoid for Highest f32 where
  const Value = Best
  fn empty () = Best { value = -Num.infinity (), place = 4294967295 }
  fn combine a b = if a.value < b.value then b else a

impl Monoid for Both f64 where
  const Value = Sums
  fn empty () = Sums { plain = -0.0, squared = -0.0 }
  fn combine a b = Sums { plain = a.plain + b.plain, squared = a.squared + b.squared }

impl Monoid for Any bool where
  const Value = bool
  fn empty () = false
  fn combine a b = a || b
  law associative exactly
  law commutative exactly
  law identity exactly

impl Monoid for Odd bool where
  const Value = bool
  fn empty () = false
  fn combine a b = (a && !b) || (!a && b)

impl Monoid for Longest f32 where
  const Value = f32
  fn empty () = -0.0
  fn combine a b = max a (abs b)

impl Monoid for Product f64 where
  const Value = f64
  fn empty () = 1.0
  fn combine a b = a * b

impl Monoid for Leader i32 where
  const Value = Entry
  fn empty () = Entry { score = Num.lowest (), place = Num.highest () }
  fn combine a b =
    if a.score < b.score then b
    else if b.score < a.score then a
    else if b.place < a.place then b
    else a
  law associative exactly
  law commutative exactly
  law identity exactly

// The last that is not 0: grouping does not matter, and order does.
impl Monoid for Last i32 where
  const Value = i32
  fn empty () = 0
  fn combine a b = if b == 0 then a else b
  law associative exactly
  law identity exactly

impl Semiring for Likeliest f32 where
  const Value = f32
  fn zero () = 0.0
  fn one () = 1.0
  fn add a b = max a b
  fn mul a b = a * b
  fn mul_add a b c = max c (a * b)

impl Semiring for Derived f64 where
  const Value = Dual
  fn zero () = Dual { value = -0.0, slope = -0.0 }
  fn one () = Dual { value = 1.0, slope = 0.0 }
  fn add a b = Dual { value = a.value + b.value, slope = a.slope + b.slope }
  fn mul a b = Dual { value = a.value * b.value, slope = fma a.slope b.value (a.value * b.slope) }
  fn mul_add a b c =
    let slope = fma a.slope b.value (fma a.value b.slope c.slope)
    Dual { value = fma a.value b.value c.value, slope }

fn sums_of (x: f64) -> Sums = Sums { plain = x, squared = x * x }
"#;

/// What has to stand before a text: the import of the library's algebra, and those of our items that it needs.
pub fn prelude(text: &str) -> String {
    let mut needed = String::new();
    for item in ITEMS.split("\n\n").collect::<Vec<_>>().into_iter().rev() {
        let words: Vec<&str> = item.lines().filter(|l| !l.starts_with("//")).flat_map(str::split_whitespace).collect();
        let name = match words.as_slice() {
            ["impl", _, "for", name, ..] | [_, name, ..] => *name,
            _ => continue,
        };
        if [text, &needed].iter().any(|t| t.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == name)) {
            needed = format!("{item}\n\n{needed}");
        }
    }
    format!("import \"cachet:monoid\"\n\n{needed}")
}

const MUL: Join = Join::Between(" * ");

/// One of them: over any semiring twice as often as each other.
pub fn draw(random: &mut Random) -> &'static Algebra {
    let at = random.below(ALL.len() + 3);
    ALL.get(at).unwrap_or(&GENERIC)
}

const FLOAT_EPILOGUES: &[[&str; 2]] = &[
    ["(max ", " 0.0)"],
    ["(@ * ", ")"],
    ["(@ + ", ")"],
    ["(let total = ", " in total * total)"],
    ["(let total = ", " in if total < @ then total else total * 0.5)"],
    ["(-", ")"],
    ["(sqrt (abs ", "))"],
];

const FLOAT_JOINS: &[Join] = &[MUL, MUL, MUL, MUL, Join::Between(" - "), Join::Between(" + "), Join::Before("max")];

static GENERIC: Algebra = Algebra {
    name: "any semiring",
    elem: "S.Value",
    result: "S.Value",
    sums: &["sum"],
    products: &[MUL, MUL, MUL, Join::Between(" + ")],
    between: Join::Between(" + "),
    dressings: &["(@ + S.one ())", "(let x = @ in x * x)", "(S.zero () + @)"],
    epilogues: &[["(@ * ", ")"], ["(@ + ", ")"], ["(S.one () * ", ")"], ["(let total = ", " in total + total)"]],
    around: ["", ""],
    place: None,
    record: false,
    instances: &[
        "PlusTimes f32",
        "PlusTimes f64",
        "MinPlus f32",
        "MaxMin f32",
        "MaxMin i32",
        "BoolOrAnd bool",
        "Wrapping i32",
        "Wrapping u32",
        "Likeliest f32",
        "Derived f64",
    ],
    exact: &[
        ("MinPlus f32", "add"),
        ("MaxMin f32", "add"),
        ("MaxMin i32", "add"),
        ("BoolOrAnd bool", "add"),
        ("Wrapping i32", "add"),
        ("Wrapping u32", "add"),
    ],
};

static ALL: [Algebra; 7] = [
    Algebra {
        name: "f32",
        elem: "f32",
        result: "f32",
        sums: &["sum", "sum", "sum", "reduce Max f32", "reduce Min f32", "reduce Sum f32", "reduce Longest f32"],
        products: FLOAT_JOINS,
        between: Join::Between(" - "),
        dressings: &[
            "(@ + 0.5)",
            "(abs @)",
            "(# as f32 * @)",
            "(let x = @ in x * x)",
            "(if # % 2 == 0 then @ else 0.25)",
            "(-@)",
        ],
        epilogues: FLOAT_EPILOGUES,
        around: ["", ""],
        place: None,
        record: false,
        instances: &[],
        exact: &[("reduce Max f32", "combine"), ("reduce Min f32", "combine")],
    },
    Algebra {
        name: "f64",
        elem: "f64",
        result: "f64",
        sums: &["sum", "sum", "sum", "reduce Max f64", "reduce Min f64", "reduce Product f64"],
        products: FLOAT_JOINS,
        between: Join::Between(" + "),
        dressings: &["(@ - 1.0)", "(abs @)", "(# as f64 - @)", "(let x = @ in x / 3.0)", "(min @ 1.5)"],
        epilogues: FLOAT_EPILOGUES,
        around: ["", ""],
        place: None,
        record: false,
        instances: &[],
        exact: &[("reduce Max f64", "combine"), ("reduce Min f64", "combine")],
    },
    Algebra {
        name: "i32",
        elem: "i32",
        result: "i32",
        sums: &[
            "reduce WrappingSum i32",
            "reduce WrappingSum i32",
            "reduce Max i32",
            "reduce Min i32",
            "reduce Last i32",
        ],
        products: &[
            Join::Before("wrapping_mul"),
            Join::Before("wrapping_mul"),
            Join::Before("wrapping_sub"),
            Join::Before("max"),
        ],
        between: Join::Before("wrapping_add"),
        dressings: &[
            "(wrapping_add @ 3)",
            "(max @ 2)",
            "(let x = @ in wrapping_mul x x)",
            "(if # % 3 == 1 then @ else 0)",
        ],
        epilogues: &[
            ["(max ", " 0)"],
            ["(wrapping_mul @ ", ")"],
            ["(wrapping_sub @ ", ")"],
            ["(let total = ", " in wrapping_mul total 3)"],
        ],
        around: ["", ""],
        place: None,
        record: false,
        instances: &[],
        exact: &[
            ("reduce WrappingSum i32", "combine"),
            ("reduce Max i32", "combine"),
            ("reduce Min i32", "combine"),
            ("reduce Last i32", "combine"),
        ],
    },
    Algebra {
        name: "bool",
        elem: "bool",
        result: "bool",
        sums: &["reduce Any bool", "reduce Odd bool"],
        products: &[Join::Between(" && "), Join::Between(" && "), Join::Between(" || ")],
        between: Join::Between(" && "),
        dressings: &["(!@)", "(let x = @ in !x)"],
        epilogues: &[["(!", ")"], ["(@ && ", ")"], ["(@ || ", ")"]],
        around: ["", ""],
        place: None,
        record: false,
        instances: &[],
        exact: &[("reduce Any bool", "combine")],
    },
    Algebra {
        name: "records of a maximum",
        elem: "f32",
        result: "Best",
        sums: &["reduce Highest f32"],
        products: &[MUL],
        between: MUL,
        dressings: &["(abs @)", "(@ + 0.5)"],
        epilogues: &[],
        around: ["", ""],
        place: Some("Best { value = "),
        record: true,
        instances: &[],
        exact: &[],
    },
    Algebra {
        name: "records of two sums",
        elem: "f64",
        result: "Sums",
        sums: &["reduce Both f64"],
        products: &[MUL],
        between: MUL,
        dressings: &["(@ - 1.0)"],
        epilogues: &[],
        around: ["sums_of (", ")"],
        place: None,
        record: true,
        instances: &[],
        exact: &[],
    },
    Algebra {
        name: "records read",
        elem: "Entry",
        result: "Entry",
        sums: &["reduce Leader i32"],
        products: &[MUL],
        between: MUL,
        dressings: &["(let x = @ in Entry { score = max x.score 2, place = x.place })"],
        epilogues: &[],
        around: ["", ""],
        place: None,
        record: true,
        instances: &[],
        exact: &[("reduce Leader i32", "combine")],
    },
];
