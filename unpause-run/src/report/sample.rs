//! Hand-written runs for the tests of the renderers. Their places are in this file.

use std::panic::Location;

use super::{Finding, Origin, Report, Shrinking, Size};
use crate::run::event::{Event, ValueKind, Values};
use crate::run::ids::{ObjectId, Place, Seed, TaskId, TaskPath};
use crate::run::op::{Access, Op};
use crate::run::{Failure, Holder, ObjectRecord, Outcome, Run, StepRecord, TaskRecord, Wait};
use unpause_check::history::{HistoryRecord, Operation};
use unpause_check::verdict::{Evidence, Exhausted, Verdict};

pub(super) const LOAD: Op = Op::new("load", Access::Read);
pub(super) const STORE: Op = Op::new("store", Access::Write);
pub(super) const COMPARE_EXCHANGE: Op = Op::new("compare_exchange", Access::ReadModifyWrite);
pub(super) const LOCK: Op = Op::new("lock", Access::Lock);
pub(super) const RECEIVE: Op = Op::new("receive", Access::ReadModifyWrite);
pub(super) const SPAWN: Op = Op::new("spawn", Access::Spawn);
pub(super) const JOIN: Op = Op::new("join", Access::Join);

#[track_caller]
pub(super) fn here() -> Place {
    Location::caller()
}

/// A run that a test builds step by step.
pub(super) struct Sample {
    pub(super) run: Run,
}

impl Sample {
    /// Creates a run of the body of the test and its children, which have these names.
    #[track_caller]
    pub(super) fn of(children: &[&str]) -> Sample {
        let main = TaskRecord {
            path: TaskPath::main(),
            name: None,
            place: here(),
            node: None,
            ..nobody()
        };
        let child = |(n, name): (u32, &&str)| TaskRecord {
            path: TaskPath::main().child(n),
            name: (!name.is_empty()).then(|| (*name).to_owned()),
            place: here(),
            node: None,
            ..nobody()
        };
        let tasks = std::iter::once(main).chain((0..).zip(children).map(child)).collect();
        let run = Run {
            seed: Seed(17),
            strategy: "random".to_owned(),
            outcome: Outcome::Passed,
            tasks,
            objects: vec![],
            steps: vec![],
            draws: vec![],
            events: vec![],
            histories: vec![],
            programs: Vec::new(),
            leaked: vec![],
            stuck: vec![],
            foreign: false,
            time_moves: Vec::new(),
            orders: Vec::new(),
            output: String::new(),
            ..Run::empty(Seed(17), Failure::Error { message: String::new() })
        };
        Sample { run }
    }

    #[track_caller]
    pub(super) fn object(&mut self, kind: &'static str, values: ValueKind) -> ObjectId {
        let ordinal = 0;
        let object = ObjectRecord {
            kind,
            name: None,
            values,
            place: here(),
            creator: None,
            node: None,
            ordinal,
        };
        self.run.objects.push(object);
        ObjectId::new(self.run.objects.len() as u32 - 1)
    }

    /// Adds a step that is not a preemption.
    pub(super) fn step(&mut self, task: u32) -> &mut Sample {
        self.run.steps.push(StepRecord { task: TaskId(task), candidates: 2, preempts: false });
        self
    }

    pub(super) fn preempt(&mut self, task: u32) -> &mut Sample {
        self.run.steps.push(StepRecord { task: TaskId(task), candidates: 2, preempts: true });
        self
    }

    /// Adds an operation of the last step.
    #[track_caller]
    pub(super) fn did(&mut self, op: &'static Op, object: Option<ObjectId>, values: Values) {
        let step = self.run.steps.len() as u32 - 1;
        let task = self.run.steps[step as usize].task;
        let spawns = |e: &&Event| e.op.access == Access::Spawn;
        let values = match op.access {
            Access::Spawn => {
                Values::Task(TaskId(self.run.events.iter().filter(spawns).count() as u32 + 1))
            }
            _ => values,
        };
        self.run.events.push(Event { step, task, object, op, place: here(), values });
    }

    /// Returns a report of this run, with example data in most fields.
    pub(super) fn report(mut self, test: &str, failure: Failure) -> Report {
        self.run.outcome = Outcome::Failed(failure);
        let size = Size::of(&self.run);
        let file = format!("target/sim/demo/{}/17.simtrace", test.replace("::", "__"));
        let finding = Finding {
            from: Origin::Seed(Seed(17)),
            original: Size { steps: 47, switches: 30, preemptions: 21, ..size },
            shrunk: Some(Shrinking { replays: 312, size, complete: true }),
            proof: None,
            strengthening: None,
            with_sc: None,
            why: None,
            called_from: None,
            needs_runtime: None,
            replay: Some(format!("SIM_REPLAY={file} cargo test -p demo {test} -- --exact")),
            trace_file: Some(file),
            trace_error: None,
            source_file: None,
            history_file: None,
            page_file: None,
            record: None,
            ..Finding::of(self.run, Origin::Seed(Seed(17)))
        };
        Report {
            test: test.to_owned(),
            package: "demo".to_owned(),
            runs: 18,
            seeds: Some((0, 999)),
            steps: 812,
            finding: Some(Box::new(finding)),
            replayed: None,
            warnings: vec![],
            ..Report::default()
        }
    }
}

