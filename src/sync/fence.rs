//! The fence.

use std::future::Future;

use super::Ordering;
use crate::seam::{self, here};

/// Orders the accesses of the task before the fence against its accesses after the fence: std's `fence`. This call is a
/// point.
///
/// By default, memory in a run is sequentially consistent, as if there were a `SeqCst` fence at each access. So a fence
/// is only a point at which other tasks may run first, and a run cannot show that a fence is missing. With the memory
/// model `c11` ([`Runner::memory`](crate::Runner::memory)) a fence orders accesses, and a run can show that a fence is
/// missing. Outside a run and in the real build it is std's fence, on the thread that polls the future.
///
/// # Panics
/// If `order` is `Relaxed`, as in std.
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
