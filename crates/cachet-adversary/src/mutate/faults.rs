//! Faults that a compiler like ours might have, planted on purpose in copies of what goes from one stage to the next.
//!
//! A fault in a text changes one place in each function where it applies; a fault in a program changes every place. Whoever
//! looks for faults of a stage has to find each of them.

use crate::parts::{Part, edit};
use cachet_core::ir::{Block, Domain, Fun, Guard, Ix, Layout, LayoutOp, Op, Prim, Rel, Shape, StmtKind, VarKind, Word};

/// A fault.
pub struct Fault {
    /// What is wrong with it.
    pub name: &'static str,
    /// Whose fault it would be.
    pub stage: Stage,
    /// How it comes about.
    pub change: Change,
}

/// Where a fault is planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The interpreter is given another program than code generation.
    Interpreter,
    /// Code generation is given another program than the interpreter.
    Lowering,
    /// LLVM is given another text.
    Text,
    /// What is printed is changed before it is read.
    Printer,
}

/// How it is planted.
#[derive(Clone, Copy)]
pub enum Change {
    /// In a function; whether it applied.
    Fun(fn(&mut Fun) -> bool),
    /// In the lines of one function of LLVM's text; `None` where it does not apply.
    Lines(fn(&[String]) -> Option<Vec<String>>),
    /// In a listing, likewise.
    Listing(fn(&str) -> Option<String>),
}

