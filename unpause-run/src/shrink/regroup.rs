//! Merges the steps of each task in a stretch of turns into one turn.
//!
//! After the stretch, each task has taken the same steps as before, so the rest of the schedule still fits. This pass
//! makes long schedules short if only a few switches matter. The merged turns are in the order of the tasks' last turns
//! or of their first turns in the stretch. The order of the last turns keeps the last task of the stretch.

use std::ops::Range;

use crate::run::schedule::Turn;

use super::Search;

pub(super) fn run(search: &mut Search<'_>) {
    search.sweep(3, &[by_last, by_first]);
}

fn by_first(turns: &[Turn], piece: Range<usize>) -> Option<Vec<Turn>> {
    let order = tasks_in_order(turns[piece.clone()].iter());
    grouped(turns, piece, &order)
}

fn by_last(turns: &[Turn], piece: Range<usize>) -> Option<Vec<Turn>> {
    let mut order = tasks_in_order(turns[piece.clone()].iter().rev());
    order.reverse();
    grouped(turns, piece, &order)
}

/// Returns the tasks of these turns, in the order of their first turns.
fn tasks_in_order<'a>(turns: impl Iterator<Item = &'a Turn>) -> Vec<usize> {
    let mut seen: Vec<bool> = Vec::new();
    let mut order = Vec::new();
    for turn in turns {
        if seen.len() <= turn.task {
            seen.resize(turn.task + 1, false);
        }
        if !std::mem::replace(&mut seen[turn.task], true) {
            order.push(turn.task);
        }
    }
    order
}

/// Replaces the piece with one turn for each of its tasks, in this order. Returns `None` if this changes nothing.
fn grouped(turns: &[Turn], piece: Range<usize>, order: &[usize]) -> Option<Vec<Turn>> {
    if order.len() == piece.len() {
        return None;
    }
    let mut steps = vec![0u32; order.iter().max()? + 1];
    for turn in &turns[piece.clone()] {
        steps[turn.task] = steps[turn.task].saturating_add(turn.steps);
    }
    let group = order.iter().map(|&task| Turn { task, steps: steps[task], preempts: false });
    let before = turns[..piece.start].iter().copied();
    Some(before.chain(group).chain(turns[piece.end..].iter().copied()).collect())
}
