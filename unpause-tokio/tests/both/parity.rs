//! Outside of runs, the crate is tokio. Programs are compiled with both, and must print the same.

use std::cell::Cell;
use std::panic::{RefUnwindSafe, UnwindSafe};

use real::runtime::Builder;

mod ours;
mod theirs;

/// Runs each program in a runtime with one thread and a paused clock.
macro_rules! the_same {
    ($($program:ident)*) => {$(
        #[test]
        fn $program() {
            let ours = ours::programs::paused(ours::programs::$program());
            let theirs = theirs::programs::paused(theirs::programs::$program());
            assert_eq!(ours, theirs);
            assert!(!ours.is_empty(), "a program that says nothing compares nothing");
        }
    )*};
}

the_same! {
    tasks
    sets_of_tasks
    numbers_of_tasks
    local_tasks
    handles
    clocks
    sleeps
    time_outs
    intervals
    late_intervals
    channels
    texts
    macros
}

#[test]
fn threads() {
    let (ours, theirs) = (ours::programs::threads(), theirs::programs::threads());
    assert_eq!(ours, theirs);
}

#[test]
fn the_runtime_is_tokios() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    // The tasks of this crate must also work in a runtime that this crate did not create.
    runtime.block_on(async {
        let task = tokio::spawn(async { real::runtime::Handle::current().id().to_string() });
        let here = real::runtime::Handle::current().id().to_string();
        assert_eq!(task.await.unwrap(), here);
        assert_eq!(tokio::runtime::Handle::current().id().to_string(), here);
        tokio::time::sleep(tokio::time::Duration::from_millis(1)).await;
    });
}

#[test]
fn handles_are_unwind_safe() {
    fn is_unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}
    is_unwind_safe::<tokio::task::JoinHandle<Cell<u8>>>();
    is_unwind_safe::<tokio::task::AbortHandle>();
    is_unwind_safe::<tokio::runtime::Handle>();
    is_unwind_safe::<tokio::runtime::Runtime>();
}

#[test]
#[should_panic(
    expected = "there is no reactor running, must be called from the context of a Tokio 1.x runtime"
)]
fn without_a_runtime_there_are_no_tasks() {
    drop(tokio::spawn(async {}));
}