/// All of them.
pub const FAULTS: &[Fault] = &[
    text("a product and a sum become one rounding", contracted),
    text("sums may be regrouped", |l| each(l, "= fadd ", "= fadd reassoc nsz ")),
    text("products are fast", |l| each(l, "= fmul ", "= fmul fast ")),
    text("a loop runs once more", |l| {
        first(l, |l| {
            let ends = l.contains("icmp slt i64 %") && !l.ends_with(", 0");
            ends.then(|| l.replace("icmp slt", "icmp sle"))
        })
    }),
    text("a loop starts late", |l| first(l, |l| replaced(l, "phi i64 [ 0, ", "phi i64 [ 1, "))),
    text("a quotient is rounded towards zero", |l| {
        first(l, |l| l.contains("= sext i1 %").then(|| defined_as(l, l.rsplit(' ').next().unwrap_or("i64"), "0")))
    }),
    text("a comparison holds of NaN", |l| first(l, |l| replaced(l, "fcmp olt", "fcmp ult"))),
    text("a NaN equals itself", |l| first(l, |l| replaced(l, "fcmp oeq", "fcmp ueq"))),
    text("a byte loses its sign", |l| first(l, |l| replaced(l, "sext i8", "zext i8"))),
    text("a number without a sign gets one", |l| first(l, |l| replaced(l, "= uitofp ", "= sitofp "))),
    text("a load is one element off", |l| beside(l, "load ", 1)),
    text("a store is one element off", |l| beside(l, "store ", -1)),
    text("a store is lost", lost_store),
    text("a truth is stored as 255", |l| {
        first(l, |l| {
            let stored = l.contains("= zext i1 ") && l.ends_with(" to i8");
            stored.then(|| l.replace("zext", "sext"))
        })
    }),
    text("the last block is taken to be full", |l| {
        first(l, |l| {
            let (_, size) = l.split_once("@llvm.smin.i64(i64 %")?.1.split_once(", i64 ")?;
            let size: u32 = size.trim_end_matches(')').parse().ok()?;
            Some(defined_as(l, "i64", &size.to_string()))
        })
    }),
    text("what is left over by lanes is dropped", |l| {
        let whole = l.iter().find(|l| l.contains("= and i64 %") && l.rsplit(", -").next().is_some_and(is_lanes))?;
        let whole = whole.trim().split(' ').next()?;
        first(l, |l| {
            (l.contains("= sub nsw i64 ") && l.ends_with(&format!(", {whole}"))).then(|| defined_as(l, "i64", "0"))
        })
    }),
    text("a conversion does not saturate", |l| {
        first(l, |l| {
            let (head, call) = l.split_once("= call ")?;
            let (to, call) = call.split_once(' ')?;
            let (name, arg) = call.strip_prefix("@llvm.")?.split_once('(')?;
            let op = name.split('.').next().filter(|op| op.starts_with("fpto"))?;
            Some(format!("{head}= {op} {} to {to}", arg.trim_end_matches(')')))
        })
    }),
    text("a saturating conversion wraps", |l| {
        first(l, |l| {
            let saturates = ["smin.i64", "smin.i32", "smin.i16", "umin.i64", "umin.i32", "umin.i16"];
            let (ty, rest) = saturates.iter().find_map(|s| l.split_once(&format!("@llvm.{s}(")))?.1.split_once(' ')?;
            let (a, limit) = rest.split_once(", ")?;
            let limit: i64 = limit.trim_end_matches(')').rsplit(' ').next()?.parse().ok()?;
            (limit >= 127).then(|| format!("{}= or {ty} {a}, 0", l.split_once("= ").unwrap_or_default().0))
        })
    }),
    text("the larger of a NaN is the other", |l| careless(l, "maximum", "maxnum")),
    text("the smaller of a NaN is the other", |l| careless(l, "minimum", "minnum")),
    text("a sum starts from +0.0", |l| {
        let lines = l.iter().map(|l| {
            l.replace(", 0x8000000000000000", ", 0x0000000000000000")
                .replace("[ 0x8000000000000000", "[ 0x0000000000000000")
        });
        Some(lines.collect()).filter(|n: &Vec<String>| n != l)
    }),
    text("the bits of a NaN are as they come", |l| {
        first(l, |l| {
            let (head, rest) = l.split_once("= select i1 %")?;
            let mut words = rest.split(", ").skip(1);
            let (canonical, given) = (words.next()?, words.next()?);
            let nan = ["i64 9221120237041090560", "i32 2143289344"].contains(&canonical);
            let (ty, name) = given.split_once(' ')?;
            nan.then(|| format!("{head}= or {ty} {name}, 0"))
        })
    }),
    text("a half is rounded twice", |l| {
        first(l, |l| {
            let odd = l.contains("= zext i1 %") && l.ends_with(" to i32");
            odd.then(|| defined_as(l, "i32", "0"))
        })
    }),
    text("an allocation is one element short", |l| {
        first(l, |l| {
            let (head, bytes) = l.split_once("@cachet_allocate(i64 ")?;
            let bytes: u64 = bytes.trim_end_matches(')').parse().ok()?;
            (bytes >= 8).then(|| format!("{head}@cachet_allocate(i64 {})", bytes - 8))
        })
    }),
    text("a mask has a lane more", |l| each(l, "= icmp slt <", "= icmp sle <")),
    text("a later piece has the first one's mask", |l| {
        first(l, |l| {
            let (head, rest) = l.split_once("= icmp slt <")?;
            let (ty, rest) = rest.split_once("> <i32 ")?;
            let (own, all) = rest.split_once(">, ")?;
            let width = own.split(", i32 ").count();
            (!own.starts_with('0')).then(|| {
                let first: Vec<String> = (0..width).map(|n| format!("i32 {n}")).collect();
                format!("{head}= icmp slt <{ty}> <{}>, {all}", first.join(", "))
            })
        })
    }),
    text("a masked store has no mask", |l| {
        first(l, |l| {
            let args = l.split_once("call void @llvm.masked.store.")?.1.split_once(".p0(")?.1;
            let (value, rest) = args.split_once(", ptr ")?;
            let (to, rest) = rest.split_once(", i32 ")?;
            let (align, _) = rest.split_once(", ")?;
            Some(format!("  store {value}, ptr {to}, align {align}"))
        })
    }),
    text("a masked load has no mask", |l| {
        first(l, |l| {
            let (head, call) = l.split_once("= call ")?;
            let (ty, call) = call.split_once(" @llvm.masked.load.")?;
            let (from, rest) = call.split_once("(ptr ")?.1.split_once(", i32 ")?;
            let (align, _) = rest.split_once(", ")?;
            Some(format!("{head}= load {ty}, ptr {from}, align {align}"))
        })
    }),
    text("lanes are loaded one element off", |l| lanes_beside(l, "= load <", 1)),
    text("lanes are stored one element off", |l| lanes_beside(l, "  store <", -1)),
    text("a piece of a vector lies where the first one lies", |l| {
        let at = l.windows(2).position(|two| {
            let slot = two[0].contains("= getelementptr inbounds ") && two[0].contains(", ptr %s");
            slot && !two[0].ends_with(", i64 0") && two[1].contains("store <")
        })?;
        let (head, n) = l[at].rsplit_once(", i64 ")?;
        n.parse::<u64>().ok()?;
        let mut out = l.to_vec();
        out[at] = format!("{head}, i64 0");
        Some(out)
    }),
    text("a lane that is loaded by itself goes to another lane", |l| {
        first(l, |l| {
            let one = l.contains("= insertelement <") && !l.contains("poison") && l.ends_with(", i64 1");
            one.then(|| format!("{}, i64 0", l.trim_end_matches(", i64 1")))
        })
    }),
    text("so many rows run the code for one more", |l| {
        first(l, |l| {
            let rows = l.contains(" switch i64 ") && l.contains("[i64 1, label") && l.contains(" i64 2, label");
            rows.then(|| l.replacen("[i64 1, label", "[i64 0, label", 1).replacen(" i64 2, label", " i64 1, label", 1))
        })
    }),
    lowering("the last lane is left out", |f| {
        let lanes: Vec<bool> = f.vars.iter().map(|v| matches!(v.kind, VarKind::Lane(_) | VarKind::Instr(..))).collect();
        blocks(f, |kind| {
            let StmtKind::For { var, domain: Domain::Range { hi, .. }, .. } = kind else { return false };
            lanes[var.index()] && {
                *hi = Ix::Sub(Box::new(hi.clone()), Box::new(Ix::Lit(1)));
                true
            }
        })
    }),
    lowering("the place in a group is lost", |f| {
        let buffers = f.buffers.clone();
        words(f, |w| {
            let Word::Load(a) = w else { return false };
            let Layout::Named { ops, .. } = &buffers[a.buffer.index()].layout else { return false };
            let Some(LayoutOp::Split { axis, by, .. }) = ops.first() else { return false };
            let at = &mut a.at[*axis as usize];
            *at = Ix::Mul(*by, Box::new(Ix::Div(Box::new(at.clone()), *by)));
            *by > 1
        })
    }),
    lowering("the axes of an array are swapped", |f| {
        let mut applied = false;
        for b in &mut f.buffers {
            if let [Ix::Lit(a), Ix::Lit(c)] = b.extents[..] {
                b.extents.swap(0, 1);
                applied |= a != c;
            }
        }
        applied
    }),
    lowering("a grid leaves out its last iteration", |f| {
        blocks(f, |kind| {
            let StmtKind::Grid(g) = kind else { return false };
            let Some((_, Domain::Range { hi, .. })) = g.axes.first_mut() else { return false };
            *hi = Ix::Sub(Box::new(hi.clone()), Box::new(Ix::Lit(1)));
            true
        })
    }),
    lowering("operands are exchanged", |f| {
        words(f, |w| {
            let Word::Op { op: Op::Prim(Prim::Sub | Prim::Div | Prim::Lt), args, .. } = w else { return false };
            args.swap(0, 1);
            true
        })
    }),
    lowering("halves are joined in order", |f| {
        words(f, |w| {
            let Word::Reduce(r) = w else { return false };
            r.shape == Shape::Halving && {
                r.shape = Shape::Order;
                true
            }
        })
    }),
    lowering("blocks are one longer", |f| {
        domains(f, |d| {
            let Domain::Blocks { size, .. } = d else { return false };
            *size += 1;
            true
        })
    }),
    lowering("less is less or equal", |f| {
        guards(f, |g| {
            let Guard::Cmp(rel @ Rel::Lt, ..) = g else { return false };
            *rel = Rel::Le;
            true
        })
    }),
    interpreter("either is both", |f| {
        guards(f, |g| {
            let Guard::Or(a, b) = g else { return false };
            *g = Guard::And(a.clone(), b.clone());
            true
        })
    }),
    interpreter("a part is another", |f| {
        words(f, |w| {
            let Word::Part(of, n) = w else { return false };
            matches!(&**of, Word::Tuple(_)) && *n == 1 && {
                let Word::Tuple(parts) = &mut **of else { return false };
                // Only where both are of one type is it a program still.
                match parts.as_slice() {
                    [Word::Lit(a), Word::Lit(b)] if a.elem == b.elem => *n = 0,
                    [Word::Index(_, e), Word::Lit(b)] if *e == b.elem => *n = 0,
                    _ => return false,
                }
                true
            }
        })
    }),
    interpreter("a sum forgets what it starts from", |f| {
        words(f, |w| {
            let Word::Fold(x) = w else { return false };
            let Word::Lit(l) = &mut x.init else { return false };
            l.bits != 0 && {
                l.bits = 0;
                true
            }
        })
    }),
    interpreter("a remainder is a quotient", |f| {
        words(f, |w| {
            let Word::Op { op: Op::Prim(prim @ Prim::Rem), .. } = w else { return false };
            *prim = Prim::Div;
            true
        })
    }),
    printer("a bracket is dropped", |t| {
        listing(t, " - (", |rest| {
            let (inner, after) = closed(rest)?;
            (!inner.contains(['<', '=', '&', '|'])).then(|| format!(" - {inner}{after}"))
        })
    }),
    printer("`saturating_as` is `wrapping_as`", |t| Some(t.replace("saturating_as", "wrapping_as")).filter(|n| n != t)),
    printer("a float has a digit less", |t| {
        let word = t.split(|c: char| !(c.is_ascii_digit() || c == '.')).find(|w| w.len() >= 9 && w.contains('.'))?;
        Some(t.replacen(word, &word[..word.len() - 1], 1))
    }),
    printer("a negative literal is positive", |t| {
        let at = t
            .match_indices(" -")
            .map(|(at, _)| at)
            .find(|at| t.as_bytes().get(at + 2).is_some_and(u8::is_ascii_digit))?;
        Some(format!("{} {}", &t[..at], &t[at + 2..]))
    }),
    printer("a wrapping product is a wrapping sum", |t| {
        listing(t, "(wrapping_mul ", |rest| Some(format!("(wrapping_add {rest}")))
    }),
];

