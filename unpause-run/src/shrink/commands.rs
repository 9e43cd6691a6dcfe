//! Leaves commands of a generated program out: all together first, then halves, quarters, down to
//! single ones. A command that is needed only for its steps becomes a tombstone.

use super::Search;
use crate::run::program::{Change, Fate};

/// Fresh schedules that are tried with a program that lost the failure.
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

/// The commands that are not left out.
fn present(search: &Search<'_>) -> Vec<usize> {
    let commands = search.best().commands.iter().enumerate();
    commands.filter(|(_, command)| command.fate != Fate::Absent).map(|(at, _)| at).collect()
}

/// Replaces a command that runs with points.
fn put_tombstone(search: &mut Search<'_>, at: usize) {
    let command = search.best().commands[at];
    if let (Fate::Runs, Some((_, from, to))) = (command.fate, command.steps) {
        if to - from <= Change::POINTS_MAX {
            search.attempt_program(&[(at, Change::Tombstone(to - from))], 0);
        }
    }
}
