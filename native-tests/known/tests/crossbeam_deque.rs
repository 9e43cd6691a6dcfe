//! RUSTSEC-2021-0093: 0.8.0 hands a task to two workers.

use std::thread;

use crossbeam_deque::{Steal, Worker};

#[sim::test(native, seeds = 10_000)]
fn a_task_is_taken_once() {
    let worker = Worker::new_lifo();
    let stealer = worker.stealer();
    (0..65).for_each(|task| worker.push(task));
    let stealing = thread::spawn(move || {
        let own = Worker::new_lifo();
        let mut taken = Vec::new();
        while let Steal::Retry = stealer.steal_batch(&own) {}
        while let Some(task) = own.pop() {
            taken.push(task);
        }
        taken
    });
    let mut taken: Vec<i32> = (0..60).filter_map(|_| worker.pop()).collect();
    (65..95).for_each(|task| worker.push(task));
    taken.extend(stealing.join().unwrap());
    taken.extend(std::iter::from_fn(|| worker.pop()));
    taken.sort_unstable();
    assert_eq!(taken, (0..95).collect::<Vec<_>>());
}