const fn text(name: &'static str, change: fn(&[String]) -> Option<Vec<String>>) -> Fault {
    Fault { name, stage: Stage::Text, change: Change::Lines(change) }
}

const fn lowering(name: &'static str, change: fn(&mut Fun) -> bool) -> Fault {
    Fault { name, stage: Stage::Lowering, change: Change::Fun(change) }
}

const fn interpreter(name: &'static str, change: fn(&mut Fun) -> bool) -> Fault {
    Fault { name, stage: Stage::Interpreter, change: Change::Fun(change) }
}

const fn printer(name: &'static str, change: fn(&str) -> Option<String>) -> Fault {
    Fault { name, stage: Stage::Printer, change: Change::Listing(change) }
}

/// LLVM's text with a fault in each function where it applies, and in how many that is.
pub fn in_text(ir: &str, change: fn(&[String]) -> Option<Vec<String>>) -> (String, u64) {
    let mut out = String::new();
    let mut applied = 0;
    for piece in ir.split_inclusive("\n}\n") {
        let lines: Vec<String> = piece.lines().map(String::from).collect();
        // Routines that come with every module, and entries that only pass on what they are given, are no functions of ours.
        let ours = piece.contains("define") && !piece.contains("__packed(") && !piece.contains("void @cachet_print");
        match change(&lines).filter(|_| ours) {
            Some(changed) => {
                applied += 1;
                out.push_str(&changed.join("\n"));
                out.push('\n');
            }
            None => out.push_str(piece),
        }
    }
    (out, applied)
}

