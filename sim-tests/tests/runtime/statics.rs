//! Atomics and cells in a `static`, and the values of `get_mut` and `into_inner`.

use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::run::Failure;
use sim::{Atomic, Cell, Runner, SIMULATED};
use sim_tests::seeds::{fails, passes};

#[test]
fn a_static_starts_every_run_afresh_with_four_jobs_at_once() {
    static HITS: Atomic<u64> = Atomic::<u64>::const_new(5);
    static LAST: Cell<Option<String>> = Cell::const_new(None);
    if !SIMULATED {
        return;
    }
    let report = Runner::new().hermetic().seeds(0..3000).jobs(4).run(async || {
        assert_eq!(LAST.get().await, None);
        let tasks: Vec<_> = (0..3)
            .map(|n: u64| {
                sim::spawn(async move {
                    HITS.fetch_add(n, SeqCst).await;
                    LAST.set(Some(n.to_string())).await;
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(HITS.load(SeqCst).await, 8);
        assert!(LAST.replace(None).await.is_some());
    });
    assert!(report.passed(), "{:?}", report.finding);
    assert_eq!(report.runs, 3000);
    assert_eq!(sim::block_on(HITS.load(SeqCst)), 5);
    assert_eq!(sim::block_on(LAST.get()), None);
}

#[cfg_attr(feature = "sim", test)]
fn an_atomic_that_the_body_captures_starts_every_run_afresh() {
    let captured = Arc::new(Atomic::new(1u8));
    let cell = Cell::new(vec![1]);
    sim::block_on(captured.store(3, SeqCst));
    passes("captured", async || {
        assert_eq!(captured.fetch_add(1, SeqCst).await, 3);
        assert_eq!(cell.take().await, [1]);
    });
    assert_eq!(sim::block_on(captured.load(SeqCst)), 3);
}

#[test]
fn get_mut_and_into_inner_see_the_value_of_the_run() {
    passes("get_mut", async || {
        let mut atomic = Atomic::new(1u8);
        atomic.store(2, SeqCst).await;
        *atomic.get_mut() += 1;
        assert_eq!(atomic.fetch_add(1, SeqCst).await, 3);
        assert_eq!(*atomic.get_mut(), 4);
        assert_eq!(atomic.into_inner(), 4);
        let mut cell = Cell::new("a".to_owned());
        cell.set("b".to_owned()).await;
        cell.get_mut().push('c');
        assert_eq!(cell.get().await, "bc");
        assert_eq!(cell.into_inner(), "bc");
        let mut lock = sim::Mutex::new(1u8);
        *lock.lock().await += 1;
        *lock.get_mut() += 1;
        assert_eq!(lock.into_inner(), 3);
    });
    let mut atomic = Atomic::new(1u8);
    sim::block_on(atomic.store(2, SeqCst));
    *atomic.get_mut() += 1;
    assert_eq!(atomic.into_inner(), 3);
}

#[cfg_attr(feature = "sim", test)]
fn a_cell_that_is_read_and_then_written_loses_updates() {
    let failure = fails("cell", async || {
        let cell = Arc::new(Cell::new(0u8));
        let other = cell.clone();
        let task = sim::spawn(async move { other.set(other.get().await + 1).await });
        cell.set(cell.get().await + 1).await;
        task.await.unwrap();
        assert_eq!(cell.get().await, 2);
    });
    assert!(matches!(failure, Failure::Panic { .. }));
}

#[test]
fn a_clone_that_panics_fails_the_run_and_not_the_next_one() {
    #[derive(Default)]
    struct Fragile;
    impl Clone for Fragile {
        fn clone(&self) -> Fragile {
            panic!("not to be cloned")
        }
    }
    if !SIMULATED {
        return;
    }
    let cell = Cell::new(Fragile);
    for _ in 0..2 {
        let failure = fails("fragile", async || {
            cell.get().await;
        });
        assert!(
            matches!(&failure, Failure::Panic { message, .. } if message == "not to be cloned")
        );
    }
}
