//! Spin loops: loops that read until another thread changes something.
//!
//! A thread that has seen the same values in some rounds is held until a value changes that the rounds read. This loses
//! nothing if the thread would loop for ever. But a loop that counts its rounds terminates by itself. So the registers
//! of the rounds must be the same. Two consecutive rounds must also have the same stack, and the same values beside the
//! locks that they release. Otherwise the loop is held after [`ROUNDS`] rounds, and sooner in a library known to count
//! ([`super::library_calls`]). Before that, the loop gets rounds without points, in which it may terminate.
//!
//! If no other thread can continue, a held thread runs for some rounds. In the first attempts, the time does not
//! advance, because in real time these rounds take microseconds. If they change nothing, the thread runs again after
//! all timers. If its rounds still change nothing, a copy of the process decides if the loop [ends by
//! itself](super::endless). If it does not, the thread has a deadlock. (After Kokologiannakis, Ren, Vafeiadis: Dynamic
//! Partial Order Reductions for Spinloops, FMCAD 2021, who transform the source of the loop.)
//!
//! The decision to hold a thread depends only on the values that it has seen, and not on the current memory, because
//! other threads may write to its stack.
//!
//! A loop may also change memory and change it back in each round: for example, `FuturesUnordered` registers its waker
//! in each poll, and wakes itself while its queue is being changed. Such a round has the same effects in each
//! repetition. So another order of a later round is also an order of an earlier round, which had points. The loop is
//! held only where its changes are undone, if the thread yields in each round, and if its stack is the same, too. A
//! loop of this kind that does not yield may be one that takes items from a list. Only a search can tell: see
//! [`super::endless`].
//!
//! Limitation: this file does not recognize a loop that counts on the heap elsewhere than beside a lock, if no other
//! thread changes the values that its later rounds read. A search does so: see [`super::endless`]. Rounds with changes
//! may not count on the stack.

mod last_read;
mod lock_calls;

use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};

use unpause_native::{Access, Operation};

use super::endless;
use super::library_calls::FirstAccesses;
use super::looks::{Look, Release, Repeated, Round};
use super::orders;
use super::shortened;
use super::sites::Site;
use super::threads::with;

/// The maximum number of reads in a round.
const ROUND: usize = 16;
/// The number of rounds after which a counting loop is regarded as endless.
const ROUNDS: usize = 16;
/// The number of rounds after which a loop with equal registers in its rounds is regarded as endless.
const ROUNDS_ALIKE: usize = 3;
/// The number of rounds after which a loop of a spinning library is regarded as endless.
const ROUNDS_OF_LIBRARY: usize = 2;
/// The number of rounds without points before a thread is held for the first time.
const FREE: u32 = 64;
/// The number of times that a held thread is released. Each time it has twice as many rounds.
const TIMES: u32 = 8;
/// The number of times that a held thread is released if its loop ends by itself.
const TIMES_MOST: u32 = 16;
/// The number of these releases that precede any advance of time. They have 1,920 rounds: more than the longest backoff
/// loop.
const TIMES_BEFORE_TIME: u32 = 4;
/// The time, in nanoseconds, that passes when a held thread is first released after all timers.
const PAUSE: u64 = 1_000_000;
/// The number of rounds of a released thread in a run that shortens loops.
const SHORT: u32 = 4;

/// True if each yield of future runs is a step.
static COUNTS_YIELDS: AtomicBool = AtomicBool::new(false);

/// Makes each yield of future runs a step if `wanted`. Otherwise the yields of a loop without effects are no steps from
/// some round on.
pub(crate) fn count_yields(wanted: bool) {
    COUNTS_YIELDS.store(wanted, Ordering::Relaxed);
}

/// Returns `true` if the memory of a thread differs in each of these rounds from the previous round. The thread may
/// then count its rounds there. If two consecutive rounds are equal, the next round is equal, too, unless another
/// thread changes something. So a difference before or after them is a change by another thread.
fn counts(memory: impl Iterator<Item = u64> + Clone) -> bool {
    memory.clone().zip(memory.skip(1)).all(|(one, next)| one != next)
}

/// The number of words whose memory is compared.
const GUARDS: usize = 8;

