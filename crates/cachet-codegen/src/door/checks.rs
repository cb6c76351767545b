//! What is tested before a function is called from outside, in the order of [`ErrorKind`].
//!
//! Nothing that a caller hands over is used before it was tested, but for this: an address that is not null is taken to be
//! that of a description, or of a pool.

use super::exact::Exact;
use super::{Access, DESCRIPTION, ErrorKind, ErrorText, Frame, Processor, SCRATCH_ALIGN, type_code};
use crate::emitter::{BlockName, Emitter};
use crate::function::Outcome;
use crate::types::size_align;
use cachet_core::ir::{Buffer, Layout, MAX_BYTES, MAX_DIM, Role};
use cachet_core::layout;

/// A range of memory that a call uses.
struct Range {
    /// How a message names it.
    name: String,
    first: String,
    end: String,
    written: bool,
    rows: Rows,
}

/// Pieces of memory that lie equally far apart: how long each is, and from one to the next, in bytes; 0 where there is one.
struct Rows {
    width: String,
    step: String,
}

/// An array with strides.
struct Spread {
    /// How many bytes lie between its first element and the end of its last.
    bytes: String,
    /// The strides that are passed on.
    strides: Vec<String>,
    /// What lies along the outermost axis.
    rows: Rows,
}

/// The checked entry on its way to text.
struct Checks {
    em: Emitter,
    /// The codes so far, with the blocks that return them.
    errors: Vec<(ErrorText, BlockName)>,
}

impl Checks {
    /// Goes on where `bad` does not hold, and returns a code of its own where it does.
    fn refuse(&mut self, bad: &str, kind: ErrorKind, text: String) {
        let (fail, go_on) = (self.em.block(), self.em.block());
        self.em.branch(bad, &fail, &go_on);
        self.em.open(&go_on);
        let number = self.errors.len() as i32 + 1;
        self.errors.push((ErrorText { code: number << 8 | kind as i32, kind, text }, fail));
    }

    fn either(&mut self, a: &str, b: &str) -> String {
        self.em.def(format_args!("or i1 {a}, {b}"))
    }

    fn both(&mut self, a: &str, b: &str) -> String {
        self.em.def(format_args!("and i1 {a}, {b}"))
    }

    fn compare(&mut self, how: &str, a: &str, b: &str) -> String {
        self.em.def(format_args!("icmp {how} i64 {a}, {b}"))
    }
}

