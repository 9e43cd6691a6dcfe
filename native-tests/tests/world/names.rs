//! The thread of a test is the thread that libtest would give it.

use std::thread;

/// libtest gives the thread of a test this name.
#[sim::test(native, seeds = 3)]
fn the_thread_of_a_test_has_its_name() {
    let name = Some("names::the_thread_of_a_test_has_its_name");
    assert_eq!(thread::current().name(), name);
    assert!(format!("{:?}", thread::current().id()).starts_with("ThreadId(10000"));
    let other = thread::spawn(|| thread::current().name().map(str::to_owned));
    assert_eq!(other.join().unwrap(), None);
}

/// The panic of such a thread has its own message and line.
#[sim::test(native, seeds = 3, must_fail = "the thread names::a_named_thread_panics")]
fn a_named_thread_panics() {
    panic!("the thread {}", thread::current().name().unwrap_or("without a name"));
}
