//! The simulating side of the seam: primitives use the current run of this thread, if any, and the
//! real object otherwise.

mod bell;
mod branches;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod call;
mod cancel;
mod carrier;
mod clock;
mod crew;
mod fence;
mod foreign;
mod foreign_lock;
mod gate;
mod group;
mod guarded;
mod handle;
mod invariant;
mod once;
mod parking;
mod plain;
mod point;
mod share;
mod slot;
mod spin;
mod time;
mod word;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod wrapped;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use self::bell::{Bell, Listen};
pub(crate) use self::branches::{Before, Turns};
#[cfg_attr(not(feature = "tokio"), allow(unused_imports))]
pub(crate) use self::call::{Call, Turn};
pub(crate) use self::cancel::Cancel;
pub(crate) use self::carrier::{Latch, send, suffers, suffers_rarely};
pub(crate) use self::clock::NodeClock;
pub(crate) use self::crew::Crew;
pub(crate) use self::fence::{fence, pass};
#[cfg_attr(not(unpause_native), allow(unused_imports))]
pub(crate) use self::foreign::{ForeignOp, ForeignWord};
#[cfg_attr(not(unpause_native), allow(unused_imports))]
pub(crate) use self::foreign_lock::ForeignLock;
pub(crate) use self::gate::{Enter, Gate, Pass};
pub(crate) use self::group::{Group, kept};
pub(crate) use self::guarded::GuardedCall;
pub(crate) use self::handle::{
    End, Handle, Stopper, current_id, spawn, spawn_blocking, spawn_local,
};
pub(crate) use self::invariant::HeldInvariant;
pub(crate) use self::once::OnceValue;
pub(crate) use self::parking::{Unparker, at_end, park};
pub(crate) use self::plain::PlainCall;
pub(crate) use self::point::YieldPoint;
pub(crate) use self::share::Share;
pub(crate) use self::slot::Slot;
pub(crate) use self::spin::Spin;
pub(crate) use self::time::{
    Advance, Timer, deadline, now, of_one_clock, since_start, timer_span, true_deadline, true_now,
    wall,
};
pub(crate) use self::word::Word;
#[cfg_attr(not(feature = "tokio"), allow(unused_imports))]
pub(crate) use self::wrapped::{CallOps, Came, Deed, Owner, Passed, Wrapped, record_all};

pub(crate) use super::beat::{beat, hang_limit};
use super::stepped;
use crate::real::{jitter, threads};
use crate::rt::{Buggify, WORLD, World};
pub(crate) use crate::rt::{by_hand, in_run};
use crate::run::board::CallPoint;
use crate::run::ids::Place;
use crate::run::note::Note;
use crate::run::program::ProgramSource;
use crate::run::recording::HistorySource;
use crate::run::untried::Untried;
use crate::run::{Condition, Failure, FaultCount};

/// True if this build can simulate.
pub(crate) const SIMULATED: bool = true;

/// A place in the source.
pub(crate) type Here = Place;

/// The caller's place.
#[inline(always)]
#[track_caller]
pub(crate) const fn here() -> Here {
    std::panic::Location::caller()
}

/// A place as a report names it.
pub(crate) fn place_of(here: Here) -> String {
    here.to_string()
}

/// Polls work that is dropped at a point. Each point is pending once, so there are no points to count.
pub(crate) fn up_to<R>(_: u32, poll: impl FnOnce() -> R) -> (R, u32) {
    (poll(), 0)
}

/// Calls `act` with the run of this thread, which is a task's or a plain thread that is stepped; `otherwise` outside
/// of runs.
#[inline]
fn in_world<R>(act: impl FnOnce(&World) -> R, otherwise: impl FnOnce() -> R) -> R {
    stepped::on_carrier(|| if in_run() { WORLD.with(act) } else { otherwise() })
}

/// A random number below `bound`: in a run, one of its decisions.
pub(crate) fn draw(bound: u64, why: &'static str) -> u64 {
    let drawn = |world: &World| {
        stepped::note(|| Note::Drawn { bound, why });
        world.draw(bound, why)
    };
    in_world(drawn, || jitter::draw(bound))
}

/// A decision that is not explored: `value`, unless a trace is replayed.
pub(crate) fn given(bound: u64, value: u64, why: &'static str) -> u64 {
    if !in_run() {
        return value;
    }
    stepped::note(|| Note::Given { bound, value, why });
    WORLD.with(|world| world.given(bound, value, why))
}

/// Decides if code that is marked with `buggify!` is executed, at the place of this name. Never outside of runs.
pub(crate) fn buggify(name: &'static str) -> bool {
    if !in_run() {
        return false;
    }
    let Some(way) = WORLD.with(|world| world.buggify(name)) else { return false };
    let is_true = match way {
        Buggify::Searched => draw(2, name),
        Buggify::Given(value) => given(2, value, name),
    } == 1;
    WORLD.with(|world| world.buggified(name, is_true));
    is_true
}

