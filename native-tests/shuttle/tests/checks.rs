//! Tests with shuttle's names, as shuttle's users write them.

use std::collections::BTreeSet;

use shuttle::current::{get_label_for_task, me, set_label_for_task};
use shuttle::future::batch_semaphore::{BatchSemaphore, Fairness};
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler};
use shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shuttle::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use shuttle::{Config, MaxSteps, Runner, future, thread};

fn loses_an_increment() {
    let number = Arc::new(AtomicUsize::new(0));
    let other = number.clone();
    let increment = |number: &AtomicUsize| number.store(number.load(SeqCst) + 1, SeqCst);
    let thread = thread::spawn(move || increment(&other));
    increment(&number);
    thread.join().unwrap();
    assert_eq!(number.load(SeqCst), 2, "an increment is lost");
}

/// Must fail.
#[test]
fn an_increment_in_two_steps_is_lost() {
    shuttle::check_random(loses_an_increment, 100);
}

#[test]
#[should_panic(expected = "an increment is lost")]
fn pct_finds_it() {
    shuttle::check_pct(loses_an_increment, 100, 2);
}

#[test]
#[should_panic(expected = "an increment is lost")]
fn pct_of_a_large_depth_finds_it() {
    shuttle::check_pct(loses_an_increment, 100, 50);
}

#[test]
#[should_panic(expected = "an increment is lost")]
fn urw_finds_it() {
    shuttle::check_urw(loses_an_increment, 100);
}

#[test]
#[should_panic(expected = "an increment is lost")]
fn a_search_finds_it() {
    shuttle::check_dfs(loses_an_increment, None);
}

#[test]
fn a_search_tells_the_number_of_its_runs() {
    let seen = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let of_runs = seen.clone();
    let runs = Runner::new(DfsScheduler::new(None, false), Config::new()).run(move || {
        let number = Arc::new(AtomicUsize::new(0));
        let other = number.clone();
        let thread = thread::spawn(move || other.store(1, SeqCst));
        let value = number.load(SeqCst);
        thread.join().unwrap();
        of_runs.lock().unwrap().insert(value);
    });
    assert_eq!((runs, &*seen.lock().unwrap()), (2, &BTreeSet::from([0, 1])));
}

#[test]
#[should_panic(expected = "of a scoped thread")]
fn a_panic_of_a_scoped_thread_fails_the_test_although_its_joiner_ignores_it() {
    shuttle::check_random(
        || {
            thread::scope(|scope| {
                drop(scope.spawn(|| assert_eq!(1 + 1, 3, "of a scoped thread")).join());
            });
        },
        10,
    );
}

/// The thread is not joined, and the run waits for it.
#[test]
#[should_panic(expected = "deadlock! blocked tasks")]
fn a_thread_that_waits_for_ever_is_a_deadlock() {
    shuttle::check_random(
        || {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let other = pair.clone();
            thread::spawn(move || {
                let set = other.0.lock().unwrap();
                drop(other.1.wait_while(set, |set| !*set).unwrap());
            });
        },
        10,
    );
}

#[test]
fn tasks_wait_for_each_other() {
    shuttle::check_random(
        || {
            let total = Arc::new(Mutex::new(0));
            let tasks = [1, 2, 3].map(|value| {
                let total = total.clone();
                future::spawn(async move {
                    future::yield_now().await;
                    *total.lock().unwrap() += value;
                    value
                })
            });
            let waiting = future::spawn(std::future::pending::<()>());
            waiting.abort();
            let sum = future::block_on(async {
                assert_eq!(waiting.await, Err(future::JoinError::Cancelled));
                let mut sum = 0;
                for task in tasks {
                    sum += task.await.unwrap();
                }
                sum
            });
            assert_eq!((sum, *total.lock().unwrap()), (6, 6));
        },
        100,
    );
}

#[test]
fn random_numbers_differ_from_run_to_run() {
    let seen = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let of_runs = seen.clone();
    shuttle::check_random(
        move || {
            of_runs.lock().unwrap().insert(thread_rng().gen_range(0..1_000_000));
        },
        50,
    );
    assert!(seen.lock().unwrap().len() > 25);
}

#[test]
#[should_panic(expected = "an increment is lost")]
fn the_failure_of_a_schedule_is_searched() {
    shuttle::replay(loses_an_increment, "91010100");
}

