//! Acts and programs that faults befall.

use super::act::Act;
use super::compare_all;
use super::program::Program;
use crate::run::faults::{Faults, Progress};
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

#[test]
fn cancellations_are_explored_as_by_brute_force() {
    let acts = [Act::cancellable, Act::cancellable, Act::load, Act::store, Act::lock, Act::unlock];
    compare_all("cancellations", |rng| Program::generate(rng, &acts, (2, 2)));
}

#[test]
fn aborts_at_any_point_are_explored_as_by_brute_force() {
    let acts = [Act::load, Act::store, Act::lock, Act::unlock, Act::wait, Act::cancellable];
    compare_all("aborts by choice", |rng| {
        let cancel = Some(["t1", "t*", "*2"][rng.below(3) as usize].into());
        Program::generate(rng, &acts, (2, 2)).befallen_by(Faults { cancel, ..Faults::NONE })
    });
}

#[test]
fn stalls_are_explored_as_by_brute_force() {
    let acts = [Act::load, Act::store, Act::add, Act::lock, Act::unlock, Act::wait, Act::abort];
    compare_all("stalls", |rng| {
        let progress = [Progress::LockFree, Progress::ObstructionFree][rng.below(2) as usize];
        Program::generate(rng, &acts, (2, 2)).befallen_by(Faults { progress, ..Faults::NONE })
    });
}

#[test]
fn spurious_failures_are_explored_as_by_brute_force() {
    let acts = [Act::exchange_weakly, Act::exchange_weakly, Act::load, Act::store];
    compare_all("spurious failures", |rng| {
        Program::generate(rng, &acts, (2, 2)).befallen_by(Faults { weak: true, ..Faults::NONE })
    });
}

#[test]
fn condition_variables_are_explored_as_by_brute_force() {
    let acts = [Act::condvar, Act::condvar, Act::condvar, Act::unlock, Act::add, Act::lock];
    compare_all("condition variables", |rng| {
        let spurious = rng.below(2) == 1;
        Program::generate(rng, &acts, (3, 2)).befallen_by(Faults { spurious, ..Faults::NONE })
    });
    let acts = [Act::condvar, Act::condvar, Act::spawn, Act::abort, Act::join, Act::cancellable];
    compare_all("dropped waits for them", |rng| Program::generate(rng, &acts, (3, 2)));
}
