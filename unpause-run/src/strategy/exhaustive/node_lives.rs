//! Lives of nodes: the steps of a node whose effects outlive it, and the ends of lives.
//!
//! The death of a node undoes its tasks' changes to the memory of the node, their reads from other tasks, and their
//! waits. Such a step followed by the death is equivalent to the death alone, so the search needs to try only one of
//! the two orders. A step *outlives* the node if it changed an object outside the node, spawned a task (such as a sent
//! message), or ended its task. A step also outlives the node if it reached a point of a recorded call, drew a value,
//! or had another effect without an event.
//!
//! This holds only if no other task reads memory of the node, during or after its life; see
//! [`Apart`](crate::strategy::search::Apart).

use crate::run::board::{Contact, ContactMark, Life};
use crate::run::choice::View;
use crate::run::event::{Event, Values};
use crate::run::op::{Access, task};
use crate::strategy::footprint::StepItem;

/// Returns `true` if a step of a task in `life`, with these events and contacts, has effects that outlive that life.
pub(super) fn outlives(
    view: &View<'_>,
    life: Life,
    (events, contacts): (&[Event], &[ContactMark]),
    items: &[StepItem],
) -> bool {
    #[cfg(any(test, feature = "planted"))]
    if faults::outlives_nothing() {
        return false;
    }
    contacts.iter().any(|mark| mark.contact == Contact::Told)
        || events.iter().any(|event| changes_others(view, life, event))
        || items.iter().any(|item| match *item {
            StepItem::Task { target, kind, done } => {
                done && (kind == task::END || view.task(target).life != life)
            }
            StepItem::Spawned(_)
            | StepItem::Called { .. }
            | StepItem::Counted { .. }
            | StepItem::Unseen => true,
            StepItem::Object { .. } | StepItem::Life { .. } | StepItem::Over => false,
        })
}

/// Returns `true` if an event changed an object that is not memory of this life.
fn changes_others(view: &View<'_>, life: Life, event: &Event) -> bool {
    let Some(object) = event.object else { return false };
    // A wait for a deadline does not change the clock, but it enables the advance of time.
    let turns = |event: &Event| event.op.kind.is_some_and(|kind| kind.turns_some());
    view.life_of(object) != life && (!event.is_look() || turns(event))
}

/// Returns the lives that these events ended.
pub(super) fn ends(view: &View<'_>, events: &[Event]) -> Vec<Life> {
    let mut lives = Vec::new();
    for event in events {
        let is_kill = event.op.access == Access::Tell && event.op.kind == Some(task::KILL);
        if let (true, Values::Task(target)) = (is_kill, event.values) {
            let life = view.task(target).life;
            if !lives.contains(&life) {
                lives.push(life);
            }
        }
    }
    lives
}

/// Faults planted in this file.
#[cfg(any(test, feature = "planted"))]
pub mod faults {
    thread_local! {
        static NOTHING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }

    pub(super) fn outlives_nothing() -> bool {
        NOTHING.get()
    }

    /// Runs `act`. Meanwhile, no step outlives its node.
    #[allow(dead_code, reason = "for the tests of the engine, which the real build does not have")]
    pub fn with_all_lost<T>(act: impl FnOnce() -> T) -> T {
        NOTHING.set(true);
        let done = act();
        NOTHING.set(false);
        done
    }
}
