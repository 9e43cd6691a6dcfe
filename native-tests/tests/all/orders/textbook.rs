//! Algorithms of the textbooks, with the orders that they need and with orders that are too weak.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, fence};
use std::thread;

use super::{Right, Weak, alone, assert_found, assert_silent, never};

fn new() -> AtomicU64 {
    AtomicU64::new(0)
}

/// Runs both at once.
fn both(first: impl FnOnce() + Send, second: impl FnOnce() + Send) {
    thread::scope(|scope| {
        scope.spawn(first);
        scope.spawn(second);
    });
}

fn fence_if(is_there: bool) {
    if is_there {
        fence(SeqCst);
    }
}

/// Records that two threads were in a critical section at once.
#[derive(Default)]
struct Section {
    inside: AtomicU64,
    is_shared: AtomicBool,
}

impl Section {
    fn enter(&self) {
        if self.inside.fetch_add(1, SeqCst) != 0 {
            self.is_shared.store(true, SeqCst);
        }
        self.inside.fetch_sub(1, SeqCst);
    }

    fn was_shared(&self) -> bool {
        self.is_shared.load(SeqCst)
    }
}

/// Peterson's lock, with fences behind the store of the flag and behind the store of the turn.
fn peterson(store: Ordering, load: Ordering, fences: [bool; 2]) -> bool {
    let (flags, turn, section) = ([new(), new()], new(), Section::default());
    let enter = |me: usize| {
        let other = 1 - me;
        flags[me].store(1, store);
        fence_if(fences[0]);
        turn.store(other as u64, store);
        fence_if(fences[1]);
        while flags[other].load(load) == 1 && turn.load(load) == other as u64 {
            std::hint::spin_loop();
        }
        section.enter();
        flags[me].store(0, Release);
    };
    both(|| enter(0), || enter(1));
    section.was_shared()
}

/// The heart of Dekker's lock.
fn dekker(store: Ordering, load: Ordering, has_fence: bool) -> bool {
    let (flags, section) = ([new(), new()], Section::default());
    let enter = |me: usize| {
        flags[me].store(1, store);
        fence_if(has_fence);
        if flags[1 - me].load(load) == 0 {
            section.enter();
        }
    };
    both(|| enter(0), || enter(1));
    section.was_shared()
}

/// A sequence lock whose data are relaxed atomics.
fn seqlock(has_fences: bool) -> bool {
    let (sequence, data, is_torn) = (new(), [new(), new()], AtomicBool::new(false));
    let write = || {
        for value in 1..3 {
            let number = sequence.load(Relaxed);
            sequence.store(number + 1, Relaxed);
            if has_fences {
                fence(Release);
            }
            data.iter().for_each(|word| word.store(value, Relaxed));
            sequence.store(number + 2, Release);
        }
    };
    let read = || {
        for _ in 0..3 {
            let number = sequence.load(Acquire);
            let seen = [data[0].load(Relaxed), data[1].load(Relaxed)];
            if has_fences {
                fence(Acquire);
            }
            let is_whole = number % 2 == 0 && sequence.load(Relaxed) == number;
            if is_whole && seen[0] != seen[1] {
                is_torn.store(true, SeqCst);
            }
        }
    };
    both(write, read);
    is_torn.load(SeqCst)
}

/// A counter in a spin lock.
fn spinlock(unlock: Ordering) -> bool {
    let (lock, count) = (AtomicBool::new(false), new());
    let add = || {
        while lock.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
            std::hint::spin_loop();
        }
        count.store(count.load(Relaxed) + 1, Relaxed);
        lock.store(false, unlock);
    };
    both(add, add);
    count.load(SeqCst) != 2
}

/// A count of owners: the last owner must see the writes of the other owner.
fn counted(decrement: Ordering, acquires: bool) -> bool {
    let (owners, data, is_lost) = (AtomicUsize::new(2), new(), AtomicBool::new(false));
    let drop_own = || {
        if owners.fetch_sub(1, decrement) == 1 {
            if acquires {
                fence(Acquire);
            }
            if data.load(Relaxed) != 7 {
                is_lost.store(true, SeqCst);
            }
        }
    };
    let write = || {
        data.store(7, Relaxed);
        drop_own();
    };
    both(write, drop_own);
    is_lost.load(SeqCst)
}

/// A hazard pointer: the reader protects a node, and the writer unlinks it and scans.
fn hazard(has_fences: bool) -> bool {
    let (pointer, hazard, is_used) = (AtomicU64::new(1), new(), AtomicBool::new(false));
    let is_freed = [AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false)];
    let read = || {
        let node = pointer.load(Acquire);
        hazard.store(node, Release);
        fence_if(has_fences);
        if pointer.load(Acquire) == node {
            for _ in 0..2 {
                if is_freed[node as usize].load(SeqCst) {
                    is_used.store(true, SeqCst);
                }
                thread::yield_now();
            }
        }
        hazard.store(0, Release);
    };
    let unlink = || {
        let old = pointer.swap(2, AcqRel);
        fence_if(has_fences);
        if hazard.load(Acquire) != old {
            is_freed[old as usize].store(true, SeqCst);
        }
    };
    both(read, unlink);
    is_used.load(SeqCst)
}

