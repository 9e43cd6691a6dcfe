//! Sets the number of runs that the audit samples. The audit checks a search that does not keep all classes.

use std::panic::Location;
use std::sync::Arc;

use super::super::RunVisitor;
use super::super::audit::{RUNS, audit};
use super::super::slice::{SliceMaker, SliceOrder};
use crate::engine::assignment::Assignment;
use crate::engine::config::Settings;
use crate::engine::results::Results;
use crate::engine::runner::Site;
use crate::engine::runner::outcome::FunctionBody;
use crate::engine::simulate::session::Session;
use crate::run::rng::Rng;
use crate::strategy::Search;
use crate::strategy::divided::{Rest, SearchTree, Slice};
use crate::strategy::exhaustive::Exhaustive;
use crate::sync::Ordering::SeqCst;

/// Explores the remaining runs of a search.
fn explore(session: &Session<'_>, tree: &mut SearchTree) {
    let mut maker = SliceMaker::new(session, Arc::new(Exhaustive::default()));
    while !tree.is_through() {
        let mut slices = Vec::new();
        for (at, budget) in tree.budgets(u64::MAX).into_iter().enumerate() {
            let order = SliceOrder { part: tree.part(at), budget, from: 1, failed: None };
            slices.push(maker.make(order, &mut RunVisitor::UntilFailure, &|| true).slice);
        }
        tree.merge(slices);
    }
    tree.sort_classes();
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
        explore(&session, &mut tree);
        assert_eq!(tree.runs(), 24);
        let sampled = audit(&session, Some(&tree), RUNS, false);
        assert!(sampled.audit.agrees(), "{:?}", sampled.audit);
        // Every run is looked up, or about one of two or four.
        let runs = sampled.audit.runs;
        let expected = if halvings == 0 { RUNS..=RUNS } else { RUNS + 1..=20_000 };
        assert!(expected.contains(&runs), "{runs} runs, {halvings} halvings");
    }
}