/// The last accesses of a thread.
#[derive(Debug, Default)]
pub(super) struct Looks {
    looks: Vec<Look>,
    /// [`rounds`](Self::rounds) of the next access.
    found: Option<(usize, usize)>,
    /// A [bit](Look::bit) for each place and address of `looks`.
    places: u64,
    /// True if the last access equals one of the [`ROUND`] accesses before it.
    repeats: bool,
    /// The number of further accesses until none of the last [`ROUND`] is a yield.
    yielded: usize,
    /// The number of reads without a point since the last read with a point.
    again: u32,
    /// The addresses of reads without a point in the current step of the thread.
    seen_in_step: Vec<usize>,
    /// The number of times that the thread was released without a change.
    times: u32,
    /// Hashes of the memory around words that the thread has changed in a loop, for example locks. A thread that takes
    /// items from a list under a lock counts its rounds there.
    guards: [u64; GUARDS],
    /// The last calls of locks that are single operations, in a run of a search.
    calls: Vec<Look>,
    /// The first accesses of the calls of libraries.
    first: FirstAccesses,
    /// True if the run belongs to a search, which [recognizes](super::endless) each loop that counts.
    is_search: bool,
    /// The last read of the thread in a search, if the thread has done nothing else since, except yields.
    last: Option<Look>,
    /// The start of a round in a search, with the [state](unpause_native::Execution::hash_of_state) of the thread.
    began: Option<(Look, u64)>,
    /// The places of loops that used all their rounds before time advances, and did not terminate.
    waiting_for_time: Vec<u64>,
}

impl Looks {
    /// Returns the access that a thread has requested. Its value is not known before its turn.
    //
    // Hashes are costly, and only rounds with equal values are compared. A load gets its hashes when its value is
    // known, because it changes nothing. The value that a change leaves is often known before.
    pub(super) fn next(&mut self, thread: usize, access: &Access, site: &Site) -> Look {
        let is_in_call = !self.first.begins_call(site) && site.library.is_some();
        let look = Look { is_in_call, ..Look::at(access.address, site) };
        let may_equal = |other: &Look| match access.operation {
            Operation::Load => false,
            Operation::Store => other.left == Some(access.operand),
            Operation::CompareExchange => other.left.is_none_or(|left| left == access.replacement),
            _ => true,
        };
        let repeats_last =
            || self.last.is_some_and(|last| last.is_here(&look)) && orders::are_searched();
        match !look.is_in_call && self.is_compared(&look, may_equal) || repeats_last() {
            true => self.hashed(thread, look, site),
            false => look,
        }
    }

    /// Returns the yield that a thread has requested.
    fn next_yield(&self, thread: usize, site: &Site) -> Look {
        let look = Look::at(0, site);
        let is_compared = !look.is_in_call && self.is_compared(&look, |_| true);
        if is_compared { self.hashed(thread, look, site) } else { look }
    }

    /// Returns the last accesses at the place and address of `look`, latest first.
    fn here(&self, look: &Look) -> impl Iterator<Item = &Look> {
        let number = if self.places & look.bit() == 0 { 0 } else { ROUND };
        self.looks.iter().rev().take(number).filter(|other| other.is_here(look))
    }

    /// Returns `true` if `look` may begin a round that is compared with an earlier round. It then equals one of the
    /// last accesses here, for which `may_equal` is true. Rounds with changes are compared only if they may be undone.
    fn is_compared(&self, look: &Look, may_equal: impl Fn(&Look) -> bool) -> bool {
        if self.is_search || self.yielded > 0 {
            return self.here(look).any(may_equal);
        }
        let unchanged = self.looks.iter().rev().take(ROUND).take_while(|look| look.left.is_none());
        self.places & look.bit() != 0
            && unchanged.filter(|other| other.is_here(look)).any(may_equal)
    }

    /// Returns an access of `looks` with its hashes, before the access has changed memory.
    fn hashed(&self, thread: usize, mut look: Look, site: &Site) -> Look {
        self.hash(thread, &mut look, site);
        if look.state != 0 && self.may_undo(&look) {
            look.state ^= with(|threads| threads.execution().hash_of_stack(thread)) << 1;
        }
        look
    }

