//! Loops that read until another thread changes something.
//!
//! A thread that has seen the same in some rounds is held until a value changes that it looks at. Nothing is lost by
//! that if the thread would go round for ever. A loop that counts its rounds ends by itself: so the registers of the
//! rounds must be the same. If they are not, the loop is held after [`ROUNDS`] rounds, and sooner in a library known to
//! count ([`SiteParts::backs_off`]), but first it makes rounds without points, in which it may end.
//! If no other thread can continue, a held thread runs for some rounds: first without a move of
//! time, since in real time they take microseconds; if these change nothing, after all timers.
//! (After Kokologiannakis, Ren, Vafeiadis: Dynamic Partial Order Reductions for Spinloops, FMCAD
//! 2021, who transform the source of the loop.)
//!
//! Holding a thread depends only on the values that it has seen, and not on the memory as it is,
//! because other threads may write to its stack.
//!
//! Not seen: a loop that counts in memory, if no other thread changes anything that its later
//! rounds look at.

use unpause_native::{Access, Operation};

use super::sites::Site;
use super::threads::with;
use crate::rt::{WORLD, World};

/// Maximum number of looks in a round.
const ROUND: usize = 8;
/// The number of rounds after which a counting loop is regarded as endless.
const ROUNDS: usize = 16;
/// The same for a loop with equal registers in its rounds.
const ROUNDS_ALIKE: usize = 3;
/// The same for a loop of a library that spins.
const ROUNDS_OF_LIBRARY: usize = 2;
/// A part of the program that a search does not see if it holds a loop that counts.
const COUNTED: &str = "later rounds of a loop that counts them";
/// The rounds without points, until a thread is held for the first time.
const FREE: u32 = 64;
/// The number of times that a held thread is let go. Each time it has twice as many rounds.
const TIMES: u32 = 8;
/// The number of these times that come before time moves. Their rounds are 1,920: more than a loop that backs off has.
const TIMES_BEFORE_TIME: u32 = 4;
/// The time that passes when a held thread is first let go after all timers, in nanoseconds.
const PAUSE: u64 = 1_000_000;

/// An access that left the memory as it was, or a yield.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// [`SiteParts::lines`] of its place: an unrolled loop has the same rounds as any other.
    lines: u64,
    /// 0 for a yield.
    address: usize,
    value: u64,
    /// A hash of the thread's registers before it and of the address in the program; 0 if the place is met for the
    /// first time.
    state: u64,
    /// The previous number of events of the run.
    seen: usize,
}

impl Look {
    fn is_same(&self, other: &Look) -> bool {
        (self.lines, self.address, self.value) == (other.lines, other.address, other.value)
    }
}

/// A round of a loop.
#[derive(Debug)]
pub(super) struct Round {
    /// The addresses of its looks, and the number of events of the run after which a change of them counts.
    pub(super) looked: (Vec<usize>, usize),
    /// True if the thread continues when no other can.
    pub(super) let_go: bool,
}

/// The next look of a thread, compared with its earlier looks.
#[derive(Debug)]
pub(super) enum Repeated {
    /// It is a point.
    No,
    /// It is the same again, if it sees this value: no point.
    Again {
        value: u64,
        /// True if it is recorded: once in each step for each address.
        noted: bool,
    },
    /// It is the same until one of these objects changes.
    Unchanged(Round),
}

/// The looks of a thread since it last changed something.
#[derive(Debug, Default)]
pub(super) struct Looks {
    looks: Vec<Look>,
    /// The number of looks without a point since the last one with a point.
    again: u32,
    /// The addresses of looks without a point in the current step of the thread.
    seen_in_step: Vec<usize>,
    /// The number of times that it was let go without a change.
    times: u32,
    /// The places of loops that had all their rounds before time moves, and did not end.
    waiting_for_time: Vec<u64>,
}

impl Looks {
    /// The access that a thread has requested, at 0 if it yields. Its value is not known before its turn.
    pub(super) fn next(&self, thread: usize, address: usize, site: &Site) -> Look {
        let lines = site.lines;
        let is_here = |look: &Look| look.lines == lines && look.address == address;
        let is_known = self.looks.iter().rev().take(ROUND).any(is_here);
        let registers = || with(|threads| threads.execution().registers(thread));
        let state = |registers: u64| (registers ^ site.caller) | 1;
        let state = if is_known { registers().map_or(0, state) } else { 0 };
        Look { lines, address, value: 0, state, seen: WORLD.with(World::events) }
    }

