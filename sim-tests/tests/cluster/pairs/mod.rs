//! Pairs of calls: two tasks make one call each on the same objects, and a search must try both orders if they differ.
//!
//! Each call whose line in `sim-tests/tests/tidy/operations.txt` says `operation` is an act here, under its name. The
//! test finds a call that uses run state without an operation, because runs sampled after the search differ from their
//! class.

mod files;
mod halves;
mod links;
mod nodes;
mod sets;
mod tcp;
mod times;
mod udp;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use futures::future::BoxFuture;
use sim::{Atomic, Ordering::SeqCst, spawn};

use super::{screen, search};

/// A call on the objects of a `W`. The call returns its result as text.
pub(super) struct Act<W: 'static> {
    /// The function in the list, or several: `net::cut + net::mend`.
    name: &'static str,
    call: Call<W>,
}

type Call<W> = fn(Arc<W>) -> BoxFuture<'static, String>;

pub(super) fn act<W>(name: &'static str, call: Call<W>) -> Act<W> {
    Act { name, call }
}

/// The objects of a comparison: their creation, and their observable state after the calls.
pub(super) struct World<W: 'static> {
    begin: fn() -> BoxFuture<'static, W>,
    look: Call<W>,
}

/// Two tasks make these calls. The run records what both tasks and the test saw. So sampled runs show if a search
/// wrongly treated two orders as equivalent.
async fn both<W: Send + Sync>(world: &World<W>, [one, other]: [Call<W>; 2]) {
    let objects = Arc::new((world.begin)().await);
    let tasks = [one, other].map(|call| {
        let objects = objects.clone();
        spawn(async move { call(objects).await })
    });
    let mut seen = DefaultHasher::new();
    for task in tasks {
        format!("{:?}", task.await).hash(&mut seen);
    }
    (world.look)(objects).await.hash(&mut seen);
    Atomic::new(0).store(seen.finish(), SeqCst).await;
}

/// Searches the orders of two calls. An error if the search could not order them by their operations, or missed an order.
fn search_both<W: Send + Sync>(world: &World<W>, calls: [Call<W>; 2]) -> Result<(), String> {
    let report = search().run(async || both(world, calls).await);
    let searched = report.searched.as_ref();
    let is_proof = searched.is_some_and(|searched| searched.is_proof() && !searched.by_step);
    if report.passed() && is_proof { Ok(()) } else { Err(screen(&report)) }
}

/// Compares pairs of these acts. An act is also compared with itself. By default each act is paired with a quarter of
/// the others, because a call without an operation is detected in most pairs. `UNPAUSE_LONG=1` compares all pairs.
#[track_caller]
pub(super) fn compare<W: Send + Sync>(world: &World<W>, acts: &[Act<W>]) {
    if !sim::SIMULATED {
        return;
    }
    let every = if sim_tests::histories::long() { 1 } else { 4 };
    for (at, one) in acts.iter().enumerate() {
        let others = acts[at..].iter().step_by(every);
        others.for_each(|other| compare_pair(world, one, other));
    }
}

/// Compares each act of `acts` beside each act of `others`. This function is for acts that only one task at a time may
/// execute.
#[track_caller]
pub(super) fn compare_beside<W: Send + Sync>(world: &World<W>, acts: &[Act<W>], others: &[Act<W>]) {
    if !sim::SIMULATED {
        return;
    }
    for one in acts {
        others.iter().for_each(|other| compare_pair(world, one, other));
    }
}

#[track_caller]
fn compare_pair<W: Send + Sync>(world: &World<W>, one: &Act<W>, other: &Act<W>) {
    if let Err(error) = search_both(world, [one.call, other.call]) {
        panic!("{} beside {}:\n{error}", one.name, other.name);
    }
}

#[test]
fn a_call_without_an_operation_is_found() {
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst as Whole};

    type Both = (AtomicU64, Atomic<u64>);

    let world: World<Both> = World {
        begin: || Box::pin(async { (AtomicU64::new(0), Atomic::new(0)) }),
        look: |_| Box::pin(async { String::new() }),
    };
    let reads: Call<Both> = |both| Box::pin(async move { both.0.load(Whole).to_string() });
    let adds: Call<Both> = |both| Box::pin(async move { both.0.fetch_add(1, Whole).to_string() });
    let sees: Call<Both> = |both| Box::pin(async move { both.1.load(SeqCst).await.to_string() });
    let counts: Call<Both> =
        |both| Box::pin(async move { both.1.fetch_add(1, SeqCst).await.to_string() });
    if sim::SIMULATED {
        assert!(search_both(&world, [reads, adds]).is_err());
        assert!(search_both(&world, [adds, adds]).is_err());
        assert_eq!(search_both(&world, [reads, reads]), Ok(()));
        assert_eq!(search_both(&world, [sees, counts]), Ok(()));
        assert_eq!(search_both(&world, [counts, counts]), Ok(()));
    }
}
