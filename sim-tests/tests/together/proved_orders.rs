//! Strengthenings of memory orders that are judged by all runs of the program.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};

use sim::report::{Report, Strengthening};
use sim::{Atomic, Runner};

type Body = fn() -> Pin<Box<dyn Future<Output = ()>>>;

fn runner(strategy: &str, seeds: u64) -> Runner {
    Runner::new().hermetic().strategy(strategy).memory("c11").seeds(0..seeds)
}

fn hint(body: Body) -> (Option<Strengthening>, Report) {
    let report = runner("portfolio", 500).run(body);
    let finding = report.finding.as_ref().expect("a stale read");
    (finding.strengthening.clone(), report)
}

/// A task writes data, then a flag. Another task reads the flag, then the data.
async fn publishes(store: Ordering, load: Ordering, rounds: u64) {
    let (data, flag) = (Arc::new(Atomic::new(0)), Arc::new(Atomic::new(0)));
    let (own_data, own_flag) = (data.clone(), flag.clone());
    let writer = sim::spawn(async move {
        for value in 1..=rounds {
            own_data.store(value, Relaxed).await;
            own_flag.store(value, store).await;
        }
    });
    let seen = flag.load(load).await;
    assert!(data.load(Relaxed).await >= seen, "stale");
    writer.await.unwrap();
}

/// Three tasks: the flag of the first goes through the second.
async fn passes_on(store: Ordering, load: Ordering) {
    let words = Arc::new([const { 0 }; 3].map(Atomic::new));
    let (first, second) = (words.clone(), words.clone());
    let first = sim::spawn(async move {
        first[0].store(1, Relaxed).await;
        first[1].store(1, store).await;
    });
    let second = sim::spawn(async move {
        if second[1].load(load).await == 1 {
            second[2].store(1, store).await;
        }
    });
    if words[2].load(load).await == 1 {
        assert_eq!(words[0].load(Relaxed).await, 1, "stale");
    }
    first.await.unwrap();
    second.await.unwrap();
}

/// Each program with weak orders, and the same program with the orders of its hint.
const PROGRAMS: [(Body, Body); 3] = [
    (|| Box::pin(publishes(Relaxed, Relaxed, 1)), || Box::pin(publishes(Release, Acquire, 1))),
    (|| Box::pin(publishes(Release, Relaxed, 2)), || Box::pin(publishes(Release, Acquire, 2))),
    (|| Box::pin(passes_on(Relaxed, Relaxed)), || Box::pin(passes_on(Release, Acquire))),
];

/// The number of interleavings is the number of runs of a search of the mended program.
#[cfg_attr(feature = "sim", test)]
fn a_hint_is_proved_by_all_runs() {
    for (nth, (weak, mended)) in PROGRAMS.into_iter().enumerate() {
        let (hint, report) = hint(weak);
        let searched = runner("exhaustive", 10_000).run(mended);
        assert!(searched.searched.as_ref().unwrap().is_proof(), "{nth}: {searched:?}");
        let proved = hint.and_then(|hint| hint.interleavings);
        assert_eq!(proved, Some(searched.runs), "{nth}");
        let screen = sim::report::text(&report, &sim::report::Style::default());
        let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = format!("proved, all {} interleavings pass", searched.runs);
        assert!(words.contains(&expected), "{nth}: {screen}");
    }
}

/// A stale read of the data, and a rare one behind `turns` reads in which the tasks alternate.
async fn rarely_fails_otherwise(store: Ordering, load: Ordering) {
    const TURNS: u64 = 8;
    let words = Arc::new([const { 0 }; 4].map(Atomic::new));
    let own = words.clone();
    let writer = sim::spawn(async move {
        own[0].store(1, Relaxed).await;
        own[1].store(1, store).await;
        for turn in 1..=TURNS {
            own[2].store(turn, Release).await;
        }
        own[3].store(1, Relaxed).await;
    });
    let seen = words[1].load(load).await;
    let is_stale = seen == 1 && words[0].load(Relaxed).await == 0;
    let mut turns = 0;
    while !is_stale && turns < TURNS && words[2].load(Acquire).await == turns + 1 {
        turns += 1;
    }
    let is_late = turns == TURNS && words[3].load(Relaxed).await == 0;
    assert!(!is_stale && !is_late, "stale");
    writer.await.unwrap();
}

/// No seed refutes `Release` and `Acquire` for the flag, but a run of the search does.
#[cfg_attr(feature = "sim", test)]
fn a_hint_that_only_a_rare_run_refutes_is_not_shown() {
    let (hint, report) = hint(|| Box::pin(rarely_fails_otherwise(Relaxed, Relaxed)));
    assert_eq!(hint, None, "{:?}", report.finding.map(|finding| finding.run.events));
    let mended: Body = || Box::pin(rarely_fails_otherwise(Release, Acquire));
    let searched = runner("exhaustive", 10_000).run(mended);
    assert!(searched.finding.is_some(), "the mended program fails too");
    assert!(runner("portfolio", 300).run(mended).passed(), "and no seed shows it");
}

/// A search that would take too long leaves the hint as the seeds have judged it.
#[cfg_attr(feature = "sim", test)]
fn a_hint_for_a_long_program_is_judged_by_seeds() {
    let (hint, report) = hint(|| Box::pin(publishes(Release, Relaxed, 60)));
    let hint = hint.expect("an order");
    assert_eq!(hint.interleavings, None, "{report:?}");
    assert!(hint.runs >= 300);
}
