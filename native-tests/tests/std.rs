use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

#[sim::test(native, seeds = 1000)]
fn lost_update() {
    let counter = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || {
                let seen = counter.load(SeqCst);
                counter.store(seen + 1, SeqCst);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(counter.load(SeqCst), 2);
}

#[sim::test(native, seeds = 1000)]
fn mutex_is_right() {
    let counter = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || *counter.lock().unwrap() += 1)
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*counter.lock().unwrap(), 2);
}

#[sim::test(native, seeds = 1000)]
fn two_locks() {
    let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
    let other = locks.clone();
    let thread = thread::spawn(move || {
        let a = other.0.lock().unwrap();
        let b = other.1.lock().unwrap();
        *a + *b
    });
    let sum = {
        let b = locks.1.lock().unwrap();
        let a = locks.0.lock().unwrap();
        *a + *b
    };
    assert_eq!(thread.join().unwrap(), sum);
}

#[sim::test(native, strategy = "exhaustive", must_prove)]
fn mutex_is_proven() {
    let counter = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || *counter.lock().unwrap() += 1)
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*counter.lock().unwrap(), 2);
}
