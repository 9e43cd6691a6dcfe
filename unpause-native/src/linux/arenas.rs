//! The places of allocations in the heap. Each thread has its own parts of the heap, and their addresses depend on the
//! thread only.
//!
//! So the addresses of a thread's allocations do not depend on the allocations of other threads. Steps of two
//! allocating threads commute, and searches rely on this. Large allocations use the next free bytes after the parts,
//! and so do all allocations if no part is left.

use std::ops::Range;

use super::heap::{SIZE, UNIT};
use super::names::name_of;

/// The bytes of a part.
const PART: usize = 256 << 10;
/// The number of parts. They are half of the heap.
const PARTS: usize = SIZE / 2 / PART;
/// The minimum number of bytes of a large allocation.
const LARGE: usize = PART / 4;

/// The current part of a thread. Offsets are relative to the heap.
pub(crate) struct Arena {
    /// The free bytes of the part.
    free: Range<usize>,
    /// The last allocation in the part, which can grow in place.
    last: usize,
    /// The number of parts that the thread has had.
    parts: u64,
}

impl Arena {
    pub(crate) const NONE: Arena = Arena { free: 0..0, last: usize::MAX, parts: 0 };
}

/// The bytes of the heap that are in use. Offsets are relative to the heap.
pub(crate) struct Places {
    /// For each part, the number of bytes in use; 0 for a part without a thread.
    used: [u32; PARTS],
    /// For each part, the number of its first bytes that earlier runs have allocated and [keep](Places::keep).
    kept: [u32; PARTS],
    /// The numbers of the parts with a thread; the first `taken` entries are valid. With this list, the cost of a reset
    /// depends only on the used parts.
    parts: [u16; PARTS],
    taken: usize,
    /// The end of the large allocations.
    top: usize,
    /// The end of the large allocations that are kept.
    kept_top: usize,
    /// The last large allocation, which can grow in place.
    last: usize,
}

impl Places {
    pub(crate) const NONE: Places = Places {
        used: [0; PARTS],
        kept: [0; PARTS],
        parts: [0; PARTS],
        taken: 0,
        top: PARTS * PART,
        kept_top: PARTS * PART,
        last: usize::MAX,
    };

    /// Returns the ranges in use, without kept bytes.
    pub(crate) fn used(&self) -> impl Iterator<Item = Range<usize>> {
        let parts = self.parts[..self.taken].iter().map(|part| {
            let part = usize::from(*part);
            part * PART + self.kept[part] as usize..part * PART + self.used[part] as usize
        });
        parts.chain(std::iter::once(self.kept_top..self.top).filter(|large| !large.is_empty()))
    }

    /// Returns `true` if an offset is in an allocation of the current run.
    pub(crate) fn is_of_run(&self, start: usize) -> bool {
        let kept = self.kept.get(start / PART).map(|kept| start / PART * PART + *kept as usize);
        start >= kept.unwrap_or(self.kept_top)
    }

    /// Returns `true` if any bytes are kept.
    pub(crate) fn keeps(&self) -> bool {
        self.kept_top > PARTS * PART || self.kept.iter().any(|kept| *kept > 0)
    }

    /// Keeps all allocations of the run, so that later runs do not use their bytes. Must be called before
    /// [`reset`](Self::reset).
    pub(crate) fn keep(&mut self) {
        for part in &self.parts[..self.taken] {
            self.kept[usize::from(*part)] = self.used[usize::from(*part)];
        }
        self.kept_top = self.top;
    }

    /// Removes the threads from all parts.
    pub(crate) fn reset(&mut self) {
        for part in &self.parts[..self.taken] {
            self.used[usize::from(*part)] = 0;
        }
        (self.taken, self.top, self.last) = (0, self.kept_top, usize::MAX);
    }

    /// Returns the number of bytes in use from an offset to the end of its part. This is at least the size of an
    /// allocation at the offset.
    pub(crate) fn left(&self, start: usize) -> usize {
        let part = start / PART;
        let end = match self.used.get(part) {
            Some(used) => part * PART + (*used).max(self.kept[part]) as usize,
            None => self.top,
        };
        end.saturating_sub(start)
    }

    /// Allocates room for `size` bytes with `before` bytes in front of them, for the thread with this path. Returns the
    /// offset of the room in the heap at `base`; `None` if the heap is full.
    pub(crate) fn take(
        &mut self,
        (arena, path): (&mut Arena, u64),
        base: usize,
        (before, size, align): (usize, usize, usize),
    ) -> Option<usize> {
        let align = align.max(UNIT);
        let place = |free: usize| {
            let start = (base + free + before).next_multiple_of(align) - base;
            start.checked_add(size).map(|end| (start, end))
        };
        if before.saturating_add(size).saturating_add(align) <= LARGE {
            let (mut start, mut end) = place(arena.free.start)?;
            if end > arena.free.end
                && let Some(part) = self.take_part(path, arena.parts)
            {
                arena.parts += 1;
                arena.free = part * PART + self.kept[part] as usize..(part + 1) * PART;
                (start, end) = place(arena.free.start)?;
            }
            if end <= arena.free.end {
                self.set_end(arena, end);
                arena.last = start;
                return Some(start);
            }
        }
        let (start, end) = place(self.top).filter(|(_, end)| *end <= SIZE)?;
        (self.top, self.last) = (end.next_multiple_of(UNIT), start);
        Some(start)
    }

