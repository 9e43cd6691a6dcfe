//! The speed of a search with several workers, computed from the cost of each of its slices.
//!
//! A worker takes the next slice of the round as soon as it is free, and a round ends with its last slice. So the cost
//! of the slices determines the time of any number of workers, and one thread can measure it on any machine.

use std::time::Instant;

use super::super::act::Act;
use super::super::program::Program;
use super::{SearchTree, Sizes, SliceWorker};
use crate::engine::simulate::exhaust::ends_by_a_step;
use crate::strategy::Search;
use crate::strategy::search::Apart;

/// The costs of the slices of a search, round by round.
struct Costs {
    rounds: Vec<Vec<f64>>,
    /// The cost of the work between slices, which only one worker does at a time.
    between: f64,
}

/// Executes a search. Returns its costs in runs and in seconds, and the number of its classes. The costs in runs
/// include the probes, and depend only on the program.
fn costs(program: &Program) -> ([Costs; 2], u64) {
    let mut tree = SearchTree::new(Sizes::USUAL, Apart::NOTHING);
    let mut worker = SliceWorker::new();
    let mut costs = [0, 1].map(|_| Costs { rounds: Vec::new(), between: 0.0 });
    while !tree.is_through() {
        let (mut slices, mut round) = (Vec::new(), [0, 1].map(|_| Vec::new()));
        for (at, budget) in tree.budgets(u64::MAX).into_iter().enumerate() {
            let began = Instant::now();
            let part = tree.part(at);
            costs[1].between += began.elapsed().as_secs_f64();
            let (began, before) = (Instant::now(), worker.runs);
            worker.adopt(program, part);
            for _ in 0..budget {
                let failure = worker.run(program);
                worker.worker.forget_histories();
                let more = worker.search.advance(ends_by_a_step(failure.as_ref()));
                if !more || worker.search.has_learnt() {
                    break;
                }
            }
            slices.push(worker.search.leave());
            round[0].push((worker.runs - before) as f64);
            round[1].push(began.elapsed().as_secs_f64());
        }
        let began = Instant::now();
        tree.merge(slices);
        costs[1].between += began.elapsed().as_secs_f64();
        for (costs, round) in costs.iter_mut().zip(round) {
            costs.rounds.push(round);
        }
    }
    (costs, tree.progress().runs)
}

impl Costs {
    /// Returns the smaller cost of each slice. Other programs on the machine can only increase a time.
    fn or_less(self, other: Costs) -> Costs {
        let smaller = |(own, other): (Vec<f64>, Vec<f64>)| -> Vec<f64> {
            assert_eq!(own.len(), other.len(), "the search is no function of the program");
            own.into_iter().zip(other).map(|(own, other)| own.min(other)).collect()
        };
        let rounds = self.rounds.into_iter().zip(other.rounds).map(smaller).collect();
        Costs { rounds, between: self.between.min(other.between) }
    }

    /// Returns the speed of this number of workers, relative to one worker.
    fn speed(&self, workers: usize) -> f64 {
        let time = |workers| self.rounds.iter().map(|round| makespan(round, workers)).sum::<f64>();
        (time(1) + self.between) / (time(workers) + self.between)
    }
}

/// Returns the cost of a round for this number of workers. Each worker takes the next slice when it is free.
fn makespan(round: &[f64], workers: usize) -> f64 {
    let mut free = vec![0.0_f64; workers];
    for cost in round {
        let first = free.iter_mut().min_by(|one, other| one.total_cmp(other));
        *first.expect("a worker") += cost;
    }
    free.into_iter().fold(0.0, f64::max)
}

/// Creates a program whose tasks write one word, each task the given number of times. Each order of the writes is a
/// separate class.
fn writers(counts: &[usize]) -> Program {
    let tasks = counts.iter().zip(1..).map(|(count, value)| vec![Act::Store(0, value); *count]);
    of_tasks(tasks.collect())
}

/// Creates a program whose tasks read a word and write it, alternately for two words, each task the given number of
/// times.
fn adders(counts: &[usize]) -> Program {
    let task = |(count, task): (&usize, usize)| {
        let words = (0..*count).map(|round| (task + round) % 2);
        words.flat_map(|word| [Act::Load(word), Act::Store(word, task as u64 + 1)]).collect()
    };
    of_tasks(counts.iter().zip(0..).map(task).collect())
}

fn of_tasks(tasks: Vec<Vec<Act>>) -> Program {
    let count = tasks.len();
    Program::new([vec![Vec::new()], tasks].concat(), count, count)
}

#[test]
fn many_workers_share_the_runs_of_each_round() {
    crate::engine::simulate::hook::install();
    // The program, the number of its classes, and a lower bound on the speed of 2, 4 and 16 workers. The first 256
    // runs have one worker, so small searches are slower.
    let programs = match crate::long() {
        false => vec![(writers(&[4, 4, 3]), 11_550, [1.8, 3.0, 6.0])],
        true => vec![
            (writers(&[5, 4, 4]), 90_090, [1.9, 3.6, 11.0]),
            (adders(&[3, 3, 4]), 75_176, [1.9, 3.6, 11.0]),
        ],
    };
    for (program, classes, bounds) in programs {
        let ([runs, times], found) = costs(&program);
        assert_eq!(found, classes, "{program:?}");
        let ([again, others], _) = costs(&program);
        assert_eq!(runs.rounds, again.rounds, "{program:?}");
        let times = times.or_less(others);
        println!("{classes} classes in {} rounds", runs.rounds.len());
        for (workers, bound) in [1, 2, 4, 16].into_iter().zip([1.0].into_iter().chain(bounds)) {
            let [speed, in_time] = [&runs, &times].map(|costs| costs.speed(workers));
            println!(
                "{workers:>2} workers: {speed:.2} times the runs, {in_time:.2} times the speed"
            );
            // The bound concerns the division alone, so it does not depend on clocks.
            assert!(speed >= bound, "{workers} workers: {speed} instead of {bound}");
        }
    }
}
