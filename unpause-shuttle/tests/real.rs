//! Tests without the engine: they run on real threads.

use shuttle::current::{ChildLabelFn, Labels, TaskId, get_label_for_task, me, set_label_for_task};
use shuttle::sync::Arc;
use shuttle::{future, thread};

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
