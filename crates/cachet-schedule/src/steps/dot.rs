//! `dot_products k c f`: a tile in registers adds several terms of its sum at once, by an instruction.
//!
//! What `registers` made adds one term to a row of the tile. The body of an instruction that adds so many terms to each lane,
//! one after another, is read off: which lanes of its operands each term takes, and in which order. The loop over the sum's
//! index becomes one over groups of terms, in which the operands are vectors that hold a group's words as the instruction
//! wants them, and a loop over the terms that are left, which are added as before. So the totals are added in the same order,
//! and nothing is asked of the number of terms.

use super::tile::{Nest, Tile, assigns, tiles};
use super::{Named, names};
use crate::refusal;
use cachet_core::instr::{Instr, InstrParam, LaneWord, Operand};
use cachet_core::ir::{
    Block, Domain, Fun, Guard, InstrId, Ix, Lit, Local, LocalInfo, Program, Rel, Stmt, StmtKind, Ty, Var, VarKind, Word,
};
use cachet_core::linear::Linear;
use cachet_core::pattern::{LoopRef, Move, MoveKind, PatIx, Side};
use cachet_core::rewrite::{Live, Subst, map_word, refresh};
use cachet_core::script::{DotCall, Rewrite, StepCall};
use cachet_source::{Diagnostic, Span, codes};

/// The most terms that one use of an instruction adds.
const MOST_TERMS: usize = 16;

/// What an operand of the instruction holds.
struct Given {
    /// One term's word, in the tile's row and lane and the sum's index.
    word: Word,
    /// Whether each lane of the tile has its own words.
    by_lane: bool,
    /// Whether the last term of a group stands first.
    reversed: bool,
}

/// How an instruction adds terms.
struct Reading<'p> {
    instr: &'p Instr,
    id: InstrId,
    /// How many terms.
    group: i64,
    /// Its operands in order; nothing for the totals.
    operands: Vec<Option<Given>>,
}

/// A tile in the making.
struct Grouped<'a> {
    tile: Tile<'a>,
    after: Fun,
    reading: Reading<'a>,
    /// The tile, a part of a row in each vector.
    blocks: Local,
    /// Vectors that the recipe undoes, innermost first.
    copies: Vec<String>,
    /// The loop over groups.
    groups: Var,
}

/// Adds several terms at once.
pub fn apply(program: &Program, fun: &Fun, call: &StepCall, dot: &DotCall) -> Result<Rewrite, Diagnostic> {
    let named = names(&[dot.sum.clone(), dot.into.clone()], call)?;
    let [sum, into] = named.as_slice() else {
        return Err(refused(call.span, "`dot_products` names a loop and an array".into(), call));
    };
    let tile = tile(fun, sum, into, call)?;
    let reading = reading(program, fun, &tile, dot, call)?;
    let mut after = fun.clone();
    let (rows, parts) = (tile.size.0, tile.size.1 / reading.instr.lanes);
    let info = &fun.locals[tile.acc.index()];
    let name = after.fresh_name("blocks");
    let dims = vec![rows * parts, reading.instr.lanes];
    let blocks = after.add_local(LocalInfo { name, ty: info.ty.clone(), dims, vector: true, mutable: true });
    let groups = after.fresh_name(&format!("{}_group", sum.name));
    let groups = after.add_var(groups, VarKind::Index);
    let mut made = Grouped { tile, after, reading, blocks, copies: Vec::new(), groups };
    let block = made.block(call)?;
    let recipe = made.recipe(sum, call);
    let from = made.tile.site.clone();
    let mut after = made.after;
    match from.replace(&mut after, block) {
        Some(to) => Ok(Rewrite { after, from, to, recipe }),
        None => Err(refused(sum.span, "the tile is gone".into(), call)),
    }
}

fn refused(span: Span, message: String, call: &StepCall) -> Diagnostic {
    refusal::with_callers(Diagnostic::error(codes::STEP_ARGUMENT, span, message), call)
}

