//! Recorded calls of plain threads, checked against a model.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::thread;

use sim::History;
use sim::check::models::{Queue, QueueOp, QueueRet};

/// A queue behind a lock.
type Locked = Mutex<VecDeque<u64>>;

/// Reads the first value and removes it, under two locks: two threads may read the same value.
fn pop_in_two(queue: &Locked) -> Option<u64> {
    let first = queue.lock().unwrap().front().copied();
    queue.lock().unwrap().pop_front();
    first
}

fn pop(queue: &Locked) -> Option<u64> {
    queue.lock().unwrap().pop_front()
}

/// One thread pushes, two threads pop; the recorded calls must fit a queue.
fn check(pop: fn(&Locked) -> Option<u64>) {
    let (queue, history) = (Arc::new(Locked::default()), History::new(Queue::new()));
    let threads: Vec<_> = (0..3)
        .map(|thread| {
            let (queue, history) = (queue.clone(), history.clone());
            thread::spawn(move || match thread {
                0 => (1..=2).for_each(|value| {
                    history.call_blocking(QueueOp::Enqueue(value), || {
                        queue.lock().unwrap().push_back(value);
                        QueueRet::Done
                    });
                }),
                _ => {
                    history.call_blocking(QueueOp::Dequeue, || QueueRet::Item(pop(&queue)));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    history.assert_linearizable();
}

#[sim::test(native, seeds = 1000, must_fail)]
fn a_queue_that_pops_in_two_parts_is_not_linearizable() {
    check(pop_in_two);
}

#[sim::test(native, seeds = 1000)]
fn a_queue_behind_a_lock_is_linearizable() {
    check(pop);
}
