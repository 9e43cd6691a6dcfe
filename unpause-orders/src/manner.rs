//! Outcomes that a search of plain threads does not try.
//!
//! Some operations of plain threads read the newest store, although they may read an older one. Others are not steps,
//! so a search does not try their other orders, and the edges from these orders may hide outcomes. The runtime also
//! adds edges that C++20 does not demand, for example between a wake and the end of a wait. If any of these cases may
//! have hidden an outcome, the search is not a proof: see [`Orders::has_missed`].
//!
//! # Uncertain edges
//!
//! An edge is *uncertain* if another order of the program may not have it: see [`Uncertain`]. A thread that has acquired a clock by an
//! uncertain edge also has a *sure* clock, which omits the edge. Edges that the search does try may later contain the
//! same events. If they do before the next event of the thread that counts, the uncertain edge made no difference.

use crate::clock::Clock;
use crate::machine::{Known, Orders};
use crate::operation::{Operation, SEQ_CST, acquires, releases};
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
    /// The operation is a step of a lock call that does not return before it has read the newest store.
    OfLock,
    /// Like [`OfLock`](Manner::OfLock), but several threads may hold the lock. The search tries one order of their
    /// calls.
    OfSharedLock,
    /// The operation is a step of a wait of std that does not end before it has read the newest store. No choice of a
    /// store depends on the operation itself.
    OfWait,
    /// The operation is a step, and chooses a store.
    Chosen,
}

impl Manner {
    /// Returns `true` if choices of stores depend on the operation.
    fn counts(self) -> bool {
        !matches!(self, Manner::InPassing | Manner::OfWait)
    }
}

/// The part of a thread's state that only searches use.
#[derive(Clone, Default, Debug)]
pub(crate) struct Sure {
    /// The clock without uncertain edges, if the thread has one.
    clock: Clock,
    /// `true` if the thread has an uncertain edge.
    is_used: bool,
    /// `true` if the clock for acquire fences contains uncertain edges.
    is_pending: bool,
    /// The ticks of the events that count, in ascending order.
    counted: Vec<u32>,
}

impl Sure {
    /// Resets the state for the next run, and keeps allocations.
    pub(crate) fn clear(&mut self) {
        self.clock.clear();
        self.counted.clear();
        (self.is_used, self.is_pending) = (false, false);
    }

    /// Records the tick of an event that counts.
    pub(crate) fn count(&mut self, tick: u32) {
        self.counted.push(tick);
    }