    /// Compares the next access with the rounds before.
    //
    // Depends only on the values that the thread has seen: if it depended on the memory as it is
    // now, the previous step would have read it.
    pub(super) fn repeated(&self, look: Look, site: &Site) -> Repeated {
        let Some((period, rounds)) = self.rounds(&look) else { return Repeated::No };
        let round = &self.looks[self.looks.len() - period..];
        let mut states =
            self.looks.iter().rev().skip(period - 1).step_by(period).take(ROUNDS_ALIKE - 1);
        // The registers of a library that spins show nothing: some builds count in them, and others in memory.
        let is_endless = !site.backs_off
            && rounds >= ROUNDS_ALIKE
            && look.state != 0
            && states.all(|past| past.state == look.state);
        let enough = if site.backs_off { ROUNDS_OF_LIBRARY } else { ROUNDS };
        if !is_endless && rounds < enough {
            return Repeated::No;
        }
        let free = if is_endless && self.times == 0 { 0 } else { FREE << self.times };
        if !is_endless && !site.backs_off {
            WORLD.with(|world| world.note_unseen(COUNTED));
        }
        if self.again < free {
            return Repeated::Again {
                value: round[0].value,
                noted: !self.seen_in_step.contains(&look.address),
            };
        }
        let mut addresses: Vec<usize> =
            round.iter().map(|look| look.address).filter(|address| *address != 0).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let since = round[0].seen;
        Repeated::Unchanged(Round { looked: (addresses, since), let_go: self.times < TIMES })
    }

    /// The number of looks of a round, and the number of rounds that `look` would be the first look after.
    fn rounds(&self, look: &Look) -> Option<(usize, usize)> {
        let looks = &self.looks;
        let is_here = |other: &Look| (other.lines, other.address) == (look.lines, look.address);
        let period = |period: &usize| is_here(&looks[looks.len() - period]);
        let rounds = |period: usize| {
            let pairs = looks.iter().rev().zip(looks.iter().rev().skip(period));
            1 + pairs.take_while(|(late, early)| late.is_same(early)).count() / period
        };
        (1..=ROUND.min(looks.len()))
            .filter(period)
            .map(|period| (period, rounds(period)))
            .max_by_key(|(period, rounds)| (*rounds, std::cmp::Reverse(*period)))
    }

    /// The thread did an access with a point.
    pub(super) fn saw(&mut self, look: Look, access: Access, old: u64, new: u64) {
        self.seen_in_step.clear();
        let changed = old != new || access.operation == Operation::Store;
        // It does not belong to a loop: the next time it succeeds.
        let failed_spuriously = access.operation == Operation::CompareExchange
            && (old, new) == (access.operand, access.operand)
            && access.replacement != access.operand;
        if changed || failed_spuriously {
            return self.forget();
        }
        let look = Look { value: old, ..look };
        let is_same =
            |(period, _): (usize, usize)| self.looks[self.looks.len() - period].is_same(&look);
        if !self.rounds(&look).is_some_and(is_same) {
            (self.again, self.times) = (0, 0);
        }
        self.keep(look);
    }

    /// The thread did a look without a point.
    pub(super) fn saw_again(&mut self, look: Look, value: u64) {
        self.again += 1;
        if !self.seen_in_step.contains(&look.address) {
            self.seen_in_step.push(look.address);
        }
        self.keep(Look { value, ..look });
    }

    /// Keeps a yield. Returns `true` if it is part of a round that is made without points.
    pub(super) fn yields_again(&mut self, thread: usize, site: &Site) -> bool {
        let look = self.next(thread, 0, site);
        let again = matches!(self.repeated(look, site), Repeated::Again { .. });
        self.again += u32::from(again);
        if !again {
            self.seen_in_step.clear();
        }
        self.keep(look);
        again
    }

    fn keep(&mut self, look: Look) {
        if self.looks.len() == 2 * ROUND * ROUNDS {
            self.looks.drain(..ROUND * ROUNDS);
        }
        self.looks.push(look);
    }

    /// Returns `true` if a thread that is held at `look` continues before time moves, and not after
    /// all timers.
    //
    // A loop that has waited for time once does so again: its rounds would be in vain after each timer.
    pub(super) fn goes_before_time(&mut self, look: Look) -> bool {
        if self.waiting_for_time.contains(&look.lines) {
            return false;
        }
        if self.times == TIMES_BEFORE_TIME {
            self.waiting_for_time.push(look.lines);
        }
        self.times < TIMES_BEFORE_TIME
    }

    /// Records that the thread was let go although nothing has changed. Returns the time that has
    /// passed until then, in nanoseconds.
    pub(super) fn was_let_go(&mut self, before_time: bool) -> u64 {
        self.times += 1;
        self.again = 0;
        if before_time { 0 } else { PAUSE << self.times }
    }

    /// The same without content, for a thread of a later run.
    pub(super) fn emptied(mut self) -> Looks {
        self.forget();
        self.waiting_for_time.clear();
        self
    }

    /// The thread changed something.
    pub(super) fn forget(&mut self) {
        self.looks.clear();
        self.seen_in_step.clear();
        (self.again, self.times) = (0, 0);
    }
}
