//! Operations of plain threads on sockets, pipes, events, and the files that wait for them. The carrier performs an
//! operation in its turn, in the memory of the run. An operation that must wait joins the queue of its object, like a
//! futex wait. When another thread has changed the object, the operation is tried again.

use std::sync::Arc;

use unpause_native::{Effect, Transfer};

use super::drive::wake;
use super::ops::WAIT;
use super::sites::Site;
use super::threads::{Waiter, with};
use super::timed::{TimedWait, Woken};
use crate::run::event::Values;
use crate::run::op::{Access, Op};
use crate::seam::ForeignWord;

/// An operation, and the wait for it under the same name.
type Ops = (Op, Op);

const fn both(name: &'static str) -> Ops {
    (Op::new(name, Access::ReadModifyWrite), Op::new(name, Access::Resume))
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
];
static OTHER: Ops = both("use");

fn ops(name: &str) -> &'static Ops {
    OPS.iter().find(|(op, _)| op.name == name).unwrap_or(&OTHER)
}

/// Performs the operation that the thread has requested. Returns 0, or 1 if the wait has timed out.
pub(super) async fn transfer(thread: usize, requested: Transfer, site: Site) -> u64 {
    let Transfer { object: key, kind, name, deadline, .. } = requested;
    let object = with(|threads| threads.file_at(key, kind, site));
    let (op, wait) = ops(name);
    loop {
        let act = || {
            with(|threads| match threads.execution().perform_transfer(thread) {
                Effect::Done { changed, .. } => {
                    let looked = changed.is_empty();
                    // The change lets waiting threads try again.
                    let awaited: Vec<u64> =
                        changed.into_iter().filter(|key| threads.must_wake(*key)).collect();
                    let values = if looked { Values::Refused(0, 0) } else { Values::Changed(0, 1) };
                    ((awaited, None), values)
                }
                Effect::Waits { version } => ((Vec::new(), Some(version)), Values::Refused(0, 0)),
            })
        };
        let (changed, version) = object.point(op, site.place, act).await;
        let Some(version) = version else {
            for key in changed {
                wake(key as usize, u32::MAX, site).await;
            }
            return 0;
        };
        if !join(key, &object, version, wait, deadline, site).await {
            return 1;
        }
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
    matches!(timed.end(wait, site.place, false).await, Woken::InTime)
}
