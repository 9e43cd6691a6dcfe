//! The distribution of orders, computed for small programs.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::strategy::enumerate::{
    Act, All, Begun, Exact, Order, Program, READ, WRITE, all_orders, assert_uniform,
    orders as orders_of, probability, sums,
};

const X: Act = Act::To(0, &WRITE);
const Y: Act = Act::To(1, &WRITE);
const Z: Act = Act::To(2, &WRITE);

fn orders(dice: All) -> Orders<All> {
    Orders {
        dice,
        rehearsal: Rehearsal::default(),
        tally: Tally::default(),
        accesses: Accesses::default(),
        positions: Vec::new(),
        contested: Vec::new(),
        expected: Vec::new(),
        parts: Vec::new(),
        steps_max: 0,
        step: 0,
        which: 0,
        known: Vec::new(),
        places: Places::default(),
        accessed: Vec::new(),
    }
}

/// Orders that leaves no object out, or every one, and expects the most.
fn always(dice: All, left_out: bool) -> impl Strategy {
    Begun(orders(dice), move |orders: &mut Orders<All>, seed| {
        orders.restart(seed);
        orders.which = MOST;
        orders.contested.iter_mut().for_each(|contested| contested.is_left_out = left_out);
    })
}

/// For each object the tasks in the order in which they access it.
type Choice = BTreeMap<u32, Vec<usize>>;

fn choice(program: &Program, order: &Order) -> Choice {
    let mut choice = Choice::new();
    for (task, act) in order {
        if let Act::To(object, _) = program[*task][*act] {
            choice.entry(object).or_default().push(*task);
        }
    }
    choice
}

/// The probabilities of all choices of an order for each object.
fn of_choices(program: &Program) -> BTreeMap<Choice, Exact> {
    sums(orders_of(program, |dice| always(dice, false)), |order| choice(program, order))
}

/// In how many orders an object can be accessed, as far as its own accesses go.
fn orders_of_one(choice: &[usize]) -> u128 {
    let factorial = |n: usize| (1..=n as u128).product::<u128>();
    let tasks: BTreeSet<_> = choice.iter().collect();
    let of = |task: &usize| choice.iter().filter(|other| *other == task).count();
    factorial(choice.len()) / tasks.into_iter().map(|task| factorial(of(task))).product::<u128>()
}

#[track_caller]
fn uniform(program: &Program, count: usize) {
    assert_uniform(of_choices(program), count);
}

#[test]
fn every_order_of_the_accesses_has_the_same_probability() {
    uniform(&vec![vec![X, X], vec![X, X]], 6);
    uniform(&vec![vec![X, X, X], vec![X]], 4);
    uniform(&vec![vec![X], vec![X], vec![X]], 6);
}

#[test]
fn so_has_every_choice_of_an_order_for_each_object_if_all_are_possible() {
    uniform(&vec![vec![X, Y], vec![X, Y]], 4);
    uniform(&vec![vec![X, X, Y], vec![X, Y]], 6);
    uniform(&vec![vec![X, Y], vec![X], vec![Y]], 4);
}

#[test]
fn what_is_possible_has_at_least_the_probability_of_its_draws() {
    for program in [
        vec![vec![X, Y], vec![Y, X]],
        vec![vec![X, Y], vec![Y, Z], vec![Z, X]],
        vec![vec![X, Y, X], vec![Y, X]],
        vec![vec![X, Y, Y], vec![Y, X, Y]],
    ] {
        let all: BTreeSet<_> =
            all_orders(&program).iter().map(|order| choice(&program, order)).collect();
        let found = of_choices(&program);
        assert_eq!(found.keys().cloned().collect::<BTreeSet<_>>(), all, "{program:?}");
        for (choice, p) in found {
            let draws = choice.values().map(|order| orders_of_one(order)).product();
            assert!(!p.is_less(Exact::new(1, draws)), "{program:?}: {choice:?} has {p:?}");
        }
    }
}

#[test]
fn steps_that_access_something_else_do_not_bend_it() {
    let private = |n| Act::To(n, &WRITE);
    uniform(&vec![vec![private(2), private(2), X], vec![X, private(3)]], 2);
}

#[test]
fn a_child_is_intended_from_the_moment_its_parent_is() {
    uniform(&vec![vec![Act::Spawn(1), X], vec![X], vec![X]], 6);
}

#[test]
fn a_lost_update_is_met_by_two_runs_of_three() {
    let increment = || vec![Act::To(0, &READ), X];
    let found = orders_of(&vec![increment(), increment()], |dice| always(dice, false));
    let lost = |order: &Order| order[1].0 != order[0].0;
    assert_eq!(probability(&found, lost), Exact::new(2, 3));
}

#[test]
fn an_object_that_is_left_out_is_walked() {
    let program = vec![vec![X, X], vec![X]];
    let walked = orders_of(&program, |dice| always(dice, true));
    assert_eq!(walked.into_keys().collect::<Vec<_>>(), all_orders(&program));
    // Seeds draw it, and what they expect.
    let drawn = orders_of(&program, orders);
    assert_eq!(drawn.into_keys().collect::<Vec<_>>(), all_orders(&program));
}

#[test]
fn every_interleaving_is_possible_when_tasks_wait() {
    let section = || vec![Act::Lock(1), X, Act::Unlock(1)];
    for program in [vec![section(), section()], vec![vec![X], section(), vec![X]]] {
        let found = orders_of(&program, |dice| always(dice, false));
        assert_eq!(found.into_keys().collect::<Vec<_>>(), all_orders(&program));
    }
}

#[test]
fn an_access_that_was_not_expected_can_still_be_the_first() {
    // Expects two accesses of task 0 and none of task 1.
    let program = vec![vec![X, X], vec![X]];
    let ignorant = |dice| {
        Begun(orders(dice), |orders: &mut Orders<All>, seed| {
            orders.begin(seed);
            for expected in orders.expected.iter_mut().filter(|expected| expected.taker == 1) {
                expected.counts = Default::default();
            }
        })
    };
    assert_eq!(orders_of(&program, ignorant).len(), 3);
}
