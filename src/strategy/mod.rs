//! Who answers the choices of a run: one file for each strategy, one row each in [`STRATEGIES`].
//!
//! The conformance suite of `sim-tests` walks the registry, so a new strategy is tested before its
//! author writes a test.

mod again;
mod follow;
mod random;
mod replay;

mod roster;

pub use self::again::Again;
pub use self::follow::Follow;
pub use self::replay::Replay;

use crate::choice::Strategy;

/// A strategy that can be chosen by name.
#[derive(Clone, Copy, Debug)]
pub struct StrategyRow {
    /// What it is called in `strategy = "..."` and `SIM_STRATEGY`.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Makes one.
    pub create: fn() -> Box<dyn Strategy>,
}

/// All strategies that can be chosen by name. The first is the default.
pub const STRATEGIES: &[StrategyRow] = &[StrategyRow {
    name: "random",
    summary: "every candidate with the same probability, at every step",
    create: || Box::new(random::RandomWalk::default()),
}];

/// The strategy called `name`.
///
/// ```
/// assert!(sim::strategy::find("random").is_some());
/// assert!(sim::strategy::find("rondom").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static StrategyRow> {
    STRATEGIES.iter().find(|row| row.name == name)
}
