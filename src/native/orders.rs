//! Memory orders of plain threads: the choice of stores by operations, in runs with the memory `c11`.
//!
//! The runtime stores the candidates of an operation (`orders.rs` of `unpause-native`). `store_choice.rs` of
//! `unpause-run` chooses between them.
//!
//! Operations of std primitives and of locks, and operations that are not points, see the newest store. They are not
//! under test, but their memory orders still create happens-before edges. In a search, the machine checks if such an
//! operation may have hidden an outcome ([`Manner`]). The search is then not a proof.

use std::cell::Cell;
use std::sync::atomic::Ordering as MemoryOrder;
use std::sync::atomic::{AtomicBool, Ordering};

use unpause_native::{Access, Execution, Frame, Manner, Operation, OrderS, Rule};
use unpause_ordered::Set;

use super::ops;
use super::sites::Site;
use super::threads::with;
use crate::rt::{WORLD, World};
use crate::run::event::Values;
use crate::run::memory_model::{MISSED, MemoryModel, PRECEDED, Raise, Stronger};
use crate::run::store_choice::{Decision, StoreChoices};
use crate::run::untried::Untried;
use crate::seam::{draw, given, seed};

/// The number of the memory order `SeqCst` in the C ABI.
const SEQ_CST: u8 = 5;

/// True if future runs use the memory `c11`.
static WANTED: AtomicBool = AtomicBool::new(false);

/// True if a run treated an operation with a weaker order as `SeqCst`.
static STRENGTHENED: AtomicBool = AtomicBool::new(false);

/// Returns `true` if, since the last call, a run treated an operation with a weaker order as `SeqCst`.
pub(crate) fn take_strengthened() -> bool {
    STRENGTHENED.swap(false, Ordering::Relaxed)
}

thread_local! {
    /// The store choices of the run. `None` in a run whose operations see the newest stores.
    static RUN: Cell<Option<StoreChoices>> = const { Cell::new(None) };

    /// True after the first operation of the program with an order weaker than `SeqCst`. Before, operations see the
    /// newest stores, as in a run of tasks. This loses no outcome, because some run executes them in the order S.
    static IS_WEAKER: Cell<bool> = const { Cell::new(false) };

    /// True in a run of a search that searches for data races, or whose operations may see older stores.
    static IS_OF_SEARCH: Cell<bool> = const { Cell::new(false) };
}

/// Sets the memory model of future runs.
pub(crate) fn set(memory: MemoryModel) {
    WANTED.store(memory == MemoryModel::C11, Ordering::Relaxed);
}

/// Returns `true` if loads may return older stores in the current run: it uses the memory `c11`.
pub(crate) fn may_be_old() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Begins a run, which belongs to a search if `is_search`.
pub(super) fn begin(execution: &Execution, is_search: bool) {
    RUN.set(None);
    IS_WEAKER.set(false);
    let finds_races = is_search && unpause_native::races();
    IS_OF_SEARCH.set(finds_races);
    if finds_races {
        // The clock of each store can order two accesses.
        WORLD.with(World::detects_races_of_threads);
        execution.begin_search();
    }
    let raised = WORLD.with(World::raised);
    // Without the exact order S, a strengthening to `SeqCst` seems to prevent failures that it allows.
    let s = if raised.is_some() { OrderS::Exact } else { OrderS::ExactWithMoves };
    with(|threads| threads.raised = raised.unwrap_or_default());
    if !WANTED.load(Ordering::Relaxed) {
        return;
    }
    let choices = StoreChoices::new(seed());
    execution.weaken(s, choices.is_of_search());
    IS_OF_SEARCH.set(choices.is_of_search());
    RUN.set(Some(choices));
}

/// Ends a run that was not cut. In a search, records if the search is no proof because of memory orders, or because
/// equivalent orders may have data races.
pub(super) fn end() {
    if !is_of_search() {
        return;
    }
    let (has_missed, has_hidden) = with(|threads| {
        let execution = threads.execution();
        (RUN.get().is_some() && execution.has_missed(), execution.has_hidden_race())
    });
    if has_missed {
        WORLD.with(|world| world.note_untried(Untried::Orders));
    }
    if has_hidden {
        WORLD.with(|world| world.note_untried(Untried::Beyond(HIDDEN_RACES)));
    }
}

