//! The type of the rows in the [list of settings](super::list): names, grammar and meaning.

use std::borrow::Cow;
use std::fmt;

use super::{Config, Settings};

/// One setting of a test.
pub(crate) struct SettingRow {
    /// The setting name in traces, results and messages. Also the name of its argument.
    pub(crate) name: &'static str,
    /// The environment variable of the setting.
    pub(crate) variable: &'static str,
    /// True if `#[sim::test]` has an argument with the name of the setting.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(crate) argument: bool,
    /// The behaviour that depends on the setting.
    pub(crate) meaning: Meaning,
    /// True if the setting has an effect on real threads.
    pub(crate) on_threads: bool,
    /// The expected form of the value, for messages.
    pub(crate) grammar: fn() -> Cow<'static, str>,
    /// Parses a value and stores it in the settings. Returns `false` if the text does not match the grammar.
    pub(super) read: fn(&mut Settings, &str) -> bool,
    /// Removes the value from the settings.
    pub(super) clear: fn(&mut Settings),
    /// Returns `true` if the setting has a value that requests something. A flag that is off requests nothing.
    pub(super) requests: fn(&Settings) -> bool,
}

/// The behaviour that depends on a setting, with a function that returns the value of the setting as text. The text
/// matches the grammar, or is empty if the setting has no value.
#[derive(Clone, Copy)]
pub(crate) enum Meaning {
    /// The decisions or the outcome of a run. Traces contain the setting, so that a replay needs no variable. Results
    /// contain it, because a seed that passes without the setting may fail with it.
    Run(fn(&Config) -> String),
    /// The outcome of a run, by a limit in real time. Traces contain the setting. Results do not contain it, because a
    /// shard on a slower machine may need another value.
    Machine(fn(&Config) -> String),
    /// The run for a seed, or the check of its outcome. Results contain the setting. Traces do not need it, because
    /// they contain the decisions.
    Seed(fn(&Config) -> String),
    /// The choice of seeds, or the report. Neither traces nor results contain the setting.
    Report,
}

impl Meaning {
    /// Returns the text of the value if runs or seeds depend on the setting.
    pub(super) fn text(self, config: &Config) -> Option<String> {
        match self {
            Meaning::Run(text) | Meaning::Machine(text) | Meaning::Seed(text) => Some(text(config)),
            Meaning::Report => None,
        }
    }

    /// Returns `true` if traces contain the setting.
    pub(crate) fn is_in_traces(self) -> bool {
        matches!(self, Meaning::Run(_) | Meaning::Machine(_))
    }

    /// Returns `true` if results contain the setting.
    pub(crate) fn is_in_results(self) -> bool {
        matches!(self, Meaning::Run(_) | Meaning::Seed(_))
    }
}

impl fmt::Debug for SettingRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A type of setting values.
pub(super) trait Value {
    /// Returns `false` for the value that switches the setting off.
    fn requests(&self) -> bool {
        true
    }
}

impl Value for bool {
    fn requests(&self) -> bool {
        *self
    }
}

/// The maximum number of runs of a proof.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProofRuns(pub(crate) u64);

impl Value for ProofRuns {
    fn requests(&self) -> bool {
        self.0 > 0
    }
}

/// The maximum number of runs for the explanation of a failing run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WhyRuns(pub(crate) u64);

impl Value for WhyRuns {
    fn requests(&self) -> bool {
        self.0 > 0
    }
}

macro_rules! values {
    ($($type:ty),* $(,)?) => {
        $(impl Value for $type {})*
    };
}

values! {
    u64, u32, usize, String, std::ops::Range<u64>, std::time::Duration, std::path::PathBuf, super::Shard, super::LogMode,
}
