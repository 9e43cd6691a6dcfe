//! Leaves out each command of a generated program that no failing schedule needs.
//!
//! The pass that drops commands tries a dozen schedules with what is left, and a failure that needs a rare
//! one survives with a command too many. What is left in the end is small, so that all its schedules can be
//! searched: [`Replayer::seek`](super::Replayer::seek). Where such a search is not through with
//! [`RUNS`] runs, schedules at random follow it, which do not stay near those where the search began.

use super::Search;
use crate::run::program::{Change, Fate};

/// Runs that a search of the schedules of one smaller program may take.
const RUNS: u64 = 3000;

/// Schedules at random that are tried if that was not enough.
const SCATTERED: u64 = 300;

pub(super) fn run(search: &mut Search<'_>) {
    for at in 0..search.best().commands.len() {
        // The list stays as long as it is while the program is generated from the same draws.
        let Some(command) = search.best().commands.get(at) else { return };
        if command.fate != Fate::Absent {
            let (runs, scattered) = (search.worth(RUNS), search.worth(SCATTERED));
            search.seek_program(&[(at, Change::Drop)], runs, scattered);
        }
    }
}
