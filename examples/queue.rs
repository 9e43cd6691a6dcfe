//! A queue that keeps its length outside of its lock, so a dequeue of an empty queue need not wait.
//!
//! The length lags behind, so a task may find the queue empty although an item that it enqueued itself is still in the
//! queue. An assertion about the final state would not detect this, because everything is dequeued in the end. The
//! history does. `cargo run --example queue` prints the output at the end of this file.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::check::models::{Queue, QueueOp, QueueRet};
use sim::{Atomic, History, Mutex};

use shared::Example;
use shared::Version::{self, Buggy, Fixed};

mod shared;

struct QuickQueue {
    items: Mutex<VecDeque<u64>>,
    len: Atomic<i64>,
    version: Version,
}

impl QuickQueue {
    fn new(version: Version) -> QuickQueue {
        QuickQueue { items: Mutex::new(VecDeque::new()), len: Atomic::new(0), version }
    }

    async fn enqueue(&self, item: u64) {
        let mut items = self.items.lock().await;
        items.push_back(item);
        match self.version {
            // The lock is released too early: another task can dequeue the item before this task counts it.
            Buggy => {
                drop(items);
                self.len.fetch_add(1, SeqCst).await;
            }
            Fixed => {
                self.len.fetch_add(1, SeqCst).await;
                drop(items);
            }
        }
    }

    async fn dequeue(&self) -> Option<u64> {
        // The fast path: if the queue is empty, there is no need to wait for the lock.
        if self.len.load(SeqCst).await == 0 {
            return None;
        }
        let mut items = self.items.lock().await;
        let item = items.pop_front()?;
        self.len.fetch_sub(1, SeqCst).await;
        Some(item)
    }
}

/// One client of the queue. It records its calls and their results.
#[derive(Clone)]
struct Client {
    queue: Arc<QuickQueue>,
    history: History<Queue>,
}

impl Client {
    async fn enqueue(&self, item: u64) {
        let work = async {
            self.queue.enqueue(item).await;
            QueueRet::Done
        };
        self.history.call(QueueOp::Enqueue(item), work).await;
    }

    async fn dequeue(&self) {
        let work = async { QueueRet::Item(self.queue.dequeue().await) };
        self.history.call(QueueOp::Dequeue, work).await;
    }
}

/// Runs two clients: one enqueues; the other enqueues, then dequeues twice.
async fn program(version: Version) {
    let queue = Arc::new(QuickQueue::new(version));
    let client = Client { queue, history: History::new(Queue::new()) };

    let (one, other) = (client.clone(), client.clone());
    let one = sim::spawn(async move { one.enqueue(1).await });
    let other = sim::spawn(async move {
        other.enqueue(2).await;
        other.dequeue().await;
        other.dequeue().await;
    });
    one.await.unwrap();
    other.await.unwrap();

    client.history.assert_linearizable();
}

fn main() -> ExitCode {
    let mut example = Example::new("queue: its length lags behind, and a dequeue believes it");
    example.check("queue", program);
    example.end()
}

// ---- Output ----
//
// queue: its length lags behind, and a dequeue believes it
//
// FAILED  queue  seed 8: history is not linearizable (queue)
//
//   checked at  examples/queue.rs:98:20
//   tested      9 runs of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      from 13 steps, 3 preemptions to 13 steps, 1 preemption (672 replays)
//   why         between `lock` (queue.rs:34) and `fetch_add` (:40) of 0.0 came `lock mutex` (:34) and
//               `fetch_add atomic 0 → 1` (:40) of 0.1
//               0.0  queue.rs:34 | let mut items = self.items.lock().await;
//               0.1          :34 | let mut items = self.items.lock().await;
//               0.1          :40 | self.len.fetch_add(1, SeqCst).await;
//               0.0          :40 | self.len.fetch_add(1, SeqCst).await;
//   remedy      as one step, queue.rs:34 to :40: all 5 interleavings pass (proved; it keeps 5 of the
//               17 that pass now)
//   chances     3 % of all schedules fail, 45 % after step 3, all after step 9 (proved)
//
// ── history ── queue, 2 of 4 operations, 1 of 2 clients ─────────────────────────────────────────────
//
//   0.1  ├ Enqueue(2) → ok ┤  ├ Dequeue → None ┤
//                             ^^^^^^^^^^^^^^^^^^ fits nowhere
//
//   The other 2 are not shown: no order explains these, whatever else was done.
//
//   empty while it held an item: `Dequeue -> None` found nothing, but all the while there was an item
//   inside, added by `Enqueue(2) -> ok`, which had returned before that was invoked; nothing took it
//   before that returned.
//
//   `Dequeue → None` by 0.1 fits nowhere among these alone: after `Enqueue(2) → ok` by 0.1 it should
//   have returned `Some(2)`.
//
// ── schedule ── 13 steps, 4 switches, 1 preemption ──────────────────────────────────────────────────
//
//   step  main       0.0                     0.1                        P                        place
//      0  spawn 0.0                                                   .03      examples/queue.rs:89:15
//         spawn 0.1                                                            examples/queue.rs:90:17
//      1  │          start
//      2  │          lock mutex                                                examples/queue.rs:34:36
//         │          unlock mutex                                              examples/queue.rs:34:36
//         │          ├─ preempted ───────────┐
//      3  │          │                       start                    .45 ◂
//      4  │          │                       lock mutex               .51      examples/queue.rs:34:36
//         │          │                       unlock mutex                      examples/queue.rs:34:36
//      5  │          │                       fetch_add atomic 0 → 1   .59      examples/queue.rs:40:26
//      6  │          │                       load atomic = 1          .67      examples/queue.rs:51:21
//      7  │          │                       lock mutex               .77      examples/queue.rs:54:36
//      8  │          │                       fetch_sub atomic 1 → 0   .88      examples/queue.rs:56:18
//         │          │                       unlock mutex                      examples/queue.rs:54:36
//      9  │          │                       load atomic = 0            1      examples/queue.rs:51:21
//   no way back: every schedule fails from here on (proved)
//     10  │          fetch_add atomic 0 → 1                                    examples/queue.rs:40:26
//     11  join 0.0                                                             examples/queue.rs:89:15
//     12  join 0.1                                                             examples/queue.rs:90:17
//
//   mutex   created at examples/queue.rs:30:29
//   atomic  created at examples/queue.rs:30:63
//
// trace:   target/sim/unpause/example-queue.queue/8.simtrace
// history: target/sim/unpause/example-queue.queue/8.jsonl
// replay:  SIM_REPLAY=sim2:0,0.0x2,0.1x7,0.0,0x2 cargo run -p unpause --example queue
//
// the trace file, replayed, ends with the same failure
//
// passed  queue_fixed: 1000 runs, 14392 steps
