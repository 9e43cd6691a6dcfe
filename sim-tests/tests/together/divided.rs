//! Searches with several threads against the same searches with one thread, and their estimates.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sim::__private::results::{Ledger, ResultsFile};
use sim::Ordering::SeqCst;
use sim::report::{Excess, Report, Searched, Style, text};
use sim::run::{Outcome, StepRecord};
use sim::{Atomic, Runner};
use sim_tests::histories::long;

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("divided").join(name)
}

fn search(strategy: &str) -> Runner {
    Runner::new().hermetic().strategy(strategy).out(folder("traces")).name("divided")
}

/// The screen as one line: a sentence may be wrapped.
fn screen(report: &Report) -> String {
    let screen = text(report, &Style::default());
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Three tasks that each add to one word this number of times. The run with this order of the adds fails.
async fn adders(times: usize, rare: &[usize]) {
    let word = Arc::new(Atomic::new(0usize));
    let adds = |word: Arc<Atomic<usize>>| async move {
        let mut places = Vec::new();
        for _ in 0..times {
            places.push(word.fetch_add(1, SeqCst).await);
        }
        places
    };
    let tasks = [(); 3].map(|()| sim::spawn(adds(word.clone())));
    let mut order = vec![0; 3 * times];
    for (number, task) in tasks.into_iter().enumerate() {
        for place in task.await.unwrap() {
            order[place] = number;
        }
    }
    assert_ne!(order, rare);
}

/// An order of twelve adds with many preemptions.
const MIXED: &[usize] = &[2, 0, 1, 2, 1, 0, 0, 2, 1, 0, 1, 2];

/// An order of eighteen adds with two preemptions.
const NESTED: &[usize] = &[0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 1, 1, 1, 0, 0, 0];

/// The result of a search: the counts and the progress, and the number and the steps of the failing run, if any.
type Seen = (u64, u64, Searched, Option<(u64, Vec<StepRecord>, Outcome)>);

fn seen(report: Report) -> Seen {
    let failing = report.finding.map(|finding| {
        let run = finding.run;
        (run.seed.0, run.steps, run.outcome)
    });
    (report.runs, report.steps, report.searched.expect("it was a search"), failing)
}

#[cfg_attr(feature = "sim", test)]
fn each_search_has_the_same_runs_and_failure_with_any_number_of_threads() {
    for (strategy, limit, rare) in [
        ("exhaustive", 100_000, MIXED),
        ("preemptions", 100_000, NESTED),
        ("delays", 100_000, NESTED),
        // The first of these searches continues with another search.
        ("exhaustive", 6_000, &[]),
        ("preemptions", 6_000, &[]),
        ("delays", 6_000, &[]),
        ("preemptions:2", 100_000, &[]),
        ("delays:3", 100_000, &[]),
    ] {
        let times = if rare.len() == MIXED.len() { 4 } else { 6 };
        let by = |jobs| {
            let search = search(strategy).seeds(0..limit).jobs(jobs).shrink(false);
            seen(search.run(move || adders(times, rare)))
        };
        let alone = by(1);
        assert_eq!(alone.3.is_some(), !rare.is_empty(), "{strategy}: {alone:?}");
        assert_eq!(by(3), alone, "{strategy}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn an_unfinished_search_estimates_its_runs_and_names_the_bound_that_fits() {
    // The adds of three tasks, in 34,650 orders.
    let (limit, orders) = (9_000, 34_650);
    let body = || adders(4, &[]);
    let by = |jobs| {
        let results = folder(&format!("estimated by {jobs}"));
        // The folder may not exist.
        let _ = fs::remove_dir_all(&results);
        search("exhaustive").seeds(0..limit).results(results).jobs(jobs).run(body)
    };
    let report = by(1);
    let searched = report.searched.clone().unwrap();
    let estimate = searched.estimate.expect("the search has made enough runs for an estimate");
    assert!((orders / 2..orders * 2).contains(&estimate.runs), "{estimate:?}");
    assert!(estimate.low <= estimate.runs && estimate.runs <= estimate.high, "{estimate:?}");
    let part = searched.part.expect("the part follows from the estimate");
    let expected = report.runs as f64 / estimate.runs as f64;
    assert!((part / expected - 1.0).abs() < 0.01, "{part} instead of {expected}");
    // The progress over time contains the estimate, too. A total number is stated only with its interval.
    assert!(searched.series.iter().all(|point| point.total.is_some() == point.interval.is_some()));
    assert_eq!(searched.series.last().unwrap().total, Some(estimate.runs));

    let Some(Excess { limit: stated, fits: Some(fits) }) = searched.excess else {
        panic!("{searched:?}")
    };
    assert_eq!(stated, limit);
    let named = format!("strategy = \"preemptions:{}\" would be complete", fits.preemptions);
    assert!(screen(&report).contains(&named), "{}", screen(&report));
    let bounded = search(&format!("preemptions:{}", fits.preemptions)).seeds(0..limit).run(body);
    let runs = bounded.runs;
    assert!(bounded.searched.unwrap().complete, "{fits:?}: {runs} runs");
    assert!((runs / 2..runs * 2).contains(&fits.runs), "{fits:?}: {runs} runs");

    assert_eq!(by(3).searched, Some(searched));
}

#[cfg_attr(feature = "sim", test)]
fn a_complete_search_has_no_estimate() {
    let searched = search("exhaustive").run(|| adders(3, &[])).searched.unwrap();
    assert_eq!((searched.part, searched.estimate, searched.excess), (Some(1.0), None, None));
    let last = searched.series.last().unwrap();
    assert_eq!((last.total, last.interval), (Some(last.runs), None));
}

#[cfg_attr(feature = "sim", test)]
fn one_run_of_a_recorded_search_is_the_run_that_the_search_made() {
    let recorded = |name: &str, limit| {
        let results = folder(name);
        // The folder may not exist.
        let _ = fs::remove_dir_all(&results);
        search("exhaustive").seeds(0..limit).results(results).shrink(false)
    };
    // Without results, the search would be given up at half of the limit. So half of the limit must come before the
    // failing run, and before half of the search.
    let found = (0..MIXED.len()).find_map(|turn| {
        let mut order = MIXED.to_vec();
        order.rotate_left(turn);
        let order: &[usize] = order.leak();
        let search = recorded(&format!("failing {turn}"), 100_000);
        let (_, _, _, failing) = seen(search.run(move || adders(4, order)));
        let (number, steps, _) = failing.expect("one of the orders fails");
        (1_000..17_000).contains(&number).then_some((order, number, steps))
    });
    let (order, number, steps) = found.expect("one of the runs is in the first half");
    let run = recorded("one run", number + 1).run_seed(number, move || adders(4, order));
    assert_eq!(run.steps, steps);
    assert!(matches!(run.outcome, Outcome::Failed(_)), "{:?}", run.outcome);
}

/// Tasks that each add to one word, so many times each.
async fn adds(counts: &[usize]) {
    let word = Arc::new(Atomic::new(0usize));
    let add = |times: usize, word: Arc<Atomic<usize>>| async move {
        for _ in 0..times {
            word.fetch_add(1, SeqCst).await;
        }
    };
    let tasks: Vec<_> = counts.iter().map(|times| sim::spawn(add(*times, word.clone()))).collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// Executes a search of these adds with some threads. Returns its time.
fn time_of_search(counts: &'static [usize], orders: u64, jobs: usize) -> (Duration, PathBuf) {
    let results = folder(&format!("cost of {jobs}"));
    // The folder may not exist.
    let _ = fs::remove_dir_all(&results);
    let search = search("exhaustive").seeds(0..10_000_000).results(&results).jobs(jobs);
    let began = Instant::now();
    let report = search.run(move || adds(counts));
    let time = began.elapsed();
    assert!(report.searched.is_some_and(|searched| searched.complete));
    assert_eq!(report.runs, orders);
    (time, results)
}

/// `UNPAUSE_LONG=1` searches a million classes, for the figures of docs/scale.md.
#[cfg_attr(feature = "sim", test)]
fn reading_and_merging_results_takes_a_small_part_of_the_search() {
    let (counts, orders): (&[usize], u64) =
        if long() { (&[4, 3, 3, 3], 1_201_200) } else { (&[3, 3, 3], 1_680) };
    let (searching, results) = time_of_search(counts, orders, 1);
    let mut paths = vec![results];
    while paths[0].is_dir() {
        paths = fs::read_dir(&paths[0]).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(paths.len(), 1, "{paths:?}");
    }
    // Other programs on the machine can only increase a time.
    let (mut reading, mut size) = (Duration::MAX, 0);
    for _ in 0..5 {
        let began = Instant::now();
        let bytes = fs::read(&paths[0]).unwrap();
        let file = ResultsFile::read(&bytes).unwrap();
        let ledger = Ledger::follow(file.search, (1, 1), None, false).unwrap();
        reading = reading.min(began.elapsed());
        size = bytes.len();
        assert!(ledger.is_through());
        assert_eq!(ledger.progress().runs, orders);
    }
    let part = reading.as_secs_f64() / searching.as_secs_f64();
    println!(
        "{orders} classes: {:.2} s for the search, {:.1} ms for reading and merging {:.1} MB, which is {:.2} %",
        searching.as_secs_f64(),
        reading.as_secs_f64() * 1e3,
        size as f64 / 1e6,
        part * 100.0
    );
    assert!(size <= 25_000_000, "{size} bytes");
    // In a short search, a few lines are read for each hundred runs.
    assert!(part < if long() { 0.01 } else { 0.1 }, "{part}");
    if long() {
        let (by_two, _) = time_of_search(counts, orders, 2);
        println!(
            "two threads: {:.2} times the speed",
            searching.as_secs_f64() / by_two.as_secs_f64()
        );
    }
}
