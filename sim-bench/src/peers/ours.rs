//! unpause through its `Runner`, with all features that are enabled by default.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures::StreamExt;
use sim::Ordering::{self, SeqCst};
use sim::task::yield_now;

use super::Peer;
use crate::workload::{
    Shape, W1, W1R8_DEPTH, W2, W3, W4, W5_MESSAGES, W6, W7, W8, W8_ATOMICS, Workload, check_loaded,
    sum_below, w8_sum,
};

/// One job and the random walk, like the peers.
pub(crate) const PEER: Peer = Peer {
    name: "ours",
    can: |_| true,
    run: |workload, runs| {
        run(workload, runs, Settings::default());
    },
};

/// The settings of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) strategy: &'static str,
    pub(crate) jobs: usize,
    pub(crate) memory: &'static str,
    /// The memory orders of loads and of stores.
    pub(crate) orders: (Ordering, Ordering),
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { strategy: "random", jobs: 1, memory: "sc", orders: (SeqCst, SeqCst) }
    }
}

/// Runs `workload` this many times. Returns the total number of steps.
pub(crate) fn run(workload: Workload, runs: u64, settings: Settings) -> u64 {
    let go = Go { runs, settings };
    match workload {
        Workload::W0 => go.run(async || {}),
        Workload::W1 => go.run(async || yields(W1).await),
        Workload::W1r8 => go.run(w1r8),
        Workload::W2 => go.run(async || load_store(W2, settings.orders).await),
        Workload::W3 => go.run(async || load_store(W3, settings.orders).await),
        Workload::W4 => go.run(w4),
        Workload::W4t => go.run(w4t),
        Workload::W5 => go.run(w5),
        Workload::W5t => go.run(w5t),
        Workload::W6 => go.run(w6),
        Workload::W6s => go.run(w6s),
        Workload::W7 => go.run(async || yields(W7).await),
        Workload::W8 => go.run(w8),
    }
}

struct Go {
    runs: u64,
    settings: Settings,
}

impl Go {
    fn run<B: AsyncFn() + Sync>(&self, body: B) -> u64 {
        let Settings { strategy, jobs, memory, .. } = self.settings;
        let runner = sim::Runner::new().hermetic().jobs(jobs).strategy(strategy).memory(memory);
        let report = runner.seeds(0..self.runs).run(body);
        assert!(report.passed(), "{report:?}");
        assert_eq!(report.runs, self.runs);
        report.steps
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
    let tasks: Vec<_> = (0..shape.tasks).map(|_| sim::spawn(task())).collect();
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
    let tasks: Vec<_> = (0..W1.tasks).map(|_| sim::spawn(deep(W1R8_DEPTH))).collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.unwrap();
    }
    assert_eq!(sum, W1.tasks * W1.rounds);
}

async fn load_store(shape: Shape, (load, store): (Ordering, Ordering)) {
    let counter = Arc::new(sim::Atomic::new(0u64));
    let task = move |counter: Arc<sim::Atomic<u64>>| async move {
        let mut old = 0;
        for _ in 0..shape.rounds {
            old = counter.load(load).await;
            counter.store(old + 1, store).await;
        }
        old
    };
    let spawn = |_| sim::spawn(task(counter.clone()));
    let tasks: Vec<_> = (0..shape.tasks).map(spawn).collect();
    let mut last = Vec::with_capacity(tasks.len());
    for task in tasks {
        last.push(task.await.unwrap());
    }
    check_loaded(shape, &last);
}

/// Defines W4 over a mutex.
macro_rules! w4 {
    ($name:ident, $($mutex:tt)*) => {
        async fn $name() {
            let counter = Arc::new($($mutex)*::new(0u64));
            let task = move |counter: Arc<$($mutex)*<u64>>| async move {
                let mut seen = 0;
                for _ in 0..W4.rounds {
                    let mut counter = counter.lock().await;
                    seen += *counter;
                    *counter += 1;
                }
                seen
            };
            let spawn = |_| sim::spawn(task(counter.clone()));
            let tasks: Vec<_> = (0..W4.tasks).map(spawn).collect();
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            assert_eq!(sum, sum_below(W4.tasks * W4.rounds));
        }
    };
}

w4!(w4, sim::Mutex);
w4!(w4t, sim::tokio::sync::Mutex);

/// Runs W5 with the unmodified channel of `futures`, and a yield before each of its operations.
/// These operations are not points, so without the yields the producer would send everything in one
/// step.
async fn w5() {
    let (sender, mut receiver) = futures::channel::mpsc::unbounded();
    let producer = sim::spawn(async move {
        for message in 0..W5_MESSAGES {
            yield_now().await;
            sender.unbounded_send(message).unwrap();
        }
        W5_MESSAGES
    });
    let consumer = sim::spawn(async move {
        let mut sum = 0;
        for _ in 0..W5_MESSAGES {
            yield_now().await;
            sum += receiver.next().await.unwrap();
        }
        sum
    });
    assert_eq!(producer.await.unwrap(), W5_MESSAGES);
    assert_eq!(consumer.await.unwrap(), sum_below(W5_MESSAGES));
}

/// Runs W5t with a yield before each send, because a send is not a point.
async fn w5t() {
    let (sender, mut receiver) = sim::tokio::sync::mpsc::unbounded_channel();
    let producer = sim::spawn(async move {
        for message in 0..W5_MESSAGES {
            yield_now().await;
            sender.send(message).unwrap();
        }
        W5_MESSAGES
    });
    let consumer = sim::spawn(async move {
        let mut sum = 0;
        for _ in 0..W5_MESSAGES {
            sum += receiver.recv().await.unwrap();
        }
        sum
    });
    assert_eq!(producer.await.unwrap(), W5_MESSAGES);
    assert_eq!(consumer.await.unwrap(), sum_below(W5_MESSAGES));
}

async fn w6() {
    let tasks: Vec<_> = (0..W6.tasks).map(|n| sim::spawn(async move { n })).collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.unwrap();
    }
    assert_eq!(sum, sum_below(W6.tasks));
}

async fn w6s() {
    let mut sum = 0;
    for n in 0..W6.tasks {
        sum += sim::spawn(async move { n }).await.unwrap();
    }
    assert_eq!(sum, sum_below(W6.tasks));
}

async fn w8() {
    type Atomics = Arc<[sim::Atomic<u64>; W8_ATOMICS]>;
    let atomics = Arc::new([(); W8_ATOMICS].map(|()| sim::Atomic::new(0u64)));
    let task = move |atomics: Atomics| async move {
        let mut seen = 0;
        for round in 0..W8.rounds as usize {
            seen += atomics[round % W8_ATOMICS].fetch_add(1, SeqCst).await;
        }
        seen
    };
    let tasks: Vec<_> = (0..W8.tasks).map(|_| sim::spawn(task(atomics.clone()))).collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.unwrap();
    }
    assert_eq!(sum, w8_sum());
}
