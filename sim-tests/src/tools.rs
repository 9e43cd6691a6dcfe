//! The primitives of the corpus programs, from this library. The benchmarks compile the same files
//! over another module of this name with the primitives of a peer.

use std::pin::Pin;

pub use sim::Ordering::SeqCst;
pub use sim::{Atomic, Cell, JoinHandle, Mutex, spawn};

/// A task or a whole program that has not begun yet.
pub type Body = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Boxes a future as a [`Body`].
pub fn boxed(body: impl Future<Output = ()> + Send + 'static) -> Body {
    Box::pin(body)
}