/// Races that a search may not find. Equivalent orders of some operations, such as two reads of one lock, order the
/// accesses in different ways.
const HIDDEN_RACES: &str =
    "data races that only the order of two reads of a lock, or of two clones or drops, prevents";

/// Removes the note of hidden races, because the search restarts.
pub(crate) fn forget_hidden_races(untried: &mut Set<Untried>) {
    untried.remove(&Untried::Beyond(HIDDEN_RACES));
}

/// Returns `true` in a run of a search that searches for data races, or whose operations may see older stores.
fn is_of_search() -> bool {
    IS_OF_SEARCH.get()
}

/// Sets how a search treats the next operation of the current thread.
pub(super) fn treat(manner: Manner) {
    if is_of_search() {
        with(|threads| threads.execution().set_manner(manner));
    }
}

/// Returns `true` in a run of a search for data races whose operations see the newest stores.
pub(super) fn finds_races() -> bool {
    is_of_search() && RUN.get().is_none()
}

/// Sets how a search for data races treats the next operation, which changes a count of references, if these changes
/// are effects of steps. If the operation commutes with other changes, the search does not try its other orders.
pub(super) fn treat_count(commutes: bool) {
    if finds_races() {
        treat(if commutes { Manner::OfSharedLock } else { Manner::InTurn });
    }
}

/// Records in a search that a weak compare-exchange is not tried with a spurious failure on an older store. It fails on
/// the newest store.
pub(super) fn fails_on_newest_only(thread: usize) {
    if is_of_search() {
        with(|threads| threads.execution().fails_on_newest_only(thread));
    }
}

/// Returns the treatment of an operation that is a step and sees the newest store.
pub(super) fn in_turn(site: Site) -> Manner {
    match () {
        () if site.ends_wait => Manner::OfWait,
        // Other code of parking_lot than the functions of its locks uses the words, too.
        () if site.primitive.is_some() && is_trusted(site) => Manner::OfPrimitive,
        () => Manner::InTurn,
    }
}

/// Makes the operation that a thread has requested choose another store than the last operation of the thread, if the
/// newest store is another one. The thread is in a loop that reads a single value: while it reads the same store, it
/// repeats its round.
pub(super) fn await_change(thread: usize) {
    with(|threads| threads.execution().await_change(thread));
}

/// Returns `true` if operations of the program choose stores, in a run of a search.
pub(super) fn are_searched() -> bool {
    IS_WEAKER.get() && RUN.get().is_some_and(|choices| choices.is_of_search())
}

/// Chooses a store for the operation that a thread has requested. Returns 0 for the newest store.
#[inline]
pub(super) fn choose(thread: usize, access: &Access, site: Site) -> u32 {
    match RUN.get() {
        None => {
            treat(in_turn(site));
            if is_weaker(access) && !is_trusted(site) {
                STRENGTHENED.store(true, Ordering::Relaxed);
            }
            0
        }
        Some(choices) => choose_one(choices, thread, access, site),
    }
}

/// Returns `true` if an order of the operation, or of its failure, is weaker than `SeqCst`.
#[inline]
fn is_weaker(access: &Access) -> bool {
    let may_fail = access.operation == Operation::CompareExchange;
    access.order != SEQ_CST || may_fail && access.failure != SEQ_CST
}

