//! A write-ahead log, correct and with planted bugs, under all crash points, disk states and failed syncs.
//!
//! A record has four bytes, two sectors: a mark, a sequence number, a value, a checksum. A life opens the log, which
//! gives the records found, and appends. The life ends in a power failure, in a kill, which leaves the page cache, or
//! of itself. Acknowledged records are a prefix of the records that the next life finds; these are a prefix of the
//! written records.

use std::path::Path;

use super::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bug {
    None,
    /// The directory is not synced.
    NoDirectory,
    /// The directory is synced only by the life that made the file.
    DirectoryOnce,
    AcknowledgedFirst,
    NoChecksum,
    NoTruncation,
    NoSequenceNorTruncation,
    /// A failed sync is tried again.
    Retry,
    /// Recovery returns records that may be only in the page cache.
    UnsyncedRecovery,
}

const RECORD: u64 = 4;
const LOG: &str = "/wal";

/// The end of a life before its program ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Death {
    PowerOff,
    Kill,
    /// The program gave up.
    Stopped,
}

/// One life of a program that uses the log.
struct Life<'a> {
    bug: Bug,
    disk: &'a mut Disk,
    draw: Draw<'a>,
    /// True if the last recovery is not disturbed.
    is_last: bool,
    /// True to crash also before calls that sync nothing.
    everywhere: bool,
    /// The number of further syncs that may fail.
    errors: u64,
    asked: Vec<u8>,
    acknowledged: Vec<u8>,
    found: Vec<u8>,
    /// The recovery ended.
    recovered: bool,
}

impl Life<'_> {
    /// A place where a crash can matter.
    fn point(&mut self) -> Result<(), Death> {
        match if self.is_last { 0 } else { (self.draw)(3) } {
            0 => Ok(()),
            1 => Err(Death::PowerOff),
            _ => Err(Death::Kill),
        }
    }

    fn before_change(&mut self) -> Result<(), Death> {
        if self.everywhere { self.point() } else { Ok(()) }
    }

    fn call(&mut self) -> Call<'_> {
        self.disk.call(self.draw)
    }

    fn sync(&mut self, path: &str) -> Result<(), Death> {
        self.point()?;
        for _ in 0..if self.bug == Bug::Retry { 2 } else { 1 } {
            let fails = self.errors > 0 && !self.is_last && (self.draw)(2) == 1;
            self.errors -= u64::from(fails);
            let mut call = self.call();
            let handle = call.open(Path::new(path), READ).unwrap();
            let fate = if fails { SyncFate::FailsAndKeeps } else { SyncFate::Succeeds };
            let synced = call.sync(handle, fate);
            self.disk.close(handle);
            if synced.is_ok() {
                return Ok(());
            }
        }
        Err(Death::Stopped)
    }

    fn record(&self, seq: usize, value: u8) -> [u8; RECORD as usize] {
        let seq = if self.bug == Bug::NoSequenceNorTruncation { 1 } else { seq as u64 };
        let sum = b'A' + ((u64::from(value) * 7 + seq * 3) % 26) as u8;
        let sum = if self.bug == Bug::NoChecksum { b'X' } else { sum };
        [b'R', b'0' + seq as u8, value, sum]
    }

    fn open(&mut self) -> Result<(), Death> {
        let is_new = self.call().metadata(Path::new(LOG)).is_err();
        if is_new {
            self.before_change()?;
            let handle = self.call().open(Path::new(LOG), CREATE).unwrap();
            self.disk.close(handle);
        }
        let is_synced = match self.bug {
            Bug::NoDirectory => false,
            Bug::DirectoryOnce => is_new,
            _ => true,
        };
        if is_synced {
            self.sync("/")?;
        }
        let mut call = self.disk.call(self.draw);
        let handle = call.open(Path::new(LOG), OpenOptions { write: true, ..READ }).unwrap();
        let mut data = vec![0; call.handle_metadata(handle).unwrap().len as usize];
        call.read(handle, &mut data).unwrap();
        for record in data.chunks_exact(RECORD as usize) {
            let is_valid = match self.bug {
                Bug::NoChecksum => record[0] == b'R',
                _ => record == self.record(self.found.len(), record[2]),
            };
            if !is_valid {
                break;
            }
            self.found.push(record[2]);
        }
        let valid = RECORD * self.found.len() as u64;
        let truncates = !matches!(self.bug, Bug::NoTruncation | Bug::NoSequenceNorTruncation);
        if truncates && data.len() as u64 > valid {
            self.before_change()?;
            self.call().set_len(handle, valid).unwrap();
            self.sync(LOG)?;
        } else if self.bug != Bug::UnsyncedRecovery {
            self.sync(LOG)?;
        }
        self.disk.close(handle);
        Ok(())
    }

    fn append(&mut self, nth: usize, value: u8) -> Result<(), Death> {
        self.before_change()?;
        self.asked.push(value);
        let seq = self.found.len() + nth;
        let record = self.record(seq, value);
        let mut call = self.call();
        let handle = call.open(Path::new(LOG), WRITE).unwrap();
        assert_eq!(call.write_at(handle, RECORD * seq as u64, &record), Ok(record.len()));
        self.disk.close(handle);
        if self.bug == Bug::AcknowledgedFirst {
            self.acknowledge(value)?;
            return self.sync(LOG);
        }
        self.sync(LOG)?;
        self.acknowledge(value)
    }

    fn acknowledge(&mut self, value: u8) -> Result<(), Death> {
        self.acknowledged.push(value);
        self.point()
    }

    fn live(&mut self, values: &[u8]) -> Result<(), Death> {
        self.open()?;
        self.recovered = true;
        values.iter().enumerate().try_for_each(|(nth, value)| self.append(nth, *value))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Correct,
    /// An acknowledged record, or a record that a recovery returned, is lost.
    Lost,
    /// A recovery returns a record that was never appended, or was lost before.
    Phantom,
}

