//! Memory for kernels: aligned and huge-paged for speed, fenced by guard pages for tests, poisoned before use.

use std::alloc::Layout;
use std::ptr::NonNull;

use crate::error::{ToolError, ToolErrorKind};
use crate::sys;

/// Alignment of every [`AlignedBuffer`], in bytes: one cache line, one 512-bit vector.
const LINE: usize = 64;
/// Bytes of a huge page on x86-64 and AArch64 Linux.
const HUGE_PAGE: usize = 2 << 20;
/// What the unused bytes between data and guard page hold, to notice writes there.
const CANARY: u8 = 0xC5;

mod sealed {
    pub trait Sealed {}
}

/// An element type whose every bit pattern is a value, so that bytes may be viewed as it.
pub trait Scalar: Copy + sealed::Sealed + 'static {}

macro_rules! scalars {
    ($($name:ty)*) => { $( impl sealed::Sealed for $name {} impl Scalar for $name {} )* };
}
scalars!(f32 f64 i8 i16 i32 i64 u8 u16 u32 u64);

/// Zeroed bytes for a kernel: 64-byte aligned; from 2 MiB on 2 MiB aligned, with huge pages asked for.
#[derive(Debug)]
pub struct AlignedBuffer {
    start: NonNull<u8>,
    len: usize,
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    Heap(Layout),
    Mapped { base: NonNull<u8>, bytes: usize },
}

