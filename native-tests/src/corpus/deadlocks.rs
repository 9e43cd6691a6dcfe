//! Threads that wait for each other (SCTBench: carter01, deadlock01, phase01).

use super::sync::{Arc, Mutex, RwLock, mpsc};
use super::{Body, Program, on, thread, together};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program { name: "carter01", seeds: 100, buggy: || carter(false), fixed: || carter(true) },
    Program { name: "deadlock01", seeds: 100, buggy: || deadlock(false), fixed: || deadlock(true) },
    Program { name: "phase01", seeds: 1, buggy: || phase(false), fixed: || phase(true) },
    Program { name: "dining_3", seeds: 150, buggy: || dining(3, false), fixed: || dining(3, true) },
    Program { name: "dining_5", seeds: 500, buggy: || dining(5, false), fixed: || dining(5, true) },
    Program {
        name: "dining_7",
        seeds: 1000,
        buggy: || dining(7, false),
        fixed: || dining(7, true),
    },
    Program {
        name: "rwlock_crossed",
        seeds: 100,
        buggy: || crossed(false),
        fixed: || crossed(true),
    },
    Program {
        name: "send_in_lock",
        seeds: 200,
        buggy: || send_in_lock(false),
        fixed: || send_in_lock(true),
    },
    Program {
        name: "join_in_lock",
        seeds: 100,
        buggy: || join_in_lock(false),
        fixed: || join_in_lock(true),
    },
];

/// Two groups with one thread each. Buggy: the first thread of a group locks the resource while it holds the counters.
/// Fixed: the resource is locked first.
fn carter(fixed: bool) {
    let shared = Arc::new((Mutex::new([0; 2]), Mutex::new(())));
    let group = |group: usize| {
        on(&shared, move |(counters, resource)| {
            let early = fixed.then(|| resource.lock().unwrap());
            let mut inside = counters.lock().unwrap();
            inside[group] += 1;
            let late = (inside[group] == 1 && !fixed).then(|| resource.lock().unwrap());
            drop(inside);
            counters.lock().unwrap()[group] -= 1;
            drop((early, late));
        })
    };
    let bystander = || -> Body { Box::new(|| ()) };
    together([group(0), group(1), bystander(), bystander()]);
}

/// Acquires two locks in opposite orders.
fn deadlock(fixed: bool) {
    let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
    let thread = |first: usize| {
        on(&locks, move |locks| {
            let _first = locks[first].lock().unwrap();
            let _second = locks[1 - first].lock().unwrap();
        })
    };
    together([thread(0), thread(if fixed { 0 } else { 1 })]);
}

/// Buggy: the second guard of the first lock is never dropped, so every schedule fails.
fn phase(fixed: bool) {
    let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
    let thread = || {
        on(&locks, move |locks| {
            drop(locks[0].lock().unwrap());
            let kept = locks[0].lock().unwrap();
            for _ in 0..2 {
                drop(locks[1].lock().unwrap());
            }
            match fixed {
                true => drop(kept),
                false => std::mem::forget(kept),
            }
        })
    };
    together([thread(), thread()]);
}

/// Fixed: each philosopher takes the fork with the lower number first.
fn dining(count: usize, fixed: bool) {
    let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..count).map(|_| Mutex::new(())).collect());
    let philosopher = |left: usize| {
        on(&forks, move |forks| {
            let right = (left + 1) % count;
            let swapped = fixed && right < left;
            let (first, second) = if swapped { (right, left) } else { (left, right) };
            let _first = forks[first].lock().unwrap();
            let _second = forks[second].lock().unwrap();
        })
    };
    together((0..count).map(philosopher));
}

/// Two threads each hold a read lock of one table while they write the other. Fixed: it is released before the write.
fn crossed(fixed: bool) {
    let tables = Arc::new([RwLock::new(1), RwLock::new(2)]);
    let copier = |from: usize| {
        on(&tables, move |tables| {
            if fixed {
                let value = *tables[from].read().unwrap();
                *tables[1 - from].write().unwrap() = value;
                return;
            }
            let source = tables[from].read().unwrap();
            *tables[1 - from].write().unwrap() = *source;
        })
    };
    together([copier(0), copier(1)]);
}

/// Workers count a message and send it under one lock, over a channel with room for one message. The receiver acquires
/// the lock after each message. Fixed: the workers send without the lock.
fn send_in_lock(fixed: bool) {
    const WORKERS: usize = 3;
    let (sender, receiver) = mpsc::sync_channel(1);
    let pending = Arc::new(Mutex::new(0));
    let worker = |_| {
        let sender = sender.clone();
        on(&pending, move |pending| {
            let mut pending = pending.lock().unwrap();
            *pending += 1;
            let held = Some(pending).filter(|_| !fixed);
            sender.send(()).unwrap();
            drop(held);
        })
    };
    let consumer = on(&pending, move |pending| {
        for () in receiver {
            *pending.lock().unwrap() -= 1;
        }
    });
    let workers: Vec<_> = (0..WORKERS).map(worker).collect();
    drop(sender);
    together(workers.into_iter().chain([consumer]));
}

/// A thread is joined under a lock that it needs. Fixed: the lock is released before the join.
fn join_in_lock(fixed: bool) {
    let total = Arc::new(Mutex::new(0));
    let worker = thread::spawn(on(&total, |total| *total.lock().unwrap() += 1));
    let mut held = total.lock().unwrap();
    *held += 1;
    let held = Some(held).filter(|_| !fixed);
    worker.join().unwrap();
    drop(held);
}
