//! Swaps two neighbouring groups of turns.
//!
//! The order of the tasks determines which switches are preemptions. For example, in a ring of locks, a task blocks
//! without a preemption if its second lock is already acquired. A group may be a single turn.

use super::Search;

/// The maximum number of candidates, including candidates tried before. The number covers all candidates for up to 11
/// turns. For more turns, pairs with the smallest total length come first.
const CANDIDATES: u64 = 220;

pub(super) fn run(search: &mut Search<'_>) {
    let turns = search.best().turns.clone();
    let together =
        (2..=turns.len()).flat_map(|len| (0..=turns.len() - len).map(move |at| (at, len)));
    let pairs =
        together.flat_map(|(at, len)| (1..len).map(move |middle| (at, at + middle, at + len)));
    for (from, middle, to) in pairs.take(search.worth(CANDIDATES) as usize) {
        let changed = [&turns[..from], &turns[middle..to], &turns[from..middle], &turns[to..]];
        if search.attempt_turns(changed.concat()) || search.spent() {
            return;
        }
    }
}
