//! A bounded queue with room for one item: a task waits while the queue is full, or empty.
//!
//! The model declares the commands that wait. So no program is generated in which all commands might wait for ever. If
//! a program still does so, the queue has a deadlock. A task that cannot continue registers as a waiter, and then
//! waits. In the buggy version, a change in between does not notify this task. `cargo run --example parallel_queue`
//! prints the output at the end of this file.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::process::ExitCode;

use futures::channel::oneshot;
use sim::check::Model;
use sim::{Gen, Mutex, Program, Shape};

use shared::Example;
use shared::Version::{self, Buggy};

mod shared;

const ROOM: usize = 1;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct BoundedQueue(VecDeque<u32>);

#[derive(Clone, PartialEq, Debug)]
enum Op {
    Push(u32),
    Pop,
}

#[derive(Clone, PartialEq, Debug)]
enum Ret {
    Pushed,
    Item(u32),
    /// The result that no call ever returns.
    Waits,
}

impl Model for BoundedQueue {
    type Op = Op;
    type Ret = Ret;

    fn step(&mut self, op: &Op) -> Ret {
        match op {
            Op::Push(_) if self.0.len() == ROOM => Ret::Waits,
            Op::Push(item) => {
                self.0.push_back(*item);
                Ret::Pushed
            }
            Op::Pop => self.0.pop_front().map_or(Ret::Waits, Ret::Item),
        }
    }
}

impl Program for BoundedQueue {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        if g.bool() { Op::Push(g.id().0) } else { Op::Pop }
    }

    fn waits(&self, op: &Op) -> bool {
        match op {
            Op::Push(_) => self.0.len() == ROOM,
            Op::Pop => self.0.is_empty(),
        }
    }
}

#[derive(Default)]
struct Queue {
    items: Mutex<VecDeque<u32>>,
    /// The tasks that wait for a change of the queue.
    waiting: Mutex<Vec<oneshot::Sender<()>>>,
}

impl Queue {
    /// Performs `act` as soon as it is possible.
    async fn when_possible<T>(
        &self,
        version: Version,
        mut act: impl FnMut(&mut VecDeque<u32>) -> Option<T>,
    ) -> T {
        loop {
            let mut items = self.items.lock().await;
            if let Some(done) = act(&mut items) {
                let waiting = std::mem::take(&mut *self.waiting.lock().await);
                drop(items);
                for waiter in waiting {
                    let _ = waiter.send(());
                }
                return done;
            }
            if version == Buggy {
                // A change from here on does not notify this task.
                drop(items);
                self.wait().await.await.ok();
            } else {
                let changed = self.wait().await;
                drop(items);
                changed.await.ok();
            }
        }
    }

    async fn wait(&self) -> oneshot::Receiver<()> {
        let (tell, changed) = oneshot::channel();
        self.waiting.lock().await.push(tell);
        changed
    }
}

async fn program(version: Version) {
    let queue = Queue::default();
    let shape = Shape::chunks().max_chunk_size(4);
    sim::parallel(shape, BoundedQueue::default(), async |op| match op {
        Op::Push(item) => {
            let push =
                |items: &mut VecDeque<u32>| (items.len() < ROOM).then(|| items.push_back(item));
            queue.when_possible(version, push).await;
            Ret::Pushed
        }
        Op::Pop => Ret::Item(queue.when_possible(version, VecDeque::pop_front).await),
    })
    .await;
}

fn main() -> ExitCode {
    let mut example = Example::new("parallel_queue: a task waits for what has happened already");
    example.check_what_may_hang("parallel_queue", program);
    example.end()
}

// ---- Output ----
//
// parallel_queue: a task waits for what has happened already
//
// FAILED  parallel_queue  seed 3: deadlock, every remaining task is blocked
//
//   tested      4 runs of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      from 3 commands, 8 steps, 1 preemption to 2 commands, 8 steps, 1 preemption (545
//               replays)
//   why         between `lock` (parallel_queue.rs:85) and `lock` (:108) of 0.1 came `lock mutex#0`
//               (:85) and `lock mutex#1` (:87) of 0.0
//               0.1  parallel_queue.rs:85 | let mut items = self.items.lock().await;
//               0.0                   :85 | let mut items = self.items.lock().await;
//               0.0                   :87 | let waiting = std::mem::take(&mut *self.waiting.lock().aw…
//               0.1                  :108 | self.waiting.lock().await.push(tell);
//   remedy      as one step, parallel_queue.rs:85 to :108: all 25 interleavings pass (proved)
//   chances     ~6 % of all schedules fail, ~78 % after step 3 (sampled), all after step 5 (proved)
//
// ── program ── BoundedQueue, 2 commands of 3 ────────────────────────────────────────────────────────
//
//   first   Push(0)
//     ∥     Pop
//
// ── deadlock ────────────────────────────────────────────────────────────────────────────────────────
//
//   main  waits for 0.1 to end                                        examples/parallel_queue.rs:116:5
//   0.1   waits for a future outside sim, last access at             examples/parallel_queue.rs:108:22
//
//   No task is left that could wake them. Other runs of this program pass: here the waker of 0.1 may
//   have been called too early, or not at all.
//
// ── schedule ── 8 steps, 4 switches, 1 preemption ───────────────────────────────────────────────────
//
//   step  main         0.0          0.1                        P                                 place
//      0  spawn 0.0, 0.1                                    ~.06      examples/parallel_queue.rs:116:5
//      1  │                         start
//      2  │                         lock mutex#0                      examples/parallel_queue.rs:85:40
//         │                         unlock mutex#0                    examples/parallel_queue.rs:85:40
//         │            ┌────────────┤
//      3  │            start        │                       ~.79 ◂
//      4  │            lock mutex#0 │                                 examples/parallel_queue.rs:85:40
//      5  │            lock mutex#1 │                          1      examples/parallel_queue.rs:87:65
//         │            unlock mutex#1                                 examples/parallel_queue.rs:87:65
//         │            unlock mutex#0                                 examples/parallel_queue.rs:85:40
//   no way back: every schedule fails from here on (proved)
//      6  │                         lock mutex#1                            …/parallel_queue.rs:108:22
//         │                         unlock mutex#1                          …/parallel_queue.rs:108:22
//      7  join 0.0                  │                                 examples/parallel_queue.rs:116:5
//         waits for 0.1 to end      │                                 examples/parallel_queue.rs:116:5
//                                   waits for a future                      …/parallel_queue.rs:108:22
//                                     outside sim, last
//                                     access at
//
//   mutex#0  created at examples/parallel_queue.rs:70:10, used first in line 85
//   mutex#1  created at examples/parallel_queue.rs:70:10, used first in line 87
//
// trace:   target/sim/unpause/example-parallel_queue.parallel_queue/3.simtrace
// source:  target/sim/unpause/example-parallel_queue.parallel_queue/3.rs
// replay:  SIM_REPLAY=sim2:0=0/102=0/1=0/1=0/1=0/1=0/10000=0/10000=1/10000=0/2=0/2=0/2=0/2=1/2=0/2=0/2=0/2=0/2=0/2=0/2=0/2=0/2=0/2,0.1x2,0.0x3,0.1,0 cargo run -p unpause --example parallel_queue
//
// the trace file, replayed, ends with the same failure
//
// passed  parallel_queue_fixed: 1000 runs, 44184 steps
