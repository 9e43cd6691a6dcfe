//! When the time of a run moves: a setting.

/// When the time of a run moves to the next deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ClockMode {
    /// When no task can step: work takes no time.
    #[default]
    Last,
    /// When no task can step, and so many times at most in a run at any moment: so many tasks are slow.
    Late(u32),
    /// At any moment: a task may take any time between two of its points.
    Any,
}

impl ClockMode {
    pub(crate) const GRAMMAR: &'static str =
        "`last`, `any`, or `late:K` with a number K from 1, like `late:2`";

    /// The moves that a run with a bounded number of early moves leaves out, as the report of a search names them.
    pub(crate) const BEYOND: &'static str = "more than the early time moves that `clock` allows";

    pub(crate) fn parse(text: &str) -> Option<ClockMode> {
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
