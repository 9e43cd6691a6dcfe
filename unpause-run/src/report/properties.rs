//! Property tests of the screen of any report, even of an impossible report.

mod searched;

use proptest::collection::vec;
use proptest::prelude::*;
use unpause_ordered::sort_by_key;

use super::sample::{COMPARE_EXCHANGE, JOIN, LOAD, LOCK, SPAWN, call, here};
use super::*;
use crate::run::event::{Event, ValueKind, Values};
use crate::run::ids::{ObjectId, TaskId, TaskPath};
use crate::run::op::Op;
use crate::run::program::{
    CommandLayout, CommandRecord, Fate, Faults, Omitted, Part, ProgramRecord,
};
use crate::run::{
    Condition, DrawRecord, Failure, Holder, MemoryError, MemoryStep, ObjectRecord, Site,
    StepRecord, TaskRecord, Wait,
};
use unpause_check::history::{HistoryRecord, Operation};
use unpause_check::picture::screen::columns;
use unpause_check::verdict::{Anomaly, Evidence, Exhausted, Verdict};

/// Returns numbers of tasks, objects and operations. Some of the numbers do not exist in the run.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![20 => 0..12u32, 1 => any::<u32>()]
}

/// Returns names and messages, including hostile texts.
fn text_of_a_user() -> impl Strategy<Value = String> {
    let hostile = "(\u{1b}\\[2J|\u{1b}\\[31m|\r|\n|\t|\u{202e}|\u{200b}|`|→|…|.){0,12}";
    prop_oneof!["[a-z]{0,8}", hostile, "x{200,300}", ".{0,40}"]
}

fn task() -> impl Strategy<Value = TaskRecord> {
    (vec(0..4u32, 0..4), proptest::option::of(text_of_a_user())).prop_map(|(path, name)| {
        let path = path.into_iter().fold(TaskPath::main(), |path, n| path.child(n));
        TaskRecord { path, name, place: here(), node: None, from: None, message: None }
    })
}

fn object() -> impl Strategy<Value = ObjectRecord> {
    let kind = prop_oneof![Just("atomic"), Just("mutex"), Just("cell")];
    let values = prop_oneof![
        Just(ValueKind::Opaque),
        Just(ValueKind::Unsigned),
        Just(ValueKind::Signed),
        Just(ValueKind::Bool),
        Just(ValueKind::Pointer),
        Just(ValueKind::Time)
    ];
    (kind, values).prop_map(|(kind, values)| {
        let (creator, ordinal) = (None, 0);
        ObjectRecord { kind, name: None, values, place: here(), creator, node: None, ordinal }
    })
}

fn op() -> impl Strategy<Value = &'static Op> {
    let ops: [&'static Op; 5] = [&LOAD, &COMPARE_EXCHANGE, &LOCK, &SPAWN, &JOIN];
    (0..ops.len()).prop_map(move |i| ops[i])
}

fn event() -> impl Strategy<Value = Event> {
    let values = (0..6, any::<u64>(), any::<u64>()).prop_map(|(kind, a, b)| match kind {
        0 => Values::None,
        1 => Values::Read(a),
        2 => Values::Wrote(a),
        3 => Values::Changed(a, b),
        4 => Values::Refused(a, b),
        _ => Values::Failed,
    });
    let object = proptest::option::of(number().prop_map(ObjectId::new));
    (0..120u32, number().prop_map(TaskId), object, op(), values).prop_map(
        |(step, task, object, op, values)| Event { step, task, object, op, place: here(), values },
    )
}

fn step() -> impl Strategy<Value = StepRecord> {
    (number().prop_map(TaskId), any::<bool>()).prop_map(|(task, preempts)| StepRecord {
        task,
        candidates: 2,
        preempts,
    })
}

fn operation() -> impl Strategy<Value = Operation<String, String>> {
    let returned = proptest::option::of((text_of_a_user(), 0..200u64));
    (0..5u32, text_of_a_user(), 0..200u64, returned)
        .prop_map(|(client, op, invoked, returned)| Operation { client, op, invoked, returned })
}

fn verdict() -> impl Strategy<Value = Verdict> {
    let index = || 0..80usize;
    let evidence = (
        vec(vec(index(), 0..8), 0..4),
        index(),
        vec(text_of_a_user(), 0..4),
        text_of_a_user(),
        vec(index(), 0..4),
        proptest::option::of((text_of_a_user(), text_of_a_user())),
    );
    let evidence = evidence.prop_map(|(partial, misfit, expected, state, part, anomaly)| {
        let anomaly = anomaly.map(|(name, text)| Anomaly { name, text, edges: Vec::new() });
        let engine = "search".to_owned();
        let evidence = Evidence { engine, anomaly, partial, misfit, expected, state, part };
        Verdict::Violated(Box::new(evidence))
    });
    prop_oneof![4 => evidence, 1 => Just(Verdict::Unknown(Exhausted::default()))]
}

