//! tokio's current-thread executor. It does not choose between interleavings, so it shows the cost
//! of task switches without decisions and records.
//!
//! Its operations are not points, so there is a yield before each operation.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use tokio::sync::{Mutex, mpsc};
use tokio::task::{spawn, yield_now};

use super::Peer;
use crate::workload::{
    Shape, W1, W1R8_DEPTH, W2, W3, W4, W5_MESSAGES, W6, W7, W8, W8_ATOMICS, Workload, check_loaded,
    sum_below, w8_sum,
};

/// tokio with one runtime for all runs.
pub(crate) const PEER: Peer = Peer { name: "tokio", can: |_| true, run };

fn run(workload: Workload, runs: u64) {
    match workload {
        Workload::W0 => go(runs, async || {}),
        Workload::W1 => go(runs, async || yields(W1).await),
        Workload::W1r8 => go(runs, w1r8),
        Workload::W2 => go(runs, async || load_store(W2).await),
        Workload::W3 => go(runs, async || load_store(W3).await),
        Workload::W4 | Workload::W4t => go(runs, w4),
        Workload::W5 | Workload::W5t => go(runs, w5),
        Workload::W6 => go(runs, w6),
        Workload::W6s => go(runs, w6s),
        Workload::W7 => go(runs, async || yields(W7).await),
        Workload::W8 => go(runs, w8),
    }
}

fn go<B: AsyncFn()>(runs: u64, body: B) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for _ in 0..runs {
        runtime.block_on(body());
    }
}

async fn yields(shape: Shape) {
    let task = move || async move {
        let mut done = 0;
        for _ in 0..shape.rounds {
            yield_now().await;
            done += 1;
        }
        done
    };
    let tasks: Vec<_> = (0..shape.tasks).map(|_| spawn(task())).collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.unwrap();
    }
    assert_eq!(sum, shape.tasks * shape.rounds);
}

async fn w1r8() {
    fn deep(depth: u32) -> Pin<Box<dyn Future<Output = u64> + Send>> {
        match depth {
            0 => Box::pin(async {
                let mut done = 0;
                for _ in 0..W1.rounds {
                    yield_now().await;
                    done += 1;
                }
                done
            }),
            _ => Box::pin(async move { deep(depth - 1).await }),
        }
    }
    let tasks: Vec<_> = (0..W1.tasks).map(|_| spawn(deep(W1R8_DEPTH))).collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.unwrap();
    }
    assert_eq!(sum, W1.tasks * W1.rounds);
}

async fn load_store(shape: Shape) {
    let counter = Arc::new(AtomicU64::new(0));
    let task = move |counter: Arc<AtomicU64>| async move {
        let mut old = 0;
        for _ in 0..shape.rounds {
            yield_now().await;
            old = counter.load(SeqCst);
            yield_now().await;
            counter.store(old + 1, SeqCst);
        }
        old
    };
    let spawn = |_| spawn(task(counter.clone()));
    let tasks: Vec<_> = (0..shape.tasks).map(spawn).collect();
    let mut last = Vec::with_capacity(tasks.len());
    for task in tasks {
        last.push(task.await.unwrap());
    }
    check_loaded(shape, &last);
}

async fn w4() {
    let counter = Arc::new(Mutex::new(0u64));
    let task = move |counter: Arc<Mutex<u64>>| async move {
        let mut seen = 0;
        for _ in 0..W4.rounds {
            yield_now().await;
            let mut counter = counter.lock().await;
            seen += *counter;
            *counter += 1;
        }
        seen
    };
    let tasks: Vec<_> = (0..W4.tasks).map(|_| spawn(task(counter.clone()))).collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.unwrap();
    }
    assert_eq!(sum, sum_below(W4.tasks * W4.rounds));
}

async fn w5() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let producer = spawn(async move {
        for message in 0..W5_MESSAGES {
            yield_now().await;
            sender.send(message).unwrap();
        }
        W5_MESSAGES
    });
    let consumer = spawn(async move {
        let mut sum = 0;
        for _ in 0..W5_MESSAGES {
            yield_now().await;
            sum += receiver.recv().await.unwrap();
        }
        sum
    });
    assert_eq!(producer.await.unwrap(), W5_MESSAGES);
    assert_eq!(consumer.await.unwrap(), sum_below(W5_MESSAGES));
}

async fn w6() {
    let tasks: Vec<_> = (0..W6.tasks).map(|n| spawn(async move { n })).collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.unwrap();
    }
    assert_eq!(sum, sum_below(W6.tasks));
}

async fn w6s() {
    let mut sum = 0;
    for n in 0..W6.tasks {
        sum += spawn(async move { n }).await.unwrap();
    }
    assert_eq!(sum, sum_below(W6.tasks));
}

async fn w8() {
    type Atomics = Arc<[AtomicU64; W8_ATOMICS]>;
    let atomics = Arc::new([(); W8_ATOMICS].map(|()| AtomicU64::new(0)));
    let task = move |atomics: Atomics| async move {
        let mut seen = 0;
        for round in 0..W8.rounds as usize {
            yield_now().await;
            seen += atomics[round % W8_ATOMICS].fetch_add(1, SeqCst);
        }
        seen
    };
    let tasks: Vec<_> = (0..W8.tasks).map(|_| spawn(task(atomics.clone()))).collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.unwrap();
    }
    assert_eq!(sum, w8_sum());
}
