//! The distribution of orders, computed for small programs.

use std::collections::{BTreeMap, BTreeSet};

use super::contested::Favour;
use super::*;
use crate::strategy::enumerate::{
    AbstractOp, All, Exact, Order, Program, READ, WRITE, WithBegin, all_orders, assert_uniform,
    orders as orders_of, probability, run, sums,
};

const X: AbstractOp = AbstractOp::To(0, &WRITE);
const Y: AbstractOp = AbstractOp::To(1, &WRITE);
const Z: AbstractOp = AbstractOp::To(2, &WRITE);

fn orders(dice: All) -> Orders<All> {
    Orders { dice, ..Orders::default() }
}

/// Orders that expects the most in every run, looks for no circles, and is else as `change` has it.
fn begun(dice: All, change: impl Fn(&mut Orders<All>) + Send) -> impl Strategy {
    WithBegin(orders(dice), move |orders: &mut Orders<All>, seed| {
        if !orders.restart(seed) {
            return;
        }
        orders.circles = false;
        for contested in &mut orders.contested {
            contested.is_left_out = false;
            contested.restart(MOST, Favour::Nobody);
        }
        change(orders);
    })
}

/// Orders that leaves no object out and favours no task.
fn always(dice: All) -> impl Strategy {
    begun(dice, |_| {})
}

/// For each object, the tasks in the order of their accesses.
type Choice = BTreeMap<u32, Vec<usize>>;

fn choice(program: &Program, order: &Order) -> Choice {
    let mut choice = Choice::new();
    for (task, act) in order {
        if let AbstractOp::To(object, _) = program[*task][*act] {
            choice.entry(object).or_default().push(*task);
        }
    }
    choice
}

/// The probabilities of all choices of an order for each object.
fn of_choices(program: &Program) -> BTreeMap<Choice, Exact> {
    sums(orders_of(program, always), |order| choice(program, order))
}

/// The number of orders of an object's accesses, regardless of other objects.
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
    let private = |n| AbstractOp::To(n, &WRITE);
    uniform(&vec![vec![private(2), private(2), X], vec![X, private(3)]], 2);
}

#[test]
fn a_child_is_intended_from_the_moment_its_parent_is() {
    uniform(&vec![vec![AbstractOp::Spawn(1), X], vec![X], vec![X]], 6);
}

#[test]
fn a_lost_update_is_met_by_two_runs_of_three() {
    let increment = || vec![AbstractOp::To(0, &READ), X];
    let found = orders_of(&vec![increment(), increment()], always);
    let lost = |order: &Order| order[1].0 != order[0].0;
    assert_eq!(probability(&found, lost), Exact::new(2, 3));
}

#[test]
fn an_object_that_is_left_out_is_walked() {
    let program = vec![vec![X, X], vec![X]];
    let leaves_out = |dice| {
        begun(dice, |orders| orders.contested.iter_mut().for_each(|one| one.is_left_out = true))
    };
    let walked = orders_of(&program, leaves_out);
    assert_eq!(walked.into_keys().collect::<Vec<_>>(), all_orders(&program));
    // Seeds draw it, and the counts that they expect.
    let drawn = orders_of(&program, orders);
    assert_eq!(drawn.into_keys().collect::<Vec<_>>(), all_orders(&program));
}

#[test]
fn every_interleaving_is_possible_when_tasks_wait() {
    let section = || vec![AbstractOp::Lock(1), X, AbstractOp::Unlock(1)];
    for program in [vec![section(), section()], vec![vec![X], section(), vec![X]]] {
        let found = orders_of(&program, always);
        assert_eq!(found.into_keys().collect::<Vec<_>>(), all_orders(&program));
    }
}

#[test]
fn an_access_that_was_not_expected_can_still_be_the_first() {
    // Expects two accesses of task 0 and none of task 1.
    let program = vec![vec![X, X], vec![X]];
    let ignorant = |dice| {
        begun(dice, |orders| {
            orders.contested[0].forget(1);
            orders.contested[0].restart(MOST, Favour::Nobody);
        })
    };
    let found = orders_of(&program, ignorant);
    assert_eq!(found.len(), 3);
    // The access exists before the first access with a probability of 3/4, and is then one of three pending accesses.
    assert_eq!(probability(&found, |order| order[0].0 == 1), Exact::new(1, 4));
}

