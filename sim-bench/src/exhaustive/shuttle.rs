//! shuttle's depth-first search, which explores every order of all steps.

use std::time::{Duration, Instant};

use shuttle as peer;
use shuttle::scheduler::DfsScheduler;

use super::Explored;

#[path = "threads.rs"]
mod tools;

#[path = "programs.rs"]
#[allow(dead_code)] // What is known of a program is asked of ours.
mod programs;

/// Explores a program until the time limit.
pub(super) fn explore(index: usize, budget: Duration) -> Explored {
    let began = Instant::now();
    let mut config = shuttle::Config::new();
    config.failure_persistence = shuttle::FailurePersistence::None;
    config.max_time = Some(budget);
    let runner = shuttle::Runner::new(DfsScheduler::new(None, false), config);
    let runs = runner.run(move || super::now((programs::PROGRAMS[index].body)()));
    Explored { runs: runs as u64, blocked: 0, complete: began.elapsed() <= budget }
}
