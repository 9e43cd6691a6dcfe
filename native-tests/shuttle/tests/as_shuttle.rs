//! Tests of behaviour that users of shuttle know: uncontrolled random bytes, ended tasks, thread-locals, and the numbers
//! of runs on request.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::Future;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::pin::Pin;
use std::task::{Context, Waker};

use shuttle::future::batch_semaphore::{BatchSemaphore, Fairness};
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{DfsScheduler, RandomScheduler};
use shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shuttle::sync::{Arc, Mutex};
use shuttle::{Config, MaxSteps, Runner, future, thread};

/// Spawns a thread if the number is even.
fn spawns_if_even(number: u64) {
    if number % 2 == 0 {
        thread::spawn(|| {}).join().unwrap();
    }
}

#[test]
#[should_panic(expected = "possible nondeterminism")]
fn keys_of_hash_maps_are_uncontrolled() {
    let body = || spawns_if_even(RandomState::new().build_hasher().finish());
    shuttle::check_uncontrolled_nondeterminism(body, 100);
}

#[test]
fn random_numbers_of_shuttle_are_controlled() {
    let body = || {
        let other = thread::spawn(|| thread_rng().r#gen::<u64>());
        spawns_if_even(thread_rng().r#gen());
        spawns_if_even(other.join().unwrap());
    };
    shuttle::check_uncontrolled_nondeterminism(body, 100);
}

#[test]
#[should_panic(expected = "possible nondeterminism: next step was")]
fn the_order_of_a_hash_set_is_uncontrolled() {
    let body = || {
        let set = std::collections::HashSet::<u64>::from_iter(0..10);
        for number in set {
            match number % 2 {
                0 => drop(thread::spawn(|| {}).join()),
                _ => drop(thread_rng().r#gen::<u64>()),
            }
        }
    };
    shuttle::check_uncontrolled_nondeterminism(body, 100);
}

/// The request of a task that has ended gets no permits. It queues again when another task polls it.
#[test]
fn a_request_without_a_task_gets_no_permits() {
    static SEMAPHORE: BatchSemaphore = BatchSemaphore::const_new(0, Fairness::StrictlyFair);
    shuttle::check_dfs(
        || {
            let kept = Arc::new(std::sync::Mutex::new(None));
            let keeps = kept.clone();
            future::block_on(async move {
                let task = future::spawn(async move {
                    let mut request = Box::pin(SEMAPHORE.acquire(1));
                    let mut context = Context::from_waker(Waker::noop());
                    assert!(Pin::new(&mut request).poll(&mut context).is_pending());
                    *keeps.lock().unwrap() = Some(request);
                });
                task.await.unwrap();
                SEMAPHORE.release(1);
                assert_eq!(SEMAPHORE.available_permits(), 1, "nobody waits for this permit");
                let request = kept.lock().unwrap().take().unwrap();
                request.await.unwrap();
                assert_eq!(SEMAPHORE.available_permits(), 0);
            });
        },
        None,
    );
}

/// The first thread drops its thread-locals when the body returns, and not only after all other threads.
#[test]
fn another_thread_may_outlive_the_thread_locals_of_the_body() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(1, SeqCst);
        }
    }
    shuttle::thread_local! {
        static LOCAL: RefCell<Option<Dropped>> = const { RefCell::new(None) };
    }
    let seen = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let of_runs = seen.clone();
    shuttle::check_dfs(
        move || {
            let dropped = Arc::new(AtomicUsize::new(0));
            LOCAL.set(Some(Dropped(dropped.clone())));
            let of_runs = of_runs.clone();
            thread::spawn(move || of_runs.lock().unwrap().insert(dropped.load(SeqCst)));
        },
        None,
    );
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([0, 1]));
}

/// Counts the runs of a search with two threads that acquire a lock.
fn runs_of_two_that_lock(config: Config) -> usize {
    let body = || {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        thread::spawn(move || *other.lock().unwrap() += 1);
        *lock.lock().unwrap() += 1;
    };
    Runner::new(DfsScheduler::new(None, false), config).run(body)
}

