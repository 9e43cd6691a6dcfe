//! Tests of `JoinSet`, and of handles that can only abort a task.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use sim::Ordering::SeqCst;
use sim::task::JoinSet;
use sim::{Atomic, Runner};

/// A body that spawns three tasks and joins them in the order in which they end.
async fn three() -> Vec<u32> {
    let word = Arc::new(Atomic::new(0));
    let mut tasks = JoinSet::new();
    for n in 0..3 {
        let word = word.clone();
        tasks.spawn(async move {
            word.fetch_add(1, SeqCst).await;
            n
        });
    }
    let mut order = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        order.push(joined.unwrap());
    }
    order
}

#[test]
fn tasks_are_joined_in_each_order_in_which_they_can_end() {
    if !sim::SIMULATED {
        let order = sim::block_on(three());
        assert_eq!(BTreeSet::from_iter(order), BTreeSet::from([0, 1, 2]));
        return;
    }
    for (strategy, seeds) in [("exhaustive", 0..100_000), ("portfolio", 0..2_000)] {
        let orders = Mutex::new(BTreeSet::new());
        let runner = Runner::new().hermetic().seeds(seeds).strategy(strategy);
        let report = runner.run(async || {
            let order = three().await;
            orders.lock().unwrap().insert(order);
        });
        assert!(report.passed(), "{report:?}");
        assert_eq!(orders.into_inner().unwrap().len(), 6, "{strategy}");
    }
}

/// Joins two tasks that ended before the set waited: by `join_next`, or by `try_join_next`. `after` makes the first task
/// wait for the second.
async fn two_that_ended(tries: bool, after: bool) -> Vec<u32> {
    let words = Arc::new([Atomic::new(0), Atomic::new(0)]);
    let mut tasks = JoinSet::new();
    for n in 0..2 {
        let words = words.clone();
        tasks.spawn(async move {
            if after && n == 0 {
                sim::spin_until(async || words[1].load(SeqCst).await == 1).await;
            }
            words[n].store(1, SeqCst).await;
            n as u32
        });
    }
    for word in &*words {
        sim::spin_until(async || word.load(SeqCst).await == 1).await;
    }
    let mut order = Vec::new();
    while !tasks.is_empty() {
        let joined = if tries { tasks.try_join_next() } else { tasks.join_next().await };
        order.extend(joined.map(Result::unwrap));
        if tries {
            sim::task::yield_now().await;
        }
    }
    order
}

#[test]
fn tasks_that_ended_before_the_set_waits_are_joined_in_the_order_of_their_ends() {
    if !sim::SIMULATED {
        return;
    }
    for (tries, after) in [(false, false), (false, true), (true, false), (true, true)] {
        let orders = Mutex::new(BTreeSet::new());
        let runner = Runner::new().hermetic().strategy("exhaustive");
        let report = runner.run(async || {
            let order = two_that_ended(tries, after).await;
            orders.lock().unwrap().insert(order);
        });
        assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{report:?}");
        let all = if after { vec![vec![1, 0]] } else { vec![vec![0, 1], vec![1, 0]] };
        assert_eq!(orders.into_inner().unwrap(), BTreeSet::from_iter(all), "{tries} {after}");
    }
}

#[test]
fn a_set_aborts_its_tasks_and_loses_no_result() {
    sim::block_on(async {
        let mut tasks = JoinSet::new();
        let abort = tasks.spawn(std::future::pending::<u32>());
        tasks.spawn(async { 7 });
        assert_eq!(tasks.len(), 2);
        assert_eq!(tasks.join_next().await.unwrap().unwrap(), 7);
        assert!(!abort.is_finished());
        abort.abort();
        assert!(tasks.join_next().await.unwrap().unwrap_err().is_cancelled());
        assert!(tasks.is_empty() && tasks.join_next().await.is_none());
        tasks.spawn(std::future::pending());
        tasks.shutdown().await;
        tasks.spawn(async { 1 });
        tasks.spawn(async { 2 });
        assert_eq!(BTreeSet::from_iter(tasks.join_all().await), BTreeSet::from([1, 2]));
    });
}

#[test]
fn a_wait_for_the_next_task_that_is_dropped_loses_no_result() {
    let report = Runner::new().hermetic().seeds(0..500).run(async || {
        let mut tasks = JoinSet::new();
        for n in 1..=2u32 {
            tasks.spawn(async move {
                sim::task::yield_now().await;
                n
            });
        }
        let mut sum = 0;
        {
            let next = Box::pin(tasks.join_next());
            let stop = Box::pin(sim::task::yield_now());
            if let futures::future::Either::Left((joined, _)) =
                futures::future::select(next, stop).await
            {
                sum += joined.unwrap().unwrap();
            }
        }
        if let Some(joined) = tasks.try_join_next() {
            sum += joined.unwrap();
        }
        while let Some(joined) = tasks.join_next().await {
            sum += joined.unwrap();
        }
        assert_eq!(sum, 3);
    });
    assert!(report.passed(), "{report:?}");
}

#[test]
fn a_set_that_is_dropped_ends_its_tasks() {
    let report = Runner::new().hermetic().seeds(0..200).run(async || {
        let word = Arc::new(Atomic::new(0u64));
        let mut tasks = JoinSet::new();
        let endless = word.clone();
        let abort = tasks.spawn(async move {
            loop {
                endless.fetch_add(1, SeqCst).await;
            }
        });
        sim::spin_until(|| async { word.load(SeqCst).await > 1 }).await;
        drop(tasks);
        while !abort.is_finished() {
            sim::task::yield_now().await;
        }
    });
    assert!(report.passed(), "{report:?}");
}

#[test]
fn tasks_that_are_detached_go_on() {
    let report = Runner::new().hermetic().seeds(0..200).run(async || {
        let word = Arc::new(Atomic::new(0u64));
        let mut tasks = JoinSet::new();
        let other = word.clone();
        tasks.spawn(async move { other.store(1, SeqCst).await });
        tasks.detach_all();
        assert!(tasks.is_empty());
        sim::spin_until(|| async { word.load(SeqCst).await == 1 }).await;
    });
    assert!(report.passed(), "{report:?}");
}

#[test]
fn a_set_is_collected_and_extended() {
    sim::block_on(async {
        let mut tasks: JoinSet<_> = (0..2).map(|n| async move { n }).collect();
        tasks.extend((2..4).map(|n| async move { n }));
        let joined: BTreeSet<u32> = tasks.join_all().await.into_iter().collect();
        assert_eq!(joined, BTreeSet::from([0, 1, 2, 3]));
    });
}
