//! `set_spawner` with tokio: tasks outside of runs are tasks of the runtime. This test has a file of its own, because a
//! process has only one spawner.

use std::sync::{Arc, OnceLock};

use sim::Ordering::SeqCst;
use sim::{Atomic, Mutex};
use tokio::runtime::Runtime;

/// Returns a runtime, after its spawner was set.
fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).thread_name("of-tokio").build().unwrap();
        let handle = runtime.handle().clone();
        sim::task::set_spawner(move |task| {
            handle.spawn(task);
        })
        .unwrap();
        runtime
    })
}

#[test]
fn tasks_run_on_the_runtime() {
    runtime().block_on(async {
        let thread = || std::thread::current().name().map(str::to_owned);
        let task =
            sim::spawn(async move { (thread(), tokio::runtime::Handle::try_current().is_ok()) });
        assert_eq!(task.await.unwrap(), (Some("of-tokio".to_owned()), true));
    });
}

#[test]
fn tasks_share_memory_on_the_runtime() {
    runtime().block_on(async {
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
fn a_task_can_be_aborted_on_the_runtime() {
    runtime().block_on(async {
        let task = sim::spawn(std::future::pending::<()>());
        assert!(!task.is_finished());
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn a_panic_on_the_runtime_is_in_the_join_error() {
    runtime().block_on(async {
        let task = sim::spawn(async { panic!("said to the joiner") });
        let result: Result<(), _> = task.await;
        let error = result.unwrap_err();
        assert_eq!(error.to_string(), "task panicked: said to the joiner");
        assert_eq!(error.into_panic().downcast_ref(), Some(&"said to the joiner"));
    });
}

#[test]
fn a_second_spawner_is_refused() {
    runtime();
    assert_eq!(sim::task::set_spawner(drop), Err(sim::task::SpawnerSet));
}

#[sim::test(seeds = 20)]
async fn tasks_of_a_stress_test_run_on_the_runtime_too() {
    runtime();
    let names =
        sim::map_concurrently(0..4, |_| async { std::thread::current().name().map(str::to_owned) });
    let of_tokio = Some("of-tokio".to_owned());
    // In a simulated run there are no threads.
    assert!(sim::SIMULATED || names.await.iter().all(|name| *name == of_tokio));
}

#[test]
fn a_race_on_the_runtime_is_found_and_told_with_its_tasks() {
    runtime();
    let report = sim::Runner::new().hermetic().seeds(0..2000).run(async || {
        let counter = Arc::new(Atomic::new(0));
        let tasks: Vec<_> = ["left", "right"]
            .map(|name| {
                let counter = counter.clone();
                sim::task::Builder::new().name(name).spawn(async move {
                    for _ in 0..50 {
                        let value = counter.load(SeqCst).await;
                        counter.store(value + 1, SeqCst).await;
                    }
                })
            })
            .into();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(counter.load(SeqCst).await, 100);
    });
    let run = &report.finding.expect("a lost update within two thousand runs").run;
    let names: Vec<String> = run.tasks.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["main", "0.0 left", "0.1 right"]);
}
