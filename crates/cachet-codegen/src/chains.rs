//! How fast can a processor issue an instruction? A loop of independent chains of it, in registers.
//!
//! Each chain hands its total from one use to the next; the other operands are the same for all uses. Nothing is read or
//! written inside the loop, so the time of an iteration is what the units take, as long as there are enough chains to hide
//! the latency and few enough to stay in registers, which the caller decides.

use crate::Options;
use crate::instr::{float_type, lines, template};
use crate::module::attributes;
use crate::types::register;
use cachet_core::instr::{Instr, InstrParam, Template};
use cachet_core::ir::Elem;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The loop, as text: `void NAME__packed(ptr sizes, ptr buffers)`, one size, how many iterations, and two buffers, what is
/// read before it and what is written behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chains {
    /// LLVM IR.
    pub ir: String,
    /// `NAME`.
    pub name: String,
    /// The operands and the totals to begin with.
    pub input: Vec<u8>,
    /// Bytes of all totals.
    pub output: usize,
}

const NAME: &str = "cachet_chains";

/// Chains of an instruction; `None` where no template of it is made of operations on vectors there, or where its operands
/// do not say which of them is the total.
pub fn chains(instr: &Instr, options: &Options, count: usize) -> Option<Chains> {
    let template = template(instr, options).filter(|t| t.outer_product(instr).is_none())?;
    let total = total(instr)?;
    let mut text = Text { instr, template, total, input: vec![], loads: String::new(), names: BTreeMap::new() };
    text.operands()?;
    let ty = vector(instr.elem, instr.lanes);
    let (mut phis, mut steps, mut stores) = (String::new(), String::new(), String::new());
    for chain in 0..count {
        let start = text.load(&format!("start{chain}"), (instr.elem, instr.lanes), chain)?;
        let result = text.step(chain, &mut steps);
        let _ = writeln!(phis, "  %x{chain} = phi {ty} [ {start}, %entry ], [ {result}, %loop ]");
        let at = chain * bytes(instr.elem, instr.lanes);
        let _ = writeln!(stores, "  %to{chain} = getelementptr inbounds i8, ptr %out, i64 {at}");
        let _ = writeln!(stores, "  store {ty} {result}, ptr %to{chain}, align 1");
    }
    let ir = format!(
        "define void @{NAME}__packed(ptr %sizes, ptr %buffers) #0 {{
entry:
  %n = load i64, ptr %sizes
  %in = load ptr, ptr %buffers
  %slot = getelementptr inbounds ptr, ptr %buffers, i64 1
  %out = load ptr, ptr %slot
{}  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{phis}{steps}  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done, !llvm.loop !0
done:
{stores}  ret void
}}
{}!0 = distinct !{{!0, !1, !2}}
!1 = !{{!\"llvm.loop.unroll.disable\"}}
!2 = !{{!\"llvm.loop.vectorize.enable\", i1 false}}
",
        text.loads,
        attributes(options),
    );
    Some(Chains { ir, name: NAME.into(), input: text.input, output: count * bytes(instr.elem, instr.lanes) })
}

/// The one operand that is what the result is: so many lanes of such an element.
fn total(instr: &Instr) -> Option<InstrParam> {
    let is_total = |p: &&InstrParam| instr.param_vector(**p) == Some((instr.elem, instr.lanes));
    let mut all = instr.params.iter().filter(is_total);
    all.next().copied().filter(|_| all.next().is_none())
}

struct Text<'i> {
    instr: &'i Instr,
    template: &'i Template,
    total: InstrParam,
    input: Vec<u8>,
    loads: String,
    /// The operands but for the total.
    names: BTreeMap<&'i str, String>,
}

impl Text<'_> {
    fn operands(&mut self) -> Option<()> {
        let (instr, total) = (self.instr, self.total);
        for param in instr.params.iter().filter(|p| **p != total) {
            let name = instr.param_name(*param);
            let value = match instr.param_vector(*param) {
                Some(vector) => self.load(&format!("operand{}", self.names.len()), vector, 0)?,
                None => "0".into(),
            };
            self.names.insert(name, value);
        }
        Some(())
    }

    /// A vector of one half, or of one, and where others like it are needed a number more for each: chains that begin alike
    /// would be one chain.
    fn load(&mut self, name: &str, (elem, lanes): (Elem, i64), more: usize) -> Option<String> {
        let at = self.input.len();
        let word = one_of(elem, more)?;
        for _ in 0..lanes {
            self.input.extend(&word.to_le_bytes()[..elem.bytes() as usize]);
        }
        let ty = vector(elem, lanes);
        let _ = writeln!(self.loads, "  %from.{name} = getelementptr inbounds i8, ptr %in, i64 {at}");
        let _ = writeln!(self.loads, "  %{name} = load {ty}, ptr %from.{name}, align 1");
        Some(format!("%{name}"))
    }

    /// One use: the total of a chain to the next.
    fn step(&self, chain: usize, steps: &mut String) -> String {
        let mut names = self.names.clone();
        names.insert(self.instr.param_name(self.total), format!("%x{chain}"));
        let mut count = 0;
        lines(self.template, &names, |line| {
            let name = format!("%y{chain}.{count}");
            count += 1;
            let _ = writeln!(steps, "  {name} = {line}");
            name
        })
    }
}

