//! Tests of the fixture that are searched in many runs, or in one run for each order of branches.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use sim::Atomic;

use super::off;

/// Three tasks that add to two words, without a lock. Returns the sums.
async fn adds_to_two() -> [u64; 2] {
    let words = Arc::new([Atomic::new(0u64), Atomic::new(0u64)]);
    let tasks = (0..3usize).map(|task| {
        let words = words.clone();
        sim::spawn(async move {
            for round in 0..2 + task / 2 {
                let word = &words[(task + round) % 2];
                let value = word.load(SeqCst).await;
                word.store(value + 1, SeqCst).await;
            }
        })
    });
    for task in Vec::from_iter(tasks) {
        task.await.unwrap();
    }
    [words[0].load(SeqCst).await, words[1].load(SeqCst).await]
}

#[sim::test(seeds = 1_000_000)]
#[cfg_attr(not(feature = "sim"), ignore = "a run on real threads takes twenty times as long")]
async fn takes_many_runs() {
    if !off() {
        adds_to_two().await;
    }
}

#[sim::test(seeds = 1_000_000)]
#[cfg_attr(not(feature = "sim"), ignore = "a run on real threads takes twenty times as long")]
async fn takes_many_runs_and_fails() {
    if !off() {
        assert_ne!(adds_to_two().await, [1, 2], "updates were lost");
    }
}

/// Two tasks with orders weaker than `SeqCst`.
#[sim::test(seeds = 1_000_000)]
#[cfg_attr(not(feature = "sim"), ignore = "a run on real threads takes twenty times as long")]
async fn publishes() {
    if off() {
        return;
    }
    let words = Arc::new([Atomic::new(0u64), Atomic::new(0u64)]);
    let other = words.clone();
    let writer = sim::spawn(async move {
        other[0].store(1, Relaxed).await;
        other[1].store(1, Release).await;
    });
    if words[1].load(Acquire).await == 1 {
        assert_eq!(words[0].load(Relaxed).await, 1);
    }
    writer.await.unwrap();
}

/// The slices of this search take longer than the time limit of a step.
#[sim::test(seeds = 10_000, hang = "60ms")]
#[cfg_attr(not(feature = "sim"), ignore = "a run on real threads takes twenty times as long")]
async fn takes_long_runs() {
    if !off() {
        std::thread::sleep(std::time::Duration::from_millis(8));
        adds_to_two().await;
    }
}

/// Two tasks that count in memory outside of `sim`, and show the count.
#[sim::test(seeds = 1_000_000)]
#[cfg_attr(not(feature = "sim"), ignore = "a run on real threads takes twenty times as long")]
async fn shares_unseen() {
    if off() {
        return;
    }
    let count = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let tasks = [0, 1].map(|_| {
        let count = count.clone();
        sim::spawn(async move {
            let own = Atomic::new(0u64);
            own.store(count.fetch_add(1, SeqCst), SeqCst).await;
            own.store(1, SeqCst).await;
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
}

/// Waits three times with a time limit. An early move of the time ends such a wait.
#[sim::test(seeds = 1_000_000)]
#[cfg_attr(not(feature = "sim"), ignore = "a run on real threads takes twenty times as long")]
async fn waits_with_time_limits() {
    if off() {
        return;
    }
    for _ in 0..3 {
        let answer = async {
            sim::task::yield_now().await;
            sim::task::yield_now().await;
        };
        // Both outcomes are correct.
        let _ = sim::time::timeout(sim::time::Duration::from_secs(1), answer).await;
    }
}

/// Like `publishes`, but the reader waits for a time.
#[sim::test(seeds = 1_000_000)]
#[cfg_attr(not(feature = "sim"), ignore = "a run on real threads takes twenty times as long")]
async fn publishes_in_time() {
    if off() {
        return;
    }
    let word = Arc::new(Atomic::new(0u64));
    let other = word.clone();
    let writer = sim::spawn(async move { other.store(1, Release).await });
    sim::time::sleep(sim::time::Duration::from_millis(1)).await;
    word.load(Acquire).await;
    writer.await.unwrap();
}

/// Leaves a task that is neither awaited nor detached, and a detached task that waits for a lock forever.
#[sim::test(seeds = 1_000_000)]
#[cfg_attr(not(feature = "sim"), ignore = "a run on real threads takes twenty times as long")]
async fn leaves_tasks() {
    if off() {
        return;
    }
    let word = Atomic::new(0u64);
    let left = sim::spawn(std::future::pending::<()>());
    let lock = Arc::new(sim::Mutex::new(()));
    // This guard is never dropped.
    std::mem::forget(lock.lock().await);
    sim::spawn(async move { drop(lock.lock().await) }).detach();
    for _ in 0..3 {
        word.load(SeqCst).await;
    }
    drop(left);
}

/// Records which branch is polled first, in memory that no run sees. No order of the branches fails.
#[sim::test(strategy = "exhaustive")]
async fn notes_its_first_branch() {
    if off() {
        return;
    }
    let first = std::sync::Mutex::new(0);
    let notes = |number| {
        let first = &first;
        async move {
            let is_first = *first.lock().unwrap() == 0;
            if is_first {
                *first.lock().unwrap() = number;
            }
            std::future::pending::<()>().await;
        }
    };
    sim::select! {
        () = notes(1) => {}
        () = notes(2) => {}
        () = sim::task::yield_now() => {}
    }
    let is_second = *first.lock().unwrap() == 2;
    if is_second {
        // This step makes the run belong to another class.
        Atomic::new(0u8).store(1, SeqCst).await;
    }
}
