//! The memory of a run: the values that loads see.
//!
//! By default, memory is sequentially consistent: a load sees the last store to its object, in the order of the steps,
//! and orders weaker than `SeqCst` are treated as `SeqCst`. In a run with the memory `c11`, [`weak`] keeps old stores,
//! and a decision of the run selects the store for a load.
//!
//! Each object of a run has one word. The words of atomics are here, and not in the atomics, so that a `static` starts
//! each run with its initial value, even if several workers use it at once. The words of the first objects are
//! [thread-local](near), where an operation reaches them in a few instructions. The other words are in the [`Memory`]
//! of the world.

pub(super) mod races;
mod surplus;
pub(crate) mod weak;

use std::cell::Cell;
use std::sync::atomic::Ordering;

use unpause_orders::OrderS;

use self::weak::{Asked, Known, Weak};
use crate::run::board::Board;
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::memory_model::Raise;

/// The number of objects in a run whose words are thread-local.
const NEAR: usize = 64;

thread_local! {
    static WORDS: [Cell<u64>; NEAR] = const { [const { Cell::new(0) }; NEAR] };

    /// The effect of orders weaker than `SeqCst` in the current run.
    static WEAKER: Cell<Weaker> = const { Cell::new(Weaker::Nothing) };
}

/// The effect of orders weaker than `SeqCst`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Weaker {
    /// Weaker orders are treated as `SeqCst`.
    #[default]
    Nothing,
    /// Weaker orders are treated as `SeqCst`, and their first use must still be recorded.
    Note,
    /// Operations with weaker orders choose a store.
    Choose,
}

/// Returns the effect of orders weaker than `SeqCst` in the current run.
#[inline(always)]
pub(super) fn weaker() -> Weaker {
    WEAKER.get()
}

/// Ends the recording of weaker orders, because an operation that is treated as `SeqCst` was recorded.
pub(super) fn noted() {
    WEAKER.set(Weaker::Nothing);
}

/// Returns `true` if the word of `object` is thread-local.
#[inline(always)]
pub(crate) fn is_near(object: ObjectId) -> bool {
    object.index() < NEAR
}

/// Calls `act` with the word of an object that [is near](is_near), in the current run of this thread.
#[inline(always)]
pub(crate) fn near<R>(object: ObjectId, act: impl FnOnce(&Cell<u64>) -> R) -> R {
    WORDS.with(|words| act(&words[object.index()]))
}

/// The words of one run, by object, except the thread-local words.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The number of objects, near or far.
    objects: usize,
    /// The words of all but the first [`NEAR`] objects.
    far: Vec<u64>,
    /// The older stores; `None` if no run of this thread has used weak memory.
    weak: Option<Box<Weak>>,
    /// The orders that are strengthened in all runs. `Some` in runs that judge a strengthening.
    pub(super) raised: Option<Vec<Raise>>,
    /// The effect of weaker orders in the last run.
    weaker: Weaker,
    /// True if the run has weak memory, or clocks without weak memory, to detect races.
    uses_weak: bool,
    /// The requested clocks of plain threads, whose memory is not here. `None` if the run has requested none.
    of_threads: Option<Box<OfThreads>>,
}

/// The requested clocks of plain threads.
#[derive(Debug, Default)]
pub(super) struct OfThreads {
    known: Vec<Known>,
    /// True after the first operation with a weaker order, in a run with the memory `c11`.
    pub(super) chooses: bool,
    /// True if the run detects data races.
    pub(super) detects_races: bool,
}

impl OfThreads {
    /// Adds a clock, and returns its number.
    pub(super) fn add(&mut self, known: Known) -> usize {
        self.known.push(known);
        self.known.len() - 1
    }

    /// Returns the clocks. `None` if the run has used no order weaker than `SeqCst`.
    fn known(&self) -> Option<&[Known]> {
        self.chooses.then_some(&self.known)
    }
}

impl Memory {
    /// Removes the content of the last run and keeps the allocation.
    pub(crate) fn clear(&mut self) {
        self.objects = 0;
        self.far.clear();
        self.uses_weak = false;
        self.of_threads = None;
    }

