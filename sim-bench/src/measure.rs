//! Measures several contestants side by side.
//!
//! The machine is shared and its speed changes, so nothing is measured alone: each repetition gives
//! every contestant its turn before the next one begins, and only the numbers of one row are
//! compared. If all contestants work on one thread, the measured time is the processor time of the
//! process, without the time of other programs.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

/// The effort of a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The number of turns of each contestant, at least 1.
    pub(crate) repetitions: usize,
    /// About how long a turn is.
    pub(crate) turn: Duration,
    /// The minimum number of runs in a turn, so that the work done once for all of them does not
    /// count.
    pub(crate) runs_min: u64,
    /// The kind of time.
    pub(crate) clock: Clock,
}

/// The kind of measured time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    /// That of all threads of this process.
    Processor,
    /// That on the wall, for programs with several threads.
    Wall,
}

/// A measured tool: does so many runs.
pub(crate) type Contestant<'a> = Box<dyn Fn(u64) + 'a>;

/// The time of a contestant for a run, in seconds, for each turn, lowest first.
#[derive(Clone, Debug)]
pub(crate) struct Times(Vec<f64>);

impl Times {
    /// The middle one.
    pub(crate) fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }

    /// The lowest: the time without interference.
    pub(crate) fn least(&self) -> f64 {
        self.0[0]
    }
}

/// Measures the contestants in turns.
pub(crate) fn side_by_side(contestants: &[Contestant<'_>], effort: Effort) -> Vec<Times> {
    let runs: Vec<u64> = contestants.iter().map(|run| runs_in_a_turn(run, effort)).collect();
    let mut times = vec![Vec::with_capacity(effort.repetitions); contestants.len()];
    for _ in 0..effort.repetitions.max(1) {
        for ((run, runs), times) in contestants.iter().zip(&runs).zip(&mut times) {
            times.push(time(run, *runs, effort.clock) / *runs as f64);
        }
    }
    let sorted = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        Times(times)
    };
    times.into_iter().map(sorted).collect()
}

fn time(run: &Contestant<'_>, runs: u64, clock: Clock) -> f64 {
    let (processor, wall) = (ProcessTime::now(), Instant::now());
    run(runs);
    let took = match clock {
        Clock::Processor => processor.elapsed(),
        Clock::Wall => wall.elapsed(),
    };
    took.as_secs_f64()
}

/// The number of runs that take about a turn. Found by trying more and more: one trial that was
/// held up by something else must not decide, or what is done once for all runs of a turn would
/// count.
fn runs_in_a_turn(run: &Contestant<'_>, effort: Effort) -> u64 {
    let turn = effort.turn.as_secs_f64();
    let mut runs = 1;
    loop {
        let took = time(run, runs, effort.clock);
        if took > turn / 2.0 {
            return runs.max(effort.runs_min).max(1);
        }
        runs = (runs as f64 * (turn / took).clamp(1.5, 8.0)).ceil() as u64;
    }
}
