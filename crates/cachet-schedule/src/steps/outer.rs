//! `outer_products i c U V f`: a tile in registers becomes blocks of U rows and V columns that an instruction updates at once.
//!
//! What `registers` made holds a row of the tile in each vector. Here each vector holds a block of it, row after row, and for
//! every term of the sum a column of the one operand and a row of the other are loaded once, of which the instruction takes a
//! part for each block. The tile's rows and lanes have to be multiples of U and V. Where fewer are in use, the last blocks have rows
//! and lanes that nobody stores: what they would load is zero, and blocks are stored row by row, as far as they go.

use super::tile::{Nest, Tile, assigns, tiles};
use super::{Named, names};
use crate::refusal;
use cachet_core::instr::{Instr, LaneWord, Operand};
use cachet_core::ir::{
    At, Block, Domain, Fun, Guard, InstrId, Ix, Lit, Local, LocalInfo, Program, Rel, Stmt, StmtKind, Ty, Var, VarKind,
    Word,
};
use cachet_core::pattern::{LoopRef, Move, MoveKind, PatIx, Side};
use cachet_core::rewrite::{Live, Subst, map_word};
use cachet_core::script::{OuterCall, Rewrite, StepCall};
use cachet_source::{Diagnostic, Span, codes};

/// Rows and columns of a block.
type Sides = (i64, i64);
/// An instruction and its number.
type Known<'p> = (&'p Instr, InstrId);
/// A word for each lane.
type ByLane = Box<dyn Fn(Var) -> Word>;

/// The blocks in the making.
struct Blocks<'a> {
    tile: Tile<'a>,
    after: Fun,
    block: Sides,
    lanes: i64,
    instr: Known<'a>,
    blocks: Local,
}

/// Cuts a tile into blocks.
pub fn apply(program: &Program, fun: &Fun, call: &StepCall, outer: &OuterCall) -> Result<Rewrite, Diagnostic> {
    let named = names(&[outer.row.clone(), outer.into.clone()], call)?;
    let [row, into] = named.as_slice() else {
        return Err(refused(call.span, "`outer_products` names a loop and an array".into(), call));
    };
    let tile = tile(fun, row, into, call)?;
    let (block, instr) = fitting(program, fun, &tile, outer, call)?;
    let Ty::Elem(_) = fun.locals[tile.acc.index()].ty else {
        return Err(refused(call.span, "a tile holds a machine's elements".into(), call));
    };
    let (u, v) = block;
    let mut after = fun.clone();
    let lanes = u * v;
    let dims = vec![tile.size.0 / u * (tile.size.1 / v), lanes];
    let info = &fun.locals[tile.acc.index()];
    let name = after.fresh_name("blocks");
    let blocks = after.add_local(LocalInfo { name, ty: info.ty.clone(), dims, vector: true, mutable: true });
    let mut made = Blocks { tile, after, block, lanes, instr, blocks };
    let (block, column_and_row) = made.block(call)?;
    let recipe = made.recipe(row, into, &column_and_row, call);
    let from = made.tile.site.clone();
    let mut after = made.after;
    match from.replace(&mut after, block) {
        Some(to) => Ok(Rewrite { after, from, to, recipe }),
        None => Err(refused(row.span, "the tile is gone".into(), call)),
    }
}

fn refused(span: Span, message: String, call: &StepCall) -> Diagnostic {
    refusal::with_callers(Diagnostic::error(codes::STEP_ARGUMENT, span, message), call)
}

