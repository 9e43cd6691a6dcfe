//! The jobs of workers. A job describes what a worker runs, with everything that is needed to
//! repeat it.

use std::sync::Arc;

use crate::run::Run;
use crate::run::choice::Strategy;
use crate::run::schedule::Schedule;
use crate::run::trace::Trace;
use crate::strategy::after::After;
use crate::strategy::held::Held;
use crate::strategy::{Chosen, LenientReplay, Replay, Rerun, Search};

/// The current job of a worker, with everything that is needed to repeat it.
#[derive(Clone)]
pub(crate) enum WorkerJob {
    /// One seed after another, under a strategy that this value creates.
    Seeds(Chosen),
    /// A rehearsal, counted from 0: a run that the strategy of another job must observe first.
    Rehearse(Box<WorkerJob>, u32),
    /// A strict replay of one trace.
    Replay(Arc<Trace>),
    /// A strict replay of one run of this process.
    Again(Arc<Run>),
    /// A lenient replay of one schedule.
    Follow(Arc<Schedule>),
    /// Continuations of a run, with the drawn values of a schedule.
    Continue(Arc<Schedule>, After),
    /// The current run of a search.
    Search(Arc<dyn Search>),
}

impl WorkerJob {
    /// Returns the number of steps of the run that the job replays, if it replays a run.
    pub(super) fn steps(&self) -> Option<usize> {
        match self {
            WorkerJob::Replay(trace) => Some(trace.steps.len()),
            WorkerJob::Again(run) => Some(run.steps.len()),
            WorkerJob::Follow(schedule) => Some(schedule.steps() as usize),
            WorkerJob::Seeds(_)
            | WorkerJob::Rehearse(..)
            | WorkerJob::Continue(..)
            | WorkerJob::Search(_) => None,
        }
    }

    /// Returns a warning if a failure of this job occurred neither in the run of a seed nor in a requested replay.
    pub(super) fn meeting(&self, is_replay: bool) -> Option<&'static str> {
        match self {
            WorkerJob::Rehearse(..) => Some(
                "the failure occurred in a rehearsal, a run from which the strategy learns. A rehearsal belongs \
                 to no seed, so replay the trace",
            ),
            WorkerJob::Seeds(_) | WorkerJob::Search(_) => None,
            _ if is_replay => None,
            _ => Some(
                "the failure occurred while a failing run was replayed or shrunk, not in the run of a seed",
            ),
        }
    }

    /// Creates the strategy that makes the decisions of this job.
    pub(super) fn strategy(&self) -> Box<dyn Strategy> {
        match self {
            WorkerJob::Seeds(chosen) => chosen.create(),
            WorkerJob::Rehearse(job, _) => job.strategy(),
            WorkerJob::Replay(trace) => Box::new(Replay::new((**trace).clone())),
            WorkerJob::Again(run) => Box::new(Rerun::new(run)),
            WorkerJob::Follow(schedule) => Box::new(LenientReplay::new(schedule.clone())),
            WorkerJob::Continue(schedule, after) => {
                Box::new(Held::new(Box::new(after.clone()), schedule, false))
            }
            WorkerJob::Search(search) => {
                let (steps, draws) = search.decisions();
                Box::new(Rerun::of_decisions(steps, draws))
            }
        }
    }
}
