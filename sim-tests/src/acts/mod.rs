//! Random concurrent programs, and two independent accounts of all that each of them can do.
//!
//! A [`Program`](program::Program) is a tree of tasks, each a list of [`Act`](program::Act)s. One account is
//! [`interpret`]: a search over the states of the program, written from the manual of the library, which names
//! no item of the library and knows no scheduler. The other is [`drive`]: the same program over the public API,
//! run by a strategy. [`compare`] holds the sets of results against each other, [`generate`] makes programs,
//! and [`shrink`] reduces one on which the accounts differ to the smallest that still does.
//!
//! # Adding an act
//!
//! | where | what |
//! |---|---|
//! | `program.rs` | a variant of [`Act`](program::Act), and its line of text |
//! | `interpret/step/acts.rs` | an arm: its effect; if it can wait, an arm in `State::is_enabled` |
//! | `drive/acts.rs` | an arm: the call of the library |
//! | `generate/acts.rs`, `generate/mixtures.rs` | how it is made, and how often |
//! | `shrink.rs` | simpler acts to try in its place, if there are any |
//!
//! An object with a state of its own is a field of `State` and of `Shared`, and a place in
//! [`Sight::memory`](program::Sight::memory).

pub mod program;

pub mod interpret;

pub mod drive;

pub mod compare;

pub mod generate;

pub mod shrink;
