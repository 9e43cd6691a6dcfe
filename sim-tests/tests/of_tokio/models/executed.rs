//! The execution of generated programs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use sim::run::{Failure, Outcome as RunEnd, Run};
use sim::task::{AbortHandle, yield_now};
use sim::time::{Duration, sleep, timeout};

use super::explored::{END, LATE, Outcome, SECOND};
use super::{Act, Ends, Program};

/// The values of the tasks of the current run.
pub(super) type Got = Mutex<Vec<Vec<i64>>>;

/// The handles that abort the tasks.
type Aborters = Mutex<Vec<AbortHandle>>;

/// Runs a program. `got` has the values of the tasks then.
pub(super) async fn body(program: &Arc<Program>, got: &Arc<Got>) {
    let tasks = program.tasks.len();
    *got.lock().unwrap_or_else(PoisonError::into_inner) = vec![Vec::new(); tasks];
    let aborters = Arc::new(Aborters::default());
    let make = |(number, ends)| task(number, ends, program.clone(), got.clone(), aborters.clone());
    let mut ends = Ends::of(program).into_iter().enumerate();
    if program.has_set() {
        let (_, first) = ends.next().expect("a program has tasks");
        let others: Vec<_> = ends.map(make).collect();
        let (program, got, spawned) = (program.clone(), got.clone(), aborters.clone());
        let task = sim::spawn(async move {
            for (number, other) in others.into_iter().enumerate() {
                let handle = first.set_model.as_ref().expect("it is used").spawn(number, other);
                spawned.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
            }
            task(0, first, program, got, spawned).await;
        });
        aborters.lock().unwrap_or_else(PoisonError::into_inner).push(task.abort_handle());
        let _ = task.await;
        return;
    }
    let tasks: Vec<_> = ends.map(make).map(sim::spawn).collect();
    let handles = tasks.iter().map(|task| task.abort_handle());
    aborters.lock().unwrap_or_else(PoisonError::into_inner).extend(handles);
    for task in tasks {
        let _ = task.await;
    }
}

async fn task(
    number: usize,
    ends: Ends,
    program: Arc<Program>,
    got: Arc<Got>,
    aborters: Arc<Aborters>,
) {
    let log = |value| got.lock().unwrap_or_else(PoisonError::into_inner)[number].push(value);
    for (yields, act) in &program.tasks[number] {
        if *yields {
            yield_now().await;
        }
        match *act {
            Act::One(call) => log(ends.perform(call).await),
            Act::Either(one, two, true) => sim::select! {
                biased;
                value = ends.perform(one) => log(value),
                value = ends.perform(two) => {
                    log(SECOND);
                    log(value);
                }
            },
            Act::Either(one, two, false) => sim::select! {
                value = ends.perform(one) => log(value),
                value = ends.perform(two) => {
                    log(SECOND);
                    log(value);
                }
            },
            Act::Within(time, call) => {
                let within = timeout(Duration::from_millis(time.into()), ends.perform(call));
                log(within.await.unwrap_or(LATE));
            }
            Act::Sleep(time) => {
                sleep(Duration::from_millis(time.into())).await;
                log(LATE);
            }
            Act::Abort(other) => {
                aborters.lock().unwrap_or_else(PoisonError::into_inner)[other].abort();
            }
        }
    }
    log(END);
    drop(ends);
}

/// Returns the outcome of a run. The error is a failure that is no deadlock.
pub(super) fn outcome(run: &Run, got: &Got) -> Result<Outcome, String> {
    let stuck = match &run.outcome {
        RunEnd::Passed => 0,
        RunEnd::Failed(Failure::Deadlock { waits }) => {
            let tasks: BTreeSet<_> = waits.iter().map(|wait| format!("{:?}", wait.task)).collect();
            // The body waits, too.
            tasks.len() - 1
        }
        RunEnd::Failed(failure) => return Err(format!("{failure:?}")),
    };
    Ok((got.lock().unwrap_or_else(PoisonError::into_inner).clone(), stuck))
}
