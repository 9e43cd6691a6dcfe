//! When the time of a run moves: a setting.

/// When the time of a run moves to the next deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ClockMode {
    /// When no task can step: work takes no time.
    #[default]
    Last,
    /// At any moment: a task may take any time between two of its points.
    Any,
}

impl ClockMode {
    pub(crate) const GRAMMAR: &'static str = "`last` or `any`";

    pub(crate) fn parse(text: &str) -> Option<ClockMode> {
        match text {
            "last" => Some(ClockMode::Last),
            "any" => Some(ClockMode::Any),
            _ => None,
        }
    }
}
