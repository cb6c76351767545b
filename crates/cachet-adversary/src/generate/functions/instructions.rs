//! Uses of instructions: templates that every processor has, bodies that read all lanes, some of them or the same ones, and
//! operands of every form.

use super::vectors::Held;
use super::{Draw, Use, bx, cell};
use cachet_core::instr::{Instr, LaneWord, Operand};
use cachet_core::ir::{Block, Domain, Elem, InstrId, Ix, Lit, Stmt, StmtKind, Ty, VarKind, Word};
use std::sync::OnceLock;

/// Instructions with the same template for both kinds of processors, and one without.
const PARTS: &[(&str, &[&str])] = &[
    (
        "instr fn turned_f32 (a: Vec f32 4) -> Vec f32 4 =\n  var made: Vec f32 4 = a\n  for l in 0 .. 4 do\n    \
         made[l] = a[3 - l]\n  made\n",
        &["{result} = shufflevector <4 x float> {a}, <4 x float> {a}, <4 x i32> <i32 3, i32 2, i32 1, i32 0>"],
    ),
    (
        "instr fn pairs_f64 (a: Vec f64 8) (acc: Vec f64 4) -> Vec f64 4 =\n  var made: Vec f64 4 = acc\n  \
         for l in 0 .. 4 do\n    made[l] = fma (a[2 * l]) (a[2 * l + 1]) (acc[l])\n  made\n",
        &[
            "%even = shufflevector <8 x double> {a}, <8 x double> {a}, <4 x i32> <i32 0, i32 2, i32 4, i32 6>",
            "%odd = shufflevector <8 x double> {a}, <8 x double> {a}, <4 x i32> <i32 1, i32 3, i32 5, i32 7>",
            "{result} = call <4 x double> @llvm.fma.v4f64(<4 x double> %even, <4 x double> %odd, <4 x double> {acc})",
        ],
    ),
    (
        "instr fn high_bf16 (a: Vec bf16 8) -> Vec f32 4 =\n  var made: Vec f32 4 = splat 0.0\n  \
         for l in 0 .. 4 do\n    made[l] = a[2 * l + 1] as f32\n  made\n",
        &[
            "%bits = bitcast <8 x bfloat> {a} to <4 x i32>",
            "%high = and <4 x i32> %bits, <i32 -65536, i32 -65536, i32 -65536, i32 -65536>",
            "{result} = bitcast <4 x i32> %high to <4 x float>",
        ],
    ),
    (
        "instr fn first_of_four (a: Vec u8 16) (b: Vec i8 16) (acc: Vec i32 4) -> Vec i32 4 =\n  \
         var made: Vec i32 4 = acc\n  for l in 0 .. 4 do\n    \
         made[l] = wrapping_add (wrapping_mul (a[4 * l] as i32) (b[4 * l + 3] as i32)) (acc[l])\n  made\n",
        &[
            "%x = shufflevector <16 x i8> {a}, <16 x i8> {a}, <4 x i32> <i32 0, i32 4, i32 8, i32 12>",
            "%y = shufflevector <16 x i8> {b}, <16 x i8> {b}, <4 x i32> <i32 3, i32 7, i32 11, i32 15>",
            "%u = zext <4 x i8> %x to <4 x i32>",
            "%s = sext <4 x i8> %y to <4 x i32>",
            "%p = mul <4 x i32> %u, %s",
            "{result} = add <4 x i32> {acc}, %p",
        ],
    ),
    (
        "instr fn scaled_i16 (a: Vec i16 2) (b: Vec i16 8) -> Vec i16 8 =\n  var made: Vec i16 8 = b\n  \
         for l in 0 .. 8 do\n    made[l] = wrapping_add (wrapping_mul (a[0]) (b[l])) (a[1])\n  made\n",
        &[
            "%x = shufflevector <2 x i16> {a}, <2 x i16> {a}, <8 x i32> zeroinitializer",
            "%y = shufflevector <2 x i16> {a}, <2 x i16> {a}, <8 x i32> <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, \
             i32 1, i32 1>",
            "%p = mul <8 x i16> %x, {b}",
            "{result} = add <8 x i16> %p, %y",
        ],
    ),
    (
        "instr fn leading_i64 (a: Vec i64 5) (acc: Vec i64 5) (n: Nat) -> Vec i64 5 =\n  var made: Vec i64 5 = acc\n  \
         for l in 0 .. 5 do\n    made[l] = if l < n then wrapping_add (acc[l]) (a[l]) else acc[l]\n  made\n",
        &[],
    ),
];

/// The instructions as a text.
pub(super) fn text() -> String {
    let mut out = String::new();
    for (body, lines) in PARTS {
        out.push_str(body);
        for target in ["x86_64", "aarch64"].iter().filter(|_| !lines.is_empty()) {
            out.push_str(&format!("  by_target {target}\n"));
            lines.iter().for_each(|l| out.push_str(&format!("    \"{l}\"\n")));
        }
    }
    out
}

