//! Replays that shorten loops.
//!
//! The rounds of released threads are most of the work in a run with endless loops ([`super::spin`]). So the replays of
//! the shrinker [shorten](shorten_loops) loops whose rounds have equal registers. The decisions of such a run are the
//! same, because rounds without points have none.

use std::cell::Cell;

thread_local! {
    /// True while the runs of this thread shorten loops.
    static SHORTENS: Cell<bool> = const { Cell::new(false) };
    /// The reads without points since the last [`take_rounds`].
    static MADE: Cell<Rounds> = const { Cell::new(Rounds { reads: 0, left_out: false }) };
}

/// The rounds of loops without points in some runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    /// The number of reads and yields in these rounds.
    pub(crate) reads: u64,
    /// True if a thread was held although a run that does not shorten loops would give it more rounds.
    pub(crate) left_out: bool,
}

/// Returns the rounds of the runs on this thread since the last call.
pub(crate) fn take_rounds() -> Rounds {
    MADE.replace(Rounds { reads: 0, left_out: false })
}

/// A guard under which the runs of the current thread shorten loops.
pub(crate) struct Shortened(());

/// Gives threads in loops with equal registers only a few rounds when they are released, until the guard is dropped. A
/// loop that counts its rounds in memory may then not terminate. So the result of such a run must be confirmed by a run
/// without the guard.
pub(crate) fn shorten_loops() -> Shortened {
    SHORTENS.set(true);
    Shortened(())
}

impl Drop for Shortened {
    fn drop(&mut self) {
        SHORTENS.set(false);
    }
}

/// Returns `true` while the runs of this thread shorten loops.
pub(super) fn shortens() -> bool {
    SHORTENS.get()
}

/// Records that a thread is held although a run that does not shorten loops would give it more rounds.
pub(super) fn leave_out() {
    MADE.set(Rounds { left_out: true, ..MADE.get() });
}

/// Counts a read or a yield in a round without points.
pub(super) fn count_round() {
    let rounds = MADE.get();
    MADE.set(Rounds { reads: rounds.reads + 1, ..rounds });
}
