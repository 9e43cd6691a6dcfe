//! Statistics of generated programs, and conditions that must hold in a part of the runs.

use sim::check::Model;
use sim::check::history::HistoryRecord;
use sim::report::{Report, Style, text};
use sim::run::program::{Fate, Part};
use sim::run::statistics::{Count, Statistics};
use sim::run::{Failure, Outcome, Run};
use sim::{Atomic, CommandId, Gen, Ordering::SeqCst, Program, Runner, SIMULATED, Shape};
use sim_tests::counter::{
    Counter,
    Op::{Get, Increment},
};

/// Runs programs of a counter. In `percent` percent of the runs, a `Get` must return 0; the value 0 sets no condition.
async fn counts(percent: u32) {
    let counter = Atomic::new(0);
    sim::parallel(Shape::chunks(), Counter::default(), async |op| match op {
        // Uses two accesses, so that other commands can run between them.
        Increment(_) => {
            counter.load(SeqCst).await;
            counter.fetch_add(1, SeqCst).await;
            None
        }
        Get => {
            let value = counter.load(SeqCst).await;
            if percent > 0 {
                sim::cover!(value == 0, percent, "a get before all else");
            }
            Some(value)
        }
    })
    .await;
}

/// Seeds: few on real threads.
const SEEDS: u64 = if SIMULATED { 200 } else { 20 };

fn runner() -> Runner {
    Runner::new().hermetic().strategy("random").seeds(0..SEEDS)
}

// ---- counts beside brute force

/// The number of operations of a history that overlap another operation, and the largest number
/// that are open at one moment, by brute force.
fn overlap(history: &HistoryRecord) -> (u64, usize) {
    let spans: Vec<(u64, u64)> =
        history.operations.iter().map(|operation| (operation.invoked, operation.end())).collect();
    let open = |moment: u64| {
        let open = spans.iter().filter(|(from, to)| *from <= moment && moment < *to);
        open.count()
    };
    let most = spans.iter().map(|(from, _)| open(*from)).max().unwrap_or(0);
    let beside = |(n, (from, to)): &(usize, &(u64, u64))| {
        spans.iter().enumerate().any(|(other, (a, b))| other != *n && a < to && from < b)
    };
    (spans.iter().enumerate().filter(beside).count() as u64, most)
}

