//! Chances of plain threads: early ends of timers, waits that end without a wake-up, and spurious failures of
//! `compare_exchange_weak`.
//!
//! Each chance is a decision of the run at the operation where it may happen; 0 means "it does not happen". Strategies
//! do not answer it. The value comes from the seed, so that a strategy has the same random stream with and without
//! chances. A search explores both values. The set of chances in a run is a decision, too (`memory::draw`), so a trace
//! needs no setting.
//!
//! A chance has no immediate effect: it enables the thread, and the strategy chooses when the thread runs.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU8, Ordering};

use unpause_native::{Access, Manner};

use super::orders;
use super::sites::{Loose, Site};
use super::threads::with;
use crate::rt::{WORLD, World};
use crate::run::chances::{Chance, Chances};
use crate::run::ids::{Place, TaskId};
use crate::run::op::{self, Op};
use crate::run::untried::Untried;
use crate::seam::{ForeignWord, client, draw, given, seed};

/// A timer expires although other threads can continue.
pub(super) const ENDS_EARLY: Op = Op::new("ends_early", op::Access::Wake);
/// A sleep, which has no object, ends although other threads can continue.
pub(super) const SLEEP_ENDS_EARLY: Op = Op::new("ends_early", op::Access::Yield);
/// A sleep of shuttle's names is a point. It is no yield, which strategies would take for a sign of a loop.
pub(super) const SLEPT: Op = Op::new("sleep", op::Access::Read);
/// A waiter leaves its queue without a wake-up.
pub(super) const WAKES_SPURIOUSLY: Op = Op::new("wakes_spuriously", op::Access::Wake);

/// The maximum number of times that each chance happens in a run of a search. Without a limit, a thread in a loop could
/// wake spuriously for ever.
const TAKEN_MAX: u32 = 2;

/// The chances of future runs.
static SET: AtomicU8 = AtomicU8::new(0);

thread_local! {
    /// The chances of the current run.
    static RUN: Cell<Chances> = const { Cell::new(Chances::of_number(0)) };
    /// The number of decisions of the current run.
    static DECIDED: Cell<u64> = const { Cell::new(0) };
    /// The number of times that each chance has happened in the current run.
    static TAKEN: Cell<[u32; 3]> = const { Cell::new([0; 3]) };
}

/// Sets the chances of future runs.
pub(crate) fn set(chances: Chances) {
    SET.store(chances.number(), Ordering::Relaxed);
}

/// Returns the chances that the test asks for.
pub(super) fn wanted() -> Chances {
    Chances::of_number(SET.load(Ordering::Relaxed))
}

/// Begins a run with `chances`.
pub(super) fn begin(chances: Chances) {
    RUN.set(chances);
    DECIDED.set(0);
    TAKEN.set([0; 3]);
}

/// Returns `true` if the current run has this chance.
pub(super) fn has(chance: Chance) -> bool {
    RUN.get().has(chance)
}

/// Records that a thread waits for a time that does not come while another thread can step.
pub(super) fn note_wait_for_time() {
    if !has(Chance::Timer) {
        WORLD.with(World::note_wait_for_time);
    }
}

/// Decides if the chance happens here. If the run does not have the chance, there is no decision.
pub(super) fn happens(chance: Chance) -> bool {
    has(chance) && decides(chance)
}

/// Decides if a wait at this place ends without a wake-up. `park` of shuttle's names has this chance in every run.
pub(super) fn wakes(site: Site) -> bool {
    match site.loose {
        Some(Loose::Park) => decides(Chance::Spurious),
        _ => site.wakes_spuriously && happens(Chance::Spurious),
    }
}

/// Returns `true` if a sleep of shuttle's names is only a point: shuttle has no time. In a search, where a loop of such
/// sleeps would have no end, sleeps take time.
pub(super) fn passes() -> bool {
    let value = u64::from(seed().is_some());
    given(2, value, "a sleep that is only a point") != 0
}

