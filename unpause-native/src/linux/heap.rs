//! The heap of a run: `malloc` and related functions, on simulated threads.
//!
//! An allocation on the plain heap takes the next free bytes of its thread's [part](super::arenas). No allocation is
//! freed before the next run begins. So the same allocations of a thread have the same addresses, relative to the heap.
//! The *name* of each allocation is stored before it. The name is computed from the path of the allocating thread and
//! the number of the allocation in this thread, so it does not depend on the order of threads. The other heaps also
//! record each allocation: see [`blocks`].

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr::{copy_nonoverlapping, null_mut, write_bytes};
use std::sync::atomic::{AtomicBool, Ordering};

use super::arenas::Places;
use super::blocks::{self, Blocks};
use super::names::name_of;
use super::origins::Origins;
use super::switch::frame_pointer;
use super::thread::{Thread, current};

/// The treatment of freed memory in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Memory {
    /// No memory is reused, and nothing is checked.
    #[default]
    Plain,
    /// No memory is reused. Freed memory is poisoned, and accesses to it or beyond an allocation are detected.
    Checked,
    /// Like [`Checked`](Memory::Checked), but an allocation reuses the last freed memory of its size, if any.
    Reused,
}

/// The maximum size of a run's heap. Beyond this size, libc allocates memory, which is never freed.
pub(crate) const SIZE: usize = 1 << 30;

/// The requested address of the heap. It makes pointers have the same value in all processes.
const ADDRESS: usize = 0x2000_0000_0000;

/// The distance in bytes between adjacent possible addresses of an allocation.
pub(crate) const UNIT: usize = 16;

/// The number of bytes that the heap keeps at the end of a run. The rest is returned to the system.
const KEPT: usize = 16 << 20;

/// The memory of the heap.
pub(crate) struct Heap {
    /// The address of the first byte; 0 before the first run.
    pub(crate) base: usize,
    /// The bytes in use.
    places: Places,
    /// One bit for each unit, which is set if an allocation begins there.
    starts: *mut u64,
    /// The treatment of freed memory.
    pub(crate) memory: Memory,
    /// The allocations of the run, unless the heap is plain.
    pub(crate) blocks: Blocks,
    /// The functions that have allocated memory.
    pub(crate) origins: Origins,
    /// True if memory outside of the run may refer to its allocations: see [`captured`](super::captured).
    is_referred_to: bool,
    /// The number of allocations of the run that were not freed, and its maximum.
    live: usize,
    peak: usize,
}

struct Shared(UnsafeCell<Heap>);

// SAFETY: `base` and `starts` are set before the first run. Only the carrier of a run and the threads of the run access
// the other fields. They execute one at a time, on the carrier's OS thread.
unsafe impl Sync for Shared {}

static HEAP: Shared = Shared(UnsafeCell::new(Heap {
    base: 0,
    places: Places::NONE,
    starts: null_mut(),
    memory: Memory::Plain,
    blocks: Blocks::NONE,
    origins: Origins::NONE,
    is_referred_to: false,
    live: 0,
    peak: 0,
}));

/// The note for a run with allocations outside of the heap. They have other names in each run, and a closure that has
/// captured memory does not share them.
const BEYOND: &str = "memory beyond the 1 GiB that runs can allocate, of which the runs of a closure with captured \
    values may leave a part behind";

/// True if libc has allocated memory of a run, because the heap was full.
static IS_FULL: AtomicBool = AtomicBool::new(false);

/// Returns a note if the heap has been full since the last call.
pub(crate) fn take_beyond() -> Option<&'static str> {
    IS_FULL.swap(false, Ordering::Relaxed).then_some(BEYOND)
}

/// The name of an allocation, and an offset in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Name {
    pub(crate) allocation: u64,
    pub(crate) offset: usize,
}

/// Returns the heap, for use in unsafe blocks: see [`Shared`].
pub(crate) fn heap() -> *mut Heap {
    HEAP.0.get()
}

/// Returns `true` if an address is on the heap of a run.
#[inline]
pub(crate) fn has(address: usize) -> bool {
    // SAFETY: see `Shared`.
    let base = unsafe { (*heap()).base };
    base != 0 && address.wrapping_sub(base) < SIZE
}

