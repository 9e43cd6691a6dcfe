//! The orders of the current run, for its carrier and its threads.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

pub use unpause_orders::Rule;
pub(crate) use unpause_orders::{Clock, Done, Orders, Rules, SEQ_CST, acquires, releases};

use super::race::races;
use super::thread::outside;
use super::unseen;

/// The key of all sockets, pipes and other files: see [`Orders::publish`]. No address.
pub(crate) const FILES: usize = 0;

/// True if the current run records its atomic operations.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// True if an instruction in assembly, which is a fence, was executed since the last operation.
static IS_FENCED: AtomicBool = AtomicBool::new(false);

struct Shared(UnsafeCell<Option<Box<Orders>>>);

// SAFETY: used by the only carrier of a run and by its threads, which run one at a time.
unsafe impl Sync for Shared {}

static ORDERS: Shared = Shared(UnsafeCell::new(None));

/// The orders of the current run; `None` if it records none. In code that does not call itself: one reference at a
/// time.
#[inline(always)]
pub(crate) fn orders() -> Option<&'static mut Orders> {
    if !IS_ON.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: see `Shared`.
    unsafe { (*ORDERS.0.get()).as_deref_mut() }
}

/// Begins a run. It sees the newest stores, and records them if data races are searched. For the carrier, between two
/// runs.
pub(crate) fn begin() {
    IS_ON.store(races(), Ordering::Relaxed);
    if let Some(orders) = allocated(races()) {
        orders.reset(Rules::NEWEST);
    }
}

/// Enables weak memory for the run that is about to begin. For the carrier, before the first thread is resumed.
pub(crate) fn weaken() {
    IS_ON.store(true, Ordering::Relaxed);
    IS_FENCED.store(false, Ordering::Relaxed);
    if let Some(orders) = allocated(true) {
        orders.reset(Rules::weak());
    }
}

fn allocated(must: bool) -> Option<&'static mut Orders> {
    // SAFETY: see `Shared`.
    let orders = unsafe { &mut *ORDERS.0.get() };
    if must {
        orders.get_or_insert_default();
    }
    orders.as_deref_mut()
}

/// Notes that an instruction in assembly was executed. Such an instruction is a fence. For a handler of signals.
pub(crate) fn note_instruction() {
    IS_FENCED.store(true, Ordering::Relaxed);
}

/// Does the fence of an instruction in assembly that a thread has executed since its last operation. Instructions are
/// noted once more afterwards.
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
