//! Rounds of a loop that waits: evaluations of a condition that does nothing but load.
//!
//! A false round only adds happens-before, and the loop repeats it as long as its loads read the same stores. So a
//! search need not try a round that reads the same stores as the round before it. A load that begins like the previous
//! round may read the same store again only if a later load of that round has a newer store. This loses no outcome: a
//! round with another store at a later load can begin after that store was executed.
//!
//! The choices of such a load depend on the words of the later loads. The caller must count this as a read of these
//! words ([`Round::take_looks`]).

use crate::machine::Orders;
use crate::operation::Operation;

/// The identity of a store among the stores of its word: its thread, and the tick of the thread.
pub(crate) type StoreName = (u16, u32);

/// The maximum number of loads in a round.
const ROUND: usize = 16;

/// A load of a thread, at this tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Loaded {
    tick: u32,
    address: usize,
    store: StoreName,
}

/// The loads of a thread, in a run that [records](crate::Rules::recording_loads) them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Loads {
    /// The last loads.
    last: Vec<Loaded>,
    /// The round that the next loads follow.
    round: Option<Round>,
}

/// The loads of a round in which a condition was false.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Round {
    loads: Vec<Loaded>,
    /// The number of events of the thread after the round.
    events: u32,
    /// The number of loads of the next round so far, all of which have read the same stores. `None` after a difference.
    same: Option<usize>,
    /// The last load that had a choice restricted by this round.
    restricted: Option<usize>,
}

impl Round {
    /// Returns the number of the load of this round that the next load repeats if it reads the same store. `tick` is
    /// the number of events of the thread.
    fn position(&self, address: usize, tick: u32) -> Option<usize> {
        let at = self.same?;
        let is_here = self.loads.get(at)?.address == address && self.events + at as u32 == tick;
        is_here.then_some(at)
    }

    /// Returns the addresses of the words on which the choices of the last loads depended, and forgets them.
    pub fn take_looks(&mut self) -> impl Iterator<Item = usize> {
        let from = self.restricted.take().map_or(self.loads.len(), |at| at + 1);
        self.loads[from..].iter().map(|load| load.address)
    }
}

impl Loads {
    pub(crate) fn clear(&mut self) {
        self.last.clear();
        self.round = None;
    }

    /// Adds a load. `tick` is the number of its event.
    pub(crate) fn add(&mut self, tick: u32, address: usize, store: StoreName) {
        if self.last.len() == 2 * ROUND {
            self.last.drain(..ROUND);
        }
        self.last.push(Loaded { tick, address, store });
        let Some(round) = &mut self.round else { return };
        let at = round.position(address, tick - 1);
        round.restricted = at.or(round.restricted);
        round.same = at.filter(|at| round.loads[*at].store == store).map(|at| at + 1);
    }
}

impl Orders {
    /// Returns the loads of a thread since it had `begin` events. `None` if it has done more than these loads, or if
    /// the round is too long.
    pub fn round_since(&mut self, thread: usize, begin: u32) -> Option<Round> {
        let known = self.known(thread);
        let events = known.clock.get(thread);
        let loads = (events - begin) as usize;
        let all = &known.loads.last;
        let from = all.len().checked_sub(loads).filter(|_| (1..=ROUND).contains(&loads))?;
        let is_all = all[from].tick == begin + 1 && all.last()?.tick == events;
        let loads = all[from..].to_vec();
        is_all.then_some(Round { loads, events, same: Some(0), restricted: None })
    }

    /// Makes the next loads of a thread belong to a round after this one.
    pub fn begin_round(&mut self, thread: usize, round: Round) {
        self.known(thread).loads.round = Some(round);
    }

    /// Returns the round of the last call of [`begin_round`](Self::begin_round), with the progress of the next round.
    pub fn end_round(&mut self, thread: usize) -> Option<Round> {
        self.known(thread).loads.round.take()
    }

    /// Returns the store that an operation of a thread must not read, unless it is the newest store.
    pub(crate) fn excluded(&self, thread: usize, operation: &impl Operation) -> Option<StoreName> {
        let known = &self.threads[thread];
        let round = known.loads.round.as_ref()?;
        let at = round.position(operation.address(), known.clock.get(thread))?;
        let has_newer = |load: &Loaded| {
            let word = self.by_address.get(&load.address).map(|at| &self.words[*at as usize]);
            word.is_some_and(|word| word.stores[word.newest()].name() != load.store)
        };
        let may_repeat = round.loads[at + 1..].iter().any(has_newer);
        (!may_repeat).then_some(round.loads[at].store)
    }
}
