//! The settings of faults: their texts.

use std::sync::Arc;

use super::{InvalidSetting, Settings};
use crate::run::chances::{Chance, Chances};
use crate::run::faults::{Faults, Progress};

/// The faults that a test asks for, `None` if not set.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultSettings {
    /// The names of the tasks that may be aborted, as a pattern.
    pub(crate) cancel: Option<String>,
    /// True if the deadlines of time-outs and in branches of `select!` may pass at any moment.
    pub(crate) cancel_selects: Option<bool>,
    /// True if code that is marked with `buggify!` may be executed.
    pub(crate) buggify: Option<bool>,
    /// The guarantee of progress, by name.
    pub(crate) progress: Option<String>,
}

impl FaultSettings {
    /// These settings, those in `over` having precedence.
    pub(super) fn overridden_by(self, over: FaultSettings) -> FaultSettings {
        FaultSettings {
            cancel: over.cancel.or(self.cancel),
            cancel_selects: over.cancel_selects.or(self.cancel_selects),
            buggify: over.buggify.or(self.buggify),
            progress: over.progress.or(self.progress),
        }
    }
}

/// The name of a guarantee, if there is one of that name.
pub(super) fn known_progress(name: &str) -> Option<String> {
    Progress::parse(name).map(|_| name.to_owned())
}

/// The pattern, if it can be one.
pub(super) fn known_pattern(pattern: &str) -> Option<String> {
    Some(pattern.to_owned()).filter(|pattern| !pattern.is_empty())
}

/// The form of a pattern.
pub(super) const PATTERN_GRAMMAR: &str = "the name of a task, in which * stands for any text";

impl Settings {
    pub(super) fn faults(&self, chances: Chances) -> Result<Faults, InvalidSetting> {
        let invalid = |name: &str, value: &str, grammar: &str| InvalidSetting {
            name: name.to_owned(),
            value: value.to_owned(),
            grammar: grammar.to_owned(),
        };
        let FaultSettings { cancel, cancel_selects, buggify, progress } = &self.faults;
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
