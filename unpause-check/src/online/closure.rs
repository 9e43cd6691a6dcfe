//! The closure of a return. The closure starts from possibilities without the returning call, and computes all
//! possibilities that result when the call is placed.
//!
//! Just-in-time linearization (Lowe 2017): an operation is placed when it must be, or when another operation that must
//! be placed requires it. From each possibility, some calls in flight and some lost calls are placed before the
//! returning call, in every order that the model allows. Cost: up to 2^w·s possibilities for w calls in flight and s
//! states, each with w model steps.
//!
//! The work is divided into [`CHUNK`]s that do not depend on each other, so the result does not depend on the number of
//! threads.

use std::sync::Arc;
use unpause_ordered::sort_by_key;

use super::possibility::{CallAnswer, CallPlace, Frontier, InFlight, Possibility, Window};
use crate::model::Model;
use crate::parallel::until_first;
use crate::verdict::Limit;

/// The number of possibilities in a chunk. A possibility reached from several members of a chunk is processed only
/// once.
pub(super) const CHUNK: usize = 64;

/// The call that returns.
pub(super) struct Returning<'a, M: Model> {
    pub(super) slot: usize,
    pub(super) ret: &'a M::Ret,
    /// True if the call leaves every state unchanged.
    pub(super) observes: bool,
    /// The maximum number of possibilities that a closure may reach. `memory` is the maximum number of their bytes.
    pub(super) limit: usize,
    pub(super) memory: usize,
}

/// The result of a chunk.
pub(super) enum Closed<M: Model> {
    /// The possibilities left, with the call placed in all of them.
    Remaining(Vec<Possibility<M>>),
    /// A chunk that exceeds a limit decides the event. The field has the longest possibilities reached, longest first.
    Nothing(Vec<Possibility<M>>),
    /// The limit on possibilities or on memory was exceeded.
    TooMany(Limit),
}

/// The cost of a closure.
#[derive(Clone, Copy, Default)]
pub(super) struct Work {
    /// The number of possibilities reached.
    pub(super) visited: u64,
    /// The number of attempts to place one more call.
    pub(super) moves: u64,
}

/// A closure with its cost.
pub(super) type ClosureOutcome<M> = (Closed<M>, Work);

/// Returns the maximum number of attempts per event to place one more call, for a limit on possibilities. Most attempts
/// lead to a known possibility. With many calls in flight or lost, the attempts therefore dominate the time, not the
/// possibilities.
pub(super) fn moves_max(limit: usize) -> u64 {
    const MOVES_EACH: u64 = 8;
    MOVES_EACH.saturating_mul(limit as u64)
}

