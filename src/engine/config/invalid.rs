//! The error type for invalid settings.

use std::fmt;

/// An error about a setting with an unusable value.
///
/// ```
/// # if !sim::SIMULATED { return }
/// let runner = sim::Runner::new().hermetic().clock("sometimes");
/// let error = runner.try_run(async || ()).unwrap_err();
/// assert_eq!((error.name.as_str(), error.value.as_str()), ("clock", "sometimes"));
/// assert!(error.to_string().starts_with("clock is \"sometimes\", but should be "));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvalidSetting {
    /// The name of the setting, such as `SIM_SEEDS`.
    pub name: String,
    /// The invalid value.
    pub value: String,
    /// The expected form of the value.
    pub grammar: String,
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InvalidSetting { name, value, grammar } = self;
        write!(f, "{name} is {value:?}, but should be {grammar}")
    }
}

impl std::error::Error for InvalidSetting {}
