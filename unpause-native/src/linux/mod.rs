//! The runtime on Linux, x86-64, glibc.

mod atomics;
mod clock;
mod compiled;
mod entropy;
mod environment;
mod execution;
mod futex;
mod heap;
mod image;
mod net;
mod places;
mod processors;
mod program;
mod real;
mod request;
mod statics;
mod switch;
mod thread;
mod threads;

pub use self::compiled::{std_is_replaced, take_entered};
pub use self::execution::{Body, Ended, Execution, warm_up};
pub use self::net::{Effect, Transfer};
pub use self::places::{Frame, location};
pub use self::request::{Access, Operation, Request};
pub use self::thread::{inside, note_panic, on_carrier, outside};
