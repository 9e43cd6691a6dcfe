//! shuttle's `rand`: version 0.8 of the crate. The run gives the random bytes.

pub use ::rand::{CryptoRng, Rng, RngCore, thread_rng};

/// Generators.
pub mod rngs {
    pub use ::rand::rngs::ThreadRng;
}
