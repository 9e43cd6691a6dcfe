//! A log buffer like Aeron's: appenders claim space by an addition to a tail, and three partitions hold the terms in
//! turn. A cleaner clears what the reader has left. Planted bug: a new term begins if its partition was ever cleaned.

#![forbid(unsafe_code)]

use std::sync::Arc;

use sim::Atomic;
use sim::Ordering::SeqCst;

const PARTITIONS: i64 = 3;
/// The number of words in a term.
const LENGTH: i64 = 20;
const APPENDERS: usize = 3;
/// The number of frames of each appender.
const FRAMES: usize = 26;
/// The largest number of payload words in a frame.
const PAYLOAD: u64 = 3;
/// Appenders may be this many terms ahead of the reader.
const WINDOW: i64 = 1;

/// A word is a position times this number, plus a length or the number of a payload word.
const UNIT: i64 = 16;
/// Added to the length of a frame that fills the end of a term.
const PADDING: i64 = 8;

struct Partition {
    /// The term, and the offset at which the next frame begins.
    tail: Atomic<i64>,
    /// The frames: a header, then the payload. A header is 0 until its frame is committed.
    words: Vec<Atomic<i64>>,
    /// The number of times that the partition was cleaned.
    cleanings: Atomic<i64>,
}

struct Log {
    fixed: bool,
    partitions: Vec<Partition>,
    /// The current term.
    active: Atomic<i64>,
    /// The position of the reader.
    position: Atomic<i64>,
    is_finished: Atomic<bool>,
}

const fn tail(term: i64, offset: i64) -> i64 {
    (term << 32) | offset
}

impl Log {
    fn new(fixed: bool) -> Log {
        let partition = |number: i64| Partition {
            // The tails begin in the state that a previous lap would leave.
            tail: Atomic::new(tail((number - PARTITIONS) % PARTITIONS, 0)).named("tail"),
            words: (0..LENGTH).map(|_| Atomic::new(0).named("word")).collect(),
            cleanings: Atomic::new(0).named("cleanings"),
        };
        Log {
            fixed,
            partitions: (0..PARTITIONS).map(partition).collect(),
            active: Atomic::new(0).named("active"),
            position: Atomic::new(0).named("position"),
            is_finished: Atomic::new(false).named("is_finished"),
        }
    }

    fn partition(&self, term: i64) -> &Partition {
        &self.partitions[term.rem_euclid(PARTITIONS) as usize]
    }

    fn word(&self, position: i64) -> &Atomic<i64> {
        &self.partition(position / LENGTH).words[(position % LENGTH) as usize]
    }

    /// Appends a frame of this many words.
    async fn append(&self, length: i64) {
        loop {
            sim::spin_until(async || {
                let begin = self.active.load(SeqCst).await * LENGTH;
                begin < self.position.load(SeqCst).await + WINDOW * LENGTH
            })
            .await;
            let active = self.active.load(SeqCst).await;
            // By now, the partition may belong to a later term, so the term is read from the tail.
            let claimed = self.partition(active).tail.fetch_add(length, SeqCst).await;
            let (term, offset) = (claimed >> 32, claimed & 0xffff_ffff);
            let position = term * LENGTH + offset;
            if offset + length <= LENGTH {
                return self.commit(position, length).await;
            }
            if offset < LENGTH {
                let padding = position * UNIT + PADDING + LENGTH - offset;
                self.word(position).store(padding, SeqCst).await;
            }
            self.begin_term(term + 1).await;
        }
    }

    async fn commit(&self, position: i64, length: i64) {
        for word in 1..length {
            self.word(position + word).store(position * UNIT + word, SeqCst).await;
        }
        let before = self.word(position).swap(position * UNIT + length, SeqCst).await;
        assert_eq!(before, 0, "the frame at {position} is written over another word");
    }

    /// Begins a term, unless another appender has begun it.
    async fn begin_term(&self, term: i64) {
        let (partition, lap) = (self.partition(term), term / PARTITIONS);
        let missing = lap - partition.cleanings.peek();
        crate::watermark!(term as u64, "terms");
        crate::sometimes_each!((lap, missing), "cleanings that are missing at the end of a term");
        // Fixed: each lap needs a cleaning of its own.
        let needed = if self.fixed { lap } else { lap.min(1) };
        sim::spin_until(async || partition.cleanings.load(SeqCst).await >= needed).await;
        loop {
            let old = partition.tail.load(SeqCst).await;
            if old >> 32 != term - PARTITIONS {
                crate::sometimes!(true, "another appender begins the term");
                break;
            }
            // The exchange fails if a late appender adds to the old tail.
            let new = tail(term, 0);
            if partition.tail.compare_exchange(old, new, SeqCst, SeqCst).await.is_ok() {
                break;
            }
        }
        // An error means that another appender has advanced the term.
        let _ = self.active.compare_exchange(term - 1, term, SeqCst, SeqCst).await;
    }

    /// Reads this many frames.
    async fn read(&self, frames: usize) {
        let (mut position, mut read) = (0, 0);
        while read < frames {
            if position % LENGTH == 0 {
                let term = position / LENGTH;
                sim::spin_until(async || self.active.load(SeqCst).await >= term).await;
            }
            let header = self.word(position);
            sim::spin_until(async || header.load(SeqCst).await != 0).await;
            let header = header.load(SeqCst).await;
            assert_eq!(header / UNIT, position, "the frame at {position} is an old one");
            let length = header % UNIT;
            if length < PADDING {
                for word in 1..length {
                    let payload = self.word(position + word).load(SeqCst).await;
                    assert_eq!(payload, position * UNIT + word, "the frame at {position} is torn");
                }
                read += 1;
            }
            position += length % PADDING;
            self.position.store(position, SeqCst).await;
        }
        self.is_finished.store(true, SeqCst).await;
    }

    /// Clears each term after the reader has left it.
    async fn clean(&self) {
        for term in 0.. {
            let (begin, end) = (term * LENGTH, (term + 1) * LENGTH);
            sim::spin_until(async || {
                self.position.load(SeqCst).await >= end || self.is_finished.load(SeqCst).await
            })
            .await;
            if self.position.load(SeqCst).await < end {
                return;
            }
            let behind = self.position.peek() / LENGTH - term;
            crate::watermark!(behind as u64, "terms that wait for the cleaner");
            for position in begin..end {
                let old = self.word(position).swap(0, SeqCst).await;
                let of_term = (begin * UNIT..end * UNIT).contains(&old);
                assert!(old == 0 || of_term, "the cleaner of term {term} clears {old}");
            }
            self.partition(term).cleanings.store(term / PARTITIONS + 1, SeqCst).await;
        }
    }
}

pub(crate) async fn body(fixed: bool) {
    let log = Arc::new(Log::new(fixed));
    let mut tasks = Vec::new();
    for _ in 0..APPENDERS {
        let log = log.clone();
        tasks.push(sim::spawn(async move {
            for _ in 0..FRAMES {
                log.append(2 + sim::rand::below(PAYLOAD) as i64).await;
            }
        }));
    }
    let cleaned = log.clone();
    tasks.push(sim::spawn(async move { log.read(APPENDERS * FRAMES).await }));
    tasks.push(sim::spawn(async move { cleaned.clean().await }));
    for task in tasks {
        task.await.unwrap();
    }
}
