//! The objects of open descriptors of real files. A call on a descriptor reads its object, and `close` changes it. So a
//! search tries the order in which a thread closes a descriptor that another thread still uses.
//!
//! The kernel gives the lowest free number to the next descriptor. So a thread with the number of a closed descriptor
//! may use the file that another thread has opened since. Its calls then also read the object of the closed descriptor.
//!
//! # Limits
//!
//! Descriptors that libc functions other than `open`, `dup`, `mkstemp` and their relatives have opened have no object.
//! Only the last descriptor that had the same number counts.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use super::super::names::name_of;
use super::super::places;
use super::super::thread::current;
use super::calls::{at_once, result};
use super::disk::{duplicated, errno, is_seen};
use super::locks::{self, LOCKS};
use super::transfer::{Use, operate};
use super::{KEY, Net};

/// The kind of the object of a descriptor.
pub(super) const KIND: &str = "descriptor";

/// The objects of a number.
#[derive(Clone, Copy, Default)]
struct Handle {
    /// The object of the open descriptor.
    now: Option<u64>,
    /// The object of the last descriptor that had the number and was closed.
    before: Option<u64>,
    /// The return address of the call that has opened the descriptor.
    opened_at: usize,
}

/// Returns `true` for a return address in Rust code of the program.
fn is_of_rust(address: usize) -> bool {
    /// The answers, by address.
    static KNOWN: Mutex<BTreeMap<usize, bool>> = Mutex::new(BTreeMap::new());
    let is_one =
        || places::frames(address).first().is_some_and(|inner| inner.file.ends_with(".rs"));
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(address).or_insert_with(is_one)
}

/// The objects of the descriptors that the run has opened.
#[derive(Default)]
pub(super) struct Handles {
    handles: BTreeMap<c_int, Handle>,
    /// The number of times that each thread has opened each file, by path of the thread and object of the file.
    opened: BTreeMap<(u64, u64), u64>,
}

impl Handles {
    /// Records a new descriptor with this object, opened by a call with this return address.
    fn open(&mut self, descriptor: c_int, object: u64, opened_at: usize) {
        self.close(descriptor);
        let handle = self.handles.entry(descriptor).or_default();
        (handle.now, handle.opened_at) = (Some(object), opened_at);
    }

    /// Records that a descriptor is closed.
    pub(super) fn close(&mut self, descriptor: c_int) {
        let Some(handle) = self.handles.get_mut(&descriptor) else { return };
        handle.before = handle.now.take().or(handle.before);
    }

    /// Returns `true` if the run has closed a descriptor with this number, and has not opened another one.
    pub(super) fn is_closed(&self, descriptor: c_int) -> bool {
        self.handles.get(&descriptor).is_some_and(|handle| handle.now.is_none())
    }

    /// Returns the open descriptors that Rust code has opened.
    pub(super) fn left_open_by_rust(&self) -> impl Iterator<Item = c_int> {
        let is_left =
            |(_, handle): &(_, &Handle)| handle.now.is_some() && is_of_rust(handle.opened_at);
        self.handles.iter().filter(is_left).map(|(descriptor, _)| *descriptor)
    }

    /// Returns the object of a descriptor, or of the last one that had its number.
    fn object(&self, descriptor: c_int) -> Option<u64> {
        let handle = self.handles.get(&descriptor)?;
        handle.now.or(handle.before)
    }
}

impl Net {
    /// Records that the current thread has opened a real descriptor. The key of its object depends on the thread and
    /// on the file, but not on other threads. So a file that std opens in the first run only changes no other key.
    /// `opened_at` is the return address of the call.
    pub(super) fn open_handle(&mut self, descriptor: c_int, opened_at: usize) {
        let (path, file) = (self.path, self.disk.target_of(descriptor).file.unwrap_or_default());
        let opened = self.disk.handles.opened.entry((path, file)).or_default();
        *opened += 1;
        let nth = *opened;
        // A call that was announced for the closed descriptor uses the new file.
        self.disk.version += u64::from(self.disk.handles.is_closed(descriptor));
        let name = name_of(name_of(path, file), nth);
        self.disk.handles.open(descriptor, (name >> 3) | KEY, opened_at);
    }

    /// Records that the current operation, with this object, uses a real descriptor.
    pub(super) fn use_handle(&mut self, object: u64, descriptor: c_int, how: Use) {
        let Some(Handle { now, before, .. }) = self.disk.handles.handles.get(&descriptor).copied()
        else {
            return;
        };
        if let Some(now) = now {
            self.use_one(object, (now, KIND), how);
        }
        // The thread that has opened the descriptor does not expect the closed one.
        let is_own = self.disk.owners.get(&descriptor) == Some(&self.path);
        if let Some(before) = before.filter(|_| now.is_none() || !is_own) {
            self.use_one(object, (before, KIND), Use::Reads);
        }
    }
}

/// Performs a call that duplicates a real descriptor. Returns the duplicate.
pub(super) fn duplicate(frame: usize, descriptor: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = current() else { return call() };
    let object = at_once(thread, |net| net.disk.handles.object(descriptor));
    if let Some(object) = object.filter(|_| is_seen(frame)) {
        let about = (object, KIND, "dup");
        let announced = operate(thread, frame, about, (false, None), |net| {
            net.use_handle(object, descriptor, Use::Reads);
            Ok(0)
        });
        debug_assert_eq!(announced, Ok(0));
    }
    duplicated(frame, descriptor, call())
}

/// Performs a call that closes a real descriptor. Other threads can observe this, also if the descriptor holds a lock.
pub(super) fn close(frame: usize, descriptor: c_int, mut call: impl FnMut() -> c_int) -> c_int {
    let Some(thread) = current() else { return call() };
    let (has_lock, object) = at_once(thread, |net| {
        (net.disk.locks.may_hold(descriptor), net.disk.handles.object(descriptor))
    });
    let (object, kind) = match object.filter(|_| is_seen(frame)) {
        _ if has_lock => (LOCKS, locks::KIND),
        Some(object) => (object, KIND),
        None => {
            at_once(thread, |net| net.disk.forget(descriptor));
            return call();
        }
    };
    result(operate(thread, frame, (object, kind, "close"), (false, None), |net| {
        let has_lock = net.disk.locks.may_hold(descriptor);
        let answer = if call() == 0 { Ok(0) } else { Err(errno()) };
        let how = if answer.is_ok() { Use::Changes } else { Use::Reads };
        net.use_handle(object, descriptor, how);
        if has_lock {
            net.use_one(object, (LOCKS, locks::KIND), how);
            if answer.is_ok() {
                // Threads that wait for the lock try again, also if another thread has locked the file meanwhile.
                net.change(LOCKS);
            }
        }
        net.disk.forget(descriptor);
        answer
    }))
}