/// The tile whose sum a loop counts and that is stored to an array.
fn tile<'f>(fun: &'f Fun, sum: &Named, into: &Named, call: &StepCall) -> Result<Tile<'f>, Diagnostic> {
    let mut found = Vec::new();
    tiles(fun, &fun.body, &mut Vec::new(), &mut found);
    let stores = |t: &Tile<'_>| match t.back.stmt {
        StmtKind::Store { to, .. } => fun.buffers[to.buffer.index()].name == into.name,
        _ => false,
    };
    found.retain(|t| fun.vars[t.sum.0.index()].name == sum.name && stores(t));
    match (found.len(), sum.nth) {
        (1, _) => Ok(found.remove(0)),
        (n, Some(nth)) if (1..=n).contains(&(nth as usize)) => Ok(found.remove(nth as usize - 1)),
        (0, _) | (_, Some(_)) => {
            let message = format!("no tile of `{}` whose sum is over `{}` is held in registers", into.name, sum.name);
            let d = refused(sum.span, message, call);
            Err(d.help("`dot_products` comes after `registers`, to whose tile it adds several terms at once"))
        }
        (n, None) => {
            let message = format!("{n} tiles of `{}` with sums over `{}` are held in registers", into.name, sum.name);
            Err(refused(sum.span, message, call).help(format!("say which: `{}#2`", sum.name)))
        }
    }
}

/// How the instruction adds terms of the tile's sum.
fn reading<'p>(
    program: &'p Program,
    fun: &Fun,
    tile: &Tile<'_>,
    dot: &DotCall,
    call: &StepCall,
) -> Result<Reading<'p>, Diagnostic> {
    let (id, name, span) = &dot.through;
    let Some(instr) = program.instrs.get(id.index()) else {
        return Err(refused(*span, format!("there is no instruction `{name}`"), call));
    };
    let info = &fun.locals[tile.acc.index()];
    if info.ty != Ty::Elem(instr.elem) {
        let text = match info.ty {
            Ty::Elem(elem) => format!("`{name}` gives {}, and the tile's totals are {elem}", instr.elem),
            Ty::Abstract(_) | Ty::Tuple(_) => "the element type of the tile is not known yet".into(),
        };
        return Err(refused(*span, text, call));
    }
    let (lanes, count) = (tile.size.1, instr.lanes);
    if lanes % count != 0 {
        let message = format!("the tile has {lanes} lanes, which is no multiple of the {count} of `{name}`");
        return Err(refused(*span, message, call));
    }
    let (nest, step) = &tile.update;
    let own = Word::Local(tile.acc, vec![Ix::Var(nest.row.0), Ix::Var(nest.lane.0)]);
    let mut scratch = fun.clone();
    let marks: Vec<Var> = (0..MOST_TERMS).map(|_| scratch.add_var("k", VarKind::Index)).collect();
    let mut chain = own.clone();
    for group in 1..=MOST_TERMS {
        let term = Subst::var(tile.sum.0, Ix::Var(marks[group - 1])).word(step);
        let total = std::mem::replace(&mut chain, own.clone());
        chain = map_word(&term, &mut |w| if w == own { total.clone() } else { w });
        let mut samples = Samples { instr, found: vec![Vec::new(); instr.params.len()], fits: true };
        samples.word(&instr.body, &chain);
        if samples.fits {
            let about = Terms { fun, tile, own: &own, marks: &marks[..group], name };
            let operands = about.operands(instr, samples.found).map_err(|why| refused(*span, why, call))?;
            return Ok(Reading { instr, id: *id, group: group as i64, operands });
        }
    }
    let text = cachet_core::print::Names::of(program, fun).word(step);
    let message = format!("the body of `{name}` does not add one term after another as the tile's sum does");
    Err(refused(*span, message, call).note(format!("the tile's update is `{text}`")))
}

/// A body and a word side by side: which word stands for which lane of a parameter.
struct Samples<'a> {
    instr: &'a Instr,
    found: Vec<Vec<(Ix, Word)>>,
    fits: bool,
}

