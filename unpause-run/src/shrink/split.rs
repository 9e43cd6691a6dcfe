//! Splits a turn and moves one part to another place.
//!
//! A switch away from a waiting task is not a preemption. One more turn may therefore save a preemption. For example,
//! the task runs earlier until it waits for a lock, or it takes the steps after a lock in a later turn.

use crate::run::schedule::Turn;

use super::Search;

/// The maximum number of candidates, including candidates tried before. The number covers all candidates of a small
/// run. In a large run, the candidates split turns at equal distances.
const CANDIDATES: u64 = 500;

pub(super) fn run(search: &mut Search<'_>) {
    let turns = search.best().turns.clone();
    let all = search.cost().steps * turns.len() as u64;
    let stride = u32::try_from(all.div_ceil(search.worth(CANDIDATES))).unwrap_or(u32::MAX).max(1);
    for from in 0..turns.len() {
        for steps in (stride..turns[from].steps).step_by(stride as usize) {
            for to in (0..turns.len()).filter(|to| *to != from) {
                if search.attempt_turns(moved(&turns, from, steps, to)) || search.spent() {
                    return;
                }
            }
        }
    }
}

/// If turn `to` is earlier than turn `from`, moves the first `steps` steps of `from` before `to`. If turn `to` is
/// later, moves the remaining steps of `from` after `to`.
fn moved(turns: &[Turn], from: usize, steps: u32, to: usize) -> Vec<Turn> {
    let mut candidate = turns.to_vec();
    let first = Turn { steps, ..turns[from] };
    let second = Turn { steps: turns[from].steps - steps, ..turns[from] };
    let (stays, goes, place) =
        if to < from { (second, first, to) } else { (first, second, to + 1) };
    candidate[from] = stays;
    candidate.insert(place, goes);
    candidate
}
