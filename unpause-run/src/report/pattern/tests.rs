//! A planted run for each pattern, and twins that have no name.

use super::*;
use crate::report::sample::{
    COMPARE_EXCHANGE, JOIN, LOAD, LOCK, SPAWN, STORE, Sample, deadlock, here, lost_update,
};
use crate::report::{Region, Why, text};
use crate::run::Holder;
use crate::run::op::Op;
use unpause_check::picture::Style;

const ADD: Op = Op::new("fetch_add", Access::ReadModifyWrite);
const WAIT: Op = Op::of_kind("wait", Access::Tell, condvar::REGISTER);
const WAKE: Op = Op::of_kind("wake_up", Access::Wait, condvar::HEAR);
const NOTIFY: Op = Op::of_kind("notify_one", Access::Tell, condvar::NOTIFY_ONE);
const HEAR: Op = Op::of_kind("hear", Access::Wait, tellings::HEAR);
const TELL_ALL: Op = Op::of_kind("notify_waiters", Access::Tell, tellings::TELL_ALL);
const TELL_ONE: Op = Op::of_kind("notify_one", Access::Tell, tellings::TELL_ONE);

/// The objects of a planted run: two numbers, a flag and a condition.
const X: u32 = 0;
const Y: u32 = 1;
const FLAG: u32 = 2;
const BELL: u32 = 3;

/// A failing run of two tasks.
struct Planted {
    sample: Sample,
}

impl Planted {
    fn new() -> Planted {
        let mut sample = Sample::of(&["", ""]);
        for values in [ValueKind::Unsigned, ValueKind::Unsigned, ValueKind::Bool, ValueKind::Opaque]
        {
            sample.object("object", values);
        }
        sample.step(0);
        (0..2).for_each(|_| sample.did(&SPAWN, None, Values::None));
        Planted { sample }
    }

    /// Adds a step with one event, whose place is the place of the caller. Returns the index of the event.
    #[track_caller]
    fn does(&mut self, task: u32, op: &'static Op, object: u32, values: Values) -> usize {
        self.sample.step(task).did(op, Some(ObjectId::new(object)), values);
        self.sample.run.events.len() - 1
    }

    fn site(&self, event: usize) -> Site {
        let event = &self.sample.run.events[event];
        Site { op: event.op.name, place: event.place }
    }

    /// Returns the pattern if the region between two events was interrupted, in a run with this failure.
    fn fails(
        self,
        (from, to): (usize, usize),
        decisive: &[usize],
        failure: Failure,
    ) -> Option<Pattern> {
        let region = Region { from: self.site(from), to: self.site(to) };
        self.fails_in(region, (from, Some(to)), decisive, failure)
    }

    fn fails_in(
        mut self,
        region: Region,
        (from, to): (usize, Option<usize>),
        decisive: &[usize],
        failure: Failure,
    ) -> Option<Pattern> {
        let run = &mut self.sample.run;
        let task = run.events[from].task;
        let end = to.unwrap_or(run.events.len());
        let between = (from + 1..end).filter(|at| run.events[*at].task != task).collect();
        run.outcome = Outcome::Failed(failure);
        let (is_reached, decisive) = (to.is_some(), decisive.to_vec());
        Pattern::of(run, &Interruption { task, region, is_reached, between, decisive })
    }

    /// Asserts the pattern of a failed assertion. All events of the other task are decisive events.
    fn panics(self, from: usize, to: usize) -> Option<Pattern> {
        let events = &self.sample.run.events;
        let task = events[from].task;
        let others: Vec<usize> = (from + 1..to).filter(|at| events[*at].task != task).collect();
        self.fails((from, to), &others, panic())
    }
}

fn panic() -> Failure {
    let (message, place) = ("it is wrong".to_owned(), here().to_string());
    Failure::Panic { task: TaskId::MAIN, message, place }
}

fn wait(task: u32, op: &'static Op, object: u32, holder: Option<u32>) -> Wait {
    let place = here();
    let holder = holder.map(|task| Holder { task: TaskId(task), step: 0, place });
    let object = Some(ObjectId::new(object));
    Wait { task: TaskId(task), op: Some(op), object, target: None, place, holder, unpolled: false }
}

