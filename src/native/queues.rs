//! Lock calls as one operation of the lock's own code: the call either acquires the lock, or joins its queue.
//!
//! [`Calls`](Detail::Calls) admits a thread only when the lock is free, so no thread ever waits in the memory of the
//! lock. The run then misses effects of a waiting thread: for example, readers that queue behind a waiting writer. With
//! [`Instructions`](Detail::Instructions) a writer needs several steps to queue, and a run hardly ever schedules them
//! all between two reads of another thread. [`Queues`](Detail::Queues) has one point for each call, at its first
//! operation. The operations [behind](is_behind) the first one take effect in the same step, up to the end of the call
//! or to its wait. They are atomic, because no other thread runs in between.

use unpause_native::{Access, Frame};

use super::detail::Detail;
use super::sites::{REPLACEMENTS, Site};
use super::threads::with;
use crate::run::functions::last_name;

/// Returns `true` if a lock call is one operation of the lock's own code in this run.
pub(super) fn are_on() -> bool {
    with(|threads| threads.detail) == Detail::Queues
}

/// Returns `true` if an access is not a separate point in this run, because it belongs to the first step of a lock
/// call.
#[inline]
pub(super) fn takes_in(access: &Access, site: Site) -> bool {
    let follows = || site.lock.is_some_and(|part| part.follows(access));
    (site.is_behind || site.lock.is_some()) && are_on() && (site.is_behind || follows())
}

/// Returns `true` if these frames belong to a later operation of a lock call, not to its first operation. Later
/// operations are in the code for a lock that is held or has a queue.
pub(super) fn is_behind(frames: &[Frame]) -> bool {
    let is_around = |frame: &&Frame| !is_of_lock(frame) && frame.is_of_std();
    let mut of_lock =
        frames.iter().skip_while(is_around).take_while(|frame| is_of_lock(frame)).peekable();
    of_lock.peek().is_some() && of_lock.any(is_slow)
}

/// Returns `true` for a function of a lock, or of the queues of parking_lot.
fn is_of_lock(frame: &Frame) -> bool {
    let ends = |files: &[&str]| files.iter().any(|file| frame.file.ends_with(file));
    match frame.file.starts_with(REPLACEMENTS) {
        true => ends(&["/mutex.rs", "/rwlock.rs", "/c_rwlock.rs"]),
        false if frame.file.contains("/parking_lot-") => ends(&["/raw_mutex.rs", "/raw_rwlock.rs"]),
        false => frame.file.contains("/parking_lot_core-"),
    }
}

/// Returns `true` for a function that a lock call enters after its first operation.
fn is_slow(frame: &Frame) -> bool {
    let function = last_name(&frame.function);
    let ends = ["_slow", "contended", "_writer", "_or_readers"];
    let whole = ["lock_common", "wait_for_readers", "wake_parked_threads"];
    frame.file.contains("/parking_lot_core-")
        || ends.iter().any(|end| function.ends_with(end))
        || whole.contains(&function)
}

/// Tests of this file.
pub(super) mod checks {
    use super::*;

    pub(in super::super) fn operations_behind_the_first_one_of_a_call_are_known() {
        let frame = |(function, file): (&str, &str)| Frame {
            function: function.into(),
            file: file.into(),
            line: 7,
            column: 5,
        };
        let behind = |functions: &[(&str, &str)]| {
            let atomic = ("load", "/rustc/00/library/core/src/sync/atomic.rs");
            let frames: Vec<_> =
                std::iter::once(&atomic).chain(functions).copied().map(frame).collect();
            is_behind(&frames)
        };
        let raw = "/registry/src/x/parking_lot-0.12.5/src/raw_rwlock.rs";
        let core = "/registry/src/x/parking_lot_core-0.9.12/src/spinwait.rs";
        let replaced = "/rustc/unpause/replaced/rwlock.rs";
        let own = ("grow", "src/lib.rs");
        for (functions, expected) in [
            (&[("unpause_std_write_contended", replaced), own][..], true),
            (&[("wait", "/rustc/unpause/replaced/futex.rs"), ("contended", replaced), own], true),
            (&[("write", "/rustc/00/library/std/src/sys/sync/rwlock/futex.rs"), own], false),
            (&[("of_run::lock", "/rustc/unpause/replaced/mutex.rs"), own], false),
            (&[("<x::RawRwLock>::lock_shared_slow", raw), own], true),
            (
                &[("yield_now", "/rustc/00/library/std/src/thread/functions.rs"), ("spin", core)],
                true,
            ),
            (&[("<x::RawRwLock>::try_lock_shared_fast", raw), ("lock_shared", raw), own], false),
            (&[("<x::RawRwLock>::try_lock_exclusive", raw), own], false),
            (&[own, ("lock_shared_slow", raw)], false),
            (&[("wait", "/rustc/unpause/replaced/condvar.rs"), own], false),
        ] {
            assert_eq!(behind(functions), expected, "{functions:?}");
        }
    }
}
