//! The isolation of the runs of a test with plain threads: a setting of the test.

/// The state that the runs of a test with plain threads share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Isolation {
    /// The process, whose statics are put back.
    #[default]
    Run,
    /// Nothing: each run has a process of its own, a copy of the process of the test.
    Process,
}

impl Isolation {
    /// The values of the setting, for messages.
    pub const GRAMMAR: &str = "run or process";
    /// The value if none is given.
    pub const DEFAULT: &str = "run";

    /// The isolation of this name.
    pub fn parse(name: &str) -> Option<Isolation> {
        match name {
            Isolation::DEFAULT => Some(Isolation::Run),
            "process" => Some(Isolation::Process),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::Run => Isolation::DEFAULT,
            Isolation::Process => "process",
        }
    }
}
