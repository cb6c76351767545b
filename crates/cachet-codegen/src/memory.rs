//! Where is an element, and how is it read and written?

use crate::function::{Index, Lower, Outcome, Place};
use crate::support::Support;
use crate::types::{Value, in_memory, leaves, memory, paths, register, size_align};
use cachet_core::ir::{Access, Buffer, Elem, Ix, LayoutOp, Local, MAX_BYTES, MAX_DIM, Ty, Var};
use cachet_core::layout;

/// A buffer: from `base`, row-major over its physical axes.
#[derive(Clone)]
pub(crate) struct Memory {
    /// Its address.
    pub(crate) base: String,
    /// The type of an element.
    pub(crate) elem: Ty,
    /// Its extents as `i64`s.
    pub(crate) extents: Vec<String>,
    /// What its layout makes of indices.
    pub(crate) ops: Vec<LayoutOp>,
    /// The lengths of the axes that its layout makes of the extents.
    pub(crate) physical: Vec<String>,
    /// How many elements lie between neighbours along each axis but the last, where a caller says so. Then there is no layout.
    pub(crate) strides: Option<Vec<String>>,
}

/// Whether an address is known to be one of its buffer's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bounds {
    /// It is.
    Inside,
    /// It may lie anywhere.
    Unknown,
}

impl Memory {
    /// So many elements in a row.
    pub(crate) fn row(base: String, elem: &Ty, count: String) -> Memory {
        let (extents, physical) = (vec![count.clone()], vec![count]);
        Memory { base, elem: elem.clone(), extents, ops: vec![], physical, strides: None }
    }
}

impl Lower<'_, '_> {
    /// The element in a cell.
    pub(crate) fn load(&mut self, access: &Access) -> Outcome<Value> {
        let memory = self.buffer(access.buffer)?.clone();
        let at = self.address(&memory, &access.at)?;
        Ok(self.load_at(&memory.elem, &at))
    }

    /// Writes a cell.
    pub(crate) fn store(&mut self, access: &Access, value: &Value) -> Outcome<()> {
        let memory = self.buffer(access.buffer)?.clone();
        let at = self.address(&memory, &access.at)?;
        self.store_at(&memory.elem, &at, value);
        Ok(())
    }

    /// The address of the cell that is number `i` in row-major order over the extents, whatever the layout.
    pub(crate) fn nth_cell(&mut self, memory: &Memory, i: &str) -> Outcome<String> {
        if memory.ops.is_empty() && memory.strides.is_none() {
            return Ok(self.offset(memory, &memory.base.clone(), i));
        }
        // Variables that the function does not have.
        let first = self.fun.vars.len() as u32;
        let mut rest = i.to_string();
        let mut at = Vec::new();
        for (n, extent) in memory.extents.iter().enumerate().rev() {
            let own = self.em.def(format_args!("urem i64 {rest}, {extent}"));
            rest = self.em.def(format_args!("udiv i64 {rest}, {extent}"));
            let axis = Var(first + n as u32);
            self.bind_var(axis, Index::Plain(own));
            at.push(Ix::Var(axis));
        }
        at.reverse();
        self.address(memory, &at)
    }

    /// A cell's address, in two steps: the row's, which does not change along the row, and the cell's in it.
    fn address(&mut self, memory: &Memory, at: &[Ix]) -> Outcome<String> {
        if at.len() != memory.extents.len() {
            return Err(self.ill_formed("an access has another number of indices than its buffer has axes"));
        }
        let known = &self.known;
        let at = layout::over(&memory.ops, at.to_vec(), |ix, by, back| {
            let b = || Box::new(ix.clone());
            let (group, place) = known.divided(&ix, by, 0).unwrap_or_else(|| (Ix::Div(b(), by), Ix::Mod(b(), by)));
            (group, if back { cachet_core::linear::difference(&Ix::Lit(by - 1), &place) } else { place })
        });
        self.physical_address(memory, &at, Bounds::Inside)
    }

    /// The address of a cell by its indices in memory.
    pub(crate) fn physical_address(&mut self, memory: &Memory, at: &[Ix], bounds: Bounds) -> Outcome<String> {
        let at = at.iter().map(|i| self.ix(i)).collect::<Outcome<Vec<_>>>()?;
        let Some((last, rows)) = at.split_last() else { return Err(self.ill_formed("an access has no index")) };
        let row = match &memory.strides {
            Some(strides) => self.row_start(rows, strides),
            None => {
                let row = self.row_major(rows, &memory.physical);
                memory.physical.last().map_or(row.clone(), |n| self.scale(&row, n))
            }
        };
        match bounds {
            Bounds::Inside => {
                let base = self.offset(memory, &memory.base.clone(), &row);
                Ok(self.offset(memory, &base, last))
            }
            Bounds::Unknown => {
                let (ty, base) = (in_memory(&memory.elem), memory.base.clone());
                let row = self.em.def(format_args!("getelementptr {ty}, ptr {base}, i64 {row}"));
                Ok(self.em.def(format_args!("getelementptr {ty}, ptr {row}, i64 {last}")))
            }
        }
    }

