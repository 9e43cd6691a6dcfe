//! Drops the turns of tasks, so that these tasks run last or never, or merges the turns of a task into one turn.
//!
//! Tries all tasks together first, then halves, quarters, down to single tasks. A task that cannot be dropped may need
//! only one turn, at the place of its first or last turn.

use std::ops::Range;

use crate::run::schedule::Turn;

use super::Search;

pub(super) fn run(search: &mut Search<'_>) {
    let mut size = search.best().tasks.len();
    while size > 0 && !search.spent() {
        let mut from = 0;
        // The table of tasks changes with the best schedule, so its length is read each time.
        while from < search.best().tasks.len() {
            for edit in [without, into_first, into_last] {
                let candidate = edit(&search.best().turns, from..from + size);
                search.attempt_turns(candidate);
            }
            from += size;
        }
        if size <= search.finest(search.best().tasks.len()) {
            break;
        }
        size /= 2;
    }
}

fn without(turns: &[Turn], tasks: Range<usize>) -> Vec<Turn> {
    turns.iter().filter(|turn| !tasks.contains(&turn.task)).copied().collect()
}

/// Moves all steps of each of these tasks into its first turn.
fn into_first(turns: &[Turn], tasks: Range<usize>) -> Vec<Turn> {
    let mut candidate = turns.to_vec();
    gather(candidate.iter_mut(), tasks);
    candidate
}

/// Moves all steps of each of these tasks into its last turn.
fn into_last(turns: &[Turn], tasks: Range<usize>) -> Vec<Turn> {
    let mut candidate = turns.to_vec();
    gather(candidate.iter_mut().rev(), tasks);
    candidate
}

/// Adds the steps of all later turns of a task in this sequence to its first turn.
fn gather<'a>(turns: impl Iterator<Item = &'a mut Turn>, tasks: Range<usize>) {
    let mut first: Vec<Option<&mut Turn>> = tasks.clone().map(|_| None).collect();
    for turn in turns.filter(|turn| tasks.contains(&turn.task)) {
        match &mut first[turn.task - tasks.start] {
            Some(first) => {
                first.steps = first.steps.saturating_add(turn.steps);
                turn.steps = 0;
            }
            none => *none = Some(turn),
        }
    }
}
