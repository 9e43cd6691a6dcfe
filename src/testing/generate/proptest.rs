//! Command arguments from strategies of proptest, with the feature `proptest`.
//!
//! Two numbers are drawn for a value, so a seed and a trace determine it: the seed of its random
//! bits, and the number of proptest's simplifying steps. A random second number almost never
//! simplifies the value. The minimum, 0, which shrinking tries first, simplifies it as far as
//! possible.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::Gen;
use unpause_check::Model;

/// The maximum number of simplification steps.
const SIMPLER_MAX: u64 = 64;
/// The number of levels. Only the lowest [`SIMPLER_MAX`] levels simplify the value.
const SELDOM: u64 = 1 << 16;

impl<P: Model> Gen<'_, P> {
    /// Returns a value of a strategy. Shrinks by up to 64 simplification steps of the strategy.
    ///
    /// # Panics
    /// If the strategy rejects all values, for example with a filter that no value passes.
    ///
    /// ```
    /// use proptest::collection::vec;
    /// use sim::Gen;
    /// use sim::check::models::{Register, RegisterOp};
    ///
    /// fn write(g: &mut Gen<'_, Register<Vec<u8>>>) -> RegisterOp<Vec<u8>> {
    ///     RegisterOp::Write(g.strategy(&vec(0..10u8, 1..4)))
    /// }
    /// ```
    #[track_caller]
    pub fn strategy<S: Strategy>(&mut self, strategy: &S) -> S::Value {
        let (bits, level) = (self.below(u64::MAX), self.below(SELDOM));
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&bits.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let mut tree = match strategy.new_tree(&mut runner) {
            Ok(tree) => tree,
            Err(why) => panic!("the strategy gave no value: {why}: let its filters reject less"),
        };
        for _ in level..SIMPLER_MAX {
            if !tree.simplify() {
                break;
            }
        }
        tree.current()
    }
}
