//! Orders that are uncertain in a search with the memory `c11`: C++20 does not demand them, or the search does not vary
//! them. If a thread knows a change by such an order only, the search is no proof. With a lock, it is a proof.
//!
//! A change is a drop of an `Arc` whose count is read, or a relaxed store. A test walks all kinds of uncertain orders.

use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::thread;

use unpause_orders::Uncertain;

use super::all_stores::{does_not_prove, proof, proves};
use super::{Program, alone, screen};

thread_local! {
    /// True after a thread has dropped the last reference to an [`Ends`].
    static HAS_ENDED: Cell<bool> = const { Cell::new(false) };
}

struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        HAS_ENDED.set(true);
    }
}

/// Returns the address of a variable of a new thread.
fn address_in_thread() -> usize {
    let address = || &raw const *std::hint::black_box(&0_u8) as usize;
    thread::spawn(address).join().unwrap()
}

/// The first half of an uncertain order, which one thread executes.
type Leave = Box<dyn FnOnce() + Send>;
/// The second half, which another thread executes. Returns `true` if the first half is certainly over.
type Enter = Box<dyn FnOnce() -> bool + Send>;

/// Returns the halves of an uncertain order of this kind.
fn halves(kind: Uncertain) -> (Leave, Enter) {
    match kind {
        Uncertain::Call => {
            let (mut to, mut from) = UnixStream::pair().unwrap();
            let leave = move || to.write_all(&[1]).unwrap();
            (Box::new(leave), Box::new(move || from.read(&mut [0]).unwrap() == 1))
        }
        Uncertain::Memory => {
            let memory = vec![0_u8; 3000];
            let address = memory.as_ptr() as usize;
            let is_again = move || {
                let memory = vec![0_u8; 3000];
                memory.as_ptr() as usize == address
            };
            (Box::new(move || drop(memory)), Box::new(is_again))
        }
        Uncertain::Stack => {
            // The first threads of a run have stacks of their own. The next thread has the stack of the last one.
            (0..255).for_each(|_| thread::spawn(|| ()).join().unwrap());
            let address = address_in_thread();
            (Box::new(|| ()), Box::new(move || address_in_thread() == address))
        }
        Uncertain::InPassing => {
            let own = Arc::new(Ends);
            let other = own.clone();
            let ends = move || {
                drop(own);
                HAS_ENDED.get()
            };
            (Box::new(move || drop(other)), Box::new(ends))
        }
        Uncertain::Passed => {
            let mut own = Arc::new(());
            let other = own.clone();
            let is_only = move || Arc::get_mut(&mut own).is_some();
            (Box::new(move || drop(other)), Box::new(is_only))
        }
        Uncertain::SharedLock => {
            let own = Arc::new(RwLock::new(()));
            let other = own.clone();
            let reads = move || {
                drop(own.read().unwrap());
                true
            };
            (Box::new(move || drop(other.read().unwrap())), Box::new(reads))
        }
    }
}

/// Performs an operation with a weak order. Without one, sampled runs would check the search of a program that counts
/// references, which takes time.
fn begin() {
    static WORD: AtomicU32 = AtomicU32::new(0);
    WORD.store(1, Relaxed);
}

/// One thread changes a count or a word. Another thread reads it, if it knows of the change. If `locks`, both hold a
/// lock.
fn program(kind: Uncertain, counts: bool, locks: bool) {
    let (leave, enter) = halves(kind);
    let (word, lock) = (AtomicU32::new(0), Mutex::new(()));
    begin();
    let own = counts.then(|| Arc::new(()));
    let other = own.clone();
    let guard = || locks.then(|| lock.lock().unwrap());
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            let _guard = guard();
            match other {
                Some(other) => drop(other),
                None => word.store(1, Relaxed),
            }
            leave();
        });
        let then = scope.spawn(|| {
            // A read of a socket waits, so it must not hold the lock.
            let first = (kind != Uncertain::Call).then(&guard);
            let knows = enter();
            let _guard = first.unwrap_or_else(&guard);
            match &own {
                Some(own) if knows => _ = Arc::strong_count(own),
                None if knows => _ = word.load(Relaxed),
                _ => {}
            }
        });
        first.join().unwrap();
        then.join().unwrap();
    });
}

