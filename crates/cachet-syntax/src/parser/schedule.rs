//! Schedules and their steps.

use super::messages::STEP_ARGUMENT;
use super::{P, Parser};
use crate::ast::{
    Ident, LoopPart, LoopRef, ReducePart, Schedule, ScheduleFn, SplitIndex, SplitLevel, Step, StepArg, StepKind,
    StepParam, TupleParam,
};
use crate::kind::SyntaxKind::{self, Colon, Comma, Dot, DotDot, End, Hash, Hole, Int, LBracket, LParen, Name, RParen};
use cachet_source::codes;

/// The steps that have words between their arguments, and how they are written.
const FORMS: &[(&str, &str)] = &[
    ("split", "split LOOP by SIZE as NAME, SIZE as NAME ragged, …"),
    ("order", "order (LOOP, LOOP, …)"),
    ("grid", "grid over (LOOP, …)"),
    ("pack", "pack ARRAY into BUFFER along LOOP over (NAME, …) pad SIZE with WORD"),
    ("pack_lanes", "pack_lanes ARRAY into BUFFER along LOOP over (NAME, NAME, NAME) lanes SIZE"),
    ("keep", "keep BUFFER along LOOP within LEVEL into NAME"),
    ("registers", "registers (LOOP, LOOP) into OUTPUT rows SIZE lanes SIZE through FUNCTION"),
    ("compute", "compute NAME at LOOP into BUFFER"),
    ("reduce", "reduce LOOP by (PART: SHAPE, …)"),
    ("parts", "parts [SIZE, SIZE]"),
    ("element", "element [TYPE; SIZE, SIZE]"),
];

