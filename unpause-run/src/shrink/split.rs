//! Splits a turn and moves a part of it to another place.
//!
//! A task that waits was not preempted. One more turn may therefore save a preemption: the task runs earlier, up to a
//! lock that is taken, or does the steps after a lock in a later turn.

use crate::run::schedule::Turn;

use super::Search;

/// The number of candidates, including candidates tried before. All of them for small runs, else
/// the candidates that split turns at equal distances.
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

/// Moves the first `steps` steps of turn `from` before turn `to`, if that is earlier; else moves the rest of turn
/// `from` after it.
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
