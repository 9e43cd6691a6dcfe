//! The heap of a run: `malloc` and its kin, on simulated threads.
//!
//! An allocation of the plain heap takes the next free bytes of its thread's [part](super::arenas), and none is freed
//! before the next run begins. The same allocations of a thread have the same addresses, relative to the heap. Before
//! each allocation its *name* is stored: the path of the thread that made it, and its number among the allocations of
//! this thread. It does not depend on the order of threads. The other heaps also record each allocation: see
//! [`blocks`].

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::ptr::{copy_nonoverlapping, null_mut, write_bytes};

use super::arenas::Places;
use super::blocks::{self, Blocks};
use super::origins::Origins;
use super::switch::frame_pointer;
use super::thread::{Thread, current};

/// The treatment of freed memory in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Memory {
    /// No memory is used twice, and nothing is checked.
    #[default]
    Plain,
    /// No memory is used twice. Freed memory is poisoned, and accesses to it or beyond an allocation are found.
    Checked,
    /// Like [`Checked`](Memory::Checked), but an allocation takes the memory of its size that was
    /// freed last, if any.
    Reused,
}

/// The largest size of a run's heap. libc allocates the memory beyond it, and never frees it.
pub(crate) const SIZE: usize = 1 << 30;

/// The address asked for, so that pointers have the same value in all processes.
const ADDRESS: usize = 0x2000_0000_0000;

/// The distance in bytes between two possible addresses of an allocation.
pub(crate) const UNIT: usize = 16;

/// More bytes than this are given back to the system at the end of a run.
const KEPT: usize = 16 << 20;

/// The memory of the heap.
pub(crate) struct Heap {
    /// The address of its first byte; 0 before the first run.
    pub(crate) base: usize,
    /// The bytes in use.
    places: Places,
    /// A bit for each unit: set if an allocation begins there.
    starts: *mut u64,
    /// The treatment of freed memory.
    pub(crate) memory: Memory,
    /// The allocations of the run, unless the heap is plain.
    pub(crate) blocks: Blocks,
    /// The functions that have allocated.
    pub(crate) origins: Origins,
    /// True if memory outside of the run may refer to its allocations: see [`captured`](super::captured).
    is_referred_to: bool,
    /// The number of allocations of the run that were not freed, and its maximum.
    live: usize,
    peak: usize,
}

struct Shared(UnsafeCell<Heap>);

// SAFETY: `base` and `starts` are set before the first run. All else is read and written by the one carrier of a
// run and by its threads, which run one at a time, on the carrier's thread of the system.
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

/// The name of an allocation, and an offset in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Name {
    pub(crate) allocation: u64,
    pub(crate) offset: usize,
}

/// The heap. In unsafe blocks: see [`Shared`].
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

/// Empties the heap, except the allocations that memory outside of the last run may refer to. For the carrier, between
/// two runs.
pub(crate) fn reset(memory: Memory, is_referred_to: bool) {
    // SAFETY: see `Shared`; the mappings were made by the heap.
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

/// The largest number of allocations that the run has had at one time.
pub(crate) fn peak() -> u32 {
    // SAFETY: see `Shared`.
    unsafe { (*heap()).peak.try_into().unwrap_or(u32::MAX) }
}

/// Maps memory, at the address if that is free.
///
/// # Panics
/// If the system refuses the mapping.
pub(crate) fn map(address: usize, size: usize) -> *mut c_void {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping. The address is a hint, so that it replaces no other.
    let address = unsafe { libc::mmap(address as *mut c_void, size, protection, flags, -1, 0) };
    assert!(address != libc::MAP_FAILED, "the system refuses {size} bytes of address space");
    address
}

/// The name of the allocation at an address of the heap; none before the first one.
pub(crate) fn name(address: usize) -> Option<Name> {
    let start = start(address)?;
    // SAFETY: see `Shared`; the name of an allocation is stored before it.
    let allocation = unsafe { *((start - UNIT) as *const u64) };
    Some(Name { allocation, offset: address - start })
}

/// The beginning of the last allocation that begins at an address of the heap or before it.
pub(crate) fn start(address: usize) -> Option<usize> {
    // SAFETY: see `Shared`; the bits tell where an allocation begins.
    unsafe {
        let heap = &*heap();
        let mut unit = (address - heap.base) / UNIT;
        loop {
            let mask = u64::MAX >> (63 - unit % 64);
            let word = *heap.starts.add(unit / 64) & mask;
            if word != 0 {
                unit = unit / 64 * 64 + 63 - word.leading_zeros() as usize;
                break;
            }
            unit = (unit / 64).checked_sub(1)? * 64 + 63;
        }
        Some(heap.base + unit * UNIT)
    }
}

/// Returns `true` if an allocation begins at an address of the heap.
pub(crate) fn begins_at(address: usize) -> bool {
    address.is_multiple_of(UNIT) && start(address) == Some(address)
}

impl Heap {
    /// Takes room for `size` bytes, with `before` in front of them. Returns its beginning, relative to the base; `None`
    /// if the heap is full.
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
        // SAFETY: a bit for each unit of the heap.
        unsafe { *self.starts.add(start / UNIT / 64) |= 1 << (start / UNIT % 64) };
        Some(start)
    }

    /// Names an allocation after the thread that makes it.
    //
    // SAFETY of the caller's block: the start of an allocation, relative to the base.
    pub(crate) unsafe fn set_name(&self, thread: &mut Thread, start: usize) {
        thread.allocations += 1;
        let name =
            (thread.path ^ thread.allocations.rotate_left(32)).wrapping_mul(0xD134_2543_DE82_EF95);
        // SAFETY: the unit before an allocation is in the mapping and in no allocation.
        unsafe { *((self.base + start - UNIT) as *mut u64) = name };
    }
}