fn history() -> impl Strategy<Value = HistoryRecord> {
    let parts = (
        text_of_a_user(),
        vec(text_of_a_user(), 0..4),
        vec(operation(), 0..60),
        proptest::option::of(verdict()),
        proptest::option::of(text_of_a_user()),
    );
    parts.prop_map(|(model, clients, operations, verdict, remark)| HistoryRecord {
        model,
        clients,
        operations,
        verdict,
        lines: None,
        remark,
    })
}

fn wait() -> impl Strategy<Value = Wait> {
    use proptest::option::of;
    let parts = (number(), of(op()), of(number()), of(number()), of((number(), number())));
    parts.prop_map(|(task, op, object, target, holder)| Wait {
        task: TaskId(task),
        op,
        object: object.map(ObjectId::new),
        target: target.map(TaskId),
        place: here(),
        unpolled: holder.is_none_or(|(_, step)| step % 2 == 0),
        holder: holder.map(|(task, step)| Holder { task: TaskId(task), step, place: here() }),
    })
}

pub(super) fn failure() -> impl Strategy<Value = Failure> {
    let t = text_of_a_user;
    let task = || number().prop_map(TaskId);
    prop_oneof![
        (task(), t(), t()).prop_map(|(task, message, place)| Failure::Panic {
            task,
            message,
            place
        }),
        t().prop_map(|message| Failure::Error { message }),
        (task(), t(), t()).prop_map(|(task, name, place)| Failure::Invariant { name, task, place }),
        (task(), t(), t(), t()).prop_map(|(task, message, place, remedy)| {
            let step = MemoryStep {
                label: message.clone(),
                task,
                place: place.clone(),
                called_from: place,
            };
            let problem = "use after free";
            let steps = vec![step; 2];
            let (too_weak, unordered) = (Vec::new(), None);
            Failure::Memory(MemoryError { problem, message, steps, remedy, too_weak, unordered })
        }),
        vec(wait(), 0..20).prop_map(|waits| Failure::Deadlock { waits }),
        (any::<u32>(), vec(step(), 0..6))
            .prop_map(|(steps, cycle)| Failure::StepLimit { steps, cycle }),
        (task(), any::<u32>()).prop_map(|(task, steps)| Failure::Starved {
            task,
            steps,
            place: here()
        }),
        (0..2usize, t(), verdict()).prop_map(|(history, condition, verdict)| {
            Failure::History { history, condition, verdict, place: here() }
        }),
        (number(), t(), t()).prop_map(|(step, expected, found)| Failure::Diverged {
            step,
            expected,
            found
        }),
        (number(), t(), t()).prop_map(|(step, first, second)| Failure::NonDeterminism {
            step,
            first,
            second
        }),
        (task(), t(), t(), any::<u64>(), t()).prop_map(|(task, last, place, seconds, unseen)| {
            Failure::Hang { task, last, place, seconds, unseen: vec![unseen] }
        }),
        (t(), any::<u64>()).prop_map(|(running, seconds)| Failure::TimeLimit { running, seconds }),
        (task(), t(), t(), t()).prop_map(|(task, cause, message, place)| Failure::Crash {
            task,
            cause,
            message,
            place
        }),
        (t(), t()).prop_map(|(message, place)| Failure::Misuse { message, place }),
        (any::<u64>(), any::<bool>()).prop_map(|(runs, generated)| {
            let place = here().into();
            let condition = Condition { name: "it happens", place, percent: 30, runs: runs / 2 };
            Failure::TooSeldom { conditions: vec![condition], runs, generated }
        }),
        t().prop_map(|why| Failure::Unproven { why }),
        t().prop_map(|message| Failure::Unreadable { message }),
    ]
}

fn run() -> impl Strategy<Value = Run> {
    let draw = (0..120u32, any::<u64>(), any::<u64>(), any::<bool>())
        .prop_map(|(step, value, bound, given)| DrawRecord { step, value, bound, given, why: "" });
    let parts = (
        failure(),
        vec(task(), 0..12),
        vec(object(), 0..12),
        vec(step(), 0..120),
        vec(draw, 0..8),
        vec(event(), 0..120),
        vec(history(), 0..2),
        vec(program(), 0..2),
        vec(number().prop_map(TaskId), 0..8),
    );
    parts.prop_map(
        |(failure, tasks, objects, steps, draws, events, histories, programs, leaked)| Run {
            strategy: "random".to_owned(),
            tasks,
            objects,
            steps,
            draws,
            events,
            histories,
            programs,
            leaked,
            ..Run::empty(Seed(7), failure)
        },
    )
}

