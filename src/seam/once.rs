//! Values that are created once, outside of runs: the cell of async-lock, and a flag for a panic of the last attempt.

use std::sync::atomic::{AtomicBool, Ordering};

use async_lock::OnceCell;

use crate::run::op::{Access, Op, once};

/// The operations of one kind of call on a once-value.
#[derive(Debug)]
pub(crate) struct OnceOps {
    /// Announced before the call begins; then begins the initialisation.
    pub(crate) begin: Op,
    /// The operations that find the value: without a wait, and after a wait.
    pub(crate) found: [Op; 2],
    /// Waits for the end of the current initialisation.
    pub(crate) queue: Op,
    /// Announced while the call waits.
    pub(crate) hear: Op,
    /// Begins the initialisation after a wait.
    pub(crate) begin_later: Op,
}

impl OnceOps {
    /// Returns the operations of a call with this name that creates the value if it does not exist.
    pub(crate) const fn making(name: &'static str) -> OnceOps {
        OnceOps {
            begin: Op::of_kind(name, Access::Act, once::BEGIN),
            queue: Op::of_kind("wait_for_the_initialisation", Access::Act, once::QUEUE),
            hear: Op::of_kind(name, Access::Wait, once::HEAR),
            begin_later: Op::of_kind(name, Access::Wait, once::BEGIN),
            ..OnceOps::waiting(name)
        }
    }

    /// Returns the operations of a call with this name that waits for the value.
    pub(crate) const fn waiting(name: &'static str) -> OnceOps {
        OnceOps {
            begin: Op::of_kind(name, Access::Read, once::LOOK),
            found: [
                Op::of_kind(name, Access::Read, once::LOOK),
                Op::of_kind(name, Access::Wait, once::LOOK),
            ],
            queue: Op::of_kind("wait_for_the_value", Access::Read, once::LOOK),
            hear: Op::of_kind(name, Access::Wait, once::SEE),
            begin_later: Op::of_kind(name, Access::Wait, once::LOOK),
        }
    }
}

/// A value that is created once, outside of runs.
#[derive(Debug)]
pub(crate) struct RealOnce<T> {
    pub(crate) cell: OnceCell<T>,
    is_poisoned: AtomicBool,
}

impl<T> RealOnce<T> {
    pub(crate) const fn new() -> RealOnce<T> {
        RealOnce { cell: OnceCell::new(), is_poisoned: AtomicBool::new(false) }
    }

    /// Returns the value. If it does not exist, `make` creates it. The argument of `make` is `true` if a previous
    /// attempt has panicked.
    pub(crate) async fn get_or_make<F: Future<Output = T>>(
        &self,
        make: impl FnOnce(bool) -> F,
    ) -> &T {
        let attempt = || async {
            let attempt = Attempt(&self.is_poisoned);
            let value = make(self.is_poisoned.load(Ordering::Relaxed)).await;
            // The initialisation is a critical section of the cell.
            self.is_poisoned.store(false, Ordering::Relaxed);
            drop(attempt);
            value
        };
        self.cell.get_or_init(attempt).await
    }
}

/// A guard that records a panic of an attempt.
struct Attempt<'a>(&'a AtomicBool);

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
