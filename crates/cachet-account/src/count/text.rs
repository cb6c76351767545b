//! Counts as they are read: `ceil (K / 16) * ceil (N / 8)`, `4 * M * N`.

use super::{Atom, Count, Monomial, Sign};
use cachet_core::ir::Var;

/// What variables are called.
pub type Names<'a> = &'a dyn Fn(Var) -> String;

impl Count {
    /// As text, factors sorted by the names of the sizes in them.
    pub fn text(&self, names: Names<'_>) -> String {
        if self.lost {
            return "more than can be counted".into();
        }
        // Fractions are whole only together, so one line stands under all of them.
        let under = self.terms.values().try_fold(1i128, |u, r| lcm(u, r.under()));
        let Some(under) = under else { return "more than can be counted".into() };
        let mut terms: Vec<(bool, String)> = self
            .terms
            .iter()
            .map(|(m, r)| {
                (r.is_negative(), term(m, r.over().unsigned_abs() * (under / r.under()).unsigned_abs(), names))
            })
            .collect();
        // What is added stands before what is taken away; longer products before shorter ones.
        terms.sort_by_key(|(negative, text)| (*negative, std::cmp::Reverse(text.matches('*').count()), text.clone()));
        let mut out = String::new();
        for (n, (negative, text)) in terms.iter().enumerate() {
            let sign = match (n, negative) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            out.push_str(sign);
            out.push_str(text);
        }
        match (terms.len(), under) {
            (0, _) => "0".into(),
            (_, 1) => out,
            (1, _) => format!("{out} / {under}"),
            (_, _) => format!("({out}) / {under}"),
        }
    }

    /// As a factor or an operand of a function.
    fn operand(&self, names: Names<'_>) -> String {
        let text = self.text(names);
        let one = self.terms.len() == 1 && self.terms.keys().all(|m| m.len() == 1 && m.keys().all(Atom::has_brackets));
        let word = text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '\'');
        if word || (one && (text.starts_with('[') || text.starts_with('('))) { text } else { format!("({text})") }
    }

    /// Before ` / n`.
    fn dividend(&self, names: Names<'_>) -> String {
        let text = self.text(names);
        let one = self.terms.len() <= 1 && !text.contains('/');
        if one { text } else { format!("({text})") }
    }
}

impl Atom {
    /// Whether its text stands in brackets of its own.
    fn has_brackets(&self) -> bool {
        matches!(self, Atom::Holds(..) | Atom::Sum(_))
    }
}

fn term(m: &Monomial, factor: u128, names: Names<'_>) -> String {
    let mut atoms: Vec<(String, String, bool)> = Vec::new();
    for (a, n) in m {
        let text = atom(a, names);
        let key = first_name(a, names);
        let whole = match a {
            Atom::Var(_) | Atom::Len(_) | Atom::Ceil(..) | Atom::Holds(..) | Atom::Sum(_) => true,
            Atom::Floor(..) | Atom::Max(..) | Atom::Min(..) => false,
        };
        atoms.extend((0..*n).map(|_| (key.clone(), text.clone(), whole)));
    }
    atoms.sort();
    let mut parts: Vec<String> = Vec::new();
    if factor != 1 || atoms.is_empty() {
        parts.push(factor.to_string());
    }
    let alone = atoms.len() == 1 && factor == 1;
    parts.extend(atoms.into_iter().map(|(_, text, whole)| if whole || alone { text } else { format!("({text})") }));
    parts.join(" * ")
}

fn atom(a: &Atom, names: Names<'_>) -> String {
    match a {
        Atom::Var(v) => names(*v),
        Atom::Len(v) => format!("{}.len", names(*v)),
        Atom::Floor(c, n) => format!("{} / {n}", c.dividend(names)),
        Atom::Ceil(c, n) => format!("ceil ({} / {n})", c.dividend(names)),
        Atom::Max(a, b) => two("max", a, b, names),
        Atom::Min(a, b) => two("min", a, b, names),
        Atom::Holds(Sign::NotNegative, c) => format!("[{} >= 0]", c.text(names)),
        Atom::Holds(Sign::Zero, c) => format!("[{} == 0]", c.text(names)),
        Atom::Sum(s) => {
            let body = s.body.operand(names);
            format!("(sum {} in {} .. {} of {body})", names(s.var), s.lo.operand(names), s.hi.operand(names))
        }
    }
}

fn two(word: &str, a: &Count, b: &Count, names: Names<'_>) -> String {
    // A literal first: `max 0 (M - 3)`.
    let (a, b) = if b.literal().is_some() { (b, a) } else { (a, b) };
    format!("{word} {} {}", a.operand(names), b.operand(names))
}

/// The alphabetically first name in an atom.
fn first_name(a: &Atom, names: Names<'_>) -> String {
    let mut all: Vec<String> = Vec::new();
    let mut note = |a: &Atom| {
        if let Atom::Var(v) | Atom::Len(v) = a {
            all.push(names(*v));
        }
        false
    };
    note(a);
    for c in a.parts() {
        c.any(&mut note);
    }
    all.into_iter().min().unwrap_or_default()
}

fn lcm(a: i128, b: i128) -> Option<i128> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a.checked_mul(b / x)
}
