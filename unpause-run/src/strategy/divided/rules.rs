//! The rules of the division. A test leaves one out and checks that the search then misses something.

/// A rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DivisionRule {
    /// A request for a shared frame is granted there.
    Wishes,
    /// Behind a task sleep only the tasks before it.
    Order,
    /// A sleeping sibling has the footprint of all values that its step may draw.
    Values,
    /// The first run of a slice plans from step 0.
    Replan,
    /// The footprint of the current steps of a job is kept from one slice to the next.
    Current,
    /// A split takes from the job everything that it gives away.
    Given,
    /// Nothing of the search before it began again counts.
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

/// Has trees that are created during `act` leave out a rule.
#[cfg(any(test, feature = "planted"))]
#[allow(dead_code, reason = "for the tests of the engine, which the real build does not have")]
pub fn without_rule<T>(rule: DivisionRule, act: impl FnOnce() -> T) -> T {
    LEFT_OUT.set(Some(rule));
    let done = act();
    LEFT_OUT.set(None);
    done
}
