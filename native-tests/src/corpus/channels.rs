//! Channels that are closed during use (tokio, pull request 2854; flume, issue 120 and commit 8b7518b), and wrong uses
//! of std's channels.

use super::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use super::sync::{Arc, Mutex, mpsc};
use super::{Body, Program, Watched, on, together};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "permit_after_close",
        seeds: 250,
        buggy: || permit(false),
        fixed: || permit(true),
    },
    Program {
        name: "message_lost",
        seeds: 200,
        buggy: || message_lost(false),
        fixed: || message_lost(true),
    },
    Program {
        name: "disconnect_missed",
        seeds: 200,
        buggy: || disconnect(false),
        fixed: || disconnect(true),
    },
    Program {
        name: "drained_too_early",
        seeds: 200,
        buggy: || drained(false),
        fixed: || drained(true),
    },
    Program {
        name: "numbers_out_of_order",
        seeds: 200,
        buggy: || numbers(false),
        fixed: || numbers(true),
    },
    Program { name: "stop_overtakes", seeds: 100, buggy: || stop(false), fixed: || stop(true) },
];

/// A sender returns its permit after the channel was closed, but does not notify the receiver, which waits for this
/// permit. Fixed: the sender notifies it.
fn permit(fixed: bool) {
    #[derive(Default)]
    struct Bounded {
        available: AtomicI64,
        closed: AtomicBool,
        registered: AtomicBool,
        token: Watched,
    }
    let channel = Arc::new(Bounded::default());
    let sender = on(&channel, move |Bounded { available, closed, registered, token }| {
        available.fetch_add(1, SeqCst);
        if fixed && closed.load(SeqCst) && registered.load(SeqCst) {
            token.store(1);
        }
    });
    let receiver = on(&channel, |Bounded { available, closed, registered, token }| {
        closed.store(true, SeqCst);
        if available.load(SeqCst) == 1 {
            return;
        }
        registered.store(true, SeqCst);
        if available.load(SeqCst) == 0 {
            token.wait(|token| token == 1);
        }
    });
    together([sender, receiver]);
}

/// The receiver finds the queue empty and then the channel disconnected. A message may arrive in between. Fixed: the
/// receiver checks the queue again.
fn message_lost(fixed: bool) {
    let channel = Arc::new((Mutex::new(Vec::new()), AtomicBool::new(false)));
    let sender = on(&channel, |(queue, disconnected)| {
        queue.lock().unwrap().push(1);
        disconnected.store(true, SeqCst);
    });
    let receiver = on(&channel, move |(queue, disconnected)| {
        if queue.lock().unwrap().pop().is_some() {
            return;
        }
        if disconnected.load(SeqCst) {
            let late = if fixed { queue.lock().unwrap().pop() } else { None };
            assert_eq!(late, Some(1), "disconnected with a message in the queue");
        }
    });
    together([sender, receiver]);
}

/// The receiver checks for a disconnect, then registers a hook. The sender may disconnect and search for a hook in
/// between. Fixed: the receiver checks again.
fn disconnect(fixed: bool) {
    #[derive(Default)]
    struct Hooked {
        disconnected: AtomicBool,
        hook: AtomicBool,
        token: Watched,
    }
    let channel = Arc::new(Hooked::default());
    let receiver = on(&channel, move |Hooked { disconnected, hook, token }| {
        if disconnected.load(SeqCst) {
            return;
        }
        hook.store(true, SeqCst);
        if fixed && disconnected.load(SeqCst) {
            return;
        }
        token.wait(|token| token == 1);
    });
    let dropper = on(&channel, |Hooked { disconnected, hook, token }| {
        disconnected.store(true, SeqCst);
        if hook.swap(false, SeqCst) {
            token.store(1);
        }
    });
    together([receiver, dropper]);
}

/// The receiver finds the channel empty, and then the sender done. A message may arrive in between. Fixed: the receiver
/// first checks if the sender is done.
fn drained(fixed: bool) {
    let (sender, receiver) = mpsc::channel();
    let (done, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicI64::new(0)));
    let producer = on(&done, move |done| {
        for message in 0..2 {
            // No message is lost if the consumer has given up.
            _ = sender.send(message);
        }
        done.store(true, SeqCst);
    });
    let (finished, received) = (done.clone(), count.clone());
    let consumer: Body = Box::new(move || {
        // A run needs at most this many checks.
        for _ in 0..5 {
            let early = fixed && finished.load(SeqCst);
            while receiver.try_recv().is_ok() {
                received.fetch_add(1, SeqCst);
            }
            if early || !fixed && finished.load(SeqCst) {
                assert_eq!(received.load(SeqCst), 2, "done with a message in the channel");
                return;
            }
        }
    });
    together([producer, consumer]);
}

/// Messages get their number before they are sent. Fixed: one lock covers the numbering and the send.
fn numbers(fixed: bool) {
    let (sender, receiver) = mpsc::channel();
    let numbers = Arc::new((AtomicI64::new(0), Mutex::new(())));
    let producer = |sender: mpsc::Sender<i64>| {
        on(&numbers, move |(next, lock)| {
            for _ in 0..2 {
                let _lock = fixed.then(|| lock.lock().unwrap());
                sender.send(next.fetch_add(1, SeqCst)).unwrap();
            }
        })
    };
    let producers = [producer(sender.clone()), producer(sender)];
    together(producers);
    let received: Vec<i64> = receiver.iter().collect();
    assert!(received.is_sorted(), "a message overtook another: {received:?}");
}

/// Work and the stop request come over two channels. A worker that receives the stop request ignores remaining work.
/// Fixed: the worker completes the remaining work.
fn stop(fixed: bool) {
    let (work, tasks) = mpsc::channel();
    let (stop, stops) = mpsc::channel();
    let done = Arc::new(AtomicI64::new(0));
    let worker = on(&done, move |done| {
        let work_one = |()| _ = done.fetch_add(1, SeqCst);
        loop {
            let stopped = stops.try_recv().is_ok();
            match tasks.try_recv() {
                Ok(task) if !stopped || fixed => work_one(task),
                Err(_) if !stopped => match tasks.recv() {
                    Ok(task) => work_one(task),
                    Err(_) => return,
                },
                _ => {}
            }
            if stopped {
                if fixed {
                    tasks.iter().for_each(work_one);
                }
                return;
            }
        }
    });
    let client: Body = Box::new(move || {
        for _ in 0..2 {
            work.send(()).unwrap();
        }
        stop.send(()).unwrap();
    });
    together([worker, client]);
    assert_eq!(done.load(SeqCst), 2, "work that is not done");
}
