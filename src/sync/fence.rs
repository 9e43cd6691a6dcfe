//! The fence.

use std::future::Future;

use super::Ordering;
use crate::seam::{self, here};

/// Orders the accesses of the task before the fence and after it: std's `fence`. A point.
///
/// By default memory is sequentially consistent in a run, as if there were a `SeqCst` fence beside each access. So in a
/// run a fence has no effect but to let other tasks go first, and a run cannot show that a fence is missing. In a run
/// with the memory `c11` ([`Runner::memory`](crate::Runner::memory)) it orders accesses, and a missing one is found.
/// Outside a run and in the real build it is std's fence, in the thread that polls it.
///
/// # Panics
/// If `order` is `Relaxed`, as std's.
///
/// ```
/// use sim::{Atomic, Ordering::{Relaxed, SeqCst}};
///
/// static FLAGS: [Atomic<bool>; 2] = [Atomic::<bool>::const_new(false), Atomic::<bool>::const_new(false)];
///
/// /// Enters unless the other one has entered.
/// async fn enters(own: usize) -> bool {
///     FLAGS[own].store(true, Relaxed).await;
///     sim::fence(SeqCst).await;
///     !FLAGS[1 - own].load(Relaxed).await
/// }
///
/// #[sim::test]
/// async fn one_of_two_enters() {
///     let entered = sim::map_concurrently(0..2, enters).await;
///     assert_ne!(entered, [true, true]);
/// }
/// # fn main() {}
/// ```
#[track_caller]
pub fn fence(order: Ordering) -> impl Future<Output = ()> + Send {
    assert!(
        order != Ordering::Relaxed,
        "there is no such thing as a relaxed fence: use Acquire, Release, AcqRel or SeqCst"
    );
    seam::fence(here(), order)
}
