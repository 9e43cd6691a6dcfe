//! Moves commands from the concurrent branches of a program to its prefix or suffix.

use super::Search;
use super::commands::FRESH;
use crate::run::program::{Change, Fate, Part};

pub(super) fn run(search: &mut Search<'_>) {
    for at in 0..search.best().commands.len() {
        for change in [Change::ToSuffix, Change::ToPrefix] {
            // The list keeps its length as long as the program is generated from the same draws.
            let Some(command) = search.best().commands.get(at) else { return };
            if command.fate == Fate::Runs && matches!(command.part, Part::Branch { .. }) {
                search.attempt_program(&[(at, change)], FRESH);
            }
        }
    }
}
