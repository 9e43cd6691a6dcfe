//! Acts on values that are initialized once.

use std::ops::Range;

use super::act::Act;
use super::diamond::diamonds_of;
use super::program::Program;
use crate::OnceLock;
use crate::run::op::kind::faults;
use crate::run::op::once;
use crate::run::rng::Rng;

/// The next act of a task on a cell.
#[derive(Clone, Debug)]
pub(super) enum OnCell {
    /// Initializes a value, in two steps or in one.
    Init(bool),
    /// Makes a value, and gives up if it is dropped in between.
    InitOrNot,
    Set,
    Get,
    Wait,
    /// Waits in a loop until it has a value.
    Await,
}

impl OnCell {
    /// Returns `true` if the initialization may be dropped; a draw decides this.
    pub(super) fn draws(&self) -> bool {
        matches!(self, OnCell::InitOrNot)
    }
}

pub(super) async fn perform(cell: &OnceLock<usize>, act: &OnCell, task: usize) {
    let init = async |steps: bool| {
        if steps {
            crate::task::yield_now().await;
        }
        task
    };
    match act {
        OnCell::Init(steps) => drop(cell.get_or_init(|| init(*steps)).await),
        OnCell::InitOrNot => drop(crate::cancellable(cell.get_or_init(|| init(true))).await),
        OnCell::Set => drop(cell.set(task).await),
        OnCell::Get => drop(cell.get().await),
        OnCell::Wait => drop(cell.wait().await),
        OnCell::Await => crate::spin_until(async || cell.get().await.is_some()).await,
    }
}

impl Act {
    pub(super) fn cell(rng: &mut Rng) -> Act {
        let acts = [
            OnCell::Init(true),
            OnCell::Init(true),
            OnCell::Init(false),
            OnCell::Set,
            OnCell::Get,
            OnCell::Wait,
        ];
        Act::OnCell(acts[rng.below(acts.len() as u64) as usize].clone())
    }

    pub(super) fn cell_or_not(rng: &mut Rng) -> Act {
        let acts = [OnCell::InitOrNot, OnCell::InitOrNot, OnCell::Init(true), OnCell::Get];
        Act::OnCell(acts[rng.below(acts.len() as u64) as usize].clone())
    }
}

#[test]
fn a_loop_that_waits_for_a_value_goes_on_when_there_is_one() {
    crate::engine::simulate::hook::install();
    // The wait must end before the other notification in some runs, and after it in others. An earlier version of the
    // search missed one order. An initialization that only begins does not wake any task.
    let mut tally = super::Tally::default();
    for make in [OnCell::Set, OnCell::Init(true)] {
        let waits = vec![Act::OnCell(OnCell::Await), Act::Notify(true)];
        let acts = vec![vec![], waits, vec![Act::Notify(false)], vec![Act::OnCell(make)]];
        tally.compare(&Program::new(acts, 3, 3), 20_000);
    }
    assert_eq!(tally.programs, 2);
}

fn diamonds(programs: Range<u64>) -> super::diamond::Found {
    let acts = [Act::cell, Act::cell, Act::cell, Act::cell_or_not];
    diamonds_of(programs, |rng| Program::generate(rng, &acts, (3, 3)))
}

#[test]
fn steps_on_cells_that_do_not_conflict_can_be_swapped() {
    let found = diamonds(super::swapped());
    println!("{} pairs", found.pairs);
    assert_eq!(found.broken, None);
    assert!(found.pairs > 200);
}

#[test]
fn a_relation_of_cells_that_is_not_declared_is_found() {
    let pairs = [
        ("begin, begin", (once::BEGIN, once::BEGIN)),
        ("begin, queue", (once::BEGIN, once::QUEUE)),
        ("queue, settle", (once::QUEUE, once::SETTLE)),
        ("look, settle", (once::LOOK, once::SETTLE)),
    ];
    for (name, pair) in pairs {
        let found = faults::without(pair, || diamonds(0..20_000));
        assert!(found.broken.is_some(), "{name}: not found in {} pairs", found.pairs);
    }
}