/// Counts the calls of a closure. Rehearsals, repetitions and shrinking do not count.
#[test]
fn a_closure_is_called_once_for_each_iteration() {
    let calls = Arc::new(std::sync::Mutex::new(0));
    let counted = calls.clone();
    let call = move || {
        thread::spawn(|| ());
        *counted.lock().unwrap() += 1;
    };
    shuttle::check(call.clone());
    assert_eq!(std::mem::take(&mut *calls.lock().unwrap()), 1);
    shuttle::check_pct(call.clone(), 10, 2);
    assert_eq!(std::mem::take(&mut *calls.lock().unwrap()), 10);
    let runs = Runner::new(DfsScheduler::new(None, false), Config::new()).run(call);
    assert_eq!(*calls.lock().unwrap(), runs);
}

fn yields_for_ever() {
    thread::spawn(|| ());
    loop {
        thread::yield_now();
    }
}

#[test]
fn a_run_may_end_at_its_step_limit() {
    let mut config = Config::new();
    config.max_steps = MaxSteps::ContinueAfter(50);
    let runner = Runner::new(RandomScheduler::new(5), config.clone());
    assert_eq!(runner.run(yields_for_ever), 5);
    let search = Runner::new(DfsScheduler::new(Some(5), false), config);
    assert!((1..=5).contains(&search.run(yields_for_ever)));
}

#[test]
#[should_panic(expected = "main tried to acquire a Mutex it already holds")]
fn a_thread_that_waits_for_itself_is_named() {
    let locks_twice = || {
        let lock = Mutex::new(());
        let _first = lock.lock();
        drop(lock.lock());
    };
    shuttle::check_dfs(locks_twice, None);
}

/// The search cuts some runs: their threads end, too.
#[test]
fn a_captured_value_can_be_taken_back() {
    let seen = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let of_runs = seen.clone();
    shuttle::check_dfs(
        move || {
            let (sender, receiver) = mpsc::sync_channel(0);
            let of_thread = of_runs.clone();
            thread::spawn(move || {
                of_thread.lock().unwrap().insert(receiver.try_recv().is_ok());
            });
            let _ = sender.send(1);
        },
        None,
    );
    let seen = Arc::try_unwrap(seen).unwrap().into_inner().unwrap();
    assert_eq!(seen, BTreeSet::from([false, true]));
}

#[test]
#[should_panic(expected = "possible nondeterminism")]
fn a_run_that_depends_on_captured_values_is_found() {
    let runs = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let body = move || {
        let threads = runs.fetch_add(1, SeqCst) % 2;
        (0..threads).for_each(|_| thread::spawn(thread::yield_now).join().unwrap());
    };
    shuttle::check_uncontrolled_nondeterminism(body, 10);
}

#[test]
fn a_task_has_the_labels_of_the_task_that_spawns_it() {
    shuttle::check_random(
        || {
            set_label_for_task(me(), 1_u8);
            let first = me();
            let child = thread::spawn(move || {
                assert_eq!(get_label_for_task::<u8>(me()), Some(1));
                set_label_for_task(me(), 2_u8);
                set_label_for_task(first, 3_u16);
                usize::from(me())
            });
            let number: usize = child.thread().id().into();
            assert_eq!((usize::from(me()), number), (0, 1));
            assert_eq!(child.join().unwrap(), number);
            assert_eq!(get_label_for_task::<u8>(me()), Some(1));
            assert_eq!(get_label_for_task::<u16>(me()), Some(3));
        },
        100,
    );
}

/// Two of three permits are never held by more than the semaphore has.
fn uses_permits(fairness: Fairness) {
    let semaphore = Arc::new(BatchSemaphore::new(3, fairness));
    let held = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = [2, 2, 1]
        .map(|permits| {
            let (semaphore, held) = (semaphore.clone(), held.clone());
            thread::spawn(move || {
                semaphore.acquire_blocking(permits).unwrap();
                assert!(held.fetch_add(permits, SeqCst) + permits <= 3, "too many permits");
                held.fetch_sub(permits, SeqCst);
                semaphore.release(permits);
            })
        })
        .into();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(semaphore.available_permits(), 3);
}

