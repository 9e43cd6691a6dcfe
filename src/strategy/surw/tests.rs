//! The distribution of SURW, computed for small programs.

use std::collections::BTreeMap;

use super::*;
use crate::strategy::enumerate::{
    Act, All, Begun, Exact, Order, Program, READ, WRITE, all_orders, orders,
};

const X: Act = Act::To(0, &WRITE);

fn surw(dice: All) -> Surw<All> {
    Surw {
        dice,
        rehearsal: Rehearsal::default(),
        tally: Tally::default(),
        accesses: BTreeMap::new(),
        contested: Vec::new(),
        steps_max: 0,
        object: None,
        counts: Vec::new(),
        weights: Weights::default(),
        tasks: 0,
        places: Places::default(),
        intended: None,
        waited: 0,
    }
}

/// The probabilities of the orders in which tasks access object 0.
fn of_accesses(program: &Program) -> BTreeMap<Vec<usize>, Exact> {
    let mut sums = BTreeMap::new();
    for (order, p) in orders(program, surw) {
        let is_access =
            |(task, act): &&(usize, usize)| matches!(program[*task][*act], Act::To(0, _));
        let of_x = order.iter().filter(is_access).map(|(task, _)| *task);
        let sum = sums.entry(of_x.collect::<Vec<_>>()).or_insert(Exact::ZERO);
        *sum = sum.plus(p);
    }
    sums
}

#[track_caller]
fn uniform(program: &Program, count: usize) {
    let found = of_accesses(program);
    assert_eq!(found.len(), count);
    for (order, p) in found {
        assert_eq!(p, Exact::new(1, count as u128), "{order:?}");
    }
}

#[test]
fn every_order_of_the_accesses_has_the_same_probability() {
    uniform(&vec![vec![X, X], vec![X, X]], 6);
    uniform(&vec![vec![X, X, X], vec![X]], 4);
    uniform(&vec![vec![X], vec![X], vec![X]], 6);
}

#[test]
fn steps_that_access_something_else_do_not_bend_it() {
    let private = |n| Act::To(n, &WRITE);
    uniform(&vec![vec![private(1), private(1), X], vec![X, private(2)]], 2);
    uniform(&vec![vec![private(1), X, X], vec![X, X]], 6);
}

#[test]
fn a_child_is_intended_from_the_moment_its_parent_is() {
    uniform(&vec![vec![Act::Spawn(1), X], vec![X], vec![X]], 6);
}

#[test]
fn a_lost_update_is_met_by_two_runs_of_three() {
    let increment = || vec![Act::To(0, &READ), X];
    let found = orders(&vec![increment(), increment()], surw);
    let lost = |order: &Order| order[1].0 != order[0].0;
    let p = crate::strategy::enumerate::probability(&found, lost);
    assert_eq!(p, Exact::new(2, 3));
}

#[test]
fn every_interleaving_is_possible_when_tasks_wait() {
    let section = || vec![Act::Lock(1), X, Act::Unlock(1)];
    for program in [vec![section(), section()], vec![section(), section(), vec![X]]] {
        let found = orders(&program, surw);
        assert_eq!(found.into_keys().collect::<Vec<_>>(), all_orders(&program));
    }
}

#[test]
fn an_access_that_no_rehearsal_saw_can_still_be_the_first() {
    // What was learnt is thrown away, except which object it is.
    let program = vec![vec![X, X], vec![X]];
    let found = orders(&program, ignorant);
    assert_eq!(found.len(), 3, "{found:?}");
}

/// Expects two accesses of task 0 and none of task 1.
fn ignorant(dice: All) -> impl Strategy {
    Begun(surw(dice), |surw: &mut Surw<All>, seed| {
        surw.begin(seed);
        if surw.counts.len() > 1 {
            surw.counts[1] = 0;
        }
    })
}