fn run(settings: (Rules, Bug, bool), lives: &[&[u8]], errors: u64, draw: Draw<'_>) -> Verdict {
    let (rules, bug, everywhere) = settings;
    let mut disk = disk(rules);
    let (mut held, mut asked) = (Vec::new(), Vec::new());
    for (n, values) in lives.iter().chain([&&[][..]]).enumerate() {
        let mut life = Life {
            bug,
            disk: &mut disk,
            draw,
            is_last: n == lives.len(),
            everywhere,
            errors: if n == 0 { errors } else { 0 },
            asked: Vec::new(),
            acknowledged: Vec::new(),
            found: Vec::new(),
            recovered: false,
        };
        let end = life.live(values);
        let Life { asked: more, acknowledged, found, recovered, .. } = life;
        // If a life dies during its recovery, the recovery has returned nothing.
        if recovered {
            if !found.starts_with(&held) {
                return Verdict::Lost;
            }
            if !asked.starts_with(&found) {
                return Verdict::Phantom;
            }
            held = found.clone();
            asked = found;
        }
        held.extend(acknowledged);
        asked.extend(more);
        if end == Err(Death::Kill) {
            assert!(disk.open.len() <= 1);
            disk.open.clear();
        } else {
            disk.power_off();
        }
    }
    Verdict::Correct
}

/// The number of runs, the number of failing runs, and a failing run with the fewest answers other
/// than 0.
fn explore(
    settings: (Rules, Bug, bool),
    lives: &[&[u8]],
    errors: u64,
) -> (usize, usize, Option<(Verdict, usize)>) {
    let runs = enumerate(|draw| run(settings, lives, errors, draw));
    let failing = runs.iter().filter(|(verdict, _)| *verdict != Verdict::Correct);
    let worst = failing
        .clone()
        .map(|(verdict, answers)| (*verdict, answers.iter().filter(|answer| **answer > 0).count()));
    (runs.len(), failing.count(), worst.min_by_key(|(_, count)| *count))
}

const JOURNAL: Rules = Rules { rename_flushes: false, ..Rules::EXT4 };

#[track_caller]
fn assert_explored(
    bug: Bug,
    lives: &[&[u8]],
    errors: u64,
    posix: (usize, usize, Option<(Verdict, usize)>),
    journal: (usize, usize),
) {
    assert_eq!(explore((Rules::POSIX, bug, false), lives, errors), posix, "{bug:?}");
    let (runs, failing, _) = explore((JOURNAL, bug, false), lives, errors);
    assert_eq!((runs, failing), journal, "{bug:?} under a journal");
    for (rules, fails) in [(Rules::POSIX, posix.1 > 0), (JOURNAL, journal.1 > 0)] {
        let (more, failing, _) = explore((rules, bug, true), lives, errors);
        assert!(
            more > 0 && (failing > 0) == fails,
            "{bug:?}: a crash before a call that syncs nothing"
        );
    }
}

#[test]
fn a_correct_log_survives_every_crash() {
    assert_explored(Bug::None, &[b"AB", b"C"], 1, (486, 0, None), (301, 0));
}

#[test]
fn a_name_that_is_not_synced_is_lost() {
    assert_explored(Bug::NoDirectory, &[b"A"], 0, (15, 2, Some((Verdict::Lost, 1))), (9, 0));
}

#[test]
fn a_name_in_the_page_cache_alone_is_lost() {
    assert_explored(
        Bug::DirectoryOnce,
        &[b"", b"A"],
        0,
        (73, 2, Some((Verdict::Lost, 2))),
        (52, 0),
    );
}

#[test]
fn a_record_acknowledged_before_its_sync_is_lost() {
    assert_explored(Bug::AcknowledgedFirst, &[b"A"], 0, (18, 8, Some((Verdict::Lost, 2))), (12, 2));
}

#[test]
fn a_torn_record_without_checksum_is_a_phantom() {
    assert_explored(Bug::NoChecksum, &[b"A"], 0, (14, 1, Some((Verdict::Phantom, 2))), (11, 0));
}

#[test]
fn a_tail_that_is_not_truncated_rises() {
    assert_explored(
        Bug::NoTruncation,
        &[b"AB", b"C"],
        0,
        (298, 2, Some((Verdict::Phantom, 4))),
        (164, 0),
    );
}

#[test]
fn a_tail_without_sequence_numbers_rises() {
    assert_explored(
        Bug::NoSequenceNorTruncation,
        &[b"AB", b"C"],
        0,
        (298, 2, Some((Verdict::Phantom, 4))),
        (164, 0),
    );
}

#[test]
fn a_sync_tried_again_covers_nothing() {
    assert_explored(Bug::Retry, &[b"A"], 1, (49, 10, Some((Verdict::Lost, 2))), (34, 6));
}

#[test]
fn records_recovered_from_the_page_cache_alone_are_lost() {
    assert_explored(
        Bug::UnsyncedRecovery,
        &[b"A", b"B"],
        0,
        (163, 16, Some((Verdict::Lost, 3))),
        (75, 0),
    );
}
