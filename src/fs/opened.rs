//! Open files, which a [`File`](super::File) and its clones share. The calls on the file run on the disk of a run or
//! through std.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use super::at::At;
use super::call::{DiskCall, poll_on};
use super::lock::{FileLock, Owner};
use super::machine::{Machine, gone};
use super::real;
use super::trouble::{Befalls, SECTOR};
use crate::disk::{Call, Error, Handle, Ino, OpenOptions};
use crate::seam::{self, Here, Wrapped};

/// The result of opening a file.
pub(super) enum Opened {
    Run(Handle, Ino),
    Real(std::fs::File),
}

/// An open file, which several [`File`](super::File)s may share.
pub(super) struct Open {
    pub(super) file: Where,
    pub(super) here: Here,
    pub(super) owner: Owner,
    /// The options with which the file was opened.
    pub(super) options: OpenOptions,
    lock: OnceLock<Arc<FileLock>>,
}

pub(super) enum Where {
    Run(RunFile),
    Real(std::fs::File),
}

pub(super) struct RunFile {
    pub(super) machine: Arc<Machine>,
    pub(super) life: u64,
    pub(super) handle: Handle,
    pub(super) ino: Ino,
    mark: Arc<Wrapped>,
    pub(super) path: PathBuf,
    /// The object of the position, if several files share the position.
    position: OnceLock<Arc<Wrapped>>,
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.get() {
            lock.let_go(self.owner, self.here);
        }
        if let Where::Run(RunFile { machine, life, handle, .. }) = &self.file {
            machine.close(*life, *handle, self.here);
        }
    }
}

impl Open {
    pub(super) fn new(
        opened: Opened,
        (options, at): (OpenOptions, &At),
        path: PathBuf,
        here: Here,
    ) -> Open {
        let (file, owner) = match (opened, at.machine(here)) {
            (Opened::Run(handle, ino), Some((machine, life))) => {
                let (machine, life) = (machine.clone(), *life);
                let (mark, position) = (machine.inode(ino), OnceLock::new());
                (Where::Run(RunFile { machine, life, handle, ino, mark, path, position }), handle.0)
            }
            (Opened::Real(file), _) => (Where::Real(file), real::next_owner()),
            (Opened::Run(..), None) => unreachable!("opened on no machine"),
        };
        Open { file, here, owner, options, lock: OnceLock::new() }
    }

    /// Wraps a file of std. The system decides whether it may be read or written.
    pub(super) fn of_std(file: std::fs::File, here: Here) -> Open {
        let options = OpenOptions { read: true, write: true, ..OpenOptions::default() };
        let (file, owner) = (Where::Real(file), real::next_owner());
        Open { file, here, owner, options, lock: OnceLock::new() }
    }

    /// Creates an object for the position, because several files will share it.
    pub(super) fn share_position(&self, here: Here) {
        if let Where::Run(file) = &self.file {
            file.position.get_or_init(|| Arc::new(Wrapped::outside("position", here)));
        }
    }

    /// Executes a call that needs no `&mut` access to the std file.
    pub(super) fn poll<R>(
        &self,
        call: &mut DiskCall,
        here: Here,
        cx: &mut Context<'_>,
        act: impl FnOnce(&mut Call<'_>, &Befalls<'_>, Handle) -> Result<R, Error>,
        real: impl FnOnce(&std::fs::File) -> io::Result<R>,
        shown: impl FnOnce(&R) -> Option<u64>,
    ) -> Poll<io::Result<R>> {
        match &self.file {
            Where::Run(RunFile { machine, life, handle, mark, path, position, .. }) => {
                let act = |call: &mut Call<'_>, faults: &Befalls<'_>| act(call, faults, *handle);
                let (at, on) = (position.get().cloned(), (&**mark, &**path, here));
                poll_on(call, (machine, *life), on, cx, act, (shown, at))
            }
            Where::Real(file) => Poll::Ready(real(file)),
        }
    }

    pub(super) fn lock(&self) -> io::Result<&Arc<FileLock>> {
        if let Some(lock) = self.lock.get() {
            return Ok(lock);
        }
        let lock = match &self.file {
            Where::Run(file) => file.machine.lock(file.ino),
            Where::Real(file) => real::lock_of(file, self.here)?,
        };
        Ok(self.lock.get_or_init(|| lock))
    }

    /// Returns the lock, if a call has requested it.
    pub(super) fn known_lock(&self) -> Option<&Arc<FileLock>> {
        self.lock.get()
    }