#[test]
fn a_semaphore_gives_no_more_permits_than_it_has() {
    shuttle::check_random(|| uses_permits(Fairness::StrictlyFair), 300);
    shuttle::check_random(|| uses_permits(Fairness::Unfair), 300);
}

#[test]
#[should_panic(expected = "deadlock!")]
fn permits_that_are_not_released_are_a_deadlock() {
    shuttle::check_random(
        || {
            let semaphore = Arc::new(BatchSemaphore::new(1, Fairness::StrictlyFair));
            let other = semaphore.clone();
            let thread = thread::spawn(move || other.acquire_blocking(1).unwrap());
            semaphore.acquire_blocking(1).unwrap();
            thread.join().unwrap();
        },
        100,
    );
}

#[test]
fn the_longest_time_is_no_limit() {
    let mut config = Config::new();
    config.max_time = Some(std::time::Duration::MAX);
    let runs = Runner::new(DfsScheduler::new(None, false), config).run(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let other = number.clone();
        let thread = thread::spawn(move || other.store(1, SeqCst));
        number.load(SeqCst);
        thread.join().unwrap();
    });
    assert_eq!(runs, 2);
}

#[test]
fn a_closed_semaphore_refuses_who_waits() {
    shuttle::check_random(
        || {
            let semaphore = Arc::new(BatchSemaphore::new(0, Fairness::StrictlyFair));
            let other = semaphore.clone();
            let thread = thread::spawn(move || other.acquire_blocking(1).is_err());
            semaphore.close();
            assert!(thread.join().unwrap());
        },
        100,
    );
}

/// Some steps of a task execute no code of the user. They belong to the threads of `unpause-shuttle`, which call std.
#[test]
fn an_abort_comes_before_and_behind_each_step_of_a_task() {
    let seen = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let of_runs = seen.clone();
    let runs = Runner::new(DfsScheduler::new(None, false), Config::new()).run(move || {
        let task = future::spawn(async { 42 });
        task.abort();
        task.abort();
        let result = future::block_on(task).ok();
        of_runs.lock().unwrap().insert(result);
    });
    assert_eq!(&*seen.lock().unwrap(), &BTreeSet::from([None, Some(42)]));
    assert!(runs < 100, "{runs} runs");
}

/// Gives way this many times in a run of at most 50 steps. Returns the number of rounds that the runs have begun, and
/// the message of a failure.
fn yields_within_a_limit(rounds: usize, limit: MaxSteps) -> (usize, Option<String>) {
    let begun = Arc::new(std::sync::Mutex::new(0));
    let counted = begun.clone();
    let mut config = Config::new();
    config.max_steps = limit;
    let runner = Runner::new(RandomScheduler::new(10), config);
    let body = move || {
        for _ in 0..rounds {
            *counted.lock().unwrap() += 1;
            thread::yield_now();
        }
    };
    let run = std::panic::AssertUnwindSafe(|| runner.run(body));
    let failure = std::panic::catch_unwind(run).err();
    let message = failure.map(|failure| *failure.downcast::<String>().unwrap());
    (*begun.lock().unwrap(), message)
}

/// Each yield is a step, also in a loop that does nothing else.
#[test]
fn a_run_of_more_steps_fails_or_ends() {
    let (begun, message) = yields_within_a_limit(100, MaxSteps::FailAfter(50));
    assert_eq!(begun, 50);
    assert!(message.unwrap().starts_with("exceeded max_steps bound of 50"));
    assert_eq!(yields_within_a_limit(100, MaxSteps::ContinueAfter(50)), (10 * 50, None));
    assert_eq!(yields_within_a_limit(40, MaxSteps::FailAfter(50)), (10 * 40, None));
}

#[test]
#[should_panic(expected = "test closure did not exercise any concurrency")]
fn pct_refuses_a_body_without_threads() {
    shuttle::check_pct(|| (), 10, 2);
}

#[test]
fn pct_accepts_threads_of_std() {
    shuttle::check_pct(|| std::thread::spawn(|| ()).join().unwrap(), 10, 2);
    Runner::new(PctScheduler::new(2, 1), Config::new()).run(|| ());
}

