//! Ordered maps, sets and sorts that cost little to compile.
//!
//! For each pair of types in a [`BTreeMap`](std::collections::BTreeMap), the compiler generates another B-tree of some
//! fifty functions. For each closure in a call of [`sort_by`](slice::sort_by), it generates another sort. In a library
//! with a hundred of both, they take half of the compile time, also for users who test with the library. Here, searches
//! and sorts are compiled only once per crate. Searches and sorts work on positions, and call a closure behind a
//! reference to compare elements. They are `#[inline]`, so that each crate optimizes them at its own level.
//!
//! This crate has no dependencies. The crate is a part of [unpause](https://docs.rs/unpause), and its items may change
//! in any version.

#![forbid(unsafe_code)]

mod map;
mod search;
mod set;
mod sort;

pub use map::{Entry, Iter, Map};
pub use set::Set;
pub use sort::{order_of_numbers, sort, sort_by, sort_by_key, sort_by_number};
