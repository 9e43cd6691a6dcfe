//! Loops that a search regards as endless: is one of them a loop that ends by itself?
//!
//! A thread is held if its [rounds](super::spin) have equal registers and an equal stack. But a loop may also count its
//! rounds on the heap, in a static or in a thread-local. Therefore a search continues the thread in a copy of the
//! process, once for each loop. There the thread sees the values of its last round again, in up to [`MOST`] accesses.
//! If it then does anything else, the loop ends by itself. The search does not try the orders in which it does so, and
//! is no proof. A search without an answer is no proof either.

use std::sync::{Mutex, MutexGuard, PoisonError};

use unpause_native::{Access, Execution, Request};

use super::locks;
use super::looks::Look;
use super::queues;
use super::sites::Site;
use super::spin::COUNTED;
use super::threads::{Threads, with};
use crate::rt::WORLD;
use crate::run::points::Points;

/// The number of accesses of a loop in a copy of the process. A loop that counts further is regarded as endless.
const MOST: usize = 20_000;
/// The number of copies for each loop, if the registers of its rounds differ from run to run.
const COPIES: usize = 4;

/// A loop that a copy has continued.
struct Tried {
    /// The place of the loop: its lines, and its callers.
    place: (u64, u64),
    /// The registers of the thread at the start of its round.
    state: u64,
    /// True if the thread repeats its round in the copy. False without an answer.
    repeats: bool,
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
    let mut here = tried.iter().filter(|other| other.place == place);
    let count = here.clone().count();
    let repeats = match here.find(|other| other.state == state) {
        Some(known) => known.repeats,
        // The registers differ from run to run.
        None if count >= COPIES => tried.iter().all(|other| other.place != place || other.repeats),
        None => {
            let repeats = ask((access, site), thread, round);
            tried.push(Tried { place, state, repeats });
            repeats
        }
    };
    // Each run notes the loop, because a search that begins again forgets the notes of its runs.
    if !repeats {
        WORLD.with(|world| world.note_unseen(COUNTED));
    }
}

/// Returns `true` if the thread repeats its round in a copy of the process. Returns `false` without an answer.
fn ask((access, site): (Access, Site), thread: usize, round: &[Look]) -> bool {
    let (execution, points) = with(|threads| (threads.execution.take(), threads.points));
    let mut execution = execution.expect("a run of plain threads is on");
    let answer = execution.ask_copy(|execution| {
        u8::from(repeats(execution, thread, (Request::Access(access), site), round, points))
    });
    with(|threads| threads.execution = Some(execution));
    answer == Some(1)
}

/// Continues a thread with the values of this round. Returns `false` if the thread does anything else, or waits for a
/// lock.
fn repeats(
    execution: &mut Execution,
    thread: usize,
    (mut request, mut site): (Request, Site),
    round: &[Look],
    points: Points,
) -> bool {
    for _ in 0..MOST {
        let address = match request {
            Request::Access(access) => access.address,
            Request::Yield => 0,
            _ => return false,
        };
        let look = round.iter().find(|look| look.is_at(address, site));
        let reply = match (look, request) {
            (Some(look), _) => look.reply(execution, thread),
            (None, Request::Access(access)) if is_no_look(&access, site, points) => {
                execution.perform(thread).0
            }
            _ => return false,
        };
        request = execution.resume(thread, reply);
        site = Threads::site(execution, thread);
    }
    true
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
