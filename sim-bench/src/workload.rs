//! The programs that every peer runs, with their sizes and the bars for our results.
//!
//! The sizes are here and nowhere else; each peer writes the same body with its own primitives.

/// Tasks and operations of a body whose tasks all do the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The number of tasks besides the one that spawns and joins them.
    pub(crate) tasks: u64,
    /// The number of rounds of each of them.
    pub(crate) rounds: u64,
}

pub(crate) const W1: Shape = Shape { tasks: 2, rounds: 1000 };
pub(crate) const W2: Shape = Shape { tasks: 2, rounds: 1000 };
pub(crate) const W3: Shape = Shape { tasks: 2, rounds: 1 };
pub(crate) const W4: Shape = Shape { tasks: 4, rounds: 250 };
pub(crate) const W6: Shape = Shape { tasks: 1000, rounds: 0 };
pub(crate) const W7: Shape = Shape { tasks: 100, rounds: 100 };
pub(crate) const W8: Shape = Shape { tasks: 8, rounds: 100 };

/// W1r8: how many boxed async calls are on the way down to each yield.
pub(crate) const W1R8_DEPTH: u32 = 8;
/// W5: how many messages go from the producer to the consumer.
pub(crate) const W5_MESSAGES: u64 = 1000;
/// W8: how many atomics the tasks go round.
pub(crate) const W8_ATOMICS: usize = 4;

/// A program that is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Workload {
    /// An empty body: the cost of a run by itself.
    W0,
    /// Yields.
    W1,
    /// Yields, each at the bottom of boxed async calls.
    W1r8,
    /// Atomic loads and stores.
    W2,
    /// One load and one store: the typical tiny test.
    W3,
    /// One mutex, locked and unlocked.
    W4,
    /// The same with tokio's, which is given in the order in which it is asked for.
    W4t,
    /// One producer, one consumer.
    W5,
    /// The same with tokio's channel.
    W5t,
    /// Spawn and join, all tasks alive at once.
    W6,
    /// Spawn and join, one task at a time.
    W6s,
    /// Many tasks that yield.
    W7,
    /// `fetch_add` over a few atomics.
    W8,
}

/// All workloads, in the order they are shown.
pub(crate) const ALL: [Workload; 13] = {
    use Workload::*;
    [W0, W1, W1r8, W2, W3, W4, W4t, W5, W5t, W6, W6s, W7, W8]
};

/// The bar for our result on a workload. Zero asks nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bars {
    /// At most so many nanoseconds per point.
    pub(crate) nanos_max: f64,
    /// At least so many times the faster of shuttle's two.
    pub(crate) ratio_min: f64,
    /// At least so many runs per second.
    pub(crate) rate_min: f64,
}

impl Workload {
    /// Its name on the command line, in lower case.
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

    /// A summary in a few words.
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

    /// The divisor of the time of a run, for every peer: the number of operations in the body, plus
    /// two for each task, its start and its join. At least 1.
    ///
    /// A peer may make more of them: shuttle has a point in an unlock, too. That is its price for
    /// the same program, so it is not divided away.
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

    /// Returns `true` if the time of a run counts, not that of a point.
    pub(crate) fn is_by_run(self) -> bool {
        matches!(self, Workload::W0 | Workload::W3)
    }

    /// The bar for our result.
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

/// The sum of `0..n`: that of the results of a body's tasks if they did their work.
pub(crate) fn sum_below(n: u64) -> u64 {
    n * (n - 1) / 2
}

/// The sum of the results of `fetch_add` in the tasks of W8: each atomic counts from 0 to its
/// share.
pub(crate) fn w8_sum() -> u64 {
    let atomics = W8_ATOMICS as u64;
    atomics * sum_below(W8.tasks * W8.rounds / atomics)
}

/// The possible last loads of the tasks of W2 and W3: an update may be lost, so no exact number.
///
/// # Panics
/// If they cannot have done their work.
pub(crate) fn check_loaded(shape: Shape, last: &[u64]) {
    let highest = last.iter().copied().max().unwrap_or(0);
    let lowest_possible = u64::from(shape.rounds > 1);
    assert_eq!(last.len() as u64, shape.tasks);
    assert!((lowest_possible..shape.tasks * shape.rounds).contains(&highest), "{last:?}");
}
