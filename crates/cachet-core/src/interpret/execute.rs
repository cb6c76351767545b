//! Statements.

use super::code::{Cell, LocalCell, Range, Step, StepKind, Word};
use super::machine::{Machine, Ran};
use super::{TrapKind, scalar, trap};
use crate::ir::Elem;

/// A loop's turn: the first index or the block's start, its number, and where the loop ends.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    at: i64,
    number: i64,
    end: i64,
}

impl<'u> Machine<'u, '_> {
    pub(super) fn block(&mut self, steps: &'u [Step]) -> Ran<()> {
        let arrays = self.arrays.len();
        for s in steps {
            self.span = s.span;
            self.step()?;
            match &s.kind {
                StepKind::For(range, body) => self.run_loop(range, body)?,
                StepKind::Grid(g) => self.grid(g)?,
                StepKind::If(g, then, els) => {
                    let side = if self.cond(g)? { then } else { els };
                    self.block(side)?;
                }
                StepKind::Set { slot, width: 1, temp: _, word } => {
                    let x = self.one(word)?;
                    self.set(*slot, x);
                }
                StepKind::Set { slot, width, temp, word } => match temp {
                    Some(temp) => {
                        self.into(word, *temp)?;
                        self.copy(*temp, *slot, *width);
                    }
                    None => self.into(word, *slot)?,
                },
                StepKind::Fill { slot, width, temp, cells, word } => {
                    self.into(word, *temp)?;
                    for n in 0..*cells as u32 {
                        self.copy(*temp, slot + n * width, *width);
                    }
                }
                StepKind::SetCell { to, temp, word } => {
                    self.into(word, *temp)?;
                    let slot = self.local_slot(to)?;
                    self.copy(*temp, slot, to.width);
                }
                StepKind::Store { to, width, temp, word } => self.store(to, *width, *temp, word)?,
                StepKind::Alloc(b) => self.alloc(*b)?,
                StepKind::Lease { lease, of } => {
                    let view = self.view(*of).clone();
                    self.views[self.view_base + *lease as usize] = view;
                }
                StepKind::Call(c) => self.call(c)?,
                StepKind::Print(word, elem) => self.print(word, *elem)?,
            }
        }
        if self.arrays.len() > arrays {
            self.free(arrays);
        }
        Ok(())
    }

    fn run_loop(&mut self, range: &'u Range, body: &'u [Step]) -> Ran<()> {
        let mut turn = self.first(range)?;
        while let Some(t) = turn {
            self.place(range, t);
            self.block(body)?;
            turn = self.next(range, t);
        }
        Ok(())
    }

    /// A loop's first turn, if it has one. Its bounds are evaluated here, once.
    pub(super) fn first(&self, range: &Range) -> Ran<Option<Turn>> {
        let (at, end) = (self.index(&range.lo)?, self.index(&range.hi)?);
        Ok((at < end).then_some(Turn { at, number: 0, end }))
    }

    /// Sets a loop's variable.
    pub(super) fn place(&mut self, range: &Range, t: Turn) {
        let slot = self.int_base + range.slot as usize;
        self.ints[slot] = t.at;
        if range.block > 0 {
            let end = t.at.saturating_add(range.block).min(t.end);
            self.ints[slot + 1] = end;
            self.ints[slot + 2] = end - t.at;
            self.ints[slot + 3] = t.number;
        }
    }

    /// The turn after another.
    pub(super) fn next(&self, range: &Range, t: Turn) -> Option<Turn> {
        let at = t.at.checked_add(range.block.max(1)).filter(|at| *at < t.end)?;
        Some(Turn { at, number: t.number + 1, end: t.end })
    }

    fn store(&mut self, to: &'u Cell, width: u32, temp: u32, word: &'u Word) -> Ran<()> {
        if width == 1 {
            let x = self.one(word)?;
            let cell = self.find(to, true)?;
            let view = self.view(to.buffer).array;
            let array = &mut self.arrays[view];
            array.cells[cell] = x;
            array.written[cell] = true;
            return Ok(());
        }
        self.into(word, temp)?;
        let cell = self.find(to, true)?;
        let view = self.view(to.buffer).array;
        let (from, width) = (self.word_base + temp as usize, width as usize);
        let array = &mut self.arrays[view];
        array.cells[cell * width..(cell + 1) * width].copy_from_slice(&self.words[from..from + width]);
        array.written[cell] = true;
        Ok(())
    }

    /// The position of a cell in its array.
    pub(super) fn find(&self, cell: &Cell, write: bool) -> Ran<usize> {
        let view = self.view(cell.buffer);
        let mut position = view.offset as i64;
        for (ix, axis) in cell.at.iter().zip(&view.axes) {
            let i = self.index(ix)?;
            if i < 0 || i >= axis.extent {
                return Err(self.outside(cell));
            }
            position += i * axis.stride;
        }
        if !self.grids.is_empty() {
            let at = self.indices(&cell.at)?;
            self.allowed(cell, &at, write)?;
        }
        Ok(position as usize)
    }

    fn outside(&self, cell: &Cell) -> Box<super::Trap> {
        let name = self.code.buffers[cell.buffer as usize].name.clone();
        let at = self.indices(&cell.at).unwrap_or_default();
        let extents: Vec<i64> = self.view(cell.buffer).axes.iter().map(|a| a.extent).collect();
        let text = format!("`{}` is {name}{at:?}, outside {name}, whose extents are {extents:?}", cell.text);
        trap(TrapKind::OutOfBounds { name, at }, text, cell.span)
    }

    /// A cell of a local array, as a slot.
    pub(super) fn local_slot(&self, cell: &LocalCell) -> Ran<u32> {
        let mut position = 0i64;
        for (ix, n) in cell.at.iter().zip(&cell.dims) {
            let i = self.index(ix)?;
            if i < 0 || i >= *n {
                let at = self.indices(&cell.at)?;
                let text =
                    format!("`{}{at:?}` lies outside `{}`, whose extents are {:?}", cell.name, cell.name, cell.dims);
                return Err(trap(TrapKind::OutOfBounds { name: cell.name.clone(), at }, text, self.span));
            }
            position = position * n + i;
        }
        Ok(cell.slot + position as u32 * cell.width)
    }

    fn print(&mut self, word: &'u Word, elem: Elem) -> Ran<()> {
        let bits = self.one(word)?;
        let text = match scalar::to_f64(elem, bits) {
            Some(x) => crate::print::print_float(x),
            None if elem == Elem::Bool => (bits != 0).to_string(),
            None => scalar::to_int(elem, bits).to_string(),
        };
        self.out.push_str(&text);
        self.out.push('\n');
        Ok(())
    }

    pub(super) fn set(&mut self, slot: u32, x: u64) {
        self.words[self.word_base + slot as usize] = x;
    }

    pub(super) fn get(&self, slot: u32) -> u64 {
        self.words[self.word_base + slot as usize]
    }

    pub(super) fn copy(&mut self, from: u32, to: u32, width: u32) {
        let (from, to, width) = (self.word_base + from as usize, self.word_base + to as usize, width as usize);
        self.words.copy_within(from..from + width, to);
    }
}