    /// Fails if the node has died since the file was opened.
    pub(super) fn check(&self, here: Here) -> io::Result<()> {
        let Where::Run(file) = &self.file else { return Ok(()) };
        if file.machine.check_visitor(here) {
            file.machine.record_visit(here);
        }
        if file.machine.lives(file.life) { Ok(()) } else { Err(gone()) }
    }
}

fn count(moved: &usize) -> Option<u64> {
    Some(*moved as u64)
}

const BIT: &str = "the bit that changed";

/// Executes a read, with any injected faults.
fn read_in_run(
    call: &mut Call<'_>,
    faults: &Befalls<'_>,
    handle: Handle,
    at: Option<u64>,
    into: &mut [u8],
) -> Result<usize, Error> {
    let mut into = into;
    if faults.befall_reads() {
        let from = match at {
            Some(at) => at,
            None => call.seek(handle, SeekFrom::Current(0))?,
        };
        let len = call.handle_metadata(handle)?.len;
        let there = len.saturating_sub(from).min(into.len() as u64);
        if there > 0 {
            let sectors = (from / SECTOR)..=((from + there - 1) / SECTOR);
            let one = || {
                let count = sectors.end() - sectors.start() + 1;
                let nth = if count > 1 { seam::draw(count, "the sector of a fault") } else { 0 };
                sectors.start() + nth
            };
            if faults.refuses_to_read() {
                return Err(Error::BROKEN);
            }
            if faults.fails_to_read() {
                call.damage(handle, one())?;
            }
            if faults.rots_now() {
                // The bit is among the bytes that are read, because other bytes of the sector are
                // not visible in the result.
                let sector = one();
                let begin = from.max(sector * SECTOR);
                let end = (from + there).min((sector + 1) * SECTOR);
                let bit = 8 * (begin % SECTOR) + seam::draw(8 * (end - begin), BIT);
                if call.rot(handle, sector, bit)? {
                    faults.count();
                }
            } else if call.has_crashed() && faults.rots() {
                let bit = seam::draw(8 * SECTOR, BIT);
                call.rot(handle, one(), bit)?;
            }
            let most = faults.shorten(there as usize);
            into = &mut into[..most];
        }
    }
    match at {
        Some(at) => call.read_at(handle, at, into),
        None => call.read(handle, into),
    }
}

/// Executes a write, with any injected faults.
fn write_in_run(
    call: &mut Call<'_>,
    faults: &Befalls<'_>,
    handle: Handle,
    at: Option<u64>,
    bytes: &[u8],
) -> Result<usize, Error> {
    if !bytes.is_empty() && faults.is_full() {
        return Err(Error::FULL);
    }
    let bytes = &bytes[..faults.shorten(bytes.len())];
    if !bytes.is_empty() && faults.may_misdirect() {
        let (first, last, count) = call.sectors_of_write(handle, at, bytes.len() as u64)?;
        if let Some((from, to)) = faults.misdirects(first, last, count) {
            call.misdirect(from, to);
        }
    }
    match at {
        Some(at) => call.write_at(handle, at, bytes),
        None => call.write(handle, bytes),
    }
}

impl Open {
    pub(super) fn poll_read_at(
        &self,
        call: &mut DiskCall,
        (at, here): (Option<u64>, Here),
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        // Both closures need the buffer, but only one closure is called.
        let into = std::cell::RefCell::new(into);
        self.poll(
            call,
            here,
            cx,
            |call, faults, handle| read_in_run(call, faults, handle, at, &mut into.borrow_mut()),
            |mut file| match at {
                Some(at) => real::read_at(file, &mut into.borrow_mut(), at),
                None => file.read(&mut into.borrow_mut()),
            },
            count,
        )
    }

    pub(super) fn poll_write_at(
        &self,
        call: &mut DiskCall,
        (at, here): (Option<u64>, Here),
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll(
            call,
            here,
            cx,
            |call, faults, handle| write_in_run(call, faults, handle, at, bytes),
            |mut file| match at {
                Some(at) => real::write_at(file, bytes, at),
                None => file.write(bytes),
            },
            count,
        )
    }

    pub(super) fn poll_move(
        &self,
        call: &mut DiskCall,
        (to, here): (SeekFrom, Here),
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<u64>> {
        self.poll(
            call,
            here,
            cx,
            |call, _, handle| call.seek(handle, to),
            |mut file| file.seek(to),
            |at| Some(*at),
        )
    }
}
