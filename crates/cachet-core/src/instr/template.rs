//! What may a template say?
//!
//! The text of a processor is LLVM's: lines `name = operation`, the last of which makes `{result}`, of operations that
//! compute and touch no memory, so that a template can give other bits than it should and nothing else. That of a matrix
//! unit is one line, which code generation brings about. Of other targets the text is not read.

use super::{Instr, Template};
use crate::ir::Elem;

/// Targets whose text is their own.
const OTHERS: &[&str] = &["metal", "cuda", "ptx"];

/// The targets whose templates are an outer product by a matrix unit.
const MATRIX_UNITS: &[&str] = &["sme", "sme_f64f64"];

/// What a line may do.
const OPERATIONS: &[&str] = &[
    "add",
    "and",
    "ashr",
    "bitcast",
    "call",
    "extractelement",
    "fadd",
    "fdiv",
    "fmul",
    "fneg",
    "fsub",
    "insertelement",
    "lshr",
    "mul",
    "or",
    "select",
    "sext",
    "shl",
    "shufflevector",
    "sub",
    "trunc",
    "xor",
    "zext",
];

/// Words of LLVM that have to do with addresses, and what is no operation.
const FORBIDDEN: &[&str] = &[
    "addrspace",
    "addrspacecast",
    "asm",
    "blockaddress",
    "getelementptr",
    "inttoptr",
    "metadata",
    "null",
    "ptr",
    "ptrtoint",
];

