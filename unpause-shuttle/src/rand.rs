//! shuttle's `rand`: version 0.8 of the crate. The run supplies the random bytes.

pub use ::rand::{CryptoRng, Rng, RngCore, thread_rng};

/// Random number generators.
pub mod rngs {
    pub use ::rand::rngs::ThreadRng;
}
