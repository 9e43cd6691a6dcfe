//! Values that are initialized once, and work that is done once.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use futures::FutureExt;
use sim::Ordering::SeqCst;
use sim::run::Failure;
use sim::task::yield_now;
use sim::{Atomic, LazyLock, Once, OnceLock, map_concurrently, spawn};

use super::{fails, holds, panics, waits};

/// Two tasks connect, and one connection is kept.
async fn connected(at_once: bool) {
    let (cell, connections) = (Arc::new(OnceLock::new()), Arc::new(AtomicU32::new(0)));
    let connect = |task: u32| {
        let (cell, connections) = (cell.clone(), connections.clone());
        async move {
            let connect = async || {
                yield_now().await;
                connections.fetch_add(1, SeqCst);
                task
            };
            if at_once {
                cell.get_or_init(connect).await;
            } else if cell.get().await.is_none() {
                let _ = cell.set(connect().await).await;
            }
        }
    };
    map_concurrently(0..2, connect).await;
    assert_eq!(connections.load(SeqCst), 1, "connected more than once");
}

#[test]
fn a_look_before_a_write_connects_twice() {
    let text = "connected more than once";
    panics(text, async || connected(false).await, async || connected(true).await);
}

/// Creates a table once. A flag or a `Once` records that the table exists.
async fn tables(with_once: bool) {
    let shared = Arc::new((Once::new(), Atomic::new(false), Atomic::new(0)));
    map_concurrently([shared.clone(), shared], |shared| async move {
        let (once, begun, table) = &*shared;
        if with_once {
            once.call_once(|| async { table.store(7, SeqCst).await }).await;
            assert!(once.is_completed().await);
        } else if !begun.swap(true, SeqCst).await {
            table.store(7, SeqCst).await;
        }
        assert_eq!(table.load(SeqCst).await, 7, "the table is not made");
    })
    .await;
}

#[test]
fn a_flag_says_too_early_that_a_table_is_made() {
    panics("the table is not made", async || tables(false).await, async || tables(true).await);
}

/// A task waits for a value that another task may create.
async fn awaited(makes: bool) {
    let cell = Arc::new(OnceLock::new());
    let own = cell.clone();
    let task = spawn(async move { *own.wait().await });
    if makes || cell.get().await.is_some() {
        cell.set(7).await.unwrap();
    }
    assert_eq!(task.await.unwrap(), 7);
}

#[test]
fn a_value_that_is_never_made_is_awaited_for_ever() {
    waits(async || awaited(false).await, async || awaited(true).await);
}

#[test]
fn an_initialisation_that_is_dropped_is_begun_by_another_task() {
    holds(async || {
        let cell = Arc::new(OnceLock::new());
        let make = |task: u32| {
            let cell = cell.clone();
            async move {
                let slowly = async || {
                    yield_now().await;
                    task
                };
                *cell.get_or_init(slowly).await
            }
        };
        let (dropped, other) = (spawn(make(1)), spawn(make(2)));
        yield_now().await;
        dropped.abort();
        let (first, second) = (dropped.await, other.await.unwrap());
        match first {
            Ok(first) => assert_eq!(first, second),
            Err(_) => assert_eq!(second, 2),
        }
        assert_eq!(cell.get().await, Some(&second));
    });
}

/// The value after an initialisation that panicked.
async fn recovers(cell: &OnceLock<u32>) -> u32 {
    let failing = cell.get_or_init(async || panic!("the first attempt"));
    let failed = AssertUnwindSafe(failing).catch_unwind().await.map(drop);
    assert!(failed.is_err());
    *cell.get_or_init(async || 7).await
}

#[test]
fn a_cell_recovers_from_a_panic() {
    holds(async || assert_eq!(recovers(&OnceLock::new()).await, 7));
    assert_eq!(sim::block_on(async { recovers(&OnceLock::new()).await }), 7);
}

async fn is_poisoned() {
    let once = Once::new();
    let panics = async || panic!("the first attempt");
    let failed = AssertUnwindSafe(once.call_once(panics)).catch_unwind().await;
    assert!(failed.is_err() && !once.is_completed().await);
    let again = AssertUnwindSafe(once.call_once(async || {})).catch_unwind().await;
    let payload = again.expect_err("it is poisoned");
    let message = payload.downcast_ref::<&str>().copied();
    assert!(message.is_some_and(|message| message.contains("poisoned")), "{message:?}");
    once.call_once_force(async |state| assert!(state.is_poisoned())).await;
    assert!(once.is_completed().await);
    once.call_once(async || panic!("it is done")).await;
}

#[test]
fn a_panic_poisons_a_once() {
    holds(async || is_poisoned().await);
    sim::block_on(is_poisoned());
}

#[test]
fn an_initialisation_that_needs_itself_is_refused() {
    let body = async || {
        let cell = OnceLock::new();
        let inner = async || *cell.get_or_init(async || 1).await + 1;
        cell.get_or_init(async || inner().await).await;
    };
    if let Some((failure, screen)) = fails(body) {
        let Failure::Misuse { message, place } = failure else { panic!("{screen}") };
        assert!(message.contains("asks for the same OnceLock"), "{message}");
        assert!(place.contains("once.rs"), "{place}");
    }
    let outside = std::panic::catch_unwind(|| sim::block_on(body()));
    let payload = outside.expect_err("it would wait for itself");
    assert!(payload.downcast_ref::<String>().unwrap().contains("asks for the same OnceLock"));
    // Two branches of one task may wait for the same cell.
    holds(async || {
        let cell = OnceLock::new();
        let slowly = async || {
            yield_now().await;
            1
        };
        let (one, two) = sim::task::join!(cell.get_or_init(slowly), cell.get_or_init(async || 2));
        assert_eq!(one, two);
    });
}

static MADE: AtomicU32 = AtomicU32::new(0);
static CELL: OnceLock<u32> = OnceLock::new().named("cell");
static TABLE: LazyLock<Vec<u32>> = LazyLock::new(|| {
    Box::pin(async {
        yield_now().await;
        MADE.fetch_add(1, SeqCst);
        vec![1, 2, 3]
    })
});

#[test]
fn statics_begin_anew_in_each_run() {
    let body = async || {
        let first = CELL.get().await.copied();
        let tables = map_concurrently(0..2, |task| async move {
            CELL.get_or_init(async || task).await;
            std::ptr::from_ref(LazyLock::force(&TABLE).await).addr()
        });
        let tables = tables.await;
        assert_eq!(tables[0], tables[1], "one table in a run");
        assert!(!sim::SIMULATED || first.is_none(), "the value of an earlier run");
    };
    let before = MADE.load(SeqCst);
    sim::block_on(async { assert_eq!(LazyLock::force(&TABLE).await.len(), 3) });
    let report = sim::Runner::new().hermetic().seeds(0..40).run(body);
    assert!(report.passed());
    let made = MADE.load(SeqCst) - before;
    assert!(if sim::SIMULATED { made > 40 } else { made == 1 }, "{made}");
    holds(body);
}

#[test]
fn values_can_be_taken_out() {
    holds(async || {
        let mut cell = OnceLock::new();
        assert_eq!(cell.get_mut(), None);
        cell.set(vec![1]).await.unwrap();
        cell.get_mut().unwrap().push(2);
        assert_eq!(cell.take(), Some(vec![1, 2]));
        assert_eq!(cell.get().await, None);
        cell.set(vec![3]).await.unwrap();
        assert_eq!(cell.set(vec![4]).await, Err(vec![4]));
        assert_eq!(cell.into_inner(), Some(vec![3]));
    });
}
