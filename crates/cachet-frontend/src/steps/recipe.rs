//! Lines of a recipe.

use super::{Places, pattern::Reader};
use crate::elaborate::{Done, World};
use crate::scope;
use cachet_core::ir::At;
use cachet_core::pattern::{
    self as core, LoopRef, MapVar, MoveKind, ParamKind, Params, PatGuard, PatIx, Regrouping, Side,
};
use cachet_source::{Diagnostic, codes};
use cachet_syntax::ast::{self, Expr, ExprKind};
use std::collections::BTreeSet;

/// A recipe.
pub(super) fn lines(world: &mut World<'_>, relate: &[ast::Move]) -> Done<Vec<core::Move>> {
    relate.iter().map(|m| line(world, m)).collect()
}

fn line(world: &mut World<'_>, m: &ast::Move) -> Done<core::Move> {
    let kind = match &m.kind {
        ast::MoveKind::PerCell { buffer, fold, at: None } => {
            MoveKind::PerCell { buffer: buffer.name.clone(), fold: loop_ref(fold) }
        }
        ast::MoveKind::Interchange(l) => MoveKind::Interchange(loop_ref(l)),
        ast::MoveKind::Order { side: s, label: None, loops } => {
            let of =
                |l: &ast::LoopRef| LoopRef { side: side(*s), name: l.name.name.clone(), nth: nth(l.nth), rank: false };
            MoveKind::Order(loops.iter().map(of).collect())
        }
        ast::MoveKind::Distribute { index, at } => match at.kind {
            ExprKind::Int(n) if (1..1000).contains(&n) => MoveKind::Distribute { of: loop_ref(index), at: n as u32 },
            _ => {
                let d = Diagnostic::error(
                    codes::RECIPE,
                    at.span,
                    "after how many statements a nest is split is a number, at least 1",
                );
                return Err(world.report(d));
            }
        },
        ast::MoveKind::Fuse(a, b) => MoveKind::Fuse(loop_ref(a), loop_ref(b)),
        ast::MoveKind::Split { index, by, name, ragged } => {
            let by = index_of(world, by)?;
            MoveKind::Split { of: loop_ref(index), by, outer: name.name.clone(), ragged: *ragged }
        }
        ast::MoveKind::Reorder { from: ast::Side::S, to: ast::Side::T, lines } => reorder(world, m, lines)?,
        ast::MoveKind::SelfStore(r) => MoveKind::SelfStore(side(r.side), r.name.name.clone()),
        ast::MoveKind::Copy(r) => MoveKind::Copy(side(r.side), r.name.name.clone()),
        ast::MoveKind::Cut { index, at } => MoveKind::Cut { of: loop_ref(index), at: index_of(world, at)? },
        ast::MoveKind::Join(a, b) => MoveKind::Join(loop_ref(a), loop_ref(b)),
        ast::MoveKind::Carry { local, buffer } => {
            MoveKind::Carry { side: side(local.side), local: local.name.name.clone(), buffer: buffer.name.clone() }
        }
        ast::MoveKind::Narrow { local, axis, to } => {
            let to = index_of(world, to)?;
            match axis.kind {
                ExprKind::Int(n) if n < 64 => {
                    let (side, local) = (side(local.side), local.name.name.clone());
                    MoveKind::Narrow { side, local, axis: n as u32, to }
                }
                _ => {
                    let text = "an axis is a number: 0 is the outermost, and lanes are the last";
                    return Err(world.report(Diagnostic::error(codes::RECIPE, axis.span, text)));
                }
            }
        }
        ast::MoveKind::Lanes { side: s, names } => {
            MoveKind::Lanes(side(*s), names.iter().map(|n| n.name.clone()).collect())
        }
        ast::MoveKind::Unroll(r) => MoveKind::Unroll(loop_ref(r)),
        ast::MoveKind::Unfold(r) => MoveKind::Unfold(side(r.side), r.name.name.clone()),
        ast::MoveKind::Regroup { index, form, law } => regroup(world, m, index, form, law)?,
        ast::MoveKind::Case { condition, then, els } => {
            let guard = guard_of(world, condition)?;
            MoveKind::Case { guard, then: lines_of(world, then)?, els: lines_of(world, els)? }
        }
        ast::MoveKind::Given(condition) => MoveKind::Given(guard_of(world, condition)?),
        other => {
            return Err(world.report(Diagnostic::not_built(m.span, format!("the recipe line `{}`", word_of(other)))));
        }
    };
    Ok(core::Move { kind, span: At(m.span) })
}

