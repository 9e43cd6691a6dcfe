//! Data races and memory orders that are too weak: planted ones, which must be found by `cargo unpause test --races`,
//! beside right programs.
#![allow(unsafe_code, reason = "the errors that are planted need it")]

use std::cell::UnsafeCell;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, mpsc};
use std::thread;

/// A value that threads access without a lock.
#[derive(Default)]
struct Open<T>(UnsafeCell<T>);

// SAFETY: violated, because the test needs a race.
unsafe impl<T> Sync for Open<T> {}

impl<T: Copy> Open<T> {
    fn get(&self) -> T {
        // SAFETY: none.
        unsafe { *self.0.get() }
    }

    fn set(&self, value: T) {
        // SAFETY: none.
        unsafe { *self.0.get() = value }
    }
}

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

#[sim::test(native, races, seeds = 100, must_fail)]
fn two_plain_increments() {
    twice(Open::<u64>::default(), |value, _| value.set(value.get() + 1));
}

static COUNT: Open<u32> = Open(UnsafeCell::new(0));

#[sim::test(native, races, seeds = 100, must_fail)]
fn a_static_without_a_lock() {
    twice((), |(), _| COUNT.set(COUNT.get() + 1));
}

#[sim::test(native, races, seeds = 100, must_fail)]
fn a_read_beside_a_write() {
    twice(Open::<u64>::default(), |value, number| match number {
        0 => value.set(1),
        _ => drop(std::hint::black_box(value.get())),
    });
}

#[sim::test(native, races, seeds = 1000)]
fn two_reads_and_two_halves() {
    twice((Open::<u64>::default(), Open::<[u8; 8]>::default()), |(value, bytes), number| {
        std::hint::black_box(value.get());
        // SAFETY: each thread has bytes of its own.
        unsafe { bytes.0.get().cast::<u8>().add(4 * number).write(1) };
    });
}

/// A value, and a flag that is set when the value is written.
type Published = (Open<u64>, AtomicBool);

fn publish(stores: fn(&AtomicBool), loads: fn(&AtomicBool) -> bool) {
    let state: Arc<Published> = Arc::default();
    let other = state.clone();
    let thread = thread::spawn(move || {
        other.0.set(7);
        stores(&other.1);
    });
    if loads(&state.1) {
        assert_eq!(state.0.get(), 7);
    }
    thread.join().unwrap();
}

#[sim::test(native, races, seeds = 100, must_fail)]
fn a_relaxed_store_publishes() {
    publish(|flag| flag.store(true, Relaxed), |flag| flag.load(Acquire));
}

#[sim::test(native, races, seeds = 100, must_fail)]
fn a_relaxed_load_takes() {
    publish(|flag| flag.store(true, Release), |flag| flag.load(Relaxed));
}

#[sim::test(native, races, seeds = 100, must_fail)]
fn a_fence_is_missing() {
    publish(
        |flag| {
            fence(Release);
            flag.store(true, Relaxed);
        },
        |flag| flag.load(Relaxed),
    );
}

#[sim::test(native, races, seeds = 1000)]
fn release_and_acquire() {
    publish(|flag| flag.store(true, Release), |flag| flag.load(Acquire));
}

#[sim::test(native, races, seeds = 1000)]
fn two_fences() {
    publish(
        |flag| {
            fence(Release);
            flag.store(true, Relaxed);
        },
        |flag| {
            let is_set = flag.load(Relaxed);
            fence(Acquire);
            is_set
        },
    );
}

/// A lock that spins.
fn spin_lock(taken: Ordering, left: Ordering) {
    let state: Published = Default::default();
    let lock = match (taken, left) {
        (Acquire, Release) => |(value, lock): &Published, _| {
            while lock.compare_exchange(false, true, Acquire, Relaxed).is_err() {
                thread::yield_now();
            }
            value.set(value.get() + 1);
            lock.store(false, Release);
        },
        _ => |(value, lock): &Published, _| {
            while lock.compare_exchange(false, true, Acquire, Relaxed).is_err() {
                thread::yield_now();
            }
            value.set(value.get() + 1);
            lock.store(false, Relaxed);
        },
    };
    assert_eq!(twice(state, lock).0.get(), 2);
}

#[sim::test(native, races, seeds = 100, must_fail)]
fn a_spin_lock_is_left_relaxed() {
    spin_lock(Acquire, Relaxed);
}

