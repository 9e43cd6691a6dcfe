//! Generated programs of plain threads, checked against a model.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crossbeam_queue::ArrayQueue;
use sim::check::Model;
use sim::{Gen, Program, Runner, Shape};

/// A counter.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Counter(u64);

#[derive(Clone, PartialEq, Debug)]
enum Op {
    Increment,
    Get,
}

impl Model for Counter {
    type Op = Op;
    type Ret = Option<u64>;

    fn step(&mut self, op: &Op) -> Option<u64> {
        match op {
            Op::Increment => {
                self.0 += 1;
                None
            }
            Op::Get => Some(self.0),
        }
    }
}

impl Program for Counter {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        g.choose(&[Op::Increment, Op::Get])
    }
}

/// Increments by a load and a store.
fn in_two(word: &AtomicU64, op: Op) -> Option<u64> {
    match op {
        Op::Increment => {
            word.store(word.load(SeqCst) + 1, SeqCst);
            None
        }
        Op::Get => Some(word.load(SeqCst)),
    }
}

/// Increments by one operation.
fn in_one(word: &AtomicU64, op: Op) -> Option<u64> {
    match op {
        Op::Increment => {
            word.fetch_add(1, SeqCst);
            None
        }
        Op::Get => Some(word.load(SeqCst)),
    }
}

fn check(shape: Shape, run: fn(&AtomicU64, Op) -> Option<u64>) {
    let word = AtomicU64::new(0);
    sim::parallel::blocking(shape, Counter::default(), |op| run(&word, op)).run();
}

#[sim::test(native, seeds = 1000, must_fail)]
fn a_counter_in_two_parts_is_not_linearizable() {
    check(Shape::chunks(), in_two);
}

#[sim::test(native, seeds = 1000)]
fn a_counter_in_one_part_is_linearizable() {
    check(Shape::chunks(), in_one);
}

#[sim::test(native, seeds = 1000, must_fail)]
fn a_branch_that_does_not_wait_loses_an_update() {
    check(Shape::branches().timeout(0.5).stutter(0.0), in_two);
}

#[sim::test(native, seeds = 1000)]
fn a_branch_that_does_not_wait_loses_none() {
    check(Shape::branches().timeout(0.5), in_one);
}

fn small() -> Shape {
    Shape::chunks().max_prefix_length(0).max_suffix_length(1).max_chunks(1).max_chunk_size(2)
}

#[sim::test(native, strategy = "exhaustive", must_fail)]
fn all_small_programs_of_a_counter_in_two_parts() {
    check(small(), in_two);
}

#[sim::test(native, strategy = "exhaustive")]
fn all_small_programs_of_a_counter_in_one_part() {
    check(small(), in_one);
}

#[sim::test(native, seeds = 1000, must_fail)]
fn a_postcondition_that_does_not_hold_fails() {
    let word = AtomicU64::new(0);
    sim::parallel::blocking(Shape::chunks(), Counter::default(), |op| in_one(&word, op))
        .postcondition(|op, ret| assert!(*op == Op::Increment || ret.unwrap() < 3, "three"))
        .run();
}

#[sim::test(native, seeds = 100)]
fn further_checks_hold() {
    let (word, checked) = (AtomicU64::new(0), Mutex::new(0));
    sim::parallel::blocking(Shape::chunks(), Counter::default(), |op| in_one(&word, op))
        .invariant(|| *checked.lock().unwrap() += 1)
        .validate(|| assert!(*checked.lock().unwrap() > 0))
        .run();
}

#[sim::test(native, seeds = 200)]
fn a_drawn_beginning_is_the_state_of_the_model() {
    let start = sim::parallel::initial::<Counter, _>(|g| g.below(5));
    let word = AtomicU64::new(start);
    sim::parallel::blocking(Shape::chunks(), Counter(start), |op| in_one(&word, op)).run();
}

#[test]
fn a_condition_that_never_holds_fails() {
    let body = || sim::sometimes!(sim::rand::below(10) == 10, "ten");
    let report = Runner::new().hermetic().seeds(0..50).run_native(body);
    assert!(!report.passed());
}

#[sim::test(native, seeds = 200)]
fn a_condition_that_holds_in_some_run_passes() {
    sim::sometimes!(sim::rand::below(10) == 9, "nine");
    sim::cover!(sim::rand::bool(), 25, "half");
}

#[sim::test(native, seeds = 1, must_fail)]
fn a_program_that_is_not_run_fails() {
    let word = AtomicU64::new(0);
    drop(sim::parallel::blocking(Shape::chunks(), Counter::default(), |op| in_one(&word, op)));
}

#[sim::test(native, seeds = 100, must_fail = "misuse")]
fn crashes_are_refused() {
    check(Shape::chunks().crash(0.5), in_one);
}

/// A queue of at most two numbers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Bounded(Vec<u64>);

#[derive(Clone, PartialEq, Debug)]
enum QueueOp {
    Push(u64),
    Pop,
}

impl Model for Bounded {
    type Op = QueueOp;
    /// The number popped, or the number that did not fit.
    type Ret = Option<u64>;

    fn step(&mut self, op: &QueueOp) -> Option<u64> {
        match op {
            QueueOp::Push(value) if self.0.len() == 2 => Some(*value),
            QueueOp::Push(value) => {
                self.0.push(*value);
                None
            }
            QueueOp::Pop if self.0.is_empty() => None,
            QueueOp::Pop => Some(self.0.remove(0)),
        }
    }
}

impl Program for Bounded {
    fn generate(&self, g: &mut Gen<'_, Self>) -> QueueOp {
        if g.bool() { QueueOp::Push(g.id().0.into()) } else { QueueOp::Pop }
    }
}

#[sim::test(native, seeds = 1000)]
fn a_queue_of_crossbeam_is_linearizable() {
    let queue = ArrayQueue::new(2);
    sim::parallel::blocking(Shape::branches(), Bounded::default(), |op| match op {
        QueueOp::Push(value) => queue.push(value).err(),
        QueueOp::Pop => queue.pop(),
    })
    .run();
}
