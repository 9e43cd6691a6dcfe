//! Memory orders: the stores that a load may read, the possible places of a store in modification order, and vector
//! clocks.
//!
//! [`Orders`] contains the stores and clocks of one run. Both doors of unpause use it: the runtime of plain threads,
//! with addresses of words, and runs of tasks, with numbers of words. It makes no decisions: it returns the number of
//! stores that an operation may choose, and performs the operation on the chosen store.
//!
//! This crate is a part of [unpause](https://docs.rs/unpause), and its items may change in any version.

#![forbid(unsafe_code)]

mod by_number;
mod clock;
mod fences;
mod heap;
#[cfg(any(test, feature = "litmus"))]
pub mod litmus;
mod machine;
mod manner;
mod operation;
mod places;
mod rules;
mod seqcst;
#[cfg(test)]
mod tests;
mod word;

pub use self::by_number::ByNumber;
pub use self::clock::Clock;
pub use self::machine::{KEPT, Orders};
pub use self::manner::Manner;
pub use self::operation::{Done, Operation, SEQ_CST, acquires, releases};
pub use self::rules::{OrderS, Rule, Rules};
