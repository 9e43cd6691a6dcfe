//! Random concurrent programs, with two independent ways to compute all their possible results.
//!
//! A [`Program`](program::Program) is a tree of tasks, each a list of [`Act`](program::Act)s. One way, [`interpret`],
//! is a search over the program states. The interpreter is written from the manual of the library, and uses no item and
//! no scheduler of the library. The other way, [`drive`], runs the program over the public API with a strategy.
//! [`compare`] compares the sets of results, [`generate`] creates programs, and [`shrink`] reduces a program with
//! different results to the smallest program for which the results still differ.
//!
//! # Adding an act
//!
//! | where | what |
//! |---|---|
//! | `program.rs` | a variant of [`Act`](program::Act), and its line of text |
//! | `interpret/step/acts.rs` | an arm: its effect; if it can wait, an arm in `State::is_enabled` |
//! | `drive/acts.rs` | an arm: the call to the library |
//! | `generate/acts.rs`, `generate/mixtures.rs` | a function that generates it, and its weight in mixtures |
//! | `shrink.rs` | simpler acts to try instead of it, if any |
//!
//! An object with its own state needs a field of `State` and of `Shared`, and an entry in
//! [`Sight::memory`](program::Sight::memory).

pub mod program;

pub mod interpret;

pub mod drive;

pub mod compare;

pub mod generate;

pub mod shrink;
