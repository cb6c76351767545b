//! The update of a block by an outer product, which needs no declaration: it is a multiply-add on each cell, whatever the
//! element and the sides of the block. Where a processor's matrix unit has it in one instruction, that is its template.

use super::{Instr, InstrParam, Template};
use crate::ir::{Device, Elem, Ix, Local, LocalInfo, Op, Prim, Ty, Var, VarInfo, VarKind, Word};

/// What it is called in a schedule.
pub const OUTER_FMA: &str = "outer_fma_primitive";

/// The elements that it has.
pub const OUTER_ELEMENTS: [Elem; 2] = [Elem::F32, Elem::F64];

/// The longest side of a block.
pub const MAX_SIDE: i64 = 64;

/// Blocks that fill a matrix unit's accumulator, for vectors of 128 and of 512 bits, and the feature that has it.
const UNITS: [(Elem, i64, &str); 4] =
    [(Elem::F32, 4, "sme"), (Elem::F32, 16, "sme"), (Elem::F64, 2, "sme_f64f64"), (Elem::F64, 8, "sme_f64f64")];

/// The update of a block of `rows` and `columns`, row after row in one vector.
pub fn outer_fma(elem: Elem, rows: i64, columns: i64) -> Instr {
    let vector = |name: &str, lanes: i64| LocalInfo {
        name: name.into(),
        ty: Ty::Elem(elem),
        dims: vec![lanes],
        vector: true,
        mutable: false,
    };
    let lanes = rows * columns;
    let [column, row, acc] = [Local(0), Local(1), Local(2)];
    let lane = Var(0);
    let at = || Box::new(Ix::Var(lane));
    let cells = [(column, Ix::Div(at(), columns)), (row, Ix::Mod(at(), columns)), (acc, Ix::Var(lane))];
    let args = cells.into_iter().map(|(l, ix)| Word::Local(l, vec![ix])).collect();
    let template = |(_, _, target): &(Elem, i64, &str)| Template {
        target: (*target).into(),
        lines: vec!["{result} = fmopa {column}, {row}, {acc}".into()],
    };
    Instr {
        name: OUTER_FMA.into(),
        params: [column, row, acc].map(InstrParam::Vector).to_vec(),
        elem,
        lanes,
        lane,
        body: Word::Op { op: Op::Prim(Prim::Fma), arith: Device::HOST, args },
        vars: vec![VarInfo { name: "l".into(), kind: VarKind::Lane(lanes) }],
        locals: vec![vector("column", rows), vector("row", columns), vector("acc", lanes)],
        templates: UNITS.iter().filter(|(e, n, _)| (*e, *n, *n) == (elem, rows, columns)).map(template).collect(),
    }
}
