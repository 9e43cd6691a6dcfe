//! Conditions that must hold after every step of a run. This build has no steps, so nothing is
//! evaluated.

use super::Here;

/// An empty type: this build evaluates no condition.
#[derive(Debug)]
pub(crate) struct HeldInvariant;

impl HeldInvariant {
    pub(crate) fn new(
        _: String,
        _: Here,
        _: impl FnMut() -> bool + Send + 'static,
    ) -> HeldInvariant {
        HeldInvariant
    }
}
