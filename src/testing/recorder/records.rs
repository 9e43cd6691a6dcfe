//! The calls recorded so far: their stamps, the lanes of clients, and the order of the calls by time.

use crate::testing::generate::Guess;
use unpause_check::Model;
use unpause_check::history::Operation;
use unpause_check::verdict::Verdict;
use unpause_ordered::{Map, Set, sort, sort_by_key};

pub(super) struct Records<M: Model> {
    pub(super) calls: Vec<RecorderCall<M>>,
    pub(super) lanes: Vec<Lane>,
    /// The lanes of each task.
    pub(super) of_tasks: Map<u64, LanesOf>,
    /// A counter that distinguishes stamps between the same two operations.
    pub(super) stamps: u64,
    /// The calls whose futures are being polled, with the clock before the poll. Used only if a checker is fed.
    pub(super) polled: Vec<(usize, u64)>,
    pub(super) verdict: Option<Verdict>,
    /// `true` if the last check ordered the calls by happens-before.
    pub(super) by_knowledge: bool,
}

/// A recorded call.
pub(super) struct RecorderCall<M: Model> {
    pub(super) lane: u32,
    pub(super) op: M::Op,
    /// The clock when the call was made.
    pub(super) made: u64,
    pub(super) invoked: Option<Stamp>,
    pub(super) returned: Option<(M::Ret, Stamp)>,
    /// `true` if the call failed, so that it is not part of the history.
    pub(super) failed: bool,
    /// `true` if the call ended without an outcome: it may have taken effect, or may take effect later.
    pub(super) lost: bool,
    /// `true` if the call was made with [`History::invoke`](super::History::invoke), so that its accesses are unknown.
    pub(super) explicit: bool,
    pub(super) looks: Looks,
}

/// The moments of a call at which the clock of its task was recorded ([`seam::look`](crate::seam::look)).
#[derive(Clone, Copy, Default)]
pub(super) struct Looks {
    /// When the call was made.
    pub(super) begin: Option<usize>,
    /// When the call returned.
    pub(super) end: Option<usize>,
}

/// A client, or a single one of several calls that a client has open concurrently.
pub(super) struct Lane {
    pub(super) task: u64,
    pub(super) name: String,
}

/// The lanes of a task.
#[derive(Default)]
pub(super) struct LanesOf {
    pub(super) count: u32,
    /// The lanes without an open call. The lowest lane is used first.
    pub(super) free: Set<u32>,
}

/// A moment. Stamps of invocations precede the operation with their number; stamps of returns follow it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp {
    /// Twice the number of the operation; one more for a moment after the operation.
    pub(super) time: u64,
    pub(super) order: u64,
}

impl Stamp {
    /// A stamp before all others.
    pub(super) const FIRST: Stamp = Stamp { time: 0, order: 0 };
    /// A stamp after all others.
    pub(super) const LAST: Stamp = Stamp { time: u64::MAX, order: u64::MAX };

    /// Returns a stamp before the operation with the number `clock`, and before all calls that begin with this
    /// operation.
    pub(super) fn before(clock: u64) -> Stamp {
        Stamp { time: 2 * clock, order: 0 }
    }
}

impl<M: Model> Default for Records<M> {
    fn default() -> Records<M> {
        let (calls, lanes) = (Vec::new(), Vec::new());
        let (of_tasks, polled) = (Map::new(), Vec::new());
        let by_knowledge = false;
        Records { calls, lanes, of_tasks, stamps: 0, polled, verdict: None, by_knowledge }
    }
}

impl<M: Model> Records<M> {
    fn stamp(&mut self, time: u64) -> Stamp {
        self.stamps += 1;
        Stamp { time, order: self.stamps }
    }

    /// Records that the operation with the number `clock` was the first visible access of the call. Returns `true` if
    /// the first access was unknown before.
    pub(super) fn invoked(&mut self, call: usize, clock: u64) -> bool {
        let new = self.calls[call].invoked.is_none();
        if new {
            self.calls[call].invoked = Some(self.stamp(2 * clock));
        }
        new
    }

    /// Records that the call began to wait for other tasks at `clock`. Returns `true` if the call had not begun before.
    pub(super) fn waits(&mut self, call: usize, clock: u64) -> bool {
        let new = self.calls[call].invoked.is_none();
        if new {
            self.calls[call].invoked = Some(self.stamp((2 * clock).saturating_sub(1)));
        }
        new
    }

    /// Records that the call ended after the most recent operation. Returns `true` if the call had not begun before.
    pub(super) fn ended(&mut self, call: usize, clock: u64, ret: Option<M::Ret>) -> bool {
        let after_last = (2 * clock).saturating_sub(1);
        let new = self.calls[call].invoked.is_none();
        if new {
            // The call made no access, so it took no time.
            self.calls[call].invoked = Some(self.stamp(after_last));
        }
        match ret {
            Some(ret) => {
                let stamp = self.stamp(after_last);
                self.calls[call].returned = Some((ret, stamp));
                self.close(call);
            }
            None => self.calls[call].lost = true,
        }
        new
    }

