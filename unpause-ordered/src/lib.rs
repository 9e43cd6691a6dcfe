//! Ordered maps, sets and sorts that cost little to compile.
//!
//! Each pair of types in a [`BTreeMap`](std::collections::BTreeMap) makes the compiler generate a B-tree anew, some
//! fifty functions, and each closure in a call of [`sort_by`](slice::sort_by) makes it generate a sort anew. A library
//! with a hundred of both pays for them with half of its compile time, and whoever tests with it pays too. Here
//! searches and sorts are compiled once in each crate: they know positions, and ask a closure behind a reference about
//! the elements. They are `#[inline]`, so that each crate optimizes them as far as itself.
//!
//! This crate has no dependencies. It is a part of [unpause](https://docs.rs/unpause). Its items may change in any
//! version.

#![forbid(unsafe_code)]

mod map;
mod search;
mod set;
mod sort;

pub use map::{Entry, Iter, Map};
pub use set::Set;
pub use sort::{order_of_numbers, sort, sort_by, sort_by_key, sort_by_number};
