//! The Disruptor of LMAX: a ring of slots that producers claim by number and consumers follow by number.
//!
//! A producer claims the next sequence number by a compare-and-swap of the cursor. It waits until no consumer needs the
//! slot any more, fills the slot, and publishes it by writing the lap number. A consumer waits for its next sequence
//! and for the consumer on which it depends: the first consumer checks an event, then the second handles it. Four bugs
//! are planted, one at a time. The last two can end in a deadlock. `cargo run --example disruptor` prints the output at
//! the end of this file.
//!
//! A claim by `fetch_add` before the wait for room is legal too. But then a producer that is dropped while it waits has
//! claimed a slot that is never filled, and blocks all others for ever.

#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::task::Builder;
use sim::{Atomic, Cell, Condvar, Mutex};

use shared::Example;
use shared::Version::Buggy;

mod shared;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bug {
    /// A consumer releases its slot before it reads it.
    ReleasedEarly,
    /// A slot has a flag instead of a lap number.
    FlagForLap,
    /// A producer assumes one slot too many.
    GateOffByOne,
    /// After a consumer announces its sleep, it does not check again before it sleeps.
    AsleepAtOnce,
}

/// The way in which a consumer waits for a producer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wait {
    Spin,
    Sleep,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Event {
    sequence: i64,
    /// True if the first consumer has checked the event; the second reads this.
    is_checked: bool,
}

struct Slot {
    event: Cell<Event>,
    /// The number of the last lap in which the slot was published, or -1.
    lap: Atomic<i64>,
}

/// The ring. Sequence numbers start at 0; -1 means that there is no sequence yet.
struct Disruptor {
    bug: Option<Bug>,
    wait: Wait,
    slots: Vec<Slot>,
    /// The last claimed sequence.
    cursor: Atomic<i64>,
    /// The last sequence that each consumer has handled. Each consumer depends on the previous one.
    done: Vec<Atomic<i64>>,
    /// A lower bound of the last sequence handled by all consumers, cached by the producers.
    gate: Atomic<i64>,
    /// True if a consumer has announced that it is about to sleep.
    is_awaited: Atomic<bool>,
    lock: Mutex<()>,
    published: Condvar,
}

impl Disruptor {
    fn new(slots: usize, consumers: usize, wait: Wait, bug: Option<Bug>) -> Disruptor {
        let slot = |_| Slot {
            event: Cell::new(Event { sequence: -1, is_checked: false }).named("event"),
            lap: Atomic::new(-1).named("lap"),
        };
        Disruptor {
            bug,
            wait,
            slots: (0..slots).map(slot).collect(),
            cursor: Atomic::new(-1).named("cursor"),
            done: (0..consumers).map(|_| Atomic::new(-1).named("done")).collect(),
            gate: Atomic::new(-1).named("gate"),
            is_awaited: Atomic::new(false).named("is_awaited"),
            lock: Mutex::new(()),
            published: Condvar::new(),
        }
    }

    fn slot(&self, sequence: i64) -> &Slot {
        &self.slots[sequence as usize % self.slots.len()]
    }

    /// Returns the lap number that the slot has when this sequence is published.
    fn lap(&self, sequence: i64) -> i64 {
        match self.bug {
            Some(Bug::FlagForLap) => 1,
            _ => sequence / self.slots.len() as i64,
        }
    }

    /// Returns the last sequence that no consumer needs any more. The last consumer is behind all others.
    async fn last_done(&self) -> i64 {
        let last = self.done.last().expect("a ring has consumers");
        last.load(SeqCst).await + i64::from(self.bug == Some(Bug::GateOffByOne))
    }

    /// Claims a sequence whose slot is free.
    async fn claim(&self) -> i64 {
        loop {
            let current = self.cursor.load(SeqCst).await;
            let next = current + 1;
            // The sequence number that used the slot in the previous lap.
            let wrap = next - self.slots.len() as i64;
            if wrap > self.gate.load(SeqCst).await {
                sim::spin_until(async || wrap <= self.last_done().await).await;
                let done = self.last_done().await;
                self.gate.store(done, SeqCst).await;
            }
            if self.cursor.compare_exchange(current, next, SeqCst, SeqCst).await.is_ok() {
                return next;
            }
        }
    }

    async fn publish(&self, sequence: i64) {
        let slot = self.slot(sequence);
        slot.event.set(Event { sequence, is_checked: false }).await;
        slot.lap.store(self.lap(sequence), SeqCst).await;
        if self.wait == Wait::Sleep && self.is_awaited.swap(false, SeqCst).await {
            let sleepers = self.lock.lock().await;
            self.published.notify_all();
            drop(sleepers);
        }
    }

