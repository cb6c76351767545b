//! How is a product of short numbers computed by oneDNN? By its primitive `matmul`, which is made for extents and types.
//!
//! Versions 2 and 3 describe what is wanted in different ways and run it in the same one. All matrices lie in rows, or
//! transposed; nothing is reordered before, so that the primitive's own copies are part of its time.

use std::cell::RefCell;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

use super::{Numbers, Product};

/// Something of the library's.
pub(super) type Handle = *mut c_void;
/// `dnnl_status_t`; 0 where all is well.
type Status = c_int;
/// `dnnl_dims_t`.
type Dims = [i64; 12];

/// `dnnl_engine_create`: kind and index.
pub(super) type MakeEngine = unsafe extern "C" fn(*mut Handle, c_int, usize) -> Status;
/// `dnnl_stream_create`.
pub(super) type MakeStream = unsafe extern "C" fn(*mut Handle, Handle, c_uint) -> Status;
/// `dnnl_primitive_create`, from a description.
pub(super) type MakePrimitive = unsafe extern "C" fn(*mut Handle, Handle) -> Status;
/// `dnnl_memory_create`, from a shape, at an address.
pub(super) type MakeMemory = unsafe extern "C" fn(*mut Handle, *const c_void, Handle, *mut c_void) -> Status;
/// `dnnl_memory_set_data_handle`.
pub(super) type SetAddress = unsafe extern "C" fn(Handle, *mut c_void) -> Status;
/// `dnnl_primitive_execute`.
pub(super) type Execute = unsafe extern "C" fn(Handle, Handle, c_int, *const Argument) -> Status;
/// `dnnl_stream_wait`, and the functions that end something's life.
pub(super) type Simple = unsafe extern "C" fn(Handle) -> Status;
/// `dnnl_memory_desc_init_by_strides`: into memory of the caller's.
pub(super) type ShapeInPlace = unsafe extern "C" fn(*mut c_void, c_int, *const Dims, c_int, *const Dims) -> Status;
/// `dnnl_memory_desc_create_with_strides`: into memory of its own.
pub(super) type ShapeApart = unsafe extern "C" fn(*mut Handle, c_int, *const Dims, c_int, *const Dims) -> Status;
/// `dnnl_matmul_desc_init`: source, weights, bias, destination.
pub(super) type WishInPlace =
    unsafe extern "C" fn(*mut c_void, *const c_void, *const c_void, *const c_void, *const c_void) -> Status;
/// `dnnl_primitive_desc_create`: of a wish, attributes, an engine, a hint.
pub(super) type Choose =
    unsafe extern "C" fn(*mut Handle, *const c_void, *const c_void, Handle, *const c_void) -> Status;
/// `dnnl_matmul_primitive_desc_create`: source, weights, bias, destination, attributes.
pub(super) type ChooseAtOnce = unsafe extern "C" fn(
    *mut Handle,
    Handle,
    *const c_void,
    *const c_void,
    *const c_void,
    *const c_void,
    *const c_void,
) -> Status;

/// `dnnl_exec_arg_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Argument {
    argument: c_int,
    memory: Handle,
}

/// How a version is told what is wanted.
#[derive(Clone, Copy)]
pub(super) enum Describe {
    /// Version 2: descriptions lie in memory of the caller's.
    InPlace(ShapeInPlace, WishInPlace, Choose),
    /// Version 3: they are the library's; the last function takes a shape back.
    Apart(ShapeApart, ChooseAtOnce, Simple),
}

/// The functions.
#[derive(Clone, Copy)]
pub(super) struct Functions {
    pub describe: Describe,
    pub primitive: MakePrimitive,
    pub memory: MakeMemory,
    pub set_address: SetAddress,
    pub execute: Execute,
    pub wait: Simple,
    pub end_description: Simple,
    pub end_primitive: Simple,
    pub end_memory: Simple,
}