/// The key of the random bytes that a run hands to code that is not of this library: not explored, kept in the trace.
#[cfg_attr(not(unpause_native), allow(dead_code))]
pub(crate) fn draw_key() -> u64 {
    // Not a multiple of the seed, from which strategies draw.
    let key = seed().unwrap_or(0).wrapping_add(1).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 1;
    given(u64::MAX, key, "the key of random bytes")
}

/// The number of heaps.
#[cfg_attr(not(unpause_native), allow(dead_code))]
const HEAPS: u64 = 3;

/// The heap number of a run of plain threads, and the number of its set of chances (`chances` of
/// `sets`). Not explored, kept in the trace.
///
/// Heap 0 is plain, 1 checks, 2 checks and reuses memory. A search has 1. If `checks` is set, no run draws 0.
#[cfg_attr(not(unpause_native), allow(dead_code))]
pub(crate) fn draw_heap(checks: bool, chances: u64, sets: u64) -> (u64, u64) {
    // A run with checks takes an eighth longer, so some go without. Not by the lower bits of the seed, which choose a
    // strategy.
    let by_seed = |seed: u64| match seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 62 {
        0 => u64::from(checks),
        3 => 2,
        _ => 1,
    };
    let heap = seed().filter(|_| in_run()).map_or(1, by_seed);
    // One decision: traces without chances have no other.
    let drawn = given(HEAPS * sets, heap + HEAPS * chances, "the heap of the run and its chances");
    (drawn % HEAPS, drawn / HEAPS)
}

/// The number of details in which locks are stepped.
#[cfg_attr(not(unpause_native), allow(dead_code))]
const DETAILS: u64 = 4;

/// The number of the detail in which the locks of a run of plain threads are stepped, whether the counts of `Arc` are
/// points (`arc`, if it is set), and whether two readings of a clock differ. Not explored, kept in the trace.
///
/// Detail 0 is calls, 1 is instructions, 2 is the detail of searches, 3 is queues. A search has the number `searched`,
/// no counts unless `arc` is set, and equal readings: their order is no part of what it explores.
#[cfg_attr(not(unpause_native), allow(dead_code))]
pub(crate) fn draw_points(arc: Option<bool>, searched: u64) -> (u64, bool, bool) {
    let detail = seed().map_or(searched, detail_of_seed);
    let counts = arc.unwrap_or_else(|| seed().is_some_and(has_counts));
    // One decision: older traces have no other, and a smaller bound.
    let value = detail + DETAILS * (u64::from(counts) + 2 * u64::from(seed().is_some()));
    let drawn = given(4 * DETAILS, value, "the detail of locks, the counts of Arc, the clock");
    let (detail, rest) = (drawn % DETAILS, drawn / DETAILS);
    (detail, rest % 2 == 1, rest / 2 == 1)
}

/// A number below 4 made of a seed, different for each odd factor. Not by the lower bits of the seed, which choose a
/// strategy.
fn quarter(seed: u64, factor: u64) -> u64 {
    seed.wrapping_add(1).wrapping_mul(factor) >> 62
}

/// The number of the detail of locks of a seed: instructions for a quarter of the seeds, calls and queues for half of
/// the others each.
///
/// Rehearsals have the seeds 0 to 3. None of these has queues or counts, so what is learnt does not depend on them.
fn detail_of_seed(seed: u64) -> u64 {
    match (quarter(seed, 0xBF58_476D_1CE4_E5B9), quarter(seed, 0xE753_900F_B757_2B37)) {
        (0, _) => 1,
        (_, 0 | 1) => 3,
        _ => 0,
    }
}

/// Returns `true` if the counts of `Arc` are points of the run of a seed: a quarter of the seeds, and none of a
/// rehearsal.
fn has_counts(seed: u64) -> bool {
    quarter(seed, 0x94D0_49BB_1331_11EB) == 3
}

/// The seed of the run, 0 outside one; none in a search, which explores all values that a seed could give.
pub(crate) fn seed() -> Option<u64> {
    if in_run() { WORLD.with(World::seed).map(|seed| seed.0) } else { Some(0) }
}

/// The number of values drawn in the run, and its current step.
pub(crate) fn position() -> (usize, u32) {
    if in_run() { WORLD.with(World::position) } else { (0, 0) }
}

/// The number of the run of this thread, 0 outside of runs.
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
pub(crate) fn run_number() -> u64 {
    crate::rt::run()
}

/// The number of the path of the current task: the same in each run, whatever others do. 0 for the body and outside of
/// runs.
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
pub(crate) fn path_number() -> u64 {
    if in_run() { WORLD.with(World::current_number) } else { 0 }
}

