//! The setting `clock`: converts its name to a value.

use super::{InvalidSetting, Settings};
use crate::run::clock::ClockMode;

impl Settings {
    pub(super) fn clock_mode(&self) -> Result<ClockMode, InvalidSetting> {
        let Some(name) = &self.clock else { return Ok(ClockMode::default()) };
        ClockMode::parse(name).ok_or_else(|| InvalidSetting {
            name: "clock".to_owned(),
            value: name.clone(),
            grammar: ClockMode::GRAMMAR.to_owned(),
        })
    }
}