/// Decides if the chance happens here.
fn decides(chance: Chance) -> bool {
    let nth = DECIDED.replace(DECIDED.get() + 1);
    let mut taken = TAKEN.get();
    let why = why(chance);
    let value = match seed() {
        Some(seed) => given(2, by_seed(seed, nth), why),
        None if taken[chance as usize] < TAKEN_MAX => draw(2, why),
        None => {
            WORLD.with(|world| world.note_untried(Untried::Beyond(beyond(chance))));
            given(2, 0, why)
        }
    };
    taken[chance as usize] += value as u32;
    TAKEN.set(taken);
    value != 0
}

fn why(chance: Chance) -> &'static str {
    match chance {
        Chance::Timer => "a timer that ends early",
        Chance::Spurious => "a spurious wake-up",
        Chance::Weak => "a spurious failure",
    }
}

/// Returns the part of the program that a search with this chance does not see.
fn beyond(chance: Chance) -> &'static str {
    match chance {
        Chance::Timer => "more than two timers of a run that end early",
        Chance::Spurious => "more than two spurious wake-ups of a run",
        Chance::Weak => "more than two spurious failures of a run",
    }
}

/// Derives the `nth` decision of a run from its seed.
///
/// The probability is 1/4, 1/16, 1/64 or 1/256, depending on the seed. A run may have one operation with a chance, or
/// thousands. Suppose that a bug needs the chance at one operation, and that the chance at another operation hides it.
/// Then the best probability is the inverse of the number of such operations. For 2 to 512 operations, a quarter of the
/// runs have the best probability, up to a factor of two.
fn by_seed(seed: u64, nth: u64) -> u64 {
    let mixed = |number: u64| {
        let mixed = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    };
    // The lower bits of the seed choose a strategy. The upper bits of another product choose the heap.
    let of_run = mixed(seed.wrapping_add(0x9E37_79B9_7F4A_7C15));
    let shift = 2 * (1 + (of_run >> 62));
    u64::from(mixed(of_run.wrapping_add(nth)) >> (64 - shift) == 0)
}

/// Announces that the thread resumes after a wait. The thread waits for a wake-up or its timer; if `at_once` is true,
/// it can also continue at once. The strategy chooses when.
pub(super) async fn resume(word: &ForeignWord, op: &'static Op, place: Place, at_once: bool) {
    let mut resumed = pin!(word.resume(op, place));
    let mut announced = false;
    poll_fn(|cx| {
        let polled = resumed.as_mut().poll(cx);
        if at_once && !std::mem::replace(&mut announced, true) {
            WORLD.with(|world| world.resume(TaskId(client() as u32)));
        }
        polled
    })
    .await;
}

/// The report text for a part of the program that a search does not see: a comparison that cannot be made to fail.
const COMPILED: &str = "spurious failures where the compiled code has another form";

/// Decides if this `compare_exchange_weak`, which the thread has requested, fails although it sees the expected value.
/// If so, performs it and returns the value that it has seen, twice.
pub(super) fn fail_weakly(thread: usize, access: &Access) -> Option<(u64, u64)> {
    if !has(Chance::Weak) {
        return None;
    }
    // An operation that fails anyway needs no decision. An operation that writes the expected value again succeeds.
    if !access.changes(with(|threads| threads.execution().value(thread))) {
        orders::fails_on_newest_only(thread);
        return None;
    }
    if !happens(Chance::Weak) {
        return None;
    }
    orders::treat(Manner::InTurn);
    let failed = with(|threads| threads.execution().perform_failing(thread));
    if failed.is_none() {
        WORLD.with(|world| world.note_unseen(COMPILED));
    }
    failed
}

/// The report text for a part of the program that searches do not see: the order of clock reads when a timer expires
/// early.
const CLOCKS: &str = "clocks, which a timer that ends early moves on";

/// Advances the time to `deadline`, although other threads can continue.
pub(super) fn pass_time(deadline: u64) {
    WORLD.with(|world| world.note_unseen(CLOCKS));
    with(|threads| threads.execution().advance_past(deadline));
    WORLD.with(|world| world.pass_time(deadline));
}
