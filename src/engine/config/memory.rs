//! The setting `memory`: converts its name to a value.

use super::{InvalidSetting, Settings};
use crate::run::memory_model::MemoryModel;

impl Settings {
    /// Returns the memory model of the runs. Real threads use the memory of the processor.
    pub(super) fn memory_model(&self) -> Result<MemoryModel, InvalidSetting> {
        let name = self.memory.as_deref().unwrap_or(MemoryModel::DEFAULT);
        MemoryModel::parse(name).ok_or_else(|| InvalidSetting {
            name: "memory".to_owned(),
            value: name.to_owned(),
            grammar: MemoryModel::GRAMMAR.to_owned(),
        })
    }
}
