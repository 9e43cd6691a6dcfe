//! Plain threads as tasks of a run.
//!
//! A simulated thread of [`unpause_native`] stops at each operation that other threads may see. Its task announces the
//! operation, performs it in its turn, and resumes the thread with the result. So `sim::Atomic` and `std::sync::atomic`
//! have the same engine, the same trace and the same screen.

mod beyond;
mod by_number;
mod calls;
mod carried;
mod chances;
mod channels;
mod death;
mod detail;
mod drive;
mod endless;
mod facts;
mod families;
mod futexes;
mod helper;
mod isolation;
mod library_calls;
mod locks;
mod looks;
mod loops;
mod lot_queues;
mod memory;
mod notes;
mod ops;
mod orders;
mod others;
mod panic_marks;
mod polled;
mod queues;
mod references;
mod shortened;
mod sites;
mod spin;
mod started;
mod threads;
mod timed;
mod transfers;
mod turns;
mod waiter;

use std::panic::{PanicHookInfo, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use unpause_native::{
    Captured, Death, Ended, Exclusion, Execution, Memory, as_program, capture, exclude,
};

pub use unpause_native::Rule;
pub(crate) use unpause_native::{
    beside, inside as is_stepped, location as place, on_abort, outside, point,
};

pub(crate) use self::beyond::set_deadline;
pub(crate) use self::calls::{complete, noting_calls};
pub(crate) use self::chances::set as set_chances;
use self::channels::Short;
pub(crate) use self::death::{end_alike, keep_death};
use self::detail::Detail;
pub(crate) use self::detail::{
    begin_instructions, exact_detail, is_detail, step_instructions, take_simplified,
};
pub(crate) use self::helper::{Helper, HelperLine, may_have_helpers};
pub(crate) use self::isolation::{
    change_captured, ends_child, has_own_processes, set as set_isolation, spare_captured,
};
pub(crate) use self::locks::try_locks_first;
pub(crate) use self::orders::{
    forget_hidden_races, may_be_old, set as set_memory, take_strengthened,
};
pub(crate) use self::polled::{alone, begin as begin_polled, is_alone};
use self::references::Counted;
pub(crate) use self::references::{note_references, take_shown_references};
pub(crate) use self::shortened::{shorten_loops, take_rounds};
pub(crate) use self::spin::count_yields;
pub(crate) use self::started::{begin_engine, take_started};
use self::threads::{Begun, Threads};
pub(crate) use self::turns::{set_spawned_in_turn, take_spawned_in_turn};
use crate::rt::WORLD;
use crate::run::Failure;
use crate::run::ids::TaskId;
use crate::run::note::Note;
use crate::run::points::Points;
use crate::seam::stepped::{note, set_writer};
use crate::seam::{YieldPoint, draw_points as draw, fail, here, on_carrier};

/// Tests of the files in this folder, by name. Only an instrumented build contains these files, so the tests are
/// functions that `native-tests` calls. Unit tests would need a separate build of the library.
pub static CHECKS: &[(&str, fn())] = &[
    (
        "the_function_that_is_repeated_is_named",
        death::checks::the_function_that_is_repeated_is_named,
    ),
    (
        "a_size_is_shown_in_the_largest_unit_that_fits",
        death::checks::a_size_is_shown_in_the_largest_unit_that_fits,
    ),
    (
        "guards_of_other_threads_make_no_difference",
        isolation::checks::guards_of_other_threads_make_no_difference,
    ),
    (
        "places_in_the_code_of_locks_have_parts",
        locks::checks::places_in_the_code_of_locks_have_parts,
    ),
    (
        "the_word_of_a_lock_tells_who_may_have_it",
        families::checks::the_word_of_a_lock_tells_who_may_have_it,
    ),
    (
        "the_end_of_a_guard_is_known_by_its_form",
        families::checks::the_end_of_a_guard_is_known_by_its_form,
    ),
    ("the_words_of_locks_have_holders", facts::checks::the_words_of_locks_have_holders),
    (
        "operations_behind_the_first_one_of_a_call_are_known",
        queues::checks::operations_behind_the_first_one_of_a_call_are_known,
    ),
    (
        "accesses_that_belong_to_one_step_are_known",
        channels::checks::accesses_that_belong_to_one_step_are_known,
    ),
    (
        "spawns_on_a_runtime_of_one_thread_are_known",
        turns::checks::spawns_on_a_runtime_of_one_thread_are_known,
    ),
    (
        "the_first_access_of_a_library_call_is_known",
        library_calls::checks::the_first_access_of_a_library_call_is_known,
    ),
    ("changes_of_counts_are_known", references::checks::changes_of_counts_are_known),
    (
        "operations_that_show_counts_are_known",
        references::checks::operations_that_show_counts_are_known,
    ),
    (
        "the_line_of_the_user_is_the_first_outside_of_std",
        sites::checks::the_line_of_the_user_is_the_first_outside_of_std,
    ),
    ("the_places_of_a_thread_are_taken_over", sites::checks::the_places_of_a_thread_are_taken_over),
];

/// Runs `body` on a simulated thread, as the current task. The thread has the name `name`, if any. Returns the error
/// that the body returns. If `leaks` is set, an allocation without references at the end is a failure.
///
/// # Panics
/// Panics outside of a simulated run, and if the program has no symbols.
pub(crate) async fn run(
    name: Option<String>,
    body: Box<dyn FnOnce() -> Option<String> + Send>,
    leaks: bool,
) -> Option<String> {
    assert!(crate::seam::in_run(), "plain threads are stepped in a run only");
    set_writer(notes::write);
    let error = Arc::new(Mutex::new(None));
    let slot = error.clone();
    let body = move || as_program(body);
    let with_error = Box::new(move || {
        let error = match name {
            Some(name) => named(name, body),
            None => body(),
        };
        let Some(error) = error else { return };
        on_carrier(|| note(|| Note::Error(error.clone())));
        // The memory of the error ends with the run, so it is cloned outside.
        outside(|| *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone()));
    });
    let begun = begin(with_error, leaks)?;
    drive::drive(0).await;
    let (is_beyond, (_, step)) = WORLD.with(|world| (world.is_beyond(), world.position()));
    // The run ends with the first thread, in its last step. A thread that it spawned in this step would never run.
    let has_begun = |threads: &mut Threads| threads.last_spawn == Some(step);
    if !is_beyond && threads::with(|threads| has_begun(threads) && threads.has_unfinished(None)) {
        YieldPoint::new(&ops::RETURN, here()).await;
    }
    orders::end();
    let memory = memory::check(leaks);
    if let Some(end) = threads::with(|threads| threads.execution().died()) {
        // This check must follow the last request of all threads. A process that ended earlier has already failed its
        // thread.
        death::fail(0, Death::Process(end), here());
    }
    if calls::are_noted() {
        facts::note_panic();
    }
    threads::with(|threads| threads.execution().keep_statics());
    match begun.end() {
        // The panic may be a consequence of the memory error.
        _ if memory.is_some() => memory.into_iter().for_each(|error| fail(|| error)),
        Some(Ended::Panicked(message, place)) => {
            fail(|| Failure::Panic { task: TaskId::MAIN, message, place });
        }
        _ => {}
    }
    let error = error.lock().unwrap_or_else(PoisonError::into_inner).take();
    error.or_else(notes::take_error)
}

