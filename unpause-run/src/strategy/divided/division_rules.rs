//! The rules of the division. A test can leave out a rule and check that the search then misses something.

/// A rule of the division.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DivisionRule {
    /// Requests for a shared frame are granted.
    Wishes,
    /// The requests of a job are kept when the job is complete.
    Kept,
    /// Below a task of a shared frame, only the tasks before this task are asleep.
    Order,
    /// The footprint of a sleeping sibling covers all values that its step may draw.
    Values,
    /// The first run of a slice plans from step 0.
    Replan,
    /// The footprints of the current steps of a job are kept from slice to slice.
    Current,
    /// A split removes from the job everything that it gives to new jobs.
    Given,
    /// After a restart, nothing from the earlier search counts.
    Anew,
}

/// The rules that a search applies: all of them, outside of tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(any(test, feature = "planted")), derive(Default))]
pub struct DivisionRules {
    left_out: Option<DivisionRule>,
}

impl DivisionRules {
    /// Returns `true` if this rule is applied.
    pub fn has(self, rule: DivisionRule) -> bool {
        self.left_out != Some(rule)
    }
}

#[cfg(any(test, feature = "planted"))]
impl Default for DivisionRules {
    fn default() -> DivisionRules {
        DivisionRules { left_out: LEFT_OUT.get() }
    }
}

#[cfg(any(test, feature = "planted"))]
thread_local! {
    /// The rule that trees created on this thread leave out.
    static LEFT_OUT: std::cell::Cell<Option<DivisionRule>> = const { std::cell::Cell::new(None) };
}

/// Runs `act`. Trees created during `act` leave out this rule.
#[cfg(any(test, feature = "planted"))]
#[allow(dead_code, reason = "for the tests of the engine, which the real build does not have")]
pub fn without_rule<T>(rule: DivisionRule, act: impl FnOnce() -> T) -> T {
    LEFT_OUT.set(Some(rule));
    let done = act();
    LEFT_OUT.set(None);
    done
}
