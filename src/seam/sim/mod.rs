//! The simulating side of the seam: primitives use the current run of this thread or, outside of runs, the real object.

mod bell;
mod branches;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod call;
mod cancel;
mod carrier;
mod crew;
mod fence;
mod foreign;
mod foreign_lock;
mod gate;
mod group;
mod guarded;
mod handle;
mod invariant;
mod knowledge;
mod node_clock;
mod once;
mod parking;
mod plain;
mod point;
mod share;
mod slot;
mod spin;
mod time;
mod unguarded;
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
pub(crate) use self::carrier::{Latch, send, suffers, suffers_if, suffers_rarely};
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
pub(crate) use self::knowledge::{Knowledge, knowledge, look};
pub(crate) use self::node_clock::NodeClock;
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
pub(crate) use self::unguarded::Unguarded;
pub(crate) use self::word::Word;
#[cfg_attr(not(feature = "tokio"), allow(unused_imports))]
pub(crate) use self::wrapped::{CallOps, Came, Deed, Owner, Passed, Wrapped, record_all};

pub(crate) use super::beat::{beat, hang_limit};
use super::stepped;
use crate::real::{jitter, spawning};
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

/// Returns the place of the caller.
#[inline(always)]
#[track_caller]
pub(crate) const fn here() -> Here {
    std::panic::Location::caller()
}

/// Returns a place as text for reports.
pub(crate) fn place_of(here: Here) -> String {
    here.to_string()
}

/// Polls work that may be dropped at a point. Each point is pending once in a run, so this function counts no points.
pub(crate) fn up_to<R>(_: u32, poll: impl FnOnce() -> R) -> (R, u32) {
    (poll(), 0)
}

/// Calls `act` with the run of this thread, which polls a task or steps a plain thread. Outside of runs, calls
/// `otherwise`.
#[inline]
fn in_world<R>(act: impl FnOnce(&World) -> R, otherwise: impl FnOnce() -> R) -> R {
    stepped::on_carrier(|| if in_run() { WORLD.with(act) } else { otherwise() })
}

/// Returns a random number below `bound`. In a run, the number is a decision of the run.
pub(crate) fn draw(bound: u64, why: &'static str) -> u64 {
    let drawn = |world: &World| {
        stepped::note(|| Note::Drawn { bound, why });
        world.draw(bound, why)
    };
    in_world(drawn, || jitter::draw(bound))
}

/// Returns a decision that is not explored: the result is `value`, unless a trace is replayed.
pub(crate) fn given(bound: u64, value: u64, why: &'static str) -> u64 {
    if !in_run() {
        return value;
    }
    stepped::note(|| Note::Given { bound, value, why });
    WORLD.with(|world| world.given(bound, value, why))
}

/// Decides if the code at the `buggify!` place with this name is executed. The code is never executed outside of runs.
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

/// Returns the key for the random bytes that a run gives to code outside of this library. The key is not explored, but
/// the trace contains it.
#[cfg_attr(not(unpause_native), allow(dead_code))]
pub(crate) fn draw_key() -> u64 {
    // The factor differs from the factors of strategies, which also draw from the seed.
    let key = seed().unwrap_or(0).wrapping_add(1).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 1;
    given(u64::MAX, key, "the key of random bytes")
}

/// The number of heaps.
#[cfg_attr(not(unpause_native), allow(dead_code))]
const HEAPS: u64 = 3;

/// Returns the heap number for a run of plain threads, and the number of its set of chances (`chances`, which is below
/// `sets`). These numbers are not explored, but the trace contains them.
///
/// Heap 0 is plain, heap 1 checks its use, and heap 2 checks and reuses memory. A search has heap 1. If `checks` is
/// set, no run draws heap 0.
#[cfg_attr(not(unpause_native), allow(dead_code))]
pub(crate) fn draw_heap(checks: bool, chances: u64, sets: u64) -> (u64, u64) {
    // A run with checks takes an eighth longer, so some runs have none. The lower bits of the seed are not used here,
    // because they choose a strategy.
    let by_seed = |seed: u64| match seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 62 {
        0 => u64::from(checks),
        3 => 2,
        _ => 1,
    };
    let heap = seed().filter(|_| in_run()).map_or(1, by_seed);
    // The heap and the chances are a single decision, because traces without chances contain no second decision.
    let drawn = given(HEAPS * sets, heap + HEAPS * chances, "the heap of the run and its chances");
    (drawn % HEAPS, drawn / HEAPS)
}

/// The number of possible details in which locks are stepped.
#[cfg_attr(not(unpause_native), allow(dead_code))]
const DETAILS: u64 = 4;

/// The number of the detail in which the instructions of locks are steps.
#[cfg_attr(not(unpause_native), allow(dead_code))]
const INSTRUCTIONS: u64 = 1;

/// The number of the detail of searches. If short operations take few steps, too, the decision contains the number of
/// instructions instead, because then it has no other meaning.
#[cfg_attr(not(unpause_native), allow(dead_code))]
const SEARCHED: u64 = 2;

