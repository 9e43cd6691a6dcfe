//! Loops that are regarded as endless: is one of them a loop that ends by itself?
//!
//! A thread is held if its [rounds](super::spin) have equal registers and an equal stack. But a loop may also count its
//! rounds on the heap, in a static or in a thread-local. Therefore a search continues the thread in a copy of the
//! process, once for each state of the thread. There the thread sees the values of its last round again, in up to
//! [`MOST`] accesses. The loop is endless if a round begins in the state of an earlier round, with all memory that the
//! thread can reach. Otherwise the loop may end by itself. The search does not try the orders in which it does so, and
//! is no proof. A search without an answer is no proof either.
//!
//! A loop may also count more rounds than a held thread gets. So each run asks another copy before the thread is held
//! for ever. There it sees the memory and, at the end of its pauses, the time. A thread whose loop ends by itself has
//! no deadlock, and neither has a thread without an answer: it gets more rounds. If no state repeats, the loop counts
//! its rounds. After [`MOST_COUNTED`] accesses, it is regarded as endless.

use std::sync::{Mutex, MutexGuard, PoisonError};

use unpause_native::{Access, Execution, Request};
use unpause_ordered::{Map, Set};

use super::locks;
use super::looks::Look;
use super::queues;
use super::sites::Site;
use super::threads::{Threads, with};
use crate::rt::{WORLD, interned};
use crate::run::place::in_text;
use crate::run::points::Points;

/// The number of accesses of a loop in a copy of the process.
const MOST: usize = 100_000;
/// The number of accesses of a loop that counts its rounds, before a run has a deadlock because of the loop.
const MOST_COUNTED: usize = 1_000_000;
/// The number of rounds after a power of two that are compared with an earlier round.
const COMPARED: usize = 64;

/// The place of a loop: its lines, and its callers.
type LoopPlace = (u64, u64);

/// The loops that copies have continued.
struct Tried {
    /// The loops that threads repeat for ever, with a hash of the state of the thread and of the values in its round.
    endless: Set<(LoopPlace, u64)>,
    /// The loops that may end by themselves, and the loops without an answer.
    others: Set<LoopPlace>,
}

/// Records that the search is no proof, because of a loop at this place.
pub(super) fn note_counted(site: Site) {
    static NOTES: Mutex<Map<u64, &str>> = Mutex::new(Map::new());
    let mut notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    let text = || {
        interned(&format!("later rounds of a loop that counts them, at {}", in_text(site.place)))
    };
    let known = notes.get(&site.caller).copied();
    let note = known.unwrap_or_else(|| {
        let note = text();
        notes.insert(site.caller, note);
        note
    });
    WORLD.with(|world| world.note_unseen(note));
}

/// The loops of the current search.
static TRIED: Mutex<Tried> = Mutex::new(Tried { endless: Set::new(), others: Set::new() });

fn tried() -> MutexGuard<'static, Tried> {
    TRIED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets all loops, because another test begins.
pub(super) fn forget_loops() {
    let mut tried = tried();
    (tried.endless, tried.others) = (Set::new(), Set::new());
}

/// Records that a thread is held before an access at `site`. The thread is in a loop with the accesses of `round`, and
/// perhaps with lock calls. In a run of a search, a copy of the process tries if the thread repeats them for ever.
/// `before` is the state in which the last round began, if it is known.
pub(super) fn is_held(
    thread: usize,
    (access, site): (Access, Site),
    (round, before): (&[Look], Option<u64>),
) {
    if !with(|threads| threads.is_search) {
        return;
    }
    let state = with(|threads| threads.execution().hash_of_state(thread));
    if before == Some(state) {
        // The last round has changed nothing, so the thread repeats it for ever.
        return;
    }
    // With the memory c11, the loop may see older values than the memory has.
    let state = round.iter().fold(state, |hash, look| {
        (hash ^ look.value).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23)
    });
    let place = (site.lines, site.caller);
    let mut tried = tried();
    // After a loop that may end by itself, the search is no proof, so its other states make no difference.
    if !tried.others.contains(&place) && !tried.endless.contains(&(place, state)) {
        match ask((access, site), thread, round) {
            true => tried.endless.insert((place, state)),
            false => tried.others.insert(place),
        };
    }
    // Each run notes the loop, because a search that begins again forgets the notes of its runs.
    if tried.others.contains(&place) {
        note_counted(site);
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
        note_counted(request.1);
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
    let (first, mut states) = ((access.address, site.lines), States::default());
    let looks: Vec<&Look> = round.iter().filter(|look| !look.is_yield()).collect();
    let mut nexts = (0..looks.len().max(1)).cycle().peekable();
    let most = if seen == Seen::Again { MOST } else { MOST_COUNTED };
    for _ in 0..most {
        let address = match request {
            Request::Access(access) => access.address,
            Request::Yield => 0,
            _ => return false,
        };
        let is_start = (address, site.lines) == first && nexts.peek() == Some(&0);
        if is_start && states.repeats(|| execution.hash_of_state(thread)) {
            return true;
        }
        let here = |look: &&Look| look.is_at(address, site);
        let reply = match request {
            Request::Yield => 0,
            Request::Access(access) if !round.iter().any(|look| here(&look)) => {
                if !is_no_look(&access, site, points) {
                    return false;
                }
                execution.perform(thread).0
            }
            _ if seen == Seen::Again => {
                match nexts.next().and_then(|next| looks.get(next)).filter(|look| here(look)) {
                    Some(look) => look.reply(execution, thread),
                    None => return false,
                }
            }
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
    seen == Seen::InMemory
}

/// The states of a thread at the starts of its rounds. (After Brent, An Improved Monte Carlo Factorization Algorithm,
/// 1980. Only some of the rounds are compared.)
#[derive(Default)]
struct States {
    rounds: usize,
    /// The state at the last power of two.
    kept: u64,
}

impl States {
    /// Adds a round. Returns `true` if it begins in the state of an earlier round. The thread then repeats the rounds
    /// since that round for ever, if it sees the same values.
    fn repeats(&mut self, state: impl FnOnce() -> u64) -> bool {
        let power = self.rounds.checked_ilog2().map_or(0, |power| 1 << power);
        self.rounds += 1;
        if self.rounds - power > COMPARED {
            return false;
        }
        let state = state();
        let repeats = self.rounds > 1 && state == self.kept;
        if self.rounds == power + 1 {
            self.kept = state;
        }
        repeats
    }
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