impl Samples<'_> {
    fn word(&mut self, body: &Word, word: &Word) {
        match (body, word) {
            (Word::Local(l, at), _) => {
                let param = self.instr.params.iter().position(|p| *p == InstrParam::Vector(*l));
                match (param, at.as_slice()) {
                    (Some(n), [lane]) => self.found[n].push((lane.clone(), word.clone())),
                    _ => self.fits = false,
                }
            }
            (Word::Op { op, arith, args }, Word::Op { op: o, arith: d, args: words }) => {
                self.fits &= (op, arith, args.len()) == (o, d, words.len());
                args.iter().zip(words).for_each(|(b, w)| self.word(b, w));
            }
            (Word::Apply(f, args), Word::Apply(g, words)) => {
                self.fits &= (f, args.len()) == (g, words.len());
                args.iter().zip(words).for_each(|(b, w)| self.word(b, w));
            }
            (Word::Lit(a), Word::Lit(b)) => self.fits &= a == b,
            _ => self.fits = false,
        }
    }
}

/// The terms that a chain adds.
struct Terms<'a> {
    fun: &'a Fun,
    tile: &'a Tile<'a>,
    own: &'a Word,
    /// The sum's index in each term.
    marks: &'a [Var],
    name: &'a str,
}

impl Terms<'_> {
    fn operands(&self, instr: &Instr, found: Vec<Vec<(Ix, Word)>>) -> Result<Vec<Option<Given>>, String> {
        let mut totals = 0;
        let mut out = Vec::new();
        for (param, samples) in instr.params.iter().zip(found) {
            let name = instr.param_name(*param).to_string();
            let (InstrParam::Vector(_), Some((elem, count))) = (param, instr.param_vector(*param)) else {
                return Err(format!("`{}` takes an index, `{name}`", self.name));
            };
            if samples.iter().any(|(_, w)| w == self.own) {
                if samples.iter().any(|(at, w)| w != self.own || *at != Ix::Var(instr.lane)) {
                    return Err(format!("`{name}` of `{}` is no total, lane by lane", self.name));
                }
                totals += 1;
                out.push(None);
                continue;
            }
            let given = self.given(instr, (&name, count), &samples)?;
            let is = self.elem(&given.word);
            if is != Some(elem) {
                let what = is.map_or("something else".to_string(), |e| e.to_string());
                return Err(format!(
                    "`{name}` of `{}` has lanes of {elem}, and the terms are made of {what}",
                    self.name
                ));
            }
            out.push(Some(given));
        }
        if totals != 1 {
            return Err(format!("`{}` adds to no vector of totals", self.name));
        }
        Ok(out)
    }

    fn given(&self, instr: &Instr, (name, count): (&str, i64), samples: &[(Ix, Word)]) -> Result<Given, String> {
        let group = self.marks.len() as i64;
        let mut read: Vec<(i64, i64, Option<i64>, Word)> = Vec::new();
        for (at, word) in samples {
            let lane = Linear::of(at).filter(|l| l.terms.iter().all(|(_, ix)| *ix == Ix::Var(instr.lane)));
            let Some(lane) = lane else { return Err(format!("lanes of `{name}` are read in no simple order")) };
            let step = lane.terms.first().map_or(0, |t| t.0);
            let vars = Live::of_word(word).vars;
            let term = self.marks.iter().position(|m| vars.contains(m));
            let mut back = Subst::default();
            self.marks.iter().for_each(|m| {
                back.vars.insert(*m, Ix::Var(self.tile.sum.0));
            });
            read.push((step, lane.constant, term.map(|t| t as i64), back.word(word)));
        }
        let Some((step, _, _, word)) = read.first().cloned() else { return Err(format!("`{name}` is not read")) };
        let by_lane = step != 0;
        if read.iter().any(|(s, _, _, w)| *s != step || *w != word) || (by_lane && step != group) {
            return Err(format!("`{name}` of `{}` does not hold one word of each term for each lane", self.name));
        }
        let wanted = if by_lane { group * instr.lanes } else { group };
        if count != wanted || read.iter().any(|r| !(0..group).contains(&r.1)) {
            return Err(format!("`{name}` of `{}` has {count} lanes, and {wanted} are needed", self.name));
        }
        let lane = self.tile.update.0.lane.0;
        if !by_lane && Live::of_word(&word).vars.contains(&lane) {
            return Err(format!("`{name}` of `{}` is the same for all lanes, and the terms are not", self.name));
        }
        let ascending = read.iter().all(|(_, h, t, _)| t.is_none_or(|t| t == *h));
        let reversed = !ascending && read.iter().all(|(_, h, t, _)| t.is_none_or(|t| t == group - 1 - h));
        if !ascending && !reversed {
            let order = "neither one after another nor the last first";
            return Err(format!("`{}` takes the terms of `{name}` {order}", self.name));
        }
        Ok(Given { word, by_lane, reversed })
    }

    /// The element that a term's word is of.
    fn elem(&self, word: &Word) -> Option<cachet_core::ir::Elem> {
        let ty = match word {
            Word::Load(a) => self.fun.buffers.get(a.buffer.index()).map(|b| b.elem.clone()),
            Word::Local(l, _) => self.fun.locals.get(l.index()).map(|l| l.ty.clone()),
            Word::Lit(l) => Some(Ty::Elem(l.elem)),
            Word::If(_, a, _) => return self.elem(a),
            // What is computed of a term is as wide as its total, or it would have stopped above.
            _ => self.fun.locals.get(self.tile.acc.index()).map(|l| l.ty.clone()),
        };
        match ty {
            Some(Ty::Elem(e)) => Some(e),
            _ => None,
        }
    }
}