    async fn is_published(&self, sequence: i64) -> bool {
        self.slot(sequence).lap.load(SeqCst).await == self.lap(sequence)
    }

    /// Waits until a sequence is published.
    async fn wait_for(&self, sequence: i64) {
        if self.wait == Wait::Spin {
            return sim::spin_until(async || self.is_published(sequence).await).await;
        }
        if self.is_published(sequence).await {
            return;
        }
        let mut sleepers = self.lock.lock().await;
        loop {
            self.is_awaited.store(true, SeqCst).await;
            // The event was published before the announcement, so no producer wakes this consumer.
            if self.bug != Some(Bug::AsleepAtOnce) && self.is_published(sequence).await {
                return;
            }
            sleepers = self.published.wait(sleepers).await;
            if self.is_published(sequence).await {
                return;
            }
        }
    }

    /// Handles the event with this sequence number as a consumer.
    async fn handle(&self, consumer: usize, sequence: i64) {
        self.wait_for(sequence).await;
        if let Some(before) = consumer.checked_sub(1) {
            sim::spin_until(async || self.done[before].load(SeqCst).await >= sequence).await;
        }
        let slot = self.slot(sequence);
        if self.bug == Some(Bug::ReleasedEarly) {
            self.done[consumer].store(sequence, SeqCst).await;
        }
        let event = slot.event.get().await;
        assert_eq!(event.sequence, sequence, "another event in the place of {sequence}");
        if consumer == 0 {
            slot.event.set(Event { is_checked: true, ..event }).await;
        } else {
            assert!(event.is_checked, "{sequence} is handled before it is checked");
        }
        if self.bug != Some(Bug::ReleasedEarly) {
            self.done[consumer].store(sequence, SeqCst).await;
        }
    }
}

/// The parts of a program.
#[derive(Clone, Copy)]
struct Size {
    slots: usize,
    producers: usize,
    /// The number of events of each producer.
    events: usize,
    consumers: usize,
    wait: Wait,
}

impl Size {
    const fn new(slots: usize, producers: usize, events: usize, consumers: usize) -> Size {
        Size { slots, producers, events, consumers, wait: Wait::Spin }
    }

    const fn sleeping(self) -> Size {
        Size { wait: Wait::Sleep, ..self }
    }
}