/// Products by the primitive, on one engine of the processor.
pub(super) struct Matmul {
    functions: Functions,
    engine: Handle,
    stream: Handle,
    /// The last one, so that calls of one product are calls of its primitive.
    last: RefCell<Option<Made>>,
}

/// A primitive and the memory that it works on: `A`, `B`, `C`.
struct Made {
    numbers: Numbers,
    product: Product,
    /// `None` where the library has none.
    primitive: Option<(Handle, [Handle; 3])>,
    functions: Functions,
}

const PROCESSOR: c_int = 1;
const IN_ORDER: c_uint = 1;
/// `DNNL_ARG_SRC`, `DNNL_ARG_WEIGHTS`, `DNNL_ARG_DST`.
const ARGUMENTS: [c_int; 3] = [1, 33, 17];
/// More room than any version's description of a shape needs, in words of 8 bytes, and than that of a wish.
const SHAPE: usize = 512;
const WISH: usize = 8192;

impl Matmul {
    /// On the first engine of the processor; `None` where the library makes none.
    ///
    /// # Safety
    /// The functions are oneDNN's.
    pub unsafe fn new(functions: Functions, engine: MakeEngine, stream: MakeStream) -> Option<Matmul> {
        let (mut made, mut queue) = (null_mut(), null_mut());
        // SAFETY: by the contract; both results have room.
        let done = unsafe { engine(&raw mut made, PROCESSOR, 0) == 0 && stream(&raw mut queue, made, IN_ORDER) == 0 };
        done.then(|| Matmul { functions, engine: made, stream: queue, last: RefCell::new(None) })
    }

    /// Whether there is a primitive for it. It has none for products without terms.
    pub fn has(&self, numbers: Numbers, p: &Product) -> bool {
        p.m > 0 && p.n > 0 && p.k > 0 && self.with(numbers, p, |made| made.primitive.is_some())
    }

    /// `C = A · B` of elements that `numbers` says, where there are any.
    ///
    /// # Safety
    /// The addresses are those of matrices of the product's extents and these types, `c` of nobody else's.
    pub unsafe fn product(&self, numbers: Numbers, p: &Product, addresses: [*mut c_void; 3]) {
        self.with(numbers, p, |made| {
            let Some((primitive, memory)) = made.primitive else {
                panic!("oneDNN has no primitive for a product that was not refused")
            };
            let f = &self.functions;
            let mut arguments = [Argument { argument: 0, memory: null_mut() }; 3];
            for (n, argument) in arguments.iter_mut().enumerate() {
                *argument = Argument { argument: ARGUMENTS[n], memory: memory[n] };
                // SAFETY: the memory is of this library and alive.
                let status = unsafe { (f.set_address)(memory[n], addresses[n]) };
                assert_eq!(status, 0, "oneDNN refused an address");
            }
            // SAFETY: the primitive was made for these extents and types, which the addresses have by the contract.
            let status =
                unsafe { (f.execute)(primitive, self.stream, 3, arguments.as_ptr()).max((f.wait)(self.stream)) };
            assert_eq!(status, 0, "oneDNN refused a product");
        });
    }

