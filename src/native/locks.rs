//! Locks of std, parking_lot and libc as single operations: a thread that wants a lock is enabled if it can acquire it.
//!
//! A lock call consists of several atomic operations: for example, a failed compare-exchange, a mark for the holder, a
//! wait, a wake, another try. Each place in that code has a [role](LockStep). The operations of one call become one
//! operation of a [`ForeignLock`], and the memory of the lock then agrees with it. The compare-exchange of an admitted
//! thread succeeds, so its code never reaches the part that waits.
//!
//! In case of doubt, the memory decides. The memory may contradict the admission of a thread if code without a role
//! also uses the lock. Examples are a `try_read`, an upgrade, and a parking_lot condition variable that requeues a
//! thread. The thread then continues with the lock's own code. Each operation of this code is a point. In a search,
//! operations of such code on a parking_lot mutex are operations on the lock, so that they conflict with its calls.
//!
//! This model is not exact for code that reads a lock while another thread holds it. If a run outside of a search steps
//! whole calls, readers do not queue behind a waiting writer. So [some runs](Detail) step the instructions of locks,
//! and others their [queues](super::queues). If a search meets such code, it starts again and steps the instructions in
//! all of its runs.
//!
//! In a search, a writer takes two operations: it queues, and acquires the lock. Readers wait while a writer queues.
//! Code that only waits for locks cannot detect if a writer queued as soon as it could, or later. So a writer may queue
//! although the lock is free. It then has the exclusive right to acquire the lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use unpause_native::{Access, Frame, Manner, Operation};

use super::detail::{self, Detail, OTHERWISE};
use super::drive::{do_quietly, perform};
use super::families::{Family, Hold};
use super::orders;
use super::sites::{REPLACEMENTS, Site};
use super::threads::with;
use crate::rt::{Vacancy, WORLD};
use crate::run::event::Values;
use crate::run::functions::last_name;
use crate::run::op::{self, Op};
use crate::run::points::Points;
use crate::seam::{ForeignLock, ForeignWord};

const LOCK: Op = Op::new("lock", op::Access::Lock);
/// Acquires the lock if it is free. Otherwise the thread waits for it.
const TRY_FIRST: Op = Op::new("lock", op::Access::TryLock);
const TRY_LOCK: Op = Op::new("try_lock", op::Access::TryLock);
const IS_LOCKED: Op = Op::new("is_locked", op::Access::TryLock);
const UNLOCK: Op = Op::new("unlock", op::Access::Unlock);
const READ: Op = Op::new("read", op::Access::LockShared);
const WRITE: Op = Op::new("write", op::Access::Lock);
/// A writer queues. Readers then wait for it.
const QUEUE: Op = Op::of_kind("queue", op::Access::Act, op::lock::QUEUE);
/// Tried to release the lock, for which threads wait.
const UNLOCK_SLOWLY: Op = Op::of_kind("unlock", op::Access::Act, op::lock::TOUCH);
const END_READ: Op = Op::new("unlock", op::Access::UnlockShared);

/// True if a thread that finds a lock free in future runs takes a step to acquire it, even if another thread is faster.
static TRIES_FIRST: AtomicBool = AtomicBool::new(false);

/// Makes a thread that finds a lock free take a step to acquire it in future runs, if `wanted`. If another thread
/// acquires the lock before this step, the thread waits after the step. Otherwise a thread that waits has no steps.
/// shuttle's threads have such steps.
pub(crate) fn try_locks_first(wanted: bool) {
    TRIES_FIRST.store(wanted, Ordering::Relaxed);
}

/// The role of an operation in a lock call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LockStep {
    pub(super) family: Family,
    act: Act,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    /// Acquires the lock by one compare-exchange.
    Lock,
    /// Acquires the lock by one compare-exchange, if it is free.
    TryLock,
    /// Reads a mutex, to acquire it by the next operation if it is free.
    Try,
    /// Acquires the mutex by the operation after that read.
    Tried,
    /// Reads a mutex.
    Look,
    /// Reads a read-write lock, to acquire it by the next operation if it is available.
    Share,
    /// Acquires the read-write lock after this read.
    Shared,
    /// Releases the lock.
    Unlock,
    /// Releases a shared hold of the lock.
    UnlockShared,
    /// Reads the number of notifications before a wait, or counts a notification for all waiters.
    Count,
    /// Counts a notification for one waiter.
    CountOne,
    /// Joins the queue of a condition variable.
    Wait,
}

