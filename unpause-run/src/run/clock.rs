//! When the time of a run moves: a setting. Changes of the clocks of nodes.

use std::fmt;

/// When the time of a run moves to the next deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ClockMode {
    /// When no task can step: work takes no time.
    #[default]
    Last,
    /// When no task can step, and so many times at most in a run at any moment: so many tasks are slow.
    Late(u32),
    /// At any moment: a task may take any time between two of its points.
    Any,
}

impl ClockMode {
    pub const GRAMMAR: &'static str =
        "`last`, `any`, or `late:K` with a number K from 1, like `late:2`";

    /// The moves that a run with a bounded number of early moves leaves out, as the report of a search names them.
    pub const BEYOND: &'static str = "more than the early time moves that `clock` allows";

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

/// A change of the clock of a node, in nanoseconds, or billionths of its rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockChange {
    /// The clock's rate exceeds the rate of true time by so much.
    Drift(i64),
    /// The wall clock is so much further than before.
    Jump(i64),
    /// The wall clock is so much further than true time.
    Offset(i64),
    /// The wall clock has true time, and the rate of it.
    Correct,
}

/// The state of the clock of a node, in nanoseconds, and billionths of its rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockState {
    pub offset: i64,
    pub drift: i64,
}

/// The number of events that saw a clock of a node that was not true.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockMet {
    /// Its wall clock was read.
    pub walls: u64,
    /// A timer began to wait at another rate, or got another time because the rate changed, or the time was read.
    pub timers: u64,
    /// A step took time.
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
