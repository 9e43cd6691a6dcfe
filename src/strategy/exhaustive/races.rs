//! How a race is turned round: before which step, and by whose step first.
//!
//! A segment `y` races with an earlier one `x` of another task if they conflict, nothing else
//! orders them, and `y` could have come first. To have it first, the run is taken up to the step of
//! `x`, then what does not depend on `x`, then `y`: the *initials* are the tasks that may begin that.

use crate::ids::TaskId;
use crate::strategy::footprint::Item;
use crate::strategy::happens_before::{HappensBefore, Index, Late};

/// A run that begins like this one and has a race the other way round.
#[derive(Debug, Default)]
pub(super) struct Reversal {
    /// It differs from this step on.
    pub(super) step: u32,
    /// Who may take that step. Never empty.
    pub(super) initials: Vec<TaskId>,
    /// Whether the step is held back for the sake of a task that awaits its end: what that task would
    /// have done at once it does in a step of its own then, which others can come before.
    pub(super) parts: bool,
}

/// The reversals of the race of `x` and `y`, which `found` is called with. There may be none, if `x`
/// cannot be held back.
pub(super) fn reversals(
    order: &HappensBefore,
    x: Index,
    y: &Late<'_>,
    reversal: &mut Reversal,
    mut found: impl FnMut(&Reversal),
) {
    let needs = |index: Index| {
        order.knows(y.known, index)
            || y.rivals.iter().any(|other| {
                *other != x && !order.knows(order.clock(*other), x) && {
                    *other == index || order.knows(order.clock(*other), index)
                }
            })
    };
    let mut root = x;
    // What has to come before that one is cut: `y`, or segments up to this one, of a step that is cut.
    let mut sake = None;
    reversal.parts = false;
    loop {
        let first = order.first_of(root);
        let comes_before = |index: &Index| match sake {
            None => needs(*index),
            Some(kept) => order.knows(order.clock(kept), *index),
        };
        let before = (first..root).take_while(comes_before).count() as Index;
        if before == 0 {
            turn(order, first, y, sake.is_none(), reversal);
            found(reversal);
        }
        // What came earlier in the same step may have to stay before `y`: then that step has to be
        // cut where it found the task that it joins to have ended.
        let stays = |index: &Index| {
            comes_before(index) || sake.is_none() && order.collides(y.task, y.items, *index)
        };
        let kept = (first..root).take_while(stays).count() as Index;
        if kept == 0 {
            return;
        }
        let target = order.items_of(first + kept).iter().find_map(|item| match item {
            Item::Joined(target) => Some(*target),
            _ => None,
        });
        let end = target.and_then(|target| order.last_of(target));
        let end = end.expect("a step is cut before joins of ended tasks only");
        let last = first + kept - 1;
        if order.knows(order.clock(last), end) {
            return;
        }
        if comes_before(&end) {
            // That task has to end before `y`, but need not have when the step began.
            sake = Some(last);
        }
        root = end;
        reversal.parts = true;
    }
}

/// Holds back the segment `root`, the first of its step, for the sake of `y` or of others before it.
fn turn(order: &HappensBefore, root: Index, y: &Late<'_>, with_y: bool, reversal: &mut Reversal) {
    reversal.step = order.step_of(root);
    reversal.initials.clear();
    let free = |index: &Index| !order.knows(order.clock(*index), root);
    // The first segment of each task, and whether any other one must come before it.
    let mut firsts: Vec<Index> = Vec::new();
    let mut hindered = false;
    for index in (root + 1..y.end).filter(free) {
        hindered |= order.knows(y.known, index) || order.collides(y.task, y.items, index);
        let task = order.task_of(index);
        if firsts.iter().any(|first| order.task_of(*first) == task) {
            continue;
        }
        if !firsts.iter().any(|first| order.knows(order.clock(index), *first)) {
            reversal.initials.push(task);
        }
        firsts.push(index);
    }
    let begun = firsts.iter().any(|first| order.task_of(*first) == y.task);
    if with_y && !begun && !hindered {
        reversal.initials.push(y.task);
    }
}