impl Parser<'_> {
    pub(crate) fn schedule_item(&mut self) -> P<Schedule> {
        let lo = self.here();
        self.bump();
        let (name, of, targs, device, params, clauses) = self.header(|p| {
            let name = p.name("the schedule's name, or `fn`")?;
            p.expect_word("of")?;
            let of = p.name("the name of what is scheduled")?;
            let targs = p.targs()?;
            let before = p.on_device()?;
            let params = p.params()?;
            let after = if before.is_none() { p.on_device()? } else { None };
            let header = (name, of, targs, before.or(after), params, p.clauses()?);
            p.header_end()?;
            Ok(header)
        })?;
        let steps = self.block(Parser::step)?;
        Ok(Schedule { name, of, targs, device, params, clauses, steps, span: self.span_from(lo) })
    }

    fn on_device(&mut self) -> P<Option<Ident>> {
        if !self.eat_word("on") {
            return Ok(None);
        }
        Ok(Some(self.name("a device's name")?))
    }

    pub(crate) fn schedule_fn_item(&mut self) -> P<ScheduleFn> {
        let lo = self.here();
        self.bump();
        self.bump();
        let (name, params) = self.header(|p| {
            let name = p.name("the schedule function's name")?;
            let params = p.step_params(false)?;
            p.header_end()?;
            Ok((name, params))
        })?;
        let steps = self.full_block("a step", Parser::step)?;
        Ok(ScheduleFn { name, params, steps, span: self.span_from(lo) })
    }

    /// `(i, j) c`; `(i.., k)` where rank holes may stand.
    pub(crate) fn step_params(&mut self, ranks: bool) -> P<Vec<StepParam>> {
        let mut params = Vec::new();
        loop {
            let lo = self.here();
            match self.peek() {
                Name => params.push(StepParam::Name(self.take())),
                LParen => {
                    let items = self.node(SyntaxKind::StepParam, |p| {
                        p.bracketed(LParen, "`(`", |p| {
                            p.list(|p| {
                                let lo = p.here();
                                let name = p.name("a parameter's name")?;
                                let rank = ranks && p.eat(DotDot);
                                Ok(TupleParam { name, rank, span: p.span_from(lo) })
                            })
                        })
                    })?;
                    params.push(StepParam::Tuple { items, span: self.span_from(lo) });
                }
                _ => return Ok(params),
            }
        }
    }

    fn step(&mut self) -> P<Step> {
        let lo = self.here();
        self.form = self.word().and_then(|word| FORMS.iter().find(|(first, _)| *first == word)).map(|(_, form)| *form);
        let kind = self.node(SyntaxKind::Step, |p| match p.word() {
            Some("split") => p.split(),
            Some("order") => p.order(),
            Some("grid") => p.grid_over(),
            Some("pack") => p.pack(),
            Some("pack_lanes") => p.pack_lanes(),
            Some("keep") => p.keep(),
            Some("registers") => p.registers(),
            Some("compute") => p.compute(),
            Some("reduce") => p.reduce_step(),
            Some("parts") => {
                p.bump();
                Ok(StepKind::Parts(p.bracketed(LBracket, "`[` and the extents of a part", |p| p.list(Parser::expr))?))
            }
            Some("element") => {
                p.bump();
                Ok(StepKind::Element(p.type_()?))
            }
            _ => p.step_call(),
        })?;
        if !self.at(End) {
            return Err(self.unexpected("the end of the step"));
        }
        self.form = None;
        Ok(Step { kind, span: self.span_from(lo) })
    }

    /// `k`, `j.outer`, `i#2`.
    pub(crate) fn loop_ref(&mut self) -> P<LoopRef> {
        let lo = self.here();
        self.node(SyntaxKind::LoopRef, |p| {
            let name = p.name("the name of a loop")?;
            let mut part = None;
            if p.at_field() {
                p.bump();
                part = match p.nth_text(0) {
                    "outer" => Some(LoopPart::Outer),
                    "inner" => Some(LoopPart::Inner),
                    _ => return Err(p.unexpected("`outer` or `inner`")),
                };
                p.bump();
                if p.at_field() {
                    let report = p.error(codes::SYNTAX, "`.outer` and `.inner` do not chain");
                    return Err(p.report(report.help("name the loop with `as` when it is split")));
                }
            }
            let nth = p.occurrence()?;
            Ok(LoopRef { name, part, nth, span: p.span_from(lo) })
        })
    }

    /// `#2`, if there.
    pub(crate) fn occurrence(&mut self) -> P<Option<u64>> {
        if !self.eat(Hash) {
            return Ok(None);
        }
        if !self.at(Int) {
            return Err(self.unexpected("a number: `#2` is the second loop of that name"));
        }
        let digits = self.take();
        match self.integer(&digits)? {
            0 => {
                let report = self.error_at(digits.span, "loops of one name are counted from `#1`");
                Err(self.report(report))
            }
            n => Ok(Some(n)),
        }
    }

    fn loops(&mut self) -> P<Vec<LoopRef>> {
        self.bracketed(LParen, "`(` and the loops", |p| p.list(Parser::loop_ref))
    }

    /// `split i by 16 as gi, 4 as ui ragged, j by 8`.
    fn split(&mut self) -> P<StepKind> {
        self.bump();
        let mut indices = Vec::new();
        loop {
            let lo = self.here();
            let index = self.loop_ref()?;
            self.expect_word("by")?;
            let mut levels = vec![self.split_level()?];
            while self.at(Comma) && !self.new_split_index() {
                self.bump();
                levels.push(self.split_level()?);
            }
            let ragged = self.eat_word("ragged");
            if levels.len() > 1
                && let Some(unnamed) = levels.iter().find(|l| l.name.is_none())
            {
                let report = self.error_at(unnamed.span, "a level without a name");
                return Err(self.report(report.help("more levels than one need `as NAME` each")));
            }
            indices.push(SplitIndex { index, levels, ragged, span: self.span_from(lo) });
            if !self.eat(Comma) || self.at(End) {
                return Ok(StepKind::Split(indices));
            }
        }
    }

    /// Whether the comma here is followed by `LOOP by`.
    fn new_split_index(&self) -> bool {
        let mut n = 1;
        if self.nth(n) == End {
            return true;
        }
        if !matches!(self.nth(n), Name | Hole) {
            return false;
        }
        n += 1;
        if self.nth(n) == Dot {
            n += 2;
        }
        if self.nth(n) == Hash {
            n += 2;
        }
        self.nth_text(n) == "by"
    }

    fn split_level(&mut self) -> P<SplitLevel> {
        let lo = self.here();
        let size = self.size()?;
        let name = if self.eat_word("as") { Some(self.name("the new loop's name")?) } else { None };
        Ok(SplitLevel { size, name, span: self.span_from(lo) })
    }

    fn order(&mut self) -> P<StepKind> {
        self.bump();
        Ok(StepKind::Order(self.loops()?))
    }

    fn grid_over(&mut self) -> P<StepKind> {
        self.bump();
        self.expect_word("over")?;
        let loops = if self.at(LParen) { self.loops()? } else { vec![self.loop_ref()?] };
        Ok(StepKind::GridOver(loops))
    }

    /// `a into P along g over (x, y)`, after its word.
    fn copy(&mut self) -> P<(Ident, Ident, LoopRef, Vec<Ident>)> {
        self.bump();
        let array = self.name("an array's name")?;
        self.expect_word("into")?;
        let into = self.name("a buffer's name")?;
        self.expect_word("along")?;
        let along = self.loop_ref()?;
        self.expect_word("over")?;
        let over = self.bracketed(LParen, "`(` and the copy's loops", |p| p.list(|p| p.name("a new loop's name")))?;
        Ok((array, into, along, over))
    }

    fn pack(&mut self) -> P<StepKind> {
        let (array, into, along, over) = self.copy()?;
        let pad = if self.eat_word("pad") {
            let columns = self.size()?;
            self.expect_word("with")?;
            Some(Box::new((columns, self.expr()?)))
        } else {
            None
        };
        Ok(StepKind::Pack { array, into, along, over, pad })
    }

    fn pack_lanes(&mut self) -> P<StepKind> {
        let (array, into, along, over) = self.copy()?;
        self.expect_word("lanes")?;
        let lanes = Box::new(self.size()?);
        Ok(StepKind::PackLanes { array, into, along, over, lanes })
    }

    fn keep(&mut self) -> P<StepKind> {
        self.bump();
        let buffer = self.name("a buffer's name")?;
        self.expect_word("along")?;
        let along = self.loop_ref()?;
        self.expect_word("within")?;
        let level = self.name("a level's name")?;
        self.expect_word("into")?;
        let into = self.name("the lease's name")?;
        Ok(StepKind::Keep { buffer, along, level, into })
    }

    fn registers(&mut self) -> P<StepKind> {
        self.bump();
        let (row, lane) = if self.at(LParen) {
            self.bracketed(LParen, "`(` and the row and lane loops", |p| {
                let row = p.loop_ref()?;
                p.expect(Comma, "`,` and the lane loop")?;
                let lane = p.loop_ref()?;
                p.eat(Comma);
                Ok((Some(row), lane))
            })?
        } else {
            (None, self.loop_ref()?)
        };
        self.expect_word("into")?;
        let into = self.name("the output's name")?;
        let row = match row {
            Some(row) => {
                self.expect_word("rows")?;
                Some((row, Box::new(self.size()?)))
            }
            None => None,
        };
        self.expect_word("lanes")?;
        let lanes = Box::new(self.size()?);
        self.expect_word("through")?;
        let through = self.path("the step of the sum, such as `fma`")?;
        Ok(StepKind::Registers { row, lane, into, lanes, through })
    }

    fn compute(&mut self) -> P<StepKind> {
        self.bump();
        let name = self.name("an intermediate's name")?;
        self.expect_word("at")?;
        let at = self.loop_ref()?;
        let into = if self.eat_word("into") { Some(self.name("a buffer's name")?) } else { None };
        Ok(StepKind::Compute { name, at, into })
    }

    fn reduce_step(&mut self) -> P<StepKind> {
        self.bump();
        let index = self.loop_ref()?;
        self.expect_word("by")?;
        let parts = self.bracketed(LParen, "`(` and a shape for each part", |p| p.list(Parser::reduce_part))?;
        Ok(StepKind::Reduce { index, parts })
    }

    /// `max: halving`; the part may be any word.
    pub(crate) fn reduce_part(&mut self) -> P<ReducePart> {
        let lo = self.here();
        if self.word().is_none() {
            return Err(self.unexpected("the name of a part"));
        }
        let name = self.take();
        self.expect(Colon, "`:` and a shape")?;
        let shape = self.shape()?;
        Ok(ReducePart { name, shape, span: self.span_from(lo) })
    }

    fn step_call(&mut self) -> P<StepKind> {
        if !self.at(Name) {
            return Err(self.unexpected("a step"));
        }
        let name = self.take();
        let mut args = Vec::new();
        loop {
            match self.peek() {
                Name | Int | LParen | LBracket => args.push(self.node(SyntaxKind::StepArg, Parser::step_arg)?),
                End => return Ok(StepKind::Call { name, args }),
                _ => return Err(self.unexpected(STEP_ARGUMENT)),
            }
        }
    }

    fn step_arg(&mut self) -> P<StepArg> {
        let lo = self.here();
        match self.peek() {
            Int => Ok(StepArg::Expr(self.literal()?)),
            LBracket => Ok(StepArg::Type(self.array()?)),
            LParen => {
                let items = self.bracketed(LParen, "`(`", |p| p.list(Parser::tuple_element))?;
                Ok(StepArg::Tuple { items, span: self.span_from(lo) })
            }
            _ => Ok(StepArg::Loop(self.loop_ref()?)),
        }
    }

    /// A loop if nothing else follows it, an expression otherwise.
    fn tuple_element(&mut self) -> P<StepArg> {
        let mut n = 1;
        if self.nth(n) == Dot && matches!(self.nth_text(n + 1), "outer" | "inner") {
            n += 2;
        }
        let counted = self.nth(n) == Hash;
        if self.at(Name) && (counted || matches!(self.nth(n), Comma | RParen)) {
            return Ok(StepArg::Loop(self.loop_ref()?));
        }
        Ok(StepArg::Expr(self.expr()?))
    }
}
