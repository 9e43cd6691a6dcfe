//! Replaces commands with simpler commands of the model, given by `Program::shrink`, level by
//! level, until none of them fails.
//!
//! A level is a drawn value, so that a trace contains it: 0 for the unchanged command, `k` for the
//! `k`-th simpler command, after which the next level follows.

use super::Search;
use crate::run::program::Fate;

/// Fresh schedules that are tried with a simpler command that lost the failure. Few, because the same command with
/// other arguments mostly fails under the same schedule.
const FRESH: u64 = 4;

pub(super) fn run(search: &mut Search<'_>) {
    for at in 0..search.best().commands.len() {
        while simplify(search, at) && !search.spent() {}
    }
}

/// Tries simpler commands in this place.
fn simplify(search: &mut Search<'_>, at: usize) -> bool {
    let Some(command) = search.best().commands.get(at).copied() else { return false };
    command.fate == Fate::Runs
        && (1..=command.candidates).any(|nth| search.attempt_simpler(at, nth, FRESH))
}