/// Creates an operation of a history: client, operation, time of invocation, and the result with
/// the time of return.
pub(super) fn call(
    client: u32,
    op: &str,
    invoked: u64,
    returned: Option<(&str, u64)>,
) -> Operation<String, String> {
    let returned = returned.map(|(result, time)| (result.to_owned(), time));
    Operation { client, op: op.to_owned(), invoked, returned }
}

/// Two increments that load and then store, so that one increment is lost.
pub(super) fn lost_update() -> Report {
    let mut s = Sample::of(&["", ""]);
    let counter = Some(s.object("atomic", ValueKind::Unsigned));
    s.step(0);
    for _ in 0..2 {
        s.did(&SPAWN, None, Values::None);
    }
    s.step(1);
    s.step(1).did(&LOAD, counter, Values::Read(0));
    s.preempt(2);
    s.step(2).did(&LOAD, counter, Values::Read(0));
    s.step(2).did(&STORE, counter, Values::Wrote(1));
    s.step(1).did(&STORE, counter, Values::Wrote(1));
    s.step(0).did(&JOIN, None, Values::None);
    s.step(0).did(&JOIN, None, Values::None);
    s.step(0).did(&LOAD, counter, Values::Read(1));
    let evidence = Evidence {
        partial: vec![vec![0, 1]],
        misfit: 2,
        expected: vec!["2".to_owned()],
        state: "2".to_owned(),
        ..Evidence::default()
    };
    s.run.histories = vec![HistoryRecord {
        model: "counter".to_owned(),
        clients: vec!["main".to_owned(), "0.0".to_owned(), "0.1".to_owned()],
        operations: vec![
            call(1, "inc", 2, Some(("()", 7))),
            call(2, "inc", 4, Some(("()", 6))),
            call(0, "get", 9, Some(("1", 10))),
        ],
        verdict: Some(Verdict::Violated(Box::new(evidence))),
        ..HistoryRecord::default()
    }];
    let failure = Failure::History {
        history: 0,
        condition: "linearizability".to_owned(),
        verdict: s.run.histories[0].verdict.clone().unwrap(),
        place: here(),
    };
    s.report("lost_update::increments_are_not_lost", failure)
}

/// Two transfers that lock two accounts in opposite order.
pub(super) fn deadlock() -> Report {
    let mut s = Sample::of(&["there", "back"]);
    let a = s.object("mutex", ValueKind::Opaque);
    let b = s.object("mutex", ValueKind::Opaque);
    s.step(0);
    s.did(&SPAWN, None, Values::None);
    s.did(&SPAWN, None, Values::None);
    s.step(1);
    s.step(1).did(&LOCK, Some(a), Values::None);
    let there = here();
    s.preempt(2);
    s.step(2).did(&LOCK, Some(b), Values::None);
    let back = here();
    let wait = |task, object, holder, step, held, place| Wait {
        task: TaskId(task),
        op: Some(&LOCK),
        object: Some(object),
        target: None,
        place,
        holder: Some(Holder { task: TaskId(holder), step, place: held }),
        unpolled: false,
    };
    let join = Wait {
        task: TaskId::MAIN,
        op: Some(&JOIN),
        object: None,
        target: Some(TaskId(1)),
        place: here(),
        holder: None,
        unpolled: false,
    };
    let waits = vec![join, wait(1, b, 2, 4, back, here()), wait(2, a, 1, 2, there, here())];
    s.report("bank::transfers_do_not_block", Failure::Deadlock { waits })
}

/// A task that spins on a flag that is never set, while another task has ended.
pub(super) fn spin() -> Report {
    let mut s = Sample::of(&["spinner", "other"]);
    let flag = Some(s.object("atomic", ValueKind::Bool));
    let tries = Some(s.object("atomic", ValueKind::Unsigned));
    s.step(0);
    s.did(&SPAWN, None, Values::None);
    s.did(&SPAWN, None, Values::None);
    s.step(2);
    s.step(2).did(&STORE, flag, Values::Wrote(0));
    s.step(1);
    let (from, mut n) = (s.run.steps.len(), 0);
    while s.run.steps.len() < 1000 {
        s.step(1).did(&LOAD, flag, Values::Read(0));
        s.step(1).did(&COMPARE_EXCHANGE, tries, Values::Changed(n, n + 1));
        n += 1;
    }
    let cycle = s.run.steps[from..from + 2].to_vec();
    s.report("spin::the_flag_is_seen", Failure::StepLimit { steps: 1000, cycle })
}

