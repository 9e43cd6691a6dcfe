//! Acts into which faults are injected.

use super::act::Act;
use crate::run::rng::Rng;

impl Act {
    pub(super) fn cancellable(rng: &mut Rng) -> Act {
        let inner = [Act::load, Act::store, Act::add, Act::lock, Act::lock, Act::wait];
        let count = 1 + rng.below(2);
        let acts = (0..count).map(|_| inner[rng.below(inner.len() as u64) as usize](rng));
        Act::Cancellable(acts.collect())
    }

    pub(super) fn condvar(rng: &mut Rng) -> Act {
        match rng.below(4) {
            0 | 1 => Act::WaitFor,
            2 => Act::Notify(true),
            _ => Act::Notify(false),
        }
    }

    pub(super) fn exchange_weakly(rng: &mut Rng) -> Act {
        Act::ExchangeWeakly(rng.below(2) as usize, rng.below(2), 1 + rng.below(2))
    }
}
