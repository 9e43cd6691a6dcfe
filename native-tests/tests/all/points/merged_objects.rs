//! Calls on one of two objects of different types. The compiler merges the two calls, and the operation has no function
//! of std in its place. A search still has the outcomes of a search with all operations as points, or it is no proof.

use std::hint::black_box;
use std::panic::resume_unwind;
use std::sync::{Once, OnceLock, Weak};

use crossbeam_queue::ArrayQueue;

use super::*;

/// Calls a function on the first object, in one of two branches.
macro_rules! either {
    ($objects:ident, |$first:ident| $call:expr, |$second:ident| $other:expr $(,)?) => {{ apart(&mut $objects, |$first, $second| if black_box(true) { $call } else { $other }) }};
}

/// Calls a function that is compiled by itself, with two objects.
#[inline(never)]
fn apart<'a, T, U, R>(objects: &'a mut (T, U), call: impl FnOnce(&'a mut T, &'a mut U) -> R) -> R {
    let (first, second) = objects;
    call(first, second)
}

/// Runs `there` on a thread, while `here` uses two objects, of which the thread shares the first.
fn beside<T: Send + Sync + Default + 'static, U: Default, R>(
    there: fn(&T),
    _: fn(&U),
    here: impl FnOnce((Arc<T>, Arc<U>)) -> R,
) -> R {
    let objects = (Arc::new(T::default()), Arc::new(U::default()));
    let other = objects.0.clone();
    let thread = thread::spawn(move || there(&other));
    let result = here(objects);
    let _ = thread.join();
    result
}

/// An object, of which a thread drops another reference.
fn dropped<R>(here: impl FnOnce((Arc<u8>, Arc<i8>)) -> R) -> R {
    let objects = (Arc::new(0_u8), Arc::new(0_i8));
    let other = objects.0.clone();
    let thread = thread::spawn(move || drop(other));
    let result = here(objects);
    thread.join().unwrap();
    result
}

/// A channel with a message that a thread sends.
fn sent<R>(here: impl FnOnce((mpsc::Receiver<u8>, mpsc::Receiver<i8>)) -> R) -> R {
    let ((sender, first), (_sender, second)) = (mpsc::channel(), mpsc::channel());
    let thread = thread::spawn(move || _ = sender.send(7));
    let result = here((first, second));
    thread.join().unwrap();
    result
}

/// Holds a lock and changes nothing.
fn hold(lock: &Mutex<u8>) {
    drop(lock.lock());
}

/// Panics while it holds a lock.
fn poison(lock: &Mutex<u8>) {
    let _held = lock.lock().unwrap();
    resume_unwind(Box::new(()));
}

macro_rules! merged {
    ($($name:ident $body:block)*) => {
        $(fn $name() { outcome(concat!("merged_", stringify!($name)), $body); })*
        const MERGED: &[(&str, fn())] = &[$((concat!("merged_", stringify!($name)), $name)),*];
    };
}

