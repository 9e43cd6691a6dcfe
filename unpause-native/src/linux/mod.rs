//! The runtime on Linux, x86-64, glibc.

mod atomics;
mod blocks;
mod clock;
mod compiled;
mod entropy;
mod environment;
mod execution;
mod fault;
mod futex;
mod heap;
mod image;
mod leaks;
mod places;
#[cfg(unpause_races)]
mod plain;
mod program;
mod race;
mod real;
mod request;
mod statics;
mod switch;
mod thread;
mod threads;

pub use self::compiled::{std_is_replaced, take_entered};
pub use self::execution::{Body, Ended, Execution, warm_up};
pub use self::fault::{Fault, Problem, Step, TooWeak};
pub use self::heap::Memory;
pub use self::places::{Frame, location};
pub use self::race::RACES;
pub use self::request::{Access, Operation, Request};
pub use self::thread::{inside, note_panic, on_carrier, outside};