    /// `((i0 * n1) + i1) * n2 + ..`, over the indices that are given.
    pub(crate) fn row_major(&mut self, at: &[String], extents: &[String]) -> String {
        let mut sum = String::from("0");
        for (i, n) in at.iter().zip(extents) {
            let scaled = self.scale(&sum, n);
            sum = self.add(&scaled, i);
        }
        sum
    }

    /// `i0 * s0 + i1 * s1 + ..`
    fn row_start(&mut self, at: &[String], strides: &[String]) -> String {
        at.iter().zip(strides).fold(String::from("0"), |sum, (i, s)| {
            let more = self.scale(i, s);
            self.add(&sum, &more)
        })
    }

    /// The address so many elements on.
    pub(crate) fn offset(&mut self, memory: &Memory, base: &str, count: &str) -> String {
        if count == "0" {
            return base.into();
        }
        let ty = in_memory(&memory.elem);
        self.em.def(format_args!("getelementptr inbounds {ty}, ptr {base}, i64 {count}"))
    }

    /// Reads an element.
    pub(crate) fn load_at(&mut self, ty: &Ty, at: &str) -> Value {
        let mut names = Vec::new();
        for (elem, path) in leaves(ty).into_iter().zip(paths(ty)) {
            let at = self.leaf(ty, at, &path);
            let name = self.em.def(format_args!("load {}, ptr {at}", memory(elem)));
            names.push(self.read_in(elem, name));
        }
        Value { ty: ty.clone(), leaves: names }
    }

    /// Writes an element.
    pub(crate) fn store_at(&mut self, ty: &Ty, at: &str, value: &Value) {
        for ((elem, path), name) in leaves(ty).into_iter().zip(paths(ty)).zip(&value.leaves) {
            let at = self.leaf(ty, at, &path);
            let name = self.written(elem, name);
            self.em.line(format_args!("store {} {name}, ptr {at}", memory(elem)));
        }
    }

    fn leaf(&mut self, ty: &Ty, at: &str, path: &[usize]) -> String {
        if path.is_empty() {
            return at.into();
        }
        let fields: String = path.iter().map(|f| format!(", i32 {f}")).collect();
        self.em.def(format_args!("getelementptr inbounds {}, ptr {at}, i64 0{fields}", in_memory(ty)))
    }

    fn read_in(&mut self, elem: Elem, name: String) -> String {
        if elem == Elem::Bool { self.em.def(format_args!("icmp ne i8 {name}, 0")) } else { name }
    }

    fn written(&mut self, elem: Elem, name: &str) -> String {
        if elem == Elem::Bool { self.em.def(format_args!("zext i1 {name} to i8")) } else { name.into() }
    }

    /// Makes an uninitialised buffer, and returns its address for [`Lower::release`].
    pub(crate) fn allocate(&mut self, b: Buffer) -> Outcome<String> {
        let Some(info) = self.fun.buffers.get(b.index()) else {
            return Err(self.ill_formed("an allocation of nothing"));
        };
        let memory = self.memory(b, String::new())?;
        let mut count = self.count(&memory.physical);
        for (ix, extent) in info.extents.iter().zip(&memory.extents) {
            count = self.within_a_dimension(ix, extent, &count);
        }
        let base = self.heap(&info.elem, &count);
        self.buffers[b.index()] = Some(Memory { base: base.clone(), ..memory });
        Ok(base)
    }

    /// How many elements an array of these extents has.
    pub(crate) fn count(&mut self, extents: &[String]) -> String {
        extents.iter().fold(String::from("1"), |product, n| self.product(&product, n))
    }

    /// As many elements, or more than any array has where an extent is longer than a dimension may be: what is proved of
    /// functions rests on that limit, also where another extent is 0.
    fn within_a_dimension(&mut self, ix: &Ix, extent: &str, count: &str) -> String {
        let known = match ix {
            Ix::Lit(n) => (0..=MAX_DIM).contains(n),
            Ix::Var(v) => self.fun.sizes.contains(v),
            _ => false,
        };
        if known {
            return count.into();
        }
        let beyond = self.em.def(format_args!("icmp ugt i64 {extent}, {MAX_DIM}"));
        self.em.def(format_args!("select i1 {beyond}, i64 {MAX_BYTES}, i64 {count}"))
    }

    /// A product of which nothing is proved but that both numbers are not negative.
    fn product(&mut self, a: &str, b: &str) -> String {
        match (a, b) {
            ("1", b) => b.into(),
            (a, "1") => a.into(),
            (a, b) => {
                self.module.needs(Support::Product);
                self.em.def(format_args!("call i64 @{}(i64 {a}, i64 {b})", Support::Product.symbol()))
            }
        }
    }

