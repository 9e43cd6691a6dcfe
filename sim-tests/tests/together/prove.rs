//! Proofs that a failing run has the fewest preemptions: a proof that holds, a proof that
//! finds a better run, and a proof that does not finish.

use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::report::{Finding, Proof, Report, Size, Style, text};
use sim::run::Failure;
use sim::{Atomic, Runner};
use sim_tests::programs::program;
use sim_tests::seeds::failure;

fn runner(name: &str) -> Runner {
    let out = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("prove");
    Runner::new().hermetic().strategy("random").seeds(0..2000).out(out).name(name)
}

fn proof(report: &Report) -> (&Finding, Proof) {
    let finding = report.finding.as_deref().expect("it fails");
    (finding, finding.proof.expect("a proof was tried"))
}

/// A proof that has shown nothing.
const NOTHING: Proof =
    Proof { fewest: 0, complete: false, runs: 0, saved: 0, longer: None, same_stores: false };

fn screen(report: &Report) -> String {
    let screen = text(report, &Style { width: 200, ..Style::default() });
    // The lines of a field are one sentence.
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg_attr(feature = "sim", test)]
fn a_lost_update_needs_its_one_preemption() {
    let report = runner("lost_update").prove(1000).run(program("lost_update").body);
    let (finding, proof) = proof(&report);
    assert_eq!(Size::of(&finding.run).preemptions, 1);
    let Proof { fewest, complete, runs, saved, longer, .. } = proof;
    assert_eq!((fewest, complete, saved, longer), (1, true, 0, None));
    // Without a preemption there are two choices: the first task, and the task that continues after its end.
    assert!((2..10).contains(&runs), "{runs}");
    let said = format!("no failing run has fewer than 1 preemption (proved by {runs} runs)");
    assert!(screen(&report).contains(&said), "{}", screen(&report));
}

#[cfg_attr(feature = "sim", test)]
fn a_proof_under_c11_is_about_runs_with_the_same_choices_of_stores() {
    let runner = runner("lost_update_c11").memory("c11");
    let report = runner.prove(1000).run(program("lost_update").body);
    let (_, proof) = proof(&report);
    assert!(proof.complete && proof.same_stores, "{proof:?}");
    let said = "no failing run with the same choices of stores has fewer than 1 preemption (proved";
    assert!(screen(&report).contains(said), "{}", screen(&report));
}

