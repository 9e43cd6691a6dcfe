//! Code that makes rare cases common, in the runs that enable it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sim::report::{Report, Style, text};
use sim::{Atomic, Mutex, Ordering::SeqCst, Runner};
use sim_tests::seeds::{passes, runner};

fn screen(report: &Report) -> String {
    let screen = text(report, &Style { width: 200, ..Style::default() });
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn on(name: &str) -> Runner {
    runner(name).buggify(true)
}

/// Appends a number to the queue, unless the queue is full.
async fn push(queue: &Mutex<Vec<u64>>, number: u64) -> Result<(), u64> {
    let mut queue = queue.lock().await;
    if queue.len() == 100 || sim::buggify!("full queue") {
        return Err(number);
    }
    queue.push(number);
    Ok(())
}

/// Two tasks queue numbers. The bug: a task that finds the queue full loses its number.
async fn queues(tries_again: bool) {
    let queue = Arc::new(Mutex::new(Vec::new()));
    let tasks = [1, 2].map(|number| {
        let queue = queue.clone();
        sim::spawn(async move {
            let mut left = push(&queue, number).await;
            while let (Err(number), true) = (left, tries_again) {
                left = push(&queue, number).await;
            }
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(queue.lock().await.len(), 2, "a number is lost");
}

#[cfg_attr(feature = "sim", test)]
fn a_rare_case_is_tested_if_the_test_asks_for_it() {
    passes("queue", async || queues(false).await);
    let found = on("queue").run(async || queues(false).await);
    let run = &found.finding.as_ref().expect("it is not found").run;
    let marked =
        run.draws.iter().filter(|draw| draw.why == "buggify: full queue" && draw.value == 1);
    assert_eq!(marked.count(), 1, "one of them is enough");
    let screen = screen(&found);
    assert!(screen.contains("buggify: full queue"), "{screen}");
    let fixed = on("queue").run(async || queues(true).await);
    assert!(fixed.passed() && fixed.warnings.is_empty(), "{:?}", fixed.warnings);
    let [count] = &fixed.faults[..] else { panic!("{:?}", fixed.faults) };
    assert_eq!(count.kind, "buggify: full queue");
    assert!(0 < count.met && count.met < count.times, "{count:?}");
    assert!(self::screen(&fixed).contains(&format!("true in {} of", count.met)));
}

#[cfg_attr(feature = "sim", test)]
fn a_search_tries_both_values() {
    let search = |name| on(name).strategy("exhaustive");
    let passing = |times: u64| {
        search("passes").run(async || {
            let marks = (0..times).filter(|_| sim::buggify!());
            Atomic::new(0).store(marks.count(), SeqCst).await;
        })
    };
    for times in 0..3 {
        let report = passing(times);
        assert!(
            report.passed() && report.searched.as_ref().unwrap().is_proof(),
            "{}",
            screen(&report)
        );
        assert_eq!(report.runs, 1 << times);
    }
    // The search does not try a third fault of a task.
    let report = passing(3);
    assert_eq!(report.runs, 7);
    assert!(!report.searched.as_ref().unwrap().is_proof());
    assert!(!search("queue").run(async || queues(false).await).passed());
    let once = async |is_fixed: bool| {
        let word = Arc::new(Atomic::new(0));
        let other = word.clone();
        let task = sim::spawn(async move {
            if sim::buggify!("late") {
                sim::task::yield_now().await;
                if is_fixed {
                    return;
                }
            }
            other.fetch_add(1, SeqCst).await;
        });
        let seen = word.load(SeqCst).await;
        task.await.unwrap();
        assert!(seen <= 1);
        assert!(is_fixed || word.load(SeqCst).await == 1);
    };
    for is_fixed in [true, false] {
        let report = search("late").run(async || once(is_fixed).await);
        assert!(
            report.passed() && report.searched.as_ref().unwrap().is_proof(),
            "{}",
            screen(&report)
        );
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_seed_switches_a_quarter_of_the_places_on_and_there_a_quarter_of_the_passes_are_true() {
    const PASSES: u64 = 16;
    let [first, second, both, all] = [const { AtomicU64::new(0) }; 4];
    let report = on("rates").seeds(0..4000).run(async || {
        let count = |is_true: &dyn Fn() -> bool| (0..PASSES).filter(|_| is_true()).count() as u64;
        let [a, b] = [count(&|| sim::buggify!("a")), count(&|| sim::buggify!("b"))];
        all.fetch_add(a, Relaxed);
        first.fetch_add(u64::from(a > 0), Relaxed);
        second.fetch_add(u64::from(b > 0), Relaxed);
        both.fetch_add(u64::from(a > 0 && b > 0), Relaxed);
    });
    assert!(report.passed());
    // The first and the last seed may run twice.
    let [first, second, both, all] = [first, second, both, all].map(|n| n.load(Relaxed));
    assert!((900..1100).contains(&first) && (900..1100).contains(&second), "{first}, {second}");
    assert!((190..310).contains(&both), "{both}");
    assert!((3600..4400).contains(&all), "{all}");
}

#[cfg_attr(feature = "sim", test)]
fn a_place_that_was_true_in_no_run_is_reported() {
    let report = on("idle").seeds(0..2).run(async || _ = sim::buggify!("a"));
    let [warning] = &report.warnings[..] else { panic!("{:?}", report.warnings) };
    assert!(warning.contains("buggify!(\"a\") was true in none of 2 passes"), "{warning}");
}

#[test]
fn it_is_false_where_no_test_asks_for_it() {
    assert!(!sim::buggify!() && !sim::buggify!("a"));
    let report = passes("off", async || {
        assert!(!sim::buggify!("a"));
        assert!(!(0..100).any(|_| sim::buggify!()));
    });
    assert!(report.faults.is_empty());
}

/// The other decisions of a run must be the same with and without these decisions.
#[cfg_attr(feature = "sim", test)]
fn other_decisions_do_not_depend_on_it() {
    let drawn = |runner: Runner, seed| {
        let run = runner.run_seed(seed, async || {
            sim::map_concurrently(0..3, async |_| {
                let _ = sim::buggify!("a");
                sim::rand::below(1000)
            })
            .await;
        });
        let draws = run.draws.iter().filter(|draw| !draw.given);
        draws.map(|draw| draw.value).collect::<Vec<_>>()
    };
    for seed in 0..20 {
        assert_eq!(drawn(on("same"), seed), drawn(runner("same"), seed));
    }
}

#[sim::test(buggify, seeds = 200, must_fail)]
async fn the_argument_of_a_test_asks_for_it() {
    queues(false).await;
}
