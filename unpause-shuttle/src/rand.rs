//! shuttle's `rand`: version 0.8 of the crate. Its random bytes are those of the run.

pub use ::rand::{CryptoRng, Rng, RngCore, thread_rng};

/// Generators.
pub mod rngs {
    pub use ::rand::rngs::ThreadRng;
}
