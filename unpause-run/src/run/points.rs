//! The operations of plain threads that are points: the setting of a test.

/// The operations of plain threads that are points.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Points {
    /// True if all atomic operations are, and no loop is recognised.
    pub all: bool,
    /// True if the counts of `Arc` are. `None` if each run decides it.
    pub arc: Option<bool>,
}

impl Points {
    /// The values of the setting, for messages.
    pub const GRAMMAR: &str = "all or default";
    /// The value if none is given.
    pub const DEFAULT: &str = "default";

    /// The points of this name.
    pub fn parse(name: &str) -> Option<Points> {
        match name {
            Points::DEFAULT => Some(Points::default()),
            "all" => Some(Points { all: true, ..Points::default() }),
            _ => None,
        }
    }

    /// The name of these points, without the counts of `Arc`.
    pub fn name(self) -> &'static str {
        if self.all { "all" } else { Points::DEFAULT }
    }
}
