//! shuttle's `rand`: version 0.8 of the crate. The run supplies the random bytes.

pub use ::rand::{CryptoRng, Rng, RngCore};

/// Returns the generator of the current thread.
pub fn thread_rng() -> rngs::ThreadRng {
    rngs::ThreadRng::default()
}

/// Random number generators.
pub mod rngs {
    use ::rand::{CryptoRng, Error, RngCore, thread_rng};

    /// The generator of the current thread. Unlike rand's generator, it may move to another thread, as in shuttle.
    #[derive(Clone, Default, Debug)]
    pub struct ThreadRng {
        _private: (),
    }

    impl RngCore for ThreadRng {
        fn next_u32(&mut self) -> u32 {
            thread_rng().next_u32()
        }

        fn next_u64(&mut self) -> u64 {
            thread_rng().next_u64()
        }

        fn fill_bytes(&mut self, bytes: &mut [u8]) {
            thread_rng().fill_bytes(bytes);
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
            thread_rng().try_fill_bytes(bytes)
        }
    }

    impl CryptoRng for ThreadRng {}
}
