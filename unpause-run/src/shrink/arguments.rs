//! Replaces commands with simpler commands from `Program::shrink`, level by level, until no simpler command fails.
//!
//! Each level is a drawn value, so that a trace contains it. The value is 0 for the unchanged command, or `k` for the
//! `k`-th simpler command, which is followed by the next level.

use super::Search;
use crate::run::program::Fate;

/// The number of fresh schedules to try if a simpler command loses the failure. The number is small, because the same
/// command with other arguments usually fails under the same schedule.
const FRESH: u64 = 4;

pub(super) fn run(search: &mut Search<'_>) {
    for at in 0..search.best().commands.len() {
        while simplify(search, at) && !search.spent() {}
    }
}

/// Tries simpler commands at this position. Returns `true` if a simpler command was accepted.
fn simplify(search: &mut Search<'_>, at: usize) -> bool {
    let Some(command) = search.best().commands.get(at).copied() else { return false };
    command.fate == Fate::Runs
        && (1..=command.candidates).any(|nth| search.attempt_simpler(at, nth, FRESH))
}
