//! `split x by n as g, m as u ragged, ..`: a loop or sum in consecutive blocks.
//!
//! A sum that continues from its cell stays a sum: of blocks, each continuing the running total of the one before. A sum
//! that is stored directly and starts from a word of its own becomes a loop over blocks, each of which stores: the first
//! starts from that word, the others from the cell.

use super::{Named, Splits, Spot, locate};
use crate::build::names;
use crate::{loops, needs, refusal, tidy};
use cachet_core::ir::{
    Access, At, BlockPart, Domain, Fold, Fun, Guard, Ix, LocalInfo, Rel, Stmt, StmtKind, Var, VarKind, Word,
};
use cachet_core::pattern::{LoopRef, Move, MoveKind, PatIx, Side};
use cachet_core::rewrite::{Site, Subst, Turn, map_stmt_words, refresh};
use cachet_core::script::{Rewrite, SplitIndex, StepArg, StepCall};
use cachet_source::{Diagnostic, Span, codes};

/// Splits each index in turn; the whole is one step.
pub fn apply(fun: &Fun, call: &StepCall, indices: &[SplitIndex], splits: &mut Splits) -> Result<Rewrite, Diagnostic> {
    let mut after = fun.clone();
    let mut recipe = Vec::new();
    // What an earlier index of this step makes lies inside that index's place.
    let places = indices.iter().filter_map(|i| locate(fun, &name_of(&i.of, splits, call).ok()?, call).ok());
    let site = enclosing(&places.map(|s| s.site()).collect::<Vec<_>>());
    let mut given: Vec<(String, Span)> = Vec::new();
    for index in indices {
        let wanted = name_of(&index.of, splits, call)?;
        let spot = locate(&after, &wanted, call)?;
        let levels = levels(index, &wanted, call)?;
        let (given, recipe) = (&mut given, &mut recipe);
        let mut one = One { fun: &mut after, call, site: &site, wanted: &wanted, index, given, recipe };
        let made = one.split(&spot, &levels, splits)?;
        if spot.site().replace(&mut after, vec![made]).is_none() {
            return Err(refuse(call, index.span, "the place to split is gone".into()));
        }
    }
    if let Some(name) = names::clashing(&after, &site)
        && let Some((name, span)) = given.iter().find(|(n, _)| *n == name)
    {
        let message = format!("`{name}` is in use where the new loop would stand: two loops cannot share a name");
        let d = Diagnostic::error(codes::DUPLICATE_NAME, *span, message);
        return Err(refusal::with_callers(d.help(format!("name it otherwise: `as {name}2`")), call));
    }
    let at = At(call.span);
    let recipe = recipe.into_iter().map(|kind| Move { kind, span: at }).collect();
    Ok(Rewrite { after, from: site.clone(), to: site, recipe })
}

fn refuse(call: &StepCall, span: Span, message: String) -> Diagnostic {
    refusal::with_callers(Diagnostic::error(codes::STEP_ARGUMENT, span, message), call)
}

fn name_of(arg: &StepArg, splits: &Splits, call: &StepCall) -> Result<Named, Diagnostic> {
    let resolved = splits.resolve(std::slice::from_ref(arg), call)?;
    let mut names = super::names(&resolved, call)?;
    names.pop().ok_or_else(|| refuse(call, call.span, "`split` names no loop".into()))
}

/// Sizes and names of the loops over blocks, outermost first.
fn levels(index: &SplitIndex, wanted: &Named, call: &StepCall) -> Result<Vec<(i64, Option<String>, Span)>, Diagnostic> {
    let x = &wanted.name;
    for l in &index.levels {
        if l.size <= 0 {
            return Err(refuse(call, l.span, format!("a block of `{x}` has to be at least 1 long, not {}", l.size)));
        }
        if l.name.is_none() && index.levels.len() > 1 {
            let message = format!("every level of blocks of `{x}` needs a name where there are several");
            return Err(refuse(call, l.span, message).help(format!("write `{} as g{x}`", l.size)));
        }
    }
    for pair in index.levels.windows(2) {
        if !index.ragged && pair[0].size % pair[1].size != 0 {
            let message =
                format!("{} does not divide {}, so blocks of {0} cannot fill one", pair[1].size, pair[0].size);
            return Err(refuse(call, pair[1].span, message).help("add `ragged`: the last block may then be shorter"));
        }
    }
    Ok(index.levels.iter().map(|l| (l.size, l.name.clone(), l.span)).collect())
}

/// The smallest run of statements that contains all of the places.
fn enclosing(sites: &[Site]) -> Site {
    let Some(first) = sites.first() else { return Site { path: vec![], start: 0, len: 0 } };
    let mut prefix: Vec<Turn> = first.path.clone();
    for s in sites {
        let same = prefix.iter().zip(&s.path).take_while(|(a, b)| a == b).count();
        prefix.truncate(same);
    }
    let position = |s: &Site| s.path.get(prefix.len()).map_or(s.start, |t| t.at);
    let start = sites.iter().map(position).min().unwrap_or(0);
    let end = sites.iter().map(position).max().unwrap_or(0);
    Site { path: prefix, start, len: end - start + 1 }
}

