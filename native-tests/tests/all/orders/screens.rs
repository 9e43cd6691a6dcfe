//! Screens, traces and searches with the memory `c11`.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use std::thread;

use sim::report::Report;

use super::{alone, runner, screen};

fn passes_a_message(publish: Ordering, other: Ordering) {
    let (data, flag) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            data.store(1, other);
            flag.store(1, publish);
        });
        if flag.load(if other == SeqCst { SeqCst } else { Acquire }) == 1 {
            assert_eq!(data.load(other), 1);
        }
    });
}

fn relaxed() {
    passes_a_message(Relaxed, Relaxed);
}

fn released() {
    passes_a_message(Release, Relaxed);
}

fn sequentially_consistent() {
    passes_a_message(SeqCst, SeqCst);
}

/// Only the order of a failure is weaker than `SeqCst`.
fn exchanges() {
    let slot = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| slot.store(1, SeqCst));
        _ = slot.compare_exchange(1, 2, SeqCst, Relaxed);
    });
}

fn stores_twice() {
    let (x, y) = (AtomicU32::new(0), AtomicU32::new(0));
    let both = |first: &AtomicU32, second: &AtomicU32| {
        first.store(1, Release);
        second.store(2, Release);
    };
    thread::scope(|scope| {
        scope.spawn(|| both(&x, &y));
        scope.spawn(|| both(&y, &x));
    });
    assert_ne!((x.load(SeqCst), y.load(SeqCst)), (1, 1));
}

/// A search lets a thread read one older store three times.
fn reads_four_times() {
    let word = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| word.store(1, Relaxed));
        (0..4).for_each(|_| _ = word.load(Relaxed));
    });
}

#[track_caller]
fn has(screen: &str, text: &str) {
    assert!(screen.contains(text), "no {text:?} in\n{screen}");
}

#[test]
fn a_screen_shows_the_newest_value_beside_the_value_seen() {
    let _alone = alone();
    let shown = screen(&runner("c11", 200).shrink(true).run_native(relaxed));
    if std::env::var_os("UNPAUSE_SHOW").is_some() {
        println!("{shown}");
    }
    has(&shown, "settings    memory = c11");
    has(&shown, " 1 preemption (");
    // The page has rows of it.
    let page = include_str!("../../../../docs/memory.md");
    let (_, rows) = page.split_once("```text\n").unwrap();
    let (rows, _) = rows.split_once("```").unwrap();
    rows.lines().for_each(|row| has(&shown, row));
    let shown = screen(&runner("c11", 200).shrink(true).run_native(stores_twice));
    has(&shown, "needs       1 early store (with memory = \"sc\", all ");
    has(&shown, "precedes the newest");
    let shown = screen(&runner("c11", 200).shrink(true).run_native(fails_at_its_end));
    has(&shown, "needs       no stale read: it fails with memory = \"sc\", too\n");
}

fn searched(memory: &str, program: fn()) -> Report {
    runner(memory, 5_000).strategy("exhaustive").run_native(program)
}

#[test]
fn a_search_says_how_it_took_the_orders() {
    const UNTRIED: &str = "older stores are tried within limits only: a thread reads the same one at most three times, and \
        a word keeps 16";
    let _alone = alone();
    for program in [released, exchanges] {
        let proof = searched("sc", program);
        assert!(proof.searched.as_ref().unwrap().is_proof());
        has(&screen(&proof), "(assumes that orders weaker than SeqCst act as SeqCst)");
    }
    let proof = searched("sc", sequentially_consistent);
    assert!(proof.searched.as_ref().unwrap().is_proof());
    assert!(!screen(&proof).contains("assumes"), "{}", screen(&proof));

    assert!(!searched("c11", relaxed).passed());
    for program in [released, sequentially_consistent] {
        let proof = searched("c11", program);
        assert!(proof.searched.as_ref().unwrap().is_proof(), "{}", screen(&proof));
    }
    has(&screen(&searched("c11", released)), "(memory orders act as in C11:");
    let report = searched("c11", reads_four_times);
    assert!(report.passed() && !report.searched.as_ref().unwrap().is_proof());
    let shown = screen(&report).split_whitespace().collect::<Vec<_>>().join(" ");
    has(&shown, &format!("NOT A PROOF: {UNTRIED}"));
    let must = runner("c11", 5_000).strategy("exhaustive").must_prove(true);
    assert!(must.run_native(released).passed());
    let must = must.run_native(reads_four_times);
    assert!(!must.passed());
    has(&screen(&must).split_whitespace().collect::<Vec<_>>().join(" "), UNTRIED);
}

/// The seed, the decisions and the outcome of the first failure.
fn failure(report: &Report) -> Option<(u64, String, String)> {
    let run = &report.finding.as_ref()?.run;
    Some((run.seed.0, format!("{:?} {:?}", run.steps, run.draws), format!("{:?}", run.outcome)))
}

#[test]
fn a_seed_is_the_same_run_also_in_a_process_of_its_own() {
    let _alone = alone();
    for program in [relaxed, stores_twice] {
        let first = failure(&runner("c11", 200).run_native(program));
        assert!(first.is_some());
        assert_eq!(failure(&runner("c11", 200).run_native(program)), first);
        let apart = runner("c11", 200).isolate("process").run_native(program);
        assert_eq!(failure(&apart), first);
    }
    let apart = runner("c11", 100).isolate("process").run_native(released);
    assert!(apart.passed(), "{}", screen(&apart));
}

fn fails_at_its_end() {
    sequentially_consistent();
    panic!("at its end");
}

#[test]
fn a_program_whose_orders_are_seqcst_has_the_same_runs() {
    let _alone = alone();
    for seed in 0..50 {
        // The portfolio has another mix with `c11`.
        let run =
            |memory| runner(memory, 1).strategy("orders").seed(seed).run_native(fails_at_its_end);
        assert_eq!(failure(&run("sc")), failure(&run("c11")), "seed {seed}");
    }
}
