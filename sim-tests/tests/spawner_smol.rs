//! `set_spawner` with smol: tasks outside of runs are tasks of its executor. In a file of its own,
//! because a process has one spawner.

use std::sync::{Arc, Once};

use sim::Ordering::SeqCst;
use sim::{Atomic, Mutex};

/// The line that the documentation gives.
fn set_spawner() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| sim::task::set_spawner(|task| smol::spawn(task).detach()).unwrap());
}

#[test]
fn tasks_run_on_the_threads_of_smol() {
    set_spawner();
    let thread = || std::thread::current().name().map(str::to_owned);
    let name = smol::block_on(sim::spawn(async move { thread() })).unwrap().unwrap();
    assert!(name.starts_with("smol"), "{name}");
}

#[test]
fn tasks_share_memory_on_smol() {
    set_spawner();
    smol::block_on(async {
        let (atomic, mutex) = (Arc::new(Atomic::new(0)), Arc::new(Mutex::new(0)));
        sim::map_concurrently(0..8, |_| {
            let (atomic, mutex) = (atomic.clone(), mutex.clone());
            async move {
                for _ in 0..1000 {
                    atomic.fetch_add(1, SeqCst).await;
                    *mutex.lock().await += 1;
                }
            }
        })
        .await;
        assert_eq!((atomic.load(SeqCst).await, *mutex.lock().await), (8000, 8000));
    });
}

#[test]
fn a_task_can_be_aborted_on_smol() {
    set_spawner();
    smol::block_on(async {
        let task = sim::spawn(std::future::pending::<()>());
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn a_panic_on_smol_is_in_the_join_error() {
    set_spawner();
    let task = sim::spawn(async { panic!("said to the joiner") });
    let result: Result<(), _> = smol::block_on(task);
    assert_eq!(result.unwrap_err().to_string(), "task panicked: said to the joiner");
}

#[sim::test(seeds = 20)]
async fn a_stress_test_works_on_smol() {
    set_spawner();
    let counter = Arc::new(Atomic::new(0));
    sim::map_concurrently(0..4, |_| {
        let counter = counter.clone();
        async move { counter.fetch_add(1, SeqCst).await }
    })
    .await;
    assert_eq!(counter.load(SeqCst).await, 4);
}