/// Begins the threads of a run. `body` is the body of the first thread. Returns `None` if the run has failed.
fn begin(body: Box<dyn FnOnce() + Send>, leaks: bool) -> Option<Begun> {
    let memory = match has_captured() {
        // A checking heap does not know the allocations that earlier runs have left.
        true => {
            memory::draw(leaks);
            Memory::Plain
        }
        false => memory::draw(leaks),
    };
    let (detail, points, clock) = draw_points();
    let execution = match isolation::is_process() {
        true => Execution::begin_apart(body, memory, &isolation::watch()),
        false => Execution::begin_with(body, memory),
    };
    let mut execution = match execution {
        Ok(execution) => execution,
        Err(message) => {
            let place = here().to_string();
            fail(|| Failure::Misuse { message, place });
            return None;
        }
    };
    notes::take_over(&execution.take_left());
    if execution.is_child() {
        isolation::quiet();
    }
    orders::begin(&execution, !clock.readings_differ);
    execution.set_uptime(clock.start);
    if clock.readings_differ {
        execution.tell_readings_apart();
    }
    HAS_RUN.store(true, Ordering::Relaxed);
    // Two reads of a clock differ in all runs of seeds, and in no run of a search.
    let counted = match points.all || points.arc == Some(true) {
        true => Counted::Usually,
        false => Counted::of_run(!clock.readings_differ),
    };
    let begun = Threads::begin(execution, detail, (points, counted), !clock.readings_differ);
    if !unpause_native::std_is_replaced() {
        WORLD.with(|world| world.note_unseen(NOT_REPLACED));
    }
    Some(begun)
}

