//! Runs in which each operation chooses the newest store, with the memory model `c11`.

use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::Seed;
use crate::run::store_choice::is_store_choice;

/// A strategy that chooses the newest store for each operation, and leaves all other choices to another strategy. That
/// strategy does not see these choices, so it can replay a schedule of a run with the memory model `sc`.
pub struct Newest(Box<dyn Strategy>);

impl Newest {
    /// Creates the strategy.
    pub fn new(others: Box<dyn Strategy>) -> Newest {
        Newest(others)
    }
}

impl Strategy for Newest {
    fn prepare(&mut self, seed: Seed) {
        self.0.prepare(seed);
    }

    fn begin(&mut self, seed: Seed) {
        self.0.begin(seed);
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        self.0.pick(view)
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        if is_store_choice(draw.why) { Ok(0) } else { self.0.draw(draw) }
    }

    fn given(&mut self, draw: &Draw, value: u64) -> Result<u64, Mismatch> {
        if is_store_choice(draw.why) { Ok(0) } else { self.0.given(draw, value) }
    }

    fn sees_forced_steps(&self) -> bool {
        self.0.sees_forced_steps()
    }

    fn rehearsals(&self) -> u32 {
        self.0.rehearsals()
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        self.0.end(view)
    }
}