/// With `UNPAUSE_SHUTTLE_DFS=all`, the numbers of shuttle.
#[test]
fn runs_with_locks_are_counted_on_request() {
    let all = runs_of_two_that_lock(Config::new());
    let short = [4, 5].map(|steps| {
        let mut config = Config::new();
        config.max_steps = MaxSteps::ContinueAfter(steps);
        runs_of_two_that_lock(config)
    });
    let is_complete = std::env::var("UNPAUSE_SHUTTLE_DFS").is_ok();
    let wanted = if is_complete { (15, [4, 7]) } else { (2, short) };
    assert_eq!((all, short), wanted);
}

/// A task that yields once. With `UNPAUSE_SHUTTLE_DFS=all`, it has two steps, and each may be the last of the run.
#[test]
fn runs_with_tasks_are_counted_on_request() {
    let body = || drop(future::spawn(future::yield_now()));
    let runs = Runner::new(DfsScheduler::new(None, false), Config::new()).run(body);
    let is_complete = std::env::var("UNPAUSE_SHUTTLE_DFS").is_ok();
    assert!(if is_complete { runs == 3 } else { runs != 3 }, "{runs} runs");
}

/// Two threads without a handle, with two steps each. The second thread begins after the first of three steps of the
/// body. With `UNPAUSE_SHUTTLE_DFS=all`, the end of the run has no further steps, as in shuttle.
#[test]
fn runs_with_threads_left_behind_are_counted_on_request() {
    let body = || {
        thread::spawn(thread::yield_now);
        thread::spawn(thread::yield_now);
        thread::yield_now();
    };
    let runs = Runner::new(DfsScheduler::new(None, false), Config::new()).run(body);
    let is_complete = std::env::var("UNPAUSE_SHUTTLE_DFS").is_ok();
    assert!(if is_complete { runs == 126 } else { runs < 126 }, "{runs} runs");
}

/// The check belongs to the test, so the test does not run again as a test without checks.
#[test]
fn a_check_may_run_on_another_thread() {
    let other = std::thread::spawn(|| {
        let body = || thread::spawn(|| {}).join().unwrap();
        Runner::new(RandomScheduler::new(5), Config::new()).run(body)
    });
    assert_eq!(other.join().unwrap(), 5);
}

/// The sampled runs that check a search have one process, although the body has captured a value.
#[test]
fn a_search_of_a_closure_with_captured_values_has_few_processes() {
    let folder = std::env::temp_dir().join(format!("unpause-shuttle-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (of_runs, word) = (folder.clone(), Arc::new(AtomicUsize::new(0)));
    let runs = Runner::new(DfsScheduler::new(None, false), Config::new()).run(move || {
        let other = thread::spawn(thread::yield_now);
        word.fetch_add(1, SeqCst);
        other.join().unwrap();
        let _ = std::fs::File::create(of_runs.join(std::process::id().to_string()));
    });
    let processes = std::fs::read_dir(&folder).unwrap().count();
    std::fs::remove_dir_all(folder).unwrap();
    assert!(runs < 10 && processes < 30, "{runs} runs, {processes} processes");
}

/// A random walk almost never runs a long thread to its end before the short one continues.
#[test]
fn a_random_walk_is_taken_on_request() {
    let early = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = early.clone();
    let body = move || {
        let last = Arc::new(AtomicUsize::new(0));
        let other = last.clone();
        let thread = thread::spawn(move || (1..=30).for_each(|number| other.store(number, SeqCst)));
        counted.fetch_add(usize::from(last.load(SeqCst) == 30), SeqCst);
        thread.join().unwrap();
    };
    Runner::new(RandomScheduler::new(300), Config::new()).run(body);
    let is_walk = std::env::var("UNPAUSE_SHUTTLE_RANDOM").is_ok();
    assert_eq!(early.load(SeqCst) == 0, is_walk);
}