/// The name of the function below. The `Arc` reference counts in it are not points.
const NAMES_THREAD: &str = "named";

/// Calls `act` on the current simulated thread under the thread name `name`. std names only threads that it creates. So
/// the thread creates a thread and runs the routine of that thread itself.
fn named<R: Send + 'static>(name: String, act: impl FnOnce() -> R + Send + 'static) -> R {
    unpause_native::own_next_thread();
    match thread::Builder::new().name(name).spawn(act).map(JoinHandle::join) {
        Ok(Ok(result)) => result,
        Ok(Err(payload)) => resume_unwind(payload),
        Err(error) => panic!("the thread of the test has no name: {error}"),
    }
}

/// The name of the std functions that synchronise threads, in programs that do not replace them.
const NOT_REPLACED: &str =
    "std's compiled functions, because the program is not linked by `cargo unpause test`";

/// The points that the test asks for.
static WANTED: Mutex<Points> = Mutex::new(Points { all: false, arc: None });

/// Sets the points of future runs.
pub(crate) fn set_points(points: Points) {
    detail::begin_calls();
    note_references(false);
    endless::forget_loops();
    *WANTED.lock().unwrap_or_else(PoisonError::into_inner) = points;
}

/// The clock of a run.
struct DrawnClock {
    /// True if two consecutive reads differ.
    readings_differ: bool,
    /// The start of the monotonic clock, in seconds.
    start: u64,
}

/// Draws the detail in which a run steps its locks, its operations that take few steps, its points, and its clock.
fn draw_points() -> ((Detail, Short), Points, DrawnClock) {
    let wanted = *WANTED.lock().unwrap_or_else(PoisonError::into_inner);
    let starts_differ = unpause_native::has_seeds_of_clock();
    let drawn = draw(wanted.arc, Detail::of_searches(), starts_differ);
    // The trace of an earlier version contains no decision: the setting decides alone.
    let arc = Some(drawn.counts || wanted.arc == Some(true));
    // If all operations are points, no call is stepped as a whole.
    let detail = match wanted.all {
        true => (Detail::Instructions, Short::None),
        false => (Detail::of_number(drawn.detail), Short::of_number(drawn.short)),
    };
    let clock = DrawnClock { readings_differ: drawn.readings_differ, start: drawn.start };
    (detail, Points { arc, ..wanted }, clock)
}

/// The guard of a test that steps plain threads. Only one test at a time may do so, because tests share the statics of
/// the program.
pub(crate) struct Exclusive {
    // This field is first, so that the statics are restored before other threads may access them.
    _captured: Captured,
    _exclusion: Exclusion,
}

