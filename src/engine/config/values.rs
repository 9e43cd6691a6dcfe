//! Conversions of settings with a grammar of their own: from their texts to their values.

use std::sync::Arc;

use super::unknown::expected;
use super::{InvalidSetting, SETTINGS, Settings};
use crate::run::chances::{Chance, Chances};
use crate::run::clock_mode::ClockMode;
use crate::run::faults::{Faults, PATTERN_GRAMMAR, Progress};
use crate::run::isolation::Isolation;
use crate::run::memory_model::MemoryModel;
use crate::run::points::Points;

impl Settings {
    /// Returns the operations that are points of plain threads.
    pub(super) fn points(&self) -> Result<Points, InvalidSetting> {
        let text = self.points.as_deref().unwrap_or(Points::DEFAULT);
        let points = Points::parse(text).ok_or_else(|| mistyped("points", text))?;
        Ok(Points { arc: self.arc, ..points })
    }

    pub(super) fn chances(&self) -> Result<Chances, InvalidSetting> {
        let text = self.chances.as_deref().unwrap_or(Chances::DEFAULT);
        Chances::parse(text).ok_or_else(|| mistyped("chances", text))
    }

    pub(super) fn clock_mode(&self) -> Result<ClockMode, InvalidSetting> {
        let Some(name) = &self.clock else { return Ok(ClockMode::default()) };
        ClockMode::parse(name).ok_or_else(|| mistyped("clock", name))
    }

    /// Combines the settings of faults into one value.
    pub(super) fn faults(&self, chances: Chances) -> Result<Faults, InvalidSetting> {
        let Settings { cancel, cancel_selects, buggify, progress, .. } = self;
        let progress = match progress {
            None => Progress::Any,
            Some(name) => Progress::parse(name).ok_or_else(|| mistyped("progress", name))?,
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

    /// Returns the isolation of the runs of plain threads.
    pub(super) fn isolation(&self) -> Result<Isolation, InvalidSetting> {
        let name = self.isolate.as_deref().unwrap_or(Isolation::DEFAULT);
        let isolate = Isolation::parse(name).ok_or_else(|| mistyped("isolate", name))?;
        if isolate == Isolation::Process && self.kind.native && self.closure == Some(true) {
            let grammar = "run in a test with `closure`, because the model that checks other orders of the calls is \
                           in the process of the run, which has ended then: leave out one of the two";
            return Err(invalid("isolate", name, grammar));
        }
        Ok(isolate)
    }

    /// Returns the memory model of the runs. Real threads use the memory of the processor.
    pub(super) fn memory_model(&self) -> Result<MemoryModel, InvalidSetting> {
        let name = self.memory.as_deref().unwrap_or(MemoryModel::DEFAULT);
        MemoryModel::parse(name).ok_or_else(|| mistyped("memory", name))
    }
}

/// Returns the error about a value that does not match the grammar of its setting.
fn mistyped(name: &str, value: &str) -> InvalidSetting {
    let row = SETTINGS.iter().find(|row| row.name == name).expect("a setting of the list");
    invalid(name, value, &expected(row, value))
}

fn invalid(name: &str, value: &str, grammar: &str) -> InvalidSetting {
    InvalidSetting { name: name.to_owned(), value: value.to_owned(), grammar: grammar.to_owned() }
}
