//! What the programs of the corpus are written with: this library. The benches compile the same files
//! over a module of this name that has a peer's.

use std::pin::Pin;

pub use sim::Ordering::SeqCst;
pub use sim::{Atomic, Cell, JoinHandle, Mutex, spawn};

/// A task or a whole program, not yet begun.
pub type Body = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A future as a [`Body`].
pub fn boxed(body: impl Future<Output = ()> + Send + 'static) -> Body {
    Box::pin(body)
}
