//! The form of a row in the [list of settings](super::list): its names, its grammar and its meaning.

use std::borrow::Cow;
use std::fmt;

use super::{Config, Settings};

/// One setting of a test.
pub(crate) struct SettingRow {
    /// Its name in traces, results and messages. Also the name of its argument.
    pub(crate) name: &'static str,
    /// Its variable of the environment.
    pub(crate) variable: &'static str,
    /// True if `#[sim::test]` has an argument of its name.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(crate) argument: bool,
    /// The things that depend on it.
    pub(crate) meaning: Meaning,
    /// True if it has an effect on real threads.
    pub(crate) on_threads: bool,
    /// The form of its value, for messages.
    pub(crate) grammar: fn() -> Cow<'static, str>,
    /// Sets it to a value. Returns `false` if the text is not of the grammar.
    pub(super) read: fn(&mut Settings, &str) -> bool,
    /// Removes its value.
    pub(super) clear: fn(&mut Settings),
    /// Returns `true` if it has a value that requests something: a flag that is off does not.
    pub(super) requests: fn(&Settings) -> bool,
}

/// The parts of a run that depend on a setting, and the text of its value in a configuration. That text is of the
/// grammar, or empty if the setting has no value.
#[derive(Clone, Copy)]
pub(crate) enum Meaning {
    /// The decisions of a run or its outcome. Traces have the setting, so that a replay needs no variable; results have
    /// it, because a seed that passes without it may fail with it.
    Run(fn(&Config) -> String),
    /// The outcome of a run, by a clock of the machine. Traces have the setting. Results do not: a shard on a slower
    /// machine may need another value.
    Machine(fn(&Config) -> String),
    /// The run for a seed, or the check of its outcome. Results have the setting. A trace does not
    /// need it: it has the decisions.
    Seed(fn(&Config) -> String),
    /// The choice of seeds, or the report.
    Report,
}

impl Meaning {
    /// The text of the value, if runs or seeds depend on the setting.
    pub(super) fn text(self, config: &Config) -> Option<String> {
        match self {
            Meaning::Run(text) | Meaning::Machine(text) | Meaning::Seed(text) => Some(text(config)),
            Meaning::Report => None,
        }
    }

    /// Returns `true` if traces have the setting.
    pub(crate) fn is_in_traces(self) -> bool {
        matches!(self, Meaning::Run(_) | Meaning::Machine(_))
    }

    /// Returns `true` if results have the setting.
    pub(crate) fn is_in_results(self) -> bool {
        matches!(self, Meaning::Run(_) | Meaning::Seed(_))
    }
}

impl fmt::Debug for SettingRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A value of a setting.
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

/// The number of runs of a proof.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProofRuns(pub(crate) u64);

impl Value for ProofRuns {
    fn requests(&self) -> bool {
        self.0 > 0
    }
}

/// The number of runs that explain a failing run.
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
