//! Loops that change memory in each round, and undo the change: like a future that registers its waker in each poll,
//! and wakes itself while another thread inserts into its queue.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};

use futures_util::stream::{FuturesUnordered, StreamExt};

use super::{outcome, runner, search, two};

type Shared = (AtomicU64, AtomicU64);

/// Polls once: registers, and reads the queue. Returns `true` if the queue is complete.
fn poll((registering, ready): &Shared) -> bool {
    let begins = registering.compare_exchange(0, 1, SeqCst, SeqCst).is_ok();
    if begins {
        // The other thread may have seen the registration. It then leaves a mark.
        let _ = registering.compare_exchange(1, 0, SeqCst, SeqCst);
    }
    ready.load(SeqCst) == 1
}

/// Polls until the queue is complete.
fn poll_until_ready(shared: &Shared) -> u64 {
    while !poll(shared) {
        thread::yield_now();
    }
    shared.0.load(SeqCst)
}

/// The other thread reads the registration before and after it completes the queue.
fn insert((registering, ready): &Shared) -> u64 {
    let before = registering.load(SeqCst);
    ready.store(1, SeqCst);
    2 * before + registering.load(SeqCst)
}

fn polled() {
    let (seen, inserted, _) = two(Shared::default(), poll_until_ready, insert);
    outcome("undone", (seen, inserted));
}

#[test]
fn a_search_of_such_a_loop_ends_and_sees_the_changes() {
    let searched = search("undone", polled, "default", "exhaustive", 5_000);
    assert!(searched.through && !searched.fails, "{} runs, {}", searched.runs, searched.text);
    let all = [0, 1, 2, 3].map(|inserted| format!("{:?}", (0, inserted)));
    assert_eq!(searched.outcomes, BTreeSet::from(all));
}

#[test]
fn such_a_loop_does_not_reach_the_step_limit() {
    for strategy in ["random", "pct", "portfolio", "pos"] {
        let report = runner(strategy, 300).max_steps(2_000).run_native(polled);
        let outcome = report.finding.map(|finding| finding.run.outcome);
        assert!(outcome.is_none() && report.notes.is_empty(), "{strategy}: {outcome:?}");
    }
}

/// Nobody completes the queue.
#[test]
fn such_a_loop_without_an_end_is_a_deadlock() {
    fn body() {
        two(Shared::default(), poll_until_ready, |(registering, _)| registering.load(SeqCst));
    }
    let report = runner("random", 3).max_steps(50_000).run_native(body);
    let outcome = format!("{:?}", report.finding.expect("it is found").run.outcome);
    assert!(outcome.contains("Deadlock"), "{outcome}");
}

/// The loop counts its rounds, and gives up.
#[test]
fn a_loop_with_an_end_of_its_own_terminates() {
    fn body() {
        let rounds = |shared: &Shared| {
            let round = (0..std::hint::black_box(40)).find(|_| {
                thread::yield_now();
                poll(shared)
            });
            u64::from(round.is_none())
        };
        let (gave_up, ..) =
            two(Shared::default(), rounds, |(registering, _)| registering.load(SeqCst));
        assert_eq!(gave_up, 1);
    }
    for strategy in ["random", "portfolio", "exhaustive"] {
        let report = runner(strategy, 50).run_native(body);
        assert!(report.passed(), "{:?}", report.finding.map(|finding| finding.run.outcome));
    }
}

thread_local! {
    /// True if the future of this thread has woken itself.
    static BY_ITSELF: Cell<bool> = const { Cell::new(false) };
}

/// The waker of a thread that polls a future. If the future wakes itself, the thread only yields.
struct Woken {
    thread: ThreadId,
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if thread::current().id() == self.thread {
            return BY_ITSELF.set(true);
        }
        *self.is_set.lock().unwrap() = true;
        self.changed.notify_one();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let thread = thread::current().id();
    let woken = Arc::new(Woken { thread, is_set: Mutex::new(false), changed: Condvar::new() });
    let waker = Waker::from(woken.clone());
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending if BY_ITSELF.take() => thread::yield_now(),
            Poll::Pending => {
                let is_set = woken.is_set.lock().unwrap();
                *woken.changed.wait_while(is_set, |is_set| !*is_set).unwrap() = false;
            }
        }
    }
}

/// A future that another thread completes.
#[derive(Default)]
struct Task {
    is_done: bool,
    waker: Option<Waker>,
}

/// Collects the results of threads. While a thread inserts into the queue, each poll wakes itself.
fn collects<const THREADS: usize>() {
    let tasks: Vec<Arc<Mutex<Task>>> = (0..THREADS).map(|_| Arc::default()).collect();
    let threads: Vec<_> = tasks
        .iter()
        .cloned()
        .map(|task| {
            thread::spawn(move || {
                let mut task = task.lock().unwrap();
                task.is_done = true;
                let waker = task.waker.take();
                drop(task);
                waker.into_iter().for_each(Waker::wake);
            })
        })
        .collect();
    let mut results: FuturesUnordered<_> = tasks
        .into_iter()
        .map(|task| {
            poll_fn(move |context| {
                let mut task = task.lock().unwrap();
                task.waker = Some(context.waker().clone());
                if task.is_done { Poll::Ready(()) } else { Poll::Pending }
            })
        })
        .collect();
    let count = block_on(async {
        let mut count = 0;
        while results.next().await.is_some() {
            count += 1;
        }
        count
    });
    assert_eq!(count, THREADS);
    drop(results);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    outcome("collects", count);
}

#[test]
fn a_queue_of_futures_is_searched_to_the_end() {
    let searched = search("collects", collects::<1>, "default", "exhaustive", 20_000);
    assert!(searched.through && !searched.fails, "{} runs, {}", searched.runs, searched.text);
    for strategy in ["random", "pct", "portfolio"] {
        let report = runner(strategy, 200).run_native(collects::<2>);
        assert!(report.passed() && report.notes.is_empty(), "{strategy}: {:?}", report.finding);
    }
}

/// A round with twelve accesses, and a yield.
fn polls_of_many() {
    type Many = ([AtomicU64; 5], AtomicU64);
    fn poll_until_ready((registering, ready): &Many) -> u64 {
        while ready.load(SeqCst) == 0 {
            for word in registering {
                let _ = word.compare_exchange(0, 1, SeqCst, SeqCst);
                let _ = word.compare_exchange(1, 0, SeqCst, SeqCst);
            }
            thread::yield_now();
        }
        ready.load(SeqCst)
    }
    let (seen, ..) = two(Many::default(), poll_until_ready, |(_, ready)| ready.swap(1, SeqCst));
    outcome("polls_of_many", seen);
}

#[test]
fn a_loop_with_a_long_round_is_searched_to_the_end() {
    let searched = search("polls_of_many", polls_of_many, "default", "exhaustive", 500);
    assert!(searched.through && !searched.fails, "{} runs, {}", searched.runs, searched.text);
}
