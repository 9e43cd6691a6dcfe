//! Sets the number of runs that the audit samples. The audit checks a search that does not keep all classes.

use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::Arc;

use super::super::RunVisitor;
use super::super::audit::{RUNS, audit};
use super::super::slice::{SliceMaker, SliceOrder};
use super::super::top;
use super::bounded::Bounds;
use super::weak_bounds;
use crate::engine::assignment::Assignment;
use crate::engine::config::{Config, Settings};
use crate::engine::results::Results;
use crate::engine::runner::Site;
use crate::engine::runner::outcome::FunctionBody;
use crate::engine::simulate::session::Session;
use crate::run::rng::Rng;
use crate::strategy::Search;
use crate::strategy::divided::{Division, Rest, SearchTree, Slice};
use crate::strategy::exhaustive::{Exhaustive, Rule, without};
use crate::sync::Ordering::{Relaxed, SeqCst};

fn exhaustive_with_c11() -> Config {
    let [strategy, memory] = ["exhaustive", "c11"].map(|text| Some(text.to_owned()));
    Settings { strategy, memory, ..Settings::default() }.resolve().expect("valid settings")
}

/// Explores the remaining runs of a search, or of a share of it. Returns the classes of its slices. The class `lost` is
/// not kept.
fn explore(
    session: &Session<'_>,
    tree: &mut SearchTree,
    lost: Option<u64>,
    share: Option<Division>,
) -> BTreeSet<u64> {
    let mut classes = BTreeSet::new();
    let search: Arc<dyn Search> = Arc::new(Exhaustive::default());
    let mut maker = SliceMaker::new(session, Arc::new(Exhaustive::default()));
    while !tree.is_through() {
        if let Some(share) = share.filter(|_| tree.needs_top()) {
            top::make(session, &search, tree, share);
        }
        let mut slices = Vec::new();
        for (at, budget) in tree.budgets(u64::MAX).into_iter().enumerate() {
            let order = SliceOrder { part: tree.part(at), budget, from: 1, failed: None };
            let mut slice = maker.make(order, &mut RunVisitor::UntilFailure, &|| true).slice;
            slice.classes.retain(|class| Some(*class) != lost);
            classes.extend(&slice.classes);
            slices.push(slice);
        }
        let restarts = tree.restarts();
        tree.merge(slices);
        if tree.restarts() != restarts {
            classes.clear();
        }
    }
    tree.sort_classes();
    classes
}

/// Adds a round with this number of classes of another program, which are kept like its own classes.
fn add_others(tree: &mut SearchTree, classes: u64) {
    let mut rng = Rng::new(1);
    let classes = (0..classes).map(|_| rng.below(u64::MAX)).collect();
    let rest = Some(Rest { draws: Vec::new(), stack: tree.part(0).stack });
    tree.merge(vec![Slice { classes, rest, ..Slice::default() }]);
}

