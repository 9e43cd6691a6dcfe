//! Two tasks increment a counter; one increment is lost.
//!
//! `cargo run --example lost_update` finds the interleaving twice. First, a plain assertion checks the final value.
//! Then a history of all calls and results is checked against the model of a counter. The output is at the end of this
//! file.

#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::check::models::{Counter, CounterOp, CounterRet};
use sim::{Atomic, History};

use shared::Example;
use shared::Version::{self, Buggy, Fixed};

mod shared;

/// Adds one to the counter.
async fn increment(counter: &Atomic<i64>, version: Version) {
    match version {
        Buggy => {
            let value = counter.load(SeqCst).await;
            // Another task may store here, unnoticed by this task.
            counter.store(value + 1, SeqCst).await;
        }
        Fixed => {
            counter.fetch_add(1, SeqCst).await;
        }
    }
}

/// The criterion by which a run is judged.
#[derive(Clone, Copy)]
enum Judge {
    Assertion,
    Model,
}

/// Runs two increments at the same time, then a get.
async fn program(version: Version, judge: Judge) {
    let counter = Arc::new(Atomic::new(0));
    let history = History::new(Counter::default());

    let tasks = [(); 2].map(|()| {
        let (counter, history) = (counter.clone(), history.clone());
        sim::spawn(async move {
            let work = async {
                increment(&counter, version).await;
                CounterRet::Done
            };
            history.call(CounterOp::Increment, work).await;
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    let get = async { CounterRet::Value(counter.load(SeqCst).await) };
    let value = history.call(CounterOp::Get, get).await;

    if let Judge::Assertion = judge {
        assert_eq!(value, CounterRet::Value(2));
    }
    history.assert_linearizable();
}

fn main() -> ExitCode {
    let mut example = Example::new("lost_update: two tasks increment a counter, one loses");
    example.check("lost_update", async |version| program(version, Judge::Assertion).await);
    example.check("lost_update_model", async |version| program(version, Judge::Model).await);
    example.end()
}

// ---- Output ----
//
// lost_update: two tasks increment a counter, one loses
//
// FAILED  lost_update  seed 1: main panicked
//
//   assertion `left == right` failed
//     left: Value(1)
//    right: Value(2)
//
//   at          examples/lost_update.rs:64:9
//   tested      2 runs of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      from 10 steps, 4 preemptions to 10 steps, 1 preemption (528 replays)
//   why         lost update: between `load` (lost_update.rs:25) and `store` (:27) of 0.0 came
//               `store atomic := 1` (:27) of 0.1
//               0.0  lost_update.rs:25 | let value = counter.load(SeqCst).await;
//               0.1                :27 | counter.store(value + 1, SeqCst).await;
//               0.0                :27 | counter.store(value + 1, SeqCst).await;
//   remedy      as one step, lost_update.rs:25 to :27: all 2 interleavings pass (proved; it keeps 2 of
//               the 2 that pass now)
//   chances     11 % of all schedules fail, 88 % after step 3, all after step 4 (proved)
//
// ── schedule ── 10 steps, 4 switches, 1 preemption ──────────────────────────────────────────────────
//
//   step  main             0.0              0.1                   P                              place
//      0  spawn 0.0, 0.1                                        .11       examples/lost_update.rs:49:9
//      1  │                start
//      2  │                load atomic = 0                               examples/lost_update.rs:25:33
//         │                ├─ preempted ────┐
//      3  │                │                start               .88 ◂
//      4  │                │                load atomic = 0       1      examples/lost_update.rs:25:33
//   no way back: every schedule fails from here on (proved)
//      5  │                │                store atomic := 1            examples/lost_update.rs:27:21
//      6  │                store atomic := 1                             examples/lost_update.rs:27:21
//      7  join 0.0                                                        examples/lost_update.rs:49:9
//      8  join 0.1                                                        examples/lost_update.rs:49:9
//      9  load atomic = 1                                                examples/lost_update.rs:60:49
//         panics                                                          examples/lost_update.rs:64:9
//
//   atomic  created at examples/lost_update.rs:44:28
//
// trace:   target/sim/unpause/example-lost_update.lost_update/1.simtrace
// replay:  SIM_REPLAY=sim2:0,0.0x2,0.1x3,0.0,0x3 cargo run -p unpause --example lost_update
//
// the trace file, replayed, ends with the same failure
//
// passed  lost_update_fixed: 1000 runs, 8000 steps
//
// FAILED  lost_update_model  seed 1: history is not linearizable (counter)
//
//   checked at  examples/lost_update.rs:66:13
//   tested      2 runs of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      from 10 steps, 4 preemptions to 10 steps, 1 preemption (528 replays)
//   why         lost update: between `load` (lost_update.rs:25) and `store` (:27) of 0.0 came
//               `store atomic := 1` (:27) of 0.1
//               0.0  lost_update.rs:25 | let value = counter.load(SeqCst).await;
//               0.1                :27 | counter.store(value + 1, SeqCst).await;
//               0.0                :27 | counter.store(value + 1, SeqCst).await;
//   remedy      as one step, lost_update.rs:25 to :27: all 2 interleavings pass (proved; it keeps 2 of
//               the 2 that pass now)
//   chances     11 % of all schedules fail, 88 % after step 3, all after step 4 (proved)
//
// ── history ── counter, 3 operations, 3 clients ─────────────────────────────────────────────────────
//
//   0.0   ├─ Increment → ok ─────┤
//   0.1      ├ Increment → ok ┤
//   main                            ├ Get → 1 ┤
//                                   ^^^^^^^^^^^ fits nowhere
//
//   `Get → 1` by main fits nowhere: after `Increment → ok` by 0.1 and `Increment → ok` by 0.0 it
//   should have returned `2`.
//
// ── schedule ── 10 steps, 4 switches, 1 preemption ──────────────────────────────────────────────────
//
//   step  main             0.0              0.1                   P                              place
//      0  spawn 0.0, 0.1                                        .11       examples/lost_update.rs:49:9
//      1  │                start
//      2  │                load atomic = 0                               examples/lost_update.rs:25:33
//         │                ├─ preempted ────┐
//      3  │                │                start               .88 ◂
//      4  │                │                load atomic = 0       1      examples/lost_update.rs:25:33
//   no way back: every schedule fails from here on (proved)
//      5  │                │                store atomic := 1            examples/lost_update.rs:27:21
//      6  │                store atomic := 1                             examples/lost_update.rs:27:21
//      7  join 0.0                                                        examples/lost_update.rs:49:9
//      8  join 0.1                                                        examples/lost_update.rs:49:9
//      9  load atomic = 1                                                examples/lost_update.rs:60:49
//
//   atomic  created at examples/lost_update.rs:44:28
//
// trace:   target/sim/unpause/example-lost_update.lost_update_model/1.simtrace
// history: target/sim/unpause/example-lost_update.lost_update_model/1.jsonl
// replay:  SIM_REPLAY=sim2:0,0.0x2,0.1x3,0.0,0x3 cargo run -p unpause --example lost_update
//
// the trace file, replayed, ends with the same failure
//
// passed  lost_update_model_fixed: 1000 runs, 8000 steps
