//! The error of a setting that cannot be used.

use std::fmt;

/// A setting that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvalidSetting {
    /// The name of the setting, such as `SIM_SEEDS`.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The expected form.
    pub grammar: String,
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InvalidSetting { name, value, grammar } = self;
        write!(f, "{name} is {value:?}, but should be {grammar}")
    }
}

impl std::error::Error for InvalidSetting {}
