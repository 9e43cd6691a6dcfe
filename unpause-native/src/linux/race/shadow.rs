//! The last accesses to each eight bytes of memory.

use unpause_orders::ByNumber;

use super::super::orders::Clock;

/// The bit of a write in [`Record::kind`].
pub(crate) const WRITE: u8 = 1;
/// The bit of an atomic access.
pub(crate) const ATOMIC: u8 = 2;
/// The bit of a free, which counts as a write to all bytes of an allocation.
pub(crate) const FREE: u8 = 4;
/// The bit of a free that is the return of a function.
pub(crate) const RETURN: u8 = 8;

/// An access to some of eight bytes.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Record {
    /// The clock value of the thread at the access.
    pub(crate) clock: u32,
    /// The number of the return addresses.
    pub(crate) trace: u32,
    pub(crate) thread: u16,
    /// One bit for each accessed byte; 0 for no access.
    pub(crate) mask: u8,
    /// A sum of [`WRITE`], [`ATOMIC`], [`FREE`] bits.
    pub(crate) kind: u8,
}

impl Record {
    fn is(&self, kind: u8) -> bool {
        self.kind & kind != 0
    }

    /// Returns `true` if two unordered accesses are a data race.
    fn conflicts(&self, other: &Record) -> bool {
        self.mask & other.mask != 0
            && self.thread != other.thread
            && (self.is(WRITE) || other.is(WRITE))
            && !(self.is(ATOMIC) && other.is(ATOMIC))
    }

    /// Returns `true` if each future access that races with `self` also races with `later`, which is after `self`.
    fn is_covered_by(&self, later: &Record) -> bool {
        self.mask & !later.mask == 0
            && (later.is(WRITE) || !self.is(WRITE))
            && (self.is(ATOMIC) || !later.is(ATOMIC))
    }
}

/// The number of accesses in a cell.
const KEPT: usize = 5;

/// The last accesses to eight bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cell {
    /// The number of the run that made the accesses, times 2. The lowest bit is set if an atomic is here.
    run: u32,
    records: [Record; KEPT],
}

impl Cell {
    /// Adds an access of a thread with this clock. Returns an earlier access that races with it, if any.
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
        // Without room, the access replaces another access, so a race may be overlooked.
        self.records[place.unwrap_or(new.clock as usize % KEPT)] = new;
        found
    }

    /// Returns `true` if an atomic is here.
    pub(crate) fn has_atomic(&self) -> bool {
        self.run & 1 != 0
    }

    /// Records that an atomic is here.
    pub(crate) fn set_atomic(&mut self) {
        self.run |= 1;
    }

    /// Returns `true` if no access is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.records.iter().all(|record| record.mask == 0)
    }
}

/// The number of cells in a page.
const CELLS: usize = 512;
/// The number of pages in the cache.
const CACHED: usize = 64;

/// The cells of all memory, by pages.
#[derive(Default)]
pub(crate) struct Shadow {
    /// The number of the current run.
    run: u32,
    pages: Vec<Box<[Cell; CELLS]>>,
    /// The numbers of the pages, by the upper bits of their addresses.
    by_address: ByNumber<u32>,
    /// The cache of pages: the upper bits of an address, plus one, and the number of the page.
    cache: Vec<(usize, u32)>,
}

impl Shadow {
    /// Removes all accesses.
    pub(crate) fn reset(&mut self) {
        self.run = (self.run + 1) % (1 << 30);
        if self.run == 0 {
            *self = Shadow::default();
        }
        self.cache.resize(CACHED, (0, 0));
    }

    /// Returns the cell of an address.
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

    /// Returns a cell without accesses.
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