merged! {
    strong_count { dropped(|mut of| either!(of,
            |a| Arc::strong_count(a),
            |b| Arc::strong_count(b))) }
    strong_count_with_a_second_owner {
        let mut of = (Arc::new(0_u8), Arc::new(0_i8));
        let other = of.0.clone();
        let thread = thread::spawn(move || {
            let third = other.clone();
            black_box(&AtomicU64::new(0)).store(1, SeqCst);
            drop((other, third))
        });
        let seen = either!(of,
            |a| Arc::strong_count(a),
            |b| Arc::strong_count(b));
        thread.join().unwrap();
        seen
    }
    strong_count_there {
        let mut of = (Arc::new(0_u8), Arc::new(0_i8));
        let other = of.0.clone();
        let thread = thread::spawn(move || either!(of,
            |a| Arc::strong_count(a),
            |b| Arc::strong_count(b)));
        black_box(&AtomicU64::new(0)).store(1, SeqCst);
        drop(other);
        thread.join().unwrap()
    }
    upgrade_there {
        let of = (Arc::new(0_u8), Arc::new(0_i8));
        let mut weak = (Arc::downgrade(&of.0), Arc::downgrade(&of.1));
        let thread = thread::spawn(move || either!(weak,
            |a| Weak::upgrade(a).is_some(),
            |b| Weak::upgrade(b).is_some()));
        black_box(&AtomicU64::new(0)).store(1, SeqCst);
        drop(of);
        thread.join().unwrap()
    }
    get_mut_there {
        let mut of = (Arc::new(0_u8), Arc::new(0_i8));
        let other = of.0.clone();
        let thread = thread::spawn(move || either!(of,
            |a| Arc::get_mut(a).is_some(),
            |b| Arc::get_mut(b).is_some()));
        black_box(&AtomicU64::new(0)).store(1, SeqCst);
        drop(other);
        thread.join().unwrap()
    }
    is_finished_after_its_last_store {
        let word = Arc::new(AtomicU64::new(0));
        let there = word.clone();
        let mut of = (thread::spawn(move || there.store(1, SeqCst)), thread::spawn(|| 1_u8));
        let seen = word.load(SeqCst);
        let ended = either!(of,
            |a| a.is_finished(),
            |b| b.is_finished());
        of.0.join().unwrap();
        of.1.join().unwrap();
        (seen, ended)
    }
    strong_count_of_weak {
        let of = (Arc::new(0_u8), Arc::new(0_i8));
        let mut weak = (Arc::downgrade(&of.0), Arc::downgrade(&of.1));
        let thread = thread::spawn(move || drop(of));
        let seen = either!(weak,
            |a| a.strong_count(),
            |b| b.strong_count());
        thread.join().unwrap();
        seen
    }
    weak_count {
        let mut of = (Arc::new(0_u8), Arc::new(0_i8));
        let weak = Arc::downgrade(&of.0);
        let thread = thread::spawn(move || drop(weak));
        let seen = either!(of,
            |a| Arc::weak_count(a),
            |b| Arc::weak_count(b));
        thread.join().unwrap();
        seen
    }
    upgrade {
        let of = (Arc::new(0_u8), Arc::new(0_i8));
        let mut weak = (Arc::downgrade(&of.0), Arc::downgrade(&of.1));
        let thread = thread::spawn(move || drop(of));
        let seen = either!(weak,
            |a| Weak::upgrade(a).is_some(),
            |b| Weak::upgrade(b).is_some());
        thread.join().unwrap();
        seen
    }
    get_mut { dropped(|mut of| either!(of,
            |a| Arc::get_mut(a).is_some(),
            |b| Arc::get_mut(b).is_some())) }
    make_mut { dropped(|mut of| {
        let at = Arc::as_ptr(&of.0);
        let new = either!(of,
            |a| std::ptr::from_mut(Arc::make_mut(a)).addr(),
            |b| std::ptr::from_mut(Arc::make_mut(b)).addr());
        at.addr() == new
    }) }
    try_unwrap { dropped(|(a, b)| if black_box(true) {
            Arc::try_unwrap(a).is_ok()
        } else {
            Arc::try_unwrap(b).is_ok() })
        }
    into_inner {
        let of = (Arc::new(0_u8), Arc::new(0_i8));
        let (other, word) = (of.0.clone(), Arc::new(AtomicU64::new(0)));
        let there = word.clone();
        let thread = thread::spawn(move || { if Arc::into_inner(other).is_some() { there.store(1, SeqCst) } });
        let (a, b) = of;
        let seen = if black_box(true) {
            Arc::into_inner(a).is_some()
        } else {
            Arc::into_inner(b).is_some()
        };
        thread.join().unwrap();
        (seen, word.load(SeqCst))
    }
    is_finished {
        let mut of = (thread::spawn(|| ()), thread::spawn(|| 1_u8));
        let seen = either!(of,
            |a| a.is_finished(),
            |b| b.is_finished());
        of.0.join().unwrap();
        of.1.join().unwrap();
        seen
    }
    is_poisoned { beside(poison, |_: &RwLock<u8>| (), |mut of| either!(of,
            |a| a.is_poisoned(),
            |b| b.is_poisoned())) }
    clear_poison {
        let mut of = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0_i8)));
        let other = of.0.clone();
        let thread = thread::spawn(move || poison(&other));
        either!(of,
            |a| a.clear_poison(),
            |b| b.clear_poison());
        let _ = thread.join();
        of.0.lock().is_err()
    }
    try_lock { beside(hold, |_: &Mutex<i8>| (), |mut of| either!(of,
            |a| a.try_lock().is_ok(),
            |b| b.try_lock().is_ok())) }
    try_read {
        beside(|lock: &RwLock<u8>| drop(lock.write()), |_: &RwLock<i8>| (), |mut of| either!(of,
            |a| a.try_read().is_ok(),
            |b| b.try_read().is_ok()))
    }
    try_write {
        beside(|lock: &RwLock<u8>| drop(lock.read()), |_: &RwLock<i8>| (), |mut of| either!(of,
            |a| a.try_write().is_ok(),
            |b| b.try_write().is_ok()))
    }
    raw_try_lock {
        beside(|lock: &parking_lot::Mutex<u8>| drop(lock.lock()), |_: &parking_lot::Mutex<i8>| (), |mut of| either!(of,
            |a| a.try_lock().is_some(),
            |b| b.try_lock().is_some()))
    }
    raw_is_locked {
        beside(|lock: &parking_lot::Mutex<u8>| drop(lock.lock()), |_: &parking_lot::Mutex<i8>| (), |mut of| either!(of,
            |a| a.is_locked(),
            |b| b.is_locked()))
    }
    raw_try_read {
        beside(|lock: &parking_lot::RwLock<u8>| drop(lock.write()),
            |_: &parking_lot::RwLock<i8>| (),
            |mut of| either!(of,
            |a| a.try_read().is_some(),
            |b| b.try_read().is_some()))
    }
    raw_is_locked_exclusive {
        beside(
            |lock: &parking_lot::RwLock<u8>| drop(lock.write()), |_: &parking_lot::RwLock<i8>| (),
            |mut of| either!(of,
            |a| a.is_locked_exclusive(),
            |b| b.is_locked_exclusive()),
        )
    }
    once_is_completed {
        static ONCE: (Once, Once) = (Once::new(), Once::new());
        let thread = thread::spawn(|| ONCE.0.call_once(|| ()));
        let mut of = (&ONCE.0, &ONCE.1);
        let seen = either!(of,
            |a| a.is_completed(),
            |b| b.is_completed());
        thread.join().unwrap();
        seen
    }
    once_lock_get {
        beside(|lock: &OnceLock<u8>| assert!(lock.set(1).is_ok()), |_: &OnceLock<i8>| (), |mut of| either!(of,
            |a| a.get().is_some(),
            |b| b.get().is_some()))
    }
    once_cell_get {
        beside(
            |cell: &once_cell::sync::OnceCell<u8>| assert!(cell.set(1).is_ok()), |_: &once_cell::sync::OnceCell<i8>| (),
            |mut of| either!(of,
            |a| a.get().is_some(),
            |b| b.get().is_some()),
        )
    }
    try_recv { sent(|mut of| either!(of,
            |a| a.try_recv().is_ok(),
            |b| b.try_recv().is_ok())) }
    queue_len {
        let mut of = (Arc::new(ArrayQueue::new(2)), Arc::new(ArrayQueue::<i64>::new(2)));
        let other = of.0.clone();
        let thread = thread::spawn(move || { other.push(1).unwrap(); other.push(2).unwrap() });
        let seen = either!(of,
            |a| a.is_empty(),
            |b| b.is_empty());
        let more = either!(of,
            |a| a.pop().is_some(),
            |b| b.pop().is_some());
        thread.join().unwrap();
        (seen, more)
    }
    swap {
        beside(|word: &AtomicU64| { word.fetch_add(1, SeqCst); word.fetch_add(1, SeqCst); },
            |_: &std::sync::atomic::AtomicUsize| (),
            |mut of| either!(of,
            |a| a.swap(8, SeqCst),
            |b| b.swap(8, SeqCst) as u64))
    }
    fetch_max {
        beside(|word: &AtomicU64| { word.fetch_add(5, SeqCst); word.fetch_max(7, SeqCst); },
            |_: &std::sync::atomic::AtomicUsize| (),
            |mut of| { (either!(of,
            |a| a.fetch_max(6, SeqCst),
            |b| b.fetch_max(6, SeqCst) as u64), of.0.load(SeqCst)) })
    }
    unpark {
        let word = Arc::new(AtomicU64::new(0));
        let there = word.clone();
        let parked = thread::spawn(move || { thread::park(); there.swap(1, SeqCst) });
        let other = thread::spawn(|| ());
        if black_box(true) {
            parked.thread().unpark()
        } else {
            other.thread().unpark()
        };
        let seen = word.swap(2, SeqCst);
        other.join().unwrap();
        (seen, parked.join().unwrap())
    }
    notify_one {
        let of = Arc::new((Mutex::new(0), Condvar::new(), Condvar::new()));
        let there = of.clone();
        let waiter = thread::spawn(move || {
            let mut value = there.0.lock().unwrap();
            let mut waits = 0;
            while *value == 0 { value = there.1.wait(value).unwrap(); waits += 1 }
            waits
        });
        *of.0.lock().unwrap() = 1;
        if black_box(true) {
            of.1.notify_one()
        } else {
            of.2.notify_one()
        };
        waiter.join().unwrap()
    }
}

#[test]
fn merged_calls_on_two_objects_have_all_outcomes() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    for (name, body) in MERGED.iter().filter(|(name, _)| name.contains(&only)) {
        let few = search(name, *body, "default", "exhaustive", 20_000);
        let all = search(name, *body, "all", "exhaustive", 20_000);
        eprintln!(
            "{name}: all {} runs, {}, {:?}; default {} runs, {}, {:?} {}",
            all.runs,
            if all.fails { all.text.clone() } else { all.through.to_string() },
            all.outcomes,
            few.runs,
            few.through,
            few.outcomes,
            if few.through { "" } else { &few.text }
        );
        if few.fails
            || few.outcomes.is_empty()
            || few.through && all.through && !all.fails && few.outcomes != all.outcomes
        {
            wrong.push(format!("{name}: {:?}, not {:?}: {}", few.outcomes, all.outcomes, few.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