    /// Resizes the allocation at `start` to `size` bytes if it can grow in place. Returns `true` on success.
    pub(crate) fn resize(&mut self, arena: Option<&mut Arena>, start: usize, size: usize) -> bool {
        let Some(end) = start.checked_add(size) else { return false };
        match arena {
            Some(arena) if start == arena.last && end <= arena.free.end => {
                self.set_end(arena, end);
                true
            }
            _ if start == self.last && end <= SIZE => {
                self.top = end.next_multiple_of(UNIT);
                true
            }
            _ => false,
        }
    }

    fn set_end(&mut self, arena: &mut Arena, end: usize) {
        arena.free.start = end.next_multiple_of(UNIT);
        let part = (arena.free.end - 1) / PART;
        self.used[part] = self.used[part].max((arena.free.start - part * PART) as u32);
    }

    /// Assigns a part without a thread. Its number depends on the path of the thread and its number of parts, unless
    /// another thread already has that part. Returns `None` if all parts have a thread.
    fn take_part(&mut self, path: u64, nth: u64) -> Option<usize> {
        let hash = name_of(path, nth << 32);
        let first = (hash >> 32) as usize % PARTS;
        let mut all = (first..first + PARTS).map(|part| part % PARTS);
        let has_room = |part: &usize| PART - self.kept[*part] as usize >= LARGE;
        let part = all.find(|part| self.used[*part] == 0 && has_room(part))?;
        self.parts[self.taken] = part as u16;
        self.taken += 1;
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A base that is not zero, like the base of a mapping.
    const BASE: usize = 0x2000_0000_0000;

    /// Allocates this size for each thread in the order, with 16 bytes in front. Returns the places by thread.
    fn places(order: &[u64], size: usize) -> Vec<(u64, usize)> {
        let mut heap = Places::NONE;
        let mut arenas = [Arena::NONE; 3];
        let mut places: Vec<_> = order
            .iter()
            .map(|thread| {
                let path = thread.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let own = (&mut arenas[*thread as usize], path);
                (*thread, heap.take(own, BASE, (UNIT, size, UNIT)).unwrap())
            })
            .collect();
        places.sort_by_key(|(thread, _)| *thread);
        places
    }

    #[test]
    fn places_do_not_depend_on_the_order_of_threads() {
        for size in [1, 100, LARGE / 2, LARGE - 2 * UNIT] {
            let one = places(&[0, 1, 2, 0, 1, 2, 0, 1, 0, 0, 0, 0, 0], size);
            let other = places(&[2, 2, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0], size);
            assert_eq!(one, other, "{size} bytes");
            let mut starts: Vec<usize> = one.iter().map(|(_, start)| *start).collect();
            starts.sort_unstable();
            let apart = |pair: &[usize]| pair[1] - pair[0] >= size + UNIT;
            assert!(starts.windows(2).all(apart), "{size} bytes: {starts:?}");
        }
        // Large allocations depend on the order.
        assert_ne!(places(&[0, 1], LARGE), places(&[1, 0], LARGE));
    }

    #[test]
    fn a_full_heap_refuses() {
        let mut heap = Places::NONE;
        let mut arena = Arena::NONE;
        let mut count = 0;
        let mut take = |heap: &mut Places, size| heap.take((&mut arena, 1), BASE, (UNIT, size, 64));
        while let Some(start) = take(&mut heap, LARGE - 128) {
            assert!(start + LARGE - 128 <= SIZE);
            count += 1;
        }
        assert!(count > SIZE / LARGE / 2, "{count}");
        assert_eq!(take(&mut heap, SIZE), None);
        assert_eq!(take(&mut heap, usize::MAX), None);
        assert!(heap.used().map(|used| used.len()).sum::<usize>() > SIZE / 10 * 9);
        heap.reset();
        assert_eq!(heap.used().count(), 0);
        let mut arena = Arena::NONE;
        assert!(heap.take((&mut arena, 1), BASE, (UNIT, 1, 16)).is_some());
    }

    #[test]
    fn the_last_allocation_of_a_thread_grows_in_place() {
        let mut heap = Places::NONE;
        let (mut arena, mut other) = (Arena::NONE, Arena::NONE);
        let first = heap.take((&mut arena, 1), BASE, (UNIT, 16, 16)).unwrap();
        heap.take((&mut other, 2), BASE, (UNIT, 16, 16)).unwrap();
        assert!(heap.resize(Some(&mut arena), first, 1000), "another thread has its own part");
        let second = heap.take((&mut arena, 1), BASE, (UNIT, 16, 16)).unwrap();
        assert!(second >= first + 1000);
        assert_eq!(heap.left(second), 16);
        assert_eq!(heap.left(first), second + 16 - first);
        let large = heap.take((&mut arena, 1), BASE, (UNIT, LARGE, 16)).unwrap();
        assert_eq!(heap.left(large), LARGE);
        assert!(!heap.resize(Some(&mut arena), first, 2000), "it is not the last");
        assert!(!heap.resize(Some(&mut arena), second, PART), "it does not fit");
        assert!(!heap.resize(None, second, 17), "an arena of nobody");
    }
}
