//! Acts that wait for a time, read it or move it.

use super::act::Act;
use crate::run::rng::Rng;

impl Act {
    pub(super) fn sleep(rng: &mut Rng) -> Act {
        let seconds = rng.below(3);
        if rng.below(3) == 0 { Act::Until(seconds) } else { Act::Sleep(seconds) }
    }

    pub(super) fn now(_: &mut Rng) -> Act {
        Act::Now
    }

    pub(super) fn advance(rng: &mut Rng) -> Act {
        Act::Advance(1 + rng.below(2))
    }

    pub(super) fn within(rng: &mut Rng) -> Act {
        match rng.below(3) {
            0 => Act::LockWithin(rng.below(2) as usize, rng.below(3)),
            1 => Act::AwaitWithin(rng.below(2) as usize, 1 + rng.below(2), rng.below(3)),
            _ => Act::Race(rng.below(3), rng.below(3)),
        }
    }
}
