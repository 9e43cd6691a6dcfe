//! Leaves out each command of a generated program that no failing schedule needs.
//!
//! The pass that drops commands tries only a dozen schedules of the rest, so a failure that needs a rare
//! schedule keeps a command too many. The program is small in the end, so that all its schedules can be
//! searched: [`Replayer::seek`](super::Replayer::seek). If such a search is not complete after
//! [`RUNS`] runs, random schedules follow, because a search stays near the schedules with which it began.

use super::Search;
use crate::run::program::{Change, Fate};

/// Runs that a search of the schedules of one smaller program may take.
const RUNS: u64 = 3000;

/// Random schedules that are tried if that was not enough.
const SCATTERED: u64 = 300;

pub(super) fn run(search: &mut Search<'_>) {
    for at in 0..search.best().commands.len() {
        // The list keeps its length while the program is generated from the same draws.
        let Some(command) = search.best().commands.get(at) else { return };
        if command.fate != Fate::Absent {
            let (runs, scattered) = (search.worth(RUNS), search.worth(SCATTERED));
            search.seek_program(&[(at, Change::Drop)], runs, scattered);
        }
    }
}