/// Orders after all rehearsals of a program.
fn finish_rehearsals(program: &Program) -> Orders {
    let mut orders = Orders::<Rng>::default();
    while orders.rehearsals() > 0 {
        run(program, &mut orders);
    }
    orders.begin(Seed(0));
    orders
}

/// The favours of runs at the first object, in a sample of a hundred.
fn favours(program: &Program) -> BTreeSet<Favour> {
    let mut rng = Rng::new(1);
    let contested = &finish_rehearsals(program).contested[0];
    (0..100).map(|_| contested.draw_favour(&mut rng)).collect()
}

/// Tasks of one access each: readers, then writers.
fn of_one_access(readers: usize, writers: usize) -> Program {
    let mut program = vec![vec![AbstractOp::To(0, &READ)]; readers];
    program.resize(readers + writers, vec![X]);
    program
}

#[test]
fn a_part_that_few_have_is_favoured_or_all_others_are() {
    // Parts are numbered in the order of the accesses: here, writes before reads.
    let part = |part| BTreeSet::from([Favour::Nobody, Favour::First(part), Favour::Last(part)]);
    let of = |readers, writers| favours(&of_one_access(readers, writers));
    assert_eq!(of(1, 3), part(0));
    assert_eq!(of(3, 1), part(1));
    assert_eq!(of(2, 9), part(0));
}

#[test]
fn nobody_is_favoured_where_no_part_is_rare() {
    let nobody = BTreeSet::from([Favour::Nobody]);
    for (readers, writers) in [(0, 4), (1, 1), (1, 2), (2, 2), (3, 4)] {
        assert_eq!(favours(&of_one_access(readers, writers)), nobody);
    }
    // Each task has its own part.
    let own = |object| vec![X, AbstractOp::To(object, &WRITE), AbstractOp::To(object + 1, &WRITE)];
    assert_eq!(favours(&(1..6).map(own).collect()), nobody);
    // Nor can a parent come before the tasks that it spawns.
    let parent = vec![
        AbstractOp::Spawn(1),
        AbstractOp::Spawn(2),
        AbstractOp::Spawn(3),
        AbstractOp::To(0, &READ),
    ];
    assert_eq!(favours(&vec![parent, vec![X], vec![X], vec![X]]), nobody);
}

/// Tasks that take one lock and then the next lock, in a circle.
fn circle(tasks: u32) -> Program {
    let task = |n| {
        let next = (n + 1) % tasks;
        vec![
            AbstractOp::Lock(n),
            AbstractOp::Lock(next),
            AbstractOp::Unlock(next),
            AbstractOp::Unlock(n),
        ]
    };
    (0..tasks).map(task).collect()
}

/// Returns `true` if each task has its first lock, and no task can continue.
fn is_stuck(order: &Order) -> bool {
    order.iter().all(|(_, act)| *act == 0)
}

#[test]
fn a_run_that_looks_for_circles_meets_every_circle() {
    for tasks in 2..=4 {
        let looks = |dice| begun(dice, |orders| orders.circles = true);
        let found = orders_of(&circle(tasks), looks);
        assert_eq!(probability(&found, is_stuck), Exact::new(1, 1));
    }
}

#[test]
fn circles_are_looked_for_by_one_run_of_five_if_there_are_chains() {
    let looks = |program: &Program| {
        let mut orders = finish_rehearsals(program);
        let mut looks = |seed| {
            orders.begin(Seed(seed));
            orders.circles
        };
        (0..1000).filter(|seed| looks(*seed)).count()
    };
    assert!((150..250).contains(&looks(&circle(3))));
    let apart = |n| vec![AbstractOp::Lock(n), AbstractOp::Lock(n + 10)];
    assert_eq!(looks(&vec![vec![AbstractOp::Lock(0)], vec![AbstractOp::Lock(1)]]), 0);
    assert!(looks(&(0..3).map(apart).collect()) > 0);
}

#[test]
fn every_interleaving_of_a_circle_is_possible() {
    let found = orders_of(&circle(2), always);
    assert_eq!(found.into_keys().collect::<Vec<_>>(), all_orders(&circle(2)));
}
