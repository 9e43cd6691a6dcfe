//! Faults that a test requests: cancellations, aborts, stalls and spurious failures.

use std::sync::Arc;

use sim::Ordering::{AcqRel, Relaxed, SeqCst};
use sim::check::models::{Counter, CounterOp, CounterRet};
use sim::report::{Report, Style, text};
use sim::run::{Failure, Outcome, Run};
use sim::task::Builder;
use sim::{Atomic, Condvar, History, Mutex, Runner, cancellable, spawn};

fn search() -> Runner {
    Runner::new().hermetic().strategy("exhaustive")
}

fn screen(report: &Report) -> String {
    text(report, &Style::default())
}

#[track_caller]
fn proves(report: &Report) {
    let screen = screen(report);
    assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{screen}");
}

#[track_caller]
fn failure(report: &Report) -> (&Run, &Failure) {
    let run = &report.finding.as_ref().expect("it passed").run;
    let Outcome::Failed(failure) = &run.outcome else { panic!("{}", screen(report)) };
    (run, failure)
}

/// Moves an amount between two accounts, in two operations or in one.
async fn transfer(accounts: &[Atomic<u32>; 2], log: &Mutex<()>, at_once: bool) {
    let guard = log.lock().await;
    accounts[0].fetch_sub(1, SeqCst).await;
    if !at_once {
        accounts[1].fetch_add(1, SeqCst).await;
    }
    drop(guard);
}

async fn transfers(at_once: bool) {
    let (accounts, log) = ([Atomic::new(1), Atomic::new(0)], Mutex::new(()));
    let done = cancellable(transfer(&accounts, &log, at_once)).await.is_some();
    let sum = accounts[0].load(SeqCst).await + accounts[1].load(SeqCst).await;
    let is_whole = sum == u32::from(!at_once || !done);
    assert!(is_whole || at_once, "half of a transfer was done");
    // A dropped future gives its lock back.
    assert!(log.try_lock().await.is_some());
}

#[cfg_attr(feature = "sim", test)]
fn a_future_is_dropped_at_each_of_its_points() {
    let found = search().run(async || transfers(false).await);
    assert!(matches!(failure(&found).1, Failure::Panic { .. }), "{}", screen(&found));
    let shown = screen(&found);
    assert!(shown.contains("canceller") && shown.contains("be_cancelled"), "{shown}");
    proves(&search().run(async || transfers(true).await));
    // Seeds also find it, and its trace replays.
    let found = Runner::new().hermetic().run(async || transfers(false).await);
    let trace = sim::run::trace::format::inline(&sim::run::trace::Trace::of(
        failure(&found).0,
        Default::default(),
    ));
    let again = Runner::new().hermetic().replay(&trace).run(async || transfers(false).await);
    assert_eq!(failure(&again).1.signature(), failure(&found).1.signature());
}

#[cfg_attr(feature = "sim", test)]
fn a_cancellation_that_the_failure_does_not_need_is_shrunk_away() {
    let report = Runner::new().hermetic().run(async || {
        let count = Arc::new(Atomic::new(0));
        let task = |n: u32| {
            let count = count.clone();
            spawn(async move {
                cancellable(async { sim::task::yield_now().await }).await;
                let old = count.load(SeqCst).await;
                count.store(old + n, SeqCst).await;
            })
        };
        for task in [task(1), task(1)] {
            task.await.unwrap();
        }
        assert_eq!(count.load(SeqCst).await, 2);
    });
    let (run, _) = failure(&report);
    assert!(run.draws.iter().all(|draw| draw.value == 0), "{}", screen(&report));
    assert!(!screen(&report).contains("canceller"), "{}", screen(&report));
}

/// A worker that marks its job as taken, and takes the mark away at its end or when it is dropped.
async fn marked(taken: Arc<std::sync::atomic::AtomicU32>, steps: Arc<Atomic<u32>>, guards: bool) {
    struct Mark(Arc<std::sync::atomic::AtomicU32>);
    impl Drop for Mark {
        fn drop(&mut self) {
            self.0.store(0, SeqCst);
        }
    }
    taken.store(1, SeqCst);
    let guard = guards.then(|| Mark(taken.clone()));
    steps.fetch_add(1, SeqCst).await;
    steps.fetch_add(1, SeqCst).await;
    drop(guard);
    taken.store(0, SeqCst);
}

