//! Outcomes that a search of plain threads does not try.
//!
//! Some operations of plain threads read the newest store, although they may read an older one. Others are not steps,
//! so a search does not try their other orders, and the edges from these orders may hide outcomes. The runtime also
//! adds edges that C++20 does not demand, for example between a wake and the end of a wait. If any of these cases may
//! have hidden an outcome, the search is not a proof: see [`Orders::has_missed`].
//!
//! # Uncertain edges
//!
//! An edge is *uncertain* if another order of the program may not have it: see [`Uncertain`]. A clock has a sure part,
//! which omits these edges: see `clock.rs`. Edges that the search does try may later contain the same events. If they
//! do before the next event of the thread that counts, the uncertain edge made no difference for events that count. An
//! operation in passing does not count. Its store may still be visible by uncertain edges only, and the modification
//! order of two such stores may be the other one. So an operation on the word requires that the thread knows all of its
//! stores without these edges.
//!
//! A search for data races also uses the sure parts, without weak memory. There, all edges except the uncertain ones
//! belong to the order of conflicting steps. So two accesses are ordered in each order of a class if a sure part
//! orders them: see the race detector of `unpause-native`.

use crate::clock::Clock;
use crate::machine::{KEPT, Known, Orders};
use crate::operation::{Operation, SEQ_CST, releases};
use crate::uncertain::Uncertain;
use crate::word::Word;

/// The treatment of an operation by a search of plain threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Manner {
    /// The operation is not a step, and reads the newest store. No choice of a store depends on the operation itself.
    #[default]
    InPassing,
    /// The operation is a step, and reads the newest store.
    InTurn,
    /// Like [`InTurn`](Manner::InTurn). Only such operations use the word, and they read the newest store. So no choice
    /// of a store depends on the operation itself, unless it is sequentially consistent.
    OfPrimitive,
    /// The operation is a step of a lock call that does not return before it has read the newest store.
    OfLock,
    /// Like [`OfLock`](Manner::OfLock), but several threads may hold the lock. The search tries one order of their
    /// calls. The order of such a call and an exclusive hold is certain.
    OfSharedLock,
    /// Like [`OfSharedLock`](Manner::OfSharedLock). Only operations that read the newest store use the word. So no
    /// choice of a store depends on the operation itself.
    OfSharedPrimitive,
    /// Like [`OfLock`](Manner::OfLock). The operation ends an exclusive hold of a lock that several threads may hold.
    EndsExclusive,
    /// The operation is a step of a wait of std that does not end before it has read the newest store. No choice of a
    /// store depends on the operation itself.
    OfWait,
    /// The operation is a step, and chooses a store.
    Chosen,
}

impl Manner {
    /// Returns `true` if choices of stores depend on the operation.
    fn counts(self) -> bool {
        use Manner::{InPassing, OfPrimitive, OfSharedPrimitive, OfWait};
        !matches!(self, InPassing | OfPrimitive | OfSharedPrimitive | OfWait)
    }
}

/// The events of a thread that count, in a search.
#[derive(Clone, Default, Debug)]
pub(crate) struct Counted {
    /// The ticks of the events, in ascending order.
    ticks: Vec<u32>,
}

impl Counted {
    /// Resets the state for the next run, and keeps allocations.
    pub(crate) fn clear(&mut self) {
        self.ticks.clear();
    }

    /// Records the tick of an event that counts.
    pub(crate) fn add(&mut self, tick: u32) {
        self.ticks.push(tick);
    }

    /// Returns `true` if an event that counts has a tick after `from`, and at most `until`.
    fn is_within(&self, from: u32, until: u32) -> bool {
        let next = self.ticks.partition_point(|tick| *tick <= from);
        self.ticks.get(next).is_some_and(|tick| *tick <= until)
    }
}

/// The consequences of the manner of an operation, in a search.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Taken {
    /// `true` if choices of stores depend on the operation.
    pub(crate) counts: bool,
    /// `true` if the operation publishes the clock of its thread, so that the clock must be sure by then.
    pub(crate) confirms: bool,
    /// The kind of the edge by which the operation acquires, if the edge is uncertain.
    pub(crate) edge: Option<Uncertain>,
    /// `true` if the operation ends an exclusive hold: see [`Word::exclusive`].
    pub(crate) ends_exclusive: bool,
}

impl Orders {
    /// Sets the treatment of the next operation. Without a call, the next operation is one [in
    /// passing](Manner::InPassing).
    pub fn set_manner(&mut self, manner: Manner) {
        self.manner = manner;
    }

    /// Returns `true` if a search of plain threads may have missed an outcome because of the run so far.
    pub fn has_missed(&self) -> bool {
        self.has_missed || self.chooses && self.lacks_choices
    }

    /// Records that the value of a word comes from an operation that is not recorded. Before a write in passing, this
    /// alone removes no choice: compiled code of std counts references like instrumented code. `before` is the state
    /// before the word was renewed.
    pub(crate) fn take_renewal(
        &mut self,
        operation: &impl Operation,
        word: usize,
        (lacks_choices, restarts): (bool, u32),
    ) {
        let is_passed = self.rules.is_search
            && self.manner == Manner::InPassing
            && !operation.may_only_read()
            && self.exact.restarts == restarts;
        if is_passed && self.lacks_choices && !lacks_choices {
            self.lacks_choices = false;
            self.words[word].is_passed = true;
        }
    }