#[test]
fn a_lost_update_has_its_name() {
    let mut run = Planted::new();
    let from = run.does(1, &LOAD, X, Values::Read(0));
    run.does(2, &STORE, X, Values::Wrote(1));
    let to = run.does(1, &STORE, X, Values::Wrote(1));
    assert_eq!(run.panics(from, to), Some(Pattern::LostUpdate));
}

#[test]
fn the_name_is_before_the_cause() {
    let mut report = lost_update();
    let finding = report.finding.as_mut().unwrap();
    let run = &finding.run;
    let is_of = |at: &usize, task: u32| run.events[*at].task == TaskId(task);
    let own: Vec<usize> = (0..run.events.len()).filter(|at| is_of(at, 1)).collect();
    let between: Vec<usize> = (own[0]..own[1]).filter(|at| is_of(at, 2)).collect();
    let site = |at: usize| Site { op: run.events[at].op.name, place: run.events[at].place };
    let region = Region { from: site(own[0]), to: site(own[1]) };
    let decisive = vec![between[1]];
    let cause = Interruption { task: TaskId(1), region, is_reached: true, between, decisive };
    finding.why = Some(Why { cause: Some(cause), ..Why::default() });
    let screen = text(&report, &Style { width: 200, ..Style::default() });
    let expected = "  why         lost update: between `load` (sample.rs:";
    assert!(screen.contains(expected), "{screen}");
    assert!(screen.contains("of 0.0 came `store atomic := 1` (:"), "{screen}");
}

#[test]
fn an_update_that_is_not_lost_has_no_name() {
    // The other task leaves the same value.
    let mut run = Planted::new();
    let from = run.does(1, &LOAD, X, Values::Read(0));
    run.does(2, &STORE, X, Values::Wrote(0));
    let to = run.does(1, &STORE, X, Values::Wrote(1));
    assert_eq!(run.panics(from, to), None);

    // A flag contains nothing to lose.
    let mut run = Planted::new();
    let from = run.does(1, &LOAD, FLAG, Values::Read(0));
    run.does(2, &STORE, FLAG, Values::Wrote(1));
    let to = run.does(1, &STORE, FLAG, Values::Wrote(1));
    assert_eq!(run.panics(from, to), None);

    // The task does not overwrite the change.
    let mut run = Planted::new();
    let from = run.does(1, &LOAD, X, Values::Read(0));
    run.does(2, &STORE, X, Values::Wrote(1));
    let to = run.does(1, &ADD, X, Values::Changed(1, 2));
    assert_eq!(run.panics(from, to), None);

    // The task reads the change.
    let mut run = Planted::new();
    let from = run.does(1, &LOAD, X, Values::Read(0));
    run.does(2, &STORE, X, Values::Wrote(1));
    run.does(1, &LOAD, X, Values::Read(1));
    let to = run.does(1, &STORE, X, Values::Wrote(2));
    assert_eq!(run.panics(from, to), None);

    // The run ended before the store.
    let mut run = Planted::new();
    let from = run.does(1, &LOAD, X, Values::Read(0));
    let other = run.does(2, &STORE, X, Values::Wrote(1));
    let region = Region { from: run.site(from), to: run.site(other) };
    assert_eq!(run.fails_in(region, (from, None), &[other], panic()), None);
}

#[test]
fn an_exchange_of_a_value_that_has_returned_is_aba() {
    let mut run = Planted::new();
    let from = run.does(1, &LOAD, X, Values::Read(5));
    run.does(2, &COMPARE_EXCHANGE, X, Values::Changed(5, 7));
    run.does(2, &STORE, X, Values::Wrote(5));
    let to = run.does(1, &COMPARE_EXCHANGE, X, Values::Changed(5, 6));
    assert_eq!(run.panics(from, to), Some(Pattern::Aba));
}

/// The load of the exchanged value may be before the region of the cause.
#[test]
fn the_value_may_be_read_before_the_region() {
    let mut run = Planted::new();
    run.does(1, &LOAD, X, Values::Read(5));
    let from = run.does(1, &LOAD, Y, Values::Read(0));
    run.does(2, &STORE, X, Values::Wrote(7));
    run.does(2, &STORE, Y, Values::Wrote(1));
    run.does(2, &STORE, X, Values::Wrote(5));
    let to = run.does(1, &COMPARE_EXCHANGE, X, Values::Changed(5, 6));
    assert_eq!(run.panics(from, to), Some(Pattern::Aba));
}

