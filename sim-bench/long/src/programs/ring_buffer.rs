//! A ring buffer like the Disruptor: producers claim sequences by compare-and-swap, and two consumers each read all
//! events. Planted bug: sequences wrap at twice the capacity, so for a lapped producer a full ring looks empty.

#![forbid(unsafe_code)]

use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::{Atomic, Cell};

const CAPACITY: u64 = 4;
const PRODUCERS: usize = 6;
/// The number of events of each producer.
const EVENTS: u64 = 16;
const CONSUMERS: usize = 2;

const TOTAL: u64 = PRODUCERS as u64 * EVENTS;

#[derive(Clone, Copy, Default)]
struct Event {
    sequence: u64,
    producer: usize,
    number: u64,
}

struct Slot {
    event: Cell<Event>,
    /// The last sequence that was published here.
    published: Atomic<u64>,
}

struct Ring {
    /// Sequences are below this power of two, and wrap around to 0.
    modulus: u64,
    slots: Vec<Slot>,
    /// The next sequence to claim.
    cursor: Atomic<u64>,
    /// The next sequence of each consumer.
    done: Vec<Atomic<u64>>,
    /// The next sequence of the slowest consumer, as the producers saw it last.
    gate: Atomic<u64>,
}

impl Ring {
    fn new(modulus: u64) -> Ring {
        let slot = |number: u64| Slot {
            event: Cell::new(Event::default()).named("event"),
            published: Atomic::new((number + modulus - CAPACITY) % modulus).named("published"),
        };
        Ring {
            modulus,
            slots: (0..CAPACITY).map(slot).collect(),
            cursor: Atomic::new(0).named("cursor"),
            done: (0..CONSUMERS).map(|_| Atomic::new(0).named("done")).collect(),
            gate: Atomic::new(0).named("gate"),
        }
    }

    fn slot(&self, sequence: u64) -> &Slot {
        &self.slots[(sequence % CAPACITY) as usize]
    }

    fn after(&self, sequence: u64, steps: u64) -> u64 {
        (sequence + steps) % self.modulus
    }

    /// Returns the number of steps from one sequence to another.
    fn distance(&self, from: u64, to: u64) -> u64 {
        to.wrapping_sub(from) % self.modulus
    }

    /// Returns true if the slot of this sequence is free, or if another producer has claimed the sequence.
    async fn may_claim(&self, sequence: u64) -> bool {
        for done in &self.done {
            if self.distance(done.load(SeqCst).await, sequence) >= CAPACITY {
                return self.cursor.load(SeqCst).await != sequence;
            }
        }
        true
    }

    /// Returns the next sequence of the slowest consumer. No consumer is behind `gate`.
    async fn slowest(&self, gate: u64) -> u64 {
        let mut steps = self.modulus;
        for done in &self.done {
            steps = steps.min(self.distance(gate, done.load(SeqCst).await));
        }
        self.after(gate, steps)
    }

    /// Claims the next sequence, once its slot is free.
    async fn claim(&self) -> u64 {
        loop {
            let current = self.cursor.load(SeqCst).await;
            let gate = self.gate.load(SeqCst).await;
            let is_full = self.distance(gate, current) >= CAPACITY;
            crate::sometimes!(is_full, "a producer waits for a consumer");
            if is_full {
                sim::spin_until(async || self.may_claim(current).await).await;
                let slowest = self.slowest(gate).await;
                // The gate may go back here, if another producer was faster.
                self.gate.store(slowest, SeqCst).await;
                self.mark_gate(slowest);
                continue;
            }
            let next = self.after(current, 1);
            let claimed = self.cursor.compare_exchange(current, next, SeqCst, SeqCst).await;
            crate::sometimes!(claimed.is_err(), "a claim loses the race");
            if claimed.is_ok() {
                return current;
            }
        }
    }

    /// Marks how far the gate is behind the consumers, and how far the cursor is ahead of the gate.
    fn mark_gate(&self, gate: u64) {
        let behind = self.done.iter().map(|done| self.distance(gate, done.peek())).min();
        let ahead = self.distance(gate, self.cursor.peek());
        crate::sometimes_each!((behind, ahead), "a new gate");
    }

    async fn produce(&self, producer: usize) {
        for number in 0..EVENTS {
            let sequence = self.claim().await;
            let slot = self.slot(sequence);
            slot.event.set(Event { sequence, producer, number }).await;
            slot.published.store(sequence, SeqCst).await;
        }
    }

    /// Returns true if the slot no longer holds the event of the previous lap.
    async fn is_published(&self, sequence: u64) -> bool {
        let before = self.after(sequence, self.modulus - CAPACITY);
        self.slot(sequence).published.load(SeqCst).await != before
    }

    async fn consume(&self, consumer: usize) {
        let mut next = [0; PRODUCERS];
        let (mut sequence, mut read) = (0, 0);
        while read < TOTAL {
            sim::spin_until(async || self.is_published(sequence).await).await;
            let most = CAPACITY.min(TOTAL - read);
            let mut batch = 1;
            while batch < most && self.is_published(self.after(sequence, batch)).await {
                batch += 1;
            }
            crate::sometimes_each!(batch, "events in a batch");
            for _ in 0..batch {
                let Event { sequence: found, producer, number } =
                    self.slot(sequence).event.get().await;
                assert_eq!(found, sequence, "another event in the place of {sequence}");
                assert_eq!(number, next[producer], "an event of producer {producer} is lost");
                next[producer] += 1;
                sequence = self.after(sequence, 1);
            }
            read += batch;
            self.done[consumer].store(sequence, SeqCst).await;
            crate::watermark!(read / CAPACITY, "laps");
        }
    }
}

/// Fixed: the sequences do not wrap during the run.
pub(crate) async fn body(fixed: bool) {
    let ring = Arc::new(Ring::new(if fixed { 1 << 32 } else { 2 * CAPACITY }));
    let mut tasks = Vec::new();
    for producer in 0..PRODUCERS {
        let ring = ring.clone();
        tasks.push(sim::spawn(async move { ring.produce(producer).await }));
    }
    for consumer in 0..CONSUMERS {
        let ring = ring.clone();
        tasks.push(sim::spawn(async move { ring.consume(consumer).await }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}
