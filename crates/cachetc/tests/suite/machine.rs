//! Functions as machine code against the interpreter, for files that have no `main` to do it.

use crate::cells;
use crate::runs::{Counts, arguments, bindings, kind, ready, some_sizes};
use cachet::native::compile;
use cachet::pipeline::Outcome;
use cachet_core::interpret::{Array, Options, TrapKind};
use cachet_core::ir::{Binding, Fun, FunId, Role, Stmt, StmtKind};
use cachet_core::rewrite::{Visit, visit_block, visit_stmt};
use cachet_runtime::{AlignedBuffer, BufferArg, Kernel, Llvm, Order, Pool};

/// Sizes that are run: none, one, a few, a whole block, one more.
const SIZES: [i64; 6] = [0, 1, 3, 8, 12, 17];
/// On how many threads files with grids are run.
pub const THREADS: [usize; 4] = [1, 2, 3, 7];
/// How many choices of them.
const CHOICES: usize = 8;

/// Every function of a file, at one implementation.
pub fn functions(outcome: &Outcome, llvm: &Llvm, counts: &mut Counts) -> Result<(), String> {
    let program = outcome.checked.program();
    let bound = |id: &FunId| -> Vec<(FunId, Vec<Binding>)> {
        let all = bindings(program, &program.funs[id.index()].type_params);
        all.into_iter().take(1).map(|types| (*id, types)).collect()
    };
    let wanted: Vec<(FunId, Vec<Binding>)> = outcome.module.items.iter().flat_map(bound).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let native = compile(outcome, &wanted, llvm).map_err(|p| format!("there is no machine code: {p:?}"))?;
    let kernels = native.kernels().map_err(|p| format!("the machine code cannot be called: {p:?}"))?;
    let threads = if has_grids(outcome) { &THREADS[..] } else { &[1] };
    let pool = |n: &usize| Pool::in_order(*n, Order::Dealt { seed: *n as u64 }).map_err(|e| e.to_string());
    let pools: Vec<Pool> = threads.iter().map(pool).collect::<Result<_, _>>()?;
    for ((id, types), kernel) in wanted.iter().zip(&kernels) {
        function(outcome, *id, types, (kernel, &pools), counts)?;
    }
    Ok(())
}

/// Whether a file has a grid.
pub fn has_grids(outcome: &Outcome) -> bool {
    struct Grids(bool);
    impl Visit for Grids {
        fn stmt(&mut self, stmt: &Stmt) {
            self.0 |= matches!(stmt.kind, StmtKind::Grid(_));
            visit_stmt(self, stmt);
        }
    }
    let mut grids = Grids(false);
    outcome.checked.program().funs.iter().for_each(|f| visit_block(&mut grids, &f.body));
    grids.0
}

fn function(
    outcome: &Outcome,
    id: FunId,
    types: &[Binding],
    (kernel, pools): (&Kernel, &[Pool]),
    counts: &mut Counts,
) -> Result<(), String> {
    let program = outcome.checked.program();
    let fun = &program.funs[id.index()];
    let prepared = ready(program, id, types)?;
    let mut ran = 0;
    for (n, sizes) in some_sizes(fun.sizes.len(), &SIZES, CHOICES) {
        if n >= CHOICES && ran > 0 {
            break;
        }
        let before = arguments(program, fun, types, &sizes, kind(&sizes));
        let mut want = before.clone();
        match prepared.run(&sizes, &mut want, &Options::default()) {
            Err(t) if t.kind == TrapKind::RequirementViolated => continue,
            Err(t) => return Err(format!("`{}` at {sizes:?}: {}", fun.name, t.text)),
            Ok(()) => ran += 1,
        }
        for pool in pools {
            let got = call(fun, kernel, &sizes, &before, pool)?;
            counts.native += 1;
            counts.threads += u64::from(pool.threads() > 1);
            for (p, (want, got)) in want.iter().zip(&got).enumerate() {
                if fun.scratch.contains(&fun.params[p]) {
                    continue;
                }
                counts.elements += want.written().len() as u64;
                if let Some(said) = cells::difference(want.elem(), want.bits(), got) {
                    let (name, threads) = (&fun.buffers[fun.params[p].index()].name, pool.threads());
                    return Err(format!("`{}` at {sizes:?}, natively on {threads} threads, {name}: {said}", fun.name));
                }
            }
        }
    }
    if ran == 0 {
        return Err(format!("`{}` was run natively at no sizes", fun.name));
    }
    Ok(())
}

/// What each parameter holds after a call.
fn call(fun: &Fun, kernel: &Kernel, sizes: &[i64], args: &[Array], pool: &Pool) -> Result<Vec<Vec<u64>>, String> {
    let lies = || fun.params.iter().map(|p| &fun.buffers[p.index()].layout);
    let mut memory: Vec<AlignedBuffer> = args.iter().zip(lies()).map(|(a, l)| cells::laid_out(a, l)).collect();
    let mut buffers: Vec<BufferArg<'_>> = Vec::new();
    for (m, p) in memory.iter_mut().zip(&fun.params) {
        buffers.push(match fun.buffers[p.index()].role {
            Role::Reads => BufferArg::Read(m.bytes()),
            Role::Mut | Role::Alloc | Role::Lease(_) => BufferArg::Write(m.bytes_mut()),
        });
    }
    kernel.call_on(pool.interface(), sizes, &mut buffers).map_err(|e| format!("`{}` at {sizes:?}: {e}", fun.name))?;
    drop(buffers);
    Ok(memory.iter().zip(args).zip(lies()).map(|((m, a), l)| cells::read(a, l, m.bytes())).collect())
}
