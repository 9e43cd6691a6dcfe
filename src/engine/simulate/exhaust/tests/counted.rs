//! Acts on values with several owners.

use std::ops::Range;

use super::act::Act;
use super::diamond::diamonds_of;
use super::program::Program;
use crate::Condvar;
use crate::counted::{Arc, Weak};
use crate::run::op::count;
use crate::run::op::kind::faults;
use crate::run::rng::Rng;

/// The next act of a task on one of its references.
#[derive(Clone, Copy, Debug)]
pub(super) enum OnCount {
    Clone,
    Drop,
    Downgrade,
    DropWeak,
    Upgrade,
    StrongCount,
    WeakCount,
    GetMut,
    TryUnwrap,
    IntoInner,
    /// Waits in a loop until it is the only owner.
    AwaitAlone,
}

/// A value whose destructor shows the task that calls it.
pub(super) struct Loud(Condvar);

impl Drop for Loud {
    fn drop(&mut self) {
        self.0.notify_all();
    }
}

/// The references that one task has: to a value with a destructor, or to one without.
#[derive(Clone, Default)]
pub(super) struct References {
    quiet: Owned<u8>,
    loud: Owned<Loud>,
}

pub(super) struct Owned<T> {
    owners: Vec<Arc<T>>,
    others: Vec<Weak<T>>,
}

impl<T> Clone for Owned<T> {
    fn clone(&self) -> Owned<T> {
        Owned { owners: self.owners.clone(), others: self.others.clone() }
    }
}

impl<T> Default for Owned<T> {
    fn default() -> Owned<T> {
        Owned { owners: Vec::new(), others: Vec::new() }
    }
}

impl<T> Owned<T> {
    fn to(value: T) -> Owned<T> {
        let owner = Arc::new(value);
        let other = Arc::downgrade(&owner);
        Owned { owners: vec![owner], others: vec![other] }
    }

    async fn perform(&mut self, act: OnCount) {
        match act {
            OnCount::Clone => self.owners.extend(self.owners.first().cloned()),
            OnCount::Drop => drop(self.owners.pop()),
            OnCount::Downgrade => self.others.extend(self.owners.first().map(Arc::downgrade)),
            OnCount::DropWeak => drop(self.others.pop()),
            OnCount::Upgrade => {
                if let Some(other) = self.others.first() {
                    let owner = other.upgrade().await;
                    self.owners.extend(owner);
                }
            }
            OnCount::StrongCount => {
                if let Some(owner) = self.owners.first() {
                    Arc::strong_count(owner).await;
                } else if let Some(other) = self.others.first() {
                    other.strong_count().await;
                }
            }
            OnCount::WeakCount => {
                if let Some(owner) = self.owners.first() {
                    Arc::weak_count(owner).await;
                }
            }
            OnCount::GetMut => {
                if let Some(owner) = self.owners.first_mut() {
                    Arc::get_mut(owner).await;
                }
            }
            OnCount::TryUnwrap => {
                if let Some(owner) = self.owners.pop() {
                    match Arc::try_unwrap(owner).await {
                        Ok(value) => drop(value),
                        Err(owner) => self.owners.push(owner),
                    }
                }
            }
            OnCount::IntoInner => {
                if let Some(owner) = self.owners.pop() {
                    drop(Arc::into_inner(owner).await);
                }
            }
            OnCount::AwaitAlone => {
                if let Some(owner) = self.owners.first() {
                    crate::spin_until(async || Arc::strong_count(owner).await == 1).await;
                }
            }
        }
    }
}

/// References for the task that creates the values.
pub(super) fn references(are_used: bool) -> References {
    match are_used {
        true => References { quiet: Owned::to(0), loud: Owned::to(Loud(Condvar::new())) },
        false => References::default(),
    }
}

pub(super) async fn perform(references: &mut References, (is_loud, act): (bool, OnCount)) {
    match is_loud {
        true => references.loud.perform(act).await,
        false => references.quiet.perform(act).await,
    }
}

impl Act {
    pub(super) fn count(rng: &mut Rng) -> Act {
        use OnCount::{
            Clone, Downgrade, Drop, DropWeak, GetMut, IntoInner, StrongCount, TryUnwrap, Upgrade,
            WeakCount,
        };
        let acts = [
            Clone,
            Drop,
            Drop,
            Downgrade,
            DropWeak,
            Upgrade,
            Upgrade,
            StrongCount,
            WeakCount,
            GetMut,
            TryUnwrap,
            TryUnwrap,
            IntoInner,
            IntoInner,
        ];
        Act::OnCount(rng.below(2) == 0, acts[rng.below(acts.len() as u64) as usize])
    }
}

#[test]
fn a_loop_that_waits_to_be_the_only_owner_goes_on_when_it_is() {
    crate::engine::simulate::hook::install();
    // The wait must end before the other notification in some runs, and after it in others. An earlier version of the
    // search missed one order.
    let waits = vec![Act::OnCount(false, OnCount::AwaitAlone), Act::Notify(true)];
    let drop = Act::OnCount(false, OnCount::Drop);
    let notifies = vec![drop.clone(), Act::Pause, Act::Notify(false)];
    let drops = vec![Act::Pause, drop];
    let mut tally = super::Tally::default();
    tally.compare(&Program::new(vec![vec![], waits, notifies, drops], 3, 3), 20_000);
    assert_eq!(tally.programs, 1);
}

fn diamonds(programs: Range<u64>) -> super::diamond::Found {
    let acts = [Act::count, Act::count, Act::add];
    diamonds_of(programs, |rng| Program::generate(rng, &acts, (3, 3)))
}

#[test]
fn steps_on_counts_that_do_not_conflict_can_be_swapped() {
    let found = diamonds(super::swapped());
    println!("{} pairs", found.pairs);
    assert_eq!(found.broken, None);
    assert!(found.pairs > 75);
}

#[test]
fn a_relation_of_counts_that_is_not_declared_is_found() {
    let pairs = [
        ("end, end", (count::END, count::END)),
        ("lose, take", (count::LOSE, count::TAKE)),
        ("take, take", (count::TAKE, count::TAKE)),
        ("weigh, count", (count::WEIGH, count::COUNT)),
    ];
    // Pairs of operations that only few programs contain.
    let rare = [
        ("gain, count", (count::GAIN, count::COUNT)),
        ("lose, count", (count::LOSE, count::COUNT)),
        ("lose, upgrade", (count::LOSE, count::UPGRADE)),
        ("upgrade, count", (count::UPGRADE, count::COUNT)),
        ("upgrade, take", (count::UPGRADE, count::TAKE)),
    ];
    let rare = rare.into_iter().filter(|_| crate::long());
    for (name, pair) in pairs.into_iter().chain(rare) {
        let found = faults::without(pair, || diamonds(0..20_000));
        found.assert_broken(name);
    }
}