impl LockStep {
    /// Returns the role of an operation that was requested within these functions, innermost first.
    pub(super) fn of(frames: &[Frame]) -> Option<LockStep> {
        let is_of_lock = |frame: &&Frame| !frame.file.contains("/library/core/src/");
        let inner = frames.iter().find(is_of_lock)?;
        let function = last_name(&inner.function);
        let calls = |outer: &str| {
            frames
                .iter()
                .any(|frame| frame.file == inner.file && last_name(&frame.function) == outer)
        };
        let is_replacement = inner.file.starts_with(REPLACEMENTS);
        let is_of = |file: &str| inner.file.ends_with(file);
        let is_of_raw = |file: &str| inner.file.contains("/parking_lot-") && is_of(file);
        let is_condvar = |frame: &Frame| {
            frame.file.starts_with(REPLACEMENTS) && frame.file.ends_with("/condvar.rs")
        };
        let (family, act) = match function {
            "wait_for" if is_condvar(inner) => return None,
            "unpause_std_notify_one" if is_condvar(inner) => (Family::StdCondvar, Act::CountOne),
            _ if is_condvar(inner) => (Family::StdCondvar, Act::Count),
            "wait" if is_replacement && is_of("/futex.rs") && frames.iter().any(is_condvar) => {
                (Family::StdCondvar, Act::Wait)
            }
            "lock" | "try_lock" | "unlock"
                if is_of("/std/src/sys/sync/mutex/futex.rs")
                    || is_replacement && is_of("/mutex.rs") =>
            {
                let act = match function {
                    "lock" => Act::Lock,
                    "try_lock" => Act::TryLock,
                    _ => Act::Unlock,
                };
                (Family::StdMutex, act)
            }
            "lock" if is_of_raw("/raw_mutex.rs") => (Family::RawMutex, Act::Lock),
            "unlock" if is_of_raw("/raw_mutex.rs") => (Family::RawMutex, Act::Unlock),
            "try_lock" if is_of_raw("/raw_mutex.rs") => (Family::RawMutex, Act::Try),
            "is_locked" if is_of_raw("/raw_mutex.rs") => (Family::RawMutex, Act::Look),
            _ if is_of("/std/src/sys/sync/rwlock/futex.rs")
                || is_replacement && is_of("/c_rwlock.rs") =>
            {
                let act = match function {
                    "read" => Act::Share,
                    "write" => Act::Lock,
                    "read_unlock" => Act::UnlockShared,
                    "write_unlock" => Act::Unlock,
                    _ => return None,
                };
                let is_of_c = is_of("/c_rwlock.rs");
                (if is_of_c { Family::CRwLock } else { Family::StdRwLock }, act)
            }
            _ if is_of_raw("/raw_rwlock.rs") => {
                let act = match function {
                    "try_lock_shared_fast" if calls("lock_shared") => Act::Share,
                    "lock_exclusive" => Act::Lock,
                    "unlock_shared" => Act::UnlockShared,
                    "unlock_exclusive" => Act::Unlock,
                    _ => return None,
                };
                (Family::RawRwLock, act)
            }
            _ => return None,
        };
        Some(LockStep { family, act })
    }

    /// Returns the role of this access.
    fn of_access(self, access: &Access) -> Act {
        match self.act {
            Act::Share if access.operation != Operation::Load => Act::Shared,
            Act::Try if access.operation != Operation::Load => Act::Tried,
            act => act,
        }
    }

    /// Returns `true` for an access that completes an earlier operation of the call or that releases the lock.
    pub(super) fn follows(self, access: &Access) -> bool {
        use Act::{Shared, Tried, Unlock, UnlockShared};
        matches!(self.of_access(access), Shared | Tried | Unlock | UnlockShared)
    }

    /// Returns `true` for an operation that releases an exclusive hold.
    pub(super) fn is_unlock(self) -> bool {
        self.act == Act::Unlock
    }

