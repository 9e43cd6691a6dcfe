//! The isolation of the runs of a test with plain threads: a setting of the test.

/// The part of the process state that the runs of a test with plain threads share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Isolation {
    /// The runs share the process. The statics of the process are restored between runs.
    #[default]
    Run,
    /// The runs share nothing: each run has its own process, a copy of the test process.
    Process,
}

impl Isolation {
    /// The values of the setting, for messages.
    pub const GRAMMAR: &str = "run or process";
    /// The default value.
    pub const DEFAULT: &str = "run";

    /// Parses the name of an isolation.
    pub fn parse(name: &str) -> Option<Isolation> {
        match name {
            Isolation::DEFAULT => Some(Isolation::Run),
            "process" => Some(Isolation::Process),
            _ => None,
        }
    }

    /// Returns the name of the isolation.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::Run => Isolation::DEFAULT,
            Isolation::Process => "process",
        }
    }
}
