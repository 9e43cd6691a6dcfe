//! The real primitives, for code outside of runs and for stress tests.
//!
//! All of them compile to nothing: an `Atomic` is its std atomic, a point is its effect, a gate is empty. Builds with
//! debug assertions check, at each point, for the jitter of a stress test on this thread ([`crate::real::jitter`])
//! and for its value of a static ([`crate::real::statics`]).

mod bell;
mod branches;
mod cancel;
mod clock;
mod fence;
mod group;
mod handle;
mod invariant;
mod locks;
mod once;
mod parking;
mod point;
mod share;
mod slot;
mod spin;
mod time;
mod word;
#[allow(dead_code, reason = "the contract is that of the simulating side")]
mod wrapped;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use self::bell::{Bell, Listen};
pub(crate) use self::branches::{Before, Turns};
pub(crate) use self::cancel::Cancel;
pub(crate) use self::clock::NodeClock;
pub(crate) use self::fence::{fence, pass};
pub(crate) use self::group::{Group, kept};
pub(crate) use self::handle::{
    Crew, End, Handle, Stopper, current_id, spawn, spawn_blocking, spawn_local,
};
pub(crate) use self::invariant::HeldInvariant;
pub(crate) use self::locks::{Enter, Gate, Pass};
pub(crate) use self::once::OnceValue;
pub(crate) use self::parking::{Unparker, at_end, park};
pub(crate) use self::point::YieldPoint;
pub(crate) use self::share::Share;
pub(crate) use self::slot::Slot;
pub(crate) use self::spin::Spin;
pub(crate) use self::time::{
    Advance, Timer, deadline, now, of_one_clock, since_start, timer_span, true_deadline, true_now,
    wall,
};
pub(crate) use self::word::Word;
#[cfg(feature = "tokio")]
pub(crate) use self::wrapped::record_all;
pub(crate) use self::wrapped::{
    CallOps, Came, Deed, GuardedCall, Latch, Passed, PlainCall, Turn, Wrapped, send, suffers,
    suffers_rarely,
};

pub(crate) use crate::real::jitter::up_to;
use crate::real::{jitter, stress, threads};
use crate::run::board::CallPoint;
use crate::run::program::ProgramSource;
use crate::run::recording::HistorySource;
use crate::run::{Condition, Failure, FaultCount};

/// True if this build can simulate.
pub(crate) const SIMULATED: bool = false;

/// A place in the source; nothing in this build.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here;

/// The caller's place.
#[inline(always)]
pub(crate) const fn here() -> Here {
    Here
}

/// A place as a report names it: unknown in this build.
pub(crate) fn place_of(_: Here) -> String {
    String::new()
}

/// Calls `poll`: there are no points in this build.
pub(crate) fn by_hand<R>(poll: impl FnOnce() -> R) -> R {
    poll()
}

/// The number of the run of this thread: there is none in this build.
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
pub(crate) fn run_number() -> u64 {
    0
}

/// The number of the path of the current task: there is none in this build.
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
pub(crate) fn path_number() -> u64 {
    0
}

/// A random number below `bound`.
pub(crate) fn draw(bound: u64, _: &'static str) -> u64 {
    jitter::draw(bound)
}

/// A given number, which is not drawn.
pub(crate) fn given(_: u64, value: u64, _: &'static str) -> u64 {
    value
}

/// The seed of the stress run, 0 outside one.
pub(crate) fn seed() -> Option<u64> {
    Some(stress::seed())
}

/// The number of values drawn in the run, and its step: there is no run in this build.
pub(crate) fn position() -> (usize, u32) {
    (0, 0)
}

static CLOCK: AtomicU64 = AtomicU64::new(0);

/// A moment, later than all moments returned before.
pub(crate) fn clock() -> u64 {
    CLOCK.fetch_add(1, Ordering::SeqCst)
}

/// Returns `true` if an operation may have taken effect since the moment `mark`: always.
pub(crate) fn moved_since(_: u64) -> bool {
    true
}

/// The number of announced operations: always 0.
pub(crate) fn announced() -> u32 {
    0
}

/// The moment of the client's first operation since `mark`. The real build records no operations, so this function
/// returns `mark`.
pub(crate) fn first_access_since(mark: u64, _: u64) -> Option<u64> {
    Some(mark)
}

/// A number for the current thread.
pub(crate) fn client() -> u64 {
    threads::client()
}

/// The name of the current thread.
pub(crate) fn client_name() -> String {
    threads::client_name()
}

/// Does nothing: no search reads the points of calls.
#[inline(always)]
pub(crate) fn mark_call(_: Option<&usize>, _: CallPoint) {}

/// Adds a history that begins. Returns its number in the stress run; none outside of one.
pub(crate) fn add_history(history: Arc<dyn HistorySource>) -> Option<usize> {
    stress::add_history(history)
}

/// The state of a run in words: empty, as there is none in this build.
pub(crate) fn standing(_: u64) -> String {
    String::new()
}

/// Counts a condition in the stress run, if any.
pub(crate) fn note_condition(condition: Condition) {
    stress::note_condition(condition);
}

/// Does nothing: faults are counted in simulated runs.
pub(crate) fn note_fault(_: FaultCount) {}

/// Code that is marked with `buggify!` is not executed.
#[inline(always)]
pub(crate) fn buggify(_: &'static str) -> bool {
    false
}

/// Does nothing: there is no search.
pub(crate) fn unseen(_: &'static str) {}

/// Does nothing: there is no search.
pub(crate) fn tells() {}

/// Does nothing: there is no search.
pub(crate) fn changes_setting(_: Here) {}

/// Does nothing: there is no search.
pub(crate) fn shows_order_of_nodes() {}

/// Adds a generated program that begins to run.
pub(crate) fn add_program(program: Arc<dyn ProgramSource>) {
    stress::add_program(program);
}

/// Panics, because an operation of the current task would end its process.
pub(crate) fn crash(cause: &str, message: String, _: Here) -> ! {
    panic!("{cause}: {message}")
}

/// Ends the run as failed; outside a stress run, does nothing.
pub(crate) fn fail(failure: impl FnOnce() -> Failure) {
    stress::fail(failure);
}

/// Reports progress within a long step of the task of this thread.
pub(crate) fn beat() {
    stress::beat();
}

/// The time for which no task of the stress run of this thread may move; none outside of one.
pub(crate) fn hang_limit() -> Option<std::time::Duration> {
    stress::hang_limit()
}

/// Returns `true` if a simulated run is on on this thread: never in this build.
pub(crate) fn in_run() -> bool {
    false
}
