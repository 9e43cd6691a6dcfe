//! The probabilities of POS, computed for small programs.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::run::op::Access;
use crate::strategy::enumerate::{
    AbstractOp, All, Exact, Order, Program, READ, WRITE, WithBegin, all_orders, orders, probability,
};

const R: AbstractOp = AbstractOp::To(0, &READ);
const W: AbstractOp = AbstractOp::To(0, &WRITE);

fn pos(dice: All) -> Pos<All> {
    Pos {
        dice,
        rehearsal: Rehearsal::default(),
        moments: Moments::default(),
        shared: Vec::new(),
        touched: Vec::new(),
        plain: false,
        steps_max: 0,
        private_steps: 0,
        queue: TaskQueue::default(),
        stands: PendingByObject::default(),
        again: Vec::new(),
        started: Vec::new(),
        last: None,
    }
}

/// Returns POS with no plain seeds, or with only plain seeds.
fn always(dice: All, plain: bool) -> impl Strategy {
    WithBegin(pos(dice), move |pos: &mut Pos<All>, seed| {
        pos.rehearsal.begin();
        pos.dice.reseed(seed);
        pos.restart();
        pos.plain = plain;
    })
}

fn eager(program: &Program) -> BTreeMap<Order, Exact> {
    orders(program, |dice| always(dice, false))
}

/// The reads and writes of object 0, in order.
fn accesses(program: &Program, order: &Order) -> Vec<(usize, usize)> {
    let touches =
        |(task, act): &&(usize, usize)| matches!(program[*task][*act], AbstractOp::To(0, _));
    order.iter().filter(touches).copied().collect()
}

fn is_lost(program: &Program, order: &Order) -> bool {
    let accesses = accesses(program, order);
    accesses[0].0 != accesses[1].0
}

#[test]
fn a_lost_update_is_met_by_one_run_of_three() {
    let program = vec![vec![R, W], vec![R, W]];
    let p = probability(&eager(&program), |order| is_lost(&program, order));
    assert_eq!(p, Exact::new(1, 3));
}

#[test]
fn private_operations_change_nothing() {
    let private = |n| vec![AbstractOp::To(n, &WRITE); 20];
    let task = |n| [private(n), vec![AbstractOp::Yield, R, W], private(n)].concat();
    let program = vec![task(1), task(2)];
    let p = probability(&eager(&program), |order| is_lost(&program, order));
    assert_eq!(p, Exact::new(1, 3));
}

#[test]
fn what_conflicts_gets_a_new_priority() {
    // If an operation kept its priority, it would lose to all later writes after it has lost once.
    let program = vec![vec![W, W, W], vec![W]];
    let last = |order: &Order| order[3].0 == 1;
    let p = probability(&eager(&program), last);
    assert_eq!(p, Exact::new(1, 8));
}

#[test]
fn what_does_not_conflict_keeps_its_priority() {
    // The reads access another object. This object is shared, so the reads are not private.
    let other = AbstractOp::To(1, &READ);
    let program = vec![vec![other, other], vec![W], vec![AbstractOp::To(1, &WRITE), W]];
    let found = eager(&program);
    // Each of the four priorities is equally often the highest, and this includes the priority of the write.
    let first = |order: &Order| order[0] == (1, 0);
    assert_eq!(probability(&found, first), Exact::new(1, 3));
}

#[test]
fn every_partial_order_is_possible() {
    let y = AbstractOp::To(1, &WRITE);
    let section = || vec![AbstractOp::Lock(2), W, AbstractOp::Unlock(2)];
    for program in [
        vec![vec![R, W], vec![R, W]],
        vec![vec![W, y], vec![y, W]],
        vec![vec![W], vec![R], vec![R]],
        vec![section(), section()],
        vec![vec![AbstractOp::Spawn(1), W], vec![W], vec![R]],
    ] {
        let class = |order: &Order| class(&program, order);
        let all: BTreeSet<_> = all_orders(&program).iter().map(class).collect();
        let met: BTreeSet<_> = eager(&program).keys().map(class).collect();
        assert_eq!(met, all, "{program:?}");
    }
}

/// The order of each two acts that conflict.
fn class(program: &Program, order: &Order) -> BTreeSet<((usize, usize), (usize, usize))> {
    let touched = |(task, act): (usize, usize)| match program[task][act] {
        AbstractOp::To(object, op) => Some((object, op.access)),
        AbstractOp::Lock(object) | AbstractOp::Unlock(object) => Some((object, Access::Lock)),
        _ => None,
    };
    let mut pairs = BTreeSet::new();
    for (i, a) in order.iter().enumerate() {
        for b in &order[i + 1..] {
            let (Some((x, does)), Some((y, other))) = (touched(*a), touched(*b)) else { continue };
            if x == y && does.conflicts(other) {
                pairs.insert((*a, *b));
            }
        }
    }
    pairs
}

#[test]
fn a_seed_that_has_no_private_operations_can_have_every_interleaving() {
    let private = AbstractOp::To(1, &WRITE);
    let program = vec![vec![private, W], vec![W]];
    let plain = orders(&program, |dice| always(dice, true));
    assert_eq!(plain.into_keys().collect::<Vec<_>>(), all_orders(&program));
    let drawn = orders(&program, pos);
    assert_eq!(drawn.into_keys().collect::<Vec<_>>(), all_orders(&program));
}
