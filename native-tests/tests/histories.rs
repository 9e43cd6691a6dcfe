//! Recorded calls of plain threads, checked against a model.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::thread;

use sim::History;
use sim::check::Model;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Queue(VecDeque<u32>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Call {
    Push(u32),
    Pop,
}

impl Model for Queue {
    type Op = Call;
    type Ret = Option<u32>;

    fn step(&mut self, call: &Call) -> Option<u32> {
        match call {
            Call::Push(value) => {
                self.0.push_back(*value);
                None
            }
            Call::Pop => self.0.pop_front(),
        }
    }
}

/// A queue behind a lock.
type Locked = Mutex<VecDeque<u32>>;

/// Reads the first value and removes it, under two locks: two threads may read the same one.
fn pop_in_two(queue: &Locked) -> Option<u32> {
    let first = queue.lock().unwrap().front().copied();
    queue.lock().unwrap().pop_front();
    first
}

fn pop(queue: &Locked) -> Option<u32> {
    queue.lock().unwrap().pop_front()
}

/// One thread pushes, two threads pop; the recorded calls must be those of a queue.
fn check(pop: fn(&Locked) -> Option<u32>) {
    let (queue, history) = (Arc::new(Locked::default()), History::new(Queue::default()));
    let threads: Vec<_> = (0..3)
        .map(|thread| {
            let (queue, history) = (queue.clone(), history.clone());
            thread::spawn(move || match thread {
                0 => (1..=2).for_each(|value| {
                    history.call_blocking(Call::Push(value), || {
                        queue.lock().unwrap().push_back(value);
                        None
                    });
                }),
                _ => _ = history.call_blocking(Call::Pop, || pop(&queue)),
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
