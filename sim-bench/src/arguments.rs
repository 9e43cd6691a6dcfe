//! The parsed command line.

use std::time::Duration;

use crate::measure::{Clock, Effort};
use crate::workload::{ALL, Workload};

/// The measurement to run.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    pub(crate) effort: Effort,
    /// The workloads to compare with the peers.
    pub(crate) workloads: Vec<Workload>,
    /// True for the tables of our strategies and workers.
    pub(crate) ours: bool,
}

/// The usage text.
pub(crate) const USAGE: &str = "\
usage: sim-bench [quick | long] [peers] [ours] [W0 W1 W1r8 W2 W3 W4 W5 W6 W6s W7 W8 ...]

  quick   a rough picture: 3 short turns each; long: 21 turns
  peers   only the workloads beside the peers
  ours    only our strategies and workers
  W...    only these workloads beside the peers
";

impl Arguments {
    /// Parses the arguments; `None` if they do not fit the grammar.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Option<Arguments> {
        let effort = |repetitions, millis, runs_min| {
            let turn = Duration::from_millis(millis);
            Effort { repetitions, turn, runs_min, clock: Clock::Processor }
        };
        let mut arguments =
            Arguments { effort: effort(9, 80, 60), workloads: Vec::new(), ours: false };
        let mut peers = false;
        for word in words {
            match word.as_str() {
                "quick" => arguments.effort = effort(3, 20, 20),
                "long" => arguments.effort = effort(21, 150, 100),
                "peers" => peers = true,
                "ours" => arguments.ours = true,
                name => {
                    let named = |workload: &Workload| workload.name().eq_ignore_ascii_case(name);
                    arguments.workloads.push(ALL.into_iter().find(named)?);
                }
            }
        }
        if arguments.workloads.is_empty() && (peers || !arguments.ours) {
            arguments.ours |= !peers;
            arguments.workloads.extend(ALL);
        }
        Some(arguments)
    }
}
