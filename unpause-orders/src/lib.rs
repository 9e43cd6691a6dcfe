//! Memory orders: the stores that a load may read, the possible places of a store in modification order, and vector
//! clocks.
//!
//! [`Orders`] contains the stores and clocks of one run. Both doors of unpause use it: the runtime of plain threads,
//! with addresses of words, and runs of tasks, with numbers of words. It makes no decisions: it returns the number of
//! stores that an operation may choose, and performs the operation on the chosen store.
//!
//! | file | subject |
//! |---|---|
//! | `machine.rs` | the state of one run; performs operations, fences, spawns and joins |
//! | `operation.rs` | the form of an operation that the machine requires |
//! | `rules.rs` | the freedom of a run, and the rules that prevent false alarms |
//! | `word.rs` | the stores of one word, in modification order |
//! | `places.rs` | the stores that an operation may choose |
//! | `rounds.rs` | the stores that a waiting loop need not read again, in a search of tasks |
//! | `clock.rs` | vector clocks |
//! | `fences.rs` | sequentially consistent fences, in the order of execution |
//! | `seqcst.rs` | the exact order S of sequentially consistent operations |
//! | `heap.rs` | words of reused memory |
//! | `manner.rs` | the outcomes that a search of plain threads does not try |
//! | `uncertain.rs` | the edges that another order of the program may not have |
//! | `by_number.rs` | hash tables with numbers as keys |
//! | `litmus/` | litmus programs, and their outcomes by the axioms of C++20, for tests |
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
mod rounds;
mod rules;
mod seqcst;
#[cfg(test)]
mod tests;
mod uncertain;
mod word;

pub use self::by_number::ByNumber;
pub use self::clock::Clock;
pub use self::machine::{KEPT, Orders};
pub use self::manner::Manner;
pub use self::operation::{Done, Operation, SEQ_CST, acquires, releases};
pub use self::rounds::Round;
pub use self::rules::{OrderS, Rule, Rules};
pub use self::uncertain::Uncertain;