/// The number of possible starts of the monotonic clock, in a program whose random numbers depend on this clock.
#[cfg_attr(not(unpause_native), allow(dead_code))]
const STARTS: u64 = 1 << 24;

/// The name of the decision about the properties of a run of plain threads.
#[cfg_attr(not(unpause_native), allow(dead_code))]
pub(crate) const PROPERTIES: &str = "the detail of locks, the counts of Arc, the clock";

/// Returns the lock detail in this decision.
#[cfg_attr(not(unpause_native), allow(dead_code))]
pub(crate) fn detail_in(properties: u64) -> u64 {
    properties % DETAILS
}

/// Returns this decision, which is below `bound`, with another lock detail.
#[cfg_attr(not(unpause_native), allow(dead_code))]
pub(crate) fn with_detail((properties, bound): (u64, u64), detail: u64) -> u64 {
    // If the instructions of locks are steps, the instructions of channels are, too.
    let kept = if detail == INSTRUCTIONS { properties % (bound / 2) } else { properties };
    kept - kept % DETAILS + detail
}

/// The properties of a run of plain threads that are not explored. The trace contains them.
#[cfg_attr(not(unpause_native), allow(dead_code))]
pub(crate) struct DrawnPoints {
    /// The number of the detail in which locks are stepped: 0 is calls, 1 is instructions, 2 is the detail of searches,
    /// 3 is queues.
    pub(crate) detail: u64,
    /// The operations that take few steps: 0 is none, 1 is channels and queues, 2 is all possible ones.
    pub(crate) short: u64,
    /// True if `Arc` counts are points.
    pub(crate) counts: bool,
    /// True if two consecutive reads of a clock differ.
    pub(crate) readings_differ: bool,
    /// The start of the monotonic clock, in seconds.
    pub(crate) start: u64,
}

/// Draws the properties of a run of plain threads. `Arc` counts are points according to `arc`, if it is set. The
/// monotonic clock starts at another time in each run, if `starts_differ`.
///
/// A search has the detail `searched`, no counts unless `arc` is set, and the same start of the clock in each run. In a
/// search, all clock reads are equal, because the search does not explore their order.
#[cfg_attr(not(unpause_native), allow(dead_code))]
pub(crate) fn draw_points(arc: Option<bool>, searched: u64, starts_differ: bool) -> DrawnPoints {
    let detail = seed().map_or(searched, detail_of_seed);
    let counts = arc.unwrap_or_else(|| seed().is_some_and(has_counts));
    let starts = if starts_differ { STARTS } else { 1 };
    let start = seed().map_or(0, start_of_seed) % starts;
    // The flags are a single decision, because older traces contain no other decision for them. The decision of older
    // traces has a smaller bound.
    let flags = u64::from(counts) + 2 * u64::from(seed().is_some());
    let bound = 4 * DETAILS * starts;
    let is_search = seed().is_none() && detail == SEARCHED;
    let number = if is_search { INSTRUCTIONS } else { detail };
    let channels = u64::from(is_search || detail != INSTRUCTIONS);
    let value = number + DETAILS * (flags + 4 * start) + bound * channels;
    let drawn = given(2 * bound, value, PROPERTIES);
    let (channels, drawn) = (drawn / bound, drawn % bound);
    let (number, rest) = (drawn % DETAILS, drawn / DETAILS);
    let (detail, short) = match (number, channels) {
        (INSTRUCTIONS, 1) => (SEARCHED, 2),
        _ => (number, channels),
    };
    let (counts, readings_differ, start) = (rest % 2 == 1, rest / 2 % 2 == 1, rest / 4);
    DrawnPoints { detail, short, counts, readings_differ, start }
}

/// Returns the start of the monotonic clock for a seed, in seconds. Consecutive seeds have different starts.
fn start_of_seed(seed: u64) -> u64 {
    seed.wrapping_add(1).wrapping_mul(0xA24B_AED4_963E_E407) >> 40
}

/// Returns a number below 4 derived from a seed, with different results for different odd factors. The lower bits of
/// the seed are not used, because they choose a strategy.
fn quarter(seed: u64, factor: u64) -> u64 {
    seed.wrapping_add(1).wrapping_mul(factor) >> 62
}

/// Returns the number of the lock detail for a seed. A quarter of the seeds have instructions. Half of the other seeds
/// have calls, and half have queues.
///
/// Rehearsals have the seeds 0 to 3. None of these seeds has queues or counts, so the results of rehearsals do not
/// depend on queues and counts.
fn detail_of_seed(seed: u64) -> u64 {
    match (quarter(seed, 0xBF58_476D_1CE4_E5B9), quarter(seed, 0xE753_900F_B757_2B37)) {
        (0, _) => INSTRUCTIONS,
        (_, 0 | 1) => 3,
        _ => 0,
    }
}

/// Returns `true` if the `Arc` counts are points in the run of a seed. The counts are points for a quarter of the
/// seeds, but not for the seeds of rehearsals.
fn has_counts(seed: u64) -> bool {
    quarter(seed, 0x94D0_49BB_1331_11EB) == 3
}

