//! The settings of faults: combines their texts into one value.

use std::sync::Arc;

use super::{InvalidSetting, Settings};
use crate::run::chances::{Chance, Chances};
use crate::run::faults::{Faults, PATTERN_GRAMMAR, Progress};

impl Settings {
    pub(super) fn faults(&self, chances: Chances) -> Result<Faults, InvalidSetting> {
        let invalid = |name: &str, value: &str, grammar: &str| InvalidSetting {
            name: name.to_owned(),
            value: value.to_owned(),
            grammar: grammar.to_owned(),
        };
        let Settings { cancel, cancel_selects, buggify, progress, .. } = self;
        let progress = match progress {
            None => Progress::Any,
            Some(name) => {
                Progress::parse(name).ok_or_else(|| invalid("progress", name, Progress::GRAMMAR))?
            }
        };
        if cancel.as_ref().is_some_and(String::is_empty) {
            return Err(invalid("cancel", "", PATTERN_GRAMMAR));
        }
        let cancel = cancel.as_deref().map(Arc::from);
        let (spurious, weak) = (chances.has(Chance::Spurious), chances.has(Chance::Weak));
        let selects = cancel_selects.unwrap_or_default();
        let buggify = buggify.unwrap_or_default();
        Ok(Faults { cancel, progress, selects, spurious, weak, buggify })
    }
}
