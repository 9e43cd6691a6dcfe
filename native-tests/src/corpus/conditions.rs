//! Condition variables: notifications that are lost, or received by the wrong thread.

use std::collections::VecDeque;

use super::sync::atomic::{AtomicBool, Ordering::SeqCst};
use super::sync::{Arc, Condvar, Mutex};
use super::{Program, Watched, on, together};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "missed_signal",
        seeds: 100,
        buggy: || missed_signal(false),
        fixed: || missed_signal(true),
    },
    Program { name: "flag_without_lock", seeds: 200, buggy: || flag(false), fixed: || flag(true) },
    Program { name: "sync01", seeds: 1, buggy: || sync01(false), fixed: || sync01(true) },
    Program {
        name: "cargill_buffer",
        seeds: 400,
        buggy: || cargill(false),
        fixed: || cargill(true),
    },
    Program {
        name: "if_for_while",
        seeds: 300,
        buggy: || if_for_while(false),
        fixed: || if_for_while(true),
    },
    Program {
        name: "one_of_two",
        seeds: 100,
        buggy: || one_of_two(false),
        fixed: || one_of_two(true),
    },
    Program {
        name: "writer_starves",
        seeds: 200,
        buggy: || starvation(false),
        fixed: || starvation(true),
    },
    Program {
        name: "cancelled_waiter",
        seeds: 250,
        buggy: || cancelled(false),
        fixed: || cancelled(true),
    },
];

/// The waiter checks the event and then waits; the notification may come in between. Fixed: it holds the lock from the
/// check to the wait.
fn missed_signal(fixed: bool) {
    let event = Arc::new((Mutex::new(false), Condvar::new()));
    let waiter = on(&event, move |(ready, changed)| {
        let mut guard = ready.lock().unwrap();
        while !*guard {
            if !fixed {
                drop(guard);
                guard = ready.lock().unwrap();
            }
            guard = changed.wait(guard).unwrap();
        }
    });
    let notifier = on(&event, |(ready, changed)| {
        *ready.lock().unwrap() = true;
        changed.notify_one();
    });
    together([waiter, notifier]);
}

/// A flag that is set without the lock that the waiter uses. Fixed: it is set under this lock.
fn flag(fixed: bool) {
    let event = Arc::new((AtomicBool::new(false), Mutex::new(()), Condvar::new()));
    let waiter = on(&event, |(flag, lock, changed)| {
        let mut guard = lock.lock().unwrap();
        while !flag.load(SeqCst) {
            guard = changed.wait(guard).unwrap();
        }
    });
    let notifier = on(&event, move |(flag, lock, changed)| {
        let held = fixed.then(|| lock.lock().unwrap());
        flag.store(true, SeqCst);
        drop(held);
        changed.notify_one();
    });
    together([waiter, notifier]);
}

/// A full slot: one thread waits to fill it, and the other thread forgets to empty it (SV-COMP, `sync01`). Fixed: the
/// other thread empties it.
fn sync01(fixed: bool) {
    struct Slot {
        items: Mutex<usize>,
        emptied: Condvar,
        filled: Condvar,
    }
    let slot = Slot { items: Mutex::new(1), emptied: Condvar::new(), filled: Condvar::new() };
    let slot = Arc::new(slot);
    let producer = on(&slot, |Slot { items, emptied, filled }| {
        let mut items = items.lock().unwrap();
        while *items > 0 {
            items = emptied.wait(items).unwrap();
        }
        *items += 1;
        filled.notify_one();
    });
    let consumer = on(&slot, move |Slot { items, emptied, filled }| {
        let mut items = items.lock().unwrap();
        while *items == 0 {
            items = filled.wait(items).unwrap();
        }
        *items -= usize::from(fixed);
        emptied.notify_one();
    });
    together([producer, consumer]);
}

/// A buffer of one item with one condition for both sides, two producers and two consumers. A notification for a
/// producer may wake a consumer, or the other way round (T. Cargill). Fixed: all waiters are notified.
fn cargill(fixed: bool) {
    let buffer = Arc::new((Mutex::new(false), Condvar::new()));
    let thread = |full: bool| {
        on(&buffer, move |(state, changed)| {
            let mut state = state.lock().unwrap();
            while *state == full {
                state = changed.wait(state).unwrap();
            }
            *state = full;
            match fixed {
                true => changed.notify_all(),
                false => changed.notify_one(),
            }
        })
    };
    together([true, true, false, false].map(thread));
}