#[sim::test(native, races, seeds = 1000)]
fn a_spin_lock() {
    spin_lock(Acquire, Release);
}

/// A count of owners, the last of which frees the value.
fn owners(order: Ordering) {
    let value = Box::into_raw(Box::new((AtomicUsize::new(2), Open::<u64>::default())));
    let address = value as usize;
    let give_up = move || {
        // SAFETY: violated if the count is relaxed.
        unsafe {
            let shared = &*(address as *const (AtomicUsize, Open<u64>));
            std::hint::black_box(shared.1.get());
            if shared.0.fetch_sub(1, order) == 1 {
                drop(Box::from_raw(address as *mut (AtomicUsize, Open<u64>)));
            }
        }
    };
    let thread = thread::spawn(give_up);
    give_up();
    thread.join().unwrap();
}

#[sim::test(native, races, seeds = 100, must_fail)]
fn owners_are_counted_relaxed() {
    owners(Relaxed);
}

#[sim::test(native, races, seeds = 1000)]
fn owners_are_counted() {
    owners(AcqRel);
}

#[sim::test(native, races, seeds = 100, must_fail)]
fn a_read_after_the_free() {
    let value = Box::into_raw(Box::new(7u64));
    let address = AtomicPtr::new(value);
    thread::scope(|scope| {
        scope.spawn(|| {
            let value = address.load(SeqCst);
            // SAFETY: none.
            (!value.is_null()).then(|| std::hint::black_box(unsafe { value.read() }))
        });
        let value = address.swap(std::ptr::null_mut(), SeqCst);
        // SAFETY: none.
        drop(unsafe { Box::from_raw(value) });
    });
}

/// Copies bytes of an allocation of 40 bytes.
fn copies(size: usize) {
    let bytes = black_box(vec![1u8; 40].into_boxed_slice());
    let mut copy = [0u8; 64];
    // SAFETY: violated for more than 40 bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), copy.as_mut_ptr(), black_box(size)) };
    black_box(copy);
}

#[sim::test(native, races, seeds = 10, must_fail)]
fn a_copy_that_begins_in_an_allocation_ends_behind_it() {
    copies(48);
}

// ---- Right programs: a report would be a false alarm.

#[sim::test(native, races, seeds = 10)]
fn a_copy_ends_with_its_allocation() {
    copies(40);
}

/// No byte is copied, so the address need not be valid.
#[sim::test(native, races, seeds = 10)]
fn a_copy_of_nothing_from_freed_memory() {
    let bytes = black_box(vec![1u8; 40]);
    let freed = bytes.as_ptr().wrapping_add(7);
    drop(bytes);
    let mut copy = [0u8; 8];
    // SAFETY: the size is 0.
    unsafe { std::ptr::copy_nonoverlapping(freed, copy.as_mut_ptr(), black_box(0)) };
    black_box(copy);
}

#[sim::test(native, races, leaks, seeds = 1000)]
fn mutex_and_rw_lock() {
    let counts = twice((Mutex::new(0), RwLock::new(vec![0])), |(count, list), _| {
        *count.lock().unwrap() += 1;
        std::hint::black_box(list.read().unwrap().len());
        list.write().unwrap().push(1);
    });
    assert_eq!((*counts.0.lock().unwrap(), counts.1.read().unwrap().len()), (2, 3));
}

