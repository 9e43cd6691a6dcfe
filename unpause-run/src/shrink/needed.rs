//! Leaves out each command of a generated program if some schedule still fails without the command.
//!
//! The pass `commands` tries only a dozen schedules of the remaining program. If the failure then needs a rare
//! schedule, that pass keeps an unnecessary command. At the end, the program is small enough to search all its
//! schedules with [`Replayer::seek`](super::Replayer::seek). If such a search is not complete after [`RUNS`] runs, the
//! pass also tries random schedules, because a search stays near its first schedules.

use super::Search;
use crate::run::program::{Change, Fate};

/// The maximum number of runs for a search of the schedules of one smaller program.
const RUNS: u64 = 3000;

/// The number of random schedules to try if the search was not complete.
const SCATTERED: u64 = 300;

pub(super) fn run(search: &mut Search<'_>) {
    for at in 0..search.best().commands.len() {
        // The list keeps its length as long as the program is generated from the same draws.
        let Some(command) = search.best().commands.get(at) else { return };
        if command.fate != Fate::Absent {
            let (runs, scattered) = (search.worth(RUNS), search.worth(SCATTERED));
            search.seek_program(&[(at, Change::Drop)], runs, scattered);
        }
    }
}
