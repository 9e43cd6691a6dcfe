//! Drops the end of a schedule. The run then continues by the default rule, without preemptions.
//!
//! The cause of a failure is often long before the failure. The pass tries to keep nothing, then half, then three
//! quarters, and so on. The pass takes about log2(turns) replays.

use super::Search;

pub(super) fn run(search: &mut Search<'_>) {
    let mut dropped = search.best().turns.len();
    while dropped > 0 && !search.spent() {
        let turns = &search.best().turns;
        let kept = turns.len().saturating_sub(dropped);
        let candidate = turns[..kept].to_vec();
        if !search.attempt_turns(candidate) || kept == 0 {
            dropped /= 2;
        }
    }
}
