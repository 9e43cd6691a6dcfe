//! Conditions that hold after every step of a run: this build has no steps, so nothing is evaluated.

use super::Here;

/// Nothing.
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
