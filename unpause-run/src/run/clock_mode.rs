//! The clock mode, a setting that decides when the time of a run advances.

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
