//! Builds that are not instrumented: plain threads cannot be stepped.

use std::io;
use std::panic::{Location, PanicHookInfo};
use std::time::{Duration, Instant};
use unpause_ordered::Set;

use crate::run::Run;
use crate::run::chances::Chances;
use crate::run::isolation::Isolation;
use crate::run::memory_model::MemoryModel;
use crate::run::points::Points;
use crate::run::untried::Untried;

/// The reason why plain threads cannot be stepped.
const REMEDY: &str = "plain threads are not instrumented in this build: run the test with `cargo unpause test`, which \
    compiles the program so that its threads can be stepped";

/// Panics, because the build is not instrumented.
#[allow(clippy::unused_async, reason = "as in the instrumented build")]
pub(crate) async fn run(
    _name: Option<String>,
    _body: Box<dyn FnOnce() -> Option<String> + Send>,
    _leaks: bool,
) -> Option<String> {
    panic!("{REMEDY}")
}

/// Has no effect: this build has no plain threads.
pub(crate) fn end_alike() {}

/// A guard that does nothing when it is dropped.
pub(crate) struct KeptDeath;

/// Returns a guard without effect: no run dies.
#[allow(dead_code, reason = "runs on real threads are not explained")]
pub(crate) fn keep_death() -> KeptDeath {
    KeptDeath
}

/// Has no effect: this build has no plain threads.
pub(crate) fn set_points(_points: Points) {}

/// Has no effect: this build has no plain threads.
#[allow(dead_code, reason = "called by searches, which the real build does not have")]
pub(crate) fn begin_instructions(_untried: &mut Set<Untried>) -> Option<String> {
    None
}

/// Has no effect: this build has no plain threads.
#[allow(dead_code, reason = "called by searches, which the real build does not have")]
pub(crate) fn forget_hidden_races(_untried: &mut Set<Untried>) {}

/// Has no effect: this build has no plain threads.
#[allow(dead_code, reason = "called by searches, which the real build does not have")]
pub(crate) fn step_instructions(_wanted: bool) {}

/// Returns `false`: this build has no plain threads.
#[allow(dead_code, reason = "called by searches, which the real build does not have")]
pub(crate) fn take_shown_references() -> bool {
    false
}

/// Has no effect: this build has no plain threads.
#[allow(dead_code, reason = "called by searches, which the real build does not have")]
pub(crate) fn note_references(_wanted: bool) {}

/// Has no effect: this build has no plain threads.
pub(crate) fn set_chances(_chances: Chances) {}

/// Has no effect: this build has no plain threads.
pub(crate) fn set_memory(_memory: MemoryModel) {}

/// Returns `false`: this build has no plain threads.
#[allow(dead_code, reason = "called by searches, which the real build does not have")]
pub(crate) fn take_strengthened() -> bool {
    false
}

/// Has no effect: this build has no plain threads.
pub(crate) fn set_isolation(_isolation: Isolation) {}

/// Returns `false`: no run has a process of its own.
#[allow(dead_code, reason = "called by searches, which the real build does not have")]
pub(crate) fn has_own_processes() -> bool {
    false
}

/// Has no effect: this build has no copies of processes.
#[allow(dead_code, reason = "called by searches, which the real build does not have")]
pub(crate) fn change_captured() {}

/// Has no effect: this build has no plain threads.
pub(crate) fn count_yields(_wanted: bool) {}

/// Has no effect: real threads have no steps.
pub(crate) fn try_locks_first(_wanted: bool) {}

/// Returns `false`: this build has no runs of plain threads.
pub(crate) fn spawns_nothing() -> bool {
    false
}

/// Has no effect: this build has no plain threads.
#[allow(dead_code, reason = "runs on real threads have no step limit")]
pub(crate) fn set_deadline(_deadline: Option<Instant>) {}

/// A guard that does nothing when it is dropped.
pub(crate) struct EndsChild;

/// Returns a guard without effect: no run has a process of its own.
#[inline]
#[allow(dead_code, reason = "runs on real threads are in this process")]
pub(crate) fn ends_child() -> EndsChild {
    EndsChild
}

/// A guard that does nothing when it is dropped.
pub(crate) struct Spared;

/// Returns a guard without effect: no body has captured memory.
#[allow(dead_code, reason = "runs on real threads are not repeated")]
pub(crate) fn spare_captured() -> Spared {
    Spared
}

/// Returns `false`: no body has captured memory.
#[allow(dead_code, reason = "called by searches, which the real build does not have")]
pub(crate) fn has_captured() -> bool {
    false
}

/// A guard that does nothing when it is dropped.
#[allow(dead_code, reason = "runs on real threads are not repeated")]
pub(crate) struct Shortened;

/// Returns a guard without effect: no run has loops of plain threads.
#[allow(dead_code, reason = "runs on real threads are not repeated")]
pub(crate) fn shorten_loops() -> Shortened {
    Shortened
}

/// The rounds of loops without points in some runs. This build has no such rounds.
#[allow(dead_code, reason = "runs on real threads are not repeated")]
pub(crate) struct Rounds {
    pub(crate) reads: u64,
    pub(crate) left_out: bool,
}

/// Returns `false`: no run has locks of plain threads.
#[allow(dead_code, reason = "runs on real threads are not repeated")]
pub(crate) fn is_detail(_why: &str) -> bool {
    false
}

/// Returns `None`: no run steps locks of plain threads.
#[allow(dead_code, reason = "the real build explains no failure")]
pub(crate) fn exact_detail(_properties: u64, _bound: u64) -> Option<u64> {
    None
}