    /// Returns `true` if the operation is part of a call that is stepped as a whole.
    #[inline]
    pub(super) fn is_whole(self, points: Points) -> bool {
        if points.all || !unpause_native::std_is_replaced() {
            return false;
        }
        match with(|threads| threads.detail) {
            Detail::Calls => !matches!(self.act, Act::Try | Act::Look),
            Detail::Instructions | Detail::Queues => false,
            Detail::Searched => self.family != Family::StdCondvar,
        }
    }
}

/// Returns the role of an access in a lock call that is stepped as a whole.
#[inline]
pub(super) fn whole(access: &Access, site: Site, points: Points) -> Option<LockStep> {
    match site.lock {
        Some(part) => (site.is_point(points) && part.is_whole(points)).then_some(part),
        None => gives_up(access),
    }
}

/// Returns the role of an access that releases a known lock outside of the lock's functions. The compiler merges the
/// ends of guards, and then no lock function remains in the stack.
fn gives_up(access: &Access) -> Option<LockStep> {
    if !matches!(
        access.operation,
        Operation::Swap | Operation::CompareExchange | Operation::Sub | Operation::Add
    ) {
        return None;
    }
    let (_, family) = with(|threads| threads.known_lock(access.address))?;
    let act = match family.ends(access)? {
        Hold::Exclusive => Act::Unlock,
        Hold::Shared => Act::UnlockShared,
    };
    Some(LockStep { family, act })
}

/// Performs an access that is part of a lock call, in the current step if the access `continues` it and the lock is
/// free. Returns the value with which the thread continues.
pub(super) async fn step(
    thread: usize,
    access: Access,
    site: Site,
    (part, continues): (LockStep, bool),
) -> u64 {
    let act = part.of_access(&access);
    if matches!(act, Act::Count | Act::CountOne) {
        if with(|threads| threads.counts(thread, &access, act == Act::CountOne)) {
            // A thread that is about to wait may see this notification, which then ends two waits: its own wait, and
            // the wait of a thread in the queue. Here the wait is one step.
            detail::simplify();
        }
        return do_quietly(thread, access, site).0;
    }
    let family = part.family;
    let lock = with(|threads| threads.lock_at(access.address, family, site));
    let other = |word: &Arc<ForeignWord>| !Arc::ptr_eq(word, lock.word());
    if with(|threads| threads.known_word(access.address)).as_ref().is_some_and(other) {
        note_otherwise(site);
    }
    if !is_search() && !matches!(act, Act::Lock | Act::Unlock) {
        // Other threads release their locks without points, and writers do not queue.
        detail::simplify();
    }
    let call = LockCall { thread, access, site, family, lock, continues };
    match act {
        Act::Lock => call.lock().await,
        Act::TryLock => call.try_lock().await,
        Act::Try => call.try_by_read().await,
        Act::Tried => call.complete(&UNLOCK, Manner::InTurn),
        Act::Look => call.look().await,
        Act::Share => call.share().await,
        Act::Shared => call.complete(&END_READ, family.manner_of_shared()),
        Act::Unlock if family.lets_writers_queue() || family == Family::CRwLock => {
            call.unlock(&UNLOCK, Manner::EndsExclusive).await
        }
        Act::Unlock => call.unlock(&UNLOCK, Manner::OfLock).await,
        Act::UnlockShared => call.unlock(&END_READ, family.manner_of_shared()).await,
        Act::Count | Act::CountOne | Act::Wait => unreachable!("no access of a lock"),
    }
}

/// An access that is part of a lock call.
struct LockCall {
    thread: usize,
    access: Access,
    site: Site,
    family: Family,
    lock: Arc<ForeignLock>,
    continues: bool,
}

