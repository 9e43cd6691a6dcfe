//! Memory orders: the stores that a load may see, the places of a store in modification order, and vector clocks.
//!
//! [`Orders`] has the stores and clocks of one run. Both doors of unpause use it: the runtime of plain threads, whose
//! words have addresses, and runs of tasks, whose words have numbers. It decides nothing: it tells how many stores an
//! operation may choose, and does the operation on the chosen one.
//!
//! This crate is a part of [unpause](https://docs.rs/unpause). Its items may change in any version.

#![forbid(unsafe_code)]

mod by_number;
mod clock;
mod fences;
mod heap;
#[cfg(any(test, feature = "litmus"))]
pub mod litmus;
mod machine;
mod operation;
mod rules;
#[cfg(test)]
mod tests;
mod word;

pub use self::by_number::ByNumber;
pub use self::clock::Clock;
pub use self::machine::{KEPT, Orders};
pub use self::operation::{Done, Operation, SEQ_CST, acquires, releases};
pub use self::rules::{Rule, Rules};
