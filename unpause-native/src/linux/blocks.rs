//! The checking heaps. Each allocation has a record outside of the heap, a red zone before it and a red zone after it.
//! Freed memory is poisoned.
//!
//! Two errors are found when they happen: a free of an address that is not an allocation, and an atomic access to freed
//! memory or a red zone. A plain write to such memory is found when the memory is freed or reused, or at the end of the
//! run. The heap cannot detect a plain read of such memory, but the value is poison.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr::{copy_nonoverlapping, null_mut, write_bytes};

use super::fault::{Fault, Problem, Step};
use super::heap::{self, Heap, Memory, SIZE, UNIT};
use super::orders;
use super::race;
use super::thread::{Thread, outside};

/// The number of bytes before an allocation: a red zone, the name of the allocation, and the number of its record.
const BEFORE: usize = 2 * UNIT;
/// The minimum number of bytes after an allocation.
const BEHIND: usize = UNIT;

/// The fill byte of red zones.
const ZONE: u8 = 0xFB;
/// The fill byte of freed memory.
pub(crate) const FREED: u8 = 0xDD;
/// The fill byte of memory that has not been written yet.
const FRESH: u8 = 0xA5;
/// The maximum number of bytes of an allocation that are poisoned.
const POISONED: usize = 1 << 16;
/// The maximum number of bytes of an allocation that are marked as not written.
const MARKED: usize = 1 << 12;

/// The maximum number of records.
const RECORDS: usize = 1 << 22;
/// The number of return addresses in a record.
pub(crate) const DEPTH: usize = 8;

/// The state of a unit that has never been allocated.
const NOTHING: u8 = 0;
/// The state of a freed unit. Any other value is the number of allocated bytes in the unit.
const FREE: u8 = 0xFD;

/// Return addresses, innermost first; unused entries at the end are 0.
pub(crate) type Trace = [usize; DEPTH];

/// The record of an allocation.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    /// The start of the allocation, relative to the heap.
    pub(crate) start: usize,
    pub(crate) size: usize,
    /// The maximum size that the allocation can have.
    capacity: usize,
    pub(crate) is_free: bool,
    /// The threads that have allocated and freed the memory.
    pub(crate) allocator: u32,
    freer: u32,
    pub(crate) allocated: Trace,
    freed: Trace,
    /// The number of the next record in its list of free memory, plus one; 0 for the last record.
    next: u32,
}

/// The records of a run.
pub(crate) struct Blocks {
    records: *mut Block,
    count: usize,
    /// The state of each unit.
    units: *mut u8,
    /// The lists of free memory by capacity, which is a power of two. Each entry is the number of the record freed
    /// last, plus one; 0 for an empty list.
    lists: [u32; 32],
}

impl Blocks {
    pub(crate) const NONE: Blocks =
        Blocks { records: null_mut(), count: 0, units: null_mut(), lists: [0; 32] };

    /// Clears the states of a range of the heap. Must be called before all records are [forgotten](Blocks::forget).
    pub(crate) fn clear(&mut self, used: Range<usize>) {
        if self.count > 0 {
            let (first, last) = (used.start / UNIT, used.end / UNIT);
            // SAFETY: each unit has a state.
            unsafe { write_bytes(self.units.add(first), NOTHING, last - first) };
        }
    }

    /// Removes all records.
    pub(crate) fn forget(&mut self) {
        self.count = 0;
        self.lists = [0; 32];
    }

    /// Returns the records.
    pub(crate) fn all(&self) -> &[Block] {
        match self.count {
            0 => &[],
            // SAFETY: `count` records are initialized, and the mapping is never removed.
            count => unsafe { std::slice::from_raw_parts(self.records, count) },
        }
    }

    fn at(&mut self, number: usize) -> &mut Block {
        assert!(number < self.count, "a record of the heap that does not exist");
        // SAFETY: `count` records are initialized.
        unsafe { &mut *self.records.add(number) }
    }

