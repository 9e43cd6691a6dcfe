//! Leaves out commands of a generated program: first all commands together, then halves, quarters,
//! down to single commands. A command that is needed only for its steps becomes a tombstone.

use super::Search;
use crate::run::program::{Change, Fate};

/// The number of fresh schedules to try if a smaller program loses the failure.
pub(super) const FRESH: u64 = 12;

pub(super) fn run(search: &mut Search<'_>) {
    let mut size = present(search).len();
    while size > 0 && !search.spent() {
        let mut from = 0;
        loop {
            let left = present(search);
            let Some(piece) = left.get(from..left.len().min(from + size)) else { break };
            if piece.is_empty() {
                break;
            }
            let changes: Vec<_> = piece.iter().map(|at| (*at, Change::Drop)).collect();
            // The next piece then has the same position.
            if search.attempt_program(&changes, FRESH) {
                continue;
            }
            if size == 1 {
                put_tombstone(search, piece[0]);
            }
            from += size;
        }
        size /= 2;
    }
}

/// Returns the commands that are not left out.
fn present(search: &Search<'_>) -> Vec<usize> {
    let commands = search.best().commands.iter().enumerate();
    commands.filter(|(_, command)| command.fate != Fate::Absent).map(|(at, _)| at).collect()
}

/// Replaces a running command with points without effect.
fn put_tombstone(search: &mut Search<'_>, at: usize) {
    let command = search.best().commands[at];
    if let (Fate::Runs, Some((_, from, to))) = (command.fate, command.steps) {
        if to - from <= Change::POINTS_MAX {
            search.attempt_program(&[(at, Change::Tombstone(to - from))], 0);
        }
    }
}
