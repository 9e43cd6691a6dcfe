//! Queues of parking_lot, and its condition variables: an operation takes few steps of a search.
//!
//! A notification acts as if it took effect at one moment, at which it holds the lock of its queue. A wait has these
//! moments: the thread joins the queue; it releases the mutex and waits; it continues; it acquires the mutex. Another
//! thread may act between two of them. For example, it may see by `try_lock` that the mutex is still held by a thread
//! that a notification has already found in the queue.
//!
//! An operation repeats code while it holds the lock of a queue: it looks at each thread in the queue. This code
//! belongs to the same step, so no thread ever waits for the lock of a queue.
//!
//! A call that locks or unlocks the mutex is an [operation of its own](super::locks). If its first access fails,
//! because threads are in the queue of the mutex, the rest of the call belongs to its step.

use unpause_native::Frame;

use super::locks::LockStep;
use crate::run::functions::last_name;

/// The files with operations that take few steps, and their packages.
const FILES: &[(&str, &str)] = &[
    ("/parking_lot-", "/condvar.rs"),
    ("/parking_lot-", "/raw_mutex.rs"),
    ("/parking_lot-", "/once.rs"),
    ("/dashmap-", "/src/lock.rs"),
];

/// The functions that access the keys of waiting threads only while they hold the lock of the queue.
const GUARDED: &[&str] = &["park", "unpark_one", "unpark_all", "unpark_requeue", "unpark_filter"];
/// The functions that these functions call for each thread that continues.
const FOR_EACH: &[&str] = &["unpark_lock", "unpark"];
/// The functions of a call that wants a lock and tries some times to get it, before it waits.
const TRIES: &[&str] = &["lock_slow", "lock_exclusive_slow", "lock_shared_slow", "call_once_slow"];

/// Returns those functions, innermost first, that belong to an operation on a queue of parking_lot. Returns `None` if
/// there are none within the innermost function of other code.
pub(super) fn operation(frames: &[Frame]) -> Option<&[Frame]> {
    let is_between = |frame: &&Frame| {
        frame.is_of_std() || is_of_queues(frame) || is_of_lock_crate(frame) || is_known(frame)
    };
    let inner = &frames[..frames.iter().take_while(is_between).count()];
    let is_other = |frame: &Frame| is_of_raw(frame) && !is_known(frame);
    if inner.iter().any(is_other) {
        return None;
    }
    let outermost = inner.iter().rposition(|frame| is_of_queues(frame) || is_known(frame))?;
    Some(&inner[..=outermost])
}

/// Returns `true` for an access that an operation repeats while it holds the lock of a queue, or for each of the
/// threads that it has taken from the queue.
pub(super) fn repeats(operation: &[Frame]) -> bool {
    let Some(inner) = operation.iter().find(is_outside_of_core) else { return false };
    let names: &[&str] = match () {
        () if inner.file.ends_with("/parking_lot.rs") => GUARDED,
        () if inner.file.contains("/thread_parker/") => FOR_EACH,
        () => return false,
    };
    is_of_queues(inner) && names.contains(&last_name(&inner.function))
}

/// Returns `true` for an access or a yield with which a call tries to get a lock. A call does not end after it has
/// failed to get it, so all tries can be at one moment.
pub(super) fn is_try(operation: &[Frame]) -> bool {
    let mut outside = operation.iter().filter(is_outside_of_core);
    let is_pause = |frame: &Frame| {
        let names = ["spin", "spin_no_yield", "thread_yield"];
        frame.is_of_std() || is_of_queues(frame) && names.contains(&last_name(&frame.function))
    };
    let inner = outside.find(|frame| !is_pause(frame));
    inner.is_some_and(|frame| is_known(frame) && TRIES.contains(&last_name(&frame.function)))
}

fn is_outside_of_core(frame: &&Frame) -> bool {
    !frame.file.contains("/library/core/src/")
}

/// Returns `true` for an access with which a call of a lock begins.
pub(super) fn is_of_lock(operation: &[Frame]) -> bool {
    LockStep::of(operation).is_some()
}

fn is_of_queues(frame: &Frame) -> bool {
    frame.file.contains("/parking_lot_core-")
}

fn is_of_raw(frame: &Frame) -> bool {
    frame.file.contains("/parking_lot-")
}

fn is_of_lock_crate(frame: &Frame) -> bool {
    is_of_raw(frame) || frame.file.contains("/lock_api-")
}

fn is_known(frame: &Frame) -> bool {
    let is_in =
        |file: &str, package: &str| frame.file.ends_with(file) && frame.file.contains(package);
    FILES.iter().any(|(package, file)| is_in(file, package))
}