/// Rows and columns of a block, and the instruction: it takes a column, a row and a block.
fn fitting<'p>(
    program: &'p Program,
    fun: &Fun,
    tile: &Tile<'_>,
    outer: &OuterCall,
    call: &StepCall,
) -> Result<(Sides, Known<'p>), Diagnostic> {
    let ((u, first), (v, second)) = (outer.rows, outer.columns);
    for ((n, span), size, what) in [((u, first), tile.size.0, "rows"), ((v, second), tile.size.1, "lanes")] {
        if n <= 0 || size % n != 0 {
            let message = format!("the tile has {size} {what}, which is no multiple of {n}");
            return Err(refused(span, message, call));
        }
    }
    let (ids, name, span) = &outer.through;
    let elem = match fun.locals[tile.acc.index()].ty {
        Ty::Elem(elem) => elem,
        Ty::Abstract(_) | Ty::Tuple(_) => {
            let d = refused(*span, "the element type of the tile is not known yet".into(), call);
            return Err(d.help("bind the type parameter first: `schedule s of f @(S = PlusTimes f64) =`"));
        }
    };
    let wanted = [Some((elem, u)), Some((elem, v)), Some((elem, u * v))];
    let fits = |instr: &Instr| {
        let given: Vec<_> = instr.params.iter().map(|p| instr.param_vector(*p)).collect();
        given == wanted && (instr.elem, instr.lanes) == (elem, u * v)
    };
    let found = ids.iter().filter_map(|id| Some((program.instrs.get(id.index())?, *id))).find(|(i, _)| fits(i));
    let Some(fitting) = found else {
        let message = format!("`{name}` is no update of a block of {u} rows and {v} columns of {elem}");
        let shape = format!("`(column: Vec {elem} {u}) (row: Vec {elem} {v}) (acc: Vec {elem} {}) ->`", u * v);
        return Err(refused(*span, message, call).note(format!("such an instruction is {shape} a vector like `acc`")));
    };
    Ok(((u, v), fitting))
}

/// The tile whose rows a loop counts and that is stored to an array.
fn tile<'f>(fun: &'f Fun, row: &Named, into: &Named, call: &StepCall) -> Result<Tile<'f>, Diagnostic> {
    let mut found = Vec::new();
    tiles(fun, &fun.body, &mut Vec::new(), &mut found);
    let name = |v: Var| fun.vars[v.index()].name == row.name;
    let stores = |t: &Tile<'_>| match t.back.stmt {
        StmtKind::Store { to, .. } => fun.buffers[to.buffer.index()].name == into.name,
        _ => false,
    };
    found.retain(|t| name(t.back.row.0) && stores(t));
    match (found.len(), row.nth) {
        (1, _) => Ok(found.remove(0)),
        (n, Some(nth)) if (1..=n).contains(&(nth as usize)) => Ok(found.remove(nth as usize - 1)),
        (0, _) | (_, Some(_)) => {
            let message = format!("no tile of `{}` with rows `{}` is held in registers", into.name, row.name);
            let d = refused(row.span, message, call);
            Err(d.help("`outer_products` comes after `registers`, whose tile it cuts into blocks"))
        }
        (n, None) => {
            let message = format!("{n} tiles of `{}` with rows `{}` are held in registers", into.name, row.name);
            Err(refused(row.span, message, call).help(format!("say which: `{}#2`", row.name)))
        }
    }
}