/// The function that computes the closures, on this thread or on the given number of threads.
pub(super) type Stepper<M> =
    fn(&Window<M>, &[Possibility<M>], &Returning<'_, M>, usize) -> Vec<ClosureOutcome<M>>;

/// Computes the closures on this thread.
pub(super) fn alone<M: Model>(
    window: &Window<M>,
    from: &[Possibility<M>],
    returning: &Returning<'_, M>,
    _threads: usize,
) -> Vec<ClosureOutcome<M>> {
    from.chunks(CHUNK).map(|chunk| close(window, chunk, returning)).collect()
}

/// Computes the closures on up to `threads` threads, if there are at least two chunks.
pub(super) fn shared<M>(
    window: &Window<M>,
    from: &[Possibility<M>],
    returning: &Returning<'_, M>,
    threads: usize,
) -> Vec<ClosureOutcome<M>>
where
    M: Model + Send + Sync,
    M::Op: Sync,
    M::Ret: Sync,
{
    let chunks: Vec<&[Possibility<M>]> = from.chunks(CHUNK).collect();
    if threads.min(chunks.len()) < 2 {
        return alone(window, from, returning, 1);
    }
    until_first(chunks.len(), threads, None, || {
        // A chunk that exceeds a limit decides the event. The chunks before it are complete, and the caller reads no
        // later outcome.
        |number, _: &dyn Fn() -> bool| {
            let outcome = close(window, chunks[number], returning);
            let is_last = matches!(outcome.0, Closed::TooMany(_));
            (outcome, is_last)
        }
    })
}

/// The maximum number of longest possibilities to show.
pub(super) const SHOWN: usize = 4;

pub(super) fn close<M: Model>(
    window: &Window<M>,
    from: &[Possibility<M>],
    returning: &Returning<'_, M>,
) -> ClosureOutcome<M> {
    let (mut visited, mut left) = (Frontier::new(), Frontier::new());
    let mut tried = 0;
    let mut waiting = Vec::new();
    let mut successors = Vec::new();
    let call = call(window, returning.slot);
    for root in from {
        if visited.add(root.clone()) {
            waiting.push(visited.added() - 1);
        }
        while let Some(number) = waiting.pop() {
            // The possibility was removed if a possibility that covers it was found later.
            let Some(here) = visited.get(number) else { continue };
            let idle = window.idle_answers(here);
            here.state.successors(&call.op, Some(returning.ret), &mut successors);
            let fits = !successors.is_empty();
            for state in successors.drain(..) {
                // The call ends here, so its recorded answers must not distinguish possibilities any longer.
                let mut next = here.after(call.number, state, &idle);
                next.places[returning.slot] = CallPlace::free();
                left.add(next);
            }
            // If a call can be placed before an observer, it can also be placed after this observer.
            if !(fits && returning.observes) {
                let room = returning.memory.saturating_sub(visited.bytes() + left.bytes());
                let moves = moves(window, here, &idle, returning.slot, room);
                // Every slot and every kind of lost calls counts, because it can cost a model step even without a move.
                tried += window.calls() as u64;
                let Some(moves) = moves else {
                    return (Closed::TooMany(Limit::Memory), work(&visited, tried));
                };
                for next in moves {
                    if visited.add(next) {
                        waiting.push(visited.added() - 1);
                    }
                }
            }
            if visited.added() > returning.limit
                || left.added() > returning.limit
                || tried > moves_max(returning.limit)
            {
                return (Closed::TooMany(Limit::Nodes), work(&visited, tried));
            }
            if visited.bytes() + left.bytes() > returning.memory {
                return (Closed::TooMany(Limit::Memory), work(&visited, tried));
            }
        }
    }
    let count = work(&visited, tried);
    if left.len() > 0 {
        return (Closed::Remaining(left.into_members().collect()), count);
    }
    let mut furthest: Vec<Possibility<M>> = visited.into_members().collect();
    // The sort is stable, so the result depends only on the order of discovery.
    sort_by_key(&mut furthest, |end| std::cmp::Reverse(end.length));
    furthest.truncate(SHOWN);
    (Closed::Nothing(furthest), count)
}

fn work<M: Model>(visited: &Frontier<M>, moves: u64) -> Work {
    Work { visited: visited.added() as u64, moves }
}

/// Returns the possibilities after placing one optional call, which is in flight or lost. `None` if they need more than
/// `room` bytes.
fn moves<M: Model>(
    window: &Window<M>,
    here: &Possibility<M>,
    idle: &[Option<Arc<CallAnswer<M>>>],
    returning: usize,
    room: usize,
) -> Option<Vec<Possibility<M>>> {
    let (mut moves, mut successors) = (Vec::new(), Vec::new());
    let each = here.places.len() * size_of::<CallPlace<M>>() + size_of::<Possibility<M>>();
    for (slot, place) in here.places.iter().enumerate() {
        let Some(call) = &window.slots[slot] else { continue };
        if slot == returning || !place.is_open() {
            continue;
        }
        here.state.successors(&call.op, None, &mut successors);
        // If a call changes nothing, it is recorded when the search leaves the state, see `Possibility::after`.
        for state in successors.drain(..).filter(|state| *state != here.state) {
            let answer = CallAnswer::new(&here.state, &call.op, &state);
            let mut next = here.after(call.number, state, idle);
            next.places[slot] = CallPlace::Taken(answer);
            moves.push(next);
            if moves.len() * each > room {
                return None;
            }
        }
    }
    for (kind, lost) in window.lost.iter().enumerate() {
        let Some(lost) = lost else { continue };
        // The next unused call represents all equal lost calls. A lost call that changes nothing explains no result.
        let Some(number) = lost.numbers.get(here.used.of(kind)) else { continue };
        here.state.successors(&lost.op, None, &mut successors);
        for state in successors.drain(..).filter(|state| *state != here.state) {
            let mut next = here.after(*number, state, idle);
            next.used.add(kind);
            moves.push(next);
            if moves.len() * each > room {
                return None;
            }
        }
    }
    // The search is a stack, so reversed moves are visited in the order listed here. Moves that use lost calls come
    // last, because they cover fewer possibilities.
    moves.reverse();
    Some(moves)
}

/// Returns the call in an occupied slot.
pub(super) fn call<M: Model>(window: &Window<M>, slot: usize) -> &InFlight<M::Op> {
    window.slots[slot].as_ref().expect("a call in flight has its slot until it ends")
}
