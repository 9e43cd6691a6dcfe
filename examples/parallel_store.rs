//! A key-value store with versions, whose replacement checks first and writes later.
//!
//! `Replace` names the version that an earlier `Put` or `Get` returned. `Replace` holds the id of the earlier
//! command, and gets the version when it runs. `cargo run --example parallel_store` prints the output at the end of
//! this file.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use sim::check::Model;
use sim::generate::Results;
use sim::{CommandId, Gen, Mutex, Program, Shape};

use shared::Example;
use shared::Version::{self as Which, Buggy};

mod shared;

/// A version and a value for each of two keys.
type Entries = [(u64, u64); 2];

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Store(Entries);

#[derive(Clone, PartialEq, Debug)]
enum Op {
    Put(usize, u64),
    Get(usize),
    /// Writes the value if this is still the current version.
    Replace(usize, Version, u64),
}

#[derive(Clone, PartialEq, Debug)]
enum Version {
    /// The version that this command returned.
    Of(CommandId),
    Known(u64),
}

#[derive(Clone, PartialEq, Debug)]
enum Ret {
    Version(u64),
    Entry(u64, u64),
    Stale,
}

impl Model for Store {
    type Op = Op;
    type Ret = Ret;

    fn step(&mut self, op: &Op) -> Ret {
        match op {
            Op::Get(key) => Ret::Entry(self.0[*key].0, self.0[*key].1),
            Op::Put(key, value) => {
                self.0[*key] = (self.0[*key].0 + 1, *value);
                Ret::Version(self.0[*key].0)
            }
            Op::Replace(key, Version::Known(version), value) if self.0[*key].0 == *version => {
                self.step(&Op::Put(*key, *value))
            }
            Op::Replace(..) => Ret::Stale,
        }
    }
}

impl Program for Store {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        let key = g.below(2) as usize;
        match g.below(3) {
            0 => Op::Get(key),
            1 => Op::Put(key, g.range(1..4)),
            _ => {
                let tells = |op: &Op| matches!(op, Op::Get(k) | Op::Put(k, _) if *k == key);
                match g.choose_earlier(|earlier| tells(earlier.op)) {
                    Some(earlier) => Op::Replace(key, Version::Of(earlier), g.range(1..4)),
                    None => Op::Get(key),
                }
            }
        }
    }

    fn resolve(op: &Op, results: &Results<'_, Self>) -> Option<Op> {
        let Op::Replace(key, Version::Of(earlier), value) = op else { return Some(op.clone()) };
        let (Ret::Version(version) | Ret::Entry(version, _)) = results.get(*earlier)? else {
            return None;
        };
        Some(Op::Replace(*key, Version::Known(*version), *value))
    }
}

async fn replace(store: &Mutex<Entries>, which: Which, key: usize, seen: u64, value: u64) -> Ret {
    let mut entries = store.lock().await;
    if entries[key].0 != seen {
        return Ret::Stale;
    }
    if which == Buggy {
        // Another command may replace the entry here.
        drop(entries);
        entries = store.lock().await;
    }
    entries[key] = (entries[key].0 + 1, value);
    Ret::Version(entries[key].0)
}

async fn program(which: Which) {
    let store = Mutex::new(Entries::default());
    let shape = Shape::branches().min_prefix_length(1).max_branch_length(3);
    sim::parallel(shape, Store::default(), async |op| match op {
        Op::Get(key) => {
            let entries = store.lock().await;
            Ret::Entry(entries[key].0, entries[key].1)
        }
        Op::Put(key, value) => {
            let mut entries = store.lock().await;
            entries[key] = (entries[key].0 + 1, value);
            Ret::Version(entries[key].0)
        }
        Op::Replace(key, Version::Known(seen), value) => {
            replace(&store, which, key, seen, value).await
        }
        Op::Replace(_, Version::Of(_), _) => unreachable!("a command is resolved before it is run"),
    })
    .await;
}

fn main() -> ExitCode {
    let mut example = Example::new("parallel_store: two replacements of one version succeed");
    example.check("parallel_store", program);
    example.end()
}

