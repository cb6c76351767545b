//! How do reductions with a declared shape run? The shape fixes who is joined with whom, and so the bits.
//!
//! Terms are numbered from 0 within the domain: by their index, or by their block.

use crate::function::{Index, Lower, Outcome, Place};
use crate::memory::Memory;
use crate::types::{Value, in_memory, leaves, register};
use crate::word::carry;
use cachet_core::ir::{Domain, Reduce, Shape};

/// The terms of a reduction.
struct Terms {
    /// The domain.
    lo: String,
    hi: String,
    /// How many terms, never negative.
    count: String,
}

/// Up to how many terms of a reduction lie on the stack.
const MAX_ON_STACK: i64 = 1024;

impl Lower<'_, '_> {
    pub(crate) fn reduce(&mut self, reduce: &Reduce) -> Outcome<Value> {
        match reduce.shape {
            Shape::Order => self.in_order(reduce),
            Shape::Halving => self.by_halving(reduce),
            Shape::Lanes(n) => self.in_lanes(reduce, n),
        }
    }

    fn join(&mut self, reduce: &Reduce, a: Value, b: Value) -> Outcome<Value> {
        self.bind(reduce.operands.0, Place::Value(a));
        self.bind(reduce.operands.1, Place::Value(b));
        self.word(&reduce.combine)
    }

    fn in_order(&mut self, reduce: &Reduce) -> Outcome<Value> {
        let empty = self.word(&reduce.empty)?;
        let (ty, carried) = carry(&empty);
        let names = self.domain(reduce.var, &reduce.domain, &carried, &mut |this, names| {
            let element = this.word(&reduce.element)?;
            let acc = Value { ty: ty.clone(), leaves: names.to_vec() };
            Ok(this.join(reduce, acc, element)?.leaves)
        })?;
        Ok(Value { ty, leaves: names })
    }

    /// All terms are laid down, then halves are joined until one is left.
    fn by_halving(&mut self, reduce: &Reduce) -> Outcome<Value> {
        let terms = self.terms(reduce)?;
        let count = terms.count.clone();
        let empty = self.word(&reduce.empty)?;
        let some = self.em.def(format_args!("icmp sgt i64 {count}, 0"));
        let (full, after) = (self.em.block(), self.em.block());
        let before = self.em.here();
        self.em.branch(&some, &full, &after);
        self.em.open(&full);
        let literal = match &reduce.domain {
            Domain::Range { lo: cachet_core::ir::Ix::Lit(a), hi: cachet_core::ir::Ix::Lit(b) } => b.checked_sub(*a),
            Domain::Range { .. } | Domain::Blocks { .. } => None,
        };
        let on_stack = literal.filter(|n| (0..=MAX_ON_STACK).contains(n) && self.take_stack(&empty.ty, *n));
        let base = match on_stack {
            Some(n) => self.em.slot(format_args!("[{n} x {}]", in_memory(&empty.ty))),
            None => self.heap(&empty.ty, &count),
        };
        let laid = Memory::row(base, &empty.ty, count.clone());
        self.range("0", &count, 1, &[], &mut |this, i, _| {
            let element = this.term(reduce, &terms, i)?;
            let at = this.offset(&laid, &laid.base, i);
            this.store_at(&laid.elem, &at, &element);
            Ok(vec![])
        })?;
        self.halve(reduce, &laid, &count)?;
        let total = self.load_at(&laid.elem, &laid.base);
        if on_stack.is_none() {
            self.release(&laid.base);
        }
        let full = self.em.here();
        self.em.jump(&after);
        self.em.open(&after);
        Ok(self.merge(&empty, &before.to_string(), &total, &full.to_string()))
    }

    /// Joins term `i` with term `i + n / 2`, then `n / 4`, ..: the total is in the first.
    fn halve(&mut self, reduce: &Reduce, terms: &Memory, count: &str) -> Outcome<()> {
        let before = self.em.here();
        let (head, inside, after) = (self.em.block(), self.em.block(), self.em.block());
        self.em.jump(&head);
        self.em.open(&head);
        let (line, width) = self.em.reserve();
        let half = self.em.def(format_args!("lshr i64 {width}, 1"));
        let more = self.em.def(format_args!("icmp ne i64 {half}, 0"));
        self.em.branch(&more, &inside, &after);
        self.em.open(&inside);
        self.range("0", &half, 1, &[], &mut |this, i, _| {
            let other = this.add(i, &half);
            let (a, b) = (this.offset(terms, &terms.base, i), this.offset(terms, &terms.base, &other));
            let (x, y) = (this.load_at(&terms.elem, &a), this.load_at(&terms.elem, &b));
            let joined = this.join(reduce, x, y)?;
            this.store_at(&terms.elem, &a, &joined);
            Ok(vec![])
        })?;
        let latch = self.em.here();
        self.em.jump(&head);
        self.em.fill(&line, &width, format_args!("phi i64 [ {count}, {before} ], [ {half}, {latch} ]"));
        self.em.open(&after);
        Ok(())
    }

