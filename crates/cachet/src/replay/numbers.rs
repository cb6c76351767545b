//! Do two programs whose words differ also give other bits? The interpreter runs both on ordinary and hostile contents.

use cachet_core::interpret::{Array, Options, prepare, scalar};
use cachet_core::ir::{Buffer, Fun, FunId, Program, Role, Ty};
use cachet_core::sized::value;
use cachet_oracle::hostile::{KINDS, fill, poison};

/// Contents tried of each kind: where two programs differ for one word in forty only, some of them show it.
const SEEDS: u64 = 256;
/// The most cells that the programs of one comparison are given, all contents together.
const MOST_CELLS: usize = 1 << 20;

/// Whether some contents give other bits at these sizes; `None` where that cannot be tried: elements that are not known,
/// records, extents that are no plain sizes.
pub fn differ(program: &Program, before: &Fun, after: &Fun, sizes: &[i64]) -> Option<bool> {
    if !before.type_params.is_empty() {
        return None;
    }
    let mut program = program.clone();
    let id = FunId(program.funs.len() as u32);
    program.funs.extend([before.clone(), after.clone()]);
    let one = prepare(&program, id, &[]).ok()?;
    let other = prepare(&program, FunId(id.0 + 1), &[]).ok()?;
    let mut cells = 0;
    for seed in 0..SEEDS * KINDS.len() as u64 {
        let args = arguments(before, sizes, seed)?;
        cells += args.iter().map(|a| a.bits().len()).sum::<usize>();
        if cells > MOST_CELLS {
            break;
        }
        let (mut s, mut t) = (args.clone(), args);
        one.run(sizes, &mut s, &Options::default()).ok()?;
        other.run(sizes, &mut t, &Options::default()).ok()?;
        for (n, p) in before.params.iter().enumerate() {
            let Ty::Elem(elem) = before.buffers[p.index()].elem else { return None };
            let same = s[n].bits().iter().zip(t[n].bits()).all(|(a, b)| scalar::same(elem, *a, *b));
            if !before.scratch.contains(p) && !same {
                return Some(true);
            }
        }
    }
    Some(false)
}

fn arguments(fun: &Fun, sizes: &[i64], seed: u64) -> Option<Vec<Array>> {
    let kind = KINDS[seed as usize % KINDS.len()];
    let size = |v| fun.sizes.iter().position(|s| *s == v).and_then(|n| sizes.get(n)).copied();
    let one = |(n, p): (usize, &Buffer)| {
        let info = &fun.buffers[p.index()];
        let Ty::Elem(elem) = info.elem else { return None };
        let extents = info.extents.iter().map(|e| value(e, &size)).collect::<Option<Vec<i64>>>()?;
        let count = extents.iter().try_fold(1usize, |n, e| n.checked_mul(usize::try_from(*e).ok()?))?;
        let unknown = info.role != Role::Reads && (fun.produces.contains(p) || fun.scratch.contains(p));
        if unknown {
            let mut array = Array::new(&Ty::Elem(elem), &extents)?;
            array.poison(poison(elem));
            return Some(array);
        }
        Array::from_bits(elem, &extents, fill(elem, seed.wrapping_add(n as u64 * 7919), kind, count))
    };
    fun.params.iter().enumerate().map(one).collect()
}
