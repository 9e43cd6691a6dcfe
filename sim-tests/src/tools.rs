//! The primitives of the corpus programs: those of this library. The benchmarks compile the same
//! files over a module of this name with the primitives of a peer.

use std::pin::Pin;

pub use sim::Ordering::SeqCst;
pub use sim::{Atomic, Cell, JoinHandle, Mutex, spawn};

/// A task or a whole program, not yet begun.
pub type Body = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A future as a [`Body`].
pub fn boxed(body: impl Future<Output = ()> + Send + 'static) -> Body {
    Box::pin(body)
}