    /// Adds the hashes of the thread to its next access.
    fn hash(&self, thread: usize, look: &mut Look, site: &Site) {
        let (registers, memory) = with(|threads| {
            let execution = threads.execution();
            (execution.registers(thread), execution.hash_of_counters(thread))
        });
        look.state = registers.map_or(0, |registers| (registers ^ site.caller) | 1);
        look.memory = self.guards.iter().fold(memory, |all, guard| all.rotate_left(7) ^ guard);
    }

    /// Returns `true` if the thread may be in a loop that undoes its changes, and `look` begins another round.
    fn may_undo(&self, look: &Look) -> bool {
        let mut here = self.looks.iter().rev().filter(|other| other.is_here(look));
        let mut is_alike =
            || here.next().zip(here.next()).is_some_and(|(one, two)| one.is_same(two));
        self.looks.iter().rev().take(ROUND).any(|look| look.left.is_some())
            && (self.yielded > 0 || self.is_search && is_alike())
    }

    /// Compares the next access with the previous rounds.
    //
    // This depends only on the values that the thread has seen. Otherwise the previous step would count as a read of
    // the current memory.
    pub(super) fn repeated(&mut self, thread: usize, look: &mut Look, site: &Site) -> Repeated {
        self.found = self.rounds(look);
        let Some((period, rounds)) = self.found else { return Repeated::No };
        if rounds >= ROUNDS_ALIKE && look.state == 0 && !look.is_in_call {
            *look = self.hashed(thread, *look, site);
        }
        if self.is_search && rounds == ROUNDS_ALIKE - 1 && look.state != 0 {
            self.note_state(thread, *look);
        }
        let round = &self.looks[self.looks.len() - period..];
        let earlier =
            || self.looks.iter().rev().skip(period - 1).step_by(period).take(ROUNDS_ALIKE - 1);
        // The registers of a spinning library prove nothing: some builds count in registers, others in memory.
        let is_of_library = round.iter().all(|look| look.is_in_call);
        let is_endless = !is_of_library
            && rounds >= ROUNDS_ALIKE
            && look.state != 0
            && earlier().all(|past| past.state == look.state)
            && !counts(iter::once(look.memory).chain(earlier().map(|past| past.memory)));
        if round.iter().any(|look| look.left.is_some()) {
            return match is_endless && !look.is_yield() && self.has_undone(round) {
                true => self.repeated_with_changes(round),
                false => Repeated::No,
            };
        }
        let enough = if is_of_library { ROUNDS_OF_LIBRARY } else { ROUNDS };
        if !is_endless && rounds < enough {
            return Repeated::No;
        }
        let free = if is_endless && self.times == 0 { 0 } else { FREE << self.times };
        let is_shortened = is_endless && free > SHORT && shortened::shortens();
        let free = if is_shortened { SHORT } else { free };
        if !is_endless && !is_of_library {
            endless::note_counted(*site);
        }
        if self.again < free {
            return Repeated::Again {
                value: round[0].value,
                noted: !self.seen_in_step.contains(&look.address),
            };
        }
        if is_shortened {
            shortened::leave_out();
        }
        self.unchanged(round, is_endless)
    }

    /// Returns the answer for a loop that is held until an address of its last round changes.
    fn unchanged(&self, round: &[Look], is_endless: bool) -> Repeated {
        let mut addresses: Vec<usize> =
            round.iter().map(|look| look.address).filter(|address| *address != 0).collect();
        addresses.sort_unstable();
        addresses.dedup();
        Repeated::Unchanged(Round {
            looked: (addresses, round[0].seen),
            accesses: round.len(),
            is_new: is_endless && self.times == 0,
            release: self.release(),
        })
    }

    /// Returns the condition under which the thread continues if it is held now.
    fn release(&self) -> Release {
        match self.times {
            ..TIMES => Release::Always,
            // The result of a run that shortens loops is confirmed.
            TIMES..TIMES_MOST if !shortened::shortens() => Release::IfItEnds,
            TIMES..TIMES_MOST => {
                shortened::leave_out();
                Release::Never
            }
            _ => Release::Never,
        }
    }