    /// Returns the state of the unit at an offset in the heap.
    fn unit(&self, offset: usize) -> u8 {
        // SAFETY: each unit has a state.
        unsafe { *self.units.add(offset / UNIT) }
    }

    /// Sets the states of the units of an allocation.
    fn set_units(&mut self, start: usize, size: usize, is_free: bool) {
        // SAFETY: each unit has a state.
        unsafe {
            let units = self.units.add(start / UNIT);
            write_bytes(units, if is_free { FREE } else { UNIT as u8 }, size.div_ceil(UNIT));
            if !is_free && !size.is_multiple_of(UNIT) {
                *units.add(size / UNIT) = (size % UNIT) as u8;
            }
        }
    }
}

/// Returns the class of a size in the lists of free memory, and the capacity of the class.
fn class(size: usize) -> (usize, usize) {
    let capacity = size.max(UNIT).next_power_of_two();
    (capacity.trailing_zeros() as usize, capacity)
}

/// Allocates memory. Returns its start, relative to the heap.
//
// SAFETY of the caller's block: the heap must belong to the current run.
pub(crate) unsafe fn allocate(
    heap: &mut Heap,
    thread: &mut Thread,
    size: usize,
    align: usize,
    frame: usize,
) -> Option<usize> {
    if heap.blocks.records.is_null() {
        heap.blocks.records = heap::map(0, RECORDS * size_of::<Block>()).cast();
        heap.blocks.units = heap::map(0, SIZE / UNIT).cast();
    }
    if size > SIZE {
        return None;
    }
    let (class, room) = class(size);
    let listed = (heap.memory == Memory::Reused).then(|| heap.blocks.lists[class] as usize);
    let listed = listed.and_then(|listed| listed.checked_sub(1));
    let fits =
        |number: &usize| (heap.base + heap.blocks.all()[*number].start).is_multiple_of(align);
    let (number, start, capacity) = match listed.filter(fits) {
        Some(number) => {
            let block = heap.blocks.all()[number];
            if let Some(fault) = damage(heap, &block) {
                thread.fail(fault);
            }
            heap.blocks.lists[class] = block.next;
            (number, block.start, block.capacity)
        }
        None if heap.blocks.count == RECORDS => return None,
        None => {
            let capacity = if heap.memory == Memory::Reused { room } else { size };
            // SAFETY: the caller guarantees that the heap belongs to the run.
            let start = unsafe { heap.take(thread, BEFORE, capacity + BEHIND, align)? };
            heap.blocks.count += 1;
            (heap.blocks.count - 1, start, capacity)
        }
    };
    // SAFETY: the bytes around the allocation belong to it, and are not in use.
    unsafe {
        heap.blocks.records.add(number).write(Block {
            start,
            size,
            capacity,
            is_free: false,
            allocator: thread.number as u32,
            freer: 0,
            allocated: thread.trace(frame),
            freed: [0; DEPTH],
            next: 0,
        });
        let address = (heap.base + start) as *mut u8;
        write_bytes(address.sub(BEFORE), ZONE, UNIT);
        heap.set_name(thread, start);
        *address.sub(8).cast::<u64>() = number as u64;
        write_bytes(address, FRESH, size.min(MARKED));
        write_bytes(address.add(size), ZONE, behind(capacity, size));
    }
    heap.blocks.set_units(start, size, false);
    if let Some(orders) = orders::orders() {
        outside(|| orders.allocated(thread.number, heap.base + start, size));
    }
    if let Some(detector) = race::detector() {
        outside(|| detector.allocated(heap.base + start, size));
    }
    Some(start)
}

/// Returns the size of the red zone after an allocation.
fn behind(capacity: usize, size: usize) -> usize {
    (capacity - size).next_multiple_of(UNIT).min(4 * UNIT) + BEHIND
        - (size.next_multiple_of(UNIT) - size)
}

