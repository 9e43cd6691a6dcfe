//! The parts of the rule of [`plan`](super). A test can leave out a part and check that the search then misses a bug.

use crate::run::event::{Event, Values};
use crate::run::op::Access;
use crate::run::store_choice::is_store_choice;

/// A part of the rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Dropped operations take part in reversals.
    Dropped,
    /// Operations that are pending at the end of the run take part in reversals.
    Pending,
    /// The rule adds each step that may enable a disabled task.
    Enablers,
    /// The rule also adds an enabling step if it comes after the end of the operation, or after its drop.
    LateEnablers,
    /// A sleeping task does not complete a reversal.
    Sleepers,
    /// A footprint contains all events of the step, not only the first one.
    LaterEvents,
    /// A footprint contains failed attempts to acquire a lock.
    FailedAttempts,
    /// The search tries each store that an operation may choose, not only the newest one.
    Stores,
}

/// The parts of the rule that a search applies: all of them, outside of tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(any(test, feature = "planted")), derive(Default))]
pub struct Rules {
    left_out: Option<Rule>,
}

impl Rules {
    /// Returns `true` if this part is applied.
    pub(super) fn has(self, rule: Rule) -> bool {
        self.left_out != Some(rule)
    }

    /// Returns `true` if a footprint contains the event with the number `nth` of its step.
    pub(in crate::strategy::exhaustive) fn has_event(self, nth: usize, event: &Event) -> bool {
        let is_attempt = matches!(event.op.access, Access::Lock | Access::TryLock);
        let has_failed = is_attempt && event.values == Values::Failed;
        (nth == 0 || self.has(Rule::LaterEvents)) && (!has_failed || self.has(Rule::FailedAttempts))
    }

    /// Returns `true` if the search tries each value of a draw with this purpose.
    pub(in crate::strategy::exhaustive) fn varies(self, why: &str) -> bool {
        self.has(Rule::Stores) || !is_store_choice(why)
    }

    /// Returns `true` if all parts are applied.
    pub(super) fn are_whole(self) -> bool {
        self.left_out.is_none()
    }
}

#[cfg(any(test, feature = "planted"))]
impl Default for Rules {
    fn default() -> Rules {
        Rules { left_out: LEFT_OUT.get() }
    }
}

#[cfg(any(test, feature = "planted"))]
thread_local! {
    /// The part that searches created on this thread leave out.
    static LEFT_OUT: std::cell::Cell<Option<Rule>> = const { std::cell::Cell::new(None) };
}

/// Runs `act`. Searches created during `act` leave out this part of the rule.
#[cfg(any(test, feature = "planted"))]
pub fn without<T>(rule: Rule, act: impl FnOnce() -> T) -> T {
    LEFT_OUT.set(Some(rule));
    let done = act();
    LEFT_OUT.set(None);
    done
}
