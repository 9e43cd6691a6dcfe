//! shuttle's random walk over threads.

use shuttle::scheduler::RandomScheduler;
use shuttle::sync::atomic::AtomicU64;
use shuttle::sync::atomic::Ordering::SeqCst;
use shuttle::sync::{Arc, Mutex, mpsc};
use shuttle::thread::{JoinHandle, spawn, yield_now};

use super::Peer;
use crate::workload::{
    Shape, W1, W2, W3, W4, W5_MESSAGES, W6, W7, W8, W8_ATOMICS, Workload, check_loaded, sum_below,
    w8_sum,
};

/// shuttle with its defaults. Threads have no boxed async calls.
pub(crate) const PEER: Peer =
    Peer { name: "shuttle threads", can: |workload| workload != Workload::W1r8, run };

fn run(workload: Workload, runs: u64) {
    match workload {
        Workload::W0 => go(runs, || {}),
        Workload::W1 => go(runs, || yields(W1)),
        Workload::W1r8 => unreachable!("not for threads"),
        Workload::W2 => go(runs, || load_store(W2)),
        Workload::W3 => go(runs, || load_store(W3)),
        Workload::W4 | Workload::W4t => go(runs, w4),
        Workload::W5 | Workload::W5t => go(runs, w5),
        Workload::W6 => go(runs, w6),
        Workload::W6s => go(runs, w6s),
        Workload::W7 => go(runs, || yields(W7)),
        Workload::W8 => go(runs, w8),
    }
}

fn go<B: Fn() + Send + Sync + 'static>(runs: u64, body: B) {
    let scheduler = RandomScheduler::new_from_seed(0, runs as usize);
    let runner = shuttle::Runner::new(scheduler, shuttle::Config::default());
    assert_eq!(runner.run(body) as u64, runs);
}

fn sum(threads: Vec<JoinHandle<u64>>) -> u64 {
    threads.into_iter().map(|thread| thread.join().unwrap()).sum()
}

fn yields(shape: Shape) {
    let thread = move || {
        let mut done = 0;
        for _ in 0..shape.rounds {
            yield_now();
            done += 1;
        }
        done
    };
    let threads: Vec<_> = (0..shape.tasks).map(|_| spawn(thread)).collect();
    assert_eq!(sum(threads), shape.tasks * shape.rounds);
}

fn load_store(shape: Shape) {
    let counter = Arc::new(AtomicU64::new(0));
    let spawn_one = |_| {
        let counter = counter.clone();
        spawn(move || {
            let mut old = 0;
            for _ in 0..shape.rounds {
                old = counter.load(SeqCst);
                counter.store(old + 1, SeqCst);
            }
            old
        })
    };
    let threads: Vec<_> = (0..shape.tasks).map(spawn_one).collect();
    let mut last = Vec::with_capacity(threads.len());
    for thread in threads {
        last.push(thread.join().unwrap());
    }
    check_loaded(shape, &last);
}

fn w4() {
    let counter = Arc::new(Mutex::new(0u64));
    let spawn_one = |_| {
        let counter = counter.clone();
        spawn(move || {
            let mut seen = 0;
            for _ in 0..W4.rounds {
                let mut counter = counter.lock().unwrap();
                seen += *counter;
                *counter += 1;
            }
            seen
        })
    };
    let threads: Vec<_> = (0..W4.tasks).map(spawn_one).collect();
    assert_eq!(sum(threads), sum_below(W4.tasks * W4.rounds));
}

fn w5() {
    let (sender, receiver) = mpsc::channel();
    let producer = spawn(move || {
        for message in 0..W5_MESSAGES {
            sender.send(message).unwrap();
        }
        W5_MESSAGES
    });
    let consumer = spawn(move || {
        let mut sum = 0;
        for _ in 0..W5_MESSAGES {
            sum += receiver.recv().unwrap();
        }
        sum
    });
    assert_eq!(producer.join().unwrap(), W5_MESSAGES);
    assert_eq!(consumer.join().unwrap(), sum_below(W5_MESSAGES));
}

fn w6() {
    let threads: Vec<_> = (0..W6.tasks).map(|n| spawn(move || n)).collect();
    assert_eq!(sum(threads), sum_below(W6.tasks));
}

fn w6s() {
    let mut sum = 0;
    for n in 0..W6.tasks {
        sum += spawn(move || n).join().unwrap();
    }
    assert_eq!(sum, sum_below(W6.tasks));
}

fn w8() {
    let atomics = Arc::new([(); W8_ATOMICS].map(|()| AtomicU64::new(0)));
    let spawn_one = |_| {
        let atomics = atomics.clone();
        spawn(move || {
            let mut seen = 0;
            for round in 0..W8.rounds as usize {
                seen += atomics[round % W8_ATOMICS].fetch_add(1, SeqCst);
            }
            seen
        })
    };
    let threads: Vec<_> = (0..W8.tasks).map(spawn_one).collect();
    assert_eq!(sum(threads), w8_sum());
}
