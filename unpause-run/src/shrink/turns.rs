//! Drops turns, or merges them into other turns of their tasks.

use std::ops::Range;

use crate::run::schedule::Turn;

use super::Search;

pub(super) fn run(search: &mut Search<'_>) {
    search.sweep(1, &[without, open, later, earlier]);
}

/// Removes the turns of the piece. The tasks take these steps later.
fn without(turns: &[Turn], piece: Range<usize>) -> Option<Vec<Turn>> {
    Some([&turns[..piece.start], &turns[piece.end..]].concat())
}

/// Makes the first turn of the piece open, and removes the other turns of the piece.
fn open(turns: &[Turn], piece: Range<usize>) -> Option<Vec<Turn>> {
    let mut candidate = without(turns, piece.start + 1..piece.end)?;
    candidate[piece.start].steps = Turn::OPEN;
    Some(candidate)
}

/// Moves each task's steps in the piece to the first turn of the task after the piece.
fn later(turns: &[Turn], piece: Range<usize>) -> Option<Vec<Turn>> {
    hand_over(turns, piece.clone(), piece.end..turns.len())
}

/// Moves each task's steps in the piece to the last turn of the task before the piece.
fn earlier(turns: &[Turn], piece: Range<usize>) -> Option<Vec<Turn>> {
    hand_over(turns, piece.clone(), (0..piece.start).rev())
}

/// Moves each task's steps in the piece to the first turn of the task in `places`. Returns `None`
/// if a task of the piece has no turn there.
fn hand_over(
    turns: &[Turn],
    piece: Range<usize>,
    places: impl Iterator<Item = usize>,
) -> Option<Vec<Turn>> {
    let tasks = turns.iter().map(|turn| turn.task).max()? + 1;
    let mut takers = vec![None; tasks];
    for at in places {
        takers[turns[at].task].get_or_insert(at);
    }
    let mut candidate = turns.to_vec();
    for at in piece {
        let taker = takers[turns[at].task]?;
        candidate[taker].steps = candidate[taker].steps.saturating_add(turns[at].steps);
        candidate[at].steps = 0;
    }
    Some(candidate)
}
