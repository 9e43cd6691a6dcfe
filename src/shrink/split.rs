//! Splits a turn and lets a part of it change its place.
//!
//! A task that waits has not been preempted. So it can pay to let a task run earlier, as far as a
//! lock that is taken, or to leave to a later turn what it does after one: a turn more, but a
//! preemption less.

use crate::run::schedule::Turn;

use super::Search;

/// How many candidates are looked at, those that were tried before included. All there are for small
/// runs, else those that split turns at equal distances.
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

/// The first `steps` steps of turn `from` are done before turn `to`, if that is earlier; else those
/// after them are done after it.
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