/// Empties the heap, except allocations to which memory outside of the last run may refer. Called by the carrier
/// between two runs.
pub(crate) fn reset(memory: Memory, is_referred_to: bool) {
    // SAFETY: see `Shared`; the heap created the mappings.
    unsafe {
        let heap = &mut *heap();
        if heap.base == 0 {
            heap.starts = map(0, SIZE / UNIT / 8).cast();
            heap.base = map(ADDRESS, SIZE) as usize;
        }
        if heap.is_referred_to && heap.live > 0 {
            heap.places.keep();
        }
        (heap.is_referred_to, heap.live, heap.peak) = (is_referred_to, 0, 0);
        let mut bytes = 0;
        for used in heap.places.used() {
            bytes += used.len();
            let first = used.start / UNIT / 64;
            write_bytes(heap.starts.add(first), 0, (used.end / UNIT).div_ceil(64) - first);
            heap.blocks.clear(used);
        }
        heap.blocks.forget();
        if bytes > KEPT && !heap.places.keeps() {
            libc::madvise(heap.base as *mut c_void, SIZE, libc::MADV_DONTNEED);
        }
        heap.places.reset();
        heap.memory = memory;
        heap.origins = Origins::NONE;
    }
}

/// Returns the maximum number of simultaneous allocations in the run.
pub(crate) fn peak() -> u32 {
    // SAFETY: see `Shared`.
    unsafe { (*heap()).peak.try_into().unwrap_or(u32::MAX) }
}

/// Maps memory, at the requested address if it is free.
///
/// # Panics
/// Panics if the system refuses the mapping.
pub(crate) fn map(address: usize, size: usize) -> *mut c_void {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: this is a new mapping. The address is a hint, so no other mapping is replaced.
    let address = unsafe { libc::mmap(address as *mut c_void, size, protection, flags, -1, 0) };
    assert!(address != libc::MAP_FAILED, "the system refuses {size} bytes of address space");
    address
}

/// Returns the name of the allocation at an address of the heap; `None` before the first allocation.
pub(crate) fn name(address: usize) -> Option<Name> {
    let start = start(address)?;
    // SAFETY: see `Shared`; the name of an allocation is stored before it.
    let allocation = unsafe { *((start - UNIT) as *const u64) };
    Some(Name { allocation, offset: address - start })
}

/// Returns the start of the last allocation that begins at an address of the heap or before it.
pub(crate) fn start(address: usize) -> Option<usize> {
    start_within(address, usize::MAX)
}

/// Returns the offset of an address of the heap in its allocation, or `None` if no allocation begins near.
pub(crate) fn offset(address: usize) -> Option<usize> {
    /// The number of words with bits that are searched: the bits of 64 KiB.
    const NEAR: usize = 64;
    start_within(address, NEAR).map(|start| address - start)
}

/// Returns the part of a range that belongs to no other allocation than `address`, which is in the range.
pub(crate) fn clamp(address: usize, range: Range<usize>) -> Range<usize> {
    let begins = |unit: &usize| start_within(*unit, 1) == Some(*unit);
    let start = offset(address).map_or(range.start, |offset| range.start.max(address - offset));
    let mut later = ((address / UNIT + 1) * UNIT..range.end).step_by(UNIT);
    // The unit before an allocation has its name.
    let end = later.find(begins).map_or(range.end, |next| next - UNIT);
    start..end
}

/// Returns the content of the allocation that begins at an address, in whole words. Empty if the allocation was freed.
/// On the plain heap, the content of a freed allocation remains.
pub(crate) fn content(start: usize) -> Range<usize> {
    // SAFETY: see `Shared`.
    let heap = unsafe { &*heap() };
    if heap.memory != Memory::Plain
        && let Some(size) = blocks::size(heap, start)
    {
        return start..start + size.next_multiple_of(8);
    }
    let end = start + heap.places.left(start - heap.base);
    // The unit before an allocation has its name.
    start..next_start(start + UNIT, end).map_or(end, |next| next - UNIT)
}

