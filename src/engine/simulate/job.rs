//! The jobs of workers: what a worker runs, complete enough to repeat it.

use std::sync::Arc;

use crate::run::Run;
use crate::run::choice::Strategy;
use crate::run::schedule::Schedule;
use crate::run::trace::Trace;
use crate::strategy::after::After;
use crate::strategy::held::Held;
use crate::strategy::{Chosen, LenientReplay, Replay, Rerun, Search};

/// The current job of a worker, complete enough to repeat it.
#[derive(Clone)]
pub(crate) enum WorkerJob {
    /// One seed after another, under a strategy that this makes.
    Seeds(Chosen),
    /// A run that the strategy of another job has to see first, counted from 0.
    Rehearse(Box<WorkerJob>, u32),
    /// One trace, strictly.
    Replay(Arc<Trace>),
    /// One run of this process, strictly.
    Again(Arc<Run>),
    /// One schedule, leniently.
    Follow(Arc<Schedule>),
    /// Continuations of a run, with the values that a schedule has.
    Continue(Arc<Schedule>, After),
    /// The run that a search is in.
    Search(Arc<dyn Search>),
}

impl WorkerJob {
    /// The number of steps of the run that it follows, if it follows a run.
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

    /// Answers the choices of this job.
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