#[sim::test(native, races, leaks, seeds = 1000)]
fn channels() {
    let (sender, receiver) = mpsc::channel::<Box<u64>>();
    let (bounded, from_bounded) = mpsc::sync_channel::<String>(1);
    let other = sender.clone();
    let threads = [
        thread::spawn(move || sender.send(Box::new(1)).unwrap()),
        thread::spawn(move || {
            other.send(Box::new(2)).unwrap();
            bounded.send("a".to_owned()).unwrap();
            bounded.send("b".to_owned()).unwrap();
        }),
    ];
    let text: String = from_bounded.iter().collect();
    assert_eq!((receiver.iter().map(|number| *number).sum::<u64>(), &*text), (3, "ab"));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[sim::test(native, races, leaks, seeds = 1000)]
fn once() {
    let lock = twice(OnceLock::new(), |lock: &OnceLock<Box<u64>>, number| {
        assert!(**lock.get_or_init(|| Box::new(number as u64)) < 2);
    });
    assert!(lock.get().is_some());
}

#[sim::test(native, races, leaks, seeds = 1000)]
fn park() {
    let state: Arc<Published> = Arc::default();
    let other = state.clone();
    let waiter = thread::spawn(move || {
        while !other.1.load(Relaxed) {
            thread::park();
        }
        fence(Acquire);
        other.0.get()
    });
    state.0.set(7);
    state.1.store(true, Release);
    waiter.thread().unpark();
    assert_eq!(waiter.join().unwrap(), 7);
}

#[sim::test(native, races, leaks, seeds = 1000)]
fn park_alone_orders() {
    let state: Arc<Open<u64>> = Arc::default();
    let other = state.clone();
    let waiter = thread::spawn(move || {
        thread::park();
        other.get()
    });
    state.set(7);
    waiter.thread().unpark();
    assert_eq!(waiter.join().unwrap(), 7);
}

#[sim::test(native, races, leaks, seeds = 1000)]
fn condvar() {
    let state = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
    let other = state.clone();
    let producer = thread::spawn(move || {
        other.0.lock().unwrap().push(Box::new(7));
        other.1.notify_one();
    });
    let mut list = state.0.lock().unwrap();
    while list.is_empty() {
        list = state.1.wait(list).unwrap();
    }
    assert_eq!(*list.pop().unwrap(), 7);
    drop(list);
    producer.join().unwrap();
}

#[sim::test(native, races, leaks, seeds = 1000)]
fn barrier() {
    let state = (Open::<u64>::default(), Open::<u64>::default(), Barrier::new(2));
    twice(state, |(first, second, barrier), number| {
        if number == 0 {
            first.set(1)
        } else {
            second.set(1)
        }
        barrier.wait();
        assert_eq!((first.get(), second.get()), (1, 1));
    });
}

#[sim::test(native, races, leaks, seeds = 1000)]
fn scoped_threads() {
    let mut parts = [vec![0u8; 3], vec![0u8; 3]];
    let total = AtomicU32::new(0);
    thread::scope(|scope| {
        for part in &mut parts {
            scope.spawn(|| {
                part.fill(1);
                total.fetch_add(part.iter().map(|byte| u32::from(*byte)).sum(), Relaxed);
            });
        }
    });
    assert_eq!((parts.concat(), total.into_inner()), (vec![1; 6], 6));
}

#[sim::test(native, races, leaks, seeds = 1000)]
fn thread_locals_and_maps() {
    thread_local! {
        static OWN: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
    }
    let maps = twice(Mutex::new(std::collections::HashMap::new()), |map, number| {
        OWN.with_borrow_mut(|own| own.push('x'));
        let text = OWN.with_borrow(|own| format!("{own}{number}"));
        map.lock().unwrap().insert(number, text);
        spin_loop();
    });
    assert_eq!(maps.lock().unwrap()[&1], "x1");
}

/// Publishes a value by `fetch_max`, and takes it by `fetch_min`.
fn publish_by_extremes(released: Ordering) {
    let state = (Open::<u64>::default(), AtomicU32::new(0), released);
    twice(state, |(value, ready, released), number| match number {
        0 => {
            value.set(7);
            ready.fetch_max(1, *released);
        }
        _ if ready.fetch_min(9, Acquire) == 1 => assert_eq!(value.get(), 7),
        _ => {}
    });
}

#[sim::test(native, races, seeds = 300, must_fail)]
fn a_largest_value_without_an_order_releases_nothing() {
    publish_by_extremes(Relaxed);
}

#[sim::test(native, races, seeds = 300)]
fn a_largest_value_releases_what_came_before() {
    publish_by_extremes(Release);
}

#[sim::test(native, races, seeds = 300)]
fn extremes_beside_each_other_are_no_race() {
    twice(AtomicUsize::new(3), |at, number| {
        at.fetch_max(number, Relaxed);
        at.fetch_min(number, Relaxed);
        at.store(number, Relaxed);
    });
}

#[sim::test(native, races, seeds = 100, must_fail)]
fn a_largest_value_beside_a_plain_write() {
    twice(AtomicU32::new(0), |at, number| match number {
        0 => _ = at.fetch_max(1, Relaxed),
        // SAFETY: none.
        _ => unsafe { *at.as_ptr() = 2 },
    });
}