/// Frees an allocation. If the free is invalid, ends the run.
//
// SAFETY of the caller's block: the heap must belong to the current run.
pub(crate) unsafe fn free(heap: &mut Heap, thread: &mut Thread, address: usize, frame: usize) {
    let trace = thread.trace(frame);
    let step = |label| Step::new(label, thread.number, trace);
    let Some(number) = find(heap, address) else {
        thread.fail(Fault::of_address(Problem::InvalidFree, address, step("freed")));
        return;
    };
    let block = &heap.blocks.all()[number];
    if block.is_free {
        let mut fault = Fault::new(Problem::DoubleFree, step("freed again"));
        describe(&mut fault, block, 0);
        thread.fail(fault);
        return;
    }
    if let Some(fault) = damage(heap, block) {
        thread.fail(fault.and(step("freed")));
        return;
    }
    if let (Some(detector), Some(orders)) = (race::detector(), orders::orders()) {
        let (number, size) = (thread.number, block.size);
        let race = outside(|| detector.freed(orders, number, address, size, &trace));
        if let Some(mut fault) = race {
            describe(&mut fault, block, 0);
            thread.fail(fault);
        }
    }
    let number_of_thread = thread.number as u32;
    let is_reused = heap.memory == Memory::Reused;
    if is_reused && let Some(orders) = orders::orders() {
        outside(|| orders.freed(thread.number, address));
    }
    let class = class(block.capacity).0;
    let next = heap.blocks.lists[class];
    let block = heap.blocks.at(number);
    (block.is_free, block.freer, block.freed) = (true, number_of_thread, trace);
    let (start, size) = (block.start, block.size);
    if is_reused {
        block.next = next;
        heap.blocks.lists[class] = number as u32 + 1;
    }
    // SAFETY: these are the bytes of the allocation, and its owner frees them.
    unsafe { write_bytes((heap.base + start) as *mut u8, FREED, size.min(POISONED)) };
    heap.blocks.set_units(start, size, true);
}

/// Moves an allocation. Returns null if neither the heap nor libc has room.
//
// SAFETY of the caller's block: the heap must belong to the current run.
pub(crate) unsafe fn reallocate(
    heap: &mut Heap,
    thread: &mut Thread,
    old: usize,
    size: usize,
    frame: usize,
) -> *mut c_void {
    let known = find(heap, old).map(|number| heap.blocks.all()[number]);
    // SAFETY: the caller guarantees that the heap belongs to the run.
    unsafe {
        let new = match allocate(heap, thread, size, UNIT, frame) {
            Some(start) => (heap.base + start) as *mut u8,
            // The heap is full. As for a new allocation, libc has room.
            None => heap::of_libc(size).cast(),
        };
        if new.is_null() {
            return null_mut();
        }
        if let Some(block) = known {
            copy_nonoverlapping(old as *const u8, new, size.min(block.size));
        }
        free(heap, thread, old, frame);
        new.cast()
    }
}

/// Returns the record of the allocation that begins at an address.
fn find(heap: &Heap, address: usize) -> Option<usize> {
    if !heap::begins_at(address) {
        return None;
    }
    let is_it = |block: &Block| heap.base + block.start == address;
    // SAFETY: the number of the record is stored before the allocation.
    let number = unsafe { *((address - 8) as *const u64) } as usize;
    match heap.blocks.all().get(number) {
        Some(block) if is_it(block) => Some(number),
        // The stored number was overwritten.
        _ => heap.blocks.all().iter().position(is_it),
    }
}

/// Returns the size of the allocation that begins at an address: 0 if it was freed, and `None` if it has no record.
pub(crate) fn size(heap: &Heap, address: usize) -> Option<usize> {
    let block = heap.blocks.all()[find(heap, address)?];
    Some(if block.is_free { 0 } else { block.size })
}

/// Adds the size, the offset and the places of an allocation to an error.
fn describe(fault: &mut Fault, block: &Block, offset: isize) {
    fault.size = Some(block.size);
    fault.offset = offset;
    if block.is_free {
        let label = match fault.problem {
            Problem::DoubleFree => "freed first",
            _ => "freed",
        };
        fault.steps.push(Step::new(label, block.freer as usize, block.freed));
    }
    fault.steps.push(Step::new("allocated", block.allocator as usize, block.allocated));
}