// ---- Output ----
//
// parallel_store: two replacements of one version succeed
//
// FAILED  parallel_store  seed 23: history is not linearizable (Store)
//
//   checked at  examples/parallel_store.rs:109:5
//   tested      24 runs of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      from 8 commands, 17 steps, 4 preemptions to 3 commands, 9 steps, 1 preemption (716
//               replays)
//   why         between `lock` (parallel_store.rs:93) and `lock` (:100) of 0.0 came `lock mutex`
//               (:115) of 0.1
//               0.0  parallel_store.rs:93 | let mut entries = store.lock().await;
//               0.1                  :115 | let mut entries = store.lock().await;
//               0.0                  :100 | entries = store.lock().await;
//   remedy      as one step, parallel_store.rs:93 to :100: all 4 interleavings pass (proved; it keeps
//               4 of the 4 that pass now)
//   chances     6 % of all schedules fail, 88 % after step 4, all after step 5 (proved)
//
// ── program ── Store, 3 commands of 8 ───────────────────────────────────────────────────────────────
//
//   first   Put(1, 1)
//   then    Replace(1, Of(#1), 1)
//     ∥     Put(1, 1)
//
// ── history ── Store, 3 operations, 3 clients ───────────────────────────────────────────────────────
//
//   main  ├ Put(1, 1) → Version(1) ┤
//   0.0                               ├ Replace(1, Known(1), 1) → Version(3) ┤
//                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ fits nowhere
//   0.1                                  ├ Put(1, 1) → Version(2) ┤
//
//   `Replace(1, Known(1), 1) → Version(3)` by 0.0 fits nowhere: after `Put(1, 1) → Version(1)` by main
//   and `Put(1, 1) → Version(2)` by 0.1 it should have returned `Stale`. The state is then
//   `Store([(0, 0), (2, 1)])`.
//
// ── schedule ── 9 steps, 4 switches, 1 preemption ───────────────────────────────────────────────────
//
//   step  main            0.0           0.1                    P                                 place
//      0  start                                              .06
//      1  lock mutex                                                        …/parallel_store.rs:115:37
//         unlock mutex                                                      …/parallel_store.rs:115:37
//         spawn 0.0, 0.1                                              examples/parallel_store.rs:109:5
//      2  │               start
//      3  │               lock mutex                         .11      examples/parallel_store.rs:93:29
//         │               unlock mutex                                examples/parallel_store.rs:93:29
//         │               ├─ preempted ─┐
//      4  │               │             start                .88 ◂
//      5  │               │             lock mutex             1            …/parallel_store.rs:115:37
//         │               │             unlock mutex                        …/parallel_store.rs:115:37
//   no way back: every schedule fails from here on (proved)
//      6  │               lock mutex                                        …/parallel_store.rs:100:25
//         │               unlock mutex                                      …/parallel_store.rs:100:25
//      7  join 0.0                                                    examples/parallel_store.rs:109:5
//      8  join 0.1                                                    examples/parallel_store.rs:109:5
//
//   mutex  created at examples/parallel_store.rs:107:17
//
// trace:   target/sim/unpause/example-parallel_store.parallel_store/23.simtrace
// source:  target/sim/unpause/example-parallel_store.parallel_store/23.rs
// replay:  SIM_REPLAY=sim2:0=50/102=200/1000=0/1000=0/1=1/2=1/2=1/2=1/10000=0/10000=0/10000=1/10000=1/10000=0/10000=1/10000=1/10000=0/2=0/3=0/2=2/3=1/2=1/3=0/3=1/2=2/3=0/1=0/3=0/2=1/3=0/3=0/2=2/3=0/1=0/3=1/2=1/3=0/3=0/2=0/3=0/2=0/3,0,0.0x2,0.1x2,0.0,0x2 cargo run -p unpause --example parallel_store
//
// the trace file, replayed, ends with the same failure
//
// passed  parallel_store_fixed: 1000 runs, 20189 steps