    /// So many elements of the heap, aligned to 64 bytes.
    pub(crate) fn heap(&mut self, elem: &Ty, count: &str) -> String {
        self.module.needs(Support::Allocate);
        let bytes = self.product(count, &size_align(elem).0.to_string());
        self.em.def(format_args!("call noalias align 64 ptr @{}(i64 {bytes})", Support::Allocate.symbol()))
    }

    pub(crate) fn release(&mut self, base: &str) {
        self.em.line(format_args!("call void @free(ptr {base})"));
    }

    /// Takes so many elements of what the function may have on the stack, where that much is left.
    pub(crate) fn take_stack(&mut self, ty: &Ty, count: i64) -> bool {
        let left = self.stack - i128::from(count) * i128::from(size_align(ty).0);
        if left >= 0 {
            self.stack = left;
        }
        left >= 0
    }

    /// Stack slots for a local, one per leaf, each with all its cells set to `init`.
    pub(crate) fn declare(&mut self, local: Local, init: &Value) -> Outcome<()> {
        let Some(info) = self.fun.locals.get(local.index()) else {
            return Err(self.ill_formed("a local without an entry"));
        };
        let dims = info.dims.clone();
        let cells = dims.iter().try_fold(1i64, |n, d| n.checked_mul(*d));
        let Some(cells) = cells.filter(|n| self.take_stack(&init.ty, *n)) else {
            return Err(self.not_built(format!("local arrays as large as `{}` with those beside it", info.name)));
        };
        let elems = leaves(&init.ty);
        let array = !dims.is_empty();
        let slots: Vec<String> = elems
            .iter()
            .map(|e| {
                if array {
                    self.em.slot(format_args!("[{cells} x {}]", register(*e)))
                } else {
                    self.em.slot(register(*e))
                }
            })
            .collect();
        if array {
            let slots = slots.clone();
            self.range("0", &cells.to_string(), 1, &[], &mut |this, i, _| {
                for ((slot, elem), name) in slots.iter().zip(&elems).zip(&init.leaves) {
                    let ty = register(*elem);
                    let at = this.em.def(format_args!("getelementptr inbounds {ty}, ptr {slot}, i64 {i}"));
                    this.em.line(format_args!("store {ty} {name}, ptr {at}"));
                }
                Ok(vec![])
            })?;
        } else {
            for ((slot, elem), name) in slots.iter().zip(&elems).zip(&init.leaves) {
                self.em.line(format_args!("store {} {name}, ptr {slot}", register(*elem)));
            }
        }
        self.bind(local, Place::Slots { ty: init.ty.clone(), dims, slots });
        Ok(())
    }

    /// The word of a local, or of one of its cells.
    pub(crate) fn read(&mut self, local: Local, at: &[Ix]) -> Outcome<Value> {
        match self.local(local)?.clone() {
            Place::Value(value) => Ok(value),
            Place::Slots { ty, dims, slots } => {
                let cells = self.cells(&ty, &dims, &slots, at)?;
                let elems = leaves(&ty);
                let names = elems.iter().zip(cells);
                let names = names.map(|(e, p)| self.em.def(format_args!("load {}, ptr {p}", register(*e)))).collect();
                Ok(Value { ty, leaves: names })
            }
        }
    }

    /// Gives a local, or one of its cells, a new word.
    pub(crate) fn assign(&mut self, local: Local, at: &[Ix], value: &Value) -> Outcome<()> {
        let Place::Slots { ty, dims, slots } = self.local(local)?.clone() else {
            return Err(self.ill_formed("a `let` is assigned"));
        };
        let cells = self.cells(&ty, &dims, &slots, at)?;
        for ((elem, cell), name) in leaves(&ty).iter().zip(cells).zip(&value.leaves) {
            self.em.line(format_args!("store {} {name}, ptr {cell}", register(*elem)));
        }
        Ok(())
    }

    pub(crate) fn cells(&mut self, ty: &Ty, dims: &[i64], slots: &[String], at: &[Ix]) -> Outcome<Vec<String>> {
        if dims.is_empty() {
            return Ok(slots.to_vec());
        }
        let at = at.iter().map(|i| self.ix(i)).collect::<Outcome<Vec<_>>>()?;
        let dims: Vec<String> = dims.iter().map(i64::to_string).collect();
        let index = self.row_major(&at, &dims);
        let cells = slots.iter().zip(leaves(ty));
        Ok(cells
            .map(|(slot, e)| {
                self.em.def(format_args!("getelementptr inbounds {}, ptr {slot}, i64 {index}", register(e)))
            })
            .collect())
    }
}