#[test]
fn each_uncertain_order_is_no_proof_without_a_lock() {
    let _alone = alone();
    let programs = |kind: &Uncertain| [false, true].map(|counts| (*kind, counts));
    for (kind, counts) in Uncertain::ALL.iter().flat_map(programs) {
        let name = format!("{kind:?}, counts: {counts}");
        let wrong = move || program(kind, counts, false);
        match kind {
            // The runs of a search reuse no memory.
            Uncertain::Memory => proves(&name, wrong),
            _ => does_not_prove(&name, wrong),
        }
        proves(&name, move || program(kind, counts, true));
    }
}

/// A thread changes a count, then wakes another thread, which reads the count. If `locks`, it drops its reference while
/// it holds the lock of the condition variable.
fn wakes(locks: bool) {
    let (lock, condition) = (Mutex::new(false), Condvar::new());
    let own = Arc::new(());
    let other = own.clone();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut is_set = lock.lock().unwrap();
            *is_set = true;
            if locks {
                drop(other);
                drop(is_set);
            } else {
                drop(is_set);
                drop(other);
            }
            condition.notify_one();
        });
        drop(condition.wait_while(lock.lock().unwrap(), |is_set| !*is_set).unwrap());
        _ = Arc::strong_count(&own);
    });
}

/// The handles of a thread are counted, but no program sees their count.
fn drops_handles(locks: bool) {
    let handle = thread::spawn(|| ());
    let first = handle.thread().clone();
    handle.join().unwrap();
    let (then, lock, own) = (first.clone(), Mutex::new(()), Arc::new(()));
    let (other, lock) = (own.clone(), &lock);
    thread::scope(|scope| {
        scope.spawn(move || {
            let _guard = locks.then(|| lock.lock().unwrap());
            drop(other);
            drop(first);
        });
        let _guard = locks.then(|| lock.lock().unwrap());
        drop(then);
        _ = Arc::strong_count(&own);
    });
}

#[test]
fn a_count_that_is_known_by_an_uncertain_order_is_no_proof() {
    let _alone = alone();
    let programs: [(&str, Program, Program); 2] = [
        ("a wake", || wakes(false), || wakes(true)),
        ("handles of a thread", || drops_handles(false), || drops_handles(true)),
    ];
    for (name, wrong, right) in programs {
        does_not_prove(name, wrong);
        // Counts do not count as operations of the program with weaker orders.
        let (is_proof, _, report) = proof(right);
        assert!(is_proof, "{name}: {}", screen(&report));
    }
}

/// One thread drops a reference, and then stores to a word. The other thread clones a reference, and then reads the word
/// and the count. It may see the word and miss the drop, even if the drop is executed before the clone.
fn clones_and_counts(drops_first: bool) {
    let own = Arc::new(());
    let other = own.clone();
    let word = AtomicU32::new(0);
    let (word, own) = (&word, &own);
    let drops = move || {
        drop(other);
        word.store(1, Relaxed);
    };
    let clones = move || {
        let _more = own.clone();
        let is_stored = word.load(Relaxed) == 1;
        assert!(!is_stored || Arc::strong_count(own) == 2, "the outcome");
    };
    thread::scope(|scope| match drops_first {
        true => _ = (scope.spawn(drops), scope.spawn(clones)),
        false => _ = (scope.spawn(clones), scope.spawn(drops)),
    });
}

#[test]
fn a_drop_that_is_executed_before_a_clone_may_be_missed() {
    let _alone = alone();
    for drops_first in [false, true] {
        let search = super::runner("c11", 1_000_000).strategy("exhaustive");
        let report = search.run_native(move || clones_and_counts(drops_first));
        let is_proof = report.searched.as_ref().is_some_and(|searched| searched.is_proof());
        assert!(!report.passed() || !is_proof, "{drops_first}: {}", screen(&report));
    }
}