fn replaced(line: &str, from: &str, to: &str) -> Option<String> {
    line.contains(from).then(|| line.replacen(from, to, 1))
}

/// The first line that can be changed.
fn first(lines: &[String], change: impl Fn(&str) -> Option<String>) -> Option<Vec<String>> {
    let (at, line) = lines.iter().enumerate().find_map(|(at, l)| Some((at, change(l)?)))?;
    let mut out = lines.to_vec();
    out[at] = line;
    Some(out)
}

/// Every line that can.
fn each(lines: &[String], from: &str, to: &str) -> Option<Vec<String>> {
    let out: Vec<String> = lines.iter().map(|l| l.replacen(from, to, 1)).collect();
    (out != lines).then_some(out)
}

/// The name that a line defines, as a constant.
fn defined_as(line: &str, ty: &str, constant: &str) -> String {
    format!("{}= add {ty} {constant}, 0", line.split_once("= ").unwrap_or_default().0)
}

fn is_lanes(text: &str) -> bool {
    matches!(text, "2" | "4" | "8")
}

/// `fadd (fmul a b) c` as one operation.
fn contracted(lines: &[String]) -> Option<Vec<String>> {
    let products = lines.iter().filter_map(|l| {
        let (name, rest) = l.trim().split_once(" = fmul ")?;
        let (ty, operands) = rest.split_once(' ')?;
        let (a, b) = operands.split_once(", ")?;
        matches!(ty, "float" | "double").then_some((name, ty, a, b))
    });
    for (name, ty, a, b) in products {
        let kind = if ty == "float" { "f32" } else { "f64" };
        let one = first(lines, |l| {
            let (head, operands) = l.split_once(&format!("= fadd {ty} "))?;
            let (x, y) = operands.split_once(", ")?;
            let c = if x == name {
                y
            } else if y == name {
                x
            } else {
                return None;
            };
            Some(format!("{head}= call {ty} @llvm.fma.{kind}({ty} {a}, {ty} {b}, {ty} {c})"))
        });
        if one.is_some() {
            return one;
        }
    }
    None
}

