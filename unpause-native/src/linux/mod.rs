//! The runtime on Linux with glibc.

mod apart;
mod arch;
mod atomics;
mod blocks;
mod clock;
mod compiled;
mod death;
mod entropy;
mod environment;
mod execution;
mod fault;
mod frames;
mod futex;
mod heap;
mod image;
mod leaks;
mod local;
mod net;
mod output;
mod passing;
mod places;
#[cfg(unpause_races)]
mod plain;
mod polled;
mod processors;
mod program;
mod race;
mod real;
mod request;
mod signals;
mod statics;
mod std_state;
mod switch;
mod thread;
mod threads;
mod warm_up;
#[cfg(target_arch = "x86_64")]
mod weak;

pub use self::apart::tape::alive;
pub use self::apart::written::Written;
pub use self::apart::{ProcessEnd, Watch};
pub use self::compiled::{std_is_replaced, take_entered};
pub use self::death::Death;
pub use self::execution::{Ended, Execution, Region, is_noted, leave_child, note};
pub use self::fault::{Fault, Problem, Step, TooWeak};
pub use self::heap::Memory;
pub use self::local::Body;
pub use self::net::{Effect, Transfer};
pub use self::output::take_output;
pub use self::places::{Frame, location};
pub use self::polled::Polled;
pub use self::race::RACES;
pub use self::request::{Access, Operation, Request};
pub use self::signals::interrupt;
pub use self::thread::{inside, last_panic, note_panic, on_carrier, outside, point};
pub use self::warm_up::{warm_up, warm_up_with};