fn choose_one(mut choices: StoreChoices, thread: usize, access: &Access, site: Site) -> u32 {
    treat(in_turn(site));
    if is_trusted(site) {
        return 0;
    }
    if is_weaker(access) && !IS_WEAKER.replace(true) {
        WORLD.with(World::note_weaker);
    }
    if !IS_WEAKER.get() {
        return 0;
    }
    // The compiler turned a read-modify-write into a loop over compare-exchanges.
    let is_loop = site.looped.is_some();
    let mut candidates = with(|threads| threads.execution().candidates(thread, is_loop));
    if candidates < 2 {
        return 0;
    }
    if let Some(decision) = choices.moves() {
        let moves = answer(decision) == 1;
        choices.set_moves(moves);
        RUN.set(Some(choices));
        if !moves {
            candidates = with(|threads| {
                threads.execution().forbid_moves();
                threads.execution().candidates(thread, is_loop)
            });
            if candidates < 2 {
                return 0;
            }
        }
    }
    let may_load = matches!(access.operation, Operation::Load | Operation::CompareExchange);
    let is_load = may_load && !is_loop;
    let decision = choices.store(u64::from(candidates), is_load);
    RUN.set(Some(choices));
    answer(decision) as u32
}

fn answer(Decision { bound, value, why }: Decision) -> u64 {
    match value {
        Some(value) => given(bound, value, why),
        None => draw(bound, why),
    }
}

/// Returns the operation with the memory orders that `raised` gives to operations at its place, and the order of the
/// fence before it, if any.
#[cold]
pub(super) fn raise(raised: &[Raise], access: Access, site: Site) -> (Access, Option<u8>) {
    let of_place = raised.iter().filter(|raise| raise.place == site.place && !is_trusted(site));
    of_place.fold((access, None), |(access, fence), raise| {
        let raised = |number: u8| number_of(raise.of(order(number)));
        let raised = match (access.operation, raise.by) {
            (Operation::Load, Stronger::Release) | (Operation::Store, Stronger::Acquire) => access,
            (Operation::CompareExchange, Stronger::Acquire | Stronger::SeqCst) => {
                Access { order: raised(access.order), failure: raised(access.failure), ..access }
            }
            _ => Access { order: raised(access.order), ..access },
        };
        (raised, raise.fence().map(number_of).or(fence))
    })
}

/// Returns `true` if operations at this place see the newest store, as operations of std primitives and of locks do.
fn is_trusted(site: Site) -> bool {
    let is_primitive = site.primitive.is_some() || site.lock.is_some();
    is_primitive && Rule::left_out() != Some(Rule::Primitives)
}

/// Returns `true` for a function of loom's cells, which count their accesses by relaxed operations.
pub(super) fn is_of_cell(frame: &Frame) -> bool {
    frame.is_of_facade() && frame.file.ends_with("/src/cell.rs")
}

/// Records the newest value after an operation that has chosen an older store and has seen `old`.
pub(super) fn note(thread: usize, access: &Access, old: u64, site: Site) {
    let (word, newest) = with(|threads| {
        let word = threads.word_at(access.address, ops::kind(access), site);
        let execution = threads.execution();
        let newest = execution.value(thread);
        (word, execution.stable_value(newest))
    });
    let op = if access.changes(old) { &PRECEDED } else { &MISSED };
    word.note(op, site.place, Values::Read(newest));
}

/// Records the memory order of the last operation, which has seen `old`, in a run with the memory `c11`. The operations
/// of a cell have no order to show, because the program does not contain them.
#[inline]
pub(super) fn mark(access: &Access, old: u64, site: Site) {
    if RUN.get().is_some() && !is_trusted(site) && !site.is_of_cell {
        let is_failed = access.operation == Operation::CompareExchange && !access.changes(old);
        let number = if is_failed { access.failure } else { access.order };
        WORLD.with(|world| world.mark_order(order(number)));
    }
}

/// Returns the memory order with this number in the C ABI.
pub(super) fn order(number: u8) -> MemoryOrder {
    match number {
        0 => MemoryOrder::Relaxed,
        1 | 2 => MemoryOrder::Acquire,
        3 => MemoryOrder::Release,
        4 => MemoryOrder::AcqRel,
        _ => MemoryOrder::SeqCst,
    }
}

fn number_of(order: MemoryOrder) -> u8 {
    match order {
        MemoryOrder::Relaxed => 0,
        MemoryOrder::Acquire => 2,
        MemoryOrder::Release => 3,
        MemoryOrder::AcqRel => 4,
        _ => SEQ_CST,
    }
}
