//! Data races that occur only after a stale read, with the memory `c11`. A load acquires the writes that the store
//! which it reads has released, but no later writes.

use std::sync::Arc;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::thread;

use planted::Plain;

#[derive(Default)]
struct Shared {
    first: Plain,
    second: Plain,
    flag: AtomicU32,
    done: AtomicBool,
}

/// Runs `first` on a thread and `then` on this one.
fn both(first: impl FnOnce(&Shared) + Send + 'static, then: impl FnOnce(&Shared)) {
    let shared: Arc<Shared> = Arc::default();
    let of_thread = shared.clone();
    let thread = thread::spawn(move || first(&of_thread));
    then(&shared);
    thread.join().unwrap();
}

/// A thread writes, sets the flag, and reports its end. The other thread writes if it sees that, and the flag unset.
fn writes_if_unset(done: Ordering, look: Ordering) {
    both(
        move |shared| {
            shared.first.set(1);
            shared.flag.store(1, Release);
            shared.done.store(true, done);
        },
        |shared| {
            if shared.done.load(look) && shared.flag.load(Acquire) == 0 {
                shared.first.set(2);
            }
        },
    );
}

#[sim::test(native, races, memory = "c11", seeds = 500, must_fail)]
fn a_stale_flag_does_not_order() {
    writes_if_unset(Relaxed, Relaxed);
}

#[sim::test(native, races, memory = "c11", seeds = 1000)]
fn a_flag_that_is_not_stale() {
    writes_if_unset(Release, Acquire);
}

#[sim::test(native, races, seeds = 500)]
fn a_stale_flag_needs_weak_memory() {
    writes_if_unset(Relaxed, Relaxed);
}

/// A thread publishes one value behind another. The other thread knows that both threads exist, and reads a value if it
/// sees the flag of the value.
fn publishes_twice(seen: u32, read: fn(&Shared) -> u64) {
    both(
        |shared| {
            shared.first.set(1);
            shared.flag.store(1, Release);
            shared.second.set(1);
            shared.flag.store(2, Release);
            shared.done.store(true, Relaxed);
        },
        |shared| {
            if shared.done.load(Relaxed) && shared.flag.load(Acquire) >= seen {
                assert_eq!(read(shared), 1);
            }
        },
    );
}

#[sim::test(native, races, memory = "c11", seeds = 500, must_fail)]
fn an_older_flag_does_not_publish_the_second_value() {
    publishes_twice(1, |shared| shared.second.get());
}

#[sim::test(native, races, seeds = 500)]
fn an_older_flag_needs_weak_memory() {
    publishes_twice(1, |shared| shared.second.get());
}

#[sim::test(native, races, memory = "c11", seeds = 1000)]
fn an_older_flag_publishes_the_first_value() {
    publishes_twice(1, |shared| shared.first.get());
}

#[sim::test(native, races, memory = "c11", seeds = 1000)]
fn the_newest_flag_publishes_the_second_value() {
    publishes_twice(2, |shared| shared.second.get());
}

/// Two threads that each announce themselves, and write if they do not see the other thread.
fn write_alone(store: Ordering, load: Ordering) {
    let enter = move |own: &AtomicU32, other: &AtomicBool, value: &Plain| {
        own.store(1, store);
        if !other.load(load) {
            value.set(1);
        }
    };
    both(
        move |shared| enter(&shared.flag, &shared.done, &shared.first),
        |shared| {
            shared.done.store(true, store);
            if shared.flag.load(load) == 0 {
                shared.first.set(2);
            }
        },
    );
}

#[sim::test(native, races, memory = "c11", seeds = 100, must_fail)]
fn two_threads_write_alone() {
    write_alone(Release, Acquire);
}

#[sim::test(native, races, memory = "c11", seeds = 1000)]
fn one_thread_writes_alone() {
    write_alone(SeqCst, SeqCst);
}

#[sim::test(native, races, seeds = 500)]
fn two_threads_that_write_alone_need_weak_memory() {
    write_alone(Release, Acquire);
}