#[cfg_attr(feature = "sim", test)]
fn tasks_are_aborted_by_name() {
    let body = |guards: bool, name: &'static str| {
        async move || {
            let (taken, steps) = (Arc::default(), Arc::new(Atomic::new(0)));
            let work = marked(Arc::clone(&taken), steps, guards);
            let _ = Builder::new().name(name).spawn(work).await;
            assert_eq!(taken.load(SeqCst), 0, "the mark is left");
        }
    };
    let runner = || search().cancel("job-*");
    let found = runner().run(body(false, "job-1"));
    assert!(matches!(failure(&found).1, Failure::Panic { .. }));
    proves(&runner().run(body(true, "job-1")));
    proves(&runner().run(body(false, "other")));
}

/// Increments a counter, with a lock that is a word or without a lock.
async fn counts(with_lock: bool) {
    let (word, count) = (Arc::new(Atomic::new(false)), Arc::new(Atomic::new(0)));
    let add = |_| {
        let (word, count) = (word.clone(), count.clone());
        async move {
            if with_lock {
                let take = || word.compare_exchange(false, true, SeqCst, SeqCst);
                sim::spin_until(async || take().await.is_ok()).await;
                let old = count.load(SeqCst).await;
                count.store(old + 1, SeqCst).await;
                word.store(false, SeqCst).await;
                return;
            }
            let mut old = count.load(SeqCst).await;
            while let Err(now) = count.compare_exchange(old, old + 1, SeqCst, SeqCst).await {
                old = now;
            }
        }
    };
    sim::map_concurrently(0..2, add).await;
    assert_eq!(count.load(SeqCst).await, 2);
}

#[cfg_attr(feature = "sim", test)]
fn a_lock_is_not_lock_free_and_a_loop_of_exchanges_is() {
    for strategy in ["exhaustive", "portfolio"] {
        let runner = || Runner::new().hermetic().strategy(strategy).progress("lock-free");
        let found = runner().run(async || counts(true).await);
        assert!(matches!(failure(&found).1, Failure::Deadlock { .. }), "{}", screen(&found));
        assert!(screen(&found).contains("stall 0."), "{}", screen(&found));
        let free = runner().run(async || counts(false).await);
        assert!(free.passed(), "{}", screen(&free));
        if strategy == "exhaustive" {
            proves(&free);
        }
    }
    // Without stalls, both variants pass.
    proves(&search().run(async || counts(true).await));
}

/// Two tasks that each raise a flag, and back off if the flag of the other task is raised. Each task succeeds if it
/// runs alone.
async fn backs_off() {
    let flags = Arc::new([Atomic::new(false), Atomic::new(false)]);
    let enter = |n: usize| {
        let flags = flags.clone();
        async move {
            loop {
                flags[n].store(true, SeqCst).await;
                if !flags[1 - n].load(SeqCst).await {
                    flags[n].store(false, SeqCst).await;
                    return;
                }
                flags[n].store(false, SeqCst).await;
            }
        }
    };
    sim::map_concurrently(0..2, enter).await;
}

#[cfg_attr(feature = "sim", test)]
fn a_task_alone_must_end_to_be_obstruction_free() {
    let runner = |guarantee: &str| {
        Runner::new().hermetic().seeds(0..300).max_steps(300).progress(guarantee).shrink(false)
    };
    // One task stalls while its flag is raised, so the other task loops.
    let found = runner("lock-free").run(async || backs_off().await);
    assert!(matches!(failure(&found).1, Failure::StepLimit { .. }), "{}", screen(&found));
    let found = runner("obstruction-free").run(async || backs_off().await);
    assert!(matches!(failure(&found).1, Failure::StepLimit { .. }), "{}", screen(&found));
    let found = search().progress("obstruction-free").run(async || counts(true).await);
    assert!(matches!(failure(&found).1, Failure::Deadlock { .. }), "{}", screen(&found));
    proves(&search().progress("obstruction-free").run(async || counts(false).await));
}

/// One task adds once, by a loop of exchanges or in one step. Another task adds four times. Each addition is a recorded
/// call.
async fn adds(by_exchange: bool) {
    let (count, history) = (Arc::new(Atomic::new(0i64)), History::new(Counter::default()));
    let add = |n: u32| {
        let (count, history) = (count.clone(), history.clone());
        async move {
            let many = if n == 0 { 1 } else { 4 };
            for _ in 0..many {
                let adding = async {
                    if !by_exchange || n > 0 {
                        return CounterRet::Value(count.fetch_add(1, SeqCst).await);
                    }
                    let mut old = count.load(SeqCst).await;
                    while let Err(now) = count.compare_exchange(old, old + 1, SeqCst, SeqCst).await
                    {
                        old = now;
                    }
                    CounterRet::Value(old)
                };
                history.call(CounterOp::FetchAdd(1), adding).await;
            }
        }
    };
    sim::map_concurrently(0..2, add).await;
}

