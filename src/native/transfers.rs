//! Operations of plain threads on sockets, pipes, events, the files that wait for them, and real files. The carrier
//! performs an operation in its turn. An operation that must wait joins the queue of its object, like a futex wait.
//! When another thread has changed the object, the operation is tried again.

use std::sync::Arc;

use unpause_native::{Effect, Transfer, Use};

use super::futexes::wake;
use super::ops::WAIT;
use super::sites::Site;
use super::threads::with;
use super::timed::{TimedWait, Woken};
use super::waiter::Waiter;
use crate::run::event::Values;
use crate::run::op::fs::contents;
use crate::run::op::{Access, Op, word};
use crate::seam::ForeignWord;

/// An operation, and the wait for it under the same name.
type Ops = (Op, Op);

const fn both(name: &'static str) -> Ops {
    (Op::new(name, Access::ReadModifyWrite), Op::new(name, Access::Resume))
}

/// An operation that never changes its object.
const fn read(name: &'static str) -> Ops {
    (Op::new(name, Access::Read), Op::new(name, Access::Resume))
}

static OPS: &[Ops] = &[
    both("read"),
    both("write"),
    both("accept"),
    both("poll"),
    both("close"),
    both("connect"),
    both("send_to"),
    both("bind"),
    both("listen"),
    both("shutdown"),
    both("register"),
    both("take_error"),
    both("set_nonblocking"),
    both("set_option"),
    read("option"),
    read("available"),
    read("local_addr"),
    read("peer_addr"),
    read("flags"),
    // Locks of real files.
    both("lock"),
    both("lock_shared"),
    both("try_lock"),
    both("try_lock_shared"),
    both("unlock"),
    // Real files.
    read("access"),
    read("getcwd"),
    read("getxattr"),
    read("listxattr"),
    read("opendir"),
    read("readdir"),
    read("readlink"),
    read("realpath"),
    read("stat"),
    both("chdir"),
    both("chmod"),
    both("chown"),
    both("chroot"),
    both("copy"),
    both("fallocate"),
    both("ioctl"),
    both("link"),
    both("mkdir"),
    both("mkfifo"),
    both("mknod"),
    both("open"),
    both("removexattr"),
    both("rename"),
    both("rmdir"),
    both("seek"),
    both("set_flags"),
    both("setxattr"),
    both("symlink"),
    both("truncate"),
    both("umask"),
    both("unlink"),
    both("utime"),
];
static OTHER: Ops = both("use");

/// The uses of another object in the same step.
static READ_BESIDE: Op = Op::of_kind("use", Access::Peek, contents::READ).quiet();
static ADD_BESIDE: Op = Op::of_kind("use", Access::Tell, contents::STORE).quiet();
static CHANGE_BESIDE: Op = Op::of_kind("use", Access::Tell, word::WRITE).quiet();

fn ops(name: &str) -> &'static Ops {
    OPS.iter().find(|(op, _)| op.name == name).unwrap_or(&OTHER)
}

/// The result of an attempt to perform an operation.
enum Tried {
    /// The operation was performed.
    Done {
        /// True if the operation has changed its object.
        is_changed: bool,
        /// The changed objects for which threads wait.
        awaited: Vec<u64>,
        /// The other objects that the operation has used, with their kinds.
        beside: Vec<(u64, &'static str, Use)>,
    },
    /// The operation must wait until the object has changed since the version.
    Waits { version: u64, limit: Option<u64> },
}

/// Performs the operation that the thread has requested. Returns 0, or 1 if the wait has timed out.
pub(super) async fn transfer(thread: usize, requested: Transfer, site: Site) -> u64 {
    let Transfer { object: key, kind, name, mut deadline, .. } = requested;
    let object = with(|threads| threads.file_at(key, kind, site));
    let (op, wait) = ops(name);
    loop {
        let act = || {
            with(|threads| match threads.execution().perform_transfer(thread) {
                Effect::Done { changed, beside, .. } => {
                    let is_changed = !changed.is_empty();
                    // The change lets waiting threads try again.
                    let awaited: Vec<u64> =
                        changed.into_iter().filter(|key| threads.must_wake(*key)).collect();
                    let values =
                        if is_changed { Values::Changed(0, 1) } else { Values::Refused(0, 0) };
                    (Tried::Done { is_changed, awaited, beside }, values)
                }
                Effect::Waits { version, limit } => {
                    (Tried::Waits { version, limit }, Values::Refused(0, 0))
                }
            })
        };
        let tried = object.point(op, site.place, act).await;
        let version = match tried {
            Tried::Done { is_changed, awaited, beside } => {
                if is_changed && op.access == Access::Read {
                    // The call may use any file, so it counts as a change.
                    note_use((key, kind), Use::Changes, site);
                }
                for (other, kind, how) in beside.into_iter().filter(|(other, ..)| *other != key) {
                    note_use((other, kind), how, site);
                }
                for key in awaited {
                    wake(key as usize, u32::MAX, site).await;
                }
                return 0;
            }
            Tried::Waits { version, limit } => {
                let end = |limit| with(|threads| threads.execution().in_nanoseconds(limit));
                deadline = deadline.or_else(|| limit.map(end));
                version
            }
        };
        if !join(key, &object, version, wait, deadline, site).await {
            return 1;
        }
    }
}

/// Records that the operation of this step has used another object. The uses of the only thread of a run precede all
/// other uses.
fn note_use((key, kind): (u64, &'static str), how: Use, site: Site) {
    let used = with(|threads| threads.has_many().then(|| threads.file_at(key, kind, site)));
    let op = match how {
        Use::Reads => &READ_BESIDE,
        Use::Adds => &ADD_BESIDE,
        Use::Changes => &CHANGE_BESIDE,
    };
    if let Some(object) = used {
        object.note(op, site.place, Values::None);
    }
}

/// Waits until the object has changed since `version`. Returns `false` if the deadline passes first.
async fn join(
    key: u64,
    object: &ForeignWord,
    version: u64,
    wait: &'static Op,
    deadline: Option<u64>,
    site: Site,
) -> bool {
    let enqueue = || {
        with(|threads| {
            if threads.execution().version(key) != version {
                return (None, Values::Refused(0, 0));
            }
            let waiter = Waiter::new();
            threads.enqueue(key as usize, waiter.clone());
            (Some(waiter), Values::Changed(0, 1))
        })
    };
    let waiter: Option<Arc<Waiter>> = object.point(&WAIT, site.place, enqueue).await;
    let Some(waiter) = waiter else { return true };
    let timed = TimedWait { queue: key as usize, word: object, waiter: &waiter, deadline };
    // A socket has no spurious wake-ups.
    matches!(timed.end(wait, site.place, || false).await, Woken::InTime)
}