fn program() -> impl Strategy<Value = ProgramRecord> {
    let part = prop_oneof![
        Just(Part::Prefix),
        (number(), number()).prop_map(|(stage, branch)| Part::Branch { stage, branch }),
        number().prop_map(|stage| Part::Nemesis { stage }),
        Just(Part::Suffix)
    ];
    let fate =
        prop_oneof![Just(Fate::Runs), Just(Fate::Absent), number().prop_map(Fate::Tombstone)];
    let command = (part, fate, text_of_a_user()).prop_map(|(part, fate, text)| CommandRecord {
        layout: CommandLayout {
            part,
            fate,
            change: 0,
            simpler: (0, 0),
            candidates: 0,
            ran: None,
            drawn: (0, 0),
        },
        label: text.clone(),
        source: text.clone(),
        text,
        faults: Faults { again: true, crash: Some(3), timeout: true },
    });
    (vec(command, 0..40), text_of_a_user(), any::<u64>(), 0..9usize).prop_map(
        |(commands, model, interleavings, draws)| ProgramRecord {
            initial: model.clone(),
            op_type: model.clone(),
            model,
            interleavings,
            interleavings_max: interleavings,
            commands,
            draws: 0..draws,
            omitted: Omitted { precondition: draws as u32, ..Omitted::default() },
            work: interleavings,
            unfinished: (draws == 0).then(|| "command #0 was being made".to_owned()),
            blocks: false,
            pins: Vec::new(),
        },
    )
}

/// Returns an explanation of a run with this number of steps.
fn why(steps: u32, kind: usize) -> Why {
    let chance = |after: u32| Chance {
        after,
        share: f64::from(after % 7) / 6.0,
        runs: u64::from(after % 2),
    };
    let site = |op| Site { op, place: here() };
    let region = Region { from: site("load"), to: site("store") };
    let tested = match kind {
        0 => Tested::All { interleavings: 6, of: Some(9), left_out: 1 },
        1 => Tested::Within { preemptions: 2, runs: 40 },
        _ => Tested::Counted { runs: 300, failed: 12, of: 60 },
    };
    let no_return = NoReturn { after: steps / 2, interleavings: 3 };
    let (task, is_reached) = (TaskId(1), kind == 1);
    let (between, decisive) = ((0..kind * 3).collect(), (0..kind).collect());
    let interruption = Interruption { task, region, is_reached, between, decisive };
    let change = match kind {
        4 => Change::Order(Order { early: region.from, late: region.to, times: 3 }),
        _ => Change::Regions { regions: vec![region; kind % 3], waits: kind == 1 },
    };
    let remedy = Remedy { change, tested };
    Why {
        runs: 300,
        cause: Some(interruption).filter(|_| kind != 4),
        remedy: Some(remedy).filter(|_| kind != 3),
        chances: (0..steps).step_by(kind + 1).map(chance).collect(),
        marks: (0..steps).step_by(3).collect(),
        no_return: Some(no_return).filter(|_| kind % 2 == 0),
        passing: None,
        newest_stores: kind == 2,
    }
}

pub(super) fn report() -> impl Strategy<Value = Report> {
    let t = text_of_a_user;
    let parts = (run(), t(), vec(t(), 0..3), any::<bool>(), any::<u64>(), t(), 0..5u32);
    parts.prop_map(|(run, test, warnings, real, runs, text, from)| {
        let original = Size::of(&run);
        let finding = Finding {
            run,
            from: match from {
                0 => Origin::Seed(Seed(runs)),
                1 => Origin::File(text.clone()),
                2 => Origin::Reordered(Seed(runs)),
                3 => Origin::Sampled(Seed(runs)),
                _ => Origin::Inline,
            },
            original,
            shrunk: Some(Shrinking { replays: 3, size: original, complete: real }),
            proof: Some(Proof {
                fewest: 2,
                complete: real,
                runs,
                saved: 1,
                longer: None,
                same_stores: real,
            }),
            strengthening: None,
            with_sc: Some(WithSc { fails: real, complete: !real, runs }),
            why: Some(why(original.steps, from as usize)),
            quoted: vec![QuotedLine { place: here().to_string(), text: text.clone() }; 2],
            called_from: Some(text.clone()),
            needs_runtime: Some(text.clone()),
            trace_file: Some(text.clone()),
            trace_error: Some(text.clone()),
            source_file: Some(text.clone()),
            history_file: Some(text.clone()),
            page_file: Some(text.clone()),
            replay: Some(text.clone()),
            record: Some(text),
        };
        let replayed = Some(finding.from.clone());
        let searched = Some(searched::searched(&test, runs, real, from));
        let (seeds, finding) = (Some((0, runs)), Some(Box::new(finding)));
        Report {
            package: test.clone(),
            test,
            runs,
            rehearsals: 4,
            seeds,
            steps: runs,
            settings: warnings.iter().map(|text| (text.clone(), text.clone())).collect(),
            finding,
            replayed,
            notes: warnings.clone(),
            warnings,
            real,
            searched,
            coverage: None,
            closure: None,
            statistics: None,
            faults: Vec::new(),
        }
    })
}