#[cfg_attr(feature = "sim", test)]
fn a_loop_of_exchanges_is_lock_free_and_not_wait_free() {
    let bound = |steps: u32| search().progress(&format!("wait-free:{steps}"));
    // Four additions of the other task make it fail four times, after a load.
    for steps in [2, 5] {
        let found = bound(steps).run(async || adds(true).await);
        let (run, starved) = failure(&found);
        let Failure::Starved { task, steps: taken, .. } = starved else {
            panic!("{}", screen(&found))
        };
        assert_eq!((run.tasks[task.index()].path.to_string(), *taken), ("0.0".to_owned(), steps));
        let shown = screen(&found);
        let headline = format!("has not ended its operation after {steps} steps of its own");
        assert!(shown.contains(&headline), "{shown}");
        assert!(shown.contains("not wait-free"), "{shown}");
    }
    proves(&bound(6).run(async || adds(true).await));
    proves(&search().progress("lock-free").run(async || adds(true).await));
    // Four calls of one step each are not operation of four.
    proves(&bound(1).run(async || adds(false).await));
    // A task stalls while it holds a lock. A wait-free operation must not wait for others.
    let found = search().progress("wait-free").run(async || counts(true).await);
    assert!(matches!(failure(&found).1, Failure::Deadlock { .. }), "{}", screen(&found));
    // Random runs find it, too.
    let found = Runner::new().hermetic().progress("wait-free:3").run(async || adds(true).await);
    assert!(matches!(failure(&found).1, Failure::Starved { .. }), "{}", screen(&found));
}

/// The new value may be the expected value.
#[cfg_attr(feature = "sim", test)]
fn a_weak_exchange_fails_without_a_reason() {
    let body = |weak: bool, new: u32| {
        async move || {
            let word = Atomic::new(0);
            let set = match weak {
                true => word.compare_exchange_weak(0, new, AcqRel, Relaxed).await,
                false => word.compare_exchange(0, new, AcqRel, Relaxed).await,
            };
            assert_eq!(set, Ok(0), "set by another task");
        }
    };
    for (memory, new) in [("sc", 1), ("sc", 0), ("c11", 1), ("c11", 0)] {
        let search = || search().memory(memory);
        let found = search().chances("weak").run(body(true, new));
        assert!(matches!(failure(&found).1, Failure::Panic { .. }), "{memory}, {new}");
        proves(&search().chances("weak").run(body(false, new)));
        proves(&search().run(body(true, new)));
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_search_says_that_faults_are_bounded() {
    let report = search().run(async || {
        for _ in 0..3 {
            cancellable(async { sim::task::yield_now().await }).await;
        }
    });
    let shown = screen(&report);
    assert!(!report.searched.as_ref().unwrap().is_proof(), "{shown}");
    assert!(shown.contains("NOT A PROOF: not tried: more than two faults"), "{shown}");
}

/// Two tasks each take an item; the two items are added one by one. With `again`, they check for an item again after a
/// wait.
async fn takes(again: bool) {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let take = |_| {
        let shared = shared.clone();
        async move {
            let (items, put) = &*shared;
            let mut left = items.lock().await;
            if again {
                left = put.wait_while(left, |left| *left == 0).await;
            } else if *left == 0 {
                left = put.wait(left).await;
            }
            assert!(*left > 0, "taken from nothing");
            *left -= 1;
        }
    };
    let puts = async {
        for _ in 0..2 {
            *shared.0.lock().await += 1;
            shared.1.notify_one();
        }
    };
    futures::future::join(sim::map_concurrently(0..2, take), puts).await;
}

#[cfg_attr(feature = "sim", test)]
fn a_condition_is_checked_again_after_a_wait() {
    for chances in ["none", "spurious"] {
        let found = search().chances(chances).run(async || takes(false).await);
        assert!(matches!(failure(&found).1, Failure::Panic { .. }), "{}", screen(&found));
    }
    proves(&search().run(async || takes(true).await));
    let sampled = Runner::new().hermetic().chances("spurious").run(async || takes(true).await);
    assert!(sampled.passed(), "{}", screen(&sampled));
}

#[cfg_attr(feature = "sim", test)]
fn a_notification_before_the_wait_is_lost() {
    let found = search().run(async || {
        let shared = Arc::new((Mutex::new(()), Condvar::new()));
        let own = shared.clone();
        let task = spawn(async move { own.1.notify_all() });
        drop(shared.1.wait(shared.0.lock().await).await);
        task.await.unwrap();
    });
    assert!(matches!(failure(&found).1, Failure::Deadlock { .. }), "{}", screen(&found));
}

#[test]
fn condition_variables_work_outside_of_runs() {
    sim::block_on(takes(true));
}
