//! The clock mode, a setting that decides when the time of a run advances. Also changes of node clocks.

use std::fmt;

/// The moments at which the time of a run advances to the next deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ClockMode {
    /// When no task can step: work takes no time.
    #[default]
    Last,
    /// When no task can step; also at any other moment, but at most this many times in a run. This models the same
    /// number of slow tasks.
    Late(u32),
    /// At any moment: a task may take any time between two of its points.
    Any,
}

impl ClockMode {
    pub const GRAMMAR: &'static str =
        "`last`, `any`, or `late:K` with a number K from 1, like `late:2`";

    /// The time moves that a run with a bounded number of early moves excludes, in the words of a search report.
    pub const BEYOND: &'static str = "more than the early time moves that `clock` allows";

    /// The name of an early time move in a search report, in the singular.
    pub const EARLY_MOVE: &'static str = "early time move";

    pub fn parse(text: &str) -> Option<ClockMode> {
        match text {
            "last" => Some(ClockMode::Last),
            "any" => Some(ClockMode::Any),
            text => {
                let moves = text.strip_prefix("late:")?.parse().ok().filter(|moves| *moves > 0);
                moves.map(ClockMode::Late)
            }
        }
    }
}

impl fmt::Display for ClockMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClockMode::Last => f.write_str("last"),
            ClockMode::Late(moves) => write!(f, "late:{moves}"),
            ClockMode::Any => f.write_str("any"),
        }
    }
}

/// A change of a node clock, in nanoseconds or in billionths of the clock rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockChange {
    /// The clock runs faster than true time by this much.
    Drift(i64),
    /// The wall clock jumps forward by this much.
    Jump(i64),
    /// The wall clock is ahead of true time by this much.
    Offset(i64),
    /// The wall clock shows true time and runs at its rate.
    Correct,
}

/// The state of a node clock: the offset in nanoseconds, and the drift in billionths of the clock rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockState {
    pub offset: i64,
    pub drift: i64,
}

/// The numbers of events that used an incorrect node clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockMet {
    /// The number of reads of the wall clock.
    pub walls: u64,
    /// The number of timer effects: a timer began to wait at another rate, a rate change moved a deadline, or the time
    /// was read.
    pub timers: u64,
    /// The number of steps that took time.
    pub steps: u64,
}

#[cfg(test)]
mod tests {
    use super::ClockMode;

    #[test]
    fn a_bound_is_a_number_from_one() {
        assert_eq!(ClockMode::parse("late:2"), Some(ClockMode::Late(2)));
        for text in ["late", "late:", "late:0", "late:-1", "late: 1", "early:1", ""] {
            assert_eq!(ClockMode::parse(text), None, "{text}");
        }
    }
}
