//! The random walk: every candidate has the same probability at every step.
//!
//! A run of k steps with at most n candidates each has a probability of at least n^-k, so every
//! interleaving is possible. The random walk is fair with probability 1, and needs no information
//! about the program.

use super::StrategyRow;
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::Seed;
use crate::run::rng::Rng;

/// The row of this strategy in [`STRATEGIES`](super::STRATEGIES).
pub(super) const ROW: StrategyRow = StrategyRow {
    name: "random",
    summary: "every candidate with the same probability, at every step",
    good_at: "few steps, many switches",
    promise: "every interleaving is possible",
    weak: "one late step of a short task against many of a long one",
    reaches_all: true,
    create: || Box::new(RandomWalk::default()),
    numbered: &[],
};

/// The random walk. A step costs one random number, for any number of tasks.
#[derive(Debug)]
pub struct RandomWalk {
    rng: Rng,
}

impl Default for RandomWalk {
    fn default() -> RandomWalk {
        RandomWalk { rng: Rng::new(0) }
    }
}

impl Strategy for RandomWalk {
    fn begin(&mut self, seed: Seed) {
        self.rng = Rng::new(seed.0);
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        Ok(self.rng.below(view.candidates().len() as u64) as usize)
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        Ok(self.rng.below(draw.bound))
    }
}