fn locks_in_another_order() {
    let locks = Arc::new([RwLock::new(()), RwLock::new(())]);
    let others = locks.clone();
    thread::spawn(move || {
        let _first = others[0].read();
        drop(others[1].read());
    });
    let _second = locks[1].write();
    drop(locks[0].write());
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_check_has_many_runs() {
    shuttle::check(locks_in_another_order);
}

/// The captured value sees one call, see `a_closure_is_called_once_for_each_iteration`.
#[test]
#[should_panic(expected = "deadlock")]
fn a_check_of_a_closure_with_captured_values_has_many_runs() {
    let calls = Arc::new(std::sync::Mutex::new(0));
    shuttle::check(move || {
        *calls.lock().unwrap() += 1;
        locks_in_another_order();
    });
}

/// A run begins with the first values of statics. After the check, they have the values of the last run, unless one of
/// them refers to memory of the run.
#[test]
fn statics_have_the_values_of_the_last_run() {
    static RUNS: AtomicUsize = AtomicUsize::new(3);
    static BEFORE: AtomicUsize = AtomicUsize::new(0);
    static TEXTS: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());
    BEFORE.store(1, SeqCst);
    shuttle::check_random(|| assert_eq!(RUNS.fetch_add(4, SeqCst), 3), 10);
    assert_eq!((RUNS.load(SeqCst), BEFORE.load(SeqCst)), (7, 1));
    TEXTS.lock().unwrap().push("before".to_owned());
    let adds_a_text = || {
        RUNS.store(8, SeqCst);
        TEXTS.lock().unwrap().push("of a run".to_owned());
    };
    shuttle::check_random(adds_a_text, 10);
    assert_eq!((RUNS.load(SeqCst), BEFORE.load(SeqCst)), (7, 1));
    assert_eq!(*TEXTS.lock().unwrap(), ["before"]);
}

/// Has a thread wait, and sets a flag before it wakes the thread.
fn waits_for_a_flag(wait: fn(&AtomicUsize)) {
    let flag = Arc::new(AtomicUsize::new(0));
    let of_thread = flag.clone();
    let thread = thread::spawn(move || {
        wait(&of_thread);
        assert_eq!(of_thread.load(SeqCst), 1, "woken without the flag");
    });
    flag.store(1, SeqCst);
    thread.thread().unpark();
    thread.join().unwrap();
}

#[test]
#[should_panic(expected = "woken without the flag")]
fn a_park_may_return_at_any_moment() {
    shuttle::check_dfs(|| waits_for_a_flag(|_| thread::park()), None);
}

#[test]
fn a_park_in_a_loop_is_right_and_no_other_wait_ends_by_itself() {
    let parks = |flag: &AtomicUsize| {
        while flag.load(SeqCst) == 0 {
            thread::park();
        }
    };
    shuttle::check_random(move || waits_for_a_flag(parks), 200);
    shuttle::check_random(|| waits_for_a_flag(|_| std::thread::park()), 200);
    let waits_once = || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = pair.clone();
        let set = pair.0.lock().unwrap();
        thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        assert!(*pair.1.wait(set).unwrap(), "woken without a notification");
    };
    shuttle::check_random(waits_once, 200);
}

/// The thread with the long sleep may be the first one.
#[test]
fn a_sleep_orders_no_threads() {
    let seen = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let of_runs = seen.clone();
    shuttle::check_random(
        move || {
            let number = Arc::new(AtomicUsize::new(0));
            let other = number.clone();
            let thread = thread::spawn(move || {
                thread::sleep(std::time::Duration::from_secs(10));
                other.store(1, SeqCst);
            });
            thread::sleep(std::time::Duration::from_secs(1));
            of_runs.lock().unwrap().insert(number.load(SeqCst));
            thread.join().unwrap();
        },
        100,
    );
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([0, 1]));
}

/// The binomial coefficient of 10 over 5 with `UNPAUSE_SHUTTLE_DFS=all`, as in shuttle.
#[test]
fn yields_are_searched_on_request() {
    let yields = || (0..4).for_each(|_| thread::yield_now());
    let body = move || {
        thread::spawn(yields);
        yields();
    };
    let runs = Runner::new(DfsScheduler::new(None, false), Config::new()).run(body);
    let is_complete = std::env::var("UNPAUSE_SHUTTLE_DFS").is_ok();
    assert!(if is_complete { runs == 252 } else { runs < 10 }, "{runs} runs");
}
