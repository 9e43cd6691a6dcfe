//! The parts of the rule of [`plan`](super), so that a test can leave one out and see that it is missed.

/// A part of the rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    /// An operation that was dropped competes.
    Dropped,
    /// An operation that was pending at the end competes.
    Pending,
    /// Whatever may enable a task that could not step is tried.
    Enablers,
    /// So is what comes after the operation was done or dropped.
    LateEnablers,
    /// A task that sleeps does not count as planned.
    Sleepers,
}

/// The parts that a search goes by: all of them, outside of tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(test), derive(Default))]
pub(crate) struct Rules {
    left_out: Option<Rule>,
}

impl Rules {
    /// Whether this part is among them.
    pub(super) fn has(self, rule: Rule) -> bool {
        self.left_out != Some(rule)
    }

    /// Whether all are.
    pub(super) fn are_whole(self) -> bool {
        self.left_out.is_none()
    }
}

#[cfg(test)]
impl Default for Rules {
    fn default() -> Rules {
        Rules { left_out: LEFT_OUT.get() }
    }
}

#[cfg(test)]
thread_local! {
    /// What searches leave out that are made on this thread.
    static LEFT_OUT: std::cell::Cell<Option<Rule>> = const { std::cell::Cell::new(None) };
}

/// Makes searches that leave a part out, while `act` is on.
#[cfg(test)]
pub(crate) fn without<T>(rule: Rule, act: impl FnOnce() -> T) -> T {
    LEFT_OUT.set(Some(rule));
    let done = act();
    LEFT_OUT.set(None);
    done
}