    /// Closes the call and frees its lane.
    pub(super) fn close(&mut self, call: usize) {
        let lane = self.calls[call].lane;
        let task = self.lanes[lane as usize].task;
        self.of_tasks.entry(task).or_default().free.insert(lane);
    }

    /// Guesses a version: see [`History::guess`](super::History::guess).
    pub(super) fn guess<T: PartialEq>(
        &self,
        guess: Guess,
        client: u64,
        version: impl Fn(&M::Op, Option<&M::Ret>) -> Option<T>,
    ) -> Option<T> {
        let calls = || self.calls.iter().filter(|call| !call.failed);
        let ended = calls().filter_map(|call| Some((call, call.returned.as_ref()?)));
        let mut ended: Vec<_> = ended.collect();
        // Latest first.
        sort_by_key(&mut ended, |(_, (_, stamp))| std::cmp::Reverse(*stamp));
        let of =
            |(call, (ret, _)): &(&RecorderCall<M>, &(M::Ret, Stamp))| version(&call.op, Some(ret));
        let newest = || ended.iter().find_map(of);
        let found = match guess {
            Guess::Own => {
                let is_own = |call: &RecorderCall<M>| self.lanes[call.lane as usize].task == client;
                ended.iter().filter(|(call, _)| is_own(call)).find_map(of)
            }
            Guess::Newest => None,
            Guess::Before => {
                let newest = newest();
                ended.iter().filter_map(of).find(|version| Some(version) != newest.as_ref())
            }
            Guess::Open => {
                let mut open = calls().rev().filter(|call| call.returned.is_none());
                open.find_map(|call| version(&call.op, None))
            }
        };
        found.or_else(newest)
    }

    /// Returns the calls that did not fail, sorted by invocation. The times of these calls are numbered from 0.
    pub(super) fn ranked<O, R>(
        &self,
        op: impl Fn(&RecorderCall<M>) -> O,
        ret: impl Fn(&M::Ret) -> R,
    ) -> Vec<Operation<O, R>> {
        self.ranked_among(|call| !call.failed, op, ret)
    }

    /// Like `ranked`, but for the calls that `wanted` selects.
    pub(super) fn ranked_among<O, R>(
        &self,
        wanted: impl Fn(&RecorderCall<M>) -> bool,
        op: impl Fn(&RecorderCall<M>) -> O,
        ret: impl Fn(&M::Ret) -> R,
    ) -> Vec<Operation<O, R>> {
        // An open call without an access begins after all other calls.
        let begin = |call: &RecorderCall<M>| {
            call.invoked.unwrap_or(Stamp { time: u64::MAX, order: call.made })
        };
        let mut order: Vec<(Stamp, usize)> = Vec::with_capacity(self.calls.len());
        let mut stamps: Vec<Stamp> = Vec::with_capacity(2 * self.calls.len());
        for (index, call) in self.calls.iter().enumerate().filter(|(_, call)| wanted(call)) {
            order.push((begin(call), index));
            stamps.push(begin(call));
            stamps.extend(call.returned.as_ref().map(|(_, stamp)| *stamp));
        }
        let mut ranks = Ranks::of(stamps);
        let operation = |(begin, index): (Stamp, usize)| {
            let call = &self.calls[index];
            let returned = call.returned.as_ref();
            Operation {
                client: call.lane,
                op: op(call),
                invoked: ranks.invoked(begin),
                returned: returned.map(|(value, stamp)| (ret(value), ranks.number(*stamp))),
            }
        };
        in_order(order).into_iter().map(operation).collect()
    }
}

// Not generic over models, so that the code of the sort is compiled only once.

/// Sorts calls by their start.
fn in_order(mut calls: Vec<(Stamp, usize)>) -> Vec<(Stamp, usize)> {
    sort(&mut calls);
    calls
}

/// The moments of a history, numbered from 0.
struct Ranks {
    stamps: Vec<Stamp>,
    next_open: u64,
}

impl Ranks {
    fn of(mut stamps: Vec<Stamp>) -> Ranks {
        stamps.sort_unstable();
        Ranks { next_open: stamps.len() as u64, stamps }
    }

    /// Returns the time at which a call began. Open calls at the same moment must have different times, too.
    fn invoked(&mut self, begin: Stamp) -> u64 {
        if begin.time == u64::MAX {
            self.next_open += 1;
            return self.next_open;
        }
        self.number(begin)
    }

    fn number(&self, stamp: Stamp) -> u64 {
        self.stamps.partition_point(|other| *other < stamp) as u64
    }
}
