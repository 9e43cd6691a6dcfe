//! Right programs over crates that synchronise in their own ways: no error in the use of memory, no leak, and, under
//! `cargo unpause test --races`, no data race.
#![allow(unsafe_code, reason = "the collector of crossbeam needs it")]

use std::sync::Arc;
use std::thread;

/// Calls `act` on two threads with `state` and the number of the thread.
fn twice<T: Send + Sync + 'static>(state: T, act: fn(&T, usize)) -> Arc<T> {
    let state = Arc::new(state);
    let threads = [0, 1].map(|number| {
        let state = state.clone();
        thread::spawn(move || act(&state, number))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    state
}

#[sim::test(native, leaks, seeds = 1000)]
fn parking_lot() {
    use parking_lot::{Condvar, Mutex, RwLock};
    let state = (Mutex::new(Vec::new()), Condvar::new(), RwLock::new(String::new()));
    let state = twice(state, |(list, pushed, text), number| {
        list.lock().push(Box::new(number));
        pushed.notify_all();
        std::hint::black_box(text.read().len());
        text.write().push('x');
        let mut list = list.lock();
        while list.len() < 2 {
            pushed.wait(&mut list);
        }
    });
    assert_eq!((state.0.lock().len(), &**state.2.read()), (2, "xx"));
}

#[sim::test(native, leaks, seeds = 1000)]
fn crossbeam_queues() {
    use crossbeam_queue::{ArrayQueue, SegQueue};
    let state = (ArrayQueue::new(1), SegQueue::new());
    let state = twice(state, |(array, list), number| {
        let _ = array.push(Box::new(number));
        list.push(Box::new(number));
        drop((array.pop(), list.pop()));
    });
    assert_eq!(state.1.len(), 0);
}

#[sim::test(native, leaks, seeds = 1000)]
fn crossbeam_channels() {
    let (sender, receiver) = crossbeam_channel::unbounded::<Box<usize>>();
    let (bounded, from_bounded) = crossbeam_channel::bounded::<String>(1);
    let thread = thread::spawn(move || {
        sender.send(Box::new(1)).unwrap();
        bounded.send("a".to_owned()).unwrap();
        bounded.send("b".to_owned()).unwrap();
        drop(sender.send(Box::new(2)));
    });
    let text: String = from_bounded.iter().collect();
    assert_eq!((receiver.recv().map(|number| *number), &*text), (Ok(1), "ab"));
    drop(receiver);
    thread.join().unwrap();
}

#[sim::test(native, leaks, seeds = 1000)]
fn crossbeam_deque() {
    use crossbeam_deque::{Steal, Worker};
    let worker = Worker::new_fifo();
    let stealer = worker.stealer();
    (0..3).for_each(|number| worker.push(Box::new(number)));
    let thread = thread::spawn(move || match stealer.steal() {
        Steal::Success(number) => Some(number),
        _ => None,
    });
    drop((worker.pop(), worker.pop()));
    drop(thread.join().unwrap());
}

#[sim::test(native, leaks, seeds = 1000)]
fn crossbeam_epoch() {
    use std::sync::atomic::Ordering::{AcqRel, Acquire};

    use crossbeam_epoch::{Atomic, Owned, pin};
    let state = twice(Atomic::new(Box::new(7usize)), |value, number| {
        let guard = pin();
        let old = value.swap(Owned::new(Box::new(number)), AcqRel, &guard);
        // SAFETY: no longer reachable, and read under this guard.
        unsafe {
            assert!(**old.deref() < 8);
            guard.defer_destroy(old);
        }
        drop(guard);
        let guard = pin();
        // SAFETY: never null.
        assert!(unsafe { **value.load(Acquire, &guard).deref() } < 2);
    });
    // SAFETY: the last owner.
    drop(unsafe { Arc::into_inner(state).unwrap().try_into_owned() });
}

#[sim::test(native, leaks, seeds = 1000)]
fn arc_swap() {
    let state = arc_swap::ArcSwap::from_pointee(Box::new(7));
    let state = twice(state, |value, number| match number {
        0 => value.store(Arc::new(Box::new(8))),
        _ => assert!(**value.load_full() > 6 && ***value.load() > 6),
    });
    assert_eq!(**state.load_full(), 8);
}

#[sim::test(native, leaks, seeds = 1000)]
fn dashmap() {
    let map = twice(dashmap::DashMap::with_shard_amount(2), |map, number| {
        map.insert(number, vec![number]);
        if let Some(mut list) = map.get_mut(&0) {
            list.push(number);
        }
        map.remove(&1);
    });
    assert!(map.get(&0).is_some());
}
