//! Tiles that `registers` made, for the steps that cut them into parts an instruction updates.

use cachet_core::ir::{At, Block, Domain, Fun, Ix, Local, Stmt, StmtKind, Var, Word};
use cachet_core::rewrite::{Arm, Site, Subst, Turn, map_word};

/// A nest over rows and lanes of the tile.
pub(super) struct Nest<'f> {
    pub(super) row: (Var, &'f Ix),
    pub(super) lane: (Var, &'f Ix),
    pub(super) stmt: &'f StmtKind,
}

/// The tile that `registers` made.
pub(super) struct Tile<'f> {
    pub(super) site: Site,
    pub(super) acc: Local,
    /// Rows and lanes that there are.
    pub(super) size: (i64, i64),
    /// What it is declared with.
    pub(super) init: &'f Word,
    /// What loads it, if something does.
    pub(super) start: Option<Nest<'f>>,
    pub(super) sum: (Var, &'f Domain),
    /// What updates it, with the vectors that are named before in its place.
    pub(super) update: (Nest<'f>, Word),
    /// Those vectors, in the order in which they are named.
    pub(super) named: Vec<Local>,
    pub(super) back: Nest<'f>,
    pub(super) span: At,
}

/// Every tile in a block and the blocks inside it.
pub(super) fn tiles<'f>(fun: &'f Fun, block: &'f Block, path: &mut Vec<Turn>, found: &mut Vec<Tile<'f>>) {
    for (at, stmt) in block.iter().enumerate() {
        found.extend(tile_at(fun, block, path, at));
        let inside: Vec<(Arm, &Block)> = match &stmt.kind {
            StmtKind::For { body, .. } => vec![(Arm::First, body)],
            StmtKind::Grid(g) => vec![(Arm::First, &g.body)],
            StmtKind::If { then, els, .. } => vec![(Arm::First, then), (Arm::Else, els)],
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => vec![],
        };
        for (arm, inner) in inside {
            path.push(Turn { at, arm });
            tiles(fun, inner, path, found);
            path.pop();
        }
    }
}

fn tile_at<'f>(fun: &'f Fun, block: &'f Block, path: &[Turn], start: usize) -> Option<Tile<'f>> {
    let Stmt { kind: StmtKind::Var { local: acc, init }, span } = block.get(start)? else { return None };
    let info = &fun.locals[acc.index()];
    let (true, [rows, lanes]) = (info.vector, info.dims.as_slice()) else { return None };
    let mut at = start + 1;
    let loading = nest(fun, block.get(at)?).filter(|n| assigns(n, *acc).is_some());
    at += usize::from(loading.is_some());
    let Stmt { kind: StmtKind::For { var, domain, body }, .. } = block.get(at)? else { return None };
    let (named, update) = update(fun, body, *acc)?;
    let back = nest(fun, block.get(at + 1)?)?;
    let StmtKind::Store { to: _, word: Word::Local(stored, cell) } = back.stmt else { return None };
    let own = *stored == *acc && *cell == [Ix::Var(back.row.0), Ix::Var(back.lane.0)];
    own.then(|| Tile {
        site: Site { path: path.to_vec(), start, len: at + 2 - start },
        acc: *acc,
        size: (*rows, *lanes),
        init,
        start: loading,
        sum: (*var, domain),
        update,
        named,
        back,
        span: *span,
    })
}

/// A loop over rows around a vector statement, both from 0.
fn nest<'f>(fun: &'f Fun, stmt: &'f Stmt) -> Option<Nest<'f>> {
    let StmtKind::For { var, domain: Domain::Range { lo: Ix::Lit(0), hi }, body } = &stmt.kind else { return None };
    let [inner] = body.as_slice() else { return None };
    let lanes = cachet_core::vectors::of(&fun.vars, inner)?;
    Some(Nest { row: (*var, hi), lane: (lanes.var, lanes.active), stmt: &lanes.stmt.kind })
}

/// The word that a nest assigns to the tile's own cell.
pub(super) fn assigns<'f>(nest: &Nest<'f>, acc: Local) -> Option<&'f Word> {
    match nest.stmt {
        StmtKind::Assign { local, at, word } if *local == acc && *at == [Ix::Var(nest.row.0), Ix::Var(nest.lane.0)] => {
            Some(word)
        }
        _ => None,
    }
}

/// The update of a tile, in a loop over its rows: vectors are named, before the loop and in it, and then it is assigned.
fn update<'f>(fun: &'f Fun, body: &'f Block, acc: Local) -> Option<(Vec<Local>, (Nest<'f>, Word))> {
    let (last, before) = body.split_last()?;
    let StmtKind::For { var, domain: Domain::Range { lo: Ix::Lit(0), hi }, body } = &last.kind else { return None };
    let (assigned, inside) = body.split_last()?;
    let lanes = cachet_core::vectors::of(&fun.vars, assigned)?;
    let nest = Nest { row: (*var, hi), lane: (lanes.var, lanes.active), stmt: &lanes.stmt.kind };
    let word = assigns(&nest, acc)?;
    let (mut named, mut meanings): (Vec<Local>, Vec<(Local, Var, &Word)>) = (Vec::new(), Vec::new());
    for block in [before, inside] {
        for pair in block.chunks(2) {
            let [declared, filled] = pair else { return None };
            let vector = cachet_core::vectors::let_of(fun, declared, filled)?;
            named.push(vector.local);
            meanings.push((vector.local, vector.var, vector.word));
        }
    }
    let written_out = map_word(word, &mut |w| match &w {
        Word::Local(l, at) => match (meanings.iter().find(|m| m.0 == *l), at.as_slice()) {
            (Some((_, lane, meaning)), [ix]) => Subst::var(*lane, ix.clone()).word(meaning),
            _ => w,
        },
        _ => w,
    });
    Some((named, (nest, written_out)))
}