fn may_be_wide(line: &str) -> bool {
    let labels = ["trace:", "source:", "history:", "page:", "replay:", "record:"];
    labels.iter().any(|label| line.starts_with(label))
}

/// Returns the text without ANSI colors.
fn without_color(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

/// Returns successive operations of random clients, each with a unique text; some are open.
fn proper_history() -> impl Strategy<Value = HistoryRecord> {
    let calls = vec((0..4u32, 1..12u64, proptest::bool::weighted(0.9)), 1..=40);
    (calls, 0..40usize).prop_map(|(calls, misfit)| {
        let mut free = [0u64; 4];
        let mut operations = Vec::new();
        for (n, (client, length, returns)) in calls.iter().enumerate() {
            // Times are multiples of 64 plus a unique number, so no two times are equal.
            let from = free[*client as usize].max(4 * n as u64);
            let end = from + length;
            free[*client as usize] = end + 1;
            let (op, result) = (format!("op{n}(x)"), format!("r{n}y"));
            let times = (from * 64 + n as u64, end * 64 + n as u64);
            let returned = returns.then_some((result.as_str(), times.1));
            operations.push(call(*client, &op, times.0, returned));
        }
        sort_by_key(&mut operations, |o| o.invoked);
        let misfit = misfit.min(operations.len() - 1);
        let evidence = Evidence { misfit, ..Evidence::default() };
        let clients = (0..4).map(|n| format!("client{n}")).collect();
        let verdict = Some(Verdict::Violated(Box::new(evidence)));
        HistoryRecord {
            model: "model".to_owned(),
            clients,
            operations,
            verdict,
            ..HistoryRecord::default()
        }
    })
}

/// Returns the settings of property tests. Few cases, because generating reports is slow.
pub(super) fn config() -> ProptestConfig {
    let cases = if crate::long() { 100 } else { 10 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_line_is_too_wide_and_nothing_escapes_the_screen(report in report(), width in 0..160usize) {
        let plain = text(&report, &Style { color: false, width });
        for line in plain.lines().filter(|line| !may_be_wide(line)) {
            prop_assert!(columns(line) <= width.clamp(Style::WIDTH_MIN, Style::WIDTH_MAX), "{line}");
        }
        prop_assert!(plain.chars().all(|c| c == '\n' || !c.is_control()));
        let invisible = plain.contains(['\u{202e}', '\u{200b}']);
        prop_assert!(!invisible, "{plain}");
    }

    #[test]
    fn colours_change_nothing_but_colours(report in report()) {
        let plain = text(&report, &Style { color: false, width: 100 });
        let colored = text(&report, &Style { color: true, width: 100 });
        prop_assert_eq!(without_color(&colored), plain);
    }

    #[test]
    fn every_operation_of_a_history_is_shown(history in proper_history(), width in 60..140usize) {
        let mut report = super::sample::lost_update();
        let finding = report.finding.as_mut().unwrap();
        let operations = history.operations.clone();
        finding.run.histories = vec![history];
        finding.run.steps.clear();
        let screen = text(&report, &Style { color: false, width });
        for operation in &operations {
            let result = operation.returned.as_ref().map_or("?", |(result, _)| result);
            let label = format!("{} → {result}", operation.op);
            prop_assert!(screen.contains(&label), "{label} is missing in\n{screen}");
        }
        prop_assert!(screen.contains("^^"));
    }
}

#[test]
fn a_run_of_ten_thousand_steps_and_fifty_tasks_fits_a_screen() {
    let mut sample = super::sample::Sample::of(&["worker"; 50]);
    let counter = Some(sample.object("atomic", ValueKind::Unsigned));
    for n in 0..10_000 {
        sample.preempt(n * 7 % 50).did(&LOAD, counter, Values::Read(u64::from(n)));
    }
    let message = "too many".to_owned();
    let report = sample.report("crowd::it_fits", Failure::Error { message });
    let screen = text(&report, &Style::default());
    assert!(screen.lines().count() < 80, "{screen}");
    assert!(screen.contains("… 9940 steps with 9940 preemptions …"), "{screen}");
}
