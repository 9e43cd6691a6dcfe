//! The setting that decides which operations of plain threads are points.

/// The operations of plain threads that are points.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Points {
    /// True if all atomic operations are points, and no loop is recognized.
    pub all: bool,
    /// True if reference count operations of `Arc` are points. `None` if each run decides this.
    pub arc: Option<bool>,
}

impl Points {
    /// The values of the setting, for messages.
    pub const GRAMMAR: &str = "all or default";
    /// The default value.
    pub const DEFAULT: &str = "default";

    /// Parses the name of the setting.
    pub fn parse(name: &str) -> Option<Points> {
        match name {
            Points::DEFAULT => Some(Points::default()),
            "all" => Some(Points { all: true, ..Points::default() }),
            _ => None,
        }
    }

    /// Returns the name of the setting, which does not include `arc`.
    pub fn name(self) -> &'static str {
        if self.all { "all" } else { Points::DEFAULT }
    }
}
