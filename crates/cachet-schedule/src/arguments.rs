//! Arguments of a step against its parameters.

use crate::capture::{Arg, Args};
use crate::{refusal, show};
use cachet_core::ir::{Buffer, Fun};
use cachet_core::pattern::{Param, ParamKind, Params, StepDef};
use cachet_core::rewrite::Live;
use cachet_core::script::{StepArg, StepCall};
use cachet_source::{Diagnostic, Span, codes};

/// The arguments by parameter name.
pub fn bind(fun: &Fun, step: &StepDef, call: &StepCall, given: &[StepArg]) -> Result<Args, Diagnostic> {
    if step.params.len() != given.len() {
        let message =
            format!("`{}` takes {}, and is given {}", step.name, count(step.params.len()), count(given.len()));
        return Err(misfit(step, call, call.span, message));
    }
    let mut out = Args::new();
    for (params, arg) in step.params.iter().zip(given) {
        match (params, arg) {
            // A single loop may be written without parentheses where a tuple is wanted: `zero i y`.
            (Params::Tuple(params), StepArg::Name { .. } | StepArg::Number(..)) => {
                tuple(fun, step, call, params, std::slice::from_ref(arg), arg.span(), &mut out)?;
            }
            (Params::Tuple(params), StepArg::Tuple(args, span)) => {
                tuple(fun, step, call, params, args, *span, &mut out)?
            }
            (Params::One(param), StepArg::Tuple(args, _)) if args.len() == 1 => {
                one(fun, step, call, param, &args[0], &mut out)?
            }
            (Params::One(param), StepArg::Tuple(_, span)) => {
                return Err(misfit(step, call, *span, format!("`{}` is one name, and several are given", param.name)));
            }
            (Params::One(param), arg) => one(fun, step, call, param, arg, &mut out)?,
        }
    }
    Ok(out)
}

fn count(n: usize) -> String {
    format!("{n} argument{}", if n == 1 { "" } else { "s" })
}

fn misfit(step: &StepDef, call: &StepCall, span: Span, message: String) -> Diagnostic {
    let d = Diagnostic::error(codes::STEP_ARGUMENT, span, message).help(format!(
        "`{}` is written `{}`",
        step.name,
        show::head(step)
    ));
    refusal::with_callers(d, call)
}

fn tuple(
    fun: &Fun,
    step: &StepDef,
    call: &StepCall,
    params: &[Param],
    args: &[StepArg],
    span: Span,
    out: &mut Args,
) -> Result<(), Diagnostic> {
    let fixed = params.iter().filter(|p| p.kind != ParamKind::Loops).count();
    let rank = params.len() - fixed;
    let fits = if rank == 0 { args.len() == fixed } else { args.len() > fixed };
    if !fits || rank > 1 {
        let wanted = if rank == 0 { fixed.to_string() } else { format!("{} or more", fixed + 1) };
        return Err(misfit(
            step,
            call,
            span,
            format!("`{}` takes {wanted} names here, and is given {}", step.name, args.len()),
        ));
    }
    let mut args = args.iter();
    let many = args.len() - fixed;
    for p in params {
        if p.kind == ParamKind::Loops {
            let names: Result<Vec<_>, Diagnostic> = args.by_ref().take(many).map(|a| name(step, call, a)).collect();
            out.insert(p.name.clone(), Arg::Loops(names?));
        } else if let Some(a) = args.next() {
            one(fun, step, call, p, a, out)?;
        }
    }
    Ok(())
}

fn name(step: &StepDef, call: &StepCall, arg: &StepArg) -> Result<(String, Option<u32>), Diagnostic> {
    match arg {
        StepArg::Name { name, nth, .. } => Ok((name.clone(), *nth)),
        StepArg::Number(n, span) => Err(misfit(step, call, *span, format!("a name is wanted here, not {n}"))),
        StepArg::Tuple(_, span) => Err(misfit(step, call, *span, "a name is wanted here, not several".into())),
    }
}

fn one(
    fun: &Fun,
    step: &StepDef,
    call: &StepCall,
    param: &Param,
    arg: &StepArg,
    out: &mut Args,
) -> Result<(), Diagnostic> {
    let value = match param.kind {
        ParamKind::Loop => {
            let (name, nth) = name(step, call, arg)?;
            Arg::Loop(name, nth)
        }
        ParamKind::Loops => {
            let (name, nth) = name(step, call, arg)?;
            Arg::Loops(vec![(name, nth)])
        }
        ParamKind::New => Arg::New(name(step, call, arg)?.0),
        ParamKind::Buffer => {
            let (name, _) = name(step, call, arg)?;
            Arg::Buffer(buffer(fun, &name).ok_or_else(|| refusal::unknown_buffer(fun, &name, arg.span(), call))?)
        }
        ParamKind::Size => match arg {
            StepArg::Number(n, _) => Arg::Size(*n),
            _ => return Err(misfit(step, call, arg.span(), format!("`{}` is a size: a number is wanted", param.name))),
        },
    };
    out.insert(param.name.clone(), value);
    Ok(())
}

fn buffer(fun: &Fun, name: &str) -> Option<Buffer> {
    let live = Live::of(fun);
    live.buffers.into_iter().find(|b| fun.buffers[b.index()].name == name)
}