/// One index being split.
struct One<'a> {
    fun: &'a mut Fun,
    call: &'a StepCall,
    site: &'a Site,
    wanted: &'a Named,
    index: &'a SplitIndex,
    given: &'a mut Vec<(String, Span)>,
    recipe: &'a mut Vec<MoveKind>,
}

/// A loop over blocks.
struct Level {
    var: Var,
    domain: Domain,
}

impl One<'_> {
    fn split(
        &mut self,
        spot: &Spot,
        levels: &[(i64, Option<String>, Span)],
        splits: &mut Splits,
    ) -> Result<Stmt, Diagnostic> {
        let x = self.wanted.name.clone();
        let no_place = || refuse(self.call, self.index.span, format!("there is no loop over `{x}`"));
        let stmt = spot.stmt(self.fun).ok_or_else(no_place)?.clone();
        if matches!(stmt.kind, StmtKind::Grid(_)) {
            let message = format!("the iterations over `{x}` run in parallel already; split before that");
            return Err(refuse(self.call, self.index.span, message));
        }
        let domain = loops::domain_of(&stmt, spot.var).ok_or_else(no_place)?;
        let Domain::Range { lo, hi } = domain else {
            let message = format!("`{x}` runs over blocks already, and only a plain range can be split");
            return Err(refuse(self.call, self.index.span, message));
        };
        let of = self.loop_ref(spot);
        let (made, inner_domain, index) = self.make_levels(levels, (&lo, &hi));
        let range = Domain::Range { lo: lo.clone(), hi: hi.clone() };
        if let Some(needed) = needs::multiple(&range, levels[0].0).filter(|_| !self.index.ragged) {
            needs::add(self.fun, needed);
        }
        let inner = self.fun.add_var(x.clone(), VarKind::Index);
        let subst = Subst::var(spot.var, index(Ix::Var(inner)));
        let out = match &stmt.kind {
            StmtKind::For { body, .. } => {
                self.splits_of(&of, levels, &made);
                let body = subst.block(body);
                self.nest(&made, (inner, inner_domain), body, &stmt)
            }
            StmtKind::Store { to, word: Word::Fold(f) } if f.var == spot.var && f.init != Word::Load(to.clone()) => {
                self.starting(&of, levels, &made, (to, f), (inner, inner_domain, &subst), (&lo, &hi), stmt.span)
            }
            _ => {
                self.splits_of(&of, levels, &made);
                let fold = loops::fold_of(&stmt, spot.var).ok_or_else(no_place)?;
                let word = folds(self.fun, fold, &made, (inner, inner_domain), &subst);
                map_stmt_words(&stmt, &mut |w| match w {
                    Word::Fold(f) if f.var == spot.var => word.clone(),
                    w => w,
                })
            }
        };
        let outer = self.fun.vars[made[0].var.index()].name.clone();
        splits.record(&x, &outer, &x);
        let mut fresh = refresh(self.fun, std::slice::from_ref(&out));
        Ok(fresh.pop().unwrap_or(out))
    }

    /// The loop, by its number among those of its name in the site.
    fn loop_ref(&self, spot: &Spot) -> LoopRef {
        let order = loops::of(self.site.stmts(self.fun).unwrap_or(&[]));
        let nth = loops::number(self.fun, &order, spot.var).unwrap_or(1);
        LoopRef { side: Side::S, name: self.wanted.name.clone(), nth, rank: false }
    }

    /// The loops over blocks, the range of the loop inside them, and how its index is counted.
    #[expect(clippy::type_complexity, reason = "three parts of one construction")]
    fn make_levels(
        &mut self,
        levels: &[(i64, Option<String>, Span)],
        (lo, hi): (&Ix, &Ix),
    ) -> (Vec<Level>, Domain, Box<dyn Fn(Ix) -> Ix>) {
        let mut made: Vec<Level> = Vec::new();
        let mut range = (lo.clone(), hi.clone());
        let mut count: Box<dyn Fn(Ix) -> Ix> = Box::new(|i| i);
        for (n, (size, name, span)) in levels.iter().enumerate() {
            let whole = !self.index.ragged && n == 0;
            let name = match name {
                Some(given) => {
                    self.given.push((given.clone(), *span));
                    given.clone()
                }
                None => self.fun.fresh_name(&format!("g{}", self.wanted.name)),
            };
            let kind = if whole { VarKind::Index } else { VarKind::Block };
            let var = self.fun.add_var(name, kind);
            let (from, to) = range;
            let domain = if whole {
                Domain::Range { lo: Ix::Lit(0), hi: tidy::div(needs::length(&from, &to), *size) }
            } else {
                Domain::Blocks { lo: from.clone(), hi: to, size: *size }
            };
            range = (Ix::Lit(0), if whole { Ix::Lit(*size) } else { Ix::Block(var, BlockPart::Len) });
            let (size, outside) = (*size, count);
            count = Box::new(move |i| {
                outside(if whole {
                    let within = Ix::Add(Box::new(Ix::Mul(size, Box::new(Ix::Var(var)))), Box::new(i));
                    if from == Ix::Lit(0) { within } else { Ix::Add(Box::new(from.clone()), Box::new(within)) }
                } else {
                    Ix::InBlock(var, Box::new(i))
                })
            });
            made.push(Level { var, domain });
        }
        (made, Domain::Range { lo: range.0, hi: range.1 }, count)
    }

    /// The recipe's lines: each level is a split of the loop that the one before has left.
    fn splits_of(&mut self, of: &LoopRef, levels: &[(i64, Option<String>, Span)], made: &[Level]) {
        for (n, (level, m)) in levels.iter().zip(made).enumerate() {
            self.recipe.push(MoveKind::Split {
                of: of.clone(),
                by: PatIx::Lit(level.0),
                outer: self.fun.vars[m.var.index()].name.clone(),
                ragged: self.index.ragged || n > 0,
            });
        }
    }

    fn nest(&self, made: &[Level], inner: (Var, Domain), body: Vec<Stmt>, like: &Stmt) -> Stmt {
        let (var, domain) = inner;
        let mut out = Stmt { kind: StmtKind::For { var, domain, body }, span: like.span };
        for m in made.iter().rev() {
            let kind = StmtKind::For { var: m.var, domain: m.domain.clone(), body: vec![out] };
            out = Stmt { kind, span: like.span };
        }
        out
    }

    /// A sum that is stored and starts from a word of its own: the first block starts from it, the others from the cell.
    #[expect(clippy::too_many_arguments, reason = "the parts of one sum")]
    fn starting(
        &mut self,
        of: &LoopRef,
        levels: &[(i64, Option<String>, Span)],
        made: &[Level],
        (to, fold): (&Access, &Fold),
        (inner, inner_domain, subst): (Var, Domain, &Subst),
        (lo, hi): (&Ix, &Ix),
        span: At,
    ) -> Stmt {
        let buffer = self.fun.buffers[to.buffer.index()].name.clone();
        needs::add(self.fun, needs::not_empty(lo, hi));
        let name = |one: &One<'_>, v: Var| one.fun.vars[v.index()].name.clone();
        let outer = &made[0];
        self.recipe.push(MoveKind::PerCell { buffer: buffer.clone(), fold: of.clone() });
        self.splits_of(of, levels, made);
        let first = LoopRef { side: Side::S, name: name(self, outer.var), nth: 1, rank: false };
        self.recipe.push(MoveKind::First(first));
        self.recipe.push(MoveKind::SelfStore(Side::S, buffer.clone()));
        for m in &made[1..] {
            let fold = LoopRef { side: Side::T, name: name(self, m.var), nth: 1, rank: false };
            self.recipe.push(MoveKind::PerCell { buffer: buffer.clone(), fold });
        }
        let fold_ref = LoopRef { side: Side::T, ..of.clone() };
        self.recipe.push(MoveKind::PerCell { buffer, fold: fold_ref });

        let (counter, start) = match &outer.domain {
            Domain::Range { lo, .. } => (Ix::Var(outer.var), lo.clone()),
            Domain::Blocks { lo, .. } => (Ix::Block(outer.var, BlockPart::Lo), lo.clone()),
        };
        let is_first = Guard::Cmp(Rel::Eq, counter, start);
        let init = Word::If(Box::new(is_first), Box::new(fold.init.clone()), Box::new(Word::Load(to.clone())));
        let continued = Fold { init, ..fold.clone() };
        let word = if made.len() > 1 {
            folds(self.fun, continued, &made[1..], (inner, inner_domain), subst)
        } else {
            let body = subst.word(&continued.body);
            Word::Fold(Box::new(Fold { var: inner, domain: inner_domain, body, ..continued }))
        };
        let store = Stmt { kind: StmtKind::Store { to: to.clone(), word }, span };
        let kind = StmtKind::For { var: outer.var, domain: outer.domain.clone(), body: vec![store] };
        Stmt { kind, span }
    }
}

