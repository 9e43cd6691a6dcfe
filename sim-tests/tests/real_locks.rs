//! The real lock is fair: a task that always finds it free gives way to other tasks. The tests run on a runtime with
//! one thread, on a runtime with several threads, and on plain threads. Outside of runs, both builds use this lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use sim::Ordering::SeqCst;
use sim::{Atomic, Mutex};
use tokio::runtime::{Builder, Runtime};

/// The use that tasks make of the lock.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Holds {
    /// The tasks let other tasks run while they hold the lock, as if they waited for a file.
    AcrossAwaits,
    /// The tasks take the lock again and again, and never wait in between.
    Shortly,
}

/// The number of times that each of four tasks gets the lock in a while.
fn shares(spawn: impl Fn(u64, Work), holds: Holds) -> Vec<u64> {
    let (mutex, stop) = (Arc::new(Mutex::new(0u64)), Arc::new(AtomicBool::new(false)));
    let counts: Arc<[AtomicU64; 4]> = Arc::default();
    for n in 0..4 {
        let (mutex, stop, counts) = (mutex.clone(), stop.clone(), counts.clone());
        spawn(
            n,
            Box::pin(async move {
                while !stop.load(SeqCst) {
                    let mut held = mutex.lock().await;
                    *held += 1;
                    if holds == Holds::AcrossAwaits {
                        tokio::task::yield_now().await;
                    }
                    drop(held);
                    counts[n as usize].fetch_add(1, SeqCst);
                }
            }),
        );
    }
    std::thread::sleep(Duration::from_millis(200));
    stop.store(true, SeqCst);
    counts.iter().map(|count| count.load(SeqCst)).collect()
}

type Work = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// The maximum ratio of two shares if the executor has one thread and runs its tasks in turn.
const IN_TURN: u64 = 2;

/// The maximum ratio of two shares if the operating system assigns the processors. The operating system may leave a
/// thread without a processor for a third of the time. A lock that starves its waiters has ratios of at least 385.
const ACROSS_THREADS: u64 = 50;

/// Asserts that one of three attempts is fair, because other processes of the machine also use the processors.
fn are_fair(what: &str, ratio: u64, shares: impl Fn() -> Vec<u64>) {
    let fair = |shares: &Vec<u64>| {
        println!("{what}: {shares:?}");
        let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        *least > 0 && *most <= ratio * *least
    };
    assert!((0..3).any(|_| fair(&shares())), "{what}");
}

/// Calls `work` with a runtime whose only thread is not the thread of the test.
fn with_one_thread(work: impl FnOnce(&Runtime)) {
    let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    work(&runtime);
    runtime.shutdown_timeout(Duration::from_secs(1));
}

#[test]
fn four_tasks_get_the_same_on_one_thread() {
    for holds in [Holds::AcrossAwaits, Holds::Shortly] {
        with_one_thread(|runtime| {
            let spawn = |_, work| drop(runtime.spawn(work));
            are_fair(&format!("one thread, {holds:?}"), IN_TURN, || shares(spawn, holds));
        });
    }
}

#[test]
fn four_tasks_get_the_same_on_several_threads() {
    for holds in [Holds::AcrossAwaits, Holds::Shortly] {
        let runtime = Builder::new_multi_thread().worker_threads(4).build().unwrap();
        let spawn = |_, work| drop(runtime.spawn(work));
        are_fair(&format!("four threads, {holds:?}"), ACROSS_THREADS, || shares(spawn, holds));
        runtime.shutdown_timeout(Duration::from_secs(1));
    }
}

#[test]
fn four_threads_get_the_same() {
    let spawn = |_, work| drop(std::thread::spawn(|| sim::block_on(work)));
    are_fair("threads", ACROSS_THREADS, || shares(spawn, Holds::Shortly));
}

#[test]
fn a_loop_over_a_free_lock_lets_others_run() {
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mutex = Arc::new(Mutex::new(false));
        let other = mutex.clone();
        let task = tokio::spawn(async move { *other.lock().await = true });
        // The only thread there is.
        while !*mutex.lock().await {}
        task.await.unwrap();
    });
    let executor = smol::LocalExecutor::new();
    let mutex = Arc::new(Mutex::new(false));
    let other = mutex.clone();
    let task = executor.spawn(async move { *other.lock().await = true });
    smol::block_on(executor.run(async {
        while !*mutex.lock().await {}
        task.await;
    }));
}

#[test]
fn who_polls_once_gets_a_free_lock() {
    use futures::FutureExt;
    let mutex = Mutex::new(0);
    for _ in 0..1000 {
        *mutex.lock().now_or_never().expect("it is free") += 1;
    }
    assert_eq!(mutex.into_inner(), 1000);
}

#[test]
fn a_waiter_that_goes_away_leaves_the_lock_to_the_next() {
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (mutex, got) = (Arc::new(Mutex::new(())), Arc::new(Atomic::new(0u32)));
        for aborted in 0..3 {
            let held = mutex.lock().await;
            let waits = |_| {
                let (mutex, got) = (mutex.clone(), got.clone());
                tokio::spawn(async move {
                    drop(mutex.lock().await);
                    got.fetch_add(1, SeqCst).await;
                })
            };
            let tasks: Vec<_> = (0..3).map(waits).collect();
            tokio::task::yield_now().await;
            if aborted == 1 {
                drop(held);
                tasks[0].abort();
            } else {
                tasks[aborted].abort();
                drop(held);
            }
            for task in tasks {
                let _ = task.await;
            }
        }
        assert_eq!(got.load(SeqCst).await, 6);
    });
}