/// Runs producers that publish events, and consumers that each handle all events in order.
async fn program(size: Size, bug: Option<Bug>) {
    let ring = Arc::new(Disruptor::new(size.slots, size.consumers, size.wait, bug));
    let mut tasks = Vec::new();
    for producer in 0..size.producers {
        let ring = ring.clone();
        tasks.push(Builder::new().name(format!("producer {producer}")).spawn(async move {
            for _ in 0..size.events {
                let sequence = ring.claim().await;
                ring.publish(sequence).await;
            }
        }));
    }
    for consumer in 0..size.consumers {
        let ring = ring.clone();
        tasks.push(Builder::new().name(format!("consumer {consumer}")).spawn(async move {
            for sequence in 0..(size.producers * size.events) as i64 {
                ring.handle(consumer, sequence).await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

fn main() -> ExitCode {
    let mut example = Example::new("disruptor: a slot is given back before it is read");
    let (slot, sleeping) = (Size::new(1, 1, 2, 1), Size::new(2, 1, 2, 1).sleeping());
    example.check_what_may_hang("disruptor", async |version| {
        program(slot, (version == Buggy).then_some(Bug::ReleasedEarly)).await;
    });
    example.find("disruptor_flag", async || program(slot, Some(Bug::FlagForLap)).await);
    example.find("disruptor_gate", async || program(slot, Some(Bug::GateOffByOne)).await);
    example.find("disruptor_sleep", async || program(sleeping, Some(Bug::AsleepAtOnce)).await);
    let large = Size::new(2, 2, 3, 2);
    example.pass_too("disruptor_spins", async || program(large, None).await);
    example.pass_too("disruptor_sleeps", async || program(large.sleeping(), None).await);
    // Explores all interleavings of small programs: two producers, dependent consumers, a sleeping consumer.
    example.prove("disruptor_producers", async || program(Size::new(1, 3, 1, 1), None).await);
    example.prove("disruptor_consumers", async || program(Size::new(2, 1, 3, 2), None).await);
    example.prove("disruptor_sleepers", async || program(slot.sleeping(), None).await);
    example.end()
}

// ---- Output ----
//
// disruptor: a slot is given back before it is read
//
// FAILED  disruptor  seed 0: 0.1 consumer 0 panicked
//
//   assertion `left == right` failed: another event in the place of 0
//     left: 1
//    right: 0
//
//   at          examples/disruptor.rs:178:9
//   tested      1 run of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      from 21 steps, 3 preemptions to 20 steps, 1 preemption (750 replays)
//   why         between `store` (disruptor.rs:175) and `set` (:180) of 0.1 consumer 0, which it did
//               not get to, came `load done = 0` (:109) and `set event` (:132) of 0.0 producer 0
//               0.1 consumer 0  disruptor.rs:175 | self.done[consumer].store(sequence, SeqCst).await;
//               0.0 producer 0              :109 | last.load(SeqCst).await + i64::from(self.bug == So…
//               0.0 producer 0              :132 | slot.event.set(Event { sequence, is_checked: false…
//               0.1 consumer 0              :180 | slot.event.set(Event { is_checked: true, ..event }…
//   remedy      as one step, disruptor.rs:175 to :180: all 8 interleavings pass (proved; it keeps 8 of
//               the 8 that pass now)
//   chances     14 % of all schedules fail, 63 % after step 13, all after step 17 (proved)
//
// ── schedule ── 20 steps, 4 switches, 1 preemption ──────────────────────────────────────────────────
//
//   step  main               0.0 producer 0    0.1 consumer 0      P                             place
//      0  spawn 0.0 producer 0                                   .14      examples/disruptor.rs:217:72
//         spawn 0.1 consumer 0                                            examples/disruptor.rs:226:72
//      1                     start
//      2                     load cursor = -1                             examples/disruptor.rs:115:39
//      3                     load gate = -1                               examples/disruptor.rs:119:33
//      4                     compare_exchange cursor -1 → 0               examples/disruptor.rs:124:28
//      5                     set event                                    examples/disruptor.rs:132:20
//      6                     store lap := 0                               examples/disruptor.rs:133:18
//      7                     load cursor = 0                              examples/disruptor.rs:115:39
//      8                     load gate = -1                               examples/disruptor.rs:119:33
//      9                     load done = -1                               examples/disruptor.rs:109:14
//     10                     │                 start
//     11                     │                 load lap = 0               examples/disruptor.rs:142:33
//     12                     │                 store done := 0            examples/disruptor.rs:175:33
//                            ┌─ preempted ─────┤
//     13                     load done = 0     │                 .63 ◂    examples/disruptor.rs:109:14
//     14                     load done = 0     │                 .71      examples/disruptor.rs:109:14
//     15                     store gate := 0   │                 .79      examples/disruptor.rs:122:27
//     16                     compare_exchange cursor 0 → 1       .89      examples/disruptor.rs:124:28
//     17                     set event         │                   1      examples/disruptor.rs:132:20
//   no way back: every schedule fails from here on (proved)
//     18                     store lap := 1    │                          examples/disruptor.rs:133:18
//     19                                       get event                  examples/disruptor.rs:177:32
//                                              panics                      examples/disruptor.rs:178:9
//
//   event   cell, created at examples/disruptor.rs:78:20
//   lap     atomic, created at examples/disruptor.rs:79:18
//   cursor  atomic, created at examples/disruptor.rs:85:21
//   done    atomic, created at examples/disruptor.rs:86:42
//   gate    atomic, created at examples/disruptor.rs:87:19
//
// trace:   target/sim/unpause/example-disruptor.disruptor/0.simtrace
// replay:  SIM_REPLAY=sim2:0,0.0x9,0.1x3,0.0x6,0.1 cargo run -p unpause --example disruptor
//
// the trace file, replayed, ends with the same failure
//
// passed  disruptor_fixed: 1000 runs, 28338 steps
//
// FAILED  disruptor_flag  seed 0: 0.1 consumer 0 panicked
//
//   assertion `left == right` failed: another event in the place of 1
//     left: 0
//    right: 1
//
// FAILED  disruptor_gate  seed 0: deadlock, every remaining task is blocked
//
// FAILED  disruptor_sleep  seed 5: deadlock, every remaining task is blocked
//
// passed  disruptor_spins: 1000 runs, 121764 steps
//
// passed  disruptor_sleeps: 1000 runs, 154167 steps
//
// passed  disruptor_producers: explored all 8832 interleavings, 453888 steps
//         (24 runs abandoned as redundant)
//         (assumes that tasks share memory through sim only)
//
// passed  disruptor_consumers: explored all 3328 interleavings, 177792 steps
//         (5 runs abandoned as redundant)
//         (assumes that tasks share memory through sim only)
//
// passed  disruptor_sleepers: explored all 48 interleavings, 1768 steps
//         (18 runs abandoned as redundant)
//         (assumes that tasks share memory through sim only)