    /// Like [`repeated`](Self::repeated), for a loop with changes. A released thread has some more rounds with points.
    fn repeated_with_changes(&self, round: &[Look]) -> Repeated {
        let free = if self.times == 0 { 0 } else { SHORT << self.times };
        match self.again < free * round.len() as u32 {
            true => Repeated::No,
            false => self.unchanged(round, true),
        }
    }

    /// Returns the last accesses of the thread that are no lock calls.
    pub(super) fn last(&self, number: usize) -> &[Look] {
        &self.looks[self.looks.len() - number..]
    }

    /// Returns `true` if the thread has now undone the changes of its last round. The values must be the values before
    /// the first change, and at the last yield, if the round yields: a thread that yields has no lock that it releases
    /// in the same round. Outside of a search, the round must yield.
    fn has_undone(&self, round: &[Look]) -> bool {
        let yields = round.iter().any(Look::is_yield);
        let yielded = self.looks.iter().rposition(Look::is_yield).filter(|_| yields);
        let is_undone = |address: usize| {
            let mut changes = self.looks.iter().filter(|look| look.address == address);
            let before = changes.find_map(|look| look.left.and(Some(look.value)));
            let last = |looks: &[Look]| {
                looks.iter().rev().filter(|look| look.address == address).find_map(|look| look.left)
            };
            before == last(&self.looks)
                && yielded.is_none_or(|yielded| before == last(&self.looks[..yielded]))
        };
        let mut changed = round.iter().filter(|look| look.left.is_some());
        (yields || self.is_search) && changed.all(|look| is_undone(look.address))
    }

    /// Returns the number of reads in a round, and the number of complete rounds before `look`, if `look` begins
    /// another round. Counts up to [`ROUNDS`] rounds.
    fn rounds(&self, look: &Look) -> Option<(usize, usize)> {
        if self.places & look.bit() == 0 {
            return None;
        }
        let looks = &self.looks;
        let mut best: Option<(usize, usize)> = None;
        for period in 1..=ROUND.min(looks.len()) {
            if !looks[looks.len() - period].is_here(look) {
                continue;
            }
            // If the last access repeats none, it is part of no complete round.
            let most = if self.repeats { (ROUNDS - 1) * period } else { 0 };
            let mut same = 0;
            while same < most.min(looks.len() - period) {
                let late = looks.len() - 1 - same;
                if !looks[late].is_same(&looks[late - period]) {
                    break;
                }
                same += 1;
            }
            let rounds = 1 + same / period;
            if best.is_none_or(|(_, known)| rounds > known) {
                best = Some((period, rounds));
            }
            // No longer round has more repetitions.
            if rounds == ROUNDS || !self.repeats {
                break;
            }
        }
        best
    }

    /// Records the memory around a word that the thread has just changed, for example a lock that it has released.
    pub(super) fn guarded(&mut self, thread: usize, address: usize) {
        if !self.looks.is_empty() || !self.calls.is_empty() {
            let guard = with(|threads| threads.execution().hash_around_word(thread));
            self.guards[(address >> 3) % GUARDS] = guard;
        }
    }

    /// Records that the thread performed an access with a point. The access has returned the value `old`, and has left
    /// the value `new`.
    pub(super) fn saw(
        &mut self,
        thread: usize,
        (look, site): (Look, &Site),
        access: Access,
        (old, new): (u64, u64),
    ) {
        self.seen_in_step.clear();
        let changed = old != new || access.operation == Operation::Store;
        // A spurious failure does not belong to a loop: the operation succeeds the next time.
        let failed_spuriously = access.operation == Operation::CompareExchange
            && (old, new) == (access.operand, access.operand)
            && access.replacement != access.operand;
        if failed_spuriously {
            return self.forget();
        }
        let look = Look { value: old, left: changed.then_some(new), ..look };
        let look = self.completed(thread, look, site);
        // Without a yield, only a search holds a loop with changes.
        if changed && (self.is_search || self.yielded > 0) {
            self.guarded(thread, access.address);
        }
        if changed {
            self.calls.clear();
        }
        let round = |period: usize| &self.looks[self.looks.len() - period..];
        let repeats = |period: usize, rounds: usize| {
            let yields = || self.is_search || round(period).iter().any(Look::is_yield);
            let waits = || rounds >= ROUNDS_ALIKE && yields();
            round(period)[0].is_same(&look) && (!changed || waits())
        };
        match self.found.take() {
            Some((period, rounds)) if repeats(period, rounds) => {
                // In a loop without changes, only rounds without points count.
                let has_changes = round(period).iter().any(|look| look.left.is_some());
                self.again += u32::from(has_changes);
            }
            _ => (self.again, self.times) = (0, 0),
        }
        self.keep(look);
    }

