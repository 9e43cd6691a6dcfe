//! Programs that start very many threads.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;

thread_local! {
    static COUNT: Cell<u32> = const { Cell::new(0) };
}

/// The threads that this process has in the system.
fn threads_of_the_system() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Threads:")).unwrap();
    line.trim().parse().unwrap()
}

#[sim::test(native, seeds = 2, max_steps = 1_000_000)]
fn threads_that_were_joined_leave_room_for_later_ones() {
    for number in 0..1500_usize {
        let thread = thread::spawn(move || {
            let variable = AtomicUsize::new(number);
            // Each thread has its own variables, and its own thread-locals.
            COUNT.set(COUNT.get() + 1);
            (variable.fetch_add(1, SeqCst), COUNT.get())
        });
        assert_eq!(thread.join().unwrap(), (number, 1));
    }
    let count = threads_of_the_system();
    assert!(count < 700, "{count}");
}

#[sim::test(native, seeds = 2, max_steps = 1_000_000)]
fn threads_that_nobody_joins_leave_room_too() {
    let sum = Arc::new(AtomicUsize::new(0));
    for number in 0..300 {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..4 {
            let (sender, sum) = (sender.clone(), sum.clone());
            thread::spawn(move || {
                sum.fetch_add(number, SeqCst);
                sender.send(()).unwrap();
            });
        }
        drop(sender);
        // Some have not ended when the next threads begin.
        assert_eq!(receiver.iter().count(), 4);
    }
    assert_eq!(sum.load(SeqCst), 4 * 299 * 150);
    let count = threads_of_the_system();
    assert!(count < 900, "{count}");
}