/// Returns the seed of the run, or 0 outside of runs. `None` in a search, which explores all values that a seed could
/// give.
pub(crate) fn seed() -> Option<u64> {
    if in_run() { WORLD.with(World::seed).map(|seed| seed.0) } else { Some(0) }
}

/// Returns the number of values drawn in the run, and its current step.
pub(crate) fn position() -> (usize, u32) {
    if in_run() { WORLD.with(World::position) } else { (0, 0) }
}

/// Returns the number of the run on this thread, or 0 outside of runs.
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
pub(crate) fn run_number() -> u64 {
    crate::rt::run()
}

/// Returns the path number of the current task, which is the same in each run, whatever other tasks do. Returns 0 for
/// the body and outside of runs.
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
pub(crate) fn path_number() -> u64 {
    if in_run() { WORLD.with(World::current_number) } else { 0 }
}

static CLOCK: AtomicU64 = AtomicU64::new(0);

/// In a run, returns the number of operations that have taken effect. Outside of runs, increments and returns a
/// counter.
pub(crate) fn clock() -> u64 {
    in_world(World::clock, || CLOCK.fetch_add(1, Ordering::SeqCst))
}

/// Returns `true` if an operation may have taken effect since the moment `mark`. Reads by invariants do not count.
pub(crate) fn moved_since(mark: u64) -> bool {
    !in_run() || WORLD.with(|world| world.moved_since(mark))
}

/// Returns the moment of the first operation of a [`client`] since the moment `mark`. Moments are values of
/// [`clock()`]. Reads by invariants do not count.
pub(crate) fn first_access_since(mark: u64, client: u64) -> Option<u64> {
    let first = |world: &World| world.first_access_since(mark, client);
    if in_run() { WORLD.with(first) } else { Some(mark) }
}

/// Returns a number that changes with each announcement in the run.
pub(crate) fn announced() -> u32 {
    if in_run() { WORLD.with(World::announced) } else { 0 }
}

/// Returns a number for the current task.
pub(crate) fn client() -> u64 {
    in_world(World::client, spawning::client)
}

/// Returns the name of the current task.
pub(crate) fn client_name() -> String {
    in_world(World::client_name, spawning::client_name)
}

/// Adds a new history. Returns its number in the run; `None` outside of runs.
pub(crate) fn add_history(history: Arc<dyn HistorySource>) -> Option<usize> {
    in_run().then(|| {
        stepped::note(|| Note::History);
        WORLD.with(|world| world.add_history(history))
    })
}

/// Describes the run for a condition that the current task has evaluated since the [`clock()`] value `since`. Empty
/// outside of runs.
pub(crate) fn standing(since: u64) -> String {
    in_world(|world| world.standing(since), String::new)
}

/// Counts one evaluation of a condition. Outside of runs, does nothing.
pub(crate) fn note_condition(condition: Condition) {
    let noted = |world: &World| {
        stepped::note(|| Note::Condition(condition));
        world.note_condition(condition);
    };
    in_world(noted, || ());
}

/// Counts a fault that a nemesis began, or that affected something.
pub(crate) fn note_fault(count: FaultCount) {
    in_world(|world| world.note_fault(count), || ());
}

/// Records that the run has done something that searches do not see.
pub(crate) fn unseen(part: &'static str) {
    in_world(|world| world.note_untried(Untried::Unseen(part)), || ());
}

/// Records that the running code has an effect without an event. The end of its node does not undo this effect.
pub(crate) fn tells() {
    in_world(World::tells, || ());
}

/// Records that the current task changes a setting of the run. All steps of other tasks depend on this setting.
pub(crate) fn changes_setting(here: Here) {
    in_world(|world| world.changes_setting(here), || ());
}

/// Records that the program may have observed the order of added nodes.
pub(crate) fn shows_order_of_nodes() {
    in_world(World::shows_order_of_nodes, || ());
}

/// Records that a call of the current task reached `point`. Searches use this to order conflicting steps.
pub(crate) fn mark_call(history: Option<&usize>, point: CallPoint) {
    if let (Some(history), true) = (history, in_run()) {
        stepped::note(|| Note::Call { history: *history, point });
        WORLD.with(|world| world.mark_call(*history, point));
    }
}

/// Adds a generated program that is about to run.
pub(crate) fn add_program(program: Arc<dyn ProgramSource>) {
    if in_run() {
        stepped::note(|| Note::Program);
        WORLD.with(|world| world.add_program(program));
    }
}

/// Ends the run as failed, because an operation of the current task would end its process. Outside of runs, panics.
pub(crate) fn crash(cause: &str, message: String, here: Here) -> ! {
    fail(|| Failure::Crash {
        task: WORLD.with(World::current_task),
        cause: cause.to_owned(),
        message: message.clone(),
        place: place_of(here),
    });
    panic!("{cause}: {message}")
}

/// Ends the run as failed. Outside of runs, does nothing.
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
