//! Steps that are written here, because their shape is not one pattern: `split`, `order`, `grid over`, `pack`,
//! `keep`, `registers`, `outer_products`, `dot_products`, `reduce .. by`.
//!
//! They are as little believed as those of the library: each returns a program, a site and a recipe.

pub mod dot;
pub mod grid;
pub mod keep;
pub mod nest;
pub mod order;
pub mod outer;
pub mod pack;
pub mod reduce;
pub mod registers;
pub mod split;
mod tile;

use crate::refusal;
use cachet_core::ir::{Fun, Stmt, StmtKind, Var};
use cachet_core::rewrite::{Arm, Site, Turn};
use cachet_core::script::{SplitPart, StepArg, StepCall};
use cachet_source::{Diagnostic, Span, codes};

/// The loops of each index's last split: what `x.outer` and `x.inner` mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Splits(Vec<(String, String, String)>);

impl Splits {
    /// Records the outermost loop of a split and the innermost.
    pub fn record(&mut self, of: &str, outer: &str, inner: &str) {
        self.0.retain(|(x, _, _)| x != of);
        self.0.push((of.to_string(), outer.to_string(), inner.to_string()));
    }

    fn find(&self, of: &str, part: SplitPart) -> Option<&str> {
        let (_, outer, inner) = self.0.iter().find(|(x, _, _)| x == of)?;
        Some(match part {
            SplitPart::Outer => outer,
            SplitPart::Inner => inner,
        })
    }

    /// Arguments with `x.outer` and `x.inner` as the loops that they are.
    ///
    /// # Errors
    /// A part of something that was not split.
    pub fn resolve(&self, args: &[StepArg], call: &StepCall) -> Result<Vec<StepArg>, Diagnostic> {
        args.iter().map(|a| self.one(a, call)).collect()
    }

    fn one(&self, arg: &StepArg, call: &StepCall) -> Result<StepArg, Diagnostic> {
        match arg {
            StepArg::Name { name, nth, part: Some(part), span } => match self.find(name, *part) {
                Some(actual) => Ok(StepArg::Name { name: actual.to_string(), nth: *nth, part: None, span: *span }),
                None => {
                    let word = if *part == SplitPart::Outer { "outer" } else { "inner" };
                    let message = format!("`{name}` has not been split, so there is no `{name}.{word}`");
                    Err(refusal::with_callers(Diagnostic::error(codes::STEP_ARGUMENT, *span, message), call))
                }
            },
            StepArg::Name { part: None, .. } | StepArg::Number(..) => Ok(arg.clone()),
            StepArg::Tuple(parts, span) => Ok(StepArg::Tuple(self.resolve(parts, call)?, *span)),
        }
    }
}

/// A loop that a step names.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Which of that name, from 1.
    pub nth: Option<u32>,
    /// Where it is written.
    pub span: Span,
}

/// Loops named one after another.
pub fn names(args: &[StepArg], call: &StepCall) -> Result<Vec<Named>, Diagnostic> {
    let wanted = |span: Span| {
        let d = Diagnostic::error(codes::STEP_ARGUMENT, span, format!("`{}` wants names of loops here", call.name));
        refusal::with_callers(d, call)
    };
    args.iter()
        .map(|a| match a {
            StepArg::Name { name, nth, span, .. } => Ok(Named { name: name.clone(), nth: *nth, span: *span }),
            StepArg::Number(_, span) | StepArg::Tuple(_, span) => Err(wanted(*span)),
        })
        .collect()
}

/// Where a loop or sum stands: the statement that is it, or that contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The blocks entered.
    pub path: Vec<Turn>,
    /// The statement's position in the last one.
    pub at: usize,
    /// The loop's variable.
    pub var: Var,
}

impl Spot {
    /// The statement.
    pub fn stmt<'f>(&self, fun: &'f Fun) -> Option<&'f Stmt> {
        self.site().stmts(fun)?.first()
    }

    /// As a site of one statement.
    pub fn site(&self) -> Site {
        Site { path: self.path.clone(), start: self.at, len: 1 }
    }
}

/// The loop or sum that is meant: the outermost of its name; of several at one depth, the one whose number is given.
///
/// # Errors
/// None of that name, not so many, or several at one depth.
pub fn locate(fun: &Fun, wanted: &Named, call: &StepCall) -> Result<Spot, Diagnostic> {
    let mut found = Vec::new();
    spots(&fun.body, &mut Vec::new(), &mut |spot| {
        if fun.vars[spot.var.index()].name == wanted.name && !crate::loops::is_lane(fun, spot.var) {
            found.push(spot);
        }
    });
    if found.is_empty() {
        return Err(unknown(fun, wanted, call));
    }
    if let Some(n) = wanted.nth {
        let count = found.len();
        return found.into_iter().nth((n as usize).wrapping_sub(1)).ok_or_else(|| {
            let are = if count == 1 { "there is 1".to_string() } else { format!("there are {count}") };
            let message = format!("number {n} of the loops over `{}` is asked for, and {are}", wanted.name);
            refusal::with_callers(Diagnostic::error(codes::STEP_ARGUMENT, wanted.span, message), call)
        });
    }
    let depth = found.iter().map(|s| s.path.len()).min();
    let mut outermost: Vec<Spot> = found.into_iter().filter(|s| Some(s.path.len()) == depth).collect();
    if outermost.len() > 1 {
        let message = format!("there are {} loops or sums over `{}` at one depth", outermost.len(), wanted.name);
        let help = format!("write `{0}#1`, `{0}#2`, .. for the first, the second, .. in the program", wanted.name);
        let d = Diagnostic::error(codes::AMBIGUOUS, wanted.span, message).help(help);
        return Err(refusal::with_callers(d, call));
    }
    outermost.pop().ok_or_else(|| unknown(fun, wanted, call))
}

/// No loop of that name.
pub fn unknown(fun: &Fun, wanted: &Named, call: &StepCall) -> Diagnostic {
    let message = format!("there is no loop or sum over `{}` in the program at this step", wanted.name);
    let d = Diagnostic::error(codes::UNKNOWN_NAME, wanted.span, message);
    refusal::with_callers(refusal::with_loops(d, fun, &wanted.name), call)
}

/// Every loop, grid axis and sum of a block in program order.
fn spots(block: &[Stmt], path: &mut Vec<Turn>, take: &mut dyn FnMut(Spot)) {
    for (at, stmt) in block.iter().enumerate() {
        let arms: Vec<(Arm, &[Stmt])> = match &stmt.kind {
            StmtKind::For { var, body, .. } => {
                take(Spot { path: path.clone(), at, var: *var });
                vec![(Arm::First, body)]
            }
            StmtKind::Grid(g) => {
                g.axes.iter().for_each(|(v, _)| take(Spot { path: path.clone(), at, var: *v }));
                vec![(Arm::First, &g.body)]
            }
            StmtKind::If { then, els, .. } => vec![(Arm::First, then), (Arm::Else, els)],
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => {
                for var in crate::loops::of(std::slice::from_ref(stmt)) {
                    take(Spot { path: path.clone(), at, var });
                }
                vec![]
            }
        };
        for (arm, inner) in arms {
            path.push(Turn { at, arm });
            spots(inner, path, take);
            path.pop();
        }
    }
}
