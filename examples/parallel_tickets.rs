//! A ticket dispenser: two clients take the same number.
//!
//! The state of the dispenser need not be checked at the end: the results of the commands alone cannot be explained.
//! `cargo run --example parallel_tickets` prints the output at the end of this file.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use sim::check::Model;
use sim::{Cell, Gen, Mutex, Program, Shape};

use shared::Example;
use shared::Version::{self, Fixed};

mod shared;

/// The number on the next ticket.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Dispenser(u32);

#[derive(Clone, PartialEq, Debug)]
enum Op {
    Take,
    Reset,
}

impl Model for Dispenser {
    type Op = Op;
    type Ret = Option<u32>;

    fn step(&mut self, op: &Op) -> Option<u32> {
        match op {
            Op::Take => {
                self.0 += 1;
                Some(self.0)
            }
            Op::Reset => {
                self.0 = 0;
                None
            }
        }
    }

    fn ret_text(ret: &Option<u32>) -> String {
        ret.map_or_else(|| "ok".to_owned(), |number| format!("ticket {number}"))
    }
}

impl Program for Dispenser {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        g.weighted(&[(4, Op::Take), (1, Op::Reset)])
    }
}

async fn program(version: Version) {
    let (last, lock) = (Cell::new(0), Mutex::new(()));
    sim::parallel(Shape::chunks(), Dispenser::default(), async |op| {
        let _held = if version == Fixed { Some(lock.lock().await) } else { None };
        match op {
            Op::Take => {
                let number = last.get().await + 1;
                last.set(number).await;
                Some(number)
            }
            Op::Reset => {
                last.set(0).await;
                None
            }
        }
    })
    .await;
}

fn main() -> ExitCode {
    let mut example = Example::new("parallel_tickets: two clients take the same number");
    example.check("parallel_tickets", program);
    example.end()
}

// ---- Output ----
//
// parallel_tickets: two clients take the same number
//
// FAILED  parallel_tickets  seed 2: history is not linearizable (Dispenser)
//
//   checked at  examples/parallel_tickets.rs:58:5
//   tested      3 runs of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      from 3 commands, 11 steps, 2 preemptions to 2 commands, 9 steps, 1 preemption (555
//               replays)
//   why         lost update: between `get` (parallel_tickets.rs:62) and `set` (:63) of 0.0 came
//               `set cell := 1` (:63) of 0.1
//               0.0  parallel_tickets.rs:62 | let number = last.get().await + 1;
//               0.1                     :63 | last.set(number).await;
//               0.0                     :63 | last.set(number).await;
//   remedy      as one step, parallel_tickets.rs:62 to :63: all 4 interleavings pass (proved; it keeps
//               4 of the 4 that pass now)
//   chances     11 % of all schedules fail, 88 % after step 3, all after step 4 (proved)
//
// ── program ── Dispenser, 2 commands of 3 ───────────────────────────────────────────────────────────
//
//   first   Take
//     ∥     Take
//
// ── history ── Dispenser, 2 operations, 2 clients ───────────────────────────────────────────────────
//
//   0.0  ├─ Take → ticket 1 ─────┤
//        ^^^^^^^^^^^^^^^^^^^^^^^^^ fits nowhere
//   0.1     ├ Take → ticket 1 ┤
//
//   `Take → ticket 1` by 0.0 fits nowhere: after `Take → ticket 1` by 0.1 it should have returned
//   `ticket 2`. The state is then `Dispenser(1)`.
//
// ── schedule ── 9 steps, 4 switches, 1 preemption ───────────────────────────────────────────────────
//
//   step  main            0.0            0.1                        P                            place
//      0  spawn 0.0, 0.1                                          .11       …/parallel_tickets.rs:58:5
//      1  │               start
//      2  │               get cell = 0                                     …/parallel_tickets.rs:62:35
//         │               ├─ preempted ──┐
//      3  │               │              start                    .88 ◂
//      4  │               │              get cell = 0               1      …/parallel_tickets.rs:62:35
//   no way back: every schedule fails from here on (proved)
//      5  │               │              set cell := 1                     …/parallel_tickets.rs:63:22
//      6  │               set cell := 1                                    …/parallel_tickets.rs:63:22
//      7  join 0.0                                                          …/parallel_tickets.rs:58:5
//      8  join 0.1                                                          …/parallel_tickets.rs:58:5
//
//   cell  created at examples/parallel_tickets.rs:57:25
//
// trace:   target/sim/unpause/example-parallel_tickets.parallel_tickets/2.simtrace
// source:  target/sim/unpause/example-parallel_tickets.parallel_tickets/2.rs
// replay:  SIM_REPLAY=sim2:0=0/102=0/1=0/1=0/1=0/1=0/10000=0/10000=1/10000=0/5=0/5=0/5,0.0x2,0.1x3,0.0,0x2 cargo run -p unpause --example parallel_tickets
//
// the trace file, replayed, ends with the same failure
//
// passed  parallel_tickets_fixed: 1000 runs, 52155 steps
