//! The machine of a call.

use std::sync::{Arc, OnceLock};

use super::machine::{Life, Machines};
use crate::seam::{self, Here};

/// The machine of a call, in one life of its node; `None` outside of runs.
///
/// The machine of a call: the machine of the calling code. If this code is in no node, it is the machine of the task
/// that first polls the call. So both `node.enter(|| File::open(..))` and `node.spawn(fs::read(..))` are calls of the
/// node.
#[derive(Clone)]
pub(super) struct At(Arc<OnceLock<Option<Life>>>);

impl std::fmt::Debug for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("At").finish_non_exhaustive()
    }
}

impl At {
    /// Creates the machine of a call that the current code makes.
    pub(super) fn here(here: Here) -> At {
        let at = At(Arc::default());
        if seam::in_run() && crate::node::current().is_some() {
            at.machine(here);
        }
        at
    }

    /// Returns the machine. The first poll of the call determines it.
    pub(super) fn machine(&self, here: Here) -> Option<&Life> {
        let current = || {
            seam::in_run().then(|| {
                let machine = Machines::of_run().of(crate::node::current().as_ref(), here);
                let life = machine.life();
                (machine, life)
            })
        };
        self.0.get_or_init(current).as_ref()
    }
}
