//! A write-ahead log. The power may fail at any moment.
//!
//! A node appends records, and acknowledges each record to the test when it is durable. A task of the test cuts the
//! power of the node at some point, and restarts it. Whatever the disk loses, recovery must then find all acknowledged
//! records. `cargo run --example wal` shows four bugs that break this rule. A search of all power failures and all disk
//! states proves that the fixed log has no such bug. The output is at the end of this file.

#![forbid(unsafe_code)]

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::fs::{Faults, File, OpenOptions};
use sim::{Atomic, Node};

use shared::Example;
use shared::Version::{self, Buggy};

mod shared;

/// A bug of the log implementation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bug {
    /// The directory is not synced, so the name of the log is lost, and all records with it.
    NameNotSynced,
    /// A record is acknowledged before it is synced.
    ToldEarly,
    /// A record that recovery cannot read is not cut off, so records behind it are never found.
    TailKept,
    /// A failed sync is retried. The second sync succeeds, but writes nothing.
    SyncRetried,
}

/// The size of a record in bytes: its number, a byte of content, and a checksum.
const RECORD: usize = 4;

fn encode(number: u8) -> [u8; RECORD] {
    let content = number.wrapping_mul(7).wrapping_add(1);
    let sum = u16::from(number) + u16::from(content) + 0x1234;
    let [low, high] = sum.to_le_bytes();
    [number, content, low, high]
}

/// Returns the number of intact records at the beginning.
fn whole(bytes: &[u8]) -> u8 {
    let records = (0..).zip(bytes.chunks(RECORD));
    records.take_while(|(number, bytes)| **bytes == encode(*number)).count() as u8
}

struct Log {
    file: File,
    /// The number of records.
    records: u8,
    bug: Option<Bug>,
}

impl Log {
    /// Opens the log, and recovers its records.
    async fn open(bug: Option<Bug>) -> io::Result<Log> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).open(dir().join("log")).await?;
        if bug != Some(Bug::NameNotSynced) {
            // This is necessary even if the log exists, because its name may be only in the page cache.
            File::open(dir()).await?.sync_all().await?;
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).await?;
        let records = whole(&bytes);
        let end = usize::from(records) * RECORD;
        if end < bytes.len() && bug != Some(Bug::TailKept) {
            file.set_len(end as u64).await?;
            file.sync_all().await?;
        }
        Ok(Log { file, records, bug })
    }

    /// Appends a record, which is durable when this function returns. After an error, the log must be opened again, by
    /// a process on a restarted machine.
    async fn append(&mut self) -> io::Result<()> {
        self.file.write_all(&encode(self.records)).await?;
        self.records += 1;
        match self.bug {
            Some(Bug::ToldEarly) => {}
            Some(Bug::SyncRetried) => while self.file.sync_data().await.is_err() {},
            _ => self.file.sync_data().await?,
        }
        Ok(())
    }
}

/// Returns the directory of the log. Each run has its own disks.
fn dir() -> PathBuf {
    match sim::SIMULATED {
        true => "/".into(),
        false => std::env::temp_dir().join(format!("sim-wal-{}", std::process::id())),
    }
}

/// Runs one life of the node, which recovers the log and appends a record.
async fn live(bug: Option<Bug>, told: Arc<Atomic<u8>>) {
    let Ok(mut log) = Log::open(bug).await else { return };
    if log.append().await.is_ok() {
        told.store(log.records, SeqCst).await;
    }
}

/// Cuts the power of a node at any point of its life, or after its end, and restarts it.
async fn crash(db: &Node) {
    let db = db.clone();
    let crashing = sim::spawn(async move {
        db.power_off();
        db.restart();
    });
    crashing.await.unwrap();
}

/// Runs a life that ends at any point, then a complete life. Then recovery must find all acknowledged records.
async fn program(version: Version, bug: Bug) {
    if !sim::SIMULATED {
        // The real disk loses nothing, and contains the log of the previous run.
        let _ = std::fs::remove_dir_all(dir());
        std::fs::create_dir_all(dir()).unwrap();
    }
    if bug == Bug::SyncRetried {
        sim::fs::faults(Faults::none().sync_errors(1));
    }
    let bug = (version == Buggy).then_some(bug);
    let told = Arc::new(Atomic::new(0));
    told.store(0, SeqCst).await;
    let db = sim::node("db");
    db.spawn(live(bug, told.clone())).detach();
    crash(&db).await;
    db.spawn(live(bug, told.clone())).await.unwrap();
    crash(&db).await;
    let recovered = db.spawn(async move { Log::open(bug).await.map(|log| log.records) });
    let told = told.load(SeqCst).await;
    if let Ok(found) = recovered.await.unwrap() {
        assert!(found >= told, "{told} records were told, and recovery found {found}");
    }
}

