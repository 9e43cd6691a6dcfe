//! Locks built from loads and stores: Peterson's lock, Lamport's bakery, ticket locks.

use std::sync::Arc;

use super::{Program, Spawning, Watched, together};
use crate::tools::{Atomic, Cell, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "peterson",
        seeds: 400,
        buggy: |spawning| boxed(peterson(spawning, false)),
        fixed: |spawning| boxed(peterson(spawning, true)),
    },
    Program {
        name: "bakery",
        seeds: 500,
        buggy: |spawning| boxed(bakery(spawning, false)),
        fixed: |spawning| boxed(bakery(spawning, true)),
    },
    Program {
        name: "ticket_lock",
        seeds: 100,
        buggy: |spawning| boxed(ticket(spawning, false)),
        fixed: |spawning| boxed(ticket(spawning, true)),
    },
];

/// The number of attempts before a task gives up.
const PATIENCE: usize = 5;

/// Enters a critical section with two accesses, so that another task inside is detected.
async fn critical(owner: &Cell<i64>, me: i64) {
    owner.set(me).await;
    assert_eq!(owner.get().await, me, "two in the critical section");
}

#[derive(Default)]
struct Peterson {
    wants: [Atomic<bool>; 2],
    turn: Atomic<i64>,
    owner: Cell<i64>,
}

/// Buggy: sets the turn, then announces its wish to enter. Fixed: the other way round.
async fn peterson(spawning: Spawning, fixed: bool) {
    let lock = Arc::new(Peterson::default());
    let task = |me: usize| {
        let lock = lock.clone();
        boxed(async move {
            let Peterson { wants, turn, owner } = &*lock;
            let other = 1 - me;
            if fixed {
                wants[me].store(true, SeqCst).await;
            }
            turn.store(other as i64, SeqCst).await;
            if !fixed {
                wants[me].store(true, SeqCst).await;
            }
            for _ in 0..PATIENCE {
                let free = !wants[other].load(SeqCst).await;
                if free || turn.load(SeqCst).await != other as i64 {
                    critical(owner, me as i64).await;
                    wants[me].store(false, SeqCst).await;
                    return;
                }
            }
        })
    };
    together(spawning, vec![task(0), task(1)]).await;
}

#[derive(Default)]
struct Bakery {
    choosing: [Atomic<bool>; 2],
    numbers: [Atomic<i64>; 2],
    owner: Cell<i64>,
}

/// Buggy: draws a number without announcing that it is choosing. Fixed: announces it.
async fn bakery(spawning: Spawning, fixed: bool) {
    let bakery = Arc::new(Bakery::default());
    let task = |me: usize| {
        let bakery = bakery.clone();
        boxed(async move {
            let Bakery { choosing, numbers, owner } = &*bakery;
            let other = 1 - me;
            if fixed {
                choosing[me].store(true, SeqCst).await;
            }
            let mine = numbers[other].load(SeqCst).await + 1;
            numbers[me].store(mine, SeqCst).await;
            if fixed {
                choosing[me].store(false, SeqCst).await;
                let mut looks = 0;
                while choosing[other].load(SeqCst).await {
                    looks += 1;
                    if looks == PATIENCE {
                        return;
                    }
                }
            }
            for _ in 0..PATIENCE {
                let theirs = numbers[other].load(SeqCst).await;
                if theirs == 0 || (mine, me) < (theirs, other) {
                    critical(owner, me as i64).await;
                    numbers[me].store(0, SeqCst).await;
                    return;
                }
            }
        })
    };
    together(spawning, vec![task(0), task(1)]).await;
}

#[derive(Default)]
struct Tickets {
    next: Atomic<i64>,
    serving: Watched,
    owner: Cell<i64>,
}

/// Buggy: reads and increments the next ticket in two accesses. Fixed: in one access.
async fn ticket(spawning: Spawning, fixed: bool) {
    let lock = Arc::new(Tickets::default());
    let task = |me: i64| {
        let lock = lock.clone();
        boxed(async move {
            let Tickets { next, serving, owner } = &*lock;
            let ticket = if fixed {
                next.fetch_add(1, SeqCst).await
            } else {
                let ticket = next.load(SeqCst).await;
                next.store(ticket + 1, SeqCst).await;
                ticket
            };
            serving.wait(|serving| serving >= ticket).await;
            critical(owner, me).await;
            serving.add(1).await;
        })
    };
    together(spawning, (0..3).map(task).collect()).await;
}
