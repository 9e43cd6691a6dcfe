//! Conditions that must hold after every step of a run.

use super::Here;
use crate::rt::{WORLD, in_run};

/// A condition of a run, which is checked until this value is dropped. Outside of runs, it is
/// empty.
#[derive(Debug)]
pub(crate) struct HeldInvariant(Option<(u64, u32)>);

impl HeldInvariant {
    pub(crate) fn new(
        name: String,
        here: Here,
        condition: impl FnMut() -> bool + Send + 'static,
    ) -> HeldInvariant {
        let add = || {
            WORLD.with(|world| (world.run(), world.add_invariant(name, here, Box::new(condition))))
        };
        HeldInvariant(in_run().then(add))
    }
}

impl Drop for HeldInvariant {
    fn drop(&mut self) {
        if let Some((run, number)) = self.0.filter(|_| in_run()) {
            WORLD.with(|world| world.remove_invariant(run, number));
        }
    }
}
