//! The setting of the memory of plain threads.

use super::{InvalidSetting, Settings};
use crate::run::memory_model::MemoryModel;

impl Settings {
    /// The memory of plain threads. Tests of tasks that are awaited have the memory `sc` alone. A test that asks for
    /// another one is refused, because a pass would mean less than its author expects.
    pub(super) fn memory_model(&self) -> Result<MemoryModel, InvalidSetting> {
        let name = self.memory.as_deref().unwrap_or(MemoryModel::DEFAULT);
        let invalid = |grammar: &str| InvalidSetting {
            name: "memory".to_owned(),
            value: name.to_owned(),
            grammar: grammar.to_owned(),
        };
        let memory = MemoryModel::parse(name).ok_or_else(|| invalid(MemoryModel::GRAMMAR))?;
        if memory == MemoryModel::C11 && crate::seam::SIMULATED && !self.kind.native {
            return Err(invalid(
                "sc in a test whose tasks are awaited: only plain threads have the memory c11, in \
                 `#[sim::test(native, memory = \"c11\")]` and `Runner::run_native`, run by `cargo unpause test`",
            ));
        }
        Ok(memory)
    }
}
