//! Locks of open files (`flock`, `F_OFD_SETLK`), which are an object of their own: they depend on no path and no
//! content.
//!
//! A thread waits for a lock in the run if a descriptor of the run may hold it. Otherwise another process holds it, and
//! the whole run waits in the kernel. The end of a run releases the locks that the run has left.
//!
//! `flock` converts a lock of the same open file. Like the kernel, it first releases the previous lock: a conversion
//! that fails or waits has lost this lock. A conversion that succeeds at once is atomic, although the manual page does
//! not promise this.

use std::collections::BTreeMap;
use std::ffi::c_int;

use super::super::clock::fail;
use super::super::thread::{Thread, current};
use super::calls::result;
use super::disk::{duplicated, errno};
use super::handles;
use super::paths::{Number, number};
use super::transfer::{Use, operate};
use super::{Answer, KEY, Net};

/// The object of all locks of open files, and its kind.
pub(super) const LOCKS: u64 = KEY | 1;
pub(super) const KIND: &str = "FileLock";

/// The locks that the descriptors of a run may hold.
#[derive(Default)]
pub(super) struct Locks {
    /// The descriptors that may hold a lock, with the numbers of their files.
    held: BTreeMap<c_int, Number>,
    /// The open file of each descriptor that has a duplicate, as a number.
    twins: BTreeMap<c_int, usize>,
    /// The number of open files with duplicates.
    files: usize,
}

impl Locks {
    /// Returns `true` if a descriptor may hold a lock.
    pub(super) fn may_hold(&self, descriptor: c_int) -> bool {
        self.held.contains_key(&descriptor)
    }

    /// Records that a descriptor is closed.
    pub(super) fn forget(&mut self, descriptor: c_int) {
        self.held.remove(&descriptor);
        self.twins.remove(&descriptor);
    }

    /// Records that a descriptor is a duplicate of another one: both hold the same lock.
    pub(super) fn duplicate(&mut self, descriptor: c_int, duplicate: c_int) {
        let file = *self.twins.entry(descriptor).or_insert_with(|| {
            self.files += 1;
            self.files
        });
        self.twins.insert(duplicate, file);
        if let Some(number) = self.held.get(&descriptor).copied() {
            self.held.insert(duplicate, number);
        }
    }

    /// Records the lock of a descriptor and of its duplicates. `None` means that they hold no lock.
    fn set(&mut self, descriptor: c_int, lock: Option<Number>) {
        let file = self.twins.get(&descriptor);
        let twins = self.twins.iter().filter(|(_, other)| Some(*other) == file);
        let all: Vec<c_int> = twins.map(|(twin, _)| *twin).chain([descriptor]).collect();
        for descriptor in all {
            match lock {
                Some(number) => _ = self.held.insert(descriptor, number),
                None => _ = self.held.remove(&descriptor),
            }
        }
    }

    /// Returns `true` if a descriptor of another open file may hold a lock of this file.
    fn has_other(&self, descriptor: c_int, number: Option<Number>) -> bool {
        let file = self.twins.get(&descriptor);
        let is_own =
            |other: &c_int| *other == descriptor || file.is_some() && self.twins.get(other) == file;
        self.held.iter().any(|(other, held)| !is_own(other) && Some(*held) == number)
    }
}

impl Drop for Locks {
    fn drop(&mut self) {
        for (descriptor, file) in &self.held {
            // The program may have closed the descriptor, and opened another file with this number.
            if number(*descriptor) == Some(*file) {
                // SAFETY: the type allows all bytes to be zero. The system calls take numbers and this value.
                unsafe {
                    let mut whole: libc::flock = std::mem::zeroed();
                    whole.l_type = libc::F_UNLCK as _;
                    libc::syscall(libc::SYS_flock, *descriptor, libc::LOCK_UN);
                    libc::syscall(
                        libc::SYS_fcntl,
                        *descriptor,
                        libc::F_OFD_SETLK,
                        &raw const whole,
                    );
                }
            }
        }
    }
}

/// Performs a call that makes `other` a duplicate of a descriptor, and closes its previous file. Returns the result.
pub(super) fn replaced(
    frame: usize,
    descriptor: c_int,
    other: c_int,
    mut call: impl FnMut() -> c_int,
) -> c_int {
    // Such a call has no effect if the descriptor is valid.
    if descriptor == other {
        return call();
    }
    let closes = handles::close(frame, other, || if call() == -1 { -1 } else { 0 });
    duplicated(frame, descriptor, if closes == 0 { other } else { -1 })
}

/// A call that acquires or releases a lock.
#[derive(Clone, Copy)]
pub(super) struct Lock {
    pub(super) name: &'static str,
    pub(super) descriptor: c_int,
    pub(super) waits: bool,
    pub(super) releases: bool,
    /// True if the call releases the previous lock of the descriptor before it acquires another one.
    pub(super) converts: bool,
}

/// Performs a call on a lock. `call` waits for the lock if its argument is `true`.
pub(super) fn lock(frame: usize, lock: Lock, mut call: impl FnMut(bool) -> c_int) -> c_int {
    let Lock { name, descriptor, waits, releases, converts } = lock;
    loop {
        let Some(thread) = current() else { return call(waits) };
        let mut has_lost = false;
        let answer = locking(thread, frame, name, waits, |net| {
            net.use_handle(LOCKS, descriptor, Use::Reads);
            let mut tried = |waits| if call(waits) == 0 { 0 } else { errno() };
            let mut error = tried(false);
            let file = number(descriptor);
            let locks = &mut net.disk.locks;
            if error == libc::EAGAIN && converts && locks.held.contains_key(&descriptor) {
                // The previous lock is released, so other threads may continue.
                locks.set(descriptor, None);
                has_lost = true;
                return Ok(0);
            }
            // No thread of the run can release a lock that only other processes hold.
            if waits && error == libc::EAGAIN && !locks.has_other(descriptor, file) {
                error = tried(true);
            }
            match error {
                0 => locks.set(descriptor, file.filter(|_| !releases)),
                _ => return Err(error),
            }
            Ok(0)
        });
        match (has_lost, waits) {
            (false, _) => return result(answer),
            (true, false) => return fail(libc::EAGAIN),
            // Waits for the other lock from now on.
            (true, true) => {}
        }
    }
}

/// Performs an operation on the locks, which changes them if it succeeds.
fn locking(
    thread: &mut Thread,
    frame: usize,
    name: &'static str,
    waits: bool,
    mut act: impl FnMut(&mut Net) -> Answer,
) -> Answer {
    operate(thread, frame, (LOCKS, KIND, name), (waits, None), |net| {
        let answer = act(net)?;
        net.change(LOCKS);
        Ok(answer)
    })
}