// SAFETY: the buffer owns its bytes; nothing else holds their address.
unsafe impl Send for AlignedBuffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// Allocates `len` zeroed bytes.
    pub fn new(len: usize) -> Result<AlignedBuffer, ToolError> {
        if len >= HUGE_PAGE { map_huge(len) } else { allocate_small(len) }
    }

    /// Allocates `count` zeroed elements of type `T`.
    pub fn for_elements<T: Scalar>(count: usize) -> Result<AlignedBuffer, ToolError> {
        let bytes = count.checked_mul(size_of::<T>()).ok_or_else(|| out_of_memory(usize::MAX))?;
        AlignedBuffer::new(bytes)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start` is valid for `len` initialised bytes that this buffer owns.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// The bytes as elements; see [`view`].
    pub fn elements<T: Scalar>(&self) -> &[T] {
        view(self.bytes())
    }

    /// The bytes as elements to be written; see [`view_mut`].
    pub fn elements_mut<T: Scalar>(&mut self) -> &mut [T] {
        view_mut(self.bytes_mut())
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        match self.backing {
            // SAFETY: allocated by `allocate_small` with this layout, and freed once.
            Backing::Heap(layout) => unsafe { std::alloc::dealloc(self.start.as_ptr(), layout) },
            // SAFETY: the whole mapping is ours and nothing can refer to it any more.
            Backing::Mapped { base, bytes } => unsafe {
                sys::munmap(base.as_ptr().cast(), bytes);
            },
        }
    }
}

/// Views bytes as elements.
///
/// # Panics
/// When the address is not aligned for `T` or the length is not a multiple of its size: a bug of the caller.
pub fn view<T: Scalar>(bytes: &[u8]) -> &[T] {
    check_view::<T>(bytes);
    // SAFETY: alignment and length were checked; every bit pattern is a `T` (`Scalar` is sealed).
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>()) }
}

/// Views bytes as elements to be written.
///
/// # Panics
/// As [`view`].
pub fn view_mut<T: Scalar>(bytes: &mut [u8]) -> &mut [T] {
    check_view::<T>(bytes);
    // SAFETY: as in `view`; the borrow is exclusive, and every `T` is valid bytes (no padding).
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size_of::<T>()) }
}

fn check_view<T: Scalar>(bytes: &[u8]) {
    assert!(
        bytes.as_ptr().addr().is_multiple_of(align_of::<T>()) && bytes.len().is_multiple_of(size_of::<T>()),
        "bytes are not whole, aligned elements of {}",
        std::any::type_name::<T>()
    );
}

fn out_of_memory(bytes: usize) -> ToolError {
    ToolError::new(ToolErrorKind::Io, format!("the system has no memory for a buffer of {bytes} bytes"))
}

fn allocate_small(len: usize) -> Result<AlignedBuffer, ToolError> {
    let layout = Layout::from_size_align(len.max(1), LINE).map_err(|_| out_of_memory(len))?;
    // SAFETY: the layout has a non-zero size.
    let start = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }).ok_or_else(|| out_of_memory(len))?;
    Ok(AlignedBuffer { start, len, backing: Backing::Heap(layout) })
}

fn map_huge(len: usize) -> Result<AlignedBuffer, ToolError> {
    let bytes = len
        .checked_next_multiple_of(HUGE_PAGE)
        .and_then(|rounded| rounded.checked_add(HUGE_PAGE))
        .ok_or_else(|| out_of_memory(len))?;
    let base = sys::map(bytes).ok_or_else(|| out_of_memory(len))?;
    let skip = base.as_ptr().addr().next_multiple_of(HUGE_PAGE) - base.as_ptr().addr();
    // SAFETY: `skip < HUGE_PAGE`, which is the slack that the mapping has beyond the rounded length.
    let start = unsafe { base.add(skip) };
    #[cfg(target_os = "linux")]
    // SAFETY: the range lies in our mapping. Advice only: small pages serve as well when it is refused.
    unsafe {
        sys::madvise(start.as_ptr().cast(), len.next_multiple_of(HUGE_PAGE), sys::MADV_HUGEPAGE);
    }
    Ok(AlignedBuffer { start, len, backing: Backing::Mapped { base, bytes } })
}

/// Which end of the data touches a guard page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// The first byte follows the front guard: a read or write before the data faults.
    Start,
    /// The last byte precedes the rear guard: a read or write after the data faults.
    End,
}

/// Bytes between two pages that fault on any access, for tests of memory safety.
#[derive(Debug)]
pub struct GuardBuffer {
    base: NonNull<u8>,
    mapped: usize,
    page: usize,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the buffer owns its mapping; nothing else holds its address.
unsafe impl Send for GuardBuffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for GuardBuffer {}

impl GuardBuffer {
    /// Maps `len` zeroed bytes, flush with one of two guard pages. The address has page alignment for
    /// [`Flush::Start`], and the alignment that `len` leaves for [`Flush::End`].
    pub fn new(len: usize, flush: Flush) -> Result<GuardBuffer, ToolError> {
        let page = sys::page_size();
        let inner = len.max(1).checked_next_multiple_of(page).ok_or_else(|| out_of_memory(len))?;
        let mapped = inner.checked_add(2 * page).ok_or_else(|| out_of_memory(len))?;
        let base = sys::map(mapped).ok_or_else(|| out_of_memory(len))?;
        let offset = match flush {
            Flush::Start => page,
            Flush::End => page + inner - len,
        };
        // SAFETY: `offset + len <= page + inner`, inside the mapping.
        let start = unsafe { base.add(offset) };
        let mut buffer = GuardBuffer { base, mapped, page, start, len };
        buffer.fill_slack();
        buffer.protect(0)?;
        buffer.protect(mapped - page)?;
        Ok(buffer)
    }

    /// The data.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start` is valid for `len` initialised bytes that this buffer owns.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The data, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// The data as elements; see [`view`].
    pub fn elements<T: Scalar>(&self) -> &[T] {
        view(self.bytes())
    }

    /// The data as elements to be written; see [`view_mut`].
    pub fn elements_mut<T: Scalar>(&mut self) -> &mut [T] {
        view_mut(self.bytes_mut())
    }

    /// Whether the bytes between the data and the far guard page are as they were made: a write there does not
    /// fault, but is as wrong.
    pub fn slack_is_intact(&self) -> bool {
        let (before, after) = self.slack();
        // SAFETY: both ranges lie between the guard pages, are initialised, and do not overlap the data.
        let ranges =
            unsafe { [std::slice::from_raw_parts(before.0, before.1), std::slice::from_raw_parts(after.0, after.1)] };
        ranges.iter().all(|range| range.iter().all(|byte| *byte == CANARY))
    }

    /// The address ranges of the guard pages, front and rear.
    pub fn guards(&self) -> [std::ops::Range<usize>; 2] {
        let base = self.base.as_ptr().addr();
        [base..base + self.page, base + self.mapped - self.page..base + self.mapped]
    }

    fn slack(&self) -> ((*mut u8, usize), (*mut u8, usize)) {
        let first = self.base.as_ptr().wrapping_add(self.page);
        let end_of_data = self.start.as_ptr().wrapping_add(self.len);
        let end = self.base.as_ptr().wrapping_add(self.mapped - self.page);
        let before = self.start.as_ptr().addr() - first.addr();
        let after = end.addr() - end_of_data.addr();
        ((first, before), (end_of_data, after))
    }

    fn fill_slack(&mut self) {
        let (before, after) = self.slack();
        // SAFETY: both ranges lie inside the mapping, which is still writable as a whole.
        unsafe {
            before.0.write_bytes(CANARY, before.1);
            after.0.write_bytes(CANARY, after.1);
        }
    }

    fn protect(&self, offset: usize) -> Result<(), ToolError> {
        // SAFETY: one page of our own mapping that holds no data.
        let status =
            unsafe { sys::mprotect(self.base.as_ptr().wrapping_add(offset).cast(), self.page, sys::PROT_NONE) };
        if status == 0 { Ok(()) } else { Err(ToolError::io("protect a guard page", &std::io::Error::last_os_error())) }
    }
}

