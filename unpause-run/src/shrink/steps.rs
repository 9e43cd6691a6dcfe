//! Cuts turns shorter. The task takes the steps after the cut in its next turn, or after all turns.
//!
//! A cut in an uncut turn adds a preemption. The cut pays off if it saves more steps than a preemption costs, because a
//! task can stop once it has caused the failure. This pass runs only when the schedule has so few turns that the search
//! tries single turns.

use crate::run::schedule::{Cost, Turn};

use super::Search;

pub(super) fn run(search: &mut Search<'_>) {
    let mut at = search.best().turns.len();
    if search.finest(at) > 1 {
        return;
    }
    while at > 0 && !search.spent() {
        at = (at - 1).min(search.best().turns.len().saturating_sub(1));
        shorten(search, at);
    }
}

/// The minimum number of steps that the turn at this position must lose for a gain; `None` for the last turn.
fn least(turns: &[Turn], at: usize) -> Option<u32> {
    let next = turns.get(at + 1)?;
    Some(if next.preempts { 1 } else { Cost::PREEMPTION as u32 })
}

fn shorten(search: &mut Search<'_>, at: usize) {
    let Some(turn) = search.best().turns.get(at) else { return };
    let mut less = turn.steps.saturating_sub(1);
    while least(&search.best().turns, at).is_some_and(|least| less >= least) && !search.spent() {
        let turns = &search.best().turns;
        let task = turns[at].task;
        let mut lost = turns.clone();
        lost[at].steps = lost[at].steps.saturating_sub(less);
        let mut moved = lost.clone();
        let next = moved[at + 1..].iter_mut().find(|turn| turn.task == task);
        let has_next = next.is_some();
        if let Some(next) = next {
            next.steps = next.steps.saturating_add(less);
        }
        let better = search.attempt_turns(lost) || has_next && search.attempt_turns(moved);
        if !better {
            less /= 2;
        }
    }
}
