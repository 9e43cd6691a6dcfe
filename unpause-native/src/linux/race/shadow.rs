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

    /// Compares this access with a later one of a thread with this clock. Returns `false` if this access is no longer
    /// necessary.
    //
    // An access that is ordered by an uncertain edge only is necessary, because another access may be ordered after the
    // later one surely, but not after this one.
    #[inline]
    pub(super) fn meet(&self, later: &Record, clock: &Clock, found: &mut Conflicting) -> bool {
        let thread = self.thread.into();
        let is_own = self.thread == later.thread;
        let is_sure = is_own || self.clock <= clock.get_surely(thread);
        if !is_sure && self.conflicts(later) {
            match self.clock > clock.get(thread) {
                true => found.racing = Some(*self),
                false => found.hidden.push(*self),
            }
        }
        !is_sure || !self.is_covered_by(later)
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

/// The earlier accesses to eight bytes that conflict with a new access.
#[derive(Default)]
pub(crate) struct Conflicting {
    /// An access that no happens-before order precedes.
    pub(crate) racing: Option<Record>,
    /// The accesses that precede by uncertain edges only: see [`Clock::get_surely`]. Only in a search.
    pub(crate) hidden: Vec<Record>,
    /// The access that the new one has replaced. It may be in a race with a later access.
    pub(crate) displaced: Option<Record>,
}

/// The last accesses to eight bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cell {
    /// The number of the run that made the accesses, times 4. The lowest bit is set if an atomic is here, and the next
    /// one if there are more accesses than records.
    run: u32,
    records: [Record; KEPT],
}

impl Cell {
    /// Adds an access of a thread with this clock. Returns the earlier accesses that conflict with it.
    #[inline]
    pub(crate) fn add(&mut self, new: Record, clock: &Clock) -> Conflicting {
        let mut found = Conflicting::default();
        let mut place = None;
        for (at, old) in self.records.iter_mut().enumerate() {
            if old.mask != 0 && old.meet(&new, clock, &mut found) {
                continue;
            }
            old.mask = 0;
            place = Some(at);
        }
        // Without room, the access replaces another access. Only a search keeps that one.
        let at = place.unwrap_or(new.clock as usize % KEPT);
        let old = std::mem::replace(&mut self.records[at], new);
        found.displaced = place.is_none().then_some(old);
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

    /// Returns `true` if there are more accesses than records.
    pub(crate) fn is_spilled(&self) -> bool {
        self.run & 2 != 0
    }

    /// Records that there are more accesses than records.
    pub(crate) fn set_spilled(&mut self) {
        self.run |= 2;
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
        self.run = (self.run + 1) % (1 << 29);
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
        if cell.run >> 2 != self.run {
            *cell = Cell { run: self.run << 2, ..Cell::default() };
        }
        cell
    }

    /// Returns a cell without accesses.
    pub(crate) fn fresh(&self) -> Cell {
        Cell { run: self.run << 2, ..Cell::default() }
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
