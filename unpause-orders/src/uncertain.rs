//! The kinds of uncertain edges. See `manner.rs`.

/// Defines the kinds and their list.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A kind of uncertain edges: a thread acquires a clock, but another order of the program may not have this
        /// edge.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Uncertain {
            $($(#[$doc])* $name,)*
        }

        impl Uncertain {
            /// All kinds.
            pub const ALL: &[Uncertain] = &[$(Uncertain::$name,)*];
        }
    };
}

kinds! {
    /// A futex wake or a call on a file happens before the end of the matching call in another thread. C++20 does not
    /// demand it.
    Call,
    /// A thread allocates memory that another thread has freed. C++20 does not demand the edge.
    Memory,
    /// A thread reuses the stack of an ended thread. C++20 does not demand the edge.
    Stack,
    /// An operation that is not a step acquires, for example in the drop of an `Arc`. The search does not try its other
    /// orders.
    InPassing,
    /// A step acquires a word that an operation in passing has written. The search does not try the other orders of
    /// that operation.
    Passed,
    /// A thread acquires a lock that several threads may hold. The search tries one order of their calls.
    SharedLock,
}