/// One operation, and the terms that it joins in order.
fn regroup(
    world: &mut World<'_>,
    m: &ast::Move,
    index: &ast::SideRef,
    form: &[(Option<ast::Ident>, ast::Shape)],
    law: &ast::Ident,
) -> Done<MoveKind> {
    let [(Some(op), ast::Shape { kind: ast::ShapeKind::Order, .. })] = form else {
        let what = "`regroup` in another form than one operation in order, `(add: order)`";
        return Err(world.report(Diagnostic::not_built(m.span, what)));
    };
    let by = match law.name.as_str() {
        "associative" => Regrouping::Associative,
        "idempotent" => Regrouping::Idempotent,
        "block" => return Err(world.report(Diagnostic::not_built(law.span, "laws of whole blocks"))),
        _ => {
            let known = ["associative", "idempotent"];
            let d = scope::unknown(law, "law that regroups", known.into_iter());
            return Err(world.report(d.note(
                "by `associative` the terms start from the operation's identity, by `idempotent` from the sum's start",
            )));
        }
    };
    Ok(MoveKind::Regroup { of: loop_ref(index), op: op.name.clone(), by })
}

fn lines_of(world: &mut World<'_>, relate: &[ast::Move]) -> Done<Vec<core::Move>> {
    lines(world, relate)
}

fn reorder(world: &mut World<'_>, m: &ast::Move, lines: &[ast::ReorderLine]) -> Done<MoveKind> {
    let [line] = lines else {
        return Err(world.report(Diagnostic::not_built(m.span, "`reorder` with several labels")));
    };
    if line.label.name != "all" {
        let what = format!("`reorder` of the statements `{}` only", line.label.name);
        return Err(world.report(Diagnostic::not_built(line.span, what)));
    }
    if line.by.is_empty() || line.back.is_empty() {
        let d = Diagnostic::error(codes::RECIPE, line.span, "other loops need both maps: `by (i = ..) back (d = ..)`");
        return Err(
            world.report(d.note("`by` gives each loop of S an index in T's loops, `back` each loop of T one in S's"))
        );
    }
    let mut map = |all: &[(ast::Ident, Expr)]| {
        all.iter()
            .map(|(v, e)| Ok((MapVar::Named(v.name.clone()), index_of(world, e)?)))
            .collect::<Done<Vec<(MapVar, PatIx)>>>()
    };
    Ok(MoveKind::Reorder { by: map(&line.by)?, back: map(&line.back)? })
}

fn index_of(world: &mut World<'_>, e: &Expr) -> Done<PatIx> {
    let mut out = Vec::new();
    let ix = Reader::new(&mut out).ix(e);
    world.out.extend(out);
    ix
}

fn guard_of(world: &mut World<'_>, e: &Expr) -> Done<PatGuard> {
    let mut out = Vec::new();
    let guard = Reader::new(&mut out).guard(e);
    world.out.extend(out);
    guard
}

fn side(s: ast::Side) -> Side {
    match s {
        ast::Side::S => Side::S,
        ast::Side::T => Side::T,
    }
}

fn nth(n: Option<u64>) -> u32 {
    n.and_then(|n| u32::try_from(n).ok()).unwrap_or(1)
}

fn loop_ref(r: &ast::SideRef) -> LoopRef {
    LoopRef { side: side(r.side), name: r.name.name.clone(), nth: nth(r.nth), rank: false }
}

/// Marks the loops of a recipe that are a rank's.
pub(super) fn with_ranks(recipe: Vec<core::Move>, params: &[Params]) -> Vec<core::Move> {
    let ranks: BTreeSet<&str> = params
        .iter()
        .flat_map(|p| match p {
            Params::One(p) => std::slice::from_ref(p),
            Params::Tuple(ps) => ps,
        })
        .filter(|p| p.kind == ParamKind::Loops)
        .map(|p| p.name.as_str())
        .collect();
    marked(recipe, &ranks)
}

fn marked(recipe: Vec<core::Move>, ranks: &BTreeSet<&str>) -> Vec<core::Move> {
    let mark = |l: LoopRef| LoopRef { rank: ranks.contains(l.name.as_str()), ..l };
    let one = |kind: MoveKind| match kind {
        MoveKind::PerCell { buffer, fold } => MoveKind::PerCell { buffer, fold: mark(fold) },
        MoveKind::Interchange(l) => MoveKind::Interchange(mark(l)),
        MoveKind::Order(all) => MoveKind::Order(all.into_iter().map(mark).collect()),
        MoveKind::Distribute { of, at } => MoveKind::Distribute { of: mark(of), at },
        MoveKind::Fuse(a, b) => MoveKind::Fuse(mark(a), mark(b)),
        MoveKind::Split { of, by, outer, ragged } => MoveKind::Split { of: mark(of), by, outer, ragged },
        MoveKind::First(l) => MoveKind::First(mark(l)),
        MoveKind::Unroll(l) => MoveKind::Unroll(mark(l)),
        MoveKind::Cut { of, at } => MoveKind::Cut { of: mark(of), at },
        MoveKind::Cover { of, by, outer, count } => MoveKind::Cover { of: mark(of), by, outer, count },
        MoveKind::Widen { of, to } => MoveKind::Widen { of: mark(of), to },
        MoveKind::Join(a, b) => MoveKind::Join(mark(a), mark(b)),
        MoveKind::Regroup { of, op, by } => MoveKind::Regroup { of: mark(of), op, by },
        MoveKind::Case { guard, then, els } => {
            MoveKind::Case { guard, then: marked(then, ranks), els: marked(els, ranks) }
        }
        MoveKind::Reorder { .. }
        | MoveKind::SelfStore(..)
        | MoveKind::Copy(..)
        | MoveKind::Carry { .. }
        | MoveKind::Narrow { .. }
        | MoveKind::Relayout { .. }
        | MoveKind::Lanes(..)
        | MoveKind::Unfold(..)
        | MoveKind::Given(_) => kind,
    };
    recipe.into_iter().map(|m| core::Move { kind: one(m.kind), span: m.span }).collect()
}

