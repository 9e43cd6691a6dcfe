//! Objects of the real build. No run registers a primitive in this build, so the primitive has no
//! name.

/// The number of a primitive in a run; empty in this build.
#[derive(Debug)]
pub(crate) struct Object;

impl Object {
    /// Returns the object itself: this build ignores names.
    #[inline(always)]
    pub(crate) const fn named(self, _: &'static str) -> Object {
        Object
    }

    /// Returns the object itself: this build does not distinguish nodes.
    #[inline(always)]
    pub(crate) const fn shared(self) -> Object {
        Object
    }
}
