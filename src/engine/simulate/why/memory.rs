//! Failures with the memory `c11`.
//!
//! A failing run in which each operation chose the newest store is also a run with the memory `sc`, and is explained as
//! such. The runs of its explanation have the memory `sc`. Other failures have no explanation, because they depend on
//! more than an order of steps.

use crate::engine::config::Config;
use crate::native;
use crate::run::Run;
use crate::run::memory_model::MemoryModel;
use crate::run::store_choice::is_store_choice;

/// Returns `true` if each operation of a run chose the newest store. Returns `false` for a run with generated programs,
/// because their commands refer to draws by their numbers.
pub(in crate::engine::simulate) fn sees_newest(run: &Run) -> bool {
    let mut choices = run.draws.iter().filter(|draw| is_store_choice(draw.why));
    run.programs.is_empty() && choices.all(|draw| draw.value == 0)
}

/// Returns the run without its choices of stores.
pub(super) fn without_store_choices(run: &Run) -> Run {
    let draws = run.draws.iter().filter(|draw| !is_store_choice(draw.why));
    Run { draws: draws.copied().collect(), ..run.clone() }
}

/// A guard under which runs of plain threads have the memory `sc`.
pub(in crate::engine::simulate) struct StrongMemory(Option<MemoryModel>);

impl StrongMemory {
    pub(in crate::engine::simulate) fn begin(config: &Config) -> StrongMemory {
        let weak = Some(config.memory).filter(|memory| *memory == MemoryModel::C11);
        let weak = weak.filter(|_| config.is_native());
        if weak.is_some() {
            native::set_memory(MemoryModel::Sc);
        }
        StrongMemory(weak)
    }
}

impl Drop for StrongMemory {
    fn drop(&mut self) {
        self.0.into_iter().for_each(native::set_memory);
    }
}