/// A panic in a task, after a draw and a failed compare-exchange.
pub(super) fn panic() -> Report {
    let mut s = Sample::of(&["writer"]);
    let slot = Some(s.object("atomic", ValueKind::Signed));
    s.step(0).did(&SPAWN, None, Values::None);
    s.step(1);
    let draw = crate::run::DrawRecord { step: 1, value: 3, bound: 10, given: false, why: "" };
    s.run.draws.push(draw);
    s.preempt(0).did(&STORE, slot, Values::Wrote(u64::MAX));
    s.step(1).did(&COMPARE_EXCHANGE, slot, Values::Refused(u64::MAX, 0));
    let message =
        "assertion `left == right` failed: the slot was free\n  left: Err(-1)\n right: Ok(0)";
    let (message, place) = (message.to_owned(), here().to_string());
    s.report("slot::a_free_slot_is_taken", Failure::Panic { task: TaskId(1), message, place })
}

/// A queue with a long history, in which a reader received an element twice.
pub(super) fn queue() -> Report {
    let mut s = Sample::of(&["producer", "consumer"]);
    s.step(0);
    let mut operations = vec![];
    for n in 0..14 {
        operations.push(call(0, &format!("push({n})"), 10 * n, Some(("()", 10 * n + 3))));
        operations.push(call(1, "pop()", 10 * n + 1, Some((&format!("Some({n})"), 10 * n + 8))));
    }
    operations.push(call(0, "push(99)", 150, None));
    operations.push(call(1, "pop()", 151, Some(("Some(13)", 152))));
    let evidence = Evidence {
        partial: vec![(0..28).collect(), (0..28).collect(), (0..28).collect()],
        misfit: 29,
        expected: vec!["None".to_owned(), "Some(99)".to_owned()],
        state: "[]".to_owned(),
        ..Evidence::default()
    };
    let verdict = Verdict::Violated(Box::new(evidence));
    s.run.histories = vec![HistoryRecord {
        model: "queue".to_owned(),
        clients: vec!["producer".to_owned(), "consumer".to_owned()],
        operations,
        verdict: Some(verdict.clone()),
        ..HistoryRecord::default()
    }];
    let condition = "sequential consistency".to_owned();
    let failure = Failure::History { history: 0, condition, verdict, place: here() };
    s.report("queue::each_element_is_popped_once", failure)
}

/// A report with more tasks than there is room for columns. All tasks do the same.
pub(super) fn crowd() -> Report {
    let mut s = Sample::of(&["a"; 9]);
    let counter = Some(s.object("atomic", ValueKind::Unsigned));
    s.step(0);
    for _ in 0..9 {
        s.did(&SPAWN, None, Values::None);
    }
    for task in 1..10 {
        s.step(task).did(&LOAD, counter, Values::Read(0));
    }
    for task in 1..10 {
        s.preempt(task).did(&STORE, counter, Values::Wrote(1));
    }
    s.run.leaked = vec![TaskId(3), TaskId(4)];
    s.report("crowd::nobody_is_lost", Failure::Error { message: "Lost(8)".to_owned() })
}

/// The run of the lost update, but with another failure.
pub(super) fn lost_update_that(failure: Failure) -> Report {
    let mut report = lost_update();
    if let Some(finding) = &mut report.finding {
        finding.run.outcome = Outcome::Failed(failure);
    }
    report
}

/// An undecided history check, on real threads.
pub(super) fn undecided_on_real_threads() -> Report {
    let s = Sample::of(&[]);
    let exhausted = Exhausted { nodes: 1_000_000, longest: 2, operations: 3, ..Default::default() };
    let mut report = s.report(
        "real::increments_are_not_lost",
        Failure::History {
            history: 0,
            condition: "linearizability".to_owned(),
            verdict: Verdict::Unknown(exhausted),
            place: here(),
        },
    );
    report.real = true;
    if let Some(finding) = &mut report.finding {
        let mut history = match lost_update().finding {
            Some(other) => other.run.histories[0].clone(),
            None => HistoryRecord::default(),
        };
        history.verdict = None;
        history.clients = vec!["main".into(), "0.0".into(), "0.1".into()];
        (finding.run.histories, finding.run.strategy) = (vec![history], Run::JITTER.to_owned());
        (finding.shrunk, finding.replay, finding.trace_file) = (None, None, None);
        finding.trace_error = Some("permission denied: target/sim".to_owned());
    }
    report
}