    fn with<R>(&self, numbers: Numbers, p: &Product, of: impl FnOnce(&Made) -> R) -> R {
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|made| (made.numbers, made.product) != (numbers, *p)) {
            *last = None;
        }
        of(last.get_or_insert_with(|| self.make(numbers, p)))
    }

    fn make(&self, numbers: Numbers, p: &Product) -> Made {
        let transposed = [p.a_transposed, p.b_transposed, false];
        let extents = [(p.m, p.k), (p.k, p.n), (p.m, p.n)];
        let mut shapes = Vec::new();
        for n in 0..3 {
            let (rows, columns) = (extents[n].0 as i64, extents[n].1 as i64);
            let (mut dims, mut strides) = ([0; 12], [0; 12]);
            dims[..2].copy_from_slice(&[rows, columns]);
            strides[..2].copy_from_slice(&if transposed[n] { [1, rows] } else { [columns, 1] });
            shapes.extend(Shape::new(self.functions.describe, &dims, type_of(numbers)[n], &strides));
        }
        let made = |primitive| Made { numbers, product: *p, primitive, functions: self.functions };
        let Ok(shapes) = <[Shape; 3]>::try_from(shapes) else { return made(None) };
        made(self.primitive(&shapes))
    }

    fn primitive(&self, shapes: &[Shape; 3]) -> Option<(Handle, [Handle; 3])> {
        let f = &self.functions;
        let (mut chosen, mut primitive) = (null_mut(), null_mut());
        let [a, b, c] = [0, 1, 2].map(|n| shapes[n].address());
        let mut wish = vec![0u64; WISH];
        // SAFETY: the shapes are the library's, the results have room, no bias and no attributes are null.
        let status = unsafe {
            match f.describe {
                Describe::InPlace(_, want, choose) => {
                    let wish = wish.as_mut_ptr().cast();
                    match want(wish, a, b, null(), c) {
                        0 => choose(&raw mut chosen, wish, null(), self.engine, null()),
                        refused => refused,
                    }
                }
                Describe::Apart(_, choose, _) => choose(&raw mut chosen, self.engine, a, b, null(), c, null()),
            }
        };
        if status != 0 {
            return None;
        }
        let mut memory = [null_mut(); 3];
        // SAFETY: the description is the library's and is given back; memory begins without an address.
        let done = unsafe {
            let made = (f.primitive)(&raw mut primitive, chosen) == 0;
            (f.end_description)(chosen);
            made && memory
                .iter_mut()
                .zip([a, b, c])
                .all(|(m, shape)| (f.memory)(&raw mut *m, shape, self.engine, null_mut()) == 0)
        };
        done.then_some((primitive, memory))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let Some((primitive, memory)) = self.primitive else { return };
        // SAFETY: all four are the library's, and nobody else knows them.
        unsafe {
            (self.functions.end_primitive)(primitive);
            memory.iter().for_each(|m| {
                (self.functions.end_memory)(*m);
            });
        }
    }
}

/// A description of a matrix.
enum Shape {
    Ours(Vec<u64>),
    Theirs(Handle, Simple),
}

impl Shape {
    fn new(describe: Describe, dims: &Dims, ty: c_int, strides: &Dims) -> Option<Shape> {
        // SAFETY: the functions are oneDNN's, and the results have room.
        unsafe {
            match describe {
                Describe::InPlace(shape, ..) => {
                    let mut room = vec![0u64; SHAPE];
                    let status = shape(room.as_mut_ptr().cast(), 2, dims, ty, strides);
                    (status == 0).then_some(Shape::Ours(room))
                }
                Describe::Apart(shape, _, end) => {
                    let mut made = null_mut();
                    (shape(&raw mut made, 2, dims, ty, strides) == 0).then_some(Shape::Theirs(made, end))
                }
            }
        }
    }

    fn address(&self) -> *const c_void {
        match self {
            Shape::Ours(room) => room.as_ptr().cast(),
            Shape::Theirs(handle, _) => *handle,
        }
    }
}

impl Drop for Shape {
    fn drop(&mut self) {
        if let Shape::Theirs(handle, end) = self {
            // SAFETY: it is the library's, and what was made of it keeps a copy.
            unsafe { end(*handle) };
        }
    }
}

/// `dnnl_data_type_t` of `A`, `B` and `C`.
fn type_of(numbers: Numbers) -> [c_int; 3] {
    const BF16: c_int = 2;
    const F32: c_int = 3;
    const S32: c_int = 4;
    const S8: c_int = 5;
    const U8: c_int = 6;
    // `dnnl_f64` is there since version 3, for some engines.
    const F64: c_int = 7;
    match numbers {
        Numbers::F32 => [F32; 3],
        Numbers::F64 => [F64; 3],
        Numbers::Bf16 => [BF16, BF16, F32],
        Numbers::U8I8 => [U8, S8, S32],
        Numbers::I8I8 => [S8, S8, S32],
    }
}