/// A recipe speaks of parameters and loops that are there.
pub(super) fn check_names(
    world: &mut World<'_>,
    relate: &[ast::Move],
    params: &[&ast::Ident],
    places: &Places,
) -> Done<()> {
    // Loops that earlier lines make.
    let mut split: BTreeSet<String> = BTreeSet::new();
    for m in relate {
        let (buffer, loops): (Option<&ast::Ident>, Vec<&ast::SideRef>) = match &m.kind {
            ast::MoveKind::PerCell { buffer, fold, .. } => (Some(buffer), vec![fold]),
            ast::MoveKind::Interchange(l)
            | ast::MoveKind::Distribute { index: l, .. }
            | ast::MoveKind::Split { index: l, .. }
            | ast::MoveKind::Cut { index: l, .. }
            | ast::MoveKind::Regroup { index: l, .. }
            | ast::MoveKind::Unroll(l) => (None, vec![l]),
            ast::MoveKind::SelfStore(b) | ast::MoveKind::Copy(b) => (Some(&b.name), vec![]),
            ast::MoveKind::Fuse(a, b) => (None, vec![a, b]),
            ast::MoveKind::Case { then, els, .. } => {
                check_names(world, then, params, places)?;
                check_names(world, els, params, places)?;
                (None, vec![])
            }
            ast::MoveKind::Reorder { lines, .. } => {
                for (names, known, word) in lines.iter().flat_map(|l| {
                    [(&l.by, &places.matched, "loop in `from` called"), (&l.back, &places.made, "loop in `to` called")]
                }) {
                    if let Some((name, _)) = names.iter().find(|(n, _)| !known.contains(&n.name)) {
                        let d = scope::unknown(name, word, known.iter().map(String::as_str));
                        return Err(world.report(d));
                    }
                }
                (None, vec![])
            }
            _ => (None, vec![]),
        };
        if let Some(b) = buffer
            && !params.iter().any(|p| p.name == b.name)
        {
            let d = scope::unknown(b, "parameter", params.iter().map(|p| p.name.as_str()));
            return Err(world.report(d));
        }
        for l in loops {
            let (known, word) = match l.side {
                ast::Side::S => (&places.matched, "loop in `from` called"),
                ast::Side::T => (&places.made, "loop in `to` called"),
            };
            if !known.contains(&l.name.name) && !split.contains(&l.name.name) {
                let d = scope::unknown(&l.name, word, known.iter().chain(&split).map(String::as_str));
                return Err(world.report(d));
            }
        }
        if let ast::MoveKind::Split { name, .. } = &m.kind {
            split.insert(name.name.clone());
        }
    }
    Ok(())
}

/// The first words of a line that has no meaning yet.
fn word_of(m: &ast::MoveKind) -> &'static str {
    match m {
        ast::MoveKind::PerCell { .. } => "per cell .. at",
        ast::MoveKind::FoldVar(_) => "fold var",
        ast::MoveKind::Interchange(_) => "interchange",
        ast::MoveKind::Order { .. } => "order",
        ast::MoveKind::Distribute { .. } => "distribute",
        ast::MoveKind::Fuse(..) => "fuse",
        ast::MoveKind::Split { .. } => "split",
        ast::MoveKind::Cut { .. } => "cut",
        ast::MoveKind::Join(..) => "join",
        ast::MoveKind::Reorder { .. } => "reorder",
        ast::MoveKind::Carry { .. } => "carry",
        ast::MoveKind::Copy(_) => "copy",
        ast::MoveKind::SelfStore(_) => "selfstore",
        ast::MoveKind::Lanes { .. } => "lanes",
        ast::MoveKind::Narrow { .. } => "narrow",
        ast::MoveKind::Relayout { .. } => "relayout",
        ast::MoveKind::Rename { .. } => "rename",
        ast::MoveKind::Dead(_) => "dead",
        ast::MoveKind::Share { .. } => "share",
        ast::MoveKind::Unfold(_) => "unfold",
        ast::MoveKind::Unroll(_) => "unroll",
        ast::MoveKind::Case { .. } => "case",
        ast::MoveKind::Given(_) => "given",
        ast::MoveKind::Grid(_) => "grid",
        ast::MoveKind::Arithmetic(_) => "arithmetic",
        ast::MoveKind::Regroup { .. } => "regroup",
        ast::MoveKind::Evaluate => "evaluate",
    }
}
