//! The stores of one word, in modification order.

use crate::clock::Clock;
use crate::rounds::StoreName;

/// The position in S of a store that is not in S.
pub(crate) const NOT_IN_S: u32 = u32::MAX;

/// The loads of a store by one thread.
#[derive(Clone, Copy, Debug)]
struct Reader {
    thread: u16,
    /// The number of loads.
    times: u16,
    /// The thread's tick at its first load.
    first: u32,
}

/// A store.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    thread: u16,
    /// The thread's tick at the store; 0 for a value that is known to all threads.
    tick: u32,
    pub(crate) value: u64,
    /// The number of the operation in the run.
    pub(crate) step: u32,
    /// The clock that an acquire of this store joins.
    pub(crate) message: Clock,
    readers: Vec<Reader>,
    /// The lowest position in S of the store or of its loads.
    pub(crate) first: u32,
    /// `true` if a read-modify-write has read this store, so that no other store may directly follow it.
    pub(crate) is_taken: bool,
    /// The number of the store's marks in the exact order S; 0 if it has none.
    pub(crate) marks: u32,
}

impl Store {
    /// Creates a value that is known to all threads.
    pub(crate) fn known_to_all(value: u64, step: u32) -> Store {
        Store {
            thread: 0,
            tick: 0,
            value,
            step,
            message: Clock::default(),
            readers: Vec::new(),
            first: NOT_IN_S,
            is_taken: false,
            marks: 0,
        }
    }

    /// Turns this value into another store, which keeps the message and has no readers.
    pub(crate) fn begin(&mut self, (thread, tick): (usize, u32), value: u64, step: u32) {
        (self.thread, self.tick, self.value, self.step) = (thread as u16, tick, value, step);
        (self.first, self.is_taken, self.marks) = (NOT_IN_S, false, 0);
        self.readers.clear();
    }

    /// Returns `true` if the store, or a load of it, happens before the moment of a clock: the thread of the clock can
    /// then no longer read an earlier store.
    #[inline]
    pub(crate) fn is_known(&self, clock: &Clock) -> bool {
        self.is_within(|thread| clock.get(thread))
    }

    /// Returns `true` if the store, or a load of it, is among the first `events` of its thread.
    #[inline]
    fn is_within(&self, events: impl Fn(usize) -> u32) -> bool {
        let is_before = |reader: &Reader| reader.first <= events(reader.thread.into());
        self.tick <= events(self.thread.into()) || self.readers.iter().any(is_before)
    }

    /// Returns the identity of the store in its word.
    pub(crate) fn name(&self) -> StoreName {
        (self.thread, self.tick)
    }

    /// Returns the number of times that a thread has read this store.
    pub(crate) fn times_seen(&self, thread: usize) -> u16 {
        let reader = self.readers.iter().find(|reader| usize::from(reader.thread) == thread);
        reader.map_or(0, |reader| reader.times)
    }

    /// Records a load of a thread at this tick.
    #[inline]
    pub(crate) fn seen_by(&mut self, thread: usize, tick: u32) {
        match self.readers.iter_mut().find(|reader| usize::from(reader.thread) == thread) {
            Some(reader) => reader.times = reader.times.saturating_add(1),
            None => self.readers.push(Reader { thread: thread as u16, times: 1, first: tick }),
        }
    }
}

/// The stores of an atomic.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) address: usize,
    /// The size in bytes.
    pub(crate) size: u8,
    /// `true` if instrumented code has written the memory by a plain access since the newest store.
    pub(crate) is_written: bool,
    /// `true` if an operation that is not a step of the search has written the word: see
    /// [`Manner`](crate::Manner).
    pub(crate) is_passed: bool,
    /// The threads of the stores that were removed since then, each with the tick of its last such store.
    pub(crate) removed: Vec<(u16, u32)>,
    /// The clock that the last exclusive holder of a lock for several threads has published. Only in a search.
    pub(crate) exclusive: Clock,
    /// The number of the restart of the exact order S since which a store has marks; 0 if no store has had marks.
    pub(crate) marked: u32,
    /// The stores in modification order, never empty. After the last operation, memory contained the value of the last
    /// store.
    pub(crate) stores: Vec<Store>,
}

impl Word {
    /// Creates a word with a single store.
    pub(crate) fn new(address: usize, size: u8, store: Store) -> Word {
        Word {
            address,
            size,
            is_written: false,
            is_passed: false,
            removed: Vec::new(),
            exclusive: Clock::default(),
            marked: 0,
            stores: vec![store],
        }
    }

    /// Returns `true` if the word has a byte in common with this range.
    pub(crate) fn overlaps(&self, address: usize, size: usize) -> bool {
        self.address < address + size && address < self.address + usize::from(self.size)
    }

    /// Returns `true` if all stores happen before the moment of a clock, without uncertain edges. A load of a store is
    /// not sufficient, because it may be a part of an operation that is not a step.
    pub(crate) fn is_known_surely(&self, clock: &Clock) -> bool {
        let stores = self.stores.iter().map(|store| (store.thread, store.tick));
        let mut stores = stores.chain(self.removed.iter().copied());
        stores.all(|(thread, tick)| tick <= clock.get_surely(thread.into()))
    }

    /// Records that a store is removed, after the word was written by an operation that is not a step.
    pub(crate) fn note_removed(&mut self, store: &Store) {
        match self.removed.iter_mut().find(|(thread, _)| *thread == store.thread) {
            Some((_, tick)) => *tick = store.tick.max(*tick),
            None => self.removed.push((store.thread, store.tick)),
        }
    }

    /// Returns the index of the newest store.
    #[inline]
    pub(crate) fn newest(&self) -> usize {
        self.stores.len() - 1
    }
}