impl Frame<'_> {
    /// The checked entry; its codes go to the door.
    pub(super) fn checked(&mut self) -> Outcome<String> {
        let mut checks = Checks { em: Emitter::new(), errors: Vec::new() };
        self.sizes(&mut checks)?;
        let arrays = self.arrays();
        let mut placed = Vec::new();
        for b in &arrays {
            placed.push(self.described(&mut checks, *b)?);
        }
        let mut ranges = Vec::new();
        for (n, (b, spread)) in arrays.iter().zip(&placed).enumerate() {
            ranges.push(self.range(&mut checks, n, *b, spread.as_ref())?);
        }
        let scratch = if self.door.scratch.is_empty() { None } else { Some(self.working_space(&mut checks)?) };
        ranges.extend(scratch);
        apart(&mut checks, &ranges);
        if self.door.pool {
            pool(&mut checks);
        }
        self.float_mode(&mut checks);
        let mut args: Vec<String> = (0..self.fun.sizes.len()).map(|i| format!("i64 %n{i}")).collect();
        for (n, range) in ranges.iter().enumerate() {
            args.push(format!("ptr {}", range.first));
            let strides = placed.get(n).and_then(Option::as_ref).map(|s| s.strides.as_slice()).unwrap_or_default();
            args.extend(strides.iter().map(|s| format!("i64 {s}")));
        }
        args.extend(self.door.pool.then(|| "ptr %pool".to_string()));
        checks.em.line(format_args!("call void @{}({})", self.door.symbol, args.join(", ")));
        checks.em.line("ret i32 0");
        for (error, block) in checks.errors {
            checks.em.open(&block);
            checks.em.line(format_args!("ret i32 {}", error.code));
            self.door.errors.push(error);
        }
        let mut parameters = self.size_parameters();
        parameters.extend(arrays.iter().map(|b| format!("ptr %d{}", b.0)));
        if !self.door.scratch.is_empty() {
            parameters.extend(["ptr %scratch".to_string(), "i64 %bytes".to_string()]);
        }
        parameters.extend(self.door.pool.then(|| "ptr %pool".to_string()));
        let (symbol, parameters) = (&self.door.symbol, parameters.join(", "));
        Ok(format!("define i32 @{symbol}_checked({parameters}) #0 {{\n{}}}\n\n", checks.em.finish()))
    }

    /// Sizes are dimensions, arrays are no larger than arrays may be, and what the function requires holds.
    fn sizes(&mut self, checks: &mut Checks) -> Outcome<()> {
        for (i, name) in self.door.sizes.iter().enumerate() {
            let bad = checks.em.def(format_args!("icmp ugt i64 %n{i}, {MAX_DIM}"));
            checks.refuse(&bad, ErrorKind::Size, format!("{name} is negative, or larger than 2^40"));
        }
        for (b, name) in self.fun.params.iter().map(|b| (*b, &self.fun.buffers[b.index()].name)) {
            let mut exact = Exact::new(self.fun, &mut checks.em, self.needs);
            let bytes = exact.bytes(b)?;
            let beyond = exact.beyond(b, &bytes)?;
            let text = format!("{name} would have a negative extent, one larger than 2^40, or 2^47 bytes or more");
            checks.refuse(&beyond, ErrorKind::Size, text);
        }
        for (guard, text) in self.fun.requires.iter().zip(self.door.requires.clone()) {
            let mut exact = Exact::new(self.fun, &mut checks.em, self.needs);
            let holds = exact.guard(guard)?;
            let over = exact.over();
            let fails = checks.em.def(format_args!("xor i1 {holds}, true"));
            let bad = checks.either(&fails, &over);
            checks.refuse(&bad, ErrorKind::Requirement, format!("the sizes do not satisfy {text}"));
        }
        Ok(())
    }

    /// An array is described as the function has it.
    fn described(&mut self, checks: &mut Checks, b: Buffer) -> Outcome<Option<Spread>> {
        let info = self.fun.buffers[b.index()].clone();
        let (name, axes) = (&info.name, info.extents.len());
        let at = format!("%d{}", b.0);
        let bad = checks.em.def(format_args!("icmp eq ptr {at}, null"));
        checks.refuse(&bad, ErrorKind::Missing, format!("{name} is not described: its cachet_array is null"));
        let ty = self.loaded(checks, &at, "i32", &[1]);
        let bad = checks.em.def(format_args!("icmp ne i32 {ty}, {}", type_code(&info.elem)));
        let wanted = cachet_core::print::Names::of(self.program, self.fun).ty(&info.elem);
        checks.refuse(&bad, ErrorKind::Type, format!("{name} has elements of another type than {wanted}"));
        let rank = self.loaded(checks, &at, "i32", &[2]);
        let bad = checks.em.def(format_args!("icmp ne i32 {rank}, {axes}"));
        let s = if axes == 1 { "axis" } else { "axes" };
        checks.refuse(&bad, ErrorKind::Rank, format!("{name} has {axes} {s}"));
        let mut extents = Vec::new();
        let mut bad = String::from("false");
        for (axis, extent) in info.extents.iter().enumerate() {
            let wanted = Exact::new(self.fun, &mut checks.em, self.needs).ix(extent)?;
            let given = self.loaded(checks, &at, "i64", &[3, axis]);
            let other = checks.compare("ne", &given, &wanted);
            bad = checks.either(&bad, &other);
            extents.push(wanted);
        }
        let names = cachet_core::print::Names::of(self.program, self.fun);
        let shape = info.extents.iter().map(|e| names.ix(e)).collect::<Vec<_>>().join(", ");
        checks.refuse(&bad, ErrorKind::Shape, format!("{name} has another shape than [{shape}]"));
        if !self.strides_of(b).is_empty() {
            return Ok(Some(self.spread(checks, b, &at, &extents)));
        }
        self.strides(checks, &at, (name, &info.layout), &extents);
        Ok(None)
    }

    /// Strides that the function takes: elements of a row are neighbours, no stride is negative, and rows of what is written lie
    /// apart. Along an axis with one element, or in an array with none, any will do, and 0 is passed on.
    fn spread(&mut self, checks: &mut Checks, b: Buffer, at: &str, extents: &[String]) -> Spread {
        let info = &self.fun.buffers[b.index()];
        let (name, elem_bytes) = (info.name.clone(), size_align(&info.elem).0);
        let written = info.role == Role::Mut;
        let mut empty = String::from("false");
        for extent in extents {
            let none = checks.compare("eq", extent, "0");
            empty = checks.either(&empty, &none);
        }
        let (mut bad, mut strides) = (String::from("false"), Vec::new());
        for (axis, extent) in extents.iter().enumerate() {
            let given = self.loaded(checks, at, "i64", &[4, axis]);
            let many = checks.compare("sgt", extent, "1");
            let (how, with) = if axis + 1 == extents.len() { ("ne", "1") } else { ("slt", "0") };
            let other = checks.compare(how, &given, with);
            let matters = checks.both(&other, &many);
            bad = checks.either(&bad, &matters);
            let idle = checks.em.def(format_args!("xor i1 {many}, true"));
            let idle = checks.either(&idle, &empty);
            strides.push(checks.em.def(format_args!("select i1 {idle}, i64 0, i64 {given}")));
        }
        let full = checks.em.def(format_args!("xor i1 {empty}, true"));
        bad = checks.both(&bad, &full);
        let text =
            format!("neighbours along the last axis of {name} are not neighbours in memory, or a stride is negative");
        checks.refuse(&bad, ErrorKind::Strides, text);
        // From the innermost axis on: as many elements as lie between the first and behind the last.
        let (mut reach, mut meet) = (String::from("1"), String::from("false"));
        let mut width = reach.clone();
        for (axis, (extent, stride)) in extents.iter().zip(&strides).enumerate().rev() {
            let stride = if axis + 1 == extents.len() { "1" } else { stride };
            width = reach.clone();
            let many = checks.compare("sgt", extent, "1");
            let close = checks.compare("slt", stride, &reach);
            let close = checks.both(&close, &many);
            meet = checks.either(&meet, &close);
            let less = checks.em.def(format_args!("sub i64 {extent}, 1"));
            let less = checks.em.def(format_args!("call i64 @llvm.smax.i64(i64 {less}, i64 0)"));
            let more = Exact::new(self.fun, &mut checks.em, self.needs).product(&less, stride);
            reach = checks.em.def(format_args!("add i64 {reach}, {more}"));
        }
        let bytes = Exact::new(self.fun, &mut checks.em, self.needs).product(&reach, &elem_bytes.to_string());
        let far = checks.em.def(format_args!("icmp uge i64 {bytes}, {MAX_BYTES}"));
        let far = checks.both(&far, &full);
        checks.refuse(&far, ErrorKind::Strides, format!("{name} would reach over 2^47 bytes or more"));
        if written {
            let meet = checks.both(&meet, &full);
            let text =
                format!("elements of {name}, which is written, overlap each other, or its axes lie in another order");
            checks.refuse(&meet, ErrorKind::Strides, text);
        }
        let bytes = checks.em.def(format_args!("select i1 {empty}, i64 0, i64 {bytes}"));
        strides.pop();
        let mut in_bytes =
            |count: &str| Exact::new(self.fun, &mut checks.em, self.needs).product(count, &elem_bytes.to_string());
        let rows = Rows { width: in_bytes(&width), step: in_bytes(strides.first().map_or("0", String::as_str)) };
        Spread { bytes, strides, rows }
    }

    /// Strides are those of a contiguous array; along an axis with one element, or in an array with none, any will do.
    /// Where a layout says where elements are there are no strides, and all are 0.
    fn strides(&mut self, checks: &mut Checks, at: &str, (name, in_memory): (&str, &Layout), extents: &[String]) {
        let named = !layout::ops(in_memory).is_empty();
        let mut empty = String::from("false");
        for extent in extents {
            let none = checks.compare("eq", extent, "0");
            empty = checks.either(&empty, &none);
        }
        let mut bad = String::from("false");
        let mut wanted = String::from("1");
        for (axis, extent) in extents.iter().enumerate().rev() {
            let given = self.loaded(checks, at, "i64", &[4, axis]);
            let other = checks.compare("ne", &given, if named { "0" } else { &wanted });
            let many = checks.compare("sgt", extent, "1");
            let matters = if named { other } else { checks.both(&other, &many) };
            bad = checks.either(&bad, &matters);
            wanted = Exact::new(self.fun, &mut checks.em, self.needs).product(&wanted, extent);
        }
        let text = if named {
            format!("{name} lies {}: it has no strides, and all have to be 0", layout::words(in_memory))
        } else {
            let full = checks.em.def(format_args!("xor i1 {empty}, true"));
            bad = checks.both(&bad, &full);
            format!("{name} is not contiguous: its strides, in elements, are not those of rows that follow each other")
        };
        checks.refuse(&bad, ErrorKind::Strides, text);
    }

    /// Where an array lies.
    fn range(&mut self, checks: &mut Checks, n: usize, b: Buffer, spread: Option<&Spread>) -> Outcome<Range> {
        let bytes = match spread {
            Some(spread) => spread.bytes.clone(),
            None => Exact::new(self.fun, &mut checks.em, self.needs).bytes(b)?,
        };
        let at = self.loaded(checks, &format!("%d{}", b.0), "ptr", &[0]);
        let (name, align) = (self.door.arrays[n].name.clone(), self.door.arrays[n].size_align.1);
        let written = self.door.arrays[n].access != Access::Read;
        let rows = match spread {
            Some(Spread { rows: Rows { width, step }, .. }) => Rows { width: width.clone(), step: step.clone() },
            None => Rows { width: bytes.clone(), step: "0".into() },
        };
        Ok(located(checks, at, &bytes, rows, (name, align, written)))
    }

    /// The working space is there, is large enough, and is aligned.
    fn working_space(&mut self, checks: &mut Checks) -> Outcome<Range> {
        let (total, over) = self.scratch_total(&mut checks.em)?;
        let little = checks.compare("ult", "%bytes", &total);
        let bad = checks.either(&little, &over);
        let text = format!("scratch has fewer bytes than {}_scratch_bytes asks for", self.door.symbol);
        checks.refuse(&bad, ErrorKind::Scratch, text);
        let rows = Rows { width: total.clone(), step: "0".into() };
        Ok(located(checks, "%scratch".into(), &total, rows, ("scratch".into(), SCRATCH_ALIGN, true)))
    }

    /// A field of a description.
    fn loaded(&self, checks: &mut Checks, at: &str, ty: &str, path: &[usize]) -> String {
        let fields: String = path.iter().map(|f| format!(", i32 {f}")).collect();
        let field = checks.em.def(format_args!("getelementptr inbounds {DESCRIPTION}, ptr {at}, i64 0{fields}"));
        checks.em.def(format_args!("load {ty}, ptr {field}"))
    }

    /// This thread rounds to nearest, keeps subnormals and traps no exceptions: otherwise the bits are others.
    fn float_mode(&self, checks: &mut Checks) {
        /// MXCSR without its sticky flags: flush to zero, rounding, masks of exceptions, subnormals as zero.
        const MXCSR_CONTROL: u32 = 0xFFC0;
        /// All exceptions are masked; nothing else.
        const MXCSR_STRICT: u32 = 0x1F80;
        /// FPCR: FIZ, AH, NEP, traps of exceptions, FZ16, rounding, FZ. DN only makes other NaNs.
        const FPCR_CONTROL: u32 = 0x01C8_9F07;
        let other = match self.processor {
            Processor::X86_64 => {
                let slot = checks.em.slot("i32");
                checks.em.line(format_args!("call void @llvm.x86.sse.stmxcsr(ptr {slot})"));
                let mode = checks.em.def(format_args!("load i32, ptr {slot}"));
                let control = checks.em.def(format_args!("and i32 {mode}, {MXCSR_CONTROL}"));
                checks.em.def(format_args!("icmp ne i32 {control}, {MXCSR_STRICT}"))
            }
            Processor::Aarch64 => {
                let mode = checks.em.def("call i64 @llvm.aarch64.get.fpcr()");
                let control = checks.em.def(format_args!("and i64 {mode}, {FPCR_CONTROL}"));
                checks.em.def(format_args!("icmp ne i64 {control}, 0"))
            }
        };
        let text = "this thread's floating-point mode is not the default: it rounds in another way, flushes subnormals, \
                    or traps exceptions";
        checks.refuse(&other, ErrorKind::FloatMode, text.into());
    }
}

