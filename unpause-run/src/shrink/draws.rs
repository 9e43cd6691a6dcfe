//! Replaces drawn values with the default, 0, or with smaller values.
//!
//! Tries all values together first, then pieces of each task's draws, then single values. A single value becomes 0. If
//! this loses the failure, the pass subtracts as many halves, quarters, … of the value as possible.

use super::Search;

pub(super) fn run(search: &mut Search<'_>) {
    let none = vec![Vec::new(); search.best().tasks.len()];
    if search.cost().draws_set == 0 || search.attempt_draws(none) {
        return;
    }
    let mut task = 0;
    while task < search.best().draws.len() && !search.spent() {
        clear(search, task);
        // The pass runs only if few values are left or the pieces have the minimum size, because each value needs many
        // replays.
        if search.finest(search.cost().draws_set as usize) == 1 {
            lower(search, task);
        }
        task += 1;
    }
}

/// Sets pieces of a task's draws to 0, big pieces first.
fn clear(search: &mut Search<'_>, task: usize) {
    let drawn = |search: &Search<'_>| search.best().draws.get(task).map_or(0, Vec::len);
    let mut size = drawn(search);
    while size > 0 && !search.spent() {
        let mut from = 0;
        while from < drawn(search) {
            let mut draws = search.best().draws.clone();
            let to = draws[task].len().min(from + size);
            draws[task][from..to].fill(0);
            search.attempt_draws(draws);
            from += size;
        }
        if size <= search.finest(drawn(search)) {
            break;
        }
        size /= 2;
    }
}

/// Makes single values smaller.
fn lower(search: &mut Search<'_>, task: usize) {
    let mut nth = 0;
    let value = |search: &Search<'_>, nth: usize| {
        search.best().draws.get(task).and_then(|draws| draws.get(nth)).copied()
    };
    while let Some(first) = value(search, nth) {
        let mut less = first.div_ceil(2);
        while less > 0 && !search.spent() {
            // A better schedule may have a different table of tasks.
            let Some(now) = value(search, nth) else { break };
            if less > now {
                less = now;
                continue;
            }
            let mut draws = search.best().draws.clone();
            draws[task][nth] = now - less;
            if !search.attempt_draws(draws) {
                less /= 2;
            }
        }
        nth += 1;
    }
}
