//! The old stores that a failure needs, with the memory `c11`. Before the screen claims a need, runs with the memory
//! `sc` are tried.

use std::sync::Arc;

use sim::Ordering::{Acquire, Relaxed};
use sim::report::{Report, Style, text};
use sim::run::store_choice::is_store_choice;
use sim::{Atomic, Runner, spawn};

/// Two tasks add to a word by a load and a store, so one of the adds may get lost.
async fn adds() {
    let word = Arc::new(Atomic::new(0));
    let tasks = [(); 2].map(|()| {
        let word = word.clone();
        spawn(async move {
            let value = word.load(Relaxed).await;
            word.store(value + 1, Relaxed).await;
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(word.load(Relaxed).await, 2);
}

/// A task publishes data by a relaxed store. Beside it, `others` tasks do something else.
async fn publishes(others: usize) {
    let words = Arc::new([0, 0].map(Atomic::new));
    let shared = words.clone();
    let writer = spawn(async move {
        shared[0].store(1, Relaxed).await;
        shared[1].store(1, Relaxed).await;
    });
    let count = Arc::new(Atomic::new(0));
    let other = |_| {
        let count = count.clone();
        spawn(async move {
            for _ in 0..3 {
                count.fetch_add(1, Relaxed).await;
            }
        })
    };
    let others: Vec<_> = (0..others).map(other).collect();
    if words[1].load(Acquire).await == 1 {
        assert_eq!(words[0].load(Relaxed).await, 1);
    }
    writer.await.unwrap();
    for other in others {
        other.await.unwrap();
    }
}

/// The screen of a failing report, as words.
fn words(report: &Report) -> String {
    let screen = text(report, &Style::default());
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn runner(strategy: &str) -> Runner {
    Runner::new().hermetic().memory("c11").strategy(strategy)
}

/// A failing run of the seeds often has an old store, but the failure does not need it.
#[cfg_attr(feature = "sim", test)]
fn a_failure_that_sc_has_is_shown_without_old_stores() {
    const NEEDS: &str = "no stale read: it fails with memory = \"sc\", too";
    let mut old = 0;
    for seed in 0..60 {
        let found = runner("portfolio").shrink(false).seed(seed).run(adds);
        let Some(finding) = &found.finding else { continue };
        let mut choices = finding.run.draws.iter().filter(|draw| is_store_choice(draw.why));
        old += u32::from(choices.any(|choice| choice.value != 0));
        let report = runner("portfolio").seed(seed).run(adds);
        assert!(words(&report).contains(NEEDS), "seed {seed}: {}", words(&report));
        let finding = report.finding.as_ref().expect("the seed fails");
        assert!(finding.with_sc.is_none_or(|with_sc| with_sc.fails));
        assert!(finding.run.steps.len() as u64 <= u64::from(finding.original.steps));
        // The reported trace fails with the memory of the test.
        let replay = finding.replay.as_ref().expect("a command");
        let trace = replay.split_once(".replay(\"").and_then(|(_, rest)| rest.split_once("\")"));
        let (trace, _) = trace.expect("a trace in code");
        let again = runner("portfolio").replay(trace).run(adds);
        assert_eq!(again.finding.map(|it| it.run.outcome), Some(finding.run.outcome.clone()));
    }
    assert!(old > 3, "{old} runs have chosen stores");
    let report = runner("exhaustive").run(adds);
    assert!(words(&report).contains(NEEDS), "{}", words(&report));
}

#[cfg_attr(feature = "sim", test)]
fn a_need_for_old_stores_is_proved_or_the_screen_says_what_was_tried() {
    let report = runner("portfolio").run(|| publishes(0));
    let (shown, document) = (words(&report), sim::report::json(&report, &Style::default()));
    let with_sc = report.finding.unwrap().with_sc.expect("runs with sc");
    assert!(with_sc.complete && !with_sc.fails);
    let field =
        format!("\"with_sc\":{{\"fails\":false,\"complete\":true,\"runs\":{}}}", with_sc.runs);
    assert!(document.contains(&field), "{document}");
    let needs = format!("needs 1 stale read (with memory = \"sc\", all {} ", with_sc.runs);
    assert!(shown.contains(&needs), "{shown}");
    let searched = Runner::new().hermetic().strategy("exhaustive").run(|| publishes(0));
    assert_eq!(searched.runs, with_sc.runs);
    let report = runner("portfolio").run(|| publishes(3));
    let shown = words(&report);
    let with_sc = report.finding.unwrap().with_sc.expect("runs with sc");
    assert!(!with_sc.complete && !with_sc.fails && with_sc.runs >= 300);
    let needs = format!("1 stale read (not found in {} runs with memory = \"sc\")", with_sc.runs);
    assert!(shown.contains(&needs), "{shown}");
}