/// A sum of sums, each continuing the running total of the one around it. The innermost keeps the total's name.
fn folds(fun: &mut Fun, f: Fold, made: &[Level], (inner, inner_domain): (Var, Domain), subst: &Subst) -> Word {
    let info = fun.locals[f.acc.index()].clone();
    let totals: Vec<_> = made
        .iter()
        .enumerate()
        .map(|(n, _)| {
            let wanted = if n == 0 { info.name.clone() } else { format!("{}_{}", info.name, n + 2) };
            let name = fun.fresh_name(&wanted);
            fun.add_local(LocalInfo { name, ..info.clone() })
        })
        .collect();
    let start = |n: usize| if n == 0 { f.init.clone() } else { Word::Local(totals[n - 1], vec![]) };
    let mut out = Word::Fold(Box::new(Fold {
        var: inner,
        domain: inner_domain,
        acc: f.acc,
        init: start(made.len()),
        body: subst.word(&f.body),
        regroup: f.regroup,
        span: f.span,
    }));
    for (n, m) in made.iter().enumerate().rev() {
        out = Word::Fold(Box::new(Fold {
            var: m.var,
            domain: m.domain.clone(),
            acc: totals[n],
            init: start(n),
            body: out,
            regroup: f.regroup,
            span: f.span,
        }));
    }
    out
}