fn add(expected: &mut Statistics, run: &Run) {
    expected.runs += 1;
    let mut most = 0;
    for history in &run.histories {
        let (overlapped, at_once) = overlap(history);
        expected.operations += history.operations.len() as u64;
        expected.overlapped += overlapped;
        most = most.max(at_once);
    }
    expected.at_once.resize(expected.at_once.len().max(most + 1), 0);
    expected.at_once[most] += 1;
    for command in run.programs.iter().flat_map(|program| &program.commands) {
        if command.layout.fate == Fate::Runs {
            let count = expected.labels.entry(command.label.clone()).or_default();
            count.all += 1;
            count.beside += u64::from(matches!(command.layout.part, Part::Branch { .. }));
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn what_is_counted_is_what_there_was() {
    let mut expected = Statistics::new();
    let mut histories = Vec::new();
    for seed in 0..SEEDS {
        let run = runner().run_seed(seed, async || counts(0).await);
        add(&mut expected, &run);
        let operations: Vec<_> = run.histories.iter().map(|h| h.operations.clone()).collect();
        if !histories.contains(&operations) {
            histories.push(operations);
        }
    }
    for jobs in [1, 3] {
        let report = runner().jobs(jobs).statistics(true).run(async || counts(0).await);
        let found = report.statistics.unwrap();
        assert_eq!(found.distinct_histories(), histories.len());
        assert_eq!((found.runs, &found.labels), (expected.runs, &expected.labels));
        assert_eq!(
            (found.operations, found.overlapped, &found.at_once),
            (expected.operations, expected.overlapped, &expected.at_once)
        );
    }
    let Count { all, beside } = expected.commands();
    assert!(all > 1000 && beside > 500 && expected.overlapped > 200, "{expected:?}");
    assert!(expected.at_once.len() > 3, "{expected:?}");
}

#[test]
fn one_after_the_other_nothing_overlaps() {
    let report = runner().statistics(true).run(async || {
        let history = sim::History::new(Counter::default());
        history.call(Increment(CommandId(0)), async { None }).await;
        history.call(Get, async { Some(1) }).await;
    });
    let statistics = report.statistics.clone().unwrap();
    assert_eq!((statistics.operations, statistics.overlapped), (2 * SEEDS, 0));
    assert_eq!((statistics.distinct_histories(), &statistics.at_once[..]), (1, &[0, SEEDS][..]));
    assert!(text(&report, &Style::default()).contains("No program was generated"));
}

// ---- what is shown

#[test]
fn a_table_is_shown_if_it_is_asked_for() {
    let report = runner().run(async || counts(0).await);
    assert_eq!(report.statistics, None);
    let report = runner().statistics(true).run(async || counts(10).await);
    let screen = text(&report, &Style::default());
    for words in
        ["── programs ──", "beside others", "Increment", "Get", "at once", "wanted in 10 %"]
    {
        assert!(screen.contains(words), "{words:?} is not on {screen}");
    }
    let statistics = report.statistics.unwrap();
    for (label, count) in &statistics.labels {
        let row = screen.lines().find(|line| line.trim_start().starts_with(label)).unwrap();
        assert!(row.contains(&format!(" {} ", count.all)), "{label}: {count:?} in {row}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_search_has_statistics_too() {
    let shape = || Shape::chunks().max_prefix_length(0).max_chunks(1).max_chunk_size(2);
    let report = runner().strategy("exhaustive").seeds(0..300).statistics(true).run(async || {
        let counter = Atomic::new(0);
        sim::parallel(shape().max_suffix_length(1), Counter::default(), async |op| match op {
            Increment(_) => {
                counter.fetch_add(1, SeqCst).await;
                None
            }
            Get => Some(counter.load(SeqCst).await),
        })
        .await;
    });
    assert!(report.passed());
    let statistics = report.statistics.unwrap();
    // Programs of repeated runs count too.
    assert!(statistics.runs >= report.runs && report.runs > 1);
}

// ---- cover

fn missed(report: &Report) -> Option<(&'static str, u64, u64)> {
    match &report.finding.as_ref()?.run.outcome {
        Outcome::Failed(Failure::TooSeldom { conditions, runs, .. }) => {
            assert_eq!(conditions.len(), 1);
            Some((conditions[0].name, conditions[0].runs, *runs))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_case_that_comes_up_often_enough_passes_and_one_that_does_not_fails() {
    for jobs in [1, 3] {
        let run = |percent| runner().jobs(jobs).run(async || counts(percent).await);
        let report = run(5);
        assert_eq!(missed(&report), None);
        assert_eq!(report.statistics, None);
        let report = run(90);
        let (name, held, runs) = missed(&report).expect("nobody gets 0 so often");
        assert_eq!((name, runs), ("a get before all else", SEEDS));
        if SIMULATED {
            let by_hand = (0..SEEDS).filter(|seed| {
                let run = runner().run_seed(*seed, async || counts(90).await);
                run.conditions.iter().any(|asked| asked.name == name && asked.runs == 1)
            });
            assert_eq!(held, by_hand.count() as u64);
        }
        // The screen shows the statistics of the programs without a setting.
        let screen = text(&report, &Style::default());
        for words in ["held in too few runs", "wanted in 90 %", "── programs ──", "Increment"]
        {
            assert!(screen.contains(words), "{words:?} is not on {screen}");
        }
        // The failure belongs to all seeds, and not to the first seed.
        assert!(!screen.contains("seed 0:"), "{screen}");
        assert_eq!(report.statistics.unwrap().runs, SEEDS);
    }
}

#[test]
fn a_case_that_nobody_comes_by_is_not_known() {
    let report = runner().run(async || {
        if sim::rand::below(2) > 1 {
            sim::cover!(true, 50, "the impossible");
        }
    });
    assert!(report.passed());
}

#[cfg_attr(feature = "sim", test)]
fn runs_that_do_not_come_by_count_as_runs() {
    let report = runner().run(async || {
        if sim::rand::below(2) == 1 {
            sim::cover!(true, 80, "one of two");
        }
    });
    let (_, held, runs) = missed(&report).expect("half of the runs are not 80 %");
    assert!(held * 2 < runs + 60 && held * 2 + 60 > runs, "{held} of {runs}");
}

#[test]
fn one_seed_alone_covers_nothing_and_need_not() {
    let report = runner().seed(3).run(async || sim::cover!(false, 50, "never"));
    assert!(report.passed());
}

#[test]
fn a_part_that_is_none_is_said_to_be_none() {
    for percent in [0, 101] {
        let run = runner().run_seed(0, async || sim::cover!(true, percent, "a case"));
        let Outcome::Failed(Failure::Panic { message, .. }) = &run.outcome else {
            panic!("{:?}", run.outcome)
        };
        assert!(message.contains("give a number from 1 to 100"), "{message}");
    }
}

/// A model that allows one of this number of commands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Choosy(u64);

impl Model for Choosy {
    type Op = u64;
    type Ret = ();

    fn step(&mut self, _: &u64) {}
}

impl Program for Choosy {
    fn generate(&self, g: &mut Gen<'_, Self>) -> u64 {
        g.below(1000)
    }

    fn precondition(&self, op: &u64) -> bool {
        *op < self.0
    }
}

#[test]
fn a_test_in_which_no_program_has_a_command_fails() {
    let run = |allowed| {
        let body = async || sim::parallel(Shape::chunks(), Choosy(allowed), async |_| ()).await;
        runner().seeds(0..60).run(body)
    };
    let (name, held, _) = missed(&run(0)).expect("nothing was asked");
    assert_eq!((name, held), ("a command that `precondition` and `resolve` allow", 0));
    // Most programs are empty, and some are not.
    assert_eq!(missed(&run(2)), None);
}

#[cfg_attr(feature = "sim", test)]
fn what_the_model_refuses_is_counted() {
    let body = async || sim::parallel(Shape::chunks(), Choosy(300), async |_| ()).await;
    let report = runner().statistics(true).run(body);
    let omitted = report.statistics.as_ref().unwrap().omitted;
    // The precondition allows 300 of 1000 commands, and each position has eight attempts.
    assert!(omitted.refused > 20 * omitted.precondition, "{omitted:?}");
    assert!(omitted.precondition > 0 && omitted.commands() == omitted.precondition, "{omitted:?}");
    let mut by_hand = [0; 2];
    for seed in 0..SEEDS {
        let run = runner().run_seed(seed, body);
        let program = &run.programs[0];
        by_hand[0] += program.omitted.refused;
        by_hand[1] +=
            program.commands.iter().filter(|c| c.layout.fate == Fate::Absent).count() as u32;
    }
    assert_eq!(by_hand, [omitted.refused, omitted.precondition]);
    let screen = text(&report, &Style::default());
    for words in ["left out", "by their precondition", "the model refused"] {
        assert!(screen.contains(words), "{words:?} is not on {screen}");
    }
}