    /// Records that the thread performed a read without a point.
    pub(super) fn saw_again(&mut self, thread: usize, (look, site): (Look, &Site), value: u64) {
        let look = self.completed(thread, Look { value, ..look }, site);
        self.again += 1;
        shortened::count_round();
        if !self.seen_in_step.contains(&look.address) {
            self.seen_in_step.push(look.address);
        }
        self.keep(look);
    }

    /// Returns a completed access, with its hashes if it may belong to a round that is compared.
    fn completed(&mut self, thread: usize, look: Look, site: &Site) -> Look {
        let repeats = self.here(&look).any(|other| other.is_same(&look));
        self.repeats = repeats;
        let is_load = look.state == 0 && look.left.is_none() && !look.is_in_call;
        match self.repeats && is_load && self.is_compared(&look, |other| other.is_same(&look)) {
            true => self.hashed(thread, look, site),
            false => look,
        }
    }

    /// Records a yield. Returns `true` if it is part of a round without points.
    pub(super) fn yields_again(&mut self, thread: usize, site: &Site) -> bool {
        if COUNTS_YIELDS.load(Ordering::Relaxed) {
            return false;
        }
        let mut look = self.next_yield(thread, site);
        let again = matches!(self.repeated(thread, &mut look, site), Repeated::Again { .. });
        self.again += u32::from(again);
        match again {
            true => shortened::count_round(),
            false => self.seen_in_step.clear(),
        }
        let repeats = self.here(&look).next().is_some();
        self.repeats = repeats;
        self.keep(look);
        again
    }

    fn keep(&mut self, look: Look) {
        if self.looks.len() == 2 * ROUND * ROUNDS {
            self.looks.drain(..ROUND * ROUNDS);
        }
        self.places |= look.bit();
        self.yielded = if look.is_yield() { ROUND } else { self.yielded.saturating_sub(1) };
        self.looks.push(look);
    }

    /// Returns `true` if a thread held at `look` continues before time advances. Otherwise it continues after all
    /// timers.
    //
    // A loop that has once waited for time does so again, because its rounds after each timer would be in vain.
    pub(super) fn goes_before_time(&mut self, look: Look) -> bool {
        if self.waiting_for_time.contains(&look.lines) {
            return false;
        }
        if self.times == TIMES_BEFORE_TIME {
            self.waiting_for_time.push(look.lines);
        }
        self.times < TIMES_BEFORE_TIME
    }

    /// Records that the thread was released although nothing has changed. Returns the time that has passed until then,
    /// in nanoseconds.
    pub(super) fn was_let_go(&mut self, before_time: bool) -> u64 {
        self.times += 1;
        self.again = 0;
        if before_time { 0 } else { PAUSE << self.times }
    }

    /// Returns the time, in nanoseconds, that passes at most while the thread is released without a change.
    pub(super) fn most_pauses(&self) -> u64 {
        (self.times + 1..=TIMES_MOST).map(|times| PAUSE << times).sum()
    }

    /// Returns this value for a thread of a run, which belongs to a search if `is_search`.
    pub(super) fn of_run(self, is_search: bool) -> Looks {
        Looks { is_search, ..self }
    }

    /// Returns this value without content, for a thread of a later run.
    pub(super) fn emptied(mut self) -> Looks {
        self.forget();
        self.waiting_for_time.clear();
        self.first.clear();
        self.began = None;
        self
    }

    /// Forgets all reads, because the thread changed something.
    pub(super) fn forget(&mut self) {
        self.looks.clear();
        (self.found, self.places, self.repeats, self.yielded) = (None, 0, false, 0);
        self.seen_in_step.clear();
        self.guards = [0; GUARDS];
        self.calls.clear();
        self.last = None;
        (self.again, self.times) = (0, 0);
    }
}