static CLOCK: AtomicU64 = AtomicU64::new(0);

/// In a run, the number of operations that have taken effect; else a counter.
pub(crate) fn clock() -> u64 {
    in_world(World::clock, || CLOCK.fetch_add(1, Ordering::SeqCst))
}

/// Returns `true` if an operation may have taken effect since the moment `mark`.
pub(crate) fn moved_since(mark: u64) -> bool {
    !in_run() || WORLD.with(World::clock) > mark
}

/// The first operation of a [`client`], counted as [`clock()`] does, since the moment `mark`.
pub(crate) fn first_access_since(mark: u64, client: u64) -> Option<u64> {
    let first = |world: &World| world.first_access_since(mark, client);
    if in_run() { WORLD.with(first) } else { Some(mark) }
}

/// A number that changes with each announcement in the run.
pub(crate) fn announced() -> u32 {
    if in_run() { WORLD.with(World::announced) } else { 0 }
}

/// A number for the current task.
pub(crate) fn client() -> u64 {
    in_world(World::client, threads::client)
}

/// The name of the current task.
pub(crate) fn client_name() -> String {
    in_world(World::client_name, threads::client_name)
}

/// Adds a history that begins. Returns its number in the run; none outside one.
pub(crate) fn add_history(history: Arc<dyn HistorySource>) -> Option<usize> {
    in_run().then(|| {
        stepped::note(|| Note::History);
        WORLD.with(|world| world.add_history(history))
    })
}

/// Describes the run, for a condition whose evaluation by the current task began at [`clock()`] `since`; empty outside
/// of runs.
pub(crate) fn standing(since: u64) -> String {
    in_world(|world| world.standing(since), String::new)
}

/// Counts one evaluation of a condition; outside a run, does nothing.
pub(crate) fn note_condition(condition: Condition) {
    let noted = |world: &World| {
        stepped::note(|| Note::Condition(condition));
        world.note_condition(condition);
    };
    in_world(noted, || ());
}

/// Counts a fault that a nemesis began, or that met something.
pub(crate) fn note_fault(count: FaultCount) {
    in_world(|world| world.note_fault(count), || ());
}

/// Records that the run does something that a search does not see.
pub(crate) fn unseen(part: &'static str) {
    in_world(|world| world.note_untried(Untried::Unseen(part)), || ());
}

/// Records that the running code has an effect without an event, which the death of its node does
/// not undo.
pub(crate) fn tells() {
    in_world(World::tells, || ());
}

/// Records that the current task changes a setting of the run, which all steps of other tasks depend on.
pub(crate) fn changes_setting(here: Here) {
    in_world(|world| world.changes_setting(here), || ());
}

/// Records that the program may know the order of added nodes.
pub(crate) fn shows_order_of_nodes() {
    in_world(World::shows_order_of_nodes, || ());
}

/// Records that a call of the current task reached a point. Searches use this to order steps that conflict.
pub(crate) fn mark_call(history: Option<&usize>, point: CallPoint) {
    if let (Some(history), true) = (history, in_run()) {
        stepped::note(|| Note::Call { history: *history, point });
        WORLD.with(|world| world.mark_call(*history, point));
    }
}

/// Adds a generated program that begins to run.
pub(crate) fn add_program(program: Arc<dyn ProgramSource>) {
    if in_run() {
        stepped::note(|| Note::Program);
        WORLD.with(|world| world.add_program(program));
    }
}

/// Ends the run as failed, because an operation of the current task would end its process; outside a run, panics.
pub(crate) fn crash(cause: &str, message: String, here: Here) -> ! {
    fail(|| Failure::Crash {
        task: WORLD.with(World::current_task),
        cause: cause.to_owned(),
        message: message.clone(),
        place: place_of(here),
    });
    panic!("{cause}: {message}")
}

/// Ends the run as failed; outside a run, does nothing.
pub(crate) fn fail(failure: impl FnOnce() -> Failure) {
    if in_run() {
        let failure = failure();
        stepped::note(|| Note::Failed(failure.clone()));
        WORLD.with(|world| world.fail(failure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_seeds_have_all_details_and_counts_and_rehearsals_have_neither_queues_nor_counts() {
        assert!((0..4).all(|seed| detail_of_seed(seed) < 2 && !has_counts(seed)));
        for (seeds, least) in [(0..20, 4), (0..4000, 900)] {
            let number = |is: fn(u64) -> bool| seeds.clone().filter(|seed| is(*seed)).count();
            let numbers = [
                number(|seed| detail_of_seed(seed) == 0),
                number(|seed| detail_of_seed(seed) == 1),
                number(|seed| detail_of_seed(seed) == 3),
                number(has_counts),
            ];
            assert!(numbers.iter().all(|number| *number >= least), "{seeds:?}: {numbers:?}");
        }
    }
}
