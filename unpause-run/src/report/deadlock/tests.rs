//! The sentence below a deadlock: it names the possible wakers of the waiting tasks.

use crate::report::sample::{JOIN, SPAWN, Sample, here};
use crate::report::{NoReturn, PassingRun, Why, text};
use crate::run::event::Values;
use crate::run::ids::TaskId;
use crate::run::{Failure, Wait};
use unpause_check::picture::Style;

/// Returns the screen, with single blanks, of a run in which `waiting` tasks wait for futures outside this library.
fn screen(waiting: u32, why: Option<Why>) -> String {
    let mut sample = Sample::of(&vec![""; waiting as usize]);
    sample.step(0);
    (0..waiting).for_each(|_| sample.did(&SPAWN, None, Values::None));
    (1..=waiting).for_each(|task| _ = sample.step(task));
    let (holder, unpolled) = (None, false);
    let wait = |task, op, target| Wait {
        task: TaskId(task),
        op,
        object: None,
        target,
        place: here(),
        holder,
        unpolled,
    };
    let mut waits = vec![wait(0, Some(&JOIN), Some(TaskId(1)))];
    waits.extend((1..=waiting).map(|task| wait(task, None, None)));
    let mut report = sample.report("channel::it_ends", Failure::Deadlock { waits });
    report.finding.as_mut().unwrap().why = why;
    let screen = text(&report, &Style::default());
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

const OUTSIDE: &str = "a thread or a timer outside of the run";
const EARLY: &str = "A task of the run may have woken them too early, or not at all.";

fn passing() -> Option<Why> {
    let passing = PassingRun { common: 1, step_count: 2, steps: Vec::new(), replay: None };
    Some(Why { passing: Some(passing), ..Why::default() })
}

#[test]
fn a_task_that_other_runs_wake_is_not_woken_from_outside() {
    let one = screen(1, passing());
    let expected = "No task is left that could wake them. Other runs of this program pass: here the waker of 0.0 may \
        have been called too early, or not at all.";
    assert!(one.contains(expected) && !one.contains(OUTSIDE), "{one}");
    assert!(one.contains("0.0 waits for a future outside sim, last access at"), "{one}");
    let two = screen(2, passing());
    assert!(two.contains("here the wakers of 0.0 and 0.1 may have been"), "{two}");
    let many = screen(6, passing());
    assert!(many.contains("here the wakers of 6 tasks may have been"), "{many}");
}

#[test]
fn without_other_runs_both_causes_are_named_and_tasks_first() {
    let screen = screen(1, None);
    let early = screen.find(EARLY).expect("tasks");
    assert!(early < screen.find(OUTSIDE).expect("threads and timers"), "{screen}");
}

#[test]
fn if_every_run_fails_no_task_is_the_waker() {
    let no_return = Some(NoReturn { after: 0, interleavings: 1 });
    let screen = screen(1, Some(Why { no_return, ..Why::default() }));
    assert!(screen.contains(OUTSIDE) && !screen.contains(EARLY), "{screen}");
}
