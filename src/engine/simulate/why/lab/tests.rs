//! The counts of bounded searches of a program with a region.

use std::panic::Location;
use std::sync::Arc;

use super::*;
use crate::engine::assignment::Assignment;
use crate::engine::config::Settings;
use crate::engine::results::Results;
use crate::engine::runner::Site as Place;
use crate::engine::runner::outcome::FunctionBody;
use crate::run::ids::Seed;
use crate::run::op::Access;
use crate::run::what_if::{Section, Site};
use crate::strategy::Chosen;
use crate::sync::Ordering::SeqCst;
use crate::{Atomic, Mutex, spawn};

/// The first task takes a lock between two stores, and the second task holds it for two steps.
async fn locks_within() {
    let (word, lock) = (Arc::new(Atomic::new(0)), Arc::new(Mutex::new(0)));
    let (other_word, other_lock) = (word.clone(), lock.clone());
    let first = spawn(async move {
        word.store(1, SeqCst).await;
        *lock.lock().await += 1;
        word.store(2, SeqCst).await;
    });
    let second = spawn(async move {
        let mut held = other_lock.lock().await;
        other_word.load(SeqCst).await;
        *held += 1;
    });
    first.await.unwrap();
    second.await.unwrap();
}

#[test]
fn a_bounded_search_counts_the_runs_that_a_region_excludes() {
    crate::engine::simulate::hook::install();
    let body = FunctionBody::new(locks_within);
    let config = Settings::default().resolve().expect("the defaults are valid");
    let (site, results) = (Place::of_program(Location::caller()), Results::nowhere());
    let assignment = Assignment::new(&config, &site, &results);
    let session = Session::new(&assignment, &body);
    let strategy = Chosen::parse("random").expect("a strategy of the registry");
    let mut worker = Worker::new(strategy.create());
    let watched = session.watch.follow(worker.progress(), WorkerJob::Seeds(strategy), Seed(0));
    assert!(session.once(&mut worker, Seed(0), &session.limits()).is_none());
    let run = worker.extract(Seed(0), "random");
    drop(watched);
    let own = run.events.iter().filter(|event| event.task.0 == 1);
    let sites: Vec<Site> = own
        .filter(|event| event.op.access != Access::Unlock)
        .map(|event| Site { op: event.op.name, place: event.place })
        .collect();
    let known = sites[1..2].to_vec();
    let section = Section { from: sites[0], to: sites[2], known };
    let mut lab = Lab::new(&session, &run, 10_000);
    let mut bounded = |waits: Option<bool>| {
        let sections = vec![section.clone()];
        lab.suppose(waits.map(|waits| WhatIf { sections, waits }));
        let bounds = lab.bounded(5_000).expect("no run fails");
        assert!(bounds.is_all && bounds.runs > 0, "{bounds:?}");
        bounds.excused
    };
    assert_eq!((bounded(None), bounded(Some(true))), (0, 0));
    assert!(bounded(Some(false)) > 0);
}