/// The first extreme by an operation that prefers numbers, and without asking whether there is a NaN.
fn careless(lines: &[String], careful: &str, other: &str) -> Option<Vec<String>> {
    let at = lines.iter().position(|l| l.contains(&format!("@llvm.{careful}.")))?;
    let mut out = first(lines, |l| replaced(l, &format!("@llvm.{careful}."), &format!("@llvm.{other}.")))?;
    let asked = at + 1 + out[at + 1..].iter().position(|l| l.contains("= fcmp uno "))?;
    let lanes = out[asked].split_once("= fcmp uno <").and_then(|(_, ty)| ty.split_once(" x "));
    out[asked] = match lanes {
        Some((n, _)) => {
            defined_as(&out[asked], &format!("<{n} x i1>"), "zeroinitializer").replace(", 0", ", zeroinitializer")
        }
        None => defined_as(&out[asked], "i1", "false"),
    };
    Some(out)
}

/// The first load or store of an array, so many elements on.
fn beside(lines: &[String], what: &str, by: i64) -> Option<Vec<String>> {
    let at = lines.iter().position(|l| {
        let address = l.rsplit("ptr ").next().unwrap_or_default();
        l.contains(what)
            && !l.contains("alloca")
            && lines
                .iter()
                .any(|d| d.trim().starts_with(&format!("{address} = getelementptr")) && d.contains("inbounds"))
    })?;
    let (head, address) = lines[at].rsplit_once("ptr ")?;
    let ty = head.trim().trim_end_matches(',').split(what).last()?.split(' ').next()?.to_string();
    let mut out = lines.to_vec();
    out[at] = format!("{head}ptr %beside");
    out.insert(at, format!("  %beside = getelementptr {ty}, ptr {address}, i64 {by}"));
    Some(out)
}

/// The first load or store of neighbours in an array, so many elements on.
fn lanes_beside(lines: &[String], what: &str, by: i64) -> Option<Vec<String>> {
    let at = lines.iter().position(|l| l.contains(what) && l.contains(", ptr %v") && l.contains(", align "))?;
    let (head, rest) = lines[at].split_once(", ptr ")?;
    let (address, align) = rest.split_once(", align ")?;
    let from = format!("  {address} = getelementptr");
    // Not a local's: those are named by where the slot is.
    lines.iter().find(|l| l.starts_with(&from) && !l.contains("ptr %s"))?;
    let ty = head.split_once(" x ")?.1.split_once('>')?.0;
    let mut out = lines.to_vec();
    out[at] = format!("{head}, ptr %beside, align {align}");
    out.insert(at, format!("  %beside = getelementptr {ty}, ptr {address}, i64 {by}"));
    Some(out)
}

/// The last store of an array, left out.
fn lost_store(lines: &[String]) -> Option<Vec<String>> {
    let stored = |l: &str| l.trim().starts_with("store ") && !l.contains("ptr %s");
    let at = lines.iter().rposition(|l| stored(l))?;
    let mut out = lines.to_vec();
    out.remove(at);
    Some(out)
}

fn blocks(f: &mut Fun, mut change: impl FnMut(&mut StmtKind) -> bool) -> bool {
    let mut applied = false;
    edit(f, &mut |part| {
        if let Part::Block(b) = part {
            let b: &mut Block = b;
            b.iter_mut().for_each(|s| applied |= change(&mut s.kind));
        }
    });
    applied
}

fn words(f: &mut Fun, mut change: impl FnMut(&mut Word) -> bool) -> bool {
    let mut applied = false;
    edit(f, &mut |part| {
        if let Part::Word(w) = part {
            applied |= change(w);
        }
    });
    applied
}

fn guards(f: &mut Fun, mut change: impl FnMut(&mut Guard) -> bool) -> bool {
    let mut applied = false;
    edit(f, &mut |part| {
        if let Part::Guard(g) = part {
            applied |= change(g);
        }
    });
    applied
}

fn domains(f: &mut Fun, mut change: impl FnMut(&mut Domain) -> bool) -> bool {
    let mut applied = false;
    edit(f, &mut |part| {
        if let Part::Domain(d) = part {
            applied |= change(d);
        }
    });
    applied
}

/// What follows a text for the first time, changed.
fn listing(text: &str, head: &str, change: impl Fn(&str) -> Option<String>) -> Option<String> {
    let places: Vec<usize> = text.match_indices(head).map(|(at, _)| at).collect();
    places.into_iter().find_map(|at| Some(format!("{}{}", &text[..at], change(&text[at + head.len()..])?)))
}

/// A text up to the bracket that closes it, and the rest after that.
fn closed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 {
            return Some((&text[..at], &text[at + 1..]));
        }
    }
    None
}