/// The work-stealing queue of Chase and Lev (2005), with the orders of Lê, Pop, Cohen, Zappa Nardelli (2013).
struct Deque {
    top: AtomicUsize,
    bottom: AtomicUsize,
    slots: [AtomicU64; 4],
    /// The fence of `take`, and of `steal`.
    fences: [bool; 2],
}

impl Deque {
    fn push(&self, value: u64) {
        let bottom = self.bottom.load(Relaxed);
        self.slots[bottom % 4].store(value, Relaxed);
        fence(Release);
        self.bottom.store(bottom + 1, Relaxed);
    }

    fn take(&self) -> Option<u64> {
        let bottom = self.bottom.load(Relaxed) - 1;
        self.bottom.store(bottom, Relaxed);
        fence_if(self.fences[0]);
        let top = self.top.load(Relaxed);
        if top > bottom {
            self.bottom.store(bottom + 1, Relaxed);
            return None;
        }
        let value = self.slots[bottom % 4].load(Relaxed);
        let mut is_ours = true;
        if top == bottom {
            is_ours = self.top.compare_exchange(top, top + 1, SeqCst, Relaxed).is_ok();
            self.bottom.store(bottom + 1, Relaxed);
        }
        is_ours.then_some(value)
    }

    fn steal(&self) -> Option<u64> {
        let top = self.top.load(Acquire);
        fence_if(self.fences[1]);
        if top >= self.bottom.load(Acquire) {
            return None;
        }
        let value = self.slots[top % 4].load(Relaxed);
        let is_ours = self.top.compare_exchange(top, top + 1, SeqCst, Relaxed).is_ok();
        is_ours.then_some(value)
    }
}

/// Some value is taken twice.
fn chase_lev(fences: [bool; 2]) -> bool {
    let (top, bottom) = (AtomicUsize::new(1), AtomicUsize::new(1));
    let deque = Deque { top, bottom, slots: [new(), new(), new(), new()], fences };
    let (taken, stolen) = thread::scope(|scope| {
        let owner = scope.spawn(|| {
            deque.push(1);
            deque.push(2);
            [deque.take(), deque.take()]
        });
        let thief = scope.spawn(|| [deque.steal(), deque.steal()]);
        (owner.join().unwrap(), thief.join().unwrap())
    });
    let count = |value| taken.iter().chain(&stolen).filter(|taken| **taken == Some(value)).count();
    count(1) > 1 || count(2) > 1
}

/// Each with three times the seeds that a prototype needed, or the median of seven ranges of seeds if that was greater.
const TOO_WEAK: &[Weak] = &[
    Weak("Peterson relaxed", 6, || never(peterson(Relaxed, Relaxed, [false, false]))),
    Weak("Peterson release, acquire", 6, || never(peterson(Release, Acquire, [false, false]))),
    Weak("Peterson relaxed, one fence", 111, || never(peterson(Relaxed, Relaxed, [false, true]))),
    Weak("Dekker release, acquire", 30, || never(dekker(Release, Acquire, false))),
    Weak("seqlock without fences", 63, || never(seqlock(false))),
    Weak("spin lock, relaxed unlock", 6, || never(spinlock(Relaxed))),
    Weak("count relaxed", 9, || never(counted(Relaxed, true))),
    Weak("count without acquire", 9, || never(counted(Release, false))),
    Weak("hazard pointer without fences", 15, || never(hazard(false))),
    Weak("Chase-Lev without the fence of take", 387, || never(chase_lev([false, true]))),
    Weak("Chase-Lev without the fence of steal", 171, || never(chase_lev([true, false]))),
];

const RIGHT: &[Right] = &[
    Right("Peterson SeqCst", || never(peterson(SeqCst, SeqCst, [false, false]))),
    Right("Peterson two fences", || never(peterson(Relaxed, Relaxed, [true, true]))),
    Right("Dekker SeqCst", || never(dekker(SeqCst, SeqCst, false))),
    Right("Dekker fences", || never(dekker(Relaxed, Relaxed, true))),
    Right("seqlock", || never(seqlock(true))),
    Right("spin lock", || never(spinlock(Release))),
    Right("count", || never(counted(Release, true))),
    Right("hazard pointer", || never(hazard(true))),
    Right("Chase-Lev", || never(chase_lev([true, true]))),
];

#[test]
fn orders_that_are_too_weak_are_found() {
    assert_found(TOO_WEAK);
}

#[test]
fn orders_that_are_strong_enough_are_silent() {
    let _alone = alone();
    assert_silent(RIGHT, 300);
}