/// Bits of a small number.
fn one_of(elem: Elem, more: usize) -> Option<u64> {
    let half = 0.5 + more as f64;
    match elem {
        Elem::F64 => Some(half.to_bits()),
        Elem::F32 => Some(u64::from((half as f32).to_bits())),
        Elem::BF16 => Some(u64::from((half as f32).to_bits() >> 16)),
        Elem::F16 => Some(u64::from(((half as f32).to_bits() >> 13) - ((127 - 15) << 10))),
        Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => {
            Some(1 + more as u64)
        }
        Elem::Bool => None,
    }
}

/// As templates have it.
fn vector(elem: Elem, lanes: i64) -> String {
    format!("<{lanes} x {}>", float_type(elem).unwrap_or(register(elem)))
}

fn bytes(elem: Elem, lanes: i64) -> usize {
    elem.bytes() as usize * lanes as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use cachet_core::ir::{Lit, Local, LocalInfo, Ty, Var, VarInfo, VarKind, Word};

    /// Two bytes and a total of two lanes of these elements.
    fn instr(bytes: (Elem, i64), target: &str) -> Instr {
        let local = |name: &str, (elem, lanes): (Elem, i64)| LocalInfo {
            name: name.into(),
            ty: Ty::Elem(elem),
            dims: vec![lanes],
            vector: true,
            mutable: false,
        };
        let lines = ["%wide = sext <2 x i8> {a} to <2 x i32>", "{result} = add <2 x i32> {acc}, %wide"];
        Instr {
            name: "widened".into(),
            params: vec![InstrParam::Vector(Local(0)), InstrParam::Vector(Local(1))],
            elem: Elem::I32,
            lanes: 2,
            lane: Var(0),
            body: Word::Lit(Lit { elem: Elem::I32, bits: 0 }),
            vars: vec![VarInfo { name: "l".into(), kind: VarKind::Index }],
            locals: vec![local("a", bytes), local("acc", (Elem::I32, 2))],
            templates: vec![Template { target: target.into(), lines: lines.map(String::from).to_vec() }],
        }
    }

    fn options() -> Options {
        Options { cpu: String::new(), features: "+sse2".into(), vector_bits: 128 }
    }

    #[test]
    fn each_chain_has_names_and_a_first_total_of_its_own() {
        let made = chains(&instr((Elem::I8, 2), "x86_64"), &options(), 3).unwrap();
        for chain in 0..3 {
            let wide = format!("%y{chain}.0 = sext <2 x i8> %operand0 to <2 x i32>");
            let sum = format!("%y{chain}.1 = add <2 x i32> %x{chain}, %y{chain}.0");
            let phi = format!("%x{chain} = phi <2 x i32> [ %start{chain}, %entry ], [ %y{chain}.1, %loop ]");
            for line in [wide, sum, phi] {
                assert!(made.ir.contains(&line), "{line} in {}", made.ir);
            }
        }
        assert_eq!(made.input, [1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(made.output, 3 * 8);
    }

    #[test]
    fn none_without_a_template_or_with_two_totals() {
        assert_eq!(chains(&instr((Elem::I8, 2), "avx512vnni"), &options(), 3), None);
        assert_eq!(chains(&instr((Elem::I32, 2), "x86_64"), &options(), 3), None);
    }

    #[test]
    fn small_numbers_in_every_type() {
        let words = |elem| [0, 1, 3].map(|n| one_of(elem, n));
        assert_eq!(words(Elem::F32), [0.5f32, 1.5, 3.5].map(|x| Some(u64::from(x.to_bits()))));
        assert_eq!(words(Elem::F64), [0.5f64, 1.5, 3.5].map(|x| Some(x.to_bits())));
        assert_eq!(words(Elem::BF16), [0x3f00, 0x3fc0, 0x4060].map(Some));
        assert_eq!(words(Elem::F16), [0x3800, 0x3e00, 0x4300].map(Some));
        assert_eq!(words(Elem::U8), [Some(1), Some(2), Some(4)]);
        assert_eq!(words(Elem::Bool), [None; 3]);
    }
}
