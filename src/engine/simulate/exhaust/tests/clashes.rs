//! Steps that did not commute are named: of programs that share something outside of sim, and under faults planted in
//! the declarations.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::report::{Cause, Clash, Report, Searched, Style, text};
use crate::run::op::kind::{Kind, faults};
use crate::run::op::{task, word};
use crate::sync::Ordering::{Relaxed, SeqCst};
use crate::{Atomic, Mutex, Runner};

fn search(body: impl AsyncFn() + Sync) -> Report {
    crate::engine::simulate::hook::install();
    Runner::new().hermetic().strategy("exhaustive").seeds(0..10_000).run(body)
}

/// The search of a report, and its screen in one line.
fn searched(report: &Report) -> (&Searched, String) {
    assert!(report.passed());
    let screen = text(report, &Style { color: false, width: 1000 });
    (report.searched.as_ref().expect("it was a search"), screen)
}

fn clash(searched: &Searched) -> &Clash {
    match &searched.cause {
        Some(Cause::Clash(clash)) => clash,
        other => panic!("the cause is {other:?}"),
    }
}

/// Two tasks record their numbers in the order in which they step. Returns the number that was recorded first.
async fn first_note(is_seen: bool) -> u64 {
    let (seen, unseen) = (Arc::new(Mutex::new(0)), Arc::new(std::sync::Mutex::new(0)));
    let tasks = [1, 2].map(|number| {
        let (seen, unseen) = (seen.clone(), unseen.clone());
        crate::spawn(async move {
            crate::task::yield_now().await;
            if is_seen {
                let mut first = seen.lock().await;
                *first = if *first == 0 { number } else { *first };
            } else {
                let mut first = unseen.lock().unwrap();
                *first = if *first == 0 { number } else { *first };
            }
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    let seen = *seen.lock().await;
    let unseen = *unseen.lock().unwrap();
    seen + unseen
}

/// A test that does something else for each order of the notes.
async fn notes(is_seen: bool) {
    let first = first_note(is_seen).await;
    Atomic::new(0).store(first, SeqCst).await;
}

#[test]
fn steps_that_share_a_lock_of_std_are_named() {
    let report = search(async || notes(false).await);
    let (searched, screen) = searched(&report);
    assert!(searched.by_step && searched.is_proof() && searched.assumption().is_none());
    let Clash { steps, shows, is_death } = clash(searched);
    let mut tasks = steps.each_ref().map(|step| step.task.as_str());
    tasks.sort_unstable();
    assert_eq!(tasks, ["0.0", "0.1"]);
    for step in steps {
        assert!(
            step.operations.starts_with("yield") && step.place.contains("clashes.rs"),
            "{step:?}"
        );
        assert!(screen.contains(&step.place), "{screen}");
    }
    assert!(shows.contains("store (1)") && shows.contains("store (2)"), "{shows}");
    assert!(!is_death && screen.contains("two steps that share no object of sim"), "{screen}");
}

#[test]
fn a_search_of_what_is_seen_names_nothing_and_says_what_it_assumes() {
    let report = search(async || notes(true).await);
    let (searched, screen) = searched(&report);
    assert!(!searched.by_step && searched.cause.is_none() && searched.is_proof());
    assert_eq!(searched.assumption(), Some("tasks share memory through sim only"));
    assert!(screen.contains("assumes that tasks share memory through sim only"), "{screen}");
    assert!(!screen.contains("outside sim"), "{screen}");
}

#[test]
fn a_wake_up_from_outside_is_named() {
    let report = search(async || {
        let (tell, told) = futures::channel::oneshot::channel();
        let task = crate::spawn(async move { tell.send(1).unwrap() });
        assert_eq!(told.await.unwrap(), 1);
        task.await.unwrap();
    });
    let (searched, screen) = searched(&report);
    let Some(Cause::Contact(sign)) = &searched.cause else { panic!("{:?}", searched.cause) };
    assert!(searched.by_step && sign.starts_with("0.0 woke main at "), "{sign}");
    assert!(screen.contains(sign), "{screen}");
}

/// Searches a body, with one relation missing in the declarations. Returns the two steps that the search names.
fn named(pair: (Kind, Kind), body: impl AsyncFn() + Sync) -> [String; 2] {
    let report = faults::without(pair, || search(body));
    let (searched, _) = searched(&report);
    assert!(searched.by_step, "{searched:?}");
    let mut named = clash(searched).steps.each_ref().map(|step| step.operations.clone());
    named.sort_unstable();
    named
}

#[test]
fn a_relation_that_is_not_declared_is_named() {
    let words = async || {
        let words: Arc<[Atomic<u64>; 3]> = Arc::new([0, 1, 2].map(Atomic::new));
        let own = words.clone();
        let reader = crate::spawn(async move {
            own[0].load(SeqCst).await;
            own[1].load(SeqCst).await;
        });
        words[2].store(1, SeqCst).await;
        words[1].store(2, SeqCst).await;
        reader.await.unwrap();
    };
    let [load, store] = named((word::READ, word::WRITE), words);
    assert!(
        load.starts_with("load atomic#1") && store.starts_with("store atomic#1"),
        "{load}, {store}"
    );
    let ends = async || {
        let task = crate::spawn(async {});
        crate::task::yield_now().await;
        let has_ended = u64::from(task.is_finished());
        Atomic::new(0).store(has_ended, SeqCst).await;
        task.await.unwrap();
    };
    let [end, look] = named((task::END, task::LOOK), ends);
    assert!(end.is_empty() && look.starts_with("yield"), "{end}, {look}");
}

/// Two tasks store to words of their own, and then store their place in the order of these stores. They know it from an
/// atomic of std, or of sim.
async fn places(is_seen: bool) {
    let words = Arc::new([0, 0].map(Atomic::new));
    let seen = Arc::new(Atomic::new(0_usize));
    let unseen = Arc::new(AtomicUsize::new(0));
    let tasks = [0, 1].map(|number| {
        let (words, seen, unseen) = (words.clone(), seen.clone(), unseen.clone());
        crate::spawn(async move {
            let own = Atomic::new(0);
            words[number].store(1, Relaxed).await;
            let place = match is_seen {
                true => seen.fetch_add(1, SeqCst).await,
                false => unseen.fetch_add(1, SeqCst),
            };
            own.store(place, Relaxed).await;
            words[1 - number].load(Relaxed).await;
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
}

#[test]
fn with_c11_steps_that_share_an_atomic_of_std_are_named() {
    let search = |is_seen| {
        crate::engine::simulate::hook::install();
        let runner = Runner::new().hermetic().strategy("exhaustive").memory("c11");
        runner.seeds(0..100_000).run(async || places(is_seen).await)
    };
    let report = search(false);
    let (searched, screen) = searched(&report);
    assert!(searched.by_step && searched.is_proof(), "{screen}");
    assert!(!screen.contains("NOT A PROOF") && screen.contains("outside sim"), "{screen}");
    let Clash { steps, shows, .. } = clash(searched);
    assert!(steps.iter().all(|step| step.operations.contains("store")), "{steps:?}");
    assert!(shows.contains("store (0)") && shows.contains("store (1)"), "{shows}");
    let report = search(true);
    let (searched, screen) = self::searched(&report);
    assert!(!searched.by_step && searched.cause.is_none() && searched.is_proof(), "{screen}");
}