    /// Begins a run with this effect of weaker orders. `seed` is `None` in a search.
    #[inline]
    pub(super) fn begin(&mut self, weaker: Weaker, seed: Option<u64>) {
        // Another worker on the same thread may have left another effect.
        let are_strong = [weaker, self.weaker, WEAKER.get()].map(|each| each == Weaker::Nothing);
        if are_strong != [true; 3] {
            self.begin_weaker(weaker, seed);
        }
    }

    #[cold]
    fn begin_weaker(&mut self, weaker: Weaker, seed: Option<u64>) {
        WEAKER.set(weaker);
        self.weaker = weaker;
        self.uses_weak = weaker == Weaker::Choose;
        if self.uses_weak {
            // Without the exact order S, a strengthening to `SeqCst` would seem to prevent failures that it does not
            // prevent.
            let s = if self.raised.is_some() { OrderS::Exact } else { OrderS::ExactWithMoves };
            self.weak.get_or_insert_with(|| Box::new(Weak::new())).begin(seed, s);
        }
    }

    /// Begins the clocks of the run, unless it has them already.
    pub(super) fn begin_clocks(&mut self, board: &Board) {
        if !self.uses_weak {
            self.uses_weak = true;
            self.weak.get_or_insert_with(|| Box::new(Weak::new())).begin_clocks(board);
        }
    }

    /// Returns the requested clocks of plain threads.
    pub(super) fn of_threads(&mut self) -> &mut OfThreads {
        self.of_threads.get_or_insert_default()
    }

    /// Returns the clocks of plain threads. `None` if the run has requested none, or has used no order weaker than
    /// `SeqCst`.
    pub(super) fn known_of_threads(&self) -> Option<&[Known]> {
        self.of_threads.as_ref()?.known()
    }

    /// Returns the older stores and the clocks, if the run has them.
    #[inline]
    pub(crate) fn weak(&mut self) -> Option<&mut Weak> {
        if self.uses_weak { self.weak.as_deref_mut() } else { None }
    }

    /// Returns `true` if the run detects data races of plain threads.
    pub(super) fn detects_races_of_threads(&self) -> bool {
        self.of_threads.as_ref().is_some_and(|of_threads| of_threads.detects_races)
    }

    /// Returns `true` if the run has the memory `c11` and has used an order weaker than `SeqCst`.
    pub(super) fn chooses(&mut self) -> bool {
        let by_threads = self.of_threads.as_ref().is_some_and(|of_threads| of_threads.chooses);
        by_threads || self.weak().is_some_and(|weak| weak.chooses())
    }

    /// Makes operations at some places have stronger orders in future runs.
    pub(super) fn raise(&mut self, raised: Vec<Raise>) {
        self.raised = Some(raised);
    }

    /// Returns the orders of an operation at this place, and the order of the fence before it, if any.
    pub(super) fn with_raised(&self, mut asked: Asked, place: Place) -> (Asked, Option<Ordering>) {
        let mut fence = None;
        for raise in self.raised.iter().flatten().filter(|raise| raise.place == place) {
            asked = asked.raised(*raise);
            fence = raise.fence().or(fence);
        }
        (asked, fence)
    }

    /// Returns `true` if the machine performs each operation on an atomic.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.uses_weak && self.weak.as_ref().is_some_and(|weak| weak.is_on)
    }

    /// Orders two tasks: see [`Weak::order`].
    #[inline]
    pub(crate) fn order(&mut self, events: usize, tasks: (TaskId, TaskId)) {
        if let Some(weak) = self.weak() {
            weak.order(events, tasks);
        }
    }

    /// Adds the next object, with the word `initial`.
    pub(crate) fn push(&mut self, initial: u64) {
        let object = ObjectId::new(self.objects as u32);
        self.objects += 1;
        match is_near(object) {
            true => near(object, |word| word.set(initial)),
            false => self.far.push(initial),
        }
        if let Some(weak) = self.weak() {
            weak.push(initial);
        }
    }

    /// Returns the value that a load of `object` sees.
    pub(crate) fn load(&self, object: ObjectId) -> u64 {
        match is_near(object) {
            true => near(object, Cell::get),
            false => self.far[object.index() - NEAR],
        }
    }

    /// Stores `value`.
    pub(crate) fn store(&mut self, object: ObjectId, value: u64) {
        match is_near(object) {
            true => near(object, |word| word.set(value)),
            false => self.far[object.index() - NEAR] = value,
        }
    }
}