/// A piece of a template's line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece<'t> {
    /// As it is.
    Text(&'t str),
    /// `%name`: a value that the template names.
    Value(&'t str),
    /// `{name}`
    Placeholder(&'t str),
    /// A brace that is not closed, or closes nothing.
    Brace,
}

/// The pieces of a line, in order.
pub fn pieces(line: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find(['{', '}', '%']) {
        out.push(Piece::Text(&rest[..at]));
        rest = &rest[at..];
        let len = match rest.as_bytes().first() {
            Some(b'%') => 1 + rest[1..].find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len() - 1),
            Some(b'{') => rest.find('}').map_or(0, |end| end + 1),
            _ => 0,
        };
        match (len, rest.starts_with('%')) {
            (0, _) => {
                out.push(Piece::Brace);
                return out;
            }
            (_, true) => out.push(Piece::Value(&rest[..len])),
            (_, false) => out.push(Piece::Placeholder(&rest[1..len - 1])),
        }
        rest = &rest[len..];
    }
    out.push(Piece::Text(rest));
    out
}

impl Template {
    /// Whether its text is another target's, and not read here.
    pub fn is_foreign(&self) -> bool {
        OTHERS.contains(&self.target.as_str())
    }

    /// What is wrong with it, and in which line.
    pub fn fault(&self, instr: &Instr) -> Option<(usize, String)> {
        let mut named: Vec<&str> = Vec::new();
        let mut used: Vec<&str> = Vec::new();
        for (n, line) in self.lines.iter().enumerate() {
            for piece in pieces(line) {
                match piece {
                    Piece::Placeholder(name) => used.push(name),
                    Piece::Brace => return Some((n, "a brace that is not closed in this template".into())),
                    Piece::Text(_) | Piece::Value(_) => {}
                }
            }
        }
        let params = || instr.params.iter().map(|p| instr.param_name(*p));
        if let Some(unused) = params().chain(["result"]).find(|w| !used.contains(w)) {
            return Some((0, format!("the template for `{}` does not use `{{{unused}}}`", self.target)));
        }
        if self.is_foreign() {
            return None;
        }
        if MATRIX_UNITS.contains(&self.target.as_str()) {
            let text = format!("the template for `{}` is no outer product that the unit has", self.target);
            return self.outer_product(instr).is_none().then_some((0, text));
        }
        for (n, line) in self.lines.iter().enumerate() {
            if let Some(text) = line_fault(line, n + 1 == self.lines.len(), &mut named) {
                return Some((n, text));
            }
        }
        None
    }

    /// `{result} = fmopa {column}, {row}, {acc}`: the side of the block, and the positions of the three parameters.
    pub fn outer_product(&self, instr: &Instr) -> Option<(i64, [usize; 3])> {
        let [line] = self.lines.as_slice() else { return None };
        let operands = line.strip_prefix("{result} = fmopa ")?;
        let mut parts = Vec::new();
        for name in operands.split(", ") {
            let name = name.strip_prefix('{')?.strip_suffix('}')?;
            parts.push(instr.params.iter().position(|p| instr.param_name(*p) == name)?);
        }
        let parts: [usize; 3] = parts.try_into().ok()?;
        let of = |n: usize| instr.params.get(n).and_then(|p| instr.param_vector(*p));
        let (elem, side) = of(parts[0])?;
        let square = of(parts[1]) == Some((elem, side)) && of(parts[2]) == Some((elem, side * side));
        let unit = match elem {
            Elem::F32 => "sme",
            Elem::F64 => "sme_f64f64",
            _ => return None,
        };
        let result = (instr.elem, instr.lanes) == (elem, side * side) && instr.params.len() == 3;
        (square && result && self.target == unit).then_some((side, parts))
    }
}

/// What is wrong with a line of LLVM's text; what it names is known from then on.
fn line_fault<'t>(line: &'t str, last: bool, named: &mut Vec<&'t str>) -> Option<String> {
    let Some((name, made)) = line.split_once(" = ") else {
        return Some("this line does not say `name = operation`".into());
    };
    let own = name.strip_prefix('%').is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_alphanumeric()));
    match (name, last) {
        ("{result}", true) => {}
        (_, true) => return Some("the last line makes `{result}`".into()),
        (_, false) if own => {}
        (_, false) => return Some(format!("`{name}` is no name for a value of a template: it is `%` with letters")),
    }
    let operation = made.split_whitespace().next().unwrap_or_default();
    if !OPERATIONS.contains(&operation) {
        return Some(format!("`{operation}` is no operation of a template"));
    }
    for piece in pieces(made) {
        match piece {
            Piece::Value(v) if !named.contains(&v) => {
                return Some(format!("`{v}` is no value that the template names"));
            }
            Piece::Placeholder("result") => return Some("a template does not use its result".into()),
            Piece::Text(text) => {
                if let Some(c) = text.chars().find(|c| matches!(c, '!' | '#' | ';' | '"' | '\n' | '\r')) {
                    return Some(format!("`{}` has no place in a template", c.escape_default()));
                }
                let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.');
                if let Some(word) = words.find(|w| FORBIDDEN.contains(w)) {
                    return Some(format!("a template touches no memory, and `{word}` has to do with addresses"));
                }
            }
            Piece::Value(_) | Piece::Placeholder(_) | Piece::Brace => {}
        }
    }
    let calls: Vec<&str> = made.split('@').skip(1).collect();
    let fault = match (operation, calls.as_slice()) {
        ("call", [one]) if one.starts_with("llvm.") && !one.starts_with("llvm.masked.") => None,
        ("call", _) => Some("a template calls an operation of LLVM's own, `@llvm.`".into()),
        (_, []) => None,
        _ => Some("a template names nothing of the program, `@`".into()),
    };
    named.push(name);
    fault
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(lines: &[&str]) -> Option<String> {
        let mut named = Vec::new();
        let last = lines.len() - 1;
        lines.iter().enumerate().find_map(|(n, l)| line_fault(l, n == last, &mut named))
    }

    #[test]
    fn templates_compute_and_nothing_else() {
        let good: [&[&str]; 2] = [
            &["{result} = fadd <4 x float> {a}, {b}"],
            &["%x = fmul <4 x float> {a}, {b}", "{result} = call <4 x float> @llvm.sqrt.v4f32(<4 x float> %x)"],
        ];
        for lines in good {
            assert_eq!(fault(lines), None, "{lines:?}");
        }
        let bad: [(&[&str], &str); 12] = [
            (&["{result} = load <4 x float>, ptr {a}"], "`load` is no operation"),
            (&["{result} = call <4 x float> @llvm.x86.load(ptr {a})"], "`ptr` has to do with addresses"),
            (&["{result} = call <4 x float> @llvm.g(i64 ptrtoint (i8 1))"], "`ptrtoint` has to do"),
            (&["{result} = call <4 x float> asm \"x\", \"\"()"], "has no place"),
            (&["{result} = call <4 x float> @printf()"], "LLVM's own"),
            (&["{result} = call <4 x float> @llvm.masked.load()"], "LLVM's own"),
            (&["{result} = call i64 @llvm.f(i64 @g)"], "LLVM's own"),
            (&["{result} = fadd <4 x float> {a}, %v7"], "`%v7` is no value"),
            (&["%x = fadd <4 x float> {a}, {a}"], "the last line makes"),
            (&["%x.y = fadd <4 x float> {a}, {a}", "{result} = fneg <4 x float> %x"], "is no name for a value"),
            (&["{result} = fadd <4 x float> {a}, {a}\n ret void"], "has no place"),
            (&["{result} = fadd <4 x float> {a}, {a} ; !dbg"], "has no place"),
        ];
        for (lines, want) in bad {
            let said = fault(lines);
            assert!(said.as_ref().is_some_and(|s| s.contains(want)), "{lines:?}: {said:?}");
        }
    }

    #[test]
    fn pieces_are_told_apart() {
        let line = "add i32 %x, {a}";
        assert_eq!(
            pieces(line),
            [Piece::Text("add i32 "), Piece::Value("%x"), Piece::Text(", "), Piece::Placeholder("a"), Piece::Text(""),]
        );
        assert_eq!(pieces("a {b").last(), Some(&Piece::Brace));
        assert_eq!(pieces("a } b").last(), Some(&Piece::Brace));
    }
}