impl LockCall {
    async fn lock(&self) -> u64 {
        let LockCall { access, site, family, ref lock, .. } = *self;
        if family.lets_writers_queue() && is_search() {
            lock.queue(&QUEUE, site.place).await;
        }
        if TRIES_FIRST.load(Ordering::Relaxed)
            && self.vacancy() == Vacancy::Free
            && lock.try_enter(&TRY_FIRST, site.place, || self.refresh()).await
        {
            return self.complete(&UNLOCK, Manner::OfLock);
        }
        let exclusive = if family.kind() == "Mutex" { &LOCK } else { &WRITE };
        self.refresh();
        if self.continues {
            if lock.enter_in_step(exclusive, site.place) {
                return self.complete(&UNLOCK, Manner::OfLock);
            }
            // The step ends here, because the lock is held: it conflicts with the release.
            lock.word().note(&TRY_LOCK, site.place, Values::Failed);
        }
        with(|threads| threads.begin_await(access.address));
        lock.enter(exclusive, site.place).await;
        with(|threads| threads.end_await(access.address));
        self.complete(&UNLOCK, Manner::OfLock)
    }

    async fn try_lock(&self) -> u64 {
        let LockCall { thread, access, site, .. } = *self;
        let taken = self.lock.try_enter(&TRY_LOCK, site.place, || self.refresh()).await;
        if taken {
            return self.complete(&UNLOCK, Manner::InTurn);
        }
        orders::treat(Manner::InTurn);
        do_quietly(thread, access, site).0
    }

    /// Performs a read before an operation that acquires the mutex.
    async fn try_by_read(&self) -> u64 {
        let taken = self.lock.try_enter(&TRY_LOCK, self.site.place, || self.refresh()).await;
        orders::treat(Manner::InTurn);
        let (seen, _) = perform(self.thread);
        if taken != (self.family.vacancy(seen) == Vacancy::Free) {
            note_otherwise(self.site);
        }
        seen
    }

    async fn look(&self) -> u64 {
        let place = self.site.place;
        if self.lock.try_enter(&IS_LOCKED, place, || self.refresh()).await {
            self.lock.leave(&UNLOCK, place);
        }
        orders::treat(Manner::InTurn);
        perform(self.thread).0
    }

    /// Performs a read before an operation that acquires a shared hold.
    async fn share(&self) -> u64 {
        let LockCall { thread, access, site, family, ref lock, .. } = *self;
        self.refresh();
        with(|threads| threads.begin_await(access.address));
        lock.enter(&READ, site.place).await;
        with(|threads| threads.end_await(access.address));
        orders::treat(family.manner_of_shared());
        let (seen, _) = perform(thread);
        if !family.lets_reader_in(seen) {
            stray(lock, &END_READ, family, site);
        }
        seen
    }

    async fn unlock(&self, leave: &'static Op, manner: Manner) -> u64 {
        let LockCall { thread, access, site, family, ref lock, continues } = *self;
        let mut old = 0;
        let leaves_if_equal = with(|threads| threads.follows(family));
        let mut effect = || {
            orders::treat(manner);
            old = do_quietly(thread, access, site).0;
            !leaves_if_equal || old == access.operand
        };
        if is_search() && !continues {
            lock.leave_at_point([leave, &UNLOCK_SLOWLY], site.place, effect).await;
        } else {
            effect();
            lock.leave(leave, site.place);
        }
        old
    }

    /// Performs the access that acquires the lock. If it fails, the lock is left by the operation `leave`. A call that
    /// only tries to acquire the lock may return because of an older store.
    fn complete(&self, leave: &'static Op, manner: Manner) -> u64 {
        orders::treat(manner);
        let (old, _) = do_quietly(self.thread, self.access, self.site);
        if old != self.access.operand {
            stray(&self.lock, leave, self.family, self.site);
        }
        old
    }

    /// Updates the recorded lock state from the value in memory that the pending access of the thread would read now.
    /// The address may have belonged to another lock before.
    fn refresh(&self) {
        self.lock.vacate(self.vacancy(), self.site.place);
    }

    /// Returns the state of the lock in memory.
    fn vacancy(&self) -> Vacancy {
        match with(|threads| threads.execution().look(self.thread)) {
            Some(value) => self.family.vacancy(value),
            // The compare-exchange would succeed.
            None => Vacancy::Free,
        }
    }
}

/// Ends the admission of a thread whose code does not acquire the lock, because other code uses the lock.
fn stray(lock: &ForeignLock, leave: &'static Op, family: Family, site: Site) {
    lock.leave(leave, site.place);
    if !with(|threads| threads.follows(family)) {
        note_otherwise(site);
    }
}

