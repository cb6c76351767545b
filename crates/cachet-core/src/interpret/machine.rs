//! The state of a run: frames, views, cells, and the budget.

use super::array::{Array, cell_count, flatten};
use super::code::{Code, Mode, Unit};
use super::grid::GridFrame;
use super::{Options, Trap, TrapKind, trap};
use crate::ir::{At, MAX_DIM};
use crate::layout;

pub(super) type Ran<T> = Result<T, Box<Trap>>;

/// How deep statements, terms and calls together may nest on the native stack.
const MAX_STACK: usize = 1200;

/// A buffer as a function sees it: a box of an array.
#[derive(Clone, Default)]
pub(super) struct View {
    pub(super) array: usize,
    pub(super) offset: usize,
    pub(super) axes: Vec<Axis>,
}

/// One axis of a view.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    pub(super) extent: i64,
    /// Cells between neighbours, in the array.
    pub(super) stride: i64,
    /// Where the view starts in the array.
    pub(super) start: i64,
}

/// A run.
pub(super) struct Machine<'u, 'o> {
    pub(super) unit: &'u Unit,
    pub(super) code: &'u Code,
    pub(super) ints: Vec<i64>,
    pub(super) int_base: usize,
    pub(super) words: Vec<u64>,
    pub(super) word_base: usize,
    /// Word slots of the frame at `word_base`.
    pub(super) frame: usize,
    pub(super) views: Vec<View>,
    pub(super) view_base: usize,
    pub(super) arrays: Vec<Array>,
    pub(super) grids: Vec<GridFrame>,
    /// The stamp of the next grid iteration, and which cells carry which, by array and depth of grids.
    pub(super) serial: u64,
    pub(super) stack: usize,
    pub(super) steps: u64,
    pub(super) elements: u64,
    pub(super) random: Option<u64>,
    pub(super) span: At,
    pub(super) out: &'o mut String,
}

/// Runs a unit's entry on arguments.
pub(super) fn start(unit: &Unit, sizes: &[i64], args: &mut [Array], options: &Options, out: &mut String) -> Ran<()> {
    let Some(code) = unit.codes.get(unit.entry) else {
        return Err(trap(TrapKind::Malformed, "nothing to run", At::default()));
    };
    if sizes.len() != code.sizes.len() || args.len() != code.params.len() {
        let text = format!("`{}` takes {} sizes and {} arguments", code.name, code.sizes.len(), code.params.len());
        return Err(trap(TrapKind::Malformed, text, code.span));
    }
    let mut views = Vec::new();
    for (i, (arg, p)) in args.iter().zip(&code.params).enumerate() {
        let info = &code.buffers[p.buffer as usize];
        if arg.shape.as_ref() != Some(&info.elem) || arg.extents.len() != info.extents.len() {
            let text = format!("the argument for `{}` has elements or axes of another kind", info.name);
            return Err(trap(TrapKind::ExtentMismatch, text, info.span));
        }
        views.push(whole(i, &arg.extents));
    }
    let mut machine = Machine {
        unit,
        code,
        ints: Vec::new(),
        int_base: 0,
        words: Vec::new(),
        word_base: 0,
        frame: 0,
        views: Vec::new(),
        view_base: 0,
        arrays: args.iter_mut().map(std::mem::take).collect(),
        grids: Vec::new(),
        serial: 1,
        stack: 0,
        steps: options.max_steps,
        elements: options.max_elements,
        random: options.shuffle,
        span: code.span,
        out,
    };
    let ran = machine.enter(code, sizes, &views);
    for (arg, array) in args.iter_mut().zip(std::mem::take(&mut machine.arrays)) {
        *arg = array;
    }
    ran
}

/// All of an array.
pub(super) fn whole(array: usize, extents: &[i64]) -> View {
    let mut axes = Vec::with_capacity(extents.len());
    let mut stride = 1i64;
    for n in extents.iter().rev() {
        axes.push(Axis { extent: *n, stride, start: 0 });
        stride = stride.saturating_mul(*n);
    }
    axes.reverse();
    View { array, offset: 0, axes }
}

