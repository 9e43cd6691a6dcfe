//! Primitives in a build that can simulate: they lead to the run that is on, if one is on on this
//! thread, and are the real thing otherwise.

mod crew;
mod gate;
mod handle;
mod point;
mod slot;
mod spin;
mod word;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use self::crew::Crew;
pub(crate) use self::gate::{Enter, Gate, Pass};
pub(crate) use self::handle::{Handle, spawn};
pub(crate) use self::point::Turn;
pub(crate) use self::slot::Slot;
pub(crate) use self::spin::Spin;
pub(crate) use self::word::Word;

pub(crate) use super::beat::{beat, hang_limit};
use super::{jitter, threads};
pub(crate) use crate::rt::in_run;
use crate::rt::{WORLD, World};
use crate::run::board::CallPoint;
use crate::run::ids::Place;
use crate::run::program::ProgramSource;
use crate::run::recording::HistorySource;
use crate::run::{Condition, Failure};

/// Whether this build can simulate.
pub(crate) const SIMULATED: bool = true;

/// A place in the source.
pub(crate) type Here = Place;

/// The caller's place.
#[inline(always)]
#[track_caller]
pub(crate) const fn here() -> Here {
    std::panic::Location::caller()
}

/// Polls work that is dropped at a point. Each point is pending once, so that there are none to count.
pub(crate) fn up_to<R>(_: u32, poll: impl FnOnce() -> R) -> (R, u32) {
    (poll(), 0)
}

/// A random number below `bound`: in a run, one of its decisions.
pub(crate) fn draw(bound: u64, why: &'static str) -> u64 {
    if in_run() { WORLD.with(|world| world.draw(bound, why)) } else { jitter::draw(bound) }
}

/// A decision that is not explored: `value`, unless a trace is replayed.
pub(crate) fn given(bound: u64, value: u64, why: &'static str) -> u64 {
    if in_run() { WORLD.with(|world| world.given(bound, value, why)) } else { value }
}

/// The seed of the run, 0 outside one; none in a search, which explores all that could be made from one.
pub(crate) fn seed() -> Option<u64> {
    if in_run() { WORLD.with(World::seed).map(|seed| seed.0) } else { Some(0) }
}

/// How many values were drawn in the run, and the step it is in.
pub(crate) fn position() -> (usize, u32) {
    if in_run() { WORLD.with(World::position) } else { (0, 0) }
}

static CLOCK: AtomicU64 = AtomicU64::new(0);

/// In a run, how many operations have taken effect; else a counter.
pub(crate) fn clock() -> u64 {
    if in_run() { WORLD.with(World::clock) } else { CLOCK.fetch_add(1, Ordering::SeqCst) }
}

/// Whether an operation took effect since the moment `mark`.
pub(crate) fn moved_since(mark: u64) -> bool {
    !in_run() || WORLD.with(World::clock) > mark
}

/// The first operation of a [`client`], counted as [`clock`] does, since the moment `mark`.
pub(crate) fn first_access_since(mark: u64, client: u64) -> Option<u64> {
    let first = |world: &World| world.first_access_since(mark, client);
    if in_run() { WORLD.with(first) } else { Some(mark) }
}

/// A number that another announcement in the run changes.
pub(crate) fn announced() -> u32 {
    if in_run() { WORLD.with(World::announced) } else { 0 }
}

/// A number for the current task.
pub(crate) fn client() -> u64 {
    if in_run() { WORLD.with(World::client) } else { threads::client() }
}

/// The name of the current task.
pub(crate) fn client_name() -> String {
    if in_run() { WORLD.with(World::client_name) } else { threads::client_name() }
}

/// A history begins to be recorded; its number in the run, none outside one.
pub(crate) fn add_history(history: Arc<dyn HistorySource>) -> Option<usize> {
    in_run().then(|| WORLD.with(|world| world.add_history(history)))
}

/// A condition was asked about; outside a run, nobody wants to know.
pub(crate) fn note_condition(condition: Condition) {
    if in_run() {
        WORLD.with(|world| world.note_condition(condition));
    }
}

/// A call of the current task got to a point. For who wants to know what steps conflict.
pub(crate) fn mark_call(history: Option<&usize>, point: CallPoint) {
    if let (Some(history), true) = (history, in_run()) {
        WORLD.with(|world| world.mark_call(*history, point));
    }
}

/// A generated program begins to be run.
pub(crate) fn add_program(program: Arc<dyn ProgramSource>) {
    if in_run() {
        WORLD.with(|world| world.add_program(program));
    }
}

/// Ends the run as failed; outside a run, does nothing.
pub(crate) fn fail(failure: impl FnOnce() -> Failure) {
    if in_run() {
        WORLD.with(|world| world.fail(failure()))
    }
}
