//! The bound of PCT, computed for all bugs of small programs.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::strategy::enumerate::{
    AbstractOp, All, Exact, Order, Program, WRITE, all_orders, orders, probability, writers,
};

fn pct(program: &Program, depth: u32) -> BTreeMap<Order, Exact> {
    orders(program, |dice: All| Pct::new(dice, Some(depth)))
}

/// All sets of orders that `depth` orderings between acts of different tasks single out.
fn bugs(all: &[Order], depth: usize) -> BTreeSet<u128> {
    let acts: BTreeSet<(usize, usize)> = all.iter().flatten().copied().collect();
    let mut orderings = BTreeSet::new();
    assert!(all.len() <= 128);
    for a in &acts {
        for b in acts.iter().filter(|b| a.0 != b.0) {
            let place = |order: &Order, act| order.iter().position(|other| other == act);
            let holds = |order: &Order| place(order, a) < place(order, b);
            let bits = all.iter().enumerate().map(|(i, order)| u128::from(holds(order)) << i);
            orderings.insert(bits.fold(0, |all, bit| all | bit));
        }
    }
    let mut found: BTreeSet<u128> = orderings.clone();
    for _ in 1..depth {
        found = found.iter().flat_map(|one| orderings.iter().map(move |two| one & two)).collect();
    }
    found.remove(&0);
    found
}

/// Asserts that each bug of this depth is found with a probability of at least 1 / (n k^(d-1)).
#[track_caller]
fn meets_the_bound(program: &Program, depth: u32) {
    let orders = pct(program, depth);
    let steps: usize = program.iter().map(|task| task.len() + 1).sum();
    let bound = (program.len() * steps.pow(depth - 1)) as u128;
    let all = all_orders(program);
    let bugs = bugs(&all, depth as usize);
    assert!(bugs.len() >= 10, "{}", bugs.len());
    // All probabilities are multiples of 1 / `draws`, because `draws` is the number of equally likely draws.
    let draws = (1..=program.len()).product::<usize>() as u128 * bound / program.len() as u128;
    let count = |order| {
        let p = orders.get(order).copied().unwrap_or(Exact::ZERO);
        p.times(Exact::new(draws, 1)).whole().expect("a number of draws")
    };
    let counts: Vec<u128> = all.iter().map(count).collect();
    for bug in bugs {
        let those = (0..counts.len()).filter(|i| bug >> i & 1 == 1);
        let hits: u128 = those.map(|i| counts[i]).sum();
        let those = || (0..counts.len()).filter(|i| bug >> i & 1 == 1).map(|i| &all[i]);
        assert!(
            hits * bound >= draws,
            "{hits} of {draws} < 1/{bound}: {:?} of {}",
            those().collect::<Vec<_>>(),
            all.len()
        );
    }
}

#[test]
fn every_bug_of_depth_two_has_the_probability_that_is_promised() {
    for acts in [&[2, 2][..], &[3, 2], &[2, 2, 2], &[3, 1, 1]] {
        meets_the_bound(&writers(acts), 2);
    }
}

#[test]
fn every_bug_of_depth_three_has_the_probability_that_is_promised() {
    for acts in [&[2, 2][..], &[3, 3], &[2, 2, 2], &[3, 2, 1]] {
        meets_the_bound(&writers(acts), 3);
    }
}

#[test]
fn every_bug_of_depth_four_has_the_probability_that_is_promised() {
    for acts in [&[3, 3][..], &[2, 2, 1], &[2, 2, 2]] {
        meets_the_bound(&writers(acts), 4);
    }
}

#[test]
fn tasks_that_are_spawned_and_locks_that_are_waited_for_do_not_break_the_bound() {
    let write = AbstractOp::To(0, &WRITE);
    let spawning = vec![
        vec![write, AbstractOp::Spawn(1), write],
        vec![write, AbstractOp::Spawn(2)],
        vec![write],
    ];
    let section = || vec![AbstractOp::Lock(1), write, AbstractOp::Unlock(1)];
    let locking = vec![section(), section(), vec![write]];
    for depth in 2..4 {
        meets_the_bound(&locking, depth);
    }
    meets_the_bound(&spawning, 3);
}

#[test]
fn the_bug_that_demoting_afterwards_never_meets_is_met() {
    // A0 < B0 < A1 < C0.
    let orders = pct(&writers(&[2, 2, 2]), 3);
    let bug = |order: &Order| {
        let place = |act| order.iter().position(|other| *other == act);
        let acts = [(0, 0), (1, 0), (0, 1), (2, 0)].map(place);
        acts.windows(2).all(|pair| pair[0] < pair[1])
    };
    assert!(!probability(&orders, bug).is_less(Exact::new(1, 3 * 9 * 9)));
}

#[test]
fn with_no_change_point_tasks_run_one_after_the_other() {
    let orders = pct(&writers(&[2, 2]), 1);
    let half = Exact::new(1, 2);
    assert_eq!(orders.into_values().collect::<Vec<_>>(), [half, half]);
}

#[test]
fn a_task_that_yields_lets_the_others_go() {
    let waits = vec![AbstractOp::Yield, AbstractOp::Yield];
    for order in pct(&vec![waits.clone(), waits], 1).into_keys() {
        assert_ne!(order[0].0, order[1].0, "{order:?}");
    }
}