#[test]
fn an_exchange_that_fails_or_of_a_value_that_never_left_is_not_aba() {
    for (others, last) in [
        (&[7, 8][..], Values::Refused(8, 5)),
        (&[5][..], Values::Changed(5, 6)),
        (&[5, 5][..], Values::Changed(5, 6)),
    ] {
        let mut run = Planted::new();
        let from = run.does(1, &LOAD, X, Values::Read(5));
        for left in others {
            run.does(2, &STORE, X, Values::Wrote(*left));
        }
        let to = run.does(1, &COMPARE_EXCHANGE, X, last);
        assert_eq!(run.panics(from, to), None, "{others:?}");
    }
    // Another task used the flag as a lock in between.
    let mut run = Planted::new();
    let from = run.does(1, &LOAD, FLAG, Values::Read(0));
    run.does(2, &COMPARE_EXCHANGE, FLAG, Values::Changed(0, 1));
    run.does(2, &STORE, FLAG, Values::Wrote(0));
    let to = run.does(1, &COMPARE_EXCHANGE, FLAG, Values::Changed(0, 1));
    assert_eq!(run.panics(from, to), None);
    // An addition expects no value.
    let mut run = Planted::new();
    let from = run.does(1, &LOAD, X, Values::Read(5));
    run.does(2, &STORE, X, Values::Wrote(7));
    run.does(2, &STORE, X, Values::Wrote(5));
    let to = run.does(1, &ADD, X, Values::Changed(5, 6));
    assert_eq!(run.panics(from, to), None);
}

/// Two reads, and two stores by these tasks in between.
fn two_reads(writers: [u32; 2], left: u64) -> Option<Pattern> {
    let mut run = Planted::new();
    let from = run.does(1, &LOAD, X, Values::Read(0));
    run.does(writers[0], &STORE, X, Values::Wrote(left));
    run.does(writers[1], &STORE, Y, Values::Wrote(1));
    let to = run.does(1, &LOAD, Y, Values::Read(1));
    run.panics(from, to)
}

#[test]
fn reads_before_and_after_one_update_are_torn() {
    assert_eq!(two_reads([2, 2], 1), Some(Pattern::TornRead));
    // Two tasks make two updates, and an update without a change is none.
    assert_eq!(two_reads([2, 0], 1), None);
    assert_eq!(two_reads([2, 2], 0), None);
}

/// Returns the pattern if a task reads a flag, another task stores to it, and the first task then operates on another
/// object.
fn checked(left: u64, op: &'static Op, values: Values) -> Option<Pattern> {
    let mut run = Planted::new();
    let from = run.does(1, &LOAD, FLAG, Values::Read(0));
    run.does(2, &STORE, FLAG, Values::Wrote(left));
    let to = run.does(1, op, X, values);
    run.panics(from, to)
}

#[test]
fn an_act_after_a_check_that_no_longer_holds_has_its_name() {
    assert_eq!(checked(1, &ADD, Values::Changed(0, 1)), Some(Pattern::CheckThenAct));
    assert_eq!(checked(1, &STORE, Values::Wrote(1)), Some(Pattern::CheckThenAct));
    // The check still holds, or nothing is done.
    assert_eq!(checked(0, &STORE, Values::Wrote(1)), None);
    assert_eq!(checked(1, &LOAD, Values::Read(0)), None);
}

/// A task that checks a flag and then waits; another task sets the flag and notifies in between. Before that, the tasks
/// `waiting` begin to wait.
fn notified(
    waiting: &[u32],
    op: &'static Op,
    failure: fn(Vec<Wait>) -> Failure,
) -> Option<Pattern> {
    let mut run = Planted::new();
    for task in waiting {
        run.does(*task, &WAIT, BELL, Values::None);
    }
    let from = run.does(1, &LOAD, FLAG, Values::Read(0));
    let sets = run.does(2, &STORE, FLAG, Values::Wrote(1));
    let notifies = run.does(2, op, BELL, Values::None);
    let to = run.does(1, &WAIT, BELL, Values::None);
    run.fails((from, to), &[sets, notifies], failure(vec![wait(1, &WAKE, BELL, None)]))
}

