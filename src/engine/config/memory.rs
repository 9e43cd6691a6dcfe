//! The setting of the memory.

use super::{InvalidSetting, Settings};
use crate::run::memory_model::MemoryModel;

impl Settings {
    /// The memory of the runs. Real threads have the memory of the processor.
    pub(super) fn memory_model(&self) -> Result<MemoryModel, InvalidSetting> {
        let name = self.memory.as_deref().unwrap_or(MemoryModel::DEFAULT);
        MemoryModel::parse(name).ok_or_else(|| InvalidSetting {
            name: "memory".to_owned(),
            value: name.to_owned(),
            grammar: MemoryModel::GRAMMAR.to_owned(),
        })
    }
}