/// A notified consumer takes an item without another check, but the queue may be empty. Fixed: it checks again.
fn if_for_while(fixed: bool) {
    let queue = Arc::new((Mutex::new(VecDeque::new()), Condvar::new()));
    let consumer = || {
        on(&queue, move |(items, filled)| {
            let mut items = items.lock().unwrap();
            if fixed {
                while items.is_empty() {
                    items = filled.wait(items).unwrap();
                }
            } else if items.is_empty() {
                items = filled.wait(items).unwrap();
            }
            assert!(items.pop_front().is_some(), "notified, but there is no item");
        })
    };
    let producer = on(&queue, |(items, filled)| {
        for item in 0..2 {
            items.lock().unwrap().push_back(item);
            filled.notify_one();
        }
    });
    together([consumer(), consumer(), producer]);
}

/// Two threads wait for one event, but only one thread is notified. Fixed: both are notified.
fn one_of_two(fixed: bool) {
    let event = Arc::new((Mutex::new(false), Condvar::new()));
    let waiter = || {
        on(&event, |(ready, changed)| {
            drop(changed.wait_while(ready.lock().unwrap(), |ready| !*ready).unwrap());
        })
    };
    let notifier = on(&event, move |(ready, changed)| {
        *ready.lock().unwrap() = true;
        match fixed {
            true => changed.notify_all(),
            false => changed.notify_one(),
        }
    });
    together([waiter(), waiter(), notifier]);
}

/// A reader-writer lock that prefers readers, so readers overtake a writer again and again. Fixed: readers wait while
/// the writer waits.
fn starvation(fixed: bool) {
    #[derive(Default)]
    struct State {
        readers: u32,
        writes: bool,
        /// True if the writer waits for the lock.
        asked: bool,
        /// The number of readers admitted while the writer waits.
        overtook: u32,
    }
    let lock = Arc::new((Mutex::new(State::default()), Condvar::new()));
    let reader = || {
        on(&lock, move |(state, left)| {
            for _ in 0..4 {
                let held_back = |state: &mut State| state.writes || fixed && state.asked;
                let mut entered = left.wait_while(state.lock().unwrap(), held_back).unwrap();
                entered.readers += 1;
                entered.overtook += u32::from(entered.asked);
                assert!(entered.overtook <= 3, "the writer starves");
                drop(entered);
                state.lock().unwrap().readers -= 1;
                left.notify_all();
            }
        })
    };
    let writer = on(&lock, |(state, left)| {
        let mut entered = state.lock().unwrap();
        entered.asked = true;
        let mut entered = left.wait_while(entered, |state| state.readers > 0).unwrap();
        (entered.writes, entered.asked) = (true, false);
        drop(entered);
        state.lock().unwrap().writes = false;
        left.notify_all();
    });
    together([reader(), reader(), writer]);
}

#[derive(Default)]
struct Semaphore {
    /// The number of free permits, and the waiting threads.
    state: Mutex<(u32, VecDeque<usize>)>,
    granted: [Watched; 2],
    cancel: AtomicBool,
}

impl Semaphore {
    /// Returns `true` if it acquired a permit at once; otherwise it enters the queue.
    fn take_or_queue(&self, me: usize) -> bool {
        let (permits, queue) = &mut *self.state.lock().unwrap();
        if *permits > 0 {
            *permits -= 1;
            return true;
        }
        queue.push_back(me);
        false
    }

    fn release(&self) {
        let mut state = self.state.lock().unwrap();
        match state.1.pop_front() {
            Some(next) => self.granted[next].store(1),
            None => state.0 += 1,
        }
    }
}

/// A cancelled waiter keeps its granted permit (tokio, issue 1898). Fixed: the waiter passes the permit on.
fn cancelled(fixed: bool) {
    let semaphore = Arc::new(Semaphore::default());
    let cancelled = on(&semaphore, move |semaphore| {
        if !semaphore.take_or_queue(0) {
            if semaphore.cancel.load(SeqCst) {
                let mut state = semaphore.state.lock().unwrap();
                let before = state.1.len();
                state.1.retain(|thread| *thread != 0);
                let granted = state.1.len() == before;
                drop(state);
                if !(fixed && granted) {
                    return;
                }
            } else {
                semaphore.granted[0].wait(|granted| granted == 1);
            }
        }
        semaphore.release();
    });
    let patient = on(&semaphore, |semaphore| {
        if !semaphore.take_or_queue(1) {
            semaphore.granted[1].wait(|granted| granted == 1);
        }
        semaphore.release();
    });
    let releaser = on(&semaphore, |semaphore| semaphore.release());
    let canceller = on(&semaphore, |semaphore| semaphore.cancel.store(true, SeqCst));
    together([cancelled, patient, releaser, canceller]);
}
