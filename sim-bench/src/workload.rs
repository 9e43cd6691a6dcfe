//! The programs that every peer runs, with their sizes and the bars for our results.
//!
//! The sizes are only here; each peer writes the same body with its own primitives.

/// The number of tasks and rounds of a body with identical tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The number of tasks, without the task that spawns and joins them.
    pub(crate) tasks: u64,
    /// The number of rounds of each task.
    pub(crate) rounds: u64,
}

pub(crate) const W1: Shape = Shape { tasks: 2, rounds: 1000 };
pub(crate) const W2: Shape = Shape { tasks: 2, rounds: 1000 };
pub(crate) const W3: Shape = Shape { tasks: 2, rounds: 1 };
pub(crate) const W4: Shape = Shape { tasks: 4, rounds: 250 };
pub(crate) const W6: Shape = Shape { tasks: 1000, rounds: 0 };
pub(crate) const W7: Shape = Shape { tasks: 100, rounds: 100 };
pub(crate) const W8: Shape = Shape { tasks: 8, rounds: 100 };

/// W1r8: the number of boxed async calls around each yield.
pub(crate) const W1R8_DEPTH: u32 = 8;
/// W5: the number of messages that the producer sends to the consumer.
pub(crate) const W5_MESSAGES: u64 = 1000;
/// W8: the number of atomics, which the tasks use in rotation.
pub(crate) const W8_ATOMICS: usize = 4;

/// A measured program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Workload {
    /// An empty body: the fixed cost of a run.
    W0,
    /// Yields.
    W1,
    /// Yields inside nested boxed async calls.
    W1r8,
    /// Atomic loads and stores.
    W2,
    /// One load and one store: the typical tiny test.
    W3,
    /// Locks and unlocks of one mutex.
    W4,
    /// `W4` with tokio's fair mutex, which grants the lock in request order.
    W4t,
    /// One producer, one consumer.
    W5,
    /// `W5` with tokio's channel.
    W5t,
    /// Spawns and joins, with all tasks alive at once.
    W6,
    /// Spawns and joins, one task at a time.
    W6s,
    /// Many tasks that yield.
    W7,
    /// `fetch_add` over a few atomics.
    W8,
}

/// All workloads, in display order.
pub(crate) const ALL: [Workload; 13] = {
    use Workload::*;
    [W0, W1, W1r8, W2, W3, W4, W4t, W5, W5t, W6, W6s, W7, W8]
};

/// The bar for our result on a workload. Zero means no bar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bars {
    /// The maximum nanoseconds per point.
    pub(crate) nanos_max: f64,
    /// The minimum ratio of the faster of shuttle's two times to ours.
    pub(crate) ratio_min: f64,
    /// The minimum number of runs per second.
    pub(crate) rate_min: f64,
}

impl Workload {
    /// Returns its name on the command line, where case does not matter.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Workload::W0 => "W0",
            Workload::W1 => "W1",
            Workload::W1r8 => "W1r8",
            Workload::W2 => "W2",
            Workload::W3 => "W3",
            Workload::W4 => "W4",
            Workload::W4t => "W4t",
            Workload::W5 => "W5",
            Workload::W5t => "W5t",
            Workload::W6 => "W6",
            Workload::W6s => "W6s",
            Workload::W7 => "W7",
            Workload::W8 => "W8",
        }
    }

    /// Returns a summary in a few words.
    pub(crate) fn summary(self) -> &'static str {
        match self {
            Workload::W0 => "an empty body",
            Workload::W1 => "2 tasks x 1000 yields",
            Workload::W1r8 => "W1, the yields at the bottom of 8 boxed calls",
            Workload::W2 => "2 tasks x 1000 x (load; store)",
            Workload::W3 => "2 tasks x (load; store)",
            Workload::W4 => "4 tasks x 250 lock/unlock of one mutex",
            Workload::W4t => "W4 with tokio's mutex",
            Workload::W5 => "one producer, one consumer, 1000 messages",
            Workload::W5t => "W5 with tokio's channel",
            Workload::W6 => "spawn + join of 1000 tasks, all alive",
            Workload::W6s => "spawn + join of 1000 tasks, one at a time",
            Workload::W7 => "100 tasks x 100 yields",
            Workload::W8 => "8 tasks x 100 fetch_add over 4 atomics",
        }
    }

    /// Returns the divisor of a run's time, the same for every peer: the number of operations in
    /// the body, plus two for each task (its start and its join). At least 1.
    ///
    /// A peer may need more points for the same program: shuttle also has a point in an unlock. The
    /// divisor ignores these points, because they are part of the peer's cost.
    pub(crate) fn points(self) -> u64 {
        let of = |shape: Shape, each| shape.tasks * (shape.rounds * each + 2);
        match self {
            Workload::W0 => 1,
            Workload::W1 | Workload::W1r8 => of(W1, 1),
            Workload::W2 => of(W2, 2),
            Workload::W3 => of(W3, 2),
            Workload::W4 | Workload::W4t => of(W4, 1),
            Workload::W5 | Workload::W5t => 2 * W5_MESSAGES + 4,
            Workload::W6 | Workload::W6s => of(W6, 0),
            Workload::W7 => of(W7, 1),
            Workload::W8 => of(W8, 1),
        }
    }

    /// Returns `true` if the time per run counts instead of the time per point.
    pub(crate) fn is_by_run(self) -> bool {
        matches!(self, Workload::W0 | Workload::W3)
    }

    /// Returns the bar for our result.
    pub(crate) fn bars(self) -> Bars {
        use Workload::*;
        let by_point = matches!(self, W1 | W2 | W4 | W4t | W5 | W5t | W7 | W8);
        let nanos_max = if by_point { 25.0 } else { 0.0 };
        let ratio_min = match self {
            W6 | W7 => 10.0,
            W3 => 8.0,
            _ => 5.0,
        };
        let rate_min = match self {
            W0 => 5e6,
            W3 => 2.5e6,
            _ => 0.0,
        };
        Bars { nanos_max, ratio_min, rate_min }
    }
}

/// Returns the sum of `0..n`: the sum of a body's task results if all tasks did their work.
pub(crate) fn sum_below(n: u64) -> u64 {
    n * (n - 1) / 2
}

/// Returns the sum of all `fetch_add` results in the tasks of W8. Each atomic counts from 0 to its
/// share of the additions.
pub(crate) fn w8_sum() -> u64 {
    let atomics = W8_ATOMICS as u64;
    atomics * sum_below(W8.tasks * W8.rounds / atomics)
}

/// Checks the last loads of the tasks of W2 and W3. Only a range is known, because updates may be
/// lost.
///
/// # Panics
/// If the tasks cannot have done their work.
pub(crate) fn check_loaded(shape: Shape, last: &[u64]) {
    let highest = last.iter().copied().max().unwrap_or(0);
    let lowest_possible = u64::from(shape.rounds > 1);
    assert_eq!(last.len() as u64, shape.tasks);
    assert!((lowest_possible..shape.tasks * shape.rounds).contains(&highest), "{last:?}");
}