#[test]
fn an_audit_samples_until_enough_runs_can_be_looked_up() {
    crate::engine::simulate::hook::install();
    // The adds of four tasks, in 24 orders.
    let body = FunctionBody::new(async || {
        let word = Arc::new(crate::Atomic::new(0));
        let add = |_| {
            let word = word.clone();
            crate::spawn(async move { word.fetch_add(1, SeqCst).await })
        };
        let tasks: Vec<_> = (0..4).map(add).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    let strategy = Some("exhaustive".to_owned());
    let config = Settings { strategy, ..Settings::default() }.resolve().expect("valid settings");
    let (site, results) = (Site::of_program(Location::caller()), Results::nowhere());
    let assignment = Assignment::new(&config, &site, &results);
    let session = Session::new(&assignment, &body);
    // The number of other classes, and the number of times that the bound of the kept classes is halved.
    for (others, halvings) in [(1_000, 0), (70_000, 1), (140_000, 2)] {
        let mut tree = Exhaustive::default().tree().recorded();
        add_others(&mut tree, others);
        assert_eq!(tree.class_bound(), u64::MAX >> halvings);
        explore(&session, &mut tree, None, None);
        assert_eq!(tree.runs(), 24);
        let sampled = audit(&session, Some(&tree), RUNS, false);
        assert!(sampled.audit.agrees(), "{:?}", sampled.audit);
        // Every run is looked up, or about one of two or four.
        let runs = sampled.audit.runs;
        let expected = if halvings == 0 { RUNS..=RUNS } else { RUNS + 1..=20_000 };
        assert!(expected.contains(&runs), "{runs} runs, {halvings} halvings");
    }
}

/// Two tasks store and load with weak orders. The audit agrees with the search, and finds each outcome that is removed
/// from it.
#[test]
fn an_audit_finds_each_missing_outcome_of_weak_memory() {
    crate::engine::simulate::hook::install();
    let body = FunctionBody::new(async || {
        let words = Arc::new([crate::Atomic::new(0), crate::Atomic::new(0)]);
        let tasks = [0, 1].map(|own| {
            let words = words.clone();
            crate::spawn(async move {
                words[own].store(1, Relaxed).await;
                words[1 - own].load(Relaxed).await + words[1 - own].load(SeqCst).await
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
    });
    let config = exhaustive_with_c11();
    let (site, results) = (Site::of_program(Location::caller()), Results::nowhere());
    let assignment = Assignment::new(&config, &site, &results);
    let session = Session::new(&assignment, &body);
    let audited = |lost: Option<u64>| {
        let mut tree = Exhaustive::default().tree();
        let outcomes = explore(&session, &mut tree, lost, None);
        assert!(tree.apart().stores);
        (audit(&session, Some(&tree), RUNS, false).audit, outcomes)
    };
    let (audit, outcomes) = audited(None);
    assert!(audit.agrees() && audit.runs == RUNS, "{audit:?}");
    // Each task reads one of these values: 0 and 0, 0 and 1, 1 and 1.
    assert_eq!(outcomes.len(), 9);
    for lost in outcomes {
        let (audit, _) = audited(Some(lost));
        assert!(audit.missed.is_some(), "{audit:?}");
    }
}

/// Three shares of a search with weak memory, which do not see each other, have together the outcomes of the whole
/// search.
#[test]
fn shares_of_weak_memory_have_all_outcomes_together() {
    crate::engine::simulate::hook::install();
    let config = exhaustive_with_c11();
    let (site, results) = (Site::of_program(Location::caller()), Results::nowhere());
    let assignment = Assignment::new(&config, &site, &results);
    let (mut compared, mut outcomes) = (0, 0);
    for seed in 0..if crate::long() { 2_000 } else { 60 } {
        let program = weak_bounds::generate(&mut Rng::new(seed));
        let body = FunctionBody::new(async || program.body().await);
        let session = Session::new(&assignment, &body);
        let searched = |share: Option<Division>| {
            let mut tree = Exhaustive::default().tree();
            let outcomes = explore(&session, &mut tree, None, share);
            (outcomes, tree.apart(), tree.runs())
        };
        let (whole, apart, runs) = searched(None);
        let shares = [1, 2, 3].map(|number| searched(Some(Division { number, of: 3, jobs: 2 })));
        // Outcomes are classes only if operations choose stores. A share may not know this.
        if !apart.stores || runs > 2_000 || shares.iter().any(|(_, own, _)| *own != apart) {
            continue;
        }
        let union: BTreeSet<u64> = shares.into_iter().flat_map(|(own, ..)| own).collect();
        assert_eq!(union, whole, "{program:?}");
        (compared, outcomes) = (compared + 1, outcomes + whole.len());
    }
    println!("{compared} programs with {outcomes} outcomes");
    assert!(compared > 20, "{compared}");
}

/// The number of programs with a fault in their search that are checked.
const FAULTY: usize = 25;

/// The search does not try older stores. The audit finds this for most programs that then have fewer outcomes. A
/// task performs all of its loads at one place, so many of these programs read a word several times at one place.
#[test]
fn an_audit_finds_that_older_stores_are_not_tried() {
    crate::engine::simulate::hook::install();
    let config = exhaustive_with_c11();
    let (site, results) = (Site::of_program(Location::caller()), Results::nowhere());
    let assignment = Assignment::new(&config, &site, &results);
    let matters_and_is_found = |seed| {
        let program = weak_bounds::generate(&mut Rng::new(seed));
        let body = FunctionBody::new(async || program.body().await);
        let session = Session::new(&assignment, &body);
        let searched = || {
            let mut tree = Exhaustive::default().tree();
            let outcomes = explore(&session, &mut tree, None, None);
            (outcomes, tree)
        };
        let (outcomes, tree) = searched();
        let (found, faulty) = without(Rule::Stores, searched);
        if !tree.apart().stores || tree.runs() > 2_000 || found == outcomes {
            return None;
        }
        assert!(audit(&session, Some(&tree), RUNS, false).audit.agrees(), "{program:?}");
        Some(audit(&session, Some(&faulty), RUNS, false).audit.missed.is_some())
    };
    let found: Vec<bool> = (0..2_000).filter_map(matters_and_is_found).take(FAULTY).collect();
    let count = found.iter().filter(|is_found| **is_found).count();
    println!("found {count} of {}", found.len());
    assert!(found.len() == FAULTY && count * 5 >= FAULTY * 4, "{count} of {}", found.len());
}

/// A task reads a flag, and then reads a word twice at one place.
async fn reads_twice(in_loop: bool) {
    let words = Arc::new([crate::Atomic::new(0), crate::Atomic::new(0)]);
    let reader = words.clone();
    let reader = crate::spawn(async move {
        for word in [1, 0, 0] {
            if in_loop && word == 1 {
                crate::spin_until(async || reader[1].load(Relaxed).await == 1).await;
            } else {
                reader[word].load(Relaxed).await;
            }
        }
    });
    words[0].store(1, Relaxed).await;
    words[1].store(1, Relaxed).await;
    reader.await.unwrap();
}

/// A sampled run may evaluate a false condition again although it sees the same store. A search does not.
#[test]
fn repeated_reads_are_audited() {
    for in_loop in [false, true] {
        let report = || {
            let runner = crate::Runner::new().hermetic().memory("c11").strategy("exhaustive");
            runner.run(move || reads_twice(in_loop))
        };
        let whole = report();
        let searched = whole.searched.as_ref().expect("a search");
        assert!(searched.is_proof() && searched.audit.is_some(), "{searched:?}");
        let faulty = without(Rule::Stores, report).searched.expect("a search");
        assert!(!faulty.is_proof() && faulty.audit.unwrap().missed.is_some());
    }
}
