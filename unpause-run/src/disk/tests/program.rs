//! Programs of calls by path, for the model and for the reference.

use super::*;
use crate::run::rng::Rng;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Act {
    Mkdir(&'static str),
    Create(&'static str),
    Write(&'static str, u64, Vec<u8>),
    Append(&'static str, Vec<u8>),
    /// Stores into a mapped file.
    Store(&'static str, u64, Vec<u8>),
    /// Syncs these bytes of a mapped file.
    Flush(&'static str, u64, u64),
    /// A flush that fails.
    FailFlush(&'static str, u64, u64),
    Truncate(&'static str, u64),
    Rename(&'static str, &'static str),
    Link(&'static str, &'static str),
    Unlink(&'static str),
    Rmdir(&'static str),
    Sync(&'static str),
    /// A failing sync. Reads still find the written bytes.
    FailSync(&'static str),
    /// Everything is on disk. Not a call: each file and directory is synced.
    SyncAll,
}

pub(super) const PATHS: [&str; 5] = ["/a", "/b", "/d", "/d/a", "/d/b"];

impl Act {
    /// Executes the call. Errors of the call are ignored, because the reference does nothing in the same cases.
    pub(super) fn on(&self, disk: &mut Disk, draw: Draw<'_>) -> Accesses {
        if *self == Act::SyncAll {
            let mut accesses = Accesses::default();
            for path in ["/"].iter().chain(&PATHS).chain(&["/f", "/t", "/1", "/2", "/log", "/db"]) {
                accesses = Act::Sync(path).on(disk, draw);
            }
            return accesses;
        }
        let mut call = disk.call(draw);
        let mut handle = None;
        let _ = self.calls(&mut call, &mut handle);
        let accesses = call.accesses;
        handle.into_iter().for_each(|handle| disk.close(handle));
        accesses
    }

    fn calls(&self, call: &mut Call<'_>, opened: &mut Option<Handle>) -> Result<(), Error> {
        let mut open = |call: &mut Call<'_>, path: &str, options| {
            let handle = call.open(Path::new(path), options)?;
            *opened = Some(handle);
            Ok(handle)
        };
        match self {
            Act::Mkdir(path) => call.create_dir(Path::new(path))?,
            Act::Create(path) => drop(open(call, path, CREATE)?),
            Act::Write(path, at, bytes) => {
                let handle = open(call, path, WRITE)?;
                assert_eq!(call.write_at(handle, *at, bytes)?, bytes.len());
            }
            Act::Append(path, bytes) => {
                let handle = open(call, path, OpenOptions { write: false, append: true, ..WRITE })?;
                assert_eq!(call.write(handle, bytes)?, bytes.len());
            }
            Act::Store(path, at, bytes) => {
                let handle = open(call, path, MAP)?;
                call.map(handle)?;
                let _ = call.store(handle, *at, bytes)?;
            }
            Act::Flush(path, from, to) | Act::FailFlush(path, from, to) => {
                let handle = open(call, path, MAP)?;
                call.map(handle)?;
                let fails = matches!(self, Act::FailFlush(..));
                let fate = if fails { SyncFate::FailsAndKeeps } else { SyncFate::Succeeds };
                call.flush(handle, *from..*to, fate)?;
            }
            Act::Truncate(path, len) => {
                let handle = open(call, path, WRITE)?;
                call.set_len(handle, *len)?;
            }
            Act::Rename(from, to) => call.rename(Path::new(from), Path::new(to))?,
            Act::Link(from, to) => call.hard_link(Path::new(from), Path::new(to))?,
            Act::Unlink(path) => call.remove_file(Path::new(path))?,
            Act::Rmdir(path) => call.remove_dir(Path::new(path))?,
            Act::Sync(path) | Act::FailSync(path) => {
                let handle = open(call, path, READ)?;
                let fails = matches!(self, Act::FailSync(_));
                let fate = if fails { SyncFate::FailsAndKeeps } else { SyncFate::Succeeds };
                call.sync(handle, fate)?;
            }
            Act::SyncAll => unreachable!("several calls"),
        }
        Ok(())
    }

    /// A random call, more often than not a call that changes something.
    pub(super) fn random(rng: &mut Rng, disk: &mut Disk) -> Act {
        let exists = |disk: &mut Disk, path| show(disk, path, &mut newest) != "-";
        let some =
            |rng: &mut Rng, paths: &[&'static str]| paths[rng.below(paths.len() as u64) as usize];
        let mut files = Vec::new();
        for path in PATHS.into_iter().filter(|path| *path != "/d") {
            if exists(disk, path) {
                files.push(path);
            }
        }
        if !exists(disk, "/d") && rng.below(6) == 0 {
            return Act::Mkdir("/d");
        }
        let any: Vec<&str> = PATHS.into_iter().filter(|path| *path != "/d").collect();
        if files.is_empty() || rng.below(8) == 0 {
            return Act::Create(some(rng, &any));
        }
        let file = some(rng, &files);
        let letter = |rng: &mut Rng| b"abcxyz"[rng.below(6) as usize];
        match rng.below(14) {
            0..=3 => {
                let len = 1 + rng.below(3);
                Act::Write(file, rng.below(4), (0..len).map(|_| letter(rng)).collect())
            }
            4 | 5 => Act::Append(file, vec![letter(rng)]),
            6 => Act::Truncate(file, rng.below(5)),
            7 | 8 => Act::Rename(some(rng, &PATHS), some(rng, &PATHS)),
            9 => Act::Link(file, some(rng, &any)),
            10 => Act::Unlink(file),
            11 if rng.below(3) == 0 => Act::Rmdir("/d"),
            11 | 12 => match rng.below(3) {
                0 => Act::FailSync(file),
                _ => Act::Sync(file),
            },
            _ => match rng.below(6) {
                0 | 1 => Act::Sync("/d"),
                2 => Act::FailSync("/d"),
                _ => Act::Sync("/"),
            },
        }
    }
}

/// Returns a random program. The program ends before a crash after it could leave more than `effects` effects under
/// some rules.
pub(super) fn random_program(
    rng: &mut Rng,
    calls: usize,
    effects: usize,
    all: &[Rules],
) -> Vec<Act> {
    let mut disks: Vec<Disk> = all.iter().map(|rules| disk(*rules)).collect();
    let mut program = Vec::new();
    while program.len() < calls {
        let act = Act::random(rng, &mut disks[0]);
        disks.iter_mut().for_each(|disk| drop(act.on(disk, &mut newest)));
        if disks.iter().any(|disk| disk.pending() > effects) {
            break;
        }
        program.push(act);
    }
    program
}

pub(super) fn run(program: &[Act], disk: &mut Disk, draw: Draw<'_>) {
    program.iter().for_each(|act| drop(act.on(disk, draw)));
}