#[cfg_attr(feature = "sim", test)]
fn nothing_is_proven_unless_asked_for_or_found_by_a_search() {
    let body = program("lost_update").body;
    for (report, proven) in [
        (runner("unasked").run(body), false),
        (runner("refused").strategy("exhaustive").prove(0).run(body), false),
        (runner("searched").strategy("exhaustive").run(body), true),
        (runner("bounded").strategy("delays").run(body), true),
    ] {
        let finding = report.finding.expect("it fails");
        assert_eq!(finding.proof.is_some_and(|proof| proof.complete), proven, "{}", report.test);
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_deadlock_without_a_preemption_needs_no_proof() {
    let report = runner("forgotten").prove(5).run(async || {
        let lock = Arc::new(sim::Mutex::new(()));
        let _held = lock.lock().await;
        let other = lock.clone();
        sim::spawn(async move { drop(other.lock().await) }).await.unwrap();
    });
    let (finding, proof) = proof(&report);
    assert!(matches!(failure(&finding.run), Failure::Deadlock { .. }));
    assert_eq!(proof, Proof { fewest: 0, complete: true, runs: 0, ..NOTHING });
    assert!(screen(&report).contains("it fails without a preemption"), "{}", screen(&report));
}

/// Fails in one place for two possible reasons. The first reason: a task is interrupted between two loads, and another
/// task between two stores. This failure needs two preemptions, and random walks find it at once. The second reason: a
/// task of a hundred steps is interrupted after the step that opens the door, before the next step closes it. This
/// failure needs one preemption, but far from the step at which the loads failed. Reader and writer take `before` steps
/// first.
async fn two_reasons(before: u8) {
    fn check(fine: bool) {
        assert!(fine, "seen between two stores");
    }
    let word = Arc::new(Atomic::new(0u8));
    let door = Arc::new(Atomic::new(false));
    let own_steps = async move || {
        let own = Atomic::new(0);
        for _ in 0..before {
            own.fetch_add(1u8, SeqCst).await;
        }
    };
    let reader = sim::spawn({
        let word = word.clone();
        async move {
            own_steps().await;
            let first = word.load(SeqCst).await;
            let second = word.load(SeqCst).await;
            check(first != 0 || second != 1);
        }
    });
    let writer = sim::spawn(async move {
        own_steps().await;
        word.store(1, SeqCst).await;
        word.store(2, SeqCst).await;
    });
    let guard = sim::spawn({
        let door = door.clone();
        async move { check(!door.load(SeqCst).await) }
    });
    let long = sim::spawn(async move {
        let own = Atomic::new(0u8);
        for step in 0..100 {
            match step {
                40 => door.store(true, SeqCst).await,
                41 => door.store(false, SeqCst).await,
                _ => drop(own.fetch_add(1, SeqCst).await),
            }
        }
    });
    for task in [reader, writer, guard, long] {
        task.await.unwrap();
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_run_with_fewer_preemptions_takes_the_place_of_what_shrinking_came_to() {
    let body = || two_reasons(15);
    let shrunk = runner("fooled").run(body).finding.expect("it fails");
    assert_eq!(Size::of(&shrunk.run).preemptions, 2, "else this test shows nothing");
    let report = runner("put_right").prove(10_000).run(body);
    let (finding, proof) = proof(&report);
    assert_eq!((proof.fewest, proof.complete, proof.saved), (1, true, 1), "{proof:?}");
    let size = Size::of(&finding.run);
    assert_eq!(size.preemptions, 1);
    assert_eq!(finding.shrunk.expect("it was shrunk").size, size);
    let said = "no failing run has fewer than 1 preemption (proved by ";
    assert!(screen(&report).contains(said), "{}", screen(&report));
    assert!(screen(&report).contains("; shrinking had come to 2)"), "{}", screen(&report));
    // The shrunk run has the same failure, and the trace leads to it.
    assert_eq!(failure(&finding.run).signature(), failure(&shrunk.run).signature());
    let trace = finding.trace_file.clone().expect("a trace is written");
    let again = runner("again").replay(trace).run(body).finding.expect("it fails again");
    assert_eq!(again.run.outcome, finding.run.outcome);
}

#[cfg_attr(feature = "sim", test)]
fn a_longer_run_with_fewer_preemptions_is_told_of_and_not_shown() {
    let report = runner("short").prove(10_000).run(|| two_reasons(0));
    let (finding, proof) = proof(&report);
    let (size, found) = (Size::of(&finding.run), finding.original);
    assert!(size.preemptions == 2 && size.steps <= found.steps, "{size:?} of {found:?}");
    assert_eq!((proof.fewest, proof.complete), (1, true), "{proof:?}");
    let longer = proof.longer.expect("the other run is longer");
    assert!(longer > found.steps, "{longer} {found:?}");
    let said = format!(
        "proof a failing run has 1 preemption, and none has fewer, but takes {longer} steps: more than the \
         run that was found, so a shorter one is shown"
    );
    assert!(screen(&report).contains(&said), "{}", screen(&report));
}

#[cfg_attr(feature = "sim", test)]
fn a_proof_that_comes_to_no_end_says_that_it_is_none() {
    let body = async || {
        // Twelve tasks end one by one. So there are far too many orders without a preemption to execute all of them.
        let bystanders: Vec<_> = (0..12).map(|_| sim::spawn(sim::task::yield_now())).collect();
        (program("lost_update").body)().await;
        for task in bystanders {
            task.await.unwrap();
        }
    };
    let report = runner("endless").prove(500).run(body);
    let (finding, proof) = proof(&report);
    let had = Size::of(&finding.run).preemptions;
    assert!(had > 0);
    assert_eq!(proof, Proof { fewest: 0, complete: false, runs: 500, ..NOTHING });
    let said = format!(
        "NOT PROVED that no failing run has fewer than {had} preemption{}: 500 runs were not all of \
         those without one; allow more with prove = N",
        if had == 1 { "" } else { "s" }
    );
    assert!(screen(&report).contains(&said), "{}", screen(&report));
}

#[cfg_attr(feature = "sim", test)]
fn values_that_were_drawn_stay_as_they_are() {
    // If a five were drawn, the body would fail without a preemption. But the run that was found drew another value.
    let body = async || {
        let drawn = sim::rand::below(8);
        let counter = Arc::new(Atomic::new(0u64));
        let add = |counter: Arc<Atomic<u64>>| async move {
            let value = counter.load(SeqCst).await;
            counter.store(value + 1, SeqCst).await;
        };
        let tasks: Vec<_> = (0..2).map(|_| sim::spawn(add(counter.clone()))).collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert!(counter.load(SeqCst).await == 2 && drawn != 5, "an update is missing");
    };
    let report = runner("drawn").prove(1000).run(body);
    let (finding, proof) = proof(&report);
    assert_eq!(finding.run.draws.iter().map(|draw| draw.value).collect::<Vec<_>>(), [0]);
    assert_eq!((proof.complete, proof.fewest), (true, 1), "{proof:?}");
    let said = "no failing run with the same values drawn has fewer than 1 preemption";
    assert!(screen(&report).contains(said), "{}", screen(&report));
}
