//! The distribution of URW, computed for small programs.

use super::*;
use crate::strategy::enumerate::{AbstractOp, All, Exact, WRITE, all_orders, orders, writers};

fn urw(dice: All) -> Urw<All> {
    Urw {
        dice,
        rehearsal: Rehearsal::default(),
        moments: Moments::default(),
        tally: TaskCounts::default(),
        seen: Vec::new(),
        counts: Vec::new(),
        left: Vec::new(),
        weights: Weights::default(),
        last: None,
    }
}

#[test]
fn every_interleaving_has_the_same_probability() {
    // The first step of each task counts, too. So the distribution is uniform over orders with one additional act for
    // each task.
    for acts in [&[1, 1][..], &[2, 2], &[4, 1], &[1, 2, 1]] {
        let program = writers(acts);
        let steps = |order: &[(usize, usize)]| order.to_vec();
        let found = orders(&program, urw);
        assert_eq!(found.len(), all_orders(&program).len());
        // A first step can be anywhere before the first act: as many places as it has.
        let total: u128 = found.keys().map(|order| starts(&steps(order), acts.len())).sum();
        for (order, p) in &found {
            let expected = Exact::new(starts(order, acts.len()), total);
            assert_eq!(*p, expected, "{acts:?} {order:?}");
        }
    }
}

/// The number of ways to insert the first steps of tasks into an order of acts.
fn starts(order: &[(usize, usize)], tasks: usize) -> u128 {
    let mut before: Vec<usize> =
        (0..tasks).map(|task| order.iter().position(|act| act.0 == task).unwrap()).collect();
    before.sort_unstable();
    // The numbers of possible positions are multiplied, the smallest first. Each inserted step adds one more position
    // for later steps.
    before.iter().enumerate().map(|(i, place)| (place + 1 + i) as u128).product()
}

#[test]
fn what_a_child_will_do_is_expected_of_its_parent() {
    let write = AbstractOp::To(0, &WRITE);
    // With the first step and the spawn the parent has 3 steps; child and stranger compete.
    let program = vec![vec![AbstractOp::Spawn(1)], vec![write, write], vec![write, write]];
    let found = orders(&program, urw);
    // All mixes of five steps of one kind and three steps of another kind have the same probability.
    let stranger_last = |order: &[(usize, usize)]| order[order.len() - 2..] == [(2, 0), (2, 1)];
    let p = found.iter().filter(|(order, _)| stranger_last(order));
    let p = p.fold(Exact::ZERO, |sum, (_, one)| sum.plus(*one));
    // Its first step may be at any of six positions among five other steps: 6 of C(8, 3).
    assert_eq!(p, Exact::new(6, 56));
}

#[test]
fn every_interleaving_is_possible_when_tasks_wait() {
    let section = || vec![AbstractOp::Lock(1), AbstractOp::To(0, &WRITE), AbstractOp::Unlock(1)];
    let mut program = vec![section(), section()];
    if crate::long() {
        program.push(vec![AbstractOp::To(0, &WRITE)]);
    }
    let found = orders(&program, urw);
    assert_eq!(found.into_keys().collect::<Vec<_>>(), all_orders(&program));
}
