//! Vectors: statements that do one thing for each of some lanes, and the words of one lane.
//!
//! A vector expression is read as the word of one lane; see [`cachet_core::vectors`] for what a vector statement is.

use super::{Body, Done, Meaning, World};
use crate::tree::Tree;
use cachet_core::ir::{
    Access, At, Domain, Elem, Guard, Ix, Lit, Local, Rel, Role, Stmt, StmtKind, Ty, Var, VarKind, Word,
};
use cachet_core::vectors;
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{self, Expr, ExprKind, Ident, Index, Mask, Place, Type, TypeArg, TypeKind};

/// The most lanes of a vector.
const MAX_LANES: i64 = 4096;

/// The vector expression that is being read.
#[derive(Clone, Debug)]
pub(crate) struct LaneScope {
    /// The lane, as an index.
    lane: Ix,
    /// How many lanes there are.
    count: i64,
    /// How many of them take part.
    active: Ix,
    /// How many windows the cell at hand has had so far.
    windows: usize,
}

/// A vector statement before its word is known.
struct Shape {
    var: Var,
    count: i64,
    active: Ix,
}

impl World<'_> {
    /// The statements that a vector statement is; `None` for one of single words.
    pub(crate) fn vector_stmt(&mut self, body: &mut Body, s: &ast::Stmt) -> Done<Option<Vec<Stmt>>> {
        let out = match &s.kind {
            ast::StmtKind::Let { name, ty, value } => match self.declared_vector(body, ty.as_ref(), value)? {
                Some((elem, count, dims)) if dims.is_empty() => {
                    self.vector_let(body, name, (elem, count), value, s.span)?
                }
                Some(_) => {
                    let span = ty.as_ref().map_or(s.span, |t| t.span);
                    let d = Diagnostic::error(codes::TYPE_MISMATCH, span, "a `let` names one vector");
                    return Err(self.report(d.help("cells that change are a `var`")));
                }
                None => return Ok(None),
            },
            ast::StmtKind::Var { name, ty, value } => match self.declared_vector(body, ty.as_ref(), value)? {
                Some(of) => self.vector_var(body, name, of, value, s.span)?,
                None => return Ok(None),
            },
            ast::StmtKind::Assign { place, value } => match self.assigned_vector(body, place) {
                Some((name, local)) => self.vector_assign(body, (name, local, place), value, s.span)?,
                None => return Ok(None),
            },
            ast::StmtKind::Store { place, value, mask } => match (window_of(place), mask) {
                (Some(_), _) => self.vector_store(body, place, value, mask.as_ref(), s.span)?,
                (None, Some(mask)) => {
                    let d = Diagnostic::error(codes::TYPE_MISMATCH, mask.span, "a mask is a vector's");
                    return Err(self.report(d.help("the cells of a vector are `c[i, j ..+ 8]`")));
                }
                (None, None) => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(out))
    }

    /// `Vec f32 8`: the element and the number of lanes.
    pub(crate) fn vector_type(&mut self, body: &Body, ty: &Type) -> Done<Option<(Elem, i64)>> {
        let TypeKind::Named { path, args } = &ty.kind else { return Ok(None) };
        if path.as_ident().is_none_or(|name| name.name != "Vec") {
            return Ok(None);
        }
        let [TypeArg::Type(elem), lanes] = args.as_slice() else {
            let d = Diagnostic::error(codes::ARITY, ty.span, "a vector has an element type and a number of lanes");
            return Err(self.report(d.help("write `Vec f32 8`")));
        };
        let elem = match self.word_type(body, elem)? {
            Ty::Elem(e) => e,
            Ty::Abstract(_) | Ty::Tuple(_) => {
                let d = Diagnostic::error(codes::TYPE_MISMATCH, elem.span, "a vector's lanes are a machine's elements");
                return Err(
                    self.report(d.help("bind the type parameter first: `schedule s of f @(S = PlusTimes f32)`"))
                );
            }
        };
        let lanes = match lanes {
            TypeArg::Size(e) => self.lanes(body, e)?,
            // A constant's name reads like a type's.
            TypeArg::Type(t) => match &t.kind {
                TypeKind::Named { path, args } if args.is_empty() => match path.as_ident() {
                    Some(name) => self.lanes(body, &Expr::new(ExprKind::Name(name.clone()), t.span))?,
                    None => return Err(self.not_lanes(t.span)),
                },
                _ => return Err(self.not_lanes(t.span)),
            },
        };
        Ok(Some((elem, lanes)))
    }

    fn lanes(&mut self, body: &Body, e: &Expr) -> Done<i64> {
        match self.ix(body, e)? {
            Ix::Lit(n) if (1..=MAX_LANES).contains(&n) => Ok(n),
            _ => Err(self.not_lanes(e.span)),
        }
    }

    fn not_lanes(&mut self, span: Span) -> super::Reported {
        let message = format!("how many lanes a vector has is a number from 1 to {MAX_LANES}");
        self.report(Diagnostic::error(codes::SIZE, span, message))
    }

    /// What a declaration says of a vector: element, lanes, and the extents of an array of them.
    fn declared_vector(&mut self, body: &Body, ty: Option<&Type>, value: &Expr) -> Done<Option<(Elem, i64, Vec<i64>)>> {
        match ty {
            Some(Type { kind: TypeKind::Array { element, extents }, .. }) => match self.vector_type(body, element)? {
                Some((elem, count)) => Ok(Some((elem, count, self.dims(body, extents)?))),
                None => Ok(None),
            },
            Some(t) => Ok(self.vector_type(body, t)?.map(|(elem, count)| (elem, count, vec![]))),
            None if self.applied_instr(body, value)?.is_some() => {
                Ok(self.instr_result(body, value)?.map(|(elem, count)| (elem, count, vec![])))
            }
            None if is_vector(body, value) => match vector_of(self, body, value)? {
                Some((elem, count)) => Ok(Some((elem, count, vec![]))),
                None => {
                    let d = Diagnostic::error(codes::SIZE, value.span, "how many lanes this vector has is not known");
                    Err(self.report(d.help("say its type: `let x: Vec f32 8 = ..`")))
                }
            },
            None => Ok(None),
        }
    }

    fn vector_let(
        &mut self,
        body: &mut Body,
        name: &Ident,
        (elem, count): (Elem, i64),
        value: &Expr,
        span: Span,
    ) -> Done<Vec<Stmt>> {
        self.fresh(body, name)?;
        let shape = shape(body, count, None);
        let word = self.whole_value(body, &shape, value, &Ty::Elem(elem))?;
        let local = self.vector_local(body, name, elem, &[count], false);
        let declare = Stmt { kind: StmtKind::Var { local, init: zero(elem) }, span: At(span) };
        let assign = StmtKind::Assign { local, at: vec![Ix::Var(shape.var)], word };
        Ok(vec![declare, over_lanes(&shape, assign, span)])
    }

    fn vector_local(&mut self, body: &mut Body, name: &Ident, elem: Elem, dims: &[i64], mutable: bool) -> Local {
        let local = body.add_local(&name.name, Ty::Elem(elem), mutable);
        let info = &mut body.locals[local.index()];
        info.dims = dims.to_vec();
        info.vector = true;
        body.bind(name, Meaning::Local(local));
        local
    }

    fn vector_var(
        &mut self,
        body: &mut Body,
        name: &Ident,
        (elem, count, mut dims): (Elem, i64, Vec<i64>),
        value: &Expr,
        span: Span,
    ) -> Done<Vec<Stmt>> {
        self.fresh(body, name)?;
        let shape = shape(body, count, None);
        let word = self.whole_value(body, &shape, value, &Ty::Elem(elem))?;
        let rows = dims.clone();
        dims.push(count);
        if dims.iter().try_fold(1i64, |n, d| n.checked_mul(*d)).is_none_or(|n| n > crate::statements::MAX_CELLS) {
            return Err(self.too_many_cells(span));
        }
        let local = self.vector_local(body, name, elem, &dims, true);
        // What all lanes start from is what the declaration says; anything else is assigned.
        if !vectors::varies_word(&word, shape.var) {
            return Ok(vec![Stmt { kind: StmtKind::Var { local, init: word }, span: At(span) }]);
        }
        let loops: Vec<Var> = rows.iter().map(|_| body.add_var("r", VarKind::Index)).collect();
        let at = loops.iter().map(|v| Ix::Var(*v)).chain([Ix::Var(shape.var)]).collect();
        let mut fill = over_lanes(&shape, StmtKind::Assign { local, at, word }, span);
        for (var, n) in loops.iter().zip(&rows).rev() {
            let domain = Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(*n) };
            fill = Stmt { kind: StmtKind::For { var: *var, domain, body: vec![fill] }, span: At(span) };
        }
        Ok(vec![Stmt { kind: StmtKind::Var { local, init: zero(elem) }, span: At(span) }, fill])
    }

    /// The vector local that a place names.
    fn assigned_vector<'p>(&self, body: &Body, place: &'p Place) -> Option<(&'p Ident, Local)> {
        let name = place.path.as_ident()?;
        match body.find(&name.name)? {
            // One lane of a vector is a single word.
            Meaning::Local(l) if is_lane(&body.locals[l.index()], place.indices().unwrap_or(&[])) => None,
            Meaning::Local(l) if body.locals[l.index()].vector => Some((name, *l)),
            _ => None,
        }
    }

    fn vector_assign(
        &mut self,
        body: &mut Body,
        (name, local, place): (&Ident, Local, &Place),
        value: &Expr,
        span: Span,
    ) -> Done<Vec<Stmt>> {
        let info = body.locals[local.index()].clone();
        if !info.mutable {
            let message = format!("`{}` is a `let` and keeps its value", name.name);
            let d = Diagnostic::error(codes::MODE, place.span, message);
            return Err(self.report(d.help("declare it as `var`")));
        }
        let count = info.dims.last().copied().unwrap_or(1);
        let shape = shape(body, count, None);
        let mut at = self.vector_cell(body, name, local, place.indices().unwrap_or(&[]), place.span)?;
        at.push(Ix::Var(shape.var));
        let word = self.whole_value(body, &shape, value, &info.ty)?;
        Ok(vec![over_lanes(&shape, StmtKind::Assign { local, at, word }, span)])
    }

    /// Which vector of an array of them.
    fn vector_cell(&mut self, body: &Body, name: &Ident, local: Local, indices: &[Index], span: Span) -> Done<Vec<Ix>> {
        let rank = body.locals[local.index()].dims.len().saturating_sub(1);
        if indices.len() != rank {
            let message = match rank {
                0 => format!("`{}` is one vector and has no subscripts", name.name),
                _ => format!(
                    "`{}` is an array of vectors: it takes {rank} subscript{}, and {}",
                    name.name,
                    if rank == 1 { "" } else { "s" },
                    crate::scope::given(indices.len())
                ),
            };
            return Err(self.report(Diagnostic::error(codes::ARITY, span, message)));
        }
        let mut at = Vec::new();
        for i in indices {
            let Index::At(e) = i else {
                return Err(self.report(Diagnostic::not_built(i.span(), "slices of local arrays")));
            };
            at.push(self.ix(body, e)?);
        }
        Ok(at)
    }

    fn vector_store(
        &mut self,
        body: &mut Body,
        place: &Place,
        value: &Expr,
        mask: Option<&Expr>,
        span: Span,
    ) -> Done<Vec<Stmt>> {
        let Some(Index::Window { len, .. }) = window_of(place) else { return Err(super::Reported) };
        let count = self.lanes(body, len)?;
        let active = mask.map(|m| self.ix(body, m)).transpose()?;
        let shape = shape(body, count, active);
        let (Some(name), Some(indices)) = (place.path.as_ident(), place.indices()) else {
            let message = "the cells of an array are wanted here, as `c[i, j ..+ 8]`";
            return Err(self.report(Diagnostic::error(codes::SYNTAX, place.span, message)));
        };
        let to = self.lane_access(body, &shape, name, indices, place.span)?;
        let info = &body.buffers[to.buffer.index()];
        if info.role == Role::Reads {
            let message = format!("`{}` is `reads`, and cannot be stored to", name.name);
            let d = Diagnostic::error(codes::MODE, place.span, message).also(info.span.0, "declared here");
            return Err(
                self.report(d.help("an array that is written is `mut`, or `out` where every element is written"))
            );
        }
        let ty = info.elem.clone();
        if !matches!(ty, Ty::Elem(_)) {
            let d = Diagnostic::error(codes::TYPE_MISMATCH, place.span, "a vector's lanes are a machine's elements");
            return Err(self.report(d));
        }
        let word = self.whole_value(body, &shape, value, &ty)?;
        Ok(vec![over_lanes(&shape, StmtKind::Store { to, word }, span)])
    }

    fn lane_access(
        &mut self,
        body: &mut Body,
        shape: &Shape,
        name: &Ident,
        indices: &[Index],
        span: Span,
    ) -> Done<Access> {
        let scope =
            LaneScope { lane: Ix::Var(shape.var), count: shape.count, active: shape.active.clone(), windows: 0 };
        let outer = body.lanes.replace(scope);
        let to = self.access(body, name, indices, span);
        let windows = body.lanes.take().map_or(0, |l| l.windows);
        body.lanes = outer;
        let to = to?;
        self.one_window(windows, span)?;
        Ok(to)
    }

    fn one_window(&mut self, windows: usize, span: Span) -> Done<()> {
        let d = match windows {
            1 => return Ok(()),
            0 => Diagnostic::error(codes::TYPE_MISMATCH, span, "a vector is wanted here, and this is one value")
                .help("all lanes get it by `splat (..)`; neighbours are `a[i, k ..+ 8]`"),
            _ => Diagnostic::error(codes::TYPE_MISMATCH, span, "the cells of a vector lie along one axis"),
        };
        Err(self.report(d))
    }

    /// The word of one lane of a vector statement, which may be a use of an instruction.
    fn whole_value(&mut self, body: &mut Body, shape: &Shape, value: &Expr, ty: &Ty) -> Done<Word> {
        match self.instr_word(body, (shape.var, shape.count, &shape.active), value, ty)? {
            Some(word) => Ok(word),
            None => self.lane_value(body, shape, value, ty).map(Tree::into_word),
        }
    }

    /// The word of one of so many lanes.
    pub(crate) fn lanes_of(&mut self, body: &mut Body, (var, count): (Var, i64), value: &Expr, ty: &Ty) -> Done<Word> {
        let shape = Shape { var, count, active: Ix::Lit(count) };
        self.lane_value(body, &shape, value, ty).map(Tree::into_word)
    }

    /// The word of one lane.
    fn lane_value(&mut self, body: &mut Body, shape: &Shape, value: &Expr, ty: &Ty) -> Done<Tree> {
        let scope =
            LaneScope { lane: Ix::Var(shape.var), count: shape.count, active: shape.active.clone(), windows: 0 };
        let outer = body.lanes.replace(scope);
        let word = self.word_of(body, value, ty);
        body.lanes = outer;
        word
    }

    /// A subscript: an index, or, of a vector, the lane's place in a window.
    pub(crate) fn subscript(&mut self, body: &mut Body, i: &Index) -> Done<Ix> {
        match i {
            Index::At(e) => self.ix(body, e),
            Index::Window { lo, len, .. } => {
                let Some(scope) = body.lanes.clone() else {
                    let d = Diagnostic::error(
                        codes::TYPE_MISMATCH,
                        i.span(),
                        "one element is wanted here, and this is a part",
                    );
                    return Err(self.report(d.help("a vector is `let x: Vec f32 8 = load a[i, k ..+ 8]`")));
                };
                let count = self.lanes(body, len)?;
                if count != scope.count {
                    let message = format!("{count} elements stand here, and the vector has {} lanes", scope.count);
                    return Err(self.report(Diagnostic::error(codes::TYPE_MISMATCH, i.span(), message)));
                }
                let first = self.ix(body, lo)?;
                if let Some(scope) = &mut body.lanes {
                    scope.windows += 1;
                }
                Ok(vectors::at_lane(first, scope.lane))
            }
            Index::Subst { .. } | Index::RankSubst { .. } => Err(self.report(Diagnostic::error(
                codes::SYNTAX,
                i.span(),
                "substitutions stand in step functions only",
            ))),
        }
    }

    /// What a vector expression has of its own; `None` for what is done lane by lane.
    pub(super) fn lane_word(&mut self, body: &mut Body, e: &Expr, want: Option<&Ty>) -> Option<Done<(Tree, Ty)>> {
        let scope = body.lanes.clone()?;
        match &e.kind {
            ExprKind::Load { place, mask } => Some(self.lane_load(body, &scope, place, mask.as_deref())),
            ExprKind::Name(name) => match body.find(&name.name) {
                Some(Meaning::Local(l)) if body.locals[l.index()].vector => {
                    Some(self.lane_of(body, &scope, (name, *l), &[], e.span))
                }
                // What a `let` of this expression names is a lane's.
                Some(Meaning::Local(l)) if body.lane_locals.contains(l) => None,
                // Not known, or a constant: said where names are looked up.
                None => None,
                _ => Some(Err(self.no_broadcast(e))),
            },
            ExprKind::Index { base, indices } => match base.as_ident().map(|n| (n, body.find(&n.name))) {
                Some((name, Some(Meaning::Local(l)))) if body.locals[l.index()].vector => {
                    Some(self.lane_of(body, &scope, (name, *l), indices, e.span))
                }
                Some((_, None)) => None,
                found => Some(Err(match (found, indices.iter().find(|i| matches!(i, Index::Window { .. }))) {
                    (Some((_, Some(Meaning::Local(_)))), Some(window)) => {
                        self.report(Diagnostic::not_built(window.span(), "slices of local arrays"))
                    }
                    (Some((name, Some(Meaning::Buffer(_) | Meaning::Window(..)))), Some(_)) => {
                        let message =
                            format!("`{}` is an array, and a vector of its elements is wanted here", name.name);
                        let d = Diagnostic::error(codes::TYPE_MISMATCH, e.span, message);
                        self.report(d.help("elements are read by `load`: `load x[i, k ..+ 8]`"))
                    }
                    _ => self.no_broadcast(e),
                })),
            },
            ExprKind::Apply { head, targs, args } => {
                let name = head.as_ident().map(|n| n.name.as_str());
                match (name, targs.as_slice(), args.as_slice()) {
                    (Some("splat"), [], [value]) => {
                        let outer = body.lanes.take();
                        let word = match want {
                            Some(ty) => self.word_of(body, value, ty).map(|t| (t, ty.clone())),
                            None => self.word(body, value, None),
                        };
                        body.lanes = outer;
                        Some(word)
                    }
                    (Some("slice_lanes"), [], [vector, from]) => Some(self.slice(body, &scope, vector, from, want)),
                    (Some(name @ ("splat" | "slice_lanes")), ..) => {
                        let (wanted, given) = (if name == "splat" { 1 } else { 2 }, args.len());
                        match self.arity(name, wanted, given, e.span) {
                            Err(reported) => Some(Err(reported)),
                            Ok(()) => None,
                        }
                    }
                    _ => None,
                }
            }
            ExprKind::Float(_) | ExprKind::Int(_) | ExprKind::Bool(_) => Some(Err(self.no_broadcast(e))),
            ExprKind::Fold { .. } | ExprKind::Sum { .. } | ExprKind::Reduce { .. } => {
                Some(Err(self.report(Diagnostic::not_built(e.span, "sums of vectors in one expression"))))
            }
            ExprKind::Field { .. } | ExprKind::Record { .. } => {
                Some(Err(self.report(Diagnostic::not_built(e.span, "vectors of records"))))
            }
            _ => None,
        }
    }

    fn no_broadcast(&mut self, e: &Expr) -> super::Reported {
        let d = Diagnostic::error(codes::TYPE_MISMATCH, e.span, "a vector is wanted here, and this is one value");
        self.report(d.help("a value that all lanes have is `splat x`"))
    }

    /// The lane's own of a vector local.
    fn lane_of(
        &mut self,
        body: &mut Body,
        scope: &LaneScope,
        (name, local): (&Ident, Local),
        indices: &[Index],
        span: Span,
    ) -> Done<(Tree, Ty)> {
        let info = body.locals[local.index()].clone();
        let count = info.dims.last().copied().unwrap_or(1);
        if count != scope.count {
            let message = format!("`{}` has {count} lanes, and {} are wanted here", name.name, scope.count);
            let d = Diagnostic::error(codes::TYPE_MISMATCH, span, message);
            return Err(self.report(d.help("some of its lanes are `slice_lanes x 8`, from lane 8 on")));
        }
        let mut at = self.vector_cell(body, name, local, indices, span)?;
        at.push(scope.lane.clone());
        Ok((Tree::Local(local, at), info.ty))
    }

    fn lane_load(
        &mut self,
        body: &mut Body,
        scope: &LaneScope,
        place: &Place,
        mask: Option<&Mask>,
    ) -> Done<(Tree, Ty)> {
        if let Some(scope) = &mut body.lanes {
            scope.windows = 0;
        }
        let (word, ty) = self.load(body, place)?;
        let windows = body.lanes.as_ref().map_or(0, |l| l.windows);
        self.one_window(windows, place.span)?;
        let Some(mask) = mask else { return Ok((word, ty)) };
        let active = self.ix(body, &mask.count)?;
        match &mask.other {
            Some(other) => {
                let outer = body.lanes.take();
                let other = self.word_of(body, other, &ty);
                body.lanes = outer;
                let guard = Guard::Cmp(Rel::Lt, scope.lane.clone(), active);
                Ok((Tree::If(guard, Box::new(word), Box::new(other?)), ty))
            }
            // The lanes that are not loaded take no part in the statement.
            None if active == scope.active => Ok((word, ty)),
            None => {
                let d =
                    Diagnostic::error(codes::UNINITIALISED, mask.span, "the other lanes of this load have no value")
                        .help("say what they are: `mask n else 0.0`")
                        .help("or let them take no part: a `store` under the same mask");
                Err(self.report(d))
            }
        }
    }

    /// Lanes of a wider vector.
    fn slice(
        &mut self,
        body: &mut Body,
        scope: &LaneScope,
        vector: &Expr,
        from: &Expr,
        want: Option<&Ty>,
    ) -> Done<(Tree, Ty)> {
        let Some((_, count)) = vector_of(self, body, vector)? else {
            let d = Diagnostic::error(codes::SIZE, vector.span, "how many lanes this vector has is not known");
            return Err(self.report(d.help("give it a name with a type: `let x: Vec f32 16 = ..`")));
        };
        let first = self.ix(body, from)?;
        let lane = vectors::at_lane(first, scope.lane.clone());
        let whole = LaneScope { lane, count, active: Ix::Lit(count), windows: 0 };
        let outer = body.lanes.replace(whole);
        let word = self.word(body, vector, want);
        body.lanes = outer;
        word
    }
}