    /// `lanes` chains, term `i` in chain `i % lanes`; then the chains are joined by halving.
    fn in_lanes(&mut self, reduce: &Reduce, lanes: u32) -> Outcome<Value> {
        if !lanes.is_power_of_two() || i64::from(lanes) > MAX_ON_STACK {
            return Err(self.not_built(format!("a reduction in {lanes} lanes: a power of two up to {MAX_ON_STACK} is")));
        }
        let terms = self.terms(reduce)?;
        let empty = self.word(&reduce.empty)?;
        if !self.take_stack(&empty.ty, lanes.into()) {
            return Err(self.not_built("reductions in lanes that take this much of the stack"));
        }
        let base = self.em.slot(format_args!("[{lanes} x {}]", in_memory(&empty.ty)));
        let width = lanes.to_string();
        let chains = Memory::row(base, &empty.ty, width.clone());
        self.range("0", &width, 1, &[], &mut |this, l, _| {
            let at = this.offset(&chains, &chains.base, l);
            this.store_at(&chains.elem, &at, &empty);
            Ok(vec![])
        })?;
        // Whole rounds first: their inner loop has a literal length, and becomes vector instructions.
        let whole = self.em.def(format_args!("and i64 {}, {}", terms.count, -i64::from(lanes)));
        self.range("0", &whole, i64::from(lanes), &[], &mut |this, first, _| {
            this.round(reduce, &chains, &terms, first, &width)?;
            Ok(vec![])
        })?;
        let rest = self.em.def(format_args!("sub nsw i64 {}, {whole}", terms.count));
        self.round(reduce, &chains, &terms, &whole, &rest)?;
        self.halve(reduce, &chains, &width)?;
        Ok(self.load_at(&chains.elem, &chains.base))
    }

    /// One more term for each of the first `count` chains.
    fn round(&mut self, reduce: &Reduce, chains: &Memory, terms: &Terms, first: &str, count: &str) -> Outcome<()> {
        self.range("0", count, 1, &[], &mut |this, l, _| {
            let number = this.add(first, l);
            let element = this.term(reduce, terms, &number)?;
            let at = this.offset(chains, &chains.base, l);
            let chain = this.load_at(&chains.elem, &at);
            let joined = this.join(reduce, chain, element)?;
            this.store_at(&chains.elem, &at, &joined);
            Ok(vec![])
        })?;
        Ok(())
    }

    fn terms(&mut self, reduce: &Reduce) -> Outcome<Terms> {
        let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, .. }) = &reduce.domain;
        let (lo, hi) = (self.ix(lo)?, self.ix(hi)?);
        let span = self.em.def(format_args!("sub nsw i64 {hi}, {lo}"));
        let span = self.em.def(format_args!("call i64 @llvm.smax.i64(i64 {span}, i64 0)"));
        let count = match &reduce.domain {
            Domain::Range { .. } => span,
            Domain::Blocks { size, .. } => {
                let up = self.add(&span, &(size - 1).to_string());
                self.floor_div(&up, *size)
            }
        };
        Ok(Terms { lo, hi, count })
    }

    /// Term `number`, with the variable bound.
    fn term(&mut self, reduce: &Reduce, terms: &Terms, number: &str) -> Outcome<Value> {
        match &reduce.domain {
            Domain::Range { .. } => {
                let index = self.add(&terms.lo, number);
                self.bind_var(reduce.var, Index::Plain(index));
            }
            Domain::Blocks { size, .. } => {
                let before = self.scale(number, &size.to_string());
                let lo = self.add(&terms.lo, &before);
                self.bind_block(reduce.var, &terms.lo, &terms.hi, &lo, *size);
            }
        }
        self.word(&reduce.element)
    }

    fn merge(&mut self, a: &Value, from_a: &str, b: &Value, from_b: &str) -> Value {
        let names = leaves(&a.ty).into_iter().zip(a.leaves.iter().zip(&b.leaves));
        let names = names
            .map(|(e, (x, y))| self.em.def(format_args!("phi {} [ {x}, {from_a} ], [ {y}, {from_b} ]", register(e))))
            .collect();
        Value { ty: a.ty.clone(), leaves: names }
    }
}
