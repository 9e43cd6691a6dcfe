//! The real primitives, for code outside of runs and for stress tests.
//!
//! These primitives have no cost: an `Atomic` is the std atomic, a point only performs its operation, and a gate is a
//! type without data. Only builds with debug assertions do more at each point. These builds check for the jitter of a
//! stress test on this thread ([`crate::real::jitter`]) and for its value of a static ([`crate::real::statics`]).

mod bell;
mod branches;
mod cancel;
mod fence;
mod group;
mod handle;
mod invariant;
mod knowledge;
mod locks;
mod node_clock;
mod once;
mod parking;
mod point;
mod share;
mod slot;
mod spin;
mod time;
mod unguarded;
mod word;
#[allow(dead_code, reason = "the contract is that of the simulating side")]
mod wrapped;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use self::bell::{Bell, Listen};
pub(crate) use self::branches::{Before, Turns};
pub(crate) use self::cancel::Cancel;
pub(crate) use self::fence::{fence, pass};
pub(crate) use self::group::{Group, kept};
pub(crate) use self::handle::{
    Crew, End, Handle, Stopper, current_id, spawn, spawn_blocking, spawn_local,
};
pub(crate) use self::invariant::HeldInvariant;
pub(crate) use self::knowledge::{Knowledge, knowledge, look};
pub(crate) use self::locks::{Enter, Gate, Pass};
pub(crate) use self::node_clock::NodeClock;
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
pub(crate) use self::unguarded::Unguarded;
pub(crate) use self::word::Word;
#[cfg(feature = "tokio")]
pub(crate) use self::wrapped::record_all;
pub(crate) use self::wrapped::{
    CallOps, Came, Deed, GuardedCall, Latch, Passed, PlainCall, Turn, Wrapped, send, suffers,
    suffers_if, suffers_rarely,
};

pub(crate) use crate::real::jitter::up_to;
use crate::real::{jitter, spawning, stress};
use crate::run::board::CallPoint;
use crate::run::program::ProgramSource;
use crate::run::recording::HistorySource;
use crate::run::{Condition, Failure, FaultCount};

/// True if this build can simulate.
pub(crate) const SIMULATED: bool = false;

/// A place in the source; empty in this build.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here;

/// Returns the place of the caller.
#[inline(always)]
pub(crate) const fn here() -> Here {
    Here
}

/// Returns a place as text for reports. The place is unknown in this build.
pub(crate) fn place_of(_: Here) -> String {
    String::new()
}

/// Calls `poll`, because this build has no points.
pub(crate) fn by_hand<R>(poll: impl FnOnce() -> R) -> R {
    poll()
}

/// Returns 0: this build has no simulated run.
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
pub(crate) fn run_number() -> u64 {
    0
}

/// Returns 0: this build has no task paths.
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
pub(crate) fn path_number() -> u64 {
    0
}

/// Returns a random number below `bound`.
pub(crate) fn draw(bound: u64, _: &'static str) -> u64 {
    jitter::draw(bound)
}

/// Returns the given number, without a draw.
pub(crate) fn given(_: u64, value: u64, _: &'static str) -> u64 {
    value
}

/// Returns the seed of the stress run, or 0 outside of stress runs.
pub(crate) fn seed() -> Option<u64> {
    Some(stress::seed())
}

/// Returns zeros: this build has no run with drawn values and steps.
pub(crate) fn position() -> (usize, u32) {
    (0, 0)
}

static CLOCK: AtomicU64 = AtomicU64::new(0);

/// Returns a moment that is later than all moments returned before.
pub(crate) fn clock() -> u64 {
    CLOCK.fetch_add(1, Ordering::SeqCst)
}

/// Returns `true`, because any operation may have taken effect since the moment `mark`.
pub(crate) fn moved_since(_: u64) -> bool {
    true
}

/// Returns 0: this build announces no operations.
pub(crate) fn announced() -> u32 {
    0
}

/// Returns the moment of the client's first operation since `mark`. The real build records no operations, so the result
/// is `mark`.
pub(crate) fn first_access_since(mark: u64, _: u64) -> Option<u64> {
    Some(mark)
}

/// Returns a number for the current thread.
pub(crate) fn client() -> u64 {
    spawning::client()
}

/// Returns the name of the current thread.
pub(crate) fn client_name() -> String {
    spawning::client_name()
}

/// Does nothing: no search reads the points of calls.
#[inline(always)]
pub(crate) fn mark_call(_: Option<&usize>, _: CallPoint) {}

/// Adds a new history. Returns its number in the stress run; `None` outside of stress runs.
pub(crate) fn add_history(history: Arc<dyn HistorySource>) -> Option<usize> {
    stress::add_history(history)
}

/// Returns an empty summary, because this build has no simulated run.
pub(crate) fn standing(_: u64) -> String {
    String::new()
}

/// Counts a condition in the stress run, if any.
pub(crate) fn note_condition(condition: Condition) {
    stress::note_condition(condition);
}

/// Does nothing: only simulated runs count faults.
pub(crate) fn note_fault(_: FaultCount) {}

/// Returns `false`: this build does not execute code that is marked with `buggify!`.
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

/// Adds a generated program that is about to run.
pub(crate) fn add_program(program: Arc<dyn ProgramSource>) {
    stress::add_program(program);
}

/// Panics, because an operation of the current task would end its process.
pub(crate) fn crash(cause: &str, message: String, _: Here) -> ! {
    panic!("{cause}: {message}")
}

/// Ends the stress run as failed. Outside of stress runs, does nothing.
pub(crate) fn fail(failure: impl FnOnce() -> Failure) {
    stress::fail(failure);
}

/// Reports progress within a long step of the task of this thread.
pub(crate) fn beat() {
    stress::beat();
}

/// Returns the time after which the stress run of this thread counts as hung, if no task makes progress. `None` outside
/// of stress runs.
pub(crate) fn hang_limit() -> Option<std::time::Duration> {
    stress::hang_limit()
}

/// Returns `false`: this build never executes a simulated run.
pub(crate) fn in_run() -> bool {
    false
}