/// The range of memory from an address on, which is one.
fn located(
    checks: &mut Checks,
    at: String,
    bytes: &str,
    rows: Rows,
    (name, align, written): (String, u64, bool),
) -> Range {
    let first = checks.em.def(format_args!("ptrtoint ptr {at} to i64"));
    let null = checks.compare("eq", &first, "0");
    let some = checks.compare("ne", bytes, "0");
    let null = checks.both(&null, &some);
    let last = checks.em.def(format_args!("sub i64 {}, {bytes}", u64::MAX as i64));
    let past = checks.compare("ugt", &first, &last);
    let bad = checks.either(&null, &past);
    let text = format!("the address of {name} is null, or runs past the end of memory");
    checks.refuse(&bad, ErrorKind::Address, text);
    if align > 1 {
        let low = checks.em.def(format_args!("and i64 {first}, {}", align - 1));
        let crooked = checks.compare("ne", &low, "0");
        let crooked = checks.both(&crooked, &some);
        checks.refuse(&crooked, ErrorKind::Alignment, format!("the address of {name} is not a multiple of {align}"));
    }
    let end = checks.em.def(format_args!("add i64 {first}, {bytes}"));
    Range { name, first: at, end, written, rows }
}

/// What is written overlaps nothing else; what is empty overlaps nothing.
fn apart(checks: &mut Checks, ranges: &[Range]) {
    for (n, a) in ranges.iter().enumerate() {
        for b in &ranges[n + 1..] {
            if !a.written && !b.written {
                continue;
            }
            let starts =
                |checks: &mut Checks, r: &Range| checks.em.def(format_args!("ptrtoint ptr {} to i64", r.first));
            let (a0, b0) = (starts(checks, a), starts(checks, b));
            let before = checks.compare("ult", &a0, &b.end);
            let after = checks.compare("ult", &b0, &a.end);
            let meet = checks.both(&before, &after);
            // A range without bytes lies inside another only in the sense of these two comparisons.
            let (some_a, some_b) = (checks.compare("ne", &a0, &a.end), checks.compare("ne", &b0, &b.end));
            let some = checks.both(&some_a, &some_b);
            let bad = checks.both(&meet, &some);
            let bad = if a.rows.step == "0" && b.rows.step == "0" {
                bad
            } else {
                entangled(checks, &bad, (a, &a0), (b, &b0))
            };
            let written = if a.written { &a.name } else { &b.name };
            let other = if a.written { &b.name } else { &a.name };
            checks.refuse(&bad, ErrorKind::Overlap, format!("{written}, which is written, overlaps {other}"));
        }
    }
}

