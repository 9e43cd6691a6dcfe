//! Bounded searches with weak memory against brute force: each schedule within the bound, with each choice of stores.
//! The number of older stores that a run reads is not bounded.
//!
//! `litmus` of `sim-tests` compares bounded searches that leave out nothing with the axioms of C++20.

use std::sync::Arc;

use super::bounded::{Bounds, compare};
use crate::Atomic;
use crate::rt::Weaker;
use crate::run::rng::Rng;
use crate::sync::Ordering::{self, *};
use crate::sync::fence;

#[derive(Clone, Copy, Debug)]
enum Act {
    Load(usize, Ordering),
    Store(usize, u64, Ordering),
    Add(usize, Ordering),
    /// The expected value, the new value, and the order of a success. The order of a failure is `Relaxed`.
    Exchange(usize, [u64; 2], Ordering),
    Fence(Ordering),
}

/// The acts of each task.
#[derive(Debug)]
pub(super) struct Weak(Arc<Vec<Vec<Act>>>);

fn one_of<T: Copy>(rng: &mut Rng, values: &[T]) -> T {
    values[rng.below(values.len() as u64) as usize]
}

fn act(rng: &mut Rng) -> Act {
    let (word, value) = (rng.below(2) as usize, 1 + rng.below(2));
    match rng.below(8) {
        0..3 => Act::Load(word, one_of(rng, &[Relaxed, Relaxed, Acquire, SeqCst])),
        3..6 => Act::Store(word, value, one_of(rng, &[Relaxed, Relaxed, Release, SeqCst])),
        6 => match rng.below(2) {
            0 => Act::Add(word, one_of(rng, &[Relaxed, AcqRel, SeqCst])),
            _ => {
                let values = [rng.below(2), value];
                Act::Exchange(word, values, one_of(rng, &[Relaxed, AcqRel, SeqCst]))
            }
        },
        _ => Act::Fence(one_of(rng, &[Acquire, Release, SeqCst])),
    }
}

pub(super) fn generate(rng: &mut Rng) -> Weak {
    let tasks = 2 + rng.below(2);
    let mut of_task = |_| (0..1 + rng.below(3)).map(|_| act(rng)).collect();
    Weak(Arc::new((0..tasks).map(&mut of_task).collect()))
}

async fn perform(words: &[Atomic<u64>; 2], act: Act) {
    match act {
        Act::Load(word, order) => drop(words[word].load(order).await),
        Act::Store(word, value, order) => words[word].store(value, order).await,
        Act::Add(word, order) => drop(words[word].fetch_add(1, order).await),
        Act::Exchange(word, [old, new], order) => {
            let _ = words[word].compare_exchange(old, new, order, Relaxed).await;
        }
        Act::Fence(order) => fence(order).await,
    }
}

impl Bounds for Weak {
    const WEAKER: Weaker = Weaker::Choose;

    async fn body(&self) {
        let words = Arc::new([Atomic::new(0), Atomic::new(0)]);
        let tasks = (0..self.0.len()).map(|task| {
            let (words, acts) = (words.clone(), self.0.clone());
            crate::spawn(async move {
                for act in &acts[task] {
                    perform(&words, *act).await;
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            let _ = task.await;
        }
    }
}

#[test]
fn bounded_searches_of_weak_memory_are_as_by_brute_force() {
    compare(generate);
}
