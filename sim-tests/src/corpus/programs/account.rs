//! Bugs in the order of whole critical sections, which need no preemption inside a section
//! (SCTBench: account, lazy01, token_ring).

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Mutex, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "account",
        seeds: 200,
        buggy: |spawning| boxed(account(spawning, 1 - 2 - 4)),
        fixed: |spawning| boxed(account(spawning, 1 + 2 - 4)),
    },
    Program {
        name: "lazy01",
        seeds: 100,
        buggy: |spawning| boxed(lazy(spawning, 2)),
        fixed: |spawning| boxed(lazy(spawning, 3)),
    },
    Program {
        name: "token_ring",
        seeds: 200,
        buggy: |spawning| boxed(token_ring(spawning, false)),
        fixed: |spawning| boxed(token_ring(spawning, true)),
    },
];

/// If the auditor runs last, it checks the balance. In the buggy version, it expects a wrong balance.
async fn account(spawning: Spawning, expected: i64) {
    struct Account {
        balance: i64,
        deposited: bool,
        withdrawn: bool,
    }
    let account = Account { balance: 1, deposited: false, withdrawn: false };
    let account = Arc::new(Mutex::new(account));
    let [auditor, depositor, withdrawer] = [(); 3].map(|()| account.clone());
    let tasks = vec![
        boxed(async move {
            let account = auditor.lock().await;
            if account.deposited && account.withdrawn {
                assert_eq!(account.balance, expected);
            }
        }),
        boxed(async move {
            let mut account = depositor.lock().await;
            account.balance += 2;
            account.deposited = true;
        }),
        boxed(async move {
            let mut account = withdrawer.lock().await;
            account.balance -= 4;
            account.withdrawn = true;
        }),
    ];
    together(spawning, tasks).await;
}

/// The checker assumes that at most one of the two other tasks has run before it.
async fn lazy(spawning: Spawning, most: i64) {
    let data = Arc::new(Mutex::new(0));
    let [first, second, checker] = [(); 3].map(|()| data.clone());
    let tasks = vec![
        boxed(async move { *first.lock().await += 1 }),
        boxed(async move { *second.lock().await += 2 }),
        boxed(async move { assert!(*checker.lock().await <= most) }),
    ];
    together(spawning, tasks).await;
}

/// Each task passes a value to the next task. Only in one order does the value get around the ring.
/// Fixed: a task without a value to pass on does not report success.
async fn token_ring(spawning: Spawning, fixed: bool) {
    let ring = Arc::new(Mutex::new(([1, 2, 1], [false; 3])));
    let pass = |to: usize| {
        let ring = ring.clone();
        boxed(async move {
            let (values, done) = &mut *ring.lock().await;
            values[to] = if to == 0 { (values[2] + 1) % 4 } else { values[to - 1] };
            done[to] = !fixed || to == 0 || done[to - 1];
        })
    };
    let mut tasks = vec![pass(0), pass(1), pass(2)];
    tasks.push(boxed(async move {
        let (values, done) = *ring.lock().await;
        assert!(done != [true; 3] || values == [values[0]; 3]);
    }));
    together(spawning, tasks).await;
}