fn shape(body: &mut Body, count: i64, active: Option<Ix>) -> Shape {
    let active = active.unwrap_or(Ix::Lit(count));
    Shape { var: body.add_var("l", VarKind::Lane(count)), count, active }
}

fn over_lanes(shape: &Shape, kind: StmtKind, span: Span) -> Stmt {
    let domain = Domain::Range { lo: Ix::Lit(0), hi: shape.active.clone() };
    let body = vec![Stmt { kind, span: At(span) }];
    Stmt { kind: StmtKind::For { var: shape.var, domain, body }, span: At(span) }
}

/// What a vector that is filled right away is declared with.
fn zero(elem: Elem) -> Word {
    Word::Lit(Lit { elem, bits: 0 })
}

/// The window among a place's subscripts.
fn window_of(place: &Place) -> Option<&Index> {
    place.indices()?.iter().find(|i| matches!(i, Index::Window { .. }))
}

/// Whether an expression is a vector, by how it is written.
fn is_vector(body: &Body, e: &Expr) -> bool {
    some_part(e, &mut |e| match &e.kind {
        ExprKind::Load { place, mask } => Some(window_of(place).is_some() || mask.is_some()),
        ExprKind::Name(name) => Some(named(body, name).is_some()),
        ExprKind::Index { base, indices } => {
            Some(base.as_ident().and_then(|n| named(body, n)).is_some_and(|of| !is_lane(of, indices)))
        }
        ExprKind::Apply { head, .. } => {
            head.as_ident().is_some_and(|n| matches!(n.name.as_str(), "splat" | "slice_lanes")).then_some(true)
        }
        _ => None,
    })
}