impl Grouped<'_> {
    fn parts(&self) -> i64 {
        self.tile.size.1 / self.reading.instr.lanes
    }

    /// The statements that the tile's become.
    fn block(&mut self, call: &StepCall) -> Result<Block, Diagnostic> {
        let span = self.tile.span;
        let mut out = vec![Stmt { kind: StmtKind::Var { local: self.blocks, init: self.tile.init.clone() }, span }];
        if let Some(start) = &self.tile.start
            && let Some(word) = assigns(start, self.tile.acc).cloned()
        {
            let (row, lane) = ((start.row.0, start.row.1.clone()), start.lane.0);
            out.push(self.over_rows(&row, |this, i| vec![this.plain(i, (row.0, lane), &word)]));
        }
        let (k, domain) = self.tile.sum;
        let Domain::Range { lo, hi } = domain.clone() else {
            return Err(refused(call.span, "the tile's sum runs over blocks".into(), call));
        };
        let many = Ix::Div(Box::new(cachet_core::linear::difference(&hi, &lo)), self.reading.group);
        let body = self.grouped(&lo);
        let groups = match self.reading.group {
            1 => StmtKind::For { var: k, domain: domain.clone(), body },
            _ => StmtKind::For { var: self.groups, domain: Domain::Range { lo: Ix::Lit(0), hi: many.clone() }, body },
        };
        out.push(Stmt { kind: groups, span });
        if self.reading.group != 1 && !self.is_whole(&hi, &lo) {
            let rest = Domain::Range { lo: self.rest(&lo, &many), hi };
            let body = self.one_by_one();
            let stmt = Stmt { kind: StmtKind::For { var: k, domain: rest, body }, span };
            out.extend(refresh(&mut self.after, &[stmt]));
        }
        let (row, lane) = ((self.tile.back.row.0, self.tile.back.row.1.clone()), self.tile.back.lane);
        let StmtKind::Store { to, .. } = self.tile.back.stmt else {
            return Err(refused(call.span, "the tile is not stored".into(), call));
        };
        let to = to.clone();
        let active = lane.1.clone();
        out.push(self.over_rows(&row, |this, i| {
            let whole = active == Ix::Lit(this.tile.size.1);
            vec![this.over_parts(|this, q, l| {
                let mut subst = this.lane_of(lane.0, q.clone(), l);
                subst.vars.insert(row.0, Ix::Var(i));
                let word = Word::Local(this.blocks, this.cell(i, q.clone(), l));
                let left = minus(active.clone(), times(this.reading.instr.lanes, &q));
                let all = Ix::Lit(this.reading.instr.lanes);
                let least = Ix::Min(Box::new(all.clone()), Box::new(left));
                let mask = if whole { all } else { Ix::Max(Box::new(Ix::Lit(0)), Box::new(least)) };
                (mask, VarKind::Lane(this.reading.instr.lanes), StmtKind::Store { to: subst.access(&to), word })
            })]
        }));
        Ok(out)
    }

    /// Whether no terms are left over.
    fn is_whole(&self, hi: &Ix, lo: &Ix) -> bool {
        matches!(cachet_core::linear::difference(hi, lo), Ix::Lit(n) if n % self.reading.group == 0)
    }

    /// Where the terms begin that are left.
    fn rest(&self, lo: &Ix, many: &Ix) -> Ix {
        plus(lo.clone(), Ix::Mul(self.reading.group, Box::new(many.clone())))
    }

    /// A loop over the tile's rows.
    fn over_rows(&mut self, row: &(Var, Ix), body: impl FnOnce(&mut Self, Var) -> Block) -> Stmt {
        let name = self.after.vars[row.0.index()].name.clone();
        let i = self.after.add_var(name, VarKind::Index);
        let body = body(self, i);
        let domain = Domain::Range { lo: Ix::Lit(0), hi: row.1.clone() };
        Stmt { kind: StmtKind::For { var: i, domain, body }, span: self.tile.span }
    }

    /// A loop over the vectors of a row around a vector statement: its mask, the kind of its lanes, and itself.
    fn over_parts(&mut self, stmt: impl FnOnce(&mut Self, Ix, Var) -> (Ix, VarKind, StmtKind)) -> Stmt {
        let span = self.tile.span;
        let q = self.after.add_var("q", VarKind::Index);
        let l = self.after.add_var("l", VarKind::Lane(self.reading.instr.lanes));
        let one = self.parts() == 1;
        let (mask, kind, inner) = stmt(self, if one { Ix::Lit(0) } else { Ix::Var(q) }, l);
        self.after.vars[l.index()].kind = kind;
        let lanes = Domain::Range { lo: Ix::Lit(0), hi: mask };
        let inner =
            Stmt { kind: StmtKind::For { var: l, domain: lanes, body: vec![Stmt { kind: inner, span }] }, span };
        if one {
            return inner;
        }
        let domain = Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(self.parts()) };
        Stmt { kind: StmtKind::For { var: q, domain, body: vec![inner] }, span }
    }

    /// The cell of a vector of a row.
    fn cell(&self, i: Var, q: Ix, l: Var) -> Vec<Ix> {
        vec![plus(times(self.parts(), &Ix::Var(i)), q), Ix::Var(l)]
    }

    /// What a lane of the tile is in a vector of a row.
    fn lane_of(&self, lane: Var, q: Ix, l: Var) -> Subst {
        Subst::var(lane, plus(times(self.reading.instr.lanes, &q), Ix::Var(l)))
    }

    /// Assigns a word of a row and a lane of the tile.
    fn plain(&mut self, i: Var, (row, lane): (Var, Var), word: &Word) -> Stmt {
        let count = self.reading.instr.lanes;
        self.over_parts(|this, q, l| {
            let mut subst = this.lane_of(lane, q.clone(), l);
            subst.vars.insert(row, Ix::Var(i));
            let at = this.cell(i, q, l);
            (Ix::Lit(count), VarKind::Lane(count), StmtKind::Assign { local: this.blocks, at, word: subst.word(word) })
        })
    }

    /// A group of terms.
    fn grouped(&mut self, lo: &Ix) -> Block {
        let row = (self.tile.update.0.row.0, self.tile.update.0.row.1.clone());
        let (mut before, mut inside): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        for (n, given) in self.reading.operands.iter().enumerate() {
            let Some(given) = given else { continue };
            let by_row = Live::of_word(&given.word).vars.contains(&row.0);
            if by_row { inside.push(n) } else { before.push(n) }
        }
        let mut vectors: Vec<Option<Local>> = vec![None; self.reading.operands.len()];
        let mut body: Block = Vec::new();
        for n in before {
            body.extend(self.operand(n, lo, None, &mut vectors));
        }
        let stmt = self.over_rows(&row, |this, i| {
            let mut block: Block = Vec::new();
            for n in inside {
                block.extend(this.operand(n, lo, Some((row.0, i)), &mut vectors));
            }
            block.push(this.over_parts(|this, q, l| this.through(&vectors, i, q, l)));
            block
        });
        body.push(stmt);
        body
    }

    /// A vector that holds what an operand takes of a group of terms.
    fn operand(&mut self, n: usize, lo: &Ix, row: Option<(Var, Var)>, vectors: &mut [Option<Local>]) -> Block {
        let group = self.reading.group;
        let Some(Some(given)) = self.reading.operands.get(n) else { return vec![] };
        let (word, by_lane, reversed) = (given.word.clone(), given.by_lane, given.reversed);
        let param = self.reading.instr.params[n];
        let Some((elem, _)) = self.reading.instr.param_vector(param) else { return vec![] };
        let count = if by_lane { group * self.tile.size.1 } else { group };
        let wanted = if by_lane { "lanes" } else { "row" };
        let name = self.named(wanted);
        let local = LocalInfo { name, ty: Ty::Elem(elem), dims: vec![count], vector: true, mutable: false };
        let local = self.after.add_local(local);
        vectors[n] = Some(local);
        let m = self.after.add_var("l", VarKind::Lane(count));
        let lane = self.tile.update.0.lane.0;
        // Which of the first lanes take part is said of the vector's own.
        let word = map_word(&word, &mut |w| match &w {
            Word::If(g, a, b) => match &**g {
                Guard::Cmp(Rel::Lt, Ix::Var(v), active) if *v == lane => {
                    let g = Guard::Cmp(Rel::Lt, Ix::Var(m), times(group, active));
                    Word::If(Box::new(g), a.clone(), b.clone())
                }
                _ => w,
            },
            _ => w,
        });
        let (within, first) = match (by_lane, group) {
            (true, 1) => (Ix::Lit(0), Ix::Var(m)),
            (true, n) => (Ix::Mod(Box::new(Ix::Var(m)), n), Ix::Div(Box::new(Ix::Var(m)), n)),
            (false, 1) => (Ix::Lit(0), Ix::Var(lane)),
            (false, n) => (Ix::Mod(Box::new(Ix::Var(m)), n), Ix::Var(lane)),
        };
        let within = if reversed { Ix::Sub(Box::new(Ix::Lit(group - 1)), Box::new(within)) } else { within };
        let mut subst = Subst::var(lane, first);
        if group != 1 {
            let k = plus(lo.clone(), plus(times(group, &Ix::Var(self.groups)), within));
            subst.vars.insert(self.tile.sum.0, k);
        }
        if let Some((from, to)) = row {
            subst.vars.insert(from, Ix::Var(to));
        }
        let span = self.tile.span;
        let zero = Word::Lit(Lit { elem, bits: 0 });
        let declare = Stmt { kind: StmtKind::Var { local, init: zero }, span };
        let assign = StmtKind::Assign { local, at: vec![Ix::Var(m)], word: subst.word(&word) };
        let lanes = Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(count) };
        let fill = StmtKind::For { var: m, domain: lanes, body: vec![Stmt { kind: assign, span }] };
        vec![declare, Stmt { kind: fill, span }]
    }

    fn named(&mut self, wanted: &str) -> String {
        let group = if self.reading.group == 1 { "all" } else { "group" };
        let wanted = format!("{wanted}_{group}");
        let taken = |name: &String| self.copies.contains(name);
        let fresh = |n: u64| self.after.fresh_name(&if n == 1 { wanted.clone() } else { format!("{wanted}_{n}") });
        let name = (1u64..).map(fresh).find(|n| !taken(n)).unwrap_or_default();
        self.copies.push(name.clone());
        name
    }

    /// The instruction applied to a vector of a row.
    fn through(&mut self, vectors: &[Option<Local>], i: Var, q: Ix, l: Var) -> (Ix, VarKind, StmtKind) {
        let (instr, id, group) = (self.reading.instr, self.reading.id, self.reading.group);
        let at = self.cell(i, q.clone(), l);
        let by_lane: Vec<bool> = self.reading.operands.iter().map(|o| o.as_ref().is_some_and(|g| g.by_lane)).collect();
        let lane = self.after.add_var("l", VarKind::Lane(1));
        let operands: Vec<Operand> = vectors
            .iter()
            .zip(by_lane)
            .map(|(vector, by_lane)| {
                let from = if by_lane { times(group * instr.lanes, &q) } else { Ix::Lit(0) };
                let word = match vector {
                    Some(local) => Word::Local(*local, vec![plus(from, Ix::Var(lane))]),
                    None => Word::Local(self.blocks, vec![at[0].clone(), Ix::Var(lane)]),
                };
                Operand::Vector(LaneWord::of(&word, lane))
            })
            .collect();
        let word = instr.word(&operands, &Ix::Var(l));
        let stmt = StmtKind::Assign { local: self.blocks, at, word };
        (Ix::Lit(instr.lanes), VarKind::Instr(instr.lanes, id), stmt)
    }

    /// What is left of the terms, as they were added before.
    fn one_by_one(&mut self) -> Block {
        let body =
            match self.tile.site.stmts(&self.after).and_then(|s| s.get(usize::from(self.tile.start.is_some()) + 1)) {
                Some(Stmt { kind: StmtKind::For { body, .. }, .. }) => body.clone(),
                _ => return vec![],
            };
        let Some((last, before)) = body.split_last() else { return vec![] };
        let StmtKind::For { var: row, domain: Domain::Range { hi, .. }, body } = &last.kind else { return vec![] };
        let Some((update, inside)) = body.split_last() else { return vec![] };
        let StmtKind::For { var: lane, body, .. } = &update.kind else { return vec![] };
        let [Stmt { kind: StmtKind::Assign { word, .. }, .. }] = body.as_slice() else { return vec![] };
        let mut out = before.to_vec();
        let acc = self.tile.acc;
        out.push(self.over_rows(&(*row, hi.clone()), |this, i| {
            let mut block = Subst::var(*row, Ix::Var(i)).block(inside);
            let count = this.reading.instr.lanes;
            block.push(this.over_parts(|this, q, l| {
                let mut subst = this.lane_of(*lane, q.clone(), l);
                subst.vars.insert(*row, Ix::Var(i));
                let at = this.cell(i, q, l);
                let (blocks, own) = (this.blocks, at.clone());
                let word = map_word(&subst.word(word), &mut |w| match &w {
                    Word::Local(t, _) if *t == acc => Word::Local(blocks, own.clone()),
                    _ => w,
                });
                (Ix::Lit(count), VarKind::Lane(count), StmtKind::Assign { local: blocks, at, word })
            }));
            block
        }));
        out
    }

    /// `T`'s vectors are undone and its cells named as `S`'s; `S`'s terms are taken in groups, those of each cell together, and
    /// its rows in vectors.
    fn recipe(&mut self, sum: &Named, call: &StepCall) -> Vec<Move> {
        let name = |l: Local| self.after.locals[l.index()].name.clone();
        let s = |name: &str, nth: u32| LoopRef { side: Side::S, name: name.to_string(), nth, rank: false };
        let group = self.reading.group;
        let (count, parts) = (self.reading.instr.lanes, self.parts());
        let named: Vec<String> = self.tile.named.iter().rev().map(|l| name(*l)).collect();
        let mut lines: Vec<MoveKind> = self.copies.iter().rev().map(|n| MoveKind::Copy(Side::T, n.clone())).collect();
        let (lo, hi) = match self.tile.sum.1 {
            Domain::Range { lo, hi } | Domain::Blocks { lo, hi, .. } => (lo.clone(), hi.clone()),
        };
        let left = group != 1 && !self.is_whole(&hi, &lo);
        if left {
            lines.extend(named.iter().map(|n| MoveKind::Copy(Side::T, n.clone())));
        }
        lines.extend(named.iter().map(|n| MoveKind::Copy(Side::S, n.clone())));
        let (acc, blocks) = (name(self.tile.acc), name(self.blocks));
        let lane_name = |nest: &Nest<'_>| self.after.vars[nest.lane.0.index()].name.clone();
        let row_name = self.after.vars[self.tile.update.0.row.0.index()].name.clone();
        let (lanes, back) = (lane_name(&self.tile.update.0), lane_name(&self.tile.back));
        let started = u32::from(self.tile.start.is_some());
        let start = self.tile.start.as_ref().map(lane_name);
        let active = self.tile.back.lane.1.clone();
        let groups = self.after.vars[self.groups.index()].name.clone();
        if left {
            let many = Ix::Div(Box::new(cachet_core::linear::difference(&hi, &lo)), group);
            lines.push(MoveKind::Cut { of: s(&sum.name, 1), at: PatIx::Known(self.rest(&lo, &many)) });
        }
        if group != 1 {
            let by = PatIx::Lit(group);
            lines.push(MoveKind::Split { of: s(&sum.name, 1), by, outer: groups.clone(), ragged: false });
            lines.push(MoveKind::Order(vec![
                s(&groups, 1),
                s(&row_name, started + 1),
                s(&lanes, started + 1),
                s(&sum.name, 1),
            ]));
            lines.push(MoveKind::Unroll(s(&sum.name, 1)));
        }
        if parts != 1 {
            let (b, l) = (self.after.add_var("b", VarKind::Index), self.after.add_var("l", VarKind::Index));
            let across = |ix: Ix| Ix::Mul(count, Box::new(ix));
            let cell = vec![
                Ix::Div(Box::new(Ix::Var(b)), parts),
                plus(across(Ix::Mod(Box::new(Ix::Var(b)), parts)), Ix::Var(l)),
            ];
            let dims = vec![self.tile.size.0, self.tile.size.1];
            let relayout = MoveKind::Relayout { side: Side::T, local: blocks, name: acc, dims, axes: vec![b, l], cell };
            lines.push(relayout);
            // The start's lanes, those of the groups and of the terms that are left, and those that are stored.
            let mut nests: Vec<&String> = start.iter().chain([&lanes]).collect();
            nests.extend(left.then_some(&lanes));
            for (n, lane) in nests.iter().enumerate() {
                let nth = n as u32 + 1;
                lines.push(MoveKind::Split {
                    of: s(lane, nth),
                    by: PatIx::Lit(count),
                    outer: format!("part_{nth}"),
                    ragged: false,
                });
            }
            let nth = nests.len() as u32 + 1;
            let of = s(&back, nth);
            lines.push(match active == Ix::Lit(self.tile.size.1) {
                true => MoveKind::Split { of, by: PatIx::Lit(count), outer: format!("part_{nth}"), ragged: false },
                false => MoveKind::Cover { of, by: count, outer: format!("part_{nth}"), count: PatIx::Lit(parts) },
            });
        }
        lines.into_iter().map(|kind| Move { kind, span: cachet_core::ir::At(call.span) }).collect()
    }
}

fn times(n: i64, ix: &Ix) -> Ix {
    match ix {
        Ix::Lit(m) => Ix::Lit(n * m),
        ix if n == 1 => ix.clone(),
        ix => Ix::Mul(n, Box::new(ix.clone())),
    }
}

fn plus(a: Ix, b: Ix) -> Ix {
    match (a, b) {
        (Ix::Lit(0), ix) | (ix, Ix::Lit(0)) => ix,
        (a, b) => Ix::Add(Box::new(a), Box::new(b)),
    }
}

fn minus(a: Ix, b: Ix) -> Ix {
    if b == Ix::Lit(0) { a } else { Ix::Sub(Box::new(a), Box::new(b)) }
}
