//! Locks built from loads and stores: Peterson's lock, Lamport's bakery, ticket locks.

use super::sync::Arc;
use super::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use super::{Program, Watched, on, together};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program { name: "peterson", seeds: 400, buggy: || peterson(false), fixed: || peterson(true) },
    Program { name: "bakery", seeds: 500, buggy: || bakery(false), fixed: || bakery(true) },
    Program { name: "ticket_lock", seeds: 100, buggy: || ticket(false), fixed: || ticket(true) },
    Program {
        name: "spin_lock",
        seeds: 100,
        buggy: || spin_lock(false),
        fixed: || spin_lock(true),
    },
];

/// The number of attempts before a thread gives up.
const PATIENCE: usize = 5;

/// Enters a critical section with two accesses, so that another thread inside is detected.
fn critical(owner: &AtomicI64, me: usize) {
    owner.store(me as i64, SeqCst);
    assert_eq!(owner.load(SeqCst), me as i64, "two in the critical section");
}

/// Buggy: sets the turn, then announces its wish to enter. Fixed: the other way round.
fn peterson(fixed: bool) {
    #[derive(Default)]
    struct Peterson {
        wants: [AtomicBool; 2],
        turn: AtomicI64,
        owner: AtomicI64,
    }
    let lock = Arc::new(Peterson::default());
    let thread = |me: usize| {
        on(&lock, move |Peterson { wants, turn, owner }| {
            let other = 1 - me;
            if fixed {
                wants[me].store(true, SeqCst);
            }
            turn.store(other as i64, SeqCst);
            if !fixed {
                wants[me].store(true, SeqCst);
            }
            for _ in 0..PATIENCE {
                if !wants[other].load(SeqCst) || turn.load(SeqCst) != other as i64 {
                    critical(owner, me);
                    wants[me].store(false, SeqCst);
                    return;
                }
            }
        })
    };
    together([thread(0), thread(1)]);
}

/// Buggy: draws a number without announcing that it is choosing. Fixed: announces it.
fn bakery(fixed: bool) {
    #[derive(Default)]
    struct Bakery {
        choosing: [AtomicBool; 2],
        numbers: [AtomicI64; 2],
        owner: AtomicI64,
    }
    let bakery = Arc::new(Bakery::default());
    let thread = |me: usize| {
        on(&bakery, move |Bakery { choosing, numbers, owner }| {
            let other = 1 - me;
            if fixed {
                choosing[me].store(true, SeqCst);
            }
            let mine = numbers[other].load(SeqCst) + 1;
            numbers[me].store(mine, SeqCst);
            if fixed {
                choosing[me].store(false, SeqCst);
                if !(0..PATIENCE).any(|_| !choosing[other].load(SeqCst)) {
                    return;
                }
            }
            for _ in 0..PATIENCE {
                let theirs = numbers[other].load(SeqCst);
                if theirs == 0 || (mine, me) < (theirs, other) {
                    critical(owner, me);
                    numbers[me].store(0, SeqCst);
                    return;
                }
            }
        })
    };
    together([thread(0), thread(1)]);
}

/// Buggy: reads and increments the next ticket in two accesses. Fixed: in one access.
fn ticket(fixed: bool) {
    #[derive(Default)]
    struct Tickets {
        next: AtomicI64,
        serving: Watched,
        owner: AtomicI64,
    }
    let lock = Arc::new(Tickets::default());
    let thread = |me: usize| {
        on(&lock, move |Tickets { next, serving, owner }| {
            let ticket = if fixed {
                next.fetch_add(1, SeqCst)
            } else {
                let ticket = next.load(SeqCst);
                next.store(ticket + 1, SeqCst);
                ticket
            };
            serving.wait(|serving| serving >= ticket);
            critical(owner, me);
            serving.add(1);
        })
    };
    together((0..3).map(thread));
}

/// Buggy: waits until the lock is free, then takes it by a store. Fixed: takes it by a swap.
fn spin_lock(fixed: bool) {
    #[derive(Default)]
    struct Lock {
        taken: AtomicBool,
        owner: AtomicI64,
    }
    let lock = Arc::new(Lock::default());
    let thread = |me: usize| {
        on(&lock, move |Lock { taken, owner }| {
            for _ in 0..PATIENCE {
                if fixed {
                    if taken.swap(true, SeqCst) {
                        continue;
                    }
                } else {
                    if taken.load(SeqCst) {
                        continue;
                    }
                    taken.store(true, SeqCst);
                }
                critical(owner, me);
                taken.store(false, SeqCst);
                return;
            }
        })
    };
    together((0..3).map(thread));
}
