//! The bodies alone: a cheap random number selects the next task to poll, and nothing else is done. No operation is
//! announced or recorded and no task is woken. So a tool that runs these bodies unchanged cannot be faster.
//!
//! This peer runs only workloads in which tasks yield before each operation. The other workloads need an executor that
//! spawns, joins or wakes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll, Waker};

use futures::StreamExt;

use super::Peer;
use crate::workload::{
    Shape, W1, W1R8_DEPTH, W2, W5_MESSAGES, W7, W8, W8_ATOMICS, Workload, check_loaded, sum_below,
    w8_sum,
};

/// The reference for tools, not a tool itself.
pub(crate) const PEER: Peer = Peer { name: "the body alone", can, run };

type Task = Pin<Box<dyn Future<Output = u64> + Send>>;

fn can(workload: Workload) -> bool {
    use Workload::{W1, W1r8, W2, W5, W5t, W7, W8};
    matches!(workload, W1 | W1r8 | W2 | W5 | W5t | W7 | W8)
}

fn run(workload: Workload, runs: u64) {
    for seed in 1..=runs {
        match workload {
            Workload::W1 => yields(W1, seed),
            Workload::W1r8 => w1r8(seed),
            Workload::W2 => load_store(W2, seed),
            Workload::W5 | Workload::W5t => w5(seed),
            Workload::W7 => yields(W7, seed),
            Workload::W8 => w8(seed),
            _ => unreachable!("not without somebody who spawns"),
        }
    }
}

/// Polls the tasks in random order until all are ready. Returns their results.
fn poll_all(tasks: Vec<Task>, seed: u64) -> Vec<u64> {
    let mut left: Vec<(usize, Task)> = tasks.into_iter().enumerate().collect();
    let mut given = vec![0; left.len()];
    let mut cx = Context::from_waker(Waker::noop());
    // Marsaglia, Xorshift RNGs, 2003, with the shifts 13, 7 and 17.
    let mut number = seed;
    while !left.is_empty() {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        let drawn = (((number >> 32) * left.len() as u64) >> 32) as usize;
        let (task, future) = &mut left[drawn];
        if let Poll::Ready(gave) = future.as_mut().poll(&mut cx) {
            given[*task] = gave;
            drop(left.swap_remove(drawn));
        }
    }
    given
}

/// A future that is pending once.
#[derive(Default)]
struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.0, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

async fn yield_often(rounds: u64) -> u64 {
    let mut done = 0;
    for _ in 0..rounds {
        Yield::default().await;
        done += 1;
    }
    done
}

fn yields(shape: Shape, seed: u64) {
    let task = |_| Box::pin(yield_often(shape.rounds)) as Task;
    let sum: u64 = poll_all((0..shape.tasks).map(task).collect(), seed).iter().sum();
    assert_eq!(sum, shape.tasks * shape.rounds);
}

fn w1r8(seed: u64) {
    fn deep(depth: u32) -> Task {
        match depth {
            0 => Box::pin(yield_often(W1.rounds)),
            _ => Box::pin(async move { deep(depth - 1).await }),
        }
    }
    let tasks = (0..W1.tasks).map(|_| deep(W1R8_DEPTH)).collect();
    let sum: u64 = poll_all(tasks, seed).iter().sum();
    assert_eq!(sum, W1.tasks * W1.rounds);
}

fn load_store(shape: Shape, seed: u64) {
    let counter = Arc::new(AtomicU64::new(0));
    let task = |counter: Arc<AtomicU64>| async move {
        let mut old = 0;
        for _ in 0..shape.rounds {
            Yield::default().await;
            old = counter.load(SeqCst);
            Yield::default().await;
            counter.store(old + 1, SeqCst);
        }
        old
    };
    let tasks = (0..shape.tasks).map(|_| Box::pin(task(counter.clone())) as Task).collect();
    check_loaded(shape, &poll_all(tasks, seed));
}

/// Runs W5 with the same channel as ours. Polls the receiver even if the channel is empty.
fn w5(seed: u64) {
    let (sender, mut receiver) = futures::channel::mpsc::unbounded();
    let producer = async move {
        for message in 0..W5_MESSAGES {
            Yield::default().await;
            sender.unbounded_send(message).unwrap();
        }
        W5_MESSAGES
    };
    let consumer = async move {
        let mut sum = 0;
        for _ in 0..W5_MESSAGES {
            Yield::default().await;
            sum += receiver.next().await.unwrap();
        }
        sum
    };
    let given = poll_all(vec![Box::pin(producer), Box::pin(consumer)], seed);
    assert_eq!(given, [W5_MESSAGES, sum_below(W5_MESSAGES)]);
}

fn w8(seed: u64) {
    let atomics = Arc::new([(); W8_ATOMICS].map(|()| AtomicU64::new(0)));
    let task = |atomics: Arc<[AtomicU64; W8_ATOMICS]>| async move {
        let mut seen = 0;
        for round in 0..W8.rounds as usize {
            Yield::default().await;
            seen += atomics[round % W8_ATOMICS].fetch_add(1, SeqCst);
        }
        seen
    };
    let tasks = (0..W8.tasks).map(|_| Box::pin(task(atomics.clone())) as Task).collect();
    let sum: u64 = poll_all(tasks, seed).iter().sum();
    assert_eq!(sum, w8_sum());
}