/// Returns the first address in a range of the heap at which an allocation begins.
fn next_start(from: usize, end: usize) -> Option<usize> {
    // SAFETY: see `Shared`; each unit of the heap has a bit.
    unsafe {
        let heap = &*heap();
        let unit = |address: usize| (address - heap.base) / UNIT;
        let mut mask = u64::MAX << (unit(from) % 64);
        for at in unit(from) / 64..unit(end).div_ceil(64) {
            let word = *heap.starts.add(at) & mask;
            if word != 0 {
                let next = heap.base + (at * 64 + word.trailing_zeros() as usize) * UNIT;
                return (next < end).then_some(next);
            }
            mask = u64::MAX;
        }
        None
    }
}

/// Like [`start`], but searches only this number of words with bits.
fn start_within(address: usize, words: usize) -> Option<usize> {
    // SAFETY: see `Shared`; a set bit marks the start of an allocation.
    unsafe {
        let heap = &*heap();
        let unit = (address - heap.base) / UNIT;
        let mut mask = u64::MAX >> (63 - unit % 64);
        for at in (0..=unit / 64).rev().take(words) {
            let word = *heap.starts.add(at) & mask;
            if word != 0 {
                let unit = at * 64 + 63 - word.leading_zeros() as usize;
                return Some(heap.base + unit * UNIT);
            }
            mask = u64::MAX;
        }
        None
    }
}

/// Returns `true` if an allocation begins at an address of the heap.
pub(crate) fn begins_at(address: usize) -> bool {
    address.is_multiple_of(UNIT) && start(address) == Some(address)
}

impl Heap {
    /// Reserves room for `size` bytes, with `before` bytes in front of them. Returns the start of the room, relative to
    /// the base; `None` if the heap is full.
    //
    // SAFETY of the caller's block: see `Shared`.
    pub(crate) unsafe fn take(
        &mut self,
        thread: &mut Thread,
        before: usize,
        size: usize,
        align: usize,
    ) -> Option<usize> {
        let own = (&mut thread.arena, thread.path);
        let start = self.places.take(own, self.base, (before, size, align))?;
        // SAFETY: each unit of the heap has a bit.
        unsafe { *self.starts.add(start / UNIT / 64) |= 1 << (start / UNIT % 64) };
        Some(start)
    }

    /// Names an allocation after the allocating thread.
    //
    // SAFETY of the caller's block: `start` must be the start of an allocation, relative to the base.
    pub(crate) unsafe fn set_name(&self, thread: &mut Thread, start: usize) {
        thread.allocations += 1;
        let name = name_of(thread.path, thread.allocations << 32);
        // SAFETY: the unit before an allocation is in the mapping and belongs to no allocation.
        unsafe { *((self.base + start - UNIT) as *mut u64) = name };
    }
}

/// True in a copy of the process that compares the states of a thread.
static COMPARES: AtomicBool = AtomicBool::new(false);

/// Clears the offsets that functions of the heap leave on the stack of a thread, from now on. They differ in each
/// allocation, and would remain in frames of the program: see [`reached`](super::reached).
pub(crate) fn clear_stacks() {
    COMPARES.store(true, Ordering::Relaxed);
}

/// Clears the memory of the stack that the previous function has used, in a copy that compares states.
fn clear_stack() {
    #[inline(never)]
    fn clear() {
        std::hint::black_box(&mut [0_u64; 512]);
    }
    if COMPARES.load(Ordering::Relaxed) {
        clear();
    }
}

/// Allocates memory for a simulated thread, for a function with this frame pointer. Returns null if the heap is full.
#[inline(never)]
fn allocate(thread: &mut Thread, size: usize, align: usize, frame: usize) -> *mut u8 {
    // SAFETY: see `Shared`; the written bytes are in the mapping and belong to no allocation.
    unsafe {
        let heap = &mut *heap();
        let start = match heap.memory {
            Memory::Plain => {
                let start = heap.take(thread, UNIT, size, align);
                start.inspect(|start| heap.set_name(thread, *start))
            }
            _ => blocks::allocate(heap, thread, size, align, frame),
        };
        let Some(start) = start else {
            IS_FULL.store(true, Ordering::Relaxed);
            return null_mut();
        };
        heap.live += 1;
        heap.peak = heap.peak.max(heap.live);
        heap.origins.note(thread, heap.base + start, frame);
        let allocated = (heap.base + start) as *mut u8;
        if heap.memory == Memory::Plain && COMPARES.load(Ordering::Relaxed) {
            // The last unit has bytes of earlier runs.
            write_bytes(allocated, 0, size.next_multiple_of(UNIT));
        }
        allocated
    }
}

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
    fn __libc_free(old: *mut c_void);
}