    /// Takes the manner of an operation that is about to access a store of a word. In a search, records the outcomes
    /// that are missed.
    pub(crate) fn take_manner(
        &mut self,
        thread: usize,
        operation: &impl Operation,
        (word, place): (usize, usize),
    ) -> Taken {
        let manner = std::mem::take(&mut self.manner);
        if !self.rules.is_search {
            return Taken::default();
        }
        let is_newest = matches!(manner, Manner::InPassing | Manner::InTurn | Manner::OfPrimitive);
        let is_newest = is_newest && self.is_weak();
        let is_weaker = [false, true].map(|writes| operation.order_if(writes)) != [SEQ_CST; 2];
        if is_newest && (self.chooses || is_weaker) {
            let (_, number, is_limited) = self.places_surely(thread, operation, word);
            let is_missed = number > 1 || is_limited;
            self.lacks_choices |= is_missed;
            self.has_missed |= is_missed && is_weaker;
        }
        let writes = operation.written_over(self.words[word].stores[place].value).is_some();
        let (order, is_step) = (operation.order_if(writes), manner != Manner::InPassing);
        if matches!(manner, Manner::InTurn | Manner::Chosen) || order == SEQ_CST {
            self.confirm(thread);
        }
        let Word { stores, is_passed, .. } = &mut self.words[word];
        let edge = match manner {
            Manner::InPassing => Some(Uncertain::InPassing),
            _ if *is_passed => Some(Uncertain::Passed),
            Manner::OfSharedLock | Manner::OfSharedPrimitive => Some(Uncertain::SharedLock),
            _ => None,
        };
        // A store that is read in passing is known to every thread that knows of the read.
        let makes_known = || !writes && !stores[place].is_known(&self.threads[thread].clock);
        let counts = manner.counts()
            || manner == Manner::InPassing && makes_known()
            || manner == Manner::OfPrimitive && order == SEQ_CST;
        let is_single = stores.len() == 1;
        if *is_passed && (is_step || !writes) {
            // A search tries one order of the stores in passing, so the result is certain only if all are known. The
            // only store of a word may be a value that is not recorded, which seems to be known to all threads.
            let is_known = self.words[word].is_known_surely(&self.threads[thread].clock);
            self.lacks_choices |= !is_known || is_step && is_single;
        }
        self.words[word].is_passed |= writes && !is_step;
        let confirms = is_step && writes && releases(order);
        Taken { counts, confirms, edge, ends_exclusive: manner == Manner::EndsExclusive }
    }

    /// Records that a weak compare-exchange tries no spurious failure, because it fails on the newest store anyway.
    /// `failure` is the load of a failure. A spurious failure on an older store with the value `expected` is missed.
    pub fn fails_on_newest_only(
        &mut self,
        thread: usize,
        failure: &impl Operation,
        (memory, expected): (u64, u64),
    ) {
        let is_weaker = failure.order_if(false) != SEQ_CST;
        if !self.rules.is_search || !self.chooses && !is_weaker {
            return;
        }
        self.known(thread);
        let word = self.word(failure, memory);
        let (places, number, is_limited) = self.places_surely(thread, failure, word);
        let stores = &self.words[word].stores;
        let mut older = places[1..number].iter().map(|place| &stores[usize::from(*place)]);
        let is_missed = is_limited || older.any(|store| store.value == expected);
        self.lacks_choices |= is_missed;
        self.has_missed |= is_missed && is_weaker;
    }

    /// Returns the clock of a thread, from which a history takes the order of its calls. A search does not try all
    /// orders of operations in passing, which may order calls.
    pub fn clock_of_call(&mut self, thread: usize) -> &Clock {
        self.lacks_choices |= self.rules.is_search;
        self.clock(thread)
    }

    /// Checks if the sure part of a thread's clock contains all events that count. If it does not, outcomes may be
    /// missed.
    pub(crate) fn confirm(&mut self, thread: usize) {
        let clock = &self.threads[thread].clock;
        if !clock.is_sure() {
            let is_more = |(other, known): (usize, &Known)| {
                let (from, until) = (clock.get_surely(other), clock.get(other));
                other != thread && known.counted.is_within(from, until)
            };
            self.lacks_choices |= self.threads.iter().enumerate().any(is_more);
        }
    }

    /// Returns the message of a value that unknown code has written: the clock of all past events. In a search for data
    /// races without weak memory, each of its edges is uncertain.
    pub(crate) fn message_of_unknown(&mut self) -> Clock {
        let everything = self.everything();
        match self.rules.is_search && !self.is_weak() {
            true => everything.uncertain(),
            false => everything,
        }
    }

    /// Makes a thread acquire a clock by an edge that is uncertain in a search.
    pub(crate) fn acquire(&mut self, thread: usize, acquired: &Clock, edge: Uncertain) {
        let is_search = self.rules.is_search;
        self.known(thread).clock.join_by(acquired, is_search.then_some(edge));
    }

    /// Returns the [places](Self::places) of an operation if its thread did not have the uncertain edges.
    fn places_surely(
        &mut self,
        thread: usize,
        operation: &impl Operation,
        word: usize,
    ) -> ([u8; KEPT], usize, bool) {
        self.threads[thread].clock.exchange_sure();
        let places = self.places(thread, operation, &self.words[word]);
        self.threads[thread].clock.exchange_sure();
        places
    }

    /// Records that a thread reuses the stack of an ended thread. C++20 does not order the two.
    pub fn reused(&mut self, thread: usize, other: usize) {
        let clock = &mut self.known(other).clock;
        clock.tick(other);
        let ended = clock.clone();
        self.acquire(thread, &ended, Uncertain::Stack);
    }
}