/// The same as a program has them.
pub(super) fn all() -> Vec<Instr> {
    static ALL: OnceLock<Vec<Instr>> = OnceLock::new();
    ALL.get_or_init(|| crate::memory::loaded(&text()).program.instrs).clone()
}

impl Draw<'_> {
    /// A vector that an instruction gives, named.
    pub(super) fn instruction(&mut self, out: &mut Block) {
        let at = self.instruction_wanted();
        let (instr, id) = (self.program.instrs[at].clone(), InstrId(at as u32));
        let mut operands = Vec::new();
        for p in &instr.params {
            operands.push(match instr.param_vector(*p) {
                Some((elem, count)) => Operand::Vector(self.operand(elem, count, out)),
                None => Operand::Index(Ix::Mod(bx(self.ix(1)), instr.lanes + 1)),
            });
        }
        let held = self.held("w", instr.elem, &[], instr.lanes, false);
        let lane = self.lane_var(instr.lanes);
        self.fun.vars[lane.index()].kind = VarKind::Instr(instr.lanes, id);
        let word = instr.word(&operands, &Ix::Var(lane));
        let stmt = |kind| Stmt { kind, span: Default::default() };
        let zero = Word::Lit(Lit { elem: instr.elem, bits: 0 });
        out.push(stmt(StmtKind::Var { local: held.local, init: zero }));
        let assign = stmt(StmtKind::Assign { local: held.local, at: vec![Ix::Var(lane)], word });
        let domain = Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(instr.lanes) };
        out.push(stmt(StmtKind::For { var: lane, domain, body: vec![assign] }));
        self.vectors.push(held);
    }

    /// Which: the one with an index in turn, else mostly one of which arrays have operands.
    fn instruction_wanted(&mut self) -> usize {
        let count = self.program.instrs.len();
        if self.random.once_in(4) {
            return count - 1;
        }
        let arrays: Vec<Ty> = self.buffers.iter().filter(|b| b.reads).map(|b| b.ty.clone()).collect();
        let has = |i: &usize| {
            let instr = &self.program.instrs[*i];
            let elems = instr.params.iter().filter_map(|p| instr.param_vector(*p));
            elems.into_iter().any(|(e, _)| arrays.contains(&Ty::Elem(e)))
        };
        let all: Vec<usize> = (0..count).filter(has).collect();
        match all.is_empty() || self.random.once_in(4) {
            true => self.below(count),
            false => self.pick(&all),
        }
    }

    /// Lanes of a vector, neighbours in an array, one word for all, or a vector that is made for it.
    fn operand(&mut self, elem: Elem, count: i64, out: &mut Block) -> LaneWord {
        let lane = self.lane_var(count);
        let text = self.what == Use::Text;
        match self.below(6) {
            0 | 1 => {
                let fits = |v: &&Held| v.elem == elem && v.lanes >= count;
                let all: Vec<Held> = self.vectors.iter().filter(fits).cloned().collect();
                if !all.is_empty() {
                    let v = self.pick(&all);
                    let from = self.random.between(0, v.lanes - count);
                    let ix = if from == 0 { Ix::Var(lane) } else { Ix::Add(bx(Ix::Lit(from)), bx(Ix::Var(lane))) };
                    let rows = self.inside(&v.rows);
                    return LaneWord::of(&Word::Local(v.local, rows.into_iter().chain([ix]).collect()), lane);
                }
            }
            2 | 3 => {
                for _ in 0..4 {
                    if let Some(load) = self.neighbours(elem, (lane, count)) {
                        return LaneWord::of(&load, lane);
                    }
                }
            }
            4 => {
                let word = self.leaf(&Ty::Elem(elem));
                if !text || !matches!(word, Word::If(..)) {
                    return LaneWord::of(&word, lane);
                }
            }
            _ => {}
        }
        let held = self.held("w", elem, &[], count, false);
        out.extend(self.vector_filled(held.local, elem, count));
        let word = Word::Local(held.local, vec![Ix::Var(lane)]);
        self.vectors.push(held);
        LaneWord::of(&word, lane)
    }

    /// Neighbours in an array, all of them there.
    fn neighbours(&mut self, elem: Elem, lane: (cachet_core::ir::Var, i64)) -> Option<Word> {
        let all: Vec<super::Cells> =
            self.buffers.iter().filter(|b| b.reads && b.only.is_none() && b.ty == Ty::Elem(elem)).cloned().collect();
        if all.is_empty() {
            return None;
        }
        let from = self.pick(&all);
        match self.cells_of(&from, &super::vectors::Lane::whole(lane.0, lane.1))? {
            (at, None, _) => Some(Word::Load(cell(from.buffer, at))),
            _ => None,
        }
    }
}
