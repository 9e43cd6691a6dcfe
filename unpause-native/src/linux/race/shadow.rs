//! The last accesses to each eight bytes of memory.

use unpause_orders::ByNumber;

use super::super::orders::Clock;

/// A write, as part of a [`Record::kind`].
pub(crate) const WRITE: u8 = 1;
/// An atomic access.
pub(crate) const ATOMIC: u8 = 2;
/// A free: a write to all bytes of an allocation.
pub(crate) const FREE: u8 = 4;
/// A free that is the return of a function.
pub(crate) const RETURN: u8 = 8;

/// An access of some of eight bytes.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Record {
    /// The number of the thread's clock then.
    pub(crate) clock: u32,
    /// The number of the return addresses.
    pub(crate) trace: u32,
    pub(crate) thread: u16,
    /// A bit for each byte; 0 for no access.
    pub(crate) mask: u8,
    /// A sum of [`WRITE`], [`ATOMIC`], [`FREE`].
    pub(crate) kind: u8,
}

impl Record {
    fn is(&self, kind: u8) -> bool {
        self.kind & kind != 0
    }

    /// Returns `true` if two accesses in any order are a data race.
    fn conflicts(&self, other: &Record) -> bool {
        self.mask & other.mask != 0
            && self.thread != other.thread
            && (self.is(WRITE) || other.is(WRITE))
            && !(self.is(ATOMIC) && other.is(ATOMIC))
    }

    /// Returns `true` if each later access that is a race with `self` is one with `later` too, which comes after it.
    fn is_covered_by(&self, later: &Record) -> bool {
        self.mask & !later.mask == 0
            && (later.is(WRITE) || !self.is(WRITE))
            && (self.is(ATOMIC) || !later.is(ATOMIC))
    }
}

/// The number of accesses that are kept.
const KEPT: usize = 5;

/// The last accesses to eight bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cell {
    /// The run that the accesses are of, times 2; the lowest bit is set if an atomic is there.
    run: u32,
    records: [Record; KEPT],
}

impl Cell {
    /// Adds an access of a thread with this clock. Returns an access before it that is not ordered.
    #[inline]
    pub(crate) fn add(&mut self, new: Record, clock: &Clock) -> Option<Record> {
        let mut found = None;
        let mut place = None;
        for (at, old) in self.records.iter_mut().enumerate() {
            if old.mask == 0 {
                place = Some(at);
                continue;
            }
            let is_ordered = old.thread == new.thread || old.clock <= clock.get(old.thread.into());
            if is_ordered && old.is_covered_by(&new) {
                old.mask = 0;
                place = Some(at);
            } else if !is_ordered && old.conflicts(&new) {
                found = Some(*old);
            }
        }
        // Without room the access replaces one of many: a race may be overlooked.
        self.records[place.unwrap_or(new.clock as usize % KEPT)] = new;
        found
    }

    /// Returns `true` if an atomic is there.
    pub(crate) fn has_atomic(&self) -> bool {
        self.run & 1 != 0
    }

    /// Notes that an atomic is there.
    pub(crate) fn set_atomic(&mut self) {
        self.run |= 1;
    }

    /// Returns `true` if no access is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.records.iter().all(|record| record.mask == 0)
    }
}

/// The number of cells of a page.
const CELLS: usize = 512;
/// The number of pages that are found at once.
const CACHED: usize = 64;

/// The cells of all memory, by pages.
#[derive(Default)]
pub(crate) struct Shadow {
    /// The number of the current run.
    run: u32,
    pages: Vec<Box<[Cell; CELLS]>>,
    /// The pages by the upper bits of their addresses.
    by_address: ByNumber<u32>,
    /// Pages that were found: the upper bits of the address, and 1, with the number.
    cache: Vec<(usize, u32)>,
}

impl Shadow {
    /// Forgets all accesses.
    pub(crate) fn reset(&mut self) {
        self.run = (self.run + 1) % (1 << 30);
        if self.run == 0 {
            *self = Shadow::default();
        }
        self.cache.resize(CACHED, (0, 0));
    }

    /// The cell of an address.
    #[inline]
    pub(crate) fn cell(&mut self, address: usize) -> &mut Cell {
        let upper = address / (8 * CELLS);
        let (known, number) = self.cache[upper % CACHED];
        let number = if known == upper + 1 { number } else { self.find(upper) };
        let cell = &mut self.pages[number as usize][address / 8 % CELLS];
        if cell.run >> 1 != self.run {
            *cell = Cell { run: self.run << 1, ..Cell::default() };
        }
        cell
    }

    /// A cell without accesses.
    pub(crate) fn fresh(&self) -> Cell {
        Cell { run: self.run << 1, ..Cell::default() }
    }

    #[cold]
    fn find(&mut self, upper: usize) -> u32 {
        let Shadow { pages, by_address, cache, .. } = self;
        let number = *by_address.entry(upper).or_insert_with(|| {
            pages.push(Box::new([Cell::default(); CELLS]));
            pages.len() as u32 - 1
        });
        cache[upper % CACHED] = (upper + 1, number);
        number
    }
}