/// Waits until no other test steps plain threads. The returned guard restores the statics when it is dropped. Other
/// tests wait until then if they access the statics. `test` is the path of the test in its program.
pub(crate) fn exclusive(test: &str) -> Exclusive {
    exclusive_with(Some(test), false, None)
}

fn exclusive_with(test: Option<&str>, has_captured: bool, keeps: Option<&str>) -> Exclusive {
    let exclusion = exclude(test);
    unpause_native::warm_up();
    Exclusive { _captured: capture(has_captured, keeps), _exclusion: exclusion }
}

/// True if the body of the current test has captured memory.
static HAS_CAPTURED: AtomicBool = AtomicBool::new(false);

/// Returns `true` if the body of the current test has captured memory, which outlives the runs.
pub(crate) fn has_captured() -> bool {
    HAS_CAPTURED.load(Ordering::Relaxed)
}

/// True if this process has executed a run of the current closure, and true if a run has spawned a thread.
static HAS_RUN: AtomicBool = AtomicBool::new(false);
static HAS_SPAWNED: AtomicBool = AtomicBool::new(false);

/// Returns `true` if this process has executed runs of the current closure, and none of them has spawned a thread.
pub(crate) fn spawns_nothing() -> bool {
    HAS_RUN.load(Ordering::Relaxed) && !HAS_SPAWNED.load(Ordering::Relaxed)
}

/// The guard of a test that runs a closure.
pub(crate) struct OfClosure {
    _exclusive: Exclusive,
}

/// Like [`exclusive`]. If the closure `has_captured` memory, the runs leave alone all memory that exists now, and do
/// not treat it as shared. If `keeps` is the name of a crate, its statics keep the values of the last complete run: see
/// [`capture`]. `test` is the path of the test. The default is the name of the current thread.
pub(crate) fn of_closure(test: Option<&str>, has_captured: bool, keeps: Option<&str>) -> OfClosure {
    let exclusive = exclusive_with(test, has_captured, keeps);
    HAS_CAPTURED.store(has_captured, Ordering::Relaxed);
    HAS_RUN.store(false, Ordering::Relaxed);
    HAS_SPAWNED.store(false, Ordering::Relaxed);
    OfClosure { _exclusive: exclusive }
}

impl Drop for OfClosure {
    fn drop(&mut self) {
        HAS_CAPTURED.store(false, Ordering::Relaxed);
    }
}

/// Records a panic of a simulated thread. Returns `false` for other threads.
pub(crate) fn takes_panic(info: &PanicHookInfo<'_>) -> bool {
    if !unpause_native::inside() {
        return false;
    }
    let panicked = outside(|| crate::run::panics::panicked(info));
    unpause_native::note_panic(panicked.message, panicked.place);
    true
}

/// Fails the run with the last panic of the current simulated thread.
pub(crate) fn fail_by_panic() {
    let Some((message, place)) = unpause_native::last_panic() else { return };
    on_carrier(|| {
        let task = TaskId(crate::seam::client() as u32);
        fail(|| Failure::Panic { task, message, place });
    });
}

/// Interrupts the running plain thread while `still` returns `true`; its run fails. Returns `false` if the thread
/// cannot be interrupted at its current instruction, and `None` if no thread runs. `still` may only read atomics.
pub(crate) fn interrupt(still: &(dyn Fn() -> bool + Sync)) -> Option<bool> {
    unpause_native::interrupt(still)
}

/// Returns the name of the program's own crate, if the program shows it.
pub(crate) fn own_crate() -> Option<&'static str> {
    unpause_native::own_crate()
}

/// Returns the command that runs tests.
pub(crate) fn test_command() -> &'static str {
    match (cfg!(unpause_linked), unpause_native::races()) {
        (true, true) => "cargo unpause test --any --races",
        (true, false) => "cargo unpause test --any",
        (false, true) => "cargo unpause test --races",
        (false, false) => "cargo unpause test",
    }
}
