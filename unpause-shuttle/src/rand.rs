//! shuttle's `rand`: version 0.8 of the crate. The run supplies the random bytes.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU8, Ordering};

use ::rand::SeedableRng;
use ::rand::rngs::{OsRng, StdRng};
pub use ::rand::{CryptoRng, Rng, RngCore};

use crate::thread::{assert_random, key, number};

/// Returns the generator of the current thread.
pub fn thread_rng() -> rngs::ThreadRng {
    rngs::ThreadRng::default()
}

/// Random number generators.
pub mod rngs {
    use ::rand::{CryptoRng, Error, RngCore};

    use super::with_generator;

    /// The generator of the current thread. Unlike rand's generator, it may move to another thread, as in shuttle.
    #[derive(Clone, Default, Debug)]
    pub struct ThreadRng {
        _private: (),
    }

    impl RngCore for ThreadRng {
        fn next_u32(&mut self) -> u32 {
            with_generator(|generator| generator.next_u32())
        }

        fn next_u64(&mut self) -> u64 {
            with_generator(|generator| generator.next_u64())
        }

        fn fill_bytes(&mut self, bytes: &mut [u8]) {
            with_generator(|generator| generator.fill_bytes(bytes));
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
            with_generator(|generator| generator.try_fill_bytes(bytes))
        }
    }

    impl CryptoRng for ThreadRng {}
}

thread_local! {
    /// The generator of the thread in a run with a key.
    static OWN: RefCell<Option<StdRng>> = const { RefCell::new(None) };
}

/// A variable that each random number of a run with a key changes, so that the number is a step of the run.
static DRAWN: AtomicU8 = AtomicU8::new(0);

/// The beginning of the text of this step.
pub(crate) const DRAW: &str = "fetch_nand ";

/// Begins a run in which only the random numbers of this module are repeatable. Returns their key.
pub(crate) fn begin() -> u64 {
    let key = OsRng.next_u64();
    // The run has a stream of random bytes. A repetition of the run has another number, so it begins elsewhere.
    OsRng.fill_bytes(&mut [0; 64][..1 + (unpause_model::call() % 63) as usize]);
    key
}

/// Calls `draw` with the generator of the current thread, unless the check does not allow random numbers.
fn with_generator<T>(draw: impl FnOnce(&mut dyn RngCore) -> T) -> T {
    assert_random();
    let Some(key) = key() else { return draw(&mut ::rand::thread_rng()) };
    DRAWN.fetch_nand(u8::MAX, Ordering::SeqCst);
    OWN.with_borrow_mut(|own| {
        let seed = || key.wrapping_add((number() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        draw(own.get_or_insert_with(|| StdRng::seed_from_u64(seed())))
    })
}
