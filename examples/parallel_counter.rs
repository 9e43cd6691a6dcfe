//! A counter, tested from its model: a read followed by a write loses an update.
//!
//! No tasks are written by hand. The model specifies a counter and its commands, the closure executes a command on the
//! real counter, and the programs are generated. `cargo run --example parallel_counter` prints the output at the end of
//! this file.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use sim::check::Model;
use sim::{Atomic, Gen, Ordering::SeqCst, Program, Shape};

use shared::Example;
use shared::Version::{self, Buggy, Fixed};

mod shared;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Counter(u64);

#[derive(Clone, PartialEq, Debug)]
enum Op {
    Increment,
    Get,
}

impl Model for Counter {
    type Op = Op;
    type Ret = Option<u64>;

    fn step(&mut self, op: &Op) -> Option<u64> {
        match op {
            Op::Increment => {
                self.0 += 1;
                None
            }
            Op::Get => Some(self.0),
        }
    }

    fn ret_text(ret: &Option<u64>) -> String {
        ret.map_or_else(|| "ok".to_owned(), |value| value.to_string())
    }
}

impl Program for Counter {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        g.choose(&[Op::Increment, Op::Get])
    }
}

async fn program(version: Version) {
    let counter = Atomic::new(0);
    sim::parallel(Shape::chunks(), Counter::default(), async |op| match (op, version) {
        (Op::Increment, Buggy) => {
            let value = counter.load(SeqCst).await;
            counter.store(value + 1, SeqCst).await;
            None
        }
        (Op::Increment, Fixed) => {
            counter.fetch_add(1, SeqCst).await;
            None
        }
        (Op::Get, _) => Some(counter.load(SeqCst).await),
    })
    .await;
}

fn main() -> ExitCode {
    let mut example = Example::new("parallel_counter: a generated program loses an update");
    example.check("parallel_counter", program);
    example.end()
}

// ---- Output ----
//
// parallel_counter: a generated program loses an update
//
// FAILED  parallel_counter  seed 5: history is not linearizable (Counter)
//
//   checked at  examples/parallel_counter.rs:55:5
//   tested      6 runs of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      from 3 commands, 10 steps, 2 preemptions to 3 commands, 10 steps, 1 preemption (603
//               replays)
//   why         lost update: between `load` (parallel_counter.rs:57) and `store` (:58) of 0.1 came
//               `store atomic := 1` (:58) of 0.0
//               0.1  parallel_counter.rs:57 | let value = counter.load(SeqCst).await;
//               0.0                     :58 | counter.store(value + 1, SeqCst).await;
//               0.1                     :58 | counter.store(value + 1, SeqCst).await;
//   remedy      as one step, parallel_counter.rs:57 to :58: all 4 interleavings pass (proved; it keeps
//               4 of the 4 that pass now)
//   chances     11 % of all schedules fail, 88 % after step 3, all after step 4 (proved)
//
// ── program ── Counter, 3 commands ──────────────────────────────────────────────────────────────────
//
//   first   Increment
//     ∥     Increment
//   then    Get
//
// ── history ── Counter, 3 operations, 3 clients ─────────────────────────────────────────────────────
//
//   0.1   ├─ Increment → ok ─────┤
//   0.0      ├ Increment → ok ┤
//   main                            ├ Get → 1 ┤
//                                   ^^^^^^^^^^^ fits nowhere
//
//   `Get → 1` by main fits nowhere: after `Increment → ok` by 0.0 and `Increment → ok` by 0.1 it
//   should have returned `2`. The state is then `Counter(2)`.
//
// ── schedule ── 10 steps, 4 switches, 1 preemption ──────────────────────────────────────────────────
//
//   step  main             0.0                0.1                   P                            place
//      0  spawn 0.0, 0.1                                          .11       …/parallel_counter.rs:55:5
//      1  │                                   start
//      2  │                                   load atomic = 0              …/parallel_counter.rs:57:33
//         │                ┌─ preempted ──────┤
//      3  │                start              │                   .88 ◂
//      4  │                load atomic = 0    │                     1      …/parallel_counter.rs:57:33
//   no way back: every schedule fails from here on (proved)
//      5  │                store atomic := 1  │                            …/parallel_counter.rs:58:21
//      6  │                                   store atomic := 1            …/parallel_counter.rs:58:21
//      7  join 0.0                                                          …/parallel_counter.rs:55:5
//      8  join 0.1                                                          …/parallel_counter.rs:55:5
//      9  load atomic = 1                                                  …/parallel_counter.rs:65:38
//
//   atomic  created at examples/parallel_counter.rs:54:19
//
// trace:   target/sim/unpause/example-parallel_counter.parallel_counter/5.simtrace
// source:  target/sim/unpause/example-parallel_counter.parallel_counter/5.rs
// replay:  SIM_REPLAY=sim2:0=0/102=0/1=0/1=0/1=0/1=0/10000=0/10000=0/10000=0/2=0/2=1/2,0.1x2,0.0x3,0.1,0x3 cargo run -p unpause --example parallel_counter
//
// the trace file, replayed, ends with the same failure
//
// passed  parallel_counter_fixed: 1000 runs, 30607 steps