/// Allocates for a simulated thread, for a function with this frame pointer. Null if the heap is full.
fn allocate(thread: &mut Thread, size: usize, align: usize, frame: usize) -> *mut u8 {
    // SAFETY: see `Shared`; the bytes written are in the mapping and in no allocation.
    unsafe {
        let heap = &mut *heap();
        let start = match heap.memory {
            Memory::Plain => {
                let start = heap.take(thread, UNIT, size, align);
                start.inspect(|start| heap.set_name(thread, *start))
            }
            _ => blocks::allocate(heap, thread, size, align, frame),
        };
        start.map_or(null_mut(), |start| {
            heap.live += 1;
            heap.peak = heap.peak.max(heap.live);
            heap.origins.note(thread, heap.base + start, frame);
            (heap.base + start) as *mut u8
        })
    }
}

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
    fn __libc_free(old: *mut c_void);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    if let Some(thread) = current() {
        let allocated = allocate(thread, size, UNIT, frame_pointer());
        if !allocated.is_null() {
            return allocated.cast();
        }
    }
    // SAFETY: libc's own.
    unsafe { __libc_malloc(size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    if let (Some(thread), Some(bytes)) = (current(), count.checked_mul(size)) {
        let allocated = allocate(thread, bytes, UNIT, frame_pointer());
        if !allocated.is_null() {
            // SAFETY: allocated with this size. The memory was in use in an earlier run.
            unsafe { write_bytes(allocated, 0, bytes) };
            return allocated.cast();
        }
    }
    // SAFETY: libc's own.
    unsafe { __libc_calloc(count, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    if old.is_null() {
        // SAFETY: the caller's size.
        return unsafe { malloc(size) };
    }
    if !has(old as usize) {
        // SAFETY: the caller's allocation, of libc.
        return unsafe { __libc_realloc(old, size) };
    }
    // SAFETY: see `Shared`. The old allocation is of the heap: its bytes up to the top of the heap are mapped, and
    // more than its own are copied rather than fewer.
    unsafe {
        let heap = &mut *heap();
        if heap.memory != Memory::Plain
            && let Some(thread) = current()
        {
            return blocks::reallocate(heap, thread, old as usize, size, frame_pointer());
        }
        let start = old as usize - heap.base;
        if heap.places.resize(current().map(|thread| &mut thread.arena), start, size) {
            return old;
        }
        // Nothing of it is left if it is from an earlier run.
        let left = heap.places.left(start);
        let new = malloc(size);
        if !new.is_null() {
            note_freed(heap, old as usize);
            copy_nonoverlapping(old.cast::<u8>(), new.cast::<u8>(), size.min(left));
        }
        new
    }
}

/// Notes that an allocation has no owner any more.
fn note_freed(heap: &mut Heap, address: usize) {
    let is_of_run = heap.places.is_of_run(address - heap.base);
    heap.live = heap.live.saturating_sub(usize::from(is_of_run));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(old: *mut c_void) {
    if !has(old as usize) {
        // SAFETY: the caller's allocation, of libc.
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
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    if let Some(thread) = current() {
        let allocated = allocate(thread, size, align, frame_pointer());
        if !allocated.is_null() {
            return allocated.cast();
        }
    }
    // SAFETY: libc's own.
    unsafe { __libc_memalign(align, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    // SAFETY: the caller's arguments.
    unsafe { memalign(align, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(place: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    // SAFETY: the caller's arguments.
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
    // SAFETY: the caller's allocation, of libc.
    unsafe { super::real::real!(c"malloc_usable_size", UsableSize)(allocation) }
}