    /// Returns `true` if an event that counts has a tick after `from`, and at most `until`.
    fn counts_within(&self, from: u32, until: u32) -> bool {
        let next = self.counted.partition_point(|tick| *tick <= from);
        self.counted.get(next).is_some_and(|tick| *tick <= until)
    }
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
    /// that are missed. Returns `true` if choices of stores depend on the operation.
    pub(crate) fn take_manner(
        &mut self,
        thread: usize,
        operation: &impl Operation,
        (word, place): (usize, usize),
    ) -> bool {
        let manner = std::mem::take(&mut self.manner);
        if !self.rules.is_search {
            return false;
        }
        let is_newest = matches!(manner, Manner::InPassing | Manner::InTurn);
        let is_weaker = [false, true].map(|writes| operation.order_if(writes)) != [SEQ_CST; 2];
        if is_newest && (self.chooses || is_weaker) {
            let (_, number, is_limited) = self.places(thread, operation, &self.words[word]);
            let is_missed = number > 1 || is_limited;
            self.lacks_choices |= is_missed;
            self.has_missed |= is_missed && is_weaker;
        }
        if matches!(manner, Manner::InTurn | Manner::Chosen) {
            self.confirm(thread);
        }
        let Word { stores, is_passed, .. } = &mut self.words[word];
        let writes = operation.written_over(stores[place].value).is_some();
        let (order, is_step) = (operation.order_if(writes), manner != Manner::InPassing);
        let edge = match manner {
            Manner::InPassing => Some(Uncertain::InPassing),
            _ if *is_passed => Some(Uncertain::Passed),
            Manner::OfSharedLock => Some(Uncertain::SharedLock),
            _ => None,
        };
        let is_known = stores[stores.len() - 1].is_known(&self.threads[thread].clock);
        // The only store of a word may be a value that is not recorded, which seems to be known to all threads.
        let is_missed = is_step && *is_passed && (!is_known || stores.len() == 1);
        *is_passed |= writes && !is_step;
        if operation.reads() {
            let message = std::mem::take(&mut stores[place].message);
            if acquires(order) {
                self.acquire(thread, &message, edge);
            } else if edge.is_some() {
                let adds = self.is_more(thread, &message, &self.threads[thread].clock);
                self.threads[thread].sure.is_pending |= adds;
            }
            self.words[word].stores[place].message = message;
        }
        if is_step && writes && releases(order) {
            self.confirm(thread);
        }
        self.lacks_choices |= is_missed;
        manner.counts()
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
        let (places, number, is_limited) = self.places(thread, failure, &self.words[word]);
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

    /// Returns `true` if the first clock contains an event that counts, of another thread than `thread`, and the second
    /// clock does not.
    fn is_more(&self, thread: usize, clock: &Clock, than: &Clock) -> bool {
        let is_more = |(other, known): (usize, &Known)| {
            other != thread && known.sure.counts_within(than.get(other), clock.get(other))
        };
        self.threads.iter().enumerate().any(is_more)
    }

    /// Checks if the sure clock of a thread now contains all events that count. If it does not, outcomes may be missed.
    pub(crate) fn confirm(&mut self, thread: usize) {
        let Known { sure, clock, .. } = &self.threads[thread];
        if sure.is_used {
            let is_missed = self.is_more(thread, clock, &sure.clock);
            self.lacks_choices |= is_missed;
            self.threads[thread].sure.is_used = false;
        }
    }

    /// Records that a thread is about to acquire a clock, in a search. `edge` is the kind of the edge if it is uncertain.
    pub(crate) fn acquire(&mut self, thread: usize, acquired: &Clock, edge: Option<Uncertain>) {
        if !self.rules.is_search {
            return;
        }
        let Known { clock, sure, .. } = &self.threads[thread];
        if sure.is_used {
            if edge.is_none() {
                self.threads[thread].sure.clock.join(acquired);
            }
        } else if edge.is_some() && self.is_more(thread, acquired, clock) {
            let Known { clock, sure, .. } = &mut self.threads[thread];
            sure.clock.set(clock);
            sure.is_used = true;
        }
    }

    /// Records that a thread is about to acquire its pending clock by a fence.
    pub(crate) fn acquire_pending(&mut self, thread: usize) {
        if self.rules.is_search {
            let pending = std::mem::take(&mut self.known(thread).pending);
            let edge = self.threads[thread].sure.is_pending.then_some(Uncertain::InPassing);
            self.acquire(thread, &pending, edge);
            self.threads[thread].pending = pending;
        }
    }

    /// Records that a thread reuses the stack of an ended thread. C++20 does not order the two.
    pub fn reused(&mut self, thread: usize, other: usize) {
        self.known(thread.max(other));
        let clock = &mut self.threads[other].clock;
        clock.tick(other);
        let ended = clock.clone();
        self.acquire(thread, &ended, Some(Uncertain::Stack));
        self.threads[thread].clock.join(&ended);
    }

    /// Records that a thread is about to acquire the clock of an ended thread.
    pub(crate) fn acquire_end(&mut self, thread: usize, other: usize) {
        self.known(thread.max(other));
        if !self.rules.is_search {
            return;
        }
        let Known { clock, sure, .. } = &self.threads[other];
        // The ended thread has an uncertain edge of its own.
        let (clock, edge) = (clock.clone(), sure.is_used.then_some(Uncertain::InPassing));
        let own = sure.clock.clone();
        self.acquire(thread, &clock, edge);
        if edge.is_some() && self.threads[thread].sure.is_used {
            let tick = clock.get(other);
            let sure = &mut self.threads[thread].sure.clock;
            sure.join(&own);
            sure.raise(other, tick);
        }
    }
}