impl Blocks<'_> {
    /// The statements that the tile's become, and the names of the column and the row.
    fn block(&mut self, call: &StepCall) -> Result<(Block, [String; 2]), Diagnostic> {
        let span = self.tile.span;
        let mut out = vec![Stmt { kind: StmtKind::Var { local: self.blocks, init: self.tile.init.clone() }, span }];
        if let Some(start) = &self.tile.start
            && let Some(word) = assigns(start, self.tile.acc).cloned()
        {
            let (row, lane) = (start.row.0, start.lane.0);
            out.push(self.over_blocks(VarKind::Lane(self.lanes), |this, q, l| {
                let word = this.inside(row, this.moved(row, lane, q, l), &word);
                StmtKind::Assign { local: this.blocks, at: vec![Ix::Var(q), Ix::Var(l)], word }
            }));
        }
        let (column, row) = self.operands(call)?;
        let (mut body, mut names) = (Vec::new(), Vec::new());
        let (rows, lanes) = self.tile.size;
        let mut vectors = Vec::new();
        for (name, word, count) in [("column_all", column, rows), ("row_all", row, lanes)] {
            let name = self.after.fresh_name(name);
            let ty = self.after.locals[self.blocks.index()].ty.clone();
            let info = LocalInfo { name: name.clone(), ty, dims: vec![count], vector: true, mutable: false };
            let local = self.after.add_local(info);
            let l = self.after.add_var("l", VarKind::Lane(count));
            body.extend(self.filled(local, (l, count), word(l)));
            names.push(name);
            vectors.push(local);
        }
        let (u, v, across) = (self.block.0, self.block.1, self.across());
        let (instr, id) = self.instr;
        body.push(self.over_blocks(VarKind::Instr(self.lanes, id), |this, q, l| {
            let first = slice(&mut this.after, vectors[0], times(u, quotient(q, across)));
            let second = slice(&mut this.after, vectors[1], times(v, remainder(q, across)));
            let lane = this.after.add_var("l", VarKind::Lane(this.lanes));
            let block = LaneWord::of(&Word::Local(this.blocks, vec![Ix::Var(q), Ix::Var(lane)]), lane);
            let operands = [first, second, block].map(Operand::Vector);
            let word = instr.word(&operands, &Ix::Var(l));
            StmtKind::Assign { local: this.blocks, at: vec![Ix::Var(q), Ix::Var(l)], word }
        }));
        let (var, domain) = self.tile.sum;
        out.push(Stmt { kind: StmtKind::For { var, domain: domain.clone(), body }, span });
        let (row, lane) = (self.tile.back.row.0, self.tile.back.lane.0);
        let StmtKind::Store { to, .. } = self.tile.back.stmt else {
            return Err(refused(call.span, "the tile is not stored".into(), call));
        };
        let to = to.clone();
        if self.is_ragged() {
            out.push(self.by_rows(&to));
            let names = <[String; 2]>::try_from(names).unwrap_or_default();
            return Ok((out, names));
        }
        out.push(self.over_blocks(VarKind::Lane(self.lanes), |this, q, l| {
            let to = this.moved(row, lane, q, l).access(&to);
            StmtKind::Store { to, word: Word::Local(this.blocks, vec![Ix::Var(q), Ix::Var(l)]) }
        }));
        let names = <[String; 2]>::try_from(names).unwrap_or_default();
        Ok((out, names))
    }

    /// How many blocks lie side by side.
    fn across(&self) -> i64 {
        self.tile.size.1 / self.block.1
    }

    /// Whether some rows or lanes of the tile may not be in use.
    fn is_ragged(&self) -> bool {
        let (rows, lanes) = (self.tile.back.row.1, self.tile.back.lane.1);
        !matches!(rows, Ix::Lit(n) if n % self.block.0 == 0) || *lanes != Ix::Lit(self.tile.size.1)
    }

    /// How many blocks lie one below the other, the last perhaps with rows that are not in use.
    fn down(&self) -> Ix {
        let u = self.block.0;
        match self.tile.back.row.1 {
            Ix::Lit(rows) => Ix::Lit(rows.div_euclid(u) + i64::from(rows.rem_euclid(u) != 0)),
            rows if u == 1 => rows.clone(),
            rows => Ix::Div(Box::new(sum(rows.clone(), Ix::Lit(u - 1))), u),
        }
    }

    /// A word of the tile in a block's lane; zero in rows that are not in use.
    fn inside(&self, row: Var, moved: Subst, word: &Word) -> Word {
        let word = moved.word(word);
        let rows = self.tile.back.row.1;
        let elem = match self.after.locals[self.blocks.index()].ty {
            Ty::Elem(elem) if !matches!(rows, Ix::Lit(n) if n % self.block.0 == 0) => elem,
            _ => return word,
        };
        let guard = Guard::Cmp(Rel::Lt, moved.ix(&Ix::Var(row)), rows.clone());
        Word::If(Box::new(guard), Box::new(word), Box::new(Word::Lit(Lit { elem, bits: 0 })))
    }

    /// Stores the rows of the blocks, as far as the tile is in use.
    fn by_rows(&mut self, to: &cachet_core::ir::Access) -> Stmt {
        let span = self.tile.span;
        let ((u, v), across) = (self.block, self.across());
        let (row, lane) = (self.tile.back.row, self.tile.back.lane);
        let name = self.after.vars[row.0.index()].name.clone();
        let i = self.after.add_var(name, VarKind::Index);
        let (q, l) = (self.after.add_var("q", VarKind::Index), self.after.add_var("l", VarKind::Lane(v)));
        let part = if across == 1 { Ix::Lit(0) } else { Ix::Var(q) };
        let block = sum(times(across, quotient(i, u)), part.clone());
        let at = vec![block, sum(times(v, remainder(i, u)), Ix::Var(l))];
        let mut subst = Subst::var(lane.0, sum(times(v, part.clone()), Ix::Var(l)));
        subst.vars.insert(row.0, Ix::Var(i));
        let store = StmtKind::Store { to: subst.access(to), word: Word::Local(self.blocks, at) };
        let mask = match lane.1 {
            Ix::Lit(n) if *n == self.tile.size.1 => Ix::Lit(v),
            active => {
                let left = match times(v, part) {
                    Ix::Lit(0) => active.clone(),
                    before => Ix::Sub(Box::new(active.clone()), Box::new(before)),
                };
                Ix::Max(Box::new(Ix::Lit(0)), Box::new(Ix::Min(Box::new(Ix::Lit(v)), Box::new(left))))
            }
        };
        let around = |var: Var, hi: Ix, inner: StmtKind| StmtKind::For {
            var,
            domain: Domain::Range { lo: Ix::Lit(0), hi },
            body: vec![Stmt { kind: inner, span }],
        };
        let mut nest = around(l, mask, store);
        if across != 1 {
            nest = around(q, Ix::Lit(across), nest);
        }
        Stmt { kind: around(i, row.1.clone(), nest), span }
    }

    /// A loop over the blocks around a vector statement.
    fn over_blocks(&mut self, kind: VarKind, stmt: impl FnOnce(&mut Self, Var, Var) -> StmtKind) -> Stmt {
        let span = self.tile.span;
        let (q, l) = (self.after.add_var("q", VarKind::Index), self.after.add_var("l", kind));
        let inner = Stmt { kind: stmt(self, q, l), span };
        let lanes = Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(self.lanes) };
        let body = vec![Stmt { kind: StmtKind::For { var: l, domain: lanes, body: vec![inner] }, span }];
        let hi = match self.down() {
            Ix::Lit(down) => Ix::Lit(self.across() * down),
            down => times(self.across(), down),
        };
        Stmt { kind: StmtKind::For { var: q, domain: Domain::Range { lo: Ix::Lit(0), hi }, body }, span }
    }

    /// What a row and a lane of the tile are in a block's lane.
    fn moved(&self, row: Var, lane: Var, q: Var, l: Var) -> Subst {
        let ((u, v), across) = (self.block, self.across());
        let mut subst = Subst::default();
        subst.vars.insert(row, sum(times(u, quotient(q, across)), quotient(l, v)));
        subst.vars.insert(lane, sum(times(v, remainder(q, across)), remainder(l, v)));
        subst
    }

    /// The words of the column and of the row, by lane: what the update multiplies.
    fn operands(&self, call: &StepCall) -> Result<(ByLane, ByLane), Diagnostic> {
        let (nest, word) = &self.tile.update;
        let own = Word::Local(self.tile.acc, vec![Ix::Var(nest.row.0), Ix::Var(nest.lane.0)]);
        let args: Vec<&Word> = match word {
            Word::Op { args, .. } | Word::Apply(_, args) => args.iter().filter(|a| **a != own).collect(),
            _ => vec![],
        };
        let changes = |w: &Word| {
            let vars = Live::of_word(w).vars;
            (vars.contains(&nest.row.0), vars.contains(&nest.lane.0))
        };
        let find = |wanted: (bool, bool)| args.iter().find(|w| changes(w) == wanted).map(|w| (*w).clone());
        let (Some(column), Some(row), 2) = (find((true, false)), find((false, true)), args.len()) else {
            let message =
                "an outer product is of a word that changes with the rows and one that changes with the lanes";
            let d = refused(call.span, message.into(), call);
            let text = cachet_core::print::Names::of(&Program::default(), &self.after).word(word);
            return Err(d.note(format!("the tile's update is `{text}`")));
        };
        let by = |var: Var, word: Word, active: &Ix, count: i64| -> ByLane {
            let (active, buffers) = (active.clone(), self.after.buffers.clone());
            Box::new(move |l| {
                let word = Subst::var(var, Ix::Var(l)).word(&word);
                if active == Ix::Lit(count) {
                    return word;
                }
                map_word(&word, &mut |w| match &w {
                    Word::Load(a) if a.at.iter().any(|ix| cachet_core::vectors::varies(ix, l)) => {
                        let Ty::Elem(elem) = buffers[a.buffer.index()].elem else { return w };
                        let other = Word::Lit(Lit { elem, bits: 0 });
                        let guard = Guard::Cmp(Rel::Lt, Ix::Var(l), active.clone());
                        Word::If(Box::new(guard), Box::new(w), Box::new(other))
                    }
                    _ => w,
                })
            })
        };
        // What a row's word loads is masked already.
        let whole = Ix::Lit(self.tile.size.1);
        Ok((by(nest.row.0, column, nest.row.1, self.tile.size.0), by(nest.lane.0, row, &whole, self.tile.size.1)))
    }

    /// A vector `let`.
    fn filled(&self, local: Local, (l, count): (Var, i64), word: Word) -> Block {
        let span = self.tile.span;
        let Ty::Elem(elem) = self.after.locals[local.index()].ty else { return vec![] };
        let declare = Stmt { kind: StmtKind::Var { local, init: Word::Lit(Lit { elem, bits: 0 }) }, span };
        let assign = Stmt { kind: StmtKind::Assign { local, at: vec![Ix::Var(l)], word }, span };
        let lanes = Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(count) };
        vec![declare, Stmt { kind: StmtKind::For { var: l, domain: lanes, body: vec![assign] }, span }]
    }

    /// Both sides are undone down to the cells of the array, and the loops over them cut into the same blocks.
    fn recipe(&mut self, row: &Named, into: &Named, names: &[String; 2], call: &StepCall) -> Vec<Move> {
        let name = |l: Local| self.after.locals[l.index()].name.clone();
        let at = |side: Side, name: &str, nth: u32| LoopRef { side, name: name.to_string(), nth, rank: false };
        let acc = name(self.tile.acc);
        let mut lines: Vec<MoveKind> =
            self.tile.named.iter().rev().map(|l| MoveKind::Copy(Side::S, name(*l))).collect();
        lines.extend(names.iter().rev().map(|n| MoveKind::Copy(Side::T, n.clone())));
        if self.is_ragged() {
            let blocks = name(self.blocks);
            lines.extend(self.apart(row, (acc, blocks)));
            return lines.into_iter().map(|kind| Move { kind, span: At(call.span) }).collect();
        }
        let (active, lanes) = (self.tile.back.lane.1, self.tile.size.1);
        if *active != Ix::Lit(lanes) {
            let to = PatIx::Known(active.clone());
            lines.push(MoveKind::Narrow { side: Side::S, local: acc.clone(), axis: 1, to });
        }
        lines.push(MoveKind::Carry { side: Side::S, local: acc, buffer: into.name.clone() });
        lines.push(MoveKind::Carry { side: Side::T, local: name(self.blocks), buffer: into.name.clone() });
        let sum = self.after.vars[self.tile.sum.0.index()].name.clone();
        let lane = |nest: &Nest<'_>| self.after.vars[nest.lane.0.index()].name.clone();
        let ((u, v), across) = (self.block, self.across());
        for (nth, nest) in self.kept_start().into_iter().chain([&self.tile.update.0]).enumerate() {
            let (nth, lane) = (nth as u32 + 1, lane(nest));
            let (down, side_by_side) = (format!("down_{nth}"), format!("across_{nth}"));
            let split = |of: LoopRef, by: i64, outer: &str| MoveKind::Split {
                of,
                by: PatIx::Lit(by),
                outer: outer.to_string(),
                ragged: false,
            };
            lines.push(split(at(Side::S, &row.name, nth), u, &down));
            lines.push(split(at(Side::S, &lane, nth), v, &side_by_side));
            let mut order = vec![
                at(Side::S, &down, 1),
                at(Side::S, &side_by_side, 1),
                at(Side::S, &row.name, nth),
                at(Side::S, &lane, nth),
            ];
            if std::ptr::eq(nest, &self.tile.update.0) {
                order.insert(0, at(Side::S, &sum, 1));
            }
            lines.push(MoveKind::Order(order));
            lines.push(split(at(Side::T, "q", nth), across, &down));
            lines.push(split(at(Side::T, "l", nth), v, &side_by_side));
        }
        lines.into_iter().map(|kind| Move { kind, span: At(call.span) }).collect()
    }

    /// `T`'s cells are named as `S`'s and left alone where no row is, and `S`'s loops cut into blocks that go as far as `T`'s.
    fn apart(&mut self, row: &Named, (acc, blocks): (String, String)) -> Vec<MoveKind> {
        let at = |side: Side, name: &str, nth: u32| LoopRef { side, name: name.to_string(), nth, rank: false };
        let ((u, v), across) = (self.block, self.across());
        let (b, x) = (self.after.add_var("b", VarKind::Index), self.after.add_var("l", VarKind::Index));
        let cell = vec![
            sum(times(u, quotient(b, across)), quotient(x, v)),
            sum(times(v, remainder(b, across)), remainder(x, v)),
        ];
        let dims = vec![self.tile.size.0, self.tile.size.1];
        let (rows, lanes) = (self.tile.back.row.1.clone(), self.tile.back.lane.1.clone());
        let all_rows = matches!(rows, Ix::Lit(n) if n % u == 0);
        let name = acc.clone();
        let mut lines = vec![MoveKind::Relayout { side: Side::T, local: blocks, name, dims, axes: vec![b, x], cell }];
        if !all_rows {
            lines.push(MoveKind::Narrow { side: Side::T, local: acc, axis: 0, to: PatIx::Known(rows) });
        }
        let name = |v: Var| self.after.vars[v.index()].name.clone();
        let (k, lane) = (name(self.tile.sum.0), name(self.tile.update.0.lane.0));
        let exact = |of: LoopRef, by: i64, outer: &str| MoveKind::Split {
            of,
            by: PatIx::Lit(by),
            outer: outer.to_string(),
            ragged: false,
        };
        let last = 1 + u32::from(self.tile.start.is_some());
        for nth in 1..=last {
            let (down, side_by_side) = (format!("down_{nth}"), format!("across_{nth}"));
            lines.push(match all_rows {
                true => exact(at(Side::S, &row.name, nth), u, &down),
                false => MoveKind::Cover {
                    of: at(Side::S, &row.name, nth),
                    by: u,
                    outer: down.clone(),
                    count: PatIx::Known(self.down()),
                },
            });
            lines.push(exact(at(Side::S, &lane, nth), v, &side_by_side));
            let mut order = vec![
                at(Side::S, &down, 1),
                at(Side::S, &side_by_side, 1),
                at(Side::S, &row.name, nth),
                at(Side::S, &lane, nth),
            ];
            if nth == last {
                order.insert(0, at(Side::S, &k, 1));
            }
            lines.push(MoveKind::Order(order));
            if !all_rows {
                lines.push(MoveKind::Widen { of: at(Side::S, &row.name, nth), to: PatIx::Lit(u) });
            }
            lines.push(exact(at(Side::T, "q", nth), across, &down));
            lines.push(exact(at(Side::T, "l", nth), v, &side_by_side));
        }
        let stored = at(Side::S, &lane, last + 1);
        match (across, lanes == Ix::Lit(self.tile.size.1)) {
            (1, _) => {}
            (_, true) => lines.push(exact(stored, v, "across_back")),
            (_, false) => lines.push(MoveKind::Cover {
                of: stored,
                by: v,
                outer: "across_back".into(),
                count: PatIx::Lit(across),
            }),
        }
        lines
    }

    /// The nest that starts the sums in the array, where it is more than a load of the cells. What a tile is declared with
    /// is stored by the loops that store the tile back.
    fn kept_start(&self) -> Option<&Nest<'_>> {
        let Some(start) = &self.tile.start else { return Some(&self.tile.back) };
        let StmtKind::Assign { word, .. } = start.stmt else { return None };
        let plain = |w: &Word| match w {
            Word::Load(_) => true,
            Word::If(_, then, other) => matches!((&**then, &**other), (Word::Load(_), Word::Lit(_))),
            _ => false,
        };
        (!plain(word)).then_some(start)
    }
}

/// Lanes of a local vector, by their lane.
fn slice(after: &mut Fun, local: Local, from: Ix) -> LaneWord {
    let lane = after.add_var("l", VarKind::Lane(1));
    LaneWord::of(&Word::Local(local, vec![sum(from, Ix::Var(lane))]), lane)
}

/// `var / n`; by one nothing is divided, and proofs need not know that.
fn quotient(var: Var, n: i64) -> Ix {
    if n == 1 { Ix::Var(var) } else { Ix::Div(Box::new(Ix::Var(var)), n) }
}

/// `var % n`.
fn remainder(var: Var, n: i64) -> Ix {
    if n == 1 { Ix::Lit(0) } else { Ix::Mod(Box::new(Ix::Var(var)), n) }
}

fn times(n: i64, ix: Ix) -> Ix {
    if ix == Ix::Lit(0) || n == 1 { ix } else { Ix::Mul(n, Box::new(ix)) }
}

fn sum(a: Ix, b: Ix) -> Ix {
    match (a, b) {
        (Ix::Lit(0), ix) | (ix, Ix::Lit(0)) => ix,
        (a, b) => Ix::Add(Box::new(a), Box::new(b)),
    }
}
