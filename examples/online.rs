//! A queue that keeps its length outside of its lock, checked while it runs.
//!
//! The program is a longer version of `examples/queue.rs`. There, a history is recorded and checked at the end.
//! Here, an [`Online`] checker receives each call as it happens. The run stops at the first event that cannot
//! be explained, long before most calls. `cargo run --example online` prints the output at the end of this
//! file.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::{self, Arc};

use sim::Ordering::SeqCst;
use sim::check::Model;
use sim::check::models::{Queue, QueueOp, QueueRet};
use sim::check::online::{ClientEvent, Online, OnlineStatus};
use sim::{Atomic, Mutex};

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

/// A client of the queue that passes its calls and their results to the checker.
#[derive(Clone)]
struct Client {
    number: u32,
    queue: Arc<QuickQueue>,
    checker: Arc<sync::Mutex<Online<Queue>>>,
}

impl Client {
    async fn enqueue(&self, item: u64) {
        self.begin(QueueOp::Enqueue(item)).await;
        self.queue.enqueue(item).await;
        self.end(QueueRet::Done);
    }

    async fn dequeue(&self) {
        self.begin(QueueOp::Dequeue).await;
        let item = self.queue.dequeue().await;
        self.end(QueueRet::Item(item));
    }

    async fn begin(&self, op: QueueOp) {
        // A point between the last return and this invocation: other calls may return in between.
        sim::task::yield_now().await;
        self.tell(ClientEvent::Invoke { client: self.number, op });
    }

    fn end(&self, ret: QueueRet) {
        self.tell(ClientEvent::Return { client: self.number, ret });
    }

    #[track_caller]
    fn tell(&self, event: ClientEvent<QueueOp, QueueRet>) {
        // There is no await while the lock is held. The panic that ends the run poisons it.
        let mut checker = self.checker.lock().unwrap_or_else(sync::PoisonError::into_inner);
        let text = match &event {
            ClientEvent::Return { ret, .. } => Queue::<u64>::ret_text(ret),
            _ => String::new(),
        };
        let status = checker.feed(event).expect("a client has one call open at a time");
        if checker.decided_at() == Some(checker.events() - 1) {
            let event = checker.events() - 1;
            match (status, checker.evidence()) {
                (OnlineStatus::Violated, Some(evidence)) => panic!(
                    "event {event} decides: operation {} returned {text}; after operations {:?} it \
                     should have returned {}",
                    evidence.misfit,
                    evidence.partial[0],
                    evidence.expected.join(" or "),
                ),
                _ => panic!("undecided at event {event}: too many possibilities"),
            }
        }
    }
}

/// Two clients enqueue an item and empty the queue again, over and over.
async fn program(version: Version) {
    let queue = Arc::new(QuickQueue::new(version));
    let checker = Arc::new(sync::Mutex::new(Online::new(Queue::new())));
    let tasks = [0, 1].map(|number| {
        let client = Client { number, queue: queue.clone(), checker: checker.clone() };
        sim::spawn(async move {
            for round in 0..20 {
                client.enqueue(2 * round + u64::from(number)).await;
                client.dequeue().await;
                client.dequeue().await;
            }
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    let checker = checker.lock().unwrap();
    assert_eq!((checker.status(), checker.open()), (OnlineStatus::Possible, 0));
}

fn main() -> ExitCode {
    let mut example =
        Example::new("online: the run stops at the event that no explanation is left for");
    example.check("online", program);
    example.end()
}

// ---- Output ----
//
// online: the run stops at the event that no explanation is left for
//
// FAILED  online  seed 0: 0.0 panicked
//
//   event 6 decides: operation 3 returned None; after operations [0, 1, 2] it should have returned
//   Some(0)
//
//   at          examples/online.rs:92:14
//   tested      1 run of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      from 14 steps, 2 preemptions to 14 steps, 1 preemption (320 replays)
//   why         between `lock` (online.rs:37) and `fetch_add` (:43) of 0.1, which it did not get to,
//               came `lock mutex` (:37) and `fetch_add atomic 0 → 1` (:43) of 0.0
//               0.1  online.rs:37 | let mut items = self.items.lock().await;
//               0.0           :37 | let mut items = self.items.lock().await;
//               0.0           :43 | self.len.fetch_add(1, SeqCst).await;
//               0.1           :43 | self.len.fetch_add(1, SeqCst).await;
//   remedy      as one step, online.rs:37 to :43: 0 of 200 runs like this one fail (now 44 of 200)
//   chances     ~22 % of all schedules fail, ~86 % after step 12 (sampled), all after step 13 (proved)
//
// ── schedule ── 14 steps, 2 switches, 1 preemption ──────────────────────────────────────────────────
//
//   step  main            0.0                     0.1                  P                         place
//      0  spawn 0.0, 0.1                                            ~.22      examples/online.rs:126:9
//      1                                          start             ~.28
//      2                                          yield_now         ~.16       examples/online.rs:87:9
//      3                                          lock mutex        ~.26      examples/online.rs:37:36
//                                                 unlock mutex                examples/online.rs:37:36
//                         ┌─ preempted ───────────┘
//      4                  start                                     ~.32
//      5                  yield_now                                            examples/online.rs:87:9
//      6                  lock mutex                                ~.38      examples/online.rs:37:36
//                         unlock mutex                                        examples/online.rs:37:36
//      7                  fetch_add atomic 0 → 1                              examples/online.rs:43:26
//      8                  yield_now                                            examples/online.rs:87:9
//      9                  load atomic = 1                           ~.48      examples/online.rs:54:21
//     10                  lock mutex                                ~.58      examples/online.rs:57:36
//     11                  fetch_sub atomic 1 → 0                              examples/online.rs:59:18
//                         unlock mutex                                        examples/online.rs:57:36
//     12                  yield_now                                 ~.86 ◂     examples/online.rs:87:9
//     13                  load atomic = 0                              1      examples/online.rs:54:21
//   no way back: every schedule fails from here on (proved)
//                         panics                                              examples/online.rs:92:14
//
//   mutex   created at examples/online.rs:33:29
//   atomic  created at examples/online.rs:33:63
//
// trace:   target/sim/unpause/example-online.online/0.simtrace
// replay:  SIM_REPLAY=sim2:0,0.1x3,0.0x10 cargo run -p unpause --example online
//
// the trace file, replayed, ends with the same failure
//
// passed  online_fixed: 1000 runs, 373876 steps
