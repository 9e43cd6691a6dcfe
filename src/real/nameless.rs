//! Objects of the real build: a primitive that no run gets to know has no name.

/// The number of a primitive in a run; empty in this build.
#[derive(Debug)]
pub(crate) struct Object;

impl Object {
    /// The same with a name.
    #[inline(always)]
    pub(crate) const fn named(self, _: &'static str) -> Object {
        Object
    }

    /// The same for all nodes.
    #[inline(always)]
    pub(crate) const fn shared(self) -> Object {
        Object
    }
}
