//! Measures several contestants side by side.
//!
//! The machine is shared and its speed changes, so nothing is measured alone. In each repetition,
//! every contestant gets one turn before the next repetition begins. Only the numbers of one row
//! are comparable. If all contestants work on one thread, the measured time is the processor time
//! of the process, without the time of other programs.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

/// The effort of a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The number of turns of each contestant, at least 1.
    pub(crate) repetitions: usize,
    /// The approximate duration of a turn.
    pub(crate) turn: Duration,
    /// The minimum number of runs in a turn, so that the setup work of a turn does not count.
    pub(crate) runs_min: u64,
    /// The kind of time.
    pub(crate) clock: Clock,
}

/// The kind of measured time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    /// The processor time of all threads of this process.
    Processor,
    /// The wall time, for programs with several threads.
    Wall,
}

/// A measured tool: executes this many runs.
pub(crate) type Contestant<'a> = Box<dyn Fn(u64) + 'a>;

/// The time per run of a contestant, in seconds, for each turn, lowest first.
#[derive(Clone, Debug)]
pub(crate) struct Times(Vec<f64>);

impl Times {
    /// Returns the median.
    pub(crate) fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }

    /// Returns the lowest time: the time without interference.
    pub(crate) fn least(&self) -> f64 {
        self.0[0]
    }
}

/// Measures the contestants in turns, one row of a table.
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

/// Returns the number of runs that take about one turn. Increases the number step by step: a single
/// interrupted trial must not decide, because then the setup work of a turn would count too much.
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
