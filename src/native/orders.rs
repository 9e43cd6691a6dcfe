//! Memory orders of plain threads: the stores that operations choose, in runs with the memory `c11`.
//!
//! The runtime has the stores that an operation may choose (`orders/` of `unpause-native`). The choice is a decision of
//! the run, and 0 is the newest store. Strategies do not answer it: the value comes from the seed, so that a strategy
//! has the same stream with `c11` and without. A search explores all values.
//!
//! A run chooses uniformly, and one run in four chooses the oldest store nearly always: that halves the runs that store
//! buffering needs. One run in four has moves: a store may take effect before stores that were executed earlier.
//!
//! Operations of std's primitives and of locks, and operations that are no points, see the newest store. They are not
//! under test, and their own orders count nevertheless.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use unpause_native::{Access, Execution, Operation, Rule};

use super::ops;
use super::sites::Site;
use super::threads::with;
use crate::run::event::Values;
use crate::run::memory_model::{MISSES, MemoryModel, PRECEDES};
use crate::run::op::{self, Op};
use crate::seam::{draw, given, seed};

/// A load has not seen this value, which is the newest one.
const MISSED: Op = Op::new(MISSES, op::Access::Read);
/// A store or a read-modify-write has taken effect before the store of this value, which is the newest one.
const PRECEDED: Op = Op::new(PRECEDES, op::Access::Read);

/// The memory order `SeqCst`, as the C ABI numbers it.
const SEQ_CST: u8 = 5;

/// True if the runs to come have the memory `c11`.
static WANTED: AtomicBool = AtomicBool::new(false);

/// True if an operation was taken as `SeqCst` that asks for less.
static STRENGTHENED: AtomicBool = AtomicBool::new(false);

/// Returns `true` if a run since the last call has taken an operation as `SeqCst` that asks for less.
pub(crate) fn take_strengthened() -> bool {
    STRENGTHENED.swap(false, Ordering::Relaxed)
}

/// The choices of a run.
#[derive(Clone, Copy)]
struct Choices {
    /// A number of the seed; `None` in a search.
    seed: Option<u64>,
    /// True if the oldest store is chosen nearly always.
    prefers_oldest: bool,
    /// True if a store may take effect before stores that were executed earlier; `None` before the first choice. So a
    /// run without choices has the decisions of a run with the memory `sc`.
    moves: Option<bool>,
    /// The number of choices so far.
    made: u64,
}

thread_local! {
    /// `None` in a run whose operations see the newest stores.
    static RUN: Cell<Option<Choices>> = const { Cell::new(None) };
}

/// Sets the memory of the runs to come.
pub(crate) fn set(memory: MemoryModel) {
    WANTED.store(memory == MemoryModel::C11, Ordering::Relaxed);
}

/// Begins a run.
pub(super) fn begin(execution: &Execution) {
    RUN.set(None);
    if !WANTED.load(Ordering::Relaxed) {
        return;
    }
    let seed = seed().map(|seed| mixed(seed.wrapping_add(0x51_7CC1_B727_220A)));
    let of_run = seed.unwrap_or(0);
    execution.weaken();
    RUN.set(Some(Choices { seed, prefers_oldest: of_run & 3 == 3, moves: None, made: 0 }));
}

/// Chooses the store for the operation that a thread has requested: 0 for the newest.
#[inline]
pub(super) fn choose(thread: usize, access: &Access, site: Site) -> u32 {
    match RUN.get() {
        None => {
            if access.order != SEQ_CST && !is_trusted(site) {
                STRENGTHENED.store(true, Ordering::Relaxed);
            }
            0
        }
        Some(choices) => choose_one(choices, thread, access, site),
    }
}

fn choose_one(mut choices: Choices, thread: usize, access: &Access, site: Site) -> u32 {
    // The compiler made a loop of a read-modify-write, which reads the newest store.
    if is_trusted(site) || site.looped.is_some() {
        return 0;
    }
    let mut candidates = with(|threads| threads.execution().candidates(thread));
    if candidates < 2 {
        return 0;
    }
    if choices.moves.is_none() {
        let moves = choices.seed.is_some_and(|seed| seed >> 2 & 3 == 3);
        let moves = given(2, u64::from(moves), "stores that take effect early") == 1;
        choices.moves = Some(moves);
        RUN.set(Some(choices));
        if !moves {
            candidates = with(|threads| {
                threads.execution().forbid_moves();
                threads.execution().candidates(thread)
            });
            if candidates < 2 {
                return 0;
            }
        }
    }
    let bound = u64::from(candidates);
    let is_load = matches!(access.operation, Operation::Load | Operation::CompareExchange);
    let why = if is_load { "the store that a load sees" } else { "the place of a store" };
    let Some(seed) = choices.seed else { return draw(bound, why) as u32 };
    choices.made += 1;
    RUN.set(Some(choices));
    let random = mixed(seed ^ choices.made.wrapping_mul(0xD6E8_FEB8_6659_FD93));
    let (coin, random) = (random & 7, random >> 8);
    let value = match choices.prefers_oldest {
        _ if !is_load && coin < 4 => 0,
        true if coin == 0 => 0,
        true => bound - 1,
        false => random % bound,
    };
    given(bound, value, why) as u32
}

/// Returns `true` if the operations of a place see the newest store: operations of std's primitives and of locks do.
fn is_trusted(site: Site) -> bool {
    let is_primitive = site.primitive.is_some() || site.lock.is_some();
    is_primitive && Rule::left_out() != Some(Rule::Primitives)
}

/// Records the newest value, behind an operation that has chosen an older store and has seen `old`.
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

fn mixed(number: u64) -> u64 {
    let mixed = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}
