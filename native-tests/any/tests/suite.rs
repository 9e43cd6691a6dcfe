//! Tests of all kinds that libtest knows.

use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use any_tests::{add, add_in_two_steps};

static SHARED: AtomicUsize = AtomicUsize::new(7);

fn changes_the_static() {
    println!("printed by a test");
    let threads: Vec<_> = (0..2).map(|_| thread::spawn(|| SHARED.fetch_add(1, SeqCst))).collect();
    threads.into_iter().for_each(|thread| assert!(thread.join().unwrap() < 9));
    assert_eq!(SHARED.load(SeqCst), 9);
}

#[test]
fn one_test_changes_a_static() {
    changes_the_static();
}

#[test]
fn another_test_changes_the_same_static() {
    changes_the_static();
}

#[test]
#[should_panic(expected = "on purpose")]
fn panics_as_it_should() {
    thread::spawn(|| ()).join().unwrap();
    panic!("it panics on purpose");
}

#[test]
#[should_panic]
fn should_panic_and_does_only_after_a_lost_update() {
    let count = Arc::new(AtomicUsize::new(0));
    let other = count.clone();
    let thread = thread::spawn(move || add_in_two_steps(&other));
    add_in_two_steps(&count);
    thread.join().unwrap();
    assert_eq!(count.load(SeqCst), 2);
}

#[test]
#[should_panic(expected = "something else")]
fn panics_with_another_text() {
    panic!("not this");
}

#[test]
fn returns_a_result() -> Result<(), String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(1));
    receiver.recv_timeout(Duration::from_secs(3600)).map_err(|error| error.to_string())?;
    Ok(())
}

#[test]
fn returns_an_error() -> Result<(), String> {
    Err("wrong".to_owned())
}

#[test]
#[ignore = "to be ignored"]
fn is_ignored() {
    panic!("it ran");
}

#[test]
fn locks_in_two_orders() {
    let locks = [Arc::new(Mutex::new(())), Arc::new(Mutex::new(()))];
    let [left, right] = locks.clone();
    let thread = thread::spawn(move || {
        let _left = left.lock().unwrap();
        let _right = right.lock().unwrap();
    });
    {
        let _right = locks[1].lock().unwrap();
        let _left = locks[0].lock().unwrap();
    }
    thread.join().unwrap();
}

#[test]
fn a_thread_panics() {
    let count = Arc::new(AtomicUsize::new(0));
    let other = count.clone();
    let thread = thread::spawn(move || assert_ne!(other.load(SeqCst), 1, "seen by the thread"));
    add(&count);
    add(&count);
    thread.join().unwrap();
}

#[test]
fn takes_very_many_steps() {
    let count = AtomicUsize::new(0);
    for _ in 0..2_000 {
        add(&count);
    }
}

/// Found beyond the step limit only.
#[test]
fn takes_very_many_steps_and_loses_the_last() {
    let count = Arc::new(AtomicUsize::new(0));
    let other = count.clone();
    let thread = thread::spawn(move || (0..1_500).for_each(|_| add(&other)));
    thread.join().unwrap();
    assert_ne!(count.load(SeqCst), 1_500, "beyond the limit");
}

/// Its loop changes memory, so it does not wait for anything.
#[test]
fn takes_steps_for_ever() {
    let count = AtomicUsize::new(1);
    while count.load(SeqCst) > 0 {
        count.fetch_xor(2, SeqCst);
    }
}

/// A file that a run writes exists in the next run, in any process.
#[test]
fn has_another_run_each_time() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("number-of-runs");
    let number: usize = std::fs::read_to_string(&file).map_or(0, |text| text.len());
    std::fs::write(&file, "x".repeat((number + 1) % 50)).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let other = count.clone();
    let thread = thread::spawn(move || add(&other));
    (0..number).for_each(|_| add(&count));
    thread.join().unwrap();
}

#[test]
fn sleeps_for_an_hour() {
    let thread = thread::spawn(|| thread::sleep(Duration::from_secs(3600)));
    thread.join().unwrap();
}

/// Calls a function of C with an atomic operation, if `really`.
fn in_c(really: bool) {
    let count = Arc::new(AtomicU32::new(0));
    let other = count.clone();
    let thread = thread::spawn(move || other.load(SeqCst));
    if std::hint::black_box(really) {
        planted::unseen::add_in_c(&count);
    }
    count.fetch_add(1, SeqCst);
    thread.join().unwrap();
}

#[test]
fn enters_code_of_c() {
    in_c(true);
}

#[test]
fn has_code_of_c() {
    in_c(false);
}

/// Two tasks of a current-thread runtime, which polls them in the order of their spawns.
#[tokio::test]
async fn spawns_two_tasks_on_one_thread() {
    let count = Arc::new(AtomicU32::new(0));
    let add = || {
        let count = count.clone();
        tokio::spawn(async move { count.fetch_add(1, SeqCst) })
    };
    let (first, second) = (add(), add());
    assert!(first.await.unwrap() < second.await.unwrap());
}

#[tokio::test]
async fn awaits_without_a_task() {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    thread::spawn(move || sender.send(7));
    assert_eq!(receiver.await, Ok(7));
}

#[test]
fn has_the_name_of_its_test() {
    assert_eq!(thread::current().name(), Some("has_the_name_of_its_test"));
    let id = format!("{:?}", thread::current().id());
    assert_eq!(id, "ThreadId(1000001)");
    let other = thread::spawn(|| thread::current().name().is_none());
    assert!(other.join().unwrap());
    // A token that is kept for the test's own thread.
    thread::current().unpark();
    thread::park();
}
