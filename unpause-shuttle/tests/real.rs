//! Tests without the engine: they run on real threads.

use std::cell::Cell;
use std::time::{Duration, Instant};

use shuttle::current::{
    ChildLabelFn, Labels, TaskId, get_current_task, get_label_for_task, me, set_label_for_task,
    try_get_current_task,
};
use shuttle::rand::RngCore;
use shuttle::sync::{Arc, RwLock, TryLockError, mpsc};
use shuttle::{future, rand, thread};

#[test]
fn a_future_leaves_the_park_token_to_the_program() {
    std::thread::current().unpark();
    future::block_on(future::yield_now());
    let (begin, long) = (Instant::now(), Duration::from_secs(5));
    std::thread::park_timeout(long);
    assert!(begin.elapsed() < long);
}

#[test]
#[should_panic(expected = "of a thread")]
fn a_panic_of_a_thread_fails_the_test_although_nobody_asks() {
    shuttle::check(|| drop(thread::spawn(|| assert_eq!(1 + 1, 3, "of a thread"))));
}

#[test]
#[should_panic(expected = "of a scoped thread")]
fn a_panic_of_a_scoped_thread_fails_the_test_although_its_joiner_ignores_it() {
    shuttle::check(|| {
        thread::scope(|scope| {
            drop(scope.spawn(|| assert_eq!(1 + 1, 3, "of a scoped thread")).join());
        });
    });
}

#[test]
#[should_panic(expected = "of a task")]
fn a_panic_of_a_task_reaches_its_joiner() {
    shuttle::check(|| {
        let task = future::spawn(async { assert_eq!(1 + 1, 3, "of a task") });
        drop(future::block_on(task));
    });
}

#[test]
fn a_scoped_thread_has_a_number_and_the_labels_of_its_spawner() {
    shuttle::check(|| {
        set_label_for_task(me(), 1_u8);
        let mut sum = 0;
        thread::scope(|scope| {
            let handle = scope.spawn(|| {
                sum += 1;
                (thread::current().id(), get_label_for_task::<u8>(me()))
            });
            let id = handle.thread().id();
            assert_eq!(handle.join().unwrap(), (id, Some(1)));
        });
        assert_eq!(sum, 1);
    });
}

#[test]
fn a_new_task_has_its_labels_before_its_first_step() {
    shuttle::check(|| {
        let number = |task: TaskId, labels: &mut Labels| {
            labels.insert(usize::from(task));
        };
        set_label_for_task(me(), ChildLabelFn(Arc::new(number)));
        let handle = thread::spawn(|| ());
        let task = TaskId::from(usize::from(handle.thread().id()));
        assert_eq!(get_label_for_task::<usize>(task), Some(usize::from(task)));
        handle.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "of a lonely task")]
fn a_panic_of_a_task_fails_the_test_although_nobody_awaits_it() {
    shuttle::check(|| {
        let task = future::spawn(async { assert_eq!(1 + 1, 3, "of a lonely task") });
        while !task.is_finished() {
            thread::yield_now();
        }
    });
}

#[test]
fn labels_that_another_task_has_set_are_inherited() {
    shuttle::check(|| {
        let (sender, receiver) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            receiver.recv().unwrap();
            thread::spawn(|| get_label_for_task::<u8>(me())).join().unwrap()
        });
        let task = TaskId::from(usize::from(thread.thread().id()));
        set_label_for_task(task, 7_u8);
        sender.send(()).unwrap();
        assert_eq!(thread.join().unwrap(), Some(7));
    });
}

shuttle::thread_local! {
    static LOCAL: Cell<u8> = const { Cell::new(0) };
}

/// Sends the value of the thread-local when it is dropped.
struct SendsLocal(mpsc::Sender<u8>);

impl Drop for SendsLocal {
    fn drop(&mut self) {
        self.0.send(LOCAL.get()).unwrap();
    }
}

/// The joining thread would wait for ever if the result were dropped only at the end of the run.
#[test]
fn the_result_of_a_detached_thread_is_dropped_before_its_thread_locals() {
    shuttle::check(|| {
        let (seen, sees) = mpsc::channel();
        let (begin, begins) = mpsc::channel::<()>();
        drop(thread::spawn(move || {
            LOCAL.set(1);
            begins.recv().unwrap();
            SendsLocal(seen)
        }));
        begin.send(()).unwrap();
        assert_eq!(sees.recv(), Ok(1));
    });
}

#[test]
fn the_current_task_is_known_in_a_check_only() {
    assert_eq!(try_get_current_task(), None);
    shuttle::check(|| assert_eq!(try_get_current_task(), Some(me())));
    assert_eq!(try_get_current_task(), None);
}

#[test]
#[should_panic(expected = "`ExecutionState` is not set")]
fn the_current_task_outside_of_a_check_is_refused() {
    get_current_task();
}

#[test]
#[should_panic(expected = "tried to acquire a RwLock it already holds")]
fn a_thread_must_not_read_twice() {
    shuttle::check(|| {
        let lock = RwLock::new(1);
        let first = lock.read().unwrap();
        assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
        let other = thread::scope(|scope| scope.spawn(|| *lock.read().unwrap()).join());
        assert_eq!(other.unwrap(), 1);
        drop(first);
        let _first = lock.try_read().unwrap();
        drop(lock.read());
    });
}

#[test]
#[should_panic(expected = "requested random data from DFS scheduler")]
fn a_search_refuses_random_numbers_of_all_threads() {
    shuttle::check_dfs(|| drop(thread::spawn(|| rand::thread_rng().next_u64()).join()), None);
}
