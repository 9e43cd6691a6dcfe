//! Two transfers in opposite directions lock two accounts, and wait for each other.
//!
//! `cargo run --example deadlock` finds the interleaving. Its output is at the end of this file: the waiting tasks, the
//! owners of the locks, and the places at which they acquired them.

#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::Arc;

use sim::Mutex;
use sim::task::Builder;

use shared::Example;
use shared::Version::{self, Buggy, Fixed};

mod shared;

/// The balances, each behind its own lock.
type Accounts = [Mutex<u64>; 2];

/// Moves money from one account to another.
async fn transfer(accounts: &Accounts, from: usize, to: usize, amount: u64, version: Version) {
    let (mut source, mut target);
    match version {
        // Locks the source first. Another transfer may hold the other lock and wait for this one.
        Buggy => {
            source = accounts[from].lock().await;
            target = accounts[to].lock().await;
        }
        // Locks the account with the lower number first, in both directions.
        Fixed if from < to => {
            source = accounts[from].lock().await;
            target = accounts[to].lock().await;
        }
        Fixed => {
            target = accounts[to].lock().await;
            source = accounts[from].lock().await;
        }
    }
    *source -= amount;
    *target += amount;
}

/// Runs two transfers at the same time.
async fn program(version: Version) {
    let accounts = Arc::new([Mutex::new(10), Mutex::new(20)]);

    let tasks = [("there", 0, 1, 3), ("back", 1, 0, 5)].map(|(name, from, to, amount)| {
        let accounts = accounts.clone();
        let work = async move { transfer(&accounts, from, to, amount, version).await };
        Builder::new().name(name).spawn(work)
    });
    for task in tasks {
        task.await.unwrap();
    }
    let balances = (*accounts[0].lock().await, *accounts[1].lock().await);
    assert_eq!(balances, (12, 18));
}

fn main() -> ExitCode {
    let mut example = Example::new("deadlock: two transfers lock two accounts in opposite orders");
    example.check_what_may_hang("deadlock", program);
    example.end()
}

// ---- Output ----
//
// deadlock: two transfers lock two accounts in opposite orders
//
// FAILED  deadlock  seed 4: deadlock, 0.0 there and 0.1 back wait for each other
//
//   tested      5 runs of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      nothing could be removed from 5 steps, 1 preemption (98 replays)
//   why         lock order: 0.0 there takes mutex#0 (deadlock.rs:28), then mutex#1 (:29); 0.1 back
//               takes mutex#1 (:28), then mutex#0 (:29)
//               0.0 there  deadlock.rs:28 | source = accounts[from].lock().await;
//               0.1 back              :28 | source = accounts[from].lock().await;
//               0.0 there             :29 | target = accounts[to].lock().await;
//   remedy      as one step, deadlock.rs:28 to :29: all 2 interleavings pass (proved; it keeps 2 of
//               the 2 that pass now)
//   chances     11 % of all schedules fail, 88 % after step 3, all after step 4 (proved)
//
// ── deadlock ── 0.0 there → 0.1 back → 0.0 there ────────────────────────────────────────────────────
//
//   0.0 there  waits to lock mutex#1                                        examples/deadlock.rs:29:35
//              held by 0.1 back since step 4                                examples/deadlock.rs:28:37
//   0.1 back   waits to lock mutex#0                                        examples/deadlock.rs:29:35
//              held by 0.0 there since step 2                               examples/deadlock.rs:28:37
//   main       waits for 0.0 there to end                                   examples/deadlock.rs:52:35
//
// ── schedule ── 5 steps, 2 switches, 1 preemption ───────────────────────────────────────────────────
//
//   step  main             0.0 there       0.1 back                  P                           place
//      0  spawn 0.0 there, 0.1 back                                .11      examples/deadlock.rs:52:35
//      1  │                start
//      2  │                lock mutex#0                                     examples/deadlock.rs:28:37
//         │                ├─ preempted ───┐
//      3  │                │               start                   .88 ◂
//      4  │                │               lock mutex#1              1      examples/deadlock.rs:28:37
//   no way back: every schedule fails from here on (proved)
//         waits for 0.0 there to end       │                                examples/deadlock.rs:52:35
//                          waits to lock mutex#1                            examples/deadlock.rs:29:35
//                                          waits to lock mutex#0            examples/deadlock.rs:29:35
//
//   mutex#0  created at examples/deadlock.rs:47:30
//   mutex#1  created at examples/deadlock.rs:47:46
//
// trace:   target/sim/unpause/example-deadlock.deadlock/4.simtrace
// replay:  SIM_REPLAY=sim2:0,0.0x2,0.1x2 cargo run -p unpause --example deadlock
//
// the trace file, replayed, ends with the same failure
//
// passed  deadlock_fixed: 1000 runs, 11000 steps
