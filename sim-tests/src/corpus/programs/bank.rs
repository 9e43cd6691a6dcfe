//! Money in transit between two accounts, which an auditor fails to count.

use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Mutex, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "bank_transfer",
    seeds: 150,
    buggy: |spawning| boxed(bank(spawning, false)),
    fixed: |spawning| boxed(bank(spawning, true)),
}];

/// Fixed: a transfer holds the locks of both accounts.
async fn bank(spawning: Spawning, fixed: bool) {
    let accounts = Arc::new([100; 3].map(Mutex::new));
    let transfer = |from: usize| {
        let accounts = accounts.clone();
        boxed(async move {
            let mut source = accounts[from].lock().await;
            *source -= 10;
            if fixed {
                *accounts[from + 1].lock().await += 10;
                return;
            }
            drop(source);
            *accounts[from + 1].lock().await += 10;
        })
    };
    let mut tasks = vec![transfer(0), transfer(1)];
    tasks.push(boxed(async move {
        let first = accounts[0].lock().await;
        let second = accounts[1].lock().await;
        let third = accounts[2].lock().await;
        assert_eq!(*first + *second + *third, 300);
    }));
    together(spawning, tasks).await;
}