/// Returns `true` if all bytes have the value `byte`.
#[inline]
fn is_filled(bytes: &[u8], byte: u8) -> bool {
    // An array of eight bytes is compared as one word.
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().all(|word| *word == [byte; 8]) && rest.iter().all(|other| *other == byte)
}

/// Returns the error for a write to the red zones of an allocation, or to a freed allocation.
fn damage(heap: &Heap, block: &Block) -> Option<Fault> {
    let address = heap.base + block.start;
    let first = |begin: usize, length: usize, expected: u8| {
        // SAFETY: these bytes of the heap belong to the allocation.
        let bytes = unsafe { std::slice::from_raw_parts(begin as *const u8, length) };
        if is_filled(bytes, expected) {
            return None;
        }
        let at = bytes.iter().position(|byte| *byte != expected)?;
        Some((begin + at) as isize - address as isize)
    };
    // SAFETY: the number of the record is stored before the allocation.
    let number = unsafe { *((address - 8) as *const u64) } as usize;
    let is_its = heap.blocks.all().get(number).is_some_and(|other| other.start == block.start);
    let (problem, offset) = if !is_its {
        (Problem::OutOfBounds, -8)
    } else if let Some(offset) = first(address - BEFORE, UNIT, ZONE)
        .or_else(|| first(address + block.size, behind(block.capacity, block.size), ZONE))
    {
        (Problem::OutOfBounds, offset)
    } else if block.is_free {
        (Problem::WriteAfterFree, first(address, block.size.min(POISONED), FREED)?)
    } else {
        return None;
    };
    let mut fault = Fault { problem, size: None, offset, steps: Vec::new(), missing: None };
    describe(&mut fault, block, offset);
    Some(fault)
}

/// Returns the first such error of the run, in the order of allocations. Called by the carrier at the end of a run.
pub(crate) fn sweep() -> Option<Fault> {
    // SAFETY: only the carrier calls this; see `heap::Shared`.
    let heap = unsafe { &*heap::heap() };
    heap.blocks.all().iter().find_map(|block| damage(heap, block))
}

/// Returns `true` if `size` bytes at an address are neither freed nor in a red zone.
#[inline]
pub(crate) fn may_access(address: usize, size: usize) -> bool {
    invalid(address, size).is_none()
}

/// Returns the address of the first of `size` bytes at an address that is freed or in a red zone.
#[inline]
pub(crate) fn invalid(address: usize, size: usize) -> Option<usize> {
    // SAFETY: see `heap::Shared`.
    let heap = unsafe { &*heap::heap() };
    if heap.memory == Memory::Plain || !heap::has(address) || heap.blocks.count == 0 {
        return None;
    }
    let mut at = address - heap.base;
    let end = at.saturating_add(size).min(SIZE);
    while at < end {
        let (unit, stop) = (at - at % UNIT, end.min(at - at % UNIT + UNIT));
        let valid = match heap.blocks.unit(at) {
            FREE => 0,
            valid => usize::from(valid),
        };
        if stop > unit + valid {
            return Some(heap.base + at.max(unit + valid));
        }
        at = stop;
    }
    None
}

/// Returns the error for an access to freed memory or to a red zone.
pub(crate) fn misuse(address: usize, step: Step) -> Fault {
    // SAFETY: see `heap::Shared`.
    let heap = unsafe { &*heap::heap() };
    let block = heap::start(address).and_then(|start| find(heap, start));
    let Some(block) = block.map(|number| heap.blocks.all()[number]) else {
        return Fault::of_address(Problem::OutOfBounds, address, step);
    };
    let is_within = address - heap.base - block.start < block.size;
    let problem = match is_within {
        true => Problem::UseAfterFree,
        false => Problem::OutOfBounds,
    };
    let mut fault = Fault::new(problem, step);
    describe(&mut fault, &block, (address - heap.base - block.start) as isize);
    fault
}
