//! Cuts turns shorter: the steps after the cut are done in the task's next turn, or after all turns.
//!
//! Only turns that were cut anyway: to cut another one would be a preemption more. And only when so
//! few turns are left that single ones are looked at.

use crate::schedule::Turn;

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

fn shorten(search: &mut Search<'_>, at: usize) {
    let cut = |turns: &[Turn]| turns.get(at + 1).is_some_and(|next| next.preempts);
    if !cut(&search.best().turns) {
        return;
    }
    let mut less = search.best().turns[at].steps / 2;
    while less > 0 && cut(&search.best().turns) && !search.spent() {
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