/// Returns `true` in a search run that steps whole lock calls.
fn is_search() -> bool {
    with(|threads| threads.detail) == Detail::Searched
}

/// Records that a search is not a proof, if it treated lock calls as operations and other code uses the lock.
fn note_otherwise(site: Site) {
    if is_search() {
        detail::is_used_otherwise(site.place);
        WORLD.with(|world| world.note_unseen(OTHERWISE));
    } else {
        detail::simplify();
    }
}

/// Records that a thread waits for the memory at an address, or wakes its waiters.
pub(super) fn is_waited_for(address: usize, site: Site) {
    if with(|threads| threads.followed_lock(address)).is_some() {
        // The thread waits for other memory than a parking_lot mutex: another object is at the address now.
        note_otherwise(site);
    }
}

/// Corrects the state of the lock at an address, if a lock is known there. Called after an operation outside of the
/// lock's calls has left this value.
pub(super) fn changed_otherwise(address: usize, value: u64, site: Site) {
    let Some((lock, family)) = with(|threads| threads.known_lock(address)) else { return };
    let vacancy = family.vacancy(value);
    lock.vacate(vacancy, site.place);
    if with(|threads| threads.follows(family)) {
        if vacancy == Vacancy::Held {
            lock.hold(site.place);
        }
        return;
    }
    // The search does not see conflicts of this operation with the calls of the lock.
    note_otherwise(site);
}

/// Tests of this file.
pub(super) mod checks {
    use super::*;

    fn frame(function: &str, file: &str) -> Frame {
        Frame { function: function.into(), file: file.into(), line: 7, column: 5 }
    }

    /// Returns the role of an atomic operation that was called by these functions.
    fn part(callers: &[(&str, &str)]) -> Option<(Family, Act)> {
        let atomic = frame("compare_exchange", "/rustc/00/library/core/src/sync/atomic.rs");
        let callers = callers.iter().map(|(function, file)| frame(function, file));
        let frames: Vec<_> = std::iter::once(atomic).chain(callers).collect();
        LockStep::of(&frames).map(|part| (part.family, part.act))
    }

    pub(in super::super) fn places_in_the_code_of_locks_have_parts() {
        let mutex = "/rustc/00/library/std/src/sys/sync/mutex/futex.rs";
        let replaced = "/rustc/unpause/replaced/mutex.rs";
        let raw = "/registry/src/x/parking_lot-0.12.5/src/raw_rwlock.rs";
        let own = ("grow", "src/lib.rs");
        let lock = ("<std::sys::sync::mutex::futex::Mutex>::lock", mutex);
        assert_eq!(part(&[lock, own]), Some((Family::StdMutex, Act::Lock)));
        assert_eq!(part(&[("lock", replaced), own]), Some((Family::StdMutex, Act::Lock)));
        assert_eq!(part(&[("unpause_std_lock_contended", replaced), own]), None);
        let fast = ("<parking_lot::raw_rwlock::RawRwLock>::try_lock_shared_fast", raw);
        let shared =
            ("<parking_lot::raw_rwlock::RawRwLock as lock_api::RawRwLock>::lock_shared", raw);
        assert_eq!(part(&[fast, shared, own]), Some((Family::RawRwLock, Act::Share)));
        let tries = ("<parking_lot::raw_rwlock::RawRwLock>::try_lock_shared", raw);
        assert_eq!(part(&[fast, tries, own]), None);
        let of_c = "/rustc/unpause/replaced/c_rwlock.rs";
        assert_eq!(part(&[("read", of_c), own]), Some((Family::CRwLock, Act::Share)));
        assert_eq!(part(&[("contended", of_c), own]), None);
        let of_c = ("pthread_mutex_lock", "/rustc/unpause/replaced/c_mutex.rs");
        assert_eq!(part(&[("of_run::lock", replaced), of_c]), Some((Family::StdMutex, Act::Lock)));
        assert_eq!(part(&[own, lock]), None, "called by a lock, not of it");
        // These frames are of parking_lot's own tests.
        assert_eq!(part(&[("lock", "src/raw_mutex.rs"), own]), None);
    }
}
