//! A counter behind a link that loses messages: the client resends, and the server counts twice.
//!
//! A client cannot know whether its request or the answer was lost, so it resends the same request. The
//! server must recognize the request by its id. The link also delivers some requests twice (`stutter`), and
//! some clients crash before they get an answer (`crash`). The check allows that the request of a crashed
//! client took effect or not. `cargo run --example parallel_link` prints the output at the end of this
//! file.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::process::ExitCode;

use sim::check::Model;
use sim::{CommandId, Gen, Mutex, Program, Shape};

use shared::Example;
use shared::Version::{self, Fixed};

mod shared;

/// The maximum number of lost messages of one request.
const LOSSES_MAX: u32 = 2;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Counter(u64);

#[derive(Clone, PartialEq, Debug)]
enum Op {
    /// Adds one. The command id identifies the request.
    Add(CommandId),
    Get,
}

impl Model for Counter {
    type Op = Op;
    type Ret = Option<u64>;

    fn step(&mut self, op: &Op) -> Option<u64> {
        match op {
            Op::Add(_) => {
                self.0 += 1;
                None
            }
            Op::Get => Some(self.0),
        }
    }

    fn op_text(op: &Op) -> String {
        match op {
            Op::Add(id) => format!("Add #{}", id.0),
            Op::Get => "Get".to_owned(),
        }
    }

    fn ret_text(ret: &Option<u64>) -> String {
        ret.map_or_else(|| "ok".to_owned(), |value| value.to_string())
    }
}

impl Program for Counter {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        if g.bool() { Op::Get } else { Op::Add(g.id()) }
    }
}

#[derive(Default)]
struct Server {
    counter: Mutex<(u64, BTreeSet<CommandId>)>,
}

impl Server {
    async fn handle(&self, op: &Op, version: Version) -> Option<u64> {
        let mut counter = self.counter.lock().await;
        match op {
            Op::Add(id) => {
                let new = counter.1.insert(*id);
                if new || version != Fixed {
                    counter.0 += 1;
                }
                None
            }
            Op::Get => Some(counter.0),
        }
    }
}

/// Sends a request until its answer arrives.
async fn ask(server: &Server, op: Op, version: Version) -> Option<u64> {
    let mut losses = 0;
    let mut is_lost = || {
        let lost = losses < LOSSES_MAX && sim::rand::below(4) == 3;
        losses += u32::from(lost);
        lost
    };
    loop {
        if is_lost() {
            continue;
        }
        let answer = server.handle(&op, version).await;
        if !is_lost() {
            return answer;
        }
    }
}

async fn program(version: Version) {
    let server = Server::default();
    let shape = Shape::branches().min_prefix_length(0).max_branch_length(3).stutter(0.2).crash(0.1);
    sim::parallel(shape, Counter::default(), async |op| ask(&server, op, version).await).await;
}

fn main() -> ExitCode {
    let mut example = Example::new("parallel_link: a request that is sent twice counts twice");
    example.check("parallel_link", program);
    example.end()
}

// ---- Output ----
//
// parallel_link: a request that is sent twice counts twice
//
// FAILED  parallel_link  seed 2: history is not linearizable (Counter)
//
//   checked at  examples/parallel_link.rs:110:5
//   tested      3 runs of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      from 7 commands, 17 steps, 1 preemption, 3 tasks, 27 draws to 2 commands, 4 steps, 0
//               preemptions, 1 task, 6 draws (1259 replays)
//   why         it fails in every run with the values drawn here (proved: there is one interleaving)
//
// ── program ── Counter, 2 commands of 7 ─────────────────────────────────────────────────────────────
//
//   first   Add #4, sent again; Get
//
// ── history ── Counter, 2 operations, 1 client ──────────────────────────────────────────────────────
//
//   main  ├ Add #4 → ok ┤  ├ Get → 2 ┤
//                          ^^^^^^^^^^^ fits nowhere
//
//   `Get → 2` by main fits nowhere: after `Add #4 → ok` by main it should have returned `1`. The state
//   is then `Counter(1)`.
//
// ── schedule ── 4 steps, 0 switches, 0 preemptions, 6 values drawn ──────────────────────────────────
//
//   step  main                                                                                   place
//      0  draw 0 below 4
//      1  lock mutex                                                   examples/parallel_link.rs:74:40
//         unlock mutex                                                 examples/parallel_link.rs:74:40
//         draw 0 below 4
//         draw 0 below 4
//      2  lock mutex                                                   examples/parallel_link.rs:74:40
//         unlock mutex                                                 examples/parallel_link.rs:74:40
//         draw 0 below 4
//         draw 0 below 4
//      3  lock mutex                                                   examples/parallel_link.rs:74:40
//         unlock mutex                                                 examples/parallel_link.rs:74:40
//         draw 0 below 4
//
//   mutex  created at examples/parallel_link.rs:67:10
//
// trace:   target/sim/unpause/example-parallel_link.parallel_link/2.simtrace
// source:  target/sim/unpause/example-parallel_link.parallel_link/2.rs
// replay:  SIM_REPLAY=sim2:0=20/102=200/1000=200/1000=200/1000=200/1000=0/1=0/1=0/1=0/1=1/10000=1/10000=1/10000=1/10000=3/10000=1/10000=0/10000=0/1000=0/1000=0/2=0/1000=900/1000=0/8=0/2=0/1000=0/1000=0/2=0/1000=0/1000=0/2=800/1000=0/1000=0/2=0/1000=0/1000=0/2=0/1000=0/1000=1/2=0/4,0=0/4=0/4,0=0/4=0/4,0=0/4 cargo run -p unpause --example parallel_link
//
// the trace file, replayed, ends with the same failure
//
// passed  parallel_link_fixed: 1000 runs, 24458 steps