/// Whether two ranges that meet have memory in common: where rows are equally far apart, those of one may lie between those
/// of the other, as columns of one matrix do. What is one piece is a row of any distance.
fn entangled(checks: &mut Checks, meet: &str, (a, a0): (&Range, &str), (b, b0): (&Range, &str)) -> String {
    let (look, after) = (checks.em.block(), checks.em.block());
    let before = checks.em.here();
    checks.em.branch(meet, &look, &after);
    checks.em.open(&look);
    let one = checks.compare("eq", &a.rows.step, "0");
    let step = checks.em.def(format_args!("select i1 {one}, i64 {}, i64 {}", b.rows.step, a.rows.step));
    let mut unequal = checks.compare("eq", &step, "0");
    let divisor = checks.em.def(format_args!("select i1 {unequal}, i64 1, i64 {step}"));
    let (many, other) = (checks.compare("ne", &b.rows.step, "0"), checks.compare("ne", &b.rows.step, &step));
    let other = checks.both(&many, &other);
    unequal = checks.either(&unequal, &other);
    // From a row of one to the next row of the other.
    let far = checks.em.def(format_args!("sub i64 {b0}, {a0}"));
    let back = checks.em.def(format_args!("sub i64 {a0}, {b0}"));
    let forward = checks.compare("uge", b0, a0);
    let apart = checks.em.def(format_args!("select i1 {forward}, i64 {far}, i64 {back}"));
    let rest = checks.em.def(format_args!("urem i64 {apart}, {divisor}"));
    let (first, second) = (&a.rows.width, &b.rows.width);
    let lower = checks.em.def(format_args!("select i1 {forward}, i64 {first}, i64 {second}"));
    let upper = checks.em.def(format_args!("select i1 {forward}, i64 {second}, i64 {first}"));
    let over = checks.compare("ult", &rest, &lower);
    let end = checks.em.def(format_args!("add i64 {rest}, {upper}"));
    let beyond = checks.compare("ugt", &end, &divisor);
    let common = checks.either(&over, &beyond);
    let common = checks.either(&common, &unequal);
    let here = checks.em.here();
    checks.em.jump(&after);
    checks.em.open(&after);
    checks.em.def(format_args!("phi i1 [ false, {before} ], [ {common}, {here} ]"))
}

/// A pool has a function.
fn pool(checks: &mut Checks) {
    let (given, none) = (checks.em.block(), checks.em.block());
    let is_none = checks.em.def("icmp eq ptr %pool, null");
    let before = checks.em.here();
    checks.em.branch(&is_none, &none, &given);
    checks.em.open(&given);
    let field = checks.em.def("getelementptr inbounds { ptr, ptr }, ptr %pool, i64 0, i32 1");
    let function = checks.em.def(format_args!("load ptr, ptr {field}"));
    let null = checks.em.def(format_args!("icmp eq ptr {function}, null"));
    checks.em.jump(&none);
    checks.em.open(&none);
    let bad = checks.em.def(format_args!("phi i1 [ false, {before} ], [ {null}, {given} ]"));
    checks.refuse(&bad, ErrorKind::Pool, "the pool has no function: its run is null".into());
}
