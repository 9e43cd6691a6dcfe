//! Deadlocks of plain threads on the screen.

use crate::report::sample::{COMPARE_EXCHANGE, JOIN, LOAD, SPAWN, Sample, here};
use crate::report::text;
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::{Access, Op};
use crate::run::threads::HoldRecord;
use crate::run::{CallRecord, Failure, Wait};
use unpause_check::picture::Style;

const ADD: Op = Op::new("fetch_add", Access::ReadModifyWrite);
const SUB: Op = Op::new("fetch_sub", Access::ReadModifyWrite);
const ENQUEUE: Op = Op::new("wait", Access::Enqueue);
const RESUME: Op = Op::new("resume", Access::Resume);

/// A run that ends in a deadlock.
struct Deadlock {
    sample: Sample,
    waits: Vec<Wait>,
}

impl Deadlock {
    fn of(children: &[&str], objects: &[&'static str]) -> Deadlock {
        let mut sample = Sample::of(children);
        for kind in objects {
            sample.object(kind, ValueKind::Unsigned);
        }
        Deadlock { sample, waits: Vec::new() }
    }

    /// Adds a step of a task. Returns the index of the step's event.
    fn does(&mut self, task: u32, op: &'static Op, object: Option<u32>, values: Values) -> usize {
        self.sample.step(task).did(op, object.map(ObjectId::new), values);
        self.sample.run.events.len() - 1
    }

    /// Adds a call with these events. If `is_last`, the task waits in this call.
    fn call(&mut self, task: u32, function: &str, line: u32, events: &[usize], is_last: bool) {
        self.sample.run.calls.push(CallRecord {
            task: TaskId(task),
            function: function.to_owned(),
            place: format!("tests/map.rs:{line}:9"),
            events: events.to_vec(),
            through: vec![String::new(); events.len() + 1],
            is_last,
        });
    }

    /// A lock that has been held since this event.
    fn holds(&mut self, lock: u32, event: usize, shared: bool) {
        let lock = ObjectId::new(lock);
        self.sample.run.threads.holds.push(HoldRecord { lock, event, shared });
    }

    fn waits(&mut self, task: u32, op: &'static Op, object: Option<u32>, target: Option<u32>) {
        self.waits.push(Wait {
            task: TaskId(task),
            op: Some(op),
            object: object.map(ObjectId::new),
            target: target.map(TaskId),
            place: here(),
            holder: None,
            unpolled: false,
        });
    }

    /// Returns the part of the screen that explains the deadlock, with single blanks.
    fn explained(self) -> String {
        let failure = Failure::Deadlock { waits: self.waits };
        let screen = text(&self.sample.report("map::it_ends", failure), &Style::default());
        let from = screen.find("── deadlock").expect("a deadlock");
        let to = screen[from..].find("── schedule").expect("a schedule");
        screen[from..from + to].split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn threads_that_wait_in_a_library_have_the_lines_of_their_calls() {
    let mut run = Deadlock::of(&["", ""], &["AtomicU64", "AtomicU64", "AtomicU32", "AtomicU32"]);
    for _ in 0..2 {
        run.does(0, &SPAWN, None, Values::None);
    }
    // Each task holds one shard, and waits for the shard of the other task.
    for (task, own, line) in [(1, 0, 20), (2, 1, 21)] {
        let takes = run.does(task, &COMPARE_EXCHANGE, Some(own), Values::Changed(0, 4));
        run.call(task, "get", line, &[takes], false);
    }
    for (task, other, parker) in [(1, 1, 2), (2, 0, 3)] {
        let looks = run.does(task, &LOAD, Some(other), Values::Read(4));
        let marks = run.does(task, &COMPARE_EXCHANGE, Some(other), Values::Changed(4, 6));
        let waits = run.does(task, &ENQUEUE, Some(parker), Values::Changed(0, 1));
        run.call(task, "insert", 30 + task, &[looks, marks, waits], true);
        run.waits(task, &RESUME, Some(parker), None);
    }
    run.waits(0, &JOIN, None, Some(1));
    for n in [1, 2] {
        run.sample.run.calls.iter_mut().filter(|call| call.is_last && call.task.0 == n).for_each(
            |call| *call.through.last_mut().unwrap() = format!("dashmap-6.1.0/src/lib.rs:{n}:1"),
        );
    }
    let text = run.explained();
    let mut from = 0;
    for part in [
        "0.0 waits to resume AtomicU32#0",
        "called from dashmap-6.1.0/src/lib.rs:1:1",
        "called from tests/map.rs:31:9",
        "after `compare_exchange AtomicU64#1 0 → 4` by 0.1 in step 3",
        "called from tests/map.rs:21:9",
        "0.1 waits to resume AtomicU32#1",
        "called from dashmap-6.1.0/src/lib.rs:2:1",
        "called from tests/map.rs:32:9",
        "after `compare_exchange AtomicU64#0 0 → 4` by 0.0 in step 2",
        "called from tests/map.rs:20:9",
    ] {
        let at = text[from..].find(part).unwrap_or_else(|| panic!("no {part}: {text}"));
        from += at + part.len();
    }
}

#[test]
fn a_mutex_that_is_stepped_in_detail_has_a_holder() {
    let mut run = Deadlock::of(&[""], &["Mutex"]);
    run.does(0, &SPAWN, None, Values::None);
    run.does(1, &COMPARE_EXCHANGE, Some(0), Values::Changed(0, 1));
    run.does(1, &COMPARE_EXCHANGE, Some(0), Values::Changed(1, 0));
    let takes = run.does(0, &COMPARE_EXCHANGE, Some(0), Values::Changed(0, 1));
    run.holds(0, takes, false);
    run.does(1, &COMPARE_EXCHANGE, Some(0), Values::Changed(1, 2));
    run.does(1, &ENQUEUE, Some(0), Values::Changed(0, 1));
    run.waits(1, &RESUME, Some(0), None);
    run.waits(0, &JOIN, None, Some(1));
    let text = run.explained();
    assert!(text.contains("held by main since step 3"), "{text}");
}

#[test]
fn a_mutex_that_nobody_holds_has_no_holder() {
    let mut run = Deadlock::of(&[""], &["Mutex"]);
    run.does(0, &SPAWN, None, Values::None);
    run.does(0, &COMPARE_EXCHANGE, Some(0), Values::Changed(0, 1));
    run.does(0, &COMPARE_EXCHANGE, Some(0), Values::Changed(1, 0));
    run.waits(1, &RESUME, Some(0), None);
    let text = run.explained();
    assert!(!text.contains("held by"), "{text}");
}

#[test]
fn the_end_of_a_scope_waits_for_its_threads() {
    let mut run = Deadlock::of(&["", "", ""], &["thread", "thread"]);
    for n in 0..2 {
        run.does(0, &ADD, Some(0), Values::Changed(n, n + 1));
        run.does(0, &SPAWN, None, Values::None);
    }
    // A further thread is spawned outside the scope.
    run.does(0, &SPAWN, None, Values::None);
    run.does(1, &SUB, Some(0), Values::Changed(2, 1));
    let looks = run.does(0, &LOAD, Some(0), Values::Read(1));
    let waits = run.does(0, &ENQUEUE, Some(1), Values::Changed(0, 1));
    run.call(0, super::SCOPE, 7, &[looks, waits], true);
    run.waits(0, &RESUME, Some(1), None);
    let text = run.explained();
    assert!(text.contains("main waits for the threads of a scope: 0.1 "), "{text}");
    assert!(!text.contains("thread#"), "{text}");
}

/// If a thread waits in a queue of parking_lot, it waits for the lock that its call has read.
#[test]
fn readers_of_a_lock_that_is_stepped_in_detail_are_holders() {
    let mut run = Deadlock::of(&["", ""], &["RwLock", "AtomicU32"]);
    (0..2).for_each(|_| _ = run.does(0, &SPAWN, None, Values::None));
    let main = run.does(0, &ADD, Some(0), Values::Changed(0, 16));
    let other = run.does(1, &ADD, Some(0), Values::Changed(16, 32));
    [main, other].into_iter().for_each(|event| run.holds(0, event, true));
    let marks = run.does(2, &COMPARE_EXCHANGE, Some(0), Values::Changed(32, 40));
    let waits = run.does(2, &ENQUEUE, Some(1), Values::Changed(0, 1));
    run.call(2, "write", 8, &[marks, waits], true);
    run.waits(2, &RESUME, Some(1), None);
    // The waiting reader is also one of the readers.
    run.waits(1, &JOIN, None, Some(2));
    let text = run.explained();
    assert!(text.contains("held by 0.0 since step 3"), "{text}");
    assert!(text.contains("── deadlock ── 0.1 → 0.0 → 0.1"), "{text}");
}

/// A call that has given the lock up waits for a notification.
#[test]
fn the_lock_that_a_waiting_call_has_given_up_is_not_what_it_waits_for() {
    let mut run = Deadlock::of(&["", ""], &["Mutex", "AtomicU32"]);
    (0..2).for_each(|_| _ = run.does(0, &SPAWN, None, Values::None));
    let unlocks = run.does(1, &COMPARE_EXCHANGE, Some(0), Values::Changed(1, 0));
    let waits = run.does(1, &ENQUEUE, Some(1), Values::Changed(0, 1));
    let takes = run.does(2, &COMPARE_EXCHANGE, Some(0), Values::Changed(0, 1));
    run.holds(0, takes, false);
    run.call(1, "wait", 8, &[unlocks, waits], true);
    run.waits(1, &RESUME, Some(1), None);
    let text = run.explained();
    assert!(!text.contains("held by"), "{text}");
}