fn main() -> ExitCode {
    let mut example = Example::new("wal: a write-ahead log, whose power fails");
    let bugs = [
        ("wal_name_not_synced", Bug::NameNotSynced),
        ("wal_told_early", Bug::ToldEarly),
        ("wal_tail_kept", Bug::TailKept),
        ("wal_sync_retried", Bug::SyncRetried),
    ];
    for (name, bug) in bugs {
        example.check(name, async |version| program(version, bug).await);
    }
    example.prove("wal_proved", async || program(Version::Fixed, Bug::NameNotSynced).await);
    example
        .prove("wal_sync_errors_proved", async || program(Version::Fixed, Bug::SyncRetried).await);
    example.end()
}

// ---- Output ----
//
// wal: a write-ahead log, whose power fails
//
// FAILED  wal_name_not_synced  seed 1: main panicked
//
//   1 records were told, and recovery found 0
//
//   at          examples/wal.rs:141:9
//   tested      2 runs of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      nothing could be removed from 18 steps, 0 preemptions (958 replays)
//   chances     56 % of all schedules fail, all after step 2 (proved) with the values drawn here
//
// ── schedule ── 18 steps, 8 switches, 0 preemptions, 1 value drawn ──────────────────────────────────
//
//   step  main            db              0.1           0.3              P                       place
//      0  start                                                        .56
//      1  store atomic := 0                                                     examples/wal.rs:132:10
//         spawn 0.0 db                                                           examples/wal.rs:134:8
//         spawn 0.1                                                             examples/wal.rs:113:20
//      2  │                               power_off db                   1 ◂    examples/wal.rs:114:12
//         │                               restart db                            examples/wal.rs:115:12
//   no way back: every schedule fails from here on (proved)
//      3  join 0.1                                                              examples/wal.rs:113:20
//         spawn 0.2 db                                                           examples/wal.rs:136:8
//      4  │               0.2: start
//      5  │               0.2: open /log                                         examples/wal.rs:64:69
//      6  │               0.2: read file /log#0 = 0                              examples/wal.rs:70:14
//      7  │               0.2: write file /log#0 = 4                             examples/wal.rs:83:19
//      8  │               0.2: sync_data file /log#0                             examples/wal.rs:88:28
//      9  │               0.2: store atomic := 1                                examples/wal.rs:106:14
//     10  join 0.2 db     │                                                      examples/wal.rs:136:8
//         spawn 0.3       │                                                     examples/wal.rs:113:20
//     11  │               │                             power_off db            examples/wal.rs:114:12
//         │               │                             restart db              examples/wal.rs:115:12
//     12  join 0.3        │                                                     examples/wal.rs:113:20
//         spawn 0.4 db    │                                                     examples/wal.rs:138:24
//     13  load atomic = 1 │                                                     examples/wal.rs:139:21
//     14  │               0.4: start
//     15  │               0.4: open /log                                         examples/wal.rs:64:69
//         │               0.4: finds an old entry in directory /                 examples/wal.rs:64:69
//         │               0.4: draw 2 below 4
//     16  │               0.4: read file /log#1 = 0                              examples/wal.rs:70:14
//     17  join 0.4 db                                                           examples/wal.rs:138:24
//         panics                                                                 examples/wal.rs:141:9
//
//   atomic       created at examples/wal.rs:131:25
//   db           node, used first at examples/wal.rs:133:14
//   directory /  directory, used first at examples/wal.rs:64:69
//   /log         path, used first at examples/wal.rs:64:69
//   file /log#0  file, created at examples/wal.rs:64:69
//   file /log#1  file, created at examples/wal.rs:64:69
//
// trace:   target/sim/unpause/example-wal.wal_name_not_synced/1.simtrace
// replay:  SIM_REPLAY=sim2:0x2,0.1,0,0.2x6,0,0.3=1/2,0x2,0.4,0.4=2/4,0.4,0 cargo run -p unpause --example wal
//
// the trace file, replayed, ends with the same failure
//
// passed  wal_name_not_synced_fixed: 1000 runs, 26228 steps
//
// FAILED  wal_told_early  seed 0: main panicked
//
//   1 records were told, and recovery found 0
//
//   at          examples/wal.rs:141:9
//   tested      1 run of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      from 26 steps, 3 preemptions, 4 draws to 21 steps, 0 preemptions, 1 draw (1101
//               replays)
//   why         it fails in every run with the values drawn here (proved: all 8 interleavings fail)
//
// ── schedule ── 21 steps, 8 switches, 0 preemptions, 1 value drawn ──────────────────────────────────
//
//   step  main               db                   0.1           0.3                              place
//      0  start
//      1  store atomic := 0                                                     examples/wal.rs:132:10
//         spawn 0.0 db                                                           examples/wal.rs:134:8
//         spawn 0.1                                                             examples/wal.rs:113:20
//      2  │                                       power_off db                  examples/wal.rs:114:12
//         │                                       restart db                    examples/wal.rs:115:12
//      3  join 0.1                                                              examples/wal.rs:113:20
//         spawn 0.2 db                                                           examples/wal.rs:136:8
//      4  │                  0.2: start
//      5  │                  0.2: open /log                                      examples/wal.rs:64:69
//      6  │                  0.2: open /                                         examples/wal.rs:67:13
//      7  │                  0.2: sync_all directory /                           examples/wal.rs:67:38
//      8  │                  0.2: read file /log = 0                             examples/wal.rs:70:14
//      9  │                  0.2: write file /log = 4                            examples/wal.rs:83:19
//     10  │                  0.2: store atomic := 1                             examples/wal.rs:106:14
//     11  join 0.2 db        │                                                   examples/wal.rs:136:8
//         spawn 0.3          │                                                  examples/wal.rs:113:20
//     12  │                  │                                  power_off db    examples/wal.rs:114:12
//         │                  │                                  restart db      examples/wal.rs:115:12
//     13  join 0.3           │                                                  examples/wal.rs:113:20
//         spawn 0.4 db       │                                                  examples/wal.rs:138:24
//     14  load atomic = 1    │                                                  examples/wal.rs:139:21
//     15  │                  0.4: start
//     16  │                  0.4: open /log                                      examples/wal.rs:64:69
//     17  │                  0.4: open /                                         examples/wal.rs:67:13
//     18  │                  0.4: sync_all directory /                           examples/wal.rs:67:38
//     19  │                  0.4: read file /log = 0                             examples/wal.rs:70:14
//         │                  0.4: finds an old length of file /log               examples/wal.rs:70:14
//         │                  0.4: draw 1 below 2
//     20  join 0.4 db                                                           examples/wal.rs:138:24
//         panics                                                                 examples/wal.rs:141:9
//
//   atomic       created at examples/wal.rs:131:25
//   db           node, used first at examples/wal.rs:133:14
//   directory /  directory, used first at examples/wal.rs:64:69
//   /log         path, used first at examples/wal.rs:64:69
//   file /log    file, created at examples/wal.rs:64:69
//   /            path, used first at examples/wal.rs:67:13
//
// trace:   target/sim/unpause/example-wal.wal_told_early/0.simtrace
// replay:  SIM_REPLAY=sim2:0x2,0.1,0,0.2x7,0,0.3=0/2,0x2,0.4x4,0.4=1/2,0 cargo run -p unpause --example wal
//
// the trace file, replayed, ends with the same failure
//
// passed  wal_told_early_fixed: 1000 runs, 26228 steps
//
// FAILED  wal_tail_kept  seed 197: main panicked
//
//   1 records were told, and recovery found 0
//
//   at          examples/wal.rs:141:9
//   tested      198 runs of seeds 0 to 999, portfolio
//   shrunk      nothing could be removed from 30 steps, 1 preemption (1789 replays)
//   why         between `write` (wal.rs:83) and `sync_data` (:88) of 0.0 db, which it did not get to,
//               came `write file /log = 4` (:83) and `sync_data file /log` (:88) of 0.2 db
//               0.0 db  wal.rs:83 | self.file.write_all(&encode(self.records)).await?;
//               0.2 db        :83 | self.file.write_all(&encode(self.records)).await?;
//               0.2 db        :88 | _ => self.file.sync_data().await?,
//               0.0 db        :88 | _ => self.file.sync_data().await?,
//   remedy      as one step, wal.rs:83 to :88: all 8 interleavings pass (proved; it keeps 8 of the 8
//               that pass now)
//   chances     3 % of all schedules fail, all after step 8 (proved) with the values drawn here
//
// ── schedule ── 30 steps, 9 switches, 1 preemption, 3 values drawn ──────────────────────────────────
//
//   step  main            db              0.1           0.3              P                       place
//      0  start                                                        .03
//      1  store atomic := 0                                                     examples/wal.rs:132:10
//         spawn 0.0 db                                                           examples/wal.rs:134:8
//         spawn 0.1                                                             examples/wal.rs:113:20
//      2  │               0.0: start
//      3  │               0.0: open /log                                         examples/wal.rs:64:69
//      4  │               0.0: open /                                  .08       examples/wal.rs:67:13
//      5  │               0.0: sync_all directory /                              examples/wal.rs:67:38
//      6  │               0.0: read file /log = 0                                examples/wal.rs:70:14
//      7  │               0.0: write file /log = 4                               examples/wal.rs:83:19
//         │               ├─ preempted ───┐
//      8  │               │               power_off db                   1 ◂    examples/wal.rs:114:12
//         │               │               restart db                            examples/wal.rs:115:12
//   no way back: every schedule fails from here on (proved)
//      9  join 0.1        │                                                     examples/wal.rs:113:20
//         spawn 0.2 db    │                                                      examples/wal.rs:136:8
//     10  │               0.2: start
//     11  │               0.2: open /log                                         examples/wal.rs:64:69
//     12  │               0.2: open /                                            examples/wal.rs:67:13
//     13  │               0.2: sync_all directory /                              examples/wal.rs:67:38
//     14  │               0.2: read file /log = 4                                examples/wal.rs:70:14
//         │               0.2: finds old bytes in file /log                      examples/wal.rs:70:14
//         │               0.2: draw 1 below 4
//         │               0.2: draw 0 below 2
//         │               0.2: draw 1 below 2
//     15  │               0.2: read file /log = 0                                examples/wal.rs:70:14
//     16  │               0.2: write file /log = 4                               examples/wal.rs:83:19
//     17  │               0.2: sync_data file /log                               examples/wal.rs:88:28
//     18  │               0.2: store atomic := 1                                examples/wal.rs:106:14
//     19  join 0.2 db     │                                                      examples/wal.rs:136:8
//         spawn 0.3       │                                                     examples/wal.rs:113:20
//     20  │               │                             power_off db            examples/wal.rs:114:12
//         │               │                             restart db              examples/wal.rs:115:12
//     21  join 0.3        │                                                     examples/wal.rs:113:20
//         spawn 0.4 db    │                                                     examples/wal.rs:138:24
//     22  load atomic = 1 │                                                     examples/wal.rs:139:21
//     23  │               0.4: start
//     24  │               0.4: open /log                                         examples/wal.rs:64:69
//     25  │               0.4: open /                                            examples/wal.rs:67:13
//     26  │               0.4: sync_all directory /                              examples/wal.rs:67:38
//     27  │               0.4: read file /log = 8                                examples/wal.rs:70:14
//     28  │               0.4: read file /log = 0                                examples/wal.rs:70:14
//     29  join 0.4 db                                                           examples/wal.rs:138:24
//         panics                                                                 examples/wal.rs:141:9
//
//   atomic       created at examples/wal.rs:131:25
//   db           node, used first at examples/wal.rs:133:14
//   directory /  directory, used first at examples/wal.rs:64:69
//   /log         path, used first at examples/wal.rs:64:69
//   file /log    file, created at examples/wal.rs:64:69
//   /            path, used first at examples/wal.rs:67:13
//
// trace:   target/sim/unpause/example-wal.wal_tail_kept/197.simtrace
// replay:  SIM_REPLAY=sim2:0x2,0.0x6,0.1=1/2,0,0.2x4,0.2=1/4=0/2=1/2,0.2x4,0,0.3=0/2,0x2,0.4x6,0 cargo run -p unpause --example wal
//
// the trace file, replayed, ends with the same failure
//
// passed  wal_tail_kept_fixed: 1000 runs, 26228 steps
//
// FAILED  wal_sync_retried  seed 1: main panicked
//
//   1 records were told, and recovery found 0
//
//   at          examples/wal.rs:141:9
//   tested      2 runs of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      from 23 steps, 1 preemption to 23 steps, 0 preemptions (1070 replays)
//   chances     87 % of all schedules fail, all after step 2 (proved) with the values drawn here
//
// ── schedule ── 23 steps, 8 switches, 0 preemptions, 6 values drawn ─────────────────────────────────
//
//   step  main            db              0.1           0.3              P                       place
//      0  start                                                        .87
//      1  store atomic := 0                                                     examples/wal.rs:132:10
//         spawn 0.0 db                                                           examples/wal.rs:134:8
//         spawn 0.1                                                             examples/wal.rs:113:20
//      2  │                               power_off db                   1 ◂    examples/wal.rs:114:12
//         │                               restart db                            examples/wal.rs:115:12
//   no way back: every schedule fails from here on (proved)
//      3  join 0.1                                                              examples/wal.rs:113:20
//         spawn 0.2 db                                                           examples/wal.rs:136:8
//      4  │               0.2: start
//      5  │               0.2: open /log                                         examples/wal.rs:64:69
//      6  │               0.2: open /                                            examples/wal.rs:67:13
//      7  │               0.2: sync_all directory /                              examples/wal.rs:67:38
//         │               0.2: draw 0 below 4
//      8  │               0.2: read file /log = 0                                examples/wal.rs:70:14
//      9  │               0.2: write file /log = 4                               examples/wal.rs:83:19
//     10  │               0.2: sync_data file /log failed                        examples/wal.rs:87:55
//         │               0.2: draw 3 below 4
//         │               0.2: draw 1 below 3
//     11  │               0.2: sync_data file /log                               examples/wal.rs:87:55
//         │               0.2: draw 0 below 4
//     12  │               0.2: store atomic := 1                                examples/wal.rs:106:14
//     13  join 0.2 db     │                                                      examples/wal.rs:136:8
//         spawn 0.3       │                                                     examples/wal.rs:113:20
//     14  │               │                             power_off db            examples/wal.rs:114:12
//         │               │                             restart db              examples/wal.rs:115:12
//     15  join 0.3        │                                                     examples/wal.rs:113:20
//         spawn 0.4 db    │                                                     examples/wal.rs:138:24
//     16  load atomic = 1 │                                                     examples/wal.rs:139:21
//     17  │               0.4: start
//     18  │               0.4: open /log                                         examples/wal.rs:64:69
//     19  │               0.4: open /                                            examples/wal.rs:67:13
//     20  │               0.4: sync_all directory /                              examples/wal.rs:67:38
//         │               0.4: draw 0 below 4
//     21  │               0.4: read file /log = 0                                examples/wal.rs:70:14
//         │               0.4: finds an old length of file /log                  examples/wal.rs:70:14
//         │               0.4: draw 2 below 4
//     22  join 0.4 db                                                           examples/wal.rs:138:24
//         panics                                                                 examples/wal.rs:141:9
//
//   atomic       created at examples/wal.rs:131:25
//   db           node, used first at examples/wal.rs:133:14
//   directory /  directory, used first at examples/wal.rs:64:69
//   /log         path, used first at examples/wal.rs:64:69
//   file /log    file, created at examples/wal.rs:64:69
//   /            path, used first at examples/wal.rs:67:13
//
// trace:   target/sim/unpause/example-wal.wal_sync_retried/1.simtrace
// replay:  SIM_REPLAY=sim2:0=1/2,0,0.1,0,0.2x3,0.2=0/4,0.2x2,0.2=3/4=1/3,0.2=0/4,0.2,0,0.3=1/2,0x2,0.4x3,0.4=0/4,0.4=2/4,0 cargo run -p unpause --example wal
//
// the trace file, replayed, ends with the same failure
//
// passed  wal_sync_retried_fixed: 1000 runs, 24861 steps
//
// passed  wal_proved: explored all 13 interleavings, 358 steps
//         (assumes that tasks share memory through sim only)
//
// passed  wal_sync_errors_proved: explored all 416 interleavings, 10598 steps
//         (assumes that tasks share memory through sim only)
