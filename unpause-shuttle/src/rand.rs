//! shuttle's `rand`: version 0.8 of the crate. The run supplies the random bytes.

pub use ::rand::{CryptoRng, Rng, RngCore};

/// Returns the generator of the current thread.
pub fn thread_rng() -> rngs::ThreadRng {
    rngs::ThreadRng::default()
}

/// Random number generators.
pub mod rngs {
    use ::rand::{CryptoRng, Error, RngCore};

    use crate::thread::assert_random;

    /// The generator of the current thread. Unlike rand's generator, it may move to another thread, as in shuttle.
    #[derive(Clone, Default, Debug)]
    pub struct ThreadRng {
        _private: (),
    }

    impl RngCore for ThreadRng {
        fn next_u32(&mut self) -> u32 {
            rand().next_u32()
        }

        fn next_u64(&mut self) -> u64 {
            rand().next_u64()
        }

        fn fill_bytes(&mut self, bytes: &mut [u8]) {
            rand().fill_bytes(bytes);
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
            rand().try_fill_bytes(bytes)
        }
    }

    impl CryptoRng for ThreadRng {}

    /// Returns the generator of rand, unless the check does not allow random numbers.
    fn rand() -> ::rand::rngs::ThreadRng {
        assert_random();
        ::rand::thread_rng()
    }
}
