//! Estimates of small programs against their numbers of runs.

use super::super::PathStep;
use super::*;
use crate::run::ids::TaskId;

/// The continuation of a program with one task.
enum Next {
    /// A draw of a value below this bound.
    Draw(u64),
    /// The next step.
    Step,
    End,
}

/// A program, as a function of the values that each step has drawn so far.
type Program = fn(&[Vec<u64>]) -> Next;

/// Returns the number of runs, by brute force.
fn count(program: Program, steps: &mut Vec<Vec<u64>>) -> u64 {
    match program(steps) {
        Next::End => 1,
        Next::Step => {
            steps.push(Vec::new());
            let runs = count(program, steps);
            steps.pop();
            runs
        }
        Next::Draw(bound) => {
            let at = steps.len() - 1;
            let mut runs = 0;
            for value in 0..bound {
                steps[at].push(value);
                runs += count(program, steps);
                steps[at].pop();
            }
            runs
        }
    }
}

/// Executes the steps of a path, and finds the draws of its last step.
fn look(program: Program, part: &Part) -> Look {
    let value = |drawn: &Drawn| drawn.value;
    let mut steps: Vec<Vec<u64>> =
        part.path.iter().map(|step| step.draws.iter().map(value).collect()).collect();
    let mut draws = part.path.last().map_or(Vec::new(), |last| last.draws.clone());
    let tasks = vec![TaskId(0)];
    if steps.is_empty() {
        return Look { tasks, ..Look::default() };
    }
    loop {
        match program(&steps) {
            Next::Draw(bound) => {
                steps.last_mut().expect("a step draws").push(0);
                draws.push(Drawn { value: 0, bound, given: false });
            }
            Next::Step => return Look { draws, tasks, ..Look::default() },
            Next::End => return Look { draws, is_end: true, ..Look::default() },
        }
    }
}

fn estimated(program: Program, width: usize, seed: u64) -> TreeEstimate {
    let mut probes = ProbeRoot::whole(Apart::NOTHING).seeded((width, 3), seed);
    while let Some(part) = probes.part() {
        probes.add(look(program, &part));
    }
    probes.estimate().expect("all probes were made")
}

/// A large draw between two small ones decides about the last draw, and about a draw of the next step.
const MIXED: Program = |steps| match steps {
    [first] => match first[..] {
        [] => Next::Draw(3),
        [_] => Next::Draw(20),
        [_, 0..10] => Next::Draw(2),
        _ => Next::Step,
    },
    [first, second] if second.is_empty() && first[1] % 2 == 1 => Next::Draw(3),
    _ => Next::End,
};

#[test]
fn an_estimate_with_several_draws_in_a_step_is_the_number_of_runs() {
    let runs = count(MIXED, &mut vec![Vec::new()]);
    assert_eq!(runs, 180);
    assert_eq!(estimated(MIXED, usize::MAX, 0).runs, runs as f64);
    for width in [1, 8, 32] {
        let seeds = 0..300;
        let sum: f64 = seeds.clone().map(|seed| estimated(MIXED, width, seed).runs).sum();
        let mean = sum / seeds.count() as f64;
        assert!((mean / runs as f64 - 1.0).abs() < 0.05, "{mean} with width {width}");
    }
}

#[test]
fn an_interval_is_wider_above_the_estimate_and_holds_the_number_as_often_as_it_says() {
    let (runs, seeds) = (count(MIXED, &mut vec![Vec::new()]) as f64, 300);
    for width in [2, 8] {
        let mut held = 0;
        for seed in 0..seeds {
            let TreeEstimate { runs: mean, low, high, .. } = estimated(MIXED, width, seed);
            assert!(0.0 < low && low <= mean && high - mean >= mean - low, "{low} {mean} {high}");
            held += u32::from((low..=high).contains(&runs));
        }
        assert!(held * 100 >= 93 * seeds as u32, "width {width}: {held} of {seeds}");
    }
}

#[test]
fn probes_of_a_share_begin_at_its_jobs() {
    // The first step of the program draws 3 values, and the share has the first value and the last.
    let drawn = |value| vec![Drawn { value, bound: 3, given: false }];
    let step = |value| PathStep { frame: 0, task: TaskId(0), draws: drawn(value) };
    let jobs = vec![(vec![step(0)], 1), (vec![step(2)], 1)];
    let top = Top { frames: vec![(0, vec![TaskId(0)])], jobs, ..Top::default() };
    let mut tree = SearchTree::new(Sizes::USUAL, Apart::NOTHING);
    tree.take_top(0, top).expect("the jobs are below the frame");
    for width in [1, usize::MAX] {
        let mut probes = tree.probe_root().probes(width, 3);
        while let Some(part) = probes.part() {
            probes.add(look(MIXED, &part));
        }
        let estimate = probes.estimate().expect("all probes were made");
        let is_exact = estimate.runs == 120.0;
        assert!(is_exact || width == 1 && estimate.high > 60.0, "{estimate:?}");
    }
}

#[test]
fn a_step_with_very_many_tuples_takes_few_looks() {
    let program: Program = |steps| match steps[0].len() {
        0..10 => Next::Draw(10),
        _ => Next::End,
    };
    assert_eq!(estimated(program, 8, 0).runs, 1e10);
}

#[test]
fn values_below_a_very_large_bound_are_sampled() {
    let program: Program = |steps| match steps[0].len() {
        0 => Next::Draw(u64::MAX),
        _ => Next::End,
    };
    let runs = estimated(program, 8, 0).runs;
    assert!((runs / u64::MAX as f64 - 1.0).abs() < 1e-9, "{runs}");
}