/// Returns `false`: no run steps locks of plain threads.
#[allow(dead_code, reason = "the real build explains no failure")]
pub(crate) fn take_simplified() -> bool {
    false
}

/// Returns no rounds: no run has loops of plain threads.
#[allow(dead_code, reason = "runs on real threads are not repeated")]
pub(crate) fn take_rounds() -> Rounds {
    Rounds { reads: 0, left_out: false }
}

/// Calls `act`, and records no calls.
#[allow(dead_code, reason = "runs on real threads have no calls")]
pub(crate) fn noting_calls<T>(act: impl FnOnce() -> T) -> T {
    act()
}

/// Adds nothing to the run: no thread is stepped.
#[allow(dead_code, reason = "runs on real threads have no calls")]
pub(crate) fn complete(_run: &mut Run) {}

/// Has no effect: no run has plain threads.
#[allow(dead_code, reason = "runs on real threads have no helpers")]
pub(crate) fn set_spawned_in_turn() {}

/// Returns `false`: no run has plain threads.
pub(crate) fn take_spawned_in_turn() -> bool {
    false
}

/// Returns `false`: no helper process can run plain threads.
#[allow(dead_code, reason = "called by searches, which the real build does not have")]
pub(crate) fn may_have_helpers() -> bool {
    false
}

/// A helper process for the runs of a search. This build has no such process.
#[allow(dead_code, reason = "of searches, which the real build does not have")]
pub(crate) struct Helper {
    pub(crate) line: HelperLine,
}

/// An end of the line between two processes. This build has no such line.
#[allow(dead_code, reason = "of searches, which the real build does not have")]
pub(crate) enum HelperLine {}

#[allow(dead_code, reason = "of searches, which the real build does not have")]
impl Helper {
    /// Returns `None`: this build has no helper processes.
    pub(crate) fn begin(_work: impl FnOnce(&mut HelperLine)) -> Option<Helper> {
        None
    }
}

#[allow(dead_code, reason = "of searches, which the real build does not have")]
impl HelperLine {
    pub(crate) fn say(&mut self, _text: &str) -> bool {
        match *self {}
    }

    pub(crate) fn hear(&mut self, _time: Option<Duration>) -> io::Result<Option<String>> {
        match *self {}
    }
}

/// The guard of a test that steps plain threads.
pub(crate) struct Exclusive;

/// Returns a guard that excludes no other test: no test steps plain threads.
pub(crate) fn exclusive(_test: &str) -> Exclusive {
    Exclusive
}

/// Returns a guard that excludes no other test: no test steps plain threads.
pub(crate) fn of_closure(
    _test: Option<&str>,
    _has_captured: bool,
    _keeps: Option<&str>,
) -> Exclusive {
    Exclusive
}

/// The guard of an async test while it runs.
pub(crate) struct Alone;

/// Returns a guard that excludes no other test: all runs share the statics.
pub(crate) fn alone(_test: &str) -> Alone {
    Alone
}

/// Returns `false`: the runs of a test may use several threads.
pub(crate) fn is_alone() -> bool {
    false
}

/// Returns a guard without effect: no created thread is noticed.
#[allow(dead_code, reason = "runs on real threads have no engine threads to tell apart")]
pub(crate) fn begin_engine() -> Exclusive {
    Exclusive
}

/// Calls `act`, and `watch` on another thread. Returns when both have returned.
#[allow(dead_code, reason = "runs on real threads have another watchdog")]
pub(crate) fn beside<R>(_delay: Duration, watch: &(dyn Fn() + Sync), act: impl FnOnce() -> R) -> R {
    std::thread::scope(|scope| {
        scope.spawn(watch);
        act()
    })
}

/// Returns `None`: no created thread is noticed.
#[inline]
#[allow(dead_code, reason = "runs on real threads consist of such threads")]
pub(crate) fn take_started() -> Option<String> {
    None
}

/// Returns `None`: random bytes, thread-locals and statics belong to the process, not to the run.
#[inline]
#[allow(dead_code, reason = "runs on real threads have none of their own")]
pub(crate) fn begin_polled() -> Option<Alone> {
    None
}

/// Returns `false`: no thread is stepped.
#[allow(dead_code, reason = "runs on real threads leave panics to the harness")]
pub(crate) fn takes_panic(_info: &PanicHookInfo<'_>) -> bool {
    false
}

/// Has no effect: the process calls nothing before it aborts.
#[allow(dead_code, reason = "runs on real threads end with their process")]
pub(crate) fn on_abort(_call: fn()) {}

/// Returns `None`: there is no plain thread to interrupt.
#[allow(dead_code, reason = "runs on real threads end with their process")]
pub(crate) fn interrupt(_still: &(dyn Fn() -> bool + Sync)) -> Option<bool> {
    None
}

/// Returns `false`: no thread is stepped.
pub(crate) fn is_stepped() -> bool {
    false
}

/// Has no effect: no thread is stepped.
pub(crate) fn point() {}

/// Has no effect: the joiner of a thread receives its panic.
pub(crate) fn fail_by_panic() {}

/// Returns `false`: no run chooses the store that a load returns.
pub(crate) fn may_be_old() -> bool {
    false
}

/// Returns `None`: the statics of no crate are kept.
pub(crate) fn own_crate() -> Option<&'static str> {
    None
}

/// Returns the command that runs tests.
pub(crate) fn test_command() -> &'static str {
    "cargo test"
}

/// Returns the place of the caller, because no stepped thread has a place of its own.
#[track_caller]
pub(crate) fn place(_file: &str, _line: u32, _column: u32) -> &'static Location<'static> {
    Location::caller()
}
