//! Our strategies.

use std::time::Duration;

use sim::Runner;
use sim::run::Outcome;
use sim_tests::corpus::programs::{Program, Spawning};

use super::{Effort, Seen};

/// Returns the strategies, the default first.
pub(super) fn names() -> Vec<&'static str> {
    let forms = ["pct:2", "pct:3"];
    let names = sim::strategy::STRATEGIES.iter().map(|row| row.name);
    // An exhaustive search has no mean number of runs.
    names.filter(|name| *name != "exhaustive").chain(forms).collect()
}

/// Runs the seeds from 0 on.
pub(super) fn measure(strategy: &str, program: &Program, effort: Effort) -> Seen {
    let runner = Runner::new().hermetic().strategy(strategy).hang(Duration::ZERO);
    let mut seen = Seen::default();
    while !seen.enough(effort) {
        let run = runner.run_seed(seen.runs, || (program.buggy)(Spawning::OneByOne));
        seen.runs += 1;
        seen.bugs += u64::from(run.outcome != Outcome::Passed);
    }
    seen
}