impl<'u> Machine<'u, '_> {
    /// Runs a function in a new frame. The views are those of its parameters, in order.
    pub(super) fn enter(&mut self, code: &'u Code, sizes: &[i64], views: &[View]) -> Ran<()> {
        self.stack += code.depth + 4;
        if self.stack > MAX_STACK {
            return Err(trap(TrapKind::Limit, format!("calls down to `{}` nest too deep", code.name), self.span));
        }
        self.take_elements(code.words as u64)?;
        let saved = (self.code, self.int_base, self.word_base, self.frame, self.view_base);
        self.code = code;
        self.int_base = self.ints.len();
        self.ints.resize(self.int_base + code.ints, 0);
        self.word_base += self.frame;
        self.frame = code.words;
        self.need_words(code.words);
        self.view_base = self.views.len();
        self.views.resize(self.view_base + code.buffers.len(), View::default());
        self.open(code, sizes, views)?;
        self.block(&code.body)?;
        self.close(code)?;
        self.views.truncate(self.view_base);
        self.ints.truncate(self.int_base);
        (self.code, self.int_base, self.word_base, self.frame, self.view_base) = saved;
        self.elements += code.words as u64;
        self.stack -= code.depth + 4;
        Ok(())
    }

    /// Makes room for a frame at the current base.
    pub(super) fn need_words(&mut self, words: usize) {
        let end = self.word_base + words;
        if self.words.len() < end {
            self.words.resize(end, 0);
        }
    }

    /// Sizes, requirements and arguments on entry.
    fn open(&mut self, code: &'u Code, sizes: &[i64], views: &[View]) -> Ran<()> {
        for ((slot, name), n) in code.sizes.iter().zip(sizes) {
            if !(0..=MAX_DIM).contains(n) {
                let text = format!("`{name}` of `{}` would be {n}", code.name);
                return Err(trap(TrapKind::RequirementViolated, text, self.span));
            }
            self.ints[self.int_base + *slot as usize] = *n;
        }
        for (guard, text) in &code.requires {
            if !self.cond(guard)? {
                let text = format!("`{}` requires `{text}`, which does not hold at {}", code.name, named(code, sizes));
                return Err(trap(TrapKind::RequirementViolated, text, self.span));
            }
        }
        for (p, view) in code.params.iter().zip(views) {
            let info = &code.buffers[p.buffer as usize];
            for (i, (axis, extent)) in view.axes.iter().zip(&info.extents).enumerate() {
                let wanted = self.index(extent)?;
                if axis.extent != wanted {
                    let text = format!(
                        "axis {i} of `{}` of `{}` is {wanted} long, its argument {}",
                        info.name, code.name, axis.extent
                    );
                    return Err(trap(TrapKind::ExtentMismatch, text, self.span));
                }
            }
            match p.mode {
                Mode::Reads | Mode::Mut => self.all_written(view, info, |name, at| {
                    (
                        TrapKind::Uninitialised { name: name.into(), at: at.into() },
                        format!("`{name}` is lent to `{}`, but nothing was written to its {at:?}", code.name),
                    )
                })?,
                Mode::Produces | Mode::Scratch => self.forget(view),
            }
            self.views[self.view_base + p.buffer as usize] = view.clone();
        }
        Ok(())
    }

    /// What a function promised on exit.
    fn close(&mut self, code: &'u Code) -> Ran<()> {
        for p in &code.params {
            let view = self.views[self.view_base + p.buffer as usize].clone();
            let info = &code.buffers[p.buffer as usize];
            match p.mode {
                Mode::Produces => self.all_written(&view, info, |name, at| {
                    (
                        TrapKind::NotProduced,
                        format!("`{}` says that it writes all of `{name}`, but not its {at:?}", code.name),
                    )
                })?,
                Mode::Scratch => self.forget(&view),
                Mode::Reads | Mode::Mut => {}
            }
        }
        Ok(())
    }

    fn all_written(
        &self,
        view: &View,
        info: &super::code::BufferCode,
        fault: impl Fn(&str, &[i64]) -> (TrapKind, String),
    ) -> Ran<()> {
        let array = &self.arrays[view.array];
        match cells(view).find(|(_, cell)| !array.written[*cell]) {
            None => Ok(()),
            Some((at, _)) => {
                let (kind, text) = fault(&info.name, &at);
                Err(trap(kind, text, self.span))
            }
        }
    }

    fn forget(&mut self, view: &View) {
        let array = &mut self.arrays[view.array];
        for (_, cell) in cells(view) {
            array.written[cell] = false;
        }
    }

    /// A fresh array for a buffer of the current frame.
    pub(super) fn alloc(&mut self, buffer: u32) -> Ran<()> {
        let info = &self.code.buffers[buffer as usize];
        let extents = info.extents.iter().map(|e| self.index(e)).collect::<Ran<Vec<i64>>>()?;
        if let Some(n) = extents.iter().find(|n| !(0..=MAX_DIM).contains(*n)) {
            return Err(trap(
                TrapKind::ExtentMismatch,
                format!("an extent of `{}` would be {n}", info.name),
                info.span,
            ));
        }
        // What a layout fills up takes room as well, and a machine has no more than the limit says.
        let room = layout::room(&info.layout, &extents);
        let cells = room.and_then(|n| usize::try_from(n).ok()).filter(|_| cell_count(&extents).is_some());
        let words = cells.and_then(|c| c.checked_mul(flatten(&info.elem)?.len().max(1)));
        self.take_elements(words.unwrap_or(usize::MAX) as u64)?;
        let Some(array) = Array::new(&info.elem, &extents) else {
            return Err(trap(TrapKind::Limit, format!("`{}` is too large", info.name), info.span));
        };
        self.arrays.push(array);
        self.views[self.view_base + buffer as usize] = whole(self.arrays.len() - 1, &extents);
        Ok(())
    }

    pub(super) fn take_elements(&mut self, n: u64) -> Ran<()> {
        match self.elements.checked_sub(n) {
            Some(left) => {
                self.elements = left;
                Ok(())
            }
            None => Err(trap(TrapKind::Limit, "the run needs more memory than it may have", self.span)),
        }
    }

    /// Frees what was allocated since there were so many arrays.
    pub(super) fn free(&mut self, arrays: usize) {
        for a in self.arrays.drain(arrays..) {
            self.elements += a.written.len() as u64 * a.elems.len().max(1) as u64;
        }
    }

    pub(super) fn step(&mut self) -> Ran<()> {
        if self.steps == 0 {
            return Err(trap(TrapKind::Limit, "the run takes more steps than it may", self.span));
        }
        self.steps -= 1;
        Ok(())
    }

    pub(super) fn view(&self, buffer: u32) -> &View {
        &self.views[self.view_base + buffer as usize]
    }
}

/// `M = 3, N = 0`.
fn named(code: &Code, sizes: &[i64]) -> String {
    let parts: Vec<String> = code.sizes.iter().zip(sizes).map(|((_, name), n)| format!("{name} = {n}")).collect();
    parts.join(", ")
}

/// The cells of a view: indices in the view, and positions in the array.
pub(super) fn cells(view: &View) -> impl Iterator<Item = (Vec<i64>, usize)> + '_ {
    let empty = view.axes.iter().any(|a| a.extent <= 0);
    let mut next = if empty { None } else { Some(vec![0i64; view.axes.len()]) };
    std::iter::from_fn(move || {
        let at = next.take()?;
        let cell = view.offset as i64 + at.iter().zip(&view.axes).map(|(i, a)| i * a.stride).sum::<i64>();
        let mut following = at.clone();
        for (i, a) in following.iter_mut().zip(&view.axes).rev() {
            *i += 1;
            if *i < a.extent {
                next = Some(following);
                break;
            }
            *i = 0;
        }
        Some((at, cell as usize))
    })
}