#[test]
fn a_notification_before_the_wait_is_a_lost_wake_up() {
    let deadlock = |waits| Failure::Deadlock { waits };
    assert_eq!(notified(&[], &NOTIFY, deadlock), Some(Pattern::LostWakeUp));
    // Another task receives the notification.
    assert_eq!(notified(&[0], &NOTIFY, deadlock), None);
    // A notification with `TELL_ONE` is stored, so it is not lost.
    assert_eq!(notified(&[], &TELL_ONE, deadlock), None);
    // At the end, no task waits.
    assert_eq!(notified(&[], &NOTIFY, |_| panic()), None);
    let other = |_| Failure::Deadlock { waits: vec![wait(2, &WAKE, BELL, None)] };
    assert_eq!(notified(&[], &NOTIFY, other), None);
}

#[test]
fn a_wait_that_is_pending_may_be_a_lost_wake_up() {
    let named = |op: &'static Op| {
        let mut run = Planted::new();
        let from = run.does(1, &LOCK, FLAG, Values::None);
        let locks = run.does(2, &LOCK, FLAG, Values::None);
        let notifies = run.does(2, op, BELL, Values::None);
        let wait = wait(1, &HEAR, BELL, None);
        let to = Site { op: HEAR.name, place: wait.place };
        let region = Region { from: run.site(from), to };
        let failure = Failure::Deadlock { waits: vec![wait] };
        run.fails_in(region, (from, None), &[locks, notifies], failure)
    };
    assert_eq!(named(&TELL_ALL), Some(Pattern::LostWakeUp));
    assert_eq!(named(&TELL_ONE), None);
}

/// Returns the pattern and the screen of a deadlock.
fn stuck(waits: Vec<Wait>) -> (Option<Pattern>, String) {
    let sample = Planted::new().sample;
    let report = sample.report("locks::it_ends", Failure::Deadlock { waits });
    let screen = text(&report, &Style { width: 200, ..Style::default() });
    (Pattern::of_finding(report.finding.as_ref().unwrap()), screen)
}

#[test]
fn locks_in_contradictory_orders_have_their_name_without_other_runs() {
    let report = deadlock();
    let finding = report.finding.as_ref().unwrap();
    assert_eq!(Pattern::of_finding(finding), Some(Pattern::LockOrder));
    let screen = text(&report, &Style { width: 200, ..Style::default() });
    let why = screen.lines().find(|line| line.starts_with("  why")).expect("the order");
    assert!(why.contains("lock order: 0.0 there takes mutex#0 (sample.rs:"), "{why}");
    assert!(
        why.contains(", then mutex#1 (:") && why.contains("; 0.1 back takes mutex#1 (:"),
        "{why}"
    );
    let circle = (0..5).map(|task| wait(task, &LOCK, task, Some((task + 1) % 5))).collect();
    let (pattern, screen) = stuck(circle);
    assert_eq!(pattern, Some(Pattern::LockOrder));
    assert!(screen.contains("; and 2 more tasks"), "{screen}");
}

#[test]
fn a_circle_that_needs_no_order_of_locks_has_no_name() {
    // Both tasks share a lock and want it exclusively.
    let shared = vec![wait(1, &LOCK, X, Some(2)), wait(2, &LOCK, X, Some(1))];
    // A task joins the task that waits for its lock.
    let joins =
        Wait { op: Some(&JOIN), object: None, target: Some(TaskId(1)), ..wait(0, &LOCK, X, None) };
    let joined = vec![joins, wait(1, &LOCK, X, Some(0))];
    // A task waits for its own lock.
    let own = vec![wait(1, &LOCK, X, Some(1))];
    for waits in [shared, joined, own] {
        let (pattern, screen) = stuck(waits);
        assert_eq!(pattern, None, "{screen}");
        assert!(!screen.contains("  why "), "{screen}");
    }
}

#[test]
fn names_are_unique() {
    let names: unpause_ordered::Set<&str> = Pattern::NAMES.iter().copied().collect();
    assert_eq!(names.len(), 6);
}
