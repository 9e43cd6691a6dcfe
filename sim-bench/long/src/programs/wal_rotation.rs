//! A write-ahead log in segments, with a checkpoint after each rotation, crashes and recoveries. Freed files are used
//! again for later segments, and keep their old records until these are overwritten. Planted bug: a record names its
//! segment modulo `LAPS`. If checkpoints are slow, a file can stay unused for exactly `LAPS` rotations. If a crash
//! leaves this segment incomplete, recovery also takes the old records behind the new ones.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::sync::Arc;

use sim::Mutex;
use sim::task::{JoinSet, yield_now};
use sim::tokio::sync::Notify;
use sim::tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

const LIVES: usize = 5;
const WRITERS: usize = 3;
/// The most writes of a writer in a life.
const WRITES: usize = 60;
/// The crash comes after at least this number of writes, and less than `MORE` further writes.
const FEW: u64 = 40;
const MORE: u64 = 60;
const KEYS: usize = 4;
/// The number of records in a segment.
const RECORDS: usize = 14;
/// The most files that are kept for later segments.
const POOL: usize = 2;
/// The number of pages of a checkpoint.
const PAGES: usize = 2;
/// The number of segments after which the names repeat, with the bug.
const LAPS: u64 = 4;

type Table = [u64; KEYS];

/// The segment of the record modulo the number of laps, the key, and the value.
type Record = (u64, usize, u64);

#[derive(Default)]
struct File {
    segment: u64,
    /// The number of the first record in the log.
    first: usize,
    records: Vec<Record>,
}

#[derive(Default)]
struct Wal {
    laps: u64,
    /// The files in use, the last of which is written, and the free files.
    files: VecDeque<File>,
    pool: VecDeque<File>,
    /// A table, and the number of records that it contains.
    checkpoint: (Table, usize),
    /// The number of the next segment.
    segment: u64,
    /// A crash loses the records that are not on disk yet, the table, and the length of the log.
    cache: Vec<Record>,
    table: Table,
    written: usize,
    /// For the check: all keys and values in the order of the log.
    history: Vec<(usize, u64)>,
}

impl Wal {
    fn rotate(&mut self) {
        crate::sometimes_each!((self.files.len(), self.pool.len()), "files in use and free ones");
        let file = self.pool.pop_front().unwrap_or_default();
        self.files.push_back(File { segment: self.segment, first: self.written, ..file });
        self.segment += 1;
        crate::watermark!(self.segment, "segments");
    }

    fn append(&mut self, key: usize) {
        let (tag, value) =
            ((self.segment - 1) % self.laps, self.segment << 32 | self.written as u64);
        self.cache.push((tag, key, value));
        self.history.push((key, value));
        self.table[key] = value;
        self.written += 1;
    }

    /// Writes the first `count` records of the cache to the disk.
    fn sync(&mut self, count: usize) {
        let Some(file) = self.files.back_mut() else { return };
        let at = self.written - self.cache.len() - file.first;
        let old = at..file.records.len().min(at + count);
        drop(file.records.splice(old, self.cache.drain(..count)));
    }

    fn sync_all(&mut self) {
        self.sync(self.cache.len());
    }

    /// Frees the files that the checkpoint replaces.
    fn free(&mut self) {
        while self.files.len() > 1 && self.files[0].first + RECORDS <= self.checkpoint.1 {
            self.pool.extend(self.files.pop_front());
        }
        self.pool.truncate(POOL);
    }

    /// Reads the checkpoint and the records after it, installs their table, and begins a segment.
    fn recover(&mut self) {
        (self.table, self.written) = self.checkpoint;
        for file in &self.files {
            let tag = file.segment % self.laps;
            let valid = file.records.iter().take_while(|record| record.0 == tag);
            for (number, &(_, key, value)) in (file.first..).zip(valid) {
                // The checkpoint contains the first ones.
                if number == self.written {
                    self.table[key] = value;
                    self.written += 1;
                }
            }
        }
        crate::watermark!((self.written - self.checkpoint.1) as u64, "replayed records");
        self.cache.clear();
        self.checkpoint = (self.table, self.written);
        self.pool.extend(self.files.drain(..));
        self.pool.truncate(POOL);
        self.rotate();
    }

    /// Loses a part of the cache, recovers, and checks the result.
    fn crash(&mut self) {
        crate::sometimes_each!(self.cache.len(), "records that a crash may lose");
        let acknowledged = self.written - self.cache.len();
        self.sync(sim::rand::below(self.cache.len() as u64 + 1) as usize);
        self.recover();
        let possible = acknowledged..=self.history.len();
        assert!(possible.contains(&self.written), "{} records, not {possible:?}", self.written);
        self.history.truncate(self.written);
        let mut table = Table::default();
        self.history.iter().for_each(|(key, value)| table[*key] = *value);
        assert_eq!(self.table, table, "recovery finds other values");
    }
}

struct Db {
    wal: Mutex<Wal>,
    rotated: Notify,
}

async fn write(db: Arc<Db>, done: UnboundedSender<()>) {
    for _ in 0..WRITES {
        let mut wal = db.wal.lock().await;
        if wal.files.back().is_some_and(|file| wal.written - file.first == RECORDS) {
            wal.sync_all();
            wal.rotate();
            db.rotated.notify_one();
        }
        wal.append(sim::rand::below(KEYS as u64) as usize);
        drop(wal);
        // One sync may serve several writers.
        let mut wal = db.wal.lock().await;
        wal.sync_all();
        drop(wal);
        let _ = done.send(());
    }
}

async fn checkpoint(db: Arc<Db>) {
    loop {
        db.rotated.notified().await;
        let wal = db.wal.lock().await;
        let (snapshot, segment) = ((wal.table, wal.written), wal.segment);
        drop(wal);
        for _ in 0..PAGES {
            yield_now().await;
        }
        let mut wal = db.wal.lock().await;
        crate::sometimes!(wal.segment > segment, "the log rotates during a checkpoint");
        wal.sync_all();
        wal.checkpoint = snapshot;
        wal.free();
    }
}

pub(crate) async fn body(fixed: bool) {
    let laps = if fixed { u64::MAX } else { LAPS };
    let wal = Mutex::new(Wal { laps, ..Wal::default() });
    let db = Arc::new(Db { wal, rotated: Notify::new() });
    db.wal.lock().await.recover();
    for _ in 0..LIVES {
        let (sender, mut done) = unbounded_channel();
        let mut tasks = JoinSet::new();
        for _ in 0..WRITERS {
            tasks.spawn(write(db.clone(), sender.clone()));
        }
        tasks.spawn(checkpoint(db.clone()));
        drop(sender);
        for _ in 0..FEW + sim::rand::below(MORE) {
            done.recv().await;
        }
        tasks.abort_all();
        while tasks.join_next().await.is_some() {}
        db.wal.lock().await.crash();
    }
}
