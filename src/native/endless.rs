//! Loops that are regarded as endless: is one of them a loop that ends by itself?
//!
//! A thread is held if its [rounds](super::spin) have equal registers and an equal stack. But a loop may also count its
//! rounds on the heap, in a static or in a thread-local. Therefore a search continues the thread in a copy of the
//! process, once for each loop. There the thread sees the values of its last round again, in up to [`MOST`] accesses.
//! If it then does anything else, the loop ends by itself. The search does not try the orders in which it does so, and
//! is no proof. A search without an answer is no proof either.
//!
//! A loop may also count more rounds than a held thread gets. So each run asks another copy before the thread is held
//! for ever. There it sees the memory and, at the end of its pauses, the time. A thread whose loop ends by itself has
//! no deadlock, and neither has a thread without an answer: it gets more rounds.

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
const MOST: usize = 100_000;
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
fn ask(request: (Access, Site), thread: usize, round: &[Look]) -> bool {
    ask_copy(|execution, points| repeats(execution, thread, request, (round, points), Seen::Again))
        .is_some_and(|repeats| repeats)
}

/// Returns `true` if a thread before an access at a site is in a loop that ends by itself, or if a copy of the process
/// gives no answer. `round` is like in [`is_held`]. No other thread can continue before the time has advanced by
/// `pauses` nanoseconds.
pub(super) fn ends(thread: usize, request: (Access, Site), round: &[Look], pauses: u64) -> bool {
    let repeats = ask_copy(|execution, points| {
        execution.advance_to(execution.now().saturating_add(pauses));
        repeats(execution, thread, request, (round, points), Seen::InMemory)
    });
    let ends = repeats != Some(true);
    if ends && with(|threads| threads.is_search) {
        WORLD.with(|world| world.note_unseen(COUNTED));
    }
    ends
}

/// Returns the answer of a copy of the process, if any.
fn ask_copy(answer: impl FnOnce(&mut Execution, Points) -> bool) -> Option<bool> {
    let (execution, points) = with(|threads| (threads.execution.take(), threads.points));
    let mut execution = execution.expect("a run of plain threads is on");
    let answer = execution.ask_copy(|execution| u8::from(answer(execution, points)));
    with(|threads| threads.execution = Some(execution));
    answer.map(|answer| answer == 1)
}

/// The values that a thread sees in a copy of the process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// The values of the last round.
    Again,
    /// The values in memory.
    InMemory,
}

/// Continues a thread. Returns `true` while the thread does what it did in its last round. A wait for a lock is not a
/// part of a round.
fn repeats(
    execution: &mut Execution,
    thread: usize,
    (access, mut site): (Access, Site),
    (round, points): (&[Look], Points),
    seen: Seen,
) -> bool {
    let mut request = Request::Access(access);
    let mut nexts = round.iter().filter(|look| !look.is_yield()).cycle();
    for _ in 0..MOST {
        let address = match request {
            Request::Access(access) => access.address,
            Request::Yield => 0,
            _ => return false,
        };
        let here = |look: &&Look| look.is_at(address, site);
        let reply = match request {
            Request::Yield => 0,
            Request::Access(access) if !round.iter().any(|look| here(&look)) => {
                if !is_no_look(&access, site, points) {
                    return false;
                }
                execution.perform(thread).0
            }
            _ if seen == Seen::Again => match nexts.next().filter(here) {
                Some(look) => look.reply(execution, thread),
                None => return false,
            },
            _ => {
                let value = execution.perform(thread).0;
                if !round.iter().filter(here).any(|look| look.value == value) {
                    return false;
                }
                value
            }
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
