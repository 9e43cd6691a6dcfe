//! Our checker through its public functions, on one thread and on two.

use sim::check::verdict::Verdict;
use sim::check::{Budget, linearizable_counted, linearizable_parallel};

use super::case::Case;
use super::contestant::{Answer, Check, Contestant, Turns, with_histories};
use super::history::{History, Subject};

/// The checker as users call it, but with a budget that only the time limits.
pub(super) const ALONE: Contestant = Contestant {
    name: "ours",
    title: "ours",
    takes: |_| true,
    check: |case, turns| with_histories(case, &mut Ours { turns, threads: 1 }),
};

/// The checker with two threads, for histories with parts. Measured in wall time.
pub(super) const PARALLEL: Contestant = Contestant {
    name: "ours-parallel",
    title: "2 threads",
    takes: has_parts,
    check: |case, turns| with_histories(case, &mut Ours { turns, threads: 2 }),
};

fn has_parts(case: &Case) -> bool {
    matches!(case.workload.name(), "kv" | "set")
}

struct Ours<'a> {
    turns: &'a mut Turns,
    threads: usize,
}

impl Check for Ours<'_> {
    fn check<M: Subject>(&mut self, histories: &[History<M>]) {
        let prepared: Vec<_> = histories.iter().map(|it| (it, it.expected)).collect();
        let budget = Budget::nodes(u64::MAX);
        self.turns.measure(&prepared, self.threads > 1, |history| {
            let (initial, operations) = (&M::start(), &history.operations);
            let checked = if self.threads > 1 {
                linearizable_parallel(initial, operations, &budget, self.threads)
            } else {
                linearizable_counted(initial, operations, &budget)
            };
            match checked.expect("well-formed") {
                (Verdict::Consistent(witness), nodes) => {
                    (Answer::Decided(true, witness.engine), nodes)
                }
                (Verdict::Violated(evidence), nodes) => {
                    (Answer::Decided(false, evidence.engine), nodes)
                }
                (Verdict::Unknown(_), nodes) => (Answer::Unknown, nodes),
            }
        });
    }
}
