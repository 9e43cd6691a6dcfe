//! The contract between primitives and a run.
//!
//! A primitive is written once, over this module, without conditional compilation. In a build with the `sim` feature,
//! the seam uses the current run or, outside of runs, the real object. In a build without the feature, the seam is only
//! the real object, at no cost.
//!
//! | item | in a run | outside of runs, and in the real build |
//! |---|---|---|
//! | [`Word<T>`] | a word of the run's memory | the std atomic |
//! | [`Slot<T>`] | a value of any type, one for each run | a value behind a std mutex |
//! | [`Unguarded<T>`] | a value whose data races are detected | a value behind a std lock that never waits |
//! | [`Gate`] | a lock known to the scheduler | nothing: the real lock does the work |
//! | [`OnceValue`] | a value created once per run, with the tasks that wait for it | the once-cell of async-lock |
//! | [`park`] | waits for the token of the task | waits for the token of the task or the thread |
//! | `Point` | announces, waits for its turn, takes effect | takes effect |
//! | [`Share`] | the counts of a value with several owners | nothing: std's `Arc` counts |
//! | [`spawn`] | a task of the run | a task of the program's spawner |
//! | [`Turns`] | draws which branch is polled first, if this can matter | draws at random |
//! | [`Spin`] | waits until an object that a condition read has changed | evaluates the condition again after a pause |
//! | [`HeldInvariant`] | a condition that is evaluated after the steps that may change it | nothing |
//! | [`Crew`] | tasks that are parts of the body of the test | threads of a scope |
//! | [`Group`] | tasks that end together, in one step | tasks that are aborted together |
//! | [`draw`] | a decision of the run | a random number |
//! | [`Timer`], [`now`] | the virtual time of the run | the system clock, and a thread that wakes tasks |
//! | [`knowledge`] | the happens-before order of calls, with the memory `c11` | nothing: real time orders calls |
//! | [`clock()`] | operations that took effect in the run | a counter |

pub(crate) mod atomic;
#[cfg(all(feature = "sim", not(sim_real)))]
pub(crate) mod beat;
pub(crate) mod budget;
mod entered;
#[cfg_attr(not(all(feature = "sim", not(sim_real))), allow(dead_code))]
mod once;
#[cfg(all(feature = "sim", not(sim_real)))]
pub(crate) mod quiet;
#[cfg(not(all(feature = "sim", not(sim_real))))]
mod real;
#[cfg(all(feature = "sim", not(sim_real)))]
mod sim;
#[cfg(all(unpause_native, feature = "sim", not(sim_real)))]
pub(crate) mod stepped;
#[cfg(not(all(unpause_native, feature = "sim", not(sim_real))))]
#[path = "stepped/absent.rs"]
pub(crate) mod stepped;
#[cfg_attr(not(all(feature = "sim", not(sim_real))), allow(dead_code))]
mod transport;
#[cfg_attr(not(all(feature = "sim", not(sim_real))), allow(dead_code))]
pub(crate) mod value;

use std::task::Waker;

pub(crate) use self::once::OnceOps;
#[cfg(not(all(feature = "sim", not(sim_real))))]
pub(crate) use self::real::*;
#[cfg(all(feature = "sim", not(sim_real)))]
pub(crate) use self::sim::*;
pub(crate) use self::stepped::on_carrier;
pub(crate) use self::transport::{Arrival, Guard, Transport};
#[cfg_attr(not(feature = "tokio"), allow(unused_imports))]
pub(crate) use self::transport::{Cargo, carry};
pub(crate) use crate::real::own::Owning;
pub(crate) use crate::real::spawning::set_spawner;
pub(crate) use crate::real::timer::set_timer;
pub use crate::real::{Id, JoinError};

/// Returns `true` for a no-op waker: the caller checks once if the future is ready and does not poll again
/// (`now_or_never`).
///
/// Such a waker has no data, while a waker that wakes a task needs data to identify it. The function table of a waker
/// cannot be compared, because each crate, and each codegen unit, may have its own copy of the table of `Waker::noop`.
#[inline]
pub(crate) fn wakes_nobody(waker: &Waker) -> bool {
    waker.data().is_null()
}

/// The panic of a future that is polled again after it was ready.
pub(crate) const SPENT: &str = "a future was polled after it was ready: it gives its result once";
