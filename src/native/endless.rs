//! Loops that a search regards as endless: is one of them a loop that ends by itself?
//!
//! A thread is held if its [rounds](super::spin) have equal registers and an equal stack. But a loop may also count its
//! rounds on the heap, in a static or in a thread-local. Therefore a search continues the thread in a copy of the
//! process, once for each loop. There the thread sees the values of its last round again, in up to [`MOST`] accesses.
//! If it then does anything else, the loop ends by itself. The search does not try the orders in which it does so, and
//! is no proof.

use std::sync::{Mutex, MutexGuard, PoisonError};

use unpause_native::{Access, Execution, Request};

use super::locks;
use super::queues;
use super::sites::Site;
use super::spin::{COUNTED, Look};
use super::threads::{Threads, with};
use crate::rt::WORLD;
use crate::run::points::Points;

/// The number of accesses of a loop in a copy of the process. A loop that counts further is regarded as endless.
const MOST: usize = 20_000;
/// The number of copies for each loop, if the registers of its rounds differ from copy to copy, or if a copy does not
/// know the answer.
const COPIES: usize = 4;

/// The answer of a copy: the thread repeats its round.
const REPEATS: u8 = 0;
/// The answer of a copy: the thread does something else.
const ENDS: u8 = 1;
/// The answer of a copy: the thread waits for another thread.
const WAITS: u8 = 2;

/// A loop that a copy has continued.
struct Tried {
    /// The place of the loop: its lines, and its callers.
    place: (u64, u64),
    /// The registers of the thread at the start of its round.
    state: u64,
    /// The answer of the copy, if any.
    answer: Option<u8>,
}

/// The loops of the current search.
static TRIED: Mutex<Vec<Tried>> = Mutex::new(Vec::new());

fn tried() -> MutexGuard<'static, Vec<Tried>> {
    TRIED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets all loops, because another test begins.
pub(super) fn forget_loops() {
    tried().clear();
}

/// Records that a thread is held before an access at `site`. The thread is in a loop with the accesses of `round`, and
/// perhaps with lock calls. In a run of a search, a copy of the process tries if the thread repeats them for ever.
/// `state` is the state of the thread.
pub(super) fn is_held(thread: usize, (access, site): (Access, Site), round: &[Look], state: u64) {
    if !with(|threads| threads.is_search) {
        return;
    }
    let place = (site.lines, site.caller);
    let mut tried = tried();
    let here = || tried.iter().filter(|other| other.place == place);
    if here().any(|other| other.state == state && other.answer.is_some_and(|it| it != WAITS)) {
        return;
    }
    if here().count() >= COPIES {
        let is_unknown = |other: &Tried| other.answer.is_none_or(|answer| answer == WAITS);
        if here().all(is_unknown) {
            WORLD.with(|world| world.note_unseen(COUNTED));
        }
        return;
    }
    let (execution, points) = with(|threads| (threads.execution.take(), threads.points));
    let mut execution = execution.expect("a run of plain threads is on");
    let answer = execution.ask_copy(|execution| {
        continues(execution, thread, (Request::Access(access), site), round, points)
    });
    with(|threads| threads.execution = Some(execution));
    if answer == Some(ENDS) {
        WORLD.with(|world| world.note_unseen(COUNTED));
    }
    tried.push(Tried { place, state, answer });
}

/// Continues a thread with the values of this round. Returns the answer of the copy.
fn continues(
    execution: &mut Execution,
    thread: usize,
    (mut request, mut site): (Request, Site),
    round: &[Look],
    points: Points,
) -> u8 {
    for _ in 0..MOST {
        let address = match request {
            Request::Access(access) => access.address,
            Request::Yield => 0,
            Request::Wait { .. } => return WAITS,
            _ => return ENDS,
        };
        let look = round.iter().find(|look| look.is_at(address, site));
        let reply = match (look, request) {
            (Some(look), _) => look.reply(execution, thread),
            (None, Request::Access(access)) if is_no_look(&access, site, points) => {
                execution.perform(thread).0
            }
            // The thread has found a lock that another thread has.
            _ if site.lock.is_some() || site.is_behind => return WAITS,
            _ => return ENDS,
        };
        request = execution.resume(thread, reply);
        site = Threads::site(execution, thread);
    }
    REPEATS
}

/// Returns `true` for an access that is never part of a round: an operation of a lock, or one that is not a point.
fn is_no_look(access: &Access, site: Site, points: Points) -> bool {
    access.size == 0
        || site.is_of_counts()
        || !site.is_point(points)
        || locks::whole(access, site, points).is_some()
        || queues::takes_in(access, site)
}

impl Look {
    /// Performs this access again, which a thread has requested, in a copy of the process. Returns the reply.
    fn reply(&self, execution: &mut Execution, thread: usize) -> u64 {
        if self.left.is_some() {
            execution.perform(thread);
        }
        self.value
    }
}