/// Allocates memory of libc. Returns null if there is none.
pub(super) fn of_libc(size: usize) -> *mut c_void {
    // SAFETY: the function is libc's, with its own signature.
    unsafe { __libc_malloc(size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    if let Some(thread) = current() {
        let allocated = allocate(thread, size, UNIT, frame_pointer());
        clear_stack();
        if !allocated.is_null() {
            return allocated.cast();
        }
    }
    // SAFETY: the function is libc's, with its own signature.
    unsafe { __libc_malloc(size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    if let (Some(thread), Some(bytes)) = (current(), count.checked_mul(size)) {
        let allocated = allocate(thread, bytes, UNIT, frame_pointer());
        clear_stack();
        if !allocated.is_null() {
            // SAFETY: the memory was allocated with this size. It must be cleared, because an earlier run may have used
            // it.
            unsafe { write_bytes(allocated, 0, bytes) };
            return allocated.cast();
        }
    }
    // SAFETY: the function is libc's, with its own signature.
    unsafe { __libc_calloc(count, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    if old.is_null() {
        // SAFETY: the size is valid.
        return unsafe { malloc(size) };
    }
    if !has(old as usize) {
        // SAFETY: the caller passes an allocation of libc.
        return unsafe { __libc_realloc(old, size) };
    }
    // SAFETY: see `Shared`. The old allocation is on the heap. Its bytes up to the top of the heap are mapped, and the
    // copy may contain more than its own bytes, but not fewer.
    unsafe {
        let heap = &mut *heap();
        if heap.memory != Memory::Plain
            && let Some(thread) = current()
        {
            let new = blocks::reallocate(heap, thread, old as usize, size, frame_pointer());
            clear_stack();
            return new;
        }
        let start = old as usize - heap.base;
        if heap.places.resize(current().map(|thread| &mut thread.arena), start, size) {
            return old;
        }
        // No bytes remain if the allocation is from an earlier run.
        let left = heap.places.left(start);
        let new = malloc(size);
        if !new.is_null() {
            note_freed(heap, old as usize);
            copy_nonoverlapping(old.cast::<u8>(), new.cast::<u8>(), size.min(left));
        }
        new
    }
}

/// Records that an allocation no longer has an owner.
fn note_freed(heap: &mut Heap, address: usize) {
    let is_of_run = heap.places.is_of_run(address - heap.base);
    heap.live = heap.live.saturating_sub(usize::from(is_of_run));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(old: *mut c_void) {
    if !has(old as usize) {
        // SAFETY: the caller passes an allocation of libc.
        return unsafe { __libc_free(old) };
    }
    // SAFETY: see `Shared`.
    unsafe {
        let heap = &mut *heap();
        note_freed(heap, old as usize);
        if heap.memory != Memory::Plain
            && let Some(thread) = current()
        {
            blocks::free(heap, thread, old as usize, frame_pointer());
        }
    }
    clear_stack();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    if let Some(thread) = current() {
        let allocated = allocate(thread, size, align, frame_pointer());
        clear_stack();
        if !allocated.is_null() {
            return allocated.cast();
        }
    }
    // SAFETY: the function is libc's, with its own signature.
    unsafe { __libc_memalign(align, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    // SAFETY: the caller guarantees the arguments.
    unsafe { memalign(align, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(place: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    // SAFETY: the caller guarantees the arguments.
    unsafe {
        let allocated = memalign(align, size);
        if allocated.is_null() {
            return libc::ENOMEM;
        }
        *place = allocated;
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(allocation: *mut c_void) -> usize {
    type UsableSize = unsafe extern "C" fn(*mut c_void) -> usize;
    if allocation.is_null() || has(allocation as usize) {
        return 0;
    }
    // SAFETY: the caller passes an allocation of libc.
    unsafe { super::real::real!(c"malloc_usable_size", UsableSize)(allocation) }
}