/// Two tasks that wait for a message that is never sent.
pub(super) fn starved() -> Report {
    let mut s = Sample::of(&["reader"]);
    let channel = Some(s.object("channel", ValueKind::Opaque));
    s.step(0).did(&SPAWN, None, Values::None);
    s.step(1);
    let wait = |task, op, object, target| Wait {
        task: TaskId(task),
        op,
        object,
        target,
        place: here(),
        holder: None,
        unpolled: false,
    };
    let main = wait(0, Some(&JOIN), None, Some(TaskId(1)));
    let waits = vec![main, wait(1, Some(&RECEIVE), channel, None)];
    s.report("channel::the_reader_ends", Failure::Deadlock { waits })
}

/// Six tasks with a long schedule, and operations with long names.
pub(super) fn long() -> Report {
    let mut s = Sample::of(&["reader", "writer", "", "a_task_with_a_long_name", "closer"]);
    let flag = Some(s.object("atomic", ValueKind::Bool));
    let count = Some(s.object("atomic", ValueKind::Unsigned));
    s.step(0);
    for _ in 0..5 {
        s.did(&SPAWN, None, Values::None);
    }
    for n in 0..60u64 {
        let task = 1 + (n * 3) as u32 % 5;
        s.preempt(task).did(&COMPARE_EXCHANGE, count, Values::Changed(n, n + 1));
        s.step(task).did(&LOAD, flag, Values::Read(n % 2));
    }
    s.preempt(5).did(&COMPARE_EXCHANGE, count, Values::Refused(1_000_000, 999_999));
    let (message, place) = ("too late".to_owned(), here().to_string());
    s.report("long::it_ends_in_time", Failure::Panic { task: TaskId(5), message, place })
}

/// Returns a place in another crate.
pub(super) fn in_core() -> Place {
    struct Made(Place);
    impl Default for Made {
        #[track_caller]
        fn default() -> Made {
            Made(here())
        }
    }
    let [made] = <[Made; 1]>::default();
    made.0
}

/// Calls at a place that take several steps each. One of the calls is interrupted.
pub(super) fn calls(place: Place) -> Report {
    let mut s = Sample::of(&["reader", "writer"]);
    let permits = Some(s.object("atomic", ValueKind::Unsigned));
    let list = Some(s.object("mutex", ValueKind::Opaque));
    s.step(0);
    for _ in 0..2 {
        s.did(&SPAWN, None, Values::None);
    }
    for n in 0..8u64 {
        let task = 1 + n as u32 % 2;
        s.step(task);
        for part in 0..9 {
            if (n, part) == (5, 4) {
                s.preempt(1).did(&STORE, permits, Values::Wrote(99));
                s.preempt(2);
            } else if part > 0 {
                s.step(task);
            }
            match part % 3 {
                0 => s.did(&LOCK, list, Values::None),
                1 => s.did(&LOAD, permits, Values::Read(n)),
                _ => s.did(&COMPARE_EXCHANGE, permits, Values::Changed(n, n + 1)),
            };
            s.run.events.last_mut().unwrap().place = place;
            s.did(&GLANCE, permits, Values::None);
        }
        // The caller reaches its own point after each call.
        s.step(task).did(&LOAD, permits, Values::Read(n));
    }
    let (message, place) = ("one permit too many".to_owned(), here().to_string());
    s.report("permits::they_are_counted", Failure::Panic { task: TaskId(2), message, place })
}

/// A run on real threads that did not end.
pub(super) fn no_end_on_real_threads() -> Report {
    let mut report = undecided_on_real_threads();
    report.test = "real::locks_are_freed".to_owned();
    if let Some(finding) = &mut report.finding {
        let last = "main, 0.0 left, 0.1 right".to_owned();
        let (task, place, unseen) = (TaskId::MAIN, String::new(), Vec::new());
        let failure = Failure::Hang { task, last, place, seconds: 10, unseen };
        finding.run.outcome = Outcome::Failed(failure);
        finding.trace_error = None;
    }
    report
}

/// Creates a task without a node.
#[track_caller]
fn nobody() -> TaskRecord {
    let (path, name, place) = (TaskPath::main(), None, here());
    TaskRecord { path, name, place, node: None, from: None, message: None }
}

/// An operation for searches that no screen shows.
const GLANCE: Op = Op::new("glance", Access::Peek).quiet();

/// A long call of one task at one place. A nemesis injects a fault in the middle of the call.
pub(super) fn fault_within_a_call() -> Report {
    const ISOLATE: Op = Op::new("isolate", Access::Tell);
    let mut s = Sample::of(&["reader"]);
    let word = Some(s.object("atomic", ValueKind::Unsigned));
    let nodes = Some(s.object("nodes", ValueKind::Opaque));
    for n in 0..60 {
        s.step(1).did(&LOAD, word, Values::Read(n));
        if n == 30 {
            s.did(&ISOLATE, nodes, Values::None);
        }
    }
    let (message, place) = ("it is lost".to_owned(), here().to_string());
    s.report("nodes::nothing_is_lost", Failure::Panic { task: TaskId(1), message, place })
}
