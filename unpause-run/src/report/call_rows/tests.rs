//! Screens of calls of plain threads.

use std::ops::Range;

use expect_test::expect_file;

use crate::report::sample::{COMPARE_EXCHANGE, LOAD, STORE, Sample, here};
use crate::report::text;
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, TaskId};
use crate::run::{CallRecord, Failure};
use unpause_check::picture::Style;

/// The steps of a hand-written run, and the calls of these steps.
struct Steps {
    sample: Sample,
    calls: Vec<CallRecord>,
}

impl Steps {
    fn call(&mut self, task: u32, function: &str, line: u32) -> usize {
        let place = format!("tests/queue.rs:{line}:9");
        let function = function.to_owned();
        let task = TaskId(task);
        let (events, through) = (vec![], vec![]);
        self.calls.push(CallRecord { task, function, place, events, through, is_last: false });
        self.calls.len() - 1
    }

    /// Steps of a call that has four in all: two looks and two changes.
    fn push(&mut self, call: usize, operations: Range<usize>, preempts: bool) {
        let word = self.sample.run.objects.first().map(|_| ObjectId::new(0));
        let first = operations.start;
        for nth in operations {
            let task = self.calls[call].task.0;
            match preempts && nth == first {
                true => self.sample.preempt(task),
                false => self.sample.step(task),
            };
            self.calls[call].events.push(self.sample.run.events.len());
            let (op, values) = match nth {
                0 | 1 => (&LOAD, Values::Read(nth as u64)),
                2 => (&COMPARE_EXCHANGE, Values::Changed(0, 1)),
                _ => (&STORE, Values::Wrote(7)),
            };
            self.sample.did(op, word, values);
        }
    }
}

fn steps() -> Steps {
    let mut sample = Sample::of(&["", ""]);
    sample.object("AtomicU64", ValueKind::Unsigned);
    Steps { sample, calls: vec![] }
}

fn screen(mut steps: Steps) -> String {
    steps.sample.run.calls = steps.calls;
    let failure = Failure::Panic {
        task: TaskId(1),
        message: "the queue is full".to_owned(),
        place: here().to_string(),
    };
    text(&steps.sample.report("queue::is_never_full", failure), &Style::default())
}

#[test]
fn an_interrupted_call_has_a_row_for_each_part() {
    let mut steps = steps();
    let (a, b) = (steps.call(1, "push", 20), steps.call(2, "push", 20));
    steps.push(a, 0..2, false);
    steps.push(b, 0..4, true);
    steps.push(a, 2..4, false);
    expect_file!["../screens/an_interrupted_call.txt"].assert_eq(&screen(steps));
}

#[test]
fn two_calls_from_one_line_are_two_rows() {
    let mut steps = steps();
    for _ in 0..2 {
        let call = steps.call(1, "push", 20);
        steps.push(call, 0..4, false);
    }
    let words = words(&screen(steps));
    assert_eq!(words.matches("push, 4 operations").count(), 2, "{words}");
    assert!(!words.contains("more operation"), "{words}");
}

#[test]
fn a_call_goes_on_behind_one_that_it_has_called_back() {
    let mut steps = steps();
    let (outer, inner) = (steps.call(1, "get_or_insert", 20), steps.call(1, "push", 30));
    steps.push(outer, 0..1, false);
    steps.push(inner, 0..4, false);
    steps.push(outer, 2..4, false);
    let words = words(&screen(steps));
    assert!(words.contains("0 get_or_insert: load AtomicU64 = 0"), "{words}");
    assert!(words.contains("get_or_insert, 2 more operations: compare_exchange"), "{words}");
}

#[test]
fn the_first_and_the_last_operation_are_in_sight() {
    let mut steps = steps();
    let (a, b) = (steps.call(2, "pop", 9), steps.call(1, "push", 20));
    steps.push(a, 0..1, false);
    steps.push(b, 0..4, false);
    let words = words(&screen(steps));
    assert!(words.contains("push, 4 operations: load AtomicU64 = 0, …"), "{words}");
    assert!(words.contains("store AtomicU64 := 7"), "{words}");
}

#[test]
fn a_call_whose_name_is_not_known_is_its_operations() {
    let mut steps = steps();
    let (a, b) = (steps.call(1, "", 20), steps.call(2, "", 20));
    steps.push(a, 0..1, false);
    steps.push(b, 0..4, false);
    let screen = screen(steps);
    let words = words(&screen);
    assert!(words.contains("0 load AtomicU64 = 0"), "{screen}");
    assert!(words.contains("4 operations: load AtomicU64 = 0, …"), "{screen}");
    assert!(!words.contains(" , ") && !words.contains(" : "), "{screen}");
}

#[test]
fn a_call_through_a_crate_between_has_its_line() {
    let mut steps = steps();
    let call = steps.call(1, "push", 20);
    steps.push(call, 0..4, false);
    steps.calls[call].through = vec![String::new(); 3];
    steps.calls[call].through.push("metrics-util-0.20.4/src/bucket.rs:31:5".to_owned());
    let screen = screen(steps);
    let at = |place: &str| screen.find(place).unwrap_or_else(|| panic!("no {place}: {screen}"));
    assert!(at("unpause-run/…/tests.rs") < at("metrics-util/src/bucket.rs:31:5"), "{screen}");
    assert!(at("metrics-util/src/bucket.rs:31:5") < at("tests/queue.rs:20:9"), "{screen}");
}

fn words(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}
