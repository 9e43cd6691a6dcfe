//! The distribution of SURW, computed for small programs.

use super::*;
use crate::strategy::enumerate::{
    AbstractOp, All, Exact, Order, Program, READ, WRITE, WithBegin, all_orders, assert_uniform,
    orders, probability, sums,
};

const X: AbstractOp = AbstractOp::To(0, &WRITE);

fn surw(dice: All) -> Surw<All> {
    Surw {
        dice,
        rehearsal: Rehearsal::default(),
        moments: Moments::default(),
        tally: TaskCounts::default(),
        accesses: Accesses::default(),
        objects: KnownObjects::default(),
        contested: Vec::new(),
        steps_max: 0,
        object: None,
        counts: Vec::new(),
        weights: Weights::default(),
        tasks: 0,
        places: Candidates::default(),
        intended: None,
        waited: 0,
    }
}

/// Asserts that tasks access object 0 in `count` different orders, and that these orders are equally probable.
#[track_caller]
fn uniform(program: &Program, count: usize) {
    let of_x = |order: &Order| {
        let acts = order.iter().map(|(task, act)| (*task, program[*task][*act]));
        let accesses = acts.filter(|(_, act)| matches!(act, AbstractOp::To(0, _)));
        accesses.map(|(task, _)| task).collect::<Vec<_>>()
    };
    assert_uniform(sums(orders(program, surw), of_x), count);
}

#[test]
fn every_order_of_the_accesses_has_the_same_probability() {
    uniform(&vec![vec![X, X], vec![X, X]], 6);
    uniform(&vec![vec![X, X, X], vec![X]], 4);
    uniform(&vec![vec![X], vec![X], vec![X]], 6);
}

#[test]
fn steps_that_access_something_else_do_not_bend_it() {
    let private = |n| AbstractOp::To(n, &WRITE);
    uniform(&vec![vec![private(1), private(1), X], vec![X, private(2)]], 2);
    uniform(&vec![vec![private(1), X, X], vec![X, X]], 6);
}

#[test]
fn a_child_is_intended_from_the_moment_its_parent_is() {
    uniform(&vec![vec![AbstractOp::Spawn(1), X], vec![X], vec![X]], 6);
}

#[test]
fn a_lost_update_is_met_by_two_runs_of_three() {
    let increment = || vec![AbstractOp::To(0, &READ), X];
    let found = orders(&vec![increment(), increment()], surw);
    let lost = |order: &Order| order[1].0 != order[0].0;
    assert_eq!(probability(&found, lost), Exact::new(2, 3));
}

#[test]
fn every_interleaving_is_possible_when_tasks_wait() {
    let section = || vec![AbstractOp::Lock(1), X, AbstractOp::Unlock(1)];
    let mut programs = vec![vec![section(), section()]];
    if crate::long() {
        programs.push(vec![section(), section(), vec![X]]);
    }
    for program in programs {
        let found = orders(&program, surw);
        assert_eq!(found.into_keys().collect::<Vec<_>>(), all_orders(&program));
    }
}

#[test]
fn an_access_that_no_rehearsal_saw_can_still_be_the_first() {
    // The strategy remembers only the object, and no counts, from the rehearsals.
    let program = vec![vec![X, X], vec![X]];
    let found = orders(&program, ignorant);
    assert_eq!(found.len(), 3, "{found:?}");
}

/// Expects two accesses of task 0 and none of task 1.
fn ignorant(dice: All) -> impl Strategy {
    WithBegin(surw(dice), |surw: &mut Surw<All>, seed| {
        surw.begin(seed);
        if surw.counts.len() > 1 {
            surw.counts[1] = 0;
        }
    })
}
