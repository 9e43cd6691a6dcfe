//! The happens-before state of the current run, for its carrier and its threads.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

pub use unpause_orders::{Clock, Manner, OrderS, Rule};
pub(crate) use unpause_orders::{Done, Orders, Rules, SEQ_CST, acquires, releases};

use super::race::races;
use super::thread::outside;
use super::unseen;

/// The key for all sockets, pipes and other files: see [`Orders::publish`]. It is not an address.
pub(crate) const FILES: usize = 0;

/// True if the current run records its atomic operations.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// True if a call of the current run has a clock.
static HAS_CLOCKS: AtomicBool = AtomicBool::new(false);

/// True if an assembly instruction that acts as a fence was executed since the last operation.
static IS_FENCED: AtomicBool = AtomicBool::new(false);

struct Shared(UnsafeCell<Option<Box<Orders>>>);

// SAFETY: only the carrier of a run and the threads of the run use the value, and they execute one at a time.
unsafe impl Sync for Shared {}

static ORDERS: Shared = Shared(UnsafeCell::new(None));

/// Returns the orders of the current run; `None` if it records no orders. The code must not call itself, so that only
/// one reference exists at a time.
#[inline(always)]
pub(crate) fn orders() -> Option<&'static mut Orders> {
    if !IS_ON.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: see `Shared`.
    unsafe { (*ORDERS.0.get()).as_deref_mut() }
}

/// Begins a run that sees the newest stores. The run records operations only if the test searches for data races.
/// Called by the carrier between two runs.
pub(crate) fn begin() {
    IS_ON.store(races(), Ordering::Relaxed);
    HAS_CLOCKS.store(false, Ordering::Relaxed);
    if let Some(orders) = allocated(races()) {
        orders.reset(Rules::NEWEST);
    }
}

/// Makes the run that is about to begin a run of a search, which distinguishes uncertain edges. Has an effect only if
/// the test searches for data races. The carrier calls it before it resumes the first thread.
pub(crate) fn begin_search() {
    if let Some(orders) = orders() {
        orders.reset(Rules::NEWEST.in_search());
    }
}

/// Enables weak memory with this order S for the run that is about to begin. A run of a search records outcomes that
/// the search does not try. The carrier calls it before it resumes the first thread.
pub(crate) fn weaken(s: OrderS, is_search: bool) {
    IS_ON.store(true, Ordering::Relaxed);
    IS_FENCED.store(false, Ordering::Relaxed);
    if let Some(orders) = allocated(true) {
        let rules = Rules::weak(s);
        orders.reset(if is_search { rules.in_search() } else { rules });
    }
}

/// Ends weak memory for the rest of the run, which is beyond its step limit. From then on, all operations see the
/// newest stores, which memory contains. Has no effect if the test searches for data races, or if calls of the run have
/// clocks: the clocks of later calls must include the edges between them.
pub(crate) fn end_weak() {
    if !races() && !HAS_CLOCKS.load(Ordering::Relaxed) {
        IS_ON.store(false, Ordering::Relaxed);
    }
}

/// Returns the clock of a thread of the current run: the events that happen before its next event. `None` if the run
/// has no weak memory. Called by the carrier.
pub fn clock_of(thread: usize) -> Option<Clock> {
    let orders = orders().filter(|orders| orders.is_weak())?;
    HAS_CLOCKS.store(true, Ordering::Relaxed);
    Some(orders.clock_of_call(thread).clone())
}

fn allocated(must: bool) -> Option<&'static mut Orders> {
    // SAFETY: see `Shared`.
    let orders = unsafe { &mut *ORDERS.0.get() };
    if must {
        orders.get_or_insert_default();
    }
    orders.as_deref_mut()
}

/// Records that an assembly instruction was executed, which acts as a fence. Called by a signal handler.
pub(crate) fn note_instruction() {
    IS_FENCED.store(true, Ordering::Relaxed);
}

/// Performs the fence of an assembly instruction that a thread has executed since its last operation. Afterwards,
/// instructions are recorded again.
#[inline(always)]
pub(crate) fn fence_as_noted(thread: usize) {
    if IS_ON.load(Ordering::Relaxed) && IS_FENCED.load(Ordering::Relaxed) {
        fence_now(thread);
    }
}

#[cold]
fn fence_now(thread: usize) {
    IS_FENCED.store(false, Ordering::Relaxed);
    if let Some(orders) = orders().filter(|orders| orders.is_weak()) {
        if orders.has(Rule::Instructions) {
            outside(|| orders.fence(thread, SEQ_CST));
        }
        unseen::watch_again();
    }
}