impl Drop for GuardBuffer {
    fn drop(&mut self) {
        // SAFETY: the whole mapping is ours and nothing can refer to it any more.
        unsafe {
            sys::munmap(self.base.as_ptr().cast(), self.mapped);
        }
    }
}

/// The poison for elements of a size, little-endian: a quiet NaN with a marked payload for 2 (both `f16` and `bf16`),
/// 4 and 8 bytes, and for integers a value that computation is unlikely to give.
fn poison(element_bytes: usize) -> &'static [u8] {
    match element_bytes {
        2 => &[0xD5, 0x7F],
        4 => &[0x5C, 0xAD, 0xDE, 0x7F],
        8 => &[0x5C, 0xAD, 0xDE, 0x5C, 0xAD, 0xDE, 0xFD, 0x7F],
        _ => &[0xA5],
    }
}

/// Fills bytes with poison for elements of the given size, so that a read of what was not written shows.
pub fn fill_poison(bytes: &mut [u8], element_bytes: usize) {
    let pattern = poison(element_bytes);
    for chunk in bytes.chunks_mut(pattern.len()) {
        chunk.copy_from_slice(&pattern[..chunk.len()]);
    }
}

/// The first element that still holds the poison of [`fill_poison`], by index.
pub fn first_poison(bytes: &[u8], element_bytes: usize) -> Option<usize> {
    let pattern = poison(element_bytes);
    bytes.chunks_exact(pattern.len()).position(|chunk| chunk == pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_buffers_are_zeroed_and_line_aligned() {
        for len in [0, 1, 63, 64, 4096, 100_000] {
            let buffer = AlignedBuffer::new(len).unwrap();
            assert_eq!(buffer.bytes().len(), len);
            assert_eq!(buffer.bytes().as_ptr().addr() % LINE, 0);
            assert!(buffer.bytes().iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn large_buffers_are_huge_page_aligned_and_writable_to_the_end() {
        for len in [HUGE_PAGE, HUGE_PAGE + 1, 3 * HUGE_PAGE + 12_345] {
            let mut buffer = AlignedBuffer::new(len).unwrap();
            assert_eq!(buffer.bytes().as_ptr().addr() % HUGE_PAGE, 0);
            buffer.bytes_mut()[len - 1] = 7;
            assert_eq!(buffer.bytes().iter().map(|byte| usize::from(*byte)).sum::<usize>(), 7);
        }
    }

    #[test]
    fn impossible_sizes_are_errors() {
        assert_eq!(AlignedBuffer::new(usize::MAX).unwrap_err().kind, ToolErrorKind::Io);
        assert!(AlignedBuffer::for_elements::<f64>(usize::MAX / 2).is_err());
        assert!(GuardBuffer::new(usize::MAX, Flush::End).is_err());
    }

    #[test]
    fn elements_are_the_bytes() {
        let mut buffer = AlignedBuffer::for_elements::<f32>(3).unwrap();
        buffer.elements_mut::<f32>().copy_from_slice(&[1.0, -0.0, 2.5]);
        assert_eq!(buffer.elements::<u32>(), [0x3F80_0000, 0x8000_0000, 0x4020_0000]);
    }

    #[test]
    #[should_panic(expected = "whole, aligned elements of f64")]
    fn misaligned_views_are_refused() {
        let buffer = AlignedBuffer::new(32).unwrap();
        let _ = view::<f64>(&buffer.bytes()[4..20]);
    }

    #[test]
    fn guard_buffers_touch_their_guards() {
        for len in [0, 1, 100, 4096, 5000] {
            let end = GuardBuffer::new(len, Flush::End).unwrap();
            assert_eq!(end.bytes().as_ptr().addr() + len, end.guards()[1].start);
            let start = GuardBuffer::new(len, Flush::Start).unwrap();
            assert_eq!(start.bytes().as_ptr().addr(), start.guards()[0].end);
            assert!(end.slack_is_intact() && start.slack_is_intact());
        }
    }

    #[test]
    fn writes_into_the_slack_are_noticed() {
        let buffer = GuardBuffer::new(100, Flush::Start).unwrap();
        // SAFETY: byte 100 is the first slack byte: mapped, writable, and not borrowed.
        unsafe { buffer.start.as_ptr().add(100).write_volatile(0) };
        assert!(!buffer.slack_is_intact());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn guard_pages_have_no_permissions() {
        let buffer = GuardBuffer::new(5000, Flush::End).unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        for guard in buffer.guards() {
            let permissions = maps.lines().find_map(|line| {
                let (range, rest) = line.split_once(' ')?;
                let (low, high) = range.split_once('-')?;
                let low = usize::from_str_radix(low, 16).ok()?;
                let high = usize::from_str_radix(high, 16).ok()?;
                (low <= guard.start && guard.end <= high).then(|| rest[..3].to_owned())
            });
            assert_eq!(permissions.as_deref(), Some("---"));
        }
    }

    #[test]
    fn poison_is_not_a_number_and_is_found() {
        let mut buffer = AlignedBuffer::new(48).unwrap();
        fill_poison(buffer.bytes_mut(), 4);
        assert!(buffer.elements::<f32>().iter().all(|value| value.is_nan()));
        buffer.elements_mut::<f32>()[0] = 1.0;
        assert_eq!(first_poison(buffer.bytes(), 4), Some(1));
        buffer.elements_mut::<f32>().fill(f32::NAN);
        assert_eq!(first_poison(buffer.bytes(), 4), None);
        fill_poison(buffer.bytes_mut(), 8);
        assert!(buffer.elements::<f64>().iter().all(|value| value.is_nan()));
        fill_poison(buffer.bytes_mut(), 2);
        assert!(buffer.elements::<u16>().iter().all(|bits| bits & 0x7FFF > 0x7F80));
        fill_poison(buffer.bytes_mut(), 1);
        assert_eq!(first_poison(buffer.bytes(), 1), Some(0));
    }
}
