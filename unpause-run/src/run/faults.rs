//! Faults of runs: events that may be injected into a task at any moment, if the test asks for
//! them.

use std::fmt;
use std::sync::Arc;

/// The syntax of a name pattern.
pub const PATTERN_GRAMMAR: &str = "the name of a task, in which * stands for any text";

/// The faults that runs may have.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// A pattern for the names of the tasks that may be aborted at any point. In the pattern, `*` matches any text.
    pub cancel: Option<Arc<str>>,
    /// The tasks that may stall permanently at any point.
    pub progress: Progress,
    /// True if certain deadlines may pass at any moment: the deadlines of timeouts, and of timers in branches of a
    /// `select!`.
    pub selects: bool,
    /// True if a wait on a condition variable may end without a notification.
    pub spurious: bool,
    /// True if a `compare_exchange_weak` may fail although it sees the expected value.
    pub weak: bool,
    /// True if code marked with `buggify!` may be executed.
    pub buggify: bool,
}

/// The prefix of the names of decisions to execute code marked with `buggify!`.
pub const BUGGIFY: &str = "buggify: ";

/// The progress guarantee that a test checks: the tasks that must end, even if other tasks stall permanently.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Progress {
    /// No guarantee: no task stalls.
    #[default]
    Any,
    /// Each spawned task may stall. The other tasks must end.
    LockFree,
    /// At one moment, all tasks of one spawner except a single task may stall. This task must end.
    ObstructionFree,
    /// Each spawned task may stall. Each operation of the other tasks must end within this many steps of its own.
    WaitFree(u32),
}

impl Faults {
    /// No faults.
    #[cfg(any(test, feature = "planted"))]
    #[doc(hidden)]
    pub const NONE: Faults = Faults {
        cancel: None,
        progress: Progress::Any,
        selects: false,
        spurious: false,
        weak: false,
        buggify: false,
    };

    /// Returns `true` if any fault is possible in runs.
    #[inline]
    #[doc(hidden)]
    pub fn are_any(&self) -> bool {
        let Faults { cancel, progress, selects, spurious, weak, buggify } = self;
        let of_tasks = cancel.is_some() || *progress != Progress::Any;
        of_tasks || *selects || *spurious || *weak || *buggify
    }

    /// Returns `true` if spawned tasks may have faults.
    #[inline]
    #[doc(hidden)]
    pub fn befall_tasks(&self) -> bool {
        self.cancel.is_some() || self.progress != Progress::Any
    }

    /// Returns `true` if a task with this name may be aborted.
    #[doc(hidden)]
    pub fn cancels(&self, name: Option<&str>) -> bool {
        match (&self.cancel, name) {
            (Some(pattern), Some(name)) => matches(pattern, name),
            _ => false,
        }
    }
}

impl Progress {
    pub const GRAMMAR: &'static str =
        "`lock-free`, `obstruction-free`, `wait-free`, or `wait-free:` and a number from 1";

    /// The default bound of `wait-free`.
    const STEPS_MAX: u32 = 100;

    pub fn parse(text: &str) -> Option<Progress> {
        match text {
            "lock-free" => Some(Progress::LockFree),
            "obstruction-free" => Some(Progress::ObstructionFree),
            "wait-free" => Some(Progress::WaitFree(Progress::STEPS_MAX)),
            _ => {
                let bound = text.strip_prefix("wait-free:")?.parse().ok()?;
                (bound > 0).then_some(Progress::WaitFree(bound))
            }
        }
    }
}

/// Writes the name of the guarantee; an empty text for no guarantee.
impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Progress::Any => Ok(()),
            Progress::LockFree => f.write_str("lock-free"),
            Progress::ObstructionFree => f.write_str("obstruction-free"),
            Progress::WaitFree(steps) => write!(f, "wait-free:{steps}"),
        }
    }
}

/// Returns `true` if `name` matches `pattern`, in which `*` matches any text.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(start) else { return false };
    // The leftmost match of each part leaves the most text for the later parts.
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*').filter(|part| !part.is_empty()) {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_of_steps_is_a_number_from_1() {
        assert_eq!(Progress::parse("wait-free:7"), Some(Progress::WaitFree(7)));
        assert_eq!(Progress::parse("wait-free"), Some(Progress::WaitFree(Progress::STEPS_MAX)));
        for text in ["wait-free:0", "wait-free:", "wait-free:-1", "wait-free: 2", "lock-free:2"] {
            assert_eq!(Progress::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name) in
            [("*", ""), ("*", "a"), ("ab", "ab"), ("a*", "a"), ("*b", "ab"), ("a*b*c", "a12b3bc")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("", "a"), ("ab", "a"), ("a*", "ba"), ("*b", "bc"), ("a*a", "a"), ("a*b*c", "acb")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