/// Whether so many subscripts of a vector, or of an array of them, name a lane.
fn is_lane(of: &cachet_core::ir::LocalInfo, indices: &[Index]) -> bool {
    of.vector && indices.len() == of.dims.len()
}

fn named<'b>(body: &'b Body, name: &Ident) -> Option<&'b cachet_core::ir::LocalInfo> {
    match body.find(&name.name)? {
        Meaning::Local(l) => body.locals.get(l.index()).filter(|i| i.vector),
        _ => None,
    }
}

/// The element and the lanes of a vector expression, where some part of it says them.
fn vector_of(world: &mut World<'_>, body: &Body, e: &Expr) -> Done<Option<(Elem, i64)>> {
    let mut found: Done<Option<(Elem, i64)>> = Ok(None);
    some_part(e, &mut |e| {
        let elem = |ty: &Ty| match ty {
            Ty::Elem(e) => Some(*e),
            Ty::Abstract(_) | Ty::Tuple(_) => None,
        };
        let of_local = |name: &Ident| {
            let info = named(body, name)?;
            Some((elem(&info.ty)?, *info.dims.last()?))
        };
        match &e.kind {
            ExprKind::Load { place, .. } => {
                if let (Some(name), Some(Index::Window { len, .. })) = (place.path.as_ident(), window_of(place))
                    && let Some(Meaning::Buffer(b) | Meaning::Window(b, _)) = body.find(&name.name)
                    && let Some(ty) = elem(&body.buffers[b.index()].elem)
                {
                    found = world.lanes(body, len).map(|n| Some((ty, n)));
                    return Some(true);
                }
                Some(false)
            }
            ExprKind::Name(name) => {
                found = Ok(of_local(name));
                Some(matches!(found, Ok(Some(_))))
            }
            ExprKind::Index { base, indices } => {
                let lane = |name: &&Ident| named(body, name).is_some_and(|of| is_lane(of, indices));
                found = Ok(base.as_ident().filter(|name| !lane(name)).and_then(of_local));
                Some(matches!(found, Ok(Some(_))))
            }
            // Neither says how many lanes there are.
            ExprKind::Apply { head, .. } => {
                head.as_ident().is_some_and(|n| matches!(n.name.as_str(), "splat" | "slice_lanes")).then_some(false)
            }
            _ => None,
        }
    });
    found
}

/// Whether something holds of an expression or of a part of it; `see` decides, or leaves it to the parts. Control and
/// what a `let` inside names are not looked into.
fn some_part(e: &Expr, see: &mut dyn FnMut(&Expr) -> Option<bool>) -> bool {
    let mut rest = vec![e];
    while let Some(e) = rest.pop() {
        if let Some(decided) = see(e) {
            if decided {
                return true;
            }
            continue;
        }
        match &e.kind {
            ExprKind::Apply { args, .. } => rest.extend(args.iter().rev()),
            ExprKind::Unary { operand, .. } => rest.push(operand),
            ExprKind::Binary { lhs, rhs, .. } => rest.extend([&**rhs, &**lhs]),
            ExprKind::Cast { value, .. } => rest.push(value),
            ExprKind::If { then, els, .. } => rest.extend([&**els, &**then]),
            ExprKind::Block { value, .. } => rest.push(value),
            _ => {}
        }
    }
    false
}
